package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// This is how to test against a pet store with nothing but the standard library: make one, let it
// write its response to a recorder, and compare what is recorded.
func ExampleNew() {
	petstore, _ := New(Options{})
	w := httptest.NewRecorder()
	r := httptest.NewRequest("GET", "/pets/1", nil)
	r.Header.Set("X-API-Key", "demo-free")
	petstore.ServeHTTP(w, r)
	fmt.Println(w.Code, w.Body)
	// Output: 200 {"id":1,"name":"Rex","categoryId":1,"status":"available"}
}

// A row is a request with the response that it must get. In
//
//	{"a DELETE deletes it", "DELETE /categories/4", ``, 204, ``},
//	{"", "GET /categories/4", ``, 404, "not_found: No category has the id 4"},
//
// the first row begins a subtest with its rule as its name, on a new service with the records of
// docs/sample.json. It sends no body, and expects a 204 without one. The second row has no rule, so
// it goes on with the same service. It expects a 404 whose code and message begin like that; of a
// success, the whole JSON is expected. A request may have several ends, in braces: GET /pets/{1 2}
// is GET /pets/1, and then GET /pets/2. What an example in docs/openapi.json shows is checked in
// openapi_test.go.
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
			s := keyedService(t, Options{})
			for j, next := range rows[i:] {
				if j > 0 && next.rule != "" {
					return
				}
				begin, ends, _ := strings.Cut(strings.TrimSuffix(next.request, "}"), "{")
				for end := range strings.SplitSeq(ends, " ") {
					s.expect(begin+end, next.body, next.status, next.want)
				}
			}
		})
	}
}

// New pets, as clients send them. The second one needs a brace, and perhaps an id.
const (
	newKiwi = `{"name":"Kiwi","categoryId":1}`
	sold    = `"name":"Kiwi","categoryId":2,"status":"sold"}`
)

func TestPets(t *testing.T) {
	const none = "unknown_reference: categoryId "
	checkRows(t, []row{
		{"a POST creates its stock of 0", "POST /pets", `{` + sold, 201, `{"id":6,` + sold},
		{"", "GET /inventory/6", ``, 200, `{"petId":6,"quantity":0,"status":"sold"}`},
		{"a POST refuses a category that does not exist", "POST /pets",
			`{"name":"x","categoryId":0}`, 400, none + "0 does not exist"},
		{"", "POST /pets", `{"name":"x","categoryId":-9223372036854775808}`, 400, none + "-922"},
		{"a PATCH of its stock leaves it as it was", "PATCH /inventory/4", `{"quantity":9}`, 200,
			`{"petId":4,"quantity":9,"status":"sold"}`},
		{"", "GET /pets/4", ``, 200, `{"id":4,"name":"Tom","categoryId":2,"status":"sold"}`},
		{"a DELETE deletes it and its stock", "DELETE /pets/5", ``, 204, ``},
		{"", "GET /{pets/5 inventory/5}", ``, 404, "not_found: No pet has the id 5"},
		{"no DELETE while an order names it, even a complete one", "DELETE /pets/4", ``, 409,
			"in_use: Order 1 refers"},
		{"a DELETE once the order is canceled", "DELETE /store/orders/2", ``, 204, ``},
		{"", "DELETE /pets/2", ``, 204, ``},
		{"a DELETE once the order names none", "PUT /store/orders/2", `{}`, 200,
			`{"id":2,"complete":false}`},
		{"", "DELETE /pets/2", ``, 204, ``},
	})
}

func TestReplacePet(t *testing.T) {
	const again = `{"id":2,"name":"Kiwi","categoryId":1,"status":"available"}`
	checkRows(t, []row{
		{"replaces all fields", "PUT /pets/2", `{` + sold, 200, `{"id":2,` + sold},
		{"", "GET /pets/2", ``, 200, `{"id":2,` + sold},
		{"resets the status by default", "PUT /pets/2", newKiwi, 200, again},
		{"keeps its stock", "PUT /pets/2", newKiwi, 200, again},
		{"", "GET /inventory/2", ``, 200, `{"petId":2,"quantity":1,"status":"available"}`},
		{"copies its status to the stock", "PUT /pets/1", `{` + sold, 200, `{"id":1,` + sold},
		{"", "GET /inventory/1", ``, 200, `{"petId":1,"quantity":3,"status":"sold"}`},
	})
}

func TestCategories(t *testing.T) {
	checkRows(t, []row{
		{"a DELETE deletes it", "DELETE /categories/4", ``, 204, ``},
		{"", "GET /categories/4", ``, 404, "not_found: No category has the id 4"},
		{"no DELETE while a pet belongs to it", "DELETE /categories/3", ``, 409, "in_use: Pet 5"},
		{"a DELETE once the pet is in another", "PUT /pets/5", `{` + sold, 200, `{"id":5,` + sold},
		{"", "DELETE /categories/3", ``, 204, ``},
	})
}

