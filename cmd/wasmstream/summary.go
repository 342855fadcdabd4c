package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/wasmstream/wasmstream/host/job"
	"github.com/wasmstream/wasmstream/host/runtime"
)

// runResult is what `run --json` prints.
type runResult struct {
	Job              string       `json:"job,omitempty"`
	Status           string       `json:"status"` // finished, failed, interrupted or refused
	Error            string       `json:"error,omitempty"`
	Problems         []problem    `json:"problems,omitempty"` // of a job that was refused
	Warnings         []problem    `json:"warnings,omitempty"`
	Seconds          float64      `json:"seconds"`
	Records          int64        `json:"records"` // read, without those that were skipped
	RecordsPerSecond float64      `json:"records_per_second"`
	Bytes            int64        `json:"bytes"`
	Firings          int64        `json:"firings"`
	Late             int64        `json:"late"` // records too late for their window
	LateDropped      int64        `json:"late_dropped"`
	Skipped          int64        `json:"skipped"`
	Faults           int64        `json:"faults,omitempty"`
	Sinks            []sinkResult `json:"sinks,omitempty"` // only if the job finished
	// Of this run, however often the job was started in it.
	Restarts    int64             `json:"restarts,omitempty"`
	Checkpoints *checkpointResult `json:"checkpoints,omitempty"` // of a job that has them
}

// checkpointResult is how the checkpoints of a run went.
type checkpointResult struct {
	Completed int64 `json:"completed"`
	Failed    int64 `json:"failed"`
}

// addCheckpoints counts those of one start of the job; nil: it has none.
func (r *jobRun) addCheckpoints(c *runtime.CheckpointMetrics) {
	if c == nil {
		return
	}
	if r.checkpoints == nil {
		r.checkpoints = &checkpointResult{}
	}
	r.checkpoints.Completed += c.Completed
	r.checkpoints.Failed += c.Failed
}

// sinkResult is what a sink got.
type sinkResult struct {
	Name string `json:"name"`
	Path string `json:"path"`
	Rows int64  `json:"rows"`
}

// problem is a job.Problem in JSON.
type problem struct {
	File        string `json:"file"`
	Line        int    `json:"line,omitempty"`
	Column      int    `json:"column,omitempty"`
	Field       string `json:"field,omitempty"`
	Message     string `json:"message"`
	Unsupported bool   `json:"unsupported,omitempty"`
}

func problems(list []job.Problem) []problem {
	out := make([]problem, len(list))
	for i, p := range list {
		out[i] = problem(p)
	}
	return out
}

// The states of runResult and checkResult.
const (
	statusFinished    = "finished"
	statusFailed      = "failed"
	statusInterrupted = "interrupted"
	statusRefused     = "refused"
)

// statusOf is the status that an error of a run stands for.
func statusOf(err error) string {
	switch exitCode(err) {
	case exitOK:
		return statusFinished
	case exitBadInput, exitRefused:
		return statusRefused
	case exitInterrupted, exitTerminated, exitHungUp:
		return statusInterrupted
	}
	return statusFailed
}

// result is the run for programs.
func (r *jobRun) result(err error) runResult {
	p := r.progress
	out := runResult{
		Status: statusOf(err), Seconds: r.seconds, Records: p.Records, Bytes: p.Bytes, Firings: p.Firings,
		Late: p.Late, LateDropped: p.LateDropped, Skipped: p.Skipped, Faults: p.Faults, Sinks: r.sinks, RecordsPerSecond: r.perSecond(),
		Restarts: r.restarts, Checkpoints: r.checkpoints,
	}
	if r.plan != nil {
		out.Job, out.Warnings = r.plan.Name, problems(r.plan.Warnings)
	}
	if err != nil {
		out.Error = err.Error()
		var list job.Problems
		if errors.As(err, &list) {
			out.Problems = problems(list)
		}
	}
	return out
}

// perSecond is the rate of the whole run; a run of no time at all has none.
func (r *jobRun) perSecond() float64 {
	if r.seconds <= 0 {
		return 0
	}
	return float64(r.progress.Records) / r.seconds
}

// rateSecondsMin is the shortest run whose rate means something.
const rateSecondsMin = 0.01

// tell is the run for people.
func (r *jobRun) tell(w io.Writer) error {
	p := r.progress
	fmt.Fprintf(w, "\n%s finished in %s\n\n", r.plan.Name, shownDuration(r.seconds))
	counts := newTable(textColumn, numberColumn, textColumn)
	rate := ""
	if r.seconds >= rateSecondsMin {
		rate = grouped(int64(r.perSecond())) + " per second"
	}
	counts.add("records", grouped(p.Records), rate)
	if p.Skipped > 0 {
		counts.add("skipped", grouped(p.Skipped), "records that could not be read")
	}
	if p.Faults > 0 {
		counts.add("faults", grouped(p.Faults), "records that functions failed on")
	}
	counts.add("firings", grouped(p.Firings), "")
	dropped := ""
	switch p.LateDropped {
	case 0:
	case p.Late:
		dropped = "all dropped"
	default:
		dropped = grouped(p.LateDropped) + " of them dropped"
	}
	counts.add("late", grouped(p.Late), dropped)
	if c := r.checkpoints; c != nil {
		failed := ""
		if c.Failed > 0 {
			failed = grouped(c.Failed) + " failed"
		}
		counts.add("checkpoints", grouped(c.Completed), failed)
	}
	if r.restarts > 0 {
		counts.add("restarts", grouped(r.restarts), "")
	}
	counts.write(w)

	fmt.Fprintln(w)
	sinks := newTable(textColumn, numberColumn, textColumn)
	sinks.add("sink", "rows", "file")
	for _, s := range r.sinks {
		sinks.add(s.Name, grouped(s.Rows), s.Path)
	}
	sinks.write(w)
	if len(r.sinks) == 0 {
		return nil
	}
	return r.preview(w, r.plan.Sinks[0], r.sinks[0])
}
