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
	config      Config
	sched       *scheduler
	check       *checkpoints
	coordinator *coordinator // nil: the job has no checkpoints
	feeds       map[string]*Feed
	sources     []openSource
	sinks       []openSink
	guests      []Guest
	askers      []connector.Asker
	tasks       []*operatorTask // of steps and sinks, upstream first
	watched     []*watched      // upstream first
	functions   []*functionMeter
	rooms       []*room
	counting    []watchedAsker
	openings    []*opening
	openSinks   atomic.Int64 // sinks whose input has not ended
	stats       stats
	recovered   bool // what the checkpoint had left to commit is committed
	committed   bool
}

type openSource struct {
	name string
	connector.Source
}

type openSink struct {
	name string
	from []byte // the hand-over that it goes on from
	connector.Sink
}

// stats are the counters of all parts of a job.
type stats struct {
	sources     []*SourceStats
	steps       map[string][]*StepStats // of each task
	sinks       map[string]*SinkStats
	checkpoints CheckpointStats
}

// New prepares a job: it instantiates modules and restores state, and starts
// nothing.
func New(plan *job.Job, c Config) (*Job, error) {
	j := &Job{
		config: c.withDefaults(), sched: newScheduler(c.Clock), feeds: map[string]*Feed{},
		check: &checkpoints{started: map[string]int64{}},
		stats: stats{steps: map[string][]*StepStats{}, sinks: map[string]*SinkStats{}},
	}
	j.sched.failed, j.sched.monotonic = j.release, c.Monotonic
	b := &builder{job: j, plan: plan, config: j.config, streams: map[job.StreamRef][]producer{}, drifts: map[string]*driftGroup{}}
	if err := b.build(); err != nil {
		return nil, errors.Join(err, j.Close())
	}
	return j, nil
}

// Run drives the job to the end of its input and commits its sinks, or until the
// context is done. All its goroutines have ended then.
func (j *Job) Run(ctx context.Context) error {
	stopWatch := context.AfterFunc(ctx, func() { j.sched.stop(context.Cause(ctx)) })
	defer stopWatch()
	if err := j.recover(); err != nil {
		return err
	}
	if err := errors.Join(j.sched.run(j.config.Workers), j.closeAskers()); err != nil {
		return err
	}
	return j.commit()
}

// closeAskers ends what is being asked: nobody waits for it any more.
func (j *Job) closeAskers() error {
	var errs []error
	for _, a := range j.askers {
		errs = append(errs, a.Close())
	}
	j.askers = nil
	return errors.Join(errs...)
}

// Drive steps the job's tasks one at a time in the calling goroutine, in an order
// that follows from a generator (nil: downstream first), until nothing is left to
// do. If the input has ended then, the sinks are committed.
func (j *Job) Drive(order *rand.Rand) error {
	if err := j.recover(); err != nil {
		return err
	}
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

// Checkpoint has a checkpoint taken, behind one that is under way; done is called,
// from some goroutine of the job, when it is durable and the sinks have committed
// it, or with why it came to nothing.
func (j *Job) Checkpoint(done func(error)) error { return j.check.ask(done) }

// sinkEnded ends the job when the last sink has all its records: at once, or with a
// last checkpoint.
func (j *Job) sinkEnded() {
	if j.openSinks.Add(-1) > 0 {
		return
	}
	if j.coordinator != nil {
		j.check.end()
		return
	}
	j.sched.stop(nil)
}

// recover commits what the checkpoint that the job goes on from had left to commit,
// and notes that, before any sink is opened: opening one gives up what it does not
// know to be committed.
func (j *Job) recover() error {
	c := j.coordinator
	if j.recovered || c == nil || c.committed || c.config.Recovery.Manifest == nil {
		return nil
	}
	for _, s := range j.sinks {
		if err := s.Recover(s.from); err != nil {
			return fmt.Errorf("sink %s: %w", s.name, err)
		}
	}
	j.recovered = true
	return c.note(c.last.Epoch)
}

// commit makes all sinks' results visible at the end of a job without checkpoints;
// with them the last one has done so.
func (j *Job) commit() error {
	if j.committed || j.coordinator != nil {
		return nil
	}
	for _, s := range j.sinks {
		if _, err := s.Handover(true); err != nil {
			return fmt.Errorf("sink %s: %w", s.name, err)
		}
	}
	for _, s := range j.sinks {
		if err := s.Commit(); err != nil {
			return fmt.Errorf("sink %s: %w", s.name, err)
		}
	}
	j.committed = true
	return nil
}

// finish ends a job of which all is committed.
func (j *Job) finish() {
	j.committed = true
	j.sched.stop(nil)
}

// release sets free whoever waits for the outside world, as the job has failed.
func (j *Job) release() {
	_ = j.closeSources() // Close closes them again, and tells
	for _, s := range j.sinks {
		s.Interrupt()
	}
}

func (j *Job) closeSources() error {
	var errs []error
	for _, s := range j.sources {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}

// Close gives everything back. Without checkpoints, sinks that were not committed
// are aborted; with them, what was handed over stays for the run that goes on.
func (j *Job) Close() error {
	j.sched.stop(errors.New("the job was closed"))
	j.sched.clock.Alarm(0, nil)
	errs := []error{j.closeSources(), j.closeAskers()}
	for _, s := range j.sinks {
		if j.coordinator != nil {
			errs = append(errs, s.Close())
		} else {
			errs = append(errs, s.Abort())
		}
	}
	for _, r := range j.rooms {
		r.close()
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
	Faults      int64 // records that functions failed on
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
	for _, tasks := range j.stats.steps {
		for _, s := range tasks {
			p.Firings += s.Firings.Load()
			p.Late += s.Late.Load()
			p.LateDropped += s.LateDropped.Load()
			p.LateByMax += s.LateByMax.Load()
			p.Faults += s.Faults.Load()
		}
	}
	for _, s := range j.stats.sinks {
		p.Written += s.Records.Load()
	}
	return p
}

// LateDropped is how many late records a step has dropped in this run; false if
// there is no such step.
func (j *Job) LateDropped(step string) (int64, bool) {
	tasks, ok := j.stats.steps[step]
	n := int64(0)
	for _, s := range tasks {
		n += s.LateDropped.Load()
	}
	return n, ok
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
