package stream

import (
	"encoding/binary"
	"math"
	"unicode/utf8"
)

// The one NaN of a FLOAT and of a DOUBLE: Java's. Rows are compared by their bytes, so
// NaNs of other bits would be other values.
const (
	NaN32 uint32 = 0x7fc00000
	NaN64 uint64 = 0x7ff8000000000000
)

// Checker does for the rows of one schema what CheckExact does, faster where no value
// is NULL and none is of a type that is rarely seen.
type Checker struct {
	schema *Schema
	slots  []slotCheck // nil: only CheckExact can tell
	words  bool        // all slots are numbers of any 64 bits
	floats []Column
	wide   []Column
}

// slotCheck is what a column's slot may be: bits of a number, or a string.
type slotCheck struct {
	mask     uint64
	isString bool // STRING or BYTES
	isText   bool // STRING
}

// NewChecker makes one.
func NewChecker(s *Schema) *Checker {
	k := &Checker{schema: s}
	simple := nullBytes(s.Len()) == 8
	for i, f := range s.fields {
		c := slotCheck{mask: math.MaxUint64}
		switch f.Type.Kind {
		case Boolean:
			c.mask = 1
		case Int, Date:
			c.mask = math.MaxUint32
		case Float:
			c.mask = math.MaxUint32
			k.floats = append(k.floats, s.columns[i])
		case Double:
			k.wide = append(k.wide, s.columns[i])
		case BigInt:
		case String, Bytes:
			c.isString, c.isText = true, f.Type.Kind == String
		default:
			simple = simple && f.Type.reserves() == 0 && (f.Type.Kind == Timestamp || f.Type.Kind == TimestampLTZ)
		}
		k.slots = append(k.slots, c)
	}
	if !simple {
		k.slots = nil
	}
	k.words = simple
	for _, c := range k.slots {
		k.words = k.words && !c.isString && c.mask == math.MaxUint64
	}
	return k
}

// Schema is that of the rows.
func (k *Checker) Schema() *Schema { return k.schema }

// Check is CheckExact.
func (k *Checker) Check(row []byte) error {
	if k.isExact(row) {
		return nil
	}
	return CheckExact(k.schema, row) // it is slower, and has the words for it
}

// isExact tells of a row that it has that form; of others it may not be able to.
func (k *Checker) isExact(row []byte) bool {
	fixed := 8 + 8*len(k.slots)
	if k.slots == nil || len(row) < fixed || binary.LittleEndian.Uint64(row) != 0 {
		return false
	}
	if k.words {
		return len(row) == fixed
	}
	at := fixed // of the next long value
	for i := range k.slots {
		c := &k.slots[i]
		slot := binary.LittleEndian.Uint64(row[8+8*i:])
		switch {
		case !c.isString:
			if slot&^c.mask != 0 {
				return false
			}
		case slot>>63 != 0:
			if !c.isShort(slot) {
				return false
			}
		default:
			n := int(uint32(slot))
			room := (n + 7) &^ 7
			if n <= inlineMax || int(slot>>32) != at || room > len(row)-at {
				return false
			}
			if !isPadded(row[at:at+room], n) || c.isText && !isASCII(row[at:at+room]) && !utf8.Valid(row[at:at+n]) {
				return false
			}
			at += room
		}
	}
	return at == len(row)
}

// isPadded tells whether zeros follow the first n of some words' bytes, n being within the
// last.
func isPadded(words []byte, n int) bool {
	last := binary.LittleEndian.Uint64(words[len(words)-8:])
	return n%8 == 0 || last>>(8*(n%8)) == 0
}

// isASCII tells it of words, whose padding is zeros. It is UTF-8, and cheaper to see.
func isASCII(words []byte) bool {
	high := uint64(0)
	for ; len(words) >= 8; words = words[8:] {
		high |= binary.LittleEndian.Uint64(words)
	}
	return high&0x8080808080808080 == 0
}

// isShort tells of a slot that holds a string itself: up to seven bytes, zeros behind
// them, and their number.
func (c *slotCheck) isShort(slot uint64) bool {
	n := slot >> 56 & 0x7f
	if n > inlineMax {
		return false
	}
	value := slot &^ (0xff << 56)
	if value>>(8*n) != 0 {
		return false
	}
	if !c.isText || value&0x8080808080808080 == 0 {
		return true
	}
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], value)
	return utf8.Valid(b[:n])
}

// SettleNaNs makes every NaN of a sound row the one that there is, but for those in
// nested values.
func (k *Checker) SettleNaNs(row Row) {
	if len(k.wide)+len(k.floats) > 0 {
		k.settleNaNs(row)
	}
}

func (k *Checker) settleNaNs(row Row) {
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
