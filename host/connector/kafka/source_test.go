package kafka_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/wasmstream/wasmstream/host/connector"
	"github.com/wasmstream/wasmstream/host/connector/kafka"
)

// from are the options of a source that reads a topic to its end.
func (b *broker) from(topics ...string) kafka.SourceOptions {
	return kafka.SourceOptions{Connection: b.connection(), Topics: topics, Bounded: true}
}

// live are the options of a source that goes on.
func (b *broker) live(topics ...string) kafka.SourceOptions {
	o := b.from(topics...)
	o.Bounded = false
	return o
}

func wantEnd(t testing.TB, r *reading) {
	t.Helper()
	if err := r.toEnd(); err != io.EOF {
		t.Fatal(err)
	}
	for name, p := range r.at {
		if !p.Ended {
			t.Errorf("%s did not end", name)
		}
	}
}

func at(split string, offset, record int64) connector.SplitPosition {
	return connector.SplitPosition{Split: split, Position: connector.Position{Offset: offset, Record: record}}
}

func TestReadsAllPartitions(t *testing.T) {
	eachKafka(t, func(t *testing.T, b *broker) {
		topic, other := b.topic(t, 3), b.topic(t, 1)
		want := map[string][]string{other + "/0": {"x"}}
		b.produce(t, other, 0, "x")
		for p := range int32(3) {
			values := numbered("v", 1000*int(p+1))
			b.produce(t, topic, p, values...)
			want[fmt.Sprintf("%s/%d", topic, p)] = values
		}
		r := open(t, b.from(topic, other))
		for range 4 { // all are known before the first record
			must(t, r.once())
		}
		if len(r.splits) != 4 || r.count() > 0 {
			t.Errorf("the first chunks make %q known", r.splits)
		}
		wantEnd(t, r)
		if d := cmp.Diff(want, r.values); d != "" {
			t.Error(d)
		}
	})
}

// A source that is opened at any position that it gave reads the rest, no more and no
// less.
func TestGoesOnFromEveryPosition(t *testing.T) {
	b := realKafka(t)
	topic := b.topic(t, 2)
	want := map[string][]string{}
	for p := range int32(2) {
		for i := range 4 {
			values := numbered(fmt.Sprint(i, "-", strings.Repeat("x", 100), "-"), 3000)
			b.produce(t, topic, p, values...)
			split := fmt.Sprintf("%s/%d", topic, p)
			want[split] = append(want[split], values...)
		}
	}
	whole := open(t, b.from(topic))
	for chunk := 0; ; chunk++ {
		err := whole.once()
		if err == io.EOF {
			break
		}
		must(t, err)
		if chunk%3 != 1 {
			continue
		}
		rest := open(t, b.from(topic), whole.positions()...)
		wantEnd(t, rest)
		for split := range want {
			n := int(whole.at[split].Record)
			if d := cmp.Diff(want[split][n:], rest.values[split], cmpEmpty); d != "" {
				t.Fatalf("%s from record %d: %s", split, n, d)
			}
			if whole.at[split].Ended && len(rest.values[split]) > 0 {
				t.Errorf("%s was read again behind its end", split)
			}
		}
	}
	if d := cmp.Diff(want, whole.values); d != "" {
		t.Error(d)
	}
}

var cmpEmpty = cmp.FilterValues(func(a, b []string) bool { return len(a)+len(b) == 0 }, cmp.Ignore())

func TestReadsFromWithinABatch(t *testing.T) {
	b := realKafka(t)
	topic := b.topic(t, 1)
	values := numbered("v", 100)
	b.produce(t, topic, 0, values...)
	for _, offset := range []int64{1, 37, 99, 100} {
		r := open(t, b.from(topic), at(topic+"/0", offset, 7))
		wantEnd(t, r)
		if d := cmp.Diff(values[offset:], r.values[topic+"/0"], cmpEmpty); d != "" {
			t.Errorf("from %d: %s", offset, d)
		}
		if got := r.at[topic+"/0"].Record; got != 7+100-offset {
			t.Errorf("from %d: the records are counted to %d", offset, got)
		}
	}
}

