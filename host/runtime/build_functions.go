package runtime

import (
	"github.com/wasmstream/wasmstream/abi"
	guests "github.com/wasmstream/wasmstream/host/guest"
	"github.com/wasmstream/wasmstream/host/job"
	"github.com/wasmstream/wasmstream/host/operator/window"
	"github.com/wasmstream/wasmstream/host/state"
	"github.com/wasmstream/wasmstream/host/stream"
)

// The cells of a window function's states.
const (
	windowStatesCell = ledgerCell + 1 + iota // by key and window
	keyStatesCell                            // by key
)

// functionInputsOf lays out what a function takes of the sides of a step.
func functionInputsOf(f *job.Function, sides ...*stream.Schema) functionInputs {
	in := functionInputs{key: f.Key != nil}
	for i, s := range sides {
		if columns := f.Inputs[i].Columns; len(columns) > 0 {
			in.sides[i] = stream.NewProjection(s, columns)
		}
	}
	return in
}

// faultOf is what a fault of a function costs, by the step's policy; caller is made
// after it. What the function is not told is added by more.
func (f *failing) faultOf(fn *job.Function, caller **guests.Caller, more func(op int, x *failure)) func(int, error) error {
	return func(op int, err error) error {
		x := failureOf(fn, *caller, op, err)
		more(op, &x)
		if kind, _ := (*caller).Op(op); kind == abi.OpOnMerge {
			return f.faults.fail(&x) // the states of the windows that it was about are lost
		}
		return f.faults.take(&x)
	}
}

// askFunctions gives a windowed step its assigner and trigger that are functions. The
// step's state is not made yet.
func (b *builder) askFunctions(o *windowOperator, fns *job.WindowFunctions, sides ...*stream.Schema) (err error) {
	if fns.Assigner == nil && fns.Trigger == nil {
		return nil
	}
	o.phases = &phases{}
	if f := fns.Assigner; f != nil {
		a := &assigner{function: f, inputs: functionInputsOf(f, sides...), originals: o.faults.originals(sides...)}
		a.fault = o.faultOf(f, &a.caller, func(_ int, x *failure) { o.showAssigned(x, a.side, a.batch, a.first+len(a.ends)) })
		if a.caller, err = b.callerFor(f, guests.Options{Enough: a.isFull}, a); err != nil {
			return err
		}
		o.phases.assigner = a
	}
	if f := fns.Trigger; f != nil {
		t := &trigger{
			function: f, windowStates: windowStatesOf(f), stateLimit: o.limit, chains: chains{limit: f.Limits.TimerCalls}, undone: func() int { return o.phases.rewinds.bytes() },
			inputs: functionInputsOf(f, sides...), originals: o.faults.originals(sides...),
		}
		t.fault = o.faultOf(f, &t.caller, func(op int, x *failure) {
			if kind, _ := t.caller.Op(op); kind == abi.OpOnElement {
				x.row = o.rowOfQuestion(len(t.answers) - 1)
				t.originals.show(x, op)
			}
			x.key = o.shownKey.Show(o.keyOfQuestion(len(t.answers) - 1))
		})
		if t.instance, err = b.instance(f); err != nil {
			return err
		}
		if t.caller, err = b.callerIn(t.instance, f, guests.Options{Written: t.timed, Enough: t.isOver}, t); err != nil {
			return err
		}
		o.phases.trigger = t
	}
	return nil
}

// listOf makes contents that are lists. The state is made already.
func (b *builder) listOf(o *windowOperator, options *window.Options, fns *job.WindowFunctions, fn listFunction, sides ...*stream.Schema) (*listed, error) {
	list := &listed{backend: o.backend, evictor: options.Evictor, fn: fn}
	if o.faults.out != nil {
		list.placed = o.faults
	}
	if o.faults.policy != job.Fail {
		switch fn := fn.(type) {
		case *windowFunction:
			fn.takeOut, fn.atOnce = list.takeOut, list.evictsAfter()
		case *recomputed:
			fn.takeOut, o.faults.lost = list.takeOut, fn.lost
		}
	}
	f := fns.Evictor
	if f == nil {
		return list, nil
	}
	v := &evictor{inputs: functionInputsOf(f, sides...), now: &o.facts.Now, after: options.Evictor.After}
	v.fault = o.faultOf(f, &v.caller, func(_ int, x *failure) { x.key = o.shownKey.Show(v.key) })
	v.originals = o.faults.originals(sides...)
	v.failed = func(n int, err error) error {
		x := failureIn(f, v.caller, 0, n, err)
		x.key = o.shownKey.Show(v.key)
		v.originals.showListed(&x, v.elements[n])
		return o.faults.take(&x)
	}
	list.asked = v
	var err error
	v.caller, err = b.caller(f, v)
	return list, err
}

