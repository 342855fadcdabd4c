package wasmstream

import (
	"math"
	"unsafe"

	"github.com/wasmstream/wasmstream/guest-sdk/go/internal/raw"
)

// A column is its position in its row, and a constant: the compiler then knows where the field is, and an access is one
// load or store. (Columns as variables that are bound to a schema cost half as much again per record.)

// columnsMax is how many columns a schema may have: with more the fields' places would not be known from the position.
const columnsMax = 56

// firstField is where the fields begin: behind the header and the null bits of up to 56 columns.
const firstField = 8

// Column is a column's name and type in a schema.
type Column struct {
	position int
	name     string
	sqlType  string
	variable bool
	any      bool
}

// Columns is a schema: the columns of a row, in order of their positions.
type Columns []Column

const (
	typeBoolean   = "BOOLEAN"
	typeInt       = "INT"
	typeBigInt    = "BIGINT"
	typeFloat     = "FLOAT"
	typeDouble    = "DOUBLE"
	typeTimestamp = "TIMESTAMP(3)"
	typeDate      = "DATE"
	typeString    = "STRING"
	typeBytes     = "BYTES"
)

// Boolean is a column of type BOOLEAN: its position in the row.
type Boolean uint8

// As names the column in a schema.
func (c Boolean) As(name string) Column {
	return Column{position: int(c), name: name, sqlType: typeBoolean}
}

// IsNull tells whether the field is null.
func (c Boolean) IsNull(r Row) bool { return isNull(r, uint8(c), typeBoolean) }

// SetNull makes the field null.
func (c Boolean) SetNull(r Row) { setNull(r, uint8(c), typeBoolean) }

// Get returns the field, false if null.
func (c Boolean) Get(r Row) bool { return *(*byte)(at(r, uint8(c), typeBoolean)) != 0 }

// Set sets the field.
func (c Boolean) Set(r Row, v bool) {
	put(r, uint8(c), typeBoolean, uint64(*(*byte)(unsafe.Pointer(&v))))
}

// Int is a column of type INT: its position in the row.
type Int uint8

// As names the column in a schema.
func (c Int) As(name string) Column {
	return Column{position: int(c), name: name, sqlType: typeInt}
}

// IsNull tells whether the field is null.
func (c Int) IsNull(r Row) bool { return isNull(r, uint8(c), typeInt) }

// SetNull makes the field null.
func (c Int) SetNull(r Row) { setNull(r, uint8(c), typeInt) }

// Get returns the field, 0 if null.
func (c Int) Get(r Row) int32 { return *(*int32)(at(r, uint8(c), typeInt)) }

// Set sets the field.
func (c Int) Set(r Row, v int32) { put(r, uint8(c), typeInt, uint64(uint32(v))) }

// BigInt is a column of type BIGINT: its position in the row.
type BigInt uint8

// As names the column in a schema.
func (c BigInt) As(name string) Column {
	return Column{position: int(c), name: name, sqlType: typeBigInt}
}

// IsNull tells whether the field is null.
func (c BigInt) IsNull(r Row) bool { return isNull(r, uint8(c), typeBigInt) }

// SetNull makes the field null.
func (c BigInt) SetNull(r Row) { setNull(r, uint8(c), typeBigInt) }

// Get returns the field, 0 if null.
func (c BigInt) Get(r Row) int64 { return *(*int64)(at(r, uint8(c), typeBigInt)) }

// Set sets the field.
func (c BigInt) Set(r Row, v int64) { put(r, uint8(c), typeBigInt, uint64(v)) }

// Float is a column of type FLOAT: its position in the row.
type Float uint8

// As names the column in a schema.
func (c Float) As(name string) Column {
	return Column{position: int(c), name: name, sqlType: typeFloat}
}

// IsNull tells whether the field is null.
func (c Float) IsNull(r Row) bool { return isNull(r, uint8(c), typeFloat) }

// SetNull makes the field null.
func (c Float) SetNull(r Row) { setNull(r, uint8(c), typeFloat) }

// Get returns the field, 0 if null.
func (c Float) Get(r Row) float32 { return *(*float32)(at(r, uint8(c), typeFloat)) }

// Set sets the field.
func (c Float) Set(r Row, v float32) { put(r, uint8(c), typeFloat, uint64(math.Float32bits(v))) }

// Double is a column of type DOUBLE: its position in the row.
type Double uint8

// As names the column in a schema.
func (c Double) As(name string) Column {
	return Column{position: int(c), name: name, sqlType: typeDouble}
}

// IsNull tells whether the field is null.
func (c Double) IsNull(r Row) bool { return isNull(r, uint8(c), typeDouble) }

// SetNull makes the field null.
func (c Double) SetNull(r Row) { setNull(r, uint8(c), typeDouble) }

// Get returns the field, 0 if null.
func (c Double) Get(r Row) float64 { return *(*float64)(at(r, uint8(c), typeDouble)) }

// Set sets the field.
func (c Double) Set(r Row, v float64) { put(r, uint8(c), typeDouble, math.Float64bits(v)) }

// Timestamp is a column of type TIMESTAMP(3), in milliseconds since 1970: its position in the row.
type Timestamp uint8

// As names the column in a schema.
func (c Timestamp) As(name string) Column {
	return Column{position: int(c), name: name, sqlType: typeTimestamp}
}

