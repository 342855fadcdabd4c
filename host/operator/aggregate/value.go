package aggregate

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"

	"github.com/wasmstream/wasmstream/host/stream"
)

// shape is how values of a type lie in a row, as far as aggregates care.
type shape uint8

const (
	asInteger   shape = iota // in the slot: BOOLEAN, INT, BIGINT, DATE, compact DECIMAL and TIMESTAMP
	asDouble                 // DOUBLE
	asFloat                  // FLOAT
	asWide                   // DECIMAL of more than 18 digits
	asTimestamp              // TIMESTAMP of more than 3 digits
	asBytes                  // STRING, BYTES: as long as they are
)

// operand is a column with the shape of its values.
type operand struct {
	stream.Column
	shape shape
	// Of an integer: how far its sign bit is from the slot's. Shifting there and
	// back reads every width without a branch.
	spare uint8
}

func operandOf(s *stream.Schema, column int) operand {
	o := operand{Column: s.Column(column)}
	switch o.Type.Kind {
	case stream.Boolean:
		o.spare = 56
	case stream.Int, stream.Date:
		o.spare = 32
	case stream.Float:
		o.shape = asFloat
	case stream.Double:
		o.shape = asDouble
	case stream.String, stream.Bytes:
		o.shape = asBytes
	case stream.Decimal:
		if !o.Type.IsFixedWidth() {
			o.shape = asWide
		}
	case stream.Timestamp, stream.TimestampLTZ:
		if !o.Type.IsFixedWidth() {
			o.shape = asTimestamp
		}
	}
	return o
}

func (o *operand) integer(r stream.Row) int64 {
	return o.Int64(r) << (o.spare & 63) >> (o.spare & 63)
}

// slotOf is the slot of an integer: its unused bytes are zero.
func (o *operand) slotOf(v int64) int64 { return int64(uint64(v) << (o.spare & 63) >> (o.spare & 63)) }

func (o *operand) float(r stream.Row) float64 {
	if o.shape == asFloat {
		return float64(o.Float32(r))
	}
	return o.Float64(r)
}

func (o *operand) putFloat(r stream.Row, v float64) {
	if o.shape == asFloat {
		o.PutFloat32(r, float32(v))
		return
	}
	o.PutFloat64(r, v)
}

func (o *operand) wide(r stream.Row) int128 {
	hi, lo := o.Int128(r)
	return int128{hi, lo}
}

// setIn copies the value to column i of the row that is being written.
func (o *operand) setIn(w *stream.RowWriter, i int, r stream.Row) {
	switch {
	case o.IsNull(r):
		w.SetNull(i)
	case o.shape == asWide:
		w.SetBigDecimal(i, o.Bytes(r))
	case o.shape == asTimestamp:
		ms, nanos := o.Timestamp(r)
		w.SetTimestamp(i, ms, nanos)
	case o.shape == asBytes:
		w.SetBytes(i, o.Bytes(r))
	default:
		w.SetInt64(i, int64(o.Slot(r)))
	}
}

// ErrOverflow is the fault of a record whose value does not fit into a sum.
var ErrOverflow = errors.New("the sum leaves the range of its type")

func (p *part) overflow() error {
	return fmt.Errorf("%s(%s): %w, %s", p.kind, p.input.Name, ErrOverflow, p.acc.Type)
}

// takeOther brings a value that is no integer into the accumulator; false is an
// overflow. A value of asBytes is only marked: it moves the accumulator, which
// is done once for all.
func (p *part) takeOther(acc stream.Row, from *operand, r stream.Row, first bool) bool {
	switch p.acc.shape {
	case asWide:
		return p.takeWide(acc, from.wide(r), first)
	case asTimestamp:
		p.takeTimestamp(acc, from, r, first)
	case asBytes:
		p.wins = first || p.isBetter(bytes.Compare(from.Bytes(r), p.acc.Bytes(acc)))
	default:
		p.takeFloat(acc, from.float(r), first)
	}
	return true
}

// isBetter tells whether a value wins that compares so with the extreme so far.
func (p *part) isBetter(compared int) bool {
	return p.kind == Min && compared < 0 || p.kind == Max && compared > 0
}

// takeInteger is false on an overflow.
func (p *part) takeInteger(acc stream.Row, v int64, first bool) bool {
	if first {
		p.acc.PutInt64(acc, p.acc.slotOf(v))
		return true
	}
	old := p.acc.integer(acc)
	switch p.kind {
	case Min:
		v = min(v, old)
	case Max:
		v = max(v, old)
	default:
		sum := old + v
		if (sum^old)&(sum^v) < 0 { // its sign is neither's
			return false
		}
		v = sum
	}
	p.acc.ReplaceInt64(acc, p.acc.slotOf(v))
	return true
}

func (p *part) takeFloat(acc stream.Row, v float64, first bool) {
	if !first {
		old := p.acc.float(acc)
		switch p.kind {
		case Min, Max:
			// Not by cmp: as in Flink, NaN neither wins nor loses.
			if p.kind == Min && !(v < old) || p.kind == Max && !(v > old) {
				return
			}
		default:
			v += old
		}
	}
	p.acc.putFloat(acc, v)
}

// takeWide is false on an overflow.
func (p *part) takeWide(acc stream.Row, v int128, first bool) bool {
	if !first {
		old := p.acc.wide(acc)
		switch p.kind {
		case Min, Max:
			if !p.isBetter(v.compare(old)) {
				return true
			}
		default:
			if v = v.plus(old); !v.fits() {
				return false
			}
		}
	}
	p.acc.PutInt128(acc, v.hi, v.lo)
	return true
}

func (p *part) takeTimestamp(acc stream.Row, from *operand, r stream.Row, first bool) {
	ms, nanos := from.Timestamp(r)
	oldMillis, oldNanos := p.acc.Timestamp(acc)
	if first || p.isBetter(cmp.Or(cmp.Compare(ms, oldMillis), cmp.Compare(nanos, oldNanos))) {
		p.acc.PutTimestamp(acc, ms, nanos)
	}
}
