package stream

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestParseTypeReadsString(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ty := genType(3).Draw(t, "type")
		got, err := ParseType(ty.String())
		if err != nil {
			t.Fatal(err)
		}
		if !got.Equal(ty) || got.String() != ty.String() {
			t.Fatalf("%s became %s", ty, got)
		}
		other := genType(3).Draw(t, "other")
		if ty.Equal(other) != (ty.String() == other.String()) {
			t.Fatalf("%s and %s: equal %v", ty, other, ty.Equal(other))
		}
	})
}

func TestParseType(t *testing.T) {
	for text, want := range map[string]string{
		"bigint":                        "BIGINT",
		" Decimal ":                     "DECIMAL(10, 0)",
		"DECIMAL(5)":                    "DECIMAL(5, 0)",
		"DECIMAL ( 38 , 38 )":           "DECIMAL(38, 38)",
		"TIMESTAMP":                     "TIMESTAMP(6)",
		"timestamp_ltz(0)":              "TIMESTAMP_LTZ(0)",
		"array<\n\tmap<string,bytes>>":  "ARRAY<MAP<STRING, BYTES>>",
		"ROW<a INT, `b c` ROW<>>":       "ROW<`a` INT, `b c` ROW<>>",
		"ROW<`a``b` DATE, `INT` FLOAT>": "ROW<`a``b` DATE, `INT` FLOAT>",
		strings.Repeat("ARRAY<", 16) + "INT" + strings.Repeat(">", 16): strings.Repeat("ARRAY<", 16) + "INT" + strings.Repeat(">", 16),
	} {
		if got, err := ParseType(text); err != nil || got.String() != want {
			t.Errorf("%q: %v, %v; want %s", text, got, err, want)
		}
	}
}

func TestParseTypeErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                  "missing; known are BOOLEAN",
		"BIGNIT":            "did you mean BIGINT?",
		"VARCHAR2":          "known are",
		"INT INT":           `"INT" is left over`,
		"DECIMAL(39)":       `"39" is not a number from 1 to 38`,
		"DECIMAL(5, 6)":     `"6" is not a number from 0 to 5`,
		"DECIMAL(-1)":       "is not a number",
		"TIMESTAMP(10)":     `"10" is not a number from 0 to 9`,
		"ARRAY":             "missing at its end",
		"ARRAY<INT":         "missing at its end",
		"ARRAY<INT, INT>":   "is expected before",
		"MAP<INT>":          "is expected before",
		"ROW<INT>":          "is missing",
		"ROW<a INT, a INT>": `field "a" is there twice`,
		"ROW<`a INT>":       "has no end",
		"ROW<`` INT>":       "is empty",
		"ROW<a INT, >":      "is missing before",
		"ROW<a INT b INT>":  "is expected before",
		strings.Repeat("ARRAY<", 17) + "INT" + strings.Repeat(">", 17): "nested more than 16 deep",
		strings.Repeat("ROW<a ", 9_000):                                "nested more than 16 deep",
	} {
		_, err := ParseType(text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: %.200v; want %s", text, err, want)
		}
	}
}

func TestTypesOfOtherNames(t *testing.T) {
	for text, want := range map[string]string{
		"INTEGER": "INT", "varchar(20)": "STRING", "CHAR(1)": "STRING", "SMALLINT": "INT", "TINYINT": "INT", "NUMERIC(10, 2)": "DECIMAL",
		"STRNG": "STRING", "ARRAY<VARCHAR>": "STRING", "ROW<a INTEGER>": "INT",
	} {
		_, err := ParseType(text)
		if err == nil || !strings.HasSuffix(err.Error(), "; did you mean "+want+"?") || strings.Count(err.Error(), "type") != 1 {
			t.Errorf("%s: %v; want %s", text, err, want)
		}
	}
	if _, err := ParseType("TIME(3)"); err == nil || err.Error() != "there is no type TIME; a time of day can be an INT or a STRING" {
		t.Error(err)
	}
}

