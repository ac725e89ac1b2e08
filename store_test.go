package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
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
			// A write that is refused anyway needs no disk.
			s.expect(step{request: "DELETE /pets/77", status: 404, want: "No pet has the id 77"})
			s.expect(step{request: "DELETE /pets/2", status: 409, want: "Order 2 names this pet"})
			s.expect(step{request: "GET /healthz", status: 503, want: "cannot save to its disk"})
			s.expect(step{request: "GET /inventory/1",
				status: 200, want: `{"petId":1,"quantity":3,"status":"available"}`})
			if diff := gocmp.Diff(before, text(t, s.store.view())); diff != "" {
				t.Errorf("a write that got a 503 can be seen (-want +got):\n%s", diff)
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

// The log gets each cause once, however often saving is tried, and that it works again.
func TestLogOfFailures(t *testing.T) {
	for _, synced := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "petstore.json")
			s := newService(t, path, synced)
			defer s.store.Close()
			mend := breakDisk(t, path)
			directory := filepath.Dir(path)
			_, notDirectory := os.Stat(path)
			addCategory(s.store, "Birds")
			time.Sleep(10 * time.Second)
			synctest.Wait()
			os.Remove(directory)
			os.Symlink(directory, directory)
			_, loop := os.Stat(path)
			addCategory(s.store, "Cows")
			time.Sleep(10 * time.Second)
			synctest.Wait()
			os.Remove(directory) // now the file is missing
			addCategory(s.store, "Sheep")
			time.Sleep(10 * time.Second)
			synctest.Wait()
			os.WriteFile(directory, nil, 0o644) // for mend
			mend()
			time.Sleep(10 * time.Second)
			synctest.Wait()
			want := "saving failed: " + notDirectory.Error() + "\n" +
				"saving failed: " + loop.Error() + "\n" +
				"saving failed: " + errForeign.Error() + "\n" +
				"saving works again\n"
			if diff := gocmp.Diff(want, s.log.String()); diff != "" {
				t.Errorf("synced %v: log (-want +got):\n%s", synced, diff)
			}
		})
	}
}

// While nothing changes, nothing is written.
func TestIdleStoreSavesNothing(t *testing.T) {
	for _, synced := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "petstore.json")
			s := open(t, path, synced)
			defer s.Close()
			for range 2 { // after the first snapshot, and after a write
				before, err := os.Stat(path)
				if err != nil {
					t.Fatal(err)
				}
				time.Sleep(10 * time.Second)
				synctest.Wait()
				after, err := os.Stat(path)
				if err != nil || !os.SameFile(before, after) || !before.ModTime().Equal(after.ModTime()) {
					t.Errorf("synced %v: the file was written again: %v", synced, err)
				}
				addCategory(s, "Birds")
				time.Sleep(time.Second)
				synctest.Wait()
			}
		})
	}
}

// A store that keeps nothing on disk has no disk that could fail.
func TestNothingOnDisk(t *testing.T) {
	for _, synced := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			s := newService(t, "", synced)
			addCategory(s.store, "Birds")
			time.Sleep(10 * time.Second)
			synctest.Wait()
			s.expect(step{request: "GET /healthz", status: 200, want: `{"status":"ok"}`})
			if err := s.store.Close(); err != nil || s.log.String() != "" {
				t.Errorf("Close: %v, log: %s", err, s.log)
			}
		})
	}
}

// Writes of many clients do not get in each other's way, whether they wait for the disk or not.
func TestConcurrentWrites(t *testing.T) {
	for _, synced := range []bool{true, false} {
		s := newService(t, filepath.Join(t.TempDir(), "petstore.json"), synced)
		defer s.store.Close()
		const clients, each = 8, 20
		var writers sync.WaitGroup
		var mu sync.Mutex
		statuses := map[int]int{}
		for range clients {
			writers.Go(func() {
				for range each {
					if err := addCategory(s.store, "Birds"); err != nil {
						t.Error(err)
					}
				}
				resp := s.do("DELETE /pets/5", "") // of which only one succeeds
				mu.Lock()
				statuses[resp.StatusCode]++
				mu.Unlock()
			})
		}
		writers.Wait()
		if diff := gocmp.Diff(map[int]int{204: 1, 404: clients - 1}, statuses); diff != "" {
			t.Errorf("synced %v: statuses of the deletions (-want +got):\n%s", synced, diff)
		}
		n := 0
		for range s.store.view().categories.after(0) {
			n++
		}
		if want := 4 + clients*each; n != want {
			t.Errorf("synced %v: %d categories, want %d", synced, n, want)
		}
	}
}

