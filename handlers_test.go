package main

import (
	"bytes"
	"cmp"
	"context"
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
	"sync"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
)

// This is how a handler is tested with nothing but the standard library: make a request, let the handler write its
// response to a recorder, and look at what it recorded.
func TestOnePet(t *testing.T) {
	handler := freshService(t).handler
	request := httptest.NewRequest("GET", "/pets/1", nil)
	request.Header.Set("Authorization", "Bearer big")
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, request)
	want := `{"id":1,"name":"Rex","categoryId":1,"status":"available"}` + "\n"
	if got := recorder.Body.String(); recorder.Code != 200 || got != want {
		t.Errorf("status %d, body %s; want 200, %s", recorder.Code, got, want)
	}
}

// A service is the whole handler on a real file, with the keys of the tests.
type service struct {
	*Server
	t       testing.TB
	handler http.Handler
	log     *lockedBuffer
	spec    description
}

// A lockedBuffer can be read while the server still logs to it.
type lockedBuffer struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.String()
}

// Most tests use the key big, whose limits no test can reach. The others are for tests of the limits.
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

func newService(t testing.TB, file string, synced bool) *service {
	t.Helper()
	var logged lockedBuffer
	logger := log.New(&logged, "", 0)
	limits, err := newLimits([]byte(testKeys))
	if err != nil {
		t.Fatal(err)
	}
	store, err := openStore(file, synced, logger)
	if err != nil {
		t.Fatal(err)
	}
	spec, err := readDescription()
	if err != nil {
		t.Fatal(err)
	}
	server := &Server{store: store, limits: limits, logger: logger}
	return &service{Server: server, t: t, handler: server.newMux(), log: &logged, spec: spec}
}

// freshService returns a service that has the records of docs/sample.json.
func freshService(t testing.TB) *service {
	t.Helper()
	s := newService(t, filepath.Join(t.TempDir(), "petstore.json"), true)
	t.Cleanup(func() { s.store.Close() })
	return s
}

// A step is a request and the response that it must get.
type step struct {
	request string // method and target, such as "GET /pets/1"
	body    string
	status  int
	want    string // the whole JSON of a success, or a part of the message of an error
}

// expect sends the request of a step and stops the test unless the response is the wanted one. White space between
// the values of the JSON does not matter; the order of the fields does.
func (s *service) expect(step step) {
	s.t.Helper()
	resp := s.do(step.request, step.body)
	body, _ := io.ReadAll(resp.Body)
	want, got := step.want, string(body)
	if step.status >= 400 && resp.StatusCode == step.status {
		got = message(body)
		if strings.Contains(got, want) {
			return
		}
	}
	want = fmt.Sprintf("status %d\n\n%s", step.status, indent(want))
	got = fmt.Sprintf("status %d\n\n%s", resp.StatusCode, indent(got))
	if diff := gocmp.Diff(want, got); diff != "" {
		s.t.Fatalf("%s %.200s (-want +got):\n%s", step.request, step.body, diff)
	}
}

// refuse expects the status 400.
func (s *service) refuse(request, body, want string) {
	s.t.Helper()
	s.expect(step{request: request, body: body, status: 400, want: want})
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

// do sends a request with the key big, unless a header line says otherwise, and returns the response. It stops the
// test if the response lacks what every response must have.
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
	recorder := httptest.NewRecorder()
	s.handler.ServeHTTP(recorder, r)
	s.check(r, recorder)
	resp := recorder.Result()
	resp.Header = canonical(recorder.Header())
	return resp
}

// canonical returns a header as Get expects it. On the wire, the case of names does not matter.
func canonical(header http.Header) http.Header {
	same := http.Header{}
	for name, values := range header {
		same[http.CanonicalHeaderKey(name)] = values
	}
	return same
}

// operation returns what the description says about the operation that a request is for, if it is described.
func (s *service) operation(r *http.Request) (o operation, ok bool) {
	_, pattern := s.mux.Handler(r)
	path := pattern[strings.Index(pattern, "/"):]
	method := strings.Replace(r.Method, "HEAD", "GET", 1)
	o, ok = s.spec.Paths[path][strings.ToLower(method)]
	return o, ok
}

var digits = regexp.MustCompile(`^[0-9]+$`)

// check stops the test unless every response of the API has the rate headers, its status and header are as described,
// and every error is an Error object.
func (s *service) check(r *http.Request, recorder *httptest.ResponseRecorder) {
	s.t.Helper()
	operation, inAPI := s.operation(r)
	if inAPI {
		response, ok := operation.Responses[fmt.Sprint(recorder.Code)]
		if !ok {
			s.t.Fatalf("%s %s: status %d is not described", r.Method, r.URL, recorder.Code)
		}
		s.checkHeader(r, recorder, response)
	}
	_, pattern := s.mux.Handler(r)
	preflight := r.Method == "OPTIONS" && recorder.Code == 204
	if (inAPI || pattern == "/") && !preflight {
		for _, name := range []string{"X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"} {
			if values := recorder.Header()[name]; len(values) != 1 || !digits.MatchString(values[0]) {
				s.t.Fatalf("%s %s: %s is %q", r.Method, r.URL, name, values)
			}
		}
	}
	if recorder.Code >= 400 && r.Method != "HEAD" {
		s.checkError(recorder)
	}
}

// checkHeader stops the test unless the response has every header that is described as required, and no other than
// those that are described, those of all JSON, and those for web pages of another origin.
func (s *service) checkHeader(r *http.Request, recorder *httptest.ResponseRecorder, described describedResponse) {
	s.t.Helper()
	var allowed []string
	if recorder.Code != 204 {
		allowed = append(allowed, "Content-Type", "Content-Length")
	}
	got := canonical(recorder.Header())
	for name, header := range described.Headers {
		name = http.CanonicalHeaderKey(name)
		allowed = append(allowed, name)
		if header.Required && got[name] == nil {
			s.t.Fatalf("%s %s: status %d has no %s", r.Method, r.URL, recorder.Code, name)
		}
	}
	for name := range got {
		if !slices.Contains(allowed, name) && !strings.HasPrefix(name, "Access-Control-") {
			s.t.Fatalf("%s %s: status %d has a %s, which is not described", r.Method, r.URL, recorder.Code, name)
		}
	}
	if recorder.Code != 204 && got.Get("Content-Type") != "application/json" {
		s.t.Fatalf("%s %s: the Content-Type is %q", r.Method, r.URL, got.Get("Content-Type"))
	}
}

