package job

import (
	"fmt"
	"slices"
	"strings"

	"github.com/wasmstream/wasmstream/abi"
	"github.com/wasmstream/wasmstream/host/stream"
)

// The columns that a window adds to its result.
const (
	windowStart = "window_start"
	windowEnd   = "window_end"
)

// operations are the fields of a step of which it has at most one. A
// window-join has a window of its own.
var operations = []string{
	windowOperation, intervalJoinOperation, windowJoinOperation, coGroupOperation, mapOperation, filterOperation, flatMapOperation,
	processOperation, coProcessOperation, broadcastProcessOperation, enrichOperation,
}

const (
	windowOperation       = "window"
	intervalJoinOperation = "interval-join"
	windowJoinOperation   = "window-join"
	coGroupOperation      = "co-group"
)

// isJoin tells of a step with two sides.
func (p *producer) isJoin() bool {
	return p.operation == intervalJoinOperation || p.takesWindow()
}

// takesWindow tells of a step with two sides that has a window.
func (p *producer) takesWindow() bool {
	return p.operation == windowJoinOperation || p.operation == coGroupOperation
}

// declare finds out what a step does and which outputs it has.
func (b *builder) declare(p *producer) {
	newSide := func(shown, path string) *side {
		return &side{shown: shown, path: p.path + path, gap: -1, trigger: -1, evictor: -1}
	}
	for _, name := range operations {
		if p.node.get(name) != nil {
			p.operation = name // a join before a window
		}
	}
	at := "." + p.operation
	switch {
	case p.isTwoSided():
		p.sides = []*side{newSide("The left side of the step "+p.name, at+".left"), newSide("The right side of the step "+p.name, at+".right")}
	case p.operation == broadcastProcessOperation:
		p.sides = []*side{newSide("The step "+p.name, ".from"), newSide("The broadcast input of the step "+p.name, at+".broadcast")}
	default:
		p.sides = []*side{newSide("The step "+p.name, ".from")}
	}
	add := func(field string, of *side) {
		n := p.node.get(p.operation).get(field)
		if name := text(n); name != "" {
			p.extras = append(p.extras, &extra{name: name, of: of, field: p.path + "." + p.operation + "." + field, node: n})
		}
	}
	switch p.operation {
	case windowOperation:
		late := p.sides[0]
		if p.keyed != nil {
			late = p.keyed.sides[0] // without the key
		}
		add("late-output", late)
	case intervalJoinOperation:
		add("late-left", p.sides[0])
		add("late-right", p.sides[1])
	}
	for n, at := range p.emitting {
		for _, o := range b.lookUp(n).GetNamedOutputs() {
			p.extras = append(p.extras, &extra{name: o.GetName(), field: p.path + at + ".wasm", node: n.get("wasm")})
		}
	}
	p.declareFailed()
}

// emitting goes through the functions of a step that may have named outputs, and the
// fields that they stand in.
func (p *producer) emitting(yield func(n *node, field string) bool) {
	for _, name := range []string{"map", "flat-map", "apply", "process", enrichOperation} {
		if n := p.node.get(name); n != nil && !yield(n, "."+name) {
			return
		}
	}
	for _, name := range []string{"co-process", "broadcast-process", "co-group"} {
		if n := p.node.get(name).get("function"); n != nil && !yield(n, "."+name+".function") {
			return
		}
	}
}

// kind is what a producer is called.
func (p *producer) kind() string {
	switch {
	case p.source != nil:
		return "source"
	case p.step == nil:
		return "sink"
	}
	return "step"
}

// settleOutputs makes the named outputs of a bound function known.
func (p *producer) settleOutputs(f *Function) {
	for _, o := range f.Outputs[min(1, len(f.Outputs)):] {
		for _, x := range p.extras {
			if x.of == nil && x.name == o.Name {
				x.schema = o.Schema
			}
		}
	}
}

// late is the name of the output for what comes too late of a side, "" without.
func (p *producer) late(of *side) string {
	if p.keyed != nil {
		of = p.keyed.sides[0]
	}
	for _, x := range p.extras {
		if x.of == of {
			return x.name
		}
	}
	return ""
}

// reads goes through everything that a step reads.
func (p *producer) reads(yield func(*ref) bool) {
	for _, s := range p.sides {
		for i := range s.refs {
			if !yield(&s.refs[i]) {
				return
			}
		}
	}
}

func (s *side) streams() []StreamRef {
	var list []StreamRef
	for _, r := range s.refs {
		list = append(list, r.StreamRef)
	}
	return list
}

// look finds out about the streams of a side, which are known by now or not to
// be known.
func (b *builder) look(s *side) {
	s.input = b.joinSchemas(s.refs)
	for i := range s.refs {
		r := &s.refs[i]
		if r.from == nil {
			continue
		}
		if s.endless == "" {
			s.endless = r.from.endless
		}
		switch {
		case r.extra != nil && r.extra.failed && r.from.source != nil:
			s.timeless = r.String()
		case (r.extra == nil || r.extra.of == nil) && r.from.timeless != "":
			s.timeless = r.from.timeless
		}
		if r.changing() && s.changing == "" {
			s.changing = r.String()
			if r.from.operation == keyOperation {
				s.changing = r.from.sides[0].changing
			}
		}
	}
}

