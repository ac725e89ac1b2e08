package main

import (
	"fmt"
	"net/http"
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
	http.StatusServiceUnavailable:    "service_unavailable",
}

// An Error is a failure that a client is told about. It is a Go error, and the JSON body of the response:
//
//	{"code": "not_found", "message": "No pet has the id 999; GET /pets lists them.", "status": 404}
//
// The message is one sentence: what is wrong and, if that helps, what to do about it. It never shows Go types, file
// paths or stack traces.
type Error struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Status  int    `json:"status"`
}

func (e *Error) Error() string { return e.Message }

// fail returns an Error. Its HTTP status must be one of codes.
func fail(status int, format string, args ...any) *Error {
	return &Error{codes[status], fmt.Sprintf(format, args...), status}
}

// invalid returns an Error for a request that the client must change: status 400.
func invalid(format string, args ...any) *Error {
	return fail(http.StatusBadRequest, format, args...)
}
