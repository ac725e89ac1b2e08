package main

import (
	"fmt"
	"strings"
	"testing"
)

// Of several faults of one kind, the same one is named each time.
func TestFaultOfABody(t *testing.T) {
	const malformed, invalid = "malformed_json", "invalid_field"
	const at = "The JSON is malformed on line "
	for _, test := range []struct{ rule, body, code, message string }{
		{"nothing", " \n", malformed, "The JSON is empty; it must be a value such as {}."},
		{"an array", `[{"name":"x"}]`, malformed, "The JSON must be a single object."},
		{"a line break in a string", "{\"a\":\"x\n\"}", malformed, at + `1, at byte 8: '\n' is`},
		{"a fault in a later line", "\r\n{\"a\":1,\n\n x}", malformed, at + "4, at byte 2: 'x'"},
		{"bytes are counted, not characters", `{"é":x}`, malformed, at + "1, at byte 7: 'x'"},
		{"too many brackets", strings.Repeat("[", 60000), malformed, at + "1, at byte 10001"},
		{"no UTF-8", "{\n\"a\":\"\ufffd\xff\"}", malformed, at + "2, at byte 9: invalid UTF-8."},
		{"twice, once escaped", `{"a":1,"\u0061":1}`, malformed, `"a" appears twice; remove one.`},
		{"the first one given twice", `{"z":1,"a":1,"z":1,"a":1}`, malformed, `"z" appears`},
		{"another letter case", `{"Name":"x"}`, invalid, `"Name" is unknown here; leave it out.`},
		{"a space around a name", `{" name":"x"}`, invalid, `" name" is unknown here; leave`},
		{"the first of many unknown ones by name", `{"m":1,"l":1,"k":1,"j":1,"i":1,"h":1,
			"g":1,"f":1,"e":1,"d":1,"c":1,"b":1,"a":1,"":1}`, invalid, `"" is unknown`},
		{"an unknown one, shortened", `{"` + strings.Repeat("é", 30000) + `":1}`,
			invalid, `"` + strings.Repeat("é", 40) + `" is unknown`},
		{"the first missing one as described", `{}`, invalid, "name is missing"},
	} {
		t.Run(test.rule, func(t *testing.T) {
			s := newService(t, Options{})
			s.send("POST /pets", test.body).expectError(test.code, test.message)
		})
	}
}

// Each beginning of a document ends too early, whichever Go release looks at it.
func TestEarlyEnd(t *testing.T) {
	whole := `{"é\u00e9😀\ud83d\ude00":[-1.5e+10,true,null,{},"",0]}`
	for i := 1; i < len(whole); i++ {
		err := checkJSON([]byte(strings.ToValidUTF8(whole[:i], "")))
		equal(t, whole[:i], fmt.Sprint(err), "The JSON ends too early; send all of it.")
	}
}

// The place of a fault is the first byte with which the JSON cannot go on, on each Go release.
func TestPlaceOfAFault(t *testing.T) {
	for text, want := range map[string]string{
		`:1`: "1: ':'", `,{}`: "1: ','", `{,`: "2: ','", `[1,]`: "4: ']'", `1 x`: "3: 'x'",
		`{"":1,}`: "7: '}'", `{“`: "2: '“'",
		`-]`: "2: ']'", `1e"`: "3: '\"'", `truenull`: "5: 'n'", `"a":`: "4: ':'", `é`: "1: 'é'",
		`"\é`: "3: 'é'", `{"name": “Rex”}`: "10: '“'", `{} {}`: "4: '{'", `[1 1`: "4: '1'",
		`  x`: "3: 'x'",
	} {
		equal(t, text, fmt.Sprint(checkJSON([]byte(text))),
			"The JSON is malformed on line 1, at byte "+want+" is not allowed there.")
	}
}

// A value that a field cannot have is refused, and the message says what it must be.
func TestWrongValue(t *testing.T) {
	for _, test := range []struct {
		field, request, body, mustBe string
		wrong                        []string // JSON, in the place of %s in the body
	}{
		{"name", "POST /categories", `{"name":%s}`, "a string.",
			[]string{"null", "{}", "[]", `["x"]`, "5", "true"}},
		{"quantity", "PATCH /inventory/1", `{"quantity":%s}`,
			"a 64-bit integer without a fraction or exponent.",
			[]string{"null", "{}", "[1]", `"1"`, "true", "1.0", "1.5", "1e0", "1E2",
				"9223372036854775808", "-9223372036854775809", strings.Repeat("1", 60000)}},
		{"status", "PUT /pets/1", `{"name":"x","categoryId":1,"status":%s}`,
			"available, pending or sold.", []string{"null", `"gone"`, `""`, "5", `"SOLD"`}},
		{"shipDate", "POST /store/orders", `{"shipDate":%s}`, "an RFC 3339 date-time such as " +
			"2030-12-05T09:30:00Z, no finer than nanoseconds.", []string{"null", "5"}},
		{"complete", "POST /store/orders", `{"complete":%s}`, "true or false.",
			[]string{"null", "{}", "[true]", `"true"`, "1", "0"}},
	} {
		t.Run("of "+test.field, func(t *testing.T) {
			s := newService(t, Options{})
			for _, value := range test.wrong {
				s.send(test.request, fmt.Sprintf(test.body, value)).expectError("invalid_field",
					test.field+" must be "+test.mustBe)
			}
		})
	}
}

