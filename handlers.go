package main

import (
	"bytes"
	"cmp"
	"embed"
	"errors"
	"io"
	"log"
	"maps"
	"math"
	"mime"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Server answers the requests of the API from its store.
type Server struct {
	store    *Store
	limits   *Limits
	logger   *log.Logger
	mux      *http.ServeMux
	verbose  bool          // log each request
	delay    time.Duration // hold back each response of the API for this long
	origin   string        // the web pages of this origin may call the API (CORS); empty for none
	demoKeys string        // the demo keys, for the page at / to offer; empty if they are not in use
	baseURL  string        // of this server, as it is printed at the start and named by openapi.json
}

// A handler returns the response to a request, or the error to send instead. It never sees the ResponseWriter.
type handler func(*http.Request) (response, error)

// A response is what a handler wants sent: JSON, unless its own header names another Content-Type.
type response struct {
	status int
	body   []byte
	header []headerLine
}

// jsonResponse ends the JSON with a newline, so that in a terminal the prompt comes on the next line. Clip makes append
// copy the JSON: it may be a record's, and two requests must not write to the same spare byte behind it.
func jsonResponse(status int, json []byte) response {
	return response{status: status, body: append(slices.Clip(json), '\n')}
}

// A route is a pattern of http.ServeMux and the handler for it.
type route struct {
	pattern string
	handle  handler
}

// routes are the operations that docs/openapi.json describes, in its order.
func (s *Server) routes() []route {
	return []route{
		{"GET /pets", s.listPets},
		{"POST /pets", s.createPet},
		{"GET /pets/{petId}", s.getPet},
		{"PUT /pets/{petId}", s.replacePet},
		{"DELETE /pets/{petId}", s.deletePet},
		{"GET /categories", s.listCategories},
		{"POST /categories", s.createCategory},
		{"GET /categories/{categoryId}", s.getCategory},
		{"PUT /categories/{categoryId}", s.replaceCategory},
		{"DELETE /categories/{categoryId}", s.deleteCategory},
		{"GET /store/orders", s.listOrders},
		{"POST /store/orders", s.createOrder},
		{"GET /store/orders/{orderId}", s.getOrder},
		{"PUT /store/orders/{orderId}", s.replaceOrder},
		{"DELETE /store/orders/{orderId}", s.cancelOrder},
		{"GET /inventory", s.listInventory},
		{"GET /inventory/{petId}", s.getInventory},
		{"PATCH /inventory/{petId}", s.updateInventory},
	}
}

// openRoutes are not part of the API: they need no key and use up no quota.
func (s *Server) openRoutes() []route {
	return []route{
		{"/{$}", s.getDocument},
		{"/openapi.json", s.getDocument},
		{"/docs/{file}", s.getDocument},
		{"/healthz", s.getHealth},
	}
}

// newMux returns the mux of the whole service.
func (s *Server) newMux() *http.ServeMux {
	s.mux = http.NewServeMux()
	for _, r := range s.routes() {
		s.mux.Handle(r.pattern, s.wrap(r.handle, true))
	}
	s.mux.Handle("/", s.wrap(s.noRoute, true))
	for _, r := range s.openRoutes() {
		s.mux.Handle("GET "+r.pattern, s.wrap(r.handle, false))
		s.mux.Handle(r.pattern, s.wrap(s.noRoute, false)) // the other methods need no key either
	}
	return s.mux
}

// wrap makes an http.Handler of a handler. Nothing else in this program writes to a ResponseWriter, so every response
// of a handler gets the same headers, and every failure the same shape.
func (s *Server) wrap(h handler, inAPI bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begin := time.Now()
		var planName string
		var resp response
		switch {
		case s.isPreflight(r):
			resp = preflight
		case inAPI:
			var q quota
			var err error
			planName, q, err = s.limits.admit(r, begin)
			q.setHeaders(w.Header())
			if err != nil {
				resp = s.failure(err)
			} else {
				resp = s.respond(w, r, h)
			}
			s.holdBack(r)
		default:
			resp = s.respond(w, r, h)
		}
		s.send(w, r, resp)
		if s.verbose {
			s.logger.Printf("%s %q %d %s plan=%q", r.Method, r.URL.Path, resp.status, time.Since(begin), planName)
		}
	})
}

