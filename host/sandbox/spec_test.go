package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/wasmstream/wasmstream/host/internal/needs"
	"github.com/wasmstream/wasmstream/host/sandbox/meter"
)

// The specification's test suite, as the engine's source has it, goes through the
// scanner and the meters. What is valid and within the features must be taken, but
// for the caps that are named here, and do what the suite expects.
func TestSpecification(t *testing.T) {
	needs.Tool(t, "go")
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/tetratelabs/wazero").Output()
	if err != nil {
		t.Fatal(err)
	}
	suite := filepath.Join(strings.TrimSpace(string(out)), "internal", "integration_test", "spectest")
	for name, config := range map[string]wazero.RuntimeConfig{"compiler": wazero.NewRuntimeConfigCompiler(), "interpreter": wazero.NewRuntimeConfigInterpreter()} {
		t.Run(name, func(t *testing.T) {
			total := specCounts{refused: map[string]int{}}
			for _, version := range []string{"v1", "v2"} {
				files, err := filepath.Glob(filepath.Join(suite, version, "testdata", "*.json"))
				if err != nil || len(files) < 50 {
					t.Fatalf("%d files in %s: %v", len(files), suite, err)
				}
				for _, file := range files {
					// Modules that share memories and tables are refused; what the others of the
					// file then answer depends on them.
					if name := filepath.Base(file); !strings.HasPrefix(name, "simd_") && name != "linking.json" && name != "elem.json" {
						runSpecFile(t, suite, file, config, &total)
					}
				}
			}
			t.Logf("%+v", total)
			if total.returns < 10_000 || total.traps < 300 || total.invalid < 1000 {
				t.Errorf("little was tested: %+v", total)
			}
		})
	}
}

type specCounts struct {
	modules, returns, traps, invalid int
	refused                          map[string]int
}

type specCommand struct {
	Type, Name, Filename, Text string
	Line                       int
	ModuleType                 string `json:"module_type"`
	Action                     struct {
		Type, Module, Field string
		Args                []specValue
	}
	Expected []specValue
}

type specValue struct {
	Type  string
	Value any
}

// specRun is one file under way.
type specRun struct {
	t       *testing.T
	dir     string
	runtime wazero.Runtime
	last    api.Module // nil: the last module was not taken
	named   map[string]api.Module
	total   *specCounts
}

