package process_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/wasmstream/wasmstream/abi"
	"github.com/wasmstream/wasmstream/host/operator/process"
	"github.com/wasmstream/wasmstream/host/state"
	"github.com/wasmstream/wasmstream/host/stream"
)

var (
	number = stream.MustSchema(stream.Field{Name: "n", Type: stream.Type{Kind: stream.BigInt}})
	text   = stream.MustSchema(stream.Field{Name: "text", Type: stream.Type{Kind: stream.String}})
)

func row(s *stream.Schema, v any) stream.Row {
	w := stream.NewRowWriter(s)
	w.BeginIn(nil, stream.Insert)
	switch v := v.(type) {
	case int:
		w.SetInt64(0, int64(v))
	case string:
		w.SetBytes(0, []byte(v))
	}
	return w.Row()
}

// The states of tests: slot 0 is a number, slot 1 a text.
const (
	aValue, aText, aMap, aList, aShared = 0, 1, 2, 3, 4
	slotValue, slotText                 = 0, 1
)

// keep is a set of states with one key, whose ops are 0, and a broadcast op, 1.
type keep struct {
	*process.States
	backend *state.Memory
}

func states(ttl process.TTL) []process.State {
	return []process.State{
		aValue: {InSlot: true, Value: number, TTL: ttl}, aText: {InSlot: true, Value: text, TTL: ttl},
		aMap: {Key: text, Value: number, TTL: ttl}, aList: {Value: number, TTL: ttl},
		aShared: {Key: number, Value: text, Shared: true},
	}
}

func newKeep(ttl process.TTL) *keep {
	return keepOn(state.NewMemory(128, process.Cells(states(ttl))...), ttl)
}

func keepOn(b *state.Memory, ttl process.TTL) *keep {
	k := &keep{backend: b}
	k.States = process.New(b, states(ttl), func(op uint32) (process.Subject, bool) {
		return process.Subject{Entry: k.entry("a"), Keyed: op == 0, Writes: op == 1}, op < 2
	})
	return k
}

func (k *keep) entry(key string) state.Ref {
	r := row(text, key)
	return k.backend.Entry(r.Hash(), r, state.Namespace{})
}

// value reads slot 0 as a function does that says so.
func (k *keep) value(t *testing.T, now int) string {
	t.Helper()
	k.SetClock(stream.ProcTime(now))
	b := k.Load(nil, k.entry("a"), slotValue)
	if len(b) == 0 {
		return "gone"
	}
	k.Touch(k.entry("a"), slotValue)
	c := number.Column(0)
	return fmt.Sprint(c.Int64(b))
}

func (k *keep) set(now, n int) {
	k.SetClock(stream.ProcTime(now))
	k.Store(k.entry("a"), slotValue, row(number, n))
}

func (k *keep) get(t *testing.T, now int, key string) string {
	t.Helper()
	k.SetClock(stream.ProcTime(now))
	v, ok, err := k.Get(0, aMap, row(text, key))
	k.Keep()
	if err != nil {
		t.Fatal(err)
	}
	if !ok {
		return "gone"
	}
	c := number.Column(0)
	return fmt.Sprint(c.Int64(v))
}

func (k *keep) put(t *testing.T, now int, key string, n int) {
	t.Helper()
	k.SetClock(stream.ProcTime(now))
	if err := k.Put(0, aMap, row(text, key), row(number, n)); err != nil {
		t.Fatal(err)
	}
	k.Keep()
}

func (k *keep) push(t *testing.T, now, n int) {
	t.Helper()
	k.SetClock(stream.ProcTime(now))
	if err := k.Put(0, aList, nil, row(number, n)); err != nil {
		t.Fatal(err)
	}
	k.Keep()
}

