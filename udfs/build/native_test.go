package main

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
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
		input := binary.LittleEndian.AppendUint32(nil, v.Function)
		input = binary.LittleEndian.AppendUint32(input, uint32(len(frame)))
		c := exec.Command(program)
		c.Stdin = bytes.NewReader(append(input, frame...))
		c.Stderr = os.Stderr
		out, err := c.Output()
		if err != nil || len(out) < len(frame)+4 {
			t.Fatalf("frame %d: %v, %d bytes", i, err, len(out))
		}
		slots = append([]byte(nil), area(out)...)
		if got := hex.EncodeToString(out[len(frame)+4:]); got != f.Effects {
			t.Errorf("frame %d: got effects %s, want %s", i, got, f.Effects)
		}
	}
}
