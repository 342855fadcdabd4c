package kafka_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/wasmstream/wasmstream/host/connector"
	"github.com/wasmstream/wasmstream/host/connector/kafka"
	"github.com/wasmstream/wasmstream/host/internal/servers"
)

// broker is a real Kafka of one node, or a fake one.
type broker struct {
	address string
	release servers.Release
	server  *servers.Broker // nil: it is not to be killed
}

// realKafka returns the newest broker, which tests share.
func realKafka(t testing.TB) *broker { return sharedKafka(t, servers.Kafka4) }

func sharedKafka(t testing.TB, r servers.Release) *broker {
	t.Helper()
	return &broker{address: servers.Shared(t, r).Bootstrap, release: r}
}

// eachKafka runs a test with the newest broker, and where all are asked for with those
// whose transactions differ.
func eachKafka(t *testing.T, test func(t *testing.T, b *broker)) {
	t.Helper()
	t.Run("4.4", func(t *testing.T) { test(t, realKafka(t)) })
	if os.Getenv("WASMSTREAM_TEST_KAFKA_ALL") == "" {
		return
	}
	t.Run("4.4 TV1", func(t *testing.T) { test(t, sharedKafka(t, servers.Kafka4TV1)) })
	t.Run("4.4 TV0", func(t *testing.T) { test(t, sharedKafka(t, servers.Kafka4TV0)) })
	t.Run("3.9", func(t *testing.T) { test(t, sharedKafka(t, servers.Kafka39)) })
}

// restartable returns a broker of the same release that the test may kill.
func restartable(t testing.TB, b *broker) *broker {
	t.Helper()
	if testing.Short() {
		t.Skip("a broker takes 10 s to come back after a crash")
	}
	server := servers.Start(t, servers.Options{Release: b.release})
	return &broker{address: server.Bootstrap, release: b.release, server: server}
}

// kill ends the broker as a crash does.
func (b *broker) kill(t testing.TB) {
	t.Helper()
	must(t, b.server.Kill())
}

// restart starts a broker that was killed on what it left.
func (b *broker) restart(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	must(t, b.server.Restart(ctx))
}

// patience is what nothing here needs, even on a machine that is busy.
const patience = 2 * time.Minute

