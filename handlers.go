package main

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"math"
	"net/http"
	"net/url"
	"path"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// A handler returns the response to a request. With an error, the error makes the status and the body, and only the
// header of the response is used.
type handler func(*http.Request) (response, error)

// A response is JSON, unless its header has another Content-Type.
type response struct {
	status int
	body   []byte
	header http.Header
}

// A collection is a table as the API shows it.
type collection[T any] struct {
	store *Store
	path  string                  // of the list
	noun  string                  // for a record, in messages
	param string                  // the path parameter that holds a record's id
	table func(*state) *table[T]  // a function, since each update makes a new state
	show  func(*record[T]) []byte // returns the JSON of a record
}

// Server is the http.Handler of the whole service.
type Server struct {
	logger *log.Logger
	mux    *http.ServeMux
	store  *Store

	pets       collection[stockedPet]
	categories collection[Category]
	orders     collection[Order]
	inventory  collection[stockedPet] // the pets again, shown as their stock

	// These are set before the first request, if at all.
	verbose     bool          // log each request
	delay       time.Duration // hold back each response of the API for this long
	failNth     int64         // fail every Nth request that the limits let through; 0 for none
	origin      string        // the web pages of this origin may call the API; set by allowOrigin
	offeredKeys string        // the demo keys, for the page at / to offer; [] if they are not in use
	baseURL     string        // of this server, for openapi.json

	letThrough atomic.Int64 // how many requests the limits let through, counted for failNth
}

func newServer(store *Store, limits *Limits, logger *log.Logger) *Server {
	s := &Server{logger: logger, mux: http.NewServeMux(), store: store, offeredKeys: "[]"}
	s.pets = collection[stockedPet]{
		store: store, path: "/pets", noun: "pet", param: "petId",
		table: func(st *state) *table[stockedPet] { return &st.pets },
		show:  func(r *record[stockedPet]) []byte { return r.json },
	}
	s.categories = collection[Category]{
		store: store, path: "/categories", noun: "category", param: "categoryId",
		table: func(st *state) *table[Category] { return &st.categories },
		show:  func(r *record[Category]) []byte { return r.json },
	}
	s.orders = collection[Order]{
		store: store, path: "/store/orders", noun: "order", param: "orderId",
		table: func(st *state) *table[Order] { return &st.orders },
		show:  func(r *record[Order]) []byte { return r.json },
	}
	s.inventory = s.pets
	s.inventory.path = "/inventory"
	s.inventory.show = func(r *record[stockedPet]) []byte {
		return encode(InventoryItem{PetID: r.id, Quantity: r.value.Quantity, Status: r.value.Status})
	}
	for pattern, h := range s.operations() {
		s.mux.Handle(pattern, s.wrap(h, limits))
	}
	s.mux.Handle("/", s.wrap(s.noRoute, limits))
	for pattern, h := range s.openRoutes() {
		s.mux.Handle(pattern, s.wrap(h, nil)) // no limits
	}
	return s
}

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// operations are what docs/openapi.json describes, each with its pattern for the mux.
func (s *Server) operations() map[string]handler {
	return map[string]handler{
		"GET /pets":                       s.listPets,
		"POST /pets":                      s.createPet,
		"GET /pets/{petId}":               s.getPet,
		"PUT /pets/{petId}":               s.replacePet,
		"DELETE /pets/{petId}":            s.deletePet,
		"GET /categories":                 s.categories.list,
		"POST /categories":                s.createCategory,
		"GET /categories/{categoryId}":    s.categories.get,
		"PUT /categories/{categoryId}":    s.replaceCategory,
		"DELETE /categories/{categoryId}": s.deleteCategory,
		"GET /store/orders":               s.orders.list,
		"POST /store/orders":              s.createOrder,
		"GET /store/orders/{orderId}":     s.orders.get,
		"PUT /store/orders/{orderId}":     s.replaceOrder,
		"DELETE /store/orders/{orderId}":  s.cancelOrder,
		"GET /inventory":                  s.inventory.list,
		"GET /inventory/{petId}":          s.inventory.get,
		"PATCH /inventory/{petId}":        s.updateInventory,
	}
}

