package runtime

import (
	"errors"
	"fmt"
	"math"

	"github.com/wasmstream/wasmstream/host/job"
	"github.com/wasmstream/wasmstream/host/operator/aggregate"
	"github.com/wasmstream/wasmstream/host/operator/window"
	"github.com/wasmstream/wasmstream/host/state"
	"github.com/wasmstream/wasmstream/host/stream"
)

// ErrNotOffered is what a job asks for and the engine does not have yet.
var ErrNotOffered = errors.New("is not offered yet")

// windowOf makes the operator of a windowed step or join, without its contents.
func (b *builder) windowOf(s *job.Step, n *node, stats *StepStats, options window.Options) *windowOperator {
	core := window.New(options)
	out := b.output(job.StreamRef{Name: s.Name}, n)
	return &windowOperator{
		core: core, merges: core.Merges(), stateful: core.NeedsTrigger(), clocked: options.Assigner.Processing, stats: stats,
		facts: window.Facts{Now: window.Now{Watermark: stream.MinTime, Clock: b.config.Clock.Now()}},
		out:   out, keeper: b.keeper(s, out),
	}
}

// keeper is a task's, but for its backend and further outputs.
func (b *builder) keeper(s *job.Step, out *output) keeper {
	return keeper{outs: []*output{out}, check: b.job.check, step: s.Name, records: b.config.Limits.SliceRecords}
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
	}
	agg, err := b.aggregator(s, o)
	if err != nil {
		return nil, nil, err
	}
	if w.Options.Evictor == nil {
		o.contents = &accumulated{agg, o.backend}
		if o.panes != nil {
			o.panes.fn, o.panes.restored = agg, b.manifest() != nil
		}
		return o, &o.keeper, nil
	}
	o.contents = &listed{
		backend: o.backend, evictor: w.Options.Evictor, values: [2]*number{numberOf(s.Input, w.EvictorField)},
		fn: recomputed{agg},
	}
	return o, &o.keeper, nil
}

// windowCells makes the state of a windowed step whose accumulators have so many
// bytes; 0: it has none. With lists they are scratch.
func (b *builder) windowCells(o *windowOperator, accumulator int, isListed bool) (cell state.Cell) {
	contents, trigger, scratch := accumulator, state.Variable, state.Variable
	switch {
	case o.stateful || o.merges:
		trigger = stateBytes
	case o.panes != nil:
		trigger = o.panes.setBytes()
	}
	if cell = contentsCell; isListed {
		contents, scratch, cell = state.Variable, accumulator, accumulatorCell
	}
	o.backend = state.NewMemory(b.plan.MaxParallelism, contents, trigger, state.Variable, scratch, state.Variable)
	return cell
}

// aggregator makes the state of a windowed step and the function on it.
func (b *builder) aggregator(s *job.Step, o *windowOperator) (aggregator, error) {
	w := s.Window
	isListed := w.Options.Evictor != nil
	if w.Function != nil {
		f := w.Function
		if !f.Accumulator.IsFixedWidth() {
			return nil, fmt.Errorf("function %s has an accumulator of variable width, %s, which %w", f.Name, f.Accumulator, ErrNotOffered)
		}
		o.panes = newPanes(o.core, &w.Options)
		cell := b.windowCells(o, f.Accumulator.FixedBytes(), isListed)
		return b.guest(s, o, cell, b.resultsOf(s, o, f.Result()))
	}
	calls := make([]aggregate.Call, len(w.Aggregates))
	for i, a := range w.Aggregates {
		calls[i] = aggregate.Call{Name: a.Name, Kind: a.Kind, Input: a.Column}
	}
	fn, err := aggregate.New(s.Input, calls)
	if err != nil {
		return nil, err
	}
	n := &native{fn: fn, out: o.out}
	bytes, always := fn.AccumulatorBytes()
	if !always {
		n.fresh, bytes = make([]byte, bytes), state.Variable
	}
	if always && fn.MergesExactly() {
		o.panes = newPanes(o.core, &w.Options)
	}
	n.cell = b.windowCells(o, bytes, isListed)
	n.backend, n.results = o.backend, b.resultsOf(s, o, fn.Result())
	return n, nil
}

// resultsOf lays out what a windowed step puts out, as its output mode has it.
func (b *builder) resultsOf(s *job.Step, o *windowOperator, aggregate *stream.Schema) results {
	bounded := s.Window.Options.Assigner.Kind != window.GlobalWindows
	r := newResults(stream.NewJoin(s.Input.Project(s.KeyBy), aggregate, s.Output), s.Output, bounded)
	if s.Window.Output != job.Append {
		r.ledger = &ledger{mode: s.Window.Output, merges: o.merges, backend: o.backend}
	}
	return r
}

// guest makes a Wasm function, in an instance of its own.
func (b *builder) guest(s *job.Step, o *windowOperator, cell state.Cell, r results) (aggregator, error) {
	f := s.Window.Function
	instance, err := b.config.Guest(f)
	if err != nil {
		return nil, err
	}
	b.job.guests = append(b.job.guests, instance)
	g := &guest{
		instance: instance, function: f, key: s.Input.Project(s.KeyBy),
		input: stream.NewProjection(s.Input, f.Inputs[0].Columns), answer: f.Result(), stride: f.Accumulator.FixedBytes(),
		backend: o.backend, cell: cell, out: o.out, opsMax: min(frameOpsMax, 4*b.config.Limits.BatchRows), results: r,
	}
	return g, g.open(f.Parameters)
}

func (b *builder) windowJoin(s *job.Step, n *node, stats *StepStats) (operator, *keeper, error) {
	j := s.WindowJoin
	o := b.windowOf(s, n, stats, j.Options)
	o.shownKey = j.Left.Input.Project(j.Left.Key)
	list := &listed{evictor: j.Options.Evictor}
	for i, from := range [2]*job.Side{&j.Left, &j.Right} {
		o.sides[i] = windowSide{
			key: stream.NewProjection(from.Input, from.Key),
			gap: numberOf(from.Input, from.GapField), trigger: numberOf(from.Input, from.TriggerField),
		}
		list.values[i] = numberOf(from.Input, from.EvictorField)
	}
	b.windowCells(o, 0, true)
	list.backend = o.backend
	list.fn = &crossProduct{
		out: o.out, results: newResults(joinOf(s, &j.Left, &j.Right), s.Output, j.Options.Assigner.Kind != window.GlobalWindows),
		pads:  [2]stream.Row{nullRow(j.Left.Input), nullRow(j.Right.Input)},
		outer: outerSides(j.Type),
	}
	o.contents = list
	return o, &o.keeper, nil
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
		join: joinOf(s, &j.Left, &j.Right),
	}
	o.backend = state.NewMemory(b.plan.MaxParallelism, joinMetaBytes, state.Variable, state.Variable)
	for i, from := range [2]*job.Side{&j.Left, &j.Right} {
		o.sides[i] = intervalSide{
			key: stream.NewProjection(from.Input, from.Key), lower: lower, upper: upper, outer: outer[i],
			null: nullRow(from.Input), namespace: state.Namespace{Start: int64(i) + 2},
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
