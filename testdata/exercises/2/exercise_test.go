package main

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// patiently sends a request again for as long as the server tells it to wait and try again.
func patiently(ctx context.Context, send func() (*http.Response, error)) (*http.Response, error) {
	return send()
}

// A body is that of a response. It is finished when it is closed after it was read to the end.
type body struct {
	*strings.Reader
	sent, finished time.Time
}

func (b *body) Close() error {
	if b.Len() == 0 {
		b.finished = time.Now()
	}
	return nil
}

func TestPatiently(t *testing.T) {
	const end = 99*time.Hour + time.Millisecond // of the context, unless it is canceled
	for _, test := range []struct {
		rule       string
		retryAfter []string // of the responses; after them, send returns io.EOF
		err        error
		wait       time.Duration // in all
	}{
		{"waits a second", []string{"1", ""}, nil, time.Second},
		{"waits a day, twice", []string{"86400", "86400", ""}, nil, 48 * time.Hour},
		{"does not wait for 0", []string{"0", ""}, nil, 0},
		{"never gives up", append(slices.Repeat([]string{"1"}, 3600), ""), nil, time.Hour},
		{"returns one with a date", []string{"Tue, 01 Dec 2026 12:00:00 GMT"}, nil, 0},
		{"returns one with 1.5", []string{"1.5"}, nil, 0},
		{"returns one with +1", []string{"+1"}, nil, 0},
		{"returns one with -1", []string{"-1"}, nil, 0},
		{"returns one with 33 bits", []string{"4294967296"}, nil, 0},
		{"returns the error of send", []string{"1"}, io.EOF, time.Second},
		{"stops at its deadline", []string{"999999"}, context.DeadlineExceeded, end},
		{"stops when it is canceled", []string{"86400"}, context.Canceled, time.Millisecond},
	} {
		inFakeTime(t, test.rule, func(t *testing.T) {
			var bodies []*body
			send := func() (*http.Response, error) {
				i := len(bodies)
				if i == len(test.retryAfter) {
					return &http.Response{Body: http.NoBody}, io.EOF
				}
				bodies = append(bodies, &body{Reader: strings.NewReader("{}"), sent: time.Now()})
				header := http.Header{"Retry-After": {test.retryAfter[i]}}
				return &http.Response{StatusCode: 202 + i, Header: header, Body: bodies[i]}, nil
			}
			ctx, cancel := context.WithTimeoutCause(t.Context(), end, io.ErrNoProgress)
			defer cancel()
			if test.err == context.Canceled {
				time.AfterFunc(test.wait, cancel)
			}
			begin := time.Now()
			resp, err := patiently(ctx, send)
			waited := time.Since(begin)
			got, want := len(bodies), len(test.retryAfter)
			if err != test.err || (resp != nil) != (err == nil) || got != want ||
				waited < test.wait || waited > test.wait*11/10 {
				t.Fatalf("Retry-After was %.99q\n got %d responses in %v, returned one: %t, error: %v\n"+
					"want %d responses in %v, returned one: %t, error: %v", test.retryAfter[:min(want, 3)],
					got, waited, resp != nil, err, want, test.wait, test.err == nil, test.err)
			}
			for _, b := range bodies {
				if resp != nil && resp.Body == b { // the last one is for the caller
					equal(t, "bytes that were not read", b.Len(), 2)
				} else {
					equal(t, "read to its end, and closed, at", b.finished, b.sent)
				}
			}
		})
	}
}
