package main

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// Most tests use the key demo-enterprise, whose limits no test reaches. The others are for tests of the limits.
const testKeys = `[
{"key": "demo-enterprise", "plan": "enterprise", "perMinute": 2147483647, "perDay": 2147483647},
{"key": "forty", "plan": "enterprise", "perMinute": 40, "perDay": 100},
{"key": "daily", "plan": "enterprise", "perMinute": 100, "perDay": 30},
{"key": "both", "plan": "enterprise", "perMinute": 1, "perDay": 1},
{"key": "twice", "plan": "enterprise", "perMinute": 1, "perDay": 2},
{"key": "one", "plan": "enterprise", "perMinute": 1, "perDay": 1000000},
{"key": "sixty", "plan": "enterprise", "perMinute": 60, "perDay": 1000}
]`

// keyedService returns a service with the options and the keys above.
func keyedService(t testing.TB, options Options) *service {
	t.Helper()
	options.Keys = writeFile(t, freshPath(t), testKeys)
	return newService(t, options)
}

// inBubble runs the test on a service with the options, in fake time.
func inBubble(t *testing.T, options Options, test func(*testing.T, *service)) {
	synctest.Test(t, func(t *testing.T) { test(t, keyedService(t, options)) })
}

// keylessLimit is how many requests without a valid key there may be in a minute.
var keylessLimit = int(plans["free"].perMinute)

// get sends a GET /pets with the key.
func (s *service) get(key string) *http.Response {
	s.t.Helper()
	return s.do("GET /pets", "", "X-API-Key: "+key)
}

// left returns how many requests are left, as a response says.
func left(resp *http.Response) string { return resp.Header.Get("X-RateLimit-Remaining") }

// expectRates sends a GET /pets with the key, and compares what the response says about the limits
// with what is wanted, such as "200: 59 of 60 left, ends in 60 s".
func (s *service) expectRates(key, want string) {
	s.t.Helper()
	resp, now := s.get(key), time.Now()
	reset, _ := strconv.ParseInt(resp.Header.Get("X-RateLimit-Reset"), 10, 64)
	got := fmt.Sprintf("%d: %s of %s left, ends in %d s", resp.StatusCode, left(resp),
		resp.Header.Get("X-RateLimit-Limit"), reset-now.Unix())
	if wait := resp.Header.Get("Retry-After"); wait != "" {
		got += ", retry after " + wait + " s"
	}
	equal(s.t, "key "+key+" at "+now.UTC().Format(time.TimeOnly), want, got)
}

func TestPlans(t *testing.T) {
	t.Run("each demo key has the limits of its plan", func(t *testing.T) {
		got := map[string][2]int64{}
		for key, a := range newService(t, Options{}).limits.accounts {
			got[key] = [2]int64{a.minute.limit, a.day.limit}
		}
		equal(t, "limits", map[string][2]int64{"demo-free": {60, 1000}, "demo-pro": {300, 10_000},
			"demo-business": {1000, 100_000}, "demo-enterprise": {5000, 1_000_000}}, got)
	})
}

// A step of a scene in fake time is a number of requests with a key, each after a wait, and what
// the last one gets, as for expectRates.
type step struct {
	wait      time.Duration
	count     int
	key, want string
}

// playEach plays each scene, named by its rule, on a service with minutes of the given length.
func playEach(t *testing.T, minute time.Duration, scenes map[string][]step) {
	for rule, steps := range scenes {
		t.Run(rule, func(t *testing.T) {
			inBubble(t, Options{Minute: minute}, func(t *testing.T, s *service) {
				for _, step := range steps {
					for range step.count - 1 {
						time.Sleep(step.wait)
						s.get(step.key)
					}
					time.Sleep(step.wait)
					s.expectRates(step.key, step.want)
				}
			})
		})
	}
}

// What the keys "one" and "both" get, which have one request a minute.
const (
	newMinute = "200: 0 of 1 left, ends in 60 s"
	newDay    = "200: 0 of 1 left, ends in 86400 s"
	banned    = "403: 0 of 1 left, ends in 300 s, retry after 300 s"
)

