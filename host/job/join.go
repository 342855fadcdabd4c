package job

import (
	"math"
	"slices"
	"strings"

	"github.com/wasmstream/wasmstream/abi"
	"github.com/wasmstream/wasmstream/host/operator/window"
	"github.com/wasmstream/wasmstream/host/stream"
)

// The prefixes of a join's columns, so that those of both sides can be told apart.
const (
	leftPrefix  = "left_"
	rightPrefix = "right_"
)

func (b *builder) buildWindowJoin(p *producer) {
	j, n := p.node.get(p.operation), p.node.get(windowOperation)
	w := &WindowJoin{Type: JoinType(wordIndex(j.get("type"), joinWords[:]))}
	p.step.WindowJoin = w
	keys := b.joinKeys(p, j)
	if w.Function = b.joinFunction(p, j, keys); w.Function == nil && !j.has("join") {
		b.joinOutput(p, windowBounds)
	}
	if n != nil && n.ok {
		w.Options = b.twoSided(p, n, keys, &w.Functions)
	}
	w.Left, w.Right = p.sides[0].plan(), p.sides[1].plan()
	w.Left.Key, w.Right.Key = p.keys[0], p.keys[1]
}

// twoSided reads the window of a join or co-group.
func (b *builder) twoSided(p *producer, n *node, keys []stream.Field, fns *WindowFunctions) window.Options {
	at := p.path + "." + windowOperation
	o := b.windowOptions(p, n, keys, fns)
	if global := n.get("global"); global != nil && global.ok {
		b.wrong(global, at+".global", "A join needs a time bound, and global windows never end, so rows would be kept for ever; use tumbling, sliding or session")
	}
	if late := n.get("late-output"); late != nil {
		b.wrong(late, at+".late-output", "A %s has no late output: late rows are dropped and counted; late-left and late-right of an interval-join make outputs", strings.ReplaceAll(p.operation, "-", " "))
	}
	b.warnOptions(p, n, &o)
	return o
}

// joinFunction binds the function that a join may have, whose output is the join's.
func (b *builder) joinFunction(p *producer, n *node, keys []stream.Field) *Function {
	f := n.get("join")
	if f == nil || !f.ok {
		return nil
	}
	fn := b.function(p, call{node: f, path: p.path + "." + p.operation + ".join", field: "join", roles: []string{abi.RoleJoin}, sides: p.sides, key: keys, keyed: true})
	if fn != nil {
		p.output = fn.Result()
	}
	return fn
}

func (b *builder) buildCoGroup(p *producer) {
	g, n := p.node.get(p.operation), p.node.get(windowOperation)
	w := &CoGroup{}
	p.step.CoGroup = w
	keys := b.joinKeys(p, g)
	if n != nil && n.ok {
		w.Options = b.twoSided(p, n, keys, &w.Functions)
	}
	if f := g.get("function"); f != nil && f.ok {
		w.Function = b.function(p, call{node: f, path: p.path + "." + p.operation + ".function", field: "co-group", roles: []string{abi.RoleCoGroup}, sides: p.sides, key: keys, keyed: true})
	}
	if w.Function != nil {
		p.output = w.Function.Result()
	}
	w.Left, w.Right = p.sides[0].plan(), p.sides[1].plan()
	w.Left.Key, w.Right.Key = p.keys[0], p.keys[1]
}

func (b *builder) buildIntervalJoin(p *producer) {
	n, at := p.node.get(p.operation), p.path+"."+p.operation
	j := &IntervalJoin{
		Type:           JoinType(wordIndex(n.get("type"), joinWords[:])),
		LowerExclusive: isTrue(n.get("lower-exclusive")),
		UpperExclusive: isTrue(n.get("upper-exclusive")),
	}
	p.step.IntervalJoin = j
	keys := b.joinKeys(p, n)
	if j.Function = b.joinFunction(p, n, keys); j.Function == nil && !n.has("join") {
		b.joinOutput(p, nil)
	}
	for _, s := range p.sides {
		if s.timeless != "" {
			b.wrong(s.refs[0].node, s.path, "%s is joined by time, and the source %s gives no timestamp: give it event-time or ingestion-time", s.shown, s.timeless)
		}
	}
	if b.bounds(p, j, n, at) {
		b.warnInterval(p, j, n, at)
	}
	j.Left, j.Right = p.sides[0].plan(), p.sides[1].plan()
	j.Left.Key, j.Right.Key = p.keys[0], p.keys[1]
	j.Left.LateOutput, j.Right.LateOutput = p.late(p.sides[0]), p.late(p.sides[1])
}

// plan is the side without its key; the schema comes when columns are left out.
func (s *side) plan() Side {
	return Side{From: s.streams(), GapField: s.gap, TriggerField: s.trigger, EvictorField: s.evictor}
}

