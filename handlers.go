package main

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"math"
	"mime"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxBody is the largest request body, in bytes.
const maxBody = 64 << 10

// docs holds the description of the API and the page that shows it.
//
//go:embed docs
var docs embed.FS

// deprecation announces the end of getPet (RFC 9745, RFC 8594): deprecated on 2026-11-20.
var deprecation = []headerLine{
	{"Deprecation", "@1795132800"},
	{"Sunset", "Thu, 05 Dec 2030 00:00:00 GMT"},
	{"Link", `</pets>; rel="successor-version"`},
}

// Server answers the requests of the API from its store.
type Server struct {
	store      *Store
	limits     *Limits
	log        *log.Logger
	verbose    bool   // log each request
	origin     string // whose pages may call the API (CORS); empty: none
	publicKeys string // the demo keys, where the server runs on them
	mux        *http.ServeMux
}

// A route is a pattern of http.ServeMux and what answers it.
type route struct {
	pattern string
	handler handler
}

// routes is the API, as docs/openapi.json describes it.
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

// handler returns the whole service: the API, and the pages that need no key and spend no quota.
func (s *Server) handler() http.Handler {
	s.mux = http.NewServeMux()
	for _, route := range s.routes() {
		s.mux.Handle(route.pattern, s.serve(route.handler, false))
	}
	s.mux.Handle("/", s.serve(s.noRoute, false))
	for _, page := range []route{{"/{$}", s.page}, {"/docs/{file}", s.page}, {"/openapi.json", s.page}, {"/healthz", s.health}} {
		s.mux.Handle("GET "+page.pattern, s.serve(page.handler, true))
		s.mux.Handle(page.pattern, s.serve(s.noRoute, true))
	}
	s.mux.Handle("GET /docs/keys.json", s.serve(s.keys, true))
	return s.mux
}

// noRoute answers 405 where the path is known with another method (RFC 9110, section 15.5.6), and 404 elsewhere.
func (s *Server) noRoute(r *http.Request) (answer, error) {
	var allowed []string
	for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"} {
		_, pattern := s.mux.Handler(&http.Request{Method: method, URL: r.URL, Host: r.Host})
		if strings.Contains(pattern, " ") { // a pattern without a method leads back here
			allowed = append(allowed, method)
		}
	}
	if allowed == nil || slices.Contains(allowed, r.Method) {
		return answer{}, fail(http.StatusNotFound, "There is nothing at this path; GET /openapi.json lists the operations.")
	}
	allow := strings.Join(allowed, ", ")
	return answer{}, fail(http.StatusMethodNotAllowed, "This path does not take the method; use %s.", allow).with("Allow", allow)
}

