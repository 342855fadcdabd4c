package kafka_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/wasmstream/wasmstream/host/connector"
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
	deadline := time.Now().Add(patience)
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

// settle waits until no transaction is open.
func (b *broker) settle(t testing.TB, topic string) {
	t.Helper()
	admin := kadm.NewClient(b.client(t))
	deadline := time.Now().Add(patience)
	for {
		ends, err1 := admin.ListEndOffsets(context.Background(), topic)
		stable, err2 := admin.ListCommittedOffsets(context.Background(), topic)
		if err1 == nil && err2 == nil && cmp.Equal(ends.Offsets(), stable.Offsets()) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("a transaction is still open: stable %v, end %v (%v, %v)", stable.Offsets(), ends.Offsets(), err1, err2)
		}
	}
}

// wantSettled waits until no transaction is open, and wants exactly these records then.
func wantSettled(t testing.TB, b *broker, topic string, want ...string) {
	t.Helper()
	b.settle(t, topic)
	if d := cmp.Diff(want, b.committed(t, topic)[topic+"/0"]); d != "" {
		t.Error("committed (-want +got)\n" + d)
	}
}

// again writes, hands over and commits values.
func again(t testing.TB, s *kafka.Sink, values ...string) {
	t.Helper()
	must(t, s.Write(records(values)))
	handOver(t, s)
	must(t, s.Commit())
}

// wantLost wants an error that says that records were lost, and how many.
func wantLost(t testing.TB, err error, records int64) {
	t.Helper()
	var lost *kafka.LostError
	if !errors.As(err, &lost) || lost.Records != records {
		t.Fatalf("%v, want %d records said to be lost", err, records)
	}
}

func TestCommitsWhatWasHandedOver(t *testing.T) {
	eachKafka(t, func(t *testing.T, b *broker) {
		topic := b.topic(t, 1)
		s := openSink(t, b.exactly(topic), nil)
		var want []string
		for i := range 8 {
			values := numbered(string(rune('a'+i)), 10)
			must(t, s.Write(records(values)))
			handOver(t, s)
			wantCommitted(t, b, topic, want...)
			must(t, s.Commit())
			want = append(want, values...)
		}
		wantSettled(t, b, topic, want...)
	})
}

func TestRecoversAfterACrash(t *testing.T) {
	eachKafka(t, func(t *testing.T, b *broker) {
		topic := b.topic(t, 1)
		s := openSink(t, b.exactly(topic), nil)
		must(t, s.Write(records([]string{"a"})))
		handover := handOver(t, s)
		must(t, s.Write(records([]string{"given up"})))
		must(t, s.Close())

		s = newSink(t, b.exactly(topic))
		must(t, s.Recover(handover))
		must(t, s.Close())
		s = openSink(t, b.exactly(topic), handover) // it crashed before it noted that all is committed
		again(t, s, "b")
		wantSettled(t, b, topic, "a", "b")
	})
}

func TestACrashAfterTheCommit(t *testing.T) {
	eachKafka(t, func(t *testing.T, b *broker) {
		topic := b.topic(t, 1)
		s := openSink(t, b.exactly(topic), nil)
		again(t, s, "a")
		must(t, s.Write(records([]string{"b"})))
		handover := handOver(t, s)
		must(t, s.Commit())
		// What is begun behind it has another id, and is not committed with it (R).
		must(t, s.Write(records([]string{"unfinished"})))
		if _, err := s.Handover(false); err != nil { // its checkpoint comes to nothing
			t.Fatal(err)
		}
		must(t, s.Write(records([]string{"unfinished too"})))
		must(t, s.Close())
		s = openSink(t, b.exactly(topic), handover)
		again(t, s, "c")
		wantSettled(t, b, topic, "a", "b", "c")
	})
}

func TestACheckpointThatCameToNothing(t *testing.T) {
	eachKafka(t, func(t *testing.T, b *broker) {
		topic := b.topic(t, 1)
		s := openSink(t, b.exactly(topic), nil)
		var want []string
		for i := range 6 { // more than the pool has ids
			value := fmt.Sprint("v", i)
			must(t, s.Write(records([]string{value})))
			handOver(t, s)
			want = append(want, value)
		}
		must(t, s.Write(records([]string{"w"})))
		handover := handOver(t, s)
		must(t, s.Write(records([]string{"given up"})))
		must(t, s.Close())
		s = openSink(t, b.exactly(topic), handover)
		again(t, s, "x")
		wantSettled(t, b, topic, append(want, "w", "x")...)
	})
}