// buildStep binds one step to the streams it reads.
func (b *builder) buildStep(p *producer) {
	if !p.node.ok {
		return
	}
	for _, s := range p.sides {
		b.look(s)
		if p.endless == "" {
			p.endless = s.endless
		}
	}
	p.findOrigins()
	sound := b.checkOperation(p)
	b.checkOutputs(p)
	b.combine(p)
	p.step.IgnoreChanges = text(p.node.get("changes")) == "ignore"
	defer b.faultPolicy(p)
	b.stepLimits(p)
	if !sound {
		return
	}
	switch p.operation {
	case keyOperation:
		b.buildKey(p)
		return
	case mapOperation, filterOperation, flatMapOperation:
		b.buildEach(p)
		return
	case windowOperation:
		b.buildWindow(p)
	case windowJoinOperation:
		b.buildWindowJoin(p)
	case coGroupOperation:
		b.buildCoGroup(p)
	case intervalJoinOperation:
		b.buildIntervalJoin(p)
	case enrichOperation:
		b.buildEnrich(p)
		return
	case processOperation, coProcessOperation, broadcastProcessOperation:
		b.buildProcess(p)
	default:
		s := p.sides[0]
		p.output, p.timeless, p.changing = s.input, s.timeless, s.changing != ""
		p.step.Changing = p.changing
		if n := p.node.get("changes"); n != nil {
			b.warn(n, p.path+".changes", "changes: ignore does nothing in the step %s, which hands records on as they are", p.name)
		}
		return
	}
	b.refuseChanges(p)
}

// refuseChanges: a keyed step would count a change as one more record.
func (b *builder) refuseChanges(p *producer) {
	if p.step.IgnoreChanges || p.node.has("changes") {
		return
	}
	for _, s := range p.sides {
		if s.changing == "" {
			continue
		}
		n := s.refs[0].node
		b.wrong(n, s.path, "%s reads %s, which takes results back (-U, +U, -D), and would count every change as one more record; say changes: ignore if that is meant, or let that stream's output be append", s.shown, s.changing)
	}
}

// sinkChanges notes whether a sink gets changes, which a file tells in a field
// of its own.
func (b *builder) sinkChanges(s *sinkInfo) {
	for i := range s.refs {
		r := &s.refs[i]
		if r.changing() {
			s.sink.Changing = true
		}
	}
	if s.sink.Changing && s.sink.Connector.File != nil && s.input != nil && s.input.Index(changeField) >= 0 {
		b.wrong(s.node, s.path, "The sink %s writes the kind of a change as the field %s, and its records have a column of that name", s.sink.Name, changeField)
	}
}

// changeField is what a file's records have in front when they may be changes.
const changeField = "op"

// checkOperation wants exactly one operation with all that belongs to it; a
// union or pass-through is a step with nothing but from.
func (b *builder) checkOperation(p *producer) bool {
	var there []string
	for _, name := range operations {
		if p.node.get(name) != nil {
			there = append(there, name)
		}
	}
	if p.takesWindow() {
		there = slices.DeleteFunc(there, func(s string) bool { return s == windowOperation })
	}
	n := p.node
	switch {
	case len(there) > 1:
		b.wrong(n.get(there[1]), p.path+"."+there[1], "A step has one operation; the step %s has %s", p.name, strings.Join(there, " and "))
		return false
	case p.isJoin():
		return b.checkJoin(p)
	case p.isProcess():
		return b.checkProcess(p)
	case !n.has("from") && p.keyed == nil: // of the step that computes its key it is told
		b.wrong(n, p.path, "The step %s reads nothing: the field from is missing (a source, a step or step.output)", p.name)
	}
	if p.operation == enrichOperation {
		return b.checkEnrich(p)
	}
	if p.isEach() {
		return b.checkEach(p)
	}
	if window := n.get(windowOperation); window != nil {
		return window.ok
	}
	for _, name := range operations {
		if n.has(name) {
			return false
		}
	}
	for _, name := range []string{"aggregate", "reduce", "key-by", "apply", "output"} {
		if n.get(name) != nil {
			b.wrong(n, p.path, "The step %s has %s and no operation that it belongs to: the field window is missing", p.name, name)
			return false
		}
	}
	return true
}

// checkJoin refuses what belongs to other steps.
func (b *builder) checkJoin(p *producer) bool {
	for _, f := range []struct{ name, hint string }{
		{"from", "left and right say what it reads"},
		{"key-by", "left-key and right-key are its key"},
		{"aggregate", "it puts out pairs of rows, which a step after it can aggregate"},
		{"reduce", "it puts out pairs of rows, which a step after it can reduce"},
		{"apply", "join, or function of a co-group, names the function that makes its rows"},
		{"output", "a pair is never taken back"},
	} {
		if n := p.node.get(f.name); n != nil {
			b.wrong(n, p.path+"."+f.name, "A join has no %s: %s", f.name, f.hint)
		}
	}
	if p.takesWindow() && !p.node.has(windowOperation) {
		b.wrong(p.node, p.path, "The step %s has a %s and no window: it is of rows in the same tumbling, sliding or session window", p.name, p.operation)
	}
	return p.node.get(p.operation).ok
}

