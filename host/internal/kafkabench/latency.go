package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	// perMilli is how many records are sent in a millisecond.
	perMilli = 20
	// windowMillis is such that the ends of windows come at all moments between two checkpoints, whatever their interval.
	windowMillis = 1130
	// warmUp is how long results do not count.
	warmUp = 8 * time.Second
	// lateMax is how long results are waited for at the end.
	lateMax = 10 * time.Second
)

// latency is a way to write results.
type latency struct{ name, delivery, interval string }

var latencies = []latency{
	{"exactly-once-1s", "exactly-once", "1s"},
	{"exactly-once-200ms", "exactly-once", "200ms"},
	{"at-least-once", "at-least-once", "1s"},
}

// latency sends 20,000 records a second, which are counted in windows by user, and tells how long after the send of the
// record that closes a window its results are read.
func (b *bench) latency(l latency, runs int) error {
	var p50s, p99s, maxes []float64
	for range runs {
		late, cores, err := b.late(l)
		if err != nil {
			return err
		}
		slices.Sort(late)
		at := func(part float64) float64 {
			return float64(late[int(part*float64(len(late)-1))].Microseconds()) / 1000
		}
		fmt.Printf("%s: %d rows, p50 %.1f ms, p99 %.1f ms, most %.1f ms; the job took %.2f of a core\n", l.name, len(late), at(0.5), at(0.99), at(1), cores)
		p50s, p99s, maxes = append(p50s, at(0.5)), append(p99s, at(0.99)), append(maxes, at(1))
	}
	fmt.Println("| benchmark | p50 ms | p99 ms | most ms |\n| --- | --- | --- | --- |")
	fmt.Printf("| kafka-latency-%s | %s | %s | %s |\n", l.name, median(p50s, "%.1f"), median(p99s, "%.1f"), median(maxes, "%.1f"))
	return nil
}

// arrival is when records were read.
type arrival struct {
	at      time.Time
	records []*kgo.Record
}

// late runs the job once, and returns how late each row was.
func (b *bench) late(l latency) (late []time.Duration, cores float64, err error) {
	in, err := b.topic("clicks")
	if err != nil {
		return nil, 0, err
	}
	out, err := b.topic("counts")
	if err != nil {
		return nil, 0, err
	}
	p, err := b.start(&job{in: in, out: out, window: fmt.Sprintf("%dms", windowMillis), top: "buffer-timeout: 1ms\n",
		source: "max-out-of-orderness: 0s, emit: on-event", interval: l.interval, delivery: l.delivery})
	if err != nil {
		return nil, 0, err
	}
	began := time.Now()
	ctx, cancel := context.WithCancel(b.ctx)
	arrivals := make(chan []arrival, 1)
	client, err := b.reader(out)
	if err == nil {
		go func() { arrivals <- read(ctx, client) }()
	}
	var sent *windows
	if err == nil {
		sent, err = b.feed(p, in)
	}
	cancel()
	err = errors.Join(err, p.stop())
	if client == nil || err != nil {
		return nil, 0, err
	}
	read := <-arrivals
	client.Close()
	late, err = sent.late(read)
	return late, p.cpu().Seconds() / time.Since(began).Seconds(), err
}

// read notes when records come, and leaves what they say for later: the broker needs the processor.
func read(ctx context.Context, client *kgo.Client) (all []arrival) {
	for {
		fetches := client.PollFetches(ctx)
		if ctx.Err() != nil {
			return all
		}
		all = append(all, arrival{time.Now(), fetches.Records()})
	}
}

// windows is what was sent of each window, by its end in ms.
type windows struct {
	first   int64 // the first that counts
	records map[int64]int64
	closed  map[int64]time.Time // when the record was sent that closes it: the first behind its end of the last partition
}

func endOf(at int64) int64 { return at - at%windowMillis + windowMillis }

// feed sends records as the clock goes. Their event time is when they are due.
func (b *bench) feed(p *process, in string) (*windows, error) {
	s, err := b.sender(in, kgo.ProducerLinger(0))
	if err != nil {
		return nil, err
	}
	at := time.Now().UnixMilli()
	w := &windows{first: endOf(at + warmUp.Milliseconds()), records: map[int64]int64{}, closed: map[int64]time.Time{}}
	until := w.first + int64(b.seconds)*1000
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for at < until {
		select {
		case <-tick.C:
		case err := <-p.ended:
			p.ended <- err // for stop
			return nil, p.failed()
		case <-b.ctx.Done():
			return nil, b.ctx.Err()
		}
		for now := time.Now().UnixMilli(); at < now; at++ {
			for i := range perMilli {
				if end := endOf(at) - windowMillis; i < partitions && end > endOf(at-1)-windowMillis {
					w.closed[end] = time.Now()
				}
				s.send(b.ctx, clickTime(at))
			}
			w.records[endOf(at)] += perMilli
		}
	}
	err = s.end(b.ctx)
	select { // the last results come
	case <-time.After(lateMax):
	case <-b.ctx.Done():
	}
	return w, err
}

// late is how late each row was of the windows that count. They must be all there are.
func (w *windows) late(arrivals []arrival) (late []time.Duration, err error) {
	counted := map[int64]int64{}
	for _, a := range arrivals {
		for _, record := range a.records {
			r, err := parseRow(record.Value)
			if err != nil {
				return nil, err
			}
			closed, ok := w.closed[r.End]
			if !ok || r.End < w.first {
				continue
			}
			counted[r.End] += r.N
			late = append(late, a.at.Sub(closed))
		}
	}
	for end := range w.closed {
		if end >= w.first && counted[end] != w.records[end] {
			return nil, fmt.Errorf("of the window to %d, %d records are counted of %d", end, counted[end], w.records[end])
		}
	}
	if len(late) == 0 {
		return nil, errors.New("no window was closed; -seconds is too small")
	}
	return late, nil
}
