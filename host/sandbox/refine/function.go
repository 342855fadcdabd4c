package refine

import (
	"encoding/binary"

	"github.com/wasmstream/wasmstream/host/sandbox/opcode"
)

const (
	opI32Const  = 0x41
	opI64Const  = 0x42
	opI32Eqz    = 0x45
	opI32Ne     = 0x47
	opI32GeU    = 0x4f
	opI64Eqz    = 0x50
	opI64Ne     = 0x52
	opI64GeU    = 0x5a
	opI32And    = 0x71
	opI32Or     = 0x72
	opI64Add    = 0x7c
	opI64And    = 0x83
	opI64Or     = 0x84
	opI32Wrap   = 0xa7
	opI64Extend = 0xad // of an unsigned i32
	typeI32     = 0x7f
)

// function is a function on its way from in to head and out.
type function struct {
	in     []byte
	head   []byte // the locals
	out    []byte // the instructions
	locals uint32
	frames []frame
	made   uint32 // frames so far
	labels []label
	known
	value    []byte // scratch of access
	usesZero bool   // whether there is an address from the local that is zero
}

// frame is a block that is open.
type frame struct {
	id uint32
	// Of a loop that begins with going on by a table: the local that says where, and the labels, in function.labels.
	local    uint32
	from, to int
}

// label is a frame that a table has a label of: its place among those that are open, and which it is.
type label struct{ frame, id uint32 }

// rewrite rewrites a function's body.
func (f *function) rewrite(body []byte, params uint32) error {
	*f = function{in: body, head: f.head[:0], out: f.out[:0], frames: append(f.frames[:0], frame{}), labels: f.labels[:0], value: f.value, known: f.known.reset()}
	c := opcode.NewCursor(body, 0, len(body))
	locals := c.Locals(params)
	if c.Bad {
		return errMalformed
	}
	f.locals = locals.Count
	r := c.Reader
	var i opcode.Instruction
	for len(f.frames) > 0 {
		if err := r.Next(&i); err != nil {
			return err
		}
		if err := f.instruction(&i, &r); err != nil {
			return err
		}
	}
	if r.At != r.End {
		return errMalformed
	}
	groups, zero := uint64(locals.Groups), []byte(nil)
	if f.usesZero {
		groups, zero = groups+1, []byte{1, typeI32}
	}
	f.head = append(append(binary.AppendUvarint(f.head, groups), body[locals.From:locals.To]...), zero...)
	return nil
}

// instruction writes an instruction, and those behind it that something else is written for, which it takes from r.
func (f *function) instruction(i *opcode.Instruction, r *opcode.Reader) error {
	switch i.Op {
	case opcode.LocalGet, opcode.LocalSet, opcode.LocalTee:
		if i.Index >= f.locals {
			return errMalformed // the local that is zero is ours
		}
	case opcode.Block, opcode.Loop, opcode.If:
		f.made++
		f.frames = append(f.frames, frame{id: f.made})
		if i.Op == opcode.Loop {
			f.dispatch(i, *r)
		}
	case opcode.End:
		last := &f.frames[len(f.frames)-1]
		if last.to > last.from {
			f.labels = f.labels[:last.from]
		}
		f.frames = f.frames[:len(f.frames)-1]
	case opI32Const:
		if f.goOn(i, r) {
			return nil
		}
	}
	f.apart(i)
	if f.opposite(i, r) || f.address(i, r) {
		return nil
	}
	f.follow(i)
	return nil
}

// next reads the instruction behind if it is of that kind.
func next(r *opcode.Reader, op byte, i *opcode.Instruction) bool {
	if r.At >= r.End || r.Data[r.At] != op {
		return false
	}
	at := r.At
	if r.Next(i) != nil {
		r.At = at // it is told when it is read by itself
		return false
	}
	return true
}

// dispatch finds out whether a loop, whose frame is the last, begins with going on by a table: with blocks that take and leave
// nothing, and a br_table by a local.
func (f *function) dispatch(loop *opcode.Instruction, r opcode.Reader) {
	var i opcode.Instruction
	open, blocks := len(f.frames)-1, 0
	for loop.Block == opcode.BlockVoid && next(&r, opcode.Block, &i) {
		if i.Block != opcode.BlockVoid {
			return
		}
		blocks++
	}
	if loop.Block != opcode.BlockVoid || !next(&r, opcode.LocalGet, &i) {
		return
	}
	l := &f.frames[open]
	l.local, l.from, l.to = i.Index, len(f.labels), len(f.labels)
	if !next(&r, opcode.BrTable, &i) {
		return
	}
	c := opcode.NewCursor(f.in, i.At+1, i.End)
	for range c.Count(1) + 1 {
		at := open + blocks - int(c.U32())
		if at < 0 {
			f.labels = f.labels[:l.from]
			return
		}
		id := l.id + uint32(at-open) // of the blocks, which are opened next
		if at < open {
			id = f.frames[at].id
		}
		f.labels = append(f.labels, label{uint32(at), id})
	}
	l.to = len(f.labels)
}

