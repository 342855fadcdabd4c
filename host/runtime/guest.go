package runtime

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/wasmstream/wasmstream/abi"
	guests "github.com/wasmstream/wasmstream/host/guest"
	"github.com/wasmstream/wasmstream/host/job"
	"github.com/wasmstream/wasmstream/host/operator/window"
	"github.com/wasmstream/wasmstream/host/sandbox"
	"github.com/wasmstream/wasmstream/host/state"
	"github.com/wasmstream/wasmstream/host/stream"
)

// Guest is an instance of a module; *sandbox.Instance is one.
type Guest = guests.Instance

// guest is the aggregator of a Wasm function. It puts ops off until a frame is
// due: the end of a batch, or frameOpsMax. What the guest did to the slots is
// taken over only after the whole call succeeded.
type guest struct {
	instance Guest
	function *job.Function
	key      *stream.Schema     // of the step, for errors
	input    *stream.Projection // to the columns that the function declares
	answer   *stream.Schema     // of the rows that it emits
	stride   int
	backend  state.Backend
	cell     state.Cell // of the accumulators
	results  results
	out      *output
	opsMax   int

	ops     []guestOp
	rows    []byte          // of the ops
	windows []window.Window // of the ops that are results
	marks   []pendingMark   // what waits behind ops
	dirty   bool            // ops change accumulators that are held

	slots  []state.Ref // of the present frame
	fresh  []bool      // whether the slot begins with a create
	copies []bool      // whether the slot is a copy, which is thrown away
	slotOf []slotStamp // by ref
	stamp  uint32      // of the present frame
}

// guestOp is an op before its frame is laid out.
type guestOp struct {
	ref    state.Ref
	second state.Ref // merge: the entry that is taken in
	row    uint32    // add: offset in rows; result: place in windows
	slot   uint32    // set by number
	other  uint32    // merge: the slot of second, set by number
	kind   abi.OpKind
	copied bool // merge: of a copy of what second holds
}

// pendingMark is a watermark, or the end of a window, behind a number of ops.
type pendingMark struct {
	ops     int
	at      stream.EventTime
	retires bool
	ref     state.Ref
	window  window.Window
}

// slotStamp is a ref's slot in the frame of that stamp.
type slotStamp struct {
	stamp, slot uint32
}

// frameOpsMax bounds the ops of a frame, so that a call stays short: guest code
// cannot be interrupted.
const frameOpsMax = 8192

// open tells the instance the function's parameters, and its input's columns if it
// takes any.
func (g *guest) open(parameters stream.Row) error {
	schemas := g.function.Schemas()
	h := abi.Layout(1, 0, g.stride, len(parameters), len(schemas))
	frame := make([]byte, h.Total)
	abi.PutHeader(frame, h)
	o := abi.Op{Kind: abi.OpOpen, Slot: abi.NoSlot, Row: h.RowsOffset}
	if len(schemas) > 0 {
		o.Arg = h.ContextsOffset
	}
	abi.PutOp(frame, int(h.OpsOffset), o)
	copy(frame[h.RowsOffset:], parameters)
	copy(frame[h.ContextsOffset:], schemas)
	effects, err := g.instance.Open(uint32(g.function.Index), frame)
	if err != nil {
		return g.failed(fmt.Errorf("opening it: %w", err))
	}
	if len(effects) > 0 && schemas == nil {
		return g.failed(g.fault(abi.FaultBadAnswer, "it answered its opening with %d bytes of effects; none are allowed", len(effects)))
	}
	return nil
}

func (g *guest) create(r state.Ref) error {
	g.ops = append(g.ops, guestOp{kind: abi.OpCreate, ref: r})
	return nil
}

func (g *guest) add(r state.Ref, row stream.Row) error {
	g.ops = append(g.ops, guestOp{kind: abi.OpAdd, ref: r, row: uint32(len(g.rows))})
	g.rows = g.input.AppendTo(g.rows, row, stream.Insert)
	g.dirty = true
	return g.completeIfDue()
}

func (g *guest) merge(into, from state.Ref) error {
	g.ops = append(g.ops, guestOp{kind: abi.OpMerge, ref: into, second: from})
	g.dirty = true
	return g.completeIfDue()
}

// combine gives the guest copies: it may use up what it merges. What is pending is
// performed first, since the copies are of what the backend holds.
func (g *guest) combine(r state.Ref, parts []state.Ref, w window.Window) error {
	if g.dirty {
		if err := g.complete(); err != nil {
			return err
		}
	}
	g.ops = append(g.ops, guestOp{kind: abi.OpCreate, ref: r})
	for _, part := range parts {
		g.ops = append(g.ops, guestOp{kind: abi.OpMerge, ref: r, second: part, copied: true})
	}
	return g.result(r, w)
}

func (g *guest) result(r state.Ref, w window.Window) error {
	g.ops = append(g.ops, guestOp{kind: abi.OpResult, ref: r, row: uint32(len(g.windows))})
	g.windows = append(g.windows, w)
	return g.completeIfDue()
}

// forget has nothing to do: what stands in a cell of fixed width stays until the entry
// is gone.
func (*guest) forget(state.Ref) {}

