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
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

var programs string // a directory for the program

func TestMain(m *testing.M) {
	programs, _ = os.MkdirTemp("", "petstore")
	code := m.Run()
	os.RemoveAll(programs)
	os.Exit(code)
}

// binary builds the program once for all tests that run it.
var binary = sync.OnceValues(func() (path string, err error) {
	// With -trimpath and without VCS data, a second build of the same sources is a cached one.
	build := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-o", programs, ".")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return filepath.Join(programs, "petstore"), nil // on Windows, os/exec finds petstore.exe
})

// A process is the program, serving.
type process struct {
	*exec.Cmd
	url  string
	pipe io.Closer     // from which its stderr comes
	log  *bufio.Reader // its stderr after the first line
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
	stderr, err := cmd.StderrPipe()
	must(t, err)
	must(t, cmd.Start())
	p := &process{Cmd: cmd, pipe: stderr, log: bufio.NewReader(stderr)}
	t.Cleanup(func() { p.kill() })
	line, _ := p.log.ReadString('\n')
	if _, err := fmt.Sscanf(line, "Petstore API: %s", &p.url); err != nil {
		t.Fatalf("the program printed %q", line)
	}
	return p
}

// wait waits for the end of the program, and returns its exit code and what it printed after its
// first line.
func (p *process) wait() (code int, printed string) {
	rest, _ := io.ReadAll(p.log)
	p.Wait()
	return p.ProcessState.ExitCode(), string(rest)
}

// kill returns what the program printed after its first line.
func (p *process) kill() (printed string) {
	p.Process.Kill()
	_, printed = p.wait()
	return printed
}

// do sends a request, such as "GET /pets", with the key demo-enterprise, and returns the status and
// the body of the response.
func (p *process) do(t testing.TB, request, body string) (int, string) {
	t.Helper()
	method, path, _ := strings.Cut(request, " ")
	r, _ := http.NewRequest(method, p.url+path, strings.NewReader(body))
	r.Header.Set("X-API-Key", "demo-enterprise")
	resp, err := http.DefaultClient.Do(r)
	must(t, err)
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(text)
}

// runBriefly runs the program in this process until it serves, and returns what it printed.
func runBriefly(args ...string) (code int, printed string) {
	stopped, stop := context.WithCancel(context.Background())
	stop()
	var stderr bytes.Buffer
	code = run(stopped, append([]string{"-addr", "localhost:0", "-data="}, args...), &stderr)
	return code, stderr.String()
}

func TestHelp(t *testing.T) {
	t.Run("lists the flags of the manual, and exits with 0", func(t *testing.T) {
		code, help := runBriefly("-h")
		equal(t, "exit code", 0, code)
		contains(t, "the help", help, `(default "localhost:8080")`)
		manual := contentOf(t, "main.go")
		for line := range strings.Lines(help) {
			if flag, found := strings.CutPrefix(line, "  -"); found {
				flag, _, _ = strings.Cut(strings.TrimSpace(flag), "\t") // off what -v does
				contains(t, "the manual", manual, "\n//\t-"+flag+"\n")
			}
		}
		equal(t, "flags in the manual", strings.Count(help, "\n  -"),
			strings.Count(manual, "\n//\t-"))
	})
}

func TestFlags(t *testing.T) {
	t.Run("fill in the options", func(t *testing.T) {
		addr, got, err := parseFlags([]string{"-addr", "[::1]:80", "-data", "d.json", "-sample",
			"s.json", "-keys", "k.json", "-minute", "10s", "-cors-origin", "https://a", "-delay",
			"2s", "-slow", "1/2", "-fail", "1/3", "-drop", "1/4", "-only", "PUT", "-v",
			"-cors-origin", "https://b"}, io.Discard)
		must(t, err)
		equal(t, "address", "[::1]:80", addr)
		equal(t, "options", Options{Data: "d.json", Sample: "s.json", Keys: "k.json",
			Minute: 10 * time.Second, CORSOrigins: []string{"https://a", "https://b"},
			Delay: 2 * time.Second, Slow: "1/2", Fail: "1/3", Drop: "1/4", Only: "PUT",
			Verbose: true}, got)
	})
	t.Run("have defaults", func(t *testing.T) {
		addr, got, err := parseFlags(nil, io.Discard)
		must(t, err)
		equal(t, "address", "localhost:8080", addr)
		equal(t, "options", Options{Data: "petstore.json", Minute: time.Minute}, got)
	})
}

