package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

const aCategory = `{"name":"Birds"}`

// snapshotOf returns what the file must hold now.
func snapshotOf(s *service) string { return string(s.store.view().format()) }

// breakDisk makes every save to the file fail, for root too, by moving its directory away. The
// function that it returns undoes that.
func breakDisk(t testing.TB, path string) (mend func()) {
	t.Helper()
	directory := filepath.Dir(path)
	must(t, os.Rename(directory, directory+".away"))
	return func() { must(t, os.Rename(directory+".away", directory)) }
}

// expectSaved expects that the file holds the current state, as a restart reads it, and that
// nothing else is in its directory.
func (s *service) expectSaved() {
	s.t.Helper()
	file := contentOf(s.t, s.store.path)
	equal(s.t, "the file", file, snapshotOf(s))
	restarted := newService(s.t, Options{Data: s.store.path})
	equal(s.t, "the state after a restart", snapshotOf(restarted), snapshotOf(s))
	for _, list := range []string{"/categories", "/pets", "/store/orders"} {
		got := restarted.send("GET "+list, "").body
		equal(s.t, list+" after a restart", got, s.send("GET "+list, "").body)
		var records []json.RawMessage
		must(s.t, json.Unmarshal([]byte(got), &records))
		for _, record := range records { // in the file, a pet goes on with its stock
			contains(s.t, "the file", file, "\n"+strings.TrimSuffix(string(record), "}"))
		}
	}
	equal(s.t, "files", namesIn(s.t, filepath.Dir(s.store.path)), []string{"petstore.json"})
}

// writes are the operations that change the store, with bodies with which they succeed.
var writes = map[string]string{
	"POST /categories":       "{" + strange,
	"PUT /categories/1":      `{"name":"x","description":""}`,
	"DELETE /categories/4":   "",
	"POST /pets":             newKiwi,
	"PUT /pets/2":            newKiwi,
	"PATCH /inventory/2":     `{"quantity":77}`,
	"DELETE /pets/3":         "",
	"POST /store/orders":     `{"petId":1,"shipDate":"2030-01-01T00:00:00.123+01:00"}`,
	"PUT /store/orders/2":    `{"petId":2}`,
	"DELETE /store/orders/2": "",
}

func TestWrites(t *testing.T) {
	tried, mux := map[string]bool{}, newService(t, Options{}).mux
	for request := range writes {
		method, target, _ := strings.Cut(request, " ")
		_, pattern := mux.Handler(httptest.NewRequest(method, target, nil))
		tried[pattern] = true
	}
	for pattern := range theDescription().operations {
		equal(t, pattern+" is tried", tried[pattern], !strings.HasPrefix(pattern, "GET "))
	}
	for request, body := range writes {
		t.Run(request+" changes nothing if it cannot be saved, or is saved", func(t *testing.T) {
			s := newService(t, Options{Data: freshPath(t)})
			older, before := s.store.view(), snapshotOf(s)
			mend := breakDisk(t, s.store.path)
			duringSave := onWrite(func() { // of the log, before the lock is gone
				equal(t, "what others read", snapshotOf(s), before)
			})
			s.store.logger.SetOutput(io.MultiWriter(s.logged, duringSave))
			s.send(request, body).expectError("save_failed", "")
			equal(t, "status of a read", s.send("GET /pets", "").StatusCode, 200)
			equal(t, "status of health", s.send("GET /healthz", "").StatusCode, 200)
			equal(t, "lines in the log", strings.Count(s.logged.String(), "\n"), 1)
			mend()
			equal(t, "the state", snapshotOf(s), before)
			if t.Failed() {
				return
			}
			s.expectSaved()
			if resp := s.send(request, body); resp.StatusCode >= 300 {
				t.Errorf("sent %s\n got %d %s", resp.sent, resp.StatusCode, resp.body)
			}
			equal(t, "it changes the state", snapshotOf(s) != before, true)
			s.expectSaved()
			equal(t, "the older state", string(older.format()), before)
		})
	}
}

