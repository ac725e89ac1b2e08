package main

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// A plan says how many requests a key may send.
type plan struct{ perMinute, perDay int }

// plans are those with fixed limits. A key of the plan enterprise sets its own.
var plans = map[string]plan{
	"free":     {60, 1000},
	"pro":      {300, 10_000},
	"business": {1000, 100_000},
}

// demoKeys are used if there is no keys file. They are public.
const demoKeys = `[
{"key": "demo-free", "plan": "free"},
{"key": "demo-pro", "plan": "pro"},
{"key": "demo-business", "plan": "business"},
{"key": "demo-enterprise", "plan": "enterprise", "perMinute": 5000, "perDay": 1000000}
]`

// A keyEntry is an entry of the keys file. A limit that was left out is nil.
type keyEntry struct {
	key, planName     string
	perMinute, perDay *int64
}

func (e *keyEntry) fields() []field {
	return []field{
		need("key", aString, &e.key),
		need("plan", aString, &e.planName),
		may("perMinute", anInteger, &e.perMinute),
		may("perDay", anInteger, &e.perDay),
	}
}

func (e *keyEntry) validate() error {
	invisible := func(c rune) bool { return c <= ' ' || c > '~' }
	if e.key == "" || strings.ContainsFunc(e.key, invisible) {
		return invalid("key must be visible ASCII characters without spaces.")
	}
	if e.planName == "enterprise" {
		if !isLimit(e.perMinute) || !isLimit(e.perDay) {
			return invalid("This plan needs perMinute and perDay, from 1 to %d.", math.MaxInt32)
		}
		return nil
	}
	if _, ok := plans[e.planName]; !ok {
		return invalid("plan must be free, pro, business or enterprise.")
	}
	if e.perMinute != nil || e.perDay != nil {
		return invalid("perMinute and perDay are for the enterprise plan only.")
	}
	return nil
}

func isLimit(n *int64) bool { return n != nil && *n >= 1 && *n <= math.MaxInt32 }

// A quota is what the headers of a response say about the limits.
type quota struct {
	limit, remaining int
	reset            time.Time
	wait             time.Duration // after a refusal, how long; otherwise 0
}

// setHeaders sets the rate headers and, if there is a wait, Retry-After (RFC 9110, section 10.2.3).
// Times are in whole seconds, rounded up. Set would spell the names X-Ratelimit-Limit and so on.
func (q quota) setHeaders(header http.Header) {
	header["X-RateLimit-Limit"] = []string{strconv.Itoa(q.limit)}
	header["X-RateLimit-Remaining"] = []string{strconv.Itoa(q.remaining)}
	reset := q.reset.Add(time.Second - 1).Unix()
	header["X-RateLimit-Reset"] = []string{strconv.FormatInt(reset, 10)}
	if q.wait > 0 {
		seconds := (q.wait + time.Second - 1) / time.Second
		header["Retry-After"] = []string{strconv.Itoa(int(seconds))}
	}
}

// A window only counts down: it lets a number of requests through until its end, and the next
// request begins it anew.
//
// Its limiter does the counting: it starts with that number of tokens, AllowN takes one, TokensAt
// tells how many are left, and at a rate of 0 per second none comes back. With another rate, the
// window would be a bucket that refills.
type window struct {
	limit   int
	length  time.Duration
	end     time.Time // zero before the first request
	limiter *rate.Limiter
}

// renew begins the window anew if it is over. If a request comes at 9:00:30, the minute ends at
// 9:01:30; if the next one comes at 9:07:12, that minute ends at 9:08:12.
func (w *window) renew(now time.Time) {
	if !now.Before(w.end) {
		w.end = now.Add(w.length)
		w.limiter = rate.NewLimiter(0, w.limit)
	}
}

func (w *window) remaining(now time.Time) int { return int(w.limiter.TokensAt(now)) }

func (w *window) take(now time.Time) { w.limiter.AllowN(now, 1) }

func (w *window) quota(now time.Time) quota {
	return quota{limit: w.limit, remaining: w.remaining(now), reset: w.end}
}

// refuse returns the quota and the error for a request that comes when none remains.
func (w *window) refuse(now time.Time) (quota, error) {
	q := quota{limit: w.limit, reset: w.end, wait: w.end.Sub(now)}
	return q, newError(http.StatusTooManyRequests,
		"The limit of %d requests is used up; retry after the seconds in Retry-After.", w.limit)
}

// A client is whoever sends requests with a key.
type client struct {
	minute, day *window
	strikes     int
	lastStrike  time.Time
	banEnd      time.Time
}

// spend takes a request from both windows of the client. If one of them is used up, it takes none,
// and returns the error rate_limited; for a banned key, key_banned. A refusal may be a strike, and
// the tenth strike is the ban.
func (c *client) spend(now time.Time) (quota, error) {
	if now.Before(c.banEnd) {
		return c.refuseBanned(now)
	}
	c.minute.renew(now)
	c.day.renew(now)
	w := c.tighter(now)
	if w.remaining(now) > 0 {
		c.minute.take(now)
		c.day.take(now)
		c.strikes = 0
		return w.quota(now), nil
	}
	if c.strike(now) {
		return c.refuseBanned(now)
	}
	return w.refuse(now)
}

const (
	maxStrikes  = 10
	strikePause = 5 * time.Second
	banMinutes  = 5 // of the limits
)

