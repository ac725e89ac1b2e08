//go:build integration && unix

package main

import (
	"context"
	"go/version"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// These tests do what docs/testing.md says. The clients in testdata/clients pass the document's
// tests, and each bug in testdata/clients/bugs makes the test fail that stands beside it here.

// A bug is chosen by its name in the variable BUG. The test is one of the document's.
type bug struct{ name, test string }

func TestGoClient(t *testing.T) {
	t.Parallel()
	for _, network := range []string{"network_test.go", "network_test.go, with Go 1.27"} {
		t.Run(network, func(t *testing.T) {
			newest := version.Compare(runtime.Version(), "go1.27") >= 0
			if strings.Contains(network, "1.27") && !newest {
				t.Skip("needs Go 1.27")
			}
			shop := newShop(t, "client_test.go", network)
			printed := shell(shop, "go mod init shop;"+block(t, "mkdir -p internal/petstore/docs")+
				"go vet . && go test -v -timeout 30s")
			contains(t, "a client's two days", printed, "48h8m0s, 2542 requests")
			contains(t, "the client", printed, "\nPASS\n")
			if !strings.Contains(network, "1.27") && newest {
				printed = shell(shop, "cp ../petstore/testdata/clients/networks_test.go . &&"+
					"go vet . && go test -v -run TestNetworks; rm networks_test.go")
				contains(t, "both networks", printed, "\n--- PASS: TestNetworks")
			}
			shell(shop, "cp ../petstore/testdata/clients/bugs/client.go . && go test -c -o planted")
			convict(t, shop, "./planted -test.timeout 10s", "^PASS\n", "TEST \\(", []bug{
				{"Retry-After in milliseconds", "TestCall/waits_after_two_503s"},
				{"Retry-After is ignored", "TestTwoDays"},
				{"a 429 is final", "TestTwoDays"},
				{"a 503 is final", "TestCall/waits_after_two_503s"},
				{"only one retry", "TestCall/waits_after_two_503s"},
				{"no body in a retry", "TestCall/waits_after_two_503s"},
				{"no end of tries", "TestCall/gives_up_in_the_end"},
				{"the last error is no error", "TestCall/gives_up_in_the_end"},
				{"a lost GET is not retried", "TestCall/retries_a_lost_GET"},
				{"a lost POST is retried", "TestCall/does_not_retry_a_lost_POST"},
				{"a timed-out GET is not retried", "TestCall/retries_a_GET_that_timed_out"},
				{"one timeout for all tries", "TestCall/retries_a_GET_that_timed_out"},
				{"a timed-out POST is retried", "TestCall/does_not_retry_a_POST_that_timed_out"},
				{"no timeout", "TestCall/does_not_retry_a_POST_that_timed_out"},
				{"a 404 is retried", "TestCall/does_not_retry_a_404"},
				{"an error is no error", "TestCall/does_not_retry_a_404"},
				{"a 409 is retried", "TestCall/does_not_retry_a_409"},
				{"a 403 is final", "TestBan"},
				{"no wait longer than a minute", "TestBan"},
				{"a day is waited for", "TestHour"},
				{"a wait outlives its context", "TestCancel"},
				{"no next page", "TestOwnRecords"},
				{"ids of 32 bits", "TestOwnRecords"},
			})
		})
	}
}

func TestPythonClient(t *testing.T) {
	t.Parallel()
	_, err := exec.LookPath("pytest")
	need(t, "pytest", err)
	shop := newShop(t, "conftest.py", "test_client.py")
	contains(t, "the client", shell(shop, block(t, "cp ../petstore/testdata/clients/client.py .")+
		"pytest -q -p no:cacheprovider"), "\n13 passed in ")
	shell(shop, "cp ../petstore/testdata/clients/bugs/client.py .")
	const test = "pytest -q test_client.py${TEST:+::}$TEST"
	convict(t, shop, test, "13 passed in ", "FAILED .*::TEST", []bug{
		{"Retry-After in milliseconds", "test_call[waits_after_two_503s]"},
		{"a 503 is final", "test_call[waits_after_two_503s]"},
		{"only one retry", "test_call[waits_after_two_503s]"},
		{"no body in a retry", "test_call[waits_after_two_503s]"},
		{"no end of tries", "test_call[gives_up_in_the_end]"},
		{"a lost GET is not retried", "test_call[retries_lost_GET]"},
		{"a lost POST is retried", "test_call[does_not_retry_lost_POST]"},
		{"a timed-out GET is not retried", "test_call[retries_timed_out_GET]"},
		{"a timed-out POST is retried", "test_call[does_not_retry_timed_out_POST]"},
		{"no timeout", "test_call[does_not_retry_timed_out_POST]"},
		{"a 404 is retried", "test_call[does_not_retry_404]"},
		{"an error is no error", "test_call[does_not_retry_404]"},
		{"a 409 is retried", "test_call[does_not_retry_409]"},
		{"Retry-After is ignored", "test_429"},
		{"a 429 is final", "test_429"},
		{"a 403 is final", "test_ban"},
		{"no wait is too long", "test_day"},
		{"each wait is limited, not all", "test_within"},
		{"no next page", "test_own_records"},
	})
}

func TestJavaScriptClient(t *testing.T) {
	t.Parallel()
	_, err := exec.LookPath("npm")
	need(t, "npm", err)
	shop := newShop(t, "petstore.mjs", "client.test.mjs")
	const test = "node --test --test-force-exit --test-reporter=tap"
	contains(t, "the client", shell(shop, block(t, "npm install got@14.6.6")+test), "# pass 5\n")
	shell(shop, "cp ../petstore/testdata/clients/bugs/client.mjs .")
	convict(t, shop, test, "# pass 5\n", "not ok [0-9] - TEST\n", []bug{
		{"a PUT is not retried", "waits after two 503s"},
		{"no retry", "waits after two 503s"},
		{"only one retry", "waits after two 503s"},
		{"an error is no error", "gives up in the end"},
		{"no end of tries", "gives up in the end"},
		{"a lost POST is retried", "does not retry a lost POST"},
		{"a timed-out GET is not retried", "retries a GET that timed out"},
		{"no timeout", "retries a GET that timed out"},
		{"Retry-After is ignored", "waits after a 429"},
		{"a 429 is final", "waits after a 429"},
		{"no wait longer than a second", "waits after a 429"},
	})
}

func TestWebPage(t *testing.T) {
	t.Parallel()
	_, err := exec.LookPath("npm")
	need(t, "npm", err)
	var chromium string
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if chromium, err = exec.LookPath(name); err == nil {
			break
		}
	}
	need(t, "chromium", err)
	shop := newShop(t, "petstore.mjs", "page.test.mjs")
	printed := shell(shop, "cp -R ../petstore/testdata/clients/page/* .;"+
		block(t, "npm install vite@8 typescript@5 openapi-typescript@7 playwright-core@1")+
		"npx tsc --noEmit --strict --target esnext --moduleResolution bundler src/main.ts &&"+
		"node --test --test-force-exit --test-reporter=tap", "CHROMIUM="+chromium)
	contains(t, "the page", printed, "# pass 1\n")
}

