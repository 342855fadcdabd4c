package job

import (
	"slices"
	"strings"

	"github.com/wasmstream/wasmstream/host/stream"
)

// kafkaSink reads of a sink's connector what does not depend on its columns.
func (b *builder) kafkaSink(s *sinkInfo) {
	n, path := s.node.get("kafka"), s.path+".kafka"
	if n == nil || !n.ok {
		return
	}
	s.kafka = &KafkaSink{
		Kafka:          b.cluster(n, path),
		Topic:          text(n.get("topic")),
		Format:         formatOf(n.get("format")),
		Delivery:       AtLeastOnce,
		KeyFormat:      KeyFormat(wordIndex(n.get("key-format"), keyFormatWords[:])),
		Partition:      -1,
		Mode:           SinkMode(wordIndex(n.get("mode"), modeWords[:])),
		Compression:    "none",
		EventTimestamp: text(n.get("timestamp")) != "none",
	}
	if delivery := n.get("delivery"); delivery != nil {
		s.kafka.Delivery = Guarantee(wordIndex(delivery, guaranteeWords[:]))
	}
	if compression := text(n.get("compression")); compression != "" {
		s.kafka.Compression = compression
	}
	b.transactions(s.kafka, n, path)
	b.keyless(s.kafka, n, path)
	if !s.sink.Connector.Test {
		s.sink.Connector.KafkaSink = s.kafka
	}
}

// transactions reads what belongs to exactly-once, and refuses it elsewhere.
func (b *builder) transactions(k *KafkaSink, n *node, path string) {
	const prefixField, timeoutField = "transactional-id-prefix", "transaction-timeout"
	delivery := n.get("delivery")
	if delivery != nil && !delivery.ok {
		return
	}
	if k.Delivery != ExactlyOnce {
		for _, field := range []string{prefixField, timeoutField} {
			if there := n.get(field); there != nil {
				b.wrong(there, path+"."+field, "%s belongs to the delivery exactly-once; here it is %s", field, k.Delivery)
			}
		}
		return
	}
	k.TransactionTimeout = milliseconds(number(n.get(timeoutField), transactionTimeoutDefault))
	prefix := n.get(prefixField)
	switch {
	case prefix == nil && !n.has(prefixField):
		b.wrong(n, path, "The delivery exactly-once needs the field %s: a name for the sink's transactions that no other job or sink has", prefixField)
	case len(text(prefix)) > PrefixBytesMax:
		b.wrong(prefix, path+"."+prefixField, "%s is longer than %d bytes", prefixField, PrefixBytesMax)
	case text(prefix) != "":
		k.TransactionalIDPrefix = prefix.text
		b.prefixes = append(b.prefixes, &prefixUse{prefix, path + "." + prefixField})
	}
	if !b.hasCheckpoint() {
		b.wrong(delivery, path+".delivery", "The delivery exactly-once needs checkpoint: transactions are committed with checkpoints")
	}
	if c := b.checkpoint; c != nil {
		b.checkTimeout(k, c, n, path)
		if c.Mode == AtLeastOnce {
			b.warn(delivery, path+".delivery", "The job's checkpoints are at-least-once: after a restart records may count twice, and the delivery exactly-once writes what they add up to")
		}
	}
}

// checkTimeout: a transaction is open for at least one interval, and until the
// checkpoint behind it is durable.
func (b *builder) checkTimeout(k *KafkaSink, c *Checkpoint, n *node, path string) {
	at, field := n.get("transaction-timeout"), path+".transaction-timeout"
	if at == nil {
		at, field = n.get("delivery"), path+".delivery"
	}
	if !isKnown(at) {
		return
	}
	interval := max(c.Interval, c.MinPause)
	switch {
	case k.TransactionTimeout <= interval:
		b.wrong(at, field, "The transaction-timeout, %s, must be longer than the time between checkpoints, %s, or every transaction is aborted before its checkpoint", shownDuration(k.TransactionTimeout), shownDuration(interval))
	case k.TransactionTimeout < interval+c.Timeout:
		b.warn(at, field, "The transaction-timeout, %s, is shorter than the interval and the timeout of checkpoints together, %s: brokers may abort what a slow checkpoint was going to commit", shownDuration(k.TransactionTimeout), shownDuration(interval+c.Timeout))
	}
}

// keyless refuses what needs a key and has none.
func (b *builder) keyless(k *KafkaSink, n *node, path string) {
	if n.has("key") {
		return
	}
	if format := n.get("key-format"); format != nil {
		b.wrong(format, path+".key-format", "key-format says how the key is written: the field key is missing, a list of columns")
	}
	if k.Mode == UpsertMode {
		b.wrong(n.get("mode"), path+".mode", "mode: upsert keeps the newest row of each key: the field key is missing, a list of columns")
	}
}

// prefixUse is a prefix of transactional ids.
type prefixUse struct {
	node *node
	path string
}

