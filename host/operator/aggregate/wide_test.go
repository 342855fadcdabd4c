package aggregate_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/wasmstream/wasmstream/host/operator/aggregate"
	"github.com/wasmstream/wasmstream/host/stream"
)

func typeOf(t testing.TB, text string) stream.Type {
	typ, err := stream.ParseType(text)
	if err != nil {
		t.Fatal(err)
	}
	return typ
}

// column makes the schema of one column.
func column(typ stream.Type) *stream.Schema {
	return stream.MustSchema(stream.Field{Name: "a", Type: typ})
}

// decimalRow has an unscaled value in its only column.
func decimalRow(s *stream.Schema, v *big.Int) stream.Row {
	w := stream.NewRowWriter(s)
	w.BeginIn(nil, stream.Insert)
	if s.Fields()[0].Type.IsFixedWidth() {
		w.SetInt64(0, v.Int64())
		return w.Buffer()
	}
	w.SetBigDecimal(0, twos(v))
	return w.Buffer()
}

// twos is 16 bytes of two's complement.
func twos(v *big.Int) []byte {
	m := new(big.Int).Set(v)
	if v.Sign() < 0 {
		m.Add(m, new(big.Int).Lsh(big.NewInt(1), 128))
	}
	return m.FillBytes(make([]byte, 16))
}

func decimalAt(c stream.Column, r stream.Row) *big.Int {
	hi, lo := c.Int128(r)
	v := new(big.Int).Lsh(big.NewInt(hi), 64)
	return v.Add(v, new(big.Int).SetUint64(lo))
}

func number(text string) *big.Int {
	v, ok := new(big.Int).SetString(text, 10)
	if !ok {
		panic(text)
	}
	return v
}

