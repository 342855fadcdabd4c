package runtime

import (
	"bytes"
	"encoding/binary"

	"github.com/wasmstream/wasmstream/host/job"
	"github.com/wasmstream/wasmstream/host/operator/window"
	"github.com/wasmstream/wasmstream/host/state"
	"github.com/wasmstream/wasmstream/host/stream"
)

// ledger remembers what a windowed step has put out and may take back, by key, for
// the output modes other than append. A result is known by its key and the start
// of its window, so a session that grew at its end replaces its row.
type ledger struct {
	mode    job.OutputMode
	merges  bool
	backend state.Backend

	old []ledgerRow // of the key, before the present firing
	buf []byte
}

// ledgerRow is a row that was put out for a window.
type ledgerRow struct {
	window window.Window
	row    stream.Row
}

// ledgerHeaderBytes stand before each row: its window and its length.
const ledgerHeaderBytes = 24

func (l *ledger) entry(key stream.Row) state.Ref {
	return l.backend.Entry(key.Hash(), key, setNamespace)
}

// load reads the rows of a key. They are copies: what is kept is about to change.
func (l *ledger) load(key stream.Row) {
	l.buf = append(l.buf[:0], l.backend.Value(l.entry(key), ledgerCell)...)
	l.old = l.old[:0]
	for b := l.buf; len(b) > 0; {
		n := ledgerHeaderBytes + int(binary.LittleEndian.Uint64(b[16:]))
		l.old = append(l.old, ledgerRow{
			window: window.Window{Start: int64(binary.LittleEndian.Uint64(b)), End: int64(binary.LittleEndian.Uint64(b[8:]))},
			row:    stream.Row(b[ledgerHeaderBytes:n:n]),
		})
		b = b[n:]
	}
}

// keep stores the rows of a key that are to stay, then one more, if there is one.
func (l *ledger) keep(key stream.Row, stays func(ledgerRow) bool, more *ledgerRow) {
	r := l.entry(key)
	l.backend.Clear(r, ledgerCell)
	for _, old := range l.old {
		if stays(old) {
			l.append(r, old)
		}
	}
	if more != nil {
		l.append(r, *more)
	}
}

func (l *ledger) append(r state.Ref, e ledgerRow) {
	var h [ledgerHeaderBytes]byte
	binary.LittleEndian.PutUint64(h[:], uint64(e.window.Start))
	binary.LittleEndian.PutUint64(h[8:], uint64(e.window.End))
	binary.LittleEndian.PutUint64(h[16:], uint64(len(e.row)))
	l.backend.Append(r, ledgerCell, h[:])
	l.backend.Append(r, ledgerCell, e.row)
}

// replaces tells whether the result of a window takes the place of an older one:
// that of the same start, and those of sessions that became part of it.
func (l *ledger) replaces(w window.Window, old ledgerRow) bool {
	inside := w.Start <= old.window.Start && old.window.End <= w.End
	return old.window.Start == w.Start || inside && l.merges && l.mode != job.Update
}

// record takes the row that was just added to an output for a window, and makes of
// it what the mode says.
func (l *ledger) record(o *output, key stream.Row, w window.Window) {
	last := o.batch.Len() - 1
	present := ledgerRow{w, bytes.Clone(o.batch.Row(last))}
	o.batch.Truncate(last)
	l.load(key)
	switch l.mode {
	case job.Complete:
		l.putAll(o, present)
	default:
		if !l.putChange(o, present) {
			return
		}
	}
	l.keep(key, func(old ledgerRow) bool { return !l.replaces(w, old) }, &present)
}

// putAll takes back all rows of the key and puts out all that there are now.
func (l *ledger) putAll(o *output, present ledgerRow) {
	for _, old := range l.old {
		put(o, old, stream.Delete)
	}
	for _, old := range l.old {
		if !l.replaces(present.window, old) {
			put(o, old, stream.Insert)
		}
	}
	put(o, present, stream.Insert)
}

// putChange puts out what changes; false if nothing does.
func (l *ledger) putChange(o *output, present ledgerRow) bool {
	kind := stream.Insert
	for _, old := range l.old {
		if old.window.Start == present.window.Start && bytes.Equal(old.row, present.row) {
			return false
		}
	}
	for _, old := range l.old {
		switch {
		case old.window.Start == present.window.Start:
			kind = stream.UpdateAfter
			put(o, old, stream.UpdateBefore)
		case l.replaces(present.window, old):
			// Its own time may have passed; the deletion is news of the session that
			// it became part of.
			put(o, ledgerRow{present.window, old.row}, stream.Delete)
		}
	}
	put(o, present, kind)
	return true
}

func put(o *output, e ledgerRow, kind stream.ChangeKind) {
	o.batch.Append(e.row, stream.EventTime(e.window.MaxTimestamp()))
	o.batch.Row(o.batch.Len() - 1).SetChange(kind)
}

// retire forgets what was put out for a window that is gone: nothing can take it
// back any more.
func (l *ledger) retire(key stream.Row, w window.Window) {
	l.load(key)
	if len(l.old) == 0 {
		return
	}
	l.keep(key, func(old ledgerRow) bool {
		inside := w.Start <= old.window.Start && old.window.End <= w.End
		return old.window != w && !(l.merges && inside)
	}, nil)
}
