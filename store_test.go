package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf16"

	gocmp "github.com/google/go-cmp/cmp"
)

func open(t testing.TB, path string, synced bool) *Store {
	t.Helper()
	s, err := openStore(path, synced, log.New(t.Output(), "", 0))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func addCategory(s *Store, name string) error {
	return s.update(func(next *state) error {
		id := next.categories.last + 1
		next.categories.insert(id, newRecord(Category{ID: id, NewCategory: NewCategory{Name: name}}))
		return nil
	})
}

// text returns the snapshot of a state.
func text(t testing.TB, st *state) string {
	t.Helper()
	var b bytes.Buffer
	if err := st.writeTo(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
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

func TestSampleIsTheFirstSnapshot(t *testing.T) {
	path := filepath.Join(t.TempDir(), "petstore.json")
	defer open(t, path, true).Close()
	if diff := gocmp.Diff(read(t, "docs/sample.json"), read(t, path)); diff != "" {
		t.Errorf("snapshot (-want +got):\n%s", diff)
	}
}

// What was acknowledged is there after a restart, to the byte, and ids are not used again.
func TestReopen(t *testing.T) {
	for _, synced := range []bool{true, false} {
		path := filepath.Join(t.TempDir(), "petstore.json")
		s := newService(t, path, synced)
		s.expect(step{request: "POST /categories", body: `{"name":"<\u0000\u202e\u200b\"\\ 🐾>","description":""}`,
			status: 201, want: `{"id":5,"name":"<\u0000` + "\u202e\u200b" + `\"\\ 🐾>","description":""}`})
		s.expect(step{request: "POST /pets", body: `{"name":"Luna","categoryId":5,"status":"sold"}`,
			status: 201, want: `{"id":6,"name":"Luna","categoryId":5,"status":"sold"}`})
		s.expect(step{request: "PATCH /inventory/6", body: `{"quantity":9}`,
			status: 200, want: `{"petId":6,"quantity":9,"status":"sold"}`})
		s.expect(step{request: "POST /pets", body: `{"name":"Gone","categoryId":5}`,
			status: 201, want: `{"id":7,"name":"Gone","categoryId":5,"status":"available"}`})
		s.expect(step{request: "DELETE /pets/7", status: 204})
		s.expect(step{request: "POST /store/orders", body: `{"petId":6,"shipDate":"2030-01-01T00:00:00.10+01:00"}`,
			status: 201, want: `{"id":3,"petId":6,"shipDate":"2030-01-01T00:00:00.10+01:00","complete":false}`})
		before := text(t, s.store.view())
		if err := s.store.Close(); err != nil {
			t.Fatal(err)
		}
		s = newService(t, path, synced)
		if diff := gocmp.Diff(before, text(t, s.store.view())); diff != "" {
			t.Errorf("after a restart (-want +got):\n%s", diff)
		}
		s.expect(step{request: "POST /pets", body: `{"name":"Next","categoryId":5}`,
			status: 201, want: `{"id":8,"name":"Next","categoryId":5,"status":"available"}`})
		s.store.Close()
		if diff := gocmp.Diff([]string{"petstore.json"}, files(t, filepath.Dir(path))); diff != "" {
			t.Errorf("files (-want +got):\n%s", diff)
		}
	}
}

func TestSyncedWriteIsOnDiskWhenAcknowledged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "petstore.json")
	s := open(t, path, true)
	defer s.Close()
	var writers sync.WaitGroup
	for i := range 50 {
		writers.Go(func() {
			name := fmt.Sprintf("Kind %d.", i)
			if err := addCategory(s, name); err != nil {
				t.Error(err)
			}
			if !strings.Contains(read(t, path), name) {
				t.Errorf("%s is acknowledged but not in the file", name)
			}
		})
	}
	writers.Wait()
}

func TestUnsyncedWriteIsOnDiskWithinASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "petstore.json")
		s := open(t, path, false)
		defer s.Close()
		addCategory(s, "Birds")
		if strings.Contains(read(t, path), "Birds") {
			t.Error("the write waited for the disk")
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if !strings.Contains(read(t, path), "Birds") {
			t.Error("the write is not on disk after a second")
		}
	})
}

