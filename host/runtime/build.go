package runtime

import (
	"errors"
	"fmt"

	"github.com/wasmstream/wasmstream/host/checkpoint"
	"github.com/wasmstream/wasmstream/host/connector"
	"github.com/wasmstream/wasmstream/host/format"
	"github.com/wasmstream/wasmstream/host/job"
	"github.com/wasmstream/wasmstream/host/stream"
)

// builder turns a plan into tasks and connects them.
type builder struct {
	job     *Job
	plan    *job.Job
	config  Config
	streams map[job.StreamRef][]producer // the tasks that put each stream out
	drifts  map[string]*driftGroup
	place   place // the task that is being built
	room    *room // of that task; nil: it has none
}

// producer is one task's output of a stream.
type producer struct {
	node *node
	out  *output
}

func (b *builder) build() error {
	if m := b.manifest(); m != nil {
		if err := CanRestore(m, b.plan); err != nil {
			return err
		}
	}
	for _, s := range b.plan.Sources {
		if err := b.source(s); err != nil {
			return fmt.Errorf("source %s: %w", s.Name, err)
		}
	}
	for _, s := range b.plan.Steps {
		if err := b.step(s); err != nil {
			return fmt.Errorf("step %s: %w", s.Name, err)
		}
	}
	for _, s := range b.plan.Sinks {
		if err := b.sink(s); err != nil {
			return fmt.Errorf("sink %s: %w", s.Name, err)
		}
	}
	if err := b.checkpoints(); err != nil {
		return err
	}
	b.job.sched.order()
	return nil
}

// checkpoints makes the coordinator, if the job has checkpoints.
func (b *builder) checkpoints() error {
	config := b.config.Checkpoints
	if config == nil {
		return nil
	}
	schedule, err := checkpoint.NewSchedule(config.Schedule, b.config.Clock.Now())
	if err != nil {
		return fmt.Errorf("checkpoints: %w", err)
	}
	j := b.job
	m := &merger{config: config, log: b.config.Log}
	c := &coordinator{
		plan: b.plan, config: config, clock: b.config.Clock, log: b.config.Log, check: j.check, merger: m, sources: j.sources,
		stats: &j.stats.checkpoints, finish: j.finish, schedule: schedule, next: config.Recovery.Next,
		unreadable: map[string]bool{},
	}
	if last := config.Recovery.Manifest; last != nil {
		c.last, c.committed = *last, config.Recovery.Committed
	}
	j.coordinator = c
	j.check.node = j.sched.add("checkpoints", 0, c, true)
	m.node = j.sched.add("merge checkpoints", 0, m, true)
	return nil
}

// stream returns a new output of a task and makes it known.
func (b *builder) output(ref job.StreamRef, n *node) *output {
	out := newOutput(b.config.Limits, n.meter)
	b.streams[ref] = append(b.streams[ref], producer{n, out})
	return out
}

// source level: the reader, its decoders and the head of the source.
func (b *builder) source(s *job.Source) error {
	from, err := b.restoredSource(s.Name)
	if err != nil {
		return err
	}
	b.job.check.parts = append(b.job.check.parts, "source "+s.Name)
	if s.Connector.Test {
		b.feed(s, from)
		return nil
	}
	src, err := b.config.Source(s)
	if err != nil {
		return err
	}
	b.job.sources = append(b.job.sources, openSource{s.Name, src})
	stats := &SourceStats{}
	stats.Watermark.Store(int64(stream.MinTime))
	b.job.stats.sources = append(b.job.stats.sources, stats)

	read := &readTask{name: s.Name, source: src, start: positions(from), opened: b.job.opening("source " + s.Name)}
	reader := b.job.sched.add("read "+s.Name, 0, read, true)
	marks := newWatermarks(s, b.config.Clock, b.plan.Compatibility.IdleClockPauses, b.rules())
	head := &sourceTask{
		name: s.Name, marks: marks, onError: s.OnError, check: b.job.check, stats: stats,
		flush: b.flushTimer(), skipped: b.teller("source", s.Name),
	}
	head.restore(from)
	if from == nil && s.Connector.File != nil {
		head.splitOf("") // is there from the start, and may be idle
	}
	head.node = b.job.sched.add("source "+s.Name, 2, head, false)
	b.watch(head.node, watched{place: place{kind: SourceTask, name: s.Name}, source: stats})
	head.out = b.output(job.StreamRef{Name: s.Name}, head.node)
	if s.OnError == job.DeadLetter {
		out := b.output(job.StreamRef{Name: s.Name, Output: failedOutput}, head.node)
		head.failed = &deadLetters{output: out, faults: faults{out: out, writer: stream.NewRowWriter(job.FailedSchema)}}
	}
	b.job.check.sources = append(b.job.check.sources, head.node)
	if w := s.Watermark; w != nil && w.Alignment != nil {
		head.drift = b.driftGroup(w.Alignment.Group).join(head.node, w.Alignment.MaxDrift)
		head.pauses.source, _ = src.(connector.Pausing)
	}
	for range b.config.Decoders {
		if err := b.decoder(s, read, reader, head); err != nil {
			return err
		}
	}
	return nil
}