func TestOrders(t *testing.T) {
	const post, unknown = "POST /store/orders", "unknown_reference: petId "
	const large = `"petId":4,"quantity":9,"complete":false}`
	const one = `"petId":1,"quantity":1,"complete":true}`
	const done, more = `{"id":2,"complete":true}`, `{"id":1,"quantity":7,"complete":true}`
	checkRows(t, []row{
		{"a POST refuses a pet that does not exist", post, `{"petId":0}`, 400, unknown + "0 does"},
		{"", post, `{"petId":9223372036854775807}`, 400, unknown + "9223372036854775807 does"},
		{"a POST neither moves nor needs stock", post, `{` + large, 201, `{"id":3,` + large},
		{"", "GET /inventory/4", ``, 200, `{"petId":4,"quantity":0,"status":"sold"}`},
		{"", post, `{` + one, 201, `{"id":4,` + one},
		{"", "GET /inventory/1", ``, 200, `{"petId":1,"quantity":3,"status":"available"}`},
		{"a PUT completes it", "PUT /store/orders/2", done, 200, done},
		{"a PUT moves no stock", "PUT /store/orders/2", `{` + one, 200, `{"id":2,` + one},
		{"", "GET /inventory/1", ``, 200, `{"petId":1,"quantity":3,"status":"available"}`},
		{"a PUT changes a complete one that stays so", "PUT /store/orders/1", more, 200, more},
		{"a DELETE deletes it", "DELETE /store/orders/2", ``, 204, ``},
		{"", "GET /store/orders/2", ``, 404, "not_found: No order has the id 2"},
		{"a DELETE moves no stock", "DELETE /store/orders/2", ``, 204, ``},
		{"", "GET /inventory/2", ``, 200, `{"petId":2,"quantity":1,"status":"pending"}`},
	})
}

// An id in a path that is no 64-bit integer is 400. One that names nothing is 404.
func TestIDInThePath(t *testing.T) {
	const plain = "invalid_parameter: The id in the path must be a plain 64-bit integer."
	checkRows(t, []row{
		{"no 64-bit integer", "GET /pets/{1.0 1e0 1_0 ٣ 9223372036854775808}", ``, 400, plain},
		{"another spelling", "DELETE /categories/{01 +1 -0 001}", ``, 400, plain},
		{"names nothing", "PUT /store/orders/{77 %37%37 0 -1 9223372036854775807 " +
			"-9223372036854775808}", `{}`, 404, "not_found: No order"},
	})
}

func TestLists(t *testing.T) {
	s := keyedService(t, Options{})
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
		next         string  // the target of the link
	}{
		{"a page has 20 records in id order", "/pets", from(1, 20), "/pets?after=20&limit=20"},
		{"limit makes it smaller", "/pets?limit=1", from(1, 1), "/pets?after=1&limit=1"},
		{"limit makes it larger", "/pets?after=40&limit=100", from(41, 140),
			"/pets?after=140&limit=100"},
		{"after returns greater ids", "/pets?after=2", from(3, 22), "/pets?after=22&limit=20"},
		{"after may be deleted", "/pets?after=30&limit=2", from(31, 32), "/pets?after=32&limit=2"},
		{"after takes each int64", "/pets?after=9223372036854775807", nil, ""},
		{"filters by status", "/pets?status=available", []int64{1, 3, 5}, ""},
		{"filters by category", "/pets?categoryId=2", from(3, 4), ""},
		{"filters by a category without pets", "/pets?categoryId=77", nil, ""},
		{"the link keeps both filters", "/pets?status=sold&categoryId=1", from(6, 25),
			"/pets?after=25&categoryId=1&limit=20&status=sold"},
		{"the last page has no link", "/pets?after=136", from(137, 155), ""},
		{"nor has one that is just full", "/pets?after=135", from(136, 155), ""},
		{"nor has one whose rest is filtered out", "/pets?status=pending&limit=1", from(2, 2), ""},
		{"of categories", "/categories?after=1&limit=2", from(2, 3), "/categories?after=3&limit=2"},
		{"of orders", "/store/orders?limit=1", from(1, 1), "/store/orders?after=1&limit=1"},
		{"of the inventory", "/inventory?limit=7", from(1, 7), "/inventory?after=7&limit=7"},
	} {
		t.Run(test.rule, func(t *testing.T) {
			s.t = t
			resp := s.do("GET "+test.target, "")
			var records []struct{ ID, PetID int64 } // one of them
			json.NewDecoder(resp.Body).Decode(&records)
			var got []int64
			for _, record := range records {
				got = append(got, cmp.Or(record.ID, record.PetID))
			}
			link := ""
			if test.next != "" {
				link = "<" + test.next + `>; rel="next"`
			}
			equal(t, "ids", test.want, got)
			equal(t, "Link", link, resp.Header.Get("Link"))
		})
	}
	t.Run("have a record a line", func(t *testing.T) {
		body, _ := io.ReadAll(keyedService(t, Options{}).do("GET /store/orders", "").Body)
		equal(t, "lines", 2, strings.Count(string(body), "\n"))
	})
}

