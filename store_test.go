package main

import (
	"bytes"
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
	"testing"
	"time"
	"unicode/utf16"
)

func open(t testing.TB, path string) *Store {
	t.Helper()
	s, err := openStore(path, log.New(t.Output(), "", 0))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// freshFile returns the path of a file that does not exist yet, in a directory of its own.
func freshFile(t testing.TB) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "petstore.json")
}

func write(t testing.TB, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// serviceOn returns a service that has read a file with this content.
func serviceOn(t testing.TB, content string) *service {
	t.Helper()
	path := freshFile(t)
	write(t, path, content)
	return newService(t, path)
}

func read(t testing.TB, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// files returns the names in a directory.
func files(t testing.TB, directory string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(directory)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

// text returns the snapshot of a state.
func text(t testing.TB, st *state) string {
	t.Helper()
	var b bytes.Buffer
	if err := writeSnapshot(&b, st); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// expectSaved expects that the file holds the current state, and that nothing else is in its
// directory.
func expectSaved(t testing.TB, s *Store) {
	t.Helper()
	same(t, "the file", text(t, s.view()), read(t, s.path))
	same(t, "files", []string{filepath.Base(s.path)}, files(t, filepath.Dir(s.path)))
}

// addCategory adds a category in a transaction, as the handler of an operation does.
func addCategory(s *Store, name string) error {
	next := s.begin()
	defer s.end()
	id := next.categories.last + 1
	next.categories.add(id, Category{id, NewCategory{Name: name}})
	return s.commit(next)
}

func TestSampleIsTheFirstSnapshot(t *testing.T) {
	same(t, "the file", read(t, "docs/sample.json"), read(t, open(t, freshFile(t)).path))
}

// What was acknowledged is there after a restart, and ids are not used again, not even that of the
// last record.
func TestReopen(t *testing.T) {
	path := freshFile(t)
	s := newService(t, path)
	s.expect("POST /categories", `{"name":"<&>","description":""}`, 201,
		`{"id":5,"name":"<&>","description":""}`)
	s.expect("POST /pets", `{"name":"Luna","categoryId":5,"status":"sold"}`, 201,
		`{"id":6,"name":"Luna","categoryId":5,"status":"sold"}`)
	s.expect("PATCH /inventory/6", `{"quantity":9}`, 200,
		`{"petId":6,"quantity":9,"status":"sold"}`)
	s.expect("PUT /store/orders/2", `{"shipDate":"2030-01-01T00:00:00.123456789+01:00"}`, 200,
		`{"id":2,"shipDate":"2030-01-01T00:00:00.123456789+01:00","complete":false}`)
	s.expect("POST /categories", `{"name":"Gone"}`, 201, `{"id":6,"name":"Gone"}`)
	s.expect("DELETE /categories/6", "", 204, "")
	s.expect("POST /pets", `{"name":"Gone","categoryId":5,"status":"sold"}`, 201,
		`{"id":7,"name":"Gone","categoryId":5,"status":"sold"}`)
	s.expect("DELETE /pets/7", "", 204, "")
	s.expect("POST /store/orders", `{}`, 201, `{"id":3,"complete":false}`)
	s.expect("DELETE /store/orders/3", "", 204, "")
	before := text(t, s.store.view())
	s = newService(t, path)
	same(t, "after a restart", before, text(t, s.store.view()))
	s.expect("POST /categories", `{"name":"Next"}`, 201, `{"id":7,"name":"Next"}`)
	s.expect("POST /pets", `{"name":"Next","categoryId":5,"status":"sold"}`, 201,
		`{"id":8,"name":"Next","categoryId":5,"status":"sold"}`)
	s.expect("POST /store/orders", `{}`, 201, `{"id":4,"complete":false}`)
	expectSaved(t, s.store)
	// Each line of the file is the very JSON that clients get.
	for _, target := range []string{"/categories", "/pets", "/store/orders", "/inventory"} {
		name := filepath.Base(target)
		list, _ := io.ReadAll(s.do("GET "+target, "").Body)
		lines := strings.Trim(string(list), "[]\n")
		if !strings.Contains(read(t, path), `"`+name+"\": [\n"+lines+"\n]") {
			t.Errorf("the file does not have the %s as clients get them", name)
		}
	}
}

// A name comes back byte for byte, from the file too, whatever escapes it was sent with.
func TestNames(t *testing.T) {
	names := []string{
		"<img src=x onerror=alert(1)>", "null", " space around ", `\u0041 "quoted" \\ /`, "\x7f",
		"עברית العربية", "\u202eright to left\u202c", "line\u2028and\u2029paragraph",
		"zero\u200bwidth\u200d\ufeff", "e\u0301 é", "\ufffd\ufffe\uffff",
		"\U0001f408\u200d\u2b1b\U00010ffff", strings.Repeat("\U0001f436", 200),
	}
	for c := range ' ' {
		names = append(names, "control "+string(c))
	}
	s := serviceOn(t, `{}`)
	var want []string
	for _, name := range names {
		var escaped strings.Builder // each UTF-16 unit as \uXXXX
		for _, unit := range utf16.Encode([]rune(name)) {
			fmt.Fprintf(&escaped, `\u%04X`, unit)
		}
		for _, quoted := range []string{string(encode(name)), `"` + escaped.String() + `"`} {
			if resp := s.do("POST /categories", `{"name":`+quoted+`}`); resp.StatusCode != 201 {
				t.Fatalf("status %d for %s", resp.StatusCode, quoted)
			}
			want = append(want, name)
		}
	}
	for _, s := range []*service{s, newService(t, s.store.path)} {
		var list []Category
		body := s.do("GET /categories?limit=100", "").Body
		if err := json.NewDecoder(body).Decode(&list); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, category := range list {
			got = append(got, category.Name)
		}
		same(t, "names", want, got)
	}
}

// A write is acknowledged when the file holds it, and none gets lost among many.
func TestConcurrentWrites(t *testing.T) {
	s := open(t, freshFile(t))
	const clients, each = 8, 10
	var writers sync.WaitGroup
	for i := range clients {
		writers.Go(func() {
			for n := range each {
				name := fmt.Sprintf("%d of client %d.", n, i)
				err := addCategory(s, name)
				if err != nil || !strings.Contains(read(t, s.path), name) {
					t.Errorf("%s: error %v; or it is acknowledged but not in the file", name, err)
				}
			}
		})
	}
	writers.Wait()
	same(t, "number of categories", 4+clients*each, len(s.view().categories.records))
	expectSaved(t, s)
}

// Without a file, nothing is written anywhere, and nothing can fail.
func TestNothingOnDisk(t *testing.T) {
	t.Chdir(t.TempDir())
	s := open(t, "")
	if err := addCategory(s, "Birds"); err != nil {
		t.Error(err)
	}
	if r := s.view().categories.get(5); r == nil || files(t, ".") != nil {
		t.Errorf("the new record is %v, files %v", r, files(t, "."))
	}
}

// breakDisk makes every save to the file fail, for root too, by putting a plain file in the place
// of its directory. The function that it returns undoes that.
func breakDisk(t testing.TB, path string) (mend func()) {
	t.Helper()
	directory := filepath.Dir(path)
	if err := os.Rename(directory, directory+".away"); err != nil {
		t.Fatal(err)
	}
	write(t, directory, "")
	return func() {
		t.Helper()
		os.Remove(directory)
		if err := os.Rename(directory+".away", directory); err != nil {
			t.Fatal(err)
		}
	}
}

// A write that cannot be saved is refused and changes nothing, and reads go on. Once the fault is
// gone, the next write succeeds; until then /healthz tells of it, and writes nothing itself.
func TestFailedSave(t *testing.T) {
	s := newService(t, freshFile(t))
	before := text(t, s.store.view())
	mend := breakDisk(t, s.store.path)
	s.expect("GET /pets/4", "", 200, `{"id":4,"name":"Tom","categoryId":2,"status":"sold"}`)
	same(t, "status of a HEAD, which writes nothing", 200, s.do("HEAD /pets", "").StatusCode)
	s.expectHealthy()
	for _, write := range []struct{ request, body string }{
		{"POST /pets", `{"name":"Lost","categoryId":1}`},
		{"PUT /pets/1", `{"name":"Lost","categoryId":1}`},
		{"DELETE /pets/1", ""},
		{"POST /categories", `{"name":"Lost"}`},
		{"PUT /categories/1", `{"name":"Lost"}`},
		{"DELETE /categories/4", ""},
		{"POST /store/orders", `{}`},
		{"PUT /store/orders/2", `{}`},
		{"DELETE /store/orders/2", ""},
		{"PATCH /inventory/1", `{"quantity":1}`},
	} {
		s.expect(write.request, write.body, 503,
			"cannot save to its disk, so it changes nothing; try again")
		same(t, "Location", "", s.do(write.request, write.body).Header.Get("Location"))
	}
	s.expect("DELETE /pets/77", "", 404, "/pets/77 does not exist") // needs no disk
	s.expect("GET /healthz", "", 503, "cannot save to its disk")
	s.expect("GET /inventory/1", "", 200, `{"petId":1,"quantity":3,"status":"available"}`)
	same(t, "after the refused writes", before, text(t, s.store.view()))
	mend()
	same(t, "the file after the refused writes", before, read(t, s.store.path))
	s.expect("GET /healthz", "", 503, "cannot save to its disk") // nobody has tried again
	expectSaved(t, s.store)
	s.expect("POST /categories", birds, 201, `{"id":5,"name":"Birds"}`)
	s.expectHealthy()
	s.expect("GET /categories?after=5", "", 200, "[]")
	expectSaved(t, s.store)
}

// The log gets a failure when it begins and when clients are told something else, however often
// saving is tried, and that it works again.
func TestLogOfFailures(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows words its errors differently")
	}
	s := newService(t, freshFile(t))
	directory := filepath.Dir(s.store.path)
	try := func() {
		addCategory(s.store, "Birds")
		s.do("GET /healthz", "")
		addCategory(s.store, "Birds")
	}
	for range 2 {
		mend := breakDisk(t, s.store.path)
		try()
		os.Remove(directory)
		os.Symlink(directory, directory) // another fault, but clients are told the same
		try()
		os.Remove(directory)
		write(t, directory, "") // for mend
		mend()
		ours := read(t, s.store.path)
		info, _ := os.Stat(s.store.path)
		write(t, s.store.path, "{}")
		try()
		write(t, s.store.path, ours)
		os.Chtimes(s.store.path, time.Time{}, info.ModTime())
		try()
	}
	once := "saving failed: open FILE.TEMP: not a directory\n" +
		"saving failed: " + errForeign.Error() + "\nsaving works again\n"
	same(t, "log", once+once, anonymous(s.log.String(), s.store.path))
}

// A panic is a 500 for that request only, and the log has the stack. One in a change undoes it.
func TestPanic(t *testing.T) {
	s := newService(t, freshFile(t))
	before := text(t, s.store.view())
	s.mux.Handle("POST /boom", s.limited(func(r *http.Request) (response, error) {
		return s.run(func(next *state, _ *request) (response, error) {
			next.removePet(1)
			panic("boom")
		}, r)
	}))
	s.expect("POST /boom", "", 500, "The server failed on this request; try again, and report it")
	same(t, "after the panic", before, text(t, s.store.view()))
	s.expect("POST /categories", birds, 201, `{"id":5,"name":"Birds"}`)
	expectSaved(t, s.store)

	s.loseStore()
	s.expect("GET /pets", "", 500, "The server failed on this request")
	s.expect("GET /healthz", "", 500, "The server failed on this request")
	got := s.log.String()
	if strings.Count(got, "panic: ") != 3 || !strings.Contains(got, "store_test.go:") {
		t.Errorf("the log does not have three panics with their stacks:\n%s", got)
	}
}

// loseStore makes every handler panic that reads or changes something.
func (s *service) loseStore() {
	s.Server = newServer(nil, s.limits, s.logger, &options{})
}

// A file that another program has changed in any way is left alone, and every write is refused
// until a restart.
func TestFileChangedByAnother(t *testing.T) {
	for _, test := range []struct {
		name    string
		size    int64 // how much larger the file is
		time    time.Duration
		another bool // file, under the same name
	}{
		{"later", 0, time.Microsecond, false},
		{"earlier", 0, -time.Hour, false},
		{"larger", 1, 0, false},
		{"smaller", -1, 0, false},
		{"another file", 0, 0, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newService(t, freshFile(t))
			s.expect("POST /categories", birds, 201, `{"id":5,"name":"Birds"}`)
			path := s.store.path
			info, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			theirs := fmt.Sprintf("%-*s", info.Size()+test.size, "{}")
			if test.another {
				os.Rename(path, path+".old") // which keeps its inode in use
			}
			write(t, path, theirs)
			os.Chtimes(path, time.Time{}, info.ModTime().Add(test.time))
			for range 2 {
				s.expect("POST /categories", birds, 503, "restart it to read that file")
				s.expect("DELETE /categories/5", "", 503, "restart it to read that file")
				s.expect("GET /healthz", "", 503, "restart it to read that file")
			}
			s.expect("GET /categories/5", "", 200, `{"id":5,"name":"Birds"}`)
			same(t, "the file", theirs, read(t, path))
			same(t, "log", "saving failed: "+errForeign.Error()+"\n", s.log.String())
			s = newService(t, path)
			s.expect("POST /categories", `{"name":"First"}`, 201, `{"id":1,"name":"First"}`)
		})
	}
}

// A file that was deleted is written again by the next write, not by /healthz.
func TestDeletedFile(t *testing.T) {
	s := newService(t, freshFile(t))
	os.Remove(s.store.path)
	s.expectHealthy()
	same(t, "files", []string(nil), files(t, filepath.Dir(s.store.path)))
	s.expect("POST /categories", birds, 201, `{"id":5,"name":"Birds"}`)
	expectSaved(t, s.store)
	same(t, "log", "", s.log.String())

	// What can neither be read nor written over is no deleted file.
	os.Remove(s.store.path)
	if err := os.Symlink(s.store.path, s.store.path); err != nil {
		t.Skip(err)
	}
	s.expect("POST /categories", birds, 503, "cannot save to its disk")
}

// The file of two servers is whole at every instant. One of them soon stops saving, and what the
// other one has acknowledged is in the file.
func TestTwoServersOnOneFile(t *testing.T) {
	path := freshFile(t)
	stores := []*Store{open(t, path), open(t, path)}
	acknowledged := make([][]string, 2)
	var writers, reader sync.WaitGroup
	var done atomic.Bool
	reader.Go(func() {
		for !done.Load() {
			if _, err := parse([]byte(read(t, path))); err != nil {
				t.Errorf("the file is torn: %v", err)
				return
			}
		}
	})
	for i, s := range stores {
		writers.Go(func() {
			for n := range 50 {
				if name := fmt.Sprintf("%d of %d.", n, i); addCategory(s, name) == nil {
					acknowledged[i] = append(acknowledged[i], name)
				}
			}
		})
	}
	writers.Wait()
	done.Store(true)
	reader.Wait()
	owners := 0
	for i, s := range stores {
		if err := addCategory(s, "last"); err != nil {
			same(t, "error", errForeign.Error(), err.Error())
			continue
		}
		owners++
		file := read(t, path)
		for _, name := range acknowledged[i] {
			if !strings.Contains(file, name) {
				t.Errorf("%s was acknowledged and is lost", name)
			}
		}
	}
	same(t, "servers that can save", 1, owners)
}

// A first snapshot that cannot be saved stops the start.
func TestFirstSnapshot(t *testing.T) {
	directory := t.TempDir()
	path := filepath.Join(directory, strings.Repeat("x", 250)) // longer names cannot be
	_, err := openStore(path, log.New(t.Output(), "", 0))
	if got := fmt.Sprint(err); !strings.HasPrefix(got, path+": the first save failed: ") {
		t.Errorf("error %s", got)
	}
	same(t, "files", []string(nil), files(t, directory))
}

// A server that starts without a file does not overwrite the one that another server has just made.
func TestFirstSnapshotOfAnother(t *testing.T) {
	path := freshFile(t)
	starting := &Store{path: path}
	write(t, path, `{}`)
	if err := starting.replaceFile(new(state)); !errors.Is(err, errForeign) {
		t.Errorf("error %v", err)
	}
	same(t, "the file", `{}`, read(t, path))
	same(t, "files", []string{"petstore.json"}, files(t, filepath.Dir(path)))
}

// A file that cannot be read as a store stops the start, with its name and the fault, and is never
// written over.
func TestBrokenFile(t *testing.T) {
	const (
		notThere = " is unknown; leave it out."
		twice    = " is given twice; leave one out."
		lastIDs  = "lastCategoryId, lastPetId and lastOrderId must be from 0 to 2147483647."
		pet      = `{"categories":[{"id":1,"name":"c"}],"pets":[{"id":1,"name":"p","categoryId":1}`
		stock    = pet + `],"inventory":[`
	)
	for _, test := range []struct{ file, want string }{
		{``, "The JSON is empty."},
		{"{\n ", "malformed in line 2, at byte 1: unexpected end of JSON input."},
		{"{}\n{}", "malformed in line 2, at byte 1: invalid character '{' after top-level"},
		{"{\n\"pets\":[\n{\"id\":1,,}]}", "malformed in line 3, at byte 9: invalid character ','"},
		{"{\"pets\":[\n{\"name\":\"Dogs},\n{}]}", `in line 2, at byte 16: invalid character '\n'`},
		{"{\n\"pets\":[{\"name\":\"\xff\"}]}", "malformed in line 2, at byte 18: invalid UTF-8."},
		{"\n[]", "The JSON must be one object."},
		{`null`, "The JSON must be one object."},
		{`{"categories":{}}`, "categories must be an array."},
		{`{"categories":null}`, "categories must be an array."},
		{`{"pets":null}`, "pets must be an array."},
		{`{"orders":5}`, "orders must be an array."},
		{`{"inventory":null}`, "inventory must be an array."},
		{`{"lastPetId":null}`, "lastPetId must be a 64-bit integer"},
		{`{"lastPetId":1.0}`, "lastPetId must be a 64-bit integer"},
		{`{"lastCategoryId":2147483648}`, lastIDs},
		{`{"lastPetId":2147483648}`, lastIDs},
		{`{"lastOrderId":-1}`, lastIDs},
		{`{"cats":[]}`, `The field "cats"` + notThere},
		{`{"Pets":[]}`, `The field "Pets"` + notThere},
		{`{"pets":[],"pets":[]}`, `The field "pets"` + twice},
		{`{"lastPetId":1,"lastPetId":1}`, `The field "lastPetId"` + twice},

		{`{"categories":[null]}`, "categories, record 1: The JSON must be one object."},
		{`{"categories":[{"id":1,"name":"c"},{}]}`, "categories, record 2: name is missing"},
		{`{"categories":[{"name":"c"}]}`, "categories, record 1: id is missing"},
		{`{"categories":[{"id":0,"name":"c"}]}`, "categories, record 1: id must be from 1 to"},
		{`{"categories":[{"id":2147483648,"name":"c"}]}`, "id must be from 1 to 2147483647."},
		{`{"categories":[{"id":1,"name":"c"},{"id":1,"name":"d"}]}`,
			"categories, record 2: Another record has the id 1, too."},
		{`{"categories":[{"id":1,"name":" "}]}`, "categories, record 1: name must be 1 to 200"},
		{`{"categories":[{"id":1,"name":"c","name":"c"}]}`, `record 1: The field "name"` + twice},
		{`{"categories":[{"id":1,"Name":"c"}]}`, `record 1: The field "Name"` + notThere},
		{`{"categories":[{"id":1,"name":null}]}`, "categories, record 1: name must be a string."},

		{pet + `,{"id":1,"name":"p","categoryId":1}]}`,
			"pets, record 2: Another record has the id 1, too."},
		{pet + `,{"id":2,"name":"p","categoryId":2}]}`, "pets, record 2: categoryId 2 does not"},
		{pet + `,{"id":2,"name":"p"}]}`, "pets, record 2: categoryId is missing"},
		{pet + `,{"id":2,"name":5,"categoryId":1}]}`, "pets, record 2: name must be a string."},
		{pet + `,{"id":2,"name":"","categoryId":1}]}`, "pets, record 2: name must be 1 to 200"},
		{pet + `,{"id":2,"name":"p","categoryId":1,"status":"gone"}]}`, "record 2: status must be"},
		{pet + `,{"id":2,"quantity":1}]}`, `pets, record 2: The field "quantity"` + notThere},

		{stock + `{"petId":2,"quantity":1}]}`, "inventory, record 1: petId 2 does not exist"},
		{stock + `{"quantity":1}]}`, "inventory, record 1: petId is missing"},
		{stock + `{"petId":1}]}`, "inventory, record 1: quantity is missing"},
		{stock + `{"petId":1,"quantity":-1}]}`, "inventory, record 1: quantity must be"},
		{stock + `{"petId":1,"quantity":1},{"petId":1,"quantity":1}]}`,
			"inventory, record 2: Another record has the id 1, too."},
		{stock + `{"petId":1,"quantity":1,"status":null}]}`, "inventory, record 1: status must be"},

		{`{"orders":[{"id":7},{"id":7}]}`, "orders, record 2: Another record has the id 7, too."},
		{`{"orders":[{"id":1},{"complete":true}]}`, "orders, record 2: id is missing"},
		{`{"orders":[{"id":1,"petId":9}]}`, "orders, record 1: petId 9 does not exist"},
		{`{"orders":[{"id":1,"quantity":0}]}`, "orders, record 1: quantity must be"},
		{`{"orders":[{"id":1,"shipDate":"soon"}]}`, "orders, record 1: shipDate must be an RFC 33"},
		{`{"orders":[{"id":1,"color":1}]}`, `orders, record 1: The field "color"` + notThere},
	} {
		t.Run(test.file, func(t *testing.T) {
			path := freshFile(t)
			write(t, path, test.file)
			write(t, path+".saving-1", "perhaps the only whole copy")
			_, err := openStore(path, log.New(t.Output(), "", 0))
			got, named := strings.CutPrefix(fmt.Sprint(err), path+": ")
			if !named || !strings.Contains(got, test.want) || strings.Contains(got, "\n") {
				t.Errorf("error %v, want %s", err, test.want)
			}
			same(t, "the file", test.file, read(t, path))
			same(t, "files", []string{"petstore.json", "petstore.json.saving-1"},
				files(t, filepath.Dir(path)))
		})
	}
}

// If no file can be read at its path, and none written, a start fails with one line that names the
// path, and leaves no file.
func TestRefusedPaths(t *testing.T) {
	directory := t.TempDir()
	in := func(name string) string { return filepath.Join(directory, name) }
	write(t, in("plain"), "")
	os.Mkdir(in("directory"), 0o755)
	if err := os.Symlink("loop", in("loop")); err != nil {
		t.Skip(err)
	}
	before := files(t, directory)
	for _, test := range []struct{ name, want string }{
		{"directory", "is a directory"},
		{"loop", "too many levels of symbolic links"},
		{"none/petstore.json", ": its directory does not exist"},
		{"none/none/petstore.json", ": its directory does not exist"},
		{"plain/petstore.json", "not a directory"},
		{strings.Repeat("x", 300), "name too long"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := openStore(in(test.name), log.New(t.Output(), "", 0))
			got := fmt.Sprint(err)
			if !strings.Contains(got, in(test.name)) || !strings.Contains(got, test.want) ||
				strings.Contains(got, "\n") || strings.Contains(got, ".saving-") {
				t.Errorf("error %s, want %s", got, test.want)
			}
		})
	}
	same(t, "files", before, files(t, directory))
}

// A person may leave out what has a default, and put the records in any order. Of the status of an
// inventory item the pet's counts.
func TestEditedFile(t *testing.T) {
	s := serviceOn(t, `{
		"inventory": [
			{"petId": 9, "quantity": 5, "status": "sold"}, {"petId": 3, "quantity": 4}],
		"orders": [{"id": 9, "petId": 700}],
		"lastOrderId": 12,
		"pets": [
			{"id": 700, "name": "p", "categoryId": 2},
			{"id": 9, "categoryId": 2, "name": "r", "status": "pending"},
			{"id": 3, "name": "q", "categoryId": 2, "status": "sold"}],
		"categories": [{"id": 2, "name": "c"}]}`)
	s.expect("GET /pets", "", 200, `[{"id":3,"name":"q","categoryId":2,"status":"sold"},
		{"id":9,"name":"r","categoryId":2,"status":"pending"},
		{"id":700,"name":"p","categoryId":2,"status":"available"}]`)
	const third = `{"petId":3,"quantity":4,"status":"sold"}`
	const ninth = `{"petId":9,"quantity":5,"status":"pending"}`
	const last = `{"petId":700,"quantity":0,"status":"available"}`
	for after, want := range map[string]string{
		"0": "[" + third + "," + ninth + "," + last + "]",
		"3": "[" + ninth + "," + last + "]", "8": "[" + ninth + "," + last + "]",
		"9": "[" + last + "]", "699": "[" + last + "]", "700": "[]", "701": "[]",
	} {
		s.expect("GET /inventory?after="+after, "", 200, want)
	}
	for _, id := range []string{"1", "8", "10", "701"} {
		s.expect("GET /pets/"+id, "", 404, "does not exist")
		s.expect("DELETE /pets/"+id, "", 404, "does not exist")
	}
	s.expect("DELETE /pets/9", "", 204, "")
	s.expect("GET /inventory", "", 200, "["+third+","+last+"]")
	s.expect("POST /store/orders", `{}`, 201, `{"id":13,"complete":false}`)
	s.expect("POST /pets", `{"name":"n","categoryId":2}`, 201,
		`{"id":701,"name":"n","categoryId":2,"status":"available"}`)
	expectSaved(t, s.store)

	s = serviceOn(t, `{}`)
	for _, list := range []string{"/pets", "/categories", "/store/orders", "/inventory"} {
		s.expect("GET "+list, "", 200, "[]")
	}
	s.expect("POST /categories", `{"name":"c"}`, 201, `{"id":1,"name":"c"}`)
}

// Once the last id is assigned, no more are, not even after a restart or a deletion.
func TestLastID(t *testing.T) {
	for _, test := range []struct{ last, path, body string }{
		{"lastCategoryId", "/categories", birds},
		{"lastPetId", "/pets", kiwi},
		{"lastOrderId", "/store/orders", `{}`},
	} {
		t.Run(test.last, func(t *testing.T) {
			s := serviceOn(t, `{"categories":[{"id":1,"name":"c"}],"`+test.last+`":2147483646}`)
			last := test.path + "/2147483647"
			same(t, "Location", last, s.do("POST "+test.path, test.body).Header.Get("Location"))
			for _, deletion := range []int{204, 404} {
				s.expect("POST "+test.path, test.body, 503,
					"No ids are left: the last one is 2147483647.")
				s = newService(t, s.store.path)
				s.expect("POST "+test.path, test.body, 503, "No ids are left")
				same(t, "status of a deletion", deletion, s.do("DELETE "+last, "").StatusCode)
			}
		})
	}
}

// Once a server has found the file valid, it removes what killed servers left, and no other file.
func TestLeftoversOfACrash(t *testing.T) {
	for _, name := range []string{"petstore.json", "a*b.json"} { // the second looks like a pattern
		path := filepath.Join(t.TempDir(), "[a-z]", name) // and so does its directory
		if err := os.Mkdir(filepath.Dir(path), 0o755); err != nil {
			t.Skip(err)
		}
		for _, ending := range []string{".saving-", ".saving-0", ".saving-4294967295"} {
			write(t, path+ending, "half")
		}
		want := []string{"2026", name, name + ".bak", name + ".saving", name + "saving-1",
			"axb.json.saving-1", "x" + name + ".saving-1"}
		slices.Sort(want)
		for _, name := range want {
			write(t, filepath.Join(filepath.Dir(path), name), `{}`)
		}
		s := open(t, path)
		same(t, "files", want, files(t, filepath.Dir(path)))
		if err := addCategory(s, "Birds"); err != nil {
			t.Error(err)
		}
		same(t, "files after a save", want, files(t, filepath.Dir(path)))
	}
	path := freshFile(t)
	write(t, path+".saving-1", "perhaps the only copy, since there is no file")
	open(t, path)
	want := []string{"petstore.json", "petstore.json.saving-1"}
	same(t, "files after the first start", want, files(t, filepath.Dir(path)))
}

// A new file is for its owner only. Saves keep the permission bits that the file has, including
// those that it gets while the server runs.
func TestModeOfTheFile(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no such bits")
	}
	s := open(t, freshFile(t))
	expectMode := func(want fs.FileMode) {
		t.Helper()
		if info, err := os.Stat(s.path); err != nil || info.Mode() != want {
			t.Errorf("mode %v, want %v; %v", info.Mode(), want, err)
		}
	}
	expectMode(0o600)
	for _, mode := range []fs.FileMode{0o644, 0o666, 0o440} {
		if err := errors.Join(os.Chmod(s.path, mode), addCategory(s, "Birds")); err != nil {
			t.Fatal(err)
		}
		expectMode(mode)
	}
}