func TestFlagValues(t *testing.T) {
	takes := func(t *testing.T, flag string, values ...string) {
		t.Helper()
		for _, value := range values {
			if _, _, err := parseFlags([]string{flag, value}, io.Discard); err != nil {
				t.Error(err)
			}
		}
	}
	refuses := func(t *testing.T, flag string, values ...string) {
		t.Helper()
		for _, value := range values {
			if _, _, err := parseFlags([]string{flag, value}, io.Discard); err == nil {
				t.Errorf("%s %q is taken", flag, value)
			}
		}
	}
	t.Run("a minute is from 1s to 1m", func(t *testing.T) {
		takes(t, "-minute", "1s", "1500ms", "60s", "1m")
		refuses(t, "-minute", "999ms", "60.1s", "0", "-5s", "60", "")
	})
	t.Run("a delay is from 0 to 8s", func(t *testing.T) {
		takes(t, "-delay", "0", "1ns", "8s")
		refuses(t, "-delay", "-1ns", "8.001s", "5", "")
	})
	t.Run("M and N are from 1 to 1000000, without sign and space", func(t *testing.T) {
		takes(t, "-fail", "1/1", "2/3", "10/20", "1000000/1000000")
		refuses(t, "-fail", "0/1", "0/0", "2/1", "1/0", "1/1000001", "1/99999999999999999999")
		refuses(t, "-drop", "+1/2", "-1/2", "01/2", "1/02", " 1/2", "1/2 ", "1 / 2", "1.0/2")
		refuses(t, "-drop", "0x1/2", "1", "1/", "/2", "1/2/3", "a/b")
	})
	t.Run("an origin is a scheme and a host", func(t *testing.T) {
		takes(t, "-cors-origin", "https://shop_1.my-example.com", "http://127.0.0.1",
			"http://[2001:db8::a]", "app-1.0+x://abc")
		refuses(t, "-cors-origin", "x", "//x", "://x", "https:x", "https://", "null", "*", "")
		refuses(t, "-cors-origin", "https://*.x", "https://x y", " https://x", "https://x\n")
		refuses(t, "-cors-origin", "https://x/", "https://x/y", "https://x?", "https://x?y",
			"https://x#", "https://u@x")
	})
	t.Run("an origin may have a port, but not the default one", func(t *testing.T) {
		takes(t, "-cors-origin", "http://localhost:5173", "http://[::1]:3000", "http://x:443",
			"https://x:80")
		refuses(t, "-cors-origin", "http://x:80", "https://x:443", "https://x:", "https://x:http",
			"http://x:080", "https://:8443", "http://a:99999999")
	})
	t.Run("an origin is in small letters", func(t *testing.T) {
		refuses(t, "-cors-origin", "HTTPS://example.com", "https://Example.com")
		refuses(t, "-cors-origin")
	})
}

