package main

import (
	"bytes"
	"cmp"
	"embed"
	"fmt"
	"io"
	"log"
	"maps"
	"math"
	"net/http"
	"net/netip"
	"net/url"
	"path"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// Server is the http.Handler of the whole service.
type Server struct {
	options
	store   *Store
	limits  *Limits
	logger  *log.Logger
	mux     *http.ServeMux
	started time.Time

	letThrough, succeeded atomic.Int64 // requests, counted for fail and drop
}

// options are the settings from main: the flags with these names, and the URL of this server.
type options struct {
	baseURL    string // empty for http://localhost:8080
	corsOrigin string
	delay      time.Duration
	fail, drop ratio
	verbose    bool
}

func newServer(store *Store, limits *Limits, logger *log.Logger, opts options) *Server {
	s := &Server{options: opts, store: store, limits: limits, logger: logger,
		mux: http.NewServeMux(), started: time.Now()}
	api := func(path string, m methods) {
		s.mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			s.serveAPI(w, r, m)
		})
	}
	api("/pets", methods{"GET": s.listPets, "POST": s.createPet})
	api("/pets/{id}", methods{"GET": s.getPet, "PUT": s.replacePet, "DELETE": s.deletePet})
	api("/categories", methods{"GET": s.listCategories, "POST": s.createCategory})
	api("/categories/{id}", methods{
		"GET": s.getCategory, "PUT": s.replaceCategory, "DELETE": s.deleteCategory})
	api("/store/orders", methods{"GET": s.listOrders, "POST": s.createOrder})
	api("/store/orders/{id}", methods{
		"GET": s.getOrder, "PUT": s.replaceOrder, "DELETE": s.cancelOrder})
	api("/inventory", methods{"GET": s.listInventory})
	api("/inventory/{id}", methods{"GET": s.getInventory, "PATCH": s.updateInventory})
	api("/", nil) // any other path

	open := func(path string, get handler) {
		s.mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			s.serveOpen(w, r, methods{"GET": get})
		})
	}
	open("/healthz", s.getHealth)
	open("/openapi.json", s.getDescription)
	open("/docs/keys.json", s.getKeys)
	open("/docs/{file}", getReferenceFile)
	open("/{$}", getReferenceFile)
	return s
}

// ServeHTTP serves every request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method == "OPTIONS" && r.Header.Get("Access-Control-Request-Method") != "" &&
		s.allowsOrigin(r.Header.Get("Origin")):
		s.serveOpen(w, r, methods{"OPTIONS": preflight})
	case r.URL.Path != path.Clean(r.URL.Path): // the mux would redirect //pets to /pets
		s.serveAPI(w, r, nil)
	default:
		s.mux.ServeHTTP(w, r)
	}
}

// serveAPI serves an API request: it counts the request, carries it out unless the limits refuse
// it, and sends the response. The flags -fail, -delay and -drop deliberately interfere.
func (s *Server) serveAPI(w http.ResponseWriter, r *http.Request, m methods) {
	begin := time.Now()
	quota, err := s.limits.count(s.requestKey(r), begin)
	quota.setHeaders(w.Header())
	if err != nil {
		s.send(w, r, begin, failed(err))
		return
	}
	h := m.handlerFor(r.Method)
	if s.fail.includes(s.letThrough.Add(1)) {
		h = failOnPurpose
	}
	resp := s.call(h, r)
	time.Sleep(s.delay)
	if resp.status < 400 && s.drop.includes(s.succeeded.Add(1)) {
		s.log(r, begin, "dropped")
		panic(http.ErrAbortHandler) // makes net/http close the connection
	}
	s.send(w, r, begin, resp)
}

// serveOpen serves a request that needs no key and is not counted.
func (s *Server) serveOpen(w http.ResponseWriter, r *http.Request, m methods) {
	begin := time.Now()
	s.send(w, r, begin, s.call(m.handlerFor(r.Method), r))
}

// A handler carries out a request.
type handler func(*http.Request) response

// A response is JSON, unless its header has another Content-Type. The body is nil if there is none.
type response struct {
	status int
	body   []byte
	header http.Header
}

func (resp response) with(h http.Header) response { resp.header = h; return resp }

