package kafka_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/wasmstream/wasmstream/host/connector"
	"github.com/wasmstream/wasmstream/host/connector/kafka"
)

// recordAt is a record of a batch that a test makes, without key and headers.
type recordAt struct {
	delta int32
	value string
}

// batchOf makes a batch as a broker stores it: from an offset to a last one, with
// only some of the records between, as compaction leaves it.
func batchOf(first, last int64, records ...recordAt) []byte {
	b := kmsg.NewRecordBatch()
	b.FirstOffset, b.LastOffsetDelta = first, int32(last-first)
	b.Magic, b.PartitionLeaderEpoch, b.ProducerID, b.ProducerEpoch, b.FirstSequence = 2, -1, -1, -1, -1
	b.NumRecords = int32(len(records))
	for _, r := range records {
		k := kmsg.NewRecord()
		k.OffsetDelta, k.Value = r.delta, []byte(r.value)
		body := k.AppendTo(nil)[1:] // behind the length, which is 0 and one byte
		b.Records = append(kbin.AppendVarint(b.Records, int32(len(body))), body...)
	}
	all := b.AppendTo(nil)
	b.Length = int32(len(all) - 12)
	all = b.AppendTo(nil)
	b.CRC = int32(crc32.Checksum(all[21:], crc32.MakeTable(crc32.Castagnoli)))
	return b.AppendTo(nil)
}

// serving is a fake broker with a topic of one partition, whose log is these batches.
func serving(t *testing.T, end int64, batches ...[]byte) (*broker, string) {
	t.Helper()
	c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "t"))
	must(t, err)
	t.Cleanup(c.Close)
	c.ControlKey(int16(kmsg.ListOffsets), func(r kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		response := r.ResponseKind().(*kmsg.ListOffsetsResponse)
		offset := end
		if r.(*kmsg.ListOffsetsRequest).Topics[0].Partitions[0].Timestamp == -2 {
			offset = 0
		}
		p := kmsg.NewListOffsetsResponseTopicPartition()
		p.Offset = offset
		response.Topics = append(response.Topics, kmsg.ListOffsetsResponseTopic{Topic: "t", Partitions: []kmsg.ListOffsetsResponseTopicPartition{p}})
		return response, nil, true
	})
	c.ControlKey(int16(kmsg.Fetch), func(r kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		request := r.(*kmsg.FetchRequest)
		response := r.ResponseKind().(*kmsg.FetchResponse)
		at := request.Topics[0].Partitions[0].FetchOffset
		p := kmsg.NewFetchResponseTopicPartition()
		p.HighWatermark, p.LastStableOffset, p.LogStartOffset = end, end, 0
		for _, b := range batches {
			var batch kmsg.RecordBatch
			if err := batch.ReadFrom(b); err != nil || batch.FirstOffset+int64(batch.LastOffsetDelta) >= at {
				p.RecordBatches = append(p.RecordBatches, b...)
			}
		}
		response.Topics = append(response.Topics, kmsg.FetchResponseTopic{Topic: "t", TopicID: request.Topics[0].TopicID, Partitions: []kmsg.FetchResponseTopicPartition{p}})
		return response, nil, true
	})
	return &broker{address: c.ListenAddrs()[0]}, "t/0"
}

func TestWhatCompactionLeaves(t *testing.T) {
	b, split := serving(t, 40,
		batchOf(0, 9, recordAt{3, "a"}, recordAt{7, "b"}), // the last ones are gone
		batchOf(10, 19),                   // and all of these
		batchOf(25, 29, recordAt{0, "c"}), // and the batch before
		batchOf(30, 39))                   // the end is nobody's
	r := open(t, b.from("t"))
	wantEnd(t, r)
	if d := cmp.Diff([]string{"a", "b", "c"}, r.values[split]); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]int64{3, 7, 25}, r.offs[split]); d != "" {
		t.Error(d)
	}
	if p := r.at[split]; p.Offset != 40 || p.Record != 3 {
		t.Errorf("the end is %+v", p)
	}
	r = open(t, b.from("t"), at(split, 4, 1)) // within a batch, in a gap
	wantEnd(t, r)
	if d := cmp.Diff([]string{"b", "c"}, r.values[split]); d != "" {
		t.Error(d)
	}
}

