package job

import "math"

// The limits of what a Kafka connector may ask for.
const (
	TopicBytesMax             = 249           // Kafka's
	PrefixBytesMax            = 200           // of a transactional id, of which Kafka takes some thousand
	PatternBytesMax           = 200           // of a topic-pattern
	PatternsMax               = 50            // that differ, in a job
	TransactionTimeoutMin     = 1000          // ms
	TransactionTimeoutMax     = math.MaxInt32 // ms; Kafka's
	discoveryIntervalDefault  = 300_000       // ms; Flink's since 1.18
	transactionTimeoutDefault = 900_000       // ms; the most that brokers allow unless they are told otherwise
	bootstrapDoc              = "Brokers to begin with, as host:port; they know the others."
	transactionalIDBoundary   = "/" // between a prefix and what tells the sink's ids apart
)

var (
	brokersField = field{name: "brokers", doc: bootstrapDoc, required: true, shape: &shape{what: isList, of: &shape{what: isAddress, example: "127.0.0.1:9092"}, example: `["127.0.0.1:9092"]`}}
	topicShape   = &shape{what: isTopic, example: "clicks"}
)

var valueFormatField = field{name: "format", doc: "json: each record's value is a JSON object; or a Wasm function of the role decode, or of a sink encode.", required: true, shape: formatShape}

var tlsField = field{name: "tls", doc: "Encrypt connections; {}: with the system's authorities.", shape: &shape{what: isFields, fields: []field{
	{name: "ca", doc: "A PEM file of the authorities that brokers are trusted by, relative to the job file; by default the system's.", shape: textShape},
	{name: "certificate", doc: "A PEM file with the client's certificate; needs key.", shape: textShape},
	{name: "key", doc: "A PEM file with the client's key; needs certificate.", shape: textShape},
	{name: "server-name", doc: "The name that brokers' certificates must have; by default the broker's host.", shape: textShape},
}}}

var saslField = field{name: "sasl", doc: "Tell brokers who the client is.", shape: &shape{what: isFields, fields: []field{
	{name: "mechanism", doc: "plain, scram-sha-256 or scram-sha-512.", required: true, shape: &shape{what: isWord, words: []string{"plain", "scram-sha-256", "scram-sha-512"}}},
	{name: "user", doc: "The user's name.", required: true, shape: textShape},
	{name: "password", doc: "The password, best as a variable: \"${NAME}\".", required: true, shape: textShape},
}}}

var startShape = makeStartShape()

func makeStartShape() *shape {
	mapping := &shape{what: isFields, words: []string{"earliest", "latest", "group"}, fields: []field{
		{name: "timestamp", doc: "With the first record at or after this time: RFC 3339, or milliseconds since the epoch.", required: true, shape: &shape{what: isInstant, example: "2026-01-31T12:00:00Z"}},
	}}
	return wordOrMapping(mapping)
}

// wordOrMapping is a shape of words that stand alone, or a mapping.
func wordOrMapping(mapping *shape) *shape {
	word := &shape{what: isWord, words: mapping.words}
	for _, f := range mapping.fields {
		word.mapped = append(word.mapped, f.name)
	}
	return &shape{what: isEither, either: []*shape{word, mapping}, choose: func(n *node) *shape {
		if n.form == mappingForm {
			return mapping
		}
		return word
	}}
}