// What a file may have wrong is in TestBrokenFile, TestRefusedPath and TestKeysFile.
func TestFaultsAtTheStart(t *testing.T) {
	t.Chdir(t.TempDir())
	// expect expects that the program prints one line, with the text in it, leaves no data file
	// behind, and ends.
	expect := func(t *testing.T, code int, text string, args ...string) {
		t.Helper()
		got, printed := runBriefly(append([]string{"-data", "new.json"}, args...)...)
		if got != code || !strings.HasPrefix(printed, "petstore: ") ||
			!strings.Contains(printed, text) || strings.Index(printed, "\n") != len(printed)-1 {
			t.Errorf("%q: exit code %d, want %d, and the line %q\nlacks %s", args, got, code,
				printed, text)
		}
		if _, err := os.Stat("new.json"); err == nil {
			t.Errorf("%q: there is a data file", args)
		}
	}
	t.Run("a wrong flag has exit code 2, before anything is opened", func(t *testing.T) {
		expect(t, 2, "flag provided but not defined: -zoo (petstore -h lists the flags)\n", "-zoo")
		expect(t, 2, `unexpected argument "extra"`, "extra")
		for _, addr := range []string{"", "nonsense", "localhost:", "localhost:x", "x:99999"} {
			expect(t, 2, "-addr must be HOST:PORT, such as localhost:8080; got ", "-addr", addr)
		}
		expect(t, 2, "-delay must be", "-keys", "none.json", "-delay", "9s")
		expect(t, 2, "-slow needs -delay", "-slow", "1/2")
		expect(t, 2, "-only needs -fail, -drop or -delay", "-only", "PUT")
		expect(t, 2, "-only must be methods", "-fail", "1/1", "-only", "TRACE")
	})
	t.Run("an empty -keys does not mean the demo keys", func(t *testing.T) {
		expect(t, 2, "-keys: it must name a file", "-keys", "")
	})
	t.Run("an address that cannot be used has exit code 1", func(t *testing.T) {
		taken, err := net.Listen("tcp", "localhost:0")
		must(t, err)
		defer taken.Close()
		expect(t, 1, "; choose another address, such as -addr localhost:0", "-addr",
			taken.Addr().String())
		expect(t, 1, "no!host: no such host", "-addr", "no!host:0")
	})
	t.Run("the demo keys are for loopback addresses", func(t *testing.T) {
		for _, addr := range []string{":0", "0.0.0.0:0", "[::]:0", "192.0.2.1:0"} {
			expect(t, 1, "-addr "+addr+" is not a loopback address, and the demo keys are public; "+
				"pass -keys FILE", "-addr", addr)
		}
	})
	t.Run("a file that cannot be used has exit code 1, and no key is printed", func(t *testing.T) {
		writeFile(t, "gold.json", `[{"key":"secret","plan":"gold"}]`)
		writeFile(t, "wrong.json", `{"categories":[{"id":1}]}`)
		expect(t, 1, "open none.json: ", "-keys", "none.json")
		expect(t, 1, "petstore: gold.json: keys, record 1: plan must be free, pro, business or "+
			"enterprise.\n", "-keys", "gold.json")
		expect(t, 1, "wrong.json: categories, record 1: name is", "-data", "wrong.json")
	})
}