func TestWindows(t *testing.T) {
	playEach(t, time.Minute, map[string][]step{
		"a minute begins with the first request after the one before": {
			{7 * time.Second, 1, "sixty", "200: 59 of 60 left, ends in 60 s"},
			{60*time.Second - 1, 1, "sixty", "200: 58 of 60 left, ends in 1 s"},
			{1, 1, "sixty", "200: 59 of 60 left, ends in 60 s"},
			{432 * time.Second, 1, "sixty", "200: 59 of 60 left, ends in 60 s"},
		},
		"a day begins with the first request after the one before": {
			{7 * time.Hour, 1, "both", newDay},
			{24*time.Hour - 1, 1, "both", "429: 0 of 1 left, ends in 1 s, retry after 1 s"},
			{1, 1, "both", newDay},
			{77 * time.Hour, 1, "both", newDay},
		},
		"what the minute refuses costs no day": {
			{0, 1, "twice", newMinute},
			{0, 9, "twice", "429: 0 of 1 left, ends in 60 s, retry after 60 s"},
			{time.Minute, 1, "twice", "200: 0 of 2 left, ends in 86340 s"},
		},
		"what the day refuses costs no minute": {
			{0, 30, "daily", "200: 0 of 30 left, ends in 86400 s"},
			{24*time.Hour - 1, 1, "daily", "429: 0 of 30 left, ends in 1 s, retry after 1 s"},
			{0, 100, "daily", "429: 0 of 30 left, ends in 1 s, retry after 1 s"},
			{1, 1, "daily", "200: 29 of 30 left, ends in 86400 s"},
		},
		"the headers tell of the one with fewer left": {
			{0, 40, "forty", "200: 0 of 40 left, ends in 60 s"},
			{time.Minute, 1, "forty", "200: 39 of 40 left, ends in 60 s"},
			{0, 38, "forty", "200: 1 of 40 left, ends in 60 s"},
			{time.Minute, 1, "forty", "200: 20 of 100 left, ends in 86280 s"},
		},
		"on a tie they tell of the one that ends later": {
			{0, 1, "both", newDay},
			{0, 1, "both", "429: 0 of 1 left, ends in 86400 s, retry after 86400 s"},
			{0, 1, "twice", newMinute},
			{24*time.Hour - 30*time.Second, 1, "twice", newMinute}, // which ends after the day
			{0, 1, "twice", "429: 0 of 1 left, ends in 60 s, retry after 60 s"},
		},
		"Reset is rounded up": {
			{500 * time.Millisecond, 1, "sixty", "200: 59 of 60 left, ends in 61 s"},
			{500 * time.Millisecond, 1, "sixty", "200: 58 of 60 left, ends in 60 s"},
		},
		"Retry-After is rounded up and at least 1": {
			{0, 2, "one", "429: 0 of 1 left, ends in 60 s, retry after 60 s"},
			{time.Second - 1, 1, "one", "429: 0 of 1 left, ends in 60 s, retry after 60 s"},
			{1, 1, "one", "429: 0 of 1 left, ends in 59 s, retry after 59 s"},
			{59*time.Second - 1, 1, "one", "429: 0 of 1 left, ends in 1 s, retry after 1 s"},
		},
	})
	t.Run("they last longer if the clock is set back", func(t *testing.T) {
		s, now := keyedService(t, Options{}), time.Now()
		s.limits.admit("one", now)
		again := s.limits.admit("one", now.Add(-time.Hour))
		equal(t, "is refused", true, again.err != nil)
	})
	// Go's monotonic clock stands still while the computer sleeps, so no window may end at a time
	// that has a reading of it. Such a time differs from itself rounded to 0.
	t.Run("they follow the wall clock", func(t *testing.T) {
		s := keyedService(t, Options{})
		for i := range 12 {
			now := time.Now().Add(time.Duration(i) * time.Second)
			for _, key := range []string{"both", "wrong"} { // let through, refused, banned; 401
				if d := s.limits.admit(key, now); d.reset != d.reset.Round(0) {
					t.Errorf("key %s: the end %v is of the monotonic clock", key, d.reset)
				}
			}
		}
	})
	// A client sends requests at random moments, for ten days.
	t.Run("who waits for Retry-After, or after a 0 for Reset, is let through", func(t *testing.T) {
		inBubble(t, Options{}, func(t *testing.T, s *service) {
			random := rand.New(rand.NewPCG(1, 2))
			keys := []string{"forty", "daily", "sixty", "one", "twice"}
			for end := time.Now().Add(10 * 24 * time.Hour); time.Now().Before(end); {
				key := keys[random.IntN(len(keys))]
				for range random.IntN(100) {
					time.Sleep(time.Duration(random.Int64N(int64(time.Second / 2))))
					resp := s.get(key)
					equal(t, "who waits as told is banned", false, resp.StatusCode == 403)
					seconds, _ := strconv.Atoi(resp.Header.Get("Retry-After"))
					wait := time.Duration(seconds) * time.Second
					if left(resp) == "0" && random.IntN(2) == 0 {
						reset, _ := strconv.ParseInt(resp.Header.Get("X-RateLimit-Reset"), 10, 64)
						wait = time.Until(time.Unix(reset, 0))
					}
					if wait > 0 {
						time.Sleep(wait)
						equal(t, fmt.Sprint(key, " after ", wait), 200, s.get(key).StatusCode)
						break
					}
				}
			}
		})
	})
}

