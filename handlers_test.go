package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"
)

// This is how a handler is tested with nothing but the standard library: make a request, let the
// handler write its response to a recorder, and look at what it recorded.
func TestOnePet(t *testing.T) {
	handler := freshService(t)
	request := httptest.NewRequest("GET", "/pets/1", nil)
	request.Header.Set("Authorization", "Bearer big")
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, request)
	want := `{"id":1,"name":"Rex","categoryId":1,"status":"available"}` + "\n"
	if got := recorder.Body.String(); recorder.Code != 200 || got != want {
		t.Errorf("status %d, body %s; want 200, %s", recorder.Code, got, want)
	}
}

// A row is a request with the response that it must get: see expect. A row with a rule begins a
// subtest, on a new service with the records of docs/sample.json; one without goes on with it.
// The whole messages of errors are in docs/openapi.json, and checked in openapi_test.go.
type row struct {
	rule, request, body string
	status              int
	want                string
}

func checkRows(t *testing.T, rows []row) {
	for i, first := range rows {
		if first.rule == "" {
			continue
		}
		t.Run(first.rule, func(t *testing.T) {
			s := newService(t, "")
			for j, next := range rows[i:] {
				if j > 0 && next.rule != "" {
					return
				}
				s.expect(next.request, next.body, next.status, next.want)
			}
		})
	}
}

// Records of the sample, as clients get them.
const (
	rex     = `{"id":1,"name":"Rex","categoryId":1,"status":"available"}`
	bella   = `{"id":2,"name":"Bella","categoryId":1,"status":"pending"}`
	misty   = `{"id":3,"name":"Misty","categoryId":2,"status":"available"}`
	tom     = `{"id":4,"name":"Tom","categoryId":2,"status":"sold"}`
	clover  = `{"id":5,"name":"Clover","categoryId":3,"status":"available"}`
	rabbits = `{"id":3,"name":"Rabbits"}`
	fish    = `{"id":4,"name":"Fish","description":"Quiet and colorful"}`
	order1  = `{"id":1,"petId":4,"quantity":1,"shipDate":"2026-11-02T09:30:00Z","complete":true}`
	order2  = `{"id":2,"petId":2,"quantity":1,"shipDate":"2026-12-01T12:00:00Z","complete":false}`
)

// New ones, as clients send and get them. Those without a brace need one, and perhaps an id.
const (
	newKiwi   = `{"name":"Kiwi","categoryId":1}`
	kiwi      = `{"id":6,"name":"Kiwi","categoryId":1,"status":"available"}`
	sold      = `"name":"Kiwi","categoryId":2,"status":"sold"}`
	loud      = `"name":"Birds","description":"Loud"}`
	fullOrder = `"petId":1,"quantity":2,"shipDate":"2030-02-28T00:00:00Z","complete":true}`
)

func withID(record string, id int64) string {
	return `{"id":` + strconv.FormatInt(id, 10) + record[strings.Index(record, ","):]
}

func TestListPets(t *testing.T) {
	all := "[" + rex + "," + bella + "," + misty + "," + tom + "," + clover + "]"
	available := "[" + rex + "," + misty + "," + clover + "]"
	checkRows(t, []row{
		{"returns all in id order", "GET /pets", ``, 200, all},
		{"filters by status", "GET /pets?status=available", ``, 200, available},
		{"", "GET /pets?status=pending", ``, 200, "[" + bella + "]"},
		{"", "GET /pets?status=sold", ``, 200, "[" + tom + "]"},
		{"filters by category", "GET /pets?categoryId=2", ``, 200, "[" + misty + "," + tom + "]"},
		{"", "GET /pets?categoryId=77", ``, 200, "[]"},
		{"filters by both", "GET /pets?status=sold&categoryId=2", ``, 200, "[" + tom + "]"},
		{"", "GET /pets?status=sold&categoryId=1", ``, 200, "[]"},
	})
}

func TestCreatePet(t *testing.T) {
	in := func(id int64) string { return fmt.Sprintf(`{"name":"x","categoryId":%d}`, id) }
	const unknown = "unknown_reference: categoryId "
	checkRows(t, []row{
		{"returns the pet with its id", "POST /pets", `{` + sold, 201, `{"id":6,` + sold},
		{"", "GET /pets/6", ``, 200, `{"id":6,` + sold},
		{"makes it available by default", "POST /pets", newKiwi, 201, kiwi},
		{"creates its stock with quantity 0", "POST /pets", `{` + sold, 201, `{"id":6,` + sold},
		{"", "GET /inventory/6", ``, 200, `{"petId":6,"quantity":0,"status":"sold"}`},
		{"takes the id 0 as none", "POST /pets", withID(kiwi, 0), 201, kiwi},
		{"refuses any other id", "POST /pets", kiwi, 400, "invalid_field: id must be 0"},
		{"", "POST /pets", withID(kiwi, -1), 400, "invalid_field: id must be 0"},
		{"refuses a category that does not exist", "POST /pets", in(5), 400, unknown + "5 does"},
		{"", "POST /pets", in(0), 400, unknown + "0 does not exist"},
		{"", "POST /pets", in(math.MinInt64), 400, unknown + "-9223372036854775808 does not"},
		{"", "POST /pets", in(math.MaxInt64), 400, unknown + "9223372036854775807 does not"},
		{"uses no id for a refused pet", "POST /pets", in(5), 400, unknown},
		{"", "POST /pets", newKiwi, 201, kiwi},
		{"never uses an id again", "POST /pets", newKiwi, 201, kiwi},
		{"", "DELETE /pets/6", ``, 204, ``},
		{"", "POST /pets", newKiwi, 201, withID(kiwi, 7)},
	})
}

func TestReplacePet(t *testing.T) {
	const lost = `{"name":"Kiwi","categoryId":5}`
	checkRows(t, []row{
		{"replaces all fields", "PUT /pets/2", `{` + sold, 200, `{"id":2,` + sold},
		{"", "GET /pets/2", ``, 200, `{"id":2,` + sold},
		{"resets the status by default", "PUT /pets/2", newKiwi, 200, withID(kiwi, 2)},
		{"keeps its stock", "PUT /pets/5", newKiwi, 200, withID(kiwi, 5)},
		{"", "GET /inventory/5", ``, 200, `{"petId":5,"quantity":12,"status":"available"}`},
		{"copies its status to the stock", "PUT /pets/1", `{` + sold, 200, `{"id":1,` + sold},
		{"", "GET /inventory/1", ``, 200, `{"petId":1,"quantity":3,"status":"sold"}`},
		{"takes what a GET gave", "PUT /pets/2", bella, 200, bella},
		{"takes the id 0 as none", "PUT /pets/2", withID(bella, 0), 200, bella},
		{"refuses any other id", "PUT /pets/2", rex, 400, "invalid_field: id must be 2 or left out"},
		{"", "PUT /pets/2", withID(bella, -2), 400, "invalid_field: id must be 2"},
		{"refuses a category that does not exist", "PUT /pets/2", lost, 400, "unknown_reference"},
		{"", "GET /pets/2", ``, 200, bella},
		{"creates no pet", "PUT /pets/6", newKiwi, 404, "not_found: No pet has the id 6"},
		{"", "GET /pets/6", ``, 404, "not_found: No pet"},
	})
}

