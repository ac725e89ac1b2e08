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
	s := newService(t, Options{})
	for _, test := range []struct{ rule, body, want string }{
		{"empty", " \n", "The JSON is empty; it must be a value such as {}."},
		{"a byte order mark", "\ufeff{}", "The JSON begins with a byte order mark; remove it."},
		{"null", `null`, "The JSON must be a single object."},
		{"an array", `[{"name":"x"}]`, "The JSON must be a single object."},
		{"an early end", `{"name":"x"`, "The JSON ends too early; send all of it."},
		{"a sign alone", `-`, "The JSON ends too early; send all of it."},
		{"a number without its fraction", `1.`, "The JSON ends too early; send all of it."},
		{"a number without its exponent", `[-1e+`, "The JSON ends too early; send all of it."},
		{"text behind the value", "{\"name\":\"x\"}\n x", "on line 2, at byte 2: 'x' is not allowed"},
		{"a comma too many", `{"name":"x",}`, "on line 1, at byte 13: '}' is not allowed there."},
		{"single quotes", `{'name':'x'}`, `on line 1, at byte 2: '\'' is not allowed there.`},
		{"typographic quotes", `{“name”:1}`, "on line 1, at byte 2: '“' is not allowed there."},
		{"a line break in a string", "{\"a\":\"x\n\"}", `on line 1, at byte 8: '\n' is not allowed`},
		{"a fault in a later line", "\r\n{\"a\":1,\n\n x}", "on line 4, at byte 2: 'x' is not"},
		{"bytes are counted, not characters", `{"é":x}`, "on line 1, at byte 7: 'x' is not"},
		{"too many brackets", strings.Repeat("[", 60000), "on line 1, at byte 10001: '[' is not"},
		{"no UTF-8", "{\n\"a\":\"\ufffd\xff\"}", "on line 2, at byte 9: invalid UTF-8."},
		{"a surrogate in UTF-8", "{\"\xed\xa0\x80\":1}", "on line 1, at byte 3: invalid UTF-8."},
		{"a field given twice", `{"name":5,"name":"x"}`, `The field "name" appears twice; remove`},
		{"twice, once with an escape", `{"a":1,"\u0061":1}`, `The field "a" appears twice`},
	} {
		t.Run(test.rule, func(t *testing.T) {
			want := test.want
			if strings.HasPrefix(want, "on line") {
				want = "The JSON is malformed " + want
			}
			s.expect("POST /categories", test.body, 400, "malformed_json: "+want)
		})
	}
	t.Run("a field of another object may have the name", func(t *testing.T) {
		s.expect("POST /categories", `{"name":{"name":"x"}}`, 400, "invalid_field: name must be")
	})
}

// Where a fault is does not depend on how a Go release reads a part of a document.
func TestEarlyEnd(t *testing.T) {
	whole := `{"é\u00e9😀\ud83d\ude00":[-1.5e+10,true,null,{},"",0]}`
	for i := 1; i < len(whole); i++ {
		err := checkJSON([]byte(strings.ToValidUTF8(whole[:i], "")))
		if fmt.Sprint(err) != "The JSON ends too early; send all of it." {
			t.Errorf("%q: %v", whole[:i], err)
		}
	}
}

func TestUnknownField(t *testing.T) {
	const unknown = `invalid_field: The field "%s" is unknown here; leave it out.`
	s, long := newService(t, Options{}), strings.Repeat("é", 30000)
	t.Run("has another letter case", func(t *testing.T) {
		s.expect("POST /categories", `{"Name":"x"}`, 400, fmt.Sprintf(unknown, "Name"))
	})
	t.Run("has no name", func(t *testing.T) {
		s.expect("POST /categories", `{"name":"x","":1}`, 400, fmt.Sprintf(unknown, ""))
	})
	t.Run("is shortened in the message", func(t *testing.T) {
		s.expect("POST /categories", `{"`+long+`":1}`, 400, fmt.Sprintf(unknown, long[:2*40]))
	})
	t.Run("belongs to another record", func(t *testing.T) {
		s.expect("PATCH /inventory/1", `{"petId":1,"quantity":1}`, 400, fmt.Sprintf(unknown, "petId"))
	})
}

