package runtime

import (
	"sort"

	"github.com/wasmstream/wasmstream/host/stream"
)

// originals are the records that the ops of a frame are about, as they came to the step:
// the frame has what the function declares of them. They are kept for dead letters; where
// there are none, it is nil.
type originals struct {
	faults *faults
	sides  [2]*stream.Schema
	strip  *stream.Projection // leaves the key out that a function computed; nil: there is none
	list   []original         // of the present frame, and of those before that began further on
	bytes  []byte
}

// original is a record; its bytes end at end. Behind them are those of its place, if it came
// from a list that has it, up to place, and of what it was made of, up to read.
type original struct {
	op               int
	side             side
	end, place, read int
	origin           stream.Origin
}

// originals are kept of a step's records, if they are wanted.
func (f *faults) originals(sides ...*stream.Schema) *originals {
	if f.out == nil {
		return nil
	}
	o := &originals{faults: f}
	copy(o.sides[:], sides)
	if f.computed > 0 {
		columns := columnsBefore(sides[left].Len() - f.computed)
		o.strip, o.sides[left] = stream.NewProjection(sides[left], columns), sides[left].Project(columns)
	}
	return o
}

// columnsBefore are the first n columns.
func columnsBefore(n int) []int {
	columns := make([]int, n)
	for i := range columns {
		columns[i] = i
	}
	return columns
}

// keep keeps the record at hand, of an op that is added next; nil: it has none, which is
// noted, lest it be given that of an op before. One that is not behind the last one begins a
// new frame.
func (o *originals) keep(op int, s side, row stream.Row) { o.add(op, s, row, &o.faults.atHand) }

// keepListed keeps a record of a list as keep does.
func (o *originals) keepListed(op int, e listedRow) {
	o.add(op, e.side, e.row, &atHand{place: e.place})
}

func (o *originals) add(op int, s side, row stream.Row, at *atHand) {
	if n := len(o.list); n > 0 && o.list[n-1].op >= op {
		o.list, o.bytes = o.list[:0], o.bytes[:0]
	}
	if o.strip != nil && row != nil {
		o.bytes = o.strip.AppendTo(o.bytes, row, row.Change())
	} else {
		o.bytes = append(o.bytes, row...)
	}
	end := len(o.bytes)
	o.bytes = append(o.bytes, at.place...)
	place := len(o.bytes)
	o.bytes = append(o.bytes, at.original...)
	o.list = append(o.list, original{op: op, side: s, end: end, place: place, read: len(o.bytes), origin: at.origin})
}

// show puts the record of an op into its failure, if it was kept.
func (o *originals) show(x *failure, op int) {
	if o == nil {
		return
	}
	i := sort.Search(len(o.list), func(i int) bool { return o.list[i].op >= op })
	if i == len(o.list) || o.list[i].op != op {
		return
	}
	from := 0
	if i > 0 {
		from = o.list[i-1].read
	}
	k := &o.list[i]
	if k.end == from { // no row is empty
		return
	}
	x.record, x.schema, x.position = o.bytes[from:k.end:k.end], o.sides[k.side], k.origin.String()
	if k.place > k.end {
		x.position = string(o.bytes[k.end:k.place])
	}
	if k.read > k.place {
		x.original = o.bytes[k.place:k.read:k.read]
	}
}

// showListed puts a record of a list into its failure.
func (o *originals) showListed(x *failure, e listedRow) {
	if o != nil {
		o.keepListed(0, e)
		o.show(x, 0)
	}
}

// showAssigned puts row n of a batch into the failure of an assigner, which is not told
// the key.
func (o *windowOperator) showAssigned(x *failure, s side, b *stream.Batch, n int) {
	k := o.phases.assigner.originals
	if k != nil {
		o.faults.came(b, n)
		k.keep(0, s, b.Row(n))
		k.show(x, 0)
	}
	x.key = o.shownKey.Show(o.sides[s].key.AppendTo(nil, b.Row(n), stream.Insert))
}
