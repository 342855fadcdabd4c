package runtime

import "github.com/wasmstream/wasmstream/host/stream"

// CheckpointCounts are how many checkpoints of a job were completed and came to
// nothing.
func CheckpointCounts(j *Job) (completed, failed int64) {
	return j.stats.checkpoints.Completed.Load(), j.stats.checkpoints.Failed.Load()
}

// Natively has a Go function in place of the guest of a job's map: it puts out what comes
// of each row itself. All else of the step is the same, so that the pair shows what a
// guest costs.
func Natively(j *Job, f func(row stream.Row, at stream.EventTime, out *stream.Batch)) {
	for _, t := range j.tasks {
		if o, ok := t.op.(*each); ok {
			t.op = &nativeEach{o, f}
		}
	}
}

// nativeEach is a step without a guest: no op is ever put off.
type nativeEach struct {
	*each
	perform func(row stream.Row, at stream.EventTime, out *stream.Batch)
}

func (o *nativeEach) rows(_ side, b *stream.Batch, from, to int) (int, error) {
	for i := from; i < to; i++ {
		if o.outs.isFull() {
			return i, nil
		}
		o.perform(b.Row(i), b.Time(i), o.results[0].batch)
	}
	return to, nil
}
