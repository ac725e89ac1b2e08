package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
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

func (l pipeListener) Close() error {
	close(l)
	return nil
}

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

// serveInMemory starts the real http.Server. dial waits until the server accepts the connection, and returns it and
// what is closed once the server has closed it.
func (s *service) serveInMemory() (server *http.Server, dial func() (client net.Conn, closed <-chan struct{})) {
	listener, server := make(pipeListener), s.httpServer()
	go server.Serve(limitConnections(server, listener))
	return server, func() (net.Conn, <-chan struct{}) {
		client, accepted := net.Pipe()
		closed := make(chan struct{})
		listener <- closingConn{accepted, sync.OnceFunc(func() { close(closed) })}
		return client, closed
	}
}

// withConnections runs the test on a server with the given -delay, in fake time. The bubble ends only when no goroutine
// of the server is left.
func withConnections(t *testing.T, delay time.Duration,
	test func(t *testing.T, dial func() (client net.Conn, closed <-chan struct{}))) {
	inBubble(t, func(t *testing.T, s *service) {
		s.delay = delay
		server, dial := s.serveInMemory()
		defer server.Close()
		test(t, dial)
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
		delay, cutOff     time.Duration
	}{
		{"sends nothing", "", "", true, 0, 5 * time.Second},
		{"slow header", getPets, "X-Slow: " + strings.Repeat("x", 100), true, 0, 5 * time.Second},
		{"slow body", longPost + "{", strings.Repeat(" ", 999), true, 0, 5 * time.Second},
		{"body shorter than its length", longPost + "{}", "", true, 0, 5 * time.Second},
		{"never reads", getPets + "\r\n", "", false, 0, 10 * time.Second},
		{"idle after a request", getPets + "\r\n", "", true, 0, time.Minute},
		// The time of a second request counts from its fourth byte.
		{"slow second request", getPets + "\r\n", getPets + strings.Repeat("x", 100), true, 0, 9 * time.Second},
		{"never reads, with a delay", getPets + "\r\n", "", false, 8 * time.Second, 18 * time.Second},
		{"idle after a delay", getPets + "\r\n", "", true, 8 * time.Second, 68 * time.Second},
	} {
		t.Run(test.name, func(t *testing.T) {
			withConnections(t, test.delay, func(t *testing.T, dial func() (net.Conn, <-chan struct{})) {
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

// Most of what may be wrong with a request is up to net/http. These are the rules that this program adds.
func TestRawRequests(t *testing.T) {
	const chunked, closing = "Transfer-Encoding: chunked\r\n\r\n", "Connection: close\r\n\r\n"
	post := "POST /categories HTTP/1.1\r\nHost: localhost\r\nX-API-Key: big\r\n"
	body := `{"name":"x"}`
	chunks := "c\r\n" + body + "\r\n0\r\n\r\n"
	tooLarge := "20000\r\n" + strings.Repeat("x", 0x20000) + "\r\n0\r\n\r\n"
	headerOf := func(size int) string { // the start of a GET whose header, with its last line, is that long
		return getPets + "X-Big: " + strings.Repeat("x", size-len(getPets)-len(closing)-9) + "\r\n"
	}
	for _, test := range []struct {
		name, request string
		statuses      string // of all responses until the server closes the connection
	}{
		{"two requests", post + "Content-Length: 12\r\n\r\n" + body + getPets + closing, "201 200"},
		{"a second request after chunks", post + chunked + chunks + getPets + closing, "201"},
		{"a length as well as chunks", post + "Content-Length: 3\r\n" + chunked + chunks + getPets + closing, "201"},
		{"chunks beyond the limit", post + chunked + tooLarge, "413"},
		{"malformed chunk", post + chunked + "xyz\r\n", "400"},
		{"body of a GET", getPets + "Content-Length: 12\r\n" + closing + body, "200"},
		// The limit is 16 KiB, and net/http adds 4.
		{"header of 16 KiB", headerOf(16<<10) + closing, "200"},
		{"header of almost 20 KiB", headerOf(20<<10-500) + closing, "200"},
		{"header of more than 20 KiB", headerOf(20<<10+500) + closing, "431"},
	} {
		t.Run(test.name, func(t *testing.T) {
			withConnections(t, 0, func(t *testing.T, dial func() (net.Conn, <-chan struct{})) {
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

// A request that is refused before its body is read is answered at once, although the client holds the body back: until
// it gets a go-ahead (Expect: 100-continue), or because it is slow.
func TestBodyHeldBack(t *testing.T) {
	const (
		waits = " HTTP/1.1\r\nHost: localhost\r\nX-API-Key: big\r\nContent-Length: 1000\r\nExpect: 100-continue\r\n"
		slow  = " HTTP/1.1\r\nHost: localhost\r\nX-API-Key: big\r\nContent-Length: 1000000\r\n"
	)
	for _, test := range []struct {
		request string
		status  int // of the first response
	}{
		{"POST /pets" + waits, 100},
		{"POST /nothing" + waits, 404},
		{"PATCH /pets" + waits, 405},
		{"POST /pets" + waits + "Content-Type: text/plain\r\n", 415},
		{"POST /pets" + waits + "Authorization: Bearer wrong\r\n", 401},
		{"GET /pets" + waits, 200},
		{"DELETE /pets/5" + waits, 204},
		{"GET /pets/77" + waits, 404},
		{"GET /" + waits, 200},
		{"POST /" + waits, 405},
		{"GET /healthz" + waits, 200},
		{"POST /healthz" + waits, 405},
		{"POST /nothing" + slow, 404},
		{"PUT /healthz" + slow, 405},
		{"POST /pets" + slow + "Content-Type: text/plain\r\n", 415},
	} {
		withConnections(t, 0, func(t *testing.T, dial func() (net.Conn, <-chan struct{})) {
			client, closed := dial()
			defer func() { <-closed }()
			defer client.Close()
			begin := time.Now()
			go io.WriteString(client, test.request+"\r\n")
			resp, err := http.ReadResponse(bufio.NewReader(client), nil)
			if err != nil {
				t.Fatalf("%s: %v", test.request, err)
			}
			if took := time.Since(begin); resp.StatusCode != test.status || took != 0 {
				t.Fatalf("%s: status %d after %v, want %d at once", test.request, resp.StatusCode, took, test.status)
			}
		})
	}
}

// A thousand connections, some of which never read, keep nobody from being served. One more waits until one is closed.
func TestManyConnections(t *testing.T) {
	get := func(t *testing.T, client net.Conn) {
		t.Helper()
		go io.WriteString(client, getPets+"\r\n")
		resp, err := http.ReadResponse(bufio.NewReader(client), nil)
		if err != nil || resp.StatusCode != 200 {
			t.Fatal(resp, err)
		}
		io.Copy(io.Discard, resp.Body)
	}
	withConnections(t, 0, func(t *testing.T, dial func() (net.Conn, <-chan struct{})) {
		begin := time.Now()
		var idle []<-chan struct{}
		for i := range 999 {
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
		last, _ := dial()
		for range 100 {
			get(t, last)
		}
		accepted := make(chan net.Conn, 1)
		go func() {
			client, _ := dial()
			accepted <- client
		}()
		synctest.Wait()
		if len(accepted) > 0 {
			t.Error("a connection more than a thousand is accepted")
		}
		last.Close()
		client := <-accepted
		defer client.Close()
		get(t, client)
		if took := time.Since(begin); took > 0 {
			t.Errorf("the one that waited is served after %v", took)
		}
		for _, closed := range idle {
			<-closed
		}
		if took := time.Since(begin); took > 15*time.Second {
			t.Errorf("the last was cut off after %v", took)
		}
	})
}

// A listener that fails again and again, as it does if no more files can be opened, does not fill up the room for
// connections.
func TestListenerThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		closed := make(pipeListener)
		close(closed)
		listener := limitConnections(new(http.Server), closed)
		for range 2 * maxConnections {
			if _, err := listener.Accept(); !errors.Is(err, net.ErrClosed) {
				t.Fatal(err)
			}
		}
	})
}

// A listener that has no room for another connection can be closed. A shutdown waits for that before it closes the
// connections.
func TestFullListenerIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pipes := make(pipeListener)
		listener := limitConnections(new(http.Server), pipes)
		for range maxConnections {
			go func() { pipes <- closingConn{} }()
			if _, err := listener.Accept(); err != nil {
				t.Fatal(err)
			}
		}
		failed := make(chan error, 1)
		go func() {
			_, err := listener.Accept()
			failed <- err
		}()
		synctest.Wait()
		if len(failed) > 0 {
			t.Errorf("Accept did not wait for room: %v", <-failed)
		}
		listener.Close()
		if err := <-failed; !errors.Is(err, net.ErrClosed) {
			t.Errorf("error %v", err)
		}
	})
}

// A shutdown waits for a request that takes too long because its client does not read, and cuts it off after 10
// seconds.
func TestGraceRunsOut(t *testing.T) {
	inBubble(t, func(t *testing.T, s *service) {
		s.delay = 8 * time.Second // the response has until 18 seconds after the request
		server, dial := s.serveInMemory()
		client, closed := dial()
		defer client.Close()
		io.WriteString(client, getPets+"\r\n")
		synctest.Wait()

		begin := time.Now()
		s.shutDown(server)
		<-closed
		if took := time.Since(begin); took != 10*time.Second {
			t.Errorf("the connection was closed after %v, want 10s", took)
		}
		if got, want := s.log.String(), "stopping, although some requests are not finished\n"; got != want {
			t.Errorf("log %q, want %q", got, want)
		}
	})
}

// A shutdown with as many connections as may be open does not wait for one of them to be closed.
func TestShutdownOfAFullServer(t *testing.T) {
	inBubble(t, func(t *testing.T, s *service) {
		server, dial := s.serveInMemory()
		for range maxConnections {
			client, _ := dial()
			defer client.Close()
			go io.Copy(io.Discard, client)
			io.WriteString(client, getPets+"\r\n") // idle after its response
		}
		synctest.Wait()
		begin := time.Now()
		s.shutDown(server)
		if took := time.Since(begin); took > time.Second {
			t.Errorf("the shutdown took %v", took)
		}
	})
}
