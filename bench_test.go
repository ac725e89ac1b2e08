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

// compareRounds returns how many rounds a comparison has. Comparisons take minutes, so they run only when asked for:
//
//	COMPARE=5 go test -run - -bench 'AgainstBare|MillionPets'
func compareRounds(b *testing.B) int {
	b.Helper()
	rounds, err := strconv.Atoi(os.Getenv("COMPARE"))
	if err != nil {
		b.Skip("COMPARE=5 measures in five rounds")
	}
	b.ReportMetric(0, "ns/op") // the time of all rounds says nothing
	return rounds
}

// BenchmarkAgainstBare compares the processor time of a request with that of net/http alone, which sends the same
// response ready-made. Each round measures both, one right after the other; the ratio is that of the best rounds.
func BenchmarkAgainstBare(b *testing.B) {
	rounds := compareRounds(b)
	keys := unlimitedKeys(b, b.TempDir())
	quick := start(b, "-keys", keys, "-data", petsFile(b, 1000), "-sync=false")
	synced := start(b, "-keys", keys, "-data", petsFile(b, 1000))

	body := `{"name":"Pet number 1001","categoryId":1,"status":"available"}`
	post := fmt.Sprintf("POST /pets%sContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		loadHeader, len(body), body)
	kinds := []struct {
		name, metric string
		request      string
		server       *process
		n            int
	}{
		{"GET one pet", "get-1-ratio", "GET /pets/500" + loadHeader + "\r\n", quick, 40000},
		{"GET 20 pets", "get-20-ratio", "GET /pets?limit=20" + loadHeader + "\r\n", quick, 40000},
		{"GET 100 pets", "get-100-ratio", "GET /pets?limit=100" + loadHeader + "\r\n", quick, 20000},
		{"POST, -sync=false", "post-ratio", post, quick, 40000},
		{"POST, -sync", "post-sync-ratio", post, synced, 3000},
	}
	s := newService(b, "", false)
	defer s.store.Close()
	s.store.current = manyPets(1000)
	var responses []string
	// The mux of the bare server does not look at the query, so there each list has a path of its own.
	for i, pattern := range []string{"GET /pets/{petId}", "GET /twenty", "GET /hundred", "POST /pets"} {
		r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(kinds[i].request)))
		if err != nil {
			b.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer big")
		w := httptest.NewRecorder()
		s.handler.ServeHTTP(w, r)
		var sent strings.Builder
		w.Result().Write(&sent)
		responses = append(responses, pattern+"\n"+sent.String())
	}
	bare := startBare(b, responses)
	paths := strings.NewReplacer("/pets?limit=20 ", "/twenty ", "/pets?limit=100 ", "/hundred ")

	best := func(rounds []round) round {
		return slices.MinFunc(rounds, func(a, b round) int { return int(a.cpu - b.cpu) })
	}
	b.Logf("%-18s %8s %8s %6s   %-18s %9s %9s %8s %10s", "CPU per request",
		"bare", "server", "ratio", "median (range)", "bare/s", "server/s", "bare p99", "server p99")
	for _, kind := range kinds {
		var theirs, ours []round
		var ratios []float64
		for range rounds {
			their := drive(b, bare, paths.Replace(kind.request), kind.n)
			our := drive(b, kind.server, kind.request, kind.n)
			theirs, ours = append(theirs, their), append(ours, our)
			ratios = append(ratios, float64(our.cpu)/float64(their.cpu))
		}
		slices.Sort(ratios)
		their, our := best(theirs), best(ours)
		ratio := float64(our.cpu) / float64(their.cpu)
		b.ReportMetric(ratio, kind.metric)
		b.Logf("%-18s %8v %8v %6.2f   %.2f (%.2f-%.2f)   %9.0f %9.0f %8v %10v", kind.name,
			their.cpu, our.cpu, ratio, ratios[len(ratios)/2], ratios[0], ratios[len(ratios)-1],
			their.perSecond, our.perSecond, their.p99.Round(time.Microsecond), our.p99.Round(time.Microsecond))
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

// BenchmarkMillionPets reports what a million pets cost: the start, the memory of a pet, and how much longer reads take
// while the pets are saved.
func BenchmarkMillionPets(b *testing.B) {
	rounds := compareRounds(b)
	const pets = 1_000_000
	keys, file := unlimitedKeys(b, b.TempDir()), petsFile(b, pets)
	runtime.GC()
	binary() // so that the time of the build does not count
	var p *process
	var starts []time.Duration
	for range rounds {
		if p != nil {
			p.Process.Kill()
			p.end()
		}
		begin := time.Now()
		p = start(b, "-keys", keys, "-data", file, "-sync=false")
		starts = append(starts, time.Since(begin))
	}
	b.ReportMetric(slices.Min(starts).Seconds(), "s/start")
	b.Logf("the starts took %v", starts)

	get := "GET /pets?limit=20&after=500000" + loadHeader + "\r\n"
	const n = 60000
	drive(b, p, get, n)
	status := read(b, fmt.Sprintf("/proc/%d/status", p.Process.Pid))
	var kilobytes int
	fmt.Sscanf(status[strings.Index(status, "VmRSS:"):], "VmRSS: %d kB", &kilobytes)
	b.ReportMetric(float64(kilobytes<<10)/pets, "B/pet")
	b.Logf("after %d reads the server has %d KiB", n, kilobytes)

	var ratios []float64
	for range rounds {
		quiet := drive(b, p, get, n)
		stop := make(chan bool)
		var writer sync.WaitGroup
		writer.Go(func() { // a write now and then, so that the server saves every second
			for {
				select {
				case <-stop:
					return
				case <-time.After(100 * time.Millisecond):
					drive(b, p, "PATCH /inventory/5"+loadHeader+"Content-Length: 14\r\n\r\n{\"quantity\":5}", 32)
				}
			}
		})
		saving := drive(b, p, get, n)
		close(stop)
		writer.Wait()
		ratios = append(ratios, float64(saving.p99)/float64(quiet.p99))
		b.Logf("99th percentile of reads: %v, and %v while it saves (%.2f times)",
			quiet.p99.Round(time.Microsecond), saving.p99.Round(time.Microsecond), ratios[len(ratios)-1])
	}
	slices.Sort(ratios)
	b.ReportMetric(ratios[len(ratios)/2], "p99-ratio")
}