func TestCounting(t *testing.T) {
	t.Run("once, whatever a request gets", func(t *testing.T) {
		s := keyedService(t, Options{})
		requests := []string{"HEAD /pets/1", "PATCH /pets", "GET /nothing", "GET //pets"}
		for i, request := range requests {
			resp := s.do(request, "", "X-API-Key: forty")
			equal(t, "requests left after "+request, strconv.Itoa(39-i), left(resp))
		}
	})
	t.Run("on arrival, also under delay, fail and drop", func(t *testing.T) {
		options := Options{Delay: 8 * time.Second, Fail: "1/2", Drop: "1/1"}
		inBubble(t, options, func(t *testing.T, s *service) {
			for _, want := range []int64{39, 38} { // after one that fails, and one that is dropped
				go func() {
					defer func() { recover() }()
					s.get("forty")
				}()
				synctest.Wait()
				equal(t, "requests left", want, s.limits.accounts["forty"].minute.remaining())
			}
			time.Sleep(options.Delay)
		})
	})
	t.Run("exactly under concurrency", func(t *testing.T) {
		s := keyedService(t, Options{})
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				for range 10_000 {
					s.limits.admit("demo-enterprise", time.Now())
				}
			})
		}
		all.Wait()
		equal(t, "requests left", "2147403646", left(s.get("demo-enterprise"))) // 80,001 less than 2147483647
	})
}

func TestBan(t *testing.T) {
	playEach(t, time.Minute, map[string][]step{
		"the tenth strike in a minute bans, so who asks each second is banned": {
			{0, 1, "both", newDay},
			{time.Second, 9, "both", "429: 0 of 1 left, ends in 86391 s, retry after 86391 s"},
			{time.Second, 1, "both", "403: 0 of 1 left, ends in 86390 s, retry after 86390 s"},
		},
		"a new minute begins without strikes": {
			{0, 1, "both", newDay},
			{5 * time.Second, 9, "both", "429: 0 of 1 left, ends in 86355 s, retry after 86355 s"},
			{15 * time.Second, 1, "both", "429: 0 of 1 left, ends in 86340 s, retry after 86340 s"},
			{time.Second, 8, "both", "429: 0 of 1 left, ends in 86332 s, retry after 86332 s"},
			{time.Second, 1, "both", "403: 0 of 1 left, ends in 86331 s, retry after 86331 s"},
		},
		"a burst is one strike": {
			{0, 1000, "one", "429: 0 of 1 left, ends in 60 s, retry after 60 s"},
			{time.Second, 9, "one", banned},
		},
		"a refusal within a second of a strike is none": {
			{0, 1, "one", newMinute},
			{999 * time.Millisecond, 18, "one", // of which 9 are strikes
				"429: 0 of 1 left, ends in 43 s, retry after 43 s"},
			{time.Second, 1, "one", "403: 0 of 1 left, ends in 301 s, retry after 300 s"},
		},
		"nine requests a minute of a day that is used up are never too many": {
			{0, 1, "both", newDay},
			{7 * time.Second, 10_000, "both",
				"429: 0 of 1 left, ends in 16400 s, retry after 16400 s"},
		},
		"a request during it is no strike, and its end clears the strikes": {
			{0, 1, "one", newMinute},
			{time.Second, 10, "one", banned},
			{time.Second, 299, "one", "403: 0 of 1 left, ends in 1 s, retry after 1 s"},
			{time.Second, 1, "one", newMinute},
			{time.Second, 10, "one", banned},
		},
		"ends no sooner than a day that is used up": {
			{0, 1, "both", newDay},
			{time.Second, 10, "both", "403: 0 of 1 left, ends in 86390 s, retry after 86390 s"},
			{86390*time.Second - 1, 1, "both", "429: 0 of 1 left, ends in 1 s, retry after 1 s"},
			{1, 1, "both", newDay},
		},
		"outlasts a day that ends before it": {
			{0, 1, "both", newDay},
			{86380 * time.Second, 1, "both", "429: 0 of 1 left, ends in 20 s, retry after 20 s"},
			{time.Second, 9, "both", banned},
			{300 * time.Second, 1, "both", newDay},
		},
		"its headers tell its end and the limit of the minute": {
			{0, 1, "one", newMinute},
			{time.Second, 10, "one", banned},
			{0, 1, "sixty", "200: 59 of 60 left, ends in 60 s"}, // it spares other keys
			{300*time.Second - 1, 1, "one", "403: 0 of 1 left, ends in 1 s, retry after 1 s"},
			{1, 1, "one", newMinute},
		},
	})
	t.Run("who doubles the wait is never banned, whichever window is used up", func(t *testing.T) {
		inBubble(t, Options{}, func(t *testing.T, s *service) {
			for _, key := range []string{"one", "both", "daily"} {
				for range 100 {
					status := s.get(key).StatusCode
					for wait := time.Second; status == 429; wait *= 2 {
						time.Sleep(wait)
						status = s.get(key).StatusCode
					}
					equal(t, "status after the waits", 200, status)
				}
			}
		})
	})
}

