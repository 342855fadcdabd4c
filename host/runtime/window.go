package runtime

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/wasmstream/wasmstream/host/operator/window"
	"github.com/wasmstream/wasmstream/host/state"
	"github.com/wasmstream/wasmstream/host/stream"
)

// The cells of a windowed step. The contents and the trigger's state are kept by
// key and window, the merging set by key.
const (
	contentsCell    state.Cell = iota // an accumulator, or a list of records
	triggerCell                       // a window.State
	setCell                           // the key's merging set
	accumulatorCell                   // of listed contents: scratch, never held
	ledgerCell                        // rows of the key that may be taken back
)

// setNamespace is where a key's merging set is kept: no window is like it.
var setNamespace = state.Namespace{Start: 1, End: 0}

// windowOperator carries out what the window core decides: it is the only code
// that touches the state of a windowed step, merging or not.
type windowOperator struct {
	keeper
	core     *window.Core
	contents contents
	sides    [2]windowSide      // of a window join; else the left one
	out      *output            // results; contents writes it
	late     *output            // nil: late records are dropped and counted
	lateOf   *stream.Projection // of a record, to what is put out there; nil: all of it
	failing
	sessions sessions
	panes    *panes  // nil: each window has contents of its own
	phases   *phases // nil: assigner and trigger are built in
	stats    *StepStats
	least    func() stream.EventTime // see combines; nil: combine is min
	merges   bool
	stateful bool // the trigger's state has to be loaded
	clocked  bool // windows are of processing time

	facts    window.Facts
	windows  []window.Window
	span     window.Window // of the times whose records have these windows; empty: of none but the last record's
	effects  []window.Effect
	decision int // of the core whose effects are being carried out, counted
	keyBuf   []byte
	key      stream.Row     // of the present record or timer
	shownKey *stream.Schema // of keys, for errors
	hash     uint32         // its hash, 0: not computed yet
	at       window.Window
	entry    state.Ref // of key and at; valid if known
	known    bool
	ended    bool
}

// windowSide is what a step needs to know of the records of one side.
type windowSide struct {
	key          *stream.Projection
	gap, trigger *number // nil: not needed
}

// StepStats counts what a step has done so far.
type StepStats struct {
	Firings, Late, LateDropped atomic.Int64
	// LateByMax counts those of Late that are late only because the step's combine
	// is max: the lowest watermark of its inputs would have let them in.
	LateByMax atomic.Int64
	// Faults counts records that a function failed on, and that were left out.
	Faults atomic.Int64
}

// combines is an operator that can tell which records combine: max has lost.
type combines interface {
	// setLeast hands over what the watermark would be by combine: min.
	setLeast(least func() stream.EventTime)
}

// contents is what a windowed step keeps of the records of a window, and what it
// makes of them when the window fires. It may put work off until complete;
// results and watermarks leave in the order of the calls.
type contents interface {
	add(r state.Ref, s side, row stream.Row, t stream.EventTime) error
	has(r state.Ref) bool
	// fire puts out the result of what is kept at r, for a window.
	fire(r state.Ref, w window.Window) error
	// merge adds what is kept at from to what is kept at into, and clears from.
	merge(into, from state.Ref) error
	clear(r state.Ref)
	// retire says that a window is over, behind its last firing.
	retire(r state.Ref, w window.Window)
	// pump goes on with results that did not fit into the output; false if some
	// still do not.
	pump() bool
	watermark(t stream.EventTime)
	// complete does what was put off, but for what pump does.
	complete() error
}

func (o *windowOperator) rows(s side, b *stream.Batch, from, to int) (int, error) {
	switch {
	case o.core.Asks():
		return o.phasedRows(s, b, from, to)
	case o.core.IsAssigned():
		return o.assignedRows(s, b, from, to)
	}
	for i := from; i < to; i++ {
		if o.isFull() {
			return i, nil
		}
		o.faults.came(b, i)
		if err := o.element(s, b.Row(i), b.Time(i)); err != nil {
			return i, o.failed(err, "the record of", b.Time(i))
		}
	}
	return to, nil
}

func (o *windowOperator) isFull() bool {
	return o.outs.isFull() || !o.contents.pump()
}

// failed says at which key and time something failed. A Wasm function's failure is
// of ops that were put off, and says itself of which.
func (o *windowOperator) failed(err error, what string, t stream.EventTime) error {
	if errors.As(err, new(*FunctionError)) || len(o.key) == 0 {
		return err
	}
	return fmt.Errorf("at key %s, %s %s: %w", o.shownKey.Show(o.key), what, t.Show(), err)
}

