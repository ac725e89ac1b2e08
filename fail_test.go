package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// statuses sends requests, each given as key, method and path, one a second, and returns the
// statuses of the responses.
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

// With -fail M/N, the first M of every N requests that are let through fail.
func TestFail(t *testing.T) {
	hammer := "one GET /pets" + strings.Repeat("; one GET /pets", 10) // the last one is banned
	for _, test := range []struct{ fail, requests, want string }{
		{"", "big GET /pets; big GET /pets; big GET /pets", "200 200 200"},
		{"1/1", "big GET /pets; big POST /pets; big GET /nothing; big PATCH /pets", "503 503 503 503"},
		{"1/2", "big GET /pets; big POST /pets; big HEAD /pets; big GET /pets/1", "503 201 503 200"},
		{"1/3", "big DELETE /pets/5; big POST /pets; big DELETE /pets/5", "503 201 204"},
		{"2/3", strings.Repeat("big GET /pets; ", 6) + "big GET /pets", "503 503 200 503 503 200 503"},
		{"1/2", "big GET /pets; free GET /pets; pro GET /pets; business GET /pets", "503 200 503 200"},
		{"1/2", "big GET /pets; big GET /pets/77; big GET /pets; big PUT /pets/x", "503 404 503 400"},
		{"1/2", "big GET /pets; big GET /nothing; big GET /pets; big PATCH /pets", "503 404 503 405"},
		{"1/2", "wrong GET /pets; big GET /pets; wrong GET /pets; big GET /pets", "401 503 401 200"},
		{"1/2", "one GET /pets; one GET /pets; one GET /pets; big GET /pets", "503 429 429 200"},
		{"1/2", hammer + "; big GET /pets", "503" + strings.Repeat(" 429", 9) + " 403 200"},
		{"1/1", "big GET /; big GET /openapi.json; big GET /healthz; big GET /docs/keys.json",
			"200 200 200 200"},
		{"1/1000000", "big GET /pets; big GET /pets", "503 200"},
	} {
		t.Run(test.fail+" "+test.requests, func(t *testing.T) {
			inBubble(t, func(t *testing.T, s *service) {
				if test.fail != "" {
					s.fail.Set(test.fail)
				}
				same(t, "statuses", test.want, s.statuses(test.requests))
			})
		})
	}
}

// Such a request changes nothing, is counted against its key, and its message says who asked for
// the failure.
func TestWhatFailDoes(t *testing.T) {
	s := newService(t, "")
	s.fail.Set("1/1")
	resp := s.do("POST /pets", `{"name":"Kiwi","categoryId":1}`, "Authorization: Bearer forty")
	var e Error
	if err := json.NewDecoder(resp.Body).Decode(&e); err != nil || !strings.Contains(e.Message, "-fail") {
		t.Errorf("%v, message %q", err, e.Message)
	}
	same(t, "Retry-After", "1", resp.Header.Get("Retry-After"))
	same(t, "Location", "", resp.Header.Get("Location"))
	same(t, "requests left", "39", resp.Header.Get("X-RateLimit-Remaining"))
	s.restart(time.Minute, &options{})
	s.expect(step{request: "GET /pets?after=5", status: 200, want: "[]"})
}

