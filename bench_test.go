package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// serveBare is what the server is measured against: net/http and its mux, sending ready-made responses of the server.
// Each is given as a pattern, a newline, and the bytes to send.
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
	cpu, p99  time.Duration // of a request
	perSecond float64
}

// drive sends the request n times over 32 connections.
func drive(b testing.TB, p *process, request string, n int) round {
	b.Helper()
	const connections = 32
	took := make([]time.Duration, connections*(n/connections))
	var clients sync.WaitGroup
	before, begin := cpu(b, p.Process.Pid), time.Now()
	for c := range connections {
		clients.Go(func() {
			conn, err := net.Dial("tcp", strings.TrimPrefix(p.url, "http://"))
			if err != nil {
				b.Error(err)
				return
			}
			defer conn.Close()
			responses, sent := bufio.NewReaderSize(conn, 32<<10), []byte(request)
			for i := range n / connections {
				start := time.Now()
				conn.Write(sent)
				resp, err := http.ReadResponse(responses, nil)
				if err != nil || resp.StatusCode > 201 {
					b.Errorf("%v %v", resp, err)
					return
				}
				io.Copy(io.Discard, resp.Body)
				took[c*(n/connections)+i] = time.Since(start)
			}
		})
	}
	clients.Wait()
	elapsed, used := time.Since(begin), cpu(b, p.Process.Pid)-before
	slices.Sort(took)
	n = len(took)
	return round{cpu: used / time.Duration(n), p99: took[n*99/100], perSecond: float64(n) / elapsed.Seconds()}
}

// loadHeader ends the request line of a request to drive, and has a key whose limits cannot be reached.
const loadHeader = " HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer unlimited\r\n"

