package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
)

// A faulty body, what is wrong with it, and what "code: message" of the error begins with.
type faultyBody struct{ rule, body, want string }

func refuseBodies(t *testing.T, request string, bodies []faultyBody) {
	for _, test := range bodies {
		t.Run(test.rule, func(t *testing.T) {
			newService(t, "").expect(request, test.body, 400, test.want)
		})
	}
}

func TestMalformedJSON(t *testing.T) {
	const (
		at     = "malformed_json: The JSON is malformed on line "
		empty  = "malformed_json: The JSON is empty."
		object = "malformed_json: The JSON must be a single object."
	)
	refuseBodies(t, "POST /categories", []faultyBody{
		{"empty", "", empty},
		{"white space alone", " \n", empty},
		{"null", `null`, object},
		{"an array", `[{"name":"x"}]`, object},
		{"a string", `"x"`, object},
		{"an early end", `{"name":"x"`, at + "1, at byte 11: unexpected end of JSON input."},
		{"an early end behind a line break", "{\n", at + "1, at byte 2: unexpected end"},
		{"an early end in a string", `{"name":"x`, at + "1, at byte 10: unexpected end"},
		{"a second value", `{"name":"x"}{"name":"y"}`, at + "1, at byte 13: invalid"},
		{"text behind the value", "{\"name\":\"x\"}\n x", at + "2, at byte 2: invalid"},
		{"a comma too many", `{"name":"x",}`, at + "1, at byte 13: invalid"},
		{"a name without quotes", `{name:"x"}`, at + "1, at byte 2: invalid"},
		{"single quotes", `{'name':'x'}`, at + "1, at byte 2: invalid"},
		{"a line break in a string", "{\"name\":\"x\n\"}", at + "1, at byte 11: invalid"},
		{"a fault in a later line", "{\n\"name\":\"x\",\n\n  x}", at + "4, at byte 3: invalid"},
		{"a line ends with LF", "{\r\n\"a\":\r\n x}", at + "3, at byte 2: invalid"},
		{"bytes are counted, not characters", `{"é":x}`, at + "1, at byte 7: invalid"},
		{"too many brackets", strings.Repeat("[", 60000), at + "1, at byte 10001: invalid"},
	})
	refuseBodies(t, "POST /categories", []faultyBody{
		{"a byte order mark", "\ufeff{\"name\":\"x\"}",
			"malformed_json: The JSON begins with a byte order mark; remove it."},
		{"no UTF-8", "{\"name\":\"\xff\"}", at + "1, at byte 10: invalid UTF-8."},
		{"no UTF-8 in a later line", "{\n\"name\":\"\xff\"}", at + "2, at byte 9: invalid UTF-8."},
		{"no UTF-8 behind U+FFFD", "{\"name\":\"\ufffd\xff\"}", at + "1, at byte 13: invalid UTF"},
		{"no UTF-8 in the name of a field", "{\"\xff\":1}", at + "1, at byte 3: invalid UTF-8."},
		{"no UTF-8 outside a string", "\xff", at + "1, at byte 1: invalid"},
		{"a UTF-8 surrogate", "{\"name\":\"\xed\xa0\x80\"}", at + "1, at byte 10: invalid UTF-8."},
	})
}

func TestFieldGivenTwice(t *testing.T) {
	const twice = `malformed_json: The field "name" appears twice; remove one.`
	refuseBodies(t, "POST /categories", []faultyBody{
		{"with one value", `{"name":"x","name":"x"}`, twice},
		{"with an escaped name", `{"name":"x","n\u0061me":"x"}`, twice},
		{"once as null", `{"name":"x","name":null}`, twice},
		{"once with a wrong type", `{"name":5,"name":"x"}`, twice},
		{"although it is unknown", `{"name":"x","c":1,"c":2}`,
			`malformed_json: The field "c" appears twice`},
	})
	checkRows(t, []row{
		{"one in another object does not count", "POST /categories", `{"name":{"name":"x"}}`, 400,
			"invalid_field: name must be a string."},
	})
}

