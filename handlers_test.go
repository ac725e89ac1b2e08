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
	"path"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
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

// New pets, as clients send them. What the examples in docs/openapi.json show of the operations is
// tested in openapi_test.go.
const (
	newKiwi  = `{"name":"Kiwi","categoryId":1}`
	soldKiwi = `{"name":"Kiwi","categoryId":2,"status":"sold"}`
)

func TestPets(t *testing.T) {
	t.Run("a stock comes and goes with its pet, and has its status", func(t *testing.T) {
		s := newService(t, Options{})
		s.do("POST /pets", soldKiwi)
		s.expect("GET /inventory/6", "", 200, `{"petId":6,"quantity":0,"status":"sold"}`)
		s.expect("PATCH /inventory/6", `{"quantity":9}`, 200,
			`{"petId":6,"quantity":9,"status":"sold"}`)
		s.expect("GET /pets/6", "", 200, `{"id":6,"name":"Kiwi","categoryId":2,"status":"sold"}`)
		s.expect("PUT /pets/6", newKiwi, 200,
			`{"id":6,"name":"Kiwi","categoryId":1,"status":"available"}`)
		s.expect("GET /inventory/6", "", 200, `{"petId":6,"quantity":9,"status":"available"}`)
		s.expect("DELETE /pets/6", "", 204, "")
		s.expect("GET /pets/6", "", 404, "not_found: No pet has the id 6")
		s.expect("GET /inventory/6", "", 404, "not_found: No pet has the id 6")
	})
	t.Run("its category must exist, whatever the integer", func(t *testing.T) {
		s := newService(t, Options{})
		s.expect("POST /pets", `{"name":"x","categoryId":0}`, 400,
			"unknown_reference: categoryId 0 does not exist")
		s.expect("POST /pets", `{"name":"x","categoryId":-9223372036854775808}`, 400,
			"unknown_reference: categoryId -9223372036854775808 does not exist")
	})
	t.Run("a DELETE succeeds once no order names it", func(t *testing.T) {
		s := newService(t, Options{})
		s.expect("DELETE /pets/2", "", 409, "in_use: Order 2 refers")
		s.expect("PUT /store/orders/2", `{}`, 200, `{"id":2,"complete":false}`)
		s.expect("DELETE /pets/2", "", 204, "")
	})
}

func TestCategories(t *testing.T) {
	t.Run("a DELETE succeeds once no pet belongs to it", func(t *testing.T) {
		s := newService(t, Options{})
		s.expect("DELETE /categories/3", "", 409, "in_use: Pet 5 belongs")
		s.do("PUT /pets/5", newKiwi)
		s.expect("DELETE /categories/3", "", 204, "")
		s.expect("GET /categories/3", "", 404, "not_found: No category has the id 3")
	})
}

func TestOrders(t *testing.T) {
	t.Run("its pet must exist, whatever the integer", func(t *testing.T) {
		s := newService(t, Options{})
		s.expect("POST /store/orders", `{"petId":0}`, 400, "unknown_reference: petId 0 does not")
		s.expect("POST /store/orders", `{"petId":9223372036854775807}`, 400,
			"unknown_reference: petId 9223372036854775807 does not")
	})
	t.Run("it needs no stock, and moves none", func(t *testing.T) {
		s := newService(t, Options{})
		s.expect("POST /store/orders", `{"petId":2,"quantity":9}`, 201,
			`{"id":3,"petId":2,"quantity":9,"complete":false}`)
		s.expect("PUT /store/orders/2", `{"petId":2,"quantity":1,"complete":true}`, 200,
			`{"id":2,"petId":2,"quantity":1,"complete":true}`)
		s.expect("DELETE /store/orders/3", "", 204, "")
		s.expect("GET /store/orders/3", "", 404, "not_found: No order has the id 3")
		s.expect("GET /inventory/2", "", 200, `{"petId":2,"quantity":1,"status":"pending"}`)
	})
	t.Run("a complete one can be changed while it stays so", func(t *testing.T) {
		s := newService(t, Options{})
		s.expect("PUT /store/orders/1", `{"quantity":7,"complete":true}`, 200,
			`{"id":1,"quantity":7,"complete":true}`)
	})
}

