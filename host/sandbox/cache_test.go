package sandbox

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/wasmstream/wasmstream/abi"
)

// indirect is a guest that calls through its table, each entry by its own type,
// and imports functions of several types: what breaks if types get other numbers.
// Entry n answers n + 1 effects words; entry 3 has a type that call does not ask for.
func indirect() []byte {
	b := guestThat(nil, nil, abi.ImportLog, abi.ImportFail, "fd_write", "clock_time_get")
	first := len(b.imports) + len(b.funcs)
	for n := range 4 {
		s := signature{"i", "I"}
		if n == 3 {
			s.params = "ii"
		}
		b.funcs = append(b.funcs, buildFunc{signature: s, body: effectsAt(effectsPointer, uint32(8*(n+1)))})
		b.elements = append(b.elements, uint32(first+n))
	}
	b.table = []uint32{4, 4}
	// The table's index is padded to five bytes, as linkers leave it.
	b.funcs[2].body = code(i32(0), opLocalGet, 0, opCallIndirect, uleb(uint64(first)), []byte{0x80, 0x80, 0x80, 0x80, 0})
	return b.bytes()
}

// checkIndirect calls through each entry of the table of several instances.
func checkIndirect(t *testing.T, m *Module) {
	t.Helper()
	for range 8 {
		g := instantiate(t, m)
		for n := range uint32(3) {
			_, pointer, err := g.In(8)
			if err != nil {
				t.Fatal(err)
			}
			// All types of one shape are one type, whatever their index.
			if effects, err := g.Call(n, pointer, 8); err != nil || len(effects) != int(8*(n+1)) {
				t.Fatalf("entry %d: %d bytes, %v", n, len(effects), err)
			}
		}
		_, pointer, err := g.In(8)
		if err != nil {
			t.Fatal(err)
		}
		_, err = g.Call(3, pointer, 8)
		if f := asFault(t, err); !strings.Contains(f.Message, "indirect call type mismatch") {
			t.Fatalf("an entry of another type: %v", err)
		}
	}
}

// The same directory serves engines one after the other and at once, with other
// modules loaded before in another order, so that types would get other numbers.
func TestCacheServesManyEngines(t *testing.T) {
	dir, other := t.TempDir(), richModule()
	log := func(_ int, message string) { t.Error(message) }
	for round := range 3 {
		e := newEngine(t, Options{CacheBytesMin: 1, CacheDir: dir, Log: log})
		modules := [][]byte{indirect(), other}
		if round%2 == 1 {
			slices.Reverse(modules)
		}
		for _, wasm := range modules {
			m, err := e.Load(context.Background(), "guest", wasm)
			if err != nil {
				t.Fatal(err)
			}
			if bytes.Equal(wasm, modules[0]) == (round%2 == 0) {
				checkIndirect(t, m)
			}
		}
	}
	if files := cacheFiles(t, dir); len(files) != 6 {
		t.Errorf("two modules, rewritten, compiled and sealed, are %d files: %v", len(files), files)
	}
	small := t.TempDir()
	load(t, Options{CacheDir: small}, other)
	if files := cacheFiles(t, small); len(files) != 0 {
		t.Errorf("a small module was kept: %v", files)
	}
}

func cacheFiles(t *testing.T, dir string) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// loadCached loads the indirect module with a cache and returns the log.
func loadCached(t *testing.T, dir string) (logged []string) {
	t.Helper()
	m := load(t, Options{CacheBytesMin: 1, CacheDir: dir, Log: func(_ int, message string) { logged = append(logged, message) }}, indirect())
	checkIndirect(t, m)
	return logged
}

// cacheEntry returns the engine's file, what was compiled, and the seal of the only module in a cache.
func cacheEntry(t *testing.T, dir string) (compiled, rewritten, seal string) {
	t.Helper()
	for _, f := range cacheFiles(t, dir) {
		switch {
		case filepath.Base(f) == sealFile:
			seal = f
		case filepath.Base(filepath.Dir(f)) == rewrittenDir:
			rewritten = f
		default:
			compiled = f
		}
	}
	return compiled, rewritten, seal
}