// list is a list's elements behind a position, as position:value; a scan of at most so
// many bytes.
func (k *keep) list(t *testing.T, now, after, bytes int) string {
	t.Helper()
	k.SetClock(stream.ProcTime(now))
	into := make([]byte, bytes)
	n, err := k.Scan(0, aList, binary.LittleEndian.AppendUint64(nil, uint64(after)), into)
	k.Keep()
	if err != nil || n < 0 {
		t.Fatal(n, err)
	}
	var all []string
	c := number.Column(0)
	for b := into[:n]; len(b) > 0; b = b[8+8+16:] {
		all = append(all, fmt.Sprintf("%d:%d", binary.LittleEndian.Uint64(b[8:]), c.Int64(stream.Row(b[16:]))))
	}
	return strings.Join(all, " ")
}

// TestTTL is case C42 of the semantics: of a value, and of a map's entry.
func TestTTL(t *testing.T) {
	type act struct {
		write bool
		at    int
		want  string
	}
	w := func(at int) act { return act{write: true, at: at} }
	r := func(at int, want string) act { return act{at: at, want: want} }
	for name, c := range map[string]struct {
		ttl  process.TTL
		acts []act
	}{
		"write":   {process.TTL{Millis: 100}, []act{w(0), r(20, "1"), w(50), r(120, "1"), w(170), r(220, "1"), r(300, "gone")}},
		"relaxed": {process.TTL{Millis: 100, Once: true}, []act{w(0), r(120, "1"), r(120, "gone"), r(121, "gone")}},
		"read":    {process.TTL{Millis: 100, OnRead: true}, []act{w(0), r(50, "1"), r(120, "1"), r(250, "gone")}},
		"exactly": {process.TTL{Millis: 100}, []act{w(0), r(99, "1"), r(100, "gone")}},
		"largest": {process.TTL{Millis: math.MaxInt64}, []act{w(math.MaxInt64 - 5), r(math.MaxInt64-1, "1")}},
		"before":  {process.TTL{Millis: math.MaxInt64}, []act{w(-5), r(math.MaxInt64-6, "1")}},
		"none":    {process.TTL{}, []act{w(0), r(math.MaxInt64, "1")}},
	} {
		t.Run(name, func(t *testing.T) {
			k := newKeep(c.ttl)
			for _, a := range c.acts {
				if a.write {
					k.set(a.at, 1)
					k.put(t, a.at, "x", 1)
					continue
				}
				if got := k.value(t, a.at); got != a.want {
					t.Errorf("the value at %d is %s, want %s", a.at, got, a.want)
				}
				if got := k.get(t, a.at, "x"); got != a.want {
					t.Errorf("the entry at %d is %s, want %s", a.at, got, a.want)
				}
			}
		})
	}
}

// TestListPositions: a position says nothing of what was swept and what not, nor of what a scan has dropped.
func TestListPositions(t *testing.T) {
	for _, by := range []string{"nothing", "sweeps", "scans", "scans that are undone"} {
		k := newKeep(process.TTL{Millis: 100, OnRead: true})
		sweep := func(now int) {
			switch by {
			case "sweeps":
				k.SetClock(stream.ProcTime(now))
				k.Sweep(100)
				k.backend.Release()
			case "scans", "scans that are undone":
				k.SetClock(stream.ProcTime(now))
				if _, err := k.Scan(0, aList, nil, make([]byte, 100)); err != nil {
					t.Fatal(err)
				}
				if by != "scans" {
					k.Undo()
				}
				k.Keep()
			}
		}
		k.push(t, 0, 7)
		k.push(t, 0, 8)
		k.push(t, 0, 9)
		if got := k.list(t, 50, 0, 32); got != "1:7" { // room for one: the others are not read
			t.Errorf("the first element is %q", got)
		}
		sweep(110)
		k.push(t, 110, 10)
		if got := k.list(t, 110, 0, 1000); got != "1:7 4:10" {
			t.Errorf("%q behind an element that expired; dropped by %s", got, by)
		}
		sweep(400)
		k.push(t, 400, 11)
		if got := k.list(t, 400, 0, 1000); got != "1:11" {
			t.Errorf("%q after all expired; dropped by %s", got, by)
		}
	}
}