// With -drop M/N, the first M of every N requests that are carried out get no response, but what
// they change is saved.
func TestDrop(t *testing.T) {
	for _, test := range []struct{ fail, drop, requests, want string }{
		{"", "1/2", "POST /pets; POST /pets; GET /pets/6; GET /pets/7", "dropped 201 dropped 200"},
		{"", "1/1", "DELETE /pets/5; GET /pets; HEAD /pets", "dropped dropped dropped"},
		{"", "2/3", "GET /pets; GET /pets; GET /pets; GET /pets", "dropped dropped 200 dropped"},
		{"1/2", "1/2", "POST /pets; POST /pets; POST /pets; POST /pets", "503 dropped 503 201"},
		// Not carried out, so answered and not counted.
		{"", "1/1", "GET /pets/77; GET /nothing; PATCH /pets; PUT /pets/x", "404 404 405 400"},
		{"", "1/2", "DELETE /pets/2; GET /pets; DELETE /pets/2; GET /pets", "409 dropped 409 200"},
		{"", "1/1", "GET /healthz; GET /; GET /openapi.json", "200 200 200"}, // no part of the API
	} {
		t.Run(test.fail+" "+test.drop+" "+test.requests, func(t *testing.T) {
			s := freshService(t)
			s.drop.Set(test.drop)
			if test.fail != "" {
				s.fail.Set(test.fail)
			}
			server := httptest.NewServer(s)
			defer server.Close()
			// Without connections that are kept, net/http does not send a request a second time.
			client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
			var got []string
			written := 0
			for request := range strings.SplitSeq(test.requests, "; ") {
				method, target, _ := strings.Cut(request, " ")
				body := strings.NewReader(`{"name":"Kiwi","categoryId":1}`)
				r, _ := http.NewRequest(method, server.URL+target, body)
				r.Header.Set("Authorization", "Bearer big")
				resp, err := client.Do(r)
				if err != nil {
					got = append(got, "dropped")
				} else {
					resp.Body.Close()
					got = append(got, fmt.Sprint(resp.StatusCode))
				}
				if method == "POST" && (err != nil || resp.StatusCode == 201) {
					written++
				}
			}
			same(t, "responses", test.want, strings.Join(got, " "))
			same(t, "pets written", written, strings.Count(read(t, s.store.path), "Kiwi"))
		})
	}
}

// M and N are whole numbers, 1 <= M <= N <= 1000000, without sign or spaces.
func TestShares(t *testing.T) {
	for _, test := range []struct {
		text  string
		valid bool
	}{
		{"1/1", true}, {"2/3", true}, {"1000000/1000000", true}, {"1/1000000", true},
		{"0/1", false}, {"2/1", false}, {"1/1000001", false}, {"1/0", false}, {"-1/2", false},
		{"+1/2", false}, {"01/2", false}, {"1/02", false}, {" 1/2", false}, {"1/2 ", false},
		{"1 / 2", false}, {"1", false}, {"1/", false}, {"/2", false}, {"1/2/3", false}, {"", false},
		{"1.0/2", false}, {"a/b", false}, {"1/99999999999999999999", false}, {"0x1/2", false},
	} {
		var s share
		same(t, fmt.Sprintf("%q is valid", test.text), test.valid, s.Set(test.text) == nil)
	}
}

// With -minute 2s, the minute of keys and of strangers lasts two seconds, and a ban ten. A day is as
// long as ever.
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
			s.restart(2*time.Second, &options{})
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
		s.restart(2*time.Second, &options{})
		got := s.statuses("both GET /pets" + strings.Repeat("; both GET /pets", 10))
		same(t, "statuses", "200"+strings.Repeat(" 429", 9)+" 403", got)
		s.expectRates("both", rates{Status: 403, Limit: 1, ResetIn: 9, RetryAfter: 9})
		time.Sleep(9*time.Second - 1)
		s.expectRates("both", rates{Status: 403, Limit: 1, ResetIn: 1, RetryAfter: 1})
		time.Sleep(1)
		same(t, "status after the ban", 429, s.ask("both").Status)
	})
}

// With -drop, -v logs a request that gets no response.
func TestVerbose(t *testing.T) {
	s := freshService(t)
	s.verbose = true
	s.do("GET /pets?limit=1", "", "Authorization: Bearer pro")
	s.do("DELETE /pets/%0aevil", "", "Authorization: Bearer secret-guess")
	s.drop.Set("1/1")
	func() {
		defer func() {
			if err, _ := recover().(error); !errors.Is(err, http.ErrAbortHandler) {
				t.Errorf("panic %v", err)
			}
		}()
		s.do("GET /pets", "")
	}()
	got := durations.ReplaceAllString(s.log.String(), " TIME\n")
	want := "GET \"/pets\" 200 TIME\nDELETE \"/pets/\\nevil\" 401 TIME\nGET \"/pets\" dropped TIME\n"
	same(t, "log", want, got)
}
