package main

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
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

// A store holds the records in memory, and saves a snapshot of them to a file with each write.
//
// A read uses the current state, without locking. A write changes a copy of it, saves the copy, and
// makes it the current one:
//
//	current --copy--> next --change--> next --save--> file
//	   ^                                 |
//	   +-------------- publish ----------+
type store struct {
	path    string // of the file; empty to keep nothing on disk
	logger  *log.Logger
	current atomic.Pointer[state]

	mu        sync.Mutex // held during a write; guards the field below
	lastKnown []byte     // what the file held when this process last read or wrote it
}

// A state is everything in the store. A pet belongs to a category that exists, and an order refers
// to a pet that exists or to none.
type state struct {
	categories table[Category]
	pets       table[Pet]
	orders     table[Order]
}

// A table holds the records of one kind in id order. Each change puts a new slice of records in the
// place of the old one, so that a copy of the table stays as it is.
//
//	before := st.pets // records 1, 2 and 3
//	st.pets.remove(2) // st.pets.records is 1 and 3, and before.records is still 1, 2 and 3
type table[T entity] struct {
	kind    string // "pet", for messages
	records []*record[T]
	lastID  int64 // the last id assigned, even if its record was removed
}

// A record is a value with its JSON, which is made once, so that lists and saves need not encode
// it again. A record is never modified.
type record[T entity] struct {
	value      T
	clientJSON []byte
	fileJSON   []byte // the line in the data file
}

// An entity is a Category, a Pet or an Order.
type entity interface {
	id() int64
	inFile() any                     // whose JSON is its line in the data file
	checkReferences(st *state) error // an error unless all records that it refers to exist
}

// view returns the current state.
func (s *store) view() *state { return s.current.Load() }

// update carries out a write. If the change or the save fails, or the record refers to one that
// does not exist, nothing has changed.
func update[T entity](s *store, change func(next *state) (*record[T], error)) (*record[T], error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := *s.view() // shares its slices of records, so a change makes a new slice
	changed, err := change(&next)
	if err != nil {
		return nil, err
	}
	if err := changed.value.checkReferences(&next); err != nil {
		return nil, err
	}
	if err := s.save(&next); err != nil {
		return nil, err
	}
	s.current.Store(&next)
	return changed, nil
}

// Each method below is a write. It returns the record that it added, replaced or removed.

func (s *store) addCategory(c Category) (*record[Category], error) {
	return update(s, func(next *state) (*record[Category], error) {
		c.ID = next.categories.lastID + 1
		return next.categories.add(c)
	})
}

func (s *store) replaceCategory(id int64, c Category) (*record[Category], error) {
	return update(s, func(next *state) (*record[Category], error) {
		c.ID = id
		return next.categories.replace(c)
	})
}

func (s *store) removeCategory(id int64) (*record[Category], error) {
	return update(s, func(next *state) (*record[Category], error) {
		for _, pet := range next.pets.records {
			if pet.value.CategoryID == id {
				return nil, newError(inUse, "Pet %d belongs to this category; "+
					"delete or change that pet first.", pet.value.ID)
			}
		}
		return next.categories.remove(id)
	})
}

func (s *store) addPet(p Pet) (*record[Pet], error) {
	return update(s, func(next *state) (*record[Pet], error) {
		p.ID = next.pets.lastID + 1
		return next.pets.add(p)
	})
}

func (s *store) replacePet(id int64, p Pet) (*record[Pet], error) {
	return update(s, func(next *state) (*record[Pet], error) {
		old, err := next.pets.get(id)
		if err != nil {
			return nil, err
		}
		p.ID, p.Quantity = id, old.value.Quantity
		return next.pets.replace(p)
	})
}

func (s *store) setQuantity(petID, quantity int64) (*record[Pet], error) {
	return update(s, func(next *state) (*record[Pet], error) {
		old, err := next.pets.get(petID)
		if err != nil {
			return nil, err
		}
		p := old.value
		p.Quantity = quantity
		return next.pets.replace(p)
	})
}

func (s *store) removePet(id int64) (*record[Pet], error) {
	return update(s, func(next *state) (*record[Pet], error) {
		for _, order := range next.orders.records {
			if order.value.PetID != nil && *order.value.PetID == id {
				return nil, newError(inUse, "Order %d refers to this pet; "+
					"remove the petId from that order first.", order.value.ID)
			}
		}
		return next.pets.remove(id)
	})
}

