package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// onlyIfAsked skips a test that takes its time: compiles another module, waits for a ban.
func onlyIfAsked(t *testing.T) {
	t.Helper()
	if os.Getenv("DOCUMENTS") == "" {
		t.Skip("runs with DOCUMENTS=1 in the environment")
	}
}

// interpreter returns the first of these programs that is here. CI must have one.
func interpreter(t *testing.T, names ...string) string {
	t.Helper()
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	if os.Getenv("CI") == "true" {
		t.Fatalf("CI needs %s", names[0])
	}
	t.Skipf("there is no %s here", names[0])
	return ""
}

// runWith runs a command in a directory with these files and with petstore in the PATH, which gets
// the flag too. No server may outlive the command.
func runWith(t *testing.T, flag string, contents map[string]string, command ...string) (
	string, error) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("a shell script cannot be a program here")
	}
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	directory, bin := t.TempDir(), t.TempDir()
	for name, content := range contents {
		write(t, filepath.Join(directory, name), content)
	}
	pids := filepath.Join(bin, "pids")
	script := fmt.Sprintf("#!/bin/sh\necho $$ >>'%s'\nexec '%s' \"$@\" %s\n", pids, path, flag)
	syscall.ForkLock.RLock() // a process forked meanwhile would keep it open: "text file busy"
	err = os.WriteFile(filepath.Join(bin, "petstore"), []byte(script), 0o755)
	syscall.ForkLock.RUnlock()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.WaitDelay = time.Second
	cmd.Dir = directory
	cmd.Env = append(os.Environ(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"),
		"TMPDIR="+t.TempDir(), "PYTHONDONTWRITEBYTECODE=1")
	out, err := cmd.CombinedOutput()
	const ended = `for i in $(seq 500); do
		ps -o stat= -p "$1" | grep -qv Z || exit 0; sleep 0.02; done; exit 1`
	for _, pid := range strings.Fields(read(t, pids)) {
		if exec.Command("sh", "-c", ended, "sh", pid).Run() != nil {
			t.Errorf("a server still runs after\n%s", out)
		}
	}
	return string(out), err
}

// In each language the helper of docs/testing.md starts a server and ends it, and says why one
// cannot start.
func TestHelpersOfTestingMd(t *testing.T) {
	onlyIfAsked(t)
	block := func(language string) string { return blocks(t, "docs/testing.md", language)[0] }
	for name, test := range map[string]struct {
		files   map[string]string
		command []string
	}{
		"Go": {map[string]string{"petstore_test.go": block("go"),
			"go.mod": "module shop\n\ngo 1.26\n", "shop_test.go": `package shop

import (
	"net/http"
	"testing"
)

func TestShop(t *testing.T) {
	if r, err := http.Get(petstore(t, "-v") + "/pets"); err != nil || r.StatusCode != 401 {
		t.Error(r, err)
	}
}
`}, []string{"go", "test", "-count=1", "."}},
		"Python": {map[string]string{"conftest.py": block("python"),
			"test_shop.py": "def test(petstore): assert petstore('-v').url != petstore().url\n",
		}, []string{"pytest", "-q"}},
		"JavaScript": {map[string]string{"petstore.test.mjs": block("js")},
			[]string{"node", "--test"}},
		"sh": {map[string]string{"shop.sh": "set -e\n" + block("sh")},
			[]string{"sh", "shop.sh"}},
		"zsh": {map[string]string{"shop.sh": block("sh")}, []string{"zsh", "shop.sh"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test.command[0] = interpreter(t, test.command[0], test.command[0]+"-3")
			if out, err := runWith(t, "", test.files, test.command...); err != nil {
				t.Errorf("%v: %s", err, out)
			}
			out, err := runWith(t, "-bad", test.files, test.command...)
			if err == nil || !strings.Contains(out, "flag provided but not defined: -bad") {
				t.Errorf("with a bad flag: %v: %s", err, out)
			}
		})
	}
}

// Each test of docs/testing.md passes with the client there, and fails with one that does one thing
// wrong.
func TestClientsOfTestingMd(t *testing.T) {
	onlyIfAsked(t)
	pytest := interpreter(t, "pytest", "pytest-3")
	code := blocks(t, "docs/testing.md", "python")
	for _, fault := range []struct{ test, right, wrong string }{
		{"test_429", "time.sleep(wait)", "time.sleep(0.4)"}, // it just asks often
		{"test_429", `"Retry-After", 1`, `"X", 0.1`},
		{"test_parallel_workers", "status not in (403, 429, 503)", // only heeds what is left
			`headers["X-RateLimit-Remaining"] != "0" or not time.sleep(2)`},
		{"test_503_twice", "tries=6", "tries=2"},
		{"test_lost_response", `method == "POST" or `, ""},
		{"test_slow_response", "timeout=timeout", "timeout=None"},
		{"test_slow_response", `method == "POST" or `, ""},
		{"test_killed_and_started", "except OSError: ", "except TimeoutError: "},
		{"test_ban", "(403, 429, 503)", "(429, 503)"},
		{"test_pages", "url = link and", "url = None and"},
		{"test_deprecation", `"Deprecation" in`, `"X" in`},
	} {
		wrong := strings.Replace(code[1], fault.right, fault.wrong, 1)
		for client, want := range map[string]string{code[1]: "1 passed", wrong: "1 failed"} {
			t.Run(fault.test+want, func(t *testing.T) {
				t.Parallel()
				out, _ := runWith(t, "", map[string]string{"conftest.py": code[0],
					"client.py": client, "test_client.py": code[2]}, pytest, "-q", "-k", fault.test)
				if !strings.Contains(out, want) {
					t.Errorf("not %s with\n%s\n%s", want, client, out)
				}
			})
		}
	}
}
