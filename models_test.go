package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// A faulty body, what is wrong with it, and what "code: message" of the error begins with. One
// without a rule is another for the rule before.
type faultyBody struct{ rule, body, want string }

func refuseBodies(t *testing.T, request string, bodies []faultyBody) {
	rows := make([]row, len(bodies))
	for i, b := range bodies {
		rows[i] = row{b.rule, request, b.body, 400, b.want}
	}
	checkRows(t, rows)
}

func TestMalformedJSON(t *testing.T) {
	const (
		at     = "malformed_json: The JSON is malformed on line "
		empty  = "malformed_json: The JSON is empty."
		object = "malformed_json: The JSON must be a single object."
	)
	refuseBodies(t, "POST /categories", []faultyBody{
		{"empty", "", empty},
		{"", " \n", empty},
		{"no object", `null`, object},
		{"", `[{"name":"x"}]`, object},
		{"", `"x"`, object},
		{"an early end", `{"name":"x"`, at + "1, at byte 11: unexpected end of JSON input."},
		{"", "{\n", at + "1, at byte 2: unexpected end"},
		{"", `{"name":"x`, at + "1, at byte 10: unexpected end"},
		{"text behind the value", `{"name":"x"}{"name":"y"}`, at + "1, at byte 13: invalid"},
		{"", "{\"name\":\"x\"}\n x", at + "2, at byte 2: invalid"},
		{"a comma too many", `{"name":"x",}`, at + "1, at byte 13: invalid"},
		{"other quotes or none", `{name:"x"}`, at + "1, at byte 2: invalid"},
		{"", `{'name':'x'}`, at + "1, at byte 2: invalid"},
		{"a line break in a string", "{\"name\":\"x\n\"}", at + "1, at byte 11: invalid"},
		{"a fault in a later line", "{\r\n\"name\":\"x\",\n\n  x}", at + "4, at byte 3: invalid"},
		{"bytes are counted, not characters", `{"é":x}`, at + "1, at byte 7: invalid"},
		{"too many brackets", strings.Repeat("[", 60000), at + "1, at byte 10001: "},
		{"a byte order mark", "\ufeff{\"name\":\"x\"}",
			"malformed_json: The JSON begins with a byte order mark; remove it."},
		{"no UTF-8", "{\n\"name\":\"\xff\"}", at + "2, at byte 9: invalid UTF-8."},
		{"", "{\"name\":\"\ufffd\xff\"}", at + "1, at byte 13: invalid UTF-8."},
		{"", "{\"\xff\":1}", at + "1, at byte 3: invalid UTF-8."},
		{"", "\xff", at + "1, at byte 1: invalid UTF-8."},
		{"a UTF-8 surrogate", "{\"name\":\"\xed\xa0\x80\"}", at + "1, at byte 10: invalid UTF-8."},
	})
}

func TestFieldGivenTwice(t *testing.T) {
	const twice = `malformed_json: The field "name" appears twice; remove one.`
	refuseBodies(t, "POST /categories", []faultyBody{
		{"with one value", `{"name":"x","name":"x"}`, twice},
		{"with an escaped name", `{"name":"x","n\u0061me":"x"}`, twice},
		{"once with a wrong value", `{"name":5,"name":"x"}`, twice},
		{"", `{"name":"x","name":null}`, twice},
		{"although it is unknown", `{"c":1,"c":2}`, `malformed_json: The field "c" appears twice`},
		{"one in another object does not count", `{"name":{"name":"x"}}`,
			"invalid_field: name must be a string."},
	})
}

