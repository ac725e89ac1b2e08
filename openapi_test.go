package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
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
	OpenAPI string
	Info    struct {
		Title, Version, Description string
		Plans                       map[string]map[string]int `json:"x-plans"`
	}
	Servers []struct {
		URL       string
		Variables map[string]struct{ Default string }
	}
	Tags []struct {
		Name, Description string
		Parent            string `json:"x-parent"`
		Title             string `json:"x-page-title"`
	}
	Paths      map[string]map[string]describedOperation // by path and method
	Components struct {
		Schemas         map[string]schema
		SecuritySchemes map[string]any
	}
	operations map[string]describedOperation // those of Paths by their pattern for the mux
}

type describedOperation struct {
	OperationID, Summary, Description string
	Tags                              []string
	Parameters                        []parameter
	RequestBody                       *content
	Responses                         map[string]describedResponse // by status
	Deprecated                        bool
	Sunset                            string `json:"x-deprecated-sunset"`
	HideTryIt                         bool   `json:"x-hideTryItPanel"`
	Stability                         string `json:"x-stability"`
	path                              string // such as /pets/{petId}
}

var pathParameter = regexp.MustCompile(`\{\w+\}`)

type parameter struct {
	Name, In, Description string
	Required              bool
	Schema                schema
	Example               any
}

type describedResponse struct {
	Description string
	Codes       []string `json:"x-codes"` // of an error
	Headers     map[string]parameter
	content
}

type content struct {
	Content map[string]struct {
		Schema   schema
		Examples map[string]example
	}
}

type example struct {
	Summary string
	Value   any
	Try     *mistake `json:"x-try"`
}

// A mistake changes a valid request so that it gets the error of an example. The page offers it.
type mistake struct {
	Parameters, Headers map[string]string
	Query               string
	Body                any            // fields, of which null removes one, or all of it
	Letters             map[string]int // fields with that many letters
}

func (c content) schema() schema { return c.Content["application/json"].Schema }

func (c content) examples() map[string]example { return c.Content["application/json"].Examples }

type schema struct {
	Type                 string
	Enum                 []any
	AllOf                []schema
	Properties           map[string]schema
	Required             []string
	Items                *schema
	Minimum, Maximum     *int64
	MinLength, MaxLength *int64
	Default              any
}

// whole returns the schema with what its allOf adds.
func (s schema) whole() schema {
	s.Properties = maps.Clone(s.Properties)
	for _, part := range s.AllOf {
		part = part.whole()
		s.Type = cmp.Or(s.Type, part.Type)
		s.Enum = append(s.Enum, part.Enum...)
		s.Required = append(s.Required, part.Required...)
		if s.Properties == nil {
			s.Properties = map[string]schema{}
		}
		maps.Copy(s.Properties, part.Properties)
	}
	return s
}

// types returns the JSON types of the properties.
func (s schema) types() map[string]string {
	types := map[string]string{}
	for name, property := range s.whole().Properties {
		types[name] = property.whole().Type
	}
	return types
}

// theDocument returns docs/openapi.json, with every $ref replaced.
var theDocument = sync.OnceValue(func() (document any) {
	if err := json.Unmarshal(openAPI, &document); err != nil {
		panic(err)
	}
	return dereference(document, document)
})

