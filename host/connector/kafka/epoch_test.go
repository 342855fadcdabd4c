package kafka_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// epochMax is the last epoch that a producer id has; then the broker gives another id.
const epochMax = 32766

// raise takes a transaction id so often that its next epoch is so many below the last.
func (b *broker) raise(t testing.TB, id string, below int16) {
	t.Helper()
	c := b.client(t)
	for {
		request := kmsg.NewPtrInitProducerIDRequest()
		request.TransactionalID, request.TransactionTimeoutMillis = &id, 60_000
		request.ProducerID, request.ProducerEpoch = -1, -1
		response, err := request.RequestWith(context.Background(), c)
		must(t, err)
		if err := kerr.ErrorForCode(response.ErrorCode); err != nil && !kerr.IsRetriable(err) && err != kerr.ConcurrentTransactions {
			t.Fatal(err)
		}
		if response.ProducerEpoch >= epochMax-below {
			return
		}
	}
}

// With transaction.version 2 each commit takes an epoch, so the limit is reached in
// hours; here it takes seconds for each id.
func TestEpochsNearTheirLimit(t *testing.T) {
	if os.Getenv("WASMSTREAM_TEST_KAFKA_ALL") == "" {
		t.Skip("it takes a minute; make kafka-releases runs it")
	}
	b := realKafka(t)
	// Each run takes three epochs, so the last one is met in each of three ways, by a
	// commit of its own and by one after a crash.
	for below := range int16(3) {
		for _, committed := range []bool{false, true} {
			t.Run(fmt.Sprint("after ", below, " epochs, committed ", committed), func(t *testing.T) {
				topic := b.topic(t, 1)
				b.raise(t, topic+"/0/0", 9+below)
				var want []string
				var handover []byte
				for i := range 6 {
					s := openSink(t, b.exactly(topic), handover)
					want = append(want, fmt.Sprint("v", i))
					must(t, s.Write(records(want[i:])))
					handover = handOver(t, s)
					if committed {
						must(t, s.Commit()) // and the next one commits it again
					}
					must(t, s.Close())
				}
				if strings.Contains(string(handover), " 327") {
					t.Errorf("no epoch ran out: %s", handover)
				}
				s := openSink(t, b.exactly(topic), handover)
				again(t, s, "end")
				wantSettled(t, b, topic, append(want, "end")...)
			})
		}
	}
	t.Run("without a restart", func(t *testing.T) {
		topic := b.topic(t, 1)
		for k := range int16(3) {
			b.raise(t, fmt.Sprint(topic, "/0/", k), 6+k)
		}
		s := openSink(t, b.exactly(topic), nil)
		want := numbered("v", 40)
		for _, v := range want {
			again(t, s, v)
		}
		wantSettled(t, b, topic, want...)
	})
}
