package json

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"

	"github.com/wasmstream/wasmstream/host/format"
	"github.com/wasmstream/wasmstream/host/stream"
)

// Timestamps is how TIMESTAMP and TIMESTAMP_LTZ columns are written.
type Timestamps uint8

// The ways to write timestamps; the Decoder reads both.
const (
	// Text is "2001-02-16T17:55:00.000Z", with as many digits of fraction as the
	// type has.
	Text Timestamps = iota
	// Millis is an integer, milliseconds since the epoch. A value that is finer is
	// written as text, so that nothing is lost.
	Millis
)

// EncoderOptions are choices for NewEncoder; the zero value is what sinks use.
type EncoderOptions struct {
	Timestamps Timestamps
	// AppendOnly says that every row will be of kind +I: change kinds are then not
	// looked at, and a column may be called op.
	AppendOnly bool
}

// encoderColumn is a column with what stands before its value.
type encoderColumn struct {
	stream.Column
	op     op
	prefix string
	// The prefix as two words if it has at most 16 bytes.
	low, high uint64
	fields    []encoderColumn // of a ROW
	elem, key *encoderColumn  // of an ARRAY or MAP; moved from element to element
}

// appendPrefix writes what stands before the value.
func (c *encoderColumn) appendPrefix(dst []byte) []byte {
	if len(c.prefix) > 16 {
		return append(dst, c.prefix...)
	}
	end := len(dst) + len(c.prefix)
	dst = binary.LittleEndian.AppendUint64(dst, c.low)
	return binary.LittleEndian.AppendUint64(dst, c.high)[:end]
}

// Encoder writes rows of one schema; see the package for the form. It
// implements format.Encoder.
type Encoder struct {
	columns []encoderColumn
	options EncoderOptions
	day     int64    // the last date that was written
	date    [10]byte // as text
}

var _ format.Encoder = (*Encoder)(nil)

// NewEncoder makes an encoder for rows of the schema.
func NewEncoder(schema *stream.Schema, options EncoderOptions) (*Encoder, error) {
	if options.Timestamps > Millis {
		return nil, fmt.Errorf("json: there is no way %d to write timestamps", options.Timestamps)
	}
	for _, f := range schema.Fields() {
		if f.Name == "op" && !options.AppendOnly {
			return nil, fmt.Errorf("json: a column called \"op\" would be taken for the change kind that records of a changing stream begin with; it needs another name")
		}
		if err := checkType(f.Type); err != nil {
			return nil, fmt.Errorf("json: column %q: %w", f.Name, err)
		}
	}
	e := &Encoder{columns: encoderColumns(schema), options: options}
	copy(e.date[:], "1970-01-01") // of day 0
	return e, nil
}

func encoderColumns(s *stream.Schema) []encoderColumn {
	columns := make([]encoderColumn, s.Len())
	for i, f := range s.Fields() {
		before := ","
		if i == 0 {
			before = "{"
		}
		prefix := append(appendString([]byte(before), []byte(f.Name)), ':')
		c := newEncoderColumn(s.Column(i))
		c.prefix, c.low, c.high = string(prefix), wordOrTail(prefix, 0), wordOrTail(prefix, 8)
		columns[i] = c
	}
	return columns
}

// newEncoderColumn prepares to write a column's value, without what stands
// before it.
func newEncoderColumn(column stream.Column) encoderColumn {
	c := encoderColumn{Column: column, op: opOf(column.Type)}
	switch c.op {
	case opRow:
		c.fields = encoderColumns(stream.MustSchema(c.Type.Fields...))
	case opMap:
		key := newEncoderColumn(stream.Column{Type: *c.Type.Key})
		c.key = &key
		fallthrough
	case opArray:
		elem := newEncoderColumn(stream.Column{Type: *c.Type.Elem})
		c.elem = &elem
	}
	return c
}

