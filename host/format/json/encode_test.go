package json

import (
	"bytes"
	"math"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/wasmstream/wasmstream/host/stream"
)

// TestEncodeFiring is the line that the specification shows.
func TestEncodeFiring(t *testing.T) {
	w := stream.NewRowWriter(firingSchema)
	w.BeginIn(nil, stream.Insert)
	w.SetBytes(0, []byte("ABE"))
	w.SetInt64(1, 1)
	w.SetInt64(2, -11)
	w.SetInt32(3, -11)
	w.SetInt64(4, 984816000000)
	w.SetInt64(5, 984819600000)
	const want = `{"origin":"ABE","flights":1,"delay_sum":-11,"delay_max":-11,"window_start":984816000000,"window_end":984819600000}`
	if got := string(mustEncoder(t, firingSchema, EncoderOptions{}).Append([]byte("x"), w.Row())); got != "x"+want {
		t.Errorf("got %s", got)
	}
}

func TestEncodeChange(t *testing.T) {
	s := schemaOf("v INT; long-name-of-a-column STRING")
	e, none := mustEncoder(t, s, EncoderOptions{}), mustEncoder(t, stream.MustSchema(), EncoderOptions{})
	for _, c := range []struct {
		kind       stream.ChangeKind
		want, bare string
	}{
		{stream.Insert, `{"v":-7,"long-name-of-a-column":null}`, `{}`},
		{stream.UpdateBefore, `{"op":"-U","v":-7,"long-name-of-a-column":null}`, `{"op":"-U"}`},
		{stream.UpdateAfter, `{"op":"+U","v":-7,"long-name-of-a-column":null}`, `{"op":"+U"}`},
		{stream.Delete, `{"op":"-D","v":-7,"long-name-of-a-column":null}`, `{"op":"-D"}`},
	} {
		w := stream.NewRowWriter(s)
		w.BeginIn(nil, c.kind)
		w.SetInt32(0, -7)
		w.SetNull(1)
		if got := string(e.Append([]byte("{x"), w.Row())); got != "{x"+c.want {
			t.Errorf("%s: got %s", c.kind, got)
		}
		w = stream.NewRowWriter(stream.MustSchema())
		w.BeginIn(nil, c.kind)
		if got := string(none.Append(nil, w.Row())); got != c.bare {
			t.Errorf("%s: got %s", c.kind, got)
		}
	}
}

func TestEncodeTimestamps(t *testing.T) {
	s := schemaOf("t TIMESTAMP(3); u TIMESTAMP(6); z TIMESTAMP_LTZ(3); d DATE")
	for _, c := range []struct {
		ms           int64
		nanos        int32
		days         int32
		text, millis string
	}{
		{982346100000, 0, 11369, `{"t":"2001-02-16T17:55:00.000Z","u":"2001-02-16T17:55:00.000000Z","z":"2001-02-16T17:55:00.000Z","d":"2001-02-16"}`,
			`{"t":982346100000,"u":982346100000,"z":982346100000,"d":"2001-02-16"}`},
		{-1, 1000, -1, `{"t":"1969-12-31T23:59:59.999Z","u":"1969-12-31T23:59:59.999001Z","z":"1969-12-31T23:59:59.999Z","d":"1969-12-31"}`,
			`{"t":-1,"u":"1969-12-31T23:59:59.999001Z","z":-1,"d":"1969-12-31"}`},
		{maxMillis + 1, 0, math.MaxInt32, `{"t":253402300800000,"u":253402300800000,"z":253402300800000,"d":"+5881580-07-11"}`,
			`{"t":253402300800000,"u":253402300800000,"z":253402300800000,"d":"+5881580-07-11"}`},
		{math.MinInt64, 0, math.MinInt32, `{"t":-9223372036854775808,"u":-9223372036854775808,"z":-9223372036854775808,"d":"-5877641-06-23"}`,
			`{"t":-9223372036854775808,"u":-9223372036854775808,"z":-9223372036854775808,"d":"-5877641-06-23"}`},
		{minMillis, 0, -719529, `{"t":"0000-01-01T00:00:00.000Z","u":"0000-01-01T00:00:00.000000Z","z":"0000-01-01T00:00:00.000Z","d":"-0001-12-31"}`,
			`{"t":-62167219200000,"u":-62167219200000,"z":-62167219200000,"d":"-0001-12-31"}`},
	} {
		w := stream.NewRowWriter(s)
		w.BeginIn(nil, stream.Insert)
		w.SetTimestamp(0, c.ms, 0)
		w.SetTimestamp(1, c.ms, c.nanos)
		w.SetTimestamp(2, c.ms, 0)
		w.SetInt32(3, c.days)
		if got := string(mustEncoder(t, s, EncoderOptions{}).Append(nil, w.Row())); got != c.text {
			t.Errorf("%d: got %s", c.ms, got)
		}
		if got := string(mustEncoder(t, s, EncoderOptions{Timestamps: Millis}).Append(nil, w.Row())); got != c.millis {
			t.Errorf("%d: got %s", c.ms, got)
		}
	}
}

