package runtime

import (
	"github.com/wasmstream/wasmstream/abi"
	guests "github.com/wasmstream/wasmstream/host/guest"
	"github.com/wasmstream/wasmstream/host/job"
	"github.com/wasmstream/wasmstream/host/stream"
)

// each asks a function about each record by itself: a map, a filter, a flat-map, or
// what computes a key. Event time and kind of change of a record go over to what is
// made of it.
//
// Ops are put off to the end of the batch, or until a frame is full; watermarks wait
// behind the results that they follow.
type each struct {
	timeless
	caller  *guests.Caller
	input   *stream.Projection // to the columns that the function declares
	join    *stream.Join       // role key: the record and its key
	results []*output          // by the aux of an emit
	outs    []*output          // those, and that of dead letters
	failing
	function *job.Function
	schema   *stream.Schema // of the records
	shot     func(epoch int64)

	now   stream.EventTime // the watermark
	clock stream.ProcTime
	asked stream.ProcTime // the clock of the frame's ops
	batch *stream.Batch   // that ops are of
	ops   []int32         // rows of batch
	marks pendingMarks
	kept  bool // the present op's record is let through
}

// pendingMarks are watermarks that wait behind a number of ops.
type pendingMarks []pendingWatermark

type pendingWatermark struct {
	ops int
	at  stream.EventTime
}

func (p *pendingMarks) add(ops int, at stream.EventTime) {
	if n := len(*p); n > 0 && (*p)[n-1].ops == ops {
		(*p)[n-1].at = at // nothing between tells that the one before was there
		return
	}
	*p = append(*p, pendingWatermark{ops, at})
}

// pass puts out what waits behind at most so many ops.
func (p *pendingMarks) pass(ops int, outs []*output) {
	n := 0
	for ; n < len(*p) && (*p)[n].ops <= ops; n++ {
		for _, out := range outs {
			out.batch.Mark(stream.MarkWatermark, int64((*p)[n].at))
		}
	}
	if n > 0 {
		*p = (*p)[:copy(*p, (*p)[n:])]
	}
}

func (o *each) rows(_ side, b *stream.Batch, from, to int) (int, error) {
	o.batch = b
	if len(o.ops) == 0 {
		o.asked = o.clock
	}
	ctx := guests.Context{Watermark: int64(o.now), Clock: int64(o.asked)}
	for i := from; i < to; i++ {
		if o.isFull() {
			return i, nil
		}
		ctx.Time = int64(b.Time(i))
		o.caller.Add(abi.OpOnRecord, guests.NoGroup, o.caller.Row(o.input, b.Row(i)), &ctx)
		o.ops = append(o.ops, int32(i))
		if o.caller.Due() {
			if err := o.perform(); err != nil {
				return i, err
			}
			o.asked = o.clock
			ctx.Clock = int64(o.asked)
		}
	}
	return to, nil
}

func (o *each) isFull() bool {
	for _, out := range o.outs {
		if out.isFull() {
			return true
		}
	}
	return false
}

// perform has the ops performed that were put off; there is room for what comes of
// them.
func (o *each) perform() error {
	if len(o.ops) == 0 {
		return nil
	}
	if err := o.caller.Perform(); err != nil {
		return err
	}
	o.marks.pass(len(o.ops), o.outs)
	o.ops = o.ops[:0]
	return nil
}

func (o *each) advance(t stream.EventTime) (bool, error) {
	if len(o.ops) == 0 && o.isFull() {
		return false, nil
	}
	o.now = t
	o.marks.add(len(o.ops), t)
	if len(o.ops) == 0 {
		o.marks.pass(0, o.outs)
	}
	return true, nil
}

func (o *each) setClock(now stream.ProcTime) { o.clock = now }

func (o *each) complete() (bool, error) {
	if len(o.ops) > 0 && o.isFull() {
		return false, nil
	}
	return true, o.perform()
}

func (o *each) status(kind stream.MarkKind) {
	for _, out := range o.outs {
		out.batch.Mark(kind, 0)
	}
}