func TestAnEmptyTransactionIsNotHandedOver(t *testing.T) {
	b := realKafka(t)
	topic := b.topic(t, 1)
	s := openSink(t, b.exactly(topic), nil)
	for range 3 {
		must(t, s.Write(&connector.Records{}))
		if h := handOver(t, s); len(idsOf(h, topic)) != 0 {
			t.Fatalf("handed over %q", h)
		}
		must(t, s.Commit())
	}
	again(t, s, "a")
	if h := handOver(t, s); len(idsOf(h, topic)) != 0 {
		t.Fatalf("handed over %q", h)
	}
	must(t, s.Commit())
	wantSettled(t, b, topic, "a")
}

// idsOf finds the ids of the transactions that a hand-over has to commit.
func idsOf(handover []byte, prefix string) (ids []string) {
	for _, m := range regexp.MustCompile(`(?m)^[\d ]+ (`+regexp.QuoteMeta(prefix)+`/\d+/\d+)$`).FindAllStringSubmatch(string(handover), -1) {
		ids = append(ids, m[1])
	}
	return ids
}

func TestAnIDRestsUntilALaterCheckpoint(t *testing.T) {
	b := realKafka(t)
	topic := b.topic(t, 1)
	s := openSink(t, b.exactly(topic), nil)
	var before []string
	for i := range 9 {
		must(t, s.Write(records([]string{"v"})))
		ids := idsOf(handOver(t, s), topic)
		if len(ids) != 1 {
			t.Fatalf("%q were handed over", ids)
		}
		for _, id := range before[max(len(before)-2, 0):] {
			if id == ids[0] {
				t.Errorf("checkpoint %d has %s again, after %q", i, id, before)
			}
		}
		before = append(before, ids[0])
		must(t, s.Commit())
		b.settle(t, topic) // an id rests until its transaction is at its end in the topic, too
	}
	for _, id := range before {
		if !slices.Contains(before[:3], id) {
			t.Errorf("%s is a fourth id: %q", id, before)
		}
	}
}

// Ids that one checkpoint committed rest while the next ones come to nothing: a crash
// would go back to it, and commit them again.
func TestIDsRestWhileCheckpointsComeToNothing(t *testing.T) {
	eachKafka(t, func(t *testing.T, b *broker) {
		topic := b.topic(t, 1)
		s := openSink(t, b.exactly(topic), nil)
		want := numbered("v", 2)
		must(t, s.Write(records(want[:1])))
		handOver(t, s)
		must(t, s.Write(records(want[1:])))
		newest := handOver(t, s)
		must(t, s.Commit())
		for range 4 {
			must(t, s.Write(records([]string{"given up"})))
			for _, id := range idsOf(handOver(t, s), topic) {
				if slices.Contains(idsOf(newest, topic), id) {
					t.Errorf("%s is used again", id)
				}
			}
		}
		must(t, s.Close())
		openSink(t, b.exactly(topic), newest)
		wantSettled(t, b, topic, want...)
	})
}

func TestTwoCopiesOfAJob(t *testing.T) {
	eachKafka(t, func(t *testing.T, b *broker) {
		topic := b.topic(t, 1)
		first := openSink(t, b.exactly(topic), nil)
		must(t, first.Write(records([]string{"handed", "over"})))
		handOver(t, first)
		must(t, first.Write(records([]string{"open"})))
		if _, err := first.Handover(false); err != nil {
			t.Fatal(err)
		}
		must(t, first.Write(records([]string{"open"})))

		second := openSink(t, b.exactly(topic), nil)
		must(t, second.Write(records([]string{"second"})))
		handover := handOver(t, second)

		var lost *kafka.LostError
		if err := first.Commit(); !errors.As(err, &lost) || !strings.Contains(err.Error(), "second copy of the job") {
			t.Errorf("the first copy commits: %v", err)
		}
		err := first.Write(records([]string{"more"}))
		if err == nil {
			_, err = first.Handover(false)
		}
		var fenced *kafka.FencedError
		if !errors.As(err, &fenced) || !strings.Contains(err.Error(), "second copy of the job") {
			t.Errorf("the first copy goes on: %v", err)
		}
		must(t, first.Abort()) // which leaves the second alone
		must(t, second.Commit())
		must(t, second.Close())
		openSink(t, b.exactly(topic), handover)
		wantSettled(t, b, topic, "second")
	})
}

