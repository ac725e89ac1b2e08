package main

import (
	"encoding/json"
	"fmt"
	"testing"
)

func init() { statusOfCode["out_of_stock"] = 409 }

func TestStock(t *testing.T) {
	const post, put, remove = "POST /store/orders", "PUT /store/orders/3", "DELETE /store/orders/3"
	const five = `{"petId":5,"quantity":5}` // for order 3, after which pet 5 has 7 of 12
	expect := func(resp *reply, status, stock3, stock5 int) {
		resp.s.t.Helper()
		var items []InventoryItem // of the pets 3, 4 and 5
		must(t, json.Unmarshal([]byte(resp.s.send("GET /inventory?after=2", "").body), &items))
		resp.compare(fmt.Sprint(resp.StatusCode, "; stock: ", items), fmt.Sprintf(
			"%d; stock: [{3 %d available} {4 0 sold} {5 %d available}]", status, stock3, stock5))
		resp.s.expectSaved()
	}
	for _, test := range []struct {
		rule, request, body    string
		status, stock3, stock5 int // of pets 3 and 5, afterwards
	}{
		{"an order takes its quantity", post, `{"petId":5,"quantity":7}`, 201, 5, 0},
		{"too large an order fails", post, `{"petId":5,"quantity":8}`, 409, 5, 7},
		{"no quantity takes nothing", post, `{"petId":5}`, 201, 5, 7},
		{"no pet takes nothing", post, `{"quantity":8}`, 201, 5, 7},
		{"a smaller order puts back the rest", put, `{"petId":5,"quantity":1}`, 200, 5, 11},
		{"so does a complete one", put, `{"petId":5,"quantity":1,"complete":true}`, 200, 5, 11},
		{"a larger order takes the rest", put, `{"petId":5,"quantity":12}`, 200, 5, 0},
		{"too large a change fails", put, `{"petId":5,"quantity":13}`, 409, 5, 7},
		{"an order of another pet puts all back", put, `{"petId":3,"quantity":5}`, 200, 0, 12},
		{"one that fails puts nothing back", put, `{"petId":3,"quantity":6}`, 409, 5, 7},
		{"an order of no pet puts all back", put, `{"quantity":5}`, 200, 5, 12},
		{"so does one of no quantity", put, `{"petId":5}`, 200, 5, 12},
		{"a canceled order puts all back", remove, ``, 204, 5, 12},
	} {
		t.Run(test.rule, func(t *testing.T) {
			s := newService(t, Options{Data: freshPath(t)})
			s.send(post, five)
			expect(s.send(test.request, test.body), test.status, test.stock3, test.stock5)
		})
	}
	t.Run("the stock does not exceed its maximum", func(t *testing.T) {
		s := newService(t, Options{Data: freshPath(t)})
		s.send(post, five)
		s.send("PATCH /inventory/5", `{"quantity":2147483647}`)
		expect(s.send(put, `{"petId":5,"quantity":7}`), 200, 5, 2147483645)
		expect(s.send(remove, ""), 204, 5, 2147483647)
	})
	t.Run("of twenty orders at once, two get five of twelve", func(t *testing.T) {
		s := newService(t, Options{Data: freshPath(t)})
		s.atOnce(func() { s.send(post, five) })
		expect(s.send(post, five), 409, 5, 2)
	})
}