// driftGroup is the group of that name, which all sources of the job share.
func (b *builder) driftGroup(name string) *driftGroup {
	if b.drifts[name] == nil {
		b.drifts[name] = &driftGroup{}
	}
	return b.drifts[name]
}

// rules are those of the job for the watermarks of inputs and splits.
func (b *builder) rules() stream.CombineRules {
	c := b.plan.Compatibility
	return stream.CombineRules{FlushWhenAllIdle: c.FlushWhenAllIdle, StayWhenAllIdle: !c.MaxOfIdle}
}

func (b *builder) decoder(s *job.Source, read *readTask, reader *node, head *sourceTask) error {
	t := &decodeTask{
		writer: stream.NewRowWriter(s.Output), limits: b.config.Limits,
		metadata: newMetadata(s), timed: s.RecordTime, keeps: s.OnError == job.DeadLetter,
		in:  newPipe(func() *chunk { return new(chunk) }),
		out: newPipe(func() *decoded { return &decoded{batch: new(stream.Batch)} }),
	}
	n := b.job.sched.add("decode "+s.Name, 1, t, false)
	b.watch(n, watched{place: place{kind: DecoderTask, name: s.Name}})
	if s.Traced {
		t.traced = s.Name
	}
	if s.EventTime >= 0 {
		c := s.Output.Column(s.EventTime)
		t.eventTime = &c
	}
	if s.Decode != nil || s.Timestamp != nil {
		t.room = b.roomWithoutOutputs(t.work)
		defer func() { b.room = nil }()
	}
	var err error
	if s.Decode != nil {
		err = b.guestDecoder(s, t)
	} else {
		t.decoder, err = b.config.Decoder(s)
	}
	if err != nil {
		return err
	}
	if err := b.stamper(s, t); err != nil {
		return err
	}
	t.in.producer, t.in.consumer = reader, n
	t.out.producer, t.out.consumer = n, head.node
	read.pipes = append(read.pipes, t.in)
	head.in = append(head.in, t.out)
	return nil
}

// reportedMax is how many skipped records of a source are told of one by one.
const reportedMax = 10

// teller tells of the first records that a source or step leaves out.
func (b *builder) teller(kind, name string) func(error) {
	told := 0
	return func(err error) {
		if told++; told <= reportedMax {
			what := []any{kind, name, "error", err}
			if f := (*FunctionError)(nil); errors.As(err, &f) && f.Where != "" {
				what = append(what, "in", f.Where)
			}
			b.config.Log.Warn("record skipped", what...)
		}
		if told == reportedMax {
			b.config.Log.Warn("further records that are skipped are only counted", kind, name)
		}
	}
}

func (b *builder) flushTimer() flushTimer {
	return flushTimer{clock: b.config.Clock, timeout: stream.ProcTime(b.plan.BufferTimeout.Milliseconds())}
}

func (b *builder) feed(s *job.Source, from *checkpoint.Source) {
	ended := from != nil && from.Ended
	t := &feedTask{name: s.Name, check: b.job.check, ended: ended, resumed: ended}
	t.node = b.job.sched.add("feed "+s.Name, 2, t, false)
	t.out = b.output(job.StreamRef{Name: s.Name}, t.node)
	b.job.check.sources = append(b.job.check.sources, t.node)
	b.job.feeds[s.Name] = &Feed{task: t}
}

