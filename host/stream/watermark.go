package stream

// Valve combines the watermarks and statuses of the channels of one input:
// Flink's StatusWatermarkValve. The combined watermark is the least of the
// channels that are aligned, and never goes back. An idle channel is not
// aligned, and a channel that became active again is aligned only once it has
// caught up with what was put out.
type Valve struct {
	channels []valveChannel
	out      EventTime
	idle     bool
}

type valveChannel struct {
	watermark EventTime
	idle      bool
	aligned   bool
}

// ValveOutput is what an input's valve answers to one event of one channel.
type ValveOutput struct {
	Watermark    EventTime // valid if Advanced
	Advanced     bool      // the combined watermark rose to Watermark
	StatusChange bool      // the input as a whole became idle or active, see Valve.Idle
}

// NewValve makes a valve over n channels, all active, with no watermark yet.
func NewValve(n int) *Valve {
	v := &Valve{channels: make([]valveChannel, n), out: MinTime}
	for i := range v.channels {
		v.channels[i] = valveChannel{watermark: MinTime, aligned: true}
	}
	return v
}

// Watermark is the combined watermark that was put out last.
func (v *Valve) Watermark() EventTime { return v.out }

// Idle tells whether all channels are idle.
func (v *Valve) Idle() bool { return v.idle }

// Advance takes the watermark of a channel. That of an idle channel is ignored,
// and so is one that is not above the channel's last.
func (v *Valve) Advance(channel int, t EventTime) (out ValveOutput) {
	c := &v.channels[channel]
	if v.idle || c.idle || t <= c.watermark {
		return out
	}
	c.watermark = t
	if !c.aligned && t >= v.out {
		c.aligned = true
	}
	return v.raise(v.least())
}

// SetIdle takes the news that a channel is idle.
func (v *Valve) SetIdle(channel int) (out ValveOutput) {
	c := &v.channels[channel]
	if c.idle {
		return out
	}
	c.idle, c.aligned = true, false
	if v.anyActive() {
		if c.watermark != v.out {
			return out // it held nothing back; as in Flink, nothing else is looked at
		}
		return v.raise(v.least())
	}
	// All idle: nothing holds the watermark back any more, so the largest that
	// any channel promised is flushed before the input is declared idle. As in
	// Flink 2.3, only when the last one to fall idle was the one that held it
	// back (later releases always flush, FLINK-40475).
	if c.watermark == v.out {
		largest := MinTime
		for i := range v.channels {
			largest = max(largest, v.channels[i].watermark)
		}
		out = v.raise(largest)
	}
	v.idle, out.StatusChange = true, true
	return out
}

// SetActive takes the news that a channel is active again.
func (v *Valve) SetActive(channel int) (out ValveOutput) {
	c := &v.channels[channel]
	if !c.idle {
		return out
	}
	c.idle = false
	c.aligned = c.watermark >= v.out
	if v.idle {
		v.idle, out.StatusChange = false, true
	}
	return out
}

func (v *Valve) anyActive() bool {
	for i := range v.channels {
		if !v.channels[i].idle {
			return true
		}
	}
	return false
}

// least is the least watermark of the aligned channels; the present one if no
// channel is aligned (FLINK-7721: it must not jump to the maximum).
func (v *Valve) least() EventTime {
	least, any := MaxTime, false
	for i := range v.channels {
		if c := &v.channels[i]; c.aligned {
			least, any = min(least, c.watermark), true
		}
	}
	if !any {
		return v.out
	}
	return least
}

func (v *Valve) raise(t EventTime) ValveOutput {
	if t <= v.out {
		return ValveOutput{}
	}
	v.out = t
	return ValveOutput{Watermark: t, Advanced: true}
}

// Combined is the watermark of an operator with several inputs, each behind a
// valve of its own: Flink's IndexedCombinedWatermarkStatus. It is the least of
// the inputs that are not idle and never goes back; when all are idle, the
// greatest (FLINK-38454, since Flink 2.2).
type Combined struct {
	inputs []combinedInput
	out    EventTime
	idle   bool
}

type combinedInput struct {
	watermark EventTime
	idle      bool
}

// NewCombined combines n inputs, all active, with no watermark yet.
func NewCombined(n int) Combined {
	c := Combined{inputs: make([]combinedInput, n), out: MinTime}
	for i := range c.inputs {
		c.inputs[i].watermark = MinTime
	}
	return c
}

// Apply takes what the valve of an input put out, and whether that input is idle
// now, and returns the same of the whole.
func (c *Combined) Apply(input int, in ValveOutput, idle bool) (out ValveOutput, allIdle bool) {
	i := &c.inputs[input]
	if in.Advanced {
		i.watermark = in.Watermark
	}
	i.idle = idle
	before := c.idle
	least, greatest, active := MaxTime, MinTime, false
	for k := range c.inputs {
		greatest = max(greatest, c.inputs[k].watermark)
		if !c.inputs[k].idle {
			least, active = min(least, c.inputs[k].watermark), true
		}
	}
	if !active {
		least = greatest
	}
	c.idle = !active
	if least > c.out {
		c.out = least
		out = ValveOutput{Watermark: least, Advanced: true}
	}
	out.StatusChange = c.idle != before
	return out, c.idle
}