func TestUnknownField(t *testing.T) {
	refuseBodies(t, "POST /categories", []faultyBody{
		{"is refused", `{"name":"x","color":"red"}`,
			`invalid_field: The field "color" is unknown here; leave it out.`},
		{"has another letter case", `{"Name":"x"}`, `invalid_field: The field "Name" is unknown`},
		{"has a space", `{"name ":"x"}`, `invalid_field: The field "name " is unknown`},
		{"has no name", `{"name":"x","":1}`, `invalid_field: The field "" is unknown`},
		{"is shortened in the message", `{"name":"x","` + strings.Repeat("é", 30000) + `":1}`,
			`invalid_field: The field "` + strings.Repeat("é", 40) + `" is unknown`},
		{"is named before a missing one", `{"nmae":"x"}`, `invalid_field: The field "nmae" is`},
		{"is named before a wrong one", `{"name":5,"x":1}`, `invalid_field: The field "x" is`},
	})
	checkRows(t, []row{
		{"belongs to another record", "POST /pets", `{"name":"x","categoryId":1,"quantity":1}`, 400,
			`invalid_field: The field "quantity" is unknown`},
		{"", "PATCH /inventory/1", `{"petId":1,"quantity":1}`, 400,
			`invalid_field: The field "petId" is unknown`},
		{"", "PATCH /inventory/1", `{"quantity":1,"status":"sold"}`, 400,
			`invalid_field: The field "status" is unknown`},
	})
}

func TestMissingField(t *testing.T) {
	const integer = "is missing; it must be a 64-bit integer without a fraction or exponent."
	checkRows(t, []row{
		{"name of a pet", "POST /pets", `{"categoryId":1}`, 400,
			"invalid_field: name is missing; it must be a string."},
		{"", "PUT /pets/1", `{"categoryId":1}`, 400, "invalid_field: name is missing"},
		{"categoryId of a pet", "POST /pets", `{"name":"x"}`, 400,
			"invalid_field: categoryId " + integer},
		{"", "PUT /pets/1", `{"name":"x"}`, 400, "invalid_field: categoryId " + integer},
		{"name of a category", "POST /categories", `{"description":"x"}`, 400,
			"invalid_field: name is missing; it must be a string."},
		{"", "PUT /categories/1", `{}`, 400, "invalid_field: name is missing"},
		{"quantity of the stock", "PATCH /inventory/1", `{}`, 400,
			"invalid_field: quantity " + integer},
	})
}

