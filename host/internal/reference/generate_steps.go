package reference

import (
	"fmt"
	"slices"
	"strings"
)

// suffixed are the columns of a type whose names end so: joins put left_ or
// right_ before them.
func (s schema) suffixed(types string, ends ...string) []string {
	var list []string
	for i, name := range s.names {
		for _, end := range ends {
			if strings.Contains(types, s.types[i]) && (name == end || strings.HasSuffix(name, "_"+end)) {
				list = append(list, name)
			}
		}
	}
	return list
}

// keys are the columns that may be grouped by.
func (f flow) keys() []string { return f.schema.suffixed("STRING INT", "k", "j") }

func (g *generator) someKeys(f flow) []string {
	keys := f.keys()
	if len(keys) > 1 && g.chance(35) {
		i := g.IntN(len(keys))
		j := (i + 1 + g.IntN(len(keys)-1)) % len(keys)
		return []string{keys[i], keys[j]}
	}
	return []string{keys[g.IntN(len(keys))]}
}

// window adds a window step over some stream.
func (g *generator) window() {
	in, ok := g.pick(func(f flow) bool { return len(f.keys()) > 0 && g.assignable(f) })
	if ok && g.chance(25) {
		in = g.several(in, 2+g.IntN(2))
	}
	if ok {
		g.windowOver(in)
	}
}

// assignable: what has no finite times goes into windows that do not ask for them.
func (g *generator) assignable(f flow) bool {
	return !f.endless && g.timed || g.kinds["processing"] || g.kinds["global"]
}

func (g *generator) windowOver(in flow) {
	name, w := g.newName(), g.windowing(in)
	if w.text == "" {
		return
	}
	keys := g.someKeys(in)
	out := flow{name: name, all: []string{name}, schema: in.schema.pick(in.schema.indexes(keys)), endless: w.global}
	var calls []string
	for i := range 1 + g.IntN(3) {
		call := g.call(in.schema)
		column := fmt.Sprintf("x%d", i)
		if strings.HasPrefix(call, "avg") && parseCall(call, in.schema).datatype == "DOUBLE" {
			column = fmt.Sprintf("%s%d", inexact, i)
		}
		if strings.HasSuffix(call, "(g)") && g.chance(50) { // never null: a gap
			column = "g"
		}
		if out.schema.index(column) >= 0 {
			continue
		}
		calls = append(calls, column+": "+call)
		out.schema = out.schema.plus("", schema{[]string{column}, []string{parseCall(call, in.schema).datatype}})
	}
	if !w.global {
		out.schema = out.schema.plus("", schema{[]string{"window_start", "window_end"}, []string{"BIGINT", "BIGINT"}})
	}
	text := fmt.Sprintf("  %s:\n    from: %s\n    key-by: [%s]\n    window: {%s}\n    aggregate: {%s}\n", name, in.name,
		strings.Join(keys, ", "), w.text, strings.Join(calls, ", "))
	if in.changing {
		text += "    changes: ignore\n"
	}
	for _, mode := range []string{"update", "changelog", "complete"} {
		if w.event && g.with(Kind(mode), 15) {
			text += "    output: " + mode + "\n"
			out.changing = true
			break
		}
	}
	g.reads(in)
	g.add(out, text)
	g.names = append(g.names, name)
	if w.late {
		late := in
		late.name = name + ".late"
		late.all = []string{late.name}
		g.flows = append(g.flows, late)
	}
}

// inexact is in the names of columns that nothing is computed of: sums of what was
// rounded depend on their order.
const inexact = "rounded"

func (g *generator) call(s schema) string {
	var numbers []string
	for i, name := range s.names {
		if strings.Contains("INT BIGINT DOUBLE", s.types[i]) && !strings.HasPrefix(name, "window_") && !strings.Contains(name, inexact) {
			numbers = append(numbers, name)
		}
	}
	if len(numbers) == 0 || g.chance(20) {
		return "count"
	}
	return g.some("sum", "min", "max", "avg") + "(" + g.some(numbers...) + ")"
}

// chosen is a window: entry and what follows from it.
type chosen struct {
	text       string // "": there is none that may be used
	global     bool
	event      bool // its windows end by the watermark
	late       bool
	session    bool
	processing bool
	ordered    bool // the input is
	timed      bool // the input's times may be looked at
	deltaField string
	gapField   string
}

