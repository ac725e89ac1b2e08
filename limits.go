package main

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// A plan says how many requests a key may send.
type plan struct{ perMinute, perDay int64 }

// plans are the plans with fixed limits. An enterprise key sets its own.
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

// A keyEntry is an entry of the keys file.
type keyEntry struct {
	key, planName     string
	perMinute, perDay *int64
}

func (e *keyEntry) fields() []field {
	return []field{
		required("key", &e.key),
		required("plan", &e.planName),
		optional("perMinute", &e.perMinute),
		optional("perDay", &e.perDay),
	}
}

func (e *keyEntry) validate() error {
	_, fixed := plans[e.planName]
	switch {
	case e.key == "" || strings.ContainsFunc(e.key, func(c rune) bool { return c <= ' ' || c > '~' }):
		return invalid("key must be visible ASCII characters without spaces.")
	case fixed && (e.perMinute != nil || e.perDay != nil):
		return invalid("perMinute and perDay are for the enterprise plan only.")
	case !fixed && e.planName != "enterprise":
		return invalid("plan must be free, pro, business or enterprise.")
	case !fixed && (!isLimit(e.perMinute) || !isLimit(e.perDay)):
		return invalid("The enterprise plan needs both perMinute and perDay, from 1 to %d.", math.MaxInt32)
	}
	return nil
}

func isLimit(n *int64) bool { return n != nil && *n >= 1 && *n <= math.MaxInt32 }

// limits returns the limits of a valid entry.
func (e *keyEntry) limits() plan {
	if fixed, ok := plans[e.planName]; ok {
		return fixed
	}
	return plan{*e.perMinute, *e.perDay}
}

// A window lets through a fixed number of requests: its limit. The next window begins with the first request after its
// end: if a window of a minute begins at 9:00:30, it ends at 9:01:30; if the next request comes at 9:07:12, the
// next window ends at 9:08:12.
type window struct {
	limit   int64
	length  time.Duration
	end     time.Time
	limiter *rate.Limiter // starts with limit tokens and, at rate 0, never gets any back
}

// renew begins a new window if this one has ended.
func (w *window) renew(now time.Time) {
	if !now.Before(w.end) {
		w.end = now.Add(w.length)
		w.limiter = rate.NewLimiter(0, int(w.limit))
	}
}

// remaining returns how many more requests the window lets through.
func (w *window) remaining(now time.Time) int64 { return int64(w.limiter.TokensAt(now)) }

// tighterThan reports whether the window has fewer requests left than another one or, if both are used up, ends later:
// nothing gets through before that.
func (w *window) tighterThan(other *window, now time.Time) bool {
	if w.remaining(now) == 0 && other.remaining(now) == 0 {
		return w.end.After(other.end)
	}
	return w.remaining(now) < other.remaining(now)
}

// A quota is what the rate headers report.
type quota struct {
	limit, remaining int64
	reset            time.Time
}

// setHeaders sets the rate headers. It writes to the map, since Set would change X-RateLimit to X-Ratelimit.
func (q quota) setHeaders(header http.Header) {
	header["X-RateLimit-Limit"] = []string{strconv.FormatInt(q.limit, 10)}
	header["X-RateLimit-Remaining"] = []string{strconv.FormatInt(q.remaining, 10)}
	roundedUp := q.reset.Add(time.Second - 1).Unix()
	header["X-RateLimit-Reset"] = []string{strconv.FormatInt(roundedUp, 10)}
}

// A client is whoever requests are counted for: a key, or the address of strangers, who have no valid key.
type client struct {
	planName string // empty for a stranger

	mu          sync.Mutex  // guards what follows
	windows     []window    // the minute and, for a key, the day
	lastRefusal int64       // Unix time of the last 429; reset to 0 when a request is let through or a ban begins
	strikes     []time.Time // the refusals of the last minute that count towards a ban; see refuse
	banEnd      time.Time
}

// spend takes one request from each window of the client. If a window is used up, it takes none and fails with
// rate_limited. A banned key fails with key_banned. The quota is that of the tightest window.
func (c *client) spend(now time.Time) (quota, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now.Before(c.banEnd) {
		return c.banned(now)
	}
	tightest := &c.windows[0] // the loop renews it first
	for i := range c.windows {
		w := &c.windows[i]
		w.renew(now)
		if w.tighterThan(tightest, now) {
			tightest = w
		}
	}
	if tightest.remaining(now) == 0 {
		return c.refuse(now, tightest)
	}
	for i := range c.windows {
		c.windows[i].limiter.AllowN(now, 1)
	}
	c.lastRefusal, c.strikes = 0, nil
	return quota{tightest.limit, tightest.remaining(now), tightest.end}, nil
}

const (
	maxStrikes = 10
	banLength  = 5 * time.Minute
)

// refuse fails with rate_limited for the window that is used up. It bans a key that does not stop: each second in
// which the key is refused again is a strike, and maxStrikes within a minute ban it for banLength. Strangers, who have
// no plan, are never banned.
//
// For example, if a key is refused at 9:00:00.0 and 9:00:00.4, there is no strike yet: a burst that was sent at once
// is no offence. At 9:00:01.2 comes the first strike, at 9:00:01.9 none (the same second), at 9:00:02.1 the second.
// A client that doubles its wait, beginning with one second, gets 5 strikes in the first minute and never 10.
func (c *client) refuse(now time.Time, usedUp *window) (quota, error) {
	second := now.Unix()
	if c.planName != "" && c.lastRefusal != 0 && second > c.lastRefusal {
		c.strikes = slices.DeleteFunc(c.strikes, func(strike time.Time) bool { return now.Sub(strike) > time.Minute })
		c.strikes = append(c.strikes, now)
	}
	if len(c.strikes) == maxStrikes {
		c.lastRefusal, c.strikes = 0, nil
		c.banEnd = now.Add(banLength)
		return c.banned(now)
	}
	c.lastRefusal = max(c.lastRefusal, second) // of two requests at once, the later may get here first
	err := fail(http.StatusTooManyRequests,
		"All %d requests of this window are used up; retry after the number of seconds in Retry-After.", usedUp.limit)
	return quota{usedUp.limit, 0, usedUp.end}, err.retryAfter(usedUp.end.Sub(now))
}

