package kafka_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/wasmstream/wasmstream/host/connector/kafka"
	"github.com/wasmstream/wasmstream/host/internal/servers"
)

// wantOvertaken wants an error that says that a checkpoint is not the newest.
func wantOvertaken(t *testing.T, topic string, err error) {
	t.Helper()
	var of *kafka.OvertakenError
	if !errors.As(err, &of) || of.Topic != topic || !strings.Contains(of.Reason, topic+"/") {
		t.Fatalf("%v, want to be told that %s has later results", err, topic)
	}
}

// TestACheckpointThatWasOvertaken: a folder of checkpoints that was copied and put back
// would put results out again. That is told when the ids of its transactions have been
// committed with again, which with old transactions takes another run to see.
func TestACheckpointThatWasOvertaken(t *testing.T) {
	eachKafka(t, func(t *testing.T, b *broker) {
		topic := b.topic(t, 1)
		s := openSink(t, b.exactly(topic), nil)
		must(t, s.Write(records([]string{"a"})))
		stale := handOver(t, s)
		must(t, s.Commit())
		again(t, s, "b")
		again(t, s, "c")
		must(t, s.Write(records([]string{"d"}))) // under the first id
		newest := handOver(t, s)
		must(t, s.Commit())
		must(t, s.Close())
		if b.release == servers.Kafka4 {
			wantOvertaken(t, topic, newSink(t, b.exactly(topic)).Open(stale))
		}
		s = openSink(t, b.exactly(topic), newest)
		want := append([]string{"a", "b", "c", "d"}, numbered("e", 3)...)
		for _, v := range want[4:] {
			again(t, s, v)
		}
		must(t, s.Close())
		wantOvertaken(t, topic, newSink(t, b.exactly(topic)).Recover(stale))
		wantOvertaken(t, topic, newSink(t, b.exactly(topic)).Open(stale))
		other := b.exactly(topic)
		other.TransactionalIDPrefix += "-other" // whose ids are not the checkpoint's
		must(t, newSink(t, other).Open(stale))
		meant, said := b.exactly(topic), &bytes.Buffer{}
		meant.GoesBack, meant.Logger = true, slog.New(slog.NewTextHandler(said, &slog.HandlerOptions{Level: slog.LevelWarn}))
		s = openSink(t, meant, stale)
		if !strings.Contains(said.String(), "was committed before") || !strings.Contains(said.String(), "records=1") {
			t.Errorf("nothing is said of a commit that was not made: %s", said)
		}
		again(t, s, "again")
		wantSettled(t, b, topic, append(want, "again")...)
	})
}

// TestTheNewestCheckpointIsNotOvertaken: whatever runs did after it and did not bring to

func TestTheNewestCheckpointIsNotOvertaken(t *testing.T) {
	eachKafka(t, func(t *testing.T, b *broker) {
		for _, c := range []struct{ committed, noted, idle bool }{{}, {committed: true}, {committed: true, noted: true}, {committed: true, noted: true, idle: true}} {
			topic := b.topic(t, 1)
			s := openSink(t, b.exactly(topic), nil)
			want := numbered("v", 5)
			for _, v := range want[:4] { // ids were used before, and by another run
				again(t, s, v)
				must(t, s.Close())
				s = openSink(t, b.exactly(topic), nil)
			}
			must(t, s.Write(records(want[4:])))
			newest := handOver(t, s)
			if c.committed {
				must(t, s.Commit())
			}
			if c.idle {
				newest = idle(t, s, topic)
			}
			for run := range 6 {
				for range run { // checkpoints that come to nothing, with more ids each time
					must(t, s.Write(records([]string{"given up"})))
					handOver(t, s)
				}
				must(t, s.Write(records([]string{"given up"})))
				if run%2 == 1 {
					must(t, s.Abort())
				}
				must(t, s.Close())
				s = newSink(t, b.exactly(topic))
				for range 2 { // a crash before the note has it recovered again
					if run == 0 && !c.noted {
						must(t, s.Recover(newest))
					}
				}
				must(t, s.Open(newest))
			}
			must(t, s.Close())
			wantSettled(t, b, topic, want...)
		}
	})
}

// TestTheTransactionVersionWasChanged: brokers of another transaction.version than the one that a transaction was committed
// with refuse the commit that a crash has made again, and tell that it was made.
func TestTheTransactionVersionWasChanged(t *testing.T) {
	for name, c := range map[string]struct {
		version int // that it was written with
		answer  *kerr.Error
		state   string
		epochs  int16 // that the id has had since
		is      bool  // committed
	}{
		"1 to 2":           {1, kerr.InvalidTxnState, "CompleteCommit", 0, true},
		"1 to 2, still":    {1, kerr.InvalidTxnState, "PrepareCommit", 0, true},
		"2 to 1":           {2, kerr.ProducerFenced, "CompleteCommit", 1, true},
		"given up":         {1, kerr.InvalidTxnState, "CompleteAbort", 0, false},
		"given up, 2 to 1": {2, kerr.ProducerFenced, "CompleteAbort", 1, false},
		"used again":       {2, kerr.ProducerFenced, "CompleteCommit", 2, false},
		"the one before":   {2, kerr.InvalidTxnState, "CompleteCommit", 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			cluster, b := fakeOf(t, 1, 1)
			o := b.exactly("t")
			s := openSink(t, o, nil)
			must(t, s.Write(records([]string{"a"})))
			handover := handOver(t, s)
			must(t, s.Close())
			var producer int64
			var epoch, version int16
			line := strings.Split(string(handover), "\n")[2]
			if _, err := fmt.Sscan(line, &producer, &epoch, &version); err != nil {
				t.Fatal(err)
			}
			changed := strings.Replace(string(handover), line, strings.Replace(line, fmt.Sprintf(" %d %d ", epoch, version), fmt.Sprintf(" %d %d ", epoch, c.version), 1), 1)
			cluster.ControlKey(kmsg.EndTxn.Int16(), func(r kmsg.Request) (kmsg.Response, error, bool) {
				cluster.KeepControl()
				return refusal(r, c.answer.Code), nil, true
			})
			cluster.ControlKey(kmsg.DescribeTransactions.Int16(), func(r kmsg.Request) (kmsg.Response, error, bool) {
				cluster.KeepControl()
				state := kmsg.NewDescribeTransactionsResponseTransactionState()
				state.TransactionalID = r.(*kmsg.DescribeTransactionsRequest).TransactionalIDs[0]
				if state.TransactionalID != "t/0/0" {
					return nil, nil, false
				}
				state.ProducerID, state.ProducerEpoch, state.State = producer, epoch+c.epochs, c.state
				response := r.ResponseKind().(*kmsg.DescribeTransactionsResponse)
				response.TransactionStates = append(response.TransactionStates, state)
				return response, nil, true
			})
			if err := newSink(t, o).Recover([]byte(changed)); (err == nil) != c.is {
				t.Errorf("%v; committed: %v", err, c.is)
			}
		})
	}
}