// page answers with a file of docs. Its policy lets it load nothing from elsewhere, and a browser that has it
// asks each time whether it is still the same (RFC 9110, section 13.1.2).
func (s *Server) page(r *http.Request) (answer, error) {
	name := cmp.Or(r.PathValue("file"), strings.TrimPrefix(r.URL.Path, "/"), "index.html")
	body, err := docs.ReadFile("docs/" + name)
	if err != nil {
		return s.noRoute(r)
	}
	etag := fmt.Sprintf(`"%x"`, sha256.Sum256(body))
	a := answer{http.StatusOK, body, []headerLine{
		{"Content-Type", contentTypes[path.Ext(name)]},
		{"Content-Security-Policy", "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
		{"X-Content-Type-Options", "nosniff"},
		{"Cache-Control", "no-cache"},
		{"ETag", etag},
	}}
	if r.Header.Get("If-None-Match") == etag {
		a.status, a.body = http.StatusNotModified, nil
	}
	return a, nil
}

// contentTypes are those of the files in docs, on every system alike.
var contentTypes = map[string]string{
	".html": "text/html; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".json": "application/json",
	".png":  "image/png",
	".svg":  "image/svg+xml",
}

// keys tells the page which keys it may offer: the demo keys, and none where the server has its own.
func (s *Server) keys(*http.Request) (answer, error) {
	return answer{status: http.StatusOK, body: []byte(cmp.Or(s.publicKeys, "[]"))}, nil
}

func (s *Server) health(*http.Request) (answer, error) {
	if s.store.failing() != nil {
		return answer{}, errUnsaved
	}
	return answer{status: http.StatusOK, body: []byte(`{"status":"ok"}` + "\n")}, nil
}

func (s *Server) listPets(r *http.Request) (answer, error) {
	q := parseQuery(r, "status", "categoryId")
	status, category := PetStatus(q.values.Get("status")), q.number("categoryId", 0, 1, math.MaxInt64)
	if status != "" && !slices.Contains(statuses, status) {
		q.err = cmp.Or(q.err, invalid("status must be available, pending or sold."))
	}
	return list(s, q, pets, func(p *Pet) bool {
		return (status == "" || p.Status == status) && (category == 0 || p.CategoryID == category)
	})
}

func (s *Server) createPet(r *http.Request) (answer, error) {
	return keep(s, r, pets, &NewPet{Status: Available}, makePet)
}

func (s *Server) getPet(r *http.Request) (answer, error) {
	a, err := get(s, r, pets)
	if err != nil {
		a = s.failure(err)
	}
	a.header = deprecation
	return a, nil
}

func (s *Server) replacePet(r *http.Request) (answer, error) {
	return keep(s, r, pets, &NewPet{Status: Available}, makePet)
}

func makePet(next *state, id int64, body *NewPet, old Pet) (Pet, error) {
	return Pet{id, *body, old.Quantity}, next.checkCategory(body.CategoryID)
}

func (s *Server) deletePet(r *http.Request) (answer, error) {
	return remove(s, r, pets, func(next *state, pet Pet) error {
		for id, order := range next.orders.after(0) {
			if order.value.PetID != nil && *order.value.PetID == pet.ID {
				return fail(http.StatusConflict, "Order %d names this pet; cancel or change that order first.", id)
			}
		}
		return nil
	})
}

func (s *Server) listCategories(r *http.Request) (answer, error) {
	return list(s, parseQuery(r), categories, nil)
}

func (s *Server) createCategory(r *http.Request) (answer, error) {
	return keep(s, r, categories, &NewCategory{}, makeCategory)
}

func (s *Server) getCategory(r *http.Request) (answer, error) { return get(s, r, categories) }

func (s *Server) replaceCategory(r *http.Request) (answer, error) {
	return keep(s, r, categories, &NewCategory{}, makeCategory)
}

func makeCategory(_ *state, id int64, body *NewCategory, _ Category) (Category, error) {
	return Category{id, *body}, nil
}

func (s *Server) deleteCategory(r *http.Request) (answer, error) {
	return remove(s, r, categories, func(next *state, category Category) error {
		for id, pet := range next.pets.after(0) {
			if pet.value.CategoryID == category.ID {
				return fail(http.StatusConflict, "Pet %d belongs to this category; delete or change that pet first.", id)
			}
		}
		return nil
	})
}

func (s *Server) listOrders(r *http.Request) (answer, error) {
	return list(s, parseQuery(r), orders, nil)
}

func (s *Server) createOrder(r *http.Request) (answer, error) {
	return keep(s, r, orders, &Order{}, makeOrder)
}

func (s *Server) getOrder(r *http.Request) (answer, error) { return get(s, r, orders) }

func (s *Server) replaceOrder(r *http.Request) (answer, error) {
	return keep(s, r, orders, &Order{}, makeOrder)
}

func makeOrder(next *state, id int64, body *Order, old Order) (Order, error) {
	switch {
	case body.ID != nil && old.ID == nil:
		return old, invalid("id is given by the server; leave it out.")
	case body.ID != nil && *body.ID != id:
		return old, invalid("id must be %d, as in the path, or be left out.", id)
	case old.Complete && !body.Complete:
		return old, fail(http.StatusConflict, "The order is complete and stays so; send complete as true.")
	}
	body.ID = &id
	return *body, next.checkPet(body.PetID)
}

func (s *Server) cancelOrder(r *http.Request) (answer, error) {
	return remove(s, r, orders, func(_ *state, order Order) error {
		if order.Complete {
			return fail(http.StatusConflict, "The order is complete; only an open order can be cancelled.")
		}
		return nil
	})
}

func (s *Server) listInventory(r *http.Request) (answer, error) {
	return list(s, parseQuery(r), inventory, nil)
}

func (s *Server) getInventory(r *http.Request) (answer, error) { return get(s, r, inventory) }

func (s *Server) updateInventory(r *http.Request) (answer, error) {
	return keep(s, r, inventory, &InventoryUpdate{}, func(_ *state, _ int64, body *InventoryUpdate, pet Pet) (Pet, error) {
		pet.Quantity = body.Quantity
		return pet, nil
	})
}

// A kind is a table as the API sees it.
type kind[T any] struct {
	param string // names a record in paths
	table func(*state) *table[T]
	show  func(*record[T]) []byte // the JSON line of a record
}

var (
	categories = kind[Category]{"categoryId", func(st *state) *table[Category] { return &st.categories }, itself[Category]}
	pets       = kind[Pet]{"petId", func(st *state) *table[Pet] { return &st.pets }, itself[Pet]}
	orders     = kind[Order]{"orderId", func(st *state) *table[Order] { return &st.orders }, itself[Order]}
	inventory  = kind[Pet]{"petId", pets.table, inventoryItem}
)

func itself[T any](r *record[T]) []byte { return r.json }

func inventoryItem(r *record[Pet]) []byte {
	return encode(InventoryItem{r.value.ID, r.value.Quantity, r.value.Status})
}

// list answers with the records that match, or all where match is nil, from behind the query's after up
// to its limit, and with a Link to the next ones where more follow (RFC 8288).
func list[T any](s *Server, q *query, k kind[T], match func(*T) bool) (answer, error) {
	limit, after := q.number("limit", 20, 1, 100), q.number("after", 0, 0, math.MaxInt64)
	if q.err != nil {
		return answer{}, q.err
	}
	const usual = 96 // bytes of a record; a list of 100 that grows as it is filled takes twice the time
	a := answer{status: http.StatusOK, body: append(make([]byte, 0, limit*usual), '[')}
	left, last := limit, int64(0)
	for id, record := range k.table(s.store.view()).after(after) {
		if match != nil && !match(&record.value) {
			continue
		}
		if left == 0 {
			a.header = []headerLine{{"Link", q.link(last, limit)}}
			break
		}
		if left < limit {
			a.body = append(a.body, ",\n"...)
		}
		line := k.show(record)
		a.body = append(a.body, line[:len(line)-len("\n")]...)
		left, last = left-1, id
	}
	a.body = append(a.body, "]\n"...)
	return a, nil
}

// get answers with the record that the path names.
func get[T any](s *Server, r *http.Request, k kind[T]) (answer, error) {
	_, record, err := find(s.store.view(), r, k)
	if err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusOK, body: k.show(record)}, nil
}