// maxBody is the size limit of a request body: 64 KiB.
const maxBody = 64 << 10

// respond returns the response of the handler, or that of its error.
func (s *Server) respond(w http.ResponseWriter, r *http.Request, h handler) (resp response) {
	// The handler gets a copy of the request: net/http later asks the original Body whether the client is still waiting
	// for the go-ahead to send it (Expect: 100-continue).
	limited := *r
	limited.Body = http.MaxBytesReader(w, r.Body, maxBody)
	failed := catch(func() (err error) {
		resp, err = h(&limited)
		return err
	})
	if failed != nil {
		return s.failure(failed)
	}
	return resp
}

// holdBack waits for as long as -delay says, or until the client gives up.
func (s *Server) holdBack(r *http.Request) {
	if s.delay > 0 {
		select {
		case <-time.After(s.delay):
		case <-r.Context().Done():
		}
	}
}

// failure returns the response for an error. An error that is not an Error is a fault of this program: the client
// gets a 500, and the log gets the details.
func (s *Server) failure(err error) response {
	var e *Error
	if !errors.As(err, &e) {
		s.logger.Print(err)
		e = fail(http.StatusInternalServerError,
			"The server failed on this request; try again, and report it if it fails again.")
	}
	resp := jsonResponse(e.Status, encode(e))
	resp.header = e.header
	return resp
}

// send adds the headers that every response has, and writes it.
func (s *Server) send(w http.ResponseWriter, r *http.Request, resp response) {
	header := w.Header()
	if s.origin != "" {
		header.Set("Access-Control-Allow-Origin", s.origin)
		header.Set("Access-Control-Expose-Headers", "X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, "+
			"Retry-After, Location, Link, Allow, Deprecation, Sunset")
	}
	if r.TransferEncoding != nil {
		// A request with both Transfer-Encoding and Content-Length may hide another request. net/http does not say
		// whether it had both, so its connection is not used again (RFC 9112, section 6.1).
		header.Set("Connection", "close")
	}
	if resp.body != nil {
		header.Set("Content-Type", "application/json")
		header.Set("Content-Length", strconv.Itoa(len(resp.body)))
	}
	for _, line := range resp.header {
		header.Set(line.name, line.value)
	}
	w.WriteHeader(resp.status)
	w.Write(resp.body)
}

// isPreflight reports whether the request is a preflight: a browser asks whether a page of another origin may send its
// request (Fetch standard, CORS protocol). A preflight carries no key.
func (s *Server) isPreflight(r *http.Request) bool {
	return s.origin != "" && r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != ""
}

var preflight = response{status: http.StatusNoContent, header: []headerLine{
	{"Access-Control-Allow-Methods", "GET, HEAD, POST, PUT, PATCH, DELETE"},
	{"Access-Control-Allow-Headers", "Authorization, X-API-Key, Content-Type"},
	{"Access-Control-Max-Age", "600"},
}}

// noRoute handles what no other route matches. If the path supports other methods, the error is 405 (RFC 9110, section
// 15.5.6), else 404. It asks the mux which methods those are.
func (s *Server) noRoute(r *http.Request) (response, error) {
	var allowed []string
	for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"} {
		_, pattern := s.mux.Handler(&http.Request{Method: method, URL: r.URL, Host: r.Host})
		if strings.Contains(pattern, " ") { // patterns without a method lead here
			allowed = append(allowed, method)
		}
	}
	// The method itself is allowed if getDocument ends here, because it has no such document.
	if allowed == nil || slices.Contains(allowed, r.Method) {
		return response{}, fail(http.StatusNotFound,
			"This path does not exist; GET /openapi.json lists the operations.")
	}
	allow := strings.Join(allowed, ", ")
	return response{}, fail(http.StatusMethodNotAllowed, "Method not allowed; this path supports %s.", allow).
		with("Allow", allow)
}

