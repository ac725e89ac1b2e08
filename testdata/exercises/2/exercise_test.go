package main

import (
	"cmp"
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// An answer of the server has a Retry-After, or an empty one.
type answer struct {
	status     int
	retryAfter string
}

// A fakeServer gives its answers one by one, and then the error. It is the body of each, too.
type fakeServer struct {
	t       *testing.T
	answers []answer
	err     error
	last    time.Time     // the time of the last answer
	told    time.Duration // how long that said to wait
	*strings.Reader
	closed bool
}

func (f *fakeServer) Close() error {
	f.closed = f.Len() == 0 // if not, the connection cannot be used again
	return nil
}

func (f *fakeServer) send() (*http.Response, error) {
	if waited := time.Since(f.last); f.closed && (waited < f.told || waited > f.told*11/10) {
		f.t.Errorf("waited %v, was told %v", waited, f.told)
	}
	if f.Reader != nil && !f.closed {
		f.t.Error("the last body was not read to its end and closed")
	}
	if len(f.answers) == 0 {
		return nil, f.err
	}
	next := f.answers[0]
	f.answers, f.last = f.answers[1:], time.Now()
	f.Reader, f.closed = strings.NewReader("{}"), false
	f.told, _ = time.ParseDuration(next.retryAfter + "s")
	header := http.Header{"Retry-After": {next.retryAfter}}
	return &http.Response{StatusCode: next.status, Header: header, Body: f}, nil
}

func TestPatiently(t *testing.T) {
	for _, test := range []struct {
		rule    string
		answers []answer // the last one is to be returned
	}{
		{"waits as told", []answer{{429, "37"}, {503, "1"}, {403, "300"}, {200, ""}}},
		{"waits whatever the status", []answer{{202, "1"}, {301, "2"}, {413, "3"}, {200, ""}}},
		{"waits for a day", []answer{{429, "50000"}, {200, ""}}},
		{"never gives up", append(slices.Repeat([]answer{{503, "1"}}, 9999), answer{200, ""})},
		{"sends again at once after a 0", []answer{{503, "0"}, {200, ""}}},
		{"returns a 503 without Retry-After", []answer{{503, ""}}},
		{"returns a 429 without Retry-After", []answer{{429, "2"}, {429, ""}}},
		{"returns one with a date", []answer{{503, "Tue, 01 Dec 2026 12:00:00 GMT"}}},
		{"returns one with a fraction", []answer{{503, "1.5"}}},
		{"returns one with a sign", []answer{{503, "+1"}}},
		{"returns one with more than 32 bits", []answer{{429, "18446744073"}}},
	} {
		t.Run(test.rule, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // time passes at once here when everyone waits
				server := &fakeServer{t: t, answers: test.answers}
				resp, err := patiently(t.Context(), server.send)
				must(t, err)
				equal(t, "status", test.answers[len(test.answers)-1].status, resp.StatusCode)
				text, _ := io.ReadAll(resp.Body)
				equal(t, "body", "{}", string(text))
				equal(t, "answers that nobody asked for", 0, len(server.answers))
				equal(t, "wait after the last answer", time.Duration(0), time.Since(server.last))
			})
		})
	}
	for rule, stop := range map[string]time.Duration{
		"returns the error of send": 90 * time.Hour, "stops when the context does": time.Hour} {
		t.Run(rule, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), stop)
				defer cancel()
				server := &fakeServer{t: t, answers: []answer{{403, "80000"}}, err: io.EOF}
				resp, err := patiently(ctx, server.send)
				if resp != nil || err != cmp.Or(ctx.Err(), io.EOF) {
					t.Errorf("got the response %v and the error %v", resp, err)
				}
				equal(t, "returned after", min(stop, 80000*time.Second), time.Since(server.last))
				equal(t, "the last body is read and closed", true, server.closed)
			})
		})
	}
}
