package reference

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
)

// tree is a mapping of the job file.
type tree yaml.MapSlice

func (t tree) get(name string) any {
	for _, item := range t {
		if item.Key == name {
			return item.Value
		}
	}
	return nil
}

func (t tree) has(name string) bool { return t.get(name) != nil }

func (t tree) sub(name string) tree { return asTree(t.get(name)) }

func asTree(v any) tree {
	m, _ := v.(yaml.MapSlice)
	return tree(m)
}

func (t tree) text(name string) string {
	if v := t.get(name); v != nil {
		return fmt.Sprint(v)
	}
	return ""
}

// list is a list of names; a single name may stand without brackets.
func (t tree) list(name string) []string {
	var names []string
	switch v := t.get(name).(type) {
	case []any:
		for _, n := range v {
			names = append(names, fmt.Sprint(n))
		}
	case string:
		names = append(names, v)
	}
	return names
}

func (t tree) flag(name string) bool { return t.get(name) == true }

func (t tree) number(name string) float64 {
	v, _ := strconv.ParseFloat(t.text(name), 64)
	return v
}

// duration is in milliseconds. Job files may also count days.
func (t tree) duration(name string) int64 {
	text := t.text(name)
	sign := int64(1)
	if rest, ok := strings.CutPrefix(text, "-"); ok {
		text, sign = rest, -1
	}
	var days int64
	if d, rest, ok := strings.Cut(text, "d"); ok {
		days, _ = strconv.ParseInt(d, 10, 64)
		text = rest
	}
	rest, _ := time.ParseDuration(text)
	return sign * (days*24*60*60*1000 + rest.Milliseconds())
}

// step is what a step of the job does.
type step struct {
	name, kind string // kind: "", window, window-join or interval-join
	from       []string
	sides      [2][]string // of a join
	keys       [2][]string // the columns of the keys; of a window only the first
	window     windowing
	aggregates [][2]string // column and call
	mode       string      // append, update, changelog or complete
	joinType   string
	bounds     [2]int64 // of an interval join, both inclusive
	reversed   bool     // the bounds as they are written
	late       [2]string
	downstream bool // it reads what other steps compute
}

type source struct {
	name      string
	schema    schema
	eventTime int // column, -1: none
}

type sink struct {
	name string
	from []string
}

// plan is a job as the reference understands it.
type plan struct {
	sources []source
	steps   []*step
	sinks   []sink
}

func parsePlan(text string) (*plan, error) {
	var m yaml.MapSlice
	if err := yaml.UnmarshalWithOptions([]byte(text), &m, yaml.UseOrderedMap()); err != nil {
		return nil, err
	}
	p := &plan{}
	for _, item := range tree(m).sub("sources") {
		t := asTree(item.Value)
		s := source{name: fmt.Sprint(item.Key)}
		for _, c := range t.sub("schema") {
			s.schema.names = append(s.schema.names, fmt.Sprint(c.Key))
			s.schema.types = append(s.schema.types, strings.ToUpper(fmt.Sprint(c.Value)))
		}
		s.eventTime = s.schema.index(t.text("event-time"))
		p.sources = append(p.sources, s)
	}
	for _, item := range tree(m).sub("steps") {
		p.steps = append(p.steps, newStep(fmt.Sprint(item.Key), asTree(item.Value)))
	}
	for _, item := range tree(m).sub("sinks") {
		p.sinks = append(p.sinks, sink{fmt.Sprint(item.Key), asTree(item.Value).list("from")})
	}
	return p, nil
}

func newStep(name string, t tree) *step {
	s := &step{name: name, from: t.list("from"), mode: "append", joinType: "inner"}
	s.keys[0] = t.list("key-by")
	if t.has("output") {
		s.mode = t.text("output")
	}
	if t.has("window") {
		s.kind, s.window = "window", newWindowing(t.sub("window"))
		s.late[0] = t.sub("window").text("late-output")
	}
	for _, a := range t.sub("aggregate") {
		s.aggregates = append(s.aggregates, [2]string{fmt.Sprint(a.Key), fmt.Sprint(a.Value)})
	}
	for _, kind := range []string{"window-join", "interval-join"} {
		if !t.has(kind) {
			continue
		}
		join := t.sub(kind)
		s.kind = kind
		s.sides = [2][]string{join.list("left"), join.list("right")}
		s.keys = [2][]string{join.list("left-key"), join.list("right-key")}
		if join.has("type") {
			s.joinType = join.text("type")
		}
		s.late = [2]string{join.text("late-left"), join.text("late-right")}
		s.bounds = [2]int64{join.duration("lower"), join.duration("upper")}
		s.reversed = s.bounds[0] > s.bounds[1]
		// Exclusive bounds are inclusive ones a millisecond further in. What
		// is left may be empty: that is no mistake in Flink.
		if join.flag("lower-exclusive") {
			s.bounds[0]++
		}
		if join.flag("upper-exclusive") {
			s.bounds[1]--
		}
	}
	return s
}

// refusal is the word for what is wrong with the job, "" if it may run.
func (p *plan) refusal() string {
	for _, s := range p.steps {
		if s.reversed {
			return "lower"
		}
		if s.kind == "window" || s.kind == "window-join" {
			if word := s.window.refusal(); word != "" {
				return word
			}
		}
	}
	return ""
}
