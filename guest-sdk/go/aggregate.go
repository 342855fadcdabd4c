package wasmstream

import (
	"unsafe"

	"github.com/wasmstream/wasmstream/guest-sdk/go/internal/raw"
)

// Aggregate is an aggregate function: an accumulator per key and window, which records are added to, and a result.
type Aggregate struct {
	// Name is how jobs call it: module.name.
	Name string
	// Doc is a line for people.
	Doc string
	// Input is the columns that it takes; the host finds them in the stream by name and type.
	Input Columns
	// Accumulator is the columns of the accumulator.
	Accumulator Columns
	// Output is the columns of the result.
	Output Columns
	// Parameters are what `with:` in a job file may set.
	Parameters []Parameter

	// Open gets the parameters, once in each instance and before all else. Optional without parameters.
	Open func(parameters Row)
	// Create makes a new accumulator of a row of zeros without nulls. Optional if that is it already.
	Create func(acc Row)
	// Add adds a record.
	Add func(acc, in Row)
	// Merge adds another accumulator, which is gone afterwards.
	Merge func(acc, other Row)
	// Result fills the result, a row of zeros without nulls, and leaves the accumulator alone.
	Result func(acc, out Row)

	parameters, input, accumulator, output *schema
	// slots are the accumulators of a frame where they are of variable width, scratch a result.
	slots   []variableSlot
	scratch []byte
}

// Parameter is a value that the job file sets.
type Parameter struct {
	// Column is its place among the parameters, its name and its type.
	Column Column
	// Default is its value as JSON when the job file does not set it; "" if it must.
	Default string
	// Doc is a line for people.
	Doc string
}

// prepare makes the schemas and fills in what may be left out. It panics at a function that can never work, as the module
// is started or its tests begin: there is nobody to return an error to.
func (a *Aggregate) prepare() {
	if a.Name == "" || a.Add == nil || a.Merge == nil || a.Result == nil {
		panic("wasmstream: aggregate " + a.Name + " needs a Name, Add, Merge and Result")
	}
	parameters := make(Columns, len(a.Parameters))
	for i, p := range a.Parameters {
		parameters[i] = p.Column
	}
	a.parameters = newSchema("parameters of "+a.Name, parameters)
	a.input = newSchema("input of "+a.Name, a.Input)
	a.accumulator = newSchema("accumulator of "+a.Name, a.Accumulator)
	a.output = newSchema("output of "+a.Name, a.Output)
	a.scratch = make([]byte, a.output.fixedBytes)
	if a.Open == nil {
		a.Open = func(Row) {}
	}
	if a.Create == nil {
		a.Create = func(Row) {}
	}
}

// run performs a frame's ops.
func (a *Aggregate) run(f frame) {
	if f.stride != 0 && !a.output.variable {
		a.runFixed(f)
		return
	}
	if f.stride == 0 {
		a.beginVariable(f)
	}
	for i := uint32(0); i < f.count && !guest.tooLarge; i++ {
		a.op(f, i, unsafe.Add(f.ops, i*raw.OpBytes))
	}
	if f.stride == 0 {
		a.endVariable(f)
	}
}

