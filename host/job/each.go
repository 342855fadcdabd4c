package job

import (
	"github.com/wasmstream/wasmstream/abi"
	"github.com/wasmstream/wasmstream/host/stream"
)

// KeyStep is what a step that computes another one's key is called: STEP.key. No name in
// a job file has a dot.
const KeyStep = "key"

// The operations that ask a function about each record by itself.
const (
	mapOperation     = "map"
	filterOperation  = "filter"
	flatMapOperation = "flat-map"
	// keyOperation is no field: it is what a step does that computes the key of the step
	// that says key-by: {wasm: …}, before it.
	keyOperation = KeyStep
)

// isEach tells of a step that takes each record by itself.
func (p *producer) isEach() bool {
	switch p.operation {
	case mapOperation, filterOperation, flatMapOperation, keyOperation:
		return true
	}
	return false
}

// checkEach refuses what belongs to other steps.
func (b *builder) checkEach(p *producer) bool {
	for _, name := range []string{"key-by", "aggregate", "reduce", "apply", "output", "trigger", "evictor"} {
		if n := p.node.get(name); n != nil && p.operation != keyOperation {
			b.wrong(n, p.path+"."+name, "A %s takes each record by itself, so it has no %s", p.operation, name)
		}
	}
	return p.operation == keyOperation || p.node.get(p.operation).ok
}

// buildEach binds the function of a map, filter or flat-map. Times and kinds of change
// of the records stay.
func (b *builder) buildEach(p *producer) {
	s := p.sides[0]
	role := map[string]string{mapOperation: abi.RoleMap, filterOperation: abi.RoleFilter, flatMapOperation: abi.RoleFlatMap}[p.operation]
	p.timeless, p.changing = s.timeless, s.changing != ""
	p.step.Changing = p.changing
	if n := p.node.get("changes"); n != nil {
		b.warn(n, p.path+".changes", "changes: ignore does nothing in the step %s: what it makes of a change is a change of the same kind", p.name)
	}
	f := b.function(p, call{node: p.node.get(p.operation), path: p.path + "." + p.operation, field: p.operation, roles: []string{role}, sides: p.sides})
	if f == nil {
		return
	}
	p.step.Each = f
	if p.output = f.Result(); role == abi.RoleFilter {
		p.output = s.input
	}
}

// declareKey makes the step known that computes a step's key, if a function does; it
// comes first.
func (b *builder) declareKey(p *producer) {
	n := p.node.get("key-by")
	if n == nil || n.form != mappingForm {
		return
	}
	q := &producer{
		name: p.name + "." + keyOperation, path: p.path, node: p.node, operation: keyOperation, event: -1, used: true,
		step: &Step{Name: p.name + "." + keyOperation, Line: p.step.Line},
	}
	q.sides = []*side{{shown: "The step " + p.name, path: p.path + ".from", gap: -1, trigger: -1, evictor: -1}}
	p.keyed = q
	b.order = append(b.order, q)
}

// buildKey binds the function that computes a key. Its columns stand behind those of
// the record, under names that those do not have.
func (b *builder) buildKey(p *producer) {
	s := p.sides[0]
	p.timeless, p.changing = s.timeless, s.changing != ""
	p.step.Changing = p.changing
	n := p.node.get("key-by")
	if !n.ok {
		return
	}
	f := b.function(p, call{node: n, path: p.path + ".key-by", field: "key-by", roles: []string{abi.RoleKey}, sides: p.sides})
	if f == nil || s.input == nil {
		return
	}
	fields := append([]stream.Field(nil), s.input.Fields()...)
	for _, k := range f.Result().Fields() {
		if holdsMap(k.Type) {
			b.wrong(n, p.path+".key-by", "The function %s puts the column %s %s out; a key cannot hold a MAP, whose entries have no order", n.get("wasm").text, k.Name, k.Type)
			return
		}
		for s.input.Index(k.Name) >= 0 {
			k.Name = "key " + k.Name
		}
		fields = append(fields, k)
	}
	schema, err := stream.NewSchema(fields...)
	if err != nil {
		b.wrong(n, p.path+".key-by", "The key of the step %s cannot be put behind its input's columns: %s", p.name, err)
		return
	}
	p.step.Each, p.output = f, schema
}

// computedKey finds the columns of a key that a function has computed; no fields if
// they are not known.
func (p *producer) computedKey() ([]int, []stream.Field) {
	q := p.keyed
	if q.output == nil {
		return nil, nil
	}
	fields := q.step.Each.Result().Fields()
	columns := make([]int, len(fields))
	for i := range columns {
		columns[i] = q.output.Len() - len(fields) + i
	}
	return columns, fields
}
