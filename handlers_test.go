package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
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

// A service is the whole handler with the keys of the tests.
type service struct {
	*Server
	t    testing.TB
	log  *bytes.Buffer
	spec description
}

// Most tests use the key big, whose limits no test can reach. The others are for tests of the
// limits.
const testKeys = `[
{"key": "big", "plan": "enterprise", "perMinute": 2147483647, "perDay": 2147483647},
{"key": "forty", "plan": "enterprise", "perMinute": 40, "perDay": 100},
{"key": "daily", "plan": "enterprise", "perMinute": 100, "perDay": 30},
{"key": "both", "plan": "enterprise", "perMinute": 1, "perDay": 1},
{"key": "twice", "plan": "enterprise", "perMinute": 1, "perDay": 2},
{"key": "one", "plan": "enterprise", "perMinute": 1, "perDay": 1000000},
{"key": "free", "plan": "free"},
{"key": "pro", "plan": "pro"},
{"key": "business", "plan": "business"}
]`

// newService returns a service that keeps its records in the file, or in memory alone if that is
// empty.
func newService(t testing.TB, file string) *service {
	t.Helper()
	var logged bytes.Buffer
	logger := log.New(&logged, "", 0)
	limits, err := newLimits([]byte(testKeys), time.Minute, "")
	if err != nil {
		t.Fatal(err)
	}
	store, err := openStore(file, logger)
	if err != nil {
		t.Fatal(err)
	}
	server := newServer(store, limits, logger, &options{})
	return &service{server, t, &logged, theDescription()}
}

// restart gives the service another minute of the limits and other options.
func (s *service) restart(minute time.Duration, opts *options) {
	limits, _ := newLimits([]byte(testKeys), minute, "")
	s.Server = newServer(s.store, limits, s.logger, opts)
}

// freshService returns a service on a new file, with the records of docs/sample.json.
func freshService(t testing.TB) *service {
	t.Helper()
	return newService(t, freshFile(t))
}

// expect sends a request, such as "GET /pets/1", and compares the response with the status and what
// is wanted: the whole JSON of a success, or a part of the message of an error. White space between
// the values of the JSON does not matter; the order of the fields does.
func (s *service) expect(request, body string, status int, want string) {
	s.t.Helper()
	resp := s.do(request, body)
	sent, _ := io.ReadAll(resp.Body)
	got := string(sent)
	if status >= 400 && resp.StatusCode == status {
		got = message(sent)
		if strings.Contains(got, want) {
			return
		}
	}
	same(s.t, fmt.Sprintf("%s %.200s", request, body),
		fmt.Sprintf("status %d\n\n%s", status, indent(want)),
		fmt.Sprintf("status %d\n\n%s", resp.StatusCode, indent(got)))
}

// expectHealthy expects that GET /healthz is well, and has the time of the start.
func (s *service) expectHealthy() {
	s.t.Helper()
	started := s.started.UTC().Format(time.RFC3339Nano)
	s.expect("GET /healthz", "", 200, fmt.Sprintf(`{"status":"ok","started":%q}`, started))
}

// refuse expects the status 400.
func (s *service) refuse(request, body, want string) {
	s.t.Helper()
	s.expect(request, body, 400, want)
}

