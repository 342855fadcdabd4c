package main

import (
	"strings"
	"time"

	"github.com/wasmstream/wasmstream/host/connector/kafka"
	"github.com/wasmstream/wasmstream/host/job"
)

// startOptions are what a run's connectors need to know of it.
type startOptions struct {
	lineage  string        // "": the job's own
	interval time.Duration // between checkpoints; 0: there are none
	goesBack bool          // the checkpoint to go on from may be older than what was committed
	begins   bool          // there is no checkpoint yet
}

// mechanisms are the job's words for those of SASL.
var mechanisms = map[string]string{"plain": kafka.Plain, "scram-sha-256": kafka.ScramSHA256, "scram-sha-512": kafka.ScramSHA512}

func kafkaConnection(e *Env, k *job.Kafka) kafka.Connection {
	c := kafka.Connection{Brokers: k.Brokers, Logger: e.Log}
	if t := k.TLS; t != nil {
		c.TLS = &kafka.TLS{CAFile: t.CA, CertFile: t.Certificate, KeyFile: t.Key, ServerName: t.ServerName}
	}
	if s := k.SASL; s != nil {
		c.SASL = &kafka.SASL{Mechanism: mechanisms[s.Mechanism], User: s.User, Password: s.Password}
	}
	return c
}

func kafkaSource(e *Env, s *job.Source) kafka.SourceOptions {
	k := s.Connector.KafkaSource
	o := kafka.SourceOptions{
		Connection: kafkaConnection(e, &k.Kafka), Topics: k.Topics, Start: kafka.StartFrom(k.Start.String()), StartMillis: k.StartTime,
		Group: k.Group, Bounded: k.Bounded, DiscoveryInterval: k.DiscoveryInterval, ReadUncommitted: k.ReadUncommitted,
		Metadata: s.RecordTime || len(s.Metadata) > 0 || s.Decode != nil, RecordBytesMax: k.RecordBytesMax,
	}
	if k.TopicPattern != nil {
		o.Pattern = strings.TrimSuffix(strings.TrimPrefix(k.TopicPattern.String(), "^(?:"), ")$")
	}
	if k.DiscoveryInterval == 0 {
		o.DiscoveryInterval = -1 // never
	}
	return o
}

func kafkaSink(e *Env, s *job.Sink, start startOptions) kafka.SinkOptions {
	k := s.Connector.KafkaSink
	o := kafka.SinkOptions{
		Connection: kafkaConnection(e, &k.Kafka), Topic: k.Topic, Delivery: kafka.Delivery(k.Delivery.String()),
		TransactionalIDPrefix: k.TransactionalIDPrefix, TransactionTimeout: k.TransactionTimeout, CheckpointInterval: start.interval, GoesBack: start.goesBack, Begins: start.begins,
		Timestamps: k.EventTimestamp, Compression: k.Compression,
	}
	if o.TransactionalIDPrefix != "" && start.lineage != "" {
		o.TransactionalIDPrefix += "~" + start.lineage // no slash, which ends a prefix
	}
	for _, h := range k.Headers {
		if h.Column >= 0 {
			o.ColumnHeaders = append(o.ColumnHeaders, h.Name)
		} else {
			o.Headers = append(o.Headers, kafka.StaticHeader{Name: h.Name, Value: h.Value})
		}
	}
	return o
}
