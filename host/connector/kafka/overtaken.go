package kafka

import (
	"context"
	"errors"
	"math"
	"strings"
)

// overtaken says whether something was committed under a transaction's id after it, and
// by the producer of which epoch. A sink that goes on from a checkpoint asks so of the
// transactions that it counts. Told as a sequence, it is never said of the newest:
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
// It is not always told of an older one: not before its id is used again (R), and with
// transaction version 1, where an epoch lasts as long as a run, not before another run has
// committed with it. When a run has taken the id since, that has wiped out what was there.
func (t *transactions) overtaken(ctx context.Context, p pending) (now int16, so bool, err error) {
	if err := t.learn(ctx); err != nil {
		return 0, false, err
	}
	d, known, err := t.describe(ctx, p.id)
	if err != nil || !known || d.State != "CompleteCommit" && d.State != "PrepareCommit" {
		return 0, false, err
	}
	own := p.epoch
	if max(p.version, t.version) >= versionTV2 {
		own++
	}
	if d.ProducerID != p.producer {
		return d.ProducerEpoch, p.epoch < epochsNearTheirEnd, nil
	}
	return d.ProducerEpoch, d.ProducerEpoch > own, nil
}

// epochsNearTheirEnd: from here on the end of a transaction may bring another producer.
const epochsNearTheirEnd = math.MaxInt16 - 2

// checkOvertaken wants the transactions of a hand-over to be the latest of their ids.
// Those of another prefix say nothing: the sink does not use their ids.
func (s *Sink) checkOvertaken(ctx context.Context, list []pending) error {
	for _, p := range list {
		if !strings.HasPrefix(p.id, s.options.TransactionalIDPrefix+"/") || s.options.GoesBack {
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
