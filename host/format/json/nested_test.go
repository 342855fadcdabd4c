package json

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/wasmstream/wasmstream/host/format"
	"github.com/wasmstream/wasmstream/host/stream"
)

// TestDecodeNested says what nested types read, as the encoder writes it again.
func TestDecodeNested(t *testing.T) {
	for _, c := range []struct{ typ, in, want string }{
		{"ARRAY<INT>", `[1, -2,3e0 ,null]`, `[1,-2,3,null]`}, {"ARRAY<INT>", `[]`, `[]`}, {"ARRAY<INT>", ` [ ] `, `[]`}, {"ARRAY<INT>", `null`, `null`},
		{"ARRAY<BOOLEAN>", `[true,false,null,true]`, `[true,false,null,true]`}, {"ARRAY<BIGINT>", `[1234567890123,7]`, `[1234567890123,7]`},
		{"ARRAY<STRING>", `["", "short","longer than seven", "\u00e9" , null]`, `["","short","longer than seven","é",null]`},
		{"ARRAY<DOUBLE>", `[1.5,"NaN",-0]`, `[1.5,"NaN",-0]`}, {"ARRAY<FLOAT>", `[0.1,1e30]`, `[0.1,1e+30]`}, {"ARRAY<DATE>", `["2001-02-16"]`, `["2001-02-16"]`},
		{"ARRAY<DECIMAL(4,2)>", `[1,"2.5",-0.005]`, `[1.00,2.50,-0.01]`}, {"ARRAY<DECIMAL(38,2)>", `[1,null,-123456789012345678901234567890.125]`, `[1.00,null,-123456789012345678901234567890.13]`},
		{"ARRAY<TIMESTAMP(3)>", `["2001-02-16T17:55:00.000Z",0]`, `["2001-02-16T17:55:00.000Z","1970-01-01T00:00:00.000Z"]`},
		{"ARRAY<TIMESTAMP_LTZ(9)>", `[null,"2001-02-16T17:55:00.123456789+01:00",5]`, `[null,"2001-02-16T16:55:00.123456789Z","1970-01-01T00:00:00.005000000Z"]`},
		{"ARRAY<BYTES>", `["","AAEC","AAECAwQFBgcICQ=="]`, `["","AAEC","AAECAwQFBgcICQ=="]`}, {"ARRAY<ARRAY<INT>>", `[[1],[],null,[2,3]]`, `[[1],[],null,[2,3]]`},
		{"MAP<STRING, INT>", `{"b":1,"a":null,"":3,"a longer key":4}`, `{"b":1,"a":null,"":3,"a longer key":4}`}, {"MAP<STRING, INT>", `{ }`, `{}`}, {"MAP<STRING, INT>", `null`, `null`},
		{"MAP<STRING, INT>", `{"\n":1 , "é" : 2}`, `{"\n":1,"é":2}`}, {"MAP<STRING, MAP<STRING, ARRAY<STRING>>>", `{"a":{"a":["x"],"b":[]},"b":{},"c":null}`, `{"a":{"a":["x"],"b":[]},"b":{},"c":null}`},
		{"ROW<a INT, b STRING>", `{"b":"x","a":1}`, `{"a":1,"b":"x"}`}, {"ROW<a INT, b STRING>", `{"a":1}`, `{"a":1,"b":null}`}, {"ROW<a INT, b STRING>", `{}`, `{"a":null,"b":null}`},
		{"ROW<a INT, b STRING>", `{"c":[{"a":"no INT"}],"b":"x","c":1}`, `{"a":null,"b":"x"}`}, {"ROW<a INT, b STRING>", `null`, `null`}, {"ROW<>", `{"a":1}`, `{}`},
		{"ROW<a DECIMAL(38, 1), t TIMESTAMP(6)>", `{}`, `{"a":null,"t":null}`}, {"ROW<r ROW<r ROW<a INT>, a INT>, a INT>", `{"r":{"r":{"a":1},"a":2},"a":3}`, `{"r":{"r":{"a":1},"a":2},"a":3}`},
		{"ARRAY<ROW<a INT, b ARRAY<STRING>>>", `[{"a":1,"b":["x"]},{"b":["y",null],"a":2},{},null]`, `[{"a":1,"b":["x"]},{"a":2,"b":["y",null]},{"a":null,"b":null},null]`},
	} {
		s := schemaOf("v " + c.typ)
		d, e := mustDecoder(t, s, s), mustEncoder(t, s, EncoderOptions{})
		for _, record := range []string{`{"v":` + c.in + `}`, ` {"v" : ` + c.in + ` } `, `{"x":[{}],"v":` + c.in + `,"w":1}`} {
			for range 2 { // the second time with buffers and predictions of the first
				row, err := decodeRow(d, s, record)
				if err != nil {
					t.Errorf("%s %s: %v", c.typ, record, err)
				} else if got := string(e.Append(nil, row)); got != `{"v":`+c.want+`}` {
					t.Errorf("%s %s: got %s", c.typ, record, got)
				} else if err := stream.CheckRow(s, row); err != nil {
					t.Errorf("%s %s: %v", c.typ, record, err)
				}
			}
		}
	}
}

