package wasmstream

import (
	"github.com/wasmstream/wasmstream/guest-sdk/go/internal/raw"
)

// Parameter is a value that the job file sets.
type Parameter struct {
	// Column is its place among the parameters, its name and its type.
	Column Column
	// Default is its value as JSON when the job file does not set it; "" if it must.
	Default string
	// Doc is a line for people.
	Doc string
}

// Output is a named output, beside the main one.
type Output struct {
	// Name is how jobs call it: STEP.name.
	Name string
	// Columns are those of its rows.
	Columns Columns
}

// Opening is what a function learns when it is opened: once in each instance, and before all else.
type Opening struct {
	// Parameters are those of the function, with what the job file sets.
	Parameters Row
	// Input and Second are the schemas of inputs that are Any.
	Input, Second Schema

	of *base
	op *Op
}

// base is what functions of all roles have in common.
type base struct {
	name, doc, role string
	open            func(*Opening)
	with            []Parameter
	// What a role has no use for is nil.
	parameters, input, second, key, accumulator *schema
	// outputs are all, the main one first; its schema is nil if it has none.
	outputs []*schema
	named   []Output
	states  []State
	// slots are the schemas of an op's slots, values the states whose they are.
	slots  []*schema
	values []*ValueState
	// merges and processingTime are of assigners and triggers.
	merges, processingTime bool
}

// schemas are what a role declares.
type schemas struct {
	input, second, key, accumulator, output Columns
	named                                   []Output
	states                                  []State
}

// bind makes the schemas. It panics at a function that can never work, as the module is started or its tests begin: there
// is nobody to return an error to.
func (b *base) bind(s schemas) {
	if b.name == "" {
		panic("wasmstream: a function of the role " + b.role + " has no Name")
	}
	parameters := make(Columns, len(b.with))
	for i, p := range b.with {
		parameters[i] = p.Column
	}
	b.parameters = newSchema("parameters of "+b.name, parameters)
	b.input = newSchema("input of "+b.name, s.input)
	b.second = newSchema("second input of "+b.name, s.second)
	b.key = newSchema("key of "+b.name, s.key)
	b.accumulator = newSchema("accumulator of "+b.name, s.accumulator)
	b.outputs = []*schema{newSchema("output of "+b.name, s.output)}
	b.named = s.named
	for _, o := range s.named {
		b.outputs = append(b.outputs, newSchema("output "+o.Name+" of "+b.name, o.Columns))
	}
	b.states = s.states
	for i, state := range s.states {
		state.bind(b, i)
	}
	if b.open == nil {
		b.open = func(*Opening) {}
	}
}

// needs panics where a callback is missing.
func (b *base) needs(callbacks ...bool) {
	for _, there := range callbacks {
		if !there {
			panic("wasmstream: " + b.role + " " + b.name + " lacks a callback that it needs")
		}
	}
}

// common makes what all functions have be there for the machine.
func (b *base) common() *base { return b }

// opened performs an opening.
func (b *base) opened(o *Op) {
	opening := &Opening{Parameters: o.in(b.parameters), of: b, op: o}
	if o.arg != 0 {
		at := o.arg
		opening.Input = b.input.bindAny(o, &at)
		opening.Second = b.second.bindAny(o, &at)
	}
	b.open(opening)
}

// unknown ends a call with an op of a kind that the role does not know.
func (b *base) unknown() {
	raw.Fail("wasmstream: " + b.role + " " + b.name + " was asked for an op of a kind that it does not know")
}

// describe appends the function's part of the manifest.
func (b *base) describe(text []byte) []byte {
	text = appendQuoted(append(text, `{"name": `...), b.name)
	text = appendQuoted(append(text, `, "role": `...), b.role)
	text = b.input.describe(text, "input")
	text = b.second.describe(text, "secondInput")
	text = b.key.describe(text, "key")
	text = b.accumulator.describe(text, "accumulator")
	text = b.outputs[0].describe(text, "output")
	for i, o := range b.named {
		text = appendQuoted(append(list(text, "namedOutputs", i), `{"name": `...), o.Name)
		text = append(b.outputs[i+1].describe(text, "schema"), '}')
	}
	text = closeList(text, len(b.named))
	for i, p := range b.with {
		text = appendField(list(text, "parameters", i), p.Column)
		text = text[:len(text)-1]
		if p.Default != "" {
			text = appendQuoted(append(text, `, "default": `...), p.Default)
		}
		text = append(appendDoc(text, p.Doc), '}')
	}
	text = closeList(text, len(b.with))
	for i, s := range b.states {
		text = s.describe(list(text, "states", i))
	}
	text = closeList(text, len(b.states))
	if b.merges {
		text = append(text, `, "merges": true`...)
	}
	if b.processingTime {
		text = append(text, `, "processingTime": true`...)
	}
	return append(appendDoc(text, b.doc), '}')
}

// list begins the entry of a list, and the list before the first.
func list(text []byte, key string, i int) []byte {
	if i > 0 {
		return append(text, ", "...)
	}
	return append(text, `, "`+key+`": [`...)
}

func closeList(text []byte, n int) []byte {
	if n > 0 {
		return append(text, ']')
	}
	return text
}
