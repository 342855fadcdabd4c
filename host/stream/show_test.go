package stream

import (
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestShow(t *testing.T) {
	wide, _ := new(big.Int).SetString("-123456789012345678901", 10)
	for want, c := range map[string]struct {
		types  string
		values []any
	}{
		`origin "L\nS", n -7`:                             {"origin STRING, n INT", []any{"L\nS", int32(-7)}},
		"a NULL, b true":                                  {"a BIGINT, b BOOLEAN", []any{nil, true}},
		"a -1.50, b -1234567890123456.78901, c 5":         {"a DECIMAL(5, 2), b DECIMAL(30, 5), c DECIMAL(3, 0)", []any{big.NewInt(-150), wide, big.NewInt(5)}},
		"a 0.1, b 1e+100":                                 {"a FLOAT, b DOUBLE", []any{float32(0.1), 1e100}},
		"a 1969-12-31, b 1970-01-01T00:00:00.005, c 00ff": {"a DATE, b TIMESTAMP(3), c BYTES", []any{int32(-1), stamp{5, 0}, []byte{0, 255}}},
		"a 1970-01-01T00:00:00.005000006":                 {"a TIMESTAMP(9)", []any{stamp{5, 6}}},
		"a of type ARRAY<INT>":                            {"a ARRAY<INT>", []any{[]any{int32(1)}}},
		`a "` + strings.Repeat("x", 58) + "…":             {"a STRING", []any{strings.Repeat("x", 100)}},
	} {
		s, err := parseSchema(c.types)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Show(rowBytes(s, Insert, c.values)); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	for want, at := range map[string]EventTime{"none": MinTime, "2001-01-01T01:00:00.000Z": 978310800000} {
		if got := at.Show(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		s := MustSchema(genFields(2, 8).Draw(t, "fields")...)
		if text := s.Show(rowBytes(s, Insert, drawRow(t, s.Fields()))); len([]rune(text)) > 4*shownMax {
			t.Fatalf("%d characters", len([]rune(text)))
		}
	})
}

// TestPrintable: what a terminal obeys is told by its number, and nothing else is changed.
func TestPrintable(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "plain, ä 漢 \t\\": "plain, ä 漢 \t\\", "a\nb": "a<0a>b", "\x1b[2J": "<1b>[2J", "\x00\x7f\u0085": "<00><7f><85>",
		"a\u202eb\u2066c\u2028d": "a<202e>b<2066>c<2028>d", "cut \xe6\xbc": "cut \uFFFD", "\x1b\xff": "<1b>\uFFFD",
	} {
		if got := Printable(text); got != want || Printable(got) != got {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
	}
}
