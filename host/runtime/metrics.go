package runtime

import (
	"sync/atomic"
	"time"

	"github.com/wasmstream/wasmstream/host/connector"
	"github.com/wasmstream/wasmstream/host/state"
	"github.com/wasmstream/wasmstream/host/stream"
)

// Metrics are what a job tells those who watch it, at one moment.
type Metrics struct {
	At    time.Duration // by Config.Monotonic
	Tasks []TaskMetrics // upstream first
	// Splits are those that are read and have not ended, of sources with watermarks.
	Splits      []SplitMetrics
	Lags        []SplitLag
	Functions   []FunctionMetrics
	Askers      []AskerMetrics
	Checkpoints *CheckpointMetrics // nil: the job has none
}

// TaskKind says what a task does.
type TaskKind string

// The kinds of tasks.
const (
	SourceTask  TaskKind = "source"
	DecoderTask TaskKind = "decoder"
	StepTask    TaskKind = "step"
	SinkTask    TaskKind = "sink"
)

// TaskMetrics are those of one task of a source, a step or a sink.
type TaskMetrics struct {
	Kind TaskKind
	Name string // of the source, step or sink
	Task int    // its number among those of that kind and name

	RecordsIn, RecordsOut           int64            // not of decoders; RecordsOut not of sinks
	InputWatermark, OutputWatermark stream.EventTime // of steps and sinks; of sources and steps

	// Busy is how long the task has been stepped, and BackPressured how long it has
	// waited for room in its output; 0 without Config.Monotonic.
	Busy, BackPressured time.Duration

	Skipped     int64        // records that a source has left out
	LateDropped int64        // valid if Windowed
	Windowed    bool         // the step knows late records
	Faults      int64        // records that a function failed on; valid if Asks
	Asks        bool         // the step has functions
	State       *state.Stats // nil: the task keeps none
}

// SplitMetrics tell how far a split has come.
type SplitMetrics struct {
	Source, Split string           // Split is "" of a file
	Watermark     stream.EventTime // that follows from its records; MinTime: it had none
	Idle          bool             // it holds the watermark of its source back no more
}

// SplitLag is how many records of a split are there that were not read yet.
type SplitLag struct {
	Source, Split string
	Records       int64
}

// CheckpointMetrics tell how a job's checkpoints went.
type CheckpointMetrics struct {
	Completed, Failed int64
	// LastMillis and LastBytes are of the last that was completed, if there was one:
	// the time from its start until all sinks had committed it, and what was written.
	LastMillis, LastBytes int64
}

// AskerMetrics tell how the requests of an enrichment went.
type AskerMetrics struct {
	Step string
	connector.AskerStats
}

// watchedAsker is an asker that counts.
type watchedAsker struct {
	step string
	connector.CountingAsker
}

func (j *Job) askerMetrics() (all []AskerMetrics) {
	for _, a := range j.counting {
		all = append(all, AskerMetrics{a.step, a.Stats()})
	}
	return all
}

// place is a task: the source, step or sink, and its number among those of that kind and
// name.
type place struct {
	kind TaskKind
	name string
	task int
}

// watched is a task with what it counts.
type watched struct {
	place
	meter    *meter
	source   *SourceStats // nil: it is no source
	step     *StepStats   // nil: it has none
	asks     bool         // it has functions
	stateful bool
}

// watch makes the counters of a task known. The functions that are made next are its.
func (b *builder) watch(n *node, w watched) {
	w.meter = n.meter
	for _, o := range b.job.watched {
		if o.kind == w.kind && o.name == w.name {
			w.task++
		}
	}
	b.job.watched = append(b.job.watched, &w)
	b.place = w.place
}

// Metrics may be asked for at any time, from any goroutine.
func (j *Job) Metrics() *Metrics {
	m := &Metrics{}
	if j.config.Monotonic != nil {
		m.At = j.config.Monotonic()
	}
	for _, w := range j.watched {
		m.Tasks = append(m.Tasks, w.metrics(m.At))
		if w.source != nil {
			m.Splits = w.source.appendSplits(m.Splits, w.name)
		}
	}
	for _, s := range j.sources {
		if lagging, ok := s.Source.(connector.Lagging); ok {
			lagging.Lag(func(split string, records int64) { m.Lags = append(m.Lags, SplitLag{s.name, split, records}) })
		}
	}
	m.Functions, m.Askers = j.functionMetrics(), j.askerMetrics()
	m.Checkpoints = j.Checkpoints()
	return m
}

// Checkpoints tells how the job's checkpoints went so far; nil: it has none. It may be
// asked from any goroutine.
func (j *Job) Checkpoints() *CheckpointMetrics {
	if j.coordinator == nil {
		return nil
	}
	s := &j.stats.checkpoints
	return &CheckpointMetrics{s.Completed.Load(), s.Failed.Load(), s.LastMillis.Load(), s.LastBytes.Load()}
}

func (w *watched) metrics(now time.Duration) TaskMetrics {
	c := w.meter
	t := TaskMetrics{
		Kind: w.kind, Name: w.name, Task: w.task, RecordsIn: c.in.Load(), RecordsOut: c.out.Load(),
		InputWatermark: stream.EventTime(c.inWatermark.Load()), OutputWatermark: stream.EventTime(c.outWatermark.Load()),
	}
	t.Busy, t.BackPressured = c.spent(now)
	if s := w.source; s != nil {
		t.RecordsIn, t.Skipped = s.Records.Load(), s.Skipped.Load()
	}
	if w.step != nil && w.stateful {
		t.Windowed, t.LateDropped = true, w.step.LateDropped.Load()
	}
	if w.step != nil && w.asks {
		t.Asks, t.Faults = true, w.step.Faults.Load()
	}
	if w.stateful {
		t.State = &state.Stats{Entries: int(c.entries.Load()), Bytes: c.stateBytes.Load(), Timers: int(c.timers.Load())}
	}
	return t
}

// appendSplits appends the splits that hold, or held, the source's watermark back.
func (s *SourceStats) appendSplits(to []SplitMetrics, source string) []SplitMetrics {
	for _, p := range s.splits.known() {
		if !p.ended.Load() {
			to = append(to, SplitMetrics{source, p.name, stream.EventTime(p.watermark.Load()), p.idle.Load()})
		}
	}
	return to
}

// opening is a source or a sink that is to be opened.
type opening struct {
	what string
	done atomic.Bool
}

// opening notes that something is to be opened.
func (j *Job) opening(what string) *opening {
	o := &opening{what: what}
	j.openings = append(j.openings, o)
	return o
}

// Unopened names a source or a sink that was not opened yet; "" if all were. It may be
// asked from any goroutine.
func (j *Job) Unopened() string {
	for _, o := range j.openings {
		if !o.done.Load() {
			return o.what
		}
	}
	return ""
}
