package stream

import (
	"encoding/binary"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// readEverything calls every accessor that the schema's types allow, under NULL
// bits too; a row that passed the check must not make one panic.
func readEverything(s *Schema, r Row) {
	_ = render(rowValues(s, r))
	_ = r.Hash()
	_ = r.Change().String()
	every := make([]int, s.Len())
	for i := range every {
		every[i] = i
	}
	NewProjection(s, every).AppendTo(nil, r, Insert)
}

func parseSchema(text string) (*Schema, error) {
	t, err := ParseType("ROW<" + text + ">")
	if err != nil {
		return nil, err
	}
	return NewSchema(t.Fields...)
}

// broken is a row with a flaw: the values are laid out, then spoilt.
type broken struct {
	types  string
	values []any
	spoil  func(r Row) Row
	want   string
}

func word(at int, v uint64) func(Row) Row {
	return func(r Row) Row { binary.LittleEndian.PutUint64(r[at:], v); return r }
}

func octet(at int, v byte) func(Row) Row {
	return func(r Row) Row { r[at] = v; return r }
}

func cut(n int) func(Row) Row {
	return func(r Row) Row { return r[:len(r)-n] }
}

func both(first, second func(Row) Row) func(Row) Row {
	return func(r Row) Row { return second(first(r)) }
}

const nine = "123456789"

func brokenRows() []broken {
	ts := stamp{5, 6}
	inline := uint64(0x82)<<56 | 'a' | 'b'<<8
	list := []any{[]any{int32(1), int32(2)}} // one ARRAY<INT>: header 0, slot 8, array from 16: count, null bits, 1, 2
	return []broken{
		{"a INT", []any{int32(1)}, cut(8), "a row of 8 bytes"},
		{"a INT", []any{int32(1)}, cut(16), "a row of 0 bytes"},
		{"a INT", []any{int32(1)}, cut(3), "a row of 13 bytes"},
		{"a INT", []any{int32(1)}, octet(0, 4), "no change kind 4"},
		{"a INT", []any{int32(1)}, octet(1, 2), "null bits are set beyond the last field"},
		{"a INT", []any{int32(1)}, octet(7, 128), "null bits are set beyond the last field"},
		{"a INT", []any{int32(1)}, octet(12, 1), `column "a": the unused bytes`},
		{"a INT", []any{int32(1)}, octet(1, 1), `column "a": it is NULL but its slot is not zero`},
		{"a BOOLEAN", []any{true}, octet(8, 2), "a BOOLEAN is 0 or 1"},
		{"a BOOLEAN", []any{true}, octet(9, 1), "a BOOLEAN is 0 or 1"},
		{"a STRING", []any{"ab"}, word(8, inline|1<<16), "the unused bytes"},
		{"a STRING", []any{"ab"}, word(8, 0x88<<56), "8 bytes are said to be in a slot"},
		{"a STRING", []any{"ab"}, word(8, 0xff<<56), "127 bytes are said to be in a slot"},
		{"a STRING", []any{"ab"}, word(8, 0x81<<56|0xff), "a STRING is not UTF-8"},
		{"a STRING", []any{nine}, octet(16, 0xc0), "a STRING is not UTF-8"},
		{"a STRING", []any{nine}, word(8, 16<<32|7), "7 bytes must be in the slot"},
		{"a STRING", []any{nine}, word(8, 0), "0 bytes must be in the slot"},
		{"a STRING", []any{nine}, word(8, 16<<32|17), "not within its variable part"},
		{"a STRING", []any{nine}, word(8, 16<<32|0xffffffff), "not within its variable part"},
		{"a STRING", []any{nine}, word(8, 0x7fffffff<<32|9), "not within its variable part"},
		{"a STRING", []any{nine}, word(8, 8<<32|9), "not within its variable part"},
		{"a STRING", []any{nine}, word(8, 17<<32|9), "not within its variable part"},
		{"a STRING", []any{nine}, octet(26, 1), "the padding behind its bytes"},
		{"a STRING, b BYTES", []any{nine, []byte(nine)}, both(word(16, 24<<32|9), cut(16)), `column "b": values claim more`},
		{"a STRING, b BYTES", []any{nine, []byte(nine)}, word(8, 28<<32|9), `column "a": 16 bytes at offset 28 are not`},
		{"a BYTES, b BYTES", []any{[]byte(nine[:8]), []byte(nine[:8])}, both(word(16, 24<<32|8), cut(8)), `column "b": values claim more`},
		{"a DECIMAL(3, 1)", []any{big.NewInt(5)}, word(8, 1000), "more digits than DECIMAL(3, 1)"},
		{"a DECIMAL(18, 1)", []any{big.NewInt(5)}, word(8, 1<<63), "more digits"},
		{"a DECIMAL(20, 1)", []any{new(big.Int)}, word(8, 16<<32|2), "only repeats the sign"},
		{"a DECIMAL(20, 1)", []any{big.NewInt(5)}, word(8, 16<<32), "of 0 bytes"},
		{"a DECIMAL(20, 1)", []any{big.NewInt(5)}, word(8, 16<<32|17), "of 17 bytes"},
		{"a DECIMAL(20, 1)", []any{big.NewInt(5)}, octet(31, 1), "the padding behind"},
		{"a DECIMAL(20, 1)", []any{big.NewInt(5)}, both(word(8, 16<<32|9), octet(16, 0x7f)), "more digits"},
		{"a DECIMAL(20, 1)", []any{nil}, octet(16, 1), "the padding behind"},
		{"a DECIMAL(20, 1)", []any{nil}, word(8, 16<<32|1), "its slot says 1"},
		{"a DECIMAL(20, 1)", []any{nil}, word(8, 24<<32), "not within"},
		{"a TIMESTAMP(9)", []any{ts}, word(8, 16<<32|1_000_000), "1000000 nanoseconds"},
		{"a TIMESTAMP(9)", []any{ts}, word(8, 24<<32), "not within"},
		{"a TIMESTAMP(9)", []any{nil}, octet(23, 9), "the padding behind"},
		{"a ARRAY<INT>", list, word(8, 0), `not within`},
		{"a ARRAY<INT>", list, word(8, 16<<32), "an array of 0 bytes"},
		{"a ARRAY<INT>", []any{[]any{int32(1), int32(0)}}, word(8, 16<<32|12), "an array of 12 bytes"},
		{"a ARRAY<INT>", list, octet(16, 3), "3 elements do not fit into 16 bytes"},
		{"a ARRAY<INT>", list, octet(19, 0xff), "elements do not fit into 16 bytes"},
		{"a ARRAY<INT>", list, octet(20, 4), "beyond the last element"},
		{"a ARRAY<INT>", list, octet(20, 2), `column "a": element 1: it is NULL`},
		{"a ARRAY<BOOLEAN>", []any{[]any{true}}, octet(25, 1), "the padding behind the elements"},
		{"a ARRAY<BOOLEAN>", []any{[]any{true}}, octet(20, 2), "beyond the last element"},
		{"a ARRAY<STRING>", []any{[]any{"x", nine}}, octet(40, 0xff), "element 1: a STRING is not UTF-8"},
		{"a MAP<INT, INT>", []any{[][2]any{}}, word(8, 16<<32|3), "a map of 3 bytes"},
		{"a MAP<INT, INT>", []any{[][2]any{{int32(1), int32(2)}}}, octet(16, 0xff), "keys of 255 bytes in a map of 36"},
		{"a MAP<INT, INT>", []any{[][2]any{{int32(1), int32(2)}}}, octet(16, 33), "keys of 33 bytes in a map of 36"},
		{"a MAP<INT, INT>", []any{[][2]any{{int32(1), int32(2)}}}, octet(20, 5), "keys: 5 elements"},
		{"a MAP<INT, INT>", []any{[][2]any{{int32(1), int32(2)}}}, octet(36, 5), "values: 5 elements"},
		{"a MAP<INT, INT>", []any{[][2]any{{int32(1), int32(2)}}}, octet(36, 2), "1 keys but 2 values"},
		{"a ROW<b ROW<c INT>>", []any{[]any{[]any{int32(1)}}}, octet(44, 1), `column "a": field "b": field "c": the unused`},
	}
}

func TestCheckRowRefuses(t *testing.T) {
	for _, c := range brokenRows() {
		s, err := parseSchema(c.types)
		if err != nil {
			t.Fatal(err)
		}
		row := rowBytes(s, Insert, c.values)
		if err := CheckRow(s, row); err != nil {
			t.Errorf("%s: the sound row: %v", c.types, err)
		}
		row = c.spoil(row)
		if err := CheckRow(s, row); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %x: %v; want %s", c.types, row, err, c.want)
		}
	}
}