// same reports how what was got differs from what is wanted. The test goes on.
func same(t testing.TB, what string, want, got any) {
	t.Helper()
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func message(errorJSON []byte) string {
	var e Error
	json.Unmarshal(errorJSON, &e) // do has checked that it is an Error object
	return e.Message
}

// indent makes JSON readable line by line. Other text stays as it is.
func indent(text string) string {
	var b bytes.Buffer
	if err := json.Indent(&b, []byte(strings.TrimSpace(text)), "", "  "); err != nil {
		return text
	}
	return b.String()
}

// do sends a request with the key big, unless a header line says otherwise, and returns the
// response. The test fails if the response lacks anything that every response must have: see check.
func (s *service) do(request, body string, header ...string) *http.Response {
	s.t.Helper()
	method, target, _ := strings.Cut(request, " ")
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer big")
	for _, line := range header {
		name, value, _ := strings.Cut(line, ": ")
		if r.Header.Del(name); value != "" {
			r.Header.Set(name, value)
		}
	}
	return s.exchange(r)
}

// exchange sends a request and checks the response, as do does.
func (s *service) exchange(r *http.Request) *http.Response {
	s.t.Helper()
	recorder := httptest.NewRecorder()
	s.ServeHTTP(recorder, r)
	s.check(r, recorder)
	resp := recorder.Result()
	resp.Header = canonical(recorder.Header())
	return resp
}

// canonical returns a header as Get expects it. On the wire, the case of names does not matter.
func canonical(header http.Header) http.Header {
	renamed := http.Header{}
	for name, values := range header {
		renamed[http.CanonicalHeaderKey(name)] = values
	}
	return renamed
}

var (
	digits    = regexp.MustCompile(`^[0-9]+$`)
	durations = regexp.MustCompile(` [0-9.]+(ns|µs|ms|s)\n`)
)

// check reports a response of the API that lacks a rate header, or has a status or header that is
// not described, and any error without an Error object.
func (s *service) check(r *http.Request, recorder *httptest.ResponseRecorder) {
	s.t.Helper()
	what := fmt.Sprintf("%s %s: status %d", r.Method, r.URL, recorder.Code)
	header := recorder.Header()
	_, pattern := s.mux.Handler(r)
	operation, inAPI := s.spec.operations[pattern]
	if inAPI {
		response, ok := operation.Responses[fmt.Sprint(recorder.Code)]
		if !ok {
			s.t.Errorf("%s is not described", what)
		}
		s.checkHeader(what, canonical(header), response)
	}
	if inAPI || pattern == "/" {
		for _, name := range []string{"Limit", "Remaining", "Reset"} {
			values := header["X-RateLimit-"+name]
			if len(values) != 1 || !digits.MatchString(values[0]) {
				s.t.Errorf("%s: X-RateLimit-%s is %q", what, name, values)
			}
		}
		same(s.t, what+": Cache-Control", "no-store", header.Get("Cache-Control"))
		wantType := []string{"application/json"}
		if recorder.Code == 204 {
			wantType = nil
		}
		same(s.t, what+": Content-Type", wantType, header["Content-Type"])
	}
	if recorder.Code >= 400 && r.Method != "HEAD" {
		s.checkError(recorder)
	}
}

// checkHeader reports a header that is described as required but missing, and one that is not
// described. Those of every response, and with -cors-origin those for web pages, need no
// description.
func (s *service) checkHeader(what string, got http.Header, described describedResponse) {
	s.t.Helper()
	allowed := []string{"Cache-Control", "Content-Type"}
	for name, header := range described.Headers {
		name = http.CanonicalHeaderKey(name)
		allowed = append(allowed, name)
		if header.Required && got[name] == nil {
			s.t.Errorf("%s has no %s", what, name)
		}
	}
	for name := range got {
		cors := s.origin != "" && strings.HasPrefix(name, "Access-Control-")
		if !cors && !slices.Contains(allowed, name) {
			s.t.Errorf("%s has a %s, which is not described", what, name)
		}
	}
}

// errorCodes are those that clients know. They are written out here, so that none changes by
// accident. If you add one on purpose, add it here too.
var errorCodes = map[int]string{
	400: "invalid_request",
	401: "unauthorized",
	403: "key_banned",
	404: "not_found",
	405: "method_not_allowed",
	409: "conflict",
	413: "payload_too_large",
	415: "unsupported_media_type",
	429: "rate_limited",
	500: "internal_error",
	503: "service_unavailable",
}

// internals matches what no client should see.
var internals = regexp.MustCompile(`json: |struct|int64|0x|\.go|/tmp|goroutine|\n`)

// checkError reports a body that is not an Error object with the code of its status and a message
// for the client.
func (s *service) checkError(recorder *httptest.ResponseRecorder) {
	s.t.Helper()
	var got Error
	dec := json.NewDecoder(bytes.NewReader(recorder.Body.Bytes()))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&got); err != nil {
		s.t.Errorf("the body %q is not an Error object: %v", recorder.Body, err)
	}
	code, known := errorCodes[recorder.Code]
	if got.Status != recorder.Code || got.Code != code || !known {
		s.t.Errorf("status %d: errorCodes has %q, but the Error object is %s",
			recorder.Code, code, recorder.Body)
	}
	contentType := recorder.Header().Get("Content-Type")
	same(s.t, "Content-Type of an Error object", "application/json", contentType)
	if internals.MatchString(got.Message) || !strings.HasSuffix(got.Message, ".") {
		s.t.Errorf("the message %q is not a sentence for a client", got.Message)
	}
}

func TestPets(t *testing.T) {
	s := freshService(t)
	s.expect("GET /pets/1", ``, 200,
		`{"id":1,"name":"Rex","categoryId":1,"status":"available"}`)
	s.expect("GET /pets?limit=2", ``, 200,
		`[{"id":1,"name":"Rex","categoryId":1,"status":"available"},
		  {"id":2,"name":"Bella","categoryId":1,"status":"pending"}]`)
	s.expect("GET /pets?status=sold", ``, 200,
		`[{"id":4,"name":"Tom","categoryId":2,"status":"sold"}]`)
	s.expect("GET /pets?status=sold&categoryId=1", ``, 200, "[]")
	s.expect("GET /pets?categoryId=3", ``, 200,
		`[{"id":5,"name":"Clover","categoryId":3,"status":"available"}]`)
	s.expect("GET /pets?categoryId=77", ``, 200, "[]")
	s.expect("POST /pets", `{"name":"Luna","categoryId":2}`, 201,
		`{"id":6,"name":"Luna","categoryId":2,"status":"available"}`)
	s.expect("GET /inventory/6", ``, 200, `{"petId":6,"quantity":0,"status":"available"}`)
	s.expect("PATCH /inventory/6", `{"quantity":9}`, 200,
		`{"petId":6,"quantity":9,"status":"available"}`)
	s.expect("PUT /pets/6", `{"name":"Luna 2","categoryId":3,"status":"sold"}`, 200,
		`{"id":6,"name":"Luna 2","categoryId":3,"status":"sold"}`)
	s.expect("GET /inventory/6", ``, 200, `{"petId":6,"quantity":9,"status":"sold"}`)
	const third = `{"id":6,"name":"Luna 3","categoryId":3,"status":"available"}`
	s.expect("PUT /pets/6", `{"name":"Luna 3","categoryId":3}`, 200, third)
	s.expect("GET /pets/6", ``, 200, third)
	s.expect("POST /store/orders", `{}`, 201, `{"id":3,"complete":false}`) // it names no pet
	s.expect("DELETE /pets/6", ``, 204, ``)
	s.expect("DELETE /pets/6", ``, 404, "/pets/6 does not exist")
	s.expect("GET /inventory/6", ``, 404, "/inventory/6 does not exist")
	s.expect("POST /pets", `{"name":"Next","categoryId":2}`, 201,
		`{"id":7,"name":"Next","categoryId":2,"status":"available"}`)
	s.expect("GET /inventory?after=5", ``, 200, `[{"petId":7,"quantity":0,"status":"available"}]`)
	s.refuse("POST /pets", `{"name":"Lost","categoryId":77}`,
		"categoryId 77 does not exist; use the id of an existing category.")
	s.refuse("POST /pets", `{"name":"Lost","categoryId":-9223372036854775808}`, "does not exist")
	s.refuse("PUT /pets/7", `{"name":"Lost","categoryId":77}`, "categoryId 77 does not exist")
	s.expect("DELETE /pets/2", ``, 409, "Order 2 names this pet")
	s.expect("DELETE /store/orders/2", ``, 204, ``)
	s.expect("DELETE /pets/2", ``, 204, ``)
	s.expect("DELETE /pets/4", ``, 409, "Order 1 names this pet")
}

