package runtime_test

import (
	"slices"
	"testing"
	"time"

	"github.com/wasmstream/wasmstream/host/format"
	"github.com/wasmstream/wasmstream/host/job"
	"github.com/wasmstream/wasmstream/host/runtime"
	"github.com/wasmstream/wasmstream/host/stream"
)

// batchRows is how many rows a batch of the default limits has. Where each record
// gives a row, the batches of the last step have so many too.
const batchRows = 2048

// batchTimes is an encoder that writes nothing and notes when each batch comes.
type batchTimes struct {
	rows int
	at   []time.Time
}

func (e *batchTimes) Append(dst []byte, _ stream.Row) []byte {
	if e.rows++; e.rows%batchRows == 0 {
		e.at = append(e.at, time.Now())
	}
	return dst
}

// span is from when a checkpoint was asked for until it was durable and committed.
type span struct{ from, to time.Time }

// takeEvery has checkpoints taken, one each second unless the one before lasts longer,
// until the job is stopped. The function that it returns waits for the last of them.
func takeEvery(j *runtime.Job, every time.Duration) (stop func() []span) {
	quit, done := make(chan struct{}), make(chan []span)
	go func() {
		var spans []span
		defer func() { done <- spans }()
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
			case <-quit:
				return
			}
			s, made := span{from: time.Now()}, make(chan error, 1)
			if err := j.Checkpoint(func(err error) { made <- err }); err != nil {
				return
			}
			select {
			case err := <-made:
				if err == nil {
					s.to = time.Now()
					spans = append(spans, s)
				}
			case <-quit:
				return
			}
		}
	}()
	return func() []span { close(quit); return <-done }
}

// atOnce is what a batch is behind the one before at least, if the step was waited for
// in between. Nearer ones came in one go: a step hands on up to four.
const atOnce = 100 * time.Microsecond

// pauses are the times between two batches that did not come in one go, apart by
// whether a checkpoint was under way in between, and the longest of each checkpoint.
func pauses(at []time.Time, spans []span) (within, beside, longest []time.Duration) {
	longest = make([]time.Duration, len(spans))
	for i, s := 1, 0; i < len(at); i++ {
		for s < len(spans) && !spans[s].to.After(at[i-1]) {
			s++
		}
		gap := at[i].Sub(at[i-1])
		if gap < atOnce {
			continue
		}
		if s == len(spans) || !spans[s].from.Before(at[i]) {
			beside = append(beside, gap)
			continue
		}
		within = append(within, gap)
		longest[s] = max(longest[s], gap)
	}
	return within, beside, longest
}

// BenchmarkCheckpointsPause runs the sums of a million keys, each record a row, as
// fast as they go, with a checkpoint every second in which nearly all keys have
// changed. It tells the time from one batch of results to the next while a checkpoint
// is under way, and while none is. That is never nothing: a batch takes its time.
func BenchmarkCheckpointsPause(b *testing.B) {
	events := int64(30_000_000)
	if testing.Short() {
		events = 6_000_000
	}
	var within, beside, longest []time.Duration
	for b.Loop() {
		times := &batchTimes{at: make([]time.Time, 0, events/batchRows+1)}
		c := eventConfig(b, salesTo(events), func(*job.Sink) (format.Encoder, error) { return times, nil })
		c.Checkpoints = onDisk(b, b.TempDir(), 0, nil)
		r, err := runtime.New(parsePlan(b, sumText(1), b.TempDir()), c)
		if err != nil {
			b.Fatal(err)
		}
		stop := takeEvery(r, time.Second)
		err = r.Run(b.Context())
		spans := stop()
		if err != nil {
			b.Fatal(err)
		}
		if err := r.Close(); err != nil {
			b.Fatal(err)
		}
		w, o, l := pauses(times.at, spans)
		within, beside, longest = append(within, w...), append(beside, o...), append(longest, l...)
	}
	if len(longest) == 0 || len(beside) == 0 {
		b.Fatal("no checkpoint was made, or one was always under way")
	}
	b.ReportMetric(float64(len(longest))/float64(b.N), "checkpoints")
	b.ReportMetric(millis(within, 0.5), "within-p50-ms")
	b.ReportMetric(millis(within, 0.99), "within-p99-ms")
	b.ReportMetric(millis(within, 1), "within-max-ms")
	b.ReportMetric(millis(longest, 0.5), "longest-p50-ms")
	b.ReportMetric(millis(beside, 0.5), "beside-p50-ms")
	b.ReportMetric(millis(beside, 0.99), "beside-p99-ms")
	b.ReportMetric(millis(beside, 1), "beside-max-ms")
	b.ReportMetric(0, "ns/op")
}

// millis is a quantile in milliseconds.
func millis(d []time.Duration, part float64) float64 {
	slices.Sort(d)
	return float64(d[int(part*float64(len(d)-1))].Microseconds()) / 1000
}
