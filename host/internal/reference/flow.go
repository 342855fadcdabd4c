package reference

// target takes what flows along an edge.
type target interface {
	record(record)
	watermark(int64)
	status(idle bool)
	end() // a last watermark of maxTime came before
}

// outlet is one output of a source or step, with the inputs that read it.
type outlet struct {
	schema schema
	edges  []edge
}

type edge struct {
	to      *inlet
	channel int
	side    int // that its records get
}

func (o *outlet) connect(to *inlet, side int) {
	o.edges = append(o.edges, edge{to, len(to.channels), side})
	to.channels = append(to.channels, channel{watermark: minTime, aligned: true})
}

func (o *outlet) record(r record) {
	for _, e := range o.edges {
		r.side = e.side
		e.to.target.record(r)
	}
}

// single tells whether one step alone, or one sink, gets what is put out here.
func (o *outlet) single() bool {
	if len(o.edges) != 1 {
		return false
	}
	through, ok := o.edges[0].to.target.(*outlet)
	return !ok || through.single()
}

func (o *outlet) watermark(t int64) {
	for _, e := range o.edges {
		e.to.advance(e.channel, t)
	}
}

func (o *outlet) status(idle bool) {
	for _, e := range o.edges {
		e.to.setStatus(e.channel, idle)
	}
}

func (o *outlet) end() {
	for _, e := range o.edges {
		e.to.ended++
		if e.to.ended == len(e.to.channels) {
			e.to.target.end()
		}
	}
}

// channel is what an inlet knows of one of the streams that it unites. Only
// aligned channels count for the watermark.
type channel struct {
	watermark int64
	idle      bool
	aligned   bool
}

// inlet is an input: a union of streams behind Flink 2.3's StatusWatermarkValve.
type inlet struct {
	target   target
	channels []channel
	out      int64 // the watermark that was passed on last
	idle     bool  // as passed on last
	ended    int   // channels
}

func newInlet(to target) *inlet { return &inlet{target: to, out: minTime} }

// advance: the watermark of an idle channel is ignored. One that is back from
// idleness counts again once it has caught up with what was passed on.
func (in *inlet) advance(i int, t int64) {
	c := &in.channels[i]
	if in.idle || c.idle || t <= c.watermark {
		return
	}
	c.watermark = t
	if t >= in.out {
		c.aligned = true
	}
	in.passLeast()
}

func (in *inlet) setStatus(i int, idle bool) {
	c := &in.channels[i]
	switch {
	case idle == c.idle:
	case !idle:
		c.idle = false
		c.aligned = c.watermark >= in.out
		if in.idle {
			in.idle = false
			in.target.status(false)
		}
	default:
		c.idle, c.aligned = true, false
		in.fallIdle(c.watermark)
	}
}

// fallIdle: a channel that held the watermark back does so no longer. If it was
// the last active one, and it held the watermark back, the largest watermark of
// all is passed on before the status (FLINK-40475 would always do so).
func (in *inlet) fallIdle(watermark int64) {
	active, largest := false, int64(minTime)
	for _, c := range in.channels {
		active = active || !c.idle
		largest = max(largest, c.watermark)
	}
	switch {
	case active && watermark == in.out:
		in.passLeast()
	case !active:
		if watermark == in.out {
			in.pass(largest)
		}
		in.idle = true
		in.target.status(true)
	}
}

// passLeast: without aligned channels the watermark stays (FLINK-7721).
func (in *inlet) passLeast() {
	least, any := int64(maxTime), false
	for _, c := range in.channels {
		if c.aligned {
			least, any = min(least, c.watermark), true
		}
	}
	if any {
		in.pass(least)
	}
}

func (in *inlet) pass(t int64) {
	if t > in.out {
		in.out = t
		in.target.watermark(t)
	}
}

// pair combines the watermarks of the two inputs of a step: the least of those
// that are not idle, the largest if both are (FLINK-38454).
type pair struct {
	watermarks [2]int64
	idle       [2]bool
	out        int64
}

func newPair() pair { return pair{watermarks: [2]int64{minTime, minTime}, out: minTime} }

// combined is the watermark now, and whether it rose.
func (p *pair) combined() (int64, bool) {
	t := min(p.watermarks[0], p.watermarks[1])
	switch {
	case p.idle[0] && p.idle[1]:
		t = max(p.watermarks[0], p.watermarks[1])
	case p.idle[0]:
		t = p.watermarks[1]
	case p.idle[1]:
		t = p.watermarks[0]
	}
	if t <= p.out {
		return p.out, false
	}
	p.out = t
	return t, true
}

// outputs are the outlets of a step, by name; "" is the main one.
type outputs map[string]*outlet

func (o outputs) watermark(t int64) {
	for _, out := range o {
		out.watermark(t)
	}
}

func (o outputs) status(idle bool) {
	for _, out := range o {
		out.status(idle)
	}
}

func (o outputs) end() {
	for _, out := range o {
		out.end()
	}
}
