package scenario

import "github.com/wasmstream/wasmstream/host/stream"

// manualClock is processing time that only the script moves. It serves one job
// after the other: time goes on over a restart.
type manualClock struct {
	now  stream.ProcTime
	at   stream.ProcTime
	ring func() // nil: no alarm is set
}

// Now implements stream.Clock.
func (c *manualClock) Now() stream.ProcTime { return c.now }

// Alarm implements stream.Clock. An alarm for a moment that has passed waits for
// the next move: a timer that a record sets fires by a clock action only.
func (c *manualClock) Alarm(at stream.ProcTime, ring func()) { c.at, c.ring = at, ring }

// move sets the clock and rings the alarm if it is due. Whoever it wakes works
// when the job is driven, and may set another.
func (c *manualClock) move(to stream.ProcTime) {
	c.now = to
	if ring := c.ring; ring != nil && c.at <= to {
		c.ring = nil
		ring()
	}
}
