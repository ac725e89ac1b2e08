package main

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"log"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// errForeign is why the store no longer saves once another program has changed its file.
var errForeign = errors.New("the file was changed by another program and is left alone; restart to read it")

var errBusy = errors.New("another server is saving to the file")

// A record is a value and its JSON, made once. It is never modified, only replaced.
type record[T any] struct {
	value T
	json  []byte
}

func newRecord[T any](value T) *record[T] {
	r := &record[T]{value: value}
	r.json = encode(&r.value)
	return r
}

// encode returns the JSON of a value of this program's own types, as one line with its newline.
func encode(value any) []byte {
	var line bytes.Buffer
	enc := json.NewEncoder(&line)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		panic(err)
	}
	return line.Bytes()
}

const pageSize = 512

type page[T any] [pageSize]*record[T]

// A table holds the records of one kind. Ids are dense and rise by one, so a lookup is arithmetic:
// the record with the id n stands at n-1. A copy of a table is a snapshot of it: what happens to the
// table afterwards happens to pages that the copy does not hold, or behind its last id.
type table[T any] struct {
	pages []*page[T] // nil where every record of the page is deleted
	last  int64      // the last id given
}

// get returns the record with the given id, or nil.
func (t *table[T]) get(id int64) *record[T] {
	i := (id - 1) / pageSize
	if id < 1 || id > t.last || i >= int64(len(t.pages)) || t.pages[i] == nil {
		return nil
	}
	return t.pages[i][(id-1)%pageSize]
}

// after yields the records with ids greater than id, in id order.
func (t *table[T]) after(id int64) iter.Seq2[int64, *record[T]] {
	return func(yield func(int64, *record[T]) bool) {
		end := min(t.last, int64(len(t.pages)*pageSize))
		for id < end {
			page := t.pages[id/pageSize]
			if page == nil {
				id += pageSize - id%pageSize
				continue
			}
			r := page[id%pageSize]
			id++
			if r != nil && !yield(id, r) {
				return
			}
		}
	}
}

// insert puts a new record in its place, and makes room for it there. It may write to a page that older
// copies share, but behind their last id.
func (t *table[T]) insert(id int64, r *record[T]) error {
	if id < 1 || id > maxID || t.get(id) != nil {
		return unavailable("The id %d is not free: ids are from 1 to %d, and each is given once.", id, maxID)
	}
	i := int((id - 1) / pageSize)
	for len(t.pages) <= i {
		t.pages = append(t.pages, nil)
	}
	if t.pages[i] == nil {
		t.pages = slices.Clone(t.pages)
		t.pages[i] = new(page[T])
	}
	t.pages[i][(id-1)%pageSize] = r
	t.last = max(t.last, id)
	return nil
}

// put replaces the record with the given id, which must exist, and deletes it where r is nil.
// It copies the page and the slice of pages, so older copies keep what they had.
func (t *table[T]) put(id int64, r *record[T]) {
	i := (id - 1) / pageSize
	changed := *t.pages[i]
	changed[(id-1)%pageSize] = r
	t.pages = slices.Clone(t.pages)
	t.pages[i] = &changed
	if r == nil && changed == (page[T]{}) {
		t.pages[i] = nil
	}
}

// A state is everything that the store holds. Each pet's category and each order's pet are in it.
type state struct {
	categories table[Category]
	pets       table[Pet]
	orders     table[Order]
}

func (st *state) checkCategory(id int64) error {
	if st.categories.get(id) == nil {
		return invalid("categoryId must name a category, and %d names none.", id)
	}
	return nil
}

func (st *state) checkPet(id *int64) error {
	if id != nil && st.pets.get(*id) == nil {
		return invalid("petId must name a pet, and %d names none.", *id)
	}
	return nil
}

