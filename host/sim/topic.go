package sim

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/wasmstream/wasmstream/host/connector"
)

// topic is the outside of a sink with transactions, as Kafka has them: whoever knows a transaction may commit it, and the
// first use of an id after that gives up what is open under it.
type topic struct {
	world   *world
	name    string
	all     []*transaction
	ids     map[string]*transaction // the last one of each id
	visible []string
	final   bool
}

type transaction struct {
	number int
	id     string
	lines  []string
	state  transactionState
}

type transactionState string

const (
	open      transactionState = "open"
	sealed    transactionState = "handed over"
	committed transactionState = "committed"
	aborted   transactionState = "given up"
)

// begin begins a transaction.
func (t *topic) begin(id string) *transaction {
	before := t.ids[id]
	if before != nil && (before.state == open || before.state == sealed) {
		t.world.find("sink %s: id %s is used again while its transaction %d is %s", t.name, id, before.number, before.state)
	}
	if before != nil && !t.world.noted[t.world.newest] && slices.Contains(t.promised(), before.number) {
		t.world.find("sink %s: id %s is used again, and the newest checkpoint may have its transaction %d to commit", t.name, id, before.number)
	}
	tx := &transaction{number: len(t.all), id: id, state: open}
	t.all = append(t.all, tx)
	t.ids[id] = tx
	return tx
}

// promised are the transactions of the newest durable manifest.
func (t *topic) promised() []int {
	handover, _ := t.world.handover(t.name)
	numbers, _ := t.read(handover)
	return numbers
}

// read reads a hand-over: the numbers of transactions, and whether it is final.
func (t *topic) read(handover []byte) (numbers []int, final bool) {
	for _, word := range strings.Fields(string(handover)) {
		switch word {
		case "transactions":
			continue
		case "final":
			final = true
			continue
		}
		n, err := strconv.Atoi(word)
		if err != nil || n < 0 || n >= len(t.all) {
			t.world.find("sink %s: a hand-over that it never gave out: %q", t.name, handover)
			return nil, false
		}
		numbers = append(numbers, n)
	}
	return numbers, final
}

// commit makes a transaction visible, once.
func (t *topic) commit(number int) {
	switch tx := t.all[number]; {
	case tx.state == committed:
	case tx.state != sealed:
		t.world.find("sink %s: transaction %d is to be committed, and is %s", t.name, number, tx.state)
	default:
		tx.state = committed
		t.visible = append(t.visible, tx.lines...)
		t.world.trace.say("sink %s: transaction %d is committed, %d lines", t.name, number, len(tx.lines))
	}
}

// fence gives up all that was not committed.
func (t *topic) fence() {
	for _, tx := range t.all {
		if tx.state == open || tx.state == sealed {
			tx.state = aborted
			t.world.trace.say("sink %s: transaction %d is given up", t.name, tx.number)
		}
	}
}

// topicSink is a process's part of it.
type topicSink struct {
	topic *topic
	life  *life
	order protocol

	buffer  []string // not sent
	current *transaction
	pending []*transaction // handed over, not committed
	resting []*transaction // committed with the newest checkpoint: their ids are not free yet
	busy    map[string]bool
	ids     int
}

func encodeNumbers(list []*transaction, final bool) []byte {
	words := []string{"transactions"}
	for _, tx := range list {
		words = append(words, strconv.Itoa(tx.number))
	}
	if final {
		words = append(words, "final")
	}
	return []byte(strings.Join(words, " "))
}

// Recover implements connector.Sink.
func (s *topicSink) Recover(handover []byte) error {
	t := s.topic
	if err := s.life.enter(sinkRecover, t.name); err != nil {
		return err
	}
	s.order.recover(s.life, t.name, handover)
	numbers, final := t.read(handover)
	for i, n := range numbers {
		if i > 0 && s.life.fails(s.life.weather.sinks) {
			return errInjected
		}
		t.commit(n)
	}
	t.final = t.final || final
	return s.life.leave(sinkRecovered, s.life.weather.sinks)
}

// Open implements connector.Sink.
func (s *topicSink) Open(handover []byte) error {
	t := s.topic
	if err := s.life.enter(sinkOpen, t.name); err != nil {
		return err
	}
	s.order.open(s.life, t.name, handover)
	numbers, _ := t.read(handover)
	for _, n := range numbers {
		if tx := t.all[n]; tx.state != committed {
			t.world.find("sink %s: it is opened while transaction %d of the checkpoint is %s", t.name, n, tx.state)
		}
	}
	if handover == nil && len(t.visible) > 0 {
		t.world.find("sink %s: it begins anew, and %d lines are committed", t.name, len(t.visible))
	}
	t.fence()
	s.busy = map[string]bool{}
	return s.life.leave(sinkOpened, s.life.weather.sinks)
}

// Write implements connector.Sink. A part of what is written goes out at once.
func (s *topicSink) Write(r *connector.Records) error {
	if err := s.life.enter(sinkWrite, s.topic.name); err != nil {
		return err
	}
	s.order.write(s.topic.world, s.topic.name)
	s.buffer = append(s.buffer, linesOf(r)...)
	if s.life.rand.IntN(2) == 0 {
		s.send()
	}
	return nil
}

// send puts what is buffered into the current transaction.
func (s *topicSink) send() {
	if len(s.buffer) == 0 {
		return
	}
	if s.current == nil {
		s.current = s.topic.begin(s.freeID())
		s.busy[s.current.id] = true
	}
	s.current.lines = append(s.current.lines, s.buffer...)
	s.buffer = nil
}

// freeID is an id that is not in use; there are few.
func (s *topicSink) freeID() string {
	for i := range s.ids {
		if id := fmt.Sprint("id-", i); !s.busy[id] {
			return id
		}
	}
	s.ids++
	return fmt.Sprint("id-", s.ids-1)
}

// Handover implements connector.Sink.
func (s *topicSink) Handover(final bool) ([]byte, error) {
	t := s.topic
	if err := s.life.enter(sinkHandover, t.name); err != nil {
		return nil, err
	}
	s.send()
	if s.current != nil {
		s.current.state = sealed
		s.pending = append(s.pending, s.current)
		s.current = nil
	}
	handover := encodeNumbers(s.pending, final)
	s.order.handOver(t.world, t.name, handover, final)
	return handover, s.life.leave(sinkHandedOver, s.life.weather.sinks)
}

// Commit implements connector.Sink.
func (s *topicSink) Commit() error {
	t := s.topic
	if err := s.life.enter(sinkCommit, t.name); err != nil {
		return err
	}
	s.order.commit(s.life, t.name)
	for _, tx := range s.resting {
		delete(s.busy, tx.id)
	}
	s.resting = nil
	for i, tx := range s.pending {
		if i > 0 && s.life.fails(s.life.weather.sinks) {
			return errInjected
		}
		t.commit(tx.number)
	}
	s.resting, s.pending = s.pending, nil
	t.final = t.final || s.order.final
	return s.life.leave(sinkCommitted, s.life.weather.sinks)
}

// Interrupt implements connector.Sink. No call here waits for anybody.
func (s *topicSink) Interrupt() {}

// Close implements connector.Sink.
func (s *topicSink) Close() error {
	s.order.close()
	return nil
}

// Abort implements connector.Sink.
func (s *topicSink) Abort() error {
	s.order.abort(s.topic.world, s.topic.name)
	return nil
}

// linesOf are the records as lines, each with its key before it if there is one.
func linesOf(r *connector.Records) []string {
	var lines []string
	at := uint32(0)
	for _, end := range r.Ends {
		lines = append(lines, string(r.Data[at:end-1]))
		at = end
	}
	return lines
}
