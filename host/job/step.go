package job

import (
	"fmt"
	"slices"
	"strings"

	"github.com/wasmstream/wasmstream/host/operator/window"
	"github.com/wasmstream/wasmstream/host/stream"
)

// The columns that a window adds to its result.
const (
	windowStart = "window_start"
	windowEnd   = "window_end"
)

// operations are the fields of a step of which it has at most one.
var operations = []string{"window", "interval-join", "window-join"}

// buildStep binds one step to the streams it reads, whose schemas are known by
// now or not to be known.
func (b *builder) buildStep(p *producer) {
	if !p.node.ok {
		return
	}
	p.input = b.joinSchemas(p.refs)
	if !b.checkOperation(p) {
		return
	}
	for _, r := range p.refs {
		if r.from != nil && r.from.timeless != "" {
			p.timeless = r.from.timeless
		}
	}
	n := p.node.get("window")
	if n == nil {
		p.output = p.input
		return
	}
	if p.timeless != "" {
		b.wrong(n, p.path+".window", "Windows of event time need a timestamp in each record, and the source %s gives none: give it event-time or ingestion-time", p.timeless)
		p.timeless = ""
	}
	p.step.Window = b.window(p, n)
	keys := b.keyBy(p)
	fields := slices.Clone(keys)
	added, known := b.aggregate(p)
	fields = append(fields, added...)
	fields = append(fields, stream.Field{Name: windowStart, Type: bigint}, stream.Field{Name: windowEnd, Type: bigint})
	if known && keys != nil && b.checkClash(p, fields, len(keys)) {
		p.output = stream.MustSchema(fields...)
	}
}

var bigint = stream.Type{Kind: stream.BigInt}

// checkOperation wants exactly one operation with all that belongs to it; a
// union or pass-through is a step with nothing but from.
func (b *builder) checkOperation(p *producer) bool {
	var there []string
	for _, name := range operations {
		if p.node.get(name) != nil {
			there = append(there, name)
		}
	}
	n := p.node
	window, from := n.get("window"), n.get("from")
	if slices.Contains(there, "window-join") {
		there = slices.DeleteFunc(there, func(s string) bool { return s == "window" }) // it has a window of its own
	}
	if len(there) > 1 {
		b.wrong(n.get(there[1]), p.path+"."+there[1], "A step has one operation; the step %s has %s", p.name, strings.Join(there, " and "))
		return false
	}
	if len(there) == 1 && there[0] != "window" {
		return false // not offered yet, which was told
	}
	if from == nil && !n.has("from") {
		b.wrong(n, p.path, "The step %s reads nothing: the field from is missing (a source, a step or step.output)", p.name)
	}
	if window != nil {
		return window.ok
	}
	if n.has("window") {
		return false
	}
	for _, name := range []string{"aggregate", "key-by", "apply"} {
		if n.get(name) != nil {
			b.wrong(n, p.path, "The step %s has %s and no operation that it belongs to: the field window is missing", p.name, name)
			return false
		}
	}
	return true
}

func (b *builder) window(p *producer, n *node) *Window {
	w := &Window{LateOutput: p.late, GapField: -1, TriggerField: -1, EvictorField: -1}
	w.Options.AllowedLateness = number(n.get("allowed-lateness"), 0)
	at := p.path + ".window"
	if late := n.get("late-output"); p.late == reservedOutput {
		b.wrong(late, at+".late-output", "The output name %s is reserved for records that a function failed on; late-output needs another one", reservedOutput)
	}
	t := n.get("tumbling")
	if t == nil || !t.ok {
		return w
	}
	a := &w.Options.Assigner
	a.Kind, a.Size, a.Offset = window.Tumbling, number(t.get("size"), 0), number(t.get("offset"), 0)
	if o := t.get("offset"); a.Size > 0 && o != nil && o.ok && (a.Offset >= a.Size || a.Offset <= -a.Size) {
		b.wrong(o, at+".tumbling.offset", "The offset must be smaller than the window's size, which is %s; it is %s", formatDuration(a.Size), o.written)
	}
	if p.late == "" && n.get("late-output") == nil {
		b.warn(n, at, "Records that come too late for the windows of %s are dropped and only counted; late-output makes a stream of them", p.name)
	}
	return w
}

