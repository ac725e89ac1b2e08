package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

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
		if os.Getenv("CI") == "true" && runtime.GOOS == "linux" {
			t.Fatal("CI needs strace: ", err)
		}
		t.Skip("strace cannot be used here: ", err)
	}
	// With -D the program is this process's own child, and strace is not in between. With -I 1 a
	// signal ends strace.
	args := append(strings.Fields("-D -f -qq -I 1 -y -e signal=none -o"), trace)
	args = append(append(args, flags...), path, "-addr", "localhost:0", "-data", file)
	p = startCommand(t, exec.Command("strace", args...))
	tracer := func() int {
		status := read(t, fmt.Sprintf("/proc/%d/status", p.Process.Pid))
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
	file, trace := freshFile(t), filepath.Join(t.TempDir(), "trace")
	os.WriteFile(file, []byte("{}"), 0o640)
	p, detach := startTraced(t, trace, file, "-e",
		"trace=openat,fchmod,write,fsync,close,newfstatat,/^rename")
	if status, body := p.do(t, "POST /categories", birds); status != 201 {
		t.Fatalf("status %d: %s", status, body)
	}
	detach()
	p.Process.Kill()
	p.end()
	noise := regexp.MustCompile(`^[0-9]+ +|[0-9]+<|AT_FDCWD<[^>]*>, |,? +<unfinished .*|, ["{].*|` +
		`[>"]|\|O_CLOEXEC|\) += .*`)
	_, calls, _ := strings.Cut(read(t, trace), "Petstore API: ") // after the start
	var got []string
	for _, line := range strings.Split(calls, "\n") {
		// A call that another thread interrupts has two lines, of which the second says "
		// resumed>".
		if strings.Contains(line, filepath.Dir(file)) && !strings.Contains(line, " resumed>") {
			got = append(got, noise.ReplaceAllString(anonymous(line, file), ""))
		}
	}
	same(t, "system calls", []string{
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

// categoryNames returns the names of the categories in a file.
func categoryNames(t testing.TB, file string) (names []string) {
	t.Helper()
	st, err := parse([]byte(read(t, file)))
	if err != nil {
		t.Fatal(err)
	}
	for _, category := range st.categories.records {
		names = append(names, category.value.Name)
	}
	return names
}

// If a step of a save fails, the write is refused and changes nothing. Only if that is the last
// step, the sync of the directory, the file may have the write until the next save. A directory
// that cannot be synced at all is no fault.
func TestFailingSystemCalls(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		path   string // relative to the directory; if it is empty, all paths count
		inject string
		log    string // empty if the write is acknowledged
	}{
		{"chmod", "", "fchmod:error=EIO", "chmod FILE.TEMP: input/output error"},
		{"sync of the file", "", "fsync:error=EIO", "sync FILE.TEMP: input/output error"},
		{"rename", "petstore.json", "/^rename:error=EIO",
			"rename FILE.TEMP FILE: input/output error"},
		{"open of the directory", ".", "openat:error=EIO", "open DIRECTORY: input/output error"},
		{"sync of the directory", ".", "fsync:error=EIO", "sync DIRECTORY: input/output error"},
		{"directory without a sync", ".", "fsync:error=EINVAL", ""},
		{"unsupported sync of a directory", ".", "fsync:error=EOPNOTSUPP", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			file := freshFile(t)
			write(t, file, "{}")
			call, _, _ := strings.Cut(test.inject, ":")
			flags := []string{"-e", "trace=" + call, "-e", "inject=" + test.inject}
			if test.path != "" {
				flags = append(flags, "-P", filepath.Join(filepath.Dir(file), test.path))
			}
			p, detach := startTraced(t, filepath.Join(t.TempDir(), "trace"), file, flags...)
			expect := func(request, body string, want int) (got string) {
				t.Helper()
				status, got := p.do(t, request, body)
				if status != want {
					t.Fatalf("%s: status %d, want %d: %s", request, status, want, got)
				}
				return got
			}
			var want []string // what was acknowledged
			for range 2 {
				if test.log != "" {
					expect("POST /categories", `{"name":"unsure"}`, 503)
				} else {
					expect("POST /categories", `{"name":"unsure"}`, 201)
					want = append(want, "unsure")
				}
			}
			got := expect("GET /categories", "", 200)
			same(t, "categories shown", len(want), strings.Count(got, "unsure"))
			if test.path != "." {
				same(t, "in the file", want, categoryNames(t, file))
			}
			detach()
			expect("POST /categories", `{"name":"kept"}`, 201)
			expect("GET /healthz", "", 200)
			p.Process.Kill()
			_, printed := p.end()
			same(t, "in the file at the end", append(want, "kept"), categoryNames(t, file))
			same(t, "files", []string{"petstore.json"}, files(t, filepath.Dir(file)))
			_, failures, _ := strings.Cut(anonymous(printed, file), "saving failed: ")
			first, more, _ := strings.Cut(failures, "\n")
			if first != test.log || strings.Contains(more, "saving failed") {
				t.Errorf("saving failed: %s; want once %s", failures, test.log)
			}
		})
	}
}

// A full disk and then a read-only one. They are real, so the test needs the right to mount one.
func TestDiskFaults(t *testing.T) {
	directory := t.TempDir()
	mount := func(options string) error {
		return exec.Command("mount", "-t", "tmpfs", "-o", options, "tmpfs", directory).Run()
	}
	if err := mount("size=256k"); err != nil {
		t.Skip("no tmpfs can be mounted here: ", err)
	}
	defer exec.Command("umount", "-l", directory).Run()
	ballast := filepath.Join(directory, "ballast")
	s := newService(t, filepath.Join(directory, "petstore.json"))
	for _, fault := range []struct {
		name       string
		begin, end func() error
	}{
		{"no space left", func() error {
			os.WriteFile(ballast, make([]byte, 1<<20), 0o644) // as much as there is room for
			return nil
		}, func() error { return os.Remove(ballast) }},
		{"read-only", func() error { return mount("remount,ro") },
			func() error { return mount("remount,rw") }},
	} {
		t.Run(fault.name, func(t *testing.T) {
			before := text(t, s.store.view())
			if err := fault.begin(); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				s.expect("POST /categories", birds, 503, "cannot save to its disk")
				s.expect("GET /healthz", "", 503, "cannot save to its disk")
			}
			same(t, "after a refused write", before, text(t, s.store.view()))
			same(t, "the file", before, read(t, s.store.path))
			same(t, "times that it is logged", 1, strings.Count(s.log.String(), fault.name))
			if err := fault.end(); err != nil {
				t.Fatal(err)
			}
			expectSaved(t, s.store)
			same(t, "status of the next write", 201, s.do("POST /categories", birds).StatusCode)
			s.expectHealthy()
		})
	}
}