func TestCategories(t *testing.T) {
	s := freshService(t)
	s.expect("GET /categories", ``, 200,
		`[{"id":1,"name":"Dogs","description":"Loyal companions, from terriers to shepherds"},
		  {"id":2,"name":"Cats","description":"Independent and curious"},
		  {"id":3,"name":"Rabbits"},
		  {"id":4,"name":"Fish","description":"Quiet and colorful"}]`)
	s.expect("GET /categories/3", ``, 200, `{"id":3,"name":"Rabbits"}`)
	s.expect("POST /categories", `{"name":"Birds","description":""}`, 201,
		`{"id":5,"name":"Birds","description":""}`)
	s.expect("PUT /categories/5", `{"name":"Birds & <b>"}`, 200, `{"id":5,"name":"Birds & <b>"}`)
	s.expect("GET /categories/5", ``, 200, `{"id":5,"name":"Birds & <b>"}`)
	s.expect("DELETE /categories/5", ``, 204, ``)
	s.expect("GET /categories/5", ``, 404, "/categories/5 does not exist")
	s.expect("DELETE /categories/3", ``, 409, "Pet 5 belongs to this category")
}

func TestOrders(t *testing.T) {
	s := freshService(t)
	s.expect("GET /store/orders?limit=1", ``, 200,
		`[{"id":1,"petId":4,"quantity":1,"shipDate":"2026-11-02T09:30:00Z","complete":true}]`)
	s.expect("POST /store/orders", `{}`, 201, `{"id":3,"complete":false}`)
	s.expect("GET /store/orders/3", ``, 200, `{"id":3,"complete":false}`)
	full := `"petId":1,"quantity":2147483647,"shipDate":"2030-02-28T00:00:00Z","complete":true}`
	s.expect("POST /store/orders", `{`+full, 201, `{"id":4,`+full)
	s.refuse("POST /store/orders", `{"id":5}`, "id is assigned by the server; leave it out.")
	s.refuse("POST /store/orders", `{"id":0}`, "id is assigned by the server")
	s.refuse("POST /store/orders", `{"petId":77}`,
		"petId 77 does not exist; use the id of an existing pet.")
	for _, quantity := range []string{"0", "-1", "2147483648"} {
		for _, request := range []string{"POST /store/orders", "PUT /store/orders/2"} {
			s.refuse(request, `{"quantity":`+quantity+`}`, "quantity must be from 1 to 2147483647.")
		}
	}
	s.expect("PUT /store/orders/3", `{"id":3,"quantity":5}`, 200,
		`{"id":3,"quantity":5,"complete":false}`)
	s.refuse("PUT /store/orders/3", `{"id":4}`, "id must be 3, as in the path, or be left out.")
	s.refuse("PUT /store/orders/3", `{"petId":77}`, "petId 77 does not exist")
	s.expect("PUT /store/orders/3", `{"complete":true}`, 200, `{"id":3,"complete":true}`)
	s.expect("PUT /store/orders/3", `{"quantity":1}`, 409, "A complete order cannot be reopened")
	s.expect("PUT /store/orders/3", `{"quantity":1,"complete":true}`, 200,
		`{"id":3,"quantity":1,"complete":true}`)
	s.expect("DELETE /store/orders/3", ``, 409, "A complete order cannot be cancelled")
	s.expect("DELETE /store/orders/2", ``, 204, ``)
	s.expect("GET /store/orders/2", ``, 404, "/store/orders/2 does not exist")
	// No stock moves, and no pet is sold.
	s.expect("GET /inventory/1", ``, 200, `{"petId":1,"quantity":3,"status":"available"}`)
}

func TestInventory(t *testing.T) {
	s := freshService(t)
	s.expect("GET /inventory?limit=2", ``, 200,
		`[{"petId":1,"quantity":3,"status":"available"},
		  {"petId":2,"quantity":1,"status":"pending"}]`)
	s.expect("GET /inventory/5", ``, 200, `{"petId":5,"quantity":12,"status":"available"}`)
	s.expect("PATCH /inventory/5", `{"quantity":0}`, 200,
		`{"petId":5,"quantity":0,"status":"available"}`)
	s.expect("GET /pets/5", ``, 200,
		`{"id":5,"name":"Clover","categoryId":3,"status":"available"}`)
	s.expect("PATCH /inventory/5", `{"quantity":2147483647}`, 200,
		`{"petId":5,"quantity":2147483647,"status":"available"}`)
	for _, quantity := range []string{"2147483648", "-1"} {
		s.refuse("PATCH /inventory/5", `{"quantity":`+quantity+`}`,
			"quantity must be from 0 to 2147483647.")
	}
	s.refuse("PATCH /inventory/5", `{}`, "quantity is missing; it must be a 64-bit integer")
}

