package runtime

import (
	"testing"

	"github.com/wasmstream/wasmstream/host/stream"
)

// barriers plays barriers {channel, epoch} on an input of n channels and returns
// the epochs that were complete, and which channels are held at the end.
func barriers(n int, arrivals ...[2]int64) (complete []int64, held []int) {
	in := &input{}
	for range n {
		in.connect(newPipe(func() *stream.Batch { return new(stream.Batch) }), left, 0)
	}
	for _, a := range arrivals {
		if epoch := in.apply(int(a[0]), stream.Mark{Kind: stream.MarkBarrier, Value: a[1]}).barrier; epoch != 0 {
			complete = append(complete, epoch)
		}
	}
	for i := range in.channels {
		if in.channels[i].held {
			held = append(held, i)
		}
	}
	return complete, held
}

// TestAlignment has what cases C44 and C45 of Flink's SingleCheckpointBarrier-
// Handler say of barriers without cancellation.
func TestAlignment(t *testing.T) {
	for name, c := range map[string]struct {
		channels int
		arrivals [][2]int64
		complete []int64
		held     []int
	}{
		"one channel":               {1, [][2]int64{{0, 1}, {0, 2}}, []int64{1, 2}, nil},
		"all three":                 {3, [][2]int64{{1, 1}, {2, 1}, {0, 1}}, []int64{1}, nil},
		"two of three":              {3, [][2]int64{{1, 1}, {2, 1}}, nil, []int{1, 2}},
		"a higher epoch supersedes": {3, [][2]int64{{1, 2}, {0, 2}, {2, 3}}, nil, []int{2}},
		"and completes":             {3, [][2]int64{{1, 2}, {0, 2}, {2, 3}, {0, 3}, {1, 3}}, []int64{3}, nil},
		"a lower epoch is dropped":  {2, [][2]int64{{0, 2}, {1, 1}}, nil, []int{0}},
		"one that is over too":      {2, [][2]int64{{0, 2}, {1, 2}, {0, 2}}, []int64{2}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			complete, held := barriers(c.channels, c.arrivals...)
			if len(complete) != len(c.complete) || len(held) != len(c.held) {
				t.Fatalf("complete %v, held %v", complete, held)
			}
			for i := range complete {
				if complete[i] != c.complete[i] {
					t.Fatalf("complete %v, want %v", complete, c.complete)
				}
			}
			for i := range held {
				if held[i] != c.held[i] {
					t.Fatalf("held %v, want %v", held, c.held)
				}
			}
		})
	}
}