// strike is called when a request is refused. Each second with such a request is a strike, and the
// tenth strike is a ban. The count begins anew after a request that was let through, and after a
// pause. For example, requests that are refused at 0.0, 0.7, 1.2 and 8.0 seconds are strike 1, the
// same strike, strike 2 and, after the pause, strike 1.
func (c *client) strike(now time.Time) (banned bool) {
	if now.Unix() <= c.lastStrike.Unix() { // less, if the clock is set back
		return false
	}
	if now.Sub(c.lastStrike) > strikePause {
		c.strikes = 0
	}
	c.strikes++
	c.lastStrike = now
	if c.strikes < maxStrikes {
		return false
	}
	c.strikes = 0
	c.banEnd = now.Add(banMinutes * c.minute.length)
	return true
}

// tighter returns the window with fewer requests left. If both are used up, it is the one that ends
// later: only then is the next request let through. The same goes for any other tie.
func (c *client) tighter(now time.Time) *window {
	inMinute, inDay := c.minute.remaining(now), c.day.remaining(now)
	if inDay < inMinute {
		return c.day
	}
	if inDay == inMinute && c.day.end.After(c.minute.end) {
		return c.day
	}
	return c.minute
}

func (c *client) refuseBanned(now time.Time) (quota, error) {
	q := quota{limit: c.minute.limit, reset: c.banEnd, wait: c.banEnd.Sub(now)}
	return q, newError(http.StatusForbidden, "This key is banned for a while, because requests "+
		"kept coming over its limit; retry after the seconds in Retry-After.")
}

// Limits counts the requests of each key, and of strangers: all those without a valid key.
type Limits struct {
	demo bool   // the keys are the demo keys, which count only under some hosts: see isOwn
	host string // of -addr

	mu        sync.Mutex                    // guards what follows
	clients   map[[sha256.Size]byte]*client // by the hash of the key
	strangers *window                       // one for all, so that they cost no memory
}

// newLimits reads keys, a JSON array of entries as in the keys file, or takes the demo keys if keys
// is nil. An error in an entry says which one it is, and quotes no value. A minute of the limits
// lasts as long as minute says. The host is that of -addr.
func newLimits(keys []byte, minute time.Duration, host string) (*Limits, error) {
	l := &Limits{
		demo:      keys == nil,
		host:      host,
		clients:   map[[sha256.Size]byte]*client{},
		strangers: &window{limit: plans["free"].perMinute, length: minute},
	}
	if l.demo {
		keys = []byte(demoKeys)
	}
	if err := checkJSON(keys); err != nil {
		return nil, err
	}
	var entries []json.RawMessage
	if json.Unmarshal(keys, &entries) != nil || len(entries) == 0 {
		return nil, invalid("The keys must be a JSON array of one or more objects.")
	}
	for i, data := range entries {
		var entry keyEntry
		if err := decode(data, &entry); err != nil {
			return nil, fmt.Errorf("entry %d: %w", i+1, err)
		}
		hash := sha256.Sum256([]byte(entry.key))
		if l.clients[hash] != nil {
			return nil, fmt.Errorf("entry %d: The key is given twice.", i+1)
		}
		p, ok := plans[entry.planName]
		if !ok {
			p = plan{int(*entry.perMinute), int(*entry.perDay)}
		}
		l.clients[hash] = &client{
			minute: &window{limit: p.perMinute, length: minute},
			day:    &window{limit: p.perDay, length: 24 * time.Hour},
		}
	}
	return l, nil
}

// admit spends one request of the client that sent it, and returns an error if the request must not
// go on.
//
// Keys are looked up by their hash, so the time it takes says nothing about how much of a guessed
// key is right.
func (l *Limits) admit(r *http.Request, now time.Time) (quota, error) {
	now = now.Round(0) // without the monotonic clock, which may stand still while a computer sleeps
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.demo && !l.isOwn(r.Host) {
		return l.spendStranger(now, "The demo keys count only if the host of the URL is "+
			"localhost, an IP address or the host in -addr; use such a URL.")
	}
	if c := l.clients[sha256.Sum256([]byte(requestKey(r)))]; c != nil {
		return c.spend(now)
	}
	return l.spendStranger(now,
		"A valid API key is required; send it as Authorization: Bearer KEY.")
}

// isOwn reports whether a Host is an IP address, localhost or the host of -addr. The demo keys are
// public, and a web page elsewhere could make its own name lead to this computer (DNS rebinding);
// but then its requests have that name as their Host.
func (l *Limits) isOwn(host string) bool {
	name := (&url.URL{Host: host}).Hostname() // without a port and brackets
	_, err := netip.ParseAddr(name)
	return err == nil || strings.EqualFold(name, "localhost") || strings.EqualFold(name, l.host)
}

// requestKey returns the key that the request carries, or "". It is in the header Authorization
// (RFC 6750, section 2.1) or in X-API-Key; an Authorization that is not empty counts first.
func requestKey(r *http.Request) string {
	scheme, key, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if scheme == "" {
		return r.Header.Get("X-API-Key")
	}
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimLeft(key, " ")
}

// spendStranger returns the error unauthorized, with a message or, once all strangers have used up
// their window, rate_limited.
func (l *Limits) spendStranger(now time.Time, message string) (quota, error) {
	l.strangers.renew(now)
	if l.strangers.remaining(now) == 0 {
		return l.strangers.refuse(now)
	}
	l.strangers.take(now)
	return l.strangers.quota(now), newError(http.StatusUnauthorized, "%s", message).
		with(http.Header{"Www-Authenticate": {"Bearer"}})
}
