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

// Server handles the requests of the API from its store.
type Server struct {
	store    *Store
	limits   *Limits
	logger   *log.Logger
	verbose  bool          // log each request
	origin   string        // of the web pages that may call the API (CORS); empty if there are none
	demoKeys string        // the keys file, if it is that of the public demo keys
	baseURL  string        // under which clients find the server; empty if that is not known
	delay    time.Duration // that each response of the API is held back
	mux      *http.ServeMux
}

// A route is a pattern of http.ServeMux and the handler for it.
type route struct {
	pattern string
	handler handler
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

// pages are the routes that are no part of the API: they need no key and use up no quota.
func (s *Server) pages() []route {
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
	for _, route := range s.routes() {
		s.mux.Handle(route.pattern, s.wrap(route.handler, true))
	}
	s.mux.Handle("/", s.wrap(s.noRoute, true))
	for _, page := range s.pages() {
		s.mux.Handle("GET "+page.pattern, s.wrap(page.handler, false))
		s.mux.Handle(page.pattern, s.wrap(s.noRoute, false))
	}
	return s.mux
}

// A handler returns the response to a request, or the error to send instead. It never sees the ResponseWriter.
type handler func(*http.Request) (response, error)

// A response is what a handler wants sent: JSON, unless its own header names another Content-Type.
type response struct {
	status int
	body   []byte
	header []headerLine
}

// jsonResponse ends the JSON with a newline, so that in a terminal the prompt comes on the next line.
func jsonResponse(status int, json []byte) response {
	return response{status: status, body: append(slices.Clip(json), '\n')}
}

// wrap makes an http.Handler of a handler. Nothing else in the program writes to a ResponseWriter, so every response
// gets the same headers, and every failure the same shape.
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
			resp = s.respond(w, r, h, err)
			s.holdBack(r)
		default:
			resp = s.respond(w, r, h, nil)
		}
		s.send(w, r, resp)
		if s.verbose {
			s.logger.Printf("%s %q %d %s plan=%q", r.Method, r.URL.Path, resp.status, time.Since(begin), planName)
		}
	})
}

// maxBody is the size limit of a request body, in bytes.
const maxBody = 64 << 10

// respond returns the response of the handler or, if the request was not admitted or the handler fails, that of
// the error.
func (s *Server) respond(w http.ResponseWriter, r *http.Request, h handler, err error) (resp response) {
	if err == nil {
		limited := *r // a copy: net/http handles Expect: 100-continue only while r has its own Body
		limited.Body = http.MaxBytesReader(w, r.Body, maxBody)
		err = catch(func() (err error) {
			resp, err = h(&limited)
			return err
		})
	}
	if err != nil {
		return s.failure(err)
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
		e = fail(http.StatusInternalServerError, "The server failed on this request; try again, and report it if it fails again.")
	}
	resp := jsonResponse(e.Status, encode(e))
	resp.header = e.header
	return resp
}

// send writes the response.
func (s *Server) send(w http.ResponseWriter, r *http.Request, resp response) {
	header := w.Header()
	if s.origin != "" {
		header.Set("Access-Control-Allow-Origin", s.origin)
		header.Set("Access-Control-Expose-Headers", "X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, "+
			"Retry-After, Location, Link, Allow, Deprecation, Sunset")
	}
	if r.TransferEncoding != nil {
		// Such a request may have had a Content-Length too, which net/http drops. To be safe from request smuggling,
		// its connection must not be used again (RFC 9112, section 6.1).
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

// isPreflight reports whether the request is one by which a browser asks if a page of another origin may send the
// real one (Fetch standard, section 3.2.2). It carries no key.
func (s *Server) isPreflight(r *http.Request) bool {
	return s.origin != "" && r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != ""
}

var preflight = response{status: http.StatusNoContent, header: []headerLine{
	{"Access-Control-Allow-Methods", "GET, HEAD, POST, PUT, PATCH, DELETE"},
	{"Access-Control-Allow-Headers", "Authorization, X-API-Key, Content-Type"},
	{"Access-Control-Max-Age", "600"},
}}

// noRoute handles what no other route matches: with 405 if the path supports other methods (RFC 9110, section
// 15.5.6), else with 404.
func (s *Server) noRoute(r *http.Request) (response, error) {
	var allowed []string
	for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"} {
		_, pattern := s.mux.Handler(&http.Request{Method: method, URL: r.URL, Host: r.Host})
		if strings.Contains(pattern, " ") { // a pattern without a method leads back here
			allowed = append(allowed, method)
		}
	}
	if allowed == nil || slices.Contains(allowed, r.Method) {
		return response{}, fail(http.StatusNotFound, "This path does not exist; GET /openapi.json lists the operations.")
	}
	allow := strings.Join(allowed, ", ")
	return response{}, fail(http.StatusMethodNotAllowed, "Method not allowed; this path supports %s.", allow).
		with("Allow", allow)
}

func (s *Server) listPets(r *http.Request) (response, error) {
	q := parseQuery(r, "status", "categoryId")
	status, category := q.status("status"), q.integer("categoryId", 0, 1, math.MaxInt64)
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
		return Pet{ID: id, NewPet: body}, next.checkCategory(body.CategoryID)
	})
}

