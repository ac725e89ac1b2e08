package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

const aCategory = `{"name":"Birds"}`

// snapshotOf returns the snapshot of a state.
func snapshotOf(t testing.TB, st *state) string {
	t.Helper()
	return string(st.format())
}

// breakDisk makes every save to the file fail, for root too, by putting a plain file in the place
// of its directory. The function that it returns undoes that.
func breakDisk(t testing.TB, path string) (mend func()) {
	t.Helper()
	directory := filepath.Dir(path)
	must(t, os.Rename(directory, directory+".away"))
	writeFile(t, directory, "")
	return func() {
		t.Helper()
		os.Remove(directory)
		must(t, os.Rename(directory+".away", directory))
	}
}

// expectSaved expects that the file holds the current state, and that nothing else is in its
// directory.
func expectSaved(t testing.TB, s *store) {
	t.Helper()
	equal(t, "the file", snapshotOf(t, s.view()), contentOf(t, s.path))
	equal(t, "files", []string{filepath.Base(s.path)}, namesIn(t, filepath.Dir(s.path)))
}

// saveCategory adds a category, as the handler of an operation does.
func saveCategory(s *store) error {
	_, err := s.addCategory(Category{Name: "Birds"})
	return err
}

// A change is a request that changes the store. With its id in the place of ID, it succeeds on the
// sample.
type change struct{ id, request, body string }

func (c change) with(id string) (request, body string) {
	return strings.ReplaceAll(c.request, "ID", id), strings.ReplaceAll(c.body, "ID", id)
}

var changes = []change{
	{"", "POST /categories", aCategory},
	{"1", "PUT /categories/ID", aCategory},
	{"4", "DELETE /categories/ID", ""},
	{"2", "POST /pets", `{"name":"Kiwi","categoryId":ID}`},
	{"2", "PUT /pets/ID", `{"name":"Kiwi","categoryId":ID}`},
	{"2", "PATCH /inventory/ID", `{"quantity":77}`},
	{"3", "DELETE /pets/ID", ""},
	{"1", "POST /store/orders", `{"petId":ID}`},
	{"2", "PUT /store/orders/ID", `{}`},
	{"2", "PUT /store/orders/ID", `{"petId":ID,"complete":true}`},
	{"2", "DELETE /store/orders/ID", ""},
}

// What is true of the states between many changes, of which some are refused.
func TestState(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	s := newService(t, Options{})
	var states []*state
	var snapshots []string // each made when its state was the current one
	for range 200 {
		now := s.store.view()
		states, snapshots = append(states, now), append(snapshots, snapshotOf(t, now))
		test := changes[random.IntN(len(changes))]
		s.do(test.with(fmt.Sprint(1 + random.Int64N(now.pets.lastID))))
	}
	t.Run("stays as it was for who holds it while writers go on", func(t *testing.T) {
		for i, old := range states {
			equal(t, "the old state", snapshots[i], snapshotOf(t, old))
		}
	})
	t.Run("has no pet without its category and no order without its pet", func(t *testing.T) {
		for _, snapshot := range snapshots {
			equal(t, "it can be read again", true, checkSnapshot(t, []byte(snapshot)))
		}
	})
}

func TestUpdate(t *testing.T) {
	s := newService(t, Options{Data: freshPath(t)})
	t.Run("a panic is a 500, changes nothing, is logged, and no read sees it", func(t *testing.T) {
		before := snapshotOf(t, s.store.view())
		boom := func(*http.Request) (response, error) {
			return respond(update(s.store, func(next *state) (*record[Category], error) {
				next.categories.remove(4)
				equal(t, "a read during the change", 200, s.do("GET /categories/4", "").StatusCode)
				panic("boom")
			}))
		}
		s.mux.Handle("/boom", s.api(boom))
		s.expect("POST /boom", "", 500, "internal_error: ")
		logged := regexp.MustCompile(`(?s)^panic: boom\ngoroutine .*store_test\.go:`)
		equal(t, "it is logged", true, logged.MatchString(s.log.String()))
		equal(t, "the state", before, snapshotOf(t, s.store.view()))
		expectSaved(t, s.store)
	})
	t.Run("each write is in the file when it is acknowledged", func(t *testing.T) {
		for _, test := range changes {
			s.do(test.with(test.id))
			expectSaved(t, s.store)
		}
	})
	t.Run("a restart reads what was saved", func(t *testing.T) {
		s.do("POST /categories", "{"+strange)
		s.do("POST /store/orders", `{"shipDate":"2030-01-01T00:00:00.123456789+01:00"}`)
		equal(t, "after a restart", snapshotOf(t, s.store.view()),
			snapshotOf(t, newService(t, Options{Data: s.store.path}).store.view()))
	})
	t.Run("none gets lost among many at once", func(t *testing.T) {
		first := len(s.store.view().categories.records)
		var writers sync.WaitGroup
		for range 8 {
			writers.Go(func() {
				for range 5 {
					equal(t, "error", nil, saveCategory(s.store))
					snapshotOf(t, s.store.view()) // a race detector sees both
				}
			})
		}
		writers.Wait()
		equal(t, "new categories", 8*5, len(s.store.view().categories.records)-first)
		expectSaved(t, s.store)
	})
}

