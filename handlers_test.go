package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
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
	tom     = `{"id":4,"name":"Tom","categoryId":2,"status":"sold"}`
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
	empty     = `{"id":3,"complete":false}`
)

func withID(record string, id int64) string {
	return `{"id":` + strconv.FormatInt(id, 10) + record[strings.Index(record, ","):]
}

func TestCreatePet(t *testing.T) {
	checkRows(t, []row{
		{"returns the pet with its id", "POST /pets", `{` + sold, 201, `{"id":6,` + sold},
		{"", "GET /pets/6", ``, 200, `{"id":6,` + sold},
		{"makes it available by default", "POST /pets", newKiwi, 201, kiwi},
		{"creates its stock with quantity 0", "POST /pets", `{` + sold, 201, `{"id":6,` + sold},
		{"", "GET /inventory/6", ``, 200, `{"petId":6,"quantity":0,"status":"sold"}`},
		{"refuses a category that does not exist", "POST /pets", `{"name":"x","categoryId":0}`, 400,
			"unknown_reference: categoryId 0 does not exist"},
		{"", "POST /pets", `{"name":"x","categoryId":-9223372036854775808}`, 400,
			"unknown_reference: categoryId -9223372036854775808 does not exist"},
	})
}

func TestReplacePet(t *testing.T) {
	checkRows(t, []row{
		{"replaces all fields", "PUT /pets/2", `{` + sold, 200, `{"id":2,` + sold},
		{"", "GET /pets/2", ``, 200, `{"id":2,` + sold},
		{"resets the status by default", "PUT /pets/2", newKiwi, 200, withID(kiwi, 2)},
		{"keeps its stock", "PUT /pets/5", newKiwi, 200, withID(kiwi, 5)},
		{"", "GET /inventory/5", ``, 200, `{"petId":5,"quantity":12,"status":"available"}`},
		{"copies its status to the stock", "PUT /pets/1", `{` + sold, 200, `{"id":1,` + sold},
		{"", "GET /inventory/1", ``, 200, `{"petId":1,"quantity":3,"status":"sold"}`},
	})
}

func TestDeletePet(t *testing.T) {
	const other = `{"id":2,"petId":1,"complete":false}`
	checkRows(t, []row{
		{"deletes the pet", "DELETE /pets/5", ``, 204, ``},
		{"", "GET /pets/5", ``, 404, "not_found: No pet has the id 5"},
		{"deletes its stock", "DELETE /pets/5", ``, 204, ``},
		{"", "GET /inventory/5", ``, 404, "not_found: No pet has the id 5"},
		{"refuses while an order names it", "DELETE /pets/2", ``, 409, "in_use: Order 2 refers"},
		{"", "DELETE /pets/4", ``, 409, "in_use: Order 1"}, // which is complete
		{"deletes it once the order is cancelled", "DELETE /store/orders/2", ``, 204, ``},
		{"", "DELETE /pets/2", ``, 204, ``},
		{"deletes it once the order names another", "PUT /store/orders/2", other, 200, other},
		{"", "DELETE /pets/2", ``, 204, ``},
	})
}

func TestCategories(t *testing.T) {
	const plain = `{"id":4,"name":"Fish"}`
	checkRows(t, []row{
		{"a POST returns it with its id", "POST /categories", `{` + loud, 201, `{"id":5,` + loud},
		{"", "GET /categories/5", ``, 200, `{"id":5,` + loud},
		{"a PUT replaces all fields", "PUT /categories/3", `{` + loud, 200, `{"id":3,` + loud},
		{"", "GET /categories/3", ``, 200, `{"id":3,` + loud},
		{"a PUT removes the description by default", "PUT /categories/4", plain, 200, plain},
		{"a DELETE deletes it", "DELETE /categories/4", ``, 204, ``},
		{"", "GET /categories?after=2", ``, 200, "[" + rabbits + "]"},
		{"no DELETE while a pet belongs to it", "DELETE /categories/3", ``, 409, "in_use: Pet 5"},
		{"a DELETE once the pet is in another", "PUT /pets/5", newKiwi, 200, withID(kiwi, 5)},
		{"", "DELETE /categories/3", ``, 204, ``},
	})
}

