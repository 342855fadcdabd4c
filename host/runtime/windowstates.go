package runtime

import (
	"slices"

	"github.com/wasmstream/wasmstream/abi"
	guests "github.com/wasmstream/wasmstream/host/guest"
	"github.com/wasmstream/wasmstream/host/job"
	"github.com/wasmstream/wasmstream/host/operator/process"
	"github.com/wasmstream/wasmstream/host/state"
	"github.com/wasmstream/wasmstream/host/stream"
)

// windowStates are the states of a function of windows, of a key and of the window of a
// key. Values stand in a cell of their entry; if one of them has a time to live, all are
// parts of it, as lists and maps are. What is a part is kept as process.States does.
type windowStates struct {
	values [stateScopes]slots
	places []valuePlace    // by slot
	parts  *process.States // nil: there are only values in cells
	kept   []process.State // of parts
	timed  bool            // values are parts
	counts [stateScopes]scopeCounts
	from   int // ops of the frame that is being performed
	to     int
}

// The scopes of a window function's states.
const (
	ofWindow = iota
	ofKey
	stateScopes
)

// scopeCounts is how many states of a scope there are.
type scopeCounts struct{ all, slots int }

// valuePlace is where a value is.
type valuePlace struct {
	scope int
	index int // among the values of its scope
}

// The names of parts begin at these numbers: an entry may have states of both.
const (
	applyParts   = 0
	triggerParts = 1 << 15
)

// partsCell holds what parts hold: a merging set has none.
const partsCell = setCell

// windowStatesOf lays out the states of a function; nil has none.
func windowStatesOf(f *job.Function) windowStates {
	var s windowStates
	if f == nil {
		return s
	}
	s.timed = writesSlots(f)
	var schemas [stateScopes][]*stream.Schema
	isPart := s.timed
	for i := range f.States {
		st, scope := &f.States[i], ofWindow
		if st.Scope == abi.ScopeKey {
			scope = ofKey
		}
		s.counts[scope].all++
		if isPart = isPart || !st.InSlot; !st.InSlot {
			continue
		}
		s.places = append(s.places, valuePlace{scope, s.counts[scope].slots})
		if s.counts[scope].slots++; !s.timed {
			schemas[scope] = append(schemas[scope], st.Value)
		}
	}
	for scope := range s.values {
		s.values[scope] = newSlots(schemas[scope])
	}
	if isPart {
		s.kept = processStates(f)
	}
	return s
}

// keepIn says where they are kept. Calls of the instance are about what subject says.
func (s *windowStates) keepIn(backend state.Backend, limit *stateLimit, cells [stateScopes]state.Cell, base int, instance Guest, f *job.Function, subject func(uint32) (process.Subject, bool)) error {
	for scope := range s.values {
		s.values[scope].backend, s.values[scope].cell = backend, cells[scope]
	}
	if s.kept == nil {
		return nil
	}
	s.parts = process.NewParts(backend, partsCell, base, s.kept, subject)
	s.parts.Bound(callsLimit{limit})
	return answerCalls(instance, f, s.parts)
}

// has tells whether there are states at all.
func (s *windowStates) has() bool { return s.counts[ofWindow].all+s.counts[ofKey].all > 0 }

// readsOnce tells whether a read may remove what a later op of the frame would see.
func (s *windowStates) readsOnce() bool { return s.parts != nil && s.parts.HasOnce() }

// load appends what slot i holds, of an entry of its scope.
func (s *windowStates) load(dst []byte, r state.Ref, i int) []byte {
	if s.timed {
		return s.parts.Load(dst, r, i)
	}
	at := &s.places[i]
	return s.values[at.scope].load(dst, r, at.index)
}

// store sets a slot.
func (s *windowStates) store(r state.Ref, i int, row stream.Row) {
	if s.timed {
		s.parts.Store(r, i, row)
		return
	}
	at := &s.places[i]
	s.values[at.scope].store(r, at.index, row)
}

// touch says that a slot was read.
func (s *windowStates) touch(r state.Ref, i int) {
	if s.timed {
		s.parts.Touch(r, i)
	}
}

// clear takes away what is of a window that is over.
func (s *windowStates) clear(r state.Ref) {
	s.values[ofWindow].clear(r)
	if s.parts != nil {
		s.parts.Clear(r)
	}
}

// setClock comes before ops are performed, and sweep after so many.
func (s *windowStates) setClock(now stream.ProcTime) {
	if s.parts != nil {
		s.parts.SetClock(now)
	}
}

func (s *windowStates) sweep(ops int) {
	if s.parts != nil {
		s.parts.Sweep(ops)
	}
}

// Begin implements guests.Framed.
func (s *windowStates) Begin(from, to int) { s.from, s.to = from, to }

// End implements guests.Framed.
func (s *windowStates) End(sound bool) {
	s.from, s.to = 0, 0
	switch {
	case s.parts == nil:
	case sound:
		s.parts.Keep()
	default:
		s.parts.Undo()
	}
}

// opOf is an op of the present frame, by those that were added; false if it has none.
func (s *windowStates) opOf(op uint32) (int, bool) {
	return s.from + int(op), uint64(op) < uint64(s.to-s.from)
}

// unions are which windows became one, by the ops that are about it, in their order.
type unions struct {
	windows []state.Ref // that were merged
	ends    []union
}

// union is an op, and where its windows end.
type union struct{ op, end int }

// add says that the windows since the last union became one, which an op is about.
func (u *unions) add(op int) { u.ends = append(u.ends, union{op, len(u.windows)}) }

// pending are the windows of a union that has no op yet.
func (u *unions) pending() []state.Ref {
	if n := len(u.ends); n > 0 {
		return u.windows[u.ends[n-1].end:]
	}
	return u.windows
}

// of are the windows of the union that an op is about; none, if it is about none.
func (u *unions) of(op int) []state.Ref {
	i, found := slices.BinarySearchFunc(u.ends, op, func(e union, op int) int { return e.op - op })
	if !found {
		return nil
	}
	from := 0
	if i > 0 {
		from = u.ends[i-1].end
	}
	return u.windows[from:u.ends[i].end]
}

func (u *unions) reset() { u.windows, u.ends = u.windows[:0], u.ends[:0] }

var _ guests.Framed = (*windowStates)(nil)
