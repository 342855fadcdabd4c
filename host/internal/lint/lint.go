package lint

import (
	"cmp"
	"fmt"
	"io/fs"
	"slices"
)

// Problem is one place where a rule is broken.
type Problem struct {
	// Rule is the name of the rule, as in Rules.
	Rule string
	// File is the path in the repository, Line the line in it.
	File string
	Line int
	// Name is what the problem is about: a function, a package, an import. With Rule and File it tells problems apart
	// when lines move.
	Name string
	// Text says what is wrong and what would be right.
	Text string
}

// String is the problem as compilers write theirs.
func (p Problem) String() string {
	return fmt.Sprintf("%s:%d: %s: %s", p.File, p.Line, p.Rule, p.Text)
}

// rule is one rule, over all files at once: some are about packages.
type rule struct {
	name  string
	check func([]*file) []Problem
}

var rules = []rule{
	{"layers", checkLayers},
	{"function-length", checkFunctionLength},
	{"file-length", checkFileLength},
	{"package-comment", checkPackageComment},
	{"doc", checkDoc},
	{"banned", checkBanned},
	{"goroutine", checkGoroutine},
	{"package-name", checkPackageName},
	{"init", checkInit},
	{"panic", checkPanic},
}

// Rules returns the names of all rules.
func Rules() []string {
	var names []string
	for _, r := range rules {
		names = append(names, r.name)
	}
	return names
}

// Check returns what is wrong in a repository, by file and line. An error means that it could not be read.
func Check(repository fs.FS) ([]Problem, error) {
	files, err := load(repository)
	if err != nil {
		return nil, err
	}
	var problems []Problem
	for _, r := range rules {
		for _, p := range r.check(files) {
			p.Rule = r.name
			problems = append(problems, p)
		}
	}
	slices.SortStableFunc(problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Text, b.Text))
	})
	return problems, nil
}
