package shop

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"shop/internal/petstore"
)

// TestNetworks sends the same requests over the network of docs/testing.md, which connect makes,
// and over the one of Go 1.27.
func TestNetworks(t *testing.T) {
	const second = time.Second
	json := func() io.Reader { return strings.NewReader(`{"name": "Birds"}`) }
	large := func() io.Reader { return strings.NewReader(strings.Repeat(" ", 100_000)) }
	broken := func() io.Reader { return io.MultiReader(json(), errorReader{}) }
	unsized := func() io.Reader { return io.MultiReader(json()) }
	none := func() io.Reader { return nil }
	for _, test := range []struct {
		rule            string
		options         petstore.Options
		method, target  string
		body            func() io.Reader
		timeout, cancel time.Duration // of the client and of the context; 0 for none
		want            string        // part of what the client sees
	}{
		{"a GET", petstore.Options{}, "GET", "/pets", none, 0, 0, `"name":"Clover"`},
		{"a HEAD", petstore.Options{}, "HEAD", "/pets", none, 0, 0, "Content-Length: 296\r\n"},
		{"no path", petstore.Options{}, "GET", "", none, 0, 0, "<!doctype html>"},
		{"an unclean path", petstore.Options{}, "GET", "//pets", none, 0, 0, "404 Not Found"},
		{"a query", petstore.Options{}, "GET", "/pets?limit=2", none, 0, 0, "Link: </pets?after=2"},
		{"a POST", petstore.Options{}, "POST", "/categories", json, 0, 0, "201 Created"},
		{"a nil body", petstore.Options{}, "POST", "/categories", none, 0, 0, "malformed_json"},
		{"a body without a length", petstore.Options{}, "POST", "/categories", unsized, 0, 0,
			"201 Created"},
		{"a body that is too large", petstore.Options{}, "POST", "/categories", large, 0, 0,
			"payload_too_large"},
		{"a body that cannot be read", petstore.Options{}, "POST", "/categories", broken, 0, 0,
			"broken body"},
		{"a body that the handler does not read", petstore.Options{Fail: "1/2"}, "POST",
			"/categories", json, 0, 0, "malformed_json"},
		{"no content", petstore.Options{}, "DELETE", "/pets/5", none, 0, 0, "204 No Content"},
		{"a lost response", petstore.Options{Drop: "1/1"}, "POST", "/categories", json, 0, 0,
			"EOF"},
		{"a lost response of a GET", petstore.Options{Drop: "1/2"}, "GET", "/pets", none, 0, 0,
			"EOF"},
		{"a late response", petstore.Options{Delay: 8 * second}, "GET", "/pets", none, 0, 0,
			"after 8s"},
		{"a client's timeout", petstore.Options{Delay: 8 * second}, "POST", "/categories", json,
			second, 0, "deadline exceeded after 1s"},
		{"a timeout, then none", petstore.Options{Delay: 8 * second, Slow: "1/2"}, "GET", "/pets",
			none, second, 0, "deadline exceeded after 1s"},
		{"a cancelled context", petstore.Options{Delay: 8 * second}, "GET", "/pets", none, 0,
			second, "context canceled after 1s"},
	} {
		t.Run(test.rule, func(t *testing.T) {
			var seen [2]string
			for i, connect := range []func(*testing.T, http.Handler) http.RoundTripper{
				connect,
				func(t *testing.T, handler http.Handler) http.RoundTripper {
					return httptest.NewTestServer(t, handler).Client().Transport
				},
			} {
				synctest.Test(t, func(t *testing.T) {
					server, err := petstore.New(test.options)
					if err != nil {
						t.Fatal(err)
					}
					client := &http.Client{Transport: connect(t, server), Timeout: test.timeout}
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					if test.cancel > 0 {
						time.AfterFunc(test.cancel, cancel)
					}
					body := test.body()
					for range 2 { // the second time, the body has been read
						r, err := http.NewRequestWithContext(ctx, test.method,
							"http://petstore"+test.target, body)
						if err != nil {
							t.Fatal(err)
						}
						r.Header.Set("X-API-Key", "demo-free")
						seen[i] += exchange(client, r)
					}
				})
			}
			if seen[0] != seen[1] {
				t.Errorf("over the network of docs/testing.md:\n%s\nover the one of Go:\n%s",
					seen[0], seen[1])
			}
			if !strings.Contains(seen[1], test.want) {
				t.Errorf("no %q in\n%s", test.want, seen[1])
			}
		})
	}
}

// exchange returns what a client sees of a request: the whole response or the error, and when.
func exchange(client *http.Client, r *http.Request) string {
	begin := time.Now()
	resp, err := client.Do(r)
	if err != nil {
		return fmt.Sprintf("%v after %v\n", err, time.Since(begin))
	}
	defer resp.Body.Close()
	dump, err := httputil.DumpResponse(resp, true)
	return fmt.Sprintf("%s\nlength %d, error %v, after %v\n", dump, resp.ContentLength, err,
		time.Since(begin))
}

type errorReader struct{}

func (errorReader) Read([]byte) (int, error) { return 0, fmt.Errorf("broken body") }
