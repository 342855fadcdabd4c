package main

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wasmstream/wasmstream/abi"
	"github.com/wasmstream/wasmstream/abi/conform"
)

// TestVectorsNatively plays vectors on C guests natively, with the machine's own C and C++ compilers and their checks:
// what is wrong in the headers then shows without Wasm.
func TestVectorsNatively(t *testing.T) {
	root, err := findRoot()
	if err != nil {
		t.Fatal(err)
	}
	suites, err := filepath.Glob(filepath.Join(root, "udfs/*/cases.txt"))
	if err != nil || len(suites) == 0 {
		t.Fatal("no cases:", err)
	}
	for _, suite := range suites {
		name := filepath.Base(filepath.Dir(suite))
		source := filepath.Join("udfs", name, "c", name+".c")
		if _, err := os.Stat(filepath.Join(root, source)); err != nil {
			continue // in other languages only
		}
		text, err := os.ReadFile(filepath.Join(root, "abi/next/vectors", name+".json"))
		if err != nil {
			t.Fatal(err)
		}
		file, err := conform.Read(text)
		if err != nil {
			t.Fatal(err)
		}
		for _, compiler := range []string{"cc", "c++"} {
			program := compile(t, root, source, compiler)
			scopes := stateScopes(t, filepath.Join(root, "udfs", name, "c", "manifest.json"))
			for _, v := range file.Vectors {
				t.Run(compiler+" "+name+" "+v.Name, func(t *testing.T) { play(t, program, &v, scopes[v.Function]) })
			}
		}
	}
}

// scopes are which states of a function are broadcast, and which are of windows, one bit for each.
type scopes struct{ broadcast, windows uint32 }

// stateScopes are those of each function.
func stateScopes(t *testing.T, path string) (sets []scopes) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	m, err := abi.ParseManifestJSON(text)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range m.GetFunctions() {
		var set scopes
		for i, s := range f.GetStates() {
			switch s.ScopeOrDefault() {
			case abi.ScopeBroadcast:
				set.broadcast |= 1 << i
			case abi.ScopeWindow:
				set.windows |= 1 << i
			}
		}
		sets = append(sets, set)
	}
	return sets
}

func play(t *testing.T, program string, v *conform.Vector, of scopes) {
	n := startNative(t, program, of)
	fault, err := v.Play(n)
	if err != nil {
		t.Fatal(err, n.complaints.String())
	}
	if v.Fault != "" && (fault == nil || !strings.Contains(n.complaints.String(), v.Message)) {
		t.Errorf("got %v, %q, want the message %q", fault, n.complaints.String(), v.Message)
	}
}

// compile builds a guest with the runner. Without a compiler the test is skipped, unless the environment says that it must not be.
func compile(t *testing.T, root, source, compiler string) string {
	t.Helper()
	cc, err := exec.LookPath(compiler)
	if err != nil {
		if os.Getenv("WASMSTREAM_REQUIRE_TOOLS") != "" {
			t.Fatalf("no compiler %s, and WASMSTREAM_REQUIRE_TOOLS is set", compiler)
		}
		t.Skipf("SKIPPED: no compiler %s: the C headers are not tested natively", compiler)
	}
	program := filepath.Join(t.TempDir(), "guest")
	args := []string{"-O1", "-Wall", "-Wextra", "-Werror", "-fsanitize=undefined", "-fno-sanitize-recover", "-I" + filepath.Join(root, "guest-sdk/c")}
	if compiler == "c++" {
		args = append(args, "-x", "c++", "-std=c++17")
	}
	args = append(args, "-include", filepath.Join(root, source), "-o", program, "testdata/native.c")
	out, err := exec.Command(cc, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

// native is a guest that runs as a program.
type native struct {
	in         io.WriteCloser
	out        *bufio.Reader
	complaints *strings.Builder
	wait       func() error
	scopes     scopes
	states     map[[2]int][][2][]byte
}

func startNative(t *testing.T, program string, of scopes) *native {
	t.Helper()
	c := exec.Command(program)
	n := &native{complaints: &strings.Builder{}, wait: c.Wait, scopes: of}
	c.Stderr = n.complaints
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	n.in, n.out = in, bufio.NewReader(out)
	t.Cleanup(func() { n.in.Close() })
	return n
}

// Perform performs a frame; the program's end is the error.
func (n *native) Perform(function uint32, frame []byte, owners []conform.Owner) (effects, after []byte, err error) {
	le := binary.LittleEndian
	var b []byte
	for _, v := range []uint32{function, uint32(len(frame)), n.scopes.broadcast, n.scopes.windows, uint32(len(owners))} {
		b = le.AppendUint32(b, v)
	}
	for _, o := range owners {
		of := [8]int{o.Key, o.Window}
		copy(of[2:], o.Merged)
		for _, v := range of {
			b = le.AppendUint32(b, uint32(v))
		}
	}
	_, writeErr := n.in.Write(append(b, frame...))
	length, err := n.number()
	if err != nil {
		return nil, nil, errors.Join(n.wait(), writeErr, err)
	}
	effects, after = make([]byte, length), make([]byte, len(frame))
	if _, err := io.ReadFull(n.out, effects); err != nil {
		return nil, nil, err
	}
	if _, err := io.ReadFull(n.out, after); err != nil {
		return nil, nil, err
	}
	return effects, after, n.readStates()
}

func (n *native) number() (uint32, error) {
	var b [4]byte
	_, err := io.ReadFull(n.out, b[:])
	return binary.LittleEndian.Uint32(b[:]), err
}

func (n *native) readStates() error {
	n.states = map[[2]int][][2][]byte{}
	used, err := n.number()
	for ; used > 0 && err == nil; used-- {
		var head [4]uint32
		if err := binary.Read(n.out, binary.LittleEndian, &head); err != nil {
			return err
		}
		both := make([]byte, head[2]+head[3])
		_, err = io.ReadFull(n.out, both)
		of := [2]int{int(head[0]), int(head[1])}
		n.states[of] = append(n.states[of], [2][]byte{both[:head[2]], both[head[2]:]})
	}
	return err
}

// Entries is what a list or map state holds.
func (n *native) Entries(owner, state int) [][2][]byte { return n.states[[2]int{owner, state}] }

// TestStringsNatively plays parameters, strings and effects that do not fit.
func TestStringsNatively(t *testing.T) {
	root, err := findRoot()
	if err != nil {
		t.Fatal(err)
	}
	program := compile(t, root, "udfs/build/testdata/strings.c", "cc")
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
	n := startNative(t, program, scopes{})
	if _, _, err := n.Perform(0, open, nil); err != nil {
		t.Fatal(err)
	}
	effects, _, err := n.Perform(0, work(1), nil)
	if err != nil {
		t.Fatal(err)
	}
	if string(effects) != want {
		t.Errorf("got  % x\nwant % x", effects, want)
	}
	var exit *exec.ExitError
	if _, _, err := n.Perform(0, work(256*1024/len(want)+1), nil); !errors.As(err, &exit) || exit.ExitCode() != 3 {
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
