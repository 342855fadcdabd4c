package runtime_test

import (
	"fmt"
	gort "runtime"
	"strings"
	"testing"

	"github.com/wasmstream/wasmstream/abi"
	"github.com/wasmstream/wasmstream/host/guest/guesttest"
	"github.com/wasmstream/wasmstream/host/job"
	"github.com/wasmstream/wasmstream/host/runtime"
	"github.com/wasmstream/wasmstream/host/stream"
)

const waitingManifest = `{"functions": [
	{"name": "none", "role": "aggregate", "input": {"fields": [{"name": "v", "type": "BIGINT"}]},
		"accumulator": {"fields": [{"name": "n", "type": "BIGINT"}]}, "output": {"fields": [{"name": "n", "type": "BIGINT"}]}},
	{"name": "first", "role": "reduce", "input": {"fields": [{"name": "k", "type": "BIGINT"}, {"name": "v", "type": "BIGINT"}]}}]}`

const waitingJob = `
version: 1
name: waiting
modules: {m: {file: m.wasm}}
sources:
  in: {test: {}, schema: {k: BIGINT, v: BIGINT}}
steps:
  s: {from: in, key-by: [k], window: {tumbling: {size: 10ms}LATENESS}, FUNCTION}
sinks:
  out: {from: s, test: {}}
`

// TestWhatWaitsIsBounded: what waits behind an op that was put off is bounded, however many
// windows need none: results of a reduce function of one record each, and ends of windows
// that have fired before. A list of either that grows to all of them takes 70 MB; all else
// takes 44 and 68 MB.
func TestWhatWaitsIsBounded(t *testing.T) {
	const keys, most = 300_000, 90 << 20
	for name, c := range map[string]struct {
		lateness, function string
		at                 stream.EventTime // of the op
		marks              []int64          // that come before what is measured
	}{
		"results": {"", "reduce: {wasm: m.first}", 1, nil},
		"ends":    {", allowed-lateness: 5ms", "aggregate: {wasm: m.none}, output: update", 10, []int64{9}},
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.NewReplacer("LATENESS", c.lateness, "FUNCTION", c.function).Replace(waitingJob)
			plan := parsePlanOf(t, text, waitingManifest)
			rows := 0
			w, result := stream.NewRowWriter(schemaOf("n BIGINT")), new(stream.Batch)
			w.Begin(result, stream.Insert)
			w.SetInt64(0, 1)
			w.End(0)
			perform := func(o *guesttest.Op) {
				if o.Kind == abi.OpResult {
					o.Emit(0, result.Row(0))
				}
			}
			j, err := runtime.New(plan, runtime.Config{
				Clock: &manualClock{}, Scripted: true, Collect: func(string, stream.Row, stream.EventTime) { rows++ },
				Guest: func(*job.Function) (runtime.Guest, error) {
					return &guesttest.Instance{Functions: []guesttest.Function{perform, perform}}, nil
				},
			})
			must(t, err)
			b, in := new(stream.Batch), stream.NewRowWriter(plan.Sources[0].Output)
			send := func(from, to int64, at stream.EventTime, marks ...int64) {
				for k := from; k < to; k++ {
					in.Begin(b, stream.Insert)
					in.SetInt64(0, k)
					in.SetInt64(1, 1)
					in.End(at)
				}
				for _, m := range marks {
					b.Mark(stream.MarkWatermark, m)
				}
				j.Feed("in").Send(b)
				must(t, j.Drive(nil))
				b = new(stream.Batch)
			}
			for from := int64(0); from < keys; from += 1000 {
				send(from, from+1000, 1)
			}
			send(0, 0, 0, c.marks...)
			var before, after gort.MemStats
			gort.ReadMemStats(&before)
			send(0, 1, c.at, int64(c.at)+9) // an op, and the watermark behind it
			gort.ReadMemStats(&after)
			j.Feed("in").End()
			must(t, j.Drive(nil))
			must(t, j.Close())
			if rows < keys {
				t.Errorf("%d rows", rows)
			}
			if took := after.TotalAlloc - before.TotalAlloc; took > most {
				t.Errorf("it took %d bytes, more than %d", took, most)
			}
		})
	}
}

const spareManifest = `{"functions": [{"name": "some", "role": "apply", "input": {"fields": [{"name": "v", "type": "BIGINT"}]}, "output": {"fields": [{"name": "n", "type": "BIGINT"}]},
	"states": [{"name": "seen", "kind": "value", "scope": "key", "value": {"fields": [{"name": "n", "type": "BIGINT"}]}}]}]}`

// TestEntriesThatStayEmpty: a state that a window function could have set, and did not, is
// no entry, in none of the frames of a sweep: 30 windows and the states of the last 10 keys
// that it is asked about are 40 entries, and no fewer.
func TestEntriesThatStayEmpty(t *testing.T) {
	const text = `
version: 1
name: spare
modules: {m: {file: m.wasm}}
sources:
  in: {test: {}, schema: {k: BIGINT, v: BIGINT}}
steps:
  s: {from: in, key-by: [k], window: {tumbling: {size: 10ms}}, apply: {wasm: m.some}, limits: {entries: %d}}
sinks:
  out: {from: s, test: {}}
`
	for limit, fits := range map[int]bool{40: true, 39: false} {
		plan := parsePlanOf(t, fmt.Sprintf(text, limit), spareManifest)
		w, seen, asked := stream.NewRowWriter(schemaOf("n BIGINT")), new(stream.Batch), 0
		w.Begin(seen, stream.Insert)
		w.SetInt64(0, 1)
		w.End(0)
		some := func(o *guesttest.Op) {
			if o.Kind != abi.OpOnWindow {
				return
			}
			if asked++; asked > 20 {
				o.SetState(0, seen.Row(0))
			}
		}
		j, err := runtime.New(plan, runtime.Config{
			Clock: &manualClock{}, Scripted: true, Collect: func(string, stream.Row, stream.EventTime) {},
			Limits: runtime.Limits{BatchRows: 1}, // frames of few ops
			Guest: func(*job.Function) (runtime.Guest, error) {
				return &guesttest.Instance{Functions: []guesttest.Function{some}}, nil
			},
		})
		must(t, err)
		b, in := new(stream.Batch), stream.NewRowWriter(plan.Sources[0].Output)
		for k := range int64(30) {
			in.Begin(b, stream.Insert)
			in.SetInt64(0, k)
			in.SetInt64(1, k)
			in.End(stream.EventTime(0))
		}
		j.Feed("in").Send(b)
		j.Feed("in").End()
		if err := j.Drive(nil); (err == nil) != fits {
			t.Errorf("with a limit of %d entries: %v", limit, err)
		}
		must(t, j.Close())
	}
}
