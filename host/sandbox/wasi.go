package sandbox

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"strings"

	"github.com/wasmstream/wasmstream/abi"
	"github.com/wasmstream/wasmstream/host/stream"
)

// Error numbers of WASI, as guests know them.
const (
	errnoSuccess = 0
	errnoBadFile = 8  // badf
	errnoFault   = 21 // fault: an address outside memory
	errnoInvalid = 28 // inval
)

// What the clocks say, always: one second after start, and a moment that nobody
// takes for now. Zero would not do: Go's runtime dies of it.
const (
	clockMonotonicNanos = 1_000_000_000
	clockRealtimeNanos  = 1_000_000_000 * 1_000_000_000 // 2001-09-09T01:46:40Z
)

// randomSeed is where each call's random numbers start.
const randomSeed = 0x9e3779b97f4a7c15

// Sizes in poll_oneoff.
const (
	subscriptionBytes = 48
	eventBytes        = 32
	pollMax           = 64
)

// vectorsMax bounds the buffers that one fd_write may name.
const vectorsMax = 1024

// wasiFunctions are those that the runtimes of Go and wasi-libc link against. They
// give nothing away: no file is open, no time passes (invariant D). Opening and
// reading are here too, to fail: Go's time zones link against them, even embedded
// ones. What creates, renames or deletes is refused with the module.
func wasiFunctions() []hostFunction {
	functions := []hostFunction{
		{moduleWASI, "args_get", signature{"ii", "i"}, wasiNothing},
		{moduleWASI, "args_sizes_get", signature{"ii", "i"}, (*Instance).wasiEmptySizes},
		{moduleWASI, "environ_get", signature{"ii", "i"}, wasiNothing},
		{moduleWASI, "environ_sizes_get", signature{"ii", "i"}, (*Instance).wasiEmptySizes},
		{moduleWASI, "clock_res_get", signature{"ii", "i"}, (*Instance).wasiClockResolution},
		{moduleWASI, "clock_time_get", signature{"iIi", "i"}, (*Instance).wasiClockTime},
		{moduleWASI, "random_get", signature{"ii", "i"}, (*Instance).wasiRandom},
		{moduleWASI, "sched_yield", signature{"", "i"}, wasiNothing},
		{moduleWASI, "poll_oneoff", signature{"iiii", "i"}, (*Instance).wasiPoll},
		{moduleWASI, "proc_exit", signature{"i", ""}, (*Instance).wasiExit},
		{moduleWASI, "fd_write", signature{"iiii", "i"}, (*Instance).wasiWrite},
	}
	for _, closed := range []struct{ name, params string }{
		{"fd_close", "i"}, {"fd_fdstat_get", "ii"}, {"fd_fdstat_set_flags", "ii"}, {"fd_filestat_get", "ii"},
		{"fd_filestat_set_size", "iI"}, {"fd_pread", "iiiIi"}, {"fd_prestat_get", "ii"}, {"fd_prestat_dir_name", "iii"},
		{"fd_pwrite", "iiiIi"}, {"fd_read", "iiii"}, {"fd_readdir", "iiiIi"}, {"fd_seek", "iIii"}, {"fd_sync", "i"},
		{"path_filestat_get", "iiiii"}, {"path_open", "iiiiiIIii"}, {"path_readlink", "iiiiii"},
	} {
		functions = append(functions, hostFunction{moduleWASI, closed.name, signature{closed.params, "i"}, wasiNoFile})
	}
	return functions
}

// wasiNothing succeeds without doing anything. A function without parameters
// still has room on the stack for its result.
func wasiNothing(_ *Instance, stack []uint64) { stack[0] = errnoSuccess }

// wasiNoFile says that there is no such file.
func wasiNoFile(_ *Instance, stack []uint64) { stack[0] = errnoBadFile }

// wasiEmptySizes is args_sizes_get(count, bytes) and its twin: both are zero.
func (i *Instance) wasiEmptySizes(stack []uint64) {
	ok := i.memory.WriteUint32Le(uint32(stack[0]), 0) && i.memory.WriteUint32Le(uint32(stack[1]), 0)
	stack[0] = errnoUnless(ok)
}

func errnoUnless(ok bool) uint64 {
	if ok {
		return errnoSuccess
	}
	return errnoFault
}

// wasiClockResolution is clock_res_get(clock, result).
func (i *Instance) wasiClockResolution(stack []uint64) {
	stack[0] = errnoUnless(i.memory.WriteUint64Le(uint32(stack[1]), 1))
}

// wasiClockTime is clock_time_get(clock, precision, result). Clock 0 is the time
// of day; all others count from some start.
func (i *Instance) wasiClockTime(stack []uint64) {
	now := uint64(clockMonotonicNanos)
	if uint32(stack[0]) == 0 {
		now = clockRealtimeNanos
	}
	stack[0] = errnoUnless(i.memory.WriteUint64Le(uint32(stack[2]), now))
}

// wasiRandom is random_get(pointer, length), by SplitMix64 from the same seed in
// each call.
func (i *Instance) wasiRandom(stack []uint64) {
	buffer, ok := i.memory.Read(uint32(stack[0]), uint32(stack[1]))
	stack[0] = errnoUnless(ok)
	i.charge(int64(len(buffer)) / hostRandomBytesPerFuel)
	for len(buffer) > 0 {
		var word [8]byte
		binary.LittleEndian.PutUint64(word[:], i.nextRandom())
		buffer = buffer[copy(buffer, word[:]):]
	}
}