// windowing chooses assigner, trigger, evictor and lateness. Triggers and evictors
// whose result depends on an order are kept from inputs that have none.
func (g *generator) windowing(in flow, others ...flow) chosen {
	c := chosen{ordered: in.ordered, timed: g.timed && !in.endless}
	for _, o := range others {
		c.ordered, c.timed = c.ordered && o.ordered, c.timed && !o.endless
	}
	if in.schema.index("d") >= 0 && in.ordered {
		c.deltaField = "d"
	}
	if in.schema.index("g") >= 0 {
		c.gapField = "g"
	}
	assigner := g.assigner(&c)
	if assigner == "" {
		return c
	}
	c.text = assigner
	trigger := g.trigger(&c)
	if trigger == "" && c.global {
		trigger = "never"
		if !g.kinds["never"] {
			return chosen{}
		}
	}
	if trigger != "" {
		c.text += ", trigger: " + trigger
	}
	c.text += g.evictor(&c)
	if c.event && g.with("lateness", 45) {
		lateness := g.ms(1, 3*g.scale)
		if g.chance(5) || g.base > maxTime/2 && g.chance(50) {
			lateness = "1h" // near the upper limit: never cleaned up
		}
		c.text += ", allowed-lateness: " + lateness
	}
	if c.late = len(others) == 0 && g.with("late-output", 40); c.late {
		c.text += ", late-output: late"
	}
	return c
}

func (g *generator) assigner(c *chosen) string {
	c.processing = g.with("processing", 20) || !c.timed && g.kinds["processing"]
	if g.with("global", 12) || !c.timed && !c.processing {
		c.global, c.processing = true, false
		if !g.kinds["global"] {
			return ""
		}
		return "global: {}"
	}
	c.event = !c.processing
	var list []string
	for _, kind := range []Kind{"tumbling", "sliding", "session"} {
		if g.kinds[kind] {
			list = append(list, string(kind))
		}
	}
	if len(list) == 0 {
		return ""
	}
	kind, size := g.some(list...), g.between(1, g.scale)
	parts := fmt.Sprintf("size: %dms", size)
	slide := size
	switch kind {
	case "sliding":
		slide = g.between((size+5)/6, size+size/3+1)
		parts += fmt.Sprintf(", slide: %dms", slide)
	case "session":
		c.session = true
		parts, slide = fmt.Sprintf("gap: %dms", size), 1
		if c.gapField != "" && g.with("gap-field", 35) {
			parts = "gap-field: " + c.gapField
		}
	}
	if slide > 1 && g.chance(40) {
		parts += fmt.Sprintf(", offset: %dms", g.between(1-slide, slide-1))
	}
	if c.processing {
		parts += ", time: processing"
	}
	return kind + ": {" + parts + "}"
}

// trigger is "" for the assigner's own.
func (g *generator) trigger(c *chosen) string {
	if !c.global && g.chance(50) {
		return ""
	}
	t := g.plainTrigger(c)
	if t != "" && !c.session && c.ordered && g.with("timeout", 15) {
		t = fmt.Sprintf("{timeout: {trigger: %s, after: %s, reset: %t}}", t, g.ms(1, g.scale), g.chance(50))
	}
	if t != "" && g.with("purging", 25) {
		t = "{purging: " + t + "}"
	}
	return t
}

func (g *generator) plainTrigger(c *chosen) string {
	var list []string
	offer := func(kind Kind, may bool, text string) {
		if may && g.kinds[kind] {
			list = append(list, text)
		}
	}
	interval := g.ms(1, g.scale)
	offer("event-time", !c.global, "event-time")
	offer("processing-time", !c.global, "processing-time")
	offer("never", c.global, "never")
	offer("end-of-stream", c.global, "end-of-stream")
	offer("count", c.ordered, fmt.Sprintf("{count: %d}", 1+g.IntN(5)))
	offer("continuous-event-time", c.ordered && c.timed && !c.processing, "{continuous-event-time: "+interval+"}")
	offer("continuous-processing-time", c.processing || c.global, "{continuous-processing-time: "+interval+"}")
	offer("delta", c.ordered && c.deltaField != "" && !c.session, fmt.Sprintf("{delta: {field: d, threshold: %d}}", g.IntN(5)))
	if len(list) == 0 {
		return ""
	}
	t := g.some(list...)
	if c.global && strings.HasPrefix(t, "{continuous-event") {
		g.endable = false
	}
	return t
}

