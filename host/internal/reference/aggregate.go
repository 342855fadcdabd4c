package reference

import (
	"cmp"
	"strings"
)

// call is an aggregate over all records of a window; nulls as in SQL.
type call struct {
	name     string // count, sum, min, max or avg
	column   int
	datatype string // of the result
}

func parseCall(text string, in schema) call {
	name, rest, of := strings.Cut(text, "(")
	if !of {
		return call{name, -1, "BIGINT"}
	}
	c := call{name: name, column: in.index(strings.TrimSuffix(rest, ")"))}
	c.datatype = in.types[c.column]
	if c.datatype == "INT" && (name == "sum" || name == "avg") {
		c.datatype = "BIGINT"
	}
	return c
}

func (c call) over(records []record) any {
	if c.name == "count" {
		return int64(len(records))
	}
	var values []any
	for _, r := range records {
		if v := r.row[c.column]; v != nil {
			values = append(values, v)
		}
	}
	if len(values) == 0 {
		return nil
	}
	result := values[0]
	for _, v := range values[1:] {
		switch less := compare(v, result); {
		case c.name == "sum" || c.name == "avg":
			result = sum(result, v)
		case c.name == "min" && less < 0, c.name == "max" && less > 0:
			result = v
		}
	}
	if c.name == "avg" { // of whole numbers cut towards zero
		switch total := result.(type) {
		case int64:
			return total / int64(len(values))
		case float64:
			return total / float64(len(values))
		}
	}
	return result
}

func sum(a, b any) any {
	if x, whole := a.(int64); whole {
		return x + b.(int64)
	}
	x, _ := a.(float64)
	y, _ := b.(float64)
	return x + y
}

func compare(a, b any) int {
	switch x := a.(type) {
	case int64:
		return cmp.Compare(x, b.(int64))
	case float64:
		return cmp.Compare(x, b.(float64))
	case string:
		return cmp.Compare(x, b.(string))
	case bool:
		if x == b.(bool) {
			return 0
		}
		if x {
			return 1
		}
		return -1
	}
	return 0
}
