package guest_test

import (
	"maps"
	"testing"

	"github.com/wasmstream/wasmstream/abi"
	"github.com/wasmstream/wasmstream/host/guest"
	"github.com/wasmstream/wasmstream/host/guest/guesttest"
	"github.com/wasmstream/wasmstream/host/stream"
)

// TestSlotsAreJudgedAtTheEndOfAFrame: that an op broke a slot is seen if it is so when the
// frame is answered. A function that breaks slots and mends them has results that depend
// on how its ops fall into frames, as abi/README.md says; the conformance suite plays each
// case with a frame for each op, where it shows.
func TestSlotsAreJudgedAtTheEndOfAFrame(t *testing.T) {
	number := oneNumber.Column(0)
	const breaks, mends, fails = 2, 1, 0 // what becomes of the slot, which is a BOOLEAN
	perform := func(o *guesttest.Op) {
		v := number.Int64(o.Row)
		if v == fails {
			o.Fail("no")
		}
		o.SetState(0, row(oneNumber, v))
		o.Emit(0, row(oneNumber, v))
	}
	for name, c := range map[string]struct {
		opsMax int
		ops    []int
		faults map[int]abi.FaultKind
	}{
		"one frame":         {10, []int{breaks, mends, mends}, nil},
		"left broken":       {10, []int{mends, breaks, mends, breaks}, map[int]abi.FaultKind{1: abi.FaultBadRow, 3: abi.FaultBadRow}},
		"a frame each":      {1, []int{breaks, mends, mends}, map[int]abi.FaultKind{0: abi.FaultBadRow}},
		"a fault of others": {10, []int{breaks, mends, fails}, map[int]abi.FaultKind{0: abi.FaultBadRow, 2: abi.FaultFailed}},
	} {
		g := &guesttest.Instance{Functions: []guesttest.Function{perform}}
		b := newBook(1, 1)
		options := guest.Options{Role: abi.RoleProcess, Outputs: []*stream.Schema{oneNumber}, Slots: []*stream.Schema{schema("BOOLEAN")}, OpsMax: c.opsMax}
		faults, emitted := map[int]abi.FaultKind{}, 0
		caller := guest.NewCaller(g, options, b)
		performed := 0
		settle := func() {
			n := caller.Len()
			if err := caller.Perform(); err != nil {
				t.Fatal(err)
			}
			for i, kind := range b.faults {
				faults[performed+i] = kind
			}
			for _, lines := range b.lines {
				emitted += len(lines)
			}
			performed += n
			b.faults, b.lines, b.done = map[int]abi.FaultKind{}, map[int][]string{}, nil
		}
		for _, v := range c.ops {
			caller.Add(abi.OpOnRecord, 0, caller.WholeRow(row(oneNumber, v)), &guest.Context{Key: guest.NoRow(), Second: guest.NoRow()})
			if caller.Due() {
				settle()
			}
		}
		settle()
		if !maps.Equal(faults, c.faults) || emitted != len(c.ops)-len(c.faults) {
			t.Errorf("%s: faults %v and %d rows, want %v", name, faults, emitted, c.faults)
		}
		if got := b.slots[0][8]; got != mends {
			t.Errorf("%s: the slot holds %d", name, got)
		}
	}
}
