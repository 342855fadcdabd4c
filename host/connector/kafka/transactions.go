package kafka

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"
)

// transactions are requests about transactions that no producer sends: any client may
// end a transaction if it knows its producer's id and epoch. They are repeated until
// a broker has answered, or the context ends.
type transactions struct {
	connection *Connection
	client     *kgo.Client // for all but the end of transactions
	ends       *kgo.Client // nil: not known yet what the cluster takes
	version    int16       // the finalized transaction.version
	told       teller
}

// endTxnKey and endTxnOldest: a cluster of 4.x brokers that was not finalized offers
// version 5 of EndTxn, refuses it, and leaves the id blocked until a restart.
const (
	endTxnKey    = 26
	endTxnOldest = 4
	versionTV2   = 2
)

func newTransactions(c *Connection) (*transactions, error) {
	opts, err := c.options()
	if err != nil {
		return nil, err
	}
	client, err := kgo.NewClient(opts...)
	if err != nil {
		return nil, err
	}
	return &transactions{connection: c, client: client, told: teller{log: c.logger()}}, nil
}

func (t *transactions) close() {
	if t.ends != nil && t.ends != t.client {
		t.ends.Close()
	}
	t.client.Close()
}

// persist repeats what fails in passing.
func (t *transactions) persist(ctx context.Context, what string, try func() error) error {
	var cause error
	for failures := 0; ; failures++ {
		err := try()
		if err == nil || !passing(err) {
			return err
		}
		cause = telling(cause, err)
		if !errors.Is(err, kerr.ConcurrentTransactions) && ctx.Err() == nil {
			t.told.warn(what+"; trying again", "error", err)
		}
		if !wait(ctx, backoff(failures)) {
			return fmt.Errorf("%s: %w", what, cause)
		}
	}
}

// learn finds the cluster's transaction.version, and chooses the version of EndTxn.
func (t *transactions) learn(ctx context.Context) error {
	if t.ends != nil {
		return nil
	}
	err := t.persist(ctx, "the cluster's features are not known", func() error {
		request := kmsg.NewPtrApiVersionsRequest()
		request.ClientSoftwareName, request.ClientSoftwareVersion = "wasmstream", "0"
		response, err := request.RequestWith(ctx, t.client)
		if err != nil {
			return err
		}
		t.version = 0
		for _, f := range response.FinalizedFeatures {
			if f.Name == "transaction.version" {
				t.version = f.MaxVersionLevel
			}
		}
		return kerr.ErrorForCode(response.ErrorCode)
	})
	if err != nil {
		return err
	}
	t.ends = t.client
	if t.version < versionTV2 {
		t.ends, err = t.oldClient()
	}
	return err
}

// oldClient makes a client that ends transactions as brokers did before version 5.
func (t *transactions) oldClient() (*kgo.Client, error) {
	opts, err := t.connection.options()
	if err != nil {
		return nil, err
	}
	versions := kversion.Stable()
	versions.SetMaxKeyVersion(endTxnKey, endTxnOldest)
	return kgo.NewClient(append(opts, kgo.MaxVersions(versions))...)
}

// holder is the producer that a transaction id was given to last.
type holder struct {
	producer int64
	epoch    int16
}

// nobody holds an id that was never used.
var nobody = holder{-1, -1}

// end commits or aborts, until the broker says that it is decided. It returns who
// holds the id then.
func (t *transactions) end(ctx context.Context, p pending, commit bool) (holder, error) {
	h := holder{p.producer, p.epoch}
	if err := t.learn(ctx); err != nil {
		return h, err
	}
	err := t.persist(ctx, fmt.Sprintf("transaction %s could not be ended", p.id), func() error {
		request := kmsg.NewPtrEndTxnRequest()
		request.TransactionalID, request.ProducerID, request.ProducerEpoch, request.Commit = p.id, p.producer, p.epoch, commit
		response, err := request.RequestWith(ctx, t.ends)
		if err != nil {
			return err
		}
		if response.ProducerID >= 0 { // from version 5 on each end takes an epoch
			h = holder{response.ProducerID, response.ProducerEpoch}
		}
		return kerr.ErrorForCode(response.ErrorCode)
	})
	return h, err
}

// commit commits a transaction that a checkpoint counts. That it cannot be is a
// LostError (S).
func (t *transactions) commit(ctx context.Context, p pending) (holder, error) {
	h, err := t.end(ctx, p, true)
	if reason := lostBecause(err); reason != "" {
		if now, so, told := t.committed(ctx, p); told == nil && so {
			return now, nil
		}
		return h, &LostError{ID: p.id, Epoch: p.epoch, Records: p.records, Reason: reason, Err: err}
	}
	return h, err
}