// failed returns the response for an error. It panics if err is not an *Error, which would be a bug
// in this program.
func failed(err error) response {
	e := err.(*Error)
	return response{status: e.Status, body: encode(e)}
}

// methods maps the methods of a path to their handlers. It is nil if there is no such path.
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

// notAllowed lists the methods of the path in the Allow header (RFC 9110, section 15.5.6).
func (m methods) notAllowed(r *http.Request) response {
	if m == nil {
		return noPath(r)
	}
	names := append(slices.Collect(maps.Keys(m)), "HEAD") // every path has GET
	slices.Sort(names)
	allow := strings.Join(names, ", ")
	err := newError(methodNotAllowed, "This path supports only the methods %s.", allow)
	return failed(err).with(http.Header{"Allow": {allow}})
}

func noPath(*http.Request) response {
	return failed(newError(notFound, "This path does not exist; "+
		"GET / shows the operations, and GET /openapi.json describes them."))
}

func failOnPurpose(*http.Request) response {
	return failed(newError(failedOnPurpose, "The -fail flag caused this error, and nothing was "+
		"changed; retry after one second.")).with(http.Header{"Retry-After": {"1"}})
}

// A ratio is the first m of every n requests, or none if n is 0. For example, 2/3 includes requests
// 1, 2, 4, 5, 7 and 8 out of nine.
type ratio struct{ m, n int64 }

func (q *ratio) parse(text string) error {
	fmt.Sscanf(text, "%d/%d", &q.m, &q.n)
	if fmt.Sprintf("%d/%d", q.m, q.n) != text || q.m < 1 || q.m > q.n || q.n > 1_000_000 {
		return fmt.Errorf("must be M/N, such as 1/2, with 1 <= M <= N <= 1000000")
	}
	return nil
}

func (q ratio) includes(number int64) bool { return q.n > 0 && (number-1)%q.n < q.m }

// call calls a handler. A panic in it becomes a 500; net/http alone would just close the
// connection.
func (s *Server) call(h handler, r *http.Request) (resp response) {
	defer func() {
		if p := recover(); p != nil {
			s.logger.Printf("panic: %v\n%s", p, debug.Stack())
			resp = failed(newError(internalError,
				"The server failed; try again, and report it if it fails again."))
		}
	}()
	return h(r)
}

// send sends a response and logs the request. The rate headers have already been set.
func (s *Server) send(w http.ResponseWriter, r *http.Request, begin time.Time, resp response) {
	header := w.Header()
	header.Set("Cache-Control", "no-store")
	if resp.body != nil {
		header.Set("Content-Type", "application/json")
	}
	if resp.status == http.StatusUnauthorized {
		header.Set("WWW-Authenticate", "Bearer")
	}
	if origin := r.Header.Get("Origin"); s.allowsOrigin(origin) {
		header.Set("Vary", "Origin")
		header.Set("Access-Control-Allow-Origin", origin)
		header.Set("Access-Control-Expose-Headers", "X-RateLimit-Limit, X-RateLimit-Remaining, "+
			"X-RateLimit-Reset, Retry-After, Location, Link, Allow, Deprecation, Sunset, "+
			"WWW-Authenticate")
	}
	maps.Copy(header, resp.header) // replaces those above
	w.WriteHeader(resp.status)
	if resp.body != nil {
		w.Write(resp.body)
		io.WriteString(w, "\n") // so that a terminal shows its prompt on the next line
	}
	s.log(r, begin, strconv.Itoa(resp.status))
}

func (s *Server) log(r *http.Request, begin time.Time, status string) {
	if s.verbose {
		s.logger.Printf("%s %q %s %s", r.Method, r.URL.Path, status, time.Since(begin))
	}
}

// requestKey returns the key that a request carries, or "". The key is in Authorization (RFC 6750,
// section 2.1) or, if that is missing or empty, in X-API-Key.
func (s *Server) requestKey(r *http.Request) string {
	if s.limits.demo && !isOurHost(r.Host) {
		return ""
	}
	scheme, key, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	switch {
	case scheme == "":
		return r.Header.Get("X-API-Key")
	case strings.EqualFold(scheme, "Bearer"):
		return strings.TrimLeft(key, " ")
	}
	return ""
}

