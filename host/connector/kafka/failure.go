package kafka

import (
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// recordFailed notes that a record could not be written. The client calls it.
func (s *Sink) recordFailed(r *kgo.Record, err error) {
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
	defer s.mu.Unlock()
	return s.failure
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
		at := ""
		if r != nil {
			at = " " + r.Timestamp.UTC().Format(time.RFC3339Nano)
		}
		return &TopicError{topic, "it does not take a record of the time" + at +
			": its settings message.timestamp.before.max.ms and message.timestamp.after.max.ms say how far that may be from now; set them, or write without timestamps", err}
	case errors.Is(err, kerr.UnknownTopicOrPartition), errors.Is(err, kerr.UnknownTopicID):
		return &TopicError{topic, "the topic or the partition is not there any more: was it deleted?", err}
	case errors.Is(err, kerr.InvalidTransactionTimeout):
		return setting("transaction-timeout is %v, which is more than the brokers allow (transaction.max.timeout.ms): %w", s.options.TransactionTimeout, err)
	case errors.Is(err, kerr.ProducerFenced), errors.Is(err, kerr.InvalidProducerEpoch), errors.Is(err, kerr.InvalidTxnState), errors.Is(err, kerr.InvalidProducerIDMapping):
		return &FencedError{Prefix: s.options.TransactionalIDPrefix, Timeout: s.options.TransactionTimeout, Err: err}
	}
	return &TopicError{topic, "cannot write", err}
}
