package server

import (
	"fmt"
	"sync"
	"time"

	"github.com/wasmstream/wasmstream/host/runtime"
	"github.com/wasmstream/wasmstream/host/stream"
)

// watch is what a server knows of the run.
type watch struct {
	job      string
	interval time.Duration
	clock    stream.Clock

	mu       sync.Mutex
	running  *runtime.Job    // nil: none is
	since    stream.ProcTime // when it began; valid if running
	reason   string          // why none is running
	rates    rates           // of running
	restarts int64
	// checkpoints are those of the runs before; nil: the job has none, as far as is
	// known.
	checkpoints *runtime.CheckpointMetrics
}

func newWatch(o *Options) *watch {
	return &watch{job: o.Job, interval: o.CheckpointInterval, clock: o.Clock, reason: "the job is being prepared"}
}

// Running tells that a job, which is restored, begins to run.
func (s *Server) Running(j *runtime.Job) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running, s.since, s.reason = j, s.clock.Now(), ""
	s.rates = rates{}
	s.rates.look(j.Metrics())
	if j.Checkpoints() != nil && s.checkpoints == nil {
		s.checkpoints = &runtime.CheckpointMetrics{LastMillis: -1, LastBytes: -1}
	}
}

// Stopped tells that the job has stopped; it is not used any more.
func (s *Server) Stopped() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.checkpoints = s.added(s.running.Checkpoints())
	s.running, s.reason = nil, "the job has stopped"
}

// Restarting tells that a job which failed is started again in a while.
func (s *Server) Restarting(err error, in time.Duration) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.restarts++
	s.reason = fmt.Sprintf("the job failed and is started again after %s: %v", in, err)
}

// added are the checkpoints of the runs before and of this one.
func (w *watch) added(now *runtime.CheckpointMetrics) *runtime.CheckpointMetrics {
	if w.checkpoints == nil || now == nil {
		return w.checkpoints
	}
	sum := *w.checkpoints
	sum.Completed += now.Completed
	sum.Failed += now.Failed
	if now.Completed > 0 {
		sum.LastMillis, sum.LastBytes = now.LastMillis, now.LastBytes
	}
	return &sum
}

// health tells what the run does.
func (w *watch) health() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.running != nil {
		return "running"
	}
	return w.reason
}

// unready is why the job is not at work; "" if it is.
func (w *watch) unready() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.running == nil {
		return w.reason
	}
	if what := w.running.Unopened(); what != "" {
		return what + " is not open yet"
	}
	return ""
}
