// Command gen writes every binding of the ABI from its one definition, abi/next/abi.yaml: Go constants, the raw layers
// of the SDKs, the tables and the test vectors. Its test fails when what is committed is not what it would write.
//
//	go run ./abi/gen        (in the repository)
package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "abi/gen:", err)
		os.Exit(1)
	}
}

func run() error {
	root, err := findRoot()
	if err != nil {
		return err
	}
	files, err := generate(root)
	if err != nil {
		return err
	}
	for path, text := range files {
		full := filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(full, text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// generate returns every generated file by its path in the repository.
func generate(root string) (map[string][]byte, error) {
	d, err := load(filepath.Join(root, "abi/next/abi.yaml"))
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for path, write := range map[string]func(*definition) ([]byte, error){
		"abi/abi_gen.go":                                           writeABI,
		"guest-sdk/go/internal/raw/raw_gen.go":                     writeRaw,
		"guest-sdk/go/internal/raw/raw_wasip1_gen.go":              writeRawWasm,
		"guest-sdk/c/wasmstream_abi.h":                             writeC,
		"abi/next/tables.md":                                       writeTables,
		"flink/abi-host/src/main/java/org/wasmstream/abi/Abi.java": writeJava,
		"guest-sdk/rust/src/raw.rs":                                writeRust,
	} {
		if files[path], err = write(d); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	vectors, err := writeVectors(root)
	if err != nil {
		return nil, err
	}
	maps.Copy(files, vectors)
	copies, err := copyCases(root)
	maps.Copy(files, copies)
	return files, err
}

// findRoot walks up to the folder that holds the definition, so that the command works from anywhere in the repository.
func findRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "abi/next/abi.yaml")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("no abi/next/abi.yaml in this folder or above")
		}
	}
}
