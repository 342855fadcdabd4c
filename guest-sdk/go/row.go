package wasmstream

import "unsafe"

// Row is a view of a row in Flink's BinaryRow layout; columns read and write its fields. It is good until the function
// that got it returns.
type Row struct {
	// checks is nothing in Wasm. It comes first, since Go pads an empty last field.
	checks
	base unsafe.Pointer
}

// schema is the columns of a row.
type schema struct {
	what       string
	columns    Columns
	fixedBytes int
	variable   bool
}

// newSchema checks that each column is where its position says, and panics as prepare does. what names the schema in
// messages.
func newSchema(what string, columns Columns) *schema {
	if len(columns) > columnsMax {
		panic("wasmstream: the " + what + " has more than 56 columns")
	}
	s := &schema{what: what, columns: columns, fixedBytes: firstField + 8*len(columns)}
	names := map[string]bool{}
	for i, c := range columns {
		if c.position != i {
			panic("wasmstream: column " + c.name + " is declared for another position than the one that it has in the " + what)
		}
		if names[c.name] {
			panic("wasmstream: two columns " + c.name + " in the " + what)
		}
		names[c.name] = true
		s.variable = s.variable || c.variable
	}
	return s
}
