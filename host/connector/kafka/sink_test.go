package kafka_test

import (
	"context"
	"io"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/wasmstream/wasmstream/host/connector/kafka"
)

// exactly are the options of a sink that writes exactly once.
func (b *broker) exactly(topic string) kafka.SinkOptions {
	return kafka.SinkOptions{Connection: b.connection(), Topic: topic, Delivery: kafka.ExactlyOnce, TransactionalIDPrefix: topic}
}

func newSink(t testing.TB, o kafka.SinkOptions) *kafka.Sink {
	t.Helper()
	s, err := kafka.NewSink(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// openSink makes a sink, recovers what a hand-over counts, and opens it.
func openSink(t testing.TB, o kafka.SinkOptions, handover []byte) *kafka.Sink {
	t.Helper()
	s := newSink(t, o)
	must(t, s.Recover(handover))
	must(t, s.Open(handover))
	return s
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func handOver(t testing.TB, s *kafka.Sink) []byte {
	t.Helper()
	h, err := s.Handover(false)
	must(t, err)
	return h
}

// committed reads what a reader of committed records sees of a topic, by split.
func (b *broker) committed(t testing.TB, topic string) map[string][]string {
	t.Helper()
	r := open(t, kafka.SourceOptions{Connection: b.connection(), Topics: []string{topic}, Bounded: true})
	if err := r.toEnd(); err != io.EOF {
		t.Fatal(err)
	}
	return r.values
}

// wantCommitted wants exactly these records of partition 0 to become visible: a commit
// that was confirmed shows some ms later.
func wantCommitted(t testing.TB, b *broker, topic string, want ...string) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for {
		d := cmp.Diff(want, b.committed(t, topic)[topic+"/0"])
		if d == "" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("committed (-want +got)\n" + d)
		}
	}
}

// wantSettled waits until no transaction is open, and wants exactly these records then.
func wantSettled(t testing.TB, b *broker, topic string, want ...string) {
	t.Helper()
	admin := kadm.NewClient(b.client(t))
	deadline := time.Now().Add(20 * time.Second)
	for {
		ends, err1 := admin.ListEndOffsets(context.Background(), topic)
		stable, err2 := admin.ListCommittedOffsets(context.Background(), topic)
		if err1 == nil && err2 == nil && cmp.Equal(ends.Offsets(), stable.Offsets()) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("a transaction is still open: stable %v, end %v (%v, %v)", stable.Offsets(), ends.Offsets(), err1, err2)
		}
	}
	if d := cmp.Diff(want, b.committed(t, topic)[topic+"/0"]); d != "" {
		t.Error("committed (-want +got)\n" + d)
	}
}

func TestCommitsWhatWasHandedOver(t *testing.T) {
	b := realKafka(t)
	topic := b.topic(t, 1)
	s := openSink(t, b.exactly(topic), nil)
	var want []string
	for i := range 5 {
		values := numbered(string(rune('a'+i)), 10)
		must(t, s.Write(records(values)))
		handOver(t, s)
		wantCommitted(t, b, topic, want...)
		must(t, s.Commit())
		want = append(want, values...)
		wantCommitted(t, b, topic, want...)
	}
}

func TestRecoversAfterACrash(t *testing.T) {
	b := realKafka(t)
	topic := b.topic(t, 1)
	s := openSink(t, b.exactly(topic), nil)
	must(t, s.Write(records([]string{"a"})))
	handover := handOver(t, s)
	must(t, s.Write(records([]string{"given up"})))
	must(t, s.Close())

	s = openSink(t, b.exactly(topic), handover)
	wantCommitted(t, b, topic, "a")
	must(t, s.Write(records([]string{"b"})))
	handOver(t, s)
	must(t, s.Commit())
	wantSettled(t, b, topic, "a", "b")
}
