//go:build !wasip1

package wasmstream

import "os"

// Main is the body of a module's main. Natively it writes the manifest to standard output, for the build to pack into
// the module; in Wasm it is never run. The program fails when that cannot be written, and the build with it.
func Main() {
	if _, err := os.Stdout.Write(guest.Describe()); err != nil {
		_, _ = os.Stderr.WriteString("the manifest could not be written: " + err.Error() + "\n") // there is nothing left to tell it by
		os.Exit(1)
	}
}
