package sandbox

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// bigModule is good and too large to be compiled on the spot.
func bigModule() []byte {
	b := goodModule()
	b.custom = append(b.custom, customContent{"padding", strings.Repeat("x", quickBytes)})
	return b.bytes()
}

func TestChildCompilesWhatIsNotCached(t *testing.T) {
	dir, calls := t.TempDir(), 0
	options := Options{CacheDir: dir, CacheBytesMin: 1, Log: func(_ int, message string) { t.Error(message) }}
	options.Child = func(ctx context.Context, job ChildJob, wasm []byte) error {
		calls++
		if job.CPU < childCPU || job.Wall < job.CPU || job.MemoryBytesMax < childMemoryBytes || job.WorkMax == 0 {
			t.Errorf("limits %+v", job)
		}
		return CompileChild(ctx, job, wasm)
	}
	for range 3 {
		g := instantiate(t, load(t, options, bigModule()))
		if _, err := g.run(8); err != nil {
			t.Fatal(err)
		}
	}
	if calls != 1 {
		t.Errorf("%d processes", calls)
	}
	load(t, options, goodModule().bytes())
	if calls != 1 {
		t.Error("a module that compiles in no time got a process")
	}
	// Code that is damaged is compiled apart again, though what it was made of is sound.
	dir, calls = t.TempDir(), 0
	options.CacheDir = dir
	for range 2 {
		load(t, options, bigModule())
		compiled, _, _ := cacheEntry(t, dir)
		if err := os.Truncate(compiled, 10); err != nil {
			t.Fatal(err)
		}
	}
	if calls != 2 {
		t.Errorf("%d processes compiled it, and again when it was damaged", calls)
	}
}

// Without a cache the process leaves the code in a folder of its own, which is gone when it
// was taken from there: nothing is compiled twice.
func TestChildHandsOverWithoutACache(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	left := ""
	options := Options{Log: func(_ int, message string) { t.Error(message) }}
	options.Child = func(ctx context.Context, job ChildJob, wasm []byte) error {
		if err := CompileChild(ctx, job, wasm); err != nil {
			return err
		}
		seals, err := filepath.Glob(filepath.Join(job.CacheDir, "*", sealFile))
		if err != nil || len(seals) != 1 {
			t.Errorf("it left %v, %v", seals, err)
		}
		left = job.CacheDir
		return err
	}
	m := load(t, options, bigModule())
	if left == "" || m.options.CacheDir != "" {
		t.Errorf("the folder was %q, and is %q", left, m.options.CacheDir)
	}
	if _, err := os.Stat(left); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s: %v", left, err)
	}
	if _, err := instantiate(t, m).run(8); err != nil {
		t.Error(err)
	}
	if _, err := newEngine(t, options).Load(context.Background(), "guest", guestBytes(t, "misbehaving-trap.wasm")[:100]); err == nil {
		t.Error("half a module was taken")
	}
}

func TestPoisonIsRemembered(t *testing.T) {
	dir, calls := t.TempDir(), 0
	var answer error
	options := Options{CacheDir: dir, Child: func(context.Context, ChildJob, []byte) error {
		calls++
		return answer
	}}
	try := func(want Refusal, words string, wantCalls int) {
		t.Helper()
		_, err := newEngine(t, options).Load(context.Background(), "guest", bigModule())
		var refused *RefusedError
		if got := errors.As(err, &refused); got != (want != "") || got && (refused.Kind != want || refused.Module != "guest") ||
			!strings.Contains(err.Error(), words) || calls != wantCalls {
			t.Errorf("got %v after %d processes", err, calls)
		}
	}
	answer = errors.New("no processes today")
	try("", "no processes today", 1)
	answer = &RefusedError{Kind: RefusedInvalid, Reason: "it is wrong", Offset: 7}
	try(RefusedInvalid, "it is wrong (at byte 7)", 2)
	answer = &DiedError{Reason: "it ate\x1b everything"}
	try(RefusedPoisoned, "it ate", 3)
	try(RefusedPoisoned, `it ate<1b> everything; it is remembered in `+dir, 3)
}

