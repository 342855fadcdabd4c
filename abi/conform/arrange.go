package conform

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/wasmstream/wasmstream/abi"
)

// Arrangement is how the areas of a frame stand.
type Arrangement bool

// The arrangements.
const (
	// Usual: ops, slots, rows, contexts, without gaps.
	Usual Arrangement = false
	// Reversed: contexts, rows, slots, ops, with gaps between them whose bytes are not zero,
	// and neither is what is reserved. A guest that finds areas by the header's offsets, and
	// looks at nothing that has no meaning yet, does not notice.
	Reversed Arrangement = true
)

// Part is the frame of ops from..to of a frame, with the slots that they name, and what
// these are in the whole.
func (r *Rows) Part(frame []byte, from, to int, as Arrangement) (part []byte, slots []uint32, err error) {
	h, err := abi.ReadHeader(frame)
	if err != nil {
		return nil, nil, err
	}
	if from < 0 || to > int(h.Ops) || from >= to {
		return nil, nil, fmt.Errorf("ops %d to %d of %d", from, to, h.Ops)
	}
	a := &arranger{old: frame, h: h, role: r.role, width: uint32(len(r.slots)), rowAt: map[uint32]uint32{}}
	if err := a.findBounds(); err != nil {
		return nil, nil, err
	}
	for i := from; i < to; i++ {
		a.findSlots(abi.ReadOp(frame, int(h.OpsOffset)+i*abi.OpBytes))
	}
	slices.Sort(a.slots)
	a.slots = slices.Compact(a.slots)
	for i := from; i < to; i++ {
		a.op(abi.ReadOp(frame, int(h.OpsOffset)+i*abi.OpBytes))
	}
	return a.frame(as), a.slots, nil
}

// arranger lays a frame out anew.
type arranger struct {
	old    []byte
	h      abi.Header
	role   string
	width  uint32   // slots of an op
	bounds []uint32 // where something begins or ends, in order: how long rows are is not told
	slots  []uint32 // those that are kept, by their old numbers

	ops      []abi.Op // rows and contexts from the beginning of their area, and 1
	rows     []byte
	rowAt    map[uint32]uint32 // of an old row
	contexts []byte
	refs     []ref
}

// ref is where in the contexts a row is named.
type ref struct{ at, row uint32 }

// contextBytes is how long the context of an op is, 0 without one.
func contextBytes(role string, kind abi.OpKind) uint32 {
	switch kind {
	case abi.OpOnRecord:
		if role == abi.RoleProcess || role == abi.RoleCoProcess || role == abi.RoleBroadcastProcess {
			return abi.ContextKeyedBytes
		}
		return abi.ContextRecordBytes
	case abi.OpOnBroadcast, abi.OpAssign, abi.OpDecode, abi.OpEncode:
		return abi.ContextRecordBytes
	case abi.OpOnSecond, abi.OpOnTimer, abi.OpOnKey:
		return abi.ContextKeyedBytes
	case abi.OpOnElement, abi.OpOnEventTime, abi.OpOnProcessingTime, abi.OpClear:
		return abi.ContextWindowBytes
	case abi.OpOnWindow, abi.OpOnMerge, abi.OpEvict, abi.OpOnGroup:
		return abi.ContextGroupBytes
	case abi.OpOnPair, abi.OpOnAnswer:
		return abi.ContextPairBytes
	}
	return 0
}

func (a *arranger) u32(at uint32) uint32 { return binary.LittleEndian.Uint32(a.old[at:]) }

// list is the list of a context: where it begins, how many there are, and the bytes of each.
func (a *arranger) list(op abi.Op) (at, count, each uint32) {
	if contextBytes(a.role, op.Kind) < abi.ContextGroupBytes {
		return 0, 0, 0
	}
	each = abi.ElementBytes
	if op.Kind == abi.OpOnMerge {
		each = 4
	}
	return a.u32(op.Arg + abi.ContextAtList), a.u32(op.Arg + abi.ContextAtCount), each
}

// named are the places of the contexts' rows that an op has: key, second, elements.
func (a *arranger) named(op abi.Op) (places []uint32) {
	size := contextBytes(a.role, op.Kind)
	if size >= abi.ContextKeyedBytes {
		places = append(places, op.Arg+abi.ContextAtKey)
	}
	if size >= abi.ContextPairBytes {
		places = append(places, op.Arg+abi.ContextAtSecond)
	}
	if at, count, each := a.list(op); each == abi.ElementBytes {
		for i := range count {
			places = append(places, at+i*each+abi.ElementAtRow)
		}
	}
	return places
}

