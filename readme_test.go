package main

import (
	"context"
	"fmt"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
)

// section returns the part of the README under a heading.
func section(t *testing.T, heading string) string {
	t.Helper()
	_, text, found := strings.Cut(read(t, "README.md"), "\n## "+heading+"\n")
	if !found {
		t.Fatalf("the README has no section %q", heading)
	}
	text, _, _ = strings.Cut(text, "\n## ")
	return text
}

var shellBlock = regexp.MustCompile("(?s)```sh\n(.*?)```\n")

// commands returns what a reader of a section pastes.
func commands(t *testing.T, heading string) string {
	t.Helper()
	var all strings.Builder
	for _, block := range shellBlock.FindAllStringSubmatch(section(t, heading), -1) {
		all.WriteString(block[1])
	}
	return all.String()
}

// freshClone returns a directory with what it takes to build the program.
func freshClone(t *testing.T) string {
	t.Helper()
	directory := t.TempDir()
	for _, pattern := range []string{"*.go", "go.*", "docs/*"} {
		names, _ := filepath.Glob(pattern)
		for _, name := range names {
			to := filepath.Join(directory, name)
			os.MkdirAll(filepath.Dir(to), 0o755)
			if err := os.WriteFile(to, []byte(read(t, name)), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	return directory
}

// freePort returns a port that was free a moment ago, below those that systems give to outgoing connections.
func freePort(t *testing.T) string {
	t.Helper()
	for {
		port := fmt.Sprint(10_000 + rand.IntN(20_000))
		listener, err := net.Listen("tcp", "localhost:"+port)
		if err == nil {
			listener.Close()
			return port
		}
	}
}

// paste runs commands in an interactive shell, where zsh does not know comments, and returns what they print.
func paste(t *testing.T, shell, directory, commands string) string {
	t.Helper()
	if _, err := exec.LookPath(shell); err != nil {
		t.Skipf("there is no %s here", shell)
	}
	args := map[string][]string{"bash": {"--norc", "-s"}, "zsh": {"-f", "-i", "-s"}}[shell]
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // or else it waits forever for a server that fails
	defer cancel()
	cmd := exec.CommandContext(ctx, shell, args...)
	cmd.WaitDelay = time.Second
	cmd.Env = append(os.Environ(), "GOFLAGS=-trimpath") // as in binary, to use what the compiler has cached
	cmd.Dir = directory
	cmd.Stdin = strings.NewReader(commands)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v", err)
	}
	return string(out)
}

// The tour says in parentheses which statuses its commands get. Only its port is another here.
func TestTour(t *testing.T) {
	var want []string
	statuses := regexp.MustCompile(`\((\d{3}(?:,\s\d{3})*)\)`)
	for _, list := range statuses.FindAllStringSubmatch(section(t, "A tour"), -1) {
		want = append(want, strings.Split(strings.ReplaceAll(list[1], "\n", " "), ", ")...)
	}
	clone := freshClone(t)
	for _, shell := range []string{"bash", "zsh"} {
		t.Run(shell, func(t *testing.T) {
			port := freePort(t)
			out := paste(t, shell, clone, strings.ReplaceAll(commands(t, "A tour"), "8080", port))
			var got []string
			for _, match := range regexp.MustCompile(`HTTP/1.1 (\d{3})`).FindAllStringSubmatch(out, -1) {
				got = append(got, match[1])
			}
			if diff := gocmp.Diff(want, got); diff != "" {
				t.Errorf("statuses (-want +got):\n%s\nof\n%s", diff, out)
			}
			for _, line := range []string{
				` +60 200\n +1 429\n`,
				`"The field \\"color\\" is unknown; leave it out\."`,
				`Allow: GET, HEAD, POST\r\n`,
				`Retry-After: \d+\r\n`,
				`exit code 137\n`,
				`curl: \(7\)`,
				`{"id":3,"petId":6,"quantity":2,"complete":true}`,
			} {
				if !regexp.MustCompile(line).MatchString(out) {
					t.Errorf("nothing matches %s in\n%s", line, out)
				}
			}
		})
	}
}

func TestCommandsForTestSuites(t *testing.T) {
	program, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	directory := t.TempDir()
	if err := os.Symlink(program, filepath.Join(directory, "petstore")); err != nil {
		t.Skip(err)
	}
	out := paste(t, "bash", directory, commands(t, "For test suites")+`
		curl -sS -o /dev/null -D - -H "X-API-Key: key-of-the-test-suite" $url/pets
		kill $!`)
	for _, want := range []string{`{"status":"ok"}`, "HTTP/1.1 200 OK", "X-RateLimit-Limit: 1000000"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
}

// The README shows the first three lines.
func TestInProcess(t *testing.T) {
	limits, _ := newLimits([]byte(demoKeys))
	store, _ := openStore("", true, log.Default())
	server := httptest.NewServer((&Server{store: store, limits: limits, logger: log.Default()}).newMux())
	defer store.Close()
	defer server.Close()
	resp, err := http.Get(server.URL + "/healthz")
	if err != nil || resp.StatusCode != 200 {
		t.Fatal(resp, err)
	}
	resp.Body.Close()
	for _, line := range strings.Split(strings.TrimSpace(goBlock(t)), "\n") {
		if !strings.Contains(read(t, "readme_test.go"), "\n\t"+line+"\n") {
			t.Errorf("the README says %s, and this test does not", line)
		}
	}
}

func goBlock(t *testing.T) string {
	t.Helper()
	_, block, _ := strings.Cut(section(t, "For test suites"), "```go\n")
	block, _, found := strings.Cut(block, "```")
	if !found {
		t.Fatal("the README has no Go code")
	}
	return block
}

func TestKeysOfTheREADME(t *testing.T) {
	command, _, _ := strings.Cut(commands(t, "Promises"), "\n")
	directory := t.TempDir()
	if out := paste(t, "bash", directory, command); out != "" {
		t.Error(out)
	}
	limits, err := newLimits([]byte(read(t, filepath.Join(directory, "keys.json"))))
	if err != nil || len(limits.clients) != 1 || len(limits.shortKeys) != 0 {
		t.Errorf("%v, %v", limits, err)
	}
}

func TestOutputOfTheREADME(t *testing.T) {
	p := start(t, "-data", "")
	if err := p.Process.Signal(os.Interrupt); err != nil {
		t.Skip(err)
	}
	_, printed := p.end()
	want := strings.ReplaceAll(printed, p.url, "http://localhost:8080")
	if !strings.Contains(read(t, "README.md"), "$ go run .\n"+want+"```") {
		t.Errorf("the README shows another output than\n%s", want)
	}
}

func TestSizeOfTheREADME(t *testing.T) {
	if n := strings.Count(read(t, "README.md"), "\n"); n > 160 {
		t.Errorf("%d lines, at most 160", n)
	}
}
