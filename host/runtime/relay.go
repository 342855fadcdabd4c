package runtime

import (
	"math"

	"github.com/wasmstream/wasmstream/host/stream"
)

// relay is a step without operation: the union of its inputs, or a pass-through.
type relay struct {
	timeless
	out  *output
	shot func(epoch int64)
}

func (o *relay) rows(_ side, b *stream.Batch, from, to int) (int, error) {
	for i := from; i < to; i++ {
		if o.out.isFull() {
			return i, nil
		}
		o.out.batch.Append(b.Row(i), b.Time(i))
		o.out.batch.CopyOrigin(b, i)
	}
	return to, nil
}

func (o *relay) advance(t stream.EventTime) (bool, error) {
	if o.out.isFull() {
		return false, nil
	}
	o.out.batch.Mark(stream.MarkWatermark, int64(t))
	return true, nil
}

// timeless is the part of an operator that sets no processing-time timers.
type timeless struct{}

func (timeless) tick(stream.ProcTime) (bool, error) { return true, nil }
func (timeless) nextTick() stream.ProcTime          { return math.MaxInt64 }
func (timeless) setClock(stream.ProcTime)           {}

func (o *relay) complete() (bool, error) { return true, nil }

func (o *relay) status(kind stream.MarkKind) { o.out.batch.Mark(kind, 0) }

func (o *relay) barrier(epoch int64) error {
	o.shot(epoch)
	o.out.seal(epoch)
	return nil
}

func (o *relay) end() error {
	o.out.batch.Mark(stream.MarkEnd, 0)
	return nil
}

func (o *relay) drain(all bool) bool { return o.out.drain(all) }
