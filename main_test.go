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
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// runHere calls run in this process, and waits until it serves. stop makes it end, and returns the
// exit code and all that it printed.
func runHere(t *testing.T, args ...string) (url string, stop func() (code int, printed string)) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	reader, stderr := io.Pipe()
	code := make(chan int, 1)
	go func() {
		code <- run(ctx, args, stderr)
		stderr.Close()
	}()
	lines := bufio.NewReader(reader)
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
		cancel()
		return <-code, first + <-rest
	}
}

// visit sends a GET from a web page with a key on a connection of its own, and returns the response
// and its body. A response that is lost has the status 0.
func visit(url, key string) (*http.Response, string) {
	r, _ := http.NewRequest("GET", url, nil)
	r.Close = true // on a connection that was used before, net/http would send it a second time
	r.Header.Set("Authorization", "Bearer "+key)
	r.Header.Set("Origin", "https://shop.example")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return &http.Response{}, ""
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	return resp, string(body)
}

func TestHelp(t *testing.T) {
	var help bytes.Buffer
	code := run(t.Context(), []string{"-h"}, &help)
	t.Run("exits with 0", func(t *testing.T) { equal(t, "exit code", 0, code) })
	t.Run("lists the flags of the manual and the usual address", func(t *testing.T) {
		manual := regexp.MustCompile(`(?m)^//\t(-.*)$`).FindAllStringSubmatch(
			contentOf(t, "main.go"), -1)
		for _, flag := range manual {
			if !strings.Contains(help.String(), "\n  "+flag[1]) {
				t.Errorf("it does not list %s", flag[1])
			}
		}
		equal(t, "number of flags", len(manual), strings.Count(help.String(), "\n  -"))
		equal(t, "address", true, strings.Contains(help.String(), `(default "localhost:8080")`))
	})
}

func TestFlagValues(t *testing.T) {
	for _, test := range []struct{ rule, flag, valid, invalid string }{ // separated by commas
		{"minute is from 1s to 1m", "-minute", "1s,1500ms,60s,1m", "999ms,60.1s,0,-5s,60,"},
		{"delay is from 0 to 8s", "-delay", "0,1ns,8s", "-1ns,8.001s,5,"},
		{"a ratio is M of N from 1 to 1000000", "-fail", "1/1,2/3,1000000/1000000",
			"0/1,2/1,1/1000001,1/0,1,1/,/2,1/2/3,a/b,"},
		{"M and N have no sign and no space", "-fail", "10/20",
			"+1/2,-1/2,01/2,1/02, 1/2,1/2 ,1 / 2,1.0/2,0x1/2,1/99999999999999999999"},
		{"an origin is a scheme and a host", "-cors-origin",
			"https://shop_1.my-example.com,http://127.0.0.1,http://[2001:db8::a],app-1.0+x://abc",
			"x,//x,://x,https:x,https://,null,*,https://*.x,https://x y, https://x,https://x\n," +
				"https://u@x"},
		{"an origin may have a port", "-cors-origin", "http://localhost:5173,http://[::1]:3000",
			"https://x:,https://x:http,http://x:080,https://:8443"},
		{"an origin has no default port", "-cors-origin", "http://x:443,https://x:80,http://x:8080",
			"http://x:80,https://x:443"},
		{"an origin has no path", "-cors-origin", "https://x.y",
			"https://x/,https://x/y,https://x?,https://x?y,https://x#"},
		{"an origin is in small letters", "-cors-origin", "https://example.com",
			"HTTPS://example.com,https://Example.com,https://münchen.x"},
	} {
		t.Run(test.rule, func(t *testing.T) {
			for value := range strings.SplitSeq(test.valid, ",") {
				_, err := parseFlags([]string{test.flag + "=" + value}, io.Discard)
				equal(t, fmt.Sprintf("error for %q", value), nil, err)
			}
			for value := range strings.SplitSeq(test.invalid, ",") {
				if _, err := parseFlags([]string{test.flag, value}, io.Discard); err == nil {
					t.Errorf("there is no error for %q", value)
				}
			}
		})
	}
}

