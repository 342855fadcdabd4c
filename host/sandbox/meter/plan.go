package meter

import (
	"fmt"

	"github.com/wasmstream/wasmstream/host/sandbox/opcode"
)

// A point is a place in a function where fuel may be charged: at its entry, at the
// head of a loop, and wherever control may come from several sides or go on only
// under a condition. Each point's cost is that of the stretch behind it. Its
// dominator is an earlier point that is passed exactly once before it, whichever
// way control takes, so that a cost may be moved there; that is what makes few
// charges of many points. What is moved to a point that control then does not take
// is charged in vain: at most stretchMax for a stretch, and in all at most
// vainMax, or what the point's own stretch costs (invariant B).
type point struct {
	at        uint32 // in the input: before the instruction there
	cost      uint32
	vain      uint32 // part of cost that was moved here
	dominator uint32
	open      uint32 // blocks that are open there
	nested    uint32 // loops that are open there
	loop      bool
	kept      bool
}

// Tuned by measurement (BenchmarkFuel): a charge costs as much as ten instructions
// or so.
const (
	stretchMax = 128
	vainMax    = 512
	foldMax    = 24 // cost of an entry that the loop behind it is charged for
)

// Costs, in units of about one instruction.
const (
	costCallIndirect = 24 // and the most that a short function costs, see findShort
	costBulk         = 8  // and what its length adds
)

// shortBytes is the size up to which a body is looked at to find short functions.
const shortBytes = 64

// Units per length: a page of memory is zeroed when it is first touched.
const (
	bulkBytesPerUnitLog = 3
	unitsPerPageLog     = 10
	unitsPerEntryLog    = 1
)

// An edit is an instruction that something is added to, or that is replaced.
type edit struct {
	at, end uint32
	open    uint32 // blocks that are open there
	nested  uint32 // loops that are open there
	op, sub byte
}

// frame is a block that is open.
type frame struct {
	op       byte
	before   uint32 // the point that was current before it
	dead     bool   // whether code before it is
	branched bool   // whether its label is used
}

// function is the plan of one function.
type function struct {
	at, end      int // of its instructions
	locals       uint32
	groups       span
	count        uint32 // of groups
	points       []point
	edits        []edit
	frames       []frame
	current      uint32
	dead         bool
	cost         uint32 // of all that is alive
	instructions uint32
	calls        bool // has calls
	bulk         bool // has operations with a length
	loops        bool
	intoLoop     bool   // the entry leads straight into a loop
	folded       bool   // whose head is charged and checked for it
	nested       uint32 // loops that are open
	cached       bool   // fuel is in a local of its own between calls
}

// open reads the locals of a body.
func (f *function) open(in []byte, body span, params uint32) error {
	c := opcode.NewCursor(in, body.from, body.to)
	l := c.Locals(params)
	if c.Bad {
		return errMalformed
	}
	*f = function{points: f.points[:0], frames: f.frames[:0], edits: f.edits[:0]}
	f.locals, f.count, f.groups = l.Count, uint32(l.Groups), span{l.From, l.To}
	f.at, f.end = c.At, body.to
	return nil
}

// plan walks a function and finds its points with their costs.
func (r *rewriter) plan(n int) error {
	f := &r.f
	if err := f.open(r.in, r.bodies[n], r.types[r.defined[n]].params); err != nil {
		return err
	}
	f.points = append(f.points, point{at: uint32(f.at)})
	f.frames = append(f.frames, frame{op: opcode.Block})
	reader := opcode.Reader{Data: r.in, At: f.at, End: f.end}
	var i opcode.Instruction
	for len(f.frames) > 0 {
		if err := reader.Next(&i); err != nil {
			return err
		}
		if err := r.checkIndices(&i); err != nil {
			return err
		}
		r.step(&i)
	}
	if reader.At != reader.End {
		return errMalformed
	}
	f.merge()
	f.cached = f.loops && r.savedByCaching() > 0
	return nil
}

// savedByCaching is about how many loads and stores it saves to have fuel in a local: two
// a charge, as often as loops seem to go round; and what it takes, two a call.
func (r *rewriter) savedByCaching() (saved int64) {
	often := func(nested uint32) int64 { return 1 << (3 * min(nested, 5)) }
	f := &r.f
	for i := range f.points {
		if p := &f.points[i]; p.kept && p.nested > 0 {
			saved += often(p.nested)
		}
	}
	for i := range f.edits {
		if e := &f.edits[i]; e.isCall() && !r.isLast(e) {
			saved -= often(e.nested)
		}
	}
	return saved
}

func (e *edit) isCall() bool { return e.op == opcode.Call || e.op == opcode.CallIndirect }

// isLast tells of a call that nothing comes after: it does not return.
func (r *rewriter) isLast(e *edit) bool { return r.in[e.end] == opcode.Unreachable }