// IsNull tells whether the field is null.
func (c Timestamp) IsNull(r Row) bool { return isNull(r, uint8(c), typeTimestamp) }

// SetNull makes the field null.
func (c Timestamp) SetNull(r Row) { setNull(r, uint8(c), typeTimestamp) }

// Get returns the milliseconds since 1970, 0 if null.
func (c Timestamp) Get(r Row) int64 { return *(*int64)(at(r, uint8(c), typeTimestamp)) }

// Set sets the milliseconds since 1970.
func (c Timestamp) Set(r Row, v int64) { put(r, uint8(c), typeTimestamp, uint64(v)) }

// Date is a column of type DATE, in days since 1970: its position in the row.
type Date uint8

// As names the column in a schema.
func (c Date) As(name string) Column {
	return Column{position: int(c), name: name, sqlType: typeDate}
}

// IsNull tells whether the field is null.
func (c Date) IsNull(r Row) bool { return isNull(r, uint8(c), typeDate) }

// SetNull makes the field null.
func (c Date) SetNull(r Row) { setNull(r, uint8(c), typeDate) }

// Get returns the days since 1970, 0 if null.
func (c Date) Get(r Row) int32 { return *(*int32)(at(r, uint8(c), typeDate)) }

// Set sets the days since 1970.
func (c Date) Set(r Row, v int32) { put(r, uint8(c), typeDate, uint64(uint32(v))) }

// String is a column of type STRING, in UTF-8: its position in the row.
type String uint8

// As names the column in a schema.
func (c String) As(name string) Column {
	return Column{position: int(c), name: name, sqlType: typeString, variable: true}
}

// IsNull tells whether the field is null.
func (c String) IsNull(r Row) bool { return isNull(r, uint8(c), typeString) }

// SetNull makes the field null.
func (c String) SetNull(r Row) {
	replaceText(r, at(r, uint8(c), typeString))
	setNull(r, uint8(c), typeString)
}

// Get returns the field, "" if null. It is a view, good until the function returns: strings.Clone keeps it.
func (c String) Get(r Row) string {
	p, n := view(r, uint8(c), typeString)
	return unsafe.String((*byte)(p), n)
}

// Set sets the field.
func (c String) Set(r Row, v string) {
	putBytes(r, uint8(c), typeString, unsafe.Slice(unsafe.StringData(v), len(v)))
}

// Copy sets the field to a column of another row: null if that is.
func (c String) Copy(r Row, of String, from Row) {
	if raw.Checked {
		from.check(uint8(of), typeString, false)
		r.check(uint8(c), typeString, true)
	}
	copyText(r, from, int(c)|int(of)<<8)
}

// Bytes is a column of type BYTES: its position in the row.
type Bytes uint8

// As names the column in a schema.
func (c Bytes) As(name string) Column {
	return Column{position: int(c), name: name, sqlType: typeBytes, variable: true}
}

// IsNull tells whether the field is null.
func (c Bytes) IsNull(r Row) bool { return isNull(r, uint8(c), typeBytes) }

// SetNull makes the field null.
func (c Bytes) SetNull(r Row) {
	replaceText(r, at(r, uint8(c), typeBytes))
	setNull(r, uint8(c), typeBytes)
}

// Get returns the field, empty if null. It is a view, good until the function returns, and not to be written to.
func (c Bytes) Get(r Row) []byte {
	p, n := view(r, uint8(c), typeBytes)
	return unsafe.Slice((*byte)(p), n)
}

// Set sets the field to a copy of v.
func (c Bytes) Set(r Row, v []byte) { putBytes(r, uint8(c), typeBytes, v) }

// Copy sets the field to a column of another row: null if that is.
func (c Bytes) Copy(r Row, of Bytes, from Row) {
	if raw.Checked {
		from.check(uint8(of), typeBytes, false)
		r.check(uint8(c), typeBytes, true)
	}
	copyText(r, from, int(c)|int(of)<<8)
}

// at is where the field is. The type is for the native check.
func at(r Row, c uint8, sqlType string) unsafe.Pointer {
	if raw.Checked {
		r.check(c, sqlType, false)
	}
	return unsafe.Add(r.base, firstField+8*uintptr(c))
}

// isNull reads the null bit: of field i it is bit i+8, byte 0 being the kind of change.
func isNull(r Row, c uint8, sqlType string) bool {
	if raw.Checked {
		r.check(c, sqlType, false)
	}
	return *(*byte)(unsafe.Add(r.base, uintptr(c/8+1)))&(1<<(c%8)) != 0
}

func setNull(r Row, c uint8, sqlType string) {
	if raw.Checked {
		r.check(c, sqlType, true)
	}
	writeNull(r, c)
}

func writeNull(r Row, c uint8) {
	*(*byte)(unsafe.Add(r.base, uintptr(c/8+1))) |= 1 << (c % 8)
	*(*uint64)(unsafe.Add(r.base, firstField+8*uintptr(c))) = 0
}

// put writes the field's 8 bytes: all of them, since rows are compared by their bytes.
func put(r Row, c uint8, sqlType string, v uint64) {
	if raw.Checked {
		r.check(c, sqlType, true)
	}
	write(r, c, v)
}

func write(r Row, c uint8, v uint64) {
	*(*byte)(unsafe.Add(r.base, uintptr(c/8+1))) &^= 1 << (c % 8)
	*(*uint64)(unsafe.Add(r.base, firstField+8*uintptr(c))) = v
}
