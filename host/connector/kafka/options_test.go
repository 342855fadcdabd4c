package kafka_test

import (
	"strings"
	"testing"
	"time"

	"github.com/wasmstream/wasmstream/host/connector/kafka"
)

func TestOptionsThatAreWrong(t *testing.T) {
	good := func() kafka.Connection { return kafka.Connection{Brokers: []string{"localhost:9092"}} }
	sources := []struct {
		words string
		set   func(*kafka.SourceOptions)
	}{
		{"brokers", func(o *kafka.SourceOptions) { o.Brokers = nil }},
		{`"localhost"`, func(o *kafka.SourceOptions) { o.Brokers = []string{"localhost"} }},
		{"connect-timeout", func(o *kafka.SourceOptions) { o.ConnectTimeout = -1 }},
		{"certificate", func(o *kafka.SourceOptions) { o.TLS = &kafka.TLS{CertFile: "x"} }},
		{"NTLM", func(o *kafka.SourceOptions) { o.SASL = &kafka.SASL{Mechanism: "NTLM", User: "u"} }},
		{"user", func(o *kafka.SourceOptions) { o.SASL = &kafka.SASL{Mechanism: kafka.Plain} }},
		{"neither", func(o *kafka.SourceOptions) { o.Topics = nil }},
		{"exclude", func(o *kafka.SourceOptions) { o.Pattern = "x" }},
		{`"a b"`, func(o *kafka.SourceOptions) { o.Topics = []string{"a b"} }},
		{"twice", func(o *kafka.SourceOptions) { o.Topics = []string{"a", "a"} }},
		{"pattern", func(o *kafka.SourceOptions) { o.Topics, o.Pattern = nil, "(" }},
		{"sooner", func(o *kafka.SourceOptions) { o.Start = "sooner" }},
		{"timestamp", func(o *kafka.SourceOptions) { o.Start, o.StartMillis = kafka.StartTimestamp, -1 }},
		{"group", func(o *kafka.SourceOptions) { o.Start = kafka.StartGroup }},
		{"record-bytes-max", func(o *kafka.SourceOptions) { o.RecordBytesMax = -1 }},
		{"fetch-bytes-max", func(o *kafka.SourceOptions) { o.FetchBytesMax = 1 }},
	}
	all := kafka.SourceOptions{Connection: good(), Topics: []string{"t"}}
	if err := all.Validate(); err != nil {
		t.Error(err)
	}
	for _, s := range sources {
		o := kafka.SourceOptions{Connection: good(), Topics: []string{"t"}}
		s.set(&o)
		if _, err := kafka.NewSource(o); err == nil || !strings.Contains(err.Error(), s.words) {
			t.Errorf("%v; want %q", err, s.words)
		}
	}
	sinks := []struct {
		words string
		set   func(*kafka.SinkOptions)
	}{
		{"topic", func(o *kafka.SinkOptions) { o.Topic = "" }},
		{"delivery", func(o *kafka.SinkOptions) { o.Delivery = "twice" }},
		{"transactional-id-prefix", func(o *kafka.SinkOptions) { o.TransactionalIDPrefix = "" }},
		{"transactional-id-prefix", func(o *kafka.SinkOptions) { o.TransactionalIDPrefix = "a\nb" }},
		{"only exactly-once", func(o *kafka.SinkOptions) { o.Delivery = kafka.AtLeastOnce }},
		{"task", func(o *kafka.SinkOptions) { o.Task = 1 }},
		{"transaction-timeout", func(o *kafka.SinkOptions) { o.TransactionTimeout = -1 }},
		{"two checkpoint intervals", func(o *kafka.SinkOptions) { o.TransactionTimeout, o.CheckpointInterval = time.Minute, time.Minute }},
		{"two checkpoint intervals", func(o *kafka.SinkOptions) { o.CheckpointInterval = 8 * time.Minute }},
		{"checkpoint-interval", func(o *kafka.SinkOptions) { o.CheckpointInterval = -1 }},
		{"compression", func(o *kafka.SinkOptions) { o.Compression = "zip" }},
		{"linger", func(o *kafka.SinkOptions) { o.Linger = -1 }},
		{"batch-bytes-max", func(o *kafka.SinkOptions) { o.BatchBytesMax = -1 }},
		{"buffer-bytes-max", func(o *kafka.SinkOptions) { o.BufferBytesMax = -1 }},
	}
	for _, s := range sinks {
		o := kafka.SinkOptions{Connection: good(), Topic: "t", Delivery: kafka.ExactlyOnce, TransactionalIDPrefix: "p"}
		if err := o.Validate(); err != nil {
			t.Error(err)
		}
		s.set(&o)
		if _, err := kafka.NewSink(o); err == nil || !strings.Contains(err.Error(), s.words) {
			t.Errorf("%v; want %q", err, s.words)
		}
	}
	o := kafka.SinkOptions{Task: -1} // all that is wrong is named at once
	for _, words := range []string{"brokers", "topic", "delivery", "task"} {
		if err := o.Validate(); !strings.Contains(err.Error(), words) {
			t.Errorf("%v; want %q too", err, words)
		}
	}
}
