// Package server tells the outside world of one run of a job, over HTTP: Prometheus
// metrics, whether the process lives, and whether the job is at work.
//
//	GET /metrics  see docs/monitoring.md
//	GET /health   200 for as long as the run goes on, restarts included
//	GET /ready    200 while the job is restored and all its sources and sinks are
//	              open; else 503, and the reason
//
// Invariants:
//
//	(W) Watching does not slow a job down: all that is read of it are counters that
//	    its tasks keep for themselves. Sums, rates and ages are made here, when
//	    somebody asks.
//	(E) Nothing outlives Close: neither a goroutine nor the use of a job, which ends
//	    with Stopped already.
//	(L) Whatever the outside may do is limited: connections, headers, time, and
//	    answers under way at once.
//
// Caveat: there is no authentication. Whoever reaches the address reads the names of
// sources, topics and steps, and the error that a job is started again for.
package server
