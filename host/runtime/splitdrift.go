package runtime

import (
	"slices"

	"github.com/wasmstream/wasmstream/host/connector"
	"github.com/wasmstream/wasmstream/host/stream"
)

// pauseMillis is how often a source that has paused splits looks whether they may go
// on, if nothing else has it look.
const pauseMillis = periodicMillis

// pauses leaves splits of an aligned source alone that are farther ahead than its
// group allows, while the others are read (Flink's alignment of splits). The clock
// of their idleness stops.
type pauses struct {
	source connector.Pausing
	now    []string // paused
	next   []string // scratch
}

// align pauses and resumes splits.
func (t *sourceTask) align() {
	p := &t.pauses
	if p.source == nil || t.drift == nil || len(t.splits) < 2 {
		return
	}
	limit := t.drift.limit()
	p.next = p.next[:0]
	for _, s := range t.splits {
		if s.marks == nil || s.ended {
			continue
		}
		ahead := t.marks.reachedBy(s.marks) > limit
		if ahead {
			p.next = append(p.next, s.name)
		}
		if t.marks.pauses {
			s.marks.idler.Hold(ahead, t.marks.clock.Now())
		}
	}
	if !slices.Equal(p.now, p.next) {
		p.now = append(p.now[:0], p.next...)
		p.source.Pause(slices.Clone(p.next))
	}
}

// deadline is when paused splits are looked at again; 0: there are none.
func (p *pauses) deadline(now stream.ProcTime) stream.ProcTime {
	if len(p.now) == 0 {
		return 0
	}
	return now + pauseMillis
}
