package runtime

import (
	"slices"

	"github.com/wasmstream/wasmstream/host/operator/window"
	"github.com/wasmstream/wasmstream/host/state"
	"github.com/wasmstream/wasmstream/host/stream"
)

// rewinds takes decisions back, where windows merge and their trigger is a function. The
// core decides about a run of records before the trigger is asked, and in which session a
// record ends up depends on the records before it. So when the trigger fails on one:
//
//	the merging sets and the states become what they were when the run began
//	it is noted that the record is left out of that window
//	the run is decided anew, up to that record, and the trigger is asked anew
//	what is behind that record is the next run
//
// The second time the trigger gives the same answers, since they depend on what it is
// asked alone; what it failed on before is not told twice. So all comes out as if the
// record had not come to the window, whatever records came together with it.
type rewinds struct {
	undoing
	left []leftOut
	rows int // that a run has at most; few where the trigger fails often
}

// askedAgain is what the trigger knows of a run that may be decided anew.
type askedAgain struct {
	again  bool  // this may be one
	isLost bool  // it failed on a record, and all behind that is asked again
	lost   int   // the question about it
	told   []int // questions that it failed on before
}

func (r *askedAgain) isTold(question int) bool { return r.again && slices.Contains(r.told, question) }

// tell notes a question that the trigger failed on.
func (r *askedAgain) tell(question int, aboutRecord bool) {
	switch {
	case !r.again:
	case aboutRecord:
		r.isLost, r.lost = true, question
	default:
		r.told = append(r.told, question)
	}
}

// leftOut is a record that does not come to the nth of its windows.
type leftOut struct{ row, nth int32 }

// begin begins a run of rows, and says where it ends.
func (r *rewinds) begin(t *trigger, from, to int) int {
	if r == nil {
		return to
	}
	r.left, r.on, t.told, t.again = r.left[:0], true, t.told[:0], true
	return min(to, from+r.rows)
}

// stands says that what was decided about a run stays, and ends it.
func (r *rewinds) stands(t *trigger) bool {
	if r == nil {
		return true
	}
	if t.isLost && t.failed.err == nil {
		return false
	}
	if len(r.left) == 0 {
		r.rows = min(2*r.rows, rowActsMax)
	}
	r.forget()
	r.on, t.again = false, false
	return true
}

// bytes is how much is kept of what changed.
func (r *rewinds) bytes() int {
	if r == nil {
		return 0
	}
	return len(r.old)
}

func (r *rewinds) leavesOut(row, nth int) bool {
	return r != nil && len(r.left) > 0 && slices.Contains(r.left, leftOut{int32(row), int32(nth)})
}

// admits tells whether there is room for a record with windows of a function. One that is
// refused is told at once, so nothing that is taken back may come before it: it is the
// first of its run, and the run before ends there (last). What was admitted once is.
func (o *windowOperator) admits(from, next int) (last, refused bool, err error) {
	p := o.phases
	if r := p.rewinds; r != nil {
		if len(r.left) > 0 {
			return false, false, nil
		}
		if next > from {
			return o.limit.isFull() != nil, false, nil
		}
	}
	refused, err = o.refuses(p.side, p.batch, next)
	return false, refused, err
}

// rewind takes all back that was decided since the row from, and says where the run ends
// now.
func (p *phases) rewind(from int) (to int) {
	r, t := p.rewinds, p.trigger
	at, first := p.question(t.lost)
	r.left = append(r.left, leftOut{at.row, at.nth})
	t.told = slices.DeleteFunc(t.told, func(question int) bool { return question >= first })
	to = int(at.row) + 1
	r.rows = to - from
	r.undo()
	p.acts, p.err = p.acts[:0], nil
	t.reset()
	return to
}

// keyOfQuestion is the key of a question, which may be the one that is being asked.
func (o *windowOperator) keyOfQuestion(n int) stream.Row {
	if a, _ := o.phases.question(n); a != nil {
		return o.backend.Key(a.ref)
	}
	return o.key
}

// rowOfQuestion is the record of a question, see failure.
func (o *windowOperator) rowOfQuestion(n int) int32 {
	if a, _ := o.phases.question(n); a != nil {
		return a.row + 1
	}
	return o.faults.row
}

// question finds the act of a question, and the first question that the same record and
// window led to; nil: it is not noted yet.
func (p *phases) question(n int) (found *act, first int) {
	asked := 0
	for i := range p.acts {
		a := &p.acts[i]
		if a.kind != window.Ask {
			continue
		}
		if found == nil || found.row != a.row || found.nth != a.nth {
			first = asked
		}
		if found = a; asked == n {
			return found, first
		}
		asked++
	}
	return nil, first
}

// undoing is a backend whose values can become again what they were. Timers are not
// among them: none is set while it is on.
type undoing struct {
	state.Backend
	cells []int // their widths
	on    bool
	list  []overwritten
	old   []byte
}

// overwritten is a value before a change.
type overwritten struct {
	ref   state.Ref
	cell  state.Cell
	held  bool
	bytes int // of old, behind those of the one before
}

func (u *undoing) note(r state.Ref, c state.Cell) {
	if !u.on {
		return
	}
	x := overwritten{ref: r, cell: c, held: u.Has(r, c)}
	if x.held {
		value := u.Value(r, c)
		u.old, x.bytes = append(u.old, value...), len(value)
	}
	u.list = append(u.list, x)
}

// Edit implements state.Backend.
func (u *undoing) Edit(r state.Ref, c state.Cell) []byte {
	u.note(r, c)
	return u.Backend.Edit(r, c)
}

// Hold implements state.Backend.
func (u *undoing) Hold(r state.Ref, c state.Cell) {
	u.note(r, c)
	u.Backend.Hold(r, c)
}

// Put implements state.Backend.
func (u *undoing) Put(r state.Ref, c state.Cell, value []byte) {
	u.note(r, c)
	u.Backend.Put(r, c, value)
}

// Append implements state.Backend.
func (u *undoing) Append(r state.Ref, c state.Cell, value []byte) {
	u.note(r, c)
	u.Backend.Append(r, c, value)
}

// Clear implements state.Backend.
func (u *undoing) Clear(r state.Ref, c state.Cell) {
	u.note(r, c)
	u.Backend.Clear(r, c)
}

// Discard implements state.Backend. What is noted must stay until it is taken back or not:
// entries that hold nothing go with the next Release.
func (u *undoing) Discard(r state.Ref) {
	if !u.on {
		u.Backend.Discard(r)
	}
}

// undo takes the changes back, the last one first.
func (u *undoing) undo() {
	end := len(u.old)
	for i := len(u.list) - 1; i >= 0; i-- {
		x := &u.list[i]
		old := u.old[end-x.bytes : end]
		end -= x.bytes
		switch {
		case !x.held:
			u.Backend.Clear(x.ref, x.cell)
		case u.cells[x.cell] == state.Variable:
			u.Backend.Put(x.ref, x.cell, old)
		default:
			u.Backend.Hold(x.ref, x.cell)
			copy(u.Backend.Edit(x.ref, x.cell), old)
		}
	}
	u.forget()
}

// undoBytesMax is how much room is kept for the next run.
const undoBytesMax = 1 << 20

// forget lets the changes stand.
func (u *undoing) forget() {
	if u.list, u.old = u.list[:0], u.old[:0]; cap(u.old) > undoBytesMax {
		u.old = nil
	}
}
