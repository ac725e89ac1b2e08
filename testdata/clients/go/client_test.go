package shop

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"shop/internal/petstore"
)

// To test a client of your own, change what stands between here and the next variables.

const second, timeout = time.Second, time.Second // timeout is that of each try

// backoff has the waits after tries without a response.
var backoff = []time.Duration{second / 10, second / 5, second * 2 / 5, second * 4 / 5}

func newClient(url, key string, transport http.RoundTripper, tries int,
	maxWait time.Duration) *Client {
	c := NewClient(url, key)
	c.HTTP.Transport, c.HTTP.Timeout = transport, timeout
	c.Tries, c.Backoff, c.MaxWait = tries, backoff[0], maxWait
	return c
}

// call makes a call, and returns how it ended.
func call(ctx context.Context, c *Client, method, path, body string) string {
	content, _, err := c.Call(ctx, method, path, []byte(body))
	e, responded := errors.AsType[*APIError](err)
	switch {
	case err == nil:
		return "done " + string(content)
	case errors.Is(err, context.Canceled):
		return "cancelled"
	case responded:
		return fmt.Sprintf("%d %s: %s", e.Status, e.Code, e.Message)
	}
	return "no response"
}

// list returns the id and the name of each pet, or that there was an error.
func list(ctx context.Context, c *Client, filter url.Values) string {
	pets, err := c.Pets(ctx, filter)
	if err != nil {
		return "error"
	}
	return fmt.Sprint(pets)
}

// The tests run in real time, and compare waits with two bounds. With Go 1.27, fake_test.go makes
// time fake, and waits exact.
var (
	minute    = 2 * second     // of the limits
	later     = second * 3 / 4 // how long nothing may be sent after a call
	tries     = []int{7}       // of a client whose waits stop growing
	inTime    = func(t *testing.T, test func(*testing.T)) { test(t) }
	isWait    = func(got, want time.Duration) bool { return got >= want*3/4 && got < want+2*second }
	newServer = func(_ testing.TB, h http.Handler) *httptest.Server { return httptest.NewServer(h) }
)

// A service sends the requests of its client to its handler, and keeps them.
type service struct {
	*testing.T
	url       string
	transport *http.Transport
	client    *Client
	handler   http.Handler
	requests  chan request
}

type request struct {
	path, query, body, from string // from is the client's end of the connection
	time                    time.Time
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	now := time.Now()
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	s.requests <- request{r.Method + " " + r.URL.Path, r.URL.Query().Encode(), string(body),
		r.RemoteAddr, now}
	s.handler.ServeHTTP(w, r)
}

// received returns the requests since it was last called.
func (s *service) received() (requests []request) {
	for len(s.requests) > 0 {
		requests = append(requests, <-s.requests)
	}
	return requests
}

// serve lets the handler be a petstore.
func (s *service) serve(options petstore.Options) {
	options.Keys, options.Minute = "keys.json", minute
	options.Logger, options.Verbose = log.New(s.Output(), "", 0), true // for a test that fails
	server, err := petstore.New(options)
	if err != nil {
		s.Fatal(err)
	}
	s.handler = server
}

// use makes a client with a key, and with a path in its base URL.
func (s *service) use(key, path string) {
	s.client = newClient(s.url+path, key, s.transport, 5, 10*minute)
}

// row runs a test with a service.
func row(t *testing.T, name string, options petstore.Options, test func(*service)) {
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		inTime(t, func(t *testing.T) {
			s := &service{T: t, requests: make(chan request, 10000)}
			s.serve(options)
			server := newServer(t, s)
			defer server.Close()
			s.transport, s.url = server.Client().Transport.(*http.Transport), server.URL
			s.transport.MaxConnsPerHost = 1 // so that a body that is not closed stops the client
			s.use("plenty", "")
			test(s)
			time.Sleep(later)
			if requests := s.received(); len(requests) > 0 {
				t.Errorf("after the end of the last call, the server got %v", requests)
			}
		})
	})
}

