package scenario

import (
	"errors"
	"fmt"

	"github.com/wasmstream/wasmstream/abi"
	"github.com/wasmstream/wasmstream/host/format"
	"github.com/wasmstream/wasmstream/host/job"
	"github.com/wasmstream/wasmstream/host/runtime"
	"github.com/wasmstream/wasmstream/host/stream"
)

// Options are how scenarios are run. The functions choose implementations.
type Options struct {
	// Batch is up to how many records of consecutive emit lines are handed over
	// together, and the most rows of a batch between tasks; 0: each record alone,
	// and the engine's own limit.
	Batch int
	// Parallelism replaces the job's; at most as many as it has key groups. 0: the
	// job's own.
	Parallelism int
	// Rescale is the parallelism after each restart and restore, in turn; none: it
	// stays.
	Rescale []int
	// RestartEvery restarts the job after every action and then gives it the same
	// watermarks and the same idleness again.
	RestartEvery bool
	// Twins is the file of a module with which built-in parts are replaced, as
	// udfs/twins/README.md tells; "": they are not.
	Twins string
	// Update asks for the file's text with the lines that the job did put out
	// (Result.Updated) instead of a comparison.
	Update bool

	// Decoder reads the JSON of a script; Encoder writes what sinks receive,
	// timestamps as integer milliseconds and without change kinds.
	Decoder func(declared, output *stream.Schema) (format.Decoder, error)
	Encoder func(*stream.Schema) (format.Encoder, error)
	// ReadFile reads a job's own file and modules; nil: there are no files but
	// the scenario's sections.
	ReadFile func(path string) ([]byte, error)
	// Getenv looks up environment variables for the job; nil: none is set.
	Getenv func(name string) (string, bool)
	// Manifest reads a module's manifest; nil: modules are refused.
	Manifest func(m job.Module, wasm []byte) (*abi.Manifest, error)
	// Guest instantiates the module of a function.
	Guest func(f *job.Function, wasm []byte) (runtime.Guest, error)
}

// The limits of Options.
const (
	BatchMax       = 1 << 20
	ParallelismMax = 1 << 10
)

// Validate names every field that is wrong.
func (o *Options) Validate() error {
	var errs []error
	wrong := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if o.Batch < 0 || o.Batch > BatchMax {
		wrong("batch is %d; choose from 1 to %d", o.Batch, BatchMax)
	}
	if o.Parallelism < 0 || o.Parallelism > ParallelismMax {
		wrong("parallelism is %d; choose from 1 to %d", o.Parallelism, ParallelismMax)
	}
	for i, n := range o.Rescale {
		if n < 1 || n > ParallelismMax {
			wrong("rescale %d is %d; choose from 1 to %d", i, n, ParallelismMax)
		}
	}
	if o.Update && o.Batch > 1 {
		wrong("an update hands over one record at a time, to know which one a line is due to: leave the batch out")
	}
	if o.Update && o.RestartEvery {
		wrong("an update runs the script as it stands: leave the restarts out")
	}
	if o.Decoder == nil || o.Encoder == nil {
		wrong("there is no decoder or no encoder")
	}
	return errors.Join(errs...)
}

// Outcome is how a scenario ended.
type Outcome string

// The outcomes.
const (
	Pass Outcome = "pass"
	// Fail: the job did something else than the script says.
	Fail Outcome = "fail"
	// Wrong: the scenario could not be run to its end: a mistake in it, or an
	// operation that the engine does not offer yet.
	Wrong Outcome = "error"
)

// Result is what became of a scenario.
type Result struct {
	File    string  `json:"file"`
	Outcome Outcome `json:"result"`
	Line    int     `json:"line"` // that Message is about; 0: none
	// Message says what was wrong, in one or more lines; empty after a pass.
	Message string `json:"message"`
	// Updated is the file's text with new want lines, where Options.Update asked
	// for it and the text changed.
	Updated []byte `json:"-"`
}

// String is the result as people read it: the place, then the message.
func (r Result) String() string {
	switch {
	case r.Outcome == Pass:
		return r.File + ": pass"
	case r.Line == 0:
		return fmt.Sprintf("%s: %s: %s", r.File, r.Outcome, r.Message)
	}
	return fmt.Sprintf("%s:%d: %s: %s", r.File, r.Line, r.Outcome, r.Message)
}
