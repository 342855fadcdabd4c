package stream

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// TestCheckerAgrees: a Checker says of any bytes what CheckExact says.
func TestCheckerAgrees(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := MustSchema(genFields(0, 6).Draw(t, "fields")...)
		k := NewChecker(s)
		row := rowBytes(s, Insert, drawRow(t, s.Fields()))
		for range 4 {
			want, got := CheckExact(s, row), k.Check(row)
			if (want == nil) != (got == nil) || want != nil && want.Error() != got.Error() {
				t.Fatalf("of %x as %s: %v, and CheckExact says %v", row, s, got, want)
			}
			row[rapid.IntRange(0, len(row)-1).Draw(t, "at")] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
		}
		if CheckExact(s, row[:len(row)-8]) == nil || k.Check(row[:len(row)-8]) == nil {
			t.Fatal("a row that is cut off passes")
		}
	})
}

// TestNaNs: all NaNs become one, and nothing else is changed.
func TestNaNs(t *testing.T) {
	s := MustSchema(Field{"f", Type{Kind: Float}}, Field{"b", Type{Kind: BigInt}}, Field{"d", Type{Kind: Double}})
	k := NewChecker(s)
	random := rand.New(rand.NewPCG(1, 2))
	special := []uint64{0x7ff0000000000000, 0xfff0000000000000, 0x7ff0000000000001, 0xffffffffffffffff, 0x7ff8000000000001, 0x8000000000000000, 0x7fefffffffffffff}
	for i := range 10000 {
		narrow, wide := random.Uint32(), random.Uint64()
		if i < len(special) {
			narrow, wide = uint32(special[i]>>32)|uint32(special[i]), special[i]
		}
		if i%2 == 1 {
			narrow, wide = narrow|0x7f800000, wide|0x7ff0000000000000
		}
		row := make(Row, 32)
		binary.LittleEndian.PutUint32(row[8:], narrow)
		binary.LittleEndian.PutUint64(row[16:], wide)
		binary.LittleEndian.PutUint64(row[24:], wide)
		k.SettleNaNs(row)
		wantNarrow, wantWide := narrow, wide
		if f := math.Float32frombits(narrow); f != f {
			wantNarrow = 0x7fc00000
		}
		if f := math.Float64frombits(wide); f != f {
			wantWide = 0x7ff8000000000000
		}
		if binary.LittleEndian.Uint32(row[8:]) != wantNarrow || binary.LittleEndian.Uint64(row[16:]) != wide || binary.LittleEndian.Uint64(row[24:]) != wantWide {
			t.Fatalf("FLOAT %x and DOUBLE %x became %x", narrow, wide, []byte(row))
		}
	}
	w := NewRowWriter(s)
	w.BeginIn(nil, Insert)
	w.SetFloat32(0, float32(math.NaN()))
	w.SetNull(1)
	w.SetFloat64(2, math.Float64frombits(0xfff8000000000123))
	if r := w.Row(); binary.LittleEndian.Uint32(r[8:]) != NaN32 || binary.LittleEndian.Uint64(r[24:]) != NaN64 {
		t.Errorf("written as %x", []byte(r))
	}
}
