package stream

// CombineRules say how several watermarks become one, where there is a choice.
// Without any of them it is as in Flink 2.3.0.
type CombineRules struct {
	// FlushWhenAllIdle: when the last channel of a valve turns idle, the highest
	// watermark of all is put out, whichever turned idle last, and the least is
	// looked for again when one becomes active (FLINK-40475, after Flink 2.3);
	// else only if the last one held the watermark back.
	FlushWhenAllIdle bool
	// StayWhenAllIdle: when all inputs of an operator, or all splits of a source,
	// are idle, the watermark stays where it is; else it becomes the highest of
	// theirs (FLINK-38454, since Flink 2.2).
	StayWhenAllIdle bool
	// Max: the watermark of an operator with several inputs is the highest of
	// theirs, not the lowest. Nothing waits for a slow input, and what it brings
	// is late.
	Max bool
}

// Valve combines the watermarks and statuses of the channels of one input:
// Flink's StatusWatermarkValve. The combined watermark is the least of the
// channels that are aligned, and never goes back. An idle channel is not
// aligned, and a channel that became active again is aligned only once it has
// caught up with what was put out.
type Valve struct {
	rules    CombineRules
	channels []valveChannel
	out      EventTime
	idle     bool
}

type valveChannel struct {
	watermark EventTime
	idle      bool
	aligned   bool
}

// ValveOutput is what an input's valve answers to one event of one channel. The
// news that all is active comes before the watermark, which would else be ignored
// as that of an idle channel; the news that all is idle comes after it.
type ValveOutput struct {
	Watermark    EventTime // valid if Advanced
	Advanced     bool      // the combined watermark rose to Watermark
	StatusChange bool      // the input as a whole became idle or active, see Valve.Idle
}

// NewValve makes a valve over n channels, all active, with no watermark yet.
func NewValve(n int, r CombineRules) *Valve {
	v := &Valve{rules: r, channels: make([]valveChannel, n), out: MinTime}
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
	// back, unless the rules say otherwise.
	if v.rules.FlushWhenAllIdle || c.watermark == v.out {
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
	if v.rules.FlushWhenAllIdle {
		out = v.raise(v.least())
	}
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
// greatest (FLINK-38454). An input that has ended stays active at MaxTime, so
// that with all others idle time ends too (FLINK-38477).
//
// By the rule Max it is the greatest of all inputs. The end of one is no progress
// of time then: MaxTime counts once all have come to it, or else the first input
// to end would make all that the others still bring late.
type Combined struct {
	rules  CombineRules
	inputs []combinedInput
	least  EventTime // by the rule of the least, whatever the rules
	out    EventTime
	idle   bool
}

type combinedInput struct {
	watermark EventTime
	idle      bool
}

// NewCombined combines n inputs, all active, with no watermark yet.
func NewCombined(n int, r CombineRules) Combined {
	c := Combined{rules: r, inputs: make([]combinedInput, n), least: MinTime, out: MinTime}
	for i := range c.inputs {
		c.inputs[i].watermark = MinTime
	}
	return c
}

// Least is the watermark that there would be without the rule Max.
func (c *Combined) Least() EventTime { return c.least }

// Apply takes what the valve of an input put out, and whether that input is idle
// now, and returns the same of the whole.
func (c *Combined) Apply(input int, in ValveOutput, idle bool) (out ValveOutput, allIdle bool) {
	i := &c.inputs[input]
	if in.Advanced {
		i.watermark = in.Watermark
	}
	i.idle = idle
	before := c.idle
	least, active := MaxTime, false
	for k := range c.inputs {
		if !c.inputs[k].idle {
			least, active = min(least, c.inputs[k].watermark), true
		}
	}
	switch {
	case active:
		c.least = max(c.least, least)
	case !c.rules.StayWhenAllIdle:
		c.least = max(c.least, c.greatest())
	}
	c.idle = !active
	to := c.least
	if c.rules.Max {
		to = c.greatestOpen()
	}
	if to > c.out {
		c.out = to
		out = ValveOutput{Watermark: to, Advanced: true}
	}
	out.StatusChange = c.idle != before
	return out, c.idle
}

func (c *Combined) greatest() EventTime {
	greatest := MinTime
	for k := range c.inputs {
		greatest = max(greatest, c.inputs[k].watermark)
	}
	return greatest
}

// greatestOpen is the greatest watermark of the inputs that have not ended;
// MaxTime if all have.
func (c *Combined) greatestOpen() EventTime {
	greatest, open := MinTime, false
	for k := range c.inputs {
		if w := c.inputs[k].watermark; w < MaxTime {
			greatest, open = max(greatest, w), true
		}
	}
	if !open {
		return MaxTime
	}
	return greatest
}