// keep decodes the body and keeps the record that build returns for it: in the place of the old one where the
// path names one, else under the next id.
func keep[T any, B body](s *Server, r *http.Request, k kind[T], body B,
	build func(next *state, id int64, body B, old T) (T, error)) (answer, error) {
	if err := decode(r, body); err != nil {
		return answer{}, err
	}
	var a answer
	err := s.store.update(func(next *state) error {
		table, created := k.table(next), r.PathValue(k.param) == ""
		id, old := table.last+1, &record[T]{}
		if !created {
			var err error
			if id, old, err = find(next, r, k); err != nil {
				return err
			}
		}
		value, err := build(next, id, body, old.value)
		if err != nil {
			return err
		}
		record := newRecord(value)
		a = answer{status: http.StatusOK, body: k.show(record)}
		if !created {
			table.put(id, record)
			return nil
		}
		a.status = http.StatusCreated
		a.header = []headerLine{{"Location", r.URL.Path + "/" + strconv.FormatInt(id, 10)}}
		return table.insert(id, record)
	})
	return a, err
}

// remove deletes the record that the path names, unless check objects.
func remove[T any](s *Server, r *http.Request, k kind[T], check func(next *state, old T) error) (answer, error) {
	err := s.store.update(func(next *state) error {
		id, old, err := find(next, r, k)
		if err != nil {
			return err
		}
		if err := check(next, old.value); err != nil {
			return err
		}
		k.table(next).put(id, nil)
		return nil
	})
	return answer{status: http.StatusNoContent}, err
}

