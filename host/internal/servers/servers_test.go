package servers_test

import (
	"bufio"
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"

	"github.com/wasmstream/wasmstream/host/internal/needs"
	"github.com/wasmstream/wasmstream/host/internal/servers"
)

// deadline is what any wait here may take at most.
const deadline = 3 * time.Minute

func TestABrokerComesBackOnItsData(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	b := launch(t, servers.Options{Config: map[string]string{"message.max.bytes": "12345"}})
	defer b.Close()
	cl, err := kgo.NewClient(kgo.SeedBrokers(b.Bootstrap), kgo.AllowAutoTopicCreation(), kgo.DefaultProduceTopic("kept"))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	ends := []struct {
		name string
		end  func() error
	}{{"Kill", b.Kill}, {"Stop", b.Stop}}
	for i, e := range ends {
		at := b.Bootstrap
		if err := cl.ProduceSync(t.Context(), kgo.StringRecord(e.name)).FirstErr(); err != nil {
			t.Fatal(err)
		}
		if err := e.end(); err != nil {
			t.Fatal(err)
		}
		if c, err := net.Dial("tcp", at); err == nil {
			c.Close()
			t.Fatalf("%s: somebody still listens at %s", e.name, at)
		}
		if err := b.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
		if b.Bootstrap != at {
			t.Fatalf("%s: the broker was at %s and is at %s", e.name, at, b.Bootstrap)
		}
		if got := read(t, b, "kept", i+1); got[i] != e.name {
			t.Errorf("%s: the topic has %q", e.name, got)
		}
	}
	limit := kmsg.NewDescribeConfigsRequestResource()
	limit.ResourceType, limit.ResourceName, limit.ConfigNames = kmsg.ConfigResourceTypeBroker, "1", []string{"message.max.bytes"}
	ask := kmsg.NewPtrDescribeConfigsRequest()
	ask.Resources = append(ask.Resources, limit)
	answer, err := ask.RequestWith(t.Context(), cl)
	if err != nil {
		t.Fatal(err)
	}
	if c := answer.Resources[0].Configs; len(c) != 1 || *c[0].Value != "12345" {
		t.Errorf("message.max.bytes is %+v, and was set to 12345", c)
	}
}

// launch starts a broker that the test ends itself.
func launch(t *testing.T, o servers.Options) *servers.Broker {
	t.Helper()
	needs.Tool(t, "sh", "java")
	if !servers.Cached(o.Release) {
		needs.Tool(t, "mvn")
	}
	b, err := servers.Launch(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// read returns the first n records of a topic.
func read(t *testing.T, b *servers.Broker, topic string, n int) []string {
	t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(b.Bootstrap), kgo.ConsumeTopics(topic))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	var got []string
	for len(got) < n {
		f := cl.PollFetches(ctx)
		if ctx.Err() != nil {
			t.Fatalf("of %d records there are %q after %s", n, got, deadline)
		}
		f.EachRecord(func(r *kgo.Record) { got = append(got, string(r.Value)) })
	}
	return got
}

// TestReleases holds each release to the version of transactions that it is there for.
func TestReleases(t *testing.T) {
	want := map[servers.Release]int16{servers.Kafka4: 2, servers.Kafka4TV1: 1, servers.Kafka4TV0: 0, servers.Kafka39: 0}
	for _, r := range servers.Releases {
		t.Run(r.String(), func(t *testing.T) {
			t.Parallel()
			b := servers.Shared(t, r)
			if again := servers.Shared(t, r); again.Bootstrap != b.Bootstrap {
				t.Errorf("two shared brokers, %s and %s", b.Bootstrap, again.Bootstrap)
			}
			ask := kmsg.NewPtrApiVersionsRequest()
			ask.Version, ask.ClientSoftwareName, ask.ClientSoftwareVersion = 4, "test", "1"
			answer, err := ask.RequestWith(t.Context(), b.Client(t))
			if err != nil {
				t.Fatal(err)
			}
			var got int16
			for _, f := range answer.FinalizedFeatures {
				if f.Name == "transaction.version" {
					got = f.MaxVersionLevel
				}
			}
			if got != want[r] {
				t.Errorf("transaction.version is %d, not %d", got, want[r])
			}
			topic := b.Topic(t, 3, "max.message.bytes", "4321")
			described, err := b.Admin(t).ListTopics(t.Context(), topic)
			if err != nil || len(described[topic].Partitions) != 3 {
				t.Errorf("topic %s: %+v, %v", topic, described, err)
			}
		})
	}
}

func TestSharedTakesTheOneThatRuns(t *testing.T) {
	const at = "127.0.0.1:1"
	t.Setenv(servers.Kafka4.Variable(), at)
	b := servers.Shared(t, servers.Kafka4)
	if b.Bootstrap != at {
		t.Errorf("the broker is at %s, not at %s", b.Bootstrap, at)
	}
	for name, err := range map[string]error{"Kill": b.Kill(), "Stop": b.Stop(), "Restart": b.Restart(t.Context())} {
		if err == nil {
			t.Errorf("%s of a broker that others started: no error", name)
		}
	}
}

func TestNamesAreLegalAndDiffer(t *testing.T) {
	t.Run("of/a test, where ü is", func(t *testing.T) {
		a, b := servers.Name(t), servers.Name(t)
		if a == b || !strings.HasPrefix(a, "TestNamesAreLegalAndDiffer-of-a-test--where---is-") {
			t.Errorf("the names are %q and %q", a, b)
		}
	})
}

// TestABrokerEndsWithItsStarter kills the program that started a broker, which then has no time to end it.
func TestABrokerEndsWithItsStarter(t *testing.T) {
	needs.Tool(t, "go", "sh", "java")
	temp := t.TempDir()
	program := filepath.Join(t.TempDir(), "kafka")
	if said, err := exec.Command("go", "build", "-o", program, "./kafka").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	c := exec.Command(program, "-releases", "4.4", "--", "sh", "-c", "echo $WASMSTREAM_TEST_KAFKA; read -r end")
	c.Env = append(os.Environ(), "TMPDIR="+temp)
	stdin, err := c.StdinPipe() // the command waits for it
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	stdout, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	at, err := bufio.NewReader(stdout).ReadString('\n')
	at = strings.TrimSpace(at)
	if err == nil {
		_, err = net.Dial("tcp", at)
	}
	if err != nil {
		t.Errorf("no broker at %q: %v", at, err)
	}
	if left, err := filepath.Glob(temp + "/*"); err != nil || len(left) != 1 {
		t.Errorf("the folder of folders has %q, %v", left, err)
	}
	_ = c.Process.Kill()
	_ = c.Wait()
	eventually(t, "the broker ends", func() bool {
		c, err := net.Dial("tcp", at)
		if err == nil {
			c.Close()
		}
		return err != nil
	})
	eventually(t, "the broker's folder is removed", func() bool {
		left, err := filepath.Glob(temp + "/*")
		return err == nil && len(left) == 0
	})
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for end := time.Now().Add(deadline); !is(); <-look.C {
		if time.Now().After(end) {
			t.Fatalf("%s: not within %s", what, deadline)
		}
	}
}
