package lint

import "go/ast"

// The limits, in lines. A function's begin at func and end at its brace.
const (
	functionLinesMax = 70
	// A test may be long by its table, which is not hard to read.
	testFunctionLinesMax = 120
	fileLinesMax         = 600
)

func checkFunctionLength(files []*file) []Problem {
	var problems []Problem
	for _, f := range files {
		limit := functionLinesMax
		if f.test {
			limit = testFunctionLinesMax
		}
		if f.generated {
			continue
		}
		f.functions(func(fn *ast.FuncDecl) {
			if lines := f.line(fn.End()) - f.line(fn.Type.Pos()) + 1; lines > limit {
				name := functionName(fn)
				problems = append(problems, f.problem(fn.Name, name, "%s has %d lines; at most %d are easy to read", name, lines, limit))
			}
		})
	}
	return problems
}

func checkFileLength(files []*file) []Problem {
	var problems []Problem
	for _, f := range files {
		if !f.generated && f.lines > fileLinesMax {
			problems = append(problems, f.problem(f.syntax.Name, f.path, "the file has %d lines; at most %d are easy to read", f.lines, fileLinesMax))
		}
	}
	return problems
}
