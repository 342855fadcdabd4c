package stream

import (
	"fmt"
	"strings"
)

// TypeKind is the root of a column's type.
type TypeKind uint8

// The kinds of types, named as in Flink SQL.
const (
	Boolean TypeKind = iota + 1
	Int
	BigInt
	Float
	Double
	Decimal
	String
	Bytes
	Date
	Timestamp
	TimestampLTZ
	Array
	Map
	RowType
)

var kindNames = [...]string{
	Boolean: "BOOLEAN", Int: "INT", BigInt: "BIGINT", Float: "FLOAT", Double: "DOUBLE",
	Decimal: "DECIMAL", String: "STRING", Bytes: "BYTES", Date: "DATE",
	Timestamp: "TIMESTAMP", TimestampLTZ: "TIMESTAMP_LTZ", Array: "ARRAY", Map: "MAP", RowType: "ROW",
}

// String is the kind's Flink SQL name.
func (k TypeKind) String() string {
	if int(k) < len(kindNames) && kindNames[k] != "" {
		return kindNames[k]
	}
	return fmt.Sprintf("TypeKind(%d)", uint8(k))
}

// TypeNames lists the names that ParseType knows, for error messages.
func TypeNames() []string {
	names := make([]string, 0, len(kindNames))
	for _, n := range kindNames {
		if n != "" {
			names = append(names, n)
		}
	}
	return names
}

// Limits of the parameters of types, as in Flink SQL.
const (
	DecimalPrecisionMax        = 38
	DecimalCompactPrecisionMax = 18 // up to here the unscaled value is a long in the slot
	TimestampPrecisionMax      = 9
	TimestampCompactMax        = 3  // up to here a timestamp is its milliseconds in the slot
	TypeDepthMax               = 16 // nesting of ARRAY, MAP and ROW
)

// Type is the type of a column. The zero value is no type.
type Type struct {
	Kind      TypeKind
	Precision int     // Decimal, Timestamp, TimestampLTZ
	Scale     int     // Decimal
	Key       *Type   // Map
	Elem      *Type   // Array: elements; Map: values
	Fields    []Field // RowType
}

// Field is a named column.
type Field struct {
	Name string
	Type Type
}

// String writes the type as Flink SQL does.
func (t Type) String() string {
	switch t.Kind {
	case Decimal:
		return fmt.Sprintf("DECIMAL(%d, %d)", t.Precision, t.Scale)
	case Timestamp, TimestampLTZ:
		return fmt.Sprintf("%s(%d)", t.Kind, t.Precision)
	case Array:
		return "ARRAY<" + t.Elem.String() + ">"
	case Map:
		return "MAP<" + t.Key.String() + ", " + t.Elem.String() + ">"
	case RowType:
		fields := make([]string, len(t.Fields))
		for i, f := range t.Fields {
			fields[i] = "`" + f.Name + "` " + f.Type.String()
		}
		return "ROW<" + strings.Join(fields, ", ") + ">"
	}
	return t.Kind.String()
}

// Equal tells whether two types are the same, nested names included.
func (t Type) Equal(u Type) bool {
	if t.Kind != u.Kind || t.Precision != u.Precision || t.Scale != u.Scale || len(t.Fields) != len(u.Fields) {
		return false
	}
	for i := range t.Fields {
		if t.Fields[i].Name != u.Fields[i].Name || !t.Fields[i].Type.Equal(u.Fields[i].Type) {
			return false
		}
	}
	return equalPointer(t.Key, u.Key) && equalPointer(t.Elem, u.Elem)
}

func equalPointer(a, b *Type) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Equal(*b)
}

// IsFixedWidth tells whether a value of the type lives in the row's 8-byte slot
// alone, whatever the value.
func (t Type) IsFixedWidth() bool {
	switch t.Kind {
	case Boolean, Int, BigInt, Float, Double, Date:
		return true
	case Decimal:
		return t.Precision <= DecimalCompactPrecisionMax
	case Timestamp, TimestampLTZ:
		return t.Precision <= TimestampCompactMax
	}
	return false
}
