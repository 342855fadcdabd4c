// Package meter rewrites a module so that it counts what it does and stops by
// itself: it takes bytes and gives bytes, and runs nothing.
//
// # Promise
//
// The rewritten module does what the original did, as long as two counters, which
// its host sets before each call, are not below zero; then it traps. The counters
// are globals, exported as Fuel and Depth, so that a host can tell such a trap from
// others. The same call with the same memory spends the same fuel, on every engine.
//
// # How
//
// Fuel is charged at the entry of a function and at the head of a loop, for what is
// executed from there on until the next charge. Elsewhere control only moves
// forward, so that nothing is executed twice between two charges. Stretches behind
// a branch are charged apart where they are long, and with what is before them
// where they are short (see plan): a charge costs as much as some instructions.
// Bulk operations are charged by their length when it is known, growing memory by its
// pages. A function that is short and ends surely is charged by its callers.
//
// A function whose loops go round more often than they call others, as it seems, has
// fuel in a local of its own, and puts it back where it returns, stops, or calls a
// function that charges. In a trap of the processor's between two of these the global is
// behind: it says less than was spent, and the same each time.
//
// Depth is taken by functions that call others, by the room that they may need on
// the engine's stack, and given back where they return; a trap may leave it taken.
//
// # Invariants
//
// A. No path executes more instructions than were charged for when it began, up to
// the greatest stretch between two checks, which is shorter than a function.
//
// B. Charged is at most a constant times what is executed (see plan).
//
// C. Types, functions, locals and globals keep their indices: what is added comes
// last. So names, exports, elements and all code that is not touched stay right.
//
// D. Code that names a local, global, type or label that only the rewriting makes is
// refused. Without that an invalid module could become a valid one that fills its
// own tank.
//
// E. What is allocated is a small multiple of the input.
//
// # Caveat
//
// The original must have been found valid; what is malformed gives an error, but
// not every invalid module does.
package meter