// parse reads a snapshot, or says what keeps it from being a whole and valid state.
func parse(data []byte) (*state, error) {
	st := new(state)
	var categories, pets, orders int64
	fault, err := readDocument(data, []field{
		{"lastIds", []field{{"categories", &categories, false}, {"pets", &pets, false}, {"orders", &orders, false}}, false},
		{"categories", func(s *scanner) error {
			return readRecords(s, &st.categories, Category{}, func(c *Category) int64 { return c.ID })
		}, false},
		{"pets", func(s *scanner) error {
			return readRecords(s, &st.pets, Pet{NewPet: NewPet{Status: Available}}, func(p *Pet) int64 { return p.ID })
		}, false},
		{"orders", func(s *scanner) error {
			return readRecords(s, &st.orders, Order{ID: new(int64)}, func(o *Order) int64 { return *o.ID })
		}, false},
	})
	if err != nil {
		return nil, fmt.Errorf("line %d: %w", 1+bytes.Count(data[:fault], []byte("\n")), err)
	}
	if min(categories, pets, orders) < 0 || max(categories, pets, orders) > maxID {
		return nil, fmt.Errorf("lastIds must be from 0 to %d", maxID)
	}
	st.categories.last = max(st.categories.last, categories)
	st.pets.last = max(st.pets.last, pets)
	st.orders.last = max(st.orders.last, orders)
	for id, pet := range st.pets.after(0) {
		if err := st.checkCategory(pet.value.CategoryID); err != nil {
			return nil, fmt.Errorf("pet %d: %w", id, err)
		}
	}
	for id, order := range st.orders.after(0) {
		if err := st.checkPet(order.value.PetID); err != nil {
			return nil, fmt.Errorf("order %d: %w", id, err)
		}
	}
	return st, nil
}

// readRecords reads the records of an array, from behind its opening bracket to its end, into a table. Each of
// them starts as a copy of blank, which has the values of what the file leaves out.
func readRecords[T any, B interface {
	*T
	body
}](s *scanner, t *table[T], blank T, id func(B) int64) error {
	record := B(new(T))
	fields := record.fields()
	for token := s.token(); token[0] != ']'; token = s.token() {
		if token[0] != '{' {
			return invalid("An object must stand here.")
		}
		*record = blank
		if err := s.object(fields); err != nil {
			return err
		}
		err := record.validate()
		if err == nil {
			err = t.insert(id(record), newRecord(*record))
		}
		if err != nil {
			return fmt.Errorf("id %d: %w", id(record), err)
		}
	}
	return nil
}

// write writes the snapshot of the state, one record a line.
func (st *state) write(w io.Writer) error {
	b := bufio.NewWriterSize(w, 256<<10)
	fmt.Fprintf(b, "{\n\"lastIds\": {\"categories\": %d, \"pets\": %d, \"orders\": %d}",
		st.categories.last, st.pets.last, st.orders.last)
	writeTable(b, "categories", &st.categories, appendLine)
	writeTable(b, "pets", &st.pets, func(line []byte, r *record[Pet]) []byte {
		line = append(line, r.json[:len(r.json)-len("}\n")]...)
		return append(strconv.AppendInt(append(line, `,"quantity":`...), r.value.Quantity, 10), '}')
	})
	writeTable(b, "orders", &st.orders, appendLine)
	b.WriteString("\n}\n")
	return b.Flush()
}

func writeTable[T any](b *bufio.Writer, name string, t *table[T], appendLine func([]byte, *record[T]) []byte) {
	fmt.Fprintf(b, ",\n%q: [", name)
	separator := "\n"
	for _, r := range t.after(0) {
		b.WriteString(separator)
		b.Write(appendLine(b.AvailableBuffer(), r))
		separator = ",\n"
	}
	b.WriteString("\n]")
}

func appendLine[T any](line []byte, r *record[T]) []byte {
	return append(line, r.json[:len(r.json)-len("\n")]...)
}

// saveInterval is how often the store looks after its file. It leaves a tenth of the second in which an unsynced
// write is to be on disk to the save itself.
const saveInterval = 900 * time.Millisecond

