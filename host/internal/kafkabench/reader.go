package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// row is a result.
type row struct {
	User string `json:"user_id"`
	N    int64
	End  int64 `json:"window_end"` // ms
}

func parseRow(value []byte) (r row, err error) {
	if err = json.Unmarshal(value, &r); err != nil {
		return r, fmt.Errorf("%q: %w", value, err)
	}
	return r, nil
}

// reader is a client that reads what is committed, from the beginning.
func (b *bench) reader(topic string, options ...kgo.Opt) (*kgo.Client, error) {
	return kgo.NewClient(append([]kgo.Opt{
		kgo.SeedBrokers(b.at), kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.ConsumeTopics(topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
	}, options...)...)
}

// readAll reads a topic that nobody writes to any more.
func (b *bench) readAll(topic string) (rows []row, err error) {
	ends, err := b.admin.ListCommittedOffsets(b.ctx, topic)
	if err != nil {
		return nil, err
	}
	left := map[int32]int64{}
	for p, o := range ends[topic] {
		if o.Offset > 0 {
			left[p] = o.Offset
		}
	}
	client, err := b.reader(topic, kgo.KeepControlRecords())
	if err != nil {
		return nil, err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(b.ctx, time.Minute)
	defer cancel()
	for len(left) > 0 {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return nil, err
		}
		for r := range fetches.RecordsAll() {
			if r.Offset+1 >= left[r.Partition] {
				delete(left, r.Partition)
			}
			if r.Attrs.IsControl() {
				continue
			}
			parsed, err := parseRow(r.Value)
			if err != nil {
				return nil, err
			}
			rows = append(rows, parsed)
		}
	}
	return rows, nil
}
