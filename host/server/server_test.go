package server_test

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"net"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/wasmstream/wasmstream/host/runtime"
	"github.com/wasmstream/wasmstream/host/server"
)

// TestMetrics plays a small history, of which every number follows by hand.
func TestMetrics(t *testing.T) {
	b := start(t)
	close(b.topic.open)
	b.run(b.newJob(counts))
	before := b.until("both splits are known", func(s samples) bool { return len(s) > 0 && s[lag("p-1", false)] != 0 })
	b.check(before, samples{
		lag("p-0", false): math.Inf(1), lag("p-1", false): math.Inf(1),
		task("currentOutputWatermark", "source", "in"): none, task("currentInputWatermark", "step", "counted"): none,
		"wasmstream_job_lastCheckpointDuration": -1, "wasmstream_job_lastCheckpointSize": -1,
		"wasmstream_job_checkpointInterval": 3_600_000, "wasmstream_job_uptime": 0,
	})

	b.topic.chunks <- "p-0 " + record("a", 1000) + "no JSON\n" + record("a", 5000)
	b.topic.chunks <- "p-1 " + record("b", 2000) // both: 1999, which fires a's first window
	b.topic.chunks <- "p-0 " + record("c", 500)  // its window ended at 999
	got := b.until("all are there", func(s samples) bool {
		return s[task("numLateRecordsDropped", "step", "counted")] == 1 && s[task("numRecordsIn", "sink", "out")] == 1
	})
	b.check(got, samples{
		task("numRecordsIn", "source", "in"):             4,
		task("numRecordsOut", "source", "in"):            4,
		task("numRecordsInErrors", "source", "in"):       1,
		task("currentOutputWatermark", "source", "in"):   1999,
		task("numRecordsIn", "step", "counted"):          4,
		task("numRecordsOut", "step", "counted"):         1,
		task("currentInputWatermark", "step", "counted"): 1999,
		// a's window from 5000 and b's from 2000, each with the timer that fires it.
		task("stateEntries", "step", "counted"):                    2,
		task("stateTimers", "step", "counted"):                     2,
		lag("p-0", false):                                          100_000 - 4999,
		lag("p-1", false):                                          100_000 - 1999,
		`wasmstream_split_pendingRecords{source="in",split="p-0"}`: 7,
		`wasmstream_split_pendingRecords{source="in",split="p-1"}`: 0,
	})
	if n := got[task("stateBytes", "step", "counted")]; n < 2*8 || n > 2000 {
		t.Errorf("two counts take %v bytes", n)
	}

}

// TestIdleSplit: a split is labelled when it is idle, and has one series at a time.
func TestIdleSplit(t *testing.T) {
	b := start(t)
	close(b.topic.open)
	b.run(b.newJob(counts))
	b.topic.chunks <- "p-1 " + record("b", 2000)
	b.until("idle", func(s samples) bool {
		b.clock.move(250)
		_, idle := s[lag("p-1", true)]
		return idle
	})
	// Idleness is looked for in the order of the splits: both are, and p-0 comes back.
	b.topic.chunks <- "p-0 " + record("a", 3000)
	got := b.until("p-0 is back", func(s samples) bool { return s[lag("p-0", false)] > 0 && !math.IsInf(s[lag("p-0", false)], 1) })
	now := float64(b.clock.Now())
	b.check(got, samples{lag("p-0", false): now - 2999, lag("p-1", true): now - 1999})
	for _, gone := range []string{lag("p-0", true), lag("p-1", false)} {
		if _, there := got[gone]; there {
			t.Errorf("%s is there too", gone)
		}
	}
}

