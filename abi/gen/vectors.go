package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/wasmstream/wasmstream/abi"
	"github.com/wasmstream/wasmstream/abi/cases"
)

// suites are the guests with cases.
var suites = []string{"delays", "roles", "stores", "twins", "lookup"}

// languagesOf are those that a suite is written in: its folders.
func languagesOf(root, suite string) (languages []string) {
	for _, l := range []string{"go", "c", "rust"} {
		if _, err := os.Stat(filepath.Join(root, "udfs", suite, l)); err == nil {
			languages = append(languages, l)
		}
	}
	return languages
}

// writeVectors writes vectors from cases, and those for misbehaving guests.
func writeVectors(root string) (map[string][]byte, error) {
	files := map[string][]byte{}
	for _, name := range suites {
		text, err := os.ReadFile(filepath.Join(root, "udfs", name, "cases.txt"))
		if err != nil {
			return nil, err
		}
		vectors, err := vectorsOf(root, name, text)
		if err != nil {
			return nil, fmt.Errorf("udfs/%s/cases.txt: %w", name, err)
		}
		for i := range vectors {
			for _, language := range languagesOf(root, name) {
				vectors[i].Modules = append(vectors[i].Modules, name+"-"+language)
			}
		}
		out := cases.File{Comment: "Generated from udfs/" + name + "/cases.txt; do not edit.", Vectors: vectors}
		if out.Manifest, err = os.ReadFile(filepath.Join(root, manifestOf(name))); err != nil {
			return nil, err
		}
		if files["abi/next/vectors/"+name+".json"], err = marshal(out); err != nil {
			return nil, err
		}
	}
	out, err := misbehaving(root)
	if err != nil {
		return nil, err
	}
	files["abi/next/vectors/misbehaving.json"], err = marshal(out)
	return files, err
}

func manifestOf(suite string) string { return filepath.Join("udfs", suite, "c/manifest.json") }

// vectorsOf makes vectors of cases for the functions of a C guest's manifest.
func vectorsOf(root, name string, text []byte) ([]cases.Vector, error) {
	manifest, err := os.ReadFile(filepath.Join(root, manifestOf(name)))
	if err != nil {
		return nil, err
	}
	m, err := cases.ReadManifest(manifest)
	if err != nil {
		return nil, err
	}
	return cases.Vectors(m, text)
}

func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	err := e.Encode(v)
	return b.Bytes(), err
}

// misbehaving is one frame for each variant of udfs/misbehaving/c, and the fault that it must end in.
func misbehaving(root string) (cases.File, error) {
	const add, result = "create 0\nadd 0 {\"delay\": 0}\n", "create 0\nresult 0 => {}\n"
	out := cases.File{Comment: "Generated; do not edit. The last frame of each ends in the fault."}
	for _, v := range []struct {
		variant string
		ops     string
		fault   abi.FaultKind
		message string
	}{
		{"trap", add, abi.FaultTrap, ""},
		{"fail", add, abi.FaultFailed, "no such luck"},
		{"effects-pointer", add, abi.FaultBadEffects, ""},
		{"effects-length", add, abi.FaultBadEffects, ""},
		{"effects-overlap", add, abi.FaultBadEffects, ""},
		{"effects-kind", add, abi.FaultBadEffect, ""},
		{"effects-op", add, abi.FaultBadOp, ""},
		{"in-zero", add, abi.FaultTooLarge, ""},
		{"in-end", add, abi.FaultBadPointer, ""},
		{"full", add, abi.FaultTooLarge, ""},
		{"two-results", result, abi.FaultBadAnswer, ""},
		{"no-result", result, abi.FaultBadAnswer, ""},
		{"emit-for-add", add, abi.FaultBadEffect, ""},
		{"slot-kind", add, abi.FaultBadRow, ""},
	} {
		vectors, err := vectorsOf(root, "misbehaving", []byte("function misbehaving\ncase "+v.variant+"\n"+v.ops))
		if err != nil {
			return out, err
		}
		w := vectors[0] // with all ops in a frame
		if strings.HasPrefix(v.variant, "in-") {
			// The fault comes with the first frame, whatever is in it.
			w.Frames = w.Frames[:1]
		}
		w.Frames[len(w.Frames)-1].Effects = nil
		w.Modules, w.Fault, w.Message = []string{"misbehaving-" + v.variant}, v.fault.String(), v.message
		out.Vectors = append(out.Vectors, w)
	}
	for _, variant := range []string{"version", "no-call"} {
		out.Vectors = append(out.Vectors, cases.Vector{Name: variant, Modules: []string{"misbehaving-" + variant}, Frames: []cases.Frame{}, Refused: true})
	}
	return out, nil
}
