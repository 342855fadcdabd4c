package runtime

import (
	"encoding/binary"
	"sync/atomic"

	"github.com/wasmstream/wasmstream/abi"
	guests "github.com/wasmstream/wasmstream/host/guest"
	"github.com/wasmstream/wasmstream/host/job"
)

// FunctionMetrics are those of one function of a task.
type FunctionMetrics struct {
	Kind      TaskKind
	Name      string // of the source, step or sink
	Task      int    // its number among those of that kind and name
	Function  string // module.function
	Role      string
	Instances int // one for each use that the task has for it
	// Calls carry ops, several at a time. Those that are asked again after a fault count
	// again. Fuel is what calls have spent, without starts.
	Calls, Ops, Fuel int64
	// Faults are the ops that it failed on; those of its kind at its place.
	Faults  [faultKinds]int64
	Rebuilt int64 // instances, after faults
	// MemoryBytes is the most that the memory of one of its instances has taken.
	MemoryBytes int64
}

// faultKinds is behind the last kind of fault.
const faultKinds = abi.FaultReentered + 1

// functionMeter is what is counted of one instance of a function. Only its task writes;
// anybody may read.
type functionMeter struct {
	of                 place // the task that asks it
	function           *job.Function
	calls, ops, fuel   atomic.Int64
	rebuilt, mostBytes atomic.Int64
	faults             [faultKinds]atomic.Int64
}

// meteredGuest counts what an instance is asked. It knows what its instance knows: of
// one that does not count fuel the fuel is 0.
type meteredGuest struct {
	Guest
	meter  *functionMeter
	room   *room         // of the task; nil: it has none
	fueled guests.Fueled // nil: it does not count
	sized  sizedGuest    // nil: it does not tell
	frame  []byte        // of the last In, until it is performed
}

// sizedGuest is an instance that tells how large its memory is.
type sizedGuest interface{ MemoryBytes() int }

// metered has the calls of an instance counted.
func (b *builder) metered(instance Guest, f *job.Function) Guest {
	g := &meteredGuest{Guest: instance, room: b.room, meter: &functionMeter{of: b.place, function: f}}
	g.fueled, _ = instance.(guests.Fueled)
	g.sized, _ = instance.(sizedGuest)
	b.job.functions = append(b.job.functions, g.meter)
	return g
}

// Ops implements guest.Fueled.
func (g *meteredGuest) Ops(n int) {
	if g.fueled != nil {
		g.fueled.Ops(n)
	}
}

// Fuel implements guest.Fueled.
func (g *meteredGuest) Fuel() int64 {
	if g.fueled == nil {
		return 0
	}
	return g.fueled.Fuel()
}

// Open implements guest.Instance. What opening costs is no op's.
func (g *meteredGuest) Open(function uint32, frame []byte) ([]byte, error) {
	effects, err := g.Guest.Open(function, frame)
	g.look()
	return effects, err
}

// In implements guest.Instance.
func (g *meteredGuest) In(size int) (frame []byte, pointer uint32, err error) {
	frame, pointer, err = g.Guest.In(size)
	if g.frame = frame; err != nil && guests.KindOf(err) != abi.FaultTooLarge {
		g.spent(g.Fuel())
	}
	return frame, pointer, err
}

// Call implements guest.Instance.
func (g *meteredGuest) Call(function, pointer uint32, length int) ([]byte, error) {
	m := g.meter
	m.calls.Add(1)
	m.ops.Add(int64(binary.LittleEndian.Uint32(g.frame[abi.HeaderAtOpsCount:])))
	g.frame = nil // it may move when the guest works
	effects, err := g.Guest.Call(function, pointer, length)
	g.spent(g.Fuel())
	g.look()
	return effects, err
}

func (g *meteredGuest) spent(fuel int64) {
	g.meter.fuel.Add(fuel)
	g.room.spend(fuel)
}

// look notes how large the memory is.
func (g *meteredGuest) look() {
	if g.sized == nil {
		return
	}
	if n := int64(g.sized.MemoryBytes()); n > g.meter.mostBytes.Load() {
		g.meter.mostBytes.Store(n)
	}
}

// rebuildFuel stands for what a rebuild takes the host, besides the fuel of the start.
const rebuildFuel = 200_000

// Rebuild implements guest.Instance.
func (g *meteredGuest) Rebuild() error {
	g.meter.rebuilt.Add(1)
	err := g.Guest.Rebuild()
	g.room.spend(rebuildFuel + g.RebuildFuel())
	return err
}

// RebuildFuel implements guest.Rebuilt.
func (g *meteredGuest) RebuildFuel() int64 {
	if r, ok := g.Guest.(guests.Rebuilt); ok {
		return r.RebuildFuel()
	}
	return 0
}

// Faulted implements guest.Watching.
func (g *meteredGuest) Faulted(kind abi.FaultKind) {
	if kind < faultKinds {
		g.meter.faults[kind].Add(1)
	}
}

// functionMetrics adds up what the instances of each function of a task have counted, in
// the order in which the plan has the functions.
func (j *Job) functionMetrics() (all []FunctionMetrics) {
	type function struct {
		place
		of *job.Function
	}
	at := map[function]int{}
	for _, m := range j.functions {
		key := function{m.of, m.function}
		i, known := at[key]
		if !known {
			i = len(all)
			at[key] = i
			all = append(all, FunctionMetrics{
				Kind: m.of.kind, Name: m.of.name, Task: m.of.task, Function: m.function.Module.Name + "." + m.function.Name, Role: m.function.Role,
			})
		}
		all[i].add(m)
	}
	return all
}

func (f *FunctionMetrics) add(m *functionMeter) {
	f.Instances++
	f.Calls += m.calls.Load()
	f.Ops += m.ops.Load()
	f.Fuel += m.fuel.Load()
	f.Rebuilt += m.rebuilt.Load()
	f.MemoryBytes = max(f.MemoryBytes, m.mostBytes.Load())
	for kind := range m.faults {
		f.Faults[kind] += m.faults[kind].Load()
	}
}
