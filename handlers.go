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
	"net/netip"
	"net/url"
	"path"
	"regexp"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// Options say how a Server works. The zero Options are what a test wants: the sample data, nothing
// on disk, the demo keys, and no faults.
type Options struct {
	Data        string        // the data file; empty to keep nothing on disk
	Sample      string        // the file with the first records; empty for the built-in ones
	Keys        string        // the keys file; empty for the demo keys
	Minute      time.Duration // the length of a rate-limit minute, from 1s to 1m; 0 for 1m
	CORSOrigins []string      // more origins whose web pages may call the API
	Delay       time.Duration // how long responses wait, at most 8s
	Slow        string        // which wait, such as "1/2": the first of every two; empty for all
	Fail        string        // which fail, such as "2-3/4"; empty for none
	Drop        string        // which are dropped, likewise; empty for none
	Only        string        // what may wait, fail or drop: "PUT,GET /pets"; empty for all
	Verbose     bool          // log each request
	Logger      *log.Logger   // nil for log.Default()
}

func (o Options) usesDemoKeys() bool { return o.Keys == "" }

// Faults say which requests fail or are dropped, and which responses are slow.
type faults struct{ fail, drop, slow *ratio }

// parseFaults checks all options but the files, and returns the faults in them. The error is in
// terms of the flags.
func (o Options) parseFaults() (f faults, err error) {
	if o.Minute < time.Second || o.Minute > time.Minute {
		return f, fmt.Errorf("-minute must be from 1s to 1m, not %v", o.Minute)
	}
	for _, text := range o.CORSOrigins {
		if !isOrigin(text) {
			return f, fmt.Errorf("-cors-origin must be a scheme and a host, such as "+
				"https://example.com, in small ASCII letters and without a path, trailing "+
				"slash or default port; got %q", text)
		}
	}
	if o.Delay < 0 || o.Delay > 8*time.Second { // a shutdown waits at most 10s
		return f, fmt.Errorf("-delay must be from 0 to 8s, not %v", o.Delay)
	}
	if o.Delay == 0 && o.Slow != "" {
		return f, errors.New("-slow needs -delay")
	}
	if o.Only != "" && o.Fail == "" && o.Drop == "" && o.Delay == 0 {
		return f, errors.New("-only needs -fail, -drop or -delay")
	}
	if o.Delay > 0 {
		o.Slow = cmp.Or(o.Slow, "1/1")
	}
	only, onlyErr := parseOnly(o.Only)
	var failErr, dropErr, slowErr error
	f.fail, failErr = parseRatio("-fail", o.Fail, only)
	f.drop, dropErr = parseRatio("-drop", o.Drop, only)
	f.slow, slowErr = parseRatio("-slow", o.Slow, only)
	return f, cmp.Or(onlyErr, failErr, dropErr, slowErr)
}

// methods are those of the API.
var methods = []string{"DELETE", "GET", "HEAD", "PATCH", "POST", "PUT"}

// parseOnly returns the set of methods and operations in a list such as "PUT,GET /pets", or nil for
// an empty list, which means all. GET includes HEAD.
func parseOnly(list string) (map[string]bool, error) {
	if list == "" {
		return nil, nil
	}
	only := map[string]bool{}
	operations := new(Server).operations()
	for what := range strings.SplitSeq(list, ",") {
		if operations[what] == nil && !slices.Contains(methods, what) {
			return nil, fmt.Errorf("-only must be methods and operations of the API, such as "+
				"\"PUT,GET /pets/{petId}\"; it has no %q", what)
		}
		only[what] = true
	}
	only["HEAD"] = only["HEAD"] || only["GET"]
	return only, nil
}

// A ratio is the first to the last of every n requests that it concerns, or none if n is 0. For
// example, 2-3/4 is requests 2, 3, 6 and 7 out of eight.
type ratio struct {
	first, last, n int64
	only           map[string]bool // the methods and operations that it concerns; nil for all
	count          atomic.Int64    // of the requests so far
}

