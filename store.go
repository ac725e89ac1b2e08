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
	"iter"
	"log"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// A record is a value and its JSON, which is encoded once. It is never modified, only replaced.
type record[T any] struct {
	value   T
	encoded []byte
}

func newRecord[T any](value T) *record[T] {
	return &record[T]{value, encode(value)}
}

const pageSize = 512

type page[T any] [pageSize]*record[T]

// A table holds the records of one kind. Ids start at 1 and rise by 1, so finding a record is arithmetic: the one
// with the id 1000 is on pages[1], at index 487, for (1000-1) / 512 is 1 and the remainder is 487.
//
// A table is copied by assignment, and the copy shares its pages. Changing the copy leaves the original as it was: a
// new record goes after the original's last id, where the original does not look; an existing one is replaced or
// deleted on a copy of its page. Of several copies only one may be kept, since they all add their records in the same
// place.
type table[T any] struct {
	pages []*page[T] // a page is nil if all its records are deleted
	last  int64      // the last id that was assigned
}

// get returns the record with the given id, or nil.
func (t *table[T]) get(id int64) *record[T] {
	i := (id - 1) / pageSize
	// After a restart, last may lie beyond the pages: it is kept in the file even if its record was deleted.
	if id < 1 || id > t.last || i >= int64(len(t.pages)) || t.pages[i] == nil {
		return nil
	}
	return t.pages[i][(id-1)%pageSize]
}

// after yields the records with ids greater than id, in id order.
func (t *table[T]) after(id int64) iter.Seq2[int64, *record[T]] {
	return func(yield func(int64, *record[T]) bool) {
		end := min(t.last, int64(len(t.pages)*pageSize))
		for seen := id; seen < end; { // the next id, seen+1, is at index seen
			p := t.pages[seen/pageSize]
			if p == nil {
				seen += pageSize - seen%pageSize // to the end of the page
				continue
			}
			r := p[seen%pageSize]
			seen++
			if r != nil && !yield(seen, r) {
				return
			}
		}
	}
}

// nextID returns the id for a new record.
func (t *table[T]) nextID() (int64, error) {
	if t.last >= maxID {
		return 0, unavailable("No ids are left: the last one is %d.", maxID)
	}
	return t.last + 1, nil
}

// insert adds a record under an unused id from 1 to maxID. It may write to a page that earlier tables share, but only
// after their last id.
func (t *table[T]) insert(id int64, r *record[T]) {
	i := int((id - 1) / pageSize)
	for len(t.pages) <= i { // what append writes lies beyond the end of earlier tables' slices
		t.pages = append(t.pages, nil)
	}
	if t.pages[i] == nil {
		t.pages = slices.Clone(t.pages) // readers of earlier tables may be reading this very nil
		t.pages[i] = new(page[T])
	}
	t.pages[i][(id-1)%pageSize] = r
	t.last = max(t.last, id)
}

// put replaces the record with the given id, which must exist; a nil record deletes it. It copies the page and the
// slice of pages, so earlier tables keep what they had.
func (t *table[T]) put(id int64, r *record[T]) {
	i := (id - 1) / pageSize
	changed := *t.pages[i]
	changed[(id-1)%pageSize] = r
	t.pages = slices.Clone(t.pages)
	t.pages[i] = &changed
	if changed == (page[T]{}) { // all its records are deleted
		t.pages[i] = nil
	}
}

