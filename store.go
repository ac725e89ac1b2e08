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
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
)

// A record is a value with an id, and its JSON: in a response, in a list and in the file. It is
// never modified, only replaced.
type record[T any] struct {
	id    int64
	value T
	json  []byte
}

func newRecord[T any](id int64, value T) *record[T] {
	return &record[T]{id, value, encode(value)}
}

// A table holds the records of one kind in id order. A copy of it shares the slice of records, but
// each change makes a new slice: whoever has the older copy sees it unchanged.
type table[T any] struct {
	records []*record[T]
	last    int64 // the last id that was assigned, even if its record is gone
}

// search returns the index of the first record with that id or a greater one, and whether it has
// that id.
func search[T any](records []*record[T], id int64) (i int, found bool) {
	return slices.BinarySearchFunc(records, id, func(r *record[T], id int64) int {
		return cmp.Compare(r.id, id)
	})
}

// get returns the record with the given id, or nil.
func (t *table[T]) get(id int64) *record[T] {
	if i, found := search(t.records, id); found {
		return t.records[i]
	}
	return nil
}

// nextID returns the id for a new record.
func (t *table[T]) nextID() (int64, error) {
	if t.last == maxID {
		return 0, newError(http.StatusServiceUnavailable,
			"No ids are left: the last one is %d.", maxID)
	}
	return t.last + 1, nil
}

// add adds a record with an id that is greater than all others.
func (t *table[T]) add(id int64, value T) *record[T] {
	added := newRecord(id, value)
	t.records = slices.Concat(t.records, []*record[T]{added}) // a new slice; append may share one
	t.last = id
	return added
}

// replace replaces the record with the given id, which must exist.
func (t *table[T]) replace(id int64, value T) *record[T] {
	i, _ := search(t.records, id)
	t.records = slices.Clone(t.records)
	t.records[i] = newRecord(id, value)
	return t.records[i]
}

// remove removes the record with the given id, which must exist.
func (t *table[T]) remove(id int64) {
	i, _ := search(t.records, id)
	t.records = slices.Delete(slices.Clone(t.records), i, i+1)
}

// load adds a record of the file, before anybody reads the table. They may come in any order.
func (t *table[T]) load(id int64, value T) error {
	if id < 1 || id > maxID {
		return invalid("id must be from 1 to %d.", maxID)
	}
	i, found := search(t.records, id)
	if found {
		return invalid("Another record has the id %d, too.", id)
	}
	t.records = slices.Insert(t.records, i, newRecord(id, value))
	t.last = max(t.last, id)
	return nil
}

// A state is everything that the store holds. A record names only records that exist: whoever adds
// or replaces one asks checkCategory or checkPet, and whoever removes one makes sure that none
// names it. With addPet, replacePet and removePet, each pet has one inventory item, with the pet's
// status.
type state struct {
	categories table[Category]
	pets       table[Pet]
	orders     table[Order]
	inventory  table[InventoryItem] // by the id of the pet
}

func (st *state) addPet(id int64, body NewPet) *record[Pet] {
	st.inventory.add(id, InventoryItem{PetID: id, Status: body.Status})
	return st.pets.add(id, Pet{id, body})
}

func (st *state) replacePet(id int64, body NewPet) *record[Pet] {
	if item := st.inventory.get(id).value; item.Status != body.Status {
		item.Status = body.Status
		st.inventory.replace(id, item)
	}
	return st.pets.replace(id, Pet{id, body})
}

func (st *state) removePet(id int64) {
	st.inventory.remove(id)
	st.pets.remove(id)
}

func (st *state) checkCategory(id int64) error {
	if st.categories.get(id) == nil {
		return invalid("categoryId %d does not exist; use the id of an existing category.", id)
	}
	return nil
}

// checkPet allows nil, since an order need not name a pet.
func (st *state) checkPet(id *int64) error {
	if id != nil && st.pets.get(*id) == nil {
		return invalid("petId %d does not exist; use the id of an existing pet.", *id)
	}
	return nil
}

// A snapshot is the JSON document in the file, which holds a whole state, with one record a line:
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
//	{"id":1,"name":"Rex","categoryId":1,"status":"available"}
//	],
//	"orders": [
//	{"id":1,"petId":1,"complete":false}
//	],
//	"inventory": [
//	{"petId":1,"quantity":3,"status":"available"}
//	]
//	}
//
// The last ids keep those of removed records from being assigned again.
type snapshot struct {
	lastCategoryID, lastPetID, lastOrderID int64
	categories, pets, orders, inventory    []json.RawMessage
}

func (s *snapshot) fields() []field {
	return []field{
		may("lastCategoryId", anInteger, &s.lastCategoryID),
		may("lastPetId", anInteger, &s.lastPetID),
		may("lastOrderId", anInteger, &s.lastOrderID),
		may("categories", aList, &s.categories),
		may("pets", aList, &s.pets),
		may("orders", aList, &s.orders),
		may("inventory", aList, &s.inventory),
	}
}

