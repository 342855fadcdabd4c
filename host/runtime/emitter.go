package runtime

import (
	"github.com/wasmstream/wasmstream/abi"
	guests "github.com/wasmstream/wasmstream/host/guest"
	"github.com/wasmstream/wasmstream/host/job"
	"github.com/wasmstream/wasmstream/host/stream"
)

// emitter asks a function whose rows a step puts out. What it is asked is put off until
// the frame is due; the watermarks that come meanwhile wait behind the rows before them.
//
// An error of a frame that was performed early is told at complete. Nothing is asked after
// it: those who add ops look at err first, since what they add would lie there until then.
type emitter struct {
	failing
	caller   *guests.Caller
	function *job.Function
	inputs   functionInputs
	outs     outputs // in the order of the function's outputs; then that of dead letters
	times    []stream.EventTime
	marks    pendingMarks
	err      error
}

// add adds an op whose rows get an event time. The caller flushes when it is due.
func (e *emitter) add(kind abi.OpKind, group, row uint32, ctx *guests.Context, at stream.EventTime) {
	e.caller.Add(kind, group, row, ctx)
	e.times = append(e.times, at)
}

// Take puts out a row.
func (e *emitter) Take(i int, x abi.Effect) error {
	e.pass(i)
	e.outs[x.Aux].batch.Append(stream.Row(x.Payload), e.times[i])
	return nil
}

// Done has nothing to do.
func (e *emitter) Done(int) error { return nil }

// Fault leaves out what the function was asked for, unless the step is to fail.
func (e *emitter) Fault(i int, err error) error { return e.lost(i, "", err) }

// lost is a fault at a key.
func (e *emitter) lost(i int, key string, err error) error {
	e.pass(i)
	x := failureOf(e.function, e.caller, i, err)
	if x.time = e.times[i]; key != "" {
		x.key = key
	}
	return e.faults.take(&x)
}

func (e *emitter) watermark(t stream.EventTime) { e.marks.add(len(e.times), t, e.outs) }

// pass puts out the watermarks behind at most so many ops.
func (e *emitter) pass(ops int) { e.marks.pass(ops, e.outs) }

// flush has all ops performed.
func (e *emitter) flush() {
	if e.err != nil {
		return
	}
	if e.err = e.caller.Perform(); e.err == nil {
		e.pass(len(e.times))
	}
	e.times = e.times[:0]
}

func (e *emitter) complete() error {
	e.flush()
	return e.err
}