// checkOutputs wants names that can be told apart.
func (b *builder) checkOutputs(p *producer) {
	for i, x := range p.extras {
		if x.name == reservedOutput && !x.failed {
			b.wrong(x.node, x.field, "The output name %s is reserved for records that a function failed on; %s needs another one", reservedOutput, last(x.field))
		}
		j := slices.IndexFunc(p.extras[:i], func(y *extra) bool { return x.name == y.name })
		switch {
		case j < 0:
		case x.of != nil && p.extras[j].of != nil:
			b.wrong(x.node, x.field, "The output %s.%s would have the late rows of both sides; give each side's output a name of its own", p.name, x.name)
		default:
			y := p.extras[j]
			b.wrong(y.node, y.field, "The output %s.%s would be that of %s and of %s; they need names of their own", p.name, x.name, last(y.field), x.field)
		}
	}
}

var bigint = stream.Type{Kind: stream.BigInt}

// keyBy finds the key's columns; nil if one of them is not known.
func (b *builder) keyBy(p *producer) []stream.Field {
	n, at := p.node.get("key-by"), p.path+".key-by"
	if n == nil && p.node.has("key-by") {
		return nil
	}
	if n == nil {
		b.wrong(p.node, p.path, "The step %s has a %s and no key-by, the columns that its records are grouped by", p.name, p.operation)
		return nil
	}
	var keys []stream.Field
	if p.keyed != nil {
		p.step.KeyBy, keys = p.computedKey()
		return keys
	}
	p.step.KeyBy, keys = b.key(p.sides[0], n, at)
	return keys
}

// key finds the columns of a key; no fields if one of them is not known.
func (b *builder) key(s *side, n *node, at string) ([]int, []stream.Field) {
	if n == nil || !n.ok || s.input == nil {
		return nil, nil
	}
	var columns []int
	var fields []stream.Field
	sound := true
	for i, item := range n.items {
		place := fmt.Sprintf("%s[%d]", at, i)
		column := b.column(s, item, item.text, place)
		if column < 0 {
			sound = false
			continue
		}
		f := s.input.Fields()[column]
		switch {
		case slices.Contains(columns, column):
			b.wrong(item, place, "The column %s is named twice; a key takes each column once", item.text)
			continue
		case holdsMap(f.Type):
			b.wrong(item, place, "The column %s is %s; a key cannot hold a MAP, whose entries have no order", item.text, f.Type)
			sound = false
		}
		columns = append(columns, column)
		fields = append(fields, f)
	}
	if !sound {
		return columns, nil
	}
	return columns, fields
}

func holdsMap(t stream.Type) bool {
	return t.Kind == stream.Map || t.Elem != nil && holdsMap(*t.Elem) ||
		slices.ContainsFunc(t.Fields, func(f stream.Field) bool { return holdsMap(f.Type) })
}

// column finds a column of a side by name, -1 if it is not there.
func (b *builder) column(s *side, n *node, name, path string) int {
	if !isKnown(n) || s.input == nil {
		return -1
	}
	i := s.input.Index(name)
	if i < 0 {
		b.wrong(n, path, "%s has no column %s in what it reads%s", s.shown, quote(name), b.suggest(name, s.input.Names(), "its columns are "))
	}
	return i
}

// aggregate adds the aggregates or the function; the fields that it puts out
// are known if no problem stands against it.
func (b *builder) aggregate(p *producer, keys []stream.Field) (fields []stream.Field, known bool) {
	n, w, at := p.node.get("aggregate"), p.step.Window, p.path+".aggregate"
	if n == nil {
		if !p.node.has("apply") && !p.node.has("aggregate") && !p.node.has("reduce") {
			b.wrong(p.node, p.path, "The step %s has a window and no aggregate, reduce or apply, so nothing to put out", p.name)
		}
		return nil, false
	}
	if !n.ok {
		return nil, false
	}
	if n.get("wasm") != nil {
		w.Function = b.function(p, call{node: n, path: at, field: "aggregate", roles: []string{abi.RoleAggregate}, sides: p.sides, key: keys, keyed: true})
		if w.Function == nil {
			return nil, false
		}
		return w.Function.Result().Fields(), true
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
func (b *builder) checkClash(p *producer, fields []stream.Field, keys, bounds int) bool {
	owner := func(i int) string {
		switch {
		case i < keys:
			return "the key"
		case i >= len(fields)-bounds:
			return "the window's bounds"
		case p.step.Window.Function != nil || p.step.Window.Reduce != nil:
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
		if n == nil {
			n, at = p.node.get("reduce"), p.path+".reduce"
		}
		if i >= len(fields)-bounds && j < keys {
			n, at = p.node.get("key-by"), p.path+".key-by"
		}
		if e := n.get(f.Name); e != nil {
			n, at = e, join(at, f.Name)
		}
		b.wrong(n, at, "The output of the step %s would have two columns %s: of %s and of %s", p.name, f.Name, owner(j), owner(i))
	}
	return sound
}
