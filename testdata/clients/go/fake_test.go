//go:build go1.27

package shop

import (
	"net/http/httptest"
	"testing/synctest"
	"time"
)

func init() {
	minute, later, tries = time.Minute, time.Hour, []int{7, 100}
	inTime = synctest.Test
	isWait = func(got, want time.Duration) bool { return got == want }
	newServer = httptest.NewTestServer // with a network in memory
}
