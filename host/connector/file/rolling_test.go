package file_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/wasmstream/wasmstream/host/connector/file"
	"github.com/wasmstream/wasmstream/host/stream"
)

// handClock is moved by the test.
type handClock struct{ now stream.ProcTime }

func (c *handClock) Now() stream.ProcTime          { return c.now }
func (c *handClock) Alarm(stream.ProcTime, func()) {}

// visible is what readers of the folder see: the parts in the order of their names.
func visible(t *testing.T, dir string) (parts []string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "part-*.ndjson"))
	must(t, err)
	for _, name := range names { // sorted
		parts = append(parts, content(t, name))
	}
	return parts
}

func rolling(dir string, clock *handClock, size int64, interval time.Duration) *file.Rolling {
	return file.NewRolling(dir, "shown", file.RollingOptions{SizeBytes: size, Interval: interval, Clock: clock})
}

func handOver(t *testing.T, s *file.Rolling, final bool) []byte {
	t.Helper()
	h, err := s.Handover(final)
	must(t, err)
	return h
}

// TestRollingBySize: a part takes no more once it has the bytes, and appears with the
// commit after that.
func TestRollingBySize(t *testing.T) {
	dir, clock := filepath.Join(t.TempDir(), "out"), &handClock{}
	s := rolling(dir, clock, 10, time.Hour)
	must(t, s.Open(nil))
	must(t, s.Write(records("123456789\nabc\ndef\nghi\n")))
	if got := visible(t, dir); len(got) != 0 {
		t.Errorf("%q is there before a checkpoint", got)
	}
	handOver(t, s, false)
	must(t, s.Commit())
	if got := visible(t, dir); fmt.Sprint(got) != fmt.Sprint([]string{"123456789\n", "abc\ndef\nghi\n"}) {
		t.Errorf("%q", got)
	}
	must(t, s.Write(records("x\n")))
	handOver(t, s, true)
	must(t, s.Commit())
	if got := visible(t, dir); len(got) != 3 || got[2] != "x\n" {
		t.Errorf("%q", got)
	}
	must(t, s.Close())
}

// TestRollingByAge: a part that is old enough appears with the next checkpoint.
func TestRollingByAge(t *testing.T) {
	dir, clock := filepath.Join(t.TempDir(), "out"), &handClock{now: 1000}
	s := rolling(dir, clock, 1<<20, time.Minute)
	must(t, s.Open(nil))
	must(t, s.Write(records("a\n")))
	for _, step := range []struct {
		now  stream.ProcTime
		want int
	}{{1000 + 59_999, 0}, {1000 + 60_000, 1}} {
		clock.now = step.now
		handOver(t, s, false)
		must(t, s.Commit())
		if got := visible(t, dir); len(got) != step.want {
			t.Errorf("at %d: %q", step.now, got)
		}
	}
	must(t, s.Close())
}

// TestRollingCrashes writes numbered lines, with a crash at any place: what readers
// see are the lines up to some place, each once, and at the end all of them.
func TestRollingCrashes(t *testing.T) {
	for seed := range uint64(50) {
		random := rand.New(rand.NewPCG(seed, 0))
		dir, clock := filepath.Join(t.TempDir(), "out"), &handClock{}
		const lines = 200
		var checkpoint []byte
		counted := 0 // lines in the checkpoint
		for counted < lines {
			s := rolling(dir, clock, 40, time.Hour)
			must(t, s.Recover(checkpoint))
			must(t, s.Open(checkpoint))
			for n := counted; n < lines && random.IntN(40) > 0; {
				more := min(n+1+random.IntN(10), lines)
				var b strings.Builder
				for ; n < more; n++ {
					fmt.Fprintf(&b, "%d\n", n)
				}
				must(t, s.Write(records(b.String())))
				if n < lines && random.IntN(3) > 0 {
					continue
				}
				checkpoint, counted = handOver(t, s, n == lines), n // durable from here on
				if random.IntN(3) > 0 {
					must(t, s.Commit())
				}
			}
			s.Kill()
			checkPrefix(t, seed, visible(t, dir), lines)
		}
		s := rolling(dir, clock, 40, time.Hour)
		must(t, s.Recover(checkpoint))
		if got := checkPrefix(t, seed, visible(t, dir), lines); got != lines {
			t.Fatalf("seed %d: %d lines in the end", seed, got)
		}
	}
}

