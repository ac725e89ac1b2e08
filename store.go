package main

import (
	"bufio"
	"bytes"
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

// A record is a value of the store and its JSON. It is never modified, only replaced.
type record[T any] struct {
	id    int64
	value T
	json  []byte // as clients see it
	line  []byte // as the file has it
}

// newRecord encodes the value, so that every response but the inventory's, and every save, just copies bytes. A pet is
// encoded twice: its line in the file has its stock, which clients see only in the inventory.
func newRecord[T any](id int64, value T) *record[T] {
	r := &record[T]{id: id, value: value, line: encode(value)}
	r.json = r.line
	if pet, ok := any(value).(stockedPet); ok {
		r.json = encode(pet.Pet)
	}
	return r
}

// A table holds the records of one kind. Store.update changes a shallow copy of the newest table, while readers still
// read older copies without a lock. An older copy must not notice: so add only writes behind its end, and replace and
// remove make a new slice.
type table[T any] struct {
	records []*record[T] // in id order
	last    int64        // the last id that was assigned, even if its record has been removed
}

// search returns the index of the first record with that id or a greater one, and whether it has that id.
func (t *table[T]) search(id int64) (i int, found bool) {
	return slices.BinarySearchFunc(t.records, id, func(r *record[T], id int64) int { return cmp.Compare(r.id, id) })
}

// get returns the record with the given id, or nil.
func (t *table[T]) get(id int64) *record[T] {
	i, found := t.search(id)
	if !found {
		return nil
	}
	return t.records[i]
}

// following returns the records whose ids are greater than id.
func (t *table[T]) following(id int64) []*record[T] {
	i, found := t.search(id)
	if found {
		i++
	}
	return t.records[i:]
}

// add adds a record whose id is greater than t.last.
func (t *table[T]) add(r *record[T]) {
	t.records = append(t.records, r)
	t.last = r.id
}

// replace replaces the record with the same id, which must exist.
func (t *table[T]) replace(r *record[T]) {
	i, _ := t.search(r.id)
	t.records = slices.Clone(t.records)
	t.records[i] = r
}

// remove removes the record with the given id, which must exist.
func (t *table[T]) remove(id int64) {
	i, _ := t.search(id)
	t.records = slices.Delete(slices.Clone(t.records), i, i+1)
}

// load inserts a record from the file, in id order.
func (t *table[T]) load(id int64, value T) error {
	if id < 1 || id > maxID {
		return fmt.Errorf("the id is not from 1 to %d", maxID)
	}
	i, found := t.search(id)
	if found {
		return errors.New("the id is used twice")
	}
	t.records = slices.Insert(t.records, i, newRecord(id, value))
	t.last = max(t.last, id)
	return nil
}

// A state is everything that the store holds. Every categoryId and petId in it is the id of a record that exists.
type state struct {
	categories table[Category]
	pets       table[stockedPet]
	orders     table[Order]
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
		return invalid("petId %d does not exist; use the id of an existing pet, or leave it out.", *id)
	}
	return nil
}

// A snapshot is the JSON document in the file, which holds a whole state:
//
//	{
//	"lastIds": {"categories": 4, "pets": 5, "orders": 2},
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
// lastIds keeps the ids of removed records from being assigned again.
type snapshot struct {
	LastIDs struct {
		Categories int64 `json:"categories"`
		Pets       int64 `json:"pets"`
		Orders     int64 `json:"orders"`
	} `json:"lastIds"`
	Categories []Category   `json:"categories"`
	Pets       []stockedPet `json:"pets"`
	Orders     []Order      `json:"orders"`
}

