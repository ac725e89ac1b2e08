// Petstore is a pet store API for demos, training and test suites: pets, categories, orders and
// stock over HTTP with JSON bodies, behind API keys with rate limits, kept in memory and in one
// JSON file.
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
//		read the API keys from this file; without it there are four public demo keys, -addr
//		must be a loopback address, and the keys count only in requests whose Host is localhost,
//		an IP address or the host in -addr
//	-minute DURATION
//		how long a minute of the limits lasts, from 1s to 1m (default 1m), so that tests need
//		not wait: 2s for a 429; 15s for a ban, which takes ten seconds of refusals in a row and
//		lasts five of these minutes
//	-cors-origin ORIGIN
//		let web pages of this origin call the API, such as https://example.com
//	-delay DURATION
//		hold back each response of the API for that long (default 0, at most 8s), to show how a
//		client waits
//	-fail M/N
//		of every N requests of the API that the limits let through, fail the first M with 503,
//		and change nothing, to show how a client retries; 2/3 fails two in a row
//	-drop M/N
//		of every N requests of the API that are carried out, and saved, close the connection of
//		the first M without a response, to show what a client does when it cannot know
//	-v
//		log each request: method, path, status or "dropped", duration
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
// The records file is a JSON object with the arrays categories, pets, orders and inventory, each as
// the API lists it, and lastCategoryId, lastPetId and lastOrderId, the last ids assigned. Each may
// be left out. It can be edited while the server is down.
//
// SIGINT and SIGTERM stop the server: it finishes the requests in flight, for 10 seconds at most. A
// second signal stops it at once. The exit code is 0 after such a stop, 1 if the server cannot
// start or keep running, and 2 for a bad flag.
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
	"runtime/debug"
	"strconv"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)   // stop catching signals, so that a second one ends the process
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
	addr, data, keys string
	minute           time.Duration
	options
}

func parseFlags(args []string, stderr io.Writer) (*config, error) {
	c := new(config)
	flags := flag.NewFlagSet("petstore", flag.ContinueOnError)
	flags.StringVar(&c.addr, "addr", "localhost:8080", "listen on `HOST:PORT`; 0 is a free port")
	flags.StringVar(&c.data, "data", "petstore.json", "keep the records in `FILE`; '': in memory")
	flags.StringVar(&c.keys, "keys", "", "read the API keys from `FILE`; '': the public demo keys")
	flags.DurationVar(&c.minute, "minute", time.Minute, "a minute of the limits, from 1s")
	flags.StringVar(&c.origin, "cors-origin", "", "let web pages of `ORIGIN` call the API")
	flags.DurationVar(&c.delay, "delay", 0, "hold back each response of the API, at most 8s")
	flags.Var(&c.fail, "fail", "of every N requests that are let through, fail M: `M/N`")
	flags.Var(&c.drop, "drop", "of every N requests carried out, leave M without response: `M/N`")
	flags.BoolVar(&c.verbose, "v", false, "log each request")
	flags.SetOutput(io.Discard) // run prints one line for a bad flag
	err := flags.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		flags.SetOutput(stderr)
		flags.Usage()
	}
	if err != nil {
		return nil, err
	}
	if flags.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if c.minute < time.Second || c.minute > time.Minute {
		return nil, fmt.Errorf("-minute must be from 1s to 1m, not %v", c.minute)
	}
	if c.delay < 0 || c.delay > 8*time.Second { // a shutdown waits for 10
		return nil, fmt.Errorf("-delay must be from 0 to 8s, not %v", c.delay)
	}
	if c.origin != "" && !isOrigin(c.origin) {
		return nil, fmt.Errorf("-cors-origin must be like https://example.com, not %q", c.origin)
	}
	return c, nil
}

// isOrigin reports whether text is an origin as browsers send it (RFC 6454): a scheme and a host,
// with a port if need be, in small letters, and no path.
var isOrigin = regexp.MustCompile(
	`^[a-z][a-z0-9+.-]*://([a-z0-9._-]+|\[[0-9a-f:.]+\])(:[1-9][0-9]*)?$`).MatchString

// serve serves until ctx is done. Then it finishes the requests in flight.
func serve(ctx context.Context, c *config, stderr io.Writer) error {
	// The heap may grow to five times what is in use, unless GOGC is set. With the default, twice,
	// a list of 100 pets costs a quarter more processor time.
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
	logger := log.New(stderr, "", log.LstdFlags)
	limits, err := readKeys(c)
	if err != nil {
		return err
	}
	// A busy port is found out before the store is opened, so that no file is left behind.
	listener, err := listen(c.addr, limits.demo)
	if err != nil {
		return err
	}
	defer listener.Close()
	store, err := openStore(c.data, logger)
	if err != nil {
		return err
	}
	c.baseURL = urlOf(listener, c.addr)
	exampleKey := "KEY"
	if limits.demo {
		exampleKey = "demo-free"
	}
	fmt.Fprintf(stderr, "Petstore API: %s\n", c.baseURL)
	fmt.Fprintf(stderr, "Reference:    %s/\n", c.baseURL)
	fmt.Fprintf(stderr, "Try:          curl -i -H \"Authorization: Bearer %s\" %s/pets\n",
		exampleKey, c.baseURL)

	server := httpServer(newServer(store, limits, logger, &c.options))
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

// httpServer returns a server that drops slow clients. They have 5 seconds to send the request, and
// 10 seconds (and the delay) from the end of its header to read the response. A write waits for its
// turn within them; one that is cut off may have been saved.
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

// shutDown accepts no more connections and finishes the requests in flight. Those that take longer
// than 10 seconds are cut off.
func shutDown(server *http.Server, logger *log.Logger) {
	grace, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if server.Shutdown(grace) != nil {
		logger.Print("stopping, although some requests are not finished")
		server.Close()
	}
}

// readKeys reads the keys file, or takes the demo keys if there is none.
func readKeys(c *config) (*Limits, error) {
	host, _, _ := net.SplitHostPort(c.addr)
	if c.keys == "" {
		return newLimits(nil, c.minute, host)
	}
	keys, err := os.ReadFile(c.keys)
	if err != nil {
		return nil, err
	}
	limits, err := newLimits(keys, c.minute, host)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.keys, err)
	}
	return limits, nil
}

// listen listens on an address. With the demo keys, it must be a loopback address.
func listen(address string, demo bool) (*net.TCPListener, error) {
	resolved, err := net.ResolveTCPAddr("tcp", address)
	if err != nil {
		return nil, err
	}
	if demo && !resolved.IP.IsLoopback() {
		return nil, fmt.Errorf("-addr %s is not a loopback address, and the demo keys are public: "+
			"pass -keys FILE too", address)
	}
	listener, err := net.ListenTCP("tcp", resolved)
	if err != nil {
		return nil, fmt.Errorf("%w; choose another address, such as -addr localhost:0", err)
	}
	return listener, nil
}

// urlOf returns the URL of the server, with the host that the user gave or, if it listens on all
// addresses, localhost.
func urlOf(listener *net.TCPListener, addr string) string {
	host, _, _ := net.SplitHostPort(addr)
	bound := listener.Addr().(*net.TCPAddr)
	if bound.IP.IsUnspecified() {
		host = "localhost"
	}
	return "http://" + net.JoinHostPort(host, strconv.Itoa(bound.Port))
}
