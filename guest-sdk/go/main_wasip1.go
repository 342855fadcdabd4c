//go:build wasip1

package wasmstream

// Main is the body of a module's main. Natively it writes the manifest to standard output, for the build to pack into
// the module; in Wasm it is never run.
func Main() {}
