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
	opI32Const   = 0x41
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

// uncheckedMax is what a function may be charged between two checks of its own, and those of
// its callers' loops and entries, for there to be none at its entry.
const uncheckedMax = 128

// tightMax is what a round of a loop costs at most that keeps fuel in a local: there a load
// of what was just stored would take longer than the round.
const tightMax = 64

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
	c := &r.callees[n]
	if c.quiet {
		r.appendBody(r.in[r.bodies[n].from:r.bodies[n].to])
		return nil
	}
	if err := r.walk(n, false); err != nil {
		return err
	}
	f := &r.f
	f.settle()
	look := f.deep || f.unchecked() > uncheckedMax
	if c.paid {
		f.nodes[0].charge = 0
	}
	f.findTight()
	r.body = r.body[:0]
	r.locals()
	if look || f.loops || f.bulk {
		r.checked(r.defined[n], look)
	} else {
		r.charge(f.nodes[0].charge)
		r.instructions()
		r.body = append(r.body, opEnd)
	}
	r.appendBody(r.body)
	return nil
}

// unchecked is what the function is charged but at the heads of loops, which look.
func (f *function) unchecked() (charges uint64) {
	for i := range f.nodes {
		if n := &f.nodes[i]; n.kept && n.op != opcode.Loop {
			charges += uint64(n.charge)
		}
	}
	return charges
}

// findTight marks the loops that are tight.
func (f *function) findTight() {
	for at := range f.nodes {
		f.nodes[at].tight = f.isTight(at)
		f.tight = f.tight || f.nodes[at].tight
	}
}

// isTight tells of a loop in which nothing is charged but at its head, and little there.
func (f *function) isTight(at int) bool {
	head := &f.nodes[at]
	if head.op != opcode.Loop || head.charge > tightMax || head.spends {
		return false
	}
	for i := at + 1; f.nodes[i].ends != opcode.Loop; i++ {
		if n := &f.nodes[i]; n.kept || n.spends {
			return false
		}
	}
	return true
}

// locals writes the function's locals and those that are added: one for a length, one for
// fuel.
func (r *rewriter) locals() {
	f := &r.f
	groups, more := uint64(f.count), []byte(nil)
	if f.bulk {
		groups, more = groups+1, append(more, 1, typeI32)
	}
	if f.tight {
		groups, more = groups+1, append(more, 1, typeI64)
	}
	r.body = binary.AppendUvarint(r.body, groups)
	r.body = append(r.body, r.in[f.groups.from:f.groups.to]...)
	r.body = append(r.body, more...)
}

func (r *rewriter) appendBody(body []byte) {
	r.code = binary.AppendUvarint(r.code, uint64(len(body)))
	r.code = append(r.code, body...)
}

// checked writes a function that may have to stop.
func (r *rewriter) checked(typeIndex uint32, look bool) {
	f := &r.f
	r.body = append(r.body, opcode.Block, blockVoid)
	room := f.room()
	if f.deep {
		r.add(r.depth(), -int64(room))
	}
	r.charge(f.nodes[0].charge)
	if look {
		r.check(0, f.deep)
	}
	r.body = append(r.body, opcode.Block)
	r.body = r.appendBlockType(r.body, typeIndex)
	r.instructions()
	r.body = append(r.body, opEnd)
	if f.deep {
		r.add(r.depth(), int64(room))
	}
	r.body = append(r.body, opcode.Return, opEnd, opcode.Unreachable, opEnd)
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
// and the edits that the plan has.
func (r *rewriter) instructions() {
	f := &r.f
	written := f.at
	flush := func(to int) {
		r.body = append(r.body, r.in[written:to]...)
		written = to
	}
	open := uint32(0)
	for n, next := 0, 1; n < len(f.edits) || next < len(f.nodes); {
		if n == len(f.edits) || next < len(f.nodes) && f.nodes[next].at <= f.edits[n].at {
			p := &f.nodes[next]
			next++
			switch {
			case p.op == opcode.Loop:
				flush(int(p.at) - int(p.length))
				r.fetch(p)
				flush(int(p.at))
				r.chargeRound(p)
				open++
				r.check(open+1, false)
				continue
			case p.op == opcode.Block || p.op == opcode.If:
				open++
			case p.op == opcode.End:
				open--
			}
			if p.charge > 0 {
				flush(int(p.at))
				r.charge(p.charge)
			}
			continue
		}
		e := &f.edits[n]
		n++
		switch {
		case e.op == opcode.Return && f.deep:
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

// fetch has a tight loop begin with the fuel in its local, and chargeRound charges there:
// the counter is written too, so it is right wherever the loop is left.
func (r *rewriter) fetch(loop *node) {
	if loop.tight {
		r.get(r.fuel())
		r.tank(opcode.LocalSet)
	}
}

func (r *rewriter) chargeRound(loop *node) {
	if !loop.tight {
		r.charge(loop.charge)
		return
	}
	r.tank(opcode.LocalGet)
	r.body = append(appendSigned(append(r.body, opI64Const), int64(loop.charge)), opI64Sub)
	r.tank(opcode.LocalTee)
	r.set(r.fuel())
}

// check stops if there is no fuel, or no depth, left.
func (r *rewriter) check(stop uint32, depth bool) {
	r.get(r.fuel())
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
	r.get(r.fuel())
	r.local(opcode.LocalGet)
	r.chargeShifted(stop, shift, op)
}

// chargeGrowth charges for the pages that memory has grown by, and leaves what growing
// answered on the stack: the size before, or -1, which counts as all pages there are.
func (r *rewriter) chargeGrowth(stop uint32) {
	r.local(opcode.LocalTee)
	r.get(r.fuel())
	r.body = append(r.body, opMemorySize, 0)
	r.local(opcode.LocalGet)
	r.body = append(r.body, opI32Sub)
	r.chargeShifted(stop, unitsPerPageLog, opI64Shl)
}

// chargeShifted charges for the i32 on the stack, with the fuel below it.
func (r *rewriter) chargeShifted(stop uint32, shift, op byte) {
	r.body = append(r.body, opI64Extend, opI64Const, shift, op, opI64Sub)
	r.set(r.fuel())
	r.check(stop, false)
}

func (r *rewriter) fuel() uint32  { return r.globals }
func (r *rewriter) depth() uint32 { return r.globals + 1 }

func (r *rewriter) charge(cost uint32) {
	if cost > 0 {
		r.add(r.fuel(), -int64(cost))
	}
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

// tank accesses the local that has the fuel in tight loops.
func (r *rewriter) tank(op byte) {
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
