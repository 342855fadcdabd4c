// Package twins is the module of twins that udfs/twins/README.md describes, as a guest
// in Go that runs in the test: a translation of that table, so that what the host makes
// of functions is tested before, and apart from, SDKs and Wasm.
package twins

import (
	"math"
	"strconv"
	"strings"

	"github.com/wasmstream/wasmstream/abi"
	"github.com/wasmstream/wasmstream/host/guest/guesttest"
	"github.com/wasmstream/wasmstream/host/stream"
)

// Manifest is the module's.
func Manifest() *abi.Manifest {
	anything := &abi.Schema{Any: true}
	bigint := func(name string) *abi.Parameter { return &abi.Parameter{Name: name, Type: "BIGINT"} }
	optional := func(name, kind, value string) *abi.Parameter {
		return &abi.Parameter{Name: name, Type: kind, Default: &value}
	}
	assigner := func(name string, merges bool, parameters ...*abi.Parameter) []*abi.Function {
		plain := &abi.Function{Name: name, Role: abi.RoleAssigner, Input: anything, Merges: merges, Parameters: parameters}
		processing := &abi.Function{Name: name + "-processing", Role: abi.RoleAssigner, Input: anything, Merges: merges, ProcessingTime: true, Parameters: parameters}
		return []*abi.Function{plain, processing}
	}
	offset := optional("offset", "BIGINT", "0")
	rule := []*abi.Parameter{{Name: "rule", Type: "STRING"}, optional("field", "STRING", `""`), optional("threshold", "DOUBLE", "0")}
	m := &abi.Manifest{AbiVersion: abi.Version, Sdk: "test", Language: "go"}
	m.Functions = append(m.Functions, assigner("tumbling", false, bigint("size"), offset)...)
	m.Functions = append(m.Functions, assigner("sliding", false, bigint("size"), bigint("slide"), offset)...)
	m.Functions = append(m.Functions, assigner("session", true, optional("gap", "BIGINT", "0"), optional("gap_field", "STRING", `""`))...)
	memory := &abi.Schema{Fields: []*abi.Field{{Name: "number", Type: "BIGINT"}, {Name: "last", Type: "DOUBLE"}, {Name: "timeout", Type: "BIGINT"}}}
	m.Functions = append(m.Functions,
		&abi.Function{
			Name: "trigger", Role: abi.RoleTrigger, Input: anything, Merges: true, Parameters: rule,
			States: []*abi.State{{Name: "memory", Kind: abi.StateValue, Scope: abi.ScopeWindow, Value: memory}},
		},
		&abi.Function{Name: "evictor", Role: abi.RoleEvictor, Input: anything, Parameters: rule},
		&abi.Function{
			Name: "aggregate", Role: abi.RoleAggregate, Input: anything, Accumulator: accumulator(),
			Parameters: []*abi.Parameter{{Name: "calls", Type: "STRING"}},
		},
		&abi.Function{
			Name: "join", Role: abi.RoleJoin, Input: anything, SecondInput: anything,
			Parameters: []*abi.Parameter{optional("window", "BOOLEAN", "false")},
		})
	return m
}

// New makes an instance.
func New() *guesttest.Instance {
	g := &guesttest.Instance{}
	for _, f := range Manifest().GetFunctions() {
		g.Functions = append(g.Functions, function(f))
	}
	return g
}

// function is one of the module's. What it learns when it is opened is its own.
func function(f *abi.Function) guesttest.Function {
	p := &opened{parameters: parametersOf(f)}
	var perform func(o *guesttest.Op, p *opened)
	switch f.GetRole() {
	case abi.RoleAssigner:
		kind := strings.TrimSuffix(f.GetName(), "-processing")
		perform = func(o *guesttest.Op, p *opened) { assign(o, p, kind, f.GetProcessingTime()) }
	case abi.RoleTrigger:
		perform = trigger
	case abi.RoleEvictor:
		perform = evict
	case abi.RoleAggregate:
		return newAggregate().perform
	case abi.RoleJoin:
		return (&join{}).perform
	}
	return func(o *guesttest.Op) {
		if o.Kind == abi.OpOpen {
			p.open(o)
			return
		}
		perform(o, p)
	}
}

func parametersOf(f *abi.Function) *stream.Schema {
	var fields []stream.Field
	for _, q := range f.GetParameters() {
		t, _, err := stream.ParseColumnType(q.GetType())
		if err != nil {
			panic(err) // the table above is wrong
		}
		fields = append(fields, stream.Field{Name: q.GetName(), Type: t})
	}
	return stream.MustSchema(fields...)
}

