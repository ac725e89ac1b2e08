package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// startTraced runs the program with the file under strace, which gets the flags and may make system
// calls fail. The trace is written to a file. detach ends strace, and the program goes on without
// faults.
func startTraced(t *testing.T, trace, file string, flags ...string) (p *process, detach func()) {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	if err := exec.Command("strace", "-o", os.DevNull, path, "-h").Run(); err != nil {
		if os.Getenv("CI") == "true" && runtime.GOOS == "linux" {
			t.Fatal("CI needs strace: ", err)
		}
		t.Skip("strace cannot be used here: ", err)
	}
	// With -D the program is this process's own child, and strace is not in between. With -I 1 a
	// signal ends strace.
	args := append(strings.Fields("-D -f -qq -I 1 -y -e signal=none -o"), trace)
	args = append(append(args, flags...), path, "-addr", "localhost:0", "-data", file)
	p = startCommand(t, exec.Command("strace", args...))
	tracer := func() int {
		status := read(t, fmt.Sprintf("/proc/%d/status", p.Process.Pid))
		_, after, _ := strings.Cut(status, "TracerPid:")
		pid, err := strconv.Atoi(strings.Fields(after)[0])
		if err != nil {
			t.Fatal(err)
		}
		return pid
	}
	return p, func() {
		if strace, err := os.FindProcess(tracer()); err == nil {
			strace.Signal(syscall.SIGTERM)
		}
		for tracer() != 0 { // until it is gone
			time.Sleep(time.Millisecond)
		}
	}
}

var temporary = regexp.MustCompile(`\.saving-[0-9]+`)

// anonymous replaces the names of the file, of its temporary files and of its directory, which
// differ in each run.
func anonymous(text, file string) string {
	text = temporary.ReplaceAllString(text, ".TEMP")
	return strings.NewReplacer(file, "FILE", filepath.Dir(file), "DIRECTORY").Replace(text)
}

// The steps of a save, as the system sees them.
func TestStepsOfASave(t *testing.T) {
	file, trace := freshFile(t), filepath.Join(t.TempDir(), "trace")
	os.WriteFile(file, []byte("{}"), 0o640)
	p, detach := startTraced(t, trace, file, "-e",
		"trace=openat,fchmod,write,fsync,close,newfstatat,/^rename")
	if status, body := p.do(t, "POST /categories", birds); status != 201 {
		t.Fatalf("status %d: %s", status, body)
	}
	detach()
	p.Process.Kill()
	p.end()
	noise := regexp.MustCompile(`^[0-9]+ +|[0-9]+<|AT_FDCWD<[^>]*>, |,? +<unfinished .*|, ["{].*|` +
		`[>"]|\|O_CLOEXEC|\) += .*`)
	_, calls, _ := strings.Cut(read(t, trace), "Petstore API: ") // after the start
	var got []string
	for _, line := range strings.Split(calls, "\n") {
		// A call that another thread interrupts has two lines, of which the second says "
		// resumed>".
		if strings.Contains(line, filepath.Dir(file)) && !strings.Contains(line, " resumed>") {
			got = append(got, noise.ReplaceAllString(anonymous(line, file), ""))
		}
	}
	same(t, "system calls", []string{
		"openat(FILE.TEMP, O_RDWR|O_CREAT|O_EXCL, 0600", // a file that is new
		"newfstatat(FILE",
		"fchmod(FILE.TEMP, 0640", // the permission bits of the old one
		"write(FILE.TEMP",
		"fsync(FILE.TEMP",
		"close(FILE.TEMP",
		"newfstatat(FILE", // is it still the old one?
		"newfstatat(FILE", // os.Rename asks whether it is a directory
		"renameat(FILE.TEMP, FILE",
		"openat(DIRECTORY, O_RDONLY",
		"fsync(DIRECTORY",
		"close(DIRECTORY",
	}, got)
}

// categoryNames returns the names of the categories in a file.
func categoryNames(t testing.TB, file string) (names []string) {
	t.Helper()
	st, err := parse([]byte(read(t, file)))
	if err != nil {
		t.Fatal(err)
	}
	for _, category := range st.categories.records {
		names = append(names, category.value.Name)
	}
	return names
}

