package lint

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// file is one parsed Go file.
type file struct {
	path      string // in the repository
	dir       string // its package's folder, "." for the top
	test      bool   // _test.go
	generated bool
	lines     int
	set       *token.FileSet
	syntax    *ast.File
}

// load parses the Go files of a repository, apart from those that the go command leaves out of packages too: folders
// testdata and vendor, and names that begin with a dot or an underscore. Build constraints are not looked at.
func load(repository fs.FS) ([]*file, error) {
	var files []*file
	set := token.NewFileSet()
	err := fs.WalkDir(repository, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		hidden := p != "." && strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_")
		switch {
		case d.IsDir() && (hidden || name == "testdata" || name == "vendor"):
			return fs.SkipDir
		case d.IsDir() || hidden || path.Ext(name) != ".go":
			return nil
		}
		text, err := fs.ReadFile(repository, p)
		if err != nil {
			return err
		}
		syntax, err := parser.ParseFile(set, p, text, parser.ParseComments)
		if err != nil {
			return fmt.Errorf("parse: %w", err)
		}
		files = append(files, &file{
			path:      p,
			dir:       path.Dir(p),
			test:      strings.HasSuffix(name, "_test.go"),
			generated: ast.IsGenerated(syntax),
			lines:     bytes.Count(text, []byte{'\n'}),
			set:       set,
			syntax:    syntax,
		})
		return nil
	})
	return files, err
}

// problem is a problem at a node of the file.
func (f *file) problem(at ast.Node, name, format string, args ...any) Problem {
	return Problem{File: f.path, Line: f.line(at.Pos()), Name: name, Text: fmt.Sprintf(format, args...)}
}

func (f *file) line(p token.Pos) int { return f.set.Position(p).Line }

// imports maps the names by which the file knows packages to their paths.
func (f *file) imports() map[string]string {
	names := map[string]string{}
	for _, spec := range f.syntax.Imports {
		p := importPath(spec)
		names[importName(spec, p)] = p
	}
	return names
}

func importPath(spec *ast.ImportSpec) string {
	p, err := strconv.Unquote(spec.Path.Value)
	if err != nil {
		return spec.Path.Value // the parser took it, so this does not happen
	}
	return p
}

// importName is the name that the file gives to the package; without one, the last element of the path that is not a
// major version, as packages are named here and in the standard library.
func importName(spec *ast.ImportSpec, p string) string {
	if spec.Name != nil {
		return spec.Name.Name
	}
	base := path.Base(p)
	if len(base) > 1 && base[0] == 'v' && strings.Trim(base[1:], "0123456789") == "" {
		base = path.Base(path.Dir(p))
	}
	return base
}

// functions calls visit for each function and method with a body.
func (f *file) functions(visit func(*ast.FuncDecl)) {
	for _, d := range f.syntax.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil {
			visit(fn)
		}
	}
}

// functionName is Name, or Type.Name for a method.
func functionName(fn *ast.FuncDecl) string {
	if r := receiver(fn); r != "" {
		return r + "." + fn.Name.Name
	}
	return fn.Name.Name
}

// receiver is the name of a method's type, "" for a function.
func receiver(fn *ast.FuncDecl) string {
	if fn.Recv == nil || len(fn.Recv.List) == 0 {
		return ""
	}
	t := fn.Recv.List[0].Type
	for {
		switch of := t.(type) {
		case *ast.StarExpr:
			t = of.X
		case *ast.IndexExpr:
			t = of.X
		case *ast.IndexListExpr:
			t = of.X
		case *ast.Ident:
			return of.Name
		default:
			return ""
		}
	}
}

// matches says whether a path is meant by a pattern: the same path; with * for one element; or with /** at the end for
// a folder and everything below it.
func matches(pattern, p string) bool {
	if folder, ok := strings.CutSuffix(pattern, "/**"); ok {
		for ; ; p = path.Dir(p) {
			if matches(folder, p) {
				return true
			}
			if p == path.Dir(p) {
				return false
			}
		}
	}
	ok, err := path.Match(pattern, p)
	return ok && err == nil
}

func matchesAny(patterns []string, p string) bool {
	for _, pattern := range patterns {
		if matches(pattern, p) {
			return true
		}
	}
	return false
}
