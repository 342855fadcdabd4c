package conform

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/wasmstream/wasmstream/abi"
	"github.com/wasmstream/wasmstream/host/stream"
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
	schema, err := stream.ParseSchemaText(string(e.Payload))
	if err != nil || int(e.Aux) >= len(p.schemas.outputs) {
		return fmt.Errorf("the schema of output %d: %w", e.Aux, err)
	}
	p.schemas.outputs[e.Aux] = schema
	return nil
}

// show writes an effect for people.
func (p *player) show(e *abi.Effect) string {
	text := fmt.Sprintf("%s for op %d", e.Kind, e.Op)
	switch {
	case e.Kind == abi.EffectEmit && int(e.Aux) < len(p.schemas.outputs):
		return fmt.Sprintf("%s to output %d, %s", text, e.Aux, showRow(p.schemas.outputs[e.Aux], e.Payload))
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

// showRow is a row as values, or as bytes where they make none.
func showRow(schema *stream.Schema, row []byte) string {
	if schema == nil {
		return cut(row)
	}
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
func (p *player) holds() error {
	for _, h := range p.f.Holds {
		var are [][2][]byte
		what := "a value state"
		schemas := stateSchemas{}
		if h.Cell == nil {
			are, what = p.g.Entries(h.Owner, h.State), fmt.Sprintf("state %d", h.State)
			if h.State < len(p.schemas.states) {
				schemas = p.schemas.states[h.State]
			}
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
			return wrong(noOp, "after it, %s must hold %s; it holds %s", what, showEntries(schemas, must), showEntries(schemas, are))
		}
	}
	return nil
}

func showEntries(s stateSchemas, entries [][2][]byte) string {
	if len(entries) == 0 {
		return "nothing"
	}
	parts := make([]string, len(entries))
	for i, e := range entries {
		parts[i] = showRow(s.value, e[1])
		if len(e[0]) > 0 {
			parts[i] = showRow(s.key, e[0]) + ": " + parts[i]
		}
	}
	return "[" + strings.Join(parts, ", ") + "]"
}
