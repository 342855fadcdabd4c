package guest

import (
	"encoding/binary"
	"fmt"

	"github.com/wasmstream/wasmstream/abi"
	"github.com/wasmstream/wasmstream/host/stream"
)

// fault is what a guest did whose answer breaks the ABI, at an op of its frame.
func fault(kind abi.FaultKind, op int, format string, args ...any) error {
	return &abi.Fault{Kind: kind, Op: op, Detail: fmt.Sprintf(format, args...)}
}

// checker goes through the effects of a frame.
type checker struct {
	c     *Caller
	op    int    // the op that is being answered, in the frame
	seen  uint32 // the kinds of its effects so far
	last  uint32 // evict: the element before; valid if seen
	group uint32
}

// check holds an answer against what the ops allow, before any of it is used.
func (c *Caller) check(effects, edited []byte) error {
	f := &c.frame
	if f.plain = c.plain && c.isPlain(effects); f.plain {
		return nil
	}
	f.sets = f.sets[:0]
	if c.stride == 0 {
		for range f.entries {
			f.sets = append(f.sets, set{})
		}
	}
	if f.single = c.isSingle(effects); f.single {
		return c.checkSlots(edited)
	}
	k := checker{c: c}
	list := abi.ReadEffects(effects, f.to-f.from)
	var e abi.Effect
	for list.Read(&e) {
		if err := k.passTo(int(e.Op)); err != nil {
			return err
		}
		if err := k.effect(&e); err != nil {
			return err
		}
	}
	if err := list.Err(); err != nil {
		return err
	}
	if err := k.passTo(f.to - f.from); err != nil {
		return err
	}
	return c.checkSlots(edited)
}

// isPlain tells of an answer to ops that are to emit one row each that it is sound, as it
// mostly is. Of others it does not know: check finds out.
func (c *Caller) isPlain(effects []byte) bool {
	out, at := c.outputs[0], 0
	for i := range c.frame.to - c.frame.from {
		row, ok := plainRow(effects, at, i)
		if !ok || out.Check(row) != nil {
			return false
		}
		out.SettleNaNs(row)
		at += abi.EffectBytes + len(row)
	}
	return at == len(effects)
}

// plainRow is the row of op i, if the effect there emits one to output 0.
func plainRow(effects []byte, at, i int) (row []byte, ok bool) {
	rest := len(effects) - at - abi.EffectBytes
	if rest < 0 {
		return nil, false
	}
	head := effects[at : at+abi.EffectBytes : at+abi.EffectBytes]
	length := binary.LittleEndian.Uint64(head[abi.EffectAtLength:]) // with aux, which is to be 0
	if binary.LittleEndian.Uint64(head) != uint64(abi.EffectEmit)|uint64(i)<<32 || length > uint64(rest) || length%8 != 0 {
		return nil, false
	}
	at += abi.EffectBytes
	return effects[at : at+int(length) : at+int(length)], true
}

// takePlain carries out what isPlain has checked.
func (c *Caller) takePlain(effects []byte) error {
	at, e := 0, abi.Effect{Kind: abi.EffectEmit}
	for i := c.frame.from; i < c.frame.to; i++ {
		e.Op = uint32(i - c.frame.from)
		e.Payload, _ = plainRow(effects, at, int(e.Op))
		at += abi.EffectBytes + len(e.Payload)
		if err := c.role.Take(i, e); err != nil {
			return err
		}
		if err := c.role.Done(i); err != nil {
			return err
		}
	}
	return nil
}

// passTo settles the ops before one.
func (k *checker) passTo(op int) error {
	ops, rules := k.c.ops[k.c.frame.from:], k.c.rules
	for i := k.op; i < op; i++ {
		if must := rules[ops[i].kind].must; must != 0 && k.seen&(1<<must) == 0 {
			return fault(abi.FaultBadAnswer, i, "op %d, %s, was not answered by %s", i, ops[i].kind, must)
		}
		k.seen = 0
	}
	k.op = max(k.op, op)
	return nil
}

