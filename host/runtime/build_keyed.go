package runtime

import (
	"math"

	"github.com/wasmstream/wasmstream/abi"
	"github.com/wasmstream/wasmstream/host/job"
	"github.com/wasmstream/wasmstream/host/operator/aggregate"
	"github.com/wasmstream/wasmstream/host/operator/window"
	"github.com/wasmstream/wasmstream/host/state"
	"github.com/wasmstream/wasmstream/host/stream"
)

// windowOf makes the operator of a windowed step or join, without its contents.
func (b *builder) windowOf(s *job.Step, n *node, stats *StepStats, options window.Options) *windowOperator {
	core := window.New(options)
	out := b.output(job.StreamRef{Name: s.Name}, n)
	o := &windowOperator{
		core: core, merges: core.Merges(), stateful: core.NeedsTrigger(), clocked: options.Assigner.Processing, stats: stats,
		facts: window.Facts{Now: window.Now{Watermark: stream.MinTime, Clock: b.config.Clock.Now()}},
		out:   out, keeper: b.keeper(s, out),
	}
	o.faults = b.faults(s, n, stats, &o.outs)
	return o
}

// lateOf leaves the key that a function computed out of late records; nil: there is none.
func lateOf(s *job.Step) *stream.Projection {
	if s.Computed == 0 {
		return nil
	}
	return stream.NewProjection(s.Input, columnsBefore(s.Input.Len()-s.Computed))
}

// keeper is a task's, but for its backend and further outputs.
func (b *builder) keeper(s *job.Step, out *output) keeper {
	return keeper{outs: outputs{out}, check: b.job.check, step: s.Name, records: b.config.Limits.SliceRecords, limit: newStateLimit(s)}
}

// numberOf is a column that holds numbers; nil for -1.
func numberOf(s *stream.Schema, column int) *number {
	if column < 0 {
		return nil
	}
	return &number{s.Column(column)}
}

func (b *builder) windowStep(s *job.Step, n *node, stats *StepStats) (operator, *keeper, error) {
	w := s.Window
	o := b.windowOf(s, n, stats, w.Options)
	o.shownKey = s.Input.Project(s.KeyBy)
	o.sides[left] = windowSide{
		key: stream.NewProjection(s.Input, s.KeyBy), gap: numberOf(s.Input, w.GapField), trigger: numberOf(s.Input, w.TriggerField),
	}
	if w.LateOutput != "" {
		o.late = b.output(job.StreamRef{Name: s.Name, Output: w.LateOutput}, n)
		o.outs = append(o.outs, o.late)
		o.lateOf = lateOf(s)
	}
	if err := b.askFunctions(o, &w.Functions, s.Input); err != nil {
		return nil, nil, err
	}
	var err error
	if w.KeepsRecords() {
		o.contents, err = b.bareApply(s, n, o)
	} else {
		o.contents, err = b.condensed(s, n, o)
	}
	return o, &o.keeper, err
}

// bareApply makes the contents of a step whose function gets all records.
func (b *builder) bareApply(s *job.Step, n *node, o *windowOperator) (contents, error) {
	w := s.Window
	if _, err := b.windowCells(o, 0, true, w.Apply); err != nil {
		return nil, err
	}
	fn, err := b.windowFunction(s, n, o, w.Apply, abi.OpOnWindow, s.Input)
	if err != nil {
		return nil, err
	}
	list, err := b.listOf(o, &w.Options, &w.Functions, fn, s.Input)
	if err != nil {
		return nil, err
	}
	list.values[left] = numberOf(s.Input, w.EvictorField)
	return list, nil
}