// parseRatio parses a flag such as 2-3/4, or 2/4 for 1-2/4, or an empty one for none.
func parseRatio(flag, text string, only map[string]bool) (*ratio, error) {
	if text == "" {
		return new(ratio), nil
	}
	hits, every, _ := strings.Cut(text, "/")
	from, to, isRange := strings.Cut(hits, "-")
	if !isRange {
		from, to = "1", hits
	}
	n, ok := parseInteger(every, 1, 1_000_000)
	last, ok2 := parseInteger(to, 1, n)
	first, ok3 := parseInteger(from, 1, last)
	if !ok || !ok2 || !ok3 {
		return nil, fmt.Errorf("%s must be M/N or A-B/N, such as 1/2 or 2-3/4, in whole numbers "+
			"with 1 <= A <= B <= N <= 1000000; got %q", flag, text)
	}
	return &ratio{first: first, last: last, n: n, only: only}, nil
}

// hits counts a request, if the ratio concerns it, and reports whether it is one of those meant.
// Its pattern, which the mux has set, is the operation.
func (q *ratio) hits(r *http.Request) bool {
	if q.n == 0 || q.only != nil && !q.only[r.Method] && !q.only[r.Pattern] {
		return false
	}
	i := (q.count.Add(1)-1)%q.n + 1
	return q.first <= i && i <= q.last
}

// A Server is the whole service, as an http.Handler.
type Server struct {
	options Options
	faults  faults
	limits  *limits
	store   *store
	mux     *http.ServeMux
	started time.Time
}

// New returns a Server. It fails if the options make no sense, or a file in them cannot be used. It
// starts no goroutine, so a Server also works in the fake time of testing/synctest.
func New(options Options) (s *Server, err error) {
	options.Minute = cmp.Or(options.Minute, time.Minute)
	options.Logger = cmp.Or(options.Logger, log.Default())
	options.CORSOrigins = slices.Clone(options.CORSOrigins)
	s = &Server{options: options, mux: http.NewServeMux(), started: time.Now()}
	if s.faults, err = options.parseFaults(); err != nil {
		return nil, err
	}
	if s.limits, err = newLimits(options.Keys, options.Minute); err != nil {
		return nil, err
	}
	if s.store, err = openStore(options.Data, options.Sample, options.Logger); err != nil {
		return nil, err
	}
	for pattern, h := range s.operations() {
		s.mux.Handle(pattern, s.api(h))
	}
	s.mux.Handle("/", s.api(s.noRoute))
	s.mux.Handle("GET /healthz", s.open(s.getHealth))
	s.mux.Handle("GET /openapi.json", s.open(getDescription))
	s.mux.Handle("GET /docs/keys.json", s.open(s.getKeys))
	s.mux.Handle("GET /docs/{file}", s.open(getReferenceFile))
	s.mux.Handle("GET /{$}", s.open(getReferenceFile))
	return s, nil
}

// operations are the routes of the API. HEAD goes where GET does.
func (s *Server) operations() map[string]handler {
	return map[string]handler{
		"GET /pets":  s.listPets,
		"POST /pets": s.createPet,
		// This one is deprecated to show how a service says so; a list of pets comes in its place.
		"GET /pets/{petId}":               deprecated(byID("petId", s.getPet)),
		"PUT /pets/{petId}":               byID("petId", s.replacePet),
		"DELETE /pets/{petId}":            byID("petId", s.deletePet),
		"GET /categories":                 s.listCategories,
		"POST /categories":                s.createCategory,
		"GET /categories/{categoryId}":    byID("categoryId", s.getCategory),
		"PUT /categories/{categoryId}":    byID("categoryId", s.replaceCategory),
		"DELETE /categories/{categoryId}": byID("categoryId", s.deleteCategory),
		"GET /store/orders":               s.listOrders,
		"POST /store/orders":              s.createOrder,
		"GET /store/orders/{orderId}":     byID("orderId", s.getOrder),
		"PUT /store/orders/{orderId}":     byID("orderId", s.replaceOrder),
		"DELETE /store/orders/{orderId}":  byID("orderId", s.cancelOrder),
		"GET /inventory":                  s.listInventory,
		"GET /inventory/{petId}":          byID("petId", s.getInventory),
		"PATCH /inventory/{petId}":        byID("petId", s.updateInventory),
	}
}

// ServeHTTP serves every request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == "" || r.URL.Path == "" || r.Body == nil { // in process, one may lack them
		r = r.Clone(r.Context())
		r.Method = cmp.Or(r.Method, "GET")
		r.URL.Path = cmp.Or(r.URL.Path, "/")
		r.Body = cmp.Or(r.Body, io.ReadCloser(http.NoBody))
	}
	switch {
	case r.Method == "OPTIONS" && r.Header.Get("Origin") != "" &&
		r.Header.Get("Access-Control-Request-Method") != "":
		s.open(s.preflight).ServeHTTP(w, r)
	case r.URL.Path[0] != '/' || r.URL.Path != path.Clean(r.URL.Path): // the mux would redirect it
		s.api(noPath).ServeHTTP(w, r)
	default:
		s.mux.ServeHTTP(w, r)
	}
}

