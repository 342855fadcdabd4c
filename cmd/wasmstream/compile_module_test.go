package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/wasmstream/wasmstream/host/sandbox"
)

// childJob is a job with room for any of our modules.
func childJob(dir string) sandbox.ChildJob {
	return sandbox.ChildJob{
		MemoryPagesMax: 1024, ModuleBytesMax: moduleBytesMax, WorkMax: 40_000_000, FunctionsMax: 10_000, TableElementsMax: 16_384,
		CacheDir: dir, CacheBytesMin: 1, CPU: time.Minute, Wall: deadline, MemoryBytesMax: 1 << 30,
	}
}

// A module is compiled by a process of its own, which leaves the code where others find it.
func TestCompileModule(t *testing.T) {
	t.Parallel()
	dir, child := t.TempDir(), compileChild(binary)
	goGuest := []byte(read(t, wasmFile("delays-go")))
	if err := child(context.Background(), childJob(dir), goGuest); err != nil {
		t.Fatal(err)
	}
	if seals, _ := filepath.Glob(filepath.Join(dir, "*", "seal")); len(seals) != 1 {
		t.Errorf("it left %v", seals)
	}
	var refused *sandbox.RefusedError
	if err := child(context.Background(), childJob(dir), []byte("no")); !errors.As(err, &refused) || refused.Kind != sandbox.RefusedNotWasm || refused.Offset != 0 {
		t.Errorf("no module: %v", err)
	}
	if err := child(context.Background(), childJob(dir), []byte(invalid(t, read(t, wasmFile("delays-c"))))); !errors.As(err, &refused) || refused.Kind != sandbox.RefusedInvalid {
		t.Errorf("an invalid module: %v", err)
	}
	var died *sandbox.DiedError
	late, tight := childJob(t.TempDir()), childJob(t.TempDir())
	late.CPU = time.Millisecond
	if err := child(context.Background(), late, goGuest); !errors.As(err, &died) || !strings.Contains(err.Error(), "1ms of processor time") {
		t.Errorf("without time: %v", err)
	}
	tight.MemoryBytesMax = 1 << 20
	if err := child(context.Background(), tight, goGuest); !errors.As(err, &died) || !strings.Contains(err.Error(), "1 MiB of memory") {
		t.Errorf("without memory: %v", err)
	}
	hasty := childJob(t.TempDir())
	hasty.Wall = time.Millisecond
	if err := child(context.Background(), hasty, goGuest); err == nil || errors.As(err, &died) && died.Reason == "" || strings.Contains(err.Error(), "processor") {
		t.Errorf("by the clock: %v", err)
	}
	if err := compileChild(filepath.Join(dir, "absent"))(context.Background(), childJob(dir), goGuest); err == nil || !strings.Contains(err.Error(), "--compile-in-process") {
		t.Errorf("a program that is not there: %v", err)
	}
}

// A module that is marked as poisoned is refused, with where it is remembered.
func TestAPoisonedModule(t *testing.T) {
	t.Parallel()
	folder, dir := t.TempDir(), t.TempDir()
	write(t, filepath.Join(folder, "m.wasm"), read(t, wasmFile("delays-go")))
	write(t, filepath.Join(folder, "flights.ndjson"), sound)
	write(t, filepath.Join(folder, "job.yaml"), wasmJob(t, "m.wasm", "delays"))
	run(t, folder, "check", "--cache-dir", dir, "job.yaml").expect(t, exitOK)
	seals, err := filepath.Glob(filepath.Join(dir, "*", "seal"))
	if err != nil || len(seals) != 1 {
		t.Fatal(seals, err)
	}
	if err := os.WriteFile(filepath.Join(filepath.Dir(seals[0]), "poisoned"), []byte("it was too much"), 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, folder, "check", "--cache-dir", dir, "job.yaml").expect(t, exitRefused, "it was too much", "remembered in "+filepath.Dir(seals[0]))
	run(t, folder, "check", "--cache-dir", dir, "--compile-in-process", "job.yaml").expect(t, exitOK)
}

// A process whose runtime dies for want of memory, in whatever way, is told so; one that dies otherwise is not.
func TestEndedForItsMemory(t *testing.T) {
	t.Parallel()
	ended := exec.Command("sh", "-c", "exit 2").Run()
	for stderr, want := range map[string]string{
		"fatal error: runtime: out of memory\n\ngoroutine 1 [running]:": "compiling it takes more than 256 MiB of memory",
		"SIGSEGV: segmentation violation\nPC=0x43a01d m=4 sigcode=1 addr=0x0\n\ngoroutine 0 gp=0x39821ff03860 m=4 mp=0x39821ff51808 [idle]:\nruntime.(*spanQueue).tryDrain":    "compiling it takes more than 256 MiB of memory",
		"panic: runtime error: invalid memory address or nil pointer dereference\n[signal SIGSEGV: segmentation violation code=0x1 addr=0x0 pc=0x1]\n\ngoroutine 1 [running]:": "exit status 2 panic: runtime error: invalid memory address or nil pointer dereference",
	} {
		var died *sandbox.DiedError
		if err := childEnded(ended, sandbox.ChildJob{CPU: time.Second, MemoryBytesMax: 256 << 20}, nil, stderr); !errors.As(err, &died) || died.Slow || died.Reason != want {
			t.Errorf("%.60s: %v", stderr, err)
		}
	}
}

// A process that the system ends for its processor time, as it does where the process cannot look at it, is told with
// the limit. The system's is the next second, as limitProcess has it: what it counts may be a fifth behind.
func TestEndedForItsTime(t *testing.T) {
	t.Parallel()
	err := exec.Command("sh", "-c", "ulimit -t 2; while :; do :; done").Run()
	var died *sandbox.DiedError
	if err := childEnded(err, sandbox.ChildJob{CPU: time.Second}, nil, ""); !errors.As(err, &died) || !died.Slow || died.Reason != "compiling it takes more than 1s of processor time" {
		t.Errorf("got %v", err)
	}
}
