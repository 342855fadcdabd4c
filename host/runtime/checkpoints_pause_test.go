package runtime_test

import (
	"io"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/wasmstream/wasmstream/host/connector"
	"github.com/wasmstream/wasmstream/host/format"
	"github.com/wasmstream/wasmstream/host/job"
	"github.com/wasmstream/wasmstream/host/runtime"
	"github.com/wasmstream/wasmstream/host/stream"
)

// saleMilli is how many records come in a millisecond: some fifth of what one core can do.
const saleMilli = 200

// pacedSales delivers a sale of each key as fast as it can, and then more as the clock
// goes, some each millisecond.
type pacedSales struct {
	saleSource
	ticks *time.Ticker
	last  time.Time // the millisecond up to which they were delivered
}

func (s *pacedSales) Close() error {
	if s.ticks != nil {
		s.ticks.Stop()
	}
	return nil
}

func (s *pacedSales) Read(c *connector.Chunk) error {
	if s.id < keyCount {
		for to := s.id + chunkEvents; s.id < to; s.id++ {
			s.put(c, event{key: s.id, price: 1})
		}
		return nil
	}
	if s.ticks == nil {
		s.ticks, s.last = time.NewTicker(time.Millisecond), time.Now()
	}
	if s.id >= s.end {
		return io.EOF
	}
	for len(c.Ends) == 0 {
		for now := <-s.ticks.C; s.last.Before(now); s.last = s.last.Add(time.Millisecond) {
			for range saleMilli {
				s.put(c, saleAt(s.id))
				s.id++
			}
		}
	}
	return nil
}

// batchTimes is an encoder that writes nothing and notes when the results of a
// millisecond come.
type batchTimes struct {
	rows int
	at   []moment
}

// moment is a time, and how much processor time the process had had by then.
type moment struct {
	time.Time
	cpu time.Duration
}

// gap is the time between two moments. Of the wall's clock it has what others on the
// machine took, too; of the processor's, only what the process did itself.
type gap struct{ wall, cpu time.Duration }

func (e *batchTimes) Append(dst []byte, _ stream.Row) []byte {
	if e.rows++; e.rows > keyCount && e.rows%saleMilli == 0 {
		e.at = append(e.at, moment{time.Now(), cpuTime()})
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

// atOnce is what results are behind those before at least, if they were not handed on in
// one go.
const atOnce = 100 * time.Microsecond

// pauses are the times between results that did not come in one go, apart by
// whether a checkpoint was under way in between, and the longest of each checkpoint.
func pauses(at []moment, spans []span) (within, beside []gap, longest []time.Duration) {
	longest = make([]time.Duration, len(spans))
	for i, s := 1, 0; i < len(at); i++ {
		for s < len(spans) && !spans[s].to.After(at[i-1].Time) {
			s++
		}
		g := gap{at[i].Sub(at[i-1].Time), at[i].cpu - at[i-1].cpu}
		if g.wall < atOnce {
			continue
		}
		if s == len(spans) || !spans[s].from.Before(at[i].Time) {
			beside = append(beside, g)
			continue
		}
		within = append(within, g)
		longest[s] = max(longest[s], g.wall)
	}
	return within, beside, longest
}

// split is the times on either clock.
func split(gaps []gap) (wall, cpu []time.Duration) {
	for _, g := range gaps {
		wall, cpu = append(wall, g.wall), append(cpu, g.cpu)
	}
	return wall, cpu
}

// cpuTime is the processor time of the process so far.
func cpuTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // it fails for no valid argument
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkCheckpointsPause runs the sums of a million keys, each record a row, with 200
// records a millisecond and a checkpoint every second. It tells the time from one
// millisecond's results to the next, which would be 1 ms if nothing came between, while
// a checkpoint is under way, and while none is.
func BenchmarkCheckpointsPause(b *testing.B) {
	millis := int64(30_000)
	if testing.Short() {
		millis = 6_000
	}
	end := keyCount + millis*saleMilli
	var within, beside []gap
	var longest []time.Duration
	for b.Loop() {
		times := &batchTimes{at: make([]moment, 0, millis+1)}
		c := eventConfig(b, &pacedSales{saleSource: saleSource{eventSource{end: end}}}, func(*job.Sink) (format.Encoder, error) { return times, nil })
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
	b.ReportMetric(quantile(longest, 0.5), "longest-p50-ms")
	for name, gaps := range map[string][]gap{"within": within, "beside": beside} {
		wall, cpu := split(gaps)
		b.ReportMetric(quantile(wall, 0.5), name+"-p50-ms")
		b.ReportMetric(quantile(wall, 0.99), name+"-p99-ms")
		b.ReportMetric(quantile(wall, 1), name+"-max-ms")
		b.ReportMetric(quantile(cpu, 0.5), name+"-p50-cpu-ms")
		b.ReportMetric(quantile(cpu, 0.99), name+"-p99-cpu-ms")
		b.ReportMetric(quantile(cpu, 1), name+"-max-cpu-ms")
	}
	b.ReportMetric(0, "ns/op")
}

// quantile is one in milliseconds.
func quantile(d []time.Duration, part float64) float64 {
	slices.Sort(d)
	return float64(d[int(part*float64(len(d)-1))].Microseconds()) / 1000
}