func TestQuery(t *testing.T) {
	const bad, faults = "invalid_parameter: ", "zoo=1&color=red&limit=0"
	checkRows(t, []row{
		{"finds nothing", "GET /pets?after={99 4&status=sold}", ``, 200, `[]`},
		{"no plain integer", "GET /pets?limit={x 1.0 %2B1 01}", ``, 400, bad + "limit must be an"},
		{"", "GET /categories?after={-1 9223372036854775808 00}", ``, 400, bad + "after must be"},
		{"", "GET /pets?categoryId={x 0 -1}", ``, 400, bad + "categoryId must be an integer"},
		{"no value", "GET /store/orders?{limit= limit}", ``, 400, bad + "limit must not be"},
		{"repeated", "GET /inventory?limit=1{&limit=1 &after=1&limit=2}", ``, 400, bad + "limit"},
		{"malformed", "GET /pets?{limit=%zz limit=1;after=1 %}", ``, 400, bad + "The query must"},
		{"unknown", "GET /pets?{offset=1 offset= Limit=1 =1}", ``, 400, bad + "The parameter"},
		{"wrong status", "GET /pets?status={gone Sold}", ``, 400, bad + "status must be avail"},
		{"repeated filter", "GET /pets?status={ sold&status=sold}", ``, 400, bad + "status must"},
		{"the same each time", "GET /pets?{" + faults + strings.Repeat(" "+faults, 20) + "}", ``,
			400, bad + `The parameter "color" is unknown`},
	})
}

func TestBody(t *testing.T) {
	for size, status := range map[int]int{65536: 200, 65537: 413} {
		t.Run(fmt.Sprintf("of %d bytes is a %d", size, status), func(t *testing.T) {
			body := `{"name":"x"}` + strings.Repeat(" ", size-12)
			for _, length := range []int{size, -1} { // -1 is that of a body in chunks
				r := httptest.NewRequest("PUT", "/categories/1", strings.NewReader(body))
				r.ContentLength = int64(length)
				r.Header.Set("X-API-Key", "demo-enterprise")
				equal(t, "status", status, keyedService(t, Options{}).exchange(r).StatusCode)
			}
		})
	}
}

// A headerRow has values of a header, separated by commas. A request with each gets the status.
type headerRow struct {
	rule, values string
	status       int
}

// checkHeader sends a request with the body of a new pet, with other header lines, and with each
// value of the header with that name.
func (s *service) checkHeader(t *testing.T, request, name string, rows []headerRow,
	other ...string) {
	for _, test := range rows {
		t.Run(test.rule, func(t *testing.T) {
			s.t = t
			for value := range strings.SplitSeq(test.values, ",") {
				resp := s.do(request, newKiwi, append(other, name+": "+value)...)
				equal(t, name+": "+value, test.status, resp.StatusCode)
			}
		})
	}
}

func TestContentType(t *testing.T) {
	keyedService(t, Options{}).checkHeader(t, "POST /pets", "Content-Type", []headerRow{
		{"may be missing", "", 201},
		{"may be JSON in any letter case", "application/json,Application/JSON", 201},
		{"may have any parameters", "application/json; charset=iso-8859-1,application/json ;", 201},
		{"may be nothing else", "application/merge-patch+json,application/jsonp,; charset=utf-8," +
			"application/x-www-form-urlencoded,text/plain; application/json", 415},
	})
}

func TestContentEncoding(t *testing.T) {
	keyedService(t, Options{}).checkHeader(t, "POST /pets", "Content-Encoding", []headerRow{
		{"may be missing or identity", ",identity,Identity", 201},
		{"may be nothing else", "gzip,br,x-gzip", 415},
	})
}

// The header Allow names the same methods as the message: see checkDescribed.
func TestMethodNotAllowed(t *testing.T) {
	const only = "method_not_allowed: This path supports only the methods "
	checkRows(t, []row{
		{"lists", "PUT /{pets categories store/orders}", ``, 405, only + "GET, HEAD, POST."},
		{"records", "POST /{pets/5 pets/x categories/4 store/orders/2}", ``, 405,
			only + "DELETE, GET, HEAD, PUT."},
		{"inventory", "PATCH /inventory", ``, 405, only + "GET, HEAD."},
		{"stock of a pet", "DELETE /inventory/1", ``, 405, only + "GET, HEAD, PATCH."},
		{"open paths", "POST /{ healthz openapi.json docs/keys.json docs/index.html}", ``, 405,
			only + "GET, HEAD."},
		{"OPTIONS without an origin", "OPTIONS /{inventory healthz}", ``, 405, only + "GET, HEAD."},
		{"small letters", "get /{inventory healthz}", ``, 405, only + "GET, HEAD."},
	})
}

