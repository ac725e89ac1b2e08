//go:build integration && unix

// These tests need more than Go: signals, strace, the right to mount a file system, shells, and
// other languages. What is missing here skips a test, but not in CI.

package main

import (
	"context"
	"encoding/json"
	"fmt"
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

// unavailable skips a test for want of a tool. In CI on Linux, there must be all.
func unavailable(t *testing.T, tool string, reason error) {
	t.Helper()
	if os.Getenv("CI") == "true" && runtime.GOOS == "linux" {
		t.Fatalf("CI needs %s: %v", tool, reason)
	}
	t.Skipf("%s cannot be used here: %v", tool, reason)
}

// A server on a FIFO does not wait for somebody who writes to it.
func TestFIFO(t *testing.T) {
	path := freshPath(t)
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	petstore, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, petstore, "-addr", "localhost:0", "-data", path)
	out, _ := cmd.CombinedOutput()
	equal(t, "exit code", 1, cmd.ProcessState.ExitCode())
	equal(t, "output", "petstore: "+path+" is not a regular file\n", string(out))
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
			acknowledged := 0
			for range rounds {
				acknowledged += crash(t, signal)
			}
			t.Logf("%d writes were acknowledged in %d rounds", acknowledged, rounds)
		})
	}
}

// crash carries out a round of TestCrash, and returns how many writes were acknowledged.
func crash(t *testing.T, signal syscall.Signal) (all int) {
	t.Helper()
	categories := `{"id":1,"name":"c"}`
	for id := range 300 { // so that a save takes a while
		categories += fmt.Sprintf(`,{"id":%d,"name":"%s"}`, id+2, strings.Repeat("x", 100))
	}
	file := freshPath(t)
	writeFile(t, file, `{"categories":[`+categories+`]}`)
	p := startProcess(t, "-data", file)
	var acknowledged [16]int
	var writers sync.WaitGroup
	for i := range acknowledged {
		writers.Go(func() { acknowledged[i] = writePets(t, p.url, i) })
	}
	time.Sleep(rand.N(200 * time.Millisecond)) // which ends at any step of a save
	p.Process.Signal(signal)
	writers.Wait()
	if code, printed := p.wait(); signal == syscall.SIGTERM {
		equal(t, "exit code after "+printed, 0, code)
		equal(t, "files", []string{"petstore.json"}, namesIn(t, filepath.Dir(file)))
	}
	next := startProcess(t, "-data", file) // which must take the file as it is
	next.Process.Kill()
	next.wait()

	found := map[string]string{} // the pets of each writer
	for _, pet := range parseFile(t, file).pets.records {
		writer, _, _ := strings.Cut(pet.value.Name, "/")
		found[writer] += fmt.Sprintf("%s: %d\n", pet.value.Name, pet.value.Quantity)
	}
	for i, n := range acknowledged {
		// The write after the last one that was acknowledged may be in the file.
		got := found[strconv.Itoa(i)]
		if got != petsAfter(i, n) && got != petsAfter(i, n+1) {
			t.Errorf("after %d writes, the pets of writer %d are\n%s", n, i, got)
		}
		all += n
	}
	return all
}

// writePets carries out one write after the other until the server is gone, and returns how many
// were acknowledged. Of every six writes, the first creates a pet, the second sets its stock, the
// third replaces it, the fourth deletes it, the fifth creates a pet, and the sixth sets its stock.
func writePets(t *testing.T, url string, writer int) int {
	var pet struct{ ID int64 }
	for n := 0; ; n++ {
		request := [6]string{"POST /pets", "PATCH /inventory/%d", "PUT /pets/%d", "DELETE /pets/%d",
			"POST /pets", "PATCH /inventory/%d"}[n%6]
		method, path, _ := strings.Cut(request, " ")
		if method != "POST" {
			path = fmt.Sprintf(path, pet.ID)
		}
		body := fmt.Sprintf(`{"name":"%d/%d","categoryId":1}`, writer, n)
		if method == "PATCH" {
			body = fmt.Sprintf(`{"quantity":%d}`, n)
		}
		r, _ := http.NewRequest(method, url+path, strings.NewReader(body))
		r.Header.Set("X-API-Key", "demo-enterprise")
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			return n
		}
		if resp.StatusCode >= 300 {
			t.Errorf("%s %s: %s", method, path, resp.Status)
		}
		if method == "POST" {
			err = json.NewDecoder(resp.Body).Decode(&pet)
		}
		if resp.Body.Close(); err != nil {
			return n
		}
	}
}