// An onWrite is called for each line of a log.
type onWrite func()

func (f onWrite) Write(line []byte) (int, error) { f(); return len(line), nil }

func TestUpdate(t *testing.T) {
	t.Run("a panic is a 500, changes nothing, is logged, and no read sees it", func(t *testing.T) {
		s := newService(t, Options{Data: freshPath(t)})
		before := snapshotOf(s)
		s.mux.Handle("/boom", s.api(func(*http.Request) (response, error) {
			return respond(update(s.store, func(next *state) (*record[Category], error) {
				next.categories.remove(4)
				equal(t, "what others read", snapshotOf(s), before)
				panic("boom")
			}))
		}))
		s.send("POST /boom", "").expectError("internal_error", "")
		contains(t, "the log", s.logged.String(), "panic: boom\ngoroutine ")
		equal(t, "the log has the key", strings.Contains(s.logged.String(), testKey), false)
		equal(t, "the state", snapshotOf(s), before)
		s.send("DELETE /pets/5", "").expect(204, "") // goes on
	})
	t.Run("one that changes nothing is saved all the same", func(t *testing.T) {
		s := newService(t, Options{Data: freshPath(t)})
		defer breakDisk(t, s.store.path)()
		s.send("PATCH /inventory/1", `{"quantity":3}`).expectError("save_failed", "")
	})
	t.Run("sees what the one before it has changed", func(t *testing.T) {
		for _, test := range []struct {
			first, body, second, body2 string
			status                     int // of the second
		}{
			{"PATCH /inventory/1", `{"quantity":77}`, "PUT /pets/1", newKiwi, 200},
			{"PUT /pets/1", newKiwi, "PATCH /inventory/1", `{"quantity":77}`, 200},
			{"POST /store/orders", "{}", "POST /store/orders", "{}", 201},
			{"POST /pets", newKiwi, "POST /pets", newKiwi, 201},
			{"POST /pets", `{"name":"x","categoryId":4}`, "DELETE /categories/4", "", 409},
			{"POST /store/orders", `{"petId":3}`, "DELETE /pets/3", "", 409},
			{"DELETE /categories/4", "", "POST /pets", `{"name":"x","categoryId":4}`, 400},
			{"DELETE /pets/3", "", "POST /store/orders", `{"petId":3}`, 400},
			{"PUT /store/orders/2", `{"complete":true}`, "PUT /store/orders/2", "{}", 409},
			{"PUT /store/orders/2", `{"complete":true}`, "DELETE /store/orders/2", "", 409},
		} {
			s := newService(t, Options{Data: freshPath(t)})
			var resp *reply
			s.inTurn(func() { s.send(test.first, test.body) },
				func() { resp = s.send(test.second, test.body2) })
			equal(t, test.first+", "+test.second+": status", resp.StatusCode, test.status)
			s.expectSaved()
			if test.status == 200 { // both are seen
				s.send("GET /inventory/1", "").expect(200,
					`{"petId":1,"quantity":77,"status":"available"}`)
				contains(t, "the pet", s.send("GET /pets/1", "").body, "Kiwi")
			}
		}
	})
	t.Run("none gets lost among many at once", func(t *testing.T) {
		// The race detector is to see the counter, too.
		s := newService(t, Options{Data: freshPath(t), Drop: "1000000-1000000/1000000"})
		s.atOnce(func() {
			s.send("POST /categories", aCategory)
			s.send("GET /categories", "") // so that a race detector sees a read, too
			if runtime.GOOS == "windows" {
				return // since a file that is open cannot be replaced there
			}
			for range 20 { // while others save
				_, _, err := readSnapshot(s.store.path)
				equal(t, "error of the file", err, nil)
			}
		})
		equal(t, "categories", len(s.store.view().categories.records), 4+20)
		s.expectSaved()
	})
}

