// Package shop has a client of the Petstore API, which passes the tests beside it.
package shop

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// A Client may be used by several goroutines at once.
type Client struct {
	BaseURL string // such as http://localhost:8080
	Key     string
	HTTP    *http.Client  // its Timeout is that of each try
	Tries   int           // how often a request is sent, at most
	Backoff time.Duration // the wait after a first try without a response; then it doubles
	MaxWait time.Duration // no wait is longer: if the server asks for more, the call fails
}

func NewClient(baseURL, key string) *Client {
	return &Client{BaseURL: baseURL, Key: key, HTTP: &http.Client{Timeout: 5 * time.Second},
		Tries: 5, Backoff: time.Second / 2, MaxWait: 10 * time.Minute}
}

// An APIError is a response that is an error, or is not JSON.
type APIError struct {
	Status     int    `json:"-"`
	Code       string // empty if the response is not the API's, but a proxy's, say
	Message    string
	RetryAfter time.Duration `json:"-"` // 0 if the server does not ask for a wait
}

func (e *APIError) Error() string { return fmt.Sprintf("%d %s: %s", e.Status, e.Code, e.Message) }

// Call sends a request, again if need be, and returns the JSON of the response and its header. An
// error that is not an APIError means that there was no response.
func (c *Client) Call(ctx context.Context, method, path string, body []byte) (
	[]byte, http.Header, error) {
	unsure := false // whether an earlier try was carried out
	for try := 1; ; try++ {
		content, header, err := c.send(ctx, method, path, body)
		if err == nil {
			return content, header, nil
		}
		apiErr, _ := errors.AsType[*APIError](err)
		if unsure && method == "DELETE" && apiErr != nil && apiErr.Status == http.StatusNotFound {
			return nil, header, nil // an earlier try has deleted it
		}
		unsure = unsure || apiErr == nil || apiErr.Status >= 500 && apiErr.RetryAfter == 0
		wait, again := c.wait(method, try, apiErr)
		if !again {
			return nil, nil, err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil, nil, fmt.Errorf("%w after %w", ctx.Err(), err)
		}
	}
}

// wait decides whether to send a request again, and how long to wait first. The error is nil if
// there was no response.
func (c *Client) wait(method string, try int, err *APIError) (wait time.Duration, again bool) {
	switch {
	case try >= c.Tries:
		return 0, false
	case err != nil && err.RetryAfter > 0: // the request was not carried out
		return err.RetryAfter, err.RetryAfter <= c.MaxWait
	case method == "POST" || method == "PATCH": // the request may have been carried out
		return 0, false
	}
	wait = c.Backoff
	for range try - 1 {
		wait = min(2*wait, c.MaxWait)
	}
	return wait, err == nil || err.Status >= 500
}

// send sends a request once.
func (c *Client) send(ctx context.Context, method, path string, body []byte) (
	[]byte, http.Header, error) {
	address := strings.TrimSuffix(c.BaseURL, "/") + path
	r, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	r.Header.Set("Authorization", "Bearer "+c.Key)
	r.Header.Set("Content-Type", "application/json")
	resp, err := c.HTTP.Do(r)
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close()
	content, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, nil, fmt.Errorf("%s %s: %w", method, path, err)
	}
	if resp.StatusCode == 204 || resp.StatusCode < 300 && json.Valid(content) {
		return content, resp.Header, nil
	}
	apiErr := &APIError{Status: resp.StatusCode, Message: "The response is not the API's."}
	json.Unmarshal(content, apiErr) // changes nothing if that is not JSON
	// Of a number beyond 31 bits, this returns the largest, and 0 of what is not a number.
	seconds, _ := strconv.ParseUint(resp.Header.Get("Retry-After"), 10, 31)
	apiErr.RetryAfter = time.Duration(seconds) * time.Second
	return nil, resp.Header, apiErr
}

type Pet struct {
	ID   int64
	Name string
}

var nextLink = regexp.MustCompile(`<([^>]*)>; rel="next"`)

// Pets returns the pets on all pages.
func (c *Client) Pets(ctx context.Context, filter url.Values) (pets []Pet, err error) {
	for next := []string{"", "/pets?" + filter.Encode()}; next != nil; {
		content, header, err := c.Call(ctx, "GET", next[1], nil)
		if err != nil {
			return nil, err
		}
		var page []Pet
		if err := json.Unmarshal(content, &page); err != nil {
			return nil, err
		}
		pets = append(pets, page...)
		next = nextLink.FindStringSubmatch(header.Get("Link"))
	}
	return pets, nil
}
