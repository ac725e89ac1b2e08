package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	maxID       = math.MaxInt32 // the last id, so that clients may keep ids in 32 bits
	maxQuantity = math.MaxInt32 // of an order or of stock
)

// PetStatus says whether a pet can be bought.
type PetStatus string

const (
	Available PetStatus = "available"
	Pending   PetStatus = "pending"
	Sold      PetStatus = "sold"
)

func (s PetStatus) valid() bool { return s == Available || s == Pending || s == Sold }

// NewPet is the request shape for creating and replacing a pet.
type NewPet struct {
	Name       string    `json:"name"`
	CategoryID int64     `json:"categoryId"`
	Status     PetStatus `json:"status"`
}

func (p *NewPet) fields() []field {
	p.Status = Available
	return []field{
		need("name", aString, &p.Name),
		need("categoryId", anInteger, &p.CategoryID),
		may("status", aPetStatus, &p.Status),
	}
}

// validate leaves the category to the store, which knows the ones that exist.
func (p *NewPet) validate() error {
	if !p.Status.valid() {
		return invalid("status must be %s.", aPetStatus)
	}
	return validateName(p.Name)
}

// A shape is a type like NewPet, which a JSON object is decoded into: the body of a request, an
// entry of the keys file, the file of the store or a record in it. Its json tags are for encoding
// only. For decoding it has fields, because encoding/json alone would take "Name" for name, ignore
// null, let the last of two equal names count, and not tell a missing field from a zero one.
type shape interface {
	fields() []field // also sets the defaults
	validate() error // called once all fields are decoded
}

// A field is what an object may or must have.
type field struct {
	name     string
	mustBe   string // what its value must be, for messages
	target   any    // a pointer to where its value goes
	required bool
}

func need(name, mustBe string, target any) field { return field{name, mustBe, target, true} }

func may(name, mustBe string, target any) field { return field{name, mustBe, target, false} }

const (
	aString    = "a string"
	anInteger  = "a 64-bit integer without fraction or exponent"
	aBoolean   = "true or false"
	aPetStatus = "available, pending or sold"
	aDateTime  = "an RFC 3339 date-time such as 2030-12-05T09:30:00Z"
	aList      = "an array"
)

// decode decodes a JSON object into a shape and validates it. The error is for the client. Of
// several faults it tells the first of these: the syntax, a name given twice, an unknown name, a
// field that is missing or wrong, what validate finds.
func decode(data []byte, into shape) error {
	values, err := splitObject(data)
	if err != nil {
		return err
	}
	fields := into.fields()
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if !slices.ContainsFunc(fields, func(f field) bool { return f.name == name }) {
			return invalid("The field %.40q is unknown; leave it out.", name)
		}
	}
	for _, f := range fields {
		value, given := values[f.name]
		if f.required && !given {
			return invalid("%s is missing; it must be %s.", f.name, f.mustBe)
		}
		if given && (string(value) == "null" || json.Unmarshal(value, f.target) != nil) {
			return invalid("%s must be %s.", f.name, f.mustBe)
		}
	}
	return into.validate()
}

// splitObject returns the values of a JSON object by their names, none of which may be given twice.
func splitObject(data []byte) (map[string]json.RawMessage, error) {
	if err := checkJSON(data); err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(data)) // cannot fail, since the syntax is checked
	if start, _ := dec.Token(); start != json.Delim('{') {
		return nil, invalid("The JSON must be one object.")
	}
	values := map[string]json.RawMessage{}
	for dec.More() {
		token, _ := dec.Token()
		name := token.(string)
		if _, given := values[name]; given {
			return nil, invalid("The field %.40q is given twice; leave one out.", name)
		}
		var value json.RawMessage
		dec.Decode(&value)
		values[name] = value
	}
	return values, nil
}

// checkJSON returns an error unless data is one JSON value in UTF-8 (RFC 8259).
func checkJSON(data []byte) error {
	if len(bytes.TrimSpace(data)) == 0 {
		return invalid("The JSON is empty.")
	}
	err := json.Unmarshal(data, new(json.RawMessage)) // like json.Valid, but tells the fault
	if fault, ok := errors.AsType[*json.SyntaxError](err); ok {
		return malformed(data[:max(0, fault.Offset-1)], fault.Error()) // Offset is behind the fault
	}
	for i, r := range string(data) { // encoding/json would replace what is not UTF-8
		if r == utf8.RuneError && !bytes.HasPrefix(data[i:], []byte("\ufffd")) {
			return malformed(data[:i], "invalid UTF-8")
		}
	}
	return nil
}

