package main

import (
	"bufio"
	"cmp"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
)

// A Store holds the records in memory, and saves a snapshot of them to a file with each write.
//
// A read uses the current state, without locking. A write changes a copy of it, saves the copy, and
// makes it the current one:
//
//	current --copy--> next --change--> next --save--> file
//	   ^                                 |
//	   +-------------- publish ----------+
type Store struct {
	path    string // of the file; empty to keep nothing on disk
	logger  *log.Logger
	current atomic.Pointer[state]

	mu        sync.Mutex  // held during a write; guards the field below
	lastKnown fs.FileInfo // the file as this process last read or wrote it; nil if it did neither
}

// view returns the current state.
func (s *Store) view() state { return *s.current.Load() }

// update carries out a write, such as
//
//	added, err := update(store, pet, (*state).addPet)
//
// If the change or the save fails, the copy is discarded, and nothing changes.
func update[Input, T any](s *Store, input Input, change func(*state, Input) (*record[T], error)) (
	*record[T], error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := s.view() // a copy
	changed, err := change(&next, input)
	if err != nil {
		return nil, err
	}
	// The change may have assigned an id.
	if max(next.categories.lastID, next.pets.lastID, next.orders.lastID) > maxID {
		return nil, newError(idsExhausted, "No ids are left; %d was the last one.", maxID)
	}
	if err := s.save(&next); err != nil {
		return nil, err
	}
	s.current.Store(&next)
	return changed, nil
}

// A state is everything in the store. Its methods enforce three rules: a pet belongs to an existing
// category, an order refers to an existing pet or to none, and a complete order stays complete.
type state struct {
	categories table[Category]
	pets       table[storedPet]
	orders     table[Order]
}

func (st *state) addCategory(c Category) (*record[Category], error) {
	c.ID = st.categories.lastID + 1
	return st.categories.put(c.ID, c, c), nil
}

func (st *state) replaceCategory(c Category) (*record[Category], error) {
	if _, err := st.categories.get(c.ID); err != nil {
		return nil, err
	}
	return st.categories.put(c.ID, c, c), nil
}

func (st *state) removeCategory(id int64) (*record[Category], error) {
	for _, pet := range st.pets.records {
		if pet.value.CategoryID == id {
			return nil, newError(inUse,
				"Pet %d belongs to this category; delete or change that pet first.", pet.id)
		}
	}
	return st.categories.remove(id)
}

func (st *state) addPet(p Pet) (*record[storedPet], error) {
	if err := st.checkCategory(p.CategoryID); err != nil {
		return nil, err
	}
	p.ID = st.pets.lastID + 1
	return st.pets.put(p.ID, storedPet{Pet: p}, p), nil
}

func (st *state) replacePet(p Pet) (*record[storedPet], error) {
	old, err := st.pets.get(p.ID)
	if err != nil {
		return nil, err
	}
	if err := st.checkCategory(p.CategoryID); err != nil {
		return nil, err
	}
	return st.pets.put(p.ID, storedPet{Pet: p, Quantity: old.value.Quantity}, p), nil
}

func (st *state) setQuantity(p storedPet) (*record[storedPet], error) {
	old, err := st.pets.get(p.ID)
	if err != nil {
		return nil, err
	}
	p.Pet = old.value.Pet
	return st.pets.put(p.ID, p, p.Pet), nil
}

func (st *state) removePet(id int64) (*record[storedPet], error) {
	for _, order := range st.orders.records {
		if order.value.PetID != nil && *order.value.PetID == id {
			return nil, newError(inUse,
				"Order %d refers to this pet; remove the petId from that order first.", order.id)
		}
	}
	return st.pets.remove(id)
}

func (st *state) addOrder(o Order) (*record[Order], error) {
	if err := st.checkPet(o.PetID); err != nil {
		return nil, err
	}
	o.ID = st.orders.lastID + 1
	return st.orders.put(o.ID, o, o), nil
}

func (st *state) replaceOrder(o Order) (*record[Order], error) {
	old, err := st.orders.get(o.ID)
	if err != nil {
		return nil, err
	}
	if err := st.checkPet(o.PetID); err != nil {
		return nil, err
	}
	if old.value.Complete && !o.Complete {
		return nil, newError(orderComplete,
			"A complete order cannot be reopened; send complete as true.")
	}
	return st.orders.put(o.ID, o, o), nil
}

func (st *state) cancelOrder(id int64) (*record[Order], error) {
	order, err := st.orders.get(id)
	if err != nil {
		return nil, err
	}
	if order.value.Complete {
		return nil, newError(orderComplete, "A complete order cannot be canceled.")
	}
	return st.orders.remove(id)
}

func (st *state) checkCategory(id int64) error {
	if !st.categories.has(id) {
		return newError(unknownReference, "categoryId %d does not exist; use one that does.", id)
	}
	return nil
}

// checkPet accepts nil, which is the petId of an order without a pet.
func (st *state) checkPet(id *int64) error {
	if id != nil && !st.pets.has(*id) {
		return newError(unknownReference, "petId %d does not exist; use one that does.", *id)
	}
	return nil
}

