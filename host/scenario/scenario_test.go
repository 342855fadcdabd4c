package scenario_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wasmstream/wasmstream/abi"
	"github.com/wasmstream/wasmstream/host/format"
	"github.com/wasmstream/wasmstream/host/format/json"
	"github.com/wasmstream/wasmstream/host/job"
	"github.com/wasmstream/wasmstream/host/runtime"
	"github.com/wasmstream/wasmstream/host/sandbox"
	"github.com/wasmstream/wasmstream/host/scenario"
	"github.com/wasmstream/wasmstream/host/stream"
)

// root has the scenarios that Flink wrote, as far as they need nothing that the
// engine lacks, and three of the hourly-delays jobs, two of which are Wasm.
const root = "../../testdata/scenarios"

// How many of them there are.
const (
	flinkCount = 60
	rootCount  = flinkCount + 6
)

func options() scenario.Options {
	return scenario.Options{
		Decoder: func(declared, output *stream.Schema) (format.Decoder, error) {
			return json.NewDecoder(declared, output)
		},
		Encoder: func(s *stream.Schema) (format.Encoder, error) {
			return json.NewEncoder(s, json.EncoderOptions{Timestamps: json.Millis, AppendOnly: true})
		},
		ReadFile: os.ReadFile,
		Manifest: func(_ job.Module, wasm []byte) (*abi.Manifest, error) {
			info, err := sandbox.Inspect(wasm, sandbox.Options{})
			return info.Manifest, err
		},
		Guest: normal,
	}
}

// What instantiates modules: as usual, and throwing instances away after every
// call.
var normal, fresh = guests(sandbox.Options{}), guests(sandbox.Options{FreshInstance: true})

// guests makes instances with an engine of its own, which lives as long as the
// tests. A module is compiled once.
func guests(o sandbox.Options) func(*job.Function, []byte) (runtime.Guest, error) {
	ctx := context.Background()
	engine, err := sandbox.NewEngine(ctx, o)
	loaded := map[string]*sandbox.Module{}
	return func(f *job.Function, wasm []byte) (runtime.Guest, error) {
		if err != nil {
			return nil, err
		}
		m := loaded[string(wasm)]
		if m == nil {
			var err error
			if m, err = engine.Load(ctx, f.Module.Name, wasm); err != nil {
				return nil, err
			}
			loaded[string(wasm)] = m
		}
		return m.Instantiate(ctx, sandbox.InstanceOptions{})
	}
}

// find lists the scenarios below a folder.
func find(t testing.TB, root string) []string {
	t.Helper()
	var paths []string
	err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if filepath.Ext(path) == ".scenario" {
			paths = append(paths, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

func read(t testing.TB, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func parse(t testing.TB, path string, text []byte) *scenario.Scenario {
	t.Helper()
	s, err := scenario.Parse(path, text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestScenarios runs what Flink wrote in every way that may not matter.
func TestScenarios(t *testing.T) {
	paths := find(t, root)
	if len(paths) != rootCount {
		t.Errorf("there are %d scenarios, want %d", len(paths), rootCount)
	}
	for _, restart := range []bool{false, true} {
		for _, batch := range []int{0, 1, 3, 4096} {
			for _, parallelism := range []int{1, 2, 4} {
				o := options()
				o.Batch, o.Parallelism, o.RestartEvery = batch, parallelism, restart
				if batch == 3 {
					o.Guest, o.Rescale = fresh, []int{3, 1, 5, 2}
				}
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

// TestRestartsAreRestarts has a scenario that Flink itself does not pass with a
// restart after every action: a source that is behind and becomes active again
// counts at once after a restart.
func TestRestartsAreRestarts(t *testing.T) {
	o := options()
	o.RestartEvery = true
	path := filepath.Join(root, "restart-sensitive/union-watermark.scenario")
	if r := parse(t, path, read(t, path)).Run(o); r.Outcome != scenario.Fail {
		t.Errorf("%v; want a failure", r)
	}
}

// TestConformance runs all the scenarios that Flink wrote, each in one of many
// ways, with restarts and without.
func TestConformance(t *testing.T) {
	const all = "../../../shared/conformance"
	if _, err := os.Stat(all); err != nil {
		t.Skipf("NOT RUN: the conformance scenarios are not at %s", all)
	}
	paths := find(t, all)
	for _, path := range paths {
		for _, restart := range []bool{false, true} {
			if restart && strings.Contains(path, "restart-sensitive") {
				continue
			}
			o := options()
			o.RestartEvery, o.Batch, o.Parallelism = restart, 1+len(path)%4, 1+len(path)%3
			if r := parse(t, path, read(t, path)).Run(o); r.Outcome != scenario.Pass {
				t.Errorf("restart-every %t, batch %d, parallelism %d: %v", restart, o.Batch, o.Parallelism, r)
			}
		}
	}
	t.Logf("%d files", len(paths))
}
