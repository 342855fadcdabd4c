package wasmstream

import (
	"unsafe"

	"github.com/wasmstream/wasmstream/guest-sdk/go/internal/raw"
)

// Column is a named, typed field of one schema. A column belongs to the one schema that it is first used in.
type Column interface{ bound() *column }

// Columns is a schema: the columns of a row, in order.
type Columns []Column

// column is where a field is in its row. The offsets come first: they are what every access loads.
type column struct {
	offset   uintptr
	nullByte uintptr
	nullMask byte
	variable bool
	name     string
	sqlType  string
	schema   *schema
}

func (c *column) bound() *column { return c }

// Name returns the field's name.
func (c *column) Name() string { return c.name }

// IsNull tells whether the field is null.
func (c *column) IsNull(r *Row) bool {
	if raw.Checked {
		c.check(r, false)
	}
	return *(*byte)(unsafe.Add(r.base, c.nullByte))&c.nullMask != 0
}

// SetNull makes the field null.
func (c *column) SetNull(r *Row) {
	if raw.Checked {
		c.check(r, true)
	}
	*(*byte)(unsafe.Add(r.base, c.nullByte)) |= c.nullMask
	*(*uint64)(unsafe.Add(r.base, c.offset)) = 0
}

// put writes the field's 8 bytes: all of them, since rows are compared by their bytes.
func (c *column) put(r *Row, v uint64) {
	if raw.Checked {
		c.check(r, true)
	}
	*(*byte)(unsafe.Add(r.base, c.nullByte)) &^= c.nullMask
	*(*uint64)(unsafe.Add(r.base, c.offset)) = v
}

// at is where the field is.
func (c *column) at(r *Row) unsafe.Pointer {
	if raw.Checked {
		c.check(r, false)
	}
	return unsafe.Add(r.base, c.offset)
}

// check finds a column used on a row of another schema, which in Wasm would read and write what is not its own.
func (c *column) check(r *Row, write bool) {
	switch {
	case c.schema == nil:
		panic("wasmstream: column " + c.name + " is in no registered function")
	case r.schema != c.schema:
		panic("wasmstream: column " + c.name + " belongs to the " + c.schema.what + ", not to the " + r.schema.what)
	case write && !r.writable:
		panic("wasmstream: column " + c.name + ": the " + c.schema.what + " cannot be written here")
	}
}

// BooleanColumn is a BOOLEAN.
type BooleanColumn struct{ column }

// Boolean declares a BOOLEAN.
func Boolean(name string) *BooleanColumn {
	return &BooleanColumn{column{name: name, sqlType: "BOOLEAN"}}
}

// Get returns the field, false if null.
func (c *BooleanColumn) Get(r *Row) bool { return *(*byte)(c.at(r)) != 0 }

// Set sets the field.
func (c *BooleanColumn) Set(r *Row, v bool) {
	n := uint64(0)
	if v {
		n = 1
	}
	c.put(r, n)
}

// IntColumn is an INT.
type IntColumn struct{ column }

// Int declares an INT.
func Int(name string) *IntColumn { return &IntColumn{column{name: name, sqlType: "INT"}} }

// Get returns the field, 0 if null.
func (c *IntColumn) Get(r *Row) int32 { return *(*int32)(c.at(r)) }

// Set sets the field.
func (c *IntColumn) Set(r *Row, v int32) { c.put(r, uint64(uint32(v))) }

// BigIntColumn is a BIGINT.
type BigIntColumn struct{ column }

// BigInt declares a BIGINT.
func BigInt(name string) *BigIntColumn { return &BigIntColumn{column{name: name, sqlType: "BIGINT"}} }

// Get returns the field, 0 if null.
func (c *BigIntColumn) Get(r *Row) int64 { return *(*int64)(c.at(r)) }

// Set sets the field.
func (c *BigIntColumn) Set(r *Row, v int64) { c.put(r, uint64(v)) }

// FloatColumn is a FLOAT.
type FloatColumn struct{ column }

// Float declares a FLOAT.
func Float(name string) *FloatColumn { return &FloatColumn{column{name: name, sqlType: "FLOAT"}} }

// Get returns the field, 0 if null.
func (c *FloatColumn) Get(r *Row) float32 { return *(*float32)(c.at(r)) }

// Set sets the field.
func (c *FloatColumn) Set(r *Row, v float32) { c.put(r, uint64(*(*uint32)(unsafe.Pointer(&v)))) }

// DoubleColumn is a DOUBLE.
type DoubleColumn struct{ column }

// Double declares a DOUBLE.
func Double(name string) *DoubleColumn { return &DoubleColumn{column{name: name, sqlType: "DOUBLE"}} }

// Get returns the field, 0 if null.
func (c *DoubleColumn) Get(r *Row) float64 { return *(*float64)(c.at(r)) }

// Set sets the field.
func (c *DoubleColumn) Set(r *Row, v float64) { c.put(r, *(*uint64)(unsafe.Pointer(&v))) }

// TimestampColumn is a TIMESTAMP(3), in milliseconds since 1970.
type TimestampColumn struct{ column }

// Timestamp declares a TIMESTAMP(3).
func Timestamp(name string) *TimestampColumn {
	return &TimestampColumn{column{name: name, sqlType: "TIMESTAMP(3)"}}
}

// Get returns the milliseconds since 1970, 0 if null.
func (c *TimestampColumn) Get(r *Row) int64 { return *(*int64)(c.at(r)) }

// Set sets the milliseconds since 1970.
func (c *TimestampColumn) Set(r *Row, v int64) { c.put(r, uint64(v)) }

// DateColumn is a DATE, in days since 1970.
type DateColumn struct{ column }

// Date declares a DATE.
func Date(name string) *DateColumn { return &DateColumn{column{name: name, sqlType: "DATE"}} }

// Get returns the days since 1970, 0 if null.
func (c *DateColumn) Get(r *Row) int32 { return *(*int32)(c.at(r)) }

// Set sets the days since 1970.
func (c *DateColumn) Set(r *Row, v int32) { c.put(r, uint64(uint32(v))) }