// isShort tells of a function that is charged by its callers.
func (r *rewriter) isShort(index uint32) bool {
	n := int64(index) - int64(r.imported)
	return n >= 0 && n < int64(len(r.short)) && r.short[n] > 0
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
		most = uint64(len(r.f.frames))
	case opcode.Block, opcode.Loop, opcode.If:
		if int64(i.Block) >= int64(len(r.types)) {
			return fmt.Errorf("a block has type %d, and there are %d (at byte %d)", i.Block, len(r.types), i.At)
		}
	case opcode.Else:
		if f := &r.f; f.frames[len(f.frames)-1].op != opcode.If {
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
	f.charge(r.costOf(i))
	switch i.Op {
	case opcode.Block, opcode.Loop, opcode.If:
		f.frames = append(f.frames, frame{op: i.Op, before: f.current, dead: f.dead})
		if i.Op == opcode.Loop {
			f.nested++
		}
		f.intoLoop = f.intoLoop || i.Op == opcode.Loop && len(f.points) == 1 && !f.dead
		if i.Op != opcode.Block {
			f.start(i.End, f.current, i.Op == opcode.Loop)
		}
		f.loops = f.loops || i.Op == opcode.Loop
	case opcode.Else:
		open := &f.frames[len(f.frames)-1]
		open.op, f.dead = opcode.Else, open.dead
		f.start(i.End, open.before, false)
	case opcode.End:
		f.close(i.End)
	case opcode.Br, opcode.BrIf, opcode.BrTable:
		f.mark(i)
		if i.Op == opcode.BrIf {
			f.start(i.End, f.current, false)
		} else {
			f.dead = true
		}
	case opcode.Unreachable:
		f.edit(i)
		f.dead = true
	case opcode.Return:
		f.edit(i)
		f.dead = true
	case opcode.Call, opcode.CallIndirect:
		f.calls = true
		if i.Op == opcode.CallIndirect || !r.isShort(i.Index) {
			f.edit(i)
		}
	case opcode.MemoryGrow, opcode.Misc:
		if i.Op == opcode.MemoryGrow || hasLength(i) {
			f.bulk = true
			f.edit(i)
		}
	}
}

func (f *function) edit(i *opcode.Instruction) {
	f.edits = append(f.edits, edit{at: uint32(i.At), end: uint32(i.End), open: uint32(len(f.frames) - 1), nested: f.nested, op: i.Op, sub: i.Sub})
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
		if r.isShort(i.Index) {
			return 1 + r.short[int(i.Index)-r.imported]
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

func (f *function) charge(cost uint32) {
	f.instructions++
	if !f.dead {
		f.points[f.current].cost += cost
		f.cost += cost
	}
}

// start makes a point at which the code goes on.
func (f *function) start(at int, dominator uint32, loop bool) {
	if f.dead {
		return
	}
	f.current = uint32(len(f.points))
	f.points = append(f.points, point{at: uint32(at), dominator: dominator, open: uint32(len(f.frames) - 1), nested: f.nested, loop: loop})
}

// close ends a block. Behind a loop control comes from the loop alone, but once and
// not once for each round.
func (f *function) close(at int) {
	open := f.frames[len(f.frames)-1]
	f.frames = f.frames[:len(f.frames)-1]
	if open.op == opcode.Loop {
		f.nested--
	}
	if open.op == opcode.Block && !open.branched || len(f.frames) == 0 {
		f.dead = f.dead || open.dead
		return
	}
	f.dead = open.dead || open.op == opcode.Loop && f.dead
	f.start(at, open.before, false)
}

// mark notes which labels a branch goes to: all up to the greatest of a br_table.
func (f *function) mark(i *opcode.Instruction) {
	if f.dead {
		return
	}
	last := len(f.frames) - 1
	if i.Op != opcode.BrTable {
		f.frames[last-int(i.Index)].branched = true
		return
	}
	for n := range int(i.Index) + 1 {
		f.frames[last-n].branched = true
	}
}

// merge decides where to charge, from the last point to the first: dominators come
// before what they dominate.
func (f *function) merge() {
	for n := len(f.points) - 1; n > 0; n-- {
		p := &f.points[n]
		d := &f.points[p.dominator]
		switch {
		case p.loop:
			p.cost, p.kept = max(p.cost, 1), true
		case p.cost == 0:
		case p.cost <= stretchMax && d.vain+p.cost <= max(vainMax, d.cost-d.vain):
			d.cost += p.cost
			d.vain += p.cost
		default:
			p.kept = true
		}
	}
	f.points[0].kept = true
	if f.intoLoop && f.points[0].cost <= foldMax {
		f.points[1].cost += f.points[0].cost
		f.points[0].cost, f.folded = 0, true
	}
}

// findShort finds functions that their callers pay for: a few instructions without
// loops and calls.
func (r *rewriter) findShort() {
	r.short = make([]uint32, len(r.bodies))
	for n, body := range r.bodies {
		if body.to-body.from > shortBytes || r.plan(n) != nil {
			continue // what is wrong with it is told when it is rewritten
		}
		if f := &r.f; !f.loops && !f.calls && !f.bulk && f.cost+1 < costCallIndirect {
			r.short[n] = max(f.cost, 1)
		}
	}
}
