package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"
)

// A description is what the tests read of docs/openapi.json, with every $ref replaced by what it
// refers to.
type description struct {
	OpenAPI    string
	Info       struct{ Title, Version string }
	Tags       []tag
	Paths      map[string]map[string]operation // by path and method
	Components struct {
		Schemas         map[string]schema
		SecuritySchemes map[string]any
	}
	operations map[string]operation // those of Paths, by a pattern such as "GET /pets/{petId}"
}

type tag struct {
	Name   string
	Parent string `json:"x-parent"`
}

type operation struct {
	OperationID string
	Tags        []string
	Parameters  []parameter
	RequestBody message
	Responses   map[int]message // by status
	labels
}

// labels are how an operation differs from the others in tools that show them.
type labels struct {
	Deprecated bool
	Sunset     string `json:"x-deprecated-sunset"`
	Stability  string `json:"x-stability"`
	HideTryIt  bool   `json:"x-hideTryItPanel"`
}

type parameter struct {
	Name, In string
	Required bool
	Schema   schema
	Example  any
}

// A message is a request body or a response.
type message struct {
	Description string
	Headers     map[string]parameter
	Content     map[string]struct { // by media type
		Schema   schema
		Examples map[string]example
	}
}

type example struct {
	Summary string
	Value   json.RawMessage
	Try     mistake `json:"x-try"`
}

// A mistake changes a valid request so that it gets the error of an example. The page offers it.
type mistake struct {
	Parameters, Headers map[string]string
	Query               string
	Body                any            // fields, of which null removes one, or all of it
	Letters             map[string]int // fields with that many letters
}

type schema struct {
	Type, Description, Pattern             string
	Enum                                   []string
	Codes                                  map[string]struct{ Status int } `json:"x-codes"`
	Properties                             map[string]schema
	Required                               []string
	Minimum, Maximum, MinLength, MaxLength *int64
	AdditionalProperties                   any
	Items                                  *schema
}

// check reports what of the JSON in a response is not as the schema describes it.
func (s schema) check(t testing.TB, what string, value any) {
	t.Helper()
	switch value := value.(type) {
	case map[string]any:
		for name, field := range value {
			if property, found := s.Properties[name]; found {
				property.check(t, what+", "+name, field)
			} else {
				t.Errorf("%s: %s is not described", what, name)
			}
		}
		for _, name := range s.Required {
			if _, given := value[name]; !given {
				t.Errorf("%s: %s is missing", what, name)
			}
		}
	case []any:
		for _, item := range value {
			s.Items.check(t, what, item)
		}
	default:
		types := map[string]string{"bool": "boolean", "float64": "integer", "string": "string"}
		equal(t, what+": described type", s.Type, types[fmt.Sprintf("%T", value)])
	}
}

// A value is what a parameter or a property may be, or may not.
type value struct {
	json  any
	valid bool
}

// values returns the lowest and the highest value that are described, those beyond, and those that
// are enumerated. The bounds of a string are those of its length.
func (s schema) values() (values []value) {
	sized := func(size int64) any {
		if s.Type == "string" {
			return strings.Repeat("x", int(size))
		}
		return size
	}
	if lowest := cmp.Or(s.Minimum, s.MinLength); lowest != nil {
		values = append(values, value{sized(*lowest), true}, value{sized(*lowest - 1), false})
	}
	if highest := cmp.Or(s.Maximum, s.MaxLength); highest != nil {
		values = append(values, value{sized(*highest), true}, value{sized(*highest + 1), false})
	}
	for _, text := range s.Enum {
		values = append(values, value{text, true})
	}
	return values
}

var reference = regexp.MustCompile(`\{\s*"\$ref":\s*"#/components/(\w+)/(\w+)"\s*\}`)

// theDescription reads docs/openapi.json, once.
var theDescription = sync.OnceValue(func() (d description) {
	var document struct {
		Components map[string]map[string]json.RawMessage
	}
	json.Unmarshal(openAPI, &document)
	whole := openAPI
	for reference.Match(whole) { // what one refers to may have others
		whole = reference.ReplaceAllFunc(whole, func(found []byte) []byte {
			to := reference.FindSubmatch(found)
			return document.Components[string(to[1])][string(to[2])]
		})
	}
	if err := json.Unmarshal(whole, &d); err != nil {
		panic(err)
	}
	d.operations = map[string]operation{}
	for path, operations := range d.Paths {
		for method, o := range operations {
			d.operations[strings.ToUpper(method)+" "+path] = o
		}
	}
	return d
})

