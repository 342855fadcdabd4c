package reference

import "cmp"

// paneID is a key's window: what has contents, notes of its trigger, and timers.
type paneID struct {
	key  string
	span span
}

// timer is set once however often it is asked for.
type timer struct {
	at int64
	paneID
}

// timers are those of one domain of one step.
type timers map[timer]bool

func (t timers) set(at int64, p paneID) { t[timer{at, p}] = true }

// unset says nothing if there is none.
func (t timers) unset(at int64, p paneID) { delete(t, timer{at, p}) }

// due takes the earliest timer that is not after now. Between timers of one moment
// Flink has no order; here it is that of their keys and windows.
func (t timers) due(now int64) (timer, bool) {
	var first timer
	found := false
	for candidate := range t {
		if candidate.at <= now && (!found || candidate.before(first)) {
			first, found = candidate, true
		}
	}
	delete(t, first)
	return first, found
}

func (t timer) before(other timer) bool {
	return cmp.Or(cmp.Compare(t.at, other.at), cmp.Compare(t.key, other.key),
		cmp.Compare(t.span.start, other.span.start), cmp.Compare(t.span.end, other.span.end)) < 0
}
