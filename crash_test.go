package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// A shelf is what a writer knows about its own pets: by id, the state that was acknowledged last.
type shelf struct {
	t            *testing.T
	url          string
	client       *http.Client
	pets         map[int64]string
	pending      *change // sent but not acknowledged
	acknowledged int
}

// A change is what a write asks for. An id of 0 is one that the server is to assign; an empty state
// is a deletion.
type change struct {
	id    int64
	state string
}

// send sends a write and, once it is acknowledged, notes the change. It reports false if the server
// is gone.
func (s *shelf) send(method, path, body string, want change) bool {
	s.pending = &want
	r, _ := http.NewRequest(method, s.url+path, strings.NewReader(body))
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
func (s *shelf) write(writer string) {
	for n := 0; ; n++ {
		name := fmt.Sprint("pet ", n, " of ", writer)
		body := fmt.Sprintf(`{"name":%q,"categoryId":1,"status":"pending"}`, name)
		if !s.send("POST", "/pets", body, change{0, name + ": 0"}) {
			return
		}
		for id, state := range s.pets {
			if state == "" {
				continue
			}
			oldName, quantity, _ := strings.Cut(state, ": ")
			pet, item := fmt.Sprint("/pets/", id), fmt.Sprint("/inventory/", id)
			served := false
			switch rand.IntN(3) {
			case 0:
				served = s.send("DELETE", pet, "", change{id, ""})
			case 1:
				served = s.send("PUT", pet, body, change{id, name + ": " + quantity})
			case 2:
				quantity = fmt.Sprint(rand.IntN(1000))
				update := `{"quantity":` + quantity + `}`
				served = s.send("PATCH", item, update, change{id, oldName + ": " + quantity})
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

// onDisk returns the pets in the file, as a shelf knows them.
func onDisk(t *testing.T, file string) map[int64]string {
	t.Helper()
	st, err := parse([]byte(read(t, file)))
	if err != nil {
		t.Fatal(err)
	}
	found := map[int64]string{}
	for _, pet := range st.pets.records {
		found[pet.id] = fmt.Sprint(pet.value.Name, ": ", st.inventory.get(pet.id).value.Quantity)
	}
	return found
}

// TestCrash ends the program with a signal while 16 clients write, and compares what it
// acknowledged with what the next start finds. It does so twice for each signal, or as often as
// CRASH_ROUNDS says.
func TestCrash(t *testing.T) {
	needSignals(t)
	t.Parallel()
	rounds, err := strconv.Atoi(os.Getenv("CRASH_ROUNDS"))
	if err != nil {
		rounds = 2
	}
	for _, signal := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM} {
		t.Run(signal.String(), func(t *testing.T) {
			t.Parallel()
			directory := t.TempDir()
			file, keys := filepath.Join(directory, "petstore.json"), unlimitedKeys(t, directory)
			write(t, file, `{"categories":[{"id":1,"name":"c"}]}`)
			acknowledged, lost, kept := 0, 0, 0
			for round := range rounds {
				known := onDisk(t, file)
				p := start(t, "-data", file, "-keys", keys)
				shelves := make([]*shelf, 16)
				var writers sync.WaitGroup
				transport := &http.Transport{MaxIdleConnsPerHost: len(shelves)}
				client := &http.Client{Transport: transport}
				for i := range shelves {
					shelves[i] = &shelf{t: t, url: p.url, client: client, pets: map[int64]string{}}
					writer := fmt.Sprintf("writer %d in round %d", i, round)
					writers.Go(func() { shelves[i].write(writer) })
				}
				// Reads do not wait for saves, so this can end at any step of one.
				for range 100 + rand.IntN(500) {
					send(t, "GET", p.url+"/pets", "unlimited", "")
				}
				p.Process.Signal(signal)
				writers.Wait()
				client.CloseIdleConnections()
				if code, printed := p.end(); signal == syscall.SIGTERM && code != 0 {
					t.Errorf("exit code %d: %s", code, printed)
				}

				next := start(t, "-data", file, "-keys", keys) // it must take the file as it is
				next.Process.Kill()
				next.end()
				if names := files(t, directory); len(names) != 2 {
					t.Errorf("round %d: files %v", round, names)
				}
				found := onDisk(t, file)
				pending := map[change]bool{}
				for _, s := range shelves {
					acknowledged += s.acknowledged
					maps.Copy(known, s.pets)
					if s.pending != nil {
						pending[*s.pending] = true
					}
				}
				for id := range known {
					found[id] += "" // so that deleted pets are compared too
				}
				for id, state := range found {
					before, ours := known[id]
					switch {
					case ours && before == state:
					case pending[change{id, state}] || !ours && pending[change{0, state}]:
						kept++
					default:
						lost++
						t.Errorf("round %d: pet %d is %q, not %q", round, id, state, before)
					}
				}
			}
			t.Logf("%d writes were acknowledged, %d of them lost; %d more were kept",
				acknowledged, lost, kept)
		})
	}
}
