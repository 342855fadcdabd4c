// Package wasmstreamtest runs a cases.txt against the functions that are registered in this program, natively: through
// the same two entries that a host calls in Wasm, but without Wasm, so that `go test` and a debugger are all it takes.
//
// A case is played as one frame and again with a frame for each op, since a function must not notice the difference.
//
//	function NAME           the cases that follow are for this function
//	case TEXT               begins a case
//	create SLOT
//	add SLOT ROW            ROW is JSON by column; a column that is absent is null
//	merge SLOT SECOND
//	result SLOT => ROW
//
// In rows, TIMESTAMP(3) is a number of milliseconds, DATE a number of days, BYTES base64.
package wasmstreamtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"testing"

	"github.com/wasmstream/wasmstream/guest-sdk/go/internal/raw"
)

// manifest is as much of it as is needed here.
type manifest struct {
	Functions []struct {
		Name                       string
		Input, Accumulator, Output schema
	}
}

type schema struct{ Fields []field }

type field struct{ Name, Type string }

func (f field) variable() bool { return f.Type == "STRING" || f.Type == "BYTES" }

func (s schema) variable() bool {
	for _, f := range s.Fields {
		if f.variable() {
			return true
		}
	}
	return false
}

// step is one op of a case.
type step struct {
	line, op     int
	slot, second int
	row          []byte
	want         string
}

// Run plays the cases of a file: Run(t, os.DirFS(".."), "cases.txt").
func Run(t *testing.T, files fs.FS, path string) {
	t.Helper()
	text, err := fs.ReadFile(files, path)
	if err != nil {
		t.Fatal(err)
	}
	var m manifest
	if err := json.Unmarshal(raw.Guest.Describe(), &m); err != nil {
		t.Fatal(err)
	}
	function, name := -1, ""
	var steps []step
	finish := func() {
		if name != "" {
			f := m.Functions[function]
			run := func(t *testing.T, perFrame int) {
				play(t, path, uint32(function), f.Accumulator, f.Output, steps, perFrame)
			}
			t.Run(name, func(t *testing.T) { run(t, len(steps)) })
			t.Run(name+" (a frame for each op)", func(t *testing.T) { run(t, 1) })
		}
		steps, name = nil, ""
	}
	for i, line := range strings.Split(string(text), "\n") {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch {
		case word == "" || strings.HasPrefix(word, "#"):
		case word == "function":
			finish()
			function = -1
			for k, f := range m.Functions {
				if f.Name == rest {
					function = k
				}
			}
		case function < 0:
			t.Fatalf("%s:%d: no `function` before it, or one that is not registered", path, i+1)
		case word == "case":
			finish()
			name = rest
		default:
			s, err := readStep(m.Functions[function].Input, word, rest)
			if err != nil {
				t.Fatalf("%s:%d: %v", path, i+1, err)
			}
			s.line = i + 1
			steps = append(steps, s)
		}
	}
	finish()
}

func readStep(input schema, word, rest string) (s step, err error) {
	slot, rest, _ := strings.Cut(rest, " ")
	if s.slot, err = strconv.Atoi(slot); err != nil {
		return s, err
	}
	switch word {
	case "create":
		s.op = raw.OpCreate
	case "add":
		s.op = raw.OpAdd
		s.row, err = encodeRow(input, rest)
	case "merge":
		s.op = raw.OpMerge
		s.second, err = strconv.Atoi(rest)
	case "result":
		s.op = raw.OpResult
		s.want = strings.TrimPrefix(rest, "=> ")
	default:
		err = fmt.Errorf("%q is none of case, create, add, merge, result", word)
	}
	return s, err
}

// play runs steps in frames of perFrame ops, the slots being carried from frame to frame.
func play(t *testing.T, path string, function uint32, accumulator, output schema, steps []step, perFrame int) {
	slots := make([][]byte, 1)
	for _, s := range steps {
		for len(slots) <= max(s.slot, s.second) {
			slots = append(slots, nil)
		}
	}
	for i := range slots {
		slots[i] = make([]byte, fixedBytes(accumulator))
	}
	for len(steps) > 0 {
		frame := steps[:min(perFrame, len(steps))]
		steps = steps[len(frame):]
		emits := call(t, function, accumulator, slots, frame)
		for i, s := range frame {
			if s.op != raw.OpResult {
				continue
			}
			got, err := decodeRow(output, emits[i])
			if err != nil {
				t.Fatalf("%s:%d: %v", path, s.line, err)
			}
			want, err := encodeRow(output, s.want)
			if err != nil {
				t.Fatalf("%s:%d: %v", path, s.line, err)
			}
			// Equal rows have equal bytes: this is what the host relies on.
			if !bytes.Equal(emits[i], want) {
				t.Errorf("%s:%d: got %s, want %s (bytes % x, want % x)", path, s.line, got, s.want, emits[i], want)
			}
		}
	}
}
