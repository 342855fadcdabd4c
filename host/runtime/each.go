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
	bare // its outputs are results, and that of dead letters
	stateless
	caller  *guests.Caller
	input   *stream.Projection // to the columns that the function declares
	join    *stream.Join       // role key: the record and its key
	results outputs            // by the aux of an emit
	failing
	function *job.Function
	schema   *stream.Schema // of the records

	now   stream.EventTime // the watermark
	clock stream.ProcTime
	asked stream.ProcTime // the clock of the frame's ops
	batch *stream.Batch   // that ops are of
	ops   []int32         // rows of batch
	marks pendingMarks
	kept  bool // the present op's record is let through
}

func (o *each) rows(_ side, b *stream.Batch, from, to int) (int, error) {
	o.batch = b
	if len(o.ops) == 0 {
		o.asked = o.clock
	}
	ctx := guests.Context{Watermark: int64(o.now), Clock: int64(o.asked)}
	for i := from; i < to; i++ {
		if o.outs.isFull() {
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
	if len(o.ops) == 0 && o.outs.isFull() {
		return false, nil
	}
	o.now = t
	o.marks.add(len(o.ops), t, o.outs)
	return true, nil
}

func (o *each) setClock(now stream.ProcTime) { o.clock = now }

func (o *each) complete() (bool, error) {
	if len(o.ops) > 0 && o.outs.isFull() {
		return false, nil
	}
	return true, o.perform()
}

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
	t, stats := b.stepTask(s, false)
	f := s.Each
	o := &each{
		input: stream.NewProjection(s.Input, f.Inputs[0].Columns), now: stream.MinTime, clock: b.config.Clock.Now(),
		function: f, schema: s.Input,
	}
	o.shot = func(epoch int64) { b.job.check.stateless(s.Name, epoch) }
	o.results = b.functionOutputs(s, t.node, f, b.output(job.StreamRef{Name: s.Name}, t.node))
	o.outs = append(o.outs, o.results...)
	if f.Role == abi.RoleKey {
		o.join = stream.NewJoinOf(s.Input, s.Pass, f.Result(), columnsBefore(f.Result().Len()), s.Output)
	}
	o.faults = b.faults(s, t.node, stats, &o.outs)
	t.room = b.roomFor(t.work)
	t.room.drain = o.drain
	var err error
	if o.caller, err = b.caller(f, o); err != nil {
		return err
	}
	t.op, t.faults, t.name = o, o.faults, "step "+failedOf(s.Name) // as the job file calls it
	b.connect([]*operatorTask{t}, reading{from: s.From, input: s.Input, max: s.Combine == job.CombineMax})
	return nil
}
