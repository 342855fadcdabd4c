package scenario_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/wasmstream/wasmstream/abi"
	"github.com/wasmstream/wasmstream/host/guest/guesttest"
	"github.com/wasmstream/wasmstream/host/job"
	"github.com/wasmstream/wasmstream/host/runtime"
	"github.com/wasmstream/wasmstream/host/scenario"
	"github.com/wasmstream/wasmstream/host/stream"
)

// TestEachScenarios runs scripts for steps that ask a function about each record, in
// every way that may not matter. What they want was worked out by hand.
func TestEachScenarios(t *testing.T) {
	for _, path := range find(t, "testdata/each") {
		for _, restart := range []bool{false, true} {
			for _, batch := range []int{0, 1, 3, 4096} {
				for _, parallelism := range []int{1, 2, 4} {
					o := machines()
					o.Guest = func(f *job.Function, _ []byte) (runtime.Guest, error) { return newWorker(f), nil }
					o.Batch, o.Parallelism, o.RestartEvery = batch, parallelism, restart
					if r := parse(t, path, read(t, path)).Run(o); r.Outcome != scenario.Pass {
						t.Fatal(fmt.Sprintf("restart=%t/batch=%d/parallelism=%d: ", restart, batch, parallelism), r)
					}
				}
			}
		}
	}
}

// newWorker is an instance for the functions of testdata/each/records.json. They fail
// on the number 13, trap on 14 and answer nonsense on 15.
func newWorker(f *job.Function) *guesttest.Instance {
	g := &guesttest.Instance{}
	for len(g.Functions) <= f.Index {
		g.Functions = append(g.Functions, nil)
	}
	by := int64(1)
	var columns []string // of the output, of a function that said them
	g.Functions[f.Index] = func(o *guesttest.Op) {
		if o.Kind == abi.OpOpen {
			if f.ParameterSchema.Len() > 0 {
				c := f.ParameterSchema.Column(0)
				by = c.Int64(o.Row)
			}
			for _, text := range o.Schemas() {
				lines := slices.Collect(strings.Lines(text))
				slices.Reverse(lines)
				columns = lines
				o.Effect(abi.EffectSchema, 0, []byte(strings.Join(lines, "")))
			}
			return
		}
		switch f.Name {
		case "words":
			words(f, o)
			return
		case "adding":
			adding(f, o)
			return
		case "picky":
			picky(f, o)
			return
		case "larger":
			larger(f, o)
			return
		}
		c := f.Inputs[0].Schema.Column(0)
		n := c.Int64(o.Row)
		if columns != nil {
			o.Emit(0, reversed(columns, o.Row))
			return
		}
		work(f, o, n, by)
		switch n {
		case 13:
			o.Fail("thirteen is %s", "bad luck")
		case 14:
			panic("unreachable")
		case 15:
			o.Emit(7, nil)
		}
	}
	return g
}

// reversed is the row with its columns in the other order, which are of BIGINT and
// STRING.
func reversed(lines []string, r stream.Row) stream.Row {
	var out, in []stream.Field
	for _, line := range lines {
		word, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		t, err := stream.ParseType(word)
		if err != nil {
			panic(err)
		}
		out = append(out, stream.Field{Name: name, Type: t})
		in = append([]stream.Field{{Name: name, Type: t}}, in...)
	}
	from := stream.MustSchema(in...)
	values := make([]any, len(in))
	for i := range in {
		c := from.Column(i)
		switch {
		case c.IsNull(r):
		case c.Type.Kind == stream.BigInt:
			values[len(in)-1-i] = c.Int64(r)
		default:
			values[len(in)-1-i] = string(c.Bytes(r))
		}
	}
	return rowOf(stream.MustSchema(out...), values...)
}

// words is an aggregate that strings its numbers together. It fails on 13, has no result
// with a 7 in it, and does not merge 99.
func words(f *job.Function, o *guesttest.Op) {
	text, n := f.Accumulator.Column(0), f.Inputs[0].Schema.Column(0)
	read := func(slot uint32) string { return string(text.Bytes(o.StateAt(slot))) }
	switch o.Kind {
	case abi.OpCreate:
		o.SetState(0, rowOf(f.Accumulator, ""))
	case abi.OpAdd:
		v := n.Int64(o.Row)
		o.SetState(0, rowOf(f.Accumulator, fmt.Sprint(read(o.Slot), v, ";")))
		if v == 13 {
			o.Fail("thirteen")
		}
	case abi.OpMerge:
		o.SetState(0, rowOf(f.Accumulator, read(o.Slot)+read(o.Arg)))
		if strings.Contains(read(o.Slot), "99") {
			o.Fail("no such merge")
		}
	case abi.OpResult:
		if strings.Contains(read(o.Slot), "7") {
			o.Fail("no sevens")
		}
		o.Emit(0, rowOf(f.Result(), read(o.Slot)))
	}
}

// adding is a process function that puts out the sum of a key so far. It fails on 13,
// after it has added it, and at each timer, which 70 and more set for their number.
func adding(f *job.Function, o *guesttest.Op) {
	if o.Kind == abi.OpOnTimer {
		o.SetState(0, nil)
		o.Fail("no time")
	}
	c, sum := f.Inputs[0].Schema.Column(0), int64(0)
	if s := o.State(0); s != nil {
		sum = c.Int64(s)
	}
	n := c.Int64(o.Row)
	sum += n
	o.SetState(0, rowOf(f.States[0].Value, sum))
	o.Emit(0, rowOf(f.Result(), sum))
	if n >= 70 {
		o.SetTimer(0, n)
	}
	if n == 13 {
		o.Fail("thirteen")
	}
}

// picky is a window function: the sum of a window, but not if a 13 is in it.
func picky(f *job.Function, o *guesttest.Op) {
	c, sum := f.Inputs[0].Schema.Column(0), int64(0)
	for i := range o.Len() {
		_, row, _ := o.Element(i)
		if sum += c.Int64(row); c.Int64(row) == 13 {
			o.Fail("thirteen is among %d", o.Len())
		}
	}
	o.Emit(0, rowOf(f.Result(), sum))
}

// larger is a reduce function that fails where 13 comes to something.
func larger(f *job.Function, o *guesttest.Op) {
	k, n := f.Inputs[0].Schema.Column(0), f.Inputs[0].Schema.Column(1)
	held := o.State(0)
	o.SetState(0, rowOf(f.Inputs[0].Schema, string(k.Bytes(held)), max(n.Int64(held), n.Int64(o.Row))))
	if n.Int64(o.Row) == 13 {
		o.Fail("thirteen")
	}
}

func work(f *job.Function, o *guesttest.Op, n, by int64) {
	switch f.Name {
	case "double":
		o.Emit(0, rowOf(f.Result(), nil, 2*n))
	case "even":
		if n%2 == 0 {
			o.Effect(abi.EffectKeep, 0, nil)
		}
	case "split":
		for i := by; i <= n; i += by {
			o.Emit(0, rowOf(f.Result(), i))
		}
		if n%2 != 0 {
			k := f.Inputs[0].Schema.Column(1)
			o.Emit(1, rowOf(f.Outputs[1].Schema, string(k.Bytes(o.Row)), n))
		}
	case "when":
		o.EventTime(n * by)
	case "bucket":
		o.Emit(0, rowOf(f.Result(), "key", n%3))
	}
}
