package main

import (
	"fmt"
	"testing"
)

func TestIdempotencyKey(t *testing.T) {
	const kiwi, key = `{"name":"Kiwi","categoryId":1}`, "Idempotency-Key"
	expectKiwi := func(s *service, id int, header ...string) *reply {
		s.t.Helper()
		resp := s.send("POST /pets", kiwi, header...)
		resp.expect(201, fmt.Sprintf(`{"id":%d,"name":"Kiwi","categoryId":1,
			"status":"available"}`, id))
		return resp
	}
	t.Run("a repeat gets the first response", func(t *testing.T) {
		s := newService(t, Options{})
		expectKiwi(s, 6, key, "a")
		s.send("PUT /pets/6", `{"name":"Kea","categoryId":2}`)
		equal(t, "Location", expectKiwi(s, 6, key, "a").Header.Get("Location"), "/pets/6")
	})
	t.Run("another key creates another pet, and so does none", func(t *testing.T) {
		s := newService(t, Options{})
		expectKiwi(s, 6, key, "a")
		expectKiwi(s, 7, key, "b")
		expectKiwi(s, 8)
		expectKiwi(s, 9)
		expectKiwi(s, 6, key, "a")
	})
}
