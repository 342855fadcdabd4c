package runtime_test

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/wasmstream/wasmstream/host/checkpoint"
	"github.com/wasmstream/wasmstream/host/checkpoint/folder"
	"github.com/wasmstream/wasmstream/host/connector"
	"github.com/wasmstream/wasmstream/host/format"
	"github.com/wasmstream/wasmstream/host/job"
	"github.com/wasmstream/wasmstream/host/runtime"
	"github.com/wasmstream/wasmstream/host/stream"
)

// heldSource delivers sales of one price of the keys that it is handed, and waits for
// more.
type heldSource struct {
	eventSource
	keys  chan []int64
	left  []int64
	price int64
	quit  chan struct{}
	once  sync.Once
}

func newHeldSource(price int64) *heldSource {
	return &heldSource{keys: make(chan []int64), price: price, quit: make(chan struct{})}
}

func (s *heldSource) Close() error { s.once.Do(func() { close(s.quit) }); return nil }

func (s *heldSource) Read(c *connector.Chunk) error {
	if len(s.left) == 0 {
		select {
		case s.left = <-s.keys:
		case <-s.quit:
			return io.EOF
		}
	}
	n := min(len(s.left), chunkEvents)
	for _, key := range s.left[:n] {
		s.put(c, event{key: key, price: s.price})
	}
	s.left = s.left[n:]
	return nil
}

// countingStore counts the bytes of the objects that are put, by kind.
type countingStore struct {
	checkpoint.Store
	mu    sync.Mutex
	bytes map[checkpoint.Kind]int64
}

func (s *countingStore) Put(name string, write func(io.Writer) error) error {
	var n int64
	err := s.Store.Put(name, func(w io.Writer) error {
		counted := &countingWriter{Writer: w}
		defer func() { n = counted.n }()
		return write(counted)
	})
	kind, _ := checkpoint.ParseName(name)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bytes[kind.Kind] += n
	return err
}

// reset forgets what was counted, and returns it.
func (s *countingStore) reset() map[checkpoint.Kind]int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	bytes := s.bytes
	s.bytes = map[checkpoint.Kind]int64{}
	return bytes
}

type countingWriter struct {
	io.Writer
	n int64
}

func (w *countingWriter) Write(b []byte) (int, error) {
	n, err := w.Writer.Write(b)
	w.n += int64(n)
	return n, err
}

// totals is an encoder of results that keeps the last total.
type totals struct {
	total stream.Column
	rows  chan int64 // gets each total, if there is room
}

func (e *totals) Append(dst []byte, r stream.Row) []byte {
	select {
	case e.rows <- e.total.Int64(r):
	default:
	}
	return dst
}

// heldJob is a job over a heldSource that runs, with checkpoints on demand.
type heldJob struct {
	*runtime.Job
	source *heldSource
	store  *countingStore
	rows   chan int64
	sent   int64
	stop   context.CancelCauseFunc
	ended  chan error
}

var errEnough = errors.New("enough")

// startHeld goes on with the sums from the folder.
func startHeld(t testing.TB, dir string, price int64) *heldJob {
	t.Helper()
	h := &heldJob{source: newHeldSource(price), rows: make(chan int64, 1), ended: make(chan error, 1)}
	c := eventConfig(t, h.source, func(s *job.Sink) (format.Encoder, error) {
		return &totals{s.Input.Column(s.Input.Len() - 1), h.rows}, nil
	})
	c.Checkpoints = onDisk(t, dir, 0, nil)
	h.store = &countingStore{Store: c.Checkpoints.Store, bytes: map[checkpoint.Kind]int64{}}
	c.Checkpoints.Store, c.Checkpoints.Retained = h.store, 2
	var err error
	if h.Job, err = runtime.New(parsePlan(t, sumText(1), "."), c); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancelCause(t.Context())
	h.stop = stop
	go func() { h.ended <- h.Run(ctx) }()
	return h
}

// take has the job take records of these keys, and returns when the source has.
func (h *heldJob) take(t testing.TB, keys []int64) {
	t.Helper()
	select {
	case h.source.keys <- keys:
	case err := <-h.ended:
		t.Fatal(err)
	}
	h.sent += int64(len(keys))
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	for h.Progress().Records < h.sent {
		select {
		case <-look.C:
		case err := <-h.ended:
			t.Fatal(err)
		}
	}
}

// checkpoint takes one and waits for it.
func (h *heldJob) checkpoint(t testing.TB) {
	t.Helper()
	done := make(chan error, 1)
	if err := h.Checkpoint(func(err error) { done <- err }); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-done:
		if err != nil {
			t.Fatal(err)
		}
	case err := <-h.ended:
		t.Fatal(err)
	}
}

