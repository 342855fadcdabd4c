package runtime

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wasmstream/wasmstream/host/stream"
)

// barrierStep is what happens to an input, and what follows.
type barrierStep struct {
	do       string // "barrier", "end" of a channel, or "cancel" of an epoch
	channel  int
	epoch    int64
	complete int64 // the epoch that is complete with it; 0: none
	held     []int // channels then
}

func barrier(epoch int64, channel int, complete int64, held ...int) barrierStep {
	return barrierStep{"barrier", channel, epoch, complete, held}
}

func ended(channel int, complete int64, held ...int) barrierStep {
	return barrierStep{"end", channel, 0, complete, held}
}

func cancelled(epoch int64, held ...int) barrierStep {
	return barrierStep{"cancel", 0, epoch, 0, held}
}

// TestBarriersAsInFlink has cases C44 to C46, which Flink's handlers of aligned
// barriers were seen to do. A cancellation, there a marker in a channel, is here the
// coordinator's word that an epoch came to nothing; an end of partition is a
// channel's end. In C44 Flink says "abort" where a later barrier supersedes an
// alignment: nothing is complete, and only the later barrier's channels are held.
func TestBarriersAsInFlink(t *testing.T) {
	for name, steps := range map[string][]barrierStep{
		"C44": {
			barrier(1, 1, 0, 1), barrier(1, 2, 0, 1, 2), barrier(1, 0, 1),
			barrier(2, 1, 0, 1), barrier(2, 0, 0, 0, 1), barrier(3, 2, 0, 2),
			barrier(3, 0, 0, 0, 2), barrier(4, 1, 0, 1),
		},
		"C45": {
			barrier(2, 0, 0, 0), barrier(2, 2, 0, 0, 2), cancelled(2),
			cancelled(4), barrier(4, 0, 0), barrier(4, 1, 0), barrier(4, 2, 0),
			barrier(1, 0, 0),
		},
		"C45, the last barrier of the epoch that came to nothing": {
			barrier(2, 0, 0, 0), barrier(2, 2, 0, 0, 2), cancelled(2), barrier(2, 1, 0),
			barrier(3, 0, 0, 0), barrier(3, 1, 0, 0, 1), barrier(3, 2, 3),
		},
		"C45, one that came to nothing before the epoch being aligned": {
			barrier(3, 0, 0, 0), cancelled(2, 0), barrier(3, 1, 0, 0, 1), barrier(3, 2, 3),
		},
		"C46": {
			barrier(1, 0, 0, 0), barrier(1, 1, 0, 0, 1), ended(2, 1),
			barrier(6, 0, 0, 0), barrier(6, 1, 6),
			ended(1, 0), barrier(7, 0, 7),
		},
		"C46, and nothing is left": {
			barrier(1, 0, 0, 0), ended(1, 0, 0), ended(2, 1), ended(0, 0),
		},
		// Here, other than in Flink, a source that has ended goes on starting barriers.
		"C46, with the barriers of channels that have ended": {
			ended(2, 0), barrier(6, 0, 0, 0), barrier(6, 1, 6), barrier(6, 2, 0), barrier(7, 2, 0, 2), barrier(7, 0, 0, 0, 2), barrier(7, 1, 7),
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := &input{}
			for range 3 {
				in.connect(newPipe(func() *stream.Batch { return new(stream.Batch) }), left, 0)
			}
			for i, s := range steps {
				var complete int64
				switch s.do {
				case "barrier":
					complete = in.apply(s.channel, stream.Mark{Kind: stream.MarkBarrier, Value: s.epoch}).barrier
				case "end":
					complete = in.apply(s.channel, stream.Mark{Kind: stream.MarkEnd}).barrier
				case "cancel":
					in.giveUp(s.epoch)
				}
				var held []int
				for ch := range in.channels {
					if in.channels[ch].held {
						held = append(held, ch)
					}
				}
				if diff := cmp.Diff(s.held, held); complete != s.complete || diff != "" {
					t.Errorf("step %d, %s %d of channel %d: complete %d, want %d; held (-want +got)\n%s", i+1, s.do, s.epoch, s.channel, complete, s.complete, diff)
				}
			}
		})
	}
}