func (i *Instance) nextRandom() uint64 {
	i.random += 0x9e3779b97f4a7c15
	z := i.random
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// wasiExit is proc_exit(code): whatever the code, a function that exits has not
// answered its frame.
func (i *Instance) wasiExit(stack []uint64) {
	// Unwinds the guest; the call turns it into its Fault.
	panic(&stop{abi.FaultTrap, i.withStderr(fmt.Sprintf("the code exited with status %d", uint32(stack[0])))})
}

// wasiWrite is fd_write(file, vectors, count, written). Files 1 and 2 go to the
// log, line by line:
//
//	vectors
//	   |
//	   pointer u32, length u32, pointer u32, length u32 …
func (i *Instance) wasiWrite(stack []uint64) {
	file, vectors, count, result := uint32(stack[0]), uint32(stack[1]), uint32(stack[2]), uint32(stack[3])
	if file != 1 && file != 2 {
		stack[0] = errnoBadFile
		return
	}
	if count > vectorsMax {
		stack[0] = errnoInvalid
		return
	}
	i.charge(int64(count) * hostCallFuel)
	list, ok := i.memory.Read(vectors, count*8)
	written := uint64(0)
	for ok && len(list) > 0 {
		var text []byte
		text, ok = i.memory.Read(binary.LittleEndian.Uint32(list), binary.LittleEndian.Uint32(list[4:]))
		i.charge(int64(len(text)) * hostTextFuelPerByte)
		i.output(file, text)
		written += uint64(len(text))
		list = list[8:]
	}
	ok = ok && written <= math.MaxUint32 && i.memory.WriteUint32Le(result, uint32(written))
	stack[0] = errnoUnless(ok)
}

// output cuts what a guest writes into lines. A line longer than the limit loses
// its rest. What follows the last line break waits for more, or for the end of
// the call.
func (i *Instance) output(file uint32, text []byte) {
	line := &i.partial[file-1]
	for len(text) > 0 {
		end := bytes.IndexByte(text, '\n')
		head := text
		if end >= 0 {
			head = text[:end]
		}
		room := i.module.options.MessageBytesMax - len(*line)
		*line = append(*line, head[:min(len(head), room)]...)
		if end < 0 {
			return
		}
		i.flushLine(file)
		text = text[end+1:]
	}
}

// flushLine logs a pending line of stdout as information and one of stderr as a
// warning, and keeps the first lines of stderr for the message of an exit.
func (i *Instance) flushLine(file uint32) {
	line := i.partial[file-1]
	i.partial[file-1] = line[:0]
	if len(line) == 0 {
		return
	}
	level := abi.LogInfo
	if file == 2 {
		level = abi.LogWarn
		if room := i.module.options.MessageBytesMax - len(i.stderr); room > 0 {
			i.stderr = append(append(i.stderr, line[:min(len(line), room)]...), '\n')
		}
	}
	i.log(level, line)
}

// stderrHead returns the first lines that the guest wrote to stderr in this call:
// with a panic of Go, its message comes first and the goroutines after.
func (i *Instance) stderrHead() string {
	i.flushLine(2)
	text := bytes.TrimSpace(i.stderr)
	if end := bytes.Index(text, []byte("\ngoroutine ")); end >= 0 {
		text = text[:end]
	}
	return stream.Printable(strings.ReplaceAll(string(text), "\n", "; "))
}

// wasiPoll is poll_oneoff(subscriptions, events, count, result): every wait for a
// clock is over at once, and no file is ever ready. Time stands still, so a guest
// that sleeps asks again and again; the call's allowance of waits ends it.
func (i *Instance) wasiPoll(stack []uint64) {
	if i.waits++; i.waits > i.module.options.WaitsMax {
		panic(&stop{abi.FaultOverLimit, fmt.Sprintf("the code waits for time to pass (%d times in one call; the limit is %d); "+
			"time stands still in a call: take it from the op, and set a timer instead of sleeping", i.waits, i.module.options.WaitsMax)})
	}
	in, out, count, result := uint32(stack[0]), uint32(stack[1]), uint32(stack[2]), uint32(stack[3])
	if count == 0 || count > pollMax {
		stack[0] = errnoInvalid
		return
	}
	i.charge(int64(count) * hostCallFuel)
	subscriptions, okIn := i.memory.Read(in, count*subscriptionBytes)
	events, okOut := i.memory.Read(out, count*eventBytes)
	if !okIn || !okOut || !i.memory.WriteUint32Le(result, count) {
		stack[0] = errnoFault
		return
	}
	for n := range int(count) {
		s, e := subscriptions[n*subscriptionBytes:][:subscriptionBytes], events[n*eventBytes:][:eventBytes]
		var event [eventBytes]byte // the two areas may overlap: build, then copy
		copy(event[:8], s[:8])     // user data
		if event[10] = s[8]; s[8] != 0 {
			binary.LittleEndian.PutUint16(event[8:], errnoBadFile)
		}
		copy(e, event[:])
	}
	stack[0] = errnoSuccess
}
