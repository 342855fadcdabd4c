package sim_test

import (
	"bytes"
	"context"
	"flag"
	"os"
	"path/filepath"
	goruntime "runtime"
	"strings"
	"sync"
	"testing"

	"github.com/wasmstream/wasmstream/abi"
	"github.com/wasmstream/wasmstream/host/job"
	"github.com/wasmstream/wasmstream/host/runtime"
	"github.com/wasmstream/wasmstream/host/sandbox"
	"github.com/wasmstream/wasmstream/host/sim"
)

var (
	seeds   = flag.Int("seeds", 200, "how many seeds are run")
	first   = flag.Uint64("first", 1, "the first of them")
	seed    = flag.Uint64("seed", 0, "run this seed only, and tell what happens")
	jobName = flag.String("job", "", "run this job, whatever the seed says")
)

// modules compiles each module once.
type modules struct {
	mu     sync.Mutex
	loaded map[string]*sandbox.Module
}

var compiled = &modules{loaded: map[string]*sandbox.Module{}}

func (m *modules) load(path string) (*sandbox.Module, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	name := filepath.Base(path)
	if loaded := m.loaded[name]; loaded != nil {
		return loaded, nil
	}
	wasm, err := os.ReadFile(filepath.Join("../../testdata/wasm", name))
	if err != nil {
		return nil, err
	}
	engine, err := sandbox.NewEngine(context.Background(), sandbox.Options{})
	if err != nil {
		return nil, err
	}
	m.loaded[name], err = engine.Load(context.Background(), name, wasm)
	return m.loaded[name], err
}

func options(seed uint64) sim.Options {
	return sim.Options{
		Seed: seed, Job: *jobName,
		Manifest: func(module job.Module) (*abi.Manifest, error) {
			m, err := compiled.load(module.Path)
			if err != nil {
				return nil, err
			}
			return m.Manifest(), nil
		},
		Guest: func(f *job.Function) (runtime.Guest, error) {
			m, err := compiled.load(f.Module.Path)
			if err != nil {
				return nil, err
			}
			return m.Instantiate(context.Background(), sandbox.InstanceOptions{})
		},
	}
}

// TestSeed runs one seed and tells what happens: make sim SEED=n.
func TestSeed(t *testing.T) {
	if *seed == 0 {
		t.Skip("-seed says which")
	}
	o := options(*seed)
	o.Trace = t.Output()
	report, err := sim.Run(o)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range report.Findings {
		t.Error(f)
	}
	t.Logf("%+v", *report)
}

// TestSeeds runs many: make sim SEEDS=m.
func TestSeeds(t *testing.T) {
	if *seed != 0 {
		t.Skip("-seed runs one only")
	}
	next := make(chan uint64)
	go func() {
		defer close(next)
		for i := range uint64(*seeds) {
			next <- *first + i
		}
	}()
	var all totals
	var group sync.WaitGroup
	for range goruntime.GOMAXPROCS(0) {
		group.Go(func() {
			for n := range next {
				report, err := sim.Run(options(n))
				if err != nil {
					t.Errorf("seed %d: %v", n, err)
					continue
				}
				all.add(t, report)
			}
		})
	}
	group.Wait()
	all.tell(t)
}

// totals are of all runs.
type totals struct {
	mu                                                             sync.Mutex
	runs, lives, crashes, checkpoints, merges, fallbacks, failures int
	repeats, steps, lines                                          int
	jobs, places                                                   map[string]int
}

func (all *totals) add(t *testing.T, r *sim.Report) {
	all.mu.Lock()
	defer all.mu.Unlock()
	for _, f := range r.Findings {
		t.Errorf("seed %d, job %s: %s\n  to see it again: make sim SEED=%d", r.Seed, r.Job, f, r.Seed)
	}
	if all.jobs == nil {
		all.jobs, all.places = map[string]int{}, map[string]int{}
	}
	all.runs++
	all.jobs[r.Job]++
	if len(r.Crashes) < crashesLeast {
		t.Errorf("seed %d, job %s: %d crashes only: %v", r.Seed, r.Job, len(r.Crashes), r.Crashes)
	}
	all.lives += r.Lives
	all.crashes += len(r.Crashes)
	all.checkpoints += r.Checkpoints
	all.merges += r.Merges
	all.fallbacks += r.Fallbacks
	all.failures += r.Failures
	all.steps += r.Steps
	all.lines += r.Lines
	if r.Repeats {
		all.repeats++
	}
	for _, c := range r.Crashes {
		place, _, _ := strings.Cut(c, ",")
		all.places[place]++
	}
}

// crashesLeast is how often each seed has to crash.
const crashesLeast = 5

func (all *totals) tell(t *testing.T) {
	t.Logf("%d seeds: %d processes, %d crashes, %d failures, %d checkpoints, %d merges, %d fallbacks, %d with results that came again, %d steps, %d lines",
		all.runs, all.lives, all.crashes, all.failures, all.checkpoints, all.merges, all.fallbacks, all.repeats, all.steps, all.lines)
	t.Logf("jobs: %v", all.jobs)
	t.Logf("crashes: %v", all.places)
}

// TestSeedAgain: promise A.
func TestSeedAgain(t *testing.T) {
	for n := range uint64(10) {
		var runs [2]bytes.Buffer
		for i := range runs {
			o := options(n)
			o.Trace = &runs[i]
			if _, err := sim.Run(o); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(runs[0].Bytes(), runs[1].Bytes()) {
			t.Errorf("seed %d gives two runs", n)
		}
	}
}
