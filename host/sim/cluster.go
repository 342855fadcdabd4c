package sim

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"sync"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// begin starts the cluster and fills it with the input.
func (k *kafkaRun) begin(ctx context.Context) (err error) {
	opts := []kfake.Opt{kfake.NumBrokers(1)}
	for name, l := range k.world.logs {
		opts = append(opts, kfake.SeedTopics(int32(len(l.splits)), name))
	}
	for name := range k.world.topics {
		opts = append(opts, kfake.SeedTopics(2, name))
	}
	if k.cluster, err = kfake.NewCluster(opts...); err != nil {
		return err
	}
	k.address = k.cluster.ListenAddrs()[0]
	if err := k.fill(ctx); err != nil {
		k.cluster.Close()
		return err
	}
	k.noise = &noise{random: rand.New(rand.NewPCG(k.lives.Uint64(), 0))}
	for _, key := range []kmsg.Key{kmsg.EndTxn, kmsg.InitProducerID, kmsg.FindCoordinator, kmsg.AddPartitionsToTxn} {
		k.cluster.ControlKey(key.Int16(), k.refuse)
	}
	return nil
}

// padding makes records so large that a fetch gets some of them only. The job does not know the field.
var padding = `{"padding":"` + strings.Repeat("-", 8000) + `",`

// fill writes the input, a few records at a time: a fetch gets whole batches.
func (k *kafkaRun) fill(ctx context.Context) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(k.address), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		return err
	}
	defer client.Close()
	for name, l := range k.world.logs {
		for i, s := range l.splits {
			var records []*kgo.Record
			for _, r := range s.records {
				records = append(records, &kgo.Record{Topic: name, Partition: int32(i), Value: []byte(padding + strings.TrimSpace(r.line)[1:])})
			}
			const batch = 5
			for ; len(records) > 0; records = records[min(batch, len(records)):] {
				if err := client.ProduceSync(ctx, records[:min(batch, len(records))]...).FirstErr(); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// noise says which requests the cluster refuses.
type noise struct {
	mu     sync.Mutex
	random *rand.Rand
}

func (n *noise) draw(of int) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.random.IntN(of)
}

// refuse answers one in ten requests about transactions as a coordinator does that is starting, has moved, or is busy.
func (k *kafkaRun) refuse(r kmsg.Request) (kmsg.Response, error, bool) {
	k.cluster.KeepControl()
	if !k.refuses.Load() || k.noise.draw(10) > 0 {
		return nil, nil, false
	}
	codes := []*kerr.Error{kerr.CoordinatorLoadInProgress, kerr.CoordinatorNotAvailable, kerr.NotCoordinator, kerr.ConcurrentTransactions}
	code := codes[k.noise.draw(len(codes))].Code
	response := r.ResponseKind()
	switch a := response.(type) {
	case *kmsg.EndTxnResponse:
		a.ErrorCode = code
	case *kmsg.InitProducerIDResponse:
		a.ErrorCode = code
	case *kmsg.FindCoordinatorResponse:
		if code == kerr.ConcurrentTransactions.Code {
			return nil, nil, false
		}
		a.ErrorCode = code
		for _, key := range r.(*kmsg.FindCoordinatorRequest).CoordinatorKeys {
			c := kmsg.NewFindCoordinatorResponseCoordinator()
			c.Key, c.ErrorCode = key, code
			a.Coordinators = append(a.Coordinators, c)
		}
	default:
		return nil, nil, false
	}
	return response, nil, true
}

// network connects a process to the cluster, until it is cut. It loses requests, and answers to them, each with its
// connection.
type network struct {
	mu     sync.Mutex
	random *rand.Rand // nil: nothing is lost
	gone   bool
	open   map[*wire]bool
}

func newNetwork(random *rand.Rand) *network { return &network{random: random, open: map[*wire]bool{}} }

func (n *network) dial(ctx context.Context, kind, address string) (net.Conn, error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, kind, address)
	if err != nil {
		return nil, err
	}
	w := &wire{Conn: c, network: n}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.gone {
		return nil, errors.Join(errGone, c.Close())
	}
	n.open[w] = true
	return w, nil
}

// cut lets nothing through any more.
func (n *network) cut() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.gone = true
	for w := range n.open {
		_ = w.Conn.Close() // by force, as a process's end does
	}
}

