package shop

import (
	"bytes"
	"compress/gzip"
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

// call makes a call, and returns its result and how it ended.
func call(ctx context.Context, c *Client, method, path, body string) ([]byte, string) {
	content, _, err := c.Call(ctx, method, path, []byte(body))
	e, responded := errors.AsType[*APIError](err)
	switch {
	case err == nil:
		return content, "done"
	case errors.Is(err, ctx.Err()):
		return nil, "cancelled"
	case responded:
		return nil, fmt.Sprintf("%d %s: %s", e.Status, e.Code, e.Message)
	}
	return nil, "no response"
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
	minute    = 2 * second // of the limits
	later     = second / 2 // how long nothing may be sent after a call
	tries     = 7          // of a client whose waits stop growing
	inTime    = func(t *testing.T, test func(*testing.T)) { test(t) }
	isWait    = func(got, want time.Duration) bool { return got >= want*3/4 && got < want+2*second }
	calls     = 7          // with three a minute
	duration  = 2 * minute // of the calls
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
	length                  int64
	time                    time.Time
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	defer s.handler.ServeHTTP(w, r) // taken now: after the next line, a test may set another
	s.requests <- request{r.Method + " " + r.URL.Path, r.URL.Query().Encode(), string(body),
		r.RemoteAddr, r.ContentLength, time.Now()}
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

// given lets the handler give these answers in turn, and the last one again and again. An answer
// is one of the words below, or a status and one word, its body; a number is also its Retry-After.
func (s *service) given(answers ...string) *service {
	s.transport.CloseIdleConnections() // on such a connection, net/http itself repeats a lost GET
	s.handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := answers[0]
		answers = answers[min(1, len(answers)-1):]
		switch answer {
		case "lost":
			panic(http.ErrAbortHandler)
		case "cut":
			w.Header().Set("Content-Length", "100")
			io.WriteString(w, `[{"id":1,`)
		case "stalls":
			http.NewResponseController(w).Flush()
			fallthrough
		case "late":
			<-r.Context().Done()
		default:
			status, body := 0, ""
			fmt.Sscan(answer, &status, &body)
			if body >= "0" && body < ":" {
				w.Header().Set("Retry-After", body)
				w.Header().Set("X-RateLimit-Reset", "1") // by a clock that is not the client's
			}
			w.WriteHeader(status)
			io.WriteString(w, body)
		}
	})
	return s
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
	content, ended := call(ctx, s.client, method, path, bodies[method])
	end := time.Now()
	var got []time.Duration
	for _, r := range s.received() {
		got, last = append(got, r.time.Sub(last)), r.time
		if r.path != request || r.body != bodies[method] || int(r.length) != len(r.body) {
			s.Errorf("%s: got %s with the body %q, of %d bytes", request, r.path, r.body, r.length)
		}
	}
	got, ended = append(got, end.Sub(last)), strings.TrimSpace(ended+" "+string(content))
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
		s.given(`415 {"code":"x","message":"m"}`).call("POST /pets", "415 x: m", 0, 0)
		s.serve(none)
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
		for _, answer := range []string{"200", "200 <html>", "200 []]", "404", "404 {}",
			"404 <html>", "404 null", "404 []", `404 "x"`, `404 {"code":404,"message":[]}`,
			`404 {"status":200}`, `404 {"Status":500,"retryAfter":9}`} {
			s.given(answer).call("GET /categories/1", answer[:3]+" : ", 0, 0)
			s.given(answer).call("DELETE /categories/1", answer[:3]+" : ", 0, 0)
		}
	})
	row(t, "a body that is cut off is an error of the client", none, func(s *service) {
		s.given("cut").call("POST /categories", "no response", 0, 0)
		s.given("cut", "404").call("DELETE /categories/1", "done", 0, backoff[0], 0)
	})
	row(t, "waits as told after each of two 503s", faults{Fail: "2/3"}, func(s *service) {
		s.call("POST /categories", `done {"id":5,"name":"Birds"}`, 0, second, second, 0)
		s.call("PUT /categories/5", `done {"id":5,"name":"Birds"}`, 0, second, second, 0)
		s.given("429 1", "200 []").call("PATCH /inventory/1", "done []", 0, second, 0)
		s.given("429 1", "404").call("DELETE /pets/1", "404 ", 0, second, 0)
	})
	row(t, "gives up after five tries, with the last error", faults{Fail: "1/1"}, func(s *service) {
		s.call("GET /pets", "503 failed_on_purpose: ", 0, second, second, second, second, 0)
		s.given("503 1", "403 1", "429 1")
		s.call("POST /categories", "429 : ", 0, second, second, second, second, 0)
		for n := range 2 {
			s.client = newClient(s.url, "plenty", s.transport, n, second)
			s.call("GET /pets", "429 : ", 0, 0)
		}
	})
	row(t, "after a 5xx without Retry-After, only GET, PUT and DELETE are sent again", none,
		func(s *service) {
			dir := s.TempDir()
			s.serve(faults{Data: dir + "/petstore.json"})
			os.RemoveAll(dir) // so that nothing can be saved
			s.call("POST /categories", "503 save_failed: ", 0, 0)
			s.call("PUT /categories/1", "503", 0, backoff[0], backoff[1], backoff[2], backoff[3], 0)
			s.given("500", "504", "200 []").call("GET /pets", "done", 0, backoff[0], backoff[1], 0)
			s.given("500", "404").call("DELETE /pets/1", "done", 0, backoff[0], 0)
			s.given("502 <html>").call("PATCH /inventory/1", "502 : ", 0, 0)
		})
	row(t, "a lost GET, PUT or DELETE is sent again", faults{Drop: "1/2"}, func(s *service) {
		s.call("GET /categories/3", `done {"id":3,"name":"Rabbits"}`, 0, backoff[0], 0)
		s.call("PUT /categories/1", `done {"id":1,"name":"Birds"}`, 0, backoff[0], 0)
		s.serve(faults{Drop: "1/1", Fail: "2-2/3"}) // lost, a 503, then a 404
		s.call("DELETE /categories/4", "done", 0, backoff[0], second, 0)
		s.given("lost", "404").call("PUT /pets/1", "404 ", 0, backoff[0], 0)
		s.given("lost", "409").call("DELETE /pets/1", "409 ", 0, backoff[0], 0)
		s.client = newClient("http://127.0.0.1:1", "plenty", &http.Transport{}, 5, second)
		s.call("GET /pets", "no response", 3*second/2) // refused five times
	})
	row(t, "a lost POST or PATCH is not sent again", faults{Drop: "1/1"}, func(s *service) {
		s.call("POST /categories", "no response", 0, 0)
		s.call("PATCH /inventory/1", "no response", 0, 0)
		s.given("503 1", "lost").call("POST /categories", "no response", 0, second, 0)
	})
	row(t, "waits grow from try to try, up to a limit", faults{Drop: "1/1"}, func(s *service) {
		s.client = newClient(s.url, "plenty", s.transport, tries, second/2)
		waits := append([]time.Duration{0}, backoff[:3]...)
		waits = append(waits, slices.Repeat([]time.Duration{second / 2}, tries-4)...)
		s.call("GET /pets", "no response", append(waits, 0)...)
	})
	row(t, "a late GET is sent again; the timeout is for each try",
		faults{Delay: 8 * second, Slow: "2/3"}, func(s *service) {
			s.call("GET /pets", "done", 0, timeout+backoff[0], timeout+backoff[1], 0)
			s.given("late", "stalls", "404")
			s.call("DELETE /pets/1", "done", 0, timeout+backoff[0], timeout+backoff[1], 0)
		})
	row(t, "a late POST is not sent again", faults{Delay: 8 * second}, func(s *service) {
		s.call("POST /categories", "no response", 0, timeout)
		s.given("stalls").call("PATCH /inventory/1", "no response", 0, timeout)
	})
	row(t, "waits for the next minute, and asks no more than needed", none, func(s *service) {
		s.client = newClient(s.url, "minute", s.transport, 5, 24*time.Hour)
		begin := time.Now()
		for range calls {
			if _, ended := call(s.Context(), s.client, "GET", "/pets", ""); ended != "done" {
				s.Fatal(ended)
			}
		}
		took, n := time.Since(begin), len(s.received())
		if !isWait(took, duration) || n > calls*4/3+calls/1000 { // with the refused
			s.Errorf("%d calls took %v and %d requests, want %v", calls, took, n, duration)
		}
	})
	row(t, "does not wait for the next day", none, func(s *service) {
		s.use("day", "")
		for _, outcome := range []string{"done", "done", "done", "429 rate_limited: "} {
			s.call("GET /pets", outcome, 0, 0)
		}
		s.given("429 18446744074").call("GET /pets", "429 ", 0, 0)          // in an int64, 0.3 s
		s.given("503 18446744073709551617").call("GET /pets", "503 ", 0, 0) // in a uint64, 1 s
	})
	row(t, "waits for the end of a ban, and asks nothing meanwhile", none, func(s *service) {
		r := httptest.NewRequest("GET", "/pets", nil)
		r.Header.Set("X-API-Key", "minute")
		w := httptest.NewRecorder()
		for w.Code != http.StatusForbidden { // of a client that does not wait
			time.Sleep(minute / 50)
			w = httptest.NewRecorder()
			s.handler.ServeHTTP(w, r)
		}
		s.use("minute", "")
		s.call("GET /pets", "done", 0, 5*minute, 0)
	})
	row(t, "a cancelled wait ends at once", none, func(s *service) {
		s.given("503 5").call("POST /categories", "cancelled", 0, second/2)
		s.serve(faults{Fail: "2-1000000/1000000"}) // a list fails after its first page
		begin := time.Now()
		ctx, cancel := context.WithTimeout(s.Context(), second/2)
		defer cancel()
		got, took := list(ctx, s.client, url.Values{"limit": {"1"}}), time.Since(begin)
		call(ctx, s.client, "POST", "/categories", "") // sends nothing
		if n := len(s.received()); got != "error" || !isWait(took, second/2) || n != 2 {
			s.Errorf("a list is %s after %v and, with the next call, %d requests", got, took, n)
		}
	})
	row(t, "a cancelled request ends at once", faults{Delay: 8 * second}, func(s *service) {
		s.call("GET /pets", "cancelled", 0, second/2)
		s.given("stalls").call("POST /categories", "cancelled", 0, second/2)
		s.given("lost", "late")
		s.call("GET /pets", "cancelled", 0, backoff[0], second/2-backoff[0])
	})
	zoo := faults{Sample: "zoo.json"}
	row(t, "lists four pages and more, each record once and in order", zoo, func(s *service) {
		s.list(0, 1, 2, 3)
		s.list(0, 1, 2, 3)
		s.transport.MaxConnsPerHost = 0
		s.handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			query, name := r.URL.Query(), r.URL.Query().Get("name")
			query.Set("after", query.Get("after")+"x")
			rel := map[bool]string{true: "next", false: "last"}[len(query.Get("after")) < 30]
			link := fmt.Sprintf(`</pets>; rel="first", </pets?%s>; rel=%q`, query.Encode(), rel)
			w.Header().Set("Link", link)
			spaces := strings.Repeat(" ", 20000*len(name)) // so that the other list overtakes
			fmt.Fprintf(w, `[{"name":%q}]%s`, name, spaces)
		})
		var other sync.WaitGroup
		other.Go(func() { list(s.Context(), s.client, url.Values{"name": {"Tom"}}) })
		got := list(s.Context(), s.client, url.Values{"name": {"Tom & Jerry"}})
		other.Wait()
		if want := strings.Repeat(" {0 Tom & Jerry}", 30); got != "["+want[1:]+"]" {
			s.Errorf("got %v, want 30 times Tom & Jerry", got)
		}
		s.received()
	})
	row(t, "a fault between pages is retried, and no record comes twice",
		faults{Sample: "zoo.json", Fail: "2-2/1000000", Only: "GET /pets"}, func(s *service) {
			s.list(0, 1, 1, 2, 3)
			s.use("minute", "")
			s.list(0, 1, 2, 3, 3)
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
					path := fmt.Sprint([]string{"/categories/", "/pets/"}[i/4], i%4+1)
					begin := time.Now()
					content, ended := call(s.Context(), s.client, "GET", path, "")
					took[i] = time.Since(begin)
					if !strings.HasPrefix(string(content), fmt.Sprintf(`{"id":%d,`, i%4+1)) {
						s.Errorf("the caller of %s got %s %s", path, ended, content)
					}
				})
			}
			callers.Wait()
			slices.Sort(took)
			want := append(slices.Repeat([]time.Duration{second / 2}, 7), 2*second)
			if n := len(s.received()); !slices.EqualFunc(took, want, isWait) || n != 9 {
				s.Errorf("the callers took %v and %d requests, want %v and 9", took, n, want)
			}
		})
	row(t, "what is sent and returned is exact", none, func(s *service) {
		s.handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			to := io.Writer(w)
			if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
				w.Header().Set("Content-Encoding", "gzip")
				zipped := gzip.NewWriter(w)
				defer zipped.Close()
				to = zipped
			}
			io.Copy(to, r.Body)
		})
		sent := []string{`["` + strings.Repeat("x", 1<<20) + `"]`, "[0, false]",
			`{"id" : 9007199254740993,"name":"<b>\u00fc & ü","quantity":0,"complete":false} `}
		got := make([][]byte, 3)
		for i, method := range []string{"POST", "PUT", "PATCH"} {
			got[i], _ = call(s.Context(), s.client, method, "/pets/1", sent[i])
		}
		if fmt.Sprintf("%s", got) != fmt.Sprint(sent) { // after all calls
			s.Errorf("sent %.99q, got %.99q", sent, got)
		}
		s.received()
	})
	row(t, "a call does not depend on the calls before it", none, func(s *service) {
		for range 20 {
			s.given("lost").call("POST /categories", "no response", 0, 0)
			s.given("404").call("DELETE /pets/1", "404 ", 0, 0)
		}
		s.given("lost", "200 []").call("GET /pets", "done []", 0, backoff[0], 0)
	})
}
