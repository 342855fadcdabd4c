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
// Fuel is charged at the entry of a function and at the head of a loop, for the dearest way
// that control may take from there to the next charge; and at a few other places, so that a
// charge is not much more than what is then executed (see ways.go): a charge costs as much
// as some instructions. Elsewhere control only moves forward, so that nothing is executed
// twice between two charges. Bulk operations are charged by their length when it is known,
// growing memory by its pages. Of a function that calls no other the entry is charged by its
// callers, if it can be called by code of the module alone.
//
// The counter is always up to date, in a trap too. A short loop keeps what is left in a
// local as well, since a load of what was just stored would take longer than its round.
//
// Depth is taken by functions that call others which do so, too, by the room that they may
// need on the engine's stack, and given back where they return; a trap may leave it taken.
//
// # Invariants
//
// A. No path executes more instructions than were charged for when it began, up to
// the greatest stretch between two checks, which is shorter than a function.
//
// B. Charged is at most a constant times what is executed (see ways.go).
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
