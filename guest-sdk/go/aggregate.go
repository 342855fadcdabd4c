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

	// Open gets the parameters, once in each instance and before all else. Optional.
	Open func(*Opening)
	// Create makes a new accumulator of a row of zeros without nulls. Optional if that is it already.
	Create func(acc Row)
	// Add adds a record.
	Add func(acc, in Row)
	// Merge adds another accumulator, which is gone afterwards.
	Merge func(acc, other Row)
	// Result fills the result, a row of zeros without nulls, and leaves the accumulator alone.
	Result func(acc, out Row)

	base
}

func (f *Aggregate) prepare() {
	f.declare(base{name: f.Name, doc: f.Doc, role: "aggregate", open: f.Open, with: f.Parameters},
		schemas{input: f.Input, accumulator: f.Accumulator, output: f.Output}, f.Add != nil, f.Merge != nil, f.Result != nil)
	f.slots = []*schema{f.accumulator}
	if f.Create == nil {
		f.Create = func(Row) {}
	}
}

// run performs a frame's ops.
func (f *Aggregate) run(fr frame) bool {
	if fr.stride == 0 || f.outputs[0].variable || fr.isOpening() {
		return false
	}
	f.runFixed(fr)
	return true
}

// runFixed is run where all rows written are of fixed width.
func (f *Aggregate) runFixed(fr frame) {
	current.frame = fr
	for i := f.addRows(0, f.Add); i < fr.count && !guest.tooLarge; i = f.addRows(i+1, f.Add) {
		f.perform(fr, i)
	}
}

// addRows performs adds from op i on, and returns the first of another kind. It is written as emitRows is.
func (f *Aggregate) addRows(i uint32, add func(acc, in Row)) uint32 {
	o := &current
	if add == nil {
		return i
	}
	for {
		op := unsafe.Add(o.ops, uintptr(i)*raw.OpBytes)
		kindSlot := *(*uint64)(op)
		// Below zero: behind the last op. Not zero: another op.
		if (int(o.count)-1-int(i))>>63|int(kindSlot&0xFFFF^raw.OpAdd) != 0 {
			return i
		}
		row := unsafe.Add(o.base, *(*uint32)(unsafe.Add(op, raw.OpAtRow)))
		acc := unsafe.Add(o.slots, uintptr(kindSlot>>32)*o.stride)
		add(Row{base: acc, checks: allow(f.accumulator, true)}, Row{base: row, checks: allow(f.input, false)})
		i++
	}
}

// perform performs an op of another kind.
func (f *Aggregate) perform(fr frame, i uint32) {
	op := unsafe.Add(fr.ops, uintptr(i)*raw.OpBytes)
	acc := unsafe.Add(fr.slots, uintptr(*(*uint32)(unsafe.Add(op, raw.OpAtSlot)))*fr.stride)
	switch *(*uint16)(op) {
	case raw.OpCreate:
		f.Create(Row{base: acc, checks: allow(f.accumulator, true)})
	case raw.OpResult:
		m, used, end := &guest, guest.used, guest.used+raw.EffectBytes+f.outputs[0].fixedBytes
		if end > len(m.effects) && !m.grow(end) {
			return
		}
		m.used = end
		effect := unsafe.Pointer(&m.effects[used])
		*(*uint64)(effect) = raw.EffectEmit | uint64(i)<<32
		*(*uint64)(unsafe.Add(effect, raw.EffectAtLength)) = uint64(f.outputs[0].fixedBytes)
		out := Row{base: unsafe.Add(effect, raw.EffectBytes), checks: allow(f.outputs[0], true)}
		f.Result(Row{base: acc, checks: allow(f.accumulator, false)}, out)
	case raw.OpMerge:
		second := *(*uint32)(unsafe.Add(op, raw.OpAtArg))
		other := Row{base: unsafe.Add(fr.slots, uintptr(second)*fr.stride), checks: allow(f.accumulator, false)}
		f.Merge(Row{base: acc, checks: allow(f.accumulator, true)}, other)
	default:
		f.unknown()
	}
}

// op performs any op, whatever the widths.
func (f *Aggregate) op(o *Op) {
	acc := Row{base: o.edit(o.slot, f.accumulator), checks: allow(f.accumulator, true)}
	switch o.kind {
	case raw.OpCreate:
		f.Create(acc)
	case raw.OpAdd:
		f.Add(acc, o.in(f.input))
	case raw.OpMerge:
		f.Merge(acc, Row{base: o.edit(o.arg, f.accumulator), checks: allow(f.accumulator, false)})
	case raw.OpResult:
		f.Result(Row{base: acc.base, checks: allow(f.accumulator, false)}, o.Emit(0))
	default:
		f.unknown()
	}
}