func TestSnapshot(t *testing.T) {
	t.Run("is one record a line, and at first the sample", func(t *testing.T) {
		s := newService(t, Options{Data: freshPath(t)})
		equal(t, "the file", contentOf(t, "docs/sample.json"), contentOf(t, s.store.path))
	})
	t.Run("has each record as clients get it, and the stock behind a pet", func(t *testing.T) {
		for _, target := range []string{"/categories", "/pets", "/store/orders"} {
			list, _ := io.ReadAll(newService(t, Options{}).do("GET "+target, "").Body)
			for _, line := range strings.Split(strings.Trim(string(list), "[]\n"), ",\n") {
				contains(t, "the file", string(builtInSample), "\n"+strings.TrimSuffix(line, "}"))
			}
		}
	})
	t.Run("cut off anywhere is refused, and other damage does no harm", func(t *testing.T) {
		whole := bytes.TrimSpace(builtInSample)
		for i := range whole {
			if checkSnapshot(t, whole[:i]) {
				t.Fatalf("a file that is cut off at byte %d is read", i)
			}
			damaged := bytes.Clone(whole)
			damaged[i] ^= 1 << (i % 8)
			checkSnapshot(t, damaged)
		}
	})
}

// checkSnapshot reports whether a snapshot can be read. If it cannot, the error must be one line;
// if it can, what is written of it must be read as the same.
func checkSnapshot(t testing.TB, data []byte) bool {
	t.Helper()
	st, err := parse(data)
	if err != nil {
		if fault := err.Error(); fault == "" || strings.Contains(fault, "\n") {
			t.Fatalf("error %q for %s", fault, data)
		}
		return false
	}
	written := snapshotOf(t, st)
	again, err := parse([]byte(written))
	must(t, err)
	equal(t, "a snapshot of a snapshot", written, snapshotOf(t, again))
	return true
}

func FuzzSnapshot(f *testing.F) {
	f.Add(builtInSample)
	f.Add([]byte(`{"lastPetId":5,"pets":[null]}`))
	f.Fuzz(func(t *testing.T, data []byte) { checkSnapshot(t, data) })
}

func TestIDs(t *testing.T) {
	t.Run("are never used again, not after a restart either", func(t *testing.T) {
		s := newService(t, Options{Data: freshPath(t)})
		s.expect("DELETE /categories/4", "", 204, "")
		s = newService(t, Options{Data: s.store.path})
		s.expect("POST /categories", aCategory, 201, `{"id":5,"name":"Birds"}`)
	})
	t.Run("go on where the largest in a file ends", func(t *testing.T) {
		s := newService(t, Options{Data: writeFile(t, freshPath(t), `{"categories":[{"id":4611686018427387904,"name":"c"}],
			"lastPetId":4611686018427387904,"lastOrderId":2147483647}`)})
		s.expect("POST /categories", aCategory, 201, `{"id":4611686018427387905,"name":"Birds"}`)
		s.expect("POST /pets", `{"name":"x","categoryId":4611686018427387904}`, 201,
			`{"id":4611686018427387905,"name":"x","categoryId":4611686018427387904,`+
				`"status":"available"}`)
		s.expect("POST /store/orders", `{}`, 201, `{"id":2147483648,"complete":false}`)
	})
}

