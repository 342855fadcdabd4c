package scenario

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/wasmstream/wasmstream/host/checkpoint"
	"github.com/wasmstream/wasmstream/host/connector"
	"github.com/wasmstream/wasmstream/host/job"
	"github.com/wasmstream/wasmstream/host/runtime"
	"github.com/wasmstream/wasmstream/host/stream"
)

// Run performs the scenario. The options must be valid.
func (s *Scenario) Run(o Options) Result {
	plan, modules, err := s.plan(&o)
	if err != nil {
		return s.refused(err, &o)
	}
	b, err := s.bind(plan, modules, &o)
	if err != nil {
		return s.wrong(err)
	}
	r := &runner{
		Scenario: s, o: &o, plan: plan, modules: modules, binding: b, clock: &manualClock{},
		store: checkpoint.NewMemory(), checkpoints: map[string]checkpoint.Store{}, dropped: map[string]int64{},
	}
	var updated []byte
	var bad *mismatch
	if o.Update {
		updated, bad = r.update()
	} else {
		bad = r.check()
	}
	if err := r.stop(); err != nil && bad == nil {
		bad = &mismatch{s.to, fmt.Sprintf("the job could not be closed: %v", err)}
	}
	if bad != nil {
		return Result{File: s.path, Outcome: Fail, Line: bad.line, Message: bad.message}
	}
	return Result{File: s.path, Outcome: Pass, Updated: updated}
}

// wrong is the result of a scenario that could not be run.
func (s *Scenario) wrong(err error) Result {
	var errs Errors
	if errors.As(err, &errs) {
		return errs.Result()
	}
	return Result{File: s.path, Outcome: Wrong, Line: s.jobLine, Message: err.Error()}
}

// refused is the result of a scenario whose job was refused: a pass if the script
// begins by saying so. What is not offered yet never counts as the refusal that
// the script wants.
func (s *Scenario) refused(err error, o *Options) Result {
	var problems job.Problems
	if !errors.As(err, &problems) {
		return s.wrong(err)
	}
	var lines []string
	later := false
	wanted := ""
	if len(s.actions) > 0 && s.actions[0].kind == wantError {
		wanted = s.actions[0].phrase
	}
	for _, p := range problems {
		if later = later || p.Unsupported; !p.Unsupported && wanted != "" && strings.Contains(p.Field+": "+p.Message, wanted) {
			return Result{File: s.path, Outcome: Pass}
		}
		lines = append(lines, p.String())
	}
	if wanted != "" && !later && !o.Update {
		return Result{File: s.path, Outcome: Fail, Line: s.actions[0].line, Message: fmt.Sprintf(
			"the job is refused, but no reason contains %q:\n%s", wanted, strings.Join(lines, "\n"))}
	}
	first := problems[0]
	if first.File != s.path {
		return Result{File: s.path, Outcome: Wrong, Line: s.jobLine, Message: strings.Join(lines, "\n")}
	}
	lines[0] = strings.TrimPrefix(lines[0], fmt.Sprintf("%s:%d:%d: ", first.File, first.Line, first.Column))
	return Result{File: s.path, Outcome: Wrong, Line: first.Line, Message: strings.Join(lines, "\n")}
}

// received is a row that a sink got.
type received struct {
	sink int // its number
	time stream.EventTime
	line string
}

// sourceState is what the script told a source since the last restart.
type sourceState struct {
	watermark stream.EventTime
	idle      bool
}

// runner drives a job through a script.
type runner struct {
	*Scenario
	*binding
	o       *Options
	plan    *job.Job
	modules *modules
	clock   *manualClock

	job         *runtime.Job // nil: it has failed
	failure     error        // why
	sources     map[string]*sourceState
	askers      map[string]*asker           // of enrichments
	store       checkpoint.Store            // of this run's checkpoints
	checkpoints map[string]checkpoint.Store // each with the one of that name
	dropped     map[string]int64            // late records by step, in the jobs before this one
	lives       int                         // of the job so far
	received    []received                  // because of the present action
	batch       stream.Batch                // scratch: what is sent
}

// nextPlan is the plan of the job's next life.
func (r *runner) nextPlan() *job.Job {
	lives := r.lives
	r.lives++
	if lives == 0 || len(r.o.Rescale) == 0 {
		return r.plan
	}
	plan := *r.plan
	plan.Parallelism = min(r.o.Rescale[(lives-1)%len(r.o.Rescale)], plan.MaxParallelism)
	return &plan
}

// start builds the job, from a checkpoint or anew (nil). A job that was restored
// goes on at the clock's present time, and its ended sources say so again.
func (r *runner) start(from *checkpoint.Manifest) error {
	recovery, err := checkpoint.Recover(r.store)
	if err != nil {
		return err
	}
	recovery.Manifest, recovery.Committed = from, true
	c := runtime.Config{Decoders: 1, Clock: r.clock, Scripted: true, Collect: r.collect, Guest: r.modules.guest}
	r.askers = map[string]*asker{}
	c.Asker = func(s *job.Step) (connector.Asker, error) {
		r.askers[s.Name] = &asker{step: s}
		return r.askers[s.Name], nil
	}
	c.Limits.BatchRows = r.o.Batch
	c.Checkpoints = &runtime.Checkpoints{Store: r.store, Recovery: recovery}
	if r.job, err = runtime.New(r.nextPlan(), c); err != nil {
		r.job = nil
		return err
	}
	r.failure = nil
	r.sources = make(map[string]*sourceState, len(r.plan.Sources))
	for _, s := range r.plan.Sources {
		r.sources[s.Name] = &sourceState{watermark: stream.MinTime}
	}
	if err := r.job.Drive(nil); err != nil { // what had ended says so again
		return err
	}
	return r.job.MoveClock(r.clock.now)
}

