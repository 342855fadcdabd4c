package runtime_test

import (
	"errors"
	"io"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/wasmstream/wasmstream/host/checkpoint"
	"github.com/wasmstream/wasmstream/host/connector"
	"github.com/wasmstream/wasmstream/host/runtime"
)

// unreliable is a store of which one in five Puts of state fails. It looks at each
// manifest.
type unreliable struct {
	checkpoint.Store
	random *rand.Rand
	failed int
	seen   func(*checkpoint.Manifest)
}

var errUnreliable = errors.New("the store fails")

func (s *unreliable) Put(name string, write func(io.Writer) error) error {
	n, _ := checkpoint.ParseName(name)
	if n.Kind.IsFile() && s.random.IntN(5) == 0 {
		s.failed++
		return errUnreliable
	}
	err := s.Store.Put(name, write)
	if err == nil && n.Kind == checkpoint.KindManifest {
		m, loaded := checkpoint.LoadManifest(s.Store, name)
		if err = loaded; err == nil {
			s.seen(m)
		}
	}
	return err
}

// TestGivenUpCheckpointIsTakenAgain: a task that took its snapshot for a checkpoint
// after that was given up, because it had no room for the barrier before, takes all
// of its state again for the next.
func TestGivenUpCheckpointIsTakenAgain(t *testing.T) {
	manifests, failed := 0, 0
	for seed := range uint64(60) {
		random := rand.New(rand.NewPCG(seed, 0))
		clock := &manualClock{now: 1}
		src := newSource(slowly(clock, 3000))
		c := with(t, src, func(string) connector.Sink { return &sinkFuncs{} })
		store := &unreliable{Store: checkpoint.NewMemory(), random: random, seen: func(m *checkpoint.Manifest) {
			manifests++
			bases := map[checkpoint.Groups]bool{}
			for _, f := range m.Steps[0].Files {
				if bases[f.Groups] = bases[f.Groups] || f.Base; !bases[f.Groups] {
					t.Fatalf("seed %d: checkpoint %d has %s and no base before it", seed, m.Epoch, f.Name)
				}
			}
		}}
		c.Clock, c.Limits.BatchRows = clock, 1
		c.Checkpoints = &runtime.Checkpoints{Store: store, Recovery: checkpoint.Recovery{History: 1, Next: 1},
			Schedule: checkpoint.ScheduleOptions{Interval: 10e6, TolerableFailures: -1}}
		j, err := runtime.New(countPlan(t, "parallelism: 4", "fail", "on-event"), c)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(j.Drive(random), j.Close()); err != nil {
			t.Fatal(err)
		}
		failed += store.failed
	}
	if manifests < 300 || failed < 200 {
		t.Errorf("%d manifests, %d failures: the test shows little", manifests, failed)
	}
}

// slowly makes records of many keys, ten at a time, each time a millisecond later.
func slowly(clock *manualClock, records int) func(*connector.Chunk) error {
	n := 0
	return func(c *connector.Chunk) error {
		if n >= records {
			return io.EOF
		}
		for range 10 {
			appendLines(c, `{"k":"key `+strconv.Itoa(n%50)+`","v":1,"t":`+strconv.Itoa(n)+"}\n")
			n++
		}
		clock.advance(clock.Now() + 1)
		return nil
	}
}
