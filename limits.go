package main

import (
	"encoding/json"
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
type plan struct{ perMinute, perDay int64 }

// plans are the plans with fixed limits. The limits of the enterprise plan are set for each key.
var plans = map[string]plan{
	"free":     {60, 1000},
	"pro":      {300, 10_000},
	"business": {1000, 100_000},
}

// demoKeys is the built-in keys file, used without -keys. Its keys are public.
const demoKeys = `[
{"key": "demo-free", "plan": "free"},
{"key": "demo-pro", "plan": "pro"},
{"key": "demo-business", "plan": "business"},
{"key": "demo-enterprise", "plan": "enterprise", "perMinute": 5000, "perDay": 1000000}
]`

// A keyEntry is an entry in the keys file.
type keyEntry struct {
	key  string
	plan plan
}

func readKeyEntry(f *fields) keyEntry {
	key := required[string](f, "key")
	planName := required[string](f, "plan")
	invisible := func(c rune) bool { return c <= ' ' || c > '~' }
	f.check(key != "" && !strings.ContainsFunc(key, invisible),
		"key must consist of visible ASCII characters without spaces.")
	p, fixed := plans[planName]
	f.check(fixed || planName == "enterprise", "plan must be free, pro, business or enterprise.")
	if !fixed {
		p = plan{perMinute: readLimit(f, "perMinute"), perDay: readLimit(f, "perDay")}
	}
	return keyEntry{key, p}
}

func readLimit(f *fields, name string) int64 {
	limit := required[int64](f, name)
	f.check(1 <= limit && limit <= math.MaxInt32, "%s must be from 1 to %d.", name, math.MaxInt32)
	return limit
}

// parseKeys reads a keys file.
func parseKeys(data []byte) (map[string]plan, error) {
	if err := checkJSON(data); err != nil {
		return nil, err
	}
	var list []json.RawMessage
	if json.Unmarshal(data, &list) != nil || len(list) == 0 {
		return nil, newError(invalidField, "The keys must be an array with at least one entry.")
	}
	keys := map[string]plan{}
	for i, entryJSON := range list {
		entry, err := decode(entryJSON, readKeyEntry)
		if _, given := keys[entry.key]; err == nil && given {
			err = newError(invalidField, "key appears twice; remove one entry.")
		}
		if err != nil {
			return nil, fmt.Errorf("keys, record %d: %w", i+1, err)
		}
		keys[entry.key] = entry.plan
	}
	return keys, nil
}

// A window allows a fixed number of requests until it ends. The first request after that restarts
// it: if a request arrives at 9:00:30, the minute ends at 9:01:30, and if the next one arrives at
// 9:07:12, the next minute ends at 9:08:12.
type window struct {
	name   string // "minute" or "day"
	length time.Duration
	limit  int64
	used   int64
	begin  time.Time // zero before the first request, which is so long ago that it has ended
}

// left returns how long the window still lasts. After its end, that is negative or zero.
func (w *window) left(now time.Time) time.Duration { return w.length - elapsed(w.begin, now) }

// elapsed returns how long ago a time was, by the clock that has gone further. A time.Time has two:
// the monotonic clock, which Sub uses, may stop while the computer is asleep, and the wall clock,
// which is all that Round(0) leaves, may be set back.
func elapsed(since, now time.Time) time.Duration {
	return max(now.Sub(since), now.Round(0).Sub(since.Round(0)))
}

// renew restarts the window if it has ended, and reports whether it did so.
func (w *window) renew(now time.Time) bool {
	if w.left(now) > 0 {
		return false
	}
	w.used = 0
	w.begin = now
	return true
}

func (w *window) remaining() int64 { return w.limit - w.used }

// A decision says whether a request is admitted, and what its response says about the limits.
type decision struct {
	err              error // the refusal; nil if the request is admitted
	limit, remaining int64
	reset            time.Time
	retryAfter       time.Duration // 0 if there is nothing to wait for
}

// setHeaders sets the rate headers and, after a refusal, Retry-After (RFC 9110, section 10.2.3).
// Times are in whole seconds, rounded up. The names are spelled as net/http spells them.
func (d decision) setHeaders(header http.Header) {
	header.Set("X-Ratelimit-Limit", strconv.FormatInt(d.limit, 10))
	header.Set("X-Ratelimit-Remaining", strconv.FormatInt(d.remaining, 10))
	header.Set("X-Ratelimit-Reset", strconv.FormatInt(d.reset.Add(time.Second-1).Unix(), 10))
	if d.retryAfter > 0 {
		seconds := (d.retryAfter + time.Second - 1) / time.Second
		header.Set("Retry-After", strconv.Itoa(int(seconds)))
	}
}

// admission returns the decision to admit a request that has been counted.
func (w *window) admission(now time.Time) decision {
	return decision{limit: w.limit, remaining: w.remaining(), reset: now.Add(w.left(now))}
}

// refusal returns the decision to refuse a request until the window ends.
func (w *window) refusal(now time.Time, err error) decision {
	d := w.admission(now)
	d.err, d.retryAfter = err, w.left(now)
	return d
}

// An account counts the requests made with one key, and bans a client that goes on sending although
// it was told to wait. A refusal is a strike, but at most one counts in each second, so that a
// burst is one strike. The tenth strike within one minute window bans the key. For example, with 60
// requests per minute, a client that sends ten each second has this morning:
//
//	9:00:00  The first request is admitted, and so are the next 59.
//	9:00:06  The 61st request is refused, a strike. The next nine are refused, too, but no strikes.
//	9:00:07  The second strike.
//	9:00:15  The tenth strike. The key is banned.
//	9:05:15  The ban ends. A request is admitted, and begins a new minute.
//
// If a minute is made shorter, so are these seconds: they are sixtieths of it.
type account struct {
	minute, day window
	strikes     int           // in this minute window
	strikeRate  *rate.Limiter // allows one strike in each second
	ban         window        // begins with the ban, and admits nothing
}

// decide counts a request in both windows or, if either is used up, in neither.
func (a *account) decide(now time.Time) decision {
	if a.ban.left(now) > 0 {
		return a.banRefusal(now)
	}
	if a.minute.renew(now) {
		a.strikes = 0
	}
	a.day.renew(now)
	w := a.tighter(now)
	if w.remaining() > 0 {
		a.minute.used++
		a.day.used++
		return w.admission(now)
	}
	if a.strikeRate.AllowN(now, 1) {
		a.strikes++
	}
	if a.strikes < 10 {
		return w.refusal(now, newError(rateLimited, "The limit of %d requests per %s has been "+
			"reached; wait the number of seconds in Retry-After.", w.limit, w.name))
	}
	a.ban.begin = now
	return a.banRefusal(now)
}

// tighter returns the window with fewer requests left, so if it has some left, the other has, too.
// If both have the same number left, it returns the one that ends later: if both are used up, a
// client has to wait for that one.
func (a *account) tighter(now time.Time) *window {
	minute, day := a.minute.remaining(), a.day.remaining()
	if day < minute || day == minute && a.day.left(now) > a.minute.left(now) {
		return &a.day
	}
	return &a.minute
}

// banRefusal returns the decision to refuse a request during a ban. If the day is used up and ends
// after the ban, a client has to wait for that.
func (a *account) banRefusal(now time.Time) decision {
	wait := a.ban.left(now)
	if a.day.remaining() == 0 {
		wait = max(wait, a.day.left(now))
	}
	err := newError(keyBanned, "This key is banned for sending requests over its limit; "+
		"wait the number of seconds in Retry-After.")
	return decision{err: err, limit: a.minute.limit, reset: now.Add(wait), retryAfter: wait}
}

// limits decide on requests.
type limits struct {
	mu       sync.Mutex // guards the fields below
	accounts map[string]*account
	keyless  window // of all without a valid key, since one for each would cost memory
}

// newLimits reads the keys file or, if path is empty, uses the demo keys. The error gives the
// number of an invalid entry. The minute argument is the length of a rate-limit minute.
func newLimits(path string, minute time.Duration) (*limits, error) {
	data, err := []byte(demoKeys), error(nil)
	if path != "" {
		data, err = os.ReadFile(path)
	}
	if err != nil {
		return nil, err
	}
	entries, err := parseKeys(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	l := &limits{
		accounts: map[string]*account{},
		keyless:  window{length: minute, limit: plans["free"].perMinute},
	}
	for key, p := range entries {
		l.accounts[key] = &account{
			minute:     window{name: "minute", length: minute, limit: p.perMinute},
			day:        window{name: "day", length: 24 * time.Hour, limit: p.perDay},
			strikeRate: rate.NewLimiter(rate.Every(minute/60), 1),
			ban:        window{length: 5 * minute},
		}
	}
	return l, nil
}

// admit decides on a request with a key, which is empty if there is none.
func (l *limits) admit(key string, now time.Time) decision {
	l.mu.Lock()
	defer l.mu.Unlock()
	if a := l.accounts[key]; a != nil {
		return a.decide(now)
	}
	return l.keylessRefusal(now)
}

// keylessRefusal returns the decision to refuse a request without a valid key: with a 401 while
// requests remain in the window that all of these share, and then with a 429.
func (l *limits) keylessRefusal(now time.Time) decision {
	const send = "send one as Authorization: Bearer KEY or as X-API-Key: KEY"
	l.keyless.renew(now)
	if l.keyless.remaining() == 0 {
		return l.keyless.refusal(now, newError(rateLimited, "The limit of %d requests per minute "+
			"without a valid API key has been reached; "+send+".", l.keyless.limit))
	}
	l.keyless.used++
	d := l.keyless.admission(now)
	d.err = newError(unauthorized, "A valid API key is required; "+send+".")
	return d
}
