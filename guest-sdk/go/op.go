package wasmstream

import (
	"math"
	"unsafe"

	"github.com/wasmstream/wasmstream/guest-sdk/go/internal/raw"
)

// NoTime is the event time of a record without one, and the watermark before the first.
const NoTime = math.MinInt64

// Domain is that of a timer.
type Domain uint32

// The domains of timers.
const (
	EventTime      Domain = 0
	ProcessingTime Domain = 1
)

// Decision is what a trigger decides.
type Decision uint32

// The decisions of triggers.
const (
	Continue     Decision = 0
	Fire         Decision = 1
	Purge        Decision = 2
	FireAndPurge Decision = 3
)

// Op is one thing that is asked of a function: what it is about, and what may be done. It is good until the function that
// got it returns. Which of it there is depends on the role.
type Op struct {
	frame
	index, kind    uint32
	slot, row, arg uint32
	of             *base
	// pending is the schema of the row that is being written in the effects, if it is of variable width.
	pending *schema
	// touches are the states that were read, one bit for each, and are to be told of when the op is done.
	touches uint64
	// timed are the domains of which the function may set timers, one bit for each.
	timed uint32
}

// current is the op at hand: one for all, since a call is one goroutine's.
var current Op

// perform performs a frame's ops one after another.
func (m *machine) perform(f Function, fr frame) {
	o, b := &current, f.common()
	o.enter(b, fr)
	if fr.stride == 0 {
		m.beginSlots(&o.frame)
	}
	for i := uint32(0); i < fr.count && !m.tooLarge; i++ {
		o.look(i)
		if o.kind == raw.OpOpen {
			b.opened(o)
		} else {
			f.op(o)
		}
		if o.pending != nil || o.touches != 0 {
			o.done()
		}
	}
	if fr.stride == 0 && fr.slotsCount > 0 && !m.tooLarge {
		o.endSlots(b.slots)
	}
}

// emitEach performs the ops of a frame each of which is to emit one row: what perform does, in a loop that does nothing else,
// since in Wasm a call costs as much as all that there is to do for a record, and each load and store as much as some
// instructions.
func (b *base) emitEach(fr frame, fill func(o *Op, in, out Row)) bool {
	if fr.isOpening() {
		return false
	}
	o, m, s := &current, &guest, b.outputs[0]
	o.frame, o.of, o.kind, o.pending = fr, b, raw.OpOnRecord, s
	for i, filled := b.emitRows(0, s, s.fixedBytes, fill); i < fr.count; i, filled = b.emitRows(i, s, s.fixedBytes, fill) {
		switch {
		case filled:
			if o.pending != nil {
				o.finish()
			}
			o.pending, i = s, i+1
		case *(*uint16)(unsafe.Add(fr.ops, i*raw.OpBytes)) != raw.OpOnRecord:
			b.unknown()
		default:
			m.grow(m.used + raw.EffectBytes + s.fixedBytes)
		}
		if m.tooLarge {
			break
		}
	}
	o.pending, m.open = nil, 0
	return true
}

// emitRows performs ops from i on; it returns the first that is not to emit, that there is no room for, or, filled, whose row
// is yet to be finished: it is not sound, or the function has done something else behind it.
//
// What goes round here is written for what Go makes of it in Wasm: each branch leads past a table of all places where the
// function may go on, and each load and store is checked for bounds. So there is one branch for all that is seldom, and what
// is left to emitEach is not called from here; variables are read again, where to keep them across the call would be a store
// and a load; and pointers that are sums need no check for nil.
func (b *base) emitRows(i uint32, s *schema, fixedBytes int, fill func(o *Op, in, out Row)) (at uint32, filled bool) {
	o, m := &current, &guest
	if fill == nil {
		return i, false // it never is: this spares a look each time round
	}
	for {
		at := m.used + raw.EffectBytes
		end := at + fixedBytes
		op := unsafe.Add(o.ops, uintptr(i)*raw.OpBytes)
		// Below zero: behind the last op, or no room. Not zero: another op.
		if ((int(o.count)-1-int(i))|(len(m.effects)-end))>>63|int(*(*uint16)(op)^raw.OpOnRecord) != 0 {
			return i, false
		}
		rowArg := *(*uint64)(unsafe.Add(op, raw.OpAtRow))
		o.index, o.row, o.arg = i, uint32(rowArg), uint32(rowArg>>32)
		m.used, m.open = end, openRowAt(at)
		out := unsafe.Add(unsafe.Pointer(unsafe.SliceData(m.effects)), at)
		*(*uint64)(unsafe.Add(out, -raw.EffectBytes)) = raw.EffectEmit | uint64(i)<<32
		fill(o, Row{base: unsafe.Add(o.base, uint32(rowArg)), checks: allow(b.input, false)}, Row{base: out, checks: allow(s, true)})
		i, at = o.index, m.open.at()
		if !m.open.isSound() {
			return i, true
		}
		// Whatever its width, it ends where the effects do.
		out = unsafe.Add(unsafe.Pointer(unsafe.SliceData(m.effects)), at)
		*(*uint32)(unsafe.Add(out, raw.EffectAtLength-raw.EffectBytes)) = uint32(m.used - at)
		i++
	}
}

