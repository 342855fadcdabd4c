package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/wasmstream/wasmstream/abi"
)

// offered are the languages that have templates, with the program that they need beside Go.
var offered = map[string]string{"go": "go", "c": "clang-19", "rust": "cargo"}

// TestNewFunction makes a function of each role in each language, and what its Makefile makes: it builds, its cases and
// its scenario pass, natively and in Wasm, and its job runs. A module in Go takes long to be compiled, one in Rust to be
// built: of most roles in these only the cases are played, natively, unless WASMSTREAM_ALL_EXAMPLES is set.
func TestNewFunction(t *testing.T) {
	for language, program := range offered {
		for _, role := range abi.Roles {
			t.Run(language+" "+role, func(t *testing.T) {
				if _, err := exec.LookPath(program); err != nil {
					if os.Getenv("WASMSTREAM_REQUIRE_TOOLS") == "1" {
						t.Fatal(err)
					}
					t.Skip("SKIPPED: ", err)
				}
				folder := t.TempDir()
				sdk, err := filepath.Abs(filepath.Join("../../guest-sdk", language))
				if err != nil {
					t.Fatal(err)
				}
				name := "my-" + role
				run(t, folder, "new", "function", name, "--language", language, "--role", role, "--sdk", sdk).expect(t, 0)
				made := filepath.Join(folder, name)
				built := []string{abi.RoleMap, abi.RoleTrigger, abi.RoleProcess}
				if native := natively[language]; native != nil && !slices.Contains(built, role) && os.Getenv("WASMSTREAM_ALL_EXAMPLES") == "" {
					native(t, made)
					return
				}
				makeIn(t, made, "test")
				makeIn(t, made, "run")
				o := run(t, made, "module", "inspect", "--json", name+".wasm")
				if o.expect(t, 0); !strings.Contains(o.stdout, `"name": "name"`) {
					t.Error("the module has no names of functions, which a fault's backtrace shows")
				}
				results, err := filepath.Glob(filepath.Join(made, "out/result.*"))
				if err != nil || len(results) != 1 || read(t, results[0]) == "" {
					t.Errorf("the job's output is empty: %v, %v", results, err)
				}
			})
		}
	}
}

// TestNewFunctionInCxx: what is made for C is C++17, too.
func TestNewFunctionInCxx(t *testing.T) {
	if _, err := exec.LookPath(offered["c"]); err != nil {
		t.Skip("SKIPPED: ", err) // TestNewFunction says so where it must not be
	}
	folder := t.TempDir()
	sdk, err := filepath.Abs("../../guest-sdk/c")
	if err != nil {
		t.Fatal(err)
	}
	for _, role := range []string{abi.RoleAggregate, abi.RoleTrigger, abi.RoleBroadcastProcess, abi.RoleEnrich} {
		run(t, folder, "new", "function", role, "--language", "c", "--role", role, "--sdk", sdk).expect(t, 0)
		makeIn(t, filepath.Join(folder, role), "CLANG=clang-19 -x c++ -std=c++17 -Werror", "test")
	}
}

// natively are languages whose modules take long to make.
var natively = map[string]func(t *testing.T, folder string){"go": testGo, "rust": testRust}

// testRust plays the cases natively. What cargo builds is kept together, so that the SDK is compiled once.
func testRust(t *testing.T, folder string) {
	t.Helper()
	target, err := filepath.Abs("../../udfs/build/target")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("cargo", "test", "--quiet", "--offline", "--target-dir", target)
	cmd.Dir = folder
	finish(t, context.Background(), cmd).expect(t, 0)
}

// testGo plays the cases natively.
func testGo(t *testing.T, folder string) {
	t.Helper()
	cmd := exec.Command("go", "test", ".")
	cmd.Dir = folder
	finish(t, context.Background(), cmd).expect(t, 0)
}

// makeIn makes targets, or the first one, with the command that is being tested.
func makeIn(t *testing.T, folder string, targets ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*deadline)
	defer cancel()
	cmd := exec.CommandContext(ctx, "make", append([]string{"WASMSTREAM=" + binary}, targets...)...)
	cmd.Dir, cmd.Env = folder, append(os.Environ(), "WASMSTREAM_CACHE_DIR="+cache)
	finish(t, ctx, cmd).expect(t, 0)
}