// errorCodes are those of the contract. They are written out once more, so that no change of the program's own goes
// unnoticed.
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
	503: "storage_unavailable",
}

// internals matches what no client should see.
var internals = regexp.MustCompile(`json: |struct|int64|0x|\.go|/tmp|goroutine|\n`)

// checkError stops the test unless the response is an Error object, with the code of its status and a message for
// the client.
func (s *service) checkError(recorder *httptest.ResponseRecorder) {
	s.t.Helper()
	var got Error
	dec := json.NewDecoder(bytes.NewReader(recorder.Body.Bytes()))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&got); err != nil {
		s.t.Fatalf("the body %q is not an Error object: %v", recorder.Body, err)
	}
	code, known := errorCodes[recorder.Code]
	if got.Status != recorder.Code || got.Code != code || !known {
		s.t.Fatalf("status %d has the Error object %s", recorder.Code, recorder.Body)
	}
	if contentType := recorder.Header().Get("Content-Type"); contentType != "application/json" {
		s.t.Fatalf("an Error object has the Content-Type %q", contentType)
	}
	if internals.MatchString(got.Message) || !strings.HasSuffix(got.Message, ".") {
		s.t.Fatalf("the message %q is not a sentence for a client", got.Message)
	}
}

func TestPets(t *testing.T) {
	s := freshService(t)
	s.expect(step{request: "GET /pets/1",
		status: 200, want: `{"id":1,"name":"Rex","categoryId":1,"status":"available"}`})
	s.expect(step{request: "GET /pets?limit=2",
		status: 200, want: `[{"id":1,"name":"Rex","categoryId":1,"status":"available"},
			{"id":2,"name":"Bella","categoryId":1,"status":"pending"}]`})
	s.expect(step{request: "GET /pets?status=sold",
		status: 200, want: `[{"id":4,"name":"Tom","categoryId":2,"status":"sold"}]`})
	s.expect(step{request: "GET /pets?status=sold&categoryId=1", status: 200, want: "[]"})
	s.expect(step{request: "GET /pets?categoryId=3",
		status: 200, want: `[{"id":5,"name":"Clover","categoryId":3,"status":"available"}]`})
	s.expect(step{request: "GET /pets?categoryId=77", status: 200, want: "[]"})
	s.expect(step{request: "POST /pets", body: `{"name":"Luna","categoryId":2}`,
		status: 201, want: `{"id":6,"name":"Luna","categoryId":2,"status":"available"}`})
	s.expect(step{request: "GET /inventory/6", status: 200, want: `{"petId":6,"quantity":0,"status":"available"}`})
	s.expect(step{request: "PATCH /inventory/6", body: `{"quantity":9}`,
		status: 200, want: `{"petId":6,"quantity":9,"status":"available"}`})
	s.expect(step{request: "PUT /pets/6", body: `{"name":"Luna 2","categoryId":3,"status":"sold"}`,
		status: 200, want: `{"id":6,"name":"Luna 2","categoryId":3,"status":"sold"}`})
	s.expect(step{request: "GET /inventory/6", status: 200, want: `{"petId":6,"quantity":9,"status":"sold"}`})
	s.expect(step{request: "PUT /pets/6", body: `{"name":"Luna 3","categoryId":3}`,
		status: 200, want: `{"id":6,"name":"Luna 3","categoryId":3,"status":"available"}`})
	s.expect(step{request: "GET /pets/6",
		status: 200, want: `{"id":6,"name":"Luna 3","categoryId":3,"status":"available"}`})
	s.expect(step{request: "DELETE /pets/6", status: 204})
	s.expect(step{request: "DELETE /pets/6", status: 404, want: "No pet has the id 6; GET /pets lists them."})
	s.expect(step{request: "GET /pets/6", status: 404, want: "No pet has the id 6"})
	s.expect(step{request: "GET /inventory/6", status: 404, want: "GET /inventory lists"})
	s.expect(step{request: "POST /pets", body: `{"name":"Next","categoryId":2}`,
		status: 201, want: `{"id":7,"name":"Next","categoryId":2,"status":"available"}`})
	s.expect(step{request: "POST /pets", body: `{"name":"Lost","categoryId":77}`,
		status: 400, want: "categoryId 77 does not exist; use the id of an existing category."})
	s.expect(step{request: "POST /pets", body: `{"name":"Lost","categoryId":-9223372036854775808}`,
		status: 400, want: "does not exist; use the id of an existing category"})
	s.expect(step{request: "PUT /pets/7", body: `{"name":"Lost","categoryId":77}`,
		status: 400, want: "does not exist; use the id of an existing category"})
	s.expect(step{request: "PUT /pets/77", body: `{"name":"Lost","categoryId":1}`,
		status: 404, want: "No pet has the id 77; GET /pets lists them."})
	s.expect(step{request: "PUT /pets/x", body: `{"name":"Lost","categoryId":1}`,
		status: 400, want: "petId in the path must be a 64-bit integer"})
	s.expect(step{request: "DELETE /pets/2", status: 409, want: "Order 2 names this pet"})
	s.expect(step{request: "DELETE /store/orders/2", status: 204})
	s.expect(step{request: "DELETE /pets/2", status: 204})
	s.expect(step{request: "DELETE /pets/4", status: 409, want: "Order 1 names this pet"})
	s.expect(step{request: "DELETE /pets/x", status: 400, want: "petId in the path"})
}

