package lint

import (
	"go/ast"
	"path"
	"slices"
	"strings"
)

// vague are names that say nothing of what a package is about; such packages grow without end.
var vague = []string{"common", "util", "utils", "types", "model", "models", "helper", "helpers", "misc", "shared", "base"}

func checkPackageName(files []*file) []Problem {
	var problems []Problem
	seen := map[string]bool{}
	for _, f := range files {
		name := strings.TrimSuffix(f.syntax.Name.Name, "_test")
		for _, n := range []string{name, path.Base(f.dir)} {
			if slices.Contains(vague, n) && !seen[f.dir] {
				seen[f.dir] = true
				problems = append(problems, f.problem(f.syntax.Name, n, "a package named %s is about nothing: name it for its domain", n))
			}
		}
	}
	return problems
}

// mayInit are where init functions are the way to register: a guest's main is never called.
var mayInit = []string{"udfs/**"}

func checkInit(files []*file) []Problem {
	var problems []Problem
	for _, f := range files {
		if f.generated || matchesAny(mayInit, f.dir) {
			continue
		}
		f.functions(func(fn *ast.FuncDecl) {
			if fn.Recv == nil && fn.Name.Name == "init" {
				problems = append(problems, f.problem(fn, "init", "no init functions: what is wired together is wired in cmd"))
			}
		})
	}
	return problems
}

// checkPanic wants a comment that says why a panic is no error: beside it, directly above, in the comment of its function,
// or in that of the type that it panics with, where these say the word.
func checkPanic(files []*file) []Problem {
	var problems []Problem
	told := panicTypes(files)
	for _, f := range files {
		if f.generated || f.test {
			continue
		}
		commented := f.commentedLines()
		f.functions(func(fn *ast.FuncDecl) {
			if strings.Contains(fn.Doc.Text(), "panic") {
				return
			}
			for _, call := range panics(fn) {
				begin, end := f.line(call.Pos()), f.line(call.End())
				if commented[begin-1] || commented[begin] || commented[end] || told[f.dir+"."+literalType(call)] {
					continue
				}
				problems = append(problems, f.problem(call, functionName(fn),
					"a panic in %s without a comment that says why it is no error", functionName(fn)))
			}
		})
	}
	return problems
}

// panics returns the calls of panic in a function.
func panics(fn *ast.FuncDecl) []*ast.CallExpr {
	var calls []*ast.CallExpr
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		// An identifier with an object is a variable that hides the built-in function.
		if called, ok := call.Fun.(*ast.Ident); ok && called.Name == "panic" && called.Obj == nil && len(call.Args) == 1 {
			calls = append(calls, call)
		}
		return true
	})
	return calls
}

// literalType is the type of which a call's first argument is a literal or the address of one, "" if it is neither.
func literalType(call *ast.CallExpr) string {
	x := call.Args[0]
	if address, ok := x.(*ast.UnaryExpr); ok {
		x = address.X
	}
	if literal, ok := x.(*ast.CompositeLit); ok {
		if t, ok := literal.Type.(*ast.Ident); ok {
			return t.Name
		}
	}
	return ""
}

// panicTypes are the types, as folder.Name, whose comments speak of panics.
func panicTypes(files []*file) map[string]bool {
	told := map[string]bool{}
	for _, f := range files {
		for _, d := range f.syntax.Decls {
			d, ok := d.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, s := range d.Specs {
				if t, ok := s.(*ast.TypeSpec); ok && strings.Contains(d.Doc.Text()+t.Doc.Text(), "panic") {
					told[f.dir+"."+t.Name.Name] = true
				}
			}
		}
	}
	return told
}

// commentedLines are the lines on which comments end.
func (f *file) commentedLines() map[int]bool {
	lines := map[int]bool{}
	for _, c := range f.syntax.Comments {
		lines[f.line(c.End())] = true
	}
	return lines
}
