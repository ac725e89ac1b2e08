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
	minute, later, tries = time.Minute, time.Hour, []int{7, 100}
	inTime = synctest.Test
	isWait = func(got, want time.Duration) bool { return got == want }
	newServer = httptest.NewTestServer // with a network in memory
}

// A client lives through two days of a Free plan, of 1000 requests each.
func TestTwoDays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		handler, err := petstore.New(petstore.Options{})
		if err != nil {
			t.Fatal(err)
		}
		server, begin := httptest.NewTestServer(t, handler), time.Now()
		transport := server.Client().Transport // which sets the URL
		c := newClient(server.URL, "demo-free", transport, 5, 24*time.Hour)
		for i := range 2001 {
			if got := call(t.Context(), c, "GET", "/pets?after=5", ""); got != "done []\n" {
				t.Fatalf("request %d: %q", i, got)
			}
		}
		if took := time.Since(begin); took != 48*time.Hour {
			t.Errorf("2001 requests took %v", took)
		}
	})
}