func TestUnknownPath(t *testing.T) {
	const none = "not_found: This path does not exist; " +
		"GET / shows the operations, and GET /openapi.json describes them."
	checkRows(t, []row{
		{"has no operations", "GET /{nothing store docs/none.html openapi.yaml}", ``, 404, none},
		{"ends with a slash", "GET /{pets/ pets/1/ docs/ healthz/}", ``, 404, none},
		{"goes on", "GET /{pets/1/2 inventory/1/x}", ``, 404, none},
		{"other letter case", "GET /{Pets PETS/1}", ``, 404, none},
		{"is not clean", "GET /{/pets pets//1 pets/../pets ./pets pets/. /healthz docs//x.js}", ``,
			404, none},
		{"is not clean, whatever the method", "POST /{/pets pets//1 ./pets}", ``, 404, none},
		{"escapes the page", "GET /docs/{..%2fopenapi.json %2e%2e}", ``, 404, none},
	})
}

// These go over HTTP, since net/http sets a part of the header.
func TestHEAD(t *testing.T) {
	server := httptest.NewServer(keyedService(t, Options{}))
	defer server.Close()
	send := func(method, target string) (resp *http.Response, length int) {
		r, _ := http.NewRequest(method, server.URL+target, nil)
		r.Header.Set("X-API-Key", "demo-enterprise")
		resp, err := server.Client().Do(r)
		must(t, err)
		body, _ := io.ReadAll(resp.Body)
		resp.Header.Del("Date")
		resp.Header.Del("X-RateLimit-Remaining") // it falls with each request
		return resp, len(body)
	}
	for target := range strings.FieldsSeq("/pets /pets?limit=1 /pets?x=1 /pets/1 /store/orders/3 " +
		"/inventory/1 /categories /nothing / /healthz /openapi.json") {
		t.Run(target+": a GET has its length, and a HEAD the same header", func(t *testing.T) {
			get, length := send("GET", target)
			head, _ := send("HEAD", target)
			equal(t, "status", get.StatusCode, head.StatusCode)
			equal(t, "header", get.Header, head.Header)
			equal(t, "Content-Length", strconv.Itoa(length), get.Header.Get("Content-Length"))
		})
	}
}

// A header where it is not described fails each test, so this one tests values.
func TestDeprecation(t *testing.T) {
	for rule, id := range map[string]string{"of a 200": "1", "of a 400": "x", "of a 404": "77"} {
		t.Run(rule, func(t *testing.T) {
			h := keyedService(t, Options{}).do("GET /pets/"+id, "").Header
			equal(t, "header", []string{"@1795132800", "Thu, 05 Dec 2030 00:00:00 GMT",
				`</pets>; rel="successor-version"`},
				[]string{h.Get("Deprecation"), h.Get("Sunset"), h.Get("Link")})
		})
	}
}

func TestKeyOfARequest(t *testing.T) {
	s := keyedService(t, Options{})
	s.checkHeader(t, "GET /pets", "Authorization", []headerRow{
		{"in Authorization, which counts first", "Bearer demo-enterprise,Bearer   demo-enterprise", 200},
		{"the scheme has any letter case", "bEARER demo-enterprise,bearer demo-enterprise", 200},
	}, "X-API-Key: wrong")
	s.checkHeader(t, "GET /pets", "Authorization", []headerRow{
		{"malformed", "Basic demo-enterprise,demo-enterprise,Bearerdemo-enterprise,Bearer demo-enterprise x,Bearer", 401},
		{"unknown", "Bearer wrong,Bearer DEMO-ENTERPRISE", 401},
	}, "X-API-Key: demo-enterprise")
	s.checkHeader(t, "GET /pets", "X-API-Key", []headerRow{
		{"in X-API-Key", "demo-enterprise", 200}, {"unknown in X-API-Key", "wrong", 401}, {"missing", "", 401},
	}, "X-API-Key")
	t.Run("a 401 has a challenge, and does not tell which paths exist", func(t *testing.T) {
		s.t = t
		for request := range strings.SplitSeq("GET /pets,GET /pets/x,GET /x,PUT /pets", ",") {
			resp := s.do(request, "", "Authorization: Bearer secret")
			body, _ := io.ReadAll(resp.Body)
			equal(t, request, "unauthorized: A valid API key is required; "+
				"send it as Authorization: Bearer KEY.", errorIn(body)) // it has no key either
			equal(t, request+": Allow", "", resp.Header.Get("Allow"))
			equal(t, request+": challenge", "Bearer", resp.Header.Get("WWW-Authenticate"))
		}
	})
}

const shop = "https://shop.example"

