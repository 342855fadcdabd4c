// Command bench runs the benchmarks of bench/README.md, in turn and several
// times, and prints a table: the median of each figure with its range. bench/run
// calls it with what it needs.
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// benchmark is one way to run one job.
type benchmark struct {
	name    string
	job     string // of testdata/jobs; distinct: the job of that name
	module  string // in place of the job's, of testdata/wasm; "": the job's own
	cores   string // for taskset
	procs   string // GOMAXPROCS
	large   bool   // over the 3 million flights instead of the 20 thousand
	cold    bool   // without the cache of compiled modules
	against string // the benchmark that the ratio is to
}

var benchmarks = []benchmark{
	{name: "hourly-builtin", job: "hourly-delays-builtin.yaml", cores: "0", procs: "1", large: true},
	{name: "hourly-c", job: "hourly-delays-c.yaml", cores: "0", procs: "1", large: true, against: "hourly-builtin"},
	{name: "hourly-rust", job: "hourly-delays.yaml", module: "delays-rust.wasm", cores: "0", procs: "1", large: true, against: "hourly-builtin"},
	{name: "hourly-go", job: "hourly-delays.yaml", cores: "0", procs: "1", large: true, against: "hourly-builtin"},
	{name: "distinct-builtin", job: distinct, cores: "0", procs: "1"},
	{name: "distinct-c", job: distinct, module: "roles-c.wasm", cores: "0", procs: "1", against: "distinct-builtin"},
	{name: "distinct-rust", job: distinct, module: "roles-rust.wasm", cores: "0", procs: "1", against: "distinct-builtin"},
	{name: "distinct-go", job: distinct, module: "roles-go.wasm", cores: "0", procs: "1", against: "distinct-builtin"},
	{name: "hourly-builtin-2cores", job: "hourly-delays-builtin.yaml", cores: "0,1", procs: "2", large: true, against: "hourly-builtin"},
	{name: "hourly-go-2cores", job: "hourly-delays.yaml", cores: "0,1", procs: "2", large: true, against: "hourly-go"},
	{name: "start-cached", job: "hourly-delays.yaml", cores: "0,1", procs: "2"},
	{name: "start-cold", job: "hourly-delays.yaml", cores: "0,1", procs: "2", cold: true},
}

// figures of one run.
type figures struct {
	seconds float64 // from start to end of the process
	cpu     float64 // seconds, user and system
	peak    float64 // MB
	rate    float64 // records a second, over the whole process
}

func main() {
	runs := flag.Int("runs", 5, "runs of each benchmark")
	flag.Parse()
	chosen := benchmarks
	if flag.NArg() > 0 {
		chosen = slices.DeleteFunc(slices.Clone(benchmarks), func(b benchmark) bool { return !slices.Contains(flag.Args(), b.name) })
	}
	folder, err := os.MkdirTemp("", "bench")
	check(err)
	defer os.RemoveAll(folder)
	results := map[string][]figures{}
	for range *runs {
		for _, b := range chosen {
			f, err := run(b, folder)
			check(err)
			results[b.name] = append(results[b.name], f)
		}
	}
	print(chosen, results)
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// run runs one benchmark once.
func run(b benchmark, folder string) (figures, error) {
	path, err := copyJob(b, folder)
	if err != nil {
		return figures{}, err
	}
	cache := filepath.Join(folder, "cache")
	if b.cold {
		cache = "off"
	}
	cmd := exec.Command("taskset", "-c", b.cores, os.Getenv("BINARY"), "run", "--json", "--log-level", "error", "--cache-dir", cache, path)
	cmd.Env = append(os.Environ(), "GOMAXPROCS="+b.procs)
	var out, log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &log
	started := time.Now()
	if err := cmd.Run(); err != nil {
		return figures{}, fmt.Errorf("%s: %w: %s", b.name, err, log.String())
	}
	seconds := time.Since(started).Seconds()
	var result struct{ Records, Firings, Late int64 }
	if err := json.Unmarshal(out.Bytes(), &result); err != nil {
		return figures{}, fmt.Errorf("%s: %w", b.name, err)
	}
	if want := expected(b); result.Firings != want[0] || result.Late != want[1] {
		return figures{}, fmt.Errorf("%s: %d firings and %d late records, want %v: the result is wrong", b.name, result.Firings, result.Late, want)
	}
	usage := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	return figures{
		seconds: seconds,
		cpu:     (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds(),
		peak:    float64(usage.Maxrss) / 1024,
		rate:    float64(result.Records) / seconds,
	}, nil
}

// expected are the firings and late records that flights-golden computes.
func expected(b benchmark) [2]int64 {
	switch {
	case b.job == distinct:
		return [2]int64{distinctRecords / distinctWindow * distinctUsers, 0}
	case b.large:
		return [2]int64{884816, 48284}
	}
	return [2]int64{17648, 67}
}

// copyJob writes the job with absolute paths, so that its output lies in the
// folder.
func copyJob(b benchmark, folder string) (string, error) {
	here, err := filepath.Abs("testdata")
	if err != nil {
		return "", err
	}
	path := filepath.Join(folder, b.name+".yaml")
	if b.job == distinct {
		text, err := distinctJob(b, filepath.Join(here, "wasm"), folder)
		if err != nil {
			return "", err
		}
		return path, os.WriteFile(path, text, 0o600)
	}
	text, err := os.ReadFile(filepath.Join("testdata/jobs", b.job))
	if err != nil {
		return "", err
	}
	job := strings.ReplaceAll(string(text), "../wasm", filepath.Join(here, "wasm"))
	if b.module != "" {
		job = strings.ReplaceAll(job, "delays-go.wasm", b.module)
	}
	flights := filepath.Join(here, "flights-20k.ndjson")
	if b.large {
		if flights, err = filepath.Abs(os.Getenv("FLIGHTS")); err != nil {
			return "", err
		}
	}
	job = strings.ReplaceAll(job, "../flights-20k.ndjson", flights)
	return path, os.WriteFile(path, []byte(job), 0o600)
}

func print(chosen []benchmark, results map[string][]figures) {
	fmt.Println("| benchmark | seconds | CPU seconds | K records/s | peak MB | ratio |")
	fmt.Println("| --- | --- | --- | --- | --- | --- |")
	for _, b := range chosen {
		r := results[b.name]
		ratio := "–"
		if base := results[b.against]; base != nil {
			ratio = fmt.Sprintf("%.2f × the time of %s", median(r, seconds)/median(base, seconds), b.against)
		}
		fmt.Printf("| %s | %s | %.2f | %.0f | %.0f | %s |\n", b.name, spread(r, seconds),
			median(r, func(f figures) float64 { return f.cpu }), median(r, func(f figures) float64 { return f.rate / 1000 }),
			median(r, func(f figures) float64 { return f.peak }), ratio)
	}
}

func seconds(f figures) float64 { return f.seconds }

func sorted(r []figures, of func(figures) float64) []float64 {
	values := make([]float64, len(r))
	for i, f := range r {
		values[i] = of(f)
	}
	slices.Sort(values)
	return values
}

func median(r []figures, of func(figures) float64) float64 {
	values := sorted(r, of)
	return values[len(values)/2]
}

func spread(r []figures, of func(figures) float64) string {
	values := sorted(r, of)
	return fmt.Sprintf("%.2f (%.2f–%.2f)", median(r, of), values[0], values[len(values)-1])
}
