package sandbox

import (
	"errors"
	"fmt"
	"strings"

	"github.com/wasmstream/wasmstream/abi"
	"github.com/wasmstream/wasmstream/host/stream"
)

// Fault says that a guest's code went wrong. It is data: what it costs, a record
// or a job, is the caller's policy. The instance is dead after it (invariant E).
type Fault struct {
	// Kind is the ABI's class of the fault. A guest that exits counts as a trap.
	Kind abi.FaultKind
	// Module is the name under which the module was loaded.
	Module string
	// Entry is the export that the host had called, such as wasmstream_call.
	Entry string
	// Function is the index in the manifest of the function called, or -1 when the
	// fault was in none, such as in wasmstream_in.
	Function int
	// Message tells more, for people: what the guest gave to fail, or the engine's
	// words for a trap and what the guest wrote to stderr before it.
	Message string
	// Fuel is what the call had been charged by then.
	Fuel int64
	// Backtrace names the guest's functions, the innermost first.
	Backtrace []string
}

// Error implements error, in one line without the backtrace.
func (f *Fault) Error() string {
	where := f.Entry
	if f.Function >= 0 {
		where = fmt.Sprintf("%s, function %d", f.Entry, f.Function)
	}
	return fmt.Sprintf("module %q failed in %s: %s: %s", f.Module, where, f.Kind, f.Message)
}

// Unwrap returns ErrReentered for a fault of that kind.
func (f *Fault) Unwrap() error {
	if f.Kind == abi.FaultReentered {
		return ErrReentered
	}
	return nil
}

// TooLargeError says that a frame, or what it would answer, has no room in the
// guest. The instance lives on: the caller repeats with fewer ops. If one op
// alone is too large, that is a fault of its record (abi.FaultTooLarge).
type TooLargeError struct {
	// Module is the name under which the module was loaded.
	Module string
	// Effects is true if the effects were too large, false if the frame was.
	Effects bool
	// Bytes is the size of the frame.
	Bytes int
	// Reason says who refused the size: the guest, or which limit.
	Reason string
}

// Error implements error.
func (e *TooLargeError) Error() string {
	what := "is too large"
	if e.Effects {
		what = "has effects that are too large"
	}
	return fmt.Sprintf("module %q: a frame of %d bytes %s: %s", e.Module, e.Bytes, what, e.Reason)
}

// DeadError says that an instance is not usable: an earlier call ended in a
// fault, or it was closed. Rebuild makes it usable again unless it was closed.
type DeadError struct {
	// Module is the name under which the module was loaded.
	Module string
	// Cause is the fault that it died of; nil if it was closed.
	Cause error
}

// Error implements error.
func (e *DeadError) Error() string {
	if e.Cause == nil {
		return fmt.Sprintf("the instance of module %q is closed; instantiate another", e.Module)
	}
	return fmt.Sprintf("the instance of module %q is dead and must be rebuilt; it died earlier: %v", e.Module, e.Cause)
}

// Unwrap returns the fault that the instance died of.
func (e *DeadError) Unwrap() error { return e.Cause }

// ErrReentered says that a call was made on an instance from within a call on it,
// or from two goroutines at once. The inner call is refused, the outer one goes on.
var ErrReentered = errors.New("an instance was called while it was in a call; it serves one caller at a time")

// stop is the panic by which a host function ends a guest's call (invariant C).
type stop struct {
	kind    abi.FaultKind
	message string
}

// Error implements error, so that the engine passes the panic on as one.
func (s *stop) Error() string { return s.message }

// Parts of the engine's error texts. They are matched because the engine does
// not export its traps as values; a test pins them.
const (
	traceMark     = "\nwasm stack trace:\n\t"
	goTraceMark   = "\n\nGo runtime stack trace:"
	trapPrefix    = "wasm error: "
	stackOverflow = "stack overflow"
	unreachable   = "unreachable"
)

// backtraceLineBytesMax bounds what is kept of a line: names are the guest's.
const backtraceLineBytesMax = 512

// fault turns an error of the engine into a Fault and kills the instance.
func (i *Instance) fault(entry string, function int, err error) error {
	f := &Fault{Kind: abi.FaultTrap, Module: i.module.name, Entry: entry, Function: function, Fuel: i.Fuel()}
	text, trace, _ := strings.Cut(err.Error(), traceMark)
	trace, _, _ = strings.Cut(trace, goTraceMark)
	for line := range strings.SplitSeq(trace, "\n\t") {
		// The engine writes module.function, and guests have no name there.
		if line = strings.TrimPrefix(line, "."); line != "" {
			f.Backtrace = append(f.Backtrace, stream.Printable(line[:min(len(line), backtraceLineBytesMax)]))
		}
	}
	var stopped *stop
	switch text = strings.TrimPrefix(text, trapPrefix); {
	case errors.As(err, &stopped):
		f.Kind, f.Message = stopped.kind, stopped.message
	case text == unreachable && i.meters.left() < 0:
		f.Kind, f.Message = abi.FaultOutOfFuel, i.outOfFuel(entry, function).Message
	case text == unreachable && i.meters.tooDeep(), strings.Contains(text, stackOverflow):
		f.Kind = abi.FaultTooDeep
		f.Message = fmt.Sprintf("its calls are nested too deeply (endless recursion?): the limit, StackBytesMax, is %d bytes of their frames, which no field of limits raises", i.module.options.StackBytesMax)
	default:
		f.Message = i.withStderr("the code trapped: " + text)
		if outOfMemory(f.Message) {
			f.Kind = abi.FaultOutOfMemory
		}
	}
	if i.room.starved && (f.Kind == abi.FaultTrap || f.Kind == abi.FaultFailed || f.Kind == abi.FaultOutOfMemory) {
		f.Message += fmt.Sprintf("; it was refused more memory than %d KiB: limits: {memory: …} of the step or the job raises that", pageBytes/1024*uint64(i.options.MemoryPagesMax))
	}
	return i.die(f)
}

// withStderr adds what the guest wrote before its end: a panic of Go or Rust says
// there why, and then traps.
func (i *Instance) withStderr(message string) string {
	if written := i.stderrHead(); written != "" {
		return message + "; it wrote: " + written
	}
	return message
}

// outOfMemory recognizes the last words of the runtimes of Go and Rust: a guest
// whose memory may not grow gets no trap of its own for it.
func outOfMemory(message string) bool {
	return strings.Contains(message, "fatal error: out of memory") || strings.Contains(message, "memory allocation of ")
}

// badAnswer turns a refused pointer or length into a Fault and kills the instance.
func (i *Instance) badAnswer(entry string, function int, err error) error {
	f := &Fault{Kind: abi.FaultBadPointer, Module: i.module.name, Entry: entry, Function: function, Fuel: i.Fuel(), Message: err.Error()}
	var refused *abi.Fault
	if errors.As(err, &refused) {
		f.Kind, f.Message = refused.Kind, refused.Detail
	}
	return i.die(f)
}

// die remembers why the instance is not usable any more.
func (i *Instance) die(f *Fault) error {
	i.cause = f
	return f
}
