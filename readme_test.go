package main

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	gocmp "github.com/google/go-cmp/cmp"
)

// blocks returns the fenced blocks of a language in a document.
func blocks(t *testing.T, document, language string) (found []string) {
	t.Helper()
	fence := regexp.MustCompile("(?s)\n```" + language + "\n(.*?)```\n")
	for _, block := range fence.FindAllStringSubmatch(read(t, document), -1) {
		found = append(found, block[1])
	}
	return found
}

// tour returns the commands of the tour, and what it says their statuses are, in parentheses.
func tour(t *testing.T) (commands string, statuses []string) {
	t.Helper()
	_, text, _ := strings.Cut(read(t, "README.md"), "\n## A tour\n")
	text, _, _ = strings.Cut(text, "\n## ")
	for _, list := range regexp.MustCompile(`\(\d{3}(,\s\d{3})*\)`).FindAllString(text, -1) {
		statuses = append(statuses, regexp.MustCompile(`\d+`).FindAllString(list, -1)...)
	}
	return strings.Join(blocks(t, "README.md", "sh"), ""), statuses
}

// freshClone returns a directory with what it takes to build the program. It is built already, so
// that go build finds nothing to do.
func freshClone(t *testing.T) string {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	directory := t.TempDir()
	names := []string{"go.mod", "go.sum", path}
	for _, pattern := range []string{"*.go", "docs/*"} {
		matches, _ := filepath.Glob(pattern)
		names = append(names, matches...)
	}
	os.Mkdir(filepath.Join(directory, "docs"), 0o755)
	for _, name := range names {
		to := filepath.Join(directory, name)
		if name == path {
			to = filepath.Join(directory, "petstore")
		}
		if err := os.WriteFile(to, []byte(read(t, name)), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return directory
}

// paste runs commands in an interactive shell, where zsh does not know comments, and returns what
// they print. No server that they start may outlive them, nor anything in the temporary directory.
func paste(t *testing.T, shell, directory, commands string) string {
	t.Helper()
	interpreter(t, shell)
	args := map[string][]string{"bash": {"--norc", "-s"}, "zsh": {"-f", "-i", "-s"}}[shell]
	// Without a limit it would wait forever for a server that fails.
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, shell, args...)
	cmd.WaitDelay = time.Second
	temp := t.TempDir()
	cmd.Env = append(os.Environ(), buildFlags, "TMPDIR="+temp)
	cmd.Dir = directory
	cmd.Stdin = strings.NewReader(commands)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v", err)
	}
	for _, url := range urls.FindAllStringSubmatch(string(out), -1) {
		waitForEnd(t, url[1])
	}
	same(t, "left in the temporary directory", []string(nil), files(t, temp))
	return string(out)
}

var urls = regexp.MustCompile(`Petstore API: http://(\S+)`)

// waitForEnd stops the test unless the server at this address ends within ten seconds.
func waitForEnd(t *testing.T, address string) {
	t.Helper()
	for range 1000 {
		client, err := net.Dial("tcp", address)
		if err != nil {
			return
		}
		client.Close()
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("the server at %s still runs", address)
}

// inShells runs a test for each shell that the README names.
func inShells(t *testing.T, test func(t *testing.T, shell string)) {
	for _, shell := range []string{"bash", "zsh"} {
		t.Run(shell, func(t *testing.T) {
			t.Parallel()
			test(t, shell)
		})
	}
}

func TestTour(t *testing.T) {
	t.Parallel()
	commands, want := tour(t)
	inShells(t, func(t *testing.T, shell string) {
		out := paste(t, shell, freshClone(t), commands)
		var got []string
		for _, status := range regexp.MustCompile(`HTTP/1.1 \d{3}`).FindAllString(out, -1) {
			got = append(got, status[len("HTTP/1.1 "):])
		}
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Errorf("statuses (-want +got):\n%s\nof\n%s", diff, out)
		}
		for _, line := range []string{
			`\n> api http://\S+/pets\?status=available&limit=2\n\r?HTTP/1.1 200 OK\r\n`,
			`Link: </pets\?after=3&limit=2&status=available>; rel="next"\r\n`,
			`"The field \\"color\\" is unknown; leave it out\."`,
			`{"id":3,"petId":6,"quantity":2,"shipDate":"2030-12-05T09:30:00Z","complete":false}`,
			`\[{"id":6,"name":"Kiwi",[^\n]*}\]`,
			`saving failed: .*\n.*saving works again\n`,
			`(?s)Retry-After: 1\r\n.*The flag -fail asked.*{"id":6,"name":"Coco","categoryId":1,.*`,
			` +60 200\n`,
			`(?s)429 Too Many Requests\r\n[^{]*Retry-After: [12]\r\n`,
		} {
			if !regexp.MustCompile(line).MatchString(out) {
				t.Errorf("nothing matches %s in\n%s", line, out)
			}
		}
	})
}

