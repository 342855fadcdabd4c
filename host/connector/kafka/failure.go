package kafka

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// recordFailed notes that a record could not be written. The client calls it.
func (s *Sink) recordFailed(r *kgo.Record, err error) {
	if errors.Is(err, kerr.InvalidTimestamp) {
		s.mu.Lock()
		s.times.add(r.Timestamp)
		s.mu.Unlock()
	}
	err = s.explain(r, err)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed++
	if s.options.Delivery == None {
		if s.ctx.Err() == nil {
			s.told.warn("a record could not be written, and is lost", "topic", s.options.Topic, "error", err, "lost", s.failed)
		}
		return
	}
	if s.failure == nil {
		s.failure = err
	}
}

// Lost is how many records could not be written with None, whose job goes on.
func (s *Sink) Lost() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed
}

// trouble says why the sink cannot go on; nil if it can.
func (s *Sink) trouble() error {
	if s.ctx.Err() != nil {
		return errInterrupted
	}
	s.mu.Lock()
	failure := s.failure
	s.mu.Unlock()
	if errors.Is(failure, kerr.InvalidTimestamp) {
		return s.refusedTimes()
	}
	return failure
}

// span are the times of the records that were refused for their times. A broker refuses a
// batch whole, and the client all behind it, and does not hand on which record was at
// fault; but if one is too old the oldest is, and if one is too new the newest.
type span struct{ oldest, newest time.Time }

func (s *span) add(t time.Time) {
	if s.oldest.IsZero() || t.Before(s.oldest) {
		s.oldest = t
	}
	if t.After(s.newest) {
		s.newest = t
	}
}

// refusedTimeout bounds the wait for all of the records that were refused together.
const refusedTimeout = time.Second

// refusedTimes says that the topic does not take the times of some records. The client
// tells of one after the other, so it waits for the rest.
func (s *Sink) refusedTimes() error {
	ctx, cancel := context.WithTimeout(s.ctx, refusedTimeout)
	defer cancel()
	for _, p := range s.pool {
		if p.client != nil {
			_ = p.client.Flush(ctx) // how it ends makes no difference
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	what := "a record of the time " + shown(s.times.oldest)
	if s.times.newest.After(s.times.oldest) {
		what = "some of the records of the times from " + shown(s.times.oldest) + " to " + shown(s.times.newest)
	}
	return s.badTime(what)
}

func shown(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

func (s *Sink) badTime(what string) error {
	return &TopicError{s.options.Topic, "it does not take " + what +
		": its settings message.timestamp.before.max.ms and message.timestamp.after.max.ms say how far that may be from now; set them, or write without timestamps", kerr.InvalidTimestamp}
}

// explain says what a broker's refusal means for whoever wrote the job.
func (s *Sink) explain(r *kgo.Record, err error) error {
	topic := s.options.Topic
	switch {
	case errors.Is(err, kerr.MessageTooLarge), errors.Is(err, kerr.RecordListTooLarge):
		if r != nil {
			return &TopicError{topic, fmt.Sprintf("the record with key %.60q has %d bytes, more than batch-bytes-max (%d) or the topic's max.message.bytes allow",
				r.Key, len(r.Key)+len(r.Value), s.options.BatchBytesMax), err}
		}
	case errors.Is(err, kerr.InvalidTimestamp):
		if r != nil {
			return s.badTime("a record of the time " + shown(r.Timestamp) + ", or one that was sent with it")
		}
	case errors.Is(err, kerr.UnknownTopicOrPartition), errors.Is(err, kerr.UnknownTopicID):
		return &TopicError{topic, "the topic or the partition is not there any more: was it deleted?", err}
	case errors.Is(err, kerr.InvalidTransactionTimeout):
		return setting("transaction-timeout is %v, which is more than the brokers allow (transaction.max.timeout.ms): %w", s.options.TransactionTimeout, err)
	case errors.Is(err, kerr.ProducerFenced), errors.Is(err, kerr.InvalidProducerEpoch), errors.Is(err, kerr.InvalidTxnState), errors.Is(err, kerr.InvalidProducerIDMapping):
		return &FencedError{Prefix: s.options.TransactionalIDPrefix, Timeout: s.options.TransactionTimeout, Err: err}
	}
	return &TopicError{topic, "cannot write", err}
}
