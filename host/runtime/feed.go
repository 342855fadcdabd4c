package runtime

import "github.com/wasmstream/wasmstream/host/stream"

// Feed is a source that a scenario's script drives, between calls of Drive.
type Feed struct {
	task *feedTask
}

// Feed is the feed of a source; nil if the source is no test source.
func (j *Job) Feed(source string) *Feed { return j.feeds[source] }

// Send hands over rows and marks, which are copied.
func (f *Feed) Send(b *stream.Batch) {
	c := new(stream.Batch)
	c.CopyFrom(b)
	f.task.queue = append(f.task.queue, c)
	f.task.node.wake()
}

// End ends the source.
func (f *Feed) End() {
	if f.task.ended {
		return
	}
	f.task.ended = true
	b := new(stream.Batch)
	b.Mark(stream.MarkActive, 0)
	markEnd(b)
	f.Send(b)
}

// Ended tells whether the source has ended.
func (f *Feed) Ended() bool { return f.task.ended }

func markEnd(b *stream.Batch) {
	b.Mark(stream.MarkWatermark, int64(stream.MaxTime))
	b.Mark(stream.MarkEnd, 0)
}

// feedTask is the head of a feed.
type feedTask struct {
	name    string
	node    *node
	out     *output
	check   *checkpoints
	queue   []*stream.Batch
	ended   bool
	resumed bool // it had ended before the restore: that is said again
}

func (t *feedTask) step() (outcome, error) {
	if t.resumed {
		t.resumed = false
		markEnd(t.out.batch)
	}
	for t.out.drain(true) {
		if len(t.queue) > 0 {
			t.out.batch.CopyFrom(t.queue[0])
			t.queue = t.queue[1:]
			continue
		}
		epoch := t.check.requested(t.name)
		if epoch == 0 {
			break
		}
		t.check.source(t.name, epoch, sourceState{Ended: t.ended})
		t.out.seal(epoch)
	}
	return outcome{}, nil
}

// collector is a sink that a scenario looks at.
type collector struct {
	timeless
	name    string
	stats   *SinkStats
	collect func(sink string, r stream.Row, t stream.EventTime)
	shot    func(epoch int64)
}

func (o *collector) rows(_ side, b *stream.Batch, from, to int) (int, error) {
	for i := from; i < to; i++ {
		o.collect(o.name, b.Row(i), b.Time(i))
	}
	return to, nil
}

func (o *collector) advance(t stream.EventTime) (bool, error) {
	o.stats.Watermark.Store(int64(t))
	return true, nil
}

func (o *collector) complete() (bool, error)   { return true, nil }
func (o *collector) status(stream.MarkKind)    {}
func (o *collector) barrier(epoch int64) error { o.shot(epoch); return nil }
func (o *collector) end() error                { return nil }
func (o *collector) drain(bool) bool           { return true }
