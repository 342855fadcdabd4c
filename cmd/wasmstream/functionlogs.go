package main

import (
	"context"
	"log/slog"
	"sync"

	"github.com/wasmstream/wasmstream/host/job"
	"github.com/wasmstream/wasmstream/host/sandbox"
	"github.com/wasmstream/wasmstream/host/stream"
)

// functionLogs are where the functions of jobs log to: all instances of one have one
// limit.
type functionLogs struct {
	log   *slog.Logger
	clock stream.Clock

	mu sync.Mutex
	of map[*job.Function]*sandbox.LogLimit
}

func newFunctionLogs(e *Env) *functionLogs {
	return &functionLogs{log: e.Log, clock: e.Clock, of: map[*job.Function]*sandbox.LogLimit{}}
}

// wasmPageBytes is the size of a page of a guest's memory.
const wasmPageBytes = 64 << 10

// memoryPagesMax is the most that limits of a job allow an instance of a module.
const memoryPagesMax = job.MemoryBytesMax / wasmPageBytes

// instance is what an instance of a function gets: its log, and the limits of its step.
func (l *functionLogs) instance(f *job.Function) sandbox.InstanceOptions {
	o := instanceLimits(f.Limits.Fuel, f.Limits.FuelPerOp, f.Limits.OutputBytes, f.Limits.MemoryBytes)
	o.Log = l.logFor(f).Log
	return o
}

// instanceLimits are limits of a job, as an instance takes them.
func instanceLimits(fuel, fuelPerOp, output, memory int64) sandbox.InstanceOptions {
	return sandbox.InstanceOptions{
		FuelPerCall: int(fuel), FuelPerOp: int(fuelPerOp), EffectsBytesMax: int(output),
		MemoryPagesMax: uint32((memory + wasmPageBytes - 1) / wasmPageBytes),
	}
}

func (l *functionLogs) logFor(f *job.Function) *sandbox.LogLimit {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.of[f] == nil {
		log := l.log.With("module", f.Module.Name, "function", f.Name)
		now := func() int64 { return int64(l.clock.Now()) }
		l.of[f] = sandbox.NewLogLimit(f.Limits.LogLines, now, func(level int, message string) {
			log.Log(context.Background(), slogLevel(level), message)
		})
	}
	return l.of[f]
}

// close tells of lines that were dropped last.
func (l *functionLogs) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, limit := range l.of {
		limit.Close()
	}
}
