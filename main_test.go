package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

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

// runHere calls run in this process, and waits until it serves. stop makes it end, and returns the
// exit code and all that it printed.
func runHere(t *testing.T, args ...string) (p *process, stop func() (code int, printed string)) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	reader, stderr := io.Pipe()
	code := make(chan int, 1)
	go func() {
		code <- run(ctx, args, stderr)
		stderr.Close()
	}()
	p = &process{pipe: reader}
	p.awaitURL(t)
	return p, func() (int, string) {
		cancel()
		<-p.ended
		return <-code, p.stderr.String()
	}
}

func TestHelp(t *testing.T) {
	t.Run("lists the flags of the manual, and exits with 0", func(t *testing.T) {
		var help bytes.Buffer
		equal(t, "exit code", 0, run(t.Context(), []string{"-h"}, &help))
		inManual := regexp.MustCompile(`(?m)^//\t(-.*)$`).FindAllStringSubmatch(
			contentOf(t, "main.go"), -1)
		for _, flag := range inManual {
			contains(t, "the help", help.String(), "\n  "+flag[1])
		}
		equal(t, "number of flags", len(inManual), strings.Count(help.String(), "\n  -"))
		contains(t, "the help", help.String(), `(default "localhost:8080")`)
	})
}

func TestFlagValues(t *testing.T) {
	for _, test := range []struct{ rule, flag, valid, invalid string }{ // separated by commas
		{"minute is from 1s to 1m", "-minute", "1s,1500ms,60s,1m", "999ms,60.1s,0,-5s,60,"},
		{"delay is from 0 to 8s", "-delay", "0,1ns,8s", "-1ns,8.001s,5,"},
		{"M and N are from 1 to 1000000", "-fail", "1/1,2/3,1000000/1000000",
			"0/1,0/0,2/1,1/0,1/1000001,1000001/1000000,1/99999999999999999999"},
		{"M and N have no sign and no space", "-drop", "10/20",
			"+1/2,-1/2,01/2,1/02, 1/2,1/2 ,1 / 2,1.0/2,0x1/2,1,1/,/2,1/2/3,a/b"},
		{"an origin is a scheme and a host", "-cors-origin",
			"https://shop_1.my-example.com,http://127.0.0.1,http://[2001:db8::a],app-1.0+x://abc",
			"x,//x,://x,https:x,https://,null,*,https://*.x,https://x y, https://x,https://x\n," +
				"https://u@x"},
		{"an origin may have a port", "-cors-origin", "http://localhost:5173,http://[::1]:3000",
			"https://x:,https://x:http,http://x:080,https://:8443,http://a:99999999"},
		{"an origin has no default port", "-cors-origin", "http://x:443,https://x:80,http://x:8080",
			"http://x:80,https://x:443"},
		{"an origin has no path", "-cors-origin", "https://x.y",
			"https://x/,https://x/y,https://x?,https://x?y,https://x#"},
		{"an origin is in small letters", "-cors-origin", "https://example.com",
			"HTTPS://example.com,https://Example.com,https://münchen.x"},
	} {
		t.Run(test.rule, func(t *testing.T) {
			for value := range strings.SplitSeq(test.valid, ",") {
				_, _, err := parseFlags([]string{test.flag + "=" + value}, io.Discard)
				equal(t, fmt.Sprintf("error for %q", value), nil, err)
			}
			for value := range strings.SplitSeq(test.invalid, ",") {
				if _, _, err := parseFlags([]string{test.flag, value}, io.Discard); err == nil {
					t.Errorf("there is no error for %q", value)
				}
			}
		})
	}
}

