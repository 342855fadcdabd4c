package job

import (
	"slices"
	"time"

	"github.com/wasmstream/wasmstream/abi"
	"github.com/wasmstream/wasmstream/host/operator/aggregate"
	"github.com/wasmstream/wasmstream/host/operator/window"
	"github.com/wasmstream/wasmstream/host/stream"
)

// Job is a validated job: every reference in it resolves, every column is bound
// to its position. It is never changed after Parse made it.
type Job struct {
	Name           string
	Parallelism    int
	MaxParallelism int           // the number of key groups
	BufferTimeout  time.Duration // longest that a record waits for its batch to fill
	Compatibility  Compatibility
	Limits         Limits      // of the functions of sources and sinks; a step has its own
	Checkpoint     *Checkpoint // nil: none are made, and in Options.Test
	Restart        Restart     // its strategy is NoRestart without a checkpoint, unless the job says otherwise, and in Options.Test
	Modules        []*Module   // in the order of the file
	Sources        []*Source   // in the order of the file
	Steps          []*Step     // upstream first
	Sinks          []*Sink     // in the order of the file
	Warnings       []Problem   // what is allowed and probably not meant
}

// Guarantee is what becomes of a record when the job fails and goes on.
type Guarantee uint8

// The guarantees.
const (
	ExactlyOnce Guarantee = iota
	AtLeastOnce
	NoGuarantee // it may be lost, or come more than once
)

// String is the guarantee as the job file writes it.
func (g Guarantee) String() string { return guaranteeWords[g] }

var guaranteeWords = [...]string{ExactlyOnce: "exactly-once", AtLeastOnce: "at-least-once", NoGuarantee: "none"}

// Checkpoint says where the job's state is kept and how often.
type Checkpoint struct {
	Dir               string        // a folder; absolute, or relative like Options.Dir
	Shown             string        // as the job file writes it
	Interval          time.Duration // from the start of one to that of the next
	MinPause          time.Duration // at least from the end of one to the start of the next
	Timeout           time.Duration // one that takes longer is given up, and has failed
	TolerableFailures int           // more than so many failed ones in a row fail the job
	Retained          int           // newest complete ones that are kept, at least 1
	Mode              Guarantee     // of the state: ExactlyOnce, or AtLeastOnce (inputs do not wait for each other's barriers)
	Line, Column      int           // of dir
}

// RestartStrategy says how often and when a job that failed is started again.
type RestartStrategy uint8

// The strategies.
const (
	NoRestart        RestartStrategy = iota // a failure ends the job
	FixedDelay                              // Attempts times, each after Delay
	ExponentialDelay                        // always, after a delay that grows from Initial to Max
	FailureRate                             // after Delay, unless there are more than MaxFailures within Interval
)

// String is the strategy as the job file writes it.
func (s RestartStrategy) String() string { return restartWords[s] }

var restartWords = [...]string{NoRestart: "none", FixedDelay: "fixed-delay", ExponentialDelay: "exponential-delay", FailureRate: "failure-rate"}

// Restart is a strategy with what belongs to it; other fields are zero.
type Restart struct {
	Strategy RestartStrategy
	Delay    time.Duration // FixedDelay, FailureRate
	// FixedDelay: restarts in the job's whole life; the failure after them ends it.
	Attempts int
	// ExponentialDelay: the first delay is Initial; each next one is Multiplier times
	// that before, at most Max, until the job has run for ResetAfter without a
	// failure. To each a random part of it of at most Jitter is added or taken away.
	Initial, Max, ResetAfter time.Duration
	Multiplier               float64 // at least 1
	Jitter                   float64 // 0 to 1
	// FailureRate: more than MaxFailures failures within Interval end the job.
	MaxFailures int
	Interval    time.Duration
}

// Module is a file of Wasm functions.
type Module struct {
	Name     string
	Path     string // absolute, or relative like Options.Dir
	Shown    string // as the job file writes it
	Digest   string // "sha256:…", where the job names its module so; empty for a file
	Manifest *abi.Manifest
	Compile  int64 // units of work that compiling it may take; 0: the sandbox's default
	Line     int
}

