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

// handoverHead begins a hand-over: what it is, and the version of its form.
const handoverHead = "kafka-transactions 1"

// encode writes transactions as lines of text, so that a checkpoint can be read by
// people; nothing if there are none.
func encode(list []pending) []byte {
	if len(list) == 0 {
		return nil
	}
	var b bytes.Buffer
	b.WriteString(handoverHead + "\n")
	for _, p := range list {
		fmt.Fprintf(&b, "%d %d %d %d %s\n", p.producer, p.epoch, p.version, p.records, p.id)
	}
	return b.Bytes()
}

func decode(handover []byte) ([]pending, error) {
	if len(handover) == 0 {
		return nil, nil
	}
	head, rest, _ := strings.Cut(string(handover), "\n")
	if head != handoverHead {
		return nil, fmt.Errorf("the hand-over in the checkpoint is not one of this kafka sink: it begins with %.40q, not %q", head, handoverHead)
	}
	var list []pending
	for line := range strings.Lines(rest) {
		p, err := decodeLine(line)
		if err != nil {
			return nil, err
		}
		list = append(list, p)
	}
	return list, nil
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
