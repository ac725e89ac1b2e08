package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// inBubble runs the test on a service that keeps nothing on disk, in fake time.
func inBubble(t *testing.T, test func(*testing.T, *service)) {
	synctest.Test(t, func(t *testing.T) {
		test(t, newService(t, ""))
	})
}

// rates are what a response says about the limits.
type rates struct {
	status           int
	limit, remaining int
	resetIn          int // seconds from now until X-RateLimit-Reset
	retryAfter       int // seconds; 0 if the header is missing
}

func (r rates) String() string {
	retry := ""
	if r.retryAfter != 0 {
		retry = fmt.Sprintf(", retry after %d s", r.retryAfter)
	}
	return fmt.Sprintf("%d: %d of %d left, ends in %d s%s",
		r.status, r.remaining, r.limit, r.resetIn, retry)
}

func ratesOf(resp *http.Response) rates {
	number := func(name string) int {
		n, _ := strconv.Atoi(resp.Header.Get(name))
		return n
	}
	return rates{
		status:     resp.StatusCode,
		limit:      number("X-RateLimit-Limit"),
		remaining:  number("X-RateLimit-Remaining"),
		resetIn:    number("X-RateLimit-Reset") - int(time.Now().Unix()),
		retryAfter: number("Retry-After"),
	}
}

// ask sends a request with the key.
func (s *service) ask(key string) rates {
	s.t.Helper()
	return ratesOf(s.do("GET /pets", "", "Authorization: Bearer "+key))
}

// expectRates sends a request with the key, and compares what the response says with what is
// wanted.
func (s *service) expectRates(key, format string, args ...any) {
	s.t.Helper()
	same(s.t, "key "+key+" at "+time.Now().UTC().Format(time.TimeOnly),
		fmt.Sprintf(format, args...), s.ask(key).String())
}

func TestPlans(t *testing.T) {
	inBubble(t, func(t *testing.T, s *service) {
		for key, limit := range map[string]int{"free": 60, "pro": 300, "business": 1000} {
			for left := limit - 1; left >= 0; left-- {
				s.expectRates(key, "200: %d of %d left, ends in 60 s", left, limit)
			}
			s.expectRates(key, "429: 0 of %d left, ends in 60 s, retry after 60 s", limit)
		}
		s.expectRates("big", "200: 2147483646 of 2147483647 left, ends in 86400 s")

		// Both headers are rounded up, so that nobody comes back too early.
		time.Sleep(59*time.Second - time.Nanosecond)
		s.expectRates("free", "429: 0 of 60 left, ends in 2 s, retry after 2 s")
		time.Sleep(time.Nanosecond)
		s.expectRates("free", "429: 0 of 60 left, ends in 1 s, retry after 1 s")
		time.Sleep(time.Second - time.Nanosecond)
		s.expectRates("free", "429: 0 of 60 left, ends in 1 s, retry after 1 s")
		time.Sleep(time.Nanosecond)
		s.expectRates("free", "200: 59 of 60 left, ends in 60 s")
	})
}

// A window begins with the first request after the previous one ended.
func TestWindowsBeginWithARequest(t *testing.T) {
	inBubble(t, func(t *testing.T, s *service) {
		time.Sleep(500 * time.Millisecond)
		s.expectRates("free", "200: 59 of 60 left, ends in 61 s") // 60.5, rounded up
		time.Sleep(30 * time.Second)
		s.expectRates("free", "200: 58 of 60 left, ends in 31 s")
		time.Sleep(200 * time.Second)
		s.expectRates("free", "200: 59 of 60 left, ends in 61 s")
	})
}

