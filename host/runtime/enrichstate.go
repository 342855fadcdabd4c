package runtime

import (
	"encoding/binary"
	"errors"
	"hash/fnv"
	"math"
	"math/bits"
	"slices"

	"github.com/wasmstream/wasmstream/host/checkpoint"
	"github.com/wasmstream/wasmstream/host/job"
	"github.com/wasmstream/wasmstream/host/operator/enrich"
	"github.com/wasmstream/wasmstream/host/state"
	"github.com/wasmstream/wasmstream/host/stream"
)

// shelf keeps the records of an enrichment's queue in its task's state: an entry for each,
// whose namespace is the record's number, with a timer of that time, so that they come out
// in their order.
//
// With another number of tasks the entries go to the tasks that own their key groups, as
// all state does. Records with a key are found by it, so that they are asked about where
// others of the key come; those without are spread over the groups that the task owns, so
// that they are spread over all tasks afterwards.
type shelf struct {
	backend state.Backend
	key     *stream.Projection // of records; nil: they have none
	groups  []stream.Row       // without: a key for each key group of the task
	outputs uint64             // stands for what the rows of results are
	saved   []shelved          // what the newest snapshot has, by number
	spare   []shelved
	buf     []byte
}

// shelved is a record in a snapshot.
type shelved struct {
	number int64
	key    stream.Row
	done   bool // with its results
}

// queueCell holds a record.
const queueCell state.Cell = 0

func newShelf(b state.Backend, s *job.Step, maxParallelism int, own checkpoint.Groups) shelf {
	h := shelf{backend: b, outputs: outputsOf(s.Enrich.Function)}
	if s.KeyBy != nil {
		h.key = stream.NewProjection(s.Input, s.KeyBy)
	} else {
		h.groups = keysOf(maxParallelism, own)
	}
	return h
}

// outputsOf stands for what a function's rows are; never 0.
func outputsOf(f *job.Function) uint64 {
	h := fnv.New64a()
	for _, o := range f.Outputs {
		h.Write([]byte(o.Name + "\n" + job.SchemaText(o.Schema) + "\n"))
	}
	return max(h.Sum64(), 1)
}

var shelfKey = stream.MustSchema(stream.Field{Name: "place", Type: stream.Type{Kind: stream.BigInt}})

// keysOf finds a key for each of some key groups. Which group a key has follows from its
// hash, so they are tried out, which takes a few times as many as there are groups.
func keysOf(maxParallelism int, own checkpoint.Groups) []stream.Row {
	keys := make([]stream.Row, own.To-own.From)
	w := stream.NewRowWriter(shelfKey)
	var buf []byte
	for n, missing := int64(0), len(keys); missing > 0; n++ {
		w.BeginIn(buf[:0], stream.Insert)
		w.SetInt64(0, n)
		buf = w.Buffer()
		key := w.Row()
		if g := stream.KeyGroupOf(key.Hash(), maxParallelism); own.Has(g) && keys[g-own.From] == nil {
			keys[g-own.From] = slices.Clone(key)
			missing--
		}
	}
	return keys
}

// save makes the state what the queue is. A record that the function failed on is kept as
// one without an answer: what becomes of it is seen to when it leaves.
func (h *shelf) save(q *enrich.Queue, failures map[*enrich.Record]*failedAnswer) {
	known, now := h.saved, h.spare[:0]
	for r := range q.All {
		for len(known) > 0 && known[0].number < r.Number {
			h.forget(&known[0])
			known = known[1:]
		}
		k := shelved{number: r.Number, done: r.Finished() && failures[r] == nil}
		isKnown := len(known) > 0 && known[0].number == r.Number
		if isKnown {
			k.key = known[0].key
		} else {
			k.key = h.keyOf(r)
		}
		if !isKnown || k.done != known[0].done {
			h.put(&k, r)
		}
		if isKnown {
			known = known[1:]
		}
		now = append(now, k)
	}
	for i := range known {
		h.forget(&known[i])
	}
	clear(h.saved)
	h.saved, h.spare = now, h.saved
	h.backend.Release()
}

// golden steps through the groups by the golden ratio, which leaves no large gaps, however
// few records there are.
const golden = 0x9E3779B97F4A7C15

func (h *shelf) keyOf(r *enrich.Record) stream.Row {
	if h.key == nil {
		place, _ := bits.Mul64(uint64(r.Number)*golden, uint64(len(h.groups)))
		return h.groups[place]
	}
	return h.key.AppendTo(nil, stream.Row(r.Row), stream.Insert)
}

func (h *shelf) entry(k *shelved) state.Ref {
	return h.backend.Entry(k.key.Hash(), k.key, state.Namespace{Start: k.number, End: k.number})
}

func (h *shelf) put(k *shelved, r *enrich.Record) {
	le, outputs := binary.LittleEndian, uint64(0)
	if k.done {
		outputs = h.outputs
	}
	b := le.AppendUint64(h.buf[:0], uint64(r.Time))
	b = le.AppendUint64(b, outputs)
	b = appendPart(b, r.Row)
	if k.done {
		for _, x := range r.Results {
			b = le.AppendUint32(b, x.Output)
			b = appendPart(b, r.Data[x.From:x.To])
		}
	}
	h.buf = b
	at := h.entry(k)
	h.backend.Put(at, queueCell, b)
	h.backend.SetTimer(state.EventTimer, k.number, at)
}

// appendPart appends bytes behind their number.
func appendPart(b, part []byte) []byte {
	return append(binary.LittleEndian.AppendUint32(b, uint32(len(part))), part...)
}

func (h *shelf) forget(k *shelved) {
	at := h.entry(k)
	h.backend.Clear(at, queueCell)
	h.backend.DeleteTimer(state.EventTimer, k.number, at)
}

var errShelf = errors.New("a record that waited for an answer is broken in the checkpoint")

// restored is a record of the restored state, good until the next.
type restored struct {
	row     stream.Row
	time    stream.EventTime
	done    bool
	results []byte
}

// takeUp hands the records of the restored state on, in their order, and forgets them.
// What a function of other outputs has made of a record counts for nothing.
func (h *shelf) takeUp(give func(*restored) error) error {
	for {
		_, at, ok := h.backend.PopTimer(state.EventTimer, math.MaxInt64)
		if !ok {
			h.backend.Release()
			return nil
		}
		b := h.backend.Value(at, queueCell)
		if len(b) < 16 {
			return errShelf
		}
		r := restored{time: stream.EventTime(binary.LittleEndian.Uint64(b)), done: binary.LittleEndian.Uint64(b[8:]) == h.outputs}
		row, results, ok := cutPart(b[16:])
		if !ok {
			return errShelf
		}
		r.row, r.results = row, results
		if err := give(&r); err != nil {
			return err
		}
		h.backend.Clear(at, queueCell)
	}
}

func cutPart(b []byte) (part, rest []byte, ok bool) {
	if len(b) < 4 {
		return nil, nil, false
	}
	n := uint64(binary.LittleEndian.Uint32(b))
	if b = b[4:]; n > uint64(len(b)) {
		return nil, nil, false
	}
	return b[:n], b[n:], true
}

// addTo gives a record of the queue its results.
func (r *restored) addTo(to *enrich.Record, outputs int) error {
	for b := r.results; len(b) > 0; {
		if len(b) < 4 {
			return errShelf
		}
		output := binary.LittleEndian.Uint32(b)
		row, rest, ok := cutPart(b[4:])
		if !ok || int64(output) >= int64(outputs) {
			return errShelf
		}
		to.Add(output, row)
		b = rest
	}
	return nil
}
