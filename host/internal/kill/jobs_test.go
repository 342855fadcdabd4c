package kill

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wasmstream/wasmstream/host/internal/needs"
	"github.com/wasmstream/wasmstream/host/internal/servers"
)

// asked returns how many kills are asked for, and the seed. make kill-file and make kill-kafka set them; go test alone
// makes few, and more where all tools are there for certain.
func asked(t *testing.T, few, more int) (kills int, seed uint64) {
	t.Helper()
	if testing.Short() {
		t.Skip("it runs the command many times")
	}
	kills, seed = few, 1
	if os.Getenv(needs.RequireVariable) == "1" {
		kills = more
	}
	var err error
	if v := os.Getenv("WASMSTREAM_KILLS"); v != "" {
		if kills, err = strconv.Atoi(v); err != nil {
			t.Fatal(err)
		}
	}
	if v := os.Getenv("WASMSTREAM_KILL_SEED"); v != "" {
		if seed, err = strconv.ParseUint(v, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	return kills, seed
}

// build builds the command.
func build(t *testing.T) Command {
	t.Helper()
	needs.Tool(t, "go")
	built := t.TempDir()
	c := Command{Program: filepath.Join(built, "wasmstream"), Arguments: []string{"run", "job.yaml"}, Env: []string{"WASMSTREAM_CACHE_DIR=" + filepath.Join(built, "cache")}}
	if said, err := exec.Command("go", "build", "-o", c.Program, "../../../cmd/wasmstream").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	return c
}

// folder makes a folder that is kept if the test fails.
func folder(t *testing.T) string {
	t.Helper()
	path, err := os.MkdirTemp("", "wasmstream-kill-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("its files are in %s", path)
			return
		}
		if err := os.RemoveAll(path); err != nil {
			t.Error(err)
		}
	})
	return path
}

