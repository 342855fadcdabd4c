package scenario_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/wasmstream/wasmstream/host/internal/twins"
	"github.com/wasmstream/wasmstream/host/job"
	"github.com/wasmstream/wasmstream/host/runtime"
	"github.com/wasmstream/wasmstream/host/scenario"
)

// TestTwins runs what Flink wrote with functions in the place of built-in parts.
func TestTwins(t *testing.T) {
	paths := find(t, root)
	for _, restart := range []bool{false, true} {
		for _, batch := range []int{0, 3, 4096} {
			for _, parallelism := range []int{1, 3} {
				o := twins.Replace(options())
				o.Batch, o.Parallelism, o.RestartEvery = batch, parallelism, restart
				t.Run(fmt.Sprintf("restart=%t/batch=%d/parallelism=%d", restart, batch, parallelism), func(t *testing.T) {
					for _, path := range paths {
						if restart && strings.Contains(path, "restart-sensitive") {
							continue
						}
						if r := parse(t, path, read(t, path)).Run(o); r.Outcome != scenario.Pass {
							t.Error(r)
						}
					}
				})
			}
		}
	}
}

// TestConformanceOfTwins is TestConformance with functions in the place of built-in
// parts.
func TestConformanceOfTwins(t *testing.T) {
	const all = "../../../shared/conformance"
	if _, err := os.Stat(all); err != nil {
		t.Skipf("NOT RUN: the conformance scenarios are not at %s", all)
	}
	for _, path := range find(t, all) {
		for _, restart := range []bool{false, true} {
			if restart && strings.Contains(path, "restart-sensitive") {
				continue
			}
			o := twins.Replace(options())
			o.RestartEvery, o.Batch, o.Parallelism = restart, 1+len(path)%4, 1+len(path)%3
			if r := parse(t, path, read(t, path)).Run(o); r.Outcome != scenario.Pass {
				t.Errorf("restart-every %t, batch %d, parallelism %d: %v", restart, o.Batch, o.Parallelism, r)
			}
		}
	}
}

// TestTwinsAreAsked: the twins do the work, each of them.
func TestTwinsAreAsked(t *testing.T) {
	asked := map[string]int{}
	o := twins.Replace(options())
	guest := o.Guest
	o.Guest = func(f *job.Function, wasm []byte) (runtime.Guest, error) {
		if string(wasm) == twins.File {
			asked[f.Name]++
		}
		return guest(f, wasm)
	}
	for _, path := range find(t, root) {
		parse(t, path, read(t, path)).Run(o)
	}
	for _, f := range twins.Manifest().GetFunctions() {
		if asked[f.GetName()] == 0 {
			t.Errorf("no scenario asks %s", f.GetName())
		}
	}
	t.Log(asked)
}
