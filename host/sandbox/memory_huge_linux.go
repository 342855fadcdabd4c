package sandbox

import "syscall"

// hugePage is what a page of the larger kind has. Memory up to that is had by small
// pages, so that a small guest takes no more than it uses.
const hugePage = 2 << 20

// preferHugePages asks for large pages behind the first hugePage. A guest that reads
// fresh memory before it writes there makes two faults a page, of which the second stops
// all processors that run this process for a moment; with 64 MiB in small pages that
// took half of a neighbour's speed. Where the system says no, memory works all the same.
func preferHugePages(region []byte) {
	if len(region) > hugePage {
		_ = syscall.Madvise(region[hugePage:], syscall.MADV_HUGEPAGE)
	}
}

// empty makes all of it 0 again, for the next guest: the first hugePage by hand, so that its
// pages stay, and the rest by giving its pages back.
func (m *mappedMemory) empty() bool {
	used := m.region[:m.used]
	m.used = 0
	clear(used[:min(len(used), hugePage)])
	return len(used) <= hugePage || syscall.Madvise(used[hugePage:], syscall.MADV_DONTNEED) == nil
}
