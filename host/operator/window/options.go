package window

import (
	"errors"
	"fmt"
)

const (
	// DurationMillisMax is the longest size, slide, gap or interval: sums with
	// times of this age do not wrap around.
	DurationMillisMax = 1 << 60
	// WindowsPerRecordMax is how many sliding windows may hold a record.
	WindowsPerRecordMax = 100_000
)

// Options configure a Core.
type Options struct {
	Assigner        Assigner
	Trigger         *Trigger // nil: the assigner's own
	Evictor         *Evictor // nil: none; the core checks it, the caller asks it
	AllowedLateness int64    // milliseconds; nothing for windows that do not end by event time

	// KeepEqual departs from Flink, which forgets what a session holds when a
	// record with a gap of its own brings exactly the bounds that the session has
	// grown to. With it the record joins the session as any other.
	KeepEqual bool
}

// trigger is the one that holds.
func (o Options) trigger() Trigger {
	switch {
	case o.Trigger != nil:
		return *o.Trigger
	case o.Assigner.Kind == GlobalWindows:
		return Trigger{Kind: Never}
	case o.Assigner.Processing:
		return Trigger{Kind: ProcessingTime}
	}
	return Trigger{Kind: EventTime}
}

// problems collects what is wrong.
type problems []error

func (p *problems) check(ok bool, format string, args ...any) {
	if !ok {
		*p = append(*p, fmt.Errorf(format, args...))
	}
}

// Validate names everything that is wrong. The words are those that scenario
// files know: offset, gap, lateness, trigger.
func (o Options) Validate() error {
	var p problems
	o.Assigner.check(&p)
	if o.Trigger != nil {
		o.Trigger.check(&p, &o.Assigner)
	}
	if o.Evictor != nil {
		o.Evictor.check(&p)
	}
	p.check(o.AllowedLateness >= 0, "the allowed lateness must not be negative: %d ms", o.AllowedLateness)
	return errors.Join(p...)
}

func isLength(ms int64) bool { return ms > 0 && ms <= DurationMillisMax }

func (a *Assigner) check(p *problems) {
	switch a.Kind {
	case Tumbling:
		p.check(isLength(a.Size), "the size of a tumbling window must be from 1 to %d ms, not %d", DurationMillisMax, a.Size)
		p.check(!isLength(a.Size) || a.Offset < a.Size && a.Offset > -a.Size, "the offset of a tumbling window must be smaller than its size: |%d| ms is not below %d ms", a.Offset, a.Size)
	case Sliding:
		p.check(isLength(a.Size), "the size of a sliding window must be from 1 to %d ms, not %d", DurationMillisMax, a.Size)
		p.check(isLength(a.Slide), "the slide of a sliding window must be from 1 to %d ms, not %d", DurationMillisMax, a.Slide)
		p.check(!isLength(a.Slide) || a.Offset < a.Slide && a.Offset > -a.Slide, "the offset of a sliding window must be smaller than its slide: |%d| ms is not below %d ms", a.Offset, a.Slide)
		p.check(!isLength(a.Slide) || a.Size/a.Slide <= WindowsPerRecordMax, "a size of %d ms with a slide of %d ms puts each record into more than %d windows", a.Size, a.Slide, WindowsPerRecordMax)
	case Session:
		p.check(a.GapByRecord || isLength(a.Gap), "the gap of a session must be from 1 to %d ms, not %d", DurationMillisMax, a.Gap)
		p.check(!a.GapByRecord || a.Gap == 0, "a session takes its gap from a field of each record or has a fixed gap, not both")
	case GlobalWindows, FunctionWindows:
	default:
		p.check(false, "there is no window assigner of kind %d", a.Kind)
	}
	a.checkExtras(p)
}