// An id in a path that is no 64-bit integer in plain digits is 400. One that names nothing is 404.
func TestIDs(t *testing.T) {
	s := freshService(t)
	for _, test := range []struct{ methods, path, body string }{
		{"GET PUT DELETE", "/pets", `{"name":"x","categoryId":1}`},
		{"GET PUT DELETE", "/categories", `{"name":"x"}`},
		{"GET PUT DELETE", "/store/orders", `{}`},
		{"GET PATCH", "/inventory", `{"quantity":1}`},
	} {
		for method := range strings.FieldsSeq(test.methods) {
			request := method + " " + test.path + "/"
			for _, id := range []string{"x", "+1", "01", "-0", "1.0", "9223372036854775808"} {
				s.refuse(request+id, test.body, `The id "`+id+`" in the path must be a 64-bit `)
			}
			for _, id := range []string{"77", "0", "9223372036854775807", "-9223372036854775808"} {
				s.expect(request+id, test.body, 404,
					test.path+"/"+id+" does not exist; GET "+test.path+" lists what does.")
			}
		}
	}
	s.expect("GET /categories/%33", ``, 200, `{"id":3,"name":"Rabbits"}`)
}

func TestLists(t *testing.T) {
	s := newService(t, "")
	for range 150 { // the sample has pets 1 to 5
		s.do("POST /pets", `{"name":"P","categoryId":1,"status":"sold"}`)
	}
	for _, test := range []struct {
		target      string
		first, last int64  // ids
		next        string // the target of the link
	}{
		{"/pets", 1, 20, "/pets?after=20&limit=20"},
		{"/pets?limit=100", 1, 100, "/pets?after=100&limit=100"},
		{"/pets?after=20&limit=20", 21, 40, "/pets?after=40&limit=20"},
		{"/pets?after=135", 136, 155, ""},
		{"/pets?after=134", 135, 154, "/pets?after=154&limit=20"},
		{"/pets?after=155", 0, 0, ""},
		{"/pets?after=9223372036854775807", 0, 0, ""},
		{"/pets?after=0&limit=1", 1, 1, "/pets?after=1&limit=1"},
		{"/pets?status=sold&categoryId=1", 6, 25,
			"/pets?after=25&categoryId=1&limit=20&status=sold"},
		{"/pets?status=pending&limit=1", 2, 2, ""},
		{"/inventory?limit=7", 1, 7, "/inventory?after=7&limit=7"},
		{"/categories?limit=2", 1, 2, "/categories?after=2&limit=2"},
		{"/categories", 1, 4, ""},
		{"/store/orders?limit=1", 1, 1, "/store/orders?after=1&limit=1"},
	} {
		t.Run(test.target, func(t *testing.T) {
			var want []int64
			for id := test.first; id <= test.last && id > 0; id++ {
				want = append(want, id)
			}
			resp := s.do("GET "+test.target, "")
			var records []struct{ ID, PetID int64 }
			if err := json.NewDecoder(resp.Body).Decode(&records); err != nil || records == nil {
				t.Errorf("not an array: %v", err)
			}
			var got []int64
			for _, r := range records {
				got = append(got, cmp.Or(r.ID, r.PetID))
			}
			same(t, "ids", want, got)
			link := ""
			if test.next != "" {
				link = "<" + test.next + `>; rel="next"`
			}
			same(t, "Link", link, resp.Header.Get("Link"))
		})
	}
}

func TestQueries(t *testing.T) {
	s := freshService(t)
	const (
		limit     = "limit must be an integer from 1 to 100."
		after     = "after must be an integer from 0 to 9223372036854775807."
		category  = "categoryId must be an integer from 1 to 9223372036854775807."
		status    = "status must be available, pending or sold."
		once      = " must be given once, with a value."
		malformed = "The query must be name=value pairs joined by &, percent-encoded."
	)
	for _, test := range []struct{ query, want string }{
		{"limit=0", limit},
		{"limit=101", limit},
		{"limit=1.0", limit},
		{"limit=%2B1", limit},
		{"limit=", "limit" + once},
		{"limit", "limit" + once},
		{"limit=1&limit=1", "limit" + once},
		{"limit=%zz", malformed},
		{"limit=1;after=1", malformed},
		{"after=-1", after},
		{"after=x", after},
		{"after=9223372036854775808", after},
		{"offset=1", `The parameter "offset" is unknown; use limit, after`},
		{"Limit=1", `The parameter "Limit" is unknown; use limit, after`},
		{"=1", `The parameter "" is unknown; use limit, after`},
	} {
		for _, list := range []string{"/pets", "/categories", "/store/orders", "/inventory"} {
			s.refuse("GET "+list+"?"+test.query, "", test.want)
		}
	}
	// Of several faults one is reported: a malformed query, else the first name in the alphabet
	// that is unknown, repeated or empty, else a value.
	s.refuse("GET /pets?zoo=1&limit=0&%zz", "", malformed)
	for range 20 { // each time the same one
		s.refuse("GET /pets?zoo=1&color=red&limit=0", "",
			`The parameter "color" is unknown; use limit, after, status, categoryId.`)
	}
	s.refuse("GET /pets?limit=0&after=x&categoryId=0&status=gone", "", status)

	s.refuse("GET /pets?status=gone", "", status)
	s.refuse("GET /pets?status=", "", "status"+once)
	s.refuse("GET /pets?status=sold&status=sold", "", "status"+once)
	s.refuse("GET /pets?categoryId=x", "", category)
	s.refuse("GET /pets?categoryId=0", "", category)
	s.refuse("GET /categories?status=sold", "",
		`The parameter "status" is unknown; use limit, after.`)
	s.refuse("GET /inventory?categoryId=1", "",
		`The parameter "categoryId" is unknown; use limit, after.`)
}

