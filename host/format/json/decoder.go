package json

import (
	"fmt"

	"github.com/wasmstream/wasmstream/host/format"
	"github.com/wasmstream/wasmstream/host/stream"
)

// op is what to do with a column's value: its type, prepared for a switch.
type op uint8

const (
	opSkip op = iota
	opBoolean
	opInt
	opBigInt
	opFloat
	opDouble
	opDecimal     // the unscaled value is in the slot
	opWideDecimal // it is in the variable part
	opString
	opBytes
	opDate
	opTimestamp
	opTimestampLTZ
	opArray
	opMap
	opRow
)

var kindOps = [...]op{
	stream.Boolean: opBoolean, stream.Int: opInt, stream.BigInt: opBigInt, stream.Float: opFloat, stream.Double: opDouble,
	stream.Decimal: opDecimal, stream.String: opString, stream.Bytes: opBytes, stream.Date: opDate,
	stream.Timestamp: opTimestamp, stream.TimestampLTZ: opTimestampLTZ, stream.Array: opArray, stream.Map: opMap, stream.RowType: opRow,
}

// opOf is the op for a type.
func opOf(t stream.Type) op {
	if t.Kind == stream.Decimal && t.Precision > stream.DecimalCompactPrecisionMax {
		return opWideDecimal
	}
	return kindOps[t.Kind]
}

// checkType refuses a type that has no form in JSON, wherever in it that is.
func checkType(t stream.Type) error {
	switch t.Kind {
	case stream.Map:
		if t.Key.Kind != stream.String {
			return fmt.Errorf("%s cannot be written as a JSON object, whose names are strings; only a MAP with keys of type STRING can", t)
		}
		return checkType(*t.Elem)
	case stream.Array:
		return checkType(*t.Elem)
	case stream.RowType:
		for _, f := range t.Fields {
			if err := checkType(f.Type); err != nil {
				return fmt.Errorf("field %q: %w", f.Name, err)
			}
		}
	}
	return nil
}

// field is a name that a record may hold.
type field struct {
	op     op
	millis bool   // a TIMESTAMP whose slot is its milliseconds, none of them cut off
	column int    // in the output schema, -1 if nobody uses it
	seen   uint64 // the number of the last record that had it
	key    string // the name as it mostly stands in records: quoted, with its colon
	// The key's first 16 bytes as two words, with a mask for what belongs to it.
	low, lowMask, high, highMask uint64

	step   string // what the name adds to the path of an error
	name   string
	typ    stream.Type
	nested *nested // of an ARRAY, MAP or ROW
}

// object is what JSON objects of one shape hold: the record, or a ROW in it.
type object struct {
	fields  []field // the declared columns
	outputs []*field
	index   map[string]*field
	// order has the field that the previous object had at each place (P).
	order   []*field
	number  uint64 // of this object
	missing int    // output columns that this object has not had yet
}

// Decoder reads records of one schema; see the package for what it accepts. It
// implements format.Decoder.
type Decoder struct {
	scanner
	clock   dayCache
	record  object
	unknown field  // stands for every name that is not declared
	scratch []byte // a string without its escapes
	binary  []byte // what was base64
	nests   []*nested
	// spent is how many bytes this record's nested values took, of nestedMax.
	spent, nestedMax int
}

var _ format.Decoder = (*Decoder)(nil)

// scratchBytesMax is the longest buffer that is kept for the next record.
const scratchBytesMax = 1 << 20

// NewDecoder makes a decoder for records with the declared columns. It fills
// rows of the output schema: the declared columns that anyone uses, in any order.
func NewDecoder(declared, output *stream.Schema) (*Decoder, error) {
	for _, f := range output.Fields() {
		i := declared.Index(f.Name)
		if i < 0 {
			return nil, fmt.Errorf("json: column %q is not among those declared: %s", f.Name, declared)
		}
		if d := declared.Fields()[i].Type; !d.Equal(f.Type) {
			return nil, fmt.Errorf("json: column %q is declared as %s, not %s", f.Name, d, f.Type)
		}
		if err := checkType(f.Type); err != nil {
			return nil, fmt.Errorf("json: column %q: %w", f.Name, err)
		}
	}
	d := &Decoder{unknown: field{column: -1}, nestedMax: NestedBytesMax}
	d.record = d.newObject(declared, output, "")
	return d, nil
}

// newObject prepares for objects of the declared fields, of which those of the
// output are kept; a path has the separator before their names.
func (d *Decoder) newObject(declared, output *stream.Schema, separator string) object {
	o := object{
		fields:  make([]field, declared.Len()),
		outputs: make([]*field, output.Len()),
		index:   make(map[string]*field, declared.Len()),
		order:   make([]*field, declared.Len()),
	}
	for i, f := range declared.Fields() {
		o.fields[i] = field{column: -1, name: f.Name, step: separator + f.Name, typ: f.Type}
		o.fields[i].setKey()
		o.index[f.Name] = &o.fields[i]
		o.order[i] = &o.fields[i]
	}
	for i, f := range output.Fields() {
		to := o.index[f.Name]
		d.bind(to, i)
		o.outputs[i] = to
	}
	return o
}

