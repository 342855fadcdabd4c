package scenario_test

import (
	"strings"
	"testing"

	"github.com/wasmstream/wasmstream/abi"
	"github.com/wasmstream/wasmstream/host/guest/guesttest"
	"github.com/wasmstream/wasmstream/host/job"
	"github.com/wasmstream/wasmstream/host/runtime"
	"github.com/wasmstream/wasmstream/host/scenario"
	"github.com/wasmstream/wasmstream/host/stream"
)

// faultyManifest is of functions that fail on some records: the assigner on 13, the
// trigger on 7, and on a merge with a window that had an 8.
func faultyManifest() *abi.Manifest {
	v := &abi.Schema{Fields: []*abi.Field{{Name: "v", Type: "BIGINT"}}}
	return &abi.Manifest{Functions: []*abi.Function{
		{Name: "ten", Role: abi.RoleAssigner, Input: v},
		{Name: "ten-merging", Role: abi.RoleAssigner, Input: v, Merges: true},
		{Name: "each", Role: abi.RoleTrigger, Input: v, Merges: true, States: []*abi.State{{Name: "s", Kind: abi.StateValue, Scope: abi.ScopeWindow, Value: v}}},
	}}
}

func faultyGuest() *guesttest.Instance {
	schema := stream.MustSchema(stream.Field{Name: "v", Type: stream.Type{Kind: stream.BigInt}})
	v := schema.Column(0)
	assign := func(merging bool) guesttest.Function {
		return func(o *guesttest.Op) {
			switch {
			case o.Kind == abi.OpOpen:
			case v.Int64(o.Row) == 13:
				o.Fail("no thirteen")
			case merging:
				o.Assign(o.Time(), o.Time()+10)
			default:
				o.Assign(o.Time()/10*10, o.Time()/10*10+10)
			}
		}
	}
	each := func(o *guesttest.Op) {
		switch o.Kind {
		case abi.OpOnElement:
			if v.Int64(o.Row) == 7 {
				o.Fail("no seven")
			}
			o.SetState(0, o.Row[:schema.FixedBytes()])
			o.Effect(abi.EffectDecide, 1, nil)
		case abi.OpOnMerge:
			for i := range o.Len() {
				if s := o.StateAt(o.Merged(i)); s != nil && v.Int64(s) == 8 {
					o.Fail("no eight")
				}
			}
		}
	}
	return &guesttest.Instance{Functions: []guesttest.Function{assign(false), assign(true), each}}
}

// playFaulty runs a script with them; batch is how many records come together.
func playFaulty(t *testing.T, batch int, window, script string) {
	t.Helper()
	text := strings.Replace(`-- m.wasm --
-- job.yaml --
version: 1
name: j
modules: {m: {file: m.wasm}}
sources:
  in: {test: {}, schema: {k: STRING, v: BIGINT}}
steps:
  s: {from: in, key-by: [k], window: {wasm: WINDOW, trigger: {wasm: m.each}}, aggregate: {n: count}, on-fault: dead-letter}
  kinds: {from: s.failed, key-by: [reason, message], window: {global: {}, trigger: {count: 1}}, aggregate: {n: count}}
sinks:
  out: {from: s, test: {}}
  failed: {from: kinds, test: {}}
-- script --
`, "WINDOW", window, 1) + script
	o := options()
	o.Batch = batch
	o.Manifest = func(job.Module, []byte) (*abi.Manifest, error) { return faultyManifest(), nil }
	o.Guest = func(*job.Function, []byte) (runtime.Guest, error) { return faultyGuest(), nil }
	if r := parse(t, "a.scenario", []byte(text)).Run(o); r.Outcome != scenario.Pass {
		t.Error(r)
	}
}

// TestFaultsInWindows: a record that the assigner fails on is in no window and not late
// either, and so is one that the trigger fails on.
func TestFaultsInWindows(t *testing.T) {
	const one, thirteen, seven, two = `emit in {"k":"a","v":1} @1
`, `emit in {"k":"a","v":13} @2
`, `emit in {"k":"a","v":7} @3
`, `emit in {"k":"a","v":2} @4
`
	const wantOne, wantThirteen, wantSeven, wantTwo = `want out {"k":"a","n":1,"window_start":0,"window_end":10} @9
`, `want failed {"reason":"failed","message":"no thirteen","n":1} @max
`, `want failed {"reason":"failed","message":"no seven","n":1} @max
`, `want out {"k":"a","n":2,"window_start":0,"window_end":10} @9
`
	const late = `watermark in 100
emit in {"k":"a","v":13} @5
want failed {"reason":"failed","message":"no thirteen","n":2} @max
want-late-dropped s 0
emit in {"k":"a","v":1} @5
want-late-dropped s 1
`
	playFaulty(t, 0, "m.ten", one+wantOne+thirteen+wantThirteen+seven+wantSeven+two+wantTwo+late)
	playFaulty(t, 4096, "m.ten", one+thirteen+seven+two+wantOne+wantThirteen+wantSeven+wantTwo+late)
}

// TestFaultInMerge: what a merge that failed leaves is not known, so the job ends.
func TestFaultInMerge(t *testing.T) {
	playFaulty(t, 0, "m.ten-merging", `
emit in {"k":"a","v":1} @1
want out {"k":"a","n":1,"window_start":1,"window_end":11} @10
emit in {"k":"a","v":8} @5
want out {"k":"a","n":2,"window_start":1,"window_end":15} @14
emit in {"k":"a","v":2} @8
want-error no eight
`)
}
