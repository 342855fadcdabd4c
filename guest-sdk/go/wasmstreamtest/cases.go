// Package wasmstreamtest runs a cases.txt against the functions that are registered in this program, natively: through
// the same two entries that a host calls in Wasm, but without Wasm, so that `go test` and a debugger are all it takes.
//
// A case is played as one frame and again with a frame for each op, since a function must not notice the difference. The
// language of cases is told in udfs/README.md:
//
//	function NAME
//	case TEXT
//	key {"user": "ann"}
//	on-record @1000 {"user": "ann", "amount": 5}
//	=> emit {"total": 5}
//	=> set-timer event 61000
//	state total {"n": 5}
//	on-timer event @61000
//	state total -
package wasmstreamtest

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/wasmstream/wasmstream/guest-sdk/go/internal/cases"
	"github.com/wasmstream/wasmstream/guest-sdk/go/internal/raw"
)

// Run plays the cases of a file: Run(t, os.DirFS(".."), "cases.txt").
func Run(t *testing.T, files fs.FS, path string) {
	t.Helper()
	text, err := fs.ReadFile(files, path)
	if err != nil {
		t.Fatal(err)
	}
	m, err := cases.ReadManifest(raw.Guest.Describe())
	if err != nil {
		t.Fatal(err)
	}
	vectors, err := cases.Vectors(m, text)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	for _, v := range vectors {
		t.Run(v.Name, func(t *testing.T) { play(t, path, m, &v) })
	}
}

func play(t *testing.T, path string, m *cases.Manifest, v *cases.Vector) {
	n := &native{}
	n.ScopeOf = m.Functions[v.Function].ScopeOf
	before := raw.States
	raw.States = n
	defer func() { raw.States = before }()
	fault, err := playVector(v, n)
	switch {
	case err != nil:
		t.Errorf("%s: %v", path, err)
	case v.Fault != "" && (fault == nil || !strings.Contains(fault.Error(), v.Message)):
		t.Errorf("%s: the last op ended in %v, it must fail with %q", path, fault, v.Message)
	}
}

// native is this program's functions as vectors see them.
type native struct{ store }

// Perform performs a frame.
func (n *native) Perform(function int, frame []byte, of *cases.Frame) (effects, after []byte, err error) {
	n.Owners, n.Windows, n.Merged = of.Owners, of.Windows, of.Merged
	room := raw.Guest.In(uint32(len(frame)))
	if room == nil {
		return nil, nil, fmt.Errorf("a frame of %d bytes is too large", len(frame))
	}
	copy(room, frame)
	defer func() {
		// What Fail panics with; any other panic is the test's to show.
		if failure, is := recoverFailure(recover()); is {
			err = failure
		}
	}()
	effects, fits := raw.Guest.Call(uint32(function), room)
	if !fits {
		return nil, nil, fmt.Errorf("the effects are too large")
	}
	return effects, room, nil
}

// recoverFailure tells a Fail from other panics, which go on: they are the function's, and the test shows them.
func recoverFailure(p any) (raw.Failure, bool) {
	failure, is := p.(raw.Failure)
	if p != nil && !is {
		panic(p) // as it came: the test then shows where
	}
	return failure, is
}

// Get, Put, Delete and Scan are what functions call; a mistake in them is one of the SDK.
func (n *native) Get(op, state uint32, key []byte) (value []byte, ok bool) {
	value, ok, err := n.get(op, state, key)
	must(err)
	return value, ok
}

// Put sets a map's entry, or appends to a list.
func (n *native) Put(op, state uint32, key, value []byte) { must(n.put(op, state, key, value)) }

// Delete deletes a map's entry, or all.
func (n *native) Delete(op, state uint32, key []byte) { must(n.delete(op, state, key)) }

// Scan copies entries behind one.
func (n *native) Scan(op, state uint32, after, into []byte) int {
	bytes, err := n.scan(op, state, after, into)
	must(err)
	return bytes
}

// must panics at a call for an op that is not in the frame: it is a mistake of the SDK, and the functions that call have,
// as in Wasm, no error to be returned.
func must(err error) {
	if err != nil {
		panic(err)
	}
}
