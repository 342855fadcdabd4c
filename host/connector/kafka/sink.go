package kafka

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/wasmstream/wasmstream/host/connector"
)

// poolLeast is how many transaction ids rotate: one that is written, one that is
// handed over, one that was committed last (R). More are made as checkpoints fail.
const poolLeast = 3

// abortTimeout bounds what Abort waits for brokers.
const abortTimeout = 10 * time.Second

// bufferedRecordsMax is what a client holds if records are small.
const bufferedRecordsMax = 128 << 10

var errInterrupted = errors.New("the kafka sink was interrupted")

// Sink writes to a topic. With ExactlyOnce a checkpoint's records are one transaction:
//
//	Write begins a transaction on a free id. Handover flushes it and returns what is
//	needed to commit it. Write goes on in the next transaction, on another id.
//	Commit ends it by hand, again and again until a broker confirms; the transaction's
//	client, which might give it up, is told later. If a commit fails in the end, the
//	client is never used again.
//
// With AtLeastOnce, records become visible as they are sent, and Handover waits until
// all are; its hand-over is empty, and what was written after the newest checkpoint is
// written again after a crash. With None, it waits only at the end.
type Sink struct {
	options SinkOptions
	log     *slog.Logger
	form    form
	lots    *lots
	ctx     context.Context // ends with Interrupt, Close and Abort
	cancel  context.CancelFunc
	control *transactions

	holders map[string]holder // of ids that were taken at Open
	pool    []*producer
	turn    int
	current *producer   // nil: no transaction was begun
	pending []*producer // handed over, oldest first
	resting []*producer // committed after the newest checkpoint, or not at their end in the topic (R)
	blind   bool        // the brokers do not say what is open in the topic
	commits int64       // with results, of this run and those that it goes on from; or uncounted
	kept    int         // numbers of them that the brokers were seen to keep
	final   bool        // the last hand-over was
	ended   bool

	mu      sync.Mutex
	failure error // of a record
	times   span  // of records that were refused for them
	failed  int64 // records, with None
	told    teller
}

// producer writes the transactions of an id, or without one.
type producer struct {
	id        string
	client    *kgo.Client // nil: to be made
	holder    holder      // of the id, while there is no client
	unsure    bool        // the id was asked for, and the answer got lost
	writer    holder      // of the transaction, from its beginning on
	begun     time.Time   // when the first record of the transaction was written
	records   int64       // in the transaction
	state     pending     // once it was handed over
	committed bool        // state was, and the client has not been told
	busy      bool        // written, handed over or resting
}

// NewSink makes a sink; it connects at Recover or Open.
func NewSink(options SinkOptions) (*Sink, error) {
	if err := options.Validate(); err != nil {
		return nil, err
	}
	o := &options
	o.Tasks = max(o.Tasks, 1)
	if o.Linger == 0 {
		o.Linger = lingerSoon
		if o.Delivery == ExactlyOnce {
			o.Linger = lingerForMore
		}
	}
	if o.BatchBytesMax == 0 {
		o.BatchBytesMax = defaultBatchBytesMax
	}
	if o.BufferBytesMax == 0 {
		o.BufferBytesMax = defaultBufferBytesMax
	}
	control, err := newTransactions(&o.Connection)
	if err != nil {
		return nil, fmt.Errorf("kafka sink: %w", err)
	}
	s := &Sink{options: options, log: o.logger(), control: control, told: teller{log: o.logger()},
		form: form{topic: o.Topic, times: o.Timestamps, columns: o.ColumnHeaders}}
	for _, h := range o.Headers {
		s.form.static = append(s.form.static, kgo.RecordHeader{Key: h.Name, Value: []byte(h.Value)})
	}
	s.lots = newLots(s.recordFailed)
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s, nil
}

// Recover implements connector.Sink.
func (s *Sink) Recover(handover []byte) error {
	h, err := s.decode(handover)
	if err != nil || len(h.list) == 0 {
		return err
	}
	beyond, _, err := s.beyond(s.ctx, h)
	if err != nil {
		return s.explainEnd(err)
	}
	later := beyond > 0 && h.commits != uncounted
	var errs []error // what can be committed is, whatever else is lost
	for _, p := range h.list {
		errs = append(errs, s.recommit(p, later))
	}
	if err := errors.Join(errs...); err != nil || later {
		return s.explainEnd(err)
	}
	return s.explainEnd(s.count(h.commits))
}

// explainEnd says that a call ended because of Interrupt, if it did.
func (s *Sink) explainEnd(err error) error {
	if err != nil && s.ctx.Err() != nil {
		return errInterrupted
	}
	return err
}

