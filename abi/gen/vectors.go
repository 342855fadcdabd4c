package main

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/wasmstream/wasmstream/abi"
)

// vectorFile is a file of vectors, described in abi/README.md.
type vectorFile struct {
	Comment string   `json:"comment"`
	Vectors []vector `json:"vectors"`
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

// vectorFrame is a frame and its effects. With carry_slots the slots' bytes are first replaced by what the frame before
// left there.
type vectorFrame struct {
	Ops     []string `json:"ops"`
	Frame   string   `json:"frame"`
	Carry   bool     `json:"carry_slots,omitempty"`
	Effects string   `json:"effects"`
}

// writeVectors writes vectors for delays from its cases, and those for misbehaving guests.
func writeVectors(root string) (map[string][]byte, error) {
	text, err := os.ReadFile(filepath.Join(root, "udfs/delays/c/manifest.json"))
	if err != nil {
		return nil, err
	}
	m, err := abi.ParseManifestJSON(text)
	if err != nil {
		return nil, err
	}
	function, cases, err := readCases(filepath.Join(root, "udfs/delays/cases.txt"), m)
	if err != nil {
		return nil, err
	}
	delays := vectorFile{Comment: "Generated from udfs/delays/cases.txt; do not edit."}
	for _, c := range cases {
		whole := vector{Name: c.name, Modules: []string{"delays-go", "delays-c", "delays-rust"}, Function: function}
		whole.Frames = []vectorFrame{openFrame(), frameOf(m.Functions[function], c.steps, c.steps)}
		single := whole
		single.Name += " (a frame for each op)"
		single.Frames = []vectorFrame{openFrame()}
		for i := range c.steps {
			f := frameOf(m.Functions[function], c.steps[i:i+1], c.steps)
			f.Carry = i > 0
			single.Frames = append(single.Frames, f)
		}
		delays.Vectors = append(delays.Vectors, whole, single)
	}
	files := map[string][]byte{}
	if files["abi/next/vectors/delays.json"], err = marshal(delays); err != nil {
		return nil, err
	}
	files["abi/next/vectors/misbehaving.json"], err = marshal(misbehaving(m.Functions[function]))
	return files, err
}

func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	err := e.Encode(v)
	return b.Bytes(), err
}

// openFrame opens a function without parameters: its row has no columns.
func openFrame() vectorFrame {
	h := abi.Layout(1, 0, 8, 8, 0)
	frame := make([]byte, h.Total)
	abi.PutHeader(frame, h)
	abi.PutOp(frame, abi.HeaderBytes, abi.Op{Kind: abi.OpOpen, Slot: abi.NoSlot, Row: h.RowsOffset})
	return vectorFrame{Ops: []string{"open"}, Frame: hex.EncodeToString(frame)}
}

// frameOf lays out steps as a frame, with slots for all steps of the case, and the effects that they must have.
func frameOf(f *abi.Function, steps, all []step) vectorFrame {
	slots, rowBytes := 0, 0
	for _, s := range all {
		slots = max(slots, int(s.slot)+1, int(s.second)+1)
	}
	for _, s := range steps {
		rowBytes += len(s.row)
	}
	h := abi.Layout(len(steps), slots, 8+8*len(f.Accumulator.Fields), rowBytes, 0)
	frame := make([]byte, h.Total)
	abi.PutHeader(frame, h)
	var out vectorFrame
	var effects bytes.Buffer
	row := h.RowsOffset
	for i, s := range steps {
		op := abi.Op{Kind: s.kind, Slot: s.slot, Arg: s.second}
		text := fmt.Sprintf("%v %d", s.kind, s.slot)
		if s.kind == abi.OpMerge {
			text += fmt.Sprintf(" %d", s.second)
		}
		if s.row != nil {
			op.Row = row
			row += uint32(copy(frame[row:], s.row))
		}
		abi.PutOp(frame, int(h.OpsOffset)+i*abi.OpBytes, op)
		if s.kind == abi.OpResult {
			var b [abi.EffectBytes]byte
			binary.LittleEndian.PutUint32(b[abi.EffectAtKind:], uint32(abi.EffectEmit))
			binary.LittleEndian.PutUint32(b[abi.EffectAtOp:], uint32(i))
			binary.LittleEndian.PutUint32(b[abi.EffectAtLength:], uint32(len(s.result)))
			effects.Write(b[:])
			effects.Write(s.result)
			pad8(&effects)
		}
		out.Ops = append(out.Ops, text)
	}
	out.Frame, out.Effects = hex.EncodeToString(frame), hex.EncodeToString(effects.Bytes())
	return out
}

// misbehaving is one frame for each variant of udfs/misbehaving/c, and the fault that it must end in.
func misbehaving(f *abi.Function) vectorFile {
	row := make([]byte, 8+8*len(f.Input.Fields))
	add := []step{{kind: abi.OpCreate}, {kind: abi.OpAdd, row: row}}
	result := []step{{kind: abi.OpCreate}, {kind: abi.OpResult}}
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
		frames := []vectorFrame{openFrame(), frameOf(f, v.steps, v.steps)}
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
