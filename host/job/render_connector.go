package job

import (
	"fmt"
	"strings"
	"time"

	"github.com/wasmstream/wasmstream/host/stream"
)

// String is the connector in a few words.
func (c Connector) String() string {
	switch {
	case c.File != nil:
		return c.File.String()
	case c.KafkaSource != nil:
		return c.KafkaSource.String()
	case c.KafkaSink != nil:
		return c.KafkaSink.String()
	}
	return "test"
}

// String is the file in a few words.
func (f *FileConnector) String() string {
	text := fmt.Sprintf("file %s (%s)", f.Shown, f.Format)
	if r := f.Rolling; r != nil {
		text = fmt.Sprintf("files in %s (%s) of %s or %s", f.Shown, f.Format, formatBytes(r.SizeBytes), shownDuration(r.Interval))
	}
	if f.RecordBytesMax != 0 {
		text += ", records of at most " + formatBytes(int64(f.RecordBytesMax))
	}
	return text
}

// String tells the cluster without what is secret.
func (k *Kafka) String() string {
	text := strings.Join(k.Brokers, ", ")
	if t := k.TLS; t != nil {
		text += " by TLS"
		for _, part := range [][2]string{{"authorities", t.CA}, {"certificate", t.Certificate}, {"key", t.Key}, {"server name", t.ServerName}} {
			if part[1] != "" {
				text += fmt.Sprintf(", %s %s", part[0], part[1])
			}
		}
	}
	if k.SASL != nil {
		text += " as " + k.SASL.User + " by " + k.SASL.Mechanism
	}
	return text
}

// String is the source in a few words.
func (k *KafkaSource) String() string {
	topics := "topics " + strings.Join(k.Topics, ", ")
	if k.TopicPattern != nil {
		topics = "topics like " + k.TopicPattern.String()
	}
	text := fmt.Sprintf("kafka %s of %s (%s), from %s", topics, &k.Kafka, k.Format, k.Start)
	if k.Start == FromTimestamp {
		text += " " + time.UnixMilli(k.StartTime).UTC().Format("2006-01-02T15:04:05.000Z")
	}
	if k.Group != "" {
		text += ", group " + k.Group
	}
	if k.Bounded {
		text += ", bounded"
	}
	if k.DiscoveryInterval > 0 {
		text += ", new partitions every " + shownDuration(k.DiscoveryInterval)
	}
	if k.ReadUncommitted {
		text += ", read uncommitted"
	}
	return text + ", records of at most " + formatBytes(int64(k.RecordBytesMax))
}

// String is the sink in a few words.
func (k *KafkaSink) String() string {
	text := fmt.Sprintf("kafka topic %s of %s (%s), %s", k.Topic, &k.Kafka, k.Format, k.Delivery)
	if k.Delivery == ExactlyOnce {
		text += fmt.Sprintf(" by transactions %s%s of at most %s", k.TransactionalIDPrefix, transactionalIDBoundary, shownDuration(k.TransactionTimeout))
	}
	return text
}

// render tells what becomes of a row.
func (k *KafkaSink) render(b *strings.Builder, s *stream.Schema) {
	fmt.Fprintf(b, "  %s, compression %s", k.Mode, k.Compression)
	if len(k.Key) > 0 {
		fmt.Fprintf(b, ", %s key %s", k.KeyFormat, columns(s, k.Key))
	}
	if k.Partition >= 0 {
		fmt.Fprintf(b, ", partition %s", columns(s, []int{k.Partition}))
	}
	if k.EventTimestamp {
		b.WriteString(", timestamp is the event time")
	}
	b.WriteByte('\n')
	for _, h := range k.Headers {
		if h.Column < 0 {
			fmt.Fprintf(b, "  header %s is %q\n", h.Name, h.Value)
			continue
		}
		fmt.Fprintf(b, "  header %s is %s\n", h.Name, columns(s, []int{h.Column}))
	}
}

func (c *Checkpoint) render(b *strings.Builder) {
	fmt.Fprintf(b, "checkpoint in %s every %s, pause %s, timeout %s, %d may fail, %d kept, %s\n",
		c.Shown, shownDuration(c.Interval), shownDuration(c.MinPause), shownDuration(c.Timeout), c.TolerableFailures, c.Retained, c.Mode)
}

// String is the strategy with its values.
func (r Restart) String() string {
	switch r.Strategy {
	case FixedDelay:
		return fmt.Sprintf("%d times after %s", r.Attempts, shownDuration(r.Delay))
	case ExponentialDelay:
		return fmt.Sprintf("after %s, then %g times the last up to %s, jitter %g, anew after %s", shownDuration(r.Initial), r.Multiplier, shownDuration(r.Max), r.Jitter, shownDuration(r.ResetAfter))
	case FailureRate:
		return fmt.Sprintf("after %s, unless the failures in %s are more than %d", shownDuration(r.Delay), shownDuration(r.Interval), r.MaxFailures)
	}
	return r.Strategy.String()
}