// breakDisk makes every save to the file fail, for root too, by putting a plain file in the place of its directory. The
// function that it returns undoes that.
func breakDisk(t testing.TB, path string) (mend func()) {
	t.Helper()
	directory := filepath.Dir(path)
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(os.Rename(directory, directory+".away"))
	check(os.WriteFile(directory, nil, 0o644))
	return func() {
		t.Helper()
		check(os.Remove(directory))
		check(os.Rename(directory+".away", directory))
	}
}

func TestFailedSave(t *testing.T) {
	for _, synced := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "petstore.json")
			s := newService(t, path, synced)
			defer s.store.Close()
			mend := breakDisk(t, path)
			s.do("PUT /pets/1", `{"name":"Unsure","categoryId":1}`) // acknowledged if writes do not wait
			time.Sleep(time.Second)
			synctest.Wait()
			before := text(t, s.store.view())
			s.expect(step{request: "POST /pets", body: `{"name":"Lost","categoryId":1}`,
				status: 503, want: "cannot save to its disk"})
			s.expect(step{request: "PUT /pets/1", body: `{"name":"Lost","categoryId":1}`,
				status: 503, want: "cannot save to its disk"})
			s.expect(step{request: "DELETE /pets/1", status: 503, want: "cannot save to its disk"})
			s.expect(step{request: "POST /categories", body: `{"name":"Lost"}`,
				status: 503, want: "cannot save to its disk"})
			s.expect(step{request: "PUT /categories/1", body: `{"name":"Lost"}`,
				status: 503, want: "cannot save to its disk"})
			s.expect(step{request: "POST /store/orders", body: `{}`, status: 503, want: "cannot save to its disk"})
			s.expect(step{request: "PUT /store/orders/2", body: `{}`, status: 503, want: "cannot save to its disk"})
			s.expect(step{request: "DELETE /store/orders/2", status: 503, want: "cannot save to its disk"})
			s.expect(step{request: "PATCH /inventory/1", body: `{"quantity":1}`,
				status: 503, want: "cannot save to its disk"})
			s.expect(step{request: "GET /healthz", status: 503, want: "cannot save to its disk"})
			s.expect(step{request: "GET /inventory/1",
				status: 200, want: `{"petId":1,"quantity":3,"status":"available"}`})
			if diff := gocmp.Diff(before, text(t, s.store.view())); diff != "" {
				t.Errorf("a write that got a 503 can be seen (-want +got):\n%s", diff)
			}
			time.Sleep(time.Minute)
			if got := strings.Count(s.log.String(), "saving failed: "); got != 1 {
				t.Errorf("the cause is logged %d times:\n%s", got, s.log)
			}

			mend()
			time.Sleep(time.Second) // it heals without a write
			synctest.Wait()
			s.expect(step{request: "GET /healthz", status: 200, want: `{"status":"ok"}`})
			s.expect(step{request: "POST /categories", body: `{"name":"Birds"}`,
				status: 201, want: `{"id":5,"name":"Birds"}`})
			time.Sleep(time.Second)
			synctest.Wait()
			if diff := gocmp.Diff(text(t, s.store.view()), read(t, path)); diff != "" {
				t.Errorf("the file (-want +got):\n%s", diff)
			}
		})
	}
}

// The first write after the fault is gone succeeds, without waiting for the store to heal.
func TestFirstWriteAfterAFault(t *testing.T) {
	for _, synced := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "petstore.json")
			s := open(t, path, synced)
			defer s.Close()
			mend := breakDisk(t, path)
			if err := addCategory(s, "Cows"); (err == nil) == synced {
				t.Errorf("synced %v: error %v", synced, err)
			}
			time.Sleep(time.Second)
			synctest.Wait()
			if err := addCategory(s, "Lost"); !errors.Is(err, errUnsaved) {
				t.Errorf("synced %v: error %v", synced, err)
			}
			mend()
			if err := addCategory(s, "Birds"); err != nil || s.lastFailure() != nil {
				t.Errorf("synced %v: error %v, still failing: %v", synced, err, s.lastFailure())
			}
			if diff := gocmp.Diff(text(t, s.view()), read(t, path)); diff != "" || strings.Contains(diff, "Lost") {
				t.Errorf("synced %v: the file (-want +got):\n%s", synced, diff)
			}
		})
	}
}