// The operations follow, in the order of routes. What they have in common comes after them: the collections pets,
// categories, orders and inventory; list, get, create, replace and remove; how bodies and queries are read.

func (s *Server) listPets(r *http.Request) (response, error) {
	q := parseQuery(r, "status", "categoryId")
	status := q.status("status")
	category := q.integer("categoryId", 0, 1, math.MaxInt64) // 0 if it is left out, or else at least 1
	return list(s, q, pets, func(p *Pet) bool {
		return (status == "" || p.Status == status) && (category == 0 || p.CategoryID == category)
	})
}

func (s *Server) createPet(r *http.Request) (response, error) {
	body := NewPet{Status: Available}
	if err := decodeBody(r, &body); err != nil {
		return response{}, err
	}
	return create(s, pets, func(next *state, id int64) (Pet, error) {
		if err := next.checkCategory(body.CategoryID); err != nil {
			return Pet{}, err
		}
		return Pet{ID: id, NewPet: body}, nil
	})
}

// deprecation announces the end of getPet, with every 200, 400 and 404 (RFC 9745, RFC 8594): it has been deprecated
// since 2026-11-20, and will be removed after the sunset. Clients can practise on it; the other get operations stay.
var deprecation = []headerLine{
	{"Deprecation", "@1795132800"},
	{"Sunset", "Thu, 05 Dec 2030 00:00:00 GMT"},
	{"Link", `</pets>; rel="successor-version"`},
}

func (s *Server) getPet(r *http.Request) (response, error) {
	resp, err := get(s, r, pets)
	if err != nil {
		resp = s.failure(err) // here, and not in respond, to add the headers
	}
	resp.header = append(resp.header, deprecation...)
	return resp, nil
}

func (s *Server) replacePet(r *http.Request) (response, error) {
	body := NewPet{Status: Available}
	if err := decodeBody(r, &body); err != nil {
		return response{}, err
	}
	return replace(s, r, pets, func(next *state, pet Pet) (Pet, error) {
		if err := next.checkCategory(body.CategoryID); err != nil {
			return Pet{}, err
		}
		pet.NewPet = body
		return pet, nil
	})
}

func (s *Server) deletePet(r *http.Request) (response, error) {
	return remove(s, r, pets, func(next *state, pet Pet) error {
		for id, order := range next.orders.after(0) {
			if order.value.PetID != nil && *order.value.PetID == pet.ID {
				return fail(http.StatusConflict, "Order %d names this pet; cancel or change that order first.", id)
			}
		}
		return nil
	})
}

func (s *Server) listCategories(r *http.Request) (response, error) {
	return list(s, parseQuery(r), categories, all)
}

func (s *Server) createCategory(r *http.Request) (response, error) {
	var body NewCategory
	if err := decodeBody(r, &body); err != nil {
		return response{}, err
	}
	return create(s, categories, func(_ *state, id int64) (Category, error) {
		return Category{ID: id, NewCategory: body}, nil
	})
}

func (s *Server) getCategory(r *http.Request) (response, error) {
	return get(s, r, categories)
}

func (s *Server) replaceCategory(r *http.Request) (response, error) {
	var body NewCategory
	if err := decodeBody(r, &body); err != nil {
		return response{}, err
	}
	return replace(s, r, categories, func(_ *state, category Category) (Category, error) {
		category.NewCategory = body
		return category, nil
	})
}

func (s *Server) deleteCategory(r *http.Request) (response, error) {
	return remove(s, r, categories, func(next *state, category Category) error {
		for id, pet := range next.pets.after(0) {
			if pet.value.CategoryID == category.ID {
				return fail(http.StatusConflict,
					"Pet %d belongs to this category; delete or change that pet first.", id)
			}
		}
		return nil
	})
}

func (s *Server) listOrders(r *http.Request) (response, error) {
	return list(s, parseQuery(r), orders, all)
}

func (s *Server) createOrder(r *http.Request) (response, error) {
	var body Order
	if err := decodeBody(r, &body); err != nil {
		return response{}, err
	}
	if body.ID != nil {
		return response{}, invalid("id is assigned by the server; leave it out.")
	}
	return create(s, orders, func(next *state, id int64) (Order, error) {
		if err := next.checkPet(body.PetID); err != nil {
			return Order{}, err
		}
		body.ID = &id
		return body, nil
	})
}

