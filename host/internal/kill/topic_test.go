package kill

import (
	"context"
	"regexp"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/wasmstream/wasmstream/host/internal/servers"
)

// transact sends results in a transaction that is then ended so, or left open.
func transact(t *testing.T, b *servers.Broker, topic string, results []Result, end func(*kgo.Client) error) {
	t.Helper()
	cl := b.Client(t, kgo.TransactionalID(servers.Name(t)), kgo.DefaultProduceTopic(topic))
	if err := cl.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		if err := cl.ProduceSync(t.Context(), kgo.StringRecord(r.json())).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	if err := end(cl); err != nil {
		t.Fatal(err)
	}
}

func TestTopicsAreReadAsCommitted(t *testing.T) {
	b := servers.Shared(t, servers.Kafka4)
	topic := b.Topic(t, 1)
	end := func(how kgo.TransactionEndTry) func(*kgo.Client) error {
		return func(cl *kgo.Client) error { return cl.EndTransaction(t.Context(), how) }
	}
	want := []Result{{"a", 1, 1, 1, 0, 10}, {"a", 2, 1, 1, 10, 20}}
	transact(t, b, topic, want[:1], end(kgo.TryCommit))
	transact(t, b, topic, []Result{{"b", 1, 1, 1, 0, 10}}, end(kgo.TryAbort))
	transact(t, b, topic, want[1:], end(kgo.TryCommit))
	transact(t, b, topic, []Result{{"c", 1, 1, 1, 0, 10}}, end(kgo.TryAbort))
	check := func(open bool) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		seen, err := readOutput(ctx, b.Bootstrap, topic)
		if err != nil {
			t.Fatal(err)
		}
		var got []Result
		for _, s := range seen {
			got = append(got, s.Result)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		found, err := topicEnds(ctx, b.Bootstrap, topic)
		if err != nil || settled(found) == open {
			t.Errorf("a transaction is open: %t; %+v, %v", open, found, err)
		}
	}
	check(false)
	for lost, wanted := range map[Result]string{
		{"b", 1, 1, 1, 0, 10}: `(?s) is 1 times in .* at 0:\d+, by producer \d+ of epoch \d+, before the abort at \d+, .*\n    .* epoch \d+ state \d`,
		want[1]:               `(?s) is 1 times in .*, before the commit at \d+, .*\n    .* epoch \d+ state \d`,
		{"e", 1, 1, 1, 0, 10}: ` is 0 times in [^,]*$`,
	} {
		if said := whereabouts(t.Context(), b.Bootstrap, topic, lost); !regexp.MustCompile(wanted).MatchString(said) {
			t.Errorf("%+v is not lost as told: %s", lost, said)
		}
	}
	transact(t, b, topic, []Result{{"d", 1, 1, 1, 0, 10}}, func(*kgo.Client) error { return nil })
	check(true)
}

// TestTheFeederOutlivesItsBroker holds what was sent against what arrived.
func TestTheFeederOutlivesItsBroker(t *testing.T) {
	if testing.Short() {
		t.Skip("it kills a broker, which takes some seconds to come back")
	}
	b := servers.Start(t, servers.Options{})
	topic := b.Topic(t, Partitions)
	f, err := startFeeder(b.Bootstrap, topic, NewInput(1, Partitions), perSecond)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := b.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	sent, err := f.end(ctx)
	if err != nil {
		t.Fatal(err)
	}
	got, err := readInput(ctx, b.Bootstrap, topic, Partitions, sent)
	if err != nil {
		t.Fatal(err)
	}
	want, in := make([][]Record, Partitions), NewInput(1, Partitions)
	for range sent - Partitions {
		p, r := in.Next()
		want[p] = append(want[p], r)
	}
	for p, r := range in.Last() {
		want[p] = append(want[p], r)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%.2000s", diff)
	}
}
