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

// plans are those with fixed figures. An enterprise key has figures of its own.
var plans = map[string]plan{
	"free":     {60, 1000},
	"pro":      {300, 10_000},
	"business": {1000, 100_000},
}

// demoKeys stand in for the keys file if there is none. They are public.
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
		return invalid("perMinute and perDay are for the plan enterprise only.")
	case !fixed && e.planName != "enterprise":
		return invalid("plan must be free, pro, business or enterprise.")
	case !fixed && (!isFigure(e.perMinute) || !isFigure(e.perDay)):
		return invalid("The plan enterprise needs both perMinute and perDay, from 1 to %d.", math.MaxInt32)
	}
	return nil
}

func isFigure(n *int64) bool { return n != nil && *n >= 1 && *n <= math.MaxInt32 }

// plan returns the figures of a valid entry.
func (e *keyEntry) plan() plan {
	if fixed, ok := plans[e.planName]; ok {
		return fixed
	}
	return plan{*e.perMinute, *e.perDay}
}

// A window lets limit requests through. The next window begins with the first request after its end, not at its
// end: a window of a minute that begins at 9:00:30 ends at 9:01:30, and if the next request comes at 9:07:12, the
// next window ends at 9:08:12.
type window struct {
	limit   int64
	length  time.Duration
	end     time.Time
	limiter *rate.Limiter // never refills
}

// renew begins a new window if this one has ended.
func (w *window) renew(now time.Time) {
	if !now.Before(w.end) {
		w.end = now.Add(w.length)
		w.limiter = rate.NewLimiter(0, int(w.limit))
	}
}

// left returns how many more requests the window lets through.
func (w *window) left(now time.Time) int64 { return int64(w.limiter.TokensAt(now)) }

// A quota is what the rate headers report.
type quota struct {
	limit, left int64
	reset       time.Time
}

// setHeaders sets the rate headers. They are assigned, since Set would spell them X-Ratelimit.
func (q quota) setHeaders(header http.Header) {
	header["X-RateLimit-Limit"] = []string{strconv.FormatInt(q.limit, 10)}
	header["X-RateLimit-Remaining"] = []string{strconv.FormatInt(q.left, 10)}
	roundedUp := q.reset.Add(time.Second - 1).Unix()
	header["X-RateLimit-Reset"] = []string{strconv.FormatInt(roundedUp, 10)}
}

// A client is whoever the limits are counted for: a key, or the address of a stranger, who has no valid key.
type client struct {
	planName string // empty for a stranger

	mu          sync.Mutex  // guards what follows
	windows     []window    // the minute and, for a key, the day
	lastRefusal int64       // the second of the last 429, in Unix time; 0 if a request was let through since
	strikes     []time.Time // within the last minute
	banEnd      time.Time
}

// spend takes one request from each window of the client. If one of them is used up, it takes none and returns
// rate_limited; if the key is banned, key_banned.
//
// The quota is that of the window with fewer requests left. If both are used up, it is that of the one that ends
// later, for only then is a request let through again.
func (c *client) spend(now time.Time) (quota, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now.Before(c.banEnd) {
		return c.banned(now)
	}
	var tightest *window
	var left int64
	for i := range c.windows {
		w := &c.windows[i]
		w.renew(now)
		n := w.left(now)
		endsLater := tightest != nil && w.end.After(tightest.end)
		if tightest == nil || n < left || (n == 0 && endsLater) {
			tightest, left = w, n
		}
	}
	if left == 0 {
		return c.refuse(now, tightest)
	}
	for i := range c.windows {
		c.windows[i].limiter.AllowN(now, 1)
	}
	c.lastRefusal, c.strikes = 0, nil
	return quota{tightest.limit, left - 1, tightest.end}, nil
}

const (
	maxStrikes = 10
	banLength  = 5 * time.Minute
)

// refuse returns rate_limited for the window that is used up. It bans a key that does not stop: each second in
// which the key is refused again is a strike, and 10 strikes within a minute are a ban.
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
	c.lastRefusal = max(c.lastRefusal, second)
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
	shortKeys []int                         // the entries whose key could be guessed

	mu        sync.Mutex // guards strangers
	strangers map[netip.Prefix]*client
}

// minKeyLength is the length below which a key could be guessed, in characters.
const minKeyLength = 16

// newLimits reads the keys file, a JSON array of entries. An error names the entry, but never its key.
func newLimits(keysFile []byte) (*Limits, error) {
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
		if len(entry.key) < minKeyLength {
			l.shortKeys = append(l.shortKeys, i+1)
		}
		hash := sha256.Sum256([]byte(entry.key))
		if l.clients[hash] != nil {
			return nil, fmt.Errorf("entry %d: the key is given twice", i+1)
		}
		plan := entry.plan()
		l.clients[hash] = &client{planName: entry.planName, windows: []window{
			{limit: plan.perMinute, length: time.Minute},
			{limit: plan.perDay, length: 24 * time.Hour},
		}}
	}
	return l, nil
}

// admit finds the client that sent the request, and spends one request of its quota. It returns the name of the
// client's plan, which is empty for a stranger, and an error if the request must not go on.
//
// Keys are looked up by their hash, so the time that takes says nothing about how much of a guess was right.
func (l *Limits) admit(r *http.Request, now time.Time) (planName string, q quota, err error) {
	if c := l.clients[sha256.Sum256([]byte(requestKey(r)))]; c != nil {
		q, err = c.spend(now)
		return c.planName, q, err
	}
	q, err = l.stranger(r.RemoteAddr, now).spend(now)
	if err == nil {
		err = fail(http.StatusUnauthorized, "A valid API key is required; send it as Authorization: Bearer KEY.").
			with("WWW-Authenticate", "Bearer")
	}
	return "", q, err
}

// requestKey returns the key that the request carries (RFC 6750, section 2.1), or "".
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

// stranger returns the client for everybody without a valid key at an IPv4 address or in an IPv6 /64, which is
// what one household gets. It lasts for one minute window; after that, the address gets a new one.
func (l *Limits) stranger(remote string, now time.Time) *client {
	addrPort, _ := netip.ParseAddrPort(remote)
	addr := addrPort.Addr().Unmap()
	network, _ := addr.Prefix(min(addr.BitLen(), 64))
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.strangers[network]
	if c == nil || !now.Before(c.windows[0].end) {
		if len(l.strangers) == 0 {
			time.AfterFunc(time.Minute, l.forget)
		}
		c = &client{windows: []window{{limit: plans["free"].perMinute, length: time.Minute}}}
		c.windows[0].renew(now)
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
