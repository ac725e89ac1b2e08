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
	"sync/atomic"
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
		time.Sleep(59*time.Second + time.Millisecond)
		s.expectRates("free", rates{Status: 429, Limit: 60, ResetIn: 1, RetryAfter: 1})
		time.Sleep(999 * time.Millisecond)
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
		time.Sleep(299 * time.Second)
		s.expectRates("one", rates{Status: 403, Limit: 1, ResetIn: 1, RetryAfter: 1})
		time.Sleep(time.Second)
		s.expectRates("one", rates{Status: 200, Limit: 1, ResetIn: 60}) // the ban's end clears the strikes
		s.expectRates("one", rates{Status: 429, Limit: 1, ResetIn: 60, RetryAfter: 60})
		for left := 59; left > 50; left-- {
			time.Sleep(time.Second)
			s.expectRates("one", rates{Status: 429, Limit: 1, ResetIn: left, RetryAfter: left})
		}
		time.Sleep(51 * time.Second)
		s.expectRates("one", rates{Status: 200, Limit: 1, ResetIn: 60}) // a request that is let through clears them too
		s.expectRates("one", rates{Status: 429, Limit: 1, ResetIn: 60, RetryAfter: 60})
		time.Sleep(time.Second)
		s.expectRates("one", rates{Status: 429, Limit: 1, ResetIn: 59, RetryAfter: 59})
		s.expectRates("big", rates{Status: 200, Limit: 1000000000, Remaining: 999999999, ResetIn: 60})
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

func TestStrangers(t *testing.T) {
	inBubble(t, func(t *testing.T, s *service) {
		from := func(addr string, header ...string) string {
			r, _ := http.NewRequest("GET", "http://localhost/pets", nil)
			r.RemoteAddr = addr
			for _, h := range header {
				r.Header.Set(h, "203.0.113.9")
			}
			_, q, err := s.limits.admit(r, time.Now())
			return fmt.Sprint(err.(*Error).Status, " ", q.remaining)
		}
		for _, test := range []struct{ addr, want string }{
			{"192.0.2.1:1000", "401 59"},
			{"192.0.2.1:2000", "401 58"},
			{"192.0.2.2:1000", "401 59"},
			{"[::ffff:192.0.2.1]:1000", "401 57"},
			{"[2001:db8::1]:1000", "401 59"},
			{"[2001:db8::ffff:1]:1000", "401 58"},
			{"[2001:db8:0:1::1]:1000", "401 59"},
			{"[fe80::1%eth0]:1000", "401 59"},
			{"[fe80::2%eth1]:1000", "401 58"},
			{"nonsense", "401 59"},
		} {
			if got := from(test.addr); got != test.want {
				t.Fatalf("%s: %s, want %s", test.addr, got, test.want)
			}
		}
		for range 60 {
			from("192.0.2.9:1", "X-Forwarded-For", "Forwarded", "X-Real-IP")
		}
		if got := from("192.0.2.9:1", "X-Forwarded-For"); got != "429 0" {
			t.Errorf("after 60 requests: %s", got)
		}
		time.Sleep(time.Minute)
		if got := from("192.0.2.9:1"); got != "401 59" {
			t.Errorf("after a minute: %s", got)
		}
	})
}

