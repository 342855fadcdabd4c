package sim

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	goruntime "runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/wasmstream/wasmstream/host/checkpoint"
	"github.com/wasmstream/wasmstream/host/checkpoint/folder"
	"github.com/wasmstream/wasmstream/host/connector"
	"github.com/wasmstream/wasmstream/host/connector/kafka"
	"github.com/wasmstream/wasmstream/host/job"
	"github.com/wasmstream/wasmstream/host/runtime"
	"github.com/wasmstream/wasmstream/host/sim/disk"
	"github.com/wasmstream/wasmstream/host/stream"
)

// kafkaJobs are those that run with Kafka's own connectors: of their sinks only those that are topics count.
var kafkaJobs = []string{"tumbling", "wasm", "steps"}

// lifeMax is how long a process of a run with Kafka may take.
const lifeMax = time.Minute

// RunKafka runs a seed with the real Kafka connectors, in goroutines, against a cluster in the process. A crash cuts the
// process off from the cluster and the disk at a point that the seed says; the run as a whole is not the same each time.
// Requests and answers are lost, and the cluster refuses some for the moment. What a reader of committed records finds is
// compared as a set.
func RunKafka(ctx context.Context, o Options) (*Report, error) {
	draw := generator(o.Seed, drawJob)
	name := o.Job
	if name == "" {
		name = kafkaJobs[draw.IntN(len(kafkaJobs))]
	}
	spec, err := specOf(name)
	if err != nil {
		return nil, err
	}
	fewer := *spec
	fewer.Records = 200
	plan, err := fewer.plan(o.Manifest)
	if err != nil {
		return nil, err
	}
	r := &run{o: o, spec: &fewer, plan: plan, lives: generator(o.Seed, drawLives), report: Report{Seed: o.Seed, Job: name}}
	if err := r.reference(); err != nil {
		return nil, err
	}
	r.world = newWorld(o.Seed, plan, r.spec, nil)
	k := &kafkaRun{run: r, disk: disk.New(o.Seed)}
	if err := k.begin(ctx); err != nil {
		return nil, err
	}
	defer k.cluster.Close()
	if err := k.fated(ctx); err != nil {
		return nil, err
	}
	return &r.report, nil
}

// kafkaRun is a run with a cluster.
type kafkaRun struct {
	*run
	disk    *disk.Disk
	cluster *kfake.Cluster
	address string
	refuses atomic.Bool
	noise   *noise
}

func (k *kafkaRun) find(format string, args ...any) {
	k.report.Findings = append(k.report.Findings, fmt.Sprintf(format, args...))
}

// fated lives through some crashes, and then to the end.
func (k *kafkaRun) fated(ctx context.Context) error {
	points := []runtime.Point{
		runtime.HandoverBefore, runtime.HandoverAfter, runtime.ManifestBefore, runtime.ManifestAfter,
		runtime.CommitBefore, runtime.CommitAfter, runtime.NoteBefore, runtime.NoteAfter,
	}
	k.lives.Shuffle(len(points), func(i, j int) { points[i], points[j] = points[j], points[i] })
	const crashes = 5
	for i := 0; len(k.report.Findings) == 0; i++ {
		l := &kafkaLife{network: newNetwork(nil)}
		if i < crashes {
			l.point = points[i]
			l.network = newNetwork(rand.New(rand.NewPCG(k.lives.Uint64(), 0)))
		} else if i > 2*crashes {
			k.find("%d processes did not come to the end", i)
		}
		k.refuses.Store(l.point != "")
		k.report.Lives++
		ended, err := k.live(ctx, l)
		switch {
		case l.dead.Load():
			k.report.Crashes = append(k.report.Crashes, string(l.point))
		case err != nil && l.point == "":
			k.find("without faults the job failed: %v", err)
		case err != nil:
			k.report.Failures++
		case ended:
			return k.compare(ctx)
		}
		if k.lives.IntN(2) == 0 {
			k.disk.Crash()
		} else {
			k.disk.Kill()
		}
	}
	return nil
}

// kafkaLife is a process.
type kafkaLife struct {
	network *network
	point   runtime.Point // of its end, the first time; "": it has none
	dead    atomic.Bool
	end     context.CancelCauseFunc
}

// reached ends the process, if that is its fate: nothing of it gets out any more, and no goroutine goes on from a point.
func (l *kafkaLife) reached(p runtime.Point) {
	if p == l.point && l.dead.CompareAndSwap(false, true) {
		l.network.cut()
		l.end(errGone)
	}
	if l.dead.Load() {
		goruntime.Goexit()
	}
}

// fault is what the disk asks.
func (l *kafkaLife) fault(disk.Op) error {
	if l.dead.Load() {
		return errGone
	}
	return nil
}

