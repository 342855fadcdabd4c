package runtime_test

import (
	"bytes"
	"io"
	"log/slog"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/wasmstream/wasmstream/host/checkpoint"
	"github.com/wasmstream/wasmstream/host/checkpoint/folder"
	"github.com/wasmstream/wasmstream/host/connector"
	"github.com/wasmstream/wasmstream/host/runtime"
	"github.com/wasmstream/wasmstream/host/sim/disk"
	"github.com/wasmstream/wasmstream/host/stream"
)

// TestEachDiskOperationFails fails each operation on the disk once, with its effect
// and without. A job that runs goes on to its end; every other time it is killed after
// a later checkpoint. What it puts out is right.
func TestEachDiskOperationFails(t *testing.T) {
	plan, want := crashPlan(t), crashWant()
	for _, fault := range []error{syscall.ENOSPC, disk.Done{Err: syscall.EIO}} {
		failed := int64(0)
		for n, hit := 1, true; hit; n++ {
			w := newWorld(uint64(n))
			hit = false
			w.disk.Inject(func(op disk.Op) error {
				if op.Number == n {
					hit = true
					return fault
				}
				return nil
			})
			l := &life{order: uint64(n), every: 30, reached: func(p runtime.Point) {
				if p == runtime.NoteAfter && hit && n%2 == 0 {
					w.die()
				}
			}}
			err := w.live(t, plan, l)
			if err != nil && l.job != nil && !w.dead {
				t.Fatalf("operation %d fails with %v, and the job with %v", n, fault, err)
			}
			if l.job != nil {
				_, f := runtime.CheckpointCounts(l.job)
				failed += f
			}
			if err != nil {
				w.end(n%4 < 2)
				must(t, w.live(t, plan, &life{order: uint64(n) + 1, every: 18}))
			}
			if w.check(t, want); t.Failed() {
				t.Fatalf("operation %d failed with %v", n, fault)
			}
		}
		if t.Logf("%v: %d checkpoints failed", fault, failed); failed < 50 {
			t.Errorf("%v: only %d checkpoints failed", fault, failed)
		}
	}
}

// TestTheDiskIsNoGoodForAWhile: behind the first checkpoint the disk is full, or
// read-only, or slow beyond the checkpoint's timeout. The job goes on, checkpoints
// fail and are counted; when the disk is well again they succeed again.
func TestTheDiskIsNoGoodForAWhile(t *testing.T) {
	plan, want := crashPlan(t), crashWant()
	for name, spoil := range map[string]func(*world, *life){
		"full": func(w *world, _ *life) { w.disk.Limit(1, syscall.ENOSPC) },
		"read-only": func(w *world, _ *life) {
			w.disk.Inject(func(op disk.Op) error {
				switch op.Kind {
				case disk.Create, disk.Write, disk.Rename, disk.Remove:
					return syscall.EROFS
				}
				return nil
			})
		},
		"slow": func(w *world, l *life) {
			w.disk.Inject(func(op disk.Op) error {
				if op.Kind == disk.Write {
					l.clock.advance(l.clock.Now() + stream.ProcTime(2*time.Hour.Milliseconds()))
				}
				return nil
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			for order := range uint64(10) {
				w := newWorld(order)
				l := &life{order: order, every: 12}
				told := 0
				l.taken = func(err error) {
					switch {
					case err != nil:
						told++
						w.disk.Inject(nil)
						w.disk.Limit(0, nil)
					case told == 0:
						spoil(w, l)
					}
				}
				must(t, w.live(t, plan, l))
				completed, failed := runtime.CheckpointCounts(l.job)
				if told == 0 || failed != 1 || completed < 2 {
					t.Errorf("order %d: %d were told of a failure; counted are %d failed, %d completed", order, told, failed, completed)
				}
				w.check(t, want)
			}
		})
	}
}

// TestASlowDiskHoldsNobodyUp: while a file of a checkpoint is being written, which
// does not end, records go through the job to its sinks.
func TestASlowDiskHoldsNobodyUp(t *testing.T) {
	d := disk.New(1)
	store, err := folder.Open(d, crashPath)
	must(t, err)
	slow, release := make(chan struct{}), make(chan struct{})
	writes := 0
	d.Inject(func(op disk.Op) error {
		if op.Kind == disk.Write {
			if writes++; writes == 1 {
				close(slow)
				<-release
			}
		}
		return nil
	})
	var j *runtime.Job
	next, chunks, since := generate(), 0, int64(-1)
	src := newSource(func(c *connector.Chunk) error {
		if chunks++; chunks == 5 {
			if err := j.Checkpoint(func(err error) {
				if err != nil {
					t.Error(err)
				}
			}); err != nil {
				t.Error(err)
			}
		}
		select {
		case <-slow:
			written := j.Progress().Written
			if since < 0 {
				since = written
			}
			if written >= since+3000 { // rows, of some 100,000 records
				close(release)
				return io.EOF
			}
		default:
		}
		return next(c)
	})
	c := with(t, src, func(string) connector.Sink { return &sinkFuncs{} })
	c.Workers = 2
	c.Checkpoints = &runtime.Checkpoints{Store: store, Recovery: checkpoint.Recovery{History: 1, Next: 1}}
	j, err = runtime.New(countPlan(t, "", "fail", "on-event"), c)
	must(t, err)
	defer j.Close()
	must(t, j.Run(t.Context()))
	if completed, failed := runtime.CheckpointCounts(j); completed != 2 || failed != 0 {
		t.Errorf("%d checkpoints were completed and %d failed, want the one that was slow and the last", completed, failed)
	}
}

// TestUnreadableManifests: one that cannot be read is kept, and told of once in a run, however many checkpoints follow.
func TestUnreadableManifests(t *testing.T) {
	plan, w, said, notes := crashPlan(t), newWorld(1), &bytes.Buffer{}, int64(0)
	var store checkpoint.Store
	l := &life{every: 2, piece: 2}
	l.adapt = func(c *runtime.Config) {
		store, c.Log = c.Checkpoints.Store, slog.New(slog.NewTextHandler(said, nil))
	}
	l.reached = func(p runtime.Point) {
		if p != runtime.NoteAfter {
			return
		}
		if notes++; notes == 2 || notes == 4 { // of two checkpoints that are too old to be kept
			must(t, store.Put(checkpoint.ManifestName(1, notes/2), func(w io.Writer) error {
				_, err := io.WriteString(w, "damaged")
				return err
			}))
		}
	}
	must(t, w.live(t, plan, l))
	w.check(t, crashWant())
	for _, name := range []string{checkpoint.ManifestName(1, 1), checkpoint.ManifestName(1, 2)} {
		if told := strings.Count(said.String(), name); told != 1 || notes < 6 {
			t.Errorf("%s is told of %d times, with %d checkpoints:\n%s", name, told, notes, said)
		}
	}
}
