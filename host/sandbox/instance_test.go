package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tetratelabs/wazero/experimental"

	"github.com/wasmstream/wasmstream/abi"
	"github.com/wasmstream/wasmstream/host/stream"
)

func TestCallAnswersEffects(t *testing.T) {
	// Call writes the function's index where the effects are, and 42 into the frame.
	b := guestThat(nil, code(i32(effectsPointer), opLocalGet, 0, opI32Store, 2, 0,
		opLocalGet, 1, i32(42), opI32Store, 2, 4, effectsAt(effectsPointer, 8)))
	g := instantiate(t, load(t, Options{}, b.bytes()))
	frame, pointer, err := g.In(100)
	if err != nil || len(frame) != 100 || pointer != framePointer {
		t.Fatalf("In: %d bytes at %d, %v", len(frame), pointer, err)
	}
	effects, err := g.Call(7, pointer, 100)
	if err != nil || !bytes.Equal(effects, []byte{7, 0, 0, 0, 0, 0, 0, 0}) {
		t.Fatalf("Call: %v, %v", effects, err)
	}
	if cap(effects) != 8 {
		t.Errorf("an append to the effects would write into the guest")
	}
	if frame[4] != 42 || g.Frame()[4] != 42 {
		t.Error("the guest's edit of the frame is not seen")
	}
	if g.MemoryBytes() != pageBytes {
		t.Errorf("memory has %d bytes", g.MemoryBytes())
	}
}

func TestInAndCallAllocateNothing(t *testing.T) {
	g := instantiate(t, load(t, Options{}, guestThat(nil, effectsAt(effectsPointer, 16)).bytes()))
	if n := testing.AllocsPerRun(1000, func() {
		if _, err := g.run(4096); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("In and Call allocate %v times", n)
	}
}

// recursion is a body that calls the function of its own index for ever.
func recursion(self int) []byte {
	return code(opLocalGet, 0, opLocalGet, 1, opLocalGet, 2, opCall, uleb(uint64(self)))
}

func TestFaults(t *testing.T) {
	failing := code(i32(64), i32(4), opCall, 0, effectsAt(0, 0))
	for _, c := range []struct {
		name     string
		guest    builder
		kind     abi.FaultKind
		entry    string
		message  string
		function int
	}{
		{"trap", guestThat(nil, code(opUnreachable)), abi.FaultTrap, abi.ExportCall, "trapped: unreachable", 3},
		{"trap in in", guestThat(code(opUnreachable), nil), abi.FaultTrap, abi.ExportIn, "trapped: unreachable", -1},
		{"address", guestThat(nil, code(i32(-1), opI32Load8, 0, 0, opDrop, effectsAt(0, 0))), abi.FaultTrap, abi.ExportCall, "out of bounds memory access", 3},
		{"recursion", guestThat(nil, recursion(2)), abi.FaultTooDeep, abi.ExportCall, "nested too deeply (endless recursion?): the limit, StackBytesMax, is 16777216 bytes of their frames, which no field of limits raises", 3},
		{"fail", func() builder {
			b := guestThat(nil, failing, abi.ImportFail)
			b.data = map[uint32]string{64: "no\x1b!"}
			return b
		}(), abi.FaultFailed, abi.ExportCall, `no<1b>!`, 3},
		{"fail outside memory", guestThat(nil, code(i32(-8), i32(100), opCall, 0, effectsAt(0, 0)), abi.ImportFail),
			abi.FaultBadPointer, abi.ExportCall, "wasmstream.fail got 100 bytes at 4294967288", 3},
		{"exit", guestThat(nil, code(i32(3), opCall, 0, opUnreachable), "proc_exit"), abi.FaultTrap, abi.ExportCall, "exited with status 3", 3},
		{"exit 0", guestThat(nil, code(i32(0), opCall, 0, opUnreachable), "proc_exit"), abi.FaultTrap, abi.ExportCall, "exited with status 0", 3},
		{"in outside memory", guestThat(i32(pageBytes-8), nil), abi.FaultBadPointer, abi.ExportIn, "wasmstream_in(100) answered 65528", -1},
		{"in at the end of addresses", guestThat(i32(-8), nil), abi.FaultBadPointer, abi.ExportIn, "answered 4294967288", -1},
		{"in misaligned", guestThat(i32(1025), nil), abi.FaultBadPointer, abi.ExportIn, "misaligned", -1},
		{"effects outside memory", guestThat(nil, effectsAt(pageBytes-4, 8)), abi.FaultBadEffects, abi.ExportCall, "8 bytes of effects at 65532", 3},
		{"effects past all addresses", guestThat(nil, effectsAt(maxU32, maxU32-1)), abi.FaultBadEffects, abi.ExportCall, "4294967294 bytes of effects", 3},
		{"effects in the frame", guestThat(nil, effectsAt(framePointer+96, 8)), abi.FaultBadEffects, abi.ExportCall, "overlap the frame", 3},
		{"sleep", guestThat(nil, code(opLoop, void, i32(64), i32(2048), i32(1), i32(32), opCall, 0, opDrop, opBr, 0, opEnd, opUnreachable), "poll_oneoff"),
			abi.FaultOverLimit, abi.ExportCall, "time stands still", 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := instantiate(t, load(t, Options{}, c.guest.bytes()))
			_, pointer, err := g.In(100)
			if err == nil {
				_, err = g.Call(3, pointer, 100)
			}
			f := asFault(t, err)
			if f.Kind != c.kind || f.Entry != c.entry || f.Function != c.function || f.Module != "guest" || !strings.Contains(f.Message, c.message) {
				t.Errorf("got %+v", f)
			}
			checkDead(t, g, f)
		})
	}
}

