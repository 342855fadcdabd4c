package abi

import (
	"encoding/binary"
	"fmt"
)

// Header is a frame's header: where its areas are. Offsets count from the frame's first byte.
type Header struct {
	Ops, OpsOffset                 uint32
	SlotsOffset, Slots, Stride     uint32
	RowsOffset, RowsLength         uint32
	ContextsOffset, ContextsLength uint32
	Total                          uint32
}

// Op is one thing asked of a function.
type Op struct {
	Kind  OpKind
	Flags uint16
	// Slot is the index of the slot that it works on, or NoSlot.
	Slot uint32
	// Row is the offset of its row from the frame's start, or 0.
	Row uint32
	// Arg is the offset of its context, or the index of a second slot, as the kind says.
	Arg uint32
}

// Align rounds up to a multiple of 8, as all areas, rows and payloads are.
func Align(n int) int { return (n + 7) &^ 7 }

// Layout places the areas of a frame one after another: header, ops, slots, rows, contexts. With stride 0 the slots
// area is a directory, and the slots' own bytes are part of rowsBytes.
func Layout(ops, slots, stride, rowsBytes, contextsBytes int) Header {
	slotBytes := stride
	if stride == 0 {
		slotBytes = SlotEntryBytes
	}
	slotsOffset := HeaderBytes + ops*OpBytes
	rowsOffset := slotsOffset + Align(slots*slotBytes)
	contextsOffset := rowsOffset + Align(rowsBytes)
	return Header{
		Ops: uint32(ops), OpsOffset: HeaderBytes,
		SlotsOffset: uint32(slotsOffset), Slots: uint32(slots), Stride: uint32(stride),
		RowsOffset: uint32(rowsOffset), RowsLength: uint32(rowsBytes),
		ContextsOffset: uint32(contextsOffset), ContextsLength: uint32(contextsBytes),
		Total: uint32(contextsOffset + Align(contextsBytes)),
	}
}

// FrameSize is the size of a frame as Layout places it. The caller holds it to FrameBytesMax.
func FrameSize(ops, slots, stride, rowsBytes, contextsBytes int) int {
	slotBytes := stride
	if stride == 0 {
		slotBytes = SlotEntryBytes
	}
	return HeaderBytes + ops*OpBytes + Align(slots*slotBytes) + Align(rowsBytes) + Align(contextsBytes)
}

// PutHeader writes the header into the frame's first HeaderBytes bytes.
func PutHeader(frame []byte, h Header) {
	b := frame[:HeaderBytes]
	clear(b)
	le := binary.LittleEndian
	le.PutUint32(b[HeaderAtVersion:], Version)
	le.PutUint32(b[HeaderAtOpsCount:], h.Ops)
	le.PutUint32(b[HeaderAtOpsOffset:], h.OpsOffset)
	le.PutUint32(b[HeaderAtSlotsOffset:], h.SlotsOffset)
	le.PutUint32(b[HeaderAtSlotsCount:], h.Slots)
	le.PutUint32(b[HeaderAtSlotStride:], h.Stride)
	le.PutUint32(b[HeaderAtRowsOffset:], h.RowsOffset)
	le.PutUint32(b[HeaderAtRowsLength:], h.RowsLength)
	le.PutUint32(b[HeaderAtContextsOffset:], h.ContextsOffset)
	le.PutUint32(b[HeaderAtContextsLength:], h.ContextsLength)
	le.PutUint32(b[HeaderAtTotalLength:], h.Total)
}

