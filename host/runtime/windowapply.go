package runtime

import (
	"fmt"
	"slices"

	"github.com/wasmstream/wasmstream/abi"
	guests "github.com/wasmstream/wasmstream/host/guest"
	"github.com/wasmstream/wasmstream/host/operator/process"
	"github.com/wasmstream/wasmstream/host/operator/window"
	"github.com/wasmstream/wasmstream/host/state"
	"github.com/wasmstream/wasmstream/host/stream"
)

// windowFunction is the function that makes of a firing the rows of a step: apply, or
// that of a co-group. It gets a result, or all records.
//
// Its states are of the key, or of the window of a key. Two windows of a key share the
// key's, so they are not in one frame if the function has slots of both scopes: each
// group of slots has its own copy of what it begins with.
type windowFunction struct {
	emitter
	windowStates
	withoutTimers
	backend  state.Backend
	now      *window.Now
	began    stream.ProcTime // the clock of what is pending
	op       abi.OpKind
	keys     []stream.Row // by op
	shownKey *stream.Schema
	once     bool // a read may remove what a later op of the frame would see
	split    bool // windows of a key are not in one frame

	groups  map[uint32]state.Ref // by group: the key's entry; only with states of both scopes
	inFrame map[state.Ref]uint32 // by entry of the widest scope: the group that the frame has of it
	over    map[uint32]bool      // groups whose window is over in this frame

	firings
}

// fire implements listFunction.
func (f *windowFunction) fire(r state.Ref, w window.Window, rows []listedRow) error {
	key := f.backend.Key(r)
	group := f.group(key, w)
	for _, e := range rows {
		f.caller.Element(guests.Element{Time: int64(e.time), Row: f.inputs.element(f.caller, e), Input: uint32(e.side)})
	}
	f.fires(len(f.times), r, w, rows)
	f.ask(key, group, guests.NoRow(), w)
	return f.err
}

// result asks about the result of a firing.
func (f *windowFunction) result(key, row stream.Row, w window.Window) {
	if f.err != nil {
		return
	}
	group := f.group(key, w)
	f.ask(key, group, f.inputs.row(f.caller, left, row), w)
}

func (f *windowFunction) ask(key stream.Row, group, row uint32, w window.Window) {
	ctx := f.context(key, w)
	f.add(f.op, group, row, &ctx, stream.EventTime(w.MaxTimestamp()))
	f.keys = append(f.keys, key)
	if f.takeOut == nil {
		f.performIfDue()
	}
}

func (f *windowFunction) performIfDue() {
	if f.caller.Due() {
		f.perform()
	}
}

func (f *windowFunction) context(key stream.Row, w window.Window) guests.Context {
	return guests.Context{
		Time: w.MaxTimestamp(), Watermark: int64(f.now.Watermark), Clock: int64(f.now.Clock),
		Key: f.inputs.keyRow(f.caller, key), Start: w.Start, End: w.End, Second: guests.NoRow(),
	}
}

// group is what the caller knows the states of a window of a key by, for an op that is
// added next.
func (f *windowFunction) group(key stream.Row, w window.Window) uint32 {
	owner, group := f.makeWay(key, w)
	if f.once || f.split {
		f.inFrame[owner] = group
	}
	if f.counts[ofWindow].all > 0 && f.counts[ofKey].all > 0 {
		f.groups[group] = owner
	}
	return group
}

// makeWay has what is pending performed if an op of a window of a key would not see its
// states as they are by then. The owner is the entry of the widest scope.
func (f *windowFunction) makeWay(key stream.Row, w window.Window) (owner state.Ref, group uint32) {
	if len(f.times) > 0 && f.began != f.now.Clock {
		f.perform() // a frame has one clock
	}
	f.began = f.now.Clock
	if !f.has() {
		return 0, guests.NoGroup
	}
	before, hash := f.backend.Stats(), key.Hash()
	if f.counts[ofWindow].all > 0 {
		owner = f.backend.Entry(hash, key, state.Namespace(w))
		group = uint32(owner)
	}
	if f.counts[ofKey].all > 0 {
		owner = f.backend.Entry(hash, key, setNamespace)
	}
	if f.counts[ofWindow].all == 0 {
		group = uint32(owner)
	}
	f.made(before)
	other, there := f.inFrame[owner]
	if f.over[group] || there && (f.once || f.split && other != group) {
		f.perform()
	}
	return owner, group
}