// Web pages of which origins may call the API with the demo keys, and with one in the options.
func TestCORS(t *testing.T) {
	keys := keysFile(t, 1000, 1000)
	for _, test := range []struct {
		rule, keys, option, origins string
		allowed                     bool
	}{
		{"demo keys allow localhost", "", "", "http://localhost http://app.localhost:5173", true},
		{"demo keys allow loopback addresses", "", "", "http://127.9.9.9 https://[::1]:1", true},
		{"demo keys allow nothing else", "", "", "https://shop.example null http://192.0.2.1 " +
			"http://localhost.evil.example http://evillocalhost http://127.0.0.1.example " +
			"http://%zz", false},
		{"a keys file allows nothing", keys, "", "http://localhost http://127.0.0.1", false},
		{"the option allows its origin", keys, shop, shop, true},
		{"the option counts with the demo keys, too", "", shop, shop + " http://localhost", true},
		{"the option allows no other", keys, shop, shop + ":8443 http://shop.example null " +
			"https://a.shop.example http://localhost:5173", false},
	} {
		t.Run(test.rule, func(t *testing.T) {
			s := newService(t, Options{CORSOrigins: strings.Fields(test.option), Keys: test.keys})
			for origin := range strings.FieldsSeq(test.origins) {
				want := " "
				if test.allowed {
					want = origin + " Origin"
				}
				for request := range strings.SplitSeq("GET /pets,POST /pets,PUT /x,GET //x,HEAD /,"+
					"GET /healthz,GET /openapi.json", ",") {
					h := s.do(request, "", "Origin: "+origin).Header
					got := h.Get("Access-Control-Allow-Origin") + " " + h.Get("Vary")
					equal(t, request+" from "+origin, want, got)
					equal(t, request+" allows credentials", test.allowed,
						h.Get("Access-Control-Allow-Credentials") == "true")
					equal(t, request+" exposes headers", test.allowed,
						h.Get("Access-Control-Expose-Headers") != "")
				}
			}
		})
	}
}

func TestPreflight(t *testing.T) {
	s := newService(t, Options{CORSOrigins: []string{"https://one.example", shop}, Verbose: true})
	const method = "Access-Control-Request-Method: PUT"
	t.Run("of an allowed origin allows the methods and the headers that it asks for",
		func(t *testing.T) {
			for _, path := range []string{"/pets/1", "/nothing", "//pets", "/", "/healthz"} {
				resp := s.do("OPTIONS "+path, "", "X-API-Key", "Origin: "+shop, method,
					"Access-Control-Request-Headers: traceparent,x-api-key")
				equal(t, path+": status", 204, resp.StatusCode)
				equal(t, path+": header", http.Header{
					"Access-Control-Allow-Origin":      {shop},
					"Access-Control-Allow-Credentials": {"true"},
					"Access-Control-Allow-Methods":     {"DELETE, GET, HEAD, PATCH, POST, PUT"},
					"Access-Control-Allow-Headers":     {"traceparent,x-api-key"},
					"Access-Control-Expose-Headers": {"X-RateLimit-Limit, X-RateLimit-Remaining, " +
						"X-RateLimit-Reset, Retry-After, Location, Link, Allow, Deprecation, " +
						"Sunset, WWW-Authenticate"},
					"Cache-Control": {"no-store"},
					"Vary":          {"Origin"},
				}, resp.Header)
			}
		})
	t.Run("of another origin is a 204 without a header of CORS", func(t *testing.T) {
		s.log.Reset()
		resp := s.do("OPTIONS /pets", "", "X-API-Key", "Origin: http://evil.example", method)
		equal(t, "status", 204, resp.StatusCode)
		equal(t, "header", http.Header{"Cache-Control": {"no-store"}}, resp.Header)
		contains(t, "the log", s.log.String(),
			`the origin "http://evil.example" is not allowed; -cors-origin would allow it`)
		contains(t, "the log", s.log.String(), `OPTIONS "/pets" 204 `)
	})
	t.Run("is never counted", func(t *testing.T) {
		for range keylessLimit + 1 {
			s.do("OPTIONS /pets", "", "X-API-Key", "Origin: http://evil.example", method)
		}
		equal(t, "status without a key", 401, s.do("GET /pets", "", "X-API-Key").StatusCode)
	})
	t.Run("has an origin and a method, or it is an OPTIONS like others", func(t *testing.T) {
		equal(t, "without a method", 405, s.do("OPTIONS /pets", "", "Origin: "+shop).StatusCode)
		equal(t, "without an origin", 405, s.do("OPTIONS /pets", "", method).StatusCode)
	})
}

// What the options cannot mean is an error, in the words that a flag gets.
func TestOptions(t *testing.T) {
	const ratio = " must be M/N, such as 1/2, with 1 <= M <= N <= 1000000; got "
	for _, test := range []struct {
		rule    string
		options Options
		want    string
	}{
		{"a minute of a nanosecond", Options{Minute: 1}, "-minute must be from 1s to 1m, not 1ns"},
		{"a delay of 9 s", Options{Delay: 9 * time.Second}, "-delay must be from 0 to 8s, not 9s"},
		{"an origin with a path", Options{CORSOrigins: []string{shop + "/"}}, "-cors-origin must be a " +
			"scheme and a host, such as https://example.com, in small letters and without a " +
			`path, trailing slash or default port; got "https://shop.example/"`},
		{"a fail of 2", Options{Fail: "2"}, "-fail" + ratio + `"2"`},
		{"a drop of 3/2", Options{Drop: "3/2"}, "-drop" + ratio + `"3/2"`},
	} {
		t.Run(test.rule, func(t *testing.T) {
			_, err := New(test.options)
			equal(t, "error", test.want, fmt.Sprint(err))
		})
	}
	t.Run("what must be said goes to the default logger", func(t *testing.T) {
		var logged bytes.Buffer
		defer log.SetOutput(log.Writer())
		log.SetOutput(&logged)
		server, err := New(Options{})
		must(t, err)
		server.store = nil
		s := &service{Server: server, t: t}
		s.do("GET /pets", "", "X-API-Key: demo-free")
		contains(t, "the log", logged.String(), "nil pointer")
	})
	t.Run("two servers share nothing", func(t *testing.T) {
		options := Options{Fail: "1/3"}
		for _, s := range []*service{keyedService(t, options), keyedService(t, options)} {
			equal(t, "requests left after a 503", "59", left(s.get("sixty")))
			s.expect("DELETE /pets/5", "", 204, "")
		}
	})
}

