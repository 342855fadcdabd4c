package wasmstream

import (
	"unsafe"

	"github.com/wasmstream/wasmstream/guest-sdk/go/internal/raw"
)

// Values of variable width: up to 7 bytes are in the field's own 8 bytes (the last one is 0x80 | length), longer ones
// behind the fixed part, 8-aligned, and the field is offset << 32 | length. While a row is being written its new longer
// values are in the arena and their offsets, from the arena's start, are marked by pendingMark, which no offset in a
// frame reaches: so a row stays where it is while it is written, and a Row is but a pointer.
const (
	inlineMax   = 7
	inlineMark  = 1 << 63
	pendingMark = 1 << 62
	offsetMax   = 1<<30 - 1
)

// arena holds the longer values written in a call.
var arena []byte

// view finds the bytes of the field.
func view(r Row, c uint8, sqlType string) (unsafe.Pointer, int) {
	p := at(r, c, sqlType)
	v := *(*uint64)(p)
	switch {
	case v&inlineMark != 0:
		return p, int(v >> 56 & 0x7F)
	case v&pendingMark != 0:
		return unsafe.Pointer(&arena[v>>32&offsetMax]), int(uint32(v))
	}
	return unsafe.Add(r.base, uintptr(v>>32)), int(uint32(v))
}

// putBytes sets a field of variable width.
func putBytes(r Row, c uint8, sqlType string, v []byte) {
	if len(v) > inlineMax {
		offset := len(arena)
		if offset+len(v) > offsetMax {
			// The host drops all that this call does and comes again with less.
			guest.tooLarge = true
			return
		}
		arena = append(arena, v...)
		put(r, c, sqlType, pendingMark|uint64(offset)<<32|uint64(len(v)))
		return
	}
	n := uint64(0x80|len(v)) << 56
	for i, b := range v {
		n |= uint64(b) << (8 * i)
	}
	put(r, c, sqlType, n)
}

// appendRow appends a row that was written, in canonical form: longer values behind the fixed part in column order and
// without gaps. Rows are compared by their bytes, so a value must have one form however it came about.
func (s *schema) appendRow(out []byte, r Row) []byte {
	start := len(out)
	out = append(out, unsafe.Slice((*byte)(r.base), s.fixedBytes)...)
	for i, c := range s.columns {
		field := start + firstField + 8*i
		v := le.Uint64(out[field:])
		if !c.variable || v&inlineMark != 0 || uint32(v) == 0 {
			continue
		}
		p, n := view(r, uint8(i), c.sqlType)
		le.PutUint64(out[field:], uint64(len(out)-start)<<32|uint64(n))
		out = append(out, unsafe.Slice((*byte)(p), n)...)
		out = pad(out)
	}
	return out
}

// pad fills up to a multiple of 8.
func pad(b []byte) []byte {
	for len(b)%8 != 0 {
		b = append(b, 0)
	}
	return b
}

// variableSlot is an accumulator of variable width during a frame. Its buffer is kept from frame to frame.
type variableSlot struct {
	buffer         []byte
	loaded, edited bool
}

// variable returns a slot of variable width: a copy, taken when it is first asked for.
func (a *Aggregate) variable(f frame, slot uint32, edited bool) unsafe.Pointer {
	s := &a.slots[slot]
	if !s.loaded {
		entry := *(*uint64)(unsafe.Add(f.slots, uintptr(slot)*raw.SlotEntryBytes))
		s.buffer = append(s.buffer[:0], unsafe.Slice((*byte)(unsafe.Add(f.base, uint32(entry))), entry>>32)...)
		if entry>>32 == 0 {
			s.buffer = append(s.buffer, make([]byte, a.accumulator.fixedBytes)...)
		}
		s.loaded = true
	}
	s.edited = s.edited || edited
	return unsafe.Pointer(unsafe.SliceData(s.buffer))
}

// beginVariable forgets the accumulators of the frame before.
func (a *Aggregate) beginVariable(f frame) {
	for len(a.slots) < int(f.slotsCount) {
		a.slots = append(a.slots, variableSlot{})
	}
	for i := range a.slots {
		a.slots[i].loaded, a.slots[i].edited = false, false
	}
}

// endVariable answers the accumulators that were edited.
func (a *Aggregate) endVariable(f frame) {
	for i := range a.slots[:f.slotsCount] {
		if s := &a.slots[i]; s.edited {
			row := Row{base: unsafe.Pointer(unsafe.SliceData(s.buffer)), checks: allow(a.accumulator, false)}
			at := guest.beginEffect(raw.EffectSetSlot, f.count-1, uint32(i))
			guest.effects = a.accumulator.appendRow(guest.effects, row)
			guest.endEffect(at)
		}
	}
}
