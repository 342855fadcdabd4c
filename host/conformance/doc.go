// Package conformance plays the vectors of the ABI on modules, and says which of them a
// module does not do as it must.
//
// A suite is a file of vectors with the manifest of the module that it is for: frames in,
// effects out, and what states hold between. Functions are found by name. What the player
// does is written down in abi/gen/CASES.md, so that other hosts can do the same.
//
// Invariants:
//
//	(M) A vector passes only if each frame is answered by exactly the effects expected,
//	    all slots are rows of their schemas, and states hold what they must.
//	(F) Each vector is played twice: on one instance, and on one that is thrown away and
//	    made anew before each frame, since a guest's memory is a cache.
//	(S) List, map and broadcast states are the player's own: a guest may ask for them in
//	    any way that the ABI has.
//
// Caveat: what a module does that no vector asks for is not seen.
package conformance
