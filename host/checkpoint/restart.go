package checkpoint

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/wasmstream/wasmstream/host/stream"
)

// RestartStrategy is how a job that failed goes on. The names are Flink's.
type RestartStrategy string

// The strategies.
const (
	RestartNone             RestartStrategy = "none"
	RestartFixedDelay       RestartStrategy = "fixed-delay"
	RestartExponentialDelay RestartStrategy = "exponential-delay"
	RestartFailureRate      RestartStrategy = "failure-rate"
)

// RestartOptions is a strategy with what it needs; zero values are Flink's defaults.
type RestartOptions struct {
	Strategy RestartStrategy // "": exponential-delay, as in Flink for jobs with checkpoints

	// Attempts is how often the job is restarted: of fixed-delay in all, default 1; of exponential-delay until it has run
	// for ResetAfter, default without limit.
	Attempts int
	Delay    time.Duration // of fixed-delay and failure-rate, default 1s

	InitialDelay time.Duration // default 1s
	MaxDelay     time.Duration // default 1m
	Multiplier   float64       // default 1.5
	// ResetAfter is how long the job must run since its last restart for the delay to be the initial one again;
	// default 1h.
	ResetAfter time.Duration
	Jitter     float64 // of the delay, in both directions; default 0.1, negative: none

	// Failures is how many there may be within Interval; default 1 in 1m. One more fails the job.
	Failures int
	Interval time.Duration
}

// WithDefaults returns the options with what was left out.
func (o RestartOptions) WithDefaults() RestartOptions {
	orElse := func(d *time.Duration, otherwise time.Duration) {
		if *d == 0 {
			*d = otherwise
		}
	}
	if o.Strategy == "" {
		o.Strategy = RestartExponentialDelay
	}
	if o.Attempts == 0 {
		o.Attempts = math.MaxInt
		if o.Strategy == RestartFixedDelay {
			o.Attempts = 1
		}
	}
	orElse(&o.Delay, time.Second)
	orElse(&o.InitialDelay, time.Second)
	orElse(&o.MaxDelay, time.Minute)
	orElse(&o.ResetAfter, time.Hour)
	orElse(&o.Interval, time.Minute)
	if o.Multiplier == 0 {
		o.Multiplier = 1.5
	}
	switch {
	case o.Jitter == 0:
		o.Jitter = 0.1
	case o.Jitter < 0:
		o.Jitter = 0
	}
	if o.Failures == 0 {
		o.Failures = 1
	}
	return o
}

// Validate names every field that makes no sense.
func (o RestartOptions) Validate() error {
	o = o.WithDefaults()
	var errs []error
	wrong := func(bad bool, format string, args ...any) {
		if bad {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	switch o.Strategy {
	case RestartNone, RestartFixedDelay, RestartExponentialDelay, RestartFailureRate:
	default:
		wrong(true, "strategy: there is no %q; there are none, fixed-delay, exponential-delay and failure-rate", o.Strategy)
	}
	wrong(o.Attempts < 0, "attempts: %d is less than none", o.Attempts)
	wrong(o.Delay < 0, "delay: %s is negative", o.Delay)
	wrong(o.InitialDelay < time.Millisecond, "initial-delay: %s is less than 1ms", o.InitialDelay)
	wrong(o.MaxDelay < o.InitialDelay, "max-delay: %s is less than the initial delay of %s", o.MaxDelay, o.InitialDelay)
	wrong(!(o.Multiplier >= 1), "multiplier: %v is less than 1", o.Multiplier)
	wrong(o.ResetAfter < time.Millisecond, "reset-after: %s is less than 1ms", o.ResetAfter)
	wrong(!(o.Jitter <= 1), "jitter: %v is more than 1", o.Jitter)
	wrong(o.Failures < 0, "failures: %d is less than none", o.Failures)
	wrong(o.Interval < time.Millisecond, "interval: %s is less than 1ms", o.Interval)
	return errors.Join(errs...)
}

// Restarts decides whether a job that failed is started again, and when. It belongs to one goroutine.
type Restarts struct {
	options  RestartOptions
	random   func() float64 // in [0, 1)
	attempts int
	next     stream.ProcTime   // when the last restart was due
	failures []stream.ProcTime // the last ones, for failure-rate
}

// NewRestarts begins without failures. The randomness is for the jitter.
func NewRestarts(o RestartOptions, random func() float64) (*Restarts, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	return &Restarts{options: o.WithDefaults(), random: random, next: math.MinInt64}, nil
}

// Failed tells that the job failed, and returns after what delay to start it again; false: not at all. A failure before
// the last delay is over belongs to the same attempt.
func (r *Restarts) Failed(now stream.ProcTime) (time.Duration, bool) {
	if now <= r.next {
		return time.Duration(r.next-now) * time.Millisecond, true
	}
	var delay time.Duration
	ok := false
	switch r.options.Strategy {
	case RestartFixedDelay:
		delay, ok = r.options.Delay, r.attempts < r.options.Attempts
	case RestartFailureRate:
		delay, ok = r.options.Delay, r.seldom(now)
	case RestartExponentialDelay:
		delay, ok = r.exponential(now)
	}
	if !ok {
		return 0, false
	}
	r.attempts++
	if delay > 0 {
		r.next = after(now, delay)
	}
	return delay, true
}

// seldom says whether there were no more failures than may be. Flink fails the job at as many as may be, which its
// documentation does not say.
func (r *Restarts) seldom(now stream.ProcTime) bool {
	if len(r.failures) > r.options.Failures {
		r.failures = r.failures[1:]
	}
	r.failures = append(r.failures, now)
	earliest := r.failures[0]
	return len(r.failures) <= r.options.Failures || now > after(earliest, r.options.Interval)
}

// exponential is Flink's ExponentialDelayRestartBackoffTimeStrategy.
func (r *Restarts) exponential(now stream.ProcTime) (time.Duration, bool) {
	if r.attempts > 0 && now >= after(r.next, r.options.ResetAfter) {
		r.attempts = 0
	}
	if r.attempts >= r.options.Attempts {
		return 0, false
	}
	initial, most := float64(r.options.InitialDelay), float64(r.options.MaxDelay)
	delay := min(initial*math.Pow(r.options.Multiplier, float64(r.attempts)), 2*most)
	delay += delay * r.options.Jitter * (2*r.random() - 1)
	delay = max(initial, min(delay, most))
	return time.Duration(delay).Truncate(time.Millisecond), true
}