// A person may edit the file while the server is down.
func TestEditedFile(t *testing.T) {
	s := newService(t, Options{Data: writeFile(t, freshPath(t), `{
		"orders": [{"id": 9, "petId": 700}],
		"lastOrderId": 12,
		"lastPetId": 5,
		"pets": [
			{"id": 700, "name": "p", "categoryId": 2},
			{"quantity": 5, "id": 9, "categoryId": 2, "name": "r", "status": "pending"},
			{"id": 3, "name": "q", "categoryId": 2, "status": "sold", "quantity": 4}],
		"categories": [{"id": 2, "name": "c"}]}`)})
	t.Run("may have its lists, records and fields in any order", func(t *testing.T) {
		s.t = t
		s.expect("GET /pets", "", 200, `[{"id":3,"name":"q","categoryId":2,"status":"sold"},
			{"id":9,"name":"r","categoryId":2,"status":"pending"},
			{"id":700,"name":"p","categoryId":2,"status":"available"}]`)
	})
	t.Run("may leave out a stock, a status, and what is false", func(t *testing.T) {
		s.t = t
		s.expect("GET /inventory/700", "", 200,
			`{"petId":700,"quantity":0,"status":"available"}`)
		s.expect("GET /store/orders", "", 200, `[{"id":9,"petId":700,"complete":false}]`)
	})
	t.Run("may have no last id, or one above or below its records", func(t *testing.T) {
		s.t = t
		s.expect("POST /categories", aCategory, 201, `{"id":3,"name":"Birds"}`)
		s.expect("POST /store/orders", `{}`, 201, `{"id":13,"complete":false}`)
		s.expect("POST /pets", `{"name":"n","categoryId":2}`, 201,
			`{"id":701,"name":"n","categoryId":2,"status":"available"}`)
	})
	t.Run("may be {}, a store without records, whose ids begin with 1", func(t *testing.T) {
		s := newService(t, Options{Data: writeFile(t, freshPath(t), "{}")})
		s.expect("POST /categories", aCategory, 201, `{"id":1,"name":"Birds"}`)
		s.expect("POST /pets", `{"name":"n","categoryId":1}`, 201,
			`{"id":1,"name":"n","categoryId":1,"status":"available"}`)
		s.expect("POST /store/orders", `{}`, 201, `{"id":1,"complete":false}`)
	})
}

// expectRefused expects that a file with this content stops the start with one line, which names
// the file and begins as wanted behind that, and that the file is left as it is.
func expectRefused(t *testing.T, content, want string) {
	t.Helper()
	path := freshPath(t)
	writeFile(t, path, content)
	_, err := openStore(path, "", nil)
	got := fmt.Sprint(err)
	if !strings.HasPrefix(got, path+": "+want) || strings.Contains(got, "\n") {
		t.Errorf("error %s\nwant  %s: %s", got, path, want)
	}
	equal(t, "the file", content, contentOf(t, path))
	equal(t, "files", []string{"petstore.json"}, namesIn(t, filepath.Dir(path)))
}

