package wasmstream

import (
	"encoding/binary"
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
	Open func(parameters *Row)
	// Create makes a new accumulator of a row of zeros without nulls. Optional if that is it already.
	Create func(acc *Row)
	// Add adds a record.
	Add func(acc, in *Row)
	// Merge adds another accumulator, which is gone afterwards.
	Merge func(acc, other *Row)
	// Result fills the result, a row of zeros without nulls, and leaves the accumulator alone.
	Result func(acc, out *Row)

	parameters, input, accumulator, output *schema
	machine                                *machine
	acc, other, in, out                    Row
	// slots are accumulators of variable width, each in a buffer that is kept from frame to frame.
	slots []variableSlot
}

// Parameter is a value that the job file sets.
type Parameter struct {
	Column Column
	// Default is its value as JSON when the job file does not set it; "" if it must.
	Default string
	// Doc is a line for people.
	Doc string
}

// variableSlot is an accumulator of variable width during a frame.
type variableSlot struct {
	row            Row
	loaded, edited bool
}

// prepare binds the columns and fills in what may be left out.
func (a *Aggregate) prepare(m *machine) {
	if a.Name == "" || a.Add == nil || a.Merge == nil || a.Result == nil {
		panic("wasmstream: aggregate " + a.Name + " needs a Name, Add, Merge and Result")
	}
	parameters := make(Columns, len(a.Parameters))
	for i, p := range a.Parameters {
		parameters[i] = p.Column
	}
	a.machine = m
	a.parameters = bind("parameters of "+a.Name, parameters)
	a.input = bind("input of "+a.Name, a.Input)
	a.accumulator = bind("accumulator of "+a.Name, a.Accumulator)
	a.output = bind("output of "+a.Name, a.Output)
	a.acc = Row{schema: a.accumulator, writable: true}
	a.other = Row{schema: a.accumulator}
	a.in = Row{schema: a.input}
	a.out = Row{schema: a.output, writable: true}
	if a.Open == nil {
		a.Open = func(*Row) {}
	}
	if a.Create == nil {
		a.Create = func(*Row) {}
	}
}

// run performs a frame.
func (a *Aggregate) run(f frame) {
	if f.stride != 0 {
		a.ops(f)
		return
	}
	a.beginVariable(f)
	a.ops(f)
	a.endVariable(f)
}

// ops performs a frame's ops. The loop is the guest's hot path: one load for kind and slot, one for row and argument.
func (a *Aggregate) ops(f frame) {
	acc, in := &a.acc, &a.in
	op := f.ops
	for i := uint32(0); i < f.count; i, op = i+1, unsafe.Add(op, raw.OpBytes) {
		kindSlot := *(*uint64)(op)
		rowArg := *(*uint64)(unsafe.Add(op, 8))
		kind := uint32(kindSlot) & 0xFFFF
		if kind == raw.OpOpen {
			a.Open(&Row{base: unsafe.Add(f.base, uint32(rowArg)), schema: a.parameters})
			continue
		}
		if f.stride == 0 {
			acc = a.variable(f, uint32(kindSlot>>32), kind != raw.OpResult)
		} else {
			acc.base = unsafe.Add(f.slots, uintptr(uint32(kindSlot>>32))*f.stride)
		}
		switch kind {
		case raw.OpAdd:
			in.base = unsafe.Add(f.base, uint32(rowArg))
			a.Add(acc, in)
		case raw.OpCreate:
			a.Create(acc)
		case raw.OpMerge:
			a.merge(f, acc, uint32(rowArg>>32))
		case raw.OpResult:
			a.result(acc, i)
		default:
			raw.Fail("wasmstream: aggregate " + a.Name + " was asked for an op of a kind that it does not know")
		}
	}
}

func (a *Aggregate) merge(f frame, acc *Row, second uint32) {
	if f.stride == 0 {
		a.Merge(acc, a.variable(f, second, false))
		return
	}
	a.other.base = unsafe.Add(f.slots, uintptr(second)*f.stride)
	a.Merge(acc, &a.other)
}

func (a *Aggregate) result(acc *Row, op uint32) {
	out, m := &a.out, a.machine
	if !a.output.variable {
		out.base = m.emit(op, a.output.fixedBytes)
		a.Result(acc, out)
		return
	}
	out.load(a.output, nil)
	a.Result(acc, out)
	at := m.beginEffect(raw.EffectEmit, op, 0)
	m.effects = out.appendTo(m.effects)
	m.endEffect(at)
}

// beginVariable forgets the accumulators of the frame before.
func (a *Aggregate) beginVariable(f frame) {
	for len(a.slots) < int(f.slotsCount) {
		a.slots = append(a.slots, variableSlot{row: Row{schema: a.accumulator, writable: true}})
	}
	for i := range a.slots {
		a.slots[i].loaded, a.slots[i].edited = false, false
	}
}

// variable returns a slot of variable width: a copy that may grow, taken when it is first asked for.
func (a *Aggregate) variable(f frame, slot uint32, edited bool) *Row {
	s := &a.slots[slot]
	if !s.loaded {
		entry := *(*uint64)(unsafe.Add(f.slots, uintptr(slot)*raw.SlotEntryBytes))
		s.row.load(a.accumulator, unsafe.Slice((*byte)(unsafe.Add(f.base, uint32(entry))), entry>>32))
		s.loaded = true
	} else if len(s.row.buffer) > wasteBytes+2*a.accumulator.fixedBytes {
		// Values that were replaced are still in the buffer: many records to one slot must not fill the memory.
		a.machine.scratch = s.row.appendTo(a.machine.scratch[:0])
		s.row.load(a.accumulator, a.machine.scratch)
	}
	s.edited = s.edited || edited
	return &s.row
}

// wasteBytes is how far a slot's buffer grows before replaced values are cleared out of it.
const wasteBytes = 4096

// endVariable answers the accumulators that were edited.
func (a *Aggregate) endVariable(f frame) {
	for i := range a.slots[:f.slotsCount] {
		if s := &a.slots[i]; s.edited {
			at := a.machine.beginEffect(raw.EffectSetSlot, f.count-1, uint32(i))
			a.machine.effects = s.row.appendTo(a.machine.effects)
			a.machine.endEffect(at)
		}
	}
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
		text = appendField(text, p.Column.bound())
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

// emit opens an effect of a row of fixed width, all zero, and returns the row.
func (m *machine) emit(op uint32, rowBytes int) unsafe.Pointer {
	at := len(m.effects)
	end := at + raw.EffectBytes + rowBytes
	if end > cap(m.effects) {
		m.grow(end)
	}
	m.effects = m.effects[:end]
	b := m.effects[at:end]
	clear(b)
	binary.LittleEndian.PutUint64(b[0:8], raw.EffectEmit|uint64(op)<<32)
	binary.LittleEndian.PutUint64(b[8:16], uint64(rowBytes))
	return unsafe.Pointer(&b[raw.EffectBytes])
}