// A copy that wakes up late does not take ids back, whatever it holds of them: a client
// or none yet, a commit that it made by hand, or an id beyond the pool.
func TestAnOldCopyWakesUp(t *testing.T) {
	eachKafka(t, func(t *testing.T, b *broker) {
		for before := range 6 {
			topic := b.topic(t, 1)
			var want []string
			first := openSink(t, b.exactly(topic), nil)
			for i := range before {
				must(t, first.Write(records([]string{fmt.Sprint("v", i)})))
				handOver(t, first)
				if before < 4 {
					must(t, first.Commit())
					want = append(want, fmt.Sprint("v", i))
				}
			}
			second := openSink(t, b.exactly(topic), nil)
			for i := range 4 {
				must(t, second.Write(records([]string{fmt.Sprint("w", i)})))
				want = append(want, fmt.Sprint("w", i))
				handOver(t, second) // of checkpoints that come late
			}
			err := first.Write(records([]string{"late"}))
			if err == nil {
				_, err = first.Handover(false)
			}
			var fenced *kafka.FencedError
			if !errors.As(err, &fenced) {
				t.Errorf("after %d checkpoints the first copy goes on: %v", before, err)
			}
			must(t, first.Abort())
			must(t, second.Commit())
			wantSettled(t, b, topic, want...)
		}
	})
}

func TestATransactionExpiredWhileTheJobWasDown(t *testing.T) {
	eachKafka(t, func(t *testing.T, b *broker) {
		topic := b.topic(t, 1)
		o := b.exactly(topic)
		o.TransactionTimeout = 1500 * time.Millisecond
		s := openSink(t, o, nil)
		must(t, s.Write(records([]string{"a", "b"})))
		handover := handOver(t, s)
		must(t, s.Close())
		admin := kadm.NewClient(b.client(t))
		eventually(t, "the transaction to expire", func() bool {
			return b.transactionState(t, admin, topic+"/0/0") == "CompleteAbort"
		})
		s = newSink(t, o)
		err := s.Recover(handover)
		wantLost(t, err, 2)
		for _, says := range []string{"longer than its transaction timeout", "--restore of the checkpoint before", "--lineage NAME"} {
			if !strings.Contains(err.Error(), says) {
				t.Errorf("%v; it does not say %q", err, says)
			}
		}
	})
}

func TestATransactionExpiredBeforeItsCheckpoint(t *testing.T) {
	b := realKafka(t)
	topic := b.topic(t, 1)
	o := b.exactly(topic)
	o.TransactionTimeout = time.Second
	s := openSink(t, o, nil)
	must(t, s.Write(records([]string{"a"})))
	admin := kadm.NewClient(b.client(t))
	eventually(t, "the transaction to expire", func() bool {
		return b.transactionState(t, admin, topic+"/0/0") == "CompleteAbort"
	})
	if _, err := s.Handover(false); err == nil || !strings.Contains(err.Error(), "timeout") {
		t.Errorf("handed over what the broker gave up: %v", err)
	}
}

// TestAnUnknownTransactionIsLost: or it was committed, and forgotten days later. The error says how to go on in either case,
// and --restore of the checkpoint does, however often. The last id is known, as the one of another producer.
func TestAnUnknownTransactionIsLost(t *testing.T) {
	anyKafka(t, func(t *testing.T, b *broker) {
		topic := b.topic(t, 1)
		s := openSink(t, b.exactly(topic), nil)
		must(t, s.Write(records([]string{"a"})))
		handover := handOver(t, s)
		must(t, s.Commit())
		must(t, s.Close())
		for _, id := range []string{"/0/77", "/0/2"} {
			forgotten := regexp.MustCompile(`\n\d+ (\d+ \d+ 1 \S+)/0/0\n`).ReplaceAll(handover, []byte("\n1234567 ${1}"+id+"\n"))
			err := newSink(t, b.exactly(topic)).Recover(forgotten)
			wantLost(t, err, 1)
			for _, says := range []string{"may be lost", topic + id, "--restore of this checkpoint goes on behind them", "--restore of the checkpoint before puts them out again", "--lineage NAME"} {
				if !strings.Contains(err.Error(), says) {
					t.Errorf("%v; it does not say %q", err, says)
				}
			}
			meant, said := b.exactly(topic), &bytes.Buffer{}
			meant.GoesBack, meant.Logger = true, slog.New(slog.NewTextHandler(said, &slog.HandlerOptions{Level: slog.LevelWarn}))
			s := openSink(t, meant, forgotten)
			if !strings.Contains(said.String(), "as if it had been committed") || !strings.Contains(said.String(), "records=1") {
				t.Errorf("it is said %q", said)
			}
			if id == "/0/2" {
				again(t, s, "b")
			}
			must(t, s.Close())
		}
		wantSettled(t, b, topic, "a", "b")
	})
}

func TestADamagedHandover(t *testing.T) {
	b := realKafka(t)
	s := newSink(t, b.exactly(b.topic(t, 1)))
	for _, h := range []string{"x", "kafka-transactions 3\n", "kafka-transactions 2\n", "kafka-transactions 2\n-1 commits counted with x\n", "kafka-transactions 2\n5 of x\n", "kafka-transactions 1\n1 2 3\n", "kafka-transactions 1\n1 2 2 3 id", "kafka-transactions 1\n1 99999 2 3 id\n"} {
		if err := s.Recover([]byte(h)); err == nil || !strings.Contains(err.Error(), "hand-over") {
			t.Errorf("%q: %v", h, err)
		}
	}
}

