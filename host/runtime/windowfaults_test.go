package runtime_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/wasmstream/wasmstream/abi"
	"github.com/wasmstream/wasmstream/host/guest/guesttest"
	"github.com/wasmstream/wasmstream/host/job"
	"github.com/wasmstream/wasmstream/host/runtime"
	"github.com/wasmstream/wasmstream/host/stream"
)

const failingManifest = `{"functions": [
	{"name": "trigger", "role": "trigger", "merges": true, "input": {"fields": [{"name": "v", "type": "BIGINT"}]}},
	{"name": "assigner", "role": "assigner", "input": {"fields": [{"name": "v", "type": "BIGINT"}]}}]}`

const failingJob = `
version: 1
name: failing
modules: {m: {file: m.wasm}}
sources:
  in: {test: {}, schema: {k: STRING, v: BIGINT}}
steps:
  s: {from: in, key-by: [k], window: {WINDOW}, aggregate: {n: count}, on-fault: POLICY}
sinks:
  out: {from: s, test: {}}
`

// TestFaultEndsTheAsking: a function that fails on each record of a batch is asked no more
// once the job is known to fail, and fails by the first one. To find one record takes two
// calls for each halving of the 2,000 at most, so 22, and one for all. For the share of
// faults 201 of 2,000 are too many; each of them is a call, and so is each halving above
// them.
func TestFaultEndsTheAsking(t *testing.T) {
	const one, share = 24, 2*201 + 24
	const trigger = `function trigger of module m: module "test" failed in wasmstream_call, function 0: failed: `
	const assigner = `function assigner of module m: module "test" failed in wasmstream_call, function 1: failed: `
	const many = "201 faults in the last 2000 records or calls are more than the step's fault-rate, 0.1, allows (a greater one lets more pass, 1 any number); the last of them: "
	for name, c := range map[string]struct {
		window, policy string
		fails          abi.OpKind
		from           int64  // the first record that it fails on
		calls          int    // at most
		want           string // of the error
	}{
		"trigger":         {"tumbling: {size: 1h}, trigger: {wasm: m.trigger}", "fail", abi.OpOnElement, 0, one, trigger + "failed at v 0"},
		"trigger later":   {"tumbling: {size: 1h}, trigger: {wasm: m.trigger}", "fail", abi.OpOnElement, 700, one, trigger + "failed at v 700"},
		"session":         {"session: {gap: 1s}, trigger: {wasm: m.trigger}", "fail", abi.OpOnElement, 0, one, trigger + "failed at v 0"},
		"merge":           {"session: {gap: 1s}, trigger: {wasm: m.trigger}", "skip", abi.OpOnMerge, 0, one, trigger + "failed at a merge"},
		"assigner":        {"wasm: m.assigner", "fail", abi.OpAssign, 0, one, assigner + "failed at v 0"},
		"both":            {"wasm: m.assigner, trigger: {wasm: m.trigger}", "fail", abi.OpAssign, 700, one, assigner + "failed at v 700"},
		"share, trigger":  {"tumbling: {size: 1h}, trigger: {wasm: m.trigger}", "skip", abi.OpOnElement, 0, share, many + trigger + "failed at v 200"},
		"share, session":  {"session: {gap: 1s}, trigger: {wasm: m.trigger}", "skip", abi.OpOnElement, 0, share, many + trigger + "failed at v 200"},
		"share, assigner": {"wasm: m.assigner", "skip", abi.OpAssign, 0, share, many + assigner + "failed at v 200"},
		"share, both":     {"wasm: m.assigner, trigger: {wasm: m.trigger}", "skip", abi.OpAssign, 0, share, many + assigner + "failed at v 200"},
	} {
		t.Run(name, func(t *testing.T) {
			calls, err := runFailing(t, strings.NewReplacer("WINDOW", c.window, "POLICY", c.policy).Replace(failingJob), c.fails, c.from)
			if err == nil || err.Error() != "step s: "+c.want {
				t.Errorf("got %v, want %s", err, c.want)
			}
			if calls == 0 || calls > c.calls {
				t.Errorf("%d calls, want %d at most", calls, c.calls)
			}
		})
	}
}