// Open implements connector.Sink. Of the hand-over it only looks whether it is the
// newest: what it counts has been committed, and all else under this sink's ids is
// given up.
func (s *Sink) Open(handover []byte) error {
	h, err := s.decode(handover)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(s.ctx, s.options.connectTimeout())
	defer cancel()
	if err = s.findTopic(ctx); err == nil && s.options.Delivery == ExactlyOnce {
		if err = s.checkOvertaken(ctx, h); err == nil {
			err = s.takeIDs(ctx)
		}
	}
	if err != nil {
		if s.ctx.Err() != nil {
			return errInterrupted
		}
		return fmt.Errorf("cannot write: %w", err)
	}
	if s.options.Delivery != ExactlyOnce {
		s.pool = []*producer{{}}
		return s.connect(s.pool[0])
	}
	return nil
}

// findTopic wants the topic to be there: it is not made by writing to it.
func (s *Sink) findTopic(ctx context.Context) error {
	missing := 0
	return s.control.persist(ctx, "no broker says whether there is a topic "+s.options.Topic, func() error {
		request := kmsg.NewPtrMetadataRequest()
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = &s.options.Topic
		request.Topics = append(request.Topics, t)
		response, err := request.RequestWith(ctx, s.control.client)
		if err != nil {
			return err
		}
		for _, t := range response.Topics {
			err = kerr.ErrorForCode(t.ErrorCode)
		}
		if err == kerr.UnknownTopicOrPartition {
			if missing++; missing >= missingMax {
				return &TopicError{Topic: s.options.Topic, Reason: "there is no such topic"}
			}
		}
		return err
	})
}

// takeIDs gives up what is open under the ids of this task, and of those that an
// earlier run had beyond the tasks of this one, and takes the ids.
func (s *Sink) takeIDs(ctx context.Context) error {
	o := &s.options
	if err := s.control.learn(ctx); err != nil {
		return err
	}
	if err := s.checkTimeout(ctx); err != nil {
		return err
	}
	listed, err := s.control.list(ctx, o.TransactionalIDPrefix)
	if err != nil {
		return err
	}
	ids := map[string]bool{}
	for _, id := range listed {
		if task, ok := taskOf(id, o.TransactionalIDPrefix); ok && task%o.Tasks == o.Task {
			ids[id] = true
		}
	}
	for k := range poolLeast {
		ids[transactionalID(o.TransactionalIDPrefix, o.Task, k)] = true
	}
	all := slices.Sorted(maps.Keys(ids))
	if err := s.conclude(ctx, all); err != nil {
		return err
	}
	s.holders = map[string]holder{}
	for _, id := range all {
		if s.holders[id], err = s.control.fence(ctx, id, o.TransactionTimeout); err != nil {
			return err
		}
	}
	if err := s.conclude(ctx, all); err != nil { // what was given up just now
		return err
	}
	s.pool, s.turn = nil, -1
	for len(s.pool) < poolLeast {
		s.grow()
	}
	return nil
}

// checkTimeout wants the brokers to allow the transaction timeout.
func (s *Sink) checkTimeout(ctx context.Context) error {
	o := &s.options
	longest, err := s.control.timeoutMax(ctx)
	switch {
	case err != nil:
		return err
	case o.TransactionTimeout == 0:
		o.TransactionTimeout = defaultTransactionTimeout
		if longest > 0 {
			o.TransactionTimeout = min(o.TransactionTimeout, longest)
		}
	case longest > 0 && o.TransactionTimeout > longest:
		return setting("transaction-timeout is %v, and the brokers allow %v (transaction.max.timeout.ms): set it to that or less; a job that does not set it asks for %v", o.TransactionTimeout, longest, defaultTransactionTimeout)
	}
	var p problems
	o.checkTimeout(&p)
	return p.err("kafka sink")
}

// grow adds an id to the pool.
func (s *Sink) grow() *producer {
	p := &producer{id: transactionalID(s.options.TransactionalIDPrefix, s.options.Task, len(s.pool)), holder: nobody}
	if h, there := s.holders[p.id]; there {
		p.holder = h
	}
	s.pool = append(s.pool, p)
	return p
}

// connect makes the client of a producer.
func (s *Sink) connect(p *producer) error {
	o := &s.options
	opts, err := o.Connection.options()
	if err != nil {
		return err
	}
	opts = append(opts,
		kgo.WithContext(s.ctx),
		kgo.RecordPartitioner(partitioner{kgo.StickyKeyPartitioner(nil)}),
		kgo.ProducerBatchCompression(codecs[o.Compression]),
		kgo.ProducerLinger(o.Linger),
		kgo.ProducerBatchMaxBytes(int32(o.BatchBytesMax)),
		kgo.MaxBufferedBytes(o.BufferBytesMax),
		kgo.MaxBufferedRecords(bufferedRecordsMax),
	)
	switch o.Delivery {
	case ExactlyOnce:
		opts = append(opts, kgo.TransactionalID(p.id), kgo.TransactionTimeout(o.TransactionTimeout))
	case None:
		opts = append(opts, kgo.RequiredAcks(kgo.LeaderAck()), kgo.DisableIdempotentWrite())
	}
	p.client, err = kgo.NewClient(opts...)
	return err
}

