package stream

import (
	"encoding/binary"
	"math/bits"
)

// Values of up to 128 bits in the room that wide columns reserve: a DECIMAL of
// more than 18 digits and a TIMESTAMP of more than 3 can be replaced in place,
// even where they were NULL, if a RowWriter laid the row out.

// ReplaceInt64 writes over a value that Int64 reads and that is not NULL. It
// spares PutInt64's way through the null bit, which is a chain of dependent
// loads and stores where columns of one row are written again and again.
func (c *Column) ReplaceInt64(r Row, v int64) {
	binary.LittleEndian.PutUint64(r[c.offset:], uint64(v))
}

// Int128 reads a DECIMAL's unscaled value, in the slot or wide, as two's
// complement.
func (c *Column) Int128(r Row) (hi int64, lo uint64) {
	slot := c.Slot(r)
	if c.reserve == 0 {
		return int64(slot) >> 63, slot
	}
	room := r[slot>>32:][:decimalRoom]
	hi, lo = int64(binary.BigEndian.Uint64(room)), binary.BigEndian.Uint64(room[8:])
	down := (decimalRoom - uint(uint32(slot))) * 8 // the value is at the left of its room
	if down >= 64 {
		return hi >> 63, uint64(hi >> (down - 64))
	}
	return hi >> down, uint64(hi)<<(64-down) | lo>>down
}

// PutInt128 writes the unscaled value of a DECIMAL of more than 18 digits in
// place, in its reserved room, and makes it not NULL.
func (c *Column) PutInt128(r Row, hi int64, lo uint64) {
	sign := uint64(hi >> 63)
	n := bits.Len64(lo ^ sign)
	if h := uint64(hi) ^ sign; h != 0 {
		n = 64 + bits.Len64(h)
	}
	n = n/8 + 1 // bytes, with a bit for the sign
	high, low := uint64(hi), lo
	if up := (decimalRoom - uint(n)) * 8; up >= 64 {
		high, low = low<<(up-64), 0
	} else {
		high, low = high<<up|low>>(64-up), low<<up
	}
	at := int(c.Slot(r) >> 32)
	room := r[at:][:decimalRoom]
	binary.BigEndian.PutUint64(room, high)
	binary.BigEndian.PutUint64(room[8:], low)
	c.PutInt64(r, int64(at<<32|n))
}

// PutTimestamp writes a TIMESTAMP of more than 3 digits in place, in its
// reserved room, and makes it not NULL.
func (c *Column) PutTimestamp(r Row, ms int64, nanos int32) {
	at := int(c.Slot(r) >> 32)
	binary.LittleEndian.PutUint64(r[at:], uint64(ms))
	c.PutInt64(r, int64(at<<32|int(nanos)))
}
