package server

import (
	"testing"
	"time"

	"github.com/wasmstream/wasmstream/host/runtime"
)

// TestRates: a task that works 100 ms of each second, then waits for ten seconds for
// room, as two see it who ask in turn and one who asks all the time.
func TestRates(t *testing.T) {
	var r rates
	look := func(at, busy, waited time.Duration) perSecond {
		return r.look(&runtime.Metrics{At: at, Tasks: []runtime.TaskMetrics{{Busy: busy, BackPressured: waited}}})[0]
	}
	const s, ms = time.Second, time.Millisecond
	for _, c := range []struct {
		at, busy, waited time.Duration
		want             perSecond
	}{
		{0, 0, 0, perSecond{0, 0, 1000}},
		{1 * s, 100 * ms, 0, perSecond{100, 0, 900}},
		{7 * s, 700 * ms, 0, perSecond{100, 0, 900}},
		{8 * s, 800 * ms, 0, perSecond{100, 0, 900}},        // since 0
		{18 * s, 800 * ms, 10 * s, perSecond{9, 909, 82}},   // since 7: 100 ms and 10 s of 11 s
		{19 * s, 800 * ms, 11 * s, perSecond{8, 917, 75}},   // since 7 still
		{28 * s, 9800 * ms, 11 * s, perSecond{900, 100, 0}}, // since 18
	} {
		got := look(c.at, c.busy, c.waited)
		near := func(a, b float64) bool { return a-b < 0.5 && b-a < 0.5 }
		if !near(got.busy, c.want.busy) || !near(got.waited, c.want.waited) || !near(got.idle, c.want.idle) {
			t.Errorf("at %v: %v, want %v", c.at, got, c.want)
		}
	}
}