// windowFunction makes the function of a step's firings, whose outputs become the
// step's. in is what it takes: results, or the records of the step's sides. The step's
// state is made already.
func (b *builder) windowFunction(s *job.Step, n *node, o *windowOperator, f *job.Function, op abi.OpKind, in ...*stream.Schema) (*windowFunction, error) {
	w := &windowFunction{
		emitter:       emitter{failing: o.failing, function: f, inputs: functionInputsOf(f, in...)},
		windowStates:  windowStatesOf(f),
		withoutTimers: withoutTimers{o.limit},
		backend:       o.backend, shownKey: o.shownKey, now: &o.facts.Now, op: op,
		groups: map[uint32]state.Ref{}, inFrame: map[state.Ref]uint32{}, over: map[uint32]bool{},
		firings: firings{waiting: map[state.Ref]int{}, decision: &o.decision, originals: o.faults.originals(in...)},
	}
	w.outs = b.functionOutputs(s, n, f, o.out)
	o.outs = append(o.outs, w.outs[1:]...)
	w.outs = o.withFailed(w.outs)
	instance, err := b.instance(f)
	if err != nil {
		return nil, err
	}
	if err := w.keepIn(o.backend, o.limit, [stateScopes]state.Cell{windowStatesCell, keyStatesCell}, applyParts, instance, f, w.subject); err != nil {
		return nil, err
	}
	w.once, w.split = w.readsOnce(), w.counts[ofKey].slots > 0 && w.counts[ofWindow].slots > 0
	w.caller, err = b.callerIn(instance, f, guests.Options{Written: w.timed}, w)
	return w, err
}

// functionOutputs are the outputs of a function that a step puts out: its main one, and
// those with names.
func (b *builder) functionOutputs(s *job.Step, n *node, f *job.Function, main *output) outputs {
	outs := outputs{main}
	for i := 1; i < len(f.Outputs); i++ { // a filter has none
		outs = append(outs, b.output(job.StreamRef{Name: s.Name, Output: f.Outputs[i].Name}, n))
	}
	return outs
}

// pairs makes the function of a join.
func (b *builder) pairs(f *job.Function, o failing, out *output, l, r *job.Side) (*pairs, error) {
	p := &pairs{
		emitter: emitter{failing: o, function: f, outs: o.withFailed(outputs{out}), inputs: functionInputsOf(f, l.Input, r.Input)},
		key:     stream.NewProjection(l.Input, l.Key), alt: stream.NewProjection(r.Input, r.Key), shownKey: l.Input.Project(l.Key),
		originals: [2]*originals{o.faults.originals(l.Input, r.Input), o.faults.originals(l.Input, r.Input)},
	}
	var err error
	p.caller, err = b.caller(f, p)
	return p, err
}

// reducer makes a reduce function. The step's state is made already.
func (b *builder) reducer(s *job.Step, o *windowOperator, cell state.Cell, r results) (*reducer, error) {
	f := s.Window.Reduce
	g := &reducer{
		withoutTimers: withoutTimers{o.limit},
		function:      f, input: stream.NewProjection(s.Input, f.Inputs[0].Columns), backend: o.backend, cell: cell,
		variable: !f.Accumulator.IsFixedWidth(), results: r, out: o.out, room: b.room, failing: o.failing, key: s.Input.Project(s.KeyBy),
		originals: o.faults.originals(s.Input),
	}
	g.output = stream.NewProjection(f.Accumulator, reducedColumns(s))
	var err error
	g.caller, err = b.caller(f, g)
	return g, err
}

// reducedColumns are the columns of a reduced record that the key does not have.
func reducedColumns(s *job.Step) (columns []int) {
	key := s.Input.Project(s.KeyBy)
	for i, name := range s.Window.Reduce.Accumulator.Names() {
		if key.Index(name) < 0 {
			columns = append(columns, i)
		}
	}
	return columns
}