// read takes of a record what decisions depend on, and turns to its key.
func (o *windowOperator) read(s side, row stream.Row, t stream.EventTime) (e window.Element, err error) {
	o.keyBuf = o.sides[s].key.AppendTo(o.keyBuf[:0], row, stream.Insert)
	o.key, o.hash, o.known = stream.Row(o.keyBuf), 0, false
	return o.values(s, row, t)
}

// values takes of a record what decisions depend on, but for its key.
func (o *windowOperator) values(s side, row stream.Row, t stream.EventTime) (e window.Element, err error) {
	from := &o.sides[s]
	e.Time = t
	if from.gap != nil {
		if e.Gap, err = from.gap.gap(row); err != nil {
			return e, err
		}
	}
	if from.trigger != nil {
		e.Value = from.trigger.value(row)
	}
	return e, nil
}

// element asks the core about one record and does what it says.
func (o *windowOperator) element(s side, row stream.Row, t stream.EventTime) error {
	e, err := o.read(s, row, t)
	if err != nil {
		return err
	}
	if !o.core.IsAssigned() {
		if err := o.assign(e); err != nil {
			return err
		}
	}
	home, quiet := o.home()
	if quiet && o.backend.Noted(o.ref(home)) {
		return o.contents.add(o.entry, s, row, t)
	}
	if o.panes != nil {
		o.admit()
	}
	taken := false
	for _, w := range o.windows {
		o.load(w)
		var took bool
		if o.effects, took, err = o.core.OnElement(o.effects[:0], w, e, &o.facts); err != nil {
			return err
		}
		taken = taken || took
		if err := o.apply(s, row, t); err != nil {
			return err
		}
	}
	if quiet && (o.panes == nil || o.panes.all) {
		o.backend.Note(o.ref(home))
	}
	if !taken {
		o.lost(e, row, t)
	}
	return nil
}

// lost is a record that no window took.
func (o *windowOperator) lost(e window.Element, row stream.Row, t stream.EventTime) {
	if !o.core.IsLate(e, o.facts.Now) {
		return
	}
	if o.least != nil && !o.core.IsLate(e, window.Now{Watermark: o.least(), Clock: o.facts.Now.Clock}) {
		o.stats.LateByMax.Add(1)
	}
	o.takeLate(row, t)
}

// home is where all that the present record is added to stands, if that is one
// place. It is quiet if all windows of the record are; of sliding ones the last in
// the list ends first.
func (o *windowOperator) home() (w window.Window, quiet bool) {
	n := len(o.windows)
	switch {
	case n == 0 || n > 1 && o.panes == nil:
		return w, false
	case o.panes != nil:
		w = o.span
	default:
		w = o.windows[0]
	}
	return w, o.core.IsQuiet(o.windows[n-1], o.facts.Now)
}

// assign finds the windows of a record, unless they are those of the one before.
func (o *windowOperator) assign(e window.Element) (err error) {
	at := int64(e.Time)
	if o.clocked {
		at = int64(o.facts.Now.Clock)
	}
	if o.span.Contains(at) {
		return nil
	}
	o.span = o.core.Span(at)
	o.windows, err = o.core.Assign(o.windows[:0], e, o.facts.Now)
	return err
}

// ref is the entry of the present key and a window.
func (o *windowOperator) ref(w window.Window) state.Ref {
	if !o.known || o.at != w {
		if o.hash == 0 {
			o.hash = o.key.Hash()
		}
		o.entry, o.at, o.known = o.backend.Entry(o.hash, o.key, state.Namespace(w)), w, true
	}
	return o.entry
}

func (o *windowOperator) setLeast(least func() stream.EventTime) { o.least = least }

