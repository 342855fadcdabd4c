package job

import (
	"fmt"
	"slices"
	"strings"

	"github.com/wasmstream/wasmstream/host/stream"
)

// ref is a stream that a step or a sink reads; from is nil if it is not known.
type ref struct {
	StreamRef
	from  *producer
	extra *extra // nil for the main output
	node  *node
	path  string
}

// schema is that of the stream, with all columns; nil if it is not known.
func (r *ref) schema() *stream.Schema {
	switch {
	case r.from == nil:
		return nil
	case r.extra != nil && r.extra.of == nil:
		return r.extra.schema
	case r.extra != nil:
		return r.extra.of.input
	}
	return r.from.output
}

// changing tells of a stream that may have changes.
func (r *ref) changing() bool {
	switch {
	case r.from == nil:
		return false
	case r.extra != nil && r.extra.of != nil:
		return r.extra.of.changing != ""
	case r.extra != nil && r.extra.failed:
		return false
	}
	return r.from.changing
}

// declareSteps makes the steps and sinks known by name, before any reference
// to them is looked up.
func (b *builder) declareSteps() {
	named(b.root.get("steps"), func(e entry) {
		path := "steps." + e.key
		if p := b.producers[e.key]; p != nil {
			b.add(e.line, e.column, path, "The name %s is already that of a source, in line %d; sources and steps share their names", e.key, p.source.Line)
			return
		}
		p := &producer{name: e.key, path: path, node: e.value, step: &Step{Name: e.key, Line: e.line}, event: -1}
		b.declareKey(p)
		b.declare(p)
		b.producers[e.key] = p
		b.order = append(b.order, p)
	})
	named(b.root.get("sinks"), func(e entry) {
		s := &sinkInfo{sink: &Sink{Name: e.key, Line: e.line}, path: "sinks." + e.key, node: e.value}
		s.sink.Connector = b.connector(e.value, s.path, true)
		b.kafkaSink(s)
		b.sinks = append(b.sinks, s)
		b.job.Sinks = append(b.job.Sinks, s.sink)
	})
}

// resolveAll looks up what every step and sink reads.
func (b *builder) resolveAll() {
	for _, p := range b.order {
		if p.step == nil || p.operation == keyOperation {
			continue
		}
		switch {
		case p.operation == broadcastProcessOperation:
			p.sides[1].refs = b.resolveFrom(p.node.get(p.operation).get("broadcast"), p.sides[1].path)
		case p.isTwoSided():
			for i, field := range []string{"left", "right"} {
				p.sides[i].refs = b.resolveFrom(p.node.get(p.operation).get(field), p.sides[i].path)
			}
			continue
		}
		to := p
		if q := p.keyed; q != nil {
			// It is read by the step that computes the key, and that by this one.
			p.sides[0].refs = []ref{{StreamRef: StreamRef{Name: q.name}, from: q, node: p.node.get("from"), path: p.sides[0].path}}
			p.step.From = p.sides[0].streams()
			to = q
		}
		to.sides[0].refs = b.resolveFrom(p.node.get("from"), p.sides[0].path)
		to.step.From = to.sides[0].streams()
	}
	for _, s := range b.sinks {
		s.refs = b.resolveFrom(s.node.get("from"), s.path+".from")
		for _, r := range s.refs {
			s.sink.From = append(s.sink.From, r.StreamRef)
		}
	}
}

func (b *builder) resolveFrom(n *node, path string) []ref {
	if n == nil || !n.ok {
		return nil
	}
	if n.form != listForm {
		return []ref{b.resolveRef(n, path)}
	}
	var refs []ref
	for i, item := range n.items {
		if !item.ok {
			refs = append(refs, ref{}) // told already; keeps the union's schema unknown
			continue
		}
		at := fmt.Sprintf("%s[%d]", path, i)
		r := b.resolveRef(item, at)
		if slices.ContainsFunc(refs, func(q ref) bool { return q.StreamRef == r.StreamRef }) {
			b.wrong(item, at, "%s is named twice; a union takes each stream once", r.StreamRef)
			continue
		}
		refs = append(refs, r)
	}
	return refs
}