// Source is where records come from.
type Source struct {
	Name          string
	Connector     Connector
	Schema        *stream.Schema   // as declared: what the input's records have
	Output        *stream.Schema   // what the engine's rows have: the columns that anyone uses and the event-time column, in declared order, those of Metadata last
	Value         *stream.Schema   // of Output the columns that are decoded from the record: all but those of Metadata
	Metadata      []MetadataColumn // the columns of Output behind those of Value, in order
	EventTime     int              // column of Output that holds the event time, -1 if none does
	IngestionTime bool             // records are stamped as they are read
	RecordTime    bool             // a record's event time is its Kafka timestamp: there is no event-time column and no ingestion-time
	Timestamp     *Function        // of the role timestamp: it says the record's event time; there is no event-time column
	Watermark     *Watermark       // nil: only the end of input moves time
	Decode        *Function        // of the role decode: it makes rows of records; nil: the connector's format does
	OnError       OnError
	Traced        bool // a step that puts out what its functions fail on wants to know where its records were read
	Line          int
}

// OnError says what becomes of a record that a source cannot decode, or that a step's
// function fails on.
type OnError uint8

// The choices of on-error and on-fault.
const (
	Fail       OnError = iota // the job fails
	DeadLetter                // the record is counted and goes to the output failed, of FailedSchema
	Skip                      // the record is counted, reported and left out
)

// String is the choice as the job file writes it.
func (e OnError) String() string { return errorWords[e] }

var errorWords = [...]string{Fail: "fail", DeadLetter: "dead-letter", Skip: "skip"}

// Connector is what a source reads or a sink writes; exactly one field is set.
type Connector struct {
	File        *FileConnector
	KafkaSource *KafkaSource // of sources
	KafkaSink   *KafkaSink   // of sinks
	Test        bool         // driven by a scenario's script; Options.Test makes every connector so
}

// FileConnector is one file of records, or with Rolling a folder of them.
type FileConnector struct {
	Path           string   // absolute, or relative like Options.Dir
	Shown          string   // as the job file writes it
	Format         string   // "json": newline-delimited JSON; "wasm": Source.Decode, Sink.Encode
	RecordBytesMax int      // sources only: longest record that is not an error
	Rolling        *Rolling // sinks only: Path is a folder; nil: it is the file
	Line, Column   int      // of the path
}

// Rolling cuts a sink's output into files of a folder, numbered in the order
// of writing. A file is ended by the first of the two that is reached, at the
// end of a record.
type Rolling struct {
	SizeBytes int64         // a file that has this many bytes takes no more
	Interval  time.Duration // nor one that is this old, by the clock
}

// WatermarkStrategy is how a source's watermark follows from its records.
type WatermarkStrategy uint8

// The strategies.
const (
	Bounded      WatermarkStrategy = iota // MaxOutOfOrderness behind the latest record
	Monotonous                            // records come in order: 0 behind the latest one
	NoWatermarks                          // only the end of input moves time; IdleTimeout still holds
)

// String is the strategy as the job file writes it.
func (s WatermarkStrategy) String() string { return strategyWords[s] }

var strategyWords = [...]string{Bounded: "bounded", Monotonous: "monotonous", NoWatermarks: "none"}

// Watermark says how a source's watermark follows from its records.
type Watermark struct {
	Strategy          WatermarkStrategy
	MaxOutOfOrderness int64 // ms; 0 unless Bounded
	IdleTimeout       int64 // ms; 0: a source is never idle
	OnEvent           bool  // after every record, instead of periodically
	Punctuated        bool  // where Source.Timestamp says so, instead of following from the records' times
	Alignment         *Alignment
}

// Alignment holds a source back that is too far ahead of the others of a group.
type Alignment struct {
	Group    string
	MaxDrift int64 // ms: how far ahead of the group's lowest watermark it may be; ≥ 0
}

// Combine is how the watermarks of a step's several inputs become one.
type Combine uint8

// The choices of combine.
const (
	CombineMin Combine = iota // the lowest: no record is late that its own input did not make late
	CombineMax                // the highest: nothing waits, and the inputs behind it lose their records
)