// in is the op's row.
func (o *Op) in(s *schema) Row { return o.rowAt(o.row, s) }

// rowAt is a row of the frame; missing at 0.
func (o *Op) rowAt(offset uint32, s *schema) Row {
	if offset == 0 {
		return Row{}
	}
	return Row{base: unsafe.Add(o.base, offset), checks: allow(s, false)}
}

// number reads a field of the context.
func (o *Op) number(at uintptr, bytes uint32) int64 {
	if raw.Checked {
		o.checkContext(bytes)
	}
	return *(*int64)(unsafe.Add(o.base, uintptr(o.arg)+at))
}

// Time is the record's event time; of a timer, its time.
func (o *Op) Time() int64 { return o.number(raw.ContextAtTime, raw.ContextRecordBytes) }

// Watermark is how far event time has come.
func (o *Op) Watermark() int64 { return o.number(raw.ContextAtWatermark, raw.ContextRecordBytes) }

// Clock is the processing time: there is no other clock.
func (o *Op) Clock() int64 { return o.number(raw.ContextAtClock, raw.ContextRecordBytes) }

// Key is the key, of the columns that the function declares as Key.
func (o *Op) Key() Row {
	return o.rowAt(uint32(o.number(raw.ContextAtKey, raw.ContextKeyedBytes)), o.of.key)
}

// Domain is that of the timer that is due.
func (o *Op) Domain() Domain { return Domain(o.detail()) }

func (o *Op) detail() uint32 {
	return uint32(o.number(raw.ContextAtKey, raw.ContextKeyedBytes) >> 32)
}

// Start is the window's first millisecond.
func (o *Op) Start() int64 { return o.number(raw.ContextAtStart, raw.ContextWindowBytes) }

// End is the millisecond behind the window's last.
func (o *Op) End() int64 { return o.number(raw.ContextAtEnd, raw.ContextWindowBytes) }

// Last is the window's last millisecond; of a global window the greatest int64.
func (o *Op) Last() int64 { return o.End() - 1 }

// Len is the number of elements; of OnMerge that of the merged windows.
func (o *Op) Len() int { return int(o.number(raw.ContextAtList, raw.ContextGroupBytes) >> 32) }

// Element is an element of a window or group: elements are in order of arrival.
type Element struct {
	// Row is the record, Time its event time.
	Row  Row
	Time int64
	// Second is whether it is of the second input.
	Second bool
}

// Element returns element i.
func (o *Op) Element(i int) Element {
	if uint(i) >= uint(o.Len()) {
		o.of.lacks("element", i, o.Len())
	}
	at := unsafe.Add(o.base, uint32(o.number(raw.ContextAtList, raw.ContextGroupBytes))+uint32(i)*raw.ElementBytes)
	s, input := o.of.input, *(*uint32)(unsafe.Add(at, raw.ElementAtInput))
	if input != 0 {
		s = o.of.second
	}
	return Element{Row: o.rowAt(*(*uint32)(unsafe.Add(at, raw.ElementAtRow)), s), Time: *(*int64)(at), Second: input != 0}
}

// done ends an op.
func (o *Op) done() {
	if o.pending != nil {
		o.finish()
	}
	for slot := uint32(0); o.touches != 0; slot++ {
		if o.touches&1 != 0 {
			o.effect(raw.EffectTouch, o.slot+slot, 0)
		}
		o.touches >>= 1
	}
}

// effect begins an effect with a zeroed payload.
func (o *Op) effect(kind, aux uint32, size int) unsafe.Pointer {
	if o.pending != nil {
		o.finish()
	}
	if raw.Checked {
		o.checkEffect(kind)
	}
	// As in reserve, spelled out: a call costs as much as all the rest.
	m := &guest
	at, end := m.used, m.used+raw.EffectBytes+pad8(size)
	if end > len(m.effects) && !m.grow(end) {
		return unsafe.Pointer(unsafe.SliceData(make([]byte, raw.EffectBytes+pad8(size))))
	}
	m.used = end
	effect := unsafe.Add(unsafe.Pointer(unsafe.SliceData(m.effects)), at)
	*(*uint64)(effect) = uint64(kind) | uint64(o.index)<<32
	*(*uint64)(unsafe.Add(effect, raw.EffectAtLength)) = uint64(size) | uint64(aux)<<32
	return unsafe.Add(effect, raw.EffectBytes)
}

func (o *Op) effectOf(kind, aux uint32, payload []byte) {
	copy(unsafe.Slice((*byte)(o.effect(kind, aux, len(payload))), len(payload)), payload)
}

func (o *Op) effectOfTime(kind, aux uint32, time int64) {
	*(*int64)(o.effect(kind, aux, 8)) = time
}

// Emit begins a row of an output, 0 the main one: zeroed, without nulls, to be filled in before anything else is done.
func (o *Op) Emit(output int) Row {
	outputs := o.of.outputs
	if uint(output) >= uint(len(outputs)) {
		o.of.lacks("output", output, len(outputs))
		return Row{}
	}
	return o.begin(raw.EffectEmit, uint32(output), outputs[output])
}

