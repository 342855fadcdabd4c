package sandbox

import (
	"context"
	"crypto/sha256"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/wasmstream/wasmstream/host/sandbox/meter"
)

var generated = flag.Int("generated", 500, "modules that TestMetersChangeNothing generates")

// played is what can be seen of a call.
type played struct {
	result, fuel, count uint64
	failure             string
	memory              [sha256.Size]byte
}

// TestMetersChangeNothing: a generated module does the same with meters and without, on
// the compiler and on the interpreter; fuel is the same on both; and what is charged
// is neither less than what is executed nor more than a constant times as much.
func TestMetersChangeNothing(t *testing.T) {
	ctx := context.Background()
	var executed, charged, traps, worst float64
	runtimes := [2]wazero.Runtime{
		wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigCompiler().WithCoreFeatures(features)),
		wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter().WithCoreFeatures(features)),
	}
	defer runtimes[0].Close(ctx)
	defer runtimes[1].Close(ctx)
	for seed := range uint64(*generated) {
		plain, counting := genModule(rand.New(rand.NewPCG(seed, 3)))
		metered, err := meter.Rewrite(plain)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if len(metered) > 9*len(plain)+200 {
			t.Errorf("seed %d: %d bytes became %d", seed, len(plain), len(metered))
		}
		want := playModule(t, runtimes[0], counting)
		for n, runtime := range runtimes {
			got := playModule(t, runtime, metered)
			again := playModule(t, runtime, plain)
			for i := range want {
				if got[i].result != want[i].result || got[i].failure != want[i].failure || got[i].memory != want[i].memory {
					t.Fatalf("seed %d, call %d, runtime %d: with meters %+v, counting %+v", seed, i, n, got[i], want[i])
				}
				if again[i].result != want[i].result || again[i].failure != want[i].failure {
					t.Fatalf("seed %d: without meters %+v, counting %+v", seed, again[i], want[i])
				}
				c, f := float64(want[i].count), float64(got[i].fuel)
				if n == 0 {
					want[i].fuel = got[i].fuel
					executed, charged, worst = executed+c, charged+f, max(worst, f/(c+500))
					if want[i].failure != "" {
						traps++
					}
				} else if want[i].fuel != got[i].fuel {
					t.Fatalf("seed %d, call %d: fuel %d on the compiler, %d on the interpreter", seed, i, want[i].fuel, got[i].fuel)
				}
				// A short function that the host calls is charged by nobody.
				if want[i].failure == "" && f < c && c > 50 {
					t.Fatalf("seed %d, call %d: %v instructions, fuel %v", seed, i, c, f)
				}
			}
		}
	}
	t.Logf("%.0f instructions, %.0f fuel, at worst %.1f times; %.0f traps", executed, charged, worst, traps)
	// The worst are short calls that grow memory, which is charged by pages.
	if traps == 0 || worst > 250 || charged > 20*executed || executed < 1000*float64(*generated) {
		t.Error("that is not what was meant")
	}
}

// playModule calls f of a new instance several times.
func playModule(t *testing.T, runtime wazero.Runtime, wasm []byte) (all []played) {
	t.Helper()
	ctx := context.Background()
	compiled, err := runtime.CompileModule(ctx, wasm)
	if err != nil {
		t.Fatal(err)
	}
	defer compiled.Close(ctx)
	m, err := runtime.InstantiateModule(ctx, compiled, wazero.NewModuleConfig().WithName(""))
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close(ctx)
	for n := range uint64(4) {
		const tank = math.MaxInt64 / 2
		fuel, _ := m.ExportedGlobal(meter.Fuel).(api.MutableGlobal)
		if fuel != nil {
			refueled(m)
			fuel.Set(tank)
		}
		count := m.ExportedGlobal("count").(api.MutableGlobal)
		count.Set(0)
		var p played
		results, err := m.ExportedFunction("f").Call(ctx, n, 7*n)
		if err != nil {
			p.failure, _, _ = strings.Cut(err.Error(), "\n")
		} else {
			p.result = results[0]
		}
		memory, _ := m.Memory().Read(0, m.Memory().Size())
		p.memory, p.count = sha256.Sum256(memory), count.Get()
		if fuel != nil {
			p.fuel = tank - fuel.Get()
		}
		all = append(all, p)
	}
	return all
}

// A module cannot reach what the meters add, even where nobody has validated it.
func TestMetersCannotBeReached(t *testing.T) {
	for name, body := range map[string][]byte{
		"refill":      code(i64(1), opGlobalSet, 1),
		"look":        code(opGlobalGet, 1, opDrop),
		"scratch":     code(i32(1), opLocalSet, 3, i32(0), i32(0), i32(0), 0xfc, 11, 0),
		"stop label":  code(opBr, 1),
		"stop table":  code(i32(0), 0x0e, 1, 0, 1),
		"block type":  code(opBlock, 100, opEnd),
		"call type":   code(i32(0), opCallIndirect, 100, 0),
		"lonely else": code(opElse),
	} {
		b := goodModule()
		b.globals = 1
		b.funcs[2].body = code(body, effectsAt(0, 0))
		if _, err := meter.Rewrite(b.bytes()); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	b := goodModule()
	b.exports = append(b.exports, buildExport{"tank", 3, 0})
	if _, err := meter.Rewrite(b.bytes()); err == nil {
		t.Error("the tank can be exported")
	}
	b.exports[1] = buildExport{meter.Fuel, 2, 0}
	if _, err := Inspect(b.bytes(), Options{}); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%q", meter.Fuel)) {
		t.Errorf("a reserved name: %v", err)
	}
}

// TestValidateLooksAtTheOriginal pins how the engine is made to validate without
// compiling: what is invalid is found, and what is valid is not refused because the
// context is over.
func TestValidateLooksAtTheOriginal(t *testing.T) {
	m := &Module{name: "guest", options: Options{}.withDefaults()}
	for name, body := range map[string][]byte{
		"wrong types": code(i64(1), i32(1), opI32Add, opDrop),
		"a refill":    code(i64(1), opGlobalSet, 0),
	} {
		b := goodModule()
		b.funcs = append(b.funcs, buildFunc{body: body})
		if err := m.validate(b.bytes()); err == nil || !strings.Contains(err.Error(), "its code is not valid") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, wasm := range [][]byte{richModule(), guestBytes(t, "delays-go.wasm")} {
		if err := m.validate(wasm); err != nil {
			t.Errorf("a valid module: %v", err)
		}
	}
}
