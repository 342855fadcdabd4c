package json

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/wasmstream/wasmstream/host/stream"
)

// TestAgainstReference draws records that are nearly right for each type, which
// random bytes seldom are, and holds the decoder to the reference.
func TestAgainstReference(t *testing.T) {
	d := mustDecoder(t, allTypes, allTypes)
	rapid.Check(t, func(rt *rapid.T) {
		record := []byte(drawRecord(rt))
		if n := len(record); rapid.IntRange(0, 3).Draw(rt, "damage") == 0 {
			at := rapid.IntRange(0, n-1).Draw(rt, "at")
			record[at] = rapid.OneOf(rapid.Byte(), rapid.SampledFrom([]byte(`"\{}[],:0e-. `))).Draw(rt, "byte")
			record = record[:rapid.SampledFrom([]int{n, n, at}).Draw(rt, "length")]
		}
		row, err := decodeRow(d, allTypes, string(record))
		sound := isObject(record)
		if !sound && err == nil {
			rt.Fatalf("%q: accepted", record)
		}
		if sound && !hugeExponent.Match(record) {
			compare(t, record, row, err)
		}
		if err == nil {
			roundTrip(t, row)
		}
		if t.Failed() {
			rt.Fatalf("%q", record)
		}
	})
}

func drawRecord(t *rapid.T) string {
	var b strings.Builder
	gap := func() string { return rapid.SampledFrom([]string{"", "", "", " ", "\t\r\n"}).Draw(t, "gap") }
	b.WriteString(gap() + "{" + gap())
	names := rapid.SliceOfNDistinct(rapid.SampledFrom(append(allTypes.Names(), "other")), 0, 6, rapid.ID[string]).Draw(t, "names")
	for i, name := range names {
		if i > 0 {
			b.WriteString("," + gap())
		}
		b.WriteString(`"` + name + `"` + gap() + ":" + gap() + drawValue(t, name) + gap())
	}
	return b.String() + "}" + gap()
}

// drawValue draws a value that suits the column of that name more often than not.
func drawValue(t *rapid.T, name string) string {
	kind := rapid.SampledFrom([]string{"own", "own", "own", "own", "own", "number", "string", "time", "other"}).Draw(t, "kind")
	if kind == "own" {
		switch name {
		case "s", "y":
			kind = "string"
		case "a", "t", "v", "u", "z", "w":
			kind = "time"
		case "A", "B", "C", "R":
			return drawNested(t, allTypes.Fields()[allTypes.Index(name)].Type)
		case "b", "other":
			kind = "other"
		default:
			kind = "number"
		}
	}
	switch kind {
	case "number":
		return drawNumber(t)
	case "string":
		return drawString(t)
	case "time":
		return drawTime(t)
	}
	return rapid.SampledFrom([]string{"true", "false", "null", "{}", "[]", `{"b":[null,{"i":1}]}`, "[true,[]]", `{"i":1,"s":"x","u":[0]}`, "[1,null]", `""`, `"NaN"`, `"Infinity"`, "-0"}).Draw(t, "v")
}

