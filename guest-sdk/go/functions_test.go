//go:build !wasip1

package wasmstream_test

import (
	"encoding/binary"
	"encoding/json"
	"os"
	"strings"
	"testing"

	wasmstream "github.com/wasmstream/wasmstream/guest-sdk/go"
	"github.com/wasmstream/wasmstream/guest-sdk/go/internal/raw"
	"github.com/wasmstream/wasmstream/guest-sdk/go/wasmstreamtest"
)

// A row of every type.
const (
	b wasmstream.Boolean   = 0
	i wasmstream.Int       = 1
	l wasmstream.BigInt    = 2
	f wasmstream.Float     = 3
	d wasmstream.Double    = 4
	t wasmstream.Timestamp = 5
	y wasmstream.Date      = 6
	s wasmstream.String    = 7
	x wasmstream.Bytes     = 8
)

// Columns of longest.
const (
	word    wasmstream.String = 0
	longest wasmstream.String = 0
	joined  wasmstream.String = 1
	count   wasmstream.BigInt = 2
)

// Columns and the parameter of mean.
const (
	value wasmstream.Int    = 0
	n     wasmstream.BigInt = 0
	sum   wasmstream.BigInt = 1
	mean  wasmstream.Double = 0
	scale wasmstream.Double = 0
)

var opened float64

// registered makes the functions be there before any test.
var registered = register()

func register() bool {
	all := wasmstream.Columns{b.As("b"), i.As("i"), l.As("l"), f.As("f"), d.As("d"), t.As("t"), y.As("y"), s.As("s"), x.As("x")}
	words := wasmstream.Columns{longest.As("longest"), joined.As("joined"), count.As("n")}
	wasmstream.Register(
		&wasmstream.Aggregate{Name: "last", Input: all, Accumulator: all, Output: all, Add: copyRow, Merge: copyRow, Result: func(acc, out wasmstream.Row) { copyRow(out, acc) }},
		&wasmstream.Aggregate{
			Name: "longest", Input: wasmstream.Columns{word.As("s")}, Accumulator: words, Output: words,
			Add:   func(acc, in wasmstream.Row) { include(acc, word.Get(in), word.Get(in), 1) },
			Merge: func(acc, o wasmstream.Row) { include(acc, longest.Get(o), joined.Get(o), count.Get(o)) },
			Result: func(acc, out wasmstream.Row) {
				count.Set(out, count.Get(acc))
				joined.Set(out, "a first value, which is replaced")
				joined.Set(out, joined.Get(acc))
				longest.Set(out, longest.Get(acc))
			},
		},
		&wasmstream.Aggregate{
			Name: "mean", Doc: `a "mean"`, Input: wasmstream.Columns{value.As("v")}, Output: wasmstream.Columns{mean.As("mean")},
			Accumulator: wasmstream.Columns{n.As("n"), sum.As("sum")},
			Parameters:  []wasmstream.Parameter{{Column: scale.As("scale"), Default: "1.5"}},
			Open:        func(o *wasmstream.Opening) { opened = scale.Get(o.Parameters) },
			Add: func(acc, in wasmstream.Row) {
				n.Set(acc, n.Get(acc)+1)
				sum.Set(acc, sum.Get(acc)+int64(value.Get(in)))
			},
			Merge:  func(acc, o wasmstream.Row) { n.Set(acc, n.Get(acc)+n.Get(o)); sum.Set(acc, sum.Get(acc)+sum.Get(o)) },
			Result: func(acc, out wasmstream.Row) { mean.Set(out, float64(sum.Get(acc))/float64(n.Get(acc))) },
		},
		mixer(),
	)
	return true
}

func include(acc wasmstream.Row, one, all string, k int64) {
	if len(one) > len(longest.Get(acc)) {
		longest.Set(acc, one)
	}
	if joined.Get(acc) != "" {
		all = joined.Get(acc) + "," + all
	}
	joined.Set(acc, all)
	count.Set(acc, count.Get(acc)+k)
}

// cell is what all columns can do.
type cell interface {
	IsNull(wasmstream.Row) bool
	SetNull(wasmstream.Row)
}

func copyRow(to, from wasmstream.Row) {
	for c, set := range map[cell]func(){
		b: func() { b.Set(to, b.Get(from)) }, i: func() { i.Set(to, i.Get(from)) }, l: func() { l.Set(to, l.Get(from)) },
		f: func() { f.Set(to, f.Get(from)) }, d: func() { d.Set(to, d.Get(from)) }, t: func() { t.Set(to, t.Get(from)) },
		y: func() { y.Set(to, y.Get(from)) }, s: func() { s.Set(to, s.Get(from)) }, x: func() { x.Set(to, x.Get(from)) },
	} {
		if c.IsNull(from) {
			c.SetNull(to)
		} else {
			set()
		}
	}
}

func TestCases(t *testing.T) { wasmstreamtest.Run(t, os.DirFS("testdata"), "cases.txt") }

func TestDescribeIsJSON(t *testing.T) {
	var m struct {
		AbiVersion int
		Functions  []struct {
			Name, Role, Doc string
			Parameters      []struct{ Name, Type, Default string }
		}
	}
	if err := json.Unmarshal(raw.Guest.Describe(), &m); err != nil {
		t.Fatal(err)
	}
	f := m.Functions[2]
	if len(m.Functions) != 4 || f.Role != "aggregate" || f.Doc != `a "mean"` || len(f.Parameters) != 1 || f.Parameters[0].Default != "1.5" || f.Parameters[0].Type != "DOUBLE" {
		t.Errorf("got %+v", m)
	}
}

