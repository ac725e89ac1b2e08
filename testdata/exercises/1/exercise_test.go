package main

import "testing"

func TestOrdersByPet(t *testing.T) {
	const three, four = `{"id":3,"petId":5,"complete":false}`, `{"id":4,"complete":false}`
	const five = `{"id":5,"petId":5,"complete":true}`
	for _, test := range []struct{ rule, query, want, link string }{
		{"has the orders that name the pet", "petId=5", "[" + three + "," + five + "]", ""},
		{"is empty if there is no such pet", "petId=9223372036854775807", "[]", ""},
		{"links to the next page, with the filter", "petId=5&limit=1", "[" + three + "]",
			`</store/orders?after=3&limit=1&petId=5>; rel="next"`},
	} {
		t.Run(test.rule, func(t *testing.T) {
			s := newService(t, Options{}) // with the orders 1 and 2, of other pets
			s.send("POST /store/orders", `{"petId":5}`)
			s.send("POST /store/orders", `{}`)
			s.send("POST /store/orders", `{"petId":5,"complete":true}`)
			resp := s.send("GET /store/orders?"+test.query, "")
			resp.expect(200, test.want)
			equal(t, "Link", resp.Header.Get("Link"), test.link)
			s.send("GET /store/orders?after=2", "").expect(200, "["+three+","+four+","+five+"]")
		})
	}
}