func TestIDInThePath(t *testing.T) {
	t.Run("is 400 if it is no plain 64-bit integer", func(t *testing.T) {
		s := newService(t, Options{})
		for _, id := range []string{"1.0", "1e0", "1_0", "٣", "01", "+1", "-0",
			"9223372036854775808"} {
			s.expect("DELETE /categories/"+id, "", 400,
				"invalid_parameter: The id in the path must be a plain 64-bit integer.")
		}
	})
	t.Run("is 404 if it names nothing", func(t *testing.T) {
		s := newService(t, Options{})
		for _, id := range []string{"0", "-1", "%37%37", "9223372036854775807"} {
			s.expect("PUT /store/orders/"+id, "{}", 404, "not_found: No order has the id ")
		}
	})
}

func TestLists(t *testing.T) {
	s := newService(t, Options{})
	for range 150 { // pets 6 to 155
		s.do("POST /pets", `{"name":"P","categoryId":1,"status":"sold"}`)
	}
	s.do("DELETE /pets/30", "")
	for _, test := range []struct {
		rule, target string
		first, last  int64  // ids
		next         string // the target of the link
	}{
		{"a page has 20 records in id order", "/pets", 1, 20, "/pets?after=20&limit=20"},
		{"limit makes it larger", "/pets?after=40&limit=100", 41, 140, "/pets?after=140&limit=100"},
		{"after may be deleted", "/pets?after=30&limit=2", 31, 32, "/pets?after=32&limit=2"},
		{"after takes each int64", "/pets?after=9223372036854775807", 1, 0, ""},
		{"filters by status", "/pets?status=sold&limit=2&after=4", 6, 7,
			"/pets?after=7&limit=2&status=sold"},
		{"filters by category", "/pets?categoryId=2", 3, 4, ""},
		{"filters by a category without pets", "/pets?categoryId=77", 1, 0, ""},
		{"the link keeps both filters", "/pets?status=sold&categoryId=1", 6, 25,
			"/pets?after=25&categoryId=1&limit=20&status=sold"},
		{"the last page has no link", "/pets?after=136", 137, 155, ""},
		{"nor has one that is just full", "/pets?after=135", 136, 155, ""},
		{"nor has one whose rest is filtered out", "/pets?status=pending&limit=1", 2, 2, ""},
		{"of categories", "/categories?after=1&limit=2", 2, 3, "/categories?after=3&limit=2"},
		{"of orders", "/store/orders?limit=1", 1, 1, "/store/orders?after=1&limit=1"},
		{"of the inventory", "/inventory?limit=7", 1, 7, "/inventory?after=7&limit=7"},
	} {
		t.Run(test.rule, func(t *testing.T) {
			resp := s.do("GET "+test.target, "")
			var records []struct{ ID, PetID int64 } // one of them
			json.NewDecoder(resp.Body).Decode(&records)
			var want, got []int64
			for id := test.first; id <= test.last; id++ {
				want = append(want, id)
			}
			for _, record := range records {
				got = append(got, cmp.Or(record.ID, record.PetID))
			}
			link := ""
			if test.next != "" {
				link = "<" + test.next + `>; rel="next"`
			}
			equal(t, "ids", want, got)
			equal(t, "Link", link, resp.Header.Get("Link"))
		})
	}
	t.Run("a list that is empty is no null", func(t *testing.T) {
		newService(t, Options{}).expect("GET /pets?after=4&status=sold", "", 200, "[]")
	})
	t.Run("a list has a record a line", func(t *testing.T) {
		body, _ := io.ReadAll(newService(t, Options{}).do("GET /store/orders", "").Body)
		if lines := strings.Count(string(body), "\n"); lines != 2 {
			t.Errorf("two orders take %d lines:\n%s", lines, body)
		}
	})
}