func (o *each) barrier(epoch int64) error {
	o.shot(epoch)
	for _, out := range o.outs {
		out.seal(epoch)
	}
	return nil
}

func (o *each) end() error {
	o.status(stream.MarkEnd)
	return nil
}

func (o *each) drain(all bool) bool {
	ok := true
	for _, out := range o.outs {
		ok = out.drain(all) && ok
	}
	return ok
}

// Load and Store are of slots, which these functions do not have.
func (o *each) Load(dst []byte, _ uint32, _ int) []byte   { return dst }
func (o *each) Store(_ uint32, _ int, _ stream.Row) error { return nil }

// Take implements guest.Role.
func (o *each) Take(i int, e abi.Effect) error {
	if len(o.marks) > 0 {
		o.marks.pass(i, o.outs)
	}
	n := int(o.ops[i])
	if e.Kind == abi.EffectKeep {
		o.kept = true
		return nil
	}
	to := o.results[e.Aux].batch
	if o.join != nil {
		row := o.batch.Row(n)
		to.AppendJoined(o.join, row, e.Payload, row.Change(), o.batch.Time(n))
	} else {
		if k := o.batch.Change(n); k != stream.Insert {
			e.Payload[0] = byte(k) // not else: to copy what was just written by the byte takes longer
		}
		to.Append(e.Payload, o.batch.Time(n))
	}
	to.CopyOrigin(o.batch, n)
	return nil
}

// Done implements guest.Role.
func (o *each) Done(i int) error {
	if o.kept {
		n := int(o.ops[i])
		o.results[0].batch.Append(o.batch.Row(n), o.batch.Time(n))
		o.results[0].batch.CopyOrigin(o.batch, n)
		o.kept = false
	}
	return nil
}

// Fault implements guest.Role.
func (o *each) Fault(i int, err error) error {
	o.marks.pass(i, o.outs)
	n := int(o.ops[i])
	x := failureOf(o.function, o.caller, i, err)
	x.record, x.schema, x.time = o.batch.Row(n), o.schema, o.batch.Time(n)
	x.position, x.original = o.batch.Origin(n).String(), o.batch.Original(n)
	return o.faults.take(&x)
}

// each makes the one task of a step that takes each record by itself.
func (b *builder) each(s *job.Step) error {
	t := b.task("step "+s.Name, s.Reads())
	stats := &StepStats{}
	b.job.stats.steps[s.Name] = append(b.job.stats.steps[s.Name], stats)
	b.watch(t.node, watched{place: place{kind: StepTask, name: s.Name}, step: stats, asks: true})
	f := s.Each
	o := &each{
		input: stream.NewProjection(s.Input, f.Inputs[0].Columns), now: stream.MinTime, clock: b.config.Clock.Now(),
		function: f, schema: s.Input, shot: func(epoch int64) { b.job.check.stateless(s.Name, epoch) },
	}
	o.results = append(o.results, b.output(job.StreamRef{Name: s.Name}, t.node))
	for i := 1; i < len(f.Outputs); i++ {
		o.results = append(o.results, b.output(job.StreamRef{Name: s.Name, Output: f.Outputs[i].Name}, t.node))
	}
	o.outs = append(o.outs, o.results...)
	if f.Role == abi.RoleKey {
		all := make([]int, f.Result().Len())
		for i := range all {
			all[i] = i
		}
		o.join = stream.NewJoinOf(s.Input, s.Pass, f.Result(), all, s.Output)
	}
	o.faults = b.faults(s, t.node, stats, &o.outs)
	b.roomFor(t).drain = o.drain
	defer func() { b.room = nil }()
	var err error
	if o.caller, err = b.caller(f, o); err != nil {
		return err
	}
	t.op, t.faults, t.name = o, o.faults, "step "+failedOf(s.Name) // as the job file calls it
	b.connect([]*operatorTask{t}, reading{from: s.From, input: s.Input, max: s.Combine == job.CombineMax})
	return nil
}
