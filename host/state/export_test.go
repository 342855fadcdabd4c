package state

import "unsafe"

// QueueLen is how much the queue of a domain holds, deleted timers included.
func (m *Memory) QueueLen(d Domain) int { return m.timers[d].len }

// What Stats takes an entry and a text to have.
const (
	EntryBytes = entryBytes
	TextBytes  = textBytes
)

// Sizes is what they have.
func Sizes() (ofEntry, ofText int) { return int(unsafe.Sizeof(entry{})), int(unsafe.Sizeof(text{})) }

// TreeLen is how many parts searches of a whole's parts may meet.
func (m *Memory) TreeLen(whole Ref) int {
	var count func(at uint32) int
	count = func(at uint32) int {
		if at == 0 {
			return 0
		}
		n := m.parts.nodes[at-1]
		return 1 + count(n.left) + count(n.right)
	}
	return count(m.parts.nodes[whole].left)
}
