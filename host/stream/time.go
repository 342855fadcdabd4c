package stream

import (
	"math"
	"strconv"
)

// EventTime is a record's own time or a watermark, in milliseconds since the
// epoch.
type EventTime int64

// ProcTime is a reading of the processing-time clock, in milliseconds since
// the epoch.
type ProcTime int64

// The limits of EventTime. A record whose event time is MinTime has none, as in
// Flink, where a record without timestamp reports Long.MIN_VALUE.
const (
	MinTime EventTime = math.MinInt64
	MaxTime EventTime = math.MaxInt64
)

// Add returns t+ms, held at the limits instead of wrapping around.
func (t EventTime) Add(ms int64) EventTime {
	sum := int64(t) + ms
	if ms > 0 && sum < int64(t) {
		return MaxTime
	}
	if ms < 0 && sum > int64(t) {
		return MinTime
	}
	return EventTime(sum)
}

// String writes the time in milliseconds; the limits are written min and max.
func (t EventTime) String() string {
	switch t {
	case MinTime:
		return "min"
	case MaxTime:
		return "max"
	}
	return strconv.FormatInt(int64(t), 10)
}

// Clock tells processing time. The engine never reads the machine's clock by
// itself: whoever wires a job hands it one.
type Clock interface {
	// Now is the present moment; it never goes back.
	Now() ProcTime
	// Alarm arranges for ring to be called once, at the given moment or soon after
	// it, from any goroutine. A clock has one alarm: the next call
	// replaces it, and one with a nil ring only cancels.
	Alarm(at ProcTime, ring func())
}
