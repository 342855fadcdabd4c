package stream

import (
	"encoding/binary"
	"math"
)

// ArrayWriter lays out ARRAYs of one element type, one after the other, in a
// buffer of its own; RowWriter.SetNested copies the result into a row. Elements
// take their natural width (1, 4 or 8 bytes), so an ARRAY<INT> is half as long
// as a row of INTs. Between Begin and Bytes each element is set at most once,
// and one that is not set is zero and not NULL; elements are set from first to
// last if arrays are compared by their bytes.
type ArrayWriter struct {
	parts
	elem  Type
	width int // of an element, in bytes
	start int // of the elements, in bytes
}

// NewArrayWriter makes a writer for arrays whose elements have the type.
func NewArrayWriter(elem Type) *ArrayWriter {
	return &ArrayWriter{elem: elem, width: elem.elementBytes()}
}

// Begin starts an array of n elements; the bytes of the last one are lost.
func (w *ArrayWriter) Begin(n int) {
	w.start = arrayHeaderBytes(n)
	w.buf = extendZero(w.buf[:0], (w.start+n*w.width+7)&^7)
	binary.LittleEndian.PutUint32(w.buf, uint32(n))
}

// Bytes is the array as written so far; a view that the next call may change.
func (w *ArrayWriter) Bytes() []byte { return w.buf }

// arrayHeaderBytes is the length of the count and the null bits of n elements.
func arrayHeaderBytes(n int) int { return 4 + (n+31)/32*4 }

func (w *ArrayWriter) slot(i int) int { return w.start + i*w.width }

// SetNull sets element i to NULL. Unlike in a row, no type keeps room for it.
func (w *ArrayWriter) SetNull(i int) { w.buf[4+i/8] |= 1 << (i % 8) }

// SetInt64 sets a BIGINT, a compact DECIMAL's unscaled value, or a compact
// TIMESTAMP's milliseconds.
func (w *ArrayWriter) SetInt64(i int, v int64) {
	binary.LittleEndian.PutUint64(w.buf[w.slot(i):], uint64(v))
}

// SetInt32 sets an INT or the days of a DATE.
func (w *ArrayWriter) SetInt32(i int, v int32) {
	binary.LittleEndian.PutUint32(w.buf[w.slot(i):], uint32(v))
}

// SetBool sets a BOOLEAN.
func (w *ArrayWriter) SetBool(i int, v bool) {
	if v {
		w.buf[w.slot(i)] = 1
	}
}

// SetFloat32 sets a FLOAT; every NaN is the same one.
func (w *ArrayWriter) SetFloat32(i int, v float32) { w.SetInt32(i, int32(float32Bits(v))) }

// SetFloat64 sets a DOUBLE; every NaN is the same one.
func (w *ArrayWriter) SetFloat64(i int, v float64) { w.SetInt64(i, int64(float64Bits(v))) }

// SetBytes sets a STRING, whose bytes must be UTF-8, or BYTES.
func (w *ArrayWriter) SetBytes(i int, v []byte) { w.putBytes(w.slot(i), v) }

// SetTimestamp sets a TIMESTAMP, as RowWriter.SetTimestamp does.
func (w *ArrayWriter) SetTimestamp(i int, ms int64, nanos int32) {
	w.putTimestamp(w.slot(i), w.elem.reserves() > 0, ms, nanos)
}

// SetBigDecimal sets a DECIMAL of more than 18 digits, as
// RowWriter.SetBigDecimal does.
func (w *ArrayWriter) SetBigDecimal(i int, unscaled []byte) { w.putBigDecimal(w.slot(i), unscaled) }

// SetNested sets an ARRAY, MAP or ROW from its bytes, which it copies.
func (w *ArrayWriter) SetNested(i int, v []byte) { w.putVariable(w.slot(i), v) }

// ArrayBuilder lays out ARRAYs whose length shows only at their end. It takes
// elements from columns of rows; what AppendTo writes is what an ArrayWriter
// would have written that sets them from first to last.
type ArrayBuilder struct {
	width    int  // of an element, in bytes
	wide     bool // elements may point at the variable part
	n        int
	nulls    []byte
	slots    []byte
	variable []byte // slots count places in it from its beginning
}

// NewArrayBuilder makes a builder for arrays whose elements have the type.
func NewArrayBuilder(elem Type) *ArrayBuilder {
	return &ArrayBuilder{width: elem.elementBytes(), wide: !elem.IsFixedWidth()}
}

// Reset begins the next array.
func (b *ArrayBuilder) Reset() {
	b.n, b.nulls, b.slots, b.variable = 0, b.nulls[:0], b.slots[:0], b.variable[:0]
}

// Len is the number of elements, NULLs among them.
func (b *ArrayBuilder) Len() int { return b.n }

// Append adds the value of a column, whose type is that of the elements.
func (b *ArrayBuilder) Append(c *Column, r Row) {
	i := b.n
	b.n++
	if i%32 == 0 {
		b.nulls = append(b.nulls, 0, 0, 0, 0)
	}
	slot := c.Slot(r)
	if c.IsNull(r) {
		b.nulls[i/8] |= 1 << (i % 8)
		slot = 0 // unlike in a row, no type keeps room for it
	} else if b.wide && !isInline(c, slot) {
		b.variable, slot = copyVariable(b.variable, 0, r, c, slot)
	}
	switch b.width {
	case 1:
		b.slots = append(b.slots, byte(slot))
	case 4:
		b.slots = binary.LittleEndian.AppendUint32(b.slots, uint32(slot))
	default:
		b.slots = binary.LittleEndian.AppendUint64(b.slots, slot)
	}
}

