package aggregate_test

import (
	"errors"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/wasmstream/wasmstream/host/operator/aggregate"
	"github.com/wasmstream/wasmstream/host/stream"
)

func schemaOf(kinds ...stream.TypeKind) *stream.Schema {
	var fields []stream.Field
	for i, k := range kinds {
		fields = append(fields, stream.Field{Name: string(rune('a' + i)), Type: stream.Type{Kind: k, Precision: 3}})
	}
	return stream.MustSchema(fields...)
}

// row makes a row of one column: nil is NULL.
func row(s *stream.Schema, v any) stream.Row {
	w := stream.NewRowWriter(s)
	w.BeginIn(nil, stream.Insert)
	switch v := v.(type) {
	case nil:
		w.SetNull(0)
	case int:
		if s.Fields()[0].Type.Kind == stream.Int || s.Fields()[0].Type.Kind == stream.Date {
			w.SetInt32(0, int32(v))
		} else {
			w.SetInt64(0, int64(v))
		}
	case float64:
		w.SetFloat64(0, v)
	case float32:
		w.SetFloat32(0, v)
	case bool:
		w.SetBool(0, v)
	}
	return w.Buffer()
}

// result reads column 0 of a result: nil, int, float64, float32 or bool.
func result(s *stream.Schema, r stream.Row) any {
	c := s.Column(0)
	if c.IsNull(r) {
		return nil
	}
	switch c.Type.Kind {
	case stream.Int, stream.Date:
		return int(c.Int32(r))
	case stream.Float:
		return c.Float32(r)
	case stream.Double:
		return c.Float64(r)
	case stream.Boolean:
		return c.Bool(r)
	}
	return int(c.Int64(r))
}

func TestAggregates(t *testing.T) {
	type values = []any
	for _, c := range []struct {
		kind aggregate.Kind
		in   stream.TypeKind
		of   values
		want any
	}{
		{aggregate.Count, stream.Int, values{1, nil, 3}, 3},
		{aggregate.Sum, stream.Int, values{math.MaxInt32, 1, nil}, math.MaxInt32 + 1},
		{aggregate.Sum, stream.BigInt, values{nil, nil}, nil},
		{aggregate.Sum, stream.Double, values{0.5, 0.25}, 0.75},
		{aggregate.Sum, stream.Float, values{float32(0.5), float32(0.25)}, float32(0.75)},
		{aggregate.Min, stream.Int, values{3, -7, nil, 5}, -7},
		{aggregate.Max, stream.Int, values{-3, -7, nil}, -3},
		{aggregate.Max, stream.Double, values{-3.0, -7.0}, -3.0},
		{aggregate.Min, stream.Timestamp, values{5, -1}, -1},
		{aggregate.Max, stream.Date, values{5, 7}, 7},
		{aggregate.Max, stream.Boolean, values{false, true, false}, true},
		{aggregate.Min, stream.Boolean, values{true, nil}, true},
		{aggregate.Avg, stream.Int, values{-3, -4, nil}, -3}, // cut toward zero
		{aggregate.Avg, stream.BigInt, values{7, 0}, 3},
		{aggregate.Avg, stream.Double, values{1.0, 2.0}, 1.5},
		{aggregate.Avg, stream.Float, values{float32(1), float32(2)}, float32(1.5)},
		{aggregate.Avg, stream.Int, values{nil}, nil},
	} {
		in := schemaOf(c.in)
		f, err := aggregate.New(in, []aggregate.Call{{Name: "x", Kind: c.kind, Input: 0}})
		if err != nil {
			t.Fatal(err)
		}
		// All at once, and as the merge of every split in two.
		for split := range len(c.of) + 1 {
			acc, other := newAcc(f), newAcc(f)
			for i, v := range c.of {
				to := &acc
				if i >= split {
					to = &other
				}
				if err := add(f, to, row(in, v)); err != nil {
					t.Fatal(err)
				}
			}
			if moved, err := f.Merge(acc, other); err != nil || moved != nil {
				t.Fatal(moved, err)
			}
			out := stream.Row(f.AppendResult(nil, acc))
			if got := result(f.Result(), out); got != c.want {
				t.Errorf("%s of %v (%s), split at %d: %v, want %v", c.kind, c.of, c.in, split, got, c.want)
			}
		}
	}
}

func newAcc(f *aggregate.Function) stream.Row {
	n, _ := f.AccumulatorBytes()
	acc := make(stream.Row, n)
	f.Create(acc)
	return acc
}

// add does what a state backend does with an accumulator that moves.
func add(f *aggregate.Function, acc *stream.Row, r stream.Row) error {
	moved, err := f.Add(*acc, r)
	if moved != nil {
		*acc = slices.Clone(moved)
	}
	return err
}

// TestOverflow: the record at fault leaves no trace (invariant W).
func TestOverflow(t *testing.T) {
	in := schemaOf(stream.BigInt)
	for _, kind := range []aggregate.Kind{aggregate.Sum, aggregate.Avg} {
		f, err := aggregate.New(in, []aggregate.Call{
			{Name: "n", Kind: aggregate.Count}, {Name: "m", Kind: aggregate.Max}, {Name: "s", Kind: kind}, {Name: "n2", Kind: aggregate.Count},
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, sign := range []int{1, -1} {
			acc := newAcc(f)
			if err := add(f, &acc, row(in, sign*(math.MaxInt64-1))); err != nil {
				t.Fatal(err)
			}
			before := string(acc)
			if err := add(f, &acc, row(in, sign*3)); !errors.Is(err, aggregate.ErrOverflow) {
				t.Fatalf("%s: error %v", kind, err)
			}
			if string(acc) != before {
				t.Errorf("%s: the failed record changed the accumulator", kind)
			}
			if err := add(f, &acc, row(in, sign)); err != nil {
				t.Errorf("%s: exactly the limit is refused: %v", kind, err)
			}
		}
	}
}

// TestSumAgainstWideArithmetic: overflow is found exactly when the true sum
// leaves int64.
func TestSumAgainstWideArithmetic(t *testing.T) {
	in := schemaOf(stream.BigInt)
	rapid.Check(t, func(t *rapid.T) {
		f, err := aggregate.New(in, []aggregate.Call{{Name: "s", Kind: aggregate.Sum}})
		if err != nil {
			t.Fatal(err)
		}
		a, b := rapid.Int64().Draw(t, "a"), rapid.Int64().Draw(t, "b")
		acc := newAcc(f)
		if err := add(f, &acc, row(in, int(a))); err != nil {
			t.Fatal(err)
		}
		wide := float64(a) + float64(b)
		sum := a + b
		overflows := (a > 0 && b > 0 && sum < 0) || (a < 0 && b < 0 && sum >= 0)
		if math.Abs(wide) < 1e18 && overflows {
			t.Fatal("the test's own rule is wrong")
		}
		if err := add(f, &acc, row(in, int(b))); (err != nil) != overflows {
			t.Fatalf("%d + %d: error %v", a, b, err)
		}
	})
}

func TestResultTypeRefuses(t *testing.T) {
	for _, c := range []struct {
		kind aggregate.Kind
		in   stream.TypeKind
	}{{aggregate.Sum, stream.String}, {aggregate.Sum, stream.Timestamp}, {aggregate.Avg, stream.Boolean}, {aggregate.Max, stream.Array}, {aggregate.Min, stream.RowType}} {
		if typ, err := aggregate.ResultType(c.kind, stream.Type{Kind: c.in, Elem: &stream.Type{Kind: stream.Int}}); err == nil {
			t.Errorf("%s over %s gives %s", c.kind, c.in, typ)
		}
	}
}