// expectDescribed expects what docs/openapi.json says of the response to a request of the API, of
// each error, and of what all of them have.
func (r *reply) expectDescribed() {
	r.s.t.Helper()
	if r.StatusCode >= 400 && r.Request.Method != "HEAD" {
		r.expectErrorObject()
	}
	if !openPath.MatchString(r.Request.URL.Path) {
		r.expectHeaders()
	}
	_, pattern := r.s.mux.Handler(r.Request)
	o, found := theDescription().operations[pattern]
	clean := path.Clean("/" + r.Request.URL.Path) // to which the mux would redirect
	if found && r.Request.URL.Path == clean {
		r.expectOperation(o)
	}
}

var (
	openPath = regexp.MustCompile(`^(/?|/healthz|/openapi\.json|/docs/[^/]*)$`)
	// internals matches what no client should see.
	internals = regexp.MustCompile(`json: |struct|int64|0x|\.go|/tmp|goroutine|\n`)
	// general matches the headers that are not described for each operation.
	general = regexp.MustCompile(
		`^(Cache-Control|Connection|Content-(Length|Type)|Vary|Access-Control-.*)$`)
)

// expectErrorObject expects an Error, and nothing else, with a message for people.
func (r *reply) expectErrorObject() {
	r.s.t.Helper()
	e := r.err()
	r.compare(r.body, string(encode(e))+"\n")
	what := r.sent + ": " + e.Code
	equal(r.s.t, what+": type", r.Header.Get("Content-Type"), "application/json")
	equal(r.s.t, what+": status in the body", e.Status, r.StatusCode)
	equal(r.s.t, what+": status", r.StatusCode, statusOfCode[e.Code])
	if internals.MatchString(e.Message) || !strings.HasSuffix(e.Message, ".") {
		r.s.t.Errorf("%s: %q is no sentence for a client", what, e.Message)
	}
}

// expectHeaders expects the headers that each response of the API has.
func (r *reply) expectHeaders() {
	r.s.t.Helper()
	for _, name := range []string{"Limit", "Remaining", "Reset"} {
		value := r.Header.Get("X-RateLimit-" + name)
		if _, err := strconv.ParseUint(value, 10, 64); err != nil {
			r.s.t.Errorf("%s: X-RateLimit-%s is %q", r.sent, name, value)
		}
	}
	wantType := "application/json"
	if r.StatusCode == http.StatusNoContent {
		wantType = ""
	}
	equal(r.s.t, r.sent+": type", r.Header.Get("Content-Type"), wantType)
	equal(r.s.t, r.sent+": Cache-Control", r.Header.Get("Cache-Control"), "no-store")
}

// expectOperation expects a response that an operation can have.
func (r *reply) expectOperation(o operation) {
	r.s.t.Helper()
	code := r.err().Code
	what := fmt.Sprintf("%s: the %d %s", r.sent, r.StatusCode, code)
	described, found := o.Responses[r.StatusCode]
	if !found || code != "" && !strings.Contains(described.Description, "`"+code+"`: ") {
		r.s.t.Errorf("%s is not described", what)
	}
	if r.body != "" {
		described.Content["application/json"].Schema.check(r.s.t, what, valueIn([]byte(r.body)))
	}
	others := r.Header.Clone()
	for name, p := range described.Headers {
		if p.Required && others.Get(name) == "" {
			r.s.t.Errorf("%s has no %s", what, name)
		}
		others.Del(name)
	}
	for name := range others {
		if !general.MatchString(name) {
			r.s.t.Errorf("%s has the header %s, which is not described", what, name)
		}
	}
}

