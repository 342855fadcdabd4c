package scenario

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/wasmstream/wasmstream/host/job"
	"github.com/wasmstream/wasmstream/host/operator/aggregate"
	"github.com/wasmstream/wasmstream/host/operator/window"
	"github.com/wasmstream/wasmstream/host/stream"
)

// twinsModule is what a job calls the module of twins that is put into it. What the
// functions are called and take is told in udfs/twins/README.md.
const twinsModule = "twins"

// twinFunctions are what a module of twins has.
var twinFunctions = []string{
	"tumbling", "tumbling-processing", "sliding", "sliding-processing", "session", "session-processing", "trigger", "evictor", "aggregate", "join",
}

// withTwins is a job's text with twins in the place of built-in parts, where there are
// some. The plan is what the text means, so that names and lengths need not be read
// again.
func withTwins(text []byte, plan *job.Job, file string) ([]byte, error) {
	var root yaml.MapSlice
	if err := yaml.UnmarshalWithOptions(text, &root, yaml.UseOrderedMap()); err != nil {
		return nil, err
	}
	t := tree{&root}
	modules := t.under("modules")
	modules.set(twinsModule, yaml.MapSlice{{Key: "file", Value: file}})
	steps := t.under("steps")
	for _, s := range plan.Steps {
		step := steps.under(s.Name)
		switch {
		case s.Window != nil:
			w := s.Window
			windowTwins(step, &w.Options, s.Input, w.GapField, w.TriggerField, w.EvictorField)
			if calls, ok := callsOf(w.Aggregates, s.Input); ok {
				step.set("aggregate", twin("aggregate", with("calls", calls)))
			}
			steps.set(s.Name, *step.list)
		case s.WindowJoin != nil:
			j := s.WindowJoin
			windowTwins(step, &j.Options, j.Left.Input, j.Left.GapField, j.Left.TriggerField, j.Left.EvictorField)
			joinTwin(step, "window-join", j.Left.Input, j.Right.Input, with("window", true))
			steps.set(s.Name, *step.list)
		case s.IntervalJoin != nil:
			j := s.IntervalJoin
			joinTwin(step, "interval-join", j.Left.Input, j.Right.Input, nil)
			steps.set(s.Name, *step.list)
		}
	}
	t.set("modules", *modules.list)
	t.set("steps", *steps.list)
	return yaml.Marshal(root)
}

// tree is a mapping of a job's text, which keeps its order.
type tree struct{ list *yaml.MapSlice }

// under is a copy of the mapping of that name, an empty one if there is none.
func (t tree) under(name string) tree {
	i := slices.IndexFunc(*t.list, func(e yaml.MapItem) bool { return fmt.Sprint(e.Key) == name })
	if i >= 0 {
		if m, ok := (*t.list)[i].Value.(yaml.MapSlice); ok {
			m = slices.Clone(m)
			return tree{&m}
		}
	}
	return tree{&yaml.MapSlice{}}
}

func (t tree) set(name string, value any) {
	t.remove(name)
	*t.list = append(*t.list, yaml.MapItem{Key: name, Value: value})
}

func (t tree) remove(names ...string) {
	*t.list = slices.DeleteFunc(*t.list, func(e yaml.MapItem) bool { return slices.Contains(names, fmt.Sprint(e.Key)) })
}

// twin is {wasm: twins.NAME, with: …}.
func twin(name string, parameters yaml.MapSlice) yaml.MapSlice {
	m := yaml.MapSlice{{Key: "wasm", Value: twinsModule + "." + name}}
	if len(parameters) > 0 {
		m = append(m, yaml.MapItem{Key: "with", Value: parameters})
	}
	return m
}

// with makes parameters of names and values.
func with(pairs ...any) (m yaml.MapSlice) {
	for i := 0; i < len(pairs); i += 2 {
		m = append(m, yaml.MapItem{Key: pairs[i], Value: pairs[i+1]})
	}
	return m
}

