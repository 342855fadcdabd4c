package kill

import (
	"fmt"
	"slices"
	"strings"
)

// Report gathers what was done to a job.
type Report struct {
	Lives []Life
}

// Add adds a life.
func (r *Report) Add(l Life) { r.Lives = append(r.Lives, l) }

// Kills is how often the command was killed as was its fate.
func (r *Report) Kills() int { return r.count(func(l Life) bool { return l.End == Killed }) }

func (r *Report) count(is func(Life) bool) (n int) {
	for _, l := range r.Lives {
		if is(l) {
			n++
		}
	}
	return n
}

// at is how often the command was killed at a point.
func (r *Report) at(p Point) int {
	return r.count(func(l Life) bool { return l.End == Killed && l.Fate.Point == p })
}

// Missed are the points at which no kill was made.
func (r *Report) Missed() []Point {
	return slices.DeleteFunc(slices.Clone(Points), func(p Point) bool { return r.at(p) > 0 })
}

// killsFromAll is from how many kills on there must be some at all points.
const killsFromAll = 20

// Enough says that there are as many kills as were asked for and, if those are not few, some at every point: which life
// comes to its point is chance. At twice the number it is enough all the same, and Missed tells.
func (r *Report) Enough(kills int) bool {
	n := r.Kills()
	return n >= 2*kills || n >= kills && (n < killsFromAll || len(r.Missed()) == 0)
}

// String tells which kills were made, and how else lives ended.
func (r *Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d kills: %d at random times", r.Kills(),
		r.count(func(l Life) bool { return l.End == Killed && l.Fate.Point == "" }))
	for _, p := range Points {
		fmt.Fprintf(&b, ", %d at %s", r.at(p), p)
	}
	fmt.Fprintf(&b, "; %d of a broker", r.count(func(l Life) bool { return l.Broker }))
	for _, e := range []End{Done, Failed, Endless} {
		if n := r.count(func(l Life) bool { return l.End == e }); n > 0 {
			fmt.Fprintf(&b, "; %d %s", n, e)
		}
	}
	return b.String()
}

// History lists the lives and what was said in each, to see what led to a finding.
func (r *Report) History() string {
	var b strings.Builder
	for i, l := range r.Lives {
		fmt.Fprintf(&b, "%d. %s\n", i+1, l)
		for line := range strings.Lines(l.Said) {
			b.WriteString("    " + line)
		}
	}
	return b.String()
}
