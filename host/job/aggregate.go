package job

import (
	"strings"

	"github.com/wasmstream/wasmstream/host/operator/aggregate"
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
	kind, known := aggregate.ParseKind(name)
	switch {
	case !known:
		b.wrong(n, path, "There is no aggregate %s%s", quote(name), b.suggest(name, aggregate.Names(), "there are "))
		return Aggregate{}, false
	case called && !closed:
		b.wrong(n, path, "The aggregate %s lacks its closing parenthesis", quote(n.written))
		return Aggregate{}, false
	}
	a := Aggregate{Name: e.key, Kind: kind, Column: -1, Type: bigint}
	if a.Kind == aggregate.Count {
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
	if a.Column = b.column(p.sides[0], n, argument, path); a.Column < 0 {
		return a, false
	}
	t := p.sides[0].input.Fields()[a.Column].Type
	result, err := aggregate.ResultType(a.Kind, t)
	if err != nil {
		b.wrong(n, path, "%s cannot be computed of the column %s, which is %s", name, argument, t)
	}
	a.Type = result
	return a, result.Kind != 0
}