// TestDecodeNestedErrors says where errors within nested values are found. ^ in
// a record marks the byte and is taken out.
func TestDecodeNestedErrors(t *testing.T) {
	s := schemaOf("a ARRAY<INT>; r ROW<i INT, n ROW<s STRING>, m MAP<STRING, ARRAY<ROW<d DATE>>>>; m MAP<STRING, DECIMAL(4,2)>; n ARRAY<ARRAY<BYTES>>")
	d := mustDecoder(t, s, s)
	for _, c := range []struct{ record, column, reason string }{
		{`{"a":[^`, "a[0]", reasonEnd}, {`{"a":[1^`, "a", reasonEnd}, {`{"a":[1,^`, "a[1]", reasonEnd}, {`{"a":[1 ^2]}`, "a", reasonItemComma}, {`{"a":[1^}}`, "a", reasonItemComma},
		{`{"a":[1,^]}`, "a[1]", reasonValue}, {`{"a":[^,1]}`, "a[0]", reasonValue}, {`{"a":[1,2,^"x"]}`, "a[2]", `INT is expected, not the string "x"`}, {`{"a":[^[1]]}`, "a[0]", "INT is expected, not an array"},
		{`{"a":[1,^01]}`, "a[1]", reasonZero}, {`{"a":[1]^]}`, "", reasonComma}, {`{"a":^{}}`, "a", "ARRAY is expected, not an object"}, {`{"a":^1}`, "a", "ARRAY is expected, not 1"},
		{`{"a":^"[1]"}`, "a", `ARRAY is expected, not the string "[1]"`}, {`{"a":^true}`, "a", "ARRAY is expected, not true"}, {`{"a":^nul}`, "a", reasonLiteral},
		{`{"r":^[]}`, "r", "ROW is expected, not an array"}, {`{"r":{^`, "r", reasonEnd}, {`{"r":{"i":^1.5}}`, "r.i", "INT is expected, an integer, not 1.5"}, {`{"r":{"i":1^]}`, "r", reasonComma},
		{`{"r":{"i":1,^}}`, "r", reasonName}, {`{"r":{"i" ^1}}`, "r", reasonColon}, {`{"r":{"i":1,^"i":2}}`, "r.i", "the field is there twice"}, {`{"r":{"n":{"s":^1}}}`, "r.n.s", "STRING is expected, not 1"},
		{`{"r":{"x":^+}}`, "r", reasonValue}, {`{"r":{"x":[1 ^2]}}`, "r", reasonItemComma}, {`{"r":{"n":{"s":"^` + "\x01" + `"}}}`, "r.n.s", reasonControl},
		{`{"r":{"m":{"k":[{},{"d":^"2001-02-30"}]}}}`, "r.m['k'][1].d", `"2001-02-30" is no DATE: ` + reasonNoDay}, {`{"r":{"m":{"k":[{},^5]}}}`, "r.m['k'][1]", "ROW is expected, not 5"},
		{`{"m":^[]}`, "m", "MAP is expected, not an array"}, {`{"m":{^1:2}}`, "m", reasonName}, {`{"m":{"k"^}}`, "m", reasonColon}, {`{"m":{"k":^}}`, "m['k']", reasonValue}, {`{"m":{"k":1^`, "m", reasonEnd},
		{`{"m":{"k":1,^}}`, "m", reasonName}, {`{"m":{"k":1 ^"l":2}}`, "m", reasonComma}, {`{"m":{"k":^100}}`, "m['k']", "100 is out of the range of DECIMAL(4, 2): 2 digits before the point"},
		{`{"m":{"k":1,"l":2,^"\u006b":3}}`, "m['k']", reasonTwice}, {`{"m":{"":1,^"":null}}`, "m['']", reasonTwice}, {`{"m":{"a long, long key":1,^"a long, long key":null}}`, "m['a long, long key']", reasonTwice},
		{`{"m":{"^` + "\xff" + `":1}}`, "m", reasonUTF8}, {`{"m":{"` + strings.Repeat("k", 50) + `":^true}}`, "m['" + strings.Repeat("k", 40) + "…']", "DECIMAL(4, 2) is expected, not true"},
		{`{"n":[["AA=="],[null,^"A"]]}`, "n[1][1]", `"A" is no base64`}, {`{"n":[[],null,[^[]]]}`, "n[2][0]", "BYTES is expected, not an array"},
	} {
		at := strings.IndexByte(c.record, '^')
		record := c.record[:at] + c.record[at+1:]
		_, err := decodeRow(d, s, record)
		var e *format.Error
		if !errors.As(err, &e) {
			t.Errorf("%q: accepted, or no format.Error: %v", record, err)
		} else if *e != (format.Error{Offset: at, Column: c.column, Reason: c.reason}) {
			t.Errorf("%q:\n got %v\nwant byte %d, column %q: %s", record, e, at, c.column, c.reason)
		}
		// What is left behind by an error has no influence (P).
		if _, err := decodeRow(d, s, `{"a":[1],"r":{"i":1,"m":{"k":[{}]}},"m":{"k":1,"l":2},"n":[["AA=="]]}`); err != nil {
			t.Fatalf("after %q: %v", record, err)
		}
	}
}

