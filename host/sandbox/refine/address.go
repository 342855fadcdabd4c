package refine

import (
	"encoding/binary"

	"github.com/wasmstream/wasmstream/host/sandbox/opcode"
)

// An operand is a value on the stack, with what is known about it.
type operand struct {
	value    uint32 // of a constant; what is added to the local
	set      uint32 // how often the local had been set then
	from, to uint32 // where its instructions begin in out, and where they end
	local    uint16 // that it is, or is the sum of
	kind     kind
}

type kind uint8

const (
	unknown kind = iota
	isLocal
	isConstant // an i32, by instructions of its own
	isSum      // of a local that was an address and a constant; it does not wrap
	isAnd      // what and gave
)

// Bounds of what is looked at: what is beyond is left as it is.
const (
	operandsMax = 64  // of the stack
	valueMax    = 512 // bytes of the code of what is stored
	localsMax   = 64  // locals, the first ones
	sumMax      = 1<<16 - 1
)

// known is what is known where the rewriting is. Values on the stack below those of operands are not known.
type known struct {
	operands []operand
	lost     int // operands below these
	// sets is how often each local was set, and forgotten how often all was.
	sets      [localsMax]uint32
	forgotten uint32
	// addresses are those locals that were an address within memory, and when; ands those that were set to what and gave.
	addresses, ands [localsMax]moment
}

// moment is a time when a local had a value, and something was known about it.
type moment struct{ sets, forgotten uint32 }

func (k *known) reset() known { return known{operands: k.operands[:0], forgotten: 1} }

func (k *known) push(o operand) {
	if len(k.operands) == operandsMax {
		k.lost += operandsMax
		k.operands = k.operands[:0]
	}
	k.operands = append(k.operands, o)
}

func (k *known) pop() (o operand) {
	switch n := len(k.operands); {
	case n > 0:
		o = k.operands[n-1]
		k.operands = k.operands[:n-1]
	case k.lost > 0:
		k.lost--
		o.kind = isAnd // who knows
	}
	return o
}

// below returns the value that has n others above it.
func (k *known) below(n int) (o operand) {
	switch at := len(k.operands) - 1 - n; {
	case at >= 0:
		o = k.operands[at]
	case at+k.lost >= 0:
		o.kind = isAnd // who knows
	}
	return o
}

// leave is where the operands are left for others; locals stay what they are.
func (k *known) leave() { k.operands, k.lost = k.operands[:0], 0 }

// forget is where control leaves, or comes from elsewhere too: nothing is known there.
func (k *known) forget() {
	k.leave()
	k.forgotten++
}

// isAddress tells whether the local, with the value that it has, was the address of a load or store: it is then less than 4
// GiB by more than the greatest sum.
func (k *known) isAddress(local uint32) bool {
	return local < localsMax && k.addresses[local] == moment{k.sets[local], k.forgotten}
}

// follow copies an instruction and notes what it leaves.
func (f *function) follow(i *opcode.Instruction) {
	at := len(f.out)
	f.out = append(f.out, f.in[i.At:i.End]...)
	o := operand{from: uint32(at), to: uint32(len(f.out))}
	switch e := effects[i.Op]; {
	case i.Op == opcode.LocalGet && i.Index < localsMax:
		o.kind, o.local, o.set = isLocal, uint16(i.Index), f.sets[i.Index]
		f.push(o)
	case i.Op == opcode.LocalGet:
		o.kind = isAnd // who knows
		f.push(o)
	case i.Op == opI32Const:
		o.kind, o.value = isConstant, uint32(signed(f.in[i.At+1:i.End]))
		f.push(o)
	case i.Op == opcode.LocalSet || i.Op == opcode.LocalTee:
		f.assign(i)
	case e.isKnown:
		for range e.pops {
			f.pop()
		}
		if i.Op == opI32And || i.Op == opI64And {
			o.kind = isAnd
		}
		if e.pushes > 0 {
			f.push(o)
		}
	case i.Op == opcode.Misc && i.Sub < opcode.MemoryInit: // conversions of floats
		f.pop()
		f.push(o)
	case i.Op == opcode.Block || i.Op == opcode.If || i.Op == opcode.BrIf || i.Op == opcode.Call || i.Op == opcode.CallIndirect:
		f.leave()
	default:
		f.forget()
	}
}

// assign notes what a local is set to.
func (f *function) assign(i *opcode.Instruction) {
	value := operand{}
	if o := f.pop(); f.isAnd(&o) {
		value.kind = isAnd
	}
	if i.Index < localsMax {
		f.sets[i.Index]++
		if value.kind == isAnd {
			f.ands[i.Index] = moment{f.sets[i.Index], f.forgotten}
		}
	}
	if i.Op == opcode.LocalTee {
		f.push(value)
	}
}

// isAnd tells of a value whether it may be what and gave: of the locals beyond localsMax that is not known.
func (f *function) isAnd(o *operand) bool {
	return o.kind == isAnd || o.kind == isLocal && f.ands[o.local] == moment{o.set, f.forgotten}
}

