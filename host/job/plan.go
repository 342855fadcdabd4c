package job

import (
	"time"

	"github.com/wasmstream/wasmstream/abi"
	"github.com/wasmstream/wasmstream/host/operator/aggregate"
	"github.com/wasmstream/wasmstream/host/stream"
)

// Job is a validated job: every reference in it resolves, every column is bound
// to its position. It is never changed after Parse made it.
type Job struct {
	Name           string
	Parallelism    int
	MaxParallelism int           // the number of key groups
	BufferTimeout  time.Duration // longest that a record waits for its batch to fill
	Modules        []*Module     // in the order of the file
	Sources        []*Source     // in the order of the file
	Steps          []*Step       // upstream first
	Sinks          []*Sink       // in the order of the file
	Warnings       []Problem     // what is allowed and probably not meant
}

// Module is a file of Wasm functions.
type Module struct {
	Name     string
	Path     string // absolute, or relative like Options.Dir
	Shown    string // as the job file writes it
	Digest   string // "sha256:…", where the job names its module so; empty for a file
	Manifest *abi.Manifest
	Line     int
}

// Source is where records come from.
type Source struct {
	Name          string
	Connector     Connector
	Schema        *stream.Schema // as declared: what the input's records have
	Output        *stream.Schema // what the engine's rows have: the columns that anyone uses and the event-time column, in declared order
	EventTime     int            // column of Output that holds the event time, -1 if none does
	IngestionTime bool           // records are stamped as they are read
	Watermark     *Watermark     // nil: only the end of input moves time
	OnError       OnError
	Line          int
}

// OnError says what a source does with a record that it cannot decode.
type OnError uint8

// The choices of on-error.
const (
	Fail OnError = iota // the job fails
	Skip                // the record is counted, reported and left out
)

// String is the choice as the job file writes it.
func (e OnError) String() string {
	if e == Skip {
		return "skip"
	}
	return "fail"
}

// Connector is what a source reads or a sink writes; exactly one field is set.
type Connector struct {
	File *FileConnector
	Test bool // driven by a scenario's script; Options.Test makes every connector so
}

// FileConnector is one file of records.
type FileConnector struct {
	Path           string // absolute, or relative like Options.Dir
	Shown          string // as the job file writes it
	Format         string // "json": newline-delimited JSON
	RecordBytesMax int    // sources only: longest record that is not an error
}

// Watermark says how a source's watermark follows from its records.
type Watermark struct {
	MaxOutOfOrderness int64 // ms
	IdleTimeout       int64 // ms; 0: a source is never idle
	OnEvent           bool  // after every record, instead of periodically
}

// StreamRef names a stream: the main output of a source or step, or another
// output of a step.
type StreamRef struct {
	Name   string
	Output string // "" is the main output
}

// String is the reference as the job file writes it.
func (r StreamRef) String() string {
	if r.Output == "" {
		return r.Name
	}
	return r.Name + "." + r.Output
}

// Step is one operation on the union of the streams it reads.
type Step struct {
	Name   string // its uid in checkpoints
	From   []StreamRef
	Input  *stream.Schema // of each stream in From
	KeyBy  []int          // columns of Input; empty for a union or pass-through
	Window *Window        // nil: a union or pass-through
	Output *stream.Schema // of the main output; the late output has Input's
	Line   int
}

// Window groups a keyed stream's records by event time and condenses each
// group: by Aggregates or by Function, never both.
type Window struct {
	Tumbling        *Tumbling
	AllowedLateness int64  // ms
	LateOutput      string // "": late records are dropped and counted
	Aggregates      []Aggregate
	Function        *Function // role aggregate
}

// Tumbling assigns each record to the one window of a fixed size that its
// event time falls into.
type Tumbling struct {
	Size   int64 // ms, positive
	Offset int64 // ms, smaller in size than Size; may be negative
}

// Aggregate is one built-in aggregate and the column it puts out.
type Aggregate struct {
	Name   string // of the output's column
	Kind   aggregate.Kind
	Column int         // of the step's Input, -1 for Count
	Type   stream.Type // of the result
}

// Function is a function of a module, bound to the streams of a step.
type Function struct {
	Module          *Module
	Name            string
	Index           int            // in the module's manifest: what a call names it by
	Input           []int          // columns of the step's Input, in the order that the function declares them
	InputSchema     *stream.Schema // of the rows that the function takes
	Accumulator     *stream.Schema
	Result          *stream.Schema
	ParameterSchema *stream.Schema
	Parameters      stream.Row // of ParameterSchema, defaults filled in
}

// Sink is where records go to.
type Sink struct {
	Name      string
	From      []StreamRef
	Input     *stream.Schema
	Connector Connector
	Line      int
}