func TestCategories(t *testing.T) {
	s := freshService(t)
	s.expect(step{request: "GET /categories",
		status: 200, want: `[
			{"id":1,"name":"Dogs","description":"Loyal companions, from terriers to shepherds"},
			{"id":2,"name":"Cats","description":"Independent and curious"},
			{"id":3,"name":"Rabbits"},
			{"id":4,"name":"Fish","description":"Quiet and colorful"}]`})
	s.expect(step{request: "GET /categories/3", status: 200, want: `{"id":3,"name":"Rabbits"}`})
	s.expect(step{request: "POST /categories", body: `{"name":"Birds","description":""}`,
		status: 201, want: `{"id":5,"name":"Birds","description":""}`})
	s.expect(step{request: "PUT /categories/5", body: `{"name":"Birds & <b>"}`,
		status: 200, want: `{"id":5,"name":"Birds & <b>"}`})
	s.expect(step{request: "GET /categories/5", status: 200, want: `{"id":5,"name":"Birds & <b>"}`})
	s.expect(step{request: "DELETE /categories/5", status: 204})
	s.expect(step{request: "GET /categories/5",
		status: 404, want: "No category has the id 5; GET /categories lists them."})
	s.expect(step{request: "PUT /categories/5", body: `{"name":"Birds"}`,
		status: 404, want: "No category has the id 5; GET /categories lists them."})
	s.expect(step{request: "DELETE /categories/5",
		status: 404, want: "No category has the id 5; GET /categories lists them."})
	s.expect(step{request: "DELETE /categories/3", status: 409, want: "Pet 5 belongs to this category"})
	s.expect(step{request: "PUT /categories/1.0", body: `{"name":"Birds"}`,
		status: 400, want: "categoryId in the path"})
	s.expect(step{request: "GET /categories/9223372036854775808", status: 400, want: "categoryId in the path"})
	s.expect(step{request: "GET /categories/9223372036854775807",
		status: 404, want: "No category has the id 9223372036854775807; GET /categories lists them."})
	s.expect(step{request: "GET /categories/-9223372036854775808",
		status: 404, want: "No category has the id -9223372036854775808; GET /categories lists them."})
	s.expect(step{request: "GET /categories/0",
		status: 404, want: "No category has the id 0; GET /categories lists them."})
	s.expect(step{request: "GET /categories/+1", status: 400, want: "categoryId in the path"})
	s.expect(step{request: "GET /categories/01", status: 400, want: "categoryId in the path"})
	s.expect(step{request: "DELETE /categories/%31", status: 409, want: "Pet 1 belongs to this category"})
}

func TestOrders(t *testing.T) {
	s := freshService(t)
	s.expect(step{request: "GET /store/orders?limit=1",
		status: 200, want: `[{"id":1,"petId":4,"quantity":1,"shipDate":"2026-11-02T09:30:00Z","complete":true}]`})
	s.expect(step{request: "POST /store/orders", body: `{}`, status: 201, want: `{"id":3,"complete":false}`})
	s.expect(step{request: "GET /store/orders/3", status: 200, want: `{"id":3,"complete":false}`})
	full := `"petId":1,"quantity":2147483647,"shipDate":"2030-02-28T23:59:59.123456789012+14:00","complete":true}`
	s.expect(step{request: "POST /store/orders", body: `{` + full, status: 201, want: `{"id":4,` + full})
	s.expect(step{request: "POST /store/orders", body: `{"id":5}`,
		status: 400, want: "id is assigned by the server; leave it out."})
	s.expect(step{request: "POST /store/orders", body: `{"id":0}`, status: 400, want: "id is assigned by the server"})
	s.expect(step{request: "POST /store/orders", body: `{"petId":77}`,
		status: 400, want: "petId 77 does not exist; use the id of an existing pet, or leave it out."})
	s.expect(step{request: "PUT /store/orders/3", body: `{"id":3,"quantity":5}`,
		status: 200, want: `{"id":3,"quantity":5,"complete":false}`})
	s.expect(step{request: "PUT /store/orders/3", body: `{"id":4}`,
		status: 400, want: "id must be 3, as in the path, or be left out."})
	s.expect(step{request: "PUT /store/orders/3", body: `{"petId":77}`, status: 400, want: "petId 77 does not exist"})
	s.expect(step{request: "PUT /store/orders/3", body: `{"complete":true}`,
		status: 200, want: `{"id":3,"complete":true}`})
	s.expect(step{request: "PUT /store/orders/3", body: `{"quantity":1}`,
		status: 409, want: "A complete order cannot be reopened"})
	s.expect(step{request: "PUT /store/orders/3", body: `{"quantity":1,"complete":true}`,
		status: 200, want: `{"id":3,"quantity":1,"complete":true}`})
	s.expect(step{request: "PUT /store/orders/77", body: `{}`,
		status: 404, want: "No order has the id 77; GET /store/orders lists them."})
	s.expect(step{request: "PUT /store/orders/x", body: `{}`, status: 400, want: "orderId in the path"})
	s.expect(step{request: "DELETE /store/orders/3", status: 409, want: "A complete order cannot be cancelled"})
	s.expect(step{request: "DELETE /store/orders/2", status: 204})
	s.expect(step{request: "DELETE /store/orders/2",
		status: 404, want: "No order has the id 2; GET /store/orders lists them."})
	s.expect(step{request: "DELETE /store/orders/x", status: 400, want: "orderId in the path"})
	s.expect(step{request: "GET /store/orders/x", status: 400, want: "orderId in the path"})
	s.expect(step{request: "GET /store/orders/2",
		status: 404, want: "No order has the id 2; GET /store/orders lists them."})
	s.expect(step{request: "GET /inventory/1", status: 200, want: `{"petId":1,"quantity":3,"status":"available"}`})
}

func TestInventory(t *testing.T) {
	s := freshService(t)
	s.expect(step{request: "GET /inventory?limit=2",
		status: 200, want: `[{"petId":1,"quantity":3,"status":"available"},
			{"petId":2,"quantity":1,"status":"pending"}]`})
	s.expect(step{request: "GET /inventory/5", status: 200, want: `{"petId":5,"quantity":12,"status":"available"}`})
	s.expect(step{request: "PATCH /inventory/5", body: `{"quantity":0}`,
		status: 200, want: `{"petId":5,"quantity":0,"status":"available"}`})
	s.expect(step{request: "GET /pets/5",
		status: 200, want: `{"id":5,"name":"Clover","categoryId":3,"status":"available"}`})
	s.expect(step{request: "PATCH /inventory/5", body: `{"quantity":2147483647}`,
		status: 200, want: `{"petId":5,"quantity":2147483647,"status":"available"}`})
	s.expect(step{request: "PATCH /inventory/5", body: `{"quantity":2147483648}`,
		status: 400, want: "quantity must be from 0 to 2147483647."})
	s.expect(step{request: "PATCH /inventory/5", body: `{"quantity":-1}`,
		status: 400, want: "quantity must be from 0 to 2147483647."})
	s.expect(step{request: "PATCH /inventory/5", body: `{}`,
		status: 400, want: "quantity is missing; it must be a 64-bit integer"})
	s.expect(step{request: "PATCH /inventory/77", body: `{"quantity":1}`,
		status: 404, want: "No pet has the id 77; GET /inventory lists them."})
	s.expect(step{request: "PATCH /inventory/x", body: `{"quantity":1}`, status: 400, want: "petId in the path"})
	s.expect(step{request: "GET /inventory/x", status: 400, want: "petId in the path"})
}

