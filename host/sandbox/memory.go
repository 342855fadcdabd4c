package sandbox

import "github.com/tetratelabs/wazero/experimental"

// heapMemory is the fallback for memory that cannot be reserved: it moves when it
// grows, which Instance.Frame is made for.
type heapMemory struct{ bytes []byte }

// Reallocate implements experimental.LinearMemory.
func (m *heapMemory) Reallocate(size uint64) []byte {
	if size > uint64(cap(m.bytes)) {
		grown := make([]byte, size)
		copy(grown, m.bytes)
		m.bytes = grown
	}
	m.bytes = m.bytes[:size]
	return m.bytes
}

// Free implements experimental.LinearMemory.
func (m *heapMemory) Free() { m.bytes = nil }

// guestMemory is the memory of an instance's guests, one after the other: it does not grow
// beyond what the instance may have, and is kept and emptied between two of them where the
// system allows that. To take it anew costs the guest faults for pages that it reads before
// it writes there, and each of those stops all processors that run this process for a
// moment: so a guest that was rebuilt again and again took a tenth of its neighbours' speed.
type guestMemory struct {
	experimental.LinearMemory // nil: there is none yet, or it was given back
	most                      uint64
	taken                     bool // by a guest that has not freed it
	starved                   bool // it was asked for more than there may be; each call resets it
}

// take gives a new guest memory without contents.
func (m *guestMemory) take(least, most uint64, allocate experimental.MemoryAllocatorFunc) experimental.LinearMemory {
	if m.taken { // a guest that never came to be does not free it
		m.Free()
	}
	if m.LinearMemory == nil {
		m.LinearMemory, m.most = allocate(min(least, most), most), most
	}
	m.taken = true
	return m
}

// Reallocate implements experimental.LinearMemory.
func (m *guestMemory) Reallocate(size uint64) []byte {
	if size > m.most {
		m.starved = true
		return nil
	}
	return m.LinearMemory.Reallocate(size)
}

// Free implements experimental.LinearMemory.
func (m *guestMemory) Free() {
	m.taken = false
	if kept, ok := m.LinearMemory.(interface{ empty() bool }); !ok || !kept.empty() {
		m.giveBack()
	}
}

// giveBack ends the memory.
func (m *guestMemory) giveBack() {
	if m.LinearMemory != nil {
		m.LinearMemory.Free()
		m.LinearMemory = nil
	}
}

var _ experimental.LinearMemory = (*heapMemory)(nil)
