package wasmstream

import (
	"unsafe"

	"github.com/wasmstream/wasmstream/guest-sdk/go/internal/raw"
)

// enter makes the op at hand one of a frame.
func (o *Op) enter(of *base, fr frame) {
	o.frame, o.of, o.pending, o.timed = fr, of, nil, of.timed
}

// look reads op i of the frame.
func (o *Op) look(i uint32) {
	op := unsafe.Add(o.ops, uintptr(i)*raw.OpBytes)
	kindSlot, rowArg := *(*uint64)(op), *(*uint64)(unsafe.Add(op, raw.OpAtRow))
	o.index, o.kind, o.slot = i, uint32(kindSlot)&0xFFFF, uint32(kindSlot>>32)
	o.row, o.arg = uint32(rowArg), uint32(rowArg>>32)
}

// isEach tells whether eachRow can do a frame: not what opens a function, nor slots of variable width.
func (f *frame) isEach() bool { return !f.isOpening() && (f.stride != 0 || f.slotsCount == 0) }

// each performs a frame whose ops are mostly of one kind, what perform does for them in a loop that does nothing else.
func (b *base) each(f Function, fr frame, kind uint32, do func(o *Op, in Row)) bool {
	if !fr.isEach() {
		return false
	}
	o := &current
	o.enter(b, fr)
	for i, did := b.eachRow(0, kind, do); i < fr.count && !guest.tooLarge; i, did = b.eachRow(i+1, kind, do) {
		if !did {
			o.look(i)
			f.op(o)
		}
		if o.pending != nil || o.touches != 0 {
			o.done()
		}
	}
	return true
}

// eachRow performs ops of a kind from i on; it returns the first of another one, or, did, the first that is yet to be
// ended by done. It is written as emitRows is.
func (b *base) eachRow(i, kind uint32, do func(o *Op, in Row)) (at uint32, did bool) {
	o := &current
	if do == nil {
		return i, false
	}
	o.kind = kind
	rows := b.rowsOf(o)
	for {
		op := unsafe.Add(o.ops, uintptr(i)*raw.OpBytes)
		kindSlot := *(*uint64)(op)
		// Below zero: behind the last op. Not zero: another op.
		if (int(o.count)-1-int(i))>>63|int(kindSlot&0xFFFF^uint64(kind)) != 0 {
			return i, false
		}
		rowArg := *(*uint64)(unsafe.Add(op, raw.OpAtRow))
		o.index, o.slot, o.row, o.arg = i, uint32(kindSlot>>32), uint32(rowArg), uint32(rowArg>>32)
		do(o, Row{base: unsafe.Add(rows, uint32(rowArg)), checks: allow(b.input, false)})
		i = o.index
		if uint64(uintptr(unsafe.Pointer(o.pending)))|o.touches != 0 {
			return i, true
		}
		i++
	}
}

// rowsOf is where rows of the input are counted from: nowhere, of a function that does not look at them, so that its
// row, 0, is missing.
func (b *base) rowsOf(o *Op) unsafe.Pointer {
	if b.input == nil {
		return nil
	}
	return o.base
}