var bodies = map[string]string{
	"POST": `{"name":"Birds"}`, "PUT": `{"name":"Birds"}`, "PATCH": `{"quantity":7}`,
}

// call makes a call, and compares the beginning of its outcome, and the waits before, between and
// after its requests. It cancels the call after half a second if that is the outcome.
func (s *service) call(request, outcome string, waits ...time.Duration) {
	s.Helper()
	method, path, _ := strings.Cut(request, " ")
	ctx, cancel := context.WithTimeout(s.Context(), 12*time.Hour) // the end of fake time is near
	defer cancel()
	if outcome == "cancelled" {
		time.AfterFunc(second/2, cancel)
	}
	last := time.Now()
	ended := call(ctx, s.client, method, path, bodies[method])
	end := time.Now()
	var got []time.Duration
	for _, r := range s.received() {
		got, last = append(got, r.time.Sub(last)), r.time
		if r.path != request || r.body != bodies[method] {
			s.Errorf("%s: the server got %s with the body %q", request, r.path, r.body)
		}
	}
	got = append(got, end.Sub(last))
	if !strings.HasPrefix(ended, outcome) || !slices.EqualFunc(got, waits, isWait) {
		s.Errorf("%s: waits of %v, then %s; want %v, then %s", request, got, ended, waits, outcome)
	}
}

// list lists the pets in zoo.json that are available, and compares which of their pages are asked
// for, over one connection.
func (s *service) list(pages ...int) {
	s.Helper()
	filter := url.Values{"limit": {"2"}, "status": {"available"}}
	got, requests := list(s.Context(), s.client, filter), s.received()
	want := "[{1 Zuri} {2 Dvořák} {3 Nala} {5 Amari} {3000000000 Juma} " +
		"{9007199254740993 Simba} {9007199254740995 Tembo} {9007199254740997 Pip}]"
	after := []string{"", "after=2&", "after=5&", "after=9007199254740993&"}
	isPage := func(r request, page int) bool {
		return r.query == after[page]+filter.Encode() && r.from == requests[0].from
	}
	if got != want || !slices.EqualFunc(requests, pages, isPage) {
		s.Errorf("got %v, by %v; want %v, by the pages %v", got, requests, want, pages)
	}
}