// At the pace of its minute, and with a few requests too many each minute, a plan lets exactly its
// day through.
func TestDayOfAPlan(t *testing.T) {
	for _, plan := range []struct {
		key         string
		minute, day int
	}{
		{"free", 60, 1000}, {"pro", 300, 10_000}, {"business", 1000, 100_000},
	} {
		t.Run(plan.key, func(t *testing.T) {
			inBubble(t, func(t *testing.T, s *service) {
				r := httptest.NewRequest("GET", "/pets", nil)
				r.Header.Set("X-API-Key", plan.key)
				passed, end := 0, time.Now().Add(24*time.Hour)
				for passed < plan.day && time.Now().Before(end) {
					for range plan.minute + 3 {
						// There are many, so they go without HTTP.
						if _, err := s.limits.admit(r, time.Now()); err == nil {
							passed++
						}
					}
					time.Sleep(time.Minute)
				}
				same(t, "requests let through", plan.day, passed)
				left := int(time.Until(end).Seconds())
				const refused = "429: 0 of %d left, ends in %d s, retry after %[2]d s"
				s.expectRates(plan.key, refused, plan.day, left)
				time.Sleep(time.Until(end) - time.Nanosecond)
				s.expectRates(plan.key, refused, plan.day, 1)
				time.Sleep(time.Nanosecond)
				same(t, "status of the next day", 200, s.ask(plan.key).status)
			})
		})
	}
}

// The headers report the window with fewer requests left once the request is counted; on a tie, the
// one that ends later.
func TestWhichWindowIsReported(t *testing.T) {
	inBubble(t, func(t *testing.T, s *service) {
		s.expectRates("both", "200: 0 of 1 left, ends in 86400 s") // both have none left
		s.expectRates("both", "429: 0 of 1 left, ends in 86400 s, retry after 86400 s")

		// The key twice has 1 request a minute and 2 a day. Here its day ends before its minute.
		s.expectRates("twice", "200: 0 of 1 left, ends in 60 s")
		time.Sleep(24*time.Hour - 30*time.Second)
		s.expectRates("twice", "200: 0 of 1 left, ends in 60 s")
		s.expectRates("twice", "429: 0 of 1 left, ends in 60 s, retry after 60 s")
		time.Sleep(30 * time.Second)
		s.expectRates("twice", "429: 0 of 1 left, ends in 30 s, retry after 30 s")

		// The key forty has 40 requests a minute and 100 a day, so the day is reported in its third
		// minute, once it has fewer left.
		for range 2 {
			for left := 39; left >= 0; left-- {
				s.expectRates("forty", "200: %d of 40 left, ends in 60 s", left)
			}
			s.expectRates("forty", "429: 0 of 40 left, ends in 60 s, retry after 60 s")
			time.Sleep(time.Minute)
		}
		for left := 19; left >= 0; left-- {
			s.expectRates("forty", "200: %d of 100 left, ends in 86280 s", left)
		}
		s.expectRates("forty", "429: 0 of 100 left, ends in 86280 s, retry after 86280 s")
	})
}

// A request that one window refuses is not counted in the other.
func TestRefusedRequestsAreNotCounted(t *testing.T) {
	inBubble(t, func(t *testing.T, s *service) {
		s.expectRates("twice", "200: 0 of 1 left, ends in 60 s")
		// Takes none of the day.
		s.expectRates("twice", "429: 0 of 1 left, ends in 60 s, retry after 60 s")
		time.Sleep(time.Minute)
		s.expectRates("twice", "200: 0 of 2 left, ends in 86340 s")
		time.Sleep(24*time.Hour - 90*time.Second)
		// Takes none of the minute.
		s.expectRates("twice", "429: 0 of 2 left, ends in 30 s, retry after 30 s")
		time.Sleep(30 * time.Second)
		s.expectRates("twice", "200: 0 of 1 left, ends in 30 s")
	})
}

// Go's monotonic clock stands still while the computer sleeps, so no window may end at a time that
// has a reading of it. Such a time differs from itself rounded to 0, which removes the reading.
func TestWindowsFollowTheWallClock(t *testing.T) {
	s := newService(t, "")
	for _, key := range []string{"one", "one", "wrong"} { // let through, refused, a stranger
		r := httptest.NewRequest("GET", "/pets", nil)
		r.Header.Set("X-API-Key", key)
		if q, _ := s.limits.admit(r, time.Now()); q.reset != q.reset.Round(0) {
			t.Errorf("key %s: the end %v has a reading of the monotonic clock", key, q.reset)
		}
	}
}