// A split ends where it ended when the source was opened, though more has come.
func TestABatchReachesBeyondTheEnd(t *testing.T) {
	b, split := serving(t, 2, batchOf(0, 3, recordAt{0, "a"}, recordAt{1, "b"}, recordAt{2, "c"}, recordAt{3, "d"}))
	r := open(t, b.from("t"))
	wantEnd(t, r)
	if d := cmp.Diff([]string{"a", "b"}, r.values[split]); d != "" {
		t.Error(d)
	}
}

func TestDamagedBatches(t *testing.T) {
	whole := func() []byte { return batchOf(0, 1, recordAt{0, "hello"}, recordAt{1, "world"}) }
	sum := func(b []byte) []byte {
		n := crc32.Checksum(b[21:], crc32.MakeTable(crc32.Castagnoli))
		b[17], b[18], b[19], b[20] = byte(n>>24), byte(n>>16), byte(n>>8), byte(n)
		return b
	}
	for name, test := range map[string]struct {
		damage func([]byte) []byte
		want   string
	}{
		"a flipped bit":                  {func(b []byte) []byte { b[70] ^= 1; return b }, "checksum"},
		"more records than there are":    {func(b []byte) []byte { b[60] = 9; return sum(b) }, "damaged"},
		"very many records":              {func(b []byte) []byte { b[57] = 0x7f; return sum(b) }, "damaged"},
		"less than no records":           {func(b []byte) []byte { b[57] = 0xff; return sum(b) }, "damaged"},
		"a record longer than its batch": {func(b []byte) []byte { b[61] = 0x7e; return sum(b) }, "damaged"},
		"a value longer than its record": {func(b []byte) []byte { b[66] = 0x7e; return sum(b) }, "damaged"},
		"a length below zero":            {func(b []byte) []byte { b[8] = 0x80; return b }, "bytes"},
		"an old message format":          {func(b []byte) []byte { b[16] = 1; return b }, "older than Kafka 0.11"},
		"a codec that there is not":      {func(b []byte) []byte { b[22] = 7; return sum(b) }, "decompressed"},
		"not what the codec makes":       {func(b []byte) []byte { b[22] = 4; return sum(b) }, "decompressed"},
	} {
		t.Run(name, func(t *testing.T) {
			b, _ := serving(t, 2, test.damage(whole()))
			r := open(t, b.from("t"))
			if err := r.toEnd(); err == io.EOF || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "t/0") {
				t.Errorf("%v; want %q", err, test.want)
			}
		})
	}
}

// fakeOf starts several brokers with a topic.
func fakeOf(t *testing.T, brokers int, partitions int32, opts ...kfake.Opt) (*kfake.Cluster, *broker) {
	t.Helper()
	c, err := kfake.NewCluster(append([]kfake.Opt{kfake.NumBrokers(brokers), kfake.SeedTopics(partitions, "t")}, opts...)...)
	must(t, err)
	t.Cleanup(c.Close)
	return c, &broker{address: c.ListenAddrs()[0]}
}

// Leaders move between brokers while their partitions are read.
func TestLeadersThatMove(t *testing.T) {
	c, b := fakeOf(t, 3, 6)
	want := map[string][]string{}
	for round := range 20 {
		for p := range int32(6) {
			values := numbered(fmt.Sprint(round, "-"), 50)
			b.produce(t, "t", p, values...)
			split := fmt.Sprint("t/", p)
			want[split] = append(want[split], values...)
		}
	}
	o := b.live("t")
	o.FetchBytesMax = 64 << 10
	r := open(t, o)
	for move := int32(0); r.count() < 6000; move++ {
		must(t, r.once())
		must(t, c.MoveTopicPartition("t", move%6, move%3))
	}
	if d := cmp.Diff(want, r.values); d != "" {
		t.Error(d)
	}
}

