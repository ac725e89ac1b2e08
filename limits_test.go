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
	Status           int
	Limit, Remaining int
	ResetIn          int // seconds from now until X-RateLimit-Reset
	RetryAfter       int // seconds; 0 if the header is missing
}

// ask sends a request with the key.
func (s *service) ask(key string) rates {
	s.t.Helper()
	resp := s.do("GET /pets", "", "Authorization: Bearer "+key)
	number := func(name string) int {
		n, _ := strconv.Atoi(resp.Header.Get(name))
		return n
	}
	return rates{
		Status:     resp.StatusCode,
		Limit:      number("X-RateLimit-Limit"),
		Remaining:  number("X-RateLimit-Remaining"),
		ResetIn:    number("X-RateLimit-Reset") - int(time.Now().Unix()),
		RetryAfter: number("Retry-After"),
	}
}

// expectRates sends a request with the key, and compares what the response says with what is wanted.
func (s *service) expectRates(key string, want rates) {
	s.t.Helper()
	same(s.t, "key "+key+" at "+time.Now().UTC().Format(time.TimeOnly), want, s.ask(key))
}

func TestPlans(t *testing.T) {
	inBubble(t, func(t *testing.T, s *service) {
		for key, limit := range map[string]int{"free": 60, "pro": 300, "business": 1000, "forty": 40} {
			for left := limit - 1; left >= 0; left-- {
				s.expectRates(key, rates{Status: 200, Limit: limit, Remaining: left, ResetIn: 60})
			}
			s.expectRates(key, rates{Status: 429, Limit: limit, ResetIn: 60, RetryAfter: 60})
		}
		s.expectRates("big", rates{Status: 200, Limit: 2147483647, Remaining: 2147483646, ResetIn: 86400})

		time.Sleep(time.Minute - time.Nanosecond)
		s.expectRates("free", rates{Status: 429, Limit: 60, ResetIn: 1, RetryAfter: 1})
		time.Sleep(time.Nanosecond)
		s.expectRates("free", rates{Status: 200, Limit: 60, Remaining: 59, ResetIn: 60})
	})
}

// A window begins with the first request after the previous one ended.
func TestWindowsBeginWithARequest(t *testing.T) {
	inBubble(t, func(t *testing.T, s *service) {
		time.Sleep(500 * time.Millisecond)
		s.expectRates("free", rates{Status: 200, Limit: 60, Remaining: 59, ResetIn: 61}) // 60.5, rounded up
		time.Sleep(30 * time.Second)
		s.expectRates("free", rates{Status: 200, Limit: 60, Remaining: 58, ResetIn: 31})
		time.Sleep(200 * time.Second)
		s.expectRates("free", rates{Status: 200, Limit: 60, Remaining: 59, ResetIn: 61})
	})
}

// At the pace of its minute, and with a few requests too many each minute, a plan lets exactly its day through.
func TestDayOfAPlan(t *testing.T) {
	for name, plan := range map[string]struct{ perMinute, perDay int }{
		"free": {60, 1000}, "pro": {300, 10_000}, "business": {1000, 100_000},
	} {
		inBubble(t, func(t *testing.T, s *service) {
			r := httptest.NewRequest("GET", "/pets", nil)
			r.Header.Set("X-API-Key", name)
			passed, end := 0, time.Now().Add(24*time.Hour)
			for passed < plan.perDay && time.Now().Before(end) {
				for range plan.perMinute + 3 {
					if _, err := s.limits.admit(r, time.Now()); err == nil { // without HTTP, for there are many
						passed++
					}
				}
				time.Sleep(time.Minute)
			}
			same(t, "requests let through", plan.perDay, passed)
			left := int(time.Until(end).Seconds())
			s.expectRates(name, rates{Status: 429, Limit: plan.perDay, ResetIn: left, RetryAfter: left})
			time.Sleep(time.Until(end))
			s.expectRates(name, rates{Status: 200, Limit: plan.perMinute, Remaining: plan.perMinute - 1, ResetIn: 60})
		})
	}
}