func TestUnknownField(t *testing.T) {
	const unknown = `invalid_field: The field "%s" is unknown here; leave it out.`
	long := strings.Repeat("é", 30000)
	refuseBodies(t, "POST /categories", []faultyBody{
		{"is refused", `{"name":"x","color":"red"}`, fmt.Sprintf(unknown, "color")},
		{"has another letter case", `{"Name":"x"}`, fmt.Sprintf(unknown, "Name")},
		{"has a space", `{"name ":"x"}`, fmt.Sprintf(unknown, "name ")},
		{"has no name", `{"name":"x","":1}`, fmt.Sprintf(unknown, "")},
		{"is shortened in the message", `{"` + long + `":1}`, fmt.Sprintf(unknown, long[:2*40])},
		{"is named before a missing one", `{"nmae":"x"}`, fmt.Sprintf(unknown, "nmae")},
		{"is named before a wrong one", `{"name":5,"x":1}`, fmt.Sprintf(unknown, "x")},
	})
	checkRows(t, []row{
		{"belongs to another record", "POST /pets", `{"name":"x","categoryId":1,"quantity":1}`, 400,
			fmt.Sprintf(unknown, "quantity")},
		{"", "PATCH /inventory/1", `{"petId":1,"quantity":1}`, 400, fmt.Sprintf(unknown, "petId")},
	})
}

// Each other missing field is an example in docs/openapi.json.
func TestMissingField(t *testing.T) {
	refuseBodies(t, "POST /pets", []faultyBody{
		{"name", `{"categoryId":1}`, "invalid_field: name is missing; it must be a string."},
		{"categoryId", `{"name":"x"}`, "invalid_field: categoryId is missing; it must be a 64-bit"},
	})
}

// Of several faults, one is reported, and each time the same one.
func TestSeveralFaults(t *testing.T) {
	const twice, unknown = "malformed_json: The field ", "invalid_field: The field "
	bodies := []faultyBody{
		{"malformed JSON, then twice", `{"name":1,"name":1,x}`, "malformed_json: The JSON is mal"},
		{"twice, then unknown", `{"x":1,"name":1,"name":1}`, twice + `"name" appears twice`},
		{"fields in the order of the description", `{}`, "invalid_field: name is missing"},
		{"a wrong type, then a missing field", `{"name":5}`, "invalid_field: name must be a str"},
		{"types, then values", `{"name":" ","categoryId":"1","status":"gone"}`,
			"invalid_field: categoryId must be a 64-bit integer"},
		{"values, then references", `{"name":" ","categoryId":77}`, "invalid_field: name must be"},
		{"the same one each time", `{"zoo":1,"zoo":1,"a":1,"a":1}`, twice + `"zoo" appears twice`},
	}
	for range 20 {
		bodies = append(bodies, faultyBody{"", `{"zoo":1,"b":1}`, unknown + `"b" is unknown`})
	}
	refuseBodies(t, "POST /pets", bodies)
}

// A value that a field cannot have is refused, and the message says what it must be.
func TestWrongValue(t *testing.T) {
	const (
		text    = "a string."
		integer = "a 64-bit integer without a fraction or exponent."
		boolean = "true or false."
		status  = "available, pending or sold."
		date    = "an RFC 3339 date-time such as 2030-12-05T09:30:00Z."
	)
	long := strings.Repeat("1", 60000)
	fields := []struct{ request, others, name, mustBe string }{
		{"PUT /pets/1", `"name":"x","categoryId":1,`, "id", integer},
		{"POST /pets", `"categoryId":1,`, "name", text},
		{"POST /pets", `"name":"x",`, "categoryId", integer},
		{"POST /pets", `"name":"x","categoryId":1,`, "status", status},
		{"PUT /categories/1", `"name":"x",`, "id", integer},
		{"POST /categories", ``, "name", text},
		{"POST /categories", `"name":"x",`, "description", text},
		{"PUT /store/orders/2", ``, "id", integer},
		{"POST /store/orders", ``, "petId", integer},
		{"POST /store/orders", ``, "quantity", integer},
		{"POST /store/orders", ``, "shipDate", date},
		{"POST /store/orders", ``, "complete", boolean},
		{"PATCH /inventory/1", ``, "quantity", integer},
	}
	for _, test := range []struct {
		rule, mustBe string // which fields; empty for all
		values       string
	}{
		{"null", "", `null`},
		{"an object or an array", "", `{} [] ["x"] [1]`},
		{"no string", text, `5 true`},
		{"no integer", integer, `"1" true`},
		{"a fraction or an exponent", integer, `1.0 1.5 0.1 1e0 1E2`},
		{"an overflow", integer, `9223372036854775808 -9223372036854775809 ` + long},
		{"no boolean", boolean, `"true" 1 0`},
		{"no status", status, `"" "Sold" "sold\u0020" "gone" 1`},
		{"no date", date, `"" "tomorrow" 1`},
	} {
		t.Run(test.rule, func(t *testing.T) {
			s := newService(t, "")
			for _, field := range fields {
				if test.mustBe != "" && test.mustBe != field.mustBe {
					continue
				}
				for value := range strings.FieldsSeq(test.values) {
					body := fmt.Sprintf("{%s%q:%s}", field.others, field.name, value)
					s.expect(field.request, body, 400,
						"invalid_field: "+field.name+" must be "+field.mustBe)
				}
			}
		})
	}
}

