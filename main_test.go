package main

import (
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
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// TestMain makes the binary of the tests the program itself where a test starts it so.
func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	m.Run()
}

const asProgram = "RUN_PETSTORE_NOT_ITS_TESTS"

// A process is the program, serving.
type process struct {
	*exec.Cmd
	t      testing.TB
	url    string
	stderr io.ReadCloser // after the first line
}

// startProcess runs the program on a free port, and waits until it serves.
func startProcess(t testing.TB, args ...string) *process {
	t.Helper()
	return startUnder(t, nil, args...)
}

// startUnder runs the program by a command that takes it and its arguments as its own last ones. It
// is killed after a minute, so that no test waits for it for ever.
func startUnder(t testing.TB, command []string, args ...string) *process {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	binary, err := os.Executable()
	must(t, err)
	words := slices.Concat(command, []string{binary, "-addr", "localhost:0"}, args)
	p := &process{Cmd: exec.CommandContext(ctx, words[0], words[1:]...), t: t}
	t.Cleanup(func() { cancel(); p.wait() })
	p.Env = append(os.Environ(), asProgram+"=1")
	stderr, err := p.StderrPipe()
	must(t, err)
	p.stderr = stderr
	must(t, p.Start())
	if _, err := fmt.Fscanf(stderr, "Petstore API: %s\n", &p.url); err != nil {
		t.Fatalf("the program printed no URL (%v), but %q", err, p.kill())
	}
	return p
}

// wait returns what the program printed after its first line, once it has ended.
func (p *process) wait() (printed string) {
	rest, _ := io.ReadAll(p.stderr)
	p.Wait()
	return string(rest)
}

func (p *process) kill() (printed string) {
	p.Process.Kill()
	return p.wait()
}

// status sends a request, such as "GET /pets", with testKey, and returns the status of the
// response, or 0 if there is none.
func (p *process) status(request, body string) (status int) {
	method, path, _ := strings.Cut(request, " ")
	r, err := http.NewRequest(method, p.url+path, strings.NewReader(body))
	must(p.t, err)
	r.Header.Set("X-API-Key", testKey)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		p.t.Log(err)
		return 0
	}
	io.Copy(io.Discard, resp.Body) // so that the connection is used again
	resp.Body.Close()
	return resp.StatusCode
}

// runBriefly runs the program in this process, with a context that is over, so that it stops as
// soon as it serves. It returns what the program printed.
func runBriefly(args ...string) (code int, printed string) {
	stopped, stop := context.WithCancel(context.Background())
	stop()
	var stderr bytes.Buffer
	code = run(stopped, append([]string{"-addr", "localhost:0", "-data="}, args...), &stderr)
	return code, stderr.String()
}

func TestFlags(t *testing.T) {
	addr, got, err := parseFlags([]string{"-addr", "[::1]:80", "-data", "d.json", "-sample",
		"s.json", "-keys", "k.json", "-minute", "10s", "-cors-origin", "https://a", "-delay",
		"2s", "-slow", "1/2", "-fail", "1/3", "-drop", "2-3/4", "-only", "PUT,GET /pets", "-v",
		"-cors-origin", "https://b", "-cors-origin", "https://c"}, io.Discard)
	must(t, err)
	equal(t, "address", addr, "[::1]:80")
	equal(t, "options", got, Options{Data: "d.json", Sample: "s.json", Keys: "k.json",
		Minute: 10 * time.Second, CORSOrigins: []string{"https://a", "https://b", "https://c"},
		Delay: 2 * time.Second, Slow: "1/2", Fail: "1/3", Drop: "2-3/4", Only: "PUT,GET /pets",
		Verbose: true})
	addr, got, err = parseFlags(nil, io.Discard)
	must(t, err)
	equal(t, "default address", addr, "localhost:8080")
	equal(t, "defaults", got, Options{Data: "petstore.json", Minute: time.Minute})
}