// condensed makes the contents of a step with an aggregate or reduce function.
func (b *builder) condensed(s *job.Step, n *node, o *windowOperator) (contents, error) {
	w := s.Window
	agg, fn, err := b.aggregator(s, n, o)
	if err != nil {
		return nil, err
	}
	var c contents
	if w.Options.Evictor == nil {
		c = &accumulated{agg, o.backend}
		if o.panes != nil {
			o.panes.fn, o.panes.restored = agg, b.manifest() != nil
		}
	} else {
		list, err := b.listOf(o, &w.Options, &w.Functions, o.recomputedOf(agg), s.Input)
		if err != nil {
			return nil, err
		}
		list.values[left] = numberOf(s.Input, w.EvictorField)
		c = list
	}
	if fn != nil {
		c = &applied{c, fn}
	}
	return c, nil
}

// windowCells makes the state of a windowed step whose accumulators have so many bytes; 0:
// it has none. It returns their cell: with lists they are scratch. apply may be nil.
func (b *builder) windowCells(o *windowOperator, accumulator int, isListed bool, apply *job.Function) (cell state.Cell, err error) {
	cells := []int{
		contentsCell: state.Variable, triggerCell: state.Variable, setCell: state.Variable,
		accumulatorCell: state.Variable, ledgerCell: state.Variable,
	}
	if cell = contentsCell; isListed {
		cell = accumulatorCell
	}
	cells[cell] = accumulator
	switch {
	case o.core.Asks():
		cells[triggerCell] = o.phases.trigger.values[ofWindow].cellBytes()
	case o.stateful || o.merges:
		cells[triggerCell] = stateBytes
	case o.panes != nil:
		cells[triggerCell] = o.panes.setBytes()
	}
	if s := windowStatesOf(apply); s.has() {
		cells = append(cells, s.values[ofWindow].cellBytes(), s.values[ofKey].cellBytes())
	}
	o.backend = state.NewMemory(b.plan.MaxParallelism, cells...)
	if o.merges && o.core.Asks() && o.faults.policy != job.Fail {
		o.phases.rewinds = &rewinds{undoing: undoing{Backend: o.backend, cells: cells}, rows: rowActsMax}
		o.backend = &o.phases.rewinds.undoing
	}
	o.sessions.backend = o.backend
	if o.core.Asks() {
		err = o.phases.trigger.keep(o.backend)
	}
	return cell, err
}

// aggregator makes the state of a windowed step, what condenses its records, and the
// function that gets the results, if there is one.
func (b *builder) aggregator(s *job.Step, n *node, o *windowOperator) (aggregator, *windowFunction, error) {
	w := s.Window
	isListed := w.Options.Evictor != nil
	if w.Reduce != nil {
		return b.reducing(s, n, o, isListed)
	}
	if w.Function != nil {
		f := w.Function
		bytes := state.Variable
		if f.Accumulator.IsFixedWidth() {
			bytes = f.Accumulator.FixedBytes()
			o.panes = newPanes(o.core, &w.Options)
		}
		cell, err := b.windowCells(o, bytes, isListed, w.Apply)
		if err != nil {
			return nil, nil, err
		}
		r, err := b.resultsOf(s, n, o, f.Result())
		if err != nil {
			return nil, nil, err
		}
		g, err := b.guest(s, o, cell, r)
		return g, r.apply, err
	}
	calls := make([]aggregate.Call, len(w.Aggregates))
	for i, a := range w.Aggregates {
		calls[i] = aggregate.Call{Name: a.Name, Kind: a.Kind, Input: a.Column}
	}
	fn, err := aggregate.New(s.Input, calls)
	if err != nil {
		return nil, nil, err
	}
	g := &native{fn: fn, out: o.out}
	bytes, always := fn.AccumulatorBytes()
	if !always {
		g.fresh, bytes = make([]byte, bytes), state.Variable
	}
	if always && fn.MergesExactly() {
		o.panes = newPanes(o.core, &w.Options)
	}
	if g.cell, err = b.windowCells(o, bytes, isListed, w.Apply); err != nil {
		return nil, nil, err
	}
	g.backend = o.backend
	g.results, err = b.resultsOf(s, n, o, fn.Result())
	return g, g.results.apply, err
}