// keyBy finds the key's columns; nil if one of them is not known.
func (b *builder) keyBy(p *producer) []stream.Field {
	n, at := p.node.get("key-by"), p.path+".key-by"
	if n == nil && p.node.has("key-by") {
		return nil
	}
	if n == nil {
		b.wrong(p.node, p.path, "The step %s has a window and no key-by, the columns that its records are grouped by", p.name)
		return nil
	}
	if !n.ok || p.input == nil {
		return nil
	}
	var keys []stream.Field
	sound := true
	for i, item := range n.items {
		place := fmt.Sprintf("%s[%d]", at, i)
		column := b.column(p, item, item.text, place)
		if column < 0 {
			sound = false
			continue
		}
		if slices.Contains(p.step.KeyBy, column) {
			b.wrong(item, place, "The column %s is named twice; a key takes each column once", item.text)
			continue
		}
		p.step.KeyBy = append(p.step.KeyBy, column)
		keys = append(keys, p.input.Fields()[column])
	}
	if !sound {
		return nil
	}
	return keys
}

// column finds a column of a step's input by name, -1 if it is not there.
func (b *builder) column(p *producer, n *node, name, path string) int {
	if !n.ok || p.input == nil {
		return -1
	}
	i := p.input.Index(name)
	if i < 0 {
		b.wrong(n, path, "The step %s has no column %s in what it reads%s", p.name, quote(name), b.suggest(name, p.input.Names(), "its columns are "))
	}
	return i
}

// aggregate adds the aggregates or the function; the fields that it puts out
// are known if no problem stands against it.
func (b *builder) aggregate(p *producer) (fields []stream.Field, known bool) {
	n, w, at := p.node.get("aggregate"), p.step.Window, p.path+".aggregate"
	if n == nil {
		if !p.node.has("apply") && !p.node.has("aggregate") {
			b.wrong(p.node, p.path, "The step %s has a window and no aggregate, so nothing to put out", p.name)
		}
		return nil, false
	}
	if !n.ok {
		return nil, false
	}
	if n.get("wasm") != nil {
		w.Function = b.function(p, n, at)
		if w.Function == nil {
			return nil, false
		}
		return w.Function.Result.Fields(), true
	}
	if len(n.entries) == 0 {
		b.wrong(n, at, "aggregate must name at least one column")
		return nil, false
	}
	known = true
	for _, e := range n.entries {
		a, ok := b.call(p, e, join(at, e.key))
		if !ok || e.key == "" {
			known = false
			continue
		}
		w.Aggregates = append(w.Aggregates, a)
		fields = append(fields, stream.Field{Name: a.Name, Type: a.Type})
	}
	return fields, known
}

// checkClash refuses two columns of one name in a window's output.
func (b *builder) checkClash(p *producer, fields []stream.Field, keys int) bool {
	owner := func(i int) string {
		switch {
		case i < keys:
			return "the key"
		case i >= len(fields)-2:
			return "the window's bounds"
		case p.step.Window.Function != nil:
			return "the function's result"
		}
		return "the aggregate"
	}
	sound := true
	for i, f := range fields {
		j := slices.IndexFunc(fields[:i], func(g stream.Field) bool { return g.Name == f.Name })
		if j < 0 {
			continue
		}
		sound = false
		n, at := p.node.get("aggregate"), p.path+".aggregate"
		if i >= len(fields)-2 && j < keys {
			n, at = p.node.get("key-by"), p.path+".key-by"
		}
		if e := n.get(f.Name); e != nil {
			n, at = e, join(at, f.Name)
		}
		b.wrong(n, at, "The output of the step %s would have two columns %s: of %s and of %s", p.name, f.Name, owner(j), owner(i))
	}
	return sound
}
