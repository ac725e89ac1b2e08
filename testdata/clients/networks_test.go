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
	const json = `{"name": "Birds"}`
	none, late := petstore.Options{}, petstore.Options{Delay: 8 * time.Second}
	for _, test := range []struct {
		rule                 string
		options              petstore.Options
		method, target, body string
		timeout, cancel      time.Duration // of the client and of the context; 0 for none
		want                 string        // part of what the client sees
	}{
		{"no path", none, "GET", "", "", 0, 0, "<!doctype html>"},
		{"a HEAD", none, "HEAD", "/pets", "", 0, 0, "Content-Length: 296\r\n"},
		{"a nil body", none, "POST", "/categories", "", 0, 0, "malformed_json"},
		{"a body", none, "POST", "/categories", json, 0, 0, "201 Created"},
		{"a body that the handler does not read", petstore.Options{Fail: "1/2"}, "POST",
			"/categories", json, 0, 0, "malformed_json"},
		{"a lost response", petstore.Options{Drop: "1/2"}, "GET", "/pets", "", 0, 0, "EOF"},
		{"a timeout", late, "GET", "/pets", "", time.Second, 0, "deadline exceeded after 1s"},
		{"a cancelled context", late, "GET", "/pets", "", 0, time.Second, "canceled after 1s"},
	} {
		t.Run(test.rule, func(t *testing.T) {
			over := func(connect func(*testing.T, http.Handler) http.RoundTripper) (seen string) {
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
					var body io.Reader
					if test.body != "" {
						body = strings.NewReader(test.body)
					}
					for range 2 { // the second time, the body has been read
						r, _ := http.NewRequestWithContext(ctx, test.method,
							"http://petstore"+test.target, body)
						r.Header.Set("X-API-Key", "demo-free")
						begin := time.Now()
						resp, err := client.Do(r)
						var dump []byte
						if err == nil {
							dump, err = httputil.DumpResponse(resp, true)
							resp.Body.Close()
						}
						seen += fmt.Sprintf("%s%v after %v\n", dump, err, time.Since(begin))
					}
				})
				return seen
			}
			docs, want := over(connect), over(func(t *testing.T, h http.Handler) http.RoundTripper {
				return httptest.NewTestServer(t, h).Client().Transport
			})
			if docs != want || !strings.Contains(want, test.want) {
				t.Errorf("no %q, or not the same:\n%s\nand over Go's:\n%s", test.want, docs, want)
			}
		})
	}
}
