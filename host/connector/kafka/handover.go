package kafka

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// pending is a transaction that was handed over and may not be committed.
type pending struct {
	id       string
	producer int64 // the producer id, of 63 bits
	epoch    int16
	version  int16 // the cluster's transaction.version when it was written
	records  int64
}

// handedOver is what a checkpoint keeps of a sink.
type handedOver struct {
	list    []pending
	counter string // the id that commits are counted with
	commits int64  // with results, those of the list included; uncounted if it is not known
}

// uncounted are the commits of a hand-over of an earlier version, or of brokers that keep no
// number.
const uncounted = -1

// handoverHead begins a hand-over: what it is, and the version of its form. One of version 1
// does not count commits.
const (
	handoverHead  = "kafka-transactions 2"
	handoverHead1 = "kafka-transactions 1"
	commitsWords  = " commits counted with "
)

// encode writes a hand-over as lines of text, so that a checkpoint can be read by people.
func (h handedOver) encode() []byte {
	var b bytes.Buffer
	if h.commits == uncounted {
		b.WriteString(handoverHead1 + "\n")
	} else {
		fmt.Fprintf(&b, "%s\n%d%s%s\n", handoverHead, h.commits, commitsWords, h.counter)
	}
	for _, p := range h.list {
		fmt.Fprintf(&b, "%d %d %d %d %s\n", p.producer, p.epoch, p.version, p.records, p.id)
	}
	return b.Bytes()
}

func decode(handover []byte) (h handedOver, err error) {
	h.commits = uncounted
	if len(handover) == 0 {
		return h, nil
	}
	head, rest, _ := strings.Cut(string(handover), "\n")
	switch head {
	case handoverHead1:
	case handoverHead:
		var line string
		line, rest, _ = strings.Cut(rest, "\n")
		count, counter, _ := strings.Cut(line, commitsWords)
		h.counter = counter
		if h.commits, err = strconv.ParseInt(count, 10, 64); counter == "" || err != nil || h.commits < 0 {
			return h, fmt.Errorf("the hand-over in the checkpoint is damaged: %.80q", line)
		}
	default:
		return h, fmt.Errorf("the hand-over in the checkpoint is not one of this kafka sink: it begins with %.40q, not %q", head, handoverHead)
	}
	for line := range strings.Lines(rest) {
		p, err := decodeLine(line)
		if err != nil {
			return h, err
		}
		h.list = append(h.list, p)
	}
	return h, nil
}

func decodeLine(line string) (p pending, err error) {
	var numbers [4]int64
	rest, whole := strings.CutSuffix(line, "\n")
	for i := range numbers {
		var number string
		number, rest, _ = strings.Cut(rest, " ")
		n, parsed := strconv.ParseInt(number, 10, []int{64, 16, 16, 64}[i])
		if parsed != nil || n < 0 {
			whole = false
		}
		numbers[i] = n
	}
	if !whole || rest == "" {
		return p, fmt.Errorf("the hand-over in the checkpoint is damaged: %.80q", line)
	}
	return pending{rest, numbers[0], int16(numbers[1]), int16(numbers[2]), numbers[3]}, nil
}