// opened is what a function knows since it was opened.
type opened struct {
	parameters *stream.Schema
	numbers    map[string]int64
	words      []string // of rule
	threshold  float64
	field      *stream.Column
}

func (p *opened) open(o *guesttest.Op) {
	p.numbers, p.words, p.field = map[string]int64{}, nil, nil
	input, _ := inputSchema(o, o.Arg)
	for i, f := range p.parameters.Fields() {
		c := p.parameters.Column(i)
		switch {
		case f.Type.Kind == stream.BigInt:
			p.numbers[f.Name] = c.Int64(o.Row)
		case f.Type.Kind == stream.Double:
			p.threshold = c.Float64(o.Row)
		case f.Name == "rule":
			p.words = strings.Fields(string(c.Bytes(o.Row)))
		default:
			name := string(c.Bytes(o.Row))
			if name == "" {
				continue
			}
			at := input.Index(name)
			if at < 0 {
				o.Fail("there is no column %q", name)
			}
			column := input.Column(at)
			p.field = &column
		}
	}
}

// inputSchema reads what open tells of an input, and where the next one is.
func inputSchema(o *guesttest.Op, at uint32) (s *stream.Schema, next uint32) {
	b := o.Frame().Bytes[at:]
	n := int(b[0]) | int(b[1])<<8 | int(b[2])<<16
	var fields []stream.Field
	for line := range strings.Lines(string(b[4 : 4+n])) {
		kind, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		t, _, err := stream.ParseColumnType(kind)
		if err != nil {
			o.Fail("%v", err)
		}
		fields = append(fields, stream.Field{Name: name, Type: t})
	}
	return stream.MustSchema(fields...), at + uint32(abi.Align(4+n))
}

// number is the field as a DOUBLE.
func (p *opened) number(row stream.Row) float64 {
	c := p.field
	switch {
	case c.IsNull(row):
		return math.NaN()
	case c.Type.Kind == stream.Int:
		return float64(c.Int32(row))
	case c.Type.Kind == stream.Float:
		return float64(c.Float32(row))
	case c.Type.Kind == stream.Double:
		return c.Float64(row)
	}
	return float64(c.Int64(row))
}

func assign(o *guesttest.Op, p *opened, kind string, processing bool) {
	t := o.Time()
	if processing {
		t = o.Clock()
	}
	if t == math.MinInt64 && kind != "session" && !processing {
		o.Fail("the record has no timestamp")
	}
	size := p.numbers["size"]
	switch kind {
	case "tumbling":
		start := floor(t, p.numbers["offset"], size)
		o.Assign(start, start+size)
	case "sliding":
		slide := p.numbers["slide"]
		for start := floor(t, p.numbers["offset"], slide); start > t-size; start -= slide {
			o.Assign(start, start+size)
		}
	default:
		gap := p.numbers["gap"]
		if p.field != nil {
			gap = 0
			if !p.field.IsNull(o.Row) {
				gap = int64(p.number(o.Row))
			}
		}
		if gap <= 0 {
			o.Fail("the gap is %d", gap)
		}
		o.Assign(t, t+gap)
	}
}

func floor(t, offset, size int64) int64 {
	r := (t - offset) % size
	if r < 0 {
		r += size
	}
	return t - r
}

func evict(o *guesttest.Op, p *opened) {
	n := o.Len()
	out := func(i int) { o.Effect(abi.EffectEvict, uint32(i), nil) }
	var amount int64
	if len(p.words) > 1 {
		amount = integer(o, p.words[1])
	}
	switch p.words[0] {
	case "count":
		for i := range max(0, n-int(amount)) {
			out(i)
		}
	case "time":
		newest := int64(math.MinInt64)
		first, _, _ := o.Element(0)
		if first == math.MinInt64 {
			return
		}
		for i := range n {
			t, _, _ := o.Element(i)
			if t == math.MinInt64 {
				o.Fail("an element has no timestamp")
			}
			newest = max(newest, t)
		}
		for i := range n {
			if t, _, _ := o.Element(i); t <= newest-amount {
				out(i)
			}
		}
	case "delta":
		_, last, _ := o.Element(n - 1)
		for i := range n {
			if _, row, _ := o.Element(i); p.number(last)-p.number(row) >= p.threshold {
				out(i)
			}
		}
	}
}

func integer(o *guesttest.Op, word string) int64 {
	n, err := strconv.ParseInt(word, 10, 64)
	if err != nil {
		o.Fail("%q is no number", word)
	}
	return n
}
