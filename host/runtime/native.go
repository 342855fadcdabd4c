package runtime

import (
	"github.com/wasmstream/wasmstream/host/operator/aggregate"
	"github.com/wasmstream/wasmstream/host/state"
	"github.com/wasmstream/wasmstream/host/stream"
)

// native is the aggregator of the built-in aggregates. It puts nothing off.
type native struct {
	fn      *aggregate.Function
	backend state.Backend
	results results
	out     *output
	row     stream.Row // scratch: the aggregate's columns of one result
}

func (n *native) add(r state.Ref, row stream.Row) error {
	acc := n.backend.Value(r)
	if !n.backend.Has(r) {
		n.backend.SetHas(r)
		n.fn.Create(acc)
	}
	_, err := n.fn.Add(acc, row) // it never moves, or the step would have been refused
	return err
}

func (n *native) fire(r state.Ref) error {
	n.row = n.fn.AppendResult(n.row[:0], n.backend.Value(r))
	n.results.put(n.out, n.backend.Key(r), n.row, n.backend.Namespace(r))
	return nil
}

func (n *native) watermark(t stream.EventTime) {
	n.out.batch.Mark(stream.MarkWatermark, int64(t))
}

func (n *native) complete() error { return nil }
