package kafka_test

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"

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