// A table holds the records of one kind in id order. Each change makes a new slice of records, so
// a copy of the table stays as it is:
//
//	before := st.pets // records 1, 2 and 3
//	st.pets.remove(2) // st.pets.records is 1 and 3, and before.records is still 1, 2 and 3
type table[T any] struct {
	kind    string // "pet", for messages
	records []*record[T]
	lastID  int64 // the last id assigned, even if its record was removed
}

// A record is a value with its id and the JSON that clients receive for it. It is never modified.
type record[T any] struct {
	id    int64
	value T
	json  []byte
}

// search returns the index of the first record with the given id or a greater one, and whether it
// has the given id.
func search[T any](records []*record[T], id int64) (i int, found bool) {
	return slices.BinarySearchFunc(records, id, func(r *record[T], id int64) int {
		return cmp.Compare(r.id, id)
	})
}

func (t *table[T]) get(id int64) (*record[T], error) {
	i, found := search(t.records, id)
	if !found {
		return nil, newError(notFound,
			"No %s has the id %d; use the id of an existing %[1]s.", t.kind, id)
	}
	return t.records[i], nil
}

func (t *table[T]) has(id int64) bool { _, found := search(t.records, id); return found }

// put adds a record, or replaces the one with its id. Clients receive the JSON of public, which is
// the value or, for a storedPet, its Pet.
func (t *table[T]) put(id int64, value T, public any) *record[T] {
	r := &record[T]{id: id, value: value, json: encode(public)}
	i, found := search(t.records, id)
	after := t.records[i:]
	if found {
		after = after[1:]
	}
	t.records = slices.Concat(t.records[:i], []*record[T]{r}, after)
	t.lastID = max(t.lastID, id)
	return r
}

// remove removes the record with the given id, and returns it.
func (t *table[T]) remove(id int64) (*record[T], error) {
	removed, err := t.get(id)
	if err != nil {
		return nil, err
	}
	t.records = slices.DeleteFunc(slices.Clone(t.records),
		func(r *record[T]) bool { return r == removed })
	return removed, nil
}

// load adds a record from the data file to a table that is not in use yet. Unlike put, it does not
// copy the slice each time.
func (t *table[T]) load(id int64, value T, public any) error {
	i, found := search(t.records, id)
	if found {
		return newError(invalidField, "Another record has the id %d.", id)
	}
	r := &record[T]{id: id, value: value, json: encode(public)}
	t.records = slices.Insert(t.records, i, r)
	t.lastID = max(t.lastID, id)
	return nil
}

// A snapshot is the JSON document in the data file, with one record per line:
//
//	{
//	"lastCategoryId": 4,
//	"lastPetId": 5,
//	"lastOrderId": 2,
//	"categories": [
//	{"id":1,"name":"Dogs"},
//	{"id":2,"name":"Cats"}
//	],
//	"pets": [
//	{"id":1,"name":"Rex","categoryId":1,"status":"available","quantity":3}
//	],
//	"orders": [
//	{"id":1,"petId":1,"complete":false}
//	]
//	}
//
// The last ids keep the ids of removed records from being assigned again.
type snapshot struct {
	lastCategoryID, lastPetID, lastOrderID int64
	categories, pets, orders               json.RawMessage // arrays
}

func readSnapshot(o *object) snapshot {
	s := snapshot{categories: []byte("[]"), pets: []byte("[]"), orders: []byte("[]")}
	o.optional("lastCategoryId", anInteger, &s.lastCategoryID)
	o.optional("lastPetId", anInteger, &s.lastPetID)
	o.optional("lastOrderId", anInteger, &s.lastOrderID)
	o.optional("categories", anArray, &s.categories)
	o.optional("pets", anArray, &s.pets)
	o.optional("orders", anArray, &s.orders)
	o.check(min(s.lastCategoryID, s.lastPetID, s.lastOrderID) >= 0 &&
		max(s.lastCategoryID, s.lastPetID, s.lastOrderID) <= maxID,
		"lastCategoryId, lastPetId and lastOrderId must be from 0 to %d.", maxID)
	return s
}

// parse reads a snapshot, which a person may have edited. The error gives the line of malformed
// JSON, or the list and number of an invalid record.
func parse(data []byte) (*state, error) {
	s, err := decode(data, object{inFile: true}, readSnapshot)
	if err != nil {
		return nil, err
	}
	st := &state{
		categories: table[Category]{kind: "category", lastID: s.lastCategoryID},
		pets:       table[storedPet]{kind: "pet", lastID: s.lastPetID},
		orders:     table[Order]{kind: "order", lastID: s.lastOrderID},
	}
	if err := decodeEach("categories", s.categories, readCategory, st.loadCategory); err != nil {
		return nil, err
	}
	if err := decodeEach("pets", s.pets, readStoredPet, st.loadPet); err != nil {
		return nil, err
	}
	if err := decodeEach("orders", s.orders, readOrder, st.loadOrder); err != nil {
		return nil, err
	}
	return st, nil
}