func TestBrokenFile(t *testing.T) {
	const (
		malformed = "The JSON is malformed on line "
		range62   = " must be from 0 to 4611686018427387904."
	)
	begin := map[string]string{ // of a file, up to record 2 of a list
		"categories": `{"categories":[{"id":1,"name":"c"},`,
		"pets": `{"categories":[{"id":1,"name":"c"}],` +
			`"pets":[{"id":1,"name":"p","categoryId":1},`,
		"orders": `{"orders":[{"id":1},`,
	}
	for _, test := range []struct{ list, fault, text, want string }{ // without a list, of the file
		{"", "empty", "", "The JSON is empty; it must be"},
		{"", "byte order mark", "\ufeff{}", "The JSON begins with a byte order mark"},
		{"", "malformed", "{\n\"pets\":[\n{\"id\":1,,}]}", malformed + "3, at byte 9: ',' is not"},
		{"", "null", "null", "The JSON must be a single object."},
		{"", "pets an object", `{"pets":{}}`, "pets must be an array."},
		{"", "orders null", `{"orders":null}`, "orders must be an array."},
		{"", "last category id above", `{"lastCategoryId":4611686018427387905}`,
			"lastCategoryId" + range62},
		{"", "last pet id above", `{"lastPetId":4611686018427387905}`, "lastPetId" + range62},
		{"", "last order id above", `{"lastOrderId":4611686018427387905}`, "lastOrderId" + range62},
		{"", "last category id below", `{"lastCategoryId":-1}`, "lastCategoryId" + range62},
		{"", "last pet id below", `{"lastPetId":-1}`, "lastPetId" + range62},
		{"", "last order id below", `{"lastOrderId":-1}`, "lastOrderId" + range62},
		{"", "unknown list", `{"inventory":[]}`, `The field "inventory" is unknown`},
		{"", "list given twice", `{"pets":[],"pets":[]}`, `The field "pets" appears twice`},
		{"categories", "null", `null`, "The JSON must be a single object."},
		{"categories", "field twice", `{"id":2,"id":2}`, `The field "id" appears twice`},
		{"categories", "id above", `{"id":4611686018427387905,"name":"c"}`, "id must be from 1"},
		{"categories", "no id", `{"name":"c"}`, "id must be from 1 to 4611686018427387904."},
		{"categories", "id of another", `{"id":1,"name":"c"}`, "Another record has the id 1."},
		{"pets", "category missing", `{"id":2,"name":"p","categoryId":2}`, "categoryId 2 does not"},
		{"pets", "stock below 0", `{"id":2,"name":"p","categoryId":1,"quantity":-1}`, "quantity m"},
		{"pets", "unknown field", `{"id":2,"color":1}`, `The field "color" is unknown`},
		{"orders", "pet missing", `{"id":2,"petId":9}`, "petId 9 does not exist"},
		{"orders", "no date", `{"id":2,"shipDate":"soon"}`, "shipDate must be an RFC 3339"},
	} {
		t.Run(strings.TrimSpace(test.list+" "+test.fault), func(t *testing.T) {
			file, want := test.text, test.want
			if test.list != "" {
				file, want = begin[test.list]+test.text+"]}", test.list+", record 2: "+want
			}
			expectRefused(t, file, want)
		})
	}
	t.Run("is told in the words that a body gets", func(t *testing.T) {
		for _, record := range []string{`{"name":5}`, `{"name":"c","color":1}`, `[]`} {
			body, _ := io.ReadAll(newService(t, Options{}).do("POST /categories", record).Body)
			_, message, _ := strings.Cut(errorIn(body), ": ")
			expectRefused(t, `{"categories":[`+record+`]}`, "categories, record 1: "+message)
		}
	})
}

// If no file can be read at its path, and none written, the start fails with one line that names
// the path, and leaves no file.
func TestRefusedPath(t *testing.T) {
	t.Chdir(t.TempDir())
	must(t, os.Mkdir("directory", 0o755))
	for _, test := range []struct{ rule, path, want string }{
		{"a directory", "directory", " is not a regular file"},
		{"a device", os.DevNull, " is not a regular file"},
		{"in no directory", "none/petstore.json", " cannot be created: open "},
		{"a name too long for a temporary file", strings.Repeat("x", 250), " cannot be created: "},
	} {
		t.Run(test.rule, func(t *testing.T) {
			_, err := openStore(test.path, "", nil)
			contains(t, "the error", fmt.Sprint(err), test.path+test.want)
			equal(t, "files", []string{"directory"}, namesIn(t, "."))
		})
	}
}