func TestClient(t *testing.T) {
	type faults = petstore.Options
	none := faults{}
	row(t, "an API error is returned at once, with its code and message", none, func(s *service) {
		s.call("PATCH /inventory/x", "400 invalid_parameter: petId ", 0, 0)
		s.call("GET /categories/99", "404 not_found: No category ", 0, 0)
		s.call("PUT /categories", "405 method_not_allowed: This path ", 0, 0)
		s.call("DELETE /categories/1", "409 in_use: Pet 1 ", 0, 0)
		s.use("nobody", "")
		s.call("GET /pets", "401 unauthorized: ", 0, 0)
	})
	row(t, "a first DELETE that finds nothing is an error", none, func(s *service) {
		s.call("DELETE /categories/4", "done", 0, 0)
		s.call("DELETE /categories/4", "404 not_found: ", 0, 0)
		s.serve(faults{Fail: "1/2"})
		s.call("DELETE /categories/9", "404 not_found: ", 0, second, 0) // a 503 deletes nothing
	})
	row(t, "a response that is not JSON is an error of the client", none, func(s *service) {
		s.handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == "POST" {
				w.WriteHeader(http.StatusBadGateway)
			}
			io.WriteString(w, "<html>Please log in")
		})
		s.call("POST /categories", "502 : ", 0, 0)
		s.call("GET /categories/1", "200 : ", 0, 0)
		s.call("DELETE /categories/1", "200 : ", 0, 0)
	})
	row(t, "a body that is cut off is an error of the client", none, func(s *service) {
		s.handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "100")
			io.WriteString(w, `[{"id":1,`)
		})
		s.call("POST /categories", "no response", 0, 0)
		s.call("GET /pets", "no response", 0, backoff[0], backoff[1], backoff[2], backoff[3], 0)
	})
	row(t, "waits as told after each of two 503s", faults{Fail: "2/3"}, func(s *service) {
		s.call("POST /categories", `done {"id":5,"name":"Birds"}`, 0, second, second, 0)
		s.call("GET /categories/5", `done {"id":5,"name":"Birds"}`, 0, second, second, 0)
	})
	row(t, "gives up after five tries, with the last error", faults{Fail: "1/1"}, func(s *service) {
		s.call("GET /pets", "503 failed_on_purpose: ", 0, second, second, second, second, 0)
	})
	row(t, "a POST or PATCH is not sent again after a 503 without Retry-After", none,
		func(s *service) {
			file := s.TempDir() + "/petstore.json" // which nobody may write
			records := `{"categories":[{"id":1,"name":"Cats"}],
				"pets":[{"id":1,"name":"Zuri","categoryId":1}]}`
			if err := os.WriteFile(file, []byte(records), 0o444); err != nil {
				s.Fatal(err)
			}
			s.serve(faults{Data: file})
			s.call("POST /categories", "503 save_failed: ", 0, 0)
			s.call("PATCH /inventory/1", "503 save_failed: ", 0, 0)
		})
	row(t, "a lost GET, PUT or DELETE is sent again", faults{Drop: "1/2"}, func(s *service) {
		s.call("GET /categories/3", `done {"id":3,"name":"Rabbits"}`, 0, backoff[0], 0)
		s.call("PUT /categories/1", `done {"id":1,"name":"Birds"}`, 0, backoff[0], 0)
		s.serve(faults{Drop: "1/1", Fail: "2-2/3"}) // lost, a 503, then a 404
		s.call("DELETE /categories/4", "done", 0, backoff[0], second, 0)
	})
	row(t, "a lost POST or PATCH is not sent again", faults{Drop: "1/1"}, func(s *service) {
		s.call("POST /categories", "no response", 0, 0)
		s.call("PATCH /inventory/1", "no response", 0, 0)
	})
	row(t, "waits grow from try to try, up to a limit", faults{Drop: "1/1"}, func(s *service) {
		for _, n := range tries {
			s.client = newClient(s.url, "plenty", s.transport, n, second/2)
			waits := append([]time.Duration{0}, backoff[:3]...)
			for len(waits) < n {
				waits = append(waits, second/2)
			}
			if s.call("GET /pets", "no response", append(waits, 0)...); s.Failed() {
				break // before waits without a limit overflow
			}
		}
	})
	row(t, "a late GET is sent again; the timeout is for each try",
		faults{Delay: 8 * second, Slow: "2/3"}, func(s *service) {
			s.call("GET /pets", "done", 0, timeout+backoff[0], timeout+backoff[1], 0)
			tries := 0
			s.handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				io.WriteString(w, "[")
				if tries++; tries == 1 { // its body stalls
					http.NewResponseController(w).Flush()
					<-r.Context().Done()
				}
				io.WriteString(w, "]")
			})
			s.call("GET /pets", "done []", 0, timeout+backoff[0], 0)
		})
	row(t, "a late POST is not sent again", faults{Delay: 8 * second}, func(s *service) {
		s.call("POST /categories", "no response", 0, timeout)
	})
	row(t, "waits for the next minute, and asks no more than needed", none, func(s *service) {
		s.use("minute", "")
		begin := time.Now()
		for range 7 {
			ended := call(s.Context(), s.client, "POST", "/categories", bodies["POST"])
			if !strings.HasPrefix(ended, "done") {
				s.Error(ended)
			}
		}
		took, n := time.Since(begin), len(s.received())
		if !isWait(took, 2*minute) || n > 9 { // two may be refused
			s.Errorf("seven calls took %v and %d requests, want two minutes and 9", took, n)
		}
	})
	row(t, "does not wait for the next day", none, func(s *service) {
		s.use("day", "")
		for _, outcome := range []string{"done", "done", "done", "429 rate_limited: "} {
			s.call("GET /pets", outcome, 0, 0)
		}
		s.handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Retry-After", "18446744074") // in an int64, 0.3 s
			w.WriteHeader(http.StatusTooManyRequests)
		})
		s.call("GET /pets", "429 ", 0, 0)
	})
	row(t, "waits for the end of a ban, and asks nothing meanwhile", none, func(s *service) {
		r := httptest.NewRequest("GET", "/pets", nil)
		r.Header.Set("X-API-Key", "minute")
		for code := 0; code != http.StatusForbidden; { // of a client that does not wait
			time.Sleep(minute / 50)
			w := httptest.NewRecorder()
			s.handler.ServeHTTP(w, r)
			code = w.Code
		}
		s.use("minute", "")
		s.call("GET /pets", "done", 0, 5*minute, 0)
	})
	row(t, "a cancelled wait ends at once", none, func(s *service) {
		s.handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Retry-After", "5")
			w.WriteHeader(http.StatusServiceUnavailable)
		})
		s.call("POST /categories", "cancelled", 0, second/2)
	})
	row(t, "a cancelled request ends at once", faults{Delay: 8 * second}, func(s *service) {
		s.call("GET /pets", "cancelled", 0, second/2)
		s.call("POST /categories", "cancelled", 0, second/2)
		s.serve(faults{Delay: 8 * second, Slow: "2-2/2", Drop: "1/2"}) // the second try is late
		s.call("GET /pets", "cancelled", 0, backoff[0], second/2-backoff[0])
	})
	zoo := faults{Sample: "zoo.json"}
	row(t, "lists four pages and more, each record once and in order", zoo, func(s *service) {
		s.list(0, 1, 2, 3)
	})
	row(t, "a fault between pages is retried, and no record comes twice",
		faults{Sample: "zoo.json", Fail: "2-2/1000000", Only: "GET /pets"}, func(s *service) {
			s.list(0, 1, 1, 2, 3)
			s.use("minute", "")
			s.list(0, 1, 2, 3, 3)
			s.serve(faults{Fail: "2-1000000/1000000"})
			if got := list(s.Context(), s.client, url.Values{"limit": {"1"}}); got != "error" {
				s.Errorf("a list that fails after its first page is %s", got)
			}
			s.received()
		})
	row(t, "follows the next link under another base path", zoo, func(s *service) {
		s.handler = http.StripPrefix("/petstore", s.handler)
		for _, path := range []string{"/petstore", "/petstore/"} {
			s.use("plenty", path)
			s.list(0, 1, 2, 3)
		}
	})
	row(t, "eight callers share one client, and none waits for another",
		faults{Delay: second / 2, Fail: "1/9"}, func(s *service) {
			s.transport.MaxConnsPerHost = 0
			var callers sync.WaitGroup
			took := make([]time.Duration, 8)
			for i := range took {
				callers.Go(func() {
					time.Sleep(time.Duration(i/4) * second * 3 / 4) // four call during the wait
					begin, path := time.Now(), fmt.Sprint("/categories/", i+1)
					ended := call(s.Context(), s.client, "GET", path, "")
					took[i] = time.Since(begin)
					want := []string{`done {"id":%d,`, "404 not_found: No category has the id %d;"}
					if !strings.HasPrefix(ended, fmt.Sprintf(want[i/4], i+1)) {
						s.Errorf("the caller of %s got %s", path, ended)
					}
				})
			}
			callers.Wait()
			slices.Sort(took)
			want := append(slices.Repeat([]time.Duration{second / 2}, 7), 2*second)
			n := len(s.received())
			if !slices.EqualFunc(took, want, isWait) || n != 9 {
				s.Errorf("the callers took %v and %d requests, want %v and 9", took, n, want)
			}
		})
}
