package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

// binary builds the program once for all tests that run it.
var binary = sync.OnceValues(func() (string, error) {
	directory, err := os.MkdirTemp("", "petstore")
	if err != nil {
		return "", err
	}
	path := filepath.Join(directory, "petstore.exe")
	if out, err := exec.Command("go", "build", "-o", path, ".").CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return path, nil
})

func TestMain(m *testing.M) {
	if responses := os.Getenv("PETSTORE_BARE"); responses != "" {
		serveBare(strings.Split(responses, "\x1e"))
	}
	code := m.Run()
	if path, err := binary(); err == nil {
		os.RemoveAll(filepath.Dir(path))
	}
	os.Exit(code)
}

// A process is the built program, serving.
type process struct {
	*exec.Cmd
	url    string
	stderr bytes.Buffer
	read   chan bool // closed at the end of stderr
}

// start runs the program on a free port and waits until it serves.
func start(t testing.TB, args ...string) *process {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	return startCommand(t, exec.Command(path, append([]string{"-addr", "localhost:0"}, args...)...))
}

func startCommand(t testing.TB, cmd *exec.Cmd) *process {
	t.Helper()
	p := &process{Cmd: cmd, read: make(chan bool)}
	pipe, err := p.Cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Process.Kill() })
	lines := bufio.NewReader(pipe)
	for p.url == "" {
		line, err := lines.ReadString('\n')
		p.stderr.WriteString(line)
		if err != nil {
			t.Fatalf("the program ended: %s", p.stderr.String())
		}
		p.url, _ = strings.CutPrefix(strings.TrimSpace(line), "Petstore API: ")
		if !strings.HasPrefix(p.url, "http") {
			p.url = ""
		}
	}
	go func() {
		io.Copy(&p.stderr, lines)
		close(p.read)
	}()
	return p
}

