package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"reflect"
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
	OpenAPI string
	Info    struct {
		Title, Version, Description string
		Plans                       map[string]map[string]int64 `json:"x-plans"`
	}
	Servers []struct{ URL string }
	Tags    []struct {
		Name   string
		Parent string `json:"x-parent"`
	}
	Paths      map[string]map[string]describedOperation // by path and method
	Components struct {
		Schemas         map[string]schema
		Examples        map[string]struct{ Summary string }
		SecuritySchemes map[string]any
	}
	operations map[string]describedOperation // those of Paths by their pattern for the mux
}

type describedOperation struct {
	OperationID, Summary string
	Tags                 []string
	Parameters           []parameter
	RequestBody          content
	Responses            map[string]describedResponse // by status
	Deprecated           bool
	Sunset               string `json:"x-deprecated-sunset"`
	HideTryIt            bool   `json:"x-hideTryItPanel"`
	Stability            string `json:"x-stability"`
	path                 string // such as /pets/{petId}
}

type parameter struct {
	Name, In string
	Required bool
	Schema   schema
	Example  any
}

type describedResponse struct {
	Description string
	Headers     map[string]parameter
	content
}

type content struct {
	Content map[string]struct {
		Schema   schema
		Examples map[string]struct {
			Value any
			Try   mistake `json:"x-try"`
		}
	}
}

// A mistake changes a valid request so that it gets the error of an example. The page offers it.
type mistake struct {
	Parameters, Headers map[string]string
	Query               string
	Body                any            // fields, of which null removes one, or all of it
	Letters             map[string]int // fields with that many letters
}

type schema struct {
	Type, Description                      string
	Enum                                   []any
	EnumDescriptions                       map[string]string `json:"x-enumDescriptions"`
	AllOf                                  []schema
	Properties                             map[string]schema
	Required                               []string
	Items                                  *schema
	Minimum, Maximum, MinLength, MaxLength *int64
	Default                                any
}

// object returns the schema of an object, or of the objects in an array, with the parts of allOf.
func (s schema) object() schema {
	if s.Items != nil {
		return s.Items.object()
	}
	whole := schema{Properties: map[string]schema{}, Required: slices.Clone(s.Required)}
	maps.Copy(whole.Properties, s.Properties)
	for _, part := range s.AllOf {
		part = part.object()
		maps.Copy(whole.Properties, part.Properties)
		whole.Required = append(whole.Required, part.Required...)
	}
	return whole
}

// types returns the JSON types of the properties of an object, or of the objects in an array.
func (s schema) types() map[string]string {
	types := map[string]string{}
	for name, property := range s.object().Properties {
		types[name] = property.Type
	}
	return types
}

// eachValue calls test with the lowest and the highest value that are described, those beyond, and
// those that are enumerated. For a string, the bounds are those of its length.
func (s schema) eachValue(test func(value any, taken bool)) {
	sized := func(size int64) any {
		if s.Type == "string" {
			return strings.Repeat("x", int(size))
		}
		return size
	}
	if lowest := cmp.Or(s.Minimum, s.MinLength); lowest != nil {
		test(sized(*lowest-1), false)
		test(sized(*lowest), true)
	}
	if highest := cmp.Or(s.Maximum, s.MaxLength); highest != nil {
		test(sized(*highest), true)
		test(sized(*highest+1), false)
	}
	for _, value := range s.Enum {
		test(value, true)
	}
}

var (
	reference     = regexp.MustCompile(`\{\s*"\$ref":\s*"#/([^"]+)"\s*\}`)
	pathParameter = regexp.MustCompile(`\{\w+\}`)
)

// theDescription reads docs/openapi.json, once.
var theDescription = sync.OnceValue(func() (d description) {
	var document map[string]any
	json.Unmarshal(openAPI, &document)
	whole := openAPI
	for reference.Match(whole) { // what one refers to may have others
		whole = reference.ReplaceAllFunc(whole, func(found []byte) []byte {
			var value any = document
			for name := range strings.SplitSeq(string(reference.FindSubmatch(found)[1]), "/") {
				value = value.(map[string]any)[name]
			}
			return encode(value)
		})
	}
	if err := json.Unmarshal(whole, &d); err != nil {
		panic(err)
	}
	d.operations = map[string]describedOperation{}
	for path, operations := range d.Paths {
		for method, operation := range operations {
			operation.path = path
			pattern := pathParameter.ReplaceAllString(path, "{id}")
			d.operations[strings.ToUpper(method)+" "+pattern] = operation
		}
	}
	return d
})

