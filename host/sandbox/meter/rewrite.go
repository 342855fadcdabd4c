package meter

import (
	"encoding/binary"

	"github.com/wasmstream/wasmstream/host/sandbox/opcode"
)

// What is written into functions.
const (
	typeI32      = 0x7f
	typeI64      = 0x7e
	opEnd        = opcode.End
	opMemorySize = 0x3f
	opI64Const   = 0x42
	opI32Sub     = 0x6b
	opI64Add     = 0x7c
	opI64Sub     = 0x7d
	opI64Or      = 0x84
	opI64Shl     = 0x86
	opI64ShrU    = 0x88
	opI32Wrap    = 0xa7
	opI64Extend  = 0xad // of an unsigned i32
	blockVoid    = 0x40
)

// uncheckedMax is what a function without calls and loops may cost at most to be
// charged without a look at what is left: the next check sees it.
const uncheckedMax = 128

// function writes one function. One that may have to stop looks like this, so that
// stopping is out of the way of what goes on, and all labels of the original stay
// what they were:
//
//	block                     stop
//	  charge; if below zero: br stop
//	  block (results)         what was the function's own label
//	    the original, in which return is br to here if depth was taken
//	  end
//	  give depth back
//	  return
//	end
//	unreachable
func (r *rewriter) function(n int) error {
	if r.short[n] > 0 {
		r.appendBody(r.in[r.bodies[n].from:r.bodies[n].to])
		return nil
	}
	if err := r.plan(n); err != nil {
		return err
	}
	f := &r.f
	r.body = r.body[:0]
	groups, more := uint64(f.count), []byte(nil)
	if f.bulk {
		groups, more = groups+1, append(more, 1, typeI32) // its index is f.locals
	}
	if f.cached {
		groups, more = groups+1, append(more, 1, typeI64) // see cache
	}
	r.body = binary.AppendUvarint(r.body, groups)
	r.body = append(r.body, r.in[f.groups.from:f.groups.to]...)
	r.body = append(r.body, more...)
	if f.calls || f.loops || f.bulk || f.cost > uncheckedMax {
		r.checked(r.defined[n])
	} else {
		r.charge(f.points[0].cost)
		r.instructions(false)
		r.body = append(r.body, opEnd)
	}
	r.appendBody(r.body)
	return nil
}

func (r *rewriter) appendBody(body []byte) {
	r.code = binary.AppendUvarint(r.code, uint64(len(body)))
	r.code = append(r.code, body...)
}

// checked writes a function that may have to stop.
func (r *rewriter) checked(typeIndex uint32) {
	f := &r.f
	r.body = append(r.body, opcode.Block, blockVoid)
	room := f.room()
	if f.calls {
		r.add(r.depth(), -int64(room))
	}
	r.fetch()
	if !f.folded {
		r.charge(f.points[0].cost)
		r.check(0, f.calls)
	}
	r.body = append(r.body, opcode.Block)
	r.body = r.appendBlockType(r.body, typeIndex)
	r.instructions(true)
	r.body = append(r.body, opEnd)
	r.settle()
	if f.calls {
		r.add(r.depth(), int64(room))
	}
	r.body = append(r.body, opcode.Return, opEnd)
	r.settle()
	r.body = append(r.body, opcode.Unreachable, opEnd)
}

// fetch and settle move fuel to the function's own local, if it has one, and back: where it
// is left and where it calls others, who look at the global.
func (r *rewriter) fetch() {
	if r.f.cached {
		r.get(r.fuel())
		r.cache(opcode.LocalSet)
	}
}

func (r *rewriter) settle() {
	if r.f.cached {
		r.cache(opcode.LocalGet)
		r.set(r.fuel())
	}
}

// room is what a call of the function takes on the engine's stack, in words: a
// value that lives across others has a place there, whose number is bounded by the
// locals and by the instructions that make values.
func (f *function) room() uint32 { return 8 + f.locals + f.instructions/4 }

// appendBlockType writes the type of a block with the results of a function.
func (r *rewriter) appendBlockType(dst []byte, typeIndex uint32) []byte {
	t := &r.types[typeIndex]
	switch t.count {
	case 0:
		return append(dst, blockVoid)
	case 1:
		return append(dst, r.in[t.results.to-1])
	}
	if t.block == 0 {
		t.block = int64(len(r.types)) + int64(r.typesMore)
		r.typesMore++
		r.added = append(append(r.added, 0x60, 0), r.in[t.results.from:t.results.to]...)
	}
	return appendSigned(dst, t.block)
}

