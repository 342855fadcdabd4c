package main

import ws "github.com/wasmstream/wasmstream/guest-sdk/go"

// callsMax is how many calls an aggregate has at the most; each has three columns of the accumulator.
const callsMax = 4

// call is one of the aggregate's.
type call struct {
	kind      string
	field     ws.Field // not of count
	isInteger bool
	output    ws.Field
	// The columns of the accumulator.
	integer ws.BigInt
	float   ws.Double
	seen    ws.BigInt
}

func newCall(i int, kind string) call {
	first := uint8(3 * i)
	return call{kind: kind, integer: ws.BigInt(first), float: ws.Double(first + 1), seen: ws.BigInt(first + 2)}
}

// resultType is the type of the call's result.
func (c *call) resultType() string {
	switch {
	case c.kind == "count", c.isInteger && (c.kind == "sum" || c.kind == "avg"):
		return "BIGINT"
	case c.kind == "sum", c.kind == "avg":
		return "DOUBLE"
	}
	return c.field.Type
}

// include takes values in, of which there were seen many.
func (c *call) include(acc ws.Row, integer int64, float float64, seen int64) {
	if seen == 0 {
		return
	}
	first := c.seen.Get(acc) == 0
	c.seen.Set(acc, c.seen.Get(acc)+seen)
	wasInteger, wasFloat := c.integer.Get(acc), c.float.Get(acc)
	switch c.kind {
	case "sum", "avg":
		sum := wasInteger + integer
		if (sum > wasInteger) != (integer > 0) && integer != 0 {
			ws.Fail("a sum of integers is an overflow")
		}
		c.integer.Set(acc, sum)
		c.float.Set(acc, wasFloat+float)
	case "min":
		if first || integer < wasInteger {
			c.integer.Set(acc, integer)
		}
		if first || float < wasFloat {
			c.float.Set(acc, float)
		}
	case "max":
		if first || integer > wasInteger {
			c.integer.Set(acc, integer)
		}
		if first || float > wasFloat {
			c.float.Set(acc, float)
		}
	}
}

func (c *call) add(acc, in ws.Row) {
	switch {
	case c.kind == "count":
		c.include(acc, 0, 0, 1)
	case c.field.IsNull(in):
	case c.isInteger:
		c.include(acc, c.field.Int(in), 0, 1)
	default:
		c.include(acc, 0, c.field.Float(in), 1)
	}
}

func (c *call) result(acc, out ws.Row) {
	seen := c.seen.Get(acc)
	switch {
	case c.kind == "count":
		c.output.SetInt(out, seen)
	case seen == 0:
		c.output.SetNull(out)
	case c.kind == "avg" && c.isInteger:
		c.output.SetInt(out, c.integer.Get(acc)/seen)
	case c.kind == "avg":
		c.output.SetFloat(out, c.float.Get(acc)/float64(seen))
	case c.isInteger:
		c.output.SetInt(out, c.integer.Get(acc))
	default:
		c.output.SetFloat(out, c.float.Get(acc))
	}
}

// callsOf reads the lines that name calls, and answers the output's schema.
func callsOf(o *ws.Opening, lines string) (calls []call) {
	var columns []ws.NameType
	for line := ""; lines != ""; {
		line, lines = cut(lines, '\n')
		kind, rest := cut(line, '\t')
		column, name := cut(rest, '\t')
		c := newCall(len(calls), string([]byte(kind)))
		if kind != "count" {
			c.field, _ = find(o, column)
			c.isInteger = c.field.Type == "INT" || c.field.Type == "BIGINT"
		}
		calls = append(calls, c)
		columns = append(columns, ws.NameType{Name: string([]byte(name)), Type: c.resultType()})
	}
	for i, f := range o.Answer(0, columns...) {
		calls[i].output = f
	}
	return calls
}

func aggregate() ws.Function {
	const parameter ws.String = 0
	var accumulator ws.Columns
	for i := range callsMax {
		c, letter := newCall(i, ""), string(rune('a'+i))
		accumulator = append(accumulator, c.integer.As(letter+"_int"), c.float.As(letter+"_float"), c.seen.As(letter+"_seen"))
	}
	var calls []call
	return &ws.Aggregate{
		Name: "aggregate", Input: ws.Any, Accumulator: accumulator,
		Parameters: []ws.Parameter{{Column: parameter.As("calls")}},
		Open:       func(o *ws.Opening) { calls = callsOf(o, parameter.Get(o.Parameters)) },
		Add: func(acc, in ws.Row) {
			for i := range calls {
				calls[i].add(acc, in)
			}
		},
		Merge: func(acc, other ws.Row) {
			for i := range calls {
				c := &calls[i]
				c.include(acc, c.integer.Get(other), c.float.Get(other), c.seen.Get(other))
			}
		},
		Result: func(acc, out ws.Row) {
			for i := range calls {
				calls[i].result(acc, out)
			}
		},
	}
}

func join() ws.Function {
	const parameter ws.Boolean = 0
	var left, right, output []ws.Field
	var window bool
	return &ws.Join{
		Name: "join", Left: ws.Any, Right: ws.Any,
		Parameters: []ws.Parameter{{Column: parameter.As("window"), Default: "false"}},
		Open: func(o *ws.Opening) {
			left, right, window = o.Input.Fields(), o.Second.Fields(), parameter.Get(o.Parameters)
			var columns []ws.NameType
			for _, f := range left {
				columns = append(columns, ws.NameType{Name: "left_" + f.Name, Type: f.Type})
			}
			for _, f := range right {
				columns = append(columns, ws.NameType{Name: "right_" + f.Name, Type: f.Type})
			}
			if window {
				columns = append(columns, ws.NameType{Name: "window_start", Type: "BIGINT"}, ws.NameType{Name: "window_end", Type: "BIGINT"})
			}
			output = o.Answer(0, columns...)
		},
		Join: func(o *ws.Op, l, r ws.Row) {
			out := o.Emit(0)
			copySide(out, output, l, left)
			copySide(out, output[len(left):], r, right)
			if window {
				output[len(output)-2].SetInt(out, o.Start())
				output[len(output)-1].SetInt(out, o.End())
			}
		},
	}
}

// copySide copies the columns of a side, null where it is missing.
func copySide(out ws.Row, to []ws.Field, in ws.Row, from []ws.Field) {
	for i, f := range from {
		if in.IsMissing() {
			to[i].SetNull(out)
		} else {
			to[i].Copy(out, f, in)
		}
	}
}
