package reference

import (
	"cmp"
	"slices"
)

// span is a window, [start, end); a global one has no bounds.
type span struct {
	start, end int64
	global     bool
}

var everything = span{global: true}

// last is the last millisecond of a window.
func (s span) last() int64 {
	if s.global {
		return maxTime
	}
	return s.end - 1
}

// touches: windows that only touch count too (FLINK-15841).
func (s span) touches(other span) bool { return s.start <= other.end && s.end >= other.start }

func (s span) contains(other span) bool {
	return s == other || !s.global && s.start <= other.start && other.end <= s.end
}

// windowing is a window: entry of the job.
type windowing struct {
	kind                string // tumbling, sliding, session or global
	processing          bool
	size, slide, offset int64
	gap                 int64
	gapField            string
	trigger             *trigger
	evictor             *evictor
	lateness            int64
}

func newWindowing(t tree) windowing {
	w := windowing{lateness: t.duration("allowed-lateness")}
	for _, w.kind = range []string{"tumbling", "sliding", "session", "global"} {
		if t.has(w.kind) {
			break
		}
	}
	a := t.sub(w.kind)
	w.processing = a.text("time") == "processing"
	w.size, w.slide, w.offset = a.duration("size"), a.duration("slide"), a.duration("offset")
	w.gap, w.gapField = a.duration("gap"), a.text("gap-field")
	if w.kind == "tumbling" {
		w.slide = w.size // a tumbling window is a sliding one that slides by its size
	}
	switch {
	case t.has("trigger"):
		w.trigger = newTrigger(t.get("trigger"))
	case w.kind == "global":
		w.trigger = &trigger{kind: "never"}
	case w.processing:
		w.trigger = &trigger{kind: "processing-time"}
	default:
		w.trigger = &trigger{kind: "event-time"}
	}
	if t.has("evictor") {
		w.evictor = newEvictor(t.sub("evictor"))
	}
	return w
}

func (w *windowing) refusal() string {
	switch {
	case w.lateness < 0:
		return "lateness"
	case w.kind == "session" && w.gapField == "" && w.gap <= 0:
		return "gap"
	case w.kind == "session" && !w.trigger.merges():
		return "trigger"
	case w.slide > 0 && (w.offset >= w.slide || w.offset <= -w.slide):
		return "offset"
	}
	return ""
}

// eventTime tells whether windows end by the watermark: global ones never end.
func (w *windowing) eventTime() bool { return !w.processing && w.kind != "global" }

// of lists the windows that a record of a time belongs to: [start, start+size)
// for every start that is the offset plus a multiple of the slide. The latest
// comes first, as in Flink. A session begins as the record's own gap.
func (w *windowing) of(t, gap int64) []span {
	switch w.kind {
	case "global":
		return []span{everything}
	case "session":
		return []span{{start: t, end: t + gap}}
	}
	var list []span
	for start := floor(t, w.offset, w.slide); start > t-w.size; start -= w.slide {
		list = append(list, span{start: start, end: start + w.size})
	}
	return list
}

// floor is the largest offset plus a multiple of the slide that is not above t,
// negative times included (FLINK-26334).
func floor(t, offset, slide int64) int64 {
	r := (t - offset) % slide
	if r < 0 {
		r += slide
	}
	return t - r
}

// merged joins windows that touch, by looking at all of them in order.
func merged(spans []span) []span {
	slices.SortFunc(spans, func(a, b span) int { return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.end, b.end)) })
	var out []span
	for _, s := range spans {
		if n := len(out); n > 0 && out[n-1].touches(s) {
			out[n-1].end = max(out[n-1].end, s.end)
		} else {
			out = append(out, s)
		}
	}
	return out
}

// evictor removes records of a window that fires.
type evictor struct {
	kind      string // count, time or delta
	after     bool
	count     int
	size      int64
	field     string
	threshold float64
}

func newEvictor(t tree) *evictor {
	e := &evictor{after: t.text("when") == "after"}
	for _, e.kind = range []string{"count", "time", "delta"} {
		if t.has(e.kind) {
			break
		}
	}
	e.count, e.size = int(t.number("count")), t.duration("time")
	e.field, e.threshold = t.sub("delta").text("field"), t.sub("delta").number("threshold")
	return e
}

// isMixed: the first record has event time, so all must.
func (e *evictor) isMixed(records []record) bool {
	return e.kind == "time" && records[0].time != minTime &&
		slices.ContainsFunc(records, func(r record) bool { return r.time == minTime })
}

// keeps tells which records of a window stay, oldest first.
func (e *evictor) keeps(records []record, value func(record) float64) []bool {
	keep := make([]bool, len(records))
	latest := int64(minTime)
	for _, r := range records {
		latest = max(latest, r.time)
	}
	for i, r := range records {
		switch e.kind {
		case "count": // the newest
			keep[i] = i >= len(records)-e.count
		case "time": // a first record without time switches it off
			keep[i] = records[0].time == minTime || r.time > saturating(latest, -e.size)
		case "delta":
			keep[i] = value(records[len(records)-1])-value(r) < e.threshold
		}
	}
	return keep
}
