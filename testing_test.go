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

// commonBugs are in the clients in Go and in Python.
var commonBugs = []bug{
	{"Retry-After is ignored", "waits_after_two_503s"},
	{"a 503 is final", "waits_after_two_503s"},
	{"only one retry", "waits_after_two_503s"},
	{"no body in a retry", "waits_after_two_503s"},
	{"too many tries", "gives_up_in_the_end"},
	{"a lost GET is final", "retries_a_lost_GET"},
	{"a lost POST is retried", "does_not_retry_a_lost_POST"},
	{"a timed-out GET is final", "retries_a_timed-out_GET"},
	{"a timed-out POST is retried", "does_not_retry_a_timed-out_POST"},
	{"no timeout", "does_not_retry_a_timed-out_POST"},
	{"a 404 is retried", "does_not_retry_a_404"},
	{"an error is no error", "does_not_retry_a_404"},
	{"a 409 is retried", "does_not_retry_a_409"},
}

func TestGoClient(t *testing.T) {
	t.Parallel()
	shop := newShop(t, "client_test.go", "network_test.go")
	shell(shop, "go mod init shop;"+block(t, "mkdir -p internal/petstore/docs"))
	printed := shell(shop, "go vet . && go test -v -timeout 30s")
	contains(t, "two days", printed, "24h16m0s, 2033 requests")
	contains(t, "the client", printed, "\nPASS\n")
	if version.Compare(runtime.Version(), "go1.27") >= 0 {
		const script = "cp ../petstore/testdata/clients/networks_test.go . && go vet . &&" +
			"go test -v -run TestNetworks; rm networks_test.go"
		contains(t, "both networks", shell(shop, script), "\n--- PASS: TestNetworks")
	}
	shell(shop, "mkdir correct && mv client.go correct &&"+
		"cp ../petstore/testdata/clients/bugs/client.go . && go test -c -o planted")
	const test = "./planted -test.timeout 10s"
	convict(t, shop, test, "^PASS\n", "FAIL: .*TEST \\(", append(commonBugs,
		bug{"a 429 is final", "TestTwoDays"},
		bug{"the last error is no error", "gives_up_in_the_end"},
		bug{"a 403 is final", "TestBan"},
		bug{"no wait longer than a minute", "TestBan"},
		bug{"a day is waited for", "TestTwoDays"},
		bug{"a wait outlives its context", "TestCancel"},
		bug{"no next page", "TestOwnRecords"}))
}

func TestPythonClient(t *testing.T) {
	t.Parallel()
	_, err := exec.LookPath("pytest")
	need(t, "pytest", err)
	shop := newShop(t, "conftest.py", "test_client.py")
	contains(t, "the client", shell(shop, block(t, "cp ../petstore/testdata/clients/client.py .")+
		"pytest -q -p no:cacheprovider"), "\n13 passed in ")
	shell(shop, "mv client.py correct.py && cp ../petstore/testdata/clients/bugs/client.py .")
	convict(t, shop, `pytest -q -k "$TEST"`, "13 passed in ", "FAILED .*TEST", append(commonBugs,
		bug{"a 429 is final", "test_429"},
		bug{"a 403 is final", "test_ban"},
		bug{"no wait is too long", "test_day"},
		bug{"no wait is too long", "test_within"},
		bug{"no next page", "test_own_records"}))
}

func TestJavaScriptClient(t *testing.T) {
	t.Parallel()
	_, err := exec.LookPath("npm")
	need(t, "npm", err)
	shop := newShop(t, "petstore.mjs", "client.test.mjs")
	const test = "node --test --test-force-exit --test-reporter=tap"
	contains(t, "the client", shell(shop, block(t, "npm install got@14.6.6")+test), "# pass 5\n")
	shell(shop, "mv client.mjs correct.mjs && cp ../petstore/testdata/clients/bugs/client.mjs .")
	convict(t, shop, test, "# pass 5\n", "not ok [0-9] - TEST\n", []bug{
		{`{"retry": {"limit": 1}}`, "waits after two 503s"},
		{`{"retry": {"limit": 9}}`, "gives up in the end"},
		{`{"throwHttpErrors": false}`, "gives up in the end"},
		{`{"retry": {"methods": ["GET", "PUT", "POST"]}}`, "does not retry a lost POST"},
		{`{"retry": {"errorCodes": ["ECONNRESET"]}}`, "retries a timed-out GET"},
		{`{"timeout": {"request": 9000}}`, "retries a timed-out GET"},
		{`{"retry": {"statusCodes": [503]}}`, "waits after a 429"},
	})
}

func TestWebPage(t *testing.T) {
	t.Parallel()
	_, err := exec.LookPath("npm")
	need(t, "npm", err)
	const find = "command -v chromium || command -v chromium-browser || command -v google-chrome"
	out, err := exec.Command("sh", "-c", find).Output()
	need(t, "chromium", err)
	chromium := strings.TrimSpace(string(out))
	shop := newShop(t, "petstore.mjs", "page.test.mjs")
	printed := shell(shop, "cp -R ../petstore/testdata/clients/page/* .;"+
		block(t, "npm install vite@8 typescript@5 openapi-typescript@7 playwright-core@1")+
		"npx tsc --noEmit --strict -t esnext -m esnext --moduleResolution bundler src/main.ts &&"+
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
// files of it.
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
		writeFile(t, filepath.Join(shop, file), block(t, file))
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
