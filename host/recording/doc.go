// Package recording keeps what guests were asked and what they answered, and asks again:
// the same version, to see that it answers the same, or another, to see what it would do
// differently.
//
// A recording is a file: a line that says what it is, and records {u32 length of payload,
// u32 CRC-32C of kind and payload, u8 kind, payload}, little-endian. There is a header,
// then functions, each with its opening, and their calls, as they happen. A call is a
// frame, its effects or its fault, what slots were left as, and the host calls on states
// with their answers: since a call is a function of these alone, it can be replayed by
// itself.
//
// Invariants:
//
//	(A) A record is written by one write, when its call has ended: of a run that was
//	    killed, all that was recorded before can be read. What follows the last whole
//	    record is told, and costs nothing else.
//	(B) A recording is never larger than its limit; the call that would exceed it ends it,
//	    and so does a write that fails. The run goes on.
//	(O) Recording changes nothing: frames, effects and faults pass as they are.
//	(H) What is read is hostile: lengths are checked against the file before anything is
//	    allocated.
//
// Caveats: calls that are made again after a fault, to find the op that is to blame, are
// calls like any other, and are recorded. So are those of frames that a host splits. A
// replay halves frames itself where they are too large for its guest.
package recording