func TestEncodeInts(t *testing.T) {
	s := schemaOf("v BIGINT")
	e := mustEncoder(t, s, EncoderOptions{})
	w := stream.NewRowWriter(s)
	check := func(v int64) {
		w.BeginIn(nil, stream.Insert)
		w.SetInt64(0, v)
		text := string(e.Append(nil, w.Row()))
		if n, end := integer([]byte(text), 5); end > 0 && n != v {
			t.Errorf("%d reads back as %d", v, n)
		}
		if want := `{"v":` + strconv.FormatInt(v, 10) + `}`; text != want {
			t.Errorf("%d: got %s, want %s", v, text, want)
		}
	}
	for p, v := 0, int64(1); p < 19; p, v = p+1, v*10 {
		for _, near := range []int64{v - 1, v, v + 1, 5 * v, 9 * v} {
			check(near)
			check(-near)
		}
	}
	check(math.MinInt64)
	check(math.MaxInt64)
	rapid.Check(t, func(rt *rapid.T) { check(rapid.Int64().Draw(rt, "v")) })
}

// TestEncodeInvalidUTF8: what a guest put there becomes sound JSON.
func TestEncodeInvalidUTF8(t *testing.T) {
	for in, want := range map[string]string{
		"\xff": "\"\uFFFD\"", "a\xc3": "\"a\uFFFD\"", "abcdefghij\x80é\xed\xa0\x80z": "\"abcdefghij\uFFFDé\uFFFD\uFFFD\uFFFDz\"",
	} {
		if got := string(appendString(nil, []byte(in))); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func TestNewEncoderRefuses(t *testing.T) {
	for _, c := range []struct {
		schema, want string
		options      EncoderOptions
	}{
		{"op STRING", `a column called "op"`, EncoderOptions{}},
		{"a ROW<b MAP<INT, INT>>", `column "a": field "b": MAP<INT, INT> cannot be written as a JSON object`, EncoderOptions{}},
		{"a INT", "there is no way 9 to write timestamps", EncoderOptions{Timestamps: 9}},
	} {
		if _, err := NewEncoder(schemaOf(c.schema), c.options); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.schema, err)
		}
	}
	s := schemaOf("op STRING")
	w := stream.NewRowWriter(s)
	w.BeginIn(nil, stream.Insert)
	if got := string(mustEncoder(t, s, EncoderOptions{AppendOnly: true}).Append(nil, w.Row())); got != `{"op":""}` {
		t.Errorf("got %s", got)
	}
}

func TestEncodeAllocates(t *testing.T) {
	d, e := mustDecoder(t, allTypes, allTypes), mustEncoder(t, allTypes, EncoderOptions{})
	row, err := decodeRow(d, allTypes, seeds[1])
	if err != nil {
		t.Fatal(err)
	}
	var out []byte
	if n := testing.AllocsPerRun(100, func() { out = e.Append(out[:0], row) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestRoundTrip: rows of any schema, written and read back, are the same bytes
// (R), in whatever order and however spaced the fields stand.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSchema(t)
		options := EncoderOptions{Timestamps: rapid.SampledFrom([]Timestamps{Text, Millis}).Draw(t, "timestamps"), AppendOnly: true}
		e, err := NewEncoder(s, options)
		if err != nil {
			t.Fatal(err)
		}
		d, err := NewDecoder(s, s)
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			row := drawRow(t, s)
			text := e.Append(nil, row)
			if !isObject(text) {
				t.Fatalf("written: %s", text)
			}
			got, err := decodeRow(d, s, string(text))
			if err != nil || !bytes.Equal(got, row) {
				t.Fatalf("%s: %v\n got %x\nwant %x", text, err, got, row)
			}
		}
	})
}

func drawSchema(t *rapid.T) *stream.Schema {
	return stream.MustSchema(drawFields(t, rapid.SampledFrom([]int{0, 0, 1, 2, 3}).Draw(t, "depth"), 8)...)
}

func drawFields(t *rapid.T, depth, most int) []stream.Field {
	names := rapid.SliceOfNDistinct(rapid.String(), 0, most, rapid.ID[string]).Draw(t, "names")
	var fields []stream.Field
	for _, name := range names {
		if name != "" {
			fields = append(fields, stream.Field{Name: name, Type: drawType(t, depth)})
		}
	}
	return fields
}

