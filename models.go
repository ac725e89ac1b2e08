package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	maxID       = math.MaxInt32 // the largest id that is assigned, so that clients may keep ids in 32 bits
	maxQuantity = math.MaxInt32 // the largest quantity, of an order or of stock
)

// A shape is a Go value that a JSON object is decoded into. Its fields say where each member of the object goes.
// Once they are filled in, validate checks them; its error is a message for the client.
type shape interface {
	fields() []field
	validate() error
}

// A field is a member of a JSON object.
type field struct {
	name        string
	into        any // a pointer to where the value goes, of any type that encoding/json can decode into
	mustBeGiven bool
}

func required(name string, into any) field { return field{name, into, true} }
func optional(name string, into any) field { return field{name, into, false} }

// expected says in words what the value of the field must be.
func (f field) expected() string {
	switch f.into.(type) {
	case *string, **string: // ** is for an optional field that is nil if it was left out
		return "a string"
	case *int64, **int64:
		return "a 64-bit integer without fraction or exponent"
	case *bool:
		return "true or false"
	case *PetStatus:
		return petStatuses
	}
	return "a valid value"
}

// PetStatus says whether a pet can be bought: one of petStatuses.
type PetStatus string

const (
	Available PetStatus = "available"
	Pending   PetStatus = "pending"
	Sold      PetStatus = "sold"
)

const petStatuses = "available, pending or sold"

// UnmarshalText makes encoding/json accept only the three statuses.
func (s *PetStatus) UnmarshalText(text []byte) error {
	*s = PetStatus(text)
	if *s != Available && *s != Pending && *s != Sold {
		return invalid("status must be %s.", petStatuses)
	}
	return nil
}

// NewPet is the request shape for creating and replacing a pet. A status that is left out is Available.
type NewPet struct {
	Name       string    `json:"name"`
	CategoryID int64     `json:"categoryId"`
	Status     PetStatus `json:"status"`
}

func (p *NewPet) fields() []field {
	return []field{
		required("name", &p.Name),
		required("categoryId", &p.CategoryID),
		optional("status", &p.Status),
	}
}

// validate leaves the category to the store, which knows which ones exist.
func (p *NewPet) validate() error { return validateName(p.Name) }

// Pet is a pet together with its stock, so that each pet has exactly one inventory entry.
type Pet struct {
	ID int64 `json:"id"`
	NewPet
	quantity int64 // unexported, since clients see it only in the InventoryItem
}

// InventoryItem is the stock of a pet.
type InventoryItem struct {
	PetID    int64     `json:"petId"`
	Quantity int64     `json:"quantity"`
	Status   PetStatus `json:"status"`
}

// InventoryUpdate is the request shape for setting the stock of a pet.
type InventoryUpdate struct {
	Quantity int64 `json:"quantity"`
}

func (u *InventoryUpdate) fields() []field {
	return []field{required("quantity", &u.Quantity)}
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
		required("name", &c.Name),
		optional("description", &c.Description),
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

// Order is both the record and its request shape. A field that the client left out is nil, except Complete, which is
// then false. ShipDate is kept as the client wrote it, so that no digit is lost.
type Order struct {
	ID       *int64  `json:"id,omitempty"`
	PetID    *int64  `json:"petId,omitempty"`
	Quantity *int64  `json:"quantity,omitempty"`
	ShipDate *string `json:"shipDate,omitempty"`
	Complete bool    `json:"complete"`
}

func (o *Order) fields() []field {
	return []field{
		optional("id", &o.ID),
		optional("petId", &o.PetID),
		optional("quantity", &o.Quantity),
		optional("shipDate", &o.ShipDate),
		optional("complete", &o.Complete),
	}
}

// dateTime is the grammar of RFC 3339, section 5.6, in which T and Z may be lower case.
var dateTime = regexp.MustCompile(`(?i)^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`)

func (o *Order) validate() error {
	if o.Quantity != nil && (*o.Quantity < 1 || *o.Quantity > maxQuantity) {
		return invalid("quantity must be from 1 to %d.", maxQuantity)
	}
	if o.ShipDate != nil {
		// Neither check is enough on its own: the grammar allows 31 February, and time.Parse allows a comma before the
		// fraction. A leap second (:60), which RFC 3339 allows, is refused because time.Parse refuses it.
		_, err := time.Parse(time.RFC3339, strings.ToUpper(*o.ShipDate))
		if err != nil || len(*o.ShipDate) > 64 || !dateTime.MatchString(*o.ShipDate) {
			return invalid("shipDate must be an RFC 3339 date-time of at most 64 characters, " +
				"such as 2030-12-05T09:30:00Z.")
		}
	}
	return nil
}

// checkJSON returns an error if data is not one JSON value (RFC 8259) in UTF-8. The offset is that of the first wrong
// byte or, if the text ends too early, of the last one. It counts from 0; messages count from 1.
func checkJSON(data []byte) (offset int, err error) {
	if !json.Valid(data) {
		var syntax *json.SyntaxError // Valid does not say where; Unmarshal does, always with a SyntaxError
		errors.As(json.Unmarshal(data, new(any)), &syntax)
		offset = max(0, int(syntax.Offset)-1)
		return offset, invalid("The JSON is malformed at byte %d: %v.", offset+1, syntax)
	}
	if utf8.Valid(data) {
		return 0, nil
	}
	// The text is not UTF-8, which encoding/json would silently replace. Find the first wrong byte:
	for {
		c, size := utf8.DecodeRune(data[offset:])
		if c == utf8.RuneError && size == 1 {
			return offset, invalid("The JSON is not valid UTF-8 at byte %d.", offset+1)
		}
		offset += size
	}
}

// decodeObject decodes one JSON object into a shape, and validates it.
//
// json.Unmarshal alone would accept "Name" for name, let the last of two members with the same name win, and ignore
// null. That is why the members are read one by one.
func decodeObject(data []byte, into shape) error {
	if _, err := checkJSON(data); err != nil {
		return err
	}
	dec := json.NewDecoder(bytes.NewReader(data)) // Token cannot fail, since the JSON is well-formed
	if start, _ := dec.Token(); start != json.Delim('{') {
		return invalid("The JSON must be one object.")
	}
	fields := into.fields()
	given := make([]bool, len(fields))
	for dec.More() {
		token, _ := dec.Token()
		name := token.(string)
		i := slices.IndexFunc(fields, func(f field) bool { return f.name == name })
		if i < 0 {
			return invalid("The field %.40q is unknown; leave it out.", name)
		}
		if given[i] {
			return invalid("%s must be given once, not twice.", name)
		}
		given[i] = true
		// Decode would accept null, and leave the field as it is.
		value := bytes.TrimLeft(data[dec.InputOffset():], ": \t\r\n")
		if bytes.HasPrefix(value, []byte("null")) || dec.Decode(fields[i].into) != nil {
			return invalid("%s must be %s.", name, fields[i].expected())
		}
	}
	for i, f := range fields {
		if f.mustBeGiven && !given[i] {
			return invalid("%s is missing; it must be %s.", f.name, f.expected())
		}
	}
	return into.validate()
}

// encode returns the JSON of a value of this program's own types, on one line. Unlike json.Marshal it leaves
// <, > and & as they are.
func encode(value any) []byte {
	var line bytes.Buffer
	enc := json.NewEncoder(&line)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		panic(err) // only a type that has no JSON, such as a channel, gets here
	}
	return bytes.TrimSuffix(line.Bytes(), []byte("\n"))
}
