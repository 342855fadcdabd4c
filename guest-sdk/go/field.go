package wasmstream

import (
	"math"
	"unsafe"

	"github.com/wasmstream/wasmstream/guest-sdk/go/internal/raw"
)

// Field is a column that is known when the function is opened: of an input that is Any, or of an output that was answered.
type Field struct {
	// Name and Type are the column's, the type in SQL's words.
	Name, Type string

	position, offset int
	of               *schema
}

// base is the type without what stands in brackets or behind, as in DECIMAL(10, 2) NOT NULL.
func baseType(sqlType string) string {
	for i := range len(sqlType) {
		if sqlType[i] == '(' || sqlType[i] == ' ' {
			return sqlType[:i]
		}
	}
	return sqlType
}

// isVariable tells types of variable width. Of CHAR and VARCHAR, which are strings, a width is no matter.
func isVariable(sqlType string) bool {
	switch baseType(sqlType) {
	case "BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DATE", "TIME":
		return false
	case "DECIMAL":
		return precision(sqlType, 10) > 18
	case "TIMESTAMP", "TIMESTAMP_LTZ":
		return precision(sqlType, 6) > 3
	}
	return true
}

// precision is the first number in a type's brackets, or what it is without.
func precision(sqlType string, without int) int {
	n, seen := 0, false
	for i := range len(sqlType) {
		switch c := sqlType[i]; {
		case c >= '0' && c <= '9':
			n, seen = 10*n+int(c-'0'), true
		case seen:
			return n
		}
	}
	if !seen {
		return without
	}
	return n
}

func (f Field) at(r Row) unsafe.Pointer { return unsafe.Add(r.base, f.offset) }

// IsNull tells whether the field is null.
func (f Field) IsNull(r Row) bool {
	if raw.Checked {
		r.checkField(f, false)
	}
	return *(*byte)(unsafe.Add(r.base, f.position/8+1))&(1<<(f.position%8)) != 0
}

// Int returns a BOOLEAN, INT, BIGINT, DATE or TIMESTAMP up to precision 3 as an integer, 0 if null.
func (f Field) Int(r Row) int64 {
	if raw.Checked {
		r.checkField(f, false)
	}
	switch baseType(f.Type) {
	case "INT", "DATE":
		return int64(*(*int32)(f.at(r)))
	}
	return *(*int64)(f.at(r))
}

// Float returns a number of any of these types, a FLOAT or a DOUBLE as a float64, 0 if null.
func (f Field) Float(r Row) float64 {
	switch baseType(f.Type) {
	case "FLOAT":
		return float64(*(*float32)(f.at(r)))
	case "DOUBLE":
		return *(*float64)(f.at(r))
	}
	return float64(f.Int(r))
}

// Text returns a STRING or BYTES: a view, good until the function returns; "" if null.
func (f Field) Text(r Row) string {
	if raw.Checked {
		r.checkField(f, false)
	}
	p, n := viewOf(r, *(*uint64)(f.at(r)), f.at(r))
	return unsafe.String((*byte)(p), n)
}

// SetNull makes the field null.
func (f Field) SetNull(r Row) {
	if raw.Checked {
		r.checkField(f, true)
	}
	if isVariable(f.Type) {
		replaceText(r, f.at(r))
	}
	*(*byte)(unsafe.Add(r.base, f.position/8+1)) |= 1 << (f.position % 8)
	*(*uint64)(f.at(r)) = 0
}

// SetInt sets a BOOLEAN, INT, BIGINT, DATE or TIMESTAMP up to precision 3.
func (f Field) SetInt(r Row, v int64) {
	if baseType(f.Type) == "INT" || baseType(f.Type) == "DATE" {
		v = int64(uint32(v))
	}
	f.put(r, uint64(v))
}

// SetFloat sets a FLOAT or DOUBLE.
func (f Field) SetFloat(r Row, v float64) {
	if baseType(f.Type) == "FLOAT" {
		f.put(r, uint64(math.Float32bits(float32(v))))
		return
	}
	f.put(r, math.Float64bits(v))
}

// SetText sets a STRING or BYTES.
func (f Field) SetText(r Row, v string) {
	if bits, ok := textBits(r, f.position, f.at(r), unsafe.Slice(unsafe.StringData(v), len(v))); ok {
		f.put(r, bits)
	}
}

// Copy sets the field to that of another row, which is of the same type.
func (f Field) Copy(r Row, of Field, from Row) {
	switch {
	case of.IsNull(from):
		f.SetNull(r)
	case isVariable(f.Type):
		f.SetText(r, of.Text(from))
	default:
		f.put(r, *(*uint64)(of.at(from)))
	}
}

func (f Field) put(r Row, v uint64) {
	if raw.Checked {
		r.checkField(f, true)
	}
	*(*byte)(unsafe.Add(r.base, f.position/8+1)) &^= 1 << (f.position % 8)
	*(*uint64)(f.at(r)) = v
}

// Answer says what an output is made of whose columns the function leaves out, and returns them.
func (o *Opening) Answer(output int, columns ...NameType) []Field {
	if uint(output) >= uint(len(o.of.outputs)) {
		o.of.lacks("output", output, len(o.of.outputs))
		return nil
	}
	s := o.of.outputs[output]
	list := make(Columns, len(columns))
	text := []byte(nil)
	for i, c := range columns {
		list[i] = columnOf(i, c.Name, c.Type)
		text = append(append(append(append(text, c.Type...), '\t'), c.Name...), '\n')
	}
	s.setColumns(list)
	o.op.effectOf(raw.EffectSchema, uint32(output), text)
	return Schema{s}.Fields()
}

// NameType is a column of an output that is answered.
type NameType struct {
	// Name is its name, Type its type in SQL's words.
	Name, Type string
}
