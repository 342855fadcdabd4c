package stream

import (
	"fmt"
	"math/big"
	"strings"

	"pgregory.net/rapid"
)

// genType draws types of at most the given nesting.
func genType(depth int) *rapid.Generator[Type] {
	return rapid.Custom(func(t *rapid.T) Type {
		kinds := RowType
		if depth == 0 {
			kinds = TimestampLTZ
		}
		ty := Type{Kind: rapid.Custom(func(t *rapid.T) TypeKind {
			return TypeKind(rapid.IntRange(int(Boolean), int(kinds)).Draw(t, "kind"))
		}).Draw(t, "kind")}
		switch ty.Kind {
		case Decimal:
			ty.Precision = rapid.IntRange(1, DecimalPrecisionMax).Draw(t, "precision")
			ty.Scale = rapid.IntRange(0, ty.Precision).Draw(t, "scale")
		case Timestamp, TimestampLTZ:
			ty.Precision = rapid.IntRange(0, TimestampPrecisionMax).Draw(t, "precision")
		case Map:
			key := genType(0).Draw(t, "key")
			ty.Key = &key
			fallthrough
		case Array:
			elem := genType(depth-1).Draw(t, "element")
			ty.Elem = &elem
		case RowType:
			ty.Fields = genFields(depth-1, 4).Draw(t, "fields")
		}
		return ty
	})
}

// genFields draws fields under names that also need quotes.
func genFields(depth, most int) *rapid.Generator[[]Field] {
	return rapid.Custom(func(t *rapid.T) []Field {
		n := rapid.IntRange(0, most).Draw(t, "arity")
		var fields []Field
		for i := range n {
			name := rapid.StringMatching("[a-z`, <日]{0,3}").Draw(t, "name")
			fields = append(fields, Field{fmt.Sprintf("%s%d", name, i), genType(depth).Draw(t, "type")})
		}
		return fields
	})
}

func genSchema() *rapid.Generator[*Schema] {
	return rapid.Custom(func(t *rapid.T) *Schema {
		if rapid.IntRange(0, 9).Draw(t, "wide") == 0 {
			return MustSchema(genFields(0, 130).Draw(t, "fields")...)
		}
		return MustSchema(genFields(2, 8).Draw(t, "fields")...)
	})
}

// genValue draws values of a type, NULL among them.
func genValue(ty Type) *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any {
		if rapid.IntRange(0, 5).Draw(t, "null") == 0 {
			return nil
		}
		switch ty.Kind {
		case Boolean:
			return rapid.Bool().Draw(t, "v")
		case Int, Date:
			return rapid.Int32().Draw(t, "v")
		case BigInt:
			return rapid.Int64().Draw(t, "v")
		case Float:
			return rapid.Float32().Draw(t, "v")
		case Double:
			return rapid.Float64().Draw(t, "v")
		case Decimal:
			return genDecimal(ty.Precision).Draw(t, "v")
		case String:
			return strings.ToValidUTF8(rapid.StringN(0, 12, 30).Draw(t, "v"), "")
		case Bytes:
			return rapid.SliceOfN(rapid.Byte(), 0, 20).Draw(t, "v")
		case Timestamp, TimestampLTZ:
			v := stamp{ms: rapid.Int64().Draw(t, "ms")}
			if ty.Precision > TimestampCompactMax {
				v.nanos = rapid.Int32Range(0, 999_999).Draw(t, "nanos")
			}
			return v
		case Array:
			n := rapid.IntRange(0, 40).Draw(t, "length")
			return drawValues(t, ty.Elem, n/(1+n%3))
		case Map:
			n := rapid.IntRange(0, 4).Draw(t, "length")
			keys, values := drawValues(t, ty.Key, n), drawValues(t, ty.Elem, n)
			entries := make([][2]any, n)
			for i := range entries {
				entries[i] = [2]any{keys[i], values[i]}
			}
			return entries
		}
		return drawRow(t, ty.Fields)
	})
}

// drawValues and drawRow are no generators: rapid has none that draws nothing.
func drawValues(t *rapid.T, elem *Type, n int) []any {
	values := make([]any, n)
	for i := range values {
		values[i] = genValue(*elem).Draw(t, "element")
	}
	return values
}

func drawRow(t *rapid.T, fields []Field) []any {
	values := make([]any, len(fields))
	for i := range values {
		values[i] = genValue(fields[i].Type).Draw(t, "value")
	}
	return values
}

func genDecimal(precision int) *rapid.Generator[*big.Int] {
	return rapid.Custom(func(t *rapid.T) *big.Int {
		digits := rapid.StringMatching(fmt.Sprintf("-?[0-9]{1,%d}", precision)).Draw(t, "digits")
		v, _ := new(big.Int).SetString(digits, 10)
		return v
	})
}

func genKind() *rapid.Generator[ChangeKind] {
	return rapid.Map(rapid.IntRange(0, 3), func(k int) ChangeKind { return ChangeKind(k) })
}
