package window

import (
	"errors"
	"fmt"
	"time"

	"github.com/wasmstream/wasmstream/host/stream"
)

// AssignerKind is the way in which records get their windows.
type AssignerKind uint8

// The kinds of assigners.
const (
	Tumbling        AssignerKind = iota // windows of Size, end to end
	Sliding                             // windows of Size that begin every Slide
	Session                             // windows that last until nothing has come for a gap, and merge
	GlobalWindows                       // one window without end
	FunctionWindows                     // those that a function gives, which the caller asks
)

// Assigner gives records their windows. Lengths are milliseconds.
type Assigner struct {
	Kind   AssignerKind
	Size   int64 // tumbling, sliding
	Slide  int64 // sliding
	Offset int64 // tumbling, sliding: what the first window is shifted by; may be negative
	Gap    int64 // session

	// GapByRecord: each record of a session brings its own gap (Element.Gap).
	GapByRecord bool
	// Merging: windows of FunctionWindows merge where they overlap or touch.
	Merging bool
	// Overlapping: sessions merge only if they overlap; touching ones stay apart.
	Overlapping bool
	// Processing: windows of processing time, else of event time.
	Processing bool
	// Zone makes windows of whole days begin at midnight there (plus Offset on
	// the clock on the wall), so that days have 23 and 25 hours too.
	Zone *time.Location
}

// Merges says that windows merge.
func (a *Assigner) Merges() bool { return a.Kind == Session || a.Kind == FunctionWindows && a.Merging }

// Element is what decisions depend on in a record.
type Element struct {
	Time  stream.EventTime // MinTime: none
	Gap   int64            // the session gap that it brings, milliseconds; 0: it has none
	Value float64          // the field of a delta trigger
}

// Now is the present moment in both domains.
type Now struct {
	Watermark stream.EventTime
	Clock     stream.ProcTime
}

// ErrNoTimestamp is the failure of a record that has no event time where one is
// needed.
var ErrNoTimestamp = errors.New("the record has no event time (timestamp), which event-time windows need: name the source's event-time column, or give the record an event time")

// ErrGap is the fault of a record that brings no usable session gap.
var ErrGap = errors.New("the record's session gap must be more than 0 ms")

// Assign appends the windows of a record to dst, in the order in which Flink
// takes them: of sliding windows the latest first. There may be none. It knows
// nothing of FunctionWindows.
func (c *Core) Assign(dst []Window, e Element, now Now) ([]Window, error) {
	a := &c.assigner
	t := int64(e.Time)
	switch {
	case a.Kind == FunctionWindows:
		return dst, nil
	case a.Kind == GlobalWindows:
		return append(dst, Global), nil
	case a.Processing:
		t = int64(now.Clock)
	case e.Time == stream.MinTime && a.Kind != Session:
		return dst, ErrNoTimestamp
	}
	switch {
	case a.Kind == Session:
		return a.session(dst, t, e.Gap)
	case a.Zone != nil && t < zoneMillisMax && t > -zoneMillisMax:
		return a.days(dst, t), nil
	case a.Kind == Sliding:
		return a.sliding(dst, t), nil
	}
	start := floor(t, a.Offset, a.Size)
	return append(dst, Window{Start: start, End: start + a.Size}), nil
}

func (a *Assigner) sliding(dst []Window, t int64) []Window {
	for start := floor(t, a.Offset, a.Slide); start > t-a.Size; start -= a.Slide {
		dst = append(dst, Window{Start: start, End: start + a.Size})
	}
	return dst
}

// session does not look at the event time: a record without one is at the least
// time there is.
func (a *Assigner) session(dst []Window, t, gap int64) ([]Window, error) {
	if !a.GapByRecord {
		gap = a.Gap
	}
	if gap <= 0 {
		return dst, fmt.Errorf("%w, not %d (a null counts as 0)", ErrGap, gap)
	}
	return append(dst, Window{Start: t, End: t + gap}), nil
}

// floor is the greatest offset + n·size that is not above t. The remainder is
// cut toward zero, so a negative one is lifted (FLINK-26334).
func floor(t, offset, size int64) int64 {
	r := (t - offset) % size
	if r < 0 {
		r += size
	}
	return t - r
}
