package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// This is how to test against a pet store with nothing but the standard library: make one, let it
// write its response to a recorder, and compare what is recorded.
func ExampleNew() {
	petstore, err := New(Options{})
	if err != nil {
		log.Fatal(err)
	}
	w := httptest.NewRecorder()
	r := httptest.NewRequest("GET", "/pets/1", nil)
	r.Header.Set("X-API-Key", "demo-free")
	petstore.ServeHTTP(w, r)
	fmt.Println(w.Code, w.Body)
	// Output: 200 {"id":1,"name":"Rex","categoryId":1,"status":"available"}
}

const newKiwi = `{"name":"Kiwi","categoryId":1}`

// What docs/openapi.json says and shows of the operations is tested by TestExamples.
func TestPets(t *testing.T) {
	t.Run("a stock comes and goes with its pet, and has its status", func(t *testing.T) {
		s := newService(t, Options{})
		s.send("POST /pets", `{"name":"Kiwi","categoryId":2,"status":"sold"}`)
		s.send("GET /inventory/6", "").expect(200, `{"petId":6,"quantity":0,"status":"sold"}`)
		for _, quantity := range []string{"99", "9"} {
			s.send("PATCH /inventory/6", `{"quantity":`+quantity+`}`)
		}
		s.send("PUT /pets/6", newKiwi).expect(200,
			`{"id":6,"name":"Kiwi","categoryId":1,"status":"available"}`)
		s.send("GET /inventory/6", "").expect(200, `{"petId":6,"quantity":9,"status":"available"}`)
		s.send("PUT /pets/6", `{"name":"Kiwi","categoryId":1,"status":"sold"}`)
		s.send("GET /inventory/6", "").expect(200, `{"petId":6,"quantity":9,"status":"sold"}`)
		s.send("PATCH /inventory/1", `{"quantity":0}`).expect(200,
			`{"petId":1,"quantity":0,"status":"available"}`)
		s.send("DELETE /pets/6", "").expect(204, "")
		s.send("GET /inventory/6", "").expectError("not_found", "No pet has the id 6")
	})
	t.Run("it and its category can be deleted once nothing names them", func(t *testing.T) {
		s := newService(t, Options{})
		s.send("DELETE /pets/2", "").expectError("in_use", "Order 2 refers")
		s.send("PUT /store/orders/2", `{}`)
		s.send("DELETE /pets/2", "").expect(204, "")
		s.send("PUT /pets/5", `{"name":"Clover","categoryId":3,"status":"sold"}`)
		s.send("DELETE /categories/3", "").expectError("in_use", "Pet 5 belongs")
		s.send("PUT /pets/1", `{"name":"Rex","categoryId":4}`)
		s.send("DELETE /categories/4", "").expectError("in_use", "Pet 1 belongs")
		s.send("POST /store/orders", `{"petId":3}`)
		s.send("POST /store/orders", `{}`)
		s.send("DELETE /pets/3", "").expectError("in_use", "Order 3 refers")
		s.send("PUT /pets/5", newKiwi)
		s.send("DELETE /categories/3", "").expect(204, "")
	})
}

func TestOrders(t *testing.T) {
	t.Run("what it names must exist, whatever the integer", func(t *testing.T) {
		s := newService(t, Options{})
		for _, id := range []string{"9223372036854775807", "0", "-1"} {
			s.send("POST /store/orders", `{"petId":`+id+`}`).
				expectError("unknown_reference", "petId "+id+" does not exist")
			s.send("PUT /pets/1", `{"name":"x","categoryId":`+id+`}`).
				expectError("unknown_reference", "categoryId "+id+" does not exist")
		}
	})
	t.Run("it needs no stock, and moves none", func(t *testing.T) {
		s := newService(t, Options{})
		s.send("POST /store/orders", `{"petId":2,"quantity":9}`).expect(201,
			`{"id":3,"petId":2,"quantity":9,"complete":false}`)
		s.send("PUT /store/orders/2", `{"petId":2,"quantity":1,"complete":true}`).expect(200,
			`{"id":2,"petId":2,"quantity":1,"complete":true}`)
		s.send("GET /inventory/2", "").expect(200, `{"petId":2,"quantity":1,"status":"pending"}`)
	})
	t.Run("it is as sent, and a complete one stays so", func(t *testing.T) {
		s := newService(t, Options{})
		s.send("POST /store/orders", `{"petId":2}`).expect(201,
			`{"id":3,"petId":2,"complete":false}`)
		s.send("POST /store/orders", `{"quantity":9,"complete":true}`).expect(201,
			`{"id":4,"quantity":9,"complete":true}`)
		s.send("PUT /store/orders/1", `{"quantity":7,"complete":true}`).expect(200,
			`{"id":1,"quantity":7,"complete":true}`)
	})
}

