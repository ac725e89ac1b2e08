package main

import (
	"cmp"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A fakeServer sends a response for each of these values of Retry-After. It is the body of each.
type fakeServer struct {
	t            *testing.T
	status       int
	retryAfter   []string
	told         time.Duration // how long to wait after the last response
	sent, closed time.Time     // when it was sent, and when its body was closed
	*strings.Reader
}

func (f *fakeServer) Close() error {
	equal(f.t, "bytes of the body that were not read", 0, f.Len())
	f.closed = time.Now()
	return nil
}

func (f *fakeServer) send() (*http.Response, error) {
	waited := time.Since(f.sent)
	if f.Reader != nil && (!f.closed.Equal(f.sent) || waited < f.told || waited > f.told*11/10) {
		f.t.Errorf("waited %v, was told %v; closed the body at %v", waited, f.told, f.closed)
	}
	if len(f.retryAfter) == 0 {
		return nil, io.EOF
	}
	header := http.Header{"Retry-After": f.retryAfter[:1]}
	f.told, _ = time.ParseDuration(f.retryAfter[0] + "s")
	f.retryAfter, f.sent, f.Reader = f.retryAfter[1:], time.Now(), strings.NewReader("{}")
	return &http.Response{StatusCode: f.status, Header: header, Body: f}, nil
}

func TestPatiently(t *testing.T) {
	for rule, retryAfter := range map[string][]string{
		"waits as told, and returns one without Retry-After": {"37", "1", "300", "50000", ""},
		"never gives up":                     strings.Split(strings.Repeat("1,", 9999), ","),
		"sends again at once after a 0":      {"0", ""},
		"returns one with a date":            {"Tue, 01 Dec 2026 12:00:00 GMT"},
		"returns one with a fraction":        {"1.5"},
		"returns one with a sign":            {"+1"},
		"returns one with more than 32 bits": {"18446744073"},
	} {
		t.Run(rule, func(t *testing.T) {
			for _, status := range []int{202, 503} {
				synctest.Test(t, func(t *testing.T) { // in which time passes when everyone waits
					server := &fakeServer{t: t, status: status, retryAfter: retryAfter}
					resp, err := patiently(t.Context(), server.send)
					must(t, err)
					text, _ := io.ReadAll(resp.Body)
					equal(t, "body", "{}", string(text))
					equal(t, "responses that are left", 0, len(server.retryAfter))
					equal(t, "wait after the last", time.Duration(0), time.Since(server.sent))
				})
			}
		})
	}
	for rule, timeout := range map[string]time.Duration{
		"returns the error of send": 90 * time.Hour, "stops when the context does": time.Hour} {
		t.Run(rule, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), timeout)
				defer cancel()
				server := &fakeServer{t: t, retryAfter: []string{"80000"}}
				resp, err := patiently(ctx, server.send)
				waited := time.Since(server.sent)
				if resp != nil || err != cmp.Or(ctx.Err(), io.EOF) || waited > timeout {
					t.Errorf("after %v, got the response %v and the error %v", waited, resp, err)
				}
				equal(t, "body closed after", time.Duration(0), server.closed.Sub(server.sent))
			})
		})
	}
}
