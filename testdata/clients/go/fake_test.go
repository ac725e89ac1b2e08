//go:build go1.27

package shop

import (
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"shop/internal/petstore"
)

func init() {
	minute, later, tries = time.Minute, time.Hour, 100
	calls, duration = 2001, 48*time.Hour // a thousand a day
	inTime = synctest.Test
	isWait = func(got, want time.Duration) bool { return got == want }
	newServer = httptest.NewTestServer // with a network in memory
}

func TestDefaults(t *testing.T) {
	row(t, "the defaults end a call to a server that stalls", petstore.Options{}, func(s *service) {
		s.client = NewClient(s.url, "plenty")
		s.client.HTTP.Transport = s.transport
		waits := []time.Duration{0, 11 * second / 2, 6 * second, 7 * second, 9 * second, 5 * second}
		s.given("stalls").call("GET /pets", "no response", waits...)
		s.given("429 600", "200 []").call("GET /pets", "done", 0, 10*minute, 0)
		s.given("429 601").call("GET /pets", "429 ", 0, 0)
	})
}
