package window_test

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/wasmstream/wasmstream/host/operator/window"
)

// tree is an entry of a job file.
type tree = map[string]any

func sub(v any) tree {
	t, _ := v.(tree)
	return t
}

func str(v any) string {
	s, _ := v.(string)
	return s
}

var days = regexp.MustCompile(`(\d+)d`)

// millis reads a duration; nothing is 0.
func millis(v any) int64 {
	if v == nil {
		return 0
	}
	s := days.ReplaceAllStringFunc(str(v), func(d string) string {
		n, _ := strconv.Atoi(d[:len(d)-1])
		return fmt.Sprint(24*n, "h")
	})
	d, err := time.ParseDuration(s)
	if err != nil {
		panic(err)
	}
	return d.Milliseconds()
}

func number(v any) float64 {
	switch x := v.(type) {
	case int64:
		return float64(x)
	case uint64:
		return float64(x)
	case float64:
		return x
	}
	return math.NaN()
}

// plan is the window of a step as the core and the machine take it.
type plan struct {
	window.Options
	late       string // "": no late output
	gap, delta string // fields that the elements need
}

func newPlan(w tree) *plan {
	p := &plan{late: str(w["late-output"])}
	p.AllowedLateness = millis(w["allowed-lateness"])
	for kind, name := range map[window.AssignerKind]string{window.Tumbling: "tumbling", window.Sliding: "sliding", window.Session: "session", window.GlobalWindows: "global"} {
		if a, ok := w[name]; ok {
			p.assigner(kind, sub(a))
		}
	}
	if t, ok := w["trigger"]; ok {
		p.Trigger = p.trigger(t)
	}
	if v, ok := w["evictor"]; ok {
		p.evictor(sub(v))
	}
	return p
}

func (p *plan) assigner(kind window.AssignerKind, a tree) {
	p.gap = str(a["gap-field"])
	p.Assigner = window.Assigner{
		Kind: kind, Size: millis(a["size"]), Slide: millis(a["slide"]), Offset: millis(a["offset"]), Gap: millis(a["gap"]),
		GapByRecord: p.gap != "", Processing: str(a["time"]) == "processing",
	}
}

func (p *plan) trigger(v any) *window.Trigger {
	for k := window.EventTime; k <= window.Timeout; k++ {
		if k.String() == v {
			return &window.Trigger{Kind: k}
		}
		arg, ok := sub(v)[k.String()]
		if !ok {
			continue
		}
		t := &window.Trigger{Kind: k}
		switch k {
		case window.Count:
			t.Count = int64(number(arg))
		case window.Purging:
			t.Nested = p.trigger(arg)
		case window.Delta:
			p.delta, t.Threshold = str(sub(arg)["field"]), number(sub(arg)["threshold"])
		case window.Timeout:
			a := sub(arg)
			t.Reset, _ = a["reset"].(bool)
			t.Interval, t.Nested = millis(a["after"]), p.trigger(a["trigger"])
		default:
			t.Interval = millis(arg)
		}
		return t
	}
	panic(fmt.Sprint("no trigger ", v))
}

func (p *plan) evictor(v tree) {
	e := &window.Evictor{After: v["when"] == "after"}
	switch {
	case v["count"] != nil:
		e.Kind, e.Count = window.ByCount, int64(number(v["count"]))
	case v["time"] != nil:
		e.Kind, e.Size = window.ByTime, millis(v["time"])
	default:
		e.Kind, e.Threshold = window.ByDelta, number(sub(v["delta"])["threshold"])
		p.delta = str(sub(v["delta"])["field"])
	}
	p.Evictor = e
}

// fold computes an aggregate of a step over rows: "sum(v)". The answer is a
// whole number if it is one.
func fold(spec string, rows []tree) any {
	if spec == "count" {
		return int64(len(rows))
	}
	name, field, _ := strings.Cut(strings.TrimSuffix(spec, ")"), "(")
	var sum, n float64
	least, most := math.Inf(1), math.Inf(-1)
	for _, r := range rows {
		if x := number(r[field]); x == x {
			sum, least, most, n = sum+x, min(least, x), max(most, x), n+1
		}
	}
	if n == 0 {
		return nil
	}
	x := map[string]float64{"sum": sum, "min": least, "max": most, "avg": sum / n}[name]
	if x == math.Trunc(x) {
		return int64(x)
	}
	return x
}
