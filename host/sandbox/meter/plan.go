package meter

import (
	"fmt"

	"github.com/wasmstream/wasmstream/host/sandbox/opcode"
)

// A node is a place where control parts, comes together or turns back, with the stretch
// of code behind it, up to the next. Those that are kept are charged where their stretch
// begins, see ways.go.
type node struct {
	at     uint32 // in the input: where its stretch begins
	cost   uint32 // of its stretch
	charge uint32
	label  uint32 // that a branch goes to; of a br_table, where in the input its labels are
	length uint8  // of the instruction before its stretch, if that is a loop
	op     byte   // that instruction
	ends   byte   // what an end ends
	kept   bool
	spends bool // fuel is spent in its stretch by others, or by lengths
	tight  bool // a loop that keeps fuel in a local
}

// An edit is an instruction that something is added to, or that is replaced.
type edit struct {
	at, end uint32
	open    uint32 // blocks that are open there
	op, sub byte
}

// function is the plan of one function.
type function struct {
	at, end      int // of its instructions
	locals       uint32
	groups       span
	count        uint32 // of groups
	nodes        []node
	edits        []edit
	open         []byte // the blocks that are open
	ways         ways
	instructions uint32
	calls        bool // functions of the module
	deep         bool // and not just those that call no others
	bulk         bool // has operations with a length
	loops        bool
	tight        bool // has a loop that keeps fuel in a local
}

// Costs, in units of about one instruction.
const (
	costCallIndirect = 24 // and the most that a function costs that it may call and that charges nothing
	costBulk         = 8  // and what its length adds
)

// Units per length: a page of memory is zeroed when it is first touched.
const (
	bulkBytesPerUnitLog = 3
	unitsPerPageLog     = 10
	unitsPerEntryLog    = 1
)

// readLocals reads the locals of a body.
func (f *function) readLocals(in []byte, body span, params uint32) error {
	c := opcode.NewCursor(in, body.from, body.to)
	l := c.Locals(params)
	if c.Bad {
		return errMalformed
	}
	*f = function{nodes: f.nodes[:0], edits: f.edits[:0], open: f.open[:0], ways: f.ways}
	f.ways.in = in
	f.locals, f.count, f.groups = l.Count, uint32(l.Groups), span{l.From, l.To}
	f.at, f.end = c.At, body.to
	return nil
}

// walk finds the nodes of a function; if only a leaf is wanted, it leaves at the first call.
func (r *rewriter) walk(n int, leaf bool) error {
	f := &r.f
	if err := f.readLocals(r.in, r.bodies[n], r.types[r.defined[n]].params); err != nil {
		return err
	}
	f.enter(&opcode.Instruction{Op: opcode.Block, At: f.at, End: f.at})
	reader := opcode.Reader{Data: r.in, At: f.at, End: f.end}
	var i opcode.Instruction
	for len(f.open) > 0 && !(leaf && f.calls) {
		if err := reader.Next(&i); err != nil {
			return err
		}
		if err := r.checkIndices(&i); err != nil {
			return err
		}
		r.step(&i)
	}
	if len(f.open) == 0 && reader.At != reader.End {
		return errMalformed
	}
	return nil
}

// checkIndices is invariant D.
func (r *rewriter) checkIndices(i *opcode.Instruction) error {
	most := uint64(1) << 32
	switch i.Op {
	case opcode.LocalGet, opcode.LocalSet, opcode.LocalTee:
		most = uint64(r.f.locals)
	case opcode.GlobalGet, opcode.GlobalSet:
		most = uint64(r.globals)
	case opcode.CallIndirect:
		most = uint64(len(r.types))
	case opcode.Br, opcode.BrIf, opcode.BrTable:
		most = uint64(len(r.f.open))
	case opcode.Block, opcode.Loop, opcode.If:
		if int64(i.Block) >= int64(len(r.types)) {
			return fmt.Errorf("a block has type %d, and there are %d (at byte %d)", i.Block, len(r.types), i.At)
		}
	case opcode.Else:
		if f := &r.f; f.open[len(f.open)-1] != opcode.If {
			return fmt.Errorf("an else has no if (at byte %d)", i.At)
		}
	}
	if uint64(i.Index) >= most {
		return fmt.Errorf("instruction 0x%02x has the index %d, and there are %d (at byte %d)", i.Op, i.Index, most, i.At)
	}
	return nil
}