func TestDeletePet(t *testing.T) {
	const other = `{"id":2,"petId":1,"complete":false}`
	checkRows(t, []row{
		{"deletes the pet", "DELETE /pets/5", ``, 204, ``},
		{"", "GET /pets/5", ``, 404, "not_found: No pet has the id 5"},
		{"", "DELETE /pets/5", ``, 404, "not_found: No pet has the id 5"},
		{"", "GET /pets?after=3", ``, 200, "[" + tom + "]"},
		{"deletes its stock", "DELETE /pets/5", ``, 204, ``},
		{"", "GET /inventory/5", ``, 404, "not_found: No pet has the id 5"},
		{"", "GET /inventory?after=4", ``, 200, "[]"},
		{"refuses while an order names it", "DELETE /pets/2", ``, 409, "in_use: Order 2 refers"},
		{"", "GET /pets/2", ``, 200, bella},
		{"refuses while a complete order names it", "DELETE /pets/4", ``, 409, "in_use: Order 1"},
		{"deletes it once the order is cancelled", "DELETE /store/orders/2", ``, 204, ``},
		{"", "DELETE /pets/2", ``, 204, ``},
		{"deletes it once the order names another", "PUT /store/orders/2", other, 200, other},
		{"", "DELETE /pets/2", ``, 204, ``},
	})
}

func TestCreateCategory(t *testing.T) {
	const cats = `{"name":"Cats"}`
	checkRows(t, []row{
		{"returns it with its id", "POST /categories", `{` + loud, 201, `{"id":5,` + loud},
		{"", "GET /categories/5", ``, 200, `{"id":5,` + loud},
		{"leaves out what is left out", "POST /categories", cats, 201, `{"id":5,"name":"Cats"}`},
		{"takes the id 0 as none", "POST /categories", `{"id":0,` + loud, 201, `{"id":5,` + loud},
		{"refuses any other id", "POST /categories", `{"id":5,` + loud, 400, "invalid_field: id"},
		{"never uses an id again", "DELETE /categories/4", ``, 204, ``},
		{"", "POST /categories", `{` + loud, 201, `{"id":5,` + loud},
	})
}

func TestReplaceCategory(t *testing.T) {
	const plain = `{"id":4,"name":"Fish"}`
	checkRows(t, []row{
		{"replaces all fields", "PUT /categories/3", `{` + loud, 200, `{"id":3,` + loud},
		{"", "GET /categories/3", ``, 200, `{"id":3,` + loud},
		{"removes the description by default", "PUT /categories/4", plain, 200, plain},
		{"takes what a GET gave", "PUT /categories/4", fish, 200, fish},
		{"takes the id 0 as none", "PUT /categories/4", withID(fish, 0), 200, fish},
		{"refuses any other id", "PUT /categories/4", rabbits, 400, "invalid_field: id must be 4"},
		{"creates no category", "PUT /categories/5", `{` + loud, 404, "not_found: No category"},
	})
}

func TestDeleteCategory(t *testing.T) {
	checkRows(t, []row{
		{"deletes the category", "DELETE /categories/4", ``, 204, ``},
		{"", "GET /categories?after=2", ``, 200, "[" + rabbits + "]"},
		{"", "DELETE /categories/4", ``, 404, "not_found: No category has the id 4"},
		{"refuses while a pet belongs to it", "DELETE /categories/3", ``, 409, "in_use: Pet 5"},
		{"", "GET /categories/3", ``, 200, rabbits},
		{"deletes it once the pet is deleted", "DELETE /pets/5", ``, 204, ``},
		{"", "DELETE /categories/3", ``, 204, ``},
		{"deletes it once the pet is in another", "PUT /pets/5", newKiwi, 200, withID(kiwi, 5)},
		{"", "DELETE /categories/3", ``, 204, ``},
	})
}

func TestCreateOrder(t *testing.T) {
	const (
		orders  = "POST /store/orders"
		empty   = `{"id":3,"complete":false}`
		large   = `"petId":4,"quantity":9,"complete":false}`
		unknown = "unknown_reference: petId "
	)
	checkRows(t, []row{
		{"returns the order with its id", orders, `{` + fullOrder, 201, `{"id":3,` + fullOrder},
		{"", "GET /store/orders/3", ``, 200, `{"id":3,` + fullOrder},
		{"needs no field", orders, `{}`, 201, empty},
		{"", "GET /store/orders/3", ``, 200, empty},
		{"takes the id 0 as none", orders, `{"id":0}`, 201, empty},
		{"refuses any other id", orders, `{"id":3}`, 400, "invalid_field: id must be 0"},
		{"refuses a pet that does not exist", orders, `{"petId":6}`, 400, unknown + "6 does not"},
		{"", orders, `{"petId":0}`, 400, unknown + "0 does not exist"},
		{"", orders, `{"petId":-9223372036854775808}`, 400, unknown + "-9223372036854775808 does"},
		{"", orders, `{"petId":9223372036854775807}`, 400, unknown + "9223372036854775807 does"},
		{"moves no stock", orders, `{` + fullOrder, 201, `{"id":3,` + fullOrder},
		{"", "GET /inventory/1", ``, 200, `{"petId":1,"quantity":3,"status":"available"}`},
		{"takes more than the stock", orders, `{` + large, 201, `{"id":3,` + large},
		{"never uses an id again", "DELETE /store/orders/2", ``, 204, ``},
		{"", orders, `{}`, 201, empty},
	})
}

func TestReplaceOrder(t *testing.T) {
	const (
		order    = "PUT /store/orders/2"
		empty    = `{"id":2,"complete":false}`
		done     = `{"id":2,"complete":true}`
		more     = `{"id":1,"quantity":7,"complete":true}`
		reopened = "order_complete: A complete order cannot be reopened"
	)
	checkRows(t, []row{
		{"replaces all fields", order, `{` + fullOrder, 200, `{"id":2,` + fullOrder},
		{"", "GET /store/orders/2", ``, 200, `{"id":2,` + fullOrder},
		{"removes what is left out", order, `{}`, 200, empty},
		{"takes what a GET gave", order, order2, 200, order2},
		{"", "PUT /store/orders/1", order1, 200, order1},
		{"takes the id 0 as none", order, `{"id":0}`, 200, empty},
		{"refuses any other id", order, `{"id":1}`, 400, "invalid_field: id must be 2 or left out"},
		{"refuses a pet that does not exist", order, `{"petId":6}`, 400, "unknown_reference: pet"},
		{"completes an order", order, done, 200, done},
		{"does not reopen a complete order", "PUT /store/orders/1", `{"petId":4}`, 409, reopened},
		{"", "PUT /store/orders/1", `{"complete":false}`, 409, reopened},
		{"", "GET /store/orders/1", ``, 200, order1},
		{"changes a complete order that stays so", "PUT /store/orders/1", more, 200, more},
		{"creates no order", "PUT /store/orders/3", `{}`, 404, "not_found: No order has the id 3"},
	})
}