// api returns a handler for the mux, which serves an API request: it counts it, and perhaps refuses
// it; carries it out, or fails it on purpose; holds it back; and sends its response, or drops it.
func (s *Server) api(h handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		begin := time.Now()
		verdict := s.limits.admit(requestKey(r), begin)
		verdict.setHeaders(w.Header())
		if verdict.err != nil {
			s.send(w, r, begin, response{}, verdict.err)
			return
		}
		carryOut := h
		if s.faults.fail.hits(r) {
			carryOut = failOnPurpose
		}
		slow := s.faults.slow.hits(r)
		resp, err := carryOut.call(r)
		if slow {
			s.holdBack(r)
		}
		if err == nil && s.faults.drop.hits(r) {
			s.log(r, begin, "dropped")
			panic(http.ErrAbortHandler) // which net/http takes as a wish to close the connection
		}
		s.send(w, r, begin, resp, err)
	}
}

// holdBack returns after the delay, or as soon as the client has gone.
func (s *Server) holdBack(r *http.Request) {
	select {
	case <-time.After(s.options.Delay):
	case <-r.Context().Done():
	}
}

// open returns a handler for the mux, which serves a request that needs no key and is not counted.
func (s *Server) open(h handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		begin := time.Now()
		resp, err := h.call(r)
		s.send(w, r, begin, resp, err)
	}
}

// A handler carries out a request. Unlike an http.Handler, it returns its response, so that an
// error becomes JSON in one place. The header of the response is sent with an error, too.
type handler func(*http.Request) (response, error)

// A response has JSON, unless its header has another Content-Type. The body is nil if there is
// none.
type response struct {
	status int
	body   []byte
	header map[string]string
	added  map[string]string // more lines of the header, perhaps with the same names
}

// call calls a handler, and returns a panic in it as an error; net/http would just close the
// connection.
func (h handler) call(r *http.Request) (resp response, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return h(r)
}

// send sends and logs a response. The body of one with an error is that error.
func (s *Server) send(w http.ResponseWriter, r *http.Request, begin time.Time, resp response,
	err error) {
	var outcome any = resp.status
	if err != nil {
		e := s.errorForClient(err)
		resp.status, resp.body = e.Status, encode(e)
		outcome = fmt.Sprintf("%d %s", e.Status, e.Code)
	}
	s.setHeaders(w.Header(), resp)
	s.setCORSHeaders(w.Header(), r.Header.Get("Origin"))
	w.WriteHeader(resp.status)
	if resp.body != nil {
		w.Write(resp.body)
		io.WriteString(w, "\n") // so that a terminal shows its prompt on the next line
	}
	s.log(r, begin, outcome)
}

// errorForClient returns an error as a client may see it. Any but an Error is a bug in this
// program, and is logged.
func (s *Server) errorForClient(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	s.options.Logger.Print(err)
	return newError(internalError, "The server failed; try again, and report it if it fails again.")
}

// setHeaders sets the headers that all responses have, and then those of this one.
func (s *Server) setHeaders(header http.Header, resp response) {
	header.Set("Cache-Control", "no-store")
	if resp.body != nil {
		header.Set("Content-Type", "application/json")
	}
	if length := len(resp.body) + len("\n"); length > 2048 { // net/http does it for less
		header.Set("Content-Length", strconv.Itoa(length))
	}
	if resp.status == http.StatusUnauthorized {
		header.Set("WWW-Authenticate", "Bearer")
	}
	if s.options.Drop != "" {
		// Many clients, such as Go's, send a GET again if a connection that was kept is closed,
		// which would hide a drop.
		header.Set("Connection", "close")
	}
	for name, value := range resp.header {
		header.Set(name, value)
	}
	for name, value := range resp.added {
		header.Add(name, value)
	}
}

// log logs a request. It never has the key.
func (s *Server) log(r *http.Request, begin time.Time, outcome any) {
	if s.options.Verbose {
		s.options.Logger.Printf("%s %q %v %s", r.Method, r.URL.RequestURI(), outcome,
			time.Since(begin))
	}
}

