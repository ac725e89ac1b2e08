package main

import (
	"cmp"
	"math"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	maxID       = math.MaxInt32 // the largest id that is given
	maxQuantity = math.MaxInt32 // of an order, and of stock
)

// A body is what a JSON object is decoded into. Its fields name where each member goes, and validate says
// what is wrong with what came, in words for the client.
type body interface {
	fields() []field
	validate() error
}

type field struct {
	name     string
	into     any // where the value goes, as field.read lists it; a pointer to a pointer stays nil without the field
	required bool
}

// PetStatus says how far the sale of a pet has come.
type PetStatus string

const (
	Available PetStatus = "available"
	Pending   PetStatus = "pending"
	Sold      PetStatus = "sold"
)

var statuses = []PetStatus{Available, Pending, Sold}

// NewPet is the request shape for creating and replacing a pet.
type NewPet struct {
	Name       string    `json:"name"`
	CategoryID int64     `json:"categoryId"`
	Status     PetStatus `json:"status"`
}

func (p *NewPet) fields() []field {
	return []field{{"name", &p.Name, true}, {"categoryId", &p.CategoryID, true}, {"status", &p.Status, false}}
}

func (p *NewPet) validate() error {
	return validateName(p.Name)
}

// Pet is a pet together with its stock, so that each pet has exactly one inventory entry.
type Pet struct {
	ID int64 `json:"id"`
	NewPet
	Quantity int64 `json:"-"`
}

func (p *Pet) fields() []field {
	return append(p.NewPet.fields(), field{"id", &p.ID, true}, field{"quantity", &p.Quantity, false})
}

func (p *Pet) validate() error {
	stock := InventoryUpdate{p.Quantity}
	return cmp.Or(p.NewPet.validate(), stock.validate())
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
	return []field{{"quantity", &u.Quantity, true}}
}

func (u *InventoryUpdate) validate() error {
	if u.Quantity < 0 || u.Quantity > maxQuantity {
		return invalid("quantity must be from 0 to %d.", maxQuantity)
	}
	return nil
}

// NewCategory is the request shape for creating and replacing a category.
type NewCategory struct {
	Name        string  `json:"name"`
	Description *string `json:"description,omitempty"`
}

func (c *NewCategory) fields() []field {
	return []field{{"name", &c.Name, true}, {"description", &c.Description, false}}
}

func (c *NewCategory) validate() error {
	if c.Description != nil && utf8.RuneCountInString(*c.Description) > 2000 {
		return invalid("description must be at most 2000 characters.")
	}
	return validateName(c.Name)
}

func validateName(name string) error {
	if utf8.RuneCountInString(name) > 200 || strings.TrimSpace(name) == "" {
		return invalid("name must be 1 to 200 characters, and not white space alone.")
	}
	return nil
}

// Category is a kind of animal that pets belong to.
type Category struct {
	ID int64 `json:"id"`
	NewCategory
}

func (c *Category) fields() []field {
	return append(c.NewCategory.fields(), field{"id", &c.ID, true})
}

// dateTime is the grammar of RFC 3339, section 5.6, which time.Parse takes less strictly.
var dateTime = regexp.MustCompile(`(?i)^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`)

// Order is both the record and its request shape. A field that the client left out is nil. ShipDate stays
// the text that came, so that no digit of its fraction is lost.
type Order struct {
	ID       *int64  `json:"id,omitempty"`
	PetID    *int64  `json:"petId,omitempty"`
	Quantity *int64  `json:"quantity,omitempty"`
	ShipDate *string `json:"shipDate,omitempty"`
	Complete bool    `json:"complete"`
}

func (o *Order) fields() []field {
	return []field{{"id", &o.ID, false}, {"petId", &o.PetID, false}, {"quantity", &o.Quantity, false},
		{"shipDate", &o.ShipDate, false}, {"complete", &o.Complete, false}}
}

func (o *Order) validate() error {
	if o.Quantity != nil && (*o.Quantity < 1 || *o.Quantity > maxQuantity) {
		return invalid("quantity must be from 1 to %d.", maxQuantity)
	}
	if o.ShipDate != nil {
		_, err := time.Parse(time.RFC3339, strings.ToUpper(*o.ShipDate))
		if err != nil || len(*o.ShipDate) > 64 || !dateTime.MatchString(*o.ShipDate) {
			return invalid("shipDate must be an RFC 3339 date-time such as 2030-12-05T09:30:00Z, of at most 64 characters.")
		}
	}
	return nil
}