// malformed returns an error that names the place of a fault, given what stands before it.
func malformed(before []byte, fault string) error {
	line := 1 + bytes.Count(before, []byte("\n"))
	number := len(before) - bytes.LastIndexByte(before, '\n')
	return invalid("The JSON is malformed in line %d, at byte %d: %s.", line, number, fault)
}

// encode returns the JSON of a value on one line. Unlike json.Marshal it leaves <, > and & as they
// are.
func encode(value any) []byte {
	var line bytes.Buffer
	enc := json.NewEncoder(&line)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		panic(err) // every value of this program has a JSON form
	}
	return bytes.TrimSuffix(line.Bytes(), []byte("\n"))
}

// Pet is a pet as clients see it and as it stands in the file. It is validated as a NewPet.
type Pet struct {
	ID int64 `json:"id"`
	NewPet
}

func (p *Pet) fields() []field { return append(p.NewPet.fields(), need("id", anInteger, &p.ID)) }

// InventoryUpdate is the request shape for setting the stock of a pet.
type InventoryUpdate struct {
	Quantity int64 `json:"quantity"`
}

func (u *InventoryUpdate) fields() []field {
	return []field{need("quantity", anInteger, &u.Quantity)}
}

func (u *InventoryUpdate) validate() error { return validateQuantity(u.Quantity, 0) }

// InventoryItem is the stock of a pet. Its status is the pet's, whatever the file says.
type InventoryItem struct {
	PetID int64 `json:"petId"`
	InventoryUpdate
	Status PetStatus `json:"status"`
}

func (i *InventoryItem) fields() []field {
	return append(i.InventoryUpdate.fields(),
		need("petId", anInteger, &i.PetID), may("status", aPetStatus, &i.Status))
}

func validateQuantity(quantity, lowest int64) error {
	if quantity < lowest || quantity > maxQuantity {
		return invalid("quantity must be from %d to %d.", lowest, maxQuantity)
	}
	return nil
}

// NewCategory is the request shape for creating and replacing a category. The description is nil if
// it was left out.
type NewCategory struct {
	Name        string  `json:"name"`
	Description *string `json:"description,omitempty"`
}

func (c *NewCategory) fields() []field {
	return []field{
		need("name", aString, &c.Name),
		may("description", aString, &c.Description),
	}
}

func (c *NewCategory) validate() error {
	if c.Description != nil && utf8.RuneCountInString(*c.Description) > 2000 {
		return invalid("description must be at most 2000 characters.")
	}
	return validateName(c.Name)
}

// Category is a kind of animal that pets belong to.
type Category struct {
	ID int64 `json:"id"`
	NewCategory
}

func (c *Category) fields() []field {
	return append(c.NewCategory.fields(), need("id", anInteger, &c.ID))
}

func validateName(name string) error {
	if utf8.RuneCountInString(name) > 200 || strings.TrimSpace(name) == "" {
		return invalid("name must be 1 to 200 characters and not blank.")
	}
	return nil
}

// NewOrder is an order without its id. A field that was left out is nil, except Complete, which is
// false.
type NewOrder struct {
	PetID    *int64     `json:"petId,omitempty"`
	Quantity *int64     `json:"quantity,omitempty"`
	ShipDate *time.Time `json:"shipDate,omitempty"`
	Complete bool       `json:"complete"`
}

func (o *NewOrder) fields() []field {
	return []field{
		may("petId", anInteger, &o.PetID),
		may("quantity", anInteger, &o.Quantity),
		may("shipDate", aDateTime, &o.ShipDate),
		may("complete", aBoolean, &o.Complete),
	}
}

func (o *NewOrder) validate() error {
	if _, err := json.Marshal(o.ShipDate); err != nil { // time parses +24:00, but does not write it
		return invalid("shipDate must be %s.", aDateTime)
	}
	if o.Quantity != nil {
		return validateQuantity(*o.Quantity, 1)
	}
	return nil
}

// An OrderBody is to Order what NewPet is to Pet: the request shape. A PUT may have the id, too, so
// it is not NewOrder, which is what is stored.
type OrderBody struct {
	id *int64 // nil if it was left out
	NewOrder
}

func (b *OrderBody) fields() []field {
	return append(b.NewOrder.fields(), may("id", anInteger, &b.id))
}

// Order is what was ordered of a pet.
type Order struct {
	ID int64 `json:"id"`
	NewOrder
}

func (o *Order) fields() []field {
	return append(o.NewOrder.fields(), need("id", anInteger, &o.ID))
}