// Of several faults, one is reported, and each time the same one.
func TestSeveralFaults(t *testing.T) {
	s := newService(t, Options{})
	for _, test := range []struct{ rule, body, want string }{
		{"malformed, then twice", `{"a":1,"a":1,x}`, "malformed_json: The JSON is malformed"},
		{"twice, then unknown", `{"x":1,"name":1,"name":1}`, `malformed_json: The field "name"`},
		{"unknown, then missing", `{"nmae":"x"}`, `invalid_field: The field "nmae" is unknown`},
		{"missing fields as described", `{}`, "invalid_field: name is missing"},
		{"a wrong type, then missing", `{"name":5}`, "invalid_field: name must be a string"},
		{"types, then values", `{"name":" ","categoryId":"1","status":"gone"}`,
			"invalid_field: categoryId must be a 64-bit integer"},
		{"values, then references", `{"name":" ","categoryId":77}`, "invalid_field: name must be"},
		{"the first one given twice", `{"z":1,"z":1,"a":1,"a":1}`, `malformed_json: The field "z"`},
	} {
		t.Run(test.rule, func(t *testing.T) { s.expect("POST /pets", test.body, 400, test.want) })
	}
	t.Run("the first of many unknown ones by name", func(t *testing.T) {
		s.expect("POST /pets", `{"i":1,"h":1,"g":1,"f":1,"e":1,"d":1,"c":1,"b":1,"a":1}`, 400,
			`invalid_field: The field "a" is unknown`)
	})
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
	wrong := map[string][]string{ // JSON, by what must be there
		text: {"null", "{}", "[]", `["x"]`, "5", "true"},
		integer: {"null", "{}", "[1]", `"1"`, "true", "1.0", "1.5", "1e0", "1E2",
			"9223372036854775808", "-9223372036854775809", strings.Repeat("1", 60000)},
		boolean: {"null", "{}", "[true]", `"true"`, "1", "0"},
		status:  {"null", "{}", "[]", `""`, `"Sold"`, `"sold\u0020"`, `"gone"`, "1"},
		date:    {"null", "{}", "[]", `""`, `"tomorrow"`, "1"},
	}
	s := newService(t, Options{})
	for _, test := range []struct{ request, others, name, mustBe string }{
		{"PUT /pets/1", `"name":"x","categoryId":1,`, "id", integer},
		{"PUT /categories/1", `"name":"x",`, "id", integer},
		{"PUT /store/orders/2", ``, "id", integer},
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
	} {
		t.Run(test.request+" with another "+test.name, func(t *testing.T) {
			for _, value := range wrong[test.mustBe] {
				body := fmt.Sprintf("{%s%q:%s}", test.others, test.name, value)
				s.expect(test.request, body, 400,
					"invalid_field: "+test.name+" must be "+test.mustBe)
			}
		})
	}
}

// Names and descriptions are counted in characters, and come back byte for byte.
func TestNameAndDescription(t *testing.T) {
	s := newService(t, Options{})
	const blank = "invalid_field: name must be 1 to 200 characters and not blank."
	t.Run("200 and 2000 characters", func(t *testing.T) {
		text := `"name":"` + strings.Repeat("é", 200) +
			`","description":"` + strings.Repeat("😀", 2000) + `"}`
		s.expect("PUT /categories/1", "{"+text, 200, `{"id":1,`+text)
	})
	t.Run("a blank name is refused", func(t *testing.T) {
		s.expect("PUT /categories/1", `{"name":" \t\u00a0\u2003\u3000"}`, 400, blank)
		s.expect("PUT /pets/1", `{"name":" ","categoryId":1}`, 400, blank)
	})
	t.Run("any text comes back", func(t *testing.T) {
		s.expect("PUT /categories/1", `{`+strange, 200, `{"id":1,`+strange)
		s.expect("GET /categories/1", "", 200, `{"id":1,`+strange)
	})
	t.Run("an empty description comes back", func(t *testing.T) {
		s.expect("PUT /categories/1", `{"name":"x","description":""}`, 200,
			`{"id":1,"name":"x","description":""}`)
	})
	t.Run("the name of a pet comes back", func(t *testing.T) {
		s.expect("PUT /pets/1", `{"name":" é ","categoryId":1}`, 200,
			`{"id":1,"name":" é ","categoryId":1,"status":"available"}`)
	})
	t.Run("a lone surrogate becomes U+FFFD", func(t *testing.T) {
		s.expect("PUT /categories/1", `{"name":"a\ud800b\u0041"}`, 200,
			`{"id":1,"name":"a`+"\ufffd"+`bA"}`)
	})
}

