package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
)

// A pipeListener accepts connections that live in memory, so that their timeouts pass in fake time.
type pipeListener chan net.Conn

func (l pipeListener) Accept() (net.Conn, error) {
	if conn, ok := <-l; ok {
		return conn, nil
	}
	return nil, net.ErrClosed
}

func (l pipeListener) Close() error   { return nil }
func (l pipeListener) Addr() net.Addr { return &net.TCPAddr{} }

// A closingConn reports when the server closes it.
type closingConn struct {
	net.Conn
	close func()
}

func (c closingConn) Close() error {
	c.close()
	return c.Conn.Close()
}

// withConnections runs the test on the real http.Server, in fake time. The bubble ends only when no goroutine
// of the server is left. dial returns a connection and what is closed once the server has closed it.
func withConnections(t *testing.T, test func(t *testing.T, dial func() (client net.Conn, closed <-chan struct{}))) {
	inBubble(t, func(t *testing.T, s *service) {
		listener, server := make(pipeListener), s.httpServer()
		go server.Serve(listener)
		defer server.Close()
		defer close(listener)
		test(t, func() (net.Conn, <-chan struct{}) {
			client, accepted := net.Pipe()
			closed := make(chan struct{})
			listener <- closingConn{accepted, sync.OnceFunc(func() { close(closed) })}
			return client, closed
		})
	})
}

// The start of two requests. The first lacks the empty line after the header, the second its body.
const (
	getPets  = "GET /pets HTTP/1.1\r\nHost: localhost\r\nX-API-Key: big\r\n"
	longPost = "POST /pets HTTP/1.1\r\nHost: localhost\r\nX-API-Key: big\r\nContent-Length: 1000\r\n\r\n"
)

func TestSlowClients(t *testing.T) {
	for _, test := range []struct {
		name, start, drip string // what is sent at once, and then a byte a second
		reads             bool
		cutOff            time.Duration
	}{
		{"sends nothing", "", "", true, 5 * time.Second},
		{"slow header", getPets, "X-Slow: " + strings.Repeat("x", 100), true, 5 * time.Second},
		{"slow body", longPost + "{", strings.Repeat(" ", 999), true, 5 * time.Second},
		{"body shorter than its length", longPost + "{}", "", true, 5 * time.Second},
		{"never reads", getPets + "\r\n", "", false, 10 * time.Second},
		{"idle after a request", getPets + "\r\n", "", true, 2 * time.Minute},
		// The time of a second request counts from its fourth byte.
		{"slow second request", getPets + "\r\n", getPets + strings.Repeat("x", 100), true, 9 * time.Second},
	} {
		t.Run(test.name, func(t *testing.T) {
			withConnections(t, func(t *testing.T, dial func() (net.Conn, <-chan struct{})) {
				begin := time.Now()
				client, closed := dial()
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
				if took := time.Since(begin).Truncate(time.Second); took != test.cutOff {
					t.Errorf("cut off after %v, want %v", took, test.cutOff)
				}
			})
		})
	}
}

