package runtime_test

import (
	"io"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/wasmstream/wasmstream/host/checkpoint"
	"github.com/wasmstream/wasmstream/host/connector"
	"github.com/wasmstream/wasmstream/host/runtime"
)

// slowMerges is a store that takes long over the first file that was merged: it is
// there, and until two more checkpoints are, the merger does not hear of it.
type slowMerges struct {
	checkpoint.Store
	mu        sync.Mutex
	more      sync.Cond
	manifests int
	merged    string
}

func newSlowMerges() *slowMerges {
	s := &slowMerges{Store: checkpoint.NewMemory()}
	s.more.L = &s.mu
	return s
}

func (s *slowMerges) Put(name string, write func(io.Writer) error) error {
	if err := s.Store.Put(name, write); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch n, _ := checkpoint.ParseName(name); {
	case n.Kind == checkpoint.KindManifest:
		s.manifests++
		s.more.Broadcast()
	case n.Kind.IsFile() && n.Kind != checkpoint.KindDelta && s.manifests > 0 && s.merged == "":
		s.merged = name
		for until := s.manifests + 2; s.manifests < until; {
			s.more.Wait()
		}
	}
	return nil
}

// TestASlowMerge: while files are merged, checkpoints come and what they do not need
// goes; the merged file, which none of them names yet, stays, and later ones do.
func TestASlowMerge(t *testing.T) {
	store := newSlowMerges()
	var j *runtime.Job
	next := generate()
	var asking atomic.Bool
	taken := atomic.Int64{}
	src := newSource(func(c *connector.Chunk) error {
		if taken.Load() == 8 {
			return io.EOF
		}
		if asking.CompareAndSwap(false, true) {
			if err := j.Checkpoint(func(err error) {
				if err != nil {
					t.Error(err)
				}
				taken.Add(1)
				asking.Store(false)
			}); err != nil {
				t.Error(err)
			}
		}
		return next(c)
	})
	c := with(t, src, func(string) connector.Sink { return &sinkFuncs{} })
	c.Workers = 2
	c.Checkpoints = &runtime.Checkpoints{Store: store, Recovery: checkpoint.Recovery{History: 1, Next: 1}, Merge: checkpoint.MergeLimits{DeltasMax: 1}}
	j, err := runtime.New(countPlan(t, "", "fail", "on-event"), c)
	must(t, err)
	defer j.Close()
	must(t, j.Run(t.Context()))
	r, err := checkpoint.Recover(store)
	if err != nil || len(r.Problems) > 0 {
		t.Errorf("the checkpoints are damaged: %v %v", r.Problems, err)
	}
	if store.merged == "" {
		t.Error("nothing was merged")
	}
}