func (b *builder) resolveRef(n *node, path string) ref {
	name, output, dotted := strings.Cut(n.text, ".")
	r := ref{StreamRef: StreamRef{Name: name, Output: output}, node: n, path: path}
	p := b.producers[name]
	switch {
	case p == nil:
		b.unknownStream(n, name, path)
		return r
	case !dotted:
		p.used = true
	default:
		i := slices.IndexFunc(p.extras, func(x *extra) bool { return x.name == output })
		if i < 0 {
			b.unknownOutput(p, n, output, path)
			return r
		}
		r.extra = p.extras[i]
		r.extra.used = true
	}
	r.from = p
	return r
}

func (b *builder) unknownOutput(p *producer, n *node, output, path string) {
	switch {
	case output == reservedOutput && p.source != nil:
		b.wrong(n, path, "The output %s has the records of %s that cannot be decoded; its on-error must be dead-letter for that", n.text, p.name)
	case output == reservedOutput:
		b.wrong(n, path, "The output %s has the records that a function of %s failed on; its on-fault must be dead-letter for that", n.text, p.name)
	case p.source != nil:
		b.wrong(n, path, "%s is a source, and a source has no other outputs; write %s", p.name, p.name)
	case !b.mayHaveOutputs(p):
		b.wrong(n, path, "The step %s has no output %s; %s", p.name, quote(output), p.knownOutputs(n.text))
	}
}

// knownOutputs ends a sentence about an output that a step does not have.
func (p *producer) knownOutputs(wrong string) string {
	known := make([]string, len(p.extras))
	for i, x := range p.extras {
		known[i] = p.name + "." + x.name
	}
	switch near := nearest(wrong, known); {
	case near != "":
		return "did you mean " + near + "?"
	case len(known) > 0:
		return "did you mean " + strings.Join(known, " or ") + "?"
	case p.operation == windowOperation:
		return "it has none beside its main one; late-output in its window makes one for late records"
	case p.operation == intervalJoinOperation:
		return "it has none beside its main one; late-left and late-right make them for late rows"
	}
	return "it has none beside its main one"
}

// mayHaveOutputs tells of a step whose outputs are not known because of what
// is not offered yet or was not understood.
func (b *builder) mayHaveOutputs(p *producer) bool {
	if !p.node.ok {
		return true
	}
	for n := range p.emitting {
		if b.lookUp(n) == nil {
			return true
		}
	}
	operation := p.node.get(p.operation)
	for _, name := range []string{"late-output", "late-left", "late-right"} {
		if n := operation.get(name); operation != nil && !operation.ok || n != nil && !n.ok {
			return true
		}
	}
	return false
}

func (b *builder) unknownStream(n *node, name, path string) {
	known := make([]string, 0, len(b.order))
	for _, p := range b.order {
		known = append(known, p.name)
	}
	if slices.ContainsFunc(b.sinks, func(s *sinkInfo) bool { return s.sink.Name == name }) {
		b.wrong(n, path, "%s is a sink; only sources and steps can be read", name)
		return
	}
	b.wrong(n, path, "There is no source or step %s%s", quote(name), b.suggest(name, known, "there are "))
}

// sortSteps puts every step behind what it reads; false if some of them feed
// each other in a circle.
func (b *builder) sortSteps() bool {
	const visiting, done = 1, 2
	state := map[*producer]int{}
	var sorted, trail []*producer
	sound := true
	var visit func(p *producer)
	visit = func(p *producer) {
		state[p] = visiting
		trail = append(trail, p)
		for r := range p.reads {
			switch q := r.from; {
			case q == nil || state[q] == done:
			case state[q] == visiting:
				b.cycle(r, trail[slices.Index(trail, q):])
				sound = false
			default:
				visit(q)
			}
		}
		trail = trail[:len(trail)-1]
		state[p] = done
		sorted = append(sorted, p)
	}
	for _, p := range b.order {
		if state[p] == 0 {
			visit(p)
		}
	}
	b.order = sorted
	for _, p := range b.order {
		if p.step != nil {
			b.job.Steps = append(b.job.Steps, p.step)
		}
	}
	return sound
}

