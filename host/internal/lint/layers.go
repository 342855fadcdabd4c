package lint

import (
	"go/ast"
	"strings"
)

const module = "github.com/wasmstream/wasmstream/"

// layer is the place of packages: they may import those of lower levels of the same side, and no others. So packages of
// one level never import each other.
type layer struct {
	packages string // a pattern of folders
	side     side
	level    int
}

// side is on which side of the ABI a package runs. Only bytes cross it.
type side string

const (
	onHost  side = "the host's side"
	inGuest side = "the guest's side"
)

// The first row that matches counts.
var layers = []layer{
	// L0: vocabulary and contracts.
	{"host/stream", onHost, 0},
	{"abi", onHost, 0},
	{"abi/conform", onHost, 1},
	{"abi/cases", onHost, 1},
	{"abi/gen", onHost, 2},
	{"host/connector", onHost, 1},
	{"host/format", onHost, 1},
	// L1: siblings.
	{"host/operator/process", onHost, 3}, // on a state backend
	{"host/operator/*", onHost, 2},
	{"host/state", onHost, 2},
	{"host/state/*", onHost, 3},
	{"host/checkpoint", onHost, 2},
	{"host/checkpoint/*", onHost, 3},
	{"host/sandbox/opcode", onHost, 0},
	{"host/sandbox/meter", onHost, 1},
	{"host/sandbox/refine", onHost, 1},
	{"host/sandbox", onHost, 2},
	{"host/connector/*", onHost, 2},
	{"host/format/*", onHost, 2},
	// L2 to L5, and the top.
	{"host/guest", onHost, 4},
	{"host/job", onHost, 4},
	{"host/conformance", onHost, 5},
	{"host/recording", onHost, 5},
	{"host/runtime", onHost, 5},
	{"host/scenario", onHost, 6},
	{"host/server", onHost, 7},
	{"cmd/*", onHost, 9},
	{"udfs/build", onHost, 9},
	{"bench", onHost, 9},

	{"guest-sdk/go/internal/raw", inGuest, 0},
	{"guest-sdk/go/internal/cases", inGuest, 1},
	{"guest-sdk/go", inGuest, 1},
	{"guest-sdk/go/wasmstreamtest", inGuest, 2},
	{"udfs/*/go", inGuest, 3},
	{"udfs/examples/*/go", inGuest, 3},
}

// forTests are packages that only tests import, wherever they are; they may import anything of ours.
var forTests = []string{"host/sim", "host/sim/**", "host/internal/**", "host/*/*test"}

// choices are implementations behind a contract: only the command and tests choose among them.
var choices = []string{"host/connector/*", "host/format/*", "host/state/*", "host/checkpoint/*"}

// library is a module of others with the packages that may import it; tests and what only they import may too unless it is
// kept.
type library struct {
	path string
	by   []string
	kept bool // from tests as well
}

// RATIONALE.md says why each is here. Libraries that only tests use need no row.
var libraries = []library{
	{"github.com/tetratelabs/wazero", []string{"host/sandbox"}, true},
	{"google.golang.org/protobuf", []string{"abi", "host/checkpoint", "host/sandbox", "host/format/*", "cmd/*"}, false},
	{"github.com/goccy/go-yaml", []string{"abi/gen", "host/job", "host/scenario"}, false},
	{"github.com/go-json-experiment/json", []string{"host/format/json"}, false},
	{"github.com/alecthomas/kong", []string{"cmd/*"}, false},
	{"golang.org/x/term", []string{"cmd/*"}, false},
	{"golang.org/x/sys", []string{"host/sandbox", "cmd/*"}, false},
	{"golang.org/x/tools/txtar", []string{"host/scenario", "cmd/*"}, false},
	{"github.com/google/go-cmp", []string{"host/scenario"}, false},
	{"github.com/twmb/franz-go", []string{"host/connector/kafka"}, false},
	{"github.com/prometheus/client_golang", []string{"host/server"}, false},
}

func layerOf(dir string) *layer {
	for i := range layers {
		if matches(layers[i].packages, dir) {
			return &layers[i]
		}
	}
	return nil
}

// checkLayers wants imports to point down and libraries to stay where they were let in.
func checkLayers(files []*file) []Problem {
	var problems []Problem
	placed := map[string]bool{}
	for _, f := range files {
		support := matchesAny(forTests, f.dir)
		if !placed[f.dir] && !support && layerOf(f.dir) == nil {
			problems = append(problems, f.problem(f.syntax, f.dir,
				"package %s has no place: give it a row in the table of layers, or move it", f.dir))
		}
		placed[f.dir] = true
		for _, spec := range f.syntax.Imports {
			if text := wrongImport(f, importPath(spec), support); text != "" {
				problems = append(problems, f.problem(spec, importPath(spec), "%s", text))
			}
		}
	}
	return problems
}

// wrongImport says what is wrong with an import, "" if nothing is.
func wrongImport(f *file, imported string, support bool) string {
	to, ours := strings.CutPrefix(imported, module)
	standard := !strings.Contains(strings.Split(imported, "/")[0], ".")
	switch {
	case imported == "C":
		return "cgo is not used: one static binary"
	case standard:
		return ""
	case !ours:
		return wrongLibrary(f, imported, f.test || support)
	case f.test || support:
		return "" // Go itself refuses cycles
	case matchesAny(forTests, to):
		return to + " is for tests only"
	}
	from, at := layerOf(f.dir), layerOf(to)
	switch {
	case from == nil || at == nil:
		return "" // told once, at the package that has no place
	case from.side != at.side:
		return f.dir + " runs on " + string(from.side) + ", " + to + " on " + string(at.side) + "; only bytes cross the ABI"
	case at.level == from.level:
		return to + " is a sibling of " + f.dir + "; siblings do not import each other"
	case at.level > from.level:
		return to + " is above " + f.dir + "; imports point down"
	case matchesAny(choices, to) && !matches("cmd/*", f.dir):
		return to + " is an implementation; only cmd chooses among them"
	}
	return ""
}

func wrongLibrary(f *file, imported string, forTests bool) string {
	for _, l := range libraries {
		if imported != l.path && !strings.HasPrefix(imported, l.path+"/") {
			continue
		}
		if matchesAny(l.by, f.dir) || forTests && !l.kept {
			return ""
		}
		return l.path + " belongs to " + strings.Join(l.by, ", ") + " alone"
	}
	if forTests {
		return ""
	}
	return imported + " has no row in the table of libraries"
}

// checkGoroutine wants goroutines only where tasks are driven or I/O waits: everything else is stepped.
func checkGoroutine(files []*file) []Problem {
	var problems []Problem
	for _, f := range files {
		if f.test || matchesAny(startsGoroutines, f.dir) {
			continue
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			if g, ok := n.(*ast.GoStmt); ok {
				problems = append(problems, f.problem(g, f.dir,
					"%s starts no goroutines: host/runtime drives tasks, connectors wait for I/O", f.dir))
			}
			return true
		})
	}
	return problems
}

var startsGoroutines = []string{"cmd/*", "host/runtime", "host/server", "host/connector/*", "host/sim/**", "host/internal/**"}