// outcome sends a request with the body of a new pet, and returns the status or "dropped".
func (s *service) outcome(request string, header ...string) (status string) {
	defer func() {
		if recover() == http.ErrAbortHandler { // net/http closes the connection
			status = "dropped"
		}
	}()
	return strconv.Itoa(s.do(request, newKiwi, header...).StatusCode)
}

// Each test sends its requests one a second, with the key demo-enterprise unless another is given. The outcome
// "200+3s" is a 200 that took 3 seconds.
func TestFailDropAndDelay(t *testing.T) {
	const three = "GET /pets; GET /pets; GET /pets; "
	refused := "GET /pets x; " + strings.Repeat("GET /pets one; ", 11) // the last one is banned
	nine := strings.Repeat(" 429", 9)
	slow := 3 * time.Second
	for _, test := range []struct {
		rule           string
		options        Options
		requests, want string
	}{
		{"open paths are spared", Options{Delay: slow, Fail: "1/1", Drop: "1/1"}, "GET /", "200"},
		{"fail 2/3 fails two of three", Options{Fail: "2/3"},
			three + "POST /x; PUT /x; PUT /x; HEAD /x", "503 503 200 503 503 404 503"},
		{"fail counts all keys together", Options{Fail: "1/2"},
			"GET /pets; GET /pets sixty; GET /pets one", "503 200 503"},
		{"fail counts no 401, 429 or 403", Options{Fail: "1/2"}, refused + "GET /pets",
			"401 503" + nine + " 403 200"},
		{"fail changes nothing", Options{Fail: "1/2"}, "DELETE /pets/5; GET /pets/5", "503 200"},
		{"drop 2/3 drops two in a row", Options{Drop: "2/3"}, three + three + "GET /x",
			"dropped dropped 200 dropped dropped 200 404"},
		{"drop spares and counts no errors", Options{Drop: "1/2"},
			"PUT /pets/x; GET /pets; GET /x; GET /pets", "400 dropped 404 200"},
		{"drop drops a 204, too", Options{Drop: "1/1"}, "DELETE /pets/5", "dropped"},
		{"drop counts what fail lets pass", Options{Fail: "1/2", Drop: "1/2"}, three + "POST /pets",
			"503 dropped 503 201"},
		{"drop keeps the change", Options{Drop: "1/2"}, "POST /pets; GET /pets/6", "dropped 200"},
		{"delay holds back each response", Options{Delay: slow},
			"GET /pets; POST /pets; PUT /pets; GET //x", "200+3s 201+3s 405+3s 404+3s"},
		{"delay holds back what fails or is dropped",
			Options{Delay: slow, Fail: "1/2", Drop: "1/1"}, "GET /pets; GET /pets",
			"503+3s dropped+3s"},
		{"delay spares a 401, a 429 and a 403", Options{Delay: slow}, refused + "GET /pets x",
			"401 200+3s" + nine + " 403 401"},
	} {
		t.Run(test.rule, func(t *testing.T) {
			inBubble(t, test.options, func(t *testing.T, s *service) {
				var got []string
				for request := range strings.SplitSeq(test.requests, "; ") {
					words := append(strings.Fields(request), "demo-enterprise")
					begin := time.Now()
					status := s.outcome(words[0]+" "+words[1], "X-API-Key: "+words[2])
					if took := time.Since(begin); took > 0 {
						status += "+" + took.String()
					}
					got = append(got, status)
					time.Sleep(time.Second)
				}
				equal(t, test.requests, test.want, strings.Join(got, " "))
			})
		})
	}
	t.Run("fail sends Retry-After", func(t *testing.T) {
		s := keyedService(t, Options{Fail: "1/1"})
		equal(t, "Retry-After", "1", s.do("GET /pets", "").Header.Get("Retry-After"))
	})
	t.Run("drop closes the connection, and keeps none alive", func(t *testing.T) {
		server := httptest.NewServer(keyedService(t, Options{Drop: "1/2"}))
		defer server.Close()
		r, _ := http.NewRequest("GET", server.URL+"/pets", nil)
		r.Header.Set("X-API-Key", "demo-enterprise")
		for range 3 { // a client that kept the connection would send the dropped request again
			_, err := server.Client().Do(r)
			equal(t, "the first request gets no response", true, errors.Is(err, io.EOF))
			resp, err := server.Client().Do(r)
			equal(t, "the second one's connection is closed", true, err == nil && resp.Close)
		}
	})
}