func TestBan(t *testing.T) {
	inBubble(t, func(t *testing.T, s *service) {
		s.expectRates("one", "200: 0 of 1 left, ends in 60 s")
		for range 1000 { // a burst at once is one strike
			s.expectRates("one", "429: 0 of 1 left, ends in 60 s, retry after 60 s")
		}
		for left := 59; left > 51; left-- {
			time.Sleep(time.Second)
			s.expectRates("one", "429: 0 of 1 left, ends in %d s, retry after %[1]d s", left)
		}
		time.Sleep(time.Second)
		s.expectRates("one", "403: 0 of 1 left, ends in 300 s, retry after 300 s")
		time.Sleep(5*time.Minute - time.Nanosecond)
		s.expectRates("one", "403: 0 of 1 left, ends in 1 s, retry after 1 s")
		time.Sleep(time.Nanosecond)
		s.expectRates("one", "200: 0 of 1 left, ends in 60 s")
		s.expectRates("pro", "200: 299 of 300 left, ends in 60 s") // not banned

		// The day of this key is spent, but its ban reports the limit of the minute. A restart ends
		// it.
		s.spendDay()
		s.expectStrikes("daily")
		s.expectRates("daily", "403: 0 of 100 left, ends in 299 s, retry after 299 s")
		restarted := newService(t, "")
		restarted.expectRates("daily", "200: 29 of 30 left, ends in 86400 s")
	})
}

// spendDay uses up the 30 requests that the key daily has a day.
func (s *service) spendDay() {
	for range 30 {
		s.ask("daily")
	}
}

// expectStrikes is for a key that is refused and has no strikes. It sends ten requests, one a
// second: each is a strike, and the tenth is a ban.
func (s *service) expectStrikes(key string) {
	s.t.Helper()
	var got []int
	for range 10 {
		got = append(got, s.ask(key).status)
		time.Sleep(time.Second)
	}
	same(s.t, "statuses of 10 refusals", append(slices.Repeat([]int{429}, 9), 403), got)
}

func TestStrikesAreCleared(t *testing.T) {
	nine := func(s *service) { // strikes, one a second
		s.spendDay()
		for range 9 {
			same(s.t, "status", 429, s.ask("daily").status)
			time.Sleep(time.Second)
		}
	}
	for name, test := range map[string]func(*service){
		"by a request that is let through": func(s *service) {
			s.expectRates("one", "200: 0 of 1 left, ends in 60 s")
			time.Sleep(51 * time.Second)
			for left := 9; left > 0; left-- { // nine strikes
				s.expectRates("one", "429: 0 of 1 left, ends in %d s, retry after %[1]d s", left)
				time.Sleep(time.Second)
			}
			s.expectRates("one", "200: 0 of 1 left, ends in 60 s")
			s.expectStrikes("one")
		},
		"by the end of a ban": func(s *service) {
			s.restart(time.Second, &options{}) // so that the ban is no pause of more than 5 s
			s.spendDay()
			s.expectStrikes("daily")
			time.Sleep(4 * time.Second)
			s.expectStrikes("daily")
		},
		"by a pause of more than 5 s": func(s *service) {
			nine(s)
			time.Sleep(4*time.Second + time.Nanosecond)
			s.expectStrikes("daily")
		},
		"not by a pause of 5 s": func(s *service) {
			nine(s)
			time.Sleep(4 * time.Second)
			same(s.t, "status of the tenth", 403, s.ask("daily").status)
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, s *service) { test(s) })
		})
	}
}

// Requests that arrive at the same time may be counted out of order. A second is still one strike.
func TestStrikesOutOfOrder(t *testing.T) {
	inBubble(t, func(t *testing.T, s *service) {
		r := httptest.NewRequest("GET", "/pets", nil)
		r.Header.Set("X-API-Key", "one")
		s.limits.admit(r, time.Now())
		for range 20 {
			for _, after := range []time.Duration{time.Second, 2 * time.Second, time.Second} {
				_, err := s.limits.admit(r, time.Now().Add(after))
				if e := new(Error); !errors.As(err, &e) || e.Status != 429 {
					t.Errorf("after %v: %v", after, err)
				}
			}
		}
	})
}

