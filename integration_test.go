//go:build integration && unix

// These tests need more than Go: signals, strace, the right to mount a file system, shells, and
// other languages. What is missing here skips a test, but not in CI.

package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// need skips a test if there is an error, for want of a tool. In CI on Linux, there must be all.
func need(t *testing.T, tool string, err error) {
	t.Helper()
	if err != nil && os.Getenv("CI") == "true" && runtime.GOOS == "linux" {
		t.Fatalf("CI needs %s: %v", tool, err)
	}
	if err != nil {
		t.Skipf("%s cannot be used here: %v", tool, err)
	}
}

// A server on a FIFO does not wait for somebody who writes to it.
func TestFIFO(t *testing.T) {
	path := freshPath(t)
	must(t, syscall.Mkfifo(path, 0o600))
	_, err := New(Options{Data: path})
	equal(t, "error", path+" is not a regular file", fmt.Sprint(err))
}

// TestCrash ends the program with a signal while 16 clients write, and compares what it has
// acknowledged with what is in the file. It does so ten times for each signal, or as often as
// CRASH_ROUNDS says.
func TestCrash(t *testing.T) {
	rounds, err := strconv.Atoi(os.Getenv("CRASH_ROUNDS"))
	if err != nil {
		rounds = 10
	}
	for rule, signal := range map[string]syscall.Signal{
		"loses nothing after a kill -9": syscall.SIGKILL,
		"loses nothing after a SIGTERM": syscall.SIGTERM,
	} {
		t.Run(rule, func(t *testing.T) {
			writes := 0
			for range rounds {
				writes += crash(t, signal)
			}
			t.Logf("%d writes were acknowledged in %d rounds", writes, rounds)
		})
	}
}

// crash carries out a round of TestCrash, and returns how many writes were acknowledged.
func crash(t *testing.T, signal syscall.Signal) (writes int) {
	t.Helper()
	file, pets := freshPath(t), `{"id":1,"name":"Rex","categoryId":1}`
	for id := 2; id <= 300; id++ { // so that a save takes a while
		pets += fmt.Sprintf(`,{"id":%d,"name":"%0100d","categoryId":1}`, id, id)
	}
	writeFile(t, file, `{"categories":[{"id":1,"name":"Dogs"}],"pets":[`+pets+`]}`)
	p := startProcess(t, "-data", file)
	var acknowledged [16]int
	var clients sync.WaitGroup
	for i := range acknowledged {
		clients.Go(func() { acknowledged[i] = countUp(t, fmt.Sprint(p.url, "/inventory/", i+1)) })
	}
	time.Sleep(rand.N(200 * time.Millisecond)) // which ends at any step of a save
	p.Process.Signal(signal)
	clients.Wait()
	if code, printed := p.wait(); signal == syscall.SIGTERM {
		equal(t, "exit code after "+printed, 0, code)
		equal(t, "files", []string{"petstore.json"}, namesIn(t, filepath.Dir(file)))
	}
	st, err := parse([]byte(contentOf(t, file)))
	must(t, err)
	for i, n := range acknowledged {
		// The write after the last one that was acknowledged may be in the file.
		if got := int(st.pets.records[i].value.Quantity); got != n && got != n+1 {
			t.Errorf("after %d writes, the file has %d", n, got)
		}
		writes += n
	}
	return writes
}

// countUp sets a stock to 1, 2, 3 and so on until the server is gone, and returns the last number
// that was acknowledged.
func countUp(t *testing.T, url string) int {
	for n := 1; ; n++ {
		r, _ := http.NewRequest("PATCH", url, strings.NewReader(fmt.Sprintf(`{"quantity":%d}`, n)))
		r.Header.Set("X-API-Key", "demo-enterprise")
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			return n - 1
		}
		equal(t, "status", 200, resp.StatusCode)
		io.Copy(io.Discard, resp.Body) // so that the connection is used again
		resp.Body.Close()
	}
}

