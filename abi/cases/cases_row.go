package cases

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// cutTime cuts @TIME off, if it is there.
func cutTime(text string, time *int64) (string, error) {
	if !strings.HasPrefix(text, "@") {
		return text, nil
	}
	word, rest, _ := strings.Cut(text[1:], " ")
	_, err := fmt.Sscan(word, time)
	return rest, err
}

// times reads so many i64 as a payload.
func times(text string, n int) ([]byte, error) {
	words := strings.Fields(text)
	if len(words) != n {
		return nil, fmt.Errorf("%q: %d numbers are needed", text, n)
	}
	var payload []byte
	for _, w := range words {
		v, err := strconv.ParseInt(w, 10, 64)
		if err != nil {
			return nil, err
		}
		payload = le.AppendUint64(payload, uint64(v))
	}
	return payload, nil
}

// jsonValues splits a line into objects, or - for those that are missing.
func jsonValues(text string) (values []string, err error) {
	for text = strings.TrimSpace(text); text != ""; text = strings.TrimSpace(text) {
		if text[0] == '-' {
			values, text = append(values, "-"), text[1:]
			continue
		}
		var one json.RawMessage
		d := json.NewDecoder(strings.NewReader(text))
		if err := d.Decode(&one); err != nil {
			return nil, err
		}
		values, text = append(values, string(one)), text[d.InputOffset():]
	}
	return values, nil
}

// readEntries reads what a state must hold: nothing for -, one row for a value, rows for a list, KEY: ROW for a map.
func readEntries(s *State, text string) (entries [][2]Hex, err error) {
	if text == "-" {
		return nil, nil
	}
	for text != "" {
		var parts []json.RawMessage
		for len(parts) == 0 || strings.HasPrefix(text, ":") {
			d := json.NewDecoder(strings.NewReader(strings.TrimPrefix(text, ":")))
			var one json.RawMessage
			if err := d.Decode(&one); err != nil {
				return nil, err
			}
			parts = append(parts, one)
			text = strings.TrimPrefix(text, ":")[d.InputOffset():]
		}
		text = strings.TrimSpace(strings.TrimPrefix(text, ","))
		var entry [2]Hex
		row, err := encodeRow(s.Value, string(parts[len(parts)-1]))
		if err != nil {
			return nil, err
		}
		entry[1] = row
		if len(parts) == 2 {
			if row, err = encodeRow(s.Key, string(parts[0])); err != nil {
				return nil, err
			}
			entry[0] = row
		}
		entries = append(entries, entry)
	}
	return entries, nil
}

// readSchema reads `TYPE NAME, TYPE NAME`.
func readSchema(text string) (*Schema, error) {
	s := &Schema{}
	for _, column := range strings.Split(text, ", ") {
		i := strings.LastIndex(column, " ")
		if i < 0 {
			return nil, fmt.Errorf("column %q is not TYPE NAME", column)
		}
		s.Fields = append(s.Fields, &Field{Type: column[:i], Name: column[i+1:]})
	}
	return s, nil
}

// schemaOf is a schema of columns, each of them `TYPE NAME`.
func schemaOf(columns ...string) *Schema {
	s := &Schema{}
	for _, c := range columns {
		kind, name, _ := strings.Cut(c, " ")
		s.Fields = append(s.Fields, &Field{Type: kind, Name: name})
	}
	return s
}

// schemaText is a schema as functions read and write it.
func schemaText(s *Schema) []byte {
	var b []byte
	for _, f := range s.fields() {
		b = append(b, f.Type+"\t"+f.Name+"\n"...)
	}
	return b
}

func schemaOfText(text []byte) *Schema {
	s := &Schema{}
	for line := range strings.Lines(string(text)) {
		kind, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		s.Fields = append(s.Fields, &Field{Type: kind, Name: name})
	}
	return s
}

// schemasText is what an opening says of inputs.
func schemasText(schemas ...*Schema) (b []byte) {
	for _, s := range schemas {
		if s == nil {
			continue
		}
		text := schemaText(s)
		b = le.AppendUint32(b, uint32(len(text)))
		b = padded(append(b, text...))
	}
	return b
}

// parametersRow is the row of a function's parameters, with defaults for those that the text does not have.
func parametersRow(f *Function, text string) ([]byte, error) {
	values := map[string]json.RawMessage{}
	if err := json.Unmarshal([]byte(text), &values); err != nil {
		return nil, err
	}
	s := &Schema{}
	for _, p := range f.Parameters {
		s.Fields = append(s.Fields, &Field{Name: p.Name, Type: p.Type})
		if _, set := values[p.Name]; !set && p.Default != nil {
			values[p.Name] = json.RawMessage(*p.Default)
		}
	}
	all, err := json.Marshal(values)
	if err != nil {
		return nil, err
	}
	return encodeRow(s, string(all))
}

// firstField is where the columns of a row begin.
func firstField(schema *Schema) int { return (len(schema.fields()) + 71) / 64 * 8 }

func fixedBytes(schema *Schema) int { return firstField(schema) + 8*len(schema.fields()) }

func isFixed(schema *Schema) bool {
	for _, f := range schema.fields() {
		if f.Type == "STRING" || f.Type == "BYTES" {
			return false
		}
	}
	return true
}

// encodeRow lays out a JSON object as a row; columns that are absent are null.
func encodeRow(schema *Schema, text string) ([]byte, error) {
	values := map[string]any{}
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&values); err != nil {
		return nil, fmt.Errorf("row %q: %w", text, err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("row %q: more than a row", text)
	}
	row := make([]byte, fixedBytes(schema))
	for i, f := range schema.fields() {
		v := values[f.Name]
		delete(values, f.Name)
		if v == nil {
			row[(i+8)/8] |= 1 << ((i + 8) % 8)
			continue
		}
		var err error
		if row, err = encodeField(row, firstField(schema)+8*i, f, v); err != nil {
			return nil, fmt.Errorf("column %s: %w", f.Name, err)
		}
	}
	for name := range values {
		return nil, fmt.Errorf("row %s: there is no column %q", text, name)
	}
	return row, nil
}

func encodeField(row []byte, at int, f *Field, v any) ([]byte, error) {
	text := fmt.Sprint(v)
	bits, err := uint64(0), error(nil)
	switch f.Type {
	case "BOOLEAN":
		if v == true {
			bits = 1
		}
	case "INT", "DATE":
		var x int64
		x, err = strconv.ParseInt(text, 10, 32)
		bits = uint64(uint32(x))
	case "BIGINT", "TIMESTAMP(3)":
		var x int64
		x, err = strconv.ParseInt(text, 10, 64)
		bits = uint64(x)
	case "FLOAT":
		var x float64
		x, err = strconv.ParseFloat(text, 32)
		bits = uint64(math.Float32bits(float32(x)))
	case "DOUBLE":
		var x float64
		x, err = strconv.ParseFloat(text, 64)
		bits = math.Float64bits(x)
	case "STRING":
		return appendValue(row, at, []byte(text)), nil
	case "BYTES":
		b, err := base64.StdEncoding.DecodeString(text)
		return appendValue(row, at, b), err
	default:
		err = fmt.Errorf("cases know no %s", f.Type)
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
	return padded(append(row, v...))
}