func TestOrders(t *testing.T) {
	const (
		post, put1, put2 = "POST /store/orders", "PUT /store/orders/1", "PUT /store/orders/2"
		large            = `"petId":4,"quantity":9,"complete":false}`
		done             = `{"id":2,"complete":true}`
		more             = `{"id":1,"quantity":7,"complete":true}`
		unknown          = "unknown_reference: petId "
	)
	checkRows(t, []row{
		{"a POST returns it with its id", post, `{` + fullOrder, 201, `{"id":3,` + fullOrder},
		{"", "GET /store/orders/3", ``, 200, `{"id":3,` + fullOrder},
		{"a POST needs no field", post, `{}`, 201, empty},
		{"a POST refuses a pet that does not exist", post, `{"petId":0}`, 400, unknown + "0 does"},
		{"", post, `{"petId":9223372036854775807}`, 400, unknown + "9223372036854775807 does"},
		{"a POST neither moves nor needs stock", post, `{` + large, 201, `{"id":3,` + large},
		{"", "GET /inventory/4", ``, 200, `{"petId":4,"quantity":0,"status":"sold"}`},
		{"a PUT replaces all fields", put2, `{` + fullOrder, 200, `{"id":2,` + fullOrder},
		{"", "GET /store/orders/2", ``, 200, `{"id":2,` + fullOrder},
		{"a PUT removes what is left out", put2, `{}`, 200, withID(empty, 2)},
		{"a PUT completes it", put2, done, 200, done},
		{"a PUT does not reopen it", put1, `{"petId":4}`, 409, "order_complete: "},
		{"", "GET /store/orders/1", ``, 200, order1},
		{"a PUT changes a complete one that stays so", put1, more, 200, more},
		{"a DELETE deletes it", "DELETE /store/orders/2", ``, 204, ``},
		{"", "GET /store/orders", ``, 200, "[" + order1 + "]"},
		{"no DELETE of a complete one", "DELETE /store/orders/1", ``, 409, "order_complete: "},
		{"a DELETE moves no stock", "DELETE /store/orders/2", ``, 204, ``},
		{"", "GET /inventory/2", ``, 200, `{"petId":2,"quantity":1,"status":"pending"}`},
	})
}

func TestUpdateInventory(t *testing.T) {
	const stock, nine = "PATCH /inventory/4", `{"petId":4,"quantity":9,"status":"sold"}`
	checkRows(t, []row{
		{"updates the quantity", stock, `{"quantity":9}`, 200, nine},
		{"", "GET /inventory/4", ``, 200, nine},
		{"", "GET /pets/4", ``, 200, tom}, // as it was
	})
}

func TestIDInTheBody(t *testing.T) {
	checkRows(t, []row{
		{"a PUT takes what a GET gave", "PUT /pets/2", bella, 200, bella},
		{"", "PUT /categories/4", fish, 200, fish},
		{"", "PUT /store/orders/1", order1, 200, order1},
		{"a PUT takes 0 as none", "PUT /pets/2", withID(bella, 0), 200, bella},
		{"", "PUT /categories/4", withID(fish, 0), 200, fish},
		{"", "PUT /store/orders/2", withID(order2, 0), 200, order2},
		{"a PUT takes no other", "PUT /pets/2", withID(bella, -2), 400, "invalid_field: id must"},
		{"a POST takes 0 as none", "POST /pets", withID(kiwi, 0), 201, kiwi},
		{"", "POST /categories", `{"id":0,` + loud, 201, `{"id":5,` + loud},
		{"", "POST /store/orders", withID(empty, 0), 201, empty},
		{"a POST takes no other", "POST /pets", kiwi, 400, "invalid_field: id must be 0 or left"},
	})
}

