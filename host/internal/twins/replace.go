package twins

import (
	"strings"

	"github.com/wasmstream/wasmstream/abi"
	"github.com/wasmstream/wasmstream/host/job"
	"github.com/wasmstream/wasmstream/host/runtime"
	"github.com/wasmstream/wasmstream/host/scenario"
)

// File stands for the module that runs in the test.
const File = "twins.wasm"

// Replace runs scenarios with the module's functions in the place of built-in parts.
func Replace(o scenario.Options) scenario.Options {
	o.Twins = File
	read, manifest, guest := o.ReadFile, o.Manifest, o.Guest
	o.ReadFile = func(path string) ([]byte, error) {
		if strings.HasSuffix(path, File) {
			return []byte(File), nil
		}
		return read(path)
	}
	o.Manifest = func(m job.Module, wasm []byte) (*abi.Manifest, error) {
		if string(wasm) == File {
			return Manifest(), nil
		}
		return manifest(m, wasm)
	}
	o.Guest = func(f *job.Function, wasm []byte) (runtime.Guest, error) {
		if string(wasm) == File {
			return New(), nil
		}
		return guest(f, wasm)
	}
	return o
}