func TestDay(t *testing.T) {
	inBubble(t, func(t *testing.T, s *service) {
		for left := 29; left >= 0; left-- {
			s.expectRates("daily", rates{Status: 200, Limit: 30, Remaining: left, ResetIn: 86400})
		}
		s.expectRates("daily", rates{Status: 429, Limit: 30, ResetIn: 86400, RetryAfter: 86400})
		time.Sleep(24*time.Hour - time.Nanosecond)
		s.expectRates("daily", rates{Status: 429, Limit: 30, ResetIn: 1, RetryAfter: 1})
		time.Sleep(time.Nanosecond)
		s.expectRates("daily", rates{Status: 200, Limit: 30, Remaining: 29, ResetIn: 86400})
	})
}

// The headers report the window with fewer requests left once the request is counted; on a tie, the
// one that ends later.
func TestWhichWindowIsReported(t *testing.T) {
	inBubble(t, func(t *testing.T, s *service) {
		s.expectRates("both", rates{Status: 200, Limit: 1, ResetIn: 86400}) // both have none left
		s.expectRates("both", rates{Status: 429, Limit: 1, ResetIn: 86400, RetryAfter: 86400})

		// The key twice has 1 request a minute and 2 a day. Here its day ends before its minute.
		s.expectRates("twice", rates{Status: 200, Limit: 1, ResetIn: 60})
		time.Sleep(24*time.Hour - 30*time.Second)
		s.expectRates("twice", rates{Status: 200, Limit: 1, ResetIn: 60})
		s.expectRates("twice", rates{Status: 429, Limit: 1, ResetIn: 60, RetryAfter: 60})
		time.Sleep(30 * time.Second)
		s.expectRates("twice", rates{Status: 429, Limit: 1, ResetIn: 30, RetryAfter: 30})

		// The key forty has 40 requests a minute and 100 a day, so the day is reported in its third minute, once it has
		// fewer left.
		for range 2 {
			for left := 39; left >= 0; left-- {
				s.expectRates("forty", rates{Status: 200, Limit: 40, Remaining: left, ResetIn: 60})
			}
			s.expectRates("forty", rates{Status: 429, Limit: 40, ResetIn: 60, RetryAfter: 60})
			time.Sleep(time.Minute)
		}
		for left := 19; left >= 0; left-- {
			s.expectRates("forty", rates{Status: 200, Limit: 100, Remaining: left, ResetIn: 86280})
		}
		s.expectRates("forty", rates{Status: 429, Limit: 100, ResetIn: 86280, RetryAfter: 86280})
	})
}

// A request that one window refuses is not counted in the other.
func TestRefusedRequestsAreNotCounted(t *testing.T) {
	inBubble(t, func(t *testing.T, s *service) {
		s.expectRates("twice", rates{Status: 200, Limit: 1, ResetIn: 60})
		s.expectRates("twice", rates{Status: 429, Limit: 1, ResetIn: 60, RetryAfter: 60}) // takes none of the day
		time.Sleep(time.Minute)
		s.expectRates("twice", rates{Status: 200, Limit: 2, ResetIn: 86340})
		time.Sleep(24*time.Hour - 90*time.Second)
		s.expectRates("twice", rates{Status: 429, Limit: 2, ResetIn: 30, RetryAfter: 30}) // takes none of the minute
		time.Sleep(30 * time.Second)
		s.expectRates("twice", rates{Status: 200, Limit: 1, ResetIn: 30})
	})
}

// Go's monotonic clock stands still while the computer sleeps, so no window may end at a time that has a reading of it.
// Such a time differs from itself rounded to 0, which removes the reading.
func TestWindowsFollowTheWallClock(t *testing.T) {
	s := newService(t, "")
	for _, key := range []string{"one", "one", "wrong"} { // let through, refused, a stranger
		r := httptest.NewRequest("GET", "/pets", nil)
		r.Header.Set("X-API-Key", key)
		if q, _ := s.limits.admit(r, time.Now()); q.reset != q.reset.Round(0) {
			t.Errorf("key %s: the window ends at %v, which has a reading of the monotonic clock", key, q.reset)
		}
	}
}