// bind prepares a field to be read into the column.
func (d *Decoder) bind(f *field, column int) {
	f.op, f.column = opOf(f.typ), column
	f.millis = (f.op == opTimestamp || f.op == opTimestampLTZ) && f.typ.Precision == stream.TimestampCompactMax
	if f.op >= opArray {
		f.nested = d.newNested(f.typ)
	}
}

func (f *field) setKey() {
	key := append(appendString(nil, []byte(f.name)), ':')
	f.key = string(key)
	f.low, f.lowMask = wordOrTail(key, 0), ^uint64(0)
	f.high, f.highMask = wordOrTail(key, 8), ^uint64(0)
	if n := len(key); n < 8 {
		f.lowMask, f.highMask = 1<<(8*n)-1, 0
	} else if n < 16 {
		f.highMask = 1<<(8*(n-8)) - 1
	}
}

// isAt tells whether the field's key stands at i.
func (f *field) isAt(rec []byte, i int) bool {
	if len(f.key) <= 16 && len(rec)-i >= 16 {
		return (word(rec, i)^f.low)&f.lowMask|(word(rec, i+8)^f.high)&f.highMask == 0
	}
	return len(rec)-i >= len(f.key) && string(rec[i:i+len(f.key)]) == f.key
}

// Decode reads one record, a JSON object, into the row that was begun on w. An
// error is always a *format.Error.
func (d *Decoder) Decode(record []byte, w *stream.RowWriter) error {
	d.depth, d.spent = 1, 0
	i := d.object(record, space(record, 0), &d.record, w)
	if i >= 0 {
		if i = space(record, i); i < len(record) {
			i = d.fail(i, reasonMore)
		}
	}
	if max(cap(d.scratch), cap(d.binary), d.spent) > scratchBytesMax {
		d.dropBuffers()
	}
	if i < 0 {
		return d.err
	}
	return nil
}

func (d *Decoder) dropBuffers() {
	d.scratch, d.binary = nil, nil
	for _, n := range d.nests {
		n.dropBuffers()
	}
}

// object reads the object at i into a row and returns the index after it, or
// -1.
func (d *Decoder) object(rec []byte, i int, o *object, w *stream.RowWriter) int {
	o.number++
	o.missing = len(o.outputs)
	if i >= len(rec) || rec[i] != '{' {
		return d.failAt(rec, i, noObject(rec, i))
	}
	i = space(rec, i+1)
	if i < len(rec) && rec[i] == '}' {
		o.setMissing(w)
		return i + 1
	}
	for n := 0; ; n++ {
		var f *field
		start := i
		if n < len(o.order) && o.order[n].isAt(rec, i) {
			f = o.order[n]
			i += len(f.key)
			if i < len(rec) && rec[i] <= ' ' {
				i = space(rec, i)
			}
		} else if f, i = d.member(rec, i, o, n); i < 0 {
			return -1
		}
		if f.column >= 0 {
			if f.seen == o.number {
				return d.failIn(f, start, "the field is there twice")
			}
			f.seen = o.number
			o.missing--
		}
		if i = d.value(rec, i, f, w); i < 0 {
			return d.within(f.step)
		}
		if i < len(rec) && rec[i] <= ' ' {
			i = space(rec, i)
		}
		if i >= len(rec) {
			return d.fail(len(rec), reasonEnd)
		}
		c := rec[i]
		i++
		if c != ',' {
			if c == '}' {
				if o.missing > 0 {
					o.setMissing(w)
				}
				return i
			}
			return d.fail(i-1, reasonComma)
		}
		if i < len(rec) && rec[i] <= ' ' {
			i = space(rec, i)
		}
	}
}

// setMissing sets the columns to NULL whose fields were not there.
func (o *object) setMissing(w *stream.RowWriter) {
	for _, f := range o.outputs {
		if f.seen != o.number {
			w.SetNull(f.column)
		}
	}
}

// member reads a name that was not predicted, the n-th of the object, and
// returns its field and the place of its value.
func (d *Decoder) member(rec []byte, i int, o *object, n int) (*field, int) {
	end, value, escaped := d.name(rec, i)
	if value < 0 {
		return nil, -1
	}
	f := o.index[string(d.content(rec[i:end], escaped))]
	if f == nil {
		f = &d.unknown
	} else if n < len(o.order) {
		o.order[n] = f
	}
	return f, value
}

// content is what a quoted string says; a view into the record, or into the
// scratch buffer until the next call.
func (d *Decoder) content(quoted []byte, escaped bool) []byte {
	inner := quoted[1 : len(quoted)-1]
	if !escaped {
		return inner
	}
	d.scratch = unescape(d.scratch[:0], inner)
	return d.scratch
}

// failIn fails with the column's name.
func (d *Decoder) failIn(f *field, at int, reason string) int {
	d.fail(at, reason)
	return d.within(f.step)
}

// within puts a step before the path of the error, which grows from its end.
func (d *Decoder) within(step string) int {
	d.err.Column = step + d.err.Column
	return -1
}
