package runtime_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/wasmstream/wasmstream/host/checkpoint"
	"github.com/wasmstream/wasmstream/host/runtime"
	"github.com/wasmstream/wasmstream/host/stream"
)

const greatestJob = `
version: 1
name: greatest
sources:
  in: {test: {}, schema: {k: BIGINT, v: STRING}}
steps:
  result:
    from: in
    key-by: [k]
    window: {%s}
    aggregate: {n: count, v: max(v)}
sinks:
  out: {from: result, test: {}}
`

// TestVariableAccumulators: accumulators that have no fixed width are merged, put
// together anew from lists, and gone when their windows are.
func TestVariableAccumulators(t *testing.T) {
	for window, want := range map[string][]string{
		"session: {gap: 10ms}":                            {"3 c"},
		"tumbling: {size: 10ms}":                          {"1 c", "2 b"},
		"tumbling: {size: 10ms}, evictor: {count: 1}":     {"1 b", "1 c"},
		"session: {gap: 10ms}, evictor: {count: 3}":       {"3 c"},
		"sliding: {size: 20ms, slide: 10ms}":              {"1 c", "2 b", "3 c"},
		"session: {gap: 10ms}, allowed-lateness: 1000ms ": {"3 c"},
	} {
		t.Run(window, func(t *testing.T) {
			plan := parsePlan(t, fmt.Sprintf(greatestJob, window), t.TempDir())
			var got []string
			n, v := plan.Sinks[0].Input.Column(1), plan.Sinks[0].Input.Column(2)
			store := newKept()
			j, err := runtime.New(plan, runtime.Config{Clock: &manualClock{}, Scripted: true, Checkpoints: store.config(t), Collect: func(_ string, r stream.Row, _ stream.EventTime) {
				got = append(got, fmt.Sprintf("%d %s", n.Int64(r), v.Bytes(r)))
			}})
			if err != nil {
				t.Fatal(err)
			}
			defer j.Close()
			if n := entries(t, j, store); n != 0 {
				t.Errorf("%d entries before the first record", n)
			}
			batch, w := new(stream.Batch), stream.NewRowWriter(plan.Sources[0].Output)
			for i, at := range []stream.EventTime{0, 18, 9} { // the last brings the others together
				w.Begin(batch, stream.Insert)
				w.SetInt64(0, 1)
				w.SetBytes(1, []byte{"acb"[i]})
				w.End(at)
			}
			j.Feed("in").Send(batch)
			if entries(t, j, store) == 0 {
				t.Error("the state of open windows is in no checkpoint")
			}
			batch.Reset()
			batch.Mark(stream.MarkWatermark, 5000)
			j.Feed("in").Send(batch)
			if n := entries(t, j, store); n != 0 {
				t.Errorf("the windows are over, and %d entries are still there", n)
			}
			slices.Sort(got)
			if !slices.Equal(got, want) {
				t.Errorf("results %q, want %q", got, want)
			}
		})
	}
}

// entries drives a scripted job until it has nothing to do, takes a checkpoint, and
// counts the entries of state that it has.
func entries(t *testing.T, j *runtime.Job, store checkpoint.Store) (n int) {
	t.Helper()
	taken := errors.New("not taken")
	if err := j.Checkpoint(func(err error) { taken = err }); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(j.Drive(nil), taken); err != nil {
		t.Fatal(err)
	}
	r, err := checkpoint.Recover(store)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range r.Manifest.Steps {
		files, err := checkpoint.OpenRefs(store, s.Files)
		if err != nil {
			t.Fatal(err)
		}
		err = checkpoint.Load(files, checkpoint.AllGroups, func(_, _ []byte) error { n++; return nil })
		if err := errors.Join(err, checkpoint.CloseAll(files)); err != nil {
			t.Fatal(err)
		}
	}
	return n
}