// A symbolic link is read, but a save does not follow it: the file takes its place.
func TestSymbolicLink(t *testing.T) {
	directory := t.TempDir()
	target, link := filepath.Join(directory, "target.json"), freshFile(t)
	write(t, target, `{"categories":[{"id":7,"name":"Birds"}]}`)
	if err := os.Symlink(target, link); err != nil {
		t.Skip(err)
	}
	before := read(t, target)
	s := newService(t, link)
	s.expect("POST /categories", `{"name":"Fish"}`, 201, `{"id":8,"name":"Fish"}`)
	if _, err := os.Readlink(link); err == nil {
		t.Error("the link is still there")
	}
	same(t, "the target", before, read(t, target))
	expectSaved(t, s.store)
}

// Whoever holds a state may read it while writers go on, and sees none of what they add, replace
// and remove.
func TestOldStatesStay(t *testing.T) {
	s := open(t, "")
	var readers sync.WaitGroup
	var done atomic.Bool
	for range 2 {
		readers.Go(func() {
			for !done.Load() {
				old := s.view()
				if before := text(t, old); text(t, old) != before {
					t.Error("an old state has changed")
				}
			}
		})
	}
	for range 50 {
		for _, change := range []func(*state){
			func(next *state) { next.addPet(next.pets.last+1, NewPet{"one", 1, Sold}) },
			func(next *state) { next.addPet(next.pets.last+1, NewPet{"two", 1, Sold}) },
			func(next *state) { next.replacePet(next.pets.last-1, NewPet{"old", 1, Pending}) },
			func(next *state) { next.removePet(next.pets.last) },
		} {
			old := s.view()
			before := text(t, old)
			next := s.begin()
			change(next)
			s.commit(next)
			s.end()
			same(t, "the old state", before, text(t, old))
		}
	}
	done.Store(true)
	readers.Wait()
}

