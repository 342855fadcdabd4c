package wasmstream

import (
	"unsafe"

	"github.com/wasmstream/wasmstream/guest-sdk/go/internal/raw"
)

// Reduce combines records into one of their own schema.
type Reduce struct {
	// Name, Doc, Parameters and Open are as those of Map; Input is the columns of the records, and of the result.
	Name, Doc  string
	Input      Columns
	Parameters []Parameter
	Open       func(*Opening)
	// Reduce combines what there is, which begins as the first record, with another record.
	Reduce func(o *Op, acc, in Row)

	base
}

func (f *Reduce) prepare() {
	f.declare(base{name: f.Name, doc: f.Doc, role: "reduce", open: f.Open, with: f.Parameters},
		schemas{input: f.Input}, f.Reduce != nil)
	f.slots = []*schema{f.input}
}

func (f *Reduce) op(o *Op) {
	f.only(o, raw.OpReduce)
	f.Reduce(o, Row{base: o.edit(o.slot, f.input), checks: allow(f.input, true)}, o.in(f.input))
}

// Apply makes rows of what is in a window: a window function.
type Apply struct {
	// Name, Doc, Output, Outputs, Parameters and Open are as those of FlatMap. Input is the columns of the records, or behind
	// an aggregate those of its result.
	Name, Doc     string
	Input, Output Columns
	Outputs       []Output
	States        []State
	Parameters    []Parameter
	Open          func(*Opening)
	// Key is the columns of the key, if the function reads it.
	Key Columns
	// Apply emits. Behind an aggregate in is its result; without one it is missing, and the op has the elements.
	Apply func(o *Op, in Row)
	// Clear is for when the window is over; its states go by themselves. Optional.
	Clear func(o *Op)

	base
}

func (f *Apply) prepare() {
	f.declare(base{name: f.Name, doc: f.Doc, role: "apply", open: f.Open, with: f.Parameters},
		schemas{input: f.Input, output: f.Output, named: f.Outputs, states: f.States, key: f.Key}, f.Apply != nil)
}

func (f *Apply) op(o *Op) {
	switch o.kind {
	case raw.OpOnWindow:
		f.Apply(o, o.in(f.input))
	case raw.OpClear:
		o.callIf(f.Clear)
	default:
		f.unknown()
	}
}

// Assigner says which windows a record belongs to.
type Assigner struct {
	// Name, Doc, Input, Parameters and Open are as those of Map; Input is nil if it does not look at the record.
	Name, Doc  string
	Input      Columns
	Parameters []Parameter
	Open       func(*Opening)
	// Merges: windows that overlap or touch become one.
	Merges bool
	// ProcessingTime: windows are of processing time.
	ProcessingTime bool
	// Assign calls the op's Assign for each window.
	Assign func(o *Op, in Row)

	base
}

func (f *Assigner) prepare() {
	f.declare(base{name: f.Name, doc: f.Doc, role: "assigner", open: f.Open, with: f.Parameters, merges: f.Merges, processingTime: f.ProcessingTime},
		schemas{input: f.Input}, f.Assign != nil)
}

func (f *Assigner) run(fr frame) bool { return f.each(f, fr, raw.OpAssign, f.Assign) }

func (f *Assigner) op(o *Op) {
	f.only(o, raw.OpAssign)
	f.Assign(o, o.in(f.input))
}

// Trigger decides when a window fires. Its states are of PerWindow.
type Trigger struct {
	// Name, Doc, Input, Parameters and Open are as those of Map; Input is nil if it does not look at records.
	Name, Doc  string
	Input      Columns
	States     []State
	Parameters []Parameter
	Open       func(*Opening)
	// OnElement is for a record that came into the window.
	OnElement func(o *Op, in Row) Decision
	// OnEventTime and OnProcessingTime are for timers that are due, whoever set them. A trigger without one sets no timers
	// of that domain.
	OnEventTime, OnProcessingTime func(o *Op) Decision
	// OnMerge takes in the states of windows that became this one: ValueState.Merged, ListState.Merge, MapState.Merged.
	// Without it the trigger does not do for windows that merge.
	OnMerge func(o *Op)
	// Clear deletes what timers the trigger set, when the window is over. Optional.
	Clear func(o *Op)

	base
}

func (f *Trigger) prepare() {
	f.declare(base{name: f.Name, doc: f.Doc, role: "trigger", open: f.Open, with: f.Parameters, merges: f.OnMerge != nil},
		schemas{input: f.Input, states: f.States}, f.OnElement != nil)
	f.sets(f.OnEventTime != nil, f.OnProcessingTime != nil)
}