// holdUp makes the saving goroutine wait in a write until the function that it returns is called. It may be called in
// a bubble of synctest only.
func holdUp(s *Store) (goOn func()) {
	held := make(chan bool)
	go s.update(func(*state) error {
		<-held
		return errors.New("changes nothing")
	})
	synctest.Wait()
	return func() { close(held) }
}

// Of the writes that share a save, those that are refused leave no trace. But if the save fails, all of them fail.
func TestWritesThatShareASave(t *testing.T) {
	type write func(*Store) error
	refused := errors.New("refused")
	refuse := func(s *Store) error {
		return s.update(func(next *state) error {
			next.categories.insert(next.categories.last+1, newRecord(Category{}))
			return refused
		})
	}
	add := func(s *Store) error { return addCategory(s, "Birds") }
	for _, test := range []struct {
		name   string
		broken bool // the disk, so that the save fails
		writes []write
		want   []error
	}{
		{"all succeed", false, []write{add, add, add}, []error{nil, nil, nil}},
		{"some are refused", false, []write{refuse, add, refuse}, []error{refused, nil, refused}},
		{"all are refused", false, []write{refuse, refuse}, []error{refused, refused}},
		{"some are refused, the rest fail", true, []write{refuse, add}, []error{errUnsaved, errUnsaved}},
		{"all are refused, there is no save", true, []write{refuse, refuse}, []error{refused, refused}},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "petstore.json")
				s := open(t, path, true)
				defer s.Close()
				goOn := holdUp(s)
				if test.broken {
					defer breakDisk(t, path)()
				}
				got := make([]error, len(test.writes))
				var writers sync.WaitGroup
				for i, write := range test.writes {
					writers.Go(func() { got[i] = write(s) })
					synctest.Wait() // so that they come in order
				}
				goOn()
				writers.Wait()
				added := int64(0)
				for i := range test.want {
					if !errors.Is(got[i], test.want[i]) {
						t.Errorf("write %d: error %v, want %v", i, got[i], test.want[i])
					}
					if test.want[i] == nil {
						added++
					}
				}
				if got := s.view().categories.last; got != 4+added {
					t.Errorf("the last id is %d, want %d", got, 4+added)
				}
				if r := s.view().categories.get(5 + added); r != nil {
					t.Errorf("a refused write can be seen: %+v", r.value)
				}
			})
		})
	}
}

// Close waits for the writes that came before it. Those that come later are refused at once.
func TestClose(t *testing.T) {
	for range 10 { // the saving goroutine may first see that a write waits, or that it is to stop
		synctest.Test(t, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "petstore.json")
			s := open(t, path, true)
			goOn := holdUp(s)
			earlier := make(chan error, 1)
			go func() { earlier <- addCategory(s, "Earlier") }()
			synctest.Wait()
			closed := make(chan error, 1)
			go func() { closed <- s.Close() }()
			synctest.Wait()
			if len(closed) > 0 {
				t.Error("Close did not wait")
			}
			if err := addCategory(s, "Later"); !errors.Is(err, errUnsaved) {
				t.Errorf("during Close, error %v", err)
			}
			goOn()
			if err := <-earlier; err != nil {
				t.Errorf("the earlier write: %v", err)
			}
			if err := <-closed; err != nil {
				t.Errorf("Close: %v", err)
			}
			if got := read(t, path); !strings.Contains(got, "Earlier") || strings.Contains(got, "Later") {
				t.Errorf("the file is %s", got)
			}
		})
	}
}

