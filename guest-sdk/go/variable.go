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
	return viewOf(r, *(*uint64)(p), p)
}

// viewOf finds the bytes of a field of that value at that place.
func viewOf(r Row, v uint64, at unsafe.Pointer) (unsafe.Pointer, int) {
	switch {
	case v&inlineMark != 0:
		return at, int(v >> 56 & 0x7F)
	case v&pendingMark != 0:
		return unsafe.Pointer(&arena[v>>32&offsetMax]), int(uint32(v))
	}
	return unsafe.Add(r.base, uintptr(v>>32)), int(uint32(v))
}

// putBytes sets a field of variable width.
func putBytes(r Row, c uint8, sqlType string, v []byte) {
	if raw.Checked {
		r.check(c, sqlType, true)
	}
	if bits, ok := textBits(r, int(c), unsafe.Add(r.base, firstField+8*uintptr(c)), v); ok {
		put(r, c, sqlType, bits)
	}
}

// textBits are a value's bits in a row that is being written, for the column at a place; false if the call has no room for
// more.
func textBits(r Row, c int, at unsafe.Pointer, v []byte) (uint64, bool) {
	replaceText(r, at)
	if len(v) > inlineMax {
		return longBits(r, c, v)
	}
	return inlineBits(v), true
}

// inlineBits are those of a value of up to 7 bytes: by loads that overlap, since a loop costs more than all the rest.
func inlineBits(v []byte) uint64 {
	n, p := len(v), unsafe.Pointer(unsafe.SliceData(v))
	bits := uint64(0x80|n) << 56
	switch {
	case n >= 4:
		first, last := *(*uint32)(p), *(*uint32)(unsafe.Add(p, n-4))
		bits |= uint64(first) | uint64(last)<<(8*(n-4))
	case n > 0:
		bits |= uint64(v[0]) | uint64(v[n>>1])<<(8*(n>>1)) | uint64(v[n-1])<<(8*(n-1))
	}
	return bits
}

// copyText sets a field of variable width to that of another row.
func copyText(to Row, c uint8, from Row, of uint8, sqlType string) {
	if raw.Checked {
		from.check(of, sqlType, false)
		to.check(c, sqlType, true)
	}
	source, target := unsafe.Add(from.base, firstField+8*uintptr(of)), unsafe.Add(to.base, firstField+8*uintptr(c))
	// A short value is no null, and as good in one row as in another.
	if v := *(*uint64)(source); v&inlineMark != 0 {
		if *(*uint64)(target) != 0 {
			replaceText(to, target)
		}
		*(*byte)(unsafe.Add(to.base, uintptr(c/8+1))) &^= 1 << (c % 8)
		*(*uint64)(target) = v
		return
	}
	// A longer one, which in a row that is not being written is padded with zeros: by words, since to call what copies bytes
	// costs more than all the rest.
	m, v, end := &guest, *(*uint64)(source), 0
	if v != 0 && v < pendingMark && *(*uint64)(target) == 0 && to.base == m.open.base && int(c) >= m.open.next {
		end = m.used + pad8(int(uint32(v)))
	}
	if end > 0 && end <= len(m.effects) {
		out, in := unsafe.Add(unsafe.Pointer(unsafe.SliceData(m.effects)), m.used), unsafe.Add(from.base, uintptr(v>>32))
		*(*uint64)(target) = uint64(m.used-m.open.at)<<32 | uint64(uint32(v))
		*(*byte)(unsafe.Add(to.base, uintptr(c/8+1))) &^= 1 << (c % 8)
		for left := end - m.used; left > 0; left -= 8 {
			*(*uint64)(out) = *(*uint64)(in)
			out, in = unsafe.Add(out, 8), unsafe.Add(in, 8)
		}
		m.used, m.open.next = end, int(c)+1
		return
	}
	if isNull(from, of, sqlType) {
		replaceText(to, target)
		setNull(to, c, sqlType)
		return
	}
	p, n := view(from, of, sqlType)
	putBytes(to, c, sqlType, unsafe.Slice((*byte)(p), n))
}