func TestIDInABodyIsIgnored(t *testing.T) {
	const kiwi = `{"id":6,"name":"Kiwi","categoryId":1,"status":"available"}`
	s := newService(t, Options{})
	s.send("POST /pets", `{"id":-9,"name":"Kiwi","categoryId":1}`).expect(201, kiwi)
	s.send("PUT /pets/6", `{"id":7,"name":"Kiwi","categoryId":1}`).expect(200, kiwi)
	s.send("PUT /categories/3", `{"id":4,"name":"x"}`).expect(200, `{"id":3,"name":"x"}`)
	s.send("POST /store/orders", `{"id":0}`).expect(201, `{"id":3,"complete":false}`)
}

func TestIDInThePath(t *testing.T) {
	s := newService(t, Options{})
	for _, id := range []string{"1.0", "٣", "01", "+1", "-0", "9223372036854775808"} {
		s.send("DELETE /categories/"+id, "").expectError("invalid_parameter",
			"categoryId must be a plain 64-bit integer.")
	}
	for _, id := range []string{"0", "-1", "%37%37", "9223372036854775807"} {
		s.send("PUT /store/orders/"+id, "{}").expectError("not_found", "No order has the id ")
	}
}

func TestLists(t *testing.T) {
	for _, test := range []struct {
		rule, target string
		first, count int    // of the ids, without a gap
		next         string // the target of the link
	}{
		{"a page has 20 records in id order", "/pets", 1, 20, "/pets?after=20&limit=20"},
		{"limit makes it larger", "/pets?after=40&limit=100", 41, 100, "/pets?after=140&limit=100"},
		{"after may be deleted", "/pets?after=30&limit=2", 31, 2, "/pets?after=32&limit=2"},
		{"filters by status", "/pets?status=sold&limit=2&after=4", 6, 2,
			"/pets?after=7&limit=2&status=sold"},
		{"filters by category", "/pets?categoryId=1&after=2&limit=1", 6, 1,
			"/pets?after=6&categoryId=1&limit=1"},
		{"the link keeps both filters", "/pets?status=sold&categoryId=1", 6, 20,
			"/pets?after=25&categoryId=1&limit=20&status=sold"},
		{"the last page has no link", "/pets?after=136", 137, 19, ""},
		{"nor has one that is just full", "/pets?after=135", 136, 20, ""},
		{"nor one after all records", "/pets?after=9223372036854775807", 0, 0, ""},
		{"nor has one whose rest is filtered out", "/pets?status=pending&limit=1", 2, 1, ""},
		{"of orders", "/store/orders?limit=1", 1, 1, "/store/orders?after=1&limit=1"},
		{"of the inventory", "/inventory", 1, 20, "/inventory?after=20&limit=20"},
	} {
		t.Run(test.rule, func(t *testing.T) {
			s := newService(t, Options{})
			for range 150 { // pets 6 to 155
				s.send("POST /pets", `{"name":"P","categoryId":1,"status":"sold"}`)
			}
			s.send("DELETE /pets/30", "")
			before := snapshotOf(s)
			resp := s.send("GET "+test.target, "")
			equal(t, "the store, as others see it", snapshotOf(s), before)
			var records []struct{ ID, PetID int } // one of them
			must(t, json.Unmarshal([]byte(resp.body), &records))
			equal(t, "records", len(records), test.count)
			for i, record := range records {
				if id := cmp.Or(record.ID, record.PetID); id != test.first+i {
					t.Fatalf("record %d has the id %d, want %d", i+1, id, test.first+i)
				}
			}
			if test.next != "" {
				test.next = "<" + test.next + `>; rel="next"`
			}
			equal(t, "Link", resp.Header.Get("Link"), test.next)
		})
	}
}

func TestQuery(t *testing.T) {
	for _, test := range []struct{ rule, target, want string }{
		{"a sign", "/pets?categoryId=%2B1", "categoryId must be an integer from 1 to 9223372"},
		{"an empty value", "/store/orders?limit", "limit must not be repeated or empty"},
		{"an empty status", "/pets?status=", "status must not be repeated or empty"},
		{"a repeated value", "/pets?status=sold&status=sold", "status must not be repeated"},
		{"a wrong escape", "/pets?limit=%zz", "The query must consist of"},
		{"a status in capitals", "/pets?status=SOLD", "status must be available, pending or sold."},
		{"the first of several as described", "/pets?status=x&after=x&limit=0", "limit must be"},
		{"the first of many unknown ones by name", "/pets?i=1&h=1&g=1&f=1&e=1&d=1&c=1&b=1&a=1",
			`"a" is unknown here`},
	} {
		t.Run("refuses "+test.rule, func(t *testing.T) {
			s := newService(t, Options{})
			s.send("GET "+test.target, "").expectError("invalid_parameter", test.want)
		})
	}
}

