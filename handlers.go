package main

import (
	"bytes"
	"cmp"
	"embed"
	"encoding/json"
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
	Data       string        // the data file; empty to keep nothing on disk
	Keys       string        // the keys file; empty for the demo keys
	Minute     time.Duration // the length of a rate-limit minute, from 1s to 1m; 0 for 1m
	CORSOrigin string        // an origin whose web pages may call the API; empty for none
	Delay      time.Duration // how long to hold back each API response, at most 8s
	Fail       string        // "M/N": fail the first M of every N requests; empty for none
	Drop       string        // "M/N": drop the first M of every N responses; empty for none
	Verbose    bool          // log each request

	BaseURL string      // the URL in the description; empty for http://localhost:8080
	Logger  *log.Logger // nil for log.Default()
}

// check returns an error, in terms of the flags, if the options make no sense.
func (o Options) check() error {
	if o.Minute < time.Second || o.Minute > time.Minute {
		return fmt.Errorf("-minute must be from 1s to 1m, not %v", o.Minute)
	}
	if o.Delay < 0 || o.Delay > 8*time.Second { // a shutdown waits at most 10s
		return fmt.Errorf("-delay must be from 0 to 8s, not %v", o.Delay)
	}
	origin := regexp.MustCompile( // as browsers send it (RFC 6454)
		`^[a-z][a-z0-9+.-]*://([a-z0-9._-]+|\[[0-9a-f:.]+\])(:[1-9][0-9]{0,4})?$`)
	defaultPort := regexp.MustCompile(`^http:.*:80$|^https:.*:443$`)
	if o.CORSOrigin != "" &&
		(!origin.MatchString(o.CORSOrigin) || defaultPort.MatchString(o.CORSOrigin)) {
		return fmt.Errorf("-cors-origin must be a scheme and a host, such as https://example.com, "+
			"in small letters and without a path, trailing slash or default port; got %q",
			o.CORSOrigin)
	}
	_, failErr := parseRatio("-fail", o.Fail)
	_, dropErr := parseRatio("-drop", o.Drop)
	return cmp.Or(failErr, dropErr)
}

func (o Options) usesDemoKeys() bool { return o.Keys == "" }

// A Server is the whole service, as an http.Handler.
type Server struct {
	options    Options
	limits     *limits
	store      *store
	fail, drop *ratio
	mux        *http.ServeMux
	started    time.Time
}

// New returns a Server. It fails if the options make no sense, or a file in them cannot be used. It
// starts no goroutine, so a Server also works in the fake time of testing/synctest.
func New(options Options) (*Server, error) {
	options.Minute = cmp.Or(options.Minute, time.Minute)
	options.Logger = cmp.Or(options.Logger, log.Default())
	if err := options.check(); err != nil {
		return nil, err
	}
	s := &Server{
		options: options,
		mux:     http.NewServeMux(),
		started: time.Now(),
	}
	var err error
	if s.limits, err = newLimits(options.Keys, options.Minute); err != nil {
		return nil, err
	}
	if s.store, err = openStore(options.Data, options.Logger); err != nil {
		return nil, err
	}
	s.fail, _ = parseRatio("-fail", options.Fail) // check has found no error
	s.drop, _ = parseRatio("-drop", options.Drop)
	for pattern, m := range s.routes() {
		s.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			s.serveAPI(w, r, m.handlerFor(r.Method))
		})
	}
	s.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.serveAPI(w, r, noPath)
	})
	open := func(pattern string, get handler) {
		s.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			s.serveOpen(w, r, methods{"GET": get}.handlerFor(r.Method))
		})
	}
	open("/healthz", s.getHealth)
	open("/openapi.json", s.getDescription)
	open("/docs/keys.json", s.getKeys)
	open("/docs/{file}", getReferenceFile)
	open("/{$}", getReferenceFile)
	return s, nil
}

// routes are the operations of the API, by path and method. The mux is not given the methods,
// because its 405 would be a text without rate headers.
func (s *Server) routes() map[string]methods {
	return map[string]methods{
		"/pets": {"GET": s.listPets, "POST": s.createPet},
		"/pets/{id}": {"GET": deprecated(byID(s.getPet)), "PUT": byID(s.replacePet),
			"DELETE": byID(s.deletePet)},
		"/categories": {"GET": s.listCategories, "POST": s.createCategory},
		"/categories/{id}": {"GET": byID(s.getCategory), "PUT": byID(s.replaceCategory),
			"DELETE": byID(s.deleteCategory)},
		"/store/orders": {"GET": s.listOrders, "POST": s.createOrder},
		"/store/orders/{id}": {"GET": byID(s.getOrder), "PUT": byID(s.replaceOrder),
			"DELETE": byID(s.cancelOrder)},
		"/inventory":      {"GET": s.listInventory},
		"/inventory/{id}": {"GET": byID(s.getInventory), "PATCH": byID(s.updateInventory)},
	}
}

