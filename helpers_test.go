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
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A service is a Server for a test.
type service struct {
	*Server
	t   testing.TB
	log *bytes.Buffer
}

// newService returns a service with just these options. What it logs is shown if the test fails.
func newService(t testing.TB, options Options) *service {
	t.Helper()
	logged := new(bytes.Buffer)
	options.Logger = log.New(io.MultiWriter(logged, t.Output()), "", 0)
	server, err := New(options)
	must(t, err)
	return &service{Server: server, t: t, log: logged}
}

// keysFile returns the path of a keys file with the key of the tests, demo-enterprise, and these
// limits.
func keysFile(t testing.TB, perMinute, perDay int) string {
	t.Helper()
	return writeFile(t, freshPath(t), fmt.Sprintf(`[{"key": "demo-enterprise",
		"plan": "enterprise", "perMinute": %d, "perDay": %d}]`, perMinute, perDay))
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
	if diff := cmp.Diff(want, got); diff != "" {
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

// expect sends a request as do does, and compares the response with the status and with want. For a
// success, want is the whole JSON, in which the order of fields matters, but not white space. For an
// error, want is what "code: message" begins with.
func (s *service) expect(request, body string, status int, want string, header ...string) {
	s.t.Helper()
	resp := s.do(request, body, header...)
	got, _ := io.ReadAll(resp.Body)
	what := fmt.Sprintf("%s %.200s %s", request, body, header)
	if resp.StatusCode != status {
		s.t.Errorf("%s: status %d, want %d", what, resp.StatusCode, status)
	}
	if resp.StatusCode < 400 {
		equal(s.t, what, indented(want), indented(string(got)))
	} else if text := errorIn(got); !strings.HasPrefix(text, want) {
		s.t.Errorf("%s: the error %q does not begin with %q", what, text, want)
	}
}

// indented returns JSON spread over lines, or other text as it is.
func indented(text string) string {
	var b bytes.Buffer
	if json.Indent(&b, []byte(strings.TrimSpace(text)), "", "  ") != nil {
		return text
	}
	return b.String()
}

// errorIn returns "code: message" of an Error object.
func errorIn(errorJSON []byte) string {
	var e Error
	json.Unmarshal(errorJSON, &e) // do has checked that it is an Error object
	return e.Code + ": " + e.Message
}

// do sends a request, such as "GET /pets/1", with lines of its header, such as "X-API-Key: KEY". The
// key is demo-enterprise unless a line has another one; an empty one ("X-API-Key") sends none.
func (s *service) do(request, body string, header ...string) *http.Response {
	s.t.Helper()
	method, target, _ := strings.Cut(request, " ")
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	r.Header.Set("X-API-Key", "demo-enterprise")
	for _, line := range header {
		name, value, _ := strings.Cut(line, ": ")
		r.Header.Set(name, value)
	}
	return s.exchange(r)
}

// exchange sends a request. The test fails if the response lacks anything that every response must
// have: see check.
func (s *service) exchange(r *http.Request) *http.Response {
	s.t.Helper()
	recorder := httptest.NewRecorder()
	s.ServeHTTP(recorder, r)
	s.check(r, recorder)
	return recorder.Result()
}

var (
	openPath = regexp.MustCompile(`^(/|/healthz|/openapi\.json|/docs/[^/]*)$`)
	// internals matches what no client should see.
	internals = regexp.MustCompile(`json: |struct|int64|0x|\.go|/tmp|goroutine|\n`)
)

// check reports a response that lacks what all of its kind have, or whose status, code or header is
// not described in docs/openapi.json.
func (s *service) check(r *http.Request, recorder *httptest.ResponseRecorder) {
	s.t.Helper()
	got := recorder.Header()
	what := fmt.Sprintf("%s %s: status %d", r.Method, r.URL, recorder.Code)
	var e Error
	if recorder.Code >= 400 && r.Method != "HEAD" {
		json.Unmarshal(recorder.Body.Bytes(), &e)
		equal(s.t, what+": Error object", string(encode(e))+"\n", recorder.Body.String())
		equal(s.t, what+": Content-Type", "application/json", got.Get("Content-Type"))
		equal(s.t, what+": status in the body", recorder.Code, e.Status)
		equal(s.t, what+": status of the code "+e.Code, recorder.Code, statusOfCode[e.Code])
		equal(s.t, what+": Allow has the methods in the message", recorder.Code == 405,
			strings.HasSuffix(e.Message, " methods "+got.Get("Allow")+"."))
		if internals.MatchString(e.Message) || !strings.HasSuffix(e.Message, ".") {
			s.t.Errorf("%s: the message %q is not a sentence for a client", what, e.Message)
		}
	}
	if openPath.MatchString(r.URL.Path) || r.Method == "OPTIONS" {
		return
	}
	for _, name := range []string{"Limit", "Remaining", "Reset"} {
		value := got.Get("X-RateLimit-" + name)
		if _, err := strconv.ParseUint(value, 10, 64); err != nil {
			s.t.Errorf("%s: X-RateLimit-%s is %q", what, name, value)
		}
	}
	wantType := "application/json"
	if recorder.Code == 204 {
		wantType = ""
	}
	equal(s.t, what+": Content-Type", wantType, got.Get("Content-Type"))
	equal(s.t, what+": Cache-Control", "no-store", got.Get("Cache-Control"))

	_, pattern := s.mux.Handler(r)
	method := strings.Replace(r.Method, "HEAD", "GET", 1)
	operation, ok := theDescription().operations[method+" "+pattern]
	if !ok || r.URL.Path != path.Clean(r.URL.Path) { // the mux would redirect that
		if recorder.Code < 400 {
			s.t.Errorf("%s: docs/openapi.json has no such operation", what)
		}
		return
	}
	described, ok := operation.Responses[strconv.Itoa(recorder.Code)]
	if !ok || e.Code != "" && !strings.Contains(described.Description, "`"+e.Code+"`: ") {
		s.t.Errorf("%s %s is not described", what, e.Code)
	}
	allowed := []string{"Cache-Control", "Content-Length", "Content-Type"}
	if s.options.Drop != "" {
		allowed = append(allowed, "Connection")
	}
	for name, header := range described.Headers {
		allowed = append(allowed, http.CanonicalHeaderKey(name))
		if header.Required && got.Get(name) == "" {
			s.t.Errorf("%s has no %s", what, name)
		}
	}
	for name := range got {
		forPages := r.Header.Get("Origin") != "" &&
			(strings.HasPrefix(name, "Access-Control-") || name == "Vary")
		if !forPages && !slices.Contains(allowed, name) {
			s.t.Errorf("%s has a %s, which is not described", what, name)
		}
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
	return filepath.Join(t.TempDir(), "petstore.json")
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