// TestSlowIsTriedAgain: a module whose time was up is refused for a while, then tried again
// in twice the time, and in the end never; one that comes through is good.
func TestSlowIsTriedAgain(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	var limits []time.Duration
	var answer error = &DiedError{Reason: "it took long", Slow: true}
	faster := false // another process compiles it meanwhile
	options := Options{CacheDir: t.TempDir(), CacheBytesMin: 1, Now: func() time.Time { return now }}
	options.Child = func(ctx context.Context, job ChildJob, wasm []byte) error {
		limits = append(limits, job.CPU)
		if answer != nil {
			return answer
		}
		if faster {
			marks, _ := filepath.Glob(filepath.Join(job.CacheDir, "*", poisonedFile))
			return errors.Join(os.Remove(marks[0]), CompileChild(ctx, job, wasm))
		}
		return CompileChild(ctx, job, wasm)
	}
	try := func(processes int, words string) {
		t.Helper()
		_, err := newEngine(t, options).Load(context.Background(), "guest", bigModule())
		if (err == nil) != (words == "") || err != nil && !strings.Contains(err.Error(), words) || len(limits) != processes {
			t.Errorf("got %v after %d processes, want %q after %d", err, len(limits), words, processes)
		}
	}
	later := func() { now = now.Add(2 * slowRests) }
	try(1, "it took long")
	try(1, "tried again in twice the time")
	later()
	try(2, "it took long")
	try(2, "tried again")
	later()
	answer = nil
	try(3, "")
	try(3, "")
	if first := limits[0]; limits[1] != 2*first || limits[2] != 4*first {
		t.Errorf("the limits were %v", limits)
	}

	options.CacheDir, answer, limits, faster = t.TempDir(), &DiedError{Reason: "it took long", Slow: true}, nil, true
	try(1, "it took long")
	later()
	answer = nil
	try(2, "")

	options.CacheDir, answer, limits = t.TempDir(), &DiedError{Reason: "it took long", Slow: true}, nil
	for n := range slowTries {
		try(n+1, "it took long")
		later()
	}
	later()
	try(slowTries, "it took long; it is remembered in ")
}

// askedContext tells when somebody waits for its end.
type askedContext struct {
	context.Context
	asked func()
}

// Done implements context.Context.
func (c askedContext) Done() <-chan struct{} {
	c.asked()
	return c.Context.Done()
}

// TestOneChildAtATime: while a module is compiled, another waits for its turn or for its context's end.
func TestOneChildAtATime(t *testing.T) {
	var e *Engine
	compiled, other := 0, bigModule()
	other[len(other)-1]++
	options := Options{Child: func(ctx context.Context, job ChildJob, wasm []byte) error {
		if compiled++; compiled > 1 {
			return CompileChild(ctx, job, wasm)
		}
		waiting, cancel := context.WithCancel(ctx)
		if _, err := e.Load(askedContext{waiting, cancel}, "other", other); !errors.Is(err, context.Canceled) || compiled != 1 {
			t.Errorf("the other module: %v, and %d were compiled at once", err, compiled)
		}
		return CompileChild(ctx, job, wasm)
	}}
	e = newEngine(t, options)
	for n, wasm := range [][]byte{bigModule(), other} {
		if _, err := e.Load(context.Background(), "guest", wasm); err != nil || compiled != n+1 {
			t.Errorf("%v, and %d were compiled", err, compiled)
		}
	}
}

// TestChildLimitsFollow: a process gets what the work to do needs: no more memory at the default, however large the
// module, and beyond it as much more as there is more work.
func TestChildLimitsFollow(t *testing.T) {
	most, o := defaultOptions.WorkMax, defaultOptions
	for _, c := range []struct {
		cost   work
		cpu    time.Duration
		memory int64
	}{
		{work{all: 1, greatest: 1}, time.Second, 256 << 20},
		{work{all: 2_500_000, greatest: 100_000}, time.Second, 256 << 20},
		{work{all: 7_500_000, greatest: 100_000}, 2 * time.Second, 256 << 20},
		{work{all: most, greatest: most / functionsOfWork}, 3700 * time.Millisecond, 256 << 20},
		{work{all: 2 * most, greatest: 1000}, 6900 * time.Millisecond, 512 << 20},
		{work{all: most, greatest: 3 * most / functionsOfWork}, 3700 * time.Millisecond, 767 << 20},
	} {
		if job := o.childJob(c.cost); job.CPU != c.cpu || job.MemoryBytesMax>>20 != c.memory>>20 || job.Wall < job.CPU {
			t.Errorf("%+v: it gets %s, %s by the clock and %d MiB", c.cost, job.CPU, job.Wall, job.MemoryBytesMax>>20)
		}
	}
}
