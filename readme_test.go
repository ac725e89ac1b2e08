package main

import (
	"context"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
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

// freshClone returns a directory with what it takes to build the program. It is built already, so that go build finds
// nothing to do.
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

// paste runs commands in an interactive shell, where zsh does not know comments, and returns what they print. No server
// that they start may outlive them.
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
	cmd.Env = append(os.Environ(), buildFlags, "TMPDIR="+t.TempDir())
	cmd.Dir = directory
	cmd.Stdin = strings.NewReader(commands)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v", err)
	}
	for _, url := range urls.FindAllStringSubmatch(string(out), -1) {
		waitForEnd(t, url[1])
	}
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

// The tour says in parentheses which statuses its commands get.
func TestTour(t *testing.T) {
	t.Parallel()
	var want []string
	statuses := regexp.MustCompile(`\((\d{3}(?:,\s\d{3})*)\)`)
	for _, list := range statuses.FindAllStringSubmatch(section(t, "A tour"), -1) {
		want = append(want, strings.Split(strings.ReplaceAll(list[1], "\n", " "), ", ")...)
	}
	inShells(t, func(t *testing.T, shell string) {
		out := paste(t, shell, freshClone(t), commands(t, "A tour"))
		var got []string
		for _, match := range regexp.MustCompile(`HTTP/1.1 (\d{3})`).FindAllStringSubmatch(out, -1) {
			got = append(got, match[1])
		}
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Errorf("statuses (-want +got):\n%s\nof\n%s", diff, out)
		}
		for _, line := range []string{
			`Link: </pets\?after=3&limit=2&status=available>; rel="next"\r\n`,
			`"The field \\"color\\" is unknown; leave it out\."`,
			`Allow: GET, HEAD, POST\r\n`,
			`exit code 137\n`,
			`{"id":3,"petId":6,"quantity":2,"shipDate":"2030-12-05T09:30:00Z","complete":false}`,
			`(?s)\[{"id":6,"name":"Kiwi",[^\n]*}\]\r?\n.*\[{"id":6,.*},\r?\n{"id":7,"name":"Coco",[^\n]*}\]`,
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

// The function serve of the tour never finds the address of an older server, and ends if the server cannot start.
func TestShellRecipe(t *testing.T) {
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
	tour := commands(t, "A tour")
	function := tour[strings.Index(tour, "serve() {"):strings.Index(tour, "api() {")]
	inShells(t, func(t *testing.T, shell string) {
		const more = `
				serve -data '' -v
				echo "url=<$url>"
				servers=$servers,$!
				rm "$log"`
		out := paste(t, shell, filepath.Dir(path), function+strings.Repeat(more, 5)+`
				serve -addr `+taken.Addr().String()+` -data ''
				echo "url=<$url>"
				kill $(echo $servers | tr , ' ')
				`+commands(t, "For test suites"))
		var got []string
		for _, match := range regexp.MustCompile(`url=<(\S*)>`).FindAllStringSubmatch(out, -1) {
			got = append(got, match[1])
		}
		if slices.Sort(got); len(slices.Compact(got)) != 6 || got[0] != "" {
			t.Errorf("URLs %q of five servers, and none of one that cannot start", got)
		}
		for _, want := range []string{"; choose another address", "HTTP/1.1 200 OK", "X-RateLimit-Limit: 5000"} {
			if !strings.Contains(out, want) {
				t.Errorf("%q is missing in\n%s", want, out)
			}
		}
	})
}

// code returns a block of Go of the section for test suites.
func code(t *testing.T, number int) string {
	t.Helper()
	blocks := strings.Split(section(t, "For test suites"), "```go\n")
	if number >= len(blocks) {
		t.Fatal("the README has less Go code")
	}
	block, _, _ := strings.Cut(blocks[number], "```")
	return block
}

// The function petstore of the README works in another module, and no server outlives its test. It closes stderr, which
// must not end the server.
func TestGoRecipe(t *testing.T) {
	t.Parallel()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	directory := t.TempDir()
	for name, content := range map[string]string{"go.mod": "module shop\n\ngo 1.25\n", "shop_test.go": `package shop

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
)

func TestShop(t *testing.T) {
	for range 3 {
		url := petstore(t, "-minute", "1s", "-v")
		t.Logf("Petstore API: %s", url)
		for range 2 {
			client, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprint(client, "GET /healthz HTTP/1.0\r\n\r\n")
			response, err := io.ReadAll(client)
			if err != nil || !strings.HasPrefix(string(response), "HTTP/1.0 200 OK") {
				t.Fatalf("%v %q", err, response)
			}
		}
	}
}

` + code(t, 1)} {
		write(t, filepath.Join(directory, name), content)
	}
	test := exec.Command("go", "test", "-v", "-count=3", ".")
	test.Dir = directory
	test.Env = append(os.Environ(), "PATH="+filepath.Dir(path)+string(os.PathListSeparator)+os.Getenv("PATH"))
	out, err := test.CombinedOutput()
	found := urls.FindAllStringSubmatch(string(out), -1)
	if err != nil || len(found) != 9 {
		t.Errorf("%v, %d servers:\n%s", err, len(found), out)
	}
	for _, url := range found {
		waitForEnd(t, url[1])
	}
}

// The README shows the first three lines.
func TestInProcess(t *testing.T) {
	limits, _ := newLimits(nil, time.Minute, "localhost")
	store, _ := openStore("", log.Default())
	server := httptest.NewServer(newServer(store, limits, log.Default(), &options{}))
	defer server.Close()
	resp, err := http.Get(server.URL + "/healthz")
	if err != nil || resp.StatusCode != 200 {
		t.Fatal(resp, err)
	}
	resp.Body.Close()
	for line := range strings.Lines(code(t, 2)) {
		if !strings.Contains(read(t, "readme_test.go"), "\n\t"+line) {
			t.Errorf("the README says %s, and this test does not", line)
		}
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

// A README that grows is no longer read.
func TestSizeOfTheREADME(t *testing.T) {
	if n := strings.Count(read(t, "README.md"), "\n"); n > 160 {
		t.Errorf("%d lines, at most 160", n)
	}
}

// What the README, the workshop and the tests leave in the directory is not committed by git add -A.
func TestGitignore(t *testing.T) {
	directory := t.TempDir()
	if err := exec.Command("git", "init", "-q", directory).Run(); err != nil {
		t.Skip("there is no git here")
	}
	write(t, filepath.Join(directory, ".gitignore"), read(t, ".gitignore"))
	for name, want := range map[string]bool{
		"petstore": true, "petstore.exe": true, "petstore.json": true, "petstore.json.saving-123": true,
		"keys.json": true, "tour.json": true, "copy.json": true, "copy.json.saving-4": true, "petstore.log": true,
		"petstore.test": true, ".ci/node_modules/x": true,
		"exercise_test.go": false, "docs/openapi.json": false, "docs/sample.json": false, "README.md": false,
	} {
		check := exec.Command("git", "check-ignore", "-q", name)
		check.Dir = directory
		same(t, name+" is ignored", want, check.Run() == nil)
	}
}
