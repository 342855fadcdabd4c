package wasmstream

import (
	"unsafe"

	"github.com/wasmstream/wasmstream/guest-sdk/go/internal/raw"
)

// Row is a view of a row in Flink's BinaryRow layout; columns read and write its fields. It is good until the function
// that got it returns.
type Row struct {
	// checks is nothing in Wasm. It comes first, since Go pads an empty last field.
	checks
	base unsafe.Pointer
}

// IsMissing tells a row that is not there: the side of an outer join, the value of a state that holds none.
func (r Row) IsMissing() bool { return r.base == nil }

// schema is the columns of a row.
type schema struct {
	what    string
	columns Columns
	// any is whether the columns are known when the function is opened, and not before.
	any                    bool
	firstField, fixedBytes int
	variable               bool
	// scratch is a row that is being written and has columns of variable width.
	scratch []byte
}

// newSchema makes a schema, and refuses one whose columns are not where their positions say. what names it in messages.
func newSchema(what string, columns Columns) *schema {
	s := &schema{what: what, any: len(columns) == 1 && columns[0].any}
	if s.any {
		return s
	}
	if len(columns) > columnsMax {
		refuse("the " + what + " has more than 56 columns")
	}
	names := map[string]bool{}
	for i, c := range columns {
		if c.position != i {
			refuse("column " + c.name + " is declared for another position than the one that it has in the " + what)
		}
		if names[c.name] {
			refuse("two columns " + c.name + " in the " + what)
		}
		names[c.name] = true
	}
	s.setColumns(columns)
	return s
}

func (s *schema) setColumns(columns Columns) {
	s.columns, s.variable = columns, false
	s.firstField = (len(columns) + 71) / 64 * 8
	s.fixedBytes = s.firstField + 8*len(columns)
	for _, c := range columns {
		s.variable = s.variable || c.variable
	}
	s.scratch = make([]byte, s.fixedBytes)
}

// blank is a zeroed row to be written, good until the next one: of a state, which has no schema before it is declared.
func (s *schema) blank() Row {
	if s == nil {
		raw.Fail("wasmstream: a row for a state that no function has among its States")
	}
	clear(s.scratch)
	return Row{base: unsafe.Pointer(unsafe.SliceData(s.scratch)), checks: allow(s, true)}
}

// sizeOf is the size of a row that was written, in canonical form.
func (s *schema) sizeOf(r Row) int {
	size := s.fixedBytes
	if !s.variable {
		return size
	}
	for i, c := range s.columns {
		if v := s.field(r, i); c.variable && v&inlineMark == 0 {
			size += pad8(int(uint32(v)))
		}
	}
	return size
}

func (s *schema) field(r Row, i int) uint64 {
	return *(*uint64)(unsafe.Add(r.base, s.firstField+8*i))
}

// copyTo writes a row of that size in canonical form: longer values behind the fixed part in column order and without
// gaps. Rows are compared by their bytes, so a value must have one form however it came about.
func (s *schema) copyTo(to unsafe.Pointer, size int, r Row) {
	out := unsafe.Slice((*byte)(to), size)
	end := copy(out, unsafe.Slice((*byte)(r.base), s.fixedBytes))
	if !s.variable {
		return
	}
	for i, c := range s.columns {
		v := s.field(r, i)
		if !c.variable || v&inlineMark != 0 || uint32(v) == 0 {
			continue
		}
		p, n := viewOf(r, v, nil)
		le.PutUint64(out[s.firstField+8*i:], uint64(end)<<32|uint64(n))
		next := end + pad8(n)
		copy(out[end:], unsafe.Slice((*byte)(p), n))
		clear(out[end+n : next])
		end = next
	}
}

// appendRow appends a row in canonical form.
func (s *schema) appendRow(out []byte, r Row) []byte {
	at, size := len(out), s.sizeOf(r)
	if need := at + size; need > cap(out) {
		out = append(make([]byte, 0, 2*need), out...)
	}
	out = out[:at+size]
	if size > 0 {
		s.copyTo(unsafe.Pointer(&out[at]), size, r)
	}
	return out
}

func pad8(n int) int { return (n + 7) &^ 7 }

// Open schemas come as text: a line for each column, TYPE, a tab, name.

// Any is the input of a function that takes whatever the stream has: Open finds the columns by name.
var Any = Columns{{any: true}}

// Schema is the schema of an input that is Any.
type Schema struct{ of *schema }

// Fields are the columns of rows whose schema is known when the function is opened.
func (s Schema) Fields() []Field {
	if s.of == nil {
		return nil
	}
	fields := make([]Field, len(s.of.columns))
	for i := range fields {
		fields[i] = s.of.fieldAt(i)
	}
	return fields
}

// Find returns the column of that name; it fails, and the job with it, if there is none.
func (s Schema) Find(name string) Field {
	for _, f := range s.Fields() {
		if f.Name == name {
			return f
		}
	}
	raw.Fail("the input has no column " + name)
	return Field{}
}

func (s *schema) fieldAt(i int) Field {
	c := s.columns[i]
	return Field{Name: c.name, Type: c.sqlType, position: i, offset: s.firstField + 8*i, of: s}
}

// bindAny takes the columns in from an opening, and moves to what is behind.
func (s *schema) bindAny(o *Op, at *uint32) Schema {
	if !s.any {
		return Schema{}
	}
	n := *(*uint32)(unsafe.Add(o.base, *at))
	text := string(unsafe.Slice((*byte)(unsafe.Add(o.base, *at+4)), n))
	*at += uint32(pad8(int(4 + n)))
	s.setColumns(parseColumns(text))
	return Schema{s}
}

// parseColumns reads a schema's text. The host wrote it.
func parseColumns(text string) (columns Columns) {
	begin, tab := 0, 0
	for i := range len(text) {
		switch text[i] {
		case '\t':
			tab = i
		case '\n':
			columns = append(columns, columnOf(len(columns), text[tab+1:i], text[begin:tab]))
			begin = i + 1
		}
	}
	return columns
}

// columnOf is a column of a type in SQL's words. DECIMAL above 18 and TIMESTAMP above 3 are of variable width.
func columnOf(position int, name, sqlType string) Column {
	return Column{position: position, name: name, sqlType: sqlType, variable: isVariable(sqlType)}
}
