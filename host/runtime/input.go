package runtime

import "github.com/wasmstream/wasmstream/host/stream"

// input is what a task reads: the channels of its gates. A union is one gate, and
// so is a window join, whose sides are told apart by the channel; an interval join
// has a gate for each side. Where the highest watermark of several streams counts,
// each stream has one.
type input struct {
	rules    stream.CombineRules
	channels []channel
	gates    []gate
	combined stream.Combined // of the gates, where there are several
	next     int             // where the search for a batch goes on: all channels get their turn
	loose    bool            // barriers are counted, and hold no channel back: at least once
	epoch    int64           // the highest that a barrier has brought
	settled  int64           // epochs up to here are complete or were given up: their barriers are dropped
	ended    int
}

type channel struct {
	pipe  *pipe[*stream.Batch]
	side  side
	gate  int
	place int  // in the gate's valve
	came  bool // its barrier has come, others' have not
	held  bool // and so nothing is read from it (invariant A)
	ended bool // nothing comes but barriers
}

// side says which of a join's streams a channel belongs to; unions have only the
// left one.
type side uint8

const (
	left side = iota
	right
)

// gate is a valve over some of the channels.
type gate struct {
	valve    *stream.Valve
	channels int
}

// event is what a mark of one channel means for the input as a whole.
type event struct {
	watermark stream.EventTime // valid if advanced
	advanced  bool
	status    stream.MarkKind // MarkIdle or MarkActive if that changed, else 0
	barrier   int64           // the epoch of a barrier that is complete, else 0
	ended     bool            // the last channel has ended
}

// connect adds a channel to a gate.
func (in *input) connect(p *pipe[*stream.Batch], s side, g int) {
	for len(in.gates) <= g {
		in.gates = append(in.gates, gate{})
	}
	to := &in.gates[g]
	in.channels = append(in.channels, channel{pipe: p, side: s, gate: g, place: to.channels})
	to.channels++
	to.valve = stream.NewValve(to.channels, in.rules)
	in.combined = stream.NewCombined(len(in.gates), in.rules)
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
	c := &in.channels[ch]
	valve := in.gates[c.gate].valve
	switch m.Kind {
	case stream.MarkWatermark:
		return in.combine(c.gate, valve.Advance(c.place, stream.EventTime(m.Value)))
	case stream.MarkIdle:
		return in.combine(c.gate, valve.SetIdle(c.place))
	case stream.MarkActive:
		return in.combine(c.gate, valve.SetActive(c.place))
	case stream.MarkBarrier:
		ev.barrier = in.align(ch, m.Value)
	case stream.MarkEnd:
		c.ended = true
		in.ended++
		ev.ended = in.ended == len(in.channels)
		ev.barrier = in.aligned()
	}
	return ev
}

// combine brings what a gate's valve put out together with the other gates.
func (in *input) combine(g int, out stream.ValveOutput) (ev event) {
	idle := in.gates[g].valve.Idle()
	if len(in.gates) > 1 {
		out, idle = in.combined.Apply(g, out, idle)
	}
	ev = event{watermark: out.Watermark, advanced: out.Advanced}
	if out.StatusChange {
		ev.status = stream.MarkActive
		if idle {
			ev.status = stream.MarkIdle
		}
	}
	return ev
}

// align takes the barrier of an epoch, and returns the epoch when it is complete:
// each channel has brought it or has ended. One of a higher epoch supersedes the one
// that is being aligned; one of a lower epoch is dropped.
func (in *input) align(ch int, epoch int64) int64 {
	if epoch <= in.settled || epoch < in.epoch {
		return 0
	}
	if epoch > in.epoch {
		in.release()
		in.epoch = epoch
	}
	in.channels[ch].came, in.channels[ch].held = true, !in.loose
	return in.aligned()
}

// aligned is the epoch that is being aligned if nothing is missing any more, else 0.
func (in *input) aligned() int64 {
	if in.epoch <= in.settled {
		return 0
	}
	for i := range in.channels {
		if c := &in.channels[i]; !c.came && !c.ended {
			return 0
		}
	}
	in.settled = in.epoch
	in.release()
	return in.epoch
}

// giveUp forgets about epochs up to one that came to nothing.
func (in *input) giveUp(epoch int64) {
	if epoch <= in.settled {
		return
	}
	in.settled = epoch
	if in.epoch <= epoch {
		in.release()
	}
}

func (in *input) release() {
	for i := range in.channels {
		in.channels[i].came, in.channels[i].held = false, false
	}
}
