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

// limitedMemory is memory that does not grow beyond what its instance may have.
type limitedMemory struct {
	experimental.LinearMemory
	most    uint64
	starved *bool // set when it was asked for more
}

// Reallocate implements experimental.LinearMemory.
func (m *limitedMemory) Reallocate(size uint64) []byte {
	if size > m.most {
		*m.starved = true
		return nil
	}
	return m.LinearMemory.Reallocate(size)
}

var _ experimental.LinearMemory = (*heapMemory)(nil)
