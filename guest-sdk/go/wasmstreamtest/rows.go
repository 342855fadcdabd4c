package wasmstreamtest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// fixedBytes is the size of a row without values of variable width.
func fixedBytes(s schema) int { return 8 + 8*len(s.Fields) }

// encodeRow lays out a JSON object as a row.
func encodeRow(s schema, text string) ([]byte, error) {
	values := map[string]any{}
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&values); err != nil {
		return nil, fmt.Errorf("row %s: %w", text, err)
	}
	row := make([]byte, fixedBytes(s))
	for i, f := range s.Fields {
		v := values[f.Name]
		delete(values, f.Name)
		if v == nil {
			row[(i+8)/8] |= 1 << ((i + 8) % 8)
			continue
		}
		var err error
		if row, err = encodeField(row, 8+8*i, f, v); err != nil {
			return nil, fmt.Errorf("column %s: %w", f.Name, err)
		}
	}
	for name := range values {
		return nil, fmt.Errorf("row %s: there is no column %q", text, name)
	}
	return row, nil
}

func encodeField(row []byte, at int, f field, v any) ([]byte, error) {
	text := fmt.Sprint(v)
	bits, err := uint64(0), error(nil)
	switch f.Type {
	case "BOOLEAN":
		if v == true {
			bits = 1
		}
	case "INT", "DATE":
		var n int64
		n, err = strconv.ParseInt(text, 10, 32)
		bits = uint64(uint32(n))
	case "BIGINT", "TIMESTAMP(3)":
		var n int64
		n, err = strconv.ParseInt(text, 10, 64)
		bits = uint64(n)
	case "FLOAT":
		var n float64
		n, err = strconv.ParseFloat(text, 32)
		bits = uint64(math.Float32bits(float32(n)))
	case "DOUBLE":
		var n float64
		n, err = strconv.ParseFloat(text, 64)
		bits = math.Float64bits(n)
	case "STRING":
		return appendValue(row, at, []byte(text)), nil
	case "BYTES":
		b, err := base64.StdEncoding.DecodeString(text)
		return appendValue(row, at, b), err
	default:
		err = fmt.Errorf("type %s is unknown here", f.Type)
	}
	le.PutUint64(row[at:], bits)
	return row, err
}

// appendValue sets a value of variable width.
func appendValue(row []byte, at int, v []byte) []byte {
	if len(v) <= 7 {
		copy(row[at:], v)
		row[at+7] = 0x80 | byte(len(v))
		return row
	}
	le.PutUint64(row[at:], uint64(len(row))<<32|uint64(len(v)))
	row = append(row, v...)
	return append(row, make([]byte, -len(v)&7)...)
}

// decodeRow writes a row as a JSON object, for messages.
func decodeRow(s schema, row []byte) (string, error) {
	if len(row) < fixedBytes(s) {
		return "", fmt.Errorf("a result of %d bytes, less than the %d of its columns (none was emitted if 0)", len(row), fixedBytes(s))
	}
	var b strings.Builder
	for i, f := range s.Fields {
		separator := "{"
		if i > 0 {
			separator = ", "
		}
		fmt.Fprintf(&b, "%s%q: ", separator, f.Name)
		if row[(i+8)/8]&(1<<((i+8)%8)) != 0 {
			b.WriteString("null")
			continue
		}
		b.WriteString(decodeField(f, row, 8+8*i))
	}
	return b.String() + "}", nil
}

func decodeField(f field, row []byte, at int) string {
	bits := le.Uint64(row[at:])
	switch f.Type {
	case "BOOLEAN":
		return strconv.FormatBool(bits != 0)
	case "INT", "DATE":
		return strconv.FormatInt(int64(int32(bits)), 10)
	case "FLOAT":
		return strconv.FormatFloat(float64(math.Float32frombits(uint32(bits))), 'g', -1, 32)
	case "DOUBLE":
		return strconv.FormatFloat(math.Float64frombits(bits), 'g', -1, 64)
	case "STRING", "BYTES":
		from, n := int(bits>>32), int(uint32(bits))
		if bits>>63 != 0 {
			from, n = at, int(bits>>56&0x7F)
		}
		if from < 0 || n < 0 || from+n > len(row) {
			return "(beyond the row)"
		}
		return strconv.Quote(string(row[from : from+n]))
	}
	return strconv.FormatInt(int64(bits), 10)
}