// TestSDKInAnyFolder: build files quote the SDK's path, whatever is in it.
func TestSDKInAnyFolder(t *testing.T) {
	folder := t.TempDir()
	for language, build := range map[string][]string{
		"go":   {"go", "list", "-deps", "."},
		"c":    {"make", "WASMSTREAM=" + binary, "name.wasm"},
		"rust": {"cargo", "tree", "--offline"},
	} {
		if _, err := exec.LookPath(offered[language]); err != nil {
			continue // TestNewFunction says so where it must not be
		}
		real, err := filepath.Abs(filepath.Join("../../guest-sdk", language))
		if err != nil {
			t.Fatal(err)
		}
		sdk := filepath.Join(folder, `it's $HOME, $(x) #1, "q" & a;b %`, language)
		if err := os.MkdirAll(filepath.Dir(sdk), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(real, sdk); err != nil {
			t.Fatal(err)
		}
		run(t, folder, "new", "function", "name", "--language", language, "--sdk", sdk).expect(t, 0)
		cmd := exec.Command(build[0], build[1:]...)
		cmd.Dir = filepath.Join(folder, "name")
		finish(t, context.Background(), cmd).expect(t, 0)
		if err := os.RemoveAll(cmd.Dir); err != nil {
			t.Fatal(err)
		}
	}
}

// TestNewFunctionRefuses shows what a wrong command line is told.
func TestNewFunctionRefuses(t *testing.T) {
	folder := t.TempDir()
	write(t, filepath.Join(folder, "there/x"), "")
	write(t, filepath.Join(folder, "guest-sdk/c/wasmstream.h"), "#ifndef WASMSTREAM_H\n")
	write(t, filepath.Join(folder, "elsewhere/guest-sdk/go/go.mod"), "module github.com/wasmstream/wasmstream/guest-sdk/go\r\n\r\ngo 1.26\r\n")
	write(t, filepath.Join(folder, "other/go.mod"), "module example.com/other\n")
	write(t, filepath.Join(folder, "other/Cargo.toml"), "[package]\nname = \"other\"\n")
	write(t, filepath.Join(folder, "other/wasmstream.h"), "")
	write(t, filepath.Join(folder, `back\slash/wasmstream.h`), "#ifndef WASMSTREAM_H\n")
	for args, want := range map[string]string{
		"Name --language c":                       "no name for a function",
		"name --language pascal":                  `no SDK in "pascal"`,
		"name --language c --role aggregator":     `did you mean "aggregate"?`,
		"name --language c --role sorcery-supply": "there are map, filter",
		"name --language go":                      "no guest-sdk/go in this folder or one above: the SDK comes with the source of wasmstream; get that, and say --sdk FOLDER/guest-sdk/go",
		"Name --language go":                      "no name for a function", // which is told first
		"name --language go --sdk elsewhere":      "--sdk elsewhere: it has no go.mod, so it is not the SDK in go; did you mean elsewhere/guest-sdk/go?",
		"name --language go --sdk nowhere":        "--sdk nowhere: it is not there, so it is not the SDK in go",
		"name --language go --sdk other/go.mod":   "--sdk other/go.mod: it is a file, not a folder, so it is not the SDK in go",
		"name --language go --sdk=":               "--sdk is empty: it names the folder of the SDK, such as wasmstream/guest-sdk/go",
		"name --language go --sdk other":          "it has a go.mod that does not say module github.com/wasmstream/wasmstream/guest-sdk/go, so it is not the SDK in go",
		"name --language rust --sdk other":        `it has a Cargo.toml that does not say name = "wasmstream", so it is not the SDK in rust`,
		"name --language c --sdk other":           "it has a wasmstream.h that does not say #ifndef WASMSTREAM_H",
		"name --language c --sdk there":           "it has no wasmstream.h",
		"name --language c --sdk back\\slash":     `the SDK's folder is "../back\\slash", which go.mod, make or cargo cannot take`,
		"there --language go":                     "there is there already",
		"name":                                    "missing flags: --language",
	} {
		run(t, folder, append([]string{"new", "function"}, strings.Fields(args)...)...).expect(t, 2, want)
	}
}

// TestExamplesOfRoles: what the SDKs' pages show of each role stands in the templates, which TestNewFunction builds and
// runs. (That of Rust is a module of its own, which a test of udfs/build builds and runs.)
func TestExamplesOfRoles(t *testing.T) {
	for _, language := range []string{"go", "c"} {
		_, blocks := document(t, "guest-sdk/"+language+"/README.md")
		shown := map[string]bool{}
		for _, b := range blocks {
			for _, role := range abi.Roles {
				template, err := readTemplate(role)
				if err != nil {
					t.Fatal(err)
				}
				source := strings.NewReplacer("NAME", "example", "IDENT", "example").Replace(section(template, language))
				if b.language == language && strings.Contains(unindented(source), unindented(strings.Join(b.lines, "\n"))) {
					shown[role] = true
				}
			}
		}
		for _, role := range abi.Roles {
			if !shown[role] {
				t.Errorf("guest-sdk/%s/README.md shows nothing of %s that is in its template", language, role)
			}
		}
	}
}

// unindented is a text whose lines begin where they say something.
func unindented(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	return strings.Join(lines, "\n")
}

// TestFirstExamples builds the whole functions that the SDKs' pages begin with.
func TestFirstExamples(t *testing.T) {
	for language, name := range map[string]string{"go": "slow", "c": "names"} {
		if _, err := exec.LookPath(offered[language]); err != nil {
			t.Skip("SKIPPED: ", err) // TestNewFunction says so where it must not be
		}
		folder := t.TempDir()
		sdk, err := filepath.Abs(filepath.Join("../../guest-sdk", language))
		if err != nil {
			t.Fatal(err)
		}
		run(t, folder, "new", "function", name, "--language", language, "--sdk", sdk).expect(t, 0)
		_, blocks := document(t, "guest-sdk/"+language+"/README.md")
		for _, b := range blocks {
			text := strings.Join(b.lines, "\n") + "\n"
			switch {
			case strings.Contains(text, "package main"), strings.Contains(text, "#include"):
				write(t, filepath.Join(folder, name, name+"."+language), text)
			case b.language == "json":
				write(t, filepath.Join(folder, name, "manifest.json"), text)
			}
		}
		makeIn(t, filepath.Join(folder, name), name+".wasm")
		if o := run(t, folder, "module", "inspect", filepath.Join(name, name+".wasm")); !strings.Contains(o.stdout, "limit") {
			t.Errorf("%s is not what the page shows:\n%s", name, o.stdout)
		}
	}
}