// checkPrefixes refuses prefixes of which one sink would take the other's
// transactions for its own. That they are on different clusters nobody can tell:
// one has many addresses.
func (b *builder) checkPrefixes() {
	first := map[string]*prefixUse{}
	for _, u := range b.prefixes {
		if u.node.unset || b.full() {
			continue
		}
		if v := first[u.node.text]; v != nil {
			b.wrong(u.node, u.path, "The prefix %s is also that of %s in line %d; every sink needs its own", quote(u.node.written), strings.TrimSuffix(v.path, ".kafka.transactional-id-prefix"), v.node.line)
			continue
		}
		first[u.node.text] = u
	}
	for _, u := range b.prefixes {
		for i, r := range u.node.text {
			v := first[u.node.text[:i]]
			if r == '/' && v != nil && !u.node.unset {
				b.wrong(u.node, u.path, "The prefix %s begins with that of %s in line %d and a slash, so one sink would take the other's transactions for its own", quote(u.node.written), strings.TrimSuffix(v.path, ".kafka.transactional-id-prefix"), v.node.line)
				break
			}
		}
	}
}

// kafkaColumns binds a sink's connector to the columns that it gets.
func (b *builder) kafkaColumns(s *sinkInfo) {
	if s.kafka == nil || s.input == nil {
		return
	}
	n, path := s.node.get("kafka"), s.path+".kafka"
	of := &side{shown: "The sink " + s.sink.Name, input: s.input}
	var fields []stream.Field
	s.kafka.Key, fields = b.key(of, n.get("key"), path+".key")
	if s.kafka.KeyFormat == RawKey && len(fields) > 0 {
		if len(fields) > 1 {
			b.wrong(n.get("key-format"), path+".key-format", "key-format: raw is the bytes of one column, and the key has %d; use json", len(fields))
		} else if !isRaw(fields[0].Type) {
			b.wrong(n.get("key-format"), path+".key-format", "The column %s is %s; key-format: raw needs STRING or BYTES, json takes all", fields[0].Name, fields[0].Type)
		}
	}
	if partition := n.get("partition"); text(partition) != "" && !partition.unset {
		s.kafka.Partition = b.column(of, partition, partition.text, path+".partition")
		if i := s.kafka.Partition; i >= 0 && s.input.Fields()[i].Type.Kind != stream.Int {
			b.wrong(partition, path+".partition", "The column %s is %s; a partition is INT", partition.text, s.input.Fields()[i].Type)
		}
	}
	b.headers(s.kafka, of, n.get("headers"), path+".headers")
	b.sinkMode(s, n, path)
}

func isRaw(t stream.Type) bool { return t.Kind == stream.String || t.Kind == stream.Bytes }

func (b *builder) headers(k *KafkaSink, of *side, n *node, path string) {
	if n == nil || !n.ok {
		return
	}
	for _, e := range n.entries {
		if !e.value.ok || e.value.unset {
			continue
		}
		h := KafkaHeader{Name: e.key, Column: -1}
		if e.value.form == mappingForm {
			h.Value = text(e.value.get("value"))
		} else if h.Column = b.column(of, e.value, e.value.text, join(path, e.key)); h.Column >= 0 {
			if t := of.input.Fields()[h.Column].Type; !isRaw(t) {
				b.wrong(e.value, join(path, e.key), "The column %s is %s; a header is STRING or BYTES", e.value.text, t)
			}
		}
		k.Headers = append(k.Headers, h)
	}
}

// sinkMode refuses changes where they would be told as if they were rows.
func (b *builder) sinkMode(s *sinkInfo, n *node, path string) {
	mode := n.get("mode")
	if mode != nil && !mode.ok {
		return
	}
	switch {
	case s.sink.Changing && s.kafka.Mode == AppendMode:
		b.wrong(s.node, s.path, "The sink %s gets changes (-U, +U, -D), which mode: append has no place for: write mode: upsert with a key, or mode: changelog, which writes the kind of a change as the field %s", s.sink.Name, changeField)
	case s.kafka.Mode == ChangelogMode && s.input.Index(changeField) >= 0:
		b.wrong(mode, path+".mode", "mode: changelog writes the kind of a change as the field %s, and the records of the sink %s have a column of that name", changeField, s.sink.Name)
	}
}

// warnLoop tells of a sink that writes to a topic which a source before it reads, and goes
// on reading. Kafka and Flink allow that.
func (b *builder) warnLoop(s *sinkInfo) {
	k := s.sink.Connector.KafkaSink
	if k == nil || k.Topic == "" {
		return
	}
	seen := map[*producer]bool{}
	var visit func(r *ref)
	visit = func(r *ref) {
		p := r.from
		if p == nil || seen[p] {
			return
		}
		seen[p] = true
		if p.source != nil && p.source.Connector.KafkaSource.readsOn(k) {
			b.warn(s.node.get("kafka").get("topic"), s.path+".kafka.topic", "The source %s reads the topic %s as well, so what this sink puts out comes in again, without an end", p.name, k.Topic)
		}
		p.reads(func(r *ref) bool {
			visit(r)
			return true
		})
	}
	for i := range s.refs {
		visit(&s.refs[i])
	}
}

// readsOn tells whether the source reads what the sink writes. Of clusters it is known that
// they are one if they have an address in common.
func (k *KafkaSource) readsOn(to *KafkaSink) bool {
	if k == nil || k.Bounded || !slices.ContainsFunc(k.Brokers, func(address string) bool { return slices.Contains(to.Brokers, address) }) {
		return false
	}
	return slices.Contains(k.Topics, to.Topic) || k.TopicPattern != nil && k.TopicPattern.MatchString(to.Topic)
}