func TestLists(t *testing.T) {
	s := freshService(t)
	for id := 6; id <= 155; id++ { // the sample has pets 1 to 5
		s.expect(step{request: "POST /pets", body: `{"name":"P","categoryId":1,"status":"sold"}`,
			status: 201, want: fmt.Sprintf(`{"id":%d,"name":"P","categoryId":1,"status":"sold"}`, id)})
	}
	for _, test := range []struct {
		target      string
		first, last int64 // ids
		link        string
	}{
		{"/pets", 1, 20, `</pets?after=20&limit=20>; rel="next"`},
		{"/pets?limit=100", 1, 100, `</pets?after=100&limit=100>; rel="next"`},
		{"/pets?after=20&limit=20", 21, 40, `</pets?after=40&limit=20>; rel="next"`},
		{"/pets?after=135", 136, 155, ""},
		{"/pets?after=134", 135, 154, `</pets?after=154&limit=20>; rel="next"`},
		{"/pets?after=155", 0, 0, ""},
		{"/pets?after=9223372036854775807", 0, 0, ""},
		{"/pets?after=0&limit=1", 1, 1, `</pets?after=1&limit=1>; rel="next"`},
		{"/pets?status=sold&limit=3&categoryId=1", 6, 8,
			`</pets?after=8&categoryId=1&limit=3&status=sold>; rel="next"`},
		{"/pets?status=pending&limit=1", 2, 2, ""},
		{"/inventory?limit=7", 1, 7, `</inventory?after=7&limit=7>; rel="next"`},
		{"/categories?limit=2", 1, 2, `</categories?after=2&limit=2>; rel="next"`},
		{"/categories", 1, 4, ""},
		{"/store/orders?limit=1", 1, 1, `</store/orders?after=1&limit=1>; rel="next"`},
	} {
		var want []int64
		for id := test.first; id <= test.last && id > 0; id++ {
			want = append(want, id)
		}
		resp := s.do("GET "+test.target, "")
		var records []struct{ ID, PetID int64 }
		if err := json.NewDecoder(resp.Body).Decode(&records); err != nil || records == nil {
			t.Fatalf("%s: not an array: %v", test.target, err)
		}
		var got []int64
		for _, r := range records {
			got = append(got, cmp.Or(r.ID, r.PetID))
		}
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Fatalf("%s: ids (-want +got):\n%s", test.target, diff)
		}
		if diff := gocmp.Diff(test.link, resp.Header.Get("Link")); diff != "" {
			t.Fatalf("%s: Link (-want +got):\n%s", test.target, diff)
		}
	}
}

func TestQueries(t *testing.T) {
	s := freshService(t)
	for _, test := range []struct{ query, want string }{
		{"limit=0", "limit must be an integer from 1 to 100."},
		{"limit=101", "limit must be an integer from 1 to 100."},
		{"limit=-1", "limit must be an integer from 1 to 100."},
		{"limit=x", "limit must be an integer from 1 to 100."},
		{"limit=1.0", "limit must be an integer from 1 to 100."},
		{"limit=%2B1", "limit must be an integer from 1 to 100."},
		{"limit=", "limit must be given once, with a value."},
		{"limit", "limit must be given once, with a value."},
		{"limit=1&limit=1", "limit must be given once, with a value."},
		{"limit=%zz", "The query must be name=value pairs joined by &, percent-encoded."},
		{"limit=1;after=1", "The query must be name=value pairs joined by &, percent-encoded."},
		{"after=-1", "after must be an integer from 0 to 9223372036854775807."},
		{"after=x", "after must be an integer from 0 to 9223372036854775807."},
		{"after=9223372036854775808", "after must be an integer from 0 to 9223372036854775807."},
		{"offset=1", `The parameter "offset" is unknown; use limit, after`},
		{"Limit=1", `The parameter "Limit" is unknown; use limit, after`},
		{"name=Rex", `The parameter "name" is unknown; use limit, after`},
		{"=1", `The parameter "" is unknown; use limit, after`},
	} {
		for _, list := range []string{"/pets", "/categories", "/store/orders", "/inventory"} {
			s.refuse("GET "+list+"?"+test.query, "", test.want)
		}
	}
	// Of several faults the first is reported. Names are checked first, in alphabetical order, and then values.
	s.refuse("GET /pets?zoo=1&color=red&%zz", "", "The query must be name=value pairs")
	s.refuse("GET /pets?zoo=1&color=red&limit=", "", `The parameter "color" is unknown`)
	s.refuse("GET /pets?zoo=1&limit=&after=", "", "after must be given once, with a value.")
	s.refuse("GET /pets?zoo=1&limit=1&limit=2&after=x", "", "limit must be given once, with a value.")
	s.refuse("GET /pets?zoo=&after=x", "", `The parameter "zoo" is unknown`)
	s.refuse("GET /pets?limit=0&after=x&categoryId=0&status=gone", "", "status must be available, pending or sold.")
	s.refuse("GET /pets?limit=0&after=x&categoryId=0", "", "categoryId must be an integer from 1")
	s.refuse("GET /pets?limit=0&after=x", "", "limit must be an integer from 1 to 100.")

	s.refuse("GET /pets?status=gone", "", "status must be available, pending or sold.")
	s.refuse("GET /pets?status=", "", "status must be given once, with a value.")
	s.refuse("GET /pets?status=sold&status=sold", "", "status must be given once, with a value.")
	s.refuse("GET /pets?categoryId=x", "", "categoryId must be an integer from 1 to 9223372036854775807.")
	s.refuse("GET /pets?categoryId=0", "", "categoryId must be an integer from 1 to 9223372036854775807.")
	s.refuse("GET /pets?color=red", "", `The parameter "color" is unknown; use limit, after, status, categoryId.`)
	s.refuse("GET /categories?status=sold", "", `The parameter "status" is unknown; use limit, after.`)
	s.refuse("GET /inventory?categoryId=1", "", `The parameter "categoryId" is unknown; use limit, after.`)
}

