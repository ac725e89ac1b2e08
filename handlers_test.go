package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

// A service is the whole handler on a real file, with the keys that the tests use.
type service struct {
	*Server
	t       testing.TB
	handler http.Handler
	log     *lockedBuffer
	spec    description
}

// A lockedBuffer is read while the server may still log to it.
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

var (
	digits = regexp.MustCompile(`^[0-9]+$`)
	inside = regexp.MustCompile(`json: |struct|int64|0x|\.go|/tmp|goroutine|\n`) // what no client should see
)

const testKeys = `[
{"key": "big", "plan": "enterprise", "perMinute": 1000000000, "perDay": 1000000000},
{"key": "forty", "plan": "enterprise", "perMinute": 40, "perDay": 100},
{"key": "daily", "plan": "enterprise", "perMinute": 100, "perDay": 30},
{"key": "both", "plan": "enterprise", "perMinute": 1, "perDay": 1},
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
	s := &Server{store: store, limits: limits, logger: logger}
	return &service{s, t, s.newMux(), &logged, readDescription(t)}
}

func freshService(t testing.TB) *service {
	s := newService(t, filepath.Join(t.TempDir(), "petstore.json"), true)
	t.Cleanup(func() { s.store.Close() })
	return s
}

// do sends a request with the key big, unless a header says otherwise, and holds the answer against what is
// promised of every answer: the shape of errors, the rate headers, and a status that the description has.
func (s *service) do(method, target, body string, header ...string) *http.Response {
	s.t.Helper()
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer big")
	for _, h := range header {
		name, value, _ := strings.Cut(h, ": ")
		if r.Header.Del(name); value != "" {
			r.Header.Set(name, value)
		}
	}
	recorder := httptest.NewRecorder()
	s.handler.ServeHTTP(recorder, r)
	resp := recorder.Result()
	// As on the wire, where the case of names does not count.
	for name, values := range recorder.Header() {
		delete(resp.Header, name)
		resp.Header[http.CanonicalHeaderKey(name)] = values
	}

	_, pattern := s.mux.Handler(r)
	described, inAPI := s.spec.Paths[strings.TrimLeft(strings.TrimLeft(pattern, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"), " ")]
	if inAPI {
		operation := described[strings.ToLower(strings.Replace(method, "HEAD", "GET", 1))]
		if _, ok := operation.Responses[fmt.Sprint(resp.StatusCode)]; !ok {
			s.t.Errorf("%s %s: status %d is not described", method, target, resp.StatusCode)
		}
	}
	if preflight := method == "OPTIONS" && resp.StatusCode == 204; !preflight && (inAPI || pattern == "/") {
		for _, name := range []string{"X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"} {
			if values := recorder.Header()[name]; len(values) != 1 || !digits.MatchString(values[0]) {
				s.t.Errorf("%s %s: %s is %q", method, target, name, values)
			}
		}
	}
	if resp.StatusCode >= 400 && method != "HEAD" {
		s.checkError(resp, recorder.Body.Bytes())
	}
	return resp
}

func (s *service) checkError(resp *http.Response, body []byte) {
	s.t.Helper()
	var got Error
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&got); err != nil {
		s.t.Errorf("the error %q is not an Error object: %v", body, err)
	}
	if got.Status != resp.StatusCode || got.Code != codes[got.Status] || resp.Header.Get("Content-Type") != "application/json" {
		s.t.Errorf("status %d has the error %+v of type %s", resp.StatusCode, got, resp.Header.Get("Content-Type"))
	}
	if inside.MatchString(got.Message) || !strings.HasSuffix(got.Message, ".") {
		s.t.Errorf("message %q is not one sentence for a client", got.Message)
	}
}

// A step is a request and what it must be answered: for a success the whole body, for an error a part of it.
type step struct {
	method, target, body string
	status               int
	want                 string
}

func (s *service) run(steps []step) {
	s.t.Helper()
	for _, step := range steps {
		resp := s.do(step.method, step.target, step.body)
		got, _ := io.ReadAll(resp.Body)
		if step.status >= 400 && strings.Contains(string(got), step.want) {
			got = []byte(step.want)
		}
		if diff := gocmp.Diff(fmt.Sprintln(step.status, step.want), fmt.Sprintln(resp.StatusCode, strings.TrimSpace(string(got)))); diff != "" {
			s.t.Errorf("%s %s %.200s (-want +got):\n%s", step.method, step.target, step.body, diff)
		}
	}
}

func TestPets(t *testing.T) {
	freshService(t).run([]step{
		{"GET", "/pets/1", ``, 200, `{"id":1,"name":"Rex","categoryId":1,"status":"available"}`},
		{"GET", "/pets?limit=2", ``, 200, `[{"id":1,"name":"Rex","categoryId":1,"status":"available"},` + "\n" + `{"id":2,"name":"Bella","categoryId":1,"status":"pending"}]`},
		{"GET", "/pets?status=sold", ``, 200, `[{"id":4,"name":"Tom","categoryId":2,"status":"sold"}]`},
		{"GET", "/pets?status=sold&categoryId=1", ``, 200, `[]`},
		{"GET", "/pets?categoryId=3", ``, 200, `[{"id":5,"name":"Clover","categoryId":3,"status":"available"}]`},
		{"GET", "/pets?categoryId=77", ``, 200, `[]`},
		{"POST", "/pets", `{"name":"Luna","categoryId":2}`, 201, `{"id":6,"name":"Luna","categoryId":2,"status":"available"}`},
		{"GET", "/inventory/6", ``, 200, `{"petId":6,"quantity":0,"status":"available"}`},
		{"PATCH", "/inventory/6", `{"quantity":9}`, 200, `{"petId":6,"quantity":9,"status":"available"}`},
		{"PUT", "/pets/6", `{"name":"Luna 2","categoryId":3,"status":"sold"}`, 200, `{"id":6,"name":"Luna 2","categoryId":3,"status":"sold"}`},
		{"GET", "/inventory/6", ``, 200, `{"petId":6,"quantity":9,"status":"sold"}`},
		{"PUT", "/pets/6", `{"name":"Luna 3","categoryId":3}`, 200, `{"id":6,"name":"Luna 3","categoryId":3,"status":"available"}`},
		{"GET", "/pets/6", ``, 200, `{"id":6,"name":"Luna 3","categoryId":3,"status":"available"}`},
		{"DELETE", "/pets/6", ``, 204, ``},
		{"DELETE", "/pets/6", ``, 404, `No pet has the id 6; GET /pets lists them.`},
		{"GET", "/pets/6", ``, 404, `No pet has the id 6`},
		{"GET", "/inventory/6", ``, 404, `GET /inventory lists`},
		{"POST", "/pets", `{"name":"Next","categoryId":2}`, 201, `{"id":7,"name":"Next","categoryId":2,"status":"available"}`},
		{"POST", "/pets", `{"name":"Lost","categoryId":77}`, 400, `categoryId 77 does not exist; use the id of an existing category.`},
		{"POST", "/pets", `{"name":"Lost","categoryId":-9223372036854775808}`, 400, `does not exist; use the id of an existing category`},
		{"PUT", "/pets/7", `{"name":"Lost","categoryId":77}`, 400, `does not exist; use the id of an existing category`},
		{"PUT", "/pets/77", `{"name":"Lost","categoryId":1}`, 404, `not_found`},
		{"PUT", "/pets/x", `{"name":"Lost","categoryId":1}`, 400, `petId in the path must be a 64-bit integer`},
		{"DELETE", "/pets/2", ``, 409, `Order 2 names this pet`},
		{"DELETE", "/store/orders/2", ``, 204, ``},
		{"DELETE", "/pets/2", ``, 204, ``},
		{"DELETE", "/pets/4", ``, 409, `Order 1 names this pet`},
		{"DELETE", "/pets/x", ``, 400, `petId in the path`},
	})
}

func TestCategories(t *testing.T) {
	freshService(t).run([]step{
		{"GET", "/categories", ``, 200, `[{"id":1,"name":"Dogs","description":"Loyal companions, from terriers to shepherds"},` + "\n" +
			`{"id":2,"name":"Cats","description":"Independent and curious"},` + "\n" + `{"id":3,"name":"Rabbits"},` + "\n" + `{"id":4,"name":"Fish","description":"Quiet and colorful"}]`},
		{"GET", "/categories/3", ``, 200, `{"id":3,"name":"Rabbits"}`},
		{"POST", "/categories", `{"name":"Birds","description":""}`, 201, `{"id":5,"name":"Birds","description":""}`},
		{"PUT", "/categories/5", `{"name":"Birds & <b>"}`, 200, `{"id":5,"name":"Birds & <b>"}`},
		{"GET", "/categories/5", ``, 200, `{"id":5,"name":"Birds & <b>"}`},
		{"DELETE", "/categories/5", ``, 204, ``},
		{"GET", "/categories/5", ``, 404, `not_found`},
		{"PUT", "/categories/5", `{"name":"Birds"}`, 404, `not_found`},
		{"DELETE", "/categories/5", ``, 404, `not_found`},
		{"DELETE", "/categories/3", ``, 409, `Pet 5 belongs to this category`},
		{"PUT", "/categories/1.0", `{"name":"Birds"}`, 400, `categoryId in the path`},
		{"GET", "/categories/9223372036854775808", ``, 400, `categoryId in the path`},
		{"GET", "/categories/9223372036854775807", ``, 404, `not_found`},
		{"GET", "/categories/-9223372036854775808", ``, 404, `not_found`},
		{"GET", "/categories/0", ``, 404, `not_found`},
		{"GET", "/categories/+1", ``, 400, `categoryId in the path`},
		{"GET", "/categories/01", ``, 400, `categoryId in the path`},
		{"DELETE", "/categories/%31", ``, 409, `conflict`},
	})
}

func TestOrders(t *testing.T) {
	freshService(t).run([]step{
		{"GET", "/store/orders?limit=1", ``, 200, `[{"id":1,"petId":4,"quantity":1,"shipDate":"2026-11-02T09:30:00Z","complete":true}]`},
		{"POST", "/store/orders", `{}`, 201, `{"id":3,"complete":false}`},
		{"GET", "/store/orders/3", ``, 200, `{"id":3,"complete":false}`},
		{"POST", "/store/orders", `{"petId":1,"quantity":2147483647,"shipDate":"2030-02-28T23:59:59.123456789012+14:00","complete":true}`, 201,
			`{"id":4,"petId":1,"quantity":2147483647,"shipDate":"2030-02-28T23:59:59.123456789012+14:00","complete":true}`},
		{"POST", "/store/orders", `{"id":5}`, 400, `id is assigned by the server; leave it out.`},
		{"POST", "/store/orders", `{"id":0}`, 400, `id is assigned by the server`},
		{"POST", "/store/orders", `{"petId":77}`, 400, `petId 77 does not exist; use the id of an existing pet, or leave it out.`},
		{"PUT", "/store/orders/3", `{"id":3,"quantity":5}`, 200, `{"id":3,"quantity":5,"complete":false}`},
		{"PUT", "/store/orders/3", `{"id":4}`, 400, `id must be 3, as in the path, or be left out.`},
		{"PUT", "/store/orders/3", `{"petId":77}`, 400, `petId 77 does not exist`},
		{"PUT", "/store/orders/3", `{"complete":true}`, 200, `{"id":3,"complete":true}`},
		{"PUT", "/store/orders/3", `{"quantity":1}`, 409, `A complete order cannot be reopened`},
		{"PUT", "/store/orders/3", `{"quantity":1,"complete":true}`, 200, `{"id":3,"quantity":1,"complete":true}`},
		{"PUT", "/store/orders/77", `{}`, 404, `not_found`},
		{"PUT", "/store/orders/x", `{}`, 400, `orderId in the path`},
		{"DELETE", "/store/orders/3", ``, 409, `A complete order cannot be cancelled`},
		{"DELETE", "/store/orders/2", ``, 204, ``},
		{"DELETE", "/store/orders/2", ``, 404, `not_found`},
		{"DELETE", "/store/orders/x", ``, 400, `orderId in the path`},
		{"GET", "/store/orders/x", ``, 400, `orderId in the path`},
		{"GET", "/store/orders/2", ``, 404, `not_found`},
		{"GET", "/inventory/1", ``, 200, `{"petId":1,"quantity":3,"status":"available"}`},
	})
}

func TestInventory(t *testing.T) {
	freshService(t).run([]step{
		{"GET", "/inventory?limit=2", ``, 200, `[{"petId":1,"quantity":3,"status":"available"},` + "\n" + `{"petId":2,"quantity":1,"status":"pending"}]`},
		{"GET", "/inventory/5", ``, 200, `{"petId":5,"quantity":12,"status":"available"}`},
		{"PATCH", "/inventory/5", `{"quantity":0}`, 200, `{"petId":5,"quantity":0,"status":"available"}`},
		{"GET", "/pets/5", ``, 200, `{"id":5,"name":"Clover","categoryId":3,"status":"available"}`},
		{"PATCH", "/inventory/5", `{"quantity":2147483647}`, 200, `{"petId":5,"quantity":2147483647,"status":"available"}`},
		{"PATCH", "/inventory/5", `{"quantity":2147483648}`, 400, `quantity must be from 0 to 2147483647.`},
		{"PATCH", "/inventory/5", `{"quantity":-1}`, 400, `quantity must be from 0 to 2147483647.`},
		{"PATCH", "/inventory/5", `{}`, 400, `quantity is missing; it must be a 64-bit integer`},
		{"PATCH", "/inventory/77", `{"quantity":1}`, 404, `not_found`},
		{"PATCH", "/inventory/x", `{"quantity":1}`, 400, `petId in the path`},
		{"GET", "/inventory/x", ``, 400, `petId in the path`},
	})
}

func TestLists(t *testing.T) {
	s := freshService(t)
	for i := range 150 {
		s.run([]step{{"POST", "/pets", `{"name":"P","categoryId":1,"status":"sold"}`, 201,
			fmt.Sprintf(`{"id":%d,"name":"P","categoryId":1,"status":"sold"}`, i+6)}})
	}
	for _, test := range []struct{ target, ids, link string }{
		{"/pets", "1-20", `</pets?after=20&limit=20>; rel="next"`},
		{"/pets?limit=100", "1-100", `</pets?after=100&limit=100>; rel="next"`},
		{"/pets?after=20&limit=20", "21-40", `</pets?after=40&limit=20>; rel="next"`},
		{"/pets?after=135", "136-155", ``},
		{"/pets?after=134", "135-154", `</pets?after=154&limit=20>; rel="next"`},
		{"/pets?after=155", "", ``},
		{"/pets?after=9223372036854775807", "", ``},
		{"/pets?after=0&limit=1", "1-1", `</pets?after=1&limit=1>; rel="next"`},
		{"/pets?status=sold&limit=3&categoryId=1", "6-8", `</pets?after=8&categoryId=1&limit=3&status=sold>; rel="next"`},
		{"/pets?status=pending&limit=1", "2-2", ``},
		{"/inventory?limit=7", "1-7", `</inventory?after=7&limit=7>; rel="next"`},
		{"/categories?limit=2", "1-2", `</categories?after=2&limit=2>; rel="next"`},
		{"/categories", "1-4", ``},
		{"/store/orders?limit=1", "1-1", `</store/orders?after=1&limit=1>; rel="next"`},
	} {
		resp := s.do("GET", test.target, "")
		var records []struct{ ID, PetID int64 }
		if err := json.NewDecoder(resp.Body).Decode(&records); err != nil || records == nil {
			t.Errorf("%s: %v, %v", test.target, records, err)
		}
		ids := ""
		for i, r := range records {
			first, id := cmp.Or(records[0].ID, records[0].PetID), cmp.Or(r.ID, r.PetID)
			if id != first+int64(i) {
				t.Errorf("%s: record %d has the id %d", test.target, i, id)
			}
			ids = fmt.Sprintf("%d-%d", first, id)
		}
		if diff := gocmp.Diff([]string{test.ids, test.link}, []string{ids, resp.Header.Get("Link")}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.target, diff)
		}
	}
	for _, list := range []string{"/pets", "/categories", "/store/orders", "/inventory"} {
		for _, query := range []string{"limit=0", "limit=101", "limit=-1", "limit=", "limit=x", "limit=1.0", "limit=%2B1", "limit=1&limit=1", "limit",
			"after=-1", "after=x", "after=9223372036854775808", "offset=1", "Limit=1", "limit=%zz", "limit=1;after=1", "=1", "name=Rex"} {
			s.run([]step{{"GET", list + "?" + query, "", 400, "invalid_request"}})
		}
	}
	s.run([]step{
		{"GET", "/pets?status=gone", "", 400, "status must be available, pending or sold."},
		{"GET", "/pets?status=", "", 400, "status must be given once, with a value."},
		{"GET", "/pets?status=sold&status=sold", "", 400, "status must be given once"},
		{"GET", "/pets?categoryId=x", "", 400, "categoryId must be an integer from 1 to"},
		{"GET", "/pets?categoryId=0", "", 400, "categoryId must be an integer from 1 to"},
		{"GET", "/categories?status=sold", "", 400, `use limit, after.`},
		{"GET", "/pets?color=red", "", 400, `The parameter \"color\" is unknown; use limit, after, status, categoryId.`},
	})
}