// eventually asks until it is so.
func eventually(t testing.TB, what string, so func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !so(); {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// transactionState says what the broker knows of an id, such as "Ongoing".
func (b *broker) transactionState(t testing.TB, admin *kadm.Client, id string) string {
	t.Helper()
	all, err := admin.DescribeTransactions(context.Background(), id)
	if err != nil {
		t.Fatal(err)
	}
	return all[id].State
}

// client connects to a broker, as a user of it would.
func (b *broker) client(t testing.TB, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	c, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(b.address), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchCompression(kgo.NoCompression())}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

var topicsMade atomic.Int64

// topic makes a topic of the test's own.
func (b *broker) topic(t testing.TB, partitions int32, config ...string) string {
	t.Helper()
	name := fmt.Sprintf("%s-%d-%d", regexp.MustCompile(`[^a-zA-Z0-9]+`).ReplaceAllString(t.Name(), "-"), topicsMade.Add(1), time.Now().UnixNano()%1e6)
	settings := map[string]*string{}
	for _, c := range config {
		k, v, _ := strings.Cut(c, "=")
		settings[k] = &v
	}
	admin := kadm.NewClient(b.client(t))
	if _, err := admin.CreateTopic(context.Background(), partitions, -1, settings, name); err != nil {
		t.Fatal(err)
	}
	return name
}

// produce writes values to a partition and returns when they are there.
func (b *broker) produce(t testing.TB, topic string, partition int32, values ...string) {
	t.Helper()
	c := b.client(t)
	var records []*kgo.Record
	for _, v := range values {
		records = append(records, &kgo.Record{Topic: topic, Partition: partition, Value: []byte(v)})
	}
	if err := c.ProduceSync(context.Background(), records...).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

func (b *broker) connection() kafka.Connection {
	return kafka.Connection{Brokers: []string{b.address}}
}

// reading collects what a source hands out.
type reading struct {
	t      testing.TB
	source *kafka.Source
	chunk  connector.Chunk
	at     map[string]connector.SplitPosition
	values map[string][]string // by split
	offs   map[string][]int64
	meta   map[string][]connector.Meta
	faults []string
	splits []string // in the order they became known
}

func newReading(t testing.TB, s *kafka.Source) *reading {
	return &reading{t: t, source: s, at: map[string]connector.SplitPosition{}, values: map[string][]string{},
		offs: map[string][]int64{}, meta: map[string][]connector.Meta{}}
}

// open makes a source and opens it.
func open(t testing.TB, o kafka.SourceOptions, at ...connector.SplitPosition) *reading {
	t.Helper()
	s, err := kafka.NewSource(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	if err := s.Open(at); err != nil {
		t.Fatal(err)
	}
	return newReading(t, s)
}

// once reads one chunk, and holds it against the contract.
func (r *reading) once() error {
	c := &r.chunk
	if err := r.source.Read(c); err != nil {
		return err
	}
	from, known := r.at[c.Split]
	if !known {
		r.splits = append(r.splits, c.Split)
		if len(c.Ends) > 0 {
			r.t.Errorf("%s has records in the first chunk that it is known by", c.Split)
		}
	} else if from.Ended {
		r.t.Errorf("%s goes on after its end", c.Split)
	} else if c.Start.Record != from.Record || c.Start.Offset < from.Offset {
		r.t.Errorf("%s: a chunk starts at %+v behind %+v", c.Split, c.Start, from.Position)
	}
	records := int64(len(c.Ends))
	if c.Fault != nil {
		records++
		r.faults = append(r.faults, c.Fault.Error())
	}
	if c.Next.Record != c.Start.Record+records || len(c.Offsets) != len(c.Ends) {
		r.t.Errorf("%s: %d records lie between %+v and %+v, with %d offsets", c.Split, records, c.Start, c.Next, len(c.Offsets))
	}
	begin := uint32(0)
	for i, end := range c.Ends {
		r.values[c.Split] = append(r.values[c.Split], string(c.Data[begin:end]))
		begin = end
		if o := c.Offsets[i]; o < c.Start.Offset || o >= c.Next.Offset {
			r.t.Errorf("%s: offset %d lies outside of %+v to %+v", c.Split, o, c.Start, c.Next)
		}
	}
	r.offs[c.Split] = append(r.offs[c.Split], c.Offsets...)
	r.meta[c.Split] = append(r.meta[c.Split], c.Meta...)
	r.at[c.Split] = connector.SplitPosition{Split: c.Split, Position: c.Next, Ended: c.Ended, Identity: c.Identity}
	return nil
}

func (r *reading) count() (n int) {
	for _, v := range r.values {
		n += len(v)
	}
	return n
}

// until reads until so many records were there in all.
func (r *reading) until(records int) {
	r.t.Helper()
	watch := time.AfterFunc(patience, func() { r.source.Close() })
	defer watch.Stop()
	for r.count() < records {
		if err := r.once(); err != nil {
			r.t.Fatalf("after %d of %d records: %v", r.count(), records, err)
		}
	}
}

// toEnd reads until the source says that it ends, and returns how.
func (r *reading) toEnd() error {
	watch := time.AfterFunc(patience, func() { r.source.Close() })
	defer watch.Stop()
	for {
		if err := r.once(); err != nil {
			return err
		}
	}
}

func (r *reading) positions() (at []connector.SplitPosition) {
	for _, p := range r.at {
		at = append(at, p)
	}
	return at
}

func numbered(prefix string, n int) (values []string) {
	for i := range n {
		values = append(values, fmt.Sprintf("%s%d", prefix, i))
	}
	return values
}

// records makes what a sink is given of values, and keys if there are any.
func records(values []string, keys ...string) *connector.Records {
	var r connector.Records
	for _, v := range values {
		r.Data = append(append(r.Data, v...), '\n')
		r.Ends = append(r.Ends, uint32(len(r.Data)))
	}
	var all bytes.Buffer
	for _, k := range keys {
		all.WriteString(k)
		r.KeyEnds = append(r.KeyEnds, uint32(all.Len()))
	}
	r.Keys = all.Bytes()
	return &r
}
