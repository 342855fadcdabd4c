package kafka

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"regexp"
	"strings"
	"time"
)

// Dialer opens a connection to a broker.
type Dialer func(ctx context.Context, network, address string) (net.Conn, error)

// Connection is how to reach a cluster.
type Connection struct {
	Brokers []string // host:port of some of its brokers
	TLS     *TLS     // nil: not encrypted
	SASL    *SASL    // nil: the broker does not ask who we are
	// ConnectTimeout is how long Open waits for a broker; 0 means 30 s. Later on
	// brokers are waited for without end.
	ConnectTimeout time.Duration
	Dialer         Dialer       // nil: the network's
	Logger         *slog.Logger // nil: nothing is told
}

// TLS is how connections are encrypted. Files hold PEM.
type TLS struct {
	CAFile     string // "": the system's authorities
	CertFile   string // ours, for brokers that ask for it
	KeyFile    string
	ServerName string // "": the broker's host
}

// SASL is who we are.
type SASL struct {
	Mechanism string // Plain, ScramSHA256 or ScramSHA512
	User      string
	Password  string
}

// The mechanisms of SASL.
const (
	Plain       = "PLAIN"
	ScramSHA256 = "SCRAM-SHA-256"
	ScramSHA512 = "SCRAM-SHA-512"
)

// StartFrom is where a source begins that has no positions.
type StartFrom string

// Where a source can begin.
const (
	StartEarliest  StartFrom = "earliest"
	StartLatest    StartFrom = "latest"    // with what is written from now on
	StartTimestamp StartFrom = "timestamp" // with the first record that is not older
	StartGroup     StartFrom = "group"     // at the group's offsets, and the beginning of splits that have none
)

// SourceOptions say what a source reads. They are not changed afterwards.
type SourceOptions struct {
	Connection
	Topics  []string // or
	Pattern string   // a regular expression that the whole name matches
	Start   StartFrom
	// StartMillis is the time of StartTimestamp, in ms since the epoch.
	StartMillis int64
	// Group is where offsets of durable checkpoints are committed, for those who
	// watch its lag; nothing is read from there but by StartGroup. "": nowhere.
	Group string
	// Bounded says that each split ends where it ended at Open: behind what a reader
	// with this isolation could read then. After a restart it ends where it ends then.
	Bounded bool
	// DiscoveryInterval is how often new partitions, and topics that match the
	// pattern, are looked for; 0 means 5 min, less than 0 never.
	DiscoveryInterval time.Duration
	// ReadUncommitted also reads what transactions wrote that are open or were given up.
	ReadUncommitted bool
	// Metadata fills Chunk.Meta. Without it only a chunk with a tombstone has it.
	Metadata       bool
	RecordBytesMax int // a longer value is a fault; 0 means 1 MiB
	FetchBytesMax  int // of all that was fetched and not yet read; 0 means 4 MiB
}

// Delivery is what a sink promises.
type Delivery string

// What a sink can promise. None sends without waiting for more than the partition's
// leader; what fails is counted and told, and the job goes on.
const (
	ExactlyOnce Delivery = "exactly-once"
	AtLeastOnce Delivery = "at-least-once"
	None        Delivery = "none"
)

// SinkOptions say what a sink writes. They are not changed afterwards.
type SinkOptions struct {
	Connection
	Topic    string
	Delivery Delivery
	// TransactionalIDPrefix is the beginning of the ids of transactions, which no
	// other running job of the cluster may have.
	TransactionalIDPrefix string
	Task                  int // this sink among Tasks, from 0
	Tasks                 int // 0 means 1
	// TransactionTimeout is after how long the broker gives up a transaction: more
	// than a checkpoint interval and the longest outage together. 0 means 15 min, or
	// the broker's limit if that is less.
	TransactionTimeout time.Duration
	CheckpointInterval time.Duration // 0: not known, and not checked
	// GoesBack says that the checkpoint to go on from may be older than what was
	// committed, and that this is meant: no OvertakenError.
	GoesBack bool
	// Begins says that the job has no checkpoint yet, so that nothing of its own can have
	// been committed: what was is another's, and UsedError says so.
	Begins bool
	// Timestamps writes Records.Times. Without it, and for negative ones, the
	// record's time is when it was sent.
	Timestamps    bool
	Headers       []StaticHeader // on every record
	ColumnHeaders []string       // names of the headers whose values come in Records.Headers
	Compression   string         // "", none, gzip, snappy, lz4 or zstd; "" means none
	// Linger is how long a batch waits for more records. 0 means 2 ms with
	// AtLeastOnce and None, and 20 ms with ExactlyOnce, whose records wait anyway.
	Linger         time.Duration
	BatchBytesMax  int // not more than the topic's max.message.bytes; 0 means 1,000,012
	BufferBytesMax int // of what was written and not sent; 0 means 16 MiB
}

// StaticHeader is a header with a fixed value.
type StaticHeader struct{ Name, Value string }

const (
	defaultConnectTimeout     = 30 * time.Second
	defaultDiscoveryInterval  = 5 * time.Minute
	defaultRecordBytesMax     = 1 << 20
	defaultFetchBytesMax      = 4 << 20
	fetchBytesLeast           = 64 << 10
	defaultBatchBytesMax      = 1_000_012
	defaultBufferBytesMax     = 16 << 20
	defaultTransactionTimeout = 15 * time.Minute
	lingerSoon                = 2 * time.Millisecond
	lingerForMore             = 20 * time.Millisecond
	lingerMax                 = time.Minute // the client's
)