func TestEmptyLists(t *testing.T) {
	s := freshService(t)
	for _, path := range []string{"/store/orders/2", "/pets/1", "/pets/2", "/pets/3", "/pets/5"} {
		s.run([]step{{"DELETE", path, "", 204, ""}})
	}
	s.run([]step{
		{"GET", "/pets", "", 200, `[{"id":4,"name":"Tom","categoryId":2,"status":"sold"}]`},
		{"GET", "/pets?after=4", "", 200, `[]`},
		{"GET", "/store/orders?after=1", "", 200, `[]`},
	})
}

func TestBodies(t *testing.T) {
	s := freshService(t)
	long := strings.Repeat("é", 200)
	order := `The JSON must be one object.`
	s.run([]step{
		{"POST", "/categories", `{"name":"` + long + `"}`, 201, `{"id":5,"name":"` + long + `"}`},
		{"POST", "/categories", `{"name":"` + long + `x"}`, 400, `name must be 1 to 200 characters and not blank.`},
		{"POST", "/categories", `{"name":""}`, 400, `name must be 1 to 200 characters`},
		{"POST", "/categories", `{"name":" \t\u00a0\u2003"}`, 400, `name must be 1 to 200 characters`},
		{"POST", "/categories", `{"name":"x","description":"` + strings.Repeat("é", 2000) + `"}`, 201, `{"id":6,"name":"x","description":"` + strings.Repeat("é", 2000) + `"}`},
		{"POST", "/categories", `{"name":"x","description":"` + strings.Repeat("é", 2001) + `"}`, 400, `description must be at most 2000 characters.`},
		{"POST", "/categories", ` {"name" : "a\ud800b\u0041" } `, 201, `{"id":7,"name":"a�bA"}`},
		{"POST", "/categories", ``, 400, `The JSON is malformed at byte 0: unexpected end of JSON input.`},
		{"POST", "/categories", `{"name":"x"`, 400, `at byte 11: unexpected end`},
		{"POST", "/categories", `{"name":"x"}}`, 400, `The JSON is malformed at byte 13`},
		{"POST", "/categories", `{"name":"x"}{"name":"x"}`, 400, `at byte 13`},
		{"POST", "/categories", `{"name":"x",}`, 400, `at byte 13`},
		{"POST", "/categories", `{'name':"x"}`, 400, `at byte 2`},
		{"POST", "/categories", `{"name":"x` + "\n" + `"}`, 400, `at byte 11`},
		{"POST", "/categories", "\ufeff{}", 400, `at byte 1`},
		{"POST", "/categories", `null`, 400, order},
		{"POST", "/categories", `[]`, 400, order},
		{"POST", "/categories", `[{"name":"x"}]`, 400, order},
		{"POST", "/categories", `"name"`, 400, order},
		{"POST", "/categories", "{\"name\":\"\xff\"}", 400, `The JSON is not valid UTF-8 at byte 10.`},
		{"POST", "/categories", strings.Repeat("[", 60000), 400, `exceeded max depth`},
		{"POST", "/categories", `{"name":"x","color":"red"}`, 400, `The field \"color\" is unknown`},
		{"POST", "/categories", `{"name":"x","` + strings.Repeat("c", 60000) + `":1}`, 400, `cccc\" is unknown`},
		{"POST", "/categories", `{"Name":"x"}`, 400, `The field \"Name\" is unknown`},
		{"POST", "/categories", `{"id":4,"name":"x"}`, 400, `The field \"id\" is unknown`},
		{"POST", "/categories", `{"name":"x","name":"x"}`, 400, `name must be given once, not twice.`},
		{"POST", "/categories", `{"name":"x","n\u0061me":"x"}`, 400, `name must be given once`},
		{"POST", "/categories", `{"name":null}`, 400, `name must be a string.`},
		{"POST", "/categories", `{"name":5}`, 400, `name must be a string.`},
		{"POST", "/categories", `{"name":["x"]}`, 400, `name must be a string.`},
		{"POST", "/categories", `{"name":"x","description":null}`, 400, `description must be a string.`},
		{"POST", "/categories", `{}`, 400, `name is missing; it must be a string.`},
		{"POST", "/pets", `{"name":"x"}`, 400, `categoryId is missing; it must be a 64-bit integer without fraction or exponent.`},
		{"POST", "/pets", `{"name":"x","categoryId":"1"}`, 400, `categoryId must be a 64-bit integer`},
		{"POST", "/pets", `{"name":"x","categoryId":1.0}`, 400, `categoryId must be a 64-bit integer`},
		{"POST", "/pets", `{"name":"x","categoryId":1e0}`, 400, `categoryId must be a 64-bit integer`},
		{"POST", "/pets", `{"name":"x","categoryId":9223372036854775808}`, 400, `categoryId must be a 64-bit integer`},
		{"POST", "/pets", `{"name":"x","categoryId":1` + strings.Repeat("0", 60000) + `}`, 400, `categoryId must be a 64-bit integer`},
		{"POST", "/pets", `{"name":"x","categoryId":null}`, 400, `categoryId must be a 64-bit integer`},
		{"POST", "/pets", `{"name":"x","categoryId":1,"status":null}`, 400, `status must be available, pending or sold.`},
		{"POST", "/pets", `{"name":"x","categoryId":1,"status":""}`, 400, `status must be available, pending or sold.`},
		{"POST", "/pets", `{"name":"x","categoryId":1,"status":"Sold"}`, 400, `status must be available, pending or sold.`},
		{"POST", "/pets", `{"name":"x","categoryId":999,"status":"s\u006fld"}`, 400, `does not exist; use the id of an existing category`},
		{"POST", "/pets", `{"name":"x","categoryId":1,"status":"\"sold\""}`, 400, `status must be available, pending or sold.`},
		{"POST", "/pets", `{"name":"x","categoryId":1,"status":["sold"]}`, 400, `status must be available, pending or sold.`},
		{"POST", "/pets", `{"name":"x","categoryId":1,"status":1}`, 400, `status must be available, pending or sold.`},
		{"POST", "/pets", `{"name":"x","categoryId":1,"quantity":1}`, 400, `The field \"quantity\" is unknown`},
		{"POST", "/store/orders", `{"quantity":0}`, 400, `quantity must be from 1 to 2147483647.`},
		{"POST", "/store/orders", `{"quantity":2147483648}`, 400, `quantity must be from 1 to 2147483647.`},
		{"POST", "/store/orders", `{"quantity":1.5}`, 400, `quantity must be a 64-bit integer`},
		{"POST", "/store/orders", `{"quantity":null}`, 400, `quantity must be a 64-bit integer`},
		{"POST", "/store/orders", `{"petId":null}`, 400, `petId must be a 64-bit integer`},
		{"POST", "/store/orders", `{"complete":null}`, 400, `complete must be true or false.`},
		{"POST", "/store/orders", `{"complete":"true"}`, 400, `complete must be true or false.`},
		{"POST", "/store/orders", `{"complete":1}`, 400, `complete must be true or false.`},
		{"POST", "/store/orders", `{"shipDate":"2030-01-01"}`, 400, `shipDate must be an RFC 3339 date-time`},
		{"POST", "/store/orders", `{"shipDate":"2030-02-30T00:00:00Z"}`, 400, `shipDate must be an RFC 3339 date-time`},
		{"POST", "/store/orders", `{"shipDate":"2030-01-01T00:00:00"}`, 400, `shipDate must be an RFC 3339 date-time`},
		{"POST", "/store/orders", `{"shipDate":"2030-01-01T00:00:00,5Z"}`, 400, `shipDate must be an RFC 3339 date-time`},
		{"POST", "/store/orders", `{"shipDate":"2030-01-01T0:00:00Z"}`, 400, `shipDate must be an RFC 3339 date-time`},
		{"POST", "/store/orders", `{"shipDate":"2030-01-01T00:00:00+24:00"}`, 400, `shipDate must be an RFC 3339 date-time`},
		{"POST", "/store/orders", `{"shipDate":"2030-01-01T00:00:00.` + strings.Repeat("0", 50) + `Z"}`, 400, `of at most 64 characters, such as`},
		{"POST", "/store/orders", `{"shipDate":""}`, 400, `shipDate must be an RFC 3339 date-time`},
		{"POST", "/store/orders", `{"shipDate":1}`, 400, `shipDate must be a string.`},
		{"POST", "/store/orders", `{"shipDate":null}`, 400, `shipDate must be a string.`},
		{"POST", "/store/orders", `{"shipDate":"2030-01-01t00:00:00.5z"}`, 201, `{"id":3,"shipDate":"2030-01-01t00:00:00.5z","complete":false}`},
	})
}

