// Package sim runs whole jobs in a world that fails: a job file as users write it, on a clock, a disk, sources and sinks
// in memory, one step at a time, with crashes and faults that all follow from a seed. What the job commits through all of
// that is what it commits where nothing fails.
//
// A run is told as a sequence:
//
//	the seed draws a job, its input, and the fates of its processes
//	the same input through the job without checkpoints and faults   gives what is expected
//	a process opens the checkpoints' folder, recovers, and drives the job, until its fate comes or the job fails;
//	then the next process, perhaps with another parallelism; the disk keeps what was synced, or all
//	the last process has no fate and no faults, and has to come to the end
//
// It promises:
//
//	A. A seed gives the same run, to the order of steps and the bytes of every object. So a run that failed is run again
//	   to be read.
//	B. A crash leaves nothing of a process but what it did to the disk, the logs and the sinks' side: the job is dropped
//	   where it stands, in the middle of a call if the fate says so, and nothing of it is closed.
//	C. Sinks know what the protocol of connector.Sink allows and tell of every call that it does not, whether that had a
//	   consequence in this run or not: a commit of what no durable manifest has, of what was given up, or of nothing new;
//	   an opening that gives up what a checkpoint has handed over; an id that is used again too early.
//	D. Committed output is compared after each process as a beginning of what is expected, and at the end as a whole: for
//	   each key in order where that is promised, else as a set of lines that counts them. After the newest checkpoint has
//	   rotted although it was committed, lines may come again; this is the only case.
//	E. Every process starts from a checkpoint that is at least as new as anything that was committed, and those that are
//	   to be kept are sound.
//	F. The last process ends within a number of steps.
//
// RunKafka does the same with goroutines, the machine's clock and the real connectors of Kafka, where only D and F hold, and
// D for sets of lines.
//
// Its caveats: Run has one thread, so data races are for other tests. Guests run in real sandboxes, whose instances are
// closed after a crash; they have no way to leave anything behind.
package sim