func TestFlagValues(t *testing.T) {
	for _, test := range []struct {
		rule, flag     string
		taken, refused []string
	}{
		{"an address is HOST:PORT", "-addr", []string{"localhost:0", "[::1]:65535", ":80"},
			[]string{"localhost", "localhost:", "localhost:x", "x:65536", ""}},
		{"a minute is from 1s to 1m", "-minute", []string{"1s", "1500ms", "60s"},
			[]string{"999ms", "60.1s", "0", "60", ""}},
		{"a delay is from 0 to 8s", "-delay", []string{"0", "8s"}, []string{"-1ns", "8.001s", "5"}},
		{"M and N are from 1 to 1000000, without sign and space", "-fail",
			[]string{"1/1", "2/3", "1000000/1000000"}, []string{"0/1", "2/1", "1/1000001", "+1/2",
				"1/02", " 1/2", "1/2 ", "1.0/2", "1", "1/", "/2", "1/2/3"}},
		{"in place of M, there may be a range in N", "-drop",
			[]string{"1-1/1", "2-2/1000000", "2-3/5", "6-9/9"}, []string{"0-1/2", "3-2/5", "2-6/5",
				"-1/2", "1-/2", "-/2", "1-2", "1--2/3", "1-2-3/4", "1 - 2/3", "01-2/3"}},
		{"an origin is a scheme and a host in small letters", "-cors-origin",
			[]string{"https://shop_1.my-example.com", "http://[2001:db8::a]", "app-1.0+x://abc"},
			[]string{"x", "//x", "://x", "https:x", "https://", "null", "*", "", "https://*.x",
				"https://x y", " https://x", "https://x\n", "https://x/", "https://x?",
				"https://x#", "https://u@x", "HTTPS://x", "https://X", "https://bücher.example"}},
		{"an origin may have a port, but not the default one", "-cors-origin",
			[]string{"http://localhost:5173", "http://[::1]:3000", "http://x:443", "https://x:80",
				"http://x:1", "http://x:65535", "http://x:8080", "https://x:4430"},
			[]string{"http://x:80", "https://x:443", "https://x:", "https://x:http", "http://x:080",
				"https://:8443", "http://x:0", "http://x:100000"}},
	} {
		t.Run(test.rule, func(t *testing.T) {
			for i, value := range slices.Concat(test.taken, test.refused) {
				_, _, err := parseFlags([]string{test.flag, value}, io.Discard)
				equal(t, test.flag+" takes "+value, err == nil, i < len(test.taken))
			}
		})
	}
}

// What a file may have wrong is in TestBrokenFile, TestRefusedPath and TestKeysFile.
func TestFaultsAtTheStart(t *testing.T) {
	t.Chdir(t.TempDir())
	// expectFault expects that the program prints one line, leaves no file behind, and ends.
	expectFault := func(t *testing.T, code int, text string, args ...string) {
		t.Helper()
		got, printed := runBriefly(append([]string{"-data", "new.json"}, args...)...)
		equal(t, "exit code", got, code)
		contains(t, "the output", printed, text)
		equal(t, "lines of output", strings.Count(printed, "\n"), 1)
		equal(t, "files", namesIn(t, "."), []string(nil))
	}
	t.Run("a wrong flag has exit code 2, before anything is opened", func(t *testing.T) {
		expectFault(t, 2, "flag provided but not defined: -zoo (petstore -h lists the flags)\n",
			"-zoo")
		expectFault(t, 2, `unexpected argument "extra"`, "extra")
		expectFault(t, 2, "-addr must be HOST:PORT, such as localhost:8080; got ", "-addr", "none")
		expectFault(t, 2, "-delay must be", "-keys", "none.json", "-delay", "9s")
		expectFault(t, 2, "-keys: it must name a file", "-keys", "") // and not mean the demo keys
	})
	t.Run("an address that cannot be used has exit code 1", func(t *testing.T) {
		taken, err := net.Listen("tcp", "127.0.0.1:0")
		must(t, err)
		defer taken.Close()
		_, port, _ := net.SplitHostPort(taken.Addr().String())
		for _, host := range []string{"127.0.0.1", "localhost"} {
			expectFault(t, 1, "; choose another address, such as -addr localhost:0\n", "-addr",
				host+":"+port)
		}
		expectFault(t, 1, "no!host: no such host", "-addr", "no!host:0")
		expectFault(t, 1, "-addr :0 is not a loopback address, and the demo keys are public; "+
			"pass -keys FILE too\n", "-addr", ":0")
	})
	t.Run("a file that cannot be used has exit code 1, and no key is printed", func(t *testing.T) {
		gold := writeFile(t, freshPath(t), `[{"key":"secret","plan":"gold"}]`)
		expectFault(t, 1, "petstore: open none.json: ", "-keys", "none.json")
		expectFault(t, 1, "petstore: "+gold+": keys, record 1: plan must be free, pro, business "+
			"or enterprise.\n", "-keys", gold)
	})
}

