// Package job turns the text of a job file into a validated plan, or into the
// list of everything that is wrong with it.
//
// It promises:
//
//	(P) Pure: bytes in, plan or problems out. It opens no file, reads no clock
//	    and starts nothing; the environment, the manifests of modules and time
//	    zones come through Options.
//	(A) All problems at once: a mistake hides no other, and none is reported
//	    twice because of another. Each names file, line, column and field, and
//	    the nearest valid name where a name is wrong.
//	(U) What the job file's language has and the engine does not offer yet is a
//	    problem marked Unsupported; a job whose only problems are of that mark
//	    is sound, to the extent that what is not offered was looked at.
//	(T) One table of fields (shapes.go) drives the checks of the text and
//	    docs/job.schema.json; a field is in both or in neither.
//	(D) A plan's columns are those that someone uses. Streams that meet in one
//	    step or sink have one schema to the byte, so rows pass from a source
//	    to whoever reads them without being laid out again.
//	(L) Any text ends in bounded time and memory: TextBytesMax, NodesMax,
//	    DepthMax, PatternsMax and ProblemsMax hold, aliases count as what they stand for.
//
// In every text ${NAME} stands for an environment variable and $${ for ${
// itself, so a dollar sign right before a variable has to be part of it. Names,
// left of a colon, are taken as they are.
//
// What Flink has as well is called as there and has its defaults, but for these:
// checkpoint.interval, for which Flink has none, is 10s; a Kafka source reads
// committed records only; a Kafka sink's delivery is at-least-once instead of
// none, and its transaction-timeout 15m, which brokers allow, instead of 1h.
//
// Caveats: without a working directory a relative and an absolute path cannot
// be compared, so Options.Dir should be absolute; links in the file system are
// not looked through.
package job
