package job

import (
	"fmt"
	"slices"
	"strings"
)

// Limits bound what a step takes of the host: each of its tasks, and each function in
// it, for itself. A function that would go beyond one fails on that op; a step without
// functions fails the job.
type Limits struct {
	StateBytes  int64 // of a task's state as it is in memory
	Entries     int64 // of a task's state: keys, keys and windows, and entries of lists and maps
	Timers      int64 // of a task
	Windows     int64 // that a function puts one record into
	TimerCalls  int64 // of one key, in one advance of time, for timers that were set during it
	LogLines    int64 // of a function, in a minute
	OutputBytes int64 // of what a function answers to one call
	Fuel        int64 // of a call
	FuelPerOp   int64 // for each op of a call
	MemoryBytes int64 // of an instance of a function's module
	Compile     int64 // units of work to compile a module; of a job, never of a step
}

// The defaults of Limits.
const (
	stateBytesDefault  = 2 << 30
	entriesDefault     = 20_000_000
	timersDefault      = 10_000_000
	windowsDefault     = 10_000
	timerCallsDefault  = 100_000
	logLinesDefault    = 1000
	outputBytesDefault = 16 << 20
	fuelDefault        = 100_000_000
	fuelPerOpDefault   = 50_000_000
	memoryBytesDefault = 64 << 20
	compileDefault     = 16_000_000
)

// The most that Limits may be.
const (
	StateBytesMax  = 1 << 44
	CountMax       = 1_000_000_000_000 // of entries, timers, calls, lines and units of fuel
	WindowsMax     = 1_000_000
	OutputBytesMax = 1 << 30
	MemoryBytesMax = 2 << 30
	CompileMax     = 1_000_000_000
	// What a module needs at least to be asked at all.
	outputBytesMin = 1 << 10
	memoryBytesMin = 64 << 10
	fuelMin        = 1000
)

func defaultLimits() Limits {
	return Limits{
		StateBytes: stateBytesDefault, Entries: entriesDefault, Timers: timersDefault, Windows: windowsDefault,
		TimerCalls: timerCallsDefault, LogLines: logLinesDefault, OutputBytes: outputBytesDefault,
		Fuel: fuelDefault, FuelPerOp: fuelPerOpDefault, MemoryBytes: memoryBytesDefault, Compile: compileDefault,
	}
}

// limitFields are the fields of limits, in the order of limit's values.
var limitFields = []field{
	{name: "state", doc: "What the step keeps in one task, in memory: keys and values; default 2GiB.", shape: &shape{what: isBytes, min: 1, max: StateBytesMax, example: "2GiB"}},
	{name: "entries", doc: "How many entries that is in one task: keys, or keys and windows, and entries of lists and maps; default 20000000.", shape: &shape{what: isInteger, min: 1, max: CountMax}},
	{name: "timers", doc: "How many timers are set in one task; default 10000000.", shape: &shape{what: isInteger, min: 1, max: CountMax}},
	{name: "windows", doc: "How many windows an assigner that is a function puts one record into; default 10000.", shape: &shape{what: isInteger, min: 1, max: WindowsMax}},
	{name: "timer-calls", doc: "How often timers of one key call a function in one advance of time, beyond the timers that were set before it; default 100000.", shape: &shape{what: isInteger, min: 0, max: CountMax}},
	{name: "log", doc: "How many lines a function logs in a minute; the rest is counted. Default 1000.", shape: &shape{what: isInteger, min: 0, max: CountMax}},
	{name: "output", doc: "How much a function answers to one call; default 16MiB.", shape: &shape{what: isBytes, min: outputBytesMin, max: OutputBytesMax, example: "16MiB"}},
	{name: "fuel", doc: "What one call of a function may do, in units of about one instruction; default 100000000.", shape: &shape{what: isInteger, min: fuelMin, max: CountMax}},
	{name: "fuel-per-op", doc: "The same for each record or other op of a call; default 50000000.", shape: &shape{what: isInteger, min: fuelMin, max: CountMax}},
	{name: "memory", doc: "The memory of a function's instance, in whole pages of 64KiB; default 64MiB.", shape: &shape{what: isBytes, min: memoryBytesMin, max: MemoryBytesMax, example: "64MiB"}},
}

// compileField is the limit that only a job has: modules belong to no step.
var compileField = field{name: "compile", doc: "What compiling a module may take, in units of about a tenth of a microsecond; raise it for modules that you trust, of which a refusal says what they take. Default 16000000.", shape: &shape{what: isInteger, min: 1000, max: CompileMax}}

// functionLimits is where in limitFields those begin that are about functions alone.
const functionLimits = 3

// values are the limits in the order of jobLimitsShape.
func (l *Limits) values() []*int64 {
	return []*int64{
		&l.StateBytes, &l.Entries, &l.Timers, &l.Windows, &l.TimerCalls, &l.LogLines, &l.OutputBytes, &l.Fuel, &l.FuelPerOp, &l.MemoryBytes,
		&l.Compile,
	}
}

var (
	limitsShape    = &shape{what: isFields, fields: limitFields}
	jobLimitsShape = &shape{what: isFields, fields: append(slices.Clone(limitFields), compileField)}
)

var limitsField = field{name: "limits", doc: "What each task of the step, and each function of it, may take at most: of state, timers, fuel, memory, log. Beyond it a function fails on the record at hand, and a step without functions fails the job.", shape: limitsShape}

// limits reads a mapping of limits; what it does not set is as in l.
func (l Limits) with(n *node) Limits {
	for i, at := range l.values() {
		*at = number(n.get(jobLimitsShape.fields[i].name), *at)
	}
	return l
}

// stepLimits reads those of a step, and refuses what would be about functions in a step
// that has none.
func (b *builder) stepLimits(p *producer) {
	n := p.node.get(limitsField.name)
	p.step.Limits = b.job.Limits.with(n)
	for _, f := range limitFields[functionLimits:] {
		if v := n.get(f.name); v != nil && v.ok && !asks(p.node) {
			at := p.path + ".limits." + f.name
			b.wrong(v, at, "%s is about a step's functions, and the step %s has none", f.name, p.name)
		}
	}
}

// String tells the limits that are not the defaults, as the job file writes them.
func (l Limits) String() string {
	other := defaultLimits()
	usual := other.values()
	var parts []string
	for i, v := range l.values() {
		switch {
		case *v == *usual[i]:
		case jobLimitsShape.fields[i].shape.what == isBytes:
			parts = append(parts, jobLimitsShape.fields[i].name+" "+formatBytes(*v))
		default:
			parts = append(parts, fmt.Sprintf("%s %d", jobLimitsShape.fields[i].name, *v))
		}
	}
	return strings.Join(parts, ", ")
}