// run is each for what returns a decision.
func (f *Trigger) run(fr frame) bool {
	if !fr.isEach() {
		return false
	}
	o := &current
	o.enter(&f.base, fr)
	for i, d, did := f.elements(0, f.OnElement); i < fr.count && !guest.tooLarge; i, d, did = f.elements(i+1, f.OnElement) {
		if !did {
			o.look(i)
			f.op(o)
		}
		o.decide(d)
		if o.touches != 0 {
			o.done()
		}
	}
	return true
}

// elements is eachRow; it also returns at an op whose decision is yet to be told of.
func (f *Trigger) elements(i uint32, do func(o *Op, in Row) Decision) (at uint32, d Decision, did bool) {
	o := &current
	if do == nil {
		return i, Continue, false
	}
	o.kind = raw.OpOnElement
	rows := f.rowsOf(o)
	for {
		op := unsafe.Add(o.ops, uintptr(i)*raw.OpBytes)
		kindSlot := *(*uint64)(op)
		if (int(o.count)-1-int(i))>>63|int(kindSlot&0xFFFF^raw.OpOnElement) != 0 {
			return i, Continue, false
		}
		rowArg := *(*uint64)(unsafe.Add(op, raw.OpAtRow))
		o.index, o.slot, o.row, o.arg = i, uint32(kindSlot>>32), uint32(rowArg), uint32(rowArg>>32)
		d := do(o, Row{base: unsafe.Add(rows, uint32(rowArg)), checks: allow(f.input, false)})
		i = o.index
		if uint64(d)|o.touches != 0 {
			return i, d, true
		}
		i++
	}
}

func (f *Trigger) op(o *Op) {
	if o.kind != raw.OpOnElement {
		f.seldom(o)
		return
	}
	if d := f.OnElement(o, o.in(f.input)); d != Continue {
		o.decide(d)
	}
}

// seldom is op for what does not come with each record, apart: in a function with more calls each costs more.
func (f *Trigger) seldom(o *Op) {
	switch o.kind {
	case raw.OpOnEventTime:
		if f.OnEventTime != nil {
			o.decide(f.OnEventTime(o))
		}
	case raw.OpOnProcessingTime:
		if f.OnProcessingTime != nil {
			o.decide(f.OnProcessingTime(o))
		}
	case raw.OpOnMerge:
		o.callIf(f.OnMerge)
	case raw.OpClear:
		o.callIf(f.Clear)
	default:
		f.unknown()
	}
}

// Evictor takes elements out of windows.
type Evictor struct {
	// Name, Doc, Input, Parameters and Open are as those of Map; Input is nil if it does not look at records.
	Name, Doc  string
	Input      Columns
	Parameters []Parameter
	Open       func(*Opening)
	// Evict calls the op's Evict for each element that leaves, before or after the window function.
	Evict func(o *Op, after bool)

	base
}

func (f *Evictor) prepare() {
	f.declare(base{name: f.Name, doc: f.Doc, role: "evictor", open: f.Open, with: f.Parameters},
		schemas{input: f.Input}, f.Evict != nil)
}

func (f *Evictor) op(o *Op) {
	f.only(o, raw.OpEvict)
	f.Evict(o, o.detail() != 0)
}

// Join makes rows of a pair of records.
type Join struct {
	// Name, Doc, Output, Parameters and Open are as those of Map; Left and Right are the columns of the inputs, or Any.
	Name, Doc           string
	Left, Right, Output Columns
	Parameters          []Parameter
	Open                func(*Opening)
	// Join emits. In an outer join a side may be missing.
	Join func(o *Op, left, right Row)

	base
}

func (f *Join) prepare() {
	f.declare(base{name: f.Name, doc: f.Doc, role: "join", open: f.Open, with: f.Parameters},
		schemas{input: f.Left, second: f.Right, output: f.Output}, f.Join != nil)
}

func (f *Join) op(o *Op) {
	f.only(o, raw.OpOnPair)
	f.Join(o, o.in(f.input), o.second(f.base.second))
}

// CoGroup makes rows of what two inputs have in a window.
type CoGroup struct {
	// Name, Doc, Output, Outputs, Parameters and Open are as those of FlatMap; Left and Right as those of Join.
	Name, Doc           string
	Left, Right, Output Columns
	Outputs             []Output
	Parameters          []Parameter
	Open                func(*Opening)
	// Key is the columns of the key, if the function reads it.
	Key Columns
	// CoGroup emits. The op has the elements of both.
	CoGroup func(o *Op)

	base
}

func (f *CoGroup) prepare() {
	f.declare(base{name: f.Name, doc: f.Doc, role: "co-group", open: f.Open, with: f.Parameters},
		schemas{input: f.Left, second: f.Right, output: f.Output, named: f.Outputs, key: f.Key}, f.CoGroup != nil)
}

func (f *CoGroup) op(o *Op) {
	f.only(o, raw.OpOnGroup)
	f.CoGroup(o)
}
