package runtime_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

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
			j, err := runtime.New(plan, runtime.Config{Clock: &manualClock{}, Scripted: true, Collect: func(_ string, r stream.Row, _ stream.EventTime) {
				got = append(got, fmt.Sprintf("%d %s", n.Int64(r), v.Bytes(r)))
			}})
			if err != nil {
				t.Fatal(err)
			}
			defer j.Close()
			empty := scriptedSnapshot(t, j)
			batch, w := new(stream.Batch), stream.NewRowWriter(plan.Sources[0].Output)
			for i, at := range []stream.EventTime{0, 18, 9} { // the last brings the others together
				w.Begin(batch, stream.Insert)
				w.SetInt64(0, 1)
				w.SetBytes(1, []byte{"acb"[i]})
				w.End(at)
			}
			j.Feed("in").Send(batch)
			if bytes.Equal(scriptedSnapshot(t, j), empty) {
				t.Error("the state of open windows is in no snapshot")
			}
			batch.Reset()
			batch.Mark(stream.MarkWatermark, 5000)
			j.Feed("in").Send(batch)
			if !bytes.Equal(scriptedSnapshot(t, j), empty) {
				t.Error("the windows are over, and something of them is still there")
			}
			slices.Sort(got)
			if !slices.Equal(got, want) {
				t.Errorf("results %q, want %q", got, want)
			}
		})
	}
}

// scriptedSnapshot drives a scripted job until it has nothing to do and takes its
// snapshot.
func scriptedSnapshot(t *testing.T, j *runtime.Job) (snapshot []byte) {
	t.Helper()
	if err := j.Checkpoint(func(s *runtime.Snapshot) { snapshot = s.Bytes() }); err != nil {
		t.Fatal(err)
	}
	if err := j.Drive(nil); err != nil {
		t.Fatal(err)
	}
	return snapshot
}