func newFunction(t testing.TB, in *stream.Schema, kinds ...aggregate.Kind) *aggregate.Function {
	var calls []aggregate.Call
	for i, k := range kinds {
		calls = append(calls, aggregate.Call{Name: string(rune('p' + i)), Kind: k})
	}
	f, err := aggregate.New(in, calls)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestResultTypes(t *testing.T) {
	for _, c := range []struct {
		kind     aggregate.Kind
		in, want string
	}{
		{aggregate.Sum, "DECIMAL(10,2)", "DECIMAL(38, 2)"}, {aggregate.Sum, "DECIMAL(38,38)", "DECIMAL(38, 38)"},
		{aggregate.Avg, "DECIMAL(10,2)", "DECIMAL(38, 6)"}, {aggregate.Avg, "DECIMAL(20,7)", "DECIMAL(38, 7)"},
		{aggregate.Min, "DECIMAL(10,2)", "DECIMAL(10, 2)"}, {aggregate.Max, "DECIMAL(30,2)", "DECIMAL(30, 2)"},
		{aggregate.Min, "STRING", "STRING"}, {aggregate.Max, "BYTES", "BYTES"}, {aggregate.Max, "TIMESTAMP(9)", "TIMESTAMP(9)"}, {aggregate.Min, "TIMESTAMP_LTZ(6)", "TIMESTAMP_LTZ(6)"},
	} {
		if got, err := aggregate.ResultType(c.kind, typeOf(t, c.in)); err != nil || got.String() != c.want {
			t.Errorf("%s(%s): %s, %v", c.kind, c.in, got, err)
		}
	}
}

// TestDecimals holds sum, avg, min and max to math/big, added in one and merged
// from two accumulators, which stay sound rows of their first length.
func TestDecimals(t *testing.T) {
	kinds := []aggregate.Kind{aggregate.Max, aggregate.Sum, aggregate.Avg, aggregate.Min, aggregate.Count}
	rapid.Check(t, func(t *rapid.T) {
		typ := stream.Type{Kind: stream.Decimal, Precision: rapid.SampledFrom([]int{5, 18, 19, 30, 36}).Draw(t, "precision")}
		typ.Scale = rapid.IntRange(0, min(8, typ.Precision)).Draw(t, "scale")
		in := column(typ)
		f, err := aggregate.New(in, []aggregate.Call{{Name: "max", Kind: kinds[0]}, {Name: "sum", Kind: kinds[1]}, {Name: "avg", Kind: kinds[2]}, {Name: "min", Kind: kinds[3]}, {Name: "n", Kind: kinds[4]}})
		if err != nil {
			t.Fatal(err)
		}
		acc, first, second := newAcc(f), newAcc(f), newAcc(f)
		var values []*big.Int
		for i := range rapid.IntRange(1, 12).Draw(t, "records") {
			digits := rapid.IntRange(1, typ.Precision).Draw(t, "digits")
			v := number(rapid.StringMatching(fmt.Sprintf("-?[0-9]{%d}", digits)).Draw(t, "v"))
			values = append(values, v)
			half := &first
			if i%2 == 1 {
				half = &second
			}
			for _, to := range []*stream.Row{&acc, half} {
				if moved, err := f.Add(*to, decimalRow(in, v)); err != nil || moved != nil {
					t.Fatal(moved, err)
				}
			}
		}
		if moved, err := f.Merge(first, second); err != nil || moved != nil {
			t.Fatal(moved, err)
		}
		if !bytes.Equal(acc, first) {
			t.Fatalf("added %x, merged %x", acc, first)
		}
		if err := stream.CheckRow(f.Accumulator(), acc); err != nil {
			t.Fatal(err)
		}
		out := stream.Row(f.AppendResult(nil, acc))
		if err := stream.CheckRow(f.Result(), out); err != nil {
			t.Fatal(err)
		}
		sum := new(big.Int)
		for _, v := range values {
			sum.Add(sum, v)
		}
		compare := func(a, b *big.Int) int { return a.Cmp(b) }
		for i, want := range []*big.Int{slices.MaxFunc(values, compare), sum, nil, slices.MinFunc(values, compare)} {
			if c := f.Result().Column(i); want != nil && decimalAt(c, out).Cmp(want) != 0 {
				t.Fatalf("%s: %s, want %s", kinds[i], decimalAt(c, out), want)
			}
		}
		average := f.Result().Column(2)
		if scaled := new(big.Rat).SetFrac(sum, big.NewInt(int64(len(values)))); !average.IsNull(out) {
			got := new(big.Rat).SetFrac(decimalAt(average, out), new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(average.Type.Scale-typ.Scale)), nil))
			off := new(big.Rat).Sub(got, scaled)
			if off.Abs(off).Cmp(big.NewRat(1, 2)) > 0 {
				t.Fatalf("avg: %s, want %s", got, scaled)
			}
		}
	})
}

// TestDecimalOverflow: 38 digits are the most, and the record at fault leaves no
// trace, whichever of several aggregates it is that fails.
func TestDecimalOverflow(t *testing.T) {
	in := column(typeOf(t, "DECIMAL(38, 2)"))
	most := number(strings.Repeat("9", 38))
	for _, kinds := range [][]aggregate.Kind{
		{aggregate.Sum}, {aggregate.Count, aggregate.Sum, aggregate.Max}, {aggregate.Max, aggregate.Avg, aggregate.Sum}, {aggregate.Count, aggregate.Avg},
	} {
		f := newFunction(t, in, kinds...)
		for _, sign := range []int64{1, -1} {
			acc := newAcc(f)
			v := new(big.Int).Mul(most, big.NewInt(sign))
			if err := add(f, &acc, decimalRow(in, v)); err != nil {
				t.Fatal(err)
			}
			before := slices.Clone(acc)
			err := add(f, &acc, decimalRow(in, big.NewInt(sign)))
			if !errors.Is(err, aggregate.ErrOverflow) || !strings.HasSuffix(err.Error(), "(a): the sum leaves the range of its type, DECIMAL(38, 2)") {
				t.Fatalf("%v: %v", kinds, err)
			}
			if _, err := f.Merge(acc, acc); !errors.Is(err, aggregate.ErrOverflow) {
				t.Fatalf("%v: merge: %v", kinds, err)
			}
			if !bytes.Equal(acc, before) {
				t.Errorf("%v: the failed record changed the accumulator", kinds)
			}
		}
	}
	f := newFunction(t, column(typeOf(t, "DECIMAL(38, 0)")), aggregate.Avg)
	acc := newAcc(f)
	if err := add(f, &acc, decimalRow(column(typeOf(t, "DECIMAL(38, 0)")), most)); err != nil {
		t.Fatal(err)
	}
	out := stream.Row(f.AppendResult(nil, acc))
	if c := f.Result().Column(0); !c.IsNull(out) {
		t.Errorf("the average of %s has no room for its 6 digits of fraction, but is %s", most, decimalAt(c, out))
	}
}