// What RFC 9112 forbids is refused, and nothing after it is taken for a request.
func TestRawRequests(t *testing.T) {
	post := "POST /categories HTTP/1.1\r\nHost: localhost\r\nX-API-Key: big\r\n"
	body := `{"name":"x"}`
	lastHeader := " HTTP/1.1\r\nHost: localhost\r\nX-API-Key: big\r\nConnection: close\r\n\r\n"
	chunks := "c\r\n" + body + "\r\n0\r\n\r\n"
	for _, test := range []struct {
		name, request string
		statuses      string // of all responses until the server closes the connection
	}{
		{"no Host", "GET /pets HTTP/1.1\r\nX-API-Key: big\r\n\r\n", "400"},
		{"two Hosts", getPets + "Host: other\r\n\r\n", "400"},
		{"two lengths", post + "Content-Length: 12\r\nContent-Length: 13\r\n\r\n" + body, "400"},
		{"the same length twice",
			post + "Content-Length: 12\r\nContent-Length: 12\r\nConnection: close\r\n\r\n" + body, "201"},
		{"negative length", post + "Content-Length: -1\r\n\r\n" + body, "400"},
		{"length that is no number", post + "Content-Length: 1e1\r\n\r\n" + body, "400"},
		{"length with chunked",
			post + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks + getPets + "\r\n", "201"},
		{"chunked", post + "Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n" + chunks, "201"},
		{"unknown coding", post + "Transfer-Encoding: gzip\r\n\r\n" + body, "501"},
		{"broken chunk", post + "Transfer-Encoding: chunked\r\n\r\nxyz\r\n" + body, "400"},
		{"chunks beyond the limit",
			post + "Transfer-Encoding: chunked\r\n\r\n20000\r\n" + strings.Repeat("x", 0x20000) + "\r\n0\r\n\r\n",
			"413"},
		{"body longer than its length", post + "Content-Length: 12\r\n\r\n" + body + "nonsense\r\n\r\n", "201 400"},
		{"two requests at once", getPets + "\r\n" + getPets + "Connection: close\r\n\r\n", "200 200"},
		{"header of 2 MiB", getPets + "X-Big: " + strings.Repeat("x", 2<<20) + "\r\n\r\n", "431"},
		{"a thousand headers",
			getPets + strings.Repeat("X-Many: xxxxxxxxxxxxxxxxxxxxxxxxxxxx\r\n", 1000) + "\r\n", "431"},
		{"space before the colon", getPets + "X-Bad : x\r\n\r\n", "400"},
		{"folded header", getPets + "X-Folded: a\r\n b\r\nConnection: close\r\n\r\n", "200"},
		{"NUL in a header", getPets + "X-Nul: a\x00b\r\n\r\n", "400"},
		{"no version", "GET /pets\r\n\r\n", "400"},
		{"HTTP/3.0", "GET /pets HTTP/3.0\r\nHost: localhost\r\n\r\n", "505"},
		{"HTTP/1.0", "GET /pets HTTP/1.0\r\nX-API-Key: big\r\n\r\n", "200"},
		{"nonsense", "\x16\x03\x01\x02\x00\x01\x00\r\n\r\n", "400"},
		{"bad escape in the path", "GET /pets/%zz HTTP/1.1\r\nHost: localhost\r\n\r\n", "400"},
		{"absolute form", "GET http://localhost/pets" + lastHeader, "200"},
		{"asterisk", "OPTIONS *" + lastHeader, "200"},
		{"CONNECT", "CONNECT /pets" + lastHeader, "405"},
		{"unclean path", "GET //pets/../categories" + lastHeader, "307"},
		{"body on GET", getPets + "Content-Length: 12\r\nConnection: close\r\n\r\n" + body, "200"},
	} {
		t.Run(test.name, func(t *testing.T) {
			withConnections(t, func(t *testing.T, dial func() (net.Conn, <-chan struct{})) {
				client, closed := dial()
				defer client.Close()
				go io.WriteString(client, test.request)
				var statuses []string
				responses := bufio.NewReader(client)
				for {
					resp, err := http.ReadResponse(responses, nil)
					if err != nil {
						break
					}
					io.Copy(io.Discard, resp.Body)
					if resp.StatusCode == 301 && strings.HasPrefix(runtime.Version(), "go1.25") { // Go 1.26 sends 307
						resp.StatusCode = 307
					}
					statuses = append(statuses, fmt.Sprint(resp.StatusCode))
				}
				<-closed
				if diff := gocmp.Diff(test.statuses, strings.Join(statuses, " ")); diff != "" {
					t.Errorf("statuses (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// A thousand idle connections, some of which never read, keep nobody else from being served.
func TestManyConnections(t *testing.T) {
	withConnections(t, func(t *testing.T, dial func() (net.Conn, <-chan struct{})) {
		var idle []<-chan struct{}
		for i := range 1000 {
			client, closed := dial()
			defer client.Close()
			idle = append(idle, closed)
			switch i % 3 {
			case 1:
				go io.WriteString(client, getPets)
			case 2:
				go io.WriteString(client, getPets+"\r\n")
			}
		}
		synctest.Wait()
		client, _ := dial()
		defer client.Close()
		for range 100 {
			go io.WriteString(client, getPets+"\r\n")
			resp, err := http.ReadResponse(bufio.NewReader(client), nil)
			if err != nil || resp.StatusCode != 200 {
				t.Fatal(resp, err)
			}
			io.Copy(io.Discard, resp.Body)
		}
		begin := time.Now()
		for _, closed := range idle {
			<-closed
		}
		if took := time.Since(begin); took > 15*time.Second {
			t.Errorf("the last was cut off after %v", took)
		}
	})
}