func (g *generator) evictor(c *chosen) string {
	var list []string
	if c.ordered && g.with("evict-count", 10) {
		list = append(list, fmt.Sprintf("count: %d", 1+g.IntN(4)))
	}
	if c.timed && g.with("evict-time", 10) {
		list = append(list, "time: "+g.ms(1, g.scale))
	}
	if c.ordered && c.deltaField != "" && g.with("evict-delta", 10) {
		list = append(list, fmt.Sprintf("delta: {field: d, threshold: %d}", g.IntN(5)))
	}
	if len(list) == 0 {
		return ""
	}
	when := g.some("", ", when: before", ", when: after")
	return ", evictor: {" + g.some(list...) + when + "}"
}

// join adds an interval join or a window join of two streams.
func (g *generator) join(isWindow bool) {
	may := func(f flow) bool {
		return len(f.keys()) > 0 && !f.changing && (isWindow && g.assignable(f) || !isWindow && !f.endless)
	}
	left, ok := g.pick(may)
	right, other := g.pick(func(f flow) bool { return may(f) && f.name != left.name })
	if ok && g.chance(10) {
		left = g.several(left, 2)
	}
	if ok && other && !slices.Contains(left.all, right.name) {
		g.joinOf(left, right, isWindow)
	}
}

func (g *generator) joinOf(left, right flow, isWindow bool) {
	if left.changing || right.changing {
		return
	}
	leftKeys, rightKeys := g.equalKeys(left, right)
	if leftKeys == nil {
		return
	}
	name := g.newName()
	out := flow{name: name, all: []string{name}, schema: schema{}.plus("left_", left.schema).plus("right_", right.schema)}
	sides := fmt.Sprintf("left: %s, right: %s, left-key: [%s], right-key: [%s]", left.name, right.name,
		strings.Join(leftKeys, ", "), strings.Join(rightKeys, ", "))
	text := ""
	if isWindow {
		if !same(left.schema, right.schema) { // a field must exist on both sides
			left.schema, right.schema = schema{}, schema{}
		}
		w := g.windowing(left, right)
		if w.text == "" || w.global {
			return
		}
		out.schema = out.schema.plus("", schema{[]string{"window_start", "window_end"}, []string{"BIGINT", "BIGINT"}})
		text = fmt.Sprintf("    window-join: {%s, type: %s}\n    window: {%s}\n", sides, g.some("inner", "left", "right", "full"), w.text)
	} else {
		text = g.intervalText(sides)
	}
	g.reads(left)
	g.reads(right)
	g.add(out, "  "+name+":\n"+text)
	g.names = append(g.names, name)
	for i, side := range []string{"ll", "lr"} {
		if strings.Contains(text, ": "+side) {
			late := []flow{left, right}[i]
			late.name = name + "." + side
			late.all = []string{late.name}
			g.flows = append(g.flows, late)
		}
	}
}

func (g *generator) intervalText(sides string) string {
	lower := g.between(-g.scale, g.scale)
	text := fmt.Sprintf("%s, lower: %dms, upper: %dms", sides, lower, g.between(lower, lower+2*g.scale))
	for _, flag := range []string{"lower-exclusive", "upper-exclusive"} {
		if g.chance(20) {
			text += ", " + flag + ": true"
		}
	}
	for _, late := range []string{"late-left: ll", "late-right: lr"} {
		if g.chance(30) {
			text += ", " + late
		}
	}
	if g.with("outer-interval-join", 40) {
		text += ", type: " + g.some("left", "right", "full")
	}
	return "    interval-join: {" + text + "}\n"
}

// equalKeys are keys of both sides whose types agree; nil: there are none.
func (g *generator) equalKeys(left, right flow) (l, r []string) {
	for _, name := range g.someKeys(left) {
		datatype := left.schema.types[left.schema.index(name)]
		for _, other := range right.keys() {
			if right.schema.types[right.schema.index(other)] == datatype && !strings.Contains(strings.Join(r, " ")+" ", other+" ") {
				l, r = append(l, name), append(r, other)
				break
			}
		}
	}
	return l, r
}