// effect checks one effect of the op at hand.
func (k *checker) effect(e *abi.Effect) error {
	o := &k.c.ops[k.c.frame.from+k.op]
	r := &k.c.rules[o.kind]
	bit := uint32(1) << e.Kind
	switch {
	case e.Kind == abi.EffectSetSlot:
		return k.setSlot(e)
	case r.allow&bit == 0:
		return fault(abi.FaultBadEffect, k.op, "op %d, %s, may not be answered by %s", k.op, o.kind, e.Kind)
	case r.once&k.seen&bit != 0:
		return fault(abi.FaultBadAnswer, k.op, "op %d, %s, was answered by %s twice", k.op, o.kind, e.Kind)
	case k.seen != 0 && r.alone&(k.seen|bit) != 0:
		return fault(abi.FaultBadAnswer, k.op, "op %d, %s, was answered by %s and by something else", k.op, o.kind, abi.EffectRequest)
	}
	err := k.payload(o, r, e)
	k.seen |= bit
	return err
}

// payload checks what an effect says.
func (k *checker) payload(o *op, r *rule, e *abi.Effect) error {
	switch e.Kind {
	case abi.EffectEmit:
		return k.emit(o, r, e)
	case abi.EffectSetTimer, abi.EffectDeleteTimer:
		if e.Aux > 1 {
			return fault(abi.FaultBadEffect, k.op, "op %d, %s: a timer in the domain %d; there are 0, event time, and 1, processing time", k.op, o.kind, e.Aux)
		}
		return k.wants(e, 8)
	case abi.EffectDecide:
		if e.Aux > 3 {
			return fault(abi.FaultBadEffect, k.op, "op %d, %s: the decision %d; there are 0 to 3", k.op, o.kind, e.Aux)
		}
		return k.wants(e, 0)
	case abi.EffectAssign:
		if err := k.wants(e, 16); err != nil {
			return err
		}
		if start, end := Int64(e.Payload, 0), Int64(e.Payload, 8); start >= end {
			return fault(abi.FaultBadEffect, k.op, "op %d, %s: a window from %d to %d, which is empty", k.op, o.kind, start, end)
		}
	case abi.EffectEvict:
		list := k.c.contexts[o.context].list
		if int(e.Aux) >= list.to-list.from || k.seen&(1<<abi.EffectEvict) != 0 && e.Aux <= k.last {
			return fault(abi.FaultBadEffect, k.op, "op %d, %s: element %d of %d is evicted, out of order or twice", k.op, o.kind, e.Aux, list.to-list.from)
		}
		k.last = e.Aux
		return k.wants(e, 0)
	case abi.EffectEventTime, abi.EffectWatermark:
		return k.wants(e, 8)
	case abi.EffectKeep, abi.EffectVisitKeys:
		return k.wants(e, 0)
	case abi.EffectTouch:
		if _, err := k.slot(e); err != nil {
			return err
		}
		return k.wants(e, 0)
	case abi.EffectRequest:
		return k.row(e, requestRow)
	}
	return nil
}

// Int64 is a number of a payload that was checked.
func Int64(payload []byte, at int) int64 {
	return int64(binary.LittleEndian.Uint64(payload[at:]))
}

func (k *checker) wants(e *abi.Effect, bytes int) error {
	if len(e.Payload) != bytes {
		return fault(abi.FaultBadEffect, k.op, "op %d: %s with a payload of %d bytes instead of %d", k.op, e.Kind, len(e.Payload), bytes)
	}
	return nil
}

func (k *checker) emit(o *op, r *rule, e *abi.Effect) error {
	outputs := k.c.outputs
	if r.main {
		outputs = outputs[:min(1, len(outputs))]
	}
	if int(e.Aux) >= len(outputs) {
		return fault(abi.FaultBadEffect, k.op, "op %d, %s, was answered by a row to output %d, which it does not have: there are %d, numbered from 0", k.op, o.kind, e.Aux, len(outputs))
	}
	return k.row(e, outputs[e.Aux])
}

