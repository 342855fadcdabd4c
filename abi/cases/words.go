package cases

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Effect is an effect that a function answered, or must answer.
type Effect struct {
	Kind, Aux uint32
	Payload   []byte
}

// Words tells what a function answers in the words of its cases.
type Words struct {
	outputs []*Schema
	names   []string // of the named ones
}

// words are those of a case's function, whose opening may answer the schemas of outputs.
func (c *testCase) words(f *Function) *Words {
	w := &Words{outputs: []*Schema{f.Output}}
	if f.Role == "encode" {
		w.outputs[0] = messageSchema
	}
	for _, o := range f.NamedOutputs {
		w.outputs, w.names = append(w.outputs, o.Schema), append(w.names, o.Name)
	}
	for _, e := range c.open.effects {
		if e.kind == effectSchema && int(e.aux) < len(w.outputs) {
			w.outputs[e.aux] = schemaOfText(e.payload)
		}
	}
	return w
}

// rowOf is the schema of an effect's payload, if it is a row.
func (w *Words) rowOf(e *Effect) (s *Schema, is bool) {
	switch {
	case e.Kind == effectEmit && int(e.Aux) < len(w.outputs):
		return w.outputs[e.Aux], true
	case e.Kind == effectRequest:
		return requestSchema, true
	}
	return nil, false
}

// Effect is an effect as a case has it behind =>.
func (w *Words) Effect(e *Effect) string {
	if schema, is := w.rowOf(e); is {
		word := "request "
		switch {
		case e.Kind == effectEmit && e.Aux > 0:
			word = "emit " + w.names[e.Aux-1] + " "
		case e.Kind == effectEmit:
			word = "emit "
		}
		return word + rowText(schema, e.Payload)
	}
	switch e.Kind {
	case effectEmit:
		return fmt.Sprintf("emit to output %d, and the function has %d, numbered from 0", e.Aux, len(w.outputs))
	case effectSchema:
		return fmt.Sprintf("schema %d %q", e.Aux, e.Payload)
	case effectEvict:
		return fmt.Sprintf("evict %d", e.Aux)
	}
	word, known := plainEffects[e.Kind]
	if !known {
		return fmt.Sprintf("an effect of kind %d, which no case has", e.Kind)
	}
	if words := auxWords[e.Kind]; words != nil {
		if int(e.Aux) >= len(words) {
			return fmt.Sprintf("%s %d, which is none of %s", word, e.Aux, strings.Join(words, ", "))
		}
		word += " " + words[e.Aux]
	}
	for at := 0; at+8 <= len(e.Payload); at += 8 {
		word += fmt.Sprintf(" %d", int64(le.Uint64(e.Payload[at:])))
	}
	return word
}

// plainEffects are the words of effects that are at most a word and numbers, auxWords what their aux stands for.
var (
	plainEffects = map[uint32]string{
		effectSetTimer: "set-timer", effectDeleteTimer: "delete-timer", effectDecide: "decide", effectAssign: "assign",
		effectKeep: "keep", effectVisitKeys: "visit-keys", effectEventTime: "event-time", effectWatermark: "watermark",
	}
	auxWords = map[uint32][]string{effectSetTimer: domains, effectDeleteTimer: domains, effectDecide: decisions}
)

// Compare tells how an effect differs from the one that must be; nil stands for none.
func (w *Words) Compare(want, got *Effect) string {
	switch {
	case got == nil:
		return "want " + w.Effect(want) + "; got nothing"
	case want == nil:
		return "got " + w.Effect(got) + ", beyond what is wanted"
	}
	text := "want " + w.Effect(want) + "; got " + w.Effect(got)
	if schema, is := w.rowOf(want); is && want.Kind == got.Kind && want.Aux == got.Aux {
		text += difference(schema, want.Payload, got.Payload)
	}
	return text
}

