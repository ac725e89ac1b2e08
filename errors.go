package main

import (
	"fmt"
	"net/http"
	"runtime/debug"
	"strconv"
	"time"
)

// codes maps the HTTP status of a failure to its machine-readable code.
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

// Error is the one shape of every failure, both as a Go error and as the JSON that the client gets:
//
//	{"code": "not_found", "message": "No pet has the id 999; GET /pets lists them.", "status": 404}
//
// The message is one sentence for the client: what is wrong and what to do about it.
type Error struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Status  int    `json:"status"`

	header []headerLine // sent along with the error, such as Retry-After
}

// A headerLine is one line of a response's header.
type headerLine struct{ name, value string }

func (e *Error) Error() string { return e.Message }

// fail returns an Error with the given HTTP status, which must be one that codes lists.
func fail(status int, format string, args ...any) *Error {
	code, ok := codes[status]
	if !ok {
		panic(fmt.Sprintf("no error code for the status %d", status))
	}
	return &Error{Code: code, Message: fmt.Sprintf(format, args...), Status: status}
}

func invalid(format string, args ...any) error {
	return fail(http.StatusBadRequest, format, args...)
}

func unavailable(format string, args ...any) error {
	return fail(http.StatusServiceUnavailable, format, args...)
}

// with adds a header line to the error.
func (e *Error) with(name, value string) *Error {
	e.header = append(e.header, headerLine{name, value})
	return e
}

// retryAfter tells the client how long to wait, in whole seconds, rounded up, at least 1 (RFC 9110, section 10.2.3).
func (e *Error) retryAfter(wait time.Duration) *Error {
	seconds := max(1, (wait+time.Second-1)/time.Second)
	return e.with("Retry-After", strconv.Itoa(int(seconds)))
}

// catch calls f, and turns a panic in it into an error that holds the stack.
func catch(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return f()
}