// Append appends one JSON object for the row.
func (e *Encoder) Append(dst []byte, r stream.Row) []byte {
	if len(e.columns) == 0 {
		dst = append(dst, '{')
	}
	start := len(dst)
	dst = e.fields(dst, e.columns, r)
	if !e.options.AppendOnly && r.Change() != stream.Insert {
		dst = e.insertChange(dst, start, r.Change())
	}
	return append(dst, '}')
}

// fields writes the columns of a row; the first one's prefix opens the object,
// which the caller closes.
func (e *Encoder) fields(dst []byte, columns []encoderColumn, r stream.Row) []byte {
	for i := range columns {
		c := &columns[i]
		dst = c.appendPrefix(dst)
		if c.IsNull(r) {
			dst = append(dst, "null"...)
			continue
		}
		dst = e.value(dst, c, r)
	}
	return dst
}

// insertChange makes room for the change kind before the first column. Rows
// other than +I are few, so the others do not pay for them.
func (e *Encoder) insertChange(dst []byte, start int, kind stream.ChangeKind) []byte {
	if len(e.columns) == 0 {
		return append(append(append(dst, `"op":"`...), kind.String()...), '"')
	}
	const op = `{"op":"+I",`
	dst = append(dst, op[1:]...)
	copy(dst[start+len(op):], dst[start+1:])
	copy(dst[start:], op)
	copy(dst[start+len(`{"op":"`):], kind.String())
	return dst
}

func (e *Encoder) value(dst []byte, c *encoderColumn, r stream.Row) []byte {
	switch c.op {
	case opBoolean:
		return strconv.AppendBool(dst, c.Bool(r))
	case opInt:
		return appendInt(dst, int64(c.Int32(r)))
	case opBigInt:
		return appendInt(dst, c.Int64(r))
	case opFloat:
		return appendFloat(dst, float64(c.Float32(r)), 32)
	case opDouble:
		return appendFloat(dst, c.Float64(r), 64)
	case opDecimal:
		return appendDecimal(dst, smallDecimal(c.Int64(r)), c.Type.Scale)
	case opWideDecimal:
		return appendDecimal(dst, decimalOf(c.Bytes(r)), c.Type.Scale)
	case opString:
		return appendStringSlot(dst, c, r)
	case opBytes:
		dst = base64.StdEncoding.AppendEncode(append(dst, '"'), c.Bytes(r))
		return append(dst, '"')
	case opDate:
		dst = appendDate(append(dst, '"'), int(c.Int32(r)))
		return append(dst, '"')
	case opArray, opMap, opRow:
		return e.nested(dst, c, r)
	}
	ms, nanos := c.Timestamp(r)
	return e.timestamp(dst, ms, nanos, c.Type.Precision)
}

// nested writes an ARRAY, MAP or ROW.
func (e *Encoder) nested(dst []byte, c *encoderColumn, r stream.Row) []byte {
	switch c.op {
	case opRow:
		if len(c.fields) == 0 {
			dst = append(dst, '{')
		}
		return append(e.fields(dst, c.fields, stream.Row(c.Bytes(r))), '}')
	case opMap:
		m := stream.ViewMap(&c.Type, c.Bytes(r))
		dst = append(dst, '{')
		for i := range m.Len() {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = e.key(dst, c.key, &m.Keys, i)
			dst = e.element(append(dst, ':'), c.elem, &m.Values, i)
		}
		return append(dst, '}')
	}
	a := stream.ViewArray(c.Type.Elem, c.Bytes(r))
	dst = append(dst, '[')
	for i := range a.Len() {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = e.element(dst, c.elem, &a, i)
	}
	return append(dst, ']')
}

// element writes element i of an array.
func (e *Encoder) element(dst []byte, c *encoderColumn, a *stream.ArrayView, i int) []byte {
	a.Place(&c.Column, i)
	if c.IsNull(a.Row()) {
		return append(dst, "null"...)
	}
	return e.value(dst, c, a.Row())
}