// An id in a path that is no 64-bit integer is 400. One that names nothing is 404.
func TestIDInThePath(t *testing.T) {
	paths := []struct{ methods, path, body string }{
		{"GET PUT DELETE", "/pets/", newKiwi},
		{"GET PUT DELETE", "/categories/", `{"name":"x"}`},
		{"GET PUT DELETE", "/store/orders/", `{}`},
		{"GET PATCH", "/inventory/", `{"quantity":1}`},
	}
	const plain = "invalid_parameter: The id in the path must be a plain"
	for _, test := range []struct {
		rule, ids string
		status    int
		want      string
	}{
		{"no 64-bit integer", "x 1.0 1e0 1_0 ٣ 9223372036854775808", 400, plain},
		{"another spelling", "01 +1 -0 001", 400, plain},
		{"names nothing", "77 %37%37 0 -1 9223372036854775807 -9223372036854775808", 404,
			"not_found: No "},
	} {
		t.Run(test.rule, func(t *testing.T) {
			s := newService(t, "")
			for id := range strings.FieldsSeq(test.ids) {
				for _, p := range paths {
					for method := range strings.FieldsSeq(p.methods) {
						s.expect(method+" "+p.path+id, p.body, test.status, test.want)
					}
				}
			}
		})
	}
}

func TestLists(t *testing.T) {
	s := newService(t, "")
	for range 150 { // pets 6 to 155
		s.do("POST /pets", `{"name":"P","categoryId":1,"status":"sold"}`)
	}
	s.do("DELETE /pets/30", "")
	from := func(first, last int64) (ids []int64) {
		for id := first; id <= last; id++ {
			ids = append(ids, id)
		}
		return ids
	}
	for _, test := range []struct {
		rule, target string
		want         []int64 // ids
		next         string  // the query of the link
	}{
		{"a page has 20 records in id order", "/pets", from(1, 20), "after=20&limit=20"},
		{"limit makes it smaller", "/pets?limit=1", from(1, 1), "after=1&limit=1"},
		{"limit makes it larger", "/pets?after=40&limit=100", from(41, 140), "after=140&limit=100"},
		{"after returns greater ids", "/pets?after=2", from(3, 22), "after=22&limit=20"},
		{"after need not exist", "/pets?after=0&limit=2", from(1, 2), "after=2&limit=2"},
		{"after may be deleted", "/pets?after=30&limit=2", from(31, 32), "after=32&limit=2"},
		{"after takes each int64", "/pets?after=9223372036854775807", nil, ""},
		{"filters by status", "/pets?status=available", []int64{1, 3, 5}, ""},
		{"filters by category", "/pets?categoryId=2", from(3, 4), ""},
		{"filters by the first category", "/pets?categoryId=1&limit=2", from(1, 2),
			"after=2&categoryId=1&limit=2"},
		{"filters by a category without pets", "/pets?categoryId=77", nil, ""},
		{"filters by both", "/pets?status=sold&categoryId=2", from(4, 4), ""},
		{"the link keeps the filters", "/pets?status=sold&categoryId=1", from(6, 25),
			"after=25&categoryId=1&limit=20&status=sold"},
		{"the last page has no link", "/pets?after=136", from(137, 155), ""},
		{"nor has one that is just full", "/pets?after=135", from(136, 155), ""},
		{"nor has one whose rest is filtered out", "/pets?status=pending&limit=1", from(2, 2), ""},
		{"of categories", "/categories?after=1&limit=2", from(2, 3), "after=3&limit=2"},
		{"of orders", "/store/orders?limit=1", from(1, 1), "after=1&limit=1"},
		{"of the inventory", "/inventory?limit=7", from(1, 7), "after=7&limit=7"},
		{"an empty one of the inventory is an array", "/inventory?after=155", nil, ""},
	} {
		t.Run(test.rule, func(t *testing.T) {
			link := ""
			if test.next != "" {
				path, _, _ := strings.Cut(test.target, "?")
				link = "<" + path + "?" + test.next + `>; rel="next"`
			}
			resp := s.do("GET "+test.target, "")
			var records []struct{ ID, PetID int64 } // one of them
			if err := json.NewDecoder(resp.Body).Decode(&records); err != nil || records == nil {
				t.Errorf("the list is not an array: %v", err)
			}
			var got []int64
			for _, r := range records {
				got = append(got, cmp.Or(r.ID, r.PetID))
			}
			equal(t, "ids", test.want, got)
			equal(t, "Link", link, resp.Header.Get("Link"))
		})
	}
}