func (s *snapshot) validate() error {
	if min(s.lastCategoryID, s.lastPetID, s.lastOrderID) < 0 ||
		max(s.lastCategoryID, s.lastPetID, s.lastOrderID) > maxID {
		return invalid("lastCategoryId, lastPetId and lastOrderId must be from 0 to %d.", maxID)
	}
	return nil
}

// parse reads a snapshot, which a person may have edited: what is left out counts as empty. The
// error names the line of malformed JSON, or the list and the number in it of a wrong record.
func parse(data []byte) (*state, error) {
	var doc snapshot
	if err := decode(data, &doc); err != nil {
		return nil, err
	}
	st := new(state)
	st.categories.last = doc.lastCategoryID
	st.pets.last = doc.lastPetID
	st.orders.last = doc.lastOrderID
	for _, list := range []struct {
		name    string
		records []json.RawMessage
		load    func(json.RawMessage) error
	}{
		{"categories", doc.categories, st.loadCategory},
		{"pets", doc.pets, st.loadPet},
		{"orders", doc.orders, st.loadOrder},
		{"inventory", doc.inventory, st.loadItem},
	} { // in this order, since records must exist before others name them
		for i, data := range list.records {
			if err := list.load(data); err != nil {
				return nil, fmt.Errorf("%s, record %d: %w", list.name, i+1, err)
			}
		}
	}
	for _, pet := range st.pets.records {
		if st.inventory.get(pet.id) == nil {
			st.inventory.load(pet.id, InventoryItem{PetID: pet.id, Status: pet.value.Status})
		}
	}
	return st, nil
}

func (st *state) loadCategory(data json.RawMessage) error {
	var category Category
	if err := decode(data, &category); err != nil {
		return err
	}
	return st.categories.load(category.ID, category)
}

func (st *state) loadPet(data json.RawMessage) error {
	var pet Pet
	if err := decode(data, &pet); err != nil {
		return err
	}
	if err := st.checkCategory(pet.CategoryID); err != nil {
		return err
	}
	return st.pets.load(pet.ID, pet)
}

func (st *state) loadOrder(data json.RawMessage) error {
	var order Order
	if err := decode(data, &order); err != nil {
		return err
	}
	if err := st.checkPet(order.PetID); err != nil {
		return err
	}
	return st.orders.load(order.ID, order)
}

func (st *state) loadItem(data json.RawMessage) error {
	var item InventoryItem
	if err := decode(data, &item); err != nil {
		return err
	}
	if err := st.checkPet(&item.PetID); err != nil {
		return err
	}
	item.Status = st.pets.get(item.PetID).value.Status
	return st.inventory.load(item.PetID, item)
}

// writeSnapshot writes the snapshot of a state.
func writeSnapshot(w io.Writer, st *state) error {
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "{\n\"lastCategoryId\": %d,\n\"lastPetId\": %d,\n\"lastOrderId\": %d",
		st.categories.last, st.pets.last, st.orders.last)
	writeList(b, "categories", st.categories.records)
	writeList(b, "pets", st.pets.records)
	writeList(b, "orders", st.orders.records)
	writeList(b, "inventory", st.inventory.records)
	b.WriteString("\n}\n")
	return b.Flush() // returns the first error of any write above
}

func writeList[T any](b *bufio.Writer, name string, records []*record[T]) {
	fmt.Fprintf(b, ",\n%q: [", name)
	separator := "\n"
	for _, r := range records {
		b.WriteString(separator)
		b.Write(r.json)
		separator = ",\n"
	}
	b.WriteString("\n]")
}

// sample is the first snapshot if there is no file yet.
//
//go:embed docs/sample.json
var sample []byte

// A Store holds the current state in memory, and its snapshot in a file. Reads take the current
// state and need no lock. A write is a transaction:
//
//	next := store.begin()
//	defer store.end()
//	... change next ...
//	return store.commit(next)
type Store struct {
	path    string // of the file; empty if nothing is kept on disk
	logger  *log.Logger
	current atomic.Pointer[state]
	fault   atomic.Pointer[Error] // what a client was told when the last save failed; or nil

	mu   sync.Mutex  // held from begin to end; guards what follows
	seen fs.FileInfo // the file as this process last read or wrote it; nil if it did neither
}

