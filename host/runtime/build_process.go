package runtime

import (
	"errors"
	"fmt"

	"github.com/wasmstream/wasmstream/abi"
	"github.com/wasmstream/wasmstream/host/checkpoint"
	guests "github.com/wasmstream/wasmstream/host/guest"
	"github.com/wasmstream/wasmstream/host/job"
	"github.com/wasmstream/wasmstream/host/operator/process"
	"github.com/wasmstream/wasmstream/host/sandbox"
	"github.com/wasmstream/wasmstream/host/state"
	"github.com/wasmstream/wasmstream/host/stream"
)

// processReadings is how the step of a process function reads its inputs.
func (b *builder) processReadings(s *job.Step) []reading {
	sides := s.Sides()
	if sides == nil {
		return []reading{{from: s.From, input: s.Input, key: s.KeyBy}}
	}
	return []reading{
		{from: sides[left].From, input: sides[left].Input, key: sides[left].Key},
		{from: sides[right].From, input: sides[right].Input, key: sides[right].Key, side: right, gate: 1, all: s.Process.Broadcast},
	}
}

// process makes the operator of a process function in one task, in an instance of its
// own.
func (b *builder) process(s *job.Step, n *node, stats *StepStats) (operator, *keeper, error) {
	f := s.Process.Function
	o := &processOperator{
		function: f, now: stream.MinTime, clock: b.config.Clock.Now(), round: 1, readsKey: f.Key != nil,
	}
	for i, out := range f.Outputs {
		o.results = append(o.results, b.output(job.StreamRef{Name: s.Name, Output: out.Name}, n))
		if i == 0 {
			o.keeper = b.keeper(s, o.results[0])
		} else {
			o.outs = append(o.outs, o.results[i])
		}
	}
	o.faults = b.faults(s, n, stats, &o.outs)
	states := processStates(f)
	o.backend = state.NewMemory(b.plan.MaxParallelism, process.Cells(states)...)
	o.states = process.New(o.backend, states, o.subject)
	o.chains.limit = s.Limits.TimerCalls
	o.states.Bound(callsLimit{o.limit})
	o.processSides(s)
	instance, err := b.instance(f)
	if err != nil {
		return nil, nil, err
	}
	if err := answerCalls(instance, f, o.states); err != nil {
		return nil, nil, err
	}
	if o.caller, err = b.callerIn(instance, f, guests.Options{Written: writesSlots(f)}, processRole{o}); err != nil {
		return nil, nil, err
	}
	return o, &o.keeper, nil
}

// callsStates is an instance whose module may call the host for states.
type callsStates interface {
	CallStates(sandbox.StateCalls)
}

// answerCalls has states answer the calls of a function's instance.
func answerCalls(instance Guest, f *job.Function, states *process.States) error {
	caller, ok := instance.(callsStates)
	switch {
	case ok:
		caller.CallStates(states)
	case len(f.Slots()) < len(f.States):
		return fmt.Errorf("function %s has list, map or broadcast states, and its instance cannot call for them", f.Name)
	}
	return nil
}

// processSides sets what the operator knows of its inputs.
func (o *processOperator) processSides(s *job.Step) {
	inputs, sides := s.Process.Function.Inputs, s.Sides()
	if sides == nil {
		o.shows, o.originals = s.Input.Project(s.KeyBy), o.faults.originals(s.Input)
		o.sides[left] = processSide{
			key: stream.NewProjection(s.Input, s.KeyBy), input: stream.NewProjection(s.Input, inputs[0].Columns), kind: abi.OpOnRecord,
		}
		return
	}
	o.shows = sides[left].Input.Project(sides[left].Key)
	o.originals = o.faults.originals(sides[left].Input, sides[right].Input)
	for i, of := range sides {
		o.sides[i] = processSide{input: stream.NewProjection(of.Input, inputs[i].Columns), kind: abi.OpOnRecord, side: side(i)}
		if i == int(right) && s.Process.Broadcast {
			o.sides[i].kind = abi.OpOnBroadcast
			continue
		}
		o.sides[i].key = stream.NewProjection(of.Input, of.Key)
		if i == int(right) {
			o.sides[i].kind = abi.OpOnSecond
		}
	}
}

// processStates are a function's states as they are kept.
func processStates(f *job.Function) []process.State {
	list := make([]process.State, len(f.States))
	for i := range f.States {
		s := &f.States[i]
		list[i] = process.State{
			InSlot: s.InSlot, Key: s.Key, Value: s.Value, Shared: s.Scope == abi.ScopeBroadcast, Window: s.Scope == abi.ScopeWindow,
			TTL: process.TTL{Millis: s.TTL, OnRead: s.OnRead, Once: s.SeenOnce},
		}
	}
	return list
}

// writesSlots tells of a function with a slot whose time to live a write begins anew.
func writesSlots(f *job.Function) bool {
	for i := range f.States {
		if f.States[i].InSlot && f.States[i].TTL > 0 {
			return true
		}
	}
	return false
}

// processText says what the state of a process function is made of.
func processText(s *job.Step) string {
	text := "process, key "
	if sides := s.Sides(); sides != nil {
		text += sides[left].Input.Project(sides[left].Key).String()
	} else {
		text += s.Input.Project(s.KeyBy).String()
	}
	for i := range s.Process.Function.States {
		f := &s.Process.Function.States[i]
		text += fmt.Sprintf(", %s %s %s", f.Kind, f.Scope, f.Name)
		if f.Key != nil {
			text += " " + f.Key.String() + " to"
		}
		text += " " + f.Value.String()
		if f.TTL > 0 {
			text += " with a time to live"
		}
	}
	return text
}

// restoreCopy gives a task the copy of broadcast state that it goes on from: its own,
// or if there are more or fewer tasks now, that of the old task whose number is its own
// modulo how many there were, as in Flink. Task 0 owns group 0, so there one can see
// how many.
func (b *builder) restoreCopy(step string, backend state.Backend, task int) error {
	tasks := b.plan.Parallelism
	before := 0
	err := b.loadGroup(step, 0, func(key, _ []byte) error {
		if c, ok := state.CopyOf(key); ok {
			before = c.Tasks
		}
		return nil
	})
	if err != nil || before == 0 || before == tasks {
		return err
	}
	from := checkpoint.GroupsOf(task%before, b.plan.MaxParallelism, before).From
	return b.loadGroup(step, from, backend.RestoreCopy)
}

// loadGroup goes through what the checkpoint has of a step in one key group.
func (b *builder) loadGroup(step string, group stream.KeyGroup, put func(key, value []byte) error) (err error) {
	m := b.manifest()
	if m == nil || m.Step(step) == nil {
		return nil
	}
	groups := checkpoint.Groups{From: group, To: group + 1}
	files, err := checkpoint.OpenRefs(b.config.Checkpoints.Store, checkpoint.RefsFor(m.Step(step).Files, groups))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, checkpoint.CloseAll(files)) }()
	return checkpoint.Load(files, groups, put)
}