func (s *Server) getOrder(r *http.Request) (response, error) {
	return get(s, r, orders)
}

func (s *Server) replaceOrder(r *http.Request) (response, error) {
	var body Order
	if err := decodeBody(r, &body); err != nil {
		return response{}, err
	}
	return replace(s, r, orders, func(next *state, old Order) (Order, error) {
		if body.ID != nil && *body.ID != *old.ID {
			return Order{}, invalid("id must be %d, as in the path, or be left out.", *old.ID)
		}
		if old.Complete && !body.Complete {
			return Order{}, fail(http.StatusConflict, "A complete order cannot be reopened; send complete as true.")
		}
		if err := next.checkPet(body.PetID); err != nil {
			return Order{}, err
		}
		body.ID = old.ID
		return body, nil
	})
}

func (s *Server) cancelOrder(r *http.Request) (response, error) {
	return remove(s, r, orders, func(_ *state, order Order) error {
		if order.Complete {
			return fail(http.StatusConflict, "A complete order cannot be cancelled.")
		}
		return nil
	})
}

func (s *Server) listInventory(r *http.Request) (response, error) {
	return list(s, parseQuery(r), inventory, all)
}

func (s *Server) getInventory(r *http.Request) (response, error) {
	return get(s, r, inventory)
}

func (s *Server) updateInventory(r *http.Request) (response, error) {
	var body InventoryUpdate
	if err := decodeBody(r, &body); err != nil {
		return response{}, err
	}
	return replace(s, r, inventory, func(_ *state, pet Pet) (Pet, error) {
		pet.quantity = body.Quantity
		return pet, nil
	})
}

// A collection is a table as the API shows it.
type collection[T any] struct {
	path  string                  // of the list
	noun  string                  // for a record, in messages
	param string                  // the path parameter that is a record's id
	in    func(*state) *table[T]  // returns the table
	json  func(*record[T]) []byte // returns a record as clients see it
}

var pets = collection[Pet]{
	path:  "/pets",
	noun:  "pet",
	param: "petId",
	in:    func(st *state) *table[Pet] { return &st.pets },
	json:  func(r *record[Pet]) []byte { return r.encoded },
}

var categories = collection[Category]{
	path:  "/categories",
	noun:  "category",
	param: "categoryId",
	in:    func(st *state) *table[Category] { return &st.categories },
	json:  func(r *record[Category]) []byte { return r.encoded },
}

var orders = collection[Order]{
	path:  "/store/orders",
	noun:  "order",
	param: "orderId",
	in:    func(st *state) *table[Order] { return &st.orders },
	json:  func(r *record[Order]) []byte { return r.encoded },
}

// inventory is the pets again, but shown as their stock.
var inventory = collection[Pet]{
	path:  "/inventory",
	noun:  "pet",
	param: "petId",
	in:    pets.in,
	json: func(r *record[Pet]) []byte {
		return encode(InventoryItem{PetID: r.value.ID, Quantity: r.value.quantity, Status: r.value.Status})
	},
}

// The functions below would be methods of Server, if methods could have type parameters of their own.

// list returns the first records that match and whose ids are greater than the query's after, at most limit of them.
// If more follow, the Link header leads to them (RFC 8288). For example, if there are records 1, 2, 3 and 5, ?limit=2
// returns 1 and 2 with a link to ?after=2&limit=2, and that returns 3 and 5 with no link.
func list[T any](s *Server, q *query, c collection[T], match func(*T) bool) (response, error) {
	limit := q.integer("limit", 20, 1, 100)
	after := q.integer("after", 0, 0, math.MaxInt64)
	if q.err != nil {
		return response{}, q.err
	}
	const recordSize = 96 // bytes; an estimate, since a body that grows as it is filled takes twice the time
	resp := response{status: http.StatusOK, body: append(make([]byte, 0, limit*recordSize), '[')}
	var count, last int64
	for id, record := range c.in(s.store.view()).after(after) {
		if !match(&record.value) {
			continue
		}
		if count == limit {
			resp.header = []headerLine{{"Link", q.nextPage(c.path, last, limit)}}
			break
		}
		if count > 0 {
			resp.body = append(resp.body, ",\n"...)
		}
		resp.body = append(resp.body, c.json(record)...)
		count, last = count+1, id
	}
	resp.body = append(resp.body, "]\n"...)
	return resp, nil
}

