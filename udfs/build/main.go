// Command build compiles every guest of udfs/, packs its manifest in, and writes testdata/wasm with a digest of the
// sources of each, so that a test without any compiler can say when one is stale.
//
//	go run ./udfs/build           all guests; those in C need clang-19 and lld-19, those in Rust cargo with the target
//	                              wasm32-unknown-unknown (rustup target add, or Debian's libstd-rust-dev-wasm32 and lld-14)
//	go run ./udfs/build -only go  the guests of one language
//
// A guest is a folder udfs/NAME/LANGUAGE and becomes NAME-LANGUAGE.wasm. With a variants.txt it becomes NAME-VARIANT.wasm
// for each line. The manifest of a Go guest is what its native build writes, that of a C guest its manifest.json, that of a
// Rust guest what it describes in the sandbox.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/wasmstream/wasmstream/abi"
)

func main() {
	only := flag.String("only", "", "build the guests of this language only: go, c or rust")
	flag.Parse()
	if err := run(*only); err != nil {
		fmt.Fprintln(os.Stderr, "udfs/build:", err)
		os.Exit(1)
	}
}

// guest is one module to build.
type guest struct {
	name     string
	language string
	// dir is its folder, relative to the root.
	dir string
	// variant is a line of variants.txt, or empty.
	variant string
}

func run(only string) error {
	root, err := findRoot()
	if err != nil {
		return err
	}
	guests, err := findGuests(root)
	if err != nil {
		return err
	}
	lines, err := readDigests(root)
	if err != nil {
		return err
	}
	for _, g := range guests {
		if only != "" && g.language != only {
			continue
		}
		wasm, err := build(root, g)
		if err != nil {
			return fmt.Errorf("%s: %w", g.name, err)
		}
		path := filepath.Join(root, wasmDir, g.name+".wasm")
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, wasm, 0o644); err != nil {
			return err
		}
		sources, err := sourceDigest(root, g)
		if err != nil {
			return err
		}
		lines[g.name] = digestLine{wasm: digest(wasm), sources: sources}
		fmt.Printf("%-28s %8d bytes\n", g.name, len(wasm))
	}
	return writeDigests(root, guests, lines)
}

// findGuests lists all guests in the order of their names.
func findGuests(root string) ([]guest, error) {
	var guests []guest
	for _, language := range []string{"go", "c", "rust"} {
		dirs, err := filepath.Glob(filepath.Join(root, "udfs/*", language))
		if err != nil {
			return nil, err
		}
		for _, dir := range dirs {
			name := filepath.Base(filepath.Dir(dir))
			g := guest{name: name + "-" + language, language: language, dir: filepath.Join("udfs", name, language)}
			variants, err := os.ReadFile(filepath.Join(dir, "variants.txt"))
			if os.IsNotExist(err) {
				guests = append(guests, g)
				continue
			} else if err != nil {
				return nil, err
			}
			for _, line := range strings.Fields(withoutComments(string(variants))) {
				g.name, g.variant = name+"-"+line, line
				guests = append(guests, g)
			}
		}
	}
	return guests, nil
}

func withoutComments(text string) string {
	var out []string
	for _, line := range strings.Split(text, "\n") {
		if !strings.HasPrefix(line, "#") {
			out = append(out, line)
		}
	}
	return strings.Join(out, "\n")
}

// build compiles a guest and packs its manifest in.
func build(root string, g guest) ([]byte, error) {
	temp, err := os.MkdirTemp("", "wasmstream-guest")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(temp)
	out := filepath.Join(temp, "guest.wasm")
	var text []byte
	switch g.language {
	case "go":
		if err = buildGo(root, g, out); err == nil {
			text, err = command(filepath.Join(root, g.dir), nil, "go", "run", ".")
		}
	case "c":
		if err = buildC(root, g, out); err == nil {
			text, err = os.ReadFile(filepath.Join(root, g.dir, "manifest.json"))
		}
	case "rust":
		if err = buildRust(root, g, out); err == nil {
			text, err = describe(out)
		}
	}
	if err != nil {
		return nil, err
	}
	m, err := abi.ParseManifestJSON(text)
	if err != nil {
		return nil, err
	}
	wasm, err := os.ReadFile(out)
	if err != nil {
		return nil, err
	}
	return abi.Pack(wasm, m)
}

func buildGo(root string, g guest, out string) error {
	_, err := command(filepath.Join(root, g.dir), []string{"GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0", "GOFLAGS=-buildvcs=false"},
		"go", "build", "-buildmode=c-shared", "-trimpath", "-ldflags=-s -w -buildid=", "-o", out, ".")
	return err
}

func buildC(root string, g guest, out string) error {
	args := []string{
		"--target=wasm32", "-nostdlib", "-O3", "-mbulk-memory", "-Wall", "-Wextra", "-Werror",
		"-Wl,--no-entry", "-Wl,-z,stack-size=65536", "-Wl,--strip-all",
		"-I" + filepath.Join(root, "guest-sdk/c"), "-o", out,
	}
	if g.variant != "" {
		args = append(args, "-D"+strings.ToUpper(strings.ReplaceAll(g.variant, "-", "_")))
	}
	sources, err := filepath.Glob(filepath.Join(root, g.dir, "*.c"))
	if err != nil {
		return err
	}
	_, err = command(root, nil, "clang-19", append(args, sources...)...)
	return err
}

// command runs a compiler and returns its standard output; its complaints are in the error.
func command(dir string, env []string, name string, args ...string) ([]byte, error) {
	c := exec.Command(name, args...)
	c.Dir, c.Env = dir, append(os.Environ(), env...)
	var complaints strings.Builder
	c.Stderr = &complaints
	out, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", name, err, complaints.String())
	}
	return out, nil
}
