//go:build !wasip1

package wasmstream

// checks are what a native row knows about itself, to find a column used on the wrong row: in Wasm that would silently
// read or write something else.
type checks struct {
	schema   *schema
	writable bool
}

func allow(s *schema, writable bool) checks { return checks{s, writable} }

// check panics at a mistake in the function under test: the test ends where the mistake is.
func (r Row) check(c uint8, sqlType string, write bool) {
	switch {
	case r.schema == nil:
		panic("wasmstream: this row came from no function")
	case int(c) >= len(r.schema.columns):
		panic("wasmstream: the " + r.schema.what + " has no column at that position")
	case r.schema.columns[c].sqlType != sqlType:
		panic("wasmstream: column " + r.schema.columns[c].name + " of the " + r.schema.what + " is of type " +
			r.schema.columns[c].sqlType + ", not " + sqlType)
	case write && !r.writable:
		panic("wasmstream: the " + r.schema.what + " cannot be written here")
	}
}
