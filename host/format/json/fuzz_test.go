package json

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/wasmstream/wasmstream/host/format"
	"github.com/wasmstream/wasmstream/host/stream"
)

var allTypes = schemaOf("b BOOLEAN; i INT; l BIGINT; f FLOAT; d DOUBLE; m DECIMAL(10,2); M DECIMAL(38,10); n DECIMAL(38,0); s STRING; y BYTES; a DATE; " +
	"t TIMESTAMP(3); v TIMESTAMP(0); u TIMESTAMP(9); z TIMESTAMP_LTZ(3); w TIMESTAMP_LTZ(6); " +
	"A ARRAY<INT>; B ARRAY<ROW<i INT, s STRING, u ARRAY<TIMESTAMP(9)>>>; C MAP<STRING, DECIMAL(20,2)>; " +
	"R ROW<b BOOLEAN, y BYTES, C MAP<STRING, ARRAY<DOUBLE>>, a DATE, R ROW<>>")

// isObject is the reference for syntax.
func isObject(record []byte) bool {
	v := jsontext.Value(record)
	return v.Kind() == '{' && v.IsValid(jsontext.AllowDuplicateNames(true))
}

// errRefused is the reference's verdict on a value that does not fit its type.
var errRefused = errors.New("refused")

// reference decodes by a general library and the slow and obvious way: a value
// for each column as text, "NULL" for none.
func reference(record []byte, s *stream.Schema) ([]string, error) {
	values := make([]string, s.Len())
	err := referenceObject(record, func(name string, v jsontext.Value) (err error) {
		column := s.Index(name)
		if column < 0 {
			return nil
		}
		if values[column] != "" {
			return errRefused
		}
		values[column], err = referenceValue(v, s.Fields()[column].Type)
		return err
	})
	for i := range values {
		if values[i] == "" {
			values[i] = "NULL"
		}
	}
	return values, err
}

// referenceObject calls member for all that an object holds.
func referenceObject(object []byte, member func(name string, v jsontext.Value) error) error {
	d := jsontext.NewDecoder(bytes.NewReader(object), jsontext.AllowDuplicateNames(true))
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	for d.PeekKind() != '}' {
		token, err := d.ReadToken()
		if err != nil {
			return err
		}
		name := token.String()
		v, err := d.ReadValue()
		if err != nil {
			return err
		}
		if err := member(name, v.Clone()); err != nil {
			return err
		}
	}
	return nil
}

// referenceNested reads an ARRAY as [v v], a MAP as {"k":v} in its order, and a
// ROW as (v v).
func referenceNested(v jsontext.Value, t stream.Type) (string, error) {
	var parts []string
	switch {
	case t.Kind == stream.Array && v.Kind() == '[':
		d := jsontext.NewDecoder(bytes.NewReader(v), jsontext.AllowDuplicateNames(true))
		if _, err := d.ReadToken(); err != nil {
			return "", err
		}
		for d.PeekKind() != ']' {
			element, err := d.ReadValue()
			if err != nil {
				return "", err
			}
			part, err := referenceValue(element, *t.Elem)
			if err != nil {
				return "", err
			}
			parts = append(parts, part)
		}
		return "[" + strings.Join(parts, " ") + "]", nil
	case t.Kind == stream.Map && v.Kind() == '{':
		seen := map[string]bool{}
		err := referenceObject(v, func(name string, v jsontext.Value) error {
			if seen[name] {
				return errRefused
			}
			seen[name] = true
			part, err := referenceValue(v, *t.Elem)
			parts = append(parts, strconv.Quote(name)+":"+part)
			return err
		})
		return "{" + strings.Join(parts, " ") + "}", err
	case t.Kind == stream.RowType && v.Kind() == '{':
		parts, err := reference(v, stream.MustSchema(t.Fields...))
		return "(" + strings.Join(parts, " ") + ")", err
	}
	return "", errRefused
}

