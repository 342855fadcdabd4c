package job

import "github.com/wasmstream/wasmstream/host/stream"

// class is a set of streams that must have one schema to the byte, because
// they meet in a step or sink, or because a step hands rows on as they are. A
// column is kept in all of them if it is used of one (invariant D).
type class struct {
	parent *class // nil for the one that stands for the set
	schema *stream.Schema
	used   []bool
	feeds  []feed // of the representative: where its columns come from
	// Of the representative, once pruned.
	pruned *stream.Schema
	at     []int // column of schema → column of pruned
}

// feed tells that columns of a join's output are columns of one of its sides:
// those from first on, all of the side's.
type feed struct {
	first int
	from  *class
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
	a.feeds = append(a.feeds, b.feeds...)
	b.parent, b.used, b.feeds = a, nil, nil
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

// pruner has the class of each producer's main output and of what each side of
// a step reads.
type pruner struct {
	out map[*producer]*class
	in  map[*side]*class
	own map[*extra]*class // of outputs with rows of their own
}

func (u *pruner) of(r ref) *class {
	switch {
	case r.extra != nil && r.extra.of != nil:
		return u.in[r.extra.of] // late records leave as they came
	case r.extra != nil:
		return u.own[r.extra]
	}
	return u.out[r.from]
}

// prune leaves out the columns that nobody uses and sets all schemas of the
// plan. Demand flows against the records, and sideways through unions.
func (b *builder) prune() {
	u := &pruner{out: map[*producer]*class{}, in: map[*side]*class{}, own: map[*extra]*class{}}
	for _, p := range b.order {
		if p.source != nil {
			u.out[p] = newClass(p.output)
			u.out[p].use(p.event)
			u.functions(p)
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
	u.spread(b.order)
	for _, p := range b.order {
		if s := p.source; s != nil {
			c := u.out[p].project()
			s.Output = c.pruned
			if p.event >= 0 {
				s.EventTime = c.at[p.event]
			}
			u.settleFunctions(p)
			p.settleMetadata(c.at)
			continue
		}
		u.settle(p)
	}
	for i, s := range b.sinks {
		s.sink.Input = sinks[i].project().pruned
	}
}

// settleMetadata splits a source's columns into those that are decoded and those
// of its metadata; at says where each is in Output.
func (p *producer) settleMetadata(at []int) {
	s, first := p.source, len(at)-len(p.metadata)
	for i, kind := range p.metadata {
		if column := at[first+i]; column >= 0 {
			s.Metadata = append(s.Metadata, MetadataColumn{Kind: kind, Column: column})
		}
	}
	decoded := make([]int, s.Output.Len()-len(s.Metadata))
	for i := range decoded {
		decoded[i] = i
	}
	s.Value = s.Output.Project(decoded)
}

// step notes what a step uses of what it reads.
func (u *pruner) step(p *producer) {
	for _, s := range p.sides {
		in := newClass(s.input)
		u.in[s] = in
		for _, r := range s.refs {
			in.join(u.of(r))
		}
		in.use(s.gap, s.trigger, s.evictor)
		if p.step.OnFault == DeadLetter {
			in.useAll() // a dead letter is the record as it came
		}
	}
	if q := p.keyed; q != nil && p.late(nil) != "" {
		u.out[q].useAll() // a late record is what came, without the key
	}
	u.functions(p)
	w := p.step.Window
	switch {
	case p.operation == keyOperation:
		u.key(p)
		return
	case p.operation == mapOperation || p.operation == flatMapOperation || p.operation == enrichOperation:
		u.in[p.sides[0]].use(p.step.KeyBy...)
		u.out[p] = newClass(p.output)
		u.out[p].useAll() // what there is in it is the function's to say
		return
	case w == nil && !p.isJoin() && !p.isProcess():
		u.out[p] = u.in[p.sides[0]]
		return
	}
	out := newClass(p.output)
	u.out[p] = out
	if p.isProcess() {
		u.in[p.sides[0]].use(p.keys[0]...)
		u.in[p.sides[len(p.sides)-1]].use(p.keys[1]...)
		out.useAll() // what there is in it is the function's to say
		return
	}
	if p.isJoin() && p.makesRows() {
		for i, s := range p.sides {
			u.in[s].use(p.keys[i]...)
		}
		out.useAll()
		return
	}
	if p.isJoin() {
		first := 0
		for i, s := range p.sides {
			u.in[s].use(p.keys[i]...)
			out.feeds = append(out.feeds, feed{first, u.in[s]})
			first += s.input.Len()
		}
		for ; first < p.output.Len(); first++ {
			out.use(first) // the window's bounds
		}
		return
	}
	in := u.in[p.sides[0]]
	in.use(p.step.KeyBy...)
	for _, a := range w.Aggregates {
		in.use(a.Column)
	}
	out.useAll() // a window puts out all that it computes
}

// key: the columns of the record are passed on as far as they are used, as by a join.
func (u *pruner) key(p *producer) {
	in, out := u.in[p.sides[0]], newClass(p.output)
	u.out[p] = out
	out.feeds = []feed{{0, in}}
	for i := p.sides[0].input.Len(); i < p.output.Len(); i++ {
		out.use(i)
	}
}

// spread takes demand through joins, from what is used of their outputs to
// their sides, until nothing is added. It comes last because a union may join a
// set of streams with one that a later step uses.
func (u *pruner) spread(order []*producer) {
	type use struct {
		of     *class
		column int
	}
	var todo []use
	note := func(c *class, column int) { todo = append(todo, use{c, column}) }
	seen := map[*class]bool{}
	for _, p := range order {
		c := u.out[p].root()
		if seen[c] || len(c.feeds) == 0 {
			continue
		}
		seen[c] = true
		for i, used := range c.used {
			if used {
				note(c, i)
			}
		}
	}
	for len(todo) > 0 {
		next := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, f := range next.of.feeds {
			from := f.from.root()
			column := next.column - f.first
			if column < 0 || column >= len(from.used) || from.used[column] {
				continue
			}
			from.used[column] = true
			if len(from.feeds) > 0 {
				note(from, column)
			}
		}
	}
}

// settle sets a step's schemas and the columns that it names.
func (u *pruner) settle(p *producer) {
	step, out := p.step, u.out[p].project()
	step.Output = out.pruned
	u.settleFunctions(p)
	first := 0
	for i, s := range p.sides {
		in := u.in[s].project()
		for _, column := range []*int{&s.gap, &s.trigger, &s.evictor} {
			if *column >= 0 {
				*column = in.at[*column]
			}
		}
		if len(p.sides) == 1 {
			step.Input = in.pruned
			in.move(step.KeyBy)
			step.Pass = passed(p, in, out)
			if p.keyed != nil {
				step.Computed = len(step.KeyBy)
			}
			continue
		}
		plan := step.Sides()[i]
		plan.Input = in.pruned
		plan.GapField, plan.TriggerField, plan.EvictorField = s.gap, s.trigger, s.evictor
		in.move(plan.Key)
		if p.makesRows() || p.isProcess() {
			continue
		}
		for column, at := range in.at {
			if out.at[first+column] >= 0 {
				plan.Output = append(plan.Output, at)
			}
		}
		first += len(in.at)
	}
	w := step.Window
	if w == nil {
		return
	}
	in, s := u.in[p.sides[0]].project(), p.sides[0]
	w.GapField, w.TriggerField, w.EvictorField = s.gap, s.trigger, s.evictor
	for i := range w.Aggregates {
		if a := &w.Aggregates[i]; a.Column >= 0 {
			a.Column = in.at[a.Column]
		}
	}
}

// makesRows tells of a join or co-group whose function makes its rows.
func (p *producer) makesRows() bool {
	s := p.step
	return s.CoGroup != nil || s.WindowJoin != nil && s.WindowJoin.Function != nil || s.IntervalJoin != nil && s.IntervalJoin.Function != nil
}

// passed are the columns that a step passes on which computes a key.
func passed(p *producer, in, out *class) (columns []int) {
	if p.operation != keyOperation {
		return nil
	}
	for column, at := range in.at {
		if out.at[column] >= 0 {
			columns = append(columns, at)
		}
	}
	return columns
}

// functions notes what functions take, and the rows that they put out.
func (u *pruner) functions(p *producer) {
	for _, x := range p.extras {
		if x.of == nil {
			u.own[x] = newClass(x.schema)
			u.own[x].useAll() // what there is in it is the function's to say
		}
	}
	for _, f := range p.functions {
		for i, s := range f.sides {
			if in := u.read(p, s); in != nil {
				in.use(f.function.Inputs[i].Columns...)
			}
		}
	}
}

// read is the class of what a function takes; nil if it is no stream. A source's
// functions read its own output.
func (u *pruner) read(p *producer, s *side) *class {
	if p.source != nil {
		return u.out[p]
	}
	return u.in[s]
}

// settleFunctions sets the columns that functions take.
func (u *pruner) settleFunctions(p *producer) {
	for _, f := range p.functions {
		if p.step != nil {
			p.step.Functions = append(p.step.Functions, f.function)
		}
		for i, s := range f.sides {
			if in := u.read(p, s); in != nil {
				in.project().move(f.function.Inputs[i].Columns)
			}
		}
	}
}