func TestKeylessRequests(t *testing.T) {
	of := fmt.Sprint(" of ", keylessLimit, " left, ends in ")
	playEach(t, time.Minute, map[string][]step{
		"get 401 for a minute of the Free plan, then 429, and no ban": {
			{0, keylessLimit, "wrong", "401: 0" + of + "60 s"},
			{time.Second, 59, "wrong", "429: 0" + of + "1 s, retry after 1 s"},
			{0, 1, "sixty", "200: 59 of 60 left, ends in 60 s"}, // they keep no valid key out
			{time.Second, 1, "wrong", fmt.Sprint("401: ", keylessLimit-1, of, "60 s")},
		},
	})
	t.Run("share one window, whose 429 has its figure, and no memory", func(t *testing.T) {
		s := keyedService(t, Options{})
		accounts := len(s.limits.accounts)
		for count := keylessLimit - 1; count >= 0; count-- {
			r := httptest.NewRequest("GET", "/pets", nil)
			r.RemoteAddr = fmt.Sprintf("10.0.0.%d:1", count)
			r.Header.Set("X-Forwarded-For", r.RemoteAddr)
			r.Header.Set([]string{"X-API-Key", "Cookie"}[count%2], fmt.Sprint("guess", count))
			equal(t, r.RemoteAddr+": left", strconv.Itoa(count), left(s.exchange(r)))
		}
		equal(t, "accounts", accounts, len(s.limits.accounts))
		body, _ := io.ReadAll(s.do("GET /pets", "", "X-API-Key").Body)
		equal(t, "error", fmt.Sprintf("rate_limited: The limit of %d requests per minute has been "+
			"reached; wait the number of seconds in Retry-After.", keylessLimit), errorIn(body))
	})
}

func TestMinute(t *testing.T) {
	of := fmt.Sprint(" of ", keylessLimit, " left, ends in ")
	playEach(t, 2*time.Second, map[string][]step{
		"is the minute of a key": {
			{0, 2, "one", "429: 0 of 1 left, ends in 2 s, retry after 2 s"},
			{2 * time.Second, 1, "one", "200: 0 of 1 left, ends in 2 s"},
		},
		"is the minute of the keyless": {
			{0, keylessLimit + 1, "wrong", fmt.Sprint("429: 0", of, "2 s, retry after 2 s")},
			{2 * time.Second, 1, "wrong", fmt.Sprint("401: ", keylessLimit-1, of, "2 s")},
		},
		"is a fifth of a ban": {
			{0, 1, "one", "200: 0 of 1 left, ends in 2 s"},
			{100 * time.Millisecond, 10, "one", "403: 0 of 1 left, ends in 10 s, retry after 10 s"},
			{10*time.Second - 1, 1, "one", "403: 0 of 1 left, ends in 1 s, retry after 1 s"},
			{1, 1, "one", "200: 0 of 1 left, ends in 2 s"},
		},
		"is sixty times as long as what lies between two strikes": {
			{0, 1, "one", "200: 0 of 1 left, ends in 2 s"},
			{33 * time.Millisecond, 18, "one", // of which 9 are strikes
				"429: 0 of 1 left, ends in 2 s, retry after 2 s"},
			{34 * time.Millisecond, 1, "one", "403: 0 of 1 left, ends in 11 s, retry after 10 s"},
		},
		"changes no day": {{0, 1, "both", newDay}},
	})
}