func TestBodyLimitAndMediaType(t *testing.T) {
	s := freshService(t)
	body := func(size int) string { return `{"name":"x"}` + strings.Repeat(" ", size-12) }
	for _, write := range []string{"POST /pets", "PUT /pets/1", "POST /categories", "PUT /categories/1", "POST /store/orders", "PUT /store/orders/2", "PATCH /inventory/1"} {
		method, target, _ := strings.Cut(write, " ")
		s.run([]step{{method, target, body(maxBody + 1), 413, "The body must be at most 65536 bytes."}})
		if resp := s.do(method, target, body(100), "Content-Type: text/plain"); resp.StatusCode != 415 {
			t.Errorf("%s as text/plain: status %d", write, resp.StatusCode)
		}
	}
	if resp := s.do("POST", "/categories", body(maxBody)); resp.StatusCode != 201 {
		t.Errorf("a body of 64 KiB: status %d", resp.StatusCode)
	}
	for contentType, want := range map[string]int{
		"application/json":                     201,
		"application/json; charset=utf-8":      201,
		"Application/JSON;charset=\"UTF-8\"":   201,
		"application/json; charset=iso-8859-1": 415,
		"application/json;":                    201,
		"application/json; =":                  415,
		"application/jsonp":                    415,
		"application/merge-patch+json":         415,
		"application/x-www-form-urlencoded":    415,
		"json":                                 415,
	} {
		if resp := s.do("POST", "/categories", `{"name":"x"}`, "Content-Type: "+contentType); resp.StatusCode != want {
			t.Errorf("%q: status %d, want %d", contentType, resp.StatusCode, want)
		}
	}
}