func TestBounds(t *testing.T) {
	const (
		stock = "invalid_field: quantity must be from 0 to 2147483647."
		units = "invalid_field: quantity must be from 1 to 2147483647."
	)
	checkRows(t, []row{
		{"a stock is at least 0", "PATCH /inventory/1", `{"quantity":0}`, 200,
			`{"petId":1,"quantity":0,"status":"available"}`},
		{"", "PATCH /inventory/1", `{"quantity":-1}`, 400, stock},
		{"a stock is at most 2147483647", "PATCH /inventory/1", `{"quantity":2147483647}`, 200,
			`{"petId":1,"quantity":2147483647,"status":"available"}`},
		{"", "PATCH /inventory/1", `{"quantity":2147483648}`, 400, stock},
		{"an order is at least 1", "PUT /store/orders/2", `{"quantity":1}`, 200,
			`{"id":2,"quantity":1,"complete":false}`},
		{"", "PUT /store/orders/2", `{"quantity":-0}`, 400, units},
		{"an order is at most 2147483647", "PUT /store/orders/2", `{"quantity":2147483647}`, 200,
			`{"id":2,"quantity":2147483647,"complete":false}`},
		{"", "PUT /store/orders/2", `{"quantity":2147483648}`, 400, units},
	})
}

// Names and descriptions are counted in characters, and come back byte for byte.
func TestNameAndDescription(t *testing.T) {
	name, description := strings.Repeat("é", 200), strings.Repeat("😀", 2000)
	longest := `{"name":"` + name + `","description":"` + description + `"}`
	pet := func(name string) string { return `{"name":"` + name + `","categoryId":1}` }
	checkRows(t, []row{
		{"a name of 200 characters", "POST /pets", pet(name), 201,
			`{"id":6,"name":"` + name + `","categoryId":1,"status":"available"}`},
		{"a description of 2000 characters", "POST /categories", longest, 201,
			`{"id":5,` + longest[1:]},
		{"a description too long", "POST /categories",
			`{"name":"x","description":"` + description + `x"}`, 400,
			"invalid_field: description must be at most 2000 characters."},
		{"an empty description", "POST /categories", `{"name":"x","description":""}`, 201,
			`{"id":5,"name":"x","description":""}`},
		{"a lone surrogate becomes U+FFFD", "POST /categories", `{"name":"a\ud800b\u0041"}`, 201,
			`{"id":5,"name":"a` + "\ufffd" + `bA"}`},
		{"HTML is not escaped", "POST /categories", `{"name":"<b>&amp;\u003c"}`, 201,
			`{"id":5,"name":"<b>&amp;<"}`},
	})
	for rule, name := range map[string]string{
		"a name too long": name + "x", "an empty name": "", "a blank name": ` \t\u00a0\u2003\u3000`,
	} {
		t.Run(rule, func(t *testing.T) {
			s := newService(t, "")
			const wrong = "invalid_field: name must be 1 to 200 characters and not blank."
			s.expect("POST /pets", pet(name), 400, wrong)
			s.expect("PUT /categories/1", `{"name":"`+name+`"}`, 400, wrong)
		})
	}
	for rule, text := range map[string]string{
		"spaces around it": "  x\t\n", "quotes": `"\"'` + "`", "control characters": "\x00\x1f\x7f",
		"line separators": "a\u2028b\u2029", "no normal form": "e\u0301 \ufb01 \u212b",
		"beyond the BMP": "👩‍👩‍👧 𐍈", "U+FFFD": "\ufffd",
		"a byte order mark": "\ufeffx",
		"right to left":     "\u202ecba",
	} {
		t.Run("comes back with "+rule, func(t *testing.T) {
			s := newService(t, "")
			body, _ := json.Marshal(Category{Name: text, Description: &text}) // with the id 0
			want := strings.Replace(string(body), "0", "5", 1)
			s.expect("POST /categories", string(body), 201, want)
			s.expect("GET /categories/5", "", 200, want)
		})
	}
}