func drawType(t *rapid.T, depth int) stream.Type {
	if depth > 0 {
		switch rapid.IntRange(0, 3).Draw(t, "shape") {
		case 0:
			elem := drawType(t, depth-1)
			return stream.Type{Kind: stream.Array, Elem: &elem}
		case 1:
			elem := drawType(t, depth-1)
			return stream.Type{Kind: stream.Map, Key: &stream.Type{Kind: stream.String}, Elem: &elem}
		case 2:
			return stream.Type{Kind: stream.RowType, Fields: drawFields(t, depth-1, 4)}
		}
	}
	precision := rapid.IntRange(1, 38).Draw(t, "precision")
	return rapid.SampledFrom([]stream.Type{
		{Kind: stream.Boolean}, {Kind: stream.Int}, {Kind: stream.BigInt}, {Kind: stream.Float}, {Kind: stream.Double},
		{Kind: stream.Decimal, Precision: precision, Scale: precision / 3}, {Kind: stream.String}, {Kind: stream.Bytes}, {Kind: stream.Date},
		{Kind: stream.Timestamp, Precision: precision % 10}, {Kind: stream.TimestampLTZ, Precision: precision % 10},
	}).Draw(t, "type")
}

// setter is what the writers of rows and arrays have in common.
type setter interface {
	SetNull(i int)
	SetBool(i int, v bool)
	SetInt32(i int, v int32)
	SetInt64(i int, v int64)
	SetFloat32(i int, v float32)
	SetFloat64(i int, v float64)
	SetBytes(i int, v []byte)
	SetTimestamp(i int, ms int64, nanos int32)
	SetBigDecimal(i int, unscaled []byte)
	SetNested(i int, v []byte)
}

// drawRow draws any values but those that the caveats of the package name.
func drawRow(t *rapid.T, s *stream.Schema) stream.Row {
	w := stream.NewRowWriter(s)
	w.BeginIn(nil, stream.Insert)
	for i, f := range s.Fields() {
		drawInto(t, w, i, f.Type)
	}
	return w.Row()
}

func drawInto(t *rapid.T, w setter, i int, typ stream.Type) {
	if rapid.IntRange(0, 5).Draw(t, "null") == 0 {
		w.SetNull(i)
		return
	}
	switch typ.Kind {
	case stream.Boolean:
		w.SetBool(i, rapid.Bool().Draw(t, "v"))
	case stream.Int:
		w.SetInt32(i, rapid.Int32().Draw(t, "v"))
	case stream.BigInt:
		w.SetInt64(i, rapid.Int64().Draw(t, "v"))
	case stream.Float:
		w.SetFloat32(i, rapid.OneOf(rapid.Float32(), rapid.SampledFrom([]float32{float32(nan), float32(infinity), float32(-infinity)})).Draw(t, "v"))
	case stream.Double:
		w.SetFloat64(i, rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{nan, infinity, -infinity})).Draw(t, "v"))
	case stream.Decimal:
		drawDecimal(t, w, i, typ)
	case stream.String:
		w.SetBytes(i, []byte(rapid.String().Draw(t, "v")))
	case stream.Bytes:
		w.SetBytes(i, rapid.SliceOf(rapid.Byte()).Draw(t, "v"))
	case stream.Date:
		w.SetInt32(i, rapid.Int32Range(-719528, 2932896).Draw(t, "v"))
	case stream.Array, stream.Map, stream.RowType:
		w.SetNested(i, drawNestedBytes(t, typ))
	default:
		ms, nanos := rapid.Int64Range(minMillis, maxMillis).Draw(t, "ms"), rapid.Int32Range(0, 999_999).Draw(t, "nanos")
		if typ.Precision <= 3 && rapid.Bool().Draw(t, "far") {
			ms = rapid.Int64().Draw(t, "ms")
		}
		ms, nanos = cutTimestamp(ms, nanos, typ.Precision)
		w.SetTimestamp(i, ms, nanos)
	}
}

func drawNestedBytes(t *rapid.T, typ stream.Type) []byte {
	if typ.Kind == stream.RowType {
		return drawRow(t, stream.MustSchema(typ.Fields...))
	}
	n := rapid.SampledFrom([]int{0, 1, 2, 3, 40}).Draw(t, "length")
	var keys *stream.ArrayWriter
	if typ.Kind == stream.Map {
		names := rapid.SliceOfNDistinct(rapid.String(), n, n, rapid.ID[string]).Draw(t, "keys")
		keys = stream.NewArrayWriter(*typ.Key)
		keys.Begin(n)
		for i, name := range names {
			keys.SetBytes(i, []byte(name))
		}
	}
	w := stream.NewArrayWriter(*typ.Elem)
	w.Begin(n)
	for i := range n {
		drawInto(t, w, i, *typ.Elem)
	}
	if keys != nil {
		return stream.AppendMap(nil, keys.Bytes(), w.Bytes())
	}
	return w.Bytes()
}

func drawDecimal(t *rapid.T, w setter, i int, typ stream.Type) {
	d := decimal{negative: rapid.Bool().Draw(t, "negative")}
	for range rapid.IntRange(0, typ.Precision).Draw(t, "digits") {
		d.timesAdd(10, rapid.Uint64Range(0, 9).Draw(t, "digit"))
	}
	if d.high|d.low == 0 {
		d.negative = false
	}
	if v, ok := d.int64(); ok && typ.Precision <= stream.DecimalCompactPrecisionMax {
		w.SetInt64(i, v)
		return
	}
	var buf [16]byte
	w.SetBigDecimal(i, d.bytes(&buf))
}