// A file that its owner keeps private stays so.
func TestModeOfTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "petstore.json")
	os.WriteFile(path, []byte("{}"), 0o600)
	s := open(t, path, true)
	defer s.Close()
	addCategory(s, "Birds")
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

func TestFileChangedByAnother(t *testing.T) {
	for name, change := range map[string]func(path string) error{
		"edited in place": func(path string) error { return os.WriteFile(path, []byte("{}\n"), 0o644) },
		"touched":         func(path string) error { return os.Chtimes(path, time.Time{}, time.Now().Add(time.Hour)) },
		"removed":         os.Remove,
		"replaced": func(path string) error {
			os.WriteFile(path+".new", []byte("{}\n"), 0o644)
			return os.Rename(path+".new", path)
		},
	} {
		for _, synced := range []bool{true, false} {
			t.Run(fmt.Sprint(name, ", synced ", synced), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					path := filepath.Join(t.TempDir(), "petstore.json")
					s := newService(t, path, synced)
					closeStore := sync.OnceValue(s.store.Close)
					defer closeStore()
					s.expect(step{request: "POST /categories", body: `{"name":"Birds"}`,
						status: 201, want: `{"id":5,"name":"Birds"}`})
					time.Sleep(time.Second)
					if err := change(path); err != nil {
						t.Fatal(err)
					}
					theirs, _ := os.ReadFile(path)
					if synced { // it is found before the write is acknowledged
						s.expect(step{request: "POST /pets", body: `{"name":"x","categoryId":1}`,
							status: 503, want: "cannot save to its disk"})
					}
					time.Sleep(time.Second)
					synctest.Wait()
					s.expect(step{request: "POST /pets", body: `{"name":"x","categoryId":1}`,
						status: 503, want: "cannot save to its disk"})
					s.expect(step{request: "GET /healthz", status: 503, want: "cannot save to its disk"})
					s.expect(step{request: "GET /categories/5", status: 200, want: `{"id":5,"name":"Birds"}`})
					if err := closeStore(); !errors.Is(err, errForeign) {
						t.Errorf("Close: %v", err)
					}
					if after, _ := os.ReadFile(path); !bytes.Equal(theirs, after) {
						t.Errorf("the file was overwritten")
					}
					if got := s.log.String(); got != "saving failed: "+errForeign.Error()+"\n" {
						t.Errorf("log: %s", got)
					}
				})
			})
		}
	}
}

func TestTwoStoresOnOneFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "petstore.json")
	a := open(t, path, true)
	b := open(t, path, true)
	var acknowledged sync.Map
	var writers sync.WaitGroup
	for name, s := range map[string]*Store{"a": a, "b": b} {
		for i := range 8 {
			writers.Go(func() {
				for n := range 20 {
					if name := fmt.Sprintf("%s %d %d.", name, i, n); addCategory(s, name) == nil {
						acknowledged.Store(name, true)
					}
				}
			})
		}
	}
	writers.Wait()
	errA, errB := a.Close(), b.Close()
	if (errA == nil) == (errB == nil) {
		t.Errorf("one of the two must have stopped saving: %v, %v", errA, errB)
	}
	file := read(t, path)
	n := 0
	for name := range acknowledged.Range {
		n++
		if !strings.Contains(file, name.(string)) {
			t.Fatalf("%s was acknowledged and is lost", name)
		}
	}
	if n < 80 { // the store that goes on may have met the other's lock a few times
		t.Errorf("only %d of 320 writes were acknowledged", n)
	}
}

