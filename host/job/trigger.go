package job

import (
	"strings"

	"github.com/wasmstream/wasmstream/abi"
	"github.com/wasmstream/wasmstream/host/operator/window"
	"github.com/wasmstream/wasmstream/host/stream"
)

// triggerKinds are the triggers by name, with the windows that cannot have them.
var triggerKinds = map[string]struct {
	kind   window.TriggerKind
	global bool // global windows cannot: they have no end to wait for
	timed  bool // time windows cannot
	merges bool // two of its states can become one when sessions merge
}{
	"event-time":                 {window.EventTime, true, false, true},
	"processing-time":            {window.ProcessingTime, true, false, true},
	"never":                      {window.Never, false, true, true},
	"end-of-stream":              {window.EndOfStream, false, true, true},
	"count":                      {window.Count, false, false, true},
	"continuous-event-time":      {window.ContinuousEventTime, false, false, true},
	"continuous-processing-time": {window.ContinuousProcessingTime, false, false, true},
	"purging":                    {window.Purging, false, false, true},
	"delta":                      {window.Delta, false, false, false},
	"timeout":                    {window.Timeout, false, false, false},
	functionField:                {window.FunctionTrigger, false, false, true},
}

// functionField names a function where there are built-in parts, too.
const functionField = "wasm"

// trigger reads a trigger, nil if there is none or it is not right.
func (b windowBuilder) trigger(n *node, at string, a *window.Assigner) *window.Trigger {
	if n == nil || !n.ok {
		return nil
	}
	if n.get(functionField) != nil {
		return b.functionTrigger(n, at, a)
	}
	b.strayWith(n, at)
	if n.form != mappingForm {
		b.checkPair(n.line, n.column, n.text, at, a)
		return &window.Trigger{Kind: triggerKinds[n.text].kind}
	}
	for _, e := range n.entries {
		known, ok := triggerKinds[e.key]
		if !ok {
			continue
		}
		b.checkPair(e.line, e.column, e.key, at, a)
		if !e.value.ok {
			return nil
		}
		t := &window.Trigger{Kind: known.kind}
		b.fillTrigger(t, e.value, join(at, e.key), a)
		return t
	}
	return nil
}

// functionTrigger reads a trigger that is a function.
func (b windowBuilder) functionTrigger(n *node, at string, a *window.Assigner) *window.Trigger {
	f := b.bind(n, at, "trigger", abi.RoleTrigger)
	if f == nil {
		return nil
	}
	call := n.get(functionField)
	b.fns.Trigger = f
	if a != nil && a.Merges() && !f.Merges {
		b.wrong(call, at+"."+functionField, "The trigger %s cannot merge (its manifest does not say that it merges), and the windows do; %s", call.text, otherTriggers(a))
	}
	return &window.Trigger{Kind: window.FunctionTrigger, Merges: f.Merges}
}

// fillTrigger reads the value of a trigger that takes one.
func (b windowBuilder) fillTrigger(t *window.Trigger, n *node, at string, a *window.Assigner) {
	switch t.Kind {
	case window.Count:
		t.Count = n.number
	case window.ContinuousEventTime, window.ContinuousProcessingTime:
		t.Interval = n.number
	case window.Purging:
		t.Nested = b.trigger(n, at, a)
	case window.Timeout:
		t.Interval, t.Reset = number(n.get("after"), 0), isTrue(n.get("reset"))
		t.Nested = b.trigger(n.get("trigger"), at+".trigger", a)
		if b.fns.Trigger != nil {
			b.later(n.line, n.column, at+".trigger", "A timeout around a function is not offered: it depends on each answer whether it is set, and the function is asked about many records at once; give the function a timeout of its own, by its timers of processing time")
		}
	case window.Delta:
		t.Threshold = b.delta(b.p, n, at, func(s *side) *int { return &s.trigger })
	}
}

// delta reads {field, threshold}: the field is a column of every side.
func (b *builder) delta(p *producer, n *node, at string, column func(*side) *int) float64 {
	f, threshold := n.get("field"), n.get("threshold")
	if f != nil && f.ok {
		for _, s := range p.sides {
			*column(s) = b.numberColumn(s, f, at+".field", "A delta's field", "a number (INT, BIGINT, FLOAT or DOUBLE)", stream.Int, stream.BigInt, stream.Float, stream.Double)
		}
	}
	if threshold == nil || !threshold.ok {
		return 0
	}
	return threshold.float
}

// checkPair refuses triggers that the windows cannot have.
func (b *builder) checkPair(line, column int, name, at string, a *window.Assigner) {
	known := triggerKinds[name]
	switch {
	case a == nil: // told already
	case a.Kind == window.GlobalWindows && known.global:
		b.add(line, column, at, "The trigger %s waits for a window's end, and global windows have none; %s", name, otherTriggers(a))
	case a.Kind != window.GlobalWindows && known.timed:
		b.add(line, column, at, "The trigger %s is for global windows, and windows of time fire at their end; %s", name, otherTriggers(a))
	case a.Merges() && !known.merges:
		windows := "sessions"
		if a.Kind != window.Session {
			windows = "the windows"
		}
		b.add(line, column, at, "The trigger %s cannot merge, and %s do; %s", name, windows, otherTriggers(a))
	}
}

// otherTriggers ends a sentence with what the windows can have.
func otherTriggers(a *window.Assigner) string {
	var names []string
	for _, f := range triggerNames() {
		known := triggerKinds[f]
		global := a.Kind == window.GlobalWindows
		if global && !known.global || !global && !known.timed && (known.merges || !a.Merges()) {
			names = append(names, f)
		}
	}
	return "there are " + strings.Join(names, ", ")
}

// triggerNames are in the order of the table of shapes.
func triggerNames() []string {
	word := triggerShape.either[0]
	var names []string
	for _, name := range append(word.words[:len(word.words):len(word.words)], word.mapped...) {
		if _, known := triggerKinds[name]; known {
			names = append(names, name)
		}
	}
	return names
}

// evictor reads an evictor, nil if there is none or it is not right.
func (b windowBuilder) evictor(n *node, at string) *window.Evictor {
	if n == nil || !n.ok {
		return nil
	}
	b.strayWith(n, at)
	e := &window.Evictor{After: text(n.get("when")) == "after"}
	switch {
	case n.get("count") != nil:
		e.Kind, e.Count = window.ByCount, number(n.get("count"), 0)
	case n.get("time") != nil:
		e.Kind, e.Size = window.ByTime, number(n.get("time"), 0)
	case n.get("delta") != nil:
		e.Kind = window.ByDelta
		if d := n.get("delta"); d.ok {
			e.Threshold = b.delta(b.p, d, at+".delta", func(s *side) *int { return &s.evictor })
		}
	case n.get(functionField) != nil:
		e.Kind = window.ByFunction
		if b.fns.Evictor = b.bind(n, at, "evictor", abi.RoleEvictor); b.fns.Evictor == nil {
			return nil
		}
	default:
		return nil
	}
	return e
}