func TestBody(t *testing.T) {
	t.Run("has at most 64 KiB, in chunks too", func(t *testing.T) {
		s := newService(t, Options{})
		for size, want := range map[int]int{65536: 200, 65537: 413} {
			body := `{"name":"x"}` + strings.Repeat(" ", size-12)
			for _, length := range []int{size, -1} { // -1 is that of a body in chunks
				r := httptest.NewRequest("PUT", "/categories/1", strings.NewReader(body))
				r.ContentLength = int64(length)
				equal(t, fmt.Sprintf("status of %d bytes with the Content-Length %d", size, length),
					s.sendRequest(r).StatusCode, want)
			}
		}
	})
	t.Run("may have a smaller limit around the server", func(t *testing.T) {
		s := newService(t, Options{})
		s.handler = http.MaxBytesHandler(s.Server, 5)
		s.send("POST /pets", newKiwi).expectError("payload_too_large",
			"The body must be at most 5 bytes.")
	})
	t.Run("is of JSON if it has a type", func(t *testing.T) {
		s := newService(t, Options{})
		for _, header := range [][]string{{"Content-Type", ""}, {"Content-Encoding", ""},
			{"Content-Type", "Application/JSON ; x=y"}, {"Content-Encoding", "Identity"},
			{"Content-Type", "application/json; utf-8; a=; a=1; a=2"},
			{"Content-Type", "application/json; charset=ISO-8859-1"}} {
			s.send("PUT /categories/1", `{"name":"x"}`, header...).expect(200,
				`{"id":1,"name":"x"}`)
		}
	})
	t.Run("is refused if it is of another type, or compressed", func(t *testing.T) {
		s := newService(t, Options{})
		for _, header := range [][]string{{"Content-Type", "application/jsonp"},
			{"Content-Type", "application/vnd.api+json"}, {"Content-Type", "text/json"},
			{"Content-Type", "application/x-www-form-urlencoded"}, {"Content-Type", "*/*"},
			{"Content-Type", "application/merge-patch+json"},
			{"Content-Type", "text/plain; application/json"}, {"Content-Type", "; charset=utf-8"},
			{"Content-Encoding", "gzip"}, {"Content-Encoding", "br"},
			{"Content-Encoding", "identity", "Content-Encoding", "x"}} {
			for _, request := range []string{"POST /pets", "PATCH /inventory/1"} {
				s.send(request, newKiwi, header...).expectError("unsupported_media_type",
					"The body must ")
			}
		}
	})
}

func TestListThatWaits(t *testing.T) {
	inFakeTime(t, "is not overwritten by the next one", func(t *testing.T) {
		s := newService(t, Options{Delay: time.Second, Slow: "1/2", Only: "GET"})
		for range 100 {
			s.send("POST /categories", fmt.Sprintf(`{"name":"x","description":"%02000d"}`, 0))
		}
		waiting := make(chan *reply, 1)
		go func() { waiting <- s.send("GET /categories?after=4&limit=100", "") }()
		synctest.Wait()
		s.send("GET /pets?categoryId=999", "").expect(200, "[]")
		resp := <-waiting
		equal(t, "records", strings.Count(resp.body, `"description"`), 100)
		equal(t, "its begin", strings.HasPrefix(resp.body, `[{"id":5,`), true)
		equal(t, "Link", resp.Header.Get("Link"), "")
	})
}

// What the requests of one Server share bears many at once, as the race detector sees.
func TestRequestsAtOnce(t *testing.T) {
	s := newService(t, Options{Verbose: true, CORSOrigins: []string{shop}})
	var clients sync.WaitGroup
	for range 8 {
		for _, request := range []string{"GET /pets", "GET /x", "PUT /pets", "GET //x", "GET /x/",
			"GET /", "GET /openapi.json", "GET /docs/keys.json", "GET /healthz", "OPTIONS /pets"} {
			clients.Go(func() {
				s.send(request, "", "Origin", shop, "Access-Control-Request-Method", "PUT")
			})
		}
	}
	clients.Wait()
	equal(t, "lines in the log", strings.Count(s.logged.String(), "\n"), 80)
}

func TestMethodNotAllowed(t *testing.T) {
	s := newService(t, Options{})
	for request, allow := range map[string]string{
		"PUT /pets":             "GET, HEAD, POST",
		"POST /pets/x":          "DELETE, GET, HEAD, PUT", // the id is not read
		"PATCH /store/orders/2": "DELETE, GET, HEAD, PUT",
		"DELETE /inventory/1":   "GET, HEAD, PATCH",
		"get /inventory":        "GET, HEAD",
		"POST /":                "GET, HEAD",
		"POST /healthz":         "GET, HEAD",
		"POST /openapi.json":    "GET, HEAD",
		"POST /docs/keys.json":  "GET, HEAD",
	} {
		resp := s.send(request, "")
		resp.expectError("method_not_allowed", "This path supports only the methods "+allow+".")
		equal(t, request+": Allow", resp.Header.Get("Allow"), allow)
	}
}