// What clients rely on is written out here, so that none of it changes by accident. If you change
// something on purpose, change its line.
func TestDescription(t *testing.T) {
	d := theDescription()
	t.Run("operations", func(t *testing.T) {
		tests := []struct{ pattern, operationID, tag string }{
			{"GET /pets", "listPets", "animals"},
			{"POST /pets", "createPet", "animals"},
			{"GET /pets/{petId}", "getPet", "animals"},
			{"PUT /pets/{petId}", "replacePet", "animals"},
			{"DELETE /pets/{petId}", "deletePet", "animals"},
			{"GET /categories", "listCategories", "categories"},
			{"POST /categories", "createCategory", "categories"},
			{"GET /categories/{categoryId}", "getCategory", "categories"},
			{"PUT /categories/{categoryId}", "replaceCategory", "categories"},
			{"DELETE /categories/{categoryId}", "deleteCategory", "categories"},
			{"GET /store/orders", "listOrders", "orders"},
			{"POST /store/orders", "createOrder", "orders"},
			{"GET /store/orders/{orderId}", "getOrder", "orders"},
			{"PUT /store/orders/{orderId}", "replaceOrder", "orders"},
			{"DELETE /store/orders/{orderId}", "cancelOrder", "orders"},
			{"GET /inventory", "listInventory", "inventory"},
			{"GET /inventory/{petId}", "getInventory", "inventory"},
			{"PATCH /inventory/{petId}", "updateInventory", "inventory"},
		}
		differ := map[string]labels{
			"getPet":          {Deprecated: true, Sunset: "2030-12-05"},
			"listOrders":      {HideTryIt: true},
			"cancelOrder":     {Stability: "beta"},
			"updateInventory": {Stability: "experimental"},
		}
		for _, test := range tests {
			o := d.operations[test.pattern]
			equal(t, test.pattern+": operationId", o.OperationID, test.operationID)
			equal(t, test.pattern+": tags", o.Tags, []string{test.tag})
			equal(t, test.pattern+": labels", o.labels, differ[test.operationID])
			for _, status := range []int{401, 403, 429, 500, 503} { // TestExamples gets the others
				if _, found := o.Responses[status]; !found {
					t.Errorf("%s: a %d is not described", test.pattern, status)
				}
			}
		}
		equal(t, "number of operations", len(d.operations), len(tests))
		routes := newService(t, Options{}).operations()
		equal(t, "routes of the program", slices.Sorted(maps.Keys(routes)),
			slices.Sorted(maps.Keys(d.operations)))
	})
	t.Run("names", func(t *testing.T) {
		equal(t, "openapi, title and version", []string{d.OpenAPI, d.Info.Title, d.Info.Version},
			[]string{"3.0.3", "Petstore API", "1.0.0"})
		equal(t, "securitySchemes", slices.Sorted(maps.Keys(d.Components.SecuritySchemes)),
			[]string{"apiKeyAuth", "bearerAuth"})
		equal(t, "tags", d.Tags, []tag{{"Pets", ""}, {"animals", "Pets"}, {"categories", "Pets"},
			{"Store", ""}, {"orders", "Store"}, {"inventory", "Store"}})
	})
	t.Run("codes", func(t *testing.T) {
		code, statuses := d.Components.Schemas["Error"].Properties["code"], map[string]int{}
		for name, described := range code.Codes {
			statuses[name] = described.Status
		}
		equal(t, "x-codes", statuses, statusOfCode)
		equal(t, "enum", slices.Sorted(slices.Values(code.Enum)),
			slices.Sorted(maps.Keys(statusOfCode)))
	})
	t.Run("requests have the fields of responses, and no others", func(t *testing.T) {
		for _, name := range []string{"Pet", "Category"} {
			request, response := d.Components.Schemas["New"+name], d.Components.Schemas[name]
			equal(t, "additional properties", request.AdditionalProperties, any(false))
			equal(t, "properties of New"+name, slices.Sorted(maps.Keys(request.Properties)),
				slices.Sorted(maps.Keys(response.Properties)))
		}
	})
}

// exampleOf returns a valid request for an operation: the examples of its parameters in the path,
// and that of its body. A mistake changes it.
func exampleOf(pattern string, o operation, m mistake) *http.Request {
	method, path, _ := strings.Cut(pattern, " ")
	target, query := path, url.Values{}
	for _, p := range o.Parameters {
		value, given := m.Parameters[p.Name]
		if p.In == "path" {
			value = cmp.Or(value, fmt.Sprint(p.Example))
			target = strings.Replace(target, "{"+p.Name+"}", value, 1)
		} else if given {
			query.Set(p.Name, value)
		}
	}
	target += "?" + query.Encode() + m.Query
	body, isText := m.Body.(string)
	example := o.RequestBody.Content["application/json"].Examples["full"].Value
	if fields, hasBody := valueIn(example).(map[string]any); hasBody && !isText {
		changes, _ := m.Body.(map[string]any)
		maps.Copy(fields, changes)
		for field, count := range m.Letters {
			fields[field] = strings.Repeat("x", count)
		}
		maps.DeleteFunc(fields, func(_ string, value any) bool { return value == nil })
		body = string(encode(fields))
	}
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer demo-free")
	for name, value := range m.Headers {
		r.Header.Set(name, value)
	}
	return r
}

