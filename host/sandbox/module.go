package sandbox

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/wasmstream/wasmstream/abi"
)

// Module is a module that was taken and compiled.
type Module struct {
	name     string
	digest   [sha256.Size]byte
	info     Info
	options  Options
	cost     work // of compiling it
	runtime  wazero.Runtime
	cache    wazero.CompilationCache
	compiled wazero.CompiledModule
	allocate experimental.MemoryAllocatorFunc // how instances get memory

	mutex  sync.Mutex
	uses   int // 1 for the module itself until it is closed, and 1 for each instance
	closed bool
	forget func() // takes the module off its engine's list
}

// Name returns the name under which the module was loaded.
func (m *Module) Name() string { return m.name }

// Manifest returns what the module says about itself. It is nil only for a module
// from LoadUnpacked. The caller must not change it.
func (m *Module) Manifest() *abi.Manifest { return m.info.Manifest }

// Info returns what Inspect found.
func (m *Module) Info() Info { return m.info }

// Digest returns the SHA-256 of the module's bytes.
func (m *Module) Digest() [sha256.Size]byte { return m.digest }

// Instantiate makes an instance and runs its initialization. The instance must be
// closed.
func (m *Module) Instantiate(ctx context.Context, options InstanceOptions) (*Instance, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := m.use(); err != nil {
		return nil, err
	}
	i := &Instance{module: m, options: options.withDefaults(&m.options)}
	if least, most := m.info.MemoryPagesMin, i.options.MemoryPagesMax; least > most {
		return nil, errors.Join(fmt.Errorf("module %q needs %d KiB of memory at least, and an instance may have %d KiB: limits: {memory: …} of the step or the job raises it",
			m.name, pageBytes/1024*uint64(least), pageBytes/1024*uint64(most)), m.unuse())
	}
	// The caller's context ends here: the engine takes switches from contexts, and
	// a guest's call is not to depend on who called.
	i.ctx = context.WithValue(context.Background(), instanceKey{}, i)
	if err := i.start(); err != nil {
		return nil, errors.Join(err, i.Close())
	}
	return i, nil
}

// newGuest makes the engine's part of an instance. It is anonymous, so that there
// may be many.
func (m *Module) newGuest(ctx context.Context, memory *guestMemory, pagesMax uint32) (guest api.Module, err error) {
	defer func() {
		if r := recover(); r != nil {
			guest, err = nil, fmt.Errorf("the engine failed to make an instance: %v", r)
		}
	}()
	ctx = experimental.WithMemoryAllocator(ctx, experimental.MemoryAllocatorFunc(func(least, most uint64) experimental.LinearMemory {
		return memory.take(least, min(most, pageBytes*uint64(pagesMax)), m.allocate)
	}))
	return m.runtime.InstantiateModule(ctx, m.compiled, wazero.NewModuleConfig().WithName("").WithStartFunctions().WithRandSource(noRandom{}))
}

// noRandom stands for the engine's source of random numbers, which no guest reaches (see
// random_get), and which would be made anew for each: most of what a small guest costs to make.
type noRandom struct{}

// Read implements io.Reader.
func (noRandom) Read([]byte) (int, error) { return 0, io.EOF }

// Describe runs the module's describe function in an instance of its own and
// returns the manifest's text, which `module pack` writes into the module.
func (m *Module) Describe(ctx context.Context, options InstanceOptions) ([]byte, error) {
	i, err := m.Instantiate(ctx, options)
	if err != nil {
		return nil, err
	}
	text, err := i.describe()
	return text, errors.Join(err, i.Close())
}

func (i *Instance) describe() ([]byte, error) {
	f := i.guest.ExportedFunction(abi.ExportDescribe)
	if f == nil {
		return nil, fmt.Errorf("module %q does not export %s: build it with an SDK that does, or give `wasmstream module pack` a manifest: --manifest manifest.json",
			i.module.name, abi.ExportDescribe)
	}
	if err := i.enter(f, i.stack[:1], abi.ExportDescribe, noFunction); err != nil {
		return nil, err
	}
	pointer, length := uint32(i.stack[0]>>32), uint32(i.stack[0])
	text, ok := i.memory.Read(pointer, length)
	if !ok {
		return nil, i.badAnswer(abi.ExportDescribe, noFunction, fmt.Errorf(
			"it answered %d bytes at %d, which is outside its memory of %d bytes", length, pointer, i.memory.Size()))
	}
	if length > abi.ManifestBytesMax {
		return nil, fmt.Errorf("module %q describes itself in %d bytes; the limit is %d", i.module.name, length, abi.ManifestBytesMax)
	}
	return append([]byte(nil), text...), nil
}

// Close ends the module: no instances can be made of it any more. What it holds is
// given back when its last instance is closed.
func (m *Module) Close() error {
	m.mutex.Lock()
	closed := m.closed
	m.closed = true
	m.mutex.Unlock()
	if closed {
		return nil
	}
	return m.unuse()
}

func (m *Module) use() error {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if m.closed {
		return fmt.Errorf("module %q is closed; load it again", m.name)
	}
	m.uses++
	return nil
}

// unuse counts one user less. The last one tears the runtime down: closing it
// earlier would unmap memory and code that instances run on.
func (m *Module) unuse() error {
	m.mutex.Lock()
	m.uses--
	last := m.uses == 0
	m.mutex.Unlock()
	if !last {
		return nil
	}
	if m.forget != nil {
		m.forget()
	}
	return closeRuntime(m.runtime, m.cache)
}

// closeRuntime frees a runtime and then the cache that owns its code.
func closeRuntime(runtime wazero.Runtime, cache wazero.CompilationCache) error {
	err := runtime.Close(context.Background())
	if cache != nil {
		err = errors.Join(err, cache.Close(context.Background()))
	}
	return err
}