// The other tests compare JSON without the white space between its values. This one compares bytes.
func TestBytes(t *testing.T) {
	s := freshService(t)
	for _, test := range []struct{ request, want string }{
		{"GET /inventory?limit=1", `[{"petId":1,"quantity":3,"status":"available"}]` + "\n"},
		{"GET /categories?after=2", `[{"id":3,"name":"Rabbits"},` + "\n" +
			`{"id":4,"name":"Fish","description":"Quiet and colorful"}]` + "\n"},
		{"GET /pets?after=5", "[]\n"},
		{"DELETE /pets/5", ""},
		{"GET /pets/5", `{"code":"not_found","message":` +
			`"/pets/5 does not exist; GET /pets lists what does.","status":404}` + "\n"},
		{"GET /docs/keys.json", "[]\n"},
	} {
		got, _ := io.ReadAll(s.do(test.request, "").Body)
		same(t, test.request, test.want, string(got))
	}
}

func TestBodies(t *testing.T) {
	s := freshService(t)
	for _, test := range []struct{ body, want string }{
		{"", "The JSON is empty."},
		{" \n", "The JSON is empty."},
		{`{"name":"x"`, "malformed in line 1, at byte 11: unexpected end of JSON input."},
		{`{"name":"x"}{"name":"x"}`, "malformed in line 1, at byte 13"},
		{`{"name":"x",}`, "malformed in line 1, at byte 13"},
		{`{'name':"x"}`, "malformed in line 1, at byte 2"},
		{"{\"name\":\"x\n\"}", "malformed in line 1, at byte 11"},
		{"{\n\"name\":\"x\",\n\n  x}", "malformed in line 4, at byte 3: invalid"},
		{"\ufeff{}", "malformed in line 1, at byte"}, // which differs with Go 1.27
		{"{\"name\":\"\xff\"}", "malformed in line 1, at byte 10: invalid UTF-8."},
		{"{\"name\":\"\ufffd\xff\"}", "malformed in line 1, at byte 13: invalid UTF-8."},
		{"\xff", "malformed in line 1, at byte 1"},
		{strings.Repeat("[", 60000), "exceeded max depth"},
		{`null`, "The JSON must be one object."},
		{`[]`, "The JSON must be one object."},
		{`"x"`, "The JSON must be one object."},
		{`{}`, "name is missing; it must be a string."},
		{`{"name":"x","color":"red"}`, `The field "color" is unknown; leave it out.`},
		{`{"name":"x","` + strings.Repeat("c", 60000) + `":1}`, `c" is unknown; leave it out.`},
		{`{"Name":"x"}`, `The field "Name" is unknown; leave it out.`},
		{`{"id":4,"name":"x"}`, `The field "id" is unknown; leave it out.`},
		{`{"name":"x","n\u0061me":"x"}`, `The field "name" is given twice; leave one out.`},
		{`{"name":"x","name":null}`, `The field "name" is given twice; leave one out.`},
		{`{"name":5,"name":"x"}`, `The field "name" is given twice; leave one out.`},
	} {
		s.refuse("POST /categories", test.body, test.want)
	}
	for range 20 { // each time the same one
		s.refuse("POST /categories", `{"zoo":1,"color":"red"}`, `The field "color" is unknown`)
	}
	s.refuse("PUT /pets/1", `{"id":1,"name":"x","categoryId":1}`, `The field "id" is unknown`)
	s.refuse("POST /pets", `{"name":"x"}`, "categoryId is missing; it must be a 64-bit integer")
	s.refuse("POST /pets", `{"categoryId":1}`, "name is missing; it must be a string.")
	s.refuse("POST /pets", `{"quantity":1}`, `The field "quantity" is unknown`)
	s.refuse("PATCH /inventory/1", `{"petId":1,"quantity":1}`, `The field "petId" is unknown`)
	s.expect("POST /categories", ` {"name" : "a\ud800b\u0041" } `, 201,
		`{"id":5,"name":"a`+"\ufffd"+`bA"}`)
	s.expect("POST /pets", `{"name":"x","categoryId":1,"status":"s\u006fld"}`, 201,
		`{"id":6,"name":"x","categoryId":1,"status":"sold"}`)
}

