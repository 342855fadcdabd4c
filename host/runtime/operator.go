package runtime

import (
	"fmt"
	"math"

	"github.com/wasmstream/wasmstream/host/stream"
)

// operator is what a step or sink does with its input. Methods that may produce
// a lot stop early when drain is due.
type operator interface {
	// rows handles rows from..to of a batch of one side and returns where it
	// stopped.
	rows(s side, b *stream.Batch, from, to int) (next int, err error)
	// advance takes a watermark: it fires what is due, then puts the watermark
	// out. It returns false if it stopped early; it is then called again.
	advance(t stream.EventTime) (done bool, err error)
	// tick fires the processing-time timers up to a moment, as advance does.
	tick(upTo stream.ProcTime) (done bool, err error)
	// nextTick is the time of the earliest of those timers; the largest int64 if
	// there is none.
	nextTick() stream.ProcTime
	// setClock tells what the clock shows.
	setClock(now stream.ProcTime)
	// complete finishes work that rows and advance put off; false if it stopped
	// early.
	complete() (done bool, err error)
	// status, barrier and end put out the mark, behind everything else. barrier
	// takes the snapshot. They come after complete and a drain that succeeded.
	status(kind stream.MarkKind)
	barrier(epoch int64) error
	end() error
	// drain hands output on; false if there is no room for it yet. With all set
	// nothing is kept back to fill batches.
	drain(all bool) bool
}

// fed is an operator that something comes to besides its input. Who brings it wakes the
// task.
type fed interface {
	// takeIn takes what has come. It comes before anything else in a step.
	takeIn() error
}

// operatorTask feeds an operator from its input.
type operatorTask struct {
	name   string
	node   *node
	op     operator
	fed    fed     // nil: nothing comes but its input
	keeper *keeper // nil: it keeps no state
	faults *faults // of the operator's functions; nil: it has none
	room   *room   // where its functions wait for room; nil: it has none
	check  *checkpoints
	in     input

	batch   *stream.Batch // being handled; nil: none
	channel int           // that it came from
	row     int           // next row
	mark    int           // next mark
	event   event         // of the mark before, as far as it was not handled yet
	flush   flushTimer
	now     stream.EventTime // the watermark of the input

	scripted bool            // the clock stands until a script moves it
	due      stream.ProcTime // timers up to here are to fire; valid if ticking
	ticking  bool
}

// stepBatches is how many batches a step handles at most.
const stepBatches = 4

func (t *operatorTask) step() (outcome, error) {
	work := t.work
	if t.room != nil {
		work = t.room.resume
	}
	out, err := work()
	if err == nil && t.keeper.slice() {
		// Even if there is no input, or no room for output; but then those upstream go
		// first, since no input comes while they wait.
		out.later, out.more = !out.more, true
	}
	if t.keeper != nil {
		t.node.meter.keeps(t.keeper.backend.Stats())
	}
	return out, err
}

// work handles batches; one only while a snapshot is under way, of which a slice is
// written after each, so that results do not wait for several slices.
func (t *operatorTask) work() (outcome, error) {
	if t.isStopping() {
		return outcome{}, nil
	}
	t.in.giveUp(t.check.given.Load())
	t.readClock()
	if t.fed != nil {
		if err := t.fed.takeIn(); err != nil {
			return outcome{}, fmt.Errorf("%s: %w", t.name, err)
		}
	}
	if !t.op.drain(false) {
		return outcome{blocked: true}, nil
	}
	for i := range stepBatches {
		if i > 0 {
			if t.isStopping() {
				return outcome{}, nil
			}
			if t.keeper.isSlicing() {
				break
			}
			t.node.sched.giveWay(t.node)
		}
		if done, err := t.tick(); err != nil || !done {
			return outcome{blocked: !done}, err
		}
		if t.batch == nil && !t.receive() {
			t.op.drain(true)
			return outcome{deadline: t.deadline()}, nil
		}
		done, err := t.handle()
		if err != nil {
			return outcome{}, fmt.Errorf("%s: %w", t.name, err)
		}
		if !done && t.room.isOver() {
			break
		}
		if !done {
			return outcome{blocked: true}, nil
		}
		if err := t.count(); err != nil {
			return outcome{}, fmt.Errorf("%s: %w", t.name, err)
		}
		t.in.giveBack(t.channel, t.batch)
		t.batch = nil
	}
	if t.flush.due() {
		t.op.drain(true)
	}
	return outcome{more: true}, nil
}

// count tells those who watch of the batch that was handled, and fails the job if more
// is kept after it than may be.
func (t *operatorTask) count() error {
	t.node.meter.in.Add(int64(t.batch.Len()))
	t.node.meter.inWatermark.Store(int64(t.now))
	if t.keeper == nil {
		return nil
	}
	return t.keeper.limit.check(t.keeper.backend.Stats())
}

// isStopping tells that the job is: what is at hand is given up then, and nothing of it
// is committed. A job that has come to its end stops when nothing is at hand.
func (t *operatorTask) isStopping() bool { return t.node.sched.stopped.Load() }

