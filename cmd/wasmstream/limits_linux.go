package main

import (
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/wasmstream/wasmstream/host/sandbox"
)

// limitProcess has the system hold this process to a job's limits: no more memory than
// it has and the job allows, whole seconds of processor time, no core file.
func limitProcess(job sandbox.ChildJob) error {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return err
	}
	var pages uint64
	if _, err := fmt.Sscan(string(text), &pages); err != nil {
		return err
	}
	seconds := uint64(job.CPU/time.Second) + 2
	for resource, most := range map[int]uint64{
		syscall.RLIMIT_AS:   pages*uint64(os.Getpagesize()) + uint64(job.AddressBytesMax),
		syscall.RLIMIT_CPU:  seconds,
		syscall.RLIMIT_CORE: 0,
	} {
		if err := syscall.Setrlimit(resource, &syscall.Rlimit{Cur: most, Max: most}); err != nil {
			return err
		}
	}
	return nil
}

// processorTime is what this process has used.
func processorTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