func runSpecFile(t *testing.T, suite, file string, config wazero.RuntimeConfig, total *specCounts) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var script struct{ Commands []specCommand }
	if err := json.Unmarshal(text, &script); err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	r := &specRun{t: t, dir: filepath.Dir(file), named: map[string]api.Module{}, total: total}
	r.runtime = wazero.NewRuntimeWithConfig(ctx, config.WithCoreFeatures(features).WithDebugInfoEnabled(false))
	defer r.runtime.Close(ctx)
	spectest, err := os.ReadFile(filepath.Join(suite, "testdata", "spectest.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	_, _ = r.runtime.InstantiateWithConfig(ctx, spectest, wazero.NewModuleConfig())
	for _, c := range script.Commands {
		r.perform(&c, fmt.Sprintf("%s:%d", filepath.Base(file), c.Line))
	}
}

func (r *specRun) perform(c *specCommand, place string) {
	switch c.Type {
	case "module":
		r.last = r.module(c.Filename, place)
		if c.Name != "" {
			r.named[c.Name] = r.last
		}
	case "assert_invalid", "assert_malformed":
		if c.ModuleType != "text" {
			r.invalid(c.Filename, place)
		}
	case "assert_return", "action":
		if results, err, ran := r.act(c); ran {
			r.total.returns++
			if err != nil || !sameValues(results, c.Expected) {
				r.t.Errorf("%s: %x, %v; want %v", place, results, err, c.Expected)
			}
		}
	case "assert_trap", "assert_exhaustion":
		if _, err, ran := r.act(c); ran {
			r.total.traps++
			if err == nil {
				r.t.Errorf("%s: no trap; want %s", place, c.Text)
			}
		}
	}
}

// module takes a module as the sandbox does, and makes an instance.
func (r *specRun) module(file, place string) api.Module {
	wasm, err := os.ReadFile(filepath.Join(r.dir, file))
	if err != nil {
		r.t.Fatal(err)
	}
	ctx := context.Background()
	if compiled, err := r.runtime.CompileModule(ctx, wasm); err != nil {
		return nil // of features that are off
	} else {
		_ = compiled.Close(ctx)
	}
	if _, refused := scan(wasm, defaultOptions); refused != nil {
		switch refused.Kind {
		case RefusedFeature, RefusedImport, RefusedStart, RefusedTable, RefusedMemory, RefusedLimit:
			r.total.refused[string(refused.Kind)]++
		default:
			r.t.Errorf("%s: the valid module %s is refused: %v", place, file, refused)
		}
		return nil
	}
	metered, err := rewritten(wasm)
	if err != nil {
		r.t.Errorf("%s: %s: %v", place, file, err)
		return nil
	}
	compiled, err := r.runtime.CompileModule(ctx, metered)
	if err != nil {
		r.t.Errorf("%s: %s with meters: %v", place, file, err)
		return nil
	}
	r.total.modules++
	instance, err := instantiated(r.runtime, compiled)
	if err != nil {
		return nil // it imports from a module that was not taken, or traps as it should
	}
	return refueled(instance)
}

// instantiated makes an instance, as Module.newGuest does: the engine panics where an
// element segment has no table.
func instantiated(runtime wazero.Runtime, compiled wazero.CompiledModule) (m api.Module, err error) {
	defer func() {
		if r := recover(); r != nil {
			m, err = nil, fmt.Errorf("the engine: %v", r)
		}
	}()
	return runtime.InstantiateModule(context.Background(), compiled, wazero.NewModuleConfig().WithName(""))
}

func refueled(m api.Module) api.Module {
	m.ExportedGlobal(meter.Fuel).(api.MutableGlobal).Set(math.MaxInt64 / 2)
	m.ExportedGlobal(meter.Depth).(api.MutableGlobal).Set(1 << 20)
	return m
}

// act calls a function; ran is false if its module was not taken.
func (r *specRun) act(c *specCommand) (results []uint64, err error, ran bool) {
	m := r.last
	if c.Action.Module != "" {
		m = r.named[c.Action.Module]
	}
	if m == nil {
		return nil, nil, false
	}
	if c.Action.Type == "get" {
		return []uint64{m.ExportedGlobal(c.Action.Field).Get()}, nil, true
	}
	args := make([]uint64, len(c.Action.Args))
	for n, a := range c.Action.Args {
		args[n], _ = a.bits()
	}
	results, err = m.ExportedFunction(c.Action.Field).Call(context.Background(), args...)
	if int64(m.ExportedGlobal(meter.Fuel).Get()) < 0 {
		err = errors.New("it ran out of fuel")
	}
	refueled(m)
	return results, err, true
}

// invalid holds what the engine refuses against the meters: they must not make it valid.
func (r *specRun) invalid(file, place string) {
	wasm, err := os.ReadFile(filepath.Join(r.dir, file))
	if err != nil {
		return // some are text only
	}
	ctx := context.Background()
	if compiled, err := r.runtime.CompileModule(ctx, wasm); err == nil {
		_ = compiled.Close(ctx)
		return // the engine does not see it either
	}
	r.total.invalid++
	if _, refused := scan(wasm, defaultOptions); refused != nil {
		return
	}
	metered, err := rewritten(wasm)
	if err != nil {
		return
	}
	if compiled, err := r.runtime.CompileModule(ctx, metered); err == nil {
		_ = compiled.Close(ctx)
		r.t.Errorf("%s: meters make the invalid module %s valid", place, file)
	}
}

// bits returns a value's bits, or false for a NaN of some kind.
func (v specValue) bits() (uint64, bool) {
	text, _ := v.Value.(string)
	if strings.HasPrefix(text, "nan") {
		if v.Type == "f32" {
			return 0x7fc00000, false
		}
		return 0x7ff8000000000000, false
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		signed, _ := strconv.ParseInt(text, 10, 64)
		n = uint64(signed)
	}
	if strings.HasSuffix(v.Type, "32") {
		n = uint64(uint32(n))
	}
	return n, true
}

func sameValues(got []uint64, want []specValue) bool {
	if len(got) != len(want) {
		return false
	}
	for n, v := range want {
		bits, exact := v.bits()
		value := got[n]
		switch {
		case strings.HasSuffix(v.Type, "32"):
			value = uint64(uint32(value))
		}
		if exact && value != bits {
			return false
		}
		isNaN := v.Type == "f32" && math.IsNaN(float64(math.Float32frombits(uint32(value)))) || v.Type == "f64" && math.IsNaN(math.Float64frombits(value))
		if !exact && !isNaN {
			return false
		}
	}
	return true
}
