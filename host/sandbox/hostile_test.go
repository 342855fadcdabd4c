package sandbox

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/wasmstream/wasmstream/abi"
)

var hostileDir = flag.String("hostile", "", "a folder that TestHostile writes its modules to, with what is expected of them")

// hostile is a module that wants to harm its host, and what becomes of it: a refusal, a
// fault, or nothing, if the harm is bounded without either.
type hostile struct {
	name    string
	wasm    []byte
	refused Refusal
	fault   abi.FaultKind
}

// expectation is how expectations.txt says it.
func (h hostile) expectation() string {
	switch {
	case h.refused != "":
		return "refused " + string(h.refused)
	case h.fault != 0:
		return "fault " + h.fault.String()
	}
	return "lives"
}

// hostileModules are all of them: what the scanner's tests refuse, code that is hard to
// compile, and code that behaves badly, in modules of several roles.
func hostileModules() (all []hostile) {
	for _, c := range refusals {
		all = append(all, hostile{name: "refusal " + c.name, wasm: c.wasm, refused: c.kind})
	}
	all = append(all, codeRefusals()...)
	for name, b := range manyValues(200, 1) {
		all = append(all, hostile{name: "values " + name, wasm: b.bytes(), refused: RefusedLimit})
	}
	for name, b := range manyValues(49, 9) {
		all = append(all, hostile{name: "values in all " + name, wasm: b.bytes(), refused: RefusedLimit})
	}
	for role, manifest := range roleManifests() {
		for _, c := range append(behaviours(), furtherBehaviours()...) {
			b := c.builder
			b.custom = append([]customContent{{abi.ManifestSection, manifest}}, b.custom[1:]...)
			all = append(all, hostile{name: c.name + " " + role, wasm: b.bytes(), fault: c.fault})
		}
	}
	return all
}

// repeated is so many copies of some code.
func repeated(n int, parts ...any) []byte { return bytes.Repeat(code(parts...), n) }

// codeRefusals are functions that the compiler would take long for, or features.
func codeRefusals() (all []hostile) {
	add := func(name string, kind Refusal, locals int, body []byte) {
		b := goodModule()
		b.funcs = append(b.funcs, buildFunc{locals: locals, body: body})
		all = append(all, hostile{name: "code " + name, wasm: b.bytes(), refused: kind})
	}
	br := func(n int) []byte { return code(i32(0), 0x0e, uleb(uint64(n)), bytes.Repeat([]byte{0}, n+1)) }
	add("nested blocks", RefusedLimit, 0, code(repeated(100_000, opBlock, void), repeated(100_000, opEnd)))
	add("nested ifs", RefusedLimit, 0, code(repeated(2000, i32(0), opIf, void), repeated(2000, opEnd)))
	add("many ifs", RefusedLimit, 0, repeated(20_000, i32(0), opIf, void, opEnd))
	add("locals by ifs", RefusedLimit, 2000, repeated(2000, opLocalGet, 0, opIf, void, opLocalGet, 1, opLocalSet, 0, opEnd))
	add("locals by loops", RefusedLimit, 1000, code(repeated(1000, opLoop, void), repeated(1000, opEnd)))
	add("branches to one label", RefusedLimit, 0, code(opBlock, void, branchesOut(40_000), opEnd))
	add("locals by branches", RefusedLimit, 400, code(opBlock, void, branchesOut(1000), opEnd, reads(397)))
	add("locals by branches back", RefusedLimit, 400, code(opLoop, void, branchesOut(1000), opEnd))
	add("a million labels", RefusedLimit, 0, code(br(1_000_000)))
	add("labels in all", RefusedLimit, 0, repeated(60, opBlock, void, br(9000), opEnd))
	add("more fills than compile in a second", RefusedLimit, 0, repeated(1000, i32(0), i32(0), i32(0), 0xfc, 11, 0))
	add("more growth than compiles in a second", RefusedLimit, 0, repeated(5000, i32(0), opMemoryGrow, 0, opDrop))
	add("more ifs than compile in a second", RefusedLimit, 0, repeated(4000, i32(0), opIf, void, opEnd))
	add("more calls by the table than compile in a second", RefusedLimit, 0, repeated(20_000, i32(0), opCallIndirect, 0, 0))
	add("more divisions than compile in a second", RefusedLimit, 1, repeated(50_000, opLocalGet, 0, opLocalGet, 0, 0x6d, opLocalSet, 0))
	add("labels past the end", RefusedTruncated, 0, code(0x0e, uleb(maxU32)))
	add("straight line", RefusedLimit, 0, repeated(800_000, i32(1), opDrop))
	add("after its end", RefusedMalformed, 0, code(opEnd, opEnd))
	add("not closed", RefusedMalformed, 0, code(opBlock, void))
	add("SIMD", RefusedFeature, 0, code(0xfd, 0x0c, make([]byte, 16), opDrop))
	add("atomics", RefusedFeature, 0, code(0xfe, 3, 0))
	add("try", RefusedFeature, 0, code(0x06, void, opEnd))
	add("try_table", RefusedFeature, 0, code(0x1f, void, 0, opEnd))
	add("throw", RefusedFeature, 0, code(0x08, 0))
	add("return_call", RefusedFeature, 0, code(0x12, 3))
	add("return_call_indirect", RefusedFeature, 0, code(i32(0), 0x13, 0, 0))
	add("call_ref", RefusedFeature, 0, code(0x14, 0))
	add("garbage collection", RefusedFeature, 0, code(0xfb, 0, 0, opDrop))
	add("table.grow", RefusedFeature, 0, code(0xd0, 0x70, i32(1<<30), 0xfc, 15, 0, opDrop))
	add("table.grow of nothing", RefusedFeature, 0, code(i32(0), i32(1<<30), 0xfc, 15, 0, opDrop))
	add("table.fill", RefusedFeature, 0, code(i32(0), i32(0), i32(0), 0xfc, 17, 0))
	add("table.get", RefusedFeature, 0, code(i32(0), 0x25, 0, opDrop))
	add("typed select", RefusedFeature, 0, code(i32(0), i32(0), i32(0), 0x1c, 1, 0x7f, opDrop))
	add("block of a vector", RefusedFeature, 0, code(opBlock, 0x7b, opEnd))
	add("unknown instruction", RefusedMalformed, 0, code(0xff))
	add("unknown bulk instruction", RefusedMalformed, 0, code(0xfc, 99))
	add("wrong types", RefusedInvalid, 0, code(i64(1), i32(1), opI32Add, opDrop))
	add("a refill", RefusedInvalid, 0, code(i64(1<<40), opGlobalSet, 0))
	add("a label of the host", RefusedInvalid, 0, code(opBr, 1))
	b := goodModule()
	b.exports = append(b.exports, buildExport{"wasmstream.fuel", 2, 0})
	all = append(all, hostile{name: "code a name of the host", wasm: b.bytes(), refused: RefusedExport})
	return all
}

