// Petstore is a pet store API to show, to try and to test against: pets, categories, orders and stock over
// HTTP with JSON bodies, behind API keys with limits, kept in memory and in one JSON file.
//
// Usage:
//
//	petstore [flags]
//
// The flags are:
//
//	-addr HOST:PORT
//		listen there (default localhost:8080); port 0 picks a free one
//	-data FILE
//		keep the records in this file (default petstore.json); empty: keep nothing on disk
//	-keys FILE
//		read the API keys from this file; without it there are four public demo keys, and the server
//		listens on loopback only
//	-sync
//		answer a write only when it is on disk (default true); false: answer at once and save within a second
//	-cors-origin ORIGIN
//		let the pages of this origin call the API
//	-v
//		log each request
//
// The keys file is a JSON array:
//
//	[{"key": "...", "plan": "pro"}, {"key": "...", "plan": "enterprise", "perMinute": 5000, "perDay": 1000000}]
//
// The plans are free (60 requests a minute, 1000 a day), pro (300, 10000), business (1000, 100000) and
// enterprise, which has its own two figures.
//
// SIGINT and SIGTERM stop the server: requests in flight are finished, and a last snapshot is saved.
// The exit code is 0 then, 1 where the server cannot start or save, and 2 for a bad flag.
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
	"runtime"
	"runtime/debug"
	"strconv"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	os.Exit(run(ctx, os.Args[1:], os.Stderr))
}

// run starts the server, serves until ctx is done, and returns the exit code.
func run(ctx context.Context, args []string, stderr io.Writer) int {
	flags := flag.NewFlagSet("petstore", flag.ContinueOnError)
	addr := flags.String("addr", "localhost:8080", "listen on `HOST:PORT`; port 0 picks a free one")
	data := flags.String("data", "petstore.json", "keep the records in `FILE`; empty: keep nothing on disk")
	keys := flags.String("keys", "", "read the API keys from `FILE`; empty: demo keys, on loopback only")
	sync := flags.Bool("sync", true, "answer a write only when it is on disk")
	origin := flags.String("cors-origin", "", "let the pages of `ORIGIN` call the API")
	verbose := flags.Bool("v", false, "log each request")
	flags.SetOutput(io.Discard)
	err := flags.Parse(args)
	if err == nil && flags.NArg() > 0 {
		err = fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	switch {
	case errors.Is(err, flag.ErrHelp):
		flags.SetOutput(stderr)
		flags.Usage()
		return 0
	case err != nil:
		fmt.Fprintf(stderr, "petstore: %v (petstore -h lists the flags)\n", err)
		return 2
	}
	if u, err := url.Parse(*origin); *origin != "" && (err != nil || u.Host == "" || *origin != u.Scheme+"://"+u.Host) {
		fmt.Fprintf(stderr, "petstore: -cors-origin must be like https://example.com, not %q\n", *origin)
		return 2
	}
	s := &Server{log: log.New(stderr, "", log.LstdFlags), verbose: *verbose, origin: *origin}
	if err := s.listenAndServe(ctx, *addr, *data, *keys, *sync, stderr); err != nil {
		fmt.Fprintf(stderr, "petstore: %v\n", err)
		return 1
	}
	return 0
}

// listenAndServe serves until ctx is done, and then finishes what is in flight and saves a last snapshot.
func (s *Server) listenAndServe(ctx context.Context, addr, data, keysFile string, synced bool, stderr io.Writer) error {
	// A heap as small as that of a small store would be collected hundreds of times a second. 64 MB that are
	// never touched are never in memory, and let 32 MB of garbage pass between two collections.
	ballast := make([]byte, 64<<20)
	defer runtime.KeepAlive(ballast)
	debug.SetGCPercent(50)

	keys, err := []byte(demoKeys), error(nil)
	example := "KEY"
	if keysFile == "" {
		s.publicKeys, example = demoKeys, "demo-free"
	} else if keys, err = os.ReadFile(keysFile); err != nil {
		return err
	}
	if s.limits, err = newLimits(keys); err != nil {
		return fmt.Errorf("%s: %w", keysFile, err)
	}
	tcp, err := net.ResolveTCPAddr("tcp", addr)
	if err != nil {
		return err
	}
	if keysFile == "" && !tcp.IP.IsLoopback() {
		return fmt.Errorf("-addr %s is not a loopback address, and the demo keys are public: pass -keys FILE too", addr)
	}
	listener, err := net.ListenTCP("tcp", tcp)
	if err != nil {
		return err
	}
	defer listener.Close()
	if s.store, err = openStore(data, synced, s.log); err != nil {
		return err
	}

	host, _, _ := net.SplitHostPort(addr)
	if tcp.IP == nil || tcp.IP.IsUnspecified() {
		host = "localhost"
	}
	base := "http://" + net.JoinHostPort(host, strconv.Itoa(listener.Addr().(*net.TCPAddr).Port))
	fmt.Fprintf(stderr, "Petstore API: %s\nReference:    %s/\nTry:          curl -i -H \"Authorization: Bearer %s\" %s/pets\n",
		base, base, example, base)

	server := s.httpServer()
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err = <-failed:
	case <-ctx.Done():
		grace, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if server.Shutdown(grace) != nil {
			s.log.Print("stopping although some requests are not finished")
		}
	}
	return errors.Join(err, s.store.Close())
}

// httpServer cuts off within 15 seconds a client that is slow to send its request or to take its answer.
func (s *Server) httpServer() *http.Server {
	return &http.Server{
		Handler:        s.handler(),
		ReadTimeout:    5 * time.Second,  // of header and body
		WriteTimeout:   10 * time.Second, // from the end of the header on
		IdleTimeout:    2 * time.Minute,
		MaxHeaderBytes: 16 << 10,
		ErrorLog:       s.log,
	}
}
