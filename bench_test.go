package main

import (
	"fmt"
	"io"
	"net/http/httptest"
	"strings"
	"testing"
)

// serviceOfPets returns a service that keeps nothing on disk, with n pets in one category.
func serviceOfPets(b *testing.B, n int64) *service {
	b.Helper()
	st, err := parse([]byte(`{"categories":[{"id":1,"name":"Dogs"}]}`))
	must(b, err)
	for id := int64(1); id <= n; id++ {
		pet := Pet{ID: id, Name: fmt.Sprint("Pet number ", id), CategoryID: 1, Status: "available"}
		must(b, st.loadPet(storedPet{Pet: pet, Quantity: id % 100}))
	}
	s := newService(b, "")
	s.store.current.Store(st)
	return s
}

// A discard is a ResponseWriter that costs nothing, and keeps the greatest status.
type discard struct{ *httptest.ResponseRecorder }

func (d discard) Write(p []byte) (int, error) { return len(p), nil }
func (d discard) WriteHeader(status int)      { d.Code = max(d.Code, status) }

// measure sends a request, such as "GET /pets", to the handler again and again.
func (s *service) measure(b *testing.B, request, body string) {
	b.Helper()
	method, target, _ := strings.Cut(request, " ")
	r := httptest.NewRequest(method, target, nil)
	r.Header.Set("Authorization", "Bearer big")
	w := discard{httptest.NewRecorder()}
	b.ReportAllocs()
	for b.Loop() {
		r.Body = io.NopCloser(strings.NewReader(body))
		clear(w.Header())
		s.ServeHTTP(w, r)
	}
	equal(b, "the first digit of the greatest status", 2, w.Code/100)
}

const putPet = `{"name":"Luna","categoryId":1,"status":"sold"}`

// BenchmarkHandler measures requests in this process, with 1000 pets in memory: what they cost
// without the network.
func BenchmarkHandler(b *testing.B) {
	for _, bench := range []struct{ name, request, body string }{
		{"get", "GET /pets/500", ""},
		{"list 20", "GET /pets?after=500", ""},
		{"list 100", "GET /pets?after=500&limit=100", ""},
		{"inventory 100", "GET /inventory?after=500&limit=100", ""},
		{"post", "POST /pets", putPet},
		{"put", "PUT /pets/500", putPet},
		{"patch", "PATCH /inventory/500", `{"quantity":5}`},
	} {
		b.Run(bench.name, func(b *testing.B) {
			serviceOfPets(b, 1000).measure(b, bench.request, bench.body)
		})
	}
}

// BenchmarkManyPets measures what grows with the store, with 100,000 pets: a write copies the list
// of them in memory, and saves them all to the file; a start reads them.
func BenchmarkManyPets(b *testing.B) {
	s, path := serviceOfPets(b, 100_000), freshPath(b)
	writeFile(b, path, snapshotOf(b, s.store.view()))
	b.Run("write in memory", func(b *testing.B) { s.measure(b, "PUT /pets/50000", putPet) })
	b.Run("write to a file", func(b *testing.B) {
		newService(b, path).measure(b, "PUT /pets/50000", putPet)
	})
	b.Run("start", func(b *testing.B) {
		for b.Loop() {
			newService(b, path)
		}
	})
}