func TestBrokenFile(t *testing.T) {
	pet := func(s string) string { return `{"categories":[{"id":1,"name":"c"}],"pets":[` + s + `]}` }
	for _, test := range []struct{ file, want string }{
		{``, `unexpected end of JSON input`},
		{`{`, `unexpected end of JSON input`},
		{`null`, `line 1: a snapshot must be one JSON object`},
		{`[]`, `line 1: a snapshot must be one JSON object`},
		{`{} {}`, `invalid character '{' after top-level value`},
		{`{"cats":[]}`, `line 1: cats: a snapshot has no such member`},
		{`{"Categories":[]}`, `line 1: Categories: a snapshot has no such member`},
		{"{\"pets\":[],\n\"pets\":[]}", `line 2: pets is given twice`},
		{`{"categories":{}}`, `line 1: categories: an array is required`},
		{"{\n\"categories\":[\n{\"id\":1,,\"name\":\"c\"}]}",
			`line 3: The JSON is malformed at byte 26: invalid character ','`},
		{`{"categories":[{"id":1,"name":"c"},{"id":1,"name":"c"}]}`, `line 1: categories: the id 1 is used twice`},
		{`{"categories":[{"id":0,"name":"c"}]}`, `the id 0 is not from 1 to 2147483647`},
		{`{"categories":[{"id":2147483648,"name":"c"}]}`, `the id 2147483648 is not from 1 to 2147483647`},
		{`{"categories":[{"id":1,"name":" "}]}`, `id 1: name must be`},
		{`{"categories":[{"id":1,"name":"c","color":1}]}`, `line 1: categories: json: unknown field "color"`},
		{"{\"categories\":[{\"id\":1,\"name\":\"\xff\"}]}", `UTF-8`},
		{pet(`{"id":1,"name":"p","categoryId":2}`), `pet 1: categoryId 2 does not exist`},
		{pet(`{"id":1,"name":"p"}`), `pet 1: categoryId 0 does not exist`},
		{pet(`{"id":1,"name":"p","categoryId":1,"status":"gone"}`), `line 1: pets: status must be`},
		{pet(`{"id":1,"name":"p","categoryId":1,"quantity":-1}`), `line 1: pets: id 1: quantity must be`},
		{pet("{\"id\":1,\n\"name\":5,\"categoryId\":1}"), `line 2: pets: name cannot be a JSON number`},
		{pet("{\"id\":1,\"name\":\"p\",\"categoryId\":1},\nnull"), `line 2: pets: the id 0 is not from 1 to`},
		{`{"lastIds":{},"lastIds":{}}`, `lastIds is given twice`},
		{`{"pets":null}`, `pets: an array is required`},
		{`{"lastIds":5}`, `line 1: lastIds: the value cannot be a JSON number`},
		{`{"lastIds":{"pets":2147483648}}`, `lastIds: they must be from 0 to 2147483647`},
		{`{"lastIds":{"orders":-1}}`, `lastIds: they must be from 0 to 2147483647`},
		{"{\"categories\":[\n{\"id\":1,\"name\":\"Dogs},\n{}]}", `line 2: The JSON is malformed`},
		{"{\n\"categories\":[{\"id\":1,\"name\":\"\xff\"}]}", `line 2: The JSON is not valid UTF-8`},
		{`{"orders":[{"id":1,"petId":9}]}`, `order 1: petId 9 does not exist`},
		{`{"orders":[{"id":1,"shipDate":"soon"}]}`, `line 1: orders: id 1: shipDate must be`},
		{`{"orders":[{"complete":true}]}`, `line 1: orders: an order has no id`},
	} {
		path := filepath.Join(t.TempDir(), "petstore.json")
		os.WriteFile(path, []byte(test.file), 0o644)
		_, err := openStore(path, true, log.Default())
		if err == nil || !strings.HasPrefix(err.Error(), path+": ") || !strings.Contains(err.Error(), test.want) {
			t.Fatalf("%s: error %v, want %s", test.file, err, test.want)
		}
		if got := read(t, path); got != test.file {
			t.Fatalf("%s was overwritten with %s", test.file, got)
		}
	}
}

