package main

import (
	"fmt"
	"os"
	"path/filepath"
)

// findTwins is the file of the module of twins in a language. They are part of a
// checkout, not of the command: whoever replaces built-in parts works on them.
func findTwins(language string) (string, error) {
	name := filepath.Join("testdata", "wasm", "twins-"+language+".wasm")
	var from []string
	if dir, err := os.Getwd(); err == nil {
		from = append(from, dir)
	}
	if command, err := os.Executable(); err == nil {
		from = append(from, filepath.Dir(command))
	}
	for _, dir := range from {
		for {
			path := filepath.Join(dir, name)
			if _, err := os.Stat(path); err == nil {
				return path, nil
			}
			above := filepath.Dir(dir)
			if above == dir {
				break
			}
			dir = above
		}
	}
	return "", fmt.Errorf("the twins are part of a checkout of wasmstream, and there is no %s in this folder or above it, nor above the command", name)
}
