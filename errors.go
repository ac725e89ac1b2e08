package main

import (
	"fmt"
	"net/http"
)

// A code tells a client program why its request failed. Each code has exactly one HTTP status.
type code struct {
	name   string
	status int
}

var (
	malformedJSON        = code{"malformed_json", http.StatusBadRequest}
	invalidField         = code{"invalid_field", http.StatusBadRequest}
	invalidParameter     = code{"invalid_parameter", http.StatusBadRequest}
	unknownReference     = code{"unknown_reference", http.StatusBadRequest}
	incompleteBody       = code{"incomplete_body", http.StatusBadRequest}
	unauthorized         = code{"unauthorized", http.StatusUnauthorized}
	keyBanned            = code{"key_banned", http.StatusForbidden}
	notFound             = code{"not_found", http.StatusNotFound}
	methodNotAllowed     = code{"method_not_allowed", http.StatusMethodNotAllowed}
	inUse                = code{"in_use", http.StatusConflict}
	orderComplete        = code{"order_complete", http.StatusConflict}
	payloadTooLarge      = code{"payload_too_large", http.StatusRequestEntityTooLarge}
	unsupportedMediaType = code{"unsupported_media_type", http.StatusUnsupportedMediaType}
	wrongHost            = code{"wrong_host", http.StatusMisdirectedRequest}
	rateLimited          = code{"rate_limited", http.StatusTooManyRequests}
	internalError        = code{"internal_error", http.StatusInternalServerError}
	saveFailed           = code{"save_failed", http.StatusServiceUnavailable}
	fileChanged          = code{"file_changed", http.StatusServiceUnavailable}
	failedOnPurpose      = code{"failed_on_purpose", http.StatusServiceUnavailable}
)

// An Error is a failed request as the client sees it. It is both a Go error and the JSON body of
// the response:
//
//	{"code":"not_found","message":"No pet has the id 99; ...","status":404}
//
// The message is one sentence that says what is wrong and, if anything helps, what to do. It never
// shows Go types, file paths or stack traces. Where a file is refused at the start, only the
// message is used.
type Error struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Status  int    `json:"status"`
}

func (e *Error) Error() string { return e.Message }

func newError(c code, format string, args ...any) *Error {
	return &Error{Code: c.name, Message: fmt.Sprintf(format, args...), Status: c.status}
}
