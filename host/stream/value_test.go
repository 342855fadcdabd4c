package stream

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// The tests' own model of values, independent of the layout: nil, bool, int32
// (INT, DATE), int64, float32, float64, *big.Int (DECIMAL's unscaled value),
// string, []byte, stamp, []any (ARRAY, ROW) and [][2]any (MAP).
type stamp struct {
	ms    int64
	nanos int32
}

// setter is what RowWriter and ArrayWriter have in common.
type setter interface {
	SetNull(i int)
	SetBool(i int, v bool)
	SetInt32(i int, v int32)
	SetInt64(i int, v int64)
	SetFloat32(i int, v float32)
	SetFloat64(i int, v float64)
	SetBytes(i int, v []byte)
	SetTimestamp(i int, ms int64, nanos int32)
	SetBigDecimal(i int, unscaled []byte)
	SetNested(i int, v []byte)
}

func put(w setter, i int, t Type, v any) {
	switch v := v.(type) {
	case nil:
		w.SetNull(i)
	case bool:
		w.SetBool(i, v)
	case int32:
		w.SetInt32(i, v)
	case int64:
		w.SetInt64(i, v)
	case float32:
		w.SetFloat32(i, v)
	case float64:
		w.SetFloat64(i, v)
	case *big.Int:
		if t.IsFixedWidth() {
			w.SetInt64(i, v.Int64())
		} else {
			w.SetBigDecimal(i, toTwos(v))
		}
	case string:
		w.SetBytes(i, []byte(v))
	case []byte:
		w.SetBytes(i, v)
	case stamp:
		w.SetTimestamp(i, v.ms, v.nanos)
	case []any:
		if t.Kind == Array {
			w.SetNested(i, arrayBytes(*t.Elem, v))
		} else {
			w.SetNested(i, rowBytes(MustSchema(t.Fields...), Insert, v))
		}
	case [][2]any:
		var keys, values []any
		for _, e := range v {
			keys, values = append(keys, e[0]), append(values, e[1])
		}
		w.SetNested(i, AppendMap(nil, arrayBytes(*t.Key, keys), arrayBytes(*t.Elem, values)))
	default:
		panic(fmt.Sprintf("a value of %T", v))
	}
}

func rowBytes(s *Schema, kind ChangeKind, values []any) Row {
	w := NewRowWriter(s)
	w.BeginIn(nil, kind)
	for i, v := range values {
		put(w, i, s.Fields()[i].Type, v)
	}
	return w.Row()
}

func arrayBytes(elem Type, values []any) []byte {
	w := NewArrayWriter(elem)
	w.Begin(len(values))
	for i, v := range values {
		put(w, i, elem, v)
	}
	return w.Bytes()
}

// getter is what a column of a row and an element of an array have in common.
type getter interface {
	null() bool
	boolean() bool
	i32() int32
	i64() int64
	f32() float32
	f64() float64
	bytes() []byte
	timestamp() (int64, int32)
}

type cell struct {
	c Column
	r Row
}

func (c cell) null() bool                { return c.c.IsNull(c.r) }
func (c cell) boolean() bool             { return c.c.Bool(c.r) }
func (c cell) i32() int32                { return c.c.Int32(c.r) }
func (c cell) i64() int64                { return c.c.Int64(c.r) }
func (c cell) f32() float32              { return c.c.Float32(c.r) }
func (c cell) f64() float64              { return c.c.Float64(c.r) }
func (c cell) bytes() []byte             { return c.c.Bytes(c.r) }
func (c cell) timestamp() (int64, int32) { return c.c.Timestamp(c.r) }

type element struct {
	a ArrayView
	i int
}

func (e element) null() bool                { return e.a.IsNull(e.i) }
func (e element) boolean() bool             { return e.a.Bool(e.i) }
func (e element) i32() int32                { return e.a.Int32(e.i) }
func (e element) i64() int64                { return e.a.Int64(e.i) }
func (e element) f32() float32              { return e.a.Float32(e.i) }
func (e element) f64() float64              { return e.a.Float64(e.i) }
func (e element) bytes() []byte             { return e.a.Bytes(e.i) }
func (e element) timestamp() (int64, int32) { return e.a.Timestamp(e.i) }

// get reads a value, under its NULL bit too: readers must not panic there.
func get(g getter, t Type) any {
	v := getEven(g, t)
	if g.null() {
		return nil
	}
	return v
}

