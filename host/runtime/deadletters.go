package runtime

import (
	"errors"

	"github.com/wasmstream/wasmstream/host/stream"
)

// deadLetters is where a source puts records that it cannot decode: its output failed.
// They have no event time; watermarks and other marks are those of the source.
type deadLetters struct {
	*output
	faults   faults
	mirrored bool // it has the marks of the source's present batch
}

// put puts a record out. There is room: the output was passed on before.
func (l *deadLetters) put(err *RecordError, record []byte) {
	at := stream.Origin{Source: err.Source, Split: err.Split, Record: err.Record, Offset: err.Offset}
	x := failure{record: record, original: record, position: at.String(), time: stream.MinTime, err: err.Err}
	var function *FunctionError
	if errors.As(err.Err, &function) {
		x.function = function.Function
	}
	l.faults.write(&x)
}

// mirror adds the marks of the source's batch; false if there is no room yet.
func (l *deadLetters) mirror(b *stream.Batch) bool {
	if l.mirrored {
		return true
	}
	if l.passing && !l.pass() {
		return false
	}
	for _, m := range b.Marks {
		if m.Kind == stream.MarkBarrier {
			l.seal(m.Value)
		} else {
			l.batch.Mark(m.Kind, m.Value)
		}
	}
	l.mirrored = true
	return true
}

// pass hands the source's batch on, and its dead letters; false if some reader has no
// room.
func (t *sourceTask) pass() bool {
	if t.failed == nil {
		return t.out.pass()
	}
	if !t.failed.mirror(t.out.batch) || !t.out.pass() {
		return false
	}
	t.failed.mirrored = false
	return t.failed.pass()
}

// drain hands all on, and keeps nothing back.
func (t *sourceTask) drain() {
	if !t.pass() {
		return
	}
	t.out.flush()
	if t.failed != nil {
		t.failed.flush()
	}
}