// goOn writes the branch to where the head of a loop would go on, for one to that head that sets the local to a constant
// before. It is right wherever it is: what is between is a loop's head and its blocks, which do nothing, and the table.
func (f *function) goOn(i *opcode.Instruction, r *opcode.Reader) bool {
	peek := *r
	var set, br opcode.Instruction
	if !next(&peek, opcode.LocalSet, &set) || !next(&peek, opcode.Br, &br) || int64(br.Index) >= int64(len(f.frames)) {
		return false
	}
	l := &f.frames[len(f.frames)-1-int(br.Index)]
	if l.from == l.to || l.local != set.Index {
		return false
	}
	where := min(uint64(uint32(signed(f.in[i.At+1:i.End]))), uint64(l.to-l.from-1))
	to := f.labels[l.from+int(where)]
	if int(to.frame) >= len(f.frames) || f.frames[to.frame].id != to.id {
		return false // it is closed: only the head comes there
	}
	f.out = append(append(f.out, f.in[i.At:set.End]...), opcode.Br)
	f.out = binary.AppendUvarint(f.out, uint64(len(f.frames)-1-int(to.frame)))
	f.forget()
	*r = peek
	return true
}

// apart has a comparison of an order never see zero and what and gave. The engine makes of and and the comparison one
// instruction, and then compares the wrong way round where zero is the first operand, on amd64 and arm64; and on arm64 as if
// there had been a borrow where it is the second and numbers have no sign (wazero 1.12). A sum is no operand that it knows.
func (f *function) apart(i *opcode.Instruction) {
	wide := i.Op > opI64Ne && i.Op <= opI64GeU
	if !wide && (i.Op <= opI32Ne || i.Op > opI32GeU) {
		return
	}
	first, second := f.below(1), f.below(0)
	unsigned := i.Op&1 == 1
	if wide {
		unsigned = i.Op&1 == 0
	}
	switch {
	case !f.isAnd(&second) && !(unsigned && f.isAnd(&first) && f.mayBeZero(&second)):
	case wide:
		f.out = append(f.out, opI64Const, 0, opI64Or)
	default:
		f.out = append(f.out, opI32Const, 0, opI32Or)
	}
}

// mayBeZero tells of the value that was made last.
func (f *function) mayBeZero(o *operand) bool {
	if o.kind == isConstant {
		return o.value == 0
	}
	made := f.out[o.from:o.to]
	return len(made) == 0 || made[0] != opI64Const || signed(made[1:]) == 0
}

// opposites are the comparisons of integers and what is true where they are not. (Numbers that are none make those of floats
// have no opposites.)
var opposites = func() (of [256]byte) {
	for _, first := range []byte{0x46, 0x51} { // i32, i64: eq, ne, lt_s, lt_u, gt_s, gt_u, le_s, le_u, ge_s, ge_u
		for n, m := range []byte{1, 0, 8, 9, 6, 7, 4, 5, 2, 3} {
			of[first+byte(n)] = first + m
		}
	}
	return of
}()

// opposite writes a comparison that is negated.
func (f *function) opposite(i *opcode.Instruction, r *opcode.Reader) bool {
	of := opposites[i.Op]
	var not opcode.Instruction
	if of == 0 && i.Op != opI64Eqz || !next(r, opI32Eqz, &not) {
		return false
	}
	if i.Op == opI64Eqz {
		f.out = append(f.out, opI64Const, 0, opI64Ne)
		f.pop()
	} else {
		f.out = append(f.out, of)
		f.pop()
		f.pop()
	}
	f.push(operand{})
	return true
}

// signed reads a signed LEB128.
func signed(b []byte) (v int64) {
	shift := 0
	for _, x := range b {
		v |= int64(x&0x7f) << shift
		if shift += 7; x < 0x80 {
			if shift < 64 && x&0x40 != 0 {
				v |= -1 << shift
			}
			break
		}
	}
	return v
}