func TestBan(t *testing.T) {
	inBubble(t, func(t *testing.T, s *service) {
		s.expectRates("one", rates{Status: 200, Limit: 1, ResetIn: 60})
		for range 1000 { // a burst at once is one strike
			s.expectRates("one", rates{Status: 429, Limit: 1, ResetIn: 60, RetryAfter: 60})
		}
		for left := 59; left > 51; left-- {
			time.Sleep(time.Second)
			s.expectRates("one", rates{Status: 429, Limit: 1, ResetIn: left, RetryAfter: left})
		}
		time.Sleep(time.Second)
		s.expectRates("one", rates{Status: 403, Limit: 1, ResetIn: 300, RetryAfter: 300})
		time.Sleep(5*time.Minute - time.Nanosecond)
		s.expectRates("one", rates{Status: 403, Limit: 1, ResetIn: 1, RetryAfter: 1})
		time.Sleep(time.Nanosecond)
		s.expectRates("one", rates{Status: 200, Limit: 1, ResetIn: 60})
		s.expectRates("pro", rates{Status: 200, Limit: 300, Remaining: 299, ResetIn: 60}) // not banned

		// The day of this key is spent, but its ban reports the limit of the minute. A restart ends it.
		s.spendDay()
		s.expectStrikes("daily")
		s.expectRates("daily", rates{Status: 403, Limit: 100, ResetIn: 299, RetryAfter: 299})
		restarted := newService(t, "")
		restarted.expectRates("daily", rates{Status: 200, Limit: 30, Remaining: 29, ResetIn: 86400})
	})
}

// spendDay uses up the 30 requests that the key daily has a day.
func (s *service) spendDay() {
	for range 30 {
		s.ask("daily")
	}
}

// expectStrikes is for a key that is refused and has no strikes. It sends ten requests, one a second:
// each is a strike, and the tenth is a ban.
func (s *service) expectStrikes(key string) {
	s.t.Helper()
	var got []int
	for range 10 {
		got = append(got, s.ask(key).Status)
		time.Sleep(time.Second)
	}
	same(s.t, "statuses of 10 refusals", append(slices.Repeat([]int{429}, 9), 403), got)
}

