package main

import (
	"fmt"
	"net/http"
)

// codes maps the HTTP status of an error to its machine-readable code.
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
	http.StatusServiceUnavailable:    "service_unavailable",
}

// An Error is what a client is told when its request fails. It is a Go error, and the JSON body of
// the response:
//
//	{"code": "not_found", "message": "/pets/999 does not exist; GET /pets lists ...", "status": 404}
//
// The message is one sentence: what is wrong and, if that helps, what to do about it. It never
// shows Go types, file paths or stack traces.
type Error struct {
	Code    string      `json:"code"`
	Message string      `json:"message"`
	Status  int         `json:"status"`
	header  http.Header // sent with it, such as the Allow of a 405; nil for most errors
}

func (e *Error) Error() string { return e.Message }

// with returns a copy of e that is sent with a header. It does not modify e, which requests may
// share.
func (e *Error) with(header http.Header) *Error {
	return &Error{e.Code, e.Message, e.Status, header}
}

// newError returns an Error with an HTTP status and the code of that status.
func newError(status int, format string, args ...any) *Error {
	return &Error{Code: codes[status], Message: fmt.Sprintf(format, args...), Status: status}
}

// invalid returns an Error for a request that the client must change. The keys file and the records
// file are refused with the same messages; nobody looks at the status then.
func invalid(format string, args ...any) *Error {
	return newError(http.StatusBadRequest, format, args...)
}

// conflict returns an Error for a request that the state of a record forbids.
func conflict(format string, args ...any) *Error {
	return newError(http.StatusConflict, format, args...)
}