func TestQuery(t *testing.T) {
	expectRefused := func(t *testing.T, target, want string) {
		t.Helper()
		newService(t, Options{}).expect("GET "+target, "", 400, "invalid_parameter: "+want)
	}
	t.Run("refuses what is no plain integer in the range", func(t *testing.T) {
		expectRefused(t, "/pets?limit=1.0", "limit must be an integer from 1 to 100.")
		expectRefused(t, "/pets?limit=%2B1", "limit must be an integer")
		expectRefused(t, "/categories?after=00", "after must be an integer from 0 to 9223372")
		expectRefused(t, "/categories?after=9223372036854775808", "after must be an integer")
		expectRefused(t, "/pets?categoryId=x", "categoryId must be an integer from 1 to 9223372")
	})
	t.Run("refuses what is empty or repeated", func(t *testing.T) {
		expectRefused(t, "/store/orders?limit=", "limit must not be repeated")
		expectRefused(t, "/store/orders?limit", "limit must not be repeated")
		expectRefused(t, "/inventory?limit=1&after=1&limit=2", "limit must not be repeated")
		expectRefused(t, "/pets?status=", "status must not be repeated")
		expectRefused(t, "/pets?status=sold&status=sold", "status must not be repeated")
	})
	t.Run("refuses what is unknown, letter case included", func(t *testing.T) {
		expectRefused(t, "/pets?Limit=1", `The parameter "Limit" is unknown`)
		expectRefused(t, "/pets?offset=", `The parameter "offset" is unknown`)
		expectRefused(t, "/pets?=1", `The parameter "" is unknown`)
		expectRefused(t, "/pets?status=Sold", "status must be available, pending or sold.")
	})
	t.Run("refuses what is malformed", func(t *testing.T) {
		expectRefused(t, "/pets?limit=%zz", "The query must consist of")
		expectRefused(t, "/pets?limit=1;after=1", "The query must consist of")
		expectRefused(t, "/pets?%", "The query must consist of")
	})
	t.Run("of several faults, names the same one each time", func(t *testing.T) {
		for range 20 {
			expectRefused(t, "/pets?zoo=1&color=red&limit=0", `The parameter "color" is unknown`)
		}
	})
}

func TestSizeOfABody(t *testing.T) {
	for size, want := range map[int]int{65536: 200, 65537: 413} {
		t.Run(fmt.Sprintf("of %d bytes is a %d", size, want), func(t *testing.T) {
			body := `{"name":"x"}` + strings.Repeat(" ", size-12)
			for _, length := range []int{size, -1} { // -1 is that of a body in chunks
				r := httptest.NewRequest("PUT", "/categories/1", strings.NewReader(body))
				r.ContentLength = int64(length)
				r.Header.Set("X-API-Key", "demo-pro")
				if got := newService(t, Options{}).exchange(r).StatusCode; got != want {
					t.Errorf("status %d with the Content-Length %d, want %d", got, length, want)
				}
			}
		})
	}
	t.Run("may have a smaller limit around the server", func(t *testing.T) {
		w := httptest.NewRecorder()
		r := httptest.NewRequest("POST", "/pets", strings.NewReader(newKiwi))
		r.Header.Set("X-API-Key", "demo-pro")
		http.MaxBytesHandler(newService(t, Options{}), 5).ServeHTTP(w, r)
		equal(t, "error", "payload_too_large: The body must be at most 5 bytes.",
			errorIn(w.Body.Bytes()))
	})
}

func TestTypeOfABody(t *testing.T) {
	for _, line := range []string{"Content-Type: ", // as good as missing
		"Content-Type: Application/JSON", "Content-Type: application/json; charset=iso-8859-1",
		"Content-Type: application/json ;", "Content-Encoding: ", "Content-Encoding: Identity",
	} {
		t.Run("takes "+line, func(t *testing.T) {
			newService(t, Options{}).expect("PUT /categories/1", `{"name":"x"}`, 200,
				`{"id":1,"name":"x"}`, line)
		})
	}
	for _, line := range []string{"Content-Type: application/merge-patch+json",
		"Content-Type: application/jsonp", "Content-Type: text/plain; application/json",
		"Content-Type: ; charset=utf-8", "Content-Encoding: gzip", "Content-Encoding: x-gzip",
	} {
		t.Run("refuses "+line, func(t *testing.T) {
			newService(t, Options{}).expect("POST /pets", newKiwi, 415,
				"unsupported_media_type: The body must ", line)
		})
	}
}

// The header Allow names the same methods as the message: see checkDescribed.
func TestMethodNotAllowed(t *testing.T) {
	const only = "method_not_allowed: This path supports only the methods "
	s := newService(t, Options{})
	s.expect("PUT /pets", "", 405, only+"GET, HEAD, POST.")
	s.expect("PATCH /categories", "", 405, only+"GET, HEAD, POST.")
	s.expect("DELETE /store/orders", "", 405, only+"GET, HEAD, POST.")
	s.expect("POST /pets/x", "", 405, only+"DELETE, GET, HEAD, PUT.") // the id is not read
	s.expect("POST /categories/4", "", 405, only+"DELETE, GET, HEAD, PUT.")
	s.expect("PATCH /store/orders/2", "", 405, only+"DELETE, GET, HEAD, PUT.")
	s.expect("PATCH /inventory", "", 405, only+"GET, HEAD.")
	s.expect("DELETE /inventory/1", "", 405, only+"GET, HEAD, PATCH.")
	for _, target := range []string{"/", "/healthz", "/openapi.json", "/docs/keys.json",
		"/docs/index.html"} {
		s.expect("POST "+target, "", 405, only+"GET, HEAD.")
	}
	s.expect("get /inventory", "", 405, only+"GET, HEAD.")
}