func TestLocalhost(t *testing.T) {
	taken, err := net.Listen("tcp", "[::1]:0") // by another program
	if err != nil {
		t.Skip("there is no IPv6 here: ", err)
	}
	defer taken.Close()
	_, port, _ := net.SplitHostPort(taken.Addr().String())
	code, _ := runBriefly("-addr", "localhost:"+port)
	equal(t, "exit code", code, 1)
	still, err := net.Listen("tcp", "127.0.0.1:"+port) // free
	must(t, err)
	still.Close()
	for addr, flag := range map[string]string{"localhost:0": "-keys=" + keysFile(t, 9, 9),
		"LOCALHOST:0": "-v"} { // which no resolver needs to know
		p := startProcess(t, "-addr", addr, "-data=", flag)
		_, port, _ := net.SplitHostPort(strings.TrimPrefix(p.url, "http://"))
		for _, host := range []string{"127.0.0.1", "::1"} {
			p.url = "http://" + net.JoinHostPort(host, port)
			equal(t, "status at "+p.url, p.status("GET /pets", ""), 200)
		}
	}
}

func TestOutput(t *testing.T) {
	t.Run("begins with URLs and what to try, and the log follows", func(t *testing.T) {
		path := writeFile(t, freshPath(t), "{}")
		must(t, os.Chmod(path, 0o444))
		t.Chdir(filepath.Dir(path))
		p := startProcess(t, "-v", "-data", "petstore.json")
		p.status("GET /pets", "")
		printed := p.kill()
		contains(t, "the output", printed, "Reference:    "+p.url+"/\nTry:          curl -i -H "+
			`"Authorization: Bearer demo-free" `+p.url+"/pets\nRecords:      petstore.json\n")
		contains(t, "the output", printed, path+" is read-only, so every write will fail\n")
		contains(t, "the output", printed, ` GET "/pets" 200 `)
	})
	t.Run("of -h is a list of the flags", func(t *testing.T) {
		code, printed := runBriefly("-h")
		equal(t, "exit code", code, 0)
		contains(t, "the output", printed, "  -fail M/N\n")
	})
	t.Run("has no demo key with other keys", func(t *testing.T) {
		_, printed := runBriefly("-addr", ":0", "-keys", keysFile(t, 9, 9))
		contains(t, "the output", printed, `"Authorization: Bearer KEY" http://localhost:`)
		contains(t, "the output", printed, "/pets\nRecords:      in memory\n")
		_, printed = runBriefly("-addr", ":0", "-keys", keysFile(t, 9, 9), "-sample", "x", "-data",
			writeFile(t, freshPath(t), "{}"))
		contains(t, "the log", printed, "-sample x is not used")
	})
	t.Run("has a URL where the server answers", func(t *testing.T) {
		one := &net.TCPAddr{IP: net.IPv6loopback, Port: 80}
		all := &net.TCPAddr{IP: net.IPv6unspecified, Port: 80}
		equal(t, "for localhost", urlOf(one, "localhost:0", true), "http://localhost:80")
		equal(t, "for an address", urlOf(one, "[::1]:0", true), "http://[::1]:80")
		equal(t, "for all addresses", urlOf(all, "0.0.0.0:0", false), "http://localhost:80")
		equal(t, "for a name", urlOf(one, "pets.test:0", false), "http://pets.test:80")
		equal(t, "for one with the demo keys", urlOf(one, "pets.test:0", true), "http://[::1]:80")
	})
}

func TestGarbageCollection(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	for gogc, want := range map[string]int{"": 400, "100": 100} {
		t.Setenv("GOGC", gogc)
		runBriefly()
		equal(t, "percent", debug.SetGCPercent(100), want)
	}
}

