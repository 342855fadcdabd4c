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
)

// opOf is the op for a type, false for one that JSON cannot carry yet.
func opOf(t stream.Type) (op, bool) {
	switch t.Kind {
	case stream.Boolean:
		return opBoolean, true
	case stream.Int:
		return opInt, true
	case stream.BigInt:
		return opBigInt, true
	case stream.Float:
		return opFloat, true
	case stream.Double:
		return opDouble, true
	case stream.Decimal:
		if t.Precision > stream.DecimalCompactPrecisionMax {
			return opWideDecimal, true
		}
		return opDecimal, true
	case stream.String:
		return opString, true
	case stream.Bytes:
		return opBytes, true
	case stream.Date:
		return opDate, true
	case stream.Timestamp:
		return opTimestamp, true
	case stream.TimestampLTZ:
		return opTimestampLTZ, true
	}
	return opSkip, false
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

	name string
	typ  stream.Type
}

// Decoder reads records of one schema; see the package for what it accepts. It
// implements format.Decoder.
type Decoder struct {
	scanner
	clock   dayCache
	fields  []field // the declared columns
	outputs []*field
	index   map[string]*field
	unknown field // stands for every name that is not declared
	// order has the field that the previous record had at each place (P).
	order   []*field
	record  uint64 // the number of this record
	missing int    // output columns that this record has not had yet
	scratch []byte // a string without its escapes
	binary  []byte // what was base64
}

var _ format.Decoder = (*Decoder)(nil)

// scratchBytesMax is the longest buffer that is kept for the next record.
const scratchBytesMax = 1 << 20

// NewDecoder makes a decoder for records with the declared columns. It fills
// rows of the output schema: the declared columns that anyone uses, in any order.
func NewDecoder(declared, output *stream.Schema) (*Decoder, error) {
	d := &Decoder{
		fields:  make([]field, declared.Len()),
		outputs: make([]*field, output.Len()),
		index:   make(map[string]*field, declared.Len()),
		order:   make([]*field, declared.Len()),
		unknown: field{column: -1},
	}
	for i, f := range declared.Fields() {
		d.fields[i] = field{column: -1, name: f.Name, typ: f.Type}
		d.fields[i].setKey()
		d.index[f.Name] = &d.fields[i]
		d.order[i] = &d.fields[i]
	}
	for i, f := range output.Fields() {
		to := d.index[f.Name]
		if to == nil {
			return nil, fmt.Errorf("json: column %q is not among those declared: %s", f.Name, declared)
		}
		if !to.typ.Equal(f.Type) {
			return nil, fmt.Errorf("json: column %q is declared as %s, not %s", f.Name, to.typ, f.Type)
		}
		op, ok := opOf(f.Type)
		if !ok {
			return nil, fmt.Errorf("json: column %q: a value of type %s cannot be read from JSON yet", f.Name, f.Type)
		}
		to.op, to.column = op, i
		to.millis = (op == opTimestamp || op == opTimestampLTZ) && f.Type.Precision == stream.TimestampCompactMax
		d.outputs[i] = to
	}
	return d, nil
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
	d.record++
	d.missing = len(d.outputs)
	i := d.object(record, w)
	if i >= 0 {
		if i = space(record, i); i < len(record) {
			i = d.fail(i, reasonMore)
		}
	}
	if max(cap(d.scratch), cap(d.binary)) > scratchBytesMax {
		d.scratch, d.binary = nil, nil
	}
	if i < 0 {
		return d.err
	}
	if d.missing > 0 {
		for _, f := range d.outputs {
			if f.seen != d.record {
				w.SetNull(f.column)
			}
		}
	}
	return nil
}

// object reads the record's object and returns the index after it, or -1.
func (d *Decoder) object(rec []byte, w *stream.RowWriter) int {
	i := space(rec, 0)
	if i == len(rec) || rec[i] != '{' {
		return d.failAt(rec, i, reasonObject)
	}
	i = space(rec, i+1)
	if i < len(rec) && rec[i] == '}' {
		return i + 1
	}
	for n := 0; ; n++ {
		var f *field
		start := i
		if n < len(d.order) && d.order[n].isAt(rec, i) {
			f = d.order[n]
			i += len(f.key)
			if i < len(rec) && rec[i] <= ' ' {
				i = space(rec, i)
			}
		} else if f, i = d.member(rec, i, n); i < 0 {
			return -1
		}
		if f.column >= 0 {
			if f.seen == d.record {
				return d.failIn(f, start, "the field is there twice")
			}
			f.seen = d.record
			d.missing--
		}
		if i = d.value(rec, i, f, w); i < 0 {
			d.err.Column = f.name
			return -1
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
				return i
			}
			return d.fail(i-1, reasonComma)
		}
		if i < len(rec) && rec[i] <= ' ' {
			i = space(rec, i)
		}
	}
}

// member reads a name that was not predicted, the n-th of the record, and
// returns its field and the place of its value.
func (d *Decoder) member(rec []byte, i, n int) (*field, int) {
	if i >= len(rec) || rec[i] != '"' {
		return nil, d.failAt(rec, i, reasonName)
	}
	end, escaped := d.text(rec, i+1)
	if end < 0 {
		return nil, -1
	}
	f := d.index[string(d.content(rec[i:end], escaped))]
	if f == nil {
		f = &d.unknown
	} else if n < len(d.order) {
		d.order[n] = f
	}
	if i = space(rec, end); i >= len(rec) || rec[i] != ':' {
		return nil, d.failAt(rec, i, reasonColon)
	}
	return f, space(rec, i+1)
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
	d.err.Column = f.name
	return -1
}
