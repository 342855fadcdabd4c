package wasmstream

import "github.com/wasmstream/wasmstream/guest-sdk/go/internal/raw"

// Process is a function with state and timers of each key.
type Process struct {
	// Name, Doc, Input, Output, Outputs, Parameters and Open are as those of FlatMap.
	Name, Doc     string
	Input, Output Columns
	Outputs       []Output
	States        []State
	Parameters    []Parameter
	Open          func(*Opening)
	// Key is the columns of the key, if the function reads it.
	Key Columns
	// OnRecord and OnTimer use states, set timers and emit. Without OnTimer there are no timers.
	OnRecord func(o *Op, in Row)
	OnTimer  func(o *Op)

	base
}

func (f *Process) prepare() {
	f.declare(base{name: f.Name, doc: f.Doc, role: "process", open: f.Open, with: f.Parameters},
		schemas{input: f.Input, output: f.Output, named: f.Outputs, states: f.States, key: f.Key}, f.OnRecord != nil)
	f.sets(f.OnTimer != nil, f.OnTimer != nil)
}

func (f *Process) run(fr frame) bool { return f.each(f, fr, raw.OpOnRecord, f.OnRecord) }

func (f *Process) op(o *Op) {
	if o.kind != raw.OpOnRecord {
		f.timer(o)
		return
	}
	f.OnRecord(o, o.in(f.input))
}

// timer is op for timers, apart: in a function with more calls each costs more.
//
//go:noinline
func (f *Process) timer(o *Op) {
	f.only(o, raw.OpOnTimer)
	f.due(o, f.OnTimer)
}

// CoProcess is a Process with two inputs, whose records of one key share its states.
type CoProcess struct {
	// Name, Doc, Output, Outputs, States, Parameters, Open and Key are as those of Process; Input and Second are the columns of
	// the inputs, or Any.
	Name, Doc             string
	Input, Second, Output Columns
	Outputs               []Output
	States                []State
	Parameters            []Parameter
	Open                  func(*Opening)
	Key                   Columns
	// OnRecord is for records of the first input, OnSecond for those of the second. OnTimer is as that of Process.
	OnRecord, OnSecond func(o *Op, in Row)
	OnTimer            func(o *Op)

	base
}

func (f *CoProcess) prepare() {
	f.declare(base{name: f.Name, doc: f.Doc, role: "co-process", open: f.Open, with: f.Parameters},
		schemas{input: f.Input, second: f.Second, output: f.Output, named: f.Outputs, states: f.States, key: f.Key}, f.OnRecord != nil, f.OnSecond != nil)
	f.sets(f.OnTimer != nil, f.OnTimer != nil)
}

func (f *CoProcess) op(o *Op) {
	switch o.kind {
	case raw.OpOnRecord:
		f.OnRecord(o, o.in(f.input))
	case raw.OpOnSecond:
		f.OnSecond(o, o.in(f.second))
	case raw.OpOnTimer:
		f.due(o, f.OnTimer)
	default:
		f.unknown()
	}
}

// BroadcastProcess is a Process with a second input that each task gets all of.
type BroadcastProcess struct {
	// Name, Doc, Input, Second, Output, Outputs, States, Parameters, Open and Key are as those of CoProcess. States may be of the
	// scope Broadcast.
	Name, Doc             string
	Input, Second, Output Columns
	Outputs               []Output
	States                []State
	Parameters            []Parameter
	Open                  func(*Opening)
	Key                   Columns
	// OnRecord is for records of the first input, with a key. It only reads broadcast state.
	OnRecord func(o *Op, in Row)
	// OnBroadcast is for broadcast records, without a key: it alone changes broadcast state, and what it does must not depend
	// on anything but the records.
	OnBroadcast func(o *Op, in Row)
	// OnKey is for each key that has state, after VisitKeys, with the record of that OnBroadcast. Optional. OnTimer is as that
	// of Process.
	OnKey   func(o *Op, in Row)
	OnTimer func(o *Op)

	base
}

func (f *BroadcastProcess) prepare() {
	f.declare(base{name: f.Name, doc: f.Doc, role: "broadcast-process", open: f.Open, with: f.Parameters},
		schemas{input: f.Input, second: f.Second, output: f.Output, named: f.Outputs, states: f.States, key: f.Key}, f.OnRecord != nil, f.OnBroadcast != nil)
	f.sets(f.OnTimer != nil, f.OnTimer != nil)
}

func (f *BroadcastProcess) op(o *Op) {
	switch o.kind {
	case raw.OpOnRecord:
		f.OnRecord(o, o.in(f.input))
	case raw.OpOnBroadcast:
		f.OnBroadcast(o, o.in(f.second))
	case raw.OpOnKey:
		if f.OnKey != nil {
			f.OnKey(o, o.in(f.second))
		}
	case raw.OpOnTimer:
		f.due(o, f.OnTimer)
	default:
		f.unknown()
	}
}
