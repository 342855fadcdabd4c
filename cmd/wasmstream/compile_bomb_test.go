package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

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

// TestACompileBomb: a module that the scanner takes and the compiler takes for ever for ends the process that compiles
// it, and nothing else. It is refused, with the reason, and remembered.
func TestACompileBomb(t *testing.T) {
	folder, cache := t.TempDir(), t.TempDir()
	write(t, filepath.Join(folder, "bomb.wasm"), string(sandboxtest.CompileBomb()))
	write(t, filepath.Join(folder, "in.ndjson"), `{"n":1}`)
	write(t, filepath.Join(folder, "job.yaml"), bombJob)
	const reason = "it killed the process that compiled it: compiling it takes more than "
	o := run(t, folder, "run", "--cache-dir", cache, "job.yaml")
	for range 5 { // on a machine that is busy it may not get the processor for so long
		if strings.Contains(o.stderr, "by the clock") {
			o = run(t, folder, "run", "--cache-dir", cache, "job.yaml")
		}
	}
	o.expect(t, exitRefused, "bomb.wasm", reason)
	if _, err := os.Stat(filepath.Join(folder, "out.ndjson")); err == nil {
		t.Error("there is output")
	}
	notes, err := filepath.Glob(filepath.Join(cache, "*", "poisoned"))
	if err != nil || len(notes) != 1 {
		t.Fatal(notes, err)
	}
	run(t, folder, "check", "--cache-dir", cache, "job.yaml").expect(t, exitRefused, reason, "it is remembered in "+filepath.Dir(notes[0]))
}

// TestACompileBombBesideOthers: a guest of the process that starts the compiling one answers as before all the while.
func TestACompileBombBesideOthers(t *testing.T) {
	child := func(ctx context.Context, job sandbox.ChildJob, wasm []byte) error {
		job.Wall = deadline // the neighbour here wants a processor for itself
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
		_, err := engine.Load(context.Background(), "bomb", sandboxtest.CompileBomb())
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