func TestEmptyLists(t *testing.T) {
	s := freshService(t)
	for _, path := range []string{"/store/orders/2", "/pets/1", "/pets/2", "/pets/3", "/pets/5"} {
		s.expect(step{request: "DELETE " + path, status: 204})
	}
	s.expect(step{request: "GET /pets", status: 200, want: `[{"id":4,"name":"Tom","categoryId":2,"status":"sold"}]`})
	s.expect(step{request: "GET /pets?after=4", status: 200, want: "[]"})
	s.expect(step{request: "GET /store/orders?after=1", status: 200, want: "[]"})
}

// The other tests compare JSON without the white space between its values. This one compares bytes.
func TestBytes(t *testing.T) {
	s := freshService(t)
	for _, test := range []struct{ request, body, want string }{
		{"GET /pets/1", ``, `{"id":1,"name":"Rex","categoryId":1,"status":"available"}` + "\n"},
		{"GET /categories/3", ``, `{"id":3,"name":"Rabbits"}` + "\n"},
		{"GET /inventory/1", ``, `{"petId":1,"quantity":3,"status":"available"}` + "\n"},
		{"GET /inventory?limit=1", ``, `[{"petId":1,"quantity":3,"status":"available"}]` + "\n"},
		{"GET /categories?after=2", ``, `[{"id":3,"name":"Rabbits"},` + "\n" +
			`{"id":4,"name":"Fish","description":"Quiet and colorful"}]` + "\n"},
		{"GET /pets?after=5", ``, "[]\n"},
		{"POST /store/orders", ` { } `, `{"id":3,"complete":false}` + "\n"},
		{"PUT /store/orders/3", `{"complete":true}`, `{"id":3,"complete":true}` + "\n"},
		{"PATCH /inventory/1", `{"quantity":4}`, `{"petId":1,"quantity":4,"status":"available"}` + "\n"},
		{"DELETE /pets/5", ``, ""},
		{"GET /pets/5", ``,
			`{"code":"not_found","message":"No pet has the id 5; GET /pets lists them.","status":404}` + "\n"},
		{"GET /healthz", ``, `{"status":"ok"}` + "\n"},
		{"GET /docs/keys.json", ``, "[]"},
	} {
		resp := s.do(test.request, test.body)
		got, _ := io.ReadAll(resp.Body)
		if diff := gocmp.Diff(test.want, string(got)); diff != "" {
			t.Fatalf("%s (-want +got):\n%s", test.request, diff)
		}
	}
}

func TestBodies(t *testing.T) {
	s := freshService(t)
	s.expect(step{request: "POST /categories", body: ` {"name" : "a\ud800b\u0041" } `,
		status: 201, want: `{"id":5,"name":"a` + "\ufffd" + `bA"}`})
	s.refuse("POST /categories", ``, "The JSON is malformed at byte 1: unexpected end of JSON input.")
	s.refuse("POST /categories", `{"name":"x"`, "The JSON is malformed at byte 11: unexpected end of JSON input.")
	s.refuse("POST /categories", `{"name":"x"}}`, "The JSON is malformed at byte 13")
	s.refuse("POST /categories", `{"name":"x"}{"name":"x"}`, "The JSON is malformed at byte 13")
	s.refuse("POST /categories", `{"name":"x",}`, "The JSON is malformed at byte 13")
	s.refuse("POST /categories", `{'name':"x"}`, "The JSON is malformed at byte 2")
	s.refuse("POST /categories", "{\"name\":\"x\n\"}", "The JSON is malformed at byte 11")
	s.refuse("POST /categories", "\ufeff{}", "The JSON is malformed at byte") // which of the three differs with Go 1.27
	s.refuse("POST /categories", "{\"name\":\"\xff\"}", "The JSON is not valid UTF-8 at byte 10.")
	s.refuse("POST /categories", strings.Repeat("[", 60000), "exceeded max depth")
	s.refuse("POST /categories", `null`, "The JSON must be one object.")
	s.refuse("POST /categories", `[]`, "The JSON must be one object.")
	s.refuse("POST /categories", `[{"name":"x"}]`, "The JSON must be one object.")
	s.refuse("POST /categories", `"name"`, "The JSON must be one object.")

	s.refuse("POST /categories", `{}`, "name is missing; it must be a string.")
	s.refuse("POST /categories", `{"name":"x","color":"red"}`, `The field "color" is unknown; leave it out.`)
	s.refuse("POST /categories", `{"name":"x","`+strings.Repeat("c", 60000)+`":1}`, `ccc" is unknown; leave it out.`)
	s.refuse("POST /categories", `{"Name":"x"}`, `The field "Name" is unknown; leave it out.`)
	s.refuse("POST /categories", `{"id":4,"name":"x"}`, `The field "id" is unknown; leave it out.`)
	s.refuse("POST /categories", `{"name":"x","name":"x"}`, "name must be given once, not twice.")
	s.refuse("POST /categories", `{"name":"x","n\u0061me":"x"}`, "name must be given once, not twice.")
	s.refuse("POST /categories", `{"name":null}`, "name must be a string.")
	s.refuse("POST /categories", `{"name":5}`, "name must be a string.")
	s.refuse("POST /categories", `{"name":["x"]}`, "name must be a string.")
	s.refuse("POST /categories", `{"name":"x","description":null}`, "description must be a string.")

	s.refuse("POST /pets", `{"name":"x"}`, "categoryId is missing; it must be a 64-bit integer without fraction or ")
	s.refuse("POST /pets", `{"name":"x","categoryId":"1"}`, "categoryId must be a 64-bit integer")
	s.refuse("POST /pets", `{"name":"x","categoryId":1.0}`, "categoryId must be a 64-bit integer")
	s.refuse("POST /pets", `{"name":"x","categoryId":1e0}`, "categoryId must be a 64-bit integer")
	s.refuse("POST /pets", `{"name":"x","categoryId":9223372036854775808}`, "categoryId must be a 64-bit integer")
	s.refuse("POST /pets", `{"name":"x","categoryId":1`+strings.Repeat("0", 60000)+`}`, "categoryId must be a 64-bit ")
	s.refuse("POST /pets", `{"name":"x","categoryId":null}`, "categoryId must be a 64-bit integer")
	s.refuse("POST /pets", `{"name":"x","categoryId":1,"status":null}`, "status must be available, pending or sold.")
	s.refuse("POST /pets", `{"name":"x","categoryId":1,"status":""}`, "status must be available, pending or sold.")
	s.refuse("POST /pets", `{"name":"x","categoryId":1,"status":"Sold"}`, "status must be available, pending or sold.")
	s.refuse("POST /pets", `{"name":"x","categoryId":1,"status":"\"sold\""}`, "status must be available, pending or ")
	s.refuse("POST /pets", `{"name":"x","categoryId":1,"status":["sold"]}`, "status must be available, pending or ")
	s.refuse("POST /pets", `{"name":"x","categoryId":1,"status":1}`, "status must be available, pending or sold.")
	s.refuse("POST /pets", `{"name":"x","categoryId":1,"quantity":1}`, `The field "quantity" is unknown; leave it out.`)
	s.expect(step{request: "POST /pets", body: `{"name":"x","categoryId":1,"status":"s\u006fld"}`,
		status: 201, want: `{"id":6,"name":"x","categoryId":1,"status":"sold"}`})

	s.refuse("POST /store/orders", `{"quantity":0}`, "quantity must be from 1 to 2147483647.")
	s.refuse("POST /store/orders", `{"quantity":2147483648}`, "quantity must be from 1 to 2147483647.")
	s.refuse("POST /store/orders", `{"quantity":1.5}`, "quantity must be a 64-bit integer")
	s.refuse("POST /store/orders", `{"quantity":null}`, "quantity must be a 64-bit integer")
	s.refuse("POST /store/orders", `{"petId":null}`, "petId must be a 64-bit integer")
	s.refuse("POST /store/orders", `{"complete":null}`, "complete must be true or false.")
	s.refuse("POST /store/orders", `{"complete":"true"}`, "complete must be true or false.")
	s.refuse("POST /store/orders", `{"complete":1}`, "complete must be true or false.")
	s.refuse("POST /store/orders", `{"shipDate":1}`, "shipDate must be a string.")
	s.refuse("POST /store/orders", `{"shipDate":null}`, "shipDate must be a string.")
}

