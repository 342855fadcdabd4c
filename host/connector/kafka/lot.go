package kafka

import (
	"slices"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/wasmstream/wasmstream/host/connector"
)

// lot is what one Write brought, until all of it has been sent. Lots are used again:
// a record costs no allocation of ours.
type lot struct {
	lots    *lots
	data    []byte // values, keys and headers
	records []kgo.Record
	headers []kgo.RecordHeader
	left    atomic.Int64 // records that are not done
	promise func(*kgo.Record, error)
}

// lots are the lots that are not in use. What they may hold altogether is bounded by
// what the client buffers.
type lots struct {
	free   chan *lot
	failed func(*kgo.Record, error)
}

const lotsKept = 8

func newLots(failed func(*kgo.Record, error)) *lots {
	return &lots{free: make(chan *lot, lotsKept), failed: failed}
}

func (l *lots) take() *lot {
	select {
	case t := <-l.free:
		return t
	default:
	}
	t := &lot{lots: l}
	t.promise = t.done
	return t
}

// done is called by the client when the fate of a record is known.
func (t *lot) done(r *kgo.Record, err error) {
	if err != nil {
		t.lots.failed(r, err)
	}
	if t.left.Add(-1) > 0 {
		return
	}
	select {
	case t.lots.free <- t:
	default:
	}
}

// form is what is the same for all records of a sink.
type form struct {
	topic   string
	times   bool
	static  []kgo.RecordHeader
	columns []string
}

// fill copies the records.
func (t *lot) fill(r *connector.Records, f *form) {
	n := r.Len()
	t.data = append(append(append(slices.Grow(t.data[:0], len(r.Data)+len(r.Keys)+len(r.Headers)), r.Data...), r.Keys...), r.Headers...)
	values := t.data[:len(r.Data):len(r.Data)]
	keys := t.data[len(r.Data):][:len(r.Keys):len(r.Keys)]
	headers := t.data[len(r.Data)+len(r.Keys):]
	if cap(t.records) < n {
		t.records = make([]kgo.Record, n)
	}
	t.records = t.records[:n]
	t.left.Store(int64(n))
	t.fillHeaders(r, f, headers)
	var value, key uint32
	for i := range t.records {
		k := &t.records[i]
		*k = kgo.Record{Topic: f.topic, Partition: -1}
		if len(r.Deleted) == 0 || !r.Deleted[i] {
			k.Value = values[value : r.Ends[i]-1]
		}
		value = r.Ends[i]
		if len(r.KeyEnds) > 0 {
			if len(r.NoKey) == 0 || !r.NoKey[i] {
				k.Key = keys[key:r.KeyEnds[i]]
			}
			key = r.KeyEnds[i]
		}
		if f.times && len(r.Times) > 0 && r.Times[i] >= 0 {
			k.Timestamp = time.UnixMilli(r.Times[i])
		}
		if len(r.Partitions) > 0 {
			k.Partition = r.Partitions[i]
		}
		k.Headers = t.headersOf(i, f)
	}
}

// fillHeaders makes the headers of all records, if they differ.
func (t *lot) fillHeaders(r *connector.Records, f *form, values []byte) {
	t.headers = t.headers[:0]
	if len(f.columns) == 0 {
		return
	}
	from := uint32(0)
	for i := range r.Len() {
		t.headers = append(t.headers, f.static...)
		for j, name := range f.columns {
			to := r.HeaderEnds[i*len(f.columns)+j]
			t.headers = append(t.headers, kgo.RecordHeader{Key: name, Value: values[from:to]})
			from = to
		}
	}
}

func (t *lot) headersOf(i int, f *form) []kgo.RecordHeader {
	if len(f.columns) == 0 {
		return f.static
	}
	n := len(f.static) + len(f.columns)
	return t.headers[i*n : (i+1)*n : (i+1)*n]
}

// partitioner takes the partition that a record names, and else chooses as Kafka's
// own producer does: by the key's murmur2, and without a key one partition for a
// batch.
type partitioner struct{ rest kgo.Partitioner }

// ForTopic implements kgo.Partitioner.
func (p partitioner) ForTopic(topic string) kgo.TopicPartitioner {
	return &topicPartitioner{p.rest.ForTopic(topic)}
}

type topicPartitioner struct{ rest kgo.TopicPartitioner }

// RequiresConsistency implements kgo.TopicPartitioner.
func (p *topicPartitioner) RequiresConsistency(r *kgo.Record) bool {
	return r.Partition >= 0 || p.rest.RequiresConsistency(r)
}

// Partition implements kgo.TopicPartitioner.
func (p *topicPartitioner) Partition(r *kgo.Record, n int) int {
	if r.Partition >= 0 {
		return int(r.Partition)
	}
	return p.rest.Partition(r, n)
}

// OnNewBatch implements kgo.TopicPartitionerOnNewBatch.
func (p *topicPartitioner) OnNewBatch() {
	if b, ok := p.rest.(kgo.TopicPartitionerOnNewBatch); ok {
		b.OnNewBatch()
	}
}