// A person may leave out what has a default, and order the file as they like.
func TestEditedFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "petstore.json")
	os.WriteFile(path, []byte(`{
		"orders": [{"id": 9, "petId": 700}],
		"lastIds": {"orders": 12},
		"pets": [
			{"id": 700, "name": "p", "categoryId": 2},
			{"id": 3, "name": "q", "categoryId": 2, "status": "sold", "quantity": 4}],
		"categories": [{"id": 2, "name": "c"}]}`), 0o644)
	defer open(t, path, true).Close()
	s := newService(t, path, true)
	defer s.store.Close()
	s.expect(step{request: "GET /pets",
		status: 200, want: `[{"id":3,"name":"q","categoryId":2,"status":"sold"},
			{"id":700,"name":"p","categoryId":2,"status":"available"}]`})
	s.expect(step{request: "GET /inventory",
		status: 200, want: `[{"petId":3,"quantity":4,"status":"sold"},
			{"petId":700,"quantity":0,"status":"available"}]`})
	s.expect(step{request: "POST /store/orders", body: `{}`, status: 201, want: `{"id":13,"complete":false}`})
	s.expect(step{request: "POST /pets", body: `{"name":"n","categoryId":2}`,
		status: 201, want: `{"id":701,"name":"n","categoryId":2,"status":"available"}`})
	s.expect(step{request: "DELETE /pets/3", status: 204})
	s.expect(step{request: "GET /pets?after=3&limit=1",
		status: 200, want: `[{"id":700,"name":"p","categoryId":2,"status":"available"}]`})
}

func TestEmptyFileAndLastID(t *testing.T) {
	path := filepath.Join(t.TempDir(), "petstore.json")
	os.WriteFile(path, []byte(`{}`), 0o644)
	s := newService(t, path, true)
	s.expect(step{request: "GET /pets", status: 200, want: "[]"})
	s.expect(step{request: "GET /categories", status: 200, want: "[]"})
	s.expect(step{request: "GET /store/orders", status: 200, want: "[]"})
	s.expect(step{request: "GET /inventory", status: 200, want: "[]"})
	s.expect(step{request: "POST /categories", body: `{"name":"c"}`, status: 201, want: `{"id":1,"name":"c"}`})
	s.store.Close()
	os.WriteFile(path, []byte(`{"lastIds":{"categories":2147483646}}`), 0o644)
	s = newService(t, path, true)
	defer s.store.Close()
	s.expect(step{request: "POST /categories", body: `{"name":"c"}`, status: 201, want: `{"id":2147483647,"name":"c"}`})
	s.expect(step{request: "POST /categories", body: `{"name":"c"}`,
		status: 503, want: "No ids are left: the last one is 2147483647."})
	s.expect(step{request: "GET /categories", status: 200, want: `[{"id":2147483647,"name":"c"}]`})
}

func TestLeftoversOfACrash(t *testing.T) {
	directory := t.TempDir()
	path := filepath.Join(directory, "petstore.json")
	others := []string{"other.json.saving", "petstore.json.bak", "petstore.json.saving", "petstore.json.saving-x"}
	for _, name := range append(others, "petstore.json.saving-0123abcd") {
		os.WriteFile(filepath.Join(directory, name), []byte("half"), 0o644)
	}
	open(t, path, true).Close()
	want := append(others, "petstore.json")
	slices.Sort(want)
	if diff := gocmp.Diff(want, files(t, directory)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

func TestSymbolicLink(t *testing.T) {
	directory := t.TempDir()
	target, link := filepath.Join(directory, "target.json"), filepath.Join(directory, "link.json")
	os.WriteFile(target, []byte("{}"), 0o644)
	if err := os.Symlink(target, link); err != nil {
		t.Skip(err)
	}
	s := open(t, link, true)
	defer s.Close()
	addCategory(s, "Birds")
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link was replaced: %v", err)
	}
	if !strings.Contains(read(t, target), "Birds") {
		t.Error("the target was not replaced")
	}
}

// Readers hold an old state while a writer goes on, and see none of what comes later.
func TestOldStatesStay(t *testing.T) {
	s := open(t, "", true)
	defer s.Close()
	old := s.view()
	before := text(t, old)
	var readers sync.WaitGroup
	stop := make(chan bool)
	for range 4 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					text(t, s.view())
				}
			}
		})
	}
	for i := range 3 * pageSize {
		addCategory(s, "more")
		s.update(func(next *state) error {
			id := int64(i%5 + 1)
			pet := Pet{ID: id, NewPet: NewPet{Name: "new", CategoryID: 1, Status: Sold}}
			next.pets.put(id, newRecord(pet))
			return nil
		})
	}
	close(stop)
	readers.Wait()
	if diff := gocmp.Diff(before, text(t, old)); diff != "" {
		t.Errorf("the old state changed (-want +got):\n%s", diff)
	}
	if got := s.view().categories.last; got != 4+3*pageSize {
		t.Errorf("last id %d", got)
	}
}