// The operations are written out here, with the statuses that not all of them have, so that none
// changes by accident. If you change one on purpose, change its line.
func TestDescription(t *testing.T) {
	d := theDescription()
	t.Run("operations and their statuses", func(t *testing.T) {
		got := map[string]string{}
		for pattern, o := range d.operations {
			statuses := slices.Sorted(maps.Keys(o.Responses))
			own := slices.DeleteFunc(slices.Clone(statuses), func(status string) bool {
				return strings.Contains("401 403 429 500 503", status)
			})
			equal(t, pattern+": statuses that all have", 5, len(statuses)-len(own))
			line := strings.Join(slices.Concat([]string{o.OperationID}, o.Tags, own), " ")
			if o.HideTryIt {
				line += " no try-out"
			}
			if o.Deprecated {
				line += " deprecated"
			}
			got[pattern] = strings.TrimSpace(line + " " + o.Stability + o.Sunset)
		}
		equal(t, "operations", map[string]string{
			"GET /pets":                 "listPets animals 200 400",
			"POST /pets":                "createPet animals 201 400 413 415",
			"GET /pets/{id}":            "getPet animals 200 400 404 deprecated 2030-12-05",
			"PUT /pets/{id}":            "replacePet animals 200 400 404 413 415",
			"DELETE /pets/{id}":         "deletePet animals 204 400 404 409",
			"GET /categories":           "listCategories categories 200 400",
			"POST /categories":          "createCategory categories 201 400 413 415",
			"GET /categories/{id}":      "getCategory categories 200 400 404",
			"PUT /categories/{id}":      "replaceCategory categories 200 400 404 413 415",
			"DELETE /categories/{id}":   "deleteCategory categories 204 400 404 409",
			"GET /store/orders":         "listOrders orders 200 400 no try-out",
			"POST /store/orders":        "createOrder orders 201 400 413 415",
			"GET /store/orders/{id}":    "getOrder orders 200 400 404",
			"PUT /store/orders/{id}":    "replaceOrder orders 200 400 404 409 413 415",
			"DELETE /store/orders/{id}": "cancelOrder orders 204 400 404 409 beta",
			"GET /inventory":            "listInventory inventory 200 400",
			"GET /inventory/{id}":       "getInventory inventory 200 400 404",
			"PATCH /inventory/{id}": "updateInventory inventory 200 400 404 413 415 " +
				"experimental",
		}, got)
	})
	t.Run("has the routes of the program, and no others", func(t *testing.T) {
		var routed []string
		for path, m := range newService(t, Options{}).routes() {
			for method := range m {
				routed = append(routed, method+" "+path)
			}
		}
		slices.Sort(routed)
		equal(t, "operations", slices.Sorted(maps.Keys(d.operations)), routed)
	})
	t.Run("names", func(t *testing.T) {
		got := []string{d.OpenAPI, d.Info.Title, d.Info.Version, d.Servers[0].URL}
		for _, tag := range d.Tags {
			got = append(got, tag.Parent+"/"+tag.Name)
		}
		got = append(got, slices.Sorted(maps.Keys(d.Components.SecuritySchemes))...)
		equal(t, "names", []string{"3.0.3", "Petstore API", "1.0.0", "{base_url}",
			"/Pets", "Pets/animals", "Pets/categories", "/Store", "Store/orders", "Store/inventory",
			"apiKeyAuth", "bearerAuth"}, got)
	})
	t.Run("plans", func(t *testing.T) {
		want := map[string]map[string]int64{"enterprise": {}}
		for name, p := range plans {
			want[name] = map[string]int64{"perMinute": p.perMinute, "perDay": p.perDay}
		}
		equal(t, "x-plans", want, d.Info.Plans)
	})
	t.Run("codes", func(t *testing.T) {
		code, got := d.Components.Schemas["Error"].Properties["code"], map[string]int{}
		for _, value := range code.Enum {
			name := value.(string)
			status, _, _ := strings.Cut(code.EnumDescriptions[name], ". ")
			got[name], _ = strconv.Atoi(status)
		}
		equal(t, "enum", statusOfCode, got)
		inSource := regexp.MustCompile(`= code\{"(\w+)"`).FindAllStringSubmatch(
			contentOf(t, "errors.go"), -1)
		equal(t, "codes in errors.go", len(inSource), len(got))
		for _, found := range inSource {
			equal(t, "status of "+found[1]+" is known", true, statusOfCode[found[1]] > 0)
		}
		equal(t, "descriptions", len(got), len(code.EnumDescriptions))
	})
	t.Run("schemas and their required fields", func(t *testing.T) {
		got := map[string]string{}
		for name, s := range d.Components.Schemas {
			got[name] = strings.Join(s.object().Required, " ")
		}
		equal(t, "required", map[string]string{"NewPet": "name categoryId",
			"Pet": "id status name categoryId", "Pets": "id status name categoryId",
			"PetStatus": "", "NewCategory": "name", "Category": "id name", "Order": "",
			"InventoryItem": "petId quantity status", "InventoryUpdate": "quantity",
			"Error": "code message status"}, got)
	})
	t.Run("says what each schema, property and example is", func(t *testing.T) {
		said := map[string]string{}
		for name, s := range d.Components.Schemas {
			said[name] = s.Description
			for property, p := range s.object().Properties {
				said[name+"."+property] = p.Description
			}
		}
		for name, example := range d.Components.Examples {
			said[name] = example.Summary
		}
		for name, description := range said {
			equal(t, name+" is described", true, description != "")
		}
	})
}

