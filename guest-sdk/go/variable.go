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

// copyText sets a field of variable width to that of another row: columns is that of the first and, shifted by 8, of the other.
// Like emitRows it is written for few branches, loads and stores.
//
//go:nosplit
func copyText(to, from Row, columns int) {
	c := columns & 0xFF
	source, target := unsafe.Add(from.base, firstField+8*(columns>>8)), unsafe.Add(to.base, firstField+8*c)
	v, m := *(*uint64)(source), &guest
	effects, at, size := unsafe.Pointer(unsafe.SliceData(m.effects)), m.used, pad8(int(uint32(v)))
	// Each is not zero: the row is not the open one, or not sound; it or a column behind it was set, or there is no room; the value
	// is short, or empty or null, or of a row that is being written; the field is null.
	elsewhere := (uint64(uintptr(to.base)-uintptr(effects))<<1 | 1) ^ uint64(m.open>>(rowShift-1))
	behind := uint64((c-m.open.next())|(len(m.effects)-at-size)) >> 63
	if elsewhere|behind|(v-1)>>62|(*(*uint64)(unsafe.Add(to.base, 1))>>(uint(c)&63))&1 != 0 {
		if v&inlineMark == 0 || *(*uint64)(target) != 0 {
			copySeldom(to, c, from, columns>>8)
			return
		}
		write(to, uint8(c), v) // a short value is no null, and as good in one row as in another
		return
	}
	*(*uint64)(target) = uint64(at-m.open.at())<<32 | uint64(uint32(v))
	m.used, m.open = at+size, openRowAt(m.open.at())+openRow(c+1)
	// Values of rows that are not being written are padded with zeros: by words, since to call what copies bytes costs more than
	// all the rest.
	out, in := unsafe.Add(effects, at), unsafe.Add(from.base, uintptr(v>>32))
	copyWord(out, in, 0)
	copyWord(out, in, size-8)
	if size > 16 {
		copyWord(out, in, 8)
		copyWord(out, in, size-16)
		if size > 32 {
			copyWords(out, in, size)
		}
	}
}

// copyWord copies 8 bytes.
func copyWord(to, from unsafe.Pointer, at int) {
	*(*uint64)(unsafe.Add(to, at)) = *(*uint64)(unsafe.Add(from, at))
}

// copyWords copies what is between the first two words and the last two: up to four from both ends, where they meet or
// overlap, without a loop.
//
//go:nosplit
func copyWords(to, from unsafe.Pointer, size int) {
	if size > 64 {
		copy(unsafe.Slice((*byte)(to), size), unsafe.Slice((*byte)(from), size))
		return
	}
	copyWord(to, from, 16)
	copyWord(to, from, 24)
	copyWord(to, from, size-24)
	copyWord(to, from, size-32)
}

// copySeldom is copyText of short values, of nulls, of values of rows that are being written, and where the call has no room.
func copySeldom(to Row, c int, from Row, of int) {
	source, target := unsafe.Add(from.base, firstField+8*of), unsafe.Add(to.base, firstField+8*c)
	v := *(*uint64)(source)
	switch {
	case v&inlineMark != 0:
		// A short value is no null, and as good in one row as in another.
		replaceText(to, target)
		write(to, uint8(c), v)
	case *(*byte)(unsafe.Add(from.base, of/8+1))&(1<<(of%8)) != 0:
		replaceText(to, target)
		writeNull(to, uint8(c))
	default:
		p, n := viewOf(from, v, source)
		if bits, ok := textBits(to, c, target, unsafe.Slice((*byte)(p), n)); ok {
			write(to, uint8(c), bits)
		}
	}
}

// replaceText notes that a longer value behind the open row is not needed any more.
func replaceText(r Row, at unsafe.Pointer) {
	if old := *(*uint64)(at); old != 0 && old&inlineMark == 0 && guest.isOpen(r.base) {
		guest.open &^= rowSound
	}
}

func longBits(r Row, c int, v []byte) (uint64, bool) {
	m := &guest
	if m.isOpen(r.base) {
		// Without room the buffer would move, and the row with it.
		if end := m.used + pad8(len(v)); c >= m.open.next() && end <= len(m.effects) {
			offset := m.used - m.open.at()
			copy(m.effects[m.used:], v)
			m.used, m.open = end, openRowAt(m.open.at())+openRow(c+1)
			return uint64(offset)<<32 | uint64(len(v)), true
		}
		m.open &^= rowSound
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

// editSlot makes a slot's row one that can be written: a copy, zeroed if it held no value. Not inlined as grow is not.
//
//go:noinline
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
