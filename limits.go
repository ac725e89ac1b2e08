package main

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// A plan says how many requests a key may send.
type plan struct{ perMinute, perDay int }

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

// A keyEntry is an entry of the keys file. A limit that was left out is nil.
type keyEntry struct {
	key, planName     string
	perMinute, perDay *int
}

func (e *keyEntry) fields() []field {
	return []field{
		{"key", required, aString, &e.key},
		{"plan", required, aString, &e.planName},
		{"perMinute", optional, anInteger, &e.perMinute},
		{"perDay", optional, anInteger, &e.perDay},
	}
}

func (e keyEntry) validate() error {
	if e.key == "" || strings.ContainsFunc(e.key, func(c rune) bool { return c <= ' ' || c > '~' }) {
		return invalid("key must be visible ASCII characters without spaces.")
	}
	if _, fixed := plans[e.planName]; fixed {
		if e.perMinute != nil || e.perDay != nil {
			return invalid("perMinute and perDay are for the enterprise plan only.")
		}
		return nil
	}
	if e.planName != "enterprise" {
		return invalid("plan must be free, pro, business or enterprise.")
	}
	if !isLimit(e.perMinute) || !isLimit(e.perDay) {
		return invalid("The enterprise plan needs both perMinute and perDay, from 1 to %d.", math.MaxInt32)
	}
	return nil
}

func isLimit(n *int) bool { return n != nil && *n >= 1 && *n <= math.MaxInt32 }

// A quota is what the rate headers report.
type quota struct {
	limit, remaining int
	reset            time.Time
	wait             time.Duration // after a 429 or during a ban, how long to wait; otherwise 0
}

// setHeaders sets the rate headers and, if there is a wait, Retry-After (RFC 9110, section 10.2.3). Times are in whole
// seconds, rounded up. It writes to the map, because Set would spell them X-Ratelimit-Limit and so on.
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

// A window lets a fixed number of requests through until its end. Its limiter starts with a token for each of them and,
// since its rate is 0, gets none back: it just counts down. At another rate it would be a limit that refills.
type window struct {
	limit   int
	end     time.Time
	limiter *rate.Limiter
}

func newWindow(limit int, end time.Time) *window {
	return &window{limit, end, rate.NewLimiter(0, limit)}
}

// remaining returns how many more requests the window lets through.
func (w *window) remaining(now time.Time) int { return int(w.limiter.TokensAt(now)) }

func (w *window) quota(now time.Time) quota {
	return quota{limit: w.limit, remaining: w.remaining(now), reset: w.end}
}

// refusal returns the quota and the error, rate_limited, for a request that comes when none is left.
func (w *window) refusal(now time.Time) (quota, error) {
	q := quota{limit: w.limit, reset: w.end, wait: w.end.Sub(now)}
	return q, fail(http.StatusTooManyRequests,
		"All %d requests of this window are used up; retry after the number of seconds in Retry-After.", w.limit)
}

// A client is whoever sends requests with a key.
type client struct {
	planName string

	mu          sync.Mutex // guards what follows
	minute, day *window
	refusals    []time.Time // the times of refusals since the last success or ban, at most one a second
	banEnd      time.Time
}

// spend takes one request from both windows of the client. If one of them is used up, it takes none, and returns the
// error rate_limited; for a banned key, key_banned.
//
// A window begins with the first request after the end of the one before it. If that comes at 9:00:30, the minute ends
// at 9:01:30; if the next request comes at 9:07:12, the next minute ends at 9:08:12.
func (c *client) spend(now time.Time, minuteLength time.Duration) (quota, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now.Before(c.banEnd) {
		return c.banRefusal(now)
	}
	if !now.Before(c.minute.end) {
		c.minute = newWindow(c.minute.limit, now.Add(minuteLength))
	}
	if !now.Before(c.day.end) {
		c.day = newWindow(c.day.limit, now.Add(24*time.Hour))
	}
	w := c.tighter(now)
	if w.remaining(now) == 0 {
		return c.countRefusal(now, w)
	}
	c.minute.limiter.AllowN(now, 1) // both have at least one left
	c.day.limiter.AllowN(now, 1)
	c.refusals = nil
	return w.quota(now), nil
}

// tighter returns the window with fewer requests left. If both are used up, that is the one that ends later; on any
// other tie, the minute.
func (c *client) tighter(now time.Time) *window {
	inMinute, inDay := c.minute.remaining(now), c.day.remaining(now)
	if inMinute == 0 && inDay == 0 && c.day.end.After(c.minute.end) {
		return c.day
	}
	if inDay < inMinute {
		return c.day
	}
	return c.minute
}

const (
	maxStrikes = 10
	banLength  = 5 * time.Minute
)

