package conformance

import (
	"encoding/base64"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strings"

	"github.com/wasmstream/wasmstream/abi"
)

// generatedOps is about how many ops a function is asked where nobody has written cases.
const generatedOps = 256

// timer is one that a function set.
type timer struct {
	op         int // which of the ops that were asked, counted from 0
	processing bool
	time       int64
}

// generate writes a cases.txt with one case for a function, whose rows follow from its
// schemas and its name: the same each time. There are no expectations in it. Timers
// follow from what a function does: those that it was seen to set, asked the same without
// them, are called behind the op that sets them.
func generate(f *abi.Function, timers []timer) (string, error) {
	seed := fnv.New64a()
	seed.Write([]byte(f.GetName()))
	g := &generator{f: f, random: rand.New(rand.NewPCG(seed.Sum64(), 1)), timers: timers}
	g.line("function %s", f.GetName())
	g.line("case generated")
	g.opening()
	switch f.GetRole() {
	case abi.RoleAggregate, abi.RoleReduce:
		g.slots()
	case abi.RoleApply, abi.RoleEvictor, abi.RoleCoGroup:
		g.windows()
	case abi.RoleTrigger:
		g.trigger()
	default:
		g.records()
	}
	return g.text.String(), g.err
}

type generator struct {
	f      *abi.Function
	random *rand.Rand
	text   strings.Builder
	time   int64
	err    error
	ops    int // so far, without those of timers
	timers []timer
}

// op writes the line of an op, and those of the timers that it sets.
func (g *generator) op(format string, args ...any) {
	g.line(format, args...)
	words := [2]string{"on-timer event", "on-timer processing"}
	if g.f.GetRole() == abi.RoleTrigger {
		words = [2]string{"on-event-time", "on-processing-time"}
	}
	for _, t := range g.timers {
		switch {
		case t.op != g.ops:
		case t.processing:
			g.line("%s @%d", words[1], t.time)
		default:
			g.line("%s @%d", words[0], t.time)
		}
	}
	g.ops++
}

func (g *generator) line(format string, args ...any) { fmt.Fprintf(&g.text, format+"\n", args...) }

// opening sets what has no default, and columns where the function takes any.
func (g *generator) opening() {
	var set []string
	for _, p := range g.f.GetParameters() {
		if p.Default == nil {
			set = append(set, fmt.Sprintf("%q: %s", p.GetName(), g.value(p.GetName(), p.GetType())))
		}
	}
	if len(set) > 0 {
		g.line("open {%s}", strings.Join(set, ", "))
	}
	if g.f.GetInput().GetAny() {
		g.line("input %s", columnsOf(anyColumns))
	}
	if g.f.GetSecondInput().GetAny() {
		g.line("second %s", columnsOf(anyColumns))
	}
}

// anyColumns are what a function gets that takes any.
var anyColumns = &abi.Schema{Fields: []*abi.Field{
	{Name: "k", Type: "STRING"}, {Name: "v", Type: "BIGINT"}, {Name: "x", Type: "DOUBLE"}, {Name: "t", Type: "TIMESTAMP(3)"},
}}

func columnsOf(s *abi.Schema) string {
	list := make([]string, len(s.GetFields()))
	for i, f := range s.GetFields() {
		list[i] = f.GetType() + " " + f.GetName()
	}
	return strings.Join(list, ", ")
}

// generatedKeys is how many keys, accumulators and words there are.
const generatedKeys = 16

func (g *generator) slots() {
	for i := range generatedKeys {
		if g.f.GetRole() == abi.RoleAggregate {
			g.op("create %d", i)
		} else {
			g.line("slot %d %s", i, g.row(g.f.GetInput()))
		}
	}
	word := map[string]string{abi.RoleAggregate: "add", abi.RoleReduce: "reduce"}[g.f.GetRole()]
	for range generatedOps {
		g.op("%s %d %s", word, g.random.IntN(generatedKeys), g.row(g.f.GetInput()))
	}
	if g.f.GetRole() == abi.RoleAggregate {
		g.op("merge 0 1")
		for i := range generatedKeys {
			if i != 1 { // it was merged, and is gone
				g.op("result %d => {}", i)
			}
		}
	}
}

// windowMillis is how long generated windows are.
const windowMillis = 60_000

// windows are asked about as wholes.
func (g *generator) windows() {
	for i := range generatedOps / 4 {
		g.key()
		g.line("window %d %d", int64(i)*windowMillis, int64(i+1)*windowMillis)
		for j := range generatedKeys {
			word, s := "element", g.f.GetInput()
			if j%2 == 1 && g.f.GetRole() == abi.RoleCoGroup {
				word, s = "second-element", g.f.GetSecondInput()
			}
			g.line("%s @%d %s", word, int64(i)*windowMillis+int64(j), g.row(s))
		}
		g.op("%s", map[string]string{abi.RoleApply: "on-window", abi.RoleEvictor: "evict before", abi.RoleCoGroup: "on-group"}[g.f.GetRole()])
	}
}

