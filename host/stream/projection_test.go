package stream

import (
	"bytes"
	"testing"
)

// TestProjectionIsCanonical projects every row that Flink wrote onto all its
// columns: the result is what a writer makes of the same values, whichever legal
// form the row had (invariant K).
func TestProjectionIsCanonical(t *testing.T) {
	for _, v := range readVectors(t) {
		all := make([]int, v.schema.Len())
		for c := range all {
			all[c] = c
		}
		kind, _ := ParseChangeKind(v.Kind)
		want := rowBytes(v.schema, kind, v.values)
		if got := NewProjection(v.schema, all).AppendTo(nil, v.bytes, kind); !bytes.Equal(got, want) {
			t.Fatalf("line %d (%s, %s):\n got %x\nwant %x", v.line, v.By, v.schema, got, want)
		}
	}
}

// TestJoin puts the columns of two rows side by side and leaves room behind.
func TestJoin(t *testing.T) {
	str, long := Type{Kind: String}, Type{Kind: BigInt}
	a := MustSchema(Field{"k", str}, Field{"n", long})
	b := MustSchema(Field{"s", str}, Field{"t", str})
	out := MustSchema(Field{"k", str}, Field{"n", long}, Field{"s", str}, Field{"t", str}, Field{"end", long})
	x := rowBytes(a, Insert, []any{"a key that is long", nil})
	y := rowBytes(b, Delete, []any{nil, "another long string"})
	batch := new(Batch)
	batch.Append(x, 1) // so that the joined row does not begin the buffer
	got := batch.AppendJoined(NewJoin(a, b, out), x, y, Insert, 7)
	c := out.Column(4)
	c.PutInt64(got, 42)
	want := rowBytes(out, Insert, []any{"a key that is long", nil, nil, "another long string", int64(42)})
	if !bytes.Equal(batch.Row(1), want) || batch.Time(1) != 7 {
		t.Fatalf("%x at %v, want %x", batch.Row(1), batch.Time(1), want)
	}
}