func TestNameAndDescription(t *testing.T) {
	s := freshService(t)
	name, description := strings.Repeat("é", 200), strings.Repeat("é", 2000)
	longest := `{"name":"` + name + `","description":"` + description + `"}`
	s.expect(step{request: "POST /categories", body: longest, status: 201, want: `{"id":5,` + longest[1:]})
	s.refuse("POST /categories", `{"name":"`+name+`x"}`, "name must be 1 to 200 characters and not blank.")
	s.refuse("POST /categories", `{"name":""}`, "name must be 1 to 200 characters and not blank.")
	s.refuse("POST /categories", `{"name":" \t\u00a0\u2003"}`, "name must be 1 to 200 characters and not blank.")
	s.refuse("POST /categories", `{"name":"x","description":"`+description+`x"}`, "description must be at most 2000 ")
	s.refuse("PUT /categories/1", `{"name":" "}`, "name must be 1 to 200 characters and not blank.")

	s.expect(step{request: "POST /pets", body: `{"name":"` + name + `","categoryId":1}`,
		status: 201, want: `{"id":6,"name":"` + name + `","categoryId":1,"status":"available"}`})
	s.refuse("POST /pets", `{"name":"`+name+`x","categoryId":1}`, "name must be 1 to 200 characters and not blank.")
	s.refuse("POST /pets", `{"name":" ","categoryId":1}`, "name must be 1 to 200 characters and not blank.")
	s.refuse("PUT /pets/1", `{"name":" ","categoryId":1}`, "name must be 1 to 200 characters and not blank.")
	snapshot := `{"categories":[{"id":1,"name":"c"}],"pets":[{"id":1,"name":" ","categoryId":1}]}`
	if _, err := parse([]byte(snapshot)); err == nil || !strings.Contains(err.Error(), "name must be 1 to 200 ") {
		t.Errorf("a snapshot with a pet without a name: %v", err)
	}
}

func TestShipDate(t *testing.T) {
	s := freshService(t)
	id := int64(2) // of the last order of the sample
	for _, test := range []struct {
		date  string
		valid bool
	}{
		{"2030-01-01t00:00:00.5z", true},
		{"2030-02-28T23:59:59.123456789012+14:00", true},
		{"2030-01-01", false},
		{"2030-02-30T00:00:00Z", false},
		{"2030-01-01T00:00:00", false},
		{"2030-01-01T00:00:00,5Z", false},
		{"2030-01-01T0:00:00Z", false},
		{"2030-01-01T00:00:00+24:00", false},
		{"2030-01-01T00:00:00." + strings.Repeat("0", 43) + "Z", true},  // 64 characters
		{"2030-01-01T00:00:00." + strings.Repeat("0", 44) + "Z", false}, // 65
		{"", false},
	} {
		body := `{"shipDate":"` + test.date + `"}`
		if !test.valid {
			s.refuse("POST /store/orders", body,
				"shipDate must be an RFC 3339 date-time of at most 64 characters, such as 2030-12-05T09:30:00Z.")
			continue
		}
		id++
		s.expect(step{request: "POST /store/orders", body: body,
			status: 201, want: fmt.Sprintf(`{"id":%d,"shipDate":%q,"complete":false}`, id, test.date)})
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
		s.expect(step{request: request, body: body(65537), status: 413, want: "The body must be at most 65536 bytes."})
		if resp := s.do(request, body(100), "Content-Type: text/plain"); resp.StatusCode != 415 {
			t.Fatalf("%s as text/plain: status %d", request, resp.StatusCode)
		}
	}
	s.expect(step{request: "POST /categories", body: body(65536), status: 201, want: `{"id":5,"name":"x"}`})
	for _, test := range []struct {
		contentType string
		status      int
	}{
		{"application/json", 201},
		{"application/json; charset=utf-8", 201},
		{`Application/JSON;charset="UTF-8"`, 201},
		{"application/json; charset=iso-8859-1", 415},
		{"application/json;", 201},
		{"application/json; =", 415},
		{"application/jsonp", 415},
		{"application/merge-patch+json", 415},
		{"application/x-www-form-urlencoded", 415},
		{"json", 415},
	} {
		resp := s.do("POST /categories", `{"name":"x"}`, "Content-Type: "+test.contentType)
		if resp.StatusCode != test.status {
			t.Fatalf("%q: status %d, want %d", test.contentType, resp.StatusCode, test.status)
		}
	}
}

