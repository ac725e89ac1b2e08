package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"regexp"
	"slices"
	"sort"
	"strings"
	"time"
	"unicode/utf8"
)

// How JSON is read: request bodies, the keys file, the data file and each record in it.

// decode reads the object in JSON from outside.
func decode[T any](data []byte, read func(*fields) T) (value T, err error) {
	f, err := newFields(data)
	if err != nil {
		return value, err
	}
	value = read(f)
	return value, f.finish()
}

// The fields of a JSON object are read one by one. Names match exactly, null is no value, and a
// field that is given twice or left unread is an error. With encoding/json alone,
//
//	{"Name": "Rex"}                would set name,
//	{"name": null}                 would leave name empty,
//	{"name": "Rex", "name": "Max"} would set name to Max, and
//	{}                             would be the same as {"name": ""}.
type fields struct {
	unread map[string]json.RawMessage
	err    error // the first error; reading goes on after it
}

func newFields(data []byte) (*fields, error) {
	if err := checkJSON(data); err != nil {
		return nil, err
	}
	f := &fields{unread: map[string]json.RawMessage{}}
	dec := json.NewDecoder(bytes.NewReader(data)) // on valid JSON, no call below fails
	if start, _ := dec.Token(); start != json.Delim('{') {
		return nil, newError(malformedJSON, "The JSON must be a single object.")
	}
	for dec.More() {
		token, _ := dec.Token()
		name := token.(string)
		if _, given := f.unread[name]; given {
			return nil, newError(malformedJSON, "%.40q appears twice; remove one.", name)
		}
		var value json.RawMessage
		dec.Decode(&value)
		f.unread[name] = value
	}
	return f, nil
}

// finish returns the error of an object whose fields have all been read. An unknown field comes
// before a fault in a known one, since a misspelled field also makes another one missing.
func (f *fields) finish() error {
	if len(f.unread) > 0 {
		name := slices.Sorted(maps.Keys(f.unread))[0] // the same one each time
		return newError(invalidField, "%.40q is unknown here; leave it out.", name)
	}
	return f.err
}

// required reads a field that must be given.
func required[T any](f *fields, name string) T {
	var zero T
	_, given := f.unread[name]
	f.check(given, "%s is missing; it must be %s.", name, mustBe(zero))
	return optional(f, name, zero)
}

// optional reads a field that has a default.
func optional[T any](f *fields, name string, value T) T {
	if given := orNil[T](f, name); given != nil {
		return *given
	}
	return value
}

// orNil reads a field, and returns nil if it was left out.
func orNil[T any](f *fields, name string) *T {
	data, given := f.unread[name]
	if !given {
		return nil
	}
	delete(f.unread, name)
	value := new(T)
	err := json.Unmarshal(data, value)
	f.check(err == nil && string(data) != "null", "%s must be %s.", name, mustBe(*value))
	return value
}

// mustBe returns, for messages, what a field with a value of this type must be.
func mustBe(value any) string {
	switch value.(type) {
	case string:
		return "a string"
	case int64:
		return "a 64-bit integer without a fraction or exponent"
	case bool:
		return "true or false"
	case PetStatus:
		return "available, pending or sold"
	case DateTime:
		return "an RFC 3339 date-time such as 2030-12-05T09:30:00Z, no finer than nanoseconds"
	default:
		return "an array"
	}
}

// check records an error unless ok is true, or there was one before.
func (f *fields) check(ok bool, format string, args ...any) {
	if !ok && f.err == nil {
		f.err = newError(invalidField, format, args...)
	}
}