// A Store holds the state in memory and its snapshot in a file. One goroutine does all the saving.
type Store struct {
	path   string // of the snapshot; empty: keep nothing on disk
	temp   string // what is renamed to path once it is whole
	synced bool   // a write waits until it is on disk
	log    *log.Logger
	writes chan write
	quit   chan struct{} // closed to stop the saving
	done   chan struct{} // closed once it has stopped

	// The saving goroutine alone uses these.
	saved   *state      // what the file holds
	file    fs.FileInfo // the file as this process last read or wrote it; nil: there is none
	foreign bool        // another program changed the file
	locked  bool        // the lock file is ours

	mu      sync.Mutex // guards what follows, and is held for no longer than it takes to read or set it
	current *state
	failure error // why the last save failed; nil once one succeeded

	writing sync.Mutex // held by the one who makes the next state
}

// A write is a change that waits to be saved.
type write struct {
	change func(*state) error
	result chan error
}

// openStore reads the snapshot at path, or starts one with the sample where there is none. It fails where
// the file is not a whole and valid snapshot, and leaves it alone then.
func openStore(path string, synced bool, log *log.Logger) (*Store, error) {
	data, err := docs.ReadFile("docs/sample.json")
	s := &Store{path: path, synced: synced && path != "", log: log,
		writes: make(chan write), quit: make(chan struct{}), done: make(chan struct{})}
	if path != "" {
		if target, err := filepath.EvalSymlinks(path); err == nil {
			s.path = target
		}
		s.temp = fmt.Sprintf("%s.saving-%08x", s.path, rand.Uint32())
		s.removeLeftovers()
		if s.file, err = os.Stat(s.path); err == nil && !s.file.Mode().IsRegular() {
			return nil, fmt.Errorf("%s: it is not a regular file", path)
		} else if err == nil {
			data, err = os.ReadFile(s.path)
		}
	}
	fresh := errors.Is(err, fs.ErrNotExist)
	if err != nil && !fresh {
		return nil, err
	}
	if s.current, err = parse(data); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	s.saved = s.current
	debug.FreeOSMemory() // reading a large file takes several times its size
	if fresh {
		if err := s.replaceFile(s.current); err != nil {
			return nil, err
		}
	}
	go s.saveAll()
	return s, nil
}

const lockSuffix = ".saving"

// leftover is what a crash leaves of the names beside the file's own: the lock, and what is being written.
var leftover = regexp.MustCompile(`^\.saving(-[0-9a-f]{8})?$`)

func (s *Store) removeLeftovers() {
	folder, base := filepath.Split(s.path)
	entries, _ := os.ReadDir(cmp.Or(folder, "."))
	for _, entry := range entries {
		if end, ours := strings.CutPrefix(entry.Name(), base); ours && leftover.MatchString(end) {
			os.Remove(folder + entry.Name())
		}
	}
}

// view returns the current state, which nobody modifies.
func (s *Store) view() *state {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current
}

// failing returns why the last save failed, or nil where it succeeded.
func (s *Store) failing() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failure
}

// update runs change on a copy of the state and, where it returns nil, makes that copy the current state.
// A synced store saves the copy before anybody sees it, and so does another one while saving fails. The error
// is that of change, or errUnsaved where the state cannot be saved: then nothing is changed.
func (s *Store) update(change func(*state) error) error {
	if s.synced || s.failing() != nil {
		w := write{change, make(chan error, 1)}
		s.writes <- w
		return <-w.result
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	next := *s.view()
	if err := change(&next); err != nil {
		return err
	}
	s.publish(&next)
	return nil
}

func (s *Store) publish(st *state) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.current = st
}

// saveAll commits writes, and looks after the file, until the store is closed.
func (s *Store) saveAll() {
	defer close(s.done)
	ticker := time.NewTicker(saveInterval)
	defer ticker.Stop()
	for {
		select {
		case w := <-s.writes:
			s.commit(w)
		case <-ticker.C:
			s.tend()
		case <-s.quit:
			return
		}
	}
}

// Close saves what is not saved yet. No update may follow.
func (s *Store) Close() error {
	close(s.quit)
	<-s.done
	return s.tend()
}

