package conform

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"github.com/wasmstream/wasmstream/abi"
	"github.com/wasmstream/wasmstream/host/stream"
)

// Rows knows a function's schemas, and shows its effects and states by them.
type Rows struct {
	role    string
	outputs []*stream.Schema
	slots   []*stream.Schema // of an op
	names   []string         // of the slots
	states  []stateSchemas
	inputs  []*stream.Schema // what it reads, and the second of those that read two
	key     *stream.Schema   // of contexts; without columns: it has none
	reduces bool             // a slot is a row of the input
}

type stateSchemas struct {
	name       string
	key, value *stream.Schema
}

// messageSchema is what encode emits.
var messageSchema = &abi.Schema{Fields: []*abi.Field{{Name: "value", Type: "BYTES"}, {Name: "key", Type: "BYTES"}}}

// RowsOf reads the schemas that a manifest gives a function.
func RowsOf(f *abi.Function) (*Rows, error) {
	var errs []error
	read := func(s *abi.Schema) *stream.Schema {
		schema, err := stream.ParseSchemaText(s.Text())
		errs = append(errs, err)
		return schema
	}
	output := f.GetOutput()
	if f.GetRole() == abi.RoleEncode {
		output = messageSchema
	}
	input := f.GetInput()
	if f.GetRole() == abi.RoleDecode {
		input = messageSchema
	}
	r := &Rows{
		role:    f.GetRole(),
		outputs: []*stream.Schema{read(output)}, reduces: f.GetRole() == abi.RoleReduce,
		inputs: []*stream.Schema{read(input), read(f.GetSecondInput())}, key: read(f.GetKey()),
	}
	for _, o := range f.GetNamedOutputs() {
		r.outputs = append(r.outputs, read(o.GetSchema()))
	}
	switch {
	case f.GetRole() == abi.RoleAggregate:
		r.slots, r.names = append(r.slots, read(f.GetAccumulator())), append(r.names, "the accumulator")
	case r.reduces:
		r.slots, r.names = append(r.slots, read(f.GetInput())), append(r.names, "the slot")
	}
	for _, state := range f.GetStates() {
		if state.InSlot() {
			r.slots, r.names = append(r.slots, read(state.GetValue())), append(r.names, "state "+state.GetName())
		}
		r.states = append(r.states, stateSchemas{state.GetName(), read(state.GetKey()), read(state.GetValue())})
	}
	return r, errors.Join(errs...)
}

// Opened takes over what an opening says of the schemas that the manifest leaves open:
// the frame those of inputs, the effects those of outputs.
func (r *Rows) Opened(frame, effects []byte) error {
	h, err := abi.ReadHeader(frame)
	if err != nil || h.Ops != 1 {
		return fmt.Errorf("an opening of %d ops: %w", h.Ops, err)
	}
	op := abi.ReadOp(frame, int(h.OpsOffset))
	if op.Arg != 0 {
		if err := r.told(frame, op.Arg); err != nil {
			return err
		}
	}
	list := abi.ReadEffects(effects, 1)
	for e, ok := list.Next(); ok; e, ok = list.Next() {
		if err := r.answered(&e); err != nil {
			return err
		}
	}
	return list.Err()
}

// told takes over the schemas of inputs: {u32 length, text}, padded to 8, for each.
func (r *Rows) told(frame []byte, at uint32) error {
	inputs := 1
	switch r.role {
	case abi.RoleCoProcess, abi.RoleBroadcastProcess, abi.RoleJoin, abi.RoleCoGroup:
		inputs = 2
	}
	for i := range inputs {
		if uint64(at)+4 > uint64(len(frame)) {
			return fmt.Errorf("a schema at %d, beyond the frame", at)
		}
		length := binary.LittleEndian.Uint32(frame[at:])
		rest := frame[at+4:]
		if uint64(length) > uint64(len(rest)) {
			return fmt.Errorf("a schema of %d bytes at %d, beyond the frame", length, at)
		}
		schema, err := stream.ParseSchemaText(string(rest[:length]))
		if err != nil {
			return err
		}
		r.inputs[i] = schema
		if i == 0 && r.reduces {
			r.slots = []*stream.Schema{schema}
		}
		at += uint32(abi.Align(int(4 + length)))
	}
	return nil
}

