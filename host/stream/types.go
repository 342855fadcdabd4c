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

// String writes the type as Flink SQL does; ParseType reads it back.
func (t Type) String() string {
	switch t.Kind {
	case Decimal:
		return fmt.Sprintf("DECIMAL(%d, %d)", t.Precision, t.Scale)
	case Timestamp, TimestampLTZ:
		return fmt.Sprintf("%s(%d)", t.Kind, t.Precision)
	case Array:
		return "ARRAY<" + nameOf(t.Elem) + ">"
	case Map:
		return "MAP<" + nameOf(t.Key) + ", " + nameOf(t.Elem) + ">"
	case RowType:
		fields := make([]string, len(t.Fields))
		for i, f := range t.Fields {
			fields[i] = "`" + strings.ReplaceAll(f.Name, "`", "``") + "` " + f.Type.String()
		}
		return "ROW<" + strings.Join(fields, ", ") + ">"
	}
	return t.Kind.String()
}

func nameOf(t *Type) string {
	if t == nil {
		return "?" // a type that NewSchema refuses; its error shows it
	}
	return t.String()
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

// The room in the variable part that a wide value keeps whatever its length,
// in bytes.
const (
	decimalRoom   = 16
	timestampRoom = 8
)

// reserves is the room that a NULL of the type keeps in a row's variable part.
func (t *Type) reserves() int {
	switch {
	case t.Kind == Decimal && t.Precision > DecimalCompactPrecisionMax:
		return decimalRoom
	case (t.Kind == Timestamp || t.Kind == TimestampLTZ) && t.Precision > TimestampCompactMax:
		return timestampRoom
	}
	return 0
}

// elementBytes is the width of the type's slot in an ARRAY.
func (t *Type) elementBytes() int {
	switch t.Kind {
	case Boolean:
		return 1
	case Int, Float, Date:
		return 4
	}
	return 8
}

// validate refuses types that ParseType cannot give: the rest of the package
// relies on their parts being there and their parameters being within limits.
func (t *Type) validate(depth int) error {
	if depth > TypeDepthMax {
		return fmt.Errorf("it is nested more than %d deep", TypeDepthMax)
	}
	switch t.Kind {
	case Decimal:
		if t.Precision < 1 || t.Precision > DecimalPrecisionMax || t.Scale < 0 || t.Scale > t.Precision {
			return fmt.Errorf("there is no %s", t)
		}
	case Timestamp, TimestampLTZ:
		if t.Precision < 0 || t.Precision > TimestampPrecisionMax {
			return fmt.Errorf("there is no %s", t)
		}
	case Array:
		return validateInner(t.Elem, depth)
	case Map:
		if err := validateInner(t.Key, depth); err != nil {
			return err
		}
		return validateInner(t.Elem, depth)
	case RowType:
		return validateFields(t.Fields, depth)
	default:
		if t.Kind == 0 || int(t.Kind) >= len(kindNames) {
			return fmt.Errorf("there is no %s", t.Kind)
		}
	}
	return nil
}

func validateInner(t *Type, depth int) error {
	if t == nil {
		return fmt.Errorf("the type of an element is missing")
	}
	return t.validate(depth + 1)
}

func validateFields(fields []Field, depth int) error {
	seen := make(map[string]bool, len(fields))
	for i := range fields {
		f := &fields[i]
		if f.Name == "" {
			return fmt.Errorf("field %d has no name", i+1)
		}
		if seen[f.Name] {
			return fmt.Errorf("field %q is there twice", f.Name)
		}
		seen[f.Name] = true
		if err := f.Type.validate(depth + 1); err != nil {
			return fmt.Errorf("field %q: %w", f.Name, err)
		}
	}
	return nil
}