// find returns the record that the path names.
func find[T any](st *state, r *http.Request, k kind[T]) (int64, *record[T], error) {
	id, ok := integer(r.PathValue(k.param))
	if !ok {
		return 0, nil, invalid("%s in the path must be an integer of 64 bits.", k.param)
	}
	record := k.table(st).get(id)
	if record == nil {
		return 0, nil, fail(http.StatusNotFound, "Nothing has the %s %d; GET %s lists what there is.", k.param, id, path.Dir(r.URL.Path))
	}
	return id, record, nil
}

// A query holds the parameters of a list, and what is wrong with them.
type query struct {
	path   string
	values url.Values
	err    error
}

// parseQuery accepts limit, after and the filters of a list, each once and not empty.
func parseQuery(r *http.Request, filters ...string) *query {
	names := append([]string{"limit", "after"}, filters...)
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		err = invalid("The query must be name=value pairs joined by &, percent-encoded.")
	}
	for name, given := range values {
		if !slices.Contains(names, name) {
			err = invalid("The parameter %.40q is unknown; use %s.", name, strings.Join(names, ", "))
		} else if len(given) > 1 || given[0] == "" {
			err = invalid("%s must be given once, with a value.", name)
		}
	}
	return &query{r.URL.Path, values, err}
}

// number returns an integer parameter, or its default where it is left out.
func (q *query) number(name string, def, lowest, highest int64) int64 {
	if !q.values.Has(name) {
		return def
	}
	n, ok := integer(q.values.Get(name))
	if !ok || n < lowest || n > highest {
		q.err = cmp.Or(q.err, invalid("%s must be an integer from %d to %d.", name, lowest, highest))
	}
	return n
}

// link returns the value of Link for the records that follow the last one (RFC 8288).
func (q *query) link(last, limit int64) string {
	q.values.Set("after", strconv.FormatInt(last, 10))
	q.values.Set("limit", strconv.FormatInt(limit, 10))
	return "<" + q.path + "?" + q.values.Encode() + `>; rel="next"`
}

// integer parses an int64 in its one canonical form: +1, 01 and 1.0 are none.
func integer(text string) (int64, bool) {
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil && strconv.FormatInt(n, 10) == text
}

// decode reads the body of a request into b, and validates it.
func decode(r *http.Request, b body) error {
	if given := r.Header.Get("Content-Type"); given != "" && given != "application/json" { // the usual one needs no parsing
		mediaType, parameters, err := mime.ParseMediaType(given)
		if err != nil || mediaType != "application/json" || !strings.EqualFold(cmp.Or(parameters["charset"], "utf-8"), "utf-8") {
			return fail(http.StatusUnsupportedMediaType, "The body must be JSON in UTF-8; send it with Content-Type: application/json.")
		}
	}
	data, err := io.ReadAll(r.Body)
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return fail(http.StatusRequestEntityTooLarge, "The body must be at most %d bytes.", tooLarge.Limit)
	}
	if err != nil {
		return invalid("The body could not be read to its end; send it whole and without long pauses.")
	}
	return decodeObject(data, b)
}

// decodeObject reads a flat JSON object strictly, and validates it: each field is known, spelled to the letter,
// given once, of its type and not null, and no required one is missing.
func decodeObject(data []byte, b body) error {
	if _, err := readDocument(data, b.fields()); err != nil {
		return err
	}
	return b.validate()
}