// isOurHost reports whether the Host of a request is localhost or an IP address. The demo keys are
// valid for no other host, because of DNS rebinding:
//
//  1. Somebody who runs this server visits http://evil.example.
//  2. Its DNS now says that evil.example is 127.0.0.1, so a script in the page may read
//     http://evil.example:8080/pets: to the browser, that is the page's own origin.
//  3. This server gets that request, with evil.example as its Host.
func isOurHost(host string) bool {
	name := (&url.URL{Host: host}).Hostname() // without the port and brackets
	_, err := netip.ParseAddr(name)
	return err == nil || strings.EqualFold(name, "localhost")
}

// allowsOrigin reports whether web pages from an origin may call the API (Fetch standard, CORS
// protocol). It allows the origin in -cors-origin and, with the demo keys, any origin on this
// computer.
func (s *Server) allowsOrigin(origin string) bool {
	if origin != "" && origin == s.corsOrigin {
		return true
	}
	u, err := url.Parse(origin)
	if err != nil || !s.limits.demo {
		return false
	}
	name := u.Hostname()
	address, _ := netip.ParseAddr(name) // a name is not a loopback address
	return address.IsLoopback() || name == "localhost" || strings.HasSuffix(name, ".localhost")
}

// preflight answers a browser that asks whether a web page may send a request.
func preflight(*http.Request) response {
	return response{status: http.StatusNoContent, header: http.Header{
		"Access-Control-Allow-Methods": {"GET, HEAD, POST, PUT, PATCH, DELETE"},
		"Access-Control-Allow-Headers": {"Authorization, X-API-Key, Content-Type"},
	}}
}

func (s *Server) listPets(r *http.Request) response {
	q, err := readQuery(r, "status", "categoryId")
	if err != nil {
		return failed(err)
	}
	pets := s.store.view().pets.records
	if q.status != "" || q.categoryID != 0 {
		pets = slices.DeleteFunc(slices.Clone(pets), func(p *record[storedPet]) bool {
			return !q.matches(p.value.Pet)
		})
	}
	return list(r, q, pets)
}

func (s *Server) createPet(r *http.Request) response {
	added, err := write(s, r, readPet, (*state).addPet)
	return created(r, added, err)
}

// deprecation is sent with every 200, 400 and 404 response of getPet. The OpenAPI description marks
// that operation as deprecated: since 2026-11-20 (RFC 9745), and until its sunset (RFC 8594).
var deprecation = http.Header{
	"Deprecation": {"@1795132800"},
	"Sunset":      {"Thu, 05 Dec 2030 00:00:00 GMT"},
	"Link":        {`</pets>; rel="successor-version"`},
}

func (s *Server) getPet(r *http.Request) response {
	return respond(find(r, s.store.view().pets)).with(deprecation)
}

func (s *Server) replacePet(r *http.Request) response {
	return respond(write(s, r, readPet, (*state).replacePet))
}

func (s *Server) deletePet(r *http.Request) response {
	return remove(s, r, (*state).removePet)
}

func (s *Server) listCategories(r *http.Request) response {
	q, err := readQuery(r)
	if err != nil {
		return failed(err)
	}
	return list(r, q, s.store.view().categories.records)
}

func (s *Server) createCategory(r *http.Request) response {
	added, err := write(s, r, readCategory, (*state).addCategory)
	return created(r, added, err)
}

func (s *Server) getCategory(r *http.Request) response {
	return respond(find(r, s.store.view().categories))
}

func (s *Server) replaceCategory(r *http.Request) response {
	return respond(write(s, r, readCategory, (*state).replaceCategory))
}

func (s *Server) deleteCategory(r *http.Request) response {
	return remove(s, r, (*state).removeCategory)
}

func (s *Server) listOrders(r *http.Request) response {
	q, err := readQuery(r)
	if err != nil {
		return failed(err)
	}
	return list(r, q, s.store.view().orders.records)
}

func (s *Server) createOrder(r *http.Request) response {
	added, err := write(s, r, readOrder, (*state).addOrder)
	return created(r, added, err)
}

func (s *Server) getOrder(r *http.Request) response {
	return respond(find(r, s.store.view().orders))
}

