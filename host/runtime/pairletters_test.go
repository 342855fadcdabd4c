package runtime_test

import (
	"errors"
	"fmt"
	gort "runtime"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wasmstream/wasmstream/abi"
	"github.com/wasmstream/wasmstream/host/guest/guesttest"
	"github.com/wasmstream/wasmstream/host/job"
	"github.com/wasmstream/wasmstream/host/runtime"
	"github.com/wasmstream/wasmstream/host/stream"
)

const pairManifest = `{"functions": [{"name": "pair", "role": "join",
	"input": {"fields": [{"name": "v", "type": "BIGINT"}]}, "secondInput": {"fields": [{"name": "v", "type": "BIGINT"}]},
	"output": {"fields": [{"name": "v", "type": "BIGINT"}]}}]}`

const pairJob = `
version: 1
name: pairs
modules: {m: {file: m.wasm}}
sources:
  l: {test: {}, schema: {k: STRING, v: BIGINT}}
  r: {test: {}, schema: {k: STRING, v: BIGINT}}
steps:
  pairs:
    interval-join: {left: l, right: r, left-key: [k], right-key: [k], lower: 0ms, upper: 5ms, type: full, join: {wasm: m.pair}}
    on-fault: dead-letter
sinks:
  failed: {from: pairs.failed, test: {}}
`

// newPairs makes a job whose function fails on all pairs.
func newPairs(t *testing.T, text string, collect func(string, stream.Row, stream.EventTime)) (*job.Job, *runtime.Job) {
	t.Helper()
	plan := parsePlanOf(t, text, pairManifest)
	fails := func(o *guesttest.Op) {
		if o.Kind == abi.OpOnPair {
			o.Fail("no")
		}
	}
	j, err := runtime.New(plan, runtime.Config{
		Clock: &manualClock{}, Scripted: true, Collect: collect,
		Guest: func(*job.Function) (runtime.Guest, error) {
			return &guesttest.Instance{Functions: []guesttest.Function{fails}}, nil
		},
	})
	must(t, err)
	return plan, j
}

// TestDeadPairs: a dead letter of an outer join has the left row in record and the right
// one in other, also where it is alone.
func TestDeadPairs(t *testing.T) {
	var got []string
	var plan *job.Job
	side := func(letter stream.Row, column string) string {
		c := job.FailedSchema.Column(job.FailedSchema.Index(column))
		if c.IsNull(letter) {
			return "none"
		}
		return plan.Sources[0].Output.Show(stream.Row(c.Bytes(letter)))
	}
	var j *runtime.Job
	plan, j = newPairs(t, pairJob, func(_ string, r stream.Row, _ stream.EventTime) {
		key := job.FailedSchema.Column(job.FailedSchema.Index("key"))
		got = append(got, fmt.Sprintf("%s: %s; %s", key.Bytes(r), side(r, "record"), side(r, "other")))
	})
	send := func(source, k string, v int64) {
		b := new(stream.Batch)
		w := stream.NewRowWriter(plan.Sources[0].Output)
		w.Begin(b, stream.Insert)
		w.SetBytes(0, []byte(k))
		w.SetInt64(1, v)
		w.End(stream.EventTime(v))
		j.Feed(source).Send(b)
	}
	send("l", "both", 1)
	send("r", "both", 2)
	send("l", "lefts", 3)
	send("r", "rights", 4)
	j.Feed("l").End()
	j.Feed("r").End()
	must(t, j.Drive(nil))
	must(t, j.Close())
	want := []string{
		`k "both": k "both", v 1; k "both", v 2`,
		`k "lefts": k "lefts", v 3; none`,
		`k "rights": none; k "rights", v 4`,
	}
	slices.Sort(got)
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

const productJob = `
version: 1
name: pairs
modules: {m: {file: m.wasm}}
sources:
  l: {test: {}, schema: {k: STRING, v: BIGINT}}
  r: {test: {}, schema: {k: STRING, v: BIGINT}}
steps:
  pairs: {window-join: {left: l, right: r, left-key: [k], right-key: [k], join: {wasm: m.pair}}, window: {tumbling: {size: 1m}}}
sinks:
  out: {from: pairs, test: {}}
`

// TestFaultEndsAProduct: once a function has failed the job, no more pairs are gathered for
// it, however many a window has.
func TestFaultEndsAProduct(t *testing.T) {
	const perSide, most = 2000, 64 << 20 // bytes; a frame of all pairs has several times that
	plan, j := newPairs(t, productJob, func(string, stream.Row, stream.EventTime) {})
	for _, source := range []string{"l", "r"} {
		b, w := new(stream.Batch), stream.NewRowWriter(plan.Sources[0].Output)
		for i := range int64(perSide) {
			w.Begin(b, stream.Insert)
			w.SetBytes(0, []byte("k"))
			w.SetInt64(1, i)
			w.End(stream.EventTime(i))
		}
		j.Feed(source).Send(b)
		j.Feed(source).End()
	}
	var before, after gort.MemStats
	gort.ReadMemStats(&before)
	var failed *runtime.FunctionError
	if err := j.Drive(nil); !errors.As(err, &failed) {
		t.Errorf("it ended by %v", err)
	}
	gort.ReadMemStats(&after)
	must(t, j.Close())
	if took := after.TotalAlloc - before.TotalAlloc; took > most {
		t.Errorf("it took %d bytes, more than %d", took, most)
	}
}
