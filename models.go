package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// An object is a JSON object that is being read: a request body, an entry in the keys file, the
// data file or a record in it. A function such as readPet takes the fields out of it one by one;
// any fields left over are unknown. The function keeps reading after an error, and decode returns
// the first error. With encoding/json alone,
//
//	{"Name": "Rex"}                would set name,
//	{"name": null}                 would leave name empty,
//	{"name": "Rex", "name": "Max"} would set name to Max, and
//	{}                             would be the same as {"name": ""}.
type object struct {
	fields map[string]json.RawMessage // those not yet read
	err    error                      // the first error
	inFile bool                       // for readID
	pathID int64                      // for readID
}

// decode reads the object o from data. The error is an *Error even if the data comes from a file;
// in that case, only its message is used.
func decode[T any](data []byte, o object, read func(*object) T) (value T, err error) {
	o.fields, err = splitObject(data)
	if err != nil {
		return value, err
	}
	value = read(&o)
	if len(o.fields) > 0 { // reported first: a misspelled field also makes another one missing
		name := slices.Sorted(maps.Keys(o.fields))[0]
		return value, newError(invalidField, "The field %.40q is unknown here; leave it out.", name)
	}
	return value, o.err
}

// decodeEach decodes each object in a JSON array from a file and passes it to add. The error gives
// the name of the array and the number of the object, counting from 1.
func decodeEach[T any](name string, data []byte, read func(*object) T, add func(T) error) error {
	if err := checkJSON(data); err != nil {
		return err
	}
	var list []json.RawMessage
	if json.Unmarshal(data, &list) != nil || list == nil { // null is a nil list
		return newError(invalidField, "%s must be an array.", name)
	}
	for i, element := range list {
		value, err := decode(element, object{inFile: true}, read)
		if err == nil {
			err = add(value)
		}
		if err != nil {
			return fmt.Errorf("%s, record %d: %w", name, i+1, err)
		}
	}
	return nil
}

// required reads a field that must be present. The target is a pointer, as for json.Unmarshal, and
// mustBe completes the message "quantity must be ...".
func (o *object) required(name, mustBe string, target any) {
	_, given := o.fields[name]
	o.check(given, "%s is missing; it must be %s.", name, mustBe)
	o.optional(name, mustBe, target)
}

// optional reads a field that may be omitted. If it is omitted, the target keeps its value.
func (o *object) optional(name, mustBe string, target any) {
	value, given := o.fields[name]
	if !given {
		return
	}
	delete(o.fields, name)
	err := json.Unmarshal(value, target) // accepts null for any target
	o.check(err == nil && string(value) != "null", "%s must be %s.", name, mustBe)
}

// check records an error unless ok is true. Only the first error is kept.
func (o *object) check(ok bool, format string, args ...any) {
	if !ok && o.err == nil {
		o.err = newError(invalidField, format, args...)
	}
}

// Completions of "must be" in messages.
const (
	aString   = "a string"
	anInteger = "a 64-bit integer without a fraction or exponent"
	aStatus   = "available, pending or sold"
	aDateTime = "an RFC 3339 date-time such as 2030-12-05T09:30:00Z"
	anArray   = "an array"
)

// PetStatus says whether a pet can be bought.
type PetStatus string

func (s PetStatus) valid() bool { return s == "available" || s == "pending" || s == "sold" }

// Pet is a pet as clients send and receive it.
type Pet struct {
	ID         int64     `json:"id"`
	Name       string    `json:"name"`
	CategoryID int64     `json:"categoryId"`
	Status     PetStatus `json:"status"`
}

func readPet(o *object) Pet {
	p := Pet{Status: "available"}
	o.required("name", aString, &p.Name)
	o.required("categoryId", anInteger, &p.CategoryID)
	o.optional("status", aStatus, &p.Status)
	o.checkName(p.Name)
	o.check(p.Status.valid(), "status must be %s.", aStatus)
	p.ID = o.readID()
	return p
}

// A storedPet is a pet with its stock, as the store and the data file hold it. Clients get the pet
// under /pets, and its stock under /inventory, as an InventoryItem.
type storedPet struct {
	Pet
	Quantity int64 `json:"quantity"`
}

func readStoredPet(o *object) storedPet {
	p := storedPet{Pet: readPet(o)}
	o.optional("quantity", anInteger, &p.Quantity)
	o.checkQuantity(p.Quantity, 0)
	return p
}

// InventoryItem is the stock of a pet as clients receive it.
type InventoryItem struct {
	PetID    int64     `json:"petId"`
	Quantity int64     `json:"quantity"`
	Status   PetStatus `json:"status"`
}

