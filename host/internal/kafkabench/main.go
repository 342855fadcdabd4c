// Command kafkabench measures a job between topics: how many records it takes in a second and how much memory that needs, and
// how late its results are. The job is the command as a user runs it, alone on the first processor; the broker and this
// program have the second.
//
//	go run ./host/internal/kafkabench [-runs N] [-records N] [-seconds N] [-cpuprofile FILE] [NAME...]
//
// It starts a broker, which needs Java and, the first time, Maven; or it takes the one whose host:port is in
// WASMSTREAM_TEST_KAFKA, and then where that runs is up to whoever started it. What the job puts out is checked, and a
// wrong result is an error.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/wasmstream/wasmstream/host/internal/servers"
)

// The processors, as taskset names them.
const (
	jobCore   = "0"
	otherCore = "1"
)

const partitions = 3

// bench is what all measurements share.
type bench struct {
	ctx     context.Context
	at      string // the broker
	admin   *kadm.Client
	folder  string
	binary  string
	records int64
	seconds int
	profile string
	started int // jobs
}

func main() {
	runs := flag.Int("runs", 5, "runs of each benchmark")
	records := flag.Int64("records", 20_000_000, "records for throughput")
	seconds := flag.Int("seconds", 40, "how long latency is measured, each time")
	profile := flag.String("cpuprofile", "", "where the job's profile goes")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	b := &bench{ctx: ctx, records: *records, seconds: *seconds, profile: *profile}
	err := b.main(*runs, flag.Args())
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "kafkabench:", err)
		os.Exit(1)
	}
}

// main sets everything up and runs the benchmarks that are named, or all.
func (b *bench) main(runs int, names []string) (err error) {
	if b.folder, err = os.MkdirTemp("", "bench-kafka"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(b.folder)) }()
	b.binary = filepath.Join(b.folder, "wasmstream")
	if said, err := exec.CommandContext(b.ctx, "go", "build", "-o", b.binary, "./cmd/wasmstream").CombinedOutput(); err != nil {
		return fmt.Errorf("the command cannot be built; run this in the repository's folder: %w\n%s", err, said)
	}
	// From here on all that we start, the broker first, stays where we are.
	if said, err := exec.CommandContext(b.ctx, "taskset", "-a", "-c", "-p", otherCore, strconv.Itoa(os.Getpid())).CombinedOutput(); err != nil {
		return fmt.Errorf("this process cannot be bound to a processor: %w\n%s", err, said)
	}
	if b.at = os.Getenv(servers.Kafka4.Variable()); b.at == "" {
		broker, err := servers.Launch(b.ctx, servers.Options{Release: servers.Kafka4})
		if err != nil {
			return err
		}
		defer func() { _ = broker.Close() }()
		b.at = broker.Bootstrap
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(b.at))
	if err != nil {
		return err
	}
	defer client.Close()
	b.admin = kadm.NewClient(client)
	wanted := func(name string) bool { return len(names) == 0 || slices.Contains(names, name) }
	if wanted("throughput") {
		if err := b.throughput(runs); err != nil {
			return fmt.Errorf("throughput: %w", err)
		}
	}
	for _, l := range latencies {
		if !wanted(l.name) {
			continue
		}
		if err := b.latency(l, runs); err != nil {
			return fmt.Errorf("%s: %w", l.name, err)
		}
	}
	return nil
}

// topic makes one that nobody has used, and returns its name.
func (b *bench) topic(what string) (string, error) {
	name := fmt.Sprintf("bench-%s-%d", what, time.Now().UnixNano())
	_, err := b.admin.CreateTopic(b.ctx, partitions, 1, nil, name)
	return name, err
}

// median is the middle value, with the least and the greatest.
func median(values []float64, format string) string {
	slices.Sort(values)
	return fmt.Sprintf(format+" ("+format+"–"+format+")", values[len(values)/2], values[0], values[len(values)-1])
}