func TestUnknownPath(t *testing.T) {
	s := newService(t, Options{})
	for _, request := range []string{
		"GET /nothing", "GET /store", "GET /docs/none.html", "GET /pets/", "GET /pets/1/",
		"GET /docs/", "GET /healthz/", "GET /inventory/1/x", "GET /Pets", "GET /PETS/1",
		"POST //pets", "GET /pets//1", "GET /pets/../pets", "GET /pets/.", "GET //healthz",
		"GET /docs/..%2fopenapi.json", "GET /docs/%2e%2e", // outside of the page's directory
	} {
		s.send(request, "").expectError("not_found", "This path does not exist; "+
			"GET / shows the operations, and GET /openapi.json describes them.")
	}
	page := s.send("GET /docs/none.html", "") // which is none of the API's
	equal(t, "limit", page.Header.Get("X-RateLimit-Limit"), "")
}

// A HEAD gets the header of a GET, with its length. (Over HTTP, since net/http sets a part of it.)
func TestHEAD(t *testing.T) {
	s := newService(t, Options{})
	server := httptest.NewServer(s)
	defer server.Close()
	send := func(method, target string) *http.Response {
		r, _ := http.NewRequest(method, server.URL+target, nil)
		r.Header.Set("X-API-Key", testKey)
		resp, err := server.Client().Do(r)
		must(t, err)
		resp.Header.Del("Date")
		resp.Header.Del("X-RateLimit-Remaining") // it falls with each request
		return resp
	}
	targets := []string{"/pets?limit=1", "/categories?limit=9", "/categories?limit=100",
		"/pets?x=1", "/pets/1", "/nothing", "/", "/healthz", "/openapi.json",
		"/pets?status=sold&limit=1", "/pets?categoryId=999"}
	for id := 5; id < 35; id++ { // about 2050 bytes; net/http sets a length only up to 2048
		text := strings.Repeat("x", 1900+id)
		s.send("POST /categories", fmt.Sprintf(`{"name":"%0100d","description":"%s"}`, id, text))
		targets = append(targets, fmt.Sprint("/categories/", id))
	}
	for _, target := range targets {
		get, head := send("GET", target), send("HEAD", target)
		body, _ := io.ReadAll(get.Body)
		equal(t, target+": Content-Length", get.ContentLength, int64(len(body)))
		equal(t, target+": status", head.StatusCode, get.StatusCode)
		equal(t, target+": header", head.Header, get.Header)
	}
}

// Who makes a request in process may leave out what net/http fills in.
func TestRequestInProcess(t *testing.T) {
	s := newService(t, Options{})
	page := s.send("GET /", "").body
	for _, r := range []*http.Request{
		{URL: &url.URL{Path: "/"}, Body: http.NoBody},                  // a GET
		{Method: "GET", URL: new(url.URL), Body: http.NoBody},          // of /
		{Method: "GET", URL: &url.URL{Path: "/"}}, {URL: new(url.URL)}, // without a body
	} {
		before := r.URL.Path
		equal(t, "body", s.as(noKey).sendRequest(r).body, page)
		equal(t, "the path in the caller's URL", r.URL.Path, before)
	}
	r := &http.Request{Method: "POST", URL: &url.URL{Path: "/pets"}, Header: http.Header{}}
	s.sendRequest(r).expectError("malformed_json", "The JSON is empty")
	r.URL.Path = "pets"
	s.sendRequest(r).expectError("not_found", "This path does not exist")
}

func TestUnderAPrefix(t *testing.T) {
	s := newService(t, Options{})
	s.handler = http.StripPrefix("/v1", s.Server)
	equal(t, "Location", s.send("POST /v1/pets?x=1", newKiwi).Header.Get("Location"), "/pets/6")
	equal(t, "Link", s.send("GET /v1/inventory?limit=1", "").Header.Get("Link"),
		`</inventory?after=1&limit=1>; rel="next"`)
}

func TestDeprecatedAddsToTheHeader(t *testing.T) {
	s := newService(t, Options{})
	s.handler = s.api(deprecated(s.listPets))
	equal(t, "Link", s.send("GET /pets?limit=4", "").Header["Link"], []string{
		`</pets?after=4&limit=4>; rel="next"`, `</pets>; rel="successor-version"`})
}

func TestWrappedErrorIsFound(t *testing.T) {
	s := newService(t, Options{})
	s.handler = s.api(func(*http.Request) (response, error) {
		return response{}, fmt.Errorf("wrapped: %w", newError(notFound, "It is away."))
	})
	s.send("GET /categories/9", "").expectError("not_found", "It is away.")
}

