package state

// QueueLen is how much the queue of a domain holds, deleted timers included.
func (m *Memory) QueueLen(d Domain) int { return m.timers[d].len }