func (s *store) addOrder(o Order) (*record[Order], error) {
	return update(s, func(next *state) (*record[Order], error) {
		o.ID = next.orders.lastID + 1
		return next.orders.add(o)
	})
}

func (s *store) replaceOrder(id int64, o Order) (*record[Order], error) {
	return update(s, func(next *state) (*record[Order], error) {
		old, err := next.orders.get(id)
		if err != nil {
			return nil, err
		}
		if old.value.Complete && !o.Complete {
			return nil, newError(orderComplete,
				"A complete order cannot be reopened; send complete as true.")
		}
		o.ID = id
		return next.orders.replace(o)
	})
}

func (s *store) cancelOrder(id int64) (*record[Order], error) {
	return update(s, func(next *state) (*record[Order], error) {
		order, err := next.orders.get(id)
		if err != nil {
			return nil, err
		}
		if order.value.Complete {
			return nil, newError(orderComplete, "A complete order cannot be canceled.")
		}
		return next.orders.remove(id)
	})
}

func newRecord[T entity](v T) *record[T] {
	return &record[T]{value: v, clientJSON: encode(v), fileJSON: encode(v.inFile())}
}

func (c Category) checkReferences(*state) error { return nil }

func (p Pet) checkReferences(st *state) error {
	if _, found := search(st.categories.records, p.CategoryID); !found {
		return newError(unknownReference,
			"categoryId %d does not exist; use one that does.", p.CategoryID)
	}
	return nil
}

func (o Order) checkReferences(st *state) error {
	if o.PetID == nil {
		return nil
	}
	if _, found := search(st.pets.records, *o.PetID); !found {
		return newError(unknownReference, "petId %d does not exist; use one that does.", *o.PetID)
	}
	return nil
}

// search returns the index of the first record with the given id or a greater one, and whether it
// has the given id.
func search[T entity](records []*record[T], id int64) (i int, found bool) {
	return slices.BinarySearchFunc(records, id, func(r *record[T], id int64) int {
		return cmp.Compare(r.value.id(), id)
	})
}

// find returns the index of the record with the given id.
func (t *table[T]) find(id int64) (int, error) {
	i, found := search(t.records, id)
	if !found {
		return 0, newError(notFound,
			"No %s has the id %d; use the id of an existing %[1]s.", t.kind, id)
	}
	return i, nil
}

func (t *table[T]) get(id int64) (*record[T], error) {
	i, err := t.find(id)
	if err != nil {
		return nil, err
	}
	return t.records[i], nil
}

// add adds a record, whose id must be the one after lastID. It fails once ids have run out.
func (t *table[T]) add(v T) (*record[T], error) {
	if v.id() > maxID { // a snapshot with it could not be read
		return nil, fmt.Errorf("the ids for a new %s have run out", t.kind)
	}
	added := newRecord(v)
	t.records = slices.Concat(t.records, []*record[T]{added})
	t.lastID = v.id()
	return added, nil
}

// replace replaces the record that has the id of the value.
func (t *table[T]) replace(v T) (*record[T], error) {
	i, err := t.find(v.id())
	if err != nil {
		return nil, err
	}
	t.records = slices.Clone(t.records)
	t.records[i] = newRecord(v)
	return t.records[i], nil
}

func (t *table[T]) remove(id int64) (*record[T], error) {
	i, err := t.find(id)
	if err != nil {
		return nil, err
	}
	removed := t.records[i]
	t.records = slices.Concat(t.records[:i], t.records[i+1:])
	return removed, nil
}

// parse reads a snapshot, the JSON document in the data file. It has one record per line, but a
// person may have edited it:
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
// The last ids keep the ids of removed records from being assigned again. The error gives the line
// of malformed JSON, or the list and number of an invalid record.
func parse(data []byte) (*state, error) {
	f, err := newFields(data)
	if err != nil {
		return nil, err
	}
	st := &state{
		categories: table[Category]{kind: "category", lastID: readLastID(f, "lastCategoryId")},
		pets:       table[Pet]{kind: "pet", lastID: readLastID(f, "lastPetId")},
		orders:     table[Order]{kind: "order", lastID: readLastID(f, "lastOrderId")},
	}
	// A record may refer only to one that has been loaded before it.
	err = cmp.Or(
		st.categories.load(f, "categories", readCategory, st),
		st.pets.load(f, "pets", readPetInFile, st),
		st.orders.load(f, "orders", readOrder, st),
	)
	return st, cmp.Or(f.finish(), err)
}

