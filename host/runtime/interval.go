package runtime

import (
	"errors"

	guests "github.com/wasmstream/wasmstream/host/guest"
	"github.com/wasmstream/wasmstream/host/state"
	"github.com/wasmstream/wasmstream/host/stream"
)

// intervalOperator joins rows of two sides that have equal keys and times that
// are near: Flink's IntervalJoinOperator, and for outer joins what Flink SQL adds:
// a row without a partner is put out, padded with NULLs, when none can come any
// more.
type intervalOperator struct {
	timeless
	keeper
	failing
	sides [2]intervalSide
	out   *output
	join  *stream.Join // of a left and a right row
	fn    *pairs       // nil: a pair is put out as it is
	stats *StepStats
	least func() stream.EventTime // see combines; nil: combine is min
	delay int64                   // ms that watermarks are held back, so that padded rows are not late

	now    stream.EventTime
	clock  stream.ProcTime
	keyBuf []byte

	// A record that matches more than the output takes: the rest is to come.
	probing bool
	own     int           // its place in its own side's buffer
	probe   int           // next place in the other side's buffer
	buffers [2]joinBuffer // of its key, by side; one that is empty may be gone
	expired state.Ref
	expires bool // expired still has rows that are to be put out
}

// intervalSide is one side of an interval join.
type intervalSide struct {
	key          *stream.Projection
	lower, upper int64 // ms: the other side's times that match, less this side's
	late         *output
	outer        bool       // rows without a partner are put out
	null         stream.Row // a row of this side, all NULL
	namespace    state.Namespace
}

// keptFor is how long after its time a row can still be matched, in ms.
func (s *intervalSide) keptFor() int64 { return max(s.upper, 0) }

var errNoJoinTime = errors.New("the record has no event time (timestamp), which an interval join needs")

func (o *intervalOperator) rows(s side, b *stream.Batch, from, to int) (int, error) {
	for i := from; i < to; i++ {
		if o.outs.isFull() {
			return i, nil
		}
		if !o.probing {
			buffered, err := o.admit(s, b.Row(i), b.Time(i))
			if err != nil {
				return i, err
			}
			if !buffered {
				continue
			}
		}
		if !o.match(s, b.Row(i), b.Time(i)) {
			return i, nil
		}
	}
	return to, nil
}

func (o *intervalOperator) setLeast(least func() stream.EventTime) { o.least = least }

// admit buffers a record, unless it is late: one that is as old as the watermark
// is not (FLINK-33524). What is buffered is to be matched next.
func (o *intervalOperator) admit(s side, row stream.Row, t stream.EventTime) (bool, error) {
	own := &o.sides[s]
	switch {
	case t == stream.MinTime:
		return false, errNoJoinTime
	case o.now != stream.MinTime && t < o.now:
		o.stats.Late.Add(1)
		if o.least != nil && t >= o.least() {
			o.stats.LateByMax.Add(1)
		}
		if own.late == nil {
			o.stats.LateDropped.Add(1)
		} else {
			own.late.batch.Append(row, t)
		}
		return false, nil
	}
	o.keyBuf = own.key.AppendTo(o.keyBuf[:0], row, stream.Insert)
	key := stream.Row(o.keyBuf)
	hash := key.Hash()
	for i := range o.buffers {
		o.buffers[i] = joinBuffer{o.backend, o.backend.Entry(hash, key, o.sides[i].namespace)}
	}
	buffer := o.buffers[s]
	o.own = buffer.add(t, row)
	buffer.wake(t.Add(own.keptFor()))
	o.probing = true
	o.probe = o.buffers[1-s].first(t.Add(own.lower))
	return true, nil
}

// match puts out a record with its partners; false if there are more than there
// is room for.
func (o *intervalOperator) match(s side, row stream.Row, t stream.EventTime) bool {
	own, other := &o.sides[s], o.buffers[1-s]
	last := t.Add(own.upper)
	n := other.len()
	for ; o.probe < n; o.probe++ {
		at := other.time(o.probe)
		if at > last {
			break
		}
		if o.out.isFull() {
			return false
		}
		o.put(s, row, other.row(o.probe), max(t, at))
		if o.sides[left].outer || o.sides[right].outer {
			other.setMatched(o.probe)
			o.buffers[s].setMatched(o.own)
		}
	}
	o.probing = false
	return true
}

// put puts out a row of a side with its partner.
func (o *intervalOperator) put(s side, row, partner stream.Row, t stream.EventTime) {
	if s == right {
		row, partner = partner, row
	}
	if o.fn != nil {
		o.fn.put(row, partner, guests.Context{Time: int64(t), Watermark: int64(o.now), Clock: int64(o.clock)})
		return
	}
	o.out.batch.AppendJoined(o.join, row, partner, stream.Insert, t)
}

func (o *intervalOperator) advance(t stream.EventTime) (bool, error) {
	o.now = t
	for {
		if !o.expires {
			if o.outs.isFull() {
				return false, nil
			}
			_, r, ok := o.backend.PopTimer(state.EventTimer, int64(t))
			if !ok {
				break
			}
			o.expired, o.expires = r, true
		}
		if !o.expire() {
			return false, nil
		}
		o.expires = false
	}
	t = o.heldBack(t)
	for _, out := range o.outs {
		if o.fn == nil || out != o.out && out != o.faults.out { // those it marks itself
			out.batch.Mark(stream.MarkWatermark, int64(t))
		}
	}
	if o.fn != nil {
		o.fn.watermark(t)
		return true, o.fn.err
	}
	return true, nil
}

// heldBack is the watermark to put out for t.
func (o *intervalOperator) heldBack(t stream.EventTime) stream.EventTime {
	if t == stream.MaxTime {
		return t
	}
	return t.Add(-o.delay)
}

// expire takes the rows out of a buffer that cannot be matched any more; false if
// there is no room for those that are put out.
func (o *intervalOperator) expire() bool {
	s := left
	if o.backend.Namespace(o.expired) == o.sides[right].namespace {
		s = right
	}
	own, buffer := &o.sides[s], joinBuffer{o.backend, o.expired}
	n, done := buffer.len(), 0
	for done < n && buffer.time(done).Add(own.keptFor()) <= o.now {
		if own.outer && !buffer.matched(done) {
			if o.out.isFull() {
				buffer.drop(done)
				return false
			}
			o.put(s, buffer.row(done), o.sides[1-s].null, buffer.time(done))
		}
		done++
	}
	buffer.drop(done)
	buffer.rearm(own.keptFor())
	return true
}

func (o *intervalOperator) setClock(now stream.ProcTime) { o.clock = now }

func (o *intervalOperator) complete() (bool, error) {
	var err error
	if o.fn != nil {
		err = o.fn.complete()
	}
	o.backend.Release()
	return true, err
}