// A category whose texts are spaces, escapes, control characters, a byte order mark, and what has
// another normal form or stands beyond the BMP. It lacks its first brace, for an id.
const strange = `"name":"  \t\"\\\n","description":"\u0000` + "\x7f" + `\u2028 ' <&> ` +
	"\ufeff\ufffd\u202e e\u0301 \u212b 👩‍👩‍👧" + `"}`

func TestShipDate(t *testing.T) {
	s := newService(t, Options{})
	for _, test := range []struct{ rule, date string }{
		{"with a fraction and an offset", "2030-12-05T09:30:00.1234567890+05:45"},
		{"with zeros at the end", "2030-12-05T09:30:00.500Z"},
		{"with an offset of almost a day", "2030-01-01T00:00:00-23:59"},
		{"of a leap day", "2028-02-29T23:59:59Z"},
	} {
		t.Run(test.rule+" comes back as it was sent", func(t *testing.T) {
			order := `"shipDate":"` + test.date + `","complete":false}`
			s.expect("PUT /store/orders/2", "{"+order, 200, `{"id":2,`+order)
		})
	}
	for _, test := range []struct{ rule, date string }{
		{"31 February", "2030-02-31T00:00:00Z"},
		{"a leap second", "2030-12-31T23:59:60Z"},
		{"hour 24", "2030-12-31T24:00:00Z"},
		{"an hour of one digit", "2030-01-01T9:30:00Z"},
		{"a comma before the fraction", "2030-01-01T09:30:00,5Z"},
		{"a point without a fraction", "2030-01-01T09:30:00.Z"},
		{"small letters", "2030-01-01t09:30:00z"},
		{"a space in place of the T", "2030-01-01 09:30:00Z"},
		{"an offset of 24 hours", "2030-01-01T00:00:00+24:00"},
		{"an offset of 60 minutes", "2030-01-01T00:00:00+01:60"},
		{"no offset", "2030-01-01T00:00:00"},
		{"no time", "2030-01-01"},
		{"a line break at the end", `2030-01-01T00:00:00Z\n`},
	} {
		t.Run(test.rule+" is refused", func(t *testing.T) {
			s.expect("PUT /store/orders/2", `{"shipDate":"`+test.date+`"}`, 400,
				"invalid_field: shipDate must be an RFC 3339 date-time such as")
		})
	}
}

// What readOrder accepts is what encoding/json makes of it, and what is shown of it is accepted.
func FuzzBody(f *testing.F) {
	for _, seed := range []string{
		`{"id":0,"petId":2,"quantity":3,"shipDate":"2030-01-01T00:00:00Z","complete":true}`,
		`{"quantity":1.0}`, `{"quantity":-0}`, `{"petId":9223372036854775807}`, `{"complete":null}`,
		`{"ID":1}`, `{"id":0,"id":0}`, `{"shipDate":"0000-01-01T09:00:00.50+23:59"}`, `{"a":[{}]}`,
		`{"quantity":-`, `{"\ud800`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := decode(data, readOrder)
		if err != nil {
			if e, ok := err.(*Error); !ok || e.Status != 400 || len(e.Message) > 300 {
				t.Errorf("%q: %v", data, err)
			}
			return
		}
		var plain map[string]any // in which names match exactly
		dec := json.NewDecoder(bytes.NewReader(data))
		dec.UseNumber()
		var want Order
		err = errors.Join(dec.Decode(&plain), json.Unmarshal(encode(plain), &want))
		equal(t, "error of encoding/json", nil, err)
		equal(t, string(data), want, got)
		again, err := decode(encode(got), readOrder)
		equal(t, "error for what is shown", nil, err)
		equal(t, "what is shown", got, again)
	})
}
