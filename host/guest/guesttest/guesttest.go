// Package guesttest is a guest in Go, for tests of those who ask functions.
//
// It reads frames as abi/README.md says, not as host/guest happens to write them: areas
// by the header's offsets, slots by stride or directory, rows and contexts by offset.
//
// Invariants:
//
//	(V) Views do not outlive the ABI's promise: what a frame or its effects were is
//	    overwritten when the guest is entered again.
//	(D) It is dead after a fault, until it is rebuilt, and a frame that failed leaves
//	    half of its edits behind, as a real guest would.
package guesttest

import (
	"encoding/binary"
	"fmt"

	"github.com/wasmstream/wasmstream/abi"
	"github.com/wasmstream/wasmstream/host/sandbox"
	"github.com/wasmstream/wasmstream/host/stream"
)

// Function performs an op. It fails by Op.Fail, and traps by any other panic.
type Function func(o *Op)

// Instance is an instance of a module of such functions.
type Instance struct {
	Functions []Function // by their index in the manifest
	// FrameMax and EffectsMax are how much room the guest has; 0: enough.
	FrameMax, EffectsMax int
	// Spoil, if not nil, may change the frame and the effects before they are answered.
	Spoil func(f *Frame) []byte
	// What happened so far.
	Calls, Ops, Opens, Rebuilds int
	Closed                      bool

	dead   bool
	opened []opening
	frame  Frame
}

type opening struct {
	function uint32
	frame    []byte
}

// Open performs the opening call of a function: an op of the kind open.
func (g *Instance) Open(function uint32, frame []byte) ([]byte, error) {
	kept := opening{function, append([]byte(nil), frame...)}
	effects, err := g.open(kept)
	if err == nil {
		g.opened = append(g.opened, kept)
	}
	return effects, err
}

func (g *Instance) open(o opening) ([]byte, error) {
	g.Opens++
	b, pointer, err := g.In(len(o.frame))
	if err != nil {
		return nil, err
	}
	copy(b, o.frame)
	return g.Call(o.function, pointer, len(o.frame))
}

const framePointer = 64

// In gives room for a frame.
func (g *Instance) In(size int) ([]byte, uint32, error) {
	if err := g.usable(); err != nil {
		return nil, 0, err
	}
	if g.FrameMax > 0 && size > g.FrameMax {
		return nil, 0, &sandbox.TooLargeError{Module: "test", Bytes: size, Reason: "this guest is small"}
	}
	spoil(g.frame.Effects)
	spoil(g.frame.Bytes)
	if cap(g.frame.Bytes) < size {
		g.frame.Bytes = make([]byte, size)
	}
	g.frame.Bytes = g.frame.Bytes[:size]
	spoil(g.frame.Bytes)
	return g.frame.Bytes, framePointer, nil
}

func spoil(b []byte) {
	if len(b) == 0 {
		return
	}
	b[0] = 0xdb
	for n := 1; n < len(b); n *= 2 {
		copy(b[n:], b[:n])
	}
}

func (g *Instance) usable() error {
	if g.dead || g.Closed {
		return &sandbox.DeadError{Module: "test"}
	}
	return nil
}

// Call performs the frame.
func (g *Instance) Call(function, pointer uint32, length int) (effects []byte, err error) {
	if err := g.usable(); err != nil {
		return nil, err
	}
	if pointer != framePointer || length != len(g.frame.Bytes) {
		panic(fmt.Sprintf( // the test is wrong
			"a call for %d bytes at %d, and the frame is %d at %d", length, pointer, len(g.frame.Bytes), framePointer))
	}
	g.Calls++
	f := &g.frame
	defer g.caught(function, &effects, &err)
	f.begin()
	for i := range int(f.header.Ops) {
		g.Ops++
		f.op.read(f, i)
		g.Functions[function](&f.op)
	}
	if g.Spoil != nil {
		return g.Spoil(f), nil
	}
	if g.EffectsMax > 0 && len(f.Effects) > g.EffectsMax {
		return nil, &sandbox.TooLargeError{Module: "test", Effects: true, Bytes: length, Reason: "this guest is small"}
	}
	return f.Effects, nil
}

// failure is what Fail panics with.
type failure string

func (g *Instance) caught(function uint32, effects *[]byte, err *error) {
	p := recover()
	if p == nil {
		return
	}
	f := &sandbox.Fault{Kind: abi.FaultTrap, Module: "test", Entry: abi.ExportCall, Function: int(function), Message: fmt.Sprint(p)}
	if message, ok := p.(failure); ok {
		f.Kind, f.Message = abi.FaultFailed, string(message)
	}
	g.dead = true
	*effects, *err = nil, f
}

// Frame is the frame of the last In.
func (g *Instance) Frame() []byte { return g.frame.Bytes }

// Rebuild makes the instance usable again.
func (g *Instance) Rebuild() error {
	g.Rebuilds++
	g.dead = false
	for _, o := range g.opened {
		if _, err := g.open(o); err != nil {
			return err
		}
	}
	return nil
}

// Close ends the instance.
func (g *Instance) Close() error {
	g.Closed = true
	return nil
}

// Frame is what one call carries, and what is answered.
type Frame struct {
	Bytes   []byte
	Effects []byte

	header abi.Header
	set    map[uint32]stream.Row // slots of variable width that were set in this call
	op     Op
}

func (f *Frame) begin() {
	var err error
	if f.header, err = abi.ReadHeader(f.Bytes); err != nil {
		panic(err) // not the guest's fault: the host wrote it
	}
	f.Effects = f.Effects[:0]
	clear(f.set)
}

// Effect appends an effect, whatever it says.
func (f *Frame) Effect(kind abi.EffectKind, op, aux uint32, payload []byte) {
	le := binary.LittleEndian
	for _, v := range [4]uint32{uint32(kind), op, uint32(len(payload)), aux} {
		f.Effects = le.AppendUint32(f.Effects, v)
	}
	f.Effects = append(f.Effects, payload...)
	for len(f.Effects)%8 != 0 {
		f.Effects = append(f.Effects, 0)
	}
}

func (f *Frame) u32(at uint32) uint32 { return binary.LittleEndian.Uint32(f.Bytes[at:]) }
func (f *Frame) i64(at uint32) int64  { return int64(binary.LittleEndian.Uint64(f.Bytes[at:])) }

// row is a row of the frame; where it ends is for its columns to say.
func (f *Frame) row(at uint32) stream.Row {
	if at == 0 {
		return nil
	}
	if at%8 != 0 {
		panic(fmt.Sprintf("a row at %d", at)) // the host has laid it out wrong
	}
	return stream.Row(f.Bytes[at:])
}

// slot is what a slot holds, nil if that is nothing.
func (f *Frame) slot(i uint32) stream.Row {
	if i >= f.header.Slots {
		panic(fmt.Sprintf("slot %d of %d", i, f.header.Slots)) // the host has laid it out wrong
	}
	if f.header.Stride > 0 {
		return stream.Row(f.Bytes[f.header.SlotsOffset+i*f.header.Stride:][:f.header.Stride])
	}
	if row, ok := f.set[i]; ok {
		return row
	}
	offset, length := abi.ReadSlotEntry(f.Bytes, int(f.header.SlotsOffset+i*abi.SlotEntryBytes))
	return stream.Row(f.Bytes[offset : offset+length])
}