// ReadHeader reads a frame's header and checks that its areas lie within the frame: for recordings, which come from files.
func ReadHeader(frame []byte) (Header, error) {
	if len(frame) < HeaderBytes {
		return Header{}, fmt.Errorf("abi: a frame of %d bytes has no header (%d bytes)", len(frame), HeaderBytes)
	}
	at := func(offset int) uint32 { return binary.LittleEndian.Uint32(frame[offset:]) }
	if v := at(HeaderAtVersion); v != Version {
		return Header{}, fmt.Errorf("abi: frame of version %d, this host speaks %d", v, Version)
	}
	h := Header{
		Ops: at(HeaderAtOpsCount), OpsOffset: at(HeaderAtOpsOffset),
		SlotsOffset: at(HeaderAtSlotsOffset), Slots: at(HeaderAtSlotsCount), Stride: at(HeaderAtSlotStride),
		RowsOffset: at(HeaderAtRowsOffset), RowsLength: at(HeaderAtRowsLength),
		ContextsOffset: at(HeaderAtContextsOffset), ContextsLength: at(HeaderAtContextsLength),
		Total: at(HeaderAtTotalLength),
	}
	if uint64(h.Total) != uint64(len(frame)) {
		return Header{}, fmt.Errorf("abi: the header says %d bytes, the frame has %d", h.Total, len(frame))
	}
	slotBytes := uint64(h.Stride)
	if slotBytes == 0 {
		slotBytes = SlotEntryBytes
	}
	for _, area := range []struct {
		name           string
		offset, length uint64
	}{
		{"ops", uint64(h.OpsOffset), uint64(h.Ops) * OpBytes},
		{"slots", uint64(h.SlotsOffset), uint64(h.Slots) * slotBytes},
		{"rows", uint64(h.RowsOffset), uint64(h.RowsLength)},
		{"contexts", uint64(h.ContextsOffset), uint64(h.ContextsLength)},
	} {
		if area.offset+area.length > uint64(len(frame)) {
			return Header{}, fmt.Errorf("abi: the %s (%d bytes at %d) end beyond the frame (%d bytes)", area.name, area.length, area.offset, len(frame))
		}
	}
	return h, nil
}

// PutOp writes an op at an offset of the frame.
func PutOp(frame []byte, off int, op Op) {
	// Two stores of 8 bytes after one bounds check: this runs once per record.
	b := frame[off : off+OpBytes : off+OpBytes]
	binary.LittleEndian.PutUint64(b[0:8], uint64(op.Kind)|uint64(op.Flags)<<16|uint64(op.Slot)<<32)
	binary.LittleEndian.PutUint64(b[8:16], uint64(op.Row)|uint64(op.Arg)<<32)
}

// PutPlainOp is PutOp without flags, and without an Op: one is copied through memory, in wider pieces than it was written
// in, and that stalls for longer than all else here takes.
func PutPlainOp(frame []byte, off int, kind OpKind, slot, row, arg uint32) {
	b := frame[off : off+OpBytes : off+OpBytes]
	binary.LittleEndian.PutUint64(b[0:8], uint64(kind)|uint64(slot)<<32)
	binary.LittleEndian.PutUint64(b[8:16], uint64(row)|uint64(arg)<<32)
}

// ReadOp reads the op at an offset of the frame.
func ReadOp(frame []byte, off int) Op {
	b := frame[off : off+OpBytes]
	lo, hi := binary.LittleEndian.Uint64(b[0:8]), binary.LittleEndian.Uint64(b[8:16])
	return Op{Kind: OpKind(lo), Flags: uint16(lo >> 16), Slot: uint32(lo >> 32), Row: uint32(hi), Arg: uint32(hi >> 32)}
}

// PutSlotEntry writes an entry of a slots directory: where a slot of variable width is, from the frame's start.
func PutSlotEntry(frame []byte, off int, offset, length uint32) {
	binary.LittleEndian.PutUint64(frame[off:off+SlotEntryBytes], uint64(offset)|uint64(length)<<32)
}

// ReadSlotEntry reads an entry of a slots directory.
func ReadSlotEntry(frame []byte, off int) (offset, length uint32) {
	v := binary.LittleEndian.Uint64(frame[off : off+SlotEntryBytes])
	return uint32(v), uint32(v >> 32)
}
