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
//		read the API keys from this file; without it there are four public demo keys, and -addr must be
//		a loopback address
//	-minute DURATION
//		the length of the minute window of the limits, from 1s to 1m (default 1m), to test a 429 without a
//		long wait
//	-cors-origin ORIGIN
//		let web pages from this origin call the API
//	-delay DURATION
//		hold back each response of the API for that long (default 0, at most 8s), to show how a client waits
//	-fail N
//		of the requests that the limits let through, fail every Nth with 503 (default 0, none), to show how a
//		client retries
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
// SIGINT and SIGTERM stop the server: it finishes the requests in flight, for 10 seconds at most. A second signal stops
// it at once. The exit code is 0 after such a stop, 1 if the server cannot start or keep running, and 2 for a bad flag.
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
	"net/url"
	"os"
	"os/signal"
	"runtime/debug"
	"strconv"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)   // stop catching signals after the first, so that a second ends the process at once
	signal.Ignore(syscall.SIGPIPE) // a log that nobody reads any more must not end the server
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
	addr, data, keys, origin string
	minute, delay            time.Duration
	failNth                  int64
	verbose                  bool
}

// maxDelay leaves time to respond to a request that has arrived, within the 10 seconds of a shutdown.
const maxDelay = 8 * time.Second

func parseFlags(args []string, stderr io.Writer) (cfg config, err error) {
	flags := flag.NewFlagSet("petstore", flag.ContinueOnError)
	flags.StringVar(&cfg.addr, "addr", "localhost:8080", "listen on `HOST:PORT`; port 0 picks a free port")
	flags.StringVar(&cfg.data, "data", "petstore.json", "keep the records in `FILE`; if empty, keep nothing on disk")
	flags.StringVar(&cfg.keys, "keys", "", "read the API keys from `FILE`; if empty, use the demo keys, on loopback")
	flags.DurationVar(&cfg.minute, "minute", time.Minute, "let the minute of the limits last `DURATION`, from 1s to 1m")
	flags.StringVar(&cfg.origin, "cors-origin", "", "let web pages from `ORIGIN` call the API")
	flags.DurationVar(&cfg.delay, "delay", 0, "hold back each response of the API for `DURATION`, at most 8s")
	flags.Int64Var(&cfg.failNth, "fail", 0, "fail every `N`th request that the limits let through with 503; 0 for none")
	flags.BoolVar(&cfg.verbose, "v", false, "log each request")
	flags.SetOutput(io.Discard) // Parse prints nothing: run prints one line for a bad flag, and -h the usage below
	err = flags.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		flags.SetOutput(stderr)
		flags.Usage()
	}
	switch {
	case err != nil:
		return cfg, err
	case flags.NArg() > 0:
		return cfg, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	case cfg.minute < time.Second || cfg.minute > time.Minute:
		return cfg, fmt.Errorf("-minute must be from 1s to 1m, not %v", cfg.minute)
	case cfg.failNth < 0:
		return cfg, fmt.Errorf("-fail must be 0 or more, not %d", cfg.failNth)
	case cfg.origin != "" && !isOrigin(cfg.origin):
		return cfg, fmt.Errorf("-cors-origin must be like https://example.com, not %q", cfg.origin)
	case cfg.delay < 0 || cfg.delay > maxDelay:
		return cfg, fmt.Errorf("-delay must be from 0 to %v, not %v", maxDelay, cfg.delay)
	}
	return cfg, nil
}

// isOrigin reports whether text is an origin (RFC 6454): a scheme and a host, with a port if need be, and no path.
func isOrigin(text string) bool {
	u, err := url.Parse(text)
	return err == nil && u.Hostname() != "" && text == u.Scheme+"://"+u.Host
}

// serve serves until ctx is done. Then it finishes the requests in flight.
func serve(ctx context.Context, cfg config, stderr io.Writer) error {
	debug.SetGCPercent(800) // with the default of 100, a list of 100 pets costs a quarter more processor time
	logger := log.New(stderr, "", log.LstdFlags)
	limits, err := readKeys(cfg.keys)
	if err != nil {
		return err
	}
	limits.minute = cfg.minute
	listener, err := listen(cfg) // before the store is opened, so that a busy port leaves no file behind
	if err != nil {
		return err
	}
	defer listener.Close()
	store, err := openStore(cfg.data, logger)
	if err != nil {
		return err
	}

	api := newServer(store, limits, logger)
	api.verbose, api.delay, api.failNth = cfg.verbose, cfg.delay, cfg.failNth
	api.baseURL = urlOf(listener, cfg.addr)
	if cfg.origin != "" {
		api.allowOrigin(cfg.origin)
	}
	exampleKey := "KEY"
	if cfg.keys == "" {
		api.offeredKeys = demoKeys
		exampleKey = "demo-free"
	}
	fmt.Fprintf(stderr, "Petstore API: %s\n", api.baseURL)
	fmt.Fprintf(stderr, "Reference:    %s/\n", api.baseURL)
	fmt.Fprintf(stderr, "Try:          curl -i -H \"Authorization: Bearer %s\" %s/pets\n", exampleKey, api.baseURL)

	server := httpServer(api)
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
		shutDown(server, logger)
		return nil
	}
}

// httpServer returns a server that drops slow clients. They have 5 seconds to send the request, and 10 seconds (and the
// delay) from the end of its header to read the response.
func httpServer(api *Server) *http.Server {
	return &http.Server{
		Handler:        api,
		ReadTimeout:    5 * time.Second,
		WriteTimeout:   10*time.Second + api.delay,
		IdleTimeout:    time.Minute,
		MaxHeaderBytes: 16 << 10,
		ErrorLog:       api.logger,
	}
}

// shutDown accepts no more connections and finishes the requests in flight. Those that take longer than 10 seconds are
// cut off.
func shutDown(server *http.Server, logger *log.Logger) {
	grace, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if server.Shutdown(grace) != nil {
		logger.Print("stopping, although some requests are not finished")
		server.Close()
	}
}

// readKeys reads the keys file, or takes the demo keys if path is empty.
func readKeys(path string) (*Limits, error) {
	if path == "" {
		return newLimits([]byte(demoKeys))
	}
	keysFile, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	limits, err := newLimits(keysFile)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return limits, nil
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
		return nil, fmt.Errorf("%w; choose another address with -addr, or a free port with -addr localhost:0", err)
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
