package sandbox

import "fmt"

// Refusal is the class of a refusal.
type Refusal string

// The classes of refusals.
const (
	RefusedNotWasm   Refusal = "not-wasm"    // the bytes are no Wasm module
	RefusedTooLarge  Refusal = "too-large"   // the module is over ModuleBytesMax
	RefusedTruncated Refusal = "truncated"   // a count or a length reaches past the end
	RefusedMalformed Refusal = "malformed"   // the module breaks the binary format
	RefusedFeature   Refusal = "feature"     // it needs a Wasm feature that is off
	RefusedImport    Refusal = "import"      // it imports what no host gives
	RefusedExport    Refusal = "export"      // it lacks an export, or one has another signature
	RefusedABI       Refusal = "abi-version" // it speaks another ABI version, or none
	RefusedStart     Refusal = "start"       // it has a start section
	RefusedManifest  Refusal = "manifest"    // it has no manifest, or a broken one
	RefusedMemory    Refusal = "memory"      // its memory is over the limit
	RefusedTable     Refusal = "table"       // its table is over the limit
	RefusedLimit     Refusal = "limit"       // another count is over its limit
	RefusedInvalid   Refusal = "invalid"     // the engine's validation failed
	RefusedPoisoned  Refusal = "poisoned"    // compiling it killed a process, now or before
)

// RefusedError says why a module is not taken. No code of it has run.
type RefusedError struct {
	// Module is the name under which it was loaded; empty from Inspect.
	Module string
	// Kind is the class of the refusal.
	Kind Refusal
	// Reason is a sentence without a full stop, with the nearest valid choice.
	Reason string
	// Offset is the byte in the module that the reason is about, or -1 if it is
	// about the module as a whole.
	Offset int
}

// Error implements error.
func (e *RefusedError) Error() string {
	subject := "the module"
	if e.Module != "" {
		subject = fmt.Sprintf("module %q", e.Module)
	}
	if e.Offset < 0 {
		return fmt.Sprintf("%s is refused: %s", subject, e.Reason)
	}
	return fmt.Sprintf("%s is refused: %s (at byte %d)", subject, e.Reason, e.Offset)
}
