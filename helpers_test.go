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
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
)

// A service is a Server for a test.
type service struct {
	*Server
	t      testing.TB
	logged *bytes.Buffer
}

// newService returns a service with just these options. What it logs is shown if the test fails. A
// subtest has a service of its own, so that it is the one that fails.
func newService(t testing.TB, options Options) *service {
	t.Helper()
	logged := new(bytes.Buffer)
	options.Logger = log.New(io.MultiWriter(logged, t.Output()), "", 0)
	server, err := New(options)
	must(t, err)
	return &service{Server: server, t: t, logged: logged}
}

// slowService returns a service whose first save takes long enough for twenty requests to arrive,
// even on one core: it reads the old file once more, which is large.
func slowService(t *testing.T) *service {
	before := runtime.GOMAXPROCS(20)
	t.Cleanup(func() { runtime.GOMAXPROCS(before) })
	large := string(builtInSample) + strings.Repeat("\n", 50<<20)
	return newService(t, Options{Data: writeFile(t, freshPath(t), large)})
}

// inFakeTime runs a subtest in which waits pass at once: see testing/synctest.
func inFakeTime(t *testing.T, rule string, test func(*testing.T)) {
	t.Run(rule, func(t *testing.T) { synctest.Test(t, test) })
}

// keysFile returns the path of a keys file with just testKey, and with these limits.
func keysFile(t testing.TB, perMinute, perDay int64) string {
	t.Helper()
	return writeFile(t, freshPath(t), fmt.Sprintf(`[{"key": %q, "plan": "enterprise",
		"perMinute": %d, "perDay": %d}]`, testKey, perMinute, perDay))
}

// must ends the test if there is an error.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// equal reports how got differs from want. The test goes on.
func equal(t testing.TB, what string, want, got any) {
	t.Helper()
	every := cmp.Exporter(func(reflect.Type) bool { return true }) // field, also an unexported one
	if diff := cmp.Diff(want, got, every); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// contains reports a text that lacks a part. The test goes on.
func contains(t testing.TB, what, text, part string) {
	t.Helper()
	if !strings.Contains(text, part) {
		t.Errorf("%s lacks %q:\n%s", what, part, text)
	}
}

// expect sends a request as do does. The response must have this status and this JSON, in which the
// order of fields matters, but not white space.
func (s *service) expect(request, body string, status int, want string, header ...string) {
	s.t.Helper()
	resp := s.do(request, body, header...)
	got, _ := io.ReadAll(resp.Body)
	equal(s.t, request+": status", status, resp.StatusCode)
	equal(s.t, request+": body", indented(want), indented(string(got)))
}

// indented returns JSON spread over lines, or other text as it is.
func indented(text string) string {
	var b bytes.Buffer
	if json.Indent(&b, []byte(strings.TrimSpace(text)), "", "  ") != nil {
		return text
	}
	return b.String()
}

// expectError sends a request as do does, and returns the header of the response. That must be an
// error with this code, and so with its status, and the message must begin with this text.
func (s *service) expectError(request, body, code, message string, header ...string) http.Header {
	s.t.Helper()
	resp := s.do(request, body, header...)
	got := errorIn(resp.Body)
	if got.Code != code || !strings.HasPrefix(got.Message, message) {
		s.t.Errorf("%s %.200s: got %s: %q, want %s: %q", request, body, got.Code, got.Message,
			code, message)
	}
	return resp.Header
}

// errorIn reads the body of a response. For a body that is no Error object, it returns Error{}.
func errorIn(body io.Reader) (e Error) {
	json.NewDecoder(body).Decode(&e)
	return e
}

// do sends a request, such as "GET /pets/1", with lines of its header, such as "Origin: http://x".
// The key is testKey, unless a line has another one or is noKey.
func (s *service) do(request, body string, header ...string) *http.Response {
	s.t.Helper()
	method, target, _ := strings.Cut(request, " ")
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	for _, line := range header {
		name, value, found := strings.Cut(line, ": ")
		if !found {
			s.t.Fatalf("%q is no line of a header", line)
		}
		r.Header.Add(name, value)
	}
	switch r.Header.Get("X-API-Key") {
	case "":
		r.Header.Set("X-API-Key", testKey)
	case "none":
		r.Header.Del("X-API-Key")
	}
	return s.exchange(r)
}

const (
	testKey = "demo-enterprise" // which the demo keys have, and keysFile
	noKey   = "X-API-Key: none"
)

// exchange sends a request, and checks the response with checkResponse. If the connection is closed
// without one, the status is 0.
func (s *service) exchange(r *http.Request) (resp *http.Response) {
	s.t.Helper()
	resp = &http.Response{Body: http.NoBody}
	defer func() {
		if p := recover(); p != nil && p != http.ErrAbortHandler {
			panic(p)
		}
	}()
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	s.checkResponse(r, w)
	return w.Result()
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

// writeFile returns the path.
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