// row checks a row, and settles its NaNs: nobody but us looks at it from here on.
func (k *checker) row(e *abi.Effect, s *stream.Checker) error {
	if err := s.Check(e.Payload); err != nil {
		return fault(abi.FaultBadRow, k.op, "op %d was answered by a row that is no %s: %v", k.op, s.Schema(), err)
	}
	s.SettleNaNs(e.Payload)
	return nil
}

// slot is what the slot must be that an effect names.
func (k *checker) slot(e *abi.Effect) (*stream.Checker, error) {
	slots := k.c.slots
	if uint64(e.Aux) >= uint64(len(k.c.frame.groups)*len(slots)) {
		return nil, fault(abi.FaultBadSlot, k.op, "op %d: %s of slot %d, and the frame has %d", k.op, e.Kind, e.Aux, len(k.c.frame.groups)*len(slots))
	}
	return slots[int(e.Aux)%len(slots)], nil
}

func (k *checker) setSlot(e *abi.Effect) error {
	s, err := k.slot(e)
	if err != nil {
		return err
	}
	if k.c.stride != 0 {
		return fault(abi.FaultBadEffect, k.op, "op %d: set-slot, and slots are of fixed width: they are edited in place", k.op)
	}
	if len(e.Payload) > 0 || !k.c.states {
		if err := k.row(e, s); err != nil {
			return err
		}
	}
	k.c.frame.sets[e.Aux] = set{e.Payload, true}
	return nil
}

// checkSlots makes sure that slots of fixed width are rows, or hold nothing.
func (c *Caller) checkSlots(edited []byte) error {
	if c.stride == 0 {
		return nil
	}
	at := int(c.frame.header.SlotsOffset)
	for range c.frame.groups {
		for i, s := range c.slots {
			row := edited[at : at+c.widths[i]]
			at += c.stride
			if c.states && holdsNothing(row) {
				continue
			}
			if err := s.Check(row); err != nil {
				return fault(abi.FaultBadRow, -1, "slot %d of an op was left as no row of %s: %v", i, s.Schema(), err)
			}
			s.SettleNaNs(row)
		}
	}
	return nil
}

// holdsNothing tells a slot of fixed width that holds no value.
func holdsNothing(row []byte) bool {
	if row[0] != absent {
		return false
	}
	for _, b := range row[1:] {
		if b != 0 {
			return false
		}
	}
	return true
}

// take stores the slots and carries the effects out.
func (c *Caller) take(effects, edited []byte) error {
	if c.frame.plain {
		return c.takePlain(effects)
	}
	if err := c.store(edited); err != nil {
		return err
	}
	f := &c.frame
	if f.single {
		return c.takeSingle(effects)
	}
	list := abi.ReadEffects(effects, f.to-f.from)
	next := f.from
	var e abi.Effect
	for {
		i, ok := f.to, list.Read(&e)
		if ok {
			i = f.from + int(e.Op)
		}
		for ; next < i; next++ {
			if err := c.role.Done(next); err != nil {
				return err
			}
		}
		if !ok {
			return nil
		}
		if e.Kind != abi.EffectSetSlot {
			if err := c.role.Take(i, e); err != nil {
				return err
			}
		}
	}
}

func (c *Caller) store(edited []byte) error {
	f := &c.frame
	slots := len(c.slots)
	for p, g := range f.groups {
		for i := range c.slots {
			n := p*slots + i
			var row []byte
			switch {
			case f.copied[p] || c.stride == 0 && !f.sets[n].done:
				continue
			case c.stride == 0:
				row = f.sets[n].row
			default:
				at := int(f.header.SlotsOffset) + n*c.stride
				if row = edited[at : at+c.widths[i]]; c.states && holdsNothing(row) {
					row = nil
				}
			}
			if err := c.role.Store(g, i, row); err != nil {
				return err
			}
		}
	}
	return nil
}