func getEven(g getter, t Type) any {
	switch t.Kind {
	case Boolean:
		return g.boolean()
	case Int, Date:
		return g.i32()
	case BigInt:
		return g.i64()
	case Float:
		return g.f32()
	case Double:
		return g.f64()
	case Decimal:
		if t.IsFixedWidth() {
			return big.NewInt(g.i64())
		}
		return fromTwos(g.bytes())
	case String:
		return string(g.bytes())
	case Bytes:
		return append([]byte{}, g.bytes()...)
	case Timestamp, TimestampLTZ:
		ms, nanos := g.timestamp()
		return stamp{ms, nanos}
	case Array:
		return elements(ViewArray(t.Elem, g.bytes()))
	case Map:
		m := ViewMap(&t, g.bytes())
		keys, values := elements(m.Keys), elements(m.Values)
		entries := make([][2]any, m.Len())
		for i := range entries {
			entries[i] = [2]any{keys[i], values[i]}
		}
		return entries
	}
	b := g.bytes()
	if len(b) == 0 {
		return nil
	}
	return rowValues(MustSchema(t.Fields...), b)
}

func elements(a ArrayView) []any {
	values := make([]any, a.Len())
	for i := range values {
		values[i] = get(element{a, i}, *a.elem)
	}
	return values
}

func rowValues(s *Schema, r Row) []any {
	values := make([]any, s.Len())
	for i := range values {
		values[i] = get(cell{s.Column(i), r}, s.Fields()[i].Type)
	}
	return values
}

// render writes values so that different ones differ; floats by their bits.
func render(v any) string {
	switch v := v.(type) {
	case float32:
		return fmt.Sprintf("%v#%x", v, math.Float32bits(v))
	case float64:
		return fmt.Sprintf("%v#%x", v, math.Float64bits(v))
	case string:
		return strconv.Quote(v)
	case []any:
		parts := make([]string, len(v))
		for i := range v {
			parts[i] = render(v[i])
		}
		return "[" + strings.Join(parts, " ") + "]"
	case [][2]any:
		parts := make([]string, len(v))
		for i := range v {
			parts[i] = render(v[i][0]) + ":" + render(v[i][1])
		}
		return "{" + strings.Join(parts, " ") + "}"
	}
	return fmt.Sprintf("%T %v", v, v)
}

// toTwos is the shortest big-endian two's complement, as Java's
// BigInteger.toByteArray.
func toTwos(v *big.Int) []byte {
	if v.Sign() >= 0 {
		return append(make([]byte, 1-min(1, v.BitLen()%8)), v.Bytes()...)
	}
	n := new(big.Int).Not(v).BitLen()/8 + 1
	return new(big.Int).Add(v, new(big.Int).Lsh(big.NewInt(1), uint(8*n))).FillBytes(make([]byte, n))
}

func fromTwos(b []byte) *big.Int {
	v := new(big.Int).SetBytes(b)
	if len(b) > 0 && b[0] >= 0x80 {
		v.Sub(v, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
	}
	return v
}

// fromJSON reads a value as testdata/rows/README.md says vectors write it.
func fromJSON(t Type, j any) (any, error) {
	switch v := j.(type) {
	case nil, bool:
		return v, nil
	case json.Number:
		n, err := v.Int64()
		if t.Kind != BigInt {
			return int32(n), err
		}
		return n, err
	case string:
		return fromText(t, v)
	case []any:
		return fromList(t, v)
	}
	return nil, fmt.Errorf("%v is no %s", j, t)
}

func fromText(t Type, v string) (any, error) {
	switch t.Kind {
	case String:
		return v, nil
	case Bytes:
		return hex.DecodeString(v)
	case Float:
		f, err := strconv.ParseFloat(v, 32)
		if f != f {
			return math.Float32frombits(0x7fc00000), nil // Java's NaN
		}
		return float32(f), err
	case Double:
		f, err := strconv.ParseFloat(v, 64)
		if f != f {
			return math.Float64frombits(0x7ff8 << 48), nil
		}
		return f, err
	case Decimal:
		if n, ok := new(big.Int).SetString(v, 10); ok {
			return n, nil
		}
	}
	return nil, fmt.Errorf("%q is no %s", v, t)
}

func fromList(t Type, list []any) (any, error) {
	switch t.Kind {
	case Timestamp, TimestampLTZ:
		ms, err := list[0].(json.Number).Int64()
		nanos, err2 := list[1].(json.Number).Int64()
		if err == nil {
			err = err2
		}
		return stamp{ms, int32(nanos)}, err
	case Map:
		entries := make([][2]any, len(list))
		for i, e := range list {
			k, err := fromJSON(*t.Key, e.([]any)[0])
			if err != nil {
				return nil, err
			}
			v, err := fromJSON(*t.Elem, e.([]any)[1])
			if err != nil {
				return nil, err
			}
			entries[i] = [2]any{k, v}
		}
		return entries, nil
	}
	values := make([]any, len(list))
	for i := range list {
		inner := t.Elem
		if t.Kind == RowType {
			inner = &t.Fields[i].Type
		}
		v, err := fromJSON(*inner, list[i])
		if err != nil {
			return nil, err
		}
		values[i] = v
	}
	return values, nil
}
