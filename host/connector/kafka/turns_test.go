package kafka_test

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

// backlog is a partition with records of every so many ms, in batches of some KB.
type backlog struct {
	partition int32
	records   int
	step      int64
}

// fill writes the event time into each record, behind which bytes follow.
func (l backlog) fill(t *testing.T, b *broker, size int) {
	t.Helper()
	c := b.client(t, kgo.ProducerBatchMaxBytes(int32(max(16<<10, 2*size))), kgo.MaxBufferedRecords(1<<17))
	padding := strings.Repeat(" ", size)
	for i := range l.records {
		value := fmt.Sprint(int64(i) * l.step)
		c.Produce(context.Background(), &kgo.Record{Topic: "t", Partition: l.partition, Value: []byte((value + padding)[:size])}, func(_ *kgo.Record, err error) {
			if err != nil {
				t.Error(err)
			}
		})
	}
	must(t, c.Flush(context.Background()))
}

// paced is a reading that tells the source which event times it came to, some chunks
// later, as they are known to whoever decodes the records.
type paced struct {
	*reading
	late    int
	reports []report
	times   map[string]int64 // of splits that have begun and not ended
}

type report struct {
	split      string
	record, at int64
}

func (p *paced) once() error {
	if err := p.reading.once(); err != nil {
		return err
	}
	c := &p.chunk
	if n := len(c.Ends); n > 0 {
		text := p.values[c.Split][len(p.values[c.Split])-1]
		at, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
		must(p.t, err)
		p.times[c.Split] = at
		p.reports = append(p.reports, report{c.Split, c.Next.Record, at})
	}
	if c.Ended {
		delete(p.times, c.Split)
	}
	for ; len(p.reports) > p.late; p.reports = p.reports[1:] {
		p.source.Reached(p.reports[0].split, p.reports[0].record, p.reports[0].at)
	}
	return nil
}

// spread is how far the first split and the last are from each other, once all have come
// to a time.
func (p *paced) spread(from int64) int64 {
	var times []int64
	for _, at := range p.times {
		times = append(times, at)
	}
	if len(times) < 2 || slices.Min(times) < from {
		return 0
	}
	return slices.Max(times) - slices.Min(times)
}

// TestSplitsAdvanceEvenly reads three partitions whose records lie ten times as close in
// one as in another, some chunks before their times are known. A chunk of the thinnest is
// 105 s of 1000. At first they are read in turn, as nothing is known.
func TestSplitsAdvanceEvenly(t *testing.T) {
	for _, brokers := range []int{1, 3} {
		t.Run(fmt.Sprint(brokers, " brokers"), func(t *testing.T) {
			_, b := fakeOf(t, brokers, 3)
			partitions := map[string]backlog{"t/0": {0, 10_000, 100}, "t/1": {1, 40_000, 25}, "t/2": {2, 100_000, 10}}
			for _, l := range partitions {
				l.fill(t, b, 250)
			}
			p := &paced{reading: open(t, b.from("t")), late: 8, times: map[string]int64{}}
			spread, err := int64(0), error(nil)
			for ; err == nil; err = p.once() {
				spread = max(spread, p.spread(450_000))
			}
			if err != io.EOF {
				t.Fatal(err)
			}
			for split, l := range partitions {
				if got := len(p.values[split]); got != l.records {
					t.Errorf("%s: %d records, want %d", split, got, l.records)
				}
			}
			if t.Logf("at most %d ms lay between the splits", spread); spread > 150_000 {
				t.Errorf("%d ms lay between the splits, where a chunk is 105,000 at most", spread)
			}
		})
	}
}

// TestNoSplitWaitsForever: a partition whose records are all older than those of another
// comes first, but it leaves the other one turns.
func TestNoSplitWaitsForever(t *testing.T) {
	_, b := fakeOf(t, 1, 2)
	old, young := backlog{0, 100, 0}, backlog{1, 5, 1}
	old.fill(t, b, 260<<10)
	young.fill(t, b, 260<<10)
	p := &paced{reading: open(t, b.from("t")), times: map[string]int64{}}
	must(t, p.once())
	must(t, p.once()) // both are known
	p.source.Reached("t/0", 0, 1)
	p.source.Reached("t/1", 0, 1000)
	for len(p.values["t/1"]) == 0 {
		must(t, p.reading.once())
	}
	if n := len(p.values["t/0"]); n < 50 || n > 80 {
		t.Errorf("the other partition has its turn behind %d chunks", n)
	}
	for err := error(nil); err != io.EOF; err = p.reading.once() {
		must(t, err)
	}
	if n := len(p.values["t/0"]) + len(p.values["t/1"]); n != 105 {
		t.Errorf("%d records were read, want 105", n)
	}
}

// TestPausedSplitsWait: what was fetched of a split that is paused is kept, and is told of.
func TestPausedSplitsWait(t *testing.T) {
	_, b := fakeOf(t, 1, 2)
	backlog{0, 3000, 1}.fill(t, b, 100)
	backlog{1, 3000, 1}.fill(t, b, 100)
	r := open(t, b.live("t"))
	for len(r.values["t/0"]) == 0 || len(r.values["t/1"]) == 0 {
		must(t, r.once())
	}
	before := len(r.values["t/1"])
	if before == 3000 || !r.source.Waits("t/1") {
		t.Fatalf("%d records of t/1 were read, and it does not wait for its turn", before)
	}
	r.source.Pause([]string{"t/1"})
	for len(r.values["t/0"]) < 3000 {
		must(t, r.once())
	}
	if n := len(r.values["t/1"]); n != before || !r.source.Waits("t/1") {
		t.Errorf("%d records of t/1 were read while it was paused", n-before)
	}
	r.source.Pause(nil)
	r.until(6000)
	if r.source.Waits("t/0") || r.source.Waits("t/1") || r.source.Waits("u/0") {
		t.Error("a split waits of which all was read")
	}
}
