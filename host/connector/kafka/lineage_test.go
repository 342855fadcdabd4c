package kafka_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/wasmstream/wasmstream/host/connector/kafka"
)

// keepingKafka is a broker in the process that keeps the timeout that an id is taken with, as Kafka does. The fake one keeps
// the first.
func keepingKafka(t *testing.T) *broker {
	t.Helper()
	return refusingKafka(t, &atomic.Bool{})
}

// refusingKafka keeps timeouts as Kafka does, and while it refuses does not let commits be counted.
func refusingKafka(t *testing.T, refuses *atomic.Bool) *broker {
	t.Helper()
	c, err := kfake.NewCluster(kfake.NumBrokers(1))
	must(t, err)
	t.Cleanup(c.Close)
	var mu sync.Mutex
	timeouts := map[string]int32{} // by id
	c.ControlKey(int16(kmsg.InitProducerID), func(r kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		mu.Lock()
		defer mu.Unlock()
		if id := r.(*kmsg.InitProducerIDRequest).TransactionalID; id != nil {
			if refuses.Load() && strings.Contains(*id, "/commits/") {
				return refusal(r, kerr.TransactionalIDAuthorizationFailed.Code), nil, true
			}
			timeouts[*id] = r.(*kmsg.InitProducerIDRequest).TransactionTimeoutMillis
		}
		return nil, nil, false
	})
	c.ControlKey(int16(kmsg.DescribeTransactions), func(r kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		mu.Lock()
		defer mu.Unlock()
		s := kmsg.NewDescribeTransactionsResponseTransactionState()
		s.TransactionalID, s.State = r.(*kmsg.DescribeTransactionsRequest).TransactionalIDs[0], "Empty"
		if refuses.Load() {
			s.ErrorCode = kerr.TransactionalIDAuthorizationFailed.Code
		}
		if s.TimeoutMillis = timeouts[s.TransactionalID]; !strings.Contains(s.TransactionalID, "/commits/") || s.TimeoutMillis == 0 {
			return nil, nil, false
		}
		response := r.ResponseKind().(*kmsg.DescribeTransactionsResponse)
		response.TransactionStates = append(response.TransactionStates, s)
		return response, nil, true
	})
	return &broker{address: c.ListenAddrs()[0]}
}