func TestUnknownPath(t *testing.T) {
	s := newService(t, Options{})
	for _, request := range []string{
		"GET /nothing", "GET /store", "GET /docs/none.html", "GET /openapi.yaml",
		"GET /pets/", "GET /pets/1/", "GET /docs/", "GET /healthz/",
		"GET /pets/1/2", "GET /inventory/1/x", "GET /Pets", "GET /PETS/1",
		"GET //pets", "GET /pets//1", "GET /pets/../pets", "GET /./pets", "GET /pets/.", // unclean
		"GET //healthz", "GET /docs//x.js", "POST //pets", "POST /./pets",
		"GET /docs/..%2fopenapi.json", "GET /docs/%2e%2e", // outside of the page's directory
	} {
		s.expect(request, "", 404, "not_found: This path does not exist; "+
			"GET / shows the operations, and GET /openapi.json describes them.")
	}
}

// These go over HTTP, since net/http sets a part of the header.
func TestHEAD(t *testing.T) {
	server := httptest.NewServer(newService(t, Options{}))
	defer server.Close()
	send := func(method, target string) *http.Response {
		r, _ := http.NewRequest(method, server.URL+target, nil)
		r.Header.Set("X-API-Key", "demo-pro")
		resp, err := server.Client().Do(r)
		must(t, err)
		resp.Header.Del("Date")
		resp.Header.Del("X-RateLimit-Remaining") // it falls with each request
		return resp
	}
	for _, target := range []string{"/pets", "/pets?limit=1", "/pets?x=1", "/pets/1", "/categories",
		"/store/orders/3", "/inventory/1", "/nothing", "/", "/healthz", "/openapi.json"} {
		t.Run(target+": a GET has its length, and a HEAD the same header", func(t *testing.T) {
			get, head := send("GET", target), send("HEAD", target)
			body, _ := io.ReadAll(get.Body)
			equal(t, "Content-Length", int64(len(body)), get.ContentLength)
			equal(t, "status", get.StatusCode, head.StatusCode)
			equal(t, "header", get.Header, head.Header)
		})
	}
}

// That each 200, 400 and 404 has these headers, and no other response, is seen by checkDescribed.
func TestDeprecation(t *testing.T) {
	h := newService(t, Options{}).do("GET /pets/77", "").Header
	equal(t, "Deprecation", "@1795132800", h.Get("Deprecation"))
	equal(t, "Sunset", "Thu, 05 Dec 2030 00:00:00 GMT", h.Get("Sunset"))
	equal(t, "Link", `</pets>; rel="successor-version"`, h.Get("Link"))
}

func TestKeyOfARequest(t *testing.T) {
	t.Run("is that in Authorization, whatever is in X-API-Key", func(t *testing.T) {
		s := newService(t, Options{})
		for _, value := range []string{"Bearer demo-pro", "Bearer   demo-pro", "bEARER demo-pro"} {
			s.expect("GET /categories?after=4", "", 200, "[]", "Authorization: "+value,
				"X-API-Key: wrong")
		}
		for _, value := range []string{"Bearer wrong", "Bearer DEMO-PRO", "Bearer demo-pro x",
			"Bearer", "Basic demo-pro", "demo-pro"} {
			s.expect("GET /pets", "", 401, "unauthorized: ", "Authorization: "+value,
				"X-API-Key: demo-pro")
		}
	})
	t.Run("is that in X-API-Key if Authorization is empty", func(t *testing.T) {
		s := newService(t, Options{})
		s.expect("GET /categories?after=4", "", 200, "[]", "Authorization", "X-API-Key: demo-pro")
		s.expect("GET /pets", "", 401, "unauthorized: ", "Authorization", "X-API-Key: wrong")
		s.expect("GET /pets", "", 401, "unauthorized: ", "Authorization", "X-API-Key")
	})
	t.Run("a 401 has a challenge, and does not tell which paths exist", func(t *testing.T) {
		s := newService(t, Options{})
		for _, request := range []string{"GET /pets", "GET /pets/x", "GET /x", "PUT /pets"} {
			resp := s.do(request, "", "X-API-Key: secret")
			body, _ := io.ReadAll(resp.Body)
			equal(t, request, "unauthorized: A valid API key is required; "+
				"send it as Authorization: Bearer KEY.", errorIn(body)) // it has no key either
			equal(t, request+": Allow", "", resp.Header.Get("Allow"))
			equal(t, request+": challenge", "Bearer", resp.Header.Get("WWW-Authenticate"))
		}
	})
}