func TestStrikesAreCleared(t *testing.T) {
	t.Run("by a request that is let through", func(t *testing.T) {
		inBubble(t, func(t *testing.T, s *service) {
			s.expectRates("one", rates{Status: 200, Limit: 1, ResetIn: 60})
			time.Sleep(51 * time.Second)
			for left := 9; left > 0; left-- { // nine strikes
				s.expectRates("one", rates{Status: 429, Limit: 1, ResetIn: left, RetryAfter: left})
				time.Sleep(time.Second)
			}
			s.expectRates("one", rates{Status: 200, Limit: 1, ResetIn: 60})
			s.expectStrikes("one")
		})
	})
	t.Run("by the end of a ban", func(t *testing.T) {
		inBubble(t, func(t *testing.T, s *service) {
			s.spendDay()
			s.expectStrikes("daily")
			time.Sleep(5 * time.Minute)
			s.expectStrikes("daily")
		})
	})
	for _, test := range []struct {
		pause time.Duration // between the ninth strike and the tenth
		want  int
	}{
		{5 * time.Second, 403},
		{5*time.Second + time.Nanosecond, 429},
	} {
		t.Run(fmt.Sprint("by a pause, ", test.pause), func(t *testing.T) {
			inBubble(t, func(t *testing.T, s *service) {
				s.spendDay()
				for range 8 {
					s.ask("daily")
					time.Sleep(time.Second)
				}
				same(t, "the ninth strike: status", 429, s.ask("daily").Status)
				time.Sleep(test.pause)
				same(t, "the tenth strike: status", test.want, s.ask("daily").Status)
				if test.want == 429 { // it is the first of ten again
					for range 8 {
						time.Sleep(5 * time.Second)
						same(t, "the next strike: status", 429, s.ask("daily").Status)
					}
					time.Sleep(time.Second)
					same(t, "the tenth in a row: status", 403, s.ask("daily").Status)
				}
			})
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
		name    string
		key     string
		wait    time.Duration // before each request after the limit is reached
		doubles bool          // the wait, each time
		banned  bool
	}{
		{"hammering", "daily", 10 * time.Millisecond, false, true},
		{"each second", "daily", time.Second, false, true},
		{"every 5 s", "daily", 5 * time.Second, false, true},
		{"every 6 s", "daily", 6 * time.Second, false, false},
		{"exponential backoff, day used up", "daily", time.Second, true, false},
		{"exponential backoff, minute used up", "forty", time.Second, true, false},
		{"a stranger", "wrong", time.Second, false, false},
	} {
		inBubble(t, func(t *testing.T, s *service) {
			for range 100 {
				s.ask(test.key)
			}
			banned, wait := false, test.wait
			for end := time.Now().Add(time.Hour / 2); time.Now().Before(end) && !banned; {
				time.Sleep(wait)
				banned = s.ask(test.key).Status == 403
				if test.doubles {
					wait *= 2
				}
			}
			same(t, test.name+": banned", test.banned, banned)
		})
	}
}

func TestExactUnderConcurrency(t *testing.T) {
	s := freshService(t)
	for key, limit := range map[string]int{"forty": 40, "daily": 30, "free": 60, "a stranger": 60} {
		var statuses [200]int
		var all sync.WaitGroup
		for i := range statuses {
			all.Go(func() { statuses[i] = s.ask(key).Status })
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
		for _, target := range []string{"/pets", "/pets/x", "/nothing"} { // a stranger cannot tell them apart
			what := fmt.Sprintf("Authorization %q, X-API-Key %q on %s", test.authorization, test.apiKey, target)
			resp := s.do("GET "+target, "", "Authorization: "+test.authorization, "X-API-Key: "+test.apiKey)
			if !test.valid {
				body, _ := io.ReadAll(resp.Body)
				want := "A valid API key is required; send it as Authorization: Bearer KEY."
				same(t, what+": message", want, message(body))
				same(t, what+": WWW-Authenticate", "Bearer", resp.Header.Get("WWW-Authenticate"))
			}
			same(t, what+": not 401", test.valid, resp.StatusCode != 401)
		}
	}
}

// askFrom sends a request without a key from an address. It returns the status and the requests that
// are left.
func (s *service) askFrom(address string, header ...string) string {
	s.t.Helper()
	r := httptest.NewRequest("GET", "/pets", nil)
	r.RemoteAddr = address
	for _, name := range header {
		r.Header.Set(name, "203.0.113.9")
	}
	resp := s.exchange(r)
	return fmt.Sprint(resp.StatusCode, " ", resp.Header.Get("X-RateLimit-Remaining"))
}

// All strangers share one window, wherever they are. It begins with the first of them after the one
// before it ended.
func TestStrangers(t *testing.T) {
	inBubble(t, func(t *testing.T, s *service) {
		time.Sleep(30 * time.Second)
		same(t, "at 0:30", "401 59", s.askFrom("192.0.2.2:1000"))
		time.Sleep(59 * time.Second)
		for left := 58; left >= 0; left-- {
			address := fmt.Sprintf("10.0.0.%d:1", left)
			same(t, address, fmt.Sprint("401 ", left), s.askFrom(address))
		}
		for _, address := range []string{"192.0.2.3:1000", "[2001:db8::1]:1000", "nonsense"} {
			same(t, address, "429 0", s.askFrom(address))
		}
		time.Sleep(time.Second)
		same(t, "at 1:30", "401 59", s.askFrom("192.0.2.2:1000"))
	})
}

// The demo keys count only in requests whose Host a web page with a name of its own cannot have.
func TestHostOfTheDemoKeys(t *testing.T) {
	s := newService(t, "")
	mine, _ := newLimits([]byte(testKeys), time.Minute, "")
	demo, _ := newLimits([]byte(demoKeys), time.Minute, "pets.test")
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
		for _, key := range []string{"demo-pro", "wrong"} {
			r := httptest.NewRequest("GET", "/pets", nil)
			r.Host = test.host
			r.Header.Set("Authorization", "Bearer "+key)
			s.Server = newServer(s.store, demo, s.logger, &options{})
			resp := s.exchange(r)
			body, _ := io.ReadAll(resp.Body)
			what := fmt.Sprintf("Host %q, key %s: ", test.host, key)
			same(t, what+"not 401", test.valid && key == "demo-pro", resp.StatusCode != 401)
			where := strings.Contains(message(body), "The demo keys count only where the host of the URL is ")
			same(t, what+"the message says where they count", !test.valid, where)
		}
		r := httptest.NewRequest("GET", "/pets", nil)
		r.Host = test.host
		r.Header.Set("Authorization", "Bearer big")
		s.Server = newServer(s.store, mine, s.logger, &options{})
		same(t, test.host+" with a keys file: status", 200, s.exchange(r).StatusCode)
	}
}

// Strangers are limited by the address of their connection, whatever keys and headers they send. Open paths cost them
// nothing, and a valid key passes.
func TestStrangerOverTheLimit(t *testing.T) {
	inBubble(t, func(t *testing.T, s *service) {
		const address = "192.0.2.1:1234" // of httptest.NewRequest
		for range 100 {
			s.do("GET /", "", "Authorization")
			s.do("GET /healthz", "", "Authorization: Bearer wrong")
		}
		for left := 59; left >= 0; left-- {
			got := s.askFrom(address, "X-Forwarded-For", "Forwarded", "X-Real-IP")
			same(t, "a stranger", fmt.Sprint("401 ", left), got)
		}
		same(t, "request 61", "429 0", s.askFrom(address, "X-Forwarded-For"))
		s.expectRates("wrong", rates{Status: 429, Limit: 60, ResetIn: 60, RetryAfter: 60})
		s.expectRates("free", rates{Status: 200, Limit: 60, Remaining: 59, ResetIn: 60})
		time.Sleep(time.Minute - time.Nanosecond)
		s.expectRates("wrong", rates{Status: 429, Limit: 60, ResetIn: 1, RetryAfter: 1})
		time.Sleep(time.Nanosecond)
		s.expectRates("wrong", rates{Status: 401, Limit: 60, Remaining: 59, ResetIn: 60})
	})
}

// Both headers are rounded up, so that nobody comes back too early.
func TestRounding(t *testing.T) {
	for _, test := range []struct {
		wait                      time.Duration // from a whole second on
		wantReset, wantRetryAfter string
	}{
		{0, "1000", ""}, // let through
		{time.Nanosecond, "1001", "1"},
		{time.Second - time.Nanosecond, "1001", "1"},
		{time.Second, "1001", "1"},
		{time.Second + time.Nanosecond, "1002", "2"},
		{time.Minute, "1060", "60"},
	} {
		header := http.Header{}
		quota{limit: 60, remaining: 0, reset: time.Unix(1000, 0).Add(test.wait), wait: test.wait}.setHeaders(header)
		same(t, fmt.Sprint("X-RateLimit-Reset for ", test.wait), test.wantReset, header["X-RateLimit-Reset"][0])
		same(t, fmt.Sprint("Retry-After for ", test.wait), test.wantRetryAfter, header.Get("Retry-After"))
	}
}

func TestKeysFile(t *testing.T) {
	const (
		enterpriseOnly = "perMinute and perDay are for the enterprise plan only."
		figures        = "This plan needs perMinute and perDay, from 1 to 2147483647."
	)
	for _, test := range []struct{ keys, want string }{
		{`[]`, `The keys must be a JSON array of one or more objects.`},
		{`[{"key":"a","plan":"free"},{"key":"b","plan":"enterprise","perMinute":1,"perDay":1}]`, ``},
		{``, `The JSON is empty.`},
		{`null`, `The keys must be a JSON array of one or more objects.`},
		{`[{"key":"a","plan":"free"}] []`,
			"The JSON is malformed in line 1, at byte 29: invalid character '[' after top-level value."},
		{`["secret"]`, `entry 1: The JSON must be one object.`},
		{`[{"key":"secret","plan":"free"},{"key":"secret","plan":"pro"}]`, `entry 2: The key is given twice.`},
		{`[{"key":"secret","plan":"free","key":"secret"}]`, `entry 1: The field "key" is given twice; leave one out.`},
		{`[{"key":"secret","plan":null}]`, `entry 1: plan must be a string.`},
		{`[{"key":"secret","plan":"gold"}]`, `entry 1: plan must be free, pro, business or enterprise.`},
		{`[{"key":"secret"}]`, `entry 1: plan is missing; it must be a string.`},
		{`[{"plan":"free"}]`, `entry 1: key is missing; it must be a string.`},
		{`[{"key":"!~","plan":"free"}]`, ``}, // the first and the last visible ASCII character
		{`[{"key":"","plan":"free"}]`, `entry 1: key must be visible ASCII characters without spaces.`},
		{`[{"key":"a b","plan":"free"}]`, `entry 1: key must be visible ASCII characters without spaces.`},
		{`[{"key":"a\u007f","plan":"free"}]`, `entry 1: key must be visible ASCII characters without spaces.`},
		{`[{"key":"é","plan":"free"}]`, `entry 1: key must be visible ASCII characters without spaces.`},
		{`[{"key":"secret","plan":"free","color":1}]`, `entry 1: The field "color" is unknown; leave it out.`},
		{`[{"key":"secret","plan":"free","perDay":5}]`, `entry 1: ` + enterpriseOnly},
		{`[{"key":"secret","plan":"pro","perMinute":5}]`, `entry 1: ` + enterpriseOnly},
		{`[{"key":"secret","plan":"enterprise"}]`, `entry 1: ` + figures},
		{`[{"key":"secret","plan":"enterprise","perMinute":1}]`, `entry 1: ` + figures},
		{`[{"key":"secret","plan":"enterprise","perDay":1}]`, `entry 1: ` + figures},
		{`[{"key":"secret","plan":"enterprise","perMinute":0,"perDay":1}]`, `entry 1: ` + figures},
		{`[{"key":"secret","plan":"enterprise","perMinute":1,"perDay":0}]`, `entry 1: ` + figures},
		{`[{"key":"secret","plan":"enterprise","perMinute":2147483648,"perDay":1}]`, `entry 1: ` + figures},
		{`[{"key":"secret","plan":"enterprise","perMinute":1,"perDay":2147483648}]`, `entry 1: ` + figures},
		{`[{"key":"secret","plan":"enterprise","perMinute":2147483647,"perDay":2147483647}]`, ``},
		{`[{"key":"secret","plan":"enterprise","perMinute":1.5,"perDay":1}]`,
			`entry 1: perMinute must be a 64-bit integer without fraction or exponent.`},
	} {
		got := ""
		if _, err := newLimits([]byte(test.keys), time.Minute, ""); err != nil {
			got = err.Error()
		}
		same(t, test.keys, test.want, got)
	}
}

// The README, the workshop and the reference offer these keys, with the limits of their plans.
func TestDemoKeys(t *testing.T) {
	limits, err := newLimits([]byte(demoKeys), time.Minute, "localhost")
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

// A caller that waits as long as Retry-After says always succeeds, at whatever moment it was refused.
func TestRetryAfter(t *testing.T) {
	inBubble(t, func(t *testing.T, s *service) {
		random := rand.New(rand.NewPCG(1, 2))
		waits := 0
		for end := time.Now().Add(24 * time.Hour); time.Now().Before(end); {
			key := []string{"forty", "daily", "free", "one"}[random.IntN(4)]
			refused := s.ask(key)
			if refused.Status == 200 {
				time.Sleep(time.Duration(random.Int64N(int64(time.Second))))
				continue
			}
			time.Sleep(time.Duration(refused.RetryAfter) * time.Second)
			waits++
			if got := s.ask(key); got.Status != 200 {
				t.Errorf("%s: %+v after %+v", key, got, refused)
			}
		}
		if waits < 10 {
			t.Errorf("only %d waits", waits)
		}
	})
}
