package stream

import (
	"encoding/binary"
	"math"
)

// The one NaN of a FLOAT and of a DOUBLE: Java's. Rows are compared by their bytes, so
// NaNs of other bits would be other values.
const (
	NaN32 uint32 = 0x7fc00000
	NaN64 uint64 = 0x7ff8000000000000
)

// Checker does for the rows of one schema what CheckExact does, faster where no value
// is NULL and all are of a fixed width.
type Checker struct {
	schema *Schema
	masks  []uint64 // the bits that a column's slot may have; nil: only CheckExact can tell
	floats []Column
	wide   []Column
}

// NewChecker makes one.
func NewChecker(s *Schema) *Checker {
	k := &Checker{schema: s}
	simple := nullBytes(s.Len()) == 8
	for i, f := range s.fields {
		mask := uint64(math.MaxUint64)
		switch f.Type.Kind {
		case Boolean:
			mask = 1
		case Int, Date:
			mask = math.MaxUint32
		case Float:
			mask = math.MaxUint32
			k.floats = append(k.floats, s.columns[i])
		case Double:
			k.wide = append(k.wide, s.columns[i])
		case BigInt:
		default:
			simple = simple && f.Type.reserves() == 0 && (f.Type.Kind == Timestamp || f.Type.Kind == TimestampLTZ)
		}
		k.masks = append(k.masks, mask)
	}
	if !simple {
		k.masks = nil
	}
	return k
}

// Schema is that of the rows.
func (k *Checker) Schema() *Schema { return k.schema }

// Check is CheckExact.
func (k *Checker) Check(row []byte) error {
	if k.masks == nil || len(row) != 8+8*len(k.masks) || binary.LittleEndian.Uint64(row) != 0 {
		return CheckExact(k.schema, row)
	}
	for i, mask := range k.masks {
		if binary.LittleEndian.Uint64(row[8+8*i:])&^mask != 0 {
			return CheckExact(k.schema, row) // it has the words for it
		}
	}
	return nil
}

// SettleNaNs makes every NaN of a sound row the one that there is, but for those in
// nested values.
func (k *Checker) SettleNaNs(row Row) {
	for i := range k.wide {
		c := &k.wide[i]
		slot := row[c.offset : c.offset+8 : c.offset+8]
		if bits := binary.LittleEndian.Uint64(slot); bits&^(1<<63) > 0x7ff<<52 {
			binary.LittleEndian.PutUint64(slot, NaN64)
		}
	}
	for i := range k.floats {
		c := &k.floats[i]
		slot := row[c.offset : c.offset+4 : c.offset+4]
		if bits := binary.LittleEndian.Uint32(slot); bits&^(1<<31) > 0xff<<23 {
			binary.LittleEndian.PutUint32(slot, NaN32)
		}
	}
}