// openRoutes are not part of the API: they need no key and spend no quota.
func (s *Server) openRoutes() map[string]handler {
	return map[string]handler{
		"GET /{$}":            s.getDocument,
		"GET /openapi.json":   s.getDocument,
		"GET /docs/{file}":    s.getDocument,
		"GET /docs/keys.json": s.getDemoKeys,
		"GET /healthz":        s.getHealth,
	}
}

// wrap makes an http.Handler of a handler: it spends a request of the client's quota, sets the rate headers, calls the
// handler, and sends its response. The limits are nil for an open route.
func (s *Server) wrap(h handler, limits *Limits) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begin := time.Now()
		var planName string
		var resp response
		var err error
		if limits == nil {
			resp, err = call(h, r)
		} else {
			var q quota
			planName, q, err = limits.admit(r, begin)
			q.setHeaders(w.Header())
			switch {
			case err != nil: // it is refused
			case s.failNth > 0 && s.letThrough.Add(1)%s.failNth == 0:
				resp, err = failOnPurpose()
			default:
				resp, err = call(h, r)
			}
			time.Sleep(s.delay)
		}
		status := s.respond(w, resp, err)
		if s.verbose {
			s.logger.Printf("%s %q %d %s plan=%q", r.Method, r.URL.Path, status, time.Since(begin), planName)
		}
	})
}

func failOnPurpose() (response, error) {
	return response{header: http.Header{"Retry-After": {"1"}}}, fail(http.StatusServiceUnavailable,
		"The flag -fail asked for this failure, and nothing was changed; retry after one second.")
}

// call calls the handler. A panic becomes an error that holds the stack: net/http would survive it too, but without a
// response.
func call(h handler, r *http.Request) (resp response, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return h(r)
}

// respond sends the response, or the error as an Error object, and returns the status. An error that is not an *Error
// is a fault of this program: the client gets a 500, and the log gets the details.
//
// Every response is sent here, except a few that net/http sends before any handler runs, such as the redirect of //pets
// to /pets.
func (s *Server) respond(w http.ResponseWriter, resp response, err error) (status int) {
	if err != nil {
		var e *Error
		if !errors.As(err, &e) {
			s.logger.Print(err)
			e = fail(http.StatusInternalServerError,
				"The server failed on this request; try again, and report it if it fails again.")
		}
		resp.status, resp.body = e.Status, encode(e)
	}
	header := w.Header()
	if s.origin != "" {
		header.Set("Access-Control-Allow-Origin", s.origin)
		header.Set("Access-Control-Expose-Headers", "X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, "+
			"Retry-After, Location, Link, Allow, Deprecation, Sunset")
	}
	if resp.status == http.StatusUnauthorized {
		header.Set("WWW-Authenticate", "Bearer")
	}
	if resp.body != nil {
		header.Set("Content-Type", "application/json")
		header.Set("Content-Length", strconv.Itoa(len(resp.body)+1))
	}
	maps.Copy(header, resp.header)
	w.WriteHeader(resp.status)
	if resp.body != nil {
		w.Write(resp.body)
		io.WriteString(w, "\n") // so that in a terminal the prompt comes on the next line
	}
	return resp.status
}

// allowOrigin lets web pages of an origin call the API: their browser sends a preflight first, without a key, to ask
// whether it may send the request (Fetch standard, CORS protocol).
func (s *Server) allowOrigin(origin string) {
	s.origin = origin
	s.mux.Handle("OPTIONS /", s.wrap(preflight, nil))
}

func preflight(*http.Request) (response, error) {
	return response{status: http.StatusNoContent, header: http.Header{
		"Access-Control-Allow-Methods": {"GET, HEAD, POST, PUT, PATCH, DELETE"},
		"Access-Control-Allow-Headers": {"Authorization, X-API-Key, Content-Type"},
		"Access-Control-Max-Age":       {"600"},
	}}, nil
}

var errNoPath = fail(http.StatusNotFound, "This path does not exist; GET /openapi.json lists the operations.")

// noRoute handles what no other route matches. Its pattern / matches every method, so the mux never sends its own 405
// in plain text (RFC 9110, section 15.5.6). To tell 405 from 404, noRoute asks the mux which methods would have matched
// another pattern.
func (s *Server) noRoute(r *http.Request) (response, error) {
	var allowed []string
	for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"} {
		_, pattern := s.mux.Handler(&http.Request{Method: method, URL: r.URL, Host: r.Host})
		if pattern != "/" {
			allowed = append(allowed, method)
		}
	}
	if allowed == nil {
		return response{}, errNoPath
	}
	allow := strings.Join(allowed, ", ")
	return response{header: http.Header{"Allow": {allow}}},
		fail(http.StatusMethodNotAllowed, "Method not allowed; this path supports %s.", allow)
}