// Deleted records give their memory back, page by page.
func TestEmptyPagesAreDropped(t *testing.T) {
	s := open(t, "", true)
	defer s.Close()
	for i := range int64(2*pageSize + 10) {
		addCategory(s, "brief")
		s.update(func(next *state) error {
			next.categories.put(5+i, nil)
			return nil
		})
	}
	if st := s.view(); st.categories.pages[1] != nil || st.categories.pages[2] != nil || st.categories.pages[0] == nil {
		t.Errorf("pages: %v", st.categories.pages)
	}
	if err := addCategory(s, "kept"); err != nil {
		t.Fatal(err)
	}
	categories := &s.view().categories
	if categories.get(categories.last) == nil || !strings.Contains(text(t, s.view()), "kept") {
		t.Error("no record can be added after dropped pages")
	}
}

func FuzzSnapshot(f *testing.F) {
	f.Add([]byte(read(f, "docs/sample.json")))
	for _, seed := range []string{
		`{}`,
		`null`,
		`{"pets":[{"id":1,"name":"p","categoryId":1}],"categories":[{"id":1,"name":"c"}]}`,
		`{"orders":[{"id":1,"petId":1,"quantity":1,"shipDate":"2030-01-01T00:00:00Z","complete":true}]}`,
		`{"lastIds":{"pets":5}}`,
		`{"pets":[null]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		st, err := parse(data)
		if err != nil {
			return
		}
		if len(st.categories.pages)+len(st.pets.pages)+len(st.orders.pages) > 1000 {
			t.Skip("large ids make large tables")
		}
		checkReferences(t, st)
		written := text(t, st)
		again, err := parse([]byte(written))
		if err != nil {
			t.Fatalf("its own snapshot is refused: %v\n%s", err, written)
		}
		if diff := gocmp.Diff(written, text(t, again)); diff != "" {
			t.Errorf("a snapshot of a snapshot (-want +got):\n%s", diff)
		}
	})
}

func FuzzBody(f *testing.F) {
	for _, seed := range []string{
		``, `{}`, `null`, `[]`,
		`{"id":1,"petId":2,"quantity":3,"shipDate":"2030-01-01T00:00:00Z","complete":true}`,
		`{"quantity":1.0}`, `{"quantity":1e2}`, `{"quantity":-0}`, `{"petId":9223372036854775807}`,
		`{"complete":null}`, `{"ID":1}`, `{"id":1,"id":1}`, `{"shipDate":"\ud800"}`, `{"a":{"b":[]}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var got, want Order
		if err := decodeObject(data, &got); err != nil {
			if e, ok := err.(*Error); !ok || e.Status != 400 || e.Message == "" || len(e.Message) > 300 {
				t.Errorf("%q: %v", data, err)
			}
			return
		}
		dec := json.NewDecoder(bytes.NewReader(data))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&want); err != nil || dec.More() {
			t.Errorf("%q is accepted: %v", data, err)
		}
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", data, diff)
		}
	})
}

