package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
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
	"unicode/utf8"
)

// A description is what the tests read of docs/openapi.json, with every $ref replaced by what it
// refers to.
type description struct {
	OpenAPI string
	Info    struct {
		Title, Version string
		Plans          map[string]struct{ PerMinute, PerDay int64 } `json:"x-plans"`
	}
	Security []map[string][]string
	Tags     []struct {
		Name   string
		Parent string `json:"x-parent"`
	}
	TagGroups []struct {
		Name string
		Tags []string
	} `json:"x-tagGroups"`
	Paths      map[string]map[string]operation // by path and method
	Components struct {
		Schemas         map[string]schema
		Headers         map[string]parameter
		SecuritySchemes map[string]struct{ Type, Scheme, In, Name string }
	}
	operations map[string]operation // those of Paths, by a pattern such as "GET /pets/{petId}"
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
	Security   any    // in place of the general one
}

type parameter struct {
	Name, In             string
	Required             bool
	Schema               schema
	Description, Example any
}

// A message is a request body or a response.
type message struct {
	Description string
	Required    bool
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
	Type, Format, Pattern          string
	Description, Example           any
	Enum, Required                 []string
	Codes                          map[string]map[string]any `json:"x-codes"`
	Properties                     map[string]schema
	Minimum, Maximum               *int64
	MinLength, MaxLength, MaxItems *int64
	AdditionalProperties, Default  any
	Items                          *schema
}

// A keyword that no test heeds, such as allowEmptyValue, is an error.
func (s *schema) UnmarshalJSON(data []byte) error {
	type plain schema
	return decodeStrictly(data, (*plain)(s))
}

func (p *parameter) UnmarshalJSON(data []byte) error {
	type plain parameter
	return decodeStrictly(data, (*plain)(p))
}

func decodeStrictly(data []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	return dec.Decode(into)
}

// check reports what of the JSON in a response is not as the schema describes it.
func (s schema) check(t testing.TB, what string, value any) {
	t.Helper()
	valid := false
	switch value := value.(type) {
	case map[string]any:
		valid = s.Type == "object"
		for name, field := range value {
			property, found := s.Properties[name]
			equal(t, what+", "+name+" is described", found, true)
			property.check(t, what+", "+name, field)
		}
		for _, name := range s.Required {
			_, given := value[name]
			equal(t, what+" has "+name, given, true)
		}
	case []any:
		valid = s.Type == "array" && (s.MaxItems == nil || int64(len(value)) <= *s.MaxItems)
		for _, item := range value {
			s.Items.check(t, what, item)
		}
	case json.Number:
		low, high := int64(math.MinInt32), int64(math.MaxInt32)
		if s.Format == "int64" {
			low, high = math.MinInt64, math.MaxInt64
		}
		low, high = *cmp.Or(s.Minimum, &low), *cmp.Or(s.Maximum, &high)
		n, err := value.Int64()
		valid = s.Type == "integer" && err == nil && low <= n && n <= high
	case string:
		_, noDate := time.Parse(time.RFC3339, value)
		size := int64(utf8.RuneCountInString(value))
		valid = s.Type == "string" && regexp.MustCompile(s.Pattern).MatchString(value) &&
			slices.Contains([]string{"", "date-time", "uri-reference"}, s.Format) &&
			(s.Enum == nil || slices.Contains(s.Enum, value)) &&
			(s.MinLength == nil || size >= *s.MinLength) &&
			(s.MaxLength == nil || size <= *s.MaxLength) &&
			(s.Format != "date-time" || noDate == nil)
	case bool:
		valid = s.Type == "boolean"
	}
	if !valid {
		t.Errorf("%s is %v, and described as %s %s %s", what, value, s.Type, s.Format, s.Pattern)
	}
}

// A value is what a parameter or a property may be, or may not.
type value struct {
	json  any
	valid bool
}

// values returns the lowest and the highest value that are described, those beyond, those that are
// enumerated, and one in another form. The bounds of a string are those of its length.
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
	if s.Maximum != nil {
		values = append(values, value{int64(1<<32 + 1), false}, value{int64(math.MaxInt64), false})
	}
	if highest := cmp.Or(s.Maximum, s.MaxLength); highest != nil {
		values = append(values, value{sized(*highest), true}, value{sized(*highest + 1), false})
	} else if s.Format == "int64" {
		values = append(values, value{int64(math.MaxInt64), true})
	}
	for _, text := range s.Enum {
		values = append(values, value{text, true}, value{text + "x", false})
	}
	if s.Type == "string" && s.Format != "" {
		values = append(values, value{"2030-12-05", s.Format == "date"},
			value{"2030-12-05T09:30:00Z", s.Format == "date-time"})
	}
	for _, text := range []string{"Rex", "Zoë", "\nx", " ", "\u0085"} {
		if s.Pattern != "" {
			values = append(values, value{text, regexp.MustCompile(s.Pattern).MatchString(text)})
		}
	}
	return values
}