// begin begins a row as an effect's payload.
func (o *Op) begin(kind, aux uint32, s *schema) Row {
	row := Row{base: o.effect(kind, aux, s.fixedBytes), checks: allow(s, true)}
	if s.variable {
		o.pending = s
		guest.open = openRowAt(guest.used - s.fixedBytes)
	}
	return row
}

// finish ends the row that is being written.
func (o *Op) finish() {
	m, s, at, isSound := &guest, o.pending, guest.open.at(), guest.open.isSound()
	o.pending, m.open = nil, 0
	if m.tooLarge {
		return
	}
	if !isSound {
		// Its longer values are not where they have to be: they were set in another order, or again.
		row := Row{base: unsafe.Pointer(&m.effects[at]), checks: allow(s, false)}
		s.scratch = s.appendRow(s.scratch[:0], row)
		clear(m.effects[at:m.used])
		m.used = at
		m.reserve(len(s.scratch))
		copy(m.effects[at:], s.scratch)
	}
	le.PutUint32(m.effects[at-raw.EffectBytes+raw.EffectAtLength:], uint32(m.used-at))
}

// SetTimer sets a timer of the key or window: of a function with a callback for timers of that domain.
func (o *Op) SetTimer(domain Domain, time int64) {
	o.timer(raw.EffectSetTimer, domain, time, o.timed)
}

// DeleteTimer deletes that timer, if it is set.
func (o *Op) DeleteTimer(domain Domain, time int64) {
	o.timer(raw.EffectDeleteTimer, domain, time, allDomains)
}

// allDomains are the bits of all domains.
const allDomains = 1<<EventTime | 1<<ProcessingTime

// timer is effectOfTime for timers of certain domains, with all that is seldom apart: see emitRows.
func (o *Op) timer(kind uint64, domain Domain, time int64, domains uint32) {
	m := &guest
	at := m.used
	end := at + raw.EffectBytes + 8
	// Each is not zero: there are no timers of that domain; no room; a row that is to be finished.
	if uint64(domains>>domain&1^1)|uint64(len(m.effects)-end)>>63|uint64(uintptr(unsafe.Pointer(o.pending))) != 0 || raw.Checked {
		o.timerSeldom(uint32(kind), domain, time, domains)
		return
	}
	m.used = end
	effect := unsafe.Add(unsafe.Pointer(unsafe.SliceData(m.effects)), at)
	*(*uint64)(effect) = kind | uint64(o.index)<<32
	*(*uint64)(unsafe.Add(effect, raw.EffectAtLength)) = 8 | uint64(domain)<<32
	*(*int64)(unsafe.Add(effect, raw.EffectBytes)) = time
}

//go:noinline
func (o *Op) timerSeldom(kind uint32, domain Domain, time int64, domains uint32) {
	if domains>>domain&1 == 0 {
		o.of.lacksTimers(domain)
	}
	o.effectOfTime(kind, uint32(domain), time)
}

// SendWatermark has a watermark follow the record: of a TimestampAssigner.
func (o *Op) SendWatermark(time int64) { o.effectOfTime(raw.EffectWatermark, 0, time) }

// Assign assigns the record to a window: of an Assigner.
func (o *Op) Assign(start, end int64) {
	m := &guest
	at := m.used
	past := at + raw.EffectBytes + 16
	if past > len(m.effects) || raw.Checked {
		o.assign(start, end)
		return
	}
	m.used = past
	effect := unsafe.Add(unsafe.Pointer(unsafe.SliceData(m.effects)), at)
	*(*uint64)(effect) = raw.EffectAssign | uint64(o.index)<<32
	*(*uint64)(unsafe.Add(effect, raw.EffectAtLength)) = 16
	*(*int64)(unsafe.Add(effect, raw.EffectBytes)) = start
	*(*int64)(unsafe.Add(effect, raw.EffectBytes+8)) = end
}

// assign is Assign where there is no room, apart: see emitRows.
//
//go:noinline
func (o *Op) assign(start, end int64) {
	payload := o.effect(raw.EffectAssign, 0, 16)
	*(*int64)(payload) = start
	*(*int64)(unsafe.Add(payload, 8)) = end
}

// Evict takes element i out of the window; in rising order: of an Evictor.
func (o *Op) Evict(i int) {
	if uint(i) >= uint(o.Len()) {
		o.of.lacks("element", i, o.Len())
	}
	o.effect(raw.EffectEvict, uint32(i), 0)
}

// VisitKeys has OnKey called for each key that has state: of OnBroadcast.
func (o *Op) VisitKeys() { o.effect(raw.EffectVisitKeys, 0, 0) }

func (o *Op) decide(d Decision) {
	if d > FireAndPurge {
		o.of.lacks("decision", int(d), int(FireAndPurge)+1)
	}
	if d != Continue {
		o.effect(raw.EffectDecide, uint32(d), 0)
	}
}
