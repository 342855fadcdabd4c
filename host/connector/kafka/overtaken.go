package kafka

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
)

// A sink that goes on from a checkpoint wants to know that it is the newest: that nobody
// has committed results since. What brokers know of a transactional id they forget when a
// run takes it again, which each run does that begins, whatever it comes to. So the commits
// with results are counted, and how many there were is left with an id that is used for
// nothing else. Told as a sequence:
//
//	A hand-over has the number of all commits with results, its own included, so that one
//	which hands nothing over has the number of the one before.
//
//	Once its checkpoint is durable and its transactions are committed, the number is left
//	with the brokers. So they never have a greater one than the newest checkpoint,
//	however often runs begin and end behind it and wherever they are killed; and a crash
//	before that has Recover leave it. A copy of the job that was put out, and wakes up,
//	commits nothing and leaves nothing.
//
//	The brokers have a greater number: there were commits since. They have any, and the
//	job has no checkpoint: others have committed under its prefix.
//
// A number is left as what the brokers keep of an id and give back: its transaction
// timeout, in ms. An id has others of those, its epoch and its state, but these change
// with each request, and to leave a number must do no harm when it is done twice. Brokers
// bound timeouts, so it is the number modulo commitsKept.
const (
	commitsKept = 50_000
	// commitsBehind is how many the brokers may be behind without a word: one, and more when a
	// request of a run that has ended comes late, or when they crashed and lost the newest of
	// what they knew. A cluster that was copied, or set back, may be behind by any number.
	commitsBehind = 1000
	// keptEnough are the numbers of a run of which it is looked at whether they are kept.
	keptEnough = 2
)

// counter is the id that commits are counted with. taskOf does not take it for one of a
// transaction.
func (s *Sink) counter() string {
	return fmt.Sprintf("%s/commits/%d", s.options.TransactionalIDPrefix, s.options.Task)
}

// countsFor says whether an id is a counter of a prefix, of any task.
func countsFor(id, prefix string) bool {
	task, under := strings.CutPrefix(id, prefix+"/commits/")
	_, err := strconv.Atoi(task)
	return under && err == nil
}

// decode reads a hand-over. One that counts for another prefix, or for another task, has no
// number that says anything here.
func (s *Sink) decode(handover []byte) (handedOver, error) {
	h, err := decode(handover)
	if h.counter != s.counter() {
		h.commits = uncounted
	}
	return h, err
}

// count leaves the number of commits with the brokers. That they keep it is looked at
// until they have been seen to keep another one than the first: not all that speak Kafka's
// protocol do. With those that do not, hand-overs have no number.
func (s *Sink) count(commits int64) error {
	if commits == uncounted {
		return nil
	}
	_, err := s.control.fence(s.ctx, s.counter(), time.Duration(1+commits%commitsKept)*time.Millisecond)
	if err != nil || s.kept >= keptEnough {
		return s.uncountable(err)
	}
	d, known, err := s.control.describe(s.ctx, s.counter())
	switch {
	case err != nil || !known:
		return s.uncountable(err)
	case int64(d.TimeoutMillis) != 1+commits%commitsKept:
		return s.uncountable(kerr.InvalidTransactionTimeout)
	}
	s.kept++
	return nil
}

// uncountable tells of brokers that keep no number, and are written to all the same.
func (s *Sink) uncountable(err error) error {
	if !errors.Is(err, kerr.InvalidTransactionTimeout) && !errors.Is(err, kerr.TransactionalIDAuthorizationFailed) {
		return err
	}
	s.commits = uncounted
	s.told.warn("whether a checkpoint is the newest cannot be told: the brokers do not let commits be counted, for which the transactional id must be allowed, transaction.max.timeout.ms be at least 50 s, and the timeout that an id is taken with be kept",
		"topic", s.options.Topic, "transactional_id", s.counter(), "error", err)
	return nil
}

// beyond returns how many commits the brokers have counted beyond a hand-over, and if that
// has no number, how many at all. Unless it is meant to go back, there must be none beyond
// it. They may not know: there was none for days, or they are older than 3.0.
func (s *Sink) beyond(ctx context.Context, h handedOver) (commits int64, known bool, err error) {
	d, known, err := s.control.describe(ctx, s.counter())
	if err != nil || !known {
		return 0, false, s.uncountable(err)
	}
	commits = (int64(d.TimeoutMillis) - 1 + commitsKept - max(h.commits, 0)%commitsKept) % commitsKept
	if commits > commitsKept/2 && h.commits != uncounted {
		if behind := commitsKept - commits; behind > commitsBehind {
			s.log.Warn("the brokers know of fewer commits than the checkpoint counts: this may be another cluster than the one that it was taken with, or an older state of it",
				"topic", s.options.Topic, "transactional_id", s.counter(), "behind", behind)
		}
		commits = 0
	}
	if commits > 0 && h.commits != uncounted && !s.options.GoesBack {
		err = &OvertakenError{Topic: s.options.Topic, Reason: fmt.Sprintf("of the commits with results under %s/… it has %d, and there have been %d more", s.options.TransactionalIDPrefix, h.commits, commits)}
	}
	return commits, true, err
}