const shop = "https://shop.example"

func TestOrigins(t *testing.T) {
	expectAllowed := func(t *testing.T, options Options, allowed bool, origins ...string) {
		t.Helper()
		for _, origin := range origins {
			h, want := newService(t, options).do("GET /pets", "", "Origin: "+origin).Header, ""
			if allowed {
				want = origin
			}
			equal(t, "allowed for "+origin, want, h.Get("Access-Control-Allow-Origin"))
		}
	}
	t.Run("with the demo keys, those of this computer are allowed", func(t *testing.T) {
		expectAllowed(t, Options{}, true, "http://localhost", "http://app.localhost:5173",
			"http://127.9.9.9", "https://[::1]:1")
		expectAllowed(t, Options{}, false, shop, "null", "http://192.0.2.1", "http://%zz",
			"http://localhost.evil.example", "http://evillocalhost", "http://127.0.0.1.example")
	})
	t.Run("with a keys file, none is allowed", func(t *testing.T) {
		expectAllowed(t, Options{Keys: keysFile(t, 60, 1000)}, false,
			"http://localhost", "http://127.0.0.1")
	})
	t.Run("the one in the options is allowed", func(t *testing.T) {
		expectAllowed(t, Options{CORSOrigins: []string{shop}}, true, shop, "http://localhost")
		own := Options{CORSOrigins: []string{shop}, Keys: keysFile(t, 60, 1000)}
		expectAllowed(t, own, true, shop)
		expectAllowed(t, own, false, "http://localhost", shop+":8443", "http://shop.example",
			"https://a.shop.example")
	})
	for _, request := range []string{"GET /pets", "POST /pets", "PUT /x", "GET //x", "HEAD /",
		"GET /healthz", "GET /openapi.json"} {
		t.Run("each response says so: "+request, func(t *testing.T) {
			s := newService(t, Options{CORSOrigins: []string{shop}})
			allowed := s.do(request, "", "Origin: "+shop).Header
			other := s.do(request, "", "Origin: https://other.example").Header
			for name, want := range map[string]string{
				"Access-Control-Allow-Origin": shop, "Access-Control-Allow-Credentials": "true",
				"Access-Control-Expose-Headers": exposed, "Vary": "Origin",
			} {
				equal(t, name, want, allowed.Get(name))
				equal(t, name+" for another origin", "", other.Get(name))
			}
		})
	}
}

// What web pages of an allowed origin can read.
const exposed = "X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, Retry-After, " +
	"Location, Link, Allow, Deprecation, Sunset, WWW-Authenticate"

