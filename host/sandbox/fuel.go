package sandbox

import (
	"fmt"

	"github.com/tetratelabs/wazero/api"

	"github.com/wasmstream/wasmstream/abi"
	"github.com/wasmstream/wasmstream/host/sandbox/meter"
)

// meters are the counters of a guest (see package meter). Without a guest, or in a
// test that measures what they cost, there are none.
type meters struct {
	fuel, depth api.MutableGlobal
	budget      int64
	whole       int  // as many ops may spend all of FuelPerCall
	filled      bool // by an In, for the Call that follows
}

// wordBytes is the size of the unit in which depth is counted.
const wordBytes = 8

// find looks for the counters of a new guest, which has spent nothing. Depth is set once:
// whatever takes of it gives it back, or the guest dies.
func (m *meters) find(guest api.Module, o *Options) {
	m.fuel, _ = guest.ExportedGlobal(meter.Fuel).(api.MutableGlobal)
	m.depth, _ = guest.ExportedGlobal(meter.Depth).(api.MutableGlobal)
	m.filled, m.budget = false, m.left()
	if m.depth != nil {
		m.depth.Set(uint64(o.StackBytesMax / wordBytes))
	}
}

// left is the fuel that is left.
func (m *meters) left() int64 {
	if m.fuel == nil {
		return 0
	}
	return int64(m.fuel.Get())
}

func (m *meters) tooDeep() bool { return m.depth != nil && int64(m.depth.Get()) < 0 }

// refuel sets what a call may spend. In and the Call after it are one to the meter.
func (i *Instance) refuel(entry string) {
	m := &i.meters
	if m.fuel == nil || m.filled && entry == abi.ExportCall {
		m.filled = false
		return
	}
	m.filled = entry == abi.ExportIn
	m.budget = i.budget(entry)
	m.fuel.Set(uint64(m.budget))
}

// Costs of host functions in fuel: a call costs as much as some dozens of instructions,
// and what it does with a guest's bytes depends on their number.
const (
	hostCallFuel           = 64
	hostLineFuel           = 4000 // a line of the log is made safe and written
	hostTextFuelPerByte    = 2    // every byte may be a line of its own
	hostRandomBytesPerFuel = 4
	hostCopyBytesPerFuel   = 4
	hostStateFuel          = 400 // a look into a map, which may be cold
)

// charge takes fuel for what a host function is about to do, and stops the call if
// there is not enough: what depends on a number from the guest is charged before it
// is done.
func (i *Instance) charge(fuel int64) {
	if i.meters.fuel == nil {
		return
	}
	left := i.meters.left() - fuel
	i.meters.fuel.Set(uint64(left))
	if left < 0 && i.running { // else nobody would catch it: what a call left unsaid is logged behind it
		panic(&stop{abi.FaultOutOfFuel, i.outOfFuelText(i.entry)})
	}
}

// budget is the fuel for a call of an export.
func (i *Instance) budget(entry string) int64 {
	o := &i.options
	switch {
	case entry == abi.ExportInitialize:
		return int64(i.module.options.FuelPerStart)
	case i.ops > 0 && i.ops < i.meters.whole:
		return int64(i.ops) * int64(o.FuelPerOp)
	}
	return int64(o.FuelPerCall)
}

// Ops tells how many ops the frames of the pairs of In and Call from here on have,
// which bounds what each pair may spend; 0 stands for as many as it takes to have all
// of FuelPerCall. Call it before In.
func (i *Instance) Ops(n int) { i.ops = n }

// Fuel returns what the last pair of In and Call has spent, in units of about one
// instruction. It is the same whenever the pair is repeated on the same memory.
func (i *Instance) Fuel() int64 {
	if i.meters.fuel == nil {
		return 0
	}
	return i.meters.budget - i.meters.left()
}

func (i *Instance) outOfFuelText(entry string) string {
	if entry == abi.ExportInitialize {
		return fmt.Sprintf("it spent the %d units of fuel that a start has (endless loop?); the limit is FuelPerStart, which no field of limits raises", i.meters.budget)
	}
	return fmt.Sprintf("it spent the %d units of fuel that the call had (endless loop?); the limits are FuelPerCall %d and FuelPerOp %d: limits: {fuel: …, fuel-per-op: …} of the step or the job raise them",
		i.meters.budget, i.options.FuelPerCall, i.options.FuelPerOp)
}

func (i *Instance) outOfFuel(entry string, function int) *Fault {
	return &Fault{Kind: abi.FaultOutOfFuel, Module: i.module.name, Entry: entry, Function: function, Fuel: i.Fuel(), Message: i.outOfFuelText(entry)}
}