func referenceValue(v jsontext.Value, t stream.Type) (string, error) {
	text, isString := string(v), v.Kind() == '"'
	if isString {
		content, err := jsontext.AppendUnquote(nil, v)
		if err != nil {
			return "", err
		}
		text = string(content)
	}
	isNumber := v.Kind() == '0'
	switch {
	case v.Kind() == 'n':
		return "NULL", nil
	case t.Kind == stream.Boolean && (v.Kind() == 't' || v.Kind() == 'f'):
		return text, nil
	case (t.Kind == stream.Int || t.Kind == stream.BigInt) && isNumber:
		n, ok := referenceInteger(text)
		if ok && (t.Kind == stream.BigInt || int64(int32(n)) == n) {
			return strconv.FormatInt(n, 10), nil
		}
	case t.Kind == stream.Float || t.Kind == stream.Double:
		return referenceFloat(text, t, isNumber, isString)
	case t.Kind == stream.Decimal && (isNumber || isString):
		return referenceDecimal(text, t)
	case t.Kind == stream.String && isString:
		return strconv.Quote(text), nil
	case t.Kind == stream.Bytes && isString && !strings.ContainsAny(text, "\r\n"):
		b, err := base64.StdEncoding.DecodeString(text)
		if err == nil {
			return strconv.Quote(string(b)), nil
		}
	case t.Kind == stream.Date && isString:
		day, err := time.Parse("2006-01-02", text)
		if err == nil {
			return strconv.FormatInt(int64(math.Floor(float64(day.Unix())/86400)), 10), nil
		}
	case t.Kind == stream.Timestamp || t.Kind == stream.TimestampLTZ:
		return referenceTimestamp(text, t, isNumber, isString)
	case t.Kind >= stream.Array:
		return referenceNested(v, t)
	}
	return "", errRefused
}

func referenceInteger(text string) (int64, bool) {
	r, ok := new(big.Rat).SetString(text)
	return toInt64(r), ok && r.IsInt() && r.Num().IsInt64()
}

func toInt64(r *big.Rat) int64 {
	if r == nil {
		return 0
	}
	return r.Num().Int64()
}

func referenceFloat(text string, t stream.Type, isNumber, isString bool) (string, error) {
	size := 64
	if t.Kind == stream.Float {
		size = 32
	}
	if isString {
		if text == "NaN" || text == "Infinity" || text == "-Infinity" {
			v, _ := strconv.ParseFloat(text, size)
			return fmt.Sprint(v), nil
		}
	} else if isNumber {
		if v, err := strconv.ParseFloat(text, size); err == nil {
			return fmt.Sprint(v), nil
		}
	}
	return "", errRefused
}

var numberShape = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

func referenceDecimal(text string, t stream.Type) (string, error) {
	if !numberShape.MatchString(text) {
		return "", errRefused
	}
	r, _ := new(big.Rat).SetString(text)
	r.Mul(r, new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(t.Scale)), nil)))
	twice := new(big.Int).Mul(new(big.Int).Abs(r.Num()), big.NewInt(2))
	twice.Add(twice, r.Denom())
	n := twice.Quo(twice, new(big.Int).Mul(r.Denom(), big.NewInt(2)))
	if len(n.String()) > t.Precision {
		return "", errRefused
	}
	if r.Sign() < 0 {
		n.Neg(n)
	}
	return n.String(), nil
}

var timeShape = regexp.MustCompile(`^(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d:\d\d(?:\.\d{1,9})?)([Zz]|([+-])(\d\d):(\d\d))?$`)

func referenceTimestamp(text string, t stream.Type, isNumber, isString bool) (string, error) {
	var at time.Time
	if isNumber {
		n, ok := referenceInteger(text)
		if !ok {
			return "", errRefused
		}
		if n < minMillis || n > maxMillis {
			return fmt.Sprint(cutMillis(n, t.Precision), " 0"), nil
		}
		at = time.UnixMilli(n)
	} else {
		m := timeShape.FindStringSubmatch(text)
		if !isString || m == nil || m[3] == "" && t.Kind == stream.TimestampLTZ {
			return "", errRefused
		}
		var err error
		if at, err = time.Parse("2006-01-02 15:04:05", m[1]+" "+m[2]); err != nil {
			return "", errRefused
		}
		if m[4] != "" {
			hours, _ := strconv.Atoi(m[5])
			minutes, _ := strconv.Atoi(m[6])
			if hours > 23 || minutes > 59 {
				return "", errRefused
			}
			offset := time.Duration(hours*60+minutes) * time.Minute
			if m[4] == "+" {
				offset = -offset
			}
			at = at.Add(offset)
		}
		if year := at.UTC().Year(); year < 0 || year > 9999 {
			return "", errRefused
		}
	}
	unit := 1
	for range 9 - t.Precision {
		unit *= 10
	}
	nanos := at.Nanosecond() / unit * unit
	return fmt.Sprint(at.Unix()*1000+int64(nanos/1_000_000), " ", nanos%1_000_000), nil
}