// TestRollingGoesOn: what an open part has beyond its hand-over is cut off, also if
// less is written this time.
func TestRollingGoesOn(t *testing.T) {
	dir, clock := filepath.Join(t.TempDir(), "out"), &handClock{}
	s := rolling(dir, clock, 100, time.Hour)
	must(t, s.Open(nil))
	must(t, s.Write(records("kept\n")))
	handover := handOver(t, s, false)
	must(t, s.Write(records("forgotten\n")))
	s.Kill()
	s = rolling(dir, clock, 100, time.Hour)
	must(t, s.Recover(handover))
	must(t, s.Open(handover))
	must(t, s.Write(records("added\n")))
	handOver(t, s, true)
	must(t, s.Commit())
	if got := fmt.Sprint(visible(t, dir)); got != "[kept\nadded\n]" {
		t.Errorf("%q", got)
	}
}

func checkPrefix(t *testing.T, seed uint64, parts []string, most int) int {
	t.Helper()
	var want strings.Builder
	text := strings.Join(parts, "")
	n := strings.Count(text, "\n")
	for i := range n {
		fmt.Fprintf(&want, "%d\n", i)
	}
	if text != want.String() || n > most {
		t.Fatalf("seed %d: readers see %q", seed, text)
	}
	return n
}

// TestRollingGoesBack: a job that goes on from a checkpoint before one that was
// committed writes its lines again, and readers do not see any twice.
func TestRollingGoesBack(t *testing.T) {
	dir, clock := filepath.Join(t.TempDir(), "out"), &handClock{}
	s := rolling(dir, clock, 6, time.Hour)
	must(t, s.Open(nil))
	must(t, s.Write(records("a\nb\nc\nd\n"))) // the first part is full
	older := handOver(t, s, false)
	must(t, s.Commit())
	must(t, s.Write(records("e\nf\ng\nh\ni\nj\n")))
	handOver(t, s, false)
	must(t, s.Commit())
	if got := visible(t, dir); len(got) != 3 {
		t.Fatalf("%q", got)
	}
	s.Kill()
	s = rolling(dir, clock, 6, time.Hour)
	must(t, s.Recover(older))
	must(t, s.Open(older))
	must(t, s.Write(records("e\nf\ng\n")))
	handOver(t, s, true)
	must(t, s.Commit())
	if got := strings.Join(visible(t, dir), ""); got != "a\nb\nc\nd\ne\nf\ng\n" {
		t.Errorf("%q", got)
	}
}

// TestRollingGoesBackAndForth: a job went back to an older checkpoint, which removes the parts after it, and failed. To go on
// from a newer one then would leave them out, so it is refused, unless they were full and only to appear.
func TestRollingGoesBackAndForth(t *testing.T) {
	dir, clock := filepath.Join(t.TempDir(), "out"), &handClock{}
	s := rolling(dir, clock, 4, time.Hour)
	must(t, s.Open(nil))
	var handovers [][]byte
	for _, text := range []string{"one\n", "two\n", "three\n"} {
		must(t, s.Write(records(text)))
		handovers = append(handovers, handOver(t, s, false))
		must(t, s.Commit())
	}
	s.Kill()
	s = rolling(dir, clock, 4, time.Hour)
	must(t, s.Open(handovers[0])) // it was committed
	must(t, s.Write(records("two\nthree\n")))
	s.Kill()
	s = rolling(dir, clock, 4, time.Hour)
	for last, err := range map[string]error{"part-0000000002.ndjson": s.Recover(handovers[2]), "part-0000000003.ndjson": s.Open(handovers[2])} {
		var gone *file.GoneError
		if !errors.As(err, &gone) || !strings.Contains(err.Error(), "up to "+last) || !strings.Contains(err.Error(), "--restore") {
			t.Errorf("%s has not appeared: %v", last, err)
		}
	}
	must(t, s.Close())
	s = rolling(dir, clock, 4, time.Hour)
	must(t, s.Open(handovers[0]))
	must(t, s.Write(records("two\nthree\n")))
	handOver(t, s, true)
	must(t, s.Commit())
	must(t, s.Close())
	if got := strings.Join(visible(t, dir), ""); got != "one\ntwo\nthree\n" {
		t.Errorf("%q", got)
	}
}