// theDescription reads docs/openapi.json, once.
var theDescription = sync.OnceValue(func() (d description) {
	if err := json.Unmarshal(encode(theDocument()), &d); err != nil {
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

// dereference replaces each {"$ref": "#/a/b"} in a value by what the document has at a and b.
func dereference(value, document any) any {
	switch value := value.(type) {
	case map[string]any:
		if ref, ok := value["$ref"].(string); ok {
			found := document
			for _, name := range strings.Split(ref, "/")[1:] {
				found = found.(map[string]any)[name]
			}
			return dereference(found, document)
		}
		whole := map[string]any{}
		for name, member := range value {
			whole[name] = dereference(member, document)
		}
		return whole
	case []any:
		whole := []any{}
		for _, element := range value {
			whole = append(whole, dereference(element, document))
		}
		return whole
	}
	return value
}

// describedResponseTo returns what is described for a response to a request. It reports false if
// the request is for no operation.
func describedResponseTo(r *http.Request, mux *http.ServeMux, status int) (
	described describedResponse, ok bool) {
	_, pattern := mux.Handler(r)
	if r.URL.Path != path.Clean(r.URL.Path) {
		return described, false // the mux would redirect it
	}
	method := r.Method
	if method == "HEAD" {
		method = "GET"
	}
	operation, ok := theDescription().operations[method+" "+pattern]
	return operation.Responses[strconv.Itoa(status)], ok
}

// The operations are written out here, with the statuses that not all of them have, so that none
// changes by accident. If you change one on purpose, change its line.
func TestDescription(t *testing.T) {
	d := theDescription()
	t.Run("operations and their statuses", func(t *testing.T) {
		ofAll := []string{"401", "403", "429", "500", "503"}
		got := map[string]string{}
		for pattern, o := range d.operations {
			line := o.OperationID + " " + strings.Join(o.Tags, "+")
			for _, status := range slices.Sorted(maps.Keys(o.Responses)) {
				if !slices.Contains(ofAll, status) {
					line += " " + status
				}
			}
			for _, status := range ofAll {
				if o.Responses[status].Description == "" {
					line += " without " + status
				}
			}
			if o.HideTryIt {
				line += " no try-out"
			}
			if o.Deprecated {
				line += " deprecated"
			}
			pattern = strings.Replace(pattern, "{id}", "ID", 1)
			got[pattern] = strings.TrimSpace(line + " " + o.Stability + o.Sunset)
		}
		equal(t, "operations", map[string]string{
			"GET /pets":               "listPets animals 200 400",
			"POST /pets":              "createPet animals 201 400 413 415",
			"GET /pets/ID":            "getPet animals 200 400 404 deprecated 2030-12-05",
			"PUT /pets/ID":            "replacePet animals 200 400 404 413 415",
			"DELETE /pets/ID":         "deletePet animals 204 400 404 409",
			"GET /categories":         "listCategories categories 200 400",
			"POST /categories":        "createCategory categories 201 400 413 415",
			"GET /categories/ID":      "getCategory categories 200 400 404",
			"PUT /categories/ID":      "replaceCategory categories 200 400 404 413 415",
			"DELETE /categories/ID":   "deleteCategory categories 204 400 404 409",
			"GET /store/orders":       "listOrders orders 200 400 no try-out",
			"POST /store/orders":      "createOrder orders 201 400 413 415",
			"GET /store/orders/ID":    "getOrder orders 200 400 404",
			"PUT /store/orders/ID":    "replaceOrder orders 200 400 404 409 413 415",
			"DELETE /store/orders/ID": "cancelOrder orders 204 400 404 409 beta",
			"GET /inventory":          "listInventory inventory 200 400",
			"GET /inventory/ID":       "getInventory inventory 200 400 404",
			"PATCH /inventory/ID":     "updateInventory inventory 200 400 404 413 415 experimental",
		}, got)
	})
	t.Run("names", func(t *testing.T) {
		got := []string{d.OpenAPI, d.Info.Title, d.Info.Version}
		for _, tag := range d.Tags {
			got = append(got, tag.Parent+"/"+tag.Name)
		}
		got = append(got, slices.Sorted(maps.Keys(d.Components.SecuritySchemes))...)
		got = append(got, slices.Sorted(maps.Keys(d.Components.Schemas))...)
		equal(t, "names", []string{"3.0.3", "Petstore API", "1.0.0",
			"/Pets", "Pets/animals", "Pets/categories", "/Store", "Store/orders", "Store/inventory",
			"apiKeyAuth", "bearerAuth", "Category", "Error", "InventoryItem", "InventoryUpdate",
			"NewCategory", "NewPet", "Order", "Pet", "PetStatus", "Pets"}, got)
	})
	t.Run("server", func(t *testing.T) {
		equal(t, "servers", 1, len(d.Servers))
		equal(t, "URL", "{base_url}", d.Servers[0].URL)
		equal(t, "base_url", "http://localhost:8080", d.Servers[0].Variables["base_url"].Default)
	})
	t.Run("plans", func(t *testing.T) {
		want := map[string]map[string]int{"enterprise": {}}
		for name, p := range plans {
			want[name] = map[string]int{"perMinute": p.perMinute, "perDay": p.perDay}
			row := fmt.Sprintf("(?i)\\| %s \\| %d \\| %d \\|", name, p.perMinute, p.perDay)
			if !regexp.MustCompile(row).MatchString(d.Info.Description) {
				t.Errorf("the table of plans has no row %s", row)
			}
		}
		equal(t, "x-plans", want, d.Info.Plans)
	})
	t.Run("codes", func(t *testing.T) {
		rows := regexp.MustCompile("\\| (\\d{3}) \\| `(\\w+)` \\|")
		inTable, inEnum := map[string]int{}, []any{}
		for _, row := range rows.FindAllStringSubmatch(d.Info.Description, -1) {
			inTable[row[2]], _ = strconv.Atoi(row[1])
			inEnum = append(inEnum, row[2])
		}
		equal(t, "table of codes", statusOfCode, inTable)
		equal(t, "enumeration", inEnum, d.Components.Schemas["Error"].Properties["code"].Enum)
	})
}

// The reference page needs these members of the description.
func TestMembersForThePage(t *testing.T) {
	needs := map[string]*regexp.Regexp{ // by member: the places that have it, at their ends
		"description": regexp.MustCompile(`^info$|^tags |^paths \S+ \w+$|parameters \d+$|` +
			`requestBody$|responses \d+$|headers \S+$|properties \w+$`),
		"summary":      regexp.MustCompile(`^paths \S+ \w+$|examples \w+$`),
		"operationId":  regexp.MustCompile(`^paths \S+ \w+$`),
		"x-page-title": regexp.MustCompile(`^tags `),
		"schema":       regexp.MustCompile(`parameters \d+$|headers \S+$|application/json$`),
		"examples":     regexp.MustCompile(`application/json$`),
		"value":        regexp.MustCompile(`examples \w+$`),
		"content":      regexp.MustCompile(`requestBody$|responses (20[01]|[45]..)$`),
		"x-codes":      regexp.MustCompile(`responses [45]..$`),
	}
	ignored := regexp.MustCompile(` (oneOf|anyOf|not|nullable|exclusiveM\w+|minItems|multipleOf)$`)
	var visit func(place string, value any)
	visit = func(place string, value any) {
		if ignored.MatchString(place) {
			t.Errorf("the page does not read %s", place)
		}
		switch value := value.(type) {
		case []any:
			for i, element := range value {
				visit(fmt.Sprint(place, " ", i), element)
			}
		case map[string]any:
			for name, places := range needs {
				empty := value[name] == nil || value[name] == ""
				if empty && places.MatchString(place) {
					t.Errorf("%s has no %s", place, name)
				}
			}
			for name, member := range value {
				visit(strings.TrimSpace(place+" "+name), member)
			}
		}
	}
	visit("", theDocument())
}

// exampleOf returns a valid request for an operation: the examples of its parameters in the path,
// and the body of an example. A mistake changes it.
func exampleOf(pattern string, o describedOperation, name string, m mistake) *http.Request {
	method, _, _ := strings.Cut(pattern, " ")
	target, query := o.path, m.Query
	for _, p := range o.Parameters {
		value, given := m.Parameters[p.Name]
		if p.In == "path" {
			value = cmp.Or(value, fmt.Sprint(p.Example))
			target = strings.Replace(target, "{"+p.Name+"}", value, 1)
		} else if given {
			query += p.Name + "=" + value
		}
	}
	var body io.Reader
	if o.RequestBody != nil {
		examples := o.RequestBody.examples()
		chosen, ok := examples[name]
		if !ok {
			chosen = examples[slices.Sorted(maps.Keys(examples))[0]]
		}
		members := maps.Clone(chosen.Value.(map[string]any))
		fields, _ := m.Body.(map[string]any)
		maps.Copy(members, fields)
		for field, count := range m.Letters {
			members[field] = strings.Repeat("x", count)
		}
		maps.DeleteFunc(members, func(_ string, value any) bool { return value == nil })
		text, ok := m.Body.(string)
		if !ok {
			text = string(encode(members))
		}
		body = strings.NewReader(text)
	}
	r := httptest.NewRequest(method, target+"?"+query, body)
	r.Header.Set("Authorization", "Bearer big")
	for name, value := range m.Headers {
		r.Header.Set(name, value)
	}
	return r
}

// returns compares the body of the response with an example.
func (s *service) returns(r *http.Request, want any) {
	s.t.Helper()
	var got any
	json.NewDecoder(s.exchange(r).Body).Decode(&got)
	equal(s.t, r.Method+" "+r.URL.String(), want, got)
}

// Each example of a success is what the program returns on its sample data. Together, the examples
// of a response have the properties that are described, with their types.
func TestExamplesOfSuccesses(t *testing.T) {
	for pattern, o := range theDescription().operations {
		t.Run(o.OperationID, func(t *testing.T) {
			for status, response := range o.Responses {
				if status >= "400" {
					continue
				}
				types := map[string]string{}
				for name, example := range response.examples() {
					s, m := newService(t, ""), mistake{}
					switch name {
					case "none":
						s = serviceOn(t, "{}")
					case "filtered":
						m.Query = "status=available&categoryId=1"
					}
					s.returns(exampleOf(pattern, o, name, m), example.Value)
					addTypes(types, example.Value)
				}
				described := response.schema()
				if described.Items != nil {
					described = *described.Items
				}
				equal(t, "properties", described.types(), types)
			}
		})
	}
}

// addTypes adds the JSON types of the members of an object, or of each object in an array.
func addTypes(types map[string]string, value any) {
	names := map[string]string{"string": "string", "bool": "boolean", "float64": "integer"}
	switch value := value.(type) {
	case []any:
		for _, element := range value {
			addTypes(types, element)
		}
	case map[string]any:
		for name, member := range value {
			types[name] = names[fmt.Sprintf("%T", member)]
		}
	}
}

// Each example of an error is what the program sends after the mistake that it tells of, and the
// examples of a response have all of its codes. So the program really sends each code where it is
// described. A code that it sends elsewhere fails the test that provokes it.
func TestExamplesOfErrors(t *testing.T) {
	for pattern, o := range theDescription().operations {
		t.Run(o.OperationID, func(t *testing.T) {
			for status, response := range o.Responses {
				if status < "400" {
					continue
				}
				var codes []string
				for name, example := range response.examples() {
					value := example.Value.(map[string]any)
					codes = append(codes, value["code"].(string))
					t.Run(name, func(t *testing.T) {
						inBubble(t, func(t *testing.T, s *service) {
							m := cmp.Or(example.Try, new(mistake))
							r := exampleOf(pattern, o, "", *m)
							s.provoke(name, r).returns(r, value)
						})
					})
				}
				slices.Sort(codes)
				equal(t, "codes of the examples of a "+status,
					slices.Sorted(slices.Values(response.Codes)), slices.Compact(codes))
			}
		})
	}
}

// provoke returns a service on which the request gets the error of an example. It changes the
// request if x-try cannot say how.
func (s *service) provoke(name string, r *http.Request) *service {
	switch name {
	case "BodyIncomplete":
		r.Body = io.NopCloser(iotest.ErrReader(io.ErrUnexpectedEOF))
	case "KeyUnknown":
		return demoService(s.t)
	case "RateLimited", "DayUsedUp", "KeyBanned":
		r.Header.Set("Authorization", "Bearer free")
		s.get("free")
		free := s.limits.accounts["free"]
		if name == "DayUsedUp" {
			free.day.used = free.day.limit
			break
		}
		free.minute.used = free.minute.limit
		for range 10 * strings.Count(name, "Banned") {
			s.get("free")
			time.Sleep(time.Second)
		}
	case "InternalError":
		s.store = nil
	case "SaveFailed":
		s = serviceOn(s.t, string(sample))
		breakDisk(s.t, s.store.path)
	case "FileChanged":
		s = serviceOn(s.t, string(sample))
		writeFile(s.t, s.store.path, "{}")
	case "IdsExhausted":
		return serviceOn(s.t, strings.NewReplacer(`Id": 4`, `Id": 2147483647`,
			`Id": 5`, `Id": 2147483647`, `Id": 2,`, `Id": 2147483647,`).Replace(string(sample)))
	case "FailedOnPurpose", "WriteFailedOnPurpose":
		s.fail.parse("1/1")
	}
	return s
}

// The program takes and refuses the values of a body that are described so.
func TestDescribedBodies(t *testing.T) {
	for pattern, o := range theDescription().operations {
		if o.RequestBody == nil {
			continue
		}
		schema := o.RequestBody.schema()
		for name, property := range schema.Properties {
			t.Run(o.OperationID+" "+name, func(t *testing.T) {
				s := newService(t, "")
				send := func(value any, taken bool) {
					t.Helper()
					m := mistake{Body: map[string]any{name: value}}
					text, _ := io.ReadAll(s.exchange(exampleOf(pattern, o, "full", m)).Body)
					refused := strings.Contains(errorIn(text), ": "+name) // the message begins so
					equal(t, fmt.Sprintf("%.50v is taken", value), taken, !refused)
				}
				send(map[string]any{}, false)
				send(nil, !slices.Contains(schema.Required, name)) // left out
				sized := func(size int64) any {
					if property.Type == "string" {
						return strings.Repeat("x", int(size))
					}
					return size
				}
				if from := cmp.Or(property.Minimum, property.MinLength); from != nil {
					send(sized(*from-1), false)
					send(sized(*from), true)
				}
				if to := cmp.Or(property.Maximum, property.MaxLength); to != nil {
					send(sized(*to+1), false)
					send(sized(*to), name != "id") // only the id of the path is
				}
				for _, value := range property.whole().Enum {
					send(value, true)
				}
			})
		}
	}
}

// The parameters of a path and of a query are described as the program has them.
func TestDescribedParameters(t *testing.T) {
	for pattern, o := range theDescription().operations {
		var inPath, inQuery []string
		for _, p := range o.Parameters {
			if p.In == "path" {
				inPath = append(inPath, "{"+p.Name+"}")
				equal(t, pattern+": type of "+p.Name, "integer", p.Schema.Type)
			} else {
				inQuery = append(inQuery, p.Name)
			}
			equal(t, pattern+": "+p.Name+" is required", p.In == "path", p.Required)
		}
		equal(t, pattern+": path", pathParameter.FindAllString(o.path, -1), inPath)
		if inQuery == nil {
			continue
		}
		t.Run(o.OperationID, func(t *testing.T) {
			s := newService(t, "")
			for range 25 { // more records than a page has by default
				s.do("POST /pets", newKiwi)
				s.do("POST /categories", `{"name":"x"}`)
				s.do("POST /store/orders", `{}`)
			}
			send := func(query string, status int) string {
				t.Helper()
				resp := s.do(pattern+"?"+query, "")
				equal(t, query+": status", status, resp.StatusCode)
				body, _ := io.ReadAll(resp.Body)
				return string(body)
			}
			for _, p := range o.Parameters {
				for _, value := range p.Schema.whole().Enum {
					send(fmt.Sprint(p.Name, "=", value), 200)
				}
				if lowest := p.Schema.Minimum; lowest != nil {
					send(fmt.Sprint(p.Name, "=", *lowest-1), 400)
					send(fmt.Sprint(p.Name, "=", *lowest), 200)
				}
				if highest := p.Schema.Maximum; highest != nil {
					send(fmt.Sprint(p.Name, "=", *highest+1), 400)
					send(fmt.Sprint(p.Name, "=", *highest), 200)
				}
				if p.Schema.Default != nil {
					given := send(fmt.Sprint(p.Name, "=", p.Schema.Default), 200)
					equal(t, "without "+p.Name, given, send("", 200))
				}
			}
			// The program names its parameters when it refuses one.
			_, names, _ := strings.Cut(send("unknown=1", 400), "; use one of ")
			names, _, _ = strings.Cut(names, ".")
			equal(t, "parameters", slices.Sorted(slices.Values(inQuery)),
				slices.Sorted(strings.SplitSeq(names, ", ")))
		})
	}
}
