package job

import (
	"fmt"
	"slices"

	"github.com/wasmstream/wasmstream/host/stream"
)

// cluster reads what sources and sinks have in common.
func (b *builder) cluster(n *node, path string) Kafka {
	k := Kafka{Line: n.line, Column: n.column}
	if brokers := n.get("brokers"); brokers != nil {
		for _, item := range brokers.items {
			k.Brokers = append(k.Brokers, text(item))
		}
	}
	if t := n.get("tls"); t != nil && t.ok {
		k.TLS = b.tls(t, path+".tls")
	}
	if s := n.get("sasl"); s != nil && s.ok {
		k.SASL = &SASL{Mechanism: text(s.get("mechanism")), User: text(s.get("user")), Password: text(s.get("password"))}
		if k.SASL.Mechanism == "plain" && !n.has("tls") {
			b.warn(s, path+".sasl", "Without tls the mechanism plain sends the password as it is, and everybody on the way can read it")
		}
	}
	return k
}

func (b *builder) tls(n *node, path string) *TLS {
	t := &TLS{ServerName: text(n.get("server-name"))}
	for _, f := range []struct {
		name string
		to   *string
	}{{"ca", &t.CA}, {"certificate", &t.Certificate}, {"key", &t.Key}} {
		if file := text(n.get(f.name)); file != "" {
			*f.to = b.resolve(file)
		}
	}
	for _, pair := range [][2]string{{"certificate", "key"}, {"key", "certificate"}} {
		if there := n.get(pair[0]); there != nil && !n.has(pair[1]) {
			b.wrong(there, path+"."+pair[0], "%s without %s is of no use: the client shows both", pair[0], pair[1])
		}
	}
	return t
}

// kafkaSource reads a source's connector; nil if there is none.
func (b *builder) kafkaSource(n *node, path string) *KafkaSource {
	if n == nil || !n.ok {
		return nil
	}
	k := &KafkaSource{
		Kafka:             b.cluster(n, path),
		Topics:            b.topics(n.get("topics"), path+".topics"),
		Format:            formatOf(n.get("format")),
		Group:             text(n.get("group")),
		Bounded:           isTrue(n.get("bounded")),
		DiscoveryInterval: milliseconds(number(n.get("discovery-interval"), discoveryIntervalDefault)),
		ReadUncommitted:   text(n.get("isolation")) == "read-uncommitted",
		RecordBytesMax:    int(number(n.get("record-bytes-max"), recordBytesDefault)),
	}
	if pattern := n.get("topic-pattern"); pattern != nil {
		k.TopicPattern = pattern.pattern
	}
	b.start(k, n, path)
	if d := n.get("discovery-interval"); k.Bounded {
		k.DiscoveryInterval = 0
		if number(d, 0) > 0 {
			b.warn(d, path+".discovery-interval", "A source that is bounded reads the partitions that are there when the job starts, so discovery-interval makes no difference")
		}
	}
	if group := n.get("group"); group != nil && !b.hasCheckpoint() {
		b.warn(group, path+".group", "The group's positions are committed with checkpoints, and the job has none, so they never move")
	}
	return k
}

func (b *builder) topics(n *node, path string) []string {
	if n == nil || !n.ok {
		return nil
	}
	var topics []string
	for i, item := range n.items {
		if slices.Contains(topics, item.text) {
			b.wrong(item, fmt.Sprintf("%s[%d]", path, i), "The topic %s is named twice", quote(item.written))
			continue
		}
		topics = append(topics, item.text)
	}
	return topics
}

// start reads where partitions begin that no checkpoint knows.
func (b *builder) start(k *KafkaSource, n *node, path string) {
	start := n.get("start")
	if start == nil || !start.ok {
		return
	}
	if start.form == mappingForm {
		k.Start, k.StartTime = FromTimestamp, number(start.get("timestamp"), 0)
		return
	}
	k.Start = KafkaStart(wordIndex(start, startWords[:]))
	if k.Start == FromGroup && !n.has("group") {
		b.wrong(start, path+".start", "start: group begins where a consumer group stands: the field group is missing")
	}
}

var metadataTypes = [...]stream.Type{
	RecordTimestamp: {Kind: stream.TimestampLTZ, Precision: 3},
	RecordKey:       {Kind: stream.Bytes},
	RecordHeaders:   {Kind: stream.Map, Key: &stream.Type{Kind: stream.String}, Elem: &stream.Type{Kind: stream.Bytes}},
	RecordPartition: {Kind: stream.Int},
	RecordOffset:    {Kind: stream.BigInt},
	RecordTopic:     {Kind: stream.String},
}

// metadata adds a source's further columns behind those that are declared. A
// scenario's script gives them like all others.
func (b *builder) metadata(p *producer) {
	n, at := p.node.get("kafka").get("metadata"), p.path+".kafka.metadata"
	if n == nil || !n.ok || p.output == nil {
		return
	}
	fields, sound := slices.Clone(p.output.Fields()), true
	for _, e := range n.entries {
		kind := MetadataKind(slices.Index(metadataWords[:], text(e.value)))
		switch {
		case !e.value.ok || e.key == "":
			sound = false
			continue
		case p.output.Index(e.key) >= 0:
			b.add(e.line, e.column, join(at, e.key), "The column %s is there twice: schema declares it as well", e.key)
			sound = false
			continue
		case slices.Contains(p.metadata, kind):
			b.wrong(e.value, join(at, e.key), "There is a column of the %s already; one is enough", kind)
		}
		p.metadata = append(p.metadata, kind)
		fields = append(fields, stream.Field{Name: e.key, Type: metadataTypes[kind]})
	}
	if len(fields) > ColumnsMax {
		b.wrong(n, at, "With these the source %s has %d columns; at most %d are allowed", p.name, len(fields), ColumnsMax)
	}
	p.output = nil
	if sound {
		p.output = stream.MustSchema(fields...)
	}
	if b.o.Test {
		p.source.Schema, p.metadata = p.output, nil
	}
}
