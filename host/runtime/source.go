package runtime

import (
	"errors"
	"fmt"
	"math"
	"sync/atomic"

	"github.com/wasmstream/wasmstream/host/checkpoint"
	"github.com/wasmstream/wasmstream/host/connector"
	"github.com/wasmstream/wasmstream/host/job"
	"github.com/wasmstream/wasmstream/host/stream"
)

// sourceTask is the head of a source: it takes the decoders' batches in the
// order of the input, sets watermarks among their rows, and starts barriers.
type sourceTask struct {
	name    string
	node    *node
	in      []*pipe[*decoded]
	out     *output
	marks   watermarks
	drift   *driftMember // nil: the source is not aligned with others
	pauses  pauses       // of its splits
	onError job.OnError  // what becomes of records that cannot be decoded
	failed  *deadLetters // nil: they are not put out
	check   *checkpoints
	stats   *SourceStats

	next    int // decoder whose batch comes next
	splits  []*sourceSplit
	split   *sourceSplit // of the batch before
	ended   bool
	started bool
	// announcing: not all splits are known yet, and a checkpoint must have all.
	announcing bool
	flush      flushTimer
	skipped    func(error) // tells of a record that was skipped
}

// sourceSplit is how far a split has come.
type sourceSplit struct {
	name     string
	identity string
	position connector.Position
	ended    bool
	marks    *splitMarks
}

// SourceStats counts what a source has read so far.
type SourceStats struct {
	Records, Bytes, Skipped, Watermark atomic.Int64

	splits splitMeters
}

func (t *sourceTask) step() (outcome, error) {
	if !t.started {
		t.started = true
		t.marks.resume(t.out.batch)
		t.report()
	}
	for range stepBatches {
		if !t.pass() {
			t.marks.hold(true)
			t.marks.tick(nil)
			return outcome{deadline: t.marks.deadline(), blocked: true}, nil
		}
		if t.marks.settle(t.out.batch) {
			t.report()
			continue
		}
		if epoch := t.check.requested(t.name); epoch != 0 && !t.announcing {
			t.check.source(t.name, epoch, t.state())
			t.out.seal(epoch)
			continue
		}
		// A source that is held back by its group starts barriers all the same: the
		// others may wait for them.
		if t.drift != nil && !t.drift.mayRead(t.marks.reached()) {
			t.marks.hold(true)
			return t.rest()
		}
		t.marks.hold(false)
		t.align()
		d, ok := t.in[t.next].receive()
		if !ok {
			return t.rest()
		}
		if err := t.take(d); err != nil {
			return outcome{}, err
		}
		t.report()
	}
	if t.flush.due() {
		t.drain()
	}
	return outcome{more: true}, nil
}

// rest is what a source does that takes no record now: it keeps nothing back, and
// looks after its periodic watermark.
func (t *sourceTask) rest() (outcome, error) {
	t.marks.tick(t.out.batch)
	t.stats.Watermark.Store(int64(t.marks.last()))
	t.report()
	t.drain()
	return t.wait()
}

func (t *sourceTask) wait() (outcome, error) {
	at := t.marks.deadline()
	if paused := t.pauses.deadline(t.marks.clock.Now()); at == 0 || paused != 0 && paused < at {
		at = paused
	}
	return outcome{deadline: at}, nil
}

// report tells the source's group how far it has come. A source that has no
// watermark yet tells nothing, and nobody waits for it (FLINK-32414); nobody waits
// for one that is idle or has ended (FLINK-35157).
func (t *sourceTask) report() {
	if t.drift == nil {
		return
	}
	switch at := t.marks.reached(); {
	case t.ended || t.marks.isIdle():
		t.drift.report(stream.MaxTime)
	case at != stream.MinTime:
		t.drift.report(at)
	}
}

// take puts a decoded batch out: the output's batch, which is empty, and the
// decoder's change places. The end of the input is of no split.
func (t *sourceTask) take(d *decoded) error {
	last := d.last
	t.announcing = d.announcing
	if d.ended {
		t.end()
	} else if err := t.takeOf(t.splitOf(d.split), d); err != nil {
		return err
	}
	t.in[t.next].giveBack(d)
	if last {
		t.next = (t.next + 1) % len(t.in)
	}
	return nil
}

