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

// ask sends a request with the key and returns its status and what the headers tell: the limit, what is left,
// the seconds until the reset, and Retry-After.
func (s *service) ask(key string) (status int, told string) {
	s.t.Helper()
	h := s.do("GET", "/pets", "", "Authorization: Bearer "+key)
	reset, _ := strconv.ParseInt(h.Header.Get("X-RateLimit-Reset"), 10, 64)
	return h.StatusCode, strings.TrimSpace(fmt.Sprint(h.Header.Get("X-RateLimit-Limit"), " ", h.Header.Get("X-RateLimit-Remaining"), " ",
		reset-time.Now().Unix(), " ", h.Header.Get("Retry-After")))
}

func (s *service) expect(key string, status int, told string) {
	s.t.Helper()
	if gotStatus, got := s.ask(key); gotStatus != status || got != told {
		s.t.Errorf("%s at %v: status %d, told %q; want %d, %q", key, time.Now().UTC(), gotStatus, got, status, told)
	}
}

func TestPlans(t *testing.T) {
	inBubble(t, func(t *testing.T, s *service) {
		for _, plan := range []struct {
			key       string
			perMinute int
		}{{"free", 60}, {"pro", 300}, {"business", 1000}, {"forty", 40}} {
			for left := plan.perMinute - 1; left >= 0; left-- {
				s.expect(plan.key, 200, fmt.Sprintf("%d %d 60", plan.perMinute, left))
			}
			s.expect(plan.key, 429, fmt.Sprintf("%d 0 60 60", plan.perMinute))
		}
		time.Sleep(59*time.Second + time.Millisecond)
		s.expect("free", 429, "60 0 1 1")
		time.Sleep(999 * time.Millisecond)
		s.expect("free", 200, "60 59 60")
	})
}

// A window begins with the first request after the one before it ended.
func TestWindowsBeginWithARequest(t *testing.T) {
	inBubble(t, func(t *testing.T, s *service) {
		time.Sleep(500 * time.Millisecond)
		s.expect("free", 200, "60 59 61") // the reset is rounded up
		time.Sleep(30 * time.Second)
		s.expect("free", 200, "60 58 31")
		time.Sleep(200 * time.Second)
		s.expect("free", 200, "60 59 61")
	})
}

func TestDay(t *testing.T) {
	inBubble(t, func(t *testing.T, s *service) {
		for left := 29; left >= 0; left-- {
			s.expect("daily", 200, fmt.Sprintf("30 %d 86400", left))
		}
		s.expect("daily", 429, "30 0 86400 86400")
		time.Sleep(23*time.Hour + 59*time.Minute + 30*time.Second)
		s.expect("daily", 429, "30 0 30 30")
		time.Sleep(30 * time.Second)
		s.expect("daily", 200, "30 29 86400")

		s.expect("both", 200, "1 0 60")
		s.expect("both", 429, "1 0 86400 86400")

		// The minute of 40 is told of first, then the day of 100, and of two spent windows the later to end.
		for i := range 100 {
			s.expect("forty", 200, map[bool]string{
				true:  fmt.Sprintf("40 %d 60", 39-i%40),
				false: fmt.Sprintf("100 %d %d", 99-i, 86400-60*(i/40)),
			}[i < 80])
			if i%40 == 39 {
				s.expect("forty", 429, "40 0 60 60")
				time.Sleep(time.Minute)
			}
		}
		s.expect("forty", 429, "100 0 86280 86280")
	})
}

// A whole day at the pace of the plan: never one request too many, never one too few.
func TestFreePlanForADay(t *testing.T) {
	inBubble(t, func(t *testing.T, s *service) {
		passed := 0
		for end := time.Now().Add(24 * time.Hour); time.Now().Before(end); time.Sleep(time.Minute) {
			for refused := 0; refused < 3; {
				if status, _ := s.ask("free"); status == 200 {
					passed++
				} else {
					refused++
				}
			}
		}
		if passed != 1000 {
			t.Errorf("%d requests passed in a day, want 1000", passed)
		}
		s.expect("free", 200, "60 59 60")
	})
}

func TestBan(t *testing.T) {
	inBubble(t, func(t *testing.T, s *service) {
		s.expect("one", 200, "1 0 60")
		for range 1000 { // a burst at once is no strike
			s.expect("one", 429, "1 0 60 60")
		}
		for second := 59; second > 50; second-- {
			time.Sleep(time.Second)
			s.expect("one", 429, fmt.Sprintf("1 0 %d %d", second, second))
		}
		time.Sleep(time.Second)
		s.expect("one", 403, "1 0 300 300")
		time.Sleep(299 * time.Second)
		s.expect("one", 403, "1 0 1 1")
		time.Sleep(time.Second)
		s.expect("one", 200, "1 0 60") // the ban's end clears the strikes
		s.expect("one", 429, "1 0 60 60")
		for range 9 {
			time.Sleep(time.Second)
			if status, _ := s.ask("one"); status != 429 {
				t.Errorf("status %d before the tenth strike", status)
			}
		}
		time.Sleep(51 * time.Second)
		s.expect("one", 200, "1 0 60") // a request that is let through clears them too
		s.expect("one", 429, "1 0 60 60")
		time.Sleep(time.Second)
		s.expect("one", 429, "1 0 59 59")
		s.expect("big", 200, "1000000000 999999999 60")
	})
}