// startTraced runs the program with the file under strace, which gets the flags, writes a trace to
// a file, and may make system calls fail.
func startTraced(t *testing.T, trace, file string, flags ...string) *process {
	t.Helper()
	path, err := binary()
	must(t, err)
	need(t, "strace", exec.Command("strace", "-o", os.DevNull, path, "-h").Run())
	// With -D the program is this process's own child, and strace is not in between. With -I 1 a
	// signal ends strace.
	args := append(strings.Fields("-D -f -qq -I 1 -y -e signal=none -o"), trace)
	args = append(append(args, flags...), path, "-addr", "localhost:0", "-data", file)
	return startCommand(t, exec.Command("strace", args...))
}

// anonymous replaces the names of the file, of its temporary files and of its directory, which
// differ in each run.
func anonymous(text, file string) string {
	text = regexp.MustCompile(`\.saving-[0-9]+`).ReplaceAllString(text, ".TEMP")
	return strings.NewReplacer(file, "FILE", filepath.Dir(file), "DIRECTORY").Replace(text)
}

// The steps of a save, as the system sees them.
func TestStepsOfASave(t *testing.T) {
	file, trace := freshPath(t), filepath.Join(t.TempDir(), "trace")
	os.WriteFile(file, []byte("{}"), 0o640)
	p := startTraced(t, trace, file, "-e",
		"trace=openat,/^fchmod,write,fsync,close,newfstatat,/^rename")
	if status, body := p.do(t, "POST /categories", aCategory); status != 201 {
		t.Fatalf("status %d: %s", status, body)
	}
	p.Process.Kill()
	p.wait() // for strace, too
	noise := regexp.MustCompile(`^[0-9]+ +|[0-9]+<|AT_FDCWD<[^>]*>, |,? +<unfinished .*|, ["{].*|` +
		`[>"]|\|O_CLOEXEC|\) += .*`)
	_, calls, _ := strings.Cut(contentOf(t, trace), "Petstore API: ") // after the start
	var got []string
	for _, line := range strings.Split(calls, "\n") {
		// A call that another thread interrupts has two lines, of which the second says "
		// resumed>".
		if strings.Contains(line, filepath.Dir(file)) && !strings.Contains(line, " resumed>") {
			got = append(got, noise.ReplaceAllString(anonymous(line, file), ""))
		}
	}
	equal(t, "system calls", []string{
		"openat(FILE.TEMP, O_RDWR|O_CREAT|O_EXCL, 0600", // a file that is new
		"write(FILE.TEMP",
		"fsync(FILE.TEMP",
		"close(FILE.TEMP",
		"newfstatat(FILE",          // is it still the old one?
		"fchmodat(FILE.TEMP, 0640", // the permission bits of the old one
		"newfstatat(FILE",          // os.Rename asks whether it is a directory
		"renameat(FILE.TEMP, FILE",
		"openat(DIRECTORY, O_RDONLY",
		"fsync(DIRECTORY",
		"close(DIRECTORY",
	}, got)
}

// If a step of a save fails, the write is refused and changes nothing. After the rename, the write
// is done: if the directory cannot be synced, that is a line of the log, and if it cannot be synced
// at all on this file system, not even that. The next write tries it all again.
func TestFailingSystemCalls(t *testing.T) {
	const failed, undone = "save failed: ", "saved, but a power failure could undo it: "
	const fault = ": input/output error\n"
	for _, test := range []struct {
		step   string
		path   string // relative to the directory; if it is empty, all paths count
		inject string
		status int
		log    string
	}{
		{"the chmod", "", "/^fchmod:error=EIO", 503, failed + "chmod FILE.TEMP" + fault},
		{"the sync of the file", "", "fsync:error=EIO", 503, failed + "sync FILE.TEMP" + fault},
		{"the rename", "petstore.json", "/^rename:error=EIO", 503,
			failed + "rename FILE.TEMP FILE" + fault},
		{"not the open of the directory", ".", "openat:error=EIO", 201,
			undone + "open DIRECTORY" + fault},
		{"not the sync of the directory", ".", "fsync:error=EIO", 201,
			undone + "sync DIRECTORY" + fault},
		{"not a directory without a sync", ".", "fsync:error=EINVAL", 201, ""},
		{"not a directory with an unsupported sync", ".", "fsync:error=EOPNOTSUPP", 201, ""},
	} {
		t.Run(test.step, func(t *testing.T) {
			file := freshPath(t)
			writeFile(t, file, "{}")
			call, _, _ := strings.Cut(test.inject, ":")
			flags := []string{"-e", "trace=" + call, "-e", "inject=" + test.inject}
			if test.path != "" {
				flags = append(flags, "-P", filepath.Join(filepath.Dir(file), test.path))
			}
			p := startTraced(t, os.DevNull, file, flags...)
			for range 2 {
				status, _ := p.do(t, "POST /categories", aCategory)
				equal(t, "status", test.status, status)
			}
			saved := map[int]int{201: 2, 503: 0}[test.status]
			_, list := p.do(t, "GET /categories", "")
			equal(t, "categories shown", saved, strings.Count(list, "Birds"))
			equal(t, "categories in the file", saved, strings.Count(contentOf(t, file), "Birds"))
			equal(t, "files", []string{"petstore.json"}, namesIn(t, filepath.Dir(file)))
			p.Process.Kill()
			_, printed := p.wait()
			_, logged, _ := strings.Cut(anonymous(printed, file), "/pets\n")
			logged = regexp.MustCompile(`(?m)^[0-9/]+ [0-9:]+ `).ReplaceAllString(logged, "")
			equal(t, "log", strings.Repeat(test.log, 2), logged)
		})
	}
}

