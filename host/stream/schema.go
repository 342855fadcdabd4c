package stream

import (
	"fmt"
	"strings"
)

// Schema names the columns of a stream, in order. It is never changed after it
// was made.
type Schema struct {
	fields  []Field
	columns []Column
}

// NewSchema makes a schema; names must differ and may not be empty, and types
// must be such as ParseType gives. The columns of a nested ROW are those of the
// schema of its fields.
func NewSchema(fields ...Field) (*Schema, error) {
	s := &Schema{fields: fields, columns: make([]Column, len(fields))}
	seen := make(map[string]bool, len(fields))
	nulls := nullBytes(len(fields))
	for i, f := range fields {
		if f.Name == "" {
			return nil, fmt.Errorf("column %d has no name", i+1)
		}
		if seen[f.Name] {
			return nil, fmt.Errorf("column %q is there twice", f.Name)
		}
		seen[f.Name] = true
		if err := f.Type.validate(0); err != nil {
			return nil, fmt.Errorf("column %q: %w", f.Name, err)
		}
		s.columns[i] = Column{
			Name: f.Name, Type: f.Type, Index: i, offset: nulls + 8*i,
			nullByte: (i + 8) / 8, nullMask: 1 << ((i + 8) % 8), reserve: uint8(f.Type.reserves()),
		}
	}
	return s, nil
}

// MustSchema is NewSchema for schemas known to be sound; it panics otherwise.
func MustSchema(fields ...Field) *Schema {
	s, err := NewSchema(fields...)
	if err != nil {
		panic(err) // a mistake in the program, not in its input
	}
	return s
}

// Len is the number of columns.
func (s *Schema) Len() int { return len(s.fields) }

// Fields are the columns' names and types; the caller must not change them.
func (s *Schema) Fields() []Field { return s.fields }

// Column gives access to column i of a row.
func (s *Schema) Column(i int) Column { return s.columns[i] }

// Index is the position of a column, -1 if there is none of that name.
func (s *Schema) Index(name string) int {
	for i := range s.fields {
		if s.fields[i].Name == name {
			return i
		}
	}
	return -1
}

// Names lists the columns' names.
func (s *Schema) Names() []string {
	names := make([]string, len(s.fields))
	for i := range s.fields {
		names[i] = s.fields[i].Name
	}
	return names
}

// Project is the schema of the given columns, in that order.
func (s *Schema) Project(columns []int) *Schema {
	fields := make([]Field, len(columns))
	for i, c := range columns {
		fields[i] = s.fields[c]
	}
	return MustSchema(fields...)
}

// Equal tells whether names, types and order are the same.
func (s *Schema) Equal(t *Schema) bool {
	return Type{Kind: RowType, Fields: s.fields}.Equal(Type{Kind: RowType, Fields: t.fields})
}

// String writes the schema as a list of names with types.
func (s *Schema) String() string {
	parts := make([]string, len(s.fields))
	for i, f := range s.fields {
		parts[i] = f.Name + " " + f.Type.String()
	}
	return "(" + strings.Join(parts, ", ") + ")"
}

// FixedBytes is the length of a row's null bits and slots: the whole row when
// no column has a variable part.
func (s *Schema) FixedBytes() int { return nullBytes(len(s.fields)) + 8*len(s.fields) }

// IsFixedWidth tells whether every row of the schema has exactly FixedBytes.
func (s *Schema) IsFixedWidth() bool {
	for _, f := range s.fields {
		if !f.Type.IsFixedWidth() {
			return false
		}
	}
	return true
}

// nullBytes is the length of the header and the null bits of n columns.
func nullBytes(n int) int { return (n + 71) / 64 * 8 }