// petsAfter returns the pets of a writer after its first writes, as crash finds them.
func petsAfter(writer, writes int) string {
	var pets []string
	for n := range writes {
		name := fmt.Sprintf("%d/%d", writer, n)
		last := len(pets) - 1
		switch n % 6 {
		case 0, 4:
			pets = append(pets, name+": 0\n")
		case 1, 5:
			old, _, _ := strings.Cut(pets[last], ": ")
			pets[last] = fmt.Sprintf("%s: %d\n", old, n)
		case 2:
			_, quantity, _ := strings.Cut(pets[last], ": ")
			pets[last] = name + ": " + quantity
		case 3:
			pets = pets[:last]
		}
	}
	return strings.Join(pets, "")
}

func parseFile(t *testing.T, path string) *state {
	t.Helper()
	st, err := parse([]byte(contentOf(t, path)))
	if err != nil {
		t.Fatal(err)
	}
	return st
}

// startTraced runs the program with the file under strace, which gets the flags and may make system
// calls fail. The trace is written to a file. detach ends strace, and the program goes on without
// faults.
func startTraced(t *testing.T, trace, file string, flags ...string) (p *process, detach func()) {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	if err := exec.Command("strace", "-o", os.DevNull, path, "-h").Run(); err != nil {
		unavailable(t, "strace", err)
	}
	// With -D the program is this process's own child, and strace is not in between. With -I 1 a
	// signal ends strace.
	args := append(strings.Fields("-D -f -qq -I 1 -y -e signal=none -o"), trace)
	args = append(append(args, flags...), path, "-addr", "localhost:0", "-data", file)
	p = startCommand(t, exec.Command("strace", args...))
	tracer := func() int {
		status := contentOf(t, fmt.Sprintf("/proc/%d/status", p.Process.Pid))
		_, after, _ := strings.Cut(status, "TracerPid:")
		pid, err := strconv.Atoi(strings.Fields(after)[0])
		if err != nil {
			t.Fatal(err)
		}
		return pid
	}
	return p, func() {
		if strace, err := os.FindProcess(tracer()); err == nil {
			strace.Signal(syscall.SIGTERM)
		}
		for tracer() != 0 { // until it is gone
			time.Sleep(time.Millisecond)
		}
	}
}

var temporary = regexp.MustCompile(`\.saving-[0-9]+`)

// anonymous replaces the names of the file, of its temporary files and of its directory, which
// differ in each run.
func anonymous(text, file string) string {
	text = temporary.ReplaceAllString(text, ".TEMP")
	return strings.NewReplacer(file, "FILE", filepath.Dir(file), "DIRECTORY").Replace(text)
}

// The steps of a save, as the system sees them.
func TestStepsOfASave(t *testing.T) {
	file, trace := freshPath(t), filepath.Join(t.TempDir(), "trace")
	os.WriteFile(file, []byte("{}"), 0o640)
	p, detach := startTraced(t, trace, file, "-e",
		"trace=openat,fchmod,write,fsync,close,newfstatat,/^rename")
	if status, body := p.do(t, "POST /categories", aCategory); status != 201 {
		t.Fatalf("status %d: %s", status, body)
	}
	detach()
	p.Process.Kill()
	p.wait()
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
		"newfstatat(FILE",
		"fchmod(FILE.TEMP, 0640", // the permission bits of the old one
		"write(FILE.TEMP",
		"fsync(FILE.TEMP",
		"close(FILE.TEMP",
		"newfstatat(FILE", // is it still the old one?
		"newfstatat(FILE", // os.Rename asks whether it is a directory
		"renameat(FILE.TEMP, FILE",
		"openat(DIRECTORY, O_RDONLY",
		"fsync(DIRECTORY",
		"close(DIRECTORY",
	}, got)
}