// checkJSON returns an error unless data is one JSON value in UTF-8 without a byte order mark
// (RFC 8259). The error gives the position of the first character with which the JSON cannot go on.
func checkJSON(data []byte) error {
	const whitespace = " \t\r\n"
	if len(bytes.Trim(data, whitespace)) == 0 {
		return newError(malformedJSON, "The JSON is empty; it must be a value such as {}.")
	}
	if bytes.HasPrefix(data, []byte("\ufeff")) {
		return newError(malformedJSON, "The JSON begins with a byte order mark; remove it.")
	}
	for i := 0; i < len(data); { // encoding/json would replace invalid UTF-8
		r, size := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && size == 1 {
			return malformed(data, i, "invalid UTF-8")
		}
		i += size
	}
	if !json.Valid(data) {
		return syntaxError(data)
	}
	for _, at := range escapes.FindAllSubmatchIndex(data, -1) {
		if begin, end := at[2], at[3]; begin >= 0 { // encoding/json would replace it, too
			return malformed(data, begin, fmt.Sprintf("%s is half of a surrogate pair",
				data[begin:end]))
		}
	}
	return nil
}

// The halves of a surrogate pair, such as \ud83d\udc36 for a dog.
const high, low = `\\u[dD][89abAB]..`, `\\u[dD][c-fC-F]..`

// escapes matches each escape in valid JSON: a whole pair; or else one half, in parentheses; or
// else any other, such as \n, or the \\ in \\ud83d, which is no half.
var escapes = regexp.MustCompile(high + low + "|(" + high + "|" + low + `)|\\.`)

// syntaxError returns the error for data that is not valid JSON. The fault is the first byte with
// which the JSON cannot go on, such as the x in {"a": x}. Since nothing longer can go on either, a
// binary search finds it. (Errors of encoding/json have an offset that depends on the Go release.)
func syntaxError(data []byte) error {
	fault := sort.Search(len(data), func(i int) bool { return !canGoOn(data[:i+1]) })
	if fault == len(data) {
		return newError(malformedJSON, "The JSON ends too early; send all of it.")
	}
	r, _ := utf8.DecodeRune(data[fault:])
	return malformed(data, fault, fmt.Sprintf("%q is not allowed there", r))
}

// canGoOn reports whether data is valid JSON, or the beginning of it. {"a": is, and {"a": x is not.
func canGoOn(data []byte) bool {
	err := json.NewDecoder(bytes.NewReader(data)).Decode(new(json.RawMessage))
	return json.Valid(data) || err == io.EOF || err == io.ErrUnexpectedEOF
}

// malformed returns an error that gives the position of a fault: the line, and the byte within it,
// both counted from 1.
func malformed(data []byte, offset int, fault string) error {
	line := 1 + bytes.Count(data[:offset], []byte("\n"))
	lineStart := 1 + bytes.LastIndexByte(data[:offset], '\n')
	return newError(malformedJSON, "The JSON is malformed on line %d, at byte %d: %s.",
		line, offset-lineStart+1, fault)
}

// encode returns the JSON of a value on one line. Unlike json.Marshal, it does not escape <, > or
// &.
func encode(value any) []byte {
	var line bytes.Buffer
	enc := json.NewEncoder(&line)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		panic(err) // no value in this program can fail
	}
	return bytes.TrimSuffix(line.Bytes(), []byte("\n"))
}

// The records, each with the function that reads it. An id in a request body is checked, so that a
// client can send back what it got, and then ignored. An id in the data file counts.

// Category is a kind of animal. The description is nil if it was left out.
type Category struct {
	ID          int64   `json:"id"`
	Name        string  `json:"name"`
	Description *string `json:"description,omitempty"`
}

func (c Category) id() int64   { return c.ID }
func (c Category) inFile() any { return c }

func readCategory(f *fields) Category {
	c := Category{
		ID:          optional[int64](f, "id", 0),
		Name:        required[string](f, "name"),
		Description: orNil[string](f, "description"),
	}
	f.checkName(c.Name)
	f.check(c.Description == nil || utf8.RuneCountInString(*c.Description) <= 2000,
		"description must be at most 2000 characters.")
	return c
}

