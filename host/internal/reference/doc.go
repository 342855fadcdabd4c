// Package reference says what a scenario's job must put out, slowly and plainly:
// tests hold the engine against it. It shares no code with the engine, and reads
// the job file and the script itself.
//
// A step keeps every record that it took, and looks at all of them whenever it is
// asked: what a window holds, which sessions there are, what a join pairs, is
// found by going through the history. Only what Flink makes depend on the order
// of events (triggers, timers, watermarks) is kept as a value of its own, with
// Flink's rule written beside it.
//
// Invariants:
//
//	(I) Independence: nothing of host/operator, host/runtime, host/state, host/job
//	    or host/stream is used to find an answer.
//	(H) History: records are never changed and never summed up beforehand.
//	(F) With output append and inner interval joins the answers are those of
//	    Apache Flink 2.3, its faults included, but for those that Answer.Unlike
//	    names. Where an answer depends on an order that is not defined,
//	    Answer.Doubts says so.
//	(S) A history is a function of its seed and of the kinds that are chosen.
//
// Caveats: times near the int64 limits are only as right as their sums are small
// enough. Wasm functions, zones and DECIMAL are not known here.
package reference
