package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/wasmstream/wasmstream/abi"
	"github.com/wasmstream/wasmstream/host/sandbox"
)

// PackCommand writes a manifest into a module, for languages that cannot.
type PackCommand struct {
	File     string `arg:"" help:"The module." placeholder:"FILE"`
	Manifest string `help:"The manifest as JSON. Without it the module's function wasmstream_describe is run in the sandbox." placeholder:"FILE.json"`
	Output   string `short:"o" help:"Where the packed module goes; by default it replaces FILE." placeholder:"OUT"`
	CompileFlag
}

// Run packs the module, and writes it only if it could then be loaded.
func (c *PackCommand) Run(e *Env) error {
	e.Log = newLog(e.Stderr, e.StderrTerminal, "")
	wasm, err := readModule(c.File)
	if err != nil {
		return badModule(c.File, err)
	}
	manifest, err := c.manifest(e, wasm)
	if err != nil {
		return err
	}
	packed, err := abi.Pack(wasm, manifest)
	if err != nil {
		if c.Manifest != "" {
			return &exitError{exitBadInput, &fileError{c.Manifest, err}}
		}
		return &exitError{exitRefused, &fileError{c.File, err}}
	}
	if _, err := sandbox.Inspect(packed, c.on(sandbox.Options{ModuleBytesMax: moduleBytesMax})); err != nil {
		var refused *sandbox.RefusedError
		if c.Manifest != "" && errors.As(err, &refused) && refused.Kind == sandbox.RefusedManifest {
			return &exitError{exitBadInput, &fileError{c.Manifest, errors.New(refused.Reason)}}
		}
		return badModule(c.File, err)
	}
	output := c.Output
	if output == "" {
		output = c.File
	}
	if err := replaceFile(output, packed); err != nil {
		return &fileError{output, err}
	}
	fmt.Fprintf(e.Stdout, "%s: %s bytes, %d functions in its manifest\n", output, grouped(int64(len(packed))), len(manifest.GetFunctions()))
	return nil
}

// badModule gives an error about a module's file its exit code.
func badModule(path string, err error) error {
	var refused *sandbox.RefusedError
	if errors.As(err, &refused) {
		return &exitError{exitRefused, &fileError{path, errors.New("refused: " + refused.Reason)}}
	}
	return &exitError{exitBadInput, &fileError{path, err}}
}

// manifest reads the manifest from its file, or asks the module for it.
func (c *PackCommand) manifest(e *Env, wasm []byte) (*abi.Manifest, error) {
	if c.Manifest == "" {
		return c.describe(e, wasm)
	}
	f, err := openRegular(c.Manifest)
	if err != nil {
		return nil, &exitError{exitBadInput, &fileError{c.Manifest, notThere(err, c.Manifest)}}
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, abi.ManifestBytesMax+1))
	if err != nil {
		return nil, &exitError{exitBadInput, &fileError{c.Manifest, notThere(err, c.Manifest)}}
	}
	manifest, err := abi.ParseManifestJSON(text)
	if err != nil {
		return nil, &exitError{exitBadInput, &fileError{c.Manifest, err}}
	}
	return manifest, nil
}

func (c *PackCommand) describe(e *Env, wasm []byte) (*abi.Manifest, error) {
	m := newModules(e, c.on(SandboxFlags{CacheDir: cacheOff}.options(e)))
	engine, err := sandbox.NewEngine(context.Background(), m.options)
	if err != nil {
		return nil, err
	}
	defer engine.Close()
	module, err := engine.LoadUnpacked(context.Background(), c.File, wasm)
	if err != nil {
		return nil, badModule(c.File, err)
	}
	text, err := module.Describe(context.Background(), sandbox.InstanceOptions{Log: m.options.Log})
	if err != nil {
		return nil, &exitError{exitRefused, &fileError{c.File, err}}
	}
	manifest, err := abi.ParseManifestJSON(text)
	if err != nil {
		return nil, &exitError{exitRefused, &fileError{c.File, fmt.Errorf("its function %s: %w", abi.ExportDescribe, err)}}
	}
	return manifest, nil
}