// TestDecodeNestedDepth: types as deep as they may be, and the limit on values
// within values is jsontext's, wherever in typed values they begin.
func TestDecodeNestedDepth(t *testing.T) {
	deepest := strings.Repeat("ARRAY<", stream.TypeDepthMax) + "INT" + strings.Repeat(">", stream.TypeDepthMax)
	s := schemaOf("v " + deepest + "; r ARRAY<ROW<a INT>>")
	d, e := mustDecoder(t, s, s), mustEncoder(t, s, EncoderOptions{})
	value := strings.Repeat("[", stream.TypeDepthMax) + "1,2" + strings.Repeat("]", stream.TypeDepthMax)
	row, err := decodeRow(d, s, `{"v":`+value+`}`)
	if got := string(e.Append(nil, row)); err != nil || got != `{"v":`+value+`,"r":null}` {
		t.Errorf("got %s, %v", got, err)
	}
	for depth := DepthMax - 5; depth < DepthMax+5; depth++ {
		record := `{"r":[{"x":` + strings.Repeat("[", depth) + strings.Repeat("]", depth) + `}]}`
		_, err := decodeRow(d, s, record)
		if want := isObject([]byte(record)); (err == nil) != want {
			t.Errorf("%d deep: %v, jsontext accepts: %v", depth, err, want)
		}
	}
}

