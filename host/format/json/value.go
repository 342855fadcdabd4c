package json

import (
	"bytes"
	"encoding/base64"
	"strconv"
	"unicode/utf8"

	"github.com/wasmstream/wasmstream/host/stream"
)

// value reads the value at i into its column and returns the index after it, or
// -1. The shapes that records mostly have are read here at once; whatever looks
// different goes to convert, which knows them all.
func (d *Decoder) value(rec []byte, i int, f *field, w *stream.RowWriter) int {
	switch f.op {
	case opSkip:
		if i < len(rec) && rec[i] == '"' {
			end, _ := d.text(rec, i+1)
			return end
		}
		if _, end := integer(rec, i); end > 0 {
			return end
		}
		return d.skip(rec, i)
	case opInt:
		if v, end := integer(rec, i); end > 0 && int64(int32(v)) == v {
			w.SetInt32(f.column, int32(v))
			return end
		}
	case opBigInt:
		if v, end := integer(rec, i); end > 0 {
			w.SetInt64(f.column, v)
			return end
		}
	case opTimestamp, opTimestampLTZ:
		if !f.millis {
			break
		}
		if ms, end := d.clock.timestamp(rec, i); end > 0 {
			w.SetInt64(f.column, ms)
			return end
		}
		if ms, end := integer(rec, i); end > 0 {
			w.SetInt64(f.column, ms)
			return end
		}
	case opString:
		if i < len(rec) && rec[i] == '"' {
			return d.stringValue(rec, i+1, f, w)
		}
	case opArray, opMap, opRow:
		return d.nestedValue(rec, i, f, w)
	}
	return d.convert(rec, i, f, w)
}

// stringValue reads a string whose opening quote is before i.
func (d *Decoder) stringValue(rec []byte, i int, f *field, w *stream.RowWriter) int {
	x := wordOrTail(rec, i)
	n := firstMark(stringStops(x))
	if n < 8 && byte(x>>(8*n)) == '"' {
		// At most 7 bytes: the string is its slot, its length in the last byte.
		w.SetInt64(f.column, int64(x&(1<<(8*n)-1)|uint64(0x80|n)<<56))
		return i + n + 1
	}
	end, escaped := d.text(rec, i+n)
	if end < 0 {
		return -1
	}
	if !escaped {
		w.SetBytes(f.column, rec[i:end-1])
	} else {
		w.SetBytes(f.column, d.content(rec[i-1:end], true))
	}
	return end
}

// integer reads an integer of at most 16 digits that a comma, } or ] follows; the end is 0 if what stands there is anything else.
func integer(rec []byte, i int) (v int64, end int) {
	if i >= len(rec) {
		return 0, 0
	}
	// Signs are hard to predict, so they are not branched on.
	sign := 0
	if rec[i] == '-' {
		sign = 1
	}
	i += sign
	x := wordOrTail(rec, i)
	t := x ^ zeros
	n := firstMark(nonDigits(t))
	if n == 8 {
		return longInteger(rec, i, int64(sign), digits8(t))
	}
	c := byte(x >> (8 * n))
	if n == 0 || t&0xff == 0 && n > 1 || c != ',' && c|0x20 != '}' {
		return 0, 0
	}
	v = int64(digits8(t << (64 - 8*n)))
	return (v ^ -int64(sign)) + int64(sign), i + n
}

// longInteger goes on after the first 8 digits, of value v.
func longInteger(rec []byte, i int, sign int64, v uint64) (int64, int) {
	x := wordOrTail(rec, i+8)
	t := x ^ zeros
	n := firstMark(nonDigits(t))
	if n == 8 || rec[i] == '0' {
		return 0, 0
	}
	if c := byte(x >> (8 * n)); c != ',' && c|0x20 != '}' {
		return 0, 0
	}
	if n > 0 {
		v = v*tens[n] + digits8(t<<(64-8*n))
	}
	return (int64(v) ^ -sign) + sign, i + 8 + n
}

// convert reads any value for any column: first its syntax is checked to its
// end, then its type.
func (d *Decoder) convert(rec []byte, i int, f *field, w *stream.RowWriter) int {
	end := d.skip(rec, i)
	if end < 0 {
		return -1
	}
	token := rec[i:end]
	reason := ""
	switch c := token[0]; {
	case c == 'n':
		w.SetNull(f.column)
		return end
	case c == '"':
		reason = d.fromString(token, f, w)
	case c == '-' || c-'0' <= 9:
		reason = d.fromNumber(token, f, w)
	case f.op == opBoolean && c != '{' && c != '[':
		w.SetBool(f.column, c == 't')
	default:
		reason = mismatch(f, token)
	}
	if reason != "" {
		return d.fail(i, reason)
	}
	return end
}

// fromNumber sets the column from a number and says why it cannot.
func (d *Decoder) fromNumber(token []byte, f *field, w *stream.RowWriter) string {
	switch f.op {
	case opInt, opBigInt, opTimestamp, opTimestampLTZ:
		return fromInteger(token, f, w)
	case opFloat, opDouble:
		return fromFloat(token, f, w)
	case opDecimal, opWideDecimal:
		return fromDecimal(token, token, f, w)
	}
	return mismatch(f, token)
}