// windowTwins replaces assigner, trigger and evictor. The columns that they name are
// those of a schema.
func windowTwins(step tree, o *window.Options, s *stream.Schema, gap, trigger, evictor int) {
	w := step.under("window")
	if name, parameters := assignerTwin(&o.Assigner, nameOf(s, gap)); name != "" {
		w.remove("tumbling", "sliding", "session")
		for _, e := range twin(name, parameters) {
			w.set(e.Key.(string), e.Value)
		}
	}
	if rule := ruleOf(o); rule != "" {
		parameters := with("rule", rule)
		if t := deltaOf(o.Trigger); t != nil {
			parameters = append(parameters, with("field", nameOf(s, trigger), "threshold", t.Threshold)...)
		}
		w.set("trigger", twin("trigger", parameters))
	}
	if v := o.Evictor; v != nil {
		parameters := evictorTwin(v, nameOf(s, evictor))
		when := "before"
		if v.After {
			when = "after"
		}
		w.set("evictor", append(twin("evictor", parameters), yaml.MapItem{Key: "when", Value: when}))
	}
	step.set("window", *w.list)
}

func nameOf(s *stream.Schema, column int) string {
	if column < 0 {
		return ""
	}
	return s.Fields()[column].Name
}

// assignerTwin names the twin of an assigner, "" if there is none.
func assignerTwin(a *window.Assigner, gap string) (name string, parameters yaml.MapSlice) {
	if a.Zone != nil || a.Overlapping {
		return "", nil
	}
	switch a.Kind {
	case window.Tumbling:
		name, parameters = "tumbling", with("size", a.Size, "offset", a.Offset)
	case window.Sliding:
		name, parameters = "sliding", with("size", a.Size, "slide", a.Slide, "offset", a.Offset)
	case window.Session:
		name, parameters = "session", with("gap", a.Gap, "gap_field", gap)
	default:
		return "", nil
	}
	if a.Processing {
		name += "-processing"
	}
	return name, parameters
}

// ruleOf tells a trigger in the words of its twin, that of a window without one, too;
// "" if there is none.
func ruleOf(o *window.Options) string {
	t := o.Trigger
	if t == nil {
		switch {
		case o.Assigner.Kind == window.GlobalWindows:
			return ""
		case o.Assigner.Processing:
			return window.ProcessingTime.String()
		}
		return window.EventTime.String()
	}
	var words []string
	for ; t != nil; t = t.Nested {
		word := t.Kind.String()
		switch t.Kind {
		case window.Count:
			word += fmt.Sprintf(" %d", t.Count)
		case window.ContinuousEventTime, window.ContinuousProcessingTime:
			word += fmt.Sprintf(" %d", t.Interval)
		case window.Timeout:
			if t.Reset {
				word += "-reset"
			}
			word += fmt.Sprintf(" %d", t.Interval)
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

// deltaOf is the trigger of a chain that has a threshold, nil if there is none.
func deltaOf(t *window.Trigger) *window.Trigger {
	for ; t != nil && t.Kind != window.Delta; t = t.Nested {
	}
	return t
}

func evictorTwin(v *window.Evictor, field string) yaml.MapSlice {
	switch v.Kind {
	case window.ByCount:
		return with("rule", fmt.Sprintf("count %d", v.Count))
	case window.ByTime:
		return with("rule", fmt.Sprintf("time %d", v.Size))
	}
	return with("rule", "delta", "field", field, "threshold", v.Threshold)
}

// callsMax is how many aggregates the twin computes.
const callsMax = 4

// callsOf tells aggregates as their twin takes them; false if it does not compute them.
func callsOf(calls []job.Aggregate, s *stream.Schema) (string, bool) {
	if len(calls) == 0 || len(calls) > callsMax {
		return "", false
	}
	var b strings.Builder
	for _, c := range calls {
		column := ""
		if c.Kind != aggregate.Count {
			f := s.Fields()[c.Column]
			if k := f.Type.Kind; k != stream.Int && k != stream.BigInt && k != stream.Double {
				return "", false
			}
			column = f.Name
		}
		fmt.Fprintf(&b, "%s\t%s\t%s\n", c.Kind, column, c.Name)
	}
	return b.String(), true
}

// joinTwin replaces what makes a join's rows, if its columns are of types that the twin
// copies.
func joinTwin(step tree, operation string, l, r *stream.Schema, parameters yaml.MapSlice) {
	for _, s := range []*stream.Schema{l, r} {
		for _, f := range s.Fields() {
			if f.Type.Kind != stream.String && f.Type.Kind != stream.Bytes && !stream.MustSchema(f).IsFixedWidth() {
				return
			}
		}
	}
	j := step.under(operation)
	j.set("join", twin("join", parameters))
	step.set(operation, *j.list)
}