// problems gathers what is wrong with options.
type problems []string

func (p *problems) when(wrong bool, format string, args ...any) {
	if wrong {
		*p = append(*p, fmt.Sprintf(format, args...))
	}
}

func (p problems) err(what string) error {
	if len(p) == 0 {
		return nil
	}
	return fmt.Errorf("%s: %s", what, strings.Join(p, "; "))
}

func (c *Connection) check(p *problems) {
	p.when(len(c.Brokers) == 0, "brokers: none is given")
	for _, b := range c.Brokers {
		_, port, err := net.SplitHostPort(b)
		p.when(err != nil || port == "", "brokers: %q is not host:port", b)
	}
	p.when(c.ConnectTimeout < 0, "connect-timeout: %v is negative", c.ConnectTimeout)
	if t := c.TLS; t != nil {
		p.when((t.CertFile == "") != (t.KeyFile == ""), "tls: a certificate and its key come together")
	}
	if s := c.SASL; s != nil {
		known := s.Mechanism == Plain || s.Mechanism == ScramSHA256 || s.Mechanism == ScramSHA512
		p.when(!known, "sasl: mechanism %q is none of %s, %s, %s", s.Mechanism, Plain, ScramSHA256, ScramSHA512)
		p.when(s.User == "", "sasl: the user is missing")
	}
}

// Validate names every field that is wrong.
func (o *SourceOptions) Validate() error {
	var p problems
	o.check(&p)
	p.when(len(o.Topics) == 0 && o.Pattern == "", "topics: neither topics nor a pattern is given")
	p.when(len(o.Topics) > 0 && o.Pattern != "", "topics: topics and a pattern are given, which exclude each other")
	for i, t := range o.Topics {
		p.when(!topicName.MatchString(t), "topics: %q cannot be the name of a topic", t)
		for _, u := range o.Topics[:i] {
			p.when(u == t, "topics: %q is there twice", t)
		}
	}
	if _, err := regexp.Compile(o.Pattern); err != nil {
		p.when(true, "pattern: %v", err)
	}
	switch o.Start {
	case "", StartEarliest, StartLatest:
	case StartTimestamp:
		p.when(o.StartMillis < 0, "start: the timestamp %d is negative", o.StartMillis)
	case StartGroup:
		p.when(o.Group == "", "start: group needs the group's name")
	default:
		p.when(true, "start: %q is none of earliest, latest, timestamp, group", o.Start)
	}
	p.when(o.RecordBytesMax < 0, "record-bytes-max: %d is negative", o.RecordBytesMax)
	p.when(o.FetchBytesMax != 0 && o.FetchBytesMax < fetchBytesLeast, "fetch-bytes-max: %d is less than %d", o.FetchBytesMax, fetchBytesLeast)
	return p.err("kafka source")
}

// topicName is what Kafka allows.
var topicName = regexp.MustCompile(`^[a-zA-Z0-9._-]{1,249}$`)

// Validate names every field that is wrong.
func (o *SinkOptions) Validate() error {
	var p problems
	o.check(&p)
	p.when(!topicName.MatchString(o.Topic), "topic: %q cannot be the name of a topic", o.Topic)
	switch o.Delivery {
	case ExactlyOnce:
		p.when(o.TransactionalIDPrefix == "", "transactional-id-prefix: exactly-once needs one")
		p.when(strings.ContainsFunc(o.TransactionalIDPrefix, unprintable), "transactional-id-prefix: %q has characters that cannot be read", o.TransactionalIDPrefix)
	case AtLeastOnce, None:
		p.when(o.TransactionalIDPrefix != "", "transactional-id-prefix: only exactly-once has transactions")
	default:
		p.when(true, "delivery: %q is none of exactly-once, at-least-once, none", o.Delivery)
	}
	p.when(o.Task < 0 || o.Task >= max(o.Tasks, 1), "task: %d is not one of %d", o.Task, max(o.Tasks, 1))
	p.when(o.TransactionTimeout < 0, "transaction-timeout: %v is negative", o.TransactionTimeout)
	p.when(o.CheckpointInterval < 0, "checkpoint-interval: %v is negative", o.CheckpointInterval)
	o.checkTimeout(&p)
	_, known := codecs[o.Compression]
	p.when(!known, "compression: %q is none of none, gzip, snappy, lz4, zstd", o.Compression)
	p.when(o.Linger < 0, "linger: %v is negative", o.Linger)
	p.when(o.Linger > lingerMax, "linger: %v is too long; the most is %v", o.Linger, lingerMax)
	p.when(o.BatchBytesMax < 0, "batch-bytes-max: %d is negative", o.BatchBytesMax)
	p.when(o.BufferBytesMax < 0, "buffer-bytes-max: %d is negative", o.BufferBytesMax)
	return p.err("kafka sink")
}

// checkTimeout wants a transaction to outlive a checkpoint that comes late.
func (o *SinkOptions) checkTimeout(p *problems) {
	timeout := o.TransactionTimeout
	if timeout == 0 {
		timeout = defaultTransactionTimeout
	}
	p.when(o.Delivery == ExactlyOnce && timeout < 2*o.CheckpointInterval,
		"transaction-timeout: %v is less than two checkpoint intervals of %v: records would be lost if one came late", timeout, o.CheckpointInterval)
}

func unprintable(r rune) bool { return r < ' ' || r == 0x7f }
