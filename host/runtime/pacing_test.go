package runtime

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wasmstream/wasmstream/host/job"
	"github.com/wasmstream/wasmstream/host/stream"
)

// paces notes what a source is told of how far its splits are.
type paces struct {
	told  []pace
	waits map[string]bool
}

type pace struct {
	split      string
	record, at int64
}

func (p *paces) Reached(split string, record, at int64) {
	p.told = append(p.told, pace{split, record, at})
}
func (p *paces) Waits(split string) bool { return p.waits[split] }

// pacedHead is the head of a source of two splits that advance evenly.
func pacedHead(t *testing.T) (*headBench, *paces) {
	b := newHead(t, &stillClock{now: 1000}, &job.Source{Watermark: &job.Watermark{OnEvent: true, IdleTimeout: 300}}, true)
	b.head.splits, b.head.split, b.head.marks.splits = nil, nil, nil
	b.head.marks.combined = stream.NewMultiplexer(stream.CombineRules{})
	p := &paces{waits: map[string]bool{}}
	b.head.pacing, b.head.marks.waits = p, p.Waits
	for _, name := range []string{"t/0", "t/1"} {
		b.readOf(name)
	}
	b.expect("")
	return b, p
}

// TestSourceIsToldHowFarSplitsAre: of each split the greatest time of what was decoded.
func TestSourceIsToldHowFarSplitsAre(t *testing.T) {
	b, p := pacedHead(t)
	b.readOf("t/0", 50, 40)
	b.put()
	b.readOf("t/1", 10)
	b.put()
	b.readOf("t/0", 45)
	b.put()
	want := []pace{{"t/0", 2, 50}, {"t/1", 1, 10}, {"t/0", 3, 50}}
	if d := cmp.Diff(want, p.told, cmp.AllowUnexported(pace{})); d != "" {
		t.Error(d)
	}
}

// TestASplitThatWaitsForItsTurnIsNotIdle: it holds the watermark, for as long as its
// records are not read because others are behind it.
func TestASplitThatWaitsForItsTurnIsNotIdle(t *testing.T) {
	b, p := pacedHead(t)
	b.readOf("t/0", 50)
	b.readOf("t/1", 10)
	b.expect("50 10 w9")
	p.waits["t/0"] = true
	for now := stream.ProcTime(1200); now < 5000; now += 200 {
		b.readOf("t/1", 60)
		want := "60"
		if now == 1200 {
			want = "60 w49"
		}
		b.at(now, want)
	}
	p.waits["t/0"] = false
	for _, now := range []stream.ProcTime{5000, 5200} {
		b.readOf("t/1", 60)
		b.at(now, "60")
	}
	b.readOf("t/1", 60)
	b.at(5400, "60 w59") // more than the timeout behind the first look at which it did not wait
}
