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
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// binary builds the program once for all tests that run it, if any does.
var binary = sync.OnceValues(func() (path string, err error) {
	if binaryDirectory, err = os.MkdirTemp("", "petstore"); err != nil {
		return "", err
	}
	build := exec.Command("go", "build", "-o", binaryDirectory+string(filepath.Separator), ".")
	build.Env = append(os.Environ(), buildFlags)
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return filepath.Join(binaryDirectory, "petstore"), nil // on Windows, os/exec finds petstore.exe
})

var binaryDirectory string // empty if no test has run the program

// buildFlags make a binary that depends on the sources alone, so that a second build of them is a
// cached one.
const buildFlags = "GOFLAGS=-trimpath -buildvcs=false"

func TestMain(m *testing.M) {
	if responses := os.Getenv("PETSTORE_BARE"); responses != "" {
		serveBare(strings.Split(responses, "\x1e"))
	}
	code := m.Run()
	os.RemoveAll(binaryDirectory)
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
	write(t, path, keys)
	return path
}

// end waits for the end of the program and returns its exit code and all that it printed.
func (p *process) end() (int, string) {
	<-p.read
	p.Wait()
	return p.ProcessState.ExitCode(), p.stderr.String()
}

// send sends a request with a key, and returns the status and the body of the response.
func send(t testing.TB, method, url, key, body string) (int, string) {
	t.Helper()
	r, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+key)
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

// do sends a request, given as method and path, with a demo key.
func (p *process) do(t testing.TB, request, body string) (int, string) {
	t.Helper()
	method, path, _ := strings.Cut(request, " ")
	return send(t, method, p.url+path, "demo-enterprise", body)
}

// runHere calls run in this process, and waits until it serves. stop makes it end, and returns the
// exit code and all that it printed.
func runHere(t testing.TB, args ...string) (url string, stop func() (code int, printed string)) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	printed, stderr := io.Pipe()
	code := make(chan int, 1)
	go func() {
		code <- run(ctx, args, stderr)
		stderr.Close()
	}()
	lines := bufio.NewReader(printed)
	first, err := lines.ReadString('\n')
	url, serves := strings.CutPrefix(strings.TrimSpace(first), "Petstore API: ")
	if err != nil || !serves {
		t.Fatalf("%v: printed %q, %v", args, first, err)
	}
	rest := make(chan string, 1)
	go func() {
		text, _ := io.ReadAll(lines)
		rest <- string(text)
	}()
	return url, func() (int, string) {
		http.DefaultClient.CloseIdleConnections()
		cancel()
		return <-code, first + <-rest
	}
}

// needSignals skips a test that sends one to the program.
func needSignals(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no SIGTERM")
	}
}

func TestProgram(t *testing.T) {
	needSignals(t)
	args := []string{"-v", "-data", freshFile(t)}
	p := start(t, args...)
	if status, body := p.do(t, "POST /pets", `{"name":"Luna","categoryId":2}`); status != 201 {
		t.Fatalf("status %d: %s", status, body)
	}
	p.Process.Signal(syscall.SIGTERM)
	code, printed := p.end()
	same(t, "exit code", 0, code)
	_, logged, _ := strings.Cut(printed, "/pets\n") // after the lines of the start
	if !strings.Contains(logged, `POST "/pets" 201 `) || strings.Contains(logged, "demo-") {
		t.Errorf("the request is not logged, or its key is:\n%s", logged)
	}
	p = start(t, args...)
	want := `{"id":6,"name":"Luna","categoryId":2,"status":"available"}` + "\n"
	if status, body := p.do(t, "GET /pets/6", ""); status != 200 || body != want {
		t.Errorf("after a restart, status %d: %s", status, body)
	}
	p.Process.Signal(os.Interrupt)
	code, _ = p.end()
	same(t, "exit code", 0, code)
}

// dial connects to the program.
func (p *process) dial() (net.Conn, error) {
	return net.Dial("tcp", strings.TrimPrefix(p.url, "http://"))
}

