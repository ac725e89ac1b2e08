// Petstore is a sample pet store API for demos, training and test suites. It serves pets,
// categories, orders and stock as JSON over HTTP, limits the requests of each API key, and keeps
// its records in memory and in one JSON file.
//
// Usage:
//
//	petstore [flags]
//
// The flags are:
//
//	-addr HOST:PORT
//		Listen on this address (default localhost:8080). Port 0 picks a free port. localhost is both
//		127.0.0.1 and ::1. Without -keys, HOST must be a loopback address.
//	-data FILE
//		Keep the records in this file (default petstore.json). With -data=, nothing is kept on
//		disk.
//	-sample FILE
//		Begin with the records in this file, which has the form of a data file, if there is no data
//		file yet, or none is kept. It is not written, unless -data names it, too. Without this flag,
//		there is a built-in sample.
//	-keys FILE
//		Read the API keys from this file. Without this flag, there are four public demo keys:
//		demo-free, demo-pro, demo-business and demo-enterprise. The server then answers only
//		requests to localhost, a name under it or an IP address.
//	-minute DURATION
//		Make a rate-limit minute last this long, from 1s to 1m (default 1m), so that a test need
//		not wait for a real one. A ban lasts five of these minutes, and a day stays a day.
//	-cors-origin ORIGIN
//		Let web pages from this origin, such as https://example.com, call the API. It may be given
//		several times. With the demo keys, pages on this computer always can.
//	-delay DURATION
//		Hold back API responses for this long (default 0, at most 8s).
//	-slow M/N
//		With -delay, hold back only the first M of every N responses (default all).
//	-fail M/N
//		Fail the first M of every N API requests with a 503, and change nothing.
//	-drop M/N
//		Close the connection without a response for the first M of every N successful API
//		requests. Their changes are saved.
//	-only WHAT,WHAT
//		Let -delay, -fail and -drop concern and count only requests with these methods, such as PUT,
//		or for these operations, such as "GET /pets/{petId}" (default all). GET includes HEAD.
//	-v
//		Log each request: method, path with its query, status with the code of an error, and
//		duration.
//
// In place of M, a range can stand: -fail 2-3/4 fails the second and third of every four requests,
// and -fail 6-9/1000000 is an outage that begins after five requests and lasts for four. Requests
// that the limits refuse are neither delayed nor counted by -slow, -fail and -drop.
//
// The keys file is a JSON array:
//
//	[
//	{"key": "...", "plan": "pro"},
//	{"key": "...", "plan": "enterprise", "perMinute": 5000, "perDay": 1000000}
//	]
//
// The plans are free (60 requests per minute, 1000 per day), pro (300, 10000), business (1000,
// 100000) and enterprise, whose limits are set for each key.
//
// The data file is a JSON object with the arrays categories, pets and orders, and the last ids
// assigned: lastCategoryId, lastPetId and lastOrderId. Any of them may be omitted. You can edit the
// file while the server is stopped.
//
// SIGINT and SIGTERM stop the server. It finishes the requests in flight, waiting at most 10
// seconds, and exits with code 0. A second signal stops it at once. The exit code is 2 for a flag
// that is unknown or out of its range, and 1 if the server cannot start or keep running.
package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"os/signal"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, func() {
		stop() // catching signals, so that a second one ends the process
		// run returns within 10 seconds, unless it waits for somebody to read the log, or for a
		// large file to load.
		time.Sleep(11 * time.Second)
		os.Exit(0)
	})
	signal.Ignore(syscall.SIGPIPE) // keep running when nobody reads the log
	os.Exit(run(ctx, os.Args[1:], os.Stderr))
}

// run serves until ctx is done, and returns the exit code.
func run(ctx context.Context, args []string, stderr io.Writer) int {
	addr, opts, err := parseFlags(args, stderr)
	if err == flag.ErrHelp {
		return 0
	}
	if err != nil {
		fmt.Fprintf(stderr, "petstore: %v (petstore -h lists the flags)\n", err)
		return 2
	}
	if err := serve(ctx, addr, opts, stderr); err != nil {
		fmt.Fprintf(stderr, "petstore: %v\n", err)
		return 1
	}
	return 0
}

