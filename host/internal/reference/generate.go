package reference

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// flow is a stream that a generated job may read.
type flow struct {
	name     string // of several streams that a step unites itself: [a, b]
	all      []string
	schema   schema
	ordered  bool // its rows have an order: no step computed them
	endless  bool // its times may be maxTime: of global windows
	changing bool // a step puts changes out
}

// generator makes one job and its script.
type generator struct {
	*rand.Rand
	kinds   Kinds
	base    int64 // event times are near it
	scale   int64 // of sizes, ms
	sources []string
	columns schema
	timed   bool // every record has event time
	field   bool // a column holds it
	endable bool // a watermark of maxTime ends; it would fire some triggers for ever
	changes bool // some records are of another kind than +I
	records int  // how many the script has
	flows   []flow
	steps   []string
	names   []string // of steps that count what they drop
	read    map[string]bool
}

// attemptsMax is how often a history is made anew because its answers are no
// measure.
const attemptsMax = 200

// Generate makes the scenario of a seed, with the reference's answers. It avoids
// what spec leaves undefined.
func Generate(seed uint64, kinds Kinds) (string, error) {
	random := rand.New(rand.NewPCG(seed, 0))
	records := 1 + min(int(random.ExpFloat64()*70), 500) // the median is 50
	if random.IntN(100) == 0 {
		records = 500 + random.IntN(1500)
	}
	for range attemptsMax {
		g := &generator{Rand: random, kinds: kinds, records: records, read: map[string]bool{}}
		text := fmt.Sprintf("Random history %d.\n%s-- script --\n", seed, g.job(seed)) + g.script()
		answer, err := Fill(text, false)
		if errors.Is(err, errFailed) {
			continue // such as a merge at the limit of time: no script expects it
		}
		if err != nil {
			return text, fmt.Errorf("seed %d: %w", seed, err)
		}
		if answer.Doubts == nil && (answer.Unlike == nil || kinds["unlike-flink"]) && len(answer.Text) < textBytesMax {
			return answer.Text, nil
		}
	}
	return "", fmt.Errorf("seed %d: no history in %d attempts is free of doubts", seed, attemptsMax)
}

// textBytesMax keeps joins from filling a disk.
const textBytesMax = 1 << 20

func (g *generator) chance(percent int) bool { return g.IntN(100) < percent }

// some is one of the words.
func (g *generator) some(words ...string) string { return words[g.IntN(len(words))] }

// with tells whether a kind may be used, and is, in percent of the cases.
func (g *generator) with(kind Kind, percent int) bool { return g.kinds[kind] && g.chance(percent) }

func (g *generator) ms(from, to int64) string { return fmt.Sprintf("%dms", g.between(from, to)) }

func (g *generator) between(from, to int64) int64 { return from + g.Int64N(to-from+1) }

func (g *generator) job(seed uint64) string {
	g.scale = []int64{5, 20, 100}[g.IntN(3)]
	g.timed, g.endable = g.chance(95) || !g.kinds["processing"], true
	g.field = g.timed && g.chance(25)
	g.changes = g.with("changes", 5)
	g.setBase()
	g.columns = schema{[]string{"k", "j", "v", "d", "g"}, []string{"STRING", "INT", "BIGINT", "DOUBLE", "BIGINT"}}
	if g.field {
		g.columns = g.columns.plus("", schema{[]string{"t"}, []string{"TIMESTAMP(3)"}})
	}
	for _, name := range []string{"a", "b", "c"}[:1+g.IntN(3)] {
		g.sources = append(g.sources, name)
		g.flows = append(g.flows, flow{name: name, all: []string{name}, schema: g.columns, ordered: true})
	}
	for n := 1 + min(g.IntN(4), g.IntN(4)); n > 0 || len(g.steps) == 0; n-- {
		g.step()
	}
	if len(g.sources) > 1 && g.kinds["union"] && g.chance(15) {
		g.unionOfJoins()
	}
	return g.jobText(seed)
}