// drawNested draws values for a type, now and then of the wrong kind.
func drawNested(t *rapid.T, typ stream.Type) string {
	gap := func() string { return rapid.SampledFrom([]string{"", "", "", " "}).Draw(t, "gap") }
	odd := rapid.IntRange(0, 15).Draw(t, "odd")
	if odd == 0 {
		return drawValue(t, rapid.SampledFrom([]string{"b", "i", "s", "t", "other"}).Draw(t, "instead"))
	}
	if odd == 1 {
		return "null"
	}
	n := rapid.IntRange(0, 4).Draw(t, "length")
	var parts []string
	switch typ.Kind {
	case stream.Array:
		for range n {
			parts = append(parts, gap()+drawNested(t, *typ.Elem)+gap())
		}
		return "[" + strings.Join(parts, ",") + "]"
	case stream.Map:
		for range n {
			key := rapid.SampledFrom([]string{`"a"`, `"\u0061"`, `"b"`, `""`, `"a longer key"`, `"é"`, `"c"`, `"d"`, `"null"`}).Draw(t, "key")
			parts = append(parts, gap()+key+gap()+":"+gap()+drawNested(t, *typ.Elem)+gap())
		}
		return "{" + strings.Join(parts, ",") + gap() + "}"
	case stream.RowType:
		for range n {
			f := stream.Field{Name: "other", Type: mustType("ARRAY<BOOLEAN>")}
			if len(typ.Fields) > 0 && rapid.IntRange(0, 3).Draw(t, "known") > 0 {
				f = rapid.SampledFrom(typ.Fields).Draw(t, "field")
			}
			parts = append(parts, gap()+`"`+f.Name+`"`+gap()+":"+gap()+drawNested(t, f.Type)+gap())
		}
		return "{" + strings.Join(parts, ",") + gap() + "}"
	case stream.Boolean:
		return "true"
	case stream.String, stream.Bytes:
		return drawString(t)
	case stream.Date, stream.Timestamp, stream.TimestampLTZ:
		return drawTime(t)
	}
	return drawNumber(t)
}

func drawNumber(t *rapid.T) string {
	part := func(pattern string) string { return rapid.StringMatching(pattern).Draw(t, "part") }
	n := part(`-?(0|[1-9][0-9]{0,9}|[1-9][0-9]{0,40}|2147483[67][0-9]{2}|922337203685477580[0-9]|99999999)`)
	if rapid.Bool().Draw(t, "fraction") {
		n += part(`\.([0-9]{1,3}|[0-9]{1,40}|0{1,20}|9{1,12}[0-9]?|[0-9]{2}5|[0-9]{2}49)`)
	}
	if rapid.IntRange(0, 3).Draw(t, "exponent") == 0 {
		n += part(`[eE][+-]?[0-9]{1,2}`)
	}
	if rapid.IntRange(0, 5).Draw(t, "quoted") == 0 {
		return `"` + n + `"`
	}
	return n
}

func drawString(t *rapid.T) string {
	pieces := []string{"a", "AAAA", "abcdefgh", "é", "€", "😀", `\"`, `\\`, `\/`, `\n`, `\r`, `\u0000`, `\u00e9`, `\uD83D\uDE00`, `\udbff\udfff`, "AA==", "/+8=", " ", "\u2028", `\uD800`, `\uDC00`, "\x01", "\xff", "\xe2\x82"}
	return `"` + strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 5).Draw(t, "pieces"), "") + `"`
}

func drawTime(t *rapid.T) string {
	pick := func(usual []string, odd ...string) string {
		if rapid.IntRange(0, 15).Draw(t, "odd") == 0 {
			usual = odd
		}
		return rapid.SampledFrom(usual).Draw(t, "part")
	}
	two := func(least, most, limit int) string {
		if rapid.IntRange(0, 15).Draw(t, "odd") == 0 {
			least, most = most, limit
		}
		return fmt.Sprintf("%02d", rapid.IntRange(least, most).Draw(t, "two"))
	}
	date := pick([]string{"2001", "1970", "1969", "2000", "1900"}, "0000", "9999", "0001", "999", "-001", "2OO1") + "-" + two(1, 12, 14) + "-" + two(1, 28, 32)
	if rapid.IntRange(0, 9).Draw(t, "date") == 0 {
		return `"` + date + `"`
	}
	clock := two(0, 23, 25) + pick([]string{":"}, "-", "") + two(0, 59, 61) + ":" + two(0, 59, 61)
	fraction := pick([]string{"", ".000", ".123", ".5", ".123456", ".999999999"}, ".", ".1234567890", ",5", ".a")
	zone := pick([]string{"", "Z", "Z", "Z", "+01:00", "-05:30"}, "z", "+24:00", "-23:59", "+0100", "+01:60", "UTC", "Z ")
	return `"` + date + pick([]string{"T", "T", " "}, "t", "_", "") + clock + fraction + zone + `"`
}