// TestEveryRequestOfASourceFailsOnce loses each request, and each answer, once.
func TestEveryRequestOfASourceFailsOnce(t *testing.T) {
	_, b := fakeOf(t, 1, 2)
	want := map[string][]string{"t/0": numbered("a", 100), "t/1": numbered("b", 100)}
	b.produce(t, "t", 0, want["t/0"]...)
	b.produce(t, "t", 1, want["t/1"]...)
	for _, answer := range []bool{false, true} {
		for fails := 0; ; fails++ {
			l := &line{fail: fails, answer: answer}
			o := b.from("t")
			o.Dialer = l.dial
			r := open(t, o)
			wantEnd(t, r)
			must(t, r.source.Close())
			if d := cmp.Diff(want, r.values); d != "" {
				t.Errorf("request %d, answer lost %v: %s", fails, answer, d)
			}
			if !l.happened {
				if fails < 6 {
					t.Errorf("only %d requests failed", fails)
				}
				break
			}
		}
	}
}

// A fetch is refused for a while with each error that may pass.
func TestRefusedFetches(t *testing.T) {
	for _, code := range []int16{3, 5, 6, 9, 56, 74, 75, 78, 100} {
		c, b := fakeOf(t, 1, 1)
		b.produce(t, "t", 0, "a")
		times := 0
		c.ControlKey(int16(kmsg.Fetch), func(r kmsg.Request) (kmsg.Response, error, bool) {
			if times++; times > 3 {
				return nil, nil, false
			}
			c.KeepControl()
			request := r.(*kmsg.FetchRequest)
			response := r.ResponseKind().(*kmsg.FetchResponse)
			p := kmsg.NewFetchResponseTopicPartition()
			p.ErrorCode = code
			response.Topics = append(response.Topics, kmsg.FetchResponseTopic{Topic: "t", TopicID: request.Topics[0].TopicID, Partitions: []kmsg.FetchResponseTopicPartition{p}})
			return response, nil, true
		})
		r := open(t, b.from("t"))
		wantEnd(t, r)
		if r.count() != 1 {
			t.Errorf("code %d: read %d records", code, r.count())
		}
	}
}

// Nothing is fetched while nobody reads, beyond what may wait.
func TestNothingIsFetchedThatNobodyReads(t *testing.T) {
	b := realKafka(t)
	topic := b.topic(t, 1)
	value := strings.Repeat("x", 10_000)
	for range 20 {
		b.produce(t, topic, 0, numbered(value, 10)...)
	}
	l := &line{fail: -1}
	o := b.live(topic)
	o.Dialer = l.dial
	o.FetchBytesMax = 128 << 10
	r := open(t, o)
	must(t, r.once())
	fetches := func() (n int) {
		l.mu.Lock()
		defer l.mu.Unlock()
		for _, k := range l.sent {
			if k == int16(kmsg.Fetch) {
				n++
			}
		}
		return n
	}
	must(t, r.once()) // of the first answer
	for range 3 {
		other := open(t, b.from(topic))
		wantEnd(t, other)
		must(t, other.source.Close())
	}
	if n := fetches(); n > 3 {
		t.Errorf("%d fetches were sent, with one answer read", n)
	}
	r.until(200)
	if n := fetches(); n < 15 {
		t.Errorf("all was read by %d fetches; 2 MB do not fit into fewer than 15", n)
	}
}

// A batch that is larger than what may wait is read all the same.
func TestABatchLargerThanTheBuffers(t *testing.T) {
	_, b := fakeOf(t, 1, 1)
	value := strings.Repeat("x", 600<<10)
	c := b.client(t, kgo.ProducerBatchMaxBytes(4<<20))
	must(t, c.ProduceSync(context.Background(), &kgo.Record{Topic: "t", Value: []byte(value)}, &kgo.Record{Topic: "t", Value: []byte("a")}).FirstErr())
	o := b.from("t")
	o.FetchBytesMax = 64 << 10
	r := open(t, o)
	wantEnd(t, r)
	if d := cmp.Diff([]string{value, "a"}, r.values["t/0"]); d != "" {
		t.Error("the records are not what was written")
	}
}

