package main

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/wasmstream/wasmstream/abi"
)

// vector is a vector of abi/next/vectors.
type vector struct {
	Name     string
	Function uint32
	Frames   []struct {
		Frame, Effects string
		Carry          bool `json:"carry_slots"`
	}
}

// TestDelaysNatively plays the vectors of a C guest natively, with the machine's own C compiler and its checks: what is
// wrong in the header then shows without Wasm.
func TestDelaysNatively(t *testing.T) {
	root, err := findRoot()
	if err != nil {
		t.Fatal(err)
	}
	program := compile(t, root, "udfs/delays/c/delays.c")
	text, err := os.ReadFile(filepath.Join(root, "abi/next/vectors/delays.json"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Vectors []vector }
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	for _, v := range file.Vectors {
		t.Run(v.Name, func(t *testing.T) { play(t, program, v) })
	}
}

// compile builds a guest with the runner. Without a compiler the test is skipped, unless the environment says that it must not be.
func compile(t *testing.T, root, source string) string {
	t.Helper()
	cc, err := exec.LookPath("cc")
	if err != nil {
		if os.Getenv("WASMSTREAM_REQUIRE_TOOLS") != "" {
			t.Fatal("no C compiler (cc), and WASMSTREAM_REQUIRE_TOOLS is set")
		}
		t.Skip("SKIPPED: no C compiler (cc): the C header is not tested natively")
	}
	program := filepath.Join(t.TempDir(), "guest")
	out, err := exec.Command(cc, "-O2", "-Wall", "-Wextra", "-Werror", "-fsanitize=undefined", "-fno-sanitize-recover", "-I"+filepath.Join(root, "guest-sdk/c"),
		"-include", filepath.Join(root, source), "-o", program, "testdata/native.c").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

// TestStringsNatively plays parameters, strings and effects that do not fit.
func TestStringsNatively(t *testing.T) {
	root, err := findRoot()
	if err != nil {
		t.Fatal(err)
	}
	program := compile(t, root, "udfs/build/testdata/strings.c")
	short, long := "\x00\x00\x00\x00\x00\x00\x00\x00abc\x00\x00\x00\x00\x83", "\x00\x00\x00\x00\x00\x00\x00\x00\x09\x00\x00\x00\x10\x00\x00\x00nine char\x00\x00\x00\x00\x00\x00\x00"
	// Byte 1: column 3 is null. The texts behind the columns are in the columns' order, padded with zeros.
	columns := "\x00\x08\x00\x00\x00\x00\x00\x00" + "\x09\x00\x00\x00\x28\x00\x00\x00" + "\x0c\x00\x00\x00\x00\x00\x00\x00" + "\x15\x00\x00\x00\x38\x00\x00\x00" + "\x00\x00\x00\x00\x00\x00\x00\x00"
	row := columns + "nine char\x00\x00\x00\x00\x00\x00\x00" + "more than seven bytes\x00\x00\x00"
	want := "\x01\x00\x00\x00\x03\x00\x00\x00\x50\x00\x00\x00\x00\x00\x00\x00" + row
	rows := short + long
	open := stringsFrame(rows, abi.Op{Kind: abi.OpOpen, Slot: abi.NoSlot, Row: 16})
	work := func(results int) []byte {
		ops := []abi.Op{{Kind: abi.OpCreate}, {Kind: abi.OpAdd}, {Kind: abi.OpAdd, Row: 16}}
		for range results {
			ops = append(ops, abi.Op{Kind: abi.OpResult})
		}
		return stringsFrame(rows, ops...)
	}
	one := work(1)
	out, err := runNative(program, 0, open, one)
	if err != nil {
		t.Fatal(err)
	}
	if got := string(out[len(open)+4+len(one)+4:]); got != want {
		t.Errorf("got  % x\nwant % x", got, want)
	}
	var exit *exec.ExitError
	if _, err := runNative(program, 0, open, work(256*1024/len(want)+1)); !errors.As(err, &exit) || exit.ExitCode() != 3 {
		t.Errorf("effects that do not fit: got %v, want exit code 3, too large", err)
	}
}

// stringsFrame lays out ops of one slot, whose rows are offsets in rows.
func stringsFrame(rows string, ops ...abi.Op) []byte {
	h := abi.Layout(len(ops), 1, 16, len(rows), 0)
	b := make([]byte, h.Total)
	abi.PutHeader(b, h)
	copy(b[h.RowsOffset:], rows)
	for i, op := range ops {
		op.Row += h.RowsOffset
		abi.PutOp(b, int(h.OpsOffset)+i*abi.OpBytes, op)
	}
	return b
}

// runNative plays frames: what comes out of each is the frame as the guest left it, and {u32 length, effects}.
func runNative(program string, function uint32, frames ...[]byte) ([]byte, error) {
	var input []byte
	least := 0
	for _, frame := range frames {
		input = binary.LittleEndian.AppendUint32(input, function)
		input = binary.LittleEndian.AppendUint32(input, uint32(len(frame)))
		input = append(input, frame...)
		least += len(frame) + 4
	}
	c := exec.Command(program)
	c.Stdin = bytes.NewReader(input)
	out, err := c.Output()
	if err == nil && len(out) < least {
		err = fmt.Errorf("%d bytes came out", len(out))
	}
	return out, err
}

// play runs the program once for each frame, since what it does must be in the frame alone.
func play(t *testing.T, program string, v vector) {
	var slots []byte
	for i, f := range v.Frames {
		frame, err := hex.DecodeString(f.Frame)
		if err != nil {
			t.Fatal(err)
		}
		h, err := abi.ReadHeader(frame)
		if err != nil {
			t.Fatal(err)
		}
		area := func(b []byte) []byte { return b[h.SlotsOffset:][:h.Slots*h.Stride] }
		if f.Carry {
			copy(area(frame), slots)
		}
		out, err := runNative(program, v.Function, frame)
		if err != nil {
			t.Fatalf("frame %d: %v", i, err)
		}
		slots = append([]byte(nil), area(out)...)
		if got := hex.EncodeToString(out[len(frame)+4:]); got != f.Effects {
			t.Errorf("frame %d: got effects %s, want %s", i, got, f.Effects)
		}
	}
}
