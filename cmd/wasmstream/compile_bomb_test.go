package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/wasmstream/wasmstream/abi"
	"github.com/wasmstream/wasmstream/host/sandbox"
	"github.com/wasmstream/wasmstream/host/sandbox/sandboxtest"
)

const bombJob = `
version: 1
name: bomb
modules: {m: {file: bomb.wasm}}
sources:
  in: {file: {path: in.ndjson, format: json}, schema: {n: BIGINT}}
steps:
  kept: {from: in, filter: {wasm: m.f}}
sinks:
  out: {from: kept, file: {path: out.ndjson, format: json}}
`

// TestACompileBomb: a module that takes the compiler for ever is refused before it is compiled.
func TestACompileBomb(t *testing.T) {
	folder, cache := t.TempDir(), t.TempDir()
	write(t, filepath.Join(folder, "bomb.wasm"), string(sandboxtest.CompileBomb(1000)))
	write(t, filepath.Join(folder, "in.ndjson"), `{"n":1}`)
	write(t, filepath.Join(folder, "job.yaml"), bombJob)
	o := run(t, folder, "run", "--cache-dir", cache, "job.yaml")
	o.expect(t, exitRefused, "bomb.wasm", "compiling a function takes an estimated ", "units of work; the limit is 1142857, a 14th of the 16000000 of a module: for a module that you trust, limits: {compile: ", "} at the top of the job file raises it, or --compile=")
	if _, err := os.Stat(filepath.Join(folder, "out.ndjson")); err == nil {
		t.Error("there is output")
	}
}

// TestCompilesWithinLimits: what the scanner just takes is compiled within the limits of the process, of whatever
// instructions it consists, in one function, and in as many as a module may have.
func TestCompilesWithinLimits(t *testing.T) {
	t.Parallel()
	const local, store = "\x20\x00", "\x41\x00\x20\x00\x36\x02\x00"
	for name, c := range map[string]struct {
		code string
		many bool // to be tried in as many functions as may be
	}{
		"ifs": {"\x20\x00\x04\x40" + store + "\x0b", true}, "ifs and elses": {"\x20\x00\x04\x40" + store + "\x05\x41\x01\x21\x00\x0b", false},
		"loops": {"\x03\x40" + local + "\x0d\x00\x0b", false}, "fills": {"\x41\x00\x41\x00\x41\x00\xfc\x0b\x00", false},
		"copies": {"\x41\x00\x41\x00\x41\x00\xfc\x0a\x00\x00", false}, "growth": {"\x41\x00\x40\x00\x21\x00", false},
		"calls by the table": {"\x41\x00\x11\x00\x00", false}, "calls": {"\x10\x00", false},
		"loads": {"\x20\x00\x28\x02\x00\x21\x00", false}, "stores": {store, true}, "divisions": {"\x20\x00\x20\x00\x6d\x21\x00", true},
		"conversions": {"\x20\x00\xb3\xa9\x21\x00", true}, "exits": {"\x20\x00\x04\x40\x0f\x0b", false}, "sums": {"\x20\x00\x41\x7f\x6a\x21\x00", false},
		"signs":      {"\x20\x00\xbe\x20\x00\xbe\x98\xbc\x21\x00", false},
		"the lesser": {"\x20\x00\xbe\x20\x00\xbe\x96\xbc\x21\x00", false}, "tables of labels": {"\x02\x40\x20\x00\x0e\x1e" + strings.Repeat("\x00", 31) + "\x0b", true},
	} {
		module := func(functions, n int) []byte {
			return sandboxtest.Filter(functions, 1, []byte(strings.Repeat(c.code, n)+store))
		}
		most := sort.Search(1<<18, func(n int) bool { _, err := sandbox.Inspect(module(1, n+1), sandbox.Options{}); return err != nil })
		var refused *sandbox.RefusedError
		if _, err := sandbox.Inspect(module(1, most+1), sandbox.Options{}); !errors.As(err, &refused) || refused.Kind != sandbox.RefusedLimit || !strings.Contains(err.Error(), "units of work") {
			t.Errorf("%s, %d times: %v", name, most+1, err)
		}
		functions := 1
		if c.many {
			functions = sort.Search(100, func(n int) bool { _, err := sandbox.Inspect(module(n+1, most), sandbox.Options{}); return err != nil })
		}
		var job sandbox.ChildJob
		engine, err := sandbox.NewEngine(t.Context(), sandbox.Options{CacheDir: t.TempDir(), Child: func(ctx context.Context, j sandbox.ChildJob, wasm []byte) error {
			job, j.Wall = j, deadline
			return compileChild(binary)(ctx, j, wasm)
		}})
		if err != nil {
			t.Fatal(err)
		}
		_, err = engine.Load(t.Context(), name, module(functions, most))
		if err := errors.Join(err, engine.Close()); err != nil {
			t.Errorf("%s, %d times in %d functions: %v", name, most, functions, err)
		}
		if job.CPU > 3700*time.Millisecond || functions == 1 && job.CPU > time.Second || job.MemoryBytesMax != 256<<20 {
			t.Errorf("%s, %d times in %d functions: it gets %s and %d MiB", name, most, functions, job.CPU, job.MemoryBytesMax>>20)
		}
	}
}