// unlimitedKeys writes a keys file with the key unlimited, whose limits no test can reach.
func unlimitedKeys(t testing.TB, directory string) string {
	t.Helper()
	path := filepath.Join(directory, "keys.json")
	keys := `[{"key":"unlimited","plan":"enterprise","perMinute":1000000000,"perDay":1000000000}]`
	if err := os.WriteFile(path, []byte(keys), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// end waits for the end of the program and returns its exit code and all that it printed.
func (p *process) end() (int, string) {
	<-p.read
	p.Wait()
	return p.ProcessState.ExitCode(), p.stderr.String()
}

// do sends a request, given as method and path, with a demo key, and returns the status and the body of the response.
func (p *process) do(t testing.TB, request, body string) (int, string) {
	t.Helper()
	method, path, _ := strings.Cut(request, " ")
	r, err := http.NewRequest(method, p.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer demo-enterprise")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(got)
}

func TestProgram(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no SIGTERM")
	}
	for _, flags := range [][]string{{}, {"-sync=false"}} {
		file := filepath.Join(t.TempDir(), "petstore.json")
		args := append(flags, "-data", file, "-v")
		p := start(t, args...)
		if status, body := p.do(t, "POST /pets", `{"name":"Luna","categoryId":2}`); status != 201 {
			t.Fatalf("status %d: %s", status, body)
		}
		p.Process.Signal(syscall.SIGTERM)
		code, printed := p.end()
		if code != 0 {
			t.Errorf("%v: exit code %d", flags, code)
		}
		for _, want := range []string{
			"Petstore API: " + p.url + "\n",
			"Reference:    " + p.url + "/\n",
			`curl -i -H "Authorization: Bearer demo-free" ` + p.url + "/pets\n",
			`POST "/pets" 201 `,
		} {
			if !strings.Contains(printed, want) {
				t.Errorf("%v: %q is not printed:\n%s", flags, want, printed)
			}
		}
		if strings.Contains(printed, "demo-enterprise") {
			t.Errorf("the key is logged:\n%s", printed)
		}
		p = start(t, args...)
		want := `{"id":6,"name":"Luna","categoryId":2,"status":"available"}` + "\n"
		if status, body := p.do(t, "GET /pets/6", ""); status != 200 || body != want {
			t.Errorf("%v: after a restart, status %d: %s", flags, status, body)
		}
		p.Process.Signal(os.Interrupt)
		if code, _ := p.end(); code != 0 {
			t.Errorf("%v: exit code %d", flags, code)
		}
	}
}

// A request in flight at the signal is finished.
func TestGracefulShutdown(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no SIGTERM")
	}
	p := start(t, "-data", filepath.Join(t.TempDir(), "petstore.json"))
	conn, err := net.Dial("tcp", strings.TrimPrefix(p.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	body := `{"name":"Birds"}`
	fmt.Fprintf(conn, "POST /categories HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer demo-pro\r\n"+
		"Expect: 100-continue\r\nContent-Length: %d\r\n\r\n", len(body))
	response := bufio.NewReader(conn)
	if line, err := response.ReadString('\n'); line != "HTTP/1.1 100 Continue\r\n" {
		t.Fatalf("%q, %v", line, err)
	}
	response.ReadString('\n') // the handler waits for the body now
	p.Process.Signal(syscall.SIGTERM)
	for refused := false; !refused; { // until the listener is closed
		c, err := net.Dial("tcp", strings.TrimPrefix(p.url, "http://"))
		if refused = err != nil; !refused {
			c.Close()
		}
	}
	io.WriteString(conn, body)
	if line, err := response.ReadString('\n'); line != "HTTP/1.1 201 Created\r\n" {
		t.Errorf("%q, %v", line, err)
	}
	if code, printed := p.end(); code != 0 {
		t.Errorf("exit code %d: %s", code, printed)
	}
}

func TestFaultsAtTheStart(t *testing.T) {
	directory := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(directory, name)
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	keys := file("keys.json", `[{"key":"secret","plan":"free"}]`)
	taken, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for _, test := range []struct {
		args string
		code int
		want string
	}{
		{"-nonsense", 2, "petstore: flag provided but not defined: -nonsense"},
		{"-sync=maybe", 2, `petstore: invalid boolean value "maybe" for -sync`},
		{"extra", 2, `petstore: unexpected argument "extra"`},
		{"-cors-origin shop.example", 2, `petstore: -cors-origin must be like https://example.com, not "shop.example"`},
		{"-cors-origin https://shop.example/", 2, `petstore: -cors-origin must be like`},
		{"-addr nonsense", 1, "petstore: address nonsense: missing port"},
		{"-addr localhost:99999", 1, "petstore: "},
		{"-addr " + taken.Addr().String(), 1, "petstore: listen tcp"},
		{"-addr :0", 1,
			"petstore: -addr :0 is not a loopback address, and the demo keys are public: pass -keys FILE too"},
		{"-addr 0.0.0.0:0", 1, "petstore: -addr 0.0.0.0:0 is not a loopback address"},
		{"-keys " + filepath.Join(directory, "none.json"), 1, "petstore: open "},
		{"-keys " + file("badkeys.json", `[{"key":"secret","plan":"gold"}]`), 1, "badkeys.json: entry 1: plan must be"},
		{"-data " + file("broken.json", `{"pets":`), 1, "broken.json: "},
		{"-data " + directory, 1, "petstore: "},
		{"-data " + filepath.Join(directory, "none", "petstore.json"), 1, "petstore: "},
		{"-data " + filepath.Join(keys, "petstore.json"), 1, "petstore: "},
	} {
		var stderr bytes.Buffer
		args := append([]string{"-addr", "localhost:0", "-data", ""}, strings.Fields(test.args)...)
		code := run(t.Context(), args, &stderr)
		got := stderr.String()
		if code != test.code || !strings.Contains(got, test.want) || strings.Count(got, "\n") != 1 {
			t.Fatalf("%s: exit code %d, printed %q; want %d, %q", test.args, code, got, test.code, test.want)
		}
		if strings.Contains(got, "secret") {
			t.Fatalf("%s: the key is printed: %s", test.args, got)
		}
	}
	var help bytes.Buffer
	if code := run(t.Context(), []string{"-h"}, &help); code != 0 || !strings.Contains(help.String(), "-cors-origin") {
		t.Errorf("-h: exit code %d, printed %s", code, help.String())
	}
}

// With a keys file, the server accepts those keys, and the demo keys are unknown.
func TestOwnKeys(t *testing.T) {
	keys := filepath.Join(t.TempDir(), "keys.json")
	os.WriteFile(keys, []byte(`[{"key":"secret","plan":"pro"}]`), 0o600)
	ctx, cancel := context.WithCancel(t.Context())
	printed, stderr := io.Pipe()
	code := make(chan int)
	go func() {
		flags := []string{"-addr", "127.0.0.1:0", "-data", "", "-keys", keys, "-cors-origin", "https://shop.example"}
		code <- run(ctx, flags, stderr)
		stderr.Close()
	}()
	lines := bufio.NewReader(printed)
	line, err := lines.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	go io.Copy(io.Discard, lines)
	url, _ := strings.CutPrefix(strings.TrimSpace(line), "Petstore API: ")
	got := map[string]int{}
	for _, key := range []string{"secret", "demo-free"} {
		r, _ := http.NewRequest("GET", url+"/pets", nil)
		r.Header.Set("X-API-Key", key)
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		got[key] = resp.StatusCode
	}
	if diff := gocmp.Diff(map[string]int{"secret": 200, "demo-free": 401}, got); diff != "" {
		t.Errorf("statuses (-want +got):\n%s", diff)
	}
	http.DefaultClient.CloseIdleConnections()
	cancel()
	if got := <-code; got != 0 {
		t.Errorf("exit code %d", got)
	}
}
