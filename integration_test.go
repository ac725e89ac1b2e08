//go:build integration && unix

// These tests need more than Go: signals, strace, and what the documents use. What is missing here
// skips a test, but not in CI.

package main

import (
	"context"
	"errors"
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

// Nobody writes to this FIFO, so to read it would take for ever.
func TestFIFO(t *testing.T) {
	path := freshPath(t)
	s := newService(t, Options{Data: path})
	must(t, os.Remove(path))
	must(t, syscall.Mkfifo(path, 0o600))
	s.send("POST /categories", aCategory).expectError("save_failed", "")
}

// A stop ends within twelve seconds, whatever it waits for.
func TestStopThatHasToWait(t *testing.T) {
	expectStop := func(t *testing.T, cmd *exec.Cmd) {
		t.Helper()
		begin := time.Now()
		must(t, cmd.Process.Signal(syscall.SIGTERM))
		err := cmd.Wait() // for a minute at most
		equal(t, "it ended too late", time.Since(begin) > 12*time.Second, false)
		must(t, err) // exit code 0
	}
	t.Run("for a log that nobody reads", func(t *testing.T) {
		t.Parallel()
		p := startProcess(t, "-data=", "-v")
		client := http.Client{Timeout: time.Second}
		for {
			resp, err := client.Get(p.url + "/?" + strings.Repeat("x", 8000))
			if timeout, ok := err.(net.Error); ok && timeout.Timeout() { // the pipe is full
				break
			}
			must(t, err)
			resp.Body.Close()
		}
		expectStop(t, p.Cmd)
	})
	t.Run("for a file that is never read to its end", func(t *testing.T) {
		t.Parallel()
		fifo := freshPath(t)
		must(t, syscall.Mkfifo(fifo, 0o600))
		binary, err := os.Executable()
		must(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, binary, "-addr", "localhost:0", "-data=", "-sample", fifo)
		cmd.Env, cmd.Stderr = append(os.Environ(), asProgram+"=1"), t.Output()
		must(t, cmd.Start())
		var writer *os.File
		for err = syscall.ENXIO; errors.Is(err, syscall.ENXIO) && ctx.Err() == nil; { // no reader
			time.Sleep(time.Millisecond)
			writer, err = os.OpenFile(fifo, os.O_WRONLY|syscall.O_NONBLOCK, 0)
		}
		must(t, err)
		defer writer.Close()
		expectStop(t, cmd)
	})
	t.Run("for a response that is delayed, and sent", func(t *testing.T) {
		t.Parallel()
		p := startProcess(t, "-data=", "-delay", "8s")
		client := p.beginPost(t)
		io.WriteString(client, aCategory)
		expectStop(t, p.Cmd)
		response, _ := io.ReadAll(client)
		contains(t, "the response", string(response), "HTTP/1.1 201 Created\r\n")
	})
}

// The listener fails once its socket is shut down.
func TestFailedServe(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("elsewhere, a listener is not told")
	}
	reader, stderr := io.Pipe()
	codes := make(chan int, 1)
	go func() { codes <- run(t.Context(), []string{"-addr", "127.0.0.1:0", "-data="}, stderr) }()
	var port int
	_, err := fmt.Fscanf(reader, "Petstore API: http://127.0.0.1:%d\n", &port)
	must(t, err)
	go io.Copy(io.Discard, reader)
	found := false
	for fd := range 1000 {
		address, _ := syscall.Getsockname(fd)
		if v4, ok := address.(*syscall.SockaddrInet4); ok && v4.Port == port {
			must(t, syscall.Shutdown(fd, syscall.SHUT_RDWR))
			found = true
		}
	}
	if !found {
		t.Fatal("the listener was not found")
	}
	equal(t, "exit code", <-codes, 1)
}

func TestLocalhostWithoutIPv6(t *testing.T) {
	const without = "ip link set lo up && echo 1 >/proc/sys/net/ipv6/conf/all/disable_ipv6 && "
	need(t, "unshare", exec.Command("unshare", "-rn", "sh", "-c", without+"true").Run())
	p := startUnder(t, []string{"unshare", "-rn", "sh", "-c", without + `exec "$0" "$@"`}, "-data=")
	contains(t, "the URL", p.url, "http://localhost:")
}

