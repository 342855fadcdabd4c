package abi

import (
	"bytes"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestFrameRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ops := rapid.IntRange(0, 50).Draw(t, "ops")
		slots := rapid.IntRange(0, 50).Draw(t, "slots")
		stride := 8 * rapid.IntRange(0, 9).Draw(t, "stride")
		rows := rapid.IntRange(0, 300).Draw(t, "rows")
		contexts := rapid.IntRange(0, 300).Draw(t, "contexts")
		h := Layout(ops, slots, stride, rows, contexts)
		if size := FrameSize(ops, slots, stride, rows, contexts); size != int(h.Total) || size%8 != 0 {
			t.Fatalf("FrameSize %d, Layout's total %d", size, h.Total)
		}
		frame := bytes.Repeat([]byte{0xAA}, int(h.Total))
		PutHeader(frame, h)
		got, err := ReadHeader(frame)
		if err != nil || got != h {
			t.Fatalf("got %+v, %v, want %+v", got, err, h)
		}
		for i := range ops {
			op := Op{
				Kind: OpKind(rapid.Uint16().Draw(t, "kind")), Flags: rapid.Uint16().Draw(t, "flags"),
				Slot: rapid.Uint32().Draw(t, "slot"), Row: rapid.Uint32().Draw(t, "row"), Arg: rapid.Uint32().Draw(t, "arg"),
			}
			off := int(h.OpsOffset) + i*OpBytes
			PutOp(frame, off, op)
			if got := ReadOp(frame, off); got != op {
				t.Fatalf("got op %+v, want %+v", got, op)
			}
		}
		if again, err := ReadHeader(frame); err != nil || again != h {
			t.Fatal("ops were written over the header")
		}
	})
}

func TestReadHeaderRefuses(t *testing.T) {
	frame := func(change func(h *Header)) []byte {
		h := Layout(1, 1, 8, 8, 0)
		b := make([]byte, h.Total)
		change(&h)
		PutHeader(b, h)
		return b
	}
	for _, c := range []struct {
		name  string
		frame []byte
		want  string
	}{
		{"short", make([]byte, HeaderBytes-1), "no header"},
		{"version", append([]byte{9}, frame(func(*Header) {})[1:]...), "version 9"},
		{"total", frame(func(h *Header) { h.Total++ }), "the frame has"},
		{"ops", frame(func(h *Header) { h.Ops = 1 << 31 }), "the ops"},
		{"slots", frame(func(h *Header) { h.Slots, h.Stride = 1<<31, 1<<31 }), "the slots"},
		{"directory", frame(func(h *Header) { h.Slots, h.Stride = 100, 0 }), "the slots"},
		{"rows", frame(func(h *Header) { h.RowsOffset = 1<<32 - 1 }), "the rows"},
		{"contexts", frame(func(h *Header) { h.ContextsLength = 1 }), "the contexts"},
	} {
		if _, err := ReadHeader(c.frame); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want an error with %q", c.name, err, c.want)
		}
	}
}

// TestNoAllocation holds promise B.
func TestNoAllocation(t *testing.T) {
	frame := make([]byte, FrameSize(64, 4, 32, 64*16, 0))
	effects := effect(EffectEmit, 3, 16, 0)
	n := testing.AllocsPerRun(100, func() {
		h := Layout(64, 4, 32, 64*16, 0)
		PutHeader(frame, h)
		for i := range 64 {
			PutOp(frame, HeaderBytes+i*OpBytes, Op{Kind: OpAdd, Slot: uint32(i % 4)})
		}
		e := ReadEffects(effects, 64)
		for _, ok := e.Next(); ok; _, ok = e.Next() {
		}
		if e.Err() != nil {
			t.Fatal(e.Err())
		}
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkPutOp(b *testing.B) {
	frame := make([]byte, FrameSize(1024, 0, 8, 0, 0))
	for i := range b.N {
		PutOp(frame, HeaderBytes+i%1024*OpBytes, Op{Kind: OpAdd, Slot: uint32(i), Row: uint32(i)})
	}
}

func BenchmarkEffects(b *testing.B) {
	buf := bytes.Repeat(effect(EffectEmit, 0, 32, 0), 1024)
	for range (b.N + 1023) / 1024 {
		e := ReadEffects(buf, 1)
		for _, ok := e.Next(); ok; _, ok = e.Next() {
		}
	}
}