func (g *generator) trigger() {
	for i := range generatedKeys {
		g.key()
		start := int64(i) * windowMillis
		g.line("window %d %d", start, start+windowMillis)
		for range generatedOps / generatedKeys {
			g.op("on-element @%d %s", start+g.random.Int64N(windowMillis), g.row(g.f.GetInput()))
		}
		g.op("on-event-time @%d", start+windowMillis-1)
		if g.f.GetMerges() && i%2 == 1 {
			g.merge(start)
		}
		g.op("clear")
	}
}

// merge has the window take in another one of its key, with one record.
func (g *generator) merge(start int64) {
	g.line("window %d %d", start+windowMillis, start+windowMillis+1)
	g.op("on-element @%d %s", start+windowMillis, g.row(g.f.GetInput()))
	g.line("merged %d %d", start, start+windowMillis)
	g.line("merged %d %d", start+windowMillis, start+windowMillis+1)
	g.line("window %d %d", start, start+windowMillis+1)
	g.op("on-merge")
}

// records are asked about one by one.
func (g *generator) records() {
	in, second := g.f.GetInput(), g.f.GetSecondInput()
	if g.f.GetRole() == abi.RoleBroadcastProcess {
		for range generatedKeys {
			g.op("on-broadcast @%d %s", g.next(), g.row(second))
		}
	}
	for i := range generatedOps {
		g.key()
		switch role := g.f.GetRole(); {
		case role == abi.RoleAssigner:
			g.op("assign @%d %s", g.next(), g.row(in))
		case role == abi.RoleJoin:
			g.op("on-pair @%d %s %s", g.next(), g.row(in), g.row(second))
		case role == abi.RoleDecode:
			g.op("decode @%d {\"value\": %s}", g.next(), g.value("value", "BYTES"))
		case role == abi.RoleEncode:
			g.op("encode @%d %s", g.next(), g.row(in))
		case role == abi.RoleEnrich && i%2 == 1:
			g.op("on-answer @%d %s {\"status\": 200, \"headers\": \"content-type: text/plain\\n\", \"body\": %s}", g.next(), g.row(in), g.value("body", "BYTES"))
		case role == abi.RoleCoProcess && i%2 == 1:
			g.op("on-second @%d %s", g.next(), g.row(second))
		default:
			g.op("on-record @%d %s", g.next(), g.row(in))
		}
	}
}

// key sets the key of the next op, for functions that can have one.
func (g *generator) key() {
	switch g.f.GetRole() {
	case abi.RoleApply, abi.RoleTrigger, abi.RoleEvictor, abi.RoleCoGroup, abi.RoleProcess, abi.RoleCoProcess, abi.RoleBroadcastProcess, abi.RoleJoin:
	default:
		return
	}
	if len(g.f.GetKey().GetFields()) > 0 {
		g.line("key %s", g.row(g.f.GetKey()))
		return
	}
	g.line("key {\"key\": %d}", g.random.IntN(generatedKeys))
}

// next is the time of the next op.
func (g *generator) next() int64 {
	g.time += 1 + g.random.Int64N(1000)
	return g.time
}

// row is a row of a schema; "" for none.
func (g *generator) row(s *abi.Schema) string {
	if s.GetAny() {
		s = anyColumns
	}
	var columns []string
	for _, f := range s.GetFields() {
		columns = append(columns, fmt.Sprintf("%q: %s", f.GetName(), g.value(f.GetName(), f.GetType())))
	}
	return "{" + strings.Join(columns, ", ") + "}"
}

// value is one of a column's type; null of those that cases do not know.
func (g *generator) value(name, columnType string) string {
	word := fmt.Sprintf("w%d", g.random.IntN(generatedKeys))
	switch columnType {
	case "BOOLEAN":
		return fmt.Sprint(g.random.IntN(2) == 1)
	case "INT", "BIGINT", "DATE":
		return fmt.Sprint(g.random.IntN(1000))
	case "TIMESTAMP(3)":
		return fmt.Sprint(g.time + g.random.Int64N(1000))
	case "FLOAT", "DOUBLE":
		return fmt.Sprint(float64(g.random.IntN(100_000)) / 100)
	case "STRING":
		return fmt.Sprintf("%q", word)
	case "BYTES":
		return fmt.Sprintf("%q", base64.StdEncoding.EncodeToString([]byte(word)))
	}
	if strings.HasSuffix(columnType, " NOT NULL") && g.err == nil {
		g.err = fmt.Errorf("column %s: values of the type %s are not made here; write cases", name, columnType)
	}
	return "null"
}