// TestAgainstBare prints what a request costs the server beside what it costs net/http alone. COMPARE is the
// number of rounds.
func TestAgainstBare(t *testing.T) {
	rounds, err := strconv.Atoi(os.Getenv("COMPARE"))
	if err != nil {
		t.Skip("COMPARE=5 compares the server with net/http alone")
	}
	keys := unlimitedKeys(t, t.TempDir())
	quick := start(t, "-keys", keys, "-data", petsFile(t, 1000), "-sync=false")
	synced := start(t, "-keys", keys, "-data", petsFile(t, 1000))

	body := `{"name":"Pet number 1001","categoryId":1,"status":"available"}`
	post := fmt.Sprintf("POST /pets%sContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		loadHeader, len(body), body)
	kinds := []struct {
		name, request string
		server        *process
		n             int
	}{
		{"GET one pet", "GET /pets/500" + loadHeader + "\r\n", quick, 40000},
		{"GET 20 pets", "GET /pets?limit=20" + loadHeader + "\r\n", quick, 40000},
		{"GET 100 pets", "GET /pets?limit=100" + loadHeader + "\r\n", quick, 20000},
		{"POST, -sync=false", post, quick, 40000},
		{"POST, -sync", post, synced, 3000},
	}
	s := newService(t, "", false)
	defer s.store.Close()
	s.store.current = manyPets(1000)
	var responses []string
	// The mux of the bare server does not look at the query, so there each list has a path of its own.
	for i, pattern := range []string{"GET /pets/{petId}", "GET /twenty", "GET /hundred", "POST /pets"} {
		r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(kinds[i].request)))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer big")
		w := httptest.NewRecorder()
		s.handler.ServeHTTP(w, r)
		var sent strings.Builder
		w.Result().Write(&sent)
		responses = append(responses, pattern+"\n"+sent.String())
	}
	bare := startBare(t, responses)
	paths := strings.NewReplacer("/pets?limit=20 ", "/twenty ", "/pets?limit=100 ", "/hundred ")

	t.Logf("%-18s %8s %8s %6s   %-18s %9s %9s %8s %10s", "CPU per request",
		"bare", "server", "ratio", "median (range)", "bare/s", "server/s", "bare p99", "server p99")
	for _, kind := range kinds {
		var ours, theirs []round
		var ratios []float64
		for range rounds {
			a := drive(t, bare, paths.Replace(kind.request), kind.n)
			b := drive(t, kind.server, kind.request, kind.n)
			ours, theirs = append(ours, b), append(theirs, a)
			ratios = append(ratios, float64(b.cpu)/float64(a.cpu))
		}
		slices.Sort(ratios)
		best := func(rounds []round) round {
			return slices.MinFunc(rounds, func(a, b round) int { return int(a.cpu - b.cpu) })
		}
		a, b := best(theirs), best(ours)
		t.Logf("%-18s %8v %8v %6.2f   %.2f (%.2f-%.2f)   %9.0f %9.0f %8v %10v", kind.name,
			a.cpu, b.cpu, float64(b.cpu)/float64(a.cpu), ratios[len(ratios)/2], ratios[0], ratios[len(ratios)-1],
			a.perSecond, b.perSecond, a.p99.Round(time.Microsecond), b.p99.Round(time.Microsecond))
	}
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
	path := filepath.Join(t.TempDir(), "petstore.json")
	if err := os.WriteFile(path, []byte(text(t, manyPets(n))), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// manyPets returns a state of n pets in one category.
func manyPets(n int) *state {
	st := new(state)
	st.categories.insert(1, newRecord(Category{ID: 1, NewCategory: NewCategory{Name: "Dogs"}}))
	for id := int64(1); id <= int64(n); id++ {
		body := NewPet{Name: fmt.Sprintf("Pet number %d", id), CategoryID: 1, Status: Available}
		st.pets.insert(id, newRecord(Pet{ID: id, NewPet: body, quantity: id % 100}))
	}
	return st
}

func BenchmarkHandler(b *testing.B) {
	for _, n := range []int{1000, 1_000_000} {
		st := manyPets(n)
		for _, bench := range []struct{ name, method, target, body string }{
			{"one", "GET", fmt.Sprint("/pets/", n/2), ""},
			{"list20", "GET", fmt.Sprint("/pets?after=", n/2), ""},
			{"list100", "GET", fmt.Sprint("/pets?limit=100&after=", n/2), ""},
			{"post", "POST", "/pets", `{"name":"Luna","categoryId":1,"status":"sold"}`},
			{"put", "PUT", fmt.Sprint("/pets/", n/2), `{"name":"Luna","categoryId":1,"status":"sold"}`},
			{"patch", "PATCH", fmt.Sprint("/inventory/", n/2), `{"quantity":5}`},
		} {
			b.Run(fmt.Sprintf("%s/%d", bench.name, n), func(b *testing.B) {
				s := newService(b, "", false)
				defer s.store.Close()
				s.store.current = st
				w := discard{header: http.Header{}}
				r := httptest.NewRequest(bench.method, bench.target, nil)
				r.Header.Set("Authorization", "Bearer big")
				b.ReportAllocs()
				for b.Loop() {
					r.Body = io.NopCloser(strings.NewReader(bench.body))
					clear(w.header)
					s.handler.ServeHTTP(w, r)
				}
			})
		}
	}
}

// discard is a ResponseWriter that costs nothing.
type discard struct{ header http.Header }

func (d discard) Header() http.Header         { return d.header }
func (d discard) Write(p []byte) (int, error) { return len(p), nil }
func (d discard) WriteHeader(int)             {}

func BenchmarkSnapshot(b *testing.B) {
	for _, n := range []int{1000, 1_000_000} {
		st := manyPets(n)
		var file bytes.Buffer
		st.writeTo(&file)
		b.Run(fmt.Sprintf("save/%d", n), func(b *testing.B) {
			s := open(b, filepath.Join(b.TempDir(), "petstore.json"), false)
			close(s.quit) // replaceFile is for one goroutine at a time
			<-s.done
			b.SetBytes(int64(file.Len()))
			for b.Loop() {
				if err := s.replaceFile(st); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("write/%d", n), func(b *testing.B) {
			b.SetBytes(int64(file.Len()))
			for b.Loop() {
				st.writeTo(io.Discard)
			}
		})
		b.Run(fmt.Sprintf("load/%d", n), func(b *testing.B) {
			b.SetBytes(int64(file.Len()))
			for b.Loop() {
				if _, err := parse(file.Bytes()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkGroupCommit reports how many of the writes of 32 clients share a save.
func BenchmarkGroupCommit(b *testing.B) {
	s := newService(b, petsFile(b, 1000), true)
	defer s.store.Close()
	server := httptest.NewServer(s.handler)
	defer server.Close()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 32}}
	var mu sync.Mutex
	saves := map[*state]bool{} // each save publishes a state of its own
	var clients sync.WaitGroup
	var next atomic.Int64
	for range 32 {
		clients.Go(func() {
			for next.Add(1) <= int64(b.N) {
				r, _ := http.NewRequest("PATCH", server.URL+"/inventory/500", strings.NewReader(`{"quantity":5}`))
				r.Header.Set("Authorization", "Bearer big")
				resp, err := client.Do(r)
				if err != nil || resp.StatusCode != 200 {
					b.Error(resp, err)
					return
				}
				io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
				mu.Lock()
				saves[s.store.view()] = true
				mu.Unlock()
			}
		})
	}
	clients.Wait()
	b.ReportMetric(float64(b.N)/float64(len(saves)), "writes/save")
}

// TestMillionPets prints what a million pets cost: the start, the memory, and how much a save slows down reads.
func TestMillionPets(t *testing.T) {
	if os.Getenv("COMPARE") == "" {
		t.Skip("COMPARE=5 measures the server with a million pets")
	}
	keys, file := unlimitedKeys(t, t.TempDir()), petsFile(t, 1_000_000)
	runtime.GC()
	binary() // is not to be timed
	var p *process
	for range 3 {
		if p != nil {
			p.Process.Kill()
			p.end()
		}
		begin := time.Now()
		p = start(t, "-keys", keys, "-data", file, "-sync=false")
		t.Logf("started in %v", time.Since(begin).Round(time.Millisecond))
	}
	get := "GET /pets?limit=20&after=500000" + loadHeader + "\r\n"
	const n = 60000
	drive(t, p, get, n)
	status := read(t, fmt.Sprintf("/proc/%d/status", p.Process.Pid))
	resident, _, _ := strings.Cut(status[strings.Index(status, "VmRSS:"):], "\n")
	t.Logf("after %d reads %s", n, resident)
	for range 3 {
		quiet := drive(t, p, get, n)
		stop := make(chan bool)
		var writer sync.WaitGroup
		writer.Go(func() { // a write now and then makes every tick save
			for {
				select {
				case <-stop:
					return
				case <-time.After(100 * time.Millisecond):
					drive(t, p, "PATCH /inventory/5"+loadHeader+"Content-Length: 14\r\n\r\n{\"quantity\":5}", 32)
				}
			}
		})
		saving := drive(t, p, get, n)
		close(stop)
		writer.Wait()
		t.Logf("99th percentile of reads: %v, and while it saves each second %v (%.2f times)",
			quiet.p99.Round(time.Microsecond), saving.p99.Round(time.Microsecond),
			float64(saving.p99)/float64(quiet.p99))
	}
}
