package job

import (
	"fmt"
	"strings"

	"github.com/wasmstream/wasmstream/abi"
	"github.com/wasmstream/wasmstream/host/stream"
)

const (
	processOperation          = "process"
	coProcessOperation        = "co-process"
	broadcastProcessOperation = "broadcast-process"
)

// Process asks a function about each record of a key and about its timers. Its output
// is the function's; the function's other outputs are the step's.
type Process struct {
	Function *Function
	// Left and Right are the two inputs of co-process, or the keyed and the broadcast
	// input of broadcast-process. Of process neither is set.
	Left, Right Side
	Broadcast   bool // Right has no key: each task gets all of it
}

// isProcess tells of steps that a process function does all of.
func (p *producer) isProcess() bool {
	switch p.operation {
	case processOperation, coProcessOperation, broadcastProcessOperation:
		return true
	}
	return false
}

// isTwoSided tells of steps whose records come from a left or a right side.
func (p *producer) isTwoSided() bool { return p.isJoin() || p.operation == coProcessOperation }

// checkProcess refuses what belongs to other steps.
func (b *builder) checkProcess(p *producer) bool {
	for _, name := range []string{"aggregate", "apply", "output"} {
		if n := p.node.get(name); n != nil {
			b.wrong(n, p.path+"."+name, "The step %s has %s, which belongs to a window, and a process function puts out its rows itself", p.name, name)
		}
	}
	if p.operation != coProcessOperation {
		if !p.node.has("from") {
			b.wrong(p.node, p.path, "The step %s reads nothing: the field from is missing (a source, a step or step.output)", p.name)
		}
		return p.node.get(p.operation).ok
	}
	for _, f := range []struct{ name, hint string }{
		{"from", "left and right say what it reads"}, {"key-by", "left-key and right-key are its key"},
	} {
		if n := p.node.get(f.name); n != nil {
			b.wrong(n, p.path+"."+f.name, "A co-process has no %s: %s", f.name, f.hint)
		}
	}
	return p.node.get(p.operation).ok
}

func (b *builder) buildProcess(p *producer) {
	n, at := p.node.get(p.operation), p.path+"."+p.operation
	plan := &Process{Broadcast: p.operation == broadcastProcessOperation}
	p.step.Process = plan
	var key []stream.Field
	if p.operation == coProcessOperation {
		key = b.joinKeys(p, n)
	} else {
		key = b.keyBy(p)
		p.keys[0] = p.step.KeyBy
	}
	c := call{node: n, path: at, field: p.operation, roles: []string{roleOf(p.operation)}, sides: p.sides, key: key, keyed: true}
	if p.operation != processOperation {
		c.node, c.path = n.get("function"), at+".function"
		plan.Left, plan.Right = p.sides[0].plan(), p.sides[1].plan()
		plan.Left.Key, plan.Right.Key = p.keys[0], p.keys[1]
		p.step.KeyBy, p.step.From = nil, nil
	}
	for _, s := range p.sides {
		if s.timeless != "" {
			p.timeless = s.timeless
		}
	}
	if c.node == nil || !c.node.ok {
		return
	}
	if plan.Function = b.function(p, c); plan.Function == nil {
		return
	}
	p.output = plan.Function.Result()
	b.warnForEver(p, plan.Function, c, key)
}

// roleOf is the role of the function that does an operation.
func roleOf(operation string) string {
	switch operation {
	case coProcessOperation:
		return abi.RoleCoProcess
	case broadcastProcessOperation:
		return abi.RoleBroadcastProcess
	}
	return abi.RoleProcess
}

// warnForEver tells of state that is kept for each of keys without end: it neither
// belongs to a window nor has a time to live.
func (b *builder) warnForEver(p *producer, f *Function, c call, key []stream.Field) {
	if isFew(key) {
		return
	}
	names := f.lasting(abi.ScopeKey)
	if len(names) == 0 {
		return
	}
	b.warn(c.node.get("wasm"), c.path+".wasm", "The step %s keeps %s of the function %s for every key that ever comes, unless the function clears it: state of a key has no window that ends, and there is no ttl; give it one in the function's manifest if keys go out of use",
		p.name, strings.Join(names, ", "), f.Name)
}

// lasting are the states of a scope that have no time to live; f may be nil.
func (f *Function) lasting(scope string) (names []string) {
	if f == nil {
		return nil
	}
	for i := range f.States {
		if s := &f.States[i]; s.TTL == 0 && s.Scope == scope {
			names = append(names, s.Name)
		}
	}
	return names
}

// isFew tells of keys of which there can only be few.
func isFew(key []stream.Field) bool {
	for _, f := range key {
		if f.Type.Kind != stream.Boolean {
			return false
		}
	}
	return true
}

func (s *Step) renderProcess(b *strings.Builder) {
	p := s.Process
	if p.Left.Input == nil {
		fmt.Fprintf(b, "  key %s\n", columns(s.Input, s.KeyBy))
		p.Function.render(b, s.Input)
		return
	}
	for i, side := range s.Sides() {
		word := joinWords[LeftJoin+JoinType(i)]
		if p.Broadcast {
			word = [2]string{"keyed", "broadcast"}[i]
		}
		fmt.Fprintf(b, "  %s from %s\n    input %s\n", word, list(side.From), side.Input)
		if side.Key != nil {
			fmt.Fprintf(b, "    key %s\n", columns(side.Input, side.Key))
		}
	}
	p.Function.render(b, p.Left.Input, p.Right.Input)
}

var processFields = []field{
	{name: "process", doc: "A Wasm function that is asked about each record of a key, with states and timers; needs key-by.", shape: wasmShape},
	{name: "co-process", doc: "A process function with two inputs that share keys, states and timers.", shape: &shape{what: isFields, fields: []field{
		{name: "left", doc: "The first input: a source, a step or step.output; a list is a union.", required: true, shape: fromShape},
		{name: "right", doc: "The second input: a source, a step or step.output; a list is a union.", required: true, shape: fromShape},
		{name: "left-key", doc: "The columns that the first input's records are grouped by.", required: true, shape: columnsShape},
		{name: "right-key", doc: "The second input's columns, in the order of left-key.", required: true, shape: columnsShape},
		{name: "function", doc: "The function.", required: true, shape: wasmShape},
	}}},
	{name: "broadcast-process", doc: "A process function that gets records of a key and, in each task, all records of a second input; needs key-by.", shape: &shape{what: isFields, fields: []field{
		{name: "broadcast", doc: "The second input: a source, a step or step.output; a list is a union.", required: true, shape: fromShape},
		{name: "function", doc: "The function.", required: true, shape: wasmShape},
	}}},
}
