package main

import (
	"fmt"
	"math"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// A plan says how many requests a key may send.
type plan struct{ perMinute, perDay int }

// plans are the plans with fixed limits. The limits of the enterprise plan are set for each key.
var plans = map[string]plan{
	"free":     {60, 1000},
	"pro":      {300, 10_000},
	"business": {1000, 100_000},
}

// demoKeys is the built-in keys file, used without -keys. Its keys are public, so while they are in
// use,
//
//   - the server listens only on this computer (see listen);
//   - a key is valid only in a request to localhost or an IP address (see isOurHost);
//   - web pages on this computer may call the API (see allowsOrigin).
const demoKeys = `[
{"key": "demo-free", "plan": "free"},
{"key": "demo-pro", "plan": "pro"},
{"key": "demo-business", "plan": "business"},
{"key": "demo-enterprise", "plan": "enterprise", "perMinute": 5000, "perDay": 1000000}
]`

// A keyEntry is an entry in the keys file.
type keyEntry struct {
	key string
	plan
}

func readKeyEntry(o *object) keyEntry {
	var e keyEntry
	var planName string
	o.required("key", aString, &e.key)
	o.required("plan", aString, &planName)
	invisible := func(c rune) bool { return c <= ' ' || c > '~' }
	o.check(e.key != "" && !strings.ContainsFunc(e.key, invisible),
		"key must consist of visible ASCII characters without spaces.")
	if fixed, ok := plans[planName]; ok {
		e.plan = fixed
		return e // perMinute and perDay would be unknown fields
	}
	o.check(planName == "enterprise", "plan must be free, pro, business or enterprise.")
	o.required("perMinute", anInteger, &e.perMinute)
	o.required("perDay", anInteger, &e.perDay)
	o.check(min(e.perMinute, e.perDay) >= 1 && max(e.perMinute, e.perDay) <= math.MaxInt32,
		"perMinute and perDay must be from 1 to %d.", math.MaxInt32)
	return e
}

// A window allows a fixed number of requests until it ends. The first request after that restarts
// it: if a request arrives at 9:00:30, the minute ends at 9:01:30, and if the next one arrives at
// 9:07:12, the next minute ends at 9:08:12.
type window struct {
	name   string // "minute" or "day"
	length time.Duration
	limit  int
	used   int
	end    time.Time // zero before the first request
}

func (w *window) renew(now time.Time) {
	if !now.Before(w.end) {
		w.used = 0
		w.end = now.Add(w.length)
	}
}

func (w *window) remaining() int { return w.limit - w.used }

func (w *window) quota() quota {
	return quota{limit: w.limit, remaining: w.remaining(), reset: w.end}
}

// refuse returns the quota and the error for a request that arrives when none remain.
func (w *window) refuse(now time.Time) (quota, error) {
	q := w.quota()
	q.retryAfter = w.end.Sub(now)
	return q, newError(rateLimited, "The limit of %d requests per %s has been reached; "+
		"wait the number of seconds in Retry-After.", w.limit, w.name)
}

// A quota is what the headers of a response say about the limits.
type quota struct {
	limit, remaining int
	reset            time.Time
	retryAfter       time.Duration // 0 unless the request was refused
}

// setHeaders sets the rate headers and, after a refusal, Retry-After (RFC 9110, section 10.2.3).
// Times are in whole seconds, rounded up. setHeaders does not use header.Set, which would change
// the names to X-Ratelimit-Limit and so on.
func (q quota) setHeaders(header http.Header) {
	reset := q.reset.Add(time.Second - 1).Unix()
	header["X-RateLimit-Limit"] = []string{strconv.Itoa(q.limit)}
	header["X-RateLimit-Remaining"] = []string{strconv.Itoa(q.remaining)}
	header["X-RateLimit-Reset"] = []string{strconv.FormatInt(reset, 10)}
	if q.retryAfter > 0 {
		seconds := (q.retryAfter + time.Second - 1) / time.Second
		header["Retry-After"] = []string{strconv.Itoa(int(seconds))}
	}
}

// An account counts the requests made with one key. A refused request is a strike, but at most one
// strike per second is counted. Ten strikes with no accepted request between them ban the key.
type account struct {
	minute, day window
	strikes     int
	strikeRate  *rate.Limiter // one per second
	bannedUntil time.Time
}

// count counts a request in both windows. If either is used up, it counts the request in neither,
// and returns the error rateLimited or, if the key is banned, keyBanned.
func (a *account) count(now time.Time) (quota, error) {
	if now.Before(a.bannedUntil) {
		return a.refuseBanned(now)
	}
	a.minute.renew(now)
	a.day.renew(now)
	w := a.tighter()
	if w.remaining() > 0 {
		a.minute.used++
		a.day.used++
		a.strikes = 0
		return w.quota(), nil
	}
	if a.strikeRate.AllowN(now, 1) {
		a.strikes++
	}
	if a.strikes < 10 {
		return w.refuse(now)
	}
	a.strikes = 0
	a.bannedUntil = now.Add(5 * a.minute.length)
	return a.refuseBanned(now)
}

// tighter returns the window with fewer requests left. If both have the same number left, it
// returns the one that ends later: when both are used up, a client has to wait for that one.
func (a *account) tighter() *window {
	minute, day := a.minute.remaining(), a.day.remaining()
	if day < minute || day == minute && a.day.end.After(a.minute.end) {
		return &a.day
	}
	return &a.minute
}

func (a *account) refuseBanned(now time.Time) (quota, error) {
	q := quota{limit: a.minute.limit, reset: a.bannedUntil, retryAfter: a.bannedUntil.Sub(now)}
	return q, newError(keyBanned, "This key is banned for sending requests over its limit; "+
		"wait the number of seconds in Retry-After.")
}

// Limits counts the requests of each key, and those without a valid key.
type Limits struct {
	demo bool // the keys are the demo keys

	mu       sync.Mutex // guards the fields below
	accounts map[string]*account
	keyless  window // for all requests without a valid key; a window for each would cost memory
}

// newLimits reads the keys file or, if path is empty, uses the demo keys. The minute argument is
// the length of a rate-limit minute.
func newLimits(path string, minute time.Duration) (*Limits, error) {
	l := &Limits{
		demo:     path == "",
		accounts: map[string]*account{},
		keyless:  window{name: "minute", length: minute, limit: plans["free"].perMinute},
	}
	keysFile := []byte(demoKeys)
	if !l.demo {
		var err error
		if keysFile, err = os.ReadFile(path); err != nil {
			return nil, err
		}
	}
	err := decodeEach("keys", keysFile, readKeyEntry, func(e keyEntry) error {
		if l.accounts[e.key] != nil {
			return newError(invalidField, "The key appears twice.")
		}
		l.accounts[e.key] = &account{
			minute:     window{name: "minute", length: minute, limit: e.perMinute},
			day:        window{name: "day", length: 24 * time.Hour, limit: e.perDay},
			strikeRate: rate.NewLimiter(rate.Every(time.Second), 1),
		}
		return nil
	})
	if err == nil && len(l.accounts) == 0 {
		err = newError(invalidField, "keys must have at least one entry.")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return l, nil
}

// count counts a request with a key, and returns an error if the request is refused. The windows
// follow the wall clock, so they end even while the computer is asleep.
func (l *Limits) count(key string, now time.Time) (quota, error) {
	now = now.Round(0) // removes the monotonic clock, which may stop during sleep
	l.mu.Lock()
	defer l.mu.Unlock()
	if a := l.accounts[key]; a != nil {
		return a.count(now)
	}
	l.keyless.renew(now)
	if l.keyless.remaining() == 0 {
		return l.keyless.refuse(now)
	}
	l.keyless.used++
	hint := ""
	if l.demo {
		hint = " (the demo keys are valid only in requests to localhost or an IP address)"
	}
	return l.keyless.quota(), newError(unauthorized,
		"A valid API key is required; send it as Authorization: Bearer KEY%s.", hint)
}
