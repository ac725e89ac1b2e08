package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

// statuses sends requests, each given as key, method and path, one a second, and returns the statuses of the responses.
func (s *service) statuses(requests string) string {
	var all []string
	for request := range strings.SplitSeq(requests, "; ") {
		key, request, _ := strings.Cut(request, " ")
		resp := s.do(request, `{"name":"Kiwi","categoryId":1}`, "Authorization: Bearer "+key)
		all = append(all, fmt.Sprint(resp.StatusCode))
		time.Sleep(time.Second)
	}
	return strings.Join(all, " ")
}

// With -fail N, every Nth request that is let through fails.
func TestFail(t *testing.T) {
	hammer := "one GET /pets" + strings.Repeat("; one GET /pets", 11) // the last one is banned
	for _, test := range []struct {
		fail           int64
		requests, want string
	}{
		{0, "big GET /pets; big GET /pets; big GET /pets", "200 200 200"},
		{1, "big GET /pets; big POST /pets; big GET /nothing; big PATCH /pets", "503 503 503 503"},
		{2, "big GET /pets; big POST /pets; big HEAD /pets; big GET /pets/1", "200 503 200 503"},
		{3, "big GET /pets; big POST /pets; big DELETE /pets/6; big DELETE /pets/6", "200 201 503 204"},
		{2, "big GET /pets; free GET /pets; pro GET /pets; business GET /pets", "200 503 200 503"},
		{2, "big GET /pets/77; big GET /pets; big PUT /pets/x; big GET /pets", "404 503 400 503"},
		{2, "big GET /nothing; big GET /pets; big PATCH /pets; big GET /pets", "404 503 405 503"},
		{2, "wrong GET /pets; big GET /pets; wrong GET /pets; big GET /pets", "401 200 401 503"},
		{2, "one GET /pets; one GET /pets; one GET /pets; big GET /pets", "200 429 429 503"},
		{2, hammer + "; big GET /pets", "200" + strings.Repeat(" 429", 10) + " 403 503"},
		{1, "big GET /; big GET /openapi.json; big GET /healthz; big GET /docs/keys.json", "200 200 200 200"},
	} {
		inBubble(t, func(t *testing.T, s *service) {
			s.failNth = test.fail
			same(t, fmt.Sprintf("-fail %d: %s", test.fail, test.requests), test.want, s.statuses(test.requests))
		})
	}
}

// Such a request changes nothing, is counted against its key, and its message says who asked for the failure.
func TestWhatFailDoes(t *testing.T) {
	s := newService(t, "")
	s.failNth = 2
	key := "Authorization: Bearer forty"
	s.do("GET /pets", "", key)
	resp := s.do("POST /pets", `{"name":"Kiwi","categoryId":1}`, key)
	var e Error
	if err := json.NewDecoder(resp.Body).Decode(&e); err != nil || !strings.Contains(e.Message, "-fail") {
		t.Errorf("%v, message %q", err, e.Message)
	}
	same(t, "Retry-After", "1", resp.Header.Get("Retry-After"))
	same(t, "requests left", "38", resp.Header.Get("X-RateLimit-Remaining"))
	s.expect(step{request: "GET /pets?after=5", status: 200, want: "[]"})
}

// With -minute 2s, the minute of keys and of strangers lasts two seconds. A day and a ban are as long as ever.
func TestMinute(t *testing.T) {
	for _, test := range []struct {
		requests   int // all at once
		key        string
		wait       time.Duration // before one more request, which gets
		status     int
		retryAfter string
	}{
		{1, "one", 0, 429, "2"},
		{1, "one", 999 * time.Millisecond, 429, "2"},
		{1, "one", time.Second, 429, "1"},
		{1, "one", 2*time.Second - 1, 429, "1"},
		{1, "one", 2 * time.Second, 200, ""},
		{60, "free", time.Second, 429, "1"},
		{60, "free", 2 * time.Second, 200, ""},
		{60, "stranger", time.Second, 429, "1"},
		{60, "stranger", 2 * time.Second, 401, ""},
		{1, "both", 2 * time.Second, 429, "86398"},
	} {
		inBubble(t, func(t *testing.T, s *service) {
			s.limits.minute = 2 * time.Second
			key := "Authorization: Bearer " + test.key
			for range test.requests {
				s.do("GET /pets", "", key)
			}
			time.Sleep(test.wait)
			resp := s.do("GET /pets", "", key)
			what := fmt.Sprint(test.key, " after ", test.wait)
			same(t, what+": status", test.status, resp.StatusCode)
			same(t, what+": Retry-After", test.retryAfter, resp.Header.Get("Retry-After"))
		})
	}
	inBubble(t, func(t *testing.T, s *service) {
		s.limits.minute = 2 * time.Second
		got := s.statuses("both GET /pets" + strings.Repeat("; both GET /pets", 11))
		same(t, "statuses", "200"+strings.Repeat(" 429", 10)+" 403", got)
		time.Sleep(5*time.Minute - 2*time.Second)
		same(t, "statuses at the end of the ban", "403 429", s.statuses("both GET /pets; both GET /pets"))
	})
}