func TestWhoIsBanned(t *testing.T) {
	for _, test := range []struct {
		name, key string
		wait      time.Duration // before each request after the limit is reached
		doubles   bool          // the wait, each time
		banned    bool
	}{
		{"hammering", "daily", 10 * time.Millisecond, false, true},
		{"each second", "daily", time.Second, false, true},
		{"every 5 s", "daily", 5 * time.Second, false, true},
		{"every 6 s", "daily", 6 * time.Second, false, false},
		{"exponential backoff, day used up", "daily", time.Second, true, false},
		{"exponential backoff, minute used up", "forty", time.Second, true, false},
		{"a stranger", "wrong", time.Second, false, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, s *service) {
				for range 100 {
					s.ask(test.key)
				}
				banned, wait := false, test.wait
				for end := time.Now().Add(time.Hour / 2); time.Now().Before(end) && !banned; {
					time.Sleep(wait)
					banned = s.ask(test.key).status == 403
					if test.doubles {
						wait *= 2
					}
				}
				same(t, "banned", test.banned, banned)
			})
		})
	}
}

func TestExactUnderConcurrency(t *testing.T) {
	s := freshService(t)
	for key, limit := range map[string]int{"forty": 40, "daily": 30, "free": 60, "a stranger": 60} {
		var statuses [200]int
		var all sync.WaitGroup
		for i := range statuses {
			all.Go(func() { statuses[i] = s.ask(key).status })
		}
		all.Wait()
		within := slices.DeleteFunc(statuses[:], func(status int) bool { return status == 429 })
		same(t, key+": requests within the limit", limit, len(within))
	}
}

func TestKeyOfARequest(t *testing.T) {
	s := freshService(t)
	for _, test := range []struct {
		authorization, apiKey string
		valid                 bool
	}{
		{"Bearer big", "", true},
		{"bearer big", "", true},
		{"BEARER   big", "", true},
		{"", "big", true},
		{"Bearer big", "wrong", true},
		{"Bearer wrong", "big", false},
		{"Basic big", "big", false},
		{"Bearer", "", false},
		{"Bearer big x", "", false},
		{"Bearerbig", "", false},
		{"big", "", false},
		{"Bearer BIG", "", false},
		{"", "wrong", false},
		{"", "", false},
	} {
		for _, target := range []string{"/pets", "/pets/x", "/nothing"} {
			authorization, apiKey := "Authorization: "+test.authorization, "X-API-Key: "+test.apiKey
			resp := s.do("GET "+target, "", authorization, apiKey)
			what := target + ", " + authorization + ", " + apiKey
			same(t, what+": not 401", test.valid, resp.StatusCode != 401)
			if !test.valid { // a stranger cannot tell which paths exist
				body, _ := io.ReadAll(resp.Body)
				want := "A valid API key is required; send it as Authorization: Bearer KEY."
				same(t, what+": message", want, message(body))
				same(t, what+": WWW-Authenticate", "Bearer", resp.Header.Get("WWW-Authenticate"))
			}
		}
	}
}

// All strangers share one window, whatever their address, key and header. It begins with the first
// of them after the one before it ended. Open paths cost nothing, and a valid key passes.
func TestStrangers(t *testing.T) {
	inBubble(t, func(t *testing.T, s *service) {
		time.Sleep(30 * time.Second)
		for range 100 {
			s.do("GET /", "", "Authorization")
			s.do("GET /healthz", "", "Authorization: Bearer wrong")
		}
		s.expectRates("wrong", "401: 59 of 60 left, ends in 60 s")
		time.Sleep(59 * time.Second)
		for left := 58; left >= 0; left-- {
			r := httptest.NewRequest("GET", "/pets", nil)
			r.RemoteAddr = fmt.Sprintf("10.0.0.%d:1", left)
			r.Header.Set("X-Forwarded-For", r.RemoteAddr)
			want := fmt.Sprintf("401: %d of 60 left, ends in 1 s", left)
			same(t, r.RemoteAddr, want, ratesOf(s.exchange(r)).String())
		}
		s.expectRates("wrong", "429: 0 of 60 left, ends in 1 s, retry after 1 s")
		s.expectRates("free", "200: 59 of 60 left, ends in 60 s")
		time.Sleep(time.Second - time.Nanosecond)
		s.expectRates("guess", "429: 0 of 60 left, ends in 1 s, retry after 1 s")
		time.Sleep(time.Nanosecond)
		s.expectRates("guess", "401: 59 of 60 left, ends in 60 s")
	})
}