// frameOf lays out ops of one slot of mean, and one row that they all name.
func frameOf(kinds ...uint16) []byte {
	le := binary.LittleEndian
	slots := raw.HeaderBytes + len(kinds)*raw.OpBytes
	rows := slots + 24
	frame := raw.Guest.In(uint32(rows + 16))
	clear(frame)
	for at, v := range map[int]int{
		raw.HeaderAtOpsCount: len(kinds), raw.HeaderAtOpsOffset: raw.HeaderBytes, raw.HeaderAtSlotsOffset: slots, raw.HeaderAtSlotsCount: 1,
		raw.HeaderAtSlotStride: 24, raw.HeaderAtRowsOffset: rows, raw.HeaderAtRowsLength: 16, raw.HeaderAtTotalLength: len(frame),
	} {
		le.PutUint32(frame[at:], uint32(v))
	}
	for k, kind := range kinds {
		le.PutUint16(frame[raw.HeaderBytes+k*raw.OpBytes:], kind)
		le.PutUint32(frame[raw.HeaderBytes+k*raw.OpBytes+raw.OpAtRow:], uint32(rows))
	}
	le.PutUint64(frame[rows+8:], 0x4002000000000000) // 2.25 as a DOUBLE, 0 as an INT
	return frame
}

func TestOpenGetsParameters(t *testing.T) {
	raw.Guest.Call(2, frameOf(raw.OpOpen))
	if opened != 2.25 {
		t.Errorf("got %v", opened)
	}
}

// TestNoAllocation holds invariant A.
func TestNoAllocation(t *testing.T) {
	kinds := []uint16{raw.OpCreate}
	for range 100 {
		kinds = append(kinds, raw.OpAdd, raw.OpResult)
	}
	frame := frameOf(kinds...)
	if n := testing.AllocsPerRun(20, func() { raw.Guest.Call(2, frame) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestMistakesAreFound(t *testing.T) {
	good := func() *wasmstream.Aggregate {
		none := func(wasmstream.Row, wasmstream.Row) {}
		return &wasmstream.Aggregate{Name: "bad", Add: none, Merge: none, Result: none}
	}
	for want, do := range map[string]func(){
		"came from no function":                 func() { count.Get(wasmstream.Row{}) },
		"another position":                      func() { a := good(); a.Input = wasmstream.Columns{sum.As("sum")}; wasmstream.Register(a) },
		"two columns v":                         func() { a := good(); a.Input = wasmstream.Columns{n.As("v"), sum.As("v")}; wasmstream.Register(a) },
		"has no Name":                           func() { wasmstream.Register(&wasmstream.Aggregate{}) },
		"more than 56":                          func() { a := good(); a.Input = make(wasmstream.Columns, 57); wasmstream.Register(a) },
		"an op of a kind that it does not know": func() { raw.Guest.Call(2, frameOf(77)) },
		"no function of that index":             func() { raw.Guest.Call(99, frameOf(raw.OpAdd)) },
		"frame shorter than its header":         func() { raw.Guest.Call(2, make([]byte, 8)) },
		"told so":                               func() { wasmstream.Fail("told so") },
	} {
		if got := panicOf(do); !strings.Contains(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if raw.Guest.In(raw.FrameBytesMax+1) != nil {
		t.Error("a frame beyond the limit was taken")
	}
	wasmstream.Log(wasmstream.Info, "hello")
	if last := raw.Logged[len(raw.Logged)-1]; last.Text != "hello" || last.Level != raw.LogInfo {
		t.Errorf("logged %+v", last)
	}
}

// TestEffectsTooLarge shows that a call says so when its effects pass their limit, and that the next one starts clean.
func TestEffectsTooLarge(t *testing.T) {
	kinds := []uint16{raw.OpCreate, raw.OpAdd}
	for range raw.EffectsBytesMax/(raw.EffectBytes+16) + 1 {
		kinds = append(kinds, raw.OpResult)
	}
	if _, fits := raw.Guest.Call(2, frameOf(kinds...)); fits {
		t.Error("more effects than the limit were said to fit")
	}
	effects, fits := raw.Guest.Call(2, frameOf(raw.OpCreate, raw.OpAdd, raw.OpResult))
	if !fits || len(effects) != raw.EffectBytes+16 || binary.LittleEndian.Uint64(effects[raw.EffectBytes:]) != 0 {
		t.Errorf("got % x, %v", effects, fits)
	}
}

func panicOf(do func()) (text string) {
	defer func() {
		switch p := recover().(type) {
		case string:
			text = p
		case error:
			text = p.Error()
		}
	}()
	do()
	return ""
}

// TestNoAllocationOfStrings holds invariant A where strings are copied to the output.
func TestNoAllocationOfStrings(t *testing.T) {
	kinds := []uint16{raw.OpCreate, raw.OpAdd}
	for range 100 {
		kinds = append(kinds, raw.OpResult)
	}
	frame := frameOf(kinds...)
	// The row of `mean` is one of `longest`, too: a string of no bytes, and one of 200, behind which nothing else is.
	le := binary.LittleEndian
	rows := int(le.Uint32(frame[raw.HeaderAtRowsOffset:]))
	long := append(frame, make([]byte, 200)...)
	le.PutUint64(long[rows+8:], 16<<32|200)
	le.PutUint32(long[raw.HeaderAtTotalLength:], uint32(len(long)))
	le.PutUint32(long[raw.HeaderAtSlotStride:], 0)
	slots := int(le.Uint32(frame[raw.HeaderAtSlotsOffset:]))
	le.PutUint64(long[slots:], 0)
	copy(raw.Guest.In(uint32(len(long))), long)
	in := raw.Guest.In(uint32(len(long)))
	raw.Guest.Call(1, in)
	if n := testing.AllocsPerRun(20, func() { raw.Guest.Call(1, in) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
