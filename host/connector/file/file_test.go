package file_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wasmstream/wasmstream/host/connector"
	"github.com/wasmstream/wasmstream/host/connector/file"
)

const recordMax = 1000

// record is what a source delivered: a line with its position, or a fault.
type record struct {
	text  string
	at    connector.Position
	fault bool
}

func readAll(t *testing.T, path string, from connector.Position) []record {
	t.Helper()
	s := file.NewSource(path, "in.ndjson", recordMax)
	if err := s.Open([]connector.SplitPosition{{Position: from}}); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var all []record
	var c connector.Chunk
	for {
		c.Reset()
		err := s.Read(&c)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		at, start := c.Start, uint32(0)
		for _, end := range c.Ends {
			all = append(all, record{string(c.Data[start:end]), at, false})
			at.Offset += int64(end - start)
			at.Record++
			start = end
		}
		if c.Fault != nil {
			all = append(all, record{c.Fault.Error(), at, true})
		}
		if len(c.Ends) == 0 && c.Fault == nil {
			t.Fatal("a chunk without record or fault")
		}
	}
}

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "in.ndjson")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func lines(n, width int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%0*d\n", width-1, i)
	}
	return b.String()
}

// TestSource: the records are the lines, whatever their length, and reading can
// begin behind each of them.
func TestSource(t *testing.T) {
	long := strings.Repeat("x", recordMax)
	for name, c := range map[string]struct {
		text string
		want []string // "!" begins a fault
	}{
		"empty":                      {"", nil},
		"one line":                   {"a\n", []string{"a\n"}},
		"no newline at the end":      {"a\nb", []string{"a\n", "b"}},
		"blank lines":                {"\n\na\n", []string{"\n", "\n", "a\n"}},
		"the longest":                {long + "\nb\n", []string{long + "\n", "b\n"}},
		"one byte too long":          {"a\n" + long + "x\nb\n", []string{"a\n", "!", "b\n"}},
		"too long at the end":        {"a\n" + long + "xy", []string{"a\n", "!"}},
		"too long, longer than read": {"a\n" + strings.Repeat("y", 3_000_000) + "\nb\n", []string{"a\n", "!", "b\n"}},
		"two too long":               {long + "x\n" + long + "x\n", []string{"!", "!"}},
		"many":                       {lines(20_000, 119), strings.SplitAfter(strings.TrimSuffix(lines(20_000, 119), "\n"), "\n")},
	} {
		t.Run(name, func(t *testing.T) {
			path := write(t, c.text)
			all := readAll(t, path, connector.Position{})
			if len(all) != len(c.want) {
				t.Fatalf("%d records, want %d", len(all), len(c.want))
			}
			for i, r := range all {
				want := c.want[i]
				if r.fault != (want == "!") || !r.fault && strings.TrimSuffix(r.text, "\n") != strings.TrimSuffix(want, "\n") || r.at.Record != int64(i) {
					t.Fatalf("record %d: %.50q at %+v, want %.50q", i, r.text, r.at, want)
				}
				if r.fault && !strings.Contains(r.text, "record-bytes-max: ") {
					t.Errorf("the fault does not say what to do: %s", r.text)
				}
			}
			step := max(1, len(all)/7)
			for i := 0; i < len(all); i += step {
				rest := readAll(t, path, all[i].at)
				if diff := cmp.Diff(all[i:], rest, cmp.AllowUnexported(record{})); diff != "" {
					t.Fatalf("from record %d on: %.500s", i, diff)
				}
			}
		})
	}
}

func TestSourceErrors(t *testing.T) {
	dir := t.TempDir()
	for path, want := range map[string]string{
		filepath.Join(dir, "absent"): "cannot read in.ndjson: no such file",
		dir:                          "is a folder",
	} {
		err := file.NewSource(path, "in.ndjson", recordMax).Open(nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
		// A file may still come; a folder stays one.
		var lasting connector.Lasting
		if isFolder := path == dir; errors.As(err, &lasting) != isFolder {
			t.Errorf("%v: lasting is %v", err, !isFolder)
		}
	}
	short := file.NewSource(write(t, "a\n"), "in.ndjson", recordMax)
	if err := short.Open([]connector.SplitPosition{{Position: connector.Position{Offset: 3, Record: 1}}}); err == nil || !strings.Contains(err.Error(), "only 2 bytes") {
		t.Errorf("a file that has shrunk: %v", err)
	}
}

// TestAPipeInPlaceOfAFile: what was read from a file cannot be read on from a pipe. That
// is said at once, without waiting for the pipe's writer, and does not pass.
func TestAPipeInPlaceOfAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "in.ndjson")
	must(t, syscall.Mkfifo(path, 0o600))
	err := file.NewSource(path, "in.ndjson", recordMax).Open([]connector.SplitPosition{{Position: connector.Position{Offset: 3, Record: 1}}})
	var lasting connector.Lasting
	if !errors.As(err, &lasting) || !lasting.Lasting() || !strings.Contains(err.Error(), "cannot go on in in.ndjson at byte 3: it is a pipe") {
		t.Error(err)
	}
}

