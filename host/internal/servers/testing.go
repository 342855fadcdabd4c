package servers

import (
	"context"
	crand "crypto/rand"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/wasmstream/wasmstream/host/internal/needs"
)

// shared are the brokers that tests of this process share.
var shared [len(releases)]struct {
	once   sync.Once
	broker *Broker
	err    error
}

// Shared returns the release's broker that all tests share, and starts it for the first of them. Tests must not end it,
// and keep to topics, groups and transactional ids with names from Name.
func Shared(t testing.TB, r Release) *Broker {
	t.Helper()
	if at := os.Getenv(r.Variable()); at != "" {
		return &Broker{Bootstrap: at, release: r}
	}
	need(t, r)
	s := &shared[r]
	// The first test's end must not be that of the broker, so its context is not the test's.
	s.once.Do(func() { s.broker, s.err = Launch(context.Background(), Options{Release: r}) })
	if s.err != nil {
		t.Fatal(s.err)
	}
	return s.broker
}

// Start starts a broker for one test, at whose end it ends. If the test fails, what the broker wrote is kept.
func Start(t testing.TB, o Options) *Broker {
	t.Helper()
	need(t, o.Release)
	b, err := Launch(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		end := b.Close
		if t.Failed() {
			end = b.Kill
			t.Logf("the broker's files are in %s", b.dir)
		}
		if err := end(); err != nil {
			t.Error(err)
		}
	})
	return b
}

func need(t testing.TB, r Release) {
	t.Helper()
	programs := []string{"sh", "java"}
	if !Cached(r) {
		programs = append(programs, "mvn")
	}
	needs.Tool(t, programs...)
}

// Name returns a name that nobody else on the broker has and that says whose it is.
func Name(t testing.TB) string {
	legal := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, t.Name())
	return fmt.Sprintf("%.100s-%08x", legal, seeded().Uint32())
}

// Topic makes a topic and returns its name. Settings are pairs of Kafka's names and values.
func (b *Broker) Topic(t testing.TB, partitions int, settings ...string) string {
	t.Helper()
	name, configs := Name(t), map[string]*string{}
	for i := 0; i+1 < len(settings); i += 2 {
		configs[settings[i]] = &settings[i+1]
	}
	if _, err := b.Admin(t).CreateTopic(t.Context(), int32(partitions), 1, configs, name); err != nil {
		t.Fatalf("topic %s: %v", name, err)
	}
	return name
}

// Admin returns a client for administration, until the test's end.
func (b *Broker) Admin(t testing.TB) *kadm.Client {
	t.Helper()
	return kadm.NewClient(b.Client(t))
}

// Client returns a client of the broker, until the test's end.
func (b *Broker) Client(t testing.TB, options ...kgo.Opt) *kgo.Client {
	t.Helper()
	cl, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(b.Bootstrap)}, options...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	return cl
}

// seeded returns a source of numbers that no two processes have in common: names and ports are to differ, not to come
// again.
func seeded() *rand.Rand {
	var seed [16]byte
	_, _ = crand.Read(seed[:]) // it never fails
	return rand.New(rand.NewPCG(binary.LittleEndian.Uint64(seed[:8]), binary.LittleEndian.Uint64(seed[8:])))
}
