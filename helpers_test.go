package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// A service is the whole handler with the keys of the tests.
type service struct {
	*Server
	t   testing.TB
	log *bytes.Buffer
}

// Most tests use the key big, whose limits no test reaches. The others are for tests of the limits.
const testKeys = `[
{"key": "big", "plan": "enterprise", "perMinute": 2147483647, "perDay": 2147483647},
{"key": "forty", "plan": "enterprise", "perMinute": 40, "perDay": 100},
{"key": "daily", "plan": "enterprise", "perMinute": 100, "perDay": 30},
{"key": "both", "plan": "enterprise", "perMinute": 1, "perDay": 1},
{"key": "twice", "plan": "enterprise", "perMinute": 1, "perDay": 2},
{"key": "one", "plan": "enterprise", "perMinute": 1, "perDay": 1000000},
{"key": "sixty", "plan": "enterprise", "perMinute": 60, "perDay": 1000}
]`

// newService returns a service with the options and the keys above.
func newService(t testing.TB, options Options) *service {
	t.Helper()
	options.Keys = keysFile(t)
	return serviceWith(t, options)
}

// serviceWith returns a service with just these options. What it logs is shown if the test fails.
func serviceWith(t testing.TB, options Options) *service {
	t.Helper()
	logged := new(bytes.Buffer)
	options.Logger = log.New(io.MultiWriter(logged, t.Output()), "", 0)
	server, err := New(options)
	must(t, err)
	return &service{Server: server, t: t, log: logged}
}

// keysFile returns the path of a file with the keys above.
func keysFile(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "keys.json")
	writeFile(t, path, testKeys)
	return path
}

// freshService returns a service on a new data file, with the records of docs/sample.json.
func freshService(t testing.TB) *service {
	t.Helper()
	return newService(t, Options{Data: freshPath(t)})
}

// serviceOn returns a service that has read a data file with this content.
func serviceOn(t testing.TB, content string) *service {
	t.Helper()
	path := freshPath(t)
	writeFile(t, path, content)
	return newService(t, Options{Data: path})
}

// inBubble runs the test on a service with the options, in fake time.
func inBubble(t *testing.T, options Options, test func(*testing.T, *service)) {
	synctest.Test(t, func(t *testing.T) { test(t, newService(t, options)) })
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

// expect sends a request, such as "GET /pets/1", and compares the response with the status and with
// want. For a success, want is the whole JSON, in which the order of fields matters, but not white
// space. For an error, want is what "code: message" begins with.
func (s *service) expect(request, body string, status int, want string) {
	s.t.Helper()
	resp := s.do(request, body)
	got, _ := io.ReadAll(resp.Body)
	what := fmt.Sprintf("%s %.200s", request, body)
	equal(s.t, what+": status", status, resp.StatusCode)
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

// do sends a request with the key big, unless a header line says otherwise ("X-API-Key: one", or
// "Authorization" to send none), and returns the response. The test fails if the response lacks
// anything that every response must have: see check.
func (s *service) do(request, body string, header ...string) *http.Response {
	s.t.Helper()
	method, target, _ := strings.Cut(request, " ")
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer big")
	for _, line := range header {
		name, value, _ := strings.Cut(line, ": ")
		r.Header.Set(name, value) // an empty one is taken as missing
	}
	return s.exchange(r)
}

// exchange sends a request and checks the response, as do does.
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
	"ids_exhausted": 503, "failed_on_purpose": 503,
}

// keylessLimit is how many requests without a valid key there may be in a minute.
var keylessLimit = int(plans["free"].perMinute)

// get sends a GET /pets with the key.
func (s *service) get(key string) *http.Response {
	s.t.Helper()
	return s.do("GET /pets", "", "Authorization: Bearer "+key)
}

// left returns how many requests are left, as a response says.
func left(resp *http.Response) string { return resp.Header.Get("X-RateLimit-Remaining") }

// expectRates sends a GET /pets with the key, and compares what the response says about the limits
// with what is wanted, such as "200: 59 of 60 left, ends in 60 s".
func (s *service) expectRates(key, want string) {
	s.t.Helper()
	resp, now := s.get(key), time.Now()
	reset, _ := strconv.ParseInt(resp.Header.Get("X-RateLimit-Reset"), 10, 64)
	got := fmt.Sprintf("%d: %s of %s left, ends in %d s", resp.StatusCode, left(resp),
		resp.Header.Get("X-RateLimit-Limit"), reset-now.Unix())
	if wait := resp.Header.Get("Retry-After"); wait != "" {
		got += ", retry after " + wait + " s"
	}
	equal(s.t, "key "+key+" at "+now.UTC().Format(time.TimeOnly), want, got)
}

// freshPath returns the path of a data file that does not exist yet, in a directory of its own.
func freshPath(t testing.TB) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "petstore.json")
}