// A fault at the start is one line on stderr, and names what is wrong.
func TestFaultsAtTheStart(t *testing.T) {
	t.Chdir(t.TempDir())
	writeFile(t, "gold.json", `[{"key":"secret","plan":"gold"}]`)
	writeFile(t, "empty.json", "")
	writeFile(t, "torn.json", "{\n\"pets\":")
	writeFile(t, "wrong.json", `{"categories":[{"id":1}]}`)
	taken, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	port := taken.Addr().String()
	stopped, stop := context.WithCancel(t.Context()) // so that what does start ends at once
	stop()
	for _, test := range []struct {
		rule, args string
		code       int
		want       string
	}{
		{"unknown flag", "-nonsense", 2, "flag provided but not defined: -nonsense"},
		{"argument", "extra", 2, `unexpected argument "extra"`},
		{"wrong minute", "-minute 999ms", 2, "-minute must be from 1s to 1m, not 999ms"},
		{"wrong fail", "-fail 2", 2, `invalid value "2" for flag -fail: must be M/N, such as 1/2`},
		{"wrong origin", "-cors-origin x.example", 2, "-cors-origin must be a scheme and a host"},
		{"wrong address", "-addr nonsense", 1, "address nonsense: missing port"},
		{"wrong port", "-addr localhost:99999", 1, "address 99999: invalid port"},
		{"port in use", "-data new.json -addr " + port, 1,
			"; choose another address, such as -addr localhost:0"},
		{"demo keys for every address", "-addr :0", 1,
			"-addr :0 is not a loopback address, and the demo keys are public; pass -keys FILE"},
		{"demo keys for 0.0.0.0", "-addr 0.0.0.0:0", 1, "0.0.0.0:0 is not a loopback address"},
		{"demo keys for all of IPv6", "-addr [::]:0", 1, "[::]:0 is not a loopback address"},
		{"demo keys for another computer", "-addr 192.0.2.1:0", 1, "192.0.2.1:0 is not a loopback"},
		{"no keys file", "-keys none.json", 1, "open none.json: "},
		{"empty keys file", "-keys empty.json", 1, "empty.json: The JSON is empty."},
		{"wrong keys file", "-keys gold.json", 1, "gold.json: keys, record 1: plan must be"},
		{"directory as keys file", "-keys .", 1, ""},
		{"torn data file", "-data torn.json", 1, "torn.json: The JSON is malformed on line 2"},
		{"wrong data file", "-data wrong.json", 1, "wrong.json: categories, record 1: name is"},
		{"directory as data file", "-data .", 1, ". is not a regular file"},
		{"no directory of the data file", "-data none/new.json", 1, "none"},
	} {
		t.Run(test.rule, func(t *testing.T) {
			var stderr bytes.Buffer
			args := append([]string{"-addr", "localhost:0", "-data="}, strings.Fields(test.args)...)
			equal(t, "exit code", test.code, run(stopped, args, &stderr))
			got := stderr.String()
			end := map[int]string{1: "\n", 2: " (petstore -h lists the flags)\n"}[test.code]
			if !strings.HasPrefix(got, "petstore: ") || !strings.Contains(got, test.want) ||
				!strings.HasSuffix(got, end) || strings.Count(got, "\n") != 1 {
				t.Errorf("printed %q, want the line %s", got, test.want)
			}
			equal(t, "the key is printed", false, strings.Contains(got, "secret"))
		})
	}
	t.Run("none leaves a file behind", func(t *testing.T) {
		want := []string{"empty.json", "gold.json", "torn.json", "wrong.json"}
		equal(t, "files", want, namesIn(t, "."))
	})
}

