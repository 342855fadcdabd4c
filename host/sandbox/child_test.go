package sandbox

import (
	"context"
	"errors"
	"strings"
	"testing"
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
		if job.CPU < childCPU || job.Wall < job.CPU || job.AddressBytesMax < childAddressBytes {
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
	options.CacheDir = ""
	load(t, options, bigModule())
	if calls != 2 {
		t.Error("without a cache there was no process")
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
	answer = &DiedError{"it ate\x1b everything"}
	try(RefusedPoisoned, "it ate", 3)
	try(RefusedPoisoned, `it ate\x1b everything; it is remembered in `+dir, 3)
}