var kafkaSourceField = field{name: "kafka", doc: "Topics of a Kafka cluster.", connector: true, shape: &shape{what: isFields, fields: []field{
	brokersField,
	{name: "topics", doc: "The topics.", shape: &shape{what: isList, of: topicShape, example: "[clicks]"}},
	{name: "topic-pattern", doc: "A regular expression (RE2) that the whole name of a topic must match; a warning says so if none does.", shape: &shape{what: isPattern, example: "clicks-.*"}},
	valueFormatField,
	{name: "start", doc: "Where partitions begin that no checkpoint knows: earliest (default), latest, group (where the group stands), or {timestamp: …}.", shape: startShape},
	{name: "group", doc: "The consumer group that positions are committed to with each checkpoint, so that others see the lag; the job itself goes on from its checkpoint.", shape: textShape},
	{name: "bounded", doc: "true: the source ends where its partitions ended when the job started. Default false.", shape: flagShape},
	{name: "discovery-interval", doc: "How often new topics and partitions are looked for; 0s: never. Default 5m.", shape: &shape{what: isDuration, max: DelayMax, example: "5m"}},
	{name: "isolation", doc: "read-committed (default): only records of transactions that were committed; read-uncommitted: all.", shape: &shape{what: isWord, words: []string{"read-committed", "read-uncommitted"}}},
	{name: "metadata", doc: "Further columns, from what Kafka knows of a record beside its value: timestamp (TIMESTAMP_LTZ(3)), key (BYTES), headers (MAP<STRING, BYTES>), partition (INT), offset (BIGINT) or topic (STRING).", shape: &shape{what: isNamed, noun: "column", columns: true, of: &shape{what: isWord, words: metadataWords[:]}}},
	recordBytesField,
	tlsField,
	saslField,
}, one: []choice{{noun: "set of topics", names: []string{"topics", "topic-pattern"}}}}}

var kafkaSinkField = field{name: "kafka", doc: "A topic of a Kafka cluster.", connector: true, shape: &shape{what: isFields, fields: []field{
	brokersField,
	{name: "topic", doc: "The topic.", required: true, shape: topicShape},
	valueFormatField,
	{name: "delivery", doc: "at-least-once (default), exactly-once (in transactions that are committed with checkpoints) or none (what a crash loses is lost).", shape: &shape{what: isWord, words: guaranteeWords[:]}},
	{name: "transactional-id-prefix", doc: "What the sink's transactional ids begin with, up to a slash: no other job and sink may use it. Needed for exactly-once.", shape: textShape},
	{name: "transaction-timeout", doc: "When brokers abort a transaction that is not committed: longer than a checkpoint's interval and the longest outage. Default 15m, the most that brokers allow by default.", shape: &shape{what: isDuration, min: TransactionTimeoutMin, max: TransactionTimeoutMax, example: "15m"}},
	{name: "key", doc: "The columns of each record's key; by default it has none.", shape: columnsShape},
	{name: "key-format", doc: "json (default): an object of the key's columns; raw: the bytes of the only one, STRING or BYTES.", shape: &shape{what: isWord, words: keyFormatWords[:]}},
	{name: "partition", doc: "The column, INT, that says which partition; by default the key's hash does.", shape: columnShape},
	{name: "headers", doc: "Headers of each record: the column, STRING or BYTES, that holds the value, or {value: text}.", shape: &shape{what: isNamed, noun: "header", columns: true, of: headerShape}},
	{name: "mode", doc: "append (default): there are no changes; upsert: the newest row of each key, a record without a value deletes it; changelog: changes are records with their kind in a first field op.", shape: &shape{what: isWord, words: modeWords[:]}},
	{name: "compression", doc: "none (default), gzip, snappy, lz4 or zstd.", shape: &shape{what: isWord, words: []string{"none", "gzip", "snappy", "lz4", "zstd"}}},
	{name: "timestamp", doc: "event-time (default): records have their event time as timestamp; none: the time of sending.", shape: &shape{what: isWord, words: []string{"event-time", "none"}}},
	tlsField,
	saslField,
}}}

var headerShape = makeHeaderShape()

func makeHeaderShape() *shape {
	constant := &shape{what: isFields, fields: []field{{name: "value", doc: "The value, the same for all records.", required: true, shape: textShape}}}
	return &shape{what: isEither, either: []*shape{columnShape, constant}, choose: func(n *node) *shape {
		if n.form == mappingForm {
			return constant
		}
		return columnShape
	}}
}