// A broken cache is compiled again and heals: no damage reaches the engine, which
// would believe the counts in its file.
func TestBrokenCacheHeals(t *testing.T) {
	for name, damage := range map[string]func(content []byte) []byte{
		"empty":         func([]byte) []byte { return nil },
		"half":          func(c []byte) []byte { return c[:len(c)/2] },
		"a bit of code": func(c []byte) []byte { c[len(c)/2] ^= 1; return c },
		"a count of functions": func(c []byte) []byte {
			copy(c[max(0, bytes.IndexByte(c, 'v')):], "\xff\xff\xff\xff\xff\xff\xff\xff")
			return c
		},
		"offsets": func(c []byte) []byte { copy(c[32:], bytes.Repeat([]byte{0xff}, 16)); return c },
		"longer":  func(c []byte) []byte { return append(c, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			loadCached(t, dir)
			compiled, rewritten, _ := cacheEntry(t, dir)
			for _, path := range []string{compiled, rewritten} {
				good, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, damage(bytes.Clone(good)), 0o600); err != nil {
					t.Fatal(err)
				}
				if logged := loadCached(t, dir); len(logged) != 0 {
					t.Errorf("logged %q", logged)
				}
				if healed, err := os.ReadFile(path); err != nil || !bytes.Equal(healed, good) {
					t.Errorf("%s has not healed: %v", path, err)
				}
			}
		})
	}
}

// otherRewritten is a module as the cache could hold it in the place of another: it answers in its own way.
func otherRewritten(t *testing.T) []byte {
	dir := t.TempDir()
	load(t, Options{CacheBytesMin: 1, CacheDir: dir}, guestThat(nil, effectsAt(effectsPointer, 80), abi.ImportLog, abi.ImportFail, "fd_write", "clock_time_get").bytes())
	_, rewritten, _ := cacheEntry(t, dir)
	content, err := os.ReadFile(rewritten)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// What runs is what the cache holds, if this version wrote it: a module is not rewritten again. Another is put in its
// place here, so that it shows.
func TestRewrittenIsTakenFromTheCache(t *testing.T) {
	for name, c := range map[string]struct {
		version string // that wrote it
		answer  int    // of the guest
	}{
		"this version":    {rewritingVersion(), 80},
		"another version": {strings.Repeat("0", 64), 8},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			loadCached(t, dir)
			_, rewritten, sealPath := cacheEntry(t, dir)
			planted := filepath.Join(filepath.Dir(rewritten), c.version)
			err := errors.Join(os.Remove(rewritten), os.WriteFile(planted, otherRewritten(t), 0o600), os.Remove(sealPath))
			if err = errors.Join(err, seal(filepath.Dir(sealPath), nil)); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				g := instantiate(t, load(t, Options{CacheBytesMin: 1, CacheDir: dir, Log: func(_ int, message string) { t.Error(message) }}, indirect()))
				if effects, err := g.run(0); err != nil || len(effects) != c.answer {
					t.Errorf("it answers %d bytes, not %d: %v", len(effects), c.answer, err)
				}
			}
		})
	}
}

func TestBrokenSealCostsACompilation(t *testing.T) {
	dir := t.TempDir()
	loadCached(t, dir)
	entry, _, seal := cacheEntry(t, dir)
	if err := os.WriteFile(seal, []byte("nonsense"), 0o600); err != nil {
		t.Fatal(err)
	}
	old := time.Unix(1_000_000_000, 0)
	if err := os.Chtimes(entry, old, old); err != nil {
		t.Fatal(err)
	}
	if logged := loadCached(t, dir); len(logged) != 0 {
		t.Errorf("logged %q", logged)
	}
	if now, err := os.Stat(entry); err != nil || now.ModTime().Equal(old) {
		t.Errorf("an entry without a seal was used: %v", err)
	}
}