// TestCrash kills the program while 16 clients write, and compares what it has acknowledged with
// what is in the file: ten times, or as often as CRASH_ROUNDS says.
func TestCrash(t *testing.T) {
	rounds := 10
	fmt.Sscan(os.Getenv("CRASH_ROUNDS"), &rounds)
	total, records := 0, `{"categories":[{"id":1,"name":"Dogs"}],"pets":[`
	for id := 1; id <= 300; id++ { // so that a save takes a while
		records += fmt.Sprintf(`{"id":%d,"name":"%0100d","categoryId":1},`, id, id)
	}
	records = strings.TrimSuffix(records, ",") + "]}"
	for range rounds {
		file := writeFile(t, freshPath(t), records)
		p := startProcess(t, "-data", file)
		var acknowledged [16]int // by each client, which sets the stock of its pet to 1, 2, 3...
		var clients sync.WaitGroup
		for i := range acknowledged {
			clients.Go(func() {
				request := fmt.Sprint("PATCH /inventory/", i+1)
				for quantity := 1; ; quantity++ {
					if p.status(request, fmt.Sprintf(`{"quantity":%d}`, quantity)) != 200 {
						return
					}
					acknowledged[i] = quantity
				}
			})
		}
		time.Sleep(rand.N(200 * time.Millisecond)) // which ends at any step of a save
		p.kill()
		clients.Wait()
		st, err := parse([]byte(contentOf(t, file)))
		must(t, err)
		for i, n := range acknowledged {
			// The write after the last one that was acknowledged may be in the file.
			if got := int(st.pets.records[i].value.Quantity); got != n && got != n+1 {
				t.Errorf("after %d writes of client %d, the file has %d", n, i+1, got)
			}
			total += n
		}
	}
	equal(t, "there are enough writes for a proof", total >= rounds, true)
	t.Logf("%d writes were acknowledged in %d rounds", total, rounds)
}

// startTraced runs the program with the file under strace, which gets the flags.
func startTraced(t *testing.T, file string, flags ...string) *process {
	t.Helper()
	need(t, "strace", exec.Command("strace", "-o", os.DevNull, "true").Run())
	// With -D the program is this process's own child. With -I 1 a signal ends strace.
	strace := []string{"strace", "-D", "-f", "-qq", "-I", "1", "-y", "-e", "signal=none"}
	return startUnder(t, append(strace, flags...), "-data", file)
}

func TestOrderOfSyncs(t *testing.T) {
	file, trace := writeFile(t, freshPath(t), "{}"), filepath.Join(t.TempDir(), "trace")
	p := startTraced(t, file, "-o", trace, "-e", "trace=fsync,/^rename")
	equal(t, "status", p.status("POST /categories", aCategory), 201)
	p.kill()
	got := strings.ReplaceAll(contentOf(t, trace), filepath.Dir(file), "DIR")
	order := `(?s)fsync\(\d+<DIR/\S+\.saving-.* rename.*"DIR/\S+\.saving-.* fsync\(\d+<DIR>`
	if !regexp.MustCompile(order).MatchString(got) {
		t.Errorf("want a sync of the file, its rename, and a sync of the directory:\n%s", got)
	}
}

// If a step of a save fails, the write is refused and changes nothing. After the rename, the write
// is done.
func TestFailingSystemCalls(t *testing.T) {
	const failed, undone = "save failed: ", "saved, but a power failure could undo it: "
	for _, test := range []struct {
		rule, inject, path string // path is relative to the directory, or empty for all
		status             int
		log                string
	}{
		{"a failed chmod refuses a write", "/^fchmod:error=EIO", "", 503, failed + "chmod"},
		{"so does a failed sync", "fsync:error=EIO", "", 503, failed + "sync"},
		{"so does a failed rename", "/^rename:error=EIO", "petstore.json", 503, failed + "rename"},
		{"a directory that cannot be read is told", "openat:error=EIO", ".", 201, undone + "open"},
		{"so is one that cannot be synced", "fsync:error=EIO", ".", 201, undone + "sync"},
		{"but not where none can be", "fsync:error=EINVAL", ".", 201, ""},
		{"or where that is not supported", "fsync:error=EOPNOTSUPP", ".", 201, ""},
	} {
		t.Run(test.rule, func(t *testing.T) {
			file := writeFile(t, freshPath(t), "{}")
			flags := []string{"-o", os.DevNull, "-e", "inject=" + test.inject}
			if test.path != "" {
				flags = append(flags, "-P", filepath.Join(filepath.Dir(file), test.path))
			}
			p := startTraced(t, file, flags...)
			equal(t, "status", p.status("POST /categories", aCategory), test.status)
			if test.status == 201 { // and the next one succeeds, too
				equal(t, "status of the next write", p.status("POST /categories", aCategory), 201)
			}
			saved := strings.Contains(contentOf(t, file), "Birds")
			equal(t, "saved", saved, test.status == 201)
			equal(t, "files", namesIn(t, filepath.Dir(file)), []string{"petstore.json"})
			_, logged, _ := strings.Cut(p.kill(), "Records:      "+file+"\n")
			contains(t, "the log", logged, test.log)
			equal(t, "nothing is logged", logged == "", test.log == "")
		})
	}
}

