package kill

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// feeder sends input to a topic at a steady pace until it is told to stop. It outlives its broker's crashes: records that
// were not acknowledged are sent again, and the broker drops what it has.
type feeder struct {
	client *kgo.Client
	input  *Input
	stop   chan struct{}
	ended  chan struct{}
	failed atomic.Pointer[error] // the first record that could not be sent
	sent   int64
}

// feedEvery is the pause between two sends.
const feedEvery = 20 * time.Millisecond

func startFeeder(bootstrap, topic string, in *Input, perSecond int) (*feeder, error) {
	client, err := kgo.NewClient(kgo.SeedBrokers(bootstrap), kgo.DefaultProduceTopic(topic),
		kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchCompression(kgo.NoCompression()))
	if err != nil {
		return nil, err
	}
	f := &feeder{client: client, input: in, stop: make(chan struct{}), ended: make(chan struct{})}
	go f.feed(perSecond * int(feedEvery/time.Millisecond) / 1000)
	return f, nil
}

func (f *feeder) feed(atOnce int) {
	defer close(f.ended)
	tick := time.NewTicker(feedEvery)
	defer tick.Stop()
	for {
		select {
		case <-f.stop:
			for p, r := range f.input.Last() {
				f.send(p, r)
			}
			return
		case <-tick.C:
			for range atOnce {
				f.send(f.input.Next())
			}
		}
	}
}

func (f *feeder) send(partition int, r Record) {
	f.sent++
	f.client.Produce(context.Background(), &kgo.Record{Partition: int32(partition), Value: r.AppendJSON(nil)},
		func(_ *kgo.Record, err error) {
			if err != nil {
				f.failed.CompareAndSwap(nil, &err)
			}
		})
}

// end sends the last records, waits until all have arrived, and returns how many those are.
func (f *feeder) end(ctx context.Context) (int64, error) {
	close(f.stop)
	<-f.ended
	err := f.client.Flush(ctx)
	f.client.Close()
	if failed := f.failed.Load(); failed != nil {
		err = errors.Join(err, *failed)
	}
	if err != nil {
		return 0, fmt.Errorf("the input cannot be sent: %w", err)
	}
	return f.sent, nil
}
