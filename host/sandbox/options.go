package sandbox

import (
	"errors"
	"fmt"
	"time"

	"github.com/wasmstream/wasmstream/abi"
)

// pageBytes is the size of one page of Wasm memory.
const pageBytes = 1 << 16

// pagesEnd is the number of pages at which a memory reaches 4 GiB, where the
// engine's 32-bit offsets wrap around. No limit may reach it.
const pagesEnd = 1 << 16

// Options are the limits of an engine. The zero value of a field means its
// default. They are copied by NewEngine and Inspect and do not change later.
type Options struct {
	// MemoryPagesMax bounds the memory of one instance, in pages of 64 KiB
	// (default 1024, which is 64 MiB; at most 65535).
	MemoryPagesMax uint32
	// ModuleBytesMax bounds the size of a module (default 16 MiB).
	ModuleBytesMax int
	// WorkMax bounds what compiling a module takes, as estimated from its instructions, in
	// units of a tenth of a microsecond of one processor (default 16 million: Go's guests have
	// 7 million, and 13 with encoding/json). No function may take more than a 14th of it.
	WorkMax int
	// FunctionsMax bounds the functions that a module defines (default 10000).
	FunctionsMax int
	// TableElementsMax bounds the entries of a module's table (default 16384).
	// A table cannot grow.
	TableElementsMax uint32
	// FrameBytesMax bounds the frame of one call (default 16 MiB).
	FrameBytesMax int
	// EffectsBytesMax bounds the answer of one call (default 16 MiB).
	EffectsBytesMax int
	// LogLinesMax bounds the lines that one call may log (default 100); what
	// comes later is counted and dropped.
	LogLinesMax int
	// MessageBytesMax bounds a log line and the message of a fault (default 4096).
	MessageBytesMax int
	// WaitsMax bounds how often one call may wait for time to pass (default 1000).
	// Time does not pass inside a call, so a guest that sleeps would never wake.
	WaitsMax int
	// FuelPerCall bounds what one call into a guest may do, in units of about one
	// instruction (default 100 million, which is a hundredth of a second, or half a second for the worst code). A guest cannot
	// be interrupted, and the collector waits for it.
	FuelPerCall int
	// FuelPerOp bounds it further for a call whose number of ops was told (see
	// Instance.Ops): to so much for each op (default 50 million).
	FuelPerOp int
	// FuelPerStart bounds the initialization of an instance (default 200 million).
	FuelPerStart int
	// StackBytesMax bounds how deeply calls may be nested in a guest, by what their
	// frames take (default 16 MiB).
	StackBytesMax int
	// CacheDir is where compiled code is kept between processes; empty means
	// nowhere. A directory that cannot be used costs time, never the run.
	CacheDir string
	// CacheBytesMin is the size from which modules are kept in the cache (default
	// 16 KiB). Smaller ones compile faster than a disk confirms a write.
	CacheBytesMin int
	// Child compiles modules in processes of their own, one at a time. Without one they are compiled in
	// this process, where what a hostile module does to the compiler it does to all
	// others: right for tests, and for modules that one trusts.
	Child Child
	// Now is the clock by which a module whose compilation took too long is tried again
	// after a while. Without one it is not.
	Now func() time.Time
	// FreshInstance throws the guest away after every call. The answers must stay
	// the same, since memory is a cache by contract; suites run with it to prove so.
	FreshInstance bool
	// Log receives lines about the engine itself, such as an unusable cache, with
	// the ABI's log levels; nil drops them. Any goroutine that loads a module may
	// call it.
	Log func(level int, message string)

	unmetered bool // for tests that measure what fuel costs
}