// rowValues reads a row back in the reference's notation.
func rowValues(r stream.Row, s *stream.Schema) []string {
	values := make([]string, s.Len())
	for i := range values {
		values[i] = columnValue(s.Column(i), r)
	}
	return values
}

func columnValue(c stream.Column, r stream.Row) string {
	if c.IsNull(r) {
		return "NULL"
	}
	switch c.Type.Kind {
	case stream.Boolean:
		return strconv.FormatBool(c.Bool(r))
	case stream.Int, stream.Date:
		return fmt.Sprint(c.Int32(r))
	case stream.BigInt:
		return fmt.Sprint(c.Int64(r))
	case stream.Float:
		return fmt.Sprint(float64(c.Float32(r)))
	case stream.Double:
		return fmt.Sprint(c.Float64(r))
	case stream.Decimal:
		n := big.NewInt(0)
		if c.Type.Precision <= stream.DecimalCompactPrecisionMax {
			n.SetInt64(c.Int64(r))
		} else if b := c.Bytes(r); n.SetBytes(b) != nil && b[0] >= 0x80 {
			n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
		}
		return n.String()
	case stream.String, stream.Bytes:
		return strconv.Quote(string(c.Bytes(r)))
	case stream.Array:
		return "[" + strings.Join(elementValues(stream.ViewArray(c.Type.Elem, c.Bytes(r)), *c.Type.Elem), " ") + "]"
	case stream.Map:
		m := stream.ViewMap(&c.Type, c.Bytes(r))
		parts := elementValues(m.Keys, *c.Type.Key)
		for i, v := range elementValues(m.Values, *c.Type.Elem) {
			parts[i] += ":" + v
		}
		return "{" + strings.Join(parts, " ") + "}"
	case stream.RowType:
		return "(" + strings.Join(rowValues(c.Bytes(r), stream.MustSchema(c.Type.Fields...)), " ") + ")"
	}
	ms, nanos := c.Timestamp(r)
	return fmt.Sprint(ms, " ", nanos)
}

func elementValues(a stream.ArrayView, elem stream.Type) []string {
	values := make([]string, a.Len())
	for i := range values {
		c := stream.Column{Type: elem}
		a.Place(&c, i)
		values[i] = columnValue(c, a.Row())
	}
	return values
}

// hugeExponent is one that math/big would take hours to expand.
var hugeExponent = regexp.MustCompile(`[eE][+-]?0*[0-9]{4}|\\u`)

var seeds = []string{
	`{"flight":2,"scheduled":"2001-01-01T01:24:00.000Z","delay":-5,"distance":407,"origin":"LAS","destination":"OAK"}`,
	`{"b":true,"i":-5,"l":123456789012,"f":1.5,"d":0.1,"m":12.345,"M":-123456789012345678.5,"n":99999999999999999999999999999999999999,"s":"a \"quoted\" string","y":"AAEC/w==","a":"2001-02-16","t":"2001-02-16T17:55:00.000Z","v":-1,"u":"2001-02-16 17:55:00.123456789+01:00","z":"2001-02-16T17:55:00Z","w":1e3}`,
	` { "s" : "\uD83D\uDE00é\u0000\/" , "x" : [ 1 , { "a" : [ ] , "b" : { } } , -0.5e+10 , null ] } `,
	`{"f":"NaN","d":"-Infinity","m":"1e1","i":1.0,"l":1e18,"s":"","b":null}`,
	`{"A":[1,-2,null,1e2],"B":[{"i":1,"s":"longer than seven","u":[0,"2001-02-16T17:55:00.123456789Z",null]},null,{},{"x":[{}],"s":"é"}],"C":{"a":1.5,"\u0062":null,"":-99999999999999.995},"R":{"b":true,"y":"AAEC/w==","C":{"k":[1,"NaN"],"l":[]},"a":"2001-02-16","R":{"x":{}}}}`,
	`{"A":[],"B":[],"C":{},"R":{}}`, `{"C":{"a":1,"\u0061":2}}`, `{"R":{"b":true,"b":true}}`, `{"A":[1,]}`, `{"A":[1 2]}`, `{"A":[1}`, `{"A":{}}`, `{"R":[]}`, `{"C":{"a":1,}}`, `{"B":[{"u":[1.5]}]}`, `{"B":[{"i":"1"}]}`, `{"A":[[1]]}`,
	` { "A" : [ 1 , 2 ] , "C" : { "a" : 1 , "b" : 2 } , "R" : { "C" : { "x" : [ 1.5 , null ] } } } `,
	`{"i":1,"i":2}`, `{"x":01}`, `{"x":[1,]}`, `{"x":"` + "\xff" + `"}`, `{"s":"\uD800"}`, `{"s":"` + "\x01" + `"}`, `{"x":tru}`, `{}x`, `[]`, ``,
	`{"t":"2016-12-31T23:59:60.000Z"}`, `{"t":"0000-01-01T00:00:00+00:01"}`, `{"a":"2000-02-30"}`, `{"m":99999999.995}`, `{"i":2147483648}`,
}