func TestStrangersAreForgotten(t *testing.T) {
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

func TestKeysFile(t *testing.T) {
	const figures = "The enterprise plan needs both perMinute and perDay, from 1 to 2147483647."
	for _, test := range []struct{ keys, want string }{
		{`[]`, `the keys must be a JSON array of one or more objects`},
		{`[{"key":"a","plan":"free"},{"key":"b","plan":"enterprise","perMinute":1,"perDay":1}]`, ``},
		{demoKeys, ``},
		{``, `The JSON is malformed at byte 0: unexpected end of JSON input.`},
		{`null`, `the keys must be a JSON array of one or more objects`},
		{`{}`, `the keys must be a JSON array of one or more objects`},
		{`[{"key":"a","plan":"free"}] []`,
			"The JSON is malformed at byte 29: invalid character '[' after top-level value."},
		{`["secret"]`, `entry 1: The JSON must be one object.`},
		{`[{"key":"secret","plan":"free"},{"key":"secret","plan":"pro"}]`, `entry 2: the key is given twice`},
		{`[{"key":"secret","plan":"gold"}]`, `entry 1: plan must be free, pro, business or enterprise.`},
		{`[{"key":"secret"}]`, `entry 1: plan is missing; it must be a string.`},
		{`[{"plan":"free"}]`, `entry 1: key is missing; it must be a string.`},
		{`[{"key":"","plan":"free"}]`, `entry 1: key must be visible ASCII characters without spaces.`},
		{`[{"key":"a b","plan":"free"}]`, `entry 1: key must be visible ASCII characters without spaces.`},
		{`[{"key":"secret","plan":"free","color":1}]`, `entry 1: The field "color" is unknown; leave it out.`},
		{`[{"key":"secret","plan":"free","perDay":5}]`,
			`entry 1: perMinute and perDay are for the enterprise plan only.`},
		{`[{"key":"secret","plan":"enterprise"}]`, `entry 1: ` + figures},
		{`[{"key":"secret","plan":"enterprise","perMinute":1}]`, `entry 1: ` + figures},
		{`[{"key":"secret","plan":"enterprise","perMinute":0,"perDay":1}]`, `entry 1: ` + figures},
		{`[{"key":"secret","plan":"enterprise","perMinute":1,"perDay":2147483648}]`, `entry 1: ` + figures},
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

// 64 callers share 8 keys for a day. A second account of the windows, kept beside the server's, must agree with
// every single decision: never a request too many, never one too few.
func TestCallersForADay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type account struct {
			mu          sync.Mutex
			limit, used [2]int
			end         [2]time.Time
		}
		var keys strings.Builder
		accounts := make([]*account, 8)
		for i := range accounts {
			accounts[i] = &account{limit: [2]int{3 + 5*i, 700 + 900*i}}
			fmt.Fprintf(&keys, `,{"key":"k%d","plan":"enterprise","perMinute":%d,"perDay":%d}`,
				i, accounts[i].limit[0], accounts[i].limit[1])
		}
		limits, err := newLimits([]byte("[" + keys.String()[1:] + "]"))
		if err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		var callers sync.WaitGroup
		var passed, refused, banned atomic.Int64
		for caller := range 64 {
			callers.Go(func() {
				random := rand.New(rand.NewPCG(uint64(caller), 1))
				key, account := fmt.Sprint("k", caller%8), accounts[caller%8]
				r := httptest.NewRequest("GET", "/pets", nil)
				r.Header.Set("X-API-Key", key)
				for time.Since(begin) < 24*time.Hour {
					account.mu.Lock()
					now := time.Now()
					_, _, err := limits.admit(r, now)
					status := http.StatusOK
					if err != nil {
						status = err.(*Error).Status
					}
					free := true
					for i, length := range []time.Duration{time.Minute, 24 * time.Hour} {
						if status != http.StatusForbidden && !now.Before(account.end[i]) {
							account.end[i], account.used[i] = now.Add(length), 0
						}
						free = free && account.used[i] < account.limit[i]
					}
					switch {
					case status == http.StatusForbidden:
						banned.Add(1)
					case free != (status == http.StatusOK):
						t.Errorf("%s after %v: status %d with %v of %v used",
							key, now.Sub(begin), status, account.used, account.limit)
					case free:
						passed.Add(1)
						account.used[0]++
						account.used[1]++
					default:
						refused.Add(1)
					}
					account.mu.Unlock()
					time.Sleep(time.Duration(random.ExpFloat64() * float64(20*time.Second)))
				}
			})
		}
		callers.Wait()
		if passed.Load() == 0 || refused.Load() == 0 {
			t.Error("the callers never met a limit")
		}
		t.Logf("%d passed, %d were refused, %d banned", passed.Load(), refused.Load(), banned.Load())
	})
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
