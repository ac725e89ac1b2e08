package main

import "testing"

func TestIdempotencyKey(t *testing.T) {
	const kiwi = `{"name":"Kiwi","categoryId":1}`
	create := func(s *service, body, key string, header ...string) (location string) {
		header = append(header, "Idempotency-Key", key)
		return s.send("POST /pets", body, header...).Header.Get("Location")
	}
	t.Run("a repeat gets the first response", func(t *testing.T) {
		s := newService(t, Options{})
		equal(t, "Location", create(s, kiwi, "a"), "/pets/6")
		equal(t, "Location", create(s, kiwi, "a"), "/pets/6")
	})
	t.Run("another key creates another pet, and so does none", func(t *testing.T) {
		s := newService(t, Options{})
		equal(t, "Location", create(s, kiwi, "a"), "/pets/6")
		equal(t, "Location", create(s, kiwi, "b"), "/pets/7")
		equal(t, "Location", s.send("POST /pets", kiwi).Header.Get("Location"), "/pets/8")
		equal(t, "Location", s.send("POST /pets", kiwi).Header.Get("Location"), "/pets/9")
	})
}
