// Package process keeps the states that functions declare: values, lists and maps of
// a key or of a window of a key, and broadcast state, with their time to live.
// States keeps them on a state.Backend; TTL decides what has outlived it.
//
// Invariants:
//
//	(V) What a state.Backend's snapshots have is all there is: a restored backend
//	    with new States goes on as if nothing had been.
//	(J) What host calls did in a frame counts only after Keep; Undo takes all of it
//	    back, and the frame can be performed again. What is over and is dropped on the
//	    way is no part of it: it is dropped once, and for good.
//	(T) What has outlived its time is not seen, however long it stays; where once is
//	    asked for it is seen by one read, which removes it, if it is still there.
//	(S) Sweep looks at a bounded number of entries, and all are passed in turn: so
//	    what nobody asks for any more goes, too.
//
// Caveat: whether something expired is still there for a read that may see it once
// depends on how far sweeping has come, as in Flink.
package process

import (
	"fmt"

	"github.com/wasmstream/wasmstream/abi"
	"github.com/wasmstream/wasmstream/host/state"
	"github.com/wasmstream/wasmstream/host/stream"
)

// State is a state as a function declares it.
type State struct {
	InSlot bool           // it is a slot of an op; else a map or a list
	Key    *stream.Schema // of a map's entries; nil of others
	Value  *stream.Schema
	Shared bool // broadcast state: of the task, not of a key
	Window bool // of a window of a key
	TTL    TTL
}

// wrongCall is a host call that the function may not make, or not so.
func wrongCall(op uint32, kind abi.FaultKind, format string, args ...any) error {
	return &abi.Fault{Kind: kind, Op: int(op), Detail: fmt.Sprintf(format, args...)}
}

// FrameBytesMax is how much host calls may write and delete in one frame: it is kept
// until the frame is sound.
const FrameBytesMax = 64 << 20

// cellsMax is how many slots have a cell of the key's entry; there is one more for
// its parts. Further slots are parts themselves.
const cellsMax = state.CellsMax - 1

// States are those of one function in one task.
type States struct {
	backend  state.Backend
	states   []State
	slots    []int  // states in slots
	isFixed  []bool // by slot: its cell is of fixed width
	inCells  int    // slots with a cell of the entry; further ones are parts
	parts    state.Cell
	base     int  // what names of parts begin at
	isTimed  bool // some have a time to live
	hasOnce  bool
	now      int64
	of       func(op uint32) (Subject, bool)
	limit    Limit // nil: there is none
	filled   int   // keys of which nothing was kept before the present frame
	journal  []change
	old      []byte // values in the journal
	written  int    // bytes, in the present frame
	scratch  []byte
	name     []byte
	position [positionBytes]byte
	cursor   state.Ref // of Sweep
}

// Subject is what host calls of an op work on.
type Subject struct {
	Entry  state.Ref // of the op's key
	Window state.Ref // of its window; zero if the function has no state of windows
	Keyed  bool      // there are such entries
	// Writes: broadcast state may be changed.
	Writes bool
	// Merged are the windows that became the op's, whose states can be read.
	Merged []state.Ref
}

// change is what a part held before it was changed.
type change struct {
	part     state.Ref
	at, size int // in old
	held     bool
}

// Cells are the widths of the cells that a backend needs for some states.
func Cells(states []State) []int {
	var cells []int
	for i := range states {
		if s := &states[i]; s.InSlot && len(cells) < cellsMax {
			width := state.Variable
			if s.Value.IsFixedWidth() {
				width = s.Value.FixedBytes() + s.TTL.stampBytes()
			}
			cells = append(cells, width)
		}
	}
	return append(cells, state.Variable)
}

// New keeps states on a backend that has their Cells. of says what a host call of an
// op of the present frame works on; false if there is no such op.
func New(backend state.Backend, states []State, of func(op uint32) (Subject, bool)) *States {
	s := newStates(backend, states, cellsMax, of)
	s.parts = state.Cell(s.inCells)
	return s
}

// newStates gives the first slots cells, at most so many.
func newStates(backend state.Backend, states []State, cells int, of func(op uint32) (Subject, bool)) *States {
	s := &States{backend: backend, states: states, of: of}
	for i := range states {
		if states[i].InSlot {
			s.slots, s.isFixed = append(s.slots, i), append(s.isFixed, len(s.slots) < cells && states[i].Value.IsFixedWidth())
		}
		s.isTimed = s.isTimed || states[i].TTL.Millis > 0
		s.hasOnce = s.hasOnce || states[i].TTL.Once
	}
	s.inCells = min(len(s.slots), cells)
	return s
}