func TestCancelOrder(t *testing.T) {
	checkRows(t, []row{
		{"deletes the order", "DELETE /store/orders/2", ``, 204, ``},
		{"", "GET /store/orders", ``, 200, "[" + order1 + "]"},
		{"", "DELETE /store/orders/2", ``, 404, "not_found: No order has the id 2"},
		{"refuses a complete order", "DELETE /store/orders/1", ``, 409, "order_complete: A com"},
		{"", "GET /store/orders/1", ``, 200, order1},
		{"moves no stock", "DELETE /store/orders/2", ``, 204, ``},
		{"", "GET /inventory/2", ``, 200, `{"petId":2,"quantity":1,"status":"pending"}`},
	})
}

func TestListAndGet(t *testing.T) {
	checkRows(t, []row{
		{"categories in id order", "GET /categories", ``, 200,
			`[{"id":1,"name":"Dogs","description":"Loyal companions, from terriers to shepherds"},
			{"id":2,"name":"Cats","description":"Independent and curious"},
			` + rabbits + "," + fish + "]"},
		{"orders in id order", "GET /store/orders", ``, 200, "[" + order1 + "," + order2 + "]"},
		{"the stock of each pet in id order", "GET /inventory", ``, 200,
			`[{"petId":1,"quantity":3,"status":"available"},
			{"petId":2,"quantity":1,"status":"pending"},
			{"petId":3,"quantity":5,"status":"available"},
			{"petId":4,"quantity":0,"status":"sold"},
			{"petId":5,"quantity":12,"status":"available"}]`},
		{"a pet", "GET /pets/4", ``, 200, tom},
		{"a category", "GET /categories/4", ``, 200, fish},
		{"an order", "GET /store/orders/1", ``, 200, order1},
		{"the stock of a pet", "GET /inventory/5", ``, 200,
			`{"petId":5,"quantity":12,"status":"available"}`},
	})
}

func TestUpdateInventory(t *testing.T) {
	const stock, nine = "PATCH /inventory/4", `{"petId":4,"quantity":9,"status":"sold"}`
	checkRows(t, []row{
		{"updates the quantity", stock, `{"quantity":9}`, 200, nine},
		{"", "GET /inventory/4", ``, 200, nine},
		{"leaves the pet as it is", stock, `{"quantity":9}`, 200, nine},
		{"", "GET /pets/4", ``, 200, tom},
		{"has none for no pet", "PATCH /inventory/6", `{"quantity":9}`, 404, "not_found: No pet"},
	})
}

// An id in a path that is no 64-bit integer is 400. One that names nothing is 404.
func TestIDInThePath(t *testing.T) {
	paths := []struct{ methods, path, body, kind string }{
		{"GET PUT DELETE", "/pets/", newKiwi, "pet"},
		{"GET PUT DELETE", "/categories/", `{"name":"x"}`, "category"},
		{"GET PUT DELETE", "/store/orders/", `{}`, "order"},
		{"GET PATCH", "/inventory/", `{"quantity":1}`, "pet"},
	}
	const most = "9223372036854775807 -9223372036854775808"
	for _, test := range []struct {
		rule, ids string
		status    int
		want      string // with the kind and the id
	}{
		{"no integer", "x 1.0 1e0 1_0 ٣", 400, "invalid_parameter: The id in the path must"},
		{"an overflow", "9223372036854775808", 400, "invalid_parameter: The id in the path must"},
		{"another spelling", "01 +1 -0 001", 400, "invalid_parameter: The id in the path must"},
		{"names nothing", "77 0 -1 " + most, 404, "not_found: No %s has the id %s; use the id of"},
		{"escaped digits", "%37%37", 404, "not_found: No %s has the id 77"},
	} {
		t.Run(test.rule, func(t *testing.T) {
			s := newService(t, "")
			for id := range strings.FieldsSeq(test.ids) {
				for _, p := range paths {
					want, _, _ := strings.Cut(fmt.Sprintf(test.want, p.kind, id), "%!(EXTRA")
					for method := range strings.FieldsSeq(p.methods) {
						s.expect(method+" "+p.path+id, p.body, test.status, want)
					}
				}
			}
		})
	}
}

func TestPaging(t *testing.T) {
	s := newService(t, "")
	for range 150 { // pets 6 to 155
		s.do("POST /pets", `{"name":"P","categoryId":1,"status":"sold"}`)
	}
	for _, test := range []struct {
		rule, target string
		first, last  int64  // ids; 0 for none
		next         string // the target of the link
	}{
		{"a page has 20 records", "/pets", 1, 20, "/pets?after=20&limit=20"},
		{"limit makes it smaller", "/pets?limit=1", 1, 1, "/pets?after=1&limit=1"},
		{"limit makes it larger", "/pets?limit=100", 1, 100, "/pets?after=100&limit=100"},
		{"after returns greater ids", "/pets?after=2", 3, 22, "/pets?after=22&limit=20"},
		{"after need not exist", "/pets?after=0&limit=2", 1, 2, "/pets?after=2&limit=2"},
		{"the link keeps the filters", "/pets?status=sold&categoryId=1", 6, 25,
			"/pets?after=25&categoryId=1&limit=20&status=sold"},
		{"the last page has no link", "/pets?after=136", 137, 155, ""},
		{"nor has one that is just full", "/pets?after=135", 136, 155, ""},
		{"nor has one whose rest is filtered out", "/pets?status=pending&limit=1", 2, 2, ""},
		{"an empty page is []", "/pets?after=155", 0, 0, ""},
		{"after takes each int64", "/pets?after=9223372036854775807", 0, 0, ""},
		{"of categories", "/categories?after=1&limit=2", 2, 3, "/categories?after=3&limit=2"},
		{"of orders", "/store/orders?limit=1", 1, 1, "/store/orders?after=1&limit=1"},
		{"of the inventory", "/inventory?limit=7", 1, 7, "/inventory?after=7&limit=7"},
		{"of an empty inventory", "/inventory?after=155", 0, 0, ""},
	} {
		t.Run(test.rule, func(t *testing.T) {
			var want, got []int64
			for id := test.first; id <= test.last && id > 0; id++ {
				want = append(want, id)
			}
			link := ""
			if test.next != "" {
				link = "<" + test.next + `>; rel="next"`
			}
			resp := s.do("GET "+test.target, "")
			var records []struct{ ID, PetID int64 }
			if err := json.NewDecoder(resp.Body).Decode(&records); err != nil || records == nil {
				t.Errorf("the list is not an array: %v", err)
			}
			for _, r := range records {
				got = append(got, cmp.Or(r.ID, r.PetID))
			}
			equal(t, "ids", want, got)
			equal(t, "Link", link, resp.Header.Get("Link"))
		})
	}
	checkRows(t, []row{
		{"after may be the id of a deleted record", "DELETE /pets/3", ``, 204, ``},
		{"", "GET /pets?after=3", ``, 200, "[" + tom + "," + clover + "]"},
	})
}