func TestUpdateAfterClose(t *testing.T) {
	for _, synced := range []bool{true, false} {
		path := filepath.Join(t.TempDir(), "petstore.json")
		s := newService(t, path, synced)
		addCategory(s.store, "Earlier")
		if err := s.store.Close(); err != nil {
			t.Fatal(err)
		}
		before := read(t, path)
		s.expect(step{request: "POST /categories", body: `{"name":"Later"}`,
			status: 503, want: "cannot save to its disk"})
		s.expect(step{request: "GET /categories/5", status: 200, want: categoryJSON(5, "Earlier")})
		for what, got := range map[string]string{"state": text(t, s.store.view()), "file": read(t, path)} {
			if diff := gocmp.Diff(before, got); diff != "" {
				t.Errorf("synced %v: the %s changed (-want +got):\n%s", synced, what, diff)
			}
		}
	}
}

// A panic in a change fails that write only.
func TestPanicInAChange(t *testing.T) {
	for _, synced := range []bool{true, false} {
		path := filepath.Join(t.TempDir(), "petstore.json")
		s := newService(t, path, synced)
		before := text(t, s.store.view())
		s.mux.Handle("POST /boom", s.wrap(func(*http.Request) (response, error) {
			return response{status: 204}, s.store.update(func(next *state) error {
				next.pets.put(1, nil)
				panic("boom")
			})
		}, true))
		s.expect(step{request: "POST /boom", status: 500, want: "The server failed on this request"})
		if got := s.log.String(); !strings.Contains(got, "panic: boom") || !strings.Contains(got, "store_test.go") {
			t.Errorf("synced %v: the log has no stack: %s", synced, got)
		}
		if diff := gocmp.Diff(before, text(t, s.store.view())); diff != "" {
			t.Errorf("synced %v: something changed (-want +got):\n%s", synced, diff)
		}
		s.expect(step{request: "POST /categories", body: `{"name":"Birds"}`,
			status: 201, want: `{"id":5,"name":"Birds"}`})
		if err := s.store.Close(); err != nil {
			t.Error(err)
		}
		if diff := gocmp.Diff(text(t, s.store.view()), read(t, path)); diff != "" {
			t.Errorf("synced %v: the file (-want +got):\n%s", synced, diff)
		}
	}
}

// endedProcess returns the id of a process that has ended.
func endedProcess(t testing.TB) int {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "-h")
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	return cmd.Process.Pid
}

