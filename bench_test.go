package main

import (
	"bufio"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// serveBare is what the server is measured against: net/http and its mux, sending ready-made
// responses of the server. Each is given as a pattern, a newline, and the bytes to send.
func serveBare(responses []string) {
	mux := http.NewServeMux()
	for _, response := range responses {
		pattern, sent, _ := strings.Cut(response, "\n")
		resp, err := http.ReadResponse(bufio.NewReader(strings.NewReader(sent)), nil)
		if err != nil {
			log.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			for name, values := range resp.Header {
				w.Header()[name] = values
			}
			w.WriteHeader(resp.StatusCode)
			w.Write(body)
		})
	}
	listener, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Fprintf(os.Stderr, "Petstore API: http://%s\n", listener.Addr())
	log.Fatal(http.Serve(listener, mux))
}

// cpu returns the time that all threads of a process have run.
func cpu(b testing.TB, pid int) (total time.Duration) {
	b.Helper()
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil || threads == nil {
		b.Skip("only Linux reports the processor time of another process")
	}
	for _, thread := range threads {
		stat, _ := os.ReadFile(thread)
		ran, _, _ := strings.Cut(string(stat), " ")
		nanoseconds, _ := strconv.ParseInt(ran, 10, 64)
		total += time.Duration(nanoseconds)
	}
	return total
}

// A round is what it costs to send a request many times.
type round struct {
	cpu       time.Duration // of the server, for a request
	perSecond float64
}

// drive sends the request n times over 32 connections.
func drive(b testing.TB, p *process, request string, n int) round {
	b.Helper()
	const connections = 32
	n -= n % connections
	var clients sync.WaitGroup
	before, begin := cpu(b, p.Process.Pid), time.Now()
	for range connections {
		clients.Go(func() {
			conn, err := net.Dial("tcp", strings.TrimPrefix(p.url, "http://"))
			if err != nil {
				b.Error(err)
				return
			}
			defer conn.Close()
			responses := bufio.NewReaderSize(conn, 32<<10)
			for range n / connections {
				io.WriteString(conn, request)
				resp, err := http.ReadResponse(responses, nil)
				if err != nil || resp.StatusCode > 201 {
					b.Errorf("%v %v", resp, err)
					return
				}
				io.Copy(io.Discard, resp.Body)
			}
		})
	}
	clients.Wait()
	used := cpu(b, p.Process.Pid) - before
	return round{used / time.Duration(n), float64(n) / time.Since(begin).Seconds()}
}

// loadHeader ends the request line of a request to drive, and has a key whose limits cannot be
// reached.
const loadHeader = " HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer unlimited\r\n"

// BenchmarkAgainstBare compares the processor time of a request with that of net/http alone, which
// sends the same response ready-made. Each round measures both, one right after the other; the
// ratio is that of the best rounds. It takes minutes, so it runs only when asked for:
//
//	COMPARE=5 go test -run - -bench AgainstBare
func BenchmarkAgainstBare(b *testing.B) {
	rounds, err := strconv.Atoi(os.Getenv("COMPARE"))
	if err != nil {
		b.Skip("COMPARE=5 measures in five rounds")
	}
	b.ReportMetric(0, "ns/op") // the time of all rounds says nothing
	keys := unlimitedKeys(b, b.TempDir())
	memory := start(b, "-keys", keys, "-data", "")
	file := start(b, "-keys", keys, "-data", petsFile(b, 1000))

	body := `{"name":"Pet number 5","categoryId":1,"status":"available"}` // a POST would add pets
	put := fmt.Sprintf("PUT /pets/5%sContent-Length: %d\r\n\r\n%s", loadHeader, len(body), body)
	kinds := []struct {
		name, metric string
		request      string
		server       *process
		n            int
	}{
		{"GET one pet", "get-1-ratio", "GET /pets/500" + loadHeader + "\r\n", file, 40000},
		{"GET 20 pets", "get-20-ratio", "GET /pets?limit=20" + loadHeader + "\r\n", file, 40000},
		{"GET 100 pets", "get-100-ratio", "GET /pets?limit=100" + loadHeader + "\r\n", file, 20000},
		{"PUT in memory", "put-ratio", put, memory, 40000},
		{"PUT to a file", "put-file-ratio", put, file, 3000},
	}
	s := newService(b, petsFile(b, 1000))
	var responses []string
	// The mux of the bare server does not look at the query, so there each list has a path of its
	// own.
	bareKinds := []string{"GET /pets/{id}", "GET /twenty", "GET /hundred", "PUT /pets/{id}"}
	for i, pattern := range bareKinds {
		r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(kinds[i].request)))
		if err != nil {
			b.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer big")
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		var sent strings.Builder
		w.Result().Write(&sent)
		responses = append(responses, pattern+"\n"+sent.String())
	}
	bare := startBare(b, responses)
	paths := strings.NewReplacer("/pets?limit=20 ", "/twenty ", "/pets?limit=100 ", "/hundred ")

	b.Log("CPU per request      bare   server  ratio    bare/s  server/s")
	for _, kind := range kinds {
		their, our := round{cpu: time.Hour}, round{cpu: time.Hour}
		for range rounds {
			their = cheaper(their, drive(b, bare, paths.Replace(kind.request), kind.n))
			our = cheaper(our, drive(b, kind.server, kind.request, kind.n))
		}
		ratio := float64(our.cpu) / float64(their.cpu)
		b.ReportMetric(ratio, kind.metric)
		b.Logf("%-16s %8v %8v %6.2f %9.0f %9.0f", kind.name, their.cpu, our.cpu, ratio,
			their.perSecond, our.perSecond)
	}
}

