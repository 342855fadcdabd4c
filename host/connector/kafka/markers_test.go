package kafka_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"github.com/wasmstream/wasmstream/host/connector/kafka"
)

// oblivious is a coordinator that crashed between its note that a transaction is committed and the partitions' markers, and
// took these for deleted: it says that the transaction is complete, and its partitions have it open.
type oblivious struct {
	mu    sync.Mutex
	left  int                            // commits that are to come to nothing
	ended map[string]*kmsg.EndTxnRequest // by id: that came to nothing
}

// obliviousKafka has brokers of which the first commit comes to nothing. Epochs stay.
func obliviousKafka(t *testing.T) *broker {
	t.Helper()
	old := kversion.Stable()
	old.SetMaxKeyVersion(26, 4) // EndTxn
	c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.MaxVersions(old))
	must(t, err)
	t.Cleanup(c.Close)
	o := &oblivious{left: 1, ended: map[string]*kmsg.EndTxnRequest{}}
	c.Control(func(r kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		response := o.answer(r)
		return response, nil, response != nil
	})
	return &broker{address: c.ListenAddrs()[0]}
}

// answer is nil for what is to go its way.
func (o *oblivious) answer(r kmsg.Request) kmsg.Response {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch r := r.(type) {
	case *kmsg.EndTxnRequest:
		if o.ended[r.TransactionalID] == nil && o.left == 0 {
			return nil
		}
		o.left, o.ended[r.TransactionalID] = 0, r
		return r.ResponseKind()
	case *kmsg.AddPartitionsToTxnRequest: // a transaction begins
		delete(o.ended, r.TransactionalID)
	case *kmsg.DescribeTransactionsRequest:
		end := o.ended[r.TransactionalIDs[0]]
		if end == nil {
			return nil
		}
		s := kmsg.NewDescribeTransactionsResponseTransactionState()
		s.TransactionalID, s.ProducerID, s.ProducerEpoch, s.State = end.TransactionalID, end.ProducerID, end.ProducerEpoch, "CompleteCommit"
		response := r.ResponseKind().(*kmsg.DescribeTransactionsResponse)
		response.TransactionStates = append(response.TransactionStates, s)
		return response
	}
	return nil
}

// TestCommitsThatBrokersForget: what was committed is there in the end, and in its place, whatever becomes of the job.
func TestCommitsThatBrokersForget(t *testing.T) {
	for name, goOn := range map[string]func(t *testing.T, s *kafka.Sink, o kafka.SinkOptions, handover []byte) (more []string){
		"no crash": func(t *testing.T, s *kafka.Sink, o kafka.SinkOptions, _ []byte) []string {
			more := []string{"b", "c", "d", "e"}
			for _, v := range more {
				again(t, s, v)
			}
			return more
		},
		"crash before the note": func(t *testing.T, s *kafka.Sink, o kafka.SinkOptions, handover []byte) []string {
			must(t, s.Close())
			openSink(t, o, handover)
			return nil
		},
		"crash after the note": func(t *testing.T, s *kafka.Sink, o kafka.SinkOptions, handover []byte) []string {
			must(t, s.Close())
			must(t, newSink(t, o).Open(handover))
			return nil
		},
		"the job ends": func(t *testing.T, s *kafka.Sink, o kafka.SinkOptions, _ []byte) []string {
			must(t, s.Write(records([]string{"b"})))
			if _, err := s.Handover(true); err != nil {
				t.Fatal(err)
			}
			must(t, s.Commit())
			return []string{"b"}
		},
		"crashes behind others": func(t *testing.T, s *kafka.Sink, o kafka.SinkOptions, _ []byte) []string {
			again(t, s, "b")
			must(t, s.Write(records([]string{"given up"})))
			handOver(t, s)
			must(t, s.Close())
			for range 3 {
				s := newSink(t, o)
				must(t, s.Open(nil))
				must(t, s.Write(records([]string{"given up, too"})))
				handOver(t, s)
				must(t, s.Close())
			}
			must(t, newSink(t, o).Open(nil))
			return []string{"b"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := obliviousKafka(t)
			topic := b.topic(t, 1)
			o := b.exactly(topic)
			s := openSink(t, o, nil)
			must(t, s.Write(records([]string{"a"})))
			handover := handOver(t, s)
			must(t, s.Commit())
			more := goOn(t, s, o, handover)
			wantSettled(t, b, topic, append([]string{"a"}, more...)...)
		})
	}
}

// TestCommitsWhenAllBrokersCrash has the only broker of a topic crash while many transactions are committed, and then their
// jobs. Which of them the broker forgets is chance; mostly some are.
func TestCommitsWhenAllBrokersCrash(t *testing.T) {
	eachKafka(t, func(t *testing.T, b *broker) {
		b = restartable(t, b)
		topic := b.topic(t, 1)
		values := numbered("v", 24)
		var sinks []*kafka.Sink
		var handovers [][]byte
		var all []kafka.SinkOptions
		for i, v := range values {
			o := b.exactly(topic)
			o.TransactionalIDPrefix = fmt.Sprintf("%s-%d", topic, i)
			s := openSink(t, o, nil)
			must(t, s.Write(records([]string{v})))
			all, sinks, handovers = append(all, o), append(sinks, s), append(handovers, handOver(t, s))
		}
		committed := make(chan error, len(sinks))
		for _, s := range sinks {
			go func() { committed <- s.Commit() }()
		}
		must(t, <-committed)
		b.kill(t)
		for _, s := range sinks {
			must(t, s.Close())
		}
		b.restart(t)
		for i, o := range all {
			s := openSink(t, o, handovers[i])
			for range 3 { // ids, of which one has the transaction
				must(t, s.Write(records([]string{"given up"})))
				handOver(t, s)
			}
			must(t, s.Close())
			must(t, newSink(t, o).Open(nil))
		}
		b.settle(t, topic)
		got := b.committed(t, topic)[topic+"/0"]
		slices.Sort(got)
		slices.Sort(values)
		if d := cmp.Diff(values, got); d != "" {
			t.Error("committed (-want +got)\n" + d)
		}
	})
}
