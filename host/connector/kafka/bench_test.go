package kafka_test

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/wasmstream/wasmstream/host/connector"
	"github.com/wasmstream/wasmstream/host/connector/kafka"
)

const benchBytes = 120

// fillTopic writes so many records of benchBytes to three partitions.
func (b *broker) fillTopic(t testing.TB, records int, opts ...kgo.Opt) string {
	topic := b.topic(t, 3)
	c := b.client(t, append([]kgo.Opt{kgo.ProducerBatchCompression(kgo.NoCompression()), kgo.MaxBufferedRecords(1 << 16)}, opts...)...)
	for i := range records {
		value := fmt.Appendf(make([]byte, 0, benchBytes), `{"user":%d,"price":%d,"at":"2026-01-01T00:00:00.000Z","note":"`, i%10_000, i)
		value = append(append(value, bytes.Repeat([]byte("x"), benchBytes-2-len(value))...), `"}`...)
		c.Produce(context.Background(), &kgo.Record{Topic: topic, Partition: int32(i % 3), Value: value}, func(_ *kgo.Record, err error) {
			if err != nil {
				t.Error(err)
			}
		})
	}
	if err := c.Flush(context.Background()); err != nil {
		t.Fatal(err)
	}
	return topic
}

// cpu is the processor time that this process has used.
func cpu() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func BenchmarkSource(b *testing.B) {
	k := realKafka(b)
	for _, codec := range []struct {
		name string
		is   kgo.CompressionCodec
	}{{"plain", kgo.NoCompression()}, {"lz4", kgo.Lz4Compression()}, {"zstd", kgo.ZstdCompression()}} {
		const records = 3_000_000
		topic := ""
		for _, meta := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s/meta=%v", codec.name, meta), func(b *testing.B) {
				if topic == "" {
					topic = k.fillTopic(b, records, kgo.ProducerBatchCompression(codec.is))
				}
				defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				start, used := time.Now(), cpu()
				b.ResetTimer()
				for range b.N {
					drain(b, kafka.SourceOptions{Connection: k.connection(), Topics: []string{topic}, Bounded: true, Metadata: meta}, records)
				}
				b.StopTimer()
				runtime.ReadMemStats(&after)
				n := float64(records * b.N)
				b.ReportMetric(n/time.Since(start).Seconds()/1e6, "Mrec/s")
				b.ReportMetric(n/(cpu()-used).Seconds()/1e6, "Mrec/cpu-s")
				b.ReportMetric(float64(after.Sys)/1e6, "sys-MB")
				b.ReportMetric(float64(after.Mallocs-before.Mallocs)/n, "allocs/rec")
			})
		}
	}
}

func drain(b *testing.B, o kafka.SourceOptions, want int) {
	s, err := kafka.NewSource(o)
	must(b, err)
	defer s.Close()
	must(b, s.Open(nil))
	var c connector.Chunk
	n := 0
	for s.Read(&c) == nil {
		n += len(c.Ends)
	}
	if n != want {
		b.Fatalf("read %d of %d", n, want)
	}
}

func BenchmarkSink(b *testing.B) {
	k := realKafka(b)
	for _, delivery := range []kafka.Delivery{kafka.ExactlyOnce, kafka.AtLeastOnce} {
		b.Run(string(delivery), func(b *testing.B) {
			topic := k.topic(b, 3)
			o := k.exactly(topic)
			if o.Delivery = delivery; delivery != kafka.ExactlyOnce {
				o.TransactionalIDPrefix = ""
			}
			s := openSink(b, o, nil)
			value := string(bytes.Repeat([]byte("x"), benchBytes))
			var values []string
			for range 2000 {
				values = append(values, value)
			}
			r := records(values)
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			start, used := time.Now(), cpu()
			const writes = 1000
			for range b.N {
				for i := range writes {
					must(b, s.Write(r))
					if i%200 == 199 {
						handOver(b, s)
						must(b, s.Commit())
					}
				}
			}
			runtime.ReadMemStats(&after)
			n := float64(writes * len(values) * b.N)
			b.ReportMetric(n/time.Since(start).Seconds()/1e6, "Mrec/s")
			b.ReportMetric(n/(cpu()-used).Seconds()/1e6, "Mrec/cpu-s")
			b.ReportMetric(float64(after.Mallocs-before.Mallocs)/n, "allocs/rec")
			b.ReportMetric(float64(after.Sys)/1e6, "sys-MB")
		})
	}
}