const birds = `{"name":"Birds"}`

// beginRequest sends the header of a request with the body birds, and returns when the handler
// waits for that body.
func beginRequest(t *testing.T, p *process) (client net.Conn, responses *bufio.Reader) {
	t.Helper()
	client, err := p.dial()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	fmt.Fprintf(client, "POST /categories HTTP/1.1\r\nHost: localhost\r\nX-API-Key: demo-pro\r\n"+
		"Expect: 100-continue\r\nContent-Length: %d\r\n\r\n", len(birds))
	responses = bufio.NewReader(client)
	if line, err := responses.ReadString('\n'); line != "HTTP/1.1 100 Continue\r\n" {
		t.Fatalf("%q, %v", line, err)
	}
	responses.ReadString('\n')
	return client, responses
}

// interrupt sends SIGTERM, and returns when the program accepts no more connections.
func (p *process) interrupt() {
	p.Process.Signal(syscall.SIGTERM)
	for {
		client, err := p.dial()
		if err != nil {
			return
		}
		client.Close()
	}
}

// A request in flight at the signal is finished.
func TestGracefulShutdown(t *testing.T) {
	needSignals(t)
	p := start(t, "-data", freshFile(t))
	client, responses := beginRequest(t, p)
	p.interrupt()
	io.WriteString(client, birds)
	if line, err := responses.ReadString('\n'); line != "HTTP/1.1 201 Created\r\n" {
		t.Errorf("%q, %v", line, err)
	}
	code, _ := p.end()
	same(t, "exit code", 0, code)
}

// A second signal ends the program at once, although a request is in flight.
func TestSecondSignal(t *testing.T) {
	needSignals(t)
	p := start(t, "-data", freshFile(t))
	beginRequest(t, p)
	p.interrupt()
	for ended := false; !ended; { // the first signals may come before it stops catching them
		p.Process.Signal(syscall.SIGTERM)
		select {
		case <-p.read:
			ended = true
		case <-time.After(10 * time.Millisecond):
		}
	}
	code, _ := p.end()
	same(t, "exit code, -1 for a signal", -1, code)
}

func TestFaultsAtTheStart(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "keys.json", `[{"key":"secret","plan":"gold"}]`)
	write(t, "empty.json", "")
	write(t, "broken.json", `{"pets":`)
	taken, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	stopped, stop := context.WithCancel(t.Context()) // so that what does start ends at once
	stop()
	for _, test := range []struct {
		args string
		code int
		want string
	}{
		{"-nonsense", 2, "flag provided but not defined: -nonsense"},
		{"extra", 2, `unexpected argument "extra"`},
		{"-cors-origin shop.example", 2,
			`-cors-origin must be like https://example.com, not "shop.example"`},
		{"-delay 5", 2, `invalid value "5" for flag -delay`},
		{"-delay -1ns", 2, "-delay must be from 0 to 8s, not -1ns"},
		{"-delay 8.001s", 2, "-delay must be from 0 to 8s, not 8.001s"},
		{"-minute 60", 2, `invalid value "60" for flag -minute`},
		{"-minute 999ms", 2, "-minute must be from 1s to 1m, not 999ms"},
		{"-minute 60.1s", 2, "-minute must be from 1s to 1m, not 1m0.1s"},
		{"-fail 2", 2, `invalid value "2" for flag -fail: must be M/N, such as 1/2, with`},
		{"-drop 3/2", 2, `invalid value "3/2" for flag -drop: must be M/N, such as 1/2`},
		{"-addr nonsense", 1, "address nonsense: missing port"},
		{"-addr localhost:99999", 1, "address 99999: invalid port"},
		{"-addr " + taken.Addr().String() + " -data new.json", 1,
			"; choose another address, such as -addr localhost:0"},
		{"-addr :0", 1,
			"not a loopback address, and the demo keys are public: pass -keys FILE too"},
		{"-addr 0.0.0.0:0", 1, "-addr 0.0.0.0:0 is not a loopback address"},
		{"-addr [::]:0", 1, "-addr [::]:0 is not a loopback address"},
		{"-keys none.json", 1, "open none.json: "},
		{"-keys keys.json", 1, "keys.json: entry 1: plan must be"},
		{"-keys empty.json", 1, "empty.json: The JSON is empty."},
		{"-data broken.json", 1, "broken.json: The JSON is malformed in line 1"},
		{"-data none/petstore.json", 1, "none/petstore.json: its directory does not exist"},
	} {
		t.Run(test.args, func(t *testing.T) {
			var stderr bytes.Buffer
			args := strings.Fields("-addr localhost:0 -data= " + test.args)
			same(t, "exit code", test.code, run(stopped, args, &stderr))
			got := stderr.String()
			if !strings.HasPrefix(got, "petstore: ") || !strings.Contains(got, test.want) ||
				strings.Count(got, "\n") != 1 {
				t.Errorf("printed %q, want the line %s", got, test.want)
			}
			if strings.Contains(got, "secret") {
				t.Errorf("the key is printed: %s", got)
			}
		})
	}
	// A busy port is found out before a file is created.
	same(t, "files", []string{"broken.json", "empty.json", "keys.json"}, files(t, "."))
}