func TestWhoIsBanned(t *testing.T) {
	for _, test := range []struct {
		name   string
		key    string
		wait   func(i int) time.Duration
		banned bool
	}{
		{"hammering", "daily", func(int) time.Duration { return 10 * time.Millisecond }, true},
		{"each second", "daily", func(int) time.Duration { return time.Second }, true},
		{"each 6 s", "daily", func(int) time.Duration { return 6 * time.Second }, true},
		{"a pause after three, then each second", "daily", func(i int) time.Duration {
			if i == 3 {
				return 52 * time.Second
			}
			return time.Second
		}, true},
		{"each 7 s", "daily", func(int) time.Duration { return 7 * time.Second }, false},
		{"exponential backoff, day spent", "daily", func(i int) time.Duration { return time.Second << min(i, 12) }, false},
		{"exponential backoff, minute spent", "forty", func(i int) time.Duration { return time.Second << min(i, 12) }, false},
		{"a stranger", "wrong", func(int) time.Duration { return time.Second / 2 }, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, s *service) {
				for range 100 {
					s.ask(test.key)
				}
				banned := false
				for i, end := 0, time.Now().Add(2*time.Hour); time.Now().Before(end) && !banned; i++ {
					time.Sleep(test.wait(i))
					status, _ := s.ask(test.key)
					banned = status == 403
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
		statuses := make(chan int, 200)
		var all sync.WaitGroup
		for range 200 {
			all.Go(func() {
				status, _ := s.ask(test.key)
				statuses <- status
			})
		}
		all.Wait()
		got := map[int]int{}
		for range 200 {
			got[<-statuses]++
		}
		if diff := gocmp.Diff(map[int]int{200: test.pass, 429: 200 - test.pass}, got); diff != "" {
			t.Errorf("%s: statuses (-want +got):\n%s", test.key, diff)
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
		for _, target := range []string{"/pets", "/pets/x", "/nothing"} {
			resp := s.do("GET", target, "", "Authorization: "+test.authorization, "X-API-Key: "+test.apiKey)
			if passed := resp.StatusCode != 401; passed != (test.status == 200) {
				t.Errorf("Authorization %q, X-API-Key %q on %s: status %d", test.authorization, test.apiKey, target, resp.StatusCode)
			}
			if got := resp.Header.Get("WWW-Authenticate"); (got == "Bearer") != (test.status == 401) {
				t.Errorf("status %d has WWW-Authenticate %q", resp.StatusCode, got)
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
				t.Errorf("%s: %s, want %s", test.addr, got, test.want)
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
	for _, test := range []struct{ keys, want string }{
		{`[]`, `the keys must be a JSON array of one or more objects`},
		{`[{"key":"a","plan":"free"},{"key":"b","plan":"enterprise","perMinute":1,"perDay":1}]`, ``},
		{demoKeys, ``},
		{``, `The JSON is malformed at byte 0: unexpected end of JSON input.`},
		{`null`, `the keys must be a JSON array of one or more objects`},
		{`{}`, `the keys must be a JSON array of one or more objects`},
		{`[{"key":"a","plan":"free"}] []`, "The JSON is malformed at byte 29: invalid character '[' after top-level value."},
		{`["secret"]`, `entry 1: The JSON must be one object.`},
		{`[{"key":"secret","plan":"free"},{"key":"secret","plan":"pro"}]`, `entry 2: the key is given twice`},
		{`[{"key":"secret","plan":"gold"}]`, `entry 1: plan must be free, pro, business or enterprise.`},
		{`[{"key":"secret"}]`, `entry 1: plan is missing; it must be a string.`},
		{`[{"plan":"free"}]`, `entry 1: key is missing; it must be a string.`},
		{`[{"key":"","plan":"free"}]`, `entry 1: key must be visible ASCII characters without spaces.`},
		{`[{"key":"a b","plan":"free"}]`, `entry 1: key must be visible ASCII characters without spaces.`},
		{`[{"key":"secret","plan":"free","color":1}]`, `entry 1: The field "color" is unknown; leave it out.`},
		{`[{"key":"secret","plan":"free","perDay":5}]`, `entry 1: perMinute and perDay are for the plan enterprise only.`},
		{`[{"key":"secret","plan":"enterprise"}]`, `entry 1: The plan enterprise needs both perMinute and perDay, from 1 to 2147483647.`},
		{`[{"key":"secret","plan":"enterprise","perMinute":0,"perDay":1}]`, `entry 1: The plan enterprise needs both perMinute and perDay, from 1 to 2147483647.`},
		{`[{"key":"secret","plan":"enterprise","perMinute":1,"perDay":2147483648}]`, `entry 1: The plan enterprise needs both perMinute and perDay, from 1 to 2147483647.`},
		{`[{"key":"secret","plan":"enterprise","perMinute":1}]`, `entry 1: The plan enterprise needs both perMinute and perDay, from 1 to 2147483647.`},
		{`[{"key":"secret","plan":"enterprise","perMinute":1.5,"perDay":1}]`, `entry 1: perMinute must be a 64-bit integer without fraction or exponent.`},
	} {
		got := ""
		if _, err := newLimits([]byte(test.keys)); err != nil {
			got = err.Error()
		}
		if diff := gocmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.keys, diff)
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
			fmt.Fprintf(&keys, `,{"key":"k%d","plan":"enterprise","perMinute":%d,"perDay":%d}`, i, accounts[i].limit[0], accounts[i].limit[1])
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
						t.Errorf("%s after %v: status %d with %v of %v used", key, now.Sub(begin), status, account.used, account.limit)
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
			status, told := s.ask(key)
			if status == 200 {
				time.Sleep(time.Duration(random.Int64N(int64(time.Second))))
				continue
			}
			seconds, _ := strconv.Atoi(told[strings.LastIndex(told, " ")+1:])
			time.Sleep(time.Duration(seconds) * time.Second)
			waits++
			if status, _ := s.ask(key); status != 200 {
				t.Errorf("%s: status %d after a wait of %d s", key, status, seconds)
			}
		}
		if waits < 10 {
			t.Errorf("only %d waits", waits)
		}
	})
}
