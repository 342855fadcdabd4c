package kafka

import (
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
)

// GoneError says that records which a source was to read are no longer there.
type GoneError struct {
	Split  string
	Offset int64 // the position
	First  int64 // the log's first offset
	End    int64 // the log's end
	// Cut says that the log was cut back below the position, as after the election of
	// a leader that had fallen behind; else records were deleted before they were read.
	Cut bool
}

// Error says what is lost, and why that may be.
func (e *GoneError) Error() string {
	if e.Cut {
		return fmt.Sprintf("%s cannot be read on at offset %d: its log ends at %d, so it was cut back or the topic was made anew; what was read from behind there is in the state but no longer in the topic",
			e.Split, e.Offset, e.End)
	}
	return fmt.Sprintf("%s cannot be read on at offset %d: the log begins at %d, so up to %d records were deleted before they were read (retention or a deletion by hand)",
		e.Split, e.Offset, e.First, e.First-e.Offset)
}

// TopicError says what is wrong with a topic.
type TopicError struct {
	Topic  string
	Reason string
	Err    error // what the broker answered; may be nil
}

// Error names the topic and the reason.
func (e *TopicError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("topic %s: %s: %v", e.Topic, e.Reason, e.Err)
	}
	return fmt.Sprintf("topic %s: %s", e.Topic, e.Reason)
}

// Unwrap returns what the broker answered.
func (e *TopicError) Unwrap() error { return e.Err }

// LostError says that a transaction which a checkpoint counts cannot be committed:
// the broker gave it up, and its records are lost. Or it forgot the transaction.
type LostError struct {
	ID      string // of the transaction
	Epoch   int16  // of its producer
	Records int64
	Reason  string
	Err     error // what the broker answered
}

// Error says how much is lost, the likely reason, and how to go on.
func (e *LostError) Error() string {
	if e.forgotten() {
		return fmt.Sprintf("%d records may be lost: the brokers do not know the transaction %s (producer epoch %d), which the checkpoint counts (%v): either it was committed, and its id forgotten since, as one is that is not used for transactional.id.expiration.ms, or it was given up after its transaction timeout and then forgotten, or this is another cluster than the one it was written to; look in the topic: if the records are there, --restore of this checkpoint goes on behind them; if not, --restore of the checkpoint before puts them out again; if there is none before, --lineage NAME begins anew, in a topic that is new, with a prefix and checkpoints of its own",
			e.Records, e.ID, e.Epoch, e.Err)
	}
	return fmt.Sprintf("%d records are lost: the transaction %s (producer epoch %d), which the checkpoint counts, cannot be committed: %s (%v); unless another copy of the job has taken over, --restore of the checkpoint before this one puts them out again, and with them what else this one has committed; if there is none before, --lineage NAME begins anew, in a topic that is new, with a prefix and checkpoints of its own",
		e.Records, e.ID, e.Epoch, e.Reason, e.Err)
}

// Unwrap returns what the broker answered.
func (e *LostError) Unwrap() error { return e.Err }

// forgotten says that the brokers do not know the transaction's producer, so that it may
// have been committed.
func (e *LostError) forgotten() bool { return errors.Is(e.Err, kerr.InvalidProducerIDMapping) }

// FencedError says that the broker does not take more from a transaction of this sink.
type FencedError struct {
	Prefix  string
	Timeout time.Duration
	Err     error
}

// Error says why that may be.
func (e *FencedError) Error() string {
	return fmt.Sprintf("the broker takes no more from the transactions %s/…: a second copy of the job is running, another job has the same transactional-id-prefix, or the transaction was open for longer than its timeout of %v (%v)",
		e.Prefix, e.Timeout, e.Err)
}

// Unwrap returns what the broker answered.
func (e *FencedError) Unwrap() error { return e.Err }

// OvertakenError says that the checkpoint which a sink is to go on from is not the newest
// of those that wrote with its transactional ids: more was committed since.
type OvertakenError struct {
	Topic  string
	Reason string // how that is told
}

// Error says why it may be, and what to do.
func (e *OvertakenError) Error() string {
	return fmt.Sprintf("topic %s: results were committed after this checkpoint, and would be put out again: %s; the folder of checkpoints is an old copy, or its newest is damaged, or another copy of the job went on from it, or another job has the same transactional-id-prefix; bring the newest checkpoints back, or, if the results are to be put out again, go on from these with --restore",
		e.Topic, e.Reason)
}

// UsedError says that results were committed under a transactional prefix by others than
// the job that begins with it.
type UsedError struct{ Topic, Prefix string }

// Error says why that may be, and what to do.
func (e *UsedError) Error() string {
	return fmt.Sprintf("topic %s: this job has no checkpoint yet, and results were committed under its transactional-id-prefix %s, which it would put out again: a second copy of the job was begun at the same time, or another job has the same prefix; go on where the checkpoints of that one are, or, if the results are to be put out again, in a topic that is new, --lineage NAME gives this run a prefix and checkpoints of its own",
		e.Topic, e.Prefix)
}