// noRoute is for what no other route takes. It asks the mux where a request with each method would
// go: if some have a route, the response is a 405 with these in Allow (RFC 9110, section 15.5.6),
// or else a 404.
func (s *Server) noRoute(r *http.Request) (response, error) {
	var allowed []string
	for _, method := range methods {
		_, pattern := s.mux.Handler(&http.Request{Method: method, URL: r.URL})
		if pattern != "/" {
			allowed = append(allowed, method)
		}
	}
	if allowed == nil {
		return noPath(r)
	}
	allow := strings.Join(allowed, ", ")
	return response{header: map[string]string{"Allow": allow}},
		newError(methodNotAllowed, "This path supports only the methods %s.", allow)
}

func noPath(*http.Request) (response, error) {
	return response{}, newError(notFound, "This path does not exist; "+
		"GET / shows the operations, and GET /openapi.json describes them.")
}

func failOnPurpose(*http.Request) (response, error) {
	return response{header: map[string]string{"Retry-After": "1"}},
		newError(failedOnPurpose, "The -fail flag caused this error, and nothing was changed; "+
			"retry after one second.")
}

// requestKey returns the key that a request carries, or "". The key is in X-API-Key or, if that is
// missing or empty, in Authorization (RFC 6750, section 2.1), where proxies and HTTP libraries may
// put credentials of their own.
func requestKey(r *http.Request) string {
	if key := r.Header.Get("X-Api-Key"); key != "" { // as net/http spells it
		return key
	}
	scheme, key, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimLeft(key, " ")
}

// originForm is that of an origin as browsers send it (RFC 6454, section 6.1).
var originForm = regexp.MustCompile(
	`^[a-z][a-z0-9+.-]*://([a-z0-9._-]+|\[[0-9a-f:.]+\])(:[1-9]\d{0,4})?$`)

// isOrigin reports whether a text is an origin. Browsers leave a default port out.
func isOrigin(text string) bool {
	hasDefaultPort := strings.HasPrefix(text, "http:") && strings.HasSuffix(text, ":80") ||
		strings.HasPrefix(text, "https:") && strings.HasSuffix(text, ":443")
	return originForm.MatchString(text) && !hasDefaultPort
}

// allowsOrigin reports whether web pages from an origin may call the API (Fetch standard, CORS
// protocol). It allows the origins in the options and, with the demo keys, any origin on this
// computer.
func (s *Server) allowsOrigin(origin string) bool {
	if slices.Contains(s.options.CORSOrigins, origin) {
		return true
	}
	u, err := url.Parse(origin)
	if err != nil || !s.options.usesDemoKeys() {
		return false
	}
	address, _ := netip.ParseAddr(u.Hostname()) // a name is not a loopback address
	return address.IsLoopback() || isLocalhost(u.Hostname())
}

// isLocalhost reports whether a name is localhost or under it, which no DNS server can lead
// elsewhere (RFC 6761, section 6.3).
func isLocalhost(name string) bool {
	return name == "localhost" || strings.HasSuffix(name, ".localhost")
}

// setCORSHeaders lets web pages from an allowed origin read a response.
func (s *Server) setCORSHeaders(header http.Header, origin string) {
	if origin == "" || !s.allowsOrigin(origin) {
		return
	}
	header.Add("Vary", "Origin") // a cache must not give it to a page from elsewhere
	header.Set("Access-Control-Allow-Origin", origin)
	header.Set("Access-Control-Allow-Credentials", "true") // some clients always ask with them
	header.Set("Access-Control-Expose-Headers", "X-RateLimit-Limit, X-RateLimit-Remaining, "+
		"X-RateLimit-Reset, Retry-After, Location, Link, Allow, Deprecation, Sunset, "+
		"WWW-Authenticate")
}

// preflight answers a browser that asks whether a web page may send a request. If the page may not,
// the answer lacks the headers of CORS, which the browser reports.
func (s *Server) preflight(r *http.Request) (response, error) {
	resp := response{status: http.StatusNoContent}
	origin, asked := r.Header.Get("Origin"), r.Header.Values("Access-Control-Request-Headers")
	if s.allowsOrigin(origin) {
		resp.header = map[string]string{
			"Access-Control-Allow-Methods": strings.Join(methods, ", "),
			"Access-Control-Allow-Headers": strings.Join(asked, ", "),
		}
	} else if s.options.Verbose {
		s.options.Logger.Printf("the origin %q is not allowed; -cors-origin would allow it", origin)
	}
	return resp, nil
}

