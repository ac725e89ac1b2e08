package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// A shape is what decodeObject decodes a JSON object into: the body of a request, or an entry of the keys file. On its
// own, encoding/json would take "Name" for name, ignore null, and not tell a missing field from a zero one.
type shape interface {
	fields() []field
	validate() error // checks the decoded values; the error says what is wrong
}

// A field is a member of a JSON object.
type field struct {
	name     string
	required bool
	mustBe   string // what its value must be, for messages
	target   any    // a pointer to where its value goes
}

const (
	required = true
	optional = false

	aString    = "a string"
	anInteger  = "a 64-bit integer without fraction or exponent"
	aBoolean   = "true or false"
	aPetStatus = "available, pending or sold"
	aDateTime  = "an RFC 3339 date-time such as 2030-12-05T09:30:00Z"
)

// decodeObject decodes one JSON object into a shape, and validates it. If a name occurs twice, the last value counts.
// The error names one field that is wrong.
func decodeObject(data []byte, into shape) error {
	if i, err := checkJSON(data); err != nil {
		return invalid("The JSON is malformed at byte %d: %v.", i+1, err)
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(data, &members) != nil || members == nil { // null is no error, but leaves members nil
		return invalid("The JSON must be one object.")
	}
	fields := into.fields()
	for name := range members {
		if !slices.ContainsFunc(fields, func(f field) bool { return f.name == name }) {
			return invalid("The field %.40q is unknown; leave it out.", name)
		}
	}
	for _, f := range fields {
		value, given := members[f.name]
		if f.required && !given {
			return invalid("%s is missing; it must be %s.", f.name, f.mustBe)
		}
		if given && (string(value) == "null" || json.Unmarshal(value, f.target) != nil) {
			return invalid("%s must be %s.", f.name, f.mustBe)
		}
	}
	return into.validate()
}

// checkJSON returns an error if data is not one JSON value in UTF-8 (RFC 8259). The index is that of a wrong byte
// or, if the data ends too early, of the last one.
func checkJSON(data []byte) (index int, err error) {
	err = json.Unmarshal(data, new(json.RawMessage)) // a RawMessage takes any JSON: this only checks the syntax
	var malformed *json.SyntaxError
	if errors.As(err, &malformed) {
		return max(0, int(malformed.Offset)-1), malformed
	}
	for i := 0; i < len(data); { // encoding/json would replace what is not UTF-8
		r, size := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && size == 1 {
			return i, errors.New("invalid UTF-8")
		}
		i += size
	}
	return 0, nil
}

// encode returns the JSON of a value on one line. Unlike json.Marshal it leaves <, > and & as they are.
func encode(value any) []byte {
	var line bytes.Buffer
	enc := json.NewEncoder(&line)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		panic(err) // every value of this program has a JSON form
	}
	return bytes.TrimSuffix(line.Bytes(), []byte("\n"))
}

const (
	maxID       = math.MaxInt32 // the largest id that is assigned, so that clients may keep ids in 32 bits
	maxQuantity = math.MaxInt32 // the largest quantity, of an order or of stock
)

// PetStatus says whether a pet can be bought.
type PetStatus string

const (
	Available PetStatus = "available"
	Pending   PetStatus = "pending"
	Sold      PetStatus = "sold"
)

func (s PetStatus) valid() bool { return s == Available || s == Pending || s == Sold }

// NewPet is the request shape for creating and replacing a pet. A handler sets its status to Available before it is
// decoded, which stays if the field is left out. (The json tags, here and below, are for responses and for the file.)
type NewPet struct {
	Name       string    `json:"name"`
	CategoryID int64     `json:"categoryId"`
	Status     PetStatus `json:"status"`
}

func (p *NewPet) fields() []field {
	return []field{
		{"name", required, aString, &p.Name},
		{"categoryId", required, anInteger, &p.CategoryID},
		{"status", optional, aPetStatus, &p.Status},
	}
}

// validate leaves the category to the store, which knows which ones exist.
func (p *NewPet) validate() error {
	if !p.Status.valid() {
		return invalid("status must be %s.", aPetStatus)
	}
	return validateName(p.Name)
}

// Pet is a pet as clients see it. It has the fields and methods of NewPet.
type Pet struct {
	ID int64 `json:"id"`
	NewPet
}

// A stockedPet is a pet as the store keeps it: with its stock, so that each pet has exactly one inventory entry.
type stockedPet struct {
	Pet
	Quantity int64 `json:"quantity"`
}

// InventoryItem is the stock of a pet.
type InventoryItem struct {
	PetID    int64     `json:"petId"`
	Quantity int64     `json:"quantity"`
	Status   PetStatus `json:"status"`
}

// InventoryUpdate is the request shape for setting the stock of a pet.
type InventoryUpdate struct {
	Quantity int64
}

func (u *InventoryUpdate) fields() []field {
	return []field{{"quantity", required, anInteger, &u.Quantity}}
}

func (u *InventoryUpdate) validate() error { return validateStock(u.Quantity) }

func validateStock(quantity int64) error {
	if quantity < 0 || quantity > maxQuantity {
		return invalid("quantity must be from 0 to %d.", maxQuantity)
	}
	return nil
}

// NewCategory is the request shape for creating and replacing a category. Description is nil if it was left out.
type NewCategory struct {
	Name        string  `json:"name"`
	Description *string `json:"description,omitempty"`
}

func (c *NewCategory) fields() []field {
	return []field{
		{"name", required, aString, &c.Name},
		{"description", optional, aString, &c.Description},
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

func validateName(name string) error {
	if utf8.RuneCountInString(name) > 200 || strings.TrimSpace(name) == "" {
		return invalid("name must be 1 to 200 characters and not blank.")
	}
	return nil
}

// Order is both the record and its request shape, since a PUT may have the id too. A field that was left out is
// nil, except Complete, which is false.
type Order struct {
	ID       *int64     `json:"id,omitempty"`
	PetID    *int64     `json:"petId,omitempty"`
	Quantity *int64     `json:"quantity,omitempty"`
	ShipDate *time.Time `json:"shipDate,omitempty"`
	Complete bool       `json:"complete"`
}

func (o *Order) fields() []field {
	return []field{
		{"id", optional, anInteger, &o.ID},
		{"petId", optional, anInteger, &o.PetID},
		{"quantity", optional, anInteger, &o.Quantity},
		{"shipDate", optional, aDateTime, &o.ShipDate},
		{"complete", optional, aBoolean, &o.Complete},
	}
}

func (o *Order) validate() error {
	if o.Quantity != nil && (*o.Quantity < 1 || *o.Quantity > maxQuantity) {
		return invalid("quantity must be from 1 to %d.", maxQuantity)
	}
	if o.ShipDate != nil {
		if _, err := o.ShipDate.MarshalJSON(); err != nil { // time can parse the offset +24:00, but not write it
			return invalid("shipDate must be %s.", aDateTime)
		}
	}
	return nil
}