// apply carries out the effects. Row, its side and time are of the record that
// led to them.
func (o *windowOperator) apply(s side, row stream.Row, t stream.EventTime) error {
	o.decision++
	for i := range o.effects {
		var err error
		switch e := &o.effects[i]; e.Kind {
		case window.Append:
			err = o.takeIn(e.Contents, s, row, t)
		case window.Merge:
			from := o.ref(e.From)
			err = o.contents.merge(o.ref(e.Contents), from)
		case window.SetTimer:
			o.backend.SetTimer(state.Domain(e.Domain), e.Time, o.ref(e.Window))
		case window.DeleteTimer:
			o.backend.DeleteTimer(state.Domain(e.Domain), e.Time, o.ref(e.Window))
		case window.Fire:
			err = o.fire(e.Window, e.Contents)
		case window.Purge:
			o.forget(e.Window, e.Contents)
		case window.Clear:
			o.forget(e.Window, e.Contents)
			o.contents.retire(o.ref(e.Contents), e.Window)
		case window.KeepTrigger:
			o.keepTrigger(e.Window)
		case window.KeepSet:
			o.keepSet()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (o *windowOperator) takeLate(row stream.Row, t stream.EventTime) {
	o.stats.Late.Add(1)
	if o.late == nil {
		o.stats.LateDropped.Add(1)
		return
	}
	if o.lateOf != nil {
		o.late.batch.AppendProjected(o.lateOf, row, t)
		return
	}
	o.late.batch.Append(row, t)
}

// fireTimers fires the timers of a domain up to a time. It returns false if it
// stopped because the output is full.
func (o *windowOperator) fireTimers(d state.Domain, upTo int64) (bool, error) {
	if o.core.Asks() {
		return o.fireRounds(d, upTo)
	}
	for {
		if o.isFull() {
			return false, nil
		}
		at, r, ok := o.backend.PopTimer(d, upTo)
		if !ok {
			return true, nil
		}
		w := o.turnTo(r)
		o.effects = o.core.OnTimer(o.effects[:0], w, window.Domain(d), at, &o.facts)
		if err := o.apply(left, nil, stream.MinTime); err != nil {
			return false, o.failed(err, "the timer of", stream.EventTime(at))
		}
	}
}

// turnTo turns to the entry of a timer that is due.
func (o *windowOperator) turnTo(r state.Ref) window.Window {
	w := window.Window(o.backend.Namespace(r))
	o.key, o.hash = o.backend.Key(r), 0
	o.entry, o.at, o.known = r, w, true
	o.load(w)
	return w
}

// load loads the facts that the core needs to decide about a window of the present key.
func (o *windowOperator) load(w window.Window) {
	switch {
	case o.merges:
		o.loadSet(w)
	case o.stateful:
		o.loadTrigger(w)
	}
}

func (o *windowOperator) advance(t stream.EventTime) (bool, error) {
	o.facts.Now.Watermark = t
	if done, err := o.fireTimers(state.EventTimer, int64(t)); err != nil || !done {
		return false, err
	}
	o.contents.watermark(t)
	if o.late != nil {
		o.late.batch.Mark(stream.MarkWatermark, int64(t))
	}
	return true, nil
}

func (o *windowOperator) tick(upTo stream.ProcTime) (bool, error) {
	if o.ended {
		return true, nil // as in Flink, what is still pending at the end of input is dropped
	}
	return o.fireTimers(state.ProcTimer, int64(upTo))
}

func (o *windowOperator) nextTick() stream.ProcTime {
	return stream.ProcTime(o.backend.NextTimer(state.ProcTimer))
}

func (o *windowOperator) setClock(now stream.ProcTime) { o.facts.Now.Clock = now }

func (o *windowOperator) complete() (bool, error) {
	if !o.contents.pump() {
		return false, nil
	}
	err := o.contents.complete()
	o.faults.completed()
	o.known = false
	o.backend.Release()
	if o.limit != nil {
		o.limit.settle()
	}
	return true, err
}

func (o *windowOperator) end() error {
	o.ended = true
	return o.keeper.end()
}

// stateBytes is a window.State as it is kept: the cells and which are set.
const stateBytes = 24

func putState(b []byte, s window.State) {
	binary.LittleEndian.PutUint64(b, uint64(s.Cells[0]))
	binary.LittleEndian.PutUint64(b[8:], uint64(s.Cells[1]))
	binary.LittleEndian.PutUint64(b[16:], uint64(s.Set))
}

func getState(b []byte) (s window.State) {
	s.Cells[0] = int64(binary.LittleEndian.Uint64(b))
	s.Cells[1] = int64(binary.LittleEndian.Uint64(b[8:]))
	s.Set = uint8(b[16])
	return s
}

func (o *windowOperator) loadTrigger(w window.Window) {
	o.facts.Trigger = window.State{}
	if r := o.ref(w); o.backend.Has(r, triggerCell) {
		o.facts.Trigger = getState(o.backend.Value(r, triggerCell))
	}
}

func (o *windowOperator) keepTrigger(w window.Window) {
	r := o.ref(w)
	if o.facts.Trigger == (window.State{}) {
		o.backend.Clear(r, triggerCell)
		return
	}
	o.backend.Hold(r, triggerCell)
	putState(o.backend.Edit(r, triggerCell), o.facts.Trigger)
}

// loadSet loads what the core needs to know of the key's sessions to decide about a window.
func (o *windowOperator) loadSet(w window.Window) {
	o.facts.Set = o.sessions.load(o.facts.Set[:0], o.setRef(), w)
}

func (o *windowOperator) keepSet() { o.sessions.keep(o.setRef(), o.facts.Set) }

func (o *windowOperator) setRef() state.Ref { return o.ref(window.Window(setNamespace)) }
