// Package kill kills jobs and looks at what they put out all the same. It runs the real command, ends it by SIGKILL at
// random times and at named points of a checkpoint, starts it again until its input is through, and compares the output
// with results that were computed from the input without the engine.
//
//	make kill-file N=500     from file to file
//	make kill-kafka N=500    from Kafka to Kafka; every tenth time the broker is killed too
//
// It promises:
//
//	A. What is expected is a function of the input alone: no record is ever late, whatever the order in which the
//	   partitions are read (input.go says how), and Tumbling, Sessions and what functions.go expects of functions with states
//	   and timers are a few lines over maps. Of an enrichment, each answer comes once.
//	B. A result that is lost, comes twice, is not among the expected ones, or comes behind a later one of its key, is a
//	   finding; so is a job that ends by itself with an error while nothing that it needs is away.
//	C. What is killed when, and the input, follow from a seed. Where a random time hits the command does not.
//	D. A run says which kills it made. One that never got to a named point has not shown what it is there for, and fails.
//
// The command kills itself at a named point: WASMSTREAM_KILL_AT=POINT:N does so when POINT is reached for the Nth time.
package kill