func TestQuery(t *testing.T) {
	const (
		limit     = "limit must be an integer from 1 to 100."
		after     = "after must be an integer from 0 to 9223372036854775807."
		category  = "categoryId must be an integer from 1 to 9223372036854775807."
		status    = "status must be available, pending or sold."
		once      = " must not be repeated or empty."
		malformed = "The query must consist of percent-encoded name=value pairs joined by &."
	)
	all := []string{"/pets", "/categories", "/store/orders", "/inventory"}
	pets, others := all[:1], all[1:]
	for _, test := range []struct {
		rule    string
		lists   []string
		queries string
		want    string
	}{
		{"limit out of range", all, "limit=0 limit=101 limit=-1", limit},
		{"limit that is no integer", all, "limit=x limit=1.0 limit=%2B1 limit=01", limit},
		{"after out of range", all, "after=-1 after=9223372036854775808", after},
		{"after that is no integer", all, "after=x after=1.0 after=00", after},
		{"empty", all, "limit= limit", "limit" + once},
		{"repeated", all, "limit=1&limit=1 limit=1&after=1&limit=2", "limit" + once},
		{"malformed", all, "limit=%zz limit=1;after=1 %", malformed},
		{"unknown", all, "offset=1", `The parameter "offset" is unknown; use one of `},
		{"in another letter case", all, "Limit=1", `The parameter "Limit" is unknown; use one of `},
		{"without a name", all, "=1", `The parameter "" is unknown; use one of `},
		{"wrong status", pets, "status=gone status=Sold", status},
		{"empty status", pets, "status=", "status" + once},
		{"repeated status", pets, "status=sold&status=sold", "status" + once},
		{"wrong category", pets, "categoryId=x categoryId=0 categoryId=-1", category},
		{"repeated category", pets, "categoryId=1&categoryId=1", "categoryId" + once},
		{"status of another list", others, "status=sold", `The parameter "status" is unknown`},
		{"category of another list", others, "categoryId=1", `The parameter "categoryId" is`},
		{"the same fault each time", pets, strings.Repeat("zoo=1&color=red&limit=0 ", 20),
			`The parameter "color" is unknown; use one of limit, after, status, categoryId.`},
	} {
		t.Run(test.rule, func(t *testing.T) {
			s := newService(t, "")
			for _, list := range test.lists {
				for query := range strings.FieldsSeq(test.queries) {
					s.expect("GET "+list+"?"+query, "", 400, "invalid_parameter: "+test.want)
				}
			}
		})
	}
}

// The other tests compare JSON without the white space between its values. This one compares bytes.
func TestBytesOfAResponse(t *testing.T) {
	for _, test := range []struct{ rule, request, want string }{
		{"a record ends with a line break", "GET /categories/3", rabbits + "\n"},
		{"a list has a record a line", "GET /categories?after=2",
			"[" + rabbits + ",\n" + fish + "]\n"},
		{"an empty list is []", "GET /pets?after=5", "[]\n"},
		{"a 204 has no body", "DELETE /pets/5", ""},
		{"an error has code, message and status", "GET /pets/6", `{"code":"not_found","message":` +
			`"No pet has the id 6; use the id of an existing pet.","status":404}` + "\n"},
	} {
		t.Run(test.rule, func(t *testing.T) {
			got, _ := io.ReadAll(newService(t, "").do(test.request, "").Body)
			equal(t, "body", test.want, string(got))
		})
	}
}

// An untouchedBody fails the test if the server reads it.
type untouchedBody struct{ testing.TB }

func (b untouchedBody) Read([]byte) (int, error) {
	b.Error("the body was read")
	return 0, io.EOF
}

func TestBody(t *testing.T) {
	var (
		gone  = iotest.ErrReader(io.ErrUnexpectedEOF)
		start = strings.NewReader(`{"name":"x"`)
		large = strings.NewReader(strings.Repeat(" ", 65537))
		small = iotest.OneByteReader(strings.NewReader(`{"name":"x"}`))
	)
	const unknown = -1 // the length of a body in chunks
	var ok code
	for _, test := range []struct {
		rule, request, header string
		body                  io.Reader // nil if it must not be read
		length                int64
		want                  code
	}{
		{"may come in chunks", "PUT /categories/1", "", small, unknown, ok},
		{"may not be too large so", "PUT /categories/1", "", large, unknown, payloadTooLarge},
		{"may not end early", "PUT /categories/1", "", io.MultiReader(start, gone), unknown,
			incompleteBody},
		{"is not read if it is too large", "PUT /pets/1", "", nil, 65537, payloadTooLarge},
		{"is not read if it is no JSON", "PUT /pets/1", "Content-Type: text/plain", nil, unknown,
			unsupportedMediaType},
		{"is not read for a wrong id", "PUT /pets/x", "", nil, unknown, invalidParameter},
		{"is not read for an unknown path", "PUT /nothing", "", nil, unknown, notFound},
		{"is not read for a wrong method", "PATCH /pets/1", "", nil, unknown, methodNotAllowed},
		{"is not read without a key", "PUT /pets/1", "X-API-Key: x", nil, unknown, unauthorized},
		{"of a GET is not read", "GET /pets/1", "", nil, unknown, ok},
		{"of a DELETE is not read", "DELETE /pets/5", "", nil, unknown, ok},
	} {
		t.Run(test.rule, func(t *testing.T) {
			method, target, _ := strings.Cut(test.request, " ")
			r := httptest.NewRequest(method, target, cmp.Or[io.Reader](test.body, untouchedBody{t}))
			r.ContentLength = test.length
			r.Header.Set("X-API-Key", "big")
			if name, value, given := strings.Cut(test.header, ": "); given {
				r.Header.Set(name, value)
			}
			got, _ := io.ReadAll(newService(t, "").exchange(r).Body)
			name, _, _ := strings.Cut(errorIn(got), ":")
			equal(t, "code", test.want.name, name)
		})
	}
	body := func(size int) string { return `{"name":"x"}` + strings.Repeat(" ", size-12) }
	checkRows(t, []row{
		{"may have 64 KiB", "PUT /categories/1", body(65536), 200, `{"id":1,"name":"x"}`},
		{"may not have a byte more", "PUT /categories/1", body(65537), 413, "payload_too_large: "},
	})
}

