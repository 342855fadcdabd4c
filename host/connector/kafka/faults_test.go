package kafka_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/wasmstream/wasmstream/host/connector/kafka"
)

// line is a network that loses one request, or the answer to it, and with it the
// connection.
type line struct {
	mu       sync.Mutex
	sent     []int16      // the kinds of requests so far
	fail     int          // which request; -1: none
	of       kmsg.Request // of those of this kind; nil: of all
	answer   bool         // its answer is lost, not the request
	happened bool
	crash    func() // not nil: from then on nothing goes through, and this is called once
}

var errLine = errors.New("the line is cut")

func (l *line) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if l.dead() {
		return nil, errLine
	}
	var d net.Dialer
	c, err := d.DialContext(ctx, network, address)
	return &cut{Conn: c, line: l}, err
}

// count is how many requests of a kind were sent. The lock is held.
func (l *line) count(kind int16) (n int) {
	for _, k := range l.sent {
		if k == kind {
			n++
		}
	}
	return n
}

func (l *line) dead() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.happened && l.crash != nil
}

// cut is a connection of a line. A client writes a request by one Write.
type cut struct {
	net.Conn
	line *line
	mu   sync.Mutex
	deaf bool
}

func (c *cut) Write(b []byte) (int, error) {
	l := c.line
	if l.dead() {
		return 0, errors.Join(errLine, c.Conn.Close())
	}
	l.mu.Lock()
	kind := int16(binary.BigEndian.Uint16(b[4:]))
	n := len(l.sent)
	if l.of != nil {
		n = l.count(l.of.Key())
	}
	l.sent = append(l.sent, kind)
	fails := n == l.fail && (l.of == nil || l.of.Key() == kind)
	l.happened = l.happened || fails
	l.mu.Unlock()
	if !fails {
		return c.Conn.Write(b)
	}
	if l.crash != nil {
		defer l.crash()
	}
	if l.answer {
		c.mu.Lock()
		c.deaf = true
		c.mu.Unlock()
		return c.Conn.Write(b)
	}
	return 0, errors.Join(errLine, c.Conn.Close())
}

func (c *cut) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b) // so the broker has done what was asked
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.deaf || c.line.dead() {
		return 0, errors.Join(errLine, c.Conn.Close())
	}
	return n, err
}

// job is what an engine does with a sink: it writes five checkpoints' records, and
// whenever a call fails it begins anew from the newest checkpoint.
type job struct {
	t        *testing.T
	options  kafka.SinkOptions
	first    *line  // the network of the first attempt; nil: one that works
	durable  int    // checkpoints
	handover []byte // of the newest
	noted    bool   // that nothing is left to commit of it
	restarts int
}

const jobCheckpoints = 5

func (j *job) run() {
	for j.restarts = 0; ; j.restarts++ {
		o := j.options
		if j.first != nil && j.restarts == 0 {
			o.Dialer = j.first.dial
		}
		s, err := kafka.NewSink(o)
		must(j.t, err)
		if j.first != nil && j.first.crash != nil {
			j.first.crash = s.Interrupt
		}
		err = j.attempt(s)
		must(j.t, s.Close())
		var lost *kafka.LostError
		if errors.As(err, &lost) || j.restarts > 10 {
			j.t.Fatal(err)
		}
		if err == nil {
			return
		}
	}
}

func (j *job) attempt(s *kafka.Sink) error {
	if !j.noted {
		if err := s.Recover(j.handover); err != nil {
			return err
		}
		j.noted = true
	}
	if err := s.Open(j.handover); err != nil {
		return err
	}
	for j.durable < jobCheckpoints {
		if err := s.Write(records(numbered(fmt.Sprint("c", j.durable, "-"), 3))); err != nil {
			return err
		}
		h, err := s.Handover(j.durable == jobCheckpoints-1)
		if err != nil {
			return err
		}
		j.durable++
		j.handover, j.noted = h, false
		if err := s.Commit(); err != nil {
			return err
		}
	}
	return nil
}

func (j *job) want() (values []string) {
	for i := range jobCheckpoints {
		values = append(values, numbered(fmt.Sprint("c", i, "-"), 3)...)
	}
	return values
}

// kinds are the kinds of requests that a sink sends; old brokers want one more.
var kinds = []kmsg.Request{
	kmsg.NewPtrApiVersionsRequest(), kmsg.NewPtrMetadataRequest(), kmsg.NewPtrFindCoordinatorRequest(),
	kmsg.NewPtrInitProducerIDRequest(), kmsg.NewPtrAddPartitionsToTxnRequest(), kmsg.NewPtrProduceRequest(), kmsg.NewPtrEndTxnRequest(),
	kmsg.NewPtrListTransactionsRequest(), kmsg.NewPtrDescribeTransactionsRequest(), kmsg.NewPtrDescribeConfigsRequest(),
}