// A fault at the start is one line on stderr, which names what is wrong. What a file may have wrong
// is in TestBrokenFile, TestRefusedPath and TestKeysFile.
func TestFaultsAtTheStart(t *testing.T) {
	t.Chdir(t.TempDir())
	writeFile(t, "gold.json", `[{"key":"secret","plan":"gold"}]`)
	writeFile(t, "wrong.json", `{"categories":[{"id":1}]}`)
	taken, err := net.Listen("tcp", "localhost:0")
	must(t, err)
	defer taken.Close()
	stopped, stop := context.WithCancel(t.Context()) // so that what does start ends at once
	stop()
	for _, test := range []struct {
		rule, args string // the args of several starts are separated by commas
		code       int
		want       string
	}{
		{"unknown flag", "-nonsense", 2, "flag provided but not defined: -nonsense"},
		{"argument", "extra", 2, `unexpected argument "extra"`},
		{"wrong address", "-addr nonsense,-addr=,-addr localhost:,-addr localhost:99999", 2,
			"-addr must be HOST:PORT, such as localhost:8080; got "},
		{"wrong value beside a missing file", "-keys none.json -delay 9s", 2, "-delay must be"},
		{"unknown host", "-addr no!host:0", 1, "no!host: no such host"},
		{"port in use", "-data new.json -addr " + taken.Addr().String(), 1,
			"; choose another address, such as -addr localhost:0"},
		{"demo keys for others", "-addr :0,-addr 0.0.0.0:0,-addr [::]:0,-addr 192.0.2.1:0", 1,
			" is not a loopback address, and the demo keys are public; pass -keys FILE"},
		{"missing keys file", "-keys none.json", 1, "open none.json: "},
		{"wrong keys file", "-keys gold.json", 1, "gold.json: keys, record 1: plan must be"},
		{"wrong data file", "-data wrong.json", 1, "wrong.json: categories, record 1: name is"},
	} {
		t.Run(test.rule, func(t *testing.T) {
			for args := range strings.SplitSeq(test.args, ",") {
				var stderr bytes.Buffer
				args := append([]string{"-addr", "localhost:0", "-data="}, strings.Fields(args)...)
				equal(t, "exit code", test.code, run(stopped, args, &stderr))
				got := stderr.String()
				end := map[int]string{1: "\n", 2: " (petstore -h lists the flags)\n"}[test.code]
				if !strings.HasPrefix(got, "petstore: ") || !strings.Contains(got, test.want) ||
					!strings.HasSuffix(got, end) || strings.Count(got, "\n") != 1 {
					t.Errorf("%v printed %q, want the line %s", args, got, test.want)
				}
				equal(t, "the key is printed", false, strings.Contains(got, "secret"))
			}
		})
	}
	t.Run("none leaves a file behind", func(t *testing.T) {
		equal(t, "files", []string{"gold.json", "wrong.json"}, namesIn(t, "."))
	})
}

// The server prints a URL where it answers, and where the demo keys count. Its description names it
// too.
func TestAddresses(t *testing.T) {
	keys := writeFile(t, freshPath(t), `[{"key":"secret","plan":"free"}]`)
	for _, test := range []struct {
		rule, addr, keys, url string
		status                int    // of a demo key
		example               string // of a key
	}{
		{"localhost is printed", "localhost:0", "", "http://localhost:", 200, "demo-free"},
		{"an address is printed", "127.0.0.1:0", "", "http://127.0.0.1:", 200, "demo-free"},
		{"an IPv6 address has brackets", "[::1]:0", "", "http://[::1]:", 200, "demo-free"},
		{"no host is printed as localhost", ":0", keys, "http://localhost:", 401, "KEY"},
		{"0.0.0.0 is printed as localhost", "0.0.0.0:0", keys, "http://localhost:", 401, "KEY"},
		{"all of IPv6 is printed as localhost", "[::]:0", keys, "http://localhost:", 401, "KEY"},
	} {
		t.Run(test.rule, func(t *testing.T) {
			listener, err := net.Listen("tcp", test.addr)
			if err != nil {
				t.Skip("this computer has no such address: ", err)
			}
			listener.Close()
			args := []string{"-addr", test.addr, "-data="}
			if test.keys != "" {
				args = append(args, "-keys", test.keys)
			}
			p, stop := runHere(t, args...)
			equal(t, "begin of "+p.url, true, strings.HasPrefix(p.url, test.url))
			status, _ := p.do(t, "GET /pets", "")
			equal(t, "status with a demo key", test.status, status)
			_, described := p.do(t, "GET /openapi.json", "")
			contains(t, "the description", described, `"url": "`+p.url+`"`)
			equal(t, "other addresses", 0, strings.Count(described, "http://localhost:8080"))
			code, printed := stop()
			equal(t, "exit code", 0, code)
			want := "Petstore API: %s\nReference:    %[1]s/\nTry:          curl -i -H " +
				"\"Authorization: Bearer %s\" %[1]s/pets\n"
			equal(t, "output", fmt.Sprintf(want, p.url, test.example), printed)
		})
	}
	t.Run("a name is printed as its address with the demo keys", func(t *testing.T) {
		bound := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8080}
		equal(t, "URL", "http://127.0.0.1:8080", urlOf(bound, "pets.test:0", true))
		equal(t, "URL with other keys", "http://pets.test:8080", urlOf(bound, "pets.test:0", false))
	})
}

