package runtime

import (
	"github.com/wasmstream/wasmstream/host/state"
	"github.com/wasmstream/wasmstream/host/stream"
)

// aheadRows is how many rows' keys are made together.
const aheadRows = 32

// ahead has the keys of the rows that are handled next. They are made together, so that the
// backend, told of all their entries, fetches these at once: one after another, between all
// else that is done for a record, each would have to be waited for.
type ahead struct {
	from, to int // rows of the batch
	keys     []byte
	ends     []int // in keys
	expected []state.Expected
}

// begin begins anew, at a row of another batch perhaps.
func (a *ahead) begin(row int) { a.from, a.to = row, row }

// clear makes room for the keys of rows from a.to on.
func (a *ahead) clear() {
	a.from, a.keys, a.ends, a.expected = a.to, a.keys[:0], a.ends[:0], a.expected[:0]
}

// add adds the key of the next row, and where its entry is likely to be.
func (a *ahead) add(key *stream.Projection, row stream.Row, ns state.Namespace) {
	at := len(a.keys)
	a.keys = key.AppendTo(a.keys, row, stream.Insert)
	a.ends = append(a.ends, len(a.keys))
	a.expected = append(a.expected, state.Expected{Hash: stream.Row(a.keys[at:]).Hash(), Namespace: ns})
	a.to++
}

// key is the key of a row and its hash. It is a view.
func (a *ahead) key(row int) (key stream.Row, hash uint32) {
	i, at := row-a.from, 0
	if i > 0 {
		at = a.ends[i-1]
	}
	return stream.Row(a.keys[at:a.ends[i]:a.ends[i]]), a.expected[i].Hash
}
