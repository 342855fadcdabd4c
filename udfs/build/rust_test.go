package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestRustNatively runs the tests of the SDK in Rust and of the guests in it, without Wasm.
func TestRustNatively(t *testing.T) {
	needCargo(t)
	root, err := findRoot()
	if err != nil {
		t.Fatal(err)
	}
	for _, crates := range []string{"guest-sdk/rust", "udfs/*/rust", "udfs/examples/*/rust"} {
		dirs, err := filepath.Glob(filepath.Join(root, crates))
		if err != nil || len(dirs) == 0 {
			t.Fatalf("no crates %s: %v", crates, err)
		}
		for _, dir := range dirs {
			cargoTest(t, root, dir)
		}
	}
}

// needCargo skips the test without cargo, unless the environment says that it must not be.
func needCargo(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("cargo"); err == nil {
		return
	}
	if os.Getenv("WASMSTREAM_REQUIRE_TOOLS") != "" {
		t.Fatal("no cargo, and WASMSTREAM_REQUIRE_TOOLS is set")
	}
	t.Skip("SKIPPED: no cargo: functions in Rust are not tested natively")
}

func cargoTest(t *testing.T, root, dir string) {
	t.Helper()
	c := exec.Command("cargo", "test", "--quiet", "--offline")
	c.Dir, c.Env = dir, append(os.Environ(), "CARGO_TARGET_DIR="+rustTargetDir(root), "RUSTFLAGS=-D warnings")
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("%s: %v\n%s", dir, err, out)
	}
}

// TestRustReadme makes a module of the code in the SDK's README and plays the cases there.
func TestRustReadme(t *testing.T) {
	needCargo(t)
	root, err := findRoot()
	if err != nil {
		t.Fatal(err)
	}
	sdk := filepath.Join(root, "guest-sdk/rust")
	text, err := os.ReadFile(filepath.Join(sdk, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	blocks := codeBlocks(string(text))
	dir := t.TempDir()
	for path, content := range map[string]string{
		"Cargo.toml": strings.ReplaceAll(blocks["toml"], `"../wasmstream/guest-sdk/rust"`, `"`+sdk+`"`) + "\n[workspace]\n",
		"src/lib.rs": blocks["rust"],
		"cases.txt":  blocks["cases"],
	} {
		if content == "" {
			t.Fatalf("the README has no text for %s", path)
		}
		file := filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cargoTest(t, root, dir)
}

// codeBlocks are the texts of a page's code blocks, those of a language one behind the other.
func codeBlocks(page string) map[string]string {
	blocks := map[string]string{}
	language, inside := "", false
	for line := range strings.Lines(page) {
		switch {
		case strings.HasPrefix(line, "```"):
			language, inside = strings.TrimSpace(line[3:]), !inside
		case inside:
			blocks[language] += line
		}
	}
	return blocks
}
