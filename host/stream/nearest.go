package stream

import (
	"slices"
	"strings"
)

// Nearest returns the candidate that name is most probably a misspelling of, or
// "" when none is near. Errors about names use it throughout.
func Nearest(name string, candidates []string) string {
	best, least := "", len(name)/3+2
	lower, table := strings.ToLower(name), rows{}
	for _, c := range candidates {
		if max(len(name)-len(c), len(c)-len(name)) >= least {
			continue // the difference in length alone is too much; a name may be long
		}
		if d := table.distance(lower, strings.ToLower(c)); d < least && d < max(len(name), len(c)) {
			best, least = c, d
		}
	}
	return best
}

// rows are the three rows of the table that distance fills, kept for the next one:
// who is asked about hostile names must not allocate for each candidate.
type rows [3][]int

// distance is the optimal string alignment distance: insertions, deletions,
// substitutions and swaps of neighbours.
func (r *rows) distance(a, b string) int {
	for i := range r {
		r[i] = slices.Grow(r[i][:0], len(b)+1)[:len(b)+1]
	}
	before, last, row := r[0], r[1], r[2]
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