// Limit says how much may be kept.
type Limit interface {
	// Over says which limit is passed if so many bytes are kept in addition, in so many
	// entries; "": none. What host calls would write beyond it is a fault.
	Over(bytes, entries int) string
	// Filled tells that so many keys have something kept for them of which there was
	// nothing before.
	Filled(keys int)
}

// Bound sets a limit to what is kept.
func (s *States) Bound(l Limit) { s.limit = l }

// SetClock tells the processing time of what is done next.
func (s *States) SetClock(now stream.ProcTime) { s.now = int64(now) }

// HasOnce tells whether a read may remove what a later one would see.
func (s *States) HasOnce() bool { return s.hasOnce }

// place is where slot i of an entry stands; false if it is a part that is not there.
func (s *States) place(r state.Ref, i int) (state.Ref, state.Cell, bool) {
	if i < s.inCells {
		return r, state.Cell(i), true
	}
	r, ok := s.backend.FindPart(r, s.prefix(s.slots[i]))
	return r, s.parts, ok
}

// Load appends the row in slot i of an entry; nothing if it holds none.
func (s *States) Load(dst []byte, r state.Ref, i int) []byte {
	ttl := &s.states[s.slots[i]].TTL
	r, c, ok := s.place(r, i)
	if !ok || !s.backend.Has(r, c) {
		return dst
	}
	value := s.backend.Value(r, c)
	if ttl.Millis == 0 {
		return append(dst, value...)
	}
	if ttl.isOver(stampOf(value), s.now) && !ttl.Once {
		s.backend.Clear(r, c)
		return dst
	}
	return append(dst, value[stampBytes:]...)
}

// Store sets slot i of an entry, or empties it if there is no row.
func (s *States) Store(r state.Ref, i int, row stream.Row) {
	d := &s.states[s.slots[i]]
	at, c, ok := s.place(r, i)
	if len(row) == 0 {
		if ok {
			s.backend.Clear(at, c)
		}
		return
	}
	if !ok {
		at = s.backend.Part(r, s.prefix(s.slots[i]))
	}
	value := []byte(row)
	if d.TTL.Millis > 0 {
		s.scratch = append(appendStamp(s.scratch[:0], s.now), row...)
		value = s.scratch
	}
	switch {
	case s.backend.Has(at, c) && string(s.backend.Value(at, c)) == string(value):
	case s.isFixed[i]:
		s.backend.Hold(at, c)
		copy(s.backend.Edit(at, c), value)
	default:
		s.backend.Put(at, c, value)
	}
}

// Touch says that slot i of an entry was read, and stands as it was read or as it
// was stored since.
func (s *States) Touch(r state.Ref, i int) {
	ttl := &s.states[s.slots[i]].TTL
	r, c, ok := s.place(r, i)
	if ttl.Millis == 0 || !ok || !s.backend.Has(r, c) {
		return
	}
	switch over := ttl.isOver(stampOf(s.backend.Value(r, c)), s.now); {
	case over:
		s.backend.Clear(r, c) // it was seen once
	case ttl.OnRead && stampOf(s.backend.Value(r, c)) != s.now:
		putStamp(s.backend.Edit(r, c), s.now)
	}
}

// Undo takes back what host calls did since the last Keep or Undo.
func (s *States) Undo() {
	for i := len(s.journal) - 1; i >= 0; i-- {
		if c := &s.journal[i]; c.held {
			s.backend.Put(c.part, s.parts, s.old[c.at:c.at+c.size])
		} else {
			s.backend.Clear(c.part, s.parts)
		}
	}
	s.filled = 0
	s.Keep()
}

// Keep lets what they did stand. Parts that they have emptied are freed now, and not
// when entries are released: many frames may come before that.
func (s *States) Keep() {
	for i := range s.journal {
		if part := s.journal[i].part; !s.backend.Has(part, s.parts) {
			s.backend.Discard(part)
		}
	}
	if s.filled > 0 {
		s.limit.Filled(s.filled)
	}
	s.journal, s.old, s.written, s.filled = s.journal[:0], s.old[:0], 0, 0
}

// changeBytes is what a change costs beside its values.
const changeBytes = 64