// theDescription reads docs/openapi.json, once.
var theDescription = sync.OnceValue(func() (d description) {
	reference := regexp.MustCompile(`\{\s*"\$ref":\s*"#/components/(\w+)/(\w+)"\s*\}`)
	var document struct {
		Components map[string]map[string]json.RawMessage
	}
	json.Unmarshal(openAPI, &document)
	whole := openAPI
	for reference.Match(whole) { // what one refers to may have others
		whole = reference.ReplaceAllFunc(whole, func(found []byte) []byte {
			to := reference.FindSubmatch(found)
			component := document.Components[string(to[1])][string(to[2])]
			if component == nil || bytes.Contains(component, found) {
				panic(fmt.Sprintf("docs/openapi.json: what is %s?", found))
			}
			return component
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
	if r.StatusCode >= 400 && r.Request.Method != "HEAD" { // an Error, and nothing else
		e, what := r.err(), r.sent+": "+r.err().Code
		r.compare(r.body, string(encode(e))+"\n")
		equal(r.s.t, what+": type", r.Header.Get("Content-Type"), "application/json")
		equal(r.s.t, what+": status in the body", e.Status, r.StatusCode)
		equal(r.s.t, what+": status", r.StatusCode, statusOfCode[e.Code])
		sentence := strings.HasSuffix(e.Message, ".") && !internals.MatchString(e.Message)
		equal(r.s.t, what+": is a sentence for a client: "+e.Message, sentence, true)
	}
	if !openPath.MatchString(r.Request.URL.Path) {
		wantType := map[bool]string{true: "application/json"}[r.StatusCode != http.StatusNoContent]
		equal(r.s.t, r.sent+": type", r.Header.Get("Content-Type"), wantType)
		equal(r.s.t, r.sent+": Cache-Control", r.Header.Get("Cache-Control"), "no-store")
		for _, name := range []string{"Limit", "Remaining", "Reset"} {
			value := r.Header.Get("X-RateLimit-" + name)
			_, err := strconv.ParseUint(value, 10, 64)
			equal(r.s.t, r.sent+": X-RateLimit-"+name, err, nil)
		}
	}
	_, pattern := r.s.mux.Handler(r.Request)
	clean := path.Clean("/" + r.Request.URL.Path) // to which the mux would redirect
	if o, found := theDescription().operations[pattern]; found && r.Request.URL.Path == clean {
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

// expectOperation expects a response that an operation can have.
func (r *reply) expectOperation(o operation) {
	r.s.t.Helper()
	code := r.err().Code
	what := fmt.Sprintf("%s: the %d %s", r.sent, r.StatusCode, code)
	described, found := o.Responses[r.StatusCode]
	equal(r.s.t, what+" is described", found &&
		(code == "" || strings.Contains(described.Description, "`"+code+"`: ")), true)
	if !found {
		return
	}
	if r.body != "" {
		described.Content["application/json"].Schema.check(r.s.t, what, valueIn([]byte(r.body)))
	}
	others := r.Header.Clone()
	for name, p := range described.Headers {
		switch value := others.Get(name); {
		case value == "" && p.Required:
			r.s.t.Errorf("%s has no %s", what, name)
		case value != "" && p.Schema.Type == "integer":
			p.Schema.check(r.s.t, what+", "+name, json.Number(value))
		case value != "":
			p.Schema.check(r.s.t, what+", "+name, value)
		}
		others.Del(name)
	}
	for name := range others {
		equal(r.s.t, what+": "+name+" is described", general.MatchString(name), true)
	}
}

// What clients rely on is written out here, so that none of it changes by accident. If you change
// something on purpose, change its line.
func TestDescription(t *testing.T) {
	d := theDescription()
	t.Run("operations", func(t *testing.T) {
		got := "\n"
		for _, pattern := range slices.Sorted(maps.Keys(d.operations)) {
			o := d.operations[pattern]
			statuses := slices.Sorted(maps.Keys(o.Responses))
			got += fmt.Sprintln(pattern, o.OperationID, o.Tags, statuses)
			if o.labels != (labels{}) {
				got += fmt.Sprintf("%+v\n", o.labels)
			}
		}
		equal(t, "operations", strings.Split(got, "\n"), strings.Split(`
DELETE /categories/{categoryId} deleteCategory [categories] [204 400 401 403 404 409 429 500 503]
DELETE /pets/{petId} deletePet [animals] [204 400 401 403 404 409 429 500 503]
DELETE /store/orders/{orderId} cancelOrder [orders] [204 400 401 403 404 409 429 500 503]
{Deprecated:false Sunset: Stability:beta HideTryIt:false Security:<nil>}
GET /categories listCategories [categories] [200 400 401 403 429 500 503]
GET /categories/{categoryId} getCategory [categories] [200 400 401 403 404 429 500 503]
GET /inventory listInventory [inventory] [200 400 401 403 429 500 503]
GET /inventory/{petId} getInventory [inventory] [200 400 401 403 404 429 500 503]
GET /pets listPets [animals] [200 400 401 403 429 500 503]
GET /pets/{petId} getPet [animals] [200 400 401 403 404 429 500 503]
{Deprecated:true Sunset:2030-12-05 Stability: HideTryIt:false Security:<nil>}
GET /store/orders listOrders [orders] [200 400 401 403 429 500 503]
{Deprecated:false Sunset: Stability: HideTryIt:true Security:<nil>}
GET /store/orders/{orderId} getOrder [orders] [200 400 401 403 404 429 500 503]
PATCH /inventory/{petId} updateInventory [inventory] [200 400 401 403 404 413 415 429 500 503]
{Deprecated:false Sunset: Stability:experimental HideTryIt:false Security:<nil>}
POST /categories createCategory [categories] [201 400 401 403 413 415 429 500 503]
POST /pets createPet [animals] [201 400 401 403 413 415 429 500 503]
POST /store/orders createOrder [orders] [201 400 401 403 413 415 429 500 503]
PUT /categories/{categoryId} replaceCategory [categories] [200 400 401 403 404 413 415 429 500 503]
PUT /pets/{petId} replacePet [animals] [200 400 401 403 404 413 415 429 500 503]
PUT /store/orders/{orderId} replaceOrder [orders] [200 400 401 403 404 409 413 415 429 500 503]
`, "\n"))
		routes := newService(t, Options{}).operations()
		equal(t, "routes of the program", slices.Sorted(maps.Keys(routes)),
			slices.Sorted(maps.Keys(d.operations)))
	})
	t.Run("names", func(t *testing.T) {
		equal(t, "openapi, title and version",
			[]string{d.OpenAPI, d.Info.Title, d.Info.Version},
			[]string{"3.0.3", "Petstore API", "1.0.0"})
		equal(t, "tags", fmt.Sprint(d.Tags), "[{Pets } {animals Pets} {categories Pets} "+
			"{Store } {orders Store} {inventory Store}]")
		equal(t, "tag groups", fmt.Sprint(d.TagGroups),
			"[{Pets [animals categories]} {Store [orders inventory]}]")
	})
	t.Run("security", func(t *testing.T) {
		equal(t, "schemes", fmt.Sprint(d.Components.SecuritySchemes),
			"map[apiKeyAuth:{apiKey  header X-API-Key} bearerAuth:{http bearer  }]")
		equal(t, "security", fmt.Sprint(d.Security), "[map[bearerAuth:[]] map[apiKeyAuth:[]]]")
	})
	t.Run("media types", func(t *testing.T) {
		for pattern, o := range d.operations {
			for _, m := range append(slices.Collect(maps.Values(o.Responses)), o.RequestBody) {
				for name := range m.Content {
					equal(t, pattern+": media type", name, "application/json")
				}
			}
		}
	})
	t.Run("sizes of lists", func(t *testing.T) {
		defaults, most := map[string]any{"limit": 20.0, "after": 0.0}, int64(100)
		for pattern, o := range d.operations {
			for _, p := range o.Parameters {
				equal(t, pattern+" "+p.Name+": default", p.Schema.Default, defaults[p.Name])
			}
			if list := o.Responses[200].Content["application/json"].Schema; list.Type == "array" {
				equal(t, pattern+": maxItems", list.MaxItems, &most)
			}
		}
	})
	t.Run("codes", func(t *testing.T) {
		code, statuses := d.Components.Schemas["Error"].Properties["code"], map[string]int{}
		for name, described := range code.Codes {
			statuses[name] = int(described["status"].(float64))
		}
		equal(t, "x-codes", statuses, statusOfCode)
		equal(t, "enum", slices.Sorted(slices.Values(code.Enum)),
			slices.Sorted(maps.Keys(statusOfCode)))
	})
	t.Run("what must and may be in a schema", func(t *testing.T) {
		got := "\n"
		for _, name := range slices.Sorted(maps.Keys(d.Components.Schemas)) {
			schema := d.Components.Schemas[name]
			got += fmt.Sprintln(name, schema.Required, schema.AdditionalProperties)
			for field, property := range schema.Properties {
				if field == "id" || strings.HasSuffix(field, "Id") {
					equal(t, name+" "+field, property.Format, "int64")
				}
			}
		}
		equal(t, "required fields, and whether there may be others", got, `
Category [id name] <nil>
Error [code message status] <nil>
InventoryItem [petId quantity status] <nil>
InventoryUpdate [quantity] false
NewCategory [name] false
NewPet [name categoryId] false
Order [] <nil>
Pet [id name categoryId status] <nil>
PetStatus [] <nil>
Pets [] <nil>
`)
		for _, name := range []string{"Pet", "Category"} {
			request, response := d.Components.Schemas["New"+name], d.Components.Schemas[name]
			equal(t, "properties of New"+name, slices.Sorted(maps.Keys(request.Properties)),
				slices.Sorted(maps.Keys(response.Properties)))
		}
	})
}

// Clients rely on these words of the description, too. Other tests show that they are true.
func TestWords(t *testing.T) {
	size := fmt.Sprintf("%d KiB", maxBody>>10)
	for _, words := range []string{
		"A body is one JSON object in UTF-8, of at most " + size, "Field names are case-sensitive.",
		"`payload_too_large`: the body is larger than " + size,
		"The body is larger than " + size,
		"A minute or a day starts with the first request after the previous one ended.",
		"Retry with exponential backoff, starting at one second",
		"whichever has fewer requests left after this one",
		"If both have the same number left, it is the one that resets later.",
		"Unix timestamp, in seconds, at which", "In 403 and 429 responses, it is 0.",
		"Whole seconds to wait. After that, the next request goes through",
		"Whole seconds to wait before the next request. Only `failed_on_purpose` has this header.",
		"share one limit per minute, that of the Free plan, and never lead to a ban.",
		"A 429 is a strike, but at most one strike per second counts",
		"The tenth strike within a minute gets this 403, which bans the key for five minutes",
		"each new minute begins without strikes. A client that waits as told is never banned.",
		"the end of the ban, or of a used-up day that ends later.",
		"`-minute` shortens all of these times; a day stays a day.",
		"a field that you leave out gets its default, or is removed if it has none.",
		"creates its inventory entry with quantity 0. If `status` is omitted, it is `available`.",
		"Its stock does not change. If `status` is omitted, it becomes `available`.",
		"If `description` is omitted, it is removed.",
		"If `complete` is omitted, it is `false`.", "If omitted, it is `false`.",
		"Its id is never used again. A pet cannot be deleted while an order refers to it.",
		"Its id is never used again. A category cannot be deleted while a pet belongs to it.",
		"Its id is never used again. A complete order cannot be canceled.",
		"`order_complete`: the order is complete, and the body would reopen it.",
		"`order_complete`: the order is complete.\"", "`in_use`: an order refers to this pet.",
		"`in_use`: a pet belongs to this category.", "A complete order stays complete.",
		"Two categories may have the same name.", "It comes back as it was sent.",
		"An integer `id` of a pet, a category or an order is ignored",
		"`unknown_reference`: no category has the id given in `categoryId`.",
		"`unknown_reference`: no pet has the id given in `petId`.",
		"Any other omitted field is removed. A complete order cannot be reopened.",
		"Responses always include `id` and `complete`", "deleting the pet deletes it.",
		"with ids greater than this", "with at most nine digits of a fraction",
		"When the operation was deprecated: `@` and a Unix timestamp",
		"no order refers to pet 5.", "category 4 has no pets.", "order 2 is open.",
		"will be removed after December 5, 2030", "If both are sent, `X-API-Key` is used.",
		"web pages from `localhost`, a name under `.localhost` or a loopback address may call",
		"for requests to `localhost`, a name under `.localhost`, or an IP address",
	} {
		found := strings.Contains(string(openAPI), words)
		equal(t, "docs/openapi.json says: "+words, found, true)
	}
	for name, p := range theDescription().Info.Plans {
		equal(t, "x-plans, "+name, plan{p.PerMinute, p.PerDay}, plans[name])
	}
	keys, err := parseKeys([]byte(demoKeys))
	must(t, err)
	for key, p := range keys {
		words := fmt.Sprintf("| %d | %d | `%s` |", p.perMinute, p.perDay, key)
		if key == "demo-enterprise" {
			words = fmt.Sprintf("`%s` (%d and %d) |", key, p.perMinute, p.perDay)
		}
		found := strings.Contains(contentOf(t, "README.md"), words)
		equal(t, "README.md has "+words, found, true)
	}
}

// A header is required if it always comes.
func TestHeaders(t *testing.T) {
	inFakeTime(t, "are as the examples show", func(t *testing.T) {
		s, failing := newService(t, Options{}), newService(t, Options{Fail: "1/1"})
		refusing := newService(t, Options{Keys: keysFile(t, 1, 2)})
		refusing.send("GET /pets", "")
		location := s.send("POST /pets?x", newKiwi).Header.Get("Location")
		for range 15 { // pets 7 to 21
			s.send("POST /pets", newKiwi)
		}
		get := s.as("demo-free").send("GET /pets/1", "").Header
		for component, want := range map[string]string{
			"RateLimitLimit":     get.Get("X-RateLimit-Limit"),
			"RateLimitRemaining": get.Get("X-RateLimit-Remaining"),
			"Deprecation":        get.Get("Deprecation"),
			"Sunset":             get.Get("Sunset"),
			"SuccessorLink":      get.Get("Link"),
			"Location":           location,
			"WWWAuthenticate":    s.as("x").send("GET /x", "").Header.Get("WWW-Authenticate"),
			"NextLink":           s.send("GET /pets", "").Header.Get("Link"),
			"RetryAfter":         refusing.send("GET /pets", "").Header.Get("Retry-After"),
			"RetryAfterFailure":  failing.send("GET /pets", "").Header.Get("Retry-After"),
		} {
			header := theDescription().Components.Headers[component]
			optional := component == "NextLink" || component == "RetryAfterFailure"
			equal(t, component+": required", header.Required, !optional)
			equal(t, component+", which the description shows", want, fmt.Sprint(header.Example))
		}
	})
}

// exampleOf returns a valid request for an operation: the examples of its parameters in the path,
// and that of its body. A mistake changes it.
func exampleOf(pattern string, o operation, m mistake) (request, body string, header []string) {
	request, query := pattern, url.Values{}
	for _, p := range o.Parameters {
		value, given := m.Parameters[p.Name]
		if p.In == "path" {
			value = cmp.Or(value, fmt.Sprint(p.Example))
			request = strings.Replace(request, "{"+p.Name+"}", value, 1)
		} else if given {
			query.Set(p.Name, value)
		}
	}
	if all := query.Encode() + m.Query; all != "" {
		request += "?" + all
	}
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
	if m.Headers["Authorization"] == "" {
		header = []string{"Authorization", "Bearer demo-free"}
	}
	for name, value := range m.Headers {
		header = append(header, name, value)
	}
	return request, body, header
}

// Each example of a response is what the program sends on its sample data after a request as
// described, or after the mistake that the example tells of. The examples of a response have all
// codes that its description names. If one is sent elsewhere, expectOperation fails.
func TestExamples(t *testing.T) {
	wrong := map[string]bool{} // shared examples, which fail once
	operations := theDescription().operations
	for _, pattern := range slices.Sorted(maps.Keys(operations)) {
		o := operations[pattern]
		for status, response := range o.Responses {
			codes := map[string]bool{}
			for name, example := range response.Content["application/json"].Examples {
				var e Error
				json.Unmarshal(example.Value, &e)
				codes[e.Code] = true
				key := name + string(example.Value)
				if wrong[key] {
					continue
				}
				wrong[key] = !inFakeTime(t, o.OperationID+" "+name, func(t *testing.T) {
					s := provoke(t, name)
					request, body, header := exampleOf(pattern, o, example.Try)
					resp := s.as(noKey).send(request, body, header...)
					resp.expect(status, string(example.Value))
					if status < 400 { // a GET gets the same
						_, target, _ := strings.Cut(request, " ")
						target = cmp.Or(resp.Header.Get("Location"), target)
						s.send("GET "+target, "").expect(200, string(example.Value))
					}
					equal(t, "the example has a summary", example.Summary != "", true)
				})
			}
			for code := range statusOfCode {
				what := fmt.Sprintf("%s %d: an example has %s", o.OperationID, status, code)
				equal(t, what, codes[code], strings.Contains(response.Description, "`"+code+"`: "))
			}
		}
	}
}

// valueIn reads the JSON of a response.
func valueIn(data []byte) (value any) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	dec.Decode(&value)
	return value
}

// provoke returns a service on which a request gets the error of an example that x-try cannot tell.
// It is called in fake time.
func provoke(t *testing.T, example string) *service {
	s := newService(t, Options{})
	spend := func(every time.Duration, message string) { // until there is such an error
		for range 5000 {
			if strings.Contains(fmt.Sprint(s.limits.admit("demo-free", time.Now()).err), message) {
				return
			}
			time.Sleep(every)
		}
		t.Fatalf("no error says %q, but %v", message, s.limits.admit("demo-free", time.Now()).err)
	}
	switch example {
	case "BodyIncomplete":
		s.handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			r.Body = io.NopCloser(iotest.ErrReader(io.ErrClosedPipe))
			s.ServeHTTP(w, r)
		})
	case "RateLimited":
		spend(0, "per minute")
	case "DayUsedUp":
		spend(time.Minute/time.Duration(plans["free"].perMinute), "per day") // without a strike
	case "KeyBanned":
		spend(time.Second/10, "banned")
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
		// check runs a subtest for a parameter or a field, which a mistake gives a value.
		check := func(name string, s schema, mistakeOf func(any) mistake, more ...value) {
			t.Run(o.OperationID+" "+name, func(t *testing.T) {
				if s.Type == "integer" && s.Maximum == nil {
					equal(t, "format", s.Format, "int64")
				}
				for _, v := range append(s.values(), more...) {
					request, body, header := exampleOf(pattern, o, mistakeOf(v.json))
					resp := newService(t, Options{}).as(noKey).send(request, body, header...)
					resp.expectDescribed()
					e := resp.err()
					good := e.Status == 400 && strings.HasPrefix(e.Message, name+" ")
					if v.valid {
						noRecord := e.Status == 404 && strings.Contains(pattern, "{"+name+"}")
						good = resp.StatusCode < 300 || noRecord || e.Status == 409
					}
					if !good && e.Code != "unknown_reference" { // which is for any integer
						t.Errorf("sent %s\n got %d %s\nwant %.50s to be valid: %t", resp.sent,
							resp.StatusCode, e.Message, fmt.Sprint(v.json), v.valid)
					}
				}
			})
		}
		var names []string
		for _, p := range o.Parameters {
			if p.In == "query" {
				names = append(names, p.Name)
			}
			equal(t, p.Name+" is required", p.Required, p.In == "path")
			check(p.Name, p.Schema, func(v any) mistake {
				return mistake{Parameters: map[string]string{p.Name: fmt.Sprint(v)}}
			})
		}
		if names != nil {
			newService(t, Options{}).send(pattern+"?x=1", "").expectError("invalid_parameter",
				`"x" is unknown here; use one of `+strings.Join(names, ", ")+".")
		}
		body := o.RequestBody.Content["application/json"].Schema
		for name, property := range body.Properties {
			leftOut := value{nil, !slices.Contains(body.Required, name)} // as exampleOf has it
			check(name, property, func(v any) mistake {
				return mistake{Body: map[string]any{name: v}}
			}, leftOut, value{1.5, false}, value{json.RawMessage("null"), false})
		}
		equal(t, pattern+": body is required", o.RequestBody.Required, body.Properties != nil)
		if body.Properties == nil {
			continue
		}
		for _, name := range []string{"petId", "quantity", "status", "shipDate", "lastPetId"} {
			request, text, _ := exampleOf(pattern, o, mistake{Body: map[string]any{name: 1}})
			if _, known := body.Properties[name]; !known {
				newService(t, Options{}).send(request, text).expectError("invalid_field",
					fmt.Sprintf("%q is unknown here; leave it out.", name))
			}
		}
		request, _, _ := exampleOf(pattern, o, mistake{})
		newService(t, Options{}).send(request, "").expectError("malformed_json", "The JSON is")
	}
}
