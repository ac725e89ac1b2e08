package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
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

// A network is the real http.Server on connections that live in memory.
type network struct {
	*service
	server   *http.Server
	listener pipeListener
}

// withNetwork runs the test on a server with the given -delay, in fake time. The bubble ends only
// when no goroutine of the server is left.
func withNetwork(t *testing.T, delay time.Duration, test func(*testing.T, network)) {
	inBubble(t, func(t *testing.T, s *service) {
		s.delay = delay
		n := network{s, httpServer(s.Server), make(pipeListener)}
		go n.server.Serve(n.listener)
		defer n.server.Close()
		test(t, n)
	})
}

// dial waits until the server accepts the connection, and returns it and what is closed once the
// server has closed it.
func (n network) dial() (client net.Conn, closed <-chan struct{}) {
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
	for _, test := range []struct {
		name, start, drip string // what is sent at once, and then a byte a second
		reads             bool
		delay, cutOff     time.Duration
	}{
		{"sends nothing", "", "", true, 0, 5 * time.Second},
		{"slow header", getPets, "X-Slow: " + strings.Repeat("x", 100), true, 0, 5 * time.Second},
		{"slow body", longPost + "{", strings.Repeat(" ", 999), true, 0, 5 * time.Second},
		{"body shorter than its length", longPost + "{}", "", true, 0, 5 * time.Second},
		{"never reads", request, "", false, 0, 10 * time.Second},
		{"idle after a request", request, "", true, 0, time.Minute},
		// The time of a second request counts from its fourth byte.
		{"slow second request", request, getPets, true, 0, 9 * time.Second},
		{"never reads, with a delay", request, "", false, 8 * time.Second, 18 * time.Second},
		{"idle after a delay", request, "", true, 8 * time.Second, 68 * time.Second},
	} {
		t.Run(test.name, func(t *testing.T) {
			withNetwork(t, test.delay, func(t *testing.T, n network) {
				begin := time.Now()
				client, closed := n.dial()
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
				same(t, "cut off after", test.cutOff, time.Since(begin).Truncate(time.Second))
			})
		})
	}
}

// A request that is refused before its body is read is answered at once, although the client holds
// the body back: until it gets a go-ahead (Expect: 100-continue), or because it is slow.
func TestBodyHeldBack(t *testing.T) {
	const (
		waits = asBig + "Content-Length: 1000\r\nExpect: 100-continue\r\n"
		slow  = asBig + "Content-Length: 1000000\r\n"
		large = slow + "Expect: 100-continue\r\n"
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
		{"GET /healthz" + waits, 200},
		{"POST /healthz" + waits, 405},
		{"POST /pets" + large, 413},
		{"PATCH /inventory/1" + large, 413},
		{"POST /nothing" + slow, 404},
		{"PUT /healthz" + slow, 405},
		{"POST /pets" + slow, 413},
		{"POST /pets" + slow + "Content-Type: text/plain\r\n", 415},
	} {
		name, _, _ := strings.Cut(test.request, "\r\n")
		t.Run(fmt.Sprint(name, " ", test.status), func(t *testing.T) {
			withNetwork(t, 0, func(t *testing.T, n network) {
				client, closed := n.dial()
				defer func() { <-closed }()
				defer client.Close()
				begin := time.Now()
				go io.WriteString(client, test.request+"\r\n")
				resp, err := http.ReadResponse(bufio.NewReader(client), nil)
				if err != nil {
					t.Error(err)
					return
				}
				same(t, "status", test.status, resp.StatusCode)
				same(t, "time", 0*time.Second, time.Since(begin))
			})
		})
	}
}

// A shutdown waits for a request that takes too long because its client does not read, and cuts it
// off after 10 seconds.
func TestGraceRunsOut(t *testing.T) {
	// The response has until 18 seconds after the request.
	withNetwork(t, 8*time.Second, func(t *testing.T, n network) {
		client, closed := n.dial()
		defer client.Close()
		io.WriteString(client, getPets+"\r\n")
		synctest.Wait()

		begin := time.Now()
		shutDown(n.server, n.logger)
		<-closed
		same(t, "the connection was closed after", 10*time.Second, time.Since(begin))
		same(t, "log", "stopping, although some requests are not finished\n", n.log.String())
	})
}