// Arrays within arrays that all point at the same bytes would take time
// exponential in the depth; they are refused for sharing.
func TestCheckRowIsBounded(t *testing.T) {
	const depth, n = 4, 64 // small enough to end without the bound
	elem := Type{Kind: Array, Elem: &Type{Kind: Int}}
	b := arrayBytes(Type{Kind: Int}, nil)
	for range depth {
		outer := NewArrayWriter(elem)
		outer.Begin(n)
		outer.SetNested(0, b)
		for i := range n {
			copy(outer.buf[outer.slot(i):], outer.buf[outer.slot(0):outer.slot(1)])
		}
		b = append([]byte{}, outer.Bytes()...)
		inner := elem
		elem = Type{Kind: Array, Elem: &inner}
	}
	s := MustSchema(Field{"a", elem})
	w := NewRowWriter(s)
	w.BeginIn(nil, Insert)
	w.SetNested(0, b)
	if err := CheckRow(s, w.Row()); err == nil || !strings.Contains(err.Error(), "values claim more") {
		t.Error(err)
	}
}

// Spoilt rows either fail the check or can be read.
func TestCheckedRowsCanBeRead(t *testing.T) {
	passed := 0
	rapid.Check(t, func(t *rapid.T) {
		s := MustSchema(genFields(3, 6).Draw(t, "fields")...)
		row := rowBytes(s, Insert, drawRow(t, s.Fields()))
		for range rapid.IntRange(1, 4).Draw(t, "flaws") {
			at := rapid.IntRange(0, len(row)-1).Draw(t, "at")
			switch rapid.IntRange(0, 3).Draw(t, "flaw") {
			case 0:
				row[at] = rapid.Byte().Draw(t, "byte")
			case 1:
				row[at] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
			case 2:
				to := rapid.Uint32Range(0, uint32(len(row)+8)).Draw(t, "value")
				binary.LittleEndian.PutUint32(row[at&^3:], to)
			case 3:
				row = append(row, make([]byte, 8*rapid.IntRange(0, 3).Draw(t, "more"))...)
			}
		}
		if CheckRow(s, row) == nil {
			passed++
			readEverything(s, row)
		}
	})
	if passed == 0 {
		t.Error("no spoilt row passes; the test says nothing")
	}
}

func FuzzCheckRow(f *testing.F) {
	for i, v := range readVectors(f) {
		if i%4 == 0 && len(v.bytes) < 300 {
			text := v.schema.String()
			f.Add(text[1:len(text)-1], v.bytes)
		}
	}
	for _, c := range brokenRows() {
		s, err := parseSchema(c.types)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(c.types, []byte(c.spoil(rowBytes(s, Insert, c.values))))
	}
	f.Fuzz(func(t *testing.T, types string, row []byte) {
		s, err := parseSchema(types)
		if err != nil {
			return
		}
		if CheckRow(s, row) == nil {
			readEverything(s, row)
		}
	})
}