// The demo keys count only in requests whose Host a web page with a name of its own cannot have.
func TestHostOfTheDemoKeys(t *testing.T) {
	s := newService(t, "")
	limits, _ := newLimits(nil, time.Minute, "pets.test")
	s.Server = newServer(s.store, limits, s.logger, &options{})
	const where = "The demo keys count only if the host of the URL is localhost, "
	for _, test := range []struct {
		host  string
		valid bool
	}{
		{"localhost", true}, {"localhost:8080", true}, {"LOCALHOST:1", true},
		{"127.0.0.1", true}, {"127.0.0.1:8080", true}, {"192.0.2.1:80", true},
		{"[::1]", true}, {"[::1]:8080", true}, {"pets.test", true}, {"Pets.test:8080", true},
		{"evil.example", false}, {"evil.example:8080", false}, {"localhost.evil.example", false},
		{"127.0.0.1.evil.example", false}, {"evil.example:localhost", false}, {"pets.tes", false},
		{"", false},
	} {
		ask := func(key string) (*http.Response, string) {
			r := httptest.NewRequest("GET", "/pets", nil)
			r.Host = test.host
			r.Header.Set("Authorization", "Bearer "+key)
			resp := s.exchange(r)
			body, _ := io.ReadAll(resp.Body)
			return resp, message(body)
		}
		t.Run(test.host, func(t *testing.T) {
			resp, told := ask("demo-pro")
			same(t, "demo-pro: not 401", test.valid, resp.StatusCode != 401)
			same(t, "demo-pro: says where", !test.valid, strings.HasPrefix(told, where))
			resp, told = ask("wrong")
			same(t, "wrong: status", 401, resp.StatusCode)
			same(t, "wrong: says where", !test.valid, strings.HasPrefix(told, where))
			same(t, "wrong: limit", "60", resp.Header.Get("X-RateLimit-Limit"))
		})
	}
}

