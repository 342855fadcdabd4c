package sim

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"

	"github.com/wasmstream/wasmstream/abi"
	"github.com/wasmstream/wasmstream/host/checkpoint"
	"github.com/wasmstream/wasmstream/host/checkpoint/folder"
	"github.com/wasmstream/wasmstream/host/connector"
	"github.com/wasmstream/wasmstream/host/format"
	"github.com/wasmstream/wasmstream/host/format/json"
	"github.com/wasmstream/wasmstream/host/job"
	"github.com/wasmstream/wasmstream/host/runtime"
)

// Options are of a run.
type Options struct {
	Seed uint64
	// Job is which; "": the seed says.
	Job string
	// Manifest and Guest give Wasm modules.
	Manifest func(job.Module) (*abi.Manifest, error)
	Guest    func(*job.Function) (runtime.Guest, error)
	// Single, if not nil, takes the place of all that the seed draws: one thing goes wrong, and nothing else.
	Single *Single
	// Records, if not 0, is how many each source has.
	Records int
	// Trace, if not nil, gets a line for each thing that happens.
	Trace io.Writer
}

// Single is one thing that goes wrong: an operation of the disk.
type Single struct {
	Op  int // its number in the first process, from 1
	How How
}

// How is what goes wrong.
type How string

// The ways.
const (
	Fails    How = "fails"
	Answered How = "is done and answered with an error"
	Killed   How = "comes after the process is killed"
	PowerCut How = "comes after the power is cut"
)

// Report is what came of a run.
type Report struct {
	Seed    uint64
	Job     string
	Crashes []string // where processes ended, in order
	Lives   int
	// Failures are jobs that ended with an error and were started again.
	Failures    int
	Checkpoints int
	Merges      int
	Fallbacks   int // recoveries that passed over a checkpoint that had rotted
	Lines       int // that are expected
	Steps       int
	Ops         int // of the disk, in the first process
	Repeats     bool
	// Findings are what must not be.
	Findings []string
}

// dir is the folder of checkpoints on the disk.
const dir = "/jobs/state"

// run is a run of a seed.
type run struct {
	o        Options
	spec     *Spec
	plan     *job.Job
	world    *world
	lives    *rand.Rand // what is drawn for each process
	expected output
	steps    int // of the reference
	report   Report
}

// Run runs a seed. The error is of the options; what the run shows is in the report.
func Run(o Options) (*Report, error) {
	draw := generator(o.Seed, drawJob)
	spec := &Specs[draw.IntN(len(Specs))]
	if o.Job != "" {
		var err error
		if spec, err = specOf(o.Job); err != nil {
			return nil, err
		}
	}
	if o.Records > 0 {
		fewer := *spec
		fewer.Records = o.Records
		spec = &fewer
	}
	plan, err := spec.plan(o.Manifest)
	if err != nil {
		return nil, err
	}
	r := &run{o: o, spec: spec, plan: plan, lives: generator(o.Seed, drawLives)}
	r.report = Report{Seed: o.Seed, Job: spec.Name}
	if err := r.reference(); err != nil {
		return nil, fmt.Errorf("job %s without faults: %w", spec.Name, err)
	}
	r.world = newWorld(o.Seed, plan, spec, o.Trace)
	r.world.checkpointed = true
	r.fated()
	r.conclude()
	return &r.report, nil
}

// reference runs the job without checkpoints and faults.
func (r *run) reference() error {
	w := newWorld(r.o.Seed, r.plan, r.spec, nil)
	random := generator(r.o.Seed, drawReference)
	l := &life{world: w, rand: random, readMax: 20, beatsMax: referenceStepsMax}
	w.life = l
	j, err := runtime.New(r.plan, r.config(l, nil, 1))
	if err != nil {
		return err
	}
	err = l.drive(j, random)
	if err = errors.Join(err, j.Close()); err != nil {
		return err
	}
	if len(w.findings) > 0 {
		return errors.New(w.findings[0])
	}
	r.expected = w.output()
	r.report.Lines = r.expected.size()
	r.steps = l.beats
	if sink, n := r.expected.least(); n < linesLeast {
		return fmt.Errorf("sink %s gets %d lines, which shows little", sink, n)
	}
	return nil
}

const (
	referenceStepsMax = 1_000_000
	linesLeast        = 3
)