// Validate returns an error that names every field out of its range, or nil.
func (o Options) Validate() error {
	var problems []error
	if o.MemoryPagesMax >= pagesEnd {
		problems = append(problems, fmt.Errorf("MemoryPagesMax is %d; choose from 1 to %d pages of 64 KiB, or 0 for the default %d",
			o.MemoryPagesMax, pagesEnd-1, defaultOptions.MemoryPagesMax))
	}
	if o.TableElementsMax > tableElementsCeiling {
		problems = append(problems, fmt.Errorf("TableElementsMax is %d; choose from 1 to %d, or 0 for the default %d",
			o.TableElementsMax, tableElementsCeiling, defaultOptions.TableElementsMax))
	}
	for _, field := range []struct {
		name            string
		value, most     int
		defaultForField int
	}{
		{"ModuleBytesMax", o.ModuleBytesMax, 1 << 30, defaultOptions.ModuleBytesMax},
		{"CacheBytesMin", o.CacheBytesMin, 1 << 30, defaultOptions.CacheBytesMin},
		{"WorkMax", o.WorkMax, WorkCeiling, defaultOptions.WorkMax},
		{"FunctionsMax", o.FunctionsMax, 1_000_000, defaultOptions.FunctionsMax},
		{"FrameBytesMax", o.FrameBytesMax, 1 << 30, defaultOptions.FrameBytesMax},
		{"EffectsBytesMax", o.EffectsBytesMax, 1 << 30, defaultOptions.EffectsBytesMax},
		{"LogLinesMax", o.LogLinesMax, 1_000_000, defaultOptions.LogLinesMax},
		{"MessageBytesMax", o.MessageBytesMax, 1 << 20, defaultOptions.MessageBytesMax},
		{"WaitsMax", o.WaitsMax, 1_000_000, defaultOptions.WaitsMax},
		{"FuelPerCall", o.FuelPerCall, fuelCeiling, defaultOptions.FuelPerCall},
		{"FuelPerOp", o.FuelPerOp, fuelCeiling, defaultOptions.FuelPerOp},
		{"FuelPerStart", o.FuelPerStart, fuelCeiling, defaultOptions.FuelPerStart},
		{"StackBytesMax", o.StackBytesMax, 256 << 20, defaultOptions.StackBytesMax},
	} {
		if field.value < 0 || field.value > field.most {
			problems = append(problems, fmt.Errorf("%s is %d; choose from 1 to %d, or 0 for the default %d",
				field.name, field.value, field.most, field.defaultForField))
		}
	}
	return errors.Join(problems...)
}

// tableElementsCeiling keeps one table under 8 MiB.
const tableElementsCeiling = 1 << 20

// WorkCeiling is the most that WorkMax may be.
const WorkCeiling = 1_000_000_000

// fuelCeiling is some minutes, beyond which a limit is none.
const fuelCeiling = 1_000_000_000_000

// The table default leaves room for Go guests, whose tables hold one entry for
// each function after 4096 unused ones.
var defaultOptions = Options{
	MemoryPagesMax:   1024,
	ModuleBytesMax:   16 << 20,
	WorkMax:          16_000_000,
	CacheBytesMin:    16 << 10,
	FunctionsMax:     10_000,
	TableElementsMax: 16_384,
	FrameBytesMax:    abi.FrameBytesMax,
	EffectsBytesMax:  abi.EffectsBytesMax,
	LogLinesMax:      100,
	MessageBytesMax:  abi.MessageBytesMax,
	WaitsMax:         1000,
	FuelPerCall:      100_000_000,
	FuelPerOp:        50_000_000,
	FuelPerStart:     200_000_000,
	StackBytesMax:    16 << 20,
}

// withDefaults returns the options with every zero replaced.
func (o Options) withDefaults() Options {
	d := defaultOptions
	o.MemoryPagesMax = orDefault(o.MemoryPagesMax, d.MemoryPagesMax)
	o.ModuleBytesMax = orDefault(o.ModuleBytesMax, d.ModuleBytesMax)
	o.CacheBytesMin = orDefault(o.CacheBytesMin, d.CacheBytesMin)
	o.WorkMax = orDefault(o.WorkMax, d.WorkMax)
	o.FunctionsMax = orDefault(o.FunctionsMax, d.FunctionsMax)
	o.TableElementsMax = orDefault(o.TableElementsMax, d.TableElementsMax)
	o.FrameBytesMax = orDefault(o.FrameBytesMax, d.FrameBytesMax)
	o.EffectsBytesMax = orDefault(o.EffectsBytesMax, d.EffectsBytesMax)
	o.LogLinesMax = orDefault(o.LogLinesMax, d.LogLinesMax)
	o.MessageBytesMax = orDefault(o.MessageBytesMax, d.MessageBytesMax)
	o.WaitsMax = orDefault(o.WaitsMax, d.WaitsMax)
	o.FuelPerCall = orDefault(o.FuelPerCall, d.FuelPerCall)
	o.FuelPerOp = orDefault(o.FuelPerOp, d.FuelPerOp)
	o.FuelPerStart = orDefault(o.FuelPerStart, d.FuelPerStart)
	o.StackBytesMax = orDefault(o.StackBytesMax, d.StackBytesMax)
	if o.Log == nil {
		o.Log = func(int, string) {}
	}
	return o
}

func orDefault[T int | uint32](value, otherwise T) T {
	if value == 0 {
		return otherwise
	}
	return value
}
