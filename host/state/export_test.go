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
