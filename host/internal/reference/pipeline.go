package reference

import (
	"fmt"
	"slices"
	"strings"
)

// operator is a step that has state.
type operator interface {
	clock(int64)
	save() any
	load(any)
	dropped() int64
	outlets() outputs
}

// pipeline is a job between two restarts.
type pipeline struct {
	*plan
	streams   map[string]*outlet // by name, or step.output
	operators map[string]operator
	order     []string // of operators, upstream first
	computed  map[string]bool
	sinks     []*sinkInput
	doubts    *doubts
	ended     map[string]bool
}

// sinkInput is a sink: it notes what reaches it.
type sinkInput struct {
	name     string
	schema   schema
	seen     int64 // the watermark that came last
	received []record
}

func (s *sinkInput) record(r record)   { s.received = append(s.received, r) }
func (s *sinkInput) watermark(t int64) { s.seen = t }
func (s *sinkInput) status(bool)       {}
func (s *sinkInput) end()              {}

// checkpoint is what outlives a restart: neither watermarks nor idleness.
type checkpoint struct {
	states map[string]any
	ended  map[string]bool
}

// newPipeline builds the job, restores it, and sets its clocks.
func newPipeline(p *plan, from checkpoint, now int64, d *doubts) (*pipeline, error) {
	l := &pipeline{plan: p, streams: map[string]*outlet{}, operators: map[string]operator{}, computed: map[string]bool{}, doubts: d, ended: map[string]bool{}}
	for _, s := range p.sources {
		l.streams[s.name] = &outlet{schema: s.schema}
	}
	for _, s := range p.sinks {
		in := &sinkInput{name: s.name, seen: minTime}
		schema, err := l.connect(newInlet(in), 0, s.from)
		if err != nil {
			return nil, err
		}
		in.schema = schema
		l.sinks = append(l.sinks, in)
	}
	for _, s := range p.steps {
		if _, err := l.stream(s.name); err != nil {
			return nil, err
		}
	}
	for name, saved := range from.states {
		l.operators[name].load(saved)
	}
	for _, s := range p.sources {
		if from.ended[s.name] {
			l.end(s.name)
		}
	}
	l.clock(now)
	return l, nil
}

// stream finds an output, and builds its step when it is first asked for.
func (l *pipeline) stream(name string) (*outlet, error) {
	of, _, _ := strings.Cut(name, ".")
	if l.streams[of] == nil {
		for _, s := range l.steps {
			if s.name == of {
				if err := l.build(s); err != nil {
					return nil, err
				}
			}
		}
	}
	if l.streams[name] == nil {
		return nil, fmt.Errorf("there is no stream %s", name)
	}
	return l.streams[name], nil
}

// connect leads streams to an input.
func (l *pipeline) connect(to *inlet, side int, names []string) (schema, error) {
	var s schema
	for _, name := range names {
		out, err := l.stream(name)
		if err != nil {
			return s, err
		}
		s = out.schema
		out.connect(to, side)
	}
	return s, nil
}

func (l *pipeline) build(s *step) error {
	if s.kind == "" {
		out := &outlet{}
		schema, err := l.connect(newInlet(out), 0, s.from)
		out.schema = schema
		l.streams[s.name] = out
		l.computed[s.name] = l.reads(s.from)
		return err
	}
	sides := s.sides
	if s.kind == "window" {
		sides[0] = s.from
	}
	var inputs [2]schema
	for i, names := range sides {
		for _, name := range names {
			out, err := l.stream(name)
			if err != nil {
				return err
			}
			inputs[i] = out.schema
		}
	}
	s.downstream = l.reads(sides[0]) || l.reads(sides[1]) || l.meets(append(slices.Clone(sides[0]), sides[1]...))
	var op operator
	var in [2]*inlet
	if s.kind == "interval-join" {
		j := newIntervalStep(s, inputs, l.doubts)
		op, in = j, [2]*inlet{newInlet(side{j, 0}), newInlet(side{j, 1})}
	} else {
		w := newWindowStep(s, inputs, l.doubts)
		one := newInlet(w) // of a window join, too: its sides are one union
		op, in = w, [2]*inlet{one, one}
	}
	for i, names := range sides {
		if _, err := l.connect(in[i], i, names); err != nil {
			return err
		}
	}
	l.operators[s.name], l.computed[s.name] = op, true
	l.order = append(l.order, s.name)
	for name, out := range op.outlets() {
		l.streams[strings.TrimSuffix(s.name+"."+name, ".")] = out
	}
	return nil
}

// reads tells whether any of the streams is computed by a step with state.
func (l *pipeline) reads(names []string) bool {
	for _, name := range names {
		if of, _, _ := strings.Cut(name, "."); l.computed[of] {
			return true
		}
	}
	return false
}

// meets tells whether records of one source come along several ways, which have no
// order among them.
func (l *pipeline) meets(names []string) bool {
	seen := map[string]bool{}
	for _, source := range l.sources(names) {
		if seen[source] {
			return true
		}
		seen[source] = true
	}
	return false
}

// sources lists the sources of streams that no step computes, once for each way.
func (l *pipeline) sources(names []string) (list []string) {
	for _, name := range names {
		i := slices.IndexFunc(l.steps, func(s *step) bool { return s.name == name && s.kind == "" })
		if i >= 0 {
			list = append(list, l.sources(l.steps[i].from)...)
		} else {
			list = append(list, name)
		}
	}
	return list
}

// noteStatus notes that a source turns idle or active while some way holds its
// watermarks back: where it meets a way that does not, what is flushed depends on
// which of them is faster.
func (l *pipeline) noteStatus() {
	for _, op := range l.operators {
		if j, ok := op.(*intervalStep); ok && j.patience() > 0 {
			l.doubts.add("idleness over ways that hold watermarks back")
		}
	}
}

func (l *pipeline) clock(t int64) {
	for _, name := range l.order {
		l.operators[name].clock(t)
	}
}

func (l *pipeline) end(source string) {
	if l.ended[source] {
		return
	}
	l.ended[source] = true
	out := l.streams[source]
	out.status(false)
	out.watermark(maxTime)
	out.end()
}

func (l *pipeline) save() checkpoint {
	c := checkpoint{map[string]any{}, map[string]bool{}}
	for name, op := range l.operators {
		c.states[name] = op.save()
	}
	for name := range l.ended {
		c.ended[name] = true
	}
	return c
}