// reducing makes the state of a windowed step with a reduce function, and it.
func (b *builder) reducing(s *job.Step, n *node, o *windowOperator, isListed bool) (aggregator, *windowFunction, error) {
	w := s.Window
	bytes := state.Variable
	if acc := w.Reduce.Accumulator; acc.IsFixedWidth() {
		bytes = acc.FixedBytes()
		o.panes = newPanes(o.core, &w.Options)
	}
	cell, err := b.windowCells(o, bytes, isListed, w.Apply)
	if err != nil {
		return nil, nil, err
	}
	r, err := b.resultsOf(s, n, o, w.Reduce.Accumulator.Project(reducedColumns(s)))
	if err != nil {
		return nil, nil, err
	}
	g, err := b.reducer(s, o, cell, r)
	return g, r.apply, err
}

// resultsOf lays out what a windowed step puts out, as its output mode has it, or hands
// results to its function. The state is made already.
func (b *builder) resultsOf(s *job.Step, n *node, o *windowOperator, aggregate *stream.Schema) (results, error) {
	w := s.Window
	if w.Apply != nil {
		fn, err := b.windowFunction(s, n, o, w.Apply, abi.OpOnWindow, aggregate)
		return results{apply: fn}, err
	}
	bounded := w.Options.Assigner.Kind != window.GlobalWindows
	r := newResults(stream.NewJoin(s.Input.Project(s.KeyBy), aggregate, s.Output), s.Output, bounded)
	r.failed = o.faults.out
	if w.Output != job.Append {
		r.ledger = &ledger{mode: w.Output, merges: o.merges, backend: o.backend}
	}
	return r, nil
}

// guest makes an aggregate that is a function.
func (b *builder) guest(s *job.Step, o *windowOperator, cell state.Cell, r results) (aggregator, error) {
	f := s.Window.Function
	g := &guest{
		withoutTimers: withoutTimers{o.limit},
		function:      f, key: s.Input.Project(s.KeyBy), input: stream.NewProjection(s.Input, f.Inputs[0].Columns),
		backend: o.backend, cell: cell, variable: !f.Accumulator.IsFixedWidth(), out: o.out, results: r, faults: o.faults, stamp: 1,
		originals: o.faults.originals(s.Input),
	}
	var err error
	g.caller, err = b.caller(f, g)
	return g, err
}

// twoSided gives a windowed step the sides of a join or co-group, and its state: lists.
func (b *builder) twoSided(o *windowOperator, fns *job.WindowFunctions, apply *job.Function, sides ...*job.Side) error {
	o.shownKey = sides[left].Input.Project(sides[left].Key)
	for i, from := range sides {
		o.sides[i] = windowSide{
			key: stream.NewProjection(from.Input, from.Key),
			gap: numberOf(from.Input, from.GapField), trigger: numberOf(from.Input, from.TriggerField),
		}
	}
	if err := b.askFunctions(o, fns, sides[left].Input, sides[right].Input); err != nil {
		return err
	}
	_, err := b.windowCells(o, 0, true, apply)
	return err
}

// listOfBoth makes the contents of a join or co-group.
func (b *builder) listOfBoth(o *windowOperator, options *window.Options, fns *job.WindowFunctions, fn listFunction, sides ...*job.Side) error {
	list, err := b.listOf(o, options, fns, fn, sides[left].Input, sides[right].Input)
	for i, from := range sides {
		list.values[i] = numberOf(from.Input, from.EvictorField)
	}
	o.contents = list
	return err
}

func (b *builder) coGroup(s *job.Step, n *node, stats *StepStats) (operator, *keeper, error) {
	g := s.CoGroup
	o := b.windowOf(s, n, stats, g.Options)
	if err := b.twoSided(o, &g.Functions, nil, &g.Left, &g.Right); err != nil {
		return nil, nil, err
	}
	fn, err := b.windowFunction(s, n, o, g.Function, abi.OpOnGroup, g.Left.Input, g.Right.Input)
	if err != nil {
		return nil, nil, err
	}
	return o, &o.keeper, b.listOfBoth(o, &g.Options, &g.Functions, fn, &g.Left, &g.Right)
}