func TestWhoWeAre(t *testing.T) {
	for _, mechanism := range []string{kafka.Plain, kafka.ScramSHA256, kafka.ScramSHA512} {
		_, b := fakeOf(t, 1, 1, kfake.EnableSASL(), kfake.Superuser(mechanism, "user", "secret"))
		o := b.from("t")
		o.SASL = &kafka.SASL{Mechanism: mechanism, User: "user", Password: "secret"}
		wantEnd(t, open(t, o))
		o.SASL.Password = "wrong"
		o.ConnectTimeout = 1500 * time.Millisecond
		s, err := kafka.NewSource(o)
		must(t, err)
		if err := s.Open(nil); err == nil || !strings.Contains(err.Error(), "user") {
			t.Errorf("%s: %v", mechanism, err)
		}
		must(t, s.Close())
	}
}

// TestReasonOutlivesPatience has a broker that refuses one request, and then a network whose
// timer rings first whenever it is asked: the refusal is what is told.
func TestReasonOutlivesPatience(t *testing.T) {
	var dials atomic.Int32
	o := kafka.SourceOptions{Topics: []string{"t"}, Connection: kafka.Connection{
		Brokers: []string{"127.0.0.1:1"}, ConnectTimeout: 2 * time.Second,
		Dialer: func(context.Context, string, string) (net.Conn, error) {
			if dials.Add(1) <= 4 { // the client tries a request four times
				return nil, errors.New("refused")
			}
			return nil, &net.OpError{Op: "dial", Err: os.ErrDeadlineExceeded}
		}}}
	s, err := kafka.NewSource(o)
	must(t, err)
	if err := s.Open(nil); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Error(err)
	}
	must(t, s.Close())
}