// instructions writes the original's instructions but its last end, with the charges
// and the edits that the plan has. In a function that can stop, the label to stop at is
// the one behind all of the original.
func (r *rewriter) instructions(canStop bool) {
	f := &r.f
	written := f.at
	flush := func(to int) {
		r.body = append(r.body, r.in[written:to]...)
		written = to
	}
	next := f.keptFrom(1)
	for n := 0; n < len(f.edits) || next < len(f.points); {
		if n == len(f.edits) || next < len(f.points) && f.points[next].at <= f.edits[n].at {
			p := &f.points[next]
			flush(int(p.at))
			r.charge(p.cost)
			if p.loop {
				r.check(p.open+1, f.folded && next == 1 && f.calls)
			}
			next = f.keptFrom(next + 1)
			continue
		}
		e := &f.edits[n]
		n++
		switch {
		case e.isCall():
			if f.cached {
				flush(int(e.at))
				r.settle()
				flush(int(e.end))
				if !r.isLast(e) {
					r.fetch()
				}
			}
		case e.op == opcode.Unreachable:
			// What was spent is to be seen. Behind a call that does not return it was settled.
			if f.cached && !(n > 1 && f.edits[n-2].isCall() && f.edits[n-2].end == e.at) {
				flush(int(e.at))
				r.settle()
			}
		case e.op == opcode.Return && (f.calls || f.cached) && canStop:
			flush(int(e.at))
			r.body = binary.AppendUvarint(append(r.body, opcode.Br), uint64(e.open))
			written = int(e.end)
		case e.op == opcode.MemoryGrow:
			flush(int(e.end))
			r.chargeGrowth(e.open + 1)
		case e.op == opcode.Misc:
			flush(int(e.at))
			r.chargeBulk(e.sub, e.open+1)
		}
	}
	flush(f.end - 1)
}

// keptFrom returns the first point from n on at which is charged.
func (f *function) keptFrom(n int) int {
	for n < len(f.points) && !f.points[n].kept {
		n++
	}
	return n
}

// check stops if there is no fuel, or no depth, left.
func (r *rewriter) check(stop uint32, depth bool) {
	r.getFuel()
	if depth {
		r.get(r.depth())
		r.body = append(r.body, opI64Or)
	}
	// By the sign: a comparison takes the engine two instructions more.
	r.body = append(r.body, opI64Const, 0x3f, opI64ShrU, opI32Wrap, opcode.BrIf)
	r.body = binary.AppendUvarint(r.body, uint64(stop))
}

func (r *rewriter) chargeBulk(sub byte, stop uint32) {
	if sub == opcode.TableInit || sub == opcode.TableCopy {
		r.chargeLength(stop, unitsPerEntryLog, opI64Shl)
		return
	}
	r.chargeLength(stop, bulkBytesPerUnitLog, opI64ShrU)
}

// chargeLength charges for the number on the stack, shifted, and leaves it there.
func (r *rewriter) chargeLength(stop uint32, shift, op byte) {
	r.local(opcode.LocalTee)
	r.getFuel()
	r.local(opcode.LocalGet)
	r.chargeShifted(stop, shift, op)
}

// chargeGrowth charges for the pages that memory has grown by, and leaves what growing
// answered on the stack: the size before, or -1, which counts as all pages there are.
func (r *rewriter) chargeGrowth(stop uint32) {
	r.local(opcode.LocalTee)
	r.getFuel()
	r.body = append(r.body, opMemorySize, 0)
	r.local(opcode.LocalGet)
	r.body = append(r.body, opI32Sub)
	r.chargeShifted(stop, unitsPerPageLog, opI64Shl)
}

// chargeShifted charges for the i32 on the stack, with the fuel below it.
func (r *rewriter) chargeShifted(stop uint32, shift, op byte) {
	r.body = append(r.body, opI64Extend, opI64Const, shift, op, opI64Sub)
	r.setFuel()
	r.check(stop, false)
}

func (r *rewriter) fuel() uint32  { return r.globals }
func (r *rewriter) depth() uint32 { return r.globals + 1 }

func (r *rewriter) charge(cost uint32) {
	if cost > 0 {
		r.getFuel()
		r.body = append(appendSigned(append(r.body, opI64Const), int64(cost)), opI64Sub)
		r.setFuel()
	}
}

func (r *rewriter) getFuel() {
	if r.f.cached {
		r.cache(opcode.LocalGet)
		return
	}
	r.get(r.fuel())
}

func (r *rewriter) setFuel() {
	if r.f.cached {
		r.cache(opcode.LocalSet)
		return
	}
	r.set(r.fuel())
}

// add adds to a counter. It subtracts where it can: the numbers are shorter to read.
func (r *rewriter) add(global uint32, n int64) {
	op := byte(opI64Add)
	if n < 0 {
		op, n = opI64Sub, -n
	}
	r.get(global)
	r.body = appendSigned(append(r.body, opI64Const), n)
	r.body = append(r.body, op)
	r.set(global)
}

func (r *rewriter) get(global uint32) {
	r.body = binary.AppendUvarint(append(r.body, opcode.GlobalGet), uint64(global))
}

func (r *rewriter) set(global uint32) {
	r.body = binary.AppendUvarint(append(r.body, opcode.GlobalSet), uint64(global))
}

func (r *rewriter) local(op byte) {
	r.body = binary.AppendUvarint(append(r.body, op), uint64(r.f.locals))
}

// cache accesses the local that has the fuel.
func (r *rewriter) cache(op byte) {
	index := uint64(r.f.locals)
	if r.f.bulk {
		index++
	}
	r.body = binary.AppendUvarint(append(r.body, op), index)
}

// appendSigned appends a signed LEB128.
func appendSigned(dst []byte, n int64) []byte {
	for {
		b := byte(n & 0x7f)
		n >>= 7
		if n == 0 && b&0x40 == 0 || n == -1 && b&0x40 != 0 {
			return append(dst, b)
		}
		dst = append(dst, b|0x80)
	}
}