func TestMethodsAndPaths(t *testing.T) {
	s := freshService(t)
	for _, test := range []struct {
		method, target string
		status         int
		allow          string
	}{
		{"PATCH", "/pets", 405, "GET, HEAD, POST"},
		{"OPTIONS", "/pets", 405, "GET, HEAD, POST"},
		{"POST", "/pets/1", 405, "GET, HEAD, PUT, DELETE"},
		{"BREW", "/pets/x", 405, "GET, HEAD, PUT, DELETE"},
		{"DELETE", "/categories", 405, "GET, HEAD, POST"},
		{"PATCH", "/categories/1", 405, "GET, HEAD, PUT, DELETE"},
		{"PUT", "/store/orders", 405, "GET, HEAD, POST"},
		{"POST", "/store/orders/1", 405, "GET, HEAD, PUT, DELETE"},
		{"POST", "/inventory", 405, "GET, HEAD"},
		{"PUT", "/inventory/1", 405, "GET, HEAD, PATCH"},
		{"POST", "/", 405, "GET, HEAD"},
		{"DELETE", "/healthz", 405, "GET, HEAD"},
		{"PUT", "/openapi.json", 405, "GET, HEAD"},
		{"GET", "/nothing", 404, ""},
		{"GET", "/pets/", 404, ""},
		{"GET", "/pets/1/2", 404, ""},
		{"POST", "/store", 404, ""},
		{"GET", "/Pets", 404, ""},
	} {
		resp := s.do(test.method, test.target, "")
		if got := resp.Header.Get("Allow"); resp.StatusCode != test.status || got != test.allow {
			t.Errorf("%s %s: status %d, Allow %q; want %d, %q", test.method, test.target, resp.StatusCode, got, test.status, test.allow)
		}
	}
	for _, target := range []string{"/pets", "/pets/1", "/pets/77", "/categories?limit=0", "/store/orders", "/inventory/1", "/", "/openapi.json", "/healthz"} {
		get, head := s.do("GET", target, ""), s.do("HEAD", target, "")
		for _, header := range []http.Header{get.Header, head.Header} {
			header.Del("X-RateLimit-Remaining") // it falls with each request
		}
		if diff := gocmp.Diff(get.Header, head.Header); diff != "" || head.StatusCode != get.StatusCode {
			t.Errorf("%s: HEAD has status %d, GET %d, headers (-GET +HEAD):\n%s", target, head.StatusCode, get.StatusCode, diff)
		}
	}
}