// deprecation announces the end of getPet (RFC 9745, RFC 8594): deprecated on 2026-11-20, removed after the sunset.
var deprecation = []headerLine{
	{"Deprecation", "@1795132800"},
	{"Sunset", "Thu, 05 Dec 2030 00:00:00 GMT"},
	{"Link", `</pets>; rel="successor-version"`},
}

func (s *Server) getPet(r *http.Request) (response, error) {
	resp, err := get(s, r, pets)
	if err != nil {
		resp = s.failure(err)
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
		pet.NewPet = body
		return pet, next.checkCategory(body.CategoryID)
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
				return fail(http.StatusConflict, "Pet %d belongs to this category; delete or change that pet first.", id)
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
		order := body
		order.ID = &id
		return order, next.checkPet(order.PetID)
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
			return old, invalid("id must be %d, as in the path, or be left out.", *old.ID)
		}
		if old.Complete && !body.Complete {
			return old, fail(http.StatusConflict, "A complete order cannot be reopened; send complete as true.")
		}
		order := body
		order.ID = old.ID
		return order, next.checkPet(order.PetID)
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
	path   string // where it is listed
	noun   string // for one of its records, in messages
	param  string // the path parameter that names a record
	table  func(*state) *table[T]
	encode func(*record[T]) []byte
}

var (
	pets = collection[Pet]{"/pets", "pet", "petId",
		func(st *state) *table[Pet] { return &st.pets }, recordJSON[Pet]}
	categories = collection[Category]{"/categories", "category", "categoryId",
		func(st *state) *table[Category] { return &st.categories }, recordJSON[Category]}
	orders = collection[Order]{"/store/orders", "order", "orderId",
		func(st *state) *table[Order] { return &st.orders }, recordJSON[Order]}
	inventory = collection[Pet]{"/inventory", "pet", "petId", pets.table, inventoryJSON}
)

func inventoryJSON(r *record[Pet]) []byte {
	return encode(InventoryItem{PetID: r.value.ID, Quantity: r.value.quantity, Status: r.value.Status})
}

// list returns a page of the records that match: those after the id in the query's after, as many as its limit. If
// more follow, the Link header leads to them (RFC 8288). For example, with records 1, 2, 3 and 5, ?limit=2 returns 1
// and 2 with a link to ?after=2&limit=2, and that returns 3 and 5 with no link.
func list[T any](s *Server, q *query, c collection[T], match func(*T) bool) (response, error) {
	limit, after := q.integer("limit", 20, 1, 100), q.integer("after", 0, 0, math.MaxInt64)
	if q.err != nil {
		return response{}, q.err
	}
	const usualSize = 96 // of a record, in bytes; a list of 100 that grows as it is filled takes twice the time
	resp := response{status: http.StatusOK, body: append(make([]byte, 0, limit*usualSize), '[')}
	left, last := limit, int64(0)
	for id, record := range c.table(s.store.view()).after(after) {
		if !match(&record.value) {
			continue
		}
		if left == 0 {
			resp.header = []headerLine{{"Link", q.nextPage(c.path, last, limit)}}
			break
		}
		if left < limit {
			resp.body = append(resp.body, ",\n"...)
		}
		resp.body = append(resp.body, c.encode(record)...)
		left, last = left-1, id
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
	return jsonResponse(http.StatusOK, c.encode(record)), nil
}

// create adds the record that build returns for the next id.
func create[T any](s *Server, c collection[T], build func(next *state, id int64) (T, error)) (resp response, err error) {
	err = s.store.update(func(next *state) error {
		table := c.table(next)
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
		resp = jsonResponse(http.StatusCreated, c.encode(record))
		resp.header = []headerLine{{"Location", c.path + "/" + strconv.FormatInt(id, 10)}}
		return nil
	})
	return resp, err
}

// replace puts the record that build returns for the old one in its place. The path names the record.
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
		c.table(next).put(id, record)
		resp = jsonResponse(http.StatusOK, c.encode(record))
		return nil
	})
	return resp, err
}

