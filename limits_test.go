package main

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"
)

// rates are what a response says of the limits. Its times are in seconds from now; since now is cut
// to a second, reset may be one more than retry.
type rates struct{ status, limit, left, reset, retry int }

func ratesOf(resp *reply) rates {
	number := func(name string) int {
		n, _ := strconv.Atoi(resp.Header.Get(name)) // 0 if it is missing
		return n
	}
	return rates{
		status: resp.StatusCode,
		limit:  number("X-RateLimit-Limit"),
		left:   number("X-RateLimit-Remaining"),
		reset:  number("X-RateLimit-Reset") - int(time.Now().Unix()),
		retry:  number("Retry-After"),
	}
}

// expectAfter waits, in fake time, sends a request, and compares what its response says of the
// limits.
func (s *service) expectAfter(wait time.Duration, want rates) {
	s.t.Helper()
	s.expectLast(1, wait, want)
}

// expectLast sends a number of requests, each after a wait, and compares what the last response
// says of the limits.
func (s *service) expectLast(count int, wait time.Duration, want rates) {
	s.t.Helper()
	var got rates
	for range count {
		time.Sleep(wait)
		got = ratesOf(s.send("GET /pets", ""))
		if got.status == 403 && want.status != 403 {
			break // which must not be
		}
	}
	equal(s.t, fmt.Sprintf("GET /pets after %v, at request %d", wait, count), got, want)
}

const tick = time.Nanosecond // the shortest time there is

func TestWindows(t *testing.T) {
	inFakeTime(t, "begin with the first request after the one before", func(t *testing.T) {
		s := newService(t, Options{Keys: keysFile(t, 60, 1000)})
		s.expectAfter(7*time.Second, rates{status: 200, limit: 60, left: 59, reset: 60})
		s.expectAfter(time.Minute-tick, rates{status: 200, limit: 60, left: 58, reset: 1})
		s.expectAfter(tick, rates{status: 200, limit: 60, left: 59, reset: 60})
		s.expectAfter(7*time.Minute, rates{status: 200, limit: 60, left: 59, reset: 60})
	})
	inFakeTime(t, "what one refuses costs nothing of the other", func(t *testing.T) {
		s := newService(t, Options{Keys: keysFile(t, 1, 2)})
		s.expectLast(10, 0, rates{status: 429, limit: 1, reset: 60, retry: 60})
		s.expectAfter(time.Minute, rates{status: 200, limit: 2, reset: 86340})
		s = newService(t, Options{Keys: keysFile(t, 100, 30)})
		s.expectLast(30, 0, rates{status: 200, limit: 30, reset: 86400})
		s.expectAfter(24*time.Hour-tick, rates{status: 429, limit: 30, reset: 1, retry: 1})
		s.expectLast(100, 0, rates{status: 429, limit: 30, reset: 1, retry: 1})
		s.expectAfter(tick, rates{status: 200, limit: 30, left: 29, reset: 86400})
	})
	inFakeTime(t, "the one with fewer left, or a later end, is in the headers", func(t *testing.T) {
		s := newService(t, Options{Keys: keysFile(t, 40, 60)})
		s.expectLast(40, 0, rates{status: 200, limit: 40, reset: 60})
		s.expectAfter(time.Minute, rates{status: 200, limit: 60, left: 19, reset: 86340})
		s = newService(t, Options{Keys: keysFile(t, 1, 2)})
		s.expectAfter(0, rates{status: 200, limit: 1, reset: 60})
		s.expectAfter(24*time.Hour-30*time.Second, rates{status: 200, limit: 1, reset: 60})
		s.expectAfter(0, rates{status: 429, limit: 1, reset: 60, retry: 60})
	})
	inFakeTime(t, "end after times that are rounded up to a second", func(t *testing.T) {
		s := newService(t, Options{Keys: keysFile(t, 2, 1000)})
		s.expectAfter(tick, rates{status: 200, limit: 2, left: 1, reset: 61})
		s.expectAfter(time.Second-tick, rates{status: 200, limit: 2, reset: 60})
		s.expectAfter(tick, rates{status: 429, limit: 2, reset: 60, retry: 59})
		s.expectAfter(59*time.Second-tick, rates{status: 429, limit: 2, reset: 1, retry: 1})
	})
	inFakeTime(t, "of the keyless and of the day begin with a request, too", func(t *testing.T) {
		s := newService(t, Options{Keys: keysFile(t, 9, 2)})
		s.as(noKey).expectAfter(0, rates{status: 401, limit: 60, left: 59, reset: 60})
		s.as(noKey).expectAfter(10*time.Minute, rates{status: 401, limit: 60, left: 59, reset: 60})
		s.expectAfter(20*time.Hour, rates{status: 200, limit: 2, left: 1, reset: 86400})
	})
	inFakeTime(t, "with a minute of 2 s, that of the keyless too, but no day", func(t *testing.T) {
		s := newService(t, Options{Minute: 2 * time.Second, Keys: keysFile(t, 1, 2)})
		s.expectLast(2, 0, rates{status: 429, limit: 1, reset: 2, retry: 2})
		equal(t, "reset for no key", ratesOf(s.as(noKey).send("GET /pets", "")).reset, 2)
		s.expectAfter(2*time.Second, rates{status: 200, limit: 2, reset: 86398})
	})
	t.Run("and bans are over when either clock says so", func(t *testing.T) {
		l, now := newService(t, Options{Keys: keysFile(t, 1, 1000)}).limits, time.Now()
		expectWait := func(key string, wall, monotonic, want time.Duration) {
			t.Helper()
			at := onClocks(now, wall, monotonic)
			d := l.admit(key, at)
			equal(t, key+": wait", d.retryAfter, want)
			if want == 0 && key == testKey {
				equal(t, key+": error", d.err, nil)
			} else if want > 0 {
				equal(t, key+": reset", d.reset.Round(0).Sub(at.Round(0)), want)
			}
		}
		for _, key := range []string{testKey, "wrong"} {
			for range plans["free"].perMinute { // which is that of a wrong key
				l.admit(key, now)
			}
			expectWait(key, 0, 0, time.Minute)
			expectWait(key, 59*time.Second, 0, time.Second)
			expectWait(key, -time.Hour, 59*time.Second, time.Second)
			expectWait(key, -time.Hour, time.Minute, 0)
		}
		for i := range 11 { // one that is let through, and ten strikes
			l.admit(testKey, now.Add(time.Minute+time.Duration(i)*time.Second))
		}
		const banned = 70 * time.Second
		expectWait(testKey, -time.Hour, banned+time.Minute, 4*time.Minute)
		expectWait(testKey, -time.Hour, banned+5*time.Minute, 0)
		for i := range 11 {
			l.admit(testKey, onClocks(now, 0, 10*time.Minute+time.Duration(i)*time.Second))
		}
		expectWait(testKey, time.Hour, 10*time.Minute, 0) // after a sleep
	})
}

