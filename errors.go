package main

import (
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"strconv"
	"time"
)

// codes are the machine-readable names of the statuses that an error can have.
var codes = map[int]string{
	http.StatusBadRequest:            "invalid_request",
	http.StatusUnauthorized:          "unauthorized",
	http.StatusForbidden:             "key_banned",
	http.StatusNotFound:              "not_found",
	http.StatusMethodNotAllowed:      "method_not_allowed",
	http.StatusConflict:              "conflict",
	http.StatusRequestEntityTooLarge: "payload_too_large",
	http.StatusUnsupportedMediaType:  "unsupported_media_type",
	http.StatusTooManyRequests:       "rate_limited",
	http.StatusInternalServerError:   "internal_error",
	http.StatusServiceUnavailable:    "storage_unavailable",
}

// Error is the one shape of every failure. Its message is one sentence: what is wrong and what to do.
type Error struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Status  int    `json:"status"`
	header  []headerLine
}

func (e *Error) Error() string { return e.Message }

// fail returns the Error of an HTTP status that codes has.
func fail(status int, format string, args ...any) *Error {
	return &Error{codes[status], fmt.Sprintf(format, args...), status, nil}
}

func invalid(format string, args ...any) error {
	return fail(http.StatusBadRequest, format, args...)
}

func unavailable(format string, args ...any) error {
	return fail(http.StatusServiceUnavailable, format, args...)
}

// errUnsaved is the result of a change that the store undid.
var errUnsaved = unavailable("The store cannot save to its disk now, so nothing was changed; try again later.")

// with adds a header of its own to the error.
func (e *Error) with(name, value string) *Error {
	e.header = append(e.header, headerLine{name, value})
	return e
}

// retryAfter tells the client to wait: whole seconds, rounded up (RFC 9110, section 10.2.3).
func (e *Error) retryAfter(wait time.Duration) *Error {
	seconds := max(1, (wait+time.Second-1)/time.Second)
	return e.with("Retry-After", strconv.Itoa(int(seconds)))
}

// An answer is what a handler wants sent: by default JSON, with the headers of its own.
type answer struct {
	status int
	body   []byte
	header []headerLine
}

type headerLine struct{ name, value string }

// A handler returns the answer to a request, or the error to send instead. It never sees the ResponseWriter.
type handler func(*http.Request) (answer, error)

// serve is the one wrapper around every route, and alone writes errors and rate headers. It admits the
// caller, unless the route is open to all, limits the body, runs the handler and sends what it returned.
func (s *Server) serve(h handler, open bool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		now := time.Now()
		header := w.Header()
		var plan string
		a := answer{status: http.StatusNoContent}
		defer func() {
			if s.verbose {
				s.log.Printf("%s %q %d %s plan=%q", r.Method, r.URL.Path, a.status, time.Since(now), plan)
			}
		}()
		if s.cors(r, header) {
			w.WriteHeader(a.status)
			return
		}
		var err error
		if !open {
			var q quota
			plan, q, err = s.limits.admit(r, now)
			// Assigned rather than Set, which would spell the names X-Ratelimit.
			header["X-RateLimit-Limit"] = []string{strconv.FormatInt(q.limit, 10)}
			header["X-RateLimit-Remaining"] = []string{strconv.FormatInt(q.left, 10)}
			header["X-RateLimit-Reset"] = []string{strconv.FormatInt(q.reset.Add(time.Second-1).Unix(), 10)}
		}
		if err == nil {
			r.Body = http.MaxBytesReader(w, r.Body, maxBody)
			a, err = s.run(h, r)
		}
		if err != nil {
			a = s.failure(err)
		}
		if r.TransferEncoding != nil {
			header.Set("Connection", "close") // for net/http drops a Content-Length beside it (RFC 9112, section 6.1)
		}
		if a.body != nil {
			header.Set("Content-Type", "application/json")
			header.Set("Content-Length", strconv.Itoa(len(a.body)))
		}
		for _, line := range a.header {
			header.Set(line.name, line.value)
		}
		w.WriteHeader(a.status)
		w.Write(a.body)
	}
}

// run turns a panic of the handler into an error for this request alone.
func (s *Server) run(h handler, r *http.Request) (a answer, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return h(r)
}

// failure returns the answer to a request that failed. What no client should see is logged.
func (s *Server) failure(err error) answer {
	var e *Error
	if !errors.As(err, &e) {
		s.log.Print(err)
		e = fail(http.StatusInternalServerError, "The server failed on this request; try again, and report it if it fails again.")
	}
	return answer{e.Status, encode(e), e.header}
}

// cors lets the pages of one other origin call the API and read its headers. It reports whether the request
// is a preflight (Fetch standard, section 3.2), which asks for just that and carries no key.
func (s *Server) cors(r *http.Request, header http.Header) (preflight bool) {
	if s.origin == "" {
		return false
	}
	header.Set("Access-Control-Allow-Origin", s.origin)
	header.Set("Access-Control-Expose-Headers",
		"X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, Retry-After, Location, Link, Allow, Deprecation, Sunset")
	if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
		return false
	}
	header.Set("Access-Control-Allow-Methods", "GET, HEAD, POST, PUT, PATCH, DELETE")
	header.Set("Access-Control-Allow-Headers", "Authorization, X-API-Key, Content-Type")
	header.Set("Access-Control-Max-Age", "600")
	return true
}
