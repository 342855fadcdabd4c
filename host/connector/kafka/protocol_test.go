package kafka_test

import (
	"context"
	"errors"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kversion"

	"github.com/wasmstream/wasmstream/host/connector"
	"github.com/wasmstream/wasmstream/host/connector/kafka"
)

// The protocol of exactly once, a rule at a time, against brokers within the test.
// Whether real ones do the same is for the tests of the same rules in sink_test.go.

// eachFake runs a test with brokers that raise a producer's epoch at each commit, and
// with old ones, which cannot tell its transactions apart by that.
func eachFake(t *testing.T, test func(t *testing.T, b *broker)) {
	t.Helper()
	old := kversion.Stable()
	old.SetMaxKeyVersion(26, 4) // EndTxn
	t.Run("epochs rise", func(t *testing.T) { test(t, fakeKafka(t)) })
	t.Run("epochs stay", func(t *testing.T) { test(t, fakeKafka(t, kfake.MaxVersions(old))) })
}

// TestProtocolFlush: what a hand-over counts is with the brokers by then, however
// long the client would have waited for more; nothing of it is lost by a crash, and
// the recovery commits it before it takes the ids.
func TestProtocolFlush(t *testing.T) {
	eachFake(t, func(t *testing.T, b *broker) {
		topic := b.topic(t, 1)
		o := b.exactly(topic)
		o.Linger = time.Minute
		s := openSink(t, o, nil)
		values := numbered("v", 100)
		must(t, s.Write(records(values[:50])))
		must(t, s.Write(records(values[50:])))
		handover := handOver(t, s)
		must(t, s.Write(records([]string{"given up"})))
		must(t, s.Close())
		s = openSink(t, b.exactly(topic), handover)
		must(t, s.Close())
		wantSettled(t, b, topic, values...)
	})
}

// TestProtocolIDsRest: a crash that comes before the note that all is committed, and
// after more was written, has the commit made again. That must not commit what was
// written since: so it has another id, until a later checkpoint is durable.
func TestProtocolIDsRest(t *testing.T) {
	eachFake(t, func(t *testing.T, b *broker) {
		topic := b.topic(t, 1)
		s := openSink(t, b.exactly(topic), nil)
		must(t, s.Write(records([]string{"a"})))
		first := handOver(t, s)
		must(t, s.Commit())
		for range 4 { // checkpoints that come to nothing
			must(t, s.Write(records([]string{"unfinished"})))
			handOver(t, s)
		}
		must(t, s.Close())
		s = openSink(t, b.exactly(topic), first)
		must(t, s.Close())
		wantSettled(t, b, topic, "a")
	})
}

// TestProtocolEmpty: brokers refuse to end a transaction that has no record, so none
// is handed over.
func TestProtocolEmpty(t *testing.T) {
	eachFake(t, func(t *testing.T, b *broker) {
		topic := b.topic(t, 1)
		s := openSink(t, b.exactly(topic), nil)
		again(t, s, "a")
		must(t, s.Write(&connector.Records{}))
		handover := handOver(t, s)
		must(t, s.Close())
		s = openSink(t, b.exactly(topic), handover)
		again(t, s, "b")
		wantSettled(t, b, topic, "a", "b")
	})
}

// TestProtocolPromises: the client's flush says nothing of records that failed.
func TestProtocolPromises(t *testing.T) {
	eachFake(t, func(t *testing.T, b *broker) {
		topic := b.topic(t, 1)
		s := openSink(t, b.exactly(topic), nil)
		r := records([]string{"good", "to a partition that is not there"})
		r.Partitions = []int32{0, 5}
		err := s.Write(r)
		if err == nil {
			_, err = s.Handover(false)
		}
		var refused *kafka.TopicError
		if !errors.As(err, &refused) {
			t.Errorf("a record was refused, and the hand-over says %v", err)
		}
	})
}

// outage is a network that can go away: connections break, and no new one is made.
type outage struct {
	mu      sync.Mutex
	away    bool
	made    []net.Conn
	refused int
}

func (o *outage) dial(ctx context.Context, network, address string) (net.Conn, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.away {
		o.refused++
		return nil, errLine
	}
	var d net.Dialer
	c, err := d.DialContext(ctx, network, address)
	if err == nil {
		o.made = append(o.made, c)
	}
	return c, err
}

func (o *outage) set(away bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.away = away
	for _, c := range o.made {
		c.Close()
	}
	o.made = nil
}

func (o *outage) count() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.refused
}

// TestProtocolCommitByHand: while no broker is there, a commit waits; then it commits
// the transaction that was handed over, and no other. The client, asked again, would
// say that all is well, since by then it has nothing to commit.
func TestProtocolCommitByHand(t *testing.T) {
	eachFake(t, func(t *testing.T, b *broker) {
		topic := b.topic(t, 1)
		network := &outage{}
		o := b.exactly(topic)
		o.Dialer = network.dial
		s := openSink(t, o, nil)
		must(t, s.Write(records([]string{"a", "b"})))
		handOver(t, s)
		network.set(true)
		done := make(chan error, 1)
		go func() { done <- s.Commit() }()
		eventually(t, "the client to give up", func() bool { return len(done) > 0 || network.count() >= 8 })
		if len(done) > 0 {
			t.Fatalf("Commit returned %v, and no broker was there", <-done)
		}
		network.set(false)
		must(t, <-done)
		again(t, s, "c")
		must(t, s.Close())
		wantSettled(t, b, topic, "a", "b", "c")
	})
}

// TestProtocolPending: what a checkpoint had that came to nothing is in the next one
// too, more of it than there are ids to rotate.
func TestProtocolPending(t *testing.T) {
	eachFake(t, func(t *testing.T, b *broker) {
		topic := b.topic(t, 1)
		s := openSink(t, b.exactly(topic), nil)
		values := numbered("v", 6)
		var handover []byte
		for _, v := range values {
			must(t, s.Write(records([]string{v})))
			handover = handOver(t, s)
		}
		must(t, s.Close())
		s = openSink(t, b.exactly(topic), handover)
		again(t, s, "w")
		wantSettled(t, b, topic, append(values, "w")...)
	})
}