// anyKafka runs a test with a broker in the process, too.
func anyKafka(t *testing.T, test func(t *testing.T, b *broker)) {
	t.Helper()
	t.Run("fake", func(t *testing.T) { test(t, keepingKafka(t)) })
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

// restarted is a sink that ends and goes on from a hand-over, some times.
func restarted(t *testing.T, s *kafka.Sink, o kafka.SinkOptions, handover []byte, times int) *kafka.Sink {
	t.Helper()
	for range times {
		must(t, s.Close())
		s = openSink(t, o, handover)
	}
	return s
}

// TestAnIdleCheckpointThatWasOvertaken: an old copy is noticed by the first result behind it, also if it hands over nothing,
// and if runs since have taken all ids again and written nothing.
func TestAnIdleCheckpointThatWasOvertaken(t *testing.T) {
	anyKafka(t, func(t *testing.T, b *broker) {
		for _, before := range []int{0, 1, 4} { // commits, with none to all of the ids
			for later := range 3 { // restarts since the results that are later
				topic := b.topic(t, 1)
				o := b.exactly(topic)
				s := openSink(t, o, nil)
				want := numbered("v", before)
				for _, v := range want {
					again(t, s, v)
				}
				stale := idle(t, s, topic)
				s = restarted(t, s, o, stale, 2)
				again(t, s, "later")
				s = restarted(t, s, o, idle(t, s, topic), later)
				must(t, s.Close())
				must(t, newSink(t, o).Recover(stale)) // which commits nothing
				for range 2 {
					wantOvertaken(t, topic, newSink(t, o).Open(stale))
				}
				meant := o
				meant.GoesBack = true
				s = openSink(t, meant, stale)
				other := idle(t, s, topic)
				s = restarted(t, s, o, other, 1) // goes on from there, and is the newest now
				again(t, s, "again")
				must(t, s.Close())
				wantOvertaken(t, topic, newSink(t, o).Open(stale))
				wantOvertaken(t, topic, newSink(t, o).Open(other))
				wantSettled(t, b, topic, append(want, "later", "again")...)
			}
		}
	})
}

// TestACheckpointOfResultsThatWasOvertaken: nor is what an old one hands over committed first, when its id may be open again.
func TestACheckpointOfResultsThatWasOvertaken(t *testing.T) {
	anyKafka(t, func(t *testing.T, b *broker) {
		topic := b.topic(t, 1)
		o := b.exactly(topic)
		s := openSink(t, o, nil)
		again(t, s, "a")
		must(t, s.Write(records([]string{"b"})))
		stale := handOver(t, s)
		must(t, s.Commit())
		for _, v := range []string{"c", "d"} {
			again(t, s, v)
		}
		must(t, s.Write(records([]string{"unfinished"}))) // under the id of b
		if h := handOver(t, s); idsOf(h, topic)[0] != idsOf(stale, topic)[0] {
			t.Fatalf("not the same id in %q and %q", stale, h)
		}
		wantOvertaken(t, topic, newSink(t, o).Recover(stale))
		wantOvertaken(t, topic, newSink(t, o).Open(stale))
		meant, said := o, &bytes.Buffer{}
		meant.GoesBack, meant.Logger = true, slog.New(slog.NewTextHandler(said, &slog.HandlerOptions{Level: slog.LevelWarn}))
		must(t, newSink(t, meant).Recover(stale))
		if !strings.Contains(said.String(), "was committed before") || !strings.Contains(said.String(), "records=1") {
			t.Errorf("nothing is said of a commit that was not made: %s", said)
		}
		must(t, s.Close())
		must(t, newSink(t, meant).Open(stale))
		wantSettled(t, b, topic, "a", "b", "c", "d")
	})
}

// TestACommitOfARecoveryCounts: as one does of the run that handed over.
func TestACommitOfARecoveryCounts(t *testing.T) {
	anyKafka(t, func(t *testing.T, b *broker) {
		topic := b.topic(t, 1)
		o := b.exactly(topic)
		s := openSink(t, o, nil)
		again(t, s, "a")
		stale := idle(t, s, topic)
		must(t, s.Write(records([]string{"b"})))
		newest := handOver(t, s)
		must(t, s.Close())
		must(t, openSink(t, o, newest).Close())
		must(t, newSink(t, o).Open(newest)) // behind the note
		wantOvertaken(t, topic, newSink(t, o).Open(stale))
		wantSettled(t, b, topic, "a", "b")
	})
}

// TestACopyTookOver: of two copies of a folder one goes on, and puts the other out, which then commits nothing. That one is
// not to come back from where it stood once the first has results; the first may always.
func TestACopyTookOver(t *testing.T) {
	anyKafka(t, func(t *testing.T, b *broker) {
		topic := b.topic(t, 1)
		o := b.exactly(topic)
		first := openSink(t, o, nil)
		again(t, first, "a")
		both := idle(t, first, topic)
		var second *kafka.Sink
		for range 3 { // they put each other out
			must(t, first.Write(records([]string{"given up"})))
			handOver(t, first)
			second = openSink(t, o, both)
			var lost *kafka.LostError
			if err := first.Commit(); !errors.As(err, &lost) {
				t.Fatalf("the first copy commits: %v", err)
			}
			must(t, second.Write(records([]string{"given up"})))
			must(t, first.Close())
			first = openSink(t, o, both)
			must(t, second.Close())
		}
		must(t, first.Close())
		second = openSink(t, o, both)
		again(t, second, "b")
		second = restarted(t, second, o, idle(t, second, topic), 2)
		wantOvertaken(t, topic, newSink(t, o).Open(both))
		again(t, second, "c")
		wantSettled(t, b, topic, "a", "b", "c")
	})
}

// TestTwoCopiesThatBegin: of two that begin at the same time, each without a checkpoint, the one that was put out is not to
// begin again once the other has results, whatever became of that one since.
func TestTwoCopiesThatBegin(t *testing.T) {
	anyKafka(t, func(t *testing.T, b *broker) {
		topic := b.topic(t, 1)
		o := b.exactly(topic)
		begins := o
		begins.Begins = true
		first, second := openSink(t, begins, nil), openSink(t, begins, nil)
		for range 3 { // runs that come to no checkpoint, over and over
			must(t, second.Write(records([]string{"given up"})))
			handOver(t, second)
			must(t, second.Write(records([]string{"given up"})))
			second = restarted(t, second, begins, nil, 1)
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
		second = restarted(t, second, o, idle(t, second, topic), 1)
		for range 2 {
			var used *kafka.UsedError
			if err := newSink(t, begins).Open(nil); !errors.As(err, &used) || used.Topic != topic || used.Prefix != topic {
				t.Errorf("the first copy begins again: %v", err)
			}
		}
		again(t, second, "b")
		wantSettled(t, b, topic, "a", "b")
	})
}

// TestCommitsAreCountedBeyondWhatBrokersKeep: they keep the number as one below 50,000.
func TestCommitsAreCountedBeyondWhatBrokersKeep(t *testing.T) {
	b := keepingKafka(t)
	topic := b.topic(t, 1)
	o := b.exactly(topic)
	at := func(commits int) []byte {
		return fmt.Appendf(nil, "kafka-transactions 2\n%d commits counted with %s/commits/0\n", commits, topic)
	}
	s := openSink(t, o, at(149_998))
	for n := 149_999; n < 150_003; n++ {
		again(t, s, "v")
		newest := idle(t, s, topic)
		if want := string(at(n)); string(newest) != want {
			t.Fatalf("%q, want %q", newest, want)
		}
		must(t, newSink(t, o).Recover(newest))
		s = restarted(t, s, o, newest, 1)
		wantOvertaken(t, topic, newSink(t, o).Open(at(n-1)))
		wantOvertaken(t, topic, newSink(t, o).Open(at(n-20_000)))
	}
	for _, behind := range []int{900, 1100, 24_000} { // of which the brokers have forgotten some, as when they crash, or come from elsewhere
		said := &bytes.Buffer{}
		warned := o
		warned.Logger = slog.New(slog.NewTextHandler(said, &slog.HandlerOptions{Level: slog.LevelWarn}))
		must(t, newSink(t, warned).Open(at(150_002+behind)))
		if says := strings.Contains(said.String(), fmt.Sprintf("behind=%d", behind)); says != (behind > 1000) {
			t.Errorf("behind by %d, it is said %q", behind, said)
		}
	}
	wantOvertaken(t, topic, newSink(t, o).Open(at(150_002-24_000)))
	for _, another := range []string{"-other", "/commits"} { // prefix, whose numbers say nothing here
		must(t, newSink(t, o).Open(bytes.ReplaceAll(at(7), []byte(topic), []byte(topic+another))))
	}
}

// TestOldHandovers: those that do not count, of earlier versions of the sink, are committed and gone on from.
func TestOldHandovers(t *testing.T) {
	b := keepingKafka(t)
	topic := b.topic(t, 1)
	o := b.exactly(topic)
	s := openSink(t, o, nil)
	must(t, s.Write(records([]string{"a"})))
	head, rest, _ := strings.Cut(string(handOver(t, s)), "\n")
	_, list, _ := strings.Cut(rest, "\n")
	if head != "kafka-transactions 2" || list == "" {
		t.Fatalf("%q, %q", head, list)
	}
	must(t, s.Close())
	s = openSink(t, o, []byte("kafka-transactions 1\n"+list))
	again(t, s, "b")
	newest := idle(t, s, topic)
	again(t, s, "c")
	must(t, s.Close())
	wantOvertaken(t, topic, newSink(t, o).Open(newest))
	wantSettled(t, b, topic, "a", "b", "c")
}

// TestCommitsThatCannotBeCounted: brokers that do not allow it, or keep the first number, are written to all the same, and
// that is said.
func TestCommitsThatCannotBeCounted(t *testing.T) {
	for _, refusal := range []*kerr.Error{nil, kerr.TransactionalIDAuthorizationFailed, kerr.InvalidTransactionTimeout} {
		c, err := kfake.NewCluster(kfake.NumBrokers(1))
		must(t, err)
		t.Cleanup(c.Close)
		c.ControlKey(int16(kmsg.InitProducerID), func(r kmsg.Request) (kmsg.Response, error, bool) {
			c.KeepControl()
			if id := r.(*kmsg.InitProducerIDRequest).TransactionalID; id == nil || !strings.Contains(*id, "/commits/") || refusal == nil {
				return nil, nil, false
			}
			response := r.ResponseKind().(*kmsg.InitProducerIDResponse)
			response.ErrorCode = refusal.Code
			return response, nil, true
		})
		if refusal == kerr.TransactionalIDAuthorizationFailed {
			c.ControlKey(int16(kmsg.DescribeTransactions), func(r kmsg.Request) (kmsg.Response, error, bool) {
				c.KeepControl()
				s := kmsg.NewDescribeTransactionsResponseTransactionState()
				if s.TransactionalID = r.(*kmsg.DescribeTransactionsRequest).TransactionalIDs[0]; !strings.Contains(s.TransactionalID, "/commits/") {
					return nil, nil, false
				}
				s.ErrorCode = refusal.Code
				response := r.ResponseKind().(*kmsg.DescribeTransactionsResponse)
				response.TransactionStates = append(response.TransactionStates, s)
				return response, nil, true
			})
		}
		b, said := &broker{address: c.ListenAddrs()[0]}, &bytes.Buffer{}
		topic := b.topic(t, 1)
		o := b.exactly(topic)
		o.Logger = slog.New(slog.NewTextHandler(said, &slog.HandlerOptions{Level: slog.LevelWarn}))
		s := openSink(t, o, nil)
		want := numbered("v", 20)
		for i, v := range want {
			again(t, s, v)
			if i%3 == 0 {
				s = restarted(t, s, o, idle(t, s, topic), 2)
			}
		}
		if !strings.Contains(said.String(), "whether a checkpoint is the newest cannot be told") {
			t.Errorf("%v: it is said %q", refusal, said)
		}
		wantSettled(t, b, topic, want...)
	}
}

// TestCommitsAreCountedAgain: what a run hands over that is not allowed to count is not taken for older than what was counted
// before, once it is allowed again.
func TestCommitsAreCountedAgain(t *testing.T) {
	var refuses atomic.Bool
	b := refusingKafka(t, &refuses)
	topic := b.topic(t, 1)
	o := b.exactly(topic)
	s := openSink(t, o, nil)
	want := numbered("v", 12)
	for i, v := range want {
		refuses.Store(i%4 >= 2)
		again(t, s, v)
		s = restarted(t, s, o, idle(t, s, topic), 1)
		newest := idle(t, s, topic) // and it is killed before it has results
		refuses.Store(i%4 == 2)
		s = restarted(t, s, o, newest, 2)
	}
	stale := idle(t, s, topic)
	again(t, s, "later")
	must(t, s.Close())
	wantOvertaken(t, topic, newSink(t, o).Open(stale))
	wantSettled(t, b, topic, append(want, "later")...)
}

// TestAnOpenTransactionIsCommitted: also if others are said to have followed it, as by a number that is not the job's own. But
// not what is open under its id if that may be a later one.
func TestAnOpenTransactionIsCommitted(t *testing.T) {
	b := keepingKafka(t)
	topic := b.topic(t, 1)
	o := b.exactly(topic)
	s := openSink(t, o, nil)
	must(t, s.Write(records([]string{"a"})))
	handover := handOver(t, s)
	must(t, s.Close())
	request := kmsg.NewPtrInitProducerIDRequest()
	request.TransactionalID, request.TransactionTimeoutMillis = kmsg.StringPtr(topic+"/commits/0"), 3001
	_, err := request.RequestWith(t.Context(), b.client(t))
	must(t, err)
	wantOvertaken(t, topic, newSink(t, o).Recover(handover))
	o.GoesBack = true
	must(t, newSink(t, o).Recover(bytes.Replace(handover, []byte(" 2 1 "+topic), []byte(" 1 1 "+topic), 1)))
	wantCommitted(t, b, topic)
	s = openSink(t, o, handover)
	again(t, s, "b")
	wantSettled(t, b, topic, "a", "b")
}