// TestRollingFolderIsOneRuns: a run that begins wants a folder without parts; one that
// goes on, its own; and files of other names are nobody's.
func TestRollingFolderIsOneRuns(t *testing.T) {
	dir, clock := filepath.Join(t.TempDir(), "out"), &handClock{now: 1}
	s := rolling(dir, clock, 4, time.Hour)
	must(t, s.Open(nil))
	must(t, s.Write(records("full\nopen\n")))
	first := handOver(t, s, false)
	must(t, s.Close())

	clock.now = 2 // a run that begins before anything has appeared
	other := rolling(dir, clock, 4, time.Hour)
	must(t, other.Open(nil))
	must(t, other.Write(records("other\n")))
	handOver(t, other, false)
	must(t, other.Commit())
	must(t, other.Close())

	again := rolling(dir, clock, 4, time.Hour)
	for _, err := range []error{again.Recover(first), again.Open(first)} {
		if err == nil || !strings.Contains(err.Error(), "those of another run") {
			t.Errorf("going on in a folder that another run has taken: %v", err)
		}
	}
	must(t, again.Close())
	third := rolling(dir, clock, 4, time.Hour)
	if err := third.Open(nil); err == nil || !strings.Contains(err.Error(), "has parts of a former run") {
		t.Errorf("beginning in a folder with parts: %v", err)
	}
	must(t, third.Close())
	if got := visible(t, dir); len(got) != 1 || got[0] != "other\n" {
		t.Errorf("%q", got)
	}
}