// A snapshot is refused with one line, or what is written of it is read as the same.
func FuzzSnapshot(f *testing.F) {
	f.Add(builtInSample)
	f.Add([]byte(`{"lastPetId":5,"pets":[null]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		st, err := parse(data)
		if err != nil {
			equal(t, "line breaks in "+err.Error(), strings.Count(err.Error(), "\n"), 0)
			return
		}
		again, err := parse(st.format())
		must(t, err)
		equal(t, "a snapshot of a snapshot", string(again.format()), string(st.format()))
	})
}

func TestIDs(t *testing.T) {
	t.Run("are never used again, not after a restart either", func(t *testing.T) {
		s := newService(t, Options{Data: freshPath(t)})
		for _, last := range []string{"/categories/4", "/pets/5", "/store/orders/2"} {
			s.send("DELETE "+last, "").expect(204, "")
		}
		s = newService(t, Options{Data: s.store.path})
		s.send("POST /categories", aCategory).expect(201, `{"id":5,"name":"Birds"}`)
		s.send("POST /pets", newKiwi).expect(201,
			`{"id":6,"name":"Kiwi","categoryId":1,"status":"available"}`)
		s.send("POST /store/orders", "{}").expect(201, `{"id":3,"complete":false}`)
	})
	t.Run("go on behind the last id and the records of a file, up to 2^62", func(t *testing.T) {
		s := newService(t, Options{Data: writeFile(t, freshPath(t), `{"lastCategoryId": 1,
			"categories": [{"id": 4611686018427387903, "name": "c"}],
			"pets": [{"id": 4611686018427387903, "name": "p", "categoryId": 4611686018427387903}],
			"lastOrderId": 4611686018427387904}`)})
		s.send("PUT /store/orders/4611686018427387904", "{}").expectError("not_found", "")
		s.send("GET /pets", "").expect(200, `[{"id":4611686018427387903,"name":"p",
			"categoryId":4611686018427387903,"status":"available"}]`)
		s.send("POST /categories", aCategory).expect(201,
			`{"id":4611686018427387904,"name":"Birds"}`)
		s.expectSaved()
		saved := snapshotOf(s)
		s.send("POST /categories", aCategory).expectError("internal_error", "")
		s.send("POST /store/orders", "{}").expectError("internal_error", "")
		equal(t, "the store", snapshotOf(s), saved)
		s.expectSaved() // and read again
		equal(t, "log", s.logged.String(), "the ids for a new category have run out\n"+
			"the ids for a new order have run out\n")
	})
}

// A person may edit the file while the server is down, in any order, and leave out a stock, a
// status and what is false.
func TestEditedFile(t *testing.T) {
	s := newService(t, Options{Data: writeFile(t, freshPath(t), `{
		"orders": [{"petId": 3, "id": 9}],
		"pets": [
			{"quantity": 5, "id": 9, "categoryId": 2, "name": "r", "status": "pending"},
			{"id": 3, "name": "q", "categoryId": 2}],
		"categories": [{"name": "c", "id": 2}]}`)})
	s.send("POST /categories", aCategory).expect(201, `{"id":3,"name":"Birds"}`)
	s.send("POST /pets", `{"name":"x","categoryId":3}`).expect(201,
		`{"id":10,"name":"x","categoryId":3,"status":"available"}`)
	equal(t, "the file", compact(contentOf(t, s.store.path)), compact(`{
		"lastCategoryId": 3, "lastPetId": 10, "lastOrderId": 9,
		"categories": [{"id":2,"name":"c"}, {"id":3,"name":"Birds"}],
		"pets": [{"id":3,"name":"q","categoryId":2,"status":"available","quantity":0},
			{"id":9,"name":"r","categoryId":2,"status":"pending","quantity":5},
			{"id":10,"name":"x","categoryId":3,"status":"available","quantity":0}],
		"orders": [{"id":9,"petId":3,"complete":false}]}`))
	equal(t, "log", s.logged.String(), "")
}

// A broken file stops the start with an error in one line, and is left as it is.
func TestBrokenFile(t *testing.T) {
	const one = `{"categories":[{"id":1,"name":"c"}`
	for _, test := range []struct{ content, want string }{
		{"\ufeff{}", "The JSON begins with a byte order mark"},
		{string(builtInSample[:300]), "The JSON ends too early"},
		{"{\n\"pets\":[\n{\"id\":1,,}]}", "The JSON is malformed on line 3, at byte 9: ',' is not"},
		{`{"orders":null}`, "orders must be an array."},
		{`{"inventory":[]}`, `"inventory" is unknown here`},
		{`{"lastPetId":-1}`, "lastPetId must be from 0 to 4611686018427387904."},
		{`{"lastOrderId":4611686018427387905}`, "lastOrderId must be from 0 to"},
		{one + `,{"id":0,"name":"d"}]}`, "categories, record 2: id must be from 1 to"},
		{one + `,{"id":4611686018427387905,"name":"d"}]}`,
			"categories, record 2: id must be from 1 to 4611686018427387904."},
		{one + `,{"id":1,"name":"d"}]}`,
			"categories, record 2: id 1 appears twice; give each record its own."},
		{one + `],"pets":[{"id":2,"name":"p","categoryId":2}]}`,
			"pets, record 1: categoryId 2 does not exist"},
		{one + `],"pets":[{"id":2,"name":"p","categoryId":1,"quantity":-1}]}`,
			"pets, record 1: quantity must be from 0"},
		{`{"orders":[{"id":1},{"id":2,"petId":9}]}`, "orders, record 2: petId 9 does not exist"},
		{`{"orders":[{"id":1,"petId":9,"complete":true}]}`, "orders, record 1: petId 9 does not"},
		{"", "The JSON is empty"}, {"\x00", "The JSON is malformed on line 1, at byte 1"},
		{`{"orders":[{"id":1},{"id":2},{"id":1}]}`, "orders, record 3: id 1 appears twice"},
		{`{"orders":[{"id":1,"quantity":0}]}`, "orders, record 1: quantity must be from 1 to"},
		{one + `],"pets":[{"id":2,"name":"p","categoryId":1,"quantity":2147483648}]}`,
			"pets, record 1: quantity must be from 0 to 2147483647."},
		// An id that is missing is told before other faults.
		{`{"categories":[{"name":5}]}`, "categories, record 1: id is missing; it must"},
		{`{"pets":[{}]}`, "pets, record 1: id is missing; it must"},
		{`{"orders":[{"petId":9}]}`, "orders, record 1: id is missing; it must"},
		{one + `,{"id":2,"name":5}]}`, "categories, record 2: name must be a string."},
		{one + `,{"id":2,"name":"x","color":1}]}`, `categories, record 2: "color" is unknown`},
	} {
		t.Run(test.want, func(t *testing.T) {
			path := writeFile(t, freshPath(t), test.content)
			_, err := New(Options{Data: path})
			contains(t, "the error", fmt.Sprint(err), path+": "+test.want)
			equal(t, "line breaks", strings.Count(fmt.Sprint(err), "\n"), 0)
			equal(t, "the file", contentOf(t, path), test.content)
		})
	}
}

func TestRefusedPath(t *testing.T) {
	t.Chdir(t.TempDir())
	must(t, os.Mkdir("directory", 0o755))
	for path, want := range map[string]string{
		"directory":                   "directory is not a regular file",
		os.DevNull:                    os.DevNull + " is not a regular file",
		strings.Repeat("x", 250):      "x cannot be created: ", // no room for .saving-
		filepath.Join("none", "file"): "the directory of none",
		filepath.Join("~", "file"):    "the directory of ~",
	} {
		_, err := New(Options{Data: path})
		contains(t, "the error", fmt.Sprint(err), want)
	}
	equal(t, "files", namesIn(t, "."), []string{"directory"})
}

// What a save leaves beside the file, and what it leaves as it is.
func TestDataFile(t *testing.T) {
	t.Run("is private at first, and keeps the permission bits that it gets", func(t *testing.T) {
		if runtime.GOOS == "windows" {
			t.Skip("Windows has no such bits")
		}
		s := newService(t, Options{Data: freshPath(t)})
		expectMode := func(want fs.FileMode) {
			info, err := os.Stat(s.store.path)
			must(t, err)
			equal(t, "mode", info.Mode(), want)
		}
		expectMode(0o600)
		for _, mode := range []fs.FileMode{0o402, 0o620, 0o755} {
			must(t, os.Chmod(s.store.path, mode))
			s.send("PUT /categories/1", aCategory).expect(200, `{"id":1,"name":"Birds"}`)
			expectMode(mode)
		}
	})
	t.Run("is what its name led to at the start, through links", func(t *testing.T) {
		begin, services := t.TempDir(), map[string]*service{}
		t.Chdir(begin)
		must(t, os.MkdirAll("a/b", 0o755))
		writeFile(t, "a/old.json", string(builtInSample))
		writeFile(t, "a/file.json", string(builtInSample))
		writeFile(t, "a/linked.json", string(builtInSample))
		for name, to := range map[string]string{"file": "a/file.json", "dir": "a/b", "no": "x",
			"links": "a/link", "a/link": "linked.json"} {
			if err := os.Symlink(filepath.FromSlash(to), name); err != nil {
				t.Skip(err)
			}
		}
		for name, path := range map[string]string{"mine.json": "mine.json", "file": "a/file.json",
			"links": "a/linked.json", "no": "no",
			"dir/../old.json": "a/old.json", "dir/../new.json": "a/new.json"} {
			services[path] = newService(t, Options{Data: name})
		}
		must(t, errors.Join(os.Remove("file"), os.Remove("dir")))
		t.Chdir(t.TempDir())
		for path, s := range services {
			s.send("DELETE /pets/5", "").expect(204, "")
			equal(t, path, contentOf(t, filepath.Join(begin, path)), snapshotOf(s))
		}
	})
	t.Run("is saved without a word where a directory cannot be synced", func(t *testing.T) {
		equal(t, "error", syncDirectory(os.DevNull), nil) // EINVAL, or not supported
		if runtime.GOOS != "windows" {
			equal(t, "there is none", errors.Is(syncDirectory("none"), fs.ErrNotExist), true)
		}
	})
	t.Run("is not written if nobody may write it, by root neither", func(t *testing.T) {
		path := writeFile(t, freshPath(t), "{}")
		must(t, os.Chmod(path, 0o444))
		s := newService(t, Options{Data: path})
		equal(t, "log", s.logged.String(), path+" is read-only, so every write will fail\n")
		s.send("POST /categories", aCategory).expectError("save_failed", "")
		must(t, os.Chmod(path, 0o644))
		s.send("POST /categories", aCategory).expect(201, `{"id":1,"name":"Birds"}`)
		for _, mode := range []fs.FileMode{0o444, 0o400, 0o555} { // while it runs
			must(t, os.Chmod(path, mode))
			s.send("DELETE /categories/1", "").expectError("save_failed", "")
		}
		s.expectSaved()
	})
	t.Run("is alone, and what else stands beside it stays", func(t *testing.T) {
		s := newService(t, Options{Data: freshPath(t)})
		mine := writeFile(t, s.store.path+".saving", "mine")
		s.send("DELETE /pets/5", "").expect(204, "")
		equal(t, "my file", contentOf(t, mine), "mine")
		must(t, os.Remove(mine))
		s.expectSaved()
	})
	t.Run("is not written if nobody can tell what it is", func(t *testing.T) {
		if runtime.GOOS != "linux" {
			t.Skip("this needs /proc")
		}
		s := newService(t, Options{Data: freshPath(t)})
		s.store.lastKnown = nil // as if its size had been 0
		for _, target := range []string{
			s.store.path,     // a loop
			"/proc/self/mem", // whose size is 0, and which cannot be read
		} {
			must(t, os.Remove(s.store.path))
			must(t, os.Symlink(target, s.store.path))
			s.send("POST /categories", aCategory).expectError("save_failed", "")
		}
	})
	t.Run("is written again if it was deleted", func(t *testing.T) {
		s := newService(t, Options{Data: freshPath(t)})
		must(t, os.Remove(s.store.path))
		t.Setenv("TMPDIR", s.store.path) // no other directory is used
		s.send("DELETE /pets/5", "").expect(204, "")
		s.expectSaved()
	})
	t.Run("is written again after a rename that failed", func(t *testing.T) {
		s := newService(t, Options{Data: freshPath(t)})
		path := s.store.path
		// The temporary file is in the directory all the same, but no rename leads through none.
		s.store.path = filepath.Dir(path) + "/none/../petstore.json"
		if _, err := os.Stat(s.store.path); err == nil {
			t.Skip("Windows makes none/.. nothing")
		}
		for range 2 {
			s.send("DELETE /pets/5", "").expectError("save_failed", "")
		}
		lines := strings.Split(s.logged.String(), "\n") // with the names of the temporary files
		equal(t, "two temporary files have one name", lines[0] == lines[1], false)
		s.store.path = path
		s.send("DELETE /pets/5", "").expect(204, "")
		s.expectSaved()
	})
	t.Run("is closed after each write", func(t *testing.T) {
		if runtime.GOOS != "linux" {
			t.Skip("this needs /proc")
		}
		s := newService(t, Options{Data: freshPath(t)})
		before, _ := os.ReadDir("/proc/self/fd")
		for range 20 {
			s.send("PUT /categories/1", aCategory).expect(200, `{"id":1,"name":"Birds"}`)
		}
		after, _ := os.ReadDir("/proc/self/fd")
		equal(t, "more files are open", len(after) > len(before), false)
	})
	t.Run("stays as it is if there is no room for more", func(t *testing.T) {
		if runtime.GOOS == "windows" {
			t.Skip("Windows has no limit on the size of a file")
		}
		path := writeFile(t, freshPath(t), "{}")
		p := startUnder(t, []string{"sh", "-c", `ulimit -f 4 && exec "$0" "$@"`}, "-data", path)
		large := `{"name":"x","description":"` + strings.Repeat("😀", 2000) + `"}`
		open, _ := os.ReadDir(fmt.Sprint("/proc/", p.Process.Pid, "/fd")) // on Linux
		for range 10 {
			equal(t, "status of a large write", p.status("POST /categories", large), 503)
		}
		after, _ := os.ReadDir(fmt.Sprint("/proc/", p.Process.Pid, "/fd"))
		equal(t, "many more files are open", len(after) >= len(open)+10, false)
		equal(t, "the file", contentOf(t, path), "{}")
		equal(t, "files", namesIn(t, filepath.Dir(path)), []string{"petstore.json"})
		equal(t, "status of a small write", p.status("POST /categories", aCategory), 201)
		contains(t, "the log", p.kill(), "save failed: write ")
		contains(t, "the file", contentOf(t, path), aCategory[1:])
	})
}

// A file that another program has changed is left alone, and writes are refused until a restart.
func TestChangedFile(t *testing.T) {
	t.Run("is noticed if one byte differs", func(t *testing.T) {
		s := newService(t, Options{Data: freshPath(t)})
		path, content := s.store.path, strings.Replace(string(builtInSample), "Rex", "Rez", 1)
		info, err := os.Stat(path)
		must(t, err)
		writeFile(t, path, content)
		must(t, os.Chtimes(path, info.ModTime(), info.ModTime())) // so that only its bytes tell
		s.send("DELETE /pets/5", "").expectError("file_changed", "Another program has changed the "+
			"data file, so this change was not saved; restart the server to read the file.")
		equal(t, "log", s.logged.String(), "save failed: "+errFileChanged.Error()+"\n")
		s.send("DELETE /pets/5", "").expectError("file_changed", "")
		equal(t, "lines in the log", strings.Count(s.logged.String(), "\n"), 2)
		equal(t, "the file", contentOf(t, path), content)
		equal(t, "files", namesIn(t, filepath.Dir(path)), []string{"petstore.json"})
		newService(t, Options{Data: path}).send("DELETE /pets/1", "").expect(204, "")
		writeFile(t, path, string(builtInSample)) // as it was
		s.send("DELETE /pets/5", "").expect(204, "")
	})
	t.Run("is noticed by its size, however large, without being read", func(t *testing.T) {
		s := newService(t, Options{Data: freshPath(t)})
		must(t, os.Truncate(s.store.path, 64<<20)) // which takes no room on the disk
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		s.send("DELETE /pets/5", "").expectError("file_changed", "")
		runtime.ReadMemStats(&after)
		equal(t, "allocated MiB", (after.TotalAlloc-before.TotalAlloc)>>20, 0)
	})
	t.Run("is not one with another time and inode", func(t *testing.T) {
		s := newService(t, Options{Data: freshPath(t)})
		must(t, os.Rename(s.store.path, s.store.path+".old")) // which keeps its inode in use
		writeFile(t, s.store.path, contentOf(t, s.store.path+".old"))
		must(t, os.Chtimes(s.store.path, time.Unix(1, 0), time.Unix(1, 0)))
		s.send("DELETE /pets/5", "").expect(204, "")
	})
}

// Of two first starts at once, the later finds the file of the other.
func TestTwoFirstStarts(t *testing.T) {
	path := freshPath(t)
	later, err := openStore("", "", nil)
	must(t, err)
	later.path = path // as if there had been no file
	writeFile(t, path, string(builtInSample))
	equal(t, "error", fmt.Sprint(later.startWithSample("")),
		path+" cannot be created: another server has just written it; start again")
	equal(t, "the file", contentOf(t, path), string(builtInSample))
}

func TestSample(t *testing.T) {
	const content = `{"categories":[{"id":7,"name":"Birds"}]}`
	mine := writeFile(t, filepath.Join(t.TempDir(), "mine.json"), content)
	t.Run("is built in", func(t *testing.T) { // one record a line, the stock behind a pet
		s := newService(t, Options{Data: freshPath(t)})
		equal(t, "the file", contentOf(t, s.store.path), contentOf(t, "docs/sample.json"))
	})
	t.Run("is the first content, on disk or in memory, and never written", func(t *testing.T) {
		for _, path := range []string{freshPath(t), ""} {
			s := newService(t, Options{Data: path, Sample: mine})
			s.send("GET /categories", "").expect(200, `[{"id":7,"name":"Birds"}]`)
			s.send("DELETE /categories/7", "").expect(204, "")
			equal(t, "the sample", contentOf(t, mine), content)
		}
	})
	t.Run("stops the start if it is needed and cannot be read", func(t *testing.T) {
		wrong := writeFile(t, freshPath(t), `{"pets":5}`)
		_, err := New(Options{Sample: wrong})
		equal(t, "error", fmt.Sprint(err), wrong+": pets must be an array.")
		_, err = New(Options{Data: freshPath(t), Sample: mine + ".away"})
		contains(t, "the error", fmt.Sprint(err), mine+".away")
	})
	t.Run("is not read, and the log says why, if there is a data file", func(t *testing.T) {
		path := writeFile(t, freshPath(t), "{}")
		s := newService(t, Options{Data: path, Sample: "none"})
		s.send("GET /pets", "").expect(200, "[]")
		equal(t, "log", s.logged.String(), "-sample none is not used, since "+path+
			" exists; delete that, or pass -data=\n")
	})
}
