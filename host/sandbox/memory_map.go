//go:build linux || darwin || freebsd || netbsd || openbsd

package sandbox

import (
	"syscall"

	"github.com/tetratelabs/wazero/experimental"
)

// allocateMemory reserves all that a guest may ever grow into and lets the
// operating system give pages when they are touched. So growing neither copies
// nor moves (invariant I), and a reserve of 64 MiB costs what is used of it and
// does not count for the collector, which would otherwise pace itself by it.
func allocateMemory(_, most uint64) experimental.LinearMemory {
	if most == 0 {
		return &heapMemory{}
	}
	region, err := syscall.Mmap(-1, 0, int(most), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return &heapMemory{} // no address space left: memory that grows by copying still works
	}
	preferHugePages(region)
	return &mappedMemory{region: region}
}

// mappedMemory is a reserved range of addresses.
type mappedMemory struct {
	region []byte
	used   uint64 // the most that was asked for since it was empty
}

// Reallocate implements experimental.LinearMemory.
func (m *mappedMemory) Reallocate(size uint64) []byte {
	if size > uint64(len(m.region)) {
		return nil
	}
	m.used = max(m.used, size)
	return m.region[:size]
}

// Free implements experimental.LinearMemory.
func (m *mappedMemory) Free() {
	if m.region != nil {
		_ = syscall.Munmap(m.region) // it fails only for a range that is not mapped
		m.region = nil
	}
}
