package kafka

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/wasmstream/wasmstream/host/connector"
)

// split is a partition that is read. What is not said to be otherwise is guarded by
// Source.mu.
type split struct {
	name      string
	topic     *topic
	partition int32
	leader    int32 // -1: not known
	epoch     int32 // of the leader, as the metadata says
	paused    bool
	ended     bool // nothing more is fetched
	// busy says that a request for it is under way or its answer has not been handed
	// on (O).
	busy  bool
	fetch int64 // the offset to fetch next
	last  int32 // the leader's epoch when what lies before fetch was written; -1: not known
	// outside counts answers in a row that the offset is behind the log's end.
	outside int

	end int64 // where a bounded source stops; set before it is announced

	at   connector.Position // what is handed out lies before it; the reader's
	done atomic.Int64       // at.Offset, for others
	high atomic.Int64       // the offset up to which it could be read; -1: not known
}

// topic is a topic that is read.
type topic struct {
	name     string
	id       [16]byte
	identity string // the id as checkpoints have it; "": brokers before Kafka 2.8 have none
	missing  int    // in how many answers in a row it was not there
}

func newTopic(name string, id [16]byte) *topic {
	t := &topic{name: name, id: id}
	if id != [16]byte{} {
		t.identity = hex.EncodeToString(id[:])
	}
	return t
}

// isNot says whether it is another one than that of an identity, as far as both are known.
func (t *topic) isNot(identity string) bool {
	return t.identity != "" && identity != "" && t.identity != identity
}

func splitName(topic string, partition int32) string {
	return topic + "/" + strconv.Itoa(int(partition))
}

func parseSplit(name string) (topic string, partition int32, err error) {
	topic, number, _ := strings.Cut(name, "/")
	n, err := strconv.ParseInt(number, 10, 32)
	if err != nil || n < 0 || topic == "" {
		return "", 0, fmt.Errorf("%q is no split of a kafka source: those are named topic/partition", name)
	}
	return topic, int32(n), nil
}

// sign says in a chunk whose it is.
func (s *split) sign(c *connector.Chunk) {
	c.Split, c.Topic, c.Partition, c.Identity = s.name, s.topic.name, s.partition, s.topic.identity
}

// moveTo notes where the reader stands.
func (s *split) moveTo(p connector.Position) {
	s.at = p
	s.done.Store(p.Offset)
}

// lag is how many offsets lie between what was handed out and what could be read.
func (s *split) lag() int64 {
	high := s.high.Load()
	if s.end >= 0 {
		high = min(high, s.end)
	}
	return max(high-s.done.Load(), 0)
}