func cheaper(a, b round) round {
	if a.cpu < b.cpu {
		return a
	}
	return b
}

// startBare runs this test binary as the bare server.
func startBare(t testing.TB, responses []string) *process {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path)
	cmd.Env = append(os.Environ(), "PETSTORE_BARE="+strings.Join(responses, "\x1e"))
	return startCommand(t, cmd)
}

// petsFile writes a snapshot of n pets.
func petsFile(t testing.TB, n int) string {
	t.Helper()
	path := freshFile(t)
	write(t, path, text(t, manyPets(n)))
	return path
}

// manyPets returns a state of n pets in one category.
func manyPets(n int) *state {
	st := new(state)
	st.categories.add(1, Category{1, NewCategory{Name: "Dogs"}})
	for id := int64(1); id <= int64(n); id++ {
		body := NewPet{Name: fmt.Sprintf("Pet number %d", id), CategoryID: 1, Status: Available}
		st.pets.load(id, Pet{id, body}) // add would copy all records each time
		st.inventory.load(id, InventoryItem{id, InventoryUpdate{id % 100}, Available})
	}
	return st
}

func BenchmarkHandler(b *testing.B) {
	const pet = `{"name":"Luna","categoryId":1,"status":"sold"}`
	for _, n := range []int{1000, 1_000_000} {
		st := manyPets(n)
		for _, bench := range []struct{ name, method, target, body string }{
			{"one", "GET", fmt.Sprint("/pets/", n/2), ""},
			{"list20", "GET", fmt.Sprint("/pets?after=", n/2), ""},
			{"list100", "GET", fmt.Sprint("/pets?limit=100&after=", n/2), ""},
			{"post", "POST", "/pets", pet},
			{"put", "PUT", fmt.Sprint("/pets/", n/2), pet},
			{"patch", "PATCH", fmt.Sprint("/inventory/", n/2), `{"quantity":5}`},
		} {
			b.Run(fmt.Sprintf("%s/%d", bench.name, n), func(b *testing.B) {
				s := newService(b, "")
				next := s.store.begin()
				*next = *st
				s.store.commit(next)
				s.store.end()
				w := discard{httptest.NewRecorder()}
				r := httptest.NewRequest(bench.method, bench.target, nil)
				r.Header.Set("Authorization", "Bearer big")
				b.ReportAllocs()
				for b.Loop() {
					r.Body = io.NopCloser(strings.NewReader(bench.body))
					clear(w.Header())
					s.ServeHTTP(w, r)
				}
				same(b, "the first digit of the greatest status", 2, w.Code/100)
			})
		}
	}
}

// discard is a ResponseWriter that costs nothing, and keeps the greatest status.
type discard struct{ *httptest.ResponseRecorder }

func (d discard) Write(p []byte) (int, error) { return len(p), nil }
func (d discard) WriteHeader(status int)      { d.Code = max(d.Code, status) }