// perform has what is pending performed, and forgets which groups the frame has.
func (f *windowFunction) perform() {
	ops := len(f.times)
	f.setClock(f.began)
	f.flush()
	f.sweep(ops)
	f.keys = f.keys[:0]
	f.settled()
	clear(f.groups)
	clear(f.inFrame)
	clear(f.over)
}

// ready has it asked about all that may not wait behind a firing of a window. It is not
// asked behind each: whether a window goes on is known by the next one. From here to fire
// the list at r is in use, and nothing may be performed: that changes lists.
func (f *windowFunction) ready(r state.Ref, w window.Window) error {
	if f.takeOut == nil {
		return f.err
	}
	f.performIfDue()
	f.makeWay(f.backend.Key(r), w)
	return f.settleList(r)
}

// settleList implements listFunction.
func (f *windowFunction) settleList(r state.Ref) error {
	if f.waits(r) {
		f.perform()
	}
	return f.err
}

func (f *windowFunction) complete() error {
	f.perform()
	return f.err
}

// keepsWindows says that retire is to be called.
func (f *windowFunction) keepsWindows() bool { return f.counts[ofWindow].all > 0 }

// end says that a window is over, behind its last firing.
func (f *windowFunction) end(key stream.Row, w window.Window) {
	if f.err != nil {
		return
	}
	group := f.group(key, w)
	ctx := f.context(key, w)
	f.over[group] = true
	f.add(abi.OpClear, group, guests.NoRow(), &ctx, 0)
	f.keys = append(f.keys, key)
	f.performIfDue()
}

// retire implements listFunction.
func (f *windowFunction) retire(r state.Ref, w window.Window) {
	if f.keepsWindows() {
		f.end(f.backend.Key(r), w)
	}
}

func (f *windowFunction) pump() bool { return true }

// Load and Store implement guests.Role.
func (f *windowFunction) Load(dst []byte, group uint32, i int) []byte {
	return f.load(dst, f.entry(group, f.places[i].scope), i)
}

// Store keeps a state.
func (f *windowFunction) Store(group uint32, i int, row stream.Row) error {
	r := f.entry(group, f.places[i].scope)
	if f.near && len(row) > 0 && f.backend.IsEmpty(r) {
		f.fill()
	}
	f.store(r, i, row)
	return nil
}

// entry is where the states of a scope are.
func (f *windowFunction) entry(group uint32, scope int) state.Ref {
	if scope == ofKey && f.counts[ofWindow].all > 0 {
		return f.groups[group]
	}
	return state.Ref(group)
}

// subject is what host calls of an op of the present frame work on.
func (f *windowFunction) subject(op uint32) (process.Subject, bool) {
	i, ok := f.opOf(op)
	if !ok {
		return process.Subject{}, false
	}
	_, group := f.caller.Op(i)
	return process.Subject{Entry: f.entry(group, ofKey), Window: f.entry(group, ofWindow), Keyed: true}, true
}

// Take puts out a row, or notes that a state was read.
func (f *windowFunction) Take(i int, e abi.Effect) error {
	if e.Kind != abi.EffectTouch {
		return f.emitter.Take(i, e)
	}
	group, slot := f.caller.Slot(e.Aux)
	f.touch(f.entry(group, f.places[slot].scope), slot)
	return nil
}

// Sifted implements guests.Sifting: a record that it fails on leaves the window.
func (f *windowFunction) Sifted(i, n int, err error) error {
	f.pass(i)
	x := f.failureIn(i, n, err)
	if l := f.firing(i); l != nil {
		l.lost = append(l.lost, n)
		f.originals.show(&x, l.first+n)
	}
	return f.faults.take(&x)
}