// list returns the records with ids greater than the parameter after, at most as many as the parameter limit allows. If
// more follow, the Link header leads to them (RFC 8288). For example, if there are records 1, 2, 3 and 5, ?limit=2
// returns 1 and 2 with a link to ?after=2&limit=2, and that returns 3 and 5 with no link.
func (c *collection[T]) list(r *http.Request) (response, error) {
	return c.listMatching(parseQuery(r), func(*T) bool { return true })
}

// listMatching is list for the records that match.
func (c *collection[T]) listMatching(q *query, match func(*T) bool) (response, error) {
	limit := q.integer("limit", 20, 1, 100)
	after := q.integer("after", 0, 0, math.MaxInt64)
	if q.err != nil {
		return response{}, q.err
	}
	var header http.Header
	body := append(make([]byte, 0, 96*limit), '[') // room for records of the usual size
	var count, last int64
	for _, r := range c.table(c.store.view()).following(after) {
		if !match(&r.value) {
			continue
		}
		if count == limit {
			header = http.Header{"Link": {q.nextPage(c.path, last, limit)}}
			break
		}
		if count > 0 {
			body = append(body, ",\n"...)
		}
		body = append(body, c.show(r)...)
		count++
		last = r.id
	}
	return response{status: http.StatusOK, body: append(body, ']'), header: header}, nil
}

// get returns the record that the path names.
func (c *collection[T]) get(r *http.Request) (response, error) {
	found, err := c.find(c.store.view(), r)
	if err != nil {
		return response{}, err
	}
	return response{status: http.StatusOK, body: c.show(found)}, nil
}

// create adds the record that build returns for the next id. Before that, it decodes the request into body, a variable
// of the caller, which build reads: see createPet.
func (c *collection[T]) create(r *http.Request, body shape, build func(*state, int64) (T, error)) (response, error) {
	if err := decodeBody(r, body); err != nil {
		return response{}, err
	}
	var created *record[T]
	err := c.store.update(func(next *state) error {
		id := c.table(next).last + 1
		if id > maxID {
			return fail(http.StatusServiceUnavailable, "No ids are left: the last one is %d.", maxID)
		}
		value, err := build(next, id)
		if err != nil {
			return err
		}
		created = newRecord(id, value)
		c.table(next).add(created)
		return nil
	})
	if err != nil {
		return response{}, err
	}
	header := http.Header{"Location": {c.path + "/" + strconv.FormatInt(created.id, 10)}}
	return response{status: http.StatusCreated, body: c.show(created), header: header}, nil
}

// replace puts what build returns in the place of the record that the path names. Before that, it decodes the request
// into body, like create.
func (c *collection[T]) replace(r *http.Request, body shape, build func(*state, T) (T, error)) (response, error) {
	if err := decodeBody(r, body); err != nil {
		return response{}, err
	}
	var replaced *record[T]
	err := c.store.update(func(next *state) error {
		old, err := c.find(next, r)
		if err != nil {
			return err
		}
		value, err := build(next, old.value)
		if err != nil {
			return err
		}
		replaced = newRecord(old.id, value)
		c.table(next).replace(replaced)
		return nil
	})
	if err != nil {
		return response{}, err
	}
	return response{status: http.StatusOK, body: c.show(replaced)}, nil
}

// remove removes the record that the path names, unless check returns an error.
func (c *collection[T]) remove(r *http.Request, check func(*state, T) error) (response, error) {
	err := c.store.update(func(next *state) error {
		old, err := c.find(next, r)
		if err != nil {
			return err
		}
		if err := check(next, old.value); err != nil {
			return err
		}
		c.table(next).remove(old.id)
		return nil
	})
	return response{status: http.StatusNoContent}, err
}

// find returns the record that the path names.
func (c *collection[T]) find(st *state, r *http.Request) (*record[T], error) {
	id, ok := parseInteger(r.PathValue(c.param))
	if !ok {
		return nil, invalid("%s in the path must be a 64-bit integer.", c.param)
	}
	found := c.table(st).get(id)
	if found == nil {
		return nil, fail(http.StatusNotFound, "No %s has the id %d; GET %s lists them.", c.noun, id, c.path)
	}
	return found, nil
}