// checkDead checks invariant E, and that a rebuilt instance faults anew rather
// than remembering.
func checkDead(t *testing.T, g *guest, f *Fault) {
	t.Helper()
	var dead *DeadError
	if _, _, err := g.In(1); !errors.As(err, &dead) || !errors.Is(err, f) {
		t.Errorf("In on a dead instance: %v", err)
	}
	if _, err := g.Call(0, framePointer, 1); !errors.As(err, &dead) {
		t.Errorf("Call on a dead instance: %v", err)
	}
	if err := g.Rebuild(); err != nil {
		t.Fatal(err)
	}
	_, err := g.run(100)
	if again := asFault(t, err); again == f || again.Kind != f.Kind {
		t.Errorf("after Rebuild: %v", err)
	}
}

func TestBacktraceNamesFunctions(t *testing.T) {
	b := guestThat(nil, code(opCall, 3, effectsAt(0, 0)))
	b.funcs = append(b.funcs, buildFunc{body: code(opUnreachable)})
	b.custom = append(b.custom, customContent{"name", string(section(1, code(1, 3, text("deepest"))))})
	_, err := instantiate(t, load(t, Options{}, b.bytes())).run(8)
	f := asFault(t, err)
	if len(f.Backtrace) != 2 || f.Backtrace[0] != "deepest()" {
		t.Errorf("backtrace: %q", f.Backtrace)
	}
	if want := `module "guest" failed in wasmstream_call, function 0: trap: the code trapped: unreachable`; err.Error() != want {
		t.Errorf("got %s", err)
	}
}

// TestBacktraceIsBounded: names are the guest's, and may be long or harm a terminal.
func TestBacktraceIsBounded(t *testing.T) {
	found := 0
	for _, b := range shownNames() {
		if b.fault == 0 {
			continue
		}
		_, err := instantiate(t, load(t, Options{}, b.builder.bytes())).run(8)
		f := asFault(t, err)
		all := strings.Join(f.Backtrace, "")
		if len(f.Backtrace) == 0 || len(all) > len(f.Backtrace)*4*backtraceLineBytesMax || stream.Printable(all) != all {
			t.Errorf("%s: %d lines of %d bytes: %.300q", b.name, len(f.Backtrace), len(all), f.Backtrace)
		}
		found++
	}
	if found < 2 {
		t.Errorf("%d backtraces", found)
	}
}

