package shop

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// This is the client of docs/testing.md with the bug that BUG names, or without one.
func has(bug string) bool { return os.Getenv("BUG") == bug }

type Client struct{ http.Client }

func NewClient(transport http.RoundTripper) *Client {
	if has("no timeout") {
		return &Client{http.Client{Transport: transport}}
	}
	return &Client{http.Client{Transport: transport, Timeout: 5 * time.Second}}
}

func (c *Client) Call(ctx context.Context, method, path, body string) (
	*http.Response, []byte, error) {
	if has("one timeout for all tries") {
		within, cancel := context.WithTimeout(ctx, c.Timeout)
		defer cancel()
		ctx = within
	}
	reader := strings.NewReader(body)
	for try := 1; ; try++ {
		if !has("no body in a retry") {
			reader = strings.NewReader(body)
		}
		resp, content, err := c.sendReader(ctx, method, path, reader)
		wait := time.Second << try
		switch {
		case err == nil && resp.StatusCode < 300:
			return resp, content, nil
		case err == nil:
			err = fmt.Errorf("%s %s: %s", method, path, resp.Status)
			seconds, noNumber := strconv.Atoi(resp.Header.Get("Retry-After"))
			if has(fmt.Sprintf("a %d is final", resp.StatusCode)) {
				return nil, nil, err
			}
			if has(fmt.Sprintf("a %d is retried", resp.StatusCode)) {
				seconds, noNumber = 1, nil
			}
			if noNumber != nil {
				if has("an error is no error") {
					err = nil
				}
				return nil, nil, err
			}
			wait = time.Duration(seconds) * time.Second
			switch {
			case has("Retry-After in milliseconds"):
				wait /= 1000
			case has("Retry-After is ignored"):
				wait = time.Second << try / 4
			case has("no wait longer than a minute"):
				wait = min(wait, time.Minute)
			}
		case has("a lost GET is not retried") && !os.IsTimeout(err),
			has("a timed-out GET is not retried") && os.IsTimeout(err):
			return nil, nil, err
		case has("a lost POST is retried") && !os.IsTimeout(err),
			has("a timed-out POST is retried") && os.IsTimeout(err):
		case method == "POST" || method == "PATCH":
			return nil, nil, err
		}
		last := try == 5 && !has("no end of tries") || try == 2 && has("only one retry")
		deadline, ok := ctx.Deadline()
		late := ok && time.Until(deadline) < wait && !has("a day is waited for")
		if last || late {
			if has("the last error is no error") {
				err = nil
			}
			return nil, nil, err
		}
		if has("a wait outlives its context") {
			time.Sleep(wait)
			continue
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		}
	}
}

func (c *Client) send(ctx context.Context, method, path, body string) (
	*http.Response, []byte, error) {
	return c.sendReader(ctx, method, path, strings.NewReader(body))
}

func (c *Client) sendReader(ctx context.Context, method, path string, body io.Reader) (
	*http.Response, []byte, error) {
	r, err := http.NewRequestWithContext(ctx, method, "http://petstore"+path, body)
	if err != nil {
		return nil, nil, err
	}
	r.Header.Set("X-API-Key", "demo-free")
	resp, err := c.Do(r)
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close()
	content, err := io.ReadAll(resp.Body)
	return resp, content, err
}

type Pet struct {
	ID   int64
	Name string
}

func (c *Client) Pets(ctx context.Context, path string) (pets []Pet, err error) {
	for next := []string{"", path}; next != nil; {
		resp, content, err := c.Call(ctx, "GET", next[1], "")
		if err != nil {
			return nil, err
		}
		var page []Pet
		if err := json.Unmarshal(content, &page); err != nil {
			return nil, err
		}
		if has("ids of 32 bits") {
			for i := range page {
				page[i].ID = int64(int32(page[i].ID))
			}
		}
		pets = append(pets, page...)
		next = regexp.MustCompile(`<(.*)>; rel="next"`).FindStringSubmatch(resp.Header.Get("Link"))
		if has("no next page") {
			break
		}
	}
	return pets, nil
}
