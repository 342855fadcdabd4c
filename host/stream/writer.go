package stream

import (
	"encoding/binary"
	"math"
)

// RowWriter lays out rows of one schema, one after the other, at the end of a
// batch or of a buffer. It reuses its buffer; between Begin and End each column
// is set at most once, and one that is not set is zero and not NULL. Variable
// parts stand in the order in which they were set: rows that are compared by
// their bytes, keys above all, are set from the first column to the last.
type RowWriter struct {
	parts
	columns []Column
	fixed   int
	batch   *Batch
}

// NewRowWriter makes a writer for rows of the schema.
func NewRowWriter(s *Schema) *RowWriter {
	return &RowWriter{columns: s.columns, fixed: s.FixedBytes()}
}

// Begin starts a row at the end of the batch.
func (w *RowWriter) Begin(b *Batch, kind ChangeKind) {
	w.batch = b
	w.BeginIn(b.data, kind)
}

// End finishes the row that Begin started, with its event time.
func (w *RowWriter) End(t EventTime) {
	w.batch.data = w.buf
	w.batch.added(t)
	w.batch = nil
}

// Row is the row as written so far; a view that the next call may change.
func (w *RowWriter) Row() Row { return Row(w.buf[w.base:]) }

// BeginIn starts a row at the end of a buffer, which Buffer gives back.
func (w *RowWriter) BeginIn(buf []byte, kind ChangeKind) {
	w.base = len(buf)
	w.buf = extendZero(buf, w.fixed)
	w.buf[w.base] = byte(kind)
}

// Buffer is the buffer of BeginIn with the row at its end.
func (w *RowWriter) Buffer() []byte { return w.buf }

// extendZero appends n zero bytes; n is small.
func extendZero(buf []byte, n int) []byte {
	l := len(buf)
	if cap(buf)-l >= n {
		buf = buf[:l+n]
		clear(buf[l:])
		return buf
	}
	return append(buf, make([]byte, n)...)
}

// SetNull sets column i to NULL. A DECIMAL of more than 18 digits and a
// TIMESTAMP of more than 3 keep their room in the variable part, as in Flink,
// where it lets a value be put there later.
func (w *RowWriter) SetNull(i int) {
	c := &w.columns[i]
	w.buf[w.base+c.nullByte] |= c.nullMask
	if c.reserve > 0 {
		w.reserve(w.base+c.offset, int(c.reserve), 0)
	}
}

// SetInt64 sets a BIGINT, a compact DECIMAL's unscaled value, or a compact
// TIMESTAMP's milliseconds.
func (w *RowWriter) SetInt64(i int, v int64) {
	binary.LittleEndian.PutUint64(w.buf[w.base+w.columns[i].offset:], uint64(v))
}

// SetInt32 sets an INT or the days of a DATE.
func (w *RowWriter) SetInt32(i int, v int32) {
	binary.LittleEndian.PutUint32(w.buf[w.base+w.columns[i].offset:], uint32(v))
}

// SetBool sets a BOOLEAN.
func (w *RowWriter) SetBool(i int, v bool) {
	if v {
		w.buf[w.base+w.columns[i].offset] = 1
	}
}

// SetFloat32 sets a FLOAT; every NaN is the same one.
func (w *RowWriter) SetFloat32(i int, v float32) { w.SetInt32(i, int32(float32Bits(v))) }

// SetFloat64 sets a DOUBLE; every NaN is the same one.
func (w *RowWriter) SetFloat64(i int, v float64) { w.SetInt64(i, int64(float64Bits(v))) }

func float32Bits(v float32) uint32 {
	if v != v {
		return NaN32
	}
	return math.Float32bits(v)
}

func float64Bits(v float64) uint64 {
	if v != v {
		return NaN64
	}
	return math.Float64bits(v)
}

// SetBytes sets a STRING, whose bytes must be UTF-8, or BYTES.
func (w *RowWriter) SetBytes(i int, v []byte) { w.putBytes(w.base+w.columns[i].offset, v) }

// SetTimestamp sets a TIMESTAMP of any precision from milliseconds since the
// epoch and the nanoseconds within the millisecond, 0 to 999,999. A precision
// of up to 3 keeps the milliseconds alone.
func (w *RowWriter) SetTimestamp(i int, ms int64, nanos int32) {
	c := &w.columns[i]
	w.putTimestamp(w.base+c.offset, c.reserve > 0, ms, nanos)
}

// SetBigDecimal sets a DECIMAL of more than 18 digits from its unscaled value,
// at most 16 bytes of big-endian two's complement; it panics if there are more.
func (w *RowWriter) SetBigDecimal(i int, unscaled []byte) {
	w.putBigDecimal(w.base+w.columns[i].offset, unscaled)
}

// SetNested sets an ARRAY, MAP or ROW from its bytes, which it copies.
func (w *RowWriter) SetNested(i int, v []byte) { w.putVariable(w.base+w.columns[i].offset, v) }

// parts writes what rows and arrays have in common: slots whose values may
// stand in the variable part, at offsets counted from base. A slot is given by
// its place in buf.
type parts struct {
	buf  []byte
	base int
}

func (p *parts) putBytes(slot int, v []byte) {
	if len(v) <= inlineMax {
		s := p.buf[slot : slot+8]
		copy(s[:inlineMax], v)
		s[inlineMax] = 0x80 | byte(len(v))
		return
	}
	p.putVariable(slot, v)
}

// putVariable appends v, padded, to the variable part and points the slot at it.
func (p *parts) putVariable(slot int, v []byte) {
	at := len(p.buf) - p.base
	p.buf = append(p.buf, v...)
	if pad := -len(v) & 7; pad > 0 {
		p.buf = append(p.buf, zeros[:pad]...)
	}
	p.point(slot, at, len(v))
}

// reserve appends room zero bytes and points the slot at them.
func (p *parts) reserve(slot, room, size int) []byte {
	at := len(p.buf)
	p.buf = append(p.buf, zeros[:room]...)
	p.point(slot, at-p.base, size)
	return p.buf[at:]
}

func (p *parts) putTimestamp(slot int, wide bool, ms int64, nanos int32) {
	if !wide {
		binary.LittleEndian.PutUint64(p.buf[slot:], uint64(ms))
		return
	}
	binary.LittleEndian.PutUint64(p.reserve(slot, timestampRoom, int(nanos)), uint64(ms))
}

// putBigDecimal leaves out leading bytes that only repeat the sign, as Java's
// BigInteger does: equal values must have equal bytes.
func (p *parts) putBigDecimal(slot int, unscaled []byte) {
	for len(unscaled) > 1 && repeatsSign(unscaled) {
		unscaled = unscaled[1:]
	}
	if len(unscaled) > decimalRoom {
		panic("stream: the unscaled value of a DECIMAL has more than 16 bytes") // a mistake in the program
	}
	room := p.reserve(slot, decimalRoom, max(1, len(unscaled))) // nothing is 0, one byte
	copy(room, unscaled)
}

// repeatsSign tells whether big-endian two's complement means the same without
// its first byte.
func repeatsSign(b []byte) bool {
	return b[0] == 0 && b[1] < 0x80 || b[0] == 0xff && b[1] >= 0x80
}

func (p *parts) point(slot, at, size int) {
	binary.LittleEndian.PutUint64(p.buf[slot:], uint64(at)<<32|uint64(size))
}

var zeros [16]byte