func TestTooLargeLeavesTheInstanceAlive(t *testing.T) {
	// In refuses what is over 100 bytes; Call refuses function 1 by the ABI's answer.
	in := code(opLocalGet, 0, i32(100), 0x4b /* i32.gt_u */, opIf, void, i32(0), opReturn, opEnd, i32(framePointer))
	call := code(opLocalGet, 0, opIf, void, i64(-1), opReturn, opEnd, effectsAt(effectsPointer, 16))
	g := instantiate(t, load(t, Options{FrameBytesMax: 200, EffectsBytesMax: 16}, guestThat(in, call).bytes()))
	var tooLarge *TooLargeError
	for size, reason := range map[int]string{101: "the guest has no room", 201: "a frame may have 200 bytes (FrameBytesMax), which no field of limits raises", -1: "a frame may have 200 bytes"} {
		if _, _, err := g.In(size); !errors.As(err, &tooLarge) || tooLarge.Effects || tooLarge.Bytes != size || !strings.Contains(err.Error(), reason) {
			t.Errorf("In(%d): %v", size, err)
		}
	}
	_, pointer, err := g.In(100)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.Call(1, pointer, 100); !errors.As(err, &tooLarge) || !tooLarge.Effects {
		t.Errorf("Call: %v", err)
	}
	if effects, err := g.run(50); err != nil || len(effects) != 16 {
		t.Errorf("half of it: %v", err)
	}
	small := instantiate(t, load(t, Options{EffectsBytesMax: 15}, guestThat(in, call).bytes()))
	if _, err := small.run(50); !errors.As(err, &tooLarge) || !tooLarge.Effects || !strings.Contains(err.Error(), "the limit is 15") {
		t.Errorf("effects over the host's limit: %v", err)
	}
}

// growing is code that adds one page.
var growing = code(i32(1), opMemoryGrow, 0, opDrop)

func TestMemoryGrowsInsideCalls(t *testing.T) {
	t.Run("reserved", func(t *testing.T) { checkGrowing(t, allocateMemory) })
	t.Run("moving", func(t *testing.T) {
		checkGrowing(t, func(uint64, uint64) experimental.LinearMemory { return &heapMemory{} })
	})
}

// TestMemoryOfOneInstance: an instance may have less memory than others of its module, and
// one that has too little for the module to begin with there is not.
func TestMemoryOfOneInstance(t *testing.T) {
	for name, allocate := range map[string]experimental.MemoryAllocatorFunc{
		"reserved": allocateMemory, "moving": func(uint64, uint64) experimental.LinearMemory { return &heapMemory{} },
	} {
		b := guestThat(code(growing, growing, growing, i32(framePointer)), code(effectsAt(effectsPointer, 16)))
		b.pages = []uint32{2, 60_000}
		m := load(t, Options{MemoryPagesMax: 100}, b.bytes())
		m.allocate = allocate
		for pages, want := range map[uint32]int{0: 5, 2: 2, 4: 4, 1000: 5} {
			g, err := m.Instantiate(context.Background(), InstanceOptions{MemoryPagesMax: pages})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := (&guest{Instance: g}).run(16); err != nil || g.MemoryBytes() != want*pageBytes {
				t.Errorf("%s, at most %d pages: %d bytes, want %d pages; %v", name, pages, g.MemoryBytes(), want, err)
			}
			if err := g.Close(); err != nil {
				t.Error(err)
			}
		}
		if _, err := m.Instantiate(context.Background(), InstanceOptions{MemoryPagesMax: 1}); err == nil || !strings.Contains(err.Error(), "needs 128 KiB of memory at least, and an instance may have 64 KiB: limits: {memory: …}") {
			t.Errorf("%s, too little to begin: %v", name, err)
		}
	}
}

