package main

import (
	"bytes"
	"cmp"
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

// An operation reads a state, or changes the copy of one, and returns the response. One that
// returns an error changes nothing.
type operation func(st *state, r *request) (response, error)

// A request is an HTTP request whose body has been read, if it is a POST, PUT or PATCH.
type request struct {
	*http.Request
	body []byte
}

// A response is JSON, unless its header has another Content-Type. If there is an error, too, the
// response is ignored: send makes one of the error.
type response struct {
	status int
	body   []byte
	header http.Header
}

// A handler serves a request. Server.run makes one of each operation; the other routes are handlers
// themselves.
type handler func(*http.Request) (response, error)

// operations are what docs/openapi.json describes, each with its pattern for the mux.
var operations = map[string]operation{
	"GET /pets":                 listPets,
	"POST /pets":                createPet,
	"GET /pets/{id}":            getPet,
	"PUT /pets/{id}":            replacePet,
	"DELETE /pets/{id}":         deletePet,
	"GET /categories":           listCategories,
	"POST /categories":          createCategory,
	"GET /categories/{id}":      getCategory,
	"PUT /categories/{id}":      replaceCategory,
	"DELETE /categories/{id}":   deleteCategory,
	"GET /store/orders":         listOrders,
	"POST /store/orders":        createOrder,
	"GET /store/orders/{id}":    getOrder,
	"PUT /store/orders/{id}":    replaceOrder,
	"DELETE /store/orders/{id}": cancelOrder,
	"GET /inventory":            listInventory,
	"GET /inventory/{id}":       getInventory,
	"PATCH /inventory/{id}":     updateInventory,
}

func listPets(st *state, r *request) (response, error) {
	q := parseQuery(r, "status", "categoryId")
	status := PetStatus(q.values.Get("status")) // "" if it is left out
	if status != "" && !status.valid() {
		q.reject("status must be %s.", aPetStatus) // for list to return
	}
	category := q.integer("categoryId", 0, 1, math.MaxInt64) // 0 if it is left out
	pets := st.pets.records
	if status != "" || category != 0 {
		pets = slices.DeleteFunc(slices.Clone(pets), func(p *record[Pet]) bool {
			return status != "" && p.value.Status != status ||
				category != 0 && p.value.CategoryID != category
		})
	}
	return list(pets, r, q)
}

func createPet(st *state, r *request) (response, error) {
	var body NewPet
	if err := decode(r.body, &body); err != nil {
		return response{}, err
	}
	if err := st.checkCategory(body.CategoryID); err != nil {
		return response{}, err
	}
	id, err := st.pets.nextID()
	if err != nil {
		return response{}, err
	}
	return created(r, st.addPet(id, body))
}

// deprecation is sent with every 200, 400 and 404 of getPet (RFC 9745, RFC 8594): the specification
// deprecates it, as of 2026-11-20, and announces its sunset.
var deprecation = http.Header{
	"Deprecation": {"@1795132800"},
	"Sunset":      {"Thu, 05 Dec 2030 00:00:00 GMT"},
	"Link":        {`</pets>; rel="successor-version"`},
}

func getPet(st *state, r *request) (response, error) {
	resp, err := get(&st.pets, r)
	if e, ok := errors.AsType[*Error](err); ok {
		return response{}, e.with(deprecation)
	}
	resp.header = deprecation
	return resp, err
}

func replacePet(st *state, r *request) (response, error) {
	var body NewPet
	if err := decode(r.body, &body); err != nil {
		return response{}, err
	}
	old, err := find(&st.pets, r)
	if err != nil {
		return response{}, err
	}
	if err := st.checkCategory(body.CategoryID); err != nil {
		return response{}, err
	}
	return respond(st.replacePet(old.id, body))
}

func deletePet(st *state, r *request) (response, error) {
	pet, err := find(&st.pets, r)
	if err != nil {
		return response{}, err
	}
	for _, order := range st.orders.records {
		if order.value.PetID != nil && *order.value.PetID == pet.id {
			return response{}, conflict(
				"Order %d names this pet; cancel or change that order first.", order.id)
		}
	}
	st.removePet(pet.id)
	return response{status: http.StatusNoContent}, nil
}

func listCategories(st *state, r *request) (response, error) {
	return list(st.categories.records, r, parseQuery(r))
}

func createCategory(st *state, r *request) (response, error) {
	var body NewCategory
	if err := decode(r.body, &body); err != nil {
		return response{}, err
	}
	id, err := st.categories.nextID()
	if err != nil {
		return response{}, err
	}
	return created(r, st.categories.add(id, Category{id, body}))
}

func getCategory(st *state, r *request) (response, error) { return get(&st.categories, r) }

func replaceCategory(st *state, r *request) (response, error) {
	var body NewCategory
	if err := decode(r.body, &body); err != nil {
		return response{}, err
	}
	old, err := find(&st.categories, r)
	if err != nil {
		return response{}, err
	}
	return respond(st.categories.replace(old.id, Category{old.id, body}))
}

func deleteCategory(st *state, r *request) (response, error) {
	category, err := find(&st.categories, r)
	if err != nil {
		return response{}, err
	}
	for _, pet := range st.pets.records {
		if pet.value.CategoryID == category.id {
			return response{}, conflict(
				"Pet %d belongs to this category; delete or change that pet first.", pet.id)
		}
	}
	st.categories.remove(category.id)
	return response{status: http.StatusNoContent}, nil
}

func listOrders(st *state, r *request) (response, error) {
	return list(st.orders.records, r, parseQuery(r))
}

func createOrder(st *state, r *request) (response, error) {
	var body OrderBody
	if err := decode(r.body, &body); err != nil {
		return response{}, err
	}
	if body.id != nil {
		return response{}, invalid("id is assigned by the server; leave it out.")
	}
	if err := st.checkPet(body.PetID); err != nil {
		return response{}, err
	}
	id, err := st.orders.nextID()
	if err != nil {
		return response{}, err
	}
	return created(r, st.orders.add(id, Order{id, body.NewOrder}))
}

func getOrder(st *state, r *request) (response, error) { return get(&st.orders, r) }

func replaceOrder(st *state, r *request) (response, error) {
	var body OrderBody
	if err := decode(r.body, &body); err != nil {
		return response{}, err
	}
	old, err := find(&st.orders, r)
	if err != nil {
		return response{}, err
	}
	if body.id != nil && *body.id != old.id {
		return response{}, invalid("id must be %d, as in the path, or be left out.", old.id)
	}
	if err := st.checkPet(body.PetID); err != nil {
		return response{}, err
	}
	if old.value.Complete && !body.Complete {
		return response{}, conflict("A complete order cannot be reopened; send complete as true.")
	}
	return respond(st.orders.replace(old.id, Order{old.id, body.NewOrder}))
}

func cancelOrder(st *state, r *request) (response, error) {
	order, err := find(&st.orders, r)
	if err != nil {
		return response{}, err
	}
	if order.value.Complete {
		return response{}, conflict("A complete order cannot be cancelled.")
	}
	st.orders.remove(order.id)
	return response{status: http.StatusNoContent}, nil
}

func listInventory(st *state, r *request) (response, error) {
	return list(st.inventory.records, r, parseQuery(r))
}

func getInventory(st *state, r *request) (response, error) { return get(&st.inventory, r) }

func updateInventory(st *state, r *request) (response, error) {
	var body InventoryUpdate
	if err := decode(r.body, &body); err != nil {
		return response{}, err
	}
	old, err := find(&st.inventory, r)
	if err != nil {
		return response{}, err
	}
	return respond(st.inventory.replace(old.id, InventoryItem{old.id, body, old.value.Status}))
}

// find returns the record that the path names.
func find[T any](t *table[T], r *request) (*record[T], error) {
	id, ok := parseInteger(r.PathValue("id"))
	if !ok {
		return nil, invalid("The id %.40q in the path must be a 64-bit integer in plain digits, "+
			"without a plus sign or leading zeros.", r.PathValue("id"))
	}
	found := t.get(id)
	if found == nil {
		return nil, newError(http.StatusNotFound, "%s does not exist; GET %s lists what does.",
			r.URL.Path, path.Dir(r.URL.Path))
	}
	return found, nil
}

func get[T any](t *table[T], r *request) (response, error) {
	found, err := find(t, r)
	if err != nil {
		return response{}, err
	}
	return respond(found)
}

func respond[T any](r *record[T]) (response, error) {
	return response{status: http.StatusOK, body: r.json}, nil
}

// created returns the response to the POST that made a record.
func created[T any](r *request, made *record[T]) (response, error) {
	header := http.Header{"Location": {fmt.Sprintf("%s/%d", r.URL.Path, made.id)}}
	return response{status: http.StatusCreated, body: made.json, header: header}, nil
}

// list returns a page of records: those with ids greater than the parameter after, at most as many
// as the parameter limit allows. If more follow, the Link header leads to them (RFC 8288). For
// example, of records 1, 2, 3 and 5, ?limit=2 returns 1 and 2 with a link to ?after=2&limit=2, and
// that returns 3 and 5 with no link.
func list[T any](records []*record[T], r *request, q *query) (response, error) {
	limit := int(q.integer("limit", 20, 1, 100))
	after := q.integer("after", 0, 0, math.MaxInt64)
	if q.err != nil {
		return response{}, q.err
	}
	first, isThere := search(records, after)
	if isThere {
		first++
	}
	page := records[first:]
	var header http.Header
	if len(page) > limit {
		page = page[:limit]
		header = http.Header{"Link": {q.nextPage(r.URL.Path, page[limit-1].id, limit)}}
	}
	body := append(make([]byte, 0, 96*len(page)), '[') // room for records of the usual size
	for i, found := range page {
		if i > 0 {
			body = append(body, ",\n"...)
		}
		body = append(body, found.json...)
	}
	return response{http.StatusOK, append(body, ']'), header}, nil
}

// A query holds the parameters of a list. Its err is the first thing that is wrong.
type query struct {
	values url.Values
	err    error
}

// parseQuery accepts limit, after and the given filters, each at most once and not empty.
func parseQuery(r *request, filters ...string) *query {
	values, err := url.ParseQuery(r.URL.RawQuery)
	q := &query{values: values}
	if err != nil {
		q.reject("The query must be name=value pairs joined by &, percent-encoded.")
	}
	names := append([]string{"limit", "after"}, filters...)
	for _, name := range slices.Sorted(maps.Keys(values)) { // the order of a map is random
		if !slices.Contains(names, name) {
			q.reject("The parameter %.40q is unknown; use %s.", name, strings.Join(names, ", "))
		}
		if len(values[name]) > 1 || values[name][0] == "" {
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

// nextPage returns the Link header for the records after the one with the id last, with the same
// filters.
func (q *query) nextPage(list string, last int64, limit int) string {
	q.values.Set("after", strconv.FormatInt(last, 10))
	q.values.Set("limit", strconv.Itoa(limit))
	return "<" + list + "?" + q.values.Encode() + `>; rel="next"`
}

// parseInteger parses a 64-bit integer in its one canonical form: not +1, 01 or 1.0.
func parseInteger(text string) (n int64, ok bool) {
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil && strconv.FormatInt(n, 10) == text
}

const maxBody = 64 << 10 // bytes

var errTooLarge = newError(http.StatusRequestEntityTooLarge,
	"The body must be at most %d bytes.", maxBody)

// readBody reads the body of a write. If it has a Content-Type, that must be JSON. The body of a
// DELETE is not looked at.
func readBody(r *http.Request) ([]byte, error) {
	if r.Method == "DELETE" {
		return nil, nil
	}
	contentType := cmp.Or(r.Header.Get("Content-Type"), "application/json")
	mediaType, _, _ := strings.Cut(contentType, ";")
	if !strings.EqualFold(strings.TrimSpace(mediaType), "application/json") {
		return nil, newError(http.StatusUnsupportedMediaType,
			"The body must be JSON; send it with Content-Type: application/json.")
	}
	if r.ContentLength > maxBody { // before a read, which would send 100 Continue
		return nil, errTooLarge
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	if err != nil {
		return nil, invalid("The body ended early or arrived too slowly; send it again.")
	}
	if len(body) > maxBody {
		return nil, errTooLarge
	}
	return body, nil
}

// options are how a server behaves, as main sets them. The last three are for the API alone.
type options struct {
	baseURL string        // of this server, for openapi.json; empty for http://localhost:8080
	origin  string        // web pages of this origin may call the API; empty for none
	verbose bool          // log each request
	fail    portion       // of the requests that the limits let through: respond with 503
	delay   time.Duration // hold back each response
	drop    portion       // of the requests that are carried out: close the connection
}

// A portion is the first m of every n requests, or none if n is 0. It counts them itself. It is a
// flag.Value, written m/n.
type portion struct {
	m, n  int64
	count atomic.Int64
}

func (s *portion) String() string { return fmt.Sprintf("%d/%d", s.m, s.n) }

func (s *portion) Set(text string) error {
	fmt.Sscanf(text, "%d/%d", &s.m, &s.n)
	if s.String() != text || s.m < 1 || s.m > s.n || s.n > 1_000_000 {
		return errors.New("must be M/N, such as 1/2, with 1 <= M <= N <= 1000000")
	}
	return nil
}

// next counts one more request, and reports whether it belongs to the portion.
func (s *portion) next() bool { return s.n > 0 && (s.count.Add(1)-1)%s.n < s.m }

// Server is the http.Handler of the whole service.
type Server struct {
	*options
	store   *Store
	limits  *Limits
	logger  *log.Logger
	mux     *http.ServeMux
	started time.Time
}

func newServer(store *Store, limits *Limits, logger *log.Logger, opts *options) *Server {
	s := &Server{opts, store, limits, logger, http.NewServeMux(), time.Now()}
	for pattern, op := range operations {
		run := func(r *http.Request) (response, error) { return s.run(op, r) }
		s.mux.Handle(pattern, s.limited(run))
	}
	s.mux.Handle("/", s.limited(s.noRoute))
	s.mux.Handle("GET /healthz", s.unlimited(s.getHealth))
	s.mux.Handle("GET /openapi.json", s.unlimited(s.getDescription))
	s.mux.Handle("GET /docs/openapi.json", s.unlimited(s.getDescription))
	s.mux.Handle("GET /docs/keys.json", s.unlimited(s.getKeys))
	s.mux.Handle("GET /docs/{file}", s.unlimited(getDocument))
	s.mux.Handle("GET /{$}", s.unlimited(getDocument))
	if s.origin != "" {
		s.mux.Handle("OPTIONS /", s.unlimited(preflight))
	}
	return s
}

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

var errOnPurpose = newError(http.StatusServiceUnavailable,
	"The flag -fail asked for this error, and nothing was changed; retry after one second.").
	with(http.Header{"Retry-After": {"1"}})

// limited makes an http.Handler of a handler of the API. A request is counted first, whatever comes
// of it. One that -fail fails is not carried out. One that -drop drops has been, but its client
// gets no response at all.
func (s *Server) limited(h handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begin := time.Now()
		q, err := s.limits.admit(r, begin)
		if err == nil && s.fail.next() {
			err = errOnPurpose
		}
		var resp response
		if err == nil {
			resp, err = call(h, r)
		}
		time.Sleep(s.delay)
		if err == nil && s.drop.next() {
			s.log(r, "dropped", begin)
			panic(http.ErrAbortHandler) // makes net/http close the connection
		}
		q.setHeaders(w.Header())
		status := s.send(w, resp, err)
		s.log(r, status, begin)
	})
}

// unlimited makes an http.Handler of a handler that is no part of the API.
func (s *Server) unlimited(h handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begin := time.Now()
		resp, err := call(h, r)
		status := s.send(w, resp, err)
		s.log(r, status, begin)
	})
}

// call calls the handler. A panic becomes an error that holds the stack: net/http would survive it
// too, but without a response.
func call(h handler, r *http.Request) (resp response, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return h(r)
}

// run runs an operation. A GET just reads the current state. Anything else is a write: its body is
// read first, so that a slow client holds up nobody, and then it runs in a transaction.
func (s *Server) run(op operation, r *http.Request) (response, error) {
	if r.Method == "GET" || r.Method == "HEAD" {
		return op(s.store.view(), &request{Request: r})
	}
	body, err := readBody(r)
	if err != nil {
		return response{}, err
	}
	next := s.store.begin()
	defer s.store.end()
	resp, err := op(next, &request{r, body})
	if err != nil {
		return response{}, err
	}
	return resp, s.store.commit(next)
}

// send sends the response, or the error as an Error object, and returns the status. An error that
// is not an *Error is a fault of this program: the client gets a 500, and the log gets the details.
//
// Every response is sent here, except a few that net/http sends before any handler runs, such as
// the redirect of //pets to /pets.
func (s *Server) send(w http.ResponseWriter, resp response, err error) (status string) {
	if err != nil {
		e, ok := errors.AsType[*Error](err)
		if !ok {
			s.logger.Print(err)
			e = newError(http.StatusInternalServerError,
				"The server failed on this request; try again, and report it if it fails again.")
		}
		resp = response{e.Status, encode(e), e.header}
	}
	header := w.Header()
	header.Set("Cache-Control", "no-store")
	if s.origin != "" {
		header.Set("Access-Control-Allow-Origin", s.origin)
		header.Set("Access-Control-Expose-Headers", "X-RateLimit-Limit, X-RateLimit-Remaining, "+
			"X-RateLimit-Reset, Retry-After, Location, Link, Allow, Deprecation, Sunset, "+
			"WWW-Authenticate")
	}
	if resp.body != nil {
		header.Set("Content-Type", "application/json")
	}
	maps.Copy(header, resp.header) // these replace the ones above
	w.WriteHeader(resp.status)
	if resp.body != nil {
		w.Write(resp.body)
		io.WriteString(w, "\n") // so that in a terminal the prompt comes on the next line
	}
	return strconv.Itoa(resp.status)
}

func (s *Server) log(r *http.Request, status string, begin time.Time) {
	if s.verbose {
		s.logger.Printf("%s %q %s %s", r.Method, r.URL.Path, status, time.Since(begin))
	}
}

var errNoPath = newError(http.StatusNotFound,
	"This path does not exist; GET /openapi.json lists the operations.")

// noRoute handles what no other route matches. Its pattern / matches every method, so the mux never
// sends its own 405 in plain text (RFC 9110, section 15.5.6). To tell 405 from 404, noRoute asks
// the mux which methods would have matched another pattern.
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
	return response{}, newError(http.StatusMethodNotAllowed,
		"Method not allowed; this path supports %s.", allow).with(http.Header{"Allow": {allow}})
}