// readDocument reads data, which must be one JSON object (RFC 8259) in UTF-8. With an error comes the offset
// of the fault.
func readDocument(data []byte, fields []field) (fault int, err error) {
	if !json.Valid(data) {
		var syntax *json.SyntaxError
		errors.As(json.Unmarshal(data, new(json.RawMessage)), &syntax)
		return max(0, int(syntax.Offset)-1), invalid("The JSON is malformed at byte %d: %v.", syntax.Offset, syntax)
	}
	if !utf8.Valid(data) {
		fault = bytes.IndexByte(bytes.ToValidUTF8(data, []byte{0xFF}), 0xFF) // a byte that no valid text has
		return fault, invalid("The JSON is not UTF-8 at byte %d.", fault+1)
	}
	s := &scanner{data: data}
	if s.token()[0] != '{' {
		return s.at, invalid("The JSON must be one object.")
	}
	err = s.object(fields)
	return s.at, err
}

// A scanner cuts well-formed JSON into tokens. Commas and colons pass for white space, for where they stand
// says nothing that the order of the others does not.
type scanner struct {
	data []byte
	at   int // the end of the last token
}

// token returns the next token: a string in its quotes, a number, a word, or a bracket.
func (s *scanner) token() []byte {
	for s.data[s.at] <= ' ' || s.data[s.at] == ',' || s.data[s.at] == ':' {
		s.at++
	}
	start := s.at
	s.at++
	switch s.data[start] {
	case '{', '}', '[', ']':
	case '"':
		for ; s.data[s.at] != '"'; s.at++ {
			if s.data[s.at] == '\\' {
				s.at++
			}
		}
		s.at++
	default:
		for s.at < len(s.data) && strings.IndexByte(" \t\r\n,]}", s.data[s.at]) < 0 {
			s.at++
		}
	}
	return s.data[start:s.at]
}

// object reads the fields of an object, from behind its opening brace to its end.
func (s *scanner) object(fields []field) error {
	given := make([]bool, len(fields))
	for token := s.token(); token[0] != '}'; token = s.token() {
		name, _ := unquote(token)
		i := slices.IndexFunc(fields, func(f field) bool { return f.name == string(name) })
		if i < 0 {
			return invalid("The field %.40q is unknown; leave it out.", name)
		}
		if given[i] {
			return invalid("%s must be given once, not twice.", name)
		}
		given[i] = true
		if err := fields[i].read(s); err != nil {
			return err
		}
	}
	for i, field := range fields {
		if field.required && !given[i] {
			return invalid("%s is missing; it must be %s.", field.name, field.kind())
		}
	}
	return nil
}

// read reads the value of the field.
func (f field) read(s *scanner) error {
	token := s.token()
	text, quoted := unquote(token)
	ok := false
	switch into := f.into.(type) {
	case *bool:
		*into = token[0] == 't'
		ok = *into || token[0] == 'f'
	case *int64:
		n, err := strconv.ParseInt(string(token), 10, 64)
		*into, ok = n, err == nil
	case **int64:
		n, err := strconv.ParseInt(string(token), 10, 64)
		*into, ok = &n, err == nil
	case *string:
		*into, ok = string(text), quoted
	case **string:
		*into, ok = new(string), quoted
		**into = string(text)
	case *PetStatus:
		if i := slices.Index(statuses, PetStatus(text)); i >= 0 {
			*into, ok = statuses[i], true
		}
	case []field:
		if ok = token[0] == '{'; ok {
			return s.object(into)
		}
	case func(*scanner) error:
		if ok = token[0] == '['; ok {
			return into(s)
		}
	}
	if !ok {
		return invalid("%s must be %s.", f.name, f.kind())
	}
	return nil
}

// kind says what read takes for the field.
func (f field) kind() string {
	switch f.into.(type) {
	case *bool:
		return "true or false"
	case *int64, **int64:
		return "an integer of 64 bits, without fraction or exponent"
	case *PetStatus:
		return "available, pending or sold"
	case []field:
		return "an object"
	case func(*scanner) error:
		return "an array"
	}
	return "a string"
}

// unquote returns the text of a token that is a string.
func unquote(token []byte) (text []byte, ok bool) {
	if token[0] != '"' {
		return nil, false
	}
	if bytes.IndexByte(token, '\\') < 0 {
		return token[1 : len(token)-1], true
	}
	var unescaped string
	err := json.Unmarshal(token, &unescaped)
	return []byte(unescaped), err == nil
}
