package cases

import "slices"

// layout lays the ops of a case out in frames.
type layout struct {
	f *Function
	c *testCase
}

// absent is byte 0 of a slot without a value.
const absent = 3

// frames are the opening and the ops, so many of them in a frame at the most.
func (l layout) frames(most int) []Frame {
	open := l.frame([]step{l.c.open})
	if len(l.c.steps) == 0 {
		return []Frame{open}
	}
	frames := []Frame{open}
	for from := 0; from < len(l.c.steps); {
		to := from + 1
		for to < len(l.c.steps) && to-from < most && l.fits(l.c.steps[from:to], &l.c.steps[to]) {
			to++
		}
		frames = append(frames, l.frame(l.c.steps[from:to]))
		from = to
	}
	return frames
}

// fits tells whether an op can be in the frame of others: not if it shares a part of its states with one of them, since
// the states of an op stand side by side.
func (l layout) fits(steps []step, s *step) bool {
	for i := range steps {
		for _, group := range steps[i].groups() {
			for _, own := range s.groups() {
				if !slices.Equal(group, own) && slices.ContainsFunc(own, func(c int) bool { return slices.Contains(group, c) }) {
					return false
				}
			}
		}
	}
	return true
}

// groups are all slots that an op names: its own, a second, those of merged windows.
func (s *step) groups() [][]int {
	groups := [][]int{s.cells, s.second}
	if s.context != nil {
		groups = append(groups, s.context.merged...)
	}
	return slices.DeleteFunc(groups, func(g []int) bool { return len(g) == 0 })
}

// slotSchemas are those of an op's slots.
func (l layout) slotSchemas() []*Schema {
	switch l.f.Role {
	case "aggregate":
		return []*Schema{l.f.Accumulator}
	case "reduce":
		return []*Schema{l.f.Input}
	}
	var list []*Schema
	for _, s := range l.f.States {
		if s.inSlot() && s.scope() != "broadcast" {
			list = append(list, s.Value)
		}
	}
	return list
}

// stride is the width of the widest slot, 0 if one is of variable width or has a time to live.
func (l layout) stride() int {
	stride := 0
	for _, s := range l.f.States {
		if s.inSlot() && s.TTL != "" {
			return 0
		}
	}
	for _, s := range l.slotSchemas() {
		if !isFixed(s) {
			return 0
		}
		stride = max(stride, fixedBytes(s))
	}
	return stride
}

// frame lays out steps as a frame, with the effects that it must have.
func (l layout) frame(steps []step) Frame {
	var out Frame
	at := map[int]uint32{} // of a cell, its slot
	for i := range steps {
		for _, group := range steps[i].groups() {
			if _, there := at[group[0]]; there {
				continue
			}
			for _, c := range group {
				at[c] = uint32(len(out.Cells))
				out.Cells = append(out.Cells, c)
			}
		}
	}
	a := areas{stride: l.stride(), base: uint32(headerBytes + len(steps)*opBytes)}
	l.slots(&a, out.Cells, steps)
	var ops []opFields
	for i := range steps {
		s := &steps[i]
		out.Lines = append(out.Lines, s.line)
		op := opFields{kind: s.kind, slot: noSlot, row: a.row(s.row)}
		if len(s.cells) > 0 {
			op.slot = at[s.cells[0]]
		}
		if len(s.second) > 0 {
			op.arg = at[s.second[0]]
		}
		ops = append(ops, op)
		out.Ops, out.Owners = append(out.Ops, s.text), append(out.Owners, s.owner)
		out.ofWindows(len(steps), i, s)
		out.Effects = append(out.Effects, effectsOf(i, s.effects)...)
	}
	a.placeRowsOf(steps)
	for i := range steps {
		if steps[i].context != nil {
			ops[i].arg = a.context(steps[i].context, at)
		}
	}
	if last := &steps[len(steps)-1]; !last.fails {
		out.Holds = last.holds
	} else {
		out.Effects = nil
	}
	if !l.hasCalls() {
		out.Owners = nil
	}
	out.Frame = a.frame(ops, len(out.Cells))
	return out
}

// ofWindows says whose states of windows op i has, of so many.
func (f *Frame) ofWindows(ops, i int, s *step) {
	if s.window == 0 {
		return
	}
	f.Windows = append(f.Windows, s.window)
	if len(s.merged) == 0 {
		return
	}
	for len(f.Merged) < ops {
		f.Merged = append(f.Merged, []int{})
	}
	f.Merged[i] = s.merged
}

// hasCalls tells whether the function has states that are reached by host calls.
func (l layout) hasCalls() bool {
	return slices.ContainsFunc(l.f.States, func(s *State) bool { return !s.inSlot() || s.isBroadcast() })
}

