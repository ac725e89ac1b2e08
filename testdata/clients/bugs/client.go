// The client of docs/testing.md with the bug that BUG names, or without one.
package shop

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	correct "shop/correct"
)

var bug = os.Getenv("BUG")

type Client struct{ *correct.Client }

type Pet = correct.Pet

func NewClient(transport http.RoundTripper) *Client {
	client := correct.NewClient(&buggy{RoundTripper: transport})
	if bug == "no timeout" {
		client.Timeout = 0
	}
	return &Client{client}
}

func (c *Client) Call(ctx context.Context, method, path, body string) (
	*http.Response, []byte, error) {
	switch bug {
	case "a day is waited for":
		ctx = noDeadline{ctx}
	case "a wait outlives its context":
		ctx = context.WithoutCancel(ctx)
	}
	resp, content, err := c.Client.Call(ctx, method, path, body)
	if bug == "too many tries" && err != nil {
		return c.Client.Call(ctx, method, path, body)
	}
	return resp, content, err
}

// A noDeadline ends as its context does, but does not tell when.
type noDeadline struct{ context.Context }

func (noDeadline) Deadline() (time.Time, bool) { return time.Time{}, false }

// A buggy transport shows the correct client what makes it behave like one with the bug.
type buggy struct {
	http.RoundTripper
	try int
}

func (b *buggy) RoundTrip(r *http.Request) (*http.Response, error) {
	b.try++
	if bug == "no body in a retry" && b.try > 1 {
		r.Body = http.NoBody
	}
	begin := time.Now()
	resp, err := b.RoundTripper.RoundTrip(r)
	outcome := "a lost " + r.Method
	switch {
	case err == nil:
		outcome = fmt.Sprint("a ", resp.StatusCode)
	case time.Since(begin) > time.Second:
		outcome = "a timed-out " + r.Method
	}
	if err != nil && !strings.HasPrefix(bug, outcome) {
		return nil, err
	}
	if err != nil {
		resp = &http.Response{StatusCode: 502, Header: http.Header{}, Body: http.NoBody}
	}
	wait := resp.Header.Get("Retry-After")
	switch {
	case bug == outcome+" is final", bug == "only one retry" && b.try == 2:
		wait = ""
	case bug == outcome+" is retried", bug == "Retry-After is ignored" && wait != "":
		wait = "0"
	case bug == "no wait longer than a minute" && len(wait) > 2:
		wait = "60"
	case bug == "an error is no error" && wait == "",
		bug == "the last error is no error" && b.try == 5:
		resp.StatusCode = 200
	case bug == "no next page":
		resp.Header.Del("Link")
	}
	resp.Header.Set("Retry-After", wait)
	return resp, nil
}
