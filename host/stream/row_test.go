package stream

import (
	"bytes"
	"fmt"
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

// What is written is read back, passes the check of hostile rows, and depends
// on the values alone: not on the buffer, nor on what the writer wrote before.
func TestRowsAreTheirValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := genSchema().Draw(t, "schema")
		kind := genKind().Draw(t, "kind")
		values := drawRow(t, s.Fields())
		row := rowBytes(s, kind, values)

		if got := rowValues(s, row); render(got) != render(values) {
			t.Fatalf("read %s, wrote %s", render(got), render(values))
		}
		if row.Change() != kind || len(row)%8 != 0 || len(row) < s.FixedBytes() {
			t.Fatalf("kind %s, want %s; %d bytes of at least %d", row.Change(), kind, len(row), s.FixedBytes())
		}
		if s.IsFixedWidth() && len(row) != s.FixedBytes() {
			t.Fatalf("a row of fixed width has %d bytes instead of %d", len(row), s.FixedBytes())
		}
		if err := CheckRow(s, row); err != nil {
			t.Fatalf("it does not pass: %v", err)
		}

		w := NewRowWriter(s)
		dirty := bytes.Repeat([]byte{0xa5}, 3*len(row)+24)[:0]
		w.BeginIn(dirty, Delete)
		for i, v := range drawRow(t, s.Fields()) {
			put(w, i, s.Fields()[i].Type, v)
		}
		w.BeginIn(w.Buffer(), kind)
		for i, v := range values {
			put(w, i, s.Fields()[i].Type, v)
		}
		if !bytes.Equal(w.Row(), row) {
			t.Fatalf("equal values, other bytes:\n%x\n%x", w.Row(), row)
		}
		if w.Row().Hash() != row.Hash() {
			t.Fatal("equal rows, other hashes")
		}
	})
}

// An array written into a used buffer is as one written into a fresh one.
func TestArrayWriterIsReused(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		elem := genType(1).Draw(t, "type")
		n := rapid.IntRange(0, 70).Draw(t, "length")
		values := drawValues(t, &elem, n)
		w := NewArrayWriter(elem)
		for _, length := range []int{rapid.IntRange(0, 70).Draw(t, "length before"), n} {
			w.Begin(length)
			for i := range length {
				if length == n {
					put(w, i, elem, values[i])
				} else {
					put(w, i, elem, genValue(elem).Draw(t, "before"))
				}
			}
		}
		if want := arrayBytes(elem, values); !bytes.Equal(w.Bytes(), want) {
			t.Fatalf("%x\n%x", w.Bytes(), want)
		}
		a := ViewArray(&elem, w.Bytes())
		if a.Len() != n || render(elements(a)) != render(values) {
			t.Fatalf("read %s, wrote %s", render(elements(a)), render(values))
		}
	})
}

// Values put in place are read back and clear the NULL bit; others stay.
func TestPutInPlace(t *testing.T) {
	s := MustSchema(Field{"a", Type{Kind: BigInt}}, Field{"b", Type{Kind: Int}}, Field{"c", Type{Kind: Boolean}},
		Field{"d", Type{Kind: Float}}, Field{"e", Type{Kind: Double}})
	values := []any{int64(-5), int32(6), true, float32(7.5), -8.5}
	for i := range values {
		row := rowBytes(s, Insert, values)
		c := s.Column(i)
		c.SetNull(row)
		want := append([]any{}, values...)
		want[i] = nil
		if !bytes.Equal(row, rowBytes(s, Insert, want)) {
			t.Errorf("column %s set to NULL: %x", c.Name, row)
		}
		switch v := values[i].(type) {
		case int64:
			c.PutInt64(row, v)
		case int32:
			c.PutInt32(row, v)
		case bool:
			c.PutBool(row, v)
		case float32:
			c.PutFloat32(row, v)
		case float64:
			c.PutFloat64(row, v)
		}
		if !bytes.Equal(row, rowBytes(s, Insert, values)) {
			t.Errorf("column %s put back: %x", c.Name, row)
		}
	}
}