// The operations with rules of their own follow, in the order of the routes.

func (s *Server) listPets(r *http.Request) (response, error) {
	q := parseQuery(r, "status", "categoryId")
	status := PetStatus(q.values.Get("status")) // "" if it is left out
	if status != "" && !status.valid() {
		q.reject("status must be %s.", aPetStatus)
	}
	category := q.integer("categoryId", 0, 1, math.MaxInt64) // 0 if it is left out
	return s.pets.listMatching(q, func(p *stockedPet) bool {
		return (status == "" || p.Status == status) && (category == 0 || p.CategoryID == category)
	})
}

func (s *Server) createPet(r *http.Request) (response, error) {
	body := NewPet{Status: Available}
	return s.pets.create(r, &body, func(next *state, id int64) (stockedPet, error) {
		return stockedPet{Pet: Pet{id, body}}, next.checkCategory(body.CategoryID)
	})
}

// deprecation is sent with every 200, 400 and 404 of getPet (RFC 9745, RFC 8594): the specification deprecates it, as
// of 2026-11-20, and announces its sunset. Clients can practise on it.
var deprecation = http.Header{
	"Deprecation": {"@1795132800"},
	"Sunset":      {"Thu, 05 Dec 2030 00:00:00 GMT"},
	"Link":        {`</pets>; rel="successor-version"`},
}

func (s *Server) getPet(r *http.Request) (response, error) {
	resp, err := s.pets.get(r)
	resp.header = deprecation
	return resp, err
}

func (s *Server) replacePet(r *http.Request) (response, error) {
	body := NewPet{Status: Available}
	return s.pets.replace(r, &body, func(next *state, pet stockedPet) (stockedPet, error) {
		pet.NewPet = body
		return pet, next.checkCategory(body.CategoryID)
	})
}

func (s *Server) deletePet(r *http.Request) (response, error) {
	return s.pets.remove(r, func(next *state, pet stockedPet) error {
		for _, order := range next.orders.records {
			if order.value.PetID != nil && *order.value.PetID == pet.ID {
				return fail(http.StatusConflict,
					"Order %d names this pet; cancel or change that order first.", order.id)
			}
		}
		return nil
	})
}

func (s *Server) createCategory(r *http.Request) (response, error) {
	var body NewCategory
	return s.categories.create(r, &body, func(_ *state, id int64) (Category, error) {
		return Category{id, body}, nil
	})
}

func (s *Server) replaceCategory(r *http.Request) (response, error) {
	var body NewCategory
	return s.categories.replace(r, &body, func(_ *state, old Category) (Category, error) {
		return Category{old.ID, body}, nil
	})
}

func (s *Server) deleteCategory(r *http.Request) (response, error) {
	return s.categories.remove(r, func(next *state, category Category) error {
		for _, pet := range next.pets.records {
			if pet.value.CategoryID == category.ID {
				return fail(http.StatusConflict,
					"Pet %d belongs to this category; delete or change that pet first.", pet.id)
			}
		}
		return nil
	})
}

func (s *Server) createOrder(r *http.Request) (response, error) {
	var body Order
	return s.orders.create(r, &body, func(next *state, id int64) (Order, error) {
		if body.ID != nil {
			return Order{}, invalid("id is assigned by the server; leave it out.")
		}
		body.ID = &id
		return body, next.checkPet(body.PetID)
	})
}

func (s *Server) replaceOrder(r *http.Request) (response, error) {
	var body Order
	return s.orders.replace(r, &body, func(next *state, old Order) (Order, error) {
		if body.ID != nil && *body.ID != *old.ID {
			return Order{}, invalid("id must be %d, as in the path, or be left out.", *old.ID)
		}
		if old.Complete && !body.Complete {
			return Order{}, fail(http.StatusConflict, "A complete order cannot be reopened; send complete as true.")
		}
		body.ID = old.ID
		return body, next.checkPet(body.PetID)
	})
}

func (s *Server) cancelOrder(r *http.Request) (response, error) {
	return s.orders.remove(r, func(_ *state, order Order) error {
		if order.Complete {
			return fail(http.StatusConflict, "A complete order cannot be cancelled.")
		}
		return nil
	})
}