// readClock looks at the clock once a step. A timer of a time fires in the
// millisecond after it (FLINK-9857).
func (t *operatorTask) readClock() {
	if t.scripted {
		return
	}
	now := t.flush.clock.Now()
	t.op.setClock(now)
	if t.op.nextTick() < now {
		t.due, t.ticking = now-1, true
	}
}

// moveClock is a script's way to move the clock; timers up to now fire.
func (t *operatorTask) moveClock(now stream.ProcTime) {
	t.op.setClock(now)
	t.due, t.ticking = now, true
	t.node.wake()
}

// tick fires the timers that are due; false if there is no room for their
// output.
func (t *operatorTask) tick() (bool, error) {
	if !t.ticking {
		return true, nil
	}
	for t.ticking {
		if t.isStopping() {
			return false, nil
		}
		done, err := t.op.tick(t.due)
		if err != nil {
			return false, fmt.Errorf("%s: %w", t.name, err)
		}
		if !done && !t.op.drain(false) {
			return false, nil
		}
		if done {
			t.ticking = false
		}
	}
	done, err := t.complete()
	if err != nil {
		return false, fmt.Errorf("%s: %w", t.name, err)
	}
	return done, nil
}

// complete finishes what the operator put off; false if there is no room for it.
func (t *operatorTask) complete() (bool, error) {
	for {
		done, err := t.op.complete()
		if err != nil || done {
			return done, err
		}
		if !t.op.drain(false) {
			return false, nil
		}
	}
}

// deadline is when an idle task has timers to fire; 0: never.
func (t *operatorTask) deadline() stream.ProcTime {
	if next := t.op.nextTick(); next != math.MaxInt64 && !t.scripted {
		return next + 1
	}
	return 0
}

func (t *operatorTask) receive() (ok bool) {
	t.channel, t.batch, ok = t.in.receive()
	t.row, t.mark = 0, 0
	if ok && t.faults != nil {
		t.faults.rate.seen(t.batch.Len())
	}
	return ok
}

// handle works on the batch until it is done, or until there is no room for its
// output or the room's turn is over (false).
func (t *operatorTask) handle() (bool, error) {
	for {
		if done, err := t.handleEvent(); err != nil || !done {
			return false, err
		}
		to := t.batch.Len()
		if t.mark < len(t.batch.Marks) {
			to = int(t.batch.Marks[t.mark].At)
		}
		for t.row < to {
			from, spent := t.row, t.room.sum()
			next, err := t.op.rows(t.in.channels[t.channel].side, t.batch, from, t.room.reach(from, to))
			if err != nil {
				return false, err
			}
			t.room.pace(next-from, t.room.sum()-spent)
			if t.row = next; next < to && !t.op.drain(false) || t.room.isOver() {
				return false, nil
			}
		}
		if t.mark == len(t.batch.Marks) {
			spent := t.room.sum()
			done, err := t.complete() // of rows that were put off, perhaps of all
			t.room.pace(t.batch.Len(), t.room.sum()-spent)
			return done, err
		}
		t.event = t.in.apply(t.channel, t.batch.Marks[t.mark])
		t.mark++
		if t.event.advanced {
			t.now = t.event.watermark
		}
	}
}

// handleEvent does what the last mark asks for, and forgets it.
func (t *operatorTask) handleEvent() (bool, error) {
	ev := &t.event
	if ev.status == stream.MarkActive {
		// Before the watermark: that of an idle channel is ignored.
		if done, err := t.settle(); err != nil || !done {
			return false, err
		}
		t.op.status(ev.status)
		ev.status = 0
	}
	for ev.advanced {
		if t.isStopping() {
			return false, nil
		}
		done, err := t.op.advance(ev.watermark)
		if err != nil {
			return false, err
		}
		if !done && !t.op.drain(false) {
			return false, nil
		}
		ev.advanced = !done
	}
	for ev.status != 0 || ev.barrier != 0 || ev.ended {
		if done, err := t.settle(); err != nil || !done {
			return false, err
		}
		if err := t.putOut(ev); err != nil {
			return false, err
		}
	}
	*ev = event{}
	return true, nil
}

// putOut puts out the next of an event's marks.
func (t *operatorTask) putOut(ev *event) (err error) {
	switch {
	case ev.status != 0:
		t.op.status(ev.status)
		ev.status = 0
	case ev.barrier != 0:
		err = t.op.barrier(ev.barrier)
		ev.barrier = 0
	case ev.ended:
		err = t.op.end()
		ev.ended = false
	}
	return err
}

// settle makes sure that a mark may be put out behind everything before it; false
// if there is no room.
func (t *operatorTask) settle() (bool, error) {
	if done, err := t.complete(); err != nil || !done {
		return false, err
	}
	return t.op.drain(false), nil
}

// flushTimer says when what a busy task keeps back has waited long enough.
type flushTimer struct {
	clock   stream.Clock
	timeout stream.ProcTime // ms
	last    stream.ProcTime
}

func (f *flushTimer) due() bool {
	now := f.clock.Now()
	if now-f.last < f.timeout {
		return false
	}
	f.last = now
	return true
}