func TestContentType(t *testing.T) {
	for _, test := range []struct {
		rule, value string
		status      int
	}{
		{"may be missing", "", 201},
		{"may be JSON", "application/json", 201},
		{"may have parameters", "application/json; charset=iso-8859-1", 201},
		{"may have malformed parameters", "application/json; =", 201},
		{"may have any letter case", "Application/JSON ;charset=utf-8", 201},
		{"may not be another JSON", "application/merge-patch+json", 415},
		{"may not begin like JSON", "application/jsonp", 415},
		{"may not be a form", "application/x-www-form-urlencoded", 415},
		{"may not have JSON as a parameter", "text/plain; application/json", 415},
		{"may not have parameters alone", "; charset=utf-8", 415},
	} {
		t.Run(test.rule, func(t *testing.T) {
			resp := newService(t, "").do("POST /pets", newKiwi, "Content-Type: "+test.value)
			equal(t, "status", test.status, resp.StatusCode)
		})
	}
}

func TestMethodNotAllowed(t *testing.T) {
	for _, test := range []struct{ rule, path, allow string }{
		{"lists", "/pets /categories /store/orders", "GET, HEAD, POST"},
		{"records", "/pets/5 /pets/x /categories/4 /store/orders/2", "DELETE, GET, HEAD, PUT"},
		{"inventory", "/inventory", "GET, HEAD"},
		{"stock of a pet", "/inventory/1", "GET, HEAD, PATCH"},
		{"open paths", "/ /healthz /openapi.json /docs/keys.json /docs/index.html", "GET, HEAD"},
	} {
		t.Run(test.rule, func(t *testing.T) {
			s := newService(t, "")
			for path := range strings.FieldsSeq(test.path) {
				for method := range strings.FieldsSeq("GET HEAD POST PUT PATCH OPTIONS get") {
					resp := s.do(method+" "+path, "")
					allowed := strings.Contains(test.allow, method)
					equal(t, method+" "+path+" is 405", !allowed, resp.StatusCode == 405)
					if !allowed {
						equal(t, method+" "+path+": Allow", test.allow, resp.Header.Get("Allow"))
					}
				}
			}
		})
	}
}

func TestUnknownPath(t *testing.T) {
	for rule, paths := range map[string]string{
		"has no operations": "/nothing /store /docs/none.html /openapi.yaml",
		"ends with a slash": "/pets/ /pets/1/ /docs/ /healthz/",
		"goes on":           "/pets/1/2 /inventory/1/x",
		"other letter case": "/Pets /PETS/1",
		"is not clean":      "//pets /pets//1 /pets/../pets /./pets /pets/. //healthz /docs//x.js",
		"escapes the page":  "/docs/..%2fopenapi.json /docs/%2e%2e",
	} {
		t.Run(rule, func(t *testing.T) {
			s := newService(t, "")
			for path := range strings.FieldsSeq(paths) {
				s.expect("GET "+path, "", 404, "not_found: This path does not exist; "+
					"GET / shows the operations, and GET /openapi.json describes them.")
			}
		})
	}
}

// HEAD gets the status and the header of a GET.
func TestHEAD(t *testing.T) {
	for rule, target := range map[string]string{
		"of a list": "/pets?limit=1", "of a record": "/pets/1", "of no record": "/store/orders/3",
		"of a wrong query": "/categories?x=1", "of stock": "/inventory/1", "of no path": "/nothing",
		"of the page": "/", "of health": "/healthz", "of the description": "/openapi.json",
	} {
		t.Run(rule, func(t *testing.T) {
			s := newService(t, "")
			get, head := s.do("GET "+target, ""), s.do("HEAD "+target, "")
			get.Header.Del("X-RateLimit-Remaining") // it falls with each request
			head.Header.Del("X-RateLimit-Remaining")
			equal(t, "status", get.StatusCode, head.StatusCode)
			equal(t, "header", get.Header, head.Header)
		})
	}
}

// What some responses have in their header, and others have not.
func TestHeader(t *testing.T) {
	const deprecated = `Deprecation: @1795132800; Sunset: Thu, 05 Dec 2030 00:00:00 GMT; ` +
		`Link: </pets>; rel="successor-version"; `
	for _, test := range []struct{ rule, request, body, key, want string }{
		{"a new pet", "POST /pets", newKiwi, "big", "Location: /pets/6; "},
		{"a new category", "POST /categories", `{"name":"x"}`, "big", "Location: /categories/5; "},
		{"a new order", "POST /store/orders", `{}`, "big", "Location: /store/orders/3; "},
		{"a refused pet", "POST /pets", `{}`, "big", ""},
		{"a deprecated 200 says so", "GET /pets/1", ``, "big", deprecated},
		{"a deprecated HEAD says so", "HEAD /pets/1", ``, "big", deprecated},
		{"a deprecated 400 says so", "GET /pets/x", ``, "big", deprecated},
		{"a deprecated 404 says so", "GET /pets/6", ``, "big", deprecated},
		{"a deprecated 401 does not", "GET /pets/1", ``, "wrong", ""},
		{"a PUT is not deprecated", "PUT /pets/1", newKiwi, "big", ""},
		{"a list is not deprecated", "GET /pets", ``, "big", ""},
		{"a stranger gets no Allow", "PATCH /pets", ``, "wrong", ""},
	} {
		t.Run(test.rule, func(t *testing.T) {
			resp := newService(t, "").do(test.request, test.body, "Authorization: Bearer "+test.key)
			got := ""
			for name := range strings.FieldsSeq("Location Allow Deprecation Sunset Link") {
				if value := resp.Header.Get(name); value != "" {
					got += name + ": " + value + "; "
				}
			}
			equal(t, "header", test.want, got)
		})
	}
}

func TestKeyOfARequest(t *testing.T) {
	for _, test := range []struct {
		rule, authorization, apiKey string
		valid                       bool
	}{
		{"in Authorization", "Bearer big", "", true},
		{"the scheme has any letter case", "bEARER big", "", true},
		{"behind more than one space", "Bearer   big", "", true},
		{"in X-API-Key", "", "big", true},
		{"Authorization counts first", "Bearer big", "wrong", true},
		{"Authorization counts even if it is wrong", "Bearer wrong", "big", false},
		{"of another scheme", "Basic big", "big", false},
		{"without a scheme", "big", "", false},
		{"without a space", "Bearerbig", "", false},
		{"with more behind it", "Bearer big x", "", false},
		{"a scheme alone", "Bearer", "", false},
		{"in another letter case", "Bearer BIG", "", false},
		{"unknown", "Bearer wrong", "", false},
		{"unknown in X-API-Key", "", "wrong", false},
		{"missing", "", "", false},
	} {
		t.Run(test.rule, func(t *testing.T) {
			resp := newService(t, "").do("GET /pets", "",
				"Authorization: "+test.authorization, "X-API-Key: "+test.apiKey)
			equal(t, "is not 401", test.valid, resp.StatusCode != 401)
			challenge := resp.Header.Get("WWW-Authenticate")
			equal(t, "has a challenge", !test.valid, challenge == "Bearer")
		})
	}
	t.Run("a stranger cannot tell which paths exist", func(t *testing.T) {
		s := newService(t, "")
		for request := range strings.SplitSeq("GET /pets,GET /pets/x,GET /x,PUT /pets", ",") {
			body, _ := io.ReadAll(s.do(request, "", "Authorization: Bearer secret").Body)
			equal(t, request, "unauthorized: A valid API key is required; "+
				"send it as Authorization: Bearer KEY.", errorIn(body)) // it has no key either
		}
	})
}