func checkGrowing(t *testing.T, allocate experimental.MemoryAllocatorFunc) {
	// The frame ends in the page that In adds; Call adds another and answers from it.
	in := code(growing, i32(pageBytes-8))
	call := code(growing, opLocalGet, 1, i32(9), opI32Store, 2, 0, i32(2*pageBytes), i32(5), opI32Store, 2, 0, effectsAt(2*pageBytes, 4))
	b := guestThat(in, call)
	b.pages = []uint32{1, 60_000} // more than it gets
	m := load(t, Options{MemoryPagesMax: 3}, b.bytes())
	m.allocate = allocate
	g := instantiate(t, m)
	frame, pointer, err := g.In(16)
	if err != nil {
		t.Fatal(err)
	}
	frame[8] = 77
	effects, err := g.Call(0, pointer, 16)
	if err != nil || effects[0] != 5 || g.Frame()[0] != 9 || g.Frame()[8] != 77 {
		t.Fatalf("effects %v, frame %v, %v", effects, g.Frame(), err)
	}
	if g.MemoryBytes() != 3*pageBytes {
		t.Errorf("memory has %d bytes", g.MemoryBytes())
	}
	// There is no fourth page: growing fails and the guest goes on.
	if _, err := g.run(16); err != nil || g.MemoryBytes() != 3*pageBytes {
		t.Errorf("%d bytes, %v", g.MemoryBytes(), err)
	}
}