// Bytes is element i, a STRING or BYTES; a view that the next call may change.
func (b *ArrayBuilder) Bytes(i int) []byte {
	slot := binary.LittleEndian.Uint64(b.slots[8*i:])
	if slot>>63 != 0 {
		return b.slots[8*i : 8*i+int(slot>>56&0x7f)]
	}
	at, n := int(slot>>32), int(uint32(slot))
	return b.variable[at : at+n]
}

// AppendTo appends the array to a buffer.
func (b *ArrayBuilder) AppendTo(buf []byte) []byte {
	base := len(buf)
	buf = binary.LittleEndian.AppendUint32(buf, uint32(b.n))
	buf = append(buf, b.nulls...)
	slots := len(buf)
	buf = append(buf, b.slots...)
	buf = append(buf, zeros[:-(len(buf)-base)&7]...)
	if b.wide {
		b.move(buf[slots:], uint64(len(buf)-base))
	}
	return append(buf, b.variable...)
}

// move makes slots count from the array's beginning, where the variable part
// is at distance by. Neither NULLs nor values within their slot point there.
func (b *ArrayBuilder) move(slots []byte, by uint64) {
	for i := range b.n {
		slot := binary.LittleEndian.Uint64(slots[8*i:])
		if slot>>63 == 0 && b.nulls[i/8]&(1<<(i%8)) == 0 {
			binary.LittleEndian.PutUint64(slots[8*i:], slot+by<<32)
		}
	}
}

// AppendMapOf appends a MAP to a buffer, as AppendMap does.
func AppendMapOf(buf []byte, keys, values *ArrayBuilder) []byte {
	base := len(buf)
	buf = keys.AppendTo(append(buf, 0, 0, 0, 0))
	binary.LittleEndian.PutUint32(buf[base:], uint32(len(buf)-base-4))
	return values.AppendTo(buf)
}

// AppendMap appends a MAP to a buffer: the array of its keys and that of its
// values, whose elements belong together by position. That keys differ is the
// caller's care.
func AppendMap(buf []byte, keys, values []byte) []byte {
	buf = binary.LittleEndian.AppendUint32(buf, uint32(len(keys)))
	buf = append(buf, keys...)
	return append(buf, values...)
}

// ArrayView reads an ARRAY. Its bytes are trusted: either this package wrote
// them or CheckRow passed the row that holds them.
type ArrayView struct {
	bytes []byte
	elem  *Type
	n     int
	width int
	start int
}

// ViewArray opens the bytes of an array whose elements have the type. No bytes,
// which is what a NULL column has, are an array without elements.
func ViewArray(elem *Type, b []byte) ArrayView {
	if len(b) == 0 {
		return ArrayView{elem: elem}
	}
	n := int(binary.LittleEndian.Uint32(b))
	return ArrayView{bytes: b, elem: elem, n: n, width: elem.elementBytes(), start: arrayHeaderBytes(n)}
}

// Len is the number of elements, NULLs among them.
func (a *ArrayView) Len() int { return a.n }

// Row is the array's bytes as what Place's columns read.
func (a *ArrayView) Row() Row { return Row(a.bytes) }

// Place makes c, a column of the elements' type, read element i of Row, so that
// what reads columns reads elements too.
func (a *ArrayView) Place(c *Column, i int) {
	c.offset, c.nullByte, c.nullMask = a.slot(i), 4+i/8, 1<<(i%8)
}

// IsNull tells whether element i is NULL.
func (a *ArrayView) IsNull(i int) bool { return a.bytes[4+i/8]&(1<<(i%8)) != 0 }

func (a *ArrayView) slot(i int) int { return a.start + i*a.width }

// Int64 reads a BIGINT, a compact DECIMAL's unscaled value or a compact
// TIMESTAMP's milliseconds.
func (a *ArrayView) Int64(i int) int64 {
	return int64(binary.LittleEndian.Uint64(a.bytes[a.slot(i):]))
}

// Int32 reads an INT or the days of a DATE.
func (a *ArrayView) Int32(i int) int32 {
	return int32(binary.LittleEndian.Uint32(a.bytes[a.slot(i):]))
}

// Bool reads a BOOLEAN.
func (a *ArrayView) Bool(i int) bool { return a.bytes[a.slot(i)] != 0 }

// Float32 reads a FLOAT.
func (a *ArrayView) Float32(i int) float32 { return math.Float32frombits(uint32(a.Int32(i))) }

// Float64 reads a DOUBLE.
func (a *ArrayView) Float64(i int) float64 { return math.Float64frombits(uint64(a.Int64(i))) }

// Bytes reads an element as Column.Bytes reads a column. The result is a view.
func (a *ArrayView) Bytes(i int) []byte { return variable(a.bytes, a.slot(i), a.elem.Kind) }

// Timestamp reads a TIMESTAMP of any precision: milliseconds since the epoch
// and the nanoseconds within the millisecond.
func (a *ArrayView) Timestamp(i int) (ms int64, nanos int32) {
	return timestamp(a.bytes, a.slot(i), a.elem.Precision)
}

// MapView reads a MAP: entry i is Keys' element i with Values' element i. Its
// bytes are trusted as an ArrayView's are.
type MapView struct {
	Keys, Values ArrayView
}

// ViewMap opens the bytes of a map of the type. No bytes are an empty map.
func ViewMap(t *Type, b []byte) MapView {
	if len(b) == 0 {
		return MapView{ViewArray(t.Key, nil), ViewArray(t.Elem, nil)}
	}
	end := 4 + int(binary.LittleEndian.Uint32(b))
	return MapView{ViewArray(t.Key, b[4:end:end]), ViewArray(t.Elem, b[end:])}
}

// Len is the number of entries.
func (m *MapView) Len() int { return m.Keys.n }
