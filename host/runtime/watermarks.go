package runtime

import (
	"slices"

	"github.com/wasmstream/wasmstream/host/job"
	"github.com/wasmstream/wasmstream/host/stream"
)

// watermarks is a source's part in event time: Flink's bounded-out-of-orderness
// generator with either way of emitting, idleness, and the stamps of ingestion
// time. Each split has its own generator and its own idleness, and the source's
// multiplexer combines them.
//
// The greatest time of a split is part of a checkpoint, so that the result of a job
// whose watermarks move on every record stays a function of its input.
type watermarks struct {
	clock     stream.Clock
	delay     int64 // ms
	onEvent   bool
	off       bool  // only the end of input moves time; the source may be idle
	says      bool  // a function says the watermarks
	ingestion bool  // records get the clock's time as they are read
	pauses    bool  // the clock of idleness stops while the source is held back
	idleAfter int64 // ms; 0: never

	combined stream.Multiplexer
	splits   []*splitMarks
	probed   stream.ProcTime // when the last periodic look was
	held     bool
	ended    bool
}

// splitMarks is what time has come to in one split.
type splitMarks struct {
	handle int // in the multiplexer
	max    stream.EventTime
	idler  stream.IdleTimer
	owed   bool // it is idle, and there was no room to say so
	idle   bool
	meter  splitMeter
}

// periodicMillis is Flink's pipeline.auto-watermark-interval.
const periodicMillis = 200

func (s *splitMarks) setIdle(idle bool) {
	if idle != s.idle {
		s.idle = idle
		s.meter.idle.Store(idle)
	}
}

func newWatermarks(s *job.Source, clock stream.Clock, pauses bool, r stream.CombineRules) watermarks {
	m := watermarks{
		clock: clock, off: true, ingestion: s.IngestionTime, pauses: pauses,
		probed: clock.Now(), combined: stream.NewMultiplexer(r),
	}
	if w := s.Watermark; w != nil {
		m.off = w.Strategy == job.NoWatermarks
		m.delay, m.onEvent, m.idleAfter = w.MaxOutOfOrderness, w.OnEvent, w.IdleTimeout
		m.says = w.Punctuated
	}
	return m
}

// add makes a split known whose greatest time so far is known: MinTime if it had no
// record yet.
func (m *watermarks) add(max stream.EventTime) *splitMarks {
	s := &splitMarks{handle: m.combined.Add(), max: max, idler: stream.NewIdleTimer(m.idleAfter)}
	if m.held && m.pauses {
		s.idler.Hold(true, m.clock.Now())
	}
	m.splits = append(m.splits, s)
	s.meter.watermark.Store(int64(m.reachedBy(s)))
	return s
}

// remove takes a split out that has ended; the others decide from now on.
func (m *watermarks) remove(b *stream.Batch, s *splitMarks) {
	m.splits = slices.DeleteFunc(m.splits, func(o *splitMarks) bool { return o == s })
	s.meter.ended.Store(true)
	if len(m.splits) > 0 {
		m.put(b, m.combined.Remove(s.handle))
	}
}

// last is the watermark that was put out last.
func (m *watermarks) last() stream.EventTime { return m.combined.Watermark() }

// isIdle tells whether the source has said that it is idle.
func (m *watermarks) isIdle() bool { return m.combined.Idle() }

// reached is the watermark that follows from the records so far, whether it was
// put out yet or not: the least of the active splits'. It is MinTime if there is none.
func (m *watermarks) reached() stream.EventTime {
	active, greatest := stream.MaxTime, stream.MinTime
	for _, s := range m.splits {
		if at := m.reachedBy(s); s.idle {
			greatest = max(greatest, at)
		} else {
			active = min(active, at)
		}
	}
	if active < stream.MaxTime {
		return active
	}
	return greatest // all are idle
}

func (m *watermarks) reachedBy(s *splitMarks) stream.EventTime {
	if m.off || s.max == stream.MinTime {
		return stream.MinTime
	}
	return s.max.Add(-m.delay).Add(-1)
}

// resume puts out the watermark that a checkpoint's greatest times stand for.
func (m *watermarks) resume(b *stream.Batch) {
	for _, s := range m.splits {
		if m.reachedBy(s) != stream.MinTime {
			m.emit(b, s)
		}
	}
}

