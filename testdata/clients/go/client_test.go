package shop

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"shop/internal/petstore"
)

// serve returns a client of a new server, and the count of the requests that the server gets.
func serve(t *testing.T, options petstore.Options) (*Client, *atomic.Int64) {
	server, err := petstore.New(options)
	if err != nil {
		t.Fatal(err)
	}
	requests := new(atomic.Int64)
	counting := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		server.ServeHTTP(w, r)
	})
	return NewClient(httptest.NewTestServer(t, counting).Client().Transport), requests
}

func TestCall(t *testing.T) {
	type faults = petstore.Options
	const second = time.Second
	late := faults{Delay: 8 * second}
	lateOnce := faults{Delay: 8 * second, Slow: "1/2"}
	for _, test := range []struct {
		rule         string
		faults       petstore.Options
		method, path string
		succeeds     bool
		requests     int64
		waits        time.Duration // at least
	}{
		{"waits after two 503s", faults{Fail: "2/3"}, "POST", "/categories", true, 3, 2 * second},
		{"gives up in the end", faults{Fail: "1/1"}, "GET", "/pets", false, 5, 4 * second},
		{"retries a lost GET", faults{Drop: "1/2"}, "GET", "/pets", true, 2, 0},
		{"does not retry a lost POST", faults{Drop: "1/2"}, "POST", "/categories", false, 1, 0},
		{"retries a timed-out GET", lateOnce, "GET", "/pets", true, 2, 0},
		{"does not retry a timed-out POST", late, "POST", "/categories", false, 1, 0},
		{"does not retry a 404", faults{}, "GET", "/pets/99", false, 1, 0},
		{"does not retry a 409", faults{}, "DELETE", "/categories/1", false, 1, 0},
	} {
		t.Run(test.rule, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // in fake time
				client, requests := serve(t, test.faults)
				begin := time.Now()
				_, _, err := client.Call(t.Context(), test.method, test.path, `{"name": "Birds"}`)
				n, waited := requests.Load(), time.Since(begin)
				if (err == nil) != test.succeeds || n != test.requests || waited < test.waits {
					t.Errorf("%d requests in %v, error: %v", n, waited, err)
				}
			})
		})
	}
}

func TestTwoDays(t *testing.T) { // a call with an hour left does not wait for the third
	synctest.Test(t, func(t *testing.T) {
		client, requests := serve(t, petstore.Options{})
		begin := time.Now()
		for range 2000 {
			if _, _, err := client.Call(t.Context(), "GET", "/pets", ""); err != nil {
				t.Fatal(err)
			}
		}
		t.Logf("%v, %d requests", time.Since(begin), requests.Load())
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		_, _, err := client.Call(ctx, "GET", "/pets", "")
		if err == nil || ctx.Err() != nil {
			t.Errorf("with an hour left: %v", err)
		}
	})
}

func TestBan(t *testing.T) { // the key is banned by a client that does not wait
	synctest.Test(t, func(t *testing.T) {
		client, _ := serve(t, petstore.Options{})
		for range 200 {
			client.Send(t.Context(), "GET", "/pets", "")
			time.Sleep(time.Second / 10)
		}
		begin := time.Now()
		_, _, err := client.Call(t.Context(), "GET", "/pets", "")
		if waited := time.Since(begin); err != nil || waited < 4*time.Minute {
			t.Errorf("waited %v for the end of the ban, error: %v", waited, err)
		}
	})
}

func TestCancel(t *testing.T) { // during the wait after a 503
	synctest.Test(t, func(t *testing.T) {
		client, _ := serve(t, petstore.Options{Fail: "1/1"})
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second/2, cancel)
		begin := time.Now()
		_, _, err := client.Call(ctx, "GET", "/pets", "")
		if waited := time.Since(begin); err == nil || waited > time.Second/2 {
			t.Errorf("waited %v, error: %v", waited, err)
		}
	})
}

func TestOwnRecords(t *testing.T) { // on nine pages
	synctest.Test(t, func(t *testing.T) {
		client, _ := serve(t, petstore.Options{Sample: "zoo.json"})
		pets, err := client.Pets(t.Context(), "/pets?limit=1")
		if err != nil || len(pets) != 9 || pets[1] != (Pet{2, "Dvořák"}) {
			t.Errorf("pets: %v, error: %v", pets, err)
		}
	})
}