// failureIn is the failure of record n of those that an op is about now.
func (f *windowFunction) failureIn(i, n int, err error) failure {
	x := failureIn(f.function, f.caller, i, n, err)
	x.time, x.key = f.times[i], f.shownKey.Show(f.keys[i])
	return x
}

// Fault implements guests.Role. A list of which no single record is to blame stays in the
// window; if that has ended with its firing, all of them are left out.
func (f *windowFunction) Fault(i int, err error) error {
	if l := f.firing(i); l != nil && l.ended {
		f.pass(i)
		err = f.failedOnAll(i, l, err)
	} else {
		err = f.lost(i, f.shownKey.Show(f.keys[i]), err)
	}
	if err != nil {
		return err
	}
	return f.Done(i)
}

// failedOnAll takes all records of a firing as failed on, but those that are known to be.
// For the share of faults it is one.
func (f *windowFunction) failedOnAll(i int, l *firing, err error) error {
	rest := l.rest()
	for j, n := range rest {
		x := f.failureIn(i, j, err)
		f.originals.show(&x, l.first+n)
		x.note = fmt.Sprintf(" (no single one of the window's %d records is at fault)", len(rest))
		if j > 0 {
			f.faults.leaveOut(&x)
		} else if err := f.faults.take(&x); err != nil {
			return err
		}
	}
	l.lost = append(l.lost, rest...)
	slices.Sort(l.lost)
	return nil
}

// Done takes the states of a window that is over.
func (f *windowFunction) Done(i int) error {
	if kind, group := f.caller.Op(i); kind == abi.OpClear {
		f.clear(f.entry(group, ofWindow))
	}
	return nil
}

// applied contents hand their results to a function, which may put work off, too.
type applied struct {
	contents
	fn *windowFunction
}

func (c *applied) complete() error {
	if err := c.contents.complete(); err != nil {
		return err
	}
	return c.fn.complete()
}

// pairs is the function that makes the rows of a join out of pairs.
type pairs struct {
	emitter
	stateless
	key *stream.Projection // of a left row; the right row has the same key
	alt *stream.Projection // of a right row
	buf []byte

	shownKey *stream.Schema

	originals [2]*originals // by side
}

// put asks about a pair; a side that is missing is nil.
func (p *pairs) put(l, r stream.Row, ctx guests.Context) {
	if p.err != nil {
		return
	}
	at := stream.EventTime(ctx.Time)
	ctx.Key = guests.NoRow()
	if p.inputs.key {
		if l != nil {
			p.buf = p.key.AppendTo(p.buf[:0], l, stream.Insert)
		} else {
			p.buf = p.alt.AppendTo(p.buf[:0], r, stream.Insert)
		}
		ctx.Key = p.caller.WholeRow(p.buf)
	}
	if p.faults.out != nil {
		p.originals[left].keepListed(p.caller.Len(), listedRow{row: l, side: left})
		p.originals[right].keepListed(p.caller.Len(), listedRow{row: r, side: right})
	}
	row := p.inputs.row(p.caller, left, l)
	ctx.Second = p.inputs.row(p.caller, right, r)
	p.add(abi.OpOnPair, guests.NoGroup, row, &ctx, at)
	if p.caller.Due() {
		p.flush()
	}
}

// Fault implements guests.Role. A dead letter has both rows, or the one that there is.
func (p *pairs) Fault(i int, err error) error {
	p.pass(i)
	x := failureOf(p.function, p.caller, i, err)
	x.time = p.times[i]
	if p.faults.out != nil {
		var sides [2]failure
		for s := range sides {
			p.originals[s].show(&sides[s], i)
		}
		x.pair = showSide(&sides[left]) + " with " + showSide(&sides[right])
		row, key := sides[left].record, p.key
		if row == nil {
			row, key = sides[right].record, p.alt
		}
		x.key = p.shownKey.Show(key.AppendTo(nil, row, stream.Insert))
		x.record, x.schema, x.other = sides[left].record, sides[left].schema, sides[right].record
	}
	return p.faults.take(&x)
}

func showSide(x *failure) string {
	if x.record == nil {
		return "none"
	}
	return x.schema.Show(x.record)
}
