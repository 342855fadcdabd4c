package abi

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"
)

// effect is an effect with a payload of so many zeros.
func effect(kind EffectKind, op, length, aux uint32) []byte {
	le := binary.LittleEndian
	b := le.AppendUint32(nil, uint32(kind))
	b = le.AppendUint32(b, op)
	b = le.AppendUint32(b, length)
	b = le.AppendUint32(b, aux)
	if length < 1<<16 {
		b = append(b, make([]byte, Align(int(length)))...)
	}
	return b
}

func TestEffects(t *testing.T) {
	two := append(effect(EffectEmit, 0, 5, 7), effect(EffectSetSlot, 2, 0, 1)...)
	for _, c := range []struct {
		name    string
		buf     []byte
		effects int
		fault   FaultKind
	}{
		{"none", nil, 0, 0},
		{"two", two, 2, 0},
		{"cut header", two[:len(two)-1], 1, FaultBadEffects},
		{"cut payload", two[:EffectBytes+4], 0, FaultBadEffects},
		{"cut padding", two[:EffectBytes+5], 0, FaultBadEffects},
		{"kind 0", effect(0, 0, 0, 0), 0, FaultBadEffect},
		{"unknown kind", effect(999, 0, 0, 0), 0, FaultBadEffect},
		{"op beyond", effect(EffectEmit, 3, 0, 0), 0, FaultBadOp},
		{"out of order", append(effect(EffectEmit, 1, 0, 0), effect(EffectEmit, 0, 0, 0)...), 1, FaultBadOp},
		{"length that wraps when padded", effect(EffectEmit, 0, 0xFFFFFFFF, 0), 0, FaultBadEffects},
		{"length of 2 GiB", effect(EffectEmit, 0, 1<<31, 0), 0, FaultBadEffects},
	} {
		e := ReadEffects(c.buf, 3)
		n := 0
		for _, ok := e.Next(); ok; _, ok = e.Next() {
			n++
		}
		if n != c.effects || kindOf(e.Err()) != c.fault {
			t.Errorf("%s: %d effects, %v; want %d, %v", c.name, n, e.Err(), c.effects, c.fault)
		}
	}
	e := ReadEffects(two, 3)
	first, _ := e.Next()
	if first.Kind != EffectEmit || first.Aux != 7 || len(first.Payload) != 5 || cap(first.Payload) != 5 {
		t.Errorf("got %+v", first)
	}
}

func kindOf(err error) FaultKind {
	var f *Fault
	if errors.As(err, &f) {
		return f.Kind
	}
	return 0
}

func TestCheckBuffer(t *testing.T) {
	for _, c := range []struct {
		pointer, size uint32
		want          FaultKind
	}{
		{8, 64, 0}, {65536 - 64, 64, 0}, {65536 - 56, 64, FaultBadPointer}, {12, 8, FaultBadPointer}, {0xFFFFFFF8, 64, FaultBadPointer},
	} {
		if got := kindOf(CheckBuffer(c.pointer, c.size, 65536)); got != c.want {
			t.Errorf("pointer %d, size %d: got %v, want %v", c.pointer, c.size, got, c.want)
		}
	}
}

func TestEffectsBytes(t *testing.T) {
	memory := make([]byte, 65536)
	for _, c := range []struct {
		name            string
		pointer, length uint64
		want            FaultKind
	}{
		{"within", 8192, 64, 0},
		{"to the end", 65536 - 64, 64, 0},
		{"beyond", 65536 - 56, 64, FaultBadEffects},
		{"far beyond", 0xFFFFFFFF, 0xFFFFFFFE, FaultBadEffects},
		{"nothing, anywhere", 0xFFFFFFFF, 0, 0},
		{"over the frame's end", 4096 + 1016, 64, FaultBadEffects},
		{"over the frame's start", 4096 - 8, 16, FaultBadEffects},
		{"around the frame", 0, 8192, FaultBadEffects},
		{"just before", 4096 - 64, 64, 0},
		{"just after", 4096 + 1024, 64, 0},
	} {
		got, err := EffectsBytes(memory, c.pointer<<32|c.length, 4096, 1024)
		if kindOf(err) != c.want || err == nil && uint64(len(got)) != c.length {
			t.Errorf("%s: got %d bytes, %v; want %v", c.name, len(got), err, c.want)
		}
	}
}

// FuzzEffects holds promise A: whatever the bytes, the reader ends, and what it returned lies within them, in order.
func FuzzEffects(f *testing.F) {
	f.Add([]byte{}, 1)
	f.Add(effect(EffectEmit, 0, 32, 0), 1)
	f.Add(append(effect(EffectEmit, 0, 5, 0), effect(EffectSetSlot, 2, 8, 1)...), 3)
	f.Add(effect(EffectEmit, 0, 0xFFFFFFFF, 0), 1)
	f.Add(effect(999, 70000, 3, 3), 65536)
	f.Fuzz(func(t *testing.T, buf []byte, ops int) {
		e := ReadEffects(buf, ops)
		var again []byte
		last := uint32(0)
		for x, ok := e.Next(); ok; x, ok = e.Next() {
			if x.Op < last || x.Op >= uint32(ops) || !x.Kind.Known() {
				t.Fatalf("let pass %+v", x)
			}
			last = x.Op
			whole := effect(x.Kind, x.Op, uint32(len(x.Payload)), x.Aux)[:EffectBytes]
			again = append(append(again, whole...), x.Payload...)
			// The padding's bytes are not looked at: take them from the input.
			again = append(again, buf[len(again):Align(len(again))]...)
		}
		if !bytes.HasPrefix(buf, again) || e.Err() == nil && len(again) != len(buf) {
			t.Fatalf("the effects read are not the bytes: %v", e.Err())
		}
		if _, ok := e.Next(); ok {
			t.Fatal("went on after the end")
		}
	})
}