// everyRequest plays a small job again and again: each time another request, or the
// answer to it, is lost. It says how often the job began anew.
func everyRequest(t *testing.T, b *broker, crash bool) (restarts int) {
	failed := 0
	for _, kind := range kinds {
		for _, answer := range []bool{false, true} {
			for fails := 0; ; fails++ {
				topic := b.topic(t, 1)
				l := &line{fail: fails, of: kind, answer: answer}
				if crash {
					l.crash = func() {}
				}
				j := &job{t: t, options: b.exactly(topic), first: l}
				j.run()
				restarts += j.restarts
				wantSettled(t, b, topic, j.want()...)
				if t.Failed() {
					t.Fatalf("request %d of kind %s, answer lost: %v; %d restarts", fails, kmsg.NameForKey(kind.Key()), answer, j.restarts)
				}
				if !l.happened {
					if fails == 0 && kind.Key() != kmsg.AddPartitionsToTxn.Int16() {
						t.Errorf("no request of kind %s was sent", kmsg.NameForKey(kind.Key()))
					}
					break // there are no more
				}
				failed++
			}
		}
	}
	t.Logf("%d requests or answers were lost, the job began anew %d times", failed, restarts)
	return restarts
}

func TestEveryRequestFailsOnce(t *testing.T) { everyRequest(t, fakeKafka(t), false) }

// The process ends at each request, before the broker has it or before it is answered.
func TestACrashAtEveryRequest(t *testing.T) {
	t.Run("fake", func(t *testing.T) {
		if everyRequest(t, fakeKafka(t), true) < 50 {
			t.Error("the job hardly ever began anew")
		}
	})
	eachKafka(t, func(t *testing.T, b *broker) { everyRequest(t, b, true) })
}

// fakeKafka starts a broker within the test.
func fakeKafka(t testing.TB, opts ...kfake.Opt) *broker {
	t.Helper()
	c, err := kfake.NewCluster(append([]kfake.Opt{kfake.NumBrokers(1)}, opts...)...)
	must(t, err)
	t.Cleanup(c.Close)
	return &broker{address: c.ListenAddrs()[0]}
}

// A coordinator that is starting, or has moved, is asked again until it answers.
func TestEveryAnswerIsAnErrorOnce(t *testing.T) {
	for _, key := range []kmsg.Key{kmsg.EndTxn, kmsg.InitProducerID, kmsg.FindCoordinator, kmsg.ListTransactions} {
		for _, code := range []int16{14, 15, 16, 51} { // loading, not available, not the coordinator, concurrent transactions
			for at := range 12 {
				c, err := kfake.NewCluster(kfake.NumBrokers(1))
				must(t, err)
				b := &broker{address: c.ListenAddrs()[0]}
				seen, done := 0, false
				c.ControlKey(key.Int16(), func(r kmsg.Request) (kmsg.Response, error, bool) {
					c.KeepControl()
					if seen++; seen != at+1 {
						return nil, nil, false
					}
					done = true
					return refusal(r, code), nil, true
				})
				topic := b.topic(t, 1)
				j := &job{t: t, options: b.exactly(topic)}
				j.run()
				wantSettled(t, b, topic, j.want()...)
				c.Close()
				if !done {
					break
				}
			}
		}
	}
}

// refusal answers a request with an error.
func refusal(r kmsg.Request, code int16) kmsg.Response {
	response := r.ResponseKind()
	switch a := response.(type) {
	case *kmsg.EndTxnResponse:
		a.ErrorCode = code
	case *kmsg.InitProducerIDResponse:
		a.ErrorCode = code
	case *kmsg.ListTransactionsResponse:
		a.ErrorCode = code
	case *kmsg.FindCoordinatorResponse:
		a.ErrorCode = code
		for _, k := range r.(*kmsg.FindCoordinatorRequest).CoordinatorKeys {
			c := kmsg.NewFindCoordinatorResponseCoordinator()
			c.Key, c.ErrorCode = k, code
			a.Coordinators = append(a.Coordinators, c)
		}
	}
	return response
}