// task registers a task of a step or sink with its operator, which make gives.
func (b *builder) task(name string, from []job.StreamRef) *operatorTask {
	level := 0
	for _, ref := range from {
		for _, p := range b.streams[ref] {
			level = max(level, p.node.level+1)
		}
	}
	t := &operatorTask{name: name, flush: b.flushTimer(), scripted: b.config.Scripted, check: b.job.check, now: stream.MinTime}
	t.in.loose = b.config.Checkpoints != nil && b.config.Checkpoints.AtLeastOnce
	t.in.rules = b.rules()
	t.node = b.job.sched.add(name, level, t, false)
	b.job.check.parts = append(b.job.check.parts, name)
	b.job.tasks = append(b.job.tasks, t)
	return t
}

// reading is how a step or sink reads streams.
type reading struct {
	from  []job.StreamRef
	input *stream.Schema
	key   []int // where there are several tasks
	side  side
	gate  int
	all   bool // each of several tasks gets all records
	deal  deal // where there is no key
	max   bool // the highest watermark counts: each stream has a gate of its own
}

// connect leads the streams to the tasks of one step or sink: by key where there
// are several.
func (b *builder) connect(tasks []*operatorTask, how reading) {
	for _, ref := range how.from {
		if how.max {
			how.gate = len(tasks[0].in.gates)
		}
		for i, p := range b.streams[ref] {
			r := &route{limits: b.config.Limits, deal: how.deal, next: i % len(tasks)}
			if len(tasks) > 1 {
				if how.deal == byKey && !how.all {
					r.key = stream.NewProjection(how.input, how.key)
				}
				r.pending = make([]*stream.Batch, len(tasks))
				for group := range b.plan.MaxParallelism {
					r.owner = append(r.owner, uint16(stream.SubtaskOf(stream.KeyGroup(group), b.plan.MaxParallelism, len(tasks))))
				}
			}
			for _, t := range tasks {
				pipe := newPipe(func() *stream.Batch { return new(stream.Batch) })
				pipe.producer, pipe.consumer = p.node, t.node
				r.pipes = append(r.pipes, pipe)
				t.in.rules.Max = how.max
				t.in.connect(pipe, how.side, how.gate)
			}
			p.out.routes = append(p.out.routes, r)
		}
	}
}

func (b *builder) step(s *job.Step) error {
	defer func() { b.room = nil }()
	b.job.stats.steps[s.Name] = nil // there is such a step
	switch {
	case s.Window != nil:
		return b.keyed(s, b.windowStep, reading{from: s.From, input: s.Input, key: s.KeyBy})
	case s.WindowJoin != nil:
		l, r := &s.WindowJoin.Left, &s.WindowJoin.Right
		return b.keyed(s, b.windowJoin,
			reading{from: l.From, input: l.Input, key: l.Key}, reading{from: r.From, input: r.Input, key: r.Key, side: right})
	case s.CoGroup != nil:
		l, r := &s.CoGroup.Left, &s.CoGroup.Right
		return b.keyed(s, b.coGroup,
			reading{from: l.From, input: l.Input, key: l.Key}, reading{from: r.From, input: r.Input, key: r.Key, side: right})
	case s.IntervalJoin != nil:
		l, r := &s.IntervalJoin.Left, &s.IntervalJoin.Right
		return b.keyed(s, b.intervalJoin,
			reading{from: l.From, input: l.Input, key: l.Key}, reading{from: r.From, input: r.Input, key: r.Key, side: right, gate: 1})
	case s.Process != nil:
		return b.keyed(s, b.process, b.processReadings(s)...)
	case s.Each != nil:
		return b.each(s)
	}
	if s.Enrich != nil {
		return b.enrich(s)
	}
	t := b.task("step "+s.Name, s.Reads())
	b.watch(t.node, watched{place: place{kind: StepTask, name: s.Name}})
	t.op = &relay{bare{outs: outputs{b.output(job.StreamRef{Name: s.Name}, t.node)}, shot: func(epoch int64) { b.job.check.stateless(s.Name, epoch) }}}
	b.connect([]*operatorTask{t}, reading{from: s.From, input: s.Input, max: s.Combine == job.CombineMax})
	return nil
}

