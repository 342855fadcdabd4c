//go:build !linux

package main

import (
	"runtime/debug"
	"time"

	"github.com/wasmstream/wasmstream/host/sandbox"
)

// limitProcess does what can be done without the system's help: the collector works
// harder. The process is a process of its own all the same.
func limitProcess(job sandbox.ChildJob) error {
	debug.SetMemoryLimit(job.MemoryBytesMax)
	return nil
}

var started = time.Now()

// processorTime is the time that has passed, where the system does not tell more.
func processorTime() time.Duration { return time.Since(started) }