// ServeHTTP serves every request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method == "OPTIONS" && r.Header.Get("Access-Control-Request-Method") != "" &&
		s.allowsOrigin(r.Header.Get("Origin")):
		s.serveOpen(w, r, preflight)
	case r.URL.Path != path.Clean(r.URL.Path): // the mux would redirect //pets to /pets
		s.serveAPI(w, r, noPath)
	default:
		s.mux.ServeHTTP(w, r)
	}
}

// serveAPI serves an API request. In this order, a request is counted, and perhaps refused; carried
// out, or failed on purpose; held back; and sent its response, or dropped.
func (s *Server) serveAPI(w http.ResponseWriter, r *http.Request, h handler) {
	begin := time.Now()
	decision := s.limits.admit(requestKey(r), begin)
	decision.setHeaders(w.Header())
	if decision.refusal != nil {
		s.send(w, r, begin, response{}, decision.refusal)
		return
	}
	if s.fail.next() {
		h = failOnPurpose
	}
	resp, err := h.call(r)
	time.Sleep(s.options.Delay)
	if err == nil && s.drop.next() {
		s.log(r, begin, "dropped")
		panic(http.ErrAbortHandler) // which net/http takes as a wish to close the connection
	}
	s.send(w, r, begin, resp, err)
}

// serveOpen serves a request that needs no key and is not counted.
func (s *Server) serveOpen(w http.ResponseWriter, r *http.Request, h handler) {
	begin := time.Now()
	resp, err := h.call(r)
	s.send(w, r, begin, resp, err)
}

// A handler carries out a request. Unlike an http.Handler, it returns its response, so that an
// error becomes JSON in one place. The header of the response is sent with an error, too.
type handler func(*http.Request) (response, error)

// A response has JSON, unless its header has another Content-Type. The body is nil if there is
// none.
type response struct {
	status int
	body   []byte
	header http.Header
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
	header := w.Header()
	if err != nil {
		e, ok := err.(*Error)
		if !ok { // a bug in this program
			s.options.Logger.Print(err)
			e = newError(internalError,
				"The server failed; try again, and report it if it fails again.")
		}
		resp.status, resp.body = e.Status, encode(e)
	}
	if resp.status == http.StatusUnauthorized {
		header.Set("WWW-Authenticate", "Bearer")
	}
	if s.options.Drop != "" {
		// Many clients, such as Go's, send a GET again if a connection that was kept is closed,
		// which would hide a drop.
		header.Set("Connection", "close")
	}
	s.setCORSHeaders(header, r.Header.Get("Origin"))
	header.Set("Cache-Control", "no-store")
	end := ""
	if resp.body != nil && resp.header.Get("Content-Type") == "" {
		header.Set("Content-Type", "application/json")
		end = "\n" // so that a terminal shows its prompt on the next line
	}
	maps.Copy(header, resp.header)                          // replaces those above
	if length := len(resp.body) + len(end); length > 2000 { // net/http sets it for a short body
		header.Set("Content-Length", strconv.Itoa(length))
	}
	w.WriteHeader(resp.status)
	w.Write(resp.body)
	io.WriteString(w, end)
	s.log(r, begin, strconv.Itoa(resp.status))
}

func (s *Server) log(r *http.Request, begin time.Time, status string) {
	if s.options.Verbose {
		s.options.Logger.Printf("%s %q %s %s", r.Method, r.URL.Path, status, time.Since(begin))
	}
}

// methods are the handlers of a path, by method.
type methods map[string]handler

// handlerFor returns the handler for a method. HEAD uses the one for GET; net/http omits the body.
func (m methods) handlerFor(method string) handler {
	if method == "HEAD" {
		method = "GET"
	}
	if h, ok := m[method]; ok {
		return h
	}
	return m.notAllowed
}

func noPath(*http.Request) (response, error) {
	return response{}, newError(notFound, "This path does not exist; "+
		"GET / shows the operations, and GET /openapi.json describes them.")
}

// notAllowed lists the methods of the path in the Allow header (RFC 9110, section 15.5.6).
func (m methods) notAllowed(*http.Request) (response, error) {
	names := append(slices.Collect(maps.Keys(m)), "HEAD") // every path has GET
	slices.Sort(names)
	allow := strings.Join(names, ", ")
	return response{header: http.Header{"Allow": {allow}}},
		newError(methodNotAllowed, "This path supports only the methods %s.", allow)
}

