package kill

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/wasmstream/wasmstream/host/internal/servers"
)

// fakeVariable makes the test binary a job that reads and writes Kafka, in its own way: it reads its whole input again and
// again and puts out what is not in the output yet, in a transaction. "sound" reads the output when it begins, and has
// fenced its former self; "forgetful" reads nothing; "careless" loses the results of a key.
const fakeVariable = "WASMSTREAM_KILL_FAKE"

func TestMain(m *testing.M) {
	if os.Getenv(fakeVariable) == "" {
		os.Exit(m.Run())
	}
	f := &fake{kind: os.Getenv(fakeVariable), args: os.Args[1:]}
	f.run(context.Background())
}

type fake struct {
	kind    string
	args    []string // bootstrap, topics in, tumbling, sessions
	reached int
}

// reach kills the process at a point as the command does.
func (f *fake) reach(p Point) {
	var at Point
	var nth int
	if _, err := fmt.Sscanf(strings.Replace(os.Getenv(Variable), ":", " ", 1), "%s %d", &at, &nth); err == nil && at == p {
		if f.reached++; f.reached == nth {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	}
}

func (f *fake) run(ctx context.Context) {
	bootstrap, topics := f.args[0], f.args[1:]
	client, err := kgo.NewClient(kgo.SeedBrokers(bootstrap), kgo.TransactionalID(topics[0]), kgo.ProducerLinger(0))
	f.must(err)
	_, _, err = client.ProducerID(ctx) // fences
	f.must(err)
	done := map[string]map[Result]bool{}
	for _, topic := range topics[1:] {
		done[topic] = map[Result]bool{}
		f.must(awaitSettled(ctx, bootstrap, topic)) // a commit of its former self may still be on its way to readers
		seen, err := readOutput(ctx, bootstrap, topic)
		f.must(err)
		for _, s := range seen {
			done[topic][s.Result] = f.kind != "forgetful"
		}
	}
	tick := time.NewTicker(200 * time.Millisecond)
	for ; ; <-tick.C {
		in, err := readInput(ctx, bootstrap, topics[0], Partitions, -1)
		f.must(err)
		end := FinalWatermark(in)
		f.must(client.BeginTransaction())
		f.put(client, topics[1], Tumbling(in, tumblingSize, end), done[topics[1]])
		f.put(client, topics[2], Sessions(in, sessionGap, end), done[topics[2]])
		f.must(client.EndTransaction(ctx, kgo.TryCommit))
		for _, p := range Points[len(Points)/2:] {
			f.reach(p)
		}
	}
}

// put sends the results that are new, in order.
func (f *fake) put(client *kgo.Client, topic string, results []Result, done map[Result]bool) {
	results = slices.DeleteFunc(results, func(r Result) bool { return done[r] })
	slices.SortFunc(results, func(a, b Result) int { return int(a.End - b.End) })
	for _, p := range Points[:len(Points)/2] {
		f.reach(p)
	}
	for _, r := range results {
		done[r] = true
		if f.kind == "careless" && r.Key == "k7" {
			continue
		}
		client.Produce(context.Background(), &kgo.Record{Topic: topic, Key: []byte(r.Key), Value: []byte(r.json())}, func(_ *kgo.Record, err error) { f.must(err) })
	}
	f.must(client.Flush(context.Background()))
}

func (f *fake) must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// json is a result as a job writes it.
func (r Result) json() string {
	return fmt.Sprintf(`{"k":%q,"flights":%d,"delay_sum":%d,"delay_max":%d,"window_start":%d,"window_end":%d}`, r.Key, r.Count, r.Sum, r.Max, r.Start, r.End)
}

// TestKafkaJobs runs the fake with all that a real job goes through, its broker's death included.
func TestKafkaJobs(t *testing.T) {
	if testing.Short() {
		t.Skip("it kills a broker, which takes some seconds to come back")
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	b := servers.Start(t, servers.Options{})
	for _, c := range []struct {
		kind, finding string
		kills         int
	}{{"sound", "", 10}, {"forgetful", " twice", 9}, {"careless", " lost", 3}} {
		t.Run(c.kind, func(t *testing.T) {
			j := KafkaJob{Broker: b, In: b.Topic(t, Partitions), Tumbling: b.Topic(t, Partitions), Sessions: b.Topic(t, Partitions), settleMax: time.Minute}
			if c.finding != "" {
				j.settleMax = 5 * time.Second // it will not come to its end
			}
			command := Command{
				Program: program, Arguments: []string{b.Bootstrap, j.In, j.Tumbling, j.Sessions},
				Folder: t.TempDir(), Env: []string{fakeVariable + "=" + c.kind},
			}
			var r Report
			o, err := j.Run(t.Context(), command, 1, c.kills, &r)
			t.Logf("%+v; %s", o, &r)
			if c.finding == "" && (err != nil || o.Tumbling == 0 || o.Sessions == 0) {
				t.Errorf("%+v, %v", o, err)
			}
			if c.finding != "" && (err == nil || strings.Contains(err.Error(), " 0"+c.finding) || !strings.Contains(err.Error(), c.finding)) {
				t.Errorf("found is %v, want %q", err, c.finding)
			}
		})
	}
}