func TestLocation(t *testing.T) {
	s := freshService(t)
	for _, test := range []step{
		{"POST", "/pets", `{"name":"x","categoryId":1}`, 201, "/pets/6"},
		{"POST", "/categories", `{"name":"x"}`, 201, "/categories/5"},
		{"POST", "/store/orders", `{}`, 201, "/store/orders/3"},
	} {
		if got := s.do(test.method, test.target, test.body).Header.Get("Location"); got != test.want {
			t.Errorf("%s: Location %q, want %q", test.target, got, test.want)
		}
		if resp := s.do("GET", test.want, ""); resp.StatusCode != 200 {
			t.Errorf("GET %s: status %d", test.want, resp.StatusCode)
		}
	}
}

func TestDeprecation(t *testing.T) {
	s := freshService(t)
	want := http.Header{"Deprecation": {"@1795132800"}, "Sunset": {"Thu, 05 Dec 2030 00:00:00 GMT"}, "Link": {`</pets>; rel="successor-version"`}}
	for _, test := range []struct {
		method, target, key string
		deprecated          bool
	}{
		{"GET", "/pets/1", "big", true},
		{"HEAD", "/pets/1", "big", true},
		{"GET", "/pets/x", "big", true},
		{"GET", "/pets/77", "big", true},
		{"GET", "/pets/1", "wrong", false},
		{"PUT", "/pets/1", "big", false},
		{"GET", "/pets", "big", false},
		{"GET", "/inventory/1", "big", false},
	} {
		header := s.do(test.method, test.target, "", "Authorization: Bearer "+test.key).Header
		got := http.Header{}
		for name := range want {
			if header.Get(name) != "" {
				got[name] = header[name]
			}
		}
		if diff := gocmp.Diff(want, got); (diff == "") != test.deprecated {
			t.Errorf("%s %s (-want +got):\n%s", test.method, test.target, diff)
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
		resp := s.do("GET", test.target, "", "Authorization")
		if got := resp.Header.Get("Content-Type"); resp.StatusCode != test.status || got != test.contentType {
			t.Errorf("%s: status %d, type %q", test.target, resp.StatusCode, got)
		}
		if resp.Header.Get("X-RateLimit-Limit") != "" {
			t.Errorf("%s has rate headers", test.target)
		}
	}
	entries, err := documents.ReadDir("docs")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		resp := s.do("GET", "/docs/"+entry.Name(), "", "Authorization")
		want := http.Header{
			"Content-Type":            {contentTypes[filepath.Ext(entry.Name())]},
			"Content-Length":          {fmt.Sprint(resp.ContentLength)},
			"Content-Security-Policy": {"default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
			"X-Content-Type-Options":  {"nosniff"},
			"Cache-Control":           {"no-cache"},
		}
		if diff := gocmp.Diff(want, resp.Header); diff != "" || want.Get("Content-Type") == "" {
			t.Errorf("%s: headers (-want +got):\n%s", entry.Name(), diff)
		}
	}
}

// The page may offer the demo keys, and no others.
func TestKeysOfThePage(t *testing.T) {
	s := freshService(t)
	s.run([]step{{"GET", "/docs/keys.json", "", 200, "[]"}})
	s.demoKeys = demoKeys
	s.run([]step{{"GET", "/docs/keys.json", "", 200, demoKeys}})
}

func TestPanic(t *testing.T) {
	s := freshService(t)
	recorder := httptest.NewRecorder()
	r := httptest.NewRequest("GET", "/", nil)
	s.wrap(func(*http.Request) (response, error) { panic("boom") }, false).ServeHTTP(recorder, r)
	if recorder.Code != 500 {
		t.Errorf("status %d", recorder.Code)
	}
	s.checkError(recorder.Result(), recorder.Body.Bytes())
	if got := s.log.String(); !strings.Contains(got, "boom") || !strings.Contains(got, "handlers_test.go") {
		t.Errorf("the log has no stack: %s", got)
	}
	s.run([]step{{"GET", "/pets/1", ``, 200, `{"id":1,"name":"Rex","categoryId":1,"status":"available"}`}})
}

func TestCORS(t *testing.T) {
	s := freshService(t)
	s.origin = "https://shop.example"
	preflight := s.do("OPTIONS", "/pets/1", "", "Authorization", "Origin: https://shop.example", "Access-Control-Request-Method: PUT")
	want := http.Header{
		"Access-Control-Allow-Origin":   {"https://shop.example"},
		"Access-Control-Allow-Methods":  {"GET, HEAD, POST, PUT, PATCH, DELETE"},
		"Access-Control-Allow-Headers":  {"Authorization, X-API-Key, Content-Type"},
		"Access-Control-Expose-Headers": {"X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, Retry-After, Location, Link, Allow, Deprecation, Sunset"},
		"Access-Control-Max-Age":        {"600"},
	}
	if diff := gocmp.Diff(want, preflight.Header); diff != "" || preflight.StatusCode != 204 {
		t.Errorf("preflight: status %d, headers (-want +got):\n%s", preflight.StatusCode, diff)
	}
	for _, key := range []string{"big", "wrong"} {
		header := s.do("GET", "/pets", "", "Authorization: Bearer "+key).Header
		for _, name := range []string{"Access-Control-Allow-Origin", "Access-Control-Expose-Headers"} {
			if diff := gocmp.Diff(want[name], header[name]); diff != "" {
				t.Errorf("%s with the key %s (-want +got):\n%s", name, key, diff)
			}
		}
	}
	if got := freshService(t).do("GET", "/pets", "", "Origin: https://shop.example").Header.Get("Access-Control-Allow-Origin"); got != "" {
		t.Errorf("without -cors-origin, %q is allowed", got)
	}
}

func TestVerbose(t *testing.T) {
	s := freshService(t)
	s.verbose = true
	s.do("GET", "/pets?limit=1", "", "Authorization: Bearer pro")
	s.do("DELETE", "/pets/%0aevil", "", "Authorization: Bearer secret-guess")
	got := regexp.MustCompile(` [0-9.]+(ns|µs|ms|s) `).ReplaceAllString(s.log.String(), " TIME ")
	want := "GET \"/pets\" 200 TIME plan=\"pro\"\nDELETE \"/pets/\\nevil\" 401 TIME plan=\"\"\n"
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}

// A description is what the tests read of docs/openapi.json.
type description struct {
	OpenAPI string
	Info    struct{ Title, Version string }
	Servers []struct {
		URL       string
		Variables map[string]struct{ Default string }
	}
	Tags []struct {
		Name   string
		Parent string `json:"x-parent"`
		Title  string `json:"x-page-title"`
	}
	Paths map[string]map[string]struct { // by path and method
		OperationID string
		Tags        []string
		Responses   map[string]json.RawMessage
		Deprecated  bool
		Sunset      string `json:"x-deprecated-sunset"`
		HideTryIt   bool   `json:"x-hideTryItPanel"`
		Stability   string `json:"x-stability"`
	}
	Components struct{ Schemas, SecuritySchemes map[string]json.RawMessage }
}

func readDescription(t testing.TB) (d description) {
	t.Helper()
	if err := json.Unmarshal([]byte(read(t, "docs/openapi.json")), &d); err != nil {
		t.Fatal(err)
	}
	return d
}

func TestDescription(t *testing.T) {
	d := readDescription(t)
	var got []string
	for path, operations := range d.Paths {
		for method, o := range operations {
			statuses := slices.Sorted(maps.Keys(o.Responses))
			marks := o.Stability + o.Sunset
			if o.HideTryIt {
				marks += "no try-out"
			}
			got = append(got, strings.TrimRight(fmt.Sprint(strings.ToUpper(method), " ", path, " ", o.OperationID, " ", o.Tags, " ", statuses, " ", marks), " "))
		}
	}
	want := []string{
		"GET /pets listPets [animals] [200 400 401 403 429 500]",
		"POST /pets createPet [animals] [201 400 401 403 413 415 429 500 503]",
		"GET /pets/{petId} getPet [animals] [200 400 401 403 404 429 500] 2030-12-05",
		"PUT /pets/{petId} replacePet [animals] [200 400 401 403 404 413 415 429 500 503]",
		"DELETE /pets/{petId} deletePet [animals] [204 400 401 403 404 409 429 500 503]",
		"GET /categories listCategories [categories] [200 400 401 403 429 500]",
		"POST /categories createCategory [categories] [201 400 401 403 413 415 429 500 503]",
		"GET /categories/{categoryId} getCategory [categories] [200 400 401 403 404 429 500]",
		"PUT /categories/{categoryId} replaceCategory [categories] [200 400 401 403 404 413 415 429 500 503]",
		"DELETE /categories/{categoryId} deleteCategory [categories] [204 400 401 403 404 409 429 500 503]",
		"GET /store/orders listOrders [orders] [200 400 401 403 429 500] no try-out",
		"POST /store/orders createOrder [orders] [201 400 401 403 413 415 429 500 503]",
		"GET /store/orders/{orderId} getOrder [orders] [200 400 401 403 404 429 500]",
		"PUT /store/orders/{orderId} replaceOrder [orders] [200 400 401 403 404 409 413 415 429 500 503]",
		"DELETE /store/orders/{orderId} cancelOrder [orders] [204 400 401 403 404 409 429 500 503] beta",
		"GET /inventory listInventory [inventory] [200 400 401 403 429 500]",
		"GET /inventory/{petId} getInventory [inventory] [200 400 401 403 404 429 500]",
		"PATCH /inventory/{petId} updateInventory [inventory] [200 400 401 403 404 413 415 429 500 503] experimental",
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("operations (-want +got):\n%s", diff)
	}

	var routes, described []string
	for _, route := range new(Server).routes() {
		routes = append(routes, route.pattern)
	}
	for _, operation := range got {
		described = append(described, strings.Join(strings.Fields(operation)[:2], " "))
	}
	slices.Sort(routes)
	slices.Sort(described)
	if diff := gocmp.Diff(routes, described); diff != "" {
		t.Errorf("routes and description (-routes +description):\n%s", diff)
	}

	var names []string
	for name := range d.Components.Schemas {
		names = append(names, name)
	}
	for name := range d.Components.SecuritySchemes {
		names = append(names, name)
	}
	for _, tag := range d.Tags {
		names = append(names, cmp.Or(tag.Parent, "-")+"/"+tag.Name)
		if tag.Title == "" {
			t.Errorf("tag %s has no title", tag.Name)
		}
	}
	slices.Sort(names)
	if diff := gocmp.Diff([]string{"-/Pets", "-/Store", "Category", "Error", "InventoryItem", "InventoryUpdate", "NewCategory", "NewPet", "Order", "Pet",
		"PetStatus", "Pets", "Pets/animals", "Pets/categories", "Store/inventory", "Store/orders", "apiKeyAuth", "bearerAuth"}, names); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	if d.OpenAPI != "3.0.3" || d.Info.Version != "1.0.0" || d.Info.Title != "Petstore API" || len(d.Servers) != 1 ||
		d.Servers[0].URL != "{base_url}" || d.Servers[0].Variables["base_url"].Default != "http://localhost:8080" ||
		!d.Paths["/pets/{petId}"]["get"].Deprecated {
		t.Errorf("the description says %s, %+v, %+v", d.OpenAPI, d.Info, d.Servers)
	}
}

// The page of the reference finds its files, and in the description every field that it reads.
func TestReference(t *testing.T) {
	s := freshService(t)
	page, script, data := read(t, "docs/index.html"), read(t, "docs/reference.js"), read(t, "docs/openapi.json")
	for _, file := range regexp.MustCompile(`"(/docs/[^"]+|/openapi\.json)"|from '(/[^']+)'`).FindAllStringSubmatch(page+script, -1) {
		if target := file[1] + file[2]; s.do("GET", target, "", "Authorization").StatusCode != 200 {
			t.Errorf("the page needs %s, which is not served", target)
		}
	}
	if regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|https?://`).MatchString(script) {
		t.Error("the script sets HTML, or names another origin")
	}
	for _, id := range []string{`id="key"`, `class="meter"`, `class="choices"`, `<template id="operation"`, `<template id="try"`, `role="meter"`, `role="status"`} {
		if !strings.Contains(page, id) {
			t.Errorf("the page has no %s", id)
		}
	}

	var d map[string]any
	if err := json.Unmarshal([]byte(data), &d); err != nil {
		t.Fatal(err)
	}
	resolve := func(v any) map[string]any {
		m, _ := v.(map[string]any)
		for ref, ok := m["$ref"].(string); ok; ref, ok = m["$ref"].(string) {
			var at any = d
			for _, name := range strings.Split(ref, "/")[1:] {
				at = at.(map[string]any)[name]
			}
			m, _ = at.(map[string]any)
		}
		return m
	}
	needs := func(what string, v any, names ...string) map[string]any {
		t.Helper()
		m := resolve(v)
		for _, name := range names {
			if value, ok := m[name]; !ok || value == "" {
				t.Errorf("%s has no %s", what, name)
			}
		}
		return m
	}
	content := func(what string, v any) {
		media := resolve(resolve(resolve(v)["content"])["application/json"])
		needs(what, media, "schema", "examples")
		for name, example := range resolve(media["examples"]) {
			needs(what+" example "+name, example, "summary", "value")
		}
	}
	needs("the description", d, "info", "tags", "security", "paths", "components")
	needs("info", d["info"], "title", "version", "description")
	for _, tag := range d["tags"].([]any) {
		needs("a tag", tag, "name", "description", "x-page-title")
	}
	for path, item := range resolve(d["paths"]) {
		for method, v := range resolve(item) {
			what := method + " " + path
			operation := needs(what, v, "operationId", "tags", "summary", "description", "responses")
			parameters, _ := operation["parameters"].([]any)
			for _, p := range parameters {
				parameter := needs(what+" parameter", p, "name", "in", "description", "schema")
				if parameter["in"] == "path" {
					needs(what+" path parameter", parameter, "example")
				}
			}
			if body, ok := operation["requestBody"]; ok {
				content(what+" body", body)
			}
			for status, response := range resolve(operation["responses"]) {
				what := what + " " + status
				if needs(what, response, "description", "headers"); status != "204" {
					content(what, response)
				}
				for name, header := range resolve(resolve(response)["headers"]) {
					needs(what+" "+name, header, "description", "schema")
				}
			}
		}
	}
	if unread := regexp.MustCompile(`"(oneOf|anyOf|not|nullable|exclusiveMinimum|exclusiveMaximum|minItems|multipleOf)":`).FindAllString(data, -1); unread != nil {
		t.Errorf("the page does not read %s", unread)
	}
}