// exampleOf returns a valid request for an operation: the examples of its parameters in the path,
// and the body of the example with that name, or of the first one. A mistake changes it.
func exampleOf(pattern string, o describedOperation, name string, m mistake) *http.Request {
	method, _, _ := strings.Cut(pattern, " ")
	target := o.path + "?" + m.Query
	for _, p := range o.Parameters {
		if value, given := m.Parameters[p.Name]; p.In == "path" {
			value = cmp.Or(value, fmt.Sprint(p.Example))
			target = strings.Replace(target, "{"+p.Name+"}", value, 1)
		} else if given {
			target += p.Name + "=" + value
		}
	}
	body, isText := m.Body.(string)
	examples := o.RequestBody.Content["application/json"].Examples
	if examples != nil && !isText {
		name = cmp.Or(name, slices.Min(slices.Collect(maps.Keys(examples))))
		members := maps.Clone(examples[name].Value.(map[string]any))
		fields, _ := m.Body.(map[string]any)
		maps.Copy(members, fields)
		for field, count := range m.Letters {
			members[field] = strings.Repeat("x", count)
		}
		maps.DeleteFunc(members, func(_ string, value any) bool { return value == nil })
		body = string(encode(members))
	}
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer demo-free")
	for name, value := range m.Headers {
		r.Header.Set(name, value)
	}
	return r
}

// expectValue compares the JSON of a response with an example.
func expectValue(t *testing.T, what string, want any, resp *http.Response) {
	t.Helper()
	var got any
	json.NewDecoder(resp.Body).Decode(&got)
	equal(t, what, want, got)
}

// What documents repeat of the program and its description is the same there.
func TestDocuments(t *testing.T) {
	has := func(file, what, pattern string) {
		t.Run(file+" has "+what, func(t *testing.T) {
			if !regexp.MustCompile(pattern).MatchString(contentOf(t, file)) {
				t.Errorf("nothing there matches %s", pattern)
			}
		})
	}
	for pattern, o := range theDescription().operations {
		method, _, _ := strings.Cut(pattern, " ")
		row := regexp.QuoteMeta("| `" + o.path + "` |")
		has("README.md", method+" "+o.path, "(?m)^"+row+".*`"+method+"`")
	}
	for name, p := range plans {
		row := fmt.Sprintf(`(?i)\n\| %s \| %d \| %d \|`, name, p.perMinute, p.perDay)
		has("README.md", "the plan "+name, row)
		figures := fmt.Sprintf(`%s \(%d\b[^)]*\b%d\b`, name, p.perMinute, p.perDay)
		has("main.go", "the plan "+name, figures)
	}
}

