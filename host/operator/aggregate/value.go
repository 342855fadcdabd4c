package aggregate

import (
	"errors"
	"fmt"

	"github.com/wasmstream/wasmstream/host/stream"
)

// value is a number or whatever compares like one: i for the integer shapes, f
// for the floating ones; the other is zero.
type value struct {
	i int64
	f float64
}

// operand is a column with the shape of its values.
type operand struct {
	stream.Column
	shape shape
}

// shape is how values of a type lie in their slot.
type shape uint8

const (
	asInt64 shape = iota // and whatever else is a long in the slot
	asInt32
	asFloat64
	asFloat32
	asBool
)

func operandOf(s *stream.Schema, column int) operand {
	o := operand{Column: s.Column(column)}
	switch o.Type.Kind {
	case stream.Int, stream.Date:
		o.shape = asInt32
	case stream.Float:
		o.shape = asFloat32
	case stream.Double:
		o.shape = asFloat64
	case stream.Boolean:
		o.shape = asBool
	}
	return o
}

// read is the value in a row, which is not NULL.
func (o *operand) read(r stream.Row) value {
	switch o.shape {
	case asInt32:
		return value{i: int64(o.Int32(r))}
	case asFloat64:
		return value{f: o.Float64(r)}
	case asFloat32:
		return value{f: float64(o.Float32(r))}
	case asBool:
		if o.Bool(r) {
			return value{i: 1}
		}
		return value{}
	}
	return value{i: o.Int64(r)}
}

// write puts a value into a row.
func (o *operand) write(r stream.Row, v value) {
	switch o.shape {
	case asInt32:
		o.PutInt32(r, int32(v.i))
	case asFloat64:
		o.PutFloat64(r, v.f)
	case asFloat32:
		o.PutFloat32(r, float32(v.f))
	case asBool:
		o.PutBool(r, v.i != 0)
	default:
		o.PutInt64(r, v.i)
	}
}

// ErrOverflow is the fault of a record whose value does not fit into a sum.
var ErrOverflow = errors.New("the sum leaves the range of BIGINT")

// take brings a value, of seen records, into the accumulator.
func (p *part) take(acc stream.Row, v value, seen int64) error {
	if p.kind == Avg {
		p.seen.PutInt64(acc, p.seen.Int64(acc)+seen)
	}
	if p.acc.IsNull(acc) {
		p.acc.write(acc, v)
		return nil
	}
	old := p.acc.read(acc)
	switch p.kind {
	case Min:
		if v.i < old.i || v.f < old.f {
			p.acc.write(acc, v)
		}
	case Max:
		if v.i > old.i || v.f > old.f {
			p.acc.write(acc, v)
		}
	default:
		sum := value{i: old.i + v.i, f: old.f + v.f}
		if (sum.i > old.i) != (v.i > 0) && v.i != 0 {
			return fmt.Errorf("%s(%s): %w", p.kind, p.input.Name, ErrOverflow)
		}
		p.acc.write(acc, sum)
	}
	return nil
}

// putAverage divides; of integers the quotient is cut toward zero.
func (p *part) putAverage(out, acc stream.Row) {
	sum, n := p.acc.read(acc), p.seen.Int64(acc)
	if p.acc.shape == asInt64 {
		p.result.write(out, value{i: sum.i / n})
		return
	}
	p.result.write(out, value{f: sum.f / float64(n)})
}
