package process_test

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/wasmstream/wasmstream/abi"
	"github.com/wasmstream/wasmstream/host/operator/process"
	"github.com/wasmstream/wasmstream/host/state"
	"github.com/wasmstream/wasmstream/host/stream"
)

// The states of functions that share a backend.
const (
	ofKeyList, ofWindowList, ofWindowMap, ofWindowValue = 0, 1, 2, 3
	slotOfWindow                                        = 0
)

// shared is one of two functions that keep states on one backend, about window 0 or
// others of a key.
type shared struct {
	*process.States
	backend *state.Memory
	window  int64
	merged  []state.Ref
}

func newShared(b *state.Memory, base int) *shared {
	s := &shared{backend: b}
	list := []process.State{
		ofKeyList: {Value: number}, ofWindowList: {Value: number, Window: true}, ofWindowMap: {Key: text, Value: number, Window: true},
		ofWindowValue: {InSlot: true, Value: number, Window: true, TTL: process.TTL{Millis: 10}},
	}
	s.States = process.NewParts(b, 0, base, list, func(op uint32) (process.Subject, bool) {
		return process.Subject{Entry: s.entry(-1), Window: s.entry(s.window), Keyed: true, Merged: s.merged}, op == 0
	})
	return s
}

func (s *shared) entry(window int64) state.Ref {
	r := row(text, "a")
	return s.backend.Entry(r.Hash(), r, state.Namespace{Start: window, End: window + 1})
}

func (s *shared) push(t *testing.T, of uint32, n int) {
	t.Helper()
	if err := s.Put(0, of, nil, row(number, n)); err != nil {
		t.Fatal(err)
	}
	s.Keep()
}

// elements are what a list, or the values of a map, hold.
func (s *shared) elements(t *testing.T, of uint32) string {
	t.Helper()
	into := make([]byte, 1000)
	n, err := s.Scan(0, of, nil, into)
	if err != nil || n < 0 {
		t.Fatal(n, err)
	}
	var all []string
	c := number.Column(0)
	for b := into[:n]; len(b) > 0; {
		at := 8 + abi.Align(int(binary.LittleEndian.Uint32(b)))
		all = append(all, fmt.Sprint(c.Int64(stream.Row(b[at:]))))
		b = b[at+abi.Align(int(binary.LittleEndian.Uint32(b[4:]))):]
	}
	return strings.Join(all, " ")
}

func (s *shared) value(now int) bool {
	s.SetClock(stream.ProcTime(now))
	return len(s.Load(nil, s.entry(s.window), slotOfWindow)) > 0
}

// TestPartsShareEntries: states of two functions on one backend do not see each other,
// those of the key outlast its windows, and what is swept is its own.
func TestPartsShareEntries(t *testing.T) {
	b := state.NewMemory(128, state.Variable)
	one, two := newShared(b, 0), newShared(b, 1<<15)
	for i, s := range []*shared{one, two} {
		s.SetClock(0)
		s.push(t, ofKeyList, 10+i)
		s.push(t, ofWindowList, 20+i)
		if err := s.Put(0, ofWindowMap, row(text, "x"), row(number, 30+i)); err != nil {
			t.Fatal(err)
		}
		s.Keep()
		s.Store(s.entry(0), slotOfWindow, row(number, 40+i))
	}
	check := func(s *shared, want string, now int, value bool) {
		t.Helper()
		if got := s.elements(t, ofKeyList) + "," + s.elements(t, ofWindowList) + "," + s.elements(t, ofWindowMap); got != want {
			t.Errorf("it holds %s, want %s", got, want)
		}
		if got := s.value(now); got != value {
			t.Errorf("it has a value: %t", got)
		}
	}
	check(one, "10,20,30", 9, true)
	check(two, "11,21,31", 9, true)
	one.Clear(one.entry(0))
	check(one, "10,,", 9, false)
	check(two, "11,21,31", 9, true)
	one.SetClock(10)
	one.Sweep(100)
	check(two, "11,21,31", 9, true)
	two.SetClock(10)
	two.Sweep(100)
	check(two, "11,21,31", 9, false)
	two.Clear(two.entry(0))
	check(two, "11,,", 9, false)
	one.Clear(one.entry(-1))
	two.Clear(two.entry(-1))
	if b.Release(); b.Stats().Entries != 0 {
		t.Errorf("%d entries are left", b.Stats().Entries)
	}
}

// TestMerged: an op reads what windows held that were merged into its own, and that is
// all it can do with it.
func TestMerged(t *testing.T) {
	s := newShared(state.NewMemory(128, state.Variable), 0)
	for _, window := range []int64{1, 2} {
		s.window = window
		s.push(t, ofWindowList, int(window))
		if err := s.Put(0, ofWindowMap, row(text, "x"), row(number, int(10*window))); err != nil {
			t.Fatal(err)
		}
		s.Keep()
		s.merged = append(s.merged, s.entry(window))
	}
	s.window = 3
	if got := s.elements(t, ofWindowList) + s.elements(t, ofWindowList|1<<16) + s.elements(t, ofWindowList|2<<16); got != "12" {
		t.Errorf("the lists are %s", got)
	}
	value, ok, err := s.Get(0, ofWindowMap|2<<16, row(text, "x"))
	if c := number.Column(0); err != nil || !ok || c.Int64(value) != 20 {
		t.Errorf("got %x, %t, %v", value, ok, err)
	}
	for name, got := range map[string]error{
		"a third window":      second(s.Scan(0, ofWindowList|3<<16, nil, nil)),
		"of a key":            second(s.Scan(0, ofKeyList|1<<16, nil, nil)),
		"a slot":              second(s.Scan(0, ofWindowValue|1<<16, nil, nil)),
		"no state":            second(s.Scan(0, 4|1<<16, nil, nil)),
		"no such window":      second(s.Scan(0, ofWindowList|0xFFFF<<16, nil, nil)),
		"appended to":         s.Put(0, ofWindowList|1<<16, nil, row(number, 1)),
		"emptied":             s.Delete(0, ofWindowMap|1<<16, nil),
		"of an op beyond all": second(s.Scan(1, ofWindowList|1<<16, nil, nil)),
	} {
		if fault, is := got.(*abi.Fault); !is || fault.Kind != abi.FaultBadState {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func second(_ int, err error) error { return err }
