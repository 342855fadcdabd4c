// Package opcode reads the instructions of Wasm functions.
//
// # Promise
//
// Whatever the bytes are, Reader.Next returns one instruction that lies wholly
// within them, or an Error that says what is wrong and where. It knows what an
// instruction looks like, and whether this host takes it; whether it is valid
// where it stands is for the engine to say. Cursor reads what is around them.
//
// # Invariants
//
// A. Each call of Next takes at least one byte or fails, and allocates nothing
// unless it fails.
//
// B. An instruction of a feature that is off is an error. So a byte string that
// was read to its end holds none.
//
// # Caveat
//
// A Reader or Cursor belongs to one goroutine.
package opcode
