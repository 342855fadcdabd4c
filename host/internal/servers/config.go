package servers

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// settings are the broker's, as a file of Java properties.
func settings(dir string, o Options, port, controllerPort int) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, `process.roles=broker,controller
node.id=1
listeners=PLAINTEXT://127.0.0.1:%[2]d,CONTROLLER://127.0.0.1:%[3]d
advertised.listeners=PLAINTEXT://127.0.0.1:%[2]d
controller.listener.names=CONTROLLER
controller.quorum.voters=1@127.0.0.1:%[3]d
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
inter.broker.listener.name=PLAINTEXT
log.dirs=%[1]s/data
num.network.threads=2
num.io.threads=4
# One node holds the only copy of everything.
default.replication.factor=1
min.insync.replicas=1
offsets.topic.replication.factor=1
offsets.topic.num.partitions=4
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=4
# As Flink asks for; stock is 15 min.
transaction.max.timeout.ms=3600000
# Stock is 10 s, for which a test that lets a transaction expire would wait.
transaction.abort.timed.out.transaction.cleanup.interval.ms=1000
group.initial.rebalance.delay.ms=0
# After a crash the controller refuses the broker until its old session ends; stock is 9 s.
broker.session.timeout.ms=3000
broker.heartbeat.interval.ms=500
log.cleaner.dedupe.buffer.size=4194304
# Retention goes by the records' timestamps: test data with old event times would be deleted.
log.retention.ms=-1
`, dir, port, controllerPort)
	if !strings.HasPrefix(o.Release.Version(), "3.") {
		b.WriteString(`share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
share.coordinator.state.topic.num.partitions=1
`)
	}
	for _, name := range slices.Sorted(maps.Keys(o.Config)) {
		fmt.Fprintf(&b, "%s=%s\n", name, o.Config[name])
	}
	return []byte(b.String())
}
