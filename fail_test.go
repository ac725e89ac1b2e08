package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// statuses sends requests, each given as method, path and perhaps another key than big, one a
// second, and returns the statuses of the responses.
func (s *service) statuses(requests string) string {
	var all []string
	for request := range strings.SplitSeq(requests, "; ") {
		words := append(strings.Fields(request), "big")
		resp := s.do(words[0]+" "+words[1], kiwi, "Authorization: Bearer "+words[2])
		all = append(all, fmt.Sprint(resp.StatusCode))
		time.Sleep(time.Second)
	}
	return strings.Join(all, " ")
}

const kiwi = `{"name":"Kiwi","categoryId":1}`

// With -fail M/N, the first M of every N requests that are let through fail.
func TestFail(t *testing.T) {
	hammer := "GET /pets one" + strings.Repeat("; GET /pets one", 10) // the last one is banned
	for _, test := range []struct{ fail, requests, want string }{
		{"", "GET /pets; GET /pets; GET /pets", "200 200 200"},
		{"1/1", "GET /pets; POST /pets; GET /nothing; PATCH /pets", "503 503 503 503"},
		{"1/2", "GET /pets; POST /pets; HEAD /pets; GET /pets/1", "503 201 503 200"},
		{"1/3", "DELETE /pets/5; POST /pets; DELETE /pets/5", "503 201 204"},
		{"2/3", "GET /pets" + strings.Repeat("; GET /pets", 6), "503 503 200 503 503 200 503"},
		{"1/2", "GET /pets; GET /pets free; GET /pets pro; GET /pets forty", "503 200 503 200"},
		{"1/2", "GET /pets; GET /pets/77; GET /pets; PUT /pets/x", "503 404 503 400"},
		{"1/2", "GET /pets; GET /nothing; GET /pets; PATCH /pets", "503 404 503 405"},
		{"1/2", "GET /pets wrong; GET /pets; GET /pets wrong; GET /pets", "401 503 401 200"},
		{"1/2", "GET /pets one; GET /pets one; GET /pets one; GET /pets", "503 429 429 200"},
		{"1/2", hammer + "; GET /pets", "503" + strings.Repeat(" 429", 9) + " 403 200"},
		{"1/1", "GET /; GET /openapi.json; GET /healthz; GET /docs/keys.json", "200 200 200 200"},
		{"1/1000000", "GET /pets; GET /pets", "503 200"},
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
	s.expect("POST /pets", kiwi, 503, "The flag -fail asked for this error")
	resp := s.do("POST /pets", kiwi, "Authorization: Bearer forty")
	same(t, "Retry-After", "1", resp.Header.Get("Retry-After"))
	same(t, "Location", "", resp.Header.Get("Location"))
	same(t, "requests left", "39", resp.Header.Get("X-RateLimit-Remaining"))
	s.restart(time.Minute, &options{})
	s.expect("GET /pets?after=5", "", 200, "[]")
}

// try sends a request on a connection of its own, and returns the status, or "dropped" if there is
// no response. On one that was used before, net/http would send the request a second time.
func try(request, url, key string) string {
	method, target, _ := strings.Cut(request, " ")
	r, _ := http.NewRequest(method, url+target, strings.NewReader(kiwi))
	r.Header.Set("Authorization", "Bearer "+key)
	r.Close = true
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return "dropped"
	}
	resp.Body.Close()
	return fmt.Sprint(resp.StatusCode)
}

// With -drop M/N, the first M of every N requests that are carried out get no response. They are
// counted against their key, and what they change is saved.
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
			var got []string
			written, left := 0, 39
			for request := range strings.SplitSeq(test.requests, "; ") {
				status := try(request, server.URL, "forty")
				got = append(got, status)
				if strings.HasPrefix(request, "POST") && status != "503" {
					written++
				}
				if !strings.Contains(test.requests, "/healthz") {
					left--
				}
			}
			server.Close()
			same(t, "responses", test.want, strings.Join(got, " "))
			same(t, "pets written", written, strings.Count(read(t, s.store.path), "Kiwi"))
			s.drop.n, s.fail.n = 0, 0
			same(t, "requests left", left, s.ask("forty").remaining)
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
		var s portion
		same(t, fmt.Sprintf("%q is valid", test.text), test.valid, s.Set(test.text) == nil)
	}
}

// With -minute 2s, the minute of keys and of strangers lasts two seconds, and a ban ten. A day is
// as long as ever.
func TestMinute(t *testing.T) {
	for _, test := range []struct {
		requests int // all at once
		key      string
		wait     time.Duration
		want     string // of one more request
	}{
		{1, "one", 0, "429: 0 of 1 left, ends in 2 s, retry after 2 s"},
		{1, "one", 2*time.Second - 1, "429: 0 of 1 left, ends in 1 s, retry after 1 s"},
		{1, "one", 2 * time.Second, "200: 0 of 1 left, ends in 2 s"},
		{60, "free", time.Second, "429: 0 of 60 left, ends in 1 s, retry after 1 s"},
		{60, "free", 2 * time.Second, "200: 59 of 60 left, ends in 2 s"},
		{60, "stranger", time.Second, "429: 0 of 60 left, ends in 1 s, retry after 1 s"},
		{60, "stranger", 2 * time.Second, "401: 59 of 60 left, ends in 2 s"},
		{1, "both", 2 * time.Second, "429: 0 of 1 left, ends in 86398 s, retry after 86398 s"},
	} {
		t.Run(fmt.Sprint(test.key, " after ", test.wait), func(t *testing.T) {
			inBubble(t, func(t *testing.T, s *service) {
				s.restart(2*time.Second, &options{})
				for range test.requests {
					s.ask(test.key)
				}
				time.Sleep(test.wait)
				s.expectRates(test.key, "%s", test.want)
			})
		})
	}
	t.Run("ban", func(t *testing.T) {
		inBubble(t, func(t *testing.T, s *service) {
			s.restart(2*time.Second, &options{})
			s.ask("both")
			s.expectStrikes("both")
			s.expectRates("both", "403: 0 of 1 left, ends in 9 s, retry after 9 s")
			time.Sleep(9*time.Second - 1)
			s.expectRates("both", "403: 0 of 1 left, ends in 1 s, retry after 1 s")
			time.Sleep(1)
			same(t, "status after the ban", 429, s.ask("both").status)
		})
	})
}

// With -drop, -v logs a request that gets no response.
func TestVerbose(t *testing.T) {
	s := freshService(t)
	s.verbose = true
	s.do("GET /pets?limit=1", "", "Authorization: Bearer pro")
	s.do("DELETE /pets/%0aevil", "", "Authorization: Bearer secret-guess")
	s.do("GET /healthz", "")
	s.drop.Set("1/1")
	server := httptest.NewServer(s)
	try("GET /pets", server.URL, "big")
	server.Close()
	got := durations.ReplaceAllString(s.log.String(), " TIME\n")
	same(t, "log", `GET "/pets" 200 TIME
DELETE "/pets/\nevil" 401 TIME
GET "/healthz" 200 TIME
GET "/pets" dropped TIME
`, got)
}