func (f *fields) checkName(name string) {
	f.check(utf8.RuneCountInString(name) <= 200 && strings.TrimSpace(name) != "",
		"name must be 1 to 200 characters and not blank.")
}

// PetStatus says whether a pet can be bought.
type PetStatus string

func (s PetStatus) valid() bool { return s == "available" || s == "pending" || s == "sold" }

// Pet is a pet. Its stock is not in its JSON: clients get that as an InventoryItem, and a line of
// the data file is a petInFile.
type Pet struct {
	ID         int64     `json:"id"`
	Name       string    `json:"name"`
	CategoryID int64     `json:"categoryId"`
	Status     PetStatus `json:"status"`
	Quantity   int64     `json:"-"`
}

func (p Pet) id() int64   { return p.ID }
func (p Pet) inFile() any { return petInFile{Pet: p, Quantity: p.Quantity} }

func readPet(f *fields) Pet {
	p := Pet{
		ID:         optional[int64](f, "id", 0),
		Name:       required[string](f, "name"),
		CategoryID: required[int64](f, "categoryId"),
		Status:     optional(f, "status", PetStatus("available")),
	}
	f.checkName(p.Name)
	f.check(p.Status.valid(), "status must be %s.", mustBe(p.Status))
	return p
}

// petInFile is a Pet as the data file has it: with its stock, which takes the place of the field
// that clients do not see.
type petInFile struct {
	Pet
	Quantity int64 `json:"quantity"`
}

func readPetInFile(f *fields) Pet {
	p := readPet(f)
	p.Quantity = optional[int64](f, "quantity", 0)
	f.checkQuantity(p.Quantity, 0)
	return p
}

// InventoryItem is the stock of a pet.
type InventoryItem struct {
	PetID    int64     `json:"petId"`
	Quantity int64     `json:"quantity"`
	Status   PetStatus `json:"status"`
}

func newInventoryItem(p Pet) InventoryItem { return InventoryItem{p.ID, p.Quantity, p.Status} }

// readInventoryUpdate returns the new quantity.
func readInventoryUpdate(f *fields) int64 {
	quantity := required[int64](f, "quantity")
	f.checkQuantity(quantity, 0)
	return quantity
}

func (f *fields) checkQuantity(quantity, lowest int64) {
	f.check(lowest <= quantity && quantity <= math.MaxInt32,
		"quantity must be from %d to %d.", lowest, math.MaxInt32)
}

// Order is an order for a pet. A pointer is nil if its field was left out.
type Order struct {
	ID       int64     `json:"id"`
	PetID    *int64    `json:"petId,omitempty"`
	Quantity *int64    `json:"quantity,omitempty"`
	ShipDate *DateTime `json:"shipDate,omitempty"`
	Complete bool      `json:"complete"`
}

func (o Order) id() int64   { return o.ID }
func (o Order) inFile() any { return o }

func readOrder(f *fields) Order {
	o := Order{
		ID:       optional[int64](f, "id", 0),
		PetID:    orNil[int64](f, "petId"),
		Quantity: orNil[int64](f, "quantity"),
		ShipDate: orNil[DateTime](f, "shipDate"),
		Complete: optional(f, "complete", false),
	}
	if o.Quantity != nil {
		f.checkQuantity(*o.Quantity, 1)
	}
	if o.ShipDate != nil {
		f.check(o.ShipDate.valid(), "shipDate must be %s.", mustBe(*o.ShipDate))
	}
	return o
}

// DateTime is an RFC 3339 date-time, kept as it was sent.
type DateTime string

var dateTimeForm = regexp.MustCompile( // RFC 3339, section 5.6
	`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`)

// valid reports whether d has the form of a date-time, which excludes 9:30:00 and 09:30:00,5, and
// is in the calendar, which excludes 31 February and leap seconds.
func (d DateTime) valid() bool {
	_, err := time.Parse(time.RFC3339, string(d))
	return err == nil && dateTimeForm.MatchString(string(d))
}
