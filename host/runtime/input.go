package runtime

import "github.com/wasmstream/wasmstream/host/stream"

// input is the union of the channels that a task reads.
type input struct {
	channels []channel
	valve    *stream.Valve
	next     int   // where the search for a batch goes on: all channels get their turn
	epoch    int64 // of the barrier that is being aligned
	arrived  int   // channels whose barrier of that epoch has come
	ended    int
}

type channel struct {
	pipe *pipe[*stream.Batch]
	held bool // its barrier has come, others' have not (invariant A)
}

// event is what a mark of one channel means for the input as a whole.
type event struct {
	watermark stream.EventTime // valid if advanced
	advanced  bool
	status    stream.MarkKind // MarkIdle or MarkActive if that changed, else 0
	barrier   int64           // the epoch of a barrier that is complete, else 0
	ended     bool            // the last channel has ended
}

func (in *input) connect(p *pipe[*stream.Batch]) {
	in.channels = append(in.channels, channel{pipe: p})
	in.valve = stream.NewValve(len(in.channels))
}

// receive gets a batch from a channel that is not held back.
func (in *input) receive() (ch int, b *stream.Batch, ok bool) {
	for range in.channels {
		ch := in.next
		if in.next++; in.next == len(in.channels) {
			in.next = 0
		}
		if in.channels[ch].held {
			continue
		}
		if b, ok := in.channels[ch].pipe.receive(); ok {
			return ch, b, true
		}
	}
	return 0, nil, false
}

func (in *input) giveBack(ch int, b *stream.Batch) { in.channels[ch].pipe.giveBack(b) }

// apply takes a mark of a channel into account.
func (in *input) apply(ch int, m stream.Mark) (ev event) {
	switch m.Kind {
	case stream.MarkWatermark:
		out := in.valve.Advance(ch, stream.EventTime(m.Value))
		return event{watermark: out.Watermark, advanced: out.Advanced}
	case stream.MarkIdle:
		out := in.valve.SetIdle(ch)
		ev = event{watermark: out.Watermark, advanced: out.Advanced}
		if out.StatusChange {
			ev.status = stream.MarkIdle
		}
	case stream.MarkActive:
		if in.valve.SetActive(ch).StatusChange {
			ev.status = stream.MarkActive
		}
	case stream.MarkBarrier:
		ev.barrier = in.align(ch, m.Value)
	case stream.MarkEnd:
		in.ended++
		ev.ended = in.ended == len(in.channels)
	}
	return ev
}

// align counts the barriers of an epoch, and returns it when all have come. A
// barrier of a higher epoch supersedes the one that is being aligned; one of a
// lower epoch is dropped.
func (in *input) align(ch int, epoch int64) int64 {
	if epoch < in.epoch || epoch == in.epoch && in.arrived == 0 {
		return 0
	}
	if epoch > in.epoch {
		in.release()
		in.epoch = epoch
	}
	in.channels[ch].held = true
	if in.arrived++; in.arrived < len(in.channels) {
		return 0
	}
	in.release()
	return epoch
}

func (in *input) release() {
	for i := range in.channels {
		in.channels[i].held = false
	}
	in.arrived = 0
}