func (b *builder) windowJoin(s *job.Step, n *node, stats *StepStats) (operator, *keeper, error) {
	j := s.WindowJoin
	o := b.windowOf(s, n, stats, j.Options)
	if err := b.twoSided(o, &j.Functions, nil, &j.Left, &j.Right); err != nil {
		return nil, nil, err
	}
	fn := &crossProduct{out: o.out, outer: outerSides(j.Type), now: &o.facts.Now}
	if j.Function != nil {
		var err error
		if fn.fn, err = b.pairs(j.Function, o.failing, o.out, &j.Left, &j.Right); err != nil {
			return nil, nil, err
		}
	} else {
		fn.results = newResults(joinOf(s, &j.Left, &j.Right), s.Output, j.Options.Assigner.Kind != window.GlobalWindows)
		fn.results.failed = o.faults.out
		fn.pads = [2]stream.Row{nullRow(j.Left.Input), nullRow(j.Right.Input)}
	}
	return o, &o.keeper, b.listOfBoth(o, &j.Options, &j.Functions, fn, &j.Left, &j.Right)
}

// nullRow is a row of which every column is NULL.
func nullRow(s *stream.Schema) stream.Row {
	w := stream.NewRowWriter(s)
	w.BeginIn(nil, stream.Insert)
	for i := range s.Len() {
		w.SetNull(i)
	}
	return w.Buffer()
}

// outerSides tells which sides' rows are put out without a partner.
func outerSides(t job.JoinType) [2]bool {
	return [2]bool{t == job.LeftJoin || t == job.FullJoin, t == job.RightJoin || t == job.FullJoin}
}

// joinOf lays out what a join puts out.
func joinOf(s *job.Step, l, r *job.Side) *stream.Join {
	return stream.NewJoinOf(l.Input, l.Output, r.Input, r.Output, s.Output)
}

func (b *builder) intervalJoin(s *job.Step, n *node, stats *StepStats) (operator, *keeper, error) {
	j := s.IntervalJoin
	lower, upper := j.Lower, j.Upper
	if j.LowerExclusive {
		lower++
	}
	if j.UpperExclusive {
		upper--
	}
	outer := outerSides(j.Type)
	out := b.output(job.StreamRef{Name: s.Name}, n)
	o := &intervalOperator{
		out: out, keeper: b.keeper(s, out), stats: stats, now: stream.MinTime,
	}
	o.faults = b.faults(s, n, stats, &o.outs)
	if j.Function != nil {
		var err error
		if o.fn, err = b.pairs(j.Function, o.failing, out, &j.Left, &j.Right); err != nil {
			return nil, nil, err
		}
		o.clock = b.config.Clock.Now()
	} else {
		o.join = joinOf(s, &j.Left, &j.Right)
	}
	o.backend = state.NewMemory(b.plan.MaxParallelism, joinMetaBytes, state.Variable, state.Variable)
	for i, from := range [2]*job.Side{&j.Left, &j.Right} {
		o.sides[i] = intervalSide{
			key: stream.NewProjection(from.Input, from.Key), lower: lower, upper: upper, outer: outer[i],
			null: nullRow(from.Input), namespace: state.Namespace{Start: int64(i) + 2},
		}
		if j.Function != nil {
			o.sides[i].null = nil // it is told that the side is missing
		}
		if from.LateOutput != "" {
			o.sides[i].late = b.output(job.StreamRef{Name: s.Name, Output: from.LateOutput}, n)
			o.outs = append(o.outs, o.sides[i].late)
		}
	}
	o.sides[right].lower, o.sides[right].upper = negate(upper), negate(lower)
	for i := range o.sides {
		if outer[i] {
			o.delay = max(o.delay, o.sides[i].keptFor())
		}
	}
	return o, &o.keeper, nil
}

// negate is -n, held at the limit.
func negate(n int64) int64 {
	if n == math.MinInt64 {
		return math.MaxInt64
	}
	return -n
}