// If a step of a save fails, the write is refused and changes nothing. Only if that is the last
// step, the sync of the directory, the file may have the write until the next save. A directory
// that cannot be synced at all is no fault.
func TestFailingSystemCalls(t *testing.T) {
	for _, test := range []struct {
		step   string
		path   string // relative to the directory; if it is empty, all paths count
		inject string
		log    string // empty if the write is acknowledged
	}{
		{"the chmod", "", "fchmod:error=EIO", "chmod FILE.TEMP: input/output error"},
		{"the sync of the file", "", "fsync:error=EIO", "sync FILE.TEMP: input/output error"},
		{"the rename", "petstore.json", "/^rename:error=EIO",
			"rename FILE.TEMP FILE: input/output error"},
		{"the open of the directory", ".", "openat:error=EIO",
			"open DIRECTORY: input/output error"},
		{"the sync of the directory", ".", "fsync:error=EIO",
			"sync DIRECTORY: input/output error"},
		{"not a directory without a sync", ".", "fsync:error=EINVAL", ""},
		{"not a directory with an unsupported sync", ".", "fsync:error=EOPNOTSUPP", ""},
	} {
		t.Run(test.step, func(t *testing.T) {
			file := freshPath(t)
			writeFile(t, file, "{}")
			call, _, _ := strings.Cut(test.inject, ":")
			flags := []string{"-e", "trace=" + call, "-e", "inject=" + test.inject}
			if test.path != "" {
				flags = append(flags, "-P", filepath.Join(filepath.Dir(file), test.path))
			}
			p, detach := startTraced(t, filepath.Join(t.TempDir(), "trace"), file, flags...)
			want, wantStatus, wantLog := []string{}, 503, "save failed: "+test.log+"\n"
			if test.log == "" {
				want, wantStatus, wantLog = []string{"new", "new"}, 201, ""
			}
			for range 2 {
				status, _ := p.do(t, "POST /categories", `{"name":"new"}`)
				equal(t, "status", wantStatus, status)
			}
			_, list := p.do(t, "GET /categories", "")
			equal(t, "categories shown", len(want), strings.Count(list, "new"))
			if test.path != "." {
				equal(t, "categories in the file", want, categoriesIn(t, file))
			}
			detach()
			status, _ := p.do(t, "POST /categories", `{"name":"last"}`)
			equal(t, "status without the fault", 201, status)
			p.Process.Kill()
			_, printed := p.wait()
			equal(t, "categories at the end", append(want, "last"), categoriesIn(t, file))
			equal(t, "files", []string{"petstore.json"}, namesIn(t, filepath.Dir(file)))
			_, logged, _ := strings.Cut(anonymous(printed, file), "/pets\n")
			logged = regexp.MustCompile(`(?m)^[0-9/]+ [0-9:]+ `).ReplaceAllString(logged, "")
			equal(t, "log", strings.Repeat(wantLog, 2), logged)
		})
	}
}

func categoriesIn(t *testing.T, file string) []string {
	t.Helper()
	names := []string{}
	for _, category := range parseFile(t, file).categories.records {
		names = append(names, category.value.Name)
	}
	return names
}

// The disk is a real one, so the test needs the right to mount it.
func TestFullDisk(t *testing.T) {
	directory := t.TempDir()
	mount := exec.Command("mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", directory)
	if err := mount.Run(); err != nil {
		unavailable(t, "mount", err)
	}
	defer exec.Command("umount", "-l", directory).Run()
	s := newService(t, filepath.Join(directory, "petstore.json"))
	before := snapshotOf(t, s.store.view())
	ballast := filepath.Join(directory, "ballast")
	os.WriteFile(ballast, make([]byte, 1<<20), 0o644) // as much as there is room for
	for range 2 {
		s.expect("POST /categories", aCategory, 503, "save_failed: ")
	}
	equal(t, "the state", before, snapshotOf(t, s.store.view()))
	equal(t, "lines of the log", 2, strings.Count(s.log.String(), "no space left"))
	os.Remove(ballast)
	expectSaved(t, s.store)
	s.expect("POST /categories", aCategory, 201, `{"id":5,"name":"Birds"}`)
	expectSaved(t, s.store)
}

func TestREADME(t *testing.T) { prove(t, "README.md") }
func TestTour(t *testing.T)   { prove(t, "docs/tour.md") }
func TestStage(t *testing.T)  { prove(t, "docs/stage.md") }