// block returns the block of docs/testing.md whose first line is this, perhaps in a comment.
func block(t *testing.T, first string) string {
	t.Helper()
	text := contentOf(t, "docs/testing.md")
	found := regexp.MustCompile("(?s)\n```[a-z]+\n((?:# |// )?" + regexp.QuoteMeta(first) +
		"\n(?:.*?\n)??)```\n").FindStringSubmatch(text)
	if found == nil {
		t.Fatalf("docs/testing.md has no block that begins with %q", first)
	}
	return found[1]
}

// newShop returns a directory next to a clone, with the document's records and keys and with these
// files of it. What follows a comma is no part of a file's name.
func newShop(t *testing.T, files ...string) string {
	t.Helper()
	clone, err := os.Getwd()
	must(t, err)
	root := t.TempDir()
	must(t, os.Symlink(clone, filepath.Join(root, "petstore")))
	shop := filepath.Join(root, "shop")
	must(t, os.Mkdir(shop, 0o755))
	shell(shop, block(t, "cat >zoo.json <<'JSON'"))
	for _, file := range files {
		name, _, _ := strings.Cut(file, ",")
		writeFile(t, filepath.Join(shop, name), block(t, file))
	}
	return shop
}

// shell runs a script in a directory, with petstore in the PATH, and returns what it prints.
func shell(directory, script string, env ...string) string {
	petstore, err := binary()
	if err != nil {
		return err.Error()
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", script)
	cmd.WaitDelay = time.Second // for a server that holds our pipe
	cmd.Dir = directory
	cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(petstore)+":"+os.Getenv("PATH"))
	cmd.Env = append(cmd.Env, env...)
	out, _ := cmd.CombinedOutput()
	return string(out)
}

// convict runs a script without a bug and with each of them, all at once. What it prints must match
// passed or, for a bug, failed, in which TEST is the bug's test.
func convict(t *testing.T, shop, script, passed, failed string, bugs []bug) {
	t.Helper()
	bugs = append(bugs, bug{})
	printed := make([]string, len(bugs))
	var running sync.WaitGroup
	for i, b := range bugs {
		running.Go(func() { printed[i] = shell(shop, script, "BUG="+b.name, "TEST="+b.test) })
	}
	running.Wait()
	for i, b := range bugs {
		want := passed
		if b.name != "" {
			want = strings.ReplaceAll(failed, "TEST", regexp.QuoteMeta(b.test))
		}
		if !regexp.MustCompile(want).MatchString(printed[i]) {
			t.Errorf("with the bug %q there is no %s in\n%s", b.name, want, printed[i])
		}
	}
}
