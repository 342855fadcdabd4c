package runtime

import "github.com/wasmstream/wasmstream/host/stream"

// relay is a step without operation: the union of its inputs, or a pass-through.
type relay struct{ bare }

func (o *relay) rows(_ side, b *stream.Batch, from, to int) (int, error) {
	out := o.outs[0]
	for i := from; i < to; i++ {
		if out.isFull() {
			return i, nil
		}
		out.batch.Append(b.Row(i), b.Time(i))
		out.batch.CopyOrigin(b, i)
	}
	return to, nil
}

func (o *relay) advance(t stream.EventTime) (bool, error) {
	if o.outs.isFull() {
		return false, nil
	}
	o.outs.mark(stream.MarkWatermark, int64(t))
	return true, nil
}

func (o *relay) complete() (bool, error) { return true, nil }