// Equal decimals have equal bytes however long their two's complement came.
func TestBigDecimalIsShortened(t *testing.T) {
	s := MustSchema(Field{"d", Type{Kind: Decimal, Precision: 38}})
	for _, v := range []int64{0, 1, -1, 127, 128, -128, -129, 1 << 40, -1 << 40} {
		n := big.NewInt(v)
		want := rowBytes(s, Insert, []any{n})
		for size := len(toTwos(n)); size <= 20; size++ {
			long := bytes.Repeat([]byte{byte(n.Sign() >> 1)}, size-len(toTwos(n)))
			w := NewRowWriter(s)
			w.BeginIn(nil, Insert)
			w.SetBigDecimal(0, append(long, toTwos(n)...))
			if !bytes.Equal(w.Row(), want) {
				t.Errorf("%d in %d bytes: %x, want %x", v, size, w.Row(), want)
			}
		}
	}
	w := NewRowWriter(s)
	w.BeginIn(nil, Insert)
	if w.SetBigDecimal(0, nil); !bytes.Equal(w.Row(), rowBytes(s, Insert, []any{new(big.Int)})) {
		t.Errorf("no bytes are not 0: %x", w.Row())
	}
	defer func() {
		if recover() == nil {
			t.Error("17 bytes were taken")
		}
	}()
	w.SetBigDecimal(0, bytes.Repeat([]byte{0x55}, 17))
}

func TestNothingIsAllocated(t *testing.T) {
	s := MustSchema(Field{"s", Type{Kind: String}}, Field{"n", Type{Kind: BigInt}}, Field{"d", Type{Kind: Decimal, Precision: 30}},
		Field{"t", Type{Kind: Timestamp, Precision: 9}}, Field{"a", Type{Kind: Array, Elem: &Type{Kind: String}}},
		Field{"m", Type{Kind: Map, Key: &Type{Kind: Int}, Elem: &Type{Kind: BigInt}}})
	w, aw, kw, vw := NewRowWriter(s), NewArrayWriter(Type{Kind: String}), NewArrayWriter(Type{Kind: Int}), NewArrayWriter(Type{Kind: BigInt})
	text, digits := []byte("a string of some length"), []byte{1, 2, 3, 4, 5, 6, 7, 8, 9}
	var b Batch
	var entries []byte
	write := func() {
		b.Reset()
		for i := range 64 {
			aw.Begin(2)
			aw.SetBytes(0, text)
			aw.SetNull(1)
			kw.Begin(1)
			kw.SetInt32(0, int32(i))
			vw.Begin(1)
			vw.SetInt64(0, int64(i))
			entries = AppendMap(entries[:0], kw.Bytes(), vw.Bytes())
			w.Begin(&b, Insert)
			w.SetBytes(0, text[:i%len(text)])
			w.SetInt64(1, int64(i))
			w.SetBigDecimal(2, digits)
			w.SetTimestamp(3, int64(i), 5)
			w.SetNested(4, aw.Bytes())
			w.SetNested(5, entries)
			w.End(EventTime(i))
		}
	}
	write()
	if n := testing.AllocsPerRun(20, write); n > 0 {
		t.Errorf("a batch of rows allocates %v times", n)
	}
	var err error
	if n := testing.AllocsPerRun(20, func() {
		for i := range b.Len() {
			if e := CheckRow(s, b.Row(i)); e != nil {
				err = e
			}
		}
	}); n > 0 || err != nil {
		t.Errorf("checking a batch of rows allocates %v times; %v", n, err)
	}
	sum := uint64(0)
	if n := testing.AllocsPerRun(20, func() { sum += readSum(s, &b) }); n > 0 {
		t.Errorf("reading a batch of rows allocates %v times", n)
	}
}

func readSum(s *Schema, b *Batch) (sum uint64) {
	text, list, entries := s.Column(0), s.Column(4), s.Column(5)
	for i := range b.Len() {
		row := b.Row(i)
		a, m := ViewArray(list.Type.Elem, list.Bytes(row)), ViewMap(&entries.Type, entries.Bytes(row))
		sum += uint64(len(text.Bytes(row)) + len(a.Bytes(0)) + int(m.Values.Int64(0)))
	}
	return sum
}

func TestChangeKinds(t *testing.T) {
	row := rowBytes(MustSchema(), Insert, nil)
	for k, text := range []string{"+I", "-U", "+U", "-D"} {
		kind, ok := ParseChangeKind(text)
		if !ok || kind != ChangeKind(k) || kind.String() != text {
			t.Errorf("%s is %d, %s", text, kind, kind)
		}
		if row.SetChange(kind); row.Change() != kind || row[0] != byte(k) {
			t.Errorf("%s: %x", text, row)
		}
	}
	if _, ok := ParseChangeKind("+D"); ok {
		t.Error("+D is a change kind")
	}
}

// The lengths that Flink has for rows of fixed width, by arity.
func TestFixedBytes(t *testing.T) {
	for n, want := range map[int]int{0: 8, 1: 16, 56: 456, 57: 472, 65: 536, 120: 976, 121: 992, 128: 1048} {
		var fields []Field
		for i := range n {
			fields = append(fields, Field{fmt.Sprint("f", i), Type{Kind: Int}})
		}
		if got := MustSchema(fields...).FixedBytes(); got != want {
			t.Errorf("%d columns: %d bytes, want %d", n, got, want)
		}
	}
}
