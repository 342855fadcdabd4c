package stream

// Multiplexer combines the watermarks of the splits of one source: Flink's
// WatermarkOutputMultiplexer with the output behind it. The watermark of the
// source is the least of the splits that are not idle, and never goes back. A
// source is idle if it has splits and all are; it then takes the greatest of
// their watermarks (FLINK-38454), unless the rules say that it stays.
//
// A source that was idle is active again with the first watermark that rises: one
// that has caught up with nothing must not hold up others.
//
// All splits that a source begins with are to be added before the first of them
// has a watermark (FLINK-32828), or that one alone moves the source's time.
type Multiplexer struct {
	rules  CombineRules
	splits []split // by handle
	out    EventTime
	idle   bool // the source has said that it is
}

type split struct {
	watermark   EventTime
	used, isOff bool // isOff: the split is idle
}

// NewMultiplexer makes a multiplexer without splits.
func NewMultiplexer(r CombineRules) Multiplexer { return Multiplexer{rules: r, out: MinTime} }

// Watermark is the combined watermark that was put out last.
func (m *Multiplexer) Watermark() EventTime { return m.out }

// Idle tells whether the source as a whole is idle, as far as it has said so.
func (m *Multiplexer) Idle() bool { return m.idle }

// Add registers a split, active and without watermark, and returns its handle.
// From now on it holds the source's watermark back.
func (m *Multiplexer) Add() int {
	s := split{watermark: MinTime, used: true}
	for i := range m.splits {
		if !m.splits[i].used {
			m.splits[i] = s
			return i
		}
	}
	m.splits = append(m.splits, s)
	return len(m.splits) - 1
}

// Remove takes a split out that has ended or moved away. The others decide then;
// a source without splits is neither idle (FLINK-23767, FLINK-39586) nor at the
// end of time (FLINK-8001).
func (m *Multiplexer) Remove(i int) ValveOutput {
	m.splits[i] = split{}
	return m.update()
}

// Advance takes the watermark of a split, which is active from now on.
func (m *Multiplexer) Advance(i int, t EventTime) ValveOutput {
	s := &m.splits[i]
	s.isOff = false
	s.watermark = max(s.watermark, t)
	return m.update()
}

// Others is the least watermark of the active splits other than one; MaxTime if
// there are none.
func (m *Multiplexer) Others(i int) EventTime {
	least := MaxTime
	for o := range m.splits {
		if s := &m.splits[o]; o != i && s.used && !s.isOff {
			least = min(least, s.watermark)
		}
	}
	return least
}

// End takes all splits out: the source has nothing to come, and is at the end of
// time.
func (m *Multiplexer) End() ValveOutput {
	m.splits = append(m.splits[:0], split{watermark: MaxTime, used: true})
	return m.update()
}

// SetIdle takes the news that a split is idle.
func (m *Multiplexer) SetIdle(i int) ValveOutput {
	m.splits[i].isOff = true
	return m.update()
}

// SetActive takes the news that a split is active again.
func (m *Multiplexer) SetActive(i int) ValveOutput {
	m.splits[i].isOff = false
	return m.update()
}

func (m *Multiplexer) update() (out ValveOutput) {
	least, greatest, some, active := MaxTime, MinTime, false, false
	for i := range m.splits {
		s := &m.splits[i]
		if !s.used {
			continue
		}
		some, greatest = true, max(greatest, s.watermark)
		if !s.isOff {
			least, active = min(least, s.watermark), true
		}
	}
	was := m.idle
	switch {
	case !some:
		m.idle = false
		return ValveOutput{StatusChange: was}
	case !active && m.rules.StayWhenAllIdle:
		least = m.out
	case !active:
		least = greatest
	}
	if least > m.out {
		m.out, m.idle = least, false
		out = ValveOutput{Watermark: least, Advanced: true}
	}
	if !active {
		m.idle = true
	}
	out.StatusChange = m.idle != was
	return out
}
