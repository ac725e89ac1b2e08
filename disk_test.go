package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
)

// startTraced runs the program with the given arguments under strace, which gets the flags and may make system calls
// fail. The trace is written to a file. detach ends strace, and the program goes on without faults.
func startTraced(t *testing.T, trace string, program []string, flags ...string) (p *process, detach func()) {
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
	// With -D the program is this process's own child, and strace is not in between. With -I 1 a signal ends strace.
	args := append([]string{"-D", "-f", "-qq", "-I", "1", "-y", "-e", "signal=none", "-o", trace}, flags...)
	args = append(append(args, path, "-addr", "localhost:0"), program...)
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
		strace, err := os.FindProcess(tracer())
		if err != nil {
			t.Fatal(err)
		}
		strace.Signal(syscall.SIGTERM)
		for tracer() != 0 {
			time.Sleep(time.Millisecond)
		}
	}
}

// temporary matches what the name of a temporary file ends in.
var temporary = regexp.MustCompile(`\.saving-[0-9a-f]{8}`)

// The steps of a save, as the system sees them: exclusive creation, sync before the rename, the lock around the rename,
// and the directory's sync after it.
func TestStepsOfASave(t *testing.T) {
	directory := t.TempDir()
	file, trace := filepath.Join(directory, "petstore.json"), filepath.Join(t.TempDir(), "trace")
	os.WriteFile(file, []byte("{}"), 0o640)
	p, detach := startTraced(t, trace, []string{"-data", file}, "-e", "trace=openat,fsync,fchmod,unlinkat,/^rename")
	if status, body := p.do(t, "POST /categories", birds); status != 201 {
		t.Fatalf("status %d: %s", status, body)
	}
	detach()
	p.Process.Kill()
	p.end()
	var got []string
	noise := regexp.MustCompile(`^[0-9]+ +|[0-9]+<|AT_FDCWD<[^>]*>, |[>"]|\|O_CLOEXEC| += .*`)
	for _, line := range strings.Split(read(t, trace), "\n") {
		if !strings.Contains(line, directory) || strings.Contains(line, "ENOENT") { // ENOENT: nothing to remove
			continue
		}
		call := temporary.ReplaceAllString(noise.ReplaceAllString(line, ""), ".TEMP")
		call = strings.ReplaceAll(strings.ReplaceAll(call, file, "FILE"), directory, "DIRECTORY")
		got = append(got, call)
	}
	want := []string{
		"openat(DIRECTORY/, O_RDONLY|O_DIRECTORY)", // at the start: is there anything left behind?
		"openat(FILE, O_RDONLY)",
		"openat(FILE.TEMP, O_WRONLY|O_CREAT|O_EXCL, 0644)",
		"fchmod(FILE.TEMP, 0640)",
		"fsync(FILE.TEMP)",
		"openat(FILE.saving-lock, O_WRONLY|O_CREAT|O_EXCL, 0600)",
		"renameat(FILE.TEMP, FILE)",
		"unlinkat(FILE.saving-lock, 0)",
		"openat(DIRECTORY, O_RDONLY)",
		"fsync(DIRECTORY)",
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("system calls (-want +got):\n%s", diff)
	}
}

// categoryNames returns the names of the categories in a file.
func categoryNames(t testing.TB, file string) (names []string) {
	t.Helper()
	st, err := parse([]byte(read(t, file)))
	if err != nil {
		t.Fatal(err)
	}
	for _, category := range st.categories.after(0) {
		names = append(names, category.value.Name)
	}
	return names
}