// openStore reads the snapshot at path, or writes the sample there if there is no file. It fails if
// the file is not a whole and valid snapshot, and leaves it untouched. If path is empty, the store
// has the sample in memory only.
func openStore(path string, logger *log.Logger) (*Store, error) {
	data, seen, err := readFile(path)
	if err != nil {
		return nil, err
	}
	first, err := parse(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	s := &Store{path: path, logger: logger, seen: seen}
	s.current.Store(first)
	if seen != nil {
		removeLeftovers(path)
	} else if err := s.replaceFile(first); err != nil {
		return nil, fmt.Errorf("%s: the first save failed: %w", path, err)
	}
	return s, nil
}

// readFile returns the snapshot in the file, and the file's info from just before. If there is no
// file, or path is empty, it returns the sample and nil.
func readFile(path string) ([]byte, fs.FileInfo, error) {
	seen, err := os.Stat(path) // an empty path does not exist
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Stat(filepath.Dir(path)); err != nil {
			return nil, nil, fmt.Errorf("%s: its directory does not exist", path)
		}
		return sample, nil, nil
	}
	data, err := os.ReadFile(path) // fails too, if Stat failed in another way
	return data, seen, err
}

// tempSuffix follows the name of the file in that of a temporary file. os.CreateTemp adds digits.
const tempSuffix = ".saving-"

// removeLeftovers removes the temporary files that killed servers left behind. A server that is in
// the middle of a save to the same file loses its own, and that save fails.
func removeLeftovers(path string) {
	directory := filepath.Dir(path)
	entries, _ := os.ReadDir(directory)
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), filepath.Base(path)+tempSuffix) {
			os.Remove(filepath.Join(directory, entry.Name()))
		}
	}
}

// view returns the current state, which nobody modifies.
func (s *Store) view() *state { return s.current.Load() }

// begin locks the store for a write and returns a copy of the current state to change; end unlocks
// it. commit saves the copy, and only then lets readers see it; its error is for the client. A copy
// that is not committed is simply forgotten.
func (s *Store) begin() *state {
	s.mu.Lock()
	next := *s.view()
	return &next
}

func (s *Store) end() { s.mu.Unlock() }

func (s *Store) commit(next *state) error {
	if err := s.save(next); err != nil {
		return err
	}
	s.current.Store(next)
	return nil
}

var (
	errUnsaved = newError(http.StatusServiceUnavailable,
		"The server cannot save to its disk, so it changes nothing; try again later.")
	errForeign = newError(http.StatusServiceUnavailable, "Another program has changed the "+
		"server's file, so the server changes nothing; restart it to read that file.")
)

// save replaces the file with a snapshot of st. It logs a failure when it begins and when what
// clients are told changes, and it logs that saving works again.
func (s *Store) save(st *state) error {
	err := s.replaceFile(st)
	if err == nil {
		if s.fault.Swap(nil) != nil {
			s.logger.Print("saving works again")
		}
		return nil
	}
	told := errUnsaved
	if errors.Is(err, errForeign) {
		told = errForeign
	}
	if s.fault.Swap(told) != told {
		s.logger.Printf("saving failed: %v", err)
	}
	return told
}

// replaceFile replaces the file with a snapshot of st. At every moment, even after a power failure,
// the file is the old snapshot or the new one, whole. If only the last step fails, the save has
// failed, although the file has the new snapshot until the next one.
func (s *Store) replaceFile(st *state) error {
	if s.path == "" {
		return nil // nothing is kept on disk
	}
	// Write the snapshot to another file first, so that the old one stays whole meanwhile.
	directory := filepath.Dir(s.path)
	temp, err := os.CreateTemp(directory, filepath.Base(s.path)+tempSuffix+"*")
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name()) // does nothing after the rename
	written, err := s.writeTemp(temp, st)
	if err != nil {
		return err
	}
	// Put it in the place of the file, unless another program has changed that.
	if err := s.checkFile(); err != nil {
		return err
	}
	if err := os.Rename(temp.Name(), s.path); err != nil {
		return err
	}
	s.seen = written
	// Make the new name last: otherwise a power failure could undo the rename.
	return syncDirectory(directory)
}

// writeTemp writes a snapshot of st to the temporary file, with the permission bits of the file if
// there is one, and closes it. Without a sync, a power failure could leave it empty.
func (s *Store) writeTemp(temp *os.File, st *state) (fs.FileInfo, error) {
	defer temp.Close()
	if old, err := os.Stat(s.path); err == nil {
		if err := temp.Chmod(old.Mode().Perm()); err != nil {
			return nil, err
		}
	}
	if err := writeSnapshot(temp, st); err != nil {
		return nil, err
	}
	if err := temp.Sync(); err != nil {
		return nil, err
	}
	return temp.Stat()
}

// checkFile fails with errForeign if the file is not the one that this process last read or wrote.
// A missing file is fine: the save writes it again. Two servers that save at the same instant can
// still overwrite each other; the one whose file is overwritten notices at its next save.
func (s *Store) checkFile() error {
	info, err := os.Stat(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if s.seen == nil || !os.SameFile(info, s.seen) ||
		info.Size() != s.seen.Size() || !info.ModTime().Equal(s.seen.ModTime()) {
		return errForeign
	}
	return nil
}

// syncDirectory makes a rename in a directory survive a power failure. On Windows and some file
// systems that is not possible, and it does nothing.
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
