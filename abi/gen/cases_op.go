package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/wasmstream/wasmstream/abi"
)

// opKinds are the ops of cases, by their words.
var opKinds = map[string]abi.OpKind{
	"create": abi.OpCreate, "add": abi.OpAdd, "merge": abi.OpMerge, "result": abi.OpResult, "reduce": abi.OpReduce,
	"on-record": abi.OpOnRecord, "on-second": abi.OpOnSecond, "on-broadcast": abi.OpOnBroadcast, "on-timer": abi.OpOnTimer,
	"on-window": abi.OpOnWindow, "assign": abi.OpAssign, "on-element": abi.OpOnElement, "on-event-time": abi.OpOnEventTime,
	"on-processing-time": abi.OpOnProcessingTime, "on-merge": abi.OpOnMerge, "clear": abi.OpClear, "evict": abi.OpEvict,
	"on-pair": abi.OpOnPair, "on-group": abi.OpOnGroup, "on-answer": abi.OpOnAnswer, "decode": abi.OpDecode,
	"encode": abi.OpEncode, "on-key": abi.OpOnKey,
}

// contextBytes is what kind of context an op has; 0: none.
func contextBytes(role string, kind abi.OpKind) int {
	switch kind {
	case abi.OpOnRecord:
		if role == abi.RoleProcess || role == abi.RoleCoProcess || role == abi.RoleBroadcastProcess {
			return abi.ContextKeyedBytes
		}
		return abi.ContextRecordBytes
	case abi.OpOnBroadcast, abi.OpAssign, abi.OpDecode, abi.OpEncode:
		return abi.ContextRecordBytes
	case abi.OpOnSecond, abi.OpOnTimer, abi.OpOnKey:
		return abi.ContextKeyedBytes
	case abi.OpOnElement, abi.OpOnEventTime, abi.OpOnProcessingTime, abi.OpClear:
		return abi.ContextWindowBytes
	case abi.OpOnWindow, abi.OpOnMerge, abi.OpEvict, abi.OpOnGroup:
		return abi.ContextGroupBytes
	case abi.OpOnPair, abi.OpOnAnswer:
		return abi.ContextPairBytes
	}
	return 0
}

// The rows of messages and answers.
var (
	messageSchema = mustSchema("BYTES value, BYTES key")
	requestSchema = mustSchema("STRING method, STRING url, STRING headers, BYTES body")
	answerSchema  = mustSchema("INT status, STRING headers, BYTES body, STRING error")
)

// op reads an op's line.
func (r *reader) op(number int, word, rest string) (err error) {
	kind, known := opKinds[word]
	if !known {
		return fmt.Errorf("%q is no word of cases.txt: see udfs/README.md", word)
	}
	s := step{line: number, kind: kind, text: strings.TrimSpace(word + " " + rest), owner: r.owner(kind == abi.OpOnBroadcast)}
	if bytes := contextBytes(r.f.GetRole(), kind); bytes > 0 {
		err = r.opInContext(&s, bytes, rest)
	} else {
		err = r.opOfSlot(&s, rest)
	}
	r.now.c.steps = append(r.now.c.steps, s)
	return err
}

// opOfSlot reads an op of an aggregate or a reduce function.
func (r *reader) opOfSlot(s *step, rest string) (err error) {
	slot, rest, _ := strings.Cut(rest, " ")
	if _, err := strconv.ParseUint(slot, 10, 16); err != nil {
		return fmt.Errorf("slot %q: %w", slot, err)
	}
	s.cells = []int{r.now.cell(slot)}
	switch s.kind {
	case abi.OpAdd, abi.OpReduce:
		s.row, err = encodeRow(r.now.input, rest)
	case abi.OpMerge:
		s.second = []int{r.now.cell(rest)}
	case abi.OpResult:
		s.text, _, _ = strings.Cut(s.text, " =>")
		var e wantedEffect
		e, err = r.effect("emit " + strings.TrimPrefix(rest, "=> "))
		s.effects = append(s.effects, e)
	}
	return err
}

