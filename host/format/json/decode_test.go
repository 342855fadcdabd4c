package json

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/wasmstream/wasmstream/host/format"
	"github.com/wasmstream/wasmstream/host/stream"
)

func mustType(text string) stream.Type {
	t, err := stream.ParseType(text)
	if err != nil {
		panic(err)
	}
	return t
}

// schemaOf makes a schema from "name TYPE; name TYPE".
func schemaOf(text string) *stream.Schema {
	var fields []stream.Field
	for part := range strings.SplitSeq(text, ";") {
		if name, typ, ok := strings.Cut(strings.TrimSpace(part), " "); ok {
			fields = append(fields, stream.Field{Name: name, Type: mustType(typ)})
		}
	}
	return stream.MustSchema(fields...)
}

func mustDecoder(t testing.TB, declared, output *stream.Schema) *Decoder {
	t.Helper()
	d, err := NewDecoder(declared, output)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func mustEncoder(t testing.TB, s *stream.Schema, o EncoderOptions) *Encoder {
	t.Helper()
	e, err := NewEncoder(s, o)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func decodeRow(d *Decoder, s *stream.Schema, record string) (stream.Row, error) {
	w := stream.NewRowWriter(s)
	w.BeginIn(nil, stream.Insert)
	// A copy without spare room: a read past its end cannot go unnoticed.
	err := d.Decode([]byte(record)[:len(record):len(record)], w)
	return w.Row(), err
}

// TestDecodeValues says what each type reads, as the encoder writes it again.
func TestDecodeValues(t *testing.T) {
	for _, c := range []struct{ typ, in, want string }{
		{"BOOLEAN", `true`, `true`}, {"BOOLEAN", `false`, `false`}, {"BOOLEAN", `null`, `null`},
		{"INT", `0`, `0`}, {"INT", `-0`, `0`}, {"INT", `2147483647`, `2147483647`}, {"INT", `-2147483648`, `-2147483648`},
		{"INT", `1e3`, `1000`}, {"INT", `1000.0`, `1000`}, {"INT", `12.5E1`, `125`}, {"INT", `0e99999999999999999999`, `0`},
		{"INT", `12345678`, `12345678`}, {"INT", `100000000e-8`, `1`}, {"INT", `-7`, `-7`}, {"INT", `-12345678`, `-12345678`},
		{"BIGINT", `9223372036854775807`, `9223372036854775807`}, {"BIGINT", `-9223372036854775808`, `-9223372036854775808`},
		{"BIGINT", `984816000000`, `984816000000`}, {"BIGINT", `-123456789`, `-123456789`}, {"BIGINT", `1234567890123456`, `1234567890123456`},
		{"BIGINT", `9.223372036854775807e18`, `9223372036854775807`}, {"BIGINT", `null`, `null`},
		{"FLOAT", `1.5`, `1.5`}, {"FLOAT", `16777217`, `16777216`}, {"FLOAT", `1e-50`, `0`}, {"FLOAT", `"NaN"`, `"NaN"`},
		{"DOUBLE", `0.1`, `0.1`}, {"DOUBLE", `-0`, `-0`}, {"DOUBLE", `1e21`, `1e+21`}, {"DOUBLE", `5`, `5`},
		{"DOUBLE", `"Infinity"`, `"Infinity"`}, {"DOUBLE", `"-Infinity"`, `"-Infinity"`}, {"DOUBLE", `"\u004eaN"`, `"NaN"`},
		{"DOUBLE", `1.7976931348623157e308`, `1.7976931348623157e+308`},
		{"DECIMAL(4,2)", `12.34`, `12.34`}, {"DECIMAL(4,2)", `"12.3"`, `12.30`}, {"DECIMAL(4,2)", `-0.005`, `-0.01`},
		{"DECIMAL(4,2)", `0.0049999`, `0.00`}, {"DECIMAL(4,2)", `-0.004`, `0.00`}, {"DECIMAL(4,2)", `1e1`, `10.00`},
		{"DECIMAL(4,2)", `99.994`, `99.99`}, {"DECIMAL(4,2)", `1e-999999999999999999999`, `0.00`}, {"DECIMAL(4,2)", `null`, `null`},
		{"DECIMAL(3,3)", `0.9994`, `0.999`}, {"DECIMAL(3,0)", `0.5`, `1`}, {"DECIMAL(3,0)", `0.05e1`, `1`},
		{"DECIMAL(38,0)", `99999999999999999999999999999999999999`, `99999999999999999999999999999999999999`},
		{"DECIMAL(38,0)", `-99999999999999999999999999999999999999`, `-99999999999999999999999999999999999999`},
		{"DECIMAL(38,38)", `0.00000000000000000000000000000000000001`, `0.00000000000000000000000000000000000001`},
		{"DECIMAL(20,2)", `-1.28`, `-1.28`}, {"DECIMAL(20,2)", `0`, `0.00`}, {"DECIMAL(20,2)", `1.27`, `1.27`},
		{"DECIMAL(20,2)", `1.28`, `1.28`}, {"DECIMAL(20,2)", `-1.29`, `-1.29`}, {"DECIMAL(20,2)", `327.68`, `327.68`}, {"DECIMAL(20,2)", `-327.69`, `-327.69`},
		{"STRING", `""`, `""`}, {"STRING", `"abcdefg"`, `"abcdefg"`}, {"STRING", `"abcdefgh"`, `"abcdefgh"`},
		{"STRING", `"a\"\\\/\b\f\n\r\t\u0001\u00e9é\uD83D\uDE00"`, `"a\"\\/\b\f\n\r\t\u0001éé😀"`},
		{"STRING", `"\u0000"`, `"\u0000"`}, {"STRING", `"<&>` + "\u2028\x7f" + `"`, `"<&>` + "\u2028\x7f" + `"`}, {"STRING", `"\uFFFF"`, "\"\uffff\""},
		{"BYTES", `""`, `""`}, {"BYTES", `"AAEC/w=="`, `"AAEC/w=="`}, {"BYTES", `"AAEC\/w=="`, `"AAEC/w=="`},
		{"DATE", `"1970-01-01"`, `"1970-01-01"`}, {"DATE", `"2000-02-29"`, `"2000-02-29"`},
		{"DATE", `"0000-01-01"`, `"0000-01-01"`}, {"DATE", `"9999-12-31"`, `"9999-12-31"`}, {"DATE", `"1969-12-31"`, `"1969-12-31"`},
		{"TIMESTAMP(3)", `"2001-02-16T17:55:00.000Z"`, `"2001-02-16T17:55:00.000Z"`},
		{"TIMESTAMP(3)", `"2001-02-16 17:55:00"`, `"2001-02-16T17:55:00.000Z"`}, {"TIMESTAMP(3)", `"2001-02-16t17:55:00.1z"`, `"2001-02-16T17:55:00.100Z"`},
		{"TIMESTAMP(3)", `"2001-02-16T17:55:00.123456789+01:30"`, `"2001-02-16T16:25:00.123Z"`},
		{"TIMESTAMP(3)", `"2001-02-16T17:55:00.999-23:59"`, `"2001-02-17T17:54:00.999Z"`},
		{"TIMESTAMP(3)", `"1969-12-31T23:59:59.999Z"`, `"1969-12-31T23:59:59.999Z"`}, {"TIMESTAMP(3)", `-1`, `"1969-12-31T23:59:59.999Z"`},
		{"TIMESTAMP(3)", `"0000-01-01T00:00:00.000Z"`, `"0000-01-01T00:00:00.000Z"`}, {"TIMESTAMP(3)", `"9999-12-31T23:59:59.999Z"`, `"9999-12-31T23:59:59.999Z"`},
		{"TIMESTAMP(3)", `984816000000`, `"2001-03-17T08:00:00.000Z"`}, {"TIMESTAMP(3)", `9.84816e11`, `"2001-03-17T08:00:00.000Z"`},
		{"TIMESTAMP(3)", `-9223372036854775808`, `-9223372036854775808`}, {"TIMESTAMP(3)", `"\u0032001-02-16T17:55:00.000Z"`, `"2001-02-16T17:55:00.000Z"`},
		{"TIMESTAMP(0)", `"1969-12-31T23:59:59.999Z"`, `"1969-12-31T23:59:59Z"`}, {"TIMESTAMP(0)", `-1`, `"1969-12-31T23:59:59Z"`},
		{"TIMESTAMP(6)", `"2001-02-16T17:55:00.1234567Z"`, `"2001-02-16T17:55:00.123456Z"`}, {"TIMESTAMP(9)", `"2001-02-16T17:55:00.123456789"`, `"2001-02-16T17:55:00.123456789Z"`},
		{"TIMESTAMP_LTZ(3)", `"2001-02-16T17:55:00.000Z"`, `"2001-02-16T17:55:00.000Z"`}, {"TIMESTAMP_LTZ(9)", `null`, `null`},
	} {
		s := schemaOf("v " + c.typ)
		d, e := mustDecoder(t, s, s), mustEncoder(t, s, EncoderOptions{})
		for _, record := range []string{`{"v":` + c.in + `}`, " {\t\"v\" :\n" + c.in + " }\r\n", `{"x":[],"v":` + c.in + `,"w":{"v":0,"a":[{}]}}`} {
			row, err := decodeRow(d, s, record)
			if err != nil {
				t.Errorf("%s %s: %v", c.typ, record, err)
			} else if got := string(e.Append(nil, row)); got != `{"v":`+c.want+`}` {
				t.Errorf("%s %s: got %s", c.typ, record, got)
			}
		}
	}
}

// TestDecodeErrors says of every malformed kind which column, byte and reason
// are reported. ^ in a record marks the byte and is taken out.
func TestDecodeErrors(t *testing.T) {
	declared := schemaOf("b BOOLEAN; i INT; l BIGINT; f FLOAT; d DOUBLE; m DECIMAL(4,2); s STRING; y BYTES; a DATE; t TIMESTAMP(3); z TIMESTAMP_LTZ(6); unused INT")
	output := declared.Project([]int{9, 0, 1, 2, 3, 4, 5, 6, 7, 8, 10})
	d := mustDecoder(t, declared, output)
	for _, c := range []struct{ record, column, reason string }{
		{`^`, "", reasonEnd}, {`  ^`, "", reasonEnd}, {`^[]`, "", reasonObject}, {`^1`, "", reasonObject}, {"^\uFEFF{}", "", reasonMark}, {" ^\uFEFF", "", reasonMark},
		{"^\xFF\xFE{\x00}\x00", "", reasonUTF16}, {"^\xFE\xFF\x00{\x00}", "", reasonUTF16}, {"^\xEF{}", "", reasonObject},
		{`{^`, "", reasonEnd}, {`{^,}`, "", reasonName}, {`{^a:1}`, "", reasonName}, {`{"i":1,^}`, "", reasonName}, {`{"i":1,^`, "", reasonEnd},
		{`{"i" ^1}`, "", reasonColon}, {`{"i"^`, "", reasonEnd}, {`{"i":1 ^"l":2}`, "", reasonComma}, {`{"i":1^`, "", reasonEnd},
		{`{"i":1^]`, "", reasonComma}, {`{}^x`, "", reasonMore}, {`{} ^{}`, "", reasonMore}, {`{"i":1}^,`, "", reasonMore}, {"{}^\x00", "", reasonMore},
		{`{"i":^}`, "i", reasonValue}, {`{"i":^`, "i", reasonEnd}, {`{"x":^}`, "", reasonValue}, {`{"x":^+1}`, "", reasonValue}, {`{"x":^'a'}`, "", reasonValue},
		{`{"x":^NaN}`, "", reasonLiteral}, {`{"b":^True}`, "b", reasonLiteral}, {`{"b":^tru}`, "b", reasonLiteral}, {`{"b":tru^`, "b", reasonEnd}, {`{"b":^nul1}`, "b", reasonLiteral},
		{`{"i":^01}`, "i", reasonZero}, {`{"i":-^01}`, "i", reasonZero}, {`{"i":-^}`, "i", reasonDigit}, {`{"i":-^`, "i", reasonEnd}, {`{"i":1.^}`, "i", reasonDigit},
		{`{"i":1.5e^}`, "i", reasonDigit}, {`{"i":1e+^,`, "i", reasonDigit}, {`{"l":1e^`, "l", reasonEnd}, {`{"l":^000000001}`, "l", reasonZero}, {`{"l":12^x}`, "", reasonComma},
		{`{"l":123456789^x}`, "", reasonComma}, {`{"unused":^01}`, "unused", reasonZero}, {`{"x":^.5}`, "", reasonValue},
		{`{"s":"a^`, "s", reasonEnd}, {`{"s":"abcdefghijkl^`, "s", reasonEnd}, {"{\"s\":\"ab^\n\"}", "s", reasonControl}, {"{\"s\":\"abcdefghij^\x00\"}", "s", reasonControl},
		{"{\"x\":\"^\x1f\"}", "", reasonControl}, {`{"s":"^\x"}`, "s", reasonEscape}, {`{"s":"\^`, "s", reasonEnd}, {`{"s":"\u12^g4"}`, "s", reasonHex}, {`{"s":"\u12^`, "s", reasonEnd},
		{`{"s":"a^\uD800"}`, "s", reasonSurrogate}, {`{"s":"a^\uDC00"}`, "s", reasonSurrogate}, {`{"s":"^\uDC00\uDC00"}`, "s", reasonSurrogate}, {`{"s":"^\uD800\u0041"}`, "s", reasonSurrogate}, {`{"s":"\uD800^`, "s", reasonEnd},
		{`{"s":"\uD800\^`, "s", reasonEnd}, {`{"s":"^\uD800\n"}`, "s", reasonSurrogate}, {`{"s":"^\uD800x`, "s", reasonSurrogate}, {"{\"s\":\"é^\xff\"}", "s", reasonUTF8}, {"{\"s\":\"abcdefgh^\xc3\"}", "s", reasonUTF8},
		{"{\"s\":\"^\xed\xa0\x80\"}", "s", reasonUTF8}, {"{\"s\":\"^\xc0\x80\"}", "s", reasonUTF8}, {"{\"^\xff\":1}", "", reasonUTF8}, {"{\"x\":[\"^\x80\"]}", "", reasonUTF8},
		{`{"x":[1 ^2]}`, "", reasonItemComma}, {`{"x":[1,^]}`, "", reasonValue}, {`{"x":[1^`, "", reasonEnd}, {`{"x":[^`, "", reasonEnd}, {`{"x":{"a":1,^}}`, "", reasonName}, {`{"x":{"a"^}}`, "", reasonColon},
		{`{"x":{"a":1^]}`, "", reasonComma}, {`{"x":[1^}}`, "", reasonItemComma}, {`{"x":{^1:2}}`, "", reasonName},
		{`{"i":1,^"i":1}`, "i", "the field is there twice"}, {`{"i":null,^"\u0069":1}`, "i", "the field is there twice"},
		{`{"b":^1}`, "b", "BOOLEAN is expected, not 1"}, {`{"b":^"true"}`, "b", `BOOLEAN is expected, not the string "true"`}, {`{"i":^true}`, "i", "INT is expected, not true"},
		{`{"i":^"1"}`, "i", `INT is expected, not the string "1"`}, {`{"i":^[1]}`, "i", "INT is expected, not an array"}, {`{"s":^{"a":1}}`, "s", "STRING is expected, not an object"},
		{`{"i":^1.5}`, "i", "INT is expected, an integer, not 1.5"}, {`{"l":^1e-1}`, "l", "BIGINT is expected, an integer, not 1e-1"}, {`{"s":^12}`, "s", "STRING is expected, not 12"},
		{`{"i":^2147483648}`, "i", "2147483648 is out of the range of INT, -2147483648 to 2147483647"}, {`{"i":^-99999999999}`, "i", "-99999999999 is out of the range of INT, -2147483648 to 2147483647"},
		{`{"i":^1e1000000000000}`, "i", "1e1000000000000 is out of the range of INT, -2147483648 to 2147483647"},
		{`{"l":^9223372036854775808}`, "l", "9223372036854775808 is out of the range of BIGINT, -9223372036854775808 to 9223372036854775807"},
		{`{"l":^1111111111222222222233333333334444444444555}`, "l", "1111111111222222222233333333334444444444… is out of the range of BIGINT, -9223372036854775808 to 9223372036854775807"},
		{`{"f":^1e39}`, "f", "1e39 is out of the range of FLOAT"}, {`{"d":^-1e309}`, "d", "-1e309 is out of the range of DOUBLE"}, {`{"d":^"1.5"}`, "d", `DOUBLE is expected, not the string "1.5"`},
		{`{"d":^"nan"}`, "d", `DOUBLE is expected, not the string "nan"`}, {`{"m":^100}`, "m", "100 is out of the range of DECIMAL(4, 2): 2 digits before the point"},
		{`{"m":^99.995}`, "m", "99.995 is out of the range of DECIMAL(4, 2): 2 digits before the point"}, {`{"m":^1e40}`, "m", "1e40 is out of the range of DECIMAL(4, 2): 2 digits before the point"},
		{`{"m":^"01"}`, "m", `DECIMAL(4, 2) is expected, not the string "01"`}, {`{"m":^" 1"}`, "m", `DECIMAL(4, 2) is expected, not the string " 1"`}, {`{"m":^""}`, "m", `DECIMAL(4, 2) is expected, not the string ""`},
		{`{"m":^false}`, "m", "DECIMAL(4, 2) is expected, not false"}, {`{"y":^"A"}`, "y", `"A" is no base64`}, {`{"y":^"AA\n=="}`, "y", `"AA\n==" is no base64`}, {`{"y":^"AA__"}`, "y", `"AA__" is no base64`}, {`{"y":^1}`, "y", "BYTES is expected, not 1"},
		{`{"a":^"2001-2-16"}`, "a", `"2001-2-16" is no DATE: ` + reasonDateShape}, {`{"a":^"2001-02-29"}`, "a", `"2001-02-29" is no DATE: ` + reasonNoDay}, {`{"a":^"1900-02-29"}`, "a", `"1900-02-29" is no DATE: ` + reasonNoDay},
		{`{"a":^"2001-00-01"}`, "a", `"2001-00-01" is no DATE: ` + reasonNoDay}, {`{"a":^"2001-01-00"}`, "a", `"2001-01-00" is no DATE: ` + reasonNoDay}, {`{"a":^11369}`, "a", "DATE is expected, not 11369"},
		{`{"t":^"2001-02-16"}`, "t", `"2001-02-16" is no TIMESTAMP(3): ` + reasonTimeShape}, {`{"t":^"2001-02-30T00:00:00.000Z"}`, "t", `"2001-02-30T00:00:00.000Z" is no TIMESTAMP(3): ` + reasonNoDay},
		{`{"t":^"2001-02-16T24:00:00.000Z"}`, "t", `"2001-02-16T24:00:00.000Z" is no TIMESTAMP(3): ` + reasonNoTime}, {`{"t":^"2016-12-31T23:59:60.000Z"}`, "t", `"2016-12-31T23:59:60.000Z" is no TIMESTAMP(3): ` + reasonLeap},
		{`{"t":^"2001-02-16T17:55:00."}`, "t", `"2001-02-16T17:55:00." is no TIMESTAMP(3): ` + reasonTimeShape}, {`{"t":^"2001-02-16T17:55:00.0000000001"}`, "t", `"2001-02-16T17:55:00.0000000001" is no TIMESTAMP(3): ` + reasonFraction},
		{`{"t":^"2001-02-16T17:55:00+24:00"}`, "t", `"2001-02-16T17:55:00+24:00" is no TIMESTAMP(3): ` + reasonOffset}, {`{"t":^"0000-01-01T00:00:00+00:01"}`, "t", `"0000-01-01T00:00:00+00:01" is no TIMESTAMP(3): ` + reasonYear},
		{`{"t":^"2001-02-16T17:55:00+0100"}`, "t", `"2001-02-16T17:55:00+0100" is no TIMESTAMP(3): ` + reasonTimeShape}, {`{"t":^1.5}`, "t", "milliseconds are an integer, not 1.5"},
		{`{"t":^9223372036854775808}`, "t", "9223372036854775808 is out of the range of TIMESTAMP(3), -9223372036854775808 to 9223372036854775807"}, {`{"t":^true}`, "t", "TIMESTAMP(3) is expected, not true"},
		{`{"i":^"` + strings.Repeat("é", 25) + `"}`, "i", `INT is expected, not the string "` + strings.Repeat("é", 19) + "…"},
		{`{"t":^"2OO1-02-16T17:55:00Z"}`, "t", `"2OO1-02-16T17:55:00Z" is no TIMESTAMP(3): ` + reasonTimeShape}, {`{"t":^"2001-02-16T1x:55:00Z"}`, "t", `"2001-02-16T1x:55:00Z" is no TIMESTAMP(3): ` + reasonTimeShape},
		{`{"t":^"2001-02-16T17:55:00+0x:00"}`, "t", `"2001-02-16T17:55:00+0x:00" is no TIMESTAMP(3): ` + reasonTimeShape}, {`{"x":{"^`, "", reasonEnd},
		{`{"z":^"2001-02-16T17:55:00"}`, "z", `"2001-02-16T17:55:00" is no TIMESTAMP_LTZ(6): ` + reasonZone},
	} {
		at := strings.IndexByte(c.record, '^')
		record := c.record[:at] + c.record[at+1:]
		_, err := decodeRow(d, output, record)
		var e *format.Error
		if !errors.As(err, &e) {
			t.Errorf("%q: accepted, or no format.Error: %v", record, err)
		} else if *e != (format.Error{Offset: at, Column: c.column, Reason: c.reason}) {
			t.Errorf("%q:\n got %v\nwant byte %d, column %q: %s", record, e, at, c.column, c.reason)
		}
	}
}

func TestErrorText(t *testing.T) {
	s := schemaOf("delay INT")
	_, err := decodeRow(mustDecoder(t, s, s), s, `{"delay":99999999999}`)
	if want := `column "delay", byte 9: 99999999999 is out of the range of INT, -2147483648 to 2147483647`; err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
	if got := (&format.Error{Offset: 3, Reason: reasonUTF8}).Error(); got != "byte 3: invalid UTF-8" {
		t.Errorf("got %s", got)
	}
}

// TestDecodeUnused: the syntax of a value that nobody uses is checked, its type
// and the number of its fields are not (T).
func TestDecodeUnused(t *testing.T) {
	declared := schemaOf("k STRING; v INT; w ARRAY<INT>")
	output := declared.Project([]int{0})
	d := mustDecoder(t, declared, output)
	row, err := decodeRow(d, output, `{"v":"no number","w":1,"v":1e999,"k":"a","other":1,"other":{}}`)
	if err != nil || string(mustEncoder(t, output, EncoderOptions{}).Append(nil, row)) != `{"k":"a"}` {
		t.Errorf("got %v, %v", row, err)
	}
}

// TestDecodeMissing: fields that are not there are NULL, in any order (P).
func TestDecodeMissing(t *testing.T) {
	s := schemaOf("a INT; b STRING; c TIMESTAMP(9); a-name-of-more-than-sixteen-bytes INT; \"\\é INT")
	d, e := mustDecoder(t, s, s), mustEncoder(t, s, EncoderOptions{})
	const long, odd = `"a-name-of-more-than-sixteen-bytes":`, `"\"\\é":`
	for range 2 {
		for record, want := range map[string]string{
			`{}`:              `{"a":null,"b":null,"c":null,` + long + `null,` + odd + `null}`,
			`{"b":"x"}`:       `{"a":null,"b":"x","c":null,` + long + `null,` + odd + `null}`,
			`{"b":"x","a":1}`: `{"a":1,"b":"x","c":null,` + long + `null,` + odd + `null}`,
			`{"\u0062":"x", ` + long + ` 3, "\u0022\\\u00e9":4}`: `{"a":null,"b":"x","c":null,` + long + `3,` + odd + `4}`,
			`{` + odd + `4, ` + long + `3,"a" : 1}`:              `{"a":1,"b":null,"c":null,` + long + `3,` + odd + `4}`,
		} {
			row, err := decodeRow(d, s, record)
			if got := string(e.Append(nil, row)); err != nil || got != want {
				t.Errorf("%s: got %s, %v", record, got, err)
			}
		}
	}
}

func TestDecodeDepth(t *testing.T) {
	s := schemaOf("")
	d := mustDecoder(t, s, s)
	for _, c := range []struct{ opening, inner, closing string }{{"[", "", "]"}, {`{"":`, "0", "}"}, {`[{"a":[],"b":`, "1", "}]"}} {
		each := strings.Count(c.opening, "[") + strings.Count(c.opening, "{") - strings.Count(c.opening, "[]")
		for depth := DepthMax - 5; depth < DepthMax+5; depth++ {
			n := depth / each
			record := `{"x":` + strings.Repeat(c.opening, n) + c.inner + strings.Repeat(c.closing, n) + `}`
			_, err := decodeRow(d, s, record)
			if want := isObject([]byte(record)); (err == nil) != want {
				t.Errorf("%d times %s: %v, jsontext accepts: %v", n, c.opening, err, want)
			}
		}
	}
}

func TestNewDecoderRefuses(t *testing.T) {
	for _, c := range []struct{ declared, output, want string }{
		{"a INT", "b INT", `column "b" is not among those declared: (a INT)`},
		{"a INT", "a BIGINT", `column "a" is declared as INT, not BIGINT`},
		{"a MAP<INT, STRING>", "a MAP<INT, STRING>", `column "a": MAP<INT, STRING> cannot be written as a JSON object, whose names are strings; only a MAP with keys of type STRING can`},
		{"a ARRAY<ROW<b MAP<DATE, INT>>>", "a ARRAY<ROW<b MAP<DATE, INT>>>", `column "a": field "b": MAP<DATE, INT> cannot be`},
		{"a MAP<STRING, MAP<BYTES, INT>>", "a MAP<STRING, MAP<BYTES, INT>>", `column "a": MAP<BYTES, INT> cannot be`},
	} {
		if _, err := NewDecoder(schemaOf(c.declared), schemaOf(c.output)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s, %s: %v", c.declared, c.output, err)
		}
	}
}

// TestDecodeAllocates nothing for sound records of every type.
func TestDecodeAllocates(t *testing.T) {
	records := [][]byte{
		[]byte(`{"b":true,"i":-5,"l":123456789012,"f":1.5,"d":0.1,"m":12.34,"M":-123456789012345678.5,"s":"a \"quoted\" string","y":"AAEC/w==","a":"2001-02-16","t":"2001-02-16T17:55:00.000Z","u":"2001-02-16T17:55:00.123456789+01:00","x":[1,{"a":"b"}],"A":[1,null,3],"B":[{"i":1,"s":"longer than seven","u":[0,1]},{}],"C":{"a":1.5,"a longer key":2},"R":{"y":"AAEC","C":{"k":[1.5],"l":[2]}}}`),
		[]byte(`{ "x": "é", "s": "short", "i": 7, "d": 1e300, "t": 5, "y": null }`),
	}
	d := mustDecoder(t, allTypes, allTypes)
	w := stream.NewRowWriter(allTypes)
	var buf []byte
	if n := testing.AllocsPerRun(100, func() {
		for _, r := range records {
			w.BeginIn(buf[:0], stream.Insert)
			if err := d.Decode(r, w); err != nil {
				t.Fatal(err)
			}
			buf = w.Buffer()
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestDecodeDropsLargeBuffers(t *testing.T) {
	s := schemaOf("s STRING; y BYTES")
	d := mustDecoder(t, s, s)
	big := strings.Repeat("AAAA", scratchBytesMax/2)
	if _, err := decodeRow(d, s, `{"s":"\n`+big+`","y":"`+big+`"}`); err != nil {
		t.Fatal(err)
	}
	if d.scratch != nil || d.binary != nil {
		t.Errorf("%d and %d bytes are kept", cap(d.scratch), cap(d.binary))
	}
}

func TestTail(t *testing.T) {
	text := []byte("0123456789abcdef")
	for n := range len(text) + 1 {
		for i := range n + 1 {
			want := uint64(0)
			for k := min(n, i+8) - 1; k >= i; k-- {
				want = want<<8 | uint64(text[k])
			}
			if got := wordOrTail(text[:n:n], i); got != want {
				t.Errorf("%d of %d: got %x, want %x", i, n, got, want)
			}
		}
	}
}

// TestTimestampShape replaces each byte of a timestamp by every other one: the
// fast path takes what the general parser takes, or leaves it to that.
func TestTimestampShape(t *testing.T) {
	const text = `"2004-02-29T17:55:09.123Z"`
	taken := 0
	for at := range text {
		for c := range 256 {
			record := []byte(text)
			record[at] = byte(c)
			var cache dayCache
			cache.timestamp([]byte(text), 0)
			got, end := cache.timestamp(record, 0)
			if end == 0 {
				continue
			}
			taken++
			want, nanos, reason := parseTimestamp(record[1:25], true)
			if record[0] != '"' || record[25] != '"' || reason != "" || nanos != 0 || got != want {
				t.Errorf("%q: got %d; want %d, %s", record, got, want, reason)
			}
		}
	}
	if taken < 100 {
		t.Errorf("only %d were taken", taken)
	}
}

// TestCutMillis at the limits, where there is no earlier second.
func TestCutMillis(t *testing.T) {
	if got := cutMillis(math.MinInt64, 0); got != math.MinInt64 {
		t.Errorf("got %d", got)
	}
	if got := cutMillis(-1001, 0); got != -2000 {
		t.Errorf("got %d", got)
	}
	if got := cutMillis(1999, 1); got != 1900 {
		t.Errorf("got %d", got)
	}
}
