// A client that passes the tests beside it.
package shop

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

type Client struct{ http.Client }

func NewClient(transport http.RoundTripper) *Client {
	return &Client{http.Client{Transport: transport, Timeout: 5 * time.Second}}
}

// Call sends a request up to five times. It retries if the response has a Retry-After, or if there
// is no response and the method is idempotent. It never waits beyond the deadline of ctx.
func (c *Client) Call(ctx context.Context, method, path, body string) (
	*http.Response, []byte, error) {
	for try := 1; ; try++ {
		resp, content, err := c.Send(ctx, method, path, body)
		wait := time.Second << try
		switch {
		case err == nil && resp.StatusCode < 300:
			return resp, content, nil
		case err == nil:
			err = fmt.Errorf("%s %s: %s", method, path, resp.Status)
			seconds, noNumber := strconv.Atoi(resp.Header.Get("Retry-After"))
			if noNumber != nil {
				return nil, nil, err
			}
			wait = time.Duration(seconds) * time.Second
		case method == "POST" || method == "PATCH": // may have been carried out
			return nil, nil, err
		}
		if deadline, ok := ctx.Deadline(); try == 5 || ok && time.Until(deadline) < wait {
			return nil, nil, err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		}
	}
}

func (c *Client) Send(ctx context.Context, method, path, body string) (
	*http.Response, []byte, error) {
	r, err := http.NewRequestWithContext(ctx, method, "http://petstore"+path,
		strings.NewReader(body))
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

// Pets returns the pets on a page and on the pages after it.
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
		pets = append(pets, page...)
		next = regexp.MustCompile(`<(.*)>; rel="next"`).FindStringSubmatch(resp.Header.Get("Link"))
	}
	return pets, nil
}