// A client that goes away, or is too slow, leaves a body without an end.
func TestBodyCutOff(t *testing.T) {
	s := freshService(t)
	for _, operation := range []string{"POST /pets", "PUT /categories/1", "PATCH /inventory/1"} {
		method, target, _ := strings.Cut(operation, " ")
		body := io.MultiReader(strings.NewReader(`{"name":`), iotest.ErrReader(io.ErrUnexpectedEOF))
		r := httptest.NewRequest(method, target, body)
		r.Header.Set("Authorization", "Bearer big")
		recorder := httptest.NewRecorder()
		s.handler.ServeHTTP(recorder, r)
		s.check(r, recorder)
		want := "The body ended early or arrived too slowly; send it again."
		if got := message(recorder.Body.Bytes()); recorder.Code != 400 || got != want {
			t.Fatalf("%s: status %d, message %q; want 400, %q", operation, recorder.Code, got, want)
		}
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
		{"GET /nothing", 404, ""},
		{"GET /pets/", 404, ""},
		{"GET /pets/1/2", 404, ""},
		{"POST /store", 404, ""},
		{"GET /Pets", 404, ""},
	} {
		resp := s.do(test.request, "")
		if got := resp.Header.Get("Allow"); resp.StatusCode != test.status || got != test.allow {
			t.Fatalf("%s: status %d, Allow %q; want %d, %q",
				test.request, resp.StatusCode, got, test.status, test.allow)
		}
	}
}

func TestHEAD(t *testing.T) {
	s := freshService(t)
	for _, target := range []string{
		"/pets", "/pets/1", "/pets/77", "/categories?limit=0", "/store/orders", "/inventory/1",
		"/", "/openapi.json", "/healthz",
	} {
		get, head := s.do("GET "+target, ""), s.do("HEAD "+target, "")
		for _, header := range []http.Header{get.Header, head.Header} {
			header.Del("X-RateLimit-Remaining") // it falls with each request
		}
		if diff := gocmp.Diff(get.Header, head.Header); diff != "" || head.StatusCode != get.StatusCode {
			t.Fatalf("%s: status %d for HEAD, %d for GET; headers (-GET +HEAD):\n%s",
				target, head.StatusCode, get.StatusCode, diff)
		}
	}
}

func TestLocation(t *testing.T) {
	s := freshService(t)
	for _, test := range []struct {
		path, body string
		first      int // id
	}{
		{"/pets", `{"name":"x","categoryId":1}`, 6},
		{"/categories", `{"name":"x"}`, 5},
		{"/store/orders", `{}`, 3},
	} {
		for id := test.first; id <= 11; id++ { // up to an id of two digits
			want := fmt.Sprintf("%s/%d", test.path, id)
			if got := s.do("POST "+test.path, test.body).Header.Get("Location"); got != want {
				t.Fatalf("Location %q, want %q", got, want)
			}
			if resp := s.do("GET "+want, ""); resp.StatusCode != 200 {
				t.Fatalf("GET %s: status %d", want, resp.StatusCode)
			}
		}
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
		{"GET /inventory/1", "big", http.Header{}},
	} {
		got := s.do(test.request, "", "Authorization: Bearer "+test.key).Header
		for name := range got {
			if deprecated[name] == nil {
				delete(got, name)
			}
		}
		if diff := gocmp.Diff(test.want, got); diff != "" {
			t.Fatalf("%s with the key %s (-want +got):\n%s", test.request, test.key, diff)
		}
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
		{"/docs/none", "application/json", 404},
		{"/docs/none.html", "application/json", 404},
		{"/docs/..%2fmain.go", "application/json", 404},
	} {
		resp := s.do("GET "+test.target, "", "Authorization")
		if got := resp.Header.Get("Content-Type"); resp.StatusCode != test.status || got != test.contentType {
			t.Fatalf("%s: status %d, Content-Type %q; want %d, %q",
				test.target, resp.StatusCode, got, test.status, test.contentType)
		}
		if resp.Header.Get("X-RateLimit-Limit") != "" {
			t.Fatalf("%s has rate headers", test.target)
		}
	}
	entries, err := documents.ReadDir("docs")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		resp := s.do("GET /docs/"+entry.Name(), "", "Authorization")
		want := http.Header{
			"Content-Type":   {contentTypes[filepath.Ext(entry.Name())]},
			"Content-Length": {fmt.Sprint(resp.ContentLength)},
			"Content-Security-Policy": {
				"default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
			"X-Content-Type-Options": {"nosniff"},
			"Cache-Control":          {"no-cache"},
		}
		if diff := gocmp.Diff(want, resp.Header); diff != "" || want.Get("Content-Type") == "" {
			t.Fatalf("%s: headers (-want +got):\n%s", entry.Name(), diff)
		}
	}
}

// The description names the server that serves it, so that a client made from it finds the server.
func TestBaseURL(t *testing.T) {
	s := freshService(t)
	for _, baseURL := range []string{"http://localhost:8080", "http://127.0.0.1:40000"} {
		s.baseURL = baseURL
		var d description
		if err := json.NewDecoder(s.do("GET /openapi.json", "").Body).Decode(&d); err != nil {
			t.Fatal(err)
		}
		if diff := gocmp.Diff(baseURL, d.Servers[0].Variables["base_url"].Default); diff != "" {
			t.Fatalf("the default of base_url (-want +got):\n%s", diff)
		}
	}
}

// The page may offer the demo keys, and no others.
func TestKeysOfThePage(t *testing.T) {
	s := freshService(t)
	s.expect(step{request: "GET /docs/keys.json", status: 200, want: "[]"})
	s.demoKeys = demoKeys
	s.expect(step{request: "GET /docs/keys.json", status: 200, want: demoKeys})
}

// A panic in a handler is a 500 for its request, with all that a response must have, and the log has the stack.
func TestPanic(t *testing.T) {
	s := freshService(t)
	store := s.store
	s.store = nil // so that every handler panics
	s.expect(step{request: "GET /pets", status: 500, want: "The server failed on this request; try again, and report"})
	s.expect(step{request: "POST /store/orders", body: `{}`, status: 500, want: "The server failed on this request"})
	s.expect(step{request: "GET /healthz", status: 500, want: "The server failed on this request"})
	if got := s.log.String(); strings.Count(got, "panic: ") != 3 || !strings.Contains(got, "store.go:") {
		t.Errorf("the log does not have three panics with their stacks:\n%s", got)
	}
	s.store = store
	s.expect(step{request: "GET /healthz", status: 200, want: `{"status":"ok"}`})
}