// onClocks returns the time after these durations on the wall clock and on the monotonic one, which
// no method of time.Time can set apart: it shifts the field for the latter, behind the first word.
func onClocks(now time.Time, wall, monotonic time.Duration) time.Time {
	at := now.Add(wall)
	(*struct {
		wall      uint64
		monotonic int64
	})(unsafe.Pointer(&at)).monotonic += int64(monotonic - wall)
	if at.Sub(now) != monotonic || at.Round(0).Sub(now.Round(0)) != wall {
		panic("time.Time has changed")
	}
	return at
}

// Clients live with limits of which now the minute's and now the day's is used up first.
func TestWaiting(t *testing.T) {
	for _, p := range []plan{{40, 100}, {100, 30}, {60, 1000}, {1, 1000}, {1, 2}, {1, 1}} {
		options := Options{Keys: keysFile(t, p.perMinute, p.perDay)}
		// As told means for Retry-After or, after a Remaining of 0, for Reset.
		inFakeTime(t, fmt.Sprintf("as told, a client is let through: %+v", p), func(t *testing.T) {
			s, random := newService(t, options), rand.New(rand.NewPCG(1, 2))
			wait := 0 // seconds
			for range 2000 {
				if wait == 0 {
					time.Sleep(time.Duration(random.Int64N(int64(time.Second / 2))))
				}
				time.Sleep(time.Duration(wait) * time.Second)
				got := ratesOf(s.send("GET /categories?after=4", ""))
				if wait > 0 && got.status != 200 || got.status == 403 {
					t.Fatalf("after the wait of %d s that it was told: %+v", wait, got)
				}
				wait = got.retry
				if got.left == 0 && random.IntN(2) == 0 {
					wait = got.reset
				}
			}
		})
		inFakeTime(t, fmt.Sprintf("twice as long, it is never banned: %+v", p), func(t *testing.T) {
			s := newService(t, options)
			for range 100 {
				status := s.send("GET /categories?after=4", "").StatusCode
				for wait := time.Second; status == 429; wait *= 2 {
					time.Sleep(wait)
					status = s.send("GET /categories?after=4", "").StatusCode
				}
				equal(t, "status after the waits", status, 200)
			}
		})
	}
}