func (a *Assigner) checkExtras(p *problems) {
	p.check(!a.Merging || a.Kind == FunctionWindows, "only windows that a function gives can be told to merge")
	p.check(!a.Overlapping || a.Kind == Session, "only sessions merge, so only they can be told to merge when they overlap")
	if a.Zone == nil {
		return
	}
	switch a.Kind {
	case Tumbling:
		p.check(a.Size%day == 0, "with a time zone the size of a window must be whole days: %d ms is not", a.Size)
	case Sliding:
		p.check(a.Size%day == 0, "with a time zone the size of a window must be whole days: %d ms is not", a.Size)
		p.check(a.Slide%day == 0, "with a time zone the slide of a window must be whole days: %d ms is not", a.Slide)
	default:
		p.check(false, "a time zone is for tumbling and sliding windows of whole days")
	}
}

var triggerNames = [...]string{
	EventTime: "event-time", ProcessingTime: "processing-time", Never: "never", EndOfStream: "end-of-stream", Count: "count",
	ContinuousEventTime: "continuous-event-time", ContinuousProcessingTime: "continuous-processing-time", Purging: "purging",
	Delta: "delta", Timeout: "timeout", FunctionTrigger: "function",
}

// String is the trigger's name in job files.
func (k TriggerKind) String() string {
	if int(k) < len(triggerNames) {
		return triggerNames[k]
	}
	return fmt.Sprintf("TriggerKind(%d)", uint8(k))
}

// check follows the chain of nested triggers: each has to suit the windows.
func (t *Trigger) check(p *problems, a *Assigner) {
	isGlobal := a.Kind == GlobalWindows
	switch t.Kind {
	case EventTime, ProcessingTime:
		p.check(!isGlobal, "a global window has no end, so the trigger %s never fires: name another one", t.Kind)
	case Never, EndOfStream:
		p.check(isGlobal, "the trigger %s is for global windows: windows of time have an end", t.Kind)
	case Count:
		p.check(t.Count > 0, "the count of a trigger must be more than 0, not %d", t.Count)
	case ContinuousEventTime, ContinuousProcessingTime:
		p.check(isLength(t.Interval), "the interval of the trigger %s must be from 1 to %d ms, not %d", t.Kind, DurationMillisMax, t.Interval)
	case Delta:
		p.check(t.Threshold == t.Threshold, "the threshold of a delta trigger must be a number")
		p.check(!a.Merges(), "the windows merge, which a delta trigger cannot")
	case Timeout:
		p.check(t.Interval >= 0 && t.Interval <= DurationMillisMax, "a timeout trigger must fire after 0 to %d ms, not %d", DurationMillisMax, t.Interval)
		p.check(!a.Merges(), "the windows merge, which a timeout trigger cannot")
	case FunctionTrigger:
		p.check(!a.Merges() || t.Merges, "the windows merge, which the trigger's function cannot")
	case Purging:
	default:
		p.check(false, "there is no trigger of kind %d", t.Kind)
	}
	if t.Kind == Purging || t.Kind == Timeout {
		if t.Nested == nil {
			p.check(false, "a %s trigger needs another trigger within", t.Kind)
			return
		}
		t.Nested.check(p, a)
		p.check(t.Kind != Timeout || !t.Nested.isAsked(), "a timeout trigger cannot have a function within: it would have to know its answer")
	}
}

// isAsked says that a function stands at the end of the chain.
func (t *Trigger) isAsked() bool {
	for t != nil && t.Nested != nil {
		t = t.Nested
	}
	return t != nil && t.Kind == FunctionTrigger
}

func (v *Evictor) check(p *problems) {
	switch v.Kind {
	case ByCount:
		p.check(v.Count > 0, "the count of an evictor must be more than 0, not %d", v.Count)
	case ByTime:
		p.check(isLength(v.Size), "the time of an evictor must be from 1 to %d ms, not %d", DurationMillisMax, v.Size)
	case ByDelta:
		p.check(v.Threshold == v.Threshold, "the threshold of a delta evictor must be a number")
	case ByFunction:
	default:
		p.check(false, "there is no evictor of kind %d", v.Kind)
	}
}
