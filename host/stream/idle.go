package stream

// IdleTimer decides when a source, or a split of one, is idle: Flink's
// IdlenessTimer on a clock that can be held. It decides at probes only, which
// come at an interval: one that finds activity since the one before resets the
// timer, the next one starts the clock, and a later one finds the source idle once
// more than the timeout has passed. What time passes while the source is held back
// by others does not count (FLINK-35886): its records were there, and nobody took
// them.
type IdleTimer struct {
	timeout  int64 // ms; 0: never idle
	active   bool  // since the last probe
	counting bool
	since    ProcTime // when the clock started; valid if counting
	lost     ProcTime // the time for which the clock was held, all in all
	held     bool
	heldAt   ProcTime // valid if held
}

// NewIdleTimer makes a timer; a timeout (ms) of 0 never comes.
func NewIdleTimer(timeout int64) IdleTimer { return IdleTimer{timeout: timeout} }

// Enabled tells whether there is a timeout at all.
func (t *IdleTimer) Enabled() bool { return t.timeout > 0 }

// Activity notes that there was a record.
func (t *IdleTimer) Activity() { t.active = true }

// Held tells whether the clock is stopped.
func (t *IdleTimer) Held() bool { return t.held }

// Hold stops the clock, or lets it go on.
func (t *IdleTimer) Hold(held bool, now ProcTime) {
	if held == t.held {
		return
	}
	if t.held = held; held {
		t.heldAt = now
	} else {
		t.lost += now - t.heldAt
	}
}

// Probe tells whether the source is idle now.
func (t *IdleTimer) Probe(now ProcTime) bool {
	if t.timeout <= 0 {
		return false
	}
	if t.held {
		now = t.heldAt
	}
	now -= t.lost
	switch {
	case t.active:
		t.active, t.counting = false, false
	case !t.counting:
		t.counting, t.since = true, now
	default:
		return int64(now-t.since) > t.timeout
	}
	return false
}
