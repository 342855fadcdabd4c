// Package conform plays test vectors on a guest, whatever holds it: a host's sandbox, or a native build. A vector is
// frames and what must be answered; abi/README.md describes the files. Vectors are made of a cases.txt, whose language
// udfs/README.md describes.
//
// What must be equal: effects byte for byte, but set-slot and touch, whose place among the others is the guest's choice;
// and what states hold after a frame.
//
// abi/gen copies this package into the Go SDK, which is a module without dependencies: it knows the ABI by its numbers
// only, which the file numbers.go has.
package conform

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
)

// File is a file of vectors.
type File struct {
	Comment string   `json:"comment"`
	Vectors []Vector `json:"vectors"`
}

// Vector is frames for one new instance of a module, and what it answers.
type Vector struct {
	Name string `json:"name"`
	// Modules are names of testdata/wasm, without the extension.
	Modules  []string `json:"modules"`
	Function int      `json:"function"`
	Frames   []Frame  `json:"frames"`
	// Refused is whether the module is refused before any frame, Fault how the last frame goes wrong.
	Refused bool   `json:"refused,omitempty"`
	Fault   string `json:"fault,omitempty"`
	Message string `json:"message,omitempty"`
}

// Frame is a frame and what it must be answered.
type Frame struct {
	// Ops are for people.
	Ops   []string `json:"ops"`
	Frame Hex      `json:"frame"`
	// Cells are what slots are of: a slot begins as what the slot of the same cell was left as, if there was one.
	Cells []int `json:"cells,omitempty"`
	// Owners are, by op, whose list and map states it has; broadcast state is that of 0.
	Owners  []int `json:"owners,omitempty"`
	Effects Hex   `json:"effects"`
	// Holds are states after the frame.
	Holds []Held `json:"holds,omitempty"`
	// Line is that of the frame's first op in its cases.txt, 0 where that is not known.
	Line int `json:"-"`
}

// Held is what a state must hold: of a slot by its cell, of a list or map by its owner.
type Held struct {
	Cell    *int     `json:"cell,omitempty"`
	Owner   int      `json:"owner,omitempty"`
	State   int      `json:"state,omitempty"`
	Entries [][2]Hex `json:"entries"`
}

// Hex are bytes that are written in hex.
type Hex []byte

// UnmarshalText reads hex.
func (h *Hex) UnmarshalText(text []byte) (err error) {
	*h, err = hex.DecodeString(string(text))
	return err
}

// MarshalText writes hex.
func (h Hex) MarshalText() ([]byte, error) { return []byte(hex.EncodeToString(h)), nil }

// Read reads a file of vectors.
func Read(text []byte) (File, error) {
	var f File
	if err := json.Unmarshal(text, &f); err != nil {
		return f, fmt.Errorf("conform: %w", err)
	}
	return f, nil
}

// Guest performs frames; the first one opens the function.
type Guest interface {
	// Perform returns the effects, and the frame as it is after the call. owners are whose states each op has.
	Perform(function int, frame []byte, owners []int) (effects, after []byte, err error)
	// Entries is what a list or map state of an owner holds, in order; without a key those of a list.
	Entries(owner, state int) [][2][]byte
}

// Play performs the frames. If the vector says that the last one ends in a fault, fault is the error that it ended
// with, for the caller to judge; err is what was not as it must be.
func (v *Vector) Play(g Guest) (fault, err error) {
	held := map[int][]byte{}
	for n := range v.Frames {
		f := &v.Frames[n]
		frame, h, err := f.begin(held)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.where(n), err)
		}
		effects, after, err := g.Perform(v.Function, frame, f.Owners)
		if v.Fault != "" && n == len(v.Frames)-1 {
			return err, nil
		}
		if err == nil {
			err = f.end(h, effects, after, held)
		}
		if err == nil {
			err = f.holds(g, held)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.where(n), err)
		}
	}
	return nil, nil
}

func (f *Frame) where(n int) string {
	if f.Line > 0 {
		return fmt.Sprintf("line %d, %s", f.Line, f.Ops[0])
	}
	return fmt.Sprintf("frame %d", n)
}

// begin is the frame, with its slots as those of the same cells were left.
func (f *Frame) begin(held map[int][]byte) ([]byte, header, error) {
	frame := bytes.Clone(f.Frame)
	h, err := readHeader(frame)
	if err != nil {
		return nil, h, err
	}
	for slot, cell := range f.Cells {
		content, was := held[cell]
		if !was {
			continue
		}
		if h.stride != 0 {
			copy(frame[h.slotsOffset+uint32(slot)*h.stride:][:h.stride], content)
			continue
		}
		entry := frame[int(h.slotsOffset)+slot*slotEntryBytes:]
		le.PutUint32(entry, uint32(len(frame)))
		le.PutUint32(entry[4:], uint32(len(content)))
		frame = append(frame, content...)
	}
	le.PutUint32(frame[atTotalLength:], uint32(len(frame)))
	return frame, h, nil
}

// end checks effects, and keeps what slots were left as.
func (f *Frame) end(h header, effects, after []byte, held map[int][]byte) error {
	var rest []byte
	list, err := readEffects(effects, h.ops)
	if err != nil {
		return err
	}
	for _, e := range list {
		switch {
		case e.kind == effectSetSlot && (int(e.aux) >= len(f.Cells) || h.stride != 0):
			return fmt.Errorf("a set-slot of slot %d, of %d with a stride of %d", e.aux, len(f.Cells), h.stride)
		case e.kind == effectSetSlot:
			held[f.Cells[e.aux]] = bytes.Clone(e.payload)
		case e.kind != effectTouch:
			rest = append(rest, e.whole...)
		}
	}
	if !bytes.Equal(rest, f.Effects) {
		return fmt.Errorf("got effects %x, want %x", rest, []byte(f.Effects))
	}
	for slot, cell := range f.Cells {
		if h.stride != 0 {
			held[cell] = bytes.Clone(after[h.slotsOffset+uint32(slot)*h.stride:][:h.stride])
		}
	}
	return nil
}

// holds checks states.
func (f *Frame) holds(g Guest, held map[int][]byte) error {
	for _, want := range f.Holds {
		var got [][2][]byte
		if want.Cell == nil {
			got = g.Entries(want.Owner, want.State)
		} else if content := present(held[*want.Cell]); content != nil {
			got = [][2][]byte{{nil, content}}
		}
		if len(got) != len(want.Entries) {
			return fmt.Errorf("state %d (cell %v) holds %d entries, want %d: %x", want.State, want.Cell, len(got), len(want.Entries), got)
		}
		for i, w := range want.Entries {
			value := got[i][1]
			if want.Cell != nil && len(value) > len(w[1]) && allZero(value[len(w[1]):]) {
				value = value[:len(w[1])] // narrower than the stride
			}
			if len(w[0]) > 0 && !bytes.Equal(got[i][0], w[0]) || !bytes.Equal(value, w[1]) {
				return fmt.Errorf("state %d holds %x, want %x", want.State, got[i], w)
			}
		}
	}
	return nil
}

// present is a cell's content, nil if it holds no value.
func present(content []byte) []byte {
	const absent = 3
	if len(content) == 0 || content[0] == absent && allZero(content[1:]) {
		return nil
	}
	return content
}

func allZero(b []byte) bool { return len(bytes.Trim(b, "\x00")) == 0 }