// live is a process from its start to its end.
func (k *kafkaRun) live(parent context.Context, l *kafkaLife) (ended bool, err error) {
	limited, stop := context.WithTimeout(parent, lifeMax)
	defer stop()
	ctx, end := context.WithCancelCause(limited)
	defer end(nil)
	l.end = end
	k.disk.Inject(l.fault)
	defer k.disk.Inject(nil)
	store, err := folder.Open(k.disk, dir)
	if err != nil {
		return false, err
	}
	recovery, err := checkpoint.Recover(store)
	if err != nil {
		return false, err
	}
	if m := recovery.Manifest; m != nil && m.Final && recovery.Committed {
		return true, nil
	}
	j, err := runtime.New(k.resized(1+k.lives.IntN(3)), k.config(l, store, recovery))
	if err != nil {
		return false, err
	}
	done := make(chan error, 1)
	go func() { // which ends with the process, if the fate comes in the recovery
		defer close(done)
		done <- j.Run(ctx)
	}()
	err = <-done
	closed := j.Close()
	if l.dead.Load() {
		return false, errGone
	}
	err = errors.Join(err, closed, store.Close())
	return err == nil, err
}

// config is that of the real connectors; sinks that are no topics lead nowhere.
func (k *kafkaRun) config(l *kafkaLife, store checkpoint.Store, recovery checkpoint.Recovery) runtime.Config {
	c := k.run.config(&life{world: k.world, rand: rand.New(rand.NewPCG(k.lives.Uint64(), 0))}, nil, 2)
	c.Workers, c.Clock, c.Guest = 2, &wallClock{}, k.o.Guest
	connection := kafka.Connection{Brokers: []string{k.address}, Dialer: l.network.dial}
	c.Source = func(s *job.Source) (connector.Source, error) {
		source, err := kafka.NewSource(kafka.SourceOptions{
			Connection: connection, Topics: s.Connector.KafkaSource.Topics, Start: kafka.StartEarliest, Bounded: true,
			DiscoveryInterval: -1, FetchBytesMax: fetchBytesLeast,
		})
		return &slowSource{Source: source, closed: make(chan struct{})}, err
	}
	c.Sink = func(s *job.Sink) (connector.Sink, error) {
		t := s.Connector.KafkaSink
		if t == nil {
			return nowhere{}, nil
		}
		return kafka.NewSink(kafka.SinkOptions{
			Connection: connection, Topic: t.Topic, Delivery: kafka.ExactlyOnce, TransactionalIDPrefix: t.TransactionalIDPrefix,
			TransactionTimeout: lifeMax, Timestamps: t.EventTimestamp, Linger: time.Millisecond,
		})
	}
	c.Checkpoints = &runtime.Checkpoints{
		Store: store, Recovery: recovery, Retained: 2, Reached: l.reached,
		Schedule: checkpoint.ScheduleOptions{Interval: 10 * time.Millisecond, TolerableFailures: -1},
	}
	return c
}

// fetchBytesLeast is the least that a source may be told to fetch, and readInterval a pause after each piece: so there are
// several checkpoints before the end.
const (
	fetchBytesLeast = 64 << 10
	readInterval    = 4 * time.Millisecond
)

// slowSource is a source that pauses.
type slowSource struct {
	connector.Source
	closed chan struct{}
	once   sync.Once
}

// Read implements connector.Source.
func (s *slowSource) Read(c *connector.Chunk) error {
	select {
	case <-time.After(readInterval):
	case <-s.closed:
	}
	return s.Source.Read(c)
}

// Close implements connector.Source.
func (s *slowSource) Close() error {
	s.once.Do(func() { close(s.closed) })
	return s.Source.Close()
}

// wallClock is the machine's clock.
type wallClock struct {
	mu    sync.Mutex
	timer *time.Timer
}

// Now implements stream.Clock.
func (c *wallClock) Now() stream.ProcTime { return stream.ProcTime(time.Now().UnixMilli()) }

// Alarm implements stream.Clock.
func (c *wallClock) Alarm(at stream.ProcTime, ring func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timer != nil {
		c.timer.Stop()
	}
	if ring != nil {
		c.timer = time.AfterFunc(time.Until(time.UnixMilli(int64(at))), ring)
	}
}

// nowhere is a sink that keeps nothing.
type nowhere struct{}

// Recover implements connector.Sink; so do all the others here.
func (nowhere) Recover([]byte) error           { return nil }
func (nowhere) Open([]byte) error              { return nil }
func (nowhere) Write(*connector.Records) error { return nil }
func (nowhere) Handover(bool) ([]byte, error)  { return nil, nil }
func (nowhere) Commit() error                  { return nil }
func (nowhere) Interrupt()                     {}
func (nowhere) Close() error                   { return nil }
func (nowhere) Abort() error                   { return nil }