func TestCounting(t *testing.T) {
	t.Run("once, whatever a request gets", func(t *testing.T) {
		s := newService(t, Options{})
		for i, request := range []string{"HEAD /pets/1", "GET /x", "GET //pets", "PATCH /pets"} {
			equal(t, "left after "+request, ratesOf(s.send(request, "")).left, 4999-i)
		}
	})
	t.Run("each of many at once, and each fault", func(t *testing.T) {
		s := newService(t, Options{Fail: "1/4", Keys: keysFile(t, 900_000, 900_000)})
		var clients sync.WaitGroup
		var failed atomic.Int64
		r, now := httptest.NewRequest("GET", "/pets", nil), time.Now()
		for range 8 {
			clients.Go(func() {
				for range 100_000 {
					s.limits.admit(testKey, now)
					if s.faults.fail.hits(r) {
						failed.Add(1)
					}
				}
			})
		}
		clients.Wait()
		equal(t, "requests left", s.limits.accounts[testKey].minute.remaining(), 100_000)
		equal(t, "faults", failed.Load(), 200_000)
	})
	inFakeTime(t, "on arrival, also under delay, fail and drop", func(t *testing.T) {
		s := newService(t, Options{Delay: 8 * time.Second, Fail: "1/2", Drop: "1/1"})
		for _, left := range []int64{4999, 4998} { // one fails, and one is dropped
			go s.send("GET /pets", "")
			synctest.Wait()
			equal(t, "left", s.limits.accounts[testKey].minute.remaining(), left)
		}
		time.Sleep(8 * time.Second)
	})
	inFakeTime(t, "the keyless together, in a minute of the Free plan, no ban", func(t *testing.T) {
		s := newService(t, Options{})
		stranger := s.as("x")
		for i := range 59 {
			s.as(fmt.Sprint("guess", i)).send("GET /pets", "", "X-Forwarded-For", fmt.Sprint(i))
		}
		s.as(noKey).expectAfter(0, rates{status: 401, limit: 60, reset: 60})
		equal(t, "accounts, of the demo keys", len(s.limits.accounts), 4)
		stranger.expectLast(59, time.Second, rates{status: 429, limit: 60, reset: 1, retry: 1})
		stranger.send("GET /pets", "").expectError("rate_limited", "The limit of 60 requests per "+
			"minute without a valid API key has been reached; send one as Authorization: Bearer "+
			"KEY or as X-API-Key: KEY.")
		s.as("demo-free").expectAfter(0, rates{status: 200, limit: 60, left: 59, reset: 60})
		stranger.expectAfter(time.Second, rates{status: 401, limit: 60, left: 59, reset: 60})
	})
}