// runFailing runs a job on a batch of 2,000 records, with functions that fail on ops of a
// kind whose record is from on.
func runFailing(t *testing.T, text string, fails abi.OpKind, from int64) (calls int, err error) {
	plan := parsePlanOf(t, text, failingManifest)
	v := stream.MustSchema(stream.Field{Name: "v", Type: stream.Type{Kind: stream.BigInt}}).Column(0)
	perform := func(o *guesttest.Op) {
		switch {
		case o.Kind == fails && o.Row == nil:
			o.Fail("failed at a merge")
		case o.Kind == fails && v.Int64(o.Row) >= from:
			o.Fail("failed at v %d", v.Int64(o.Row))
		case o.Kind == abi.OpAssign:
			o.Assign(0, 1_000_000)
		}
	}
	j, err := runtime.New(plan, runtime.Config{
		Clock: &manualClock{}, Scripted: true,
		Collect: func(string, stream.Row, stream.EventTime) {},
		Guest: func(*job.Function) (runtime.Guest, error) {
			return askedGuest{&guesttest.Instance{Functions: []guesttest.Function{perform, perform}}, &calls}, nil
		},
	})
	must(t, err)
	b := new(stream.Batch)
	w := stream.NewRowWriter(plan.Sources[0].Output)
	for i := range int64(2000) {
		w.Begin(b, stream.Insert)
		w.SetBytes(0, []byte("k"))
		w.SetInt64(1, i)
		w.End(stream.EventTime(i))
	}
	j.Feed("in").Send(b)
	j.Feed("in").End()
	err = j.Drive(nil)
	must(t, j.Close())
	return calls, err
}

// askedGuest counts its calls, but for those that open it, which follow each fault.
type askedGuest struct {
	*guesttest.Instance
	calls *int
}

func (g askedGuest) Call(function, pointer uint32, length int) ([]byte, error) {
	*g.calls++
	return g.Instance.Call(function, pointer, length)
}

// TestFaultLeavesOtherLists: a record that a window function fails on is left out of its
// window, and of no other that fires at the same time, whatever states the function has. A
// state that is read once is seen by one op of a key in a frame; those of other keys are in it.
func TestFaultLeavesOtherLists(t *testing.T) {
	const manifest = `{"functions": [{"name": "sum", "role": "apply", "input": {"fields": [{"name": "v", "type": "BIGINT"}]}, "output": {"fields": [{"name": "sum", "type": "BIGINT"}]},
		"states": [{"name": "seen", "kind": "value", "ttl": "1h", "ttl_visibility": "once", "value": {"fields": [{"name": "n", "type": "BIGINT"}]}}]}]}`
	const text = `
version: 1
name: failing
modules: {m: {file: m.wasm}}
sources:
  in: {test: {}, schema: {k: BIGINT, v: BIGINT}}
steps:
  s: {from: in, key-by: [k], window: {tumbling: {size: 1h}, allowed-lateness: 1h}, apply: {wasm: m.sum}, on-fault: skip}
sinks:
  out: {from: s, test: {}}
`
	plan := parsePlanOf(t, text, manifest)
	long := stream.MustSchema(stream.Field{Name: "v", Type: stream.Type{Kind: stream.BigInt}})
	v, w, result := long.Column(0), stream.NewRowWriter(long), new(stream.Batch)
	sum := func(o *guesttest.Op) {
		if o.Kind == abi.OpOpen {
			return
		}
		total := int64(0)
		for i := range o.Len() {
			_, row, _ := o.Element(i)
			if v.Int64(row) == 13 {
				o.Fail("no thirteen")
			}
			total += v.Int64(row)
		}
		result.Reset()
		w.Begin(result, stream.Insert)
		w.SetInt64(0, total)
		w.End(0)
		o.Emit(0, result.Row(0))
	}
	var got []int64
	guest := &guesttest.Instance{Functions: []guesttest.Function{sum}}
	j, err := runtime.New(plan, runtime.Config{
		Clock: &manualClock{}, Scripted: true,
		Collect: func(_ string, r stream.Row, _ stream.EventTime) { got = append(got, v.Int64(r)) },
		Guest:   func(*job.Function) (runtime.Guest, error) { return guest, nil },
	})
	must(t, err)
	const keys = 9
	b, in := new(stream.Batch), stream.NewRowWriter(plan.Sources[0].Output)
	var want []int64
	for k := range int64(keys) {
		for _, value := range []int64{13, 100 * k, k} {
			in.Begin(b, stream.Insert)
			in.SetInt64(0, k)
			in.SetInt64(1, value)
			in.End(0)
		}
		want = append(want, 101*k)
	}
	j.Feed("in").Send(b)
	j.Feed("in").End()
	must(t, j.Drive(nil))
	must(t, j.Close())
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("sums %v, want %v", got, want)
	}
}