// killedWhile kills the broker, lets the call wait for it, starts it again, and does
// what then is to be done.
func killedWhile(t *testing.T, b *broker, call func() error, then ...func()) {
	t.Helper()
	b.kill(t)
	done := make(chan error, 1)
	go func() { done <- call() }()
	select {
	case err := <-done:
		t.Fatalf("it did not wait for the broker: %v", err)
	case <-time.After(500 * time.Millisecond):
	}
	down := time.Now()
	b.restart(t)
	up := time.Now()
	for _, f := range then {
		f()
	}
	defer func() {
		t.Logf("the broker was back after %v, and the call %v later", up.Sub(down).Round(time.Millisecond), time.Since(up).Round(time.Millisecond))
	}()
	select {
	case err := <-done:
		must(t, err)
	case <-time.After(patience):
		t.Fatal("it still waits, although the broker is back")
	}
}

func TestTheBrokerIsKilled(t *testing.T) {
	eachKafka(t, func(t *testing.T, b *broker) {
		b = restartable(t, b)
		topic := b.topic(t, 1)
		s := openSink(t, b.exactly(topic), nil)
		again(t, s, "a")
		must(t, s.Write(records([]string{"b"})))
		handover := handOver(t, s)
		killedWhile(t, b, s.Commit)
		must(t, s.Write(records([]string{"c"})))
		killedWhile(t, b, func() error { _, err := s.Handover(false); return err })
		must(t, s.Commit())
		again(t, s, "d")
		must(t, s.Write(records([]string{"e"})))
		handover = handOver(t, s)
		must(t, s.Close())
		s = newSink(t, b.exactly(topic))
		killedWhile(t, b, func() error { return s.Recover(handover) })
		must(t, s.Open(handover))
		wantSettled(t, b, topic, "a", "b", "c", "d", "e")
	})
}

// A transaction's first commit is no abort in disguise (Sink.settle), whether brokers know
// the topic at once or not. If its client commits, one in some hundred is, if the race
// detector is on.
func TestFirstCommits(t *testing.T) {
	for _, unknown := range []int32{0, 1} {
		t.Run(fmt.Sprint(unknown, " answers without the topic"), func(t *testing.T) {
			c, b := fakeOf(t, 1, 1)
			var fails atomic.Int32
			c.ControlKey(kmsg.Metadata.Int16(), func(r kmsg.Request) (kmsg.Response, error, bool) {
				c.KeepControl()
				request := r.(*kmsg.MetadataRequest)
				if len(request.Topics) != 1 || fails.Add(-1) < 0 {
					return nil, nil, false
				}
				response := request.ResponseKind().(*kmsg.MetadataResponse)
				topic := kmsg.NewMetadataResponseTopic()
				topic.Topic, topic.ErrorCode = request.Topics[0].Topic, kerr.LeaderNotAvailable.Code
				response.Topics = append(response.Topics, topic)
				return response, nil, true
			})
			want := numbered("v", 150)
			for i, v := range want {
				o := b.exactly("t")
				o.TransactionalIDPrefix = fmt.Sprint("t-", i)
				s := openSink(t, o, nil)
				fails.Store(unknown)
				again(t, s, v)
				fails.Store(0)
				must(t, s.Close())
			}
			wantSettled(t, b, "t", want...)
		})
	}
}

// Coordinators of transactions move between brokers while transactions are written,
// handed over and committed.
func TestCoordinatorsThatMove(t *testing.T) {
	c, b := fakeOf(t, 3, 1)
	s := openSink(t, b.exactly("t"), nil)
	want := numbered("v", 30)
	for _, v := range want {
		c.RehashCoordinators()
		must(t, s.Write(records([]string{v})))
		c.RehashCoordinators()
		handOver(t, s)
		c.RehashCoordinators()
		must(t, s.Commit())
	}
	must(t, s.Write(records([]string{"end"})))
	handover := handOver(t, s)
	must(t, s.Close())
	c.RehashCoordinators()
	openSink(t, b.exactly("t"), handover)
	wantSettled(t, b, "t", append(want, "end")...)
}

// At least once, through a crash at every request: nothing is lost.
func TestACrashAtEveryRequestAtLeastOnce(t *testing.T) {
	b := fakeKafka(t)
	for _, answer := range []bool{false, true} {
		for fails := 0; ; fails++ {
			topic := b.topic(t, 1)
			l := &line{fail: fails, answer: answer, crash: func() {}}
			j := &job{t: t, options: b.atLeast(topic), first: l}
			j.run()
			got := map[string]bool{}
			for _, v := range b.committed(t, topic)[topic+"/0"] {
				got[v] = true
			}
			for _, v := range j.want() {
				if !got[v] {
					t.Errorf("request %d, answer lost %v: %s is lost", fails, answer, v)
				}
			}
			if !l.happened {
				if fails < 10 {
					t.Errorf("only %d requests failed", fails)
				}
				break
			}
		}
	}
}