// TestSweep: what nobody asks for any more goes, and what lives stays.
func TestSweep(t *testing.T) {
	k := newKeep(process.TTL{Millis: 100})
	for now := range 10_000 {
		k.SetClock(stream.ProcTime(now))
		r := k.entry(fmt.Sprint("key ", now))
		k.Store(r, slotValue, row(number, now))
		k.Store(r, slotText, row(text, strings.Repeat("long ", 10)))
		k.backend.Put(k.backend.Part(r, []byte{0, aMap, 1}), 2, append(make([]byte, 8), row(number, 1)...)) // began at 0
		k.Sweep(1)
		k.backend.Release()
		if n := k.backend.Stats().Entries; n > 600 {
			t.Fatalf("%d entries at %d, of which 100 are alive", n, now)
		}
	}
	if got := k.value(t, 9999); got != "gone" {
		t.Error(got)
	}
	for now := 9_901; now < 10_000; now++ {
		if len(k.Load(nil, k.entry(fmt.Sprint("key ", now)), slotValue)) == 0 {
			t.Errorf("the key of %d is gone", now)
		}
	}
}

// TestUndo: a frame that comes to nothing leaves all as it was, whatever it called, but for what is over, which nobody sees.
func TestUndo(t *testing.T) {
	for seed := range uint64(200) {
		undone := func(calls bool) taken {
			r := rand.New(rand.NewPCG(seed, 1))
			ttl := []process.TTL{{}, {Millis: 30}, {Millis: 30, OnRead: true}, {Millis: 30, Once: true}}[seed%4]
			k := newKeep(ttl)
			for range 20 {
				k.SetClock(stream.ProcTime(r.Int64N(60)))
				randomCall(r, k)
			}
			k.Keep()
			for range r.IntN(20) {
				if calls {
					randomCall(r, k)
				}
			}
			k.Undo()
			for range 2 { // the last element of a list goes after the others
				k.Sweep(100)
			}
			k.backend.Release()
			return records(k.backend)
		}
		if before, after := undone(false), undone(true); !maps.Equal(before, after) {
			t.Fatalf("seed %d: %d records before, %d after a frame that was undone", seed, len(before), len(after))
		}
	}
}

// TestWhatIsOverIsDroppedOnce: an op that comes upon much that is over drops it, and if the function fails on it, the next
// one has nothing to drop any more.
func TestWhatIsOverIsDroppedOnce(t *testing.T) {
	for name, c := range map[string]struct {
		call func(k *keep) error
		left int // beside the key's entry
	}{
		"a scan of a map":  {func(k *keep) error { _, err := k.Scan(0, aMap, nil, nil); return err }, 1000},
		"a scan of a list": {func(k *keep) error { _, err := k.Scan(0, aList, nil, nil); return err }, 1000 + 1}, // its last element may be needed
		"an append":        {func(k *keep) error { return k.Put(0, aList, nil, row(number, 1)) }, 1000},
	} {
		k := newKeep(process.TTL{Millis: 100})
		for n := range 1000 {
			k.push(t, 0, n)
			k.put(t, 0, fmt.Sprint("key ", n), n)
		}
		k.SetClock(100)
		if err := c.call(k); err != nil {
			t.Fatal(err)
		}
		k.Undo()
		if got := k.backend.Stats().Entries; got != 1+c.left {
			t.Errorf("%s leaves %d of 2001 entries, want %d", name, got, 1+c.left)
		}
	}
}

func randomCall(r *rand.Rand, k *keep) {
	key, value := row(text, fmt.Sprint("key ", r.IntN(4))), row(number, r.IntN(100))
	var err error
	switch r.IntN(9) {
	case 0, 1:
		err = k.Put(0, aMap, key, value)
	case 2, 3:
		err = k.Put(0, aList, nil, value)
	case 4:
		err = k.Delete(0, aMap, key)
	case 5:
		err = k.Delete(0, []uint32{aMap, aList}[r.IntN(2)], nil)
	case 6:
		_, _, err = k.Get(0, aMap, key)
	case 7:
		_, err = k.Scan(0, []uint32{aMap, aList}[r.IntN(2)], nil, make([]byte, r.IntN(200)))
	case 8:
		err = k.Put(1, aShared, value, key)
	}
	if err != nil {
		panic(err)
	}
}

