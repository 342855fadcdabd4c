package sandbox

import (
	"slices"
	"strings"

	"github.com/tetratelabs/wazero/api"

	"github.com/wasmstream/wasmstream/abi"
	"github.com/wasmstream/wasmstream/host/stream"
)

// moduleWASI is the other module from which a guest may import, because the
// runtimes of Go and of wasi-libc link against it whether they use it or not.
const moduleWASI = "wasi_snapshot_preview1"

// markerPrefix is what the version markers of all ABI versions share.
var markerPrefix = strings.TrimRight(abi.ExportMarker, "0123456789")

// signature is a function type as two strings of value types, in the letters of
// letterOf: "iI" is a list of an i32 and an i64.
type signature struct{ params, results string }

// String shows a signature as documentation does.
func (s signature) String() string {
	return "(" + spell(s.params) + ") -> (" + spell(s.results) + ")"
}

// numberTypes are the value types of the contract, by their letters.
var numberTypes = map[byte]api.ValueType{
	'i': api.ValueTypeI32, 'I': api.ValueTypeI64, 'f': api.ValueTypeF32, 'F': api.ValueTypeF64,
}

func spell(letters string) string {
	names := make([]string, len(letters))
	for i := range letters {
		names[i] = api.ValueTypeName(numberTypes[letters[i]])
	}
	return strings.Join(names, ", ")
}

// letterOf returns the letter of a number type, or false for any other type.
func letterOf(valueType byte) (byte, bool) {
	for letter, t := range numberTypes {
		if t == valueType {
			return letter, true
		}
	}
	return 0, false
}

// valueTypes translates a signature's letters for the engine.
func valueTypes(letters string) []api.ValueType {
	types := make([]api.ValueType, len(letters))
	for i := range letters {
		types[i] = numberTypes[letters[i]]
	}
	return types
}

// contractExports are the functions that a module exports for the host.
var contractExports = []struct {
	name string
	signature
	required bool
}{
	{abi.ExportIn, signature{"i", "i"}, true},
	{abi.ExportCall, signature{"iii", "I"}, true},
	{abi.ExportInitialize, signature{"", ""}, false},
	{abi.ExportDescribe, signature{"", "I"}, false},
}

// hostFunction is one function that a guest may import. Its code gets the
// parameters on the stack and leaves its results there (invariant C).
type hostFunction struct {
	module, name string
	signature
	call func(i *Instance, stack []uint64)
}

// hostFunctions is the allow-list: what is not here is refused before linking.
var hostFunctions = slices.Concat(contractFunctions(), stateFunctions(), wasiFunctions())

// hostFunctionNames are their full names, for hints.
var hostFunctionNames = func() (names []string) {
	for _, f := range hostFunctions {
		names = append(names, f.module+"."+f.name)
	}
	return names
}()

// findHostFunction returns the allowed function of that name, or nil.
func findHostFunction(module, name string) *hostFunction {
	for i := range hostFunctions {
		if f := &hostFunctions[i]; f.module == module && f.name == name {
			return f
		}
	}
	return nil
}

// nearest finds what a name in a module was meant to be. The name is cut,
// because it may be as long as the module.
func nearest(name string, candidates []string) string {
	return stream.Nearest(name[:min(len(name), abi.NameBytesMax)], candidates)
}
