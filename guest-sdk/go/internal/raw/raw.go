// Package raw is the lowest layer of the SDK: the ABI's numbers and the guest's imports and exports, generated from the
// one definition, with a native stub in their place outside Wasm so that functions can be unit-tested with plain
// `go test`. Nothing here knows what a function is.
package raw

// Machine is what the exports call. It is the same in Wasm and natively: bytes in, bytes out.
type Machine interface {
	// In returns a buffer of size bytes, 8-aligned, for frames; nil when size is too large.
	In(size uint32) []byte
	// Call performs the ops of a frame and returns its effects; false when they would not fit.
	Call(function uint32, frame []byte) (effects []byte, fits bool)
	// Describe returns the manifest as protobuf JSON.
	Describe() []byte
}

// Guest is the machine of this module, set by package wasmstream.
var Guest Machine