// roleManifests are manifests of three roles: an aggregate, a map and a filter.
func roleManifests() map[string]string {
	schema := &abi.Schema{Fields: []*abi.Field{{Name: "n", Type: "BIGINT"}}}
	manifests := map[string]string{}
	for _, f := range []*abi.Function{
		{Name: "f", Role: abi.RoleAggregate, Input: schema, Accumulator: schema, Output: schema},
		{Name: "f", Role: abi.RoleMap, Input: schema, Output: schema},
		{Name: "f", Role: abi.RoleProcess, Input: schema, Output: schema},
	} {
		content, err := proto.Marshal(&abi.Manifest{Functions: []*abi.Function{f}})
		if err != nil {
			panic(err)
		}
		manifests[f.GetRole()] = string(content)
	}
	return manifests
}

type behaviour struct {
	name    string
	builder builder
	fault   abi.FaultKind
}

// behaviours are guests that are taken and then behave badly.
func behaviours() (all []behaviour) {
	for name, b := range endless() {
		all = append(all, behaviour{"endless " + name, b, abi.FaultOutOfFuel})
	}
	add := func(name string, fault abi.FaultKind, in, call []byte, imports ...string) {
		all = append(all, behaviour{name, guestThat(in, call, imports...), fault})
	}
	pages := func(n uint32) { all[len(all)-1].builder.pages = []uint32{n, n} }
	forever := func(parts ...any) []byte { return code(opLoop, void, code(parts...), opBr, 0, opEnd, opUnreachable) }
	// What the processor takes long for.
	far := code(opLocalGet, 1, i32(1103515245), 0x6c, i32(12345), opI32Add, opLocalTee, 1, i32(0x3e7ffff), 0x71, opI32Load8, 0, 0, opDrop)
	add("cold reads", abi.FaultOutOfFuel, nil, forever(far))
	pages(1000)
	add("chase of pointers", abi.FaultOutOfFuel, nil, code(
		// Each word of 64 MB holds the address of one far away.
		opLoop, void, opLocalGet, 0, opLocalGet, 0, i32(8191*4096+64), opI32Add, i32(0x3efffc0), 0x71, opI32Store, 2, 0,
		opLocalGet, 0, i32(64), opI32Add, opLocalTee, 0, i32(0x3efffc0), 0x49, 0x0d, 0, opEnd,
		forever(opLocalGet, 0, i32(0x3efffc0), 0x71, 0x28, 2, 0, opLocalSet, 0)))
	pages(1023)
	add("cold writes", abi.FaultOutOfFuel, nil, forever(opLocalGet, 1, i32(1103515245), 0x6c, i32(12345), opI32Add, opLocalTee, 1, i32(0x3e7ffff), 0x71, i32(1), 0x3a, 0, 0))
	pages(1000)
	add("divisions", abi.FaultOutOfFuel, nil, forever(i64(-1), i64(3), 0x7f, opDrop))
	add("square roots", abi.FaultOutOfFuel, nil, forever(0x44, make([]byte, 8), 0x9f, opDrop))
	add("fill of all addresses", abi.FaultOutOfFuel, nil, code(i32(0), i32(0), i32(-1), 0xfc, 11, 0, effectsAt(0, 0)))
	add("fill past the end", abi.FaultTrap, nil, code(i32(-1), i32(0), i32(100), 0xfc, 11, 0, effectsAt(0, 0)))
	add("copy past the end", abi.FaultOutOfFuel, nil, forever(i32(0), i32(0), i32(pageBytes), 0xfc, 10, 0, 0))
	add("grow by all", 0, nil, code(i32(-1), opMemoryGrow, 0, opDrop, i32(65535), opMemoryGrow, 0, opDrop, effectsAt(0, 0)))
	add("memory bomb", 0, nil, code(i32(1023), opMemoryGrow, 0, opDrop, i32(0), i32(7), i32(64<<20-pageBytes), 0xfc, 11, 0, i32(0), opI32Load8, 0, 0, opDrop, effectsAt(0, 0)))
	all[len(all)-1].builder.pages = []uint32{1}
	// Calls.
	add("recursion", abi.FaultTooDeep, nil, recursion(2))
	add("wide recursion", abi.FaultTooDeep, nil, recursion(2))
	all[len(all)-1].builder.funcs[2].locals = 40_000
	add("trap", abi.FaultTrap, nil, code(opUnreachable))
	add("division by zero", abi.FaultTrap, nil, code(i32(1), i32(0), 0x6d, opDrop, effectsAt(0, 0)))
	add("exit", abi.FaultTrap, nil, code(i32(0), opCall, 0, opUnreachable), "proc_exit")
	add("exit of in", abi.FaultTrap, code(i32(0), opCall, 0, i32(8)), nil, "proc_exit")
	add("sleep", abi.FaultOverLimit, nil, forever(i32(64), i32(2048), i32(1), i32(32), opCall, 0, opDrop), "poll_oneoff")
	add("state that is not declared", abi.FaultBadState, nil, code(i32(0), i32(0), i32(0), i32(0), opCall, 0, effectsAt(0, 0)), abi.ImportStateDelete)
	add("log past the end", abi.FaultBadPointer, nil, code(i32(0), i32(-1), i32(-1), opCall, 0, effectsAt(0, 0)), abi.ImportLog)
	add("fail past the end", abi.FaultBadPointer, nil, code(i32(-1), i32(1), opCall, 0, effectsAt(0, 0)), abi.ImportFail)
	add("vectors past the end", 0, nil, code(i32(1), i32(-8), i32(1024), i32(-1), opCall, 0, opDrop, effectsAt(0, 0)), "fd_write")
	add("random past the end", 0, nil, code(i32(-8), i32(-1), opCall, 0, opDrop, effectsAt(0, 0)), "random_get")
	// Answers.
	for name, c := range map[string]struct {
		fault abi.FaultKind
		in    []byte
	}{
		"in past the end": {abi.FaultBadPointer, i32(pageBytes - 8)}, "in at the end of addresses": {abi.FaultBadPointer, i32(-8)},
		"in misaligned": {abi.FaultBadPointer, i32(1025)}, "endless in": {abi.FaultOutOfFuel, forever()},
	} {
		add(name, c.fault, c.in, nil)
	}
	for name, effects := range map[string][]byte{
		"effects past the end": effectsAt(pageBytes-4, 8), "effects past all addresses": effectsAt(maxU32, maxU32-1),
		"effects over the frame": effectsAt(framePointer+8, 8), "effects around the frame": effectsAt(0, pageBytes),
	} {
		add(name, abi.FaultBadEffects, nil, effects)
	}
	for name, body := range map[string][]byte{"endless start": forever(), "start that traps": code(opUnreachable)} {
		fault := abi.FaultOutOfFuel
		if name == "start that traps" {
			fault = abi.FaultTrap
		}
		add(name, fault, nil, nil)
		b := &all[len(all)-1].builder
		b.funcs = append(b.funcs, buildFunc{export: abi.ExportInitialize, body: body})
	}
	add("data past the end", abi.FaultTrap, nil, nil)
	all[len(all)-1].builder.data = map[uint32]string{pageBytes - 1: "past the end"}
	return all
}

