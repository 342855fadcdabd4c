package runtime

import (
	"bytes"
	"math"

	"github.com/wasmstream/wasmstream/abi"
	guests "github.com/wasmstream/wasmstream/host/guest"
	"github.com/wasmstream/wasmstream/host/job"
	"github.com/wasmstream/wasmstream/host/operator/window"
	"github.com/wasmstream/wasmstream/host/state"
	"github.com/wasmstream/wasmstream/host/stream"
)

// reducer is the aggregator of a reduce function. The accumulator is a row of the
// function's input: the first record is it as it is, without a call, and the result is
// what the accumulator holds.
//
// A result is put out behind the frame that it waits for. So nothing may come between:
// before an accumulator with a result that waits is used again, or forgotten, the frame
// is performed.
type reducer struct {
	withoutTimers
	failing
	key      *stream.Schema // of the step, for errors
	caller   *guests.Caller
	function *job.Function
	input    *stream.Projection
	output   *stream.Projection // of an accumulator, to the columns that the key does not have
	backend  state.Backend
	cell     state.Cell
	variable bool
	results  results
	out      *output
	room     *room // results of a frame may be many, and large

	fresh   state.Ref // its next record is its first; valid if isFresh
	isFresh bool
	used    []slotStamp // by ref: whether the frame changes it (1), or a result of it waits (2)
	stamp   uint32
	ops     int
	waiting []reducedMark
	times   []stream.EventTime // by op: the record's, or merged
	rows    []int32            // by op, as guest has them
	buf     []byte
	row     []byte
	err     error

	originals *originals
}

// reducedMark is what waits behind a number of ops: a result, the end of a window, or a
// watermark.
type reducedMark struct {
	ops    int
	kind   markKind
	ref    state.Ref
	window window.Window
	at     stream.EventTime
}

type markKind uint8

const (
	waitsWatermark markKind = iota
	waitsResult
	waitsRetire
)

const (
	isChanged = 1 << iota
	hasResult
)

func (g *reducer) create(r state.Ref) error {
	if err := g.settle(r); err != nil {
		return err
	}
	g.fresh, g.isFresh = r, true
	return nil
}

// settle performs the frame if it has to do with an accumulator.
func (g *reducer) settle(r state.Ref) error {
	if g.uses(r) == 0 {
		return g.err
	}
	return g.complete()
}

// uses tells what the frame has to do with an accumulator.
func (g *reducer) uses(r state.Ref) uint32 {
	if int(r) >= len(g.used) || g.used[r].stamp != g.stamp {
		return 0
	}
	return g.used[r].slot
}

func (g *reducer) use(r state.Ref, how uint32) {
	for int(r) >= len(g.used) {
		g.used = append(g.used, slotStamp{})
	}
	if u := &g.used[r]; u.stamp != g.stamp {
		*u = slotStamp{g.stamp, how}
	} else {
		u.slot |= how
	}
}

func (g *reducer) add(r state.Ref, row stream.Row, t stream.EventTime) error {
	if g.isFresh && g.fresh == r {
		g.buf = g.input.AppendTo(g.buf[:0], row, stream.Insert)
		g.set(r, g.buf)
		return nil
	}
	if g.uses(r)&hasResult != 0 {
		if err := g.complete(); err != nil {
			return err
		}
	}
	if g.originals != nil {
		g.originals.keep(g.caller.Len(), left, row)
	}
	g.reduce(r, g.caller.Row(g.input, row), t, g.faults.row)
	return g.completeIfDue()
}

// set gives an accumulator its first row.
func (g *reducer) set(r state.Ref, row []byte) {
	g.isFresh = false
	if g.variable {
		g.backend.Put(r, g.cell, row)
	} else {
		copy(g.backend.Edit(r, g.cell), row)
	}
}

// merged stands for the time of what is no record. No window function has it.
const merged = stream.EventTime(math.MinInt64 + 1)

func (g *reducer) reduce(r state.Ref, row uint32, t stream.EventTime, record int32) {
	g.caller.Add(abi.OpReduce, uint32(r), row, nil)
	g.times = append(g.times, t)
	if g.faults.policy != job.Fail {
		g.rows = append(g.rows, record)
	}
	g.ops++
	g.use(r, isChanged)
}

// merge reduces with what another accumulator holds.
func (g *reducer) merge(into, from state.Ref) error {
	if err := g.settle(from); err != nil {
		return err
	}
	value := g.backend.Value(from, g.cell)
	if g.isFresh && g.fresh == into {
		g.buf = append(g.buf[:0], value...)
		g.set(into, g.buf)
		return nil
	}
	if g.uses(into)&hasResult != 0 {
		if err := g.complete(); err != nil {
			return err
		}
		value = g.backend.Value(from, g.cell)
	}
	g.reduce(into, g.caller.WholeRow(value), merged, 0)
	return g.completeIfDue()
}