// discard has nothing to do: accumulators are fixed in width, and never held where
// they are scratch.
func (*guest) discard(state.Ref) {}

func (g *guest) completeIfDue() error {
	if len(g.ops) < g.opsMax {
		return nil
	}
	return g.complete()
}

func (g *guest) watermark(t stream.EventTime) {
	if n := len(g.marks); n > 0 && g.marks[n-1].ops == len(g.ops) && !g.marks[n-1].retires {
		g.marks[n-1].at = t
		return
	}
	g.marks = append(g.marks, pendingMark{ops: len(g.ops), at: t})
}

func (g *guest) retire(r state.Ref, w window.Window) {
	if g.results.keepsWindows() {
		g.marks = append(g.marks, pendingMark{ops: len(g.ops), retires: true, ref: r, window: w})
	}
}

func (g *guest) complete() error {
	if len(g.ops) > 0 {
		if err := g.run(0, len(g.ops)); err != nil {
			return err
		}
	}
	g.passMarks(len(g.ops))
	g.ops, g.rows, g.windows, g.marks, g.dirty = g.ops[:0], g.rows[:0], g.windows[:0], g.marks[:0], false
	return nil
}

// passMarks does what waits behind at most so many ops.
func (g *guest) passMarks(ops int) {
	n := 0
	for n < len(g.marks) && g.marks[n].ops <= ops {
		if m := &g.marks[n]; m.retires {
			g.results.retire(g.backend.Key(m.ref), m.window)
		} else {
			g.results.watermark(g.out, m.at)
		}
		n++
	}
	if n > 0 {
		g.marks = g.marks[:copy(g.marks, g.marks[n:])]
	}
}

// run performs ops from..to, in halves if the guest has no room for all. A frame
// whose effects had no room left nothing behind: slots are taken over only after
// success.
func (g *guest) run(from, to int) error {
	err := g.call(from, to)
	var large *sandbox.TooLargeError
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &large):
		return g.failedIn(err)
	case to-from == 1:
		return g.failedIn(fmt.Errorf("one op alone is too large: %w", err))
	}
	middle := from + (to-from)/2
	if err := g.run(from, middle); err != nil {
		return err
	}
	return g.run(middle, to)
}

// call performs ops from..to in one frame.
func (g *guest) call(from, to int) error {
	g.number(from, to)
	rows, base := g.rows, uint32(0)
	if from > 0 || to < len(g.ops) {
		rows, base = g.rowsOf(from, to)
	}
	h := abi.Layout(to-from, len(g.slots), g.stride, len(rows), 0)
	frame, pointer, err := g.instance.In(int(h.Total))
	if err != nil {
		return err
	}
	g.fill(frame, h, from, to, rows, base)
	effects, err := g.instance.Call(uint32(g.function.Index), pointer, int(h.Total))
	if err != nil {
		return err
	}
	edited := g.instance.Frame()[h.SlotsOffset:]
	if err := errors.Join(g.checkAnswer(effects, from, to), g.checkSlots(edited)); err != nil {
		return err
	}
	g.take(effects, from, to)
	g.adopt(edited)
	return nil
}

// number gives each entry that ops from..to work on a slot. A create is always
// the first op of its slot, so an entry that is created again gets another.
func (g *guest) number(from, to int) {
	g.stamp++
	g.slots, g.fresh, g.copies = g.slots[:0], g.fresh[:0], g.copies[:0]
	for i := from; i < to; i++ {
		op := &g.ops[i]
		op.slot = g.slot(op.ref, op.kind == abi.OpCreate)
		switch {
		case op.copied:
			op.other = g.newSlot(op.second, false, true)
		case op.kind == abi.OpMerge:
			op.other = g.slot(op.second, false)
		}
	}
}

// slot is the slot of an entry in the present frame.
func (g *guest) slot(r state.Ref, created bool) uint32 {
	for int(r) >= len(g.slotOf) {
		g.slotOf = append(g.slotOf, slotStamp{})
	}
	s := &g.slotOf[r]
	if s.stamp != g.stamp || created {
		*s = slotStamp{g.stamp, g.newSlot(r, created, false)}
	}
	return s.slot
}

func (g *guest) newSlot(r state.Ref, created, copied bool) uint32 {
	g.slots = append(g.slots, r)
	g.fresh = append(g.fresh, created)
	g.copies = append(g.copies, copied)
	return uint32(len(g.slots) - 1)
}

// rowsOf is the part of rows that ops from..to have, and where it begins.
func (g *guest) rowsOf(from, to int) ([]byte, uint32) {
	first, last := uint32(len(g.rows)), uint32(len(g.rows))
	for i := len(g.ops) - 1; i >= from; i-- {
		if g.ops[i].kind != abi.OpAdd {
			continue
		}
		if i >= to {
			last = g.ops[i].row
		} else {
			first = g.ops[i].row
		}
	}
	return g.rows[min(first, last):last], min(first, last)
}