func TestREADME(t *testing.T)   { prove(t, "README.md") }
func TestStage(t *testing.T)    { prove(t, "docs/stage.md") }
func TestDetails(t *testing.T)  { prove(t, "docs/details.md") }
func TestWorkshop(t *testing.T) { prove(t, "docs/workshop.md") }

func TestTesting(t *testing.T) {
	need(t, "npm and pytest", exec.Command("bash", "-c", "npm -v && pytest --version").Run())
	prove(t, "docs/testing.md")
}

// prove runs the blocks of commands in a document, one after the other in one shell, and compares
// what each prints with the block of output behind it. The first command that fails ends the shell.
func prove(t *testing.T, document string) {
	need(t, "bash, curl and node", exec.Command("bash", "-c", "curl -V && node -v").Run())
	port, err := net.Listen("tcp", "localhost:8080") // the documents' port must be free
	must(t, err)
	port.Close()
	clone, err := os.Getwd()
	must(t, err)
	script := "mkdir petstore && cd petstore\n" + // with just what is in Git
		"git -C '" + clone + "' ls-files -z | tar -C '" + clone + "' --null -T - -c | tar -x\n" +
		asInATerminal
	var outputs []string // of each block of commands; empty if the document shows none
	for _, found := range block.FindAllStringSubmatch(contentOf(t, document), -1) {
		switch language, text := found[1], found[2]; language {
		case "dockerfile", "ini", "ts": // are not run
		case "sh":
			script += foreground.ReplaceAllString(text, "ctrl_c; $0 &") + "end_of_block\n"
			outputs = append(outputs, "")
		case "js":
			script += "node --input-type=module <<'JS'\n" + text + "JS\nend_of_block\n"
			outputs = append(outputs, "")
		case "console", "http", "json":
			if len(outputs) == 0 || outputs[len(outputs)-1] != "" {
				t.Fatalf("%s: no block of commands stands before the output\n%s", document, text)
			}
			outputs[len(outputs)-1] = text
		default:
			t.Fatalf("%s: what is a block of %s?", document, language)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-ec", script)
	// Its trap then ends the server.
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	cmd.Dir = t.TempDir()
	printed, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v:\n%s", document, err, printed)
	}
	blocks := strings.Split(string(printed), "== end of block\n")
	for i, output := range outputs {
		if output != "" {
			equal(t, document, changing.ReplaceAllString(blocks[i], ""),
				changing.ReplaceAllString(output, ""))
		}
	}
}

// A server that would keep a terminal busy runs in the background, until the next one or the end of
// the script. With set -m, Ctrl-C reaches it there.
const asInATerminal = `
set -m
curl() { command curl -sS "$@" || [ $? = 52 ]; } # no progress meter; 52 is an empty reply
wait() { builtin wait "$@" &>/dev/null || true; } # a server that was killed is no failure
ctrl_c() { kill -INT %% 2>/dev/null && wait || true; }
trap ctrl_c EXIT
end_of_block() {
	if [ "$!" != "$server" ]; then # a new one, which must serve, or end the test if it ends
		server=$!
		until command curl -so /dev/null localhost:8080/healthz; do kill -0 $server; sleep 0.1; done
	fi
	echo "== end of block"
}
`

var (
	block      = regexp.MustCompile("(?ms)^```(\\w+)\n(.*?)^```$") // a language, and a text
	foreground = regexp.MustCompile(`(?m)^(go run \.|\./petstore)( .*)?$`)
	// changing matches times, and what the server's own terminal shows: its log.
	changing = regexp.MustCompile(
		`(?m)(Date|X-Ratelimit-Reset|Retry-After): .*|\r|^\d{4}/\d\d/\d\d .*\n`)
)
