package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/wasmstream/wasmstream/host/sandbox"
)

const rustTarget = "wasm32-unknown-unknown"

// buildRust compiles a guest in Rust. The paths that panics name begin at the repository, so that modules do not differ
// from machine to machine; Rust's own stack of 1 MiB would be most of a guest's memory.
func buildRust(root string, g guest, out string) error {
	flags := "-C link-arg=-zstack-size=65536 --remap-path-prefix=" + root + "="
	if home, err := os.UserHomeDir(); err == nil {
		flags += " --remap-path-prefix=" + home + "="
	}
	target := rustTargetDir(root)
	if _, err := command(filepath.Join(root, g.dir), []string{"RUSTFLAGS=" + flags, "CARGO_TARGET_DIR=" + target},
		"cargo", "build", "--quiet", "--offline", "--release", "--lib", "--target", rustTarget); err != nil {
		return err
	}
	name := strings.ReplaceAll(filepath.Base(filepath.Dir(g.dir)), "-", "_")
	wasm, err := os.ReadFile(filepath.Join(target, rustTarget, "release", name+".wasm"))
	if err != nil {
		return err
	}
	return os.WriteFile(out, wasm, 0o644)
}

// rustTargetDir is where all crates are built, so that the SDK is compiled once.
func rustTargetDir(root string) string { return filepath.Join(root, "udfs/build/target") }

// describe asks a module what it is, as `wasmstream module pack` does.
func describe(file string) ([]byte, error) {
	wasm, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	engine, err := sandbox.NewEngine(context.Background(), sandbox.Options{})
	if err != nil {
		return nil, err
	}
	defer engine.Close()
	module, err := engine.LoadUnpacked(context.Background(), file, wasm)
	if err != nil {
		return nil, err
	}
	defer module.Close()
	return module.Describe(context.Background(), sandbox.InstanceOptions{})
}