// TestCheckpoints: those of all starts of a job are counted, and failures do not hide
// what the last one that was completed was like.
func TestCheckpoints(t *testing.T) {
	b := start(t)
	close(b.topic.open)
	b.sink.commit = func() { b.clock.move(40) }
	j := b.newJob(counts)
	stop := b.run(j)
	b.topic.chunks <- "p-0 " + record("a", 1000)
	b.topic.chunks <- "p-1 " + record("b", 2000)
	b.until("both are there", func(s samples) bool { return s[task("numRecordsIn", "step", "counted")] == 2 })
	want := samples{
		"wasmstream_job_numberOfCompletedCheckpoints": 1, "wasmstream_job_numberOfFailedCheckpoints": 0,
		"wasmstream_job_lastCheckpointDuration": 40,
	}
	b.checkpoint(j, true)
	want["wasmstream_job_lastCheckpointSize"] = float64(b.store.files(t))
	b.check(b.scrape(), want)

	b.store.broken.Store(true)
	b.checkpoint(j, false)
	want["wasmstream_job_numberOfFailedCheckpoints"] = 1
	b.check(b.scrape(), want)
	b.store.broken.Store(false)

	stop()
	want["wasmstream_job_uptime"] = 0
	stopped := b.scrape()
	b.check(stopped, want)
	if _, there := stopped[task("numRecordsIn", "step", "counted")]; there {
		t.Error("a job that has stopped has tasks")
	}
	b.server.Restarting(errors.New("no broker"), time.Second)
	b.topic = newTopic()
	close(b.topic.open)
	j = b.newJob(counts)
	b.run(j)
	b.clock.move(500)
	b.checkpoint(j, true)
	want["wasmstream_job_numberOfCompletedCheckpoints"], want["wasmstream_job_numRestarts"] = 2, 1
	want["wasmstream_job_uptime"] = 540
	delete(want, "wasmstream_job_lastCheckpointSize")
	b.check(b.scrape(), want)
}

// checkpoint has one taken.
func (b *bench) checkpoint(j *runtime.Job, succeeds bool) {
	b.Helper()
	done := make(chan error, 1)
	if err := j.Checkpoint(func(err error) { done <- err }); err != nil {
		b.Fatal(err)
	}
	select {
	case err := <-done:
		if (err == nil) != succeeds {
			b.Fatalf("the checkpoint came to %v", err)
		}
	case <-time.After(patience):
		b.Fatal("the checkpoint does not end")
	}
}

// TestReady: a job is ready when it is open, and not while it waits to be started again.
func TestReady(t *testing.T) {
	b := start(t)
	expect := func(ready int, reason, health string) {
		t.Helper()
		if status, text := b.get("/ready"); status != ready || text != reason+"\n" {
			t.Errorf("ready: %d %s", status, text)
		}
		if status, text := b.get("/health"); status != http.StatusOK || text != health+"\n" {
			t.Errorf("health: %d %s", status, text)
		}
	}
	expect(503, "the job is being prepared", "the job is being prepared")
	stop := b.run(b.newJob(counts))
	expect(503, "source in is not open yet", "running")
	close(b.topic.open)
	b.until("both splits are known", func(s samples) bool { return s[lag("p-1", false)] != 0 })
	b.untilReady()
	expect(200, "ready", "running")
	stop()
	b.server.Restarting(errors.New("no broker"), 2*time.Second)
	const reason = "the job failed and is started again after 2s: no broker"
	expect(503, reason, reason)
	b.topic = newTopic()
	close(b.topic.open)
	b.run(b.newJob(counts))
	b.untilReady()
	expect(200, "ready", "running")
}

// untilReady waits for sinks, which are opened beside the sources.
func (b *bench) untilReady() {
	b.Helper()
	b.until("it is ready", func(samples) bool {
		status, _ := b.get("/ready")
		return status == http.StatusOK
	})
}