// mayWrite tells whether a frame may write so much more.
func (s *States) mayWrite(op uint32, bytes int) error {
	if s.written += bytes + changeBytes; s.written+len(s.old) <= FrameBytesMax {
		return nil
	}
	return wrongCall(op, abi.FaultOverLimit, "host calls changed more than %d bytes of state in one frame, which no field of limits raises", FrameBytesMax)
}

// partBytes is about what a part takes in memory beside its name and its value.
const partBytes = 128

// mayKeep tells whether a value may be kept under a name.
func (s *States) mayKeep(op uint32, whole state.Ref, name []byte, value int) error {
	if s.limit == nil {
		return nil
	}
	more, entries := partBytes+len(name)+state.Room(value), s.filled+1
	isFirst := s.backend.IsEmpty(whole)
	if isFirst {
		entries++
	}
	over := s.limit.Over(more, entries)
	if over != "" {
		if part, ok := s.backend.FindPart(whole, name); ok && s.backend.Has(part, s.parts) {
			over = s.limit.Over(state.Room(value)-state.Room(len(s.backend.Value(part, s.parts))), 0)
		}
	}
	if over != "" {
		return wrongCall(op, abi.FaultOverLimit, "%s", over)
	}
	if isFirst {
		s.filled++
	}
	return nil
}

// set changes a part; no value: it is emptied.
func (s *States) set(part state.Ref, value []byte, held bool) {
	c := change{part: part, at: len(s.old), held: s.backend.Has(part, s.parts)}
	if c.held {
		s.old = append(s.old, s.backend.Value(part, s.parts)...)
		c.size = len(s.old) - c.at
	}
	s.journal = append(s.journal, c)
	if held {
		s.backend.Put(part, s.parts, value)
	} else {
		s.backend.Clear(part, s.parts)
	}
}

// drop takes away a part that is over, for good: nobody can see it, so that undoing the
// frame need not bring it back. It is not in the journal: what a frame has written is not
// over in that frame.
func (s *States) drop(part state.Ref) {
	s.backend.Clear(part, s.parts)
	s.backend.Discard(part)
}

// sweepPerOp is how many entries are looked at for each op, as many as Flink's.
const sweepPerOp = 5

// Sweep drops what has outlived its time among some entries, for so many ops. It
// must not be called while a frame is performed.
func (s *States) Sweep(ops int) {
	if s.isTimed {
		s.cursor = s.backend.Walk(s.cursor, sweepPerOp*ops, s.sweep)
	}
}

func (s *States) sweep(r state.Ref) {
	if s.backend.IsPart(r) {
		i := s.indexOf(r)
		if i < 0 || i >= len(s.states) {
			return // it is another's
		}
		if ttl := &s.states[i].TTL; ttl.Millis > 0 && s.backend.Has(r, s.parts) && s.isOver(r, ttl) && !s.isNeeded(r, i) {
			s.backend.Clear(r, s.parts)
		}
		return
	}
	for i, of := range s.slots[:s.inCells] {
		ttl, c := &s.states[of].TTL, state.Cell(i)
		if ttl.Millis > 0 && s.backend.Has(r, c) && ttl.isOver(stampOf(s.backend.Value(r, c)), s.now) {
			s.backend.Clear(r, c)
		}
	}
}

// isOver tells whether a part has outlived its time.
func (s *States) isOver(part state.Ref, ttl *TTL) bool {
	return ttl.isOver(stampOf(s.backend.Value(part, s.parts)), s.now)
}

// isNeeded tells of the last element of a list, which says what the next one's
// position is as long as there are others.
func (s *States) isNeeded(part state.Ref, i int) bool {
	if s.states[i].Key != nil || s.states[i].InSlot {
		return false
	}
	whole := s.backend.Whole(part)
	last, _ := s.backend.LastPart(whole, s.prefix(i+1))
	first, _ := s.backend.NextPart(whole, s.prefix(i))
	return last == part && first != part
}

// Holds tells of an entry whether a visit of all keys should find it: timers alone are
// no state.
func (s *States) Holds(r state.Ref) bool {
	if s.backend.IsPart(r) || s.backend.IsShared(r) {
		return false
	}
	for i := range s.inCells {
		if s.backend.Has(r, state.Cell(i)) {
			return true
		}
	}
	_, ok := s.backend.NextPart(r, nil)
	return ok
}
