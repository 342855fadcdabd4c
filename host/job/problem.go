package job

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Problem is one thing that is wrong, or for a warning suspicious, with a job.
type Problem struct {
	File    string
	Line    int    // from 1; 0 when the job as a whole is meant
	Column  int    // from 1, in characters
	Field   string // dotted path, such as steps.hourly.window.tumbling.size
	Message string // a full sentence without its full stop
	// Unsupported marks what the language has and the engine does not offer yet.
	Unsupported bool
}

// String is file:line:column: field: message.
func (p Problem) String() string {
	var b strings.Builder
	if p.File != "" {
		b.WriteString(p.File + ":")
	}
	if p.Line > 0 {
		fmt.Fprintf(&b, "%d:%d:", p.Line, p.Column)
	}
	if b.Len() > 0 {
		b.WriteByte(' ')
	}
	if p.Field != "" {
		b.WriteString(p.Field + ": ")
	}
	b.WriteString(p.Message)
	return b.String()
}

// Problems is the error that Parse returns: all problems, by line.
type Problems []Problem

// Error is a line for each problem.
func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i := range p {
		lines[i] = p[i].String()
	}
	return strings.Join(lines, "\n")
}

// Unsupported tells whether the job only uses what is not offered yet, and is
// otherwise sound.
func (p Problems) Unsupported() bool {
	return len(p) > 0 && !slices.ContainsFunc(p, func(q Problem) bool { return !q.Unsupported })
}

// sortProblems orders by place, and drops what was said twice of one place.
func sortProblems(list []Problem) []Problem {
	slices.SortStableFunc(list, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return slices.Compact(list)
}
