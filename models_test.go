package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestMalformedJSON(t *testing.T) {
	const (
		post   = "POST /categories"
		at     = "malformed_json: The JSON is malformed on line "
		early  = "malformed_json: The JSON ends too early; send all of it."
		object = "malformed_json: The JSON must be a single object."
		twice  = `malformed_json: The field "name" appears twice; remove one.`
		mark   = "malformed_json: The JSON begins with a byte order mark; remove it."
	)
	checkRows(t, []row{
		{"empty", post, " \n", 400, "malformed_json: The JSON is empty; it must be"},
		{"no object", post, `null`, 400, object},
		{"", post, `[{"name":"x"}]`, 400, object},
		{"an early end", post, `{"name":"x"`, 400, early},
		{"an early end in a number", post, `-`, 400, early},
		{"", post, `1.`, 400, early},
		{"", post, `[-1e+`, 400, early},
		{"text behind the value", post, "{\"name\":\"x\"}\n x", 400, at + "2, at byte 2: 'x'"},
		{"a comma too many", post, `{"name":"x",}`, 400, at + "1, at byte 13: '}' is not"},
		{"other quotes", post, `{'name':'x'}`, 400, at + "1, at byte 2: '\\'' is not allowed"},
		{"typographic quotes", post, `{“name”:1}`, 400, at + "1, at byte 2: '“' is"},
		{"a line break in a string", post, "{\"a\":\"x\n\"}", 400, at + "1, at byte 8: '\\n'"},
		{"a fault in a later line", post, "\r\n{\"a\":1,\n\n x}", 400, at + "4, at byte 2: 'x' is"},
		{"bytes are counted, not characters", post, `{"é":x}`, 400, at + "1, at byte 7: 'x' is"},
		{"too many brackets", post, strings.Repeat("[", 60000), 400, at + "1, at byte 10001: '['"},
		{"a byte order mark", post, "\ufeff{\"name\":\"x\"}", 400, mark},
		{"no UTF-8", post, "{\n\"a\":\"\ufffd\xff\"}", 400, at + "2, at byte 9: invalid UTF-8."},
		{"", post, "{\"\xed\xa0\x80\":1}", 400, at + "1, at byte 3: invalid UTF-8."}, // a surrogate
		{"a field given twice", post, `{"name":5,"name":"x"}`, 400, twice},
		{"twice, once with an escape", post, `{"name":"x","n\u0061me":"x"}`, 400, twice},
		{"not a field of another object", post, `{"name":{"name":"x"}}`, 400,
			"invalid_field: name must be"},
	})
}

func TestUnknownField(t *testing.T) {
	const post = "POST /categories"
	const unknown = `invalid_field: The field "%s" is unknown here; leave it out.`
	long := strings.Repeat("é", 30000)
	checkRows(t, []row{
		{"has another letter case", post, `{"Name":"x"}`, 400, fmt.Sprintf(unknown, "Name")},
		{"has no name", post, `{"name":"x","":1}`, 400, fmt.Sprintf(unknown, "")},
		{"is shortened in the message", post, `{"` + long + `":1}`, 400,
			fmt.Sprintf(unknown, long[:2*40])},
		{"belongs to another record", "PATCH /inventory/1", `{"petId":1,"quantity":1}`, 400,
			fmt.Sprintf(unknown, "petId")},
	})
}

// Of several faults, one is reported, and each time the same one.
func TestSeveralFaults(t *testing.T) {
	const post, twice = "POST /pets", "malformed_json: The field "
	const wrong, unknown = "invalid_field: ", "invalid_field: The field "
	rows := []row{
		{"malformed, then twice", post, `{"a":1,"a":1,x}`, 400, "malformed_json: The JSON is mal"},
		{"twice, then unknown", post, `{"x":1,"name":1,"name":1}`, 400, twice + `"name" appears`},
		{"unknown, then missing", post, `{"nmae":"x"}`, 400, unknown + `"nmae" is unknown`},
		{"fields in the order of the description", post, `{}`, 400, wrong + "name is missing"},
		{"a wrong type, then missing", post, `{"name":5}`, 400, wrong + "name must be a string"},
		{"types, then values", post, `{"name":" ","categoryId":"1","status":"gone"}`, 400,
			wrong + "categoryId must be a 64-bit integer"},
		{"values, then references", post, `{"name":" ","categoryId":77}`, 400, wrong + "name must"},
		{"the same one each time", post, `{"zoo":1,"zoo":1,"a":1,"a":1}`, 400, twice + `"zoo"`},
	}
	for range 20 {
		rows = append(rows, row{"", post, `{"zoo":1,"b":1}`, 400, unknown + `"b" is unknown`})
	}
	checkRows(t, rows)
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

// Where the fault is does not hang on how a Go release reads a part of a document.
func TestBeginsJSON(t *testing.T) {
	whole := `{"é\u00e9😀\ud83d\ude00":[-1.5e+10,true,null,{},"",0]} `
	for i := range whole {
		if !beginsJSON([]byte(whole[:i])) {
			t.Errorf("no JSON begins with %q", whole[:i])
		}
	}
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
		equal(t, "error of encoding/json", nil, err)
		equal(t, string(data), want, got)
		again, err := read(encode(got))
		equal(t, "error for what is shown", nil, err)
		equal(t, "what is shown", got, again)
	})
}