// A state is everything that the store holds. Every categoryId and petId in it is the id of a record that exists.
//
// Its snapshot, the file on disk, is one JSON object with one record a line:
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
// lastIds keeps the ids of deleted records from being assigned again.
type state struct {
	categories table[Category]
	pets       table[Pet]
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

// parse reads a snapshot, which must be whole and valid. The error says which line is wrong, if that is known.
func parse(snapshot []byte) (*state, error) {
	if offset, err := checkJSON(snapshot); err != nil {
		return nil, fmt.Errorf("line %d: %w", lineAt(snapshot, offset), err)
	}
	st := new(state)
	// Unlike in a request, the case of a record's field names does not matter: it does no harm in a hand-edited file.
	dec := json.NewDecoder(bytes.NewReader(snapshot))
	dec.DisallowUnknownFields()
	if err := st.read(dec); err != nil {
		return nil, fmt.Errorf("line %d: %w", lineAt(snapshot, int(dec.InputOffset())), err)
	}
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

func lineAt(text []byte, offset int) int { return 1 + bytes.Count(text[:offset], []byte("\n")) }

// A petLine is a pet as the snapshot has it: with its stock.
type petLine struct {
	Pet
	Stock int64 `json:"quantity"`
}

func (l *petLine) validate() error {
	if err := l.Pet.validate(); err != nil {
		return err
	}
	return validateStock(l.Stock)
}

// read reads the members of a snapshot, in any order. One that is left out counts as empty.
func (st *state) read(dec *json.Decoder) error {
	if start, _ := dec.Token(); start != json.Delim('{') {
		return errors.New("a snapshot must be one JSON object")
	}
	var last struct{ Categories, Pets, Orders int64 }
	given := map[json.Token]bool{}
	for dec.More() {
		name, _ := dec.Token()
		if given[name] { // a slip by whoever edited the file, which the next save would hide
			return fmt.Errorf("%s is given twice", name)
		}
		given[name] = true
		var err error
		switch name {
		case "lastIds":
			err = decodeNext(dec, &last)
			for _, id := range []int64{last.Categories, last.Pets, last.Orders} {
				if id < 0 || id > maxID {
					err = fmt.Errorf("%d is not from 0 to %d", id, maxID)
				}
			}
		case "categories":
			err = readArray(dec, func(c *Category) error {
				return load(&st.categories, c.ID, *c, c.validate())
			})
		case "pets":
			err = readArray(dec, func(line *petLine) error {
				line.Status = cmp.Or(line.Status, Available)
				line.quantity = line.Stock
				return load(&st.pets, line.ID, line.Pet, line.validate())
			})
		case "orders":
			err = readArray(dec, func(o *Order) error {
				if o.ID == nil {
					return errors.New("an order has no id")
				}
				return load(&st.orders, *o.ID, *o, o.validate())
			})
		default:
			err = errors.New("a snapshot has no such member")
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	st.categories.last = max(st.categories.last, last.Categories)
	st.pets.last = max(st.pets.last, last.Pets)
	st.orders.last = max(st.orders.last, last.Orders)
	return nil
}

// readArray decodes the elements of an array, and calls add with each.
func readArray[T any](dec *json.Decoder, add func(*T) error) error {
	if start, _ := dec.Token(); start != json.Delim('[') {
		return errors.New("an array is required")
	}
	for dec.More() {
		element := new(T)
		if err := decodeNext(dec, element); err != nil {
			return err
		}
		if err := add(element); err != nil {
			return err
		}
	}
	_, err := dec.Token() // the closing bracket
	return err
}

// decodeNext decodes the next value. Unlike those of encoding/json, its errors do not mention Go types.
func decodeNext(dec *json.Decoder, into any) error {
	err := dec.Decode(into)
	var mistyped *json.UnmarshalTypeError
	if errors.As(err, &mistyped) {
		name := mistyped.Field[strings.LastIndex(mistyped.Field, ".")+1:] // the last part of, say, Pet.NewPet.name
		return fmt.Errorf("%s cannot be a JSON %s", cmp.Or(name, "the value"), mistyped.Value)
	}
	return err
}

// load inserts a record of a snapshot, unless its validation failed or its id is wrong.
func load[T any](t *table[T], id int64, value T, validation error) error {
	if id < 1 || id > maxID {
		return fmt.Errorf("the id %d is not from 1 to %d", id, maxID)
	}
	if t.get(id) != nil {
		return fmt.Errorf("the id %d is used twice", id)
	}
	if validation != nil {
		return fmt.Errorf("id %d: %w", id, validation)
	}
	t.insert(id, newRecord(value))
	return nil
}

// writeTo writes the snapshot of the state.
func (st *state) writeTo(w io.Writer) error {
	b := bufio.NewWriterSize(w, 256<<10)
	fmt.Fprintf(b, "{\n\"lastIds\": {\"categories\": %d, \"pets\": %d, \"orders\": %d}",
		st.categories.last, st.pets.last, st.orders.last)
	writeTable(b, "categories", &st.categories, nil)
	writeTable(b, "pets", &st.pets, func(line []byte, pet *Pet) []byte {
		line = bytes.TrimSuffix(line, []byte("}")) // the pet is encoded already; only its stock is missing
		return fmt.Appendf(line, `,"quantity":%d}`, pet.quantity)
	})
	writeTable(b, "orders", &st.orders, nil)
	b.WriteString("\n}\n")
	return b.Flush() // returns the first error of any write above
}

// writeTable writes a table as a member of the snapshot, one record a line. finish, unless nil, changes the line.
func writeTable[T any](b *bufio.Writer, name string, t *table[T], finish func(line []byte, value *T) []byte) {
	fmt.Fprintf(b, ",\n%q: [", name)
	separator := "\n"
	for _, r := range t.after(0) {
		b.WriteString(separator)
		line := append(b.AvailableBuffer(), r.encoded...) // a copy, in the free part of b's buffer
		if finish != nil {
			line = finish(line, &r.value)
		}
		b.Write(line)
		separator = ",\n"
	}
	b.WriteString("\n]")
}

// sample is the first snapshot if there is no file yet.
//
//go:embed docs/sample.json
var sample []byte

var (
	errUnsaved = unavailable("The store cannot save to its disk, so nothing was changed; try again later.")
	errForeign = errors.New("another program changed the file, so it is left alone; restart to read it")
	errLocked  = errors.New("another server keeps the file locked")
)

// saveInterval is how often the store checks its file, and saves what is not saved yet. It leaves a tenth of a second
// for the save itself, so that every write is on disk within a second.
const saveInterval = 900 * time.Millisecond

// A Store holds the state in memory and its snapshot in a file.
//
// From openStore to Close, one goroutine does all the saving. The writes that come while it saves share the next save:
// if A comes first, and B and C while A is being saved, then B and C are saved together. If the store is synced, they
// wait for that; otherwise they are acknowledged at once.
type Store struct {
	path   string // of the snapshot; empty if nothing is kept on disk
	synced bool   // a write waits until it is on disk
	logger *log.Logger

	wake chan struct{} // of size 1; a value in it means that writes are waiting
	quit chan struct{} // closed to stop the saving goroutine
	done chan struct{} // closed when it has stopped

	// While the saving goroutine runs, only it uses these.
	saved *state      // what the file holds
	info  fs.FileInfo // the file when this process last read or wrote it; nil if there was none
	slow  bool        // the last save took longer than a second

	writing sync.Mutex // held while the next state is made from the current one

	mu      sync.Mutex // guards what follows; it is never held during I/O or encoding
	current *state
	waiting []pendingWrite
	failure error // why the last save failed; nil if it succeeded
	closed  bool
}

// A pendingWrite is a change that waits for the next save.
type pendingWrite struct {
	change func(*state) error
	result chan error
}

// openStore reads the snapshot at path, or writes the sample there if there is no file. It fails if the file is not a
// whole and valid snapshot, and then leaves it alone.
//
// If synced is true, a write waits until it is on disk; otherwise it is on disk within a second.
func openStore(path string, synced bool, logger *log.Logger) (*Store, error) {
	s := &Store{path: path, synced: synced && path != "", logger: logger,
		wake: make(chan struct{}, 1), quit: make(chan struct{}), done: make(chan struct{})}
	snapshot := sample
	if path != "" {
		var err error
		if snapshot, err = s.readFile(); err != nil {
			return nil, err
		}
	}
	first, err := parse(snapshot)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	s.current, s.saved = first, first
	debug.FreeOSMemory() // reading a large file takes several times its size
	if path != "" && s.info == nil {
		// Another server may write the first snapshot at this very moment. Then this one starts, but refuses writes.
		if err := s.save(first); err != nil && !errors.Is(err, errForeign) {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	go s.saveLoop()
	return s, nil
}

// readFile returns what is in the file, or the sample if there is no file.
func (s *Store) readFile() ([]byte, error) {
	if _, err := os.Stat(filepath.Dir(s.path)); err != nil {
		return nil, fmt.Errorf("%s: its directory cannot be used: %w", s.path, err)
	}
	if _, err := os.Lstat(s.path); err == nil { // there is a file, or a link to one
		target, err := filepath.EvalSymlinks(s.path)
		if err != nil {
			return nil, fmt.Errorf("%s: the symbolic link leads to no file: %w", s.path, err)
		}
		s.path = target // a save replaces the target, not the link
	}
	s.removeLeftovers()
	var err error
	s.info, err = os.Stat(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return sample, nil
	}
	if err != nil {
		return nil, err
	}
	if !s.info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", s.path)
	}
	return os.ReadFile(s.path)
}

// leftover matches the ending of a temporary file's name.
var leftover = regexp.MustCompile(`^\.saving-[0-9a-f]{8}$`)

// removeLeftovers removes what a killed server left behind: its temporary file and its lock. If the temporary file
// belongs to a server that is saving at this moment, that one save fails.
func (s *Store) removeLeftovers() {
	if isStale(s.lockPath()) {
		os.Remove(s.lockPath())
	}
	directory, base := filepath.Split(s.path)
	entries, _ := os.ReadDir(cmp.Or(directory, "."))
	for _, entry := range entries {
		if ending, ok := strings.CutPrefix(entry.Name(), base); ok && leftover.MatchString(ending) {
			os.Remove(directory + entry.Name())
		}
	}
}

// view returns the current state, which nobody modifies.
func (s *Store) view() *state {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current
}

// lastFailure returns why the last save failed, or nil if it succeeded.
func (s *Store) lastFailure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failure
}

// update runs change on a copy of the state, saves the copy, and only then lets readers see it. It returns the error
// of change, or errUnsaved if the copy cannot be saved or the store is closed; then nothing is changed.
//
// A store that is not synced lets readers see the copy at once, and saves it later. But while saving fails, every write
// waits for its own save, so that the store does not go on acknowledging what it cannot save.
func (s *Store) update(change func(*state) error) error {
	if s.synced || s.lastFailure() != nil {
		return s.updateSynced(change)
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	next := *s.view()
	if err := change(&next); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return errUnsaved
	}
	s.current = &next
	return nil
}

// updateSynced hands change to the saving goroutine, and waits for the result.
func (s *Store) updateSynced(change func(*state) error) error {
	w := pendingWrite{change, make(chan error, 1)}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return errUnsaved
	}
	s.waiting = append(s.waiting, w)
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default: // another write has woken it
	}
	return <-w.result
}

// saveLoop commits the writes that wait, and checks the file now and then, until the store is closed.
func (s *Store) saveLoop() {
	defer close(s.done)
	ticker := time.NewTicker(saveInterval)
	defer ticker.Stop()
	for {
		select {
		case <-s.wake:
			s.commitWaiting()
		case <-ticker.C:
			s.saveIfNeeded()
		case <-s.quit:
			s.commitWaiting()
			return
		}
	}
}

// Close commits the writes that wait, and saves what is not saved yet. Later updates fail.
func (s *Store) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	close(s.quit)
	<-s.done
	return s.saveIfNeeded()
}

// commitWaiting runs the changes of all writes that wait, one after the other, saves the result once, and tells each
// writer how its own write went. If the save fails, they all fail, even one that got a 404: that may be due to a
// deletion in the same batch, which is now undone.
func (s *Store) commitWaiting() {
	s.mu.Lock()
	batch := s.waiting
	s.waiting = nil
	s.mu.Unlock()

	s.writing.Lock()
	defer s.writing.Unlock()
	next, changed := *s.view(), false
	results := make([]error, len(batch))
	for i, w := range batch {
		draft := next // a change that fails leaves no trace
		results[i] = catch(func() error { return w.change(&draft) })
		if results[i] == nil {
			next, changed = draft, true
		}
	}
	if changed {
		if s.save(&next) == nil {
			s.mu.Lock()
			s.current = &next
			s.mu.Unlock()
		} else {
			for i := range results {
				results[i] = errUnsaved
			}
		}
	}
	for i, w := range batch {
		w.result <- results[i]
	}
}

// saveIfNeeded saves the current state, unless the file holds it and the last save succeeded: after a failure it tries
// again. If another program has changed the file, the save fails, so that the failure is known before the next write.
func (s *Store) saveIfNeeded() error {
	if s.path == "" {
		return nil
	}
	current := s.view()
	if current == s.saved && s.lastFailure() == nil {
		if _, err := s.checkFile(); err == nil {
			return nil
		}
	}
	return s.save(current)
}

// save replaces the file, and keeps the error, if any, as the last failure. Each cause is logged once. A save that
// takes longer than a second is logged too, while it is still running, unless the one before it was as slow.
func (s *Store) save(st *state) error {
	begin := time.Now()
	if !s.slow {
		timer := time.AfterFunc(time.Second, func() { s.logger.Print("saving is taking longer than a second") })
		defer timer.Stop()
	}
	err := s.replaceFile(st)
	s.slow = time.Since(begin) > time.Second

	s.mu.Lock()
	before := s.failure
	s.failure = err
	s.mu.Unlock()
	switch {
	case err == nil && before != nil:
		s.logger.Print("saving works again")
	case err != nil && (before == nil || rootCause(err) != rootCause(before)):
		s.logger.Printf("saving failed: %v", err)
	}
	return err
}

// rootCause returns the innermost error, without what differs each time, such as the name of the temporary file.
func rootCause(err error) error {
	for errors.Unwrap(err) != nil {
		err = errors.Unwrap(err)
	}
	return err
}

// replaceFile replaces the file with a snapshot of st. At every moment, even after a crash, the file is the old
// snapshot or the new one, whole.
//
// That takes four steps. The snapshot is written to a temporary file beside the file. The temporary file is synced:
// otherwise, after a power failure, the file could be empty. It is renamed over the file. And the directory is
// synced: otherwise, after a power failure, the rename could be undone, and an acknowledged write with it.
func (s *Store) replaceFile(st *state) error {
	if err := s.swapFile(st); err != nil {
		return err
	}
	if err := syncDirectory(filepath.Dir(s.path)); err != nil {
		// If st is a batch of commitWaiting, it is not current yet and is now refused, so it must not stay in the file.
		if current := s.view(); current != st {
			s.swapFile(current)
		}
		return err
	}
	s.saved = st
	return nil
}

// swapFile takes all steps but the last.
func (s *Store) swapFile(st *state) error {
	old, err := s.checkFile()
	if err != nil {
		return err
	}
	temp := fmt.Sprintf("%s.saving-%08x", s.path, rand.Uint32())
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	defer os.Remove(temp) // does nothing after the rename
	info, err := fill(f, old, st)
	if err != nil {
		return err
	}
	unlock, err := s.lock()
	if err != nil {
		return err
	}
	defer unlock()
	if _, err := s.checkFile(); err != nil { // again, now that no other server can replace it
		return err
	}
	if err := os.Rename(temp, s.path); err != nil {
		return err
	}
	s.info = info
	return nil
}

// fill writes a snapshot of st to a new file, with the mode and owner of the old one, syncs it and closes it.
func fill(f *os.File, old fs.FileInfo, st *state) (fs.FileInfo, error) {
	defer f.Close()
	if old != nil {
		copyOwner(f, old)
		if err := f.Chmod(old.Mode().Perm()); err != nil {
			return nil, err
		}
	}
	if err := st.writeTo(f); err != nil {
		return nil, err
	}
	if err := f.Sync(); err != nil {
		return nil, err
	}
	return f.Stat()
}

// copyOwner gives f the owner of another file, if the system lets us. The ids are found by reflection, because their
// type in package syscall does not exist on Windows.
func copyOwner(f *os.File, from fs.FileInfo) {
	stat := reflect.Indirect(reflect.ValueOf(from.Sys()))
	uid, gid := stat.FieldByName("Uid"), stat.FieldByName("Gid")
	if uid.IsValid() && gid.IsValid() {
		f.Chown(int(uid.Uint()), int(gid.Uint()))
	}
}

func (s *Store) lockPath() string { return s.path + ".saving-lock" }

// staleLock is the age from which a lock counts as left behind by a killed server. A client that waits for that long
// still gets its response, within the write timeout of 10 seconds.
const staleLock = 8 * time.Second

// lock keeps other servers from replacing the file between this one's check and its rename. It creates a file that only
// one server at a time can create, and waits while another server has it.
func (s *Store) lock() (unlock func(), err error) {
	path := s.lockPath()
	deadline := time.Now().Add(staleLock + time.Second)
	for time.Now().Before(deadline) {
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err == nil {
			host, _ := os.Hostname()
			fmt.Fprintln(f, os.Getpid(), host)
			f.Close()
			return func() { os.Remove(path) }, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
		if isStale(path) {
			os.Remove(path)
		}
		// Two servers may find the same lock stale. The pause lets the slower one remove it before the faster one
		// creates a new lock, which would be removed instead.
		time.Sleep(10 * time.Millisecond)
	}
	return nil, errLocked
}

// isStale reports whether a killed server left the lock behind: its process is gone from this host, or the lock is old,
// or it is still empty after a second.
func isStale(path string) bool {
	info, err := os.Lstat(path)
	if err != nil {
		return false
	}
	age := time.Since(info.ModTime())
	if age > staleLock || (info.Size() == 0 && age > time.Second) {
		return true
	}
	var pid int
	var lockHost string
	content, _ := os.ReadFile(path)
	fmt.Sscan(string(content), &pid, &lockHost)
	if host, err := os.Hostname(); err != nil || host != lockHost {
		return false
	}
	process, err := os.FindProcess(pid)
	// Signal 0 only asks whether the process exists.
	return err != nil || errors.Is(process.Signal(syscall.Signal(0)), os.ErrProcessDone)
}

// syncDirectory makes a rename in a directory survive a crash. On Windows and some file systems that is not possible,
// and it does nothing.
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

// checkFile returns the file's info, or nil if there is no file. If the file is not what this process last read or
// wrote, the error is errForeign.
func (s *Store) checkFile() (fs.FileInfo, error) {
	info, err := os.Stat(s.path)
	missing := errors.Is(err, fs.ErrNotExist)
	switch {
	case missing && s.info == nil:
		return nil, nil
	case err != nil && !missing:
		return nil, err
	case missing || s.info == nil || !os.SameFile(info, s.info):
		return nil, errForeign
	case info.Size() != s.info.Size() || !info.ModTime().Equal(s.info.ModTime()):
		return nil, errForeign
	}
	return info, nil
}
