package main

import (
	"io"
	"net/http/httptest"
	"strings"
	"testing"
)

// BenchmarkHandler measures what a request costs without the network, with 1000 pets in memory.
func BenchmarkHandler(b *testing.B) {
	s := newService(b, Options{})
	for range 1000 {
		s.do("POST /pets", newKiwi)
	}
	for _, bench := range []struct{ name, method, target, body string }{
		{"get", "GET", "/pets/500", ""},
		{"list 100", "GET", "/pets?after=500&limit=100", ""},
		{"put", "PUT", "/pets/500", newKiwi},
	} {
		b.Run(bench.name, func(b *testing.B) {
			r := httptest.NewRequest(bench.method, bench.target, nil)
			r.Header.Set("Authorization", "Bearer big")
			w := httptest.NewRecorder()
			b.ReportAllocs()
			for b.Loop() {
				r.Body = io.NopCloser(strings.NewReader(bench.body))
				w.Body.Reset()
				s.ServeHTTP(w, r)
			}
			equal(b, "status", 200, w.Code)
		})
	}
}