// decodeSnapshot decodes a snapshot, which a person may have edited: what is left out counts as empty. The error names
// the line that is wrong, if it is known. Names may be in any letter case. A name must not occur twice: encoding/json
// does not notice, and would mix the records of the two lists.
func decodeSnapshot(data []byte) (*snapshot, error) {
	if i, err := checkJSON(data); err != nil {
		return nil, fmt.Errorf("line %d: %w", lineAt(data, i), err)
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(data, &members) != nil || members == nil {
		return nil, errors.New("the document must be a JSON object")
	}
	for name, value := range members {
		if string(value) == "null" { // more likely a mistake than an empty list
			return nil, fmt.Errorf("%s must not be null", name)
		}
	}
	doc := new(snapshot)
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	err := dec.Decode(doc)
	var mistyped *json.UnmarshalTypeError // its own message shows Go types
	if errors.As(err, &mistyped) {
		line := lineAt(data, int(mistyped.Offset))
		return nil, fmt.Errorf("line %d: a JSON %s is of the wrong type", line, mistyped.Value)
	}
	return doc, err
}

func lineAt(text []byte, offset int) int { return 1 + bytes.Count(text[:offset], []byte("\n")) }

// parse reads a snapshot and checks it. The records may be in any order. The error names the line or the record that is
// wrong, if it is known.
func parse(data []byte) (*state, error) {
	doc, err := decodeSnapshot(data)
	if err != nil {
		return nil, err
	}
	last := doc.LastIDs
	for _, id := range []int64{last.Categories, last.Pets, last.Orders} {
		if id < 0 || id > maxID {
			return nil, fmt.Errorf("lastIds: %d is not from 0 to %d", id, maxID)
		}
	}
	st := new(state)
	st.categories.last, st.pets.last, st.orders.last = last.Categories, last.Pets, last.Orders
	for _, category := range doc.Categories {
		if err := st.loadCategory(category); err != nil {
			return nil, fmt.Errorf("category %d: %w", category.ID, err)
		}
	}
	for _, pet := range doc.Pets {
		if err := st.loadPet(pet); err != nil {
			return nil, fmt.Errorf("pet %d: %w", pet.ID, err)
		}
	}
	for i, order := range doc.Orders {
		if order.ID == nil {
			return nil, fmt.Errorf("order number %d in the list has no id", i+1)
		}
		if err := st.loadOrder(order); err != nil {
			return nil, fmt.Errorf("order %d: %w", *order.ID, err)
		}
	}
	return st, nil
}

func (st *state) loadCategory(category Category) error {
	if err := category.validate(); err != nil {
		return err
	}
	return st.categories.load(category.ID, category)
}

func (st *state) loadPet(pet stockedPet) error {
	if pet.Status == "" {
		pet.Status = Available
	}
	if err := pet.validate(); err != nil {
		return err
	}
	if err := validateStock(pet.Quantity); err != nil {
		return err
	}
	if err := st.checkCategory(pet.CategoryID); err != nil {
		return err
	}
	return st.pets.load(pet.ID, pet)
}

func (st *state) loadOrder(order Order) error {
	if err := order.validate(); err != nil {
		return err
	}
	if err := st.checkPet(order.PetID); err != nil {
		return err
	}
	return st.orders.load(*order.ID, order)
}

// writeSnapshot writes the snapshot of the state, with one record a line, which encoding/json cannot do.
func (st *state) writeSnapshot(w io.Writer) error {
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, `{
"lastIds": {"categories": %d, "pets": %d, "orders": %d},
`, st.categories.last, st.pets.last, st.orders.last)
	writeRecords(b, "categories", st.categories.records)
	b.WriteString(",\n")
	writeRecords(b, "pets", st.pets.records)
	b.WriteString(",\n")
	writeRecords(b, "orders", st.orders.records)
	b.WriteString("\n}\n")
	return b.Flush() // returns the first error of any write above
}

func writeRecords[T any](b *bufio.Writer, name string, records []*record[T]) {
	fmt.Fprintf(b, "%q: [", name)
	separator := "\n"
	for _, r := range records {
		b.WriteString(separator)
		b.Write(r.line)
		separator = ",\n"
	}
	b.WriteString("\n]")
}

// sample is the first snapshot if there is no file yet.
//
//go:embed docs/sample.json
var sample []byte

var (
	errUnsaved = fail(http.StatusServiceUnavailable,
		"The server cannot save to its disk, so it changes nothing; try again later.")
	errForeign = fail(http.StatusServiceUnavailable,
		"Another program has changed the server's file, so the server changes nothing; restart it to read that file.")
)

// A Store holds the current state in memory, and its snapshot in a file.
type Store struct {
	path    string // of the file; empty if nothing is kept on disk
	logger  *log.Logger
	current atomic.Pointer[state]

	writing sync.Mutex  // held during an update, from the copy of the state to the end; guards what follows
	info    fs.FileInfo // the file as this process last read or wrote it; nil if it did neither
	failure error       // why the last save failed; nil if it succeeded
}

// openStore reads the snapshot at path, or writes the sample there if there is no file. It fails if the file is not a
// whole and valid snapshot, and leaves it untouched. If path is empty, the store has the sample in memory only.
func openStore(path string, logger *log.Logger) (*Store, error) {
	s := &Store{path: path, logger: logger}
	data := sample
	if path != "" {
		var err error
		if data, err = s.readFile(); err != nil {
			return nil, err
		}
		s.removeLeftovers()
	}
	first, err := parse(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	s.current.Store(first)
	if path != "" && s.info == nil { // there is no file yet
		if err := s.replaceFile(first); err != nil {
			return nil, fmt.Errorf("%s: the first save failed: %w", path, err)
		}
	}
	return s, nil
}

// readFile follows a symbolic link, takes the file's info for checkFile, and returns what the file holds. If there is
// no file, it returns the sample.
func (s *Store) readFile() ([]byte, error) {
	_, err := os.Lstat(s.path) // not Stat: a symbolic link that leads nowhere is a mistake, and not a missing file
	if errors.Is(err, fs.ErrNotExist) {
		return sample, nil
	}
	target, err := filepath.EvalSymlinks(s.path)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be resolved: %w", s.path, err)
	}
	s.path = target // a save replaces the target, not the link
	if s.info, err = os.Stat(s.path); err != nil {
		return nil, err
	}
	return os.ReadFile(s.path) // after its info is taken, so that no later change goes unnoticed
}