const maxID int64 = 1 << 62 // half of what an int64 can be, so that lastID + 1 is one, too

func readLastID(f *fields, name string) int64 {
	id := optional[int64](f, name, 0)
	f.check(0 <= id && id <= maxID, "%s must be from 0 to %d.", name, maxID)
	return id
}

// load adds the records in a list of a snapshot to a table of st. They may stand in any order.
func (t *table[T]) load(snapshot *fields, list string, read func(*fields) T, st *state) error {
	seen := map[int64]bool{}
	for i, recordJSON := range optional[[]json.RawMessage](snapshot, list, nil) {
		v, err := decode(recordJSON, func(record *fields) T {
			_, given := record.unread["id"] // a request body may leave it out
			record.check(given, "id is missing; it must be %s.", mustBe(int64(0)))
			return read(record)
		})
		switch {
		case err != nil: // the record cannot be read
		case v.id() < 1 || v.id() > maxID:
			err = newError(invalidField, "id must be from 1 to %d.", maxID)
		case seen[v.id()]:
			err = newError(invalidField, "id %d appears twice; give each record its own.", v.id())
		default:
			err = v.checkReferences(st)
		}
		if err != nil {
			return fmt.Errorf("%s, record %d: %w", list, i+1, err)
		}
		seen[v.id()] = true
		t.records = append(t.records, newRecord(v))
		t.lastID = max(t.lastID, v.id())
	}
	slices.SortFunc(t.records, func(a, b *record[T]) int {
		return cmp.Compare(a.value.id(), b.value.id())
	})
	return nil
}

// format returns the snapshot of a state.
func (st *state) format() []byte {
	b := make([]byte, 0, 100*len(st.pets.records)) // it may grow
	b = fmt.Appendf(b, "{\n\"lastCategoryId\": %d,\n\"lastPetId\": %d,\n\"lastOrderId\": %d",
		st.categories.lastID, st.pets.lastID, st.orders.lastID)
	b = appendList(b, "categories", st.categories.records)
	b = appendList(b, "pets", st.pets.records)
	b = appendList(b, "orders", st.orders.records)
	return append(b, "\n}\n"...)
}

func appendList[T entity](b []byte, name string, records []*record[T]) []byte {
	b = fmt.Appendf(b, ",\n%q: [", name)
	separator := "\n"
	for _, r := range records {
		b = append(append(b, separator...), r.fileJSON...)
		separator = ",\n"
	}
	return append(b, "\n]"...)
}

// builtInSample is the first snapshot, unless there is another sample.
//
//go:embed docs/sample.json
var builtInSample []byte

// openStore reads the snapshot at path or, if there is no file, writes the sample there. If the
// file is not a complete and valid snapshot, openStore fails and leaves it as it is. If path is
// empty, the store starts with the sample and keeps nothing on disk.
//
// The sample is the snapshot at samplePath or, if that is empty, the built-in one.
func openStore(path, samplePath string, logger *log.Logger) (s *store, err error) {
	s = &store{logger: logger}
	if path == "" {
		return s, s.startWithSample(samplePath)
	}
	if s.path, err = resolve(path); err != nil {
		return nil, err
	}
	info, err := os.Stat(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return s, s.startWithSample(samplePath)
	}
	if err != nil {
		return nil, err
	}
	if samplePath != "" {
		logger.Printf("-sample %s is not used, since %s exists; delete that, or pass -data=",
			samplePath, path)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", s.path)
	}
	data, st, err := readSnapshot(s.path)
	if err != nil {
		return nil, err
	}
	if isReadOnly(info) {
		logger.Printf("%s is read-only, so every write will fail", s.path)
	}
	s.lastKnown = data
	s.current.Store(st)
	return s, nil
}

