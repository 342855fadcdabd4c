package guest

import (
	"encoding/binary"

	"github.com/wasmstream/wasmstream/abi"
	"github.com/wasmstream/wasmstream/host/stream"
)

// frame is how the ops of one call are laid out.
type frame struct {
	from, to int
	header   abi.Header

	groups  []uint32 // in the order of their slots; one that is created anew is there again
	created []bool   // the first op is a create
	copied  []bool   // it is thrown away
	slotOf  []stamped
	stamp   uint32
	loaded  []byte    // what slots of variable width hold
	entries []entry   // of the directory
	rows    [2]uint32 // the part of the caller's rows
	context [2]int32  // of its contexts
	ctxAt   [2]uint32 // of the contexts' area
	sets    []set     // by slot of variable width
	plain   bool      // it was answered by one row for each op
	single  bool      // by one effect of a kind for each
}

// stamped is a group's place in the frame of that stamp.
type stamped struct{ stamp, place uint32 }

// entry is a slot of variable width, in loaded.
type entry struct{ at, length uint32 }

// set is what set-slot made of a slot, a view of the effects.
type set struct {
	row  []byte
	done bool
}

// strideOf is the width of the widest slot and those of all, 0 if some are variable.
func strideOf(slots []*stream.Schema) (stride int, widths []int) {
	for _, s := range slots {
		if !s.IsFixedWidth() {
			return 0, nil
		}
		widths = append(widths, s.FixedBytes())
		stride = max(stride, s.FixedBytes())
	}
	return stride, widths
}

// plan numbers slots and finds the areas.
func (f *frame) plan(c *Caller, from, to int) {
	f.from, f.to = from, to
	if f.stamp++; f.stamp == 0 {
		clear(f.slotOf) // stamps begin anew
		f.stamp = 1
	}
	f.groups, f.created, f.copied = f.groups[:0], f.created[:0], f.copied[:0]
	if !c.plain {
		f.placeGroups(c)
	}
	f.rows = [2]uint32{c.ops[from].rows, uint32(len(c.rows))}
	if to < len(c.ops) {
		f.rows[1] = c.ops[to].rows
	}
	f.findContexts(c)
	slots := len(f.groups) * len(c.options.Slots)
	f.load(c)
	f.header = abi.Layout(to-from, slots, c.stride, abi.Align(len(f.loaded))+int(f.rows[1]-f.rows[0]), int(f.ctxAt[1]-f.ctxAt[0]))
}

// placeGroups gives the ops' groups places.
func (f *frame) placeGroups(c *Caller) {
	ops := c.ops[f.from:f.to]
	for i := range ops {
		o := &ops[i]
		if o.group != NoGroup {
			o.place = f.placeOf(o.group, o.kind == abi.OpCreate)
		}
		switch {
		case o.copied:
			o.other = f.newPlace(o.second, false, true)
		case o.kind == abi.OpMerge:
			o.other = f.placeOf(o.second, false)
		}
		if len(c.merged) > 0 && o.context != noContext {
			if x := &c.contexts[o.context]; x.list.merged {
				f.placeMerged(c, x)
			}
		}
	}
}

func (f *frame) placeMerged(c *Caller, x *context) {
	for _, g := range c.merged[x.list.from:x.list.to] {
		f.placeOf(g, false)
	}
}

// findContexts finds the contexts, which are in the order of the ops, and their part of
// the contexts' area.
func (f *frame) findContexts(c *Caller) {
	f.context, f.ctxAt = [2]int32{noContext, noContext}, [2]uint32{}
	first, last := f.from, f.to-1
	for first < f.to && c.ops[first].context == noContext {
		first++
	}
	if first == f.to {
		return
	}
	for c.ops[last].context == noContext {
		last--
	}
	f.context = [2]int32{c.ops[first].context, c.ops[last].context + 1}
	f.ctxAt = [2]uint32{c.contexts[f.context[0]].at, uint32(len(c.ctx))}
	if int(f.context[1]) < len(c.contexts) {
		f.ctxAt[1] = c.contexts[f.context[1]].at
	}
}

// placeOf gives a group a place in the frame, and returns it.
func (f *frame) placeOf(group uint32, created bool) uint32 {
	for int(group) >= len(f.slotOf) {
		f.slotOf = append(f.slotOf, stamped{})
	}
	s := &f.slotOf[group]
	if s.stamp != f.stamp || created {
		*s = stamped{f.stamp, f.newPlace(group, created, false)}
	}
	return s.place
}

func (f *frame) newPlace(group uint32, created, copied bool) uint32 {
	f.groups = append(f.groups, group)
	f.created = append(f.created, created)
	f.copied = append(f.copied, copied)
	return uint32(len(f.groups) - 1)
}

// load reads slots of variable width from the role.
func (f *frame) load(c *Caller) {
	f.loaded, f.entries = f.loaded[:0], f.entries[:0]
	if c.stride != 0 {
		return
	}
	for p, g := range f.groups {
		for i := range c.options.Slots {
			at := len(f.loaded)
			if !f.created[p] {
				f.loaded = c.role.Load(f.loaded, g, i)
			}
			f.entries = append(f.entries, entry{uint32(at), uint32(len(f.loaded) - at)})
			for len(f.loaded)%8 != 0 {
				f.loaded = append(f.loaded, 0)
			}
		}
	}
}

