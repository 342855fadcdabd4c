package abi

import (
	"encoding/binary"
	"fmt"
)

// Effect is one thing that an op wants done. Payload is a view: it is gone when the guest is entered again.
type Effect struct {
	Kind EffectKind
	// Op is the index of the op in its frame.
	Op uint32
	// Aux is as the kind says: an output, a slot, a domain.
	Aux     uint32
	Payload []byte
}

// Effects reads the effects of a call one after another, trusting nothing: it stops at the first that is malformed.
// It does not know which effects which kind of op may have: that is the caller's to check.
type Effects struct {
	buf    []byte
	offset int
	ops    uint32
	last   uint32
	fault  FaultKind
	// What the fault is about: the kind, op or length that was refused.
	refused uint32
}

// ReadEffects begins to read the effects of a frame with so many ops.
func ReadEffects(buf []byte, ops int) Effects {
	return Effects{buf: buf, ops: uint32(ops)}
}

// Next returns the next effect, or false at the end and at a fault: Err tells which.
func (e *Effects) Next() (x Effect, ok bool) {
	ok = e.Read(&x)
	return x, ok
}

// Read is Next into an effect that is there: to copy one that was just made takes longer than to read it. Without a next
// one it is as it was.
func (e *Effects) Read(x *Effect) bool {
	rest := len(e.buf) - e.offset
	if rest == 0 || e.fault != 0 {
		return false
	}
	if rest < EffectBytes {
		return e.refuse(FaultBadEffects, uint32(rest))
	}
	b := e.buf[e.offset : e.offset+EffectBytes : e.offset+EffectBytes]
	kindOp, lengthAux := binary.LittleEndian.Uint64(b[0:8]), binary.LittleEndian.Uint64(b[8:16])
	kind, op, length := EffectKind(kindOp), uint32(kindOp>>32), uint32(lengthAux)
	if !kind.Known() {
		return e.refuse(FaultBadEffect, uint32(kind))
	}
	if op >= e.ops || op < e.last {
		return e.refuse(FaultBadOp, op)
	}
	// In 64 bits: a length near 2^32 must not wrap when it is padded.
	padded := (int64(length) + 7) &^ 7
	if padded > int64(rest-EffectBytes) {
		return e.refuse(FaultBadEffects, length)
	}
	start := e.offset + EffectBytes
	e.offset, e.last = start+int(padded), op
	x.Kind, x.Op, x.Aux = kind, op, uint32(lengthAux>>32)
	x.Payload = e.buf[start : start+int(length) : start+int(length)]
	return true
}

func (e *Effects) refuse(kind FaultKind, refused uint32) bool {
	e.fault, e.refused = kind, refused
	return false
}

// Err returns nil at the end of sound effects, else a *Fault. It names no op: what a malformed effect says of itself is
// worth nothing, and the host finds the op at fault by bisection.
func (e *Effects) Err() error {
	detail := ""
	switch e.fault {
	case 0:
		return nil
	case FaultBadEffect:
		detail = fmt.Sprintf("the effect at byte %d has unknown kind %d", e.offset, e.refused)
	case FaultBadOp:
		detail = fmt.Sprintf("the effect at byte %d names op %d of %d, after op %d", e.offset, e.refused, e.ops, e.last)
	default:
		detail = fmt.Sprintf("the effect at byte %d (or its payload, %d bytes) ends beyond the effects (%d bytes)", e.offset, e.refused, len(e.buf))
	}
	return &Fault{Kind: e.fault, Op: -1, Detail: detail}
}

// CheckBuffer checks what wasmstream_in answered for a frame of size bytes, in a memory of so many bytes. Pointer 0 is
// no buffer but "too large": the caller looks for it first.
func CheckBuffer(pointer, size uint32, memoryBytes uint64) error {
	if pointer%8 != 0 || uint64(pointer)+uint64(size) > memoryBytes {
		return &Fault{Kind: FaultBadPointer, Op: -1, Detail: fmt.Sprintf(
			"%s(%d) answered %d: misaligned, or the buffer ends beyond memory (%d bytes)", ExportIn, size, pointer, memoryBytes)}
	}
	return nil
}

// EffectsBytes finds the effects that a call answered in the guest's memory, a view taken after the call (the guest may
// have grown it). The caller looks for TooLarge first. No effects are answered by length 0, whatever the pointer.
func EffectsBytes(memory []byte, answer uint64, framePointer, frameBytes uint32) ([]byte, error) {
	pointer, length := answer>>32, answer&0xFFFFFFFF
	if length == 0 {
		return nil, nil
	}
	end := pointer + length
	switch {
	case end > uint64(len(memory)):
		return nil, badEffects("%d bytes of effects at %d end beyond memory (%d bytes)", length, pointer, uint64(len(memory)))
	case length > EffectsBytesMax:
		return nil, badEffects("%d bytes of effects at %d are more than the limit (%d bytes)", length, pointer, EffectsBytesMax)
	case pointer < uint64(framePointer)+uint64(frameBytes) && uint64(framePointer) < end:
		return nil, badEffects("%d bytes of effects at %d overlap the frame at %d", length, pointer, uint64(framePointer))
	}
	return memory[pointer:end:end], nil
}

func badEffects(format string, length, pointer, other uint64) error {
	return &Fault{Kind: FaultBadEffects, Op: -1, Detail: fmt.Sprintf(format, length, pointer, other)}
}