// Whatever happens to the bytes of a file, the loader refuses it and names it, or finds a store in which every
// reference holds; and it never writes to it.
func TestDamagedFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "petstore.json")
	sample := []byte(read(t, "docs/sample.json"))
	loaded, refused := 0, 0
	try := func(what string, file []byte) (st *state) {
		t.Helper()
		os.WriteFile(path, file, 0o644)
		s, err := openStore(path, true, log.New(t.Output(), "", 0))
		if err == nil {
			st = s.view()
			s.Close()
			checkReferences(t, st)
			loaded++
		} else {
			fault, named := strings.CutPrefix(err.Error(), path+": ")
			if !named || len(fault) < 3 || strings.Contains(fault, "\n") {
				t.Fatalf("%s: error %v", what, err)
			}
			refused++
		}
		if got := read(t, path); got != string(file) {
			t.Fatalf("%s: the file was overwritten:\n%s", what, got)
		}
		return st
	}
	whole := bytes.TrimSpace(sample)
	for i := range whole {
		if try(fmt.Sprintf("cut at byte %d", i), whole[:i]) != nil {
			t.Fatalf("a file cut at byte %d is loaded", i)
		}
	}
	for i := range sample {
		for _, flip := range []byte{0x01, 0x02, 0x10, 0x20, 0x80, 0xff} {
			file := bytes.Clone(sample)
			file[i] ^= flip
			try(fmt.Sprintf("byte %d xor %#x", i, flip), file)
		}
	}
	lines := strings.SplitAfter(string(sample), "\n")
	for i, line := range lines {
		if !strings.HasPrefix(line, `{"id"`) {
			continue
		}
		record := strings.TrimSuffix(strings.TrimSpace(line), ",")
		if try("twice "+line, []byte(strings.Replace(string(sample), record, record+",\n"+record, 1))) != nil {
			t.Fatalf("a file with two %s is loaded", record)
		}
		without := strings.Join(slices.Delete(slices.Clone(lines), i, i+1), "")
		without = strings.ReplaceAll(without, "},\n]", "}\n]")
		st := try("without "+line, []byte(without))
		used := !regexp.MustCompile("Rex|Misty|Clover|Fish|petId").MatchString(record) // what nothing else names
		if (st == nil) != used {
			t.Fatalf("without %s the file is loaded: %v", record, st != nil)
		}
	}
	t.Logf("%d damaged files were loaded, %d refused", loaded, refused)
}

func checkReferences(t testing.TB, st *state) {
	t.Helper()
	for id, pet := range st.pets.after(0) {
		if st.categories.get(pet.value.CategoryID) == nil || pet.value.ID != id || pet.value.validate() != nil {
			t.Fatalf("pet %d: %+v", id, pet.value)
		}
	}
	for id, order := range st.orders.after(0) {
		if st.checkPet(order.value.PetID) != nil || *order.value.ID != id || order.value.validate() != nil {
			t.Fatalf("order %d: %+v", id, order.value)
		}
	}
}

