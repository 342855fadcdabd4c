package main

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/kgo"
)

// users is how many keys there are.
const users = 10_000

// userOf draws a record's user: splitmix64.
func userOf(id int64) int64 {
	z := uint64(id) + 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return int64((z ^ z>>31) % users)
}

// appendClick is a record of 96 bytes, of which the job uses two fields.
func appendClick(b []byte, user int64, at clickTime, page int64) []byte {
	b = append(b, `{"user_id":"user-`...)
	b = digits(b, user, 5)
	b = append(b, `","ts":"`...)
	b = at.append(b)
	b = append(b, `","page":"/products/`...)
	b = digits(b, page%10_000_000, 7)
	return append(b, `","status":200}`...)
}

func digits(b []byte, v int64, n int) []byte {
	for i := n; i > 0; i-- {
		b = append(b, '0')
	}
	for i := len(b) - 1; v > 0; i-- {
		b[i] = byte('0' + v%10)
		v /= 10
	}
	return b
}

// sender writes records to the partitions of a topic in turn.
type sender struct {
	client *kgo.Client
	topic  string
	sent   int64
	failed atomic.Pointer[error] // the first record that could not be sent
}

func (b *bench) sender(topic string, options ...kgo.Opt) (*sender, error) {
	client, err := kgo.NewClient(append([]kgo.Opt{
		kgo.SeedBrokers(b.at), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchCompression(kgo.NoCompression()),
	}, options...)...)
	return &sender{client: client, topic: topic}, err
}

// send sends a record of the user that is drawn.
func (s *sender) send(ctx context.Context, at clickTime) {
	value := appendClick(make([]byte, 0, 100), userOf(s.sent), at, s.sent)
	s.client.Produce(ctx, &kgo.Record{Topic: s.topic, Partition: int32(s.sent % partitions), Value: value}, func(_ *kgo.Record, err error) {
		if err != nil {
			s.failed.CompareAndSwap(nil, &err)
		}
	})
	s.sent++
}

// end waits until all records have arrived.
func (s *sender) end(ctx context.Context) error {
	defer s.client.Close()
	err := s.client.Flush(ctx)
	if failed := s.failed.Load(); failed != nil {
		err = errors.Join(err, *failed)
	}
	return err
}
