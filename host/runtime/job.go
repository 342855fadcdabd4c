package runtime

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"

	"github.com/wasmstream/wasmstream/host/connector"
	"github.com/wasmstream/wasmstream/host/job"
	"github.com/wasmstream/wasmstream/host/stream"
)

// Job is a job that can be run, once. Close comes last and always.
type Job struct {
	config    Config
	sched     *scheduler
	check     *checkpoints
	feeds     map[string]*Feed
	sources   []openSource
	sinks     []openSink
	guests    []Guest
	tasks     []*operatorTask // of steps and sinks, upstream first
	openSinks atomic.Int64    // sinks whose input has not ended
	stats     stats
	committed bool
}

type openSource struct {
	name string
	connector.Source
}

type openSink struct {
	name string
	connector.Sink
}

// stats are the counters of all parts of a job.
type stats struct {
	sources []*SourceStats
	steps   map[string]*StepStats
	sinks   map[string]*SinkStats
}

// New prepares a job: it instantiates modules and restores state, and starts
// nothing.
func New(plan *job.Job, c Config) (*Job, error) {
	j := &Job{
		config: c.withDefaults(), sched: newScheduler(c.Clock), feeds: map[string]*Feed{},
		check: &checkpoints{plan: plan, started: map[string]int64{}},
		stats: stats{steps: map[string]*StepStats{}, sinks: map[string]*SinkStats{}},
	}
	if c.Restore != nil {
		if err := c.Restore.fits(plan); err != nil {
			return nil, err
		}
	}
	b := &builder{job: j, plan: plan, config: j.config, streams: map[job.StreamRef][]producer{}, drifts: map[string]*driftGroup{}}
	if err := b.build(); err != nil {
		return nil, errors.Join(err, j.Close())
	}
	return j, nil
}

// Run drives the job to the end of its input and commits its sinks, or until the
// context is done. Whatever went wrong, its sinks are then aborted and all its
// goroutines have ended.
func (j *Job) Run(ctx context.Context) error {
	stopWatch := context.AfterFunc(ctx, func() {
		j.sched.stop(context.Cause(ctx))
		j.closeSources() // so that no reader waits any longer
	})
	defer stopWatch()
	if err := j.sched.run(j.config.Workers); err != nil {
		return err
	}
	return j.commit()
}

// Drive steps the job's tasks one at a time in the calling goroutine, in an order
// that follows from a generator (nil: downstream first), until nothing is left to
// do. If the input has ended then, the sinks are committed.
func (j *Job) Drive(order *rand.Rand) error {
	if err := j.sched.drive(order); err != nil {
		return err
	}
	if j.sched.stopped.Load() {
		return j.commit()
	}
	return nil
}

// MoveClock moves the clock of a scripted job, one step after the other, upstream
// first: what an upstream timer puts out reaches steps whose clock still shows
// the time before. Timers up to now fire.
func (j *Job) MoveClock(now stream.ProcTime) error {
	for i, t := range j.tasks {
		t.moveClock(now)
		if i+1 < len(j.tasks) && j.tasks[i+1].name == t.name {
			continue // another task of the same step
		}
		if err := j.Drive(nil); err != nil {
			return err
		}
	}
	return nil
}

// Checkpoint starts a checkpoint at the sources; done gets the snapshot, from
// some task, when all parts are there. It is an error while another is under way.
func (j *Job) Checkpoint(done func(*Snapshot)) error { return j.check.trigger(done) }

// sinkEnded ends the job when the last sink has all its records.
func (j *Job) sinkEnded() {
	if j.openSinks.Add(-1) == 0 {
		j.sched.stop(nil)
	}
}

func (j *Job) commit() error {
	if j.committed {
		return nil
	}
	for _, s := range j.sinks {
		if err := s.Commit(); err != nil {
			return fmt.Errorf("sink %s: %w", s.name, err)
		}
	}
	j.committed = true
	return nil
}

func (j *Job) closeSources() error {
	var errs []error
	for _, s := range j.sources {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}

// Close gives everything back. Sinks that were not committed are aborted.
func (j *Job) Close() error {
	j.sched.stop(errors.New("the job was closed"))
	j.sched.clock.Alarm(0, nil)
	errs := []error{j.closeSources()}
	for _, s := range j.sinks {
		errs = append(errs, s.Abort())
	}
	for _, g := range j.guests {
		errs = append(errs, g.Close())
	}
	j.guests = nil
	return errors.Join(errs...)
}

// Progress is what a job has done so far.
type Progress struct {
	Records     int64 // read
	Bytes       int64 // read, of BytesTotal
	BytesTotal  int64 // 0: not known
	Skipped     int64 // records that could not be decoded
	Firings     int64
	Late        int64 // records that no window took, LateDropped among them
	LateDropped int64
	LateByMax   int64            // of Late, those that are late only because combine is max
	Written     int64            // records, by all sinks
	Watermark   stream.EventTime // the least of the sources'
}

// Progress may be asked for at any time, from any goroutine.
func (j *Job) Progress() Progress {
	p := Progress{Watermark: stream.MaxTime}
	for i, s := range j.stats.sources {
		p.Records += s.Records.Load()
		p.Bytes += s.Bytes.Load()
		p.BytesTotal += j.sources[i].Size()
		p.Skipped += s.Skipped.Load()
		p.Watermark = min(p.Watermark, stream.EventTime(s.Watermark.Load()))
	}
	for _, s := range j.stats.steps {
		p.Firings += s.Firings.Load()
		p.Late += s.Late.Load()
		p.LateDropped += s.LateDropped.Load()
		p.LateByMax += s.LateByMax.Load()
	}
	for _, s := range j.stats.sinks {
		p.Written += s.Records.Load()
	}
	return p
}

// LateDropped is how many late records a step has dropped in this run; false if
// there is no such step.
func (j *Job) LateDropped(step string) (int64, bool) {
	s, ok := j.stats.steps[step]
	if !ok {
		return 0, false
	}
	return s.LateDropped.Load(), true
}

// SinkWatermark is the watermark that last reached a sink; false if there is no
// such sink.
func (j *Job) SinkWatermark(sink string) (stream.EventTime, bool) {
	s, ok := j.stats.sinks[sink]
	if !ok {
		return 0, false
	}
	return stream.EventTime(s.Watermark.Load()), true
}

// SinkRecords is how many records a sink has taken; 0 if there is no such sink.
func (j *Job) SinkRecords(sink string) int64 {
	if s, ok := j.stats.sinks[sink]; ok {
		return s.Records.Load()
	}
	return 0
}
