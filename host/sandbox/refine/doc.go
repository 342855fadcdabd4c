// Package refine rewrites a module so that the engine makes better code of it: it takes
// bytes and gives bytes, and runs nothing.
//
// # Promise
//
// The rewritten module does what the original did, in memory of less than 4 GiB by a page.
// Functions, types, globals and memory are those of the original, and it is no larger but
// for a few bytes a function and three for some comparisons.
//
// # How
//
// The engine compiles instruction by instruction. What is written here for it is mostly
// what Go's compiler leaves to an optimizer (a function in Go takes a fifth less time):
//
//   - A Go function is a loop whose head goes on by a table where a local says; to go on
//     elsewhere it sets the local and begins the loop anew. Where the table's label is in
//     reach, and the local is known, the branch is made to it.
//   - An address that is a constant becomes the offset from a local that is zero: the engine
//     then checks the bounds of many such addresses once.
//   - A sum of a local and a constant that is an address becomes the offset from the local,
//     where it is known that the sum does not wrap: if the local itself was an address since
//     it was set.
//   - A comparison whose result is negated becomes the opposite one.
//
// One rewriting is for what the engine gets wrong, see function.apart.
//
// # Invariants
//
// A. No instruction is put in the place of another that could trap where that could not, or
// could not where that could, or leave another value.
//
// B. Time and memory are linear in the input.
//
// # Caveat
//
// The original must have been found valid; what is malformed gives an error, but not every
// invalid module does.
package refine
