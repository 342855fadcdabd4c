package wasmstream

import (
	"unsafe"

	"github.com/wasmstream/wasmstream/guest-sdk/go/internal/raw"
)

// Values of variable width: up to 7 bytes are in the field's own 8 bytes (the last one is 0x80 | length), longer ones
// behind the fixed part, 8-aligned, and the field is offset << 32 | length.
const (
	inlineMax  = 7
	inlineMark = 1 << 63
)

// StringColumn is a STRING, in UTF-8.
type StringColumn struct{ column }

// String declares a STRING.
func String(name string) *StringColumn {
	return &StringColumn{column{name: name, sqlType: "STRING", variable: true}}
}

// Get returns the field, "" if null. It is a view, good until the function returns: strings.Clone keeps it.
func (c *StringColumn) Get(r *Row) string {
	p, n := c.view(r)
	return unsafe.String((*byte)(p), n)
}

// Set sets the field.
func (c *StringColumn) Set(r *Row, v string) {
	c.putBytes(r, unsafe.Slice(unsafe.StringData(v), len(v)))
}

// BytesColumn is BYTES.
type BytesColumn struct{ column }

// Bytes declares BYTES.
func Bytes(name string) *BytesColumn {
	return &BytesColumn{column{name: name, sqlType: "BYTES", variable: true}}
}

// Get returns the field, empty if null. It is a view, good until the function returns, and not to be written to.
func (c *BytesColumn) Get(r *Row) []byte {
	p, n := c.view(r)
	return unsafe.Slice((*byte)(p), n)
}

// Set sets the field to a copy of v.
func (c *BytesColumn) Set(r *Row, v []byte) { c.putBytes(r, v) }

// view finds the bytes of the field.
func (c *column) view(r *Row) (unsafe.Pointer, int) {
	p := c.at(r)
	v := *(*uint64)(p)
	if v&inlineMark != 0 {
		return p, int(v >> 56 & 0x7F)
	}
	return unsafe.Add(r.base, uintptr(v>>32)), int(uint32(v))
}

// putBytes sets a field of variable width. A longer value goes to the end of the row's buffer, also when the field had
// one before: what that leaves behind goes when the row is closed.
func (c *column) putBytes(r *Row, v []byte) {
	if raw.Checked {
		c.check(r, true)
	}
	if len(v) <= inlineMax {
		n := uint64(0x80|len(v)) << 56
		for i, b := range v {
			n |= uint64(b) << (8 * i)
		}
		c.put(r, n)
		return
	}
	offset := len(r.buffer)
	r.buffer = append(r.buffer, v...)
	r.buffer = append(r.buffer, make([]byte, align(len(v))-len(v))...)
	r.base = unsafe.Pointer(unsafe.SliceData(r.buffer))
	c.put(r, uint64(offset)<<32|uint64(len(v)))
}

func align(n int) int { return (n + 7) &^ 7 }
