package kafka_test

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"github.com/wasmstream/wasmstream/host/connector/kafka"
	"github.com/wasmstream/wasmstream/host/internal/servers"
)

// recalling is a coordinator that tells that a transaction was committed, until its id is taken or a transaction begins, as
// Kafka does; the fake one says of all that have ended that they are empty.
type recalling struct {
	mu    sync.Mutex
	ended map[string]*kmsg.EndTxnRequest
}

func recallingKafka(t *testing.T) *broker {
	t.Helper()
	old := kversion.Stable()
	old.SetMaxKeyVersion(26, 4) // EndTxn: an epoch stays
	old.SetMaxKeyVersion(24, 3) // AddPartitionsToTxn: a transaction begins with it
	c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.MaxVersions(old))
	must(t, err)
	t.Cleanup(c.Close)
	k := &recalling{ended: map[string]*kmsg.EndTxnRequest{}}
	c.Control(func(r kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		response := k.answer(r)
		return response, nil, response != nil
	})
	return &broker{address: c.ListenAddrs()[0]}
}

// answer is nil for what is to go its way.
func (k *recalling) answer(r kmsg.Request) kmsg.Response {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch r := r.(type) {
	case *kmsg.EndTxnRequest:
		if r.Commit {
			k.ended[r.TransactionalID] = r // the tests here commit nothing that is refused
		}
	case *kmsg.InitProducerIDRequest:
		if r.TransactionalID != nil {
			delete(k.ended, *r.TransactionalID)
		}
	case *kmsg.AddPartitionsToTxnRequest:
		delete(k.ended, r.TransactionalID)
	case *kmsg.DescribeTransactionsRequest:
		end := k.ended[r.TransactionalIDs[0]]
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

// anyKafka runs a test with a broker in the process, too.
func anyKafka(t *testing.T, test func(t *testing.T, b *broker)) {
	t.Helper()
	t.Run("fake", func(t *testing.T) { test(t, recallingKafka(t)) })
	eachKafka(t, test)
}

// idle takes a checkpoint that hands nothing over.
func idle(t *testing.T, s *kafka.Sink, topic string) []byte {
	t.Helper()
	h := handOver(t, s)
	if ids := idsOf(h, topic); len(ids) > 0 {
		t.Fatalf("%q are handed over", ids)
	}
	must(t, s.Commit())
	return h
}

// TestAnIdleCheckpointThatWasOvertaken: an old copy is noticed by the first result behind it, also if it hands over nothing.
func TestAnIdleCheckpointThatWasOvertaken(t *testing.T) {
	anyKafka(t, func(t *testing.T, b *broker) {
		for _, before := range []int{0, 1, 2} { // ids that were committed with
			topic := b.topic(t, 1)
			s := openSink(t, b.exactly(topic), nil)
			want := numbered("v", before)
			for _, v := range want {
				again(t, s, v)
			}
			stale := idle(t, s, topic)
			must(t, newSink(t, b.exactly(topic)).Recover(stale)) // which commits nothing
			again(t, s, "later")
			must(t, s.Close())
			wantOvertaken(t, topic, newSink(t, b.exactly(topic)).Open(stale))
			meant := b.exactly(topic)
			meant.GoesBack = true
			s = openSink(t, meant, stale)
			again(t, s, "again")
			wantSettled(t, b, topic, append(want, "later", "again")...)
		}
	})
}

// TestAllIDsOfAnIdleCheckpointWereUsed: then old transactions take another run to see.
func TestAllIDsOfAnIdleCheckpointWereUsed(t *testing.T) {
	eachKafka(t, func(t *testing.T, b *broker) {
		topic := b.topic(t, 1)
		s := openSink(t, b.exactly(topic), nil)
		for _, v := range numbered("v", 4) {
			again(t, s, v)
		}
		stale := idle(t, s, topic)
		again(t, s, "later")
		if b.release == servers.Kafka4 {
			wantOvertaken(t, topic, newSink(t, b.exactly(topic)).Open(stale))
		}
		newest := idle(t, s, topic)
		must(t, s.Close())
		s = openSink(t, b.exactly(topic), newest)
		again(t, s, "later still")
		wantOvertaken(t, topic, newSink(t, b.exactly(topic)).Open(stale))
		wantOvertaken(t, topic, newSink(t, b.exactly(topic)).Open(newest))
	})
}

// TestACopyTookOver: of two copies of a folder one goes on, and puts the other out. That one is not to come back from where
// it stood.
func TestACopyTookOver(t *testing.T) {
	anyKafka(t, func(t *testing.T, b *broker) {
		topic := b.topic(t, 1)
		first := openSink(t, b.exactly(topic), nil)
		again(t, first, "a")
		both := idle(t, first, topic)
		var second *kafka.Sink
		for range 3 { // they put each other out, and commit nothing
			must(t, first.Write(records([]string{"given up"})))
			handOver(t, first) // for a checkpoint that comes to nothing
			second = openSink(t, b.exactly(topic), both)
			must(t, second.Write(records([]string{"given up"})))
			must(t, first.Close())
			first = openSink(t, b.exactly(topic), both)
			must(t, second.Close())
		}
		second = openSink(t, b.exactly(topic), both)
		again(t, second, "b")
		must(t, first.Close())
		wantOvertaken(t, topic, newSink(t, b.exactly(topic)).Open(both))
		wantSettled(t, b, topic, "a", "b")
	})
}

// TestOldHandovers: those without standings, of earlier versions of the sink, are committed and tell as much as they did.
func TestOldHandovers(t *testing.T) {
	b := recallingKafka(t)
	topic := b.topic(t, 1)
	s := openSink(t, b.exactly(topic), nil)
	again(t, s, "a")
	must(t, s.Write(records([]string{"b"})))
	now := string(handOver(t, s))
	head := "kafka-transactions 1\n"
	line := regexp.MustCompile(`(?m)^\d+ \d+ \d+ 1 .*/0/1\n`).FindString(now)
	if line == "" || !strings.HasPrefix(now, "kafka-transactions 2\n") {
		t.Fatalf("%q", now)
	}
	must(t, s.Close())
	s = openSink(t, b.exactly(topic), []byte(head+line))
	again(t, s, "c")
	must(t, s.Close())
	s = openSink(t, b.exactly(topic), nil)
	wantSettled(t, b, topic, "a", "b", "c")
}

// TestTwoCopiesThatBegin: of two that begin at the same time, each without a checkpoint, the one that was put out is not to
// begin again, nor with a prefix that another job has.
func TestTwoCopiesThatBegin(t *testing.T) {
	anyKafka(t, func(t *testing.T, b *broker) {
		topic := b.topic(t, 1)
		o := b.exactly(topic)
		o.Begins = true
		first, second := openSink(t, o, nil), openSink(t, o, nil)
		for range 3 { // runs that come to no checkpoint, over and over
			must(t, second.Write(records([]string{"given up"})))
			handOver(t, second)
			must(t, second.Write(records([]string{"given up"})))
			must(t, second.Close())
			second = openSink(t, o, nil)
		}
		err := first.Write(records([]string{"given up"}))
		if err == nil {
			_, err = first.Handover(false)
		}
		var fenced *kafka.FencedError
		if !errors.As(err, &fenced) {
			t.Errorf("the first copy goes on: %v", err)
		}
		must(t, first.Close())
		again(t, second, "a")
		for range 2 {
			var used *kafka.UsedError
			if err := newSink(t, o).Open(nil); !errors.As(err, &used) || used.Topic != topic || used.Prefix != topic || !slices.Contains([]string{topic + "/0/0", topic + "/0/1", topic + "/0/2"}, used.ID) {
				t.Errorf("the first copy begins again: %v", err)
			}
		}
		again(t, second, "b")
		wantSettled(t, b, topic, "a", "b")
	})
}
