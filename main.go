// Petstore is a pet store API for demos, training and test suites: pets, categories, orders and stock over HTTP with
// JSON bodies, behind API keys with rate limits, kept in memory and in one JSON file.
//
// Usage:
//
//	petstore [flags]
//
// The flags are:
//
//	-addr HOST:PORT
//		listen there (default localhost:8080); port 0 picks a free port
//	-data FILE
//		keep the records in this file (default petstore.json); if empty, keep nothing on disk
//	-keys FILE
//		read the API keys from this file; without it there are four public demo keys, and the server
//		listens on loopback only
//	-sync
//		acknowledge a write only when it is on disk (default true); if false, at once, and save within a second
//	-cors-origin ORIGIN
//		let web pages from this origin call the API
//	-delay DURATION
//		hold back each response of the API for that long (default 0, at most 8s), to show how a client waits
//	-v
//		log each request
//
// The keys file is a JSON array:
//
//	[{"key": "...", "plan": "pro"}, {"key": "...", "plan": "enterprise", "perMinute": 5000, "perDay": 1000000}]
//
// The plans are free (60 requests per minute, 1000 per day), pro (300, 10000), business (1000, 100000) and
// enterprise, whose limits are set for each key.
//
// SIGINT and SIGTERM stop the server: it finishes the requests in flight, for 10 seconds at most, and saves once more.
// A second signal stops it at once. The exit code is 0 if everything is saved, 1 if the server cannot start or save,
// and 2 for a bad flag.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"regexp"
	"runtime"
	"runtime/debug"
	"strconv"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // stop catching signals after the first, so that a second ends the process at once
	os.Exit(run(ctx, os.Args[1:], os.Stderr))
}

// run starts the server, serves until ctx is done, and returns the exit code.
func run(ctx context.Context, args []string, stderr io.Writer) int {
	cfg, err := parseFlags(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		fmt.Fprintf(stderr, "petstore: %v (petstore -h lists the flags)\n", err)
		return 2
	}
	if err := serve(ctx, cfg, stderr); err != nil {
		fmt.Fprintf(stderr, "petstore: %v\n", err)
		return 1
	}
	return 0
}

// A config is what the flags say.
type config struct {
	addr, data, keys string
	synced           bool
	origin           string
	delay            time.Duration
	verbose          bool
}

func parseFlags(args []string, stderr io.Writer) (cfg config, err error) {
	flags := flag.NewFlagSet("petstore", flag.ContinueOnError)
	flags.StringVar(&cfg.addr, "addr", "localhost:8080", "listen on `HOST:PORT`; port 0 picks a free port")
	flags.StringVar(&cfg.data, "data", "petstore.json", "keep the records in `FILE`; if empty, keep nothing on disk")
	flags.StringVar(&cfg.keys, "keys", "", "read the API keys from `FILE`; if empty, demo keys, on loopback only")
	flags.BoolVar(&cfg.synced, "sync", true, "acknowledge a write only when it is on disk")
	flags.StringVar(&cfg.origin, "cors-origin", "", "let web pages from `ORIGIN` call the API")
	flags.DurationVar(&cfg.delay, "delay", 0, "hold back each response of the API for `DURATION`, at most 8s")
	flags.BoolVar(&cfg.verbose, "v", false, "log each request")
	flags.SetOutput(io.Discard) // run prints the error itself, on one line
	err = flags.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		flags.SetOutput(stderr)
		flags.Usage()
		return cfg, err
	case err != nil:
		return cfg, err
	case flags.NArg() > 0:
		return cfg, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	case cfg.origin != "" && !isOrigin(cfg.origin):
		return cfg, fmt.Errorf("-cors-origin must be like https://example.com, not %q", cfg.origin)
	case cfg.delay < 0 || cfg.delay > maxDelay:
		return cfg, fmt.Errorf("-delay must be from 0 to %v, not %v", maxDelay, cfg.delay)
	}
	return cfg, nil
}

// maxDelay leaves time to finish the requests in flight within the 10 seconds of a shutdown.
const maxDelay = 8 * time.Second

var originPattern = regexp.MustCompile(`^([a-z][a-z0-9+.-]*)://([a-z0-9_.-]+|\[[0-9a-f:]+\])(:[1-9][0-9]{0,4})?$`)

// isOrigin reports whether a browser would send text as an origin (RFC 6454, section 6.2): in lower case, and without a
// path or the default port.
func isOrigin(text string) bool {
	match := originPattern.FindStringSubmatch(text)
	if match == nil {
		return false
	}
	scheme, port := match[1], match[3]
	return !(scheme == "http" && port == ":80") && !(scheme == "https" && port == ":443")
}