// taken takes the records of a snapshot.
type taken map[string]string

func (r taken) Add(_ stream.KeyGroup, key, value []byte) { r[string(key)] = string(value) }
func (r taken) Delete(_ stream.KeyGroup, key []byte)     { delete(r, string(key)) }

// records is all that a backend has.
func records(b *state.Memory) taken {
	all := taken{}
	b.Everything()
	b.Flip()
	b.Slice(math.MaxInt, all)
	return all
}

// TestStatesAreRestored: new states on a backend that was restored go on.
func TestStatesAreRestored(t *testing.T) {
	ttl := process.TTL{Millis: 100}
	k := newKeep(ttl)
	k.set(0, 1)
	k.put(t, 10, "x", 2)
	k.push(t, 20, 3)
	k.push(t, 20, 4)
	b := state.NewMemory(128, process.Cells(states(ttl))...)
	for key, value := range records(k.backend) {
		if err := b.Restore([]byte(key), []byte(value)); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Restored(); err != nil {
		t.Fatal(err)
	}
	k = keepOn(b, ttl)
	k.push(t, 30, 5)
	if got := k.list(t, 30, 1, 1000); got != "2:4 3:5" {
		t.Errorf("the list is %q", got)
	}
	if got := []string{k.value(t, 99), k.value(t, 100), k.get(t, 109, "x"), k.get(t, 110, "x")}; fmt.Sprint(got) != "[1 gone 2 gone]" {
		t.Error(got)
	}
}

// TestManySlots: a function may have more slots than an entry has cells.
func TestManySlots(t *testing.T) {
	ttl := process.TTL{Millis: 100}
	var list []process.State
	for i := range 20 {
		s := process.State{InSlot: true, Value: number}
		if i%2 == 1 {
			s = process.State{InSlot: true, Value: text, TTL: ttl}
		}
		list = append(list, s)
	}
	b := state.NewMemory(128, process.Cells(list)...)
	k := &keep{backend: b, States: process.New(b, list, nil)}
	value := func(i int) stream.Row {
		if i%2 == 1 {
			return row(text, fmt.Sprint("text ", i))
		}
		return row(number, i)
	}
	for i := range list {
		if got := k.Load(nil, k.entry("a"), i); len(got) > 0 {
			t.Fatalf("slot %d holds %x from the start", i, got)
		}
		k.Store(k.entry("a"), i, value(i))
	}
	k.Store(k.entry("a"), 10, nil)
	k.SetClock(50)
	k.Store(k.entry("a"), 11, value(11))
	k.SetClock(100)
	for i := range list {
		want := string(value(i))
		if i == 10 || i%2 == 1 && i != 11 {
			want = ""
		}
		if got := string(k.Load(nil, k.entry("a"), i)); got != want {
			t.Errorf("slot %d holds %x, want %x", i, got, want)
		}
	}
	for i := range list {
		k.Store(k.entry("a"), i, nil)
	}
	if b.Release(); b.Stats().Entries != 0 || k.Holds(k.entry("a")) {
		t.Errorf("%+v without a value", b.Stats())
	}
}

// TestFrameIsBounded: a frame that writes without end is at fault, and comes to nothing.
func TestFrameIsBounded(t *testing.T) {
	k := newKeep(process.TTL{})
	long := row(text, strings.Repeat("long ", 1<<18))
	var err error
	n := 0
	for ; err == nil && n < 1000; n++ {
		err = k.Put(1, aShared, row(number, n%3), long)
	}
	var fault *abi.Fault
	if !errors.As(err, &fault) || fault.Kind != abi.FaultOverLimit || !strings.Contains(fault.Detail, "67108864 bytes of state in one frame, which no field of limits raises") || n*len(long) < process.FrameBytesMax/3 {
		t.Errorf("%v after %d calls", err, n)
	}
	k.Undo()
	k.backend.Release()
	if n := len(records(k.backend)); n != 0 {
		t.Errorf("%d records", n)
	}
	if err := k.Put(1, aShared, row(number, 1), long); err != nil {
		t.Errorf("in the next frame: %v", err)
	}
}

// TestScan: in the order of the keys' bytes, as many as fit, and what the next one needs.
func TestScan(t *testing.T) {
	k := newKeep(process.TTL{})
	for _, key := range []string{"b", "a", "c", "a long key that stands behind the columns"} {
		k.put(t, 0, key, len(key))
	}
	// The long key's row has its length, 41, where the short ones have a letter.
	if n, err := k.Scan(0, aMap, nil, make([]byte, 87)); n != -88 || err != nil {
		t.Errorf("a scan into 87 bytes answers %d, %v", n, err)
	}
	into := make([]byte, 88+40+39)
	n, err := k.Scan(0, aMap, nil, into)
	if n != 88+40 || err != nil {
		t.Fatal(n, err)
	}
	c := text.Column(0)
	first, second := c.Bytes(stream.Row(into[8:])), c.Bytes(stream.Row(into[96:]))
	if len(first) != 41 || string(second) != "a" {
		t.Errorf("the first entries are %q and %q", first, second)
	}
	n, err = k.Scan(0, aMap, into[96:][:16], into)
	if n != 80 || err != nil || string(c.Bytes(stream.Row(into[8:]))) != "b" || string(c.Bytes(stream.Row(into[48:]))) != "c" {
		t.Errorf("the next ones have %d bytes, %v", n, err)
	}
	if n, err := k.Scan(0, aList, nil, into); n != 0 || err != nil {
		t.Errorf("an empty list is %d, %v", n, err)
	}
}

// TestCallsThatMayNotBe are told apart, and change nothing.
func TestCallsThatMayNotBe(t *testing.T) {
	k := newKeep(process.TTL{})
	n, s := row(number, 1), row(text, "x")
	get := func(op, state uint32, key []byte) error { _, _, err := k.Get(op, state, key); return err }
	scan := func(op, state uint32, after []byte) error { _, err := k.Scan(op, state, after, nil); return err }
	for name, c := range map[string]struct {
		err  error
		kind abi.FaultKind
	}{
		"no such state":           {get(0, 5, s), abi.FaultBadState},
		"no such op":              {get(2, aMap, s), abi.FaultBadState},
		"a slot":                  {get(0, aValue, s), abi.FaultBadState},
		"get of a list":           {get(0, aList, s), abi.FaultBadState},
		"a key of another schema": {get(0, aMap, row(number, 200)), abi.FaultBadRow},
		"no key":                  {get(0, aMap, nil), abi.FaultBadRow},
		"of a key without one":    {get(1, aMap, s), abi.FaultBadState},
		"put without a key":       {k.Put(0, aMap, nil, n), abi.FaultBadRow},
		"half a value":            {k.Put(0, aMap, s, n[:8]), abi.FaultBadRow},
		"a list with a key":       {k.Put(0, aList, n, n), abi.FaultBadState},
		"shared by a key's op":    {k.Put(0, aShared, n, s), abi.FaultBadState},
		"unshared by one":         {k.Delete(0, aShared, n), abi.FaultBadState},
		"delete in a list":        {k.Delete(0, aList, n), abi.FaultBadState},
		"scan behind half a key":  {scan(0, aMap, s[:8]), abi.FaultBadRow},
		"scan behind no position": {scan(0, aList, s), abi.FaultBadState},
	} {
		var fault *abi.Fault
		if !errors.As(c.err, &fault) || fault.Kind != c.kind {
			t.Errorf("%s: %v, want %s", name, c.err, c.kind)
		}
	}
	k.Keep()
	k.backend.Release()
	if n := len(records(k.backend)); n != 0 {
		t.Errorf("%d records", n)
	}
}
