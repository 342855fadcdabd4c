package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	goruntime "runtime"
	"runtime/pprof"
	"time"

	"github.com/wasmstream/wasmstream/host/job"
	"github.com/wasmstream/wasmstream/host/runtime"
	"github.com/wasmstream/wasmstream/host/server"
)

// RunCommand runs a job.
type RunCommand struct {
	Job      string `arg:"" help:"The job file." placeholder:"JOB"`
	Workers  int    `help:"How many processors work on the job; by default all." placeholder:"N"`
	JSON     bool   `name:"json" help:"End with one JSON object on stdout instead of a table."`
	LogLevel string `help:"The least important lines of the log: debug, info, warn or error. By default warn on a terminal, else info." enum:"debug,info,warn,error," default:"" placeholder:"LEVEL"`
	Metrics  string `help:"Serve Prometheus metrics, /health and /ready there: host:port, with port 0 for any that is free." placeholder:"ADDRESS"`
	RecordFlags
	StartFlags
	SandboxFlags

	CPUProfile string `name:"cpuprofile" hidden:"" type:"path"`
}

// Validate implements kong's check of a command's flags.
func (c *RunCommand) Validate() error {
	if c.Workers < 0 || c.Workers > job.ParallelismMax {
		return fmt.Errorf("--workers must be from 1 to %d, or 0 for all processors", job.ParallelismMax)
	}
	return c.RecordFlags.Validate()
}

// Run runs the job to the end of its input and tells how it went.
func (c *RunCommand) Run(e *Env) error {
	stop, err := startProfile(c.CPUProfile)
	if err != nil {
		return &exitError{exitBadInput, err}
	}
	defer stop()
	screen := newScreen(e)
	e.Log = newLog(screen, e.StderrTerminal, c.LogLevel)
	r := &jobRun{env: e, screen: screen}
	err = r.run(c)
	switch {
	case c.JSON:
		// A program that reads the result finds a failure there too.
		return errors.Join(err, printJSON(e.Stdout, r.result(err)))
	case err != nil || r.idle:
		return err
	}
	return r.tell(e.Stdout)
}

// jobRun is one run of a job.
type jobRun struct {
	env      *Env
	screen   *screen
	plan     *job.Job
	server   *server.Server   // nil: nobody watches
	progress runtime.Progress // at the end
	seconds  float64
	sinks    []sinkResult
	idle     bool     // the job had finished before
	keep     *keeping // nil: the job has no checkpoints

	restarts    int64
	checkpoints *checkpointResult // of all starts; nil: the job has none
}

// run reads the job, runs it, and keeps what it came to.
func (r *jobRun) run(c *RunCommand) (err error) {
	m := newModules(r.env, c.options(r.env))
	defer func() { err = errors.Join(err, m.Close()) }()
	if r.plan, err = readJob(r.env, c.Job, m); err != nil {
		return err
	}
	for _, w := range r.plan.Warnings {
		r.screen.printf("warning: %s\n", oneLine(w.String()))
	}
	if err := r.serve(c.Metrics); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.server.Close()) }()
	if err := m.loadAll(r.plan); err != nil {
		return err
	}
	r.locateSkipped()
	keep, err := openKeeping(r.env, r.plan, &c.StartFlags, m.digests(r.plan))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, keep.close()) }()
	r.keep = keep
	if r.idle = keep.finished(); r.idle {
		r.screen.printf("job %s had finished already; its checkpoint %d says so. To run it anew, use %s\n", r.plan.Name, keep.recovery.Manifest.Epoch, anew(r.plan))
		return nil
	}
	if keep != nil {
		if err := keep.canGoOn(keep.recovery.Manifest); err != nil {
			return err
		}
	}
	if m.record, err = openRecorder(&c.RecordFlags, r.env.Log, r.plan, m); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.record.close(r.screen.printf)) }()
	workers := c.Workers
	if workers == 0 {
		workers = goruntime.GOMAXPROCS(0)
	}
	start := startOptions{lineage: c.Lineage}
	if r.plan.Checkpoint != nil {
		start.interval = r.plan.Checkpoint.Interval
	}
	return r.supervise(keep, func() runtime.Config {
		start.goesBack, start.begins = keep.goesBack(), keep.begins()
		config := config(r.env, m, workers, start)
		config.Checkpoints = keep.config(r.env)
		if r.server != nil {
			config.Monotonic = monotonic()
		}
		return config
	})
}

