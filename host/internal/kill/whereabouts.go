package kill

import (
	"context"
	"encoding/binary"
	"fmt"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// whereabouts tells what became of a result that readers of committed records do not get: where the topic has it all the
// same, how the transactions of its producer end around there, and what their coordinator noted then.
func whereabouts(ctx context.Context, bootstrap, topic string, lost Result) string {
	var b strings.Builder
	var found, markers []*kgo.Record
	err := readAll(ctx, bootstrap, topic, func(r *kgo.Record) {
		var got Result
		switch {
		case r.Attrs.IsControl():
			markers = append(markers, r)
		case parseResult(r.Value, &got) == nil && got == lost:
			found = append(found, r)
		}
	})
	fmt.Fprintf(&b, "%+v is %d times in %s", lost, len(found), topic)
	if err != nil {
		fmt.Fprintf(&b, ", %v", err)
	}
	for _, r := range found {
		fmt.Fprintf(&b, "\n  at %d:%d, by producer %d of epoch %d", r.Partition, r.Offset, r.ProducerID, r.ProducerEpoch)
		for _, m := range markers {
			if m.Partition == r.Partition && m.ProducerID == r.ProducerID && m.Offset > r.Offset {
				fmt.Fprintf(&b, ", before the %s at %d, epoch %d, %s", markerNames[string(m.Key)], m.Offset, m.ProducerEpoch, m.Timestamp.Format(time.StampMilli))
				b.WriteString(noted(ctx, bootstrap, m))
				break
			}
		}
	}
	return b.String()
}

// markerNames are the ends of transactions by the keys of control records: a version and a type.
var markerNames = map[string]string{"\x00\x00\x00\x00": "abort", "\x00\x00\x00\x01": "commit"}

// notedWithin is how far from the end of a transaction its coordinator's notes tell about it.
const notedWithin = 30 * time.Second

// noted is what the coordinator noted of the producer of a marker around its time. A note begins with its version, the
// producer's id and epoch, the timeout and the state.
func noted(ctx context.Context, bootstrap string, m *kgo.Record) string {
	var b strings.Builder
	err := readAll(ctx, bootstrap, "__transaction_state", func(r *kgo.Record) {
		const producer, epoch, state = 2, 10, 16
		if len(r.Value) <= state || r.Timestamp.Sub(m.Timestamp).Abs() > notedWithin || int64(binary.BigEndian.Uint64(r.Value[producer:])) != m.ProducerID {
			return
		}
		fmt.Fprintf(&b, "\n    %s epoch %d state %d", r.Timestamp.Format(time.StampMilli), binary.BigEndian.Uint16(r.Value[epoch:]), r.Value[state])
	})
	if err != nil {
		fmt.Fprintf(&b, "\n    %v", err)
	}
	return b.String()
}

// readAll reads what a topic has, also what was not committed, and the ends of transactions.
func readAll(ctx context.Context, bootstrap, topic string, take func(*kgo.Record)) error {
	ends, err := topicEnds(ctx, bootstrap, topic)
	if err != nil {
		return err
	}
	upTo := map[int32]int64{}
	for p, e := range ends {
		upTo[p] = e.end
	}
	return readUpTo(ctx, bootstrap, topic, kgo.ReadUncommitted(), upTo, func(r *kgo.Record) error { take(r); return nil })
}