func (c *client) banned(now time.Time) (quota, error) {
	err := fail(http.StatusForbidden, "This key is temporarily banned for sending requests while over its limit; "+
		"retry after the number of seconds in Retry-After.")
	return quota{c.windows[0].limit, 0, c.banEnd}, err.retryAfter(c.banEnd.Sub(now))
}

// Limits knows every key and, for a minute, every stranger.
type Limits struct {
	clients   map[[sha256.Size]byte]*client // by the hash of the key
	shortKeys []int                         // the entries to warn about, counted from 1

	mu        sync.Mutex // guards strangers
	strangers map[netip.Prefix]*client
}

// A key of fewer characters than safeKeyLength is allowed, but can be guessed. The log warns about it.
const safeKeyLength = 16

// newLimits reads the keys file, a JSON array of entries. An error says which entry is wrong, and quotes no value, so
// that no key gets into a log.
func newLimits(keysFile []byte) (*Limits, error) {
	if _, err := checkJSON(keysFile); err != nil {
		return nil, err
	}
	var entries []json.RawMessage
	if err := json.Unmarshal(keysFile, &entries); err != nil || len(entries) == 0 {
		return nil, errors.New("the keys must be a JSON array of one or more objects")
	}
	l := &Limits{clients: map[[sha256.Size]byte]*client{}, strangers: map[netip.Prefix]*client{}}
	for i, data := range entries {
		var entry keyEntry
		if err := decodeObject(data, &entry); err != nil {
			return nil, fmt.Errorf("entry %d: %w", i+1, err)
		}
		if len(entry.key) < safeKeyLength {
			l.shortKeys = append(l.shortKeys, i+1)
		}
		hash := sha256.Sum256([]byte(entry.key))
		if l.clients[hash] != nil {
			return nil, fmt.Errorf("entry %d: the key is given twice", i+1)
		}
		limits := entry.limits()
		l.clients[hash] = &client{planName: entry.planName, windows: []window{
			{limit: limits.perMinute, length: time.Minute},
			{limit: limits.perDay, length: 24 * time.Hour},
		}}
	}
	return l, nil
}

// admit finds the client that sent the request, and spends one request of its quota. It returns the name of the
// client's plan, which is empty for a stranger, and an error if the request must not go on.
//
// Keys are looked up by their hash, so the time it takes says nothing about how much of a guessed key is right.
func (l *Limits) admit(r *http.Request, now time.Time) (planName string, q quota, err error) {
	if c := l.clients[sha256.Sum256([]byte(requestKey(r)))]; c != nil {
		q, err = c.spend(now)
		return c.planName, q, err
	}
	q, err = l.stranger(r.RemoteAddr, now).spend(now)
	if err == nil { // a stranger never gets in: it is 401 or, after too many of them, 429
		err = fail(http.StatusUnauthorized, "A valid API key is required; send it as Authorization: Bearer KEY.").
			with("WWW-Authenticate", "Bearer")
	}
	return "", q, err
}

// requestKey returns the key that the request carries, or "". It is in the header Authorization (RFC 6750, section 2.1)
// or in X-API-Key; if both are there, Authorization counts.
func requestKey(r *http.Request) string {
	authorization := r.Header.Get("Authorization")
	if authorization == "" {
		return r.Header.Get("X-API-Key")
	}
	scheme, key, _ := strings.Cut(authorization, " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimLeft(key, " ")
}

// stranger returns the client shared by all strangers at one IPv4 address or in one IPv6 /64, which is what a household
// gets. It has one window, a minute with the limit of the free plan. After that minute the address gets a new client,
// so the window is never renewed once others can see it, and its end may be read without the client's mutex.
func (l *Limits) stranger(remote string, now time.Time) *client {
	addrPort, _ := netip.ParseAddrPort(remote)
	addr := addrPort.Addr().Unmap()
	network, _ := addr.Prefix(min(addr.BitLen(), 64)) // all 32 bits of IPv4, the first 64 of IPv6
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.strangers[network]
	if c == nil || !now.Before(c.windows[0].end) {
		if len(l.strangers) == 0 { // otherwise forget is on its way
			time.AfterFunc(time.Minute, l.forget)
		}
		c = &client{windows: []window{{limit: plans["free"].perMinute, length: time.Minute}}}
		c.windows[0].renew(now) // begins its only minute
		l.strangers[network] = c
	}
	return c
}

// forget drops the strangers whose minute is over, and runs again in a minute if any are left.
func (l *Limits) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	kept := map[netip.Prefix]*client{} // a new map, since one that was emptied keeps its memory
	for network, c := range l.strangers {
		if now.Before(c.windows[0].end) {
			kept[network] = c
		}
	}
	l.strangers = kept
	if len(kept) > 0 {
		time.AfterFunc(time.Minute, l.forget)
	}
}