func TestErrorWithoutCode(t *testing.T) {
	defer func() {
		if got, want := recover(), "no error code for the status 418"; got != want {
			t.Errorf("panic %v, want %s", got, want)
		}
	}()
	fail(418, "I'm a teapot.")
}

// With -sync=false the changes are run elsewhere than with -sync; their errors must be the same.
func TestErrorsOfUnsyncedWrites(t *testing.T) {
	s := newService(t, filepath.Join(t.TempDir(), "petstore.json"), false)
	t.Cleanup(func() { s.store.Close() })
	s.refuse("POST /pets", `{"name":"x","categoryId":77}`, "categoryId 77 does not exist")
	s.refuse("PUT /pets/x", `{"name":"x","categoryId":1}`, "petId in the path must be a 64-bit integer.")
	s.expect(step{request: "PUT /pets/77", body: `{"name":"x","categoryId":1}`,
		status: 404, want: "No pet has the id 77; GET /pets lists them."})
	s.expect(step{request: "PATCH /inventory/77", body: `{"quantity":1}`,
		status: 404, want: "No pet has the id 77; GET /inventory lists them."})
	s.expect(step{request: "DELETE /categories/77",
		status: 404, want: "No category has the id 77; GET /categories lists them."})
	s.expect(step{request: "DELETE /categories/1", status: 409, want: "Pet 1 belongs to this category"})
	s.expect(step{request: "DELETE /pets/2", status: 409, want: "Order 2 names this pet"})
	s.expect(step{request: "PUT /store/orders/1", body: `{}`, status: 409, want: "A complete order cannot be reopened"})
	s.expect(step{request: "DELETE /store/orders/1", status: 409, want: "A complete order cannot be cancelled"})
	if diff := gocmp.Diff(read(t, "docs/sample.json"), text(t, s.store.view())); diff != "" {
		t.Errorf("a refused write changed the store (-want +got):\n%s", diff)
	}
}

func TestCORS(t *testing.T) {
	s := freshService(t)
	s.origin = "https://shop.example"
	preflight := s.do("OPTIONS /pets/1", "",
		"Authorization", "Origin: https://shop.example", "Access-Control-Request-Method: PUT")
	want := http.Header{
		"Access-Control-Allow-Origin":  {"https://shop.example"},
		"Access-Control-Allow-Methods": {"GET, HEAD, POST, PUT, PATCH, DELETE"},
		"Access-Control-Allow-Headers": {"Authorization, X-API-Key, Content-Type"},
		"Access-Control-Expose-Headers": {"X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, " +
			"Retry-After, Location, Link, Allow, Deprecation, Sunset"},
		"Access-Control-Max-Age": {"600"},
	}
	if diff := gocmp.Diff(want, preflight.Header); diff != "" || preflight.StatusCode != 204 {
		t.Errorf("preflight: status %d, headers (-want +got):\n%s", preflight.StatusCode, diff)
	}
	// An OPTIONS without that header is no preflight, nor is another method with it.
	if resp := s.do("OPTIONS /pets/1", "", "Origin: https://shop.example"); resp.StatusCode != 405 {
		t.Errorf("OPTIONS without Access-Control-Request-Method: status %d, want 405", resp.StatusCode)
	}
	if resp := s.do("GET /pets/1", "", "Access-Control-Request-Method: PUT"); resp.StatusCode != 200 {
		t.Errorf("GET with Access-Control-Request-Method: status %d, want 200", resp.StatusCode)
	}
	for _, key := range []string{"big", "wrong"} {
		header := s.do("GET /pets", "", "Authorization: Bearer "+key).Header
		for _, name := range []string{"Access-Control-Allow-Origin", "Access-Control-Expose-Headers"} {
			if diff := gocmp.Diff(want[name], header[name]); diff != "" {
				t.Fatalf("%s with the key %s (-want +got):\n%s", name, key, diff)
			}
		}
	}
	s.origin = "" // as without -cors-origin
	for name := range s.do("GET /pets", "", "Origin: https://shop.example").Header {
		if strings.HasPrefix(name, "Access-Control-") {
			t.Errorf("without -cors-origin, a response has %s", name)
		}
	}
	resp := s.do("OPTIONS /pets/1", "", "Origin: https://shop.example", "Access-Control-Request-Method: PUT")
	if resp.StatusCode != 405 {
		t.Errorf("without -cors-origin, a preflight has the status %d, want 405", resp.StatusCode)
	}
}

// The time of a request counts from its arrival, however long its response is held back.
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
			if took := time.Since(begin); resp.StatusCode != test.status || took != test.took {
				t.Fatalf("%s with the key %s: status %d after %v, want %d after %v",
					test.request, test.key, resp.StatusCode, took, test.status, test.took)
			}
		}

		first := make(chan rates)
		go func() { first <- s.ask("one") }()
		synctest.Wait()
		s.expectRates("one", rates{Status: 429, Limit: 1, ResetIn: 57, RetryAfter: 60})
		if diff := gocmp.Diff(rates{Status: 200, Limit: 1, ResetIn: 57}, <-first); diff != "" {
			t.Errorf("the first request (-want +got):\n%s", diff)
		}

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begin := time.Now()
		s.handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, "GET", "/nothing", nil))
		if took := time.Since(begin); took != time.Second {
			t.Errorf("a request that is cancelled after a second took %v", took)
		}
	})
}

func TestVerbose(t *testing.T) {
	s := freshService(t)
	s.verbose = true
	s.do("GET /pets?limit=1", "", "Authorization: Bearer pro")
	s.do("DELETE /pets/%0aevil", "", "Authorization: Bearer secret-guess")
	got := regexp.MustCompile(` [0-9.]+(ns|µs|ms|s) `).ReplaceAllString(s.log.String(), " TIME ")
	want := "GET \"/pets\" 200 TIME plan=\"pro\"\nDELETE \"/pets/\\nevil\" 401 TIME plan=\"\"\n"
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}
