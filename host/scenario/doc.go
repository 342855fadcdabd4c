// Package scenario runs scenario files: a job, a script that feeds it records,
// watermarks and times, and all that its sinks are to receive. It is what
// `wasmstream test` does to one file; the format is told in docs and, line by
// line, in the table of forms (action.go).
//
// A scenario is parsed without knowing its job, then bound to the job (names,
// rows, expected lines), and then driven, action by action, in the calling
// goroutine, by a clock that only the script moves.
//
// Invariants:
//
//	(C) Claims are complete: what a sink receives because of an action is claimed
//	    by a want line behind it, or the scenario fails. Lines are compared by
//	    value, as a multiset for each sink.
//	(B) A mistake in the script (its form, an unknown name, a record that does not
//	    fit the schema, an emit after the end) is told before the first action is
//	    performed, with its line; all such mistakes are told at once.
//	(S) A job never goes on from anything but the bytes of a snapshot: restart,
//	    restore and Options.RestartEvery build another job from them.
//	(O) Options other than Update change how a scenario is run, never its result.
//	(U) An update changes want lines and the answers to questions, nothing else;
//	    updating its own outcome changes nothing.
//
// Caveats: time in the job stands still while the script does not move it, so
// what waits for the real clock never comes. Two records that one action puts
// out have no order between them.
package scenario