// Write implements connector.Sink. It waits while the buffer is full.
func (s *Sink) Write(r *connector.Records) error {
	if err := s.trouble(); err != nil {
		return err
	}
	if r.Len() == 0 {
		return nil
	}
	p, err := s.begin()
	if err != nil {
		return s.explainEnd(err)
	}
	if p.records == 0 {
		p.begun = time.Now()
	}
	p.records += int64(r.Len())
	t := s.lots.take()
	t.fill(r, &s.form)
	for i := range t.records {
		p.client.Produce(s.ctx, &t.records[i], t.promise)
	}
	return s.trouble()
}

// begin returns the producer to write with; if it has no transaction, it begins one.
func (s *Sink) begin() (*producer, error) {
	if s.options.Delivery != ExactlyOnce {
		return s.pool[0], nil
	}
	if s.current != nil {
		return s.current, nil
	}
	p := s.rested()
	s.settle(p)
	err := s.control.persist(s.ctx, "transaction "+p.id+" could not be begun", func() error {
		if p.client == nil {
			if err := s.claim(p); err != nil {
				return err
			}
		}
		err := p.client.BeginTransaction()
		if err == nil {
			p.writer.producer, p.writer.epoch, err = p.client.ProducerID(s.ctx)
		}
		if err != nil {
			p.drop()
			p.unsure = true
		}
		return err
	})
	if err != nil {
		return nil, s.explain(nil, err)
	}
	p.busy, p.committed, p.records = true, false, 0
	s.current = p
	return p, nil
}

// claim makes the client of an id. That takes the id from whoever holds it, so it is
// not done if another run does: the newer copy of a job is not to lose its records
// to one that wakes up late, and finds itself without a client for the id. Nobody holds
// an id beyond the pool; then what was handed over last is looked at.
func (s *Sink) claim(p *producer) error {
	id, h := p.id, p.holder
	if n := len(s.pending); h == nobody && n > 0 {
		last := s.pending[n-1].state
		id, h = last.id, holder{last.producer, last.epoch}
	}
	if !p.unsure {
		still, err := s.control.holds(s.ctx, id, h)
		if err != nil {
			return err
		}
		if !still {
			return kerr.ProducerFenced
		}
	}
	p.unsure = false
	return s.connect(p)
}

// rested returns an id that is not in use, in turn.
func (s *Sink) rested() *producer {
	for range s.pool {
		s.turn++
		if p := s.pool[s.turn%len(s.pool)]; !p.busy {
			return p
		}
	}
	return s.grow()
}

// drop closes a client that must not be used any more.
func (p *producer) drop() {
	if p.client != nil {
		p.client.Close()
		p.client = nil
	}
}

// Handover implements connector.Sink.
func (s *Sink) Handover(final bool) ([]byte, error) {
	if err := s.trouble(); err != nil {
		return nil, err
	}
	s.final = final
	switch s.options.Delivery {
	case None:
		if !final {
			return nil, nil
		}
		fallthrough
	case AtLeastOnce:
		return nil, s.flush(s.pool[0])
	}
	if p := s.current; p != nil && p.records > 0 { // brokers refuse to end a transaction without records
		if err := s.seal(p); err != nil {
			return nil, err
		}
		s.pending = append(s.pending, p)
		s.current = nil
	}
	h := handedOver{counter: s.counter(), commits: s.commits}
	for _, p := range s.pending {
		h.list = append(h.list, p.state)
	}
	if len(h.list) > 0 && h.commits != uncounted {
		h.commits++
	}
	return h.encode(), nil
}

// flush waits until all records are sent, and says whether all were taken: the client
// does not.
func (s *Sink) flush(p *producer) error {
	if err := p.client.Flush(s.ctx); err != nil {
		return s.explainEnd(err)
	}
	return s.trouble()
}

// seal makes a transaction ready to be handed over.
func (s *Sink) seal(p *producer) error {
	if err := s.flush(p); err != nil {
		return err
	}
	if age := time.Since(p.begun); age > s.options.TransactionTimeout {
		return fmt.Errorf("topic %s: transaction %s has been open for %v and its timeout is %v: the broker has given it up; checkpoints must come sooner, or transaction-timeout be longer",
			s.options.Topic, p.id, age.Round(time.Millisecond), s.options.TransactionTimeout)
	}
	producer, epoch, err := p.client.ProducerID(s.ctx)
	if err != nil {
		return s.explainEnd(s.explain(nil, err))
	}
	if w := (holder{producer, epoch}); w != p.writer {
		return fmt.Errorf("topic %s: transaction %s was begun by producer %d of epoch %d, and is written by %d of epoch %d: the first of its records were given up",
			s.options.Topic, p.id, p.writer.producer, p.writer.epoch, producer, epoch)
	}
	p.state = pending{p.id, producer, epoch, s.control.version, p.records}
	return nil
}