func (g *generator) jobText(seed uint64) string {
	var b strings.Builder
	fmt.Fprintf(&b, "-- job.yaml --\nversion: 1\nname: history-%d\nsources:\n", seed)
	var columns []string
	for i, name := range g.columns.names {
		columns = append(columns, name+": "+g.columns.types[i])
	}
	for _, name := range g.sources {
		time := ""
		if g.field {
			time = ", event-time: t"
		}
		fmt.Fprintf(&b, "  %s: {test: {}, schema: {%s}%s}\n", name, strings.Join(columns, ", "), time)
	}
	b.WriteString("steps:\n" + strings.Join(g.steps, "") + "sinks:\n")
	for _, f := range g.flows[len(g.sources):] {
		if !g.read[f.name] || g.chance(30) { // what nobody reads would be idle work
			fmt.Fprintf(&b, "  to-%s: {from: %s, test: {}}\n", strings.ReplaceAll(f.name, ".", "-"), f.name)
		}
	}
	return b.String()
}

// setBase chooses the times; near the limits at a distance that no sum bridges.
func (g *generator) setBase() {
	switch n := g.IntN(20); {
	case n < 8:
		g.base = g.between(0, 1000)
	case n < 14:
		g.base = 1_700_000_000_000 + g.between(0, 1000)
	case n < 17 || g.field:
		g.base = -g.between(0, 3000)
	case n < 18:
		g.base = maxTime - 200_000
	default:
		g.base = minTime + 200_000
	}
}

func (g *generator) add(f flow, text string) {
	g.flows = append(g.flows, f)
	g.steps = append(g.steps, text)
}

func (g *generator) newName() string { return fmt.Sprintf("s%d", len(g.steps)+1) }

// pick is a stream that a step may read; the newest ones more often.
func (g *generator) pick(may func(flow) bool) (flow, bool) {
	var list []flow
	for _, f := range g.flows {
		if may(f) {
			list = append(list, f)
		}
	}
	if len(list) == 0 {
		return flow{}, false
	}
	return list[max(g.IntN(len(list)), g.IntN(len(list)))], true
}

func (g *generator) step() {
	switch {
	case g.kinds["pass-through"] && g.chance(8):
		g.union(1)
	case g.kinds["union"] && g.chance(15):
		g.union(2 + g.IntN(2))
	case g.timed && g.with("interval-join", 20):
		g.join(false)
	case g.with("window-join", 20):
		g.join(true)
	default:
		g.window()
	}
}

// same streams have equal columns.
func same(a, b schema) bool { return fmt.Sprint(a) == fmt.Sprint(b) }

// union adds a step that unites up to n streams.
func (g *generator) union(n int) {
	in, _ := g.pick(func(flow) bool { return true })
	in = g.several(in, n)
	if len(in.all) == 1 && !g.kinds["pass-through"] {
		return
	}
	g.unite(in)
}

// several unites a stream with up to n-1 others of its columns.
func (g *generator) several(in flow, n int) flow {
	for ; n > 1 && g.kinds["union"]; n-- {
		next, ok := g.pick(func(f flow) bool { return same(f.schema, in.schema) && !slices.Contains(in.all, f.name) })
		if ok {
			in = both(in, next)
		}
	}
	return in
}

// both is the union of two streams; its rows have an order if all come from
// sources, which the script puts in order.
func both(a, b flow) flow {
	all := append(slices.Clone(a.all), b.all...)
	return flow{
		name: "[" + strings.Join(all, ", ") + "]", all: all, schema: a.schema, ordered: a.ordered && b.ordered,
		endless: a.endless || b.endless, changing: a.changing || b.changing,
	}
}

// unite adds a step that does nothing else.
func (g *generator) unite(in flow) {
	g.reads(in)
	out := in
	out.name = g.newName()
	out.all = []string{out.name}
	g.add(out, fmt.Sprintf("  %s:\n    from: %s\n", out.name, in.name))
}

func (g *generator) reads(f flow) {
	for _, name := range f.all {
		g.read[name] = true
	}
}

// unionOfJoins has two joins of the same two streams, one after the other's
// records, and a window over both.
func (g *generator) unionOfJoins() {
	isWindow := g.kinds["window-join"] && (!g.kinds["interval-join"] || !g.timed || g.chance(30))
	if !isWindow && !g.kinds["interval-join"] || !isWindow && !g.timed {
		return
	}
	before := len(g.flows)
	left, right := g.flows[0], g.flows[1]
	g.joinOf(left, right, isWindow)
	g.joinOf(left, right, isWindow)
	var all []flow
	for _, f := range g.flows[before:] {
		if !strings.Contains(f.name, ".") {
			all = append(all, f)
		}
	}
	if len(all) != 2 || !same(all[0].schema, all[1].schema) {
		return
	}
	g.unite(both(all[0], all[1]))
	g.windowOver(g.flows[len(g.flows)-1])
}