// Compare tells how what a state holds differs from what it must hold.
func (h *Held) Compare(got [][2][]byte) string {
	want := make([][2][]byte, len(h.Entries))
	for i, e := range h.Entries {
		want[i] = [2][]byte{e[0], e[1]}
	}
	text := fmt.Sprintf("%s must hold %s; it holds %s", h.Name, h.text(want), h.text(got))
	if len(want) == 1 && len(got) == 1 {
		text += difference(h.Value, want[0][1], got[0][1])
	}
	return text
}

// text is what a state holds, as a case has it.
func (h *Held) text(entries [][2][]byte) string {
	parts := make([]string, len(entries))
	for i, e := range entries {
		if h.Key != nil {
			parts[i] = rowText(h.Key, e[0]) + ": "
		}
		parts[i] += rowText(h.Value, e[1])
	}
	if len(parts) == 0 {
		return "nothing"
	}
	return strings.Join(parts, ", ")
}

// difference names the columns in which two rows differ.
func difference(s *Schema, want, got []byte) string {
	if !isRow(s, want) || !isRow(s, got) {
		return ""
	}
	var parts []string
	for i, f := range s.fields() {
		if w, g := fieldText(s, want, i), fieldText(s, got, i); w != g {
			parts = append(parts, fmt.Sprintf("column %s is %s, not %s", f.Name, g, w))
		}
	}
	if len(parts) == 0 {
		return fmt.Sprintf(": the values are alike, the bytes are not: %x instead of %x", got, want)
	}
	return ": " + strings.Join(parts, ", ")
}

// rowText is a row as JSON, as a case has it; NULLs are there, too.
func rowText(s *Schema, row []byte) string {
	if !isRow(s, row) {
		return fmt.Sprintf("what is no row of its columns: %x", row)
	}
	parts := make([]string, len(s.fields()))
	for i, f := range s.fields() {
		parts[i] = jsonText(f.Name) + ": " + fieldText(s, row, i)
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// isRow tells whether there are all bytes of a row.
func isRow(s *Schema, row []byte) bool {
	if len(row) < fixedBytes(s) {
		return false
	}
	for i, f := range s.fields() {
		if _, there := valueOf(row, firstField(s)+8*i); !there && (f.Type == "STRING" || f.Type == "BYTES") {
			return false
		}
	}
	return true
}

// fieldText is a column's value as JSON.
func fieldText(s *Schema, row []byte, i int) string {
	if row[(i+8)/8]>>((i+8)%8)&1 != 0 {
		return "null"
	}
	at := firstField(s) + 8*i
	bits := le.Uint64(row[at:])
	switch s.Fields[i].Type {
	case "BOOLEAN":
		return strconv.FormatBool(bits != 0)
	case "INT", "DATE":
		return strconv.Itoa(int(int32(bits)))
	case "BIGINT", "TIMESTAMP(3)":
		return strconv.FormatInt(int64(bits), 10)
	case "FLOAT":
		return strconv.FormatFloat(float64(math.Float32frombits(uint32(bits))), 'g', -1, 32)
	case "DOUBLE":
		return strconv.FormatFloat(math.Float64frombits(bits), 'g', -1, 64)
	case "STRING":
		value, _ := valueOf(row, at)
		return jsonText(string(value))
	case "BYTES":
		value, _ := valueOf(row, at)
		return jsonText(base64.StdEncoding.EncodeToString(value))
	}
	return fmt.Sprintf("%#x", bits)
}

// valueOf is a value of variable width; false if it is not within the row.
func valueOf(row []byte, at int) (value []byte, there bool) {
	bits := le.Uint64(row[at:])
	if bits>>63 != 0 {
		return row[at : at+min(int(bits>>56&0x7F), 7)], true
	}
	offset, length := bits>>32, bits&math.MaxUint32
	if offset+length > uint64(len(row)) {
		return nil, false
	}
	return row[offset : offset+length], true
}

// jsonText is a string as JSON, with <, > and & as they are.
func jsonText(s string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(s) != nil {
		return strconv.Quote(s)
	}
	return strings.TrimSuffix(b.String(), "\n")
}
