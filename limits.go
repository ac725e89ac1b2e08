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
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// plans are the requests per minute and per day; an enterprise key has its own.
var plans = map[string][2]int64{
	"free":     {60, 1000},
	"pro":      {300, 10_000},
	"business": {1000, 100_000},
}

// demoKeys stand for the keys file where there is none.
const demoKeys = `[
{"key": "demo-free", "plan": "free"},
{"key": "demo-pro", "plan": "pro"},
{"key": "demo-business", "plan": "business"},
{"key": "demo-enterprise", "plan": "enterprise", "perMinute": 5000, "perDay": 1000000}
]`

// A grant is an entry of the keys file.
type grant struct {
	key, plan         string
	perMinute, perDay *int64
}

func (g *grant) fields() []field {
	return []field{{"key", &g.key, true}, {"plan", &g.plan, true},
		{"perMinute", &g.perMinute, false}, {"perDay", &g.perDay, false}}
}

// validate also sets the two figures of a plan that has them fixed.
func (g *grant) validate() error {
	figures, fixed := plans[g.plan]
	switch {
	case g.key == "" || strings.ContainsFunc(g.key, func(c rune) bool { return c <= ' ' || c > '~' }):
		return invalid("key must be visible ASCII characters without spaces.")
	case !fixed && g.plan != "enterprise":
		return invalid("plan must be free, pro, business or enterprise.")
	case fixed && (g.perMinute != nil || g.perDay != nil):
		return invalid("perMinute and perDay are for the plan enterprise alone.")
	case fixed:
		g.perMinute, g.perDay = &figures[0], &figures[1]
	case g.perMinute == nil || g.perDay == nil || min(*g.perMinute, *g.perDay) < 1 || max(*g.perMinute, *g.perDay) > math.MaxInt32:
		return invalid("perMinute and perDay must both be given for the plan enterprise, from 1 to %d.", math.MaxInt32)
	}
	return nil
}

// A window lets limit requests through, and begins anew with the first request after its end.
type window struct {
	limit   int64
	length  time.Duration
	end     time.Time
	limiter *rate.Limiter // never refills
}

func (w *window) renew(now time.Time) {
	if !now.Before(w.end) {
		w.end = now.Add(w.length)
		w.limiter = rate.NewLimiter(0, int(w.limit))
	}
}

func (w *window) left(now time.Time) int64 { return int64(w.limiter.TokensAt(now)) }

// A client is a key, or the address of strangers without one.
type client struct {
	plan string // empty for strangers

	mu          sync.Mutex  // guards what follows
	windows     []window    // the minute and, for a key, the day
	lastRefusal int64       // Unix second; 0 since a request was let through
	strikes     []time.Time // one for each second of the last minute in which the client was refused again
	banEnd      time.Time
}

// A quota is what the rate headers tell.
type quota struct {
	limit, left int64
	reset       time.Time
}

// spend takes one request from every window of the client, or from none where one is spent or the client is
// banned: then the error is rate_limited or key_banned. The quota is that of the window with fewer left, and
// of two spent ones that of the later to end.
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
		if n := w.left(now); tightest == nil || n < left || n == 0 && w.end.After(tightest.end) {
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

// refuse tells of the spent window, and bans a key that was refused again in each of 10 seconds of a minute.
func (c *client) refuse(now time.Time, spent *window) (quota, error) {
	second := now.Unix()
	if c.plan != "" && c.lastRefusal != 0 && second > c.lastRefusal {
		c.strikes = slices.DeleteFunc(c.strikes, func(strike time.Time) bool { return now.Sub(strike) > time.Minute })
		c.strikes = append(c.strikes, now)
	}
	if len(c.strikes) == 10 {
		c.lastRefusal, c.strikes = 0, nil
		c.banEnd = now.Add(5 * time.Minute)
		return c.banned(now)
	}
	c.lastRefusal = max(c.lastRefusal, second)
	err := fail(http.StatusTooManyRequests, "All %d requests of this window are spent; wait as long as Retry-After says.", spent.limit)
	return quota{spent.limit, 0, spent.end}, err.retryAfter(spent.end.Sub(now))
}

func (c *client) banned(now time.Time) (quota, error) {
	err := fail(http.StatusForbidden, "The key is banned for asking on and on while over its limit; wait as long as Retry-After says.")
	return quota{c.windows[0].limit, 0, c.banEnd}, err.retryAfter(c.banEnd.Sub(now))
}

// Limits knows every key and, for a minute, every stranger.
type Limits struct {
	keys map[[sha256.Size]byte]*client

	mu        sync.Mutex // guards strangers
	strangers map[netip.Prefix]*client
}

// newLimits reads the keys, a JSON array of grants. An error names the entry, but no key.
func newLimits(keys []byte) (*Limits, error) {
	var grants []json.RawMessage
	if err := json.Unmarshal(keys, &grants); err != nil || grants == nil {
		return nil, errors.New("the keys must be a JSON array of objects")
	}
	l := &Limits{keys: map[[sha256.Size]byte]*client{}, strangers: map[netip.Prefix]*client{}}
	for i, entry := range grants {
		var g grant
		if err := decodeObject(entry, &g); err != nil {
			return nil, fmt.Errorf("entry %d: %w", i+1, err)
		}
		hash := sha256.Sum256([]byte(g.key))
		if l.keys[hash] != nil {
			return nil, fmt.Errorf("entry %d: the key is given twice", i+1)
		}
		l.keys[hash] = &client{plan: g.plan, windows: []window{
			{limit: *g.perMinute, length: time.Minute},
			{limit: *g.perDay, length: 24 * time.Hour},
		}}
	}
	return l, nil
}

// admit spends a request of the caller's quota. It returns the caller's plan, which is empty for a
// stranger, and an error for whoever may not go on.
func (l *Limits) admit(r *http.Request, now time.Time) (plan string, q quota, err error) {
	if c := l.keys[sha256.Sum256([]byte(requestKey(r)))]; c != nil {
		q, err = c.spend(now)
		return c.plan, q, err
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

// stranger returns the client that stands for an IPv4 address or an IPv6 /64 in its present minute. Its window
// is never renewed: the next minute has a client of its own.
func (l *Limits) stranger(remote string, now time.Time) *client {
	from, _ := netip.ParseAddrPort(remote)
	addr := from.Addr().Unmap()
	network, _ := addr.Prefix(min(addr.BitLen(), 64))
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.strangers[network]
	if c == nil || !now.Before(c.windows[0].end) {
		if len(l.strangers) == 0 {
			time.AfterFunc(time.Minute, l.forget)
		}
		c = &client{windows: []window{{limit: plans["free"][0], length: time.Minute}}}
		c.windows[0].renew(now)
		l.strangers[network] = c
	}
	return c
}

// forget drops the strangers whose minute is over, and comes again while any are left.
func (l *Limits) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	now, kept := time.Now(), map[netip.Prefix]*client{} // a new map, for an emptied one keeps its memory
	for network, c := range l.strangers {
		if now.Before(c.windows[0].end) {
			kept[network] = c
		}
	}
	if l.strangers = kept; len(kept) > 0 {
		time.AfterFunc(time.Minute, l.forget)
	}
}
