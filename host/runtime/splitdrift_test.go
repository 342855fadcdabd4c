package runtime

import (
	"fmt"
	"testing"

	"github.com/wasmstream/wasmstream/host/job"
	"github.com/wasmstream/wasmstream/host/stream"
)

// paused notes which splits a source was told to leave.
type paused []string

func (p *paused) Pause(splits []string) { *p = append(*p, fmt.Sprint(splits)) }

// TestSplitsAreAligned: of two partitions one runs ahead; it is left alone until the
// other has come near, or has ended.
func TestSplitsAreAligned(t *testing.T) {
	s := &job.Source{Watermark: &job.Watermark{OnEvent: true, Alignment: &job.Alignment{Group: "g", MaxDrift: 100}}}
	clock := &stillClock{now: 1000}
	b := newHead(t, clock, s, false)
	b.head.splits, b.head.split, b.head.marks.splits = nil, nil, nil
	b.head.marks.combined = stream.NewMultiplexer(stream.CombineRules{})
	var told paused
	b.head.drift = (&driftGroup{}).join(b.head.node, 100)
	b.head.pauses.source = &told
	for _, name := range []string{"t/0", "t/1"} {
		b.readOf(name)
	}
	b.put()
	for _, step := range []struct {
		split string
		time  stream.EventTime
		told  string // last
	}{
		{"t/0", 50, ""}, {"t/1", 10, ""},
		{"t/0", 200, "[t/0]"}, // 190 ahead
		{"t/1", 90, "[t/0]"},  // 110 ahead still
		{"t/1", 100, "[]"},    // 100
		{"t/1", 500, "[t/1]"},
	} {
		b.readOf(step.split, step.time)
		b.put()
		last := ""
		if len(told) > 0 {
			last = told[len(told)-1]
		}
		if last != step.told {
			t.Errorf("%s at %d: told %q, want %q", step.split, step.time, told, step.told)
		}
	}
	if d := b.step().deadline; d != clock.now+pauseMillis {
		t.Errorf("paused splits are looked at again at %d", d)
	}
}
