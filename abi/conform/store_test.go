package conform_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/wasmstream/wasmstream/abi"
	"github.com/wasmstream/wasmstream/abi/conform"
)

func number(n int64) []byte { return binary.LittleEndian.AppendUint64(make([]byte, 8), uint64(n)) }

var column = &abi.Schema{Fields: []*abi.Field{{Name: "n", Type: "BIGINT"}}}

// The states of tests, by their index.
const (
	aSlot, aMap, aList, aShared = 0, 1, 2, 3
)

// newStore has a frame of three ops: on-record of the keys 1 and 2, and on-broadcast.
func newStore(t *testing.T) *conform.Store {
	t.Helper()
	s, err := conform.NewStore(&abi.Function{Role: abi.RoleBroadcastProcess, States: []*abi.State{
		{Name: "slot", Kind: abi.StateValue, Value: column}, {Name: "map", Kind: abi.StateMap, Key: column, Value: column},
		{Name: "list", Kind: abi.StateList, Value: column},
		{Name: "shared", Kind: abi.StateMap, Key: column, Value: column, Scope: abi.ScopeBroadcast},
	}})
	if err != nil {
		t.Fatal(err)
	}
	h := abi.Layout(3, 0, 0, 0, 0)
	frame := make([]byte, h.Total)
	abi.PutHeader(frame, h)
	for i, kind := range []abi.OpKind{abi.OpOnRecord, abi.OpOnRecord, abi.OpOnBroadcast} {
		abi.PutOp(frame, int(h.OpsOffset)+i*abi.OpBytes, abi.Op{Kind: kind})
	}
	if err := s.Begin(frame, []conform.Owner{{Key: 1}, {Key: 2}, {}}); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestStore(t *testing.T) {
	s := newStore(t)
	for i, err := range []error{
		s.Put(0, aMap, number(2), number(20)), s.Put(0, aMap, number(1), number(10)), s.Put(0, aMap, number(2), number(21)),
		s.Put(1, aMap, number(2), number(99)), s.Put(0, aList, nil, number(5)), s.Put(0, aList, nil, number(4)),
		s.Put(2, aShared, number(7), number(70)), s.Delete(1, aMap, number(2)),
	} {
		if err != nil {
			t.Errorf("call %d: %v", i, err)
		}
	}
	for _, c := range []struct {
		op, state uint32
		key       int64
		want      []byte
	}{{0, aMap, 2, number(21)}, {0, aMap, 3, nil}, {1, aMap, 2, nil}, {0, aShared, 7, number(70)}, {2, aShared, 7, number(70)}} {
		got, ok, err := s.Get(c.op, c.state, number(c.key))
		if err != nil || ok != (c.want != nil) || !bytes.Equal(got, c.want) {
			t.Errorf("%+v: got %x, %v, %v", c, got, ok, err)
		}
	}
	if got := s.Entries(1, aMap); len(got) != 2 || !bytes.Equal(got[0][0], number(1)) || !bytes.Equal(got[1][1], number(21)) {
		t.Errorf("the map holds %x", got)
	}
	if err := s.Delete(0, aMap, nil); err != nil || len(s.Entries(1, aMap)) != 0 || len(s.Entries(1, aList)) != 2 {
		t.Errorf("after all was deleted: %v, %x", err, s.Entries(1, aMap))
	}
}

// A list is gone through by position, as many whole entries as fit at a time.
func TestScan(t *testing.T) {
	s := newStore(t)
	for n := range int64(3) {
		if err := s.Put(0, aList, nil, number(10-n)); err != nil {
			t.Fatal(err)
		}
	}
	into := make([]byte, 70) // two entries of 32 bytes
	if n, err := s.Scan(0, aList, nil, into[:31]); n != -32 || err != nil {
		t.Errorf("without room for one: %d, %v", n, err)
	}
	n, err := s.Scan(0, aList, nil, into)
	if n != 64 || err != nil || !bytes.Equal(into[40:48], []byte{2, 0, 0, 0, 0, 0, 0, 0}) || !bytes.Equal(into[48:64], number(9)) {
		t.Errorf("the first two: %d, %v, %x", n, err, into)
	}
	if n, err = s.Scan(0, aList, into[40:48], into); n != 32 || err != nil || !bytes.Equal(into[16:32], number(8)) {
		t.Errorf("the third: %d, %v, %x", n, err, into)
	}
	if n, err = s.Scan(0, aList, into[8:16], into); n != 0 || err != nil {
		t.Errorf("behind it: %d, %v", n, err)
	}
}

// What a guest may not ask for is a fault, as with a host.
func TestStoreRefuses(t *testing.T) {
	s := newStore(t)
	get := func(op, state uint32, key []byte) error {
		_, _, err := s.Get(op, state, key)
		return err
	}
	scan := func(op, state uint32, after []byte) error {
		_, err := s.Scan(op, state, after, make([]byte, 64))
		return err
	}
	for name, c := range map[string]struct {
		err  error
		kind abi.FaultKind
	}{
		"an op that is not in the frame":       {get(3, aMap, number(1)), abi.FaultBadState},
		"a state that is not declared":         {get(0, 9, number(1)), abi.FaultBadState},
		"a slot":                               {s.Put(0, aSlot, nil, number(1)), abi.FaultBadState},
		"broadcast state changed by a record":  {s.Put(0, aShared, number(1), number(1)), abi.FaultBadState},
		"broadcast state deleted by a record":  {s.Delete(0, aShared, nil), abi.FaultBadState},
		"state of a key by a broadcast record": {get(2, aMap, number(1)), abi.FaultBadState},
		"a get of a list":                      {get(0, aList, number(1)), abi.FaultBadState},
		"a put with a key into a list":         {s.Put(0, aList, number(1), number(1)), abi.FaultBadState},
		"one element of a list deleted":        {s.Delete(0, aList, number(1)), abi.FaultBadState},
		"a position of four bytes":             {scan(0, aList, []byte{1, 0, 0, 0}), abi.FaultBadState},
		"a key that is no row":                 {get(0, aMap, []byte{1}), abi.FaultBadRow},
		"a value that is no row":               {s.Put(0, aMap, number(1), append(number(1), 0, 0, 0, 0, 0, 0, 0, 0)), abi.FaultBadRow},
	} {
		var fault *abi.Fault
		if !errors.As(c.err, &fault) || fault.Kind != c.kind {
			t.Errorf("%s: %v, want %v", name, c.err, c.kind)
		}
	}
}

// Effects are shown in the words of cases.txt.
func TestEffectsAreShown(t *testing.T) {
	rows, err := conform.RowsOf(&abi.Function{Role: abi.RoleProcess, Input: column, Output: column, States: []*abi.State{{Name: "seen", Kind: abi.StateValue, Value: column}}})
	if err != nil {
		t.Fatal(err)
	}
	long := func(numbers ...int64) (b []byte) {
		for _, n := range numbers {
			b = binary.LittleEndian.AppendUint64(b, uint64(n))
		}
		return b
	}
	for want, e := range map[string]abi.Effect{
		"emit to output 0, (n 7)":     {Kind: abi.EffectEmit, Payload: long(0, 7)},
		"set-timer event 601000":      {Kind: abi.EffectSetTimer, Payload: long(601000)},
		"delete-timer processing -5":  {Kind: abi.EffectDeleteTimer, Aux: 1, Payload: long(-5)},
		"set-timer, aux 2 0":          {Kind: abi.EffectSetTimer, Aux: 2, Payload: long(0)},
		"decide fire-and-purge":       {Kind: abi.EffectDecide, Aux: 3},
		"decide, aux 4":               {Kind: abi.EffectDecide, Aux: 4},
		"assign 0 60000":              {Kind: abi.EffectAssign, Payload: long(0, 60000)},
		"evict 0":                     {Kind: abi.EffectEvict},
		"touch, slot 1":               {Kind: abi.EffectTouch, Aux: 1},
		"keep":                        {Kind: abi.EffectKeep},
		"set-slot, nothing in slot 0": {Kind: abi.EffectSetSlot},
		"set-slot, slot 0, (n 7)":     {Kind: abi.EffectSetSlot, Payload: long(0, 7)},
	} {
		if got := rows.Effect(&e); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if rows.SlotName(1) != "state seen" || rows.StateName(0) != "seen" || rows.StateName(9) != "9" {
		t.Errorf("names %q, %q, %q", rows.SlotName(1), rows.StateName(0), rows.StateName(9))
	}
}