// startWithSample makes the sample the current state, and writes it to the data file, if there is
// to be one.
func (s *store) startWithSample(samplePath string) error {
	st, err := parse(builtInSample)
	if samplePath != "" { // in place of the built-in one
		_, st, err = readSnapshot(samplePath)
	}
	if err != nil {
		return err
	}
	s.current.Store(st)
	if s.path == "" {
		return nil
	}
	err = s.replaceFile(st.format())
	if errors.Is(err, errFileChanged) {
		err = errors.New("another server has just written it; start again")
	}
	if err != nil {
		return fmt.Errorf("%s cannot be created: %w", s.path, err)
	}
	return nil
}

// readSnapshot returns the content of a file, and the state in it.
func readSnapshot(path string) ([]byte, *state, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, err
	}
	st, err := parse(data)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	return data, st, nil
}

// resolve returns the absolute path of a file, which need not exist, without symbolic links. So the
// data file stays the same one if the process changes its directory, or if somebody changes a link.
func resolve(path string) (string, error) {
	directory, name := filepath.Split(path)
	directory, err := filepath.EvalSymlinks(cmp.Or(directory, "."))
	if err != nil {
		return "", fmt.Errorf("the directory of %s cannot be used: %w", path, err)
	}
	resolved := filepath.Join(directory, name)
	if target, err := filepath.EvalSymlinks(resolved); err == nil { // else there is no file yet
		resolved = target
	}
	return filepath.Abs(resolved)
}

// isReadOnly reports whether nobody may write a file. The system lets root write it all the same.
func isReadOnly(info fs.FileInfo) bool { return info.Mode().Perm()&0o222 == 0 }

// save saves a state before it becomes the current one. It logs any failure and returns an error
// for the client.
func (s *store) save(next *state) error {
	if s.path == "" {
		return nil
	}
	err := s.replaceFile(next.format())
	if err == nil {
		return nil
	}
	s.logger.Printf("save failed: %v", err)
	if errors.Is(err, errFileChanged) {
		return newError(fileChanged, "Another program has changed the data file, so this change "+
			"was not saved; restart the server to read the file.")
	}
	return newError(saveFailed,
		"The server could not save to disk, so nothing was changed; try again later.")
}

var errFileChanged = errors.New("another program has changed the file; restart to read it")

// replaceFile makes a snapshot the content of the file. At any moment, even after a power failure,
// the file is either the complete old snapshot or the complete new one:
//
//  1. Write the snapshot to a temporary file beside it, and sync that.
//  2. Check that no other program has changed the file, and keep its permission bits.
//  3. Rename the temporary file to the file. This is one step for the file system, and from here
//     on, the save is done.
//  4. Sync the directory, so that the rename survives a power failure, too.
func (s *store) replaceFile(snapshot []byte) error {
	directory := filepath.Dir(s.path)
	temp, err := os.CreateTemp(directory, filepath.Base(s.path)+".saving-*")
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name()) // does nothing after the rename
	if err := writeAndSync(temp, snapshot); err != nil {
		return err
	}
	if err := s.checkFile(temp.Name()); err != nil {
		return err
	}
	if err := os.Rename(temp.Name(), s.path); err != nil {
		return err
	}
	s.lastKnown = snapshot
	if err := syncDirectory(directory); err != nil {
		s.logger.Printf("saved, but a power failure could undo it: %v", err)
	}
	return nil
}

func writeAndSync(file *os.File, data []byte) error {
	defer file.Close()
	if _, err := file.Write(data); err != nil {
		return err
	}
	return file.Sync()
}

// checkFile returns an error unless the file may be replaced, and gives its permission bits to the
// one that will take its place.
func (s *store) checkFile(replacement string) error {
	info, err := os.Stat(s.path)
	if errors.Is(err, fs.ErrNotExist) { // it is new, or was deleted
		return nil
	}
	if err != nil {
		return err
	}
	if isReadOnly(info) || !info.Mode().IsRegular() { // to read a pipe would take for ever
		return fmt.Errorf("%s is read-only or not a regular file", s.path)
	}
	if info.Size() != int64(len(s.lastKnown)) { // then it need not be read, however large it is
		return errFileChanged
	}
	data, err := os.ReadFile(s.path)
	if err != nil {
		return err
	}
	if !bytes.Equal(data, s.lastKnown) {
		return errFileChanged
	}
	return os.Chmod(replacement, info.Mode().Perm())
}

// syncDirectory syncs a directory. It is no error if the file system or operating system cannot do
// that.
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
	// Some network file systems say EINVAL.
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	return err
}