func parseFlags(args []string, stderr io.Writer) (addr string, opts Options, err error) {
	flags := flag.NewFlagSet("petstore", flag.ContinueOnError)
	flags.StringVar(&addr, "addr", "localhost:8080", "listen on `HOST:PORT`; 0 for a free port")
	flags.StringVar(&opts.Data, "data", "petstore.json", "keep the records in `FILE`, if any")
	flags.StringVar(&opts.Sample, "sample", "", "begin with the records in `FILE`")
	flags.Func("keys", "read the keys from `FILE`, not the demo keys", func(file string) error {
		opts.Keys = file
		if file == "" { // as with a variable that is not set in a script
			return errors.New("it must name a file")
		}
		return nil
	})
	flags.DurationVar(&opts.Minute, "minute", time.Minute, "make a minute last `DURATION`")
	flags.Func("cors-origin", "let pages from `ORIGIN` call the API", func(origin string) error {
		opts.CORSOrigins = append(opts.CORSOrigins, origin)
		return nil
	})
	flags.DurationVar(&opts.Delay, "delay", 0, "hold back responses for `DURATION`, at most 8s")
	flags.StringVar(&opts.Slow, "slow", "", "hold back only `M/N` of the responses: M of every N")
	flags.StringVar(&opts.Fail, "fail", "", "fail `M/N` of the requests with a 503: M of every N")
	flags.StringVar(&opts.Drop, "drop", "", "do not respond to `M/N` of the successful requests")
	flags.StringVar(&opts.Only, "only", "", "concern only the methods or operations `WHAT,WHAT`")
	flags.BoolVar(&opts.Verbose, "v", false, "log each request")
	flags.SetOutput(io.Discard) // of a bad flag, run prints one line, not all flags
	err = flags.Parse(args)
	if err == flag.ErrHelp {
		flags.SetOutput(stderr)
		flags.Usage()
	}
	if err != nil {
		return addr, opts, err
	}
	if flags.NArg() > 0 {
		return addr, opts, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	_, port, err := net.SplitHostPort(addr)
	if _, ok := parseInteger(port, 0, 65535); !ok || err != nil {
		return addr, opts,
			fmt.Errorf("-addr must be HOST:PORT, such as localhost:8080; got %q", addr)
	}
	_, err = opts.parseFaults()
	return addr, opts, err
}

// serve serves until ctx is done. Then it finishes the requests in flight.
func serve(ctx context.Context, addr string, opts Options, stderr io.Writer) error {
	// Let the heap grow to five times what is in use, in place of twice, unless GOGC is set. That
	// takes memory, and saves the CPU time of collecting garbage more often.
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
	var logged bytes.Buffer // what New logs, since the first line on stderr is the one with the URL
	opts.Logger = log.New(&logged, "", log.LstdFlags)
	// Listen first, so that a busy port leaves no data file behind.
	listeners, err := listen(addr, opts.usesDemoKeys())
	if err != nil {
		return err
	}
	s, err := New(opts)
	if err != nil {
		return err
	}
	exampleKey := "KEY"
	if opts.usesDemoKeys() {
		exampleKey = "demo-free"
	}
	fmt.Fprintf(stderr, `Petstore API: %[1]s
Reference:    %[1]s/
Try:          curl -i -H "Authorization: Bearer %[2]s" %[1]s/pets
Records:      %[3]s
`, urlOf(listeners[0].Addr().(*net.TCPAddr), addr, opts.usesDemoKeys()), exampleKey,
		cmp.Or(opts.Data, "in memory"))
	opts.Logger.SetOutput(stderr)
	logged.WriteTo(stderr)
	server := httpServer(s)
	failed := make(chan error, len(listeners))
	for _, listener := range listeners {
		go func() { failed <- server.Serve(listener) }()
	}
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
		shutDown(server, opts.Logger)
		return nil
	}
}