// The demo keys count only in requests whose Host a web page with a name of its own cannot have.
func TestHostOfTheDemoKeys(t *testing.T) {
	for _, test := range []struct {
		rule, hosts, key string // the hosts are separated by commas
		status           int
	}{
		{"localhost counts", "localhost,localhost:8080,LOCALHOST:1", "demo-pro", 200},
		{"an IPv4 address counts", "127.0.0.1,127.0.0.1:8080,192.0.2.1:80", "demo-pro", 200},
		{"an IPv6 address counts", "[::1],[::1]:8080,[2001:db8::1]", "demo-pro", 200},
		{"another name does not", "evil.example,evil.example:80,docker.internal", "demo-pro", 401},
		{"a longer name does not", "localhost.evil.example,127.0.0.1.example", "demo-pro", 401},
		{"a part of localhost does not", "localhos,calhost,app.localhost", "demo-pro", 401},
		{"localhost as the port does not", "evil.example:localhost", "demo-pro", 401},
		{"no Host does not", "", "demo-pro", 401},
		{"another key does not", "localhost,127.0.0.1", "wrong", 401},
	} {
		t.Run(test.rule, func(t *testing.T) {
			s := demoService(t)
			for host := range strings.SplitSeq(test.hosts, ",") {
				r := httptest.NewRequest("GET", "/pets", nil)
				r.Host = host
				r.Header.Set("Authorization", "Bearer "+test.key)
				equal(t, host, test.status, s.exchange(r).StatusCode)
			}
		})
	}
}

const shop = "https://shop.example"

// Web pages of which origins may call the API with the demo keys, and with -cors-origin.
func TestCORS(t *testing.T) {
	demo := func(t *testing.T) *service { return demoService(t) }
	keys := func(t *testing.T) *service { return newService(t, "") }
	for _, test := range []struct {
		rule    string
		service func(*testing.T) *service
		origins string
		allowed bool
	}{
		{"demo keys allow localhost", demo, "http://localhost http://localhost:5173", true},
		{"demo keys allow names under localhost", demo, "http://app.localhost:5173", true},
		{"demo keys allow loopback addresses", demo, "http://127.9.9.9 https://[::1]:1", true},
		{"demo keys allow nothing else", demo, "https://shop.example:1 null http://192.0.2.1 " +
			"http://localhost.evil.example http://evillocalhost http://127.0.0.1.example", false},
		{"the flag allows its origin", keys, shop, true},
		{"the flag allows no other", keys, shop + ":8443 http://shop.example null " +
			"https://a.shop.example http://localhost:5173", false},
		{"the flag counts with the demo keys, too", demo, shop, true},
	} {
		t.Run(test.rule, func(t *testing.T) {
			s := test.service(t)
			s.corsOrigin = shop
			for origin := range strings.FieldsSeq(test.origins) {
				want := []string{"", "", ""}
				if test.allowed {
					want = []string{origin, "Origin", "X-RateLimit-Limit, X-RateLimit-Remaining, " +
						"X-RateLimit-Reset, Retry-After, Location, Link, Allow, Deprecation, " +
						"Sunset, WWW-Authenticate"}
				}
				for path := range strings.FieldsSeq("/pets /x //x /healthz / /openapi.json") {
					got := s.do("GET "+path, "", "Origin: "+origin).Header
					equal(t, path+" from "+origin, want, []string{
						got.Get("Access-Control-Allow-Origin"), got.Get("Vary"),
						got.Get("Access-Control-Expose-Headers")})
				}
			}
		})
	}
	t.Run("without the flag, a keys file allows nothing", func(t *testing.T) {
		got := newService(t, "").do("GET /pets", "", "Origin: http://localhost").Header
		equal(t, "Access-Control-Allow-Origin", "", got.Get("Access-Control-Allow-Origin"))
	})
}

func TestPreflight(t *testing.T) {
	const method, origin = "Access-Control-Request-Method: PUT", "Origin: " + shop
	s := newService(t, "")
	s.corsOrigin = shop
	t.Run("of an allowed origin is 204 without a key", func(t *testing.T) {
		for path := range strings.FieldsSeq("/pets/1 /nothing //pets / /healthz /openapi.json") {
			resp := s.do("OPTIONS "+path, "", "Authorization", origin, method)
			equal(t, path+": status", 204, resp.StatusCode)
			resp.Header.Del("Access-Control-Expose-Headers")
			equal(t, path+": header", http.Header{
				"Access-Control-Allow-Origin":  {shop},
				"Access-Control-Allow-Methods": {"GET, HEAD, POST, PUT, PATCH, DELETE"},
				"Access-Control-Allow-Headers": {"Authorization, X-API-Key, Content-Type"},
				"Cache-Control":                {"no-store"},
				"Vary":                         {"Origin"},
			}, resp.Header)
		}
	})
	for rule, header := range map[string][]string{
		"of another origin is none": {"Origin: http://evil.example", method},
		"without a method is none":  {origin},
		"without an origin is none": {method},
	} {
		t.Run(rule, func(t *testing.T) {
			resp := s.do("OPTIONS /pets", "", append(header, "Authorization")...)
			equal(t, "status", 401, resp.StatusCode)
		})
	}
}

// An outcome is what requests get, such as "GET /pets; PUT /pets/1 forty", one a second, with the
// key big unless another is given. "dropped" is no response, and "200+3s" one that took 3 seconds.
type outcome struct{ rule, flags, requests, want string }

func checkOutcomes(t *testing.T, outcomes []outcome) {
	for _, test := range outcomes {
		t.Run(test.rule, func(t *testing.T) {
			inBubble(t, func(t *testing.T, s *service) {
				s.useFlags(test.flags)
				var got []string
				for request := range strings.SplitSeq(test.requests, "; ") {
					words := append(strings.Fields(request), "big")
					begin := time.Now()
					status := s.outcome(words[0]+" "+words[1], words[2])
					if took := time.Since(begin); took > 0 {
						status += "+" + took.String()
					}
					got = append(got, status)
					time.Sleep(time.Second)
				}
				equal(t, test.flags+": "+test.requests, test.want, strings.Join(got, " "))
			})
		})
	}
}

// useFlags restarts the service with the flags of the program.
func (s *service) useFlags(flags string) {
	cfg, err := parseFlags(strings.Fields(flags), io.Discard)
	if err != nil {
		s.t.Fatal(err)
	}
	s.Server = newServer(s.store, s.limits, s.logger, cfg.options)
}

