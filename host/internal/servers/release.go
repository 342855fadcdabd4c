package servers

// Release is a release of Kafka with the protocol of transactions that it is set up for.
type Release int

// The releases that tests know. They differ in how transactions end: since version 2 of the protocol each has an epoch
// of its own, before it a producer keeps one.
const (
	Kafka4    Release = iota // 4.4.0 as it comes: transactions of version 2
	Kafka4TV1                // 4.4.0 with transactions of version 1
	Kafka4TV0                // 4.4.0 as upgraded from an old cluster: transactions of version 0
	Kafka39                  // 3.9.2, the last line before 4
)

// Releases are all of them.
var Releases = []Release{Kafka4, Kafka4TV1, Kafka4TV0, Kafka39}

type releaseFacts struct {
	name               string
	version            string
	transactionVersion string // "" is the version's own
	variable           string
}

var releases = [...]releaseFacts{
	Kafka4:    {"4.4", "4.4.0", "", "WASMSTREAM_TEST_KAFKA"},
	Kafka4TV1: {"4.4-tv1", "4.4.0", "1", "WASMSTREAM_TEST_KAFKA_TV1"},
	Kafka4TV0: {"4.4-tv0", "4.4.0", "0", "WASMSTREAM_TEST_KAFKA_TV0"},
	Kafka39:   {"3.9", "3.9.2", "", "WASMSTREAM_TEST_KAFKA_39"},
}

// String is the release's name in messages and flags.
func (r Release) String() string { return releases[r].name }

// Version is the version of its jars.
func (r Release) Version() string { return releases[r].version }

// Variable is the environment variable that holds host:port of a broker of the release that runs already. Shared then
// takes that one.
func (r Release) Variable() string { return releases[r].variable }
