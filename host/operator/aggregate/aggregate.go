// Package aggregate computes the built-in aggregates (count, sum, min, max,
// avg) incrementally over rows. The accumulator is a row. Where its length never
// changes it is edited in place; only min and max of STRING and BYTES move it.
//
// Invariants:
//
//	(N) NULLs are ignored as in SQL: sum, min, max and avg of no value are NULL,
//	    count counts records.
//	(W) A sum never wraps around: an overflow is an error of the record, and the
//	    accumulator is then as it was before.
//	(L) An accumulator is as Create made it or as Add and Merge changed it: its
//	    wide DECIMALs and TIMESTAMPs have their room even while they are NULL.
//
// Types are those of Flink SQL: sum of DECIMAL(p, s) is DECIMAL(38, s), its avg
// is DECIMAL(38, max(6, s)). The average is rounded as Flink's DecimalDataUtils
// divides, and is NULL where that leaves no room for its digits before the
// point. Where a sum of decimals has more than 38 digits Flink goes on with
// NULL and then with the next value alone; that is an overflow here (W). Strings
// compare by their bytes, as Flink's do; Flink has no min and max of BYTES.
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
	case k == Sum && in.Kind == stream.Decimal:
		return sumOfDecimal(in), nil
	case k == Avg && in.Kind == stream.Decimal:
		return stream.Type{Kind: stream.Decimal, Precision: stream.DecimalPrecisionMax, Scale: averageScale(in.Scale)}, nil
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

// isOrdered tells whether min and max can be computed over the type.
func isOrdered(t stream.Type) bool { return t.Kind < stream.Array }

func sumOfDecimal(in stream.Type) stream.Type {
	return stream.Type{Kind: stream.Decimal, Precision: stream.DecimalPrecisionMax, Scale: in.Scale}
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
	parts       []part  // those that may fail first
	byResult    []*part // in the order of the result's columns
	columns     []accColumn
	empty       stream.Row // the accumulator of no records
	failing     int        // how many parts may fail
	before      []byte     // the accumulator before an Add in which a second part may fail
	wins        bool       // a part has a value that moves the accumulator
	mover       *stream.RowWriter
	moved       []byte
	results     *stream.RowWriter
}

// part is one aggregate, bound to its columns.
type part struct {
	kind   Kind
	input  operand
	acc    operand // the sum, least or greatest so far, NULL at first; Count: seen
	seen   operand // Count, Avg: how many records or values there were; else acc
	result int     // its column
	more   int     // Avg of a DECIMAL: digits of fraction beyond those of the sum
	wins   bool    // asBytes: the value at hand is the new extreme
}

// mayFail tells whether a value may not fit.
func (p *part) mayFail() bool {
	return (p.kind == Sum || p.kind == Avg) && (p.acc.shape == asInteger || p.acc.shape == asWide)
}

// accColumn is a column of the accumulator; extreme is the part of it that is
// asBytes, nil for other columns.
type accColumn struct {
	operand
	extreme *part
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
		if c.Kind != Avg {
			acc = append(acc, stream.Field{Name: c.Name, Type: t})
			continue
		}
		acc = append(acc, stream.Field{Name: c.Name, Type: averagedType(t, in)},
			stream.Field{Name: c.Name + " seen", Type: stream.Type{Kind: stream.BigInt}})
	}
	f.accumulator, f.result = stream.MustSchema(acc...), stream.MustSchema(result...)
	f.bind(input, calls)
	f.mover, f.results = stream.NewRowWriter(f.accumulator), stream.NewRowWriter(f.result)
	f.makeEmpty()
	return f, nil
}

// averagedType is the type of the sum that an average is made of, as in Flink.
func averagedType(result, in stream.Type) stream.Type {
	switch in.Kind {
	case stream.Float:
		return stream.Type{Kind: stream.Double}
	case stream.Decimal:
		return sumOfDecimal(in)
	}
	return result
}

// bind makes the parts.
func (f *Function) bind(input *stream.Schema, calls []Call) {
	f.parts = make([]part, len(calls))
	at := 0
	for i, c := range calls {
		p := part{kind: c.Kind, acc: operandOf(f.accumulator, at), result: i}
		p.seen = p.acc
		if at++; c.Kind == Avg {
			p.seen = operandOf(f.accumulator, at)
			at++
		}
		if c.Kind != Count {
			p.input = operandOf(input, c.Input)
			p.more = averageScale(p.input.Type.Scale) - p.input.Type.Scale
		}
		if p.mayFail() {
			f.failing++
		}
		f.parts[i] = p
	}
	slices.SortStableFunc(f.parts, func(p, q part) int { return boolToInt(q.mayFail()) - boolToInt(p.mayFail()) })
	f.columns = make([]accColumn, f.accumulator.Len())
	for i := range f.columns {
		f.columns[i].operand = operandOf(f.accumulator, i)
	}
	f.byResult = make([]*part, len(calls))
	for i := range f.parts {
		p := &f.parts[i]
		f.byResult[p.result] = p
		if p.acc.shape == asBytes {
			f.columns[p.acc.Index].extreme = p
		}
	}
}

func boolToInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// makeEmpty lays out the accumulator of no records.
func (f *Function) makeEmpty() {
	f.mover.BeginIn(nil, stream.Insert)
	for _, p := range f.byResult {
		if p.kind != Count {
			f.mover.SetNull(p.acc.Index)
		}
	}
	f.empty = f.mover.Row()
}

// Accumulator is the schema of the accumulator.
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

// AccumulatorBytes is the length of the accumulator of no records, and whether
// every other one is as long.
func (f *Function) AccumulatorBytes() (n int, always bool) {
	for i := range f.columns {
		if f.columns[i].extreme != nil {
			return len(f.empty), false
		}
	}
	return len(f.empty), true
}

// Create makes acc, which has AccumulatorBytes, the accumulator of no records.
func (f *Function) Create(acc stream.Row) { copy(acc, f.empty) }

// Add takes a record into the accumulator. As a rule it edits acc in place and
// moved is nil. If the accumulator has another length now, moved is what takes
// its place; it is good until the next call, so the caller copies it, and what
// acc holds counts no longer. After an error acc is as it was.
func (f *Function) Add(acc, r stream.Row) (moved stream.Row, err error) {
	return f.take(acc, r, false)
}

// Merge takes the accumulator of other records into acc, as Add does a record;
// other is only read.
func (f *Function) Merge(acc, other stream.Row) (moved stream.Row, err error) {
	return f.take(acc, other, true)
}

// take brings r, a record or if merging an accumulator, into acc.
func (f *Function) take(acc, r stream.Row, merging bool) (stream.Row, error) {
	if f.failing > 1 { // of one that fails the others know nothing yet
		f.before = append(f.before[:0], acc...)
	}
	for i := range f.parts {
		p := &f.parts[i]
		from, seen := &p.input, int64(1)
		if merging {
			from, seen = &p.acc, p.seen.Int64(r)
		}
		if p.kind == Count {
			p.seen.ReplaceInt64(acc, p.seen.Int64(acc)+seen)
			continue
		}
		if from.IsNull(r) {
			continue
		}
		first, ok := p.acc.IsNull(acc), false
		if p.acc.shape == asInteger { // not in takeOther, since it is what is asked for most
			ok = p.takeInteger(acc, from.integer(r), first)
		} else {
			ok = p.takeOther(acc, from, r, first)
			f.wins = f.wins || p.wins
		}
		if !ok {
			if f.failing > 1 {
				copy(acc, f.before)
			}
			return nil, p.overflow()
		}
		if p.kind == Avg {
			p.seen.ReplaceInt64(acc, p.seen.Int64(acc)+seen)
		}
	}
	if f.wins {
		return f.move(acc, r, merging), nil
	}
	return nil, nil
}

// move lays the accumulator out anew with the values of r that win, which is an
// accumulator itself if merging. One of the same length stays where it is.
func (f *Function) move(acc, r stream.Row, merging bool) stream.Row {
	f.wins = false
	f.mover.BeginIn(f.moved[:0], stream.Insert)
	for i := range f.columns {
		c := &f.columns[i]
		p := c.extreme
		switch {
		case p == nil || !p.wins:
			c.setIn(f.mover, i, acc)
			continue
		case merging:
			f.mover.SetBytes(i, p.acc.Bytes(r))
		default:
			f.mover.SetBytes(i, p.input.Bytes(r))
		}
		p.wins = false
	}
	f.moved = f.mover.Buffer()
	if len(f.moved) == len(acc) {
		copy(acc, f.moved)
		return nil
	}
	return f.moved
}

// AppendResult appends the row of an accumulator's aggregates to a buffer.
func (f *Function) AppendResult(buf []byte, acc stream.Row) []byte {
	w := f.results
	w.BeginIn(buf, stream.Insert)
	for _, p := range f.byResult {
		if p.kind == Avg && !p.acc.IsNull(acc) {
			p.setAverage(w, acc)
			continue
		}
		p.acc.setIn(w, p.result, acc)
	}
	return w.Buffer()
}

// setAverage divides; of integers the quotient is cut toward zero.
func (p *part) setAverage(w *stream.RowWriter, acc stream.Row) {
	n := p.seen.Int64(acc)
	switch p.acc.shape {
	case asInteger:
		w.SetInt64(p.result, p.acc.integer(acc)/n)
	case asWide:
		v, ok := average(p.acc.wide(acc), uint64(n), p.more)
		if !ok {
			w.SetNull(p.result)
			return
		}
		setWide(w, p.result, v)
	default:
		v := p.acc.float(acc) / float64(n)
		if p.input.shape == asFloat {
			w.SetFloat32(p.result, float32(v))
			return
		}
		w.SetFloat64(p.result, v)
	}
}
