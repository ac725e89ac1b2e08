package main

import (
	"fmt"
	"math"
	"net/http/httptest"
	"strings"
	"testing"
)

// BenchmarkRequest measures what requests cost without the network, with and without a data file.
func BenchmarkRequest(b *testing.B) {
	keys := keysFile(b, math.MaxInt32, math.MaxInt32)
	for _, test := range []struct {
		name, method, target string
		pets                 int
		data                 string
	}{
		{"get", "GET", "/pets/500", 1000, ""},
		{"list 100", "GET", "/pets?after=500&limit=100", 1000, ""},
		{"put", "PUT", "/pets/500", 1000, ""},
		{"save 1000", "PUT", "/pets/500", 1000, freshPath(b)},
		{"save 100000", "PUT", "/pets/500", 100_000, freshPath(b)},
	} {
		list := make([]string, test.pets)
		for i := range list {
			list[i] = fmt.Sprintf(`{"id":%d,"name":"Kiwi","categoryId":1}`, i+1)
		}
		sample := writeFile(b, freshPath(b), `{"categories":[{"id":1,"name":"Dogs"}],"pets":[`+
			strings.Join(list, ",")+"]}")
		s := newService(b, Options{Data: test.data, Sample: sample, Keys: keys})
		b.Run(test.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				r := httptest.NewRequest(test.method, test.target, strings.NewReader(newKiwi))
				r.Header.Set("Authorization", "Bearer "+testKey)
				w := httptest.NewRecorder()
				s.ServeHTTP(w, r)
				if w.Code != 200 {
					b.Fatalf("status %d", w.Code)
				}
			}
		})
	}
}
