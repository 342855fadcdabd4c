package job

import (
	"regexp"
	"time"
)

// Kafka is how a cluster is reached.
type Kafka struct {
	Brokers      []string // host:port, to begin with
	TLS          *TLS     // nil: connections are not encrypted
	SASL         *SASL    // nil: the client does not say who it is
	Line, Column int      // of the connector in the job file
}

// TLS is how brokers and client show who they are. Paths are absolute, or
// relative like Options.Dir.
type TLS struct {
	CA               string // PEM file of the authorities that brokers are trusted by; "": the system's
	Certificate, Key string // PEM files of the client's certificate and key; both or none
	ServerName       string // the name that brokers' certificates must have; "": the host's
}

// SASL is how the client says who it is.
type SASL struct {
	Mechanism      string // plain, scram-sha-256 or scram-sha-512
	User, Password string
}

// KafkaSource reads the records of topics, each partition in order.
type KafkaSource struct {
	Kafka
	Topics            []string       // nil with a pattern
	TopicPattern      *regexp.Regexp // of the whole name of a topic, anchored; nil with Topics
	Format            string         // "json": a record's value is one JSON object; "wasm": Source.Decode
	Start             KafkaStart     // where partitions begin that no checkpoint knows
	StartTime         int64          // ms since the epoch, ≥ 0; 0 unless Start is FromTimestamp
	Group             string         // positions are committed to it with each checkpoint; "": nowhere
	Bounded           bool           // partitions end where they ended when the job started
	DiscoveryInterval time.Duration  // how often new topics and partitions are looked for; 0: never, as when Bounded
	ReadUncommitted   bool           // records of open and aborted transactions are read as well
	RecordBytesMax    int            // longest value that is not an error
}

// KafkaStart is where a partition begins that no checkpoint knows.
type KafkaStart uint8

// The starts.
const (
	FromEarliest  KafkaStart = iota // with the oldest record that there is
	FromLatest                      // with the first record that comes after the start
	FromTimestamp                   // with the first record at or after StartTime
	FromGroup                       // where the group stands; where it has no position, as FromEarliest
)

// String is the start as the job file writes it.
func (s KafkaStart) String() string { return startWords[s] }

var startWords = [...]string{FromEarliest: "earliest", FromLatest: "latest", FromTimestamp: "timestamp", FromGroup: "group"}

// MetadataKind is what a source knows of a record beside its value.
type MetadataKind uint8

// The kinds, with the types of their columns.
const (
	RecordTimestamp MetadataKind = iota // TIMESTAMP_LTZ(3)
	RecordKey                           // BYTES; null if there is none
	RecordHeaders                       // MAP<STRING, BYTES>; of headers of one name the last
	RecordPartition                     // INT
	RecordOffset                        // BIGINT
	RecordTopic                         // STRING
)

// String is the kind as the job file writes it.
func (k MetadataKind) String() string { return metadataWords[k] }

var metadataWords = [...]string{
	RecordTimestamp: "timestamp", RecordKey: "key", RecordHeaders: "headers",
	RecordPartition: "partition", RecordOffset: "offset", RecordTopic: "topic",
}

// MetadataColumn is a column that is not decoded but filled from what is known
// of a record beside its value.
type MetadataColumn struct {
	Kind   MetadataKind
	Column int // of Output
}

// KafkaSink writes records to one topic.
type KafkaSink struct {
	Kafka
	Topic    string
	Format   string // "json": a record's value is one JSON object; "wasm": Sink.Encode
	Delivery Guarantee
	// TransactionalIDPrefix: the sink's transactional ids are this, a slash and what
	// tells them apart. Empty unless Delivery is ExactlyOnce.
	TransactionalIDPrefix string
	// TransactionTimeout is longer than the checkpoint's interval; 0 unless Delivery
	// is ExactlyOnce. That the brokers allow it is to be checked at the start.
	TransactionTimeout time.Duration
	Key                []int // columns of Input, in the order of the key; nil: records have no key
	KeyFormat          KeyFormat
	Partition          int // column of Input that says which, INT; -1: the key's hash or else the client decides
	Headers            []KafkaHeader
	Mode               SinkMode
	Compression        string // none, gzip, snappy, lz4 or zstd
	EventTimestamp     bool   // a record's timestamp is its event time if it has one, else the time of sending
}

// KeyFormat is how a record's key is written.
type KeyFormat uint8

// The key formats.
const (
	JSONKey KeyFormat = iota // an object of the key's columns
	RawKey                   // the bytes of the one column, STRING or BYTES; null is no key
)

// String is the key format as the job file writes it.
func (f KeyFormat) String() string { return keyFormatWords[f] }

var keyFormatWords = [...]string{JSONKey: "json", RawKey: "raw"}

// KafkaHeader is one header of each record.
type KafkaHeader struct {
	Name   string
	Column int    // of Input, STRING or BYTES; -1: the header is always Value
	Value  string // empty with a column
}

// SinkMode is what a sink makes of changes.
type SinkMode uint8

// The modes.
const (
	AppendMode    SinkMode = iota // there are none: each row is a record
	UpsertMode                    // +I and +U are the value of their key; -U and -D take it back, as a record without a value
	ChangelogMode                 // each row is a record, with its kind in a first field "op" unless that is +I
)

// String is the mode as the job file writes it.
func (m SinkMode) String() string { return modeWords[m] }

var modeWords = [...]string{AppendMode: "append", UpsertMode: "upsert", ChangelogMode: "changelog"}
