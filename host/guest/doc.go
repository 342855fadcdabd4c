// Package guest asks Wasm functions: it lays ops out in frames, calls the guest,
// holds its answer against the ABI, and finds the op at fault when a call goes wrong.
// What ops mean, and where their slots live, is the role's: see Role.
//
// A role adds ops as its records come, and has them performed when they are due, which
// is when the function's answer is needed, or when Due says that a frame is full. The
// effects come back in the order of the ops.
//
// Invariants:
//
//	(R) Effects reach the role only after the whole answer of their frame was found
//	    sound, and so do slots: a call that fails leaves nothing behind.
//	(B) Of a frame that failed, halves are tried until one op is alone. It is at fault,
//	    and the role's policy says what that costs; the others give what they would have
//	    given without it.
//	(O) Effects are taken, and slots stored, in the order of ops, whatever frames they
//	    were in. An op's slots are loaded after those of all ops before it were stored.
//	(A) With room in its buffers a call allocates nothing, faults apart.
//
// Caveats: a Caller belongs to one goroutine. Slots of fixed width are edited in place, so
// they are judged by what they hold when the frame is answered: B does not hold for an op
// that breaks a slot which a later op of its frame mends (abi/README.md forbids it).
package guest