// joinKeys finds the columns of both keys, which must be as many and of equal
// types; it returns those of the left one, nil if they are not known.
func (b *builder) joinKeys(p *producer, n *node) []stream.Field {
	at := p.path + "." + p.operation
	left, right := n.get("left-key"), n.get("right-key")
	var fields [2][]stream.Field
	p.keys[0], fields[0] = b.key(p.sides[0], left, at+".left-key")
	p.keys[1], fields[1] = b.key(p.sides[1], right, at+".right-key")
	if left == nil || right == nil || !left.ok || !right.ok {
		return nil
	}
	if len(left.items) != len(right.items) {
		b.wrong(right, at+".right-key", "left-key and right-key are compared column by column, and they have %d and %d", len(left.items), len(right.items))
		return nil
	}
	if len(fields[0]) != len(left.items) || len(fields[1]) != len(left.items) {
		return nil
	}
	for i, l := range fields[0] {
		if r := fields[1][i]; !l.Type.Equal(r.Type) {
			b.wrong(right.items[i], at+".right-key", "The columns %s of the left side and %s of the right side are compared, and they are %s and %s; they must be of one type", l.Name, r.Name, l.Type, r.Type)
		}
	}
	return fields[0]
}

// joinOutput makes the row of a pair: the columns of both sides, prefixed, and
// what the operation adds.
func (b *builder) joinOutput(p *producer, added []stream.Field) {
	left, right := p.sides[0].input, p.sides[1].input
	if left == nil || right == nil {
		return
	}
	if count := left.Len() + right.Len() + len(added); count > ColumnsMax {
		b.wrong(p.node, p.path, "The output of the step %s would have %d columns; at most %d are allowed", p.name, count, ColumnsMax)
		return
	}
	var fields []stream.Field
	add := func(prefix string, s *stream.Schema) {
		for _, f := range s.Fields() {
			fields = append(fields, stream.Field{Name: prefix + f.Name, Type: f.Type})
		}
	}
	add(leftPrefix, left)
	add(rightPrefix, right)
	// Joins of joins make names longer and longer.
	i := slices.IndexFunc(fields, func(f stream.Field) bool { return len(f.Name) > NameBytesMax })
	if i >= 0 {
		b.wrong(p.node, p.path, "The output of the step %s would have the column %s, whose name is longer than %d bytes", p.name, quote(fields[i].Name), NameBytesMax)
		return
	}
	p.output = stream.MustSchema(append(fields, added...)...)
}

// bounds reads the interval; false if it is not known. A row is kept as long as
// a partner may come, so without a bound it is kept for ever.
func (b *builder) bounds(p *producer, j *IntervalJoin, n *node, at string) bool {
	lower, upper, ttl, unbounded := n.get("lower"), n.get("upper"), n.get("ttl"), n.get("unbounded")
	var missing string
	switch hasLower, hasUpper := n.has("lower"), n.has("upper"); {
	case !hasLower && !hasUpper:
		missing = "lower and upper are"
	case !hasLower:
		missing = "lower is"
	case !hasUpper:
		missing = "upper is"
	}
	j.Lower, j.Upper = number(lower, 0), number(upper, 0)
	switch {
	case ttl != nil && isTrue(unbounded):
		b.wrong(unbounded, at+".unbounded", "ttl bounds the join, so it is not unbounded; leave one of them out")
	case missing == "" && ttl != nil:
		b.wrong(ttl, at+".ttl", "ttl stands in for a missing lower or upper, and both are there")
	case missing == "" && isTrue(unbounded):
		b.wrong(unbounded, at+".unbounded", "unbounded: true is for a missing lower or upper, and both are there")
	case missing != "" && ttl == nil && !isTrue(unbounded) && !n.has("ttl") && !n.has("unbounded"):
		b.wrong(n, at, "The join has no time bound, so it would keep rows for ever: %s missing; give lower and upper, such as -15m and 0s, or a ttl, or say unbounded: true", missing)
		return false
	case ttl != nil:
		j.missingBounds(lower, upper, -number(ttl, 0), number(ttl, 0))
	case missing != "":
		j.Unbounded = true
		j.missingBounds(lower, upper, math.MinInt64, math.MaxInt64)
	}
	for _, m := range []*node{lower, upper, ttl} {
		if m != nil && !m.ok {
			return false
		}
	}
	if j.Lower > j.Upper {
		where := lower
		if where == nil {
			where = upper
		}
		b.wrong(where, at+".lower", "lower must not be above upper; lower is %s and upper is %s", formatDuration(j.Lower), formatDuration(j.Upper))
		return false
	}
	return true
}

func (j *IntervalJoin) missingBounds(lower, upper *node, low, high int64) {
	if lower == nil {
		j.Lower = low
	}
	if upper == nil {
		j.Upper = high
	}
}

// warnInterval tells of what a join drops, keeps or never finds.
func (b *builder) warnInterval(p *producer, j *IntervalJoin, n *node, at string) {
	if p.late(p.sides[0]) == "" || p.late(p.sides[1]) == "" {
		b.warn(n, at, "Rows that come too late for the join %s are dropped and only counted; late-left and late-right make streams of them", p.name)
	}
	if j.Unbounded {
		b.warn(n, at, "The join %s is unbounded: the state of a job that does not end grows without limit", p.name)
		return
	}
	lower, upper := j.Lower, j.Upper
	if j.LowerExclusive {
		lower++
	}
	if j.UpperExclusive {
		upper--
	}
	if lower > upper {
		b.warn(n, at, "No two rows of %s can be a pair: without its ends nothing is left of the interval", p.name)
	}
	for i, kept := range []int64{max(0, j.Upper), max(0, -j.Lower)} {
		if kept >= day {
			b.warn(n, at, "The join %s keeps every row of its %s side for %s, all of them in state; a shorter interval keeps less", p.name, joinWords[LeftJoin+JoinType(i)], formatDuration(kept))
		}
	}
}
