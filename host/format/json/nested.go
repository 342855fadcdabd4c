package json

import (
	"bytes"
	"hash/maphash"
	"strconv"

	"github.com/wasmstream/wasmstream/host/stream"
)

// NestedBytesMax is how many bytes the ARRAY, MAP and ROW values of one record
// may take while they are read, where what is inside others counts each time that
// it is copied outward, twice a level at most: "{}" alone stands for a whole row,
// so the length of a record says little.
const NestedBytesMax = 128 << 20

const reasonTwice = "the key is there twice"

// nested reads the values of one ARRAY, MAP or ROW of the declared types. Types
// contain no cycles, so none of it is in use twice at a time, and all of it
// serves the next value.
type nested struct {
	buf []byte // the value, before it is copied to where it belongs

	// Of a ROW.
	object object
	row    *stream.RowWriter

	// Of an ARRAY or MAP: an element or entry is read into rows of one column,
	// since the number of elements, on which places in an ARRAY depend, shows only
	// at the end.
	elem, key item
	keys      keySet
}

// item is where elements go: first into a row of their own, then to the others.
type item struct {
	field  field
	column stream.Column
	row    *stream.RowWriter
	buf    []byte
	array  *stream.ArrayBuilder
}

func (d *Decoder) newNested(t stream.Type) *nested {
	n := &nested{}
	d.nests = append(d.nests, n)
	switch t.Kind {
	case stream.RowType:
		s := stream.MustSchema(t.Fields...)
		n.object, n.row = d.newObject(s, s, "."), stream.NewRowWriter(s)
	case stream.Map:
		n.key.bind(d, *t.Key)
		n.keys.seed = maphash.MakeSeed()
		fallthrough
	case stream.Array:
		n.elem.bind(d, *t.Elem)
	}
	return n
}

func (m *item) bind(d *Decoder, t stream.Type) {
	s := stream.MustSchema(stream.Field{Name: "element", Type: t})
	m.field, m.column = field{typ: t}, s.Column(0)
	m.row, m.array = stream.NewRowWriter(s), stream.NewArrayBuilder(t)
	d.bind(&m.field, 0)
}

func (n *nested) dropBuffers() {
	n.buf, n.elem.buf, n.key.buf, n.keys.table, n.keys.hashes = nil, nil, nil, nil, nil
	for _, m := range []*item{&n.elem, &n.key} {
		if m.array != nil {
			m.array = stream.NewArrayBuilder(m.field.typ)
		}
	}
}

// nestedValue reads the ARRAY, MAP or ROW at i into its column and returns the
// index after it, or -1.
func (d *Decoder) nestedValue(rec []byte, i int, f *field, w *stream.RowWriter) int {
	opening := byte('{')
	if f.op == opArray {
		opening = '['
	}
	if i >= len(rec) || rec[i] != opening {
		return d.convert(rec, i, f, w)
	}
	start, n := i, f.nested
	d.depth++
	switch f.op {
	case opRow:
		n.row.BeginIn(n.buf[:0], stream.Insert)
		i = d.object(rec, i, &n.object, n.row)
		n.buf = n.row.Buffer()
	case opArray:
		i = d.array(rec, i, n)
	default:
		i = d.mapping(rec, i, n)
	}
	d.depth--
	if i < 0 || !d.spend(len(n.buf), start) {
		return -1
	}
	w.SetNested(f.column, n.buf)
	return i
}

// spend counts bytes of nested values.
func (d *Decoder) spend(size, at int) bool {
	if d.spent += size; d.spent > d.nestedMax {
		d.fail(at, "the record's nested values take more than "+strconv.Itoa(d.nestedMax)+" bytes")
		return false
	}
	return true
}

// begin starts the row of the next element.
func (m *item) begin() { m.row.BeginIn(m.buf[:0], stream.Insert) }

// add adds the element that was begun, whose value stands at a place of the
// record.
func (d *Decoder) add(m *item, at int) bool {
	m.buf = m.row.Buffer()
	m.array.Append(&m.column, stream.Row(m.buf))
	return d.spend(len(m.buf)-8, at) // less the row's header, which only m has
}