// runFixed is run where all rows written are of fixed width: the guest's hot path. One load for kind and slot, one for
// the row; adds first, since each branch costs as much as a load; and few calls, since each costs as much as ten.
func (a *Aggregate) runFixed(f frame) {
	base, slots, stride, op := f.base, f.slots, f.stride, f.ops
	// Held here while ops of no other kind emit: a global slice costs a write barrier at each change.
	effects, effectBytes := guest.effects, raw.EffectBytes+a.output.fixedBytes
loop:
	for i, n := uint32(0), f.count; i < n; i++ {
		kindSlot := *(*uint64)(op)
		row := unsafe.Add(base, *(*uint32)(unsafe.Add(op, raw.OpAtRow)))
		acc := unsafe.Add(slots, uintptr(kindSlot>>32)*stride)
		switch uint32(kindSlot) & 0xFFFF {
		case raw.OpAdd:
			a.Add(Row{base: acc, checks: allow(a.accumulator, true)}, Row{base: row, checks: allow(a.input, false)})
		case raw.OpCreate:
			a.Create(Row{base: acc, checks: allow(a.accumulator, true)})
		case raw.OpResult:
			at := len(effects)
			if at+effectBytes > cap(effects) {
				var fits bool
				if effects, fits = guest.grow(effects, at+effectBytes); !fits {
					break loop
				}
			}
			effects = effects[:at+effectBytes]
			effect := unsafe.Pointer(&effects[at])
			*(*uint64)(effect) = raw.EffectEmit | uint64(i)<<32
			*(*uint64)(unsafe.Add(effect, raw.EffectAtLength)) = uint64(effectBytes - raw.EffectBytes)
			out := Row{base: unsafe.Add(effect, raw.EffectBytes), checks: allow(a.output, true)}
			a.Result(Row{base: acc, checks: allow(a.accumulator, false)}, out)
		default:
			a.op(f, i, op)
		}
		op = unsafe.Add(op, raw.OpBytes)
	}
	guest.effects = effects
}

// op performs any op.
func (a *Aggregate) op(f frame, i uint32, op unsafe.Pointer) {
	kind := *(*uint16)(op)
	row := unsafe.Add(f.base, *(*uint32)(unsafe.Add(op, raw.OpAtRow)))
	if kind == raw.OpOpen {
		a.Open(Row{base: row, checks: allow(a.parameters, false)})
		return
	}
	acc := Row{
		base:   a.slot(f, *(*uint32)(unsafe.Add(op, raw.OpAtSlot)), kind != raw.OpResult),
		checks: allow(a.accumulator, kind != raw.OpResult),
	}
	switch kind {
	case raw.OpCreate:
		a.Create(acc)
	case raw.OpAdd:
		a.Add(acc, Row{base: row, checks: allow(a.input, false)})
	case raw.OpMerge:
		second := a.slot(f, *(*uint32)(unsafe.Add(op, raw.OpAtArg)), false)
		a.Merge(acc, Row{base: second, checks: allow(a.accumulator, false)})
	case raw.OpResult:
		a.result(acc, i)
	default:
		raw.Fail("wasmstream: aggregate " + a.Name + " was asked for an op of a kind that it does not know")
	}
}

func (a *Aggregate) slot(f frame, slot uint32, edited bool) unsafe.Pointer {
	if f.stride != 0 {
		return unsafe.Add(f.slots, uintptr(slot)*f.stride)
	}
	return a.variable(f, slot, edited)
}

func (a *Aggregate) result(acc Row, op uint32) {
	clear(a.scratch)
	out := Row{base: unsafe.Pointer(unsafe.SliceData(a.scratch)), checks: allow(a.output, true)}
	a.Result(acc, out)
	at := guest.beginEffect(raw.EffectEmit, op, 0)
	guest.effects = a.output.appendRow(guest.effects, out)
	guest.endEffect(at)
}

func (a *Aggregate) describe(text []byte) []byte {
	text = append(text, `{"name": `...)
	text = appendQuoted(text, a.Name)
	text = append(text, `, "role": "aggregate"`...)
	text = a.input.describe(text, "input")
	text = a.accumulator.describe(text, "accumulator")
	text = a.output.describe(text, "output")
	for i, p := range a.Parameters {
		text = append(text, [2]string{`, "parameters": [`, `, `}[min(i, 1)]...)
		text = appendField(text, p.Column)
		text = text[:len(text)-1]
		if p.Default != "" {
			text = append(text, `, "default": `...)
			text = appendQuoted(text, p.Default)
		}
		text = appendDoc(text, p.Doc)
		text = append(text, '}')
	}
	if len(a.Parameters) > 0 {
		text = append(text, ']')
	}
	text = appendDoc(text, a.Doc)
	return append(text, '}')
}
