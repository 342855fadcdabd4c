package stream

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"unicode/utf8"
)

// CheckRow tells whether hostile bytes are a row of the schema, so that every
// reader of this package may trust them. Beyond bounds it holds a row to what
// Flink's writers produce, since rows and what is nested in them are compared by
// their bytes: unused bytes of slots, NULLs and padding are zero, short strings
// stand in their slots, strings are UTF-8, decimals have no more digits than
// their type and no bytes that only repeat the sign.
//
// Not asked for: the order of variable parts and that every byte of them is
// used (a value replaced in place leaves its old bytes behind), distinct keys of
// a MAP, and digits of a TIMESTAMP beyond its precision. All values together
// claim no more bytes than the variable part has, so that neither this check nor
// a reader has more work than the row's length times the depth of its type. The
// error names the column, and the place in it; a row that passes costs no
// allocation.
func CheckRow(s *Schema, row []byte) error {
	return checkRow(s.fields, row, "column")
}

// region is the row or array that is being checked.
type region struct {
	bytes []byte
	fixed int // where its variable part begins
	free  int // bytes of the variable part that no value has claimed yet
}

// checkRow checks a row or a nested one; what is the word for its fields.
func checkRow(fields []Field, b []byte, what string) error {
	nulls := nullBytes(len(fields))
	g := region{bytes: b, fixed: nulls + 8*len(fields)}
	if len(b)%8 != 0 || len(b) < g.fixed || len(b) > math.MaxInt32 {
		return fmt.Errorf("a row of %d bytes: it must have at least %d and a multiple of 8", len(b), g.fixed)
	}
	g.free = len(b) - g.fixed
	if b[0] > byte(Delete) {
		return fmt.Errorf("there is no change kind %d", b[0])
	}
	used := len(fields) + 8 - 8*(nulls-8) // bits of the last word of null bits
	if binary.LittleEndian.Uint64(b[nulls-8:])>>used != 0 {
		return errors.New("null bits are set beyond the last field")
	}
	for i := range fields {
		isNull := b[(i+8)/8]>>((i+8)%8)&1 != 0
		if err := g.checkSlot(&fields[i].Type, nulls+8*i, 8, isNull); err != nil {
			return fmt.Errorf("%s %q: %w", what, fields[i].Name, err)
		}
	}
	return nil
}

func checkArray(elem *Type, b []byte) error {
	if len(b)%8 != 0 || len(b) < 8 {
		return fmt.Errorf("an array of %d bytes: it must have at least 8 and a multiple of 8", len(b))
	}
	count, width := binary.LittleEndian.Uint32(b), elem.elementBytes()
	if uint64(count)*uint64(width) > uint64(len(b)) {
		return fmt.Errorf("%d elements do not fit into %d bytes", count, len(b))
	}
	n := int(count)
	start := arrayHeaderBytes(n)
	end := start + n*width
	g := region{bytes: b, fixed: (end + 7) &^ 7}
	if g.fixed > len(b) {
		return fmt.Errorf("%d elements do not fit into %d bytes", n, len(b))
	}
	g.free = len(b) - g.fixed
	if n%32 != 0 && binary.LittleEndian.Uint32(b[start-4:])>>(n%32) != 0 {
		return errors.New("null bits are set beyond the last element")
	}
	if !isZero(b[end:g.fixed]) {
		return errors.New("the padding behind the elements is not zero")
	}
	for i := range n {
		isNull := b[4+i/8]>>(i%8)&1 != 0
		if err := g.checkSlot(elem, start+i*width, width, isNull); err != nil {
			return fmt.Errorf("element %d: %w", i, err)
		}
	}
	return nil
}

func checkMap(t *Type, b []byte) error {
	if len(b) < 4 {
		return fmt.Errorf("a map of %d bytes has no length of its keys", len(b))
	}
	size := binary.LittleEndian.Uint32(b)
	if uint64(size) > uint64(len(b)-4) {
		return fmt.Errorf("keys of %d bytes in a map of %d", size, len(b))
	}
	keys, values := b[4:4+size], b[4+size:]
	if err := checkArray(t.Key, keys); err != nil {
		return fmt.Errorf("keys: %w", err)
	}
	if err := checkArray(t.Elem, values); err != nil {
		return fmt.Errorf("values: %w", err)
	}
	if nk, nv := binary.LittleEndian.Uint32(keys), binary.LittleEndian.Uint32(values); nk != nv {
		return fmt.Errorf("%d keys but %d values", nk, nv)
	}
	return nil
}

// checkSlot checks the value whose slot of width bytes is at offset at.
func (g *region) checkSlot(t *Type, at, width int, isNull bool) error {
	slot := g.bytes[at : at+width]
	if isNull {
		return g.checkNull(t, slot)
	}
	switch t.Kind {
	case Boolean:
		if slot[0] > 1 || !isZero(slot[1:]) {
			return fmt.Errorf("a BOOLEAN is 0 or 1, not %#x", slot)
		}
	case Int, Date, Float:
		if !isZero(slot[4:]) {
			return errors.New("the unused bytes of its slot are not zero")
		}
	case BigInt, Double:
	default:
		return g.checkWord(t, binary.LittleEndian.Uint64(slot), slot)
	}
	return nil
}

