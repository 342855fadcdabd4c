// Package sandbox runs modules: it refuses those it does not trust, compiles
// the others, and calls their functions with frames. It is the only package
// that knows the Wasm engine; it knows neither operations nor effects, which
// are bytes to it.
//
// # Promise
//
// Whatever a module contains and whatever its code does, the host gets an
// error that says what happened. A refusal (RefusedError) comes before any
// code runs; a fault (Fault) comes while it runs and costs the instance that
// it happened in, nothing else.
//
// # Invariants
//
// A. No byte of a module reaches the engine before the scanner has checked
// every count in it against the bytes that remain, because the engine
// allocates what a count claims before it reads.
//
// B. A pointer or a length from a guest is checked against the memory as it is
// after the call that returned it, never as it was before.
//
// C. Host functions are written against the raw stack; they stop a guest by a
// panic of one type (stop), which the engine turns into an error. No other
// panic leaves a host function.
//
// D. A guest sees nothing from outside but its frames: the clock stands still,
// random numbers restart from one seed at each call, and there are neither
// files nor environment. A call is therefore a function of the instance's
// memory and the frame.
//
// E. After a fault an instance is dead: its memory may be half written. Only
// Rebuild or another Instantiate brings the function back.
//
// F. A pair of In and Call that succeeds allocates nothing.
//
// G. Each module has a runtime and a compiled-code cache of its own. A compiled
// module never meets another runtime, because the engine numbers function types
// per runtime and compares these numbers when it links and when it calls through
// a table.
//
// H. The engine opens an entry of the cache on disk only after its digest was
// found equal to the one sealed when it was written: the engine itself trusts
// lengths in that file.
//
// I. Memory that a guest may grow into is reserved once and never moves.
//
// J. What runs is not the module but the module with better code (package refine) and
// with meters in it (package meter), and only after the engine found the original valid.
// A memory has less than 4 GiB by a page at least, as package refine wants it (see
// Options.MemoryPagesMax). Each call has a budget of fuel,
// host functions charge to it for what they do, and what a number from the guest
// makes them do they charge before they do it.
//
// K. With Options.Child, no module that is not in the cache is compiled here before a
// process of its own has compiled it, but for those that compile in no time; and none
// that killed such a process.
//
// # Caveats
//
// Without Options.Child a module is compiled in this process, and how long that takes is
// bounded by limits on its size and on what the compiler takes its time for, roughly:
// seconds at worst. An instance serves one goroutine at a time; a module and an engine
// serve many.
package sandbox