// key writes a MAP's key. JSON has no name that is NULL; its place is taken by
// Flink's literal for it.
func (e *Encoder) key(dst []byte, c *encoderColumn, keys *stream.ArrayView, i int) []byte {
	keys.Place(&c.Column, i)
	if c.IsNull(keys.Row()) {
		return append(dst, `"null"`...)
	}
	return e.value(dst, c, keys.Row())
}

// appendStringSlot writes a STRING; one of at most 7 bytes with nothing to
// escape straight from its slot, whose last byte has the length.
func appendStringSlot(dst []byte, c *encoderColumn, r stream.Row) []byte {
	slot := c.Slot(r)
	n := slot >> 56 & 0x7f
	if slot>>63 == 0 || n > 7 {
		return appendString(dst, c.Bytes(r))
	}
	x := slot & (1<<(8*n) - 1)
	if stringStops(x|zeros<<(8*n)) != 0 {
		return appendString(dst, c.Bytes(r))
	}
	dst = append(dst, '"')
	return binary.LittleEndian.AppendUint64(dst, x|'"'<<(8*n))[:len(dst)+int(n)+1]
}

func smallDecimal(v int64) decimal {
	if v < 0 {
		return decimal{low: -uint64(v), negative: true}
	}
	return decimal{low: uint64(v)}
}

var (
	nan      = math.NaN()
	infinity = math.Inf(1)
)

// appendFloat writes the shortest number that reads back as v.
func appendFloat(dst []byte, v float64, size int) []byte {
	switch {
	case v != v:
		return append(dst, `"NaN"`...)
	case v > math.MaxFloat64:
		return append(dst, `"Infinity"`...)
	case v < -math.MaxFloat64:
		return append(dst, `"-Infinity"`...)
	}
	if a := math.Abs(v); a != 0 && (a < 1e-6 || a >= 1e21) {
		return strconv.AppendFloat(dst, v, 'e', -1, size)
	}
	return strconv.AppendFloat(dst, v, 'f', -1, size)
}

// timestamp writes a timestamp as the options say, or in the other way where
// that one cannot hold it.
func (e *Encoder) timestamp(dst []byte, ms int64, nanos int32, precision int) []byte {
	if e.options.Timestamps == Millis && nanos == 0 || ms < minMillis || ms > maxMillis {
		return appendInt(dst, ms)
	}
	day := int64(floorDiv(int(ms), dayMillis))
	if day != e.day {
		e.day = day
		appendDate(e.date[:0], int(day))
	}
	rest := uint(ms - day*dayMillis)
	n := len(dst)
	dst = append(dst, `"2001-02-16T17:55:00.000000000Z"`...)
	b := dst[n : n+21]
	copy(b[1:11], e.date[:])
	putTwo(b[12:], rest/3_600_000)
	putTwo(b[15:], rest/60_000%60)
	putTwo(b[18:], rest/1000%60)
	if precision == 0 {
		return append(dst[:n+20], `Z"`...)
	}
	fraction := rest%1000*1_000_000 + uint(nanos)
	for i := n + 29; i > n+20; i-- {
		dst[i] = '0' + byte(fraction%10)
		fraction /= 10
	}
	return append(dst[:n+21+precision], `Z"`...)
}

// putTwo writes a number below 100 as two digits.
func putTwo(b []byte, v uint) {
	b[0], b[1] = hundred[2*v], hundred[2*v+1]
}

// appendDate writes a date; a year outside 0000 to 9999 with a sign, as ISO
// 8601 does.
func appendDate(dst []byte, days int) []byte {
	year, month, day := dateOf(days)
	switch {
	case year < 0:
		dst, year = append(dst, '-'), -year
	case year > 9999:
		dst = append(dst, '+')
	}
	if year > 9999 {
		dst = strconv.AppendInt(dst, int64(year), 10)
	} else {
		dst = append(dst, hundred[year/100*2:year/100*2+2]...)
		dst = append(dst, hundred[year%100*2:year%100*2+2]...)
	}
	return append(dst, '-', hundred[2*month], hundred[2*month+1], '-', hundred[2*day], hundred[2*day+1])
}