// findBounds finds where rows end, and that all offsets lie in the frame.
func (a *arranger) findBounds() error {
	end := uint32(len(a.old))
	a.bounds = append(a.bounds, end, a.h.RowsOffset+a.h.RowsLength, a.h.ContextsOffset)
	for i := range int(a.h.Ops) {
		op := abi.ReadOp(a.old, int(a.h.OpsOffset)+i*abi.OpBytes)
		a.bounds = append(a.bounds, op.Row)
		size := contextBytes(a.role, op.Kind)
		if size == 0 && op.Kind != abi.OpOpen {
			continue
		}
		if op.Arg > end || size > end-op.Arg {
			return fmt.Errorf("op %d: its context is outside the frame", i)
		}
		at, count, each := a.list(op)
		if uint64(at)+uint64(count)*uint64(each) > uint64(end) {
			return fmt.Errorf("op %d: its list is outside the frame", i)
		}
		a.bounds = append(a.bounds, op.Arg)
		for _, place := range a.named(op) {
			a.bounds = append(a.bounds, a.u32(place))
		}
	}
	if a.h.Stride == 0 {
		for i := range int(a.h.Slots) {
			offset, _ := abi.ReadSlotEntry(a.old, int(a.h.SlotsOffset)+i*abi.SlotEntryBytes)
			a.bounds = append(a.bounds, offset)
		}
	}
	slices.Sort(a.bounds)
	if a.bounds[len(a.bounds)-1] > end {
		return fmt.Errorf("a row is outside the frame")
	}
	return nil
}

// findSlots keeps the slots that an op names.
func (a *arranger) findSlots(op abi.Op) {
	keep := func(first uint32) {
		for i := range a.width {
			if first != abi.NoSlot && first+i < a.h.Slots {
				a.slots = append(a.slots, first+i)
			}
		}
	}
	keep(op.Slot)
	if op.Kind == abi.OpMerge {
		keep(op.Arg)
	}
	if at, count, each := a.list(op); each == 4 {
		for i := range count {
			keep(a.u32(at + 4*i))
		}
	}
}

// slot is the number that a slot has now.
func (a *arranger) slot(old uint32) uint32 {
	if i, found := slices.BinarySearch(a.slots, old); found {
		return uint32(i)
	}
	return old // it names none
}

// row takes a row over, and says where it is now, counted from 1; 0: there is none.
func (a *arranger) row(old uint32) uint32 {
	if old == 0 {
		return 0
	}
	if _, there := a.rowAt[old]; !there {
		i, _ := slices.BinarySearch(a.bounds, old+1)
		a.rowAt[old] = uint32(len(a.rows)) + 1
		if i < len(a.bounds) {
			a.rows = append(a.rows, a.old[old:a.bounds[i]]...)
		}
		a.rows = padded(a.rows)
	}
	return a.rowAt[old]
}

func padded(b []byte) []byte { return append(b, make([]byte, abi.Align(len(b))-len(b))...) }

// op takes an op over, with its rows and its context.
func (a *arranger) op(op abi.Op) {
	out := abi.Op{Kind: op.Kind, Flags: op.Flags, Slot: op.Slot, Row: a.row(op.Row)}
	if op.Slot != abi.NoSlot {
		out.Slot = a.slot(op.Slot)
	}
	switch size := contextBytes(a.role, op.Kind); {
	case op.Kind == abi.OpMerge:
		out.Arg = a.slot(op.Arg)
	case op.Kind == abi.OpOpen && op.Arg != 0:
		out.Arg = uint32(len(a.contexts)) + 1
		a.contexts = padded(append(a.contexts, a.old[op.Arg:]...)) // schemas, and whatever follows
	case size > 0:
		out.Arg = uint32(len(a.contexts)) + 1
		a.context(op, size)
	}
	a.ops = append(a.ops, out)
}

