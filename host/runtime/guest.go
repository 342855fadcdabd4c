package runtime

import (
	"bytes"
	"fmt"
	"math"
	"slices"

	"github.com/wasmstream/wasmstream/abi"
	guests "github.com/wasmstream/wasmstream/host/guest"
	"github.com/wasmstream/wasmstream/host/job"
	"github.com/wasmstream/wasmstream/host/operator/window"
	"github.com/wasmstream/wasmstream/host/state"
	"github.com/wasmstream/wasmstream/host/stream"
)

// Guest is an instance of a module; *sandbox.Instance is one.
type Guest = guests.Instance

// guest is the aggregator of a Wasm function. It puts ops off until a frame is due: the
// end of a batch, or frameOpsMax. What the guest did to the slots is taken over only
// after the whole call succeeded. So an accumulator, kept at the entry r, has a life:
//
//	create    r gets a group: what ops name it by until the ops are performed
//	add, …    ops of its group; one that was there before gets it by its first
//	forget    r is about to be cleared. Of variable width, what it holds is kept (gone) for
//	          the ops that were put off, and r has another group if it is used again
//	discard   r was scratch: it is cleared behind the ops
//	complete  ops are performed, in several frames if need be: Load, Store, Take, Fault
//
// An accumulator to which no record has come, since the guest failed on all of them, is as
// if it were not there: see hollow.
type guest struct {
	withoutTimers
	caller   *guests.Caller
	function *job.Function
	key      *stream.Schema     // of the step, for errors
	input    *stream.Projection // to the columns that the function declares
	backend  state.Backend
	cell     state.Cell // of the accumulators
	variable bool       // accumulators are of variable width
	results  results
	out      *output
	faults   *faults

	groups    []guestGroup       // that ops work on
	gone      []goneGroup        // of which the entries are cleared
	groupOf   []slotStamp        // by ref
	stamp     uint32             // of the present groups
	times     []stream.EventTime // of the records, by op
	rows      []int32            // of the records, by op, see failure; empty where the job fails by a fault
	windows   []window.Window    // of the ops that are results
	taken     int                // of windows
	marks     []pendingMark      // what waits behind ops
	err       error              // of a frame that was performed for marks; told at complete
	discarded []state.Ref        // scratch, to be cleared behind the ops
	dirty     bool               // ops change accumulators that are held
	to        int                // the end of the present frame's ops
	kept      int                // bytes of accumulators that are gone
	hollow
	originals *originals
}

// guestGroup is an accumulator that ops work on. An entry that is created again, or used
// after it was cleared, gets another.
type guestGroup struct {
	ref    state.Ref
	filled bool   // a record has come to it; true to what happened while hollow watches
	gone   uint32 // the entry is cleared: its place in gone + 1
}

// goneGroup is what a group held whose entry is cleared.
type goneGroup struct {
	kept  []byte
	until int // the first op that is not the accumulator's any more
}

// pendingMark is a watermark, or the end of a window, behind a number of ops.
type pendingMark struct {
	ops     int
	at      stream.EventTime
	retires bool
	ref     state.Ref
	window  window.Window
}

// slotStamp is a ref's group among those of that stamp.
type slotStamp struct {
	stamp, slot uint32
}

// frameOpsMax bounds the ops of a frame, so that a call stays short: guest code
// cannot be interrupted.
const frameOpsMax = 8192

// group is what the caller knows an entry's accumulator by.
func (g *guest) group(r state.Ref, created bool) uint32 {
	for int(r) >= len(g.groupOf) {
		g.groupOf = append(g.groupOf, slotStamp{})
	}
	s := &g.groupOf[r]
	if s.stamp != g.stamp || created {
		*s = slotStamp{g.stamp, uint32(len(g.groups))}
		g.groups = append(g.groups, guestGroup{ref: r, filled: !created && !g.takesUp(r)})
	}
	return s.slot
}

// note notes of an op that is added which record it is about.
func (g *guest) note(t stream.EventTime, row int32) {
	g.times = append(g.times, t)
	if g.faults.policy != job.Fail {
		g.rows = append(g.rows, row)
	}
}

func (g *guest) create(r state.Ref) error {
	g.caller.Add(abi.OpCreate, g.group(r, true), guests.NoRow(), nil)
	g.note(stream.MinTime, 0)
	return nil
}

