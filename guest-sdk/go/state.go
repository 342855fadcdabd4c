package wasmstream

import (
	"unsafe"

	"github.com/wasmstream/wasmstream/guest-sdk/go/internal/raw"
)

// State is a state of a function: a *ValueState, a *ListState or a *MapState. It is a variable that the function declares
// and, in its callbacks, asks for what the op's key or window has.
type State interface {
	bind(of *base, index int)
	describe(text []byte) []byte
}

// Scope is what a state is of.
type Scope string

// The scopes of state.
const (
	PerKey    Scope = "key"       // of a key: what "" means
	PerWindow Scope = "window"    // of a key and window
	Broadcast Scope = "broadcast" // of each task, the same in all; a MapState
)

// TTL is a time to live: how long a state (of a list or map: each entry) lasts, by processing time.
type TTL struct {
	// After is how long, as in job files: "7d". "" is for ever.
	After string
	// OnRead is whether reading begins it anew, too.
	OnRead bool
	// SeenOnce is whether it is seen when it is over, if it has not been removed yet.
	SeenOnce bool
}

func (t TTL) describe(text []byte) []byte {
	if t.After == "" {
		return text
	}
	text = appendQuoted(append(text, `, "ttl": `...), t.After)
	if t.OnRead {
		text = append(text, `, "ttlUpdate": "read"`...)
	}
	if t.SeenOnce {
		text = append(text, `, "ttlVisibility": "once"`...)
	}
	return text
}

func describeState(text []byte, name, kind string, scope Scope) []byte {
	text = appendQuoted(append(text, `{"name": `...), name)
	text = appendQuoted(append(text, `, "kind": `...), kind)
	if scope != "" {
		text = appendQuoted(append(text, `, "scope": `...), string(scope))
	}
	return text
}

// ValueState is a row, or none.
type ValueState struct {
	// Name is how people and checkpoints know it.
	Name string
	// Columns are those of the row.
	Columns Columns
	// Scope is whose it is; "" is PerKey.
	Scope Scope
	// TTL is its time to live.
	TTL TTL
	// Combines says how the function combines what it adds, for people: "reducing" or "aggregating"; "" if it does not.
	Combines string

	schema *schema
	slot   uint32 // among the states of the function that are slots
	of     *base
}

// slotsMax is how many value states a function may have: Op.touches has a bit for each.
const slotsMax = 64

func (s *ValueState) bind(of *base, _ int) {
	s.schema = newSchema("state "+s.Name+" of "+of.name, s.Columns)
	s.slot, s.of = uint32(len(of.slots)), of
	if s.slot >= slotsMax {
		refuse(of.name + " has more than 64 value states")
	}
	of.slots, of.values = append(of.slots, s.schema), append(of.values, s)
}

func (s *ValueState) describe(text []byte) []byte {
	kind := s.Combines
	if kind == "" {
		kind = "value"
	}
	text = describeState(text, s.Name, kind, s.Scope)
	return append(s.TTL.describe(s.schema.describe(text, "value")), '}')
}

// checkState ends a call in which a state is used that is not the function's: its slot would be another state's.
func (o *Op) checkState(of *base, name string) {
	if of != o.of {
		o.of.lacksState(name)
	}
}

// absent is byte 0 of a slot that holds no value.
const absent = 3

// Get returns the row, or one that IsMissing if it holds none.
func (s *ValueState) Get(o *Op) Row {
	o.checkState(s.of, s.Name)
	if s.TTL.OnRead || s.TTL.SeenOnce {
		o.touches |= 1 << s.slot
	}
	return s.at(o, o.slot+s.slot)
}

func (s *ValueState) at(o *Op, slot uint32) Row {
	if o.stride == 0 {
		row := guest.slotRow(&o.frame, slot)
		if row == nil {
			return Row{}
		}
		return Row{base: row, checks: allow(s.schema, false)}
	}
	row := unsafe.Add(o.slots, uintptr(slot)*o.stride)
	if *(*byte)(row) == absent {
		return Row{}
	}
	return Row{base: row, checks: allow(s.schema, false)}
}

// Edit returns the row to be changed: zeros without nulls, if it held none.
func (s *ValueState) Edit(o *Op) Row {
	o.checkState(s.of, s.Name)
	if o.stride == 0 {
		return Row{base: guest.editSlot(&o.frame, o.slot+s.slot, s.schema), checks: allow(s.schema, true)}
	}
	// As in edit, spelled out: a call costs as much as all the rest.
	row := unsafe.Add(o.slots, uintptr(o.slot+s.slot)*o.stride)
	if *(*byte)(row) == absent {
		*(*byte)(row) = 0
	}
	return Row{base: row, checks: allow(s.schema, true)}
}

// edit makes a slot hold a row that can be written.
func (o *Op) edit(slot uint32, s *schema) unsafe.Pointer {
	if o.stride == 0 {
		return guest.editSlot(&o.frame, slot, s)
	}
	row := unsafe.Add(o.slots, uintptr(slot)*o.stride)
	if *(*byte)(row) == absent {
		*(*byte)(row) = 0
	}
	return row
}

// Clear has it hold none.
func (s *ValueState) Clear(o *Op) {
	o.checkState(s.of, s.Name)
	slot := o.slot + s.slot
	if o.stride == 0 {
		guest.slots[slot].state = slotCleared
		return
	}
	row := unsafe.Add(o.slots, uintptr(slot)*o.stride)
	clear(unsafe.Slice((*byte)(row), o.stride))
	*(*byte)(row) = absent
}

// Merged returns what the state of merged window i held: of OnMerge, which has Len of them.
func (s *ValueState) Merged(o *Op, i int) Row {
	o.checkState(s.of, s.Name)
	if uint(i) >= uint(o.Len()) {
		o.of.lacks("merged window", i, o.Len())
	}
	at := uint32(o.number(raw.ContextAtList, raw.ContextGroupBytes)) + 4*uint32(i)
	return s.at(o, *(*uint32)(unsafe.Add(o.base, at))+s.slot)
}
