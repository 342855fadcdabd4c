package reference

import (
	"fmt"
	"slices"
	"strings"
)

// scripter writes the script of a history, with an idea of where every source
// stands in time.
type scripter struct {
	*generator
	out         strings.Builder
	front       map[string]int64 // where the records of a source are
	left        int              // records to come
	keys        int
	clock       int64
	ended       []string
	checkpoints []point
}

// point is a checkpoint: where the sources stood.
type point struct {
	name  string
	front map[string]int64
	ended []string
}

func (g *generator) script() string {
	s := &scripter{generator: g, front: map[string]int64{}, left: g.records, keys: 2 + g.IntN(4)}
	if g.records >= 500 {
		s.keys = 100
	}
	for _, name := range g.sources {
		s.front[name] = g.base + g.between(0, g.scale)
	}
	for s.left > 0 {
		s.act()
	}
	for _, name := range g.sources {
		if g.endable && g.chance(70) {
			s.end(name)
		} else if !slices.Contains(s.ended, name) {
			s.advance(name)
		}
	}
	if g.chance(50) {
		s.moveClock()
	}
	s.questions(100)
	return s.out.String()
}

func (s *scripter) line(format string, args ...any) { fmt.Fprintf(&s.out, format+"\n", args...) }

// act is one action, or a burst of records.
func (s *scripter) act() {
	var open []string
	for _, name := range s.sources {
		if !slices.Contains(s.ended, name) {
			open = append(open, name)
		}
	}
	if len(open) == 0 {
		s.left = 0
		return
	}
	source := s.some(open...)
	switch n := s.IntN(100); {
	case n < 45:
		for range 1 + min(s.IntN(10), s.IntN(10)) {
			s.emit(source)
		}
	case n < 70:
		s.advance(source)
	case n < 80:
		s.moveClock()
	case n < 82:
		s.line("idle %s", source)
	case n < 85:
		s.statuses(open)
	case n < 90:
		s.line("active %s", source)
	case n < 92:
		s.line("restart")
	case n < 94:
		s.checkpoint()
	case n < 95:
		s.fail(source)
	case n < 97 && s.endable && s.left < s.records/4:
		s.end(source)
	default:
		s.questions(30)
	}
}

func (s *scripter) end(name string) {
	if !s.kinds["end-while-idle"] {
		s.line("active %s", name)
	}
	s.line("end %s", name)
	s.ended = append(s.ended, name)
}

// emit writes a record whose time is about the source's front, now and then far
// behind it.
func (s *scripter) emit(source string) {
	s.left--
	if s.chance(30) {
		s.front[source] += s.between(0, s.scale/2)
	}
	t := s.front[source] + s.between(-s.scale, s.scale)
	if s.chance(5) {
		t -= s.between(0, 5*s.scale)
	}
	fields := []string{s.column("k", fmt.Sprintf("%q", fmt.Sprint("k", s.IntN(s.keys))), 8), s.column("j", fmt.Sprint(s.IntN(3)), 8),
		s.column("v", fmt.Sprint(s.between(-20, 50)), 8), s.column("d", decimal(float64(s.between(-20, 20))/4), 0), s.column("g", fmt.Sprint(s.between(1, s.scale)), 0)}
	at := fmt.Sprintf(" @%d", t)
	switch {
	case s.field && s.chance(80):
		fields, at = append(fields, s.column("t", fmt.Sprint(t), 0)), ""
	case s.field:
		fields = append(fields, s.column("t", fmt.Sprint(t-1), 30))
	case !s.timed && s.chance(50):
		at = ""
	}
	fields = slices.DeleteFunc(fields, func(f string) bool { return f == "" })
	kind := ""
	if s.changes && s.chance(30) {
		kind = s.some("+I ", "-U ", "+U ", "-D ")
	}
	s.line("emit %s %s{%s}%s", source, kind, strings.Join(fields, ","), at)
}

// fail writes a record without event time, at which most jobs fail, and goes back
// to a checkpoint.
func (s *scripter) fail(source string) {
	if len(s.checkpoints) > 0 && s.timed {
		s.moveClock() // no other records are handed over together with it
		s.line(`emit %s {"k":"k0","v":1,"d":1,"g":1}`, source)
		s.restore()
	}
}

// column is a field of a record; a null is written or left out.
func (s *scripter) column(name, value string, nulls int) string {
	if s.chance(nulls) {
		if s.chance(50) {
			return ""
		}
		value = "null"
	}
	return fmt.Sprintf("%q:%s", name, value)
}

func (s *scripter) advance(source string) {
	if s.chance(50) {
		s.front[source] += s.between(0, s.scale)
	}
	s.line("watermark %s %d", source, s.front[source]+s.between(-s.scale, s.scale/2))
}

// moveClock may stand still: timers that records set are due then.
func (s *scripter) moveClock() {
	if s.chance(85) {
		s.clock += s.between(0, s.scale)
	}
	s.line("clock %d", s.clock)
}

// statuses has sources fall idle, return and move on, and in the end often all of
// them idle: what they promised may be passed on.
func (s *scripter) statuses(open []string) {
	for range 1 + s.IntN(8) {
		switch source := s.some(open...); s.IntN(3) {
		case 0:
			s.line("idle %s", source)
		case 1:
			s.line("active %s", source)
		default:
			s.advance(source)
		}
	}
	for _, i := range s.Perm(len(open)) {
		s.line("idle %s", open[i])
	}
	s.questions(60)
	for _, source := range open {
		if s.chance(80) {
			s.line("active %s", source)
		}
	}
}

// restore goes back to a checkpoint, of which there must be one.
func (s *scripter) restore() {
	p := s.checkpoints[s.IntN(len(s.checkpoints))]
	s.line("restore %s", p.name)
	s.ended = slices.Clone(p.ended)
	if s.chance(70) { // the source replays; else it goes on where it was
		for name, t := range p.front {
			s.front[name] = t
		}
	}
}

// checkpoint takes one, or goes back to one.
func (s *scripter) checkpoint() {
	if len(s.checkpoints) > 0 && s.chance(40) {
		s.restore()
		return
	}
	p := point{fmt.Sprintf("p%d", len(s.checkpoints)), map[string]int64{}, slices.Clone(s.ended)}
	for name, t := range s.front {
		p.front[name] = t
	}
	s.checkpoints = append(s.checkpoints, p)
	s.line("checkpoint %s", p.name)
}

// questions asks for watermarks and counters.
func (s *scripter) questions(percent int) {
	for _, f := range s.flows[len(s.sources):] {
		if !s.read[f.name] && s.chance(percent) {
			s.line("want-watermark to-%s ?", strings.ReplaceAll(f.name, ".", "-"))
		}
	}
	for _, name := range s.names {
		if s.chance(percent) {
			s.line("want-late-dropped %s ?", name)
		}
	}
}