// Each example of a success is what the program returns on its sample data, and what a GET returns
// afterwards. An id in the body of a POST or PUT is ignored. Together, the examples of a response
// have the properties that are described, with their types.
func TestExamplesOfSuccesses(t *testing.T) {
	jsonTypes := map[string]string{
		"string": "string", "bool": "boolean", "float64": "integer", "[]interface {}": "array"}
	for pattern, o := range theDescription().operations {
		t.Run(o.OperationID, func(t *testing.T) {
			for status, response := range o.Responses {
				if status >= "400" {
					continue
				}
				types, content := map[string]string{}, response.Content["application/json"]
				for name, example := range content.Examples {
					records, ok := example.Value.([]any)
					if !ok {
						records = []any{example.Value}
					}
					for _, record := range records {
						members := record.(map[string]any)
						for name, member := range members {
							types[name] = jsonTypes[fmt.Sprintf("%T", member)]
						}
						for _, name := range content.Schema.object().Required {
							equal(t, "has "+name, true, members[name] != nil)
						}
					}
					ids := []any{nil}
					if strings.HasPrefix(pattern, "POST ") || strings.HasPrefix(pattern, "PUT ") {
						ids = []any{nil, 1, 77, math.MinInt64}
					}
					for _, id := range ids {
						s, m := newService(t, Options{}), mistake{Body: map[string]any{"id": id}}
						switch name {
						case "none":
							s = newService(t, Options{Data: writeFile(t, freshPath(t), "{}")})
						case "filtered":
							m.Query = "status=available&categoryId=1"
						}
						r := exampleOf(pattern, o, name, m)
						what := fmt.Sprintf("%s %s with the id %v", r.Method, r.URL, id)
						resp := s.exchange(r)
						expectValue(t, what, example.Value, resp)
						target := cmp.Or(resp.Header.Get("Location"), r.URL.String())
						expectValue(t, "a GET after "+what, example.Value, s.do("GET "+target, ""))
					}
				}
				equal(t, "properties", content.Schema.types(), types)
			}
		})
	}
}

// Each example of an error is what the program sends after the mistake that it tells of, and the
// examples of a response have all codes that its description names. So the program really sends
// each code where it is described. A code that it sends elsewhere fails the test that provokes it.
func TestExamplesOfErrors(t *testing.T) {
	namedCode := regexp.MustCompile("`(\\w+)`: ")
	for pattern, o := range theDescription().operations {
		t.Run(o.OperationID, func(t *testing.T) {
			for status, response := range o.Responses {
				if status < "400" {
					continue
				}
				named, codes := map[string]bool{}, map[string]bool{}
				for _, found := range namedCode.FindAllStringSubmatch(response.Description, -1) {
					named[found[1]] = true
				}
				for name, example := range response.Content["application/json"].Examples {
					codes[example.Value.(map[string]any)["code"].(string)] = true
					t.Run(name, func(t *testing.T) {
						r := exampleOf(pattern, o, "", example.Try)
						resp := newService(t, Options{}).provoke(name, r).exchange(r)
						expectValue(t, r.Method+" "+r.URL.String(), example.Value, resp)
					})
				}
				equal(t, "codes of the examples of a "+status, named, codes)
			}
		})
	}
}

