//go:build unix

package file_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/wasmstream/wasmstream/host/connector/file"
)

// refused checks that a sink cannot be opened, for a reason, and leaves nothing
// when it is aborted.
func refused(t *testing.T, path, reason string) {
	t.Helper()
	s := file.NewSink(path, "shown.ndjson")
	err := s.Open(nil)
	if err == nil || !strings.Contains(err.Error(), "shown.ndjson") || !strings.Contains(err.Error(), reason) {
		t.Errorf("%s: error %v, want one that says %q", path, err, reason)
	}
	must(t, s.Abort())
}

func partOf(path string) string {
	return filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".part")
}

// TestTwoRunsOfOneSink: the second is refused, and the first is not disturbed.
func TestTwoRunsOfOneSink(t *testing.T) {
	path := filepath.Join(t.TempDir(), "result.ndjson")
	link := filepath.Join(t.TempDir(), "link.ndjson")
	must(t, os.WriteFile(path, []byte("old\n"), 0o600))
	must(t, os.Symlink(path, link))
	first := file.NewSink(path, "result.ndjson")
	must(t, first.Open(nil))
	must(t, first.Write(records("first\n")))
	for _, other := range []string{path, link} {
		refused(t, other, "another run is writing it")
	}
	must(t, first.Write(records("more\n")))
	must(t, finish(first))
	if got := content(t, path); got != "first\nmore\n" {
		t.Errorf("%q", got)
	}
}

func TestAPartFileOfAKilledRunIsTakenOver(t *testing.T) {
	path := filepath.Join(t.TempDir(), "result.ndjson")
	killed := file.NewSink(path, "result.ndjson")
	must(t, killed.Open(nil))
	must(t, killed.Write(records("a line that is longer than the next run's\n")))
	killed.Kill()
	s := file.NewSink(path, "result.ndjson")
	must(t, s.Open(nil))
	must(t, s.Write(records("new\n")))
	must(t, finish(s))
	if got := content(t, path); got != "new\n" {
		t.Errorf("%q", got)
	}
}

// TestRunsThatEndWhileOthersBegin: whoever could open the sink finds its own
// lines, whole, however the others end.
func TestRunsThatEndWhileOthersBegin(t *testing.T) {
	path := filepath.Join(t.TempDir(), "result.ndjson")
	var group sync.WaitGroup
	var turn sync.Mutex // from before a commit until its result was looked at
	for w := range 8 {
		group.Go(func() {
			for range 200 {
				s := file.NewSink(path, "result.ndjson")
				if s.Open(nil) != nil {
					continue
				}
				line := strings.Repeat(string(rune('a'+w)), 10) + "\n"
				if err := s.Write(records(line)); err != nil {
					t.Error(err)
				}
				if w%2 == 0 {
					if err := s.Abort(); err != nil {
						t.Error(err)
					}
					continue
				}
				turn.Lock()
				if err := finish(s); err != nil {
					t.Error(err)
				} else if got, err := os.ReadFile(path); err != nil || string(got) != line {
					t.Errorf("%q, %v, want %q", got, err, line)
				}
				turn.Unlock()
			}
		})
	}
	group.Wait()
	if _, err := os.Lstat(partOf(path)); err == nil {
		t.Error("a part file is left behind")
	}
}

func TestPartFilesThatAreNone(t *testing.T) {
	for name, c := range map[string]struct {
		make func(part, other string) error
		want string
	}{
		"link":           {func(part, other string) error { return os.Symlink(other, part) }, "is a symbolic link"},
		"dangling link":  {func(part, other string) error { return os.Symlink(other+"x", part) }, "is a symbolic link"},
		"hard link":      {func(part, other string) error { return os.Link(other, part) }, "hard link"},
		"pipe":           {func(part, _ string) error { return syscall.Mkfifo(part, 0o600) }, "is a pipe"},
		"pipe with ends": {openPipe, "is a pipe"},
		"folder":         {func(part, _ string) error { return os.Mkdir(part, 0o700) }, "is a folder"},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			path, other := filepath.Join(folder, "result.ndjson"), filepath.Join(folder, "other")
			must(t, os.WriteFile(other, []byte("precious\n"), 0o600))
			must(t, c.make(partOf(path), other))
			refused(t, path, c.want)
			if got := content(t, other); got != "precious\n" {
				t.Errorf("the other file became %q", got)
			}
			if _, err := os.Lstat(partOf(path)); err != nil {
				t.Errorf("what is not the run's was removed: %v", err)
			}
		})
	}
}

// openPipe makes a named pipe that somebody reads, so that an open to write it
// succeeds.
func openPipe(part, _ string) error {
	if err := syscall.Mkfifo(part, 0o600); err != nil {
		return err
	}
	_, err := os.OpenFile(part, os.O_RDWR, 0)
	return err
}

func TestSinksThatAreNoRegularFile(t *testing.T) {
	folder := t.TempDir()
	pipe, dangling, loop, toFolder := filepath.Join(folder, "pipe"), filepath.Join(folder, "dangling"), filepath.Join(folder, "loop"), filepath.Join(folder, "to-folder")
	must(t, syscall.Mkfifo(pipe, 0o600))
	must(t, os.Symlink("nowhere.ndjson", dangling))
	must(t, os.Symlink("loop", loop))
	must(t, os.Symlink(folder, toFolder))
	for path, want := range map[string]string{
		folder:            "it is a folder",
		toFolder:          "it is a folder",
		pipe:              "it is a pipe",
		"/dev/null":       "it is a device",
		"/dev/stdout":     "a stream of the process",
		"/dev/fd/1":       "a stream of the process",
		"/proc/self/fd/1": "a stream of the process",
		dangling:          "a symbolic link to a file that is not there",
		loop:              "a symbolic link to a file that is not there",
	} {
		refused(t, path, want)
	}
	if entries, _ := os.ReadDir(folder); len(entries) != 4 {
		t.Errorf("left over: %v", entries)
	}
}

// TestASinkBehindALink: the target is replaced, the link stays.
func TestASinkBehindALink(t *testing.T) {
	folder := t.TempDir()
	target, link, away := filepath.Join(folder, "deep/result.ndjson"), filepath.Join(folder, "link.ndjson"), filepath.Join(folder, "away")
	must(t, os.Mkdir(filepath.Dir(target), 0o700))
	must(t, os.WriteFile(target, []byte("old\n"), 0o600))
	must(t, os.Symlink("deep/result.ndjson", link))
	must(t, os.Symlink("deep", away))
	for path, text := range map[string]string{link: "by a link\n", filepath.Join(away, "result.ndjson"): "by a folder\n"} {
		s := file.NewSink(path, "shown.ndjson")
		must(t, s.Open(nil))
		must(t, s.Write(records(text)))
		must(t, finish(s))
		if got := content(t, target); got != text {
			t.Errorf("%s: %q", path, got)
		}
	}
	if to, err := os.Readlink(link); to != "deep/result.ndjson" {
		t.Errorf("the link became %q, %v", to, err)
	}
}

func TestASinkKeepsTheMode(t *testing.T) {
	path := filepath.Join(t.TempDir(), "result.ndjson")
	must(t, os.WriteFile(path, nil, 0o600))
	for _, mode := range []os.FileMode{0o600, 0o664, 0o444} {
		must(t, os.Chmod(path, mode))
		s := file.NewSink(path, "result.ndjson")
		must(t, s.Open(nil))
		must(t, finish(s))
		if info, err := os.Stat(path); err != nil || info.Mode() != mode {
			t.Errorf("mode %v, want %v", info.Mode(), mode)
		}
	}
}