// fill lays the frame out in the guest's memory.
func (g *guest) fill(frame []byte, h abi.Header, from, to int, rows []byte, base uint32) {
	abi.PutHeader(frame, h)
	at := int(h.OpsOffset)
	for i := from; i < to; i++ {
		op := &g.ops[i]
		o := abi.Op{Kind: op.kind, Slot: op.slot}
		switch op.kind {
		case abi.OpAdd:
			o.Row = h.RowsOffset + op.row - base
		case abi.OpMerge:
			o.Arg = op.other
		}
		abi.PutOp(frame, at, o)
		at += abi.OpBytes
	}
	for i, r := range g.slots {
		slot := frame[int(h.SlotsOffset)+i*g.stride:][:g.stride]
		if g.fresh[i] {
			clear(slot)
		} else {
			copy(slot, g.backend.Value(r, g.cell))
		}
	}
	copy(frame[h.RowsOffset:], rows)
}

// checkSlots makes sure that the slots are still rows. Fixed in width, they can
// only have another kind of change.
func (g *guest) checkSlots(edited []byte) error {
	for i := range g.slots {
		if kind := stream.Row(edited[i*g.stride:]).Change(); kind != stream.Insert {
			return g.fault(abi.FaultBadSlot, "slot %d was left with change kind %d; an accumulator is a row of kind +I, 0", i, uint8(kind))
		}
	}
	return nil
}

// adopt takes the slots over as the guest left them. One that was only looked at,
// for a result, is no change, and is not to be written in the next snapshot.
func (g *guest) adopt(edited []byte) {
	for i, r := range g.slots {
		slot := edited[i*g.stride:][:g.stride]
		if !g.copies[i] && !bytes.Equal(slot, g.backend.Value(r, g.cell)) {
			copy(g.backend.Edit(r, g.cell), slot)
		}
	}
}

// take puts out the rows that the guest answered; checkAnswer has seen them.
func (g *guest) take(effects []byte, from, to int) {
	answers := abi.ReadEffects(effects, to-from)
	for {
		e, ok := answers.Next()
		if !ok {
			return
		}
		i := from + int(e.Op)
		g.passMarks(i)
		op := &g.ops[i]
		g.results.put(g.out, g.backend.Key(op.ref), e.Payload, g.windows[op.row])
	}
}

// checkAnswer holds what the guest answered against what the ops allow, before
// any of it is used.
func (g *guest) checkAnswer(effects []byte, from, to int) error {
	answers := abi.ReadEffects(effects, to-from)
	next := from // the ops before it are settled
	for {
		e, ok := answers.Next()
		if !ok {
			break
		}
		i := from + int(e.Op)
		for next < i {
			if g.ops[next].kind == abi.OpResult {
				return g.fault(abi.FaultBadAnswer, "op %d, a result, was not answered", next-from)
			}
			next++
		}
		switch {
		case g.ops[i].kind != abi.OpResult || next > i:
			return g.fault(abi.FaultBadAnswer, "op %d, of kind %s, has an effect too many: %s", e.Op, g.ops[i].kind, e.Kind)
		case e.Kind != abi.EffectEmit || e.Aux != 0:
			return g.fault(abi.FaultBadAnswer, "op %d, a result, was answered by %s to output %d instead of one row to output 0", e.Op, e.Kind, e.Aux)
		}
		if err := stream.CheckExact(g.answer, e.Payload); err != nil {
			return g.fault(abi.FaultBadRow, "op %d, a result, was answered by a row that is no %s: %v", e.Op, g.answer, err)
		}
		next = i + 1
	}
	if err := answers.Err(); err != nil {
		return err
	}
	for ; next < to; next++ {
		if g.ops[next].kind == abi.OpResult {
			return g.fault(abi.FaultBadAnswer, "op %d, a result, was not answered", next-from)
		}
	}
	return nil
}

// fault is what a guest did whose answer breaks the ABI.
func (*guest) fault(kind abi.FaultKind, format string, args ...any) error {
	return &abi.Fault{Kind: kind, Op: -1, Detail: fmt.Sprintf(format, args...)}
}

func (g *guest) failed(err error) error { return &FunctionError{Function: g.function, Err: err} }

// failedIn is the failure of a call for the windows of the present frame. It does
// not know for which of them.
func (g *guest) failedIn(err error) error {
	where := "one window"
	if len(g.slots) > 1 {
		where = fmt.Sprintf("one of %d windows, the first", len(g.slots))
	}
	where += " at key " + g.key.Show(g.backend.Key(g.slots[0]))
	return &FunctionError{Function: g.function, Err: err, Where: where}
}

// FunctionError is the failure of a Wasm function. What it wraps is a
// *sandbox.Fault where the guest's code went wrong, an *abi.Fault where its
// answer did, or a *sandbox.TooLargeError.
type FunctionError struct {
	Function *job.Function
	Err      error
	Where    string // which windows it was called for, in words; empty when it was opened
}

// Error names the function and its module.
func (e *FunctionError) Error() string {
	return fmt.Sprintf("function %s of module %s: %v", e.Function.Name, e.Function.Module.Name, e.Err)
}

// Unwrap is the cause.
func (e *FunctionError) Unwrap() error { return e.Err }
