package wasmstream

import (
	"slices"
	"strconv"

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
	// timed are the domains of whose timers there is a callback, one bit for each.
	timed uint32
}

// schemas are what a role declares.
type schemas struct {
	input, second, key, accumulator, output Columns
	named                                   []Output
	states                                  []State
}

// declare makes it the base of a function of such schemas; there tells which of the callbacks that it needs it has.
func (b *base) declare(of base, s schemas, there ...bool) {
	*b = of
	b.bind(s)
	if slices.Contains(there, false) {
		refuse(b.role + " " + b.name + " lacks a callback that it needs")
	}
}

// refuse ends the program at a function that can never work, as the module is started or its tests begin. It panics, since
// functions are registered in init, which has nobody to return an error to.
func refuse(text string) { panic("wasmstream: " + text) }

// bind makes the schemas.
func (b *base) bind(s schemas) {
	if b.name == "" {
		refuse("a function of the role " + b.role + " has no Name")
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

// only ends a call with an op of another kind than the one that the role knows.
func (b *base) only(o *Op, kind uint32) {
	if o.kind != kind {
		b.unknown()
	}
}

// common makes what all functions have be there for the machine.
func (b *base) common() *base { return b }

// opened performs an opening.
func (b *base) opened(o *Op) {
	opening := &Opening{Parameters: o.in(b.parameters), of: b, op: o}
	if at := o.arg; at != 0 {
		opening.Input = b.input.bindAny(o, &at)
		opening.Second = b.second.bindAny(o, &at)
	}
	b.open(opening)
}

// sets tells whether the function may set timers of each domain: whether it has a callback for them.
func (b *base) sets(event, processing bool) {
	for domain, has := range [2]bool{event, processing} {
		if has {
			b.timed |= 1 << domain
		}
	}
}

// due calls the callback for a timer. Without one there are timers only of another version of the function.
func (b *base) due(o *Op, onTimer func(*Op)) {
	if onTimer == nil {
		raw.Fail("wasmstream: " + b.role + " " + b.name + " has no OnTimer for a timer that is due")
	}
	onTimer(o)
}

// callIf calls a callback that may be missing.
func (o *Op) callIf(do func(*Op)) {
	if do != nil {
		do(o)
	}
}

// lacks ends a call in which a function asks for one of several things that it does not have.
func (b *base) lacks(what string, i, n int) {
	raw.Fail("wasmstream: " + b.role + " " + b.name + " asks for " + what + " " + strconv.Itoa(i) + " and has " + strconv.Itoa(n) + ", numbered from 0")
}

// lacksState ends a call in which a function uses a state that it does not declare, whose name may not be known.
func (b *base) lacksState(name string) {
	if name != "" {
		name = " " + name
	}
	raw.Fail("wasmstream: " + b.role + " " + b.name + " uses the state" + name + ", which is not among its States")
}

// lacksTimers ends a call in which a function sets a timer that nobody would be told of.
func (b *base) lacksTimers(domain Domain) {
	text := "wasmstream: " + b.role + " " + b.name + " sets a timer, and "
	switch {
	case domain > ProcessingTime:
		text += "there is no domain " + strconv.Itoa(int(domain))
	case b.role == "trigger" && domain == EventTime:
		text += "has no OnEventTime to be called by it"
	case b.role == "trigger":
		text += "has no OnProcessingTime to be called by it"
	case b.isKeyed():
		text += "has no OnTimer to be called by it"
	default:
		text += "functions of its role have none"
	}
	raw.Fail(text)
}

// isKeyed tells roles whose records have a key.
func (b *base) isKeyed() bool {
	return b.role == "process" || b.role == "co-process" || b.role == "broadcast-process"
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
