package window

import (
	"errors"
	"fmt"
	"time"
)

// AssignerKind is how records are put into windows.
type AssignerKind uint8

// The assigners.
const (
	Tumbling AssignerKind = iota + 1
	Sliding
	Session
	GlobalWindows
)

// Assigner puts records into windows.
type Assigner struct {
	Kind        AssignerKind
	Size        int64 // ms; tumbling and sliding
	Offset      int64 // ms; tumbling and sliding
	Slide       int64 // ms; sliding
	Gap         int64 // ms; session. 0: each record brings its own
	Processing  bool
	Zone        *time.Location // windows of whole days begin at its midnight
	Overlapping bool           // sessions that only touch stay two
}

// TriggerKind is when a window fires.
type TriggerKind uint8

// The triggers.
const (
	EventTime TriggerKind = iota + 1
	ProcessingTime
	Never
	EndOfStream
	Count
	ContinuousEventTime
	ContinuousProcessingTime
	Purging
	Delta
	Timeout
)

// Trigger says when a window fires.
type Trigger struct {
	Kind      TriggerKind
	Count     int64
	Interval  int64 // ms
	Threshold float64
	Reset     bool
	Nested    *Trigger
}

// EvictorKind is what an evictor removes by.
type EvictorKind uint8

// The evictors.
const (
	ByCount EvictorKind = iota + 1
	ByTime
	ByDelta
)

// Evictor removes records from a window when it fires.
type Evictor struct {
	Kind      EvictorKind
	Count     int64
	Size      int64 // ms
	Threshold float64
	After     bool
}

// Options configure a Core.
type Options struct {
	Assigner        Assigner
	Trigger         *Trigger // nil: the assigner's own
	Evictor         *Evictor
	AllowedLateness int64 // ms
}

// Validate names what is wrong. The words are those that scenario files know
// (offset, lateness).
func (o Options) Validate() error {
	var errs []error
	if o.Assigner.Kind != Tumbling || o.Assigner.Processing || o.Assigner.Zone != nil || o.Trigger != nil || o.Evictor != nil {
		return errors.New("only tumbling windows of event time with their own trigger are there yet")
	}
	if o.Assigner.Size <= 0 {
		errs = append(errs, fmt.Errorf("the size of a tumbling window must be more than 0 ms, not %d", o.Assigner.Size))
	} else if off := o.Assigner.Offset; off >= o.Assigner.Size || off <= -o.Assigner.Size {
		errs = append(errs, fmt.Errorf("the offset of a tumbling window must be smaller than its size: |%d| ms is not below %d ms", off, o.Assigner.Size))
	}
	if o.AllowedLateness < 0 {
		errs = append(errs, fmt.Errorf("the allowed lateness must not be negative: %d ms", o.AllowedLateness))
	}
	return errors.Join(errs...)
}
