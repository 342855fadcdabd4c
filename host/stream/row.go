package stream

import (
	"encoding/binary"
	"math"
)

// Row is one record in Flink's BinaryRow layout (invariant R). Columns are read
// through the Column of its schema.
type Row []byte

// ChangeKind says what a row does to the table that its stream describes;
// Flink's RowKind.
type ChangeKind uint8

// The change kinds, with Flink's byte values.
const (
	Insert       ChangeKind = iota // +I
	UpdateBefore                   // -U
	UpdateAfter                    // +U
	Delete                         // -D
)

var changeNames = [...]string{"+I", "-U", "+U", "-D"}

// String is Flink's short name: +I, -U, +U or -D.
func (k ChangeKind) String() string { return changeNames[k&3] }

// ParseChangeKind reads +I, -U, +U or -D.
func ParseChangeKind(text string) (ChangeKind, bool) {
	for k, n := range changeNames {
		if n == text {
			return ChangeKind(k), true
		}
	}
	return Insert, false
}

// Change is the row's change kind.
func (r Row) Change() ChangeKind { return ChangeKind(r[0]) }

// SetChange sets the row's change kind.
func (r Row) SetChange(k ChangeKind) { r[0] = byte(k) }

// Column is a place in the rows of one schema. Names are bound to columns once,
// when a job is built; reading a value is a load at a fixed offset.
type Column struct {
	Name     string
	Type     Type
	Index    int
	offset   int
	nullByte int
	nullMask byte
	reserve  uint8 // bytes of the variable part that NULL keeps
}

// IsNull tells whether the value is NULL.
func (c *Column) IsNull(r Row) bool { return r[c.nullByte]&c.nullMask != 0 }

// SetNull makes the value NULL in place and zeroes its slot, as Flink does. The
// variable part of a value that had one stays behind unused, so only rows whose
// column is fixed in width can be compared by their bytes afterwards.
func (c *Column) SetNull(r Row) {
	r[c.nullByte] |= c.nullMask
	binary.LittleEndian.PutUint64(r[c.offset:], 0)
}

// Slot is the value's 8 bytes as they stand: the value itself where the type is
// fixed in width, else where to find it.
func (c *Column) Slot(r Row) uint64 { return binary.LittleEndian.Uint64(r[c.offset:]) }

// Int64 reads a BIGINT, a compact DECIMAL's unscaled value or a compact
// TIMESTAMP's milliseconds.
func (c *Column) Int64(r Row) int64 { return int64(binary.LittleEndian.Uint64(r[c.offset:])) }

// Int32 reads an INT or the days of a DATE.
func (c *Column) Int32(r Row) int32 { return int32(binary.LittleEndian.Uint32(r[c.offset:])) }

// Bool reads a BOOLEAN.
func (c *Column) Bool(r Row) bool { return r[c.offset] != 0 }

// Float32 reads a FLOAT.
func (c *Column) Float32(r Row) float32 {
	return math.Float32frombits(binary.LittleEndian.Uint32(r[c.offset:]))
}

// Float64 reads a DOUBLE.
func (c *Column) Float64(r Row) float64 {
	return math.Float64frombits(binary.LittleEndian.Uint64(r[c.offset:]))
}

// PutInt64 writes a value that Int64 reads, in place, and makes it not NULL.
func (c *Column) PutInt64(r Row, v int64) {
	r[c.nullByte] &^= c.nullMask
	binary.LittleEndian.PutUint64(r[c.offset:], uint64(v))
}

// PutInt32 writes a value that Int32 reads, in place, and makes it not NULL.
func (c *Column) PutInt32(r Row, v int32) {
	r[c.nullByte] &^= c.nullMask
	binary.LittleEndian.PutUint32(r[c.offset:], uint32(v))
}

// PutBool writes a BOOLEAN in place and makes it not NULL.
func (c *Column) PutBool(r Row, v bool) {
	r[c.nullByte] &^= c.nullMask
	r[c.offset] = 0
	if v {
		r[c.offset] = 1
	}
}

// PutFloat32 writes a FLOAT in place and makes it not NULL.
func (c *Column) PutFloat32(r Row, v float32) { c.PutInt32(r, int32(math.Float32bits(v))) }

// PutFloat64 writes a DOUBLE in place and makes it not NULL.
func (c *Column) PutFloat64(r Row, v float64) { c.PutInt64(r, int64(math.Float64bits(v))) }

// inlineMax is the longest STRING or BYTES that fits into its slot.
const inlineMax = 7

// Bytes reads a STRING, BYTES, the unscaled big-endian two's complement of a
// wide DECIMAL, or the bytes of an ARRAY, MAP or ROW, which ViewArray, ViewMap
// and Row open. The result is a view into r; NULL has none.
func (c *Column) Bytes(r Row) []byte {
	return variable(r, c.offset, c.Type.Kind)
}

// variable is the value that the slot at offset of a row or array stands for:
// bytes in the slot itself, or in the variable part. The result is a view.
func variable(b []byte, offset int, kind TypeKind) []byte {
	slot := binary.LittleEndian.Uint64(b[offset:])
	if slot>>63 != 0 && (kind == String || kind == Bytes) {
		n := int(slot >> 56 & 0x7f)
		return b[offset : offset+n : offset+n]
	}
	at, n := int(slot>>32), int(uint32(slot))
	return b[at : at+n : at+n]
}

// Timestamp reads a TIMESTAMP of any precision: milliseconds since the epoch
// and the nanoseconds within the millisecond.
func (c *Column) Timestamp(r Row) (ms int64, nanos int32) {
	return timestamp(r, c.offset, c.Type.Precision)
}

// timestamp reads the timestamp whose slot is at offset of a row or array.
func timestamp(b []byte, offset, precision int) (ms int64, nanos int32) {
	slot := binary.LittleEndian.Uint64(b[offset:])
	if precision <= TimestampCompactMax {
		return int64(slot), 0
	}
	return int64(binary.LittleEndian.Uint64(b[slot>>32:])), int32(uint32(slot))
}
