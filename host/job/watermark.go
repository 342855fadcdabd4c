package job

import (
	"cmp"
	"maps"
	"slices"

	"github.com/wasmstream/wasmstream/host/operator/window"
)

func (b *builder) watermark(p *producer) {
	n := p.node.get("watermark")
	if n == nil || !n.ok {
		return
	}
	at := p.path + ".watermark"
	w := &Watermark{
		Strategy:          WatermarkStrategy(wordIndex(n.get("strategy"), strategyWords[:])),
		MaxOutOfOrderness: number(n.get("max-out-of-orderness"), 0),
		IdleTimeout:       number(n.get("idle-timeout"), 0),
		OnEvent:           text(n.get("emit")) == "on-event",
	}
	p.source.Watermark = w
	b.punctuated(p, w, n, at)
	if p.timeless != "" && w.Strategy != NoWatermarks {
		b.wrong(n, at, "A watermark follows from the records' event time, and the source %s has none: give it event-time or ingestion-time", p.name)
	}
	if delay := n.get("max-out-of-orderness"); delay != nil && w.Strategy != Bounded {
		b.wrong(delay, at+".max-out-of-orderness", "max-out-of-orderness belongs to the strategy bounded; here it is %s", w.Strategy)
	}
	a := n.get("alignment")
	if a == nil || !a.ok {
		return
	}
	if w.Strategy == NoWatermarks {
		b.wrong(a, at+".alignment", "Sources are aligned by their watermarks, and the strategy none makes none; use bounded or monotonous")
	}
	w.Alignment = &Alignment{Group: text(a.get("group")), MaxDrift: number(a.get("max-drift"), 0)}
}

// punctuated reads whether the source's function says the watermarks.
func (b *builder) punctuated(p *producer, w *Watermark, n *node, at string) {
	emit := n.get("emit")
	if w.Punctuated = text(emit) == "punctuated"; !w.Punctuated {
		return
	}
	if e := p.node.get("event-time"); e == nil || e.form != mappingForm {
		b.wrong(emit, at+".emit", "Punctuated watermarks come from the function that gives a record its event time: event-time: {wasm: module.function}")
	}
	for _, name := range []string{"strategy", "max-out-of-orderness"} {
		if o := n.get(name); o != nil {
			b.wrong(o, at+"."+name, "With emit: punctuated the function says the watermarks, and %s has no meaning", name)
		}
	}
	w.Strategy = Bounded // by nothing: what the function says is put out
}

// combine reads how the watermarks of a step's inputs become one.
func (b *builder) combine(p *producer) {
	n := p.node.get("combine")
	if n == nil || !n.ok || p.keyed != nil { // the step that computes the key reads them
		return
	}
	streams := 0
	for _, s := range p.sides {
		streams += len(s.refs)
	}
	if streams == 1 {
		b.wrong(n, p.path+".combine", "combine says how the watermarks of several streams become one; the step %s reads one", p.name)
		return
	}
	if n.text == "max" {
		p.step.Combine = CombineMax
		p.origins = nil // none of them holds time up
	}
}

// findOrigins notes on which sources the event time of a step depends. Steps
// that read one stream share its set.
func (p *producer) findOrigins() {
	shared := true
	for r := range p.reads {
		switch {
		case r.from == nil || len(r.from.origins) == 0:
		case p.origins == nil:
			p.origins = r.from.origins
		default:
			if shared {
				p.origins, shared = maps.Clone(p.origins), false
			}
			maps.Copy(p.origins, r.from.origins)
		}
	}
}

// warnSilent tells of sources that hold up the event time of others when they
// have nothing to say, or that never move it. A scenario's script moves
// watermarks itself.
func (b *builder) warnSilent() {
	if b.o.Test {
		return
	}
	told := map[*producer]bool{}
	for _, p := range b.order {
		if p.source != nil || len(p.origins) == 0 || !p.step.usesEventTime() {
			continue
		}
		byLine := func(p, q *producer) int { return cmp.Compare(p.source.Line, q.source.Line) }
		sources := slices.SortedFunc(maps.Keys(p.origins), byLine)
		for i, s := range sources {
			if other := sources[(i+1)%len(sources)]; !told[s] && (other != s || s.isStill()) {
				told[s] = true
				b.warnSource(s, p, other)
			}
		}
	}
}

// isStill tells of a source that never ends and never moves event time.
func (p *producer) isStill() bool {
	w := p.source.Watermark
	return p.endless != "" && (w == nil || w.Strategy == NoWatermarks)
}

// warnSource tells of a source that holds up a step, which depends on another
// one as well if that is not the same.
func (b *builder) warnSource(s, step, other *producer) {
	w := s.source.Watermark
	never := w == nil || w.Strategy == NoWatermarks && w.IdleTimeout == 0
	switch {
	case s.isStill() && (never || other == s):
		b.warn(s.node, s.path, "The source %s has no watermark and never ends, so the event time of the step %s never moves", s.name, step.name)
	case never:
		b.warn(s.node, s.path, "The source %s has no watermark: until it ends, the event time of the step %s stands still, which depends on %s as well", s.name, step.name, other.name)
	case w.IdleTimeout == 0:
		b.warn(s.node.get("watermark"), s.path+".watermark", "The source %s has no idle-timeout: while it is silent, the event time of the step %s stands still, which depends on %s as well", s.name, step.name, other.name)
	}
}

// warnNever tells of files that are never complete.
func (b *builder) warnNever(s *sinkInfo) {
	f := s.sink.Connector.File
	if f == nil || f.Rolling != nil {
		return
	}
	for _, r := range s.refs {
		if r.from != nil && r.from.endless != "" {
			b.warn(s.node.get("file"), s.path+".file", "A file appears when it is complete, and the source %s never ends, so this one never does: rolling makes a folder of files, and bounded an end of the source", r.from.endless)
			return
		}
	}
}

// warnAlone tells of sources that wait for nobody.
func (b *builder) warnAlone() {
	members := map[string]int{}
	for _, s := range b.job.Sources {
		if w := s.Watermark; w != nil && w.Alignment != nil {
			members[w.Alignment.Group]++
		}
	}
	for _, p := range b.order {
		if p.source == nil || p.source.Watermark == nil || p.source.Watermark.Alignment == nil {
			continue
		}
		if group := p.source.Watermark.Alignment.Group; members[group] == 1 && p.source.Connector.File != nil {
			b.warn(p.node.get("watermark").get("alignment"), p.path+".watermark.alignment", "The source %s is alone in the group %s, so it waits for nobody", p.name, group)
		}
	}
}

// usesEventTime tells whether the step waits for watermarks.
func (s *Step) usesEventTime() bool {
	switch {
	case s.Window != nil:
		return waits(&s.Window.Options)
	case s.WindowJoin != nil:
		return waits(&s.WindowJoin.Options)
	}
	return s.IntervalJoin != nil
}

// waits tells of windows that the watermark closes or fires.
func waits(o *window.Options) bool {
	for t := o.Trigger; t != nil; t = t.Nested {
		switch t.Kind {
		case window.EventTime, window.ContinuousEventTime, window.EndOfStream:
			return true
		}
	}
	return isEventTime(o)
}
