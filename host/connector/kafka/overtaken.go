package kafka

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"
)

// overtaken says whether something was committed under a transaction's id after it, and
// by the producer of which epoch. A sink that goes on from a checkpoint asks so of all
// that it knows of ids. Told as a sequence, it is never said of the newest:
//
//	A transaction is committed only when a checkpoint that counts it is durable. So
//	what is newer than the newest checkpoint was never committed: it is open, the
//	broker or a later run gave it up, or the id was taken and not written with. None of
//	these is a commit, however often a run began and ended there.
//
//	The transaction itself may be committed. Then it has its own epoch, or the one
//	above: from transaction version 2 on an end takes one. A later producer of the
//	id, of a later run or of a later end, has a greater one, or another number when
//	epochs have run out.
//
//	Of an id that a run took, and committed nothing with, any commit by who took it or
//	by a later producer is later than the checkpoint.
//
// It is not always told of an older one. With transaction version 1 an epoch lasts as long
// as a run, so an id that the checkpoint has a commit of tells nothing before another run
// has committed with it. And when a run has taken an id since, that has wiped out what was
// there, for good: a producer's epoch rises as well with runs that come to nothing, as
// often as they are started, and what partitions keep of it is the same of records that
// were given up.
func (t *transactions) overtaken(ctx context.Context, p pending) (now int16, so bool, err error) {
	if err := t.learn(ctx); err != nil {
		return 0, false, err
	}
	d, known, err := t.describe(ctx, p.id)
	if err != nil || !known || !hasCommit(d) {
		return 0, false, err
	}
	own := p.epoch
	switch {
	case p.standing == takenByThen:
		own--
	case max(p.version, t.version) >= versionTV2:
		own++
	}
	if d.ProducerID != p.producer {
		return d.ProducerEpoch, p.standing == takenByThen || p.epoch < epochsNearTheirEnd, nil
	}
	return d.ProducerEpoch, d.ProducerEpoch > own, nil
}

// hasCommit says whether the last transaction of an id was committed, or is being.
func hasCommit(d kadm.DescribedTransaction) bool {
	return d.State == "CompleteCommit" || d.State == "PrepareCommit"
}

// epochsNearTheirEnd: from here on the end of a transaction may bring another producer.
const epochsNearTheirEnd = math.MaxInt16 - 2

// known is what a checkpoint should know of the ids that it hands nothing over of.
func (s *Sink) known() (list []pending) {
	for _, p := range s.pool {
		switch {
		case slices.Contains(s.pending, p):
		case p.state.id != "":
			p.state.standing = wasLast
			list = append(list, p.state)
		case p.holder != nobody:
			list = append(list, pending{p.id, p.holder.producer, p.holder.epoch, s.control.version, 0, takenByThen})
		}
	}
	return list
}

// checkOvertaken wants a hand-over to be the latest of its ids, and of a job that begins
// that there is none: nothing of it can have been committed before its first checkpoint.
// Ids of another prefix say nothing: the sink does not use them.
func (s *Sink) checkOvertaken(ctx context.Context, list []pending) error {
	prefix := s.options.TransactionalIDPrefix
	if s.options.GoesBack {
		return nil
	}
	if s.options.Begins {
		return s.checkUsed(ctx)
	}
	for _, p := range list {
		if !strings.HasPrefix(p.id, prefix+"/") {
			continue
		}
		if now, so, err := s.control.overtaken(ctx, p); err != nil {
			return err
		} else if so {
			return &OvertakenError{Topic: s.options.Topic, ID: p.id, Epoch: p.epoch, Now: now}
		}
	}
	return nil
}

// checkUsed wants no transaction of the prefix to be committed.
func (s *Sink) checkUsed(ctx context.Context) error {
	prefix := s.options.TransactionalIDPrefix
	ids, err := s.control.list(ctx, prefix)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if _, ours := taskOf(id, prefix); !ours {
			continue
		}
		if d, known, err := s.control.describe(ctx, id); err != nil {
			return err
		} else if known && hasCommit(d) {
			return &UsedError{Topic: s.options.Topic, Prefix: prefix, ID: id}
		}
	}
	return nil
}

// recommit commits a transaction that a hand-over counts. One whose id was used again has
// been: it rests until then (R).
func (s *Sink) recommit(p pending) error {
	_, err := s.control.commit(s.ctx, p)
	var lost *LostError
	if !errors.As(err, &lost) {
		return err
	}
	now, so, told := s.control.overtaken(s.ctx, p)
	switch {
	case told != nil || !so:
		return err
	case s.options.GoesBack:
		s.log.Warn("a transaction of the checkpoint has had its id used again: it was committed before, unless another job has the same transactional-id-prefix",
			"topic", s.options.Topic, "transaction", p.id, "records", p.records)
		return nil
	}
	return &OvertakenError{Topic: s.options.Topic, ID: p.id, Epoch: p.epoch, Now: now}
}
