package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Three verbs send requests and compare responses, and equal and contains compare values:
//
//	s := newService(t, Options{})
//	s.send("PUT /pets/5", newKiwi, "Origin", shop) // with a body, and pairs for the header
//	s.send("GET /categories?after=4", "").expect(200, `[]`)
//	s.as("demo-pro").send("GET /pets/9", "").expectError("not_found", "No pet has the id 9")
//	equal(t, "Link", s.send("GET /pets", "").Header.Get("Link"), "") // first got, then want

// A service is a Server for a test. Its requests have its key, whatever their header says. Its own
// send hides the Server's.
type service struct {
	*Server
	handler http.Handler // the Server, or what a test puts around it
	t       testing.TB
	key     string
	logged  *bytes.Buffer
}

const (
	testKey = "demo-enterprise" // which the demo keys have, and keysFile
	noKey   = ""
)

// newService returns a service with just these options and testKey. What it logs is shown if the
// test fails. A subtest has a service of its own, so that it is the one that fails.
func newService(t testing.TB, options Options) *service {
	t.Helper()
	logged := new(bytes.Buffer)
	options.Logger = log.New(io.MultiWriter(logged, t.Output()), "", 0)
	server, err := New(options)
	if err != nil {
		t.Fatal("New: ", err)
	}
	return &service{Server: server, handler: server, t: t, key: testKey, logged: logged}
}

// as returns the same service for requests with another key, or with noKey.
func (s *service) as(key string) *service {
	other := *s
	other.key = key
	return &other
}

// send sends a request, such as "GET /pets/1", with names and values for its header.
func (s *service) send(request, body string, header ...string) *reply {
	s.t.Helper()
	method, target, _ := strings.Cut(request, " ")
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	for pair := range slices.Chunk(header, 2) {
		r.Header.Add(pair[0], pair[1])
		if pair[0] == "Host" { // where net/http puts it
			r.Host = pair[1]
		}
	}
	resp := s.sendRequest(r)
	sent := strings.Join(slices.Concat([]string{request}, header, []string{body}), " ")
	resp.sent = fmt.Sprintf("%.300s", strings.TrimSpace(sent))
	return resp
}

// A reply is the response to a request. Its status is 0 if the connection is closed without one.
type reply struct {
	*http.Response
	body string
	s    *service
	sent string // the request, for what a failure says
}

func (s *service) sendRequest(r *http.Request) (resp *reply) {
	resp = &reply{Response: new(http.Response), s: s, sent: r.Method + " " + r.URL.String()}
	defer func() {
		if p := recover(); p != nil && p != http.ErrAbortHandler {
			panic(p)
		}
	}()
	if s.key != noKey {
		r.Header.Set("X-API-Key", s.key)
	}
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, r)
	resp.Response, resp.body = w.Result(), w.Body.String()
	resp.Request = r
	return resp
}

// expect expects this status and this JSON, in which the order of fields matters, but not white
// space. It must be as docs/openapi.json describes it.
func (r *reply) expect(status int, body string) {
	r.s.t.Helper()
	got := fmt.Sprint(r.StatusCode, " ", compact(r.body))
	r.compare(got, fmt.Sprint(status, " ", compact(body)))
	r.expectDescribed()
}

// expectError expects an error with this code, and so with its status, whose message begins with
// this text, which may be empty. It must be as docs/openapi.json describes it.
func (r *reply) expectError(code, message string) {
	r.s.t.Helper()
	want := fmt.Sprint(statusOfCode[code], " ", code, ": ", message)
	got := fmt.Sprint(r.StatusCode, " ", r.err().Code, ": ", r.err().Message)
	if !strings.HasPrefix(got, want) {
		r.compare(got, want)
	}
	r.expectDescribed()
}

// compare reports two texts that differ, from shortly before their first difference.
func (r *reply) compare(got, want string) {
	r.s.t.Helper()
	if got == want {
		return
	}
	same := 0
	for same < min(len(got), len(want)) && got[same] == want[same] {
		same++
	}
	begin := max(0, same-200)
	r.s.t.Errorf("sent %s\n got %.400s\nwant %.400s", r.sent, got[begin:], want[begin:])
}

