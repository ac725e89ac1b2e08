package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
)

// A description is what the tests read of docs/openapi.json, with every $ref replaced by what it
// refers to.
type description struct {
	OpenAPI string
	Info    struct{ Title, Version, Description string }
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
	Headers     map[string]parameter
	content
}

type content struct {
	Content map[string]struct {
		Schema   schema
		Examples map[string]struct {
			Summary string
			Value   any
		}
	}
}

func (c content) schema() schema { return c.Content["application/json"].Schema }

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

// theDescription reads docs/openapi.json, once.
var theDescription = sync.OnceValue(func() (d description) {
	text, err := documents.ReadFile("docs/openapi.json")
	var document any
	if err := errors.Join(err, json.Unmarshal(text, &document)); err != nil {
		panic(err)
	}
	if err := json.Unmarshal(encode(dereference(document, document)), &d); err != nil {
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

// The operations are written out here, with the statuses that not all of them have, so that none
// changes by accident. If you change one on purpose, change its line.
func TestDescription(t *testing.T) {
	d := theDescription()
	ofAll := []string{"401", "403", "429", "500", "503"}
	got := map[string]string{}
	for pattern, o := range d.operations {
		line := fmt.Sprint(o.OperationID, " ", o.Tags)
		for _, status := range slices.Sorted(maps.Keys(o.Responses)) {
			if !slices.Contains(ofAll, status) {
				line += " " + status
			}
		}
		for _, status := range ofAll {
			if _, ok := o.Responses[status]; !ok {
				line += " without " + status
			}
		}
		if o.HideTryIt {
			line += " no try-out"
		}
		got[pattern] = strings.TrimSpace(line + " " + o.Stability + o.Sunset)
	}
	same(t, "operations", map[string]string{
		"GET /pets":                 "listPets [animals] 200 400",
		"POST /pets":                "createPet [animals] 201 400 413 415",
		"GET /pets/{id}":            "getPet [animals] 200 400 404 2030-12-05",
		"PUT /pets/{id}":            "replacePet [animals] 200 400 404 413 415",
		"DELETE /pets/{id}":         "deletePet [animals] 204 400 404 409",
		"GET /categories":           "listCategories [categories] 200 400",
		"POST /categories":          "createCategory [categories] 201 400 413 415",
		"GET /categories/{id}":      "getCategory [categories] 200 400 404",
		"PUT /categories/{id}":      "replaceCategory [categories] 200 400 404 413 415",
		"DELETE /categories/{id}":   "deleteCategory [categories] 204 400 404 409",
		"GET /store/orders":         "listOrders [orders] 200 400 no try-out",
		"POST /store/orders":        "createOrder [orders] 201 400 413 415",
		"GET /store/orders/{id}":    "getOrder [orders] 200 400 404",
		"PUT /store/orders/{id}":    "replaceOrder [orders] 200 400 404 409 413 415",
		"DELETE /store/orders/{id}": "cancelOrder [orders] 204 400 404 409 beta",
		"GET /inventory":            "listInventory [inventory] 200 400",
		"GET /inventory/{id}":       "getInventory [inventory] 200 400 404",
		"PATCH /inventory/{id}":     "updateInventory [inventory] 200 400 404 413 415 experimental",
	}, got)
	same(t, "patterns", slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(operations)))

	var tags []string
	for _, tag := range d.Tags {
		tags = append(tags, tag.Parent+"/"+tag.Name)
	}
	same(t, "tags", []string{"/Pets", "Pets/animals", "Pets/categories",
		"/Store", "Store/orders", "Store/inventory"}, tags)
	same(t, "schemas", []string{"Category", "Error", "InventoryItem", "InventoryUpdate",
		"NewCategory", "NewPet", "Order", "Pet", "PetStatus", "Pets"},
		slices.Sorted(maps.Keys(d.Components.Schemas)))
	same(t, "ways to send a key", []string{"apiKeyAuth", "bearerAuth"},
		slices.Sorted(maps.Keys(d.Components.SecuritySchemes)))
	same(t, "version and title", "3.0.3 1.0.0 Petstore API",
		d.OpenAPI+" "+d.Info.Version+" "+d.Info.Title)
	same(t, "getPet is deprecated", true, d.operations["GET /pets/{id}"].Deprecated)
	if len(d.Servers) != 1 || d.Servers[0].URL != "{base_url}" ||
		d.Servers[0].Variables["base_url"].Default != "http://localhost:8080" {
		t.Errorf("servers: %+v", d.Servers)
	}
}

// The reference page shows these texts of the description.
func TestTextsOfTheDescription(t *testing.T) {
	d := theDescription()
	needs := func(what string, texts ...string) {
		t.Helper()
		if slices.Contains(texts, "") {
			t.Errorf("%s has an empty text: %q", what, texts)
		}
	}
	examples := func(what string, c content) {
		t.Helper()
		if len(c.Content["application/json"].Examples) == 0 {
			t.Errorf("%s has no example", what)
		}
		for name, example := range c.Content["application/json"].Examples {
			if needs(what+", example "+name, example.Summary); example.Value == nil {
				t.Errorf("%s, example %s has no value", what, name)
			}
		}
	}
	needs("info", d.Info.Description)
	for _, tag := range d.Tags {
		needs("tag "+tag.Name, tag.Description, tag.Title)
	}
	for request, operation := range d.operations {
		needs(request, operation.Summary, operation.Description)
		if operation.RequestBody != nil {
			examples(request+", body", *operation.RequestBody)
		}
		for _, p := range operation.Parameters {
			needs(request+", parameter "+p.Name, p.Description, p.Schema.Type)
			if p.In == "path" && p.Example == nil {
				t.Errorf("%s, parameter %s has no example", request, p.Name)
			}
		}
		for status, response := range operation.Responses {
			needs(request+", status "+status, response.Description)
			if status != "204" {
				examples(request+", status "+status, response.content)
			}
			for name, header := range response.Headers {
				needs(request+" "+status+", header "+name, header.Description, header.Schema.Type)
			}
		}
	}
	text := read(t, "docs/openapi.json")
	ignored := regexp.MustCompile(
		`"(oneOf|anyOf|not|nullable|exclusiveMinimum|exclusiveMaximum|minItems|multipleOf)":`)
	if unread := ignored.FindAllString(text, -1); unread != nil {
		t.Errorf("the page does not read %s", unread)
	}
}

// The page loads nothing that the server does not have, and none of its scripts makes HTML or code
// of a text. All else about it is tested in a browser.
func TestFilesOfThePage(t *testing.T) {
	s := freshService(t)
	scripts, err := filepath.Glob("docs/*.js")
	if err != nil || len(scripts) == 0 {
		t.Fatalf("scripts: %q, %v", scripts, err)
	}
	text := read(t, "docs/index.html")
	unsafe := regexp.MustCompile(`(?i)(inner|outer|adjacent|set|parse)\w*html|parseFromString|` +
		`contextualFragment|srcdoc|document\.write|\beval\b|new Function|https?://`)
	for _, script := range scripts {
		source := read(t, script)
		if found := unsafe.FindAllString(source, -1); found != nil {
			t.Errorf("%s has %q", script, found)
		}
		text += source
	}
	files := regexp.MustCompile(`"(/docs/[^"]+|/openapi\.json)"|from '([^']+)'`)
	needed := map[string]bool{}
	for _, file := range files.FindAllStringSubmatch(text, -1) {
		needed[strings.Replace(file[1]+file[2], "./", "/docs/", 1)] = true
	}
	for file := range needed {
		resp := s.do("GET "+file, "", "Authorization")
		same(t, file+", which the page needs: status", 200, resp.StatusCode)
	}
}

// jsonType returns the type of a JSON value, as the description calls it.
func jsonType(value []byte) string {
	types := map[byte]string{
		'{': "object", '[': "array", '"': "string", 't': "boolean", 'f': "boolean"}
	return cmp.Or(types[value[0]], "integer")
}

// The properties of a described body are the fields that the program decodes. Their bounds are
// those that the other tests require of it.
func TestDescribedBodies(t *testing.T) {
	schemas := theDescription().Components.Schemas
	got := map[string]string{}
	for name, shape := range map[string]shape{
		"NewPet":          new(NewPet),
		"NewCategory":     new(NewCategory),
		"Order":           new(OrderBody),
		"InventoryUpdate": new(InventoryUpdate),
	} {
		described := schemas[name]
		for _, field := range shape.fields() {
			property := described.Properties[field.name]
			line := property.whole().Type
			if field.required {
				line += " required"
			}
			if from := cmp.Or(property.Minimum, property.MinLength); from != nil {
				line += fmt.Sprint(" from ", *from)
			}
			if to := cmp.Or(property.Maximum, property.MaxLength); to != nil {
				line += fmt.Sprint(" to ", *to)
			}
			got[name+"."+field.name] = line
			same(t, name+": "+field.name+" is required", field.required,
				slices.Contains(described.Required, field.name))
		}
		same(t, name+": number of properties", len(shape.fields()), len(described.Properties))
	}
	same(t, "properties", map[string]string{
		"InventoryUpdate.quantity": "integer required from 0 to 2147483647",
		"NewCategory.description":  "string to 2000", // characters, as of all strings
		"NewCategory.name":         "string required from 1 to 200",
		"NewPet.categoryId":        "integer required from 1",
		"NewPet.name":              "string required from 1 to 200",
		"NewPet.status":            "string",
		"Order.complete":           "boolean",
		"Order.id":                 "integer from 1 to 2147483647",
		"Order.petId":              "integer from 1",
		"Order.quantity":           "integer from 1 to 2147483647",
		"Order.shipDate":           "string",
	}, got)
}

func TestDescribedEnumerations(t *testing.T) {
	d := theDescription()
	statuses := []any{string(Available), string(Pending), string(Sold)}
	for _, name := range []string{"NewPet", "Pet", "InventoryItem"} {
		status := d.Components.Schemas[name].whole().Properties["status"].whole()
		same(t, "status of "+name, statuses, status.Enum)
	}
	var codes []any
	for _, status := range slices.Sorted(maps.Keys(errorCodes)) {
		codes = append(codes, errorCodes[status])
		row := fmt.Sprintf("| %d | `%s` |", status, errorCodes[status])
		if !strings.Contains(d.Info.Description, row) {
			t.Errorf("the table of codes has no row %q", row)
		}
	}
	same(t, "codes", codes, d.Components.Schemas["Error"].Properties["code"].Enum)
}

// The parameters of a path and of a query are described as the program has them, with the same
// bounds. What a described header does needs a test of its own.
func TestDescribedParameters(t *testing.T) {
	s := newService(t, "")
	for range 25 { // more records than a page has by default
		s.do("POST /pets", `{"name":"x","categoryId":1}`)
		s.do("POST /categories", `{"name":"x"}`)
		s.do("POST /store/orders", `{}`)
	}
	for request, operation := range s.spec.operations {
		var inPath, inQuery []string
		for _, p := range operation.Parameters {
			same(t, request+": "+p.Name+" is required", p.In == "path", p.Required)
			if p.In == "path" {
				inPath = append(inPath, "{"+p.Name+"}")
				same(t, request+": type of "+p.Name, "integer", p.Schema.Type)
				continue
			}
			inQuery = append(inQuery, p.Name)
			target := request + "?" + p.Name + "="
			get := func(value string) string {
				resp := s.do(target+value, "")
				same(t, target+value+": status", 200, resp.StatusCode)
				body, _ := io.ReadAll(resp.Body)
				return string(body)
			}
			refuse := func(value int64) {
				s.refuse(fmt.Sprint(target, value), "", p.Name+" must be an integer from ")
			}
			for _, value := range p.Schema.whole().Enum {
				get(fmt.Sprint(value))
			}
			if lowest := p.Schema.Minimum; lowest != nil {
				refuse(*lowest - 1)
				get(fmt.Sprint(*lowest))
			}
			if highest := p.Schema.Maximum; highest != nil {
				refuse(*highest + 1)
				get(fmt.Sprint(*highest))
			}
			if p.Schema.Default != nil {
				got, _ := io.ReadAll(s.do(request, "").Body)
				same(t, request+" without "+p.Name, get(fmt.Sprint(p.Schema.Default)), string(got))
			}
		}
		same(t, request+": parameters of the path",
			pathParameter.FindAllString(operation.path, -1), inPath)
		if inQuery != nil { // the program lists its parameters when it refuses one
			s.refuse(request+"?unknown=1", "", "unknown; use "+strings.Join(inQuery, ", ")+".")
		}
	}
}

// memberTypes returns the JSON types of the members of an object, or of the first object in an
// array.
func memberTypes(t testing.TB, text []byte) map[string]string {
	t.Helper()
	if strings.HasPrefix(string(text), "[") {
		var objects []json.RawMessage
		if err := json.Unmarshal(text, &objects); err != nil || len(objects) == 0 {
			t.Fatalf("%s has no object: %v", text, err)
		}
		text = objects[0]
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(text, &members); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	types := map[string]string{}
	for name, value := range members {
		types[name] = jsonType(value)
	}
	return types
}

// Each operation is called so that it returns each status that is described for it, with a body of
// exactly the properties that are described. The header is checked by do, in all tests.
//
// If you describe a new operation, give it a row. If you describe a new status, give the switch a
// case that changes the request, or one header of it, so that it gets that status; for a 409, put
// such a request into the row instead.
func TestDescribedResponses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := freshService(t)
		panicking := newService(t, "")
		panicking.loseStore()
		broken := freshService(t)
		breakDisk(t, broken.store.path)
		failing := newService(t, "")
		failing.fail.Set("1/1")
		s.spendDay()
		s.expectStrikes("daily") // and now it is banned
		s.ask("one")             // the one request of its minute

		const order = `{"petId":2,"quantity":1,"shipDate":"2030-01-01T00:00:00Z"}`
		undone := maps.Clone(s.spec.operations)
		for _, test := range []struct {
			success, body string
			conflict      string // a request that gets a 409
		}{
			{"GET /pets?limit=1", ``, ``},
			{"POST /pets", `{"name":"x","categoryId":1,"status":"sold"}`, ``},
			{"GET /pets/1", ``, ``},
			{"PUT /pets/1", `{"name":"x","categoryId":1,"status":"sold"}`, ``},
			{"DELETE /pets/5", ``, "DELETE /pets/2"},
			{"GET /categories?limit=1", ``, ``},
			{"POST /categories", `{"name":"x","description":"y"}`, ``},
			{"GET /categories/1", ``, ``},
			{"PUT /categories/1", `{"name":"x","description":"y"}`, ``},
			{"DELETE /categories/4", ``, "DELETE /categories/1"},
			{"GET /store/orders?limit=1", ``, ``},
			{"POST /store/orders", order, ``},
			{"GET /store/orders/1", ``, ``},
			{"PUT /store/orders/2", order, "PUT /store/orders/1"},
			{"DELETE /store/orders/2", ``, "DELETE /store/orders/1"},
			{"GET /inventory?limit=1", ``, ``},
			{"GET /inventory/1", ``, ``},
			{"PATCH /inventory/1", `{"quantity":1}`, ``},
		} {
			method, target, _ := strings.Cut(test.success, " ")
			_, pattern := s.mux.Handler(httptest.NewRequest(method, target, nil))
			operation := s.spec.operations[pattern]
			delete(undone, pattern)
			same(t, test.success+": has a body", operation.RequestBody != nil, test.body != "")
			for _, status := range slices.Sorted(maps.Keys(operation.Responses)) {
				service, request, body := s, test.success, test.body
				header := "Content-Type: application/json"
				collection := request[:strings.LastIndex(request, "/")]
				switch {
				case status == "200" || status == "201" || status == "204":
				case status == "400" && body != "":
					body = "{"
				case status == "400" && strings.Contains(request, "?"):
					request = strings.Replace(request, "limit=1", "limit=0", 1)
				case status == "400":
					request = collection + "/x"
				case status == "401":
					header = "Authorization: Bearer wrong"
				case status == "403":
					header = "Authorization: Bearer daily"
				case status == "404":
					request = collection + "/99"
				case status == "409" && test.conflict != "":
					request = test.conflict
				case status == "413":
					body = strings.Repeat(" ", 65537)
				case status == "415":
					header = "Content-Type: text/plain"
				case status == "429":
					header = "Authorization: Bearer one"
				case status == "500":
					service = panicking
				case status == "503" && method == "GET":
					service = failing
				case status == "503":
					service = broken
				default:
					t.Errorf("%s: the status %s is described, but not known here", request, status)
					continue
				}
				what := request + ", status " + status
				resp := service.do(request, body, header)
				if got := fmt.Sprint(resp.StatusCode); got != status {
					t.Errorf("%s: got %s", what, got)
					continue
				}
				described := operation.Responses[status]
				text, _ := io.ReadAll(resp.Body)
				same(t, what+": has a body", described.Content != nil, len(text) > 0)
				if len(text) == 0 {
					continue
				}
				schema := described.schema()
				if schema.Items != nil {
					schema = *schema.Items
				}
				same(t, what+": properties", schema.types(), memberTypes(t, text))
			}
		}
		for request := range undone {
			t.Errorf("%s is described, but has no row in this test", request)
		}
	})
}