// fated lives through all fates, and then one life without any.
func (r *run) fated() {
	fates := drawFatesOf(r.o.Seed)
	if r.o.Single != nil {
		fates = nil
	}
	for i := 0; len(r.world.findings) == 0; {
		l := r.newLife()
		switch single := r.o.Single; {
		case single != nil && single.Op > 0 && l.number == 1:
			l.suffer(*single)
		case i < len(fates):
			l.fate = fates[i]
			l.weather, l.patience = r.drawWeather(), r.spec.Records*len(r.plan.Sources)/len(fates)
		}
		ended := r.live(l)
		switch {
		case l.dead:
			r.report.Crashes = append(r.report.Crashes, l.where)
			i++
		case ended:
			return
		case !l.faced():
			return // a finding, which live has noted
		}
	}
}

func (r *run) newLife() *life {
	w := r.world
	r.report.Lives++
	l := &life{
		world: w, rand: rand.New(rand.NewPCG(r.lives.Uint64(), 0)), number: r.report.Lives,
		punctual: r.spec.Late == 0, readMax: 1 + r.lives.IntN(12), beatsMax: 100*r.steps + 200_000,
	}
	w.life = l
	return l
}

// drawWeather is fair for half of all processes.
func (r *run) drawWeather() weather {
	switch r.lives.IntN(8) {
	case 0:
		return weather{disk: 200}
	case 1:
		return weather{sinks: 100}
	case 2:
		return weather{sources: 30}
	case 3:
		return weather{disk: 50, sinks: 30, sources: 10, fullAfter: 1 + r.lives.IntN(2000), fullFor: 1 + r.lives.IntN(2000)}
	}
	return weather{}
}

// live is a process from its start to its end. It has ended well if there is nothing left to do.
func (r *run) live(l *life) (ended bool) {
	w := r.world
	w.trace.say("a process begins; %s; weather %+v", l.fate, l.weather)
	w.disk.Inject(l.fault)
	err := l.survive(func() (err error) {
		ended, err = r.process(l)
		return err
	})
	r.report.Steps += l.beats
	if l.number == 1 {
		r.report.Ops = l.ops
	}
	for _, g := range l.guests {
		if failed := g.Close(); failed != nil && !errors.Is(failed, errGone) {
			w.find("a guest could not be closed: %v", failed)
		}
	}
	switch {
	case l.dead && l.where == tooLong && l.fate.at == "":
		w.find("after %d steps without faults the job has not ended", l.beats)
	case err != nil && !l.faced():
		w.find("without faults the job failed: %v", err)
	case err != nil:
		r.report.Failures++
		w.trace.say("the process ends: %v", err)
	}
	w.crash(l.dead && l.fate.power)
	r.decay(l)
	r.inspect(l)
	return ended && err == nil
}

// faced tells whether faults may have come to the process.
func (l *life) faced() bool { return l.weather != (weather{}) || l.failOp > 0 }

// survive calls f until it returns or the process crashes.
func (l *life) survive(f func() error) (err error) {
	defer func() {
		if x := recover(); x != nil {
			if _, ok := x.(crash); !ok {
				panic(x) // of somebody else
			}
			err = nil
		}
	}()
	return f()
}

// process is what the run command does.
func (r *run) process(l *life) (ended bool, err error) {
	l.reach(atStart)
	store, err := folder.Open(l.world.disk, dir)
	if err != nil {
		return false, err
	}
	defer func() {
		if !l.dead {
			err = errors.Join(err, store.Close())
		}
	}()
	const attempts = 3
	for range attempts {
		if ended, err = r.attempt(l, &watchedStore{Store: store, life: l}); err == nil {
			return ended, nil
		}
		l.world.trace.say("the job failed: %v", err)
	}
	return false, err
}