func (g *guest) add(r state.Ref, row stream.Row, t stream.EventTime) error {
	if g.originals != nil {
		g.originals.keep(g.caller.Len(), left, row)
	}
	g.caller.Add(abi.OpAdd, g.group(r, false), g.caller.Row(g.input, row), nil)
	g.note(t, g.faults.row)
	g.dirty = true
	return g.completeIfDue()
}

// settle makes sure that it is known whether an accumulator has a record. One that was
// made before the present frame has one.
func (g *guest) settle(r state.Ref) error {
	if g.faults.policy == job.Fail || int(r) >= len(g.groupOf) || g.groupOf[r].stamp != g.stamp || g.groups[g.groupOf[r].slot].filled {
		return nil
	}
	return g.complete()
}

func (g *guest) merge(into, from state.Ref) error {
	g.addMerge(into, from, false)
	g.forget(from) // it is cleared behind this
	g.dirty = true
	return g.completeIfDue()
}

func (g *guest) addMerge(into, from state.Ref, copied bool) {
	to := g.group(into, false)
	g.caller.AddMerge(to, g.group(from, false), copied)
	g.note(stream.MinTime, 0)
}

// combine gives the guest copies: it may use up what it merges. What is pending is
// performed first, since the copies are of what the backend holds.
func (g *guest) combine(r state.Ref, parts []state.Ref, w window.Window) error {
	if g.dirty {
		if err := g.complete(); err != nil {
			return err
		}
	}
	// A pane is marked before it is known whether it has a record.
	parts = slices.DeleteFunc(parts, func(part state.Ref) bool { return !g.backend.Has(part, g.cell) })
	if len(parts) == 0 {
		return nil
	}
	if err := g.create(r); err != nil {
		return err
	}
	for _, part := range parts {
		g.addMerge(r, part, true)
	}
	return g.result(r, w)
}

func (g *guest) result(r state.Ref, w window.Window) error {
	g.caller.Add(abi.OpResult, g.group(r, false), guests.NoRow(), nil)
	g.note(stream.EventTime(w.MaxTimestamp()), 0)
	g.windows = append(g.windows, w)
	return g.completeIfDue()
}

// forget keeps what ops that were put off need of an accumulator that is to be cleared.
// One of fixed width stays where it is until the entry is gone.
func (g *guest) forget(r state.Ref) {
	if !g.variable || int(r) >= len(g.groupOf) || g.groupOf[r].stamp != g.stamp {
		return
	}
	group := &g.groups[g.groupOf[r].slot]
	kept := slices.Clone(g.backend.Value(r, g.cell))
	g.gone = append(g.gone, goneGroup{kept, g.caller.Len()})
	group.gone = uint32(len(g.gone))
	g.kept += len(kept)
	g.groupOf[r].stamp = g.stamp - 1
}

// discard clears scratch behind the ops that use it: of variable width, it is held.
func (g *guest) discard(r state.Ref) {
	if g.variable {
		g.discarded = append(g.discarded, r)
	}
}

func (g *guest) completeIfDue() error {
	if g.caller.Due() {
		return g.complete()
	}
	return nil
}

func (g *guest) watermark(t stream.EventTime) {
	if n := len(g.marks); n > 0 && g.marks[n-1].ops == g.caller.Len() && !g.marks[n-1].retires {
		g.marks[n-1].at = t
		return
	}
	g.marks = append(g.marks, pendingMark{ops: g.caller.Len(), at: t})
}

// retire performs the frame if much waits: many windows may end that have no results.
func (g *guest) retire(r state.Ref, w window.Window) {
	if !g.results.keepsWindows() {
		return
	}
	if len(g.marks) >= frameOpsMax {
		if g.err = g.complete(); g.err != nil {
			return
		}
	}
	g.marks = append(g.marks, pendingMark{ops: g.caller.Len(), retires: true, ref: r, window: w})
}