func TestKeyOfARequest(t *testing.T) {
	const asks = "A valid API key is required; send one as Authorization: Bearer KEY or as " +
		"X-API-Key: KEY."
	t.Run("is that in X-API-Key, whatever is in Authorization", func(t *testing.T) {
		s := newService(t, Options{})
		for _, value := range []string{"", "Basic dTpw", "Token x", "Bearer wrong"} {
			s.as("demo-pro").send("GET /categories?after=4", "", "Authorization", value).
				expect(200, "[]")
		}
		s.as("wrong").send("GET /pets", "", "Authorization", "Bearer demo-pro").
			expectError("unauthorized", asks)
	})
	t.Run("is that in Authorization if X-API-Key is missing or empty", func(t *testing.T) {
		s := newService(t, Options{}).as(noKey)
		for _, value := range []string{"Bearer demo-pro", "Bearer   demo-pro", "bEARER demo-pro"} {
			s.send("GET /categories?after=4", "", "Authorization", value, "X-API-Key", "").
				expect(200, "[]")
		}
		s.send("GET /categories?after=4", "", "Authorization", "Bearer demo-pro").expect(200, "[]")
		for _, value := range []string{"Bearer wrong", "Bearer DEMO-PRO", "Bearer demo-pro x",
			"Bearers demo-pro", "Bearer", "Basic demo-pro", "demo-pro", ""} {
			s.send("GET /pets", "", "Authorization", value, "Authorization", "Bearer demo-pro").
				expectError("unauthorized", asks) // since the first one counts
		}
	})
	t.Run("is asked for before it is told which paths exist", func(t *testing.T) {
		s := newService(t, Options{})
		for _, request := range []string{"GET /pets/x", "GET /x", "PUT /pets", "GET /docs/x/y",
			"GET /healthz/x"} {
			resp := s.as("secret").send(request, "")
			resp.expectError("unauthorized", "")
			equal(t, request+": Allow", resp.Header.Get("Allow"), "")
		}
	})
}

const shop = "https://shop.example"

func TestOrigins(t *testing.T) {
	// Those of this computer are in TestHostsOfTheDemoKeys.
	t.Run("are those in the options, as they are", func(t *testing.T) {
		for _, keys := range []string{"", keysFile(t, 60, 1000)} {
			origins := []string{"https://x", shop}
			s := newService(t, Options{CORSOrigins: origins, Keys: keys})
			origins[1] = "null" // which is the caller's own
			for origin, want := range map[string]string{shop: shop, shop + ":8443": "", "null": "",
				"http://shop.example": "", "https://a.shop.example": "", "https://SHOP.example": "",
				"http://%zz": ""} {
				got := s.send("GET /pets", "", "Origin", origin).Header
				equal(t, fmt.Sprintf("allowed origin for %q with -keys %q", origin, keys),
					got.Get("Access-Control-Allow-Origin"), want)
			}
			got := s.send("GET /pets", "", "Origin", "http://localhost:5173").Header
			equal(t, "this computer, too", got["Access-Control-Allow-Origin"] != nil, keys == "")
		}
	})
	t.Run("each response says what pages can read of it", func(t *testing.T) {
		s := newService(t, Options{CORSOrigins: []string{shop}, Fail: "1/9"})
		s.handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Vary", "Accept-Encoding") // as middleware does
			s.ServeHTTP(w, r)
		})
		for _, test := range []struct{ request, key, origin string }{
			{"GET /pets/1", testKey, shop}, // which fails
			{"PUT /x", testKey, "http://localhost:5173"},
			{"GET //x", noKey, shop},
			{"HEAD /healthz", noKey, "http://localhost:5173"},
		} {
			request, origin := test.request, test.origin
			h := s.as(test.key).send(request, "", "Origin", origin).Header
			equal(t, request+": Vary", h.Values("Vary"), []string{"Accept-Encoding", "Origin"})
			equal(t, request+": origin", h.Get("Access-Control-Allow-Origin"), origin)
			equal(t, request+": credentials", h.Get("Access-Control-Allow-Credentials"), "true")
			equal(t, request+": headers", h.Get("Access-Control-Expose-Headers"), exposed)
		}
	})
}

const exposed = "X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, Retry-After, " +
	"Location, Link, Allow, Deprecation, Sunset, WWW-Authenticate"