// fromInteger reads an integer however it is written: 1000, 1e3, 1000.0.
func fromInteger(token []byte, f *field, w *stream.RowWriter) string {
	n, status := parseDecimal(token, 0)
	if status == decimalRounded {
		if f.op == opInt || f.op == opBigInt {
			return f.typ.String() + " is expected, an integer, not " + shorten(token)
		}
		return "milliseconds are an integer, not " + shorten(token)
	}
	v, ok := n.int64()
	switch ok = ok && status == decimalExact; {
	case f.op == opInt && ok && int64(int32(v)) == v:
		w.SetInt32(f.column, int32(v))
	case f.op == opInt:
		return shorten(token) + " is out of the range of INT, -2147483648 to 2147483647"
	case !ok:
		return shorten(token) + " is out of the range of " + f.typ.String() + ", -9223372036854775808 to 9223372036854775807"
	case f.op == opBigInt:
		w.SetInt64(f.column, v)
	default:
		w.SetTimestamp(f.column, cutMillis(v, f.typ.Precision), 0)
	}
	return ""
}

func fromFloat(token []byte, f *field, w *stream.RowWriter) string {
	size := 64
	if f.op == opFloat {
		size = 32
	}
	v, err := strconv.ParseFloat(string(token), size)
	if err != nil { // the grammar was checked: it can only be the range
		return shorten(token) + " is out of the range of " + f.typ.String()
	}
	setFloat(v, f, w)
	return ""
}

func setFloat(v float64, f *field, w *stream.RowWriter) {
	if f.op == opFloat {
		w.SetFloat32(f.column, float32(v))
	} else {
		w.SetFloat64(f.column, v)
	}
}

// fromDecimal sets a DECIMAL from a number; token is the value as it stands in
// the record.
func fromDecimal(number, token []byte, f *field, w *stream.RowWriter) string {
	n, status := parseDecimal(number, f.typ.Scale)
	if status == decimalOverflow || !n.fits(f.typ.Precision) {
		return shorten(token) + " is out of the range of " + f.typ.String() + ": " +
			strconv.Itoa(f.typ.Precision-f.typ.Scale) + " digits before the point"
	}
	if f.op == opDecimal {
		v, _ := n.int64()
		w.SetInt64(f.column, v)
		return ""
	}
	var buf [16]byte
	w.SetBigDecimal(f.column, n.bytes(&buf))
	return ""
}

// fromString sets the column from a quoted string and says why it cannot.
func (d *Decoder) fromString(token []byte, f *field, w *stream.RowWriter) string {
	content := d.content(token, bytes.IndexByte(token, '\\') >= 0)
	switch f.op {
	case opFloat, opDouble:
		switch string(content) {
		case "NaN":
			setFloat(nan, f, w)
		case "Infinity":
			setFloat(infinity, f, w)
		case "-Infinity":
			setFloat(-infinity, f, w)
		default:
			return mismatch(f, token)
		}
		return ""
	case opDecimal, opWideDecimal:
		if !d.isNumber(content) {
			return mismatch(f, token)
		}
		return fromDecimal(content, token, f, w)
	case opBytes:
		return d.fromBase64(content, token, f, w)
	case opDate:
		days, reason := parseDate(content)
		if reason != "" {
			return shorten(token) + " is no DATE: " + reason
		}
		w.SetInt32(f.column, int32(days))
		return ""
	case opTimestamp, opTimestampLTZ:
		ms, nanos, reason := parseTimestamp(content, f.op == opTimestampLTZ)
		if reason != "" {
			return shorten(token) + " is no " + f.typ.String() + ": " + reason
		}
		ms, nanos = cutTimestamp(ms, nanos, f.typ.Precision)
		w.SetTimestamp(f.column, ms, nanos)
		return ""
	}
	return mismatch(f, token)
}

func (d *Decoder) fromBase64(content, token []byte, f *field, w *stream.RowWriter) string {
	const reason = " is no base64"
	if bytes.IndexByte(content, '\n') >= 0 || bytes.IndexByte(content, '\r') >= 0 { // Decode would skip them
		return shorten(token) + reason
	}
	if n := base64.StdEncoding.DecodedLen(len(content)); n > len(d.binary) {
		d.binary = make([]byte, max(n, 2*len(d.binary)))
	}
	n, err := base64.StdEncoding.Decode(d.binary, content)
	if err != nil {
		return shorten(token) + reason
	}
	w.SetBytes(f.column, d.binary[:n])
	return ""
}

// isNumber tells whether text is a number by JSON's grammar and nothing else.
func (d *Decoder) isNumber(text []byte) bool {
	return len(text) > 0 && (text[0] == '-' || text[0]-'0' <= 9) && d.number(text, 0) == len(text)
}

// mismatch is the reason for a value of the wrong kind.
func mismatch(f *field, token []byte) string {
	want := f.typ.String()
	if f.nested != nil {
		want = f.typ.Kind.String() // the whole of it may be long, and the path says which
	}
	kind := ""
	switch token[0] {
	case '"':
		kind = "the string "
	case '{':
		return want + " is expected, not an object"
	case '[':
		return want + " is expected, not an array"
	}
	return want + " is expected, not " + kind + shorten(token)
}

// shownBytesMax is how much of a value an error shows.
const shownBytesMax = 40

// shorten is a value as an error shows it.
func shorten(token []byte) string {
	if len(token) <= shownBytesMax {
		return string(token)
	}
	n := shownBytesMax
	for !utf8.RuneStart(token[n]) {
		n--
	}
	return string(token[:n]) + "…"
}
