package state

// HeapLen is how much the heap of a domain holds, deleted timers included.
func (m *Memory) HeapLen(d Domain) int { return len(m.timers[d].heap) }