// Of several faults, one is reported, and each time the same one.
func TestSeveralFaults(t *testing.T) {
	refuseBodies(t, "POST /pets", []faultyBody{
		{"malformed JSON, then twice", `{"name":1,"name":1,x}`, "malformed_json: The JSON is mal"},
		{"twice, then unknown", `{"x":1,"name":1,"name":1}`, "malformed_json: The field"},
		{"fields in the order of the description", `{}`, "invalid_field: name is missing"},
		{"a wrong type, then a missing field", `{"name":5}`, "invalid_field: name must be a str"},
		{"types, then values", `{"name":" ","categoryId":"1","status":"gone"}`,
			"invalid_field: categoryId must be a 64-bit integer"},
		{"values, then references", `{"name":" ","categoryId":77}`, "invalid_field: name must be"},
	})
	t.Run("the same one each time", func(t *testing.T) {
		s := newService(t, "")
		for range 20 {
			s.expect("POST /pets", `{"zoo":1,"color":"red","name":5}`, 400,
				`invalid_field: The field "color" is unknown`)
			s.expect("POST /pets", `{"zoo":1,"zoo":1,"a":1,"a":1}`, 400,
				`malformed_json: The field "zoo" appears twice`)
		}
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
		values       []string
	}{
		{"null", "", []string{`null`}},
		{"an object", "", []string{`{}`}},
		{"an array", "", []string{`[]`, `["x"]`, `[1]`}},
		{"no string", text, []string{`5`, `true`}},
		{"no integer", integer, []string{`"1"`, `true`}},
		{"a fraction", integer, []string{`1.0`, `1.5`, `0.1`}},
		{"an exponent", integer, []string{`1e0`, `1E2`}},
		{"an overflow", integer, []string{`9223372036854775808`, `-9223372036854775809`,
			strings.Repeat("1", 60000)}},
		{"no boolean", boolean, []string{`"true"`, `1`, `0`}},
		{"no status", status, []string{`""`, `"Sold"`, `"sold "`, `"gone"`, `1`}},
		{"no date", date, []string{`""`, `"tomorrow"`, `1`}},
	} {
		t.Run(test.rule, func(t *testing.T) {
			s := newService(t, "")
			for _, field := range fields {
				if test.mustBe != "" && test.mustBe != field.mustBe {
					continue
				}
				for _, value := range test.values {
					body := fmt.Sprintf("{%s%q:%s}", field.others, field.name, value)
					s.expect(field.request, body, 400,
						"invalid_field: "+field.name+" must be "+field.mustBe)
				}
			}
		})
	}
}

func TestBounds(t *testing.T) {
	order := func(quantity string) string { return `{"quantity":` + quantity + `}` }
	const (
		stock = "invalid_field: quantity must be from 0 to 2147483647."
		units = "invalid_field: quantity must be from 1 to 2147483647."
	)
	checkRows(t, []row{
		{"a stock of 0", "PATCH /inventory/1", order("0"), 200,
			`{"petId":1,"quantity":0,"status":"available"}`},
		{"the largest stock", "PATCH /inventory/1", order("2147483647"), 200,
			`{"petId":1,"quantity":2147483647,"status":"available"}`},
		{"a stock below 0", "PATCH /inventory/1", order("-1"), 400, stock},
		{"a stock too large", "PATCH /inventory/1", order("2147483648"), 400, stock},
		{"", "PATCH /inventory/1", order("9223372036854775807"), 400, stock},
		{"an order of 1", "PUT /store/orders/2", order("1"), 200,
			`{"id":2,"quantity":1,"complete":false}`},
		{"the largest order", "PUT /store/orders/2", order("2147483647"), 200,
			`{"id":2,"quantity":2147483647,"complete":false}`},
		{"an order of 0", "PUT /store/orders/2", order("0"), 400, units},
		{"", "POST /store/orders", order("-0"), 400, units},
		{"an order too large", "PUT /store/orders/2", order("2147483648"), 400, units},
		{"", "POST /store/orders", order("2147483648"), 400, units},
	})
}

// Names and descriptions are counted in characters, and come back byte for byte.
func TestNameAndDescription(t *testing.T) {
	name, description := strings.Repeat("é", 200), strings.Repeat("😀", 2000)
	longest := `{"name":"` + name + `","description":"` + description + `"}`
	pet := func(name string) string { return `{"name":"` + name + `","categoryId":1}` }
	const (
		wrong = "invalid_field: name must be 1 to 200 characters and not blank."
		long  = "invalid_field: description must be at most 2000 characters."
	)
	checkRows(t, []row{
		{"a name of 200 characters", "POST /pets", pet(name), 201,
			`{"id":6,"name":"` + name + `","categoryId":1,"status":"available"}`},
		{"a description of 2000 characters", "POST /categories", longest, 201,
			`{"id":5,` + longest[1:]},
		{"a description too long", "POST /categories",
			`{"name":"x","description":"` + description + `x"}`, 400, long},
		{"an empty description", "POST /categories", `{"name":"x","description":""}`, 201,
			`{"id":5,"name":"x","description":""}`},
		{"a lone surrogate becomes U+FFFD", "POST /categories", `{"name":"a\ud800b\u0041"}`, 201,
			`{"id":5,"name":"a` + "\ufffd" + `bA"}`},
		{"HTML is not escaped", "POST /categories", `{"name":"<b>&amp;\u003c"}`, 201,
			`{"id":5,"name":"<b>&amp;<"}`},
	})
	for rule, name := range map[string]string{
		"a name too long": name + "x", "an empty name": "", "a name of a space": " ",
		"a blank name": ` \t\r\n\u00a0\u2003\u3000`,
	} {
		t.Run(rule, func(t *testing.T) {
			s := newService(t, "")
			s.expect("POST /pets", pet(name), 400, wrong)
			s.expect("PUT /pets/1", pet(name), 400, wrong)
			s.expect("POST /categories", `{"name":"`+name+`"}`, 400, wrong)
			s.expect("PUT /categories/1", `{"name":"`+name+`"}`, 400, wrong)
		})
	}
	for rule, text := range map[string]string{
		"spaces around it": "  x\t\n", "quotes": `"\"'` + "`", "control characters": "\x00\x1f\x7f",
		"line separators": "a\u2028b\u2029", "no normal form": "e\u0301 \ufb01 \u212b",
		"beyond the BMP": "👩‍👩‍👧 𐍈", "U+FFFD": "\ufffd", "a byte order mark": "\ufeffx",
		"right to left": "\u202ecba",
	} {
		t.Run("comes back with "+rule, func(t *testing.T) {
			s := newService(t, "")
			want := Category{ID: 5, Name: text, Description: &text}
			sent := Category{Name: text, Description: &text}
			posted, _ := io.ReadAll(s.do("POST /categories", string(encode(sent))).Body)
			read, _ := io.ReadAll(s.do("GET /categories/5", "").Body)
			for what, body := range map[string][]byte{"response": posted, "later": read} {
				var got Category
				if err := json.Unmarshal(body, &got); err != nil {
					t.Error(err)
				}
				equal(t, what, want, got)
			}
		})
	}
}

// A ship date comes back as the same instant, to the nanosecond, and what can be read can be
// written back.
func TestShipDate(t *testing.T) {
	const refused = "" // what comes back of a date that is refused
	for _, test := range []struct{ rule, date, want string }{
		{"UTC", "2030-12-05T09:30:00Z", "2030-12-05T09:30:00Z"},
		{"an offset", "2030-12-05T09:30:00+05:45", "2030-12-05T09:30:00+05:45"},
		{"nanoseconds", "2030-12-05T09:30:00.123456789Z", "2030-12-05T09:30:00.123456789Z"},
		{"zeros behind a fraction", "2030-12-05T09:30:00.50Z", "2030-12-05T09:30:00.5Z"},
		{"an offset of 0", "2030-01-01T00:00:00+00:00", "2030-01-01T00:00:00Z"},
		{"29 February of a leap year", "2028-02-29T00:00:00Z", "2028-02-29T00:00:00Z"},
		{"the first year", "0000-01-01T00:00:00+23:59", "0000-01-01T00:00:00+23:59"},
		{"the last year", "9999-12-31T23:59:59-23:59", "9999-12-31T23:59:59-23:59"},
		{"an hour of one digit", "2030-01-01T9:30:00Z", "2030-01-01T09:30:00Z"},
		{"a comma before the fraction", "2030-01-01T09:30:00,5Z", "2030-01-01T09:30:00.5Z"},

		{"31 February", "2030-02-31T00:00:00Z", refused},
		{"29 February of another year", "2029-02-29T00:00:00Z", refused},
		{"a leap second", "2030-12-31T23:59:60Z", refused},
		{"the hour 24", "2030-01-01T24:00:00Z", refused},
		{"an offset of 24 hours", "2030-01-01T00:00:00+24:00", refused},
		{"an offset of minus 24 hours", "2030-01-01T00:00:00-24:00", refused},
		{"the year 10000", "10000-01-01T00:00:00Z", refused},
		{"no offset", "2030-01-01T00:00:00", refused},
		{"a space in place of T", "2030-01-01 00:00:00Z", refused},
		{"no time of day", "2030-01-01", refused},
	} {
		t.Run(test.rule, func(t *testing.T) {
			s := newService(t, "")
			body := `{"shipDate":"` + test.date + `"}`
			if test.want == refused {
				s.expect("POST /store/orders", body, 400, "invalid_field: shipDate must be "+
					"an RFC 3339 date-time such as 2030-12-05T09:30:00Z.")
				return
			}
			want := `{"id":2,"shipDate":"` + test.want + `","complete":false}`
			s.expect("PUT /store/orders/2", body, 200, want)
			s.expect("PUT /store/orders/2", want, 200, want)
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
