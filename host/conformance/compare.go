package conformance

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/wasmstream/wasmstream/abi"
	"github.com/wasmstream/wasmstream/host/guest"
	"github.com/wasmstream/wasmstream/host/stream"
)

// compare holds the effects of a frame against those that must be.
func (p *player) compare(f *Frame, effects []byte) error {
	must, err := p.visible(f.Effects)
	if err != nil {
		return err
	}
	are, err := p.visible(effects)
	if err != nil {
		return err
	}
	for i := 0; i < max(len(must), len(are)); i++ {
		switch {
		case i >= len(are):
			return wrong(int(must[i].Op), "%s is missing", p.show(&must[i]))
		case i >= len(must):
			return wrong(int(are[i].Op), "%s is too many", p.show(&are[i]))
		case !same(&must[i], &are[i]):
			return wrong(int(min(must[i].Op, are[i].Op)), "it must be answered by %s; the answer is %s", p.show(&must[i]), p.show(&are[i]))
		}
		if must[i].Kind == abi.EffectSchema {
			if err := p.answered(&must[i]); err != nil {
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

// answered takes over the schema of an output that opening answers.
func (p *player) answered(e *abi.Effect) error {
	schema, err := guest.ParseSchema(string(e.Payload))
	if err != nil || int(e.Aux) >= len(p.outputs) {
		return fmt.Errorf("the schema of output %d: %w", e.Aux, err)
	}
	p.outputs[e.Aux] = schema
	return nil
}

// show writes an effect for people.
func (p *player) show(e *abi.Effect) string {
	text := fmt.Sprintf("%s for op %d", e.Kind, e.Op)
	switch {
	case e.Kind == abi.EffectEmit && int(e.Aux) < len(p.outputs):
		return fmt.Sprintf("%s to output %d, %s", text, e.Aux, showRow(p.outputs[e.Aux], e.Payload))
	case e.Kind == abi.EffectSchema:
		return fmt.Sprintf("%s, output %d, %q", text, e.Aux, e.Payload)
	case len(e.Payload) == 8, len(e.Payload) == 16:
		text += fmt.Sprintf(", aux %d", e.Aux)
		for at := 0; at < len(e.Payload); at += 8 {
			text += fmt.Sprintf(" %d", int64(binary.LittleEndian.Uint64(e.Payload[at:])))
		}
		return text
	}
	return fmt.Sprintf("%s, aux %d, %d bytes %s", text, e.Aux, len(e.Payload), cut(e.Payload))
}

// showRow is a row as values, or as bytes where they are the same or make none.
func showRow(schema *stream.Schema, row []byte) string {
	if err := stream.CheckExact(schema, row); err != nil {
		return fmt.Sprintf("which is no row of %s: %v: %s", schema, err, cut(row))
	}
	return "(" + schema.Show(row) + ")"
}

// cut shows bytes, the first of them if they are many.
func cut(b []byte) string {
	if len(b) > 64 {
		return fmt.Sprintf("%x…", b[:64])
	}
	return fmt.Sprintf("%x", b)
}

// holds looks at states after a frame.
func (p *player) holds(f *Frame) error {
	for _, h := range f.Holds {
		if h.Cell != nil {
			if err := p.holdsCell(&h); err != nil {
				return err
			}
			continue
		}
		state := p.function.GetStates()[h.State]
		entries := p.states.entries[place{h.Owner, h.State}]
		schemas := p.states.schemas[h.State]
		is, must := make([]string, len(entries)), make([]string, len(h.Entries))
		for i, e := range entries {
			is[i] = showEntry(schemas, e.key, e.value)
		}
		for i, e := range h.Entries {
			must[i] = showEntry(schemas, e[0], e[1])
		}
		if strings.Join(is, ", ") != strings.Join(must, ", ") {
			return wrong(noOp, "after it, state %s must hold [%s]; it holds [%s]", state.GetName(), strings.Join(must, ", "), strings.Join(is, ", "))
		}
	}
	return nil
}

// showEntry has the bytes as well, since entries are compared by it.
func showEntry(s stateSchemas, key, value []byte) string {
	text := fmt.Sprintf("%s %x", showRow(s.value, value), value)
	if len(key) > 0 {
		text = fmt.Sprintf("%s %x: ", showRow(s.key, key), key) + text
	}
	return text
}

func (p *player) holdsCell(h *Held) error {
	var must []byte
	if len(h.Entries) > 0 {
		must = h.Entries[0][1]
	}
	is := p.cells[*h.Cell]
	if bytes.Equal(must, is) {
		return nil
	}
	return wrong(noOp, "after it, a state must hold %s; it holds %s", cut(must), cut(is))
}