func (s *service) outcome(request, key string) (status string) {
	defer func() {
		if p := recover(); p == http.ErrAbortHandler { // net/http closes the connection
			status = "dropped"
		} else if p != nil {
			panic(p)
		}
	}()
	return strconv.Itoa(s.do(request, newKiwi, "Authorization: Bearer "+key).StatusCode)
}

var eleven = "GET /pets one" + strings.Repeat("; GET /pets one", 10) // the last one is banned

func TestFail(t *testing.T) {
	const three = "GET /pets; GET /pets; GET /pets; "
	checkOutcomes(t, []outcome{
		{"is off by default", "", "GET /pets; GET /pets", "200 200"},
		{"1/1 fails all", "-fail 1/1", "GET /pets; POST /pets; PUT /x; HEAD /x", "503 503 503 503"},
		{"1/2 fails every other one", "-fail 1/2", three + "POST /pets", "503 200 503 201"},
		{"2/3 fails two in a row", "-fail 2/3", three + three + "PUT /pets/1",
			"503 503 200 503 503 200 503"},
		{"counts all keys together", "-fail 1/2", "GET /pets; GET /pets free; GET /pets pro",
			"503 200 503"},
		{"counts requests that go wrong", "-fail 1/3", "GET /x; PUT /pets; GET /pets/x; GET /pets",
			"503 405 400 503"},
		{"does not count a 401", "-fail 1/2", "GET /pets x; GET /pets; GET /pets x; GET /pets",
			"401 503 401 200"},
		{"does not count a 429 or 403", "-fail 1/2", eleven + "; GET /pets",
			"503" + strings.Repeat(" 429", 9) + " 403 200"},
		{"does not count open paths", "-fail 1/1", "GET /; GET /healthz", "200 200"},
		{"changes nothing", "-fail 1/3", "DELETE /pets/5; GET /pets/5; POST /pets", "503 200 201"},
		{"counts it against its key", "-fail 1/1", "GET /pets one; GET /pets one", "503 429"},
	})
	t.Run("sends Retry-After", func(t *testing.T) {
		s := newService(t, "")
		s.useFlags("-fail 1/1")
		equal(t, "Retry-After", "1", s.do("GET /pets", "").Header.Get("Retry-After"))
	})
}

func TestDrop(t *testing.T) {
	const three = "GET /pets; GET /pets; GET /pets; "
	checkOutcomes(t, []outcome{
		{"1/1 drops all", "-drop 1/1", three + "DELETE /pets/5", "dropped dropped dropped dropped"},
		{"2/3 drops two in a row", "-drop 2/3", three + "GET /x", "dropped dropped 200 404"},
		{"drops no errors", "-drop 1/1", "GET /pets/77; GET /nothing; PUT /pets", "404 404 405"},
		{"counts no errors", "-drop 1/2", "GET /pets/x; GET /pets; DELETE /pets/2; GET /pets",
			"400 dropped 409 200"},
		{"counts no open paths", "-drop 1/1", "GET /; GET /healthz", "200 200"},
		{"counts what -fail lets pass", "-fail 1/2 -drop 1/2", three + "POST /pets",
			"503 dropped 503 201"},
		{"keeps what was changed", "-drop 1/2", "POST /pets; GET /pets/6", "dropped 200"},
		{"counts it against its key", "-drop 1/1", "GET /pets one; GET /pets one", "dropped 429"},
	})
	t.Run("saves what was changed", func(t *testing.T) {
		s := freshService(t)
		s.useFlags("-drop 1/1")
		equal(t, "outcome", "dropped", s.outcome("POST /pets", "big"))
		equal(t, "the file has it", true, strings.Contains(contentOf(t, s.store.path), "Kiwi"))
		breakDisk(t, s.store.path)
		equal(t, "outcome of a failed save", "503", s.outcome("POST /pets", "big"))
	})
	t.Run("closes the connection, and keeps none alive", func(t *testing.T) {
		s := newService(t, "")
		s.useFlags("-drop 1/2")
		server := httptest.NewUnstartedServer(nil)
		server.Config = httpServer(s.Server)
		server.Start()
		defer server.Close()
		r, _ := http.NewRequest("GET", server.URL+"/pets", nil)
		r.Header.Set("X-API-Key", "big")
		_, err := http.DefaultClient.Do(r)
		equal(t, "the first request gets no response", true, errors.Is(err, io.EOF))
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		equal(t, "the second one's connection is closed", true, resp.Close)
	})
}

// M and N of -fail and -drop are whole numbers, 1 <= M <= N <= 1000000, without sign or spaces.
func TestRatio(t *testing.T) {
	for _, test := range []struct {
		rule, texts string // separated by commas
		valid       bool
	}{
		{"M is at most N", "1/1,2/3,1/1000000,1000000/1000000", true},
		{"M is not larger", "2/1,1/0,1000001/1000000", false},
		{"M is at least 1", "0/1,0/0,-1/2", false},
		{"N is at most a million", "1/1000001,1/99999999999999999999", false},
		{"without a sign, a space or zeros", "+1/2,1/+2, 1/2,1/2 ,1 / 2,01/2,1/02,0x1/2", false},
		{"two whole numbers", "1,1/,/2,,1/2/3,1.0/2,0.5,a/b,1:2", false},
	} {
		t.Run(test.rule, func(t *testing.T) {
			for text := range strings.SplitSeq(test.texts, ",") {
				equal(t, strconv.Quote(text), test.valid, new(ratio).parse(text) == nil)
			}
		})
	}
}

func TestDelay(t *testing.T) {
	const delay = "-delay 3s"
	checkOutcomes(t, []outcome{
		{"holds back a response", delay, "GET /pets; POST /pets", "200+3s 201+3s"},
		{"holds back errors", delay, "PUT /pets; GET /nothing; GET //x", "405+3s 404+3s 404+3s"},
		{"holds back what -fail fails", delay + " -fail 1/1", "GET /pets", "503+3s"},
		{"holds back what -drop drops", delay + " -drop 1/1", "GET /pets", "dropped+3s"},
		{"does not hold back a 401", delay, "GET /pets x", "401"},
		{"does not hold back a 429 or 403", delay, eleven,
			"200+3s" + strings.Repeat(" 429", 9) + " 403"},
		{"does not hold back open paths", delay, "GET /; GET /healthz", "200 200"},
	})
	t.Run("counts a request when it arrives", func(t *testing.T) {
		inBubble(t, func(t *testing.T, s *service) {
			s.useFlags(delay)
			first := make(chan rates)
			go func() { first <- s.get("one") }()
			synctest.Wait()
			s.expectRates("one", "429: 0 of 1 left, ends in 60 s, retry after 60 s")
			equal(t, "the first", "200: 0 of 1 left, ends in 57 s", (<-first).String())
		})
	})
}

