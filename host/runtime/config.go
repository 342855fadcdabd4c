package runtime

import (
	"log/slog"
	"time"

	"github.com/wasmstream/wasmstream/host/checkpoint"
	"github.com/wasmstream/wasmstream/host/connector"
	"github.com/wasmstream/wasmstream/host/format"
	"github.com/wasmstream/wasmstream/host/job"
	"github.com/wasmstream/wasmstream/host/stream"
)

// Config is what a job runs with. The functions choose implementations; those
// that the job does not need may be nil.
type Config struct {
	Workers  int // goroutines that step tasks; default 1
	Decoders int // of each source; default Workers
	Limits   Limits
	Clock    stream.Clock
	Log      *slog.Logger
	// Monotonic is a clock for how busy tasks are; nil: that is not measured.
	Monotonic func() time.Duration

	Source  func(*job.Source) (connector.Source, error)
	Decoder func(*job.Source) (format.Decoder, error)
	Sink    func(*job.Sink) (connector.Sink, error)
	Encoder func(*job.Sink) (format.Encoder, error)
	// KeyEncoder encodes rows of the sink's key columns.
	KeyEncoder func(*job.Sink) (format.Encoder, error)
	Guest      func(*job.Function) (Guest, error)
	// Asker answers the requests of an enrichment.
	Asker func(*job.Step) (connector.Asker, error)

	// Scripted jobs have a clock that stands until MoveClock is called.
	Scripted bool
	// Collect gets what reaches the sinks of a scenario (job.Connector.Test).
	Collect func(sink string, r stream.Row, t stream.EventTime)

	// Checkpoints is where checkpoints go, and what the job goes on from; nil: there
	// are none.
	Checkpoints *Checkpoints
}

// Checkpoints is where a job's checkpoints go, what it goes on from, and when new
// ones are taken.
type Checkpoints struct {
	Store checkpoint.Store
	// Recovery is what the job goes on from, and the history and epoch that its own
	// checkpoints go on with.
	Recovery    checkpoint.Recovery
	Schedule    checkpoint.ScheduleOptions
	Modules     []checkpoint.Module    // of the job, for its manifests
	Retained    int                    // how many are kept; 0: one
	Merge       checkpoint.MergeLimits // when state files become one; zero: the defaults
	AtLeastOnce bool                   // barriers hold no channel back
	// Reached, if not nil, is called at each of the points at which a crash matters.
	Reached func(Point)
}

// Point is a point of a checkpoint at which a crash matters.
type Point string

// The points, in the order of a checkpoint.
const (
	HandoverBefore Point = "handover-before" // of each sink
	HandoverAfter  Point = "handover-after"
	ManifestBefore Point = "manifest-before" // all files are durable
	ManifestAfter  Point = "manifest-after"  // the checkpoint is
	CommitBefore   Point = "commit-before"   // of each sink
	CommitAfter    Point = "commit-after"
	NoteBefore     Point = "note-before" // that all sinks have committed
	NoteAfter      Point = "note-after"
)

// reached tells of a point.
func (c *Checkpoints) reached(p Point) {
	if c != nil && c.Reached != nil {
		c.Reached(p)
	}
}

// The defaults of Limits. A record of a snapshot takes 200 ns to 1 µs where its entry is
// not in the cache.
const (
	defaultBatchRows    = 2048
	defaultBatchBytes   = 256 << 10
	defaultSliceRecords = 1024
)

// withDefaults fills in what is zero.
func (c Config) withDefaults() Config {
	c.Workers = max(c.Workers, 1)
	if c.Decoders == 0 {
		c.Decoders = c.Workers
	}
	if c.Limits.BatchRows == 0 {
		c.Limits.BatchRows = defaultBatchRows
	}
	if c.Limits.BatchBytes == 0 {
		c.Limits.BatchBytes = defaultBatchBytes
	}
	if c.Limits.SliceRecords == 0 {
		c.Limits.SliceRecords = defaultSliceRecords
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c
}