// address writes what has to do with addresses, if something is known.
func (f *function) address(i *opcode.Instruction, r *opcode.Reader) bool {
	switch {
	case i.Op == opI64Const:
		return f.constant(i, r)
	case i.Op == opcode.LocalGet && f.isAddress(i.Index):
		return f.sum(i, r)
	case i.Op >= firstLoad && i.Op < firstStore:
		f.access(i, f.pop())
		f.push(operand{})
		return true
	case i.Op >= firstStore && i.Op <= lastStore:
		f.pop()
		f.access(i, f.pop())
		return true
	}
	return false
}

// constant takes i64.const; i32.wrap_i64 as a constant.
func (f *function) constant(i *opcode.Instruction, r *opcode.Reader) bool {
	var wrap opcode.Instruction
	if !next(r, opI32Wrap, &wrap) {
		return false
	}
	at := len(f.out)
	f.out = append(f.out, f.in[i.At:wrap.End]...)
	f.push(operand{kind: isConstant, value: uint32(signed(f.in[i.At+1 : i.End])), from: uint32(at), to: uint32(len(f.out))})
	return true
}

// sum takes local.get; i64.extend_i32_u; i64.const; i64.add; i32.wrap_i64 as a sum.
func (f *function) sum(i *opcode.Instruction, r *opcode.Reader) bool {
	peek := *r
	var extend, c, add, wrap opcode.Instruction
	if !next(&peek, opI64Extend, &extend) || !next(&peek, opI64Const, &c) || !next(&peek, opI64Add, &add) || !next(&peek, opI32Wrap, &wrap) {
		return false
	}
	value := signed(f.in[c.At+1 : c.End])
	if value < 0 || value > sumMax {
		return false
	}
	at := len(f.out)
	f.out = append(f.out, f.in[i.At:wrap.End]...)
	f.push(operand{kind: isSum, value: uint32(value), local: uint16(i.Index), set: f.sets[i.Index], from: uint32(at), to: uint32(len(f.out))})
	*r = peek
	return true
}

// access writes a load or store from an address.
func (f *function) access(i *opcode.Instruction, a operand) {
	align, n := binary.Uvarint(f.in[i.At+1 : i.End])
	offset, _ := binary.Uvarint(f.in[i.At+1+n : i.End])
	base := f.locals // the one that is zero
	switch {
	case a.kind == isLocal:
		f.addresses[a.local] = moment{a.set, f.forgotten}
		f.out = append(f.out, f.in[i.At:i.End]...)
		return
	case a.kind == isSum:
		base = uint32(a.local)
	case a.kind != isConstant:
		f.out = append(f.out, f.in[i.At:i.End]...)
		return
	}
	if uint64(a.value)+offset >= 1<<32 || len(f.out)-int(a.to) > valueMax {
		f.out = append(f.out, f.in[i.At:i.End]...)
		return
	}
	f.usesZero = f.usesZero || base == f.locals
	// In the place of what made the address; what was stored came behind it.
	f.value = append(f.value[:0], f.out[a.to:]...)
	f.out = binary.AppendUvarint(append(f.out[:a.from], opcode.LocalGet), uint64(base))
	f.out = append(append(f.out, f.value...), i.Op)
	f.out = binary.AppendUvarint(binary.AppendUvarint(f.out, align), uint64(a.value)+offset)
}

const (
	firstLoad  = 0x28
	firstStore = 0x36
	lastStore  = 0x3e
)

// effect is what an instruction takes from the stack and leaves there.
type effect struct {
	pops, pushes uint8
	isKnown      bool
}

// effects are those of instructions that do nothing else with control and stack.
var effects = func() (of [256]effect) {
	set := func(pops, pushes uint8, from, to int) {
		for op := from; op <= to; op++ {
			of[op] = effect{pops, pushes, true}
		}
	}
	set(0, 0, opcode.Nop, opcode.Nop)
	set(1, 0, 0x1a, 0x1a) // drop
	set(3, 1, 0x1b, 0x1b) // select
	set(0, 1, opcode.LocalGet, opcode.LocalGet)
	set(0, 1, opcode.GlobalGet, opcode.GlobalGet)
	set(1, 0, opcode.GlobalSet, opcode.GlobalSet)
	set(1, 1, firstLoad, firstStore-1)
	set(2, 0, firstStore, lastStore)
	set(0, 1, 0x3f, 0x3f) // memory.size
	set(0, 1, opI32Const, 0x44)
	set(2, 1, 0x46, 0xa6) // comparisons and arithmetic
	set(1, 1, opI32Eqz, opI32Eqz)
	set(1, 1, opI64Eqz, opI64Eqz)
	for _, unary := range [][2]int{{0x67, 0x69}, {0x79, 0x7b}, {0x8b, 0x91}, {0x99, 0x9f}, {0xa7, 0xc4}} {
		set(1, 1, unary[0], unary[1])
	}
	return of
}()