func TestLog(t *testing.T) {
	duration := regexp.MustCompile(` [0-9.]+(ns|µs|ms|s)\n`)
	verbose := Options{Verbose: true, CORSOrigins: []string{shop}}
	dropping := Options{Verbose: true, Drop: "1/1"}
	for _, test := range []struct {
		rule          string
		options       Options
		request, want string
	}{
		{"has the method, the path with its query, and the status", verbose, "POST /pets?x=1",
			"POST \"/pets?x=1\" 201 TIME\n"},
		{"has the code of an error, and no key", verbose, "POST /pets wrong",
			"POST \"/pets\" 401 unauthorized TIME\n"},
		{"has open paths", verbose, "GET /healthz", "GET \"/healthz\" 200 TIME\n"},
		{"has preflights", verbose, "OPTIONS /x", "OPTIONS \"/x\" 204 TIME\n"},
		{"has dropped ones", dropping, "GET /pets", "GET \"/pets\" dropped TIME\n"},
		{"escapes the path", verbose, "GET /%0aevil", "GET \"/%0aevil\" 404 not_found TIME\n"},
		{"is empty by default", Options{}, "GET /pets", ""},
	} {
		t.Run(test.rule, func(t *testing.T) {
			s := keyedService(t, test.options)
			words := append(strings.Fields(test.request), "demo-enterprise")
			s.outcome(words[0]+" "+words[1], "X-API-Key: "+words[2],
				"Origin: "+shop, "Access-Control-Request-Method: GET")
			equal(t, "log", test.want, duration.ReplaceAllString(s.log.String(), " TIME\n"))
		})
	}
}

func TestOpenPaths(t *testing.T) {
	t.Run("need no key and are not counted", func(t *testing.T) {
		s := keyedService(t, Options{})
		for path := range strings.FieldsSeq("/ /healthz /openapi.json /docs/keys.json") {
			resp := s.do("GET "+path, "", "X-API-Key")
			equal(t, path+": status", 200, resp.StatusCode)
			equal(t, path+": X-RateLimit-Limit", "", resp.Header.Get("X-RateLimit-Limit"))
			s.do("GET "+path, "", "X-API-Key: forty")
		}
		equal(t, "requests left with a key", "39", left(s.get("forty")))
		equal(t, "requests left without", strconv.Itoa(keylessLimit-1), left(s.get("stranger")))
	})
	t.Run("health tells the start in UTC to the nanosecond", func(t *testing.T) {
		inBubble(t, Options{}, func(t *testing.T, s *service) { // which begins with the year 2000
			time.Sleep(time.Hour)
			s.started = s.started.Add(1234567890).In(time.FixedZone("", -8*60*60))
			s.expect("GET /healthz", "", 200,
				`{"status":"ok","started":"2000-01-01T00:00:01.23456789Z"}`)
		})
	})
	t.Run("the page gets the demo keys, and no others, and the minute", func(t *testing.T) {
		newService(t, Options{}).expect("GET /docs/keys.json", "", 200,
			`{"minute":60,"keys":`+demoKeys+`}`)
		keyedService(t, Options{Minute: 1500 * time.Millisecond}).expect("GET /docs/keys.json", "",
			200, `{"minute":1.5,"keys":[]}`)
	})
}