// countRefusal returns the error rate_limited, and bans a key that does not stop: each second in which it is refused
// again is a strike, and maxStrikes within 60 seconds ban it for banLength.
//
// A client that sends a hundred requests at once and stops has at most one strike. One that asks every second is banned
// after ten more seconds; with its day used up, even one that asks every six seconds is, after a minute. One that
// doubles its wait, beginning with one second, gets 5 strikes in the first minute and fewer later: it is never banned.
func (c *client) countRefusal(now time.Time, w *window) (quota, error) {
	if n := len(c.refusals); n > 0 && now.Unix() <= c.refusals[n-1].Unix() { // still the same second
		return w.refusal(now)
	}
	c.refusals = append(c.refusals, now)
	strikes := c.refusals[1:] // the first refusal is only a warning
	n := len(strikes)
	if n < maxStrikes || now.Sub(strikes[n-maxStrikes]) > 60*time.Second {
		return w.refusal(now)
	}
	c.refusals = nil
	c.banEnd = now.Add(banLength)
	return c.banRefusal(now)
}

func (c *client) banRefusal(now time.Time) (quota, error) {
	q := quota{limit: c.minute.limit, reset: c.banEnd, wait: c.banEnd.Sub(now)}
	return q, fail(http.StatusForbidden, "This key is temporarily banned for sending requests while over its limit; "+
		"retry after the number of seconds in Retry-After.")
}

// Limits counts the requests of each key, and of strangers: those without a valid key.
type Limits struct {
	clients map[[sha256.Size]byte]*client // by the hash of the key; not changed after the start
	minute  time.Duration                 // how long a minute window lasts

	mu           sync.Mutex               // guards what follows
	strangers    map[netip.Prefix]*window // by network
	strangersEnd time.Time                // of the minute that all strangers share
}

// newLimits reads the keys file, a JSON array of entries. An error in an entry says which one it is, and quotes no
// value.
func newLimits(keysFile []byte) (*Limits, error) {
	if i, err := checkJSON(keysFile); err != nil {
		return nil, fmt.Errorf("the JSON is malformed at byte %d: %w", i+1, err)
	}
	var entries []json.RawMessage
	if json.Unmarshal(keysFile, &entries) != nil || len(entries) == 0 {
		return nil, errors.New("the keys must be a JSON array of one or more objects")
	}
	l := &Limits{clients: map[[sha256.Size]byte]*client{}, minute: time.Minute}
	for i, data := range entries {
		var entry keyEntry
		if err := decodeObject(data, &entry); err != nil {
			return nil, fmt.Errorf("entry %d: %w", i+1, err)
		}
		hash := sha256.Sum256([]byte(entry.key))
		if l.clients[hash] != nil {
			return nil, fmt.Errorf("entry %d: the key is given twice", i+1)
		}
		p, fixed := plans[entry.planName]
		if !fixed {
			p = plan{*entry.perMinute, *entry.perDay}
		}
		var ended time.Time // so that the first request begins both windows
		l.clients[hash] = &client{
			planName: entry.planName,
			minute:   newWindow(p.perMinute, ended),
			day:      newWindow(p.perDay, ended),
		}
	}
	return l, nil
}

// admit finds the client that sent the request, and spends one request of its quota. It returns the name of the
// client's plan, which is empty for a stranger, and an error if the request must not go on.
//
// Keys are looked up by their hash, so the time it takes says nothing about how much of a guessed key is right.
func (l *Limits) admit(r *http.Request, now time.Time) (planName string, q quota, err error) {
	now = now.Round(0) // drops the monotonic clock, which may stand still while the computer sleeps
	if c := l.clients[sha256.Sum256([]byte(requestKey(r)))]; c != nil {
		q, err = c.spend(now, l.minute)
		return c.planName, q, err
	}
	q, err = l.spendStranger(r.RemoteAddr, now)
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

// spendStranger returns the error unauthorized or, after as many requests in a minute as the free plan allows,
// rate_limited. Strangers at one IPv4 address, or in one IPv6 /64, which is what a household gets, count as one.
//
// The minutes of all strangers begin and end together. The first one after its end begins the next, and all others are
// forgotten, so an attack from many addresses does not fill the memory for good.
func (l *Limits) spendStranger(remote string, now time.Time) (quota, error) {
	addrPort, _ := netip.ParseAddrPort(remote) // an address that cannot be parsed is zero, and so is its network
	addr := addrPort.Addr().Unmap()
	network, _ := addr.Prefix(min(addr.BitLen(), 64)) // all 32 bits of IPv4, the first 64 of the 128 of IPv6
	l.mu.Lock()
	defer l.mu.Unlock()
	if !now.Before(l.strangersEnd) {
		l.strangersEnd = now.Add(l.minute)
		l.strangers = map[netip.Prefix]*window{}
	}
	w := l.strangers[network]
	if w == nil {
		w = newWindow(plans["free"].perMinute, l.strangersEnd)
		l.strangers[network] = w
	}
	if !w.limiter.AllowN(now, 1) {
		return w.refusal(now)
	}
	return w.quota(now), fail(http.StatusUnauthorized,
		"A valid API key is required; send it as Authorization: Bearer KEY.")
}
