//go:build !wasip1

package wasmstream

import "os"

// Main is the body of a module's main. Natively it writes the manifest to standard output, for the build to pack into
// the module; in Wasm it is never run. It panics when that cannot be written: the build then fails.
func Main() {
	if _, err := os.Stdout.Write(guest.Describe()); err != nil {
		panic(err)
	}
}
