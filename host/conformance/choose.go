package conformance

import (
	"fmt"
	"slices"
	"strings"

	"github.com/wasmstream/wasmstream/abi"
)

// Choose are the suites that a module is for. Suites may have functions of the same name,
// so that one name says little: a suite of which the module has a function as the suite's
// manifest has it goes before those of which it has only names, and one whose functions are
// all among another's is not meant. If two suites have the same of the module's functions,
// that is an error: somebody has to say which.
func Choose(suites []Suite, m *abi.Manifest) ([]Suite, error) {
	matches := make([]match, 0, len(suites))
	isAlike := false
	for _, s := range suites {
		x := newMatch(s, m)
		isAlike = isAlike || len(x.alike) > 0
		matches = append(matches, x)
	}
	if !isAlike {
		for i := range matches {
			matches[i].alike = matches[i].named
		}
	}
	var chosen []Suite
	for i, x := range matches {
		switch same := x.same(matches[i+1:]); {
		case len(x.alike) == 0 || x.isWithin(matches):
		case same != "":
			return nil, fmt.Errorf("it has of the suite %s the same functions as of %s: %s; --suite says which is meant",
				x.suite.Name, same, strings.Join(x.alike, ", "))
		default:
			chosen = append(chosen, x.suite)
		}
	}
	return chosen, nil
}

// match is what a module has of a suite: functions that have a name of it, and those of
// them that are as its manifest has them.
type match struct {
	suite        Suite
	named, alike []string
}

func newMatch(s Suite, m *abi.Manifest) match {
	x := match{suite: s}
	for _, f := range s.Manifest.GetFunctions() {
		i := m.FunctionIndex(f.GetName())
		if i < 0 {
			continue
		}
		x.named = append(x.named, f.GetName())
		if f.Differs(m.GetFunctions()[i]) == "" {
			x.alike = append(x.alike, f.GetName())
		}
	}
	return x
}

// isWithin tells whether another suite has all these functions of the module, and more.
func (x match) isWithin(matches []match) bool {
	return slices.ContainsFunc(matches, func(other match) bool {
		return len(other.alike) > len(x.alike) && contains(other.alike, x.alike)
	})
}

// same is another suite that has these functions and no others of the module.
func (x match) same(matches []match) string {
	for _, other := range matches {
		if len(other.alike) == len(x.alike) && contains(other.alike, x.alike) {
			return other.suite.Name
		}
	}
	return ""
}

func contains(all, some []string) bool {
	return !slices.ContainsFunc(some, func(name string) bool { return !slices.Contains(all, name) })
}