func TestAbortRemovesWhatWasNotCommitted(t *testing.T) {
	eachKafka(t, func(t *testing.T, b *broker) {
		topic := b.topic(t, 1)
		s := openSink(t, b.exactly(topic), nil)
		again(t, s, "a")
		must(t, s.Write(records([]string{"handed over"})))
		handOver(t, s)
		must(t, s.Write(records([]string{"open"})))
		s.Interrupt()
		if err := s.Write(records([]string{"x"})); err == nil {
			t.Error("it writes after it was interrupted")
		}
		must(t, s.Abort())
		wantSettled(t, b, topic, "a")
	})
}

func TestAbortAfterTheLastCommit(t *testing.T) {
	b := realKafka(t)
	topic := b.topic(t, 1)
	s := openSink(t, b.exactly(topic), nil)
	must(t, s.Write(records([]string{"a"})))
	if _, err := s.Handover(true); err != nil {
		t.Fatal(err)
	}
	must(t, s.Commit())
	must(t, s.Abort())
	wantSettled(t, b, topic, "a")
}

func TestFewerTasksThanBefore(t *testing.T) {
	b := realKafka(t)
	topic := b.topic(t, 1)
	var handovers [][]byte
	for task := range 3 {
		o := b.exactly(topic)
		o.Task, o.Tasks = task, 3
		s := openSink(t, o, nil)
		must(t, s.Write(records([]string{fmt.Sprint("handed over by ", task)})))
		handovers = append(handovers, handOver(t, s))
		must(t, s.Write(records([]string{"open"})))
		must(t, s.Close())
	}
	s := newSink(t, b.exactly(topic))
	for _, h := range handovers {
		must(t, s.Recover(h))
	}
	must(t, s.Open(nil))
	again(t, s, "b")
	wantSettled(t, b, topic, "handed over by 0", "handed over by 1", "handed over by 2", "b")
}

// TestTheLongestTransaction: a timeout that brokers do not allow is refused with what to set, whoever chose it; without one
// it is what they allow.
func TestTheLongestTransaction(t *testing.T) {
	b := fakeKafka(t, kfake.BrokerConfigs(map[string]string{"transaction.max.timeout.ms": "20000"}))
	o := b.exactly(b.topic(t, 1))
	must(t, newSink(t, o).Open(nil))
	o.TransactionTimeout = 15 * time.Minute
	err := newSink(t, o).Open(nil)
	var refused *kafka.SettingError
	if !errors.As(err, &refused) || !strings.Contains(err.Error(), "the brokers allow 20s (transaction.max.timeout.ms): set it to that or less; a job that does not set it asks for 15m0s") {
		t.Errorf("%v", err)
	}
}

// TestPrefixUsedByNamesakes: another job's prefix may begin with the whole of this one.
func TestPrefixUsedByNamesakes(t *testing.T) {
	b := keepingKafka(t)
	topic := b.topic(t, 1)
	o := b.exactly(topic)
	take := func(id string) (used bool) {
		request := kmsg.NewPtrInitProducerIDRequest()
		request.TransactionalID, request.TransactionTimeoutMillis = &id, 1000
		_, err := request.RequestWith(t.Context(), b.client(t))
		must(t, err)
		used, err = newSink(t, o).PrefixUsed(t.Context())
		must(t, err)
		return used
	}
	for _, other := range []string{"/clicks/0/0", "/clicks/commits/0", "/commits/0/0", "/commits/commits/0", "/0/0/0", "/0/commits/0", "/0/x", "0/0/0"} {
		if take(topic + other) {
			t.Fatalf("%s is used by PREFIX%s", topic, other)
		}
	}
	for _, own := range []string{"/7/12", "/commits/3"} {
		o.TransactionalIDPrefix += "-next"
		if !take(o.TransactionalIDPrefix + own) {
			t.Errorf("%s is not used by PREFIX%s", topic, own)
		}
	}
}

func TestPrefixUsed(t *testing.T) {
	eachKafka(t, func(t *testing.T, b *broker) {
		topic := b.topic(t, 1)
		o := b.exactly(topic)
		other := o
		other.TransactionalIDPrefix += "0" // begins alike
		s := openSink(t, other, nil)
		again(t, s, "a")
		used := func(o kafka.SinkOptions) bool {
			is, err := newSink(t, o).PrefixUsed(context.Background())
			must(t, err)
			return is
		}
		if used(o) || !used(other) {
			t.Errorf("used: %v, %v; want only the second", used(o), used(other))
		}
	})
}