// stop tears the job down without draining it.
func (r *runner) stop() error {
	if r.job == nil {
		return nil
	}
	for _, s := range r.plan.Steps {
		n, _ := r.job.LateDropped(s.Name)
		r.dropped[s.Name] += n
	}
	j := r.job
	r.job = nil
	return j.Close()
}

func (r *runner) collect(sink string, row stream.Row, t stream.EventTime) {
	out := r.outlets[sink]
	r.received = append(r.received, received{out.number, t, out.line(row, t)})
}

// sorted gives what was received in the order in which an update writes it.
func (r *runner) sorted() []received {
	slices.SortFunc(r.received, func(a, b received) int {
		return cmp.Or(cmp.Compare(a.sink, b.sink), cmp.Compare(a.time, b.time), strings.Compare(a.line, b.line))
	})
	return r.received
}

// begin starts the job for the first time.
func (r *runner) begin() { r.fail(r.start(nil)) }

// fail notes that the job failed, and tears it down; nil: it did not.
func (r *runner) fail(err error) {
	if err != nil {
		r.failure = errors.Join(err, r.stop())
	}
}

// act performs n actions, which are emits of one source if there are several.
func (r *runner) act(from, n int) {
	r.received = r.received[:0]
	err := r.perform(from, n)
	if err == nil && r.o.RestartEvery {
		err = r.restartInPlace()
	}
	r.fail(err)
}

func (r *runner) perform(from, n int) error {
	a := &r.actions[from]
	switch a.kind {
	case emit:
		r.batch.Reset()
		for i := from; i < from+n; i++ {
			row := r.rowOf[i]
			r.batch.Append(r.rows.Row(row), r.rows.Time(row))
		}
		return r.send(a.name)
	case watermark:
		return r.advance(a.name, a.time)
	case idle:
		r.sources[a.name].idle = true
		return r.mark(a.name, stream.MarkIdle, 0)
	case active:
		r.sources[a.name].idle = false
		return r.mark(a.name, stream.MarkActive, 0)
	case end:
		*r.sources[a.name] = sourceState{watermark: stream.MaxTime}
		// That it is active reaches everybody first: else one of several tasks of an
		// idle step would end while the others still do not count.
		if err := r.mark(a.name, stream.MarkActive, 0); err != nil {
			return err
		}
		r.job.Feed(a.name).End()
		return r.job.Drive(nil)
	case reply:
		if err := r.askers[a.name].answer(r.replies[from]); err != nil {
			return err
		}
		return r.job.Drive(nil)
	case clock:
		r.clock.now = a.now
		return r.job.MoveClock(a.now)
	case keepCheckpoint:
		return r.keep(a.name)
	case restore:
		return errors.Join(r.stop(), r.goBack(a.name))
	}
	return r.restart()
}

// send hands the batch to a source and lets the job do all that follows.
func (r *runner) send(source string) error {
	r.job.Feed(source).Send(&r.batch)
	return r.job.Drive(nil)
}

func (r *runner) mark(source string, kind stream.MarkKind, value int64) error {
	r.batch.Reset()
	r.batch.Mark(kind, value)
	return r.send(source)
}

// advance moves a source's watermark. One that is not above the last is ignored,
// and one for an idle source is not even remembered.
func (r *runner) advance(source string, t stream.EventTime) error {
	s := r.sources[source]
	if s.idle || t <= s.watermark {
		return nil
	}
	s.watermark = t
	return r.mark(source, stream.MarkWatermark, int64(t))
}

var errNoCheckpoint = errors.New("the checkpoint was not completed")

func (r *runner) takeCheckpoint() (*checkpoint.Manifest, error) {
	outcome := errNoCheckpoint
	if err := r.job.Checkpoint(func(err error) { outcome = err }); err != nil {
		return nil, err
	}
	if err := r.job.Drive(nil); err != nil {
		return nil, err
	}
	if outcome != nil {
		return nil, outcome
	}
	taken, err := checkpoint.Recover(r.store)
	return taken.Manifest, err
}

// keep takes a checkpoint, and keeps it under a name.
func (r *runner) keep(name string) error {
	taken, err := r.takeCheckpoint()
	if err != nil {
		return err
	}
	r.checkpoints[name] = checkpoint.NewMemory()
	return checkpoint.Import(r.checkpoints[name], r.store, taken, true)
}

// goBack starts the job from a checkpoint that was kept.
func (r *runner) goBack(name string) error {
	kept, err := checkpoint.Recover(r.checkpoints[name])
	if err != nil {
		return err
	}
	r.store = checkpoint.NewMemory()
	if err := checkpoint.Import(r.store, r.checkpoints[name], kept.Manifest, true); err != nil {
		return err
	}
	here, err := checkpoint.Recover(r.store)
	if err != nil {
		return err
	}
	return r.start(here.Manifest)
}

func (r *runner) restart() error {
	taken, err := r.takeCheckpoint()
	if err != nil {
		return err
	}
	return errors.Join(r.stop(), r.start(taken))
}

// restartInPlace restarts the job and tells it what a restart forgets.
func (r *runner) restartInPlace() error {
	before := r.sources
	if err := r.restart(); err != nil {
		return err
	}
	for _, s := range r.plan.Sources {
		if err := r.advance(s.Name, before[s.Name].watermark); err != nil {
			return err
		}
	}
	for _, s := range r.plan.Sources {
		if before[s.Name].idle {
			r.sources[s.Name].idle = true
			if err := r.mark(s.Name, stream.MarkIdle, 0); err != nil {
				return err
			}
		}
	}
	return nil
}
