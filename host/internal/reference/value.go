package reference

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// The limits of time; minTime is also the time of a record that has none.
const (
	minTime = math.MinInt64
	maxTime = math.MaxInt64
)

// row holds nil, bool, int64, float64 or string by column.
type row []any

// record is a row on its way.
type record struct {
	row    row
	change string // "" is +I
	time   int64
	side   int // of a join: 0 left, 1 right
}

// schema names and types the columns of a stream.
type schema struct {
	names, types []string
}

func (s schema) plus(prefix string, other schema) schema {
	out := schema{append([]string{}, s.names...), append([]string{}, s.types...)}
	for i, name := range other.names {
		out.names = append(out.names, prefix+name)
		out.types = append(out.types, other.types[i])
	}
	return out
}

// index is the place of a column; -1: there is none.
func (s schema) index(name string) int {
	for i, n := range s.names {
		if n == name {
			return i
		}
	}
	return -1
}

func (s schema) indexes(names []string) []int {
	var list []int
	for _, name := range names {
		list = append(list, s.index(name))
	}
	return list
}

func (s schema) pick(columns []int) schema {
	var out schema
	for _, c := range columns {
		out.names = append(out.names, s.names[c])
		out.types = append(out.types, s.types[c])
	}
	return out
}

func (r row) pick(columns []int) row {
	var out row
	for _, c := range columns {
		out = append(out, r[c])
	}
	return out
}

// text is equal for equal rows of one schema, nulls included: the key of maps.
func (r row) text() string { return fmt.Sprintf("%#v", []any(r)) }

// read takes a JSON object; a column that it lacks is null.
func (s schema) read(text string) (row, error) {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var object map[string]any
	if err := decoder.Decode(&object); err != nil {
		return nil, err
	}
	out := make(row, len(s.names))
	for i, name := range s.names {
		n, isNumber := object[name].(json.Number)
		var err error
		switch {
		case !isNumber:
			out[i] = object[name]
		case s.types[i] == "DOUBLE":
			out[i], err = n.Float64()
		default:
			out[i], err = n.Int64()
		}
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// write gives the JSON of a row in the order of the columns.
func (s schema) write(r row) string {
	var b strings.Builder
	for i, name := range s.names {
		b.WriteString(map[bool]string{true: "{", false: ","}[i == 0])
		fmt.Fprintf(&b, "%q:", name)
		switch v := r[i].(type) {
		case nil:
			b.WriteString("null")
		case float64:
			b.WriteString(decimal(v))
		case string:
			fmt.Fprintf(&b, "%q", v)
		default:
			fmt.Fprint(&b, v)
		}
	}
	return b.String() + "}"
}

// decimal spells a number as Java does, as far as these tests go: never without a
// point.
func decimal(v float64) string {
	text := strconv.FormatFloat(v, 'f', -1, 64)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return text
}

func timeText(t int64) string {
	switch t {
	case minTime:
		return "min"
	case maxTime:
		return "max"
	}
	return strconv.FormatInt(t, 10)
}

func parseTime(text string) (int64, error) {
	switch text {
	case "min":
		return minTime, nil
	case "max":
		return maxTime, nil
	}
	return strconv.ParseInt(text, 10, 64)
}

// saturating sums stay at the limits instead of wrapping around.
func saturating(a, b int64) int64 {
	switch sum := a + b; {
	case a > 0 && b > 0 && sum < 0:
		return maxTime
	case a < 0 && b < 0 && sum >= 0:
		return minTime
	default:
		return sum
	}
}
