package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"sort"
	"strings"
	"time"
	"unicode/utf8"
)

// The records come first, each with the function that reads it, from a request body or from a line
// of the data file. An id must be an integer in both, but only that in the file counts.
//
// JSON from outside is checked once, by validJSON. From there on, it is a json.RawMessage.

// Category is a kind of animal. The description is nil if it was left out.
type Category struct {
	ID          int64   `json:"id"`
	Name        string  `json:"name"`
	Description *string `json:"description,omitempty"`
}

func readCategory(data json.RawMessage) (Category, error) {
	f := readFields(data)
	c := Category{
		ID:          f.integerOr("id", 0),
		Name:        f.text("name"),
		Description: f.textOrNil("description"),
	}
	f.checkName(c.Name)
	f.check(c.Description == nil || utf8.RuneCountInString(*c.Description) <= 2000,
		"description must be at most 2000 characters.")
	return c, f.firstError()
}

// PetStatus says whether a pet can be bought.
type PetStatus string

func (s PetStatus) valid() bool { return s == "available" || s == "pending" || s == "sold" }

// Pet is a pet. Its stock is not in its JSON: clients get that as an InventoryItem, and the data
// file has it in a petInFile.
type Pet struct {
	ID         int64     `json:"id"`
	Name       string    `json:"name"`
	CategoryID int64     `json:"categoryId"`
	Status     PetStatus `json:"status"`
	Quantity   int64     `json:"-"`
}

func readPet(data json.RawMessage) (Pet, error) {
	f := readFields(data)
	p := f.pet()
	return p, f.firstError()
}

func (f *fields) pet() Pet {
	p := Pet{
		ID:         f.integerOr("id", 0),
		Name:       f.text("name"),
		CategoryID: f.integer("categoryId"),
		Status:     optional(f, "status", aStatus, PetStatus("available")),
	}
	f.checkName(p.Name)
	f.check(p.Status.valid(), "status must be %s.", aStatus)
	return p
}

// InventoryItem is the stock of a pet.
type InventoryItem struct {
	PetID    int64     `json:"petId"`
	Quantity int64     `json:"quantity"`
	Status   PetStatus `json:"status"`
}

func (p Pet) inventoryItem() InventoryItem {
	return InventoryItem{PetID: p.ID, Quantity: p.Quantity, Status: p.Status}
}

// readInventoryUpdate returns the new quantity.
func readInventoryUpdate(data json.RawMessage) (int64, error) {
	f := readFields(data)
	quantity := f.integer("quantity")
	f.checkQuantity(quantity, 0)
	return quantity, f.firstError()
}

// petInFile is a Pet as the data file has it: with its stock.
type petInFile struct {
	Pet
	Quantity int64 `json:"quantity"`
}

func readPetInFile(data json.RawMessage) (Pet, error) {
	f := readFields(data)
	p := f.pet()
	p.Quantity = f.integerOr("quantity", 0)
	f.checkQuantity(p.Quantity, 0)
	return p, f.firstError()
}

// Order is an order for a pet. A pointer is nil if its field was left out.
type Order struct {
	ID       int64      `json:"id"`
	PetID    *int64     `json:"petId,omitempty"`
	Quantity *int64     `json:"quantity,omitempty"`
	ShipDate *time.Time `json:"shipDate,omitempty"`
	Complete bool       `json:"complete"`
}

func readOrder(data json.RawMessage) (Order, error) {
	f := readFields(data)
	order := Order{
		ID:       f.integerOr("id", 0),
		PetID:    f.integerOrNil("petId"),
		Quantity: f.integerOrNil("quantity"),
		ShipDate: f.dateOrNil("shipDate"),
		Complete: optional(f, "complete", aBool, false),
	}
	if order.Quantity != nil {
		f.checkQuantity(*order.Quantity, 1)
	}
	return order, f.firstError()
}

// The fields of a JSON object are read one by one. Names match exactly, null is no value, and a
// field that is given twice or left over at the end is an error. With encoding/json alone,
//
//	{"Name": "Rex"}                would set name,
//	{"name": null}                 would leave name empty,
//	{"name": "Rex", "name": "Max"} would set name to Max, and
//	{}                             would be the same as {"name": ""}.
type fields struct {
	unread map[string]json.RawMessage
	err    error // the first error; reading goes on after it
}

func readFields(data json.RawMessage) *fields {
	unread := map[string]json.RawMessage{}
	dec := json.NewDecoder(bytes.NewReader(data)) // never fails on valid JSON
	if start, _ := dec.Token(); start != json.Delim('{') {
		return &fields{err: newError(malformedJSON, "The JSON must be a single object.")}
	}
	for dec.More() {
		token, _ := dec.Token()
		name := token.(string)
		if _, given := unread[name]; given {
			return &fields{err: newError(malformedJSON,
				"The field %.40q appears twice; remove one.", name)}
		}
		var value json.RawMessage
		dec.Decode(&value)
		unread[name] = value
	}
	return &fields{unread: unread}
}