func (g *reducer) combine(r state.Ref, parts []state.Ref, w window.Window) error {
	if err := g.complete(); err != nil {
		return err
	}
	if err := g.create(r); err != nil {
		return err
	}
	for _, part := range parts {
		if err := g.merge(r, part); err != nil {
			return err
		}
	}
	return g.result(r, w)
}

func (g *reducer) result(r state.Ref, w window.Window) error {
	g.use(r, hasResult)
	g.wait(reducedMark{kind: waitsResult, ref: r, window: w})
	return g.err
}

func (g *reducer) retire(r state.Ref, w window.Window) {
	if g.results.keepsWindows() {
		g.wait(reducedMark{kind: waitsRetire, ref: r, window: w})
	}
}

func (g *reducer) watermark(t stream.EventTime) { g.wait(reducedMark{kind: waitsWatermark, at: t}) }

// wait does what waits at once if nothing is before it. Windows with one record each have
// results and no ops, however many they are, so the frame is performed for what waits, too.
func (g *reducer) wait(m reducedMark) {
	if len(g.waiting) >= frameOpsMax && g.complete() != nil {
		return // the error stays, and is told at complete
	}
	if g.ops == 0 && len(g.waiting) == 0 {
		g.pass(&m)
		if m.kind == waitsResult {
			g.stamp++
		}
		return
	}
	m.ops = g.ops
	g.waiting = append(g.waiting, m)
}

func (g *reducer) pass(m *reducedMark) {
	switch m.kind {
	case waitsResult:
		g.row = g.output.AppendTo(g.row[:0], g.backend.Value(m.ref, g.cell), stream.Insert)
		g.results.put(g.out, g.backend.Key(m.ref), g.row, m.window)
	case waitsRetire:
		g.results.retire(g.backend.Key(m.ref), m.window)
	default:
		g.results.watermark(g.out, m.at)
	}
}

// forget performs what needs an accumulator that is to be cleared. What stands in a
// cell of fixed width stays until the entry is gone.
func (g *reducer) forget(r state.Ref) {
	if g.variable {
		_ = g.settle(r) // the error stays, and is told at complete
	}
}

// discard forgets an accumulator that was scratch.
func (g *reducer) discard(r state.Ref) {
	if g.variable {
		g.forget(r)
		g.backend.Clear(r, g.cell)
	}
}

func (g *reducer) completeIfDue() error {
	if g.caller.Due() {
		return g.complete()
	}
	return nil
}

func (g *reducer) complete() error {
	if g.err != nil {
		return g.err
	}
	if g.err = g.caller.Perform(); g.err != nil {
		return g.err
	}
	for i := range g.waiting {
		if g.err = g.room.wait(); g.err != nil {
			return g.err
		}
		g.pass(&g.waiting[i])
	}
	g.waiting, g.times, g.rows, g.ops, g.stamp = g.waiting[:0], g.times[:0], g.rows[:0], 0, g.stamp+1
	return nil
}

// Load and Store implement guests.Role.
func (g *reducer) Load(dst []byte, group uint32, _ int) []byte {
	return append(dst, g.backend.Value(state.Ref(group), g.cell)...)
}

// Store takes an accumulator over.
func (g *reducer) Store(group uint32, _ int, row stream.Row) error {
	r := state.Ref(group)
	switch {
	case bytes.Equal(row, g.backend.Value(r, g.cell)):
	case g.variable:
		g.backend.Put(r, g.cell, row)
	default:
		copy(g.backend.Edit(r, g.cell), row)
	}
	return nil
}

// Take has nothing to do: reduce is answered by its slot.
func (g *reducer) Take(int, abi.Effect) error { return nil }

// Done has nothing to do.
func (g *reducer) Done(int) error { return nil }

// Fault leaves a record out. What holds records already fails the job if it cannot be
// reduced.
func (g *reducer) Fault(i int, err error) error {
	x := failureOf(g.function, g.caller, i, err)
	_, r := g.caller.Op(i)
	x.key, x.time = g.key.Show(g.backend.Key(state.Ref(r))), g.times[i]
	if x.time == merged {
		x.where = "a merge"
		return g.faults.fail(&x)
	}
	if len(g.rows) > 0 {
		x.row = g.rows[i]
	}
	g.originals.show(&x, i)
	return g.faults.take(&x)
}