func TestLog(t *testing.T) {
	duration := regexp.MustCompile(` [0-9.]+(ns|µs|ms|s)\n`)
	for _, test := range []struct{ rule, flags, request, key, want string }{
		{"has method, path and status", "-v", "POST /pets?x", "big", "POST \"/pets\" 201 TIME\n"},
		{"has open paths", "-v", "GET /healthz", "big", "GET \"/healthz\" 200 TIME\n"},
		{"has preflights", "-v", "OPTIONS /x", "", "OPTIONS \"/x\" 204 TIME\n"},
		{"has dropped ones", "-v -drop 1/1", "GET /pets", "big", "GET \"/pets\" dropped TIME\n"},
		{"has no key", "-v", "GET /pets", "secret", "GET \"/pets\" 401 TIME\n"},
		{"escapes the path", "-v", "GET /%0aevil", "big", "GET \"/\\nevil\" 404 TIME\n"},
		{"is empty without -v", "", "GET /pets", "secret", ""},
	} {
		t.Run(test.rule, func(t *testing.T) {
			s := newService(t, "")
			s.useFlags(test.flags + " -cors-origin " + shop)
			if test.key == "" {
				s.do(test.request, "", "Origin: "+shop, "Access-Control-Request-Method: GET")
			} else {
				s.outcome(test.request, test.key)
			}
			equal(t, "log", test.want, duration.ReplaceAllString(s.log.String(), " TIME\n"))
		})
	}
}

func TestPanic(t *testing.T) {
	s := freshService(t)
	before := contentOf(t, s.store.path)
	s.mux.HandleFunc("/boom", func(w http.ResponseWriter, r *http.Request) {
		s.serveAPI(w, r, methods{"POST": func(*http.Request) response {
			return respond(update(s.store, 5,
				func(next *state, id int64) (*record[storedPet], error) {
					next.removePet(id)
					panic("boom")
				}))
		}})
	})
	t.Run("is a 500", func(t *testing.T) {
		equal(t, "status", "500", s.outcome("POST /boom", "big"))
	})
	t.Run("changes nothing", func(t *testing.T) {
		equal(t, "records", before, snapshotOf(t, s.store.view()))
		equal(t, "file", before, contentOf(t, s.store.path))
	})
	t.Run("is logged with its stack", func(t *testing.T) {
		for _, part := range []string{"panic: boom\n", "handlers_test.go:"} {
			equal(t, "has "+part, true, strings.Contains(s.log.String(), part))
		}
	})
	t.Run("lets the next write pass", func(t *testing.T) {
		equal(t, "status", "204", s.outcome("DELETE /pets/5", "big"))
	})
}

func TestOpenPaths(t *testing.T) {
	get := func(s *service, path string) string {
		body, _ := io.ReadAll(s.do("GET "+path, "", "Authorization").Body)
		return string(body)
	}
	t.Run("need no key and are not counted", func(t *testing.T) {
		s := newService(t, "")
		for path := range strings.FieldsSeq("/ /healthz /openapi.json /docs/keys.json") {
			resp := s.do("GET "+path, "", "Authorization")
			equal(t, path+": status", 200, resp.StatusCode)
			equal(t, path+": X-RateLimit-Limit", "", resp.Header.Get("X-RateLimit-Limit"))
		}
		equal(t, "requests left to strangers", 59, s.get("stranger").remaining)
	})
	t.Run("health tells the start in UTC to the nanosecond", func(t *testing.T) {
		zone := time.Local
		defer func() { time.Local = zone }()
		time.Local = time.FixedZone("", -8*60*60)
		inBubble(t, func(t *testing.T, s *service) { // which begins with the year 2000
			time.Sleep(1234567890)
			s.useFlags("") // restarts it
			time.Sleep(time.Hour)
			want := `{"status":"ok","started":"2000-01-01T00:00:01.23456789Z"}` + "\n"
			equal(t, "body", want, get(s, "/healthz"))
		})
	})
	t.Run("health is 200 after a failed save", func(t *testing.T) {
		s := freshService(t)
		breakDisk(t, s.store.path)
		equal(t, "a write", "503", s.outcome("POST /pets", "big"))
		equal(t, "health", "200", s.outcome("GET /healthz", "big"))
	})
	t.Run("the description has the address of the server", func(t *testing.T) {
		s := newService(t, "")
		s.baseURL = "http://127.0.0.1:9999"
		want := strings.Replace(string(openAPI), `"http://localhost:8080"`, `"`+s.baseURL+`"`, 1)
		equal(t, "description", want+"\n", get(s, "/openapi.json"))
	})
	t.Run("the page gets the demo keys, and no others", func(t *testing.T) {
		equal(t, "demo keys", demoKeys+"\n", get(demoService(t), "/docs/keys.json"))
		equal(t, "others", "[]\n", get(newService(t, ""), "/docs/keys.json"))
	})
}

// What else the page does is tested in a browser.
func TestPage(t *testing.T) {
	loads := regexp.MustCompile(`["'(](\.?/[\w./-]+\.(?:js|css|svg|json))["')]`)
	unsafe := regexp.MustCompile(`(?i)(inner|outer|adjacent|set|parse)\w*html|parseFromString|` +
		`contextualFragment|srcdoc|document\.write|\beval\b|new Function`)
	types := map[string]string{
		".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8",
		".css": "text/css; charset=utf-8", ".svg": "image/svg+xml", ".json": "application/json",
	}
	s := newService(t, "")
	files := []string{"/docs/index.html"} // grows as files load others
	for i := 0; i < len(files); i++ {
		file := files[i]
		resp := s.do("GET "+file, "", "Authorization")
		source, _ := io.ReadAll(resp.Body)
		t.Run("serves "+path.Base(file), func(t *testing.T) {
			equal(t, "status", 200, resp.StatusCode)
			equal(t, "Content-Type", types[path.Ext(file)], resp.Header.Get("Content-Type"))
		})
		if path.Ext(file) == ".json" {
			continue
		}
		t.Run("makes no HTML or code of texts in "+path.Base(file), func(t *testing.T) {
			equal(t, "unsafe", "", unsafe.FindString(string(source)))
		})
		for _, found := range loads.FindAllStringSubmatch(string(source), -1) {
			next := found[1]
			if !path.IsAbs(next) {
				next = path.Join(path.Dir(file), next)
			}
			if !slices.Contains(files, next) {
				files = append(files, next)
			}
		}
	}
	t.Run("has scripts", func(t *testing.T) {
		equal(t, "more than five files", true, len(files) > 5)
	})
	t.Run("loads nothing from elsewhere", func(t *testing.T) {
		header := s.do("GET /", "", "Authorization").Header
		equal(t, "header", http.Header{
			"Content-Type": {types[".html"]},
			"Content-Security-Policy": {
				"default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
			"X-Content-Type-Options": {"nosniff"},
			"Cache-Control":          {"no-cache"},
		}, header)
	})
}