// replaceText notes that a longer value behind the open row is not needed any more.
func replaceText(r Row, at unsafe.Pointer) {
	if old := *(*uint64)(at); old != 0 && old&inlineMark == 0 && r.base == guest.open.base {
		guest.open.mixed = true
	}
}

func longBits(r Row, c int, v []byte) (uint64, bool) {
	m := &guest
	if r.base == m.open.base {
		// Without room the buffer would move, and the row with it.
		if end := m.used + pad8(len(v)); c >= m.open.next && end <= len(m.effects) {
			offset := m.used - m.open.at
			copy(m.effects[m.used:], v)
			m.used, m.open.next = end, c+1
			return uint64(offset)<<32 | uint64(len(v)), true
		}
		m.open.mixed = true
	}
	offset := len(arena)
	if offset+len(v) > offsetMax {
		// The host drops all that this call does and comes again with less.
		m.tooLarge = true
		return 0, false
	}
	arena = append(arena, v...)
	return pendingMark | uint64(offset)<<32 | uint64(len(v)), true
}

// variableSlot is a slot that is answered by an effect, during a frame. Its buffer is kept from frame to frame.
type variableSlot struct {
	buffer []byte
	state  slotState
}

// slotState is what became of a slot in a frame.
type slotState uint8

const (
	slotInFrame slotState = iota // as the host gave it
	slotEdited                   // in the buffer
	slotCleared                  // it holds no value
)

// beginSlots forgets the slots of the frame before.
func (m *machine) beginSlots(f *frame) {
	for len(m.slots) < int(f.slotsCount) {
		m.slots = append(m.slots, variableSlot{})
	}
	for i := range m.slots[:f.slotsCount] {
		m.slots[i].state = slotInFrame
	}
}

// slotRow is what a slot holds now; nil if it holds no value.
func (m *machine) slotRow(f *frame, slot uint32) unsafe.Pointer {
	v := &m.slots[slot]
	switch v.state {
	case slotEdited:
		return unsafe.Pointer(unsafe.SliceData(v.buffer))
	case slotCleared:
		return nil
	}
	entry := *(*uint64)(unsafe.Add(f.slots, uintptr(slot)*raw.SlotEntryBytes))
	if entry>>32 == 0 {
		return nil
	}
	return unsafe.Add(f.base, uint32(entry))
}

// editSlot makes a slot's row one that can be written: a copy, zeroed if it held no value.
func (m *machine) editSlot(f *frame, slot uint32, s *schema) unsafe.Pointer {
	v := &m.slots[slot]
	if v.state != slotEdited {
		var old []byte
		if entry := *(*uint64)(unsafe.Add(f.slots, uintptr(slot)*raw.SlotEntryBytes)); v.state == slotInFrame {
			old = unsafe.Slice((*byte)(unsafe.Add(f.base, uint32(entry))), entry>>32)
		}
		v.buffer = append(v.buffer[:0], old...)
		for len(v.buffer) < s.fixedBytes {
			v.buffer = append(v.buffer, 0)
		}
		v.state = slotEdited
	}
	return unsafe.Pointer(unsafe.SliceData(v.buffer))
}

// endSlots answers the slots that were edited. schemas are those of an op's slots.
func (o *Op) endSlots(schemas []*schema) {
	m := &guest
	for i := range m.slots[:o.slotsCount] {
		switch v := &m.slots[i]; v.state {
		case slotEdited:
			s := schemas[i%len(schemas)]
			row := Row{base: unsafe.Pointer(unsafe.SliceData(v.buffer)), checks: allow(s, false)}
			size := s.sizeOf(row)
			s.copyTo(o.effect(raw.EffectSetSlot, uint32(i), size), size, row)
		case slotCleared:
			o.effect(raw.EffectSetSlot, uint32(i), 0)
		}
	}
}
