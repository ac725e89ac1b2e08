package main

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
)

// inBubble runs the test on a service that keeps nothing on disk, in fake time.
func inBubble(t *testing.T, test func(*testing.T, *service)) {
	synctest.Test(t, func(t *testing.T) {
		s := newService(t, "", true)
		defer s.store.Close()
		test(t, s)
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

// expectRates sends a request with the key, and stops the test unless the response says what is wanted.
func (s *service) expectRates(key string, want rates) {
	s.t.Helper()
	if diff := gocmp.Diff(want, s.ask(key)); diff != "" {
		s.t.Fatalf("key %s at %s (-want +got):\n%s", key, time.Now().UTC().Format(time.TimeOnly), diff)
	}
}

func TestPlans(t *testing.T) {
	inBubble(t, func(t *testing.T, s *service) {
		for _, plan := range []struct {
			key       string
			perMinute int
		}{{"free", 60}, {"pro", 300}, {"business", 1000}, {"forty", 40}} {
			for left := plan.perMinute - 1; left >= 0; left-- {
				s.expectRates(plan.key, rates{Status: 200, Limit: plan.perMinute, Remaining: left, ResetIn: 60})
			}
			s.expectRates(plan.key, rates{Status: 429, Limit: plan.perMinute, ResetIn: 60, RetryAfter: 60})
		}
		s.expectRates("big", rates{Status: 200, Limit: 2147483647, Remaining: 2147483646, ResetIn: 60})

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

// As many requests as the day of a plan has, at the pace of its minute, and one more.
func TestDayOfAPlan(t *testing.T) {
	for _, plan := range []struct {
		key               string
		perMinute, perDay int
	}{
		{"free", 60, 1000},
		{"pro", 300, 10_000},
		{"business", 1000, 100_000},
	} {
		inBubble(t, func(t *testing.T, s *service) {
			r := httptest.NewRequest("GET", "/pets", nil)
			r.Header.Set("X-API-Key", plan.key)
			for sent := range plan.perDay {
				if sent > 0 && sent%plan.perMinute == 0 {
					time.Sleep(time.Minute)
				}
				if _, _, err := s.limits.admit(r, time.Now()); err != nil { // without HTTP, for there are many
					t.Fatalf("%s: request %d: %v", plan.key, sent+1, err)
				}
			}
			minutes := (plan.perDay - 1) / plan.perMinute // since the first request
			left := 86400 - minutes*60
			s.expectRates(plan.key, rates{Status: 429, Limit: plan.perDay, ResetIn: left, RetryAfter: left})
		})
	}
}

func TestDay(t *testing.T) {
	inBubble(t, func(t *testing.T, s *service) {
		for left := 29; left >= 0; left-- {
			s.expectRates("daily", rates{Status: 200, Limit: 30, Remaining: left, ResetIn: 86400})
		}
		s.expectRates("daily", rates{Status: 429, Limit: 30, ResetIn: 86400, RetryAfter: 86400})
		time.Sleep(23*time.Hour + 59*time.Minute + 30*time.Second)
		s.expectRates("daily", rates{Status: 429, Limit: 30, ResetIn: 30, RetryAfter: 30})
		time.Sleep(30 * time.Second)
		s.expectRates("daily", rates{Status: 200, Limit: 30, Remaining: 29, ResetIn: 86400})
	})
}

// The headers report the window with fewer requests left; of two that are used up, the one that ends later.
func TestWhichWindowIsReported(t *testing.T) {
	inBubble(t, func(t *testing.T, s *service) {
		s.expectRates("both", rates{Status: 200, Limit: 1, ResetIn: 60}) // both have none left: the minute
		s.expectRates("both", rates{Status: 429, Limit: 1, ResetIn: 86400, RetryAfter: 86400})

		// The key twice has 1 request a minute and 2 a day. Here its day ends before its minute.
		s.expectRates("twice", rates{Status: 200, Limit: 1, ResetIn: 60})
		time.Sleep(24*time.Hour - 30*time.Second)
		s.expectRates("twice", rates{Status: 200, Limit: 1, ResetIn: 60})
		s.expectRates("twice", rates{Status: 429, Limit: 1, ResetIn: 60, RetryAfter: 60})
		time.Sleep(30 * time.Second)
		s.expectRates("twice", rates{Status: 429, Limit: 1, ResetIn: 30, RetryAfter: 30})

		// The key forty has 40 requests a minute and 100 a day, so the day is reported in its third minute.
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

// A whole day at the pace of the plan: never one request too many, never one too few.
func TestFreePlanForADay(t *testing.T) {
	inBubble(t, func(t *testing.T, s *service) {
		passed := 0
		for end := time.Now().Add(24 * time.Hour); time.Now().Before(end); time.Sleep(time.Minute) {
			for refused := 0; refused < 3; {
				if s.ask("free").Status == 200 {
					passed++
				} else {
					refused++
				}
			}
		}
		if passed != 1000 {
			t.Errorf("%d requests passed in a day, want 1000", passed)
		}
		s.expectRates("free", rates{Status: 200, Limit: 60, Remaining: 59, ResetIn: 60})
	})
}

func TestBan(t *testing.T) {
	inBubble(t, func(t *testing.T, s *service) {
		s.expectRates("one", rates{Status: 200, Limit: 1, ResetIn: 60})
		for range 1000 { // a burst at once is no strike
			s.expectRates("one", rates{Status: 429, Limit: 1, ResetIn: 60, RetryAfter: 60})
		}
		for left := 59; left > 50; left-- {
			time.Sleep(time.Second)
			s.expectRates("one", rates{Status: 429, Limit: 1, ResetIn: left, RetryAfter: left})
		}
		time.Sleep(time.Second)
		s.expectRates("one", rates{Status: 403, Limit: 1, ResetIn: 300, RetryAfter: 300})
		time.Sleep(5*time.Minute - time.Nanosecond)
		s.expectRates("one", rates{Status: 403, Limit: 1, ResetIn: 1, RetryAfter: 1})
		time.Sleep(time.Nanosecond)
		s.expectRates("one", rates{Status: 200, Limit: 1, ResetIn: 60})
		s.expectRates("pro", rates{Status: 200, Limit: 300, Remaining: 299, ResetIn: 60}) // a ban is of one key
	})
}

// expectStrikes is for a key that is refused and has no strikes. It sends 11 requests, one a second: the first is no
// strike, the next nine are, and the tenth strike is a ban.
func (s *service) expectStrikes(key string) {
	s.t.Helper()
	for i := range 11 {
		want := 429
		if i == 10 {
			want = 403
		}
		if got := s.ask(key).Status; got != want {
			s.t.Fatalf("refusal %d: status %d, want %d", i+1, got, want)
		}
		time.Sleep(time.Second)
	}
}

func TestStrikesAreCleared(t *testing.T) {
	t.Run("by a request that is let through", func(t *testing.T) {
		inBubble(t, func(t *testing.T, s *service) {
			s.expectRates("one", rates{Status: 200, Limit: 1, ResetIn: 60})
			time.Sleep(50 * time.Second)
			for left := 10; left > 0; left-- { // nine strikes
				s.expectRates("one", rates{Status: 429, Limit: 1, ResetIn: left, RetryAfter: left})
				time.Sleep(time.Second)
			}
			s.expectRates("one", rates{Status: 200, Limit: 1, ResetIn: 60})
			s.expectStrikes("one")
		})
	})
	t.Run("by the end of a ban", func(t *testing.T) {
		inBubble(t, func(t *testing.T, s *service) {
			for range 30 { // the day
				s.ask("daily")
			}
			s.expectStrikes("daily")
			time.Sleep(5 * time.Minute)
			s.expectStrikes("daily")
		})
	})
}

// Ten strikes are a ban if the last is at most a minute after the first.
func TestStrikesWithinAMinute(t *testing.T) {
	for _, test := range []struct {
		pause  time.Duration // between the ninth strike, 8 seconds after the first, and the tenth
		status int
	}{
		{52 * time.Second, 403},
		{52*time.Second + time.Nanosecond, 429},
	} {
		inBubble(t, func(t *testing.T, s *service) {
			for range 30 { // the day
				s.ask("daily")
			}
			for i := range 10 { // no strike, and then nine
				if i > 0 {
					time.Sleep(time.Second)
				}
				if got := s.ask("daily").Status; got != 429 {
					t.Fatalf("refusal %d: status %d", i+1, got)
				}
			}
			time.Sleep(test.pause)
			if got := s.ask("daily").Status; got != test.status {
				t.Fatalf("after a pause of %v: status %d, want %d", test.pause, got, test.status)
			}
		})
	}
}

// Requests that come at once may be counted in another order than they came. A second is one strike all the same.
func TestStrikesOutOfOrder(t *testing.T) {
	inBubble(t, func(t *testing.T, s *service) {
		r := httptest.NewRequest("GET", "/pets", nil)
		r.Header.Set("X-API-Key", "one")
		s.limits.admit(r, time.Now())
		for range 20 {
			for _, after := range []time.Duration{time.Second, 2 * time.Second, time.Second} {
				_, _, err := s.limits.admit(r, time.Now().Add(after))
				if e, ok := err.(*Error); !ok || e.Status != 429 {
					t.Fatalf("after %v: %v", after, err)
				}
			}
		}
	})
}

func TestWhoIsBanned(t *testing.T) {
	every := func(wait time.Duration) func(int) time.Duration {
		return func(int) time.Duration { return wait }
	}
	backoff := func(i int) time.Duration { return time.Second << min(i, 12) }
	pauseAfterThree := func(i int) time.Duration {
		if i == 3 {
			return 52 * time.Second
		}
		return time.Second
	}
	for _, test := range []struct {
		name   string
		key    string
		wait   func(i int) time.Duration // before the request i after the limit is reached
		banned bool
	}{
		{"hammering", "daily", every(10 * time.Millisecond), true},
		{"each second", "daily", every(time.Second), true},
		{"every 6 s", "daily", every(6 * time.Second), true},
		{"a pause after three, then each second", "daily", pauseAfterThree, true},
		{"every 7 s", "daily", every(7 * time.Second), false},
		{"exponential backoff, day used up", "daily", backoff, false},
		{"exponential backoff, minute used up", "forty", backoff, false},
		{"a stranger", "wrong", every(time.Second / 2), false},
	} {
		t.Run(test.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, s *service) {
				for range 100 {
					s.ask(test.key)
				}
				banned := false
				for i, end := 0, time.Now().Add(2*time.Hour); time.Now().Before(end) && !banned; i++ {
					time.Sleep(test.wait(i))
					banned = s.ask(test.key).Status == 403
				}
				if banned != test.banned {
					t.Errorf("banned: %v, want %v", banned, test.banned)
				}
			})
		})
	}
}

func TestExactUnderConcurrency(t *testing.T) {
	s := freshService(t)
	for _, test := range []struct {
		key  string
		pass int
	}{{"forty", 40}, {"daily", 30}, {"free", 60}} {
		var recorders [200]*httptest.ResponseRecorder
		var all sync.WaitGroup
		for i := range recorders {
			all.Go(func() {
				r := httptest.NewRequest("GET", "/pets", nil)
				r.Header.Set("Authorization", "Bearer "+test.key)
				recorders[i] = httptest.NewRecorder()
				s.handler.ServeHTTP(recorders[i], r)
			})
		}
		all.Wait()
		got := map[int]int{} // how many responses have each status
		for _, recorder := range recorders {
			got[recorder.Code]++
		}
		if diff := gocmp.Diff(map[int]int{200: test.pass, 429: 200 - test.pass}, got); diff != "" {
			t.Fatalf("%s: responses by status (-want +got):\n%s", test.key, diff)
		}
	}
}

func TestKeyOfARequest(t *testing.T) {
	s := freshService(t)
	for _, test := range []struct {
		authorization, apiKey string
		status                int
	}{
		{"Bearer big", "", 200},
		{"bearer big", "", 200},
		{"BEARER   big", "", 200},
		{"", "big", 200},
		{"Bearer big", "wrong", 200},
		{"Bearer wrong", "big", 401},
		{"Basic big", "big", 401},
		{"Bearer", "", 401},
		{"Bearer big x", "", 401},
		{"Bearerbig", "", 401},
		{"big", "", 401},
		{"Bearer BIG", "", 401},
		{"", "wrong", 401},
		{"", "", 401},
	} {
		challenge := ""
		if test.status == 401 {
			challenge = "Bearer"
		}
		for _, target := range []string{"/pets", "/pets/x", "/nothing"} { // a stranger cannot tell them apart
			resp := s.do("GET "+target, "", "Authorization: "+test.authorization, "X-API-Key: "+test.apiKey)
			if (resp.StatusCode == 401) != (test.status == 401) {
				t.Fatalf("Authorization %q, X-API-Key %q on %s: status %d",
					test.authorization, test.apiKey, target, resp.StatusCode)
			}
			if diff := gocmp.Diff(challenge, resp.Header.Get("WWW-Authenticate")); diff != "" {
				t.Fatalf("%s: WWW-Authenticate (-want +got):\n%s", target, diff)
			}
		}
	}
}

// askFrom sends a request without a key from an address. It returns the status and the requests that are left.
func (s *service) askFrom(address string, header ...string) string {
	r := httptest.NewRequest("GET", "/pets", nil)
	r.RemoteAddr = address
	for _, name := range header {
		r.Header.Set(name, "203.0.113.9")
	}
	recorder := httptest.NewRecorder()
	s.handler.ServeHTTP(recorder, r)
	return fmt.Sprint(recorder.Code, " ", strings.Join(recorder.Header()["X-RateLimit-Remaining"], ""))
}

func TestStrangers(t *testing.T) {
	inBubble(t, func(t *testing.T, s *service) {
		for _, test := range []struct{ address, want string }{
			{"192.0.2.2:1000", "401 59"},
			{"192.0.2.2:2000", "401 58"}, // the port does not matter
			{"192.0.2.3:1000", "401 59"},
			{"[::ffff:192.0.2.2]:1000", "401 57"}, // the same IPv4 address
			{"[2001:db8::1]:1000", "401 59"},
			{"[2001:db8::ffff:1]:1000", "401 58"},
			{"[2001:db8:0:0:8000::]:1000", "401 57"}, // the same /64, but another /65
			{"[2001:db8:0:1::1]:1000", "401 59"},     // the same /63, but another /64
			{"[fe80::1%eth0]:1000", "401 59"},
			{"[fe80::2%eth1]:1000", "401 58"},
			{"nonsense", "401 59"},
		} {
			if got := s.askFrom(test.address); got != test.want {
				t.Fatalf("%s: %s, want %s", test.address, got, test.want)
			}
		}
		for range 60 {
			s.askFrom("192.0.2.9:1", "X-Forwarded-For", "Forwarded", "X-Real-IP")
		}
		if got := s.askFrom("192.0.2.9:1", "X-Forwarded-For"); got != "429 0" {
			t.Errorf("after 60 requests: %s", got)
		}
		time.Sleep(time.Minute - time.Nanosecond)
		if got := s.askFrom("192.0.2.9:1"); got != "429 0" {
			t.Errorf("just before the minute is over: %s", got)
		}
		time.Sleep(time.Nanosecond)
		if got := s.askFrom("192.0.2.9:1"); got != "401 59" {
			t.Errorf("after a minute: %s", got)
		}
	})
}

// A stranger is forgotten once its minute is over, and not before.
func TestWhenStrangersAreForgotten(t *testing.T) {
	inBubble(t, func(t *testing.T, s *service) {
		known := func() int {
			synctest.Wait()
			s.limits.mu.Lock()
			defer s.limits.mu.Unlock()
			return len(s.limits.strangers)
		}
		for range 2 { // the second time, the timer must be set again
			s.askFrom("192.0.2.1:1")
			time.Sleep(time.Minute)
			if n := known(); n != 0 {
				t.Fatalf("a lone stranger: %d are known after its minute", n)
			}
		}

		s.askFrom("192.0.2.1:1") // at 0:00
		time.Sleep(30 * time.Second)
		s.askFrom("192.0.2.2:1") // at 0:30
		time.Sleep(30 * time.Second)
		if n := known(); n != 1 {
			t.Fatalf("two strangers: %d are known at 1:00", n)
		}
		if got := s.askFrom("192.0.2.2:1"); got != "401 58" {
			t.Fatalf("the second stranger at 1:00: %s", got)
		}
		time.Sleep(time.Minute)
		if n := known(); n != 0 {
			t.Fatalf("two strangers: %d are known at 2:00", n)
		}
	})
}

func TestMemoryOfStrangers(t *testing.T) {
	inBubble(t, func(t *testing.T, s *service) {
		heap := func() uint64 {
			var m runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&m)
			return m.HeapAlloc
		}
		before := heap()
		for i := range 100_000 {
			s.limits.stranger(fmt.Sprintf("10.%d.%d.%d:1", i>>16&255, i>>8&255, i&255), time.Now())
		}
		full := heap()
		time.Sleep(time.Minute)
		synctest.Wait()
		after := heap()
		if n := len(s.limits.strangers); n != 0 || after-min(after, before) > (full-before)/10 {
			t.Errorf("%d strangers are left; heap %d before, %d full, %d after", n, before, full, after)
		}
	})
}

// Both headers are rounded up, so that nobody comes back too early. Retry-After is at least 1.
func TestRounding(t *testing.T) {
	for _, test := range []struct {
		wait                      time.Duration // from a whole second on
		wantReset, wantRetryAfter string
	}{
		{0, "1000", "1"},
		{time.Nanosecond, "1001", "1"},
		{time.Second - time.Nanosecond, "1001", "1"},
		{time.Second, "1001", "1"},
		{time.Second + time.Nanosecond, "1002", "2"},
		{59500 * time.Millisecond, "1060", "60"},
		{time.Minute, "1060", "60"},
	} {
		header := http.Header{}
		quota{limit: 60, remaining: 0, reset: time.Unix(1000, 0).Add(test.wait)}.setHeaders(header)
		if diff := gocmp.Diff([]string{test.wantReset}, header["X-RateLimit-Reset"]); diff != "" {
			t.Fatalf("X-RateLimit-Reset for %v (-want +got):\n%s", test.wait, diff)
		}
		got := fail(429, "Wait.").retryAfter(test.wait).header[0]
		want := headerLine{name: "Retry-After", value: test.wantRetryAfter}
		if got != want {
			t.Fatalf("for %v: %v, want %v", test.wait, got, want)
		}
	}
}

func TestKeysFile(t *testing.T) {
	const (
		enterpriseOnly = "perMinute and perDay are for the enterprise plan only."
		figures        = "The enterprise plan needs both perMinute and perDay, from 1 to 2147483647."
	)
	for _, test := range []struct{ keys, want string }{
		{`[]`, `the keys must be a JSON array of one or more objects`},
		{`[{"key":"a","plan":"free"},{"key":"b","plan":"enterprise","perMinute":1,"perDay":1}]`, ``},
		{demoKeys, ``},
		{``, `The JSON is malformed at byte 1: unexpected end of JSON input.`},
		{`null`, `the keys must be a JSON array of one or more objects`},
		{`{}`, `the keys must be a JSON array of one or more objects`},
		{`[{"key":"a","plan":"free"}] []`,
			"The JSON is malformed at byte 29: invalid character '[' after top-level value."},
		{`["secret"]`, `entry 1: The JSON must be one object.`},
		{`[{"key":"secret","plan":"free"},{"key":"secret","plan":"pro"}]`, `entry 2: the key is given twice`},
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
		if _, err := newLimits([]byte(test.keys)); err != nil {
			got = err.Error()
		}
		if diff := gocmp.Diff(test.want, got); diff != "" {
			t.Fatalf("%s (-want +got):\n%s", test.keys, diff)
		}
	}
}

func TestShortKeys(t *testing.T) {
	limits, err := newLimits([]byte(`[
		{"key":"0123456789abcdef","plan":"free"},
		{"key":"0123456789abcde","plan":"free"},
		{"key":"x","plan":"pro"}]`))
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff([]int{2, 3}, limits.shortKeys); diff != "" {
		t.Errorf("entries to warn about (-want +got):\n%s", diff)
	}
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
				t.Fatalf("%s: %+v after %+v", key, got, refused)
			}
		}
		if waits < 10 {
			t.Errorf("only %d waits", waits)
		}
	})
}