// byID makes a handler of a function that needs the id in the path.
func byID(parameter string, f func(r *http.Request, id int64) (response, error)) handler {
	return func(r *http.Request) (response, error) {
		id, ok := parseInteger(r.PathValue(parameter), math.MinInt64, math.MaxInt64)
		if !ok {
			return response{}, newError(invalidParameter,
				"%s must be a plain 64-bit integer.", parameter)
		}
		return f(r, id)
	}
}

// deprecated adds to a handler what the OpenAPI description says of its operation: since when it is
// deprecated (RFC 9745), when it will be gone (RFC 8594), and what comes in its place.
func deprecated(h handler) handler {
	header := map[string]string{
		"Deprecation": "@1795132800", // 20 November 2026
		"Sunset":      "Thu, 05 Dec 2030 00:00:00 GMT",
		"Link":        `</pets>; rel="successor-version"`,
	}
	return func(r *http.Request) (response, error) {
		resp, err := h(r)
		resp.added = header
		return resp, err
	}
}

// The operations on pets.

func (s *Server) listPets(r *http.Request) (response, error) {
	q, err := readQuery(r, "status", "categoryId")
	if err != nil {
		return response{}, err
	}
	pets := s.store.view().pets.records
	if q.status != "" || q.categoryID != 0 {
		pets = slices.DeleteFunc(slices.Clone(pets), func(pet *record[Pet]) bool {
			return q.status != "" && q.status != pet.value.Status ||
				q.categoryID != 0 && q.categoryID != pet.value.CategoryID
		})
	}
	return list(q, pets, clientJSON), nil
}

func (s *Server) createPet(r *http.Request) (response, error) {
	pet, err := readBody(r, readPet)
	if err != nil {
		return response{}, err
	}
	added, err := s.store.addPet(pet)
	return created(r, added, err)
}

func (s *Server) getPet(_ *http.Request, id int64) (response, error) {
	return respond(s.store.view().pets.get(id))
}

func (s *Server) replacePet(r *http.Request, id int64) (response, error) {
	pet, err := readBody(r, readPet)
	if err != nil {
		return response{}, err
	}
	return respond(s.store.replacePet(id, pet))
}

func (s *Server) deletePet(_ *http.Request, id int64) (response, error) {
	return noContent(s.store.removePet(id))
}

// The operations on categories.

func (s *Server) listCategories(r *http.Request) (response, error) {
	return listAll(r, s.store.view().categories.records, clientJSON)
}

func (s *Server) createCategory(r *http.Request) (response, error) {
	category, err := readBody(r, readCategory)
	if err != nil {
		return response{}, err
	}
	added, err := s.store.addCategory(category)
	return created(r, added, err)
}

func (s *Server) getCategory(_ *http.Request, id int64) (response, error) {
	return respond(s.store.view().categories.get(id))
}

func (s *Server) replaceCategory(r *http.Request, id int64) (response, error) {
	category, err := readBody(r, readCategory)
	if err != nil {
		return response{}, err
	}
	return respond(s.store.replaceCategory(id, category))
}

func (s *Server) deleteCategory(_ *http.Request, id int64) (response, error) {
	return noContent(s.store.removeCategory(id))
}

// The operations on orders.

func (s *Server) listOrders(r *http.Request) (response, error) {
	return listAll(r, s.store.view().orders.records, clientJSON)
}

func (s *Server) createOrder(r *http.Request) (response, error) {
	order, err := readBody(r, readOrder)
	if err != nil {
		return response{}, err
	}
	added, err := s.store.addOrder(order)
	return created(r, added, err)
}

func (s *Server) getOrder(_ *http.Request, id int64) (response, error) {
	return respond(s.store.view().orders.get(id))
}

func (s *Server) replaceOrder(r *http.Request, id int64) (response, error) {
	order, err := readBody(r, readOrder)
	if err != nil {
		return response{}, err
	}
	return respond(s.store.replaceOrder(id, order))
}

func (s *Server) cancelOrder(_ *http.Request, id int64) (response, error) {
	return noContent(s.store.cancelOrder(id))
}

// The operations on the inventory.

func (s *Server) listInventory(r *http.Request) (response, error) {
	return listAll(r, s.store.view().pets.records, inventoryJSON)
}

