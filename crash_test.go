package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// rounds returns how often a test is repeated: as often as the environment variable says, or 10 times.
func rounds(t testing.TB, variable string) int {
	t.Helper()
	n, err := strconv.Atoi(os.Getenv(variable))
	if err != nil {
		return 10
	}
	return n
}

// A shelf is what a writer knows about its own pets: by id, the state that was acknowledged last.
type shelf struct {
	t            *testing.T
	p            *process
	client       *http.Client
	pets         map[int64]string
	pending      *change // sent but not acknowledged
	acknowledged int
}

// A change is what a write asks for. An id of 0 is one that the server is to assign; an empty state is a deletion.
type change struct {
	id    int64
	state string
}

// send sends a write and, once it is acknowledged, notes the change. It reports false if the server is gone.
func (s *shelf) send(method, path, body string, want change) bool {
	s.pending = &want
	r, err := http.NewRequest(method, s.p.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Error(err)
		return false
	}
	r.Header.Set("Authorization", "Bearer unlimited")
	resp, err := s.client.Do(r)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 300 {
		s.t.Errorf("%s %s %s: status %d", method, path, body, resp.StatusCode)
		return false
	}
	var record struct{ ID int64 }
	if err := json.NewDecoder(resp.Body).Decode(&record); err != nil && resp.StatusCode != 204 {
		return false
	}
	if want.id == 0 {
		want.id = record.ID
	}
	s.pending = nil
	s.pets[want.id] = want.state
	s.acknowledged++
	return true
}

// write creates, replaces, restocks and deletes pets of its own until the server is gone.
func (s *shelf) write(writer, round int) {
	for n := 0; ; n++ {
		name := fmt.Sprintf("pet %d of writer %d in round %d", n, writer, round)
		body := fmt.Sprintf(`{"name":%q,"categoryId":1,"status":"pending"}`, name)
		if !s.send("POST", "/pets", body, change{id: 0, state: name + " 0"}) {
			return
		}
		for id, state := range s.pets {
			if state == "" {
				continue
			}
			space := strings.LastIndex(state, " ") // between the name and the quantity
			served := false
			switch rand.IntN(3) {
			case 0:
				served = s.send("DELETE", fmt.Sprint("/pets/", id), "", change{id: id, state: ""})
			case 1:
				served = s.send("PUT", fmt.Sprint("/pets/", id), body, change{id: id, state: name + state[space:]})
			case 2:
				quantity := fmt.Sprint(rand.IntN(1000))
				want := change{id: id, state: state[:space+1] + quantity}
				served = s.send("PATCH", fmt.Sprint("/inventory/", id), `{"quantity":`+quantity+`}`, want)
			}
			if !served {
				return
			}
			if n%3 != 0 {
				break // most pets are left as they are
			}
		}
	}
}

// onDisk returns the pets in the snapshot file, as a shelf knows them.
func onDisk(t *testing.T, file string) map[int64]string {
	t.Helper()
	st, err := parse([]byte(read(t, file)))
	if err != nil {
		t.Fatal(err)
	}
	found := map[int64]string{}
	for id, pet := range st.pets.after(0) {
		found[id] = fmt.Sprint(pet.value.Name, " ", pet.value.quantity)
	}
	return found
}