func failOnPurpose(*http.Request) (response, error) {
	return response{header: http.Header{"Retry-After": {"1"}}},
		newError(failedOnPurpose, "The -fail flag caused this error, and nothing was changed; "+
			"retry after one second.")
}

// A ratio is the first m of every n requests, or none if n is 0. For example, 2/3 is requests 1, 2,
// 4, 5, 7 and 8 out of nine.
type ratio struct {
	m, n  int64
	count atomic.Int64 // of the requests so far
}

// parseRatio parses a flag such as 2/3, or an empty one for none.
func parseRatio(flag, text string) (*ratio, error) {
	if text == "" {
		return new(ratio), nil
	}
	before, after, _ := strings.Cut(text, "/")
	n, ok := parseInteger(after, 1, 1_000_000)
	m, ok2 := parseInteger(before, 1, n)
	if !ok || !ok2 {
		return nil, fmt.Errorf("%s must be M/N, such as 1/2, with 1 <= M <= N <= 1000000; got %q",
			flag, text)
	}
	return &ratio{m: m, n: n}, nil
}

// next counts a request, and reports whether it is one of the first m.
func (q *ratio) next() bool { return q.n > 0 && (q.count.Add(1)-1)%q.n < q.m }

// requestKey returns the key that a request carries, or "". The key is in Authorization (RFC 6750,
// section 2.1) or, if that is missing or empty, in X-API-Key.
func requestKey(r *http.Request) string {
	scheme, key, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	switch {
	case scheme == "":
		return r.Header.Get("X-API-Key")
	case strings.EqualFold(scheme, "Bearer"):
		return strings.TrimLeft(key, " ")
	}
	return ""
}