// While the demo keys are in use, a program elsewhere gets nothing, nor does a web page whose name
// is made to lead here.
func TestHostsOfTheDemoKeys(t *testing.T) {
	hosts := map[string][]string{
		"this computer": {"localhost", "app.localhost", "127.0.0.1", "127.9.9.9", "[::1]",
			"[::ffff:127.0.0.1]"},
		"another address": {"0.0.0.0", "[::]", "10.0.0.1", "100.64.0.1", "172.16.0.1", "192.0.2.1",
			"192.168.0.1", "169.254.0.1", "[fe80::1]", "[fe80::1%25lo]", "[fd00::1]",
			"[2001:db8::1]", "[::ffff:10.0.0.1]"},
		"another name": {"evil.example", "localhost.evil.example", "evillocalhost", "localhos",
			"127.0.0.1.example", "printer", "printer.local"},
	}
	for kind, hosts := range hosts {
		t.Run(kind, func(t *testing.T) {
			s := newService(t, Options{})
			s.handler = httpServer(s.Server).Handler
			for _, host := range hosts {
				resp := s.send("GET /healthz", "", "Host", host+":80", "Origin", "app://"+host+":5")
				equal(t, host+" is served", resp.StatusCode == 200, kind != "another name")
				origin := resp.Header.Get("Access-Control-Allow-Origin")
				equal(t, "pages of "+host+" may read", origin != "", kind == "this computer")
				if kind == "another address" {
					_, err := listen(host+":0", true)
					contains(t, host, fmt.Sprint(err), " is not a loopback address")
				}
			}
		})
	}
	t.Run("may have any spelling, and be missing", func(t *testing.T) {
		s := newService(t, Options{})
		s.handler = httpServer(s.Server).Handler
		for host, status := range map[string]int{"LOCALHOST:1": 200, "a.Localhost": 200, "": 200,
			"[::1]": 200, "evil.example:localhost": 421} {
			resp := s.send("GET /healthz", "", "Host", host, "X-Forwarded-Host", "localhost")
			equal(t, host, resp.StatusCode, status)
		}
	})
	t.Run("hold for each method and path, before the API, and are logged", func(t *testing.T) {
		s := newService(t, Options{Verbose: true})
		s.handler = httpServer(s.Server).Handler
		for _, request := range []string{"OPTIONS /pets", "POST /pets", "HEAD /pets", "GET //x",
			"GET /", "GET /docs/keys.json", "GET /openapi.json"} {
			resp := s.send(request, "", "Host", "evil.example", "Origin", "http://localhost",
				"Access-Control-Request-Method", "PUT")
			equal(t, request, resp.StatusCode, 421)
			equal(t, request+": error", resp.err(),
				Error{"wrong_host", "With the demo keys, this server serves only localhost and " +
					"IP addresses; use http://localhost, or start it with -keys.", 421})
		}
		equal(t, "header", s.send("GET //x", "", "Host", "evil.example").Header,
			http.Header{"Cache-Control": {"no-store"}, "Content-Type": {"application/json"}})
		contains(t, "the log", s.logged.String(), `GET "//x" 421 wrong_host `)
		equal(t, "requests left", ratesOf(s.send("GET /pets", "", "Host", "localhost")).left, 4999)
	})
	t.Run("other keys have no such rule", func(t *testing.T) {
		s := newService(t, Options{Keys: keysFile(t, 1, 1)})
		s.handler = httpServer(s.Server).Handler
		equal(t, "status", s.send("GET /pets", "", "Host", "evil.example").StatusCode, 200)
	})
}

// dial sends the begin of a request on a connection, and returns how the response begins.
func (p *process) dial(t *testing.T, request string) (client net.Conn, response string) {
	t.Helper()
	client, err := net.Dial("tcp", strings.TrimPrefix(p.url, "http://"))
	must(t, err)
	t.Cleanup(func() { client.Close() })
	io.WriteString(client, request)
	begin := make([]byte, len("HTTP/1.1 100"))
	io.ReadFull(client, begin)
	return client, string(begin)
}

