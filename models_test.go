package main

import (
	"bytes"
	"encoding/json"
	"errors"
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
		object = "malformed_json: The JSON must be a single object."
		twice  = `malformed_json: The field "name" appears twice; remove one.`
	)
	refuseBodies(t, "POST /categories", []faultyBody{
		{"empty", " \n", "malformed_json: The JSON is empty; it must be"},
		{"no object", `null`, object},
		{"", `[{"name":"x"}]`, object},
		{"an early end", `{"name":"x"`, at + "1, at byte 11: unexpected end of JSON input."},
		{"text behind the value", "{\"name\":\"x\"}\n x", at + "2, at byte 2: invalid"},
		{"a comma too many", `{"name":"x",}`, at + "1, at byte 13: invalid"},
		{"other quotes", `{'name':'x'}`, at + "1, at byte 2: invalid"},
		{"a line break in a string", "{\"name\":\"x\n\"}", at + "1, at byte 11: invalid"},
		{"a fault in a later line", "{\r\n\"name\":\"x\",\n\n  x}", at + "4, at byte 3: invalid"},
		{"bytes are counted, not characters", `{"é":x}`, at + "1, at byte 7: invalid"},
		{"too many brackets", strings.Repeat("[", 60000), at + "1, at byte 10001: "},
		{"a byte order mark", "\ufeff{\"name\":\"x\"}",
			"malformed_json: The JSON begins with a byte order mark; remove it."},
		{"no UTF-8", "{\n\"name\":\"\ufffd\xff\"}", at + "2, at byte 12: invalid UTF-8."},
		{"", "{\"\xed\xa0\x80\":1}", at + "1, at byte 3: invalid UTF-8."}, // a surrogate
		{"a field given twice", `{"name":5,"name":"x"}`, twice},
		{"a field given twice, once with an escape", `{"name":"x","n\u0061me":"x"}`, twice},
		{"not a field of another object", `{"name":{"name":"x"}}`, "invalid_field: name must be"},
	})
}

func TestUnknownField(t *testing.T) {
	const unknown = `invalid_field: The field "%s" is unknown here; leave it out.`
	long := strings.Repeat("é", 30000)
	refuseBodies(t, "POST /categories", []faultyBody{
		{"has another letter case", `{"Name":"x"}`, fmt.Sprintf(unknown, "Name")},
		{"has no name", `{"name":"x","":1}`, fmt.Sprintf(unknown, "")},
		{"is shortened in the message", `{"` + long + `":1}`, fmt.Sprintf(unknown, long[:2*40])},
	})
	refuseBodies(t, "PATCH /inventory/1", []faultyBody{
		{"belongs to another record", `{"petId":1,"quantity":1}`, fmt.Sprintf(unknown, "petId")},
	})
}