func TestPreflight(t *testing.T) {
	const method = "Access-Control-Request-Method"
	options := Options{CORSOrigins: []string{"https://one.example", shop}, Verbose: true}
	t.Run("allows an allowed origin the methods, and the headers it asks for", func(t *testing.T) {
		s := newService(t, options)
		for _, target := range []string{"/pets/1", "/nothing", "//pets", "/"} {
			resp := s.as(noKey).send("OPTIONS "+target, "", "Origin", shop, method, "PUT",
				"Access-Control-Request-Headers", "traceparent,a",
				"Access-Control-Request-Headers", "x-api-key")
			equal(t, target+": status", resp.StatusCode, 204)
			equal(t, target+": header", resp.Header, http.Header{
				"Access-Control-Allow-Origin":      {shop},
				"Access-Control-Allow-Credentials": {"true"},
				"Access-Control-Allow-Methods":     {"DELETE, GET, HEAD, PATCH, POST, PUT"},
				"Access-Control-Allow-Headers":     {"traceparent,a, x-api-key"},
				"Access-Control-Expose-Headers":    {exposed},
				"Cache-Control":                    {"no-store"},
				"Vary":                             {"Origin"},
			})
		}
	})
	t.Run("of another origin is a 204 without a header of CORS, not counted", func(t *testing.T) {
		s := newService(t, options)
		resp := s.as(noKey).send("OPTIONS /pets", "", method, "PUT",
			"Origin", "http://evil.example")
		equal(t, "status", resp.StatusCode, 204)
		equal(t, "header", resp.Header, http.Header{"Cache-Control": {"no-store"}})
		contains(t, "the log", s.logged.String(),
			`the origin "http://evil.example" is not allowed; -cors-origin would allow it`)
		contains(t, "the log", s.logged.String(), `OPTIONS "/pets" 204 `)
		left := ratesOf(s.as(noKey).send("GET /pets", "")).left
		equal(t, "left without a key", left, int(plans["free"].perMinute)-1)
		s = newService(t, Options{})
		s.send("OPTIONS /pets", "", method, "PUT", "Origin", "http://evil.example")
		equal(t, "log without -v", s.logged.String(), "")
	})
	t.Run("without an origin, a method or OPTIONS is none", func(t *testing.T) {
		s := newService(t, options)
		s.send("OPTIONS /pets", "", "Origin", shop).expectError("method_not_allowed", "")
		equal(t, "status", s.send("OPTIONS /x", "", "Origin", shop, method, "x").StatusCode, 204)
		s.send("OPTIONS /pets", "", method, "PUT").expectError("method_not_allowed", "")
		s.send("POST /x", "", "Origin", shop, method, "PUT").expectError("not_found", "")
	})
}

func TestOptions(t *testing.T) {
	t.Run("that mean nothing are an error, in the words that a flag gets", func(t *testing.T) {
		expectNew := func(want string, options Options) {
			t.Helper()
			_, err := New(options)
			equal(t, "error", fmt.Sprint(err), want)
		}
		expectNew("-minute must be from 1s to 1m, not 1ns", Options{Minute: 1})
		expectNew("-delay must be from 0 to 8s, not 9s", Options{Delay: 9 * time.Second})
		for flag, options := range map[string]Options{"-fail": {Fail: "3/2"},
			"-drop": {Drop: "3/2"}, "-slow": {Slow: "3/2", Delay: 1}} {
			expectNew(flag+` must be M/N or A-B/N, such as 1/2 or 2-3/4, in whole numbers with `+
				`1 <= A <= B <= N <= 1000000; got "3/2"`, options)
		}
		expectNew("-slow needs -delay", Options{Slow: "1/2"})
		expectNew("-only needs -fail, -drop or -delay", Options{Only: "PUT"})
		for _, only := range []string{"TRACE", "put", "GET /x", "HEAD /pets", "GET /pets/1",
			" PUT", "/pets", ""} {
			expectNew(fmt.Sprintf(`-only must be methods and operations of the API, such as `+
				`"PUT,GET /pets/{petId}"; it has no %q`, only),
				Options{Only: "PUT," + only, Delay: 1})
		}
	})
	t.Run("have a default logger", func(t *testing.T) {
		server, err := New(Options{})
		must(t, err)
		equal(t, "it is log.Default()", server.options.Logger == log.Default(), true)
	})
	inFakeTime(t, "of two servers share nothing", func(t *testing.T) {
		one, other := newService(t, Options{Fail: "1/3"}), newService(t, Options{Fail: "1/3"})
		for _, s := range []*service{one, other} {
			s.expectAfter(0, rates{status: 503, limit: 5000, left: 4999, reset: 60, retry: 1})
			s.send("DELETE /pets/5", "").expect(204, "")
			s.as(noKey).expectLast(60, 0, rates{status: 401, limit: 60, reset: 60})
		}
	})
}

const dropped = 0 // the status of a request whose connection is closed without a response

// expectStatuses sends a request, with the body of a new pet, as often as there are statuses. The
// responses must have these, and come at once in fake time.
func (s *service) expectStatuses(request string, statuses ...int) {
	s.t.Helper()
	for _, status := range statuses {
		s.expectTook(0, request, status)
	}
}

func (s *service) expectTook(took time.Duration, request string, status int) {
	s.t.Helper()
	begin := time.Now()
	equal(s.t, request+": status", s.send(request, newKiwi).StatusCode, status)
	equal(s.t, request+": took", time.Since(begin), took)
}