// context takes a context over, and its list behind it.
func (a *arranger) context(op abi.Op, size uint32) {
	at := uint32(len(a.contexts))
	a.contexts = append(a.contexts, a.old[op.Arg:op.Arg+size]...)
	list, count, each := a.list(op)
	name := func(now, old uint32) { a.refs = append(a.refs, ref{now, a.row(a.u32(old))}) }
	if size >= abi.ContextKeyedBytes {
		name(at+abi.ContextAtKey, op.Arg+abi.ContextAtKey)
	}
	if size >= abi.ContextPairBytes {
		name(at+abi.ContextAtSecond, op.Arg+abi.ContextAtSecond)
	}
	if each == 0 {
		return
	}
	now := at + size
	binary.LittleEndian.PutUint32(a.contexts[at+abi.ContextAtList:], now+1) // from the contexts' beginning, and 1
	a.contexts = padded(append(a.contexts, a.old[list:list+count*each]...))
	for i := range count {
		if each == 4 {
			binary.LittleEndian.PutUint32(a.contexts[now+4*i:], a.slot(a.u32(list+4*i)))
		} else {
			name(now+i*each+abi.ElementAtRow, list+i*each+abi.ElementAtRow)
		}
	}
}

// frame puts the areas together.
func (a *arranger) frame(as Arrangement) []byte {
	entry := int(a.h.Stride)
	if entry == 0 {
		entry = abi.SlotEntryBytes
		for _, s := range a.slots {
			if offset, length := abi.ReadSlotEntry(a.old, int(a.h.SlotsOffset)+int(s)*entry); length > 0 {
				a.row(offset)
			}
		}
	}
	h := abi.Layout(len(a.ops), len(a.slots), int(a.h.Stride), len(a.rows), len(a.contexts))
	if as == Reversed {
		const gap = 24
		h.ContextsOffset = abi.HeaderBytes + gap
		h.RowsOffset = h.ContextsOffset + uint32(len(a.contexts)) + gap
		h.SlotsOffset = h.RowsOffset + uint32(len(a.rows)) + gap
		h.OpsOffset = h.SlotsOffset + uint32(abi.Align(len(a.slots)*entry)) + gap
		h.Total = h.OpsOffset + uint32(len(a.ops)*abi.OpBytes) + gap
	}
	b := make([]byte, h.Total)
	if as == Reversed {
		for i := range b {
			b[i] = filler
		}
	}
	abi.PutHeader(b, h)
	if as == Reversed {
		a.fillReserved(b)
	}
	copy(b[h.RowsOffset:], a.rows)
	copy(b[h.ContextsOffset:], a.contexts)
	a.place(b, &h, entry)
	return b
}

// filler is what bytes are that have no meaning.
const filler = 0xA5

// Where what is reserved begins: the header's and a context's end with it.
const (
	headerReserved  = abi.HeaderAtTotalLength + 4
	contextReserved = abi.ContextAtSecond + 4
)

// fillReserved fills in what is reserved of the header, the ops and the contexts.
func (a *arranger) fillReserved(frame []byte) {
	fill := func(b []byte) {
		for i := range b {
			b[i] = filler
		}
	}
	fill(frame[headerReserved:abi.HeaderBytes])
	for i := range a.ops {
		op := &a.ops[i]
		op.Flags = filler<<8 | filler
		if contextBytes(a.role, op.Kind) == abi.ContextPairBytes {
			fill(a.contexts[op.Arg-1+contextReserved:][:abi.ContextPairBytes-contextReserved])
		}
	}
}

// place writes what names rows, contexts and slots.
func (a *arranger) place(b []byte, h *abi.Header, entry int) {
	at := func(base, place uint32) uint32 {
		if place == 0 {
			return 0
		}
		return base + place - 1
	}
	for i, op := range a.ops {
		op.Row = at(h.RowsOffset, op.Row)
		if size := contextBytes(a.role, op.Kind); size > 0 || op.Kind == abi.OpOpen {
			op.Arg = at(h.ContextsOffset, op.Arg)
			if size >= abi.ContextGroupBytes {
				list := b[op.Arg+abi.ContextAtList:]
				binary.LittleEndian.PutUint32(list, at(h.ContextsOffset, binary.LittleEndian.Uint32(list)))
			}
		}
		abi.PutOp(b, int(h.OpsOffset)+i*abi.OpBytes, op)
	}
	for _, r := range a.refs {
		binary.LittleEndian.PutUint32(b[h.ContextsOffset+r.at:], at(h.RowsOffset, r.row))
	}
	for i, s := range a.slots {
		from, to := int(a.h.SlotsOffset)+int(s)*entry, int(h.SlotsOffset)+i*entry
		if a.h.Stride > 0 {
			copy(b[to:to+entry], a.old[from:])
			continue
		}
		offset, length := abi.ReadSlotEntry(a.old, from)
		if length == 0 {
			offset = 0
		}
		abi.PutSlotEntry(b, to, at(h.RowsOffset, a.rowAt[offset]), length)
	}
}