// all matches every record.
func all[T any](*T) bool { return true }

// get returns the record that the path names.
func get[T any](s *Server, r *http.Request, c collection[T]) (response, error) {
	_, record, err := find(s.store.view(), r, c)
	if err != nil {
		return response{}, err
	}
	return jsonResponse(http.StatusOK, c.json(record)), nil
}

// create adds the record that build returns for the next id.
func create[T any](s *Server, c collection[T],
	build func(next *state, id int64) (T, error)) (resp response, err error) {
	err = s.store.update(func(next *state) error {
		table := c.in(next)
		id, err := table.nextID()
		if err != nil {
			return err
		}
		value, err := build(next, id)
		if err != nil {
			return err
		}
		record := newRecord(value)
		table.insert(id, record)
		resp = jsonResponse(http.StatusCreated, c.json(record))
		resp.header = []headerLine{{"Location", c.path + "/" + strconv.FormatInt(id, 10)}}
		return nil
	})
	return resp, err
}

// replace replaces the record that the path names with what build returns.
func replace[T any](s *Server, r *http.Request, c collection[T],
	build func(next *state, old T) (T, error)) (resp response, err error) {
	err = s.store.update(func(next *state) error {
		id, old, err := find(next, r, c)
		if err != nil {
			return err
		}
		value, err := build(next, old.value)
		if err != nil {
			return err
		}
		record := newRecord(value)
		c.in(next).put(id, record)
		resp = jsonResponse(http.StatusOK, c.json(record))
		return nil
	})
	return resp, err
}

// remove deletes the record that the path names, unless check returns an error.
func remove[T any](s *Server, r *http.Request, c collection[T],
	check func(next *state, old T) error) (response, error) {
	err := s.store.update(func(next *state) error {
		id, old, err := find(next, r, c)
		if err != nil {
			return err
		}
		if err := check(next, old.value); err != nil {
			return err
		}
		c.in(next).put(id, nil)
		return nil
	})
	return response{status: http.StatusNoContent}, err
}

// find returns the record that the path names, and its id.
func find[T any](st *state, r *http.Request, c collection[T]) (int64, *record[T], error) {
	id, ok := parseInteger(r.PathValue(c.param))
	if !ok {
		return 0, nil, invalid("%s in the path must be a 64-bit integer.", c.param)
	}
	record := c.in(st).get(id)
	if record == nil {
		return 0, nil, fail(http.StatusNotFound, "No %s has the id %d; GET %s lists them.", c.noun, id, c.path)
	}
	return id, record, nil
}

// decodeBody decodes the body of a request into a shape, and validates it.
func decodeBody(r *http.Request, into shape) error {
	if !isJSON(r.Header.Get("Content-Type")) {
		return fail(http.StatusUnsupportedMediaType,
			"The body must be JSON in UTF-8; send it with Content-Type: application/json.")
	}
	data, err := io.ReadAll(r.Body)
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return fail(http.StatusRequestEntityTooLarge, "The body must be at most %d bytes.", tooLarge.Limit)
	}
	if err != nil {
		return invalid("The body ended early or arrived too slowly; send it again.")
	}
	return decodeObject(data, into)
}

// isJSON reports whether a Content-Type is that of JSON in UTF-8. If it is missing, the body is assumed to be JSON.
func isJSON(contentType string) bool {
	if contentType == "" || contentType == "application/json" { // the usual ones need no parsing
		return true
	}
	mediaType, params, err := mime.ParseMediaType(contentType)
	charset := cmp.Or(params["charset"], "utf-8")
	return err == nil && mediaType == "application/json" && strings.EqualFold(charset, "utf-8")
}