// stamp sets the marks for the rows of a batch of a split that has none.
func (m *watermarks) stamp(b *stream.Batch, s *splitMarks, said []punctuatedWatermark) {
	if m.ingestion {
		now := stream.EventTime(m.clock.Now())
		for i := range b.Len() {
			b.SetTime(i, now)
		}
	}
	if b.Len() > 0 {
		s.idler.Activity()
	}
	switch {
	case m.off:
	case m.says:
		m.stampAsSaid(b, s, said)
	case m.onEvent:
		m.stampOnEvent(b, s)
	default:
		for i := range b.Len() {
			s.max = max(s.max, b.Time(i))
		}
	}
	s.meter.watermark.Store(int64(m.reachedBy(s)))
	m.tick(b)
}

// stampOnEvent marks the watermark behind each row that raises the source's. If
// the source was idle, the news that it is not comes before the first of them.
func (m *watermarks) stampOnEvent(b *stream.Batch, s *splitMarks) {
	before, was := len(b.Marks), s.max
	s.max, _ = b.StampOnEvent(s.max, m.last(), m.combined.Others(s.handle), m.delay)
	m.stamped(b, s, before, was)
}

// stampAsSaid marks the watermarks that the source's function says, as far as they raise
// the source's. The greatest time of the split is what they would follow from.
func (m *watermarks) stampAsSaid(b *stream.Batch, s *splitMarks, said []punctuatedWatermark) {
	before, was, last := len(b.Marks), s.max, m.last()
	for _, w := range said {
		if w.at.Add(1) <= s.max {
			continue
		}
		s.max = w.at.Add(1)
		if at := min(w.at, m.combined.Others(s.handle)); at > last {
			last = at
			b.Marks = append(b.Marks, stream.Mark{At: w.row + 1, Kind: stream.MarkWatermark, Value: int64(at)})
		}
	}
	m.stamped(b, s, before, was)
}

// stamped brings the multiplexer up to the marks behind those that were there before.
func (m *watermarks) stamped(b *stream.Batch, s *splitMarks, before int, was stream.EventTime) {
	if s.max == was {
		return
	}
	s.setIdle(false)
	if m.combined.Advance(s.handle, m.reachedBy(s)).StatusChange && len(b.Marks) > before {
		b.Marks = slices.Insert(b.Marks, before, stream.Mark{At: b.Marks[before].At, Kind: stream.MarkActive})
	}
}

// hold tells that the source takes no records though there may be some, because
// of its readers or its group; or that it goes on.
func (m *watermarks) hold(held bool) {
	if !m.pauses || m.idleAfter == 0 || held == m.held {
		return
	}
	m.held = held
	for _, s := range m.splits {
		s.idler.Hold(held, m.clock.Now())
	}
}

// tick is the periodic look: it puts out the watermark, or that splits are idle.
// Without a batch, as there is no room for it, idleness is owed.
func (m *watermarks) tick(b *stream.Batch) {
	if !m.looks() {
		return
	}
	now := m.clock.Now()
	if now-m.probed < periodicMillis {
		return
	}
	m.probed = now
	for _, s := range m.splits {
		switch isIdle := s.idler.Probe(now); {
		case b == nil:
			s.owed = isIdle && !s.idle
		case !isIdle:
			m.emit(b, s)
		case !s.idle:
			m.putIdle(b, s)
		}
	}
}

// looks tells whether there is something to look for periodically.
func (m *watermarks) looks() bool {
	return !m.ended && (m.idleAfter > 0 || !m.off && !m.onEvent && !m.says)
}

// emit puts the watermark out if a split has raised it; a source that was idle is
// active then.
func (m *watermarks) emit(b *stream.Batch, s *splitMarks) {
	w := m.reachedBy(s)
	if w == stream.MinTime {
		return
	}
	s.setIdle(false)
	m.put(b, m.combined.Advance(s.handle, w))
}

// settle puts out the idleness that is owed; false if none was.
func (m *watermarks) settle(b *stream.Batch) (owed bool) {
	for _, s := range m.splits {
		if s.owed {
			m.putIdle(b, s)
			owed = true
		}
	}
	return owed
}

func (m *watermarks) putIdle(b *stream.Batch, s *splitMarks) {
	s.owed = false
	s.setIdle(true)
	m.put(b, m.combined.SetIdle(s.handle))
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
	for _, s := range m.splits {
		s.meter.ended.Store(true)
	}
	m.ended, m.splits = true, nil
	m.put(b, m.combined.End())
}

// deadline is when a source without records has to look again; 0: never.
func (m *watermarks) deadline() stream.ProcTime {
	if !m.looks() {
		return 0
	}
	return m.probed + periodicMillis
}
