package cases

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// cutTime cuts @TIME off, if it is there.
func cutTime(text string, time *int64) (string, error) {
	if !strings.HasPrefix(text, "@") {
		return text, nil
	}
	word, rest, _ := strings.Cut(text[1:], " ")
	return rest, whole("the time behind @", word, time)
}

// times reads so many i64 as the payload of an effect.
func times(effect, text string, n int) (payload []byte, err error) {
	list := make([]int64, n)
	all := make([]*int64, n)
	for i := range list {
		all[i] = &list[i]
	}
	err = whole(effect, text, all...)
	for _, v := range list {
		payload = le.AppendUint64(payload, uint64(v))
	}
	return payload, err
}

// whole reads whole numbers, all that there is behind a word.
func whole(word, text string, to ...*int64) (err error) {
	words := strings.Fields(text)
	if len(words) != len(to) {
		wanted := "a whole number is"
		if len(to) > 1 {
			wanted = fmt.Sprintf("%d whole numbers are", len(to))
		}
		return fmt.Errorf("%s: %s needed, and there is %q", word, wanted, text)
	}
	for i, w := range words {
		if *to[i], err = strconv.ParseInt(w, 10, 64); err != nil {
			return fmt.Errorf("%s: %q is no whole number of 64 bits", word, w)
		}
	}
	return nil
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
	for _, name := range slices.Sorted(maps.Keys(values)) {
		return nil, fmt.Errorf("row %s: there is no column %q; %s", text, name, columnsOf(schema))
	}
	return row, nil
}

// columnsOf tells which columns there are.
func columnsOf(schema *Schema) string {
	return there(schema.fields(), func(f *Field) string { return f.Name })
}

// shown is a value as the case has it.
func shown(v any) string {
	if text, is := v.(string); is {
		return jsonText(text)
	}
	return fmt.Sprint(v)
}

func encodeField(row []byte, at int, f *Field, v any) ([]byte, error) {
	number, isNumber := v.(json.Number)
	text, isText := v.(string)
	bits, fits := uint64(0), isNumber
	switch f.Type {
	case "BOOLEAN":
		_, fits = v.(bool)
		if v == true {
			bits = 1
		}
	case "INT", "DATE":
		x, err := strconv.ParseInt(string(number), 10, 32)
		bits, fits = uint64(uint32(x)), isNumber && err == nil
	case "BIGINT", "TIMESTAMP(3)":
		x, err := strconv.ParseInt(string(number), 10, 64)
		bits, fits = uint64(x), isNumber && err == nil
	case "FLOAT":
		x, err := strconv.ParseFloat(string(number), 32)
		bits, fits = uint64(math.Float32bits(float32(x))), isNumber && err == nil
	case "DOUBLE":
		x, err := strconv.ParseFloat(string(number), 64)
		bits, fits = math.Float64bits(x), isNumber && err == nil
	case "STRING":
		if isText {
			return appendValue(row, at, []byte(text)), nil
		}
		fits = false
	case "BYTES":
		b, err := base64.StdEncoding.DecodeString(text)
		if isText && err == nil {
			return appendValue(row, at, b), nil
		}
		return row, fmt.Errorf("%s is no BYTES: they are written in base64", shown(v))
	default:
		return row, fmt.Errorf("cases know no %s", f.Type)
	}
	if !fits {
		return row, fmt.Errorf("%s is no %s", shown(v), f.Type)
	}
	le.PutUint64(row[at:], bits)
	return row, nil
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