// wire is a connection. A client writes a request by one Write.
type wire struct {
	net.Conn
	network *network
	deaf    bool // guarded by network.mu
}

// lossOf1000 is how many requests, and how many answers, are lost.
const lossOf1000 = 5

// produceKey is the request whose answer is not lost: the client would then give up the transaction, which is right, and
// slow.
const produceKey = 0

// Write implements net.Conn.
func (w *wire) Write(b []byte) (int, error) {
	n := w.network
	n.mu.Lock()
	lost := false
	if n.random != nil && len(b) > 6 && binary.BigEndian.Uint16(b[4:]) != produceKey {
		draw := n.random.IntN(1000)
		lost, w.deaf = draw < lossOf1000, w.deaf || draw >= 1000-lossOf1000
	}
	gone := n.gone
	n.mu.Unlock()
	if lost || gone {
		return 0, errors.Join(errInjected, w.Conn.Close())
	}
	return w.Conn.Write(b)
}

// Read implements net.Conn.
func (w *wire) Read(b []byte) (int, error) {
	size, err := w.Conn.Read(b) // so the broker has done what was asked
	w.network.mu.Lock()
	deaf := w.deaf
	w.network.mu.Unlock()
	if deaf {
		return 0, errors.Join(errInjected, w.Conn.Close())
	}
	return size, err
}

// Close implements net.Conn.
func (w *wire) Close() error {
	w.network.mu.Lock()
	delete(w.network.open, w)
	w.network.mu.Unlock()
	return w.Conn.Close()
}

// compare reads what is committed and compares it as a set; nothing is left open.
func (k *kafkaRun) compare(ctx context.Context) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(k.address))
	if err != nil {
		return err
	}
	defer client.Close()
	admin := kadm.NewClient(client)
	c := comparison{spec: k.spec, whole: true}
	for name := range k.world.topics {
		lines, err := k.committed(ctx, admin, name)
		if err != nil {
			return err
		}
		if text := c.lines(false, k.expected[name], lines); text != "" {
			k.find("topic %s: %s", name, text)
		}
	}
	return nil
}

// committed reads the committed records of a topic. That its last stable offset is its end says that no transaction is
// open.
func (k *kafkaRun) committed(ctx context.Context, admin *kadm.Client, topic string) (lines []string, err error) {
	ends, err := admin.ListEndOffsets(ctx, topic)
	if err != nil {
		return nil, err
	}
	stable, err := admin.ListCommittedOffsets(ctx, topic)
	if err != nil {
		return nil, err
	}
	left := map[int32]int64{}
	from := map[string]map[int32]kgo.Offset{topic: {}}
	ends.Each(func(o kadm.ListedOffset) {
		if s, ok := stable.Lookup(topic, o.Partition); !ok || s.Offset != o.Offset {
			k.find("topic %s: partition %d ends at %d, and is stable up to %d", topic, o.Partition, o.Offset, s.Offset)
		}
		if o.Offset > 0 {
			left[o.Partition] = o.Offset
			from[topic][o.Partition] = kgo.NewOffset().At(0)
		}
	})
	if len(k.report.Findings) > 0 || len(left) == 0 {
		return nil, nil
	}
	reader, err := kgo.NewClient(kgo.SeedBrokers(k.address), kgo.ConsumePartitions(from), kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords())
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	for len(left) > 0 {
		fetches := reader.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return nil, fmt.Errorf("reading topic %s: %w", topic, err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			if !r.Attrs.IsControl() {
				lines = append(lines, string(r.Value))
			}
			if r.Offset+1 >= left[r.Partition] {
				delete(left, r.Partition)
			}
		})
	}
	return lines, nil
}
