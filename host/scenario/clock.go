package scenario

import "github.com/wasmstream/wasmstream/host/stream"

// manualClock is processing time that only the script moves. It serves one job
// after the other: time goes on over a restart.
type manualClock struct{ now stream.ProcTime }

// Now implements stream.Clock.
func (c *manualClock) Now() stream.ProcTime { return c.now }

// Alarm implements stream.Clock. A scripted job is told when the clock moves.
func (c *manualClock) Alarm(stream.ProcTime, func()) {}