func TestNameAndDescription(t *testing.T) {
	t.Run("may have 200 and 2000 characters, of any size", func(t *testing.T) {
		s := newService(t, Options{})
		for _, name := range []string{" é ", strings.Repeat("é", 200),
			strings.Repeat("😀", 200)} {
			s.send("PUT /pets/1", `{"name":"`+name+`","categoryId":1}`).expect(200,
				`{"id":1,"name":"`+name+`","categoryId":1,"status":"available"}`)
		}
		text := `"name":"` + strings.Repeat("é", 200) +
			`","description":"` + strings.Repeat("😀", 2000) + `"}`
		s.send("PUT /categories/1", "{"+text).expect(200, `{"id":1,`+text)
		s.send("PUT /categories/1", strings.Replace("{"+text, "😀", "😀😀", 1)).
			expectError("invalid_field", "description must be at most 2000 characters")
	})
	t.Run("are counted with spaces around them, and are not blank", func(t *testing.T) {
		s := newService(t, Options{})
		for _, name := range []string{"x" + strings.Repeat(" ", 200), " ", "\u00a0\u2003\u3000"} {
			s.send("POST /categories", `{"name":"`+name+`"}`).expectError("invalid_field",
				"name must be 1 to 200 characters and not blank.")
		}
	})
	t.Run("come back, whatever the text", func(t *testing.T) {
		s := newService(t, Options{})
		for _, text := range []string{strange, `"name":" é ","description":""}`,
			`"name":"\u0000x\u0000"}`} {
			s.send("PUT /categories/1", `{`+text).expect(200, `{"id":1,`+text)
		}
	})
	t.Run("are refused with half of an escaped surrogate pair", func(t *testing.T) {
		s := newService(t, Options{})
		for text, message := range map[string]string{
			`\ud83d`:             `10: \ud83d is half of a surrogate pair.`,
			`\uDC36\uD83D`:       `10: \uDC36 is half of a surrogate pair.`,
			`é\\\ud83d\n`:        `14: \ud83d is half of a surrogate pair.`,
			`\ud83d\ud83d🐶`:      `10: \ud83d is half of a surrogate pair.`,
			`\ud83d\u0041`:       `10: \ud83d is half of a surrogate pair.`,
			`\ud83d\udc36\udc36`: `22: \udc36 is half of a surrogate pair.`,
		} {
			s.send("PUT /categories/1", `{"name":"`+text+`"}`).expectError("malformed_json",
				"The JSON is malformed on line 1, at byte "+message)
		}
		s.send("PUT /categories/1", `{"name":"\ud83d\udc36 \\ud83d"}`).expect(200,
			`{"id":1,"name":"🐶 \\ud83d"}`)
		for pair, text := range map[string]string{`\ud800\uDC00`: "\U00010000",
			`\uDBFF\udfff`: "\U0010ffff", `\udb40\udc67`: "\U000e0067",
			`\uDA3c\uDF00`: "\U0009f300"} {
			s.send("PUT /categories/1", `{"name":"`+pair+`"}`).expect(200,
				`{"id":1,"name":"`+text+`"}`)
		}
	})
}

// A category whose texts are spaces, escapes, control characters, a byte order mark, and what has
// another normal form or stands beyond the BMP. It lacks its first brace, for an id.
const strange = `"name":"  \t\"\\\n","description":"\u0000` + "\x7f" + `\u2028 ' <&> ` +
	"\ufeff\ufffd\u202e e\u0301 \u212b 👩‍👩‍👧" + `"}`

func TestShipDate(t *testing.T) {
	t.Run("comes back as it was sent", func(t *testing.T) {
		s := newService(t, Options{})
		for _, date := range []string{"2030-12-05T09:30:00.123456789+05:45",
			"2030-12-05T09:30:00.500Z", "2030-01-01T00:00:00-23:59", "2028-02-29T23:59:59Z",
			"2000-02-29T00:00:00+00:00", "2030-01-01T00:00:00-00:00"} {
			order := `"shipDate":"` + date + `","complete":false}`
			s.send("PUT /store/orders/2", "{"+order).expect(200, `{"id":2,`+order)
		}
	})
	t.Run("is refused if RFC 3339 or the calendar does not know it", func(t *testing.T) {
		s := newService(t, Options{})
		for _, date := range []string{
			"2030-04-31T00:00:00Z", "2030-02-29T00:00:00Z", "2100-02-29T00:00:00Z",
			"2030-13-01T00:00:00Z", "2030-00-01T00:00:00Z", "2030-01-00T00:00:00Z",
			"2030-02-31T00:00:00Z", "2030-12-31T24:00:00Z", "2030-12-31T23:59:60Z", // a leap second
			"2030-01-01T9:30:00Z", "2030-01-01T09:30:00,5Z", "2030-01-01T09:30:00.Z",
			"2030-12-05T09:30:00.1234567890Z",
			"2030-01-01t09:30:00Z", "2030-01-01T09:30:00z", "2030-01-01 09:30:00Z",
			"2030-01-01T00:00:00+24:00", "2030-01-01T00:00:00+01:60", "2030-01-01T00:00:00",
			"2030-01-01", `2030-01-01T00:00:00Z\n`, "",
		} {
			s.send("PUT /store/orders/2", `{"shipDate":"`+date+`"}`).expectError("invalid_field",
				"shipDate must be an RFC 3339 date-time such as")
		}
	})
}

// A body is refused with a short 400, or what is shown of it is accepted again, as the same.
func FuzzBody(f *testing.F) {
	for _, seed := range []string{
		`{"id":0,"petId":2,"quantity":3,"shipDate":"2030-01-01T00:00:00Z","complete":true}`,
		`{"quantity":-0}`, `{"petId":9223372036854775807}`, `{"complete":null}`, `{"id":0,"id":0}`,
		`{"shipDate":"0000-01-01T09:00:00.50+23:59"}`, `{"a":[{}]}`, `{"ID":-`, `{"\ud800`,
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
		again, err := decode(encode(got), readOrder)
		equal(t, "error for what is shown", err, nil)
		equal(t, "what is shown", again, got)
	})
}