func (g *guest) complete() error {
	if g.err != nil {
		return g.err
	}
	n := g.caller.Len()
	if n > 0 {
		if err := g.caller.Perform(); err != nil {
			return err
		}
	}
	g.passMarks(n)
	g.settleHollow()
	for _, r := range g.discarded {
		g.backend.Clear(r, g.cell)
	}
	g.groups, g.times, g.rows, g.windows, g.taken = g.groups[:0], g.times[:0], g.rows[:0], g.windows[:0], 0
	g.marks, g.discarded, g.dirty = g.marks[:0], g.discarded[:0], false
	clear(g.gone)
	g.gone, g.kept = g.gone[:0], 0
	if g.stamp++; g.stamp == 0 {
		clear(g.groupOf) // stamps begin anew
		g.stamp = 1
	}
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

// Load implements guests.Role.
func (g *guest) Load(dst []byte, group uint32, _ int) []byte {
	x := &g.groups[group]
	if x.gone > 0 {
		return append(dst, g.gone[x.gone-1].kept...)
	}
	return append(dst, g.backend.Value(x.ref, g.cell)...)
}

// Store takes an accumulator over as the guest left it. One that was only looked at,
// for a result, is no change, and is not to be written in the next snapshot.
func (g *guest) Store(group uint32, _ int, row stream.Row) error {
	x := &g.groups[group]
	switch {
	case x.gone > 0:
		g.keep(&g.gone[x.gone-1], row)
	case bytes.Equal(row, g.backend.Value(x.ref, g.cell)):
	case g.variable:
		g.backend.Put(x.ref, g.cell, row)
	default:
		copy(g.backend.Edit(x.ref, g.cell), row)
	}
	return nil
}

// keep keeps an accumulator that is gone, if a later frame has ops of it.
func (g *guest) keep(x *goneGroup, row stream.Row) {
	g.kept -= len(x.kept)
	if x.kept = x.kept[:0]; g.to < x.until {
		x.kept = append(x.kept, row...)
	} else {
		x.kept = nil
	}
	g.kept += len(x.kept)
}

// Begin implements guests.Framed.
func (g *guest) Begin(_, to int) { g.to = to }

// End implements guests.Framed.
func (g *guest) End(bool) {}

// Near is a part of guests.Limited. Accumulators that are gone are memory as state is.
func (g *guest) Near(bytes int) bool { return g.isNear(bytes, g.kept, 0) }

// Over is a part of it.
func (g *guest) Over(bytes, entries, timers int) string {
	if bytes > 0 {
		bytes += g.kept
	}
	return g.stateLimit.Over(bytes, entries, timers)
}

// Take puts out a result, unless no record has come to it.
func (g *guest) Take(i int, e abi.Effect) error {
	g.passMarks(i)
	_, group := g.caller.Op(i)
	if g.watches && !g.groups[group].filled {
		g.taken++
		return nil
	}
	g.results.put(g.out, g.backend.Key(g.groups[group].ref), e.Payload, g.windows[g.taken])
	g.taken++
	return nil
}

// Done implements guests.Role.
func (g *guest) Done(i int) error {
	if g.watches {
		g.came(i)
	}
	return nil
}

// Fault: a record that could not be added, or a result, is a dead letter, and the
// accumulator stays as it was. One that could not be made or merged fails the job:
// records that are counted already would be lost.
func (g *guest) Fault(i int, err error) error {
	g.passMarks(i)
	kind, group := g.caller.Op(i)
	r := g.groups[group].ref
	x := failureOf(g.function, g.caller, i, err)
	x.time, x.key = g.times[i], g.key.Show(g.backend.Key(r))
	switch kind {
	case abi.OpAdd:
		if g.watch(i); len(g.rows) > 0 {
			x.row = g.rows[i]
		}
		g.originals.show(&x, i)
	case abi.OpResult:
		x.within = showWindow(g.windows[g.taken])
		g.taken++
		if g.watches && !g.groups[group].filled {
			return nil // nobody has asked for it
		}
		x.record, x.schema = g.Load(nil, group, 0), g.function.Accumulator
		x.where = "the result of " + x.within
	default:
		return g.faults.fail(&x)
	}
	return g.faults.take(&x)
}

// showWindow is a window for people.
func showWindow(w window.Window) string {
	if w.Start == math.MinInt64 {
		return "the global window"
	}
	return fmt.Sprintf("the window from %s to %s", stream.EventTime(w.Start).Show(), stream.EventTime(w.End).Show())
}

// FunctionError is the failure of a Wasm function. What it wraps is a
// *sandbox.Fault where the guest's code went wrong, an *abi.Fault where its
// answer did, or a *sandbox.TooLargeError.
type FunctionError struct {
	Function *job.Function
	Err      error
	Where    string // what it was asked about, in words; empty when it was opened
}

// Error names the function and its module.
func (e *FunctionError) Error() string {
	return fmt.Sprintf("function %s of module %s: %v", e.Function.Name, e.Function.Module.Name, e.Err)
}

// Unwrap is the cause.
func (e *FunctionError) Unwrap() error { return e.Err }
