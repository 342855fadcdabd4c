package twins

import (
	"math"
	"strings"

	"github.com/wasmstream/wasmstream/abi"
	"github.com/wasmstream/wasmstream/host/guest/guesttest"
	"github.com/wasmstream/wasmstream/host/stream"
)

// accumulator is three columns for each of four calls.
func accumulator() *abi.Schema {
	s := &abi.Schema{}
	for _, call := range []string{"a", "b", "c", "d"} {
		s.Fields = append(s.Fields, &abi.Field{Name: call + "_int", Type: "BIGINT"},
			&abi.Field{Name: call + "_float", Type: "DOUBLE"}, &abi.Field{Name: call + "_seen", Type: "BIGINT"})
	}
	return s
}

// The columns of a call in the accumulator, from its first.
const (
	asInt = iota
	asFloat
	seen
	columnsOfCall
)

// aggregate is the function of that name.
type aggregate struct {
	accumulator *stream.Schema
	calls       []aggregateCall
	result      *stream.Schema
}

type aggregateCall struct {
	kind    string
	column  *stream.Column // nil: count
	isFloat bool
}

func newAggregate() *aggregate {
	var fields []stream.Field
	for _, f := range accumulator().GetFields() {
		t, _, err := stream.ParseColumnType(f.GetType())
		if err != nil {
			panic(err) // the schema above is wrong
		}
		fields = append(fields, stream.Field{Name: f.GetName(), Type: t})
	}
	return &aggregate{accumulator: stream.MustSchema(fields...)}
}

func (a *aggregate) perform(o *guesttest.Op) {
	switch o.Kind {
	case abi.OpOpen:
		a.open(o)
	case abi.OpAdd:
		for i := range a.calls {
			a.add(o, i)
		}
	case abi.OpMerge:
		for i := range a.calls {
			a.merge(o, i)
		}
	case abi.OpResult:
		a.emit(o)
	}
}

func (a *aggregate) open(o *guesttest.Op) {
	input, _ := inputSchema(o, o.Arg)
	parameters := stream.MustSchema(stream.Field{Name: "calls", Type: stream.Type{Kind: stream.String}})
	c := parameters.Column(0)
	a.calls = nil
	var fields []stream.Field
	for line := range strings.Lines(string(c.Bytes(o.Row))) {
		words := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		call, t := aggregateCall{kind: words[0]}, stream.Type{Kind: stream.BigInt}
		if call.kind != "count" {
			column := input.Column(input.Index(words[1]))
			call.column, call.isFloat = &column, column.Type.Kind == stream.Double
			if call.isFloat || call.kind == "min" || call.kind == "max" {
				t = column.Type
			}
		}
		a.calls = append(a.calls, call)
		fields = append(fields, stream.Field{Name: words[2], Type: t})
	}
	a.result = stream.MustSchema(fields...)
	o.Effect(abi.EffectSchema, 0, []byte(textOf(a.result)))
}

// textOf is a schema as open tells it.
func textOf(s *stream.Schema) string {
	var b strings.Builder
	for _, f := range s.Fields() {
		b.WriteString(f.Type.String() + "\t" + f.Name + "\n")
	}
	return b.String()
}

// value is a number of an accumulator.
func (a *aggregate) value(acc stream.Row, call, column int) int64 {
	c := a.accumulator.Column(call*columnsOfCall + column)
	return c.Int64(acc)
}

func (a *aggregate) put(acc stream.Row, call, column int, v int64) {
	c := a.accumulator.Column(call*columnsOfCall + column)
	c.ReplaceInt64(acc, v)
}

func (a *aggregate) add(o *guesttest.Op, i int) {
	c := &a.calls[i]
	acc := o.State(0)
	if c.kind == "count" {
		a.put(acc, i, seen, a.value(acc, i, seen)+1)
		return
	}
	if c.column.IsNull(o.Row) {
		return
	}
	switch {
	case c.isFloat:
		a.take(o, acc, i, 0, c.column.Float64(o.Row), 1)
	case c.column.Type.Kind == stream.Int:
		a.take(o, acc, i, int64(c.column.Int32(o.Row)), 0, 1)
	default:
		a.take(o, acc, i, c.column.Int64(o.Row), 0, 1)
	}
}

func (a *aggregate) merge(o *guesttest.Op, i int) {
	from := o.StateAt(o.Arg)
	n := a.value(from, i, seen)
	if n == 0 {
		return
	}
	if a.calls[i].kind == "count" {
		a.put(o.State(0), i, seen, a.value(o.State(0), i, seen)+n)
		return
	}
	a.take(o, o.State(0), i, a.value(from, i, asInt), math.Float64frombits(uint64(a.value(from, i, asFloat))), n)
}

