package sim

import "github.com/wasmstream/wasmstream/host/stream"

// clock is the world's time. It moves between steps.
type clock struct {
	now  stream.ProcTime
	at   stream.ProcTime
	ring func() // nil: no alarm is set
}

// Now implements stream.Clock.
func (c *clock) Now() stream.ProcTime { return c.now }

// Alarm implements stream.Clock.
func (c *clock) Alarm(at stream.ProcTime, ring func()) { c.at, c.ring = at, ring }

// pass moves time.
func (c *clock) pass(ms int64) {
	c.now += stream.ProcTime(ms)
	if c.ring != nil && c.at <= c.now {
		ring := c.ring
		c.ring = nil
		ring()
	}
}

// skip moves time to the alarm; false if none is set.
func (c *clock) skip() bool {
	if c.ring == nil {
		return false
	}
	c.pass(max(0, int64(c.at-c.now)))
	return true
}
