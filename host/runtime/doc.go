// Package runtime runs a planned job: it turns sources, steps and sinks into
// tasks, connects them by bounded pipes and drives them.
//
// A task is a state machine. A step of it takes what its pipes have, within a
// budget, and returns; it never waits. In production W workers step the tasks;
// a test steps them one at a time in an order that follows from a seed. Only the
// reader of a source and the writer of a sink may block, and each has a
// goroutine of its own (an I/O task), which a test steps like any other.
//
// Invariants:
//
//	(S) A pipe has one producer and one consumer. Who puts something into it, or
//	    makes room in it, wakes the other end.
//	(M) Marks keep their place among the records of their channel. A watermark,
//	    status or barrier leaves a task behind everything that the records before
//	    it led to.
//	(A) A task takes its snapshot when the barrier has come on all its channels;
//	    a channel whose barrier has come is not read until then.
//	(B) What a task holds is bounded: it takes no further record while its output
//	    is over the batch's limit and cannot be handed on.
//	(O) Per key, records are handled in the order of the input, whatever the
//	    number of workers, tasks or rows in a batch.
package runtime