// remove deletes the record that the path names, unless check returns an error.
func remove[T any](s *Server, r *http.Request, c collection[T], check func(next *state, old T) error) (response, error) {
	err := s.store.update(func(next *state) error {
		id, old, err := find(next, r, c)
		if err != nil {
			return err
		}
		if err := check(next, old.value); err != nil {
			return err
		}
		c.table(next).put(id, nil)
		return nil
	})
	return response{status: http.StatusNoContent}, err
}

// find returns the record that the path names.
func find[T any](st *state, r *http.Request, c collection[T]) (int64, *record[T], error) {
	id, ok := parseInteger(r.PathValue(c.param))
	if !ok {
		return 0, nil, invalid("%s in the path must be a 64-bit integer.", c.param)
	}
	record := c.table(st).get(id)
	if record == nil {
		return 0, nil, fail(http.StatusNotFound, "No %s has the id %d; GET %s lists them.", c.noun, id, c.path)
	}
	return id, record, nil
}

// decodeBody decodes the body of a request into a shape, and validates it.
func decodeBody(r *http.Request, into shape) error {
	// The usual type needs no parsing.
	if given := r.Header.Get("Content-Type"); given != "" && given != "application/json" && !isJSON(given) {
		return fail(http.StatusUnsupportedMediaType, "The body must be JSON in UTF-8; send it with Content-Type: application/json.")
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

func isJSON(contentType string) bool {
	mediaType, params, err := mime.ParseMediaType(contentType)
	return err == nil && mediaType == "application/json" && strings.EqualFold(cmp.Or(params["charset"], "utf-8"), "utf-8")
}

// A query holds the parameters of a list, and the first fault in them.
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
		q.fault("The query must be name=value pairs joined by &, percent-encoded.")
	}
	for _, name := range slices.Sorted(maps.Keys(q.values)) {
		if !slices.Contains(names, name) {
			q.fault("The parameter %.40q is unknown; use %s.", name, strings.Join(names, ", "))
		}
		if given := q.values[name]; len(given) > 1 || given[0] == "" {
			q.fault("%s must be given once, with a value.", name)
		}
	}
	return q
}

// fault keeps a fault, unless there is one already.
func (q *query) fault(format string, args ...any) {
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
		q.fault("%s must be an integer from %d to %d.", name, lowest, highest)
	}
	return n
}

// status returns a parameter that is a PetStatus, or "" if it is left out.
func (q *query) status(name string) (status PetStatus) {
	if q.values.Has(name) && status.UnmarshalText([]byte(q.values.Get(name))) != nil {
		q.fault("%s must be available, pending or sold.", name)
	}
	return status
}

// nextPage returns the Link header that leads from the record with the id last to those after it.
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
		return response{}, errUnsaved
	}
	return jsonResponse(http.StatusOK, []byte(`{"status":"ok"}`)), nil
}

// documents are the description of the API and the page that shows it.
//
//go:embed docs/openapi.json docs/index.html docs/*.css docs/*.js docs/*.png
var documents embed.FS

// contentTypes are those of the documents, the same on every system.
var contentTypes = map[string]string{
	".html": "text/html; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".json": "application/json",
	".png":  "image/png",
}

// getDocument returns the document that the path names. Its policy keeps the page from loading anything that this
// server does not serve.
func (s *Server) getDocument(r *http.Request) (response, error) {
	name := cmp.Or(r.PathValue("file"), strings.TrimPrefix(r.URL.Path, "/"), "index.html")
	body, err := documents.ReadFile("docs/" + name)
	if name == "keys.json" { // the keys that the page may offer: none, unless they are public
		body, err = []byte(cmp.Or(s.demoKeys, "[]")), nil
	}
	if err != nil {
		return s.noRoute(r)
	}
	if name == "openapi.json" && s.baseURL != "" {
		body = bytes.Replace(body, []byte("http://localhost:8080"), []byte(s.baseURL), 1)
	}
	return response{http.StatusOK, body, []headerLine{
		{"Content-Type", contentTypes[path.Ext(name)]},
		{"Content-Security-Policy", "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
		{"X-Content-Type-Options", "nosniff"},
		{"Cache-Control", "no-cache"},
	}}, nil
}