// attempt runs the job from its newest checkpoint to its end or failure.
func (r *run) attempt(l *life, store *watchedStore) (ended bool, err error) {
	w := l.world
	if l.recovery, err = checkpoint.Recover(store); err != nil {
		return false, err
	}
	l.recovered(w)
	l.reach(atRecovered)
	if m := l.recovery.Manifest; m != nil && m.Final && l.recovery.Committed {
		return true, nil
	}
	tasks := 1 + r.lives.IntN(4)
	w.trace.say("goes on from %s with parallelism %d", shownRecovery(l.recovery), tasks)
	c := r.plan.Checkpoint
	j, err := runtime.New(r.resized(tasks), r.config(l, &runtime.Checkpoints{
		Store: store, Recovery: l.recovery, Retained: c.Retained, AtLeastOnce: c.Mode == job.AtLeastOnce,
		Schedule: checkpoint.ScheduleOptions{
			Interval: c.Interval, MinPause: c.MinPause, Timeout: c.Timeout, TolerableFailures: c.TolerableFailures,
		},
		Merge:   r.merging(l),
		Reached: func(p runtime.Point) { l.reached(p) },
	}, 1+r.lives.IntN(3)))
	if err != nil {
		return false, err
	}
	store.merging = false // what was opened was restored
	l.reach(atMade)
	err = l.drive(j, l.rand)
	closed := j.Close()
	if closed != nil && err == nil {
		err = fmt.Errorf("closing the job: %w", closed)
	}
	return err == nil, err
}

// merging is when state files are merged: soon.
func (r *run) merging(l *life) checkpoint.MergeLimits {
	if r.o.Single != nil {
		return checkpoint.MergeLimits{DeltasMax: 1, BytesMin: 1 << 10}
	}
	return checkpoint.MergeLimits{DeltasMax: 1 + l.rand.IntN(6), BytesMin: 1 << (8 + l.rand.IntN(14))}
}

// resized is the plan with another parallelism.
func (r *run) resized(tasks int) *job.Job {
	plan := *r.plan
	plan.Parallelism = tasks
	return &plan
}

func (l *life) reached(p runtime.Point) {
	l.world.trace.say("%s", p)
	l.reach(place(p))
}

// drive drives a job until all its sinks have all.
func (l *life) drive(j *runtime.Job, random *rand.Rand) error {
	order := rand.New(beats{l, rand.NewPCG(random.Uint64(), 0)})
	for {
		err := j.Drive(order)
		if late := j.Progress().Late; late > 0 && l.punctual {
			l.world.find("%d records are late, and none can be", late)
		}
		if err != nil {
			return err
		}
		switch w := l.world; {
		case w.final():
			w.trace.say("the job has ended")
			return nil
		case l.answerOne():
		case !w.clock.skip():
			return errors.New("the job has not ended, and nothing is left to do")
		}
		l.beat()
	}
}

// config chooses the implementations.
func (r *run) config(l *life, c *runtime.Checkpoints, decoders int) runtime.Config {
	w := l.world
	limits := runtime.Limits{BatchRows: []int{1, 5, 64, 2048}[l.rand.IntN(4)], SliceRecords: []int{1, 1, 10, 4096}[l.rand.IntN(4)]}
	return runtime.Config{
		Decoders: decoders, Limits: limits, Clock: w.clock, Log: w.log(), Checkpoints: c,
		Source: func(s *job.Source) (connector.Source, error) {
			return &logReader{log: w.logs[s.Name], life: l}, nil
		},
		Decoder: func(s *job.Source) (format.Decoder, error) { return json.NewDecoder(s.Schema, s.Value) },
		Sink:    func(s *job.Sink) (connector.Sink, error) { return w.sink(l, s) },
		Encoder: func(s *job.Sink) (format.Encoder, error) {
			k := s.Connector.KafkaSink
			return json.NewEncoder(s.Input, json.EncoderOptions{AppendOnly: k != nil && k.Mode != job.ChangelogMode})
		},
		Guest: l.guest(r.o.Guest),
		Asker: l.asker,
	}
}

// conclude compares the whole output.
func (r *run) conclude() {
	w := r.world
	if len(w.findings) == 0 {
		c := comparison{spec: r.spec, repeats: w.repeats, whole: true}
		if text := c.differs(r.expected, w.output()); text != "" {
			w.find("at the end: %s", text)
		}
	}
	r.report.Checkpoints, r.report.Merges, r.report.Fallbacks = w.counts.checkpoints, len(w.merged), w.counts.fallbacks
	r.report.Repeats, r.report.Findings = w.repeats, w.findings
}

func shownRecovery(r checkpoint.Recovery) string {
	if r.Manifest == nil {
		return fmt.Sprintf("the beginning, next epoch %d", r.Next)
	}
	return fmt.Sprintf("checkpoint %d (committed: %t, next epoch %d, problems %v)", r.Manifest.Epoch, r.Committed, r.Next, r.Problems)
}