// close ends the job as a crash would: there is no last checkpoint.
func (h *heldJob) close(t testing.TB) {
	t.Helper()
	h.stop(errEnough)
	if err := <-h.ended; !errors.Is(err, errEnough) {
		t.Fatal(err)
	}
	if err := errors.Join(h.Close(), h.store.Close()); err != nil {
		t.Fatal(err)
	}
}

// someKeys draws n of the keys, each once; all of them in any order.
func someKeys(n int, seed uint64) []int64 {
	keys := make([]int64, 0, n)
	for _, k := range rand.New(rand.NewPCG(seed, 1)).Perm(keyCount)[:n] {
		keys = append(keys, int64(k))
	}
	return keys
}

// changedBytes is what the state has of so many keys: the key's row, a header and the
// number, and the accumulator of its sum.
func changedBytes(t testing.TB, dir string, keys int) int64 {
	t.Helper()
	store, err := folder.OpenReadOnly(folder.OS{}, dir)
	if err != nil {
		t.Fatal(err)
	}
	r, err := checkpoint.Recover(store)
	if err != nil {
		t.Fatal(err)
	}
	files, err := checkpoint.OpenRefs(store, r.Manifest.Step("result").Files)
	if err != nil {
		t.Fatal(err)
	}
	var entries, bytes int64
	if err := checkpoint.Load(files, checkpoint.AllGroups, func(key, value []byte) error {
		entries++
		bytes += int64(len(key) + len(value))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if err := checkpoint.CloseAll(files); err != nil {
		t.Fatal(err)
	}
	if entries != keyCount {
		t.Fatalf("the state has %d keys", entries)
	}
	return bytes * int64(keys) / entries
}

const changedPart = 100 // one key in so many changes between two checkpoints

// BenchmarkCheckpointsBytes has a million keys of which one in a hundred changes before
// each of twenty checkpoints, and tells what is written beside the keys and values that
// changed: files of changes, manifests and notes, and files of changes that were made
// one. What was made one with the base is told by itself.
func BenchmarkCheckpointsBytes(b *testing.B) {
	const checkpoints = 20
	for b.Loop() {
		dir := b.TempDir()
		h := startHeld(b, dir, 1)
		h.take(b, someKeys(keyCount, 0))
		h.checkpoint(b)
		h.store.reset()
		for i := range checkpoints {
			h.take(b, someKeys(keyCount/changedPart, uint64(1+i)))
			h.checkpoint(b)
		}
		h.close(b) // which waits for what is being merged
		bytes := h.store.reset()
		changed := changedBytes(b, dir, keyCount/changedPart) * checkpoints
		told := func(name string, n int64) { b.ReportMetric(float64(n)/float64(changed), name) }
		told("delta/changed", bytes[checkpoint.KindDelta])
		told("merged/changed", bytes[checkpoint.KindMerged])
		told("base/changed", bytes[checkpoint.KindBase])
		told("notes/changed", bytes[checkpoint.KindManifest]+bytes[checkpoint.KindCommitted])
		told("without-base/changed", bytes[checkpoint.KindDelta]+bytes[checkpoint.KindMerged]+bytes[checkpoint.KindManifest]+bytes[checkpoint.KindCommitted])
		b.ReportMetric(float64(changed)/checkpoints, "changed-B/checkpoint")
	}
	b.ReportMetric(0, "ns/op")
}

// BenchmarkCheckpointsRecovery goes on from a million keys, in a base and 24 files of
// one in a hundred, which the system has in memory: from opening the folder until the
// first record that is counted on top of what was restored is put out.
func BenchmarkCheckpointsRecovery(b *testing.B) {
	const deltas = 24
	dir := b.TempDir()
	h := startHeld(b, dir, 1)
	h.take(b, someKeys(keyCount, 0))
	h.checkpoint(b)
	for i := range deltas {
		h.take(b, someKeys(keyCount/changedPart, uint64(1+i)))
		h.checkpoint(b)
	}
	h.close(b)
	key := someKeys(1, deltas) // the first that the last delta has
	want := int64(1000)
	for i := range 1 + deltas {
		n := keyCount
		if i > 0 {
			n /= changedPart
		}
		for _, k := range someKeys(n, uint64(i)) {
			if k == key[0] {
				want++
			}
		}
	}
	var all []time.Duration
	user := userTime(b)
	for b.Loop() {
		for range 5 {
			began := time.Now()
			h := startHeld(b, dir, 1000)
			h.take(b, key)
			got := <-h.rows
			all = append(all, time.Since(began))
			if got != want {
				b.Fatalf("the sum is %d, want %d", got, want)
			}
			h.close(b)
		}
	}
	b.ReportMetric((userTime(b)-user).Seconds()*1000/float64(len(all)), "user-ms")
	b.ReportMetric(quantile(all, 0.5), "p50-ms")
	b.ReportMetric(quantile(all, 1), "max-ms")
	b.ReportMetric(0, "ns/op")
}