// TestRollingPartsAreTakenAway: by whoever reads them, as soon as they appear.
func TestRollingPartsAreTakenAway(t *testing.T) {
	dir, clock := filepath.Join(t.TempDir(), "out"), &handClock{}
	s := rolling(dir, clock, 4, time.Hour)
	must(t, s.Open(nil))
	must(t, s.Write(records("full\nmore\n")))
	h := handOver(t, s, false)
	must(t, s.Commit())
	s.Kill() // before that is noted
	for _, name := range []string{"part-0000000001.ndjson", "part-0000000002.ndjson"} {
		must(t, os.Remove(filepath.Join(dir, name)))
	}
	foreign := []string{"part-0000000099.ndjson.md5", "part-7777.ndjson", "notes.txt"}
	for _, name := range foreign {
		must(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
	}
	s = rolling(dir, clock, 4, time.Hour)
	must(t, s.Recover(h))
	must(t, s.Open(h))
	must(t, s.Write(records("next\n")))
	handOver(t, s, true)
	must(t, s.Commit())
	must(t, s.Close())
	if got := content(t, filepath.Join(dir, "part-0000000003.ndjson")); got != "next\n" {
		t.Errorf("%q", got)
	}
	for _, name := range foreign {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
}

func TestRollingRefuses(t *testing.T) {
	dir, clock := filepath.Join(t.TempDir(), "out"), &handClock{}
	s := rolling(dir, clock, 4, time.Hour)
	must(t, s.Open(nil))
	if err := rolling(dir, clock, 4, time.Hour).Open(nil); err == nil || !strings.Contains(err.Error(), "another run is writing to it") {
		t.Errorf("a second run: %v", err)
	}
	s.Kill()
	for _, bad := range []string{"x", "{}", `{"version":2}`} {
		if err := rolling(dir, clock, 4, time.Hour).Recover([]byte(bad)); err == nil {
			t.Errorf("hand-over %q is taken", bad)
		}
	}
}

// TestRollingPartsThatWereDeleted: a part that has not appeared is named when somebody has deleted it, whether it is full or
// open, and whether the job is down or runs. One that has appeared may be taken away.
func TestRollingPartsThatWereDeleted(t *testing.T) {
	for deleted, c := range map[string]struct {
		bytes string
		runs  bool
	}{
		".part-0000000001.ndjson.part": {"counts 5 bytes", false},
		".part-0000000002.ndjson.part": {"counts 5 bytes", true},
		".part-0000000003.ndjson.part": {"counts 2 bytes", false},
	} {
		dir, clock := filepath.Join(t.TempDir(), "out"), &handClock{}
		s := rolling(dir, clock, 4, time.Hour)
		must(t, s.Open(nil))
		must(t, s.Write(records("full\nmore\no\n")))
		h := handOver(t, s, false)
		must(t, os.Remove(filepath.Join(dir, deleted)))
		var err error
		if c.runs {
			err = s.Commit()
		}
		s.Kill()
		for range 2 { // it stays so
			if !c.runs {
				s = rolling(dir, clock, 4, time.Hour)
				if err = s.Recover(h); err == nil {
					err = s.Open(h)
				}
				must(t, s.Close())
			}
			var gone *file.GoneError
			if !errors.As(err, &gone) || !strings.Contains(err.Error(), deleted) || !strings.Contains(err.Error(), c.bytes) || !strings.Contains(err.Error(), "--restore") {
				t.Errorf("%s is deleted: %v", deleted, err)
			}
		}
	}
}

// TestRollingFolderThatIsGone: that the folder is gone, or the file that says whose it is, is told as what it is, however
// often it is tried; the folder is not made anew; and when all is back, the job goes on.
func TestRollingFolderThatIsGone(t *testing.T) {
	for name, missing := range map[string]string{".": "the folder is not there", ".wasmstream": "its file .wasmstream is not there"} {
		dir, clock := filepath.Join(t.TempDir(), "out"), &handClock{}
		s := rolling(dir, clock, 4, time.Hour)
		must(t, s.Open(nil))
		must(t, s.Write(records("full\no\n")))
		h := handOver(t, s, false)
		path := filepath.Join(dir, name)
		must(t, os.Rename(path, dir+".away"))
		if name == "." { // under the hands of the run
			wantUnowned(t, s.Commit(), missing)
		}
		s.Kill()
		for range 2 {
			s = rolling(dir, clock, 4, time.Hour)
			wantUnowned(t, s.Recover(h), missing)
			wantUnowned(t, s.Open(h), missing)
			must(t, s.Close())
		}
		must(t, os.Rename(dir+".away", path))
		s = rolling(dir, clock, 4, time.Hour)
		must(t, s.Recover(h))
		must(t, s.Open(h))
		handOver(t, s, true)
		must(t, s.Commit())
		must(t, s.Close())
		if got := fmt.Sprintf("%q", visible(t, dir)); got != `["full\n" "o\n"]` {
			t.Errorf("%s was away: %s", name, got)
		}
	}
}

func wantUnowned(t *testing.T, err error, missing string) {
	t.Helper()
	var gone *file.GoneError
	if !errors.As(err, &gone) || !strings.Contains(err.Error(), missing) || !strings.Contains(err.Error(), "--fresh") {
		t.Errorf("not %q: %v", missing, err)
	}
}

// TestRollingAmongOthersFiles: what is not a part of the job is left alone, and told of once for each run. A file under the
// name of a part that is still to come ends the job, before it begins or when it comes to it.
func TestRollingAmongOthersFiles(t *testing.T) {
	dir, clock, said := filepath.Join(t.TempDir(), "out"), &handClock{}, &bytes.Buffer{}
	o := file.RollingOptions{SizeBytes: 4, Interval: time.Hour, Clock: clock, Logger: slog.New(slog.NewTextHandler(said, nil))}
	s := file.NewRolling(dir, "shown", o)
	must(t, s.Open(nil))
	must(t, s.Write(records("full\n")))
	h := handOver(t, s, false)
	must(t, s.Commit())
	must(t, s.Close())
	if said.Len() > 0 {
		t.Errorf("it tells of its own files: %s", said)
	}
	for _, folder := range []string{"part-0000000007.ndjson", ".part-0000000002.ndjson.part.old"} {
		must(t, os.Mkdir(filepath.Join(dir, folder), 0o700))
	}
	early := filepath.Join(dir, "part-0000000002.ndjson")
	must(t, os.WriteFile(early, []byte("not ours"), 0o600))
	inTheWay := func(err error) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), "there is a part-0000000002.ndjson that this job has not written") {
			t.Errorf("somebody's file has the name of the next part: %v", err)
		}
		if got := content(t, early); got != "not ours" {
			t.Errorf("the file has %q now", got)
		}
	}
	s = file.NewRolling(dir, "shown", o)
	inTheWay(s.Open(h))
	must(t, s.Close())
	must(t, os.Rename(early, early+".away"))
	s = file.NewRolling(dir, "shown", o)
	must(t, s.Recover(h))
	must(t, s.Open(h))
	for range 3 {
		must(t, s.Write(records("a\n")))
		handOver(t, s, false)
	}
	if told := said.String(); strings.Count(told, "\n") != 1 || !strings.Contains(told, "files=3 first=.part-0000000002.ndjson.part.old") {
		t.Errorf("it is told %q", told)
	}
	must(t, os.Rename(early+".away", early))
	handOver(t, s, true)
	inTheWay(s.Commit())
	must(t, s.Close())
	if names, _ := filepath.Glob(filepath.Join(dir, "*07*")); len(names) != 1 {
		t.Error("a folder has gone")
	}
}