func TestWhereASourceBegins(t *testing.T) {
	b := realKafka(t)
	topic := b.topic(t, 2)
	c := b.client(t)
	for i := range int64(10) {
		must(t, c.ProduceSync(context.Background(), &kgo.Record{Topic: topic, Value: fmt.Append(nil, "v", i), Timestamp: time.UnixMilli(1000 * i)}).FirstErr())
	}
	b.produce(t, topic, 1, "other")
	group := topic
	_, err := kadm.NewClient(c).CommitOffsets(context.Background(), group, kadm.Offsets{topic: {0: {Topic: topic, Partition: 0, At: 8, LeaderEpoch: -1}}})
	must(t, err)
	other := []string{"other"}
	for _, test := range []struct {
		set  func(*kafka.SourceOptions)
		want map[string][]string
	}{
		{func(o *kafka.SourceOptions) { o.Start = kafka.StartEarliest }, map[string][]string{topic + "/0": numbered("v", 10), topic + "/1": other}},
		{func(o *kafka.SourceOptions) { o.Start = kafka.StartLatest }, map[string][]string{}},
		{func(o *kafka.SourceOptions) { o.Start, o.StartMillis = kafka.StartTimestamp, 6500 }, map[string][]string{topic + "/0": {"v7", "v8", "v9"}, topic + "/1": other}},
		{func(o *kafka.SourceOptions) { o.Start, o.Group = kafka.StartGroup, group }, map[string][]string{topic + "/0": {"v8", "v9"}, topic + "/1": other}},
	} {
		o := b.from(topic)
		test.set(&o)
		r := open(t, o)
		wantEnd(t, r)
		if d := cmp.Diff(test.want, r.values, cmpEmpty); d != "" {
			t.Errorf("%s: %s", o.Start, d)
		}
	}
	o := b.from(topic)
	o.Start = kafka.StartLatest // but what is not listed is new
	r := open(t, o, at(topic+"/0", 9, 0))
	wantEnd(t, r)
	if d := cmp.Diff(map[string][]string{topic + "/0": {"v9"}, topic + "/1": other}, r.values); d != "" {
		t.Error(d)
	}
}

func TestCheckpointsAreCommittedToTheGroup(t *testing.T) {
	b := realKafka(t)
	topic := b.topic(t, 1)
	b.produce(t, topic, 0, numbered("v", 20)...)
	o := b.live(topic)
	o.Group = topic
	r := open(t, o)
	admin := kadm.NewClient(b.client(t))
	committed := func() int64 {
		offsets, err := admin.FetchOffsets(context.Background(), topic)
		if err != nil {
			return -1 // a broker that nobody committed to before makes the topic for it
		}
		p, _ := offsets.Lookup(topic, 0)
		return p.At
	}
	eventually(t, "offset 5", func() bool { // one that fails is left to the next checkpoint
		r.source.Checkpointed([]connector.SplitPosition{at(topic+"/0", 5, 5)})
		return committed() == 5
	})
	for i := range int64(10) { // the last one wins
		r.source.Checkpointed([]connector.SplitPosition{at(topic+"/0", 6+i, 6+i)})
	}
	must(t, r.source.Close())
	if got := committed(); got != 15 {
		t.Errorf("offset %d is committed, want the last: 15", got)
	}
}

// transaction writes records in a transaction and ends it.
func (b *broker) transaction(t testing.TB, topic string, commit bool, values ...string) {
	t.Helper()
	c := b.client(t, kgo.TransactionalID(fmt.Sprint(topic, values)))
	must(t, c.BeginTransaction())
	for _, v := range values {
		must(t, c.ProduceSync(context.Background(), &kgo.Record{Topic: topic, Value: []byte(v)}).FirstErr())
	}
	must(t, c.EndTransaction(context.Background(), kgo.TransactionEndTry(commit)))
}