// If a step of a save fails, the write is refused and changes nothing. Only if that is the last
// step, the sync of the directory, the file may have the write until the next save. A directory
// that cannot be synced at all is no fault.
func TestFailingSystemCalls(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		path   string // relative to the directory; if it is empty, all paths count
		inject string
		log    string // empty if the write is acknowledged
	}{
		{"chmod", "", "fchmod:error=EIO", "chmod FILE.TEMP: input/output error"},
		{"sync of the file", "", "fsync:error=EIO", "sync FILE.TEMP: input/output error"},
		{"rename", "petstore.json", "/^rename:error=EIO",
			"rename FILE.TEMP FILE: input/output error"},
		{"open of the directory", ".", "openat:error=EIO", "open DIRECTORY: input/output error"},
		{"sync of the directory", ".", "fsync:error=EIO", "sync DIRECTORY: input/output error"},
		{"directory without a sync", ".", "fsync:error=EINVAL", ""},
		{"unsupported sync of a directory", ".", "fsync:error=EOPNOTSUPP", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			file := freshFile(t)
			write(t, file, "{}")
			call, _, _ := strings.Cut(test.inject, ":")
			flags := []string{"-e", "trace=" + call, "-e", "inject=" + test.inject}
			if test.path != "" {
				flags = append(flags, "-P", filepath.Join(filepath.Dir(file), test.path))
			}
			p, detach := startTraced(t, filepath.Join(t.TempDir(), "trace"), file, flags...)
			expect := func(request, body string, want int) (got string) {
				t.Helper()
				status, got := p.do(t, request, body)
				if status != want {
					t.Fatalf("%s: status %d, want %d: %s", request, status, want, got)
				}
				return got
			}
			var want []string // what was acknowledged
			for range 2 {
				if test.log != "" {
					expect("POST /categories", `{"name":"unsure"}`, 503)
				} else {
					expect("POST /categories", `{"name":"unsure"}`, 201)
					want = append(want, "unsure")
				}
			}
			got := expect("GET /categories", "", 200)
			same(t, "categories shown", len(want), strings.Count(got, "unsure"))
			if test.path != "." {
				same(t, "in the file", want, categoryNames(t, file))
			}
			detach()
			expect("POST /categories", `{"name":"kept"}`, 201)
			expect("GET /healthz", "", 200)
			p.Process.Kill()
			_, printed := p.end()
			same(t, "in the file at the end", append(want, "kept"), categoryNames(t, file))
			same(t, "files", []string{"petstore.json"}, files(t, filepath.Dir(file)))
			_, failures, _ := strings.Cut(anonymous(printed, file), "saving failed: ")
			first, more, _ := strings.Cut(failures, "\n")
			if first != test.log || strings.Contains(more, "saving failed") {
				t.Errorf("saving failed: %s; want once %s", failures, test.log)
			}
		})
	}
}

// The disk is full. It is a real one, so the test needs the right to mount it.
func TestFullDisk(t *testing.T) {
	directory := t.TempDir()
	mount := exec.Command("mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", directory)
	if err := mount.Run(); err != nil {
		t.Skip("no tmpfs can be mounted here: ", err)
	}
	defer exec.Command("umount", "-l", directory).Run()
	s := newService(t, filepath.Join(directory, "petstore.json"))
	before := text(t, s.store.view())
	ballast := filepath.Join(directory, "ballast")
	os.WriteFile(ballast, make([]byte, 1<<20), 0o644) // as much as there is room for
	for range 2 {
		s.expect("POST /categories", birds, 503, "cannot save to its disk")
		s.expect("GET /healthz", "", 503, "cannot save to its disk")
	}
	same(t, "after a refused write", before, text(t, s.store.view()))
	same(t, "times that it is logged", 1, strings.Count(s.log.String(), "no space left"))
	os.Remove(ballast)
	expectSaved(t, s.store)
	s.expect("POST /categories", birds, 201, `{"id":5,"name":"Birds"}`)
	s.expectHealthy()
	expectSaved(t, s.store)
}

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