// cycle reports a circle: the last of the trail is read by none other than the
// first, which the reference r names. It is told in the direction of records.
func (b *builder) cycle(r *ref, trail []*producer) {
	if len(trail) == 1 {
		b.wrong(r.node, r.path, "The step %s reads its own output; steps must not feed each other in a circle", r.Name)
		return
	}
	const shown = 20
	names := []string{trail[0].name}
	for _, p := range slices.Backward(trail) {
		if len(names) == shown {
			names = append(names, "…", trail[0].name)
			break
		}
		names = append(names, p.name)
	}
	b.wrong(r.node, r.path, "Steps must not feed each other in a circle: %s", strings.Join(names, " → "))
}

// joinSchemas finds the one schema of all streams that a step or sink reads;
// nil if it is not known.
func (b *builder) joinSchemas(refs []ref) *stream.Schema {
	if len(refs) == 0 {
		return nil
	}
	first := refs[0].schema()
	for i := range refs {
		s := refs[i].schema()
		if first == nil || s == nil {
			return nil
		}
		if s == first || s.Equal(first) {
			continue
		}
		if b.full() {
			return nil
		}
		if difference := schemaDifference(refs[0].StreamRef, first, refs[i].StreamRef, s); difference != "" {
			b.wrong(refs[i].node, refs[i].path, "The streams of a union must have the same columns in the same order: %s", difference)
			return nil
		}
	}
	return first
}

// schemaDifference tells the first difference, "" if there is none.
func schemaDifference(a StreamRef, s *stream.Schema, b StreamRef, t *stream.Schema) string {
	for i, f := range s.Fields() {
		j := t.Index(f.Name)
		switch {
		case j < 0:
			return fmt.Sprintf("%s has no column %s, which %s has", b, f.Name, a)
		case !t.Fields()[j].Type.Equal(f.Type):
			return fmt.Sprintf("the column %s is %s in %s and %s in %s", f.Name, f.Type, a, t.Fields()[j].Type, b)
		case i != j && s.Len() == t.Len():
			return fmt.Sprintf("the column %s is number %d in %s and number %d in %s", f.Name, i+1, a, j+1, b)
		}
	}
	for _, f := range t.Fields() {
		if s.Index(f.Name) < 0 {
			return fmt.Sprintf("%s has no column %s, which %s has", a, f.Name, b)
		}
	}
	return ""
}

func (b *builder) joinSinks() {
	for _, s := range b.sinks {
		s.input = b.joinSchemas(s.refs)
		b.sinkChanges(s)
		b.kafkaColumns(s)
		b.encode(s)
		b.warnNever(s)
		b.warnLoop(s)
	}
}

// warnUnused tells of what the job computes or declares for nobody.
func (b *builder) warnUnused() {
	for _, p := range b.order {
		switch {
		case p.source != nil && !p.used:
			b.warn(p.node, p.path, "Nobody reads the source %s", p.name)
		case p.step != nil && !p.used && !slices.ContainsFunc(p.extras, func(x *extra) bool { return x.used }):
			b.warn(p.node, p.path, "Nobody reads the step %s", p.name)
		}
		for _, x := range p.extras {
			switch {
			case x.used:
			case x.failed:
				b.warn(x.node, x.field, "Nobody reads the output %s.%s, so records that fail are only counted", p.name, x.name)
			case x.of != nil:
				b.warn(x.node, x.field, "Nobody reads the output %s.%s, so late records are only counted", p.name, x.name)
			default:
				b.warn(x.node, x.field, "Nobody reads the output %s.%s", p.name, x.name)
			}
		}
	}
	for _, m := range b.job.Modules {
		if info := b.modules[m.Name]; !info.used {
			b.warn(info.node, "modules."+m.Name, "Nobody calls a function of the module %s", m.Name)
		}
	}
}