// The server prints a URL where it answers, and where the keys count. Its description names it too.
func TestAddresses(t *testing.T) {
	keys := filepath.Join(t.TempDir(), "keys.json")
	writeFile(t, keys, testKeys)
	for _, test := range []struct{ rule, addr, keys, want string }{
		{"localhost is printed", "localhost:0", "", "http://localhost:"},
		{"a loopback address is printed", "127.0.0.1:0", "", "http://127.0.0.1:"},
		{"an IPv6 address is printed in brackets", "[::1]:0", "", "http://[::1]:"},
		{"no host is printed as localhost", ":0", keys, "http://localhost:"},
		{"0.0.0.0 is printed as localhost", "0.0.0.0:0", keys, "http://localhost:"},
		{"all of IPv6 is printed as localhost", "[::]:0", keys, "http://localhost:"},
	} {
		t.Run(test.rule, func(t *testing.T) {
			listener, err := net.Listen("tcp", test.addr)
			if err != nil {
				t.Skip("this computer has no such address: ", err)
			}
			listener.Close()
			key, inExample := "big", "KEY"
			if test.keys == "" {
				key, inExample = "demo-free", "demo-free"
			}
			url, stop := runHere(t, "-addr", test.addr, "-data=", "-keys", test.keys)
			port, ok := strings.CutPrefix(url, test.want)
			if n, err := strconv.Atoi(port); !ok || err != nil || n == 0 {
				t.Errorf("the URL is %s", url)
			}
			resp, _ := visit(url+"/pets", key)
			equal(t, "status", 200, resp.StatusCode)
			_, described := visit(url+"/openapi.json", "")
			if !strings.Contains(described, `"default": "`+url+`"`) {
				t.Errorf("the description does not name %s", url)
			}
			code, printed := stop()
			equal(t, "exit code", 0, code)
			equal(t, "output", fmt.Sprintf("Petstore API: %s\nReference:    %[1]s/\nTry:          "+
				"curl -i -H \"Authorization: Bearer %s\" %[1]s/pets\n", url, inExample), printed)
		})
	}
}

func TestNames(t *testing.T) {
	bound := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8080}
	t.Run("are printed as an address with the demo keys", func(t *testing.T) {
		equal(t, "URL", "http://127.0.0.1:8080", urlOf(bound, "pets.test:0", true))
	})
	t.Run("are printed with other keys", func(t *testing.T) {
		equal(t, "URL", "http://pets.test:8080", urlOf(bound, "pets.test:0", false))
	})
}

// Each flag changes what a GET /pets with the key demo-free gets or leaves, and nothing else.
func TestFlags(t *testing.T) {
	keys := filepath.Join(t.TempDir(), "keys.json")
	writeFile(t, keys, testKeys)
	for _, test := range []struct{ rule, flags, want string }{
		{"none is needed", "", "200, a minute of 60 s, files: petstore.json"},
		{"data", "-data my.json", "200, a minute of 60 s, files: my.json"},
		{"keys", "-data= -keys " + keys, "401, a minute of 60 s, files: "},
		{"minute", "-data= -minute 10s", "200, a minute of 10 s, files: "},
		{"cors-origin", "-data= -cors-origin https://shop.example",
			"200, a minute of 60 s, for https://shop.example, files: "},
		{"delay", "-data= -delay 20ms", "200, a minute of 60 s, files: "},
		{"fail", "-data= -fail 1/1", "503, a minute of 60 s, files: "},
		{"drop", "-data= -drop 1/1", "0, files: "},
		{"v", "-data= -v", `200, a minute of 60 s, files: , logged GET "/pets" 200`},
	} {
		t.Run(test.rule, func(t *testing.T) {
			t.Chdir(t.TempDir())
			args := append([]string{"-addr", "localhost:0"}, strings.Fields(test.flags)...)
			url, stop := runHere(t, args...)
			begin := time.Now()
			resp, _ := visit(url+"/pets", "demo-free")
			if took := time.Since(begin); test.rule == "delay" && took < 20*time.Millisecond {
				t.Errorf("it took %v", took)
			}
			got := fmt.Sprint(resp.StatusCode)
			if reset := resp.Header.Get("X-RateLimit-Reset"); reset != "" {
				end, _ := strconv.ParseInt(reset, 10, 64)
				minute := time.Unix(end, 0).Sub(begin).Truncate(10 * time.Second)
				got += fmt.Sprintf(", a minute of %.0f s", minute.Seconds())
			}
			if origin := resp.Header.Get("Access-Control-Allow-Origin"); origin != "" {
				got += ", for " + origin
			}
			got += ", files: " + strings.Join(namesIn(t, "."), " ")
			_, printed := stop()
			if logged := regexp.MustCompile(`GET "/pets" \d+`).FindString(printed); logged != "" {
				got += ", logged " + logged
			}
			equal(t, "outcome", test.want, got)
		})
	}
}