// checkWord checks a value whose slot is a word or points to the variable part.
func (g *region) checkWord(t *Type, word uint64, slot []byte) error {
	switch t.Kind {
	case Decimal:
		return g.checkDecimal(t, word)
	case String, Bytes:
		return g.checkString(t.Kind, word, slot)
	case Timestamp, TimestampLTZ:
		if t.reserves() == 0 {
			return nil
		}
		if uint32(word) >= 1_000_000 {
			return fmt.Errorf("%d nanoseconds in a millisecond", uint32(word))
		}
		_, err := g.claim(word, timestampRoom, timestampRoom)
		return err
	}
	b, err := g.claim(word, uint64(uint32(word)), (uint64(uint32(word))+7)&^7)
	if err != nil {
		return err
	}
	switch t.Kind {
	case Array:
		return checkArray(t.Elem, b)
	case Map:
		return checkMap(t, b)
	}
	return checkRow(t.Fields, b, "field")
}

// checkNull accepts a zero slot, and the room that Flink's BinaryRowWriter
// keeps for a wide value.
func (g *region) checkNull(t *Type, slot []byte) error {
	if isZero(slot) {
		return nil
	}
	room := t.reserves()
	if room == 0 {
		return errors.New("it is NULL but its slot is not zero")
	}
	word := binary.LittleEndian.Uint64(slot)
	if uint32(word) != 0 {
		return fmt.Errorf("it is NULL but its slot says %d", uint32(word))
	}
	_, err := g.claim(word, 0, uint64(room))
	return err
}

// claim takes room bytes of the variable part, which begin at the upper half of
// a slot, for a value of size bytes. What the value leaves of the room must be
// zero.
func (g *region) claim(word, size, room uint64) ([]byte, error) {
	at := word >> 32
	if at%8 != 0 || at < uint64(g.fixed) || at+room > uint64(len(g.bytes)) {
		return nil, fmt.Errorf("%d bytes at offset %d are not within its variable part, %d to %d", room, at, g.fixed, len(g.bytes))
	}
	if room > uint64(g.free) {
		return nil, fmt.Errorf("values claim more than the %d bytes of the variable part", len(g.bytes)-g.fixed)
	}
	g.free -= int(room)
	if !isZero(g.bytes[at+size : at+room]) {
		return nil, errors.New("the padding behind its bytes is not zero")
	}
	return g.bytes[at : at+size], nil
}

func (g *region) checkString(kind TypeKind, word uint64, slot []byte) error {
	var b []byte
	if word>>63 != 0 {
		n := int(word >> 56 & 0x7f)
		if n > inlineMax {
			return fmt.Errorf("%d bytes are said to be in a slot", n)
		}
		if b = slot[:n]; !isZero(slot[n:inlineMax]) {
			return errors.New("the unused bytes of its slot are not zero")
		}
	} else {
		n := uint64(uint32(word))
		if n <= inlineMax {
			return fmt.Errorf("%d bytes must be in the slot", n)
		}
		var err error
		if b, err = g.claim(word, n, (n+7)&^7); err != nil {
			return err
		}
	}
	if kind == String && !utf8.Valid(b) {
		return errors.New("a STRING is not UTF-8")
	}
	return nil
}

func (g *region) checkDecimal(t *Type, word uint64) error {
	magnitude := uint128{lo: word}
	if t.reserves() == 0 {
		if int64(word) < 0 {
			magnitude.lo = -word
		}
	} else {
		size := uint64(uint32(word))
		if size == 0 || size > decimalRoom {
			return fmt.Errorf("a %s of %d bytes", t, size)
		}
		b, err := g.claim(word, size, decimalRoom)
		if err != nil {
			return err
		}
		if len(b) > 1 && repeatsSign(b) {
			return errors.New("its first byte only repeats the sign")
		}
		magnitude = magnitudeOf(b)
	}
	if !magnitude.less(powersOfTen[t.Precision]) {
		return fmt.Errorf("it has more digits than %s", t)
	}
	return nil
}

type uint128 struct{ hi, lo uint64 }

func (a uint128) less(b uint128) bool { return a.hi < b.hi || a.hi == b.hi && a.lo < b.lo }

// magnitudeOf is the absolute value of big-endian two's complement of 1 to 16
// bytes.
func magnitudeOf(b []byte) uint128 {
	var v uint128
	if b[0] >= 0x80 {
		v = uint128{math.MaxUint64, math.MaxUint64}
	}
	for _, c := range b {
		v.hi = v.hi<<8 | v.lo>>56
		v.lo = v.lo<<8 | uint64(c)
	}
	if b[0] < 0x80 {
		return v
	}
	lo, borrow := bits.Sub64(0, v.lo, 0)
	hi, _ := bits.Sub64(0, v.hi, borrow)
	return uint128{hi, lo}
}

// powersOfTen has the first number that has too many digits, by precision.
var powersOfTen = func() (powers [DecimalPrecisionMax + 1]uint128) {
	powers[0].lo = 1
	for p, v := range powers[:DecimalPrecisionMax] {
		hi, lo := bits.Mul64(v.lo, 10)
		powers[p+1] = uint128{v.hi*10 + hi, lo}
	}
	return powers
}()

func isZero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}
