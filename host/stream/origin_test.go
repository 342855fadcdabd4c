package stream_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wasmstream/wasmstream/host/stream"
)

// originBatch has a row for each of some numbers, which is that of the record it was made
// of; 0: that is not known.
func originBatch(records ...int64) *stream.Batch {
	w := stream.NewRowWriter(stream.MustSchema(stream.Field{Name: "n", Type: stream.Type{Kind: stream.BigInt}}))
	b := new(stream.Batch)
	for _, n := range records {
		w.Begin(b, stream.Insert)
		w.SetInt64(0, n)
		w.End(0)
		if n > 0 {
			b.SetOrigin(stream.Origin{Source: "in", Record: n}, originalOf(n))
		}
	}
	return b
}

// originalOf is what record n was read as; 7 was empty.
func originalOf(n int64) []byte {
	if n == 7 {
		return nil
	}
	return []byte(strings.Repeat(fmt.Sprint(n), int(n)))
}

func origins(b *stream.Batch) (all []string) {
	for i := range b.Len() {
		all = append(all, fmt.Sprintf("%d %s", b.Origin(i).Record, b.Original(i)))
	}
	return all
}

// TestOriginals: what rows were read as stays with them, whatever becomes of a batch.
func TestOriginals(t *testing.T) {
	is := func(what string, b *stream.Batch, want ...string) {
		t.Helper()
		if d := cmp.Diff(want, origins(b)); d != "" {
			t.Errorf("%s (-want +got):\n%s", what, d)
		}
	}
	all := []string{"0 ", "0 ", "1 1", "3 333", "3 333", "7 ", "2 22"}
	b := originBatch(0, 0, 1, 3, 3, 7, 2)
	is("a batch", b, all...)
	if b.Original(0) != nil || b.Original(5) != nil {
		t.Error("an original that is not known, or empty, is not nil")
	}
	c := originBatch(9)
	c.CopyFrom(b)
	is("a copy", c, all...)
	c.Keep(func(i int) bool { return i != 2 && i != 3 && i != 6 })
	is("what is kept", c, "0 ", "0 ", "3 333", "7 ")
	c.Append(b.Row(6), 0)
	c.CopyOrigin(b, 6)
	is("and a row behind it", c, "0 ", "0 ", "3 333", "7 ", "2 22")
	b.Truncate(4)
	is("its beginning", b, all[:4]...)
	b.Append(c.Row(4), 0)
	is("and a row of nowhere", b, append(all[:4:4], "0 ")...)
	b.Truncate(1)
	is("its first row", b, "0 ")
	b = originBatch(1, 2, 3, 0, 0)
	b.Keep(func(i int) bool { return i == 1 || i > 2 })
	is("rows of nowhere behind one that stays", b, "2 22", "0 ", "0 ")
	b = originBatch(1, 0, 3)
	b.Truncate(2)
	b.Append(c.Row(0), 0)
	b.SetOrigin(stream.Origin{Source: "in", Record: 2}, originalOf(2))
	is("a row of nowhere between others", b, "1 1", "0 ", "2 22")
	b.Reset()
	b.Append(c.Row(0), 0)
	is("another", b, "0 ")
}

// TestOriginalsTakeRoom: they are bytes of their batch, so that it is full in time; rows of
// one record share them.
func TestOriginalsTakeRoom(t *testing.T) {
	one := originBatch(0).Bytes()
	for _, c := range []struct {
		records []int64
		bytes   int
	}{{[]int64{9}, 9}, {[]int64{9, 9, 9}, 9}, {[]int64{9, 8, 9}, 26}, {[]int64{7}, 0}} {
		b := originBatch(c.records...)
		if got := b.Bytes() - one*len(c.records); got != c.bytes {
			t.Errorf("originals of %v take %d bytes, want %d", c.records, got, c.bytes)
		}
	}
	b := originBatch(9, 8, 6)
	b.Truncate(1)
	if got := b.Bytes() - one; got != 9 {
		t.Errorf("what is left takes %d bytes, want 9", got)
	}
}

// TestOriginalsInPlace: a batch that is filled again has room for them.
func TestOriginalsInPlace(t *testing.T) {
	from, to := originBatch(1, 2, 2, 3), new(stream.Batch)
	fill := func() {
		to.Reset()
		for i := range from.Len() {
			to.Append(from.Row(i), 0)
			to.CopyOrigin(from, i)
		}
	}
	fill()
	if n := testing.AllocsPerRun(10, fill); n != 0 {
		t.Errorf("%v allocations for a batch", n)
	}
}