// The bounds of what any hostile module may cost: processor time, because the test
// machine is shared, and memory over what the process had before.
const (
	hostileTimeMax  = time.Second
	hostileBytesMax = 256 << 20
	hostileVariable = "WASMSTREAM_HOSTILE_CHILD"
)

// TestHostile plays all of them in one process of its own, one after the other. The
// process lives, each costs no more than it may, and a good guest that was there
// before answers the same afterwards.
func TestHostile(t *testing.T) {
	if os.Getenv(hostileVariable) == "" {
		if *hostileDir != "" {
			writeHostile(t)
		}
		cmd := exec.Command(os.Args[0], "-test.run=^TestHostile$", "-test.v")
		cmd.Env = append(os.Environ(), hostileVariable+"=1")
		output, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, output)
		}
		for line := range strings.SplitSeq(string(output), "\n") {
			if strings.Contains(line, "modules; ") || strings.Contains(line, " took ") {
				t.Log(strings.TrimSpace(line))
			}
		}
		return
	}
	neighbour := openDelays(t, "delays-c.wasm", Options{})
	slowest, largest, count := time.Duration(0), 0, 0
	for _, h := range hostileModules() {
		got, took, grew := measureHostile(t, h)
		// Others that use the machine's caches cost time, and a collection that comes late memory.
		for attempt := 0; attempt < 4 && (took > hostileTimeMax || grew > hostileBytesMax); attempt++ {
			again, less, smaller := measureHostile(t, h)
			if took, grew = min(took, less), min(grew, smaller); again != got {
				t.Errorf("%s: %s, and then %s", h.name, got, again)
			}
		}
		if testing.Verbose() && took > hostileTimeMax/4 {
			t.Logf("%s took %s", h.name, took)
		}
		slowest, largest, count = max(slowest, took), max(largest, grew), count+1
		if got != h.expectation() {
			t.Errorf("%s: %s; want %s", h.name, got, h.expectation())
		}
		if took > hostileTimeMax || grew > hostileBytesMax {
			t.Errorf("%s took %s and %d MiB", h.name, took, grew>>20)
		}
		checkDelays(t, neighbour)
	}
	t.Logf("%d modules; the slowest took %s, the largest %d MiB", count, slowest, largest>>20)
}