// provoke returns a service on which the request gets the error of an example. It changes the
// request if x-try cannot say how.
func (s *service) provoke(name string, r *http.Request) *service {
	s.do("GET /pets", "", "X-API-Key: demo-free") // the key of the request
	account := s.limits.accounts["demo-free"]
	switch name {
	case "BodyIncomplete":
		r.Body = io.NopCloser(iotest.ErrReader(io.ErrUnexpectedEOF))
	case "RateLimited":
		account.minute.used = account.minute.limit
	case "DayUsedUp":
		account.day.used = account.day.limit
	case "KeyBanned":
		account.bannedUntil = time.Now().Add(time.Minute)
	case "InternalError":
		s.store = nil
	case "SaveFailed":
		s = newService(s.t, Options{Data: freshPath(s.t)})
		breakDisk(s.t, s.store.path)
	case "FileChanged":
		s = newService(s.t, Options{Data: freshPath(s.t)})
		writeFile(s.t, s.store.path, "{}")
	case "FailedOnPurpose", "WriteFailedOnPurpose":
		s.fail.m, s.fail.n = 1, 1
	}
	return s
}

// The program takes and refuses the values of a body that are described so.
func TestDescribedBodies(t *testing.T) {
	for pattern, o := range theDescription().operations {
		schema := o.RequestBody.Content["application/json"].Schema
		for name, property := range schema.Properties {
			t.Run(o.OperationID+" "+name, func(t *testing.T) {
				s := newService(t, Options{})
				send := func(value any, taken bool) {
					t.Helper()
					m := mistake{Body: map[string]any{name: value}}
					text, _ := io.ReadAll(s.exchange(exampleOf(pattern, o, "", m)).Body)
					fault := errorIn(text)
					unknown := strings.Contains(fault, `"`+name+`" is unknown`)
					equal(t, name+" is unknown to the program", false, unknown)
					refused := strings.Contains(fault, ": "+name) // the message begins so
					equal(t, fmt.Sprintf("%.50v is taken", value), taken, !refused)
				}
				send(map[string]any{}, false)
				send(nil, !slices.Contains(schema.Required, name)) // left out
				property.eachValue(send)
			})
		}
	}
}

// The records have the properties that are described, and no others.
func TestDescribedRecords(t *testing.T) {
	for name, record := range map[string]any{"Pet": Pet{}, "Category": Category{},
		"Order": Order{}, "InventoryItem": InventoryItem{}, "Error": Error{}} {
		t.Run(name, func(t *testing.T) {
			described := theDescription().Components.Schemas[name].types()
			fields := map[string]string{}
			for _, field := range reflect.VisibleFields(reflect.TypeOf(record)) {
				if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "-" {
					fields[name] = described[name]
				}
			}
			equal(t, "properties in docs/openapi.json", fields, described)
		})
	}
}

// The parameters of a path and of a query are described as the program has them.
func TestDescribedParameters(t *testing.T) {
	for pattern, o := range theDescription().operations {
		t.Run(o.OperationID, func(t *testing.T) {
			s := newService(t, Options{})
			for range 25 { // more records than a page has by default
				s.do("POST /pets", newKiwi)
				s.do("POST /categories", `{"name":"x"}`)
				s.do("POST /store/orders", `{}`)
			}
			request := strings.Replace(pattern, "{id}", "1", 1)
			send := func(name string, value any, taken bool) string {
				t.Helper()
				resp := s.do(fmt.Sprint(request, "?", name, "=", value), "")
				equal(t, fmt.Sprint(name, "=", value, " is taken"), taken, resp.StatusCode == 200)
				body, _ := io.ReadAll(resp.Body)
				return string(body)
			}
			var inQuery []string
			for _, p := range o.Parameters {
				equal(t, p.Name+" is required", p.In == "path", p.Required)
				if p.In == "path" {
					equal(t, "type of "+p.Name, "integer", p.Schema.Type)
					continue
				}
				inQuery = append(inQuery, p.Name)
				p.Schema.eachValue(func(value any, taken bool) { send(p.Name, value, taken) })
				if value := p.Schema.Default; value != nil {
					without, _ := io.ReadAll(s.do(request, "").Body)
					equal(t, "without "+p.Name, send(p.Name, value, true), string(without))
				}
			}
			if inQuery == nil {
				return
			}
			// The program names its parameters when it refuses one.
			_, names, _ := strings.Cut(send("unknown", 1, false), "; use one of ")
			names, _, _ = strings.Cut(names, ".")
			equal(t, "query", inQuery, strings.Split(names, ", "))
		})
	}
}