func (st *state) loadCategory(c Category) error { return st.categories.load(c.ID, c, c) }

func (st *state) loadPet(p storedPet) error {
	if err := st.checkCategory(p.CategoryID); err != nil {
		return err
	}
	return st.pets.load(p.ID, p, p.Pet)
}

func (st *state) loadOrder(o Order) error {
	if err := st.checkPet(o.PetID); err != nil {
		return err
	}
	return st.orders.load(o.ID, o, o)
}

// writeSnapshot writes the snapshot of a state.
func writeSnapshot(w io.Writer, st *state) error {
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "{\n\"lastCategoryId\": %d,\n\"lastPetId\": %d,\n\"lastOrderId\": %d",
		st.categories.lastID, st.pets.lastID, st.orders.lastID)
	writeList(b, "categories", st.categories.records)
	writeList(b, "pets", st.pets.records)
	writeList(b, "orders", st.orders.records)
	b.WriteString("\n}\n")
	return b.Flush() // returns the first error of any write above
}

func writeList[T any](b *bufio.Writer, name string, records []*record[T]) {
	fmt.Fprintf(b, ",\n%q: [", name)
	separator := "\n"
	for _, r := range records {
		b.WriteString(separator)
		b.Write(encode(r.value))
		separator = ",\n"
	}
	b.WriteString("\n]")
}

// sample is the first snapshot if there is no file yet.
//
//go:embed docs/sample.json
var sample []byte

// openStore reads the snapshot at path or, if there is no file, writes the sample there. If the
// file is not a complete and valid snapshot, openStore fails and leaves it as it is. If path is
// empty, the store starts with the sample and keeps nothing on disk.
func openStore(path string, logger *log.Logger) (*Store, error) {
	data := sample
	info, err := os.Stat(path) // also fails for an empty path
	if err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	if err == nil {
		data, err = os.ReadFile(path)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	first, err := parse(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	s := &Store{path: path, logger: logger, lastKnown: info}
	s.current.Store(first)
	if info == nil {
		err = s.replaceFile(first)
	}
	return s, err
}

// save saves a state before it becomes the current one. It logs any failure and returns an error
// for the client.
func (s *Store) save(st *state) error {
	err := s.replaceFile(st)
	if err == nil {
		return nil
	}
	s.logger.Printf("save failed: %v", err)
	if _, ok := errors.AsType[*Error](err); !ok {
		err = newError(saveFailed,
			"The server could not save to disk, so nothing was changed; try again later.")
	}
	return err
}

// replaceFile replaces the file with a snapshot of st. At any moment, even after a power failure,
// the file is either the complete old snapshot or the complete new one.
func (s *Store) replaceFile(st *state) error {
	if s.path == "" {
		return nil
	}
	// Write a temporary file first. Otherwise, a crash could leave half a snapshot in the file.
	directory := filepath.Dir(s.path)
	temp, err := os.CreateTemp(directory, filepath.Base(s.path)+".saving-*")
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name()) // does nothing after the rename
	written, err := s.writeTemp(temp, st)
	if err != nil {
		return err
	}
	// Check the file first. Otherwise, anything another program has written there would be lost.
	if err := s.checkFile(); err != nil {
		return err
	}
	if err := os.Rename(temp.Name(), s.path); err != nil {
		return err
	}
	s.lastKnown = written
	// Sync the directory. Otherwise, a power failure could undo the rename. If the sync fails, so
	// does the write, although the file keeps this snapshot until the next save.
	return syncDirectory(directory)
}

// writeTemp writes a snapshot of st to the temporary file and closes it.
func (s *Store) writeTemp(temp *os.File, st *state) (fs.FileInfo, error) {
	defer temp.Close()
	// Copy the old file's permission bits. Otherwise, someone who could read the old file might not
	// be able to read the new one.
	if old, err := os.Stat(s.path); err == nil {
		if err := temp.Chmod(old.Mode().Perm()); err != nil {
			return nil, err
		}
	}
	if err := writeSnapshot(temp, st); err != nil {
		return nil, err
	}
	// Sync the file. Otherwise, a power failure could leave it empty.
	if err := temp.Sync(); err != nil {
		return nil, err
	}
	return temp.Stat()
}

// checkFile returns the error fileChanged if the file is not the one that this process last read or
// wrote, judging by its identity, size and modification time. If the file is missing, the save
// writes it again.
func (s *Store) checkFile() error {
	info, err := os.Stat(s.path)
	if err == nil && (s.lastKnown == nil || !os.SameFile(info, s.lastKnown) ||
		info.Size() != s.lastKnown.Size() || !info.ModTime().Equal(s.lastKnown.ModTime())) {
		return newError(fileChanged, "Another program has changed the data file, so this "+
			"change was not saved; restart the server to read the file.")
	}
	return nil
}

// syncDirectory syncs a directory, unless the file system or operating system cannot do that.
func syncDirectory(path string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	directory, err := os.Open(path)
	if err != nil {
		return err
	}
	defer directory.Close()
	err = directory.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	return err
}
