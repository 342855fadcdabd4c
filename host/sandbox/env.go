package sandbox

import (
	"context"
	"fmt"

	"github.com/tetratelabs/wazero/api"

	"github.com/wasmstream/wasmstream/abi"
	"github.com/wasmstream/wasmstream/host/stream"
)

// contractFunctions are the imports of the ABI itself.
func contractFunctions() []hostFunction {
	return []hostFunction{
		{abi.ImportModule, abi.ImportLog, signature{"iii", ""}, (*Instance).hostLog},
		{abi.ImportModule, abi.ImportFail, signature{"ii", ""}, (*Instance).hostFail},
	}
}

// instanceKey finds the instance in the context of a guest's call.
type instanceKey struct{}

// engineFunction adapts a host function to the engine. Which instance calls is in
// the context, which the instance made once, so that no call allocates.
func engineFunction(f hostFunction) api.GoModuleFunc {
	return func(ctx context.Context, _ api.Module, stack []uint64) {
		i := ctx.Value(instanceKey{}).(*Instance)
		i.charge(hostCallFuel)
		f.call(i, stack)
	}
}

// hostLog is wasmstream.log(level, pointer, length). Given the memory
//
//	pointer
//	   |
//	   'h' 'i' | …
//
// and length 2, it logs "hi". A line longer than the limit is cut before it is
// copied; a line over the call's number of lines is not even read.
func (i *Instance) hostLog(stack []uint64) {
	level := min(uint32(stack[0]), abi.LogError)
	i.log(int(level), i.message(uint32(stack[1]), uint32(stack[2]), abi.ImportLog))
}

// hostFail is wasmstream.fail(pointer, length); it does not return.
func (i *Instance) hostFail(stack []uint64) {
	// Unwinds the guest; the call turns it into its Fault.
	panic(&stop{abi.FaultFailed, stream.Printable(string(i.message(uint32(stack[0]), uint32(stack[1]), abi.ImportFail)))})
}

// message reads a text of the guest, as a view of its memory and cut to the limit.
// The whole range must lie in memory even if only its head is wanted: a guest
// that is wrong about its own memory is wrong about more.
func (i *Instance) message(pointer, length uint32, function string) []byte {
	text, ok := i.memory.Read(pointer, length)
	if !ok {
		panic(&stop{abi.FaultBadPointer, fmt.Sprintf("%s.%s got %d bytes at %d, which is outside its memory of %d bytes",
			abi.ImportModule, function, length, pointer, i.memory.Size())})
	}
	return text[:min(len(text), i.module.options.MessageBytesMax)]
}

// log passes a guest's line on, within the call's allowance.
func (i *Instance) log(level int, text []byte) {
	if i.lines++; i.lines > i.module.options.LogLinesMax {
		i.dropped++
		return
	}
	i.charge(hostLineFuel)
	if i.options.Log != nil {
		i.options.Log(level, stream.Printable(string(text)))
	}
}
