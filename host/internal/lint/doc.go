// Package lint holds the repository to its mechanical rules: which package may import which, how long a function and a
// file may be, what is documented, and where clocks, randomness and files may be reached for. Its test runs the rules
// over every Go file here; DESIGN.md says what the layers are for.
//
// It promises:
//
//	A. The rules are tables: layers and libraries in layers.go, banned names in banned.go. A new package or library
//	   without a row is a problem, so that its place is decided and not fallen into.
//	B. What is let off is listed in the test with a reason, and an entry that lets nothing off any more is a failure.
//	C. Each rule is shown to fire, by small planted repositories in testdata.
//
// It reads syntax only. A function kept in a variable of another package, or a file opened by a library, is not seen.
package lint
