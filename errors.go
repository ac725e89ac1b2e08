package main

import (
	"fmt"
	"math"
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

// A headerLine is one line of a response's header.
type headerLine struct{ name, value string }

// Every failure that this program reports to a client is an Error: a Go error in the program, and this JSON in the
// response. (What is not valid HTTP never gets here: net/http itself refuses it, in plain text.)
//
//	{"code": "not_found", "message": "No pet has the id 999; GET /pets lists them.", "status": 404}
//
// The message is one sentence for the client: what is wrong and, if that helps, what to do about it.
type Error struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Status  int    `json:"status"`

	header []headerLine // sent along with the error, such as Retry-After
}

func (e *Error) Error() string { return e.Message }

// fail returns an Error with the given HTTP status, which must be one that codes lists.
func fail(status int, format string, args ...any) *Error {
	code, ok := codes[status]
	if !ok {
		panic(fmt.Sprintf("no error code for the status %d", status))
	}
	return &Error{Code: code, Message: fmt.Sprintf(format, args...), Status: status}
}

func invalid(format string, args ...any) *Error {
	return fail(http.StatusBadRequest, format, args...)
}

func unavailable(format string, args ...any) *Error {
	return fail(http.StatusServiceUnavailable, format, args...)
}

// with adds a header line to the error.
func (e *Error) with(name, value string) *Error {
	e.header = append(e.header, headerLine{name, value})
	return e
}

// retryAfter tells the client how long to wait (RFC 9110, section 10.2.3). The header takes whole seconds, so the wait
// is rounded up; it is at least 1, since 0 would be no wait at all.
func (e *Error) retryAfter(wait time.Duration) *Error {
	seconds := max(1, int(math.Ceil(wait.Seconds())))
	return e.with("Retry-After", strconv.Itoa(seconds))
}

// catch calls f, and turns a panic in it into an error that holds the stack, so that only one request fails.
func catch(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return f()
}