// A cache that cannot be used at all costs a line in the log.
func TestUnusableCache(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if logged := loadCached(t, filepath.Join(file, "cache")); len(logged) != 1 || !strings.Contains(logged[0], "is not used for module \"guest\"") {
		t.Errorf("a cache under a file: logged %q", logged)
	}
	dir := t.TempDir()
	loadCached(t, dir)
	entry, _, seal := cacheEntry(t, dir)
	if err := errors.Join(os.Remove(seal), os.Mkdir(seal, 0o700)); err != nil {
		t.Fatal(err)
	}
	if logged := loadCached(t, dir); len(logged) != 1 {
		t.Errorf("a seal that is a directory: logged %q", logged)
	}
	if err := errors.Join(os.Remove(seal), os.Remove(entry), os.MkdirAll(filepath.Join(entry, "x"), 0o700)); err != nil {
		t.Fatal(err)
	}
	if logged := loadCached(t, dir); len(logged) != 1 {
		t.Errorf("an entry that is a directory: logged %q", logged)
	}
}

// An invalid module is refused as such, cache or not, and leaves no entry.
func TestInvalidModuleWithCache(t *testing.T) {
	dir := t.TempDir()
	e := newEngine(t, Options{CacheBytesMin: 1, CacheDir: dir, Log: func(_ int, message string) { t.Error(message) }})
	_, err := e.Load(context.Background(), "guest", guestThat(nil, code(opDrop)).bytes())
	var refused *RefusedError
	if !errors.As(err, &refused) || refused.Kind != RefusedInvalid || len(cacheFiles(t, dir)) != 0 {
		t.Errorf("got %v, files %v", err, cacheFiles(t, dir))
	}
}

// Why a compiled module never meets another runtime (invariant G): the engine
// numbers types per runtime, and compares the numbers of the compiling one with
// those of the linking one. If this test fails the engine has been mended, and the
// invariant is a matter of taste.
func TestEngineConfusesTypesBetweenRuntimes(t *testing.T) {
	ctx := context.Background()
	cache := wazero.NewCompilationCache()
	defer cache.Close(ctx)
	config := wazero.NewRuntimeConfig().WithCoreFeatures(features).WithCompilationCache(cache)
	host := func(r wazero.Runtime, name string, params ...api.ValueType) {
		_, err := r.NewHostModuleBuilder(name).NewFunctionBuilder().
			WithGoModuleFunction(api.GoModuleFunc(func(context.Context, api.Module, []uint64) {}), params, nil).Export("log").Instantiate(ctx)
		if err != nil {
			t.Fatal(err)
		}
	}
	compiling, linking := wazero.NewRuntimeWithConfig(ctx, config), wazero.NewRuntimeWithConfig(ctx, config)
	defer compiling.Close(ctx)
	defer linking.Close(ctx)
	compiled, err := compiling.CompileModule(ctx, guestThat(nil, nil, abi.ImportLog).bytes())
	if err != nil {
		t.Fatal(err)
	}
	host(linking, "first", api.ValueTypeF32)
	host(linking, abi.ImportModule, valueTypes("iii")...)
	_, err = linking.InstantiateModule(ctx, compiled, wazero.NewModuleConfig())
	if err == nil || !strings.Contains(err.Error(), "signature mismatch") {
		t.Errorf("the engine linked: %v", err)
	}
}

// The second load must cost far less, of the processor's time since the machine may be
// busy; only a module of some size shows it.
func TestCacheSavesTime(t *testing.T) {
	b := goodModule()
	for range 2000 {
		body := code(opLocalGet, 0)
		for n := range 50 {
			body = append(body, code(opLocalGet, 0, i32(int32(n)), opI32Add, opI32Add)...)
		}
		b.funcs = append(b.funcs, buildFunc{signature: signature{"i", "i"}, body: body})
	}
	wasm, dir := b.bytes(), t.TempDir()
	var took [2]time.Duration
	for n := range took {
		e := newEngine(t, Options{CacheBytesMin: 1, CacheDir: dir})
		start := processorTime(t)
		if _, err := e.Load(context.Background(), "guest", wasm); err != nil {
			t.Fatal(err)
		}
		took[n] = processorTime(t) - start
	}
	t.Logf("%d bytes: compiled in %v, loaded from the cache in %v", len(wasm), took[0], took[1])
	if took[1] > took[0]/2 {
		t.Errorf("the cache saves nothing: %v, then %v", took[0], took[1])
	}
}
