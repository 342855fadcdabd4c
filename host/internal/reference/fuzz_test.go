package reference

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/wasmstream/wasmstream/host/format"
	"github.com/wasmstream/wasmstream/host/format/json"
	"github.com/wasmstream/wasmstream/host/internal/needs"
	"github.com/wasmstream/wasmstream/host/internal/twins"
	"github.com/wasmstream/wasmstream/host/job"
	"github.com/wasmstream/wasmstream/host/scenario"
	"github.com/wasmstream/wasmstream/host/stream"
)

// What the environment may ask for.
const (
	historiesVariable = "WASMSTREAM_HISTORIES"     // how many; default 300
	seedVariable      = "WASMSTREAM_SEED"          // the first seed; default 1
	oracleVariable    = "WASMSTREAM_FLINK_ORACLE"  // the program flink-oracle
	keepVariable      = "WASMSTREAM_HISTORIES_DIR" // where the histories for it are kept
)

func number(t testing.TB, variable string, otherwise int) int {
	text := os.Getenv(variable)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s=%s is no number", variable, text)
	}
	return n
}

func engine() scenario.Options {
	return scenario.Options{
		Decoder: func(declared, output *stream.Schema) (format.Decoder, error) {
			return json.NewDecoder(declared, output)
		},
		Encoder: func(s *stream.Schema) (format.Encoder, error) {
			return json.NewEncoder(s, json.EncoderOptions{Timestamps: json.Millis, AppendOnly: true})
		},
	}
}

// offered asks the job parser what the engine has.
func offered() Kinds {
	kinds := Offered(func(text string) bool {
		_, err := job.Parse([]byte(text), job.Options{File: "probe", Dir: "/", Test: true})
		return err == nil
	})
	delete(kinds, "unlike-flink") // the engine does as Flink does
	return kinds
}

// way is how a history is run; a function of its seed.
func way(seed uint64) scenario.Options {
	o := engine()
	o.Batch = []int{0, 1, 3, 4096}[seed%4]
	o.Parallelism = []int{1, 2, 4}[seed/4%3]
	if o.RestartEvery = seed/12%4 == 0; o.RestartEvery {
		o.Batch = 0 // records that are handed over together have no restart between them
	}
	return o
}

// play holds the engine against the reference; "" if they agree. Restarts after
// every action have answers of their own: Flink's differ from those without in
// what spec calls restart-sensitive.
func play(text string, o scenario.Options) string {
	if o.RestartEvery {
		answer, err := Fill(text, true)
		if err != nil {
			return "the reference: " + err.Error()
		}
		if text = answer.Text; answer.Doubts != nil {
			return ""
		}
	}
	s, err := scenario.Parse("history.scenario", []byte(text))
	if err != nil {
		return err.Error()
	}
	if r := s.Run(o); r.Outcome != scenario.Pass {
		return r.String()
	}
	return ""
}

// inParallel does something for every seed, and stops when a test has failed
// often enough.
func inParallel(t *testing.T, first, n int, do func(seed uint64)) {
	var group sync.WaitGroup
	seeds := make(chan uint64)
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			for seed := range seeds {
				do(seed)
			}
		})
	}
	for i := range n {
		if t.Failed() {
			break
		}
		seeds <- uint64(first + i)
	}
	close(seeds)
	group.Wait()
}

// TestFuzzWindows holds the engine against the reference over random histories of
// what it offers.
func TestFuzzWindows(t *testing.T) { fuzz(t, 1, way) }

// TestFuzzTwins does so with functions in the place of built-in parts, for a tenth of
// the histories.
func TestFuzzTwins(t *testing.T) {
	fuzz(t, 10, func(seed uint64) scenario.Options { return twins.Replace(way(seed)) })
}

// fuzz does so for one of so many histories.
func fuzz(t *testing.T, one int, way func(seed uint64) scenario.Options) {
	kinds := offered()
	t.Logf("kinds: %s", kinds.List())
	if !kinds["tumbling"] {
		t.Fatal("the engine does not even offer tumbling windows")
	}
	first, n := number(t, seedVariable, 1), number(t, historiesVariable, 300)/one
	inParallel(t, first, n, func(seed uint64) {
		text, err := Generate(seed, kinds)
		if err != nil {
			t.Errorf("%v\n%s", err, text)
			return
		}
		o := way(seed)
		if play(text, o) == "" {
			return
		}
		// A script that lost what a later line needs is another mistake.
		small := Minimize(text, func(text string) bool {
			failure := play(text, o)
			return failure != "" && !strings.Contains(failure, " was taken before")
		})
		t.Errorf("seed %d, batch %d, parallelism %d, restart-every %t:\n%s\n\n%s", seed, o.Batch, o.Parallelism, o.RestartEvery, play(small, o), small)
	})
}

// TestGenerate makes histories of all kinds: each kind comes up, half of them have
// 50 records or more, and a seed always makes the same one.
func TestGenerate(t *testing.T) {
	const n = 400
	var mutex sync.Mutex
	var sizes []int
	seen := map[string]int{}
	inParallel(t, 1, n, func(seed uint64) {
		text, err := Generate(seed, All())
		if err != nil {
			t.Error(err)
		}
		if again, _ := Generate(seed, All()); again != text {
			t.Errorf("seed %d makes different histories", seed)
		}
		mutex.Lock()
		defer mutex.Unlock()
		sizes = append(sizes, strings.Count(text, "\nemit "))
		for _, word := range []string{
			"sliding:", "tumbling:", "session:", "gap-field:", "global:", "time: processing", "allowed-lateness", "late-output", "trigger: event-time", "trigger: processing-time",
			"never", "end-of-stream", "{count:", "continuous-event-time", "continuous-processing-time", "purging", "{delta:", "timeout", "evictor: {count", "evictor: {time", "evictor: {delta",
			"window-join", "interval-join", "type: left", "output: update", "output: changelog", "output: complete", "\nrestart", "\nrestore", "\nclock", "\nidle", "\nend", "-U {", "null", "k, j]",
		} {
			if strings.Contains(text, word) {
				seen[word]++
			}
		}
		if strings.Count(text, "\nwant ") > 0 {
			seen["want"]++
		}
	})
	slices.Sort(sizes)
	t.Logf("median %d records, at most %d; %v", sizes[n/2], sizes[n-1], seen)
	if sizes[n/2] < 30 || sizes[n/2] > 70 {
		t.Errorf("the median of records is %d", sizes[n/2])
	}
	if seen["want"] < n*3/4 {
		t.Errorf("only %d of %d histories put anything out", seen["want"], n)
	}
}

// TestFlink holds the reference against Apache Flink itself over random histories.
func TestFlink(t *testing.T) {
	oracle := os.Getenv(oracleVariable)
	if oracle == "" {
		t.Skipf("NOT RUN: %s does not name the program flink-oracle", oracleVariable)
	}
	needs.Tool(t, "java")
	dir := os.Getenv(keepVariable)
	if dir == "" {
		dir = t.TempDir()
	}
	first, n := number(t, seedVariable, 1), number(t, historiesVariable, 300)
	inParallel(t, first, n, func(seed uint64) {
		text, err := Generate(seed, Flinks())
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, fmt.Sprintf("history-%06d.scenario", seed)), []byte(text), 0o644)
		}
		if err != nil {
			t.Error(err)
		}
	})
	if out, err := exec.Command(oracle, "--check", dir).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
