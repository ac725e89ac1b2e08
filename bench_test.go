package main

import (
	"fmt"
	"io"
	"math"
	"net/http/httptest"
	"strings"
	"testing"
)

// BenchmarkReadAndSave measures what requests cost without the network, for two sizes of the file.
func BenchmarkReadAndSave(b *testing.B) {
	for _, pets := range []int{1000, 100_000} {
		list := make([]string, pets)
		for i := range list {
			list[i] = fmt.Sprintf(`{"id":%d,"name":"Kiwi","categoryId":1}`, i+1)
		}
		file := writeFile(b, freshPath(b), `{"categories":[{"id":1,"name":"Dogs"}],"pets":[`+
			strings.Join(list, ",")+"]}")
		s := newService(b, Options{Data: file, Keys: keysFile(b, math.MaxInt32, math.MaxInt32)})
		for _, request := range []string{"GET /pets/500", "GET /pets?limit=100", "PUT /pets/500"} {
			b.Run(fmt.Sprint(pets, " pets, ", request), func(b *testing.B) {
				method, target, _ := strings.Cut(request, " ")
				r := httptest.NewRequest(method, target, nil)
				r.Header.Set("X-API-Key", "demo-enterprise")
				w := httptest.NewRecorder()
				b.ReportAllocs()
				for b.Loop() {
					r.Body = io.NopCloser(strings.NewReader(newKiwi))
					w.Body.Reset()
					s.ServeHTTP(w, r)
				}
				equal(b, "status", 200, w.Code)
			})
		}
	}
}
