package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
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

// withConnections runs the test on the real http.Server with the given -delay, in fake time. The bubble ends only when
// no goroutine of the server is left. dial waits until the server accepts the connection, and returns it and what is
// closed once the server has closed it.
func withConnections(t *testing.T, delay time.Duration,
	test func(t *testing.T, dial func() (client net.Conn, closed <-chan struct{}))) {
	inBubble(t, func(t *testing.T, s *service) {
		s.delay = delay
		listener, server := make(pipeListener), s.httpServer()
		go server.Serve(limitConnections(server, listener))
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

// A refusal that does not depend on the body does not wait for it.
func TestEarlyRefusal(t *testing.T) {
	const expecting = "Expect: 100-continue\r\nContent-Length: 100\r\n"
	const large = "Content-Length: 1048576\r\n" // without Expect, net/http waits for a body of up to 256 KiB
	for _, test := range []struct {
		request, header string
		status          int
	}{
		{"POST /nothing", expecting, 404},
		{"PATCH /pets", expecting, 405},
		{"POST /pets", expecting + "Content-Type: text/plain\r\n", 415},
		{"POST /pets", expecting + "Authorization: Bearer wrong\r\n", 401},
		{"GET /pets", expecting, 200},
		{"GET /pets/77", expecting, 404},
		{"GET /", expecting, 200},
		{"POST /", expecting, 405},
		{"GET /healthz", expecting, 200},
		{"POST /nothing", large, 404},
		{"PUT /healthz", large, 405},
		{"POST /pets", large + "Content-Type: text/plain\r\n", 415},
	} {
		t.Run(test.request, func(t *testing.T) {
			withConnections(t, 0, func(t *testing.T, dial func() (net.Conn, <-chan struct{})) {
				client, closed := dial()
				begin := time.Now()
				go io.WriteString(client, test.request+" HTTP/1.1\r\nHost: localhost\r\nX-API-Key: big\r\n"+
					test.header+"\r\n")
				resp, err := http.ReadResponse(bufio.NewReader(client), nil)
				if err != nil {
					t.Fatal(err)
				}
				if took := time.Since(begin); resp.StatusCode != test.status || took > 0 {
					t.Errorf("status %d after %v, want %d at once", resp.StatusCode, took, test.status)
				}
				client.Close()
				<-closed
			})
		})
	}
}

// With -delay, each response of the API waits. The limits do not: a request counts when it arrives.
func TestDelay(t *testing.T) {
	inBubble(t, func(t *testing.T, s *service) {
		s.delay = 8 * time.Second
		for _, test := range []struct {
			request, key string
			status       int
			wait         time.Duration
		}{
			{"GET /pets", "big", 200, 8 * time.Second},
			{"DELETE /store/orders/2", "big", 204, 8 * time.Second},
			{"GET /pets?limit=0", "big", 400, 8 * time.Second},
			{"GET /pets", "wrong", 401, 8 * time.Second},
			{"GET /nothing", "big", 404, 8 * time.Second},
			{"PATCH /pets", "big", 405, 8 * time.Second},
			{"GET /pets", "one", 200, 8 * time.Second},
			{"GET /pets", "one", 429, 8 * time.Second},
			{"GET /", "", 200, 0},
			{"GET /healthz", "", 200, 0},
			{"GET /openapi.json", "", 200, 0},
			{"GET /docs/none", "", 404, 0},
			{"POST /", "", 405, 0},
		} {
			begin := time.Now()
			resp := s.do(test.request, "", "Authorization: Bearer "+test.key)
			if took := time.Since(begin); resp.StatusCode != test.status || took != test.wait {
				t.Errorf("%s with the key %q: status %d after %v, want %d after %v",
					test.request, test.key, resp.StatusCode, took, test.status, test.wait)
			}
		}
		s.expectRates("forty", rates{Status: 200, Limit: 40, Remaining: 39, ResetIn: 60 - 8})

		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second) // the client gives up
		defer cancel()
		begin := time.Now()
		r := httptest.NewRequestWithContext(ctx, "GET", "/pets", nil)
		s.handler.ServeHTTP(httptest.NewRecorder(), r)
		if took := time.Since(begin); took != 3*time.Second {
			t.Errorf("a cancelled request ends after %v", took)
		}
	})
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