// The disk is a real one, which root mounts.
func TestFullDisk(t *testing.T) {
	directory := t.TempDir()
	asRoot := func(command string) error {
		if os.Geteuid() != 0 {
			command = "sudo -n " + command
		}
		words := strings.Fields(command)
		return exec.Command(words[0], words[1:]...).Run()
	}
	options := fmt.Sprintf("size=256k,uid=%d", os.Geteuid())
	need(t, "mount", asRoot("mount -t tmpfs -o "+options+" tmpfs "+directory))
	defer asRoot("umount -l " + directory)
	s := newService(t, Options{Data: filepath.Join(directory, "petstore.json")})
	before := snapshotOf(t, s.store.view())
	ballast := filepath.Join(directory, "ballast")
	os.WriteFile(ballast, make([]byte, 1<<20), 0o644) // as much as there is room for
	for range 2 {
		s.expect("POST /categories", aCategory, 503, "save_failed: ")
	}
	equal(t, "the state", before, snapshotOf(t, s.store.view()))
	equal(t, "lines of the log", 2, strings.Count(s.log.String(), "no space left"))
	os.Remove(ballast)
	s.expect("POST /categories", aCategory, 201, `{"id":5,"name":"Birds"}`)
	expectSaved(t, s.store)
}

func TestREADME(t *testing.T)  { prove(t, "README.md") }
func TestStage(t *testing.T)   { prove(t, "docs/stage.md") }
func TestDetails(t *testing.T) { prove(t, "docs/details.md") }

// prove does what a document says, in the shells for which it is written, and looks whether the
// reader sees what it shows. Times and ports may differ.
func prove(t *testing.T, document string) {
	free, err := net.Listen("tcp", "localhost:0")
	must(t, err)
	free.Close()
	_, port, _ := net.SplitHostPort(free.Addr().String())
	script := "PS1=; PS2=; setopt nopromptsp 2>&-; port=" + port + helpers
	parts, scenes := partsOf(t, document), 0
	for i, p := range parts {
		if p.language == "js" {
			_, err := exec.LookPath("node")
			need(t, "node", err)
			p = part{"sh", "node --input-type=module <<'JS'\n" + p.text + "JS\n"}
			parts[i] = p
		}
		if p.language == "sh" {
			run := startsServer.ReplaceAllString(p.text, "start")
			run = strings.ReplaceAll(run, "./petstore", "./petstore -addr localhost:8080")
			script += strings.ReplaceAll(run, "8080", port) + "\necho '<<end>>'\n"
			scenes++
		}
	}
	for shell, args := range map[string][]string{"bash": {"--norc", "-s"}, "zsh": {"-fis"}} {
		t.Run(shell, func(t *testing.T) {
			printed, err := runIn(t, freshClone(t), script, shell, args...)
			if err != nil {
				t.Error(err)
			}
			printed = localhost.ReplaceAllString(printed, "localhost:8080")
			outputs := strings.Split(changing.ReplaceAllString(printed, "$1"), "<<end>>\n")
			if ended := len(outputs) - 1; ended != scenes {
				t.Fatalf("%s: %d of %d scenes ended:\n%s", document, ended, scenes, printed)
			}
			var run, output string
			for _, p := range parts {
				switch p.language {
				case "sh":
					run, output, outputs = p.text, outputs[0], outputs[1:]
				case "console", "http", "json", "seen":
					want := changing.ReplaceAllString(p.text, "$1")
					if p.language == "seen" { // perhaps a part of a line
						want = strings.TrimSpace(want)
					}
					if !strings.Contains(output, want) {
						equal(t, document+": "+run+" prints", want, output)
					}
				}
			}
		})
	}
}