// opInContext reads any other op.
func (r *reader) opInContext(s *step, bytes int, rest string) (err error) {
	n := &r.now
	c := &caseContext{bytes: bytes, time: math.MinInt64, watermark: n.watermark, clock: n.clock, key: n.keyRow}
	s.context = c
	if bytes >= abi.ContextWindowBytes {
		c.start, c.end = n.start, n.end
	}
	switch {
	case s.kind == abi.OpEvict && rest == "after", s.kind == abi.OpOnTimer && strings.HasPrefix(rest, "processing "):
		c.detail = 1
	case s.kind == abi.OpEvict && rest == "before", s.kind == abi.OpOnTimer && strings.HasPrefix(rest, "event "):
	case s.kind == abi.OpEvict, s.kind == abi.OpOnTimer:
		return fmt.Errorf("%q: evict is before or after the function, a timer of event or processing time", rest)
	}
	if s.kind == abi.OpEvict || s.kind == abi.OpOnTimer {
		_, rest, _ = strings.Cut(rest, " ")
	}
	if rest, err = cutTime(rest, &c.time); err != nil {
		return err
	}
	if err := r.opRows(s, rest); err != nil {
		return err
	}
	if s.kind != abi.OpOnBroadcast {
		s.cells = r.group(n.start, n.end)
	}
	if bytes == abi.ContextGroupBytes {
		c.elements, n.elements = n.elements, nil
	}
	for _, w := range n.merged {
		c.merged = append(c.merged, r.group(w[0], w[1]))
		r.forget(w[0], w[1])
	}
	n.merged = nil
	if s.kind == abi.OpClear {
		r.forget(n.start, n.end)
	}
	return nil
}

// opRows reads the rows of an op's line.
func (r *reader) opRows(s *step, rest string) error {
	schemas := []*abi.Schema{r.now.input}
	switch s.kind {
	case abi.OpOnSecond, abi.OpOnBroadcast, abi.OpOnKey:
		schemas[0] = r.now.second
	case abi.OpOnPair:
		schemas = append(schemas, r.now.second)
	case abi.OpOnAnswer:
		schemas = append(schemas, answerSchema)
	case abi.OpDecode:
		schemas[0] = messageSchema
	}
	texts, err := jsonValues(rest)
	if err != nil || len(texts) > len(schemas) {
		return fmt.Errorf("%q: %d rows at the most: %w", rest, len(schemas), err)
	}
	for i, text := range texts {
		if text == "-" {
			continue
		}
		row, err := encodeRow(schemas[i], text)
		if err != nil {
			return err
		}
		if i == 0 {
			s.row = row
		} else {
			s.context.second = row
		}
	}
	return nil
}

// decisions are those of triggers.
var decisions = []string{"continue", "fire", "purge", "fire-and-purge"}

// effect reads what follows =>.
func (r *reader) effect(text string) (e wantedEffect, err error) {
	word, rest, _ := strings.Cut(text, " ")
	switch word {
	case "emit":
		return r.emit(rest)
	case "set-timer", "delete-timer":
		e.kind = map[string]abi.EffectKind{"set-timer": abi.EffectSetTimer, "delete-timer": abi.EffectDeleteTimer}[word]
		domain, time, _ := strings.Cut(rest, " ")
		e.aux = uint32(slices.Index([]string{"event", "processing"}, domain))
		e.payload, err = numbers(time, 1)
	case "decide":
		e.kind, e.aux = abi.EffectDecide, uint32(slices.Index(decisions, rest))
	case "assign":
		e.kind = abi.EffectAssign
		e.payload, err = numbers(rest, 2)
	case "evict":
		e.kind = abi.EffectEvict
		_, err = fmt.Sscan(rest, &e.aux)
	case "keep":
		e.kind = abi.EffectKeep
	case "visit-keys":
		e.kind = abi.EffectVisitKeys
	case "event-time":
		e.kind = abi.EffectEventTime
		e.payload, err = numbers(rest, 1)
	case "watermark":
		e.kind = abi.EffectWatermark
		e.payload, err = numbers(rest, 1)
	case "request":
		e.kind = abi.EffectRequest
		e.payload, err = encodeRow(requestSchema, rest)
	default:
		return e, fmt.Errorf("effect %q is none of udfs/README.md", word)
	}
	if e.aux == math.MaxUint32 {
		err = fmt.Errorf("effect %q: %q is not known", word, rest)
	}
	return e, err
}

func (r *reader) emit(rest string) (e wantedEffect, err error) {
	e.kind = abi.EffectEmit
	schema := r.f.GetOutput()
	if r.f.GetRole() == abi.RoleEncode {
		schema = messageSchema
	}
	if !strings.HasPrefix(rest, "{") {
		name, row, _ := strings.Cut(rest, " ")
		i := slices.IndexFunc(r.f.GetNamedOutputs(), func(o *abi.NamedOutput) bool { return o.GetName() == name })
		if i < 0 {
			return e, fmt.Errorf("the function has no output %q", name)
		}
		e.aux, schema, rest = uint32(i+1), r.f.GetNamedOutputs()[i].GetSchema(), row
	}
	for _, answered := range r.now.c.open.effects {
		if answered.kind == abi.EffectSchema && answered.aux == e.aux {
			schema = schemaOfText(answered.payload)
		}
	}
	e.payload, err = encodeRow(schema, rest)
	return e, err
}