// A query holds the parameters of a list. err says what is wrong with the first bad one; it is nil if all are good.
type query struct {
	values url.Values
	err    error
}

// parseQuery accepts limit, after and the given filters, each at most once and not empty.
func parseQuery(r *http.Request, filters ...string) *query {
	names := append([]string{"limit", "after"}, filters...)
	q := new(query)
	var err error
	if q.values, err = url.ParseQuery(r.URL.RawQuery); err != nil {
		q.fail("The query must be name=value pairs joined by &, percent-encoded.")
	}
	for _, name := range slices.Sorted(maps.Keys(q.values)) {
		if !slices.Contains(names, name) {
			q.fail("The parameter %.40q is unknown; use %s.", name, strings.Join(names, ", "))
		}
		if given := q.values[name]; len(given) > 1 || given[0] == "" {
			q.fail("%s must be given once, with a value.", name)
		}
	}
	return q
}

// fail keeps the first error.
func (q *query) fail(format string, args ...any) {
	if q.err == nil {
		q.err = invalid(format, args...)
	}
}

// integer returns an integer parameter, or fallback if it is left out.
func (q *query) integer(name string, fallback, lowest, highest int64) int64 {
	if !q.values.Has(name) {
		return fallback
	}
	n, ok := parseInteger(q.values.Get(name))
	if !ok || n < lowest || n > highest {
		q.fail("%s must be an integer from %d to %d.", name, lowest, highest)
	}
	return n
}

// status returns a parameter that is a PetStatus, or "" if it is left out.
func (q *query) status(name string) (status PetStatus) {
	if q.values.Has(name) {
		if err := status.UnmarshalText([]byte(q.values.Get(name))); err != nil {
			q.fail("%s must be %s.", name, petStatuses)
		}
	}
	return status
}

// nextPage returns the Link header for the records after the one with the id last. It keeps the filters.
func (q *query) nextPage(path string, last, limit int64) string {
	q.values.Set("after", strconv.FormatInt(last, 10))
	q.values.Set("limit", strconv.FormatInt(limit, 10))
	return "<" + path + "?" + q.values.Encode() + `>; rel="next"`
}

// parseInteger parses a 64-bit integer in its one canonical form: not +1, 01 or 1.0.
func parseInteger(text string) (n int64, ok bool) {
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil && strconv.FormatInt(n, 10) == text
}

// getHealth reports whether the store can save.
func (s *Server) getHealth(*http.Request) (response, error) {
	if s.store.lastFailure() != nil {
		return response{}, unavailable("The store cannot save to its disk; it tries again every second.")
	}
	return jsonResponse(http.StatusOK, []byte(`{"status":"ok"}`)), nil
}

// documents are the description of the API and the page that shows it.
//
//go:embed docs/openapi.json docs/index.html docs/*.css docs/*.js docs/*.svg
var documents embed.FS

// contentTypes are listed here because package mime asks the system, and systems differ.
var contentTypes = map[string]string{
	".html": "text/html; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".json": "application/json",
	".svg":  "image/svg+xml",
}

// getDocument returns the document that the path names. Its policy keeps the page from loading anything that this
// server does not serve.
func (s *Server) getDocument(r *http.Request) (response, error) {
	name := r.PathValue("file")
	switch r.URL.Path {
	case "/":
		name = "index.html"
	case "/openapi.json":
		name = "openapi.json"
	}
	body, err := documents.ReadFile("docs/" + name)
	if name == "keys.json" { // not a file: the keys that the page may offer
		body, err = []byte(cmp.Or(s.demoKeys, "[]")), nil
	}
	if err != nil {
		return s.noRoute(r)
	}
	if name == "openapi.json" && s.baseURL != "" {
		body = bytes.Replace(body, []byte("http://localhost:8080"), []byte(s.baseURL), 1)
	}
	return response{status: http.StatusOK, body: body, header: []headerLine{
		{"Content-Type", contentTypes[path.Ext(name)]},
		{"Content-Security-Policy", "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
		{"X-Content-Type-Options", "nosniff"},
		{"Cache-Control", "no-cache"},
	}}, nil
}
