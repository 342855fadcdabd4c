package runtime

import (
	"testing"

	"github.com/wasmstream/wasmstream/host/stream"
)

// patient is an operator that puts nothing out, and counts how often it is told
// to keep nothing back.
type patient struct {
	timeless
	rowsSeen, flushes int
}

func (o *patient) rows(_ side, _ *stream.Batch, from, to int) (int, error) {
	o.rowsSeen += to - from
	return to, nil
}
func (o *patient) advance(stream.EventTime) (bool, error) { return true, nil }
func (o *patient) complete() (bool, error)                { return true, nil }
func (o *patient) status(stream.MarkKind)                 {}
func (o *patient) barrier(int64) error                    { return nil }
func (o *patient) end() error                             { return nil }
func (o *patient) drain(all bool) bool {
	if all {
		o.flushes++
	}
	return true
}

// stillClock stands until it is set.
type stillClock struct{ now stream.ProcTime }

func (c *stillClock) Now() stream.ProcTime          { return c.now }
func (c *stillClock) Alarm(stream.ProcTime, func()) {}

// TestBufferTimeout: a task that is never idle keeps its output back for
// buffer-timeout and no longer; one that has nothing to do keeps nothing.
func TestBufferTimeout(t *testing.T) {
	clock, op := &stillClock{now: 100}, &patient{}
	task := &operatorTask{node: newScheduler(clock).add("", 0, nil, false), op: op, check: &checkpoints{}, flush: flushTimer{clock: clock, timeout: 5, last: clock.now}}
	p := newPipe(func() *stream.Batch { return new(stream.Batch) })
	p.producer, p.consumer = &node{}, &node{}
	p.producer.state.Store(running)
	p.consumer.state.Store(running)
	task.in.connect(p, left, 0)
	row := make(stream.Row, 16)
	step := func(batches int) int {
		for range batches {
			b, ok := p.take()
			if !ok {
				t.Fatal("the task did not give its batches back")
			}
			b.Reset()
			b.Append(row, 1)
			p.send(b)
		}
		before := op.flushes
		if _, err := task.step(); err != nil {
			t.Fatal(err)
		}
		return op.flushes - before
	}
	for range 10 { // always more to do, and no time passes
		if step(stepBatches) != 0 {
			t.Fatal("output was not kept back at all")
		}
	}
	if clock.now += 4; step(stepBatches) != 0 {
		t.Fatal("output was not kept back for buffer-timeout")
	}
	if clock.now++; step(stepBatches) != 1 {
		t.Fatal("output was kept back for longer than buffer-timeout")
	}
	if step(1) != 1 {
		t.Fatal("an idle task kept output back")
	}
	if want := 12*stepBatches + 1; op.rowsSeen != want {
		t.Fatalf("%d rows were handled, not %d", op.rowsSeen, want)
	}
}

// restless is an operator that is never done with a watermark or timers, and puts
// nothing out; at its third call the job stops.
type restless struct {
	patient
	sched *scheduler
	calls int
}

func (o *restless) call() (bool, error) {
	if o.calls++; o.calls == 3 {
		o.sched.stop(nil)
	}
	return false, nil
}

func (o *restless) advance(stream.EventTime) (bool, error) { return o.call() }
func (o *restless) tick(stream.ProcTime) (bool, error)     { return o.call() }

// TestStoppingTask: a task whose job stops ends within the batch at hand, whatever it
// has to do.
func TestStoppingTask(t *testing.T) {
	for name, begin := range map[string]func(*operatorTask, *stream.Batch){
		"a watermark": func(_ *operatorTask, b *stream.Batch) { b.Mark(stream.MarkWatermark, 5) },
		"a timer":     func(task *operatorTask, _ *stream.Batch) { task.moveClock(5) },
	} {
		clock, op := &stillClock{}, &restless{}
		op.sched = newScheduler(clock)
		task := &operatorTask{node: op.sched.add("", 0, nil, false), op: op, check: &checkpoints{}, flush: flushTimer{clock: clock}, scripted: true}
		p := newPipe(func() *stream.Batch { return new(stream.Batch) })
		p.producer, p.consumer = &node{}, &node{}
		p.producer.state.Store(running)
		p.consumer.state.Store(running)
		task.node.state.Store(running)
		task.in.connect(p, left, 0)
		b, _ := p.take()
		b.Reset()
		begin(task, b)
		p.send(b)
		if _, err := task.step(); err != nil || op.calls != 3 {
			t.Errorf("%s: %d calls, and the third stopped the job; %v", name, op.calls, err)
		}
		if _, err := task.step(); err != nil || op.calls != 3 {
			t.Errorf("%s: a stopped task goes on; %v", name, err)
		}
	}
}