// stepTask makes a task of a step, which is counted.
func (b *builder) stepTask(s *job.Step, stateful bool) (*operatorTask, *StepStats) {
	t, stats := b.task("step "+s.Name, s.Reads()), &StepStats{}
	b.job.stats.steps[s.Name] = append(b.job.stats.steps[s.Name], stats)
	b.watch(t.node, watched{place: place{kind: StepTask, name: s.Name}, step: stats, asks: len(s.Functions) > 0, stateful: stateful})
	return t, stats
}

// keyed makes the tasks of a step with keyed state, which make gives an operator.
func (b *builder) keyed(s *job.Step, make func(*job.Step, *node, *StepStats) (operator, *keeper, error), how ...reading) error {
	var tasks []*operatorTask
	for i := range b.plan.Parallelism {
		t, stats := b.stepTask(s, true)
		var waits *room
		if len(s.Functions) > 0 {
			waits = b.roomFor(t.work)
			t.room = waits
		}
		op, keeper, err := make(s, t.node, stats)
		if err != nil {
			return err
		}
		if waits != nil {
			waits.drain = keeper.drain
		}
		keeper.task, keeper.groups = i, checkpoint.GroupsOf(i, b.plan.MaxParallelism, b.plan.Parallelism)
		if err := b.restoreState(s, keeper); err != nil {
			return err
		}
		keeper.limit.on(keeper.backend)
		t.op, t.keeper, tasks = op, keeper, append(tasks, t)
		if o, ok := op.(interface{ failures() *faults }); ok {
			t.faults = o.failures()
		}
		if s.Combine == job.CombineMax {
			op.(combines).setLeast(t.in.combined.Least)
		}
	}
	for _, h := range how {
		h.max = s.Combine == job.CombineMax
		b.connect(tasks, h)
	}
	return nil
}

func (b *builder) sink(s *job.Sink) error {
	t := b.task("sink "+s.Name, s.From)
	b.watch(t.node, watched{place: place{kind: SinkTask, name: s.Name}})
	stats := &SinkStats{}
	b.job.stats.sinks[s.Name] = stats
	stats.Watermark.Store(int64(stream.MinTime))
	b.connect([]*operatorTask{t}, reading{from: s.From, input: s.Input})
	if s.Connector.Test {
		t.op = &collector{
			name: s.Name, stats: stats, collect: b.config.Collect,
			shot: func(epoch int64) { b.job.check.sink(s.Name, epoch, nil) },
		}
		return nil
	}
	op := &sinkOperator{stats: stats}
	var encoder, key format.Encoder
	var err error
	if s.Encode == nil {
		encoder, err = b.config.Encoder(s)
	} else {
		t.room = b.roomWithoutOutputs(t.work)
		defer func() { b.room = nil }()
		err = b.guestEncoder(s, op)
	}
	if err != nil {
		return err
	}

	if k := s.Connector.KafkaSink; k != nil && len(k.Key) > 0 && k.KeyFormat != job.RawKey {
		if key, err = b.config.KeyEncoder(s); err != nil {
			return err
		}
	}
	sink, err := b.config.Sink(s)
	if err != nil {
		return err
	}
	op.encoder = newRecordEncoder(s, encoder, key)
	return b.writer(s, t, op, sink)
}

func (b *builder) writer(s *job.Sink, t *operatorTask, op *sinkOperator, sink connector.Sink) error {
	from, err := b.restoredSink(s.Name)
	if err != nil {
		return err
	}
	b.job.sinks = append(b.job.sinks, openSink{s.Name, from, sink})
	w := &writeTask{name: s.Name, sink: sink, start: from, check: b.job.check, config: b.config.Checkpoints, onEnded: b.job.sinkEnded, opened: b.job.opening("sink " + s.Name)}
	n := b.job.sched.add("write "+s.Name, t.node.level+1, w, true)
	b.job.check.writers = append(b.job.check.writers, n)
	b.job.check.commits++
	op.pipe = newPipe(func() *block { return new(block) })
	op.pipe.producer, op.pipe.consumer = t.node, n
	w.pipe = op.pipe
	t.op = op
	b.job.openSinks.Add(1)
	return nil
}