// checkOvertaken wants a hand-over to be the newest, and goes on counting from it.
func (s *Sink) checkOvertaken(ctx context.Context, h handedOver) error {
	beyond, known, err := s.beyond(ctx, h)
	switch {
	case err != nil:
		return err
	case known && s.options.Begins:
		return &UsedError{Topic: s.options.Topic, Prefix: s.options.TransactionalIDPrefix}
	}
	if s.commits != uncounted { // a number that leaves out what the brokers have would be taken for an older one's
		s.commits = max(h.commits, 0) + beyond
	}
	for _, p := range h.list {
		if !strings.HasPrefix(p.id, s.options.TransactionalIDPrefix+"/") || s.options.GoesBack {
			continue
		}
		if now, so, err := s.control.overtaken(ctx, p); err != nil {
			return err
		} else if so {
			return s.usedAgain(p, now)
		}
	}
	return nil
}

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
	if d.ProducerID != p.producer {
		return d.ProducerEpoch, p.epoch < epochsNearTheirEnd, nil
	}
	return d.ProducerEpoch, d.ProducerEpoch > p.ended(max(p.version, t.version)), nil
}

// ended is the epoch that a transaction leaves behind if it is ended with a transaction
// version.
func (p *pending) ended(version int16) int16 {
	if version >= versionTV2 {
		return p.epoch + 1
	}
	return p.epoch
}

// committed says whether a transaction has been committed that cannot be: when the cluster's
// transaction.version was changed since, brokers do not know the commit again that is made
// once more.
func (t *transactions) committed(ctx context.Context, p pending) (h holder, so bool, err error) {
	d, known, err := t.describe(ctx, p.id)
	if err != nil || !known || d.ProducerID != p.producer || d.State != "CompleteCommit" && d.State != "PrepareCommit" {
		return nobody, false, err
	}
	so = p.ended(p.version) <= d.ProducerEpoch && d.ProducerEpoch <= p.ended(max(p.version, t.version))
	return holder{d.ProducerID, d.ProducerEpoch}, so, nil
}

// epochsNearTheirEnd: from here on the end of a transaction may bring another producer.
const epochsNearTheirEnd = math.MaxInt16 - 2

// isOpen says whether a transaction is still to be ended. What is open under its id may be a
// later one of the same epoch, but not from transaction version 2 on.
func (t *transactions) isOpen(ctx context.Context, p pending) (bool, error) {
	d, known, err := t.describe(ctx, p.id)
	same := known && holder{d.ProducerID, d.ProducerEpoch} == holder{p.producer, p.epoch}
	return same && p.version >= versionTV2 && d.State == "Ongoing", err
}

// recommit commits a transaction that a hand-over counts. One whose id was used again, or
// that had commits after it, has been: it rests until then (R). If it is open all the same,
// those were another's.
func (s *Sink) recommit(p pending, later bool) error {
	open := false
	if later {
		var err error
		if open, err = s.control.isOpen(s.ctx, p); err != nil {
			return err
		}
	}
	if !later || open {
		_, err := s.control.commit(s.ctx, p)
		var lost *LostError
		switch {
		case !errors.As(err, &lost):
			return err
		case lost.forgotten() && s.options.GoesBack:
			s.log.Warn("the brokers do not know a transaction of the checkpoint, and the run goes on as if it had been committed: its records are lost if it was not",
				"topic", s.options.Topic, "transaction", p.id, "records", p.records)
			return nil
		}
		now, so, told := s.control.overtaken(s.ctx, p)
		if told != nil || !so {
			return err
		}
		if !s.options.GoesBack {
			return s.usedAgain(p, now)
		}
	}
	s.log.Warn("a transaction of the checkpoint was committed before, unless another job has the same transactional-id-prefix: others followed",
		"topic", s.options.Topic, "transaction", p.id, "records", p.records)
	return nil
}

// usedAgain is that the id of a transaction was, after the checkpoint that has it.
func (s *Sink) usedAgain(p pending, now int16) error {
	return &OvertakenError{Topic: s.options.Topic, Reason: fmt.Sprintf("its transaction %s was of the producer epoch %d, and one of epoch %d has been committed since", p.id, p.epoch, now)}
}
