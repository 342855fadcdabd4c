package wasmstreamtest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/wasmstream/wasmstream/guest-sdk/go/internal/cases"
	"github.com/wasmstream/wasmstream/guest-sdk/go/internal/raw"
)

var le = binary.LittleEndian

// mistake is what an op of a frame did that its case does not say.
type mistake struct {
	op   int
	text string
}

// Error tells what it is.
func (m *mistake) Error() string { return m.text }

// playVector performs the frames. If the vector says that the last one ends in a fault, fault is the error that it ended
// with, for the caller to judge; err is what was not as it must be.
func playVector(v *cases.Vector, g *native) (fault, err error) {
	held := map[int][]byte{}
	for n := range v.Frames {
		f := &v.Frames[n]
		frame, h, err := begin(f, held)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", where(f, 0), err)
		}
		effects, after, err := g.Perform(v.Function, frame, f)
		if v.Fault != "" && n == len(v.Frames)-1 {
			return err, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: it failed: %w", whereAll(f), err)
		}
		err = end(v.Words, f, h, effects, after, held)
		if err == nil {
			err = holds(f, g, held)
		}
		if err != nil {
			op := 0
			if m := (*mistake)(nil); errors.As(err, &m) {
				op = m.op
			}
			return nil, fmt.Errorf("%s: %w", where(f, op), err)
		}
	}
	return nil, nil
}

// where is the line of an op; an opening has none.
func where(f *cases.Frame, op int) string {
	if f.Lines[op] == 0 {
		return f.Ops[op]
	}
	return fmt.Sprintf("line %d, %s", f.Lines[op], f.Ops[op])
}

// whereAll is where all ops of a frame are: which of them failed, the vector of single ops tells.
func whereAll(f *cases.Frame) string {
	last := len(f.Ops) - 1
	if last == 0 {
		return where(f, 0)
	}
	return fmt.Sprintf("one of %d ops, lines %d to %d", len(f.Ops), f.Lines[0], f.Lines[last])
}

// begin is the frame, with its slots as those of the same cells were left.
func begin(f *cases.Frame, held map[int][]byte) ([]byte, header, error) {
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
		entry := frame[int(h.slotsOffset)+slot*raw.SlotEntryBytes:]
		le.PutUint32(entry, uint32(len(frame)))
		le.PutUint32(entry[4:], uint32(len(content)))
		frame = append(frame, content...)
	}
	le.PutUint32(frame[raw.HeaderAtTotalLength:], uint32(len(frame)))
	return frame, h, nil
}

// end checks effects, and keeps what slots were left as.
func end(words *cases.Words, f *cases.Frame, h header, effects, after []byte, held map[int][]byte) error {
	var rest []gotEffect
	list, err := readEffects(effects, h.ops)
	if err != nil {
		return err
	}
	for _, e := range list {
		switch {
		case e.Kind == raw.EffectSetSlot && (int(e.Aux) >= len(f.Cells) || h.stride != 0):
			return &mistake{e.op, fmt.Sprintf("a set-slot of slot %d, of %d with a stride of %d", e.Aux, len(f.Cells), h.stride)}
		case e.Kind == raw.EffectSetSlot:
			held[f.Cells[e.Aux]] = bytes.Clone(e.Payload)
		case e.Kind != raw.EffectTouch:
			rest = append(rest, e)
		}
	}
	if err := compare(words, f, rest); err != nil {
		return err
	}
	for slot, cell := range f.Cells {
		if h.stride != 0 {
			held[cell] = bytes.Clone(after[h.slotsOffset+uint32(slot)*h.stride:][:h.stride])
		}
	}
	return nil
}

// compare holds the effects of a frame against those that must be.
func compare(words *cases.Words, f *cases.Frame, got []gotEffect) error {
	want, err := readEffects(f.Effects, uint32(len(f.Ops)))
	if err != nil {
		return err
	}
	for i := range max(len(want), len(got)) {
		switch {
		case i >= len(got), i < len(want) && want[i].op < got[i].op:
			return &mistake{want[i].op, words.Compare(&want[i].Effect, nil)}
		case i >= len(want), got[i].op < want[i].op:
			return &mistake{got[i].op, words.Compare(nil, &got[i].Effect)}
		case want[i].Kind != got[i].Kind || want[i].Aux != got[i].Aux || !bytes.Equal(want[i].Payload, got[i].Payload):
			return &mistake{want[i].op, words.Compare(&want[i].Effect, &got[i].Effect)}
		}
	}
	return nil
}

// holds checks states, of which a case speaks behind the frame's last op.
func holds(f *cases.Frame, g *native, held map[int][]byte) error {
	for _, want := range f.Holds {
		var got [][2][]byte
		if want.Cell == nil {
			got = g.Entries(want.Owner, want.State)
		} else if content := present(held[*want.Cell]); content != nil {
			got = [][2][]byte{{nil, content}}
		}
		same := len(got) == len(want.Entries)
		for i := 0; same && i < len(got); i++ {
			w := want.Entries[i]
			if value := got[i][1]; want.Cell != nil && len(value) > len(w[1]) && allZero(value[len(w[1]):]) {
				got[i][1] = value[:len(w[1])] // narrower than the stride
			}
			same = (len(w[0]) == 0 || bytes.Equal(got[i][0], w[0])) && bytes.Equal(got[i][1], w[1])
		}
		if !same {
			return &mistake{len(f.Ops) - 1, want.Compare(got)}
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

// header is what is needed of a frame's header.
type header struct{ ops, slotsOffset, stride uint32 }

func readHeader(frame []byte) (header, error) {
	if len(frame) < raw.HeaderBytes || le.Uint32(frame[raw.HeaderAtVersion:]) != raw.Version || int(le.Uint32(frame[raw.HeaderAtTotalLength:])) != len(frame) {
		return header{}, fmt.Errorf("a frame of %d bytes whose header is of another version or length", len(frame))
	}
	return header{ops: le.Uint32(frame[raw.HeaderAtOpsCount:]), slotsOffset: le.Uint32(frame[raw.HeaderAtSlotsOffset:]), stride: le.Uint32(frame[raw.HeaderAtSlotStride:])}, nil
}

// gotEffect is an effect that a guest answered for an op.
type gotEffect struct {
	cases.Effect
	op int
}

// readEffects splits effects; those that are not well formed are an error.
func readEffects(b []byte, ops uint32) (list []gotEffect, err error) {
	last := uint32(0)
	for len(b) > 0 {
		if len(b) < raw.EffectBytes {
			return nil, fmt.Errorf("%d bytes behind the last effect", len(b))
		}
		op, length := le.Uint32(b[4:]), int(le.Uint32(b[8:]))
		if op >= ops || op < last {
			return nil, fmt.Errorf("an effect of op %d of %d, after op %d", op, ops, last)
		}
		if length < 0 || raw.EffectBytes+align(length) > len(b) {
			return nil, fmt.Errorf("an effect of %d bytes, where there are %d", length, len(b))
		}
		last = op
		list = append(list, gotEffect{cases.Effect{Kind: le.Uint32(b), Aux: le.Uint32(b[12:]), Payload: b[raw.EffectBytes : raw.EffectBytes+length]}, int(op)})
		b = b[raw.EffectBytes+align(length):]
	}
	return list, nil
}

func align(n int) int { return (n + 7) &^ 7 }

func padded(b []byte) []byte { return append(b, make([]byte, align(len(b))-len(b))...) }
