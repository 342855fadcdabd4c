package runtime

import (
	"sync/atomic"

	"github.com/wasmstream/wasmstream/host/operator/window"
	"github.com/wasmstream/wasmstream/host/state"
	"github.com/wasmstream/wasmstream/host/stream"
)

// windowOperator carries out what the window core decides: it is the only code
// that touches the state of a windowed step.
type windowOperator struct {
	core    *window.Core
	backend state.Backend
	fn      aggregator
	key     *stream.Projection
	out     *output // results; fn writes it
	late    *output // nil: late records are dropped and counted
	stats   *StepStats
	shot    func(epoch int64, b state.Backend) // hands the snapshot over

	now     stream.EventTime // the watermark
	keyBuf  []byte
	hash    uint32
	effects []window.Effect
}

// StepStats counts what a step has done so far.
type StepStats struct {
	Records, Firings, Late, LateDropped atomic.Int64
}

// aggregator is the function of a windowed step. It may put work off until
// complete; results and watermarks leave in the order of the calls.
type aggregator interface {
	// add takes a record into the entry's accumulator, which it creates first if
	// the entry holds none.
	add(r state.Ref, row stream.Row) error
	// fire puts out the result of the entry's accumulator.
	fire(r state.Ref) error
	// watermark puts a watermark out.
	watermark(t stream.EventTime)
	// complete does what was put off.
	complete() error
}

func (o *windowOperator) rows(b *stream.Batch, from, to int) (int, error) {
	for i := from; i < to; i++ {
		if o.isFull() {
			return i, nil
		}
		var err error
		if o.effects, err = o.core.OnElement(o.effects[:0], b.Time(i), o.now); err != nil {
			return i, err
		}
		if err := o.apply(b.Row(i), b.Time(i)); err != nil {
			return i, err
		}
	}
	o.stats.Records.Add(int64(to - from))
	return to, nil
}

func (o *windowOperator) isFull() bool {
	return o.out.isFull() || o.late != nil && o.late.isFull()
}

// apply carries out the effects of one record.
func (o *windowOperator) apply(row stream.Row, t stream.EventTime) error {
	o.keyBuf = o.key.AppendTo(o.keyBuf[:0], row, stream.Insert)
	key := stream.Row(o.keyBuf)
	o.hash = key.Hash()
	var entry state.Ref
	for i := range o.effects {
		e := &o.effects[i]
		switch e.Kind {
		case window.Append:
			entry = o.backend.Entry(o.hash, key, state.Namespace(e.Window))
			if err := o.fn.add(entry, row); err != nil {
				return err
			}
		case window.SetTimer:
			o.backend.SetTimer(state.EventTimer, e.Time, entry)
		case window.Fire:
			if err := o.fire(entry); err != nil {
				return err
			}
		case window.Late:
			o.takeLate(row, t)
		}
	}
	return nil
}

func (o *windowOperator) fire(r state.Ref) error {
	if !o.backend.Has(r) {
		return nil
	}
	o.stats.Firings.Add(1)
	return o.fn.fire(r)
}

func (o *windowOperator) takeLate(row stream.Row, t stream.EventTime) {
	o.stats.Late.Add(1)
	if o.late == nil {
		o.stats.LateDropped.Add(1)
		return
	}
	o.late.batch.Append(row, t)
}

func (o *windowOperator) advance(t stream.EventTime) (bool, error) {
	o.now = t
	for {
		if o.isFull() {
			return false, nil
		}
		at, r, ok := o.backend.PopTimer(state.EventTimer, int64(t))
		if !ok {
			break
		}
		o.effects = o.core.OnTimer(o.effects[:0], window.Window(o.backend.Namespace(r)), at)
		for i := range o.effects {
			switch o.effects[i].Kind {
			case window.Fire:
				if err := o.fire(r); err != nil {
					return false, err
				}
			case window.Clean:
				o.backend.Clear(r)
			}
		}
	}
	o.fn.watermark(t)
	if o.late != nil {
		o.late.batch.Mark(stream.MarkWatermark, int64(t))
	}
	return true, nil
}

func (o *windowOperator) complete() error {
	err := o.fn.complete()
	o.backend.Release()
	return err
}

func (o *windowOperator) outputs() []*output {
	if o.late == nil {
		return []*output{o.out}
	}
	return []*output{o.out, o.late}
}

func (o *windowOperator) status(kind stream.MarkKind) {
	for _, out := range o.outputs() {
		out.batch.Mark(kind, 0)
	}
}

func (o *windowOperator) barrier(epoch int64) error {
	o.shot(epoch, o.backend)
	for _, out := range o.outputs() {
		out.seal(epoch)
	}
	return nil
}

func (o *windowOperator) end() error {
	o.status(stream.MarkEnd)
	return nil
}

func (o *windowOperator) drain(all bool) bool {
	ok := o.out.drain(all)
	if o.late != nil {
		ok = o.late.drain(all) && ok
	}
	return ok
}

// results lays out the rows that a windowed step puts out: the key, the
// aggregate's columns, the window's bounds.
type results struct {
	join       *stream.Join
	start, end stream.Column
}

func newResults(key, aggregate, out *stream.Schema) results {
	n := out.Len()
	return results{join: stream.NewJoin(key, aggregate, out), start: out.Column(n - 2), end: out.Column(n - 1)}
}

// put appends the result of one firing to an output; its event time is the
// window's last millisecond.
func (w *results) put(o *output, key, aggregate stream.Row, ns state.Namespace) {
	row := o.batch.AppendJoined(w.join, key, aggregate, stream.Insert, stream.EventTime(window.Window(ns).MaxTimestamp()))
	w.start.PutInt64(row, ns.Start)
	w.end.PutInt64(row, ns.End)
}