func TestHelp(t *testing.T) {
	var help bytes.Buffer
	same(t, "exit code", 0, run(t.Context(), []string{"-h"}, &help))
	if !strings.Contains(help.String(), "-cors-origin ORIGIN") {
		t.Errorf("printed %s", help.String())
	}
}

// An origin is a scheme and a host, with a port if need be, and no path.
func TestOrigins(t *testing.T) {
	for _, origin := range []string{
		"https://example.com", "https://shop_1.my-example.com", "http://localhost:5173",
		"http://127.0.0.1:8080", "http://[::1]:3000", "http://[2001:db8::a]",
		"chrome-extension://abcdef",
	} {
		same(t, origin+" is an origin", true, isOrigin(origin))
	}
	for _, text := range []string{
		"HTTPS://example.com", "https://Example.com", "https://x:http", "https://x/", "https://x/y",
		"https://x?", "https://x?y", "https://x#", "https://user@x", "https://:8443", "https://",
		"://x", "//x", "https:x", "https://x y", " https://x", "https://x\n", "https://x,https://y",
		"null", "*", "x", "", "https://*.x", "https://münchen.x", "https://x:", "http://x:080",
	} {
		same(t, text+" is an origin", false, isOrigin(text))
	}
}

func TestFlags(t *testing.T) {
	for _, test := range []struct{ args, want string }{
		{"", `localhost:8080 "petstore.json" "" 1m0s "" 0s 0/0 0/0 false`},
		{"-addr :1 -data d -keys k -minute 1s -cors-origin a://b -delay 8s -fail 2/3 -drop 1/2 -v",
			`:1 "d" "k" 1s "a://b" 8s 2/3 1/2 true`},
		{"-data= -minute 60s -delay 0 -fail 1/1", `localhost:8080 "" "" 1m0s "" 0s 1/1 0/0 false`},
	} {
		c, err := parseFlags(strings.Fields(test.args), io.Discard)
		if err != nil {
			t.Errorf("%q: %v", test.args, err)
			continue
		}
		same(t, test.args, test.want, fmt.Sprintf("%s %q %q %v %q %v %v %v %v", c.addr, c.data,
			c.keys, c.minute, c.origin, c.delay, &c.fail, &c.drop, c.verbose))
	}
}