// A ship date comes back as the same instant, to the nanosecond, and what can be read can be
// written back.
func TestShipDate(t *testing.T) {
	const refused = ""
	for _, test := range []struct{ rule, dates, want string }{ // the dates are separated by |
		{"UTC", "2030-12-05T09:30:00Z", "2030-12-05T09:30:00Z"},
		{"an offset", "2030-12-05T09:30:00+05:45", "2030-12-05T09:30:00+05:45"},
		{"an offset of 0", "2030-01-01T00:00:00+00:00", "2030-01-01T00:00:00Z"},
		{"nanoseconds", "2030-12-05T09:30:00.123456789Z", "2030-12-05T09:30:00.123456789Z"},
		{"zeros behind a fraction", "2030-12-05T09:30:00.50Z", "2030-12-05T09:30:00.5Z"},
		{"the first year", "0000-01-01T00:00:00+23:59", "0000-01-01T00:00:00+23:59"},
		{"the last year", "9999-12-31T23:59:59-23:59", "9999-12-31T23:59:59-23:59"},
		{"an hour of one digit", "2030-01-01T9:30:00Z", "2030-01-01T09:30:00Z"},
		{"a comma before the fraction", "2030-01-01T09:30:00,5Z", "2030-01-01T09:30:00.5Z"},
		{"31 February", "2030-02-31T00:00:00Z|2029-02-29T00:00:00Z", refused},
		{"a leap second", "2030-12-31T23:59:60Z", refused},
		{"an offset of 24 hours", "2030-01-01T00:00:00+24:00|2030-01-01T00:00:00-24:00", refused},
		{"the year 10000", "10000-01-01T00:00:00Z", refused},
		{"no date-time", "2030-01-01T00:00:00|2030-01-01 00:00:00Z|2030-01-01", refused},
	} {
		t.Run(test.rule, func(t *testing.T) {
			s := newService(t, "")
			for date := range strings.SplitSeq(test.dates, "|") {
				body := `{"shipDate":"` + date + `"}`
				if test.want == refused {
					s.expect("POST /store/orders", body, 400, "invalid_field: shipDate must")
					continue
				}
				want := `{"id":2,"shipDate":"` + test.want + `","complete":false}`
				s.expect("PUT /store/orders/2", body, 200, want)
				s.expect("PUT /store/orders/2", want, 200, want)
			}
		})
	}
}

// What decode accepts is what encoding/json makes of it, and what is shown of it is accepted, too.
func FuzzBody(f *testing.F) {
	for _, seed := range []string{
		``, `{}`, `null`, `[]`,
		`{"id":1,"petId":2,"quantity":3,"shipDate":"2030-01-01T00:00:00Z","complete":true}`,
		`{"quantity":1.0}`, `{"quantity":1e2}`, `{"quantity":-0}`, `{"petId":9223372036854775807}`,
		`{"complete":null}`, `{"ID":1}`, `{"id":"1","id":1}`, `{"shipDate":"\ud800"}`, `{"a":[{}]}`,
		"\ufeff{}", "{\"id\":1,\n\"\xff\":1}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := decode(data, object{}, readOrder)
		if err != nil {
			if e, ok := err.(*Error); !ok || e.Status != 400 || len(e.Message) > 300 {
				t.Errorf("%q: %v", data, err)
			}
			return
		}
		var want Order
		if err := json.Unmarshal(data, &want); err != nil {
			t.Errorf("%q is accepted: %v", data, err)
		}
		equal(t, string(data), want, got)
		again, err := decode(encode(got), object{}, readOrder)
		if err != nil {
			t.Errorf("%q is accepted, but not what is shown of it: %v", data, err)
		}
		equal(t, string(data), got, again)
	})
}
