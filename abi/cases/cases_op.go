package cases

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// opKinds are the ops of cases, by their words.
var opKinds = map[string]uint16{
	"create": opCreate, "add": opAdd, "merge": opMerge, "result": opResult, "reduce": opReduce,
	"on-record": opOnRecord, "on-second": opOnSecond, "on-broadcast": opOnBroadcast, "on-timer": opOnTimer,
	"on-window": opOnWindow, "assign": opAssign, "on-element": opOnElement, "on-event-time": opOnEventTime,
	"on-processing-time": opOnProcessingTime, "on-merge": opOnMerge, "clear": opClear, "evict": opEvict,
	"on-pair": opOnPair, "on-group": opOnGroup, "on-answer": opOnAnswer, "decode": opDecode,
	"encode": opEncode, "on-key": opOnKey,
}

// opsOf are what functions of a role are asked.
var opsOf = map[string][]string{
	"aggregate": {"create", "add", "merge", "result"}, "reduce": {"reduce"}, "apply": {"on-window", "clear"},
	"assigner": {"assign"}, "trigger": {"on-element", "on-event-time", "on-processing-time", "on-merge", "clear"}, "evictor": {"evict"},
	"process": {"on-record", "on-timer"}, "co-process": {"on-record", "on-second", "on-timer"},
	"broadcast-process": {"on-record", "on-broadcast", "on-timer", "on-key"}, "join": {"on-pair"}, "co-group": {"on-group"},
	"enrich": {"on-record", "on-answer"}, "decode": {"decode"}, "encode": {"encode"},
	"map": {"on-record"}, "filter": {"on-record"}, "flat-map": {"on-record"}, "key": {"on-record"}, "timestamp": {"on-record"},
}

// contextOf is what kind of context an op has; 0: none.
func contextOf(role string, kind uint16) int {
	switch kind {
	case opOnRecord:
		if role == "process" || role == "co-process" || role == "broadcast-process" {
			return contextKeyedBytes
		}
		return contextRecordBytes
	case opOnBroadcast, opAssign, opDecode, opEncode:
		return contextRecordBytes
	case opOnSecond, opOnTimer, opOnKey:
		return contextKeyedBytes
	case opOnElement, opOnEventTime, opOnProcessingTime, opClear:
		return contextWindowBytes
	case opOnWindow, opOnMerge, opEvict, opOnGroup:
		return contextGroupBytes
	case opOnPair, opOnAnswer:
		return contextPairBytes
	}
	return 0
}

// The rows of messages and answers.
var (
	messageSchema = schemaOf("BYTES value", "BYTES key")
	requestSchema = schemaOf("STRING method", "STRING url", "STRING headers", "BYTES body")
	answerSchema  = schemaOf("INT status", "STRING headers", "BYTES body", "STRING error")
)