// A save waits for the lock of another server. One that a killed server left behind it removes.
func TestLockOfAnother(t *testing.T) {
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	ended := endedProcess(t)
	killed, running := fmt.Sprintln(ended, host), fmt.Sprintln(os.Getpid(), host)
	elsewhere := fmt.Sprintln(ended, "elsewhere")
	for _, test := range []struct {
		name, lock string
		age        time.Duration
		wait       time.Duration // until the lock is removed
		err        error
	}{
		{name: "killed on this host", lock: killed, wait: 0},
		{name: "running on this host", lock: running, wait: 8 * time.Second},
		{name: "running, older lock", lock: running, age: 3 * time.Second, wait: 5 * time.Second},
		{name: "on another host", lock: elsewhere, wait: 8 * time.Second},
		{name: "old lock of another host", lock: elsewhere, age: 9 * time.Second, wait: 0},
		{name: "killed before it wrote into its lock", lock: "", wait: time.Second},
		{name: "a lock that stays", lock: "", age: -time.Hour, wait: 9 * time.Second, err: errUnsaved},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "petstore.json")
				lock := path + ".saving-lock"
				s := newService(t, path, true)
				defer s.store.Close()
				before := read(t, path)
				os.WriteFile(lock, []byte(test.lock), 0o600)
				begin := time.Now()
				os.Chtimes(lock, begin, begin.Add(-test.age))
				written := make(chan error, 1)
				go func() { written <- addCategory(s.store, "Birds") }()
				time.Sleep(test.wait - time.Millisecond)
				if diff := gocmp.Diff(before, read(t, path)); diff != "" {
					t.Errorf("the lock was not respected (-want +got):\n%s", diff)
				}
				if err := <-written; !errors.Is(err, test.err) {
					t.Errorf("error %v, want %v", err, test.err)
				}
				if waited := time.Since(begin).Round(100 * time.Millisecond); waited != test.wait {
					t.Errorf("it waited %v, want %v", waited, test.wait)
				}
				if test.err != nil {
					if got := s.log.String(); !strings.Contains(got, "saving failed: "+errLocked.Error()) {
						t.Errorf("log: %s", got)
					}
					os.Remove(lock)
					if err := addCategory(s.store, "Birds"); err != nil {
						t.Errorf("without the lock: %v", err)
					}
				}
				if diff := gocmp.Diff([]string{"petstore.json"}, files(t, filepath.Dir(path))); diff != "" {
					t.Errorf("files (-want +got):\n%s", diff)
				}
				if diff := gocmp.Diff(text(t, s.store.view()), read(t, path)); diff != "" {
					t.Errorf("the file (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// A save that takes longer than a second is logged while it is going on, but of several in a row only the first.
func TestSlowSaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "petstore.json")
		s := newService(t, path, true)
		defer s.store.Close()
		expectLog := func(want string) {
			t.Helper()
			if diff := gocmp.Diff(want, s.log.String()); diff != "" {
				t.Errorf("log (-want +got):\n%s", diff)
			}
		}
		saveSlowly := func(before, during string) { // by means of a lock
			t.Helper()
			os.WriteFile(path+".saving-lock", nil, 0o600)
			written := make(chan error, 1)
			go func() { written <- addCategory(s.store, "Birds") }()
			time.Sleep(999 * time.Millisecond)
			expectLog(before)
			time.Sleep(2 * time.Millisecond)
			expectLog(during)
			os.Remove(path + ".saving-lock")
			if err := <-written; err != nil {
				t.Error(err)
			}
			time.Sleep(5 * time.Second)
			expectLog(during)
		}
		const once = "saving is taking longer than a second\n"
		saveSlowly("", once)
		saveSlowly(once, once)
		addCategory(s.store, "Birds") // quick
		time.Sleep(5 * time.Second)
		saveSlowly(once, once+once)
	})
}

// While this server waits for the lock to write the first snapshot, another one writes it.
func TestFirstSnapshotOfAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "petstore.json")
		os.WriteFile(path+".saving-lock", nil, 0o600)
		var s *Store
		var err error
		var start sync.WaitGroup
		start.Go(func() { s, err = openStore(path, true, log.New(t.Output(), "", 0)) })
		time.Sleep(time.Second)
		os.WriteFile(path, []byte("{}"), 0o644)
		os.Remove(path + ".saving-lock")
		if start.Wait(); err != nil {
			t.Fatal(err)
		}
		if err := addCategory(s, "Birds"); !errors.Is(err, errUnsaved) {
			t.Errorf("error %v", err)
		}
		if err := s.Close(); !errors.Is(err, errForeign) {
			t.Errorf("Close: %v", err)
		}
		if got := read(t, path); got != "{}" {
			t.Errorf("the file of the other server was overwritten with %s", got)
		}
	})
}

// What the owner of the file does with chmod and chown while the server runs, its saves keep.
func TestModeAndOwnerOfTheFile(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has neither")
	}
	path := filepath.Join(t.TempDir(), "petstore.json")
	s := open(t, path, true)
	defer s.Close()
	if info, err := os.Stat(path); err != nil || info.Mode()&^0o644 != 0 {
		t.Errorf("a new file: mode %v, %v", info.Mode(), err)
	}
	owner := func(info fs.FileInfo) string {
		stat := reflect.Indirect(reflect.ValueOf(info.Sys()))
		return fmt.Sprint(stat.FieldByName("Uid"), ":", stat.FieldByName("Gid"))
	}
	for _, mode := range []fs.FileMode{0o600, 0o666} {
		os.Chmod(path, mode)
		if os.Geteuid() == 0 {
			os.Chown(path, 1234, 5678)
		}
		before, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := addCategory(s, "Birds"); err != nil {
			t.Fatal(err)
		}
		after, err := os.Stat(path)
		if err != nil || os.SameFile(before, after) || after.Mode() != mode || owner(after) != owner(before) {
			t.Errorf("before the save %v and owner %s, after it %v and %s, %v",
				before.Mode(), owner(before), after.Mode(), owner(after), err)
		}
	}
}