// What a save leaves beside the file, and what it leaves as it is.
func TestDataFile(t *testing.T) {
	t.Run("is private at first, and keeps the permission bits that it gets", func(t *testing.T) {
		if runtime.GOOS == "windows" {
			t.Skip("Windows has no such bits")
		}
		s := newService(t, Options{Data: freshPath(t)}).store
		info, err := os.Stat(s.path)
		must(t, err)
		equal(t, "first mode", fs.FileMode(0o600), info.Mode())
		for _, mode := range []fs.FileMode{0o644, 0o666, 0o640} {
			must(t, errors.Join(os.Chmod(s.path, mode), saveCategory(s)))
			info, err := os.Stat(s.path)
			must(t, err)
			equal(t, "mode", mode, info.Mode())
		}
	})
	t.Run("is what a symbolic link leads to", func(t *testing.T) {
		target, link := freshPath(t), freshPath(t)
		writeFile(t, target, "{}")
		if err := os.Symlink(target, link); err != nil {
			t.Skip(err)
		}
		s := newService(t, Options{Data: link})
		s.expect("POST /categories", aCategory, 201, `{"id":1,"name":"Birds"}`)
		leadsTo, err := os.Readlink(link)
		must(t, err)
		equal(t, "the link leads to", target, leadsTo)
		equal(t, "the target", snapshotOf(t, s.store.view()), contentOf(t, target))
	})
	t.Run("takes the place of a link to nothing", func(t *testing.T) {
		link := freshPath(t)
		if err := os.Symlink("nothing", link); err != nil {
			t.Skip(err)
		}
		newService(t, Options{Data: link}).expect("DELETE /pets/5", "", 204, "")
		info, err := os.Lstat(link)
		must(t, err)
		equal(t, "it is a regular file", true, info.Mode().IsRegular())
	})
	t.Run("is in the directory of the start if its name is relative", func(t *testing.T) {
		t.Chdir(t.TempDir())
		s := newService(t, Options{Data: "petstore.json"})
		begin, err := os.Getwd()
		must(t, err)
		t.Chdir(t.TempDir())
		s.expect("DELETE /pets/5", "", 204, "")
		equal(t, "files here", []string(nil), namesIn(t, "."))
		equal(t, "files there", []string{"petstore.json"}, namesIn(t, begin))
	})
	t.Run("is not written if nobody may write it, by root neither", func(t *testing.T) {
		path := freshPath(t)
		writeFile(t, path, "{}")
		must(t, os.Chmod(path, 0o444))
		s := newService(t, Options{Data: path})
		equal(t, "log of the start", path+" is read-only, so every write will fail\n",
			s.log.String())
		s.expect("POST /categories", aCategory, 503, "save_failed: ")
		equal(t, "the file", "{}", contentOf(t, path))
		must(t, os.Chmod(path, 0o644))
		s.expect("POST /categories", aCategory, 201, `{"id":1,"name":"Birds"}`)
	})
	t.Run("has nothing to do with what a killed server left", func(t *testing.T) {
		path := freshPath(t)
		writeFile(t, path+".saving-1", "half of it")
		must(t, saveCategory(newService(t, Options{Data: path}).store))
		equal(t, "the leftover", "half of it", contentOf(t, path+".saving-1"))
		equal(t, "files", []string{"petstore.json", "petstore.json.saving-1"},
			namesIn(t, filepath.Dir(path)))
	})
	t.Run("is written again if it was deleted", func(t *testing.T) {
		s := newService(t, Options{Data: freshPath(t)})
		os.Remove(s.store.path)
		s.expect("GET /categories?after=4", "", 200, "[]")
		s.expect("POST /categories", aCategory, 201, `{"id":5,"name":"Birds"}`)
		expectSaved(t, s.store)
		equal(t, "log", "", s.log.String())
	})
}

func TestFailedSave(t *testing.T) {
	s := newService(t, Options{Data: freshPath(t)})
	before := snapshotOf(t, s.store.view())
	mend := breakDisk(t, s.store.path)
	for _, test := range changes {
		t.Run("undoes and logs "+test.request, func(t *testing.T) {
			s.t = t
			s.log.Reset()
			request, body := test.with(test.id)
			s.expect(request, body, 503, "save_failed: ")
			equal(t, "lines of the log", 1, strings.Count(s.log.String(), "\n"))
			equal(t, "the state", before, snapshotOf(t, s.store.view()))
		})
	}
	t.Run("lets reads and refusals go on, and health stays 200", func(t *testing.T) {
		s.t = t
		equal(t, "health", 200, s.do("GET /healthz", "").StatusCode)
		s.expect("GET /inventory/1", "", 200, `{"petId":1,"quantity":3,"status":"available"}`)
		s.expect("DELETE /pets/4", "", 409, "in_use: ")
	})
	t.Run("leaves the file as it was, and is tried again by the next write", func(t *testing.T) {
		s.t = t
		mend()
		equal(t, "the file", before, contentOf(t, s.store.path))
		s.expect("POST /categories", aCategory, 201, `{"id":5,"name":"Birds"}`)
		expectSaved(t, s.store)
	})
	t.Run("is refused if nobody can tell what the file is", func(t *testing.T) {
		s := newService(t, Options{Data: freshPath(t)})
		os.Remove(s.store.path)
		if err := os.Symlink(s.store.path, s.store.path); err != nil { // a loop
			t.Skip(err)
		}
		s.expect("POST /categories", aCategory, 503, "save_failed: ")
	})
}

const changed = "Another program has changed the data file, so this change was not saved; " +
	"restart the server to read the file."