// op reads an op's line.
func (r *reader) op(number int, word, rest string) (err error) {
	kind, known := opKinds[word]
	if !known {
		return fmt.Errorf("%q is no word of cases.txt: see udfs/README.md", word)
	}
	if ops := opsOf[r.f.Role]; !slices.Contains(ops, word) {
		return fmt.Errorf("%s is not asked of %s %s: %s are", word, r.f.Role, r.f.Name, strings.Join(ops, ", "))
	}
	s := step{line: number, kind: kind, text: strings.TrimSpace(word + " " + rest), owner: r.owner(kind == opOnBroadcast)}
	if bytes := contextOf(r.f.Role, kind); bytes > 0 {
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
		return fmt.Errorf("slot %q is no number", slot)
	}
	s.cells = []int{r.now.cell(slot)}
	switch s.kind {
	case opAdd, opReduce:
		s.row, err = encodeRow(r.now.input, rest)
	case opMerge:
		s.second = []int{r.now.cell(rest)}
	case opResult:
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
	if bytes >= contextWindowBytes {
		c.start, c.end = n.start, n.end
	}
	switch {
	case s.kind == opEvict && rest == "after", s.kind == opOnTimer && strings.HasPrefix(rest, "processing "):
		c.detail = 1
	case s.kind == opEvict && rest == "before", s.kind == opOnTimer && strings.HasPrefix(rest, "event "):
	case s.kind == opEvict, s.kind == opOnTimer:
		return fmt.Errorf("%q: evict is before or after the function, a timer of event or processing time", rest)
	}
	if s.kind == opEvict || s.kind == opOnTimer {
		_, rest, _ = strings.Cut(rest, " ")
	}
	if rest, err = cutTime(rest, &c.time); err != nil {
		return err
	}
	if err := r.opRows(s, rest); err != nil {
		return err
	}
	if s.kind != opOnBroadcast {
		s.cells = r.group(n.start, n.end)
	}
	if r.callsOfWindows() {
		s.window = r.numbered(r.windowName(n.start, n.end))
		for _, w := range n.merged {
			s.merged = append(s.merged, r.numbered(r.windowName(w[0], w[1])))
		}
	}
	if bytes == contextGroupBytes {
		c.elements, n.elements = n.elements, nil
	}
	for _, w := range n.merged {
		c.merged = append(c.merged, r.group(w[0], w[1]))
		r.forget(w[0], w[1])
	}
	n.merged = nil
	if s.kind == opClear {
		r.forget(n.start, n.end)
	}
	return nil
}

// opRows reads the rows of an op's line.
func (r *reader) opRows(s *step, rest string) error {
	schemas := []*Schema{r.now.input}
	switch s.kind {
	case opOnSecond, opOnBroadcast, opOnKey:
		schemas[0] = r.now.second
	case opOnPair:
		schemas = append(schemas, r.now.second)
	case opOnAnswer:
		schemas = append(schemas, answerSchema)
	case opDecode:
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

// decisions are those of triggers, domains those of timers, each in the order of its numbers.
var (
	decisions = []string{"continue", "fire", "purge", "fire-and-purge"}
	domains   = []string{"event", "processing"}
)

// effect reads what follows =>.
func (r *reader) effect(text string) (e wantedEffect, err error) {
	word, rest, _ := strings.Cut(text, " ")
	switch word {
	case "emit":
		return r.emit(rest)
	case "set-timer", "delete-timer":
		e.kind = map[string]uint32{"set-timer": effectSetTimer, "delete-timer": effectDeleteTimer}[word]
		domain, time, _ := strings.Cut(rest, " ")
		e.aux = uint32(slices.Index(domains, domain))
		e.payload, err = times(word, time, 1)
	case "decide":
		e.kind, e.aux = effectDecide, uint32(slices.Index(decisions, rest))
	case "assign":
		e.kind = effectAssign
		e.payload, err = times(word, rest, 2)
	case "evict":
		e.kind = effectEvict
		var element int64
		if err = whole(word, rest, &element); err == nil && uint64(element) > math.MaxUint32 {
			err = fmt.Errorf("%s: %s is no number of an element", word, rest)
		}
		e.aux = uint32(element)
	case "keep":
		e.kind = effectKeep
	case "visit-keys":
		e.kind = effectVisitKeys
	case "event-time":
		e.kind = effectEventTime
		e.payload, err = times(word, rest, 1)
	case "watermark":
		e.kind = effectWatermark
		e.payload, err = times(word, rest, 1)
	case "request":
		e.kind = effectRequest
		e.payload, err = encodeRow(requestSchema, rest)
	default:
		return e, fmt.Errorf("%q is no effect: there are emit, set-timer, delete-timer, decide, assign, evict, keep, visit-keys, event-time, watermark and request", word)
	}
	if err == nil && e.aux == math.MaxUint32 {
		err = fmt.Errorf("effect %q: %q is not known", word, rest)
	}
	return e, err
}

func (r *reader) emit(rest string) (e wantedEffect, err error) {
	e.kind = effectEmit
	if !strings.HasPrefix(rest, "{") {
		name, row, _ := strings.Cut(rest, " ")
		i := slices.IndexFunc(r.f.NamedOutputs, func(o *NamedOutput) bool { return o.Name == name })
		if i < 0 {
			return e, fmt.Errorf("the function has no output %q; %s", name, there(r.f.NamedOutputs, func(o *NamedOutput) string { return o.Name }))
		}
		e.aux, rest = uint32(i+1), row
	}
	e.payload, err = encodeRow(r.now.c.words(r.f).outputs[e.aux], rest)
	return e, err
}