func TestTransactionsThatWereGivenUp(t *testing.T) {
	eachKafka(t, func(t *testing.T, b *broker) {
		topic := b.topic(t, 1)
		b.produce(t, topic, 0, "a")
		b.transaction(t, topic, false, "x", "y")
		b.transaction(t, topic, true, "b", "c")
		b.transaction(t, topic, false, "z", "z", "z") // the last offsets before the end are nobody's
		wantSettled(t, b, topic, "a", "b", "c")
		r := open(t, b.from(topic))
		wantEnd(t, r)
		if p := r.at[topic+"/0"]; p.Offset != 11 || p.Record != 3 {
			t.Errorf("the end is %+v; 8 records and 3 markers were written", p)
		}
		r.source.Lag(func(split string, n int64) {
			if n != 0 {
				t.Errorf("%s is %d behind at its end", split, n)
			}
		})
		o := b.from(topic)
		o.ReadUncommitted = true
		r = open(t, o)
		wantEnd(t, r)
		if d := cmp.Diff([]string{"a", "x", "y", "b", "c", "z", "z", "z"}, r.values[topic+"/0"]); d != "" {
			t.Error(d)
		}
	})
}

func TestAnOpenTransactionHidesWhatIsBehindIt(t *testing.T) {
	b := realKafka(t)
	topic := b.topic(t, 1)
	b.produce(t, topic, 0, "a")
	c := b.client(t, kgo.TransactionalID(topic))
	must(t, c.BeginTransaction())
	must(t, c.ProduceSync(context.Background(), &kgo.Record{Topic: topic, Value: []byte("b")}).FirstErr())
	b.produce(t, topic, 0, "c")
	r := open(t, b.live(topic))
	r.until(1)
	end := open(t, b.from(topic))
	wantEnd(t, end) // which is before the transaction
	must(t, c.EndTransaction(context.Background(), kgo.TryCommit))
	r.until(3)
	if d := cmp.Diff([]string{"a", "b", "c"}, r.values[topic+"/0"]); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"a"}, end.values[topic+"/0"]); d != "" {
		t.Error(d)
	}
}

func TestARecordThatIsTooLong(t *testing.T) {
	b := realKafka(t)
	topic := b.topic(t, 1)
	long := strings.Repeat("x", 101)
	b.produce(t, topic, 0, long, "a", long, long, "b", long)
	o := b.from(topic)
	o.RecordBytesMax = 100
	r := open(t, o)
	wantEnd(t, r)
	if d := cmp.Diff([]string{"a", "b"}, r.values[topic+"/0"]); d != "" {
		t.Error(d)
	}
	if len(r.faults) != 4 || r.faults[1] != "the record at offset 2 has 101 bytes, and the limit is 100" {
		t.Errorf("faults: %q", r.faults)
	}
	if p := r.at[topic+"/0"]; p.Offset != 6 || p.Record != 6 {
		t.Errorf("the end is %+v", p)
	}
}

func TestATombstone(t *testing.T) {
	b := realKafka(t)
	topic := b.topic(t, 1)
	c := b.client(t)
	must(t, c.ProduceSync(context.Background(),
		&kgo.Record{Topic: topic, Key: []byte("k"), Value: []byte("v")},
		&kgo.Record{Topic: topic, Key: []byte("k")},
		&kgo.Record{Topic: topic, Key: []byte("k"), Value: []byte{}}).FirstErr())
	for _, meta := range []bool{false, true} {
		o := b.from(topic)
		o.Metadata = meta
		r := open(t, o)
		wantEnd(t, r)
		var null []bool
		for _, m := range r.meta[topic+"/0"] {
			null = append(null, m.Null)
		}
		if d := cmp.Diff([]bool{false, true, false}, null); d != "" {
			t.Errorf("metadata %v: %s", meta, d)
		}
	}
}

func TestRecordsThatAreGone(t *testing.T) {
	b := realKafka(t)
	topic := b.topic(t, 1)
	b.produce(t, topic, 0, numbered("v", 10)...)
	live := open(t, b.live(topic))
	must(t, live.once())
	live.source.Pause([]string{topic + "/0"}) // but what was fetched may come still
	gone := func(err error, offset int64, cut bool) {
		t.Helper()
		var e *kafka.GoneError
		if !errors.As(err, &e) || e.Split != topic+"/0" || e.Offset != offset || e.First != 6 || e.End != 10 || e.Cut != cut {
			t.Errorf("%+v (%v)", err, err)
		}
	}
	_, err := kadm.NewClient(b.client(t)).DeleteRecords(context.Background(), kadm.Offsets{topic: {0: {Topic: topic, Partition: 0, At: 6}}})
	must(t, err)
	for _, test := range []struct {
		offset int64
		cut    bool
	}{{5, false}, {11, true}} {
		s, err := kafka.NewSource(b.live(topic))
		must(t, err)
		gone(s.Open([]connector.SplitPosition{at(topic+"/0", test.offset, 0)}), test.offset, test.cut)
		must(t, s.Close())
	}
	r := open(t, b.from(topic), at(topic+"/0", 6, 6))
	wantEnd(t, r)
	if d := cmp.Diff(numbered("v", 10)[6:], r.values[topic+"/0"]); d != "" {
		t.Error(d)
	}
}

