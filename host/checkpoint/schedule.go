package checkpoint

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/wasmstream/wasmstream/host/stream"
)

// ScheduleOptions is when checkpoints are made.
type ScheduleOptions struct {
	// Interval is from the start of one to that of the next; 0: they are made on demand only.
	Interval time.Duration
	// MinPause is the least time from the end of one, whatever came of it, to the start of the next.
	MinPause time.Duration
	// Timeout is how long one may take; 0: 10 minutes.
	Timeout time.Duration
	// TolerableFailures is how many in a row may come to nothing without the job's failing, as in Flink; negative: any
	// number. The default of 0 is Flink's as well.
	TolerableFailures int
}

// DefaultTimeout is that of checkpoints, as in Flink.
const DefaultTimeout = 10 * time.Minute

// Validate names every field that makes no sense.
func (o ScheduleOptions) Validate() error {
	var errs []error
	for _, f := range []struct {
		name string
		d    time.Duration
	}{{"interval", o.Interval}, {"min-pause", o.MinPause}, {"timeout", o.Timeout}} {
		if f.d < 0 || f.d > 0 && f.d < time.Millisecond {
			errs = append(errs, fmt.Errorf("%s: %s is not possible; at least 1ms is", f.name, f.d))
		}
	}
	return errors.Join(errs...)
}

// Do is what a Decision asks for.
type Do string

// What a schedule can ask for.
const (
	DoWait    Do = "wait"     // until At, or until something happens
	DoStart   Do = "start"    // a checkpoint; then call Started
	DoAbort   Do = "abort"    // that of Epoch; then call Failed with the Reason
	DoFailJob Do = "fail job" // for Reason
)

// Decision is what to do now.
type Decision struct {
	Do     Do
	At     stream.ProcTime
	Epoch  int64
	Reason string
}

// Never is a time that does not come.
const Never stream.ProcTime = math.MaxInt64

// Schedule decides when to make checkpoints, one at a time. It is told what happens, and asked what to do. It belongs to
// one goroutine.
type Schedule struct {
	options  ScheduleOptions
	due      stream.ProcTime // by the interval
	notUntil stream.ProcTime // for the pause
	demanded bool

	running  int64 // the epoch of the one under way; 0: none
	deadline stream.ProcTime
	parts    int // of it
	done     int

	failures int // in a row
	last     string
}

// NewSchedule begins to count the interval now.
func NewSchedule(o ScheduleOptions, now stream.ProcTime) (*Schedule, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if o.Timeout == 0 {
		o.Timeout = DefaultTimeout
	}
	s := &Schedule{options: o, due: Never}
	s.next(now)
	return s, nil
}

// after is never rather than a time before now.
func after(now stream.ProcTime, d time.Duration) stream.ProcTime {
	if at := now + stream.ProcTime(d.Milliseconds()); at >= now {
		return at
	}
	return Never
}

// reached says whether a time has come; never has not, even when the clock shows it.
func reached(now, at stream.ProcTime) bool { return at != Never && now >= at }

func (s *Schedule) next(start stream.ProcTime) {
	if s.options.Interval > 0 {
		s.due = after(start, s.options.Interval)
	}
}

// Next decides what to do. It may be asked at any time, and changes nothing.
func (s *Schedule) Next(now stream.ProcTime) Decision {
	switch tolerable := s.options.TolerableFailures; {
	case tolerable >= 0 && s.failures > tolerable:
		return Decision{Do: DoFailJob, Reason: fmt.Sprintf(
			"%d checkpoints in a row came to nothing, and %d are tolerable; the last: %s", s.failures, tolerable, s.last)}
	case s.running != 0 && reached(now, s.deadline):
		return Decision{Do: DoAbort, Epoch: s.running, Reason: fmt.Sprintf(
			"checkpoint %d was not complete after %s: %d of %d parts were done", s.running, s.options.Timeout, s.done, s.parts)}
	case s.running != 0:
		return Decision{Do: DoWait, At: s.deadline}
	case s.demanded:
		return Decision{Do: DoStart}
	case reached(now, s.due) && now >= s.notUntil:
		return Decision{Do: DoStart}
	case s.due == Never:
		return Decision{Do: DoWait, At: Never}
	}
	return Decision{Do: DoWait, At: max(s.due, s.notUntil)}
}

// Demand asks for a checkpoint as soon as none is under way, whatever the interval and the pause: a savepoint, or the
// last one at the end of input.
func (s *Schedule) Demand() { s.demanded = true }

// Started tells that a checkpoint was begun, which consists of so many parts.
func (s *Schedule) Started(now stream.ProcTime, epoch int64, parts int) {
	s.running, s.parts, s.done = epoch, parts, 0
	s.deadline = after(now, s.options.Timeout)
	s.demanded = false
	s.next(now)
}

// PartDone tells that a part of it is there.
func (s *Schedule) PartDone(epoch int64) {
	if epoch == s.running {
		s.done++
	}
}

// Completed tells that a checkpoint is there. News of one that is not under way counts for nothing, here and below.
func (s *Schedule) Completed(now stream.ProcTime, epoch int64) {
	if s.end(now, epoch) {
		s.failures = 0
	}
}

// Failed tells that one came to nothing.
func (s *Schedule) Failed(now stream.ProcTime, epoch int64, reason string) {
	if s.end(now, epoch) {
		s.failures++
		s.last = reason
	}
}

func (s *Schedule) end(now stream.ProcTime, epoch int64) bool {
	if epoch == 0 || epoch != s.running {
		return false
	}
	s.running = 0
	s.notUntil = after(now, s.options.MinPause)
	return true
}