// TestSinkRecovers: the file of a final hand-over is put in place by a later run, or
// was already; one that is nowhere is said to be lost.
func TestSinkRecovers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "result.ndjson")
	killed := file.NewSink(path, "result.ndjson")
	must(t, killed.Open(nil))
	must(t, killed.Write(records("a\nb\n")))
	half, err := killed.Handover(false)
	must(t, err)
	must(t, killed.Write(records("c\n")))
	final, err := killed.Handover(true)
	must(t, err)
	killed.Kill()

	must(t, file.NewSink(path, "result.ndjson").Recover(half)) // has nothing to do
	if _, err := os.Stat(path); err == nil {
		t.Error("a file that is not complete was put in place")
	}
	// A job that goes on from before the end has the lines of before in its part file.
	must(t, file.NewSink(path, "result.ndjson").Recover(final))
	back := file.NewSink(path, "result.ndjson")
	must(t, back.Open(half))
	must(t, back.Write(records("d\n")))
	back.Kill()
	if got := content(t, partOf(path)); got != "a\nb\nd\n" {
		t.Errorf("the part file is %q", got)
	}
	must(t, os.Remove(partOf(path)))
	must(t, os.WriteFile(path, []byte("another file\n"), 0o600))
	if err := file.NewSink(path, "result.ndjson").Open(half); err == nil || !strings.Contains(err.Error(), "neither its part file") {
		t.Errorf("another file in its place: %v", err)
	}
	must(t, os.WriteFile(path, []byte("a\nb\nc\n"), 0o600))
	for range 2 {
		again := file.NewSink(path, "result.ndjson")
		must(t, again.Recover(final))
		must(t, again.Open(final))
		must(t, again.Close())
		if got := content(t, path); got != "a\nb\nc\n" {
			t.Errorf("%q", got)
		}
	}
	must(t, os.Remove(path))
	if err := file.NewSink(path, "result.ndjson").Recover(final); err == nil || !strings.Contains(err.Error(), "is lost") {
		t.Errorf("error %v", err)
	}
}
