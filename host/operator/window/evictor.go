package window

import (
	"fmt"

	"github.com/wasmstream/wasmstream/host/stream"
)

// EvictorKind is the way in which records are evicted.
type EvictorKind uint8

// The kinds of evictors.
const (
	ByCount    EvictorKind = iota // keep the last Count records
	ByTime                        // keep the records of the last Size milliseconds of event time
	ByDelta                       // keep the records whose distance from the last is below Threshold
	ByFunction                    // keep what a function says, which the caller asks
)

// Evictor throws records out of a window when it fires, for good.
type Evictor struct {
	Kind      EvictorKind
	Count     int64   // ByCount
	Size      int64   // ByTime, milliseconds
	Threshold float64 // ByDelta
	After     bool    // after the window function has seen them, else before
}

// Evict decides which of the n records of a firing go: it appends for each of
// them, in order of arrival, whether it stays. ByTime needs the records' event
// times, ByDelta the field's values; else they may be nil. What is thrown out
// leaves the window's contents too (FLINK-4369), before or after the firing. It knows
// nothing of ByFunction.
func (v *Evictor) Evict(keep []bool, n int, times []stream.EventTime, values []float64) ([]bool, error) {
	switch v.Kind {
	case ByTime:
		return v.byTime(keep, times)
	case ByDelta:
		return v.byDelta(keep, values), nil
	}
	for i := range n {
		keep = append(keep, int64(n-i) <= v.Count)
	}
	return keep, nil
}

// byTime leaves everything if the first record has no event time.
func (v *Evictor) byTime(keep []bool, times []stream.EventTime) ([]bool, error) {
	newest := stream.MinTime
	for _, t := range times {
		newest = max(newest, t)
		if t == stream.MinTime && times[0] != t {
			return keep, fmt.Errorf("a time evictor met records with and without event time in one window: %w", ErrNoTimestamp)
		}
	}
	all := len(times) > 0 && times[0] == stream.MinTime
	cut := int64(newest) - v.Size
	for _, t := range times {
		keep = append(keep, all || int64(t) > cut)
	}
	return keep, nil
}

func (v *Evictor) byDelta(keep []bool, values []float64) []bool {
	for _, x := range values {
		last := values[len(values)-1]
		// Not the same as <: a NaN stays, as in Flink.
		keep = append(keep, !(last-x >= v.Threshold))
	}
	return keep
}