// firstError returns the first error. An unknown field comes before all others, since a misspelled
// field also makes another one missing.
func (f *fields) firstError() error {
	if len(f.unread) > 0 {
		name := slices.Sorted(maps.Keys(f.unread))[0]
		return newError(invalidField, "The field %.40q is unknown here; leave it out.", name)
	}
	return f.err
}

// Completions of "must be" in messages.
const (
	aString   = "a string"
	anInteger = "a 64-bit integer without a fraction or exponent"
	aBool     = "true or false"
	aStatus   = "available, pending or sold"
	aDate     = "an RFC 3339 date-time such as 2030-12-05T09:30:00Z"
	anArray   = "an array"
)

// These methods read a field by its name. If it is left out, that is an error, or they return what
// their name says.

func (f *fields) text(name string) string { return required[string](f, name, aString) }

func (f *fields) textOrNil(name string) *string { return orNil[string](f, name, aString) }

func (f *fields) integer(name string) int64 { return required[int64](f, name, anInteger) }

func (f *fields) integerOr(name string, value int64) int64 {
	return optional(f, name, anInteger, value)
}

func (f *fields) integerOrNil(name string) *int64 { return orNil[int64](f, name, anInteger) }

// dateOrNil accepts what time.Time can both read and write. An offset of 24 hours is only read.
func (f *fields) dateOrNil(name string) *time.Time {
	text := orNil[string](f, name, aDate)
	if text == nil {
		return nil
	}
	date := new(time.Time)
	err := date.UnmarshalText([]byte(*text))
	_, unwritable := date.MarshalText()
	f.check(err == nil && unwritable == nil, "%s must be %s.", name, aDate)
	return date
}

func required[T any](f *fields, name, mustBe string) (value T) {
	_, given := f.unread[name]
	f.check(given, "%s is missing; it must be %s.", name, mustBe)
	return optional(f, name, mustBe, value)
}

func optional[T any](f *fields, name, mustBe string, value T) T {
	if given := orNil[T](f, name, mustBe); given != nil {
		return *given
	}
	return value
}

func orNil[T any](f *fields, name, mustBe string) *T {
	data, given := f.unread[name]
	if !given {
		return nil
	}
	delete(f.unread, name)
	var value *T // stays nil for null
	err := json.Unmarshal(data, &value)
	f.check(err == nil && value != nil, "%s must be %s.", name, mustBe)
	return value
}

// check records an error unless ok is true.
func (f *fields) check(ok bool, format string, args ...any) {
	if !ok && f.err == nil {
		f.err = newError(invalidField, format, args...)
	}
}

func (f *fields) checkName(name string) {
	f.check(utf8.RuneCountInString(name) <= 200 && strings.TrimSpace(name) != "",
		"name must be 1 to 200 characters and not blank.")
}

func (f *fields) checkQuantity(quantity, lowest int64) {
	f.check(lowest <= quantity && quantity <= math.MaxInt32,
		"quantity must be from %d to %d.", lowest, math.MaxInt32)
}

// validJSON returns an error unless data is one JSON value in UTF-8 without a byte order mark
// (RFC 8259).
func validJSON(data []byte) (json.RawMessage, error) {
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, newError(malformedJSON, "The JSON is empty; it must be a value such as {}.")
	}
	if bytes.HasPrefix(data, []byte("\ufeff")) {
		return nil, newError(malformedJSON, "The JSON begins with a byte order mark; remove it.")
	}
	for i := 0; i < len(data); { // encoding/json would replace invalid UTF-8
		r, size := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && size == 1 {
			return nil, malformed(data, i, "invalid UTF-8")
		}
		i += size
	}
	if json.Valid(data) {
		return data, nil
	}
	// The fault is where the shortest beginning ends that no valid JSON has.
	fault := sort.Search(len(data), func(i int) bool { return !beginsJSON(data[:i+1]) })
	if fault == len(data) {
		return nil, newError(malformedJSON, "The JSON ends too early; send all of it.")
	}
	r, _ := utf8.DecodeRune(data[fault:])
	return nil, malformed(data, fault, fmt.Sprintf("%q is not allowed there", r))
}

// beginsJSON reports whether some JSON value begins with these bytes.
func beginsJSON(data []byte) bool {
	dec := json.NewDecoder(bytes.NewReader(data))
	if err := dec.Decode(new(json.RawMessage)); err != nil {
		return err == io.EOF || err == io.ErrUnexpectedEOF
	}
	_, err := dec.Token() // of what follows the value
	return err == io.EOF
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
		panic(err) // no value in this program can fail; for dates, see dateOrNil
	}
	return bytes.TrimSuffix(line.Bytes(), []byte("\n"))
}