func (s *Server) replaceOrder(r *http.Request) response {
	return respond(write(s, r, readOrder, (*state).replaceOrder))
}

func (s *Server) cancelOrder(r *http.Request) response {
	return remove(s, r, (*state).cancelOrder)
}

func (s *Server) listInventory(r *http.Request) response {
	q, err := readQuery(r)
	if err != nil {
		return failed(err)
	}
	pets, header := page(r, q, s.store.view().pets.records)
	items := make([]InventoryItem, len(pets))
	for i, pet := range pets {
		items[i] = pet.value.inventoryItem()
	}
	return response{status: http.StatusOK, body: encode(items), header: header}
}

func (s *Server) getInventory(r *http.Request) response {
	return respondItem(find(r, s.store.view().pets))
}

func (s *Server) updateInventory(r *http.Request) response {
	return respondItem(write(s, r, readInventoryUpdate, (*state).setQuantity))
}

// write reads the body of a request, and updates the store with it.
func write[Input, T any](s *Server, r *http.Request, read func(*object) Input,
	change func(*state, Input) (*record[T], error)) (*record[T], error) {
	body, err := readBody(r, read)
	if err != nil {
		return nil, err
	}
	return update(s.store, body, change)
}

// remove removes the record with the id in the path.
func remove[T any](s *Server, r *http.Request,
	change func(*state, int64) (*record[T], error)) response {
	id, err := pathID(r)
	if err != nil {
		return failed(err)
	}
	if _, err := update(s.store, id, change); err != nil {
		return failed(err)
	}
	return response{status: http.StatusNoContent}
}

// find returns the record with the id in the path.
func find[T any](r *http.Request, t table[T]) (*record[T], error) {
	id, err := pathID(r)
	if err != nil {
		return nil, err
	}
	return t.get(id)
}

// pathID returns the id in the path, or 0 if the route has none.
func pathID(r *http.Request) (int64, error) {
	text := cmp.Or(r.PathValue("id"), "0")
	id, err := integer("id", text, math.MinInt64, math.MaxInt64)
	if err != nil {
		err = newError(invalidParameter, "The id in the path must be a plain 64-bit integer.")
	}
	return id, err
}

// respond turns what find or write returns into a response.
func respond[T any](r *record[T], err error) response {
	if err != nil {
		return failed(err)
	}
	return response{status: http.StatusOK, body: r.json}
}

// respondItem is like respond, but for the stock of a pet.
func respondItem(pet *record[storedPet], err error) response {
	if err != nil {
		return failed(err)
	}
	return response{status: http.StatusOK, body: encode(pet.value.inventoryItem())}
}

// created is like respond, but for a record that a POST added. It puts the path of the record in
// Location.
func created[T any](r *http.Request, added *record[T], err error) response {
	if err != nil {
		return failed(err)
	}
	location := http.Header{"Location": {fmt.Sprintf("%s/%d", r.URL.Path, added.id)}}
	return response{status: http.StatusCreated, body: added.json, header: location}
}

// list returns a response with a page of records.
func list[T any](r *http.Request, q query, all []*record[T]) response {
	records, header := page(r, q, all)
	body := append(make([]byte, 0, 96*len(records)), '[') // room for records of the usual size
	for _, found := range records {
		body = append(append(body, found.json...), ",\n"...)
	}
	body = append(bytes.TrimSuffix(body, []byte(",\n")), ']')
	return response{status: http.StatusOK, body: body, header: header}
}

// page returns the records that a query asks for and, if more follow, a Link header with the URL of
// the next page (RFC 8288). For example, given records 1, 2, 3 and 5, limit=2 returns 1 and 2 with
// a link to ?after=2&limit=2, which returns 3 and 5 without a link.
func page[T any](r *http.Request, q query, records []*record[T]) ([]*record[T], http.Header) {
	first, found := search(records, q.after)
	if found {
		first++
	}
	records = records[first:]
	if int64(len(records)) <= q.limit {
		return records, nil
	}
	records = records[:q.limit]
	values := r.URL.Query()
	values.Set("after", strconv.FormatInt(records[q.limit-1].id, 10))
	values.Set("limit", strconv.FormatInt(q.limit, 10))
	next := fmt.Sprintf(`<%s?%s>; rel="next"`, r.URL.Path, values.Encode())
	return records, http.Header{"Link": {next}}
}

