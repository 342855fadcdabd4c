package lint

import (
	"go/ast"
	"go/token"
	"regexp"
)

// checkPackageComment wants one comment for each package, so that there is one place to read what it promises.
func checkPackageComment(files []*file) []Problem {
	var problems []Problem
	first := map[string]*file{}   // the first file of a folder's package, in order
	comment := map[string]*file{} // the one with its comment
	var dirs []string
	for _, f := range files {
		if f.test {
			continue
		}
		if first[f.dir] == nil {
			first[f.dir] = f
			dirs = append(dirs, f.dir)
		}
		switch other := comment[f.dir]; {
		case f.syntax.Doc == nil:
		case other != nil:
			problems = append(problems, f.problem(f.syntax.Name, f.dir, "a second package comment; the first is in %s", other.path))
		default:
			comment[f.dir] = f
		}
	}
	for _, dir := range dirs {
		if f := first[dir]; comment[dir] == nil {
			problems = append(problems, f.problem(f.syntax.Name, dir, "package %s has no comment that says what it promises", f.syntax.Name.Name))
		}
	}
	return problems
}

// fieldsToo are packages for users, where fields need comments as well; elsewhere a struct's own comment tells of them.
var fieldsToo = []string{"guest-sdk/go"}

// checkDoc wants a comment for every name that other packages can use. Names that stand together, without an empty line
// between them, may share one; a field may also be told of in the comment of its type.
func checkDoc(files []*file) []Problem {
	var problems []Problem
	for _, f := range files {
		if f.test || f.generated || f.syntax.Name.Name == "main" {
			continue
		}
		for _, d := range f.syntax.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				r := receiver(d)
				if d.Name.IsExported() && (r == "" || ast.IsExported(r)) && d.Doc == nil {
					problems = append(problems, undocumented(f, d.Name, functionName(d)))
				}
			case *ast.GenDecl:
				problems = append(problems, checkDeclaration(f, d)...)
			}
		}
	}
	return problems
}

func undocumented(f *file, at ast.Node, name string) Problem {
	return f.problem(at, name, "%s is exported and has no comment", name)
}

func checkDeclaration(f *file, d *ast.GenDecl) []Problem {
	var problems []Problem
	group := grouped{file: f, all: d.Doc != nil && d.Tok != token.TYPE}
	for _, s := range d.Specs {
		switch s := s.(type) {
		case *ast.ValueSpec:
			told := group.next(s, s.Doc, s.Comment)
			for _, n := range s.Names {
				if n.IsExported() && !told {
					problems = append(problems, undocumented(f, n, n.Name))
				}
			}
		case *ast.TypeSpec:
			if !s.Name.IsExported() {
				continue
			}
			doc := s.Doc
			if doc == nil && !d.Lparen.IsValid() {
				doc = d.Doc
			}
			if doc == nil && s.Comment == nil {
				problems = append(problems, undocumented(f, s.Name, s.Name.Name))
			}
			problems = append(problems, checkMembers(f, s, doc.Text())...)
		}
	}
	return problems
}

// checkMembers looks at the fields of a struct and the methods of an interface.
func checkMembers(f *file, s *ast.TypeSpec, doc string) []Problem {
	var members *ast.FieldList
	switch t := s.Type.(type) {
	case *ast.StructType:
		if !matchesAny(fieldsToo, f.dir) {
			return nil
		}
		members = t.Fields
	case *ast.InterfaceType:
		members = t.Methods
	default:
		return nil
	}
	var problems []Problem
	group := grouped{file: f}
	for _, m := range members.List {
		told := group.next(m, m.Doc, m.Comment)
		for _, n := range m.Names {
			if n.IsExported() && !told && !mentions(doc, n.Name) {
				problems = append(problems, undocumented(f, n, s.Name.Name+"."+n.Name))
			}
		}
	}
	return problems
}

func mentions(doc, name string) bool {
	return regexp.MustCompile(`\b` + regexp.QuoteMeta(name) + `\b`).MatchString(doc)
}

// grouped walks along names that may share a comment.
type grouped struct {
	file *file
	all  bool // all of them do
	told bool // those of the group at hand do
	end  int  // its last line so far
}

// next says whether a comment tells of the next declaration: its own, or that of the group that it goes on with.
func (g *grouped) next(n ast.Node, doc, beside *ast.CommentGroup) bool {
	begin := g.file.line(n.Pos())
	if doc != nil {
		begin = g.file.line(doc.Pos())
	}
	if begin > g.end+1 {
		g.told = false
	}
	g.told = g.told || doc != nil
	g.end = g.file.line(n.End())
	if beside != nil {
		g.end = max(g.end, g.file.line(beside.End()))
	}
	return g.all || g.told || beside != nil
}