var (
	startsServer = regexp.MustCompile(`(?m)^(?:go run \.|\./petstore)`)
	localhost    = regexp.MustCompile(`localhost:\d+`)
	changing     = regexp.MustCompile(`(?m)^(Date|X-Ratelimit-Reset|Retry-After).*|\r`)

	// What the prose tells the reader to run, and to see.
	command = regexp.MustCompile("(?:With|\\*\\*Type\\*\\*)\\s`([^-`][^`]*)`")
	sights  = regexp.MustCompile(`\*\*See\*\*[^.]*`)
	sight   = regexp.MustCompile("`([^`]*)`")
)

// helpers start a server, as the reader does in another terminal, and press a button of the
// page, which puts a space after the name of a field.
const helpers = `
trap 'kill $server $! 2>&-' EXIT
up() { until curl -s -o /dev/null localhost:$port/healthz 2>&-; do sleep 0.02; done; }
start() {
	[ "$server" ] && kill $server && wait $server
	petstore -addr localhost:$port "$@" & server=$!; up
}
press() {
	up; curl -i -H "X-API-Key: demo-pro" -X $1 --json '{"name":"Birds"}' localhost:$port$2 |
		sed 's/":/": /g'
}
`

// A part of a document is a block of code, or what its prose tells the reader to run or to see.
type part struct{ language, text string }

func partsOf(t *testing.T, document string) (all []part) {
	t.Helper()
	text := command.ReplaceAllString(contentOf(t, document), "\n```sh\n$1\n```\n")
	for pattern, o := range theDescription().operations {
		pattern = regexp.MustCompile(`{\w+}`).ReplaceAllString(pattern, "1")
		press := "\n```sh\npress " + pattern + "\n```\n"
		text = strings.ReplaceAll(text, "Send under *"+o.Summary+"*", press)
	}
	text = sights.ReplaceAllStringFunc(text, func(said string) string {
		return sight.ReplaceAllString(said, "\n```seen\n$1\n```\n")
	})
	for i, text := range strings.Split(text, "\n```") {
		if i%2 == 1 {
			language, code, _ := strings.Cut(text+"\n", "\n")
			all = append(all, part{language, code})
		}
	}
	return all
}

// freshClone returns a directory with what it takes to build the program.
func freshClone(t *testing.T) string {
	t.Helper()
	directory := t.TempDir()
	must(t, os.CopyFS(filepath.Join(directory, "docs"), os.DirFS("docs")))
	sources, _ := filepath.Glob("*.go")
	for _, name := range append(sources, "go.mod", "go.sum") {
		writeFile(t, filepath.Join(directory, name), contentOf(t, name))
	}
	return directory
}

// runIn runs a command in a directory, with petstore in the PATH, and returns what it prints. It
// fails if a server outlives it.
func runIn(t *testing.T, directory, input, name string, args ...string) (string, error) {
	t.Helper()
	_, err := exec.LookPath(name)
	need(t, name, err)
	petstore, err := binary()
	must(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.WaitDelay = time.Second // for a server that holds our pipe
	cmd.Dir = directory
	cmd.Stdin = strings.NewReader(input)
	temp := t.TempDir()
	writeFile(t, filepath.Join(temp, ".curlrc"), "silent\nshow-error\n") // as in a terminal
	cmd.Env = append(os.Environ(), "GOFLAGS=-trimpath -buildvcs=false", "CURL_HOME="+temp,
		"PATH="+filepath.Dir(petstore)+":"+os.Getenv("PATH"), "PYTHONDONTWRITEBYTECODE=1")
	out, err := cmd.CombinedOutput()
	return string(out), err
}