// A value of a wrong type is refused, with the name of its field and what the field must be.
func TestWrongTypes(t *testing.T) {
	s := freshService(t)
	wrong := map[string][]string{
		"a string":                   {`5`, `true`, `["x"]`},
		"true or false":              {`"true"`, `1`},
		"available, pending or sold": {`""`, `"Sold"`, `"gone"`, `1`},
		"a 64-bit integer": {
			`"1"`, `1.0`, `1e0`, `9223372036854775808`, strings.Repeat("1", 60000)},
		"an RFC 3339 date-time such as 2030-12-05T09:30:00Z": {
			`"2030-02-31T00:00:00Z"`, `"2029-02-29T00:00:00Z"`, `"2030-12-31T23:59:60Z"`,
			`"2030-01-01T24:00:00Z"`, `"2030-01-01T00:00:00+24:00"`, `"2030-01-01T00:00:00-24:00"`,
			`"10000-01-01T00:00:00Z"`, `"2030-01-01T00:00:00"`, `"2030-01-01 00:00:00Z"`,
			`"2030-01-01"`, `"tomorrow"`, `""`, `1`, `["x"]`},
	}
	for _, test := range []struct{ request, others, field, mustBe string }{
		{"POST /pets", `"categoryId":1,`, "name", "a string"},
		{"POST /pets", `"name":"x",`, "categoryId", "a 64-bit integer"},
		{"POST /pets", `"name":"x","categoryId":1,`, "status", "available, pending or sold"},
		{"POST /categories", ``, "name", "a string"},
		{"POST /categories", `"name":"x",`, "description", "a string"},
		{"POST /store/orders", ``, "id", "a 64-bit integer"},
		{"POST /store/orders", ``, "petId", "a 64-bit integer"},
		{"POST /store/orders", ``, "quantity", "a 64-bit integer"},
		{"POST /store/orders", ``, "complete", "true or false"},
		{"POST /store/orders", ``, "shipDate",
			"an RFC 3339 date-time such as 2030-12-05T09:30:00Z"},
		{"PATCH /inventory/1", ``, "quantity", "a 64-bit integer"},
	} {
		for _, value := range append(wrong[test.mustBe], "null", "{}") {
			s.refuse(test.request, "{"+test.others+`"`+test.field+`":`+value+"}",
				test.field+" must be "+test.mustBe)
		}
	}
}

func TestNameAndDescription(t *testing.T) {
	s := freshService(t)
	name, description := strings.Repeat("é", 200), strings.Repeat("é", 2000)
	longest := `{"name":"` + name + `","description":"` + description + `"}`
	s.expect("POST /categories", longest, 201, `{"id":5,`+longest[1:])
	s.refuse("POST /categories", `{"name":"x","description":"`+description+`x"}`,
		"description must be at most 2000 characters.")
	s.expect("POST /pets", `{"name":"`+name+`","categoryId":1}`, 201,
		`{"id":6,"name":"`+name+`","categoryId":1,"status":"available"}`)
	for _, name := range []string{name + "x", "", " ", ` \t\u00a0\u2003`} {
		for request, rest := range map[string]string{
			"POST /pets":        `","categoryId":1}`,
			"PUT /pets/1":       `","categoryId":1}`,
			"POST /categories":  `"}`,
			"PUT /categories/1": `"}`,
		} {
			s.refuse(request, `{"name":"`+name+rest,
				"name must be 1 to 200 characters and not blank.")
		}
	}
}

// A ship date comes back as the same instant, to the nanosecond, and what can be read can be
// written back.
func TestShipDate(t *testing.T) {
	s := freshService(t)
	for _, test := range []struct{ date, want string }{
		{"2030-12-05T09:30:00Z", "2030-12-05T09:30:00Z"},
		{"2030-02-28T23:59:59.123456789+14:00", "2030-02-28T23:59:59.123456789+14:00"},
		{"2028-02-29T00:00:00.50-00:30", "2028-02-29T00:00:00.5-00:30"},
		{"2030-01-01T00:00:00+00:00", "2030-01-01T00:00:00Z"},
		{"0000-01-01T00:00:00+23:59", "0000-01-01T00:00:00+23:59"},
		{"9999-12-31T23:59:59-23:59", "9999-12-31T23:59:59-23:59"},
	} {
		want := `{"id":2,"shipDate":"` + test.want + `","complete":false}`
		s.expect("PUT /store/orders/2", `{"shipDate":"`+test.date+`"}`, 200, want)
		s.expect("PUT /store/orders/2", want, 200, want)
	}
}

func TestBodyLimitAndMediaType(t *testing.T) {
	s := freshService(t)
	body := func(size int) string { return `{"name":"x"}` + strings.Repeat(" ", size-12) }
	for _, request := range []string{
		"POST /pets", "PUT /pets/1",
		"POST /categories", "PUT /categories/1",
		"POST /store/orders", "PUT /store/orders/2",
		"PATCH /inventory/1",
	} {
		s.expect(request, body(65537), 413, "The body must be at most 65536 bytes.")
		resp := s.do(request, body(100), "Content-Type: text/plain")
		same(t, request+" as text/plain: status", 415, resp.StatusCode)
	}
	s.expect("POST /categories", body(65536), 201, `{"id":5,"name":"x"}`)
	for contentType, status := range map[string]int{
		"": 201, "application/json": 201, "application/json; charset=utf-8": 201,
		"Application/JSON ;charset=iso-8859-1": 201, "application/json; =": 201,
		"application/jsonp": 415, "application/merge-patch+json": 415, "json": 415,
		"application/x-www-form-urlencoded": 415, "text/plain; application/json": 415,
		"; charset=utf-8": 415,
	} {
		resp := s.do("POST /categories", `{"name":"x"}`, "Content-Type: "+contentType)
		same(t, contentType+": status", status, resp.StatusCode)
	}
}

