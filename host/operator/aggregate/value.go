package aggregate

import (
	"errors"
	"fmt"

	"github.com/wasmstream/wasmstream/host/stream"
)

// value is a number or whatever compares like one: i for the integer shapes, f
// for the floating ones.
type value struct {
	i int64
	f float64
}

// read is the value of a column in the part's shape.
func (p *part) read(c *stream.Column, r stream.Row) value {
	switch p.shape {
	case asInt32:
		return value{i: int64(c.Int32(r))}
	case asFloat64:
		return value{f: c.Float64(r)}
	case asFloat32:
		return value{f: float64(c.Float32(r))}
	case asBool:
		if c.Bool(r) {
			return value{i: 1}
		}
		return value{}
	}
	return value{i: c.Int64(r)}
}

// held is what the accumulator holds.
func (p *part) held(acc stream.Row) value {
	switch {
	case p.acc.Type.Kind == stream.BigInt:
		return value{i: p.acc.Int64(acc)}
	case p.acc.Type.Kind == stream.Double:
		return value{f: p.acc.Float64(acc)}
	}
	return p.read(&p.acc, acc)
}

// write puts a value into a column, by the column's own type.
func (p *part) write(c *stream.Column, r stream.Row, v value) {
	switch shapeOf(c.Type) {
	case asInt32:
		c.PutInt32(r, int32(v.i))
	case asFloat64:
		c.PutFloat64(r, v.f)
	case asFloat32:
		c.PutFloat32(r, float32(v.f))
	case asBool:
		c.PutBool(r, v.i != 0)
	default:
		c.PutInt64(r, v.i)
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
		p.write(&p.acc, acc, v)
		return nil
	}
	old := p.held(acc)
	switch p.kind {
	case Min:
		if v.i < old.i || v.f < old.f {
			p.write(&p.acc, acc, v)
		}
	case Max:
		if v.i > old.i || v.f > old.f {
			p.write(&p.acc, acc, v)
		}
	default:
		sum := value{i: old.i + v.i, f: old.f + v.f}
		if (sum.i > old.i) != (v.i > 0) && v.i != 0 {
			return fmt.Errorf("%s(%s): %w", p.kind, p.input.Name, ErrOverflow)
		}
		p.write(&p.acc, acc, sum)
	}
	return nil
}

// putAverage divides; of integers the quotient is cut toward zero.
func (p *part) putAverage(out, acc stream.Row) {
	sum, n := p.held(acc), p.seen.Int64(acc)
	if p.acc.Type.Kind == stream.BigInt {
		p.write(&p.result, out, value{i: sum.i / n})
		return
	}
	p.write(&p.result, out, value{f: sum.f / float64(n)})
}