// warm decoders live through all inputs of a fuzzing process: whatever earlier
// records left behind must not change a result (P).
var warmSkip, warmAll, warmEncoder = func() (*Decoder, *Decoder, *Encoder) {
	none := stream.MustSchema()
	skip, err := NewDecoder(allTypes, none)
	all, err2 := NewDecoder(allTypes, allTypes)
	e, err3 := NewEncoder(allTypes, EncoderOptions{})
	if err := errors.Join(err, err2, err3); err != nil {
		panic(err)
	}
	return skip, all, e
}()

func FuzzDecode(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, record []byte) {
		sound := isObject(record)
		_, err := decodeRow(warmSkip, stream.MustSchema(), string(record))
		if checkError(t, record, err); (err == nil) != sound {
			t.Fatalf("%q: skipped: %v, jsontext accepts: %v", record, err, sound)
		}
		row, err := decodeRow(warmAll, allTypes, string(record))
		checkError(t, record, err)
		fresh, err2 := decodeRow(mustDecoder(t, allTypes, allTypes), allTypes, string(record))
		if fmt.Sprint(err) != fmt.Sprint(err2) || err == nil && !bytes.Equal(row, fresh) {
			t.Fatalf("%q: %v with predictions, %v without", record, err, err2)
		}
		if !sound && err == nil {
			t.Fatalf("%q: accepted", record)
		}
		if sound && !hugeExponent.Match(record) {
			compare(t, record, row, err)
		}
		if err == nil {
			if err := stream.CheckRow(allTypes, row); err != nil {
				t.Fatalf("%q: no sound row: %v", record, err)
			}
			roundTrip(t, row)
		}
	})
}

// checkError checks (O) and that errors are typed.
func checkError(t *testing.T, record []byte, err error) {
	var e *format.Error
	if err != nil && (!errors.As(err, &e) || e.Offset < 0 || e.Offset > len(record) || e.Reason == "") {
		t.Fatalf("%q: %v", record, err)
	}
}

// compare a sound record's verdict and row with the reference.
func compare(t *testing.T, record []byte, row stream.Row, err error) {
	want, wantErr := reference(record, allTypes)
	if wantErr != nil && wantErr != errRefused && wantErr != io.EOF {
		t.Fatalf("%q: reference: %v", record, wantErr)
	}
	if (err == nil) != (wantErr == nil) {
		t.Fatalf("%q: %v, reference: %v", record, err, wantErr)
	}
	if err != nil {
		return
	}
	for i, got := range rowValues(row, allTypes) {
		if got != want[i] {
			t.Fatalf("%q: column %s: got %s, want %s", record, allTypes.Names()[i], got, want[i])
		}
	}
}

// roundTrip: what the encoder makes of the row reads back as the same values (R).
func roundTrip(t *testing.T, row stream.Row) {
	text := warmEncoder.Append(nil, row)
	if !isObject(text) {
		t.Fatalf("written: %q", text)
	}
	again, err := decodeRow(warmAll, allTypes, string(text))
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	want, got := rowValues(row, allTypes), rowValues(again, allTypes)
	for i := range want {
		if want[i] != got[i] {
			t.Fatalf("%q: column %s: got %s, want %s", text, allTypes.Names()[i], got[i], want[i])
		}
	}
}