// anew is how a job that has finished is run once more. A transactional prefix that was
// used is not begun with again.
func anew(plan *job.Job) string {
	for _, s := range plan.Sinks {
		if k := s.Connector.KafkaSink; k != nil && k.Delivery == job.ExactlyOnce {
			return "--lineage with a NAME that is new, and topics that are new: its results stay in " + k.Topic + ", where they would be put out again"
		}
	}
	return "--fresh"
}

// drive runs the job with its progress shown.
func (r *jobRun) drive(j *runtime.Job) error {
	started := r.env.Clock.Now()
	hide := r.show(j)
	ended := r.hintWhenSlow()
	r.server.Running(j)
	err := j.Run(r.env.Context)
	r.server.Stopped()
	ended()
	hide()
	r.progress = j.Progress()
	r.addCheckpoints(j.Checkpoints())
	r.seconds = float64(r.env.Clock.Now()-started) / float64(time.Second/time.Millisecond)
	if err != nil {
		return explain(r.plan, r.interrupted(err))
	}
	for _, s := range r.plan.Sinks {
		r.sinks = append(r.sinks, sinkResult{Name: s.Name, Path: placeOf(s.Connector), Rows: j.SinkRecords(s.Name)})
	}
	return nil
}

// endingMax is how long an interrupted run may take to end before the user is told
// what else there is.
const endingMax = 2 * time.Second

// hintWhenSlow tells a user whose interrupt has no effect how to insist: a source
// may be waiting for a pipe that nobody writes to. It returns what ends the watch.
func (r *jobRun) hintWhenSlow() (ended func()) {
	done := make(chan struct{})
	stop := context.AfterFunc(r.env.Context, func() {
		select {
		case <-time.After(endingMax):
			r.screen.printf("the run is still ending; another signal kills it at once\n")
		case <-done:
		}
	})
	return func() {
		stop()
		close(done)
	}
}

// interrupted says what a signal left behind.
func (r *jobRun) interrupted(err error) error {
	var exit *exitError
	if !errors.As(err, &exit) {
		return err
	}
	left := "nothing was written, and what stood at the sinks' paths is as it was"
	if r.keep != nil {
		left = r.keep.left()
	}
	return &exitError{exit.code, fmt.Errorf("%w after %s records; %s", exit, grouped(r.progress.Records), left)}
}

// show begins to show the job's progress: by a line on a terminal, else in the
// log. The function that it returns ends that.
func (r *jobRun) show(j *runtime.Job) (hide func()) {
	if r.env.StderrTerminal {
		r.screen.begin()
		return every(lineInterval, func() {
			r.screen.show(liveLine(r.plan.Name, j.Progress(), r.screen.rate(j.Progress().Records), r.env.StderrColumns()))
		}, r.screen.hide)
	}
	log, started := r.env.Log, r.env.Clock.Now()
	log.Info("job started", "job", r.plan.Name, "sources", len(r.plan.Sources), "steps", len(r.plan.Steps), "sinks", len(r.plan.Sinks), "parallelism", r.plan.Parallelism)
	tell := func(message string) {
		p := j.Progress()
		seconds := float64(r.env.Clock.Now()-started) / 1000
		log.Info(message, "job", r.plan.Name, "records", p.Records, "bytes", p.Bytes, "bytes_total", p.BytesTotal, "seconds", seconds,
			"watermark", shownTime(p.Watermark), "firings", p.Firings, "late", p.Late, "skipped", p.Skipped)
	}
	return every(logInterval, func() { tell("progress") }, func() { tell("job ended") })
}

// How often progress is shown.
const (
	lineInterval = 250 * time.Millisecond
	logInterval  = 10 * time.Second
)

// every calls do again and again until the function that it returns is called,
// which calls last when no do is under way any more.
func every(interval time.Duration, do, last func()) (stop func()) {
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		ticker := time.NewTicker(interval)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				do()
			case <-quit:
				return
			}
		}
	}()
	return func() {
		close(quit)
		<-done
		last()
	}
}

// locateSkipped makes the log name the file and line of records that are skipped.
func (r *jobRun) locateSkipped() {
	r.env.Log = slog.New(&locatingHandler{r.env.Log.Handler(), r.plan})
}

// startProfile records where the processor's time goes, if a file is named.
func startProfile(path string) (stop func(), err error) {
	if path == "" {
		return func() {}, nil
	}
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() {
		pprof.StopCPUProfile()
		f.Close()
	}, nil
}