func TestPreflight(t *testing.T) {
	const method = "Access-Control-Request-Method: PUT"
	options := Options{CORSOrigins: []string{"https://one.example", shop}, Verbose: true}
	t.Run("allows an allowed origin the methods, and the headers it asks for", func(t *testing.T) {
		s := newService(t, options)
		for _, target := range []string{"/pets/1", "/nothing", "//pets", "/", "/healthz"} {
			resp := s.do("OPTIONS "+target, "", "X-API-Key", "Origin: "+shop, method,
				"Access-Control-Request-Headers: traceparent,x-api-key")
			equal(t, target+": status", 204, resp.StatusCode)
			equal(t, target+": header", http.Header{
				"Access-Control-Allow-Origin":      {shop},
				"Access-Control-Allow-Credentials": {"true"},
				"Access-Control-Allow-Methods":     {"DELETE, GET, HEAD, PATCH, POST, PUT"},
				"Access-Control-Allow-Headers":     {"traceparent,x-api-key"},
				"Access-Control-Expose-Headers":    {exposed},
				"Cache-Control":                    {"no-store"},
				"Vary":                             {"Origin"},
			}, resp.Header)
		}
		h := s.do("OPTIONS /pets", "", "Origin: "+shop, method).Header
		equal(t, "for who asks for none", "", h.Get("Access-Control-Allow-Headers"))
	})
	t.Run("of another origin is a 204 without a header of CORS", func(t *testing.T) {
		s := newService(t, options)
		resp := s.do("OPTIONS /pets", "", "X-API-Key", "Origin: http://evil.example", method)
		equal(t, "status", 204, resp.StatusCode)
		equal(t, "header", http.Header{"Cache-Control": {"no-store"}}, resp.Header)
		contains(t, "the log", s.log.String(),
			`the origin "http://evil.example" is not allowed; -cors-origin would allow it`)
		contains(t, "the log", s.log.String(), `OPTIONS "/pets" 204 `)
	})
	t.Run("is never counted", func(t *testing.T) {
		s := newService(t, options)
		s.do("OPTIONS /pets", "", "X-API-Key", "Origin: http://evil.example", method)
		equal(t, "left without a key", 59, ratesOf(s.do("GET /pets", "", "X-API-Key")).left)
	})
	t.Run("without an origin or a method is an OPTIONS like any other", func(t *testing.T) {
		s := newService(t, options)
		s.expect("OPTIONS /pets", "", 405, "method_not_allowed: ", "Origin: "+shop)
		s.expect("OPTIONS /pets", "", 405, "method_not_allowed: ", method)
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
		{"an origin with a path", Options{CORSOrigins: []string{shop + "/"}},
			"-cors-origin must be a scheme and a host, such as https://example.com, in small " +
				"letters and without a path, trailing slash or default port; got " +
				`"https://shop.example/"`},
		{"a fail of 2", Options{Fail: "2"}, "-fail" + ratio + `"2"`},
		{"a drop of 3/2", Options{Drop: "3/2"}, "-drop" + ratio + `"3/2"`},
		{"a slow of 0/1", Options{Slow: "0/1", Only: "PUT", Delay: 1}, "-slow" + ratio + `"0/1"`},
		{"slow without a delay", Options{Slow: "1/2"}, "-slow needs -delay"},
		{"only without a fault", Options{Only: "PUT"}, "-only needs -fail, -drop or -delay"},
		{"only with another method", Options{Only: "PUT,TRACE", Delay: 1},
			`-only must be methods such as PUT or GET,POST; got "PUT,TRACE"`},
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
		s.do("GET /pets", "")
		contains(t, "the log", logged.String(), "nil pointer")
	})
	t.Run("two servers share nothing", func(t *testing.T) {
		for range 2 {
			s := newService(t, Options{Fail: "1/3"})
			if got := ratesOf(s.do("GET /pets", "")); got.status != 503 || got.left != 4999 {
				t.Errorf("a new server's first response is %+v, want a 503 with 4999 left", got)
			}
			s.expect("DELETE /pets/5", "", 204, "")
		}
	})
}

// expectStatuses sends a request with the body of a new pet as often as there are statuses, and
// compares them. The status is 0 if the connection is closed without a response.
func (s *service) expectStatuses(request string, want ...int) {
	s.t.Helper()
	send := func() (status int) {
		defer func() {
			if recover() == http.ErrAbortHandler { // which closes the connection
				status = 0
			}
		}()
		return s.do(request, newKiwi).StatusCode
	}
	for i, status := range want {
		if got := send(); got != status {
			s.t.Errorf("%s, time %d: status %d, want %d", request, i+1, got, status)
		}
	}
}

func TestFail(t *testing.T) {
	t.Run("2/3 fails two of three, whatever they are, and changes nothing", func(t *testing.T) {
		s := newService(t, Options{Fail: "2/3"})
		s.expectStatuses("DELETE /pets/5", 503, 503, 204)
		s.expectStatuses("POST /x", 503)
		s.expectStatuses("PUT /x", 503, 404)
		equal(t, "Retry-After", "1", s.do("HEAD /pets", "").Header.Get("Retry-After"))
	})
	t.Run("counts all keys together", func(t *testing.T) {
		s := newService(t, Options{Fail: "1/2"})
		s.expectStatuses("GET /pets", 503)
		s.expect("GET /categories?after=4", "", 200, "[]", "X-API-Key: demo-free")
		s.expect("GET /pets", "", 503, "failed_on_purpose: ", "X-API-Key: demo-pro")
	})
}

func TestDrop(t *testing.T) {
	t.Run("2/3 drops two of three successes, which keep their changes", func(t *testing.T) {
		s := newService(t, Options{Drop: "2/3"})
		s.expectStatuses("DELETE /pets/5", 0, 404)
		s.expectStatuses("GET /pets", 0, 200, 0)
		s.expectStatuses("PUT /pets/x", 400)
		s.expectStatuses("GET /pets", 0, 200)
	})
	t.Run("counts what fail lets pass", func(t *testing.T) {
		s := newService(t, Options{Fail: "1/2", Drop: "1/2"})
		s.expectStatuses("GET /pets", 503, 0, 503, 200)
	})
	t.Run("closes the connection, and keeps none alive", func(t *testing.T) {
		server := httptest.NewServer(newService(t, Options{Drop: "1/2"}))
		defer server.Close()
		r, _ := http.NewRequest("GET", server.URL+"/pets", nil)
		r.Header.Set("X-API-Key", "demo-pro")
		for range 3 { // a client that kept the connection would send the dropped request again
			if _, err := server.Client().Do(r); !errors.Is(err, io.EOF) {
				t.Errorf("the first request got the error %v, want EOF", err)
			}
			resp, err := server.Client().Do(r)
			must(t, err)
			if !resp.Close {
				t.Error("the second one's connection is kept")
			}
		}
	})
}

