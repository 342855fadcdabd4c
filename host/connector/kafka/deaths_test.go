package kafka_test

import (
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wasmstream/wasmstream/host/connector/kafka"
)

// mortal is a sink that dies at any moment, again and again, and what its job's checkpoints would have kept. It writes
// numbers, each to the partition of its key.
type mortal struct {
	b        *broker
	topic    string
	random   *rand.Rand
	numbers  int           // that are in the newest checkpoint
	handover []byte        // in it
	noted    bool          // that it was committed
	longest  time.Duration // that its next life may be: on a busy machine a short one comes to no checkpoint
}

// shortest is the longest life behind one with a checkpoint.
const shortest = 400 * time.Millisecond

// live lives until a sudden end: the network goes away for good, but what was sent may still come to the broker when the
// next life has begun.
func (m *mortal) live() error {
	var line outage
	o := m.b.exactly(m.topic)
	o.Dialer = line.dial
	s, err := kafka.NewSink(o)
	if err != nil {
		return err
	}
	die := func() {
		line.set(true)
		s.Interrupt()
	}
	m.longest *= 2
	death := time.AfterFunc(time.Duration(m.random.Int64N(int64(m.longest))), die)
	defer func() {
		death.Stop()
		die()
		s.Close()
	}()
	if err := m.recover(s); err != nil {
		return err
	}
	for range 1 + m.random.IntN(12) {
		if over, err := m.checkpoint(s); err != nil || over {
			return err
		}
	}
	return nil
}

// recover is what a job does before it goes on.
func (m *mortal) recover(s *kafka.Sink) error {
	if !m.noted {
		if err := s.Recover(m.handover); err != nil {
			return err
		}
		m.noted = true
	}
	return s.Open(m.handover)
}

// checkpoint writes some numbers, or none, hands them over and commits them; its life may be over before each of the steps.
func (m *mortal) checkpoint(s *kafka.Sink) (over bool, err error) {
	over = m.random.IntN(8) == 0
	n := m.numbers
	for range m.random.IntN(4) {
		var values, keys []string
		for range 1 + m.random.IntN(60) {
			values, keys = append(values, strconv.Itoa(n)), append(keys, "k"+strconv.Itoa(n%50))
			n++
		}
		if err := s.Write(records(values, keys...)); err != nil {
			return false, err
		}
	}
	h, err := s.Handover(false)
	if err != nil || over && m.random.IntN(3) == 0 {
		return over, err
	}
	m.numbers, m.handover, m.noted, m.longest = n, h, false, shortest
	if over && m.random.IntN(2) == 0 {
		return over, nil
	}
	if err := s.Commit(); err != nil || over {
		return over, err
	}
	m.noted = true
	return false, nil
}

// TestSinksThatDie lets some sinks die so often, with make kill-kafka thousands of times, and now and then the broker.
func TestSinksThatDie(t *testing.T) {
	deaths, sinks, broken := 20, 4, false
	if v := os.Getenv("WASMSTREAM_KILLS"); v != "" {
		kills, err := strconv.Atoi(v)
		must(t, err)
		deaths, broken = kills*10/sinks, true
	}
	seed, _ := strconv.ParseUint(os.Getenv("WASMSTREAM_KILL_SEED"), 10, 64)
	eachKafka(t, func(t *testing.T, b *broker) {
		if broken {
			b = restartable(t, b)
		}
		var alive sync.WaitGroup
		all := make([]*mortal, sinks)
		for i := range all {
			m := &mortal{b: b, topic: b.topic(t, 3), random: rand.New(rand.NewPCG(seed, uint64(i))), noted: true, longest: shortest}
			all[i] = m
			alive.Go(func() {
				for range deaths {
					if err := m.live(); errors.As(err, new(*kafka.LostError)) || errors.As(err, new(*kafka.OvertakenError)) {
						t.Error(err)
					}
				}
			})
		}
		over := make(chan struct{})
		go func() {
			alive.Wait()
			close(over)
		}()
		if broken {
			breakNowAndThen(t, b, rand.New(rand.NewPCG(seed, 99)), over)
		}
		<-over
		for _, m := range all {
			m.check(t)
		}
	})
}

// breakNowAndThen kills a broker and starts it again, until it is over.
func breakNowAndThen(t *testing.T, b *broker, random *rand.Rand, over chan struct{}) {
	t.Helper()
	for {
		select {
		case <-over:
			return
		case <-time.After(time.Duration(3000+random.IntN(9000)) * time.Millisecond):
		}
		b.kill(t)
		b.restart(t)
	}
}

// check wants each number that is in a checkpoint once, and those of a partition in order.
func (m *mortal) check(t *testing.T) {
	t.Helper()
	s := newSink(t, m.b.exactly(m.topic))
	must(t, m.recover(s))
	must(t, s.Close())
	m.b.settle(t, m.topic)
	r := open(t, kafka.SourceOptions{Connection: m.b.connection(), Topics: []string{m.topic}, Bounded: true})
	if err := r.toEnd(); err != io.EOF {
		t.Fatal(err)
	}
	times := make([]int, m.numbers)
	for split, values := range r.values {
		last := -1
		for _, v := range values {
			n, err := strconv.Atoi(v)
			if err != nil || n <= last || n >= m.numbers {
				t.Errorf("%s has %s behind %d, of %d", split, v, last, m.numbers)
				return
			}
			times[n]++
			last = n
		}
	}
	want := make([]int, m.numbers)
	for i := range want {
		want[i] = 1
	}
	if d := cmp.Diff(want, times); d != "" {
		t.Errorf("%s: how often each number came (-want +got)\n%s", m.topic, d)
	}
	if m.numbers == 0 {
		t.Errorf("%s: no life was long enough for a checkpoint", m.topic)
	}
}
