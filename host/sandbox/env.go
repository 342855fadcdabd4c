package sandbox

import (
	"context"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tetratelabs/wazero/api"

	"github.com/wasmstream/wasmstream/abi"
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
	panic(&stop{abi.FaultFailed, printable(i.message(uint32(stack[0]), uint32(stack[1]), abi.ImportFail))})
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
		i.options.Log(level, printable(text))
	}
}

// printable returns a guest's text as one line that is safe on a terminal: no
// control characters, and only UTF-8 (a cut may have split a character). It has no
// backslashes, which a log would escape once more.
func printable(text []byte) string {
	if s := string(text); utf8.ValidString(s) && strings.IndexFunc(s, unprintable) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range strings.ToValidUTF8(string(text), "\uFFFD") {
		if unprintable(r) {
			fmt.Fprintf(&b, "<%02x>", r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// unprintable says whether a character could move a terminal's cursor, start an
// escape sequence, end a line or turn the writing direction.
func unprintable(r rune) bool {
	return r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029')
}
