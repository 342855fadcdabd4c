package kafka

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// pending is a transaction that was handed over and may not be committed, or what else a
// checkpoint knows of an id.
type pending struct {
	id       string
	producer int64 // the producer id, of 63 bits
	epoch    int16
	version  int16 // the cluster's transaction.version when it was written
	records  int64
	standing standing
}

// standing is what a line of a hand-over says of an id, and its first word.
type standing string

const (
	handedOver  standing = ""           // the transaction is to be committed
	wasLast     standing = "committed " // it has been, and is the last that was
	takenByThen standing = "taken "     // nothing was committed since a producer of this epoch took the id
)

// handoverHead begins a hand-over: what it is, and the version of its form. Of version 1
// are those without standings, which earlier versions of this sink wrote.
const (
	handoverHead  = "kafka-transactions 2"
	handoverHead1 = "kafka-transactions 1"
)

// encode writes transactions as lines of text, so that a checkpoint can be read by
// people; nothing if there are none.
func encode(list []pending) []byte {
	if len(list) == 0 {
		return nil
	}
	var b bytes.Buffer
	b.WriteString(handoverHead + "\n")
	for _, p := range list {
		fmt.Fprintf(&b, "%s%d %d %d %d %s\n", p.standing, p.producer, p.epoch, p.version, p.records, p.id)
	}
	return b.Bytes()
}

func decode(handover []byte) ([]pending, error) {
	if len(handover) == 0 {
		return nil, nil
	}
	head, rest, _ := strings.Cut(string(handover), "\n")
	if head != handoverHead && head != handoverHead1 {
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
	for _, word := range []standing{wasLast, takenByThen} {
		var has bool
		if rest, has = strings.CutPrefix(rest, string(word)); has {
			p.standing = word
		}
	}
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
	return pending{rest, numbers[0], int16(numbers[1]), int16(numbers[2]), numbers[3], p.standing}, nil
}