// Of several faults, one is reported, and each time the same one.
func TestSeveralFaults(t *testing.T) {
	const twice, unknown = "malformed_json: The field ", "invalid_field: The field "
	bodies := []faultyBody{
		{"malformed JSON, then twice", `{"name":1,"name":1,x}`, "malformed_json: The JSON is mal"},
		{"twice, then unknown", `{"x":1,"name":1,"name":1}`, twice + `"name" appears twice`},
		{"unknown, then missing", `{"nmae":"x"}`, unknown + `"nmae" is unknown`},
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
		{"POST /categories", ``, "name", text},
		{"POST /categories", `"name":"x",`, "description", text},
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
		{"null, an object or an array", "", `null {} [] ["x"] [1]`},
		{"no string", text, `5 true`},
		{"no integer", integer, `"1" true`},
		{"a fraction or an exponent", integer, `1.0 1.5 0.1 1e0 1E2`},
		{"an overflow", integer, `9223372036854775808 -9223372036854775809 ` + long},
		{"no boolean", boolean, `"true" 1 0`},
		{"no status", status, `"" "Sold" "sold\u0020" "gone" 1`},
		{"no date", date, `"" "tomorrow" 1`},
	} {
		t.Run(test.rule, func(t *testing.T) {
			s := newService(t, Options{})
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

// Names and descriptions are counted in characters, and come back byte for byte.
func TestNameAndDescription(t *testing.T) {
	long := `{"name":"` + strings.Repeat("é", 200) +
		`","description":"` + strings.Repeat("😀", 2000) + `"}`
	const blank = "invalid_field: name must be 1 to 200 characters and not blank."
	checkRows(t, []row{
		{"200 and 2000 characters", "POST /categories", long, 201, `{"id":5,` + long[1:]},
		{"a blank name", "POST /categories", `{"name":" \t\u00a0\u2003\u3000"}`, 400, blank},
		{"", "PUT /pets/1", `{"name":" ","categoryId":1}`, 400, blank},
		{"any text comes back", "POST /categories", strange, 201, `{"id":5,` + strange[1:]},
		{"", "GET /categories/5", "", 200, `{"id":5,` + strange[1:]},
		{"an empty text comes back", "POST /categories", `{"name":"x","description":""}`, 201,
			`{"id":5,"name":"x","description":""}`},
		{"a pet's name comes back", "PUT /pets/1", `{"name":" é ","categoryId":1}`, 200,
			`{"id":1,"name":" é ","categoryId":1,"status":"available"}`},
		{"a lone surrogate becomes U+FFFD", "POST /categories", `{"name":"a\ud800b\u0041"}`, 201,
			`{"id":5,"name":"a` + "\ufffd" + `bA"}`},
	})
}

// A category whose texts are spaces, escapes, control characters, a byte order mark, and what has
// another normal form or stands beyond the BMP.
const strange = `{"name":"  \t\"\\\n","description":"\u0000` + "\x7f" + `\u2028 ' <&> ` +
	"\ufeff\ufffd\u202e e\u0301 \u212b 👩‍👩‍👧" + `"}`

func TestShipDate(t *testing.T) {
	const put, wrong = "PUT /store/orders/2", "invalid_field: shipDate must be an RFC 3339"
	at := func(date string) string { return `{"id":2,"shipDate":"` + date + `","complete":false}` }
	half, nano := "2030-01-01T09:30:00.5Z", "2030-12-05T09:30:00.123456789+05:45"
	checkRows(t, []row{
		{"comes back to the nanosecond, with its offset", put, at(nano), 200, at(nano)},
		{"may have an hour of one digit", put, at("2030-01-01T9:30:00.50Z"), 200, at(half)},
		{"may have a comma before the fraction", put, at("2030-01-01T09:30:00,5Z"), 200, at(half)},
		{"may be escaped", put, at(`2030-01-01T00:00:00\u002B01:00`), 200,
			at("2030-01-01T00:00:00+01:00")},
		{"may have an offset of almost a day", put, at("2030-01-01T00:00:00+23:59"), 200,
			at("2030-01-01T00:00:00+23:59")},
		{"may not be 31 February", put, at("2030-02-31T00:00:00Z"), 400, wrong},
		{"may not be a leap second", put, at("2030-12-31T23:59:60Z"), 400, wrong},
		{"may not have an offset of 24 hours", put, at("2030-01-01T00:00:00+24:00"), 400, wrong},
		{"may not lack the offset", put, at("2030-01-01T00:00:00"), 400, wrong},
		{"may not lack the time", put, at("2030-01-01"), 400, wrong},
	})
}

// What readOrder accepts is what encoding/json makes of it, and what is shown of it is accepted.
func FuzzBody(f *testing.F) {
	for _, seed := range []string{
		`{"id":0,"petId":2,"quantity":3,"shipDate":"2030-01-01T00:00:00Z","complete":true}`,
		`{"quantity":1.0}`, `{"quantity":-0}`, `{"petId":9223372036854775807}`, `{"complete":null}`,
		`{"ID":1}`, `{"id":0,"id":0}`, `{"shipDate":"0000-01-01T9:00:00,50+23:59"}`, `{"a":[{}]}`,
	} {
		f.Add([]byte(seed))
	}
	read := func(data []byte) (Order, error) {
		valid, err := validJSON(data)
		if err != nil {
			return Order{}, err
		}
		return readOrder(valid)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := read(data)
		if err != nil {
			if e, ok := err.(*Error); !ok || e.Status != 400 || len(e.Message) > 300 {
				t.Errorf("%q: %v", data, err)
			}
			return
		}
		var plain map[string]any // without escapes, which time.Time does not read
		dec := json.NewDecoder(bytes.NewReader(data))
		dec.UseNumber()
		var want Order
		err = errors.Join(dec.Decode(&plain), json.Unmarshal(encode(plain), &want))
		if err != nil {
			t.Errorf("%q is accepted: %v", data, err)
		}
		equal(t, string(data), want, got)
		again, err := read(encode(got))
		if err != nil {
			t.Errorf("%q is accepted, but not what is shown of it: %v", data, err)
		}
		equal(t, string(data), got, again)
	})
}