// String is the choice as the job file writes it.
func (c Combine) String() string {
	if c == CombineMax {
		return "max"
	}
	return "min"
}

// Compatibility chooses where Flink's releases differ: by a release, whose
// behaviour each switch has unless the job sets it.
type Compatibility struct {
	Flink string // such as "2.3"
	// CleanupAfterEmptyFiring: a window that fires without contents is still
	// forgotten in time (FLINK-33192); else its state stays for ever.
	CleanupAfterEmptyFiring bool
	// FlushWhenAllIdle: when the last input of a valve turns idle, the watermark
	// becomes the highest of all, whichever turned idle last (FLINK-40475); else
	// only if that last one held it back.
	FlushWhenAllIdle bool
	// MaxOfIdle: when all partitions of a source, or both inputs of a two-input
	// step, are idle, the watermark becomes the highest of theirs (FLINK-38454);
	// else it stays.
	MaxOfIdle bool
	// IdleClockPauses: the time that a source is held back, by its readers or by
	// alignment, does not count towards its idle-timeout (FLINK-35886).
	IdleClockPauses bool
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

// Step is one operation: at most one of Window, WindowJoin, CoGroup, IntervalJoin,
// Process, Enrich and Each is set; without any it is a union or pass-through.
type Step struct {
	Name         string         // its uid in checkpoints
	From         []StreamRef    // nil for a step with two sides
	Input        *stream.Schema // of each stream in From; nil for a step with two sides
	KeyBy        []int          // columns of Input; nil unless Window, Process or a keyed Enrich
	Window       *Window
	WindowJoin   *WindowJoin
	CoGroup      *CoGroup
	IntervalJoin *IntervalJoin
	Process      *Process
	Enrich       *Enrich
	// Each, of the role map, filter or flat-map, takes each record by itself. Of the role
	// key it puts the key behind the columns of Pass: the step that is keyed by it reads
	// the result.
	Each          *Function
	Pass          []int          // columns of Input; only of the role key
	Computed      int            // so many of Input's last columns are a key that a function computed; a late output is without them
	Functions     []*Function    // all that the step calls, wherever they stand
	OnFault       OnError        // what becomes of records that they fail on
	FaultRate     float64        // a larger share of the last records may not fail; valid unless OnFault is Fail
	Limits        Limits         // of each task
	Combine       Combine        // of the watermarks of all streams that it reads
	IgnoreChanges bool           // changes in what it reads are taken as plain records
	Changing      bool           // the main output may have changes (-U +U -D)
	Output        *stream.Schema // of the main output; a late output has its input's, named outputs their function's
	Line          int
}

// Sides are the left and right side of a join or co-group, or the two inputs of a Process
// that has as many; nil of other steps.
func (s *Step) Sides() []*Side {
	switch {
	case s.WindowJoin != nil:
		return []*Side{&s.WindowJoin.Left, &s.WindowJoin.Right}
	case s.CoGroup != nil:
		return []*Side{&s.CoGroup.Left, &s.CoGroup.Right}
	case s.IntervalJoin != nil:
		return []*Side{&s.IntervalJoin.Left, &s.IntervalJoin.Right}
	case s.Process != nil && s.Process.Left.From != nil:
		return []*Side{&s.Process.Left, &s.Process.Right}
	}
	return nil
}

// Reads lists the streams that the step reads, those of a join's left side
// first. A stream that both sides read is there twice.
func (s *Step) Reads() []StreamRef {
	if sides := s.Sides(); sides != nil {
		return slices.Concat(sides[0].From, sides[1].From)
	}
	return s.From
}

// OutputMode is what a window step puts out when a window fires again.
type OutputMode uint8

// The choices of output.
const (
	Append    OutputMode = iota // each firing's result as a row of its own
	Update                      // the result before is taken back: -U, +U
	Changelog                   // as Update, and the results of sessions that merged are deleted
	Complete                    // all retained results of the key, as one replaceable set
)

// String is the choice as the job file writes it.
func (m OutputMode) String() string { return outputWords[m] }

var outputWords = [...]string{Append: "append", Update: "update", Changelog: "changelog", Complete: "complete"}

// Window groups a keyed stream's records and condenses each group: by one of
// Aggregates, Function and Reduce, or by none of them. Apply makes rows of the result,
// or of the records.
type Window struct {
	Options      window.Options
	Functions    WindowFunctions
	GapField     int    // column of Input that holds each record's own gap, BIGINT or INT; -1 unless Options.Assigner.GapByRecord
	TriggerField int    // column of Input that a delta trigger compares, a number; -1 without one
	EvictorField int    // column of Input that a delta evictor compares, a number; -1 without one
	LateOutput   string // "": late records are dropped and counted
	Output       OutputMode
	Aggregates   []Aggregate
	Function     *Function // role aggregate
	Reduce       *Function // its result is a row of its input; put out without the columns that the key has
	Apply        *Function // what it emits is what the step puts out
}

// KeepsRecords says that Apply gets all records of a firing.
func (w *Window) KeepsRecords() bool {
	return w.Function == nil && w.Reduce == nil && len(w.Aggregates) == 0
}

// WindowFunctions are the functions that stand in the place of built-in parts, where
// Options says that there is one.
type WindowFunctions struct {
	Assigner, Trigger, Evictor *Function
}

// All lists those that there are.
func (w *WindowFunctions) All() (list []*Function) {
	for _, f := range []*Function{w.Assigner, w.Trigger, w.Evictor} {
		if f != nil {
			list = append(list, f)
		}
	}
	return list
}

// JoinType is what becomes of rows without a partner.
type JoinType uint8

// The choices of type.
const (
	InnerJoin JoinType = iota // nothing
	LeftJoin                  // a left row is put out with the right columns null
	RightJoin                 // a right row is put out with the left columns null
	FullJoin                  // both
)

// String is the choice as the job file writes it.
func (t JoinType) String() string { return joinWords[t] }

var joinWords = [...]string{InnerJoin: "inner", LeftJoin: "left", RightJoin: "right", FullJoin: "full"}

// Side is one side of a step that has two.
type Side struct {
	From         []StreamRef
	Input        *stream.Schema // of each stream in From
	Key          []int          // columns of Input; as many as the other side has, of equal types
	Output       []int          // columns of Input that the join puts out, in order
	LateOutput   string         // interval joins only; "": late records are dropped and counted
	GapField     int            // window joins only, as in Window, of this side's Input; -1
	TriggerField int
	EvictorField int
}

// WindowJoin pairs the rows of two sides that have equal keys and fall into the
// same window. Its output is the columns Left.Output, Right.Output, window_start
// and window_end.
type WindowJoin struct {
	Left, Right Side
	Type        JoinType
	Options     window.Options
	Functions   WindowFunctions
	Function    *Function // what it makes of a pair is put out instead of its columns; nil: none
}

// CoGroup hands the rows of two sides that have equal keys and fall into the same
// window to a function. Its outputs are the function's.
type CoGroup struct {
	Left, Right Side
	Options     window.Options
	Functions   WindowFunctions
	Function    *Function
}

// IntervalJoin pairs the rows of two sides that have equal keys and times that
// are near: right.time in [left.time+Lower, left.time+Upper]. Its output is the
// columns Left.Output and Right.Output.
type IntervalJoin struct {
	Left, Right Side
	Type        JoinType
	// Lower and Upper are ms; the int64 limits where Unbounded says that there is
	// no such bound, so sums with them must saturate.
	Lower, Upper                   int64
	LowerExclusive, UpperExclusive bool
	Unbounded                      bool      // a bound is missing, and rows may be kept for ever
	Function                       *Function // as in WindowJoin
}

// Aggregate is one built-in aggregate and the column it puts out.
type Aggregate struct {
	Name   string // of the output's column
	Kind   aggregate.Kind
	Column int         // of the step's Input, -1 for Count
	Type   stream.Type // of the result
}

// Sink is where records go to.
type Sink struct {
	Name      string
	From      []StreamRef
	Input     *stream.Schema
	Changing  bool // rows may be of another kind than +I
	Connector Connector
	Encode    *Function // of the role encode: it makes records of rows; nil: the connector's format does
	Line      int
}
