package main

import (
	"sync"
	"time"

	"github.com/wasmstream/wasmstream/host/stream"
)

// wallClock is the machine's clock. Its time is that of the start plus what the
// monotonic clock has counted since, so it never goes back when somebody sets the
// machine's clock.
type wallClock struct {
	start time.Time

	mu    sync.Mutex
	timer *time.Timer // of the alarm; nil: none
}

func newWallClock() *wallClock { return &wallClock{start: time.Now()} }

// Now implements stream.Clock.
func (c *wallClock) Now() stream.ProcTime {
	return stream.ProcTime(c.start.Add(time.Since(c.start)).UnixMilli())
}

// monotonic is a clock that counts from now on.
func monotonic() func() time.Duration {
	start := time.Now()
	return func() time.Duration { return time.Since(start) }
}

// Alarm implements stream.Clock.
func (c *wallClock) Alarm(at stream.ProcTime, ring func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timer != nil {
		c.timer.Stop()
		c.timer = nil
	}
	if ring != nil {
		c.timer = time.AfterFunc(time.Duration(at-c.Now())*time.Millisecond, ring)
	}
}
