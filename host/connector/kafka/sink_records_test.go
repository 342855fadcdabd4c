package kafka_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/wasmstream/wasmstream/host/connector"
	"github.com/wasmstream/wasmstream/host/connector/kafka"
)

// atLeast are the options of a sink that writes at least once.
func (b *broker) atLeast(topic string) kafka.SinkOptions {
	return kafka.SinkOptions{Connection: b.connection(), Topic: topic, Delivery: kafka.AtLeastOnce}
}

// described reads all of a topic with what is known of its records.
func (b *broker) described(t testing.TB, topic string) *reading {
	t.Helper()
	r := open(t, kafka.SourceOptions{Connection: b.connection(), Topics: []string{topic}, Bounded: true, Metadata: true})
	if err := r.toEnd(); err != io.EOF {
		t.Fatal(err)
	}
	return r
}

// Kafka's own UtilsTest says what these keys hash to; a partition is the hash without
// its sign, modulo their number.
func TestKeysChooseThePartitionThatKafkaChooses(t *testing.T) {
	b := realKafka(t)
	const partitions = 7
	topic := b.topic(t, partitions)
	hashes := map[string]int32{
		"21": -973932308, "foobar": -790332482, "a-little-bit-long-string": -985981536,
		"a-little-bit-longer-string": -1486304829, "lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971,
	}
	want := map[string][]string{}
	var keys []string
	for key, hash := range hashes {
		split := fmt.Sprintf("%s/%d", topic, (hash&math.MaxInt32)%partitions)
		want[split] = append(want[split], key)
		keys = append(keys, key)
	}
	s := openSink(t, b.atLeast(topic), nil)
	must(t, s.Write(records(keys, keys...)))
	handOver(t, s)
	got := b.described(t, topic)
	for split := range want {
		slicesEqualUnordered(t, split, want[split], got.values[split])
	}
	for split, metas := range got.meta {
		for i, m := range metas {
			if string(m.Key) != got.values[split][i] {
				t.Errorf("%s has the key %q", got.values[split][i], m.Key)
			}
		}
	}
}

func slicesEqualUnordered(t *testing.T, what string, want, got []string) {
	t.Helper()
	count := func(values []string) map[string]int {
		m := map[string]int{}
		for _, v := range values {
			m[v]++
		}
		return m
	}
	if d := cmp.Diff(count(want), count(got)); d != "" {
		t.Errorf("%s (-want +got)\n%s", what, d)
	}
}

func TestRecordsTakeEverythingWithThem(t *testing.T) {
	b := realKafka(t)
	topic := b.topic(t, 3)
	o := b.atLeast(topic)
	o.Timestamps = true
	o.Headers = []kafka.StaticHeader{{Name: "by", Value: "wasmstream"}}
	o.ColumnHeaders = []string{"first", "second"}
	s := openSink(t, o, nil)
	r := records([]string{"one", "two", "three"}, "k1", "k2", "")
	r.Times = []int64{1_000_000, 2_000_000, math.MinInt64}
	r.Deleted = []bool{false, true, false}
	r.Partitions = []int32{2, 2, 0}
	r.Headers = []byte("ABBCCC")
	r.HeaderEnds = []uint32{1, 1, 3, 3, 6, 6}
	sent := time.Now().UnixMilli()
	must(t, s.Write(r))
	handOver(t, s)
	got := b.described(t, topic)
	if d := cmp.Diff(map[string][]string{topic + "/0": {"three"}, topic + "/2": {"one", ""}}, got.values); d != "" {
		t.Error(d)
	}
	h := func(values ...string) []connector.Header {
		return []connector.Header{{Name: "by", Value: []byte("wasmstream")}, {Name: "first", Value: []byte(values[0])}, {Name: "second", Value: []byte(values[1])}}
	}
	last := got.meta[topic+"/0"][0]
	if last.Timestamp < sent || last.Timestamp > time.Now().UnixMilli() {
		t.Errorf("a record without a time has %d, and was sent at %d", last.Timestamp, sent)
	}
	last.Timestamp = 0
	got.meta[topic+"/0"][0] = last
	want := map[string][]connector.Meta{
		topic + "/1": nil,
		topic + "/0": {{Key: []byte{}, Headers: h("CCC", "")}},
		topic + "/2": {{Timestamp: 1_000_000, Key: []byte("k1"), Headers: h("A", "")}, {Timestamp: 2_000_000, Key: []byte("k2"), Headers: h("BB", ""), Null: true}},
	}
	if d := cmp.Diff(want, got.meta); d != "" {
		t.Error(d)
	}
}

func TestCompression(t *testing.T) {
	b := realKafka(t)
	for _, codec := range []string{"none", "gzip", "snappy", "lz4", "zstd"} {
		topic := b.topic(t, 1)
		o := b.atLeast(topic)
		o.Compression = codec
		s := openSink(t, o, nil)
		values := numbered(strings.Repeat(codec, 10), 5000)
		must(t, s.Write(records(values)))
		handOver(t, s)
		if d := cmp.Diff(values, b.described(t, topic).values[topic+"/0"]); d != "" {
			t.Errorf("%s: %s", codec, d)
		}
	}
}