// prove does what a document says, in the shells for which it is written, and looks whether the
// reader sees what it shows. Times and ports may differ.
func prove(t *testing.T, document string) {
	free, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	free.Close()
	_, port, _ := net.SplitHostPort(free.Addr().String())
	scenes := scenesOf(t, document)
	script := "PS1=; PS2=; setopt nopromptsp 2>&-; port=" + port + helpers
	for _, s := range scenes {
		run := startsServer.ReplaceAllString(s.run, "start")
		run = strings.ReplaceAll(run, "./petstore", "./petstore -addr localhost:8080")
		script += strings.ReplaceAll(run, "8080", port) + "\necho '<<end>>'\n"
	}
	for shell, args := range map[string][]string{"bash": {"--norc", "-s"}, "zsh": {"-fis"}} {
		t.Run(shell, func(t *testing.T) {
			input := script + "kill $server $! 2>&-; true"
			printed, err := runIn(t, freshClone(t), input, shell, args...)
			if err != nil {
				t.Error(err)
			}
			printed = localhost.ReplaceAllString(printed, "localhost:8080")
			printed = changing.ReplaceAllString(printed, "$1")
			for i, output := range strings.Split(printed, "<<end>>\n") {
				for _, want := range scenes[min(i, len(scenes)-1)].shows {
					want = changing.ReplaceAllString(want, "$1")
					if !strings.Contains(output, want) {
						equal(t, document+": "+scenes[i].run+"prints", want, output)
					}
				}
			}
		})
	}
}

// A scene is what the reader runs, and what that must show.
type scene struct {
	run   string
	shows []string
}

var (
	// What a reader does because the prose says so, and at last what is seen then.
	prose = regexp.MustCompile("(?s)`go run \\. (-data [^`]*)`|" +
		"(?:Send|then) (?:at|under) \\*([^*]+)\\*|" +
		"\\*\\*Type\\*\\* `([^`]+)`|\\*\\*See\\*\\*(.*?)(?:Press|\\*\\*|$)")
	seen = regexp.MustCompile("`([^`]+)`|\\b([2345]\\d\\d)\\b|(?:id|category) (\\d)")

	startsServer = regexp.MustCompile(`(?m)^(?:go run \.|\./petstore)`)
	localhost    = regexp.MustCompile(`localhost:\d+`)
	changing     = regexp.MustCompile(`(?m)^(Date|X-RateLimit-Reset|Retry-After|curl: \(28\)).*|\r`)
)

// helpers start a server, as the reader does in another terminal, and press a button of the page.
const helpers = `
up() { until curl -s -o /dev/null localhost:$port/healthz 2>&-; do sleep 0.02; done; }
start() {
	[ "$server" ] && kill $server && wait $server
	petstore -addr localhost:$port "$@" & server=$!; up
}
press() { up; curl -i -H "X-API-Key: demo-pro" -X $1 --json "$3" localhost:$port$2; }
`

func scenesOf(t *testing.T, document string) (all []scene) {
	var now scene
	end := func(shows ...string) {
		now.shows = shows
		all, now = append(all, now), scene{}
	}
	for _, p := range passagesOf(t, document) {
		switch p.language {
		case "sh":
			now.run += p.text
		case "console", "http", "json":
			end(p.text)
		case "":
			for _, said := range prose.FindAllStringSubmatch(p.text, -1) {
				switch flags, summary, command, sights := said[1], said[2], said[3], said[4]; {
				case flags != "":
					now.run += "start " + flags + "\n"
				case summary != "":
					now.run += pressOf(t, summary)
				case command != "":
					now.run += command + "\n"
				case now.run != "": // otherwise another button was pressed
					for _, sight := range seen.FindAllStringSubmatch(sights, -1) {
						now.shows = append(now.shows, sight[1]+
							prefixed("HTTP/1.1 ", sight[2])+prefixed(`"id":`, sight[3]))
					}
					end(now.shows...)
				}
			}
		}
	}
	end()
	return all
}

func prefixed(prefix, text string) string {
	if text == "" {
		return ""
	}
	return prefix + text
}

// pressOf returns the command that sends what the page sends for an operation.
func pressOf(t *testing.T, summary string) string {
	for pattern, operation := range theDescription().operations {
		if operation.Summary == summary {
			request := strings.Replace(pattern, "{id}", "1", 1)
			return fmt.Sprintf("press %s '%s'\n", request, aCategory)
		}
	}
	t.Fatalf("no operation has the summary %s", summary)
	return ""
}