func TestMemoryIsZeroInANewInstance(t *testing.T) {
	m := load(t, Options{}, goodModule().bytes())
	for range 3 {
		g := instantiate(t, m)
		frame, _, err := g.In(4096)
		if err != nil || slices.ContainsFunc(frame, func(b byte) bool { return b != 0 }) {
			t.Fatalf("memory of another instance shows: %v", err)
		}
		for n := range frame {
			frame[n] = 0xaa
		}
		if err := g.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestMemoryIsZeroAfterARebuild: of what a guest wrote its next one sees nothing, near or far, though it may have the same
// memory; what was given back with the instance is not had again.
func TestMemoryIsZeroAfterARebuild(t *testing.T) {
	for name, allocate := range map[string]experimental.MemoryAllocatorFunc{
		"reserved": allocateMemory, "moving": func(uint64, uint64) experimental.LinearMemory { return &heapMemory{} },
	} {
		// Call takes all pages, and fills all of them.
		b := guestThat(nil, code(i32(69), opMemoryGrow, 0, opDrop, i32(0), i32(7), i32(70*pageBytes), 0xfc, 11, 0, opUnreachable))
		b.pages, b.data = []uint32{1, 70}, map[uint32]string{100: "data"}
		m := load(t, Options{}, b.bytes())
		m.allocate = allocate
		g := instantiate(t, m)
		for range 3 {
			if bytes, _ := g.memory.Read(0, g.memory.Size()); len(bytes) != pageBytes {
				t.Fatalf("%s: a new guest has %d bytes", name, len(bytes))
			}
			whole := g.room.Reallocate(70 * pageBytes)
			if at := slices.IndexFunc(whole, func(b byte) bool { return b != 0 }); at != 100 || string(whole[100:104]) != "data" || slices.ContainsFunc(whole[104:], func(b byte) bool { return b != 0 }) {
				t.Fatalf("%s: memory of the guest before shows at %d", name, at)
			}
			if _, err := g.run(16); err == nil || g.MemoryBytes() != 70*pageBytes {
				t.Fatalf("%s: %v", name, err)
			}
			if err := g.Rebuild(); err != nil {
				t.Fatal(err)
			}
		}
		if err := g.Close(); err != nil || g.room.LinearMemory != nil {
			t.Errorf("%s: memory of a closed instance is there; %v", name, err)
		}
	}
}

func TestInstantiationThatFails(t *testing.T) {
	b := goodModule()
	b.data = map[uint32]string{pageBytes - 1: "past the end"}
	_, err := load(t, Options{}, b.bytes()).Instantiate(context.Background(), InstanceOptions{})
	if f := asFault(t, err); f.Entry != "instantiation" {
		t.Errorf("got %v", err)
	}
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := load(t, Options{}, goodModule().bytes()).Instantiate(cancelled, InstanceOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if _, err := newEngine(t, Options{}).Load(cancelled, "guest", goodModule().bytes()); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// counting counts calls in a global and answers the count as the effects' length
// over 8; function 0 is counted too.
func counting() builder {
	b := guestThat(nil, code(opGlobalGet, 0, i32(8), opI32Add, opGlobalSet, 0,
		i32(effectsPointer), opLocalGet, 1, opI32Load8, 0, 0, opI32Store, 2, 0,
		i64(effectsPointer<<32), opGlobalGet, 0, opI64ExtendU, opI64Or))
	b.globals = 1
	return b
}

func TestRebuildOpensAgain(t *testing.T) {
	g := instantiate(t, load(t, Options{}, counting().bytes()))
	for n := range 2 {
		effects, err := g.Open(uint32(n), []byte{byte(50 + n)})
		if err != nil || len(effects) != 8*(n+1) || effects[0] != byte(50+n) {
			t.Fatalf("Open: %v, %v", effects, err)
		}
	}
	for range 3 {
		if err := g.Rebuild(); err != nil {
			t.Fatal(err)
		}
		if effects, err := g.run(8); err != nil || len(effects) != 3*8 {
			t.Fatalf("after two openings and one call: %v, %v", effects, err)
		}
	}
}

func TestFreshInstance(t *testing.T) {
	g := instantiate(t, load(t, Options{FreshInstance: true}, counting().bytes()))
	for n := range 2 {
		if _, err := g.Open(uint32(n), []byte{byte(50 + n)}); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		if effects, err := g.run(8); err != nil || len(effects) != 3*8 {
			t.Fatalf("the guest remembers: %v, %v", effects, err)
		}
	}
}

func TestOpeningThatFailsOnRebuild(t *testing.T) {
	g := instantiate(t, load(t, Options{}, guestThat(nil, code(opLocalGet, 0, opIf, void, i64(-1), opReturn, opEnd, effectsAt(0, 0))).bytes()))
	g.opened = []opening{{function: 1, frame: make([]byte, 8)}} // one that succeeded once and does not again
	if f := asFault(t, g.Rebuild()); f.Kind != abi.FaultTooLarge {
		t.Errorf("got %v", f)
	}
	var dead *DeadError
	if _, err := g.run(8); !errors.As(err, &dead) {
		t.Errorf("a half-opened instance is usable: %v", err)
	}
}

func TestInitialize(t *testing.T) {
	b := counting()
	b.funcs = append(b.funcs, buildFunc{export: abi.ExportInitialize, body: code(i32(80), opGlobalSet, 0)})
	if effects, err := instantiate(t, load(t, Options{}, b.bytes())).run(8); err != nil || len(effects) != 88 {
		t.Errorf("_initialize has not run: %v, %v", effects, err)
	}
	b.funcs[3].body = code(opUnreachable)
	m := load(t, Options{}, b.bytes())
	_, err := m.Instantiate(context.Background(), InstanceOptions{})
	if f := asFault(t, err); f.Entry != abi.ExportInitialize || f.Function != -1 {
		t.Errorf("got %v", err)
	}
}

func TestReentryAndClosing(t *testing.T) {
	m := load(t, Options{}, guestThat(nil, code(i32(1), i32(64), i32(2), opCall, 0, effectsAt(0, 0)), abi.ImportLog).bytes())
	var inner *Instance
	var errs []error
	inner, err := m.Instantiate(context.Background(), InstanceOptions{Log: func(int, string) {
		_, _, inErr := inner.In(8)
		_, callErr := inner.Call(0, framePointer, 8)
		errs = append(errs, inErr, callErr, inner.Rebuild(), inner.Close())
	}})
	if err != nil {
		t.Fatal(err)
	}
	g := &guest{Instance: inner}
	if _, err := g.run(8); err != nil {
		t.Fatal(err)
	}
	if len(errs) != 4 || slices.ContainsFunc(errs, func(err error) bool { return !errors.Is(err, ErrReentered) }) {
		t.Errorf("calls from within a call: %v", errs)
	}
	var dead *DeadError
	if err := errors.Join(inner.Close(), inner.Close()); err != nil {
		t.Error(err)
	}
	if _, _, err := inner.In(1); !errors.As(err, &dead) || !strings.Contains(err.Error(), "is closed") {
		t.Errorf("In on a closed instance: %v", err)
	}
	if err := inner.Rebuild(); !errors.As(err, &dead) || inner.Frame() != nil || inner.MemoryBytes() != 0 {
		t.Errorf("Rebuild of a closed instance: %v", err)
	}
}

func TestInstancesOutliveTheirModule(t *testing.T) {
	e := newEngine(t, Options{})
	m, err := e.Load(context.Background(), "guest", goodModule().bytes())
	if err != nil {
		t.Fatal(err)
	}
	g := instantiate(t, m)
	if err := errors.Join(m.Close(), m.Close(), e.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := g.run(8); err != nil {
		t.Errorf("the instance died with its module: %v", err)
	}
	if _, err := m.Instantiate(context.Background(), InstanceOptions{}); err == nil {
		t.Error("a closed module made an instance")
	}
	if _, err := e.Load(context.Background(), "guest", goodModule().bytes()); err == nil {
		t.Error("a closed engine took a module")
	}
}

func TestManyInstancesAtOnce(t *testing.T) {
	m := load(t, Options{}, counting().bytes())
	var group sync.WaitGroup
	errs := make([]error, 16)
	for n := range errs {
		group.Go(func() {
			i, err := m.Instantiate(context.Background(), InstanceOptions{})
			if err != nil {
				errs[n] = err
				return
			}
			g := &guest{Instance: i}
			for round := range 50 {
				if effects, err := g.run(8); err != nil || len(effects) != 8*(round+1) {
					errs[n] = fmt.Errorf("round %d: %d bytes, %w", round, len(effects), err)
					break
				}
			}
			errs[n] = errors.Join(errs[n], i.Close())
		})
	}
	group.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Error(err)
	}
}

func TestDescribe(t *testing.T) {
	describing := func(pointer, length uint32) []byte {
		b := goodModule()
		b.custom, b.data = nil, map[uint32]string{64: "{}"}
		b.funcs = append(b.funcs, buildFunc{export: abi.ExportDescribe, signature: signature{"", "I"}, body: effectsAt(pointer, length)})
		return b.bytes()
	}
	describe := func(wasm []byte) ([]byte, error) {
		m, err := newEngine(t, Options{}).LoadUnpacked(context.Background(), "guest", wasm)
		if err != nil {
			t.Fatal(err)
		}
		if m.Manifest() != nil || m.Name() != "guest" || m.Info().Bytes != len(wasm) {
			t.Errorf("module: %v", m.Info())
		}
		return m.Describe(context.Background(), InstanceOptions{})
	}
	if text, err := describe(describing(64, 2)); err != nil || string(text) != "{}" {
		t.Errorf("got %q, %v", text, err)
	}
	_, err := describe(describing(pageBytes-1, 2))
	if f := asFault(t, err); f.Kind != abi.FaultBadPointer || f.Entry != abi.ExportDescribe {
		t.Errorf("got %v", err)
	}
	unable := goodModule()
	unable.custom = nil
	if _, err := describe(unable.bytes()); err == nil || !strings.Contains(err.Error(), "does not export wasmstream_describe") {
		t.Errorf("got %v", err)
	}
}