// step accounts for one instruction.
func (r *rewriter) step(i *opcode.Instruction) {
	f := &r.f
	f.instructions++
	f.nodes[len(f.nodes)-1].cost += r.costOf(i)
	switch i.Op {
	case opcode.Block, opcode.Loop, opcode.If:
		f.enter(i)
	case opcode.Else:
		f.open[len(f.open)-1] = opcode.Else
		f.node(i)
	case opcode.End:
		ends := f.open[len(f.open)-1]
		f.open = f.open[:len(f.open)-1]
		f.node(i).ends = ends
	case opcode.Br, opcode.BrIf:
		f.node(i).label = i.Index
	case opcode.BrTable:
		f.node(i).label = uint32(i.At + 1)
	case opcode.Unreachable:
		f.node(i)
	case opcode.Return:
		f.edit(i)
		f.node(i)
	case opcode.Call, opcode.CallIndirect:
		r.call(i)
	case opcode.MemoryGrow, opcode.Misc:
		if i.Op == opcode.MemoryGrow || hasLength(i) {
			f.bulk = true
			f.nodes[len(f.nodes)-1].spends = true
			f.edit(i)
		}
	}
}

// call accounts for a call. The host does not call back, but charges for what it does.
func (r *rewriter) call(i *opcode.Instruction) {
	f, to := &r.f, &callee{} // by the table: it may be any
	if i.Op == opcode.Call {
		to = r.callee(i.Index)
	}
	if to == nil || !to.quiet {
		f.nodes[len(f.nodes)-1].spends = true
	}
	if to != nil {
		f.calls, f.deep = true, f.deep || !to.leaf
	}
}

func (f *function) enter(i *opcode.Instruction) {
	f.open = append(f.open, i.Op)
	n := f.node(i)
	n.length, n.kept = uint8(i.End-i.At), i.Op == opcode.Loop
	f.loops = f.loops || n.kept
}

func (f *function) node(i *opcode.Instruction) *node {
	f.nodes = append(f.nodes, node{at: uint32(i.End), op: i.Op})
	return &f.nodes[len(f.nodes)-1]
}

func (f *function) edit(i *opcode.Instruction) {
	f.edits = append(f.edits, edit{at: uint32(i.At), end: uint32(i.End), open: uint32(len(f.open) - 1), op: i.Op, sub: i.Sub})
}

func hasLength(i *opcode.Instruction) bool {
	return i.Sub >= opcode.MemoryInit && i.Sub != opcode.DataDrop && i.Sub != opcode.ElemDrop
}

func (r *rewriter) costOf(i *opcode.Instruction) uint32 {
	switch i.Op {
	case opcode.Block, opcode.Loop, opcode.Else, opcode.End:
		return 0
	case opcode.CallIndirect:
		return costCallIndirect
	case opcode.Call:
		if to := r.callee(i.Index); to != nil {
			return 1 + to.pays
		}
	case opcode.MemoryGrow:
		return costBulk
	case opcode.Misc:
		if hasLength(i) {
			return costBulk
		}
	}
	return uint32(slow[i.Op])
}

// slow is what other instructions cost: 1, but more where the processor takes longer.
var slow = func() (costs [256]byte) {
	for op := range costs {
		switch {
		case op >= 0x28 && op <= 0x35: // loads: memory may be far
			costs[op] = 8
		case op >= 0x36 && op <= 0x3e: // stores
			costs[op] = 4
		case op >= 0x6d && op <= 0x70, op >= 0x7f && op <= 0x82, op == 0x91, op == 0x95, op == 0x9f, op == 0xa3: // division, square root
			costs[op] = 8
		default:
			costs[op] = 1
		}
	}
	return costs
}()
