// Package aggregate computes the built-in aggregates (count, sum, min, max,
// avg) incrementally over rows. The accumulator is a row that is fixed in width
// and edited in place, just as a guest's is.
//
// Invariants:
//
//	(N) NULLs are ignored as in SQL: sum, min, max and avg of no value are NULL,
//	    count counts records.
//	(W) A sum never wraps around: an overflow is an error of the record, and the
//	    accumulator is then as it was before.
package aggregate

import (
	"fmt"
	"slices"

	"github.com/wasmstream/wasmstream/host/stream"
)

// Kind is which aggregate is computed.
type Kind uint8

// The built-in aggregates.
const (
	Count Kind = iota + 1
	Sum
	Min
	Max
	Avg
)

// Call is one aggregate of a step.
type Call struct {
	Name  string // of the result's column
	Kind  Kind
	Input int // column of the step's input; ignored by Count
}

// ResultType is the type of an aggregate over a column of type in, or an error
// that says what it can be used on.
func ResultType(k Kind, in stream.Type) (stream.Type, error) {
	switch {
	case k == Count:
		return stream.Type{Kind: stream.BigInt}, nil
	case k == Sum && in.Kind == stream.Int, k == Avg && in.Kind == stream.Int:
		return stream.Type{Kind: stream.BigInt}, nil
	case isNumber(in):
		return in, nil
	case (k == Min || k == Max) && isOrdered(in):
		return in, nil
	}
	return stream.Type{}, fmt.Errorf("%s cannot be computed over %s", k, in)
}

func isNumber(t stream.Type) bool {
	switch t.Kind {
	case stream.Int, stream.BigInt, stream.Float, stream.Double:
		return true
	}
	return false
}

// isOrdered tells whether min and max can compare values of the type as
// integers.
func isOrdered(t stream.Type) bool {
	switch t.Kind {
	case stream.Boolean, stream.Date, stream.Decimal, stream.Timestamp, stream.TimestampLTZ:
		return t.IsFixedWidth()
	}
	return false
}

var kindNames = [...]string{Count: "count", Sum: "sum", Min: "min", Max: "max", Avg: "avg"}

// String is the aggregate's name in a job file.
func (k Kind) String() string { return kindNames[k] }

// Names lists the aggregates.
func Names() []string { return slices.Clone(kindNames[1:]) }

// ParseKind finds the aggregate of a name.
func ParseKind(name string) (Kind, bool) {
	i := slices.Index(kindNames[1:], name)
	return Kind(i + 1), i >= 0
}

// Function computes the aggregates of a step. It is used by one goroutine at a
// time.
type Function struct {
	accumulator *stream.Schema
	result      *stream.Schema
	parts       []part
	before      []byte // the accumulator before an Add that may fail
}

// part is one aggregate, bound to its columns.
type part struct {
	kind   Kind
	input  operand
	acc    operand // count; or the sum, least or greatest so far, NULL at first
	seen   operand // Avg: how many values the sum is of
	result operand
}

// New binds aggregates to the columns of a step's input.
func New(input *stream.Schema, calls []Call) (*Function, error) {
	f := &Function{}
	var acc, result []stream.Field
	for _, c := range calls {
		var in stream.Type
		if c.Kind != Count {
			in = input.Fields()[c.Input].Type
		}
		t, err := ResultType(c.Kind, in)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.Name, err)
		}
		result = append(result, stream.Field{Name: c.Name, Type: t})
		if c.Kind == Avg && t.Kind == stream.Float {
			t = stream.Type{Kind: stream.Double} // as in Flink
		}
		acc = append(acc, stream.Field{Name: c.Name, Type: t})
		if c.Kind == Avg {
			acc = append(acc, stream.Field{Name: c.Name + " seen", Type: stream.Type{Kind: stream.BigInt}})
		}
	}
	f.accumulator, f.result = stream.MustSchema(acc...), stream.MustSchema(result...)
	at := 0
	for i, c := range calls {
		p := part{kind: c.Kind, acc: operandOf(f.accumulator, at), result: operandOf(f.result, i)}
		if at++; c.Kind == Avg {
			p.seen = operandOf(f.accumulator, at)
			at++
		}
		if c.Kind != Count {
			p.input = operandOf(input, c.Input)
		}
		f.parts = append(f.parts, p)
	}
	return f, nil
}

// Accumulator is the schema of the accumulator, fixed in width.
func (f *Function) Accumulator() *stream.Schema { return f.accumulator }

// Result is the schema of the result.
func (f *Function) Result() *stream.Schema { return f.result }

// MergesExactly says that it makes no difference whether records are added to one
// accumulator or to several that are merged: sums of floating-point numbers
// depend on the order.
func (f *Function) MergesExactly() bool {
	return !slices.ContainsFunc(f.parts, func(p part) bool {
		kind := p.acc.Type.Kind
		return (p.kind == Sum || p.kind == Avg) && (kind == stream.Float || kind == stream.Double)
	})
}

// Create makes acc the accumulator of no records.
func (f *Function) Create(acc stream.Row) {
	clear(acc)
	for i := range f.parts {
		if p := &f.parts[i]; p.kind != Count {
			p.acc.SetNull(acc)
		}
	}
}

// Add takes a record into the accumulator.
func (f *Function) Add(acc, r stream.Row) error {
	f.before = append(f.before[:0], acc...)
	for i := range f.parts {
		p := &f.parts[i]
		if p.kind == Count {
			p.acc.PutInt64(acc, p.acc.Int64(acc)+1)
			continue
		}
		if p.input.IsNull(r) {
			continue
		}
		if err := p.take(acc, p.input.read(r), 1); err != nil {
			copy(acc, f.before)
			return err
		}
	}
	return nil
}

// Merge takes the accumulator of other records into acc; other is only read.
func (f *Function) Merge(acc, other stream.Row) error {
	f.before = append(f.before[:0], acc...)
	for i := range f.parts {
		p := &f.parts[i]
		if p.kind == Count {
			p.acc.PutInt64(acc, p.acc.Int64(acc)+p.acc.Int64(other))
			continue
		}
		if p.acc.IsNull(other) {
			continue
		}
		seen := int64(0)
		if p.kind == Avg {
			seen = p.seen.Int64(other)
		}
		if err := p.take(acc, p.acc.read(other), seen); err != nil {
			copy(acc, f.before)
			return err
		}
	}
	return nil
}

// PutResult writes the aggregates of an accumulator into a result row, all of
// whose bytes are zero.
func (f *Function) PutResult(out, acc stream.Row) {
	for i := range f.parts {
		p := &f.parts[i]
		switch {
		case p.acc.IsNull(acc):
			p.result.SetNull(out)
		case p.kind == Avg:
			p.putAverage(out, acc)
		default:
			p.result.write(out, p.acc.read(acc))
		}
	}
}
