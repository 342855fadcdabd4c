package kill

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// readTopic reads a topic to its end, as one does who reads committed records only, and hands each record over. While
// transactions are open it may wait in vain, for a record before their beginning that was aborted.
func readTopic(ctx context.Context, bootstrap, topic string, take func(*kgo.Record) error) error {
	ends, err := topicEnds(ctx, bootstrap, topic)
	if err != nil {
		return err
	}
	upTo := map[int32]int64{}
	for p, e := range ends {
		upTo[p] = e.committed
	}
	return readUpTo(ctx, bootstrap, topic, kgo.ReadCommitted(), upTo, func(r *kgo.Record) error {
		if r.Attrs.IsControl() {
			return nil
		}
		return take(r)
	})
}

// readUpTo reads a topic's partitions from their beginning up to an offset, and hands over each record, the ends of
// transactions among them: the last in a partition may be of no other kind.
func readUpTo(ctx context.Context, bootstrap, topic string, level kgo.IsolationLevel, upTo map[int32]int64, take func(*kgo.Record) error) error {
	from, left := map[int32]kgo.Offset{}, map[int32]int64{} // of what is left, where it ends
	for p, end := range upTo {
		if end > 0 {
			from[p], left[p] = kgo.NewOffset().At(0), end
		}
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(bootstrap), kgo.FetchIsolationLevel(level),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: from}), kgo.KeepControlRecords())
	if err != nil {
		return err
	}
	defer client.Close()
	for len(left) > 0 {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return fmt.Errorf("%s has not been read to its end, %v: %w", topic, left, err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			if r.Offset+1 >= left[r.Partition] {
				delete(left, r.Partition)
			}
			err = errors.Join(err, take(r))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// ends is where a partition ends, and where readers of committed records must stop: before the first transaction that is
// open. The two are the same when none is.
type ends struct{ end, committed int64 }

func topicEnds(ctx context.Context, bootstrap, topic string) (map[int32]ends, error) {
	client, err := kgo.NewClient(kgo.SeedBrokers(bootstrap))
	if err != nil {
		return nil, err
	}
	defer client.Close()
	admin := kadm.NewClient(client)
	end, err := admin.ListEndOffsets(ctx, topic)
	if err = errors.Join(err, end.Error()); err != nil {
		return nil, err
	}
	committed, err := admin.ListCommittedOffsets(ctx, topic)
	if err = errors.Join(err, committed.Error()); err != nil {
		return nil, err
	}
	found := map[int32]ends{}
	for p, o := range end[topic] {
		found[p] = ends{o.Offset, committed[topic][p].Offset}
	}
	return found, nil
}

// readInput reads the records that a topic has, by partition. What is expected follows from them and not from what was
// sent, so that a fault of the feeder is not taken for one of the job; that they are as many is checked all the same, unless sent is negative.
func readInput(ctx context.Context, bootstrap, topic string, partitions int, sent int64) ([][]Record, error) {
	records, n := make([][]Record, partitions), int64(0)
	err := readTopic(ctx, bootstrap, topic, func(r *kgo.Record) error {
		var in struct {
			K     string
			T     int64
			Delay int32
		}
		n++
		records[r.Partition] = append(records[r.Partition], Record{})
		if err := json.Unmarshal(r.Value, &in); err != nil {
			return err
		}
		records[r.Partition][len(records[r.Partition])-1] = Record{in.K, in.T, in.Delay}
		return nil
	})
	if err == nil && n != sent && sent >= 0 {
		err = fmt.Errorf("%d records were sent to %s, and it has %d", sent, topic, n)
	}
	return records, err
}

// readOutput reads the results that a topic has.
func readOutput(ctx context.Context, bootstrap, topic string) ([]Seen, error) {
	var seen []Seen
	err := readTopic(ctx, bootstrap, topic, func(r *kgo.Record) error {
		s := Seen{Partition: r.Partition, Offset: r.Offset}
		seen = append(seen, s)
		return parseResult(r.Value, &seen[len(seen)-1].Result)
	})
	return seen, err
}

// stableMax is how long a transaction that is decided may stay open for readers: less than brokers take to give up one
// that nobody decides.
const stableMax = 2 * time.Minute

// awaitSettled waits until a topic's last stable offset is its end.
func awaitSettled(ctx context.Context, bootstrap, topic string) error {
	ctx, cancel := context.WithTimeout(ctx, stableMax)
	defer cancel()
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()
	for {
		found, err := topicEnds(ctx, bootstrap, topic)
		if err == nil && settled(found) {
			return nil
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return fmt.Errorf("%s: a transaction is open, the last stable offset is not the end: %+v, %v", topic, found, err)
		}
	}
}

// settled tells whether nothing is hidden behind an open transaction.
func settled(found map[int32]ends) bool {
	for _, e := range found {
		if e.end != e.committed {
			return false
		}
	}
	return true
}