// While the demo keys are in use, a web page whose name is made to lead here gets nothing.
func TestHostOfTheDemoKeys(t *testing.T) {
	send := func(handler http.Handler, target, host string) *httptest.ResponseRecorder {
		r, w := httptest.NewRequest("GET", target, nil), httptest.NewRecorder()
		r.Host = host
		r.Header.Set("X-API-Key", "demo-pro")
		handler.ServeHTTP(w, r)
		return w
	}
	for _, test := range []struct {
		rule, hosts string // separated by commas
		status      int
	}{
		{"localhost is served", "localhost,localhost:8080,LOCALHOST:1", 200},
		{"a name under .localhost is served", "app.localhost,a.b.Localhost:8080", 200},
		{"an address is served", "127.0.0.1,127.0.0.1:8080,192.0.2.1,[::1],[2001:db8::1]:80", 200},
		{"another name is not", "evil.example,evil.example:80,localhost.evil.example,localhos," +
			"127.0.0.1.example,docker.internal,calhost,evillocalhost,evil.example:localhost", 421},
		{"no Host is not", "", 421},
	} {
		t.Run(test.rule, func(t *testing.T) {
			handler := httpServer(newService(t, Options{}).Server).Handler
			for host := range strings.SplitSeq(test.hosts, ",") {
				for target := range strings.FieldsSeq("/pets / /healthz /openapi.json") {
					equal(t, target+" of "+host, test.status, send(handler, target, host).Code)
				}
			}
		})
	}
	t.Run("a 421 comes before the API, and is logged", func(t *testing.T) {
		s := newService(t, Options{Verbose: true})
		w := send(httpServer(s.Server).Handler, "//x", "evil.example")
		equal(t, "status", 421, w.Code)
		equal(t, "body", "wrong_host: With the demo keys, this server serves only localhost and "+
			"IP addresses; use http://localhost, or start it with -keys.", errorIn(w.Body.Bytes()))
		equal(t, "header", http.Header{"Cache-Control": {"no-store"},
			"Content-Type": {"application/json"}}, w.Header())
		contains(t, "the log", s.log.String(), `GET "//x" 421 `)
		equal(t, "requests left", 299, ratesOf(s.do("GET /pets", "", "X-API-Key: demo-pro")).left)
	})
	t.Run("other keys have no such rule, and nor has a Server in a test", func(t *testing.T) {
		demo, other := newService(t, Options{}), newService(t, Options{Keys: keysFile(t, 1, 1)})
		equal(t, "with other keys", 401, send(httpServer(other.Server).Handler, "/pets", "x").Code)
		equal(t, "in a test", 200, send(demo, "/pets", "evil.example").Code)
	})
}

// What a POST gets or leaves with some of the flags. What the options do is in handlers_test.go.
func TestFlags(t *testing.T) {
	for _, test := range []struct{ rule, flags, want string }{
		{"none is needed", "", `201 {"minute":60 [petstore.json] `},
		{"data names the file", "-data my.json", `201 {"minute":60 [my.json] `},
		{"data may name none", "-data=", `201 {"minute":60 [] `},
		{"minute", "-data= -minute 10s", `201 {"minute":10 [] `},
		{"fail", "-data= -fail 1/1", `503 {"minute":60 [] `},
		{"v", "-data= -v", `201 {"minute":60 [] POST "/categories" 201`},
	} {
		t.Run(test.rule, func(t *testing.T) {
			t.Chdir(t.TempDir())
			args := append([]string{"-addr", "localhost:0"}, strings.Fields(test.flags)...)
			p, stop := runHere(t, args...)
			status, _ := p.do(t, "POST /categories", aCategory)
			_, keys := p.do(t, "GET /docs/keys.json", "")
			minute, _, _ := strings.Cut(keys, ",")
			files := namesIn(t, ".")
			_, printed := stop()
			logged := regexp.MustCompile(`POST "/categories" \d+`).FindString(printed)
			got := fmt.Sprintf("%d %s %s %s", status, minute, files, logged)
			equal(t, "outcome", test.want, got)
		})
	}
}

// The heap may grow to five times what is in use, unless GOGC says otherwise.
func TestGarbageCollector(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	stopped, stop := context.WithCancel(t.Context())
	stop()
	for gogc, want := range map[string]int{"": 400, "50": 100} { // which was read before main
		t.Setenv("GOGC", gogc)
		debug.SetGCPercent(100)
		run(stopped, []string{"-addr", "localhost:0", "-data="}, io.Discard)
		equal(t, "percent with GOGC="+gogc, want, debug.SetGCPercent(100))
	}
}

