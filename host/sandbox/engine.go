package sandbox

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	goruntime "runtime"
	"sync"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/wasmstream/wasmstream/abi"
)

// features are the parts of Wasm that a module may use. Reference types stay off,
// and with them growing tables and more tables than one; the scanner refuses
// those of the others that show in sections, the engine those that show in code.
const features = api.CoreFeatureMutableGlobal | api.CoreFeatureSignExtensionOps | api.CoreFeatureMultiValue |
	api.CoreFeatureNonTrappingFloatToIntConversion | api.CoreFeatureBulkMemoryOperations

// Engine loads modules. It may be used by many goroutines.
type Engine struct {
	options Options

	mutex   sync.Mutex
	modules map[*Module]bool
	closed  bool
}

// NewEngine returns an engine, or an error that names every bad option.
func NewEngine(_ context.Context, options Options) (*Engine, error) {
	if err := options.Validate(); err != nil {
		return nil, fmt.Errorf("the sandbox's options are wrong: %w", err)
	}
	options = options.withDefaults()
	if options.Child != nil {
		options.Child = inTurn(options.Child)
	}
	return &Engine{options: options, modules: map[*Module]bool{}}, nil
}

// Load takes a module if Inspect does, and compiles it or finds it compiled in
// the cache. A refusal is a RefusedError. The name is for errors only.
func (e *Engine) Load(ctx context.Context, name string, wasm []byte) (*Module, error) {
	return e.load(ctx, name, wasm, true)
}

// LoadUnpacked is Load for a module that may lack a manifest: what `module pack`
// needs to run its describe function.
func (e *Engine) LoadUnpacked(ctx context.Context, name string, wasm []byte) (*Module, error) {
	return e.load(ctx, name, wasm, false)
}

func (e *Engine) load(ctx context.Context, name string, wasm []byte, needManifest bool) (*Module, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	info, cost, refused := inspect(wasm, e.options, needManifest)
	if refused != nil {
		refused.Module = name
		return nil, refused
	}
	m := &Module{name: name, digest: sha256.Sum256(wasm), info: info, options: e.options, allocate: allocateMemory, uses: 1, cost: cost}
	if err := m.take(ctx, wasm); err != nil {
		return nil, err
	}
	e.mutex.Lock()
	defer e.mutex.Unlock()
	if e.closed {
		return nil, errors.Join(errors.New("the engine is closed"), m.Close())
	}
	e.modules[m] = true
	m.forget = func() {
		e.mutex.Lock()
		defer e.mutex.Unlock()
		delete(e.modules, m)
	}
	return m, nil
}

// take compiles a module. If it is to be done apart and there is no cache to find the code
// in, there is one for as long as it takes.
func (m *Module) take(ctx context.Context, wasm []byte) error {
	if m.options.Child != nil && !m.isQuick(wasm) && m.options.CacheDir == "" {
		dir, remove := passingCache()
		defer remove()
		kept := m.options
		defer func() { m.options = kept }()
		m.options.CacheDir, m.options.CacheBytesMin = dir, 1
	}
	sealed, err := m.compileApart(ctx, wasm)
	if err != nil {
		return err
	}
	return m.compile(wasm, sealed)
}

// Close closes all modules. Instances go on until they are closed.
func (e *Engine) Close() error {
	e.mutex.Lock()
	e.closed = true
	modules := make([]*Module, 0, len(e.modules))
	for m := range e.modules {
		modules = append(modules, m)
	}
	e.mutex.Unlock()
	var errs []error
	for _, m := range modules {
		errs = append(errs, m.Close())
	}
	return errors.Join(errs...)
}

// compile validates a module, puts meters into it, and fills in the engine's part of
// it, with the cache on disk if that works and without it if not. Sealed are the cache's
// entries if they were looked at.
func (m *Module) compile(wasm []byte, sealed []entry) error {
	if m.options.CacheDir != "" && len(wasm) >= m.options.CacheBytesMin {
		err := m.compileCached(wasm, sealed)
		if err == nil {
			return nil
		}
		// Either the module is invalid, and then the next attempt says so, or the
		// cache failed, and then the next attempt does without.
		if again := m.compileAnew(wasm); again != nil {
			return again
		}
		m.options.Log(abi.LogWarn, fmt.Sprintf("the cache of compiled code in %s is not used for module %q: %v", m.options.CacheDir, m.name, err))
		return nil
	}
	return m.compileAnew(wasm)
}

func (m *Module) compileAnew(wasm []byte) error {
	if err := m.validate(wasm); err != nil {
		return err
	}
	rewritten, err := m.rewrite(wasm)
	if err != nil {
		return err
	}
	return m.compileWith(rewritten, nil)
}