// The server prints a URL under which it can be reached, and its description names the same one.
// The demo keys count only there, other keys with any Host.
func TestAddresses(t *testing.T) {
	keys := unlimitedKeys(t, t.TempDir())
	name, _ := os.Hostname()
	for _, test := range []struct {
		addr, keys, want string
		evil             int // the status of a request with another Host
	}{
		{"localhost:0", "", "http://localhost:", 401},
		{"127.0.0.1:0", "", "http://127.0.0.1:", 401},
		{"[::1]:0", "", "http://[::1]:", 401},
		{name + ":0", "", "http://" + name + ":", 401}, // if it leads to a loopback address
		{"127.0.0.1:0", keys, "http://127.0.0.1:", 200},
		{"0.0.0.0:0", keys, "http://localhost:", 200},
		{":0", keys, "http://localhost:", 200},
		{"[::]:0", keys, "http://localhost:", 200},
	} {
		t.Run(test.addr, func(t *testing.T) {
			listener, err := net.Listen("tcp", test.addr)
			if err != nil {
				t.Skip("cannot be tested here: ", err)
			}
			listener.Close()
			key, example := "unlimited", "KEY"
			if test.keys == "" {
				key, example = "demo-free", "demo-free"
				if !listener.Addr().(*net.TCPAddr).IP.IsLoopback() {
					t.Skip("no loopback address: ", listener.Addr())
				}
			}
			url, stop := runHere(t, "-addr", test.addr, "-data", "", "-keys", test.keys)
			port, ok := strings.CutPrefix(url, test.want)
			if !ok || !digits.MatchString(port) || port == "0" {
				t.Errorf("the URL is %s", url)
			}
			status, _ := send(t, "GET", url+"/pets", key, "")
			same(t, "status", 200, status)
			if test.keys != "" {
				status, _ = send(t, "GET", url+"/pets", "demo-pro", "")
				same(t, "status with a demo key", 401, status)
			}
			r, _ := http.NewRequest("GET", url+"/pets", nil)
			r.Host = "evil.example"
			r.Header.Set("X-API-Key", key)
			resp, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			same(t, "status with another Host", test.evil, resp.StatusCode)
			for _, path := range []string{"/openapi.json", "/docs/openapi.json"} {
				_, described := send(t, "GET", url+path, "", "")
				if !strings.Contains(described, `"default": "`+url+`"`) ||
					strings.Contains(described, "localhost:8080") {
					t.Errorf("%s does not name %s", path, url)
				}
			}
			code, printed := stop()
			same(t, "exit code", 0, code)
			if !strings.HasSuffix(printed, "Bearer "+example+`" `+url+"/pets\n") {
				t.Errorf("printed %s", printed)
			}
		})
	}
}

// A flag reaches what it is for, and GOGC counts if it is set.
func TestFlagsAreUsed(t *testing.T) {
	t.Setenv("GOGC", "50")
	defer debug.SetGCPercent(debug.SetGCPercent(50))
	const flags = "-addr localhost:0 -data= -cors-origin https://shop.example -delay 20ms " +
		"-minute 1s -fail 1/2 -drop 1/2 -v"
	url, stop := runHere(t, strings.Fields(flags)...)
	begin := time.Now()
	resp, err := http.Get(url + "/pets")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if took := time.Since(begin); took < 20*time.Millisecond {
		t.Errorf("-delay: %v", took)
	}
	if got := resp.Header.Get("Access-Control-Allow-Origin"); got != "https://shop.example" {
		t.Errorf("-cors-origin: %q", got)
	}
	if reset, err := strconv.ParseInt(resp.Header.Get("X-RateLimit-Reset"), 10, 64); err != nil ||
		time.Unix(reset, 0).Sub(begin) > 30*time.Second {
		t.Errorf("-minute: it begins at %v and ends at %v, %v", begin, time.Unix(reset, 0), err)
	}
	var got []string
	for range 4 {
		got = append(got, try("GET /pets", url, "demo-free"))
	}
	same(t, "-fail and -drop: responses", []string{"503", "dropped", "503", "200"}, got)
	_, keysOfThePage := send(t, "GET", url+"/docs/keys.json", "", "")
	same(t, "keys for the page", demoKeys+"\n", keysOfThePage)
	same(t, "GOGC", 50, debug.SetGCPercent(50))
	if code, printed := stop(); code != 0 || !strings.Contains(printed, `GET "/pets" dropped `) {
		t.Errorf("exit code %d, printed %s", code, printed)
	}
}