// removeLeftovers removes the temporary files that killed servers left behind: those with only digits after ".saving-".
// A server that is in the middle of a save to the same file loses its own, and that save fails.
func (s *Store) removeLeftovers() {
	directory := filepath.Dir(s.path)
	entries, _ := os.ReadDir(directory)
	for _, entry := range entries {
		number, found := strings.CutPrefix(entry.Name(), filepath.Base(s.path)+".saving-")
		if found && number != "" && strings.Trim(number, "0123456789") == "" {
			os.Remove(filepath.Join(directory, entry.Name()))
		}
	}
}

// view returns the current state, which nobody modifies.
func (s *Store) view() *state { return s.current.Load() }

// update runs change on a copy of the state, saves the copy, and only then lets readers see it. Updates take turns. If
// change fails, or the copy cannot be saved, nothing is changed (for the file, see replaceFile), and the error is for
// the client.
func (s *Store) update(change func(*state) error) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	next := *s.view() // shares its records with the current state; see table
	if err := change(&next); err != nil {
		return err
	}
	if err := s.save(&next); err != nil {
		return err
	}
	s.current.Store(&next)
	return nil
}

// retrySave tries the save again if the last one failed. The error is for the client.
func (s *Store) retrySave() error {
	s.writing.Lock()
	defer s.writing.Unlock()
	if s.failure == nil {
		return nil
	}
	return s.save(s.view())
}

// save replaces the file, if the store has one, with a snapshot of st. It logs a failure unless the one before had the
// same cause, and it logs that saving works again. The error is for the client.
func (s *Store) save(st *state) error {
	if s.path == "" {
		return nil
	}
	before := s.failure
	s.failure = s.replaceFile(st)
	if s.failure == nil {
		if before != nil {
			s.logger.Print("saving works again")
		}
		return nil
	}
	if rootCause(s.failure) != rootCause(before) {
		s.logger.Printf("saving failed: %v", s.failure)
	}
	if errors.Is(s.failure, errForeign) {
		return errForeign
	}
	return errUnsaved
}

// rootCause returns the innermost error, without what differs each time, such as the name of the temporary file.
func rootCause(err error) error {
	for errors.Unwrap(err) != nil {
		err = errors.Unwrap(err)
	}
	return err
}

// replaceFile replaces the file with a snapshot of st. At every moment, even after a power failure, the file is the old
// snapshot or the new one, whole:
//
//  1. The snapshot is written to a temporary file beside the file, and synced. Otherwise a power failure could leave
//     the file empty.
//  2. The temporary file is renamed over the file, unless another program has changed the file.
//  3. The directory is synced. Otherwise the rename could be undone, and an acknowledged write with it.
//
// If only the last step fails, the write is refused, but the file has it until the next save.
func (s *Store) replaceFile(st *state) error {
	directory := filepath.Dir(s.path)
	temp, err := os.CreateTemp(directory, filepath.Base(s.path)+".saving-")
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name()) // does nothing after the rename
	info, err := s.writeTemp(temp, st)
	if err != nil {
		return err
	}
	if err := s.checkFile(); err != nil {
		return err
	}
	if err := os.Rename(temp.Name(), s.path); err != nil {
		return err
	}
	s.info = info
	return syncDirectory(directory)
}

// writeTemp writes a snapshot of st to the temporary file, with the permission bits of the file, syncs it and closes
// it.
func (s *Store) writeTemp(temp *os.File, st *state) (fs.FileInfo, error) {
	defer temp.Close()
	mode := fs.FileMode(0o644)
	if old, err := os.Stat(s.path); err == nil {
		mode = old.Mode().Perm()
	}
	if err := temp.Chmod(mode); err != nil {
		return nil, err
	}
	if err := st.writeSnapshot(temp); err != nil {
		return nil, err
	}
	if err := temp.Sync(); err != nil {
		return nil, err
	}
	return temp.Stat()
}

// checkFile fails with errForeign if the file is not the one that this process last read or wrote. A missing file is
// fine: the save writes it again. Two servers that save at the same instant can still overwrite each other; the one
// whose file is overwritten notices at its next save.
func (s *Store) checkFile() error {
	info, err := os.Stat(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if !os.SameFile(info, s.info) || // SameFile is also false if s.info is nil
		info.Size() != s.info.Size() || !info.ModTime().Equal(s.info.ModTime()) {
		return errForeign
	}
	return nil
}

// syncDirectory makes a rename in a directory survive a power failure. On Windows and some file systems that is not
// possible, and it does nothing.
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
