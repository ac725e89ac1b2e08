package main

import (
	"fmt"
	"io"
	"math"
	"net/http/httptest"
	"strings"
	"testing"
)

// BenchmarkHandler measures what a request costs without the network, with 1000 pets in memory.
func BenchmarkHandler(b *testing.B) {
	s := serviceWithPets(b, 1000, "")
	b.Run("get", func(b *testing.B) { s.repeat(b, "GET", "/pets/500") })
	b.Run("list 100", func(b *testing.B) { s.repeat(b, "GET", "/pets?after=500&limit=100") })
	b.Run("put", func(b *testing.B) { s.repeat(b, "PUT", "/pets/500") })
}

// BenchmarkSave measures what a PUT costs with a data file, for files of two sizes.
func BenchmarkSave(b *testing.B) {
	for _, pets := range []int{1000, 100_000} {
		s := serviceWithPets(b, pets, freshPath(b))
		b.Run(fmt.Sprint(pets, " pets"), func(b *testing.B) { s.repeat(b, "PUT", "/pets/500") })
	}
}

func serviceWithPets(b *testing.B, pets int, data string) *service {
	list := make([]string, pets)
	for i := range list {
		list[i] = fmt.Sprintf(`{"id":%d,"name":"Kiwi","categoryId":1}`, i+1)
	}
	sample := writeFile(b, freshPath(b), `{"categories":[{"id":1,"name":"Dogs"}],"pets":[`+
		strings.Join(list, ",")+"]}")
	keys := keysFile(b, math.MaxInt32, math.MaxInt32)
	return newService(b, Options{Data: data, Sample: sample, Keys: keys})
}

func (s *service) repeat(b *testing.B, method, target string) {
	r := httptest.NewRequest(method, target, nil)
	r.Header.Set("Authorization", "Bearer "+testKey)
	b.ReportAllocs()
	for b.Loop() {
		r.Body = io.NopCloser(strings.NewReader(newKiwi))
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if w.Code != 200 {
			b.Fatalf("status %d", w.Code)
		}
	}
}
