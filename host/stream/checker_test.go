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

// TestCheckerOfStrings: strings at the limits of their forms, each spoilt in many ways.
func TestCheckerOfStrings(t *testing.T) {
	s := MustSchema(Field{"a", Type{Kind: String}}, Field{"b", Type{Kind: BigInt}}, Field{"c", Type{Kind: Bytes}}, Field{"d", Type{Kind: String}})
	k := NewChecker(s)
	values := []string{"", "a", "sevenb.", "eight by", "nine byte", "a text of 16 bit", "\u00e4\u00f6", "\u65e5\u672c\u8a9e\u65e5\u672c", "\xff", "long \xff bytes", "a\xc3"}
	random := rand.New(rand.NewPCG(5, 5))
	fast, sound := 0, 0
	for range 200_000 {
		w := NewRowWriter(s)
		w.BeginIn(nil, Insert)
		for i := range 4 {
			if i == 1 {
				w.SetInt64(1, random.Int64())
			} else {
				w.SetBytes(i, []byte(values[random.IntN(len(values))]))
			}
		}
		row := w.Row()
		for n := random.IntN(3); n > 0; n-- {
			row[random.IntN(len(row))] ^= 1 << random.IntN(8)
		}
		if random.IntN(20) == 0 {
			row = append(row, make([]byte, 8)...)
		}
		want, got := CheckExact(s, row), k.Check(row)
		if (want == nil) != (got == nil) {
			t.Fatalf("of %x: %v, and CheckExact says %v", []byte(row), got, want)
		}
		if want == nil {
			sound++
		}
		if k.isExact(row) {
			fast++
		}
	}
	if sound == 0 || fast < sound*9/10 {
		t.Errorf("%d of %d sound rows were told fast", fast, sound)
	}
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
