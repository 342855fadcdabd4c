package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/wasmstream/wasmstream/abi"
	"github.com/wasmstream/wasmstream/host/checkpoint"
	"github.com/wasmstream/wasmstream/host/job"
	"github.com/wasmstream/wasmstream/host/runtime"
	"github.com/wasmstream/wasmstream/host/sandbox"
)

// SandboxFlags are the flags of commands that run modules.
type SandboxFlags struct {
	CacheDir         string `help:"Where compiled modules are kept; \"off\" for nowhere. By default in your user cache folder." env:"WASMSTREAM_CACHE_DIR" placeholder:"DIR"`
	CompileInProcess bool   `help:"Compile modules in this process instead of one of their own with limits on time and memory. For modules that you trust." env:"WASMSTREAM_COMPILE_IN_PROCESS"`
}

// options are the sandbox's options that the flags decide.
func (f SandboxFlags) options(e *Env) sandbox.Options {
	o := sandbox.Options{CacheDir: f.dir()}
	if e.Self != "" && !f.CompileInProcess {
		o.Child, o.Now = compileChild(e.Self), time.Now
	}
	return o
}

// CompileFlag is a flag of commands that take modules where no job says what they may cost.
type CompileFlag struct {
	Compile int `help:"What compiling a module may take, in units of work; a refusal says what it takes. As limits: {compile: …} of a job; default 16 million." placeholder:"UNITS"`
}

// on are options with the flag's limit.
func (f CompileFlag) on(o sandbox.Options) sandbox.Options {
	o.WorkMax = f.Compile
	return o
}

// Validate implements kong's check of a command's flags.
func (f CompileFlag) Validate() error {
	if f.Compile < 0 || f.Compile > sandbox.WorkCeiling {
		return fmt.Errorf("--compile is %d; choose from 1 to %d", f.Compile, sandbox.WorkCeiling)
	}
	return nil
}

// cacheOff switches the cache of compiled modules off.
const cacheOff = "off"

// dir is the folder of the cache; empty if there is to be none.
func (f SandboxFlags) dir() string {
	switch f.CacheDir {
	case cacheOff:
		return ""
	case "":
		user, err := os.UserCacheDir()
		if err != nil {
			return "" // a user without a home folder compiles anew each time
		}
		return filepath.Join(user, "wasmstream", "compiled")
	}
	return f.CacheDir
}

// modules are the modules of one job: read when the job is parsed, compiled when
// it is known to be sound.
type modules struct {
	log     *slog.Logger
	options sandbox.Options
	engine  *sandbox.Engine // nil until a module is compiled
	wasm    map[string][]byte
	loaded  map[string]*sandbox.Module
	refused bool      // whether one was refused, for the exit code
	job     string    // the job file, for messages
	record  *recorder // nil: nothing is recorded
	logs    *functionLogs
}

func newModules(e *Env, o sandbox.Options) *modules {
	m := &modules{
		log: e.Log, options: o, wasm: map[string][]byte{}, loaded: map[string]*sandbox.Module{}, logs: newFunctionLogs(e),
	}
	m.options.ModuleBytesMax = moduleBytesMax
	m.options.Log = func(level int, message string) { m.log.Log(context.Background(), slogLevel(level), message) }
	return m
}

// slogLevel translates the ABI's levels.
func slogLevel(level int) slog.Level {
	return slog.LevelDebug + slog.Level(4*min(max(level, abi.LogDebug), abi.LogError))
}

// moduleBytesMax bounds a module's file.
const moduleBytesMax = 16 << 20