// TestBackPressure: a sink that does not take anything holds up all before it. Those
// who wait say so, and the one who is called works.
func TestBackPressure(t *testing.T) {
	b := start(t)
	close(b.topic.open)
	gate := make(chan struct{})
	b.sink.write = func() error { <-gate; return nil }
	b.run(b.newJob(strings.Replace(counts, "{from: counted, file", "{from: in, file", 1)))
	t.Cleanup(func() { close(gate) }) // before the job is stopped
	ctx, cancel := context.WithCancel(context.Background())
	fed := make(chan struct{})
	go func() {
		defer close(fed)
		chunk := "p-0 " + strings.Repeat(record("a", 1000), 10_000)
		for {
			select {
			case b.topic.chunks <- chunk:
			case <-ctx.Done():
				return
			}
		}
	}()
	t.Cleanup(func() { cancel(); <-fed })
	b.until("all wait", func(s samples) bool {
		for _, of := range [][2]string{{"source", "in"}, {"decoder", "in"}, {"sink", "out"}} {
			busy, waited, idle := s[task("busyTimeMsPerSecond", of[0], of[1])], s[task("backPressuredTimeMsPerSecond", of[0], of[1])], s[task("idleTimeMsPerSecond", of[0], of[1])]
			if math.Abs(busy+waited+idle-1000) > 1e-9 {
				t.Fatalf("%s: %v + %v + %v", of[0], busy, waited, idle)
			}
			if waited != 1000 {
				b.monotonic.Add(int64(10 * time.Second))
				return false
			}
		}
		// The step has room, and gets nothing; but it may just have been at work when the
		// clock was moved on.
		if s[task("idleTimeMsPerSecond", "step", "counted")] != 1000 {
			b.monotonic.Add(int64(10 * time.Second))
			return false
		}
		return true
	})
}

var (
	promQuery  = regexp.MustCompile("(?s)```promql\n(.*?)```")
	promMetric = regexp.MustCompile(`\bwasmstream_\w+`)
	promLabels = regexp.MustCompile(`\b(?:by|on|ignoring|without) ?\(([^)]*)\)|\{([^}]*)\}`)
	promLabel  = regexp.MustCompile(`\b([a-z_]+) *(?:[=!]|,|$)`)
)

// checkQueries looks at the labels in a page's queries.
func checkQueries(t *testing.T, page string, labels map[string]string) {
	t.Helper()
	seen := 0
	for _, query := range promQuery.FindAllStringSubmatch(page, -1) {
		known := ""
		for _, metric := range promMetric.FindAllString(query[1], -1) {
			known += "," + labels[metric]
		}
		for _, list := range promLabels.FindAllStringSubmatch(query[1], -1) {
			for _, label := range promLabel.FindAllStringSubmatch(list[1]+list[2], -1) {
				seen++
				if !regexp.MustCompile(`\b` + label[1] + "=").MatchString(known) {
					t.Errorf("the page asks by the label %s, and no metric there has it:\n%s", label[1], query[1])
				}
			}
		}
	}
	if seen < 20 {
		t.Errorf("only %d labels in queries", seen)
	}
}

// TestPage: every metric that the page names is served, and every one that is served is
// on the page. Queries use labels that a metric of theirs has.
func TestPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/monitoring.md")
	if err != nil {
		t.Fatal(err)
	}
	b := start(t)
	close(b.topic.open)
	b.run(b.newJob(asks))
	served, labels := map[string]bool{}, map[string]string{}
	for name := range b.until("both splits are known", func(s samples) bool { return s[lag("p-1", false)] != 0 }) {
		name, with, _ := strings.Cut(name, "{")
		served[name], labels[name] = true, "job_name="+with
	}
	checkQueries(t, string(page), labels)
	named := map[string]bool{}
	for _, name := range regexp.MustCompile(`\b(wasmstream|process|go)_[A-Za-z_]*[A-Za-z]\b`).FindAllString(string(page), -1) {
		named[name] = true
		if !served[name] {
			t.Errorf("the page names %s, which is not served", name)
		}
	}
	for name := range served {
		if strings.HasPrefix(name, "wasmstream_") && !named[name] {
			t.Errorf("%s is served, and not on the page", name)
		}
	}
	if len(named) < 20 {
		t.Errorf("the page names only %d metrics", len(named))
	}
}

func TestAddresses(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for address, want := range map[string]string{
		"9249":                `"9249" is no address: missing port in address; it is host:port, such as 127.0.0.1:9249`,
		"127.0.0.1:http:":     "too many colons",
		"127.0.0.1:99999":     "invalid port",
		taken.Addr().String(): "cannot listen on " + taken.Addr().String() + ": address already in use",
	} {
		s, err := server.Listen(server.Options{Address: address, Clock: &clock{}, Log: slog.New(slog.DiscardHandler)})
		if err == nil {
			t.Errorf("%s: no error", address)
			_ = s.Close()
			continue
		}
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v\ndoes not say %s", address, err, want)
		}
	}
}