func (s *Server) getInventory(_ *http.Request, id int64) (response, error) {
	return respondItem(s.store.view().pets.get(id))
}

func (s *Server) updateInventory(r *http.Request, id int64) (response, error) {
	quantity, err := readBody(r, readInventoryUpdate)
	if err != nil {
		return response{}, err
	}
	return respondItem(s.store.setQuantity(id, quantity))
}

// These functions make a response of what the store returns.

func respond[T entity](found *record[T], err error) (response, error) {
	if err != nil {
		return response{}, err
	}
	return response{status: http.StatusOK, body: found.clientJSON}, nil
}

func respondItem(pet *record[Pet], err error) (response, error) {
	if err != nil {
		return response{}, err
	}
	return response{status: http.StatusOK, body: inventoryJSON(pet)}, nil
}

func created[T entity](r *http.Request, added *record[T], err error) (response, error) {
	if err != nil {
		return response{}, err
	}
	location := map[string]string{"Location": fmt.Sprint(r.URL.Path, "/", added.value.id())}
	return response{status: http.StatusCreated, body: added.clientJSON, header: location}, nil
}

func noContent[T entity](_ *record[T], err error) (response, error) {
	return response{status: http.StatusNoContent}, err
}

// listAll responds to a request for a list without filters.
func listAll[T entity](r *http.Request, all []*record[T], toJSON func(*record[T]) []byte) (
	response, error) {
	q, err := readQuery(r)
	if err != nil {
		return response{}, err
	}
	return list(q, all, toJSON), nil
}

// list returns the page of records that a query asks for, as a JSON array with one record per line.
// If more follow, a Link header has the URL of the next page (RFC 8288). For example, given records
// 1, 2, 3 and 5, limit=2 returns 1 and 2 with a link to ?after=2&limit=2, which returns 3 and 5
// without a link.
func list[T entity](q query, records []*record[T], toJSON func(*record[T]) []byte) response {
	var header map[string]string
	first, found := search(records, q.after)
	if found {
		first++
	}
	records = records[first:]
	if int64(len(records)) > q.limit {
		records = records[:q.limit]
		next := maps.Clone(q.values) // keeps the filters
		next.Set("after", strconv.FormatInt(records[q.limit-1].value.id(), 10))
		next.Set("limit", strconv.FormatInt(q.limit, 10))
		link := fmt.Sprintf(`<%s?%s>; rel="next"`, q.path, next.Encode())
		header = map[string]string{"Link": link}
	}
	body := append(make([]byte, 0, 100*len(records)), '[') // if it grows, a long list is slower
	for i, found := range records {
		if i > 0 {
			body = append(body, ",\n"...)
		}
		body = append(body, toJSON(found)...)
	}
	return response{status: http.StatusOK, body: append(body, ']'), header: header}
}

func clientJSON[T entity](found *record[T]) []byte { return found.clientJSON }

func inventoryJSON(pet *record[Pet]) []byte { return encode(newInventoryItem(pet.value)) }

// A query is what a request for a list asks for: at most limit records, with greater ids than
// after. A filter is zero if it was left out.
type query struct {
	path         string
	values       url.Values // the parameters as they were sent
	limit, after int64
	status       PetStatus
	categoryID   int64
}

// readQuery reads the query parameters of a request for a list that has the given filters. Of
// several errors, it returns the first.
func readQuery(r *http.Request, filters ...string) (q query, err error) {
	values, parseErr := url.ParseQuery(r.URL.RawQuery)
	if parseErr != nil {
		return q, newError(invalidParameter,
			"The query must consist of percent-encoded name=value pairs joined by &.")
	}
	names := append([]string{"limit", "after"}, filters...)
	for _, name := range slices.Sorted(maps.Keys(values)) { // the same error each time
		if !slices.Contains(names, name) {
			return q, newError(invalidParameter, "%.40q is unknown here; use one of %s.", name,
				strings.Join(names, ", "))
		}
		if len(values[name]) > 1 || values.Get(name) == "" {
			return q, newError(invalidParameter, "%s must not be repeated or empty.", name)
		}
	}
	integer := func(name string, value, low, high int64) int64 {
		if !values.Has(name) {
			return value
		}
		n, ok := parseInteger(values.Get(name), low, high)
		if !ok && err == nil {
			err = newError(invalidParameter, "%s must be an integer from %d to %d.", name, low,
				high)
		}
		return n
	}
	q = query{
		path:       r.URL.Path,
		values:     values,
		limit:      integer("limit", 20, 1, 100),
		after:      integer("after", 0, 0, math.MaxInt64),
		categoryID: integer("categoryId", 0, 1, math.MaxInt64),
		status:     PetStatus(values.Get("status")),
	}
	if err == nil && q.status != "" && !q.status.valid() {
		err = newError(invalidParameter, "status must be %s.", mustBe(q.status))
	}
	return q, err
}