// authority makes a certificate for 127.0.0.1 that signs itself, and a file with it.
func authority(t *testing.T) (tls.Certificate, string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	must(t, err)
	file := filepath.Join(t.TempDir(), "ca.pem")
	must(t, os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, file
}

func TestEncryptedConnections(t *testing.T) {
	certificate, file := authority(t)
	_, b := fakeOf(t, 1, 1, kfake.TLS(&tls.Config{Certificates: []tls.Certificate{certificate}}))
	for _, dialer := range []kafka.Dialer{nil, (&line{fail: -1}).dial} {
		o := b.from("t")
		if o.TLS = (&kafka.TLS{CAFile: file}); dialer != nil {
			o.Dialer = (&net.Dialer{}).DialContext
		}
		wantEnd(t, open(t, o))
		o.TLS = &kafka.TLS{} // the system does not know who signed it
		s, err := kafka.NewSource(o)
		must(t, err)
		if err := s.Open(nil); err == nil || !strings.Contains(err.Error(), "certificate") {
			t.Error(err)
		}
		must(t, s.Close())
	}
}

// A topic that has as many records again is told from the one of the checkpoint by its id.
func TestATopicThatIsMadeAnewWhileNobodyReads(t *testing.T) {
	for name, start := range map[string]func(*testing.T) *broker{
		"fake": func(t *testing.T) *broker { return fakeKafka(t) },
		"real": func(t *testing.T) *broker { return realKafka(t) },
	} {
		t.Run(name, func(t *testing.T) { readsNoOtherTopic(t, start(t)) })
	}
}

func readsNoOtherTopic(t *testing.T, b *broker) {
	topic := b.topic(t, 1)
	b.produce(t, topic, 0, "a", "b")
	first := open(t, b.live(topic))
	first.until(2)
	must(t, first.source.Close())

	b.produce(t, topic, 0, "c")
	same := open(t, b.live(topic), first.positions()...)
	same.until(1)
	must(t, same.source.Close())
	if d := cmp.Diff([]string{"c"}, same.values[topic+"/0"]); d != "" {
		t.Error(d)
	}

	admin := kadm.NewClient(b.client(t))
	_, err := admin.DeleteTopic(context.Background(), topic)
	must(t, err)
	eventually(t, "the topic to be made anew", func() bool {
		_, err := admin.CreateTopic(context.Background(), 1, 1, nil, topic)
		return err == nil
	})
	b.produce(t, topic, 0, "lost 1", "lost 2", "lost 3", "d")
	anew, err := kafka.NewSource(b.live(topic))
	must(t, err)
	defer anew.Close()
	var of *kafka.TopicError
	if err := anew.Open(same.positions()); !errors.As(err, &of) || of.Topic != topic || !strings.Contains(err.Error(), "made anew since the checkpoint") {
		t.Errorf("%v; want a TopicError that says that it was made anew", err)
	}

	unknown := same.positions()[0] // as of a version that kept no identity
	unknown.Identity = ""
	old := open(t, b.live(topic), unknown)
	old.until(1)
	if d := cmp.Diff([]string{"d"}, old.values[topic+"/0"]); d != "" {
		t.Error(d)
	}
	ended := same.positions()[0]
	ended.Ended = true // nothing more is read of it, so nothing is lost
	must(t, open(t, b.live(topic), ended).source.Close())
}

// TestAPatternWithoutATopic: a pattern that matches nothing is told, with what may be
// meant. A bounded source then has nothing to read.
func TestAPatternWithoutATopic(t *testing.T) {
	c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "prod.clicks-eu", "orders-eu"))
	must(t, err)
	t.Cleanup(c.Close)
	for pattern, near := range map[string]string{
		"clicks-.*":    "nearest=prod.clicks-eu", // a part of the name does not do
		"order-.*":     "nearest=orders-eu",
		"ordres-eu":    "nearest=orders-eu",
		"odres[^/]{9}": "nearest=orders-eu", // by what it begins with
		"payments-.*":  "",
	} {
		var said bytes.Buffer
		s, err := kafka.NewSource(kafka.SourceOptions{
			Connection: kafka.Connection{Brokers: c.ListenAddrs(), Logger: slog.New(slog.NewTextHandler(&said, nil))},
			Pattern:    pattern, Bounded: true,
		})
		must(t, err)
		must(t, s.Open(nil))
		err = s.Read(&connector.Chunk{})
		must(t, s.Close())
		told := said.String()
		if err != io.EOF || !strings.Contains(told, "no topic matches the pattern") || !strings.Contains(told, pattern) ||
			!strings.Contains(told, near) || near == "" && strings.Contains(told, "nearest") {
			t.Errorf("%s: %v; want %q\n%s", pattern, err, near, told)
		}
	}
}

// TestACommitToTheGroupThatCloseMeets: a job that ends closes its source just after its
// last checkpoint. What is being committed to the group then comes to its end, and no
// warning is given.
func TestACommitToTheGroupThatCloseMeets(t *testing.T) {
	c, b := fakeOf(t, 1, 1)
	came, closed := make(chan struct{}, 8), make(chan struct{})
	c.ControlKey(int16(kmsg.OffsetCommit), func(kmsg.Request) (kmsg.Response, error, bool) {
		came <- struct{}{}
		<-closed
		return nil, nil, false
	})
	b.produce(t, "t", 0, numbered("v", 9)...)
	var said bytes.Buffer
	o := b.live("t")
	o.Group, o.Logger = "g", slog.New(slog.NewTextHandler(&said, &slog.HandlerOptions{Level: slog.LevelWarn}))
	r := open(t, o)
	r.until(9)
	r.source.Checkpointed([]connector.SplitPosition{at("t/0", 9, 9)})
	<-came
	done := make(chan error)
	go func() { done <- r.source.Close() }()
	for r.once() == nil { // until Close has said so
	}
	close(closed)
	must(t, <-done)
	offsets, err := kadm.NewClient(b.client(t)).FetchOffsets(context.Background(), "g")
	must(t, err)
	if p, _ := offsets.Lookup("t", 0); p.At != 9 || said.Len() > 0 {
		t.Errorf("offset %d is committed, want 9; told: %s", p.At, said.String())
	}
}