func testdata(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs("../../../testdata")
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// tell tells of the kills that were made, and fails if some kind was not.
func tell(t *testing.T, r *Report) {
	t.Helper()
	t.Log(r)
	if t.Failed() {
		t.Logf("the lives:\n%s", r.History())
	}
	if missed := r.Missed(); r.Kills() >= killsFromAll && len(missed) > 0 {
		t.Errorf("the command was not killed at %q in %d kills", missed, r.Kills())
	}
}

func TestKillFile(t *testing.T) {
	kills, seed := asked(t, 5, 30)
	c, temp, data := build(t), folder(t), testdata(t)
	var r Report
	jobs := fileJobs(t, data, temp, seed, kills > 100)
	for i, j := range jobs {
		if err := j.Run(t.Context(), c, temp, seed+uint64(i), kills*(i+1)/len(jobs), &r); err != nil {
			t.Error(err)
			break
		}
	}
	tell(t, &r)
}

// fileJobs are all jobs from file to file; large ones if there are many kills.
func fileJobs(t *testing.T, data, temp string, seed uint64, large bool) []BoundedJob {
	t.Helper()
	jobs, size := []BoundedJob{HourlyDelays(data)}, 1
	if large {
		size = 5
	}
	add := func(j BoundedJob, err error) {
		if err != nil {
			t.Fatal(err)
		}
		jobs = append(jobs, j)
	}
	add(WindowsOfFiles(data, temp, seed, size*200_000, false))
	add(WindowsOfFiles(data, temp, seed, size*200_000, true))
	add(Functions(data, temp, seed, size*30_000))
	add(Enriched(data, temp, server(t, seed), size*1000))
	return jobs
}

// server says "about KEY" to each key, some time later and sometimes not at the first attempt.
func server(t *testing.T, seed uint64) string {
	t.Helper()
	var mu sync.Mutex
	random := rand.New(rand.NewPCG(seed, 4))
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		late, fails := time.Duration(random.IntN(2000))*time.Microsecond, random.IntN(20) == 0
		mu.Unlock()
		select { // answers are to come in another order than requests
		case <-time.After(late):
		case <-r.Context().Done(): // the command was killed
		}
		if fails {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintf(w, "about %s", path.Base(r.URL.Path))
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// TestKillKafka kills jobs beside brokers of their own, of each release, all at once: most of the time they wait for the
// brokers to come back.
func TestKillKafka(t *testing.T) {
	kills, seed := asked(t, 4, 20)
	c := build(t)
	for _, release := range []servers.Release{servers.Kafka4, servers.Kafka4TV1, servers.Kafka39} {
		t.Run(release.String(), func(t *testing.T) {
			t.Parallel()
			b := servers.Start(t, servers.Options{Release: release})
			c := c
			c.Folder = folder(t)
			j := KafkaJob{
				Broker: b, In: b.Topic(t, Partitions), Tumbling: b.Topic(t, Partitions), Sessions: b.Topic(t, Partitions),
				Prefix: servers.Name(t), Delivery: "exactly-once", Testdata: testdata(t),
			}
			var r Report
			o, err := j.Run(t.Context(), c, seed, kills, &r)
			if err != nil {
				t.Error(err)
			}
			t.Logf("%d records in, %d tumbling windows and %d sessions out; %s from the last kill until all were there",
				o.Records, o.Tumbling, o.Sessions, o.Settled.Round(time.Millisecond))
			if !t.Failed() {
				killBounded(t, c, j, seed, kills+(kills+3)/4, &r)
			}
			tell(t, &r)
		})
	}
}

// killBounded goes on until there are so many kills, while the job comes to the end of its input again and again.
func killBounded(t *testing.T, c Command, j KafkaJob, seed uint64, kills int, r *Report) {
	t.Helper()
	j.In = j.Broker.Topic(t, Partitions)
	admin := j.Broker.Admin(t)
	bounded, err := j.BoundedKafka(t.Context(), seed, func(name string) error {
		_, err := admin.CreateTopic(t.Context(), Partitions, 1, nil, name)
		return err
	})
	if err == nil {
		err = bounded.Run(t.Context(), c, c.Folder, seed, kills, r)
	}
	if err != nil {
		t.Error(err)
	}
}

// TestKillKafkaFormats kills a job whose records functions decode and encode; what cannot be decoded comes out once, too.
func TestKillKafkaFormats(t *testing.T) {
	kills, seed := asked(t, 3, 9)
	if kills > 100 {
		kills /= 10
	}
	c, temp := build(t), folder(t)
	j := FormatsJob{Broker: servers.Shared(t, servers.Kafka4), Prefix: servers.Name(t), Testdata: testdata(t), Records: 30_000}
	j.In = j.Broker.Topic(t, Partitions)
	admin := j.Broker.Admin(t)
	bounded, err := j.Bounded(t.Context(), func(name string) error {
		_, err := admin.CreateTopic(t.Context(), Partitions, 1, nil, name)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	var r Report
	if err := bounded.Run(t.Context(), c, temp, seed, kills, &r); err != nil {
		t.Error(err)
	}
	t.Log(&r)
}

// TestLessThanExactlyOnceIsNoticed runs the same with a sink that promises less, so that a silent harness would show.
func TestLessThanExactlyOnceIsNoticed(t *testing.T) {
	asked(t, 0, 0)
	c, b := build(t), servers.Start(t, servers.Options{})
	for range 5 { // whether results come between a checkpoint and a kill is chance
		c.Folder = t.TempDir()
		j := KafkaJob{
			Broker: b, In: b.Topic(t, Partitions), Tumbling: b.Topic(t, Partitions), Sessions: b.Topic(t, Partitions),
			Delivery: "at-least-once", Testdata: testdata(t),
		}
		var r Report
		_, err := j.Run(t.Context(), c, 1, 8, &r)
		t.Log(fmt.Sprintf("%s: %.300v", &r, err))
		if err != nil && strings.Contains(err.Error(), "twice: ") {
			return
		}
	}
	t.Error("nothing was found twice")
}
