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

// runFixed is run where all rows written are of fixed width: the guest's hot path. One load for kind and slot, one for
// the row; adds first, since each branch costs as much as a load; and few calls, since each costs as much as ten.
func (f *Aggregate) runFixed(fr frame) {
	base, slots, stride, op := fr.base, fr.slots, fr.stride, fr.ops
	// Held here while ops of no other kind emit.
	effects, used, effectBytes := guest.effects, guest.used, raw.EffectBytes+f.outputs[0].fixedBytes
loop:
	for i, n := uint32(0), fr.count; i < n; i++ {
		kindSlot := *(*uint64)(op)
		row := unsafe.Add(base, *(*uint32)(unsafe.Add(op, raw.OpAtRow)))
		acc := unsafe.Add(slots, uintptr(kindSlot>>32)*stride)
		switch uint32(kindSlot) & 0xFFFF {
		case raw.OpAdd:
			f.Add(Row{base: acc, checks: allow(f.accumulator, true)}, Row{base: row, checks: allow(f.input, false)})
		case raw.OpCreate:
			f.Create(Row{base: acc, checks: allow(f.accumulator, true)})
		case raw.OpResult:
			if used+effectBytes > len(effects) {
				if !guest.grow(used + effectBytes) {
					break loop
				}
				effects = guest.effects
			}
			effect := unsafe.Pointer(&effects[used])
			used += effectBytes
			*(*uint64)(effect) = raw.EffectEmit | uint64(i)<<32
			*(*uint64)(unsafe.Add(effect, raw.EffectAtLength)) = uint64(effectBytes - raw.EffectBytes)
			out := Row{base: unsafe.Add(effect, raw.EffectBytes), checks: allow(f.outputs[0], true)}
			f.Result(Row{base: acc, checks: allow(f.accumulator, false)}, out)
		default:
			f.merge(fr, op)
		}
		op = unsafe.Add(op, raw.OpBytes)
	}
	guest.used = used
}

// merge performs a merge of slots of fixed width.
func (f *Aggregate) merge(fr frame, op unsafe.Pointer) {
	kind, slot := *(*uint16)(op), *(*uint32)(unsafe.Add(op, raw.OpAtSlot))
	if kind != raw.OpMerge {
		f.unknown()
	}
	second := *(*uint32)(unsafe.Add(op, raw.OpAtArg))
	acc := Row{base: unsafe.Add(fr.slots, uintptr(slot)*fr.stride), checks: allow(f.accumulator, true)}
	f.Merge(acc, Row{base: unsafe.Add(fr.slots, uintptr(second)*fr.stride), checks: allow(f.accumulator, false)})
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