func TestFaults(t *testing.T) {
	inFakeTime(t, "fail 2/3 fails two of three, and changes nothing", func(t *testing.T) {
		s := newService(t, Options{Fail: "2/3"})
		s.expectStatuses("DELETE /pets/5", 503)
		s.as("demo-pro").send("GET /pets", "").expectError("failed_on_purpose", "") // of any key
		s.expectStatuses("DELETE /pets/5", 204)
		s.expectStatuses("POST /x", 503)
		s.expectStatuses("PUT /x", 503, 404)
		equal(t, "Retry-After", s.send("HEAD /pets", "").Header.Get("Retry-After"), "1")
	})
	inFakeTime(t, "drop 2/3 drops two of three successes, after the change", func(t *testing.T) {
		s := newService(t, Options{Drop: "2/3"})
		s.expectStatuses("DELETE /pets/5", dropped, 404)
		s.expectStatuses("GET /pets", dropped, 200, dropped)
		s.expectStatuses("PUT /pets/x", 400)
		s.expectStatuses("GET /pets", dropped)
	})
	t.Run("with drop each response closes its connection", func(t *testing.T) {
		s := newService(t, Options{Drop: "9/9", Only: "PUT"})
		for _, key := range []string{testKey, noKey} {
			for _, request := range []string{"GET /pets", "GET //x", "GET /", "OPTIONS /pets"} {
				resp := s.as(key).send(request, "", "Origin", shop, "Access-Control-Request-Method",
					"PUT")
				equal(t, request+": Connection", resp.Header.Get("Connection"), "close")
			}
		}
	})
	inFakeTime(t, "delay holds back each response, slow 1/2 half of them", func(t *testing.T) {
		s := newService(t, Options{Delay: 2 * time.Second, Fail: "1/4", Drop: "1/1"})
		s.expectTook(2*time.Second, "GET /pets", 503)
		s.expectTook(2*time.Second, "GET /pets", dropped)
		s.expectTook(2*time.Second, "PUT /pets", 405)
		s.expectTook(2*time.Second, "GET //x", 404)
		s = newService(t, Options{Delay: 2 * time.Second, Slow: "1/2"})
		go func() { s.expectTook(2*time.Second, "DELETE /pets/5", 204) }()
		synctest.Wait()
		s.expectStatuses("DELETE /pets/5", 404) // the first one was carried out at once
		time.Sleep(2 * time.Second)
		gone, cancel := context.WithCancel(t.Context())
		cancel() // as net/http does when the client has gone
		r := httptest.NewRequestWithContext(gone, "GET", "/pets", nil)
		begin := time.Now()
		s.sendRequest(r)
		equal(t, "for a client that has gone, it took", time.Since(begin), time.Duration(0))
	})
	inFakeTime(t, "spare, and do not count, 401, 403, 429 and open paths", func(t *testing.T) {
		s := newService(t, Options{Fail: "1/2", Drop: "1/1", Delay: time.Second, Slow: "1/2",
			Keys: keysFile(t, 1, 1000)})
		s.expectTook(time.Second, "GET /pets", 503)
		begin := time.Now()
		s.expectLast(9, time.Second, rates{status: 429, limit: 1, reset: 50, retry: 50})
		s.expectAfter(time.Second, rates{status: 403, limit: 1, reset: 300, retry: 300})
		s.as(noKey).send("GET /pets", "").expectError("unauthorized", "")
		s.expectStatuses("GET /", 200)
		equal(t, "took", time.Since(begin), 10*time.Second)
		time.Sleep(5 * time.Minute)
		s.expectStatuses("GET /pets", dropped)
	})
	inFakeTime(t, "with only GET,POST concern HEAD, too, and with HEAD no GET", func(t *testing.T) {
		s := newService(t, Options{Drop: "1/1", Only: "GET,POST"})
		s.expectStatuses("GET /pets", dropped)
		s.expectStatuses("HEAD /pets", dropped)
		s.expectStatuses("POST /pets", dropped)
		s.expectStatuses("DELETE /pets/5", 204)
		s = newService(t, Options{Fail: "1/1", Only: "HEAD"})
		s.expectStatuses("HEAD /pets", 503)
		s.expectStatuses("GET /pets", 200)
	})
	inFakeTime(t, "with only an operation spare others, uncounted", func(t *testing.T) {
		s := newService(t, Options{Fail: "2-2/2", Delay: time.Second, Slow: "2-2/2",
			Only: "GET /pets,PUT /pets/{petId},DELETE"})
		s.expectStatuses("GET /pets", 200)
		s.expectStatuses("GET /categories", 200, 200)
		s.expectStatuses("HEAD /categories", 200, 200)
		s.expectStatuses("GET /pets/1", 200, 200)
		s.expectStatuses("POST /pets", 201, 201)
		s.expectTook(time.Second, "HEAD /pets?limit=1", 503)
		s.expectStatuses("PUT /pets/1", 200)
		s.expectTook(time.Second, "PUT /pets/1", 503)
		s.expectStatuses("PUT /categories/9", 400, 400)
		s.expectStatuses("DELETE /x", 404)
		s = newService(t, Options{Delay: time.Second, Only: "GET /pets"})
		s.expectTook(time.Second, "GET /pets", 200)
		s.expectStatuses("GET /pets/1", 200)
	})
}

