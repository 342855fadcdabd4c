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