// Commit implements connector.Sink.
func (s *Sink) Commit() error {
	if s.ctx.Err() != nil {
		return errInterrupted
	}
	rested := len(s.resting) // a later checkpoint than the one that committed them is durable (R)
	some := len(s.pending) > 0
	for len(s.pending) > 0 {
		if err := s.commit(s.pending[0]); err != nil {
			return s.explainEnd(err)
		}
		s.resting = append(s.resting, s.pending[0])
		s.pending = s.pending[1:]
	}
	if some && s.commits != uncounted {
		s.commits++
		if err := s.count(s.commits); err != nil {
			return s.explainEnd(err)
		}
	}
	if err := s.free(rested); err != nil {
		return s.explainEnd(err)
	}
	s.ended = s.final
	return nil
}

// free lets the first of the ids that rest be used again, if their transactions are at their
// end in the topic, too. At the end of the job it waits until those of all are.
func (s *Sink) free(rested int) error {
	var ids []string
	held := map[string]holder{}
	for _, p := range s.resting {
		ids, held[p.id] = append(ids, p.id), p.holder
	}
	if s.final {
		return s.conclude(s.ctx, ids)
	}
	left, err := s.unmarked(s.ctx, ids[:rested], held)
	if err != nil {
		return err
	}
	still := s.resting[:0]
	for i, p := range s.resting {
		if p.busy = i >= rested || slices.Contains(left, p.id); p.busy {
			still = append(still, p)
		}
	}
	s.resting = still
	return nil
}

// commit ends a transaction by hand, whatever its producer's client thinks of it. The
// client is told when it is to begin its next one (settle).
func (s *Sink) commit(p *producer) error {
	h, err := s.control.commit(s.ctx, p.state)
	if p.holder, p.committed = h, err == nil; err != nil {
		p.drop()
	}
	return err
}

// settle has a producer's client commit a transaction once more that was committed by
// hand. The broker gives the same answer again, and with it the epoch of the next
// transaction. A client to which it says anything else is not used any more.
//
// Its client must not be the one that commits. Told as a sequence, of franz-go v1.22.3:
//
//	The client learns of a topic that it is to write. It gives the partitions the
//	records that wait for it, and only then notes the partitions. In between the
//	records are sent and confirmed, and Flush returns. EndTransaction finds no
//	partition with records, and takes the transaction for one in which all failed: it
//	aborts it, though it was told to commit, and returns nil.
func (s *Sink) settle(p *producer) {
	if p.client == nil || !p.committed {
		return
	}
	if err := p.client.EndTransaction(s.ctx, kgo.TryCommit); err != nil {
		p.drop()
	}
}

// Interrupt implements connector.Sink.
func (s *Sink) Interrupt() { s.cancel() }

// Close implements connector.Sink.
func (s *Sink) Close() error {
	s.ended = true
	s.cancel()
	for _, p := range s.pool {
		p.drop()
	}
	s.control.close()
	return nil
}

// Abort implements connector.Sink. It ends transactions by their epochs, which fails
// if another run has taken over the ids, and so leaves that one alone.
func (s *Sink) Abort() error {
	if s.ended {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), abortTimeout)
	defer cancel()
	var errs []error
	for _, p := range s.pending {
		p.drop()
		errs = append(errs, s.giveUp(ctx, p.state))
	}
	if p := s.current; p != nil && p.records > 0 && p.client != nil {
		producer, epoch, err := p.client.ProducerID(ctx)
		p.drop()
		if err == nil { // else the broker gave it up, or the next Open does
			errs = append(errs, s.giveUp(ctx, pending{p.id, producer, epoch, s.control.version, p.records}))
		}
	}
	return errors.Join(append(errs, s.Close())...)
}

// giveUp aborts a transaction. If the broker did so already, that is as well.
func (s *Sink) giveUp(ctx context.Context, p pending) error {
	_, err := s.control.end(ctx, p, false)
	if lostBecause(err) != "" {
		return nil
	}
	return err
}

// PrefixUsed says whether the cluster knows transactions of this sink's prefix, of
// any task and in any state. Another job's prefix may begin with this one and a slash.
// Brokers forget an id that was not used for
// transactional.id.expiration.ms, which is 7 days unless it was set.
func (s *Sink) PrefixUsed(ctx context.Context) (bool, error) {
	prefix := s.options.TransactionalIDPrefix
	ids, err := s.control.list(ctx, prefix)
	return slices.ContainsFunc(ids, func(id string) bool {
		_, written := taskOf(id, prefix)
		return written || countsFor(id, prefix)
	}), err
}
