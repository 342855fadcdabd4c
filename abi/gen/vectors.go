package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	"github.com/wasmstream/wasmstream/abi"
)

// vectorFile is a file of vectors, described in abi/README.md.
type vectorFile struct {
	Comment string `json:"comment"`
	// Manifest is that of the module that the vectors are for; not of those for hosts.
	Manifest json.RawMessage `json:"manifest,omitempty"`
	Vectors  []vector        `json:"vectors"`
}

// vector is frames for one new instance of a module, and what it answers.
type vector struct {
	Name string `json:"name"`
	// Modules are names of testdata/wasm, without the extension.
	Modules  []string      `json:"modules"`
	Function int           `json:"function"`
	Frames   []vectorFrame `json:"frames"`
	// Refused is whether the module is refused before any frame, Fault how the last frame goes wrong.
	Refused bool   `json:"refused,omitempty"`
	Fault   string `json:"fault,omitempty"`
	Message string `json:"message,omitempty"`
}

// vectorFrame is a frame and its effects.
type vectorFrame struct {
	Ops   []string `json:"ops"`
	Frame string   `json:"frame"`
	// Cells are what slots are of: a slot begins as what the slot of the same cell was left as, if there was one.
	Cells []int `json:"cells,omitempty"`
	// Owners are, by op, whose list and map states it has.
	Owners  []int  `json:"owners,omitempty"`
	Effects string `json:"effects"`
	// Holds are states after the frame.
	Holds []held `json:"holds,omitempty"`
}

// suites are the guests with cases.
var suites = []string{"delays", "roles", "stores", "lookup"}

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
		m, cases, err := readSuite(root, name)
		if err != nil {
			return nil, err
		}
		out := vectorFile{Comment: "Generated from udfs/" + name + "/cases.txt; do not edit."}
		if out.Manifest, err = os.ReadFile(filepath.Join(root, manifestOf(name))); err != nil {
			return nil, err
		}
		for _, c := range cases {
			l := layout{f: m.Functions[c.function], c: &c}
			v := vector{Name: c.name, Function: c.function}
			for _, language := range languagesOf(root, name) {
				v.Modules = append(v.Modules, name+"-"+language)
			}
			if c.open.fails || len(c.steps) > 0 && c.steps[len(c.steps)-1].fails {
				v.Fault = abi.FaultFailed.String()
				v.Message = c.open.message
				if len(c.steps) > 0 {
					v.Message = c.steps[len(c.steps)-1].message
				}
			}
			single := v
			single.Name += " (a frame for each op)"
			if v.Frames = l.frames(len(c.steps)); len(c.steps) == 0 {
				out.Vectors = append(out.Vectors, v)
				continue
			}
			single.Frames = l.frames(1)
			out.Vectors = append(out.Vectors, v, single)
		}
		if files["abi/next/vectors/"+name+".json"], err = marshal(out); err != nil {
			return nil, err
		}
	}
	m, _, err := readSuite(root, "delays")
	if err != nil {
		return nil, err
	}
	files["abi/next/vectors/misbehaving.json"], err = marshal(misbehaving(m.Functions[0]))
	return files, err
}

func manifestOf(suite string) string { return filepath.Join("udfs", suite, "c/manifest.json") }

func readSuite(root, name string) (*abi.Manifest, []testCase, error) {
	text, err := os.ReadFile(filepath.Join(root, manifestOf(name)))
	if err != nil {
		return nil, nil, err
	}
	m, err := abi.ParseManifestJSON(text)
	if err != nil {
		return nil, nil, err
	}
	cases, err := readCases(filepath.Join(root, "udfs", name, "cases.txt"), m)
	return m, cases, err
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
func misbehaving(f *abi.Function) vectorFile {
	row := make([]byte, 8+8*len(f.Input.Fields))
	slot := []int{0}
	add := []step{{kind: abi.OpCreate, text: "create 0", cells: slot}, {kind: abi.OpAdd, text: "add 0 {}", cells: slot, row: row}}
	result := []step{{kind: abi.OpCreate, text: "create 0", cells: slot}, {kind: abi.OpResult, text: "result 0", cells: slot}}
	out := vectorFile{Comment: "Generated; do not edit. The last frame of each ends in the fault."}
	for _, v := range []struct {
		variant string
		steps   []step
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
		l := layout{f: f, c: &testCase{open: step{kind: abi.OpOpen, text: "open", row: make([]byte, 8)}, steps: v.steps}}
		frames := l.frames(len(v.steps))
		if strings.HasPrefix(v.variant, "in-") {
			// The fault comes with the first frame, whatever is in it.
			frames = frames[:1]
		}
		frames[len(frames)-1].Effects = ""
		out.Vectors = append(out.Vectors, vector{Name: v.variant, Modules: []string{"misbehaving-" + v.variant}, Frames: frames, Fault: v.fault.String(), Message: v.message})
	}
	for _, variant := range []string{"version", "no-call"} {
		out.Vectors = append(out.Vectors, vector{Name: variant, Modules: []string{"misbehaving-" + variant}, Frames: []vectorFrame{}, Refused: true})
	}
	return out
}