func TestBan(t *testing.T) {
	inFakeTime(t, "the tenth strike in a minute bans its key for five", func(t *testing.T) {
		s := newService(t, Options{})
		pro := s.as("demo-pro")
		pro.expectLast(300, 0, rates{status: 200, limit: 300, reset: 60})
		pro.expectLast(9, time.Second, rates{status: 429, limit: 300, reset: 51, retry: 51})
		pro.expectAfter(time.Second, rates{status: 403, limit: 300, reset: 300, retry: 300})
		s.expectAfter(0, rates{status: 200, limit: 5000, left: 4999, reset: 60})
		pro.expectAfter(5*time.Minute-tick, rates{status: 403, limit: 300, reset: 1, retry: 1})
		pro.expectAfter(tick, rates{status: 200, limit: 300, left: 299, reset: 60})
	})
	inFakeTime(t, "a new minute does not make a refusal at once a strike", func(t *testing.T) {
		s := newService(t, Options{Keys: keysFile(t, 100, 1)})
		s.expectAfter(0, rates{status: 200, limit: 1, reset: 86400})
		s.expectAfter(59900*time.Millisecond,
			rates{status: 429, limit: 1, reset: 86341, retry: 86341})
		s.expectAfter(time.Second/10, rates{status: 429, limit: 1, reset: 86340, retry: 86340})
		s.expectLast(9, time.Second, rates{status: 429, limit: 1, reset: 86331, retry: 86331})
		s.expectAfter(time.Second, // the minute's limit
			rates{status: 403, limit: 100, reset: 86330, retry: 86330})
	})
	inFakeTime(t, "the end of a day ends no ban", func(t *testing.T) {
		s := newService(t, Options{Keys: keysFile(t, 1, 1000)})
		s.expectAfter(0, rates{status: 200, limit: 1, reset: 60})
		s.expectAfter(24*time.Hour-41*time.Second, rates{status: 200, limit: 1, reset: 60})
		s.expectLast(10, time.Second, rates{status: 403, limit: 1, reset: 300, retry: 300})
		s.expectAfter(time.Minute, rates{status: 403, limit: 1, reset: 240, retry: 240})
	})
	inFakeTime(t, "two keys have strikes of their own in the same seconds", func(t *testing.T) {
		s := newService(t, Options{Keys: writeFile(t, freshPath(t), `[
			{"key": "a", "plan": "enterprise", "perMinute": 1, "perDay": 1000},
			{"key": "b", "plan": "enterprise", "perMinute": 1, "perDay": 1000}]`)})
		for i := range 11 {
			status := cmp.Or(map[int]int{0: 200, 10: 403}[i], 429)
			for _, key := range []string{"a", "b"} {
				equal(t, key, s.as(key).send("GET /pets", "").StatusCode, status)
			}
			time.Sleep(time.Second)
		}
	})
	inFakeTime(t, "no strike outlives its minute or the ban", func(t *testing.T) {
		s := newService(t, Options{Keys: keysFile(t, 1, 1000)})
		for range 2 {
			s.expectAfter(time.Minute, rates{status: 200, limit: 1, reset: 60})
			s.expectLast(9, time.Second, rates{status: 429, limit: 1, reset: 51, retry: 51})
		}
		s.expectLast(300, time.Second, rates{status: 403, limit: 1, reset: 1, retry: 1})
		s.expectAfter(time.Second, rates{status: 200, limit: 1, reset: 60})
		s.expectLast(9, time.Second, rates{status: 429, limit: 1, reset: 51, retry: 51})
	})
	inFakeTime(t, "a strike outlives the day, within its minute", func(t *testing.T) {
		s := newService(t, Options{Keys: keysFile(t, 1, 1000)})
		s.expectAfter(0, rates{status: 200, limit: 1, reset: 60})
		s.expectAfter(24*time.Hour-30*time.Second, rates{status: 200, limit: 1, reset: 60})
		s.expectLast(9, 3*time.Second, rates{status: 429, limit: 1, reset: 33, retry: 33})
		s.expectAfter(4*time.Second, rates{status: 403, limit: 1, reset: 300, retry: 300})
	})
	inFakeTime(t, "of the refusals within a second, one is a strike", func(t *testing.T) {
		s := newService(t, Options{Keys: keysFile(t, 1, 2)}) // of the day, one is left
		s.expectLast(1000, 0, rates{status: 429, limit: 1, reset: 60, retry: 60})
		s.expectLast(16, 999*time.Millisecond, // every other one is a strike
			rates{status: 429, limit: 1, reset: 45, retry: 45})
		s.expectAfter(time.Second, rates{status: 403, limit: 1, reset: 301, retry: 300})
	})
	inFakeTime(t, "nine requests a minute of a used-up day are not too many", func(t *testing.T) {
		s := newService(t, Options{Keys: keysFile(t, 1, 1)})
		s.expectAfter(0, rates{status: 200, limit: 1, reset: 86400})
		s.expectLast(900, 7*time.Second, rates{status: 429, limit: 1, reset: 80100, retry: 80100})
	})
	inFakeTime(t, "its end is the day's if that is used up and ends later", func(t *testing.T) {
		s := newService(t, Options{Keys: keysFile(t, 1, 1)})
		s.expectAfter(0, rates{status: 200, limit: 1, reset: 86400})
		s.expectLast(10, time.Second, rates{status: 403, limit: 1, reset: 86390, retry: 86390})
		s.expectAfter(86390*time.Second-tick, rates{status: 429, limit: 1, reset: 1, retry: 1})
		s.expectAfter(tick, rates{status: 200, limit: 1, reset: 86400})
		s.expectAfter(86380*time.Second, rates{status: 429, limit: 1, reset: 20, retry: 20})
		s.expectLast(9, time.Second, rates{status: 403, limit: 1, reset: 300, retry: 300})
		s.expectAfter(5*time.Minute, rates{status: 200, limit: 1, reset: 86400})
	})
	inFakeTime(t, "with a minute of 2 s, it and the strikes shrink", func(t *testing.T) {
		s := newService(t, Options{Minute: 2 * time.Second, Keys: keysFile(t, 1, 1000)})
		s.expectAfter(0, rates{status: 200, limit: 1, reset: 2})
		s.expectLast(18, 33*time.Millisecond, // every other one is a strike
			rates{status: 429, limit: 1, reset: 2, retry: 2})
		s.expectAfter(34*time.Millisecond, rates{status: 403, limit: 1, reset: 11, retry: 10})
		s.expectAfter(10*time.Second-tick, rates{status: 403, limit: 1, reset: 1, retry: 1})
		s.expectAfter(tick, rates{status: 200, limit: 1, reset: 3})
	})
}