// wantTopicError writes records and wants to be told in these words why not.
func wantTopicError(t *testing.T, s *kafka.Sink, r *connector.Records, words ...string) {
	t.Helper()
	err := s.Write(r)
	if err == nil {
		_, err = s.Handover(false)
	}
	var of *kafka.TopicError
	if !errors.As(err, &of) {
		t.Fatalf("%v is no TopicError", err)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%v; want %q", err, w)
		}
	}
	if again := s.Write(r); again == nil {
		t.Error("the sink goes on after it lost a record")
	}
}

func TestRefusedRecords(t *testing.T) {
	b := realKafka(t)
	for name, options := range map[string]func(string) kafka.SinkOptions{"at least once": b.atLeast, "exactly once": b.exactly} {
		t.Run(name+"/too long for a batch", func(t *testing.T) {
			s := openSink(t, options(b.topic(t, 1)), nil)
			wantTopicError(t, s, records([]string{strings.Repeat("x", 1<<20)}, "the key"), `"the key"`, "1048583", "batch-bytes-max")
		})
		t.Run(name+"/too long for the topic", func(t *testing.T) {
			s := openSink(t, options(b.topic(t, 1, "max.message.bytes=1000")), nil)
			wantTopicError(t, s, records([]string{strings.Repeat("x", 2000)}, "the key"), `"the key"`, "2007", "max.message.bytes")
		})
		t.Run(name+"/too old", func(t *testing.T) {
			o := options(b.topic(t, 1, "message.timestamp.before.max.ms=3600000"))
			o.Timestamps = true
			s := openSink(t, o, nil)
			r := records([]string{"old"})
			r.Times = []int64{1_000_000}
			wantTopicError(t, s, r, "a record of the time 1970-01-01T00:16:40Z", "message.timestamp.before.max.ms")
		})
		t.Run(name+"/one too old among others", func(t *testing.T) { // the broker refuses the batch, and all are told
			o := options(b.topic(t, 1, "message.timestamp.before.max.ms=3600000"))
			o.Timestamps = true
			s := openSink(t, o, nil)
			now := time.Now().Truncate(time.Second)
			r := records([]string{"new", "newest", "old", "also new"})
			r.Times = []int64{now.UnixMilli() - 1000, now.UnixMilli(), 1_000_000, now.UnixMilli() - 2000}
			wantTopicError(t, s, r, "from 1970-01-01T00:16:40Z to "+now.UTC().Format(time.RFC3339))
		})
		t.Run(name+"/no such partition", func(t *testing.T) {
			s := openSink(t, options(b.topic(t, 2)), nil)
			r := records([]string{"x"})
			r.Partitions = []int32{5}
			wantTopicError(t, s, r, "choice of 5 from 2")
		})
	}
}

func TestAnUnknownTopic(t *testing.T) {
	b := realKafka(t)
	for _, o := range []kafka.SinkOptions{b.atLeast("there-is-none"), b.exactly("there-is-none")} {
		if err := newSink(t, o).Open(nil); err == nil || !strings.Contains(err.Error(), "there-is-none: there is no such topic") {
			t.Errorf("%s: %v", o.Delivery, err)
		}
	}
}

func TestATransactionTimeoutThatTheBrokersRefuse(t *testing.T) {
	b := realKafka(t)
	o := b.exactly(b.topic(t, 1))
	o.TransactionTimeout = 1000 * time.Hour
	if err := newSink(t, o).Open(nil); err == nil || !strings.Contains(err.Error(), "transaction.max.timeout.ms") {
		t.Error(err)
	}
}

// A sink at least once shows its records without a checkpoint, and soon.
func TestAtLeastOnceDoesNotWaitForCheckpoints(t *testing.T) {
	b := realKafka(t)
	topic := b.topic(t, 1)
	s := openSink(t, b.atLeast(topic), nil)
	r := open(t, kafka.SourceOptions{Connection: b.connection(), Topics: []string{topic}, Start: kafka.StartLatest})
	must(t, s.Write(records([]string{"a"})))
	r.until(1)
	h, err := s.Handover(true)
	if err != nil || len(h) != 0 {
		t.Errorf("handed over %q, %v", h, err)
	}
}

func TestNoneCountsWhatItLoses(t *testing.T) {
	b := realKafka(t)
	topic := b.topic(t, 1, "max.message.bytes=1000")
	o := b.atLeast(topic)
	o.Delivery = kafka.None
	s := openSink(t, o, nil)
	must(t, s.Write(records([]string{strings.Repeat("x", 2000)})))
	eventually(t, "the loss to be counted", func() bool { return s.Lost() == 1 })
	must(t, s.Write(records([]string{"short"})))
	if _, err := s.Handover(true); err != nil {
		t.Fatal(err)
	}
	wantSettled(t, b, topic, "short")
}

