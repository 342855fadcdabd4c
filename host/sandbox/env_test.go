package sandbox

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/wasmstream/wasmstream/abi"
)

// A trace test calls one host function on a memory full of guard bytes and shows
// what came back and what changed:
//
//	<name>(<arguments>) = <result or stop>
//	  <address>: <bytes that are no guards>
type trace struct {
	name      string
	function  string
	arguments []uint64
	memory    map[uint32]string // what is there before
	want      string
}

const guard = '?'

// mib is beyond the memory of one page.
const beyond = 1 << 20

var traces = []trace{
	{"log", "log", []uint64{1, 8, 2}, map[uint32]string{8: "hi"}, "log(1, 8, 2)\n  logged: 1 hi"},
	{"log of a level that there is not", "log", []uint64{maxU32, 8, 2}, map[uint32]string{8: "hi"}, "log(4294967295, 8, 2)\n  logged: 3 hi"},
	{"log without text", "log", []uint64{0, 8, 0}, nil, "log(0, 8, 0)\n  logged: 0 "},
	{"log of an escape sequence", "log", []uint64{2, 8, 7}, map[uint32]string{8: "a\x1b[2Jb\xff"}, "log(2, 8, 7)\n  logged: 2 a<1b>[2Jb\uFFFD"},
	{"log that turns the text", "log", []uint64{2, 8, 4}, map[uint32]string{8: "\u202Ex"}, "log(2, 8, 4)\n  logged: 2 <202e>x"},
	{"log past the end", "log", []uint64{1, pageBytes - 1, 2}, nil,
		"log(1, 65535, 2) stops: bad-pointer: wasmstream.log got 2 bytes at 65535, which is outside its memory of 65536 bytes"},
	{"fail", "fail", []uint64{8, 4}, map[uint32]string{8: "oh\nno"}, "fail(8, 4) stops: failed: oh<0a>n"},
	{"fail past the end", "fail", []uint64{maxU32, maxU32}, nil,
		"fail(4294967295, 4294967295) stops: bad-pointer: wasmstream.fail got 4294967295 bytes at 4294967295, which is outside its memory of 65536 bytes"},

	{"state_get without states", "state_get", []uint64{0, 0, 8, 2, 16, 8}, nil,
		"state_get(0, 0, 8, 2, 16, 8) stops: bad-state: wasmstream.state_get was called, and the function has no state"},
	{"state_put without states", "state_put", []uint64{0, 0, 8, 2, 16, 8}, nil,
		"state_put(0, 0, 8, 2, 16, 8) stops: bad-state: wasmstream.state_put was called, and the function has no state"},
	{"state_delete without states", "state_delete", []uint64{0, 0, 8, 2}, nil,
		"state_delete(0, 0, 8, 2) stops: bad-state: wasmstream.state_delete was called, and the function has no state"},
	{"state_scan without states", "state_scan", []uint64{0, 0, 8, 2, 16, 8}, nil,
		"state_scan(0, 0, 8, 2, 16, 8) stops: bad-state: wasmstream.state_scan was called, and the function has no state"},

	{"args_sizes_get", "args_sizes_get", []uint64{8, 16}, nil, "args_sizes_get(8, 16) = 0\n  8: 00000000\n  16: 00000000"},
	{"args_sizes_get past the end", "args_sizes_get", []uint64{8, beyond}, nil, "args_sizes_get(8, 1048576) = 21\n  8: 00000000"},
	{"args_get", "args_get", []uint64{8, 16}, nil, "args_get(8, 16) = 0"},
	{"environ_sizes_get", "environ_sizes_get", []uint64{8, 16}, nil, "environ_sizes_get(8, 16) = 0\n  8: 00000000\n  16: 00000000"},
	{"environ_sizes_get past the end", "environ_sizes_get", []uint64{pageBytes - 3, 16}, nil, "environ_sizes_get(65533, 16) = 21"},
	{"environ_get", "environ_get", []uint64{8, 16}, nil, "environ_get(8, 16) = 0"},
	{"sched_yield", "sched_yield", nil, nil, "sched_yield() = 0"},

	{"clock_time_get of the day", "clock_time_get", []uint64{0, 1, 8}, nil, "clock_time_get(0, 1, 8) = 0\n  8: 000064a7b3b6e00d"},
	{"clock_time_get since start", "clock_time_get", []uint64{1, 1, 8}, nil, "clock_time_get(1, 1, 8) = 0\n  8: 00ca9a3b00000000"},
	{"clock_time_get past the end", "clock_time_get", []uint64{1, 1, pageBytes - 7}, nil, "clock_time_get(1, 1, 65529) = 21"},
	{"clock_res_get", "clock_res_get", []uint64{0, 8}, nil, "clock_res_get(0, 8) = 0\n  8: 0100000000000000"},
	{"clock_res_get past the end", "clock_res_get", []uint64{0, beyond}, nil, "clock_res_get(0, 1048576) = 21"},
	{"random_get", "random_get", []uint64{8, 11}, nil, "random_get(8, 11) = 0\n  8: f465b9a16a9e786e4f4509"},
	{"random_get of nothing", "random_get", []uint64{8, 0}, nil, "random_get(8, 0) = 0"},
	{"random_get past the end", "random_get", []uint64{8, pageBytes}, nil, "random_get(8, 65536) = 21"},

	{"fd_write to stdout", "fd_write", []uint64{1, 8, 2, 40}, map[uint32]string{8: "\x20\x00\x00\x00\x03\x00\x00\x00\x23\x00\x00\x00\x02\x00\x00\x00", 32: "a\nbc\n"},
		"fd_write(1, 8, 2, 40) = 0\n  40: 05000000\n  logged: 1 a\n  logged: 1 bc"},
	{"fd_write to stderr", "fd_write", []uint64{2, 8, 1, 40}, map[uint32]string{8: "\x20\x00\x00\x00\x02\x00\x00\x00", 32: "x\n"},
		"fd_write(2, 8, 1, 40) = 0\n  40: 02000000\n  logged: 2 x"},
	{"fd_write to a file", "fd_write", []uint64{3, 8, 1, 40}, nil, "fd_write(3, 8, 1, 40) = 8"},
	{"fd_write to stdin", "fd_write", []uint64{0, 8, 1, 40}, nil, "fd_write(0, 8, 1, 40) = 8"},
	{"fd_write of too many", "fd_write", []uint64{1, 8, vectorsMax + 1, 40}, nil, "fd_write(1, 8, 1025, 40) = 28"},
	{"fd_write, list past the end", "fd_write", []uint64{1, pageBytes - 8, 2, 40}, nil, "fd_write(1, 65528, 2, 40) = 21"},
	{"fd_write, text past the end", "fd_write", []uint64{1, 8, 1, 40}, map[uint32]string{8: "\xff\xff\xff\xff\x02\x00\x00\x00"}, "fd_write(1, 8, 1, 40) = 21"},
	{"fd_write, result past the end", "fd_write", []uint64{1, 8, 1, beyond}, map[uint32]string{8: "\x20\x00\x00\x00\x02\x00\x00\x00", 32: "x\n"},
		"fd_write(1, 8, 1, 1048576) = 21\n  logged: 1 x"},

	{"poll_oneoff of a clock", "poll_oneoff", []uint64{8, 64, 1, 128}, map[uint32]string{8: "userdata" + strings.Repeat("\x00", 40)},
		"poll_oneoff(8, 64, 1, 128) = 0\n  64: 7573657264617461" + strings.Repeat("00", 24) + "\n  128: 01000000"},
	{"poll_oneoff of a file", "poll_oneoff", []uint64{8, 64, 1, 128}, map[uint32]string{8: "userdata\x01" + strings.Repeat("\x00", 39)},
		"poll_oneoff(8, 64, 1, 128) = 0\n  64: 75736572646174610800010000000000" + strings.Repeat("00", 16) + "\n  128: 01000000"},
	{"poll_oneoff of nothing", "poll_oneoff", []uint64{8, 64, 0, 128}, nil, "poll_oneoff(8, 64, 0, 128) = 28"},
	{"poll_oneoff of too much", "poll_oneoff", []uint64{8, 64, pollMax + 1, 128}, nil, "poll_oneoff(8, 64, 65, 128) = 28"},
	{"poll_oneoff, in past the end", "poll_oneoff", []uint64{pageBytes - 47, 64, 1, 128}, nil, "poll_oneoff(65489, 64, 1, 128) = 21"},
	{"poll_oneoff, out past the end", "poll_oneoff", []uint64{8, pageBytes - 31, 1, 128}, nil, "poll_oneoff(8, 65505, 1, 128) = 21"},
	{"poll_oneoff, result past the end", "poll_oneoff", []uint64{8, 64, 1, pageBytes - 3}, nil, "poll_oneoff(8, 64, 1, 65533) = 21"},
	{"proc_exit", "proc_exit", []uint64{2}, nil, "proc_exit(2) stops: trap: the code exited with status 2"},
}