// parseInteger parses an integer in canonical form: not +1, 01 or 1.0.
func parseInteger(text string, low, high int64) (n int64, ok bool) {
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil && strconv.FormatInt(n, 10) == text && low <= n && n <= high
}

const maxBody = 64 << 10 // bytes

// readBody reads the JSON body of a POST, PUT or PATCH. A body that is refused because of its type
// or declared length is not read, so a client that waits for 100 Continue need not send it.
func readBody[T any](r *http.Request, read func(*fields) T) (value T, err error) {
	contentType := cmp.Or(r.Header.Get("Content-Type"), "application/json")
	mediaType, _, _ := strings.Cut(contentType, ";")
	if !strings.EqualFold(strings.TrimSpace(mediaType), "application/json") {
		return value, newError(unsupportedMediaType,
			"The body must be JSON; send it with Content-Type: application/json.")
	}
	encoding := strings.Join(r.Header.Values("Content-Encoding"), ",")
	if encoding != "" && !strings.EqualFold(encoding, "identity") {
		return value, newError(unsupportedMediaType,
			"The body must not be compressed; send it without Content-Encoding.")
	}
	const tooLarge = "The body must be at most %d bytes."
	if r.ContentLength > maxBody {
		return value, newError(payloadTooLarge, tooLarge, maxBody)
	}
	body, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, maxBody))
	if limit, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return value, newError(payloadTooLarge, tooLarge, limit.Limit)
	}
	if err != nil {
		return value, newError(incompleteBody,
			"The body ended early or arrived too slowly; send it again.")
	}
	return decode(body, read)
}

// The paths that need no key.

// getHealth reports when this server was started, so that a client can detect a restart.
func (s *Server) getHealth(*http.Request) (response, error) {
	started := s.started.UTC().Format(time.RFC3339Nano)
	body := fmt.Appendf(nil, `{"status":"ok","started":%q}`, started)
	return response{status: http.StatusOK, body: body}, nil
}

// getKeys tells the reference page the demo keys, if they are in use, and how many seconds a minute
// of the limits has.
func (s *Server) getKeys(*http.Request) (response, error) {
	keys := "[]"
	if s.options.usesDemoKeys() {
		keys = demoKeys
	}
	body := fmt.Appendf(nil, `{"minute":%v,"keys":%s}`, s.options.Minute.Seconds(), keys)
	return response{status: http.StatusOK, body: body}, nil
}

//go:embed docs/openapi.json
var openAPI []byte

// getDescription returns the description, with the address by which the client asked for it.
func getDescription(r *http.Request) (response, error) {
	scheme := "http://"
	if r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https" {
		scheme = "https://"
	}
	address := encode(scheme + cmp.Or(r.Host, "localhost:8080"))
	body := bytes.ReplaceAll(openAPI, []byte(`"http://localhost:8080"`), address)
	return response{status: http.StatusOK, body: body}, nil
}

//go:embed docs/reference/*.html docs/reference/*.css docs/reference/*.js docs/reference/*.svg
var pageFiles embed.FS

// contentTypes lists these types because package mime asks the operating system, and systems
// differ.
var contentTypes = map[string]string{
	".html": "text/html; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".svg":  "image/svg+xml",
}

// getReferenceFile returns a file of the reference page. For /, it returns index.html. The
// Content-Security-Policy keeps the page from loading anything that this server does not serve.
func getReferenceFile(r *http.Request) (response, error) {
	name := cmp.Or(r.PathValue("file"), "index.html")
	body, err := pageFiles.ReadFile("docs/reference/" + name)
	if err != nil {
		return noPath(r)
	}
	return response{status: http.StatusOK, body: body, header: map[string]string{
		"Content-Type": contentTypes[path.Ext(name)],
		"Content-Security-Policy": "default-src 'self'; base-uri 'none'; form-action 'none'; " +
			"frame-ancestors 'none'",
		"X-Content-Type-Options": "nosniff",
		"Cache-Control":          "no-cache",
	}}, nil
}