func (p storedPet) inventoryItem() InventoryItem {
	return InventoryItem{PetID: p.ID, Quantity: p.Quantity, Status: p.Status}
}

// readInventoryUpdate returns a pet with only its id and quantity set.
func readInventoryUpdate(o *object) storedPet {
	p := storedPet{Pet: Pet{ID: o.pathID}}
	o.required("quantity", anInteger, &p.Quantity)
	o.checkQuantity(p.Quantity, 0)
	return p
}

// Category is a kind of animal. The description is nil if the client left it out.
type Category struct {
	ID          int64   `json:"id"`
	Name        string  `json:"name"`
	Description *string `json:"description,omitempty"`
}

func readCategory(o *object) Category {
	var c Category
	o.required("name", aString, &c.Name)
	o.optional("description", aString, &c.Description)
	o.checkName(c.Name)
	o.check(c.Description == nil || utf8.RuneCountInString(*c.Description) <= 2000,
		"description must be at most 2000 characters.")
	c.ID = o.readID()
	return c
}

// Order is an order for a pet. A pointer is nil if the client left its field out.
type Order struct {
	ID       int64      `json:"id"`
	PetID    *int64     `json:"petId,omitempty"`
	Quantity *int64     `json:"quantity,omitempty"`
	ShipDate *time.Time `json:"shipDate,omitempty"`
	Complete bool       `json:"complete"`
}

func readOrder(o *object) Order {
	var order Order
	o.optional("petId", anInteger, &order.PetID)
	o.optional("quantity", anInteger, &order.Quantity)
	o.optional("shipDate", aDateTime, &order.ShipDate)
	o.optional("complete", "true or false", &order.Complete)
	if order.Quantity != nil {
		o.checkQuantity(*order.Quantity, 1)
	}
	_, err := json.Marshal(order.ShipDate) // package time parses +24:00 but cannot marshal it
	o.check(err == nil, "shipDate must be %s.", aDateTime)
	order.ID = o.readID()
	return order
}

const maxID = math.MaxInt32 // so that clients can store ids in 32 bits

// readID returns the id of a record. In a file, it is a field of the record. In a request, it is
// the id in the path (0 for a POST), and the body may repeat it, so that a PUT accepts what a GET
// returned.
func (o *object) readID() int64 {
	var id int64
	o.optional("id", anInteger, &id)
	if o.inFile {
		o.check(1 <= id && id <= maxID, "id must be from 1 to %d.", maxID)
		return id
	}
	o.check(id == 0 || id == o.pathID, "id must be %d or left out.", o.pathID)
	return o.pathID
}

func (o *object) checkName(name string) {
	o.check(utf8.RuneCountInString(name) <= 200 && strings.TrimSpace(name) != "",
		"name must be 1 to 200 characters and not blank.")
}

func (o *object) checkQuantity(quantity, lowest int64) {
	o.check(lowest <= quantity && quantity <= math.MaxInt32,
		"quantity must be from %d to %d.", lowest, math.MaxInt32)
}

// splitObject returns the fields of a JSON object. It fails if a name appears twice.
func splitObject(data []byte) (map[string]json.RawMessage, error) {
	if err := checkJSON(data); err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(data)) // cannot fail, since the JSON has been checked
	if start, _ := dec.Token(); start != json.Delim('{') {
		return nil, newError(malformedJSON, "The JSON must be a single object.")
	}
	fields := map[string]json.RawMessage{}
	for dec.More() {
		token, _ := dec.Token()
		name := token.(string)
		if _, given := fields[name]; given {
			return nil, newError(malformedJSON,
				"The field %.40q appears twice; remove one.", name)
		}
		var value json.RawMessage
		dec.Decode(&value)
		fields[name] = value
	}
	return fields, nil
}

// checkJSON returns an error unless data is one JSON value in UTF-8 without a byte order mark
// (RFC 8259).
func checkJSON(data []byte) error {
	if len(bytes.TrimSpace(data)) == 0 {
		return newError(malformedJSON, "The JSON is empty.")
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
	var fault *json.SyntaxError
	if !json.Valid(data) && errors.As(json.Unmarshal(data, new(any)), &fault) {
		return malformed(data, int(fault.Offset)-1, fault.Error())
	}
	return nil
}

// malformed returns an error that gives the position of a syntax error: the line, and the byte
// within it, both counted from 1.
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
		panic(err) // no value in this program can fail; for dates, see readOrder
	}
	return bytes.TrimSuffix(line.Bytes(), []byte("\n"))
}
