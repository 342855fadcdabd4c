package guest

import "github.com/wasmstream/wasmstream/abi"

// Limited is a Role for which no more than so much may be kept. What would be more is a
// fault of its op.
type Limited interface {
	// Near tells whether an answer of so many bytes may come to a limit at all. It comes
	// once for each frame, before anything is taken from it.
	Near(bytes int) bool
	// Room is what a value of so many bytes takes where it is kept.
	Room(bytes int) int
	// Over says what limit is passed if so many bytes are kept in addition, in so many
	// entries, with so many timers; "": none.
	Over(bytes, entries, timers int) string
	// AddsTimer tells of a timer that op i sets or deletes whether it is one more to keep.
	AddsTimer(i int, e abi.Effect) bool
}

// withinLimits finds the first op of a frame that adds too much to what is kept. An op
// that comes out alone after those before it is counted exactly; among others what it
// replaces of theirs is not known, so more may be found, which asking again corrects.
func (c *Caller) withinLimits(effects, edited []byte) error {
	if c.limited == nil || !c.limited.Near(len(effects)) {
		return nil
	}
	f, bytes, timers, entries := &c.frame, 0, 0, 0
	c.lengths = c.lengths[:0]
	for range len(f.groups) * len(c.slots) {
		c.lengths = append(c.lengths, -1)
	}
	list := abi.ReadEffects(effects, f.to-f.from)
	for e, ok := list.Next(); ok; e, ok = list.Next() {
		switch {
		case e.Kind == abi.EffectSetSlot:
			more, isNew := c.grows(e.Aux, e.Payload)
			bytes, entries = bytes+more, entries+isNew
		case (e.Kind == abi.EffectSetTimer || e.Kind == abi.EffectDeleteTimer) && c.limited.AddsTimer(f.from+int(e.Op), e):
			timers++
		default:
			continue
		}
		if over := c.limited.Over(bytes, entries, timers); over != "" {
			return fault(abi.FaultOverLimit, int(e.Op), "%s", over)
		}
	}
	if c.stride == 0 {
		return nil
	}
	at := int(f.header.SlotsOffset)
	for p := range f.groups {
		for i, s := range c.slots {
			row := edited[at : at+s.Schema().FixedBytes()]
			at += c.stride
			if f.copied[p] || c.states && holdsNothing(row) {
				continue
			}
			more, isNew := c.grows(uint32(p*len(c.slots)+i), row)
			bytes, entries = bytes+more, entries+isNew
			if isNew == 0 {
				continue
			}
			if over := c.limited.Over(bytes, entries, timers); over != "" {
				return fault(abi.FaultOverLimit, c.firstOf(p), "%s", over)
			}
		}
	}
	return nil
}

// grows tells by how much a slot of the frame gets longer, and 1 if it held nothing. What
// it holds is looked at once, however often the guest sets it.
func (c *Caller) grows(slot uint32, row []byte) (bytes, isNew int) {
	if c.lengths[slot] < 0 {
		group, i := c.Slot(slot)
		c.held = c.role.Load(c.held[:0], group, i)
		c.lengths[slot] = len(c.held)
	}
	if c.lengths[slot] == 0 && len(row) > 0 {
		isNew = 1
	}
	return max(0, c.limited.Room(len(row))-c.limited.Room(c.lengths[slot])), isNew
}

// firstOf is the first op of the frame that is on a group, by its place.
func (c *Caller) firstOf(place int) int {
	f := &c.frame
	for i := f.from; i < f.to; i++ {
		if o := &c.ops[i]; o.group != NoGroup && int(o.place) == place {
			return i - f.from
		}
	}
	return 0
}

// Rebuilt is an Instance that counts what its last Rebuild has cost.
type Rebuilt interface {
	// RebuildFuel is what the last Rebuild has spent.
	RebuildFuel() int64
}

// costlyRebuild is more than any start of the languages' takes: a guest of Go takes 20 million.
const costlyRebuild = 100_000_000

// CostlyRebuilds is how often the instance was rebuilt, since it was asked last, at the
// cost of whole frames: each counts like a fault.
func (c *Caller) CostlyRebuilds() int64 {
	n := c.costly
	c.costly = 0
	return n
}
