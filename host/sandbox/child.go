package sandbox

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// A Child compiles a module in a process of its own, under the limits of the job, as
// CompileChild does there. It returns a *RefusedError that the process answered, a
// *DiedError if it ended otherwise by what the module did to it, and any other error
// if nothing can be said about the module.
type Child func(ctx context.Context, job ChildJob, wasm []byte) error

// ChildJob is what the process has to know. It is meant to be written as JSON.
type ChildJob struct {
	// The limits of the engine's Options that have to do with taking a module.
	MemoryPagesMax   uint32
	ModuleBytesMax   int
	WorkMax          int
	FunctionsMax     int
	TableElementsMax uint32
	// CacheDir is where it leaves the compiled code; CacheBytesMin as in Options.
	CacheDir      string
	CacheBytesMin int
	// CPU bounds the processor time of the process, and Wall the time by the clock,
	// which says little about a module where others use the machine.
	CPU, Wall time.Duration
	// MemoryBytesMax bounds the memory that the process has beyond what it begins with.
	MemoryBytesMax int64
}

// inTurn is a Child that compiles one module at a time, so that many modules at once take
// longer than one, but no more memory or processors.
func inTurn(child Child) Child {
	turn := make(chan struct{}, 1)
	return func(ctx context.Context, job ChildJob, wasm []byte) error {
		select {
		case turn <- struct{}{}:
			defer func() { <-turn }()
			return child(ctx, job, wasm)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// DiedError says that a module killed the process that compiled it.
type DiedError struct {
	Reason string
	// Slow says that its time was up. On a machine that is busy that may be the machine's
	// doing.
	Slow bool
}

// Error implements error.
func (e *DiedError) Error() string { return e.Reason }

// What a child may use: as much for any module, and more for the work that there is to do
// (see work): twice to thrice of what it takes where nobody else uses the processors. More
// memory than for any module it gets for what only a raised WorkMax allows.
const (
	childCPU         = time.Second
	childWorkFree    = 2_500_000 // what it has time for in childCPU
	childCPUPerWork  = 200 * time.Nanosecond
	childWallPerCPU  = 60
	childMemoryBytes = 256 << 20
)

// Modules up to these compile in some milliseconds, less than a process takes to start.
const (
	quickBytes = 8 << 10
	quickWork  = 50_000
)

// isQuick tells of a module that needs no process of its own.
func (m *Module) isQuick(wasm []byte) bool { return len(wasm) <= quickBytes && m.cost.all <= quickWork }

// CompileChild is the work of a Child in its process: it validates a module, puts
// meters into it and compiles it into the cache.
func CompileChild(ctx context.Context, job ChildJob, wasm []byte) error {
	e, err := NewEngine(ctx, Options{
		MemoryPagesMax: job.MemoryPagesMax, ModuleBytesMax: job.ModuleBytesMax, WorkMax: job.WorkMax, FunctionsMax: job.FunctionsMax,
		TableElementsMax: job.TableElementsMax, CacheDir: job.CacheDir, CacheBytesMin: job.CacheBytesMin,
	})
	if err != nil {
		return err
	}
	_, err = e.LoadUnpacked(ctx, "", wasm)
	return errors.Join(err, e.Close())
}

// childJob is the job for a module that costs so much.
func (o *Options) childJob(cost work) ChildJob {
	cpu := childCPU + time.Duration(max(0, cost.all-childWorkFree))*childCPUPerWork
	usual := int64(defaultOptions.WorkMax)
	memory := childMemoryBytes * max(usual, int64(cost.all), functionsOfWork*int64(cost.greatest)) / usual
	return ChildJob{
		MemoryPagesMax: o.MemoryPagesMax, ModuleBytesMax: o.ModuleBytesMax, WorkMax: o.WorkMax, FunctionsMax: o.FunctionsMax,
		TableElementsMax: o.TableElementsMax, CacheDir: o.CacheDir, CacheBytesMin: o.CacheBytesMin,
		CPU: cpu, Wall: childWallPerCPU * cpu, MemoryBytesMax: memory,
	}
}

// compileApart has a Child compile a module that is not in the cache, so that what
// its compilation does to a process it does not do to this one. One that killed its
// process is remembered in the cache, and refused from then on; see mark. It returns the
// cache's entries if the code is there.
func (m *Module) compileApart(ctx context.Context, wasm []byte) ([]entry, error) {
	if m.options.Child == nil || m.isQuick(wasm) {
		return nil, nil
	}
	dir := cacheEntryDir(m.options.CacheDir, m.digest)
	var known mark
	if m.options.CacheDir != "" {
		known = readMark(dir)
		if known.reason != "" && !known.isOver(m.options.Now) {
			return nil, m.poison(known.text())
		}
		if sealed, err := dropUnsealed(dir); err == nil && holdCode(sealed) {
			return sealed, nil
		}
	}
	job := m.options.childJob(m.cost)
	job.CPU, job.Wall = job.CPU<<known.slow, job.Wall<<known.slow
	err := m.options.Child(ctx, job, wasm)
	var died *DiedError
	var refused *RefusedError
	switch {
	case err == nil:
		if known.reason != "" {
			return nil, known.forget()
		}
		return nil, nil
	case errors.As(err, &refused):
		refused.Module = m.name
		return nil, refused
	case errors.As(err, &died):
		return nil, m.died(dir, died, known.slow)
	}
	return nil, fmt.Errorf("module %q could not be compiled in a process of its own: %w", m.name, err)
}

// died remembers that the module killed a process; its time was up so often before.
func (m *Module) died(dir string, died *DiedError, slow int) error {
	if m.options.CacheDir != "" {
		if slow++; !died.Slow {
			slow = 0
		}
		if err := markPoisoned(dir, died.Reason, slow, m.options.Now); err != nil {
			return errors.Join(m.poison(died.Reason), fmt.Errorf("it could not be remembered: %w", err))
		}
	}
	return m.poison(died.Reason)
}

func (m *Module) poison(reason string) error {
	return &RefusedError{Module: m.name, Kind: RefusedPoisoned, Offset: -1,
		Reason: "it killed the process that compiled it: " + reason}
}