// slots fills the slots with what they are before any op.
func (l layout) slots(a *areas, cells []int, steps []step) {
	if a.stride == 0 {
		a.slots = make([]byte, len(cells)*slotEntryBytes)
		a.base += uint32(len(a.slots))
	} else {
		a.slots = make([]byte, len(cells)*a.stride)
		a.base += uint32(len(a.slots))
	}
	for i, c := range cells {
		content := l.c.open.begins[c]
		created := l.f.Role == "aggregate"
		switch {
		case a.stride == 0 && content != nil:
			row := a.row(content)
			le.PutUint64(a.slots[i*slotEntryBytes:], uint64(row)|uint64(len(content))<<32)
		case a.stride != 0 && content != nil:
			copy(a.slots[i*a.stride:], content)
		case a.stride != 0 && !created:
			a.slots[i*a.stride] = absent
		}
	}
}

// areas are the parts of a frame that is being laid out.
type areas struct {
	stride      int
	base        uint32 // where the rows begin
	slots, rows []byte
	contexts    []byte
	placed      map[*byte]uint32 // rows of contexts
}

// row appends a row and returns its offset; 0 without one.
func (a *areas) row(row []byte) uint32 {
	if row == nil {
		return 0
	}
	at := a.base + uint32(len(a.rows))
	a.rows = append(a.rows, row...)
	return at
}

// placeRowsOf appends the rows of contexts: contexts stand behind all rows.
func (a *areas) placeRowsOf(steps []step) {
	a.placed = map[*byte]uint32{}
	place := func(row []byte) {
		if row != nil && a.placed[&row[0]] == 0 {
			a.placed[&row[0]] = a.row(row)
		}
	}
	for i := range steps {
		if c := steps[i].context; c != nil {
			place(c.key)
			place(c.second)
			for _, e := range c.elements {
				place(e.row)
			}
		}
	}
}

func (a *areas) offsetOf(row []byte) uint32 {
	if row == nil {
		return 0
	}
	return a.placed[&row[0]]
}

// context appends a context, and its list behind it.
func (a *areas) context(c *caseContext, slotOf map[int]uint32) uint32 {
	at := a.base + uint32(len(a.rows)+len(a.contexts))
	if c.schemas != nil {
		a.contexts = append(a.contexts, c.schemas...)
		return at
	}
	var whole [contextBytes]byte
	for field, v := range map[int]int64{
		contextAtTime: c.time, contextAtWatermark: c.watermark, contextAtClock: c.clock,
		contextAtStart: c.start, contextAtEnd: c.end,
	} {
		le.PutUint64(whole[field:], uint64(v))
	}
	for field, v := range map[int]uint32{
		contextAtKey: a.offsetOf(c.key), contextAtDetail: c.detail, contextAtSecond: a.offsetOf(c.second),
		contextAtList: at + uint32(c.bytes), contextAtCount: uint32(len(c.elements) + len(c.merged)),
	} {
		le.PutUint32(whole[field:], v)
	}
	a.contexts = append(a.contexts, whole[:c.bytes]...)
	for _, e := range c.elements {
		a.contexts = le.AppendUint64(a.contexts, uint64(e.time))
		a.contexts = le.AppendUint32(a.contexts, a.offsetOf(e.row))
		a.contexts = le.AppendUint32(a.contexts, e.input)
	}
	for _, group := range c.merged {
		slot := uint32(noSlot)
		if len(group) > 0 {
			slot = slotOf[group[0]]
		}
		a.contexts = le.AppendUint32(a.contexts, slot)
	}
	a.contexts = padded(a.contexts)
	return at
}

// frame puts the parts together.
func (a *areas) frame(ops []opFields, slots int) []byte {
	b := make([]byte, headerBytes)
	for _, op := range ops {
		b = appendOp(b, op)
	}
	slotsOffset := len(b)
	b = append(b, a.slots...)
	b = append(append(b, a.rows...), a.contexts...)
	for at, v := range map[int]int{
		atVersion: version, atOpsCount: len(ops), atOpsOffset: headerBytes, atSlotsOffset: slotsOffset, atSlotsCount: slots,
		atSlotStride: a.stride, atRowsOffset: int(a.base), atRowsLength: len(a.rows),
		atContextsOffset: int(a.base) + len(a.rows), atContextsLength: len(a.contexts), atTotalLength: len(b),
	} {
		le.PutUint32(b[at:], uint32(v))
	}
	return b
}

// effectsOf are the effects of op i, as a guest writes them.
func effectsOf(i int, effects []wantedEffect) (b []byte) {
	for _, e := range effects {
		b = le.AppendUint32(b, uint32(e.kind))
		b = le.AppendUint32(b, uint32(i))
		b = le.AppendUint32(b, uint32(len(e.payload)))
		b = le.AppendUint32(b, e.aux)
		b = padded(append(b, e.payload...))
	}
	return b
}