// answered takes over the schema of an output that opening answers.
func (r *Rows) answered(e *abi.Effect) error {
	if e.Kind != abi.EffectSchema {
		return nil
	}
	schema, err := stream.ParseSchemaText(string(e.Payload))
	if err != nil {
		return fmt.Errorf("the schema of output %d: %w", e.Aux, err)
	}
	if int(e.Aux) >= len(r.outputs) {
		return fmt.Errorf("a schema of output %d, and there are %d", e.Aux, len(r.outputs))
	}
	r.outputs[e.Aux] = schema
	return nil
}

// Op writes what an op of a frame asks for, for people.
func (r *Rows) Op(frame []byte, i int) string {
	h, err := abi.ReadHeader(frame)
	if err != nil || i >= int(h.Ops) {
		return "?"
	}
	op := abi.ReadOp(frame, int(h.OpsOffset)+i*abi.OpBytes)
	text := op.Kind.String()
	if op.Slot != abi.NoSlot {
		text += fmt.Sprintf(", slot %d", op.Slot)
	}
	input := r.inputs[0]
	switch op.Kind {
	case abi.OpOnSecond, abi.OpOnBroadcast, abi.OpOnKey:
		input = r.inputs[1]
	case abi.OpOnTimer, abi.OpOnEventTime, abi.OpOnProcessingTime:
		if at := uint64(op.Arg) + abi.ContextAtTime; at+8 <= uint64(len(frame)) {
			text += fmt.Sprintf(", at %d", int64(binary.LittleEndian.Uint64(frame[at:])))
		}
	}
	if at := uint64(op.Arg) + abi.ContextAtKey; r.key.Len() > 0 && op.Arg != 0 && at+4 <= uint64(len(frame)) {
		text += r.rowAt(", key ", r.key, frame, binary.LittleEndian.Uint32(frame[at:]))
	}
	return text + r.rowAt(", ", input, frame, op.Row)
}

// rowAt shows a row of a frame, if there is one at that offset.
func (r *Rows) rowAt(prefix string, schema *stream.Schema, frame []byte, at uint32) string {
	if at == 0 || uint64(at)+uint64(schema.FixedBytes()) > uint64(len(frame)) || schema.Len() == 0 {
		return ""
	}
	row := frame[at:]
	end := uint64(schema.FixedBytes())
	for i := range schema.Len() {
		c := schema.Column(i)
		if c.Type.Kind != stream.String && c.Type.Kind != stream.Bytes {
			continue
		}
		if slot := c.Slot(row); slot>>63 == 0 && slot != 0 {
			end = max(end, slot>>32+uint64(abi.Align(int(uint32(slot)))))
		}
	}
	if end > uint64(len(row)) || stream.CheckRow(schema, row[:end]) != nil {
		return ""
	}
	return prefix + "(" + schema.Show(row[:end]) + ")"
}

// Effect writes an effect for people, without its op.
func (r *Rows) Effect(e *abi.Effect) string {
	switch {
	case e.Kind == abi.EffectEmit && int(e.Aux) < len(r.outputs):
		return fmt.Sprintf("%s to output %d, %s", e.Kind, e.Aux, showRow(r.outputs[e.Aux], e.Payload))
	case e.Kind == abi.EffectSchema:
		return fmt.Sprintf("%s, output %d, %q", e.Kind, e.Aux, e.Payload)
	case e.Kind == abi.EffectSetSlot && len(e.Payload) == 0:
		return fmt.Sprintf("%s, nothing in slot %d", e.Kind, e.Aux)
	case e.Kind == abi.EffectSetSlot:
		return fmt.Sprintf("%s, slot %d, %s", e.Kind, e.Aux, r.Slot(int(e.Aux), e.Payload))
	case e.Kind == abi.EffectRequest:
		return fmt.Sprintf("%s %s", e.Kind, showRow(requestSchema, e.Payload))
	}
	text := e.Kind.String() + auxOf(e)
	switch len(e.Payload) {
	case 0:
	case 8, 16:
		for at := 0; at < len(e.Payload); at += 8 {
			text += fmt.Sprintf(" %d", int64(binary.LittleEndian.Uint64(e.Payload[at:])))
		}
	default:
		text += fmt.Sprintf(", %d bytes %s", len(e.Payload), cut(e.Payload))
	}
	return text
}

