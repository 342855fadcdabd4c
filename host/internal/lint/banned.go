package lint

import (
	"go/ast"
	"slices"
	"strings"
)

// ban says that names of a package of the standard library are used in some places only. Elsewhere what they give comes
// in through a constructor.
type ban struct {
	path       string
	only       []string // these names; none: the whole import
	but        []string // all names but these; a * at the end stands for any ending
	places     []string // patterns of folders or files where it may be used, besides tests and where things are wired
	everywhere bool     // it may be used nowhere
	instead    string
}

// wired are the places where programs begin: the command, what runs at development time, and guests, whose world the
// sandbox makes. Of bans only those that hold everywhere are meant for them.
var wired = []string{"cmd/**", "bench", "udfs/**", "abi/gen", "host/internal/**", "guest-sdk/go/main_stub.go"}

// diskPlaces are the leaves that may touch files.
var diskPlaces = []string{"host/connector/*", "host/state/*", "host/checkpoint/folder", "host/sandbox/cache.go", "host/sandbox/poison.go"}

var osHarmless = []string{
	"File", "FileInfo", "FileMode", "DirEntry", "PathError", "LinkError", "SyscallError", "Signal",
	"Err*", "O_*", "Mode*", "PathSeparator", "PathListSeparator", "DevNull", "IsPathSeparator",
}

var bans = []ban{
	{
		path:    "time",
		only:    []string{"Now", "Since", "Until", "After", "AfterFunc", "NewTimer", "NewTicker", "Tick", "Local"},
		places:  []string{"host/connector/*", "host/sim/**"},
		instead: "take a stream.Clock, and zones as arguments",
	},
	{path: "time", only: []string{"Sleep"}, everywhere: true, instead: "wait for the event itself, or use a clock that the test moves"},
	{path: "math/rand", but: []string{"New*", "Rand", "Source", "Source64", "Zipf"}, everywhere: true, instead: seedInstead},
	{path: "math/rand/v2", but: []string{"New*", "Rand", "Source", "PCG", "ChaCha8", "Zipf"}, everywhere: true, instead: seedInstead},
	{path: "crypto/rand", instead: "take a reader"},
	{path: "os", but: osHarmless, places: diskPlaces, instead: callerInstead},
	{path: "path/filepath", only: []string{"Abs", "EvalSymlinks", "Glob", "Walk", "WalkDir"}, places: diskPlaces, instead: callerInstead},
	{path: "io/ioutil", everywhere: true, instead: "use io and os"},
	{path: "os/exec", instead: "the engine starts no programs"},
	{path: "os/signal", instead: "take a context"},
	{path: "net", places: netPlaces, instead: "networks are for leaves"},
	{path: "net/http", places: netPlaces, instead: "networks are for leaves"},
	{path: "syscall", places: []string{"host/sandbox", "host/connector/file", "host/checkpoint/folder"}, instead: "the system is for leaves"},
	{path: "log", everywhere: true, instead: "use log/slog, by a logger that was handed in"},
	{path: "fmt", only: []string{"Print", "Printf", "Println"}, instead: "write to a writer that was handed in"},
	{path: "unsafe", places: []string{"guest-sdk/**"}, instead: "only guests need it"},
}

var netPlaces = []string{"host/connector/*", "host/server", "host/sim"}

const (
	seedInstead   = "use rand.New with a seed that is told, so that a run can be had again"
	callerInstead = "let the caller hand in what is needed"
)

// checkBanned looks for banned names, by whatever name a file imports their package.
func checkBanned(files []*file) []Problem {
	var problems []Problem
	for _, f := range files {
		if f.generated {
			continue
		}
		for i := range bans {
			if b := &bans[i]; b.applies(f) {
				problems = append(problems, b.check(f)...)
			}
		}
	}
	return problems
}

func (b *ban) applies(f *file) bool {
	if b.everywhere {
		return true
	}
	free := slices.Concat(wired, b.places)
	return !f.test && !matchesAny(free, f.dir) && !matchesAny(free, f.path)
}

func (b *ban) check(f *file) []Problem {
	var problems []Problem
	for _, spec := range f.syntax.Imports {
		if importPath(spec) != b.path {
			continue
		}
		switch name := importName(spec, b.path); {
		case b.only == nil && b.but == nil:
			problems = append(problems, f.problem(spec, b.path, "%s is not for %s: %s", b.path, f.dir, b.instead))
		case name == ".":
			problems = append(problems, f.problem(spec, b.path, "%s is imported without a name, which hides its uses", b.path))
		default:
			problems = append(problems, b.uses(f, name)...)
		}
	}
	return problems
}

// uses returns where banned names are used of the package that the file knows by name.
func (b *ban) uses(f *file, name string) []Problem {
	var problems []Problem
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		s, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		x, ok := s.X.(*ast.Ident)
		// An identifier with an object is a variable that hides the package.
		if ok && x.Name == name && x.Obj == nil && b.bans(s.Sel.Name) {
			full := b.path + "." + s.Sel.Name
			problems = append(problems, f.problem(s, full, "%s is not for %s: %s", full, f.dir, b.instead))
		}
		return true
	})
	return problems
}

func (b *ban) bans(name string) bool {
	if b.only != nil {
		return slices.Contains(b.only, name)
	}
	for _, pattern := range b.but {
		start, open := strings.CutSuffix(pattern, "*")
		if name == pattern || open && strings.HasPrefix(name, start) {
			return false
		}
	}
	return true
}
