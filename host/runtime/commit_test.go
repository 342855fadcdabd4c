package runtime_test

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wasmstream/wasmstream/host/checkpoint"
	"github.com/wasmstream/wasmstream/host/connector"
	"github.com/wasmstream/wasmstream/host/runtime"
)

// diary is what happened to a job's sinks and to its checkpoints, in order.
type diary struct{ lines []string }

func (d *diary) note(format string, args ...any) {
	d.lines = append(d.lines, fmt.Sprintf(format, args...))
}

// take returns what happened since the last take.
func (d *diary) take() []string {
	lines := d.lines
	d.lines = nil
	return lines
}

// diaryStore tells the diary of manifests and notes.
type diaryStore struct {
	checkpoint.Store
	diary *diary
}

func (s diaryStore) Put(name string, write func(io.Writer) error) error {
	err := s.Store.Put(name, write)
	if n, ok := checkpoint.ParseName(name); ok && !n.Kind.IsFile() {
		s.diary.note("%s %d", n.Kind, n.Epoch)
	}
	return err
}

// diarySink tells the diary what it is asked for. Its nth hand-over is NAME-n.
type diarySink struct {
	discard
	name      string
	diary     *diary
	handovers int
	fails     error // at the next commit
}

func (s *diarySink) Recover(from []byte) error {
	s.diary.note("recover %s", from)
	return nil
}

func (s *diarySink) Open(from []byte) error {
	s.diary.note("open %s with %q", s.name, from)
	return nil
}

func (s *diarySink) Handover(bool) ([]byte, error) {
	s.handovers++
	s.diary.note("hand over %s-%d", s.name, s.handovers)
	return fmt.Appendf(nil, "%s-%d", s.name, s.handovers), nil
}

func (s *diarySink) Commit() error {
	if s.fails != nil {
		return s.fails
	}
	s.diary.note("commit %s", s.name)
	return nil
}

// committing runs the count job, which has two sinks, over a few records, in an order
// of its tasks' steps; asked says whether a checkpoint is taken on the way.
func committing(t *testing.T, store checkpoint.Store, d *diary, order uint64, asked bool, fails map[string]error) error {
	t.Helper()
	var j *runtime.Job
	sent := false
	src := newSource(func(c *connector.Chunk) error {
		d.note("read")
		if sent {
			return io.EOF
		}
		sent = true
		appendLines(c, `{"k":"a","v":1,"t":5}`+"\n")
		if asked {
			must(t, j.Checkpoint(func(error) {}))
		}
		return nil
	})
	c := with(t, src, func(name string) connector.Sink { return &diarySink{name: name, diary: d, fails: fails[name]} })
	c.Clock = &manualClock{now: 1}
	c.Checkpoints = kept{store}.config(t)
	c.Checkpoints.Store = diaryStore{store, d}
	var err error
	if j, err = runtime.New(countPlan(t, "", "fail", "on-event"), c); err != nil {
		t.Fatal(err)
	}
	err = j.Drive(rand.New(rand.NewPCG(order, 0)))
	must(t, j.Close())
	return err
}

// TestCommitsAsInFlink is case C47. A committer in Flink that is told to commit
// before all that was announced has arrived fails; here nobody tells it so early.
// Whatever the order of tasks, no sink commits before the hand-overs of all are in a
// manifest; then all do, and then that is noted.
func TestCommitsAsInFlink(t *testing.T) {
	first := map[string]bool{} // which hand-over came first, to see that both do
	for order := range uint64(50) {
		d := &diary{}
		must(t, committing(t, checkpoint.NewMemory(), d, order, true, nil))
		lines := slices.DeleteFunc(d.take(), func(l string) bool { return l == "read" || strings.HasPrefix(l, "open ") })
		if len(lines) != 6 && len(lines) != 12 { // the checkpoint that was asked for may be the last one
			t.Fatalf("order %d: %q", order, lines)
		}
		first[lines[0]] = true
		for i, want := range []string{"hand over late-1", "hand over out-1", "manifest 1", "commit late", "commit out", "committed 1",
			"hand over late-2", "hand over out-2", "manifest 2", "commit late", "commit out", "committed 2"}[:len(lines)] {
			pair := i / 3 * 3 // two sinks in either order, then what follows both
			if at := lines[pair : pair+3]; !slices.Contains(at, want) || i%3 == 2 && at[2] != want {
				t.Errorf("order %d: %q has %s at another place", order, lines, want)
			}
		}
	}
	if len(first) != 2 {
		t.Errorf("of the sinks always the same hands over first: %v", first)
	}
}

// TestCommitsAgainAfterARestart is the rest of the case: a commit that fails is not
// left at that. The job fails, and whoever starts it again commits at once what the
// checkpoint counts, before any sink is opened or record read, and once it has noted
// that, not again.
func TestCommitsAgainAfterARestart(t *testing.T) {
	store, d := checkpoint.NewMemory(), &diary{}
	broken := errors.New("the broker is away")
	err := committing(t, store, d, 1, true, map[string]error{"out": broken})
	if !errors.Is(err, broken) || !strings.Contains(err.Error(), "sink out") {
		t.Errorf("error %v", err)
	}
	lines := d.take()
	if slices.Contains(lines, "committed 1") || !slices.Contains(lines, "manifest 1") {
		t.Errorf("%q", lines)
	}
	must(t, committing(t, store, d, 1, false, nil))
	lines = d.take()
	want := []string{"recover out-1", "recover late-1", "committed 1"}
	if diff := cmp.Diff(want, lines[:3]); diff != "" {
		t.Errorf("a restart begins with (-want +got)\n%s", diff)
	}
	for _, open := range []string{`open out with "out-1"`, `open late with "late-1"`} {
		if !slices.Contains(lines[3:], open) {
			t.Errorf("no %s in %q", open, lines)
		}
	}
	must(t, committing(t, store, d, 1, false, nil))
	for _, line := range d.take() {
		if strings.HasPrefix(line, "recover") {
			t.Errorf("what was noted is committed again: %s", line)
		}
	}
}
