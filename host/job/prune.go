package job

import "github.com/wasmstream/wasmstream/host/stream"

// class is a set of streams that must have one schema to the byte, because
// they meet in a step or sink, or because a step hands rows on as they are. A
// column is kept in all of them if it is used of one (invariant D).
type class struct {
	parent *class // nil for the one that stands for the set
	schema *stream.Schema
	used   []bool
	// Of the representative, once pruned.
	pruned *stream.Schema
	at     []int // column of schema → column of pruned
}

func newClass(s *stream.Schema) *class { return &class{schema: s, used: make([]bool, s.Len())} }

func (c *class) root() *class {
	for c.parent != nil {
		if c.parent.parent != nil {
			c.parent = c.parent.parent // shorten the way for the next time
		}
		c = c.parent
	}
	return c
}

// join makes two sets one; their schemas are equal.
func (c *class) join(d *class) {
	a, b := c.root(), d.root()
	if a == b {
		return
	}
	for i, u := range b.used {
		a.used[i] = a.used[i] || u
	}
	b.parent, b.used = a, nil
}

func (c *class) use(columns ...int) {
	for _, i := range columns {
		if i >= 0 {
			c.root().used[i] = true
		}
	}
}

func (c *class) useAll() {
	used := c.root().used
	for i := range used {
		used[i] = true
	}
}

// project decides the set's columns; the same answer for all of its streams.
func (c *class) project() *class {
	r := c.root()
	if r.pruned != nil {
		return r
	}
	r.at = make([]int, r.schema.Len())
	var kept []int
	for i, u := range r.used {
		r.at[i] = -1
		if u {
			r.at[i] = len(kept)
			kept = append(kept, i)
		}
	}
	r.pruned = r.schema.Project(kept)
	return r
}

// move replaces columns of the full schema by those of the pruned one.
func (c *class) move(columns []int) {
	for i, column := range columns {
		columns[i] = c.at[column]
	}
}

// pruner has the class of each producer's main output and of each step's input.
type pruner struct {
	out map[*producer]*class
	in  map[*producer]*class
}

func (u *pruner) of(r ref) *class {
	if r.Output != "" {
		return u.in[r.from] // late records leave as they came
	}
	return u.out[r.from]
}

// prune leaves out the columns that nobody uses and sets all schemas of the
// plan. Demand flows against the records, and sideways through unions.
func (b *builder) prune() {
	u := &pruner{out: map[*producer]*class{}, in: map[*producer]*class{}}
	for _, p := range b.order {
		if p.source != nil {
			u.out[p] = newClass(p.output)
			u.out[p].use(p.event)
			continue
		}
		u.step(p)
	}
	sinks := make([]*class, len(b.sinks))
	for i, s := range b.sinks {
		sinks[i] = newClass(s.input)
		sinks[i].useAll()
		for _, r := range s.refs {
			sinks[i].join(u.of(r))
		}
	}
	for _, p := range b.order {
		if s := p.source; s != nil {
			c := u.out[p].project()
			s.Output = c.pruned
			if p.event >= 0 {
				s.EventTime = c.at[p.event]
			}
			continue
		}
		in := u.in[p].project()
		p.step.Input, p.step.Output = in.pruned, u.out[p].project().pruned
		in.move(p.step.KeyBy)
		if w := p.step.Window; w != nil {
			for i := range w.Aggregates {
				if a := &w.Aggregates[i]; a.Column >= 0 {
					a.Column = in.at[a.Column]
				}
			}
			if w.Function != nil {
				in.move(w.Function.Input)
			}
		}
	}
	for i, s := range b.sinks {
		s.sink.Input = sinks[i].project().pruned
	}
}

// step notes what a step uses of what it reads.
func (u *pruner) step(p *producer) {
	in := newClass(p.input)
	u.in[p] = in
	for _, r := range p.refs {
		in.join(u.of(r))
	}
	w := p.step.Window
	if w == nil {
		u.out[p] = in
		return
	}
	in.use(p.step.KeyBy...)
	for _, a := range w.Aggregates {
		in.use(a.Column)
	}
	if w.Function != nil {
		in.use(w.Function.Input...)
	}
	u.out[p] = newClass(p.output)
	u.out[p].useAll() // a window puts out all that it computes
}
