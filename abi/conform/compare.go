package conform

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/wasmstream/wasmstream/abi"
)

// compare holds the effects of a frame against those that must be.
func (p *player) compare(effects []byte) error {
	must, err := p.visible(p.f.Effects)
	if err != nil {
		return err
	}
	are, err := p.visible(effects)
	if err != nil {
		return wrong(noOp, "its effects are none: %v", err)
	}
	for i := 0; i < max(len(must), len(are)); i++ {
		switch {
		case i >= len(are):
			return wrong(int(must[i].Op), "missing: %s", p.show(&must[i]))
		case i >= len(must):
			return wrong(int(are[i].Op), "too many: %s", p.show(&are[i]))
		case !same(&must[i], &are[i]):
			return wrong(int(min(must[i].Op, are[i].Op)), "the answer must be: %s; it is: %s%s", p.show(&must[i]), p.show(&are[i]), p.rows.difference(&must[i], &are[i]))
		}
		if must[i].Kind == abi.EffectSchema {
			if err := p.rows.answered(&must[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// visible are the effects that are compared: what slots are left as is looked at elsewhere.
func (p *player) visible(effects []byte) (out []abi.Effect, err error) {
	list := abi.ReadEffects(effects, int(p.header.Ops))
	for e, ok := list.Next(); ok; e, ok = list.Next() {
		if e.Kind != abi.EffectSetSlot && e.Kind != abi.EffectTouch {
			out = append(out, e)
		}
	}
	return out, list.Err()
}

func same(a, b *abi.Effect) bool {
	return a.Kind == b.Kind && a.Op == b.Op && a.Aux == b.Aux && bytes.Equal(a.Payload, b.Payload)
}

// show writes an effect with its op.
func (p *player) show(e *abi.Effect) string {
	return fmt.Sprintf("for op %d %s", e.Op, p.rows.Effect(e))
}

// holds looks at states after a frame.
func (p *player) holds() error {
	for _, h := range p.f.Holds {
		if h.Cell != nil {
			if err := p.holdsCell(&h); err != nil {
				return err
			}
			continue
		}
		are := p.g.Entries(h.Owner, h.State)
		must := make([][2][]byte, len(h.Entries))
		for i, e := range h.Entries {
			must[i] = [2][]byte{e[0], e[1]}
		}
		if !slices.EqualFunc(are, must, func(a, b [2][]byte) bool {
			return bytes.Equal(a[1], b[1]) && (len(b[0]) == 0 || bytes.Equal(a[0], b[0]))
		}) {
			what := fmt.Sprintf("state %d", h.State)
			if h.State < len(p.rows.states) {
				what = "state " + p.rows.states[h.State].name
			}
			return wrong(p.lastOp(), "after it, %s must hold %s; it holds %s", what, p.rows.showEntries(h.State, must), p.rows.showEntries(h.State, are))
		}
	}
	return nil
}

// holdsCell looks at a state that is a slot, by its cell.
func (p *player) holdsCell(h *Held) error {
	var must []byte
	if len(h.Entries) > 0 {
		must = h.Entries[0][1]
	}
	is := present(p.held[*h.Cell])
	if len(is) > len(must) && len(must) > 0 && allZero(is[len(must):]) {
		is = is[:len(must)] // narrower than the stride
	}
	if bytes.Equal(is, must) {
		return nil
	}
	// A cell of the frame has its slot's place among an op's; of one that no op of it has, nothing more is known.
	what, slot := "a state", slices.Index(p.f.Cells, *h.Cell)
	if n := len(p.rows.slots); n > 0 && slot >= 0 {
		what, slot = p.rows.names[slot%n], slot%n
	}
	text := fmt.Sprintf("after it, %s must hold %s; it holds %s", what, p.rows.Slot(max(slot, 0), must), p.rows.Slot(max(slot, 0), is))
	if slot >= 0 && slot < len(p.rows.slots) {
		text += rowDifference(p.rows.slots[slot], must, is)
	}
	return wrong(p.lastOp(), "%s", text)
}

// lastOp is the op behind which states are looked at.
func (p *player) lastOp() int { return int(p.header.Ops) - 1 }
