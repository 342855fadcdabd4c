package server

import (
	"time"

	"github.com/wasmstream/wasmstream/host/runtime"
)

// rates make of how long tasks have worked and waited in all what they did of late:
// since a look that is at least windowMin ago, if there was one. Who asks every
// fifteen seconds hears of those fifteen seconds, and two who ask in turn do not take
// the past away from each other.
type rates struct {
	before, recent look
}

type look struct {
	at    time.Duration
	tasks []spent
}

// spent is of one task.
type spent struct{ busy, waited time.Duration }

const windowMin = 5 * time.Second

// perSecond is how many of 1000 ms a task worked, waited for room and rested.
type perSecond struct{ busy, waited, idle float64 }

// look takes what a job tells now and returns what its tasks did of late.
func (r *rates) look(m *runtime.Metrics) []perSecond {
	now := look{at: m.At, tasks: make([]spent, len(m.Tasks))}
	for i := range m.Tasks {
		now.tasks[i] = spent{m.Tasks[i].Busy, m.Tasks[i].BackPressured}
	}
	switch {
	case r.recent.tasks == nil:
		r.before, r.recent = now, now
	case now.at-r.recent.at >= windowMin:
		r.before, r.recent = r.recent, now
	}
	out := make([]perSecond, len(now.tasks))
	for i := range out {
		out[i] = between(r.before.tasks[i], now.tasks[i], now.at-r.before.at)
	}
	return out
}

func between(from, to spent, passed time.Duration) (p perSecond) {
	if passed <= 0 {
		return perSecond{idle: 1000}
	}
	share := func(d time.Duration) float64 { return 1000 * min(1, max(0, float64(d)/float64(passed))) }
	p.busy = share(to.busy - from.busy)
	p.waited = min(share(to.waited-from.waited), 1000-p.busy)
	p.idle = 1000 - p.busy - p.waited
	return p
}