// allowsOrigin reports whether web pages from an origin may call the API (Fetch standard, CORS
// protocol). It allows the origin in the options and, with the demo keys, any origin on this
// computer.
func (s *Server) allowsOrigin(origin string) bool {
	if origin == "" {
		return false
	}
	if origin == s.options.CORSOrigin {
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
	if !s.allowsOrigin(origin) {
		return
	}
	header.Set("Vary", "Origin")
	header.Set("Access-Control-Allow-Origin", origin)
	header.Set("Access-Control-Expose-Headers", "X-RateLimit-Limit, X-RateLimit-Remaining, "+
		"X-RateLimit-Reset, Retry-After, Location, Link, Allow, Deprecation, Sunset, "+
		"WWW-Authenticate")
}

// preflight answers a browser that asks whether a web page may send a request.
func preflight(*http.Request) (response, error) {
	return response{status: http.StatusNoContent, header: http.Header{
		"Access-Control-Allow-Methods": {"GET, HEAD, POST, PUT, PATCH, DELETE"},
		"Access-Control-Allow-Headers": {"Authorization, X-API-Key, Content-Type, *"},
	}}, nil
}

// byID makes a handler of a function that needs the id in the path.
func byID(f func(r *http.Request, id int64) (response, error)) handler {
	return func(r *http.Request) (response, error) {
		id, ok := parseInteger(r.PathValue("id"), math.MinInt64, math.MaxInt64)
		if !ok {
			return response{}, newError(invalidParameter,
				"The id in the path must be a plain 64-bit integer.")
		}
		return f(r, id)
	}
}

// deprecated adds to a handler what the OpenAPI description says of its operation: since when it is
// deprecated (RFC 9745), when it will be gone (RFC 8594), and what comes in its place.
func deprecated(h handler) handler {
	header := http.Header{
		"Deprecation": {"@1795132800"}, // 20 November 2026
		"Sunset":      {"Thu, 05 Dec 2030 00:00:00 GMT"},
		"Link":        {`</pets>; rel="successor-version"`},
	}
	return func(r *http.Request) (response, error) {
		resp, err := h(r)
		resp.header = header
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
	return list(r, q, pets, clientJSON), nil
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
	q, err := readQuery(r)
	if err != nil {
		return response{}, err
	}
	return list(r, q, s.store.view().categories.records, clientJSON), nil
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
	q, err := readQuery(r)
	if err != nil {
		return response{}, err
	}
	return list(r, q, s.store.view().orders.records, clientJSON), nil
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
	q, err := readQuery(r)
	if err != nil {
		return response{}, err
	}
	return list(r, q, s.store.view().pets.records, inventoryJSON), nil
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
	location := fmt.Sprintf("%s/%d", r.URL.Path, added.value.id())
	return response{
		status: http.StatusCreated,
		body:   added.clientJSON,
		header: http.Header{"Location": {location}},
	}, nil
}

func noContent[T entity](_ *record[T], err error) (response, error) {
	return response{status: http.StatusNoContent}, err
}

// list returns a response with the page of records that a query asks for, as a JSON array with one
// record per line.
func list[T entity](r *http.Request, q query, all []*record[T],
	toJSON func(*record[T]) []byte) response {
	records, header := page(r, q, all)
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

func inventoryJSON(pet *record[Pet]) []byte { return encode(pet.value.inventoryItem()) }

// page returns the records that a query asks for and, if more follow, a Link header with the URL of
// the next page (RFC 8288). For example, given records 1, 2, 3 and 5, limit=2 returns 1 and 2 with
// a link to ?after=2&limit=2, which returns 3 and 5 without a link.
func page[T entity](r *http.Request, q query, records []*record[T]) ([]*record[T], http.Header) {
	first, found := search(records, q.after)
	if found {
		first++
	}
	records = records[first:]
	if int64(len(records)) <= q.limit {
		return records, nil
	}
	records = records[:q.limit]
	next := r.URL.Query() // keeps the filters
	next.Set("after", strconv.FormatInt(records[q.limit-1].value.id(), 10))
	next.Set("limit", strconv.FormatInt(q.limit, 10))
	link := fmt.Sprintf(`<%s?%s>; rel="next"`, r.URL.Path, next.Encode())
	return records, http.Header{"Link": {link}}
}

// A query is what the query parameters of a request for a list ask for: at most limit records, with
// greater ids than after. A filter is zero if it was left out.
type query struct {
	limit, after int64
	status       PetStatus
	categoryID   int64
}

// readQuery reads the query parameters of a request for a list that has the given filters.
func readQuery(r *http.Request, filters ...string) (q query, err error) {
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return q, newError(invalidParameter,
			"The query must consist of percent-encoded name=value pairs joined by &.")
	}
	names := append([]string{"limit", "after"}, filters...)
	for _, name := range slices.Sorted(maps.Keys(values)) { // the same error each time
		if !slices.Contains(names, name) {
			return q, newError(invalidParameter, "The parameter %.40q is unknown; use one of %s.",
				name, strings.Join(names, ", "))
		}
		if len(values[name]) > 1 || values.Get(name) == "" {
			return q, newError(invalidParameter, "%s must not be repeated or empty.", name)
		}
	}
	integerOr := func(name string, value, low, high int64) int64 {
		if !values.Has(name) {
			return value
		}
		n, ok := parseInteger(values.Get(name), low, high)
		if !ok && err == nil {
			err = newError(invalidParameter,
				"%s must be an integer from %d to %d.", name, low, high)
		}
		return n
	}
	q.limit = integerOr("limit", 20, 1, 100)
	q.after = integerOr("after", 0, 0, math.MaxInt64)
	q.categoryID = integerOr("categoryId", 0, 1, math.MaxInt64)
	q.status = PetStatus(values.Get("status"))
	if err == nil && q.status != "" && !q.status.valid() {
		err = newError(invalidParameter, "status must be %s.", aStatus)
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
func readBody[T any](r *http.Request, read func(json.RawMessage) (T, error)) (value T, err error) {
	contentType := cmp.Or(r.Header.Get("Content-Type"), "application/json")
	mediaType, _, _ := strings.Cut(contentType, ";")
	if !strings.EqualFold(strings.TrimSpace(mediaType), "application/json") {
		return value, newError(unsupportedMediaType,
			"The body must be JSON; send it with Content-Type: application/json.")
	}
	if encoding := r.Header.Get("Content-Encoding"); encoding != "" &&
		!strings.EqualFold(encoding, "identity") {
		return value, newError(unsupportedMediaType,
			"The body must not be compressed; send it without Content-Encoding.")
	}
	tooLarge := newError(payloadTooLarge, "The body must be at most %d bytes.", maxBody)
	if r.ContentLength > maxBody {
		return value, tooLarge
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	if err != nil {
		return value, newError(incompleteBody,
			"The body ended early or arrived too slowly; send it again.")
	}
	if len(body) > maxBody {
		return value, tooLarge
	}
	valid, err := validJSON(body)
	if err != nil {
		return value, err
	}
	return read(valid)
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

// getDescription returns the description with the address of this server.
func (s *Server) getDescription(*http.Request) (response, error) {
	const described = "http://localhost:8080"
	address := cmp.Or(s.options.BaseURL, described)
	body := bytes.ReplaceAll(openAPI, []byte(described), []byte(address))
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
	return response{status: http.StatusOK, body: body, header: http.Header{
		"Content-Type": {contentTypes[path.Ext(name)]},
		"Content-Security-Policy": {
			"default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
		"X-Content-Type-Options": {"nosniff"},
		"Cache-Control":          {"no-cache"},
	}}, nil
}
