package main

import (
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/wasmstream/wasmstream/host/sandbox"
)

// limitProcess has the system hold this process to a job's limits: no more memory to write
// to than it has and the job allows, whole seconds of processor time, no core file.
func limitProcess(job sandbox.ChildJob) error {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return err
	}
	var mapped, data, other uint64 // pages
	if _, err := fmt.Sscan(string(text), &mapped, &other, &other, &other, &other, &data); err != nil {
		return err
	}
	page, most := uint64(os.Getpagesize()), uint64(job.MemoryBytesMax)
	for resource, most := range map[int]uint64{
		syscall.RLIMIT_DATA: data*page + most,
		syscall.RLIMIT_AS:   mapped*page + addressesPerByte*most,
		syscall.RLIMIT_CPU:  uint64(job.CPU/time.Second) + 2,
		syscall.RLIMIT_CORE: 0,
	} {
		if err := syscall.Setrlimit(resource, &syscall.Rlimit{Cur: most, Max: most}); err != nil {
			return err
		}
	}
	return nil
}

// addressesPerByte is how many addresses the process may reserve for each byte that it may
// use. The heap reserves 64 MiB at once, of which it uses what it needs; and not each system
// counts what is used.
const addressesPerByte = 3

// processorTime is what this process has used.
func processorTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