// What else the page does is tested in a browser.
func TestPage(t *testing.T) {
	loads := regexp.MustCompile(`["'(](\.?/[\w./-]+\.(?:js|css|svg|json))["')]`)
	unsafe := regexp.MustCompile(`(?i)(inner|outer|adjacent|set|parse)\w*html|parseFromString|` +
		`contextualFragment|srcdoc|document\.write|\beval\b|new Function`)
	types := map[string]string{
		".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8",
		".css": "text/css; charset=utf-8", ".svg": "image/svg+xml",
	}
	s, base := keyedService(t, Options{}), &url.URL{Path: "/docs/"}
	files, _ := pageFiles.ReadDir("docs/reference")
	for _, file := range files {
		t.Run("serves "+file.Name()+", which makes no HTML of texts", func(t *testing.T) {
			resp := s.do("GET /docs/"+file.Name(), "", "X-API-Key")
			source, _ := io.ReadAll(resp.Body)
			equal(t, "status", 200, resp.StatusCode)
			equal(t, "Content-Type", types[path.Ext(file.Name())], resp.Header.Get("Content-Type"))
			equal(t, "content", contentOf(t, "docs/reference/"+file.Name())+"\n", string(source))
			equal(t, "unsafe", "", unsafe.FindString(string(source)))
			for _, loaded := range loads.FindAllStringSubmatch(string(source), -1) {
				other, _ := base.Parse(loaded[1])
				equal(t, other.Path, 200, s.do("GET "+other.Path, "", "X-API-Key").StatusCode)
			}
		})
	}
	t.Run("loads nothing from elsewhere", func(t *testing.T) {
		header := s.do("GET /", "", "X-API-Key").Header
		header.Del("Content-Length")
		equal(t, "header", http.Header{
			"Content-Type": {types[".html"]},
			"Content-Security-Policy": {
				"default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
			"X-Content-Type-Options": {"nosniff"},
			"Cache-Control":          {"no-cache"},
		}, header)
	})
}

// With a delay of 2 seconds, the responses of a client that sends one request after the other.
func TestSlowAndOnly(t *testing.T) {
	expectTook := func(t *testing.T, s *service, request string, status int, want time.Duration) {
		t.Helper()
		begin := time.Now()
		equal(t, request+": status", status, s.do(request, newKiwi).StatusCode)
		equal(t, request+" took", want, time.Since(begin))
	}
	const delay = 2 * time.Second
	t.Run("slow 1/2 holds back every other response", func(t *testing.T) {
		inBubble(t, Options{Delay: delay, Slow: "1/2"}, func(t *testing.T, s *service) {
			expectTook(t, s, "GET /pets", 200, delay)
			expectTook(t, s, "GET /pets", 200, 0)
			expectTook(t, s, "GET /nothing", 404, delay)
		})
	})
	t.Run("only PUT leaves other methods alone, and does not count them", func(t *testing.T) {
		options := Options{Delay: delay, Slow: "1/2", Fail: "2/3", Only: "PUT"}
		inBubble(t, options, func(t *testing.T, s *service) {
			expectTook(t, s, "GET /pets/1", 200, 0)
			expectTook(t, s, "PUT /pets/1", 503, delay)
			expectTook(t, s, "POST /pets", 201, 0)
			expectTook(t, s, "PUT /pets/1", 503, 0)
			expectTook(t, s, "PUT /pets/1", 200, delay)
		})
	})
	t.Run("only GET,POST concerns HEAD, too", func(t *testing.T) {
		inBubble(t, Options{Fail: "1/1", Only: "GET,POST"}, func(t *testing.T, s *service) {
			expectTook(t, s, "GET /pets", 503, 0)
			expectTook(t, s, "HEAD /pets", 503, 0)
			expectTook(t, s, "POST /pets", 503, 0)
			expectTook(t, s, "DELETE /pets/5", 204, 0)
		})
	})
	t.Run("only concerns drops", func(t *testing.T) {
		s := newService(t, Options{Drop: "1/1", Only: "DELETE"})
		equal(t, "a GET", "200", s.outcome("GET /pets"))
		equal(t, "a DELETE", "dropped", s.outcome("DELETE /pets/5"))
	})
	t.Run("the wait ends when the client has gone", func(t *testing.T) {
		inBubble(t, Options{Delay: delay}, func(t *testing.T, s *service) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			begin := time.Now()
			r := httptest.NewRequestWithContext(ctx, "GET", "/pets", nil)
			r.Header.Set("X-API-Key", "demo-enterprise")
			s.ServeHTTP(httptest.NewRecorder(), r)
			equal(t, "waited", time.Second, time.Since(begin))
		})
	})
}

// A request made in process may lack what one from the network has.
func TestBareRequest(t *testing.T) {
	s := newService(t, Options{})
	t.Run("without a body", func(t *testing.T) {
		r, _ := http.NewRequest("POST", "/pets", nil)
		r.Header.Set("X-API-Key", "demo-enterprise")
		equal(t, "status", 400, s.exchange(r).StatusCode)
	})
	t.Run("without a path", func(t *testing.T) {
		r, _ := http.NewRequest("GET", "http://petstore", nil)
		resp := s.exchange(r)
		equal(t, "status", 200, resp.StatusCode)
		equal(t, "Content-Type", "text/html; charset=utf-8", resp.Header.Get("Content-Type"))
		equal(t, "path of the caller's request", "", r.URL.Path)
	})
	t.Run("with a smaller limit around it", func(t *testing.T) {
		w, r := httptest.NewRecorder(), httptest.NewRequest("POST", "/pets", strings.NewReader(newKiwi))
		r.Header.Set("X-API-Key", "demo-enterprise")
		http.MaxBytesHandler(s, 5).ServeHTTP(w, r)
		equal(t, "error", "payload_too_large: The body must be at most 5 bytes.",
			errorIn(w.Body.Bytes()))
	})
}

// The description names the server as its client does.
func TestAddressInTheDescription(t *testing.T) {
	for _, test := range []struct{ rule, url, host, want string }{
		{"the Host of the request", "http://x/openapi.json", "pets.example:81", "http://pets.example:81"},
		{"https", "https://x/openapi.json", "pets.example", "https://pets.example"},
		{"no Host", "http://x/openapi.json", "", "http://localhost:8080"},
		{"a Host with a quote", "http://x/openapi.json", `"`, `http://"`},
	} {
		t.Run(test.rule, func(t *testing.T) {
			r := httptest.NewRequest("GET", test.url, nil)
			r.Host = test.host
			var got struct{ Servers []struct{ URL string } }
			must(t, json.NewDecoder(newService(t, Options{}).exchange(r).Body).Decode(&got))
			equal(t, "address", test.want, got.Servers[0].URL)
		})
	}
}