// A client may send a body in chunks, and may go away, or be too slow, in the middle of it.
func TestBodyInChunks(t *testing.T) {
	s := freshService(t)
	gone := iotest.ErrReader(io.ErrUnexpectedEOF)
	for _, test := range []struct {
		body   io.Reader
		status int
		want   string
	}{
		{io.MultiReader(strings.NewReader(`{"name":`), strings.NewReader(`"x"}`)), 200, ""},
		{io.MultiReader(strings.NewReader(strings.Repeat(" ", 65537)), gone), 413,
			"The body must be at most 65536 bytes."},
		{io.MultiReader(strings.NewReader(`{"name":`), gone), 400,
			"The body ended early or arrived too slowly; send it again."},
	} {
		r := httptest.NewRequest("PUT", "/categories/1", test.body)
		r.Header.Set("Authorization", "Bearer big")
		resp := s.exchange(r)
		got, _ := io.ReadAll(resp.Body)
		same(t, "status", test.status, resp.StatusCode)
		same(t, "message", test.want, message(got))
	}
}

func TestMethodsAndPaths(t *testing.T) {
	s := freshService(t)
	for _, test := range []struct {
		request string
		status  int
		allow   string
	}{
		{"PATCH /pets", 405, "GET, HEAD, POST"},
		{"OPTIONS /pets", 405, "GET, HEAD, POST"},
		{"POST /pets/1", 405, "GET, HEAD, PUT, DELETE"},
		{"BREW /pets/x", 405, "GET, HEAD, PUT, DELETE"},
		{"CONNECT /pets", 405, "GET, HEAD, POST"},
		{"DELETE /categories", 405, "GET, HEAD, POST"},
		{"PATCH /categories/1", 405, "GET, HEAD, PUT, DELETE"},
		{"PUT /store/orders", 405, "GET, HEAD, POST"},
		{"POST /store/orders/1", 405, "GET, HEAD, PUT, DELETE"},
		{"POST /inventory", 405, "GET, HEAD"},
		{"PUT /inventory/1", 405, "GET, HEAD, PATCH"},
		{"POST /", 405, "GET, HEAD"},
		{"DELETE /healthz", 405, "GET, HEAD"},
		{"PUT /openapi.json", 405, "GET, HEAD"},
		{"OPTIONS /docs/openapi.json", 405, "GET, HEAD"},
		{"GET /nothing", 404, ""},
		{"GET /pets/", 404, ""},
		{"GET /pets/1/2", 404, ""},
		{"POST /store", 404, ""},
		{"GET /Pets", 404, ""},
	} {
		t.Run(test.request, func(t *testing.T) {
			resp := s.do(test.request, "")
			same(t, "status", test.status, resp.StatusCode)
			same(t, "Allow", test.allow, resp.Header.Get("Allow"))
			// A stranger cannot tell which paths exist.
			resp = s.do(test.request, "", "Authorization: Bearer wrong")
			same(t, "status without a key", 401, resp.StatusCode)
			same(t, "Allow without a key", "", resp.Header.Get("Allow"))
		})
	}
	s.expect("PATCH /pets", ``, 405, "Method not allowed; this path supports GET, HEAD, POST.")
	s.expect("GET /nothing", ``, 404,
		"This path does not exist; GET /openapi.json lists the operations.")
}

func TestHEAD(t *testing.T) {
	s := freshService(t)
	for _, target := range []string{
		"/pets", "/pets/1", "/pets/77", "/categories?limit=0", "/categories/1", "/store/orders",
		"/store/orders/1", "/inventory", "/inventory/1", "/", "/openapi.json", "/healthz",
		"/docs/openapi.json", "/docs/none", "/nothing",
	} {
		get, head := s.do("GET "+target, ""), s.do("HEAD "+target, "")
		for _, header := range []http.Header{get.Header, head.Header} {
			header.Del("X-RateLimit-Remaining") // it falls with each request
		}
		same(t, target+": status of a HEAD", get.StatusCode, head.StatusCode)
		same(t, target+": header of a HEAD", get.Header, head.Header)
	}
}

func TestLocation(t *testing.T) {
	s := freshService(t)
	for _, test := range []struct{ path, body, want string }{
		{"/pets", `{"name":"x","categoryId":1}`, "/pets/11"},
		{"/categories", `{"name":"x"}`, "/categories/10"},
		{"/store/orders", `{}`, "/store/orders/8"},
	} {
		for range 5 {
			s.do("POST "+test.path, test.body)
		}
		same(t, "Location", test.want, s.do("POST "+test.path, test.body).Header.Get("Location"))
		same(t, test.want+": status", 200, s.do("GET "+test.want, "").StatusCode)
	}
}

func TestDeprecation(t *testing.T) {
	s := freshService(t)
	deprecated := http.Header{
		"Deprecation": {"@1795132800"},
		"Sunset":      {"Thu, 05 Dec 2030 00:00:00 GMT"},
		"Link":        {`</pets>; rel="successor-version"`},
	}
	for _, test := range []struct {
		request, key string
		want         http.Header
	}{
		{"GET /pets/1", "big", deprecated},
		{"HEAD /pets/1", "big", deprecated},
		{"GET /pets/x", "big", deprecated},
		{"GET /pets/77", "big", deprecated},
		{"GET /pets/1", "wrong", http.Header{}},
		{"PUT /pets/1", "big", http.Header{}},
		{"GET /pets", "big", http.Header{}},
	} {
		got := s.do(test.request, "", "Authorization: Bearer "+test.key).Header
		for name := range got {
			if deprecated[name] == nil {
				delete(got, name)
			}
		}
		same(t, test.request+" with the key "+test.key, test.want, got)
	}
}