// Records are deleted while the source that is to read them is told to wait.
func TestRecordsThatGoWhileTheyAreWaitedFor(t *testing.T) {
	b := realKafka(t)
	topic := b.topic(t, 1)
	s, err := kafka.NewSource(b.live(topic))
	must(t, err)
	defer s.Close()
	must(t, s.Open(nil))
	r := newReading(t, s)
	must(t, r.once())
	r.source.Pause([]string{topic + "/0"})
	b.produce(t, topic, 0, numbered("v", 10)...)
	// A request from before the pause may have brought some.
	admin := kadm.NewClient(b.client(t))
	_, err = admin.DeleteRecords(context.Background(), kadm.Offsets{topic: {0: {Topic: topic, Partition: 0, At: 10}}})
	must(t, err)
	b.produce(t, topic, 0, "w")
	r.source.Pause(nil)
	for err = nil; err == nil && r.count() < 11; {
		err = r.once()
	}
	var gone *kafka.GoneError
	if got := r.values[topic+"/0"]; err == nil && !slices.Equal(got, append(numbered("v", 10), "w")) {
		t.Errorf("records are missing, and nothing is said: %q", got)
	} else if err != nil && !errors.As(err, &gone) {
		t.Error(err)
	}
}

func TestTopicsThatAreNotThere(t *testing.T) {
	b := realKafka(t)
	topic := b.topic(t, 1)
	b.produce(t, topic, 0, "a")
	admin := kadm.NewClient(b.client(t))
	wantTopic := func(err error, words string) {
		t.Helper()
		var of *kafka.TopicError
		if !errors.As(err, &of) || !strings.Contains(err.Error(), words) {
			t.Errorf("%v; want a TopicError with %q", err, words)
		}
	}
	s, err := kafka.NewSource(b.live("there-is-none"))
	must(t, err)
	wantTopic(s.Open(nil), "there-is-none: there is no such topic")
	must(t, s.Close())

	s, err = kafka.NewSource(b.live(topic))
	must(t, err)
	wantTopic(s.Open([]connector.SplitPosition{at(topic+"/0", 0, 0), at(topic+"/7", 3, 3)}), topic+"/7")
	must(t, s.Close())

	deleted := open(t, b.live(topic))
	deleted.until(1)
	_, err = admin.DeleteTopic(context.Background(), topic)
	must(t, err)
	wantTopic(deleted.toEnd(), "topic "+topic+": it was deleted")

	anew := b.topic(t, 1)
	r := open(t, b.live(anew))
	must(t, r.once())
	_, err = admin.DeleteTopic(context.Background(), anew)
	must(t, err)
	eventually(t, "the topic to be made anew", func() bool {
		_, err := admin.CreateTopic(context.Background(), 1, 1, nil, anew)
		return err == nil
	})
	wantTopic(r.toEnd(), "topic "+anew)
}

