package stream

import (
	"encoding/binary"
	"math"
)

// RowWriter lays out rows of one schema, one after the other, at the end of a
// batch or of a buffer. It reuses its buffer; between Begin and End each column
// is set at most once, and one that is not set is zero and not NULL.
type RowWriter struct {
	columns []Column
	fixed   int
	buf     []byte
	base    int
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

// SetNull sets column i to NULL.
func (w *RowWriter) SetNull(i int) {
	c := &w.columns[i]
	w.buf[w.base+c.nullByte] |= c.nullMask
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

// SetFloat32 sets a FLOAT.
func (w *RowWriter) SetFloat32(i int, v float32) { w.SetInt32(i, int32(math.Float32bits(v))) }

// SetFloat64 sets a DOUBLE.
func (w *RowWriter) SetFloat64(i int, v float64) { w.SetInt64(i, int64(math.Float64bits(v))) }

// SetBytes sets a STRING or BYTES.
func (w *RowWriter) SetBytes(i int, v []byte) {
	if len(v) <= inlineMax {
		slot := w.buf[w.base+w.columns[i].offset:]
		copy(slot[:inlineMax], v)
		slot[inlineMax] = 0x80 | byte(len(v))
		return
	}
	w.setVariable(i, v)
}

// setVariable appends v, padded, to the variable part and points the slot at it.
func (w *RowWriter) setVariable(i int, v []byte) {
	at := len(w.buf) - w.base
	w.buf = append(w.buf, v...)
	if pad := -len(v) & 7; pad > 0 {
		w.buf = append(w.buf, zeros[:pad]...)
	}
	w.setOffset(i, at, len(v))
}

func (w *RowWriter) setOffset(i, at, size int) {
	w.SetInt64(i, int64(at)<<32|int64(size))
}

var zeros [16]byte

// SetTimestamp sets a TIMESTAMP of any precision from milliseconds since the
// epoch and the nanoseconds within the millisecond.
func (w *RowWriter) SetTimestamp(i int, ms int64, nanos int32) {
	if w.columns[i].Type.Precision <= TimestampCompactMax {
		w.SetInt64(i, ms)
		return
	}
	at := len(w.buf) - w.base
	w.buf = binary.LittleEndian.AppendUint64(w.buf, uint64(ms))
	w.setOffset(i, at, int(nanos))
}

// SetBigDecimal sets a DECIMAL of more than 18 digits from its unscaled value,
// at most 16 bytes of big-endian two's complement.
func (w *RowWriter) SetBigDecimal(i int, unscaled []byte) {
	at := len(w.buf) - w.base
	w.buf = append(w.buf, zeros[:]...)
	copy(w.buf[w.base+at:], unscaled)
	w.setOffset(i, at, len(unscaled))
}

// SetNested sets an ARRAY, MAP or ROW from its bytes.
func (w *RowWriter) SetNested(i int, v []byte) { w.setVariable(i, v) }