// TestACompileBombBesideOthers: a guest of the process that starts the compiling one answers as before all the while.
func TestACompileBombBesideOthers(t *testing.T) {
	child := func(ctx context.Context, job sandbox.ChildJob, wasm []byte) error {
		job.CPU, job.Wall = 300*time.Millisecond, deadline // the neighbour here wants a processor for itself
		return compileChild(binary)(ctx, job, wasm)
	}
	engine, err := sandbox.NewEngine(t.Context(), sandbox.Options{CacheDir: t.TempDir(), Child: child})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := engine.Close(); err != nil {
			t.Error(err)
		}
	}()
	module, err := engine.Load(t.Context(), "neighbour", []byte(read(t, wasmFile("delays-c"))))
	if err != nil {
		t.Fatal(err)
	}
	instance, err := module.Instantiate(context.Background(), sandbox.InstanceOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := instance.Close(); err != nil {
			t.Error(err)
		}
	}()
	open := abi.Layout(1, 0, 32, 0, 0)
	frame := make([]byte, open.Total)
	abi.PutHeader(frame, open)
	abi.PutOp(frame, int(open.OpsOffset), abi.Op{Kind: abi.OpOpen, Slot: abi.NoSlot, Row: open.RowsOffset})
	if _, err := instance.Open(0, frame); err != nil {
		t.Fatal(err)
	}
	loaded := make(chan error, 1)
	go func() {
		_, err := engine.Load(context.Background(), "bomb", sandboxtest.CompileBomb(460))
		loaded <- err
	}()
	first, answers := answerOf(t, instance), 0
	for err == nil {
		select {
		case err = <-loaded:
		default:
			answers++
			if again := answerOf(t, instance); !bytes.Equal(again, first) {
				t.Fatalf("the neighbour answered %x, and then %x", first, again)
			}
		}
	}
	var refused *sandbox.RefusedError
	if !errors.As(err, &refused) || refused.Kind != sandbox.RefusedPoisoned || !strings.Contains(err.Error(), "processor time") && !strings.Contains(err.Error(), "memory") {
		t.Errorf("the bomb: %v", err)
	}
	if _, err := engine.Load(t.Context(), "bomb", sandboxtest.CompileBomb(460)); err == nil || !strings.Contains(err.Error(), "it is remembered in ") {
		t.Errorf("once more: %v", err)
	}
	if answers < 1000 {
		t.Errorf("the neighbour came to %d calls", answers)
	}
	t.Logf("%d calls beside it; %v", answers, err)
}

// answerOf asks delays about one flight, late by 7.
func answerOf(t *testing.T, i *sandbox.Instance) []byte {
	t.Helper()
	const stride, rowBytes = 32, 16
	h := abi.Layout(3, 1, stride, rowBytes, 0)
	frame, pointer, err := i.In(int(h.Total))
	if err != nil {
		t.Fatal(err)
	}
	clear(frame)
	abi.PutHeader(frame, h)
	for n, o := range []abi.Op{{Kind: abi.OpCreate}, {Kind: abi.OpAdd, Row: h.RowsOffset}, {Kind: abi.OpResult}} {
		abi.PutOp(frame, int(h.OpsOffset)+n*abi.OpBytes, o)
	}
	frame[h.RowsOffset+8] = 7
	effects, err := i.Call(0, pointer, int(h.Total))
	if err != nil {
		t.Fatal(err)
	}
	if want := []byte{7, 0, 0, 0, 0, 0, 0, 0}; bytes.Count(effects, want) != 2 { // sum and greatest
		t.Fatalf("answered is %x", effects)
	}
	return bytes.Clone(effects)
}