// compact returns JSON without white space, or other text as it is.
func compact(text string) string {
	var b bytes.Buffer
	if json.Compact(&b, []byte(text)) != nil {
		return text
	}
	return b.String()
}

// err returns the Error in the body, or Error{} if there is none.
func (r *reply) err() (e Error) {
	json.Unmarshal([]byte(r.body), &e)
	return e
}

// atOnce sends from twenty clients. All of them wait for the store before the first gets it.
func (s *service) atOnce(send func()) { s.inTurn(slices.Repeat([]func(){send}, 20)...) }

// inTurn calls functions that send. All wait for the store, and get it in this order.
func (s *service) inTurn(send ...func()) {
	var clients sync.WaitGroup
	defer clients.Wait()
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	stacks := make([]byte, 1<<20)
	for i, send := range send {
		clients.Go(send)
		for range 100 { // looks; one that waits for something else is left to itself
			time.Sleep(time.Millisecond) // since each look stops the clients
			n := runtime.Stack(stacks, true)
			if bytes.Count(stacks[:n], []byte("[sync.Mutex.Lock")) > i {
				break
			}
		}
	}
}

// inFakeTime runs a subtest in which waits pass at once: see testing/synctest.
func inFakeTime(t *testing.T, rule string, test func(*testing.T)) (passed bool) {
	return t.Run(rule, func(t *testing.T) { synctest.Test(t, test) })
}

// keysFile returns the path of a keys file with just testKey, and with these limits.
func keysFile(t testing.TB, perMinute, perDay int64) string {
	t.Helper()
	return writeFile(t, freshPath(t), fmt.Sprintf(`[{"key": %q, "plan": "enterprise",
		"perMinute": %d, "perDay": %d}]`, testKey, perMinute, perDay))
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// equal reports how got differs from want, in at most ten lines. The test goes on.
func equal[T any](t testing.TB, what string, got, want T) {
	t.Helper()
	every := cmp.Exporter(func(reflect.Type) bool { return true }) // field, also an unexported one
	diff := cmp.Diff(want, got, every)
	if diff == "" {
		return
	}
	format := "got %+v, want %+v"
	if _, isText := any(got).(string); isText {
		format = "got %q, want %q"
	}
	if short := fmt.Sprintf(format, got, want); len(short) < 150 {
		t.Errorf("%s: %s", what, short)
	} else {
		t.Errorf("%s (-want +got):\n%s", what, nineLines(diff))
	}
}

func nineLines(text string) string {
	lines := strings.SplitN(text, "\n", 10)
	return strings.Join(lines[:min(9, len(lines))], "\n")
}

// contains reports a text that lacks a part. The test goes on.
func contains(t testing.TB, what, text, part string) {
	t.Helper()
	if !strings.Contains(text, part) {
		t.Errorf("%s lacks %q:\n%.1000s", what, part, nineLines(text))
	}
}

// statusOfCode is what clients know of the codes. It is written out here, so that none changes by
// accident. If you add a code on purpose, add it here too.
var statusOfCode = map[string]int{
	"malformed_json": 400, "invalid_field": 400, "invalid_parameter": 400,
	"unknown_reference": 400, "incomplete_body": 400, "unauthorized": 401, "key_banned": 403,
	"not_found": 404, "method_not_allowed": 405, "in_use": 409, "order_complete": 409,
	"payload_too_large": 413, "unsupported_media_type": 415, "rate_limited": 429,
	"wrong_host": 421, "internal_error": 500, "save_failed": 503, "file_changed": 503,
	"failed_on_purpose": 503,
}

// freshPath returns the path of a data file that does not exist yet, in a directory of its own.
func freshPath(t testing.TB) string {
	t.Helper()
	directory, err := filepath.EvalSymlinks(t.TempDir()) // as the program names it
	must(t, err)
	return filepath.Join(directory, "petstore.json")
}

func writeFile(t testing.TB, path, content string) string {
	t.Helper()
	must(t, os.WriteFile(path, []byte(content), 0o644))
	return path
}

func contentOf(t testing.TB, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	must(t, err)
	return string(data)
}

func namesIn(t testing.TB, directory string) []string {
	t.Helper()
	names, err := fs.Glob(os.DirFS(directory), "*")
	must(t, err)
	return names
}
