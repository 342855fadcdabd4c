package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	// perMinute is how many records a minute of event time has.
	perMinute = 1_000_000
	// beginning is when event time begins, in ms: a whole minute.
	beginning = 1_767_225_600_000
	// lookEvery is how often the job's progress is looked at.
	lookEvery = 50 * time.Millisecond
)

// rate is what one run comes to.
type rate struct{ perSecond, cpuPerMillion, peakMB float64 }

// throughput counts clicks a minute by user, over a topic that is full before the job starts.
func (b *bench) throughput(runs int) error {
	in, err := b.topic("clicks")
	if err != nil {
		return err
	}
	began := time.Now()
	s, err := b.sender(in, kgo.MaxBufferedRecords(1<<16))
	if err != nil {
		return err
	}
	for s.sent < b.records {
		s.send(b.ctx, clickTime(beginning+s.sent*60_000/perMinute))
	}
	if err := s.end(b.ctx); err != nil {
		return err
	}
	fmt.Printf("%d records were written in %s\n", b.records, time.Since(began).Round(time.Second))
	var rates, cpus, peaks []float64
	for range runs {
		r, err := b.count(in)
		if err != nil {
			return err
		}
		fmt.Printf("throughput: %.0f K records/s, %.2f CPU s per million, %.0f MB at most\n", r.perSecond/1000, r.cpuPerMillion, r.peakMB)
		rates, cpus, peaks = append(rates, r.perSecond/1000), append(cpus, r.cpuPerMillion), append(peaks, r.peakMB)
	}
	fmt.Println("| benchmark | K records/s | CPU s/M records | peak MB |\n| --- | --- | --- | --- |")
	fmt.Printf("| kafka-throughput | %s | %s | %s |\n", median(rates, "%.0f"), median(cpus, "%.2f"), median(peaks, "%.0f"))
	return nil
}

// count runs the job once.
func (b *bench) count(in string) (r rate, err error) {
	out, err := b.topic("counts")
	if err != nil {
		return r, err
	}
	p, err := b.start(&job{in: in, out: out, bounded: true, window: "1m", source: "max-out-of-orderness: 5s", interval: "1s", delivery: "exactly-once"})
	if err != nil {
		return r, err
	}
	if r.perSecond, err = b.steady(p); err != nil {
		return r, errors.Join(err, p.stop())
	}
	r.cpuPerMillion, r.peakMB = p.cpu().Seconds()/float64(b.records)*1e6, p.peakMB
	var result struct{ Records, Late int64 }
	if err := json.Unmarshal(p.out.Bytes(), &result); err != nil {
		return r, err
	}
	if result.Records != b.records || result.Late != 0 {
		return r, fmt.Errorf("the job has read %d records, %d of them late, of %d", result.Records, result.Late, b.records)
	}
	return r, b.checkCounts(out)
}

// steady is how many records a second the job reads between a sixth of them and five sixths, by what it commits to its
// group when a checkpoint is done.
func (b *bench) steady(p *process) (perSecond float64, err error) {
	var from, to struct {
		at      time.Time
		records int64
	}
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		select {
		case err := <-p.ended:
			if err != nil {
				return 0, p.failed()
			}
			if to.records <= from.records {
				return 0, errors.New("the job ended before its pace could be seen; -records is too small")
			}
			return float64(to.records-from.records) / to.at.Sub(from.at).Seconds(), nil
		case <-b.ctx.Done():
			return 0, b.ctx.Err()
		case <-look.C:
		}
		p.look()
		offsets, err := b.admin.FetchOffsets(b.ctx, p.name)
		if err != nil {
			continue // the group is not there yet
		}
		records := int64(0)
		for _, o := range offsets.Offsets().Sorted() {
			records += o.At
		}
		switch {
		case records < b.records/6 || records == to.records || records > b.records*5/6:
		case from.records == 0:
			from.at, from.records = time.Now(), records
		default:
			to.at, to.records = time.Now(), records
		}
	}
}

// checkCounts holds the counts against the records: each user of a minute once, and all records counted.
func (b *bench) checkCounts(out string) error {
	rows, err := b.readAll(out)
	if err != nil {
		return err
	}
	type user struct {
		end int64
		id  string
	}
	seen, total := map[user]bool{}, int64(0)
	for _, r := range rows {
		if at := (user{r.End, r.User}); !seen[at] {
			seen[at] = true
		} else {
			return fmt.Errorf("user %s has two counts for the minute to %d", r.User, r.End)
		}
		total += r.N
	}
	if total != b.records {
		return fmt.Errorf("%d records are counted of %d", total, b.records)
	}
	return nil
}