// TestDecodeManyKeys: many keys cost no more each than few, and small maps
// behind a large one cost as much as ever.
func TestDecodeManyKeys(t *testing.T) {
	s := schemaOf("m ARRAY<MAP<STRING, INT>>")
	d, e := mustDecoder(t, s, s), mustEncoder(t, s, EncoderOptions{})
	var b strings.Builder
	b.WriteString(`{"m":[{"0":0`)
	for i := 1; i < 20000; i++ {
		fmt.Fprintf(&b, `,"%d":%d`, i, i)
	}
	b.WriteString(`}` + strings.Repeat(`,{"a":1}`, 20000) + `]}`)
	row, err := decodeRow(d, s, b.String())
	if got := string(e.Append(nil, row)); err != nil || got != b.String() {
		t.Errorf("%v", err)
	}
}

// TestDecodeNestedLimit: a short record may stand for a large row.
func TestDecodeNestedLimit(t *testing.T) {
	fields := make([]string, 1000)
	for i := range fields {
		fields[i] = fmt.Sprintf("f%d INT", i)
	}
	s := schemaOf("v ARRAY<ROW<" + strings.Join(fields, ", ") + ">>")
	d := mustDecoder(t, s, s)
	d.nestedMax = 10 << 20
	n := d.nestedMax / 8000
	_, err := decodeRow(d, s, `{"v":[`+strings.Repeat("{},", n)+`{}]}`)
	if err == nil || !strings.HasSuffix(err.Error(), ": the record's nested values take more than 10485760 bytes") {
		t.Errorf("%d rows: %v", n, err)
	}
	if _, err := decodeRow(d, s, `{"v":[`+strings.Repeat("{},", 300)+`{}]}`); err != nil {
		t.Error(err)
	}
	for _, n := range d.nests {
		if n.buf != nil || n.elem.buf != nil {
			t.Errorf("%d and %d bytes are kept", cap(n.buf), cap(n.elem.buf))
		}
	}
}

// TestEncodeNullKey: JSON has no name that is NULL.
func TestEncodeNullKey(t *testing.T) {
	s := schemaOf("m MAP<STRING, INT>")
	typ := s.Fields()[0].Type
	keys, values := stream.NewArrayWriter(*typ.Key), stream.NewArrayWriter(*typ.Elem)
	keys.Begin(2)
	keys.SetNull(0)
	keys.SetBytes(1, []byte("k"))
	values.Begin(2)
	values.SetInt32(0, 1)
	values.SetNull(1)
	w := stream.NewRowWriter(s)
	w.BeginIn(nil, stream.Insert)
	w.SetNested(0, stream.AppendMap(nil, keys.Bytes(), values.Bytes()))
	if got := string(mustEncoder(t, s, EncoderOptions{}).Append(nil, w.Row())); got != `{"m":{"null":1,"k":null}}` {
		t.Errorf("got %s", got)
	}
}

var orderSchema = schemaOf("id BIGINT; customer ROW<name STRING, tags ARRAY<STRING>>; items ARRAY<ROW<sku STRING, n INT, price DECIMAL(10,2)>>; extra MAP<STRING, STRING>")

const orderLine = `{"id":17,"customer":{"name":"Ada Lovelace","tags":["a","premium"]},"items":[{"sku":"X-1","n":2,"price":10.50},{"sku":"Y-22","n":1,"price":3.99}],"extra":{"channel":"web","ref":"a longer reference"}}`

func BenchmarkDecodeNested(b *testing.B) {
	d := mustDecoder(b, orderSchema, orderSchema)
	w, line := stream.NewRowWriter(orderSchema), []byte(orderLine)
	var batch stream.Batch
	b.SetBytes(int64(len(orderLine)))
	b.ReportAllocs()
	for b.Loop() {
		if batch.Len() == 1024 {
			batch.Reset()
		}
		w.Begin(&batch, stream.Insert)
		if err := d.Decode(line, w); err != nil {
			b.Fatal(err)
		}
		w.End(0)
	}
}

func BenchmarkEncodeNested(b *testing.B) {
	d, e := mustDecoder(b, orderSchema, orderSchema), mustEncoder(b, orderSchema, EncoderOptions{})
	row, err := decodeRow(d, orderSchema, orderLine)
	if err != nil {
		b.Fatal(err)
	}
	var out []byte
	b.ReportAllocs()
	for b.Loop() {
		out = e.Append(out[:0], row)
	}
}