func FuzzParseType(f *testing.F) {
	for _, text := range []string{"INT", "DECIMAL(10, 2)", "ROW<a INT, `b``c` ARRAY<STRING>>", "MAP<INT, TIMESTAMP(3)>", "ROW<>"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		ty, err := ParseType(text)
		if err != nil {
			return
		}
		again, err := ParseType(ty.String())
		if err != nil || !again.Equal(ty) {
			t.Fatalf("%q is %s, which is %s, %v", text, ty, again, err)
		}
		if _, err := NewSchema(Field{"f", ty}); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
	})
}

func TestNewSchemaErrors(t *testing.T) {
	i := Type{Kind: Int}
	deep := i
	for range TypeDepthMax + 1 {
		inner := deep
		deep = Type{Kind: Array, Elem: &inner}
	}
	for want, fields := range map[string][]Field{
		"column 2 has no name":          {{"a", i}, {"", i}},
		`column "a" is there twice`:     {{"a", i}, {"a", i}},
		"there is no TypeKind(0)":       {{"a", Type{}}},
		"there is no TypeKind(99)":      {{"a", Type{Kind: 99}}},
		"there is no DECIMAL(0, 0)":     {{"a", Type{Kind: Decimal}}},
		"there is no DECIMAL(5, 6)":     {{"a", Type{Kind: Decimal, Precision: 5, Scale: 6}}},
		"there is no TIMESTAMP(10)":     {{"a", Type{Kind: Timestamp, Precision: 10}}},
		"the type of an element is":     {{"a", Type{Kind: Array}}},
		"nested more than 16 deep":      {{"a", deep}},
		`"a": field 1 has no name`:      {{"a", Type{Kind: RowType, Fields: []Field{{"", i}}}}},
		`"a": field "b" is there twice`: {{"a", Type{Kind: RowType, Fields: []Field{{"b", i}, {"b", i}}}}},
	} {
		_, err := NewSchema(fields...)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %s", err, want)
		}
	}
}

func TestSchema(t *testing.T) {
	s := MustSchema(Field{"a", Type{Kind: Int}}, Field{"b", Type{Kind: String}})
	if s.Len() != 2 || s.Index("b") != 1 || s.Index("c") != -1 || s.String() != "(a INT, b STRING)" || s.IsFixedWidth() {
		t.Errorf("%s", s)
	}
	p := s.Project([]int{1})
	if p.Equal(s) || !p.Equal(MustSchema(Field{"b", Type{Kind: String}})) || strings.Join(p.Names(), " ") != "b" {
		t.Errorf("%s", p)
	}
	defer func() {
		if recover() == nil {
			t.Error("MustSchema took a bad schema")
		}
	}()
	MustSchema(Field{})
}

func TestNearest(t *testing.T) {
	names := []string{"tumbling", "sliding", "session", "global", "k", "max-out-of-orderness"}
	for name, want := range map[string]string{
		"tumblign": "tumbling", "Sliding": "sliding", "sesion": "session", "globl": "global", "K": "k",
		"max-out-of-order": "max-out-of-orderness", "": "", "x": "", "xy": "", "aggregate": "", strings.Repeat("session", 100_000): "",
	} {
		if got := Nearest(name, names); got != want {
			t.Errorf("%.30q: %q, want %q", name, got, want)
		}
	}
	many := slices.Repeat([]string{"tumbling-y"}, 100)
	if n := testing.AllocsPerRun(10, func() { Nearest("tumblign-x", many) }); n > 10 {
		t.Fatalf("%v allocations for %d candidates", n, len(many))
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.StringMatching("[a-d]{0,9}").Draw(t, "a"), rapid.StringMatching("[a-d]{0,9}").Draw(t, "b")
		d := new(rows).distance(a, b)
		if d != new(rows).distance(b, a) || d > max(len(a), len(b)) || d < max(len(a)-len(b), len(b)-len(a)) || d == 0 != (a == b) {
			t.Fatalf("the distance of %q and %q is %d", a, b, d)
		}
		if a != "" && Nearest(a, []string{b, a}) != a {
			t.Fatalf("%q is nearer to %q than to itself", a, b)
		}
	})
}
