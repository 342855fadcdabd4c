package runtime

import (
	"slices"

	"github.com/wasmstream/wasmstream/host/job"
	"github.com/wasmstream/wasmstream/host/stream"
)

// watermarks is a source's part in event time: Flink's bounded-out-of-orderness
// generator with either way of emitting, idleness, and the stamps of ingestion
// time. A file is one split of the source's multiplexer.
//
// The greatest time is part of a checkpoint, so that the result of a job whose
// watermarks move on every record stays a function of its input.
type watermarks struct {
	clock     stream.Clock
	delay     int64 // ms
	onEvent   bool
	off       bool // only the end of input moves time; the source may be idle
	ingestion bool // records get the clock's time as they are read
	pauses    bool // the clock of idleness stops while the source is held back

	max    stream.EventTime
	splits stream.Multiplexer
	split  int
	idler  stream.IdleTimer
	owed   bool            // the source is idle, and had no room to say so
	probed stream.ProcTime // when the last periodic look was
	ended  bool
}

// periodicMillis is Flink's pipeline.auto-watermark-interval.
const periodicMillis = 200

func newWatermarks(s *job.Source, clock stream.Clock, pauses bool, r stream.CombineRules) watermarks {
	m := watermarks{
		clock: clock, off: true, ingestion: s.IngestionTime, pauses: pauses,
		max: stream.MinTime, probed: clock.Now(), splits: stream.NewMultiplexer(r),
	}
	m.split = m.splits.Add()
	if w := s.Watermark; w != nil {
		m.off = w.Strategy == job.NoWatermarks
		m.delay, m.onEvent, m.idler = w.MaxOutOfOrderness, w.OnEvent, stream.NewIdleTimer(w.IdleTimeout)
	}
	return m
}

// last is the watermark that was put out last.
func (m *watermarks) last() stream.EventTime { return m.splits.Watermark() }

// isIdle tells whether the source has said that it is idle.
func (m *watermarks) isIdle() bool { return m.splits.Idle() }

// reached is the watermark that follows from the records so far, whether it was
// put out yet or not; MinTime if there is none.
func (m *watermarks) reached() stream.EventTime {
	if m.off || m.max == stream.MinTime {
		return stream.MinTime
	}
	return m.max.Add(-m.delay).Add(-1)
}

// resume puts out the watermark that a checkpoint's greatest time stands for.
func (m *watermarks) resume(b *stream.Batch) {
	if m.reached() != stream.MinTime {
		m.emit(b)
	}
}

// stamp sets the marks for the rows of a batch that has none.
func (m *watermarks) stamp(b *stream.Batch) {
	if m.ingestion {
		now := stream.EventTime(m.clock.Now())
		for i := range b.Len() {
			b.SetTime(i, now)
		}
	}
	if b.Len() > 0 {
		m.idler.Activity()
	}
	switch {
	case m.off:
	case m.onEvent:
		m.stampOnEvent(b)
	default:
		for i := range b.Len() {
			m.max = max(m.max, b.Time(i))
		}
	}
	m.tick(b)
}

// stampOnEvent marks the watermark behind each row that raises it. If the source
// was idle, the news that it is not comes before the first of them.
func (m *watermarks) stampOnEvent(b *stream.Batch) {
	before, last := len(b.Marks), m.last()
	m.max, last = b.StampOnEvent(m.max, last, m.delay)
	if last == m.last() {
		return
	}
	if m.splits.Advance(m.split, last).StatusChange {
		b.Marks = slices.Insert(b.Marks, before, stream.Mark{At: b.Marks[before].At, Kind: stream.MarkActive})
	}
}

// hold tells that the source takes no records though there may be some, because
// of its readers or its group; or that it goes on.
func (m *watermarks) hold(held bool) {
	if m.pauses && m.idler.Enabled() && held != m.idler.Held() {
		m.idler.Hold(held, m.clock.Now())
	}
}

// tick is the periodic look: it puts out the watermark, or that the source is
// idle. Without a batch, as there is no room for it, idleness is owed.
func (m *watermarks) tick(b *stream.Batch) {
	if !m.looks() {
		return
	}
	now := m.clock.Now()
	if now-m.probed < periodicMillis {
		return
	}
	m.probed = now
	switch isIdle := m.idler.Probe(now); {
	case b == nil:
		m.owed = isIdle && !m.isIdle()
	case !isIdle:
		m.emit(b)
	case !m.isIdle():
		m.putIdle(b)
	}
}

// looks tells whether there is something to look for periodically.
func (m *watermarks) looks() bool {
	return !m.ended && (m.idler.Enabled() || !m.off && !m.onEvent)
}

// emit puts the watermark out if it has risen; a source that was idle is active
// then.
func (m *watermarks) emit(b *stream.Batch) {
	w := m.reached()
	if w == stream.MinTime {
		return
	}
	m.put(b, m.splits.Advance(m.split, w))
}

func (m *watermarks) putIdle(b *stream.Batch) {
	m.owed = false
	m.put(b, m.splits.SetIdle(m.split))
}

// put marks what the multiplexer answered.
func (m *watermarks) put(b *stream.Batch, out stream.ValveOutput) {
	if out.StatusChange && !m.isIdle() {
		b.Mark(stream.MarkActive, 0)
	}
	if out.Advanced {
		b.Mark(stream.MarkWatermark, int64(out.Watermark))
	}
	if out.StatusChange && m.isIdle() {
		b.Mark(stream.MarkIdle, 0)
	}
}

// end puts out that there is nothing to come: the source is active, at the end
// of time.
func (m *watermarks) end(b *stream.Batch) {
	m.ended, m.owed = true, false
	m.put(b, m.splits.Advance(m.split, stream.MaxTime))
}

// deadline is when a source without records has to look again; 0: never.
func (m *watermarks) deadline() stream.ProcTime {
	if !m.looks() {
		return 0
	}
	return m.probed + periodicMillis
}