// TestCrash kills the program while 16 clients write, and compares what it acknowledged with what the next start
// finds.
func TestCrash(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no SIGTERM")
	}
	t.Parallel()
	for _, signal := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM} {
		t.Run(signal.String(), func(t *testing.T) {
			t.Parallel()
			directory := t.TempDir()
			file, keys := filepath.Join(directory, "petstore.json"), unlimitedKeys(t, directory)
			os.WriteFile(file, []byte(`{"categories":[{"id":1,"name":"c"}]}`), 0o644)
			acknowledged, lost, kept := 0, 0, 0
			known := map[int64]string{}
			for round := range rounds(t, "CRASH_ROUNDS") {
				p := start(t, "-data", file, "-keys", keys)
				shelves := make([]*shelf, 16)
				var writers sync.WaitGroup
				transport := &http.Transport{MaxIdleConnsPerHost: len(shelves)}
				for i := range shelves {
					client := &http.Client{Transport: transport}
					shelves[i] = &shelf{t: t, p: p, client: client, pets: map[int64]string{}}
					writers.Go(func() { shelves[i].write(i, round) })
				}
				// This does not wait for anything: it is the moment of the crash.
				time.Sleep(time.Duration(10+rand.IntN(150)) * time.Millisecond)
				p.Process.Signal(signal)
				writers.Wait()
				transport.CloseIdleConnections()
				if code, printed := p.end(); signal == syscall.SIGTERM && code != 0 {
					t.Errorf("exit code %d: %s", code, printed)
				}

				next := start(t, "-data", file, "-keys", keys) // it must take the file as it is
				status, _ := next.do(t, "GET /healthz", "")
				next.Process.Kill()
				next.end()
				if status != 200 {
					t.Errorf("round %d: /healthz has the status %d", round, status)
				}
				found := onDisk(t, file)
				pending := map[change]bool{}
				for _, s := range shelves {
					acknowledged += s.acknowledged
					for id, state := range s.pets {
						known[id] = state
					}
					if s.pending != nil {
						pending[*s.pending] = true
					}
				}
				for id := range known {
					if _, ok := found[id]; !ok {
						found[id] = ""
					}
				}
				for id, state := range found {
					before, ours := known[id]
					switch {
					case ours && before == state:
					case pending[change{id: id, state: state}] || !ours && pending[change{id: 0, state: state}]:
						kept++
					default:
						lost++
						t.Errorf("round %d: pet %d is %q, but %q was acknowledged", round, id, state, before)
					}
				}
				known = found
				// A server that is killed between creating its lock and writing its name into it leaves it empty. The
				// next one removes such a lock after a second; the test does not wait for that.
				lock := file + ".saving-lock"
				if info, err := os.Stat(lock); err == nil && info.Size() == 0 {
					os.Remove(lock)
				}
				if names := files(t, directory); len(names) != 2 {
					t.Errorf("round %d: files %v", round, names)
				}
			}
			t.Logf("%d writes were acknowledged, %d of them lost; %d more were kept", acknowledged, lost, kept)
		})
	}
}

// TestSoak reads, writes and deletes at full speed for as many seconds as SOAK says. All that is created is deleted
// again, so the memory in use must be the same halfway through and at the end.
func TestSoak(t *testing.T) {
	seconds, err := strconv.Atoi(os.Getenv("SOAK"))
	if err != nil {
		t.Skip("SOAK=60 runs it for a minute")
	}
	s := newService(t, filepath.Join(t.TempDir(), "petstore.json"), false)
	defer s.store.Close()
	var requests atomic.Int64
	call := func(request, body string, want int) *httptest.ResponseRecorder {
		method, target, _ := strings.Cut(request, " ")
		r := httptest.NewRequest(method, target, strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer big")
		w := httptest.NewRecorder()
		if s.handler.ServeHTTP(w, r); w.Code != want {
			t.Errorf("%s: status %d: %s", request, w.Code, w.Body)
		}
		requests.Add(1)
		return w
	}
	half := func() (heap uint64) {
		end := time.Now().Add(time.Duration(seconds) * time.Second / 2)
		var clients sync.WaitGroup
		for range 8 {
			clients.Go(func() {
				for time.Now().Before(end) {
					pet := call("POST /pets", `{"name":"brief","categoryId":1}`, 201).Header().Get("Location")
					id := strings.TrimPrefix(pet, "/pets/")
					order := call("POST /store/orders", `{"petId":`+id+`}`, 201).Header().Get("Location")
					call("PUT "+pet, `{"name":"still brief","categoryId":2,"status":"sold"}`, 200)
					call("PATCH /inventory/"+id, `{"quantity":5}`, 200)
					call("GET "+pet, "", 200)
					call("GET /pets?limit=100", "", 200)
					call("GET /nothing", "", 404)
					call("POST /pets", `{"name":null}`, 400)
					call("DELETE "+pet, "", 409)
					call("DELETE "+order, "", 204)
					call("DELETE "+pet, "", 204)
				}
			})
		}
		clients.Wait()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	middle := half()
	end := half()
	t.Logf("%d requests; heap %d KiB halfway through, %d KiB at the end", requests.Load(), middle>>10, end>>10)
	if end > middle+middle/20 {
		t.Errorf("the heap grew from %d to %d bytes", middle, end)
	}
}