// httpServer returns a server that closes the connections of slow clients. A client has 5 seconds
// to send a request. From the end of its header, it has 10 seconds, plus the delay, until it has
// received the whole response, even if a write has to wait for others ahead of it. If a client is
// cut off, its write may still have been saved.
func httpServer(s *Server) *http.Server {
	server := &http.Server{
		Handler:      s,
		ReadTimeout:  5 * time.Second,
		WriteTimeout: 10*time.Second + s.options.Delay,
		IdleTimeout:  time.Minute,
		ErrorLog:     s.options.Logger,
	}
	if s.options.usesDemoKeys() {
		server.Handler = refuseForeignHost(s)
	}
	return server
}

// refuseForeignHost refuses requests whose Host is a name that somebody else may own. Otherwise,
// since the demo keys are public, any web page could use this server (DNS rebinding,
// https://en.wikipedia.org/wiki/DNS_rebinding):
//
//  1. Somebody opens a page of http://evil.example:8080.
//  2. The owner of that name makes it lead to 127.0.0.1.
//  3. The page asks for /pets. For the browser, that is the page's own server, so CORS does not
//     count, but the request comes here, with Host: evil.example:8080.
func refuseForeignHost(s *Server) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := (&url.URL{Host: r.Host}).Hostname() // without the port and brackets
		if host == "" || isIPOrLocalhost(host) {    // a browser always sends one
			s.ServeHTTP(w, r)
			return
		}
		s.send(w, r, time.Now(), response{}, newError(wrongHost,
			"With the demo keys, this server serves only localhost and IP addresses; "+
				"use http://localhost, or start it with -keys."))
	})
}

func isIPOrLocalhost(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil || isLocalhost(strings.ToLower(host))
}

// shutDown accepts no more connections and finishes the requests in flight. Those that take longer
// than 10 seconds are cut off.
func shutDown(server *http.Server, logger *log.Logger) {
	grace, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if server.Shutdown(grace) != nil {
		logger.Print("stopping with requests in flight")
		server.Close()
	}
}

// listen listens on an address. With the demo keys, it must be a loopback address.
func listen(addr string, demo bool) ([]net.Listener, error) {
	host, port, _ := net.SplitHostPort(addr)
	if strings.EqualFold(host, "localhost") {
		return listenOnLocalhost(port)
	}
	resolved, err := net.ResolveTCPAddr("tcp", addr)
	if err != nil {
		return nil, err
	}
	if demo && !resolved.IP.IsLoopback() {
		return nil, fmt.Errorf("-addr %s is not a loopback address, and the demo keys are public; "+
			"pass -keys FILE too", addr)
	}
	listener, err := listenOn(resolved.String())
	return []net.Listener{listener}, err
}

// listenOnLocalhost listens on 127.0.0.1 and, if the system has IPv6, on the same port of ::1: some
// clients try only that, and another program could have it. It asks no resolver (RFC 6761, section
// 6.3).
func listenOnLocalhost(port string) ([]net.Listener, error) {
	for try := 1; ; try++ {
		v4, err := listenOn("127.0.0.1:" + port)
		if err != nil {
			return nil, err
		}
		probe, err := net.Listen("tcp", "[::1]:0")
		if err != nil { // there is no IPv6
			return []net.Listener{v4}, nil
		}
		probe.Close()
		_, samePort, _ := net.SplitHostPort(v4.Addr().String())
		v6, err := listenOn("[::1]:" + samePort)
		if err == nil {
			return []net.Listener{v4, v6}, nil
		}
		v4.Close()
		if port != "0" || try == 10 { // a free port on 127.0.0.1 may be taken on ::1
			return nil, err
		}
	}
}

func listenOn(address string) (net.Listener, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("%w; choose another address, such as -addr localhost:0", err)
	}
	return listener, nil
}

// urlOf returns the URL of the server, with the host in addr, unless that host means all addresses
// or is one that the demo keys rule out.
func urlOf(bound *net.TCPAddr, addr string, demo bool) string {
	host, _, _ := net.SplitHostPort(addr)
	if bound.IP.IsUnspecified() {
		host = "localhost"
	}
	if demo && !isIPOrLocalhost(host) {
		host = bound.IP.String()
	}
	return "http://" + net.JoinHostPort(host, strconv.Itoa(bound.Port))
}