// beginPost sends the header of a request, and returns when the handler waits for its body,
// aCategory.
func beginPost(t *testing.T, p *process) (client net.Conn, responses *bufio.Reader) {
	t.Helper()
	client, err := net.Dial("tcp", strings.TrimPrefix(p.url, "http://"))
	must(t, err)
	t.Cleanup(func() { client.Close() })
	fmt.Fprintf(client, "POST /categories HTTP/1.1\r\nHost: localhost\r\nX-API-Key: demo-pro\r\n"+
		"Expect: 100-continue\r\nContent-Length: %d\r\n\r\n", len(aCategory))
	responses = bufio.NewReader(client)
	if line, err := responses.ReadString('\n'); line != "HTTP/1.1 100 Continue\r\n" {
		t.Fatalf("%q, %v", line, err)
	}
	responses.ReadString('\n')
	return client, responses
}

// signalUntilDeaf sends a signal, and returns when the program accepts no more connections.
func (p *process) signalUntilDeaf(signal os.Signal) {
	p.Process.Signal(signal)
	for {
		client, err := net.Dial("tcp", strings.TrimPrefix(p.url, "http://"))
		if err != nil {
			return
		}
		client.Close()
	}
}

func TestSignals(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no SIGTERM")
	}
	for name, signal := range map[string]syscall.Signal{
		"SIGINT": syscall.SIGINT, "SIGTERM": syscall.SIGTERM} {
		t.Run(name+" finishes what is in flight and exits with 0", func(t *testing.T) {
			p := startProcess(t, "-data", freshPath(t))
			client, responses := beginPost(t, p)
			p.signalUntilDeaf(signal)
			io.WriteString(client, aCategory)
			if line, err := responses.ReadString('\n'); line != "HTTP/1.1 201 Created\r\n" {
				t.Errorf("%q, %v", line, err)
			}
			code, _ := p.wait()
			equal(t, "exit code", 0, code)
		})
	}
	t.Run("a second one ends it at once", func(t *testing.T) {
		p := startProcess(t, "-data=")
		beginPost(t, p)
		p.signalUntilDeaf(syscall.SIGTERM)
		for ended := false; !ended; { // the first ones may come before it stops catching them
			p.Process.Signal(syscall.SIGTERM)
			select {
			case <-p.ended:
				ended = true
			case <-time.After(10 * time.Millisecond):
			}
		}
		code, _ := p.wait()
		equal(t, "exit code, -1 for a signal", -1, code)
	})
	t.Run("a log that nobody reads ends nothing", func(t *testing.T) {
		p := startProcess(t, "-data=", "-v")
		p.pipe.Close()
		<-p.ended
		for range 3 { // each is logged after its response
			status, _ := p.do(t, "GET /pets", "")
			equal(t, "status", 200, status)
		}
	})
}

// A pipeListener accepts connections that live in memory, so that their timeouts pass in fake time.
type pipeListener chan net.Conn

func (l pipeListener) Accept() (net.Conn, error) {
	if conn, ok := <-l; ok {
		return conn, nil
	}
	return nil, net.ErrClosed
}

func (l pipeListener) Close() error   { close(l); return nil }
func (l pipeListener) Addr() net.Addr { return &net.TCPAddr{} }

// A connection is one in memory to the real http.Server.
type connection struct {
	*service
	server *http.Server
	client net.Conn
	closed chan bool // closed when the server has closed its end
}

// withConnection runs the test on a server with this delay, in fake time.
func withConnection(t *testing.T, delay time.Duration, test func(*testing.T, connection)) {
	synctest.Test(t, func(t *testing.T) {
		s := newService(t, Options{Delay: delay})
		client, accepted := net.Pipe()
		c := connection{s, httpServer(s.Server), client, make(chan bool)}
		c.server.ConnState = func(_ net.Conn, state http.ConnState) {
			if state == http.StateClosed {
				close(c.closed)
			}
		}
		listener := make(pipeListener)
		go c.server.Serve(listener)
		listener <- accepted
		defer time.Sleep(2 * time.Second) // until all goroutines have noticed
		defer c.server.Close()
		defer client.Close()
		test(t, c)
	})
}

// The starts of two requests. The first still lacks the empty line after its header, and the second
// its body.
const (
	withKey  = " HTTP/1.1\r\nHost: localhost\r\nX-API-Key: demo-enterprise\r\n"
	getPets  = "GET /pets" + withKey
	longPost = "POST /pets" + withKey + "Content-Length: 1000\r\n\r\n"
)