func TestLog(t *testing.T) {
	inFakeTime(t, "has a line for each request, never with its key", func(t *testing.T) {
		s := newService(t, Options{Verbose: true, Drop: "2-2/2", Only: "DELETE",
			Delay: 2 * time.Second, Keys: keysFile(t, 4, 9)})
		s.send("POST /pets?x=1", newKiwi)
		s.send("PUT /%0ax", "")
		s.send("DELETE /pets/5", "")
		s.send("DELETE /pets/3", "")
		s.send("GET //x", "")
		s.as("secret").send("GET /pets", "", "Authorization", "Bearer secret")
		r, _ := http.NewRequest("GET", "/healthz?x=1", nil)
		s.sendRequest(r)
		equal(t, "log", s.logged.String(), `POST "/pets?x=1" 201 0s
PUT "/%0ax" 404 not_found 0s
DELETE "/pets/5" 204 2s
DELETE "/pets/3" dropped 2s
GET "//x" 429 rate_limited 0s
GET "/pets" 401 unauthorized 0s
GET "/healthz?x=1" 200 0s
`)
	})
}

func TestOpenPaths(t *testing.T) {
	t.Run("need no key and are not counted", func(t *testing.T) {
		s := newService(t, Options{})
		for _, target := range []string{"/", "/healthz", "/openapi.json", "/docs/keys.json"} {
			s.send("GET "+target, "")
			resp := s.as(noKey).send("GET "+target, "")
			equal(t, target+": status", resp.StatusCode, 200)
			equal(t, target+": limit", resp.Header.Get("X-RateLimit-Limit"), "")
		}
		equal(t, "left with the key", ratesOf(s.send("GET /pets", "")).left, 4999)
		left := ratesOf(s.as(noKey).send("GET /pets", "")).left
		equal(t, "left without a key", left, int(plans["free"].perMinute)-1)
	})
	inFakeTime(t, "health tells the start in UTC to the nanosecond", func(t *testing.T) {
		s := newService(t, Options{}) // in the year 2000
		time.Sleep(time.Hour)
		s.started = s.started.Add(1234567890).In(time.FixedZone("", -8*60*60))
		s.send("GET /healthz", "").expect(200,
			`{"status":"ok","started":"2000-01-01T00:00:01.23456789Z"}`)
	})
	t.Run("the description names the server as its client does", func(t *testing.T) {
		const proto = "X-Forwarded-Proto" // of a proxy, which must say exactly https
		for _, test := range []struct {
			want, target string
			header       []string
		}{
			{"http://pets.example:81", "http://pets.example:81", nil},
			{"https://pets.example", "https://pets.example", nil},
			{"http://localhost:8080", "", []string{"Host", ""}},
			{`http://"`, "", []string{"Host", `"`}},
			{"https://x", "http://x", []string{proto, "https"}},
			{"http://x", "http://x", []string{proto, "HTTPS"}},
			{"http://x", "http://x", []string{proto, "https,http"}},
		} {
			request := "GET " + test.target + "/openapi.json"
			resp := newService(t, Options{}).send(request, "", test.header...)
			var got struct{ Servers []struct{ URL string } }
			must(t, json.Unmarshal([]byte(resp.body), &got))
			equal(t, resp.sent, got.Servers[0].URL, test.want)
		}
	})
	t.Run("the page gets the demo keys, and no others, and the minute", func(t *testing.T) {
		s := newService(t, Options{})
		s.send("GET /docs/keys.json", "").expect(200, `{"minute":60,"keys":`+demoKeys+`}`)
		s = newService(t, Options{Minute: 1500 * time.Millisecond, Keys: keysFile(t, 1, 1)})
		s.send("GET /docs/keys.json", "").expect(200, `{"minute":1.5,"keys":[]}`)
	})
}

// What the page does is tested in a browser.
func TestPage(t *testing.T) {
	types := map[string]string{
		".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8",
		".css": "text/css; charset=utf-8", ".svg": "image/svg+xml",
	}
	t.Run("is served file by file", func(t *testing.T) {
		s := newService(t, Options{})
		files, err := pageFiles.ReadDir("docs/reference")
		must(t, err)
		for _, file := range files {
			resp := s.as(noKey).send("GET /docs/"+file.Name(), "")
			equal(t, file.Name()+": type", resp.Header.Get("Content-Type"),
				types[path.Ext(file.Name())])
			content := contentOf(t, "docs/reference/"+file.Name()) + "\n"
			equal(t, file.Name()+": content", resp.body, content)
		}
	})
	t.Run("loads nothing from elsewhere", func(t *testing.T) {
		s := newService(t, Options{})
		header := s.as(noKey).send("GET /", "").Header
		header.Del("Content-Length")
		equal(t, "header", header, http.Header{
			"Content-Type": {types[".html"]},
			"Content-Security-Policy": {
				"default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
			"X-Content-Type-Options": {"nosniff"},
			"Cache-Control":          {"no-cache"},
		})
	})
}
