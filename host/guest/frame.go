package guest

import (
	"encoding/binary"

	"github.com/wasmstream/wasmstream/abi"
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

// plan numbers slots and finds the areas.
func (f *frame) plan(c *Caller, from, to int) {
	f.from, f.to = from, to
	if f.stamp++; f.stamp == 0 {
		clear(f.slotOf) // stamps begin anew
		f.stamp = 1
	}
	f.groups, f.created, f.copied = f.groups[:0], f.created[:0], f.copied[:0]
	f.context = [2]int32{noContext, noContext}
	for i := from; i < to; i++ {
		o := &c.ops[i]
		if o.group != NoGroup {
			o.place = f.place(o.group, o.kind == abi.OpCreate)
		}
		switch {
		case o.copied:
			o.other = f.newPlace(o.second, false, true)
		case o.kind == abi.OpMerge:
			o.other = f.place(o.second, false)
		}
		if o.context != noContext {
			if f.context[0] == noContext {
				f.context[0] = o.context
			}
			f.context[1] = o.context + 1
			if x := &c.contexts[o.context]; x.list.merged {
				f.placeMerged(c, x)
			}
		}
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

func (f *frame) placeMerged(c *Caller, x *Context) {
	for _, g := range c.merged[x.list.from:x.list.to] {
		f.place(g, false)
	}
}

// findContexts finds the part of the contexts' area.
func (f *frame) findContexts(c *Caller) {
	f.ctxAt = [2]uint32{}
	if f.context[0] == noContext {
		return
	}
	f.ctxAt = [2]uint32{c.contexts[f.context[0]].at, c.ctxBytes}
	if int(f.context[1]) < len(c.contexts) {
		f.ctxAt[1] = c.contexts[f.context[1]].at
	}
}

// place gives a group a place in the frame, and returns it.
func (f *frame) place(group uint32, created bool) uint32 {
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
	slots := uint32(len(c.options.Slots))
	base := h.RowsOffset + uint32(abi.Align(len(f.loaded))) // of our rows
	at := int(h.OpsOffset)
	for i := f.from; i < f.to; i++ {
		o := &c.ops[i]
		x := abi.Op{Kind: o.kind, Slot: abi.NoSlot}
		if o.group != NoGroup && slots > 0 {
			x.Slot = o.place * slots
		}
		if o.row != noRow {
			x.Row = base + o.row - f.rows[0]
		}
		switch {
		case o.kind == abi.OpMerge:
			x.Arg = o.other * slots
		case o.context != noContext:
			x.Arg = h.ContextsOffset + c.contexts[o.context].at - f.ctxAt[0]
		}
		abi.PutOp(b, at, x)
		at += abi.OpBytes
	}
	f.fillSlots(c, b)
	copy(b[h.RowsOffset:], f.loaded)
	copy(b[base:], c.rows[f.rows[0]:f.rows[1]])
	if f.context[0] != noContext {
		for i := f.context[0]; i < f.context[1]; i++ {
			f.fillContext(c, b, &c.contexts[i], base-f.rows[0])
		}
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
			clear(slot[n:])
			if n == 0 && !f.created[p] {
				slot[0] = absent
			}
			at += c.stride
		}
	}
}

// fillContext writes a context and its list; rows is what to add to a row's place.
func (f *frame) fillContext(c *Caller, b []byte, x *Context, rows uint32) {
	le := binary.LittleEndian
	at := f.header.ContextsOffset + x.at - f.ctxAt[0]
	var whole [abi.ContextBytes]byte
	put32 := func(at int, v uint32) { le.PutUint32(whole[at:], v) }
	row := func(at int, r uint32) {
		if r != noRow {
			put32(at, rows+r)
		}
	}
	le.PutUint64(whole[abi.ContextAtTime:], uint64(x.Time))
	le.PutUint64(whole[abi.ContextAtWatermark:], uint64(x.Watermark))
	le.PutUint64(whole[abi.ContextAtClock:], uint64(x.Clock))
	if x.bytes > abi.ContextRecordBytes {
		row(abi.ContextAtKey, x.Key)
		put32(abi.ContextAtDetail, x.Detail)
		le.PutUint64(whole[abi.ContextAtStart:], uint64(x.Start))
		le.PutUint64(whole[abi.ContextAtEnd:], uint64(x.End))
		put32(abi.ContextAtList, at+uint32(x.bytes))
		put32(abi.ContextAtCount, uint32(x.list.to-x.list.from))
		row(abi.ContextAtSecond, x.Second)
	}
	copy(b[at:], whole[:x.bytes])
	list := b[at+uint32(x.bytes):]
	if x.list.merged {
		slots := uint32(len(c.options.Slots))
		for i, g := range c.merged[x.list.from:x.list.to] {
			slot := uint32(abi.NoSlot)
			if slots > 0 {
				slot = f.slotOf[g].place * slots
			}
			le.PutUint32(list[4*i:], slot)
		}
		return
	}
	for i, e := range c.elements[x.list.from:x.list.to] {
		to := list[abi.ElementBytes*i:]
		le.PutUint64(to[abi.ElementAtTime:], uint64(e.Time))
		le.PutUint32(to[abi.ElementAtRow:], rows+e.Row)
		le.PutUint32(to[abi.ElementAtInput:], e.Input)
	}
}