// expectTook does what expectStatuses does, and compares the time that it took.
func (s *service) expectTook(want time.Duration, request string, statuses ...int) {
	s.t.Helper()
	begin := time.Now()
	s.expectStatuses(request, statuses...)
	if got := time.Since(begin); got != want {
		s.t.Errorf("%s took %v, want %v", request, got, want)
	}
}

func TestDelay(t *testing.T) {
	const delay = 2 * time.Second
	t.Run("holds back each response of the API", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := newService(t, Options{Delay: delay, Fail: "1/4", Drop: "1/1"})
			s.expectTook(delay, "GET /pets", 503)
			s.expectTook(delay, "GET /pets", 0)
			s.expectTook(delay, "PUT /pets", 405)
			s.expectTook(delay, "GET //x", 404)
		})
	})
	t.Run("with slow 1/2 holds back every other response", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := newService(t, Options{Delay: delay, Slow: "1/2"})
			s.expectTook(delay, "GET /pets", 200)
			s.expectTook(0, "GET /pets", 200)
			s.expectTook(delay, "GET /x", 404)
		})
	})
	t.Run("ends when the client has gone", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			r := httptest.NewRequestWithContext(ctx, "GET", "/pets", nil)
			r.Header.Set("X-API-Key", "demo-pro")
			begin := time.Now()
			newService(t, Options{Delay: delay}).exchange(r)
			equal(t, "waited", time.Second, time.Since(begin))
		})
	})
}

func TestFaults(t *testing.T) {
	t.Run("spare, and do not count, a 401, a 429, a 403 and open paths", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := newService(t, Options{Fail: "1/2", Drop: "1/1", Delay: time.Second, Slow: "1/2",
				Keys: keysFile(t, 1, 1000)})
			s.expectTook(time.Second, "GET /pets", 503)
			begin := time.Now()
			s.expectRates(9, time.Second, rates{status: 429, limit: 1, reset: 50, retry: 50})
			s.expectRates(1, time.Second, rates{status: 403, limit: 1, reset: 300, retry: 300})
			s.expect("GET /pets", "", 401, "unauthorized: ", "X-API-Key")
			s.expectStatuses("GET /", 200)
			equal(t, "took", 10*time.Second, time.Since(begin))
			time.Sleep(5 * time.Minute)
			s.expectTook(0, "GET /pets", 0)
		})
	})
	t.Run("with only PUT leave others alone, and do not count them", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := newService(t, Options{Fail: "2/3", Delay: time.Second, Slow: "1/2", Only: "PUT"})
			s.expectTook(0, "GET /pets/1", 200)
			s.expectTook(time.Second, "PUT /pets/1", 503)
			s.expectTook(0, "POST /pets", 201)
			s.expectTook(0, "PUT /pets/1", 503)
			s.expectTook(time.Second, "PUT /pets/1", 200)
		})
	})
	t.Run("with only GET,POST concern HEAD, too", func(t *testing.T) {
		s := newService(t, Options{Drop: "1/1", Only: "GET,POST"})
		s.expectStatuses("GET /pets", 0)
		s.expectStatuses("HEAD /pets", 0)
		s.expectStatuses("POST /pets", 0)
		s.expectStatuses("DELETE /pets/5", 204)
	})
}