// If a step of a save fails, the write is refused and undone. Once the fault is gone, all is well again.
func TestFailingSystemCalls(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, path, inject string // the path is relative to the directory; if it is empty, all paths count
		status             int
		log                string
	}{
		{"chown", "", "fchown:error=EPERM", 201, ""},
		{"chmod", "", "fchmod:error=EIO", 503, "chmod FILE.TEMP: input/output error"},
		{"sync of the file", "", "fsync:error=EIO", 503, "sync FILE.TEMP: input/output error"},
		{"lock", "petstore.json.saving-lock", "openat:error=EIO", 503, "open FILE.saving-lock: input/output error"},
		{"rename", "petstore.json", "/^rename:error=EIO", 503, "rename FILE.TEMP FILE: input/output error"},
		{"opening the directory", ".", "openat:error=EMFILE", 503, "open DIRECTORY: too many open files"},
		{"sync of the directory", ".", "fsync:error=EIO", 503, "sync DIRECTORY: input/output error"},
		{"directory that cannot be synced", ".", "fsync:error=EINVAL", 201, ""},
		{"nor is that supported", ".", "fsync:error=EOPNOTSUPP", 201, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			directory := t.TempDir()
			file := filepath.Join(directory, "petstore.json")
			os.WriteFile(file, []byte("{}"), 0o644)
			call, _, _ := strings.Cut(test.inject, ":")
			flags := []string{"-e", "trace=" + call, "-e", "inject=" + test.inject}
			if test.path != "" {
				flags = append(flags, "-P", filepath.Join(directory, test.path))
			}
			p, detach := startTraced(t, filepath.Join(t.TempDir(), "trace"), []string{"-data", file}, flags...)
			var want []string
			for range 2 {
				if status, body := p.do(t, "POST /categories", `{"name":"unsure"}`); status != test.status {
					t.Fatalf("status %d, want %d: %s", status, test.status, body)
				}
				if test.status == 201 {
					want = append(want, "unsure")
				}
				if diff := gocmp.Diff(want, categoryNames(t, file)); diff != "" {
					t.Errorf("in the file (-want +got):\n%s", diff)
				}
			}
			if status, body := p.do(t, "GET /healthz", ""); status != 200 && status != test.status {
				t.Errorf("/healthz: status %d: %s", status, body)
			}
			detach()
			if status, body := p.do(t, "POST /categories", `{"name":"kept"}`); status != 201 {
				t.Fatalf("status %d: %s", status, body)
			}
			if status, body := p.do(t, "GET /healthz", ""); status != 200 {
				t.Errorf("/healthz: status %d: %s", status, body)
			}
			p.Process.Kill() // so that the file is what was acknowledged, not what a last save would make of it
			_, printed := p.end()
			if diff := gocmp.Diff(append(want, "kept"), categoryNames(t, file)); diff != "" {
				t.Errorf("in the file (-want +got):\n%s", diff)
			}
			if diff := gocmp.Diff([]string{"petstore.json"}, files(t, directory)); diff != "" {
				t.Errorf("files (-want +got):\n%s", diff)
			}
			var failures []string
			for _, line := range strings.Split(printed, "\n") {
				if _, cause, ok := strings.Cut(line, "saving failed: "); ok {
					cause = temporary.ReplaceAllString(cause, ".TEMP")
					cause = strings.ReplaceAll(strings.ReplaceAll(cause, file, "FILE"), directory, "DIRECTORY")
					failures = append(failures, cause)
				}
			}
			if got := strings.Join(failures, "; "); got != test.log {
				t.Errorf("saving failed: %s; want %s", got, test.log)
			}
		})
	}
}

// A write that did not wait for the disk was acknowledged, so it stays in the file, even if the directory's sync fails
// after it. A write that waited and was refused does not.
func TestAcknowledgedBeforeAFailedSync(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	file := filepath.Join(directory, "petstore.json")
	os.WriteFile(file, []byte("{}"), 0o644)
	p, detach := startTraced(t, filepath.Join(t.TempDir(), "trace"), []string{"-data", file, "-sync=false"},
		"-e", "trace=fsync", "-e", "inject=fsync:error=EIO", "-P", directory)
	for _, step := range []struct {
		name   string
		status int
		want   []string // in the file
	}{
		{"acknowledged", 201, []string{"acknowledged"}},
		{"refused", 503, []string{"acknowledged"}},
		{"refused", 503, []string{"acknowledged"}},
	} {
		if status, body := p.do(t, "POST /categories", `{"name":"`+step.name+`"}`); status != step.status {
			t.Fatalf("%s: status %d: %s", step.name, status, body)
		}
		for status := 0; status != 503; status, _ = p.do(t, "GET /healthz", "") { // until it has tried to save
			time.Sleep(time.Millisecond)
		}
		if diff := gocmp.Diff(step.want, categoryNames(t, file)); diff != "" {
			t.Fatalf("%s: in the file (-want +got):\n%s", step.name, diff)
		}
	}
	detach()
	if status, body := p.do(t, "POST /categories", `{"name":"kept"}`); status != 201 {
		t.Fatalf("status %d: %s", status, body)
	}
	if diff := gocmp.Diff([]string{"acknowledged", "kept"}, categoryNames(t, file)); diff != "" {
		t.Errorf("in the file (-want +got):\n%s", diff)
	}
}

