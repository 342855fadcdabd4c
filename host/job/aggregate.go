package job

import (
	"slices"
	"strings"

	"github.com/wasmstream/wasmstream/host/stream"
)

// call reads one built-in aggregate: count, or a name with a column.
func (b *builder) call(p *producer, e entry, path string) (Aggregate, bool) {
	n := e.value
	if !n.ok {
		return Aggregate{}, false
	}
	name, rest, called := strings.Cut(strings.TrimSpace(n.text), "(")
	name = strings.TrimSpace(name)
	argument, closed := strings.CutSuffix(rest, ")")
	argument = strings.TrimSpace(argument)
	kind := slices.Index(aggregateNames[:], name)
	switch {
	case name == "" || kind < 0:
		b.wrong(n, path, "There is no aggregate %s%s", quote(name), b.suggest(name, aggregateNames[1:], "there are "))
		return Aggregate{}, false
	case called && !closed:
		b.wrong(n, path, "The aggregate %s lacks its closing parenthesis", quote(n.written))
		return Aggregate{}, false
	}
	a := Aggregate{Name: e.key, Kind: AggregateKind(kind), Column: -1, Type: bigint}
	if a.Kind == Count {
		if called {
			b.wrong(n, path, "count counts records and takes no column; write count")
			return a, false
		}
		return a, true
	}
	if argument == "" {
		b.wrong(n, path, "%s needs a column: write %s(column)", name, name)
		return a, false
	}
	if a.Column = b.column(p, n, argument, path); a.Column < 0 {
		return a, false
	}
	t := p.input.Fields()[a.Column].Type
	result, offered := aggregateType(a.Kind, t)
	switch {
	case result.Kind == 0:
		b.wrong(n, path, "%s cannot be computed of the column %s, which is %s", name, argument, t)
	case !offered:
		b.later(n.line, n.column, path, "%s of %s is not offered yet", name, t)
	}
	a.Type = result
	return a, result.Kind != 0
}

// aggregateType is the type of an aggregate's result: the job file's rule for
// INT and BIGINT, Flink SQL's for the rest. The zero type: there is none.
func aggregateType(k AggregateKind, t stream.Type) (result stream.Type, offered bool) {
	if k == Min || k == Max {
		switch t.Kind {
		case stream.Bytes, stream.Array, stream.Map, stream.RowType:
			return stream.Type{}, false
		case stream.Decimal, stream.String:
			return t, false
		}
		return t, t.IsFixedWidth()
	}
	switch t.Kind {
	case stream.Int, stream.BigInt:
		return bigint, true
	case stream.Float, stream.Double:
		return t, true
	case stream.Decimal:
		return t, false
	}
	return stream.Type{}, false
}
