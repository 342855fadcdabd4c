package kafka

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"
)

// Brokers may take a transaction for ended of which its partitions were not told. As a
// sequence, of Kafka 3.9 and 4.4:
//
//	A coordinator notes that a transaction is committed, and says so. It crashes before
//	the partitions have their markers. It comes back, reads its notes, and looks for the
//	leaders of the partitions. They crashed with it and have not been elected again, so
//	it takes the partitions for deleted, and the transaction for complete.
//
//	Its records, and all behind them, stay hidden: the partitions hold it for open. The
//	next marker of the same producer decides about them. That of a commit shows them, and
//	that of an abort, as when the job crashes too, throws them away.
//
// So an id is not used again, nor taken by a run that follows, before its producer has
// nothing open in the topic. What is open and ended all the same is ended once more, as it
// was: its partitions are added to a transaction without records.

// openIn returns the partitions of a topic in which transactions are open, by producer.
func (t *transactions) openIn(ctx context.Context, topic string) (open map[int64][]int32, err error) {
	err = t.persist(ctx, "it is not known which transactions are open in topic "+topic, func() error {
		open = map[int64][]int32{}
		topics, err := kadm.NewClient(t.client).DescribeProducers(ctx, kadm.TopicsSet{topic: nil})
		if err != nil {
			return shardError(err)
		}
		for _, p := range topics[topic].Partitions {
			if p.Err != nil {
				return p.Err
			}
			for _, a := range p.ActiveProducers {
				if a.CurrentTxnStartOffset >= 0 {
					open[a.ProducerID] = append(open[a.ProducerID], p.Partition)
				}
			}
		}
		return nil
	})
	return open, err
}

// endAgain ends what a producer has left open in partitions of a topic. It does so as
// clients did before transaction version 2: the epoch stays, and tells nobody that there
// was another transaction.
func (t *transactions) endAgain(ctx context.Context, id string, h holder, topic string, partitions []int32, commit bool) error {
	opts, err := t.connection.options()
	if err != nil {
		return err
	}
	client, err := kgo.NewClient(append(opts, kgo.MaxVersions(versionsBefore2()))...)
	if err != nil {
		return err
	}
	defer client.Close()
	add := kmsg.NewPtrAddPartitionsToTxnRequest()
	add.TransactionalID, add.ProducerID, add.ProducerEpoch = id, h.producer, h.epoch
	add.Topics = []kmsg.AddPartitionsToTxnRequestTopic{{Topic: topic, Partitions: partitions}}
	end := kmsg.NewPtrEndTxnRequest()
	end.TransactionalID, end.ProducerID, end.ProducerEpoch, end.Commit = id, h.producer, h.epoch, commit
	return t.persist(ctx, fmt.Sprintf("transaction %s could not be ended once more", id), func() error {
		added, err := add.RequestWith(ctx, client)
		if err != nil {
			return err
		}
		for _, topic := range added.Topics {
			for _, p := range topic.Partitions {
				if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
					return err
				}
			}
		}
		ended, err := end.RequestWith(ctx, client)
		if err != nil {
			return err
		}
		return kerr.ErrorForCode(ended.ErrorCode)
	})
}

// versionsBefore2 are those of requests that clients sent before transaction version 2.
func versionsBefore2() *kversion.Versions {
	const addPartitionsToTxnKey, addPartitionsToTxnOldest = 24, 3
	versions := kversion.Stable()
	versions.SetMaxKeyVersion(endTxnKey, endTxnOldest)
	versions.SetMaxKeyVersion(addPartitionsToTxnKey, addPartitionsToTxnOldest)
	return versions
}

// unmarked returns those of the ids whose last transaction was ended, and is open in the
// topic all the same. It ends once more what the brokers take for complete; of others the
// markers are on their way. With held, ids that have another holder are left alone.
func (s *Sink) unmarked(ctx context.Context, ids []string, held map[string]holder) (left []string, err error) {
	if s.blind || len(ids) == 0 {
		return nil, nil
	}
	described := map[string]kadm.DescribedTransaction{}
	for _, id := range ids { // before what is open: what is complete by now has its markers by then
		d, known, err := s.control.describe(ctx, id)
		if err != nil {
			return nil, err
		}
		if h, ours := held[id]; known && d.State != "Ongoing" && (!ours || h == holder{d.ProducerID, d.ProducerEpoch}) {
			described[id] = d
		}
	}
	open, err := s.control.openIn(ctx, s.options.Topic)
	if err != nil {
		return nil, s.untold(err)
	}
	for id, d := range described {
		partitions := open[d.ProducerID]
		if len(partitions) == 0 {
			continue
		}
		left = append(left, id)
		commit := d.State == "CompleteCommit"
		if !commit && d.State != "CompleteAbort" && d.State != "Empty" {
			continue
		}
		s.log.Warn("the brokers took a transaction for ended, and did not tell its partitions; it is ended once more",
			"topic", s.options.Topic, "transaction", id, "partitions", partitions, "commit", commit)
		if err := s.control.endAgain(ctx, id, holder{d.ProducerID, d.ProducerEpoch}, s.options.Topic, partitions, commit); err != nil {
			return nil, err
		}
	}
	return left, nil
}

// untold is what an error means of brokers that do not tell what is open. Those before 2.8
// do not, and tell the partitions in the end. Others tell those who may read the topic.
func (s *Sink) untold(err error) error {
	var refused *kadm.AuthError
	switch {
	case errors.Is(err, kerr.UnknownTopicOrPartition):
		return nil
	case errors.Is(err, kerr.UnsupportedVersion):
		s.blind = true
		return nil
	case errors.As(err, &refused), errors.Is(err, kerr.TopicAuthorizationFailed):
		s.log.Warn("only those who may read a topic are told which transactions are open in it: if all brokers that have it crash at once, results may stay hidden, or be lost when the job crashes, too",
			"topic", s.options.Topic, "error", err)
		s.blind = true
		return nil
	}
	return err
}

// conclude waits until the last transactions of ids are at their end in the topic, but for
// those that nobody has ended.
func (s *Sink) conclude(ctx context.Context, ids []string) error {
	for tries := 0; ; tries++ {
		left, err := s.unmarked(ctx, ids, nil)
		if err != nil || len(left) == 0 {
			return err
		}
		ids = left
		if !wait(ctx, backoff(tries)) {
			return fmt.Errorf("transactions %s have not come to their end in topic %s: %w", strings.Join(ids, ", "), s.options.Topic, ctx.Err())
		}
	}
}