// Each example of a response is what the program sends on its sample data after a request as
// described, or after the mistake that the example tells of. The examples of a response have all
// codes that its description names. So the program really sends each code where it is described; if
// it sends one elsewhere, checkDescribed fails the test that gets it.
func TestExamples(t *testing.T) {
	for pattern, o := range theDescription().operations {
		for status, response := range o.Responses {
			codes := map[string]bool{}
			for name, example := range response.Content["application/json"].Examples {
				if status >= 400 {
					codes[errorIn(example.Value).Code] = true
				}
				rule := fmt.Sprint(o.OperationID, " ", status, " ", name)
				inFakeTime(t, rule, func(t *testing.T) {
					r := exampleOf(pattern, o, example.Try)
					s := provoke(t, name, r)
					resp := s.sendRequest(r)
					resp.expect(status, string(example.Value))
					if example.Summary == "" {
						t.Error("the example has no summary")
					}
					if status >= 400 {
						return
					}
					for name, described := range response.Headers {
						varies := name == "X-RateLimit-Reset" || name == "Location"
						got := resp.Header.Get(name)
						if got != "" && described.Example != nil && !varies {
							equal(t, name, got, fmt.Sprint(described.Example))
						}
					}
					target := cmp.Or(resp.Header.Get("Location"), r.URL.String())
					s.send("GET "+target, "").expect(200, string(example.Value))
				})
			}
			for code := range statusOfCode {
				if strings.Contains(response.Description, "`"+code+"`: ") != codes[code] {
					t.Errorf("%s %d: only one of description and examples has %s", o.OperationID,
						status, code)
				}
			}
		}
	}
}

// valueIn reads the JSON of a response.
func valueIn(data []byte) (value any) {
	json.Unmarshal(data, &value)
	return value
}

// provoke returns a service on which the request gets the error of an example. It changes the
// request if x-try cannot say how. It is called in fake time.
func provoke(t *testing.T, example string, r *http.Request) *service {
	s := newService(t, Options{})
	spend := func(count int, every time.Duration) {
		for range count {
			s.limits.admit("demo-free", time.Now())
			time.Sleep(every)
		}
	}
	switch example {
	case "BodyIncomplete":
		r.Body = io.NopCloser(iotest.ErrReader(io.ErrUnexpectedEOF))
	case "RateLimited":
		spend(60, 0)
	case "DayUsedUp":
		spend(1000, time.Second)
	case "KeyBanned":
		spend(300, time.Second/10)
	case "InternalError":
		s.store = nil // so that each handler panics
	case "SaveFailed":
		s = newService(t, Options{Data: freshPath(t)})
		breakDisk(t, s.store.path)
	case "FileChanged":
		s = newService(t, Options{Data: freshPath(t)})
		writeFile(t, s.store.path, "{}")
	case "FailedOnPurpose", "WriteFailedOnPurpose":
		s = newService(t, Options{Fail: "1/1"})
	}
	return s
}

// The program takes and refuses the values of a query and of a body that are described so.
func TestDescribedValues(t *testing.T) {
	for pattern, o := range theDescription().operations {
		t.Run(o.OperationID, func(t *testing.T) {
			check := func(name string, v value, m mistake) {
				t.Helper()
				resp := newService(t, Options{}).sendRequest(exampleOf(pattern, o, m))
				message := resp.err().Message
				refused := resp.StatusCode == 400 && strings.HasPrefix(message, name+" ")
				taken := resp.StatusCode < 300 || resp.StatusCode == 409
				if v.valid && !taken || !v.valid && !refused {
					t.Errorf("%s %.50v, described as valid: %t, gets status %d, %q", name, v.json,
						v.valid, resp.StatusCode, message)
				}
			}
			for _, p := range o.Parameters {
				for _, v := range p.Schema.values() {
					text := fmt.Sprint(v.json)
					check(p.Name, v, mistake{Parameters: map[string]string{p.Name: text}})
				}
			}
			body := o.RequestBody.Content["application/json"].Schema
			for name, property := range body.Properties {
				isRequired := slices.Contains(body.Required, name)
				var leftOut any // as exampleOf has it
				values := append(property.values(), value{leftOut, !isRequired}, value{1.5, false})
				for _, text := range []string{"Rex", "Zoë", "\nx", " ", "\u0085"} {
					if property.Pattern != "" {
						matches := regexp.MustCompile(property.Pattern).MatchString(text)
						values = append(values, value{text, matches})
					}
				}
				for _, v := range values {
					check(name, v, mistake{Body: map[string]any{name: v.json}})
				}
			}
		})
	}
}