func (t *sourceTask) takeOf(split *sourceSplit, d *decoded) error {
	for _, f := range d.faults {
		err := &RecordError{Source: t.name, Split: d.split, Record: f.at.Record, Offset: f.at.Offset, Err: f.err}
		tombstone := errors.Is(f.err, errTombstone)
		if t.onError == job.Fail && !tombstone {
			return err
		}
		t.stats.Skipped.Add(1)
		if t.failed == nil || tombstone {
			t.skipped(err)
			continue
		}
		t.failed.put(err, d.lost[f.from:f.to:f.to])
	}
	t.out.batch, d.batch = d.batch, t.out.batch
	if !split.ended { // one that has ended is still made known after a restore, without records
		t.marks.stamp(t.out.batch, split.marks, d.marks)
	}
	t.stats.Records.Add(int64(t.out.batch.Len()))
	t.stats.Bytes.Add(d.bytes)
	t.stats.Watermark.Store(int64(t.marks.last()))
	split.position, split.identity = d.end, d.identity
	if d.closed && !split.ended {
		split.ended = true
		t.marks.remove(t.out.batch, split.marks)
	}
	return nil
}

// splitOf finds a split, or makes it known: from now on it holds time back.
func (t *sourceTask) splitOf(name string) *sourceSplit {
	if t.split != nil && t.split.name == name {
		return t.split
	}
	for _, s := range t.splits {
		if s.name == name {
			t.split = s
			return s
		}
	}
	t.split = t.addSplit(splitState{SplitPosition: connector.SplitPosition{Split: name}, MaxTime: stream.MinTime})
	return t.split
}

func (t *sourceTask) addSplit(from splitState) *sourceSplit {
	s := &sourceSplit{name: from.Split, identity: from.Identity, position: from.Position, ended: from.Ended}
	if !s.ended {
		s.marks = t.marks.add(from.MaxTime)
		s.marks.meter.name = s.name
		if !t.marks.off {
			t.stats.splits.add(&s.marks.meter)
		}
	}
	t.splits = append(t.splits, s)
	return s
}

// restore has the source go on from a checkpoint; nil: it begins.
func (t *sourceTask) restore(from *checkpoint.Source) {
	if from == nil {
		return
	}
	at := positions(from)
	for i, s := range from.Splits {
		t.addSplit(splitState{at[i], stream.EventTime(s.MaxTime)})
		if s.Name == "" { // of a file an offset is bytes
			t.stats.Bytes.Add(at[i].Offset)
		}
	}
}

// state is the source's part of a checkpoint.
func (t *sourceTask) state() sourceState {
	state := sourceState{Ended: t.ended}
	for _, s := range t.splits {
		max := stream.MinTime
		if s.marks != nil {
			max = s.marks.max
		}
		at := connector.SplitPosition{Split: s.name, Position: s.position, Ended: s.ended, Identity: s.identity}
		state.Splits = append(state.Splits, splitState{at, max})
	}
	return state
}

func (t *sourceTask) end() {
	t.ended = true
	t.marks.end(t.out.batch)
	t.stats.Watermark.Store(math.MaxInt64)
	t.out.batch.Mark(stream.MarkEnd, 0)
}

// RecordError is a record that a source could not decode.
type RecordError struct {
	Source string
	Split  string // "" where the source has only one, a file
	Record int64  // number in the split from 0, since the job began
	Offset int64  // of the record in its split
	Err    error
}

// Error names the source and the record; a file's line is the record's number
// and one.
func (e *RecordError) Error() string {
	if e.Split != "" {
		return fmt.Sprintf("source %s: %s, offset %d: %v", e.Source, e.Split, e.Offset, e.Err)
	}
	return fmt.Sprintf("source %s: line %d: %v", e.Source, e.Record+1, e.Err)
}

// Unwrap is the cause.
func (e *RecordError) Unwrap() error { return e.Err }
