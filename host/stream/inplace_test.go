package stream

import (
	"bytes"
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

func bigOf(hi int64, lo uint64) *big.Int {
	v := new(big.Int).Lsh(big.NewInt(hi), 64)
	return v.Add(v, new(big.Int).SetUint64(lo))
}

// TestInPlace: a wide value put in place, over NULL or another, is the row that
// a writer would have made.
func TestInPlace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		decimal := Type{Kind: Decimal, Precision: rapid.IntRange(DecimalCompactPrecisionMax+1, DecimalPrecisionMax).Draw(t, "precision")}
		wide := Type{Kind: Timestamp, Precision: rapid.IntRange(TimestampCompactMax+1, TimestampPrecisionMax).Draw(t, "precision")}
		s := MustSchema(Field{"a", Type{Kind: BigInt}}, Field{"d", decimal}, Field{"t", wide}, Field{"n", Type{Kind: Int}})
		d, ts := s.Column(1), s.Column(2)
		before := []any{int64(1), genValue(decimal).Draw(t, "d"), genValue(wide).Draw(t, "t"), nil}
		v, at := genDecimal(decimal.Precision).Draw(t, "new"), stamp{rapid.Int64().Draw(t, "ms"), rapid.Int32Range(0, 999_999).Draw(t, "nanos")}
		row := rowBytes(s, Insert, before)
		m := new(big.Int).Set(v)
		if v.Sign() < 0 {
			m.Add(m, new(big.Int).Lsh(big.NewInt(1), 128))
		}
		b := m.FillBytes(make([]byte, 16))
		d.PutInt128(row, int64(new(big.Int).SetBytes(b[:8]).Uint64()), new(big.Int).SetBytes(b[8:]).Uint64())
		ts.PutTimestamp(row, at.ms, at.nanos)
		s0 := s.Column(0)
		s0.ReplaceInt64(row, 7)
		if want := rowBytes(s, Insert, []any{int64(7), v, at, nil}); !bytes.Equal(row, want) {
			t.Fatalf("%v: got %x, want %x", v, row, want)
		}
		if got := bigOf(d.Int128(row)); got.Cmp(v) != 0 {
			t.Fatalf("%v is read as %v", v, got)
		}
	})
}

// TestInt128Compact: a DECIMAL in its slot is read as a wide one is.
func TestInt128Compact(t *testing.T) {
	s := MustSchema(Field{"d", Type{Kind: Decimal, Precision: 18}})
	for _, v := range []int64{0, 1, -1, 999_999_999_999_999_999, -999_999_999_999_999_999} {
		w := NewRowWriter(s)
		w.BeginIn(nil, Insert)
		w.SetInt64(0, v)
		c := s.Column(0)
		if got := bigOf(c.Int128(w.Row())); got.Cmp(big.NewInt(v)) != 0 {
			t.Errorf("%d is read as %v", v, got)
		}
	}
}

// TestArrayBuilder: elements taken from rows give the bytes that an ArrayWriter
// gives, and Place reads them as an ArrayView does; maps likewise.
func TestArrayBuilder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		elem := genType(2).Draw(t, "type")
		s := MustSchema(Field{"element", elem})
		b := NewArrayBuilder(elem)
		for range 2 { // the second time in the buffers of the first
			values := drawValues(t, &elem, rapid.IntRange(0, 70).Draw(t, "length"))
			b.Reset()
			for i, v := range values {
				c := s.Column(0)
				b.Append(&c, rowBytes(s, Insert, []any{v}))
				if text, ok := v.(string); ok && string(b.Bytes(i)) != text {
					t.Fatalf("%q is read as %q", text, b.Bytes(i))
				}
			}
			want := arrayBytes(elem, values)
			if got := b.AppendTo([]byte("before"))[6:]; !bytes.Equal(got, want) || b.Len() != len(values) {
				t.Fatalf("got %x, want %x", got, want)
			}
			a := ViewArray(&elem, want)
			for i, v := range values {
				c := Column{Type: elem}
				a.Place(&c, i)
				if got := get(cell{c, a.Row()}, elem); render(got) != render(v) {
					t.Fatalf("element %d: %s, want %s", i, render(got), render(v))
				}
			}
			if got, want := AppendMapOf([]byte("12345678"), b, b)[8:], AppendMap(nil, want, want); !bytes.Equal(got, want) {
				t.Fatalf("map: got %x, want %x", got, want)
			}
		}
	})
}