func writeFile(t testing.TB, path, content string) {
	t.Helper()
	must(t, os.WriteFile(path, []byte(content), 0o644))
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

// snapshotOf returns the snapshot of a state.
func snapshotOf(t testing.TB, st *state) string {
	t.Helper()
	var b bytes.Buffer
	must(t, st.write(&b))
	return b.String()
}

// breakDisk makes every save to the file fail, for root too, by putting a plain file in the place
// of its directory. The function that it returns undoes that.
func breakDisk(t testing.TB, path string) (mend func()) {
	t.Helper()
	directory := filepath.Dir(path)
	must(t, os.Rename(directory, directory+".away"))
	writeFile(t, directory, "")
	return func() {
		t.Helper()
		os.Remove(directory)
		must(t, os.Rename(directory+".away", directory))
	}
}

// binary builds the program once for all tests that run it.
var binary = sync.OnceValues(func() (path string, err error) {
	if binaryDirectory, err = os.MkdirTemp("", "petstore"); err != nil {
		return "", err
	}
	// With -trimpath and without VCS data, a second build of the same sources is a cached one.
	build := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-o", binaryDirectory, ".")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return filepath.Join(binaryDirectory, "petstore"), nil // on Windows, os/exec finds petstore.exe
})

var binaryDirectory string // empty if no test has run the program

func TestMain(m *testing.M) {
	code := m.Run()
	os.RemoveAll(binaryDirectory)
	os.Exit(code)
}

// A process is the program, serving.
type process struct {
	*exec.Cmd
	url    string
	pipe   io.ReadCloser // from which its stderr is read
	stderr bytes.Buffer
	ended  chan bool // closed at the end of stderr
}

// startProcess runs the program on a free port, and waits until it serves.
func startProcess(t testing.TB, args ...string) *process {
	t.Helper()
	path, err := binary()
	must(t, err)
	return startCommand(t, exec.Command(path, append([]string{"-addr", "localhost:0"}, args...)...))
}

func startCommand(t testing.TB, cmd *exec.Cmd) *process {
	t.Helper()
	pipe, err := cmd.StderrPipe()
	must(t, err)
	must(t, cmd.Start())
	t.Cleanup(func() { cmd.Process.Kill() })
	p := &process{Cmd: cmd, pipe: pipe}
	p.awaitURL(t)
	return p
}

// awaitURL waits until the program has printed its URL. What it prints later is read, too.
func (p *process) awaitURL(t testing.TB) {
	t.Helper()
	lines := bufio.NewReader(p.pipe)
	line, _ := lines.ReadString('\n')
	p.stderr.WriteString(line)
	if _, err := fmt.Sscanf(line, "Petstore API: %s", &p.url); err != nil {
		t.Fatalf("the program printed %q", line)
	}
	p.ended = make(chan bool)
	go func() {
		io.Copy(&p.stderr, lines)
		close(p.ended)
	}()
}

// wait waits for the end of the program, and returns its exit code and all that it printed.
func (p *process) wait() (int, string) {
	<-p.ended
	p.Wait()
	return p.ProcessState.ExitCode(), p.stderr.String()
}

// do sends a request, such as "GET /pets", with the key demo-enterprise, and returns the status and
// the body of the response.
func (p *process) do(t testing.TB, request, body string) (int, string) {
	t.Helper()
	method, path, _ := strings.Cut(request, " ")
	r, _ := http.NewRequest(method, p.url+path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer demo-enterprise")
	resp, err := http.DefaultClient.Do(r)
	must(t, err)
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(text)
}