// preflight lets web pages of the allowed origin call the API: their browser asks first, without a
// key, whether it may send the request (Fetch standard, CORS protocol).
func preflight(*http.Request) (response, error) {
	return response{status: http.StatusNoContent, header: http.Header{
		"Access-Control-Allow-Methods": {"GET, HEAD, POST, PUT, PATCH, DELETE"},
		"Access-Control-Allow-Headers": {"Authorization, X-API-Key, Content-Type"},
		"Access-Control-Max-Age":       {"600"},
	}}, nil
}

// getHealth reports whether the last save succeeded, and when this process began.
func (s *Server) getHealth(*http.Request) (response, error) {
	if fault := s.store.fault.Load(); fault != nil {
		return response{}, fault
	}
	started := s.started.UTC().Format(time.RFC3339Nano)
	body := fmt.Appendf(nil, `{"status":"ok","started":%q}`, started)
	return response{status: http.StatusOK, body: body}, nil
}

// getKeys returns the demo keys, for the page to offer, or an empty array if they are not in use.
func (s *Server) getKeys(*http.Request) (response, error) {
	if !s.limits.demo {
		return response{status: http.StatusOK, body: []byte("[]")}, nil
	}
	return response{status: http.StatusOK, body: []byte(demoKeys)}, nil
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

// getDocument returns the file that the path names; for / that is the page.
func getDocument(r *http.Request) (response, error) {
	return document(cmp.Or(r.PathValue("file"), "index.html"))
}

// getDescription returns docs/openapi.json with the address of this server.
func (s *Server) getDescription(*http.Request) (response, error) {
	resp, err := document("openapi.json")
	if s.baseURL != "" {
		resp.body = bytes.Replace(resp.body, []byte("http://localhost:8080"), []byte(s.baseURL), 1)
	}
	return resp, err
}

// document returns a file in docs/. The Content-Security-Policy keeps the page from loading
// anything that this server does not serve.
func document(name string) (response, error) {
	body, err := documents.ReadFile("docs/" + name)
	if err != nil {
		return response{}, errNoPath
	}
	return response{http.StatusOK, body, http.Header{
		"Content-Type": {contentTypes[path.Ext(name)]},
		"Content-Security-Policy": {
			"default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
		"X-Content-Type-Options": {"nosniff"},
		"Cache-Control":          {"no-cache"},
	}}, nil
}
