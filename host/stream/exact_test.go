package stream

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// grow appends bytes to a row.
func grow(n int) func(Row) Row {
	return func(r Row) Row { return append(r, make([]byte, n)...) }
}

// TestRowsInAnotherForm: rows that CheckRow takes, whose values have another form.
func TestRowsInAnotherForm(t *testing.T) {
	const ten = "0123456789"
	swap := both(word(8, uint64(24+16)<<32|10), word(16, uint64(24)<<32|10))
	gap := func(r Row) Row {
		r = append(append(r[:16:16], make([]byte, 8)...), r[16:]...)
		return word(8, uint64(24)<<32|10)(r)
	}
	for name, c := range map[string]broken{
		"kind":           {"a INT", []any{int32(1)}, octet(0, byte(Delete)), "change kind is -D, 3"},
		"longer":         {"a INT", []any{int32(1)}, grow(8), "24 bytes; its values take 16"},
		"room of a NULL": {"a DECIMAL(30, 0)", []any{nil}, func(r Row) Row { return r }, "NULL but its slot is not zero"},
		"behind":         {"a STRING", []any{ten}, grow(8), "40 bytes; its values take 32"},
		"gap":            {"a STRING", []any{ten}, gap, "its value is at offset 24"},
		"order":          {"a STRING, b STRING", []any{ten, ten}, swap, "its value is at offset 40"},
	} {
		s, err := parseSchema(c.types)
		if err != nil {
			t.Fatal(err)
		}
		row := c.spoil(rowBytes(s, Insert, c.values))
		if err := CheckRow(s, row); err != nil {
			t.Errorf("%s: CheckRow: %v", name, err)
		}
		if err := CheckExact(s, row); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want %s", name, err, c.want)
		}
	}
}

// TestWrittenRowsAreExact: what this package writes has that form, but for the room
// that Flink keeps for a wide NULL; longer, or of another kind, it has not.
func TestWrittenRowsAreExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := MustSchema(genFields(2, 6).Draw(t, "fields")...)
		values := drawRow(t, s.Fields())
		row := rowBytes(s, Insert, values)
		if n := s.RowBytes(append(row[:len(row):len(row)], 1, 2, 3, 4, 5, 6, 7, 8)); n != len(row) {
			t.Fatalf("a row of %d bytes is said to have %d", len(row), n)
		}
		for i := range values {
			if s.fields[i].Type.reserves() > 0 && values[i] == nil {
				return
			}
		}
		if err := CheckExact(s, row); err != nil {
			t.Fatal(err)
		}
		if CheckExact(s, grow(8)(row)) == nil || CheckExact(s, rowBytes(s, UpdateAfter, values)) == nil {
			t.Fatal("a row that is longer, or of another kind, passes")
		}
	})
}