func (s *Server) updateInventory(r *http.Request) (response, error) {
	var body InventoryUpdate
	return s.inventory.replace(r, &body, func(_ *state, pet stockedPet) (stockedPet, error) {
		pet.Quantity = body.Quantity
		return pet, nil
	})
}

const maxBody = 64 << 10 // bytes

var errTooLarge = fail(http.StatusRequestEntityTooLarge, "The body must be at most %d bytes.", maxBody)

// decodeBody decodes the body of a request into a shape, and validates it. A missing Content-Type is taken as JSON.
func decodeBody(r *http.Request, into shape) error {
	mediaType, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	if mediaType != "" && !strings.EqualFold(strings.TrimSpace(mediaType), "application/json") {
		return fail(http.StatusUnsupportedMediaType,
			"The body must be JSON; send it with Content-Type: application/json.")
	}
	if r.ContentLength > maxBody { // before the first read, which would send 100 Continue to a client that waits for it
		return errTooLarge
	}
	data, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	if err != nil {
		return invalid("The body ended early or arrived too slowly; send it again.")
	}
	if len(data) > maxBody {
		return errTooLarge
	}
	return decodeObject(data, into)
}

// A query holds the parameters of a list. Check err after reading all of them: it is the first thing that is wrong.
type query struct {
	values url.Values
	err    error
}

// parseQuery accepts limit, after and the given filters, each at most once and not empty.
func parseQuery(r *http.Request, filters ...string) *query {
	names := append([]string{"limit", "after"}, filters...)
	values, err := url.ParseQuery(r.URL.RawQuery)
	q := &query{values: values}
	if err != nil {
		q.reject("The query must be name=value pairs joined by &, percent-encoded.")
	}
	for name, given := range values {
		if !slices.Contains(names, name) {
			q.reject("The parameter %.40q is unknown; use %s.", name, strings.Join(names, ", "))
		}
		if len(given) > 1 || given[0] == "" {
			q.reject("%s must be given once, with a value.", name)
		}
	}
	return q
}

// reject keeps the first error.
func (q *query) reject(format string, args ...any) {
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
		q.reject("%s must be an integer from %d to %d.", name, lowest, highest)
	}
	return n
}

// nextPage returns the Link header for the records after the one with the id last. It changes the values, but not the
// filters among them.
func (q *query) nextPage(list string, last, limit int64) string {
	q.values.Set("after", strconv.FormatInt(last, 10))
	q.values.Set("limit", strconv.FormatInt(limit, 10))
	return "<" + list + "?" + q.values.Encode() + `>; rel="next"`
}

// parseInteger parses a 64-bit integer in its one canonical form: not +1, 01 or 1.0.
func parseInteger(text string) (n int64, ok bool) {
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil && strconv.FormatInt(n, 10) == text
}

// getHealth reports whether the last save succeeded. If it failed, the store first tries again.
func (s *Server) getHealth(*http.Request) (response, error) {
	if err := s.store.retrySave(); err != nil {
		return response{}, err
	}
	return response{status: http.StatusOK, body: []byte(`{"status":"ok"}`)}, nil
}

// getDemoKeys returns the keys that the page offers.
func (s *Server) getDemoKeys(*http.Request) (response, error) {
	return response{status: http.StatusOK, body: []byte(s.offeredKeys)}, nil
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

// getDocument returns the document that the path names. The Content-Security-Policy keeps the page from loading
// anything that this server does not serve.
func (s *Server) getDocument(r *http.Request) (response, error) {
	name := strings.TrimPrefix(r.URL.Path[1:], "docs/") // of /, /openapi.json or /docs/{file}
	if name == "" {
		name = "index.html"
	}
	body, err := documents.ReadFile("docs/" + name)
	if err != nil {
		return response{}, errNoPath
	}
	if name == "openapi.json" && s.baseURL != "" { // the file has the default address
		body = bytes.Replace(body, []byte("http://localhost:8080"), []byte(s.baseURL), 1)
	}
	return response{status: http.StatusOK, body: body, header: http.Header{
		"Content-Type":            {contentTypes[path.Ext(name)]},
		"Content-Security-Policy": {"default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
		"X-Content-Type-Options":  {"nosniff"},
		"Cache-Control":           {"no-cache"},
	}}, nil
}