func TestKeysFile(t *testing.T) {
	const (
		own     = `[{"key":"secret","plan":"enterprise"`
		visible = "1: key must consist of visible ASCII characters without spaces."
		figures = "1: perMinute and perDay must be from 1 to 2147483647."
		missing = "1: perMinute or perDay is missing; the plan enterprise needs both."
		unknown = "1: plan must be free, pro, business or enterprise."
		array   = "The keys must be an array with at least one entry."
	)
	free := func(key string) string { return `[{"key":"` + key + `","plan":"free"}]` }
	plan := func(minute, day int) string {
		return fmt.Sprintf(own+`,"perMinute":%d,"perDay":%d}]`, minute, day)
	}
	for _, test := range []struct{ rule, files, want string }{ // the files are separated by |
		{"visible ASCII", free("!~"), "<nil>"},
		{"figures from 1 to 2147483647", plan(1, 1) + "|" + plan(1<<31-1, 1<<31-1), "<nil>"},
		{"byte order mark", "\ufeff" + free("x"),
			"The JSON begins with a byte order mark; remove it."},
		{"no keys", `[]`, array},
		{"no array", `{"key":"secret","plan":"free"}|null`, array},
		{"repeated key", `[{"key":"x","plan":"free"},{"key":"x","plan":"pro"}]`,
			"2: The key appears twice; remove one entry."},
		{"missing key", `[{"plan":"free"}]`, "1: key is missing; it must be a string."},
		{"missing plan", `[{"key":"secret"}]`, "1: plan is missing; it must be a string."},
		{"figures beside a missing plan", `[{"key":"secret","perMinute":5,"perDay":5}]`,
			"1: plan is missing; it must be a string."},
		{"unknown plan", `[{"key":"secret","plan":"gold"}]`, unknown},
		{"figures beside an unknown plan", `[{"key":"x","plan":"gold","perMinute":5}]`, unknown},
		{"unknown field", `[{"key":"x","color":1}]`,
			`1: The field "color" is unknown here; leave it out.`},
		{"empty key", free(""), visible},
		{"key not of visible ASCII", free("a b") + "|" + free("\x7f") + "|" + free("é"), visible},
		{"figures of a fixed plan", `[{"key":"secret","plan":"pro","perMinute":5,"perDay":5}]|` +
			`[{"key":"secret","plan":"pro","perMinute":0}]|[{"key":"x","plan":"pro","perDay":0}]`,
			`1: perMinute and perDay are fixed by the plan pro; leave them out.`},
		{"missing figure", own + `,"perDay":1}]|` + own + `,"perMinute":1}]`, missing},
		{"figure below 1", plan(0, 1) + "|" + plan(1, 0), figures},
		{"figure too large", plan(1<<31, 1) + "|" + plan(1, 1<<31), figures},
	} {
		t.Run(test.rule, func(t *testing.T) {
			path := freshPath(t)
			for file := range strings.SplitSeq(test.files, "|") {
				writeFile(t, path, file)
				_, err := New(Options{Keys: path})
				got := strings.NewReplacer(path+": ", "", "keys, record ", "")
				equal(t, file, test.want, got.Replace(fmt.Sprint(err)))
			}
		})
	}
}

// A keys file is read, or refused with one line.
func FuzzKeys(f *testing.F) {
	f.Add([]byte(demoKeys))
	f.Add([]byte(`[{"key":"x","plan":"enterprise","perMinute":1,"perDay":-`))
	f.Fuzz(func(t *testing.T, data []byte) {
		keys, err := parseKeys(data)
		if err == nil && len(keys) == 0 {
			t.Error("no keys and no error")
		}
		if err != nil && (err.Error() == "" || strings.Contains(err.Error(), "\n")) {
			t.Errorf("error %q", err)
		}
	})
}