// TestStrings: extremes of any length, added and merged, in an accumulator that
// moves only when its length changes, beside one that may fail.
func TestStrings(t *testing.T) {
	in := stream.MustSchema(stream.Field{Name: "a", Type: stream.Type{Kind: stream.String}}, stream.Field{Name: "b", Type: stream.Type{Kind: stream.Bytes}},
		stream.Field{Name: "v", Type: stream.Type{Kind: stream.BigInt}})
	calls := []aggregate.Call{
		{Name: "least", Kind: aggregate.Min}, {Name: "n", Kind: aggregate.Count}, {Name: "most", Kind: aggregate.Max, Input: 1}, {Name: "s", Kind: aggregate.Sum, Input: 2},
		{Name: "avg", Kind: aggregate.Avg, Input: 2}, {Name: "greatest", Kind: aggregate.Max},
	}
	rapid.Check(t, func(t *rapid.T) {
		f, err := aggregate.New(in, calls)
		if err != nil {
			t.Fatal(err)
		}
		if n, always := f.AccumulatorBytes(); always || n != f.Accumulator().FixedBytes() {
			t.Fatal(n, always)
		}
		acc, halves := newAcc(f), []stream.Row{newAcc(f), newAcc(f)}
		var strs []string
		var byteses [][]byte
		w := stream.NewRowWriter(in)
		for i := range rapid.IntRange(0, 10).Draw(t, "records") {
			w.BeginIn(nil, stream.Insert)
			if rapid.IntRange(0, 4).Draw(t, "null") == 0 {
				w.SetNull(0)
				w.SetNull(1)
			} else {
				s, b := rapid.StringN(0, 6, 24).Draw(t, "a"), rapid.SliceOfN(rapid.Byte(), 0, 12).Draw(t, "b")
				strs, byteses = append(strs, s), append(byteses, b)
				w.SetBytes(0, []byte(s))
				w.SetBytes(1, b)
			}
			w.SetInt64(2, int64(i))
			for _, to := range []*stream.Row{&acc, &halves[i%2]} {
				before := len(*to)
				moved, err := f.Add(*to, w.Row())
				if err != nil || moved != nil && len(moved) == before {
					t.Fatal(moved, err)
				}
				if moved != nil {
					*to = slices.Clone(moved)
				}
			}
		}
		moved, err := f.Merge(halves[0], halves[1])
		if err != nil {
			t.Fatal(err)
		}
		if moved == nil {
			moved = halves[0]
		}
		if !bytes.Equal(moved, acc) {
			t.Fatalf("added %x, merged %x", acc, moved)
		}
		if err := stream.CheckRow(f.Accumulator(), acc); err != nil {
			t.Fatal(err)
		}
		out := stream.Row(f.AppendResult(nil, acc))
		if err := stream.CheckRow(f.Result(), out); err != nil {
			t.Fatal(err)
		}
		least, most, greatest := f.Result().Column(0), f.Result().Column(2), f.Result().Column(5)
		if len(strs) == 0 {
			if !least.IsNull(out) || !most.IsNull(out) || !greatest.IsNull(out) {
				t.Fatal("not NULL")
			}
			return
		}
		if got := string(least.Bytes(out)); got != slices.Min(strs) {
			t.Fatalf("min: %q", got)
		}
		if got := string(greatest.Bytes(out)); got != slices.Max(strs) {
			t.Fatalf("max: %q", got)
		}
		if got := most.Bytes(out); !bytes.Equal(got, slices.MaxFunc(byteses, bytes.Compare)) {
			t.Fatalf("max: %q", got)
		}
	})
}