// TestCloseFreesOpen: a job that waits for a named pipe's writer can be ended, by one
// Close, whenever that comes.
func TestCloseFreesOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	must(t, syscall.Mkfifo(path, 0o600))
	for i := range 200 {
		s := file.NewSource(path, "pipe", recordMax)
		opened := make(chan error)
		go func() { opened <- s.Open(nil) }()
		for range i % 4 {
			runtime.Gosched() // Open may wait already, or not
		}
		must(t, s.Close())
		if err := <-opened; !errors.Is(err, os.ErrClosed) {
			t.Fatalf("error %v", err)
		}
		must(t, s.Close())
	}
}

// must fails the test if a step of a sink's life went wrong.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func content(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return "absent"
	}
	must(t, err)
	return string(b)
}

// records are records as a sink takes them, with their newlines.
func records(text string) *connector.Records {
	r := &connector.Records{Data: []byte(text)}
	for i := range text {
		if text[i] == '\n' {
			r.Ends = append(r.Ends, uint32(i+1))
		}
	}
	return r
}

// finish hands everything over and commits it.
func finish(s *file.Sink) error {
	if _, err := s.Handover(true); err != nil {
		return err
	}
	return s.Commit()
}

// TestSinkAppearsAtCommit also shows that the folder is made and that a former
// file stays until then.
func TestSinkAppearsAtCommit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out", "result.ndjson")
	for _, text := range []string{"first\n", "second\n"} {
		before := content(t, path)
		s := file.NewSink(path, "out/result.ndjson")
		must(t, s.Open(nil))
		must(t, s.Write(records(text)))
		if got := content(t, path); got != before {
			t.Fatalf("before commit it is %q, was %q", got, before)
		}
		must(t, finish(s))
		if got := content(t, path); got != text {
			t.Fatalf("after commit it is %q", got)
		}
		must(t, s.Abort())
		if entries, _ := os.ReadDir(filepath.Dir(path)); len(entries) != 1 {
			t.Fatalf("left over: %v", entries)
		}
	}
}

func TestSinkAborted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "result.ndjson")
	must(t, os.WriteFile(path, []byte("old\n"), 0o600))
	s := file.NewSink(path, "result.ndjson")
	must(t, s.Open(nil))
	must(t, s.Write(records("new\n")))
	must(t, s.Abort())
	if entries, _ := os.ReadDir(filepath.Dir(path)); content(t, path) != "old\n" || len(entries) != 1 {
		t.Fatalf("%q, %v", content(t, path), entries)
	}
}

// TestSinkGoesOn: what was written after the hand-over is cut off.
func TestSinkGoesOn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "result.ndjson")
	s := file.NewSink(path, "result.ndjson")
	must(t, s.Open(nil))
	must(t, s.Write(records("kept\n")))
	handover, err := s.Handover(false)
	must(t, err)
	must(t, s.Write(records("forgotten\n")))
	s.Kill()

	again := file.NewSink(path, "result.ndjson")
	must(t, again.Open(handover))
	must(t, again.Write(records("added\n")))
	must(t, finish(again))
	if got := content(t, path); got != "kept\nadded\n" {
		t.Fatalf("%q", got)
	}
	must(t, os.Remove(path))
	if err := file.NewSink(path, "result.ndjson").Open(handover); err == nil || !strings.Contains(err.Error(), "cannot go on") {
		t.Errorf("a part file that is gone: %v", err)
	}
}

func TestSinkErrors(t *testing.T) {
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o600))
	for path, want := range map[string]string{
		dir:                               "is a folder",
		filepath.Join(dir, "file", "sub"): "cannot make the folder",
	} {
		if err := file.NewSink(path, "result.ndjson").Open(nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
}