func TestKeysFile(t *testing.T) {
	// fault returns the error of a start with a keys file, without its path.
	fault := func(t *testing.T, file string) string {
		path := writeFile(t, freshPath(t), file)
		_, err := New(Options{Keys: path})
		return strings.TrimPrefix(fmt.Sprint(err), path+": ")
	}
	t.Run("takes visible ASCII and figures from 1 to 2147483647", func(t *testing.T) {
		got := fault(t, `[{"key":"!~","plan":"free"},
			{"key":"lowest","plan":"enterprise","perMinute":1,"perDay":1},
			{"key":"highest","plan":"enterprise","perMinute":2147483647,"perDay":2147483647}]`)
		equal(t, "error", got, "<nil>")
	})
	t.Run("is an array with an entry for each key", func(t *testing.T) {
		const wrong = "The keys must be an array with at least one entry."
		equal(t, "error", fault(t, `[]`), wrong)
		equal(t, "error", fault(t, "\ufeff[]"),
			"The JSON begins with a byte order mark; remove it.")
		equal(t, "error", fault(t, "[\n}]"),
			"The JSON is malformed on line 2, at byte 1: '}' is not allowed there.")
		equal(t, "error", fault(t, `{"key":"secret","plan":"free"}`), wrong)
		equal(t, "error", fault(t, `[{"key":"x","plan":"free"},{"key":"y","plan":"free"},
			{"key":"x","plan":"pro"}]`), "keys, record 3: key appears twice; remove one entry.")
		equal(t, "error", fault(t, `[{"key":"x","plan":"free"},{"key":"x","plan":"gold"}]`),
			"keys, record 2: plan must be free, pro, business or enterprise.")
	})
	for want, entries := range map[string][]string{
		"key is missing; it must be a string.":  {`"plan":"free"`},
		"plan is missing; it must be a string.": {`"key":"x","perMinute":5,"perDay":5`},
		"plan must be free, pro, business or enterprise.": {
			`"key":"x","plan":"gold","perDay":"x"`, `"key":"x","plan":"Free"`},
		`"zoo" is unknown here; leave it out.`: {`"key":"x","zoo":1`},
		"key must consist of visible ASCII characters without spaces.": {
			`"key":"","plan":"free"`, `"key":"a b","plan":"free"`, `"key":"\u007f","plan":"free"`},
		`"perMinute" is unknown here; leave it out.`: {`"key":"x","plan":"pro","perMinute":0`},
		`"perDay" is unknown here; leave it out.`:    {`"key":"x","plan":"pro","perDay":0`},
		"perMinute is missing; it must be a 64-bit integer without a fraction or exponent.": {
			`"key":"x","plan":"enterprise","perDay":1`},
		"perDay is missing; it must be a 64-bit integer without a fraction or exponent.": {
			`"key":"x","plan":"enterprise","perMinute":1`},
		"perMinute must be from 1 to 2147483647.": {
			`"key":"x","plan":"enterprise","perMinute":0,"perDay":0`,
			`"key":"x","plan":"enterprise","perMinute":2147483648,"perDay":1`},
		"perDay must be from 1 to 2147483647.": {
			`"key":"x","plan":"enterprise","perMinute":1,"perDay":0`,
			`"key":"x","plan":"enterprise","perMinute":1,"perDay":2147483648`},
	} {
		t.Run(want, func(t *testing.T) {
			for _, entry := range entries {
				equal(t, entry, fault(t, "[{"+entry+"}]"), "keys, record 1: "+want)
			}
		})
	}
}
