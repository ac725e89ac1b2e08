package main

import "testing"

func TestIdempotencyKey(t *testing.T) {
	const kiwi, a, b = `{"name":"Kiwi","categoryId":1}`, "Idempotency-Key: a", "Idempotency-Key: b"
	create := func(s *service, body string, header ...string) (location string) {
		return s.do("POST /pets", body, header...).Header.Get("Location")
	}
	t.Run("a repeat gets the first response", func(t *testing.T) {
		s := newService(t, Options{})
		equal(t, "Location", "/pets/6", create(s, kiwi, a))
		equal(t, "Location", "/pets/6", create(s, kiwi, a))
	})
	t.Run("another key creates another pet, and so does none", func(t *testing.T) {
		s := newService(t, Options{})
		equal(t, "Location", "/pets/6", create(s, kiwi, a))
		equal(t, "Location", "/pets/7", create(s, kiwi, b))
		equal(t, "Location", "/pets/8", create(s, kiwi))
		equal(t, "Location", "/pets/9", create(s, kiwi))
	})
}
