package runtime

import (
	"github.com/wasmstream/wasmstream/host/operator/aggregate"
	"github.com/wasmstream/wasmstream/host/operator/window"
	"github.com/wasmstream/wasmstream/host/state"
	"github.com/wasmstream/wasmstream/host/stream"
)

// native is the aggregator of the built-in aggregates. It puts nothing off.
type native struct {
	fn      *aggregate.Function
	backend state.Backend
	cell    state.Cell // of the accumulators
	fresh   []byte     // room for a new accumulator, if its cell is of variable width
	results results
	out     *output
	row     stream.Row // scratch: the aggregate's columns of one result
}

func (n *native) create(r state.Ref) error {
	if n.fresh != nil {
		n.backend.Put(r, n.cell, n.fresh)
	}
	n.fn.Create(n.backend.Edit(r, n.cell))
	return nil
}

func (n *native) add(r state.Ref, row stream.Row, _ stream.EventTime) error {
	moved, err := n.fn.Add(n.backend.Edit(r, n.cell), row)
	if moved != nil {
		n.backend.Put(r, n.cell, moved)
	}
	return err
}

func (n *native) merge(into, from state.Ref) error {
	moved, err := n.fn.Merge(n.backend.Edit(into, n.cell), n.backend.Value(from, n.cell))
	if moved != nil {
		n.backend.Put(into, n.cell, moved)
	}
	return err
}

func (n *native) result(r state.Ref, w window.Window) error {
	n.row = n.fn.AppendResult(n.row[:0], n.backend.Value(r, n.cell))
	n.results.put(n.out, n.backend.Key(r), n.row, w)
	return nil
}

func (n *native) settle(state.Ref) error { return nil }

func (n *native) forget(state.Ref) {}

// discard: what is put into a cell of variable width is held.
func (n *native) discard(r state.Ref) {
	if n.fresh != nil {
		n.backend.Clear(r, n.cell)
	}
}

func (n *native) retire(r state.Ref, w window.Window) { n.results.retire(n.backend.Key(r), w) }

func (n *native) combine(r state.Ref, parts []state.Ref, w window.Window) error {
	if len(parts) == 1 {
		copy(n.backend.Edit(r, n.cell), n.backend.Value(parts[0], n.cell))
		return n.result(r, w)
	}
	if err := n.create(r); err != nil {
		return err
	}
	for _, part := range parts {
		if err := n.merge(r, part); err != nil {
			return err
		}
	}
	return n.result(r, w)
}

func (n *native) watermark(t stream.EventTime) {
	n.results.watermark(n.out, t)
}

func (n *native) complete() error { return nil }