// serve serves until ctx is done. Then it finishes the requests in flight, and saves a last snapshot.
func serve(ctx context.Context, cfg config, stderr io.Writer) error {
	ballast := tuneGC()
	defer runtime.KeepAlive(ballast)
	// The fields that are missing here are set as soon as they are known.
	s := &Server{logger: log.New(stderr, "", log.LstdFlags), verbose: cfg.verbose, origin: cfg.origin, delay: cfg.delay}
	if err := s.readKeys(cfg.keys); err != nil {
		return err
	}
	listener, err := listen(cfg) // before the store is opened, so that a busy port leaves no file behind
	if err != nil {
		return err
	}
	defer listener.Close()
	if s.store, err = openStore(cfg.data, cfg.synced, s.logger); err != nil {
		return err
	}
	exampleKey := "KEY"
	if cfg.keys == "" {
		exampleKey = "demo-free"
	}
	s.baseURL = urlOf(listener, cfg.addr)
	fmt.Fprintf(stderr, "Petstore API: %s\n", s.baseURL)
	fmt.Fprintf(stderr, "Reference:    %s/\n", s.baseURL)
	fmt.Fprintf(stderr, "Try:          curl -i -H \"Authorization: Bearer %s\" %s/pets\n", exampleKey, s.baseURL)
	if cfg.keys != "" {
		for _, entry := range s.limits.shortKeys {
			s.logger.Printf("%s: entry %d: a key of fewer than %d characters can be guessed",
				cfg.keys, entry, safeKeyLength)
		}
	}

	server := s.httpServer()
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(limitConnections(server, listener)) }()
	select {
	case err = <-failed:
	case <-ctx.Done():
		s.shutDown(server)
	}
	return errors.Join(err, s.store.Close())
}

// shutDown accepts no more connections and finishes the requests in flight. Those that take longer than 10 seconds are
// cut off.
func (s *Server) shutDown(server *http.Server) {
	grace, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if server.Shutdown(grace) != nil {
		s.logger.Print("stopping, although some requests are not finished")
		server.Close()
	}
}

// tuneGC makes the garbage collector run less often, for as long as the ballast is reachable. The collector runs when
// the heap has grown by a given percentage since its last run. The heap of a small store is so small that, under load,
// this would happen hundreds of times a second, and a list of 100 pets would cost 38% more. The ballast counts as heap,
// but is never touched, and so takes up no memory: even at 50%, at least 32 MB are allocated between two runs. It is
// 50%, and not the usual 100%, so that a large store needs less memory.
func tuneGC() (ballast []byte) {
	debug.SetGCPercent(50)
	return make([]byte, 64<<20)
}

// readKeys reads the keys file, or takes the demo keys if path is empty.
func (s *Server) readKeys(path string) (err error) {
	if path == "" {
		s.demoKeys = demoKeys
		s.limits, err = newLimits([]byte(demoKeys))
		return err
	}
	keysFile, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if s.limits, err = newLimits(keysFile); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// listen listens on the address of the config. With the demo keys, it must be a loopback address.
func listen(cfg config) (*net.TCPListener, error) {
	addr, err := net.ResolveTCPAddr("tcp", cfg.addr)
	if err != nil {
		return nil, err
	}
	if cfg.keys == "" && !addr.IP.IsLoopback() {
		return nil, fmt.Errorf("-addr %s is not a loopback address, and the demo keys are public: pass -keys FILE too",
			cfg.addr)
	}
	listener, err := net.ListenTCP("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("%w; pass another port, or -addr localhost:0 for a free one", err)
	}
	return listener, nil
}

// urlOf returns the URL of the server, with the host that the user gave or, if it listens on all addresses, localhost.
func urlOf(listener *net.TCPListener, addr string) string {
	host, _, _ := net.SplitHostPort(addr)
	bound := listener.Addr().(*net.TCPAddr)
	if bound.IP.IsUnspecified() {
		host = "localhost"
	}
	return "http://" + net.JoinHostPort(host, strconv.Itoa(bound.Port))
}

// httpServer returns a server that drops slow clients. They have 5 seconds to send the request, and 10 seconds from the
// end of its header to read the response.
func (s *Server) httpServer() *http.Server {
	return &http.Server{
		Handler:        s.newMux(),
		ReadTimeout:    5 * time.Second,          // of the header and the body
		WriteTimeout:   10*time.Second + s.delay, // of the body and the response
		IdleTimeout:    time.Minute,
		MaxHeaderBytes: 16 << 10,
		ErrorLog:       s.logger,
	}
}

// maxConnections leaves room to open other files under the usual limit of 1024 open files.
const maxConnections = 1000

// A limitedListener accepts a connection only when there is room for one. Further connections wait, unaccepted.
type limitedListener struct {
	net.Listener
	open   chan struct{} // holds one element for each open connection, and one while Accept waits for the next
	closed chan struct{} // closed with the listener
}

func (l limitedListener) Accept() (net.Conn, error) {
	select {
	case l.open <- struct{}{}:
	case <-l.closed: // a shutdown waits for Accept to return, and only then closes connections
		return nil, net.ErrClosed
	}
	conn, err := l.Listener.Accept()
	if err != nil {
		<-l.open
	}
	return conn, err
}

// Close is called once; http.Server sees to that.
func (l limitedListener) Close() error {
	close(l.closed)
	return l.Listener.Close()
}

// limitConnections keeps the server from having more than maxConnections open. The server tells it when one is closed.
func limitConnections(server *http.Server, listener net.Listener) net.Listener {
	limited := limitedListener{listener, make(chan struct{}, maxConnections), make(chan struct{})}
	server.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateClosed {
			<-limited.open
		}
	}
	return limited
}