// The function serve of the tour never finds the address of an older server, and ends if the server
// cannot start.
func TestServeOfTheTour(t *testing.T) {
	t.Parallel()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	taken, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { taken.Close() })
	commands, _ := tour(t)
	function := commands[strings.Index(commands, "serve() {"):strings.Index(commands, "api() {")]
	inShells(t, func(t *testing.T, shell string) {
		const more = `
				serve -data '' -v
				echo "url=<$url>"
				servers=$servers,$!`
		out := paste(t, shell, filepath.Dir(path), "tour=$(mktemp -d)\n"+function+
			strings.Repeat(more, 5)+`
				serve -addr `+taken.Addr().String()+` -data ''
				echo "url=<$url>"
				kill $(echo $servers | tr , ' ')
				rm -r "$tour"
				`)
		var got []string
		for _, match := range regexp.MustCompile(`url=<(\S*)>`).FindAllStringSubmatch(out, -1) {
			got = append(got, match[1])
		}
		if slices.Sort(got); len(slices.Compact(got)) != 6 || got[0] != "" {
			t.Errorf("URLs %q of five servers, and none of one that cannot start", got)
		}
		if !strings.Contains(out, "; choose another address") {
			t.Errorf("no reason in\n%s", out)
		}
	})
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

// A document that grows is no longer read.
func TestSizeOfTheDocuments(t *testing.T) {
	for name, most := range map[string]int{
		"README.md": 120, "docs/testing.md": 200, "docs/stage.md": 80,
	} {
		lines := strings.SplitAfter(read(t, name), "\n")
		if n := len(lines) - 1; n > most {
			t.Errorf("%s has %d lines, at most %d", name, n, most)
		}
		for i, line := range lines {
			if utf8.RuneCountInString(line) > 121 {
				t.Errorf("%s:%d is longer than 120 columns", name, i+1)
			}
		}
	}
}

// What the documents and the tests leave in the directory is not committed by git add -A.
func TestGitignore(t *testing.T) {
	directory := t.TempDir()
	if err := exec.Command("git", "init", "-q", directory).Run(); err != nil {
		t.Skip("there is no git here")
	}
	write(t, filepath.Join(directory, ".gitignore"), read(t, ".gitignore"))
	for name, want := range map[string]bool{
		"petstore": true, "petstore.exe": true, "petstore.test": true, "petstore.log": true,
		"petstore.json": true, "petstore.json.saving-123": true, "keys.json": true,
		"copy.json": true, "copy.json.saving-4": true,
		".ci/node_modules/x": true, "exercise_test.go": false, "README.md": false,
		"docs/openapi.json": false, "docs/sample.json": false,
		"stage/petstore.json": true, "gone/petstore.json": true, "stage.log": true,
		"docs/stage.md": false,
	} {
		check := exec.Command("git", "check-ignore", "-q", name)
		check.Dir = directory
		same(t, name+" is ignored", want, check.Run() == nil)
	}
}
