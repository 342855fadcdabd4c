package runtime

import (
	"fmt"
	"math"
	"sync/atomic"

	"github.com/wasmstream/wasmstream/host/connector"
	"github.com/wasmstream/wasmstream/host/job"
	"github.com/wasmstream/wasmstream/host/stream"
)

// sourceTask is the head of a source: it takes the decoders' batches in the
// order of the input, sets watermarks among their rows, and starts barriers.
type sourceTask struct {
	name  string
	node  *node
	in    []*pipe[*decoded]
	out   *output
	marks watermarks
	skip  bool // leave records out that cannot be decoded
	check *checkpoints
	stats *SourceStats

	next     int // decoder whose batch comes next
	position connector.Position
	ended    bool
	started  bool
	flush    flushTimer
	report   func(error) // tells of a record that was skipped
}

// SourceStats counts what a source has read so far.
type SourceStats struct {
	Records, Bytes, Skipped, Watermark atomic.Int64
}

func (t *sourceTask) step() (outcome, error) {
	if !t.started {
		t.started = true
		t.marks.resume(t.out.batch)
	}
	for range stepBatches {
		if !t.out.pass() {
			return outcome{}, nil
		}
		if epoch := t.check.requested(t.name); epoch != 0 {
			t.check.source(t.name, epoch, sourceState{Position: t.position, Ended: t.ended, MaxTime: t.marks.max})
			t.out.seal(epoch)
			continue
		}
		d, ok := t.in[t.next].receive()
		if !ok {
			t.marks.tick(t.out.batch)
			t.out.drain(true)
			return outcome{deadline: t.marks.deadline(t.ended)}, nil
		}
		if err := t.take(d); err != nil {
			return outcome{}, err
		}
	}
	if t.flush.due() {
		t.out.drain(true)
	}
	return outcome{more: true}, nil
}

// take puts a decoded batch out: the output's batch, which is empty, and the
// decoder's change places.
func (t *sourceTask) take(d *decoded) error {
	for _, f := range d.faults {
		err := &RecordError{Source: t.name, Record: f.record, Err: f.err}
		if !t.skip {
			return err
		}
		t.stats.Skipped.Add(1)
		t.report(err)
	}
	t.out.batch, d.batch = d.batch, t.out.batch
	t.marks.stamp(t.out.batch)
	t.stats.Records.Add(int64(t.out.batch.Len()))
	t.stats.Bytes.Add(d.end.Offset - t.position.Offset)
	t.stats.Watermark.Store(int64(t.marks.last))
	t.position = d.end
	if d.ended {
		t.end()
	}
	last := d.last
	t.in[t.next].giveBack(d)
	if last {
		t.next = (t.next + 1) % len(t.in)
	}
	return nil
}

func (t *sourceTask) end() {
	t.ended = true
	t.marks.last = stream.MaxTime
	t.stats.Watermark.Store(math.MaxInt64)
	t.out.batch.Mark(stream.MarkWatermark, int64(stream.MaxTime))
	t.out.batch.Mark(stream.MarkEnd, 0)
}

// RecordError is a record that a source could not decode.
type RecordError struct {
	Source string
	Record int64 // number from 0
	Err    error
}

// Error names the source and the record; a file's line is the record's number
// and one.
func (e *RecordError) Error() string {
	return fmt.Sprintf("source %s: line %d: %v", e.Source, e.Record+1, e.Err)
}

// Unwrap is the cause.
func (e *RecordError) Unwrap() error { return e.Err }

// watermarks is Flink's bounded-out-of-orderness generator, with either way of
// emitting. Its greatest time is part of a checkpoint, so that the result of a
// job whose watermarks move on every record stays a function of its input.
type watermarks struct {
	clock   stream.Clock
	delay   int64 // ms
	onEvent bool
	off     bool // only the end of input moves time
	max     stream.EventTime
	last    stream.EventTime // that was put out
	emitted stream.ProcTime  // when
}

// periodicMillis is Flink's pipeline.auto-watermark-interval.
const periodicMillis = 200

func newWatermarks(w *job.Watermark, clock stream.Clock) watermarks {
	m := watermarks{clock: clock, off: w == nil, max: stream.MinTime, last: stream.MinTime, emitted: clock.Now()}
	if w != nil {
		m.delay, m.onEvent = w.MaxOutOfOrderness, w.OnEvent
	}
	return m
}

// resume puts out the watermark that a checkpoint's greatest time stands for.
func (m *watermarks) resume(b *stream.Batch) {
	if !m.off && m.max != stream.MinTime {
		m.emit(b)
	}
}

// stamp sets the marks for the rows of a batch.
func (m *watermarks) stamp(b *stream.Batch) {
	if m.off {
		return
	}
	if m.onEvent {
		m.max, m.last = b.StampOnEvent(m.max, m.last, m.delay)
		return
	}
	for i := range b.Len() {
		m.max = max(m.max, b.Time(i))
	}
	m.tick(b)
}

// tick puts the watermark out periodically.
func (m *watermarks) tick(b *stream.Batch) {
	if m.off || m.onEvent {
		return
	}
	if now := m.clock.Now(); now-m.emitted >= periodicMillis {
		m.emitted = now
		m.emit(b)
	}
}

func (m *watermarks) emit(b *stream.Batch) {
	if m.max == stream.MinTime {
		return
	}
	if w := m.max.Add(-m.delay).Add(-1); w > m.last {
		m.last = w
		b.Mark(stream.MarkWatermark, int64(w))
	}
}

// deadline is when an idle source has to look after its periodic watermark.
func (m *watermarks) deadline(ended bool) stream.ProcTime {
	if m.off || m.onEvent || ended {
		return 0
	}
	return m.emitted + periodicMillis
}