// readModule reads a module's file. One that is too large is refused unread.
func readModule(path string) ([]byte, error) {
	f, err := openRegular(path)
	if err != nil {
		return nil, notThere(err, path)
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Size() > moduleBytesMax {
		reason := fmt.Sprintf("it has %d bytes; the limit is %d", info.Size(), moduleBytesMax)
		return nil, &sandbox.RefusedError{Kind: sandbox.RefusedTooLarge, Reason: reason, Offset: -1}
	}
	wasm, err := io.ReadAll(io.LimitReader(f, moduleBytesMax+1))
	return wasm, notThere(err, path)
}

// Manifest reads the manifest of a module, for job.Options. It runs none of the
// module's code.
func (m *modules) Manifest(module job.Module) (*abi.Manifest, error) {
	wasm, err := readModule(module.Path)
	if err != nil {
		return nil, m.refuse(err)
	}
	m.options.WorkMax = int(module.Compile) // one job has one limit
	info, err := sandbox.Inspect(wasm, m.options)
	if err != nil {
		return nil, m.refuse(err)
	}
	m.wasm[module.Path] = wasm
	return info.Manifest, nil
}

// digests are what checkpoints keep of the modules.
func (m *modules) digests(plan *job.Job) (all []checkpoint.Module) {
	for _, module := range plan.Modules {
		sum := sha256.Sum256(m.wasm[module.Path])
		all = append(all, checkpoint.Module{Name: module.Name, Digest: "sha256:" + hex.EncodeToString(sum[:])})
	}
	return all
}

// refuse notes a refusal and leaves out of it what the job's problem says anyway.
func (m *modules) refuse(err error) error {
	var refused *sandbox.RefusedError
	if !errors.As(err, &refused) {
		return err
	}
	m.refused = true
	if refused.Offset < 0 {
		return errors.New(refused.Reason)
	}
	return fmt.Errorf("%s (at byte %d)", refused.Reason, refused.Offset)
}

// load compiles a module, or finds it compiled in the cache.
func (m *modules) load(module *job.Module) (*sandbox.Module, error) {
	if loaded := m.loaded[module.Path]; loaded != nil {
		return loaded, nil
	}
	if m.engine == nil {
		engine, err := sandbox.NewEngine(context.Background(), m.options)
		if err != nil {
			return nil, err
		}
		m.engine = engine
	}
	loaded, err := m.engine.Load(context.Background(), module.Name, m.wasm[module.Path])
	if err != nil {
		place := fmt.Sprintf("%s:%d: modules.%s: ", m.job, module.Line, module.Name)
		return nil, &exitError{exitRefused, &locatedError{place + "The module " + module.Shown + " cannot be used: " + m.refuse(err).Error(), err}}
	}
	m.loaded[module.Path] = loaded
	return loaded, nil
}

// called is a function, and the source, step or sink that calls it.
type called struct {
	by       string
	function *job.Function
}

// calledIn are all functions of a job.
func calledIn(plan *job.Job) (all []called) {
	add := func(by string, functions ...*job.Function) {
		for _, f := range functions {
			if f != nil {
				all = append(all, called{by, f})
			}
		}
	}
	for _, s := range plan.Sources {
		add(s.Name, s.Timestamp, s.Decode)
	}
	for _, s := range plan.Steps {
		add(s.Name, s.Functions...)
	}
	for _, s := range plan.Sinks {
		add(s.Name, s.Encode)
	}
	return all
}

// loadAll compiles the modules whose functions the job calls. What one needs to begin
// with its limits must allow.
func (m *modules) loadAll(plan *job.Job) error {
	for _, c := range calledIn(plan) {
		loaded, err := m.load(c.function.Module)
		if err != nil {
			return err
		}
		if least, most := loaded.Info().MemoryPagesMin, m.logs.instance(c.function).MemoryPagesMax; least > most {
			return &exitError{exitRefused, fmt.Errorf("%s: the module %s needs %d KiB of memory at least, and the limit for %s is %d KiB: limits: {memory: …} raises it",
				m.job, c.function.Module.Shown, wasmPageBytes/1024*int64(least), c.by, wasmPageBytes/1024*int64(most))}
		}
	}
	return nil
}

// Guest makes an instance for a function, for runtime.Config.
func (m *modules) Guest(f *job.Function) (runtime.Guest, error) {
	module, err := m.load(f.Module)
	if err != nil {
		return nil, err
	}
	instance, err := module.Instantiate(context.Background(), m.logs.instance(f))
	if err != nil {
		return nil, err
	}
	return m.record.wrap(instance, f)
}

// Outputs opens a function whose input is any, for job.Options: it runs in the sandbox.
func (m *modules) Outputs(f *job.Function) (map[uint32]string, error) {
	instance, err := m.Guest(f)
	if err != nil {
		return nil, err
	}
	return runtime.OutputsOf(instance, f)
}

// Close gives back what compiled modules hold.
func (m *modules) Close() error {
	m.logs.close()
	if m.engine == nil {
		return nil
	}
	return m.engine.Close()
}

// notThere says in plain words that a file is missing, with the nearest name that
// its folder has. Other errors lose the path, which every message has already.
func notThere(err error, path string) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		return &missingFile{nearestFile(path), isModule(path)}
	}
	var failed *fs.PathError
	if errors.As(err, &failed) {
		return failed.Err
	}
	return err
}