// A passage of a document is prose or, with a language, a block of code.
type passage struct{ language, text string }

func passagesOf(t *testing.T, document string) (all []passage) {
	t.Helper()
	for i, text := range strings.Split("\n"+contentOf(t, document), "\n```") {
		language := ""
		if i%2 == 1 {
			language, text, _ = strings.Cut(text+"\n", "\n")
		}
		all = append(all, passage{language, text})
	}
	return all
}

// freshClone returns a directory with what it takes to build the program.
func freshClone(t *testing.T) string {
	t.Helper()
	directory := t.TempDir()
	if err := os.CopyFS(filepath.Join(directory, "docs"), os.DirFS("docs")); err != nil {
		t.Fatal(err)
	}
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
	if _, err := exec.LookPath(name); err != nil {
		unavailable(t, name, err)
	}
	petstore, err := binary()
	if err != nil {
		t.Fatal(err)
	}
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

// The files of docs/testing.md do what the document says of them. A fault in the client makes a
// test of it fail.
func TestTesting(t *testing.T) {
	files, setups := map[string]string{"in_process_test.go": inProcess}, []string{}
	for _, p := range passagesOf(t, "docs/testing.md") {
		name := regexp.MustCompile(`^(?:#|//) ([\w./]+)\n`).FindStringSubmatch(p.text)
		if name != nil {
			files[name[1]] = p.text
		}
		if p.language == "sh" {
			setups = append(setups, p.text)
		}
	}
	versions := regexp.MustCompile(`(?s)(got@\S+).*(go get \S+)`).FindStringSubmatch(setups[1])
	const python = "conftest.py client.py test_client.py"
	for _, test := range []struct{ rule, tool, files, script, right, wrong, want string }{
		{"pytest passes", "pytest", python, "pytest -q", "", "", `(?m)^\d+ passed in`},
		{"no wait fails", "pytest", python, "pytest -k test_429", "(wait)", "(0.1)", "1 failed"},
		{"two tries fail", "pytest", python, "pytest -k test_503", "=6", "=2", "1 failed"},
		{"a second POST fails", "pytest", python, "pytest -k test_lost", `"POST" in args or `, "",
			"1 failed"},
		{"no timeout fails", "pytest", python, "pytest -k test_slow", "=timeout", "=None",
			"1 failed"},
		{"a ban as an error fails", "pytest", python, "pytest -k test_ban", "(403, ", "(",
			"1 failed"},
		{"go test finds the second POST", "go", "shop_test.go",
			"go mod init shop; " + versions[2] + "; go test -v -timeout 1m", "", "",
			"(?s)--- PASS: Test429.*--- FAIL: TestLostResponse"},
		{"node passes", "npm", "shop.test.mjs",
			"npm install " + versions[1] + "; node --test", "", "", " fail 0\n"},
		{"the server runs in process", "go", "in_process_test.go internal/petstore/new.go",
			"ln -s $clone ../petstore; go mod init shop; " + setups[0] + "go test -v", "", "",
			"--- PASS: TestInProcess"},
	} {
		t.Run(test.rule, func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath(test.tool); err != nil {
				unavailable(t, test.tool, err)
			}
			directory := filepath.Join(t.TempDir(), "shop")
			for _, name := range strings.Fields(test.files) {
				path := filepath.Join(directory, name)
				os.MkdirAll(filepath.Dir(path), 0o755)
				content := files[name]
				if name == "client.py" {
					content = strings.Replace(content, test.right, test.wrong, 1)
				}
				writeFile(t, path, content)
			}
			script := "clone=" + freshClone(t) + "; " + test.script
			got, _ := runIn(t, directory, script, "bash", "-s")
			if !regexp.MustCompile(test.want).MatchString(got) {
				t.Errorf("%s: no %s in\n%s", test.script, test.want, got)
			}
		})
	}
}

const inProcess = `package shop

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"shop/internal/petstore"
)

func TestInProcess(t *testing.T) {
	server := httptest.NewServer(petstore.New(2 * time.Second))
	if r, err := http.Get(server.URL + "/healthz"); err != nil || r.StatusCode != 200 {
		t.Error(r, err)
	}
}
`
