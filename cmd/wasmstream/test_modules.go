package main

import (
	"context"
	"crypto/sha256"
	"sync"

	"github.com/wasmstream/wasmstream/abi"
	"github.com/wasmstream/wasmstream/host/job"
	"github.com/wasmstream/wasmstream/host/runtime"
	"github.com/wasmstream/wasmstream/host/sandbox"
)

// scenarioModules are the modules of all the scenarios of a run. One that several
// jobs use, or a job after each of its restarts, is compiled once.
type scenarioModules struct {
	logs    *functionLogs
	options sandbox.Options
	engine  *sandbox.Engine

	mu     sync.Mutex
	loaded map[[sha256.Size]byte]func() (*sandbox.Module, error)
}

func newScenarioModules(e *Env, o sandbox.Options) (*scenarioModules, error) {
	o.ModuleBytesMax, o.MemoryPagesMax = moduleBytesMax, memoryPagesMax
	o.WorkMax = sandbox.WorkCeiling // what a job says is looked at by Manifest
	o.Log = func(level int, message string) { e.Log.Log(context.Background(), slogLevel(level), message) }
	engine, err := sandbox.NewEngine(context.Background(), o)
	if err != nil {
		return nil, err
	}
	return &scenarioModules{
		logs: newFunctionLogs(e), options: o, engine: engine, loaded: map[[sha256.Size]byte]func() (*sandbox.Module, error){},
	}, nil
}

// Manifest reads the manifest of a module, for scenario.Options.
func (m *scenarioModules) Manifest(module job.Module, wasm []byte) (*abi.Manifest, error) {
	o := m.options
	o.WorkMax = int(module.Compile)
	info, err := sandbox.Inspect(wasm, o)
	return info.Manifest, err
}

// load compiles a module, or waits for whoever compiles it already.
func (m *scenarioModules) load(name string, wasm []byte) (*sandbox.Module, error) {
	digest := sha256.Sum256(wasm)
	m.mu.Lock()
	load := m.loaded[digest]
	if load == nil {
		load = sync.OnceValues(func() (*sandbox.Module, error) { return m.engine.Load(context.Background(), name, wasm) })
		m.loaded[digest] = load
	}
	m.mu.Unlock()
	return load()
}

// Guest makes an instance for a function, for scenario.Options.
func (m *scenarioModules) Guest(f *job.Function, wasm []byte) (runtime.Guest, error) {
	module, err := m.load(f.Module.Name, wasm)
	if err != nil {
		return nil, err
	}
	return module.Instantiate(context.Background(), m.logs.instance(f))
}

// Close gives back what compiled modules hold.
func (m *scenarioModules) Close() error {
	m.logs.close()
	return m.engine.Close()
}