// interrupted wants a call to end after Interrupt, with an error.
func interrupted(t *testing.T, name string, s *kafka.Sink, call func() error) {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- call() }()
	select {
	case err := <-done:
		t.Errorf("%s did not wait: %v", name, err)
		return
	case <-time.After(200 * time.Millisecond):
	}
	s.Interrupt()
	select {
	case err := <-done:
		if err == nil {
			t.Errorf("%s returned without an error", name)
		}
	case <-time.After(patience):
		t.Errorf("%s still waits after Interrupt", name)
	}
	must(t, s.Close())
}

func TestInterruptEndsWhatWaits(t *testing.T) {
	away := kafka.SinkOptions{Connection: kafka.Connection{Brokers: []string{"127.0.0.1:1"}}, Topic: "t", Delivery: kafka.ExactlyOnce, TransactionalIDPrefix: "p"}
	s := newSink(t, away)
	interrupted(t, "Recover", s, func() error { return s.Recover([]byte("kafka-transactions 1\n1 1 2 3 id\n")) })
	s = newSink(t, away)
	interrupted(t, "Open", s, func() error { return s.Open(nil) })

	for _, delivery := range []kafka.Delivery{kafka.ExactlyOnce, kafka.AtLeastOnce} {
		// ready is a sink with a record, whose broker goes away.
		ready := func(before func(*kafka.Sink)) *kafka.Sink {
			c, b := fakeOf(t, 1, 1)
			o := b.exactly("t")
			o.BufferBytesMax = 10_000
			if o.Delivery = delivery; delivery != kafka.ExactlyOnce {
				o.TransactionalIDPrefix = ""
			}
			s := openSink(t, o, nil)
			must(t, s.Write(records([]string{"a"})))
			before(s)
			c.Close()
			return s
		}
		nothing := func(*kafka.Sink) {}
		handed := func(s *kafka.Sink) { handOver(t, s) }
		s := ready(handed)
		interrupted(t, "Write", s, func() error {
			for {
				if err := s.Write(records([]string{strings.Repeat("x", 5000)})); err != nil {
					return err
				}
			}
		})
		s = ready(nothing)
		interrupted(t, "Handover", s, func() error {
			must(t, s.Write(records([]string{"b"})))
			_, err := s.Handover(false)
			return err
		})
		if delivery == kafka.ExactlyOnce {
			s = ready(handed)
			interrupted(t, "Commit", s, s.Commit)
		}
	}
}

func TestATopicThatIsDeletedWhileItIsWritten(t *testing.T) {
	b := realKafka(t)
	for _, options := range []func(string) kafka.SinkOptions{b.atLeast, b.exactly} {
		topic := b.topic(t, 1)
		s := openSink(t, options(topic), nil)
		again(t, s, "a")
		_, err := kadm.NewClient(b.client(t)).DeleteTopic(context.Background(), topic)
		must(t, err)
		for err = nil; err == nil; {
			if err = s.Write(records([]string{"b"})); err == nil {
				_, err = s.Handover(false)
			}
		}
		var of *kafka.TopicError
		if !errors.As(err, &of) || of.Topic != topic || !strings.Contains(err.Error(), "deleted") {
			t.Error(err)
		}
	}
}

// What is written at least once is read soon: 20 records a ms for two seconds. The aim is a p99 of 25 ms, on a machine
// of its own; what is asked for here, once in some attempts, is that records do not wait for others or for a checkpoint.
func TestLatencyAtLeastOnce(t *testing.T) {
	if testing.Short() {
		t.Skip("it measures")
	}
	b := realKafka(t)
	for range 5 {
		late := latencies(t, b)
		p50 := late[len(late)/2]
		t.Logf("p50 %v, p99 %v, p99.9 %v", p50, late[len(late)*99/100], late[len(late)*999/1000])
		if p50 < time.Second/2 {
			return
		}
	}
	t.Error("half of the records were late by half a second, each time")
}

// latencies are how long records that were written at least once took to be read, in order.
func latencies(t *testing.T, b *broker) []time.Duration {
	t.Helper()
	topic := b.topic(t, 3)
	s := openSink(t, b.atLeast(topic), nil)
	src, err := kafka.NewSource(b.live(topic))
	must(t, err)
	defer src.Close()
	must(t, src.Open(nil))
	var late []time.Duration
	const rounds, warm = 500, 400 * time.Millisecond
	start := time.Now()
	go func() {
		for i := range rounds {
			<-time.After(time.Until(start.Add(time.Duration(i) * 4 * time.Millisecond)))
			var values []string
			for range 80 {
				values = append(values, strconv.FormatInt(int64(time.Since(start)), 10))
			}
			if s.Write(records(values, values...)) != nil {
				return
			}
		}
	}()
	var c connector.Chunk
	for len(late) < 80*rounds {
		must(t, src.Read(&c))
		now, from := time.Since(start), uint32(0)
		for _, end := range c.Ends {
			sent, _ := strconv.ParseInt(string(c.Data[from:end]), 10, 64)
			if late = append(late, now-time.Duration(sent)); sent < int64(warm) {
				late[len(late)-1] = 0 // connections are being made
			}
			from = end
		}
	}
	slices.Sort(late)
	return late
}
