package runtime

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/wasmstream/wasmstream/host/state"
	"github.com/wasmstream/wasmstream/host/stream"
)

// meter is what a task counts for those who watch the job. Only the task writes, once
// a batch or a step; anybody may read.
type meter struct {
	in, out                       atomic.Int64 // records
	inWatermark, outWatermark     atomic.Int64
	entries, stateBytes, timers   atomic.Int64
	busy, blocked, since, present atomic.Int64 // see began
}

func newMeter() *meter {
	m := &meter{}
	m.inWatermark.Store(int64(stream.MinTime))
	m.outWatermark.Store(int64(stream.MinTime))
	return m
}

// What a task does at present.
const (
	resting int64 = iota
	stepping
	blocked // its last step ended for lack of room
)

// began notes that a step begins; ended that it has ended, and whether for lack of
// room. What has passed since the one before goes to one of the sums.
func (m *meter) began(now time.Duration) {
	if m.present.Load() == blocked {
		m.blocked.Add(int64(now) - m.since.Load())
	}
	m.turn(stepping, now)
}

func (m *meter) ended(now time.Duration, isBlocked bool) {
	m.busy.Add(int64(now) - m.since.Load())
	if isBlocked {
		m.turn(blocked, now)
	} else {
		m.turn(resting, now)
	}
}

func (m *meter) turn(to int64, now time.Duration) {
	m.since.Store(int64(now))
	m.present.Store(to)
}

// spent is how long the task has worked and waited for room, the present step or wait
// included. It is asked while the task goes on, and may be off by one step.
func (m *meter) spent(now time.Duration) (busy, waited time.Duration) {
	busy, waited = time.Duration(m.busy.Load()), time.Duration(m.blocked.Load())
	switch present := max(0, now-time.Duration(m.since.Load())); m.present.Load() {
	case stepping:
		busy += present
	case blocked:
		waited += present
	}
	return busy, waited
}

// handed counts a batch that the task puts out.
func (m *meter) handed(b *stream.Batch) {
	m.out.Add(int64(b.Len()))
	for i := len(b.Marks) - 1; i >= 0; i-- {
		if mark := b.Marks[i]; mark.Kind == stream.MarkWatermark {
			m.outWatermark.Store(mark.Value)
			return
		}
	}
}

// keeps tells what the task's state holds.
func (m *meter) keeps(s state.Stats) {
	m.entries.Store(int64(s.Entries))
	m.stateBytes.Store(s.Bytes)
	m.timers.Store(int64(s.Timers))
}

// splitMeter is how far a split of a source has come, for those who watch.
type splitMeter struct {
	name      string
	watermark atomic.Int64
	idle      atomic.Bool
	ended     atomic.Bool
}

// splitMeters are those of a source.
type splitMeters struct {
	mu  sync.Mutex
	all []*splitMeter
}

func (s *splitMeters) add(m *splitMeter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, m)
}

// known are the splits that are known by now.
func (s *splitMeters) known() []*splitMeter {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all[:len(s.all):len(s.all)]
}