// fill writes the frame into the guest's memory.
func (f *frame) fill(c *Caller, b []byte) {
	h := &f.header
	abi.PutHeader(b, *h)
	base := h.RowsOffset + uint32(abi.Align(len(f.loaded))) // of our rows
	f.fillOps(c, b[h.OpsOffset:], base-f.rows[0])
	f.fillSlots(c, b)
	copy(b[h.RowsOffset:], f.loaded)
	copy(b[base:], c.rows[f.rows[0]:f.rows[1]])
	copy(b[h.ContextsOffset:], c.ctx[f.ctxAt[0]:f.ctxAt[1]])
	if c.placed && f.context[0] != noContext {
		for i := f.context[0]; i < f.context[1]; i++ {
			f.place(c, b, &c.contexts[i], base-f.rows[0])
		}
	}
}

// fillOps writes the ops; rows is what to add to a row's place.
func (f *frame) fillOps(c *Caller, b []byte, rows uint32) {
	slots, contexts := uint32(len(c.options.Slots)), f.header.ContextsOffset-f.ctxAt[0]
	ops := c.ops[f.from:f.to]
	for i := range ops {
		o := &ops[i]
		slot, row, arg := uint32(abi.NoSlot), uint32(0), uint32(0)
		if o.group != NoGroup && slots > 0 {
			slot = o.place * slots
		}
		if o.row != noRow {
			row = rows + o.row
		}
		if o.context != noContext {
			arg = contexts + o.arg
		} else if o.kind == abi.OpMerge {
			arg = o.other * slots
		}
		abi.PutPlainOp(b, abi.OpBytes*i, o.kind, slot, row, arg)
	}
}

// absent is byte 0 of a slot that holds no value.
const absent = 3

func (f *frame) fillSlots(c *Caller, b []byte) {
	at := int(f.header.SlotsOffset)
	if c.stride == 0 {
		for _, e := range f.entries {
			abi.PutSlotEntry(b, at, f.header.RowsOffset+e.at, e.length)
			at += abi.SlotEntryBytes
		}
		return
	}
	for p, g := range f.groups {
		for i := range c.options.Slots {
			slot := b[at : at+c.stride : at+c.stride]
			n := 0
			if !f.created[p] {
				n = len(c.role.Load(slot[:0], g, i))
			}
			if n < len(slot) {
				clear(slot[n:])
			}
			if n == 0 && !f.created[p] {
				slot[0] = absent
			}
			at += c.stride
		}
	}
}

// place writes the places of a context's rows and list, and the list; rows is what to
// add to a row's place.
func (f *frame) place(c *Caller, b []byte, x *context, rows uint32) {
	le := binary.LittleEndian
	at := f.header.ContextsOffset + x.at - f.ctxAt[0]
	if x.key != noRow {
		le.PutUint32(b[at+abi.ContextAtKey:], rows+x.key)
	}
	if x.bytes <= abi.ContextWindowBytes {
		return
	}
	to := at + uint32(x.bytes)
	le.PutUint32(b[at+abi.ContextAtList:], to)
	le.PutUint32(b[at+abi.ContextAtCount:], uint32(x.list.to-x.list.from))
	if x.second != noRow {
		le.PutUint32(b[at+abi.ContextAtSecond:], rows+x.second)
	}
	if x.list.merged {
		slots := uint32(len(c.options.Slots))
		for i, g := range c.merged[x.list.from:x.list.to] {
			slot := uint32(abi.NoSlot)
			if slots > 0 {
				slot = f.slotOf[g].place * slots
			}
			le.PutUint32(b[to+uint32(4*i):], slot)
		}
		return
	}
	for i, e := range c.elements[x.list.from:x.list.to] {
		e.put(b[to+uint32(abi.ElementBytes*i):], rows)
	}
}

// put writes an element of a list.
func (e *Element) put(b []byte, rows uint32) {
	le := binary.LittleEndian
	le.PutUint64(b[abi.ElementAtTime:], uint64(e.Time))
	le.PutUint32(b[abi.ElementAtRow:], rows+e.Row)
	le.PutUint32(b[abi.ElementAtInput:], e.Input)
}

// appendContext appends a context of a kind with so many bytes. The places in it are zero:
// they are known when the frame is laid out.
func appendContext(dst []byte, bytes int, x *Context) []byte {
	n := len(dst)
	if cap(dst)-n < abi.ContextBytes {
		dst = append(dst, make([]byte, abi.ContextBytes)...)
	}
	// All that there is, whatever the kind: that takes less than to ask.
	b, le := dst[n:n+abi.ContextBytes], binary.LittleEndian
	le.PutUint64(b[abi.ContextAtTime:], uint64(x.Time))
	le.PutUint64(b[abi.ContextAtWatermark:], uint64(x.Watermark))
	le.PutUint64(b[abi.ContextAtClock:], uint64(x.Clock))
	le.PutUint32(b[abi.ContextAtKey:], 0)
	le.PutUint32(b[abi.ContextAtDetail:], x.Detail)
	le.PutUint64(b[abi.ContextAtStart:], uint64(x.Start))
	le.PutUint64(b[abi.ContextAtEnd:], uint64(x.End))
	clear(b[abi.ContextAtList:])
	return dst[:n+bytes]
}

// readContext reads what appendContext wrote.
func readContext(b []byte) (x Context) {
	number := func(at int) int64 { return int64(binary.LittleEndian.Uint64(b[at:])) }
	x.Time, x.Watermark, x.Clock = number(abi.ContextAtTime), number(abi.ContextAtWatermark), number(abi.ContextAtClock)
	if len(b) >= abi.ContextKeyedBytes {
		x.Detail = binary.LittleEndian.Uint32(b[abi.ContextAtDetail:])
	}
	if len(b) >= abi.ContextWindowBytes {
		x.Start, x.End = number(abi.ContextAtStart), number(abi.ContextAtEnd)
	}
	return x
}