// measureHostile plays a module, and says what it cost.
func measureHostile(t *testing.T, h hostile) (outcome string, took time.Duration, grew int) {
	resetPeak(t)
	before, base := processorTime(t), memoryLine(t, "VmRSS")
	outcome = playHostile(h)
	return outcome, processorTime(t) - before, memoryLine(t, "VmHWM") - base
}

// playHostile loads a module and calls it twice, rebuilt if it is dead, and tells what
// happened.
func playHostile(h hostile) string {
	e, err := NewEngine(context.Background(), Options{})
	if err != nil {
		return err.Error()
	}
	defer e.Close()
	tell := func(err error) string {
		var refused *RefusedError
		var fault *Fault
		switch {
		case errors.As(err, &refused):
			return "refused " + string(refused.Kind)
		case errors.As(err, &fault):
			return "fault " + fault.Kind.String()
		case err != nil:
			return err.Error()
		}
		return "lives"
	}
	m, err := e.Load(context.Background(), "hostile", h.wasm)
	if err != nil {
		return tell(err)
	}
	i, err := m.Instantiate(context.Background(), InstanceOptions{})
	if err != nil {
		return tell(err)
	}
	defer i.Close()
	i.Ops(3)
	_, err = (&guest{Instance: i}).run(64)
	first := tell(err)
	if i.cause != nil {
		if err := i.Rebuild(); err != nil {
			return "rebuild: " + tell(err)
		}
	}
	return first
}

// writeHostile writes the modules for others to play.
func writeHostile(t *testing.T) {
	var list strings.Builder
	for _, h := range hostileModules() {
		name := strings.ReplaceAll(h.name, " ", "-") + ".wasm"
		fmt.Fprintf(&list, "%s: %s\n", name, h.expectation())
		if err := os.WriteFile(filepath.Join(*hostileDir, name), h.wasm, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(*hostileDir, "expectations.txt"), []byte(list.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}

func processorTime(t testing.TB) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		t.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// resetPeak sets the process's peak of resident memory to what it has now.
func resetPeak(t *testing.T) {
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
		t.Skip("the system does not tell how much memory a process has")
	}
}

// memoryLine reads a figure of the process's memory, in bytes.
func memoryLine(t *testing.T, name string) int {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), name+":")
	kb, err := strconv.Atoi(strings.Fields(rest)[0])
	if err != nil {
		t.Fatal(err)
	}
	return kb << 10
}
