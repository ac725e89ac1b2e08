package main

import (
	"fmt"
	"io"
	"math"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
)

// BenchmarkHandler measures what a request costs without the network, with 1000 pets in memory.
func BenchmarkHandler(b *testing.B) {
	s := newService(b, Options{Keys: keysFile(b, math.MaxInt32, math.MaxInt32)})
	for range 1000 {
		s.do("POST /pets", newKiwi)
	}
	for _, bench := range []struct{ name, method, target, body string }{
		{"get", "GET", "/pets/500", ""},
		{"list 100", "GET", "/pets?after=500&limit=100", ""},
		{"put", "PUT", "/pets/500", newKiwi},
	} {
		b.Run(bench.name, func(b *testing.B) {
			s.repeat(b, bench.method, bench.target, bench.body)
		})
	}
}

// BenchmarkSave measures what a PUT costs with a data file, for files of two sizes, and how much
// memory the records take.
func BenchmarkSave(b *testing.B) {
	for _, pets := range []int{1000, 100_000} {
		b.Run(fmt.Sprint(pets, " pets"), func(b *testing.B) {
			file := strings.Builder{}
			file.WriteString(`{"categories":[{"id":1,"name":"Dogs"}],"pets":[{"id":1,`)
			for id := 2; id <= pets; id++ {
				fmt.Fprintf(&file, `"name":"Kiwi","categoryId":1},{"id":%d,`, id)
			}
			file.WriteString(`"name":"Kiwi","categoryId":1}]}`)
			s := newService(b, Options{
				Data: writeFile(b, freshPath(b), file.String()),
				Keys: keysFile(b, math.MaxInt32, math.MaxInt32),
			})
			file.Reset()
			var memory runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&memory)
			s.repeat(b, "PUT", "/pets/500", newKiwi)
			b.ReportMetric(float64(memory.HeapAlloc)/1e6, "heap-MB")
		})
	}
}

func (s *service) repeat(b *testing.B, method, target, body string) {
	r := httptest.NewRequest(method, target, nil)
	r.Header.Set("Authorization", "Bearer demo-enterprise")
	w := httptest.NewRecorder()
	b.ReportAllocs()
	for b.Loop() {
		r.Body = io.NopCloser(strings.NewReader(body))
		w.Body.Reset()
		s.ServeHTTP(w, r)
	}
	equal(b, "status", 200, w.Code)
}