// checkSnapshot reports whether a snapshot can be read. If it cannot, the error must be one line;
// if it can, what is written of it must be read as the same.
func checkSnapshot(t testing.TB, snapshot []byte) bool {
	t.Helper()
	st, err := parse(snapshot)
	if err != nil {
		if fault := err.Error(); fault == "" || strings.Contains(fault, "\n") {
			t.Fatalf("error %q for %s", fault, snapshot)
		}
		return false
	}
	written := text(t, st)
	again, err := parse([]byte(written))
	if err != nil {
		t.Fatalf("its own snapshot is refused: %v\n%s", err, written)
	}
	same(t, "a snapshot of a snapshot", written, text(t, again))
	return true
}

// No beginning of a file is a file, and other damage does no harm.
func TestDamagedSnapshot(t *testing.T) {
	whole := bytes.TrimSpace(sample)
	for i := range whole {
		if checkSnapshot(t, whole[:i]) {
			t.Fatalf("a file that is cut off at byte %d is read", i)
		}
		for _, flip := range []byte{0x01, 0x10, 0x80} {
			damaged := bytes.Clone(whole)
			damaged[i] ^= flip
			checkSnapshot(t, damaged)
		}
	}
}

func FuzzSnapshot(f *testing.F) {
	f.Add(sample)
	f.Add([]byte(`{"lastPetId":5,"pets":[null]}`))
	f.Fuzz(func(t *testing.T, data []byte) { checkSnapshot(t, data) })
}

// An order that is accepted means what encoding/json says, and can be sent again as it is shown.
func FuzzBody(f *testing.F) {
	for _, seed := range []string{
		``, `{}`, `null`, `[]`,
		`{"id":1,"petId":2,"quantity":3,"shipDate":"2030-01-01T00:00:00Z","complete":true}`,
		`{"quantity":1.0}`, `{"quantity":1e2}`, `{"quantity":-0}`, `{"petId":9223372036854775807}`,
		`{"complete":null}`, `{"ID":1}`, `{"id":"1","id":1}`, `{"shipDate":"\ud800"}`, `{"a":[{}]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var got, want, again Order
		if err := decode(data, &got); err != nil {
			if e, ok := err.(*Error); !ok || e.Status != 400 || len(e.Message) > 300 {
				t.Errorf("%q: %v", data, err)
			}
			return
		}
		if err := json.Unmarshal(data, &want); err != nil {
			t.Errorf("%q is accepted: %v", data, err)
		}
		same(t, string(data), want, got)
		if err := decode(encode(got), &again); err != nil {
			t.Errorf("%q is accepted, but not what is shown of it: %v", data, err)
		}
		same(t, string(data), got, again)
	})
}