// A file that another program has changed is left alone, and writes are refused until a restart.
func TestChangedFile(t *testing.T) {
	for _, test := range []struct {
		rule    string
		content string // longer, shorter and as long as the sample
	}{
		{"is noticed if it is longer", string(builtInSample) + " "},
		{"is noticed if it is shorter", "{}"},
		{"is noticed if one byte differs", strings.Replace(string(builtInSample), "Rex", "Max", 1)},
	} {
		t.Run(test.rule, func(t *testing.T) {
			s := newService(t, Options{Data: freshPath(t)})
			path := s.store.path
			info, err := os.Stat(path)
			must(t, err)
			writeFile(t, path, test.content)
			must(t, os.Chtimes(path, info.ModTime(), info.ModTime()))
			for range 2 {
				s.log.Reset()
				s.expect("DELETE /pets/5", "", 503, "file_changed: ")
				equal(t, "log", "save failed: "+changed+"\n", s.log.String())
			}
			s.expect("GET /inventory/5", "", 200, `{"petId":5,"quantity":12,"status":"available"}`)
			equal(t, "the file", test.content, contentOf(t, path))
			equal(t, "files", []string{"petstore.json"}, namesIn(t, filepath.Dir(path)))
			newService(t, Options{Data: path}).expect("GET /categories?after=4", "", 200, "[]")
		})
	}
	t.Run("is not changed if it is another one with the same bytes and another time",
		func(t *testing.T) {
			s := newService(t, Options{Data: freshPath(t)})
			must(t, os.Rename(s.store.path, s.store.path+".old")) // which keeps its inode in use
			writeFile(t, s.store.path, contentOf(t, s.store.path+".old"))
			must(t, os.Chtimes(s.store.path, time.Unix(1, 0), time.Unix(1, 0)))
			s.expect("DELETE /pets/5", "", 204, "")
		})
	t.Run("is noticed if another first start wrote it", func(t *testing.T) {
		path := freshPath(t)
		starting, err := openStore("", "", nil)
		must(t, err)
		starting.path = path
		writeFile(t, path, string(builtInSample))
		err = starting.create()
		equal(t, "error", path+" cannot be created: another server has just written it; "+
			"start again", fmt.Sprint(err))
		equal(t, "the file", string(builtInSample), contentOf(t, path))
	})
}

// The file of two servers is whole at every instant. One of them soon stops saving, and what the
// other one has acknowledged is in the file.
func TestTwoServersOnOneFile(t *testing.T) {
	path := freshPath(t)
	options := Options{Data: path}
	stores := []*store{newService(t, options).store, newService(t, options).store}
	var writers sync.WaitGroup
	for _, s := range stores {
		writers.Go(func() {
			for range 30 {
				saveCategory(s)
				data, err := os.ReadFile(path)
				if _, fault := parse(data); err == nil && fault != nil {
					t.Errorf("the file is torn: %v", fault)
				}
			}
		})
	}
	writers.Wait()
	owners := 0
	for _, s := range stores {
		if err := saveCategory(s); err == nil {
			owners++
			expectSaved(t, s)
		} else {
			equal(t, "error", changed, err.Error())
		}
	}
	equal(t, "servers that can save", 1, owners)
}

// The first records are those of the sample.
func TestSample(t *testing.T) {
	mine := filepath.Join(t.TempDir(), "mine.json")
	writeFile(t, mine, `{"categories":[{"id":7,"name":"Birds"}]}`)
	const birds = `[{"id":7,"name":"Birds"}]`
	t.Run("is in memory if there is no data file", func(t *testing.T) {
		s := newService(t, Options{Sample: mine})
		s.expect("GET /categories", "", 200, birds)
		s.expect("DELETE /categories/7", "", 204, "")
	})
	t.Run("is the first content of a data file", func(t *testing.T) {
		path := freshPath(t)
		newService(t, Options{Data: path, Sample: mine}).expect("GET /categories", "", 200, birds)
		newService(t, Options{Data: path}).expect("GET /categories", "", 200, birds)
	})
	t.Run("leaves a data file as it is", func(t *testing.T) {
		path := freshPath(t)
		writeFile(t, path, "{}")
		newService(t, Options{Data: path, Sample: mine}).expect("GET /categories", "", 200, "[]")
	})
	t.Run("is never written", func(t *testing.T) {
		equal(t, "the sample", `{"categories":[{"id":7,"name":"Birds"}]}`, contentOf(t, mine))
	})
	t.Run("stops the start if it cannot be read, needed or not", func(t *testing.T) {
		path := freshPath(t)
		writeFile(t, path, "{}")
		_, err := New(Options{Data: path, Sample: mine + ".away"})
		contains(t, "the error", fmt.Sprint(err), mine+".away")
		writeFile(t, mine, `{"pets":5}`)
		_, err = New(Options{Data: path, Sample: mine})
		equal(t, "error", mine+": pets must be an array.", fmt.Sprint(err))
	})
}