func TestFileChangedByAnother(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(path string, info fs.FileInfo) error
	}{
		{"edited", func(path string, _ fs.FileInfo) error {
			return os.WriteFile(path, []byte("{}\n"), 0o644)
		}},
		{"another size", func(path string, info fs.FileInfo) error {
			os.WriteFile(path, []byte("{}\n"), 0o644)
			return os.Chtimes(path, time.Time{}, info.ModTime())
		}},
		{"another time", func(path string, info fs.FileInfo) error {
			return os.Chtimes(path, time.Time{}, info.ModTime().Add(time.Microsecond))
		}},
		{"another file", func(path string, info fs.FileInfo) error { // of the same size and time
			os.WriteFile(path+".new", bytes.Repeat([]byte(" "), int(info.Size())), 0o644)
			os.Chtimes(path+".new", time.Time{}, info.ModTime())
			return os.Rename(path+".new", path)
		}},
		{"removed", func(path string, _ fs.FileInfo) error {
			return os.Remove(path)
		}},
	} {
		for _, synced := range []bool{true, false} {
			t.Run(fmt.Sprint(test.name, ", synced ", synced), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					path := filepath.Join(t.TempDir(), "petstore.json")
					s := newService(t, path, synced)
					closeStore := sync.OnceValue(s.store.Close)
					defer closeStore()
					s.expect(step{request: "POST /categories", body: `{"name":"Birds"}`,
						status: 201, want: `{"id":5,"name":"Birds"}`})
					time.Sleep(time.Second)
					info, err := os.Stat(path)
					if err != nil {
						t.Fatal(err)
					}
					if err := test.change(path, info); err != nil {
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
	var a, b *Store // which both start at once, without a file
	var starts, writers sync.WaitGroup
	starts.Go(func() { a = open(t, path, true) })
	starts.Go(func() { b = open(t, path, true) })
	starts.Wait()
	var acknowledged sync.Map
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
		{pet(`{"id":5,"name":"p","categoryId":1},{"id":5,"name":"p","categoryId":1}`), `the id 5 is used twice`},
		{`{"orders":[{"id":7},{"id":7}]}`, `line 1: orders: the id 7 is used twice`},
		{`{"categories":[{"id":0,"name":"c"}]}`, `the id 0 is not from 1 to 2147483647`},
		{`{"categories":[{"id":2147483648,"name":"c"}]}`, `the id 2147483648 is not from 1 to 2147483647`},
		{`{"categories":[{"id":1,"name":" "}]}`, `id 1: name must be`},
		{`{"categories":[{"id":1,"name":"c","color":1}]}`, `line 1: categories: json: unknown field "color"`},
		{"{\"categories\":[{\"id\":1,\"name\":\"\xff\"}]}", `UTF-8`},
		{pet(`{"id":1,"name":"p","categoryId":2}`), `pet 1: categoryId 2 does not exist`},
		{pet(`{"id":1,"name":"p"}`), `pet 1: categoryId 0 does not exist`},
		{pet(`{"id":1,"name":"p","categoryId":1,"status":"gone"}`), `line 1: pets: status must be`},
		{pet(`{"id":1,"name":"p","categoryId":1,"quantity":-1}`), `line 1: pets: id 1: quantity must be`},
		{pet(`{"id":1,"name":"","categoryId":1}`), `line 1: pets: id 1: name must be`},
		{pet("{\"id\":1,\n\"name\":5,\"categoryId\":1}"), `line 2: pets: name cannot be a JSON number`},
		{pet("{\"id\":1,\"name\":\"p\",\"categoryId\":1},\nnull"), `line 2: pets: the id 0 is not from 1 to`},
		{`{"lastIds":{},"lastIds":{}}`, `lastIds is given twice`},
		{`{"pets":null}`, `pets: an array is required`},
		{`{"lastIds":5}`, `line 1: lastIds: the value cannot be a JSON number`},
		{`{"lastIds":{"pets":2147483648}}`, `lastIds: 2147483648 is not from 0 to 2147483647`},
		{`{"lastIds":{"categories":2147483648}}`, `lastIds: 2147483648 is not from 0 to 2147483647`},
		{`{"lastIds":{"orders":2147483648}}`, `lastIds: 2147483648 is not from 0 to 2147483647`},
		{`{"lastIds":{"categories":-1}}`, `lastIds: -1 is not from 0 to 2147483647`},
		{`{"lastIds":{"pets":-1}}`, `lastIds: -1 is not from 0 to 2147483647`},
		{`{"lastIds":{"orders":-1}}`, `lastIds: -1 is not from 0 to 2147483647`},
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
	s.expect(step{request: "POST /categories", body: `{"name":"c"}`, status: 201, want: `{"id":2147483647,"name":"c"}`})
	s.expect(step{request: "POST /categories", body: `{"name":"c"}`,
		status: 503, want: "No ids are left: the last one is 2147483647."})
	s.expect(step{request: "GET /categories", status: 200, want: `[{"id":2147483647,"name":"c"}]`})
	s.store.Close()
	s = newService(t, path, true)
	s.expect(step{request: "GET /categories", status: 200, want: `[{"id":2147483647,"name":"c"}]`})
	s.expect(step{request: "POST /categories", body: `{"name":"c"}`, status: 503, want: "No ids are left"})
	s.expect(step{request: "DELETE /categories/2147483647", status: 204})
	s.store.Close()
	s = newService(t, path, true)
	s.expect(step{request: "GET /categories", status: 200, want: "[]"})
	s.expect(step{request: "POST /categories", body: `{"name":"c"}`, status: 503, want: "No ids are left"})
	s.store.Close()
}

// Between the ids there may be gaps as wide as a page and wider: its records were deleted.
func TestGapsBetweenIDs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "petstore.json")
	os.WriteFile(path, []byte(`{"lastIds":{"categories":2000},
		"categories":[{"id":1,"name":"first"},{"id":1100,"name":"second"}]}`), 0o644)
	s := newService(t, path, true)
	defer s.store.Close()
	// The pages hold the ids from 1, 513 and 1025. The second is missing, and there are none from 1537.
	first, second, third := categoryJSON(1, "first"), categoryJSON(1100, "second"), categoryJSON(2001, "third")
	s.expect(step{request: "GET /categories", status: 200, want: "[" + first + "," + second + "]"})
	for _, after := range []int{1, 511, 512, 513, 600, 1023, 1024, 1025, 1099} {
		s.expect(step{request: fmt.Sprint("GET /categories?after=", after), status: 200, want: "[" + second + "]"})
	}
	for _, after := range []int{1100, 1101, 1535, 1536, 1537, 1999, 2000, 2001} {
		s.expect(step{request: fmt.Sprint("GET /categories?after=", after), status: 200, want: "[]"})
	}
	for _, id := range []int{2, 512, 513, 600, 1024, 1025, 1536, 1537, 2000, 2001} {
		s.expect(step{request: fmt.Sprint("GET /categories/", id), status: 404, want: "No category has the id"})
	}
	s.expect(step{request: "POST /categories", body: `{"name":"third"}`, status: 201, want: third})
	s.expect(step{request: "DELETE /categories/1", status: 204})
	s.expect(step{request: "GET /categories", status: 200, want: "[" + second + "," + third + "]"})
	s.expect(step{request: "GET /categories?after=1100", status: 200, want: "[" + third + "]"})
}

func TestLeftoversOfACrash(t *testing.T) {
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	directory := t.TempDir()
	path := filepath.Join(directory, "petstore.json")
	names := []string{"petstore.json.saving-0123abcd", "other.json.saving-0123abcd", "petstore.json.bak",
		"petstore.json.saving", "petstore.json.saving-0123ABCD", "petstore.json.saving-0123abcd0",
		"petstore.json.saving-x", "xpetstore.json.saving-0123abcd"}
	want := append([]string{"petstore.json"}, names[1:]...)
	slices.Sort(want)
	for _, name := range names {
		os.WriteFile(filepath.Join(directory, name), []byte("half"), 0o644)
	}
	lock := path + ".saving-lock"
	os.WriteFile(lock, []byte(fmt.Sprintln(endedProcess(t), host)), 0o600)
	open(t, path, true).Close()
	if diff := gocmp.Diff(want, files(t, directory)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	os.WriteFile(lock, []byte(fmt.Sprintln(os.Getpid(), host)), 0o600) // of a server that is saving
	open(t, path, true).Close()
	if _, err := os.Stat(lock); err != nil {
		t.Error("the lock of another server was removed: ", err)
	}
}

// A path that is no regular file, or leads to none, stops the start.
func TestRefusedPaths(t *testing.T) {
	directory := t.TempDir()
	in := func(name string) string { return filepath.Join(directory, name) }
	for _, test := range []struct {
		name   string
		create func(path string) error // what stands at the path
		want   string
	}{
		{"directory", func(path string) error { return os.Mkdir(path, 0o755) }, "is not a regular file"},
		{"fifo", func(path string) error { return exec.Command("mkfifo", path).Run() }, "is not a regular file"},
		{"dangling", func(path string) error { return os.Symlink(in("none"), path) }, "the symbolic link leads to no"},
		{"loop", func(path string) error { return os.Symlink(path, path) }, "the symbolic link leads to no"},
		{"none/petstore.json", func(string) error { return nil }, "its directory cannot be used"},
		{strings.Repeat("x", 300), func(string) error { return nil }, "stat "}, // the name is too long
	} {
		path := in(test.name)
		if err := test.create(path); err != nil {
			t.Logf("%s: cannot be tested here: %v", test.name, err)
			continue
		}
		before := files(t, directory)
		_, err := openStore(path, true, log.New(t.Output(), "", 0))
		if err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v, want %s", test.name, err, test.want)
		}
		if diff := gocmp.Diff(before, files(t, directory)); diff != "" {
			t.Errorf("%s: files (-want +got):\n%s", test.name, diff)
		}
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
	if err := addCategory(s, "Birds"); err != nil {
		t.Error(err)
	}
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
	if r := old.categories.get(5); r != nil {
		t.Errorf("the old state has a record that was added later: %+v", r.value)
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

// checkSnapshot reports whether a snapshot can be read. If it cannot, the error must be one line; if it can, all its
// references must hold, and what is written of it must be read as the same.
func checkSnapshot(t testing.TB, snapshot []byte) bool {
	t.Helper()
	st, err := parse(snapshot)
	if err != nil {
		if fault := err.Error(); fault == "" || strings.Contains(fault, "\n") {
			t.Fatalf("error %q for %s", fault, snapshot)
		}
		return false
	}
	if len(st.categories.pages)+len(st.pets.pages)+len(st.orders.pages) > 1000 {
		return true // large ids make large tables, which take their time
	}
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
	written := text(t, st)
	again, err := parse([]byte(written))
	if err != nil {
		t.Fatalf("its own snapshot is refused: %v\n%s", err, written)
	}
	if diff := gocmp.Diff(written, text(t, again)); diff != "" {
		t.Fatalf("a snapshot of a snapshot (-want +got):\n%s", diff)
	}
	return true
}

// No beginning of a file is a file, and other damage does no harm.
func TestDamagedSnapshot(t *testing.T) {
	whole := []byte(strings.TrimSpace(read(t, "docs/sample.json")))
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
	f.Fuzz(func(t *testing.T, data []byte) { checkSnapshot(t, data) })
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

func categoryJSON(id int64, name string) string { return fmt.Sprintf(`{"id":%d,"name":%q}`, id, name) }

// A name comes back byte for byte, through the file too, whatever escapes it was sent with.
func TestNames(t *testing.T) {
	path := filepath.Join(t.TempDir(), "petstore.json")
	s := newService(t, path, true)
	names := []string{
		"<img src=x onerror=alert(1)>", "null", " space around ", `\u0041 "quoted" \\ /`,
		"tab\tnewline\nreturn\r", "\x7f",
		"עברית العربية", "\u202eright to left\u202c",
		"line\u2028and\u2029paragraph", "zero\u200bwidth\u200d\ufeff",
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