// A server that cannot remove its lock, or is killed before it does, leaves a lock that says whose it was. The next
// server removes it.
func TestLockLeftBehind(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "petstore.json")
	lock := file + ".saving-lock"
	os.WriteFile(file, []byte("{}"), 0o644)
	p, _ := startTraced(t, filepath.Join(t.TempDir(), "trace"), []string{"-data", file},
		"-e", "trace=unlinkat", "-e", "inject=unlinkat:error=EIO", "-P", lock)
	if status, body := p.do(t, "POST /categories", birds); status != 201 {
		t.Fatalf("status %d: %s", status, body)
	}
	p.Process.Kill()
	p.end()
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(fmt.Sprintln(p.Process.Pid, host), read(t, lock)); diff != "" {
		t.Errorf("the lock (-want +got):\n%s", diff)
	}
	s := open(t, file, true)
	defer s.Close()
	if _, err := os.Stat(lock); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the lock is still there: %v", err)
	}
	if err := addCategory(s, "Cows"); err != nil {
		t.Error(err)
	}
}

// A save leaves no file open, since a process may open only so many.
func TestOpenFiles(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "petstore.json"), true)
	defer s.Close()
	count := func() int {
		entries, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Skip(err)
		}
		return len(entries)
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // the garbage collector would close what nobody else does
	addCategory(s, "Birds")
	before := count()
	for range 10 {
		if err := addCategory(s, "Birds"); err != nil {
			t.Error(err)
		}
	}
	if after := count(); after > before {
		t.Errorf("%d files are open, and %d were before", after, before)
	}
}

// A full disk and then a read-only one. They are real, if the test may mount one.
func TestDiskFaults(t *testing.T) {
	directory := t.TempDir()
	mount := func(options string) error {
		out, err := exec.Command("mount", "-t", "tmpfs", "-o", options, "tmpfs", directory).CombinedOutput()
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	}
	if err := mount("size=256k"); err != nil {
		t.Skip("no tmpfs can be mounted here: ", err)
	}
	defer exec.Command("umount", "-l", directory).Run()
	path, ballast := filepath.Join(directory, "petstore.json"), filepath.Join(directory, "ballast")
	s := newService(t, path, true)
	defer s.store.Close()
	for _, fault := range []struct {
		name       string
		begin, end func() error
	}{
		{"no space left", func() error {
			os.WriteFile(ballast, make([]byte, 1<<20), 0o644) // as much as there is room for
			return nil
		}, func() error { return os.Remove(ballast) }},
		{"read-only", func() error { return mount("remount,ro") }, func() error { return mount("remount,rw") }},
	} {
		s.expect(step{request: "POST /categories", body: `{"name":"before ` + fault.name + `"}`,
			status: 201, want: categoryJSON(s.store.view().categories.last+1, "before "+fault.name)})
		before := read(t, path)
		if err := fault.begin(); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			s.expect(step{request: "POST /categories", body: `{"name":"lost"}`,
				status: 503, want: "cannot save to its disk"})
			s.expect(step{request: "PATCH /inventory/1", body: `{"quantity":77}`,
				status: 503, want: "cannot save to its disk"})
			s.expect(step{request: "DELETE /pets/1", status: 503, want: "cannot save to its disk"})
			s.expect(step{request: "GET /healthz", status: 503, want: "cannot save to its disk"})
		}
		if diff := gocmp.Diff(before, text(t, s.store.view())); diff != "" {
			t.Errorf("%s: a write that got 503 is seen (-want +got):\n%s", fault.name, diff)
		}
		if diff := gocmp.Diff(before, read(t, path)); diff != "" {
			t.Errorf("%s: the file (-want +got):\n%s", fault.name, diff)
		}
		if names := strings.Join(files(t, directory), " "); strings.Contains(names, ".saving") {
			t.Errorf("%s: files %s", fault.name, names)
		}
		if got := strings.Count(s.log.String(), fault.name); got != 1 {
			t.Errorf("%s is logged %d times: %s", fault.name, got, s.log)
		}
		if err := fault.end(); err != nil {
			t.Fatal(err)
		}
		s.expect(step{request: "POST /categories", body: `{"name":"after"}`,
			status: 201, want: categoryJSON(s.store.view().categories.last+1, "after")})
		s.expect(step{request: "GET /healthz", status: 200, want: `{"status":"ok"}`})
		if diff := gocmp.Diff([]string{"petstore.json"}, files(t, directory)); diff != "" {
			t.Errorf("%s: files (-want +got):\n%s", fault.name, diff)
		}
	}
}
