package state_test

import (
	"encoding/binary"
	"testing"

	"github.com/wasmstream/wasmstream/host/state"
	"github.com/wasmstream/wasmstream/host/stream"
)

// TestExpectLeavesAllAsItIs: entries that are expected are found as before, and those that are not there are not made.
func TestExpectLeavesAllAsItIs(t *testing.T) {
	m := state.NewMemory(128, 8)
	key := func(i int) stream.Row { return binary.LittleEndian.AppendUint64(make([]byte, 8), uint64(i)) }
	ns := state.Namespace{Start: 0, End: 10}
	const held, n = 70, 100
	var list []state.Expected
	var refs []state.Ref
	m.Expect(nil)
	for i := range n {
		list = append(list, state.Expected{Hash: key(i).Hash(), Namespace: ns})
		if i < held {
			r := m.Entry(key(i).Hash(), key(i), ns)
			m.Hold(r, 0)
			binary.LittleEndian.PutUint64(m.Edit(r, 0), uint64(i))
			refs = append(refs, r)
		}
	}
	m.Release()
	before := m.Stats()
	if got := testing.AllocsPerRun(10, func() { m.Expect(list) }); got != 0 {
		t.Errorf("Expect allocates %v times", got)
	}
	if got := m.Stats(); got != before {
		t.Errorf("%+v after Expect, and %+v before", got, before)
	}
	for i, r := range refs {
		if got := m.Entry(key(i).Hash(), key(i), ns); got != r || binary.LittleEndian.Uint64(m.Value(r, 0)) != uint64(i) {
			t.Errorf("entry %d is %d instead of %d, or holds something else", i, got, r)
		}
	}
}