func TestPages(t *testing.T) {
	s := freshService(t)
	for _, test := range []struct {
		target, contentType string
		status              int
	}{
		{"/", "text/html; charset=utf-8", 200},
		{"/openapi.json", "application/json", 200},
		{"/docs/openapi.json", "application/json", 200},
		{"/docs/keys.json", "application/json", 200},
		{"/healthz", "application/json", 200},
		{"/docs/none.html", "application/json", 404},
		{"/docs/..%2fmain.go", "application/json", 404},
		{"/docs/none%2findex.html", "application/json", 404},
	} {
		resp := s.do("GET "+test.target, "", "Authorization")
		same(t, test.target+": status", test.status, resp.StatusCode)
		same(t, test.target+": Content-Type", test.contentType, resp.Header.Get("Content-Type"))
		same(t, test.target+": X-RateLimit-Limit", "", resp.Header.Get("X-RateLimit-Limit"))
	}
	entries, err := documents.ReadDir("docs")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		resp := s.do("GET /docs/"+entry.Name(), "", "Authorization")
		want := http.Header{
			"Content-Type": {contentTypes[filepath.Ext(entry.Name())]},
			"Content-Security-Policy": {
				"default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
			"X-Content-Type-Options": {"nosniff"},
			"Cache-Control":          {"no-cache"},
		}
		if same(t, entry.Name()+": header", want, resp.Header); want.Get("Content-Type") == "" {
			t.Errorf("%s has no Content-Type", entry.Name())
		}
	}
}

func TestCORS(t *testing.T) {
	s := freshService(t)
	s.do("GET /pets", "", "Origin: https://shop.example") // has no such header: see checkHeader
	s.restart(time.Minute, &options{origin: "https://shop.example"})
	want := http.Header{
		"Access-Control-Allow-Origin":  {"https://shop.example"},
		"Access-Control-Allow-Methods": {"GET, HEAD, POST, PUT, PATCH, DELETE"},
		"Access-Control-Allow-Headers": {"Authorization, X-API-Key, Content-Type"},
		"Access-Control-Expose-Headers": {"X-RateLimit-Limit, X-RateLimit-Remaining, " +
			"X-RateLimit-Reset, Retry-After, Location, Link, Allow, Deprecation, Sunset, " +
			"WWW-Authenticate"},
		"Access-Control-Max-Age": {"600"},
		"Cache-Control":          {"no-store"},
	}
	for _, target := range []string{"/pets/1", "/nothing", "/", "/healthz", "/docs/openapi.json"} {
		resp := s.do("OPTIONS "+target, "", "Authorization") // a preflight has no key
		same(t, target+": status of a preflight", 204, resp.StatusCode)
		same(t, target+": header of a preflight", want, resp.Header)
	}
	for _, key := range []string{"big", "wrong"} {
		for _, target := range []string{"/pets", "/healthz", "/nothing"} {
			got := s.do("GET "+target, "", "Authorization: Bearer "+key).Header
			for _, name := range []string{"Allow-Origin", "Expose-Headers"} {
				name = "Access-Control-" + name
				same(t, target+" with the key "+key+": "+name, want[name], got[name])
			}
		}
	}
	same(t, "Allow", "GET, HEAD, POST", s.do("PATCH /pets", "").Header.Get("Allow"))
}

// The time of the start is told in UTC, to the nanosecond, and does not change until a restart.
func TestStarted(t *testing.T) {
	zone := time.Local
	time.Local = time.FixedZone("", -8*60*60)
	defer func() { time.Local = zone }()
	inBubble(t, func(t *testing.T, s *service) { // which begins with the year 2000
		time.Sleep(1234567890)
		s.restart(time.Minute, &options{})
		for range 2 {
			s.expect("GET /healthz", ``, 200,
				`{"status":"ok","started":"2000-01-01T00:00:01.23456789Z"}`)
			time.Sleep(time.Hour)
		}
	})
}

// A request is counted when it arrives, however long its response is held back.
func TestDelay(t *testing.T) {
	inBubble(t, func(t *testing.T, s *service) {
		s.delay = 3 * time.Second
		for _, test := range []struct {
			request, key string
			status       int
			took         time.Duration
		}{
			{"GET /pets", "big", 200, 3 * time.Second},
			{"GET /nothing", "big", 404, 3 * time.Second},
			{"GET /pets", "wrong", 401, 3 * time.Second},
			{"GET /healthz", "big", 200, 0}, // no part of the API
			{"GET /openapi.json", "big", 200, 0},
		} {
			begin := time.Now()
			resp := s.do(test.request, "", "Authorization: Bearer "+test.key)
			same(t, test.request+" with the key "+test.key+": status", test.status, resp.StatusCode)
			same(t, test.request+" with the key "+test.key+": time", test.took, time.Since(begin))
		}

		first := make(chan rates)
		go func() { first <- s.ask("one") }()
		synctest.Wait()
		s.expectRates("one", "429: 0 of 1 left, ends in 57 s, retry after 60 s")
		same(t, "the first request", "200: 0 of 1 left, ends in 57 s", (<-first).String())
	})
}