var requestSchema = stream.MustSchema(
	stream.Field{Name: "method", Type: stream.Type{Kind: stream.String}}, stream.Field{Name: "url", Type: stream.Type{Kind: stream.String}},
	stream.Field{Name: "headers", Type: stream.Type{Kind: stream.String}}, stream.Field{Name: "body", Type: stream.Type{Kind: stream.Bytes}})

// auxWords are what the aux of an effect means, as cases have it.
var auxWords = map[abi.EffectKind][]string{
	abi.EffectSetTimer: {"event", "processing"}, abi.EffectDeleteTimer: {"event", "processing"},
	abi.EffectDecide: {"continue", "fire", "purge", "fire-and-purge"},
}

func auxOf(e *abi.Effect) string {
	words := auxWords[e.Kind]
	switch {
	case int64(e.Aux) < int64(len(words)):
		return " " + words[e.Aux]
	case e.Kind == abi.EffectEvict:
		return fmt.Sprintf(" %d", e.Aux)
	case e.Kind == abi.EffectTouch:
		return fmt.Sprintf(", slot %d", e.Aux)
	case e.Aux == 0:
		return ""
	}
	return fmt.Sprintf(", aux %d", e.Aux)
}

// StateName is a list or map state as its manifest names it.
func (r *Rows) StateName(state int) string {
	if state < len(r.states) {
		return r.states[state].name
	}
	return fmt.Sprint(state)
}

// SlotName says what a slot is of: a state, or the accumulator; "" if that is not known.
func (r *Rows) SlotName(slot int) string {
	if len(r.names) == 0 {
		return ""
	}
	return r.names[slot%len(r.names)]
}

// Slot shows what a slot of a frame holds.
func (r *Rows) Slot(slot int, content []byte) string {
	if present(content) == nil {
		return "nothing"
	}
	if len(r.slots) == 0 {
		return cut(content)
	}
	schema := r.slots[slot%len(r.slots)]
	if n := schema.FixedBytes(); schema.IsFixedWidth() && len(content) > n && allZero(content[n:]) {
		content = content[:n]
	}
	return showRow(schema, content)
}

// Entry shows an entry of a list or map; the key is empty for a list.
func (r *Rows) Entry(state int, key, value []byte) string {
	if state >= len(r.states) {
		return cut(key) + ": " + cut(value)
	}
	s := r.states[state]
	switch {
	case len(key) == 0 && len(value) == 0:
		return "all"
	case len(key) == 0:
		return showRow(s.value, value)
	case len(value) == 0:
		return showRow(s.key, key)
	}
	return showRow(s.key, key) + ": " + showRow(s.value, value)
}

// showEntries shows all of a list or map.
func (r *Rows) showEntries(state int, entries [][2][]byte) string {
	if len(entries) == 0 {
		return "nothing"
	}
	parts := make([]string, len(entries))
	for i, e := range entries {
		parts[i] = r.Entry(state, e[0], e[1])
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// difference names the columns in which two effects differ that are rows of one output; else it is empty.
func (r *Rows) difference(must, is *abi.Effect) string {
	if must.Kind != abi.EffectEmit || is.Kind != must.Kind || is.Aux != must.Aux || int(is.Aux) >= len(r.outputs) {
		return ""
	}
	return rowDifference(r.outputs[is.Aux], must.Payload, is.Payload)
}

func rowDifference(schema *stream.Schema, must, is []byte) string {
	if schema == nil || stream.CheckExact(schema, must) != nil || stream.CheckExact(schema, is) != nil {
		return ""
	}
	if text := schema.ShowDifference(is, must); text != "" {
		return ": " + text
	}
	return ""
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