// TestStringsAndOverflow: a record that fails moves nothing either.
func TestStringsAndOverflow(t *testing.T) {
	in := stream.MustSchema(stream.Field{Name: "a", Type: stream.Type{Kind: stream.String}}, stream.Field{Name: "v", Type: stream.Type{Kind: stream.BigInt}})
	f, err := aggregate.New(in, []aggregate.Call{{Name: "m", Kind: aggregate.Max}, {Name: "s", Kind: aggregate.Sum, Input: 1}})
	if err != nil {
		t.Fatal(err)
	}
	record := func(s string, v int64) stream.Row {
		w := stream.NewRowWriter(in)
		w.BeginIn(nil, stream.Insert)
		w.SetBytes(0, []byte(s))
		w.SetInt64(1, v)
		return w.Buffer()
	}
	acc := newAcc(f)
	for _, c := range []struct {
		s    string
		v    int64
		want string
		fail bool
	}{{"a", 1 << 62, "a", false}, {"a much longer one", 1 << 62, "a", true}, {"b", 0, "b", false}, {"a", 0, "b", false}, {"but a much longer one", 1, "but a much longer one", false}} {
		if err := add(f, &acc, record(c.s, c.v)); (err != nil) != c.fail {
			t.Fatal(err)
		}
		out := stream.Row(f.AppendResult(nil, acc))
		if m := f.Result().Column(0); string(m.Bytes(out)) != c.want {
			t.Errorf("after %q: %q", c.s, m.Bytes(out))
		}
	}
}

func TestWideTimestamps(t *testing.T) {
	in := column(typeOf(t, "TIMESTAMP(9)"))
	f := newFunction(t, in, aggregate.Min, aggregate.Max)
	if n, always := f.AccumulatorBytes(); !always || n != f.Accumulator().FixedBytes()+16 {
		t.Fatal(n, always)
	}
	w := stream.NewRowWriter(in)
	acc, other := newAcc(f), newAcc(f)
	for i, v := range []struct {
		ms    int64
		nanos int32
	}{{5, 7}, {5, 6}, {-1, 999_999}, {-1, 999_998}, {5, 8}, {4, 999_999}} {
		w.BeginIn(nil, stream.Insert)
		w.SetTimestamp(0, v.ms, v.nanos)
		to := &acc
		if i%2 == 1 {
			to = &other
		}
		if err := add(f, to, w.Row()); err != nil {
			t.Fatal(err)
		}
	}
	if moved, err := f.Merge(acc, other); moved != nil || err != nil {
		t.Fatal(moved, err)
	}
	out := stream.Row(f.AppendResult(nil, acc))
	if err := stream.CheckRow(f.Result(), out); err != nil {
		t.Fatal(err)
	}
	least, most := f.Result().Column(0), f.Result().Column(1)
	if ms, nanos := least.Timestamp(out); ms != -1 || nanos != 999_998 {
		t.Errorf("min: %d, %d", ms, nanos)
	}
	if ms, nanos := most.Timestamp(out); ms != 5 || nanos != 8 {
		t.Errorf("max: %d, %d", ms, nanos)
	}
}

// TestAllocatesNothing in steady state, also where the accumulator moves.
func TestAllocatesNothing(t *testing.T) {
	in := column(stream.Type{Kind: stream.String})
	f := newFunction(t, in, aggregate.Min, aggregate.Count)
	long, short := stream.NewRowWriter(in), stream.NewRowWriter(in)
	long.BeginIn(nil, stream.Insert)
	long.SetBytes(0, []byte("b, a longer one"))
	short.BeginIn(nil, stream.Insert)
	short.SetBytes(0, []byte("a"))
	acc, out := newAcc(f), []byte(nil)
	buf := make(stream.Row, 0, 64)
	if n := testing.AllocsPerRun(100, func() {
		buf = append(buf[:0], acc...)
		for _, r := range []stream.Row{long.Row(), short.Row()} {
			moved, err := f.Add(buf, r)
			if err != nil {
				t.Fatal(err)
			}
			if moved != nil {
				buf = append(buf[:0], moved...)
			}
		}
		out = f.AppendResult(out[:0], buf)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