func TestPartitionsAndTopicsThatAreNew(t *testing.T) {
	b := realKafka(t)
	topic := b.topic(t, 1)
	o := b.live()
	o.Pattern = topic + ".*"
	o.Start = kafka.StartLatest
	o.DiscoveryInterval = 50 * time.Millisecond
	b.produce(t, topic, 0, "before")
	r := open(t, o)
	must(t, r.once())
	admin := kadm.NewClient(b.client(t))
	_, err := admin.UpdatePartitions(context.Background(), 3, topic)
	must(t, err)
	_, err = admin.CreateTopic(context.Background(), 1, 1, nil, topic+"-more")
	must(t, err)
	_, err = admin.CreateTopic(context.Background(), 1, 1, nil, "x"+topic) // the pattern is of the whole name
	must(t, err)
	want := map[string][]string{topic + "/0": {"a"}, topic + "/1": {"b"}, topic + "/2": {"c"}, topic + "-more/0": {"d"}}
	c := b.client(t, kgo.UnknownTopicRetries(100), kgo.MetadataMinAge(50*time.Millisecond))
	for split, values := range want {
		name, number, _ := strings.Cut(split, "/")
		partition := int32(number[0] - '0')
		// The producer may not know of the partition yet.
		eventually(t, "a producer to know "+split, func() bool {
			return c.ProduceSync(context.Background(), &kgo.Record{Topic: name, Partition: partition, Value: []byte(values[0])}).FirstErr() == nil
		})
	}
	r.until(4)
	if d := cmp.Diff(want, r.values); d != "" {
		t.Error(d)
	}
}

func TestLagAndPause(t *testing.T) {
	b := realKafka(t)
	topic := b.topic(t, 2)
	b.produce(t, topic, 0, numbered("a", 100)...)
	b.produce(t, topic, 1, numbered("b", 100)...)
	s, err := kafka.NewSource(b.live(topic))
	must(t, err)
	defer s.Close()
	must(t, s.Open(nil))
	s.Pause([]string{topic + "/1"})
	r := newReading(t, s)
	must(t, r.once())
	must(t, r.once())
	lags := func() map[string]int64 {
		m := map[string]int64{}
		s.Lag(func(split string, n int64) { m[split] = n })
		return m
	}
	if d := cmp.Diff(map[string]int64{topic + "/0": 100, topic + "/1": 100}, lags()); d != "" {
		t.Error(d)
	}
	s.Pause([]string{topic + "/1"})
	b.produce(t, topic, 0, numbered("c", 100)...)
	for len(r.values[topic+"/0"]) < 200 {
		must(t, r.once())
	}
	s.Pause([]string{topic + "/0"})
	b.produce(t, topic, 1, numbered("d", 10)...)
	for len(r.values[topic+"/1"]) < 110 {
		must(t, r.once())
	}
	eventually(t, "the lag to be nothing", func() bool {
		return cmp.Equal(map[string]int64{topic + "/0": 0, topic + "/1": 0}, lags())
	})
}

func TestCloseEndsWhatWaits(t *testing.T) {
	b := realKafka(t)
	r := open(t, b.live(b.topic(t, 1)))
	must(t, r.once())
	time.AfterFunc(50*time.Millisecond, func() { r.source.Close() })
	if err := r.once(); err == nil {
		t.Error("it read a chunk of nothing")
	}
	o := b.live("t")
	o.Brokers = []string{"127.0.0.1:1"}
	s, err := kafka.NewSource(o)
	must(t, err)
	time.AfterFunc(50*time.Millisecond, func() { s.Close() })
	if err := s.Open(nil); err == nil {
		t.Error("it opened without a broker")
	}
}

func TestNoBrokerAnswers(t *testing.T) {
	s, err := kafka.NewSource(kafka.SourceOptions{Connection: kafka.Connection{Brokers: []string{"127.0.0.1:1"}, ConnectTimeout: 200 * time.Millisecond}, Topics: []string{"t"}})
	must(t, err)
	defer s.Close()
	if err := s.Open(nil); err == nil || !strings.Contains(err.Error(), "127.0.0.1:1") || !strings.Contains(err.Error(), "topic t") {
		t.Error(err)
	}
}

func TestReadsOnAfterTheBrokerWasKilled(t *testing.T) {
	b := restartable(t, realKafka(t))
	topic := b.topic(t, 1)
	b.produce(t, topic, 0, "a")
	r := open(t, b.live(topic))
	r.until(1)
	killedWhile(t, b, func() error {
		for r.count() < 2 {
			if err := r.once(); err != nil {
				return err
			}
			if r.count() == 1 {
				continue
			}
		}
		return nil
	}, func() { b.produce(t, topic, 0, "b") })
	if d := cmp.Diff([]string{"a", "b"}, r.values[topic+"/0"]); d != "" {
		t.Error(d)
	}
}
