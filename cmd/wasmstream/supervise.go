package main

import (
	"errors"
	"math/rand/v2"
	"os"
	"time"

	"github.com/wasmstream/wasmstream/host/checkpoint"
	"github.com/wasmstream/wasmstream/host/connector"
	"github.com/wasmstream/wasmstream/host/job"
	"github.com/wasmstream/wasmstream/host/runtime"
)

// supervise runs a job, and runs it again from its newest checkpoint when it failed,
// as its restart strategy says.
//
// A job that cannot even be started the first time is not tried again: that is
// mostly a slip of who wrote it.
func (r *jobRun) supervise(keep *keeping, config func() runtime.Config) error {
	// Several processes that fail at one moment are not to come back at one moment.
	jitter := rand.New(rand.NewPCG(uint64(r.env.Clock.Now()), uint64(os.Getpid())))
	restarts, err := checkpoint.NewRestarts(restartOptions(r.plan.Restart), jitter.Float64)
	if err != nil {
		return err
	}
	for first := true; ; first = false {
		started, err := r.once(config())
		if err == nil || r.env.Context.Err() != nil || !canPass(err) || first && !started {
			return err
		}
		delay, again := restarts.Failed(r.env.Clock.Now())
		if !again {
			return err
		}
		r.restarts++
		r.server.Restarting(err, delay)
		r.env.Log.Warn("the job failed and is started again", "job", r.plan.Name, "in", delay, "error", err)
		select {
		case <-time.After(delay):
		case <-r.env.Context.Done():
			return err
		}
		if keep != nil {
			if err := keep.again(r.env); err != nil {
				return err
			}
		}
	}
}

// once runs the job until it ends or fails; it may not even have started.
func (r *jobRun) once(config runtime.Config) (started bool, err error) {
	j, err := runtime.New(r.plan, config)
	if err != nil {
		return false, explain(r.plan, err)
	}
	defer func() { err = errors.Join(err, j.Close()) }()
	return true, r.drive(j)
}

// canPass tells whether a job that failed may fare better when it is started again.
// What follows from its input or needs a person does not pass.
func canPass(err error) bool {
	var record *runtime.RecordError
	var function *runtime.FunctionError
	var lasting connector.Lasting
	return !errors.As(err, &record) && !errors.As(err, &function) && !(errors.As(err, &lasting) && lasting.Lasting())
}

// strategies are the job's words for restarts.
var strategies = map[job.RestartStrategy]checkpoint.RestartStrategy{
	job.NoRestart: checkpoint.RestartNone, job.FixedDelay: checkpoint.RestartFixedDelay,
	job.ExponentialDelay: checkpoint.RestartExponentialDelay, job.FailureRate: checkpoint.RestartFailureRate,
}

func restartOptions(r job.Restart) checkpoint.RestartOptions {
	o := checkpoint.RestartOptions{
		Strategy: strategies[r.Strategy], Attempts: r.Attempts, Delay: r.Delay, InitialDelay: r.Initial, MaxDelay: r.Max,
		Multiplier: r.Multiplier, ResetAfter: r.ResetAfter, Jitter: r.Jitter, Failures: r.MaxFailures, Interval: r.Interval,
	}
	if r.Jitter == 0 {
		o.Jitter = -1 // none
	}
	return o
}
