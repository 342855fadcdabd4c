package kill

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Seen is a result where it stands in the output.
type Seen struct {
	Result
	Partition int32
	Offset    int64
}

// String is the result and its place.
func (s Seen) String() string { return fmt.Sprintf("%+v at %d:%d", s.Result, s.Partition, s.Offset) }

// Findings are what is wrong with an output.
type Findings struct {
	Lost       []Result // as their windows end
	Twice      []Seen   // all but the first of each
	Strange    []Seen   // not what any window comes to
	OutOfOrder []Seen   // behind a later one of its key, or in another partition than that
}

// Compare holds an output, in the order of each partition, against what is expected of it. Results of a key must be in one
// partition, in the order of their windows' ends.
func Compare(want []Result, got []Seen) Findings {
	var f Findings
	missing := make(map[Result]bool, len(want))
	for _, r := range want {
		missing[r] = true
	}
	last := map[string]Seen{}
	for _, s := range got {
		switch open, known := missing[s.Result]; {
		case !known:
			f.Strange = append(f.Strange, s)
		case !open:
			f.Twice = append(f.Twice, s)
		}
		if _, known := missing[s.Result]; known {
			missing[s.Result] = false
		}
		before, some := last[s.Key]
		if some && (before.Partition != s.Partition || before.End > s.End) {
			f.OutOfOrder = append(f.OutOfOrder, s)
		}
		last[s.Key] = s
	}
	for _, r := range want {
		if missing[r] {
			f.Lost = append(f.Lost, r)
		}
	}
	slices.SortFunc(f.Lost, func(a, b Result) int { return cmp.Or(cmp.Compare(a.End, b.End), cmp.Compare(a.Key, b.Key)) })
	return f
}

// None tells whether nothing was found.
func (f Findings) None() bool {
	return len(f.Lost)+len(f.Twice)+len(f.Strange)+len(f.OutOfOrder) == 0
}

// shownMax is how many of a kind are shown one by one.
const shownMax = 5

// String tells how many there are, and of each kind some.
func (f Findings) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d lost, %d twice, %d strange, %d out of order", len(f.Lost), len(f.Twice), len(f.Strange), len(f.OutOfOrder))
	if n := len(f.Lost); n > 0 {
		fmt.Fprintf(&b, "\n  lost are windows that end from %d to %d", f.Lost[0].End, f.Lost[n-1].End)
	}
	for _, r := range f.Lost[:min(shownMax, len(f.Lost))] {
		fmt.Fprintf(&b, "\n  lost: %+v", r)
	}
	show(&b, "twice", f.Twice)
	show(&b, "strange", f.Strange)
	show(&b, "out of order", f.OutOfOrder)
	return b.String()
}

func show(b *strings.Builder, what string, seen []Seen) {
	for _, s := range seen[:min(shownMax, len(seen))] {
		fmt.Fprintf(b, "\n  %s: %s", what, s)
	}
}