// lostBecause says what the answer to a commit means; "" if it does not mean that
// the transaction is lost.
func lostBecause(err error) string {
	switch {
	case errors.Is(err, kerr.InvalidTxnState):
		return "the broker gave it up, most likely because it was open for longer than its transaction timeout, or somebody aborted it"
	case errors.Is(err, kerr.ProducerFenced), errors.Is(err, kerr.InvalidProducerEpoch):
		return "its id was taken over and the transaction given up, by a second copy of the job, by another job with the same transactional-id-prefix, or by the broker because it was open for longer than its transaction timeout"
	case errors.Is(err, kerr.InvalidProducerIDMapping):
		return "the brokers do not know it"
	}
	return ""
}

// fence gives up what is open under an id, and locks out whoever used it before.
func (t *transactions) fence(ctx context.Context, id string, timeout time.Duration) (h holder, err error) {
	err = t.persist(ctx, fmt.Sprintf("transaction id %s could not be taken", id), func() error {
		request := kmsg.NewPtrInitProducerIDRequest()
		request.TransactionalID = &id
		request.TransactionTimeoutMillis = int32(timeout.Milliseconds())
		request.ProducerID, request.ProducerEpoch = -1, -1
		response, err := request.RequestWith(ctx, t.client)
		if err != nil {
			return err
		}
		h = holder{response.ProducerID, response.ProducerEpoch}
		return kerr.ErrorForCode(response.ErrorCode)
	})
	return h, err
}

// holds says whether an id is still held by whom it was given to. Brokers before 3.0
// do not tell, and are believed.
func (t *transactions) holds(ctx context.Context, id string, h holder) (still bool, err error) {
	d, known, err := t.describe(ctx, id)
	return err == nil && (!known || h == holder{d.ProducerID, d.ProducerEpoch}), err
}

// describe returns what the brokers know of an id. They may know nothing: nobody took
// it, they forgot it, or they are older than 3.0 and do not tell.
func (t *transactions) describe(ctx context.Context, id string) (d kadm.DescribedTransaction, known bool, err error) {
	err = t.persist(ctx, fmt.Sprintf("it is not known who holds transaction id %s", id), func() error {
		all, err := kadm.NewClient(t.client).DescribeTransactions(ctx, id)
		if err != nil {
			return shardError(err)
		}
		d, known = all[id]
		switch {
		case !known:
		case errors.Is(d.Err, kerr.TransactionalIDNotFound), errors.Is(d.Err, kerr.UnsupportedVersion):
			known = false
		default:
			return d.Err
		}
		return nil
	})
	return d, known, err
}

// list returns the ids that the cluster knows and that begin with the prefix and a
// slash. Old brokers do not filter, so it is done here.
func (t *transactions) list(ctx context.Context, prefix string) (ids []string, err error) {
	err = t.persist(ctx, "transactions could not be listed", func() error {
		listed, err := kadm.NewClient(t.client).ListTransactions(ctx, nil, nil)
		if err != nil {
			return shardError(err)
		}
		ids = ids[:0]
		for _, id := range listed.TransactionalIDs() {
			if strings.HasPrefix(id, prefix+"/") {
				ids = append(ids, id)
			}
		}
		return nil
	})
	return ids, err
}

// shardError returns the first error of brokers that were asked alike.
func shardError(err error) error {
	var shards *kadm.ShardErrors
	if errors.As(err, &shards) && len(shards.Errs) > 0 {
		return fmt.Errorf("broker %d: %w", shards.Errs[0].Broker.NodeID, shards.Errs[0].Err)
	}
	return err
}

// timeoutMax returns the longest transaction that the brokers allow; 0 if they do not
// say, as to somebody who may not describe them.
func (t *transactions) timeoutMax(ctx context.Context) (longest time.Duration, err error) {
	admin := kadm.NewClient(t.client)
	err = t.persist(ctx, "the brokers' transaction.max.timeout.ms is not known", func() error {
		all, err := admin.ListBrokers(ctx)
		if err != nil || len(all) == 0 {
			return err
		}
		configs, err := admin.DescribeBrokerConfigs(ctx, all[0].NodeID)
		if err != nil {
			if passing(err) {
				return shardError(err)
			}
			return nil
		}
		for _, c := range configs {
			for _, e := range c.Configs {
				if e.Key == "transaction.max.timeout.ms" && e.Value != nil {
					ms, _ := strconv.ParseInt(*e.Value, 10, 64)
					longest = time.Duration(ms) * time.Millisecond
				}
			}
		}
		return nil
	})
	return longest, err
}

// transactionalID is the id of the n-th transaction of a task.
func transactionalID(prefix string, task, n int) string {
	return fmt.Sprintf("%s/%d/%d", prefix, task, n)
}

// taskOf returns which task an id belongs to that begins with the prefix.
func taskOf(id, prefix string) (task int, ok bool) {
	rest := strings.TrimPrefix(id, prefix+"/")
	first, second, ok := strings.Cut(rest, "/")
	task, err := strconv.Atoi(first)
	if _, err2 := strconv.Atoi(second); err != nil || err2 != nil {
		return 0, false
	}
	return task, ok
}