func TestKeysFile(t *testing.T) {
	const (
		array          = "The keys must be a JSON array of one or more objects."
		visible        = "entry 1: key must be visible ASCII characters without spaces."
		figures        = "entry 1: This plan needs perMinute and perDay, from 1 to 2147483647."
		enterpriseOnly = "entry 1: perMinute and perDay are for the enterprise plan only."
		integer        = " must be a 64-bit integer without fraction or exponent."
		enterprise     = `[{"key":"secret","plan":"enterprise"`
	)
	for _, test := range []struct{ keys, want string }{
		{`[{"key":"a","plan":"free"},` + "\n" + `{"key":"b","plan":"pro"}]`, ``},
		{`[{"key":"!~","plan":"free"}]`, ``}, // the first and the last visible ASCII character
		{enterprise + `,"perMinute":1,"perDay":1}]`, ``},
		{enterprise + `,"perMinute":2147483647,"perDay":2147483647}]`, ``},
		{``, "The JSON is empty."},
		{`[]`, array},
		{`null`, array},
		{`{"key":"secret","plan":"free"}`, array},
		{`[] []`, "The JSON is malformed in line 1, at byte 4: invalid character '[' " +
			"after top-level value."},
		{`["secret"]`, "entry 1: The JSON must be one object."},
		{`[{"key":"secret","plan":"free"},{"key":"secret","plan":"pro"}]`,
			"entry 2: The key is given twice."},
		{`[{"key":"a","plan":"free"},{"key":"secret"}]`,
			"entry 2: plan is missing; it must be a string."},
		{`[{"plan":"free"}]`, "entry 1: key is missing; it must be a string."},
		{`[{"plan":"free","plan":"free"}]`,
			`entry 1: The field "plan" is given twice; leave one out.`},
		{`[{"key":"secret","plan":null}]`, "entry 1: plan must be a string."},
		{`[{"key":"secret","plan":"gold"}]`,
			"entry 1: plan must be free, pro, business or enterprise."},
		{`[{"key":"secret","color":1}]`, `entry 1: The field "color" is unknown; leave it out.`},
		{`[{"key":"","plan":"free"}]`, visible},
		{`[{"key":"sec ret","plan":"free"}]`, visible},
		{`[{"key":"secret\u007f","plan":"free"}]`, visible},
		{`[{"key":"sécret","plan":"free"}]`, visible},
		{`[{"key":"secret","plan":"free","perDay":5}]`, enterpriseOnly},
		{`[{"key":"secret","plan":"pro","perMinute":5}]`, enterpriseOnly},
		{enterprise + `}]`, figures},
		{enterprise + `,"perMinute":1}]`, figures},
		{enterprise + `,"perDay":1}]`, figures},
		{enterprise + `,"perMinute":0,"perDay":1}]`, figures},
		{enterprise + `,"perMinute":1,"perDay":0}]`, figures},
		{enterprise + `,"perMinute":2147483648,"perDay":1}]`, figures},
		{enterprise + `,"perMinute":1,"perDay":2147483648}]`, figures},
		{enterprise + `,"perMinute":1.5,"perDay":1}]`, "entry 1: perMinute" + integer},
		{enterprise + `,"perMinute":1,"perDay":null}]`, "entry 1: perDay" + integer},
	} {
		t.Run(test.keys, func(t *testing.T) {
			got := ""
			if _, err := newLimits([]byte(test.keys), time.Minute, ""); err != nil {
				got = err.Error()
			}
			same(t, "error", test.want, got)
		})
	}
}

// The README, the workshop and the reference offer these keys, with the limits of their plans.
func TestDemoKeys(t *testing.T) {
	limits, err := newLimits(nil, time.Minute, "localhost")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, key := range []string{"demo-free", "demo-pro", "demo-business", "demo-enterprise"} {
		if c := limits.clients[sha256.Sum256([]byte(key))]; c != nil {
			got[key] = fmt.Sprint(c.minute.limit, " ", c.day.limit)
		}
	}
	same(t, "limits", map[string]string{
		"demo-free":       "60 1000",
		"demo-pro":        "300 10000",
		"demo-business":   "1000 100000",
		"demo-enterprise": "5000 1000000",
	}, got)
	same(t, "number of keys", len(got), len(limits.clients))
}

// Who waits as long as Retry-After says always succeeds, at whatever moment the refusal came. So
// does who waits until X-RateLimit-Reset once none remains.
func TestWaits(t *testing.T) {
	inBubble(t, func(t *testing.T, s *service) {
		random := rand.New(rand.NewPCG(1, 2))
		waits := map[int]int{} // how many, by status
		for end := time.Now().Add(30 * 24 * time.Hour); time.Now().Before(end); {
			key := []string{"forty", "daily", "free", "one"}[random.IntN(4)]
			told := s.ask(key)
			switch {
			case told.status == 429:
				time.Sleep(time.Duration(told.retryAfter) * time.Second)
			case told.remaining == 0 && random.IntN(2) == 0:
				reset := time.Now().Unix() + int64(told.resetIn)
				time.Sleep(time.Until(time.Unix(reset, 0)))
			default:
				time.Sleep(time.Duration(random.Int64N(int64(time.Second))))
				continue
			}
			waits[told.status]++
			if got := s.ask(key); got.status != 200 {
				t.Errorf("%s: %v after %v", key, got, told)
			}
		}
		if waits[429] < 10 || waits[200] < 10 {
			t.Errorf("too few waits: %v", waits)
		}
	})
}