// array reads the elements of the ARRAY that opens at i.
func (d *Decoder) array(rec []byte, i int, n *nested) int {
	m := &n.elem
	m.array.Reset()
	i = space(rec, i+1)
	if i < len(rec) && rec[i] == ']' {
		n.buf = m.array.AppendTo(n.buf[:0])
		return i + 1
	}
	for {
		at := i
		m.begin()
		if i = d.value(rec, at, &m.field, m.row); i < 0 || !d.add(m, at) {
			return d.within("[" + strconv.Itoa(m.array.Len()) + "]")
		}
		if i = space(rec, i); i >= len(rec) || rec[i] != ',' {
			break
		}
		i = space(rec, i+1)
	}
	if i >= len(rec) || rec[i] != ']' {
		return d.failAt(rec, i, reasonItemComma)
	}
	n.buf = m.array.AppendTo(n.buf[:0])
	return i + 1
}

// mapping reads the entries of the MAP that opens at i.
func (d *Decoder) mapping(rec []byte, i int, n *nested) int {
	k, m := &n.key, &n.elem
	k.array.Reset()
	m.array.Reset()
	n.keys.reset()
	i = space(rec, i+1)
	if i < len(rec) && rec[i] == '}' {
		n.buf = stream.AppendMapOf(n.buf[:0], k.array, m.array)
		return i + 1
	}
	for {
		at := i
		end, value, escaped := d.name(rec, i)
		if value < 0 {
			return -1
		}
		k.begin()
		k.row.SetBytes(0, d.content(rec[at:end], escaped))
		if !d.add(k, at) {
			return -1
		}
		if !n.keys.add(k.array) {
			d.fail(at, reasonTwice)
			return d.within(k.asStep())
		}
		m.begin()
		if i = d.value(rec, value, &m.field, m.row); i < 0 || !d.add(m, value) {
			return d.within(k.asStep())
		}
		if i = space(rec, i); i >= len(rec) || rec[i] != ',' {
			break
		}
		i = space(rec, i+1)
	}
	if i >= len(rec) || rec[i] != '}' {
		return d.failAt(rec, i, reasonComma)
	}
	n.buf = stream.AppendMapOf(n.buf[:0], k.array, m.array)
	return i + 1
}

// asStep is the last key as a path shows it, which is Flink SQL's access to it.
func (m *item) asStep() string {
	return "['" + shorten(m.column.Bytes(stream.Row(m.buf))) + "']"
}

// keySet finds keys that are equal: an open-addressing table of the places of
// keys in their ARRAY, plus 1; 0 is free. The seed keeps hostile keys from all
// going to one place; the answer does not depend on it.
type keySet struct {
	seed   maphash.Seed
	table  []uint32 // len is 0 or a power of two, at least twice the number of keys
	hashes []uint32
}

// reset forgets the keys. The table begins small again: a large one would have
// to be cleared for each of many small maps behind one that is large.
func (s *keySet) reset() { s.hashes, s.table = s.hashes[:0], s.table[:0] }

// add takes the last key of the array and tells whether it differs from all
// keys before.
func (s *keySet) add(keys *stream.ArrayBuilder) bool {
	last := len(s.hashes)
	key := keys.Bytes(last)
	h := uint32(maphash.Bytes(s.seed, key))
	if 2*(last+1) > len(s.table) {
		s.grow()
	}
	i := s.place(h)
	for ; s.table[i] != 0; i = (i + 1) & (len(s.table) - 1) {
		if at := s.table[i] - 1; s.hashes[at] == h && bytes.Equal(keys.Bytes(int(at)), key) {
			return false
		}
	}
	s.hashes = append(s.hashes, h)
	s.table[i] = uint32(last) + 1
	return true
}

func (s *keySet) place(h uint32) int { return int(h) & (len(s.table) - 1) }

func (s *keySet) grow() {
	n := max(16, 2*len(s.table))
	if n > cap(s.table) {
		s.table = make([]uint32, n)
	}
	s.table = s.table[:n]
	clear(s.table)
	for at, h := range s.hashes {
		i := s.place(h)
		for s.table[i] != 0 {
			i = (i + 1) & (len(s.table) - 1)
		}
		s.table[i] = uint32(at) + 1
	}
}
