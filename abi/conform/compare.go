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
			return wrong(int(min(must[i].Op, are[i].Op)), "the answer must be: %s; it is: %s", p.show(&must[i]), p.show(&are[i]))
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
		var are [][2][]byte
		what, state := "a slot", len(p.rows.states) // whose rows are shown as bytes
		if h.Cell == nil {
			are, what, state = p.g.Entries(h.Owner, h.State), fmt.Sprintf("state %d", h.State), h.State
		} else if content := present(p.held[*h.Cell]); content != nil {
			if len(h.Entries) == 1 && allZero(content[min(len(content), len(h.Entries[0][1])):]) {
				content = content[:min(len(content), len(h.Entries[0][1]))] // narrower than the stride
			}
			are = [][2][]byte{{nil, content}}
		}
		must := make([][2][]byte, len(h.Entries))
		for i, e := range h.Entries {
			must[i] = [2][]byte{e[0], e[1]}
		}
		if !slices.EqualFunc(are, must, func(a, b [2][]byte) bool {
			return bytes.Equal(a[1], b[1]) && (len(b[0]) == 0 || bytes.Equal(a[0], b[0]))
		}) {
			return wrong(noOp, "after it, %s must hold %s; it holds %s", what, p.rows.showEntries(state, must), p.rows.showEntries(state, are))
		}
	}
	return nil
}
