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
	const timeout = 99*time.Hour + time.Millisecond // of the context
	for rule, test := range map[string]struct {
		wait       time.Duration // in all
		err        error
		retryAfter []string // of the responses; after them, send returns io.EOF
	}{
		"waits a second":            {time.Second, nil, []string{"1", ""}},
		"waits a day":               {24 * time.Hour, nil, []string{"86400", ""}},
		"does not wait for 0":       {0, nil, []string{"0", ""}},
		"never gives up":            {time.Hour, nil, append(slices.Repeat([]string{"1"}, 3600), "")},
		"returns one with a date":   {0, nil, []string{"Tue, 01 Dec 2026 12:00:00 GMT"}},
		"returns one with 1.5":      {0, nil, []string{"1.5"}},
		"returns one with +1":       {0, nil, []string{"+1"}},
		"returns one with -1":       {0, nil, []string{"-1"}},
		"returns one with 33 bits":  {0, nil, []string{"4294967296"}},
		"returns the error of send": {time.Second, io.EOF, []string{"1"}},
		"heeds its context":         {timeout, context.DeadlineExceeded, []string{"999999"}},
	} {
		inFakeTime(t, rule, func(t *testing.T) {
			var bodies []*body
			send := func() (*http.Response, error) {
				i := len(bodies)
				if i == len(test.retryAfter) {
					return nil, io.EOF
				}
				bodies = append(bodies, &body{Reader: strings.NewReader("{}"), sent: time.Now()})
				return &http.Response{
					StatusCode: []int{202, 503}[i%2], // it does not matter
					Header:     http.Header{"Retry-After": {test.retryAfter[i]}},
					Body:       bodies[i],
				}, nil
			}
			ctx, cancel := context.WithTimeout(t.Context(), timeout)
			defer cancel()
			begin := time.Now()
			resp, err := patiently(ctx, send)
			waited := time.Since(begin)
			if waited < test.wait || waited > min(test.wait*11/10, timeout) {
				t.Errorf("waited %v, want %v", waited, test.wait)
			}
			if err != test.err || err != nil && resp != nil {
				t.Errorf("returned %v and the error %v, want %v", resp, err, test.err)
			}
			equal(t, "responses", len(bodies), len(test.retryAfter))
			if resp != nil { // the last body is for the caller
				text, _ := io.ReadAll(resp.Body)
				equal(t, "body", string(text), "{}")
				bodies = bodies[:len(bodies)-1]
			}
			for _, b := range bodies {
				equal(t, "finished", b.finished, b.sent)
			}
		})
	}
}