func TestSlowClients(t *testing.T) {
	const request = getPets + "\r\n"
	for _, test := range []struct {
		rule, start, drip string // what is sent at once, and then a byte a second
		reads             bool
		delay, cutOff     time.Duration
	}{
		{"5 s for the first byte", "", "", true, 0, 5 * time.Second},
		{"5 s for a header", getPets, strings.Repeat("x", 100), true, 0, 5 * time.Second},
		{"5 s for a body", longPost, strings.Repeat(" ", 999), true, 0, 5 * time.Second},
		{"10 s to read a response", request, "", false, 0, 10 * time.Second},
		{"10 s and the delay to read one", request, "", false, 8 * time.Second, 18 * time.Second},
		{"60 s without a request", request, "", true, 0, time.Minute},
	} {
		t.Run(test.rule, func(t *testing.T) {
			withConnection(t, test.delay, func(t *testing.T, c connection) {
				begin := time.Now()
				if test.reads {
					go io.Copy(io.Discard, c.client)
				}
				go func() {
					_, err := io.WriteString(c.client, test.start)
					for i := 0; i < len(test.drip) && err == nil; i++ {
						time.Sleep(time.Second)
						_, err = io.WriteString(c.client, test.drip[i:i+1])
					}
				}()
				<-c.closed
				equal(t, "cut off after", test.cutOff, time.Since(begin).Truncate(time.Second))
			})
		})
	}
	t.Run("a body that is too slow gets incomplete_body", func(t *testing.T) {
		withConnection(t, 0, func(t *testing.T, c connection) {
			go io.WriteString(c.client, longPost)
			got, _ := io.ReadAll(c.client)
			contains(t, "the response", string(got), `"incomplete_body"`)
		})
	})
	t.Run("a write that is cut off may have been saved", func(t *testing.T) {
		withConnection(t, 0, func(t *testing.T, c connection) {
			c.options.Delay = 11 * time.Second // longer than the server, made before, gives it
			c.faults.slow = &ratio{m: 1, n: 1}
			io.WriteString(c.client, "DELETE /pets/5"+withKey+"\r\n")
			got, _ := io.ReadAll(c.client)
			equal(t, "response", "", string(got))
			<-c.closed
			c.expect("GET /pets/5", "", 404, "not_found")
		})
	})
}

// A request that is refused before its body is needed is answered at once, although the client
// holds the body back: until it gets a go-ahead (Expect: 100-continue), or because it is slow.
func TestBodyHeldBack(t *testing.T) {
	const (
		waits = withKey + "Content-Length: 1000\r\nExpect: 100-continue\r\n"
		slow  = withKey + "Content-Length: 1000000\r\n"
	)
	for _, test := range []struct {
		rule, request string
		status        int // of the first response
	}{
		{"a body that is needed is asked for", "POST /pets" + waits, 100},
		{"an operation without a body", "GET /pets" + waits, 200},
		{"a wrong id in the path", "PUT /pets/x" + waits, 400},
		{"no key", "POST /pets" + waits + "Authorization: Bearer wrong\r\n", 401},
		{"a limit that is used up", "POST /x" + waits + "Authorization: Bearer demo-free\r\n", 429},
		{"a path that does not exist", "POST /nothing" + waits, 404},
		{"a wrong method", "PATCH /pets" + waits, 405},
		{"a wrong type", "POST /pets" + waits + "Content-Type: text/plain\r\n", 415},
		{"a length over the limit", "PATCH /inventory/1" + slow + "Expect: 100-continue\r\n", 413},
		{"a slow body that is too large", "POST /pets" + slow, 413},
	} {
		t.Run(test.rule, func(t *testing.T) {
			withConnection(t, 0, func(t *testing.T, c connection) {
				for range 60 {
					c.do("GET /pets", "", "X-API-Key: demo-free")
				}
				begin := time.Now()
				go io.WriteString(c.client, test.request+"\r\n")
				resp, err := http.ReadResponse(bufio.NewReader(c.client), nil)
				must(t, err)
				equal(t, "status", test.status, resp.StatusCode)
				equal(t, "time", 0*time.Second, time.Since(begin))
			})
		})
	}
}

func TestShutdown(t *testing.T) {
	for rule, takes := range map[string]time.Duration{
		"finishes the requests in flight":          8 * time.Second,
		"cuts off after 10 s what is not finished": 10 * time.Second,
	} {
		t.Run(rule, func(t *testing.T) {
			// A response that nobody reads has until 18 seconds after the request.
			withConnection(t, 8*time.Second, func(t *testing.T, c connection) {
				io.WriteString(c.client, getPets+"\r\n")
				want := "stopping with requests in flight\n"
				if takes == 8*time.Second {
					go io.Copy(io.Discard, c.client)
					want = ""
				}
				synctest.Wait()
				begin := time.Now()
				shutDown(c.server, c.options.Logger)
				<-c.closed
				equal(t, "closed after", takes, time.Since(begin).Truncate(time.Second))
				equal(t, "log", want, c.log.String())
			})
		})
	}
}
