package sim

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
)

// output is what is visible of each sink.
type output map[string][]string

func (w *world) output() output {
	o := output{}
	for name, t := range w.topics {
		o[name] = t.visible
	}
	for name, f := range w.files {
		o[name] = f.lines()
	}
	return o
}

// comparison is how lines are compared (promise D).
type comparison struct {
	spec    *Spec
	repeats bool // lines may come again
	whole   bool // all must be there
}

// differs tells how output differs from what is expected; "" if it does not.
func (c comparison) differs(want, got output) string {
	for _, sink := range slices.Sorted(maps.Keys(want)) {
		ordered := c.spec.Ordered && !c.repeats && !slices.Contains(c.spec.Unordered, sink)
		if text := c.lines(ordered, want[sink], got[sink]); text != "" {
			return fmt.Sprintf("sink %s: %s", sink, text)
		}
	}
	return ""
}

func (c comparison) lines(ordered bool, want, got []string) string {
	if ordered {
		return c.perKey(byKey(want), byKey(got))
	}
	wants, gots := counted(want), counted(got)
	for _, line := range slices.Sorted(maps.Keys(gots)) {
		if gots[line] > wants[line] && (!c.repeats || wants[line] == 0) {
			return fmt.Sprintf("%s is there %d times, and %d are expected", line, gots[line], wants[line])
		}
	}
	for _, line := range slices.Sorted(maps.Keys(wants)) {
		if c.whole && gots[line] < wants[line] {
			return fmt.Sprintf("%s is there %d times, and %d are expected", line, gots[line], wants[line])
		}
	}
	return ""
}

func (c comparison) perKey(want, got map[string][]string) string {
	for _, key := range slices.Sorted(maps.Keys(got)) {
		for i, line := range got[key] {
			if i >= len(want[key]) {
				return fmt.Sprintf("key %s has %s as line %d, and only %d are expected", key, line, i, len(want[key]))
			}
			if line != want[key][i] {
				return fmt.Sprintf("key %s has %s as line %d, and %s is expected", key, line, i, want[key][i])
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(want)) {
		if have := len(got[key]); c.whole && have < len(want[key]) {
			return fmt.Sprintf("key %s has %d lines, and %s is expected as the next", key, have, want[key][have])
		}
	}
	return ""
}

var keyPattern = regexp.MustCompile(`"(?:left_k|k|user)":("[^"]*"|null)`)

func byKey(lines []string) map[string][]string {
	keys := map[string][]string{}
	for _, line := range lines {
		key := ""
		if m := keyPattern.FindStringSubmatch(line); m != nil {
			key = m[1]
		}
		keys[key] = append(keys[key], line)
	}
	return keys
}

func counted(lines []string) map[string]int {
	counts := map[string]int{}
	for _, line := range lines {
		counts[line]++
	}
	return counts
}

// size is how many lines there are.
func (o output) size() (n int) {
	for _, lines := range o {
		n += len(lines)
	}
	return n
}

// least is the sink with the fewest lines, and how many.
func (o output) least() (sink string, n int) {
	sink = slices.MinFunc(slices.Sorted(maps.Keys(o)), func(a, b string) int { return cmp.Compare(len(o[a]), len(o[b])) })
	return sink, len(o[sink])
}