func TestLog(t *testing.T) {
	verbose := Options{Verbose: true}
	for _, test := range []struct {
		rule          string
		options       Options
		request, want string
	}{
		{"has method, path, query and status", verbose, "POST /pets?x=1", `POST "/pets?x=1" 201`},
		{"has the code of an error", verbose, "PUT /x", `PUT "/x" 404 not_found`},
		{"has open paths", verbose, "GET /healthz", `GET "/healthz" 200`},
		{"has preflights", verbose, "OPTIONS /x", `OPTIONS "/x" 204`},
		{"has dropped ones", Options{Verbose: true, Drop: "1/1"}, "GET /pets",
			`GET "/pets" dropped`},
		{"escapes the path", verbose, "GET /%0aevil", `GET "/%0aevil" 404 not_found`},
	} {
		t.Run(test.rule, func(t *testing.T) {
			s := newService(t, test.options)
			func() {
				defer func() { recover() }() // from a drop
				s.do(test.request, newKiwi, "Origin: http://localhost",
					"Access-Control-Request-Method: GET")
			}()
			line := "^" + regexp.QuoteMeta(test.want) + ` [0-9.]+(ns|µs|ms|s)\n$`
			if !regexp.MustCompile(line).Match(s.log.Bytes()) {
				t.Errorf("the log is %q, want %s and a duration", s.log, test.want)
			}
		})
	}
	t.Run("is empty by default", func(t *testing.T) {
		s := newService(t, Options{})
		s.do("GET /pets", "")
		s.do("OPTIONS /pets", "", "Origin: "+shop, "Access-Control-Request-Method: GET")
		equal(t, "log", "", s.log.String())
	})
}

func TestOpenPaths(t *testing.T) {
	t.Run("need no key and are not counted", func(t *testing.T) {
		s := newService(t, Options{})
		for _, target := range []string{"/", "/healthz", "/openapi.json", "/docs/keys.json"} {
			for _, key := range []string{"X-API-Key", "X-API-Key: demo-enterprise"} {
				resp := s.do("GET "+target, "", key)
				equal(t, target+": status", 200, resp.StatusCode)
				equal(t, target+": limit", "", resp.Header.Get("X-RateLimit-Limit"))
			}
		}
		equal(t, "left with the key", 4999, ratesOf(s.do("GET /pets", "")).left)
		equal(t, "left without", 59, ratesOf(s.do("GET /pets", "", "X-API-Key")).left)
	})
	t.Run("health tells the start in UTC to the nanosecond", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { // which begins with the year 2000
			s := newService(t, Options{})
			time.Sleep(time.Hour)
			s.started = s.started.Add(1234567890).In(time.FixedZone("", -8*60*60))
			s.expect("GET /healthz", "", 200,
				`{"status":"ok","started":"2000-01-01T00:00:01.23456789Z"}`)
		})
	})
	t.Run("the page gets the demo keys, and no others, and the minute", func(t *testing.T) {
		s := newService(t, Options{})
		s.expect("GET /docs/keys.json", "", 200, `{"minute":60,"keys":`+demoKeys+`}`)
		s = newService(t, Options{Minute: 1500 * time.Millisecond, Keys: keysFile(t, 1, 1)})
		s.expect("GET /docs/keys.json", "", 200, `{"minute":1.5,"keys":[]}`)
	})
}

// A request made in process may lack what one from the network has.
func TestBareRequest(t *testing.T) {
	t.Run("without a body has an empty one", func(t *testing.T) {
		r, _ := http.NewRequest("POST", "/pets", nil)
		r.Header.Set("X-API-Key", "demo-pro")
		equal(t, "status", 400, newService(t, Options{}).exchange(r).StatusCode)
	})
	t.Run("without a path is for the page", func(t *testing.T) {
		r, _ := http.NewRequest("GET", "http://petstore", http.NoBody)
		resp := newService(t, Options{}).exchange(r)
		equal(t, "Content-Type", "text/html; charset=utf-8", resp.Header.Get("Content-Type"))
		equal(t, "path of the caller's request", "", r.URL.Path)
	})
}

// The description names the server as its client does.
func TestAddressInTheDescription(t *testing.T) {
	for _, test := range []struct{ rule, url, host, want string }{
		{"the Host", "http://x/openapi.json", "pets.example:81", "http://pets.example:81"},
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

// What the page does is tested in a browser.
func TestPage(t *testing.T) {
	types := map[string]string{
		".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8",
		".css": "text/css; charset=utf-8", ".svg": "image/svg+xml",
	}
	s := newService(t, Options{})
	files, _ := pageFiles.ReadDir("docs/reference")
	for _, file := range files {
		t.Run("serves "+file.Name(), func(t *testing.T) {
			resp := s.do("GET /docs/"+file.Name(), "", "X-API-Key")
			content, _ := io.ReadAll(resp.Body)
			equal(t, "Content-Type", types[path.Ext(file.Name())], resp.Header.Get("Content-Type"))
			equal(t, "content", contentOf(t, "docs/reference/"+file.Name())+"\n", string(content))
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