// The server prints a URL where it answers.
func TestAddresses(t *testing.T) {
	keys := keysFile(t, 9, 9)
	for _, test := range []struct{ rule, addr, keys, url, exampleKey string }{
		{"localhost is printed", "localhost:0", "", "http://localhost:", "demo-free"},
		{"an address is printed", "127.0.0.1:0", "", "http://127.0.0.1:", "demo-free"},
		{"an IPv6 address has brackets", "[::1]:0", "", "http://[::1]:", "demo-free"},
		{"no host is printed as localhost", ":0", keys, "http://localhost:", "KEY"},
		{"0.0.0.0 is printed as localhost", "0.0.0.0:0", keys, "http://localhost:", "KEY"},
		{"all of IPv6 is printed as localhost", "[::]:0", keys, "http://localhost:", "KEY"},
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
			p := startProcess(t, args...)
			if !strings.HasPrefix(p.url, test.url) {
				t.Errorf("the URL is %s, want %s and a port", p.url, test.url)
			}
			status, _ := p.do(t, "GET /pets", "")
			equal(t, "status", 200, status)
			equal(t, "output", fmt.Sprintf("Reference:    %s/\nTry:          curl -i -H "+
				"\"Authorization: Bearer %s\" %[1]s/pets\n", p.url, test.exampleKey), p.kill())
		})
	}
	t.Run("a name is printed as its address with the demo keys", func(t *testing.T) {
		bound := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8080}
		equal(t, "URL", "http://127.0.0.1:8080", urlOf(bound, "pets.test:0", true))
		equal(t, "URL with other keys", "http://pets.test:8080", urlOf(bound, "pets.test:0", false))
	})
	t.Run("the log stands below it, that of the start too", func(t *testing.T) {
		path := writeFile(t, freshPath(t), "{}")
		must(t, os.Chmod(path, 0o444))
		p := startProcess(t, "-v", "-data", path)
		p.do(t, "GET /pets", "")
		_, logged, _ := strings.Cut(p.kill(), "/pets\n")
		contains(t, "the log", logged, path+" is read-only, so every write will fail\n")
		contains(t, "the log", logged, ` GET "/pets" 200 `)
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
	s := newService(t, Options{})
	handler := httpServer(s.Server).Handler
	expect := func(t *testing.T, status int, hosts ...string) {
		t.Helper()
		for _, host := range hosts {
			for _, target := range []string{"/pets", "/", "/healthz", "/openapi.json"} {
				if got := send(handler, target, host).Code; got != status {
					t.Errorf("%s of %s: status %d, want %d", target, host, got, status)
				}
			}
		}
	}
	t.Run("localhost and names under it are served", func(t *testing.T) {
		expect(t, 200, "localhost", "localhost:8080", "LOCALHOST:1")
		expect(t, 200, "app.localhost", "a.b.Localhost:8080")
	})
	t.Run("an address is served", func(t *testing.T) {
		expect(t, 200, "127.0.0.1", "127.0.0.1:8080", "192.0.2.1", "[::1]", "[2001:db8::1]:80")
	})
	t.Run("another name, or none, is not", func(t *testing.T) {
		expect(t, 421, "", "evil.example", "evil.example:80", "localhost.evil.example", "localhos")
		expect(t, 421, "127.0.0.1.example", "calhost", "evillocalhost", "evil.example:localhost")
	})
	t.Run("a 421 comes before the API, and is logged", func(t *testing.T) {
		s := newService(t, Options{Verbose: true})
		w := send(httpServer(s.Server).Handler, "//x", "evil.example")
		equal(t, "status", 421, w.Code)
		equal(t, "body", "wrong_host: With the demo keys, this server serves only localhost and "+
			"IP addresses; use http://localhost, or start it with -keys.", errorIn(w.Body.Bytes()))
		equal(t, "header", http.Header{"Cache-Control": {"no-store"},
			"Content-Type": {"application/json"}}, w.Header())
		contains(t, "the log", s.log.String(), `GET "//x" 421 wrong_host `)
		equal(t, "requests left", 299, ratesOf(s.do("GET /pets", "", "X-API-Key: demo-pro")).left)
	})
	t.Run("other keys have no such rule, and nor has a Server in a test", func(t *testing.T) {
		other := httpServer(newService(t, Options{Keys: keysFile(t, 1, 1)}).Server).Handler
		equal(t, "with other keys", 401, send(other, "/pets", "evil.example").Code)
		equal(t, "in a test", 200, send(s, "/pets", "evil.example").Code)
	})
}

func TestGarbageCollector(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	t.Run("lets the heap grow to five times what is in use", func(t *testing.T) {
		t.Setenv("GOGC", "")
		runBriefly()
		equal(t, "percent", 400, debug.SetGCPercent(100))
	})
	t.Run("is left as GOGC has it", func(t *testing.T) {
		t.Setenv("GOGC", "50") // too late for the runtime, which has read it
		runBriefly()
		equal(t, "percent", 100, debug.SetGCPercent(100))
	})
}

// beginPost sends the header of a request, and returns when the handler waits for its body,
// aCategory.
func beginPost(t *testing.T, p *process) (client net.Conn, responses *bufio.Reader) {
	t.Helper()
	client, err := net.Dial("tcp", strings.TrimPrefix(p.url, "http://"))
	must(t, err)
	t.Cleanup(func() { client.Close() })
	fmt.Fprintf(client, "POST /categories"+withKey+"Expect: 100-continue\r\nContent-Length: %d"+
		"\r\n\r\n", len(aCategory))
	responses = bufio.NewReader(client)
	line, _ := responses.ReadString('\n')
	equal(t, "first line", "HTTP/1.1 100 Continue\r\n", line)
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
	for _, signal := range []os.Signal{syscall.SIGINT, syscall.SIGTERM} {
		t.Run(signal.String()+" finishes what is in flight, and exits with 0", func(t *testing.T) {
			path := freshPath(t)
			p := startProcess(t, "-data", path)
			client, responses := beginPost(t, p)
			p.signalUntilDeaf(signal)
			io.WriteString(client, aCategory)
			line, _ := responses.ReadString('\n')
			equal(t, "response", "HTTP/1.1 201 Created\r\n", line)
			code, _ := p.wait()
			equal(t, "exit code", 0, code)
			contains(t, "the file", contentOf(t, path), "Birds")
			equal(t, "files", []string{"petstore.json"}, namesIn(t, filepath.Dir(path)))
		})
	}
	t.Run("a second one ends it at once", func(t *testing.T) {
		p := startProcess(t, "-data=")
		beginPost(t, p)
		p.signalUntilDeaf(syscall.SIGTERM)
		go func() { // the first ones may come before it stops catching them
			for p.Process.Signal(syscall.SIGTERM) == nil {
				time.Sleep(10 * time.Millisecond)
			}
		}()
		code, _ := p.wait()
		equal(t, "exit code, -1 for a signal", -1, code)
	})
	t.Run("a log that nobody reads ends nothing", func(t *testing.T) {
		p := startProcess(t, "-data=", "-v")
		p.pipe.Close()
		for range 3 {
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
	for _, test := range []struct {
		rule, sent    string
		reads         bool
		delay, cutOff time.Duration
	}{
		{"5 s for the first byte", "", true, 0, 5 * time.Second},
		{"5 s for a header", getPets, true, 0, 5 * time.Second},
		{"5 s for a body", longPost, true, 0, 5 * time.Second},
		{"10 s to read a response", getPets + "\r\n", false, 0, 10 * time.Second},
		{"10 s and the delay", getPets + "\r\n", false, 8 * time.Second, 18 * time.Second},
		{"60 s without a request", getPets + "\r\n", true, 0, time.Minute},
	} {
		t.Run(test.rule, func(t *testing.T) {
			withConnection(t, test.delay, func(t *testing.T, c connection) {
				begin := time.Now()
				if test.reads {
					go io.Copy(io.Discard, c.client)
				}
				go io.WriteString(c.client, test.sent)
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
			io.WriteString(c.client, "DELETE /pets/5"+withKey+"\r\n")
			<-c.closed // since nobody reads the response
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
	expect := func(t *testing.T, delay time.Duration, request string, status int) {
		t.Helper()
		withConnection(t, delay, func(t *testing.T, c connection) {
			begin := time.Now()
			go io.WriteString(c.client, request+"\r\n")
			resp, err := http.ReadResponse(bufio.NewReader(c.client), nil)
			must(t, err)
			if took := time.Since(begin); resp.StatusCode != status || took != delay {
				t.Errorf("%s\nstatus %d after %v, want %d", request, resp.StatusCode, took, status)
			}
		})
	}
	t.Run("a body that is needed is asked for", func(t *testing.T) {
		expect(t, 0, "POST /pets"+waits, 100)
	})
	t.Run("an operation without a body", func(t *testing.T) {
		expect(t, 0, "GET /pets"+waits, 200)
		expect(t, 8*time.Second, "GET /pets"+waits, 200)
	})
	t.Run("a fault before the body", func(t *testing.T) {
		expect(t, 0, "PUT /pets/x"+waits, 400)
		expect(t, 0, "POST /pets"+waits+"Authorization: Bearer wrong\r\n", 401)
		expect(t, 0, "PATCH /pets"+waits, 405)
		expect(t, 0, "POST /pets"+waits+"Content-Type: text/plain\r\n", 415)
	})
	t.Run("a body over the limit", func(t *testing.T) {
		expect(t, 0, "PATCH /inventory/1"+slow+"Expect: 100-continue\r\n", 413)
		expect(t, 0, "POST /pets"+slow, 413)
	})
}

func TestShutdown(t *testing.T) {
	// expect expects that a shutdown takes so long while there is a response that is held back for
	// 8 seconds, and that nobody has to read before 18 seconds have passed.
	expect := func(t *testing.T, takes time.Duration, log string, client func(net.Conn)) {
		withConnection(t, 8*time.Second, func(t *testing.T, c connection) {
			io.WriteString(c.client, getPets+"Content-Length: 2\r\n\r\n{}")
			synctest.Wait()
			client(c.client)
			begin := time.Now()
			shutDown(c.server, c.options.Logger)
			<-c.closed
			equal(t, "closed after", takes, time.Since(begin).Truncate(time.Second))
			equal(t, "log", log, c.log.String())
		})
	}
	t.Run("finishes the requests in flight", func(t *testing.T) {
		expect(t, 8*time.Second, "", func(c net.Conn) { go io.Copy(io.Discard, c) })
	})
	t.Run("cuts off after 10 s what is not finished", func(t *testing.T) {
		expect(t, 10*time.Second, "stopping with requests in flight\n", func(net.Conn) {})
	})
	t.Run("does not wait for a client that has gone, whatever it sent", func(t *testing.T) {
		expect(t, 0, "", func(c net.Conn) { c.Close() })
	})
	t.Run("nor does the Close of a server for a test", func(t *testing.T) {
		s := newService(t, Options{Delay: 8 * time.Second})
		ctx, cancel := context.WithCancel(t.Context())
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			cancel()
			s.ServeHTTP(w, r)
		}))
		r, _ := http.NewRequestWithContext(ctx, "GET", server.URL+"/pets", nil)
		r.Header.Set("X-API-Key", "demo-pro")
		http.DefaultClient.Do(r)
		begin := time.Now()
		server.Close()
		if took := time.Since(begin); took > 4*time.Second {
			t.Errorf("Close took %v", took)
		}
	})
}
