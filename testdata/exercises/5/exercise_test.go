package main

import (
	"fmt"
	"sync"
	"testing"
)

func TestStock(t *testing.T) {
	const post, put, remove = "POST /store/orders", "PUT /store/orders/3", "DELETE /store/orders/3"
	const five = `{"petId":5,"quantity":5}` // the body of order 3, after which pet 5 has 7 of 12
	start := func(t *testing.T) *service {
		s := newService(t, Options{Data: freshPath(t)})
		s.do(post, five)
		return s
	}
	expectStock := func(s *service, id, quantity int) {
		s.t.Helper()
		want := fmt.Sprintf(`{"petId":%d,"quantity":%d,"status":"available"}`, id, quantity)
		s.expect(fmt.Sprint("GET /inventory/", id), "", 200, want)
		restarted := newService(s.t, Options{Data: s.store.path})
		restarted.expect(fmt.Sprint("GET /inventory/", id), "", 200, want)
	}
	for _, test := range []struct {
		rule, request, body    string
		status, stock3, stock5 int // of pets 3 and 5, afterwards
	}{
		{"too large an order fails", post, `{"petId":5,"quantity":8}`, 409, 5, 7},
		{"no quantity takes nothing", post, `{"petId":5}`, 201, 5, 7},
		{"no pet takes nothing", post, `{"quantity":8}`, 201, 5, 7},
		{"a complete one takes all", post, `{"petId":5,"quantity":7,"complete":true}`, 201, 5, 0},
		{"a smaller order puts back the rest", put, `{"petId":5,"quantity":1}`, 200, 5, 11},
		{"a larger order takes the rest", put, `{"petId":5,"quantity":12}`, 200, 5, 0},
		{"too large a change fails", put, `{"petId":5,"quantity":13}`, 409, 5, 7},
		{"an order of another pet puts all back", put, `{"petId":3,"quantity":5}`, 200, 0, 12},
		{"one that fails puts nothing back", put, `{"petId":3,"quantity":6}`, 409, 5, 7},
		{"an order of no pet puts all back", put, `{"quantity":5}`, 200, 5, 12},
		{"so does one of no quantity", put, `{"petId":5}`, 200, 5, 12},
		{"a canceled order puts all back", remove, ``, 204, 5, 12},
	} {
		t.Run(test.rule, func(t *testing.T) {
			s := start(t)
			equal(t, "status", test.status, s.do(test.request, test.body).StatusCode)
			expectStock(s, 3, test.stock3)
			expectStock(s, 5, test.stock5)
		})
	}
	t.Run("a complete order puts back what it needs no more", func(t *testing.T) {
		s := start(t)
		s.do(put, `{"petId":5,"quantity":7,"complete":true}`)
		s.expect(put, five, 409, "order_complete")
		s.expect(remove, "", 409, "order_complete")
		expectStock(s, 5, 5)
		s.do(put, `{"petId":5,"quantity":1,"complete":true}`)
		expectStock(s, 5, 11)
	})
	t.Run("the stock does not exceed its maximum", func(t *testing.T) {
		s := start(t)
		s.do("PATCH /inventory/5", `{"quantity":2147483647}`)
		s.do(put, `{"petId":5,"quantity":7}`)
		expectStock(s, 5, 2147483645)
		s.do(remove, "")
		expectStock(s, 5, 2147483647)
	})
	t.Run("of twenty orders at once, two get five of twelve", func(t *testing.T) {
		s := newService(t, Options{Data: freshPath(t)}) // a save lasts until the others are here
		var clients sync.WaitGroup
		for range 20 {
			clients.Go(func() { s.do(post, five) })
		}
		clients.Wait()
		expectStock(s, 5, 2)
	})
}