// compileCached opens the module's part of the cache, compiles with it, and seals
// what that has written. What is there was written after the module had been found
// valid.
func (m *Module) compileCached(wasm []byte, sealed []entry) error {
	dir := cacheEntryDir(m.options.CacheDir, m.digest)
	if len(sealed) == 0 {
		var err error
		if sealed, err = dropUnsealed(dir); err != nil {
			return err
		}
	}
	if !holdCode(sealed) {
		if err := m.validate(wasm); err != nil {
			return err
		}
	}
	rewritten, err := m.rewritten(dir, sealed, wasm)
	if err != nil {
		return err
	}
	cache, err := wazero.NewCompilationCacheWithDir(dir)
	if err != nil {
		return err
	}
	if err := m.compileWith(rewritten, cache); err != nil {
		return errors.Join(err, cache.Close(context.Background()))
	}
	if err := m.keep(dir, sealed, rewritten); err != nil {
		m.options.Log(abi.LogWarn, fmt.Sprintf("the compiled code of module %q could not be kept in %s: %v", m.name, m.options.CacheDir, err))
	}
	return nil
}

// validate has the engine validate a module without compiling it: compiling ends at
// once where the context is over, if it is done by several workers, and comes after
// validation. That belongs to the version of the engine; a test holds it.
func (m *Module) validate(wasm []byte) error {
	ctx, cancel := context.WithCancel(experimental.WithCompilationWorkers(context.Background(), 2))
	cancel()
	runtime := wazero.NewRuntimeWithConfig(ctx, m.config())
	compiled, err := compileModule(ctx, runtime, wasm)
	if compiled != nil {
		err = compiled.Close(ctx) // it has no functions, so that nothing was left to end
	}
	_ = runtime.Close(ctx)
	if err == nil || errors.Is(err, context.Canceled) {
		return nil
	}
	return m.invalid(err)
}

func (m *Module) config() wazero.RuntimeConfig {
	return wazero.NewRuntimeConfig().WithCoreFeatures(features).WithMemoryLimitPages(m.options.MemoryPagesMax).WithDebugInfoEnabled(false)
}

func (m *Module) invalid(err error) error {
	return &RefusedError{Module: m.name, Kind: RefusedInvalid, Reason: err.Error(), Offset: -1}
}

// compileWorkers is how many functions are compiled at once: each takes memory of its own.
const compileWorkers = 2

// compileWith makes the module's runtime, with the host functions that it
// imports, and compiles it. A cache belongs to one runtime only (invariant G).
func (m *Module) compileWith(wasm []byte, cache wazero.CompilationCache) error {
	config := m.config()
	if cache != nil {
		config = config.WithCompilationCache(cache)
	}
	ctx := experimental.WithCompilationWorkers(context.Background(), min(compileWorkers, goruntime.GOMAXPROCS(0)))
	runtime := wazero.NewRuntimeWithConfig(ctx, config)
	compiled, err := compileIn(ctx, runtime, wasm, m.info.Imports)
	if err != nil {
		_ = runtime.Close(ctx) // the error that matters is the compiler's
		return m.invalid(err)
	}
	m.runtime, m.cache, m.compiled = runtime, cache, compiled
	return nil
}

// compileIn compiles a module and links it.
func compileIn(ctx context.Context, runtime wazero.Runtime, wasm []byte, imports []Import) (wazero.CompiledModule, error) {
	compiled, err := compileModule(ctx, runtime, wasm)
	if err != nil {
		return nil, err
	}
	return compiled, link(ctx, runtime, imports)
}

// compileModule runs the engine's decoder and compiler, whose panics would be bugs
// that a hostile module has found.
func compileModule(ctx context.Context, runtime wazero.Runtime, wasm []byte) (compiled wazero.CompiledModule, err error) {
	defer func() {
		if r := recover(); r != nil {
			compiled, err = nil, fmt.Errorf("the compiler failed on it: %v", r)
		}
	}()
	if compiled, err = runtime.CompileModule(ctx, wasm); err != nil {
		return nil, fmt.Errorf("its code is not valid: %w", err)
	}
	return compiled, nil
}

// link defines the host functions that a module imports, and no others: each
// costs some compilation.
func link(ctx context.Context, runtime wazero.Runtime, imports []Import) error {
	builders := map[string]wazero.HostModuleBuilder{}
	linked := map[string]bool{}
	for _, i := range imports {
		if name := i.Module + "." + i.Name; linked[name] {
			continue
		} else {
			linked[name] = true
		}
		if builders[i.Module] == nil {
			builders[i.Module] = runtime.NewHostModuleBuilder(i.Module)
		}
		f := findHostFunction(i.Module, i.Name)
		builders[i.Module].NewFunctionBuilder().
			WithGoModuleFunction(engineFunction(*f), valueTypes(f.params), valueTypes(f.results)).Export(i.Name)
	}
	for name, builder := range builders {
		if _, err := builder.Instantiate(ctx); err != nil {
			return fmt.Errorf("the host's functions of %s could not be defined: %w", name, err)
		}
	}
	return nil
}
