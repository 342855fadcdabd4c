package wasmstream

import (
	"encoding/binary"
	"unsafe"
)

// Row is a view of a row in Flink's BinaryRow layout; columns read and write its fields. It is good until the function
// that got it returns.
type Row struct {
	base unsafe.Pointer
	// buffer is the row's own memory where that may grow: writable rows of variable width.
	buffer []byte
	// schema and writable serve the native checks only.
	schema   *schema
	writable bool
}

// schema is columns bound to the offsets of their fields.
type schema struct {
	what    string
	columns []*column
	// nullBytes is the size of the header and null bits, fixedBytes with the 8 bytes of each field.
	nullBytes, fixedBytes int
	variable              bool
}

// bind gives each column its place. what names the schema in messages.
func bind(what string, columns Columns) *schema {
	s := &schema{what: what, nullBytes: (len(columns) + 71) / 64 * 8}
	s.fixedBytes = s.nullBytes + 8*len(columns)
	names := map[string]bool{}
	for i, named := range columns {
		c := named.bound()
		if c.schema != nil {
			panic("wasmstream: column " + c.name + " is in the " + c.schema.what + " already; declare another for the " + what)
		}
		if names[c.name] {
			panic("wasmstream: two columns " + c.name + " in the " + what)
		}
		names[c.name] = true
		c.schema = s
		c.offset = uintptr(s.nullBytes + 8*i)
		c.nullByte, c.nullMask = uintptr((i+8)/8), 1<<((i+8)%8)
		s.columns = append(s.columns, c)
		s.variable = s.variable || c.variable
	}
	return s
}

// load makes the row a copy of bytes, in its own buffer; no bytes make a row of zeros.
func (r *Row) load(s *schema, bytes []byte) {
	r.buffer = append(r.buffer[:0], bytes...)
	if len(bytes) == 0 {
		r.buffer = append(r.buffer, make([]byte, s.fixedBytes)...)
	}
	r.base = unsafe.Pointer(unsafe.SliceData(r.buffer))
}

// appendTo appends the row in canonical form, values behind the fixed part in column order and without gaps: rows are
// compared by their bytes, so a value must have one form however it came about.
func (r *Row) appendTo(out []byte) []byte {
	start := len(out)
	fixed := r.schemaBytes()
	out = append(out, r.buffer[:fixed]...)
	for _, c := range r.schema.columns {
		field := int(c.offset)
		v := binary.LittleEndian.Uint64(r.buffer[field:])
		if !c.variable || v&inlineMark != 0 || uint32(v) == 0 {
			continue
		}
		from, size := int(v>>32), align(int(uint32(v)))
		binary.LittleEndian.PutUint64(out[start+field:], uint64(len(out)-start)<<32|uint64(uint32(v)))
		out = append(out, r.buffer[from:from+size]...)
	}
	return out
}

func (r *Row) schemaBytes() int { return r.schema.fixedBytes }