// A query holds the query parameters of a list request. An omitted filter is zero.
type query struct {
	limit      int64 // the number of records on a page
	after      int64 // only records with greater ids
	status     PetStatus
	categoryID int64
}

func (q query) matches(p Pet) bool {
	return (q.status == "" || q.status == p.Status) &&
		(q.categoryID == 0 || q.categoryID == p.CategoryID)
}

// readQuery reads the query parameters of a request for a list that has the given filters.
func readQuery(r *http.Request, filters ...string) (query, error) {
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return query{}, newError(invalidParameter,
			"The query must consist of percent-encoded name=value pairs joined by &.")
	}
	q := query{limit: 20}
	names := append([]string{"limit", "after"}, filters...)
	for _, name := range slices.Sorted(maps.Keys(values)) { // the same error each time
		text := values.Get(name)
		switch {
		case !slices.Contains(names, name):
			err = newError(invalidParameter,
				"The parameter %.40q is unknown; use one of %s.", name, strings.Join(names, ", "))
		case len(values[name]) > 1 || text == "":
			err = newError(invalidParameter, "%s must not be repeated or empty.", name)
		case name == "limit":
			q.limit, err = integer(name, text, 1, 100)
		case name == "after":
			q.after, err = integer(name, text, 0, math.MaxInt64)
		case name == "categoryId":
			q.categoryID, err = integer(name, text, 1, math.MaxInt64)
		case name == "status":
			q.status = PetStatus(text)
			if !q.status.valid() {
				err = newError(invalidParameter, "status must be %s.", aStatus)
			}
		}
		if err != nil {
			return query{}, err
		}
	}
	return q, nil
}

// integer parses an integer in canonical form: not +1, 01 or 1.0.
func integer(name, text string, low, high int64) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || strconv.FormatInt(n, 10) != text || n < low || n > high {
		return 0, newError(invalidParameter,
			"%s must be an integer from %d to %d.", name, low, high)
	}
	return n, nil
}

const maxBody = 64 << 10 // bytes

// readBody reads the JSON body of a POST, PUT or PATCH. A body that is refused because of its type
// or declared length is not read, so a client that waits for 100 Continue need not send it.
func readBody[T any](r *http.Request, read func(*object) T) (none T, err error) {
	id, err := pathID(r)
	if err != nil {
		return none, err
	}
	contentType := cmp.Or(r.Header.Get("Content-Type"), "application/json")
	mediaType, _, _ := strings.Cut(contentType, ";")
	if !strings.EqualFold(strings.TrimSpace(mediaType), "application/json") {
		return none, newError(unsupportedMediaType,
			"The body must be JSON; send it with Content-Type: application/json.")
	}
	tooLarge := newError(payloadTooLarge, "The body must be at most %d bytes.", maxBody)
	if r.ContentLength > maxBody {
		return none, tooLarge
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	if err != nil {
		return none, newError(incompleteBody,
			"The body ended early or arrived too slowly; send it again.")
	}
	if len(body) > maxBody {
		return none, tooLarge
	}
	return decode(body, object{pathID: id}, read)
}

// getHealth reports when this server was started, so that a page can detect a restart.
func (s *Server) getHealth(*http.Request) response {
	started := s.started.UTC().Format(time.RFC3339Nano)
	body := fmt.Appendf(nil, `{"status":"ok","started":%q}`, started)
	return response{status: http.StatusOK, body: body}
}

// getKeys returns the demo keys, for the page to offer, or [] if they are not in use.
func (s *Server) getKeys(*http.Request) response {
	keys := "[]"
	if s.limits.demo {
		keys = demoKeys
	}
	return response{status: http.StatusOK, body: []byte(keys)}
}

//go:embed docs/openapi.json
var openAPI []byte

// getDescription returns the description with the address of this server.
func (s *Server) getDescription(*http.Request) response {
	const described = "http://localhost:8080"
	body := bytes.ReplaceAll(openAPI, []byte(described), []byte(cmp.Or(s.baseURL, described)))
	return response{status: http.StatusOK, body: body}
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
func getReferenceFile(r *http.Request) response {
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
	}}
}
