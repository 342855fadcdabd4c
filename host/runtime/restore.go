package runtime

import (
	"errors"
	"fmt"

	"github.com/wasmstream/wasmstream/host/checkpoint"
	"github.com/wasmstream/wasmstream/host/connector"
	"github.com/wasmstream/wasmstream/host/job"
	"github.com/wasmstream/wasmstream/host/operator/window"
	"github.com/wasmstream/wasmstream/host/state"
)

// manifest is what the job goes on from; nil: it begins.
func (b *builder) manifest() *checkpoint.Manifest {
	if c := b.config.Checkpoints; c != nil {
		return c.Recovery.Manifest
	}
	return nil
}

// CanRestore tells why a job cannot go on from a checkpoint; nil if it can.
func CanRestore(m *checkpoint.Manifest, plan *job.Job) error {
	if m.MaxParallelism != plan.MaxParallelism {
		return fmt.Errorf("the checkpoint has %d key groups, and the job's max-parallelism is %d; it cannot be changed afterwards", m.MaxParallelism, plan.MaxParallelism)
	}
	layouts := map[string]string{}
	for _, s := range m.Steps {
		layouts[s.Name] = s.Layout
	}
	for _, step := range plan.Steps {
		switch layout, ok := layouts[step.Name]; {
		case !ok:
			return fmt.Errorf("the checkpoint has no step %s", step.Name)
		case layout != layoutOf(step):
			return fmt.Errorf("the state of step %s is another now: the checkpoint has %q, the job %q", step.Name, layout, layoutOf(step))
		}
		delete(layouts, step.Name)
	}
	for name := range layouts {
		return fmt.Errorf("the checkpoint has state of a step %s, which the job does not have", name)
	}
	return nil
}

// layoutOf says what a step's state is made of: a checkpoint of another layout
// cannot be gone on from.
func layoutOf(s *job.Step) string {
	switch {
	case s.Window != nil:
		return windowLayout(s)
	case s.WindowJoin != nil:
		j := s.WindowJoin
		return "window join, " + windowsOf(&j.Options, &j.Functions) + sideText(&j.Left) + sideText(&j.Right)
	case s.CoGroup != nil:
		g := s.CoGroup
		return "co-group, " + windowsOf(&g.Options, &g.Functions) + sideText(&g.Left) + sideText(&g.Right)
	case s.IntervalJoin != nil:
		return "interval join" + sideText(&s.IntervalJoin.Left) + sideText(&s.IntervalJoin.Right)
	case s.Enrich != nil:
		return enrichLayout(s)
	case s.Process != nil:
		return processText(s)
	}
	return ""
}

func enrichLayout(s *job.Step) string {
	text := "enrich, waiting " + s.Input.String()
	if s.KeyBy != nil {
		text += ", key " + s.Input.Project(s.KeyBy).String()
	}
	return text
}

func windowLayout(s *job.Step) string {
	w := s.Window
	text := "key " + s.Input.Project(s.KeyBy).String() + ", " + windowsOf(&w.Options, &w.Functions)
	if f := w.Function; f != nil {
		text += " accumulator " + f.Accumulator.String()
	}
	if f := w.Reduce; f != nil {
		text += " reduced " + f.Accumulator.String()
	}
	for _, a := range w.Aggregates {
		text += fmt.Sprintf(" %s %s", a.Kind, a.Type)
		if a.Column >= 0 {
			f := s.Input.Fields()[a.Column]
			text += " of " + f.Name + " " + f.Type.String()
		}
	}
	if w.Options.Evictor != nil || w.KeepsRecords() {
		text += " records " + s.Input.String()
	}
	if w.Apply != nil {
		text += statesText(w.Apply)
	}
	return text
}

// statesText says which states a function has.
func statesText(f *job.Function) string {
	text := ""
	for i := range f.States {
		st, word := &f.States[i], "state"
		if !st.InSlot {
			word = st.Kind
		}
		text += " " + word + " " + st.Name + " of " + st.Scope + " "
		if st.Key != nil {
			text += st.Key.String() + " to "
		}
		if text += st.Value.String(); st.TTL > 0 {
			text += " with a time to live"
		}
	}
	return text
}

// sideText says what is kept of a side of a join.
func sideText(s *job.Side) string {
	return ", key " + s.Input.Project(s.Key).String() + " of " + s.Input.String()
}

// windowsOf says what of a step's windows its state depends on: their kind and clock,
// since their state is found by window, and the trigger's kind, which keeps a state of
// its own. Sliding windows share panes, whose length follows from size, slide and
// offset. The size of others may change: windows that are there end as they would have.
func windowsOf(o *window.Options, fns *job.WindowFunctions) string {
	a := &o.Assigner
	text := [...]string{
		window.Tumbling: "tumbling", window.Sliding: "sliding", window.Session: "session", window.GlobalWindows: "global", window.FunctionWindows: "function's",
	}[a.Kind]
	if a.Merging {
		text = "merging " + text
	}
	if a.Kind == window.Sliding {
		text += fmt.Sprintf(" %d/%d/%d", a.Size, a.Slide, a.Offset)
	}
	if a.Processing {
		text += " of processing time"
	}
	text += " window"
	if o.Trigger != nil {
		text += ", trigger " + o.Trigger.Kind.String()
	}
	if fns.Trigger != nil {
		text += statesText(fns.Trigger)
	}
	return text
}

// restoredSource is where a source goes on; nil: it begins.
func (b *builder) restoredSource(name string) (*checkpoint.Source, error) {
	m := b.manifest()
	if m == nil {
		return nil, nil
	}
	if s := sourceOf(m, name); s != nil {
		return s, nil
	}
	return nil, fmt.Errorf("the checkpoint has no source of that name")
}

func sourceOf(m *checkpoint.Manifest, name string) *checkpoint.Source {
	for i := range m.Sources {
		if m.Sources[i].Name == name {
			return &m.Sources[i]
		}
	}
	return nil
}

// positions are where the splits of a restored source go on.
func positions(s *checkpoint.Source) []connector.SplitPosition {
	if s == nil {
		return nil
	}
	return s.Positions()
}

// restoredSink is the hand-over that a sink goes on from; nil: it begins.
func (b *builder) restoredSink(name string) ([]byte, error) {
	m := b.manifest()
	if m == nil {
		return nil, nil
	}
	for _, s := range m.Sinks {
		if s.Name == name {
			return s.Handover, nil
		}
	}
	return nil, fmt.Errorf("the checkpoint has no sink of that name")
}

// restoreState gives a task the key groups that it owns now.
func (b *builder) restoreState(step *job.Step, k *keeper) (err error) {
	backend, owned := k.backend, k.groups
	backend.SetCopy(state.Copy{Home: owned.From, Tasks: b.plan.Parallelism})
	m := b.manifest()
	if m == nil || m.Step(step.Name) == nil {
		return nil
	}
	files, err := checkpoint.OpenRefs(b.config.Checkpoints.Store, checkpoint.RefsFor(m.Step(step.Name).Files, owned))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, checkpoint.CloseAll(files)) }()
	if len(files) > 0 {
		backend.Grow(int(files[0].Summary().Entries)) // of the base, if there is one
	}
	if err := checkpoint.Load(files, owned, backend.Restore); err != nil {
		return err
	}
	if step.Process != nil && step.Process.Broadcast {
		if err := b.restoreCopy(step.Name, backend, k.task); err != nil {
			return err
		}
	}
	return backend.Restored()
}