func TestGarbageCollector(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	stopped, stop := context.WithCancel(t.Context())
	stop()
	for _, test := range []struct {
		rule, gogc string
		want       int
	}{
		{"lets the heap grow to five times what is in use", "", 400},
		{"is as GOGC says", "50", 100}, // the runtime has read it before main
	} {
		t.Run(test.rule, func(t *testing.T) {
			t.Setenv("GOGC", test.gogc)
			debug.SetGCPercent(100)
			run(stopped, []string{"-addr", "localhost:0", "-data="}, io.Discard)
			equal(t, "percent", test.want, debug.SetGCPercent(100))
		})
	}
}

const birds = `{"name":"Birds"}`

// beginPost sends the header of a request with the body birds, and returns when the handler waits
// for that body.
func beginPost(t *testing.T, p *process) (client net.Conn, responses *bufio.Reader) {
	t.Helper()
	client, err := net.Dial("tcp", strings.TrimPrefix(p.url, "http://"))
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
	needSignals(t)
	for rule, signal := range map[string]os.Signal{
		"SIGINT finishes what is in flight and exits with 0":  os.Interrupt,
		"SIGTERM finishes what is in flight and exits with 0": syscall.SIGTERM,
	} {
		t.Run(rule, func(t *testing.T) {
			p := startProcess(t, "-data", freshPath(t))
			client, responses := beginPost(t, p)
			p.signalUntilDeaf(signal)
			io.WriteString(client, birds)
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

// A closingConn reports when the server closes it.
type closingConn struct {
	net.Conn
	close func()
}

func (c closingConn) Close() error { c.close(); return c.Conn.Close() }

// A network is the real http.Server on connections that live in memory.
type network struct {
	*service
	server   *http.Server
	listener pipeListener
}

// withNetwork runs the test on a server with these flags, in fake time. The bubble ends only when
// no goroutine of the server is left.
func withNetwork(t *testing.T, opts options, test func(*testing.T, network)) {
	inBubble(t, func(t *testing.T, s *service) {
		s.options = opts
		n := network{s, httpServer(s.Server), make(pipeListener)}
		go n.server.Serve(n.listener)
		defer n.server.Close()
		test(t, n)
	})
}

// connect waits until the server accepts the connection, and returns it and what is closed once the
// server has closed it.
func (n network) connect() (client net.Conn, closed <-chan struct{}) {
	client, accepted := net.Pipe()
	end := make(chan struct{})
	n.listener <- closingConn{accepted, sync.OnceFunc(func() { close(end) })}
	return client, end
}

// The starts of two requests with the key big. The first still lacks the empty line after its
// header, and the second its body.
const (
	asBig    = " HTTP/1.1\r\nHost: localhost\r\nX-API-Key: big\r\n"
	getPets  = "GET /pets" + asBig
	longPost = "POST /pets" + asBig + "Content-Length: 1000\r\n\r\n"
)

func TestSlowClients(t *testing.T) {
	const request = getPets + "\r\n"
	plain, delayed := options{}, options{delay: 8 * time.Second}
	for _, test := range []struct {
		rule, start, drip string // what is sent at once, and then a byte a second
		reads             bool
		opts              options
		cutOff            time.Duration
	}{
		{"5 s for the first byte", "", "", true, plain, 5 * time.Second},
		{"5 s for a header", getPets, strings.Repeat("x", 100), true, plain, 5 * time.Second},
		{"5 s for a body", longPost, strings.Repeat(" ", 999), true, plain, 5 * time.Second},
		{"5 s for a body that ends early", longPost + "{}", "", true, plain, 5 * time.Second},
		{"10 s to read a response", request, "", false, plain, 10 * time.Second},
		{"10 s and the delay to read one", request, "", false, delayed, 18 * time.Second},
		{"60 s without a request", request, "", true, plain, time.Minute},
		{"drop keeps no connection alive", "GET /nothing" + asBig + "\r\n", "", true,
			options{drop: ratio{m: 1, n: 2}}, 0},
		// The time of a second request counts from its fourth byte.
		{"5 s for a second header", request, getPets, true, plain, 9 * time.Second},
	} {
		t.Run(test.rule, func(t *testing.T) {
			withNetwork(t, test.opts, func(t *testing.T, n network) {
				begin := time.Now()
				client, closed := n.connect()
				if test.reads {
					go io.Copy(io.Discard, client)
				}
				var sender sync.WaitGroup
				defer sender.Wait()
				defer client.Close()
				sender.Go(func() {
					_, err := io.WriteString(client, test.start)
					for i := 0; i < len(test.drip) && err == nil; i++ {
						time.Sleep(time.Second)
						_, err = io.WriteString(client, test.drip[i:i+1])
					}
				})
				<-closed
				equal(t, "cut off after", test.cutOff, time.Since(begin).Truncate(time.Second))
			})
		})
	}
	t.Run("a write that is cut off may have been saved", func(t *testing.T) {
		withNetwork(t, plain, func(t *testing.T, n network) {
			client, closed := n.connect()
			defer client.Close()
			io.WriteString(client, "DELETE /pets/5"+asBig+"\r\n")
			<-closed
			n.expect("GET /pets/5", "", 404, "not_found")
		})
	})
}

// A request that is refused before its body is needed is answered at once, although the client
// holds the body back: until it gets a go-ahead (Expect: 100-continue), or because it is slow.
func TestBodyHeldBack(t *testing.T) {
	const (
		waits = asBig + "Content-Length: 1000\r\nExpect: 100-continue\r\n"
		slow  = asBig + "Content-Length: 1000000\r\n"
		text  = "Content-Type: text/plain\r\n"
	)
	for _, test := range []struct {
		rule, request string
		status        int // of the first response
	}{
		{"a body that is needed is asked for", "POST /pets" + waits, 100},
		{"an operation without a body", "GET /pets" + waits, 200},
		{"a DELETE", "DELETE /pets/5" + waits, 204},
		{"an open path", "GET /healthz" + waits, 200},
		{"a wrong id in the path of a PUT", "PUT /pets/x" + waits, 400},
		{"a wrong id in the path of a PATCH", "PATCH /inventory/01" + waits, 400},
		{"no key", "POST /pets" + waits + "Authorization: Bearer wrong\r\n", 401},
		{"a limit that is used up", "POST /pets" + waits + "Authorization: Bearer one\r\n", 429},
		{"a path that does not exist", "POST /nothing" + waits, 404},
		{"a wrong method", "PATCH /pets" + waits, 405},
		{"a wrong type", "POST /pets" + waits + text, 415},
		{"a length over the limit", "PATCH /inventory/1" + slow + "Expect: 100-continue\r\n", 413},
		{"a slow body for no path", "POST /nothing" + slow, 404},
		{"a slow body that is too large", "POST /pets" + slow, 413},
		{"a slow body of a wrong type", "POST /pets" + slow + text, 415},
	} {
		t.Run(test.rule, func(t *testing.T) {
			withNetwork(t, options{}, func(t *testing.T, n network) {
				n.get("one")
				client, closed := n.connect()
				defer func() { <-closed }()
				defer client.Close()
				begin := time.Now()
				go io.WriteString(client, test.request+"\r\n")
				resp, err := http.ReadResponse(bufio.NewReader(client), nil)
				if err != nil {
					t.Error(err)
					return
				}
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
			withNetwork(t, options{delay: 8 * time.Second}, func(t *testing.T, n network) {
				client, closed := n.connect()
				defer client.Close()
				io.WriteString(client, getPets+"\r\n")
				want := "stopping with requests in flight\n"
				if takes == 8*time.Second {
					go io.Copy(io.Discard, client)
					want = ""
				}
				synctest.Wait()
				begin := time.Now()
				shutDown(n.server, n.logger)
				<-closed
				equal(t, "closed after", takes, time.Since(begin).Truncate(time.Second))
				equal(t, "log", want, n.log.String())
			})
		})
	}
}