// take brings a value, of so many records, in.
func (a *aggregate) take(o *guesttest.Op, acc stream.Row, i int, v int64, f float64, n int64) {
	c := &a.calls[i]
	before := a.value(acc, i, seen)
	old, oldFloat := a.value(acc, i, asInt), math.Float64frombits(uint64(a.value(acc, i, asFloat)))
	a.put(acc, i, seen, before+n)
	switch {
	case before == 0:
	case c.kind == "min":
		if !(f < oldFloat) {
			f = oldFloat
		}
		v = min(v, old)
	case c.kind == "max":
		if !(f > oldFloat) {
			f = oldFloat
		}
		v = max(v, old)
	default:
		f += oldFloat
		sum := v + old
		if (sum > v) != (old > 0) && old != 0 {
			o.Fail("overflow")
		}
		v = sum
	}
	a.put(acc, i, asInt, v)
	a.put(acc, i, asFloat, int64(math.Float64bits(f)))
}

func (a *aggregate) emit(o *guesttest.Op) {
	acc := o.State(0)
	w := stream.NewRowWriter(a.result)
	w.BeginIn(nil, stream.Insert)
	for i, c := range a.calls {
		n, v, f := a.value(acc, i, seen), a.value(acc, i, asInt), math.Float64frombits(uint64(a.value(acc, i, asFloat)))
		switch {
		case c.kind == "count":
			w.SetInt64(i, n)
		case n == 0:
			w.SetNull(i)
		case c.isFloat && c.kind == "avg":
			w.SetFloat64(i, f/float64(n))
		case c.isFloat:
			w.SetFloat64(i, f)
		case c.kind == "avg":
			w.SetInt64(i, v/n)
		case a.result.Fields()[i].Type.Kind == stream.Int:
			w.SetInt32(i, int32(v))
		default:
			w.SetInt64(i, v)
		}
	}
	o.Emit(0, w.Row())
}

// join is the function of that name.
type join struct {
	inputs [2]*stream.Schema
	window bool
	output *stream.Schema
}

func (j *join) perform(o *guesttest.Op) {
	if o.Kind == abi.OpOpen {
		j.open(o)
		return
	}
	w := stream.NewRowWriter(j.output)
	w.BeginIn(nil, stream.Insert)
	at := 0
	for i, row := range []stream.Row{o.Row, o.Second()} {
		for n := range j.inputs[i].Len() {
			j.copy(w, at, j.inputs[i].Column(n), row)
			at++
		}
	}
	if j.window {
		start, end := o.Window()
		w.SetInt64(at, start)
		w.SetInt64(at+1, end)
	}
	o.Emit(0, w.Row())
}

func (*join) copy(w *stream.RowWriter, at int, c stream.Column, row stream.Row) {
	switch {
	case row == nil || c.IsNull(row):
		w.SetNull(at)
	case c.Type.Kind == stream.String || c.Type.Kind == stream.Bytes:
		w.SetBytes(at, c.Bytes(row))
	case c.Type.Kind == stream.Int || c.Type.Kind == stream.Date:
		w.SetInt32(at, c.Int32(row))
	case c.Type.Kind == stream.Timestamp:
		ms, nanos := c.Timestamp(row)
		w.SetTimestamp(at, ms, nanos)
	default:
		w.SetInt64(at, c.Int64(row))
	}
}

func (j *join) open(o *guesttest.Op) {
	var next uint32
	j.inputs[0], next = inputSchema(o, o.Arg)
	j.inputs[1], _ = inputSchema(o, next)
	parameters := stream.MustSchema(stream.Field{Name: "window", Type: stream.Type{Kind: stream.Boolean}})
	c := parameters.Column(0)
	j.window = c.Bool(o.Row)
	var fields []stream.Field
	for i, prefix := range []string{"left_", "right_"} {
		for _, f := range j.inputs[i].Fields() {
			fields = append(fields, stream.Field{Name: prefix + f.Name, Type: f.Type})
		}
	}
	if j.window {
		bigint := stream.Type{Kind: stream.BigInt}
		fields = append(fields, stream.Field{Name: "window_start", Type: bigint}, stream.Field{Name: "window_end", Type: bigint})
	}
	j.output = stream.MustSchema(fields...)
	o.Effect(abi.EffectSchema, 0, []byte(textOf(j.output)))
}