func TestQuery(t *testing.T) {
	all := []string{"/pets", "/categories", "/store/orders", "/inventory"}
	pets, others := all[:1], all[1:]
	for _, test := range []struct {
		rule          string
		lists         []string
		queries, want string
	}{
		{"wrong limit", all, "limit=0 limit=101 limit=-1 limit=x limit=1.0 limit=%2B1 limit=01",
			"limit must be an integer from 1 to 100."},
		{"wrong after", all, "after=-1 after=9223372036854775808 after=x after=1.0 after=00",
			"after must be an integer from 0 to 9223372036854775807."},
		{"no value", all, "limit= limit", "limit must not be repeated or empty."},
		{"repeated", all, "limit=1&limit=1 limit=1&after=1&limit=2", "limit must not be repeated"},
		{"malformed", all, "limit=%zz limit=1;after=1 %", "The query must consist of"},
		{"unknown", all, "offset=1 offset= Limit=1 =1", `The parameter "`},
		{"wrong status", pets, "status=gone status=Sold", "status must be available, pending or"},
		{"repeated status", pets, "status= status=sold&status=sold", "status must not be repeated"},
		{"wrong category", pets, "categoryId=x categoryId=0 categoryId=-1",
			"categoryId must be an integer from 1 to 9223372036854775807."},
		{"repeated category", pets, "categoryId=1&categoryId=1", "categoryId must not be repeated"},
		{"filter of another list", others, "status=sold categoryId=1", `The parameter "`},
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
		{"a list has a record a line", "GET /categories?after=2",
			"[" + rabbits + ",\n" + fish + "]\n"},
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

func TestBody(t *testing.T) {
	for rule, test := range map[string]struct{ size, status int }{
		"may have 64 KiB":          {65536, 200},
		"may not have a byte more": {65537, 413},
	} {
		t.Run(rule, func(t *testing.T) {
			body := `{"name":"x"}` + strings.Repeat(" ", test.size-12)
			for _, length := range []int{test.size, -1} { // -1 is that of a body in chunks
				r := httptest.NewRequest("PUT", "/categories/1", strings.NewReader(body))
				r.ContentLength = int64(length)
				r.Header.Set("X-API-Key", "big")
				equal(t, "status", test.status, newService(t, "").exchange(r).StatusCode)
			}
		})
	}
}

func TestContentType(t *testing.T) {
	for _, test := range []struct {
		rule, values string // separated by commas
		status       int
	}{
		{"may be missing", "", 201},
		{"may be JSON in any letter case", "application/json,Application/JSON", 201},
		{"may have any parameters", "application/json; charset=iso-8859-1,application/json ;", 201},
		{"may be nothing else", "application/merge-patch+json,application/jsonp,; charset=utf-8," +
			"application/x-www-form-urlencoded,text/plain; application/json", 415},
	} {
		t.Run(test.rule, func(t *testing.T) {
			for value := range strings.SplitSeq(test.values, ",") {
				resp := newService(t, "").do("POST /pets", newKiwi, "Content-Type: "+value)
				equal(t, "status with "+value, test.status, resp.StatusCode)
			}
		})
	}
}

func TestMethodNotAllowed(t *testing.T) {
	for _, test := range []struct{ rule, paths, allow string }{
		{"lists", "/pets /categories /store/orders", "GET, HEAD, POST"},
		{"records", "/pets/5 /pets/x /categories/4 /store/orders/2", "DELETE, GET, HEAD, PUT"},
		{"inventory", "/inventory", "GET, HEAD"},
		{"stock of a pet", "/inventory/1", "GET, HEAD, PATCH"},
		{"open paths", "/ /healthz /openapi.json /docs/keys.json /docs/index.html", "GET, HEAD"},
	} {
		t.Run(test.rule, func(t *testing.T) {
			s := newService(t, "")
			for path := range strings.FieldsSeq(test.paths) {
				for method := range strings.FieldsSeq("GET HEAD POST PUT PATCH OPTIONS get") {
					if strings.Contains(test.allow, method) {
						continue
					}
					resp := s.do(method+" "+path, "")
					equal(t, method+" "+path, "405, "+test.allow,
						fmt.Sprint(resp.StatusCode, ", ", resp.Header.Get("Allow")))
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

func TestHEAD(t *testing.T) {
	t.Run("gets the status and the header of a GET", func(t *testing.T) {
		s := newService(t, "")
		for target := range strings.FieldsSeq("/pets?limit=1 /pets/1 /store/orders/3 " +
			"/inventory/1 /categories?x=1 /nothing / /healthz /openapi.json") {
			get, head := s.do("GET "+target, ""), s.do("HEAD "+target, "")
			get.Header.Del("X-RateLimit-Remaining") // it falls with each request
			head.Header.Del("X-RateLimit-Remaining")
			equal(t, target+": status", get.StatusCode, head.StatusCode)
			equal(t, target+": header", get.Header, head.Header)
		}
	})
}

// A header where it is not described fails each test, so this one tests values.
func TestHeader(t *testing.T) {
	s := newService(t, "")
	t.Run("Location of a new record", func(t *testing.T) {
		for want, body := range map[string]string{
			"/pets/6": newKiwi, "/categories/5": `{"name":"x"}`, "/store/orders/3": `{}`,
		} {
			resp := s.do("POST "+path.Dir(want), body)
			equal(t, "Location", want, resp.Header.Get("Location"))
		}
	})
	t.Run("deprecation of a 200, 400 and 404", func(t *testing.T) {
		for id := range strings.FieldsSeq("1 x 77") {
			h := s.do("GET /pets/"+id, "").Header
			equal(t, id, []string{"@1795132800", "Thu, 05 Dec 2030 00:00:00 GMT",
				`</pets>; rel="successor-version"`},
				[]string{h.Get("Deprecation"), h.Get("Sunset"), h.Get("Link")})
		}
	})
}

func TestKeyOfARequest(t *testing.T) {
	for _, test := range []struct {
		rule, authorizations, apiKey string // the first ones are separated by commas
		valid                        bool
	}{
		{"in Authorization", "Bearer big,Bearer   big", "", true},
		{"the scheme has any letter case", "bEARER big,bearer big", "", true},
		{"in X-API-Key", "", "big", true},
		{"Authorization counts first", "Bearer big", "wrong", true},
		{"Authorization counts even if it is wrong", "Bearer wrong,Basic big", "big", false},
		{"malformed", "Basic big,big,Bearerbig,Bearer big x,Bearer", "", false},
		{"unknown", "Bearer wrong,Bearer BIG", "", false},
		{"unknown in X-API-Key", "", "wrong", false},
		{"missing", "", "", false},
	} {
		t.Run(test.rule, func(t *testing.T) {
			for authorization := range strings.SplitSeq(test.authorizations, ",") {
				resp := newService(t, "").do("GET /pets", "",
					"Authorization: "+authorization, "X-API-Key: "+test.apiKey)
				equal(t, authorization+": is not 401", test.valid, resp.StatusCode != 401)
				challenge := resp.Header.Get("WWW-Authenticate")
				equal(t, authorization+": has a challenge", !test.valid, challenge == "Bearer")
			}
		})
	}
	t.Run("a stranger cannot tell which paths exist", func(t *testing.T) {
		s := newService(t, "")
		for request := range strings.SplitSeq("GET /pets,GET /pets/x,GET /x,PUT /pets", ",") {
			resp := s.do(request, "", "Authorization: Bearer secret")
			body, _ := io.ReadAll(resp.Body)
			equal(t, request, "unauthorized: A valid API key is required; "+
				"send it as Authorization: Bearer KEY.", errorIn(body)) // it has no key either
			equal(t, request+": Allow", "", resp.Header.Get("Allow"))
		}
	})
}

// The demo keys count only in requests whose Host a web page with a name of its own cannot have.
func TestHostOfTheDemoKeys(t *testing.T) {
	for _, test := range []struct {
		rule, hosts string // separated by commas
		status      int
	}{
		{"localhost counts", "localhost,localhost:8080,LOCALHOST:1", 200},
		{"an address counts", "127.0.0.1,127.0.0.1:8080,192.0.2.1,[::1],[2001:db8::1]:8080", 200},
		{"another name does not", "evil.example,evil.example:80,localhost.evil.example,localhos," +
			"127.0.0.1.example,docker.internal,calhost,app.localhost,evil.example:localhost", 401},
		{"no Host does not", "", 401},
	} {
		t.Run(test.rule, func(t *testing.T) {
			s := demoService(t)
			for host := range strings.SplitSeq(test.hosts, ",") {
				r := httptest.NewRequest("GET", "/pets", nil)
				r.Host = host
				r.Header.Set("Authorization", "Bearer demo-pro")
				equal(t, host, test.status, s.exchange(r).StatusCode)
			}
		})
	}
}

const shop = "https://shop.example"

// Web pages of which origins may call the API with the demo keys, and with -cors-origin.
func TestCORS(t *testing.T) {
	for _, test := range []struct {
		rule          string
		demo          bool
		flag, origins string
		allowed       bool
	}{
		{"demo keys allow localhost", true, "", "http://localhost http://app.localhost:5173", true},
		{"demo keys allow loopback addresses", true, "", "http://127.9.9.9 https://[::1]:1", true},
		{"demo keys allow nothing else", true, "", "https://shop.example null http://192.0.2.1 " +
			"http://localhost.evil.example http://evillocalhost http://127.0.0.1.example", false},
		{"a keys file allows nothing", false, "", "http://localhost http://127.0.0.1", false},
		{"the flag allows its origin", false, shop, shop, true},
		{"the flag counts with the demo keys, too", true, shop, shop + " http://localhost", true},
		{"the flag allows no other", false, shop, shop + ":8443 http://shop.example null " +
			"https://a.shop.example http://localhost:5173", false},
	} {
		t.Run(test.rule, func(t *testing.T) {
			s := newService(t, "")
			if test.demo {
				s = demoService(t)
			}
			s.corsOrigin = test.flag
			for origin := range strings.FieldsSeq(test.origins) {
				want := " "
				if test.allowed {
					want = origin + " Origin"
				}
				for path := range strings.FieldsSeq("/pets /x //x /healthz / /openapi.json") {
					got := s.do("GET "+path, "", "Origin: "+origin).Header
					equal(t, path+" from "+origin, want,
						got.Get("Access-Control-Allow-Origin")+" "+got.Get("Vary"))
				}
			}
		})
	}
}

func TestPreflight(t *testing.T) {
	const method, origin = "Access-Control-Request-Method: PUT", "Origin: " + shop
	s := newService(t, "")
	s.corsOrigin = shop
	t.Run("of an allowed origin is 204 without a key", func(t *testing.T) {
		for path := range strings.FieldsSeq("/pets/1 /nothing //pets / /healthz /openapi.json") {
			resp := s.do("OPTIONS "+path, "", "Authorization", origin, method)
			equal(t, path+": status", 204, resp.StatusCode)
			equal(t, path+": header", http.Header{
				"Access-Control-Allow-Origin":  {shop},
				"Access-Control-Allow-Methods": {"GET, HEAD, POST, PUT, PATCH, DELETE"},
				"Access-Control-Allow-Headers": {"Authorization, X-API-Key, Content-Type"},
				"Access-Control-Expose-Headers": {"X-RateLimit-Limit, X-RateLimit-Remaining, " +
					"X-RateLimit-Reset, Retry-After, Location, Link, Allow, Deprecation, Sunset, " +
					"WWW-Authenticate"},
				"Cache-Control": {"no-store"},
				"Vary":          {"Origin"},
			}, resp.Header)
		}
	})
	t.Run("needs an allowed origin and a method", func(t *testing.T) {
		const evil = "Origin: http://evil.example"
		for _, header := range [][]string{{evil, method}, {origin}, {method}} {
			resp := s.do("OPTIONS /pets", "", append(header, "Authorization")...)
			equal(t, strings.Join(header, " "), 401, resp.StatusCode)
		}
	})
}

// useFlags restarts the service with the flags of the program.
func (s *service) useFlags(flags string) {
	cfg, err := parseFlags(strings.Fields(flags), io.Discard)
	if err != nil {
		s.t.Fatal(err)
	}
	s.Server = newServer(s.store, s.limits, s.logger, cfg.options)
}

// outcome sends a request with the body of a new pet, and returns the status or "dropped".
func (s *service) outcome(request string, header ...string) (status string) {
	defer func() {
		if p := recover(); p == http.ErrAbortHandler { // net/http closes the connection
			status = "dropped"
		} else if p != nil {
			panic(p)
		}
	}()
	return strconv.Itoa(s.do(request, newKiwi, header...).StatusCode)
}

// Each test sends its requests one a second, with the key big unless another is given. The outcome
// "200+3s" is a 200 that took 3 seconds.
func TestFailDropAndDelay(t *testing.T) {
	const three = "GET /pets; GET /pets; GET /pets; "
	refused := "GET /pets x; " + strings.Repeat("GET /pets one; ", 11) // the last one is banned
	nine := strings.Repeat(" 429", 9)
	for _, test := range []struct{ rule, flags, requests, want string }{
		{"open paths are spared", "-delay 3s -fail 1/1 -drop 1/1", "GET /healthz", "200"},
		{"fail 2/3 fails two of three", "-fail 2/3", three + "POST /x; PUT /x; PUT /x; HEAD /x",
			"503 503 200 503 503 404 503"},
		{"fail counts all keys together", "-fail 1/2", "GET /pets; GET /pets free; GET /pets pro",
			"503 200 503"},
		{"fail counts what goes wrong", "-fail 1/3", "GET /x; PUT /pets; GET /pets/x; GET /x",
			"503 405 400 503"},
		{"fail counts no 401, 429 or 403", "-fail 1/2", refused + "GET /pets",
			"401 503" + nine + " 403 200"},
		{"fail changes nothing", "-fail 1/2", "DELETE /pets/5; GET /pets/5", "503 200"},
		{"drop 2/3 drops two in a row", "-drop 2/3", three + three + "GET /x",
			"dropped dropped 200 dropped dropped 200 404"},
		{"drop spares and counts no errors", "-drop 1/2",
			"PUT /pets/x; GET /pets; GET /x; GET /pets", "400 dropped 404 200"},
		{"drop counts what fail lets pass", "-fail 1/2 -drop 1/2", three + "POST /pets",
			"503 dropped 503 201"},
		{"drop keeps what was changed", "-drop 1/2", "POST /pets; GET /pets/6", "dropped 200"},
		{"delay holds back a response", "-delay 3s", "GET /pets; POST /pets", "200+3s 201+3s"},
		{"delay holds back errors", "-delay 3s", "PUT /pets; GET //x", "405+3s 404+3s"},
		{"delay holds back what fails or is dropped", "-delay 3s -fail 1/2 -drop 1/1",
			"GET /pets; GET /pets", "503+3s dropped+3s"},
		{"delay spares a 401, a 429 and a 403", "-delay 3s", refused + "GET /pets x",
			"401 200+3s" + nine + " 403 401"},
	} {
		t.Run(test.rule, func(t *testing.T) {
			inBubble(t, func(t *testing.T, s *service) {
				s.useFlags(test.flags)
				var got []string
				for request := range strings.SplitSeq(test.requests, "; ") {
					words := append(strings.Fields(request), "big")
					begin := time.Now()
					status := s.outcome(words[0]+" "+words[1], "Authorization: Bearer "+words[2])
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
	t.Run("fail sends Retry-After", func(t *testing.T) {
		s := newService(t, "")
		s.useFlags("-fail 1/1")
		equal(t, "Retry-After", "1", s.do("GET /pets", "").Header.Get("Retry-After"))
	})
	t.Run("drop closes the connection, and keeps none alive", func(t *testing.T) {
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
		equal(t, "the second one's connection is closed", true, err == nil && resp.Close)
	})
}

func TestLog(t *testing.T) {
	duration := regexp.MustCompile(` [0-9.]+(ns|µs|ms|s)\n`)
	for _, test := range []struct{ rule, flags, request, want string }{
		{"has method, path and status alone", "-v", "POST /pets?x", "POST \"/pets\" 201 TIME\n"},
		{"has open paths", "-v", "GET /healthz", "GET \"/healthz\" 200 TIME\n"},
		{"has preflights", "-v", "OPTIONS /x", "OPTIONS \"/x\" 204 TIME\n"},
		{"has dropped ones", "-v -drop 1/1", "GET /pets", "GET \"/pets\" dropped TIME\n"},
		{"escapes the path", "-v", "GET /%0aevil", "GET \"/\\nevil\" 404 TIME\n"},
		{"is empty without -v", "", "GET /pets", ""},
	} {
		t.Run(test.rule, func(t *testing.T) {
			s := newService(t, "")
			s.useFlags(test.flags + " -cors-origin " + shop)
			s.outcome(test.request, "Origin: "+shop, "Access-Control-Request-Method: GET")
			equal(t, "log", test.want, duration.ReplaceAllString(s.log.String(), " TIME\n"))
		})
	}
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
		equal(t, "requests left without a key", 59, s.get("stranger").remaining)
	})
	t.Run("health tells the start in UTC to the nanosecond", func(t *testing.T) {
		inBubble(t, func(t *testing.T, s *service) { // which begins with the year 2000
			time.Sleep(time.Hour)
			s.started = s.started.Add(1234567890).In(time.FixedZone("", -8*60*60))
			want := `{"status":"ok","started":"2000-01-01T00:00:01.23456789Z"}` + "\n"
			equal(t, "body", want, get(s, "/healthz"))
		})
	})
	t.Run("health is 200 after a failed save", func(t *testing.T) {
		s := freshService(t)
		breakDisk(t, s.store.path)
		equal(t, "a write", "503", s.outcome("POST /pets"))
		equal(t, "health", "200", s.outcome("GET /healthz"))
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
	t.Run("loads nothing from elsewhere", func(t *testing.T) {
		equal(t, "loads more than five files of its own", true, len(files) > 5)
		equal(t, "header", http.Header{
			"Content-Type": {types[".html"]},
			"Content-Security-Policy": {
				"default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
			"X-Content-Type-Options": {"nosniff"},
			"Cache-Control":          {"no-cache"},
		}, s.do("GET /", "", "Authorization").Header)
	})
}