func TestHostFunctions(t *testing.T) {
	m := load(t, Options{}, goodModule().bytes())
	for _, c := range traces {
		t.Run(c.name, func(t *testing.T) {
			if got := c.run(t, instantiate(t, m)); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

// All other functions of files say that there is no such file, and touch nothing.
func TestFilesAreClosed(t *testing.T) {
	m := load(t, Options{}, goodModule().bytes())
	traced := map[string]bool{}
	for _, c := range traces {
		traced[c.function] = true
	}
	for _, f := range hostFunctions {
		if traced[f.name] {
			continue
		}
		arguments := make([]uint64, len(f.params))
		for n := range arguments {
			arguments[n] = uint64(8 * n)
		}
		c := trace{function: f.name, arguments: arguments}
		if got := c.run(t, instantiate(t, m)); !strings.HasSuffix(got, " = 8") {
			t.Errorf("got %s", got)
		}
	}
}

// run makes the call and tells what happened.
func (c trace) run(t *testing.T, g *guest) string {
	t.Helper()
	memory, _ := g.memory.Read(0, g.memory.Size())
	for n := range memory {
		memory[n] = guard
	}
	for at, bytes := range c.memory {
		copy(memory[at:], bytes)
	}
	before := bytes.Clone(memory)
	f := findHostFunction(abi.ImportModule, c.function)
	if f == nil {
		f = findHostFunction(moduleWASI, c.function)
	}
	var out strings.Builder
	fmt.Fprintf(&out, "%s(%s)", c.function, strings.ReplaceAll(strings.Trim(fmt.Sprint(c.arguments), "[]"), " ", ", "))
	stack := append(slices.Clone(c.arguments), 0)
	g.random = randomSeed
	g.meters.fuel.Set(1 << 40)
	stopped := recovered(func() { f.call(g.Instance, stack) })
	switch {
	case stopped != nil:
		fmt.Fprintf(&out, " stops: %s: %s", stopped.kind, stopped.message)
	case f.results != "":
		fmt.Fprintf(&out, " = %d", stack[0])
	}
	for at := 0; at < len(memory); at++ {
		start := at
		for at < len(memory) && memory[at] != before[at] {
			at++
		}
		if at > start {
			fmt.Fprintf(&out, "\n  %d: %s", start, hex.EncodeToString(memory[start:at]))
		}
	}
	for _, line := range g.logged {
		out.WriteString("\n  logged: " + line)
	}
	return out.String()
}

func recovered(f func()) (stopped *stop) {
	defer func() {
		if r := recover(); r != nil && !errors.As(r.(error), &stopped) {
			panic(r)
		}
	}()
	f()
	return nil
}

func TestLogIsBounded(t *testing.T) {
	call := code(opLoop, void, i32(1), i32(64), i32(20), opCall, 0,
		opGlobalGet, 0, i32(1), opI32Add, opGlobalSet, 0, opGlobalGet, 0, i32(10), 0x49 /* i32.lt_u */, 0x0d /* br_if */, 0, opEnd, effectsAt(0, 0))
	b := guestThat(nil, call, abi.ImportLog)
	b.globals, b.data = 1, map[uint32]string{64: "12345678é0123456789"}
	g := instantiate(t, load(t, Options{LogLinesMax: 3, MessageBytesMax: 9}, b.bytes()))
	if _, err := g.run(8); err != nil {
		t.Fatal(err)
	}
	want := []string{"1 12345678\uFFFD", "1 12345678\uFFFD", "1 12345678\uFFFD", "2 7 more lines of this call were dropped; the limit is 3 a call"}
	if !slices.Equal(g.logged, want) {
		t.Errorf("got %q", g.logged)
	}
	// The next call has an allowance of its own.
	if _, err := g.run(8); err != nil || len(g.logged) != 5 {
		t.Errorf("got %q, %v", g.logged, err)
	}
}

func TestUnfinishedLinesAndStderrOfAFault(t *testing.T) {
	write := code(i32(2), i32(64), i32(1), i32(32), opCall, 0, opDrop)
	b := guestThat(nil, code(write, write, opLocalGet, 0, opIf, void, opUnreachable, opEnd, effectsAt(0, 0)), "fd_write")
	b.data = map[uint32]string{64: "\x50\x00\x00\x00\x03\x00\x00\x00", 80: "abc"}
	g := instantiate(t, load(t, Options{}, b.bytes()))
	if _, err := g.run(8); err != nil || !slices.Equal(g.logged, []string{"2 abcabc"}) {
		t.Errorf("an unfinished line: %q, %v", g.logged, err)
	}
	_, pointer, err := g.In(8)
	if err != nil {
		t.Fatal(err)
	}
	_, err = g.Call(1, pointer, 8)
	if f := asFault(t, err); f.Message != "the code trapped: unreachable; it wrote: abcabc" {
		t.Errorf("got %s", f.Message)
	}
}

// TestUnfinishedLineWithoutFuel: what a call that ran out of fuel left unsaid is logged
// all the same, and ends nobody.
func TestUnfinishedLineWithoutFuel(t *testing.T) {
	for file, want := range map[int32]string{1: "1 abc", 2: "2 abc"} {
		write := code(i32(file), i32(64), i32(1), i32(32), opCall, 0, opDrop)
		b := guestThat(nil, code(write, opLoop, void, opBr, 0, opEnd, opUnreachable), "fd_write")
		b.data = map[uint32]string{64: "\x50\x00\x00\x00\x03\x00\x00\x00", 80: "abc"}
		g := instantiate(t, load(t, Options{}, b.bytes()))
		_, err := g.run(8)
		if f := asFault(t, err); f.Kind != abi.FaultOutOfFuel || !slices.Equal(g.logged, []string{want}) {
			t.Errorf("%v, logged %q", f, g.logged)
		}
	}
}

func TestRandomRestartsAtEachCall(t *testing.T) {
	call := code(i32(effectsPointer), i32(16), opCall, 0, opDrop, effectsAt(effectsPointer, 16))
	g := instantiate(t, load(t, Options{}, guestThat(nil, call, "random_get").bytes()))
	first, err := g.run(8)
	if err != nil {
		t.Fatal(err)
	}
	kept := bytes.Clone(first)
	if again, err := g.run(8); err != nil || !bytes.Equal(kept, again) || bytes.Equal(kept[:8], kept[8:]) {
		t.Errorf("got %x, then %x, %v", kept, again, err)
	}
}

func TestOutOfMemoryIsRecognized(t *testing.T) {
	for text, kind := range map[string]abi.FaultKind{
		"fatal error: out of memory\n":           abi.FaultOutOfMemory,
		"memory allocation of 64 bytes failed\n": abi.FaultOutOfMemory,
		"panic: no\n\ngoroutine 1 [running]:\n":  abi.FaultTrap,
	} {
		b := guestThat(nil, code(i32(2), i32(64), i32(1), i32(32), opCall, 0, opDrop, opUnreachable), "fd_write")
		b.data = map[uint32]string{64: "\x50\x00\x00\x00" + string([]byte{byte(len(text)), 0, 0, 0}), 80: text}
		_, err := instantiate(t, load(t, Options{}, b.bytes())).run(8)
		if f := asFault(t, err); f.Kind != kind || strings.Contains(f.Message, "goroutine") {
			t.Errorf("%q gives %v", text, f)
		}
	}
}