// commit runs the changes of all writes that wait, one after the other, saves what they made once, and tells
// each its own result. Where the save fails they all fail, for each may have seen what the others did.
func (s *Store) commit(first write) {
	s.writing.Lock()
	defer s.writing.Unlock()
	next, changed := *s.view(), false
	var batch []write
	var results []error
	for w, waiting := first, true; waiting; {
		draft := next
		err := w.change(&draft)
		if err == nil {
			next, changed = draft, true
		}
		batch, results = append(batch, w), append(results, err)
		select {
		case w = <-s.writes:
		default:
			waiting = false
		}
	}
	failed := changed && s.save(&next) != nil
	if changed && !failed {
		s.publish(&next)
	}
	for i, w := range batch {
		if failed {
			results[i] = errUnsaved
		}
		w.result <- results[i]
	}
}

// tend saves the current state where the file does not hold it, or may not.
func (s *Store) tend() error {
	st := s.view()
	if s.path == "" || s.saved == st && s.failing() == nil && s.checkFile() == nil {
		return nil
	}
	return s.save(st)
}

// save replaces the file. A failure is kept for failing, and logged once for each cause.
func (s *Store) save(st *state) error {
	err := s.replaceFile(st)
	s.mu.Lock()
	before := s.failure
	s.failure = err
	s.mu.Unlock()
	switch {
	case err == nil && before != nil:
		s.log.Print("saving works again")
	case err != nil && (before == nil || err.Error() != before.Error()):
		s.log.Printf("saving failed: %v", err)
	}
	return err
}

// replaceFile puts a snapshot of st in the place of the file in one step: whoever opens the file at
// whatever instant, also after a crash, finds the old snapshot or the new one, whole.
func (s *Store) replaceFile(st *state) error {
	if s.foreign {
		return errForeign
	}
	mode := fs.FileMode(0o644)
	if s.file != nil {
		mode = s.file.Mode().Perm()
	}
	info, err := syncFile(s.temp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode, st.write)
	if err == nil {
		err = s.lock()
	}
	if err == nil {
		err = s.checkFile()
	}
	if err == nil {
		err = os.Rename(s.temp, s.path)
	}
	if err != nil {
		os.Remove(s.temp)
		s.unlock()
		return err
	}
	saved, file := s.saved, s.file
	s.saved, s.file = st, info
	if err := syncFolder(filepath.Dir(s.path)); err != nil {
		if s.locked && os.Rename(s.path+lockSuffix, s.path) == nil { // the lock is the old file
			s.saved, s.file, s.locked = saved, file, false
		}
		return err
	}
	s.unlock()
	return nil
}

// lock gives the file a second name, which one server at a time can do, so that no other replaces the file
// between this one's look at it and the rename. The name keeps the old snapshot too, to be put back where
// the new one turns out not to last.
func (s *Store) lock() error {
	s.unlock()
	err := os.Link(s.path, s.path+lockSuffix)
	s.locked = err == nil
	if errors.Is(err, fs.ErrExist) {
		return errBusy
	}
	return nil // a first snapshot has nothing to link, and some file systems know no links
}

func (s *Store) unlock() {
	if s.locked {
		err := os.Remove(s.path + lockSuffix)
		s.locked = err != nil && !errors.Is(err, fs.ErrNotExist) // a server that starts removes it too
	}
}

// syncFile opens a file and makes what is written to it outlast a crash of the machine.
func syncFile(path string, flag int, mode fs.FileMode, write func(io.Writer) error) (fs.FileInfo, error) {
	f, err := os.OpenFile(path, flag, mode)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := write(f); err != nil {
		return nil, err
	}
	if err := f.Sync(); err != nil {
		return nil, err
	}
	return f.Stat()
}

// syncFolder makes the renames in a folder outlast a crash. Windows cannot, and need not.
func syncFolder(path string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	_, err := syncFile(path, os.O_RDONLY, 0, func(io.Writer) error { return nil })
	return err
}

// checkFile returns errForeign, then and ever after, where the file is not the one that this process last
// read or wrote.
func (s *Store) checkFile() error {
	info, err := os.Stat(s.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	same := err != nil && s.file == nil || err == nil && s.file != nil && os.SameFile(info, s.file) &&
		info.Size() == s.file.Size() && info.ModTime().Equal(s.file.ModTime())
	if s.foreign = s.foreign || !same; s.foreign {
		return errForeign
	}
	return nil
}