// A full disk and then a read-only one. They are real, if the test may mount one.
func TestDiskFaults(t *testing.T) {
	directory := t.TempDir()
	mount := func(options string) error {
		out, err := exec.Command("mount", "-t", "tmpfs", "-o", options, "tmpfs", directory).CombinedOutput()
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	}
	if err := mount("size=256k"); err != nil {
		t.Skip("no tmpfs can be mounted here: ", err)
	}
	defer exec.Command("umount", "-l", directory).Run()
	path, ballast := filepath.Join(directory, "petstore.json"), filepath.Join(directory, "ballast")
	s := newService(t, path, true)
	defer s.store.Close()
	for _, fault := range []struct {
		name       string
		begin, end func() error
	}{
		{"no space left", func() error {
			os.WriteFile(ballast, make([]byte, 1<<20), 0o644) // as much as there is room for
			return nil
		}, func() error { return os.Remove(ballast) }},
		{"read-only", func() error { return mount("remount,ro") }, func() error { return mount("remount,rw") }},
	} {
		s.expect(step{request: "POST /categories", body: `{"name":"before ` + fault.name + `"}`,
			status: 201, want: categoryJSON(s.store.view().categories.last+1, "before "+fault.name)})
		before := read(t, path)
		if err := fault.begin(); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			s.expect(step{request: "POST /categories", body: `{"name":"lost"}`,
				status: 503, want: "cannot save to its disk"})
			s.expect(step{request: "PATCH /inventory/1", body: `{"quantity":77}`,
				status: 503, want: "cannot save to its disk"})
			s.expect(step{request: "DELETE /pets/1", status: 503, want: "cannot save to its disk"})
			s.expect(step{request: "GET /healthz", status: 503, want: "cannot save to its disk"})
		}
		if diff := gocmp.Diff(before, text(t, s.store.view())); diff != "" {
			t.Errorf("%s: a write that got 503 is seen (-want +got):\n%s", fault.name, diff)
		}
		if diff := gocmp.Diff(before, read(t, path)); diff != "" {
			t.Errorf("%s: the file (-want +got):\n%s", fault.name, diff)
		}
		if names := strings.Join(files(t, directory), " "); strings.Contains(names, ".saving") {
			t.Errorf("%s: files %s", fault.name, names)
		}
		if got := strings.Count(s.log.String(), fault.name); got != 1 {
			t.Errorf("%s is logged %d times: %s", fault.name, got, s.log)
		}
		if err := fault.end(); err != nil {
			t.Fatal(err)
		}
		s.expect(step{request: "POST /categories", body: `{"name":"after"}`,
			status: 201, want: categoryJSON(s.store.view().categories.last+1, "after")})
		s.expect(step{request: "GET /healthz", status: 200, want: `{"status":"ok"}`})
		if diff := gocmp.Diff([]string{"petstore.json"}, files(t, directory)); diff != "" {
			t.Errorf("%s: files (-want +got):\n%s", fault.name, diff)
		}
	}
}

func categoryJSON(id int64, name string) string { return fmt.Sprintf(`{"id":%d,"name":%q}`, id, name) }

// A name comes back byte for byte, through the file too, whatever escapes it was sent with.
func TestNames(t *testing.T) {
	path := filepath.Join(t.TempDir(), "petstore.json")
	s := newService(t, path, true)
	names := []string{
		"<img src=x onerror=alert(1)>", "null", " space around ", `\u0041 "quoted" \\ /`,
		"tab\tnewline\nreturn\r", "\x7f",
		"עברית العربية", "\u202eright to left\u202c", "line\u2028and\u2029paragraph", "zero\u200bwidth\u200d\ufeff",
		"e\u0301 é", "\ufffd\ufffe\uffff", "\U0001f408\u200d\u2b1b\U00010ffff", strings.Repeat("\U0001f436", 200),
	}
	for c := range 0x20 {
		names = append(names, "control "+string(rune(c)))
	}
	for _, name := range names {
		plain, err := json.Marshal(name)
		if err != nil {
			t.Fatal(err)
		}
		var escaped strings.Builder // each UTF-16 unit as \uXXXX
		for _, unit := range utf16.Encode([]rune(name)) {
			fmt.Fprintf(&escaped, `\u%04X`, unit)
		}
		for _, quoted := range []string{string(plain), `"` + escaped.String() + `"`} {
			if resp := s.do("POST /categories", `{"name":`+quoted+`}`); resp.StatusCode != 201 {
				t.Fatalf("status %d for %s", resp.StatusCode, quoted)
			}
		}
	}
	for range 2 {
		for i, name := range names {
			for _, id := range []int{5 + 2*i, 6 + 2*i} {
				resp := s.do(fmt.Sprint("GET /categories/", id), "")
				var got Category
				if err := json.NewDecoder(resp.Body).Decode(&got); err != nil || got.Name != name {
					t.Fatalf("%q came back as %q, %v", name, got.Name, err)
				}
			}
		}
		s.store.Close()
		s = newService(t, path, true)
	}
	s.store.Close()
}