const (
	withKey = " HTTP/1.1\r\nHost: localhost\r\nX-API-Key: " + testKey + "\r\n"
	// A client that sends this waits for a go-ahead before it sends its body.
	expecting = "Expect: 100-continue\r\nContent-Length: "
)

// A request gets its response without the body that its client still holds back.
func TestResponseBeforeTheBody(t *testing.T) {
	p := startProcess(t, "-data=")
	for rule, test := range map[string]struct{ request, want string }{
		"no body is needed": {"GET /pets" + withKey + expecting + "9", "200"},
		"too large":         {"POST /pets" + withKey + expecting + "65537", "413"},
		"of another type": {
			"POST /pets" + withKey + "Content-Type: text/plain\r\n" + expecting + "9", "415"},
		"for another host": {
			"POST /pets HTTP/1.1\r\nHost: evil.example\r\n" + expecting + "9", "421"},
	} {
		_, response := p.dial(t, test.request+"\r\n\r\n")
		equal(t, rule, response, "HTTP/1.1 "+test.want)
	}
}

// beginPost returns when the handler waits for the body of a request, aCategory.
func (p *process) beginPost(t *testing.T) net.Conn {
	t.Helper()
	length := fmt.Sprint(len(aCategory))
	client, response := p.dial(t, "POST /categories"+withKey+expecting+length+"\r\n\r\n")
	equal(t, "response", response, "HTTP/1.1 100")
	return client
}

// signalUntilClosed sends a signal, and returns when the program accepts no more connections.
func (p *process) signalUntilClosed(signal os.Signal) {
	p.Process.Signal(signal)
	for p.status("GET /healthz", "") != 0 {
		time.Sleep(time.Millisecond)
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
			client := p.beginPost(t)
			p.signalUntilClosed(signal)
			io.WriteString(client, aCategory)
			response, _ := io.ReadAll(client)
			contains(t, "the response", string(response), "HTTP/1.1 201 Created\r\n")
			p.wait()
			equal(t, "exit code", p.ProcessState.ExitCode(), 0)
			contains(t, "the file", contentOf(t, path), "Birds")
		})
	}
	t.Run("a second one ends it at once", func(t *testing.T) {
		p := startProcess(t, "-data=")
		p.beginPost(t)
		p.signalUntilClosed(syscall.SIGTERM)
		go func() { // the first ones may come before it stops catching them
			for p.Process.Signal(syscall.SIGTERM) == nil {
				time.Sleep(10 * time.Millisecond)
			}
		}()
		p.wait()
		equal(t, "exit code, -1 for a signal", p.ProcessState.ExitCode(), -1)
	})
	t.Run("a log that nobody reads ends nothing", func(t *testing.T) {
		p := startProcess(t, "-data=", "-v")
		p.stderr.Close()
		for range 3 {
			equal(t, "status", p.status("GET /pets", ""), 200)
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

func TestTimeouts(t *testing.T) {
	s := newService(t, Options{Delay: 8 * time.Second})
	server := httpServer(s.Server)
	equal(t, "for a request", server.ReadTimeout, 5*time.Second)
	equal(t, "for a response, with the delay", server.WriteTimeout, 18*time.Second)
	equal(t, "between two requests", server.IdleTimeout, time.Minute)
	equal(t, "its log is an option", server.ErrorLog == s.options.Logger, true)
}

func TestShutdown(t *testing.T) {
	inFakeTime(t, "cuts off after 10 s what is not finished", func(t *testing.T) {
		s := newService(t, Options{Delay: 8 * time.Second})
		server, listener := httpServer(s.Server), make(pipeListener)
		go server.Serve(listener)
		client, accepted := net.Pipe()
		listener <- accepted
		io.WriteString(client, "GET /pets"+withKey+"\r\n") // and nobody reads the response
		synctest.Wait()
		begin := time.Now()
		shutDown(server, s.options.Logger)
		equal(t, "took", time.Since(begin), 10*time.Second)
		equal(t, "log", s.logged.String(), "stopping with requests in flight\n")
		response, _ := io.ReadAll(client)
		equal(t, "response", string(response), "")
		time.Sleep(time.Second) // until all goroutines have noticed
	})
}
