package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/wasmstream/wasmstream/abi/cases"
	"github.com/wasmstream/wasmstream/abi/conform"
)

// misuseManifest is that of testdata/misuse.c.
const misuseManifest = `{"functions": [
 {"name": "evictor", "role": "evictor"},
 {"name": "process", "role": "process", "input": {"fields": [{"name": "n", "type": "BIGINT"}]}, "output": {"fields": [{"name": "n", "type": "BIGINT"}]},
  "states": [{"name": "s", "kind": "value", "value": {"fields": [{"name": "n", "type": "BIGINT"}]}}]},
 {"name": "trigger", "role": "trigger", "merges": true,
  "states": [{"name": "s", "kind": "value", "scope": "window", "value": {"fields": [{"name": "n", "type": "BIGINT"}]}}]},
 {"name": "fixed", "role": "aggregate", "input": {"fields": [{"name": "n", "type": "BIGINT"}]},
  "accumulator": {"fields": [{"name": "n", "type": "BIGINT"}]}, "output": {"fields": [{"name": "n", "type": "BIGINT"}]}},
 {"name": "texts", "role": "aggregate", "input": {"fields": [{"name": "n", "type": "BIGINT"}]},
  "accumulator": {"fields": [{"name": "text", "type": "STRING"}]}, "output": {"fields": [{"name": "n", "type": "BIGINT"}]}},
 {"name": "named", "role": "aggregate", "input": {"fields": [{"name": "n", "type": "BIGINT"}]},
  "accumulator": {"fields": [{"name": "n", "type": "INT"}]}, "output": {"fields": [{"name": "n", "type": "BIGINT"}]}},
 {"name": "least", "role": "reduce", "input": {"fields": [{"name": "n", "type": "BIGINT"}]}},
 {"name": "many", "role": "flat-map", "input": {"fields": [{"name": "n", "type": "BIGINT"}]}, "output": {"fields": [{"name": "n", "type": "BIGINT"}]}},
 {"name": "wider", "role": "process", "input": {"fields": [{"name": "n", "type": "BIGINT"}]}, "output": {"fields": [{"name": "n", "type": "BIGINT"}]},
  "states": [{"name": "s", "kind": "value", "value": {"fields": [{"name": "n", "type": "BIGINT"}]}}]},
 {"name": "widest", "role": "aggregate", "input": {"fields": [{"name": "n", "type": "BIGINT"}]},
  "accumulator": {"fields": [{"name": "n", "type": "BIGINT"}]}, "output": {"fields": [{"name": "n", "type": "BIGINT"}]}}]}`

const misuseCases = `
function evictor

case an element
element {}
element {}
evict before
fail wasmstream: there is no element 7 of 2

case an element that leaves
element {}
evict after
fail wasmstream: there is no element 1 of 1

function process

case a state that is read
on-record {"n": 0}
fail wasmstream: there is no state in slot 1 of 1

case a state that is edited
on-record {"n": 1}
fail wasmstream: there is no state in slot 2 of 1

case a state that is replaced
on-record {"n": 2}
fail wasmstream: there is no state in slot 1 of 1

case a state that is cleared
on-record {"n": 3}
fail wasmstream: there is no state in slot 1234567890 of 1

function trigger

case a merged window
window 0 15
merged 0 10
merged 5 15
on-merge
fail wasmstream: there is no merged window 2 of 2

function fixed

case an accumulator of fixed width
create 0
fail wasmstream: an accumulator without strings is for WS_AGGREGATE

function texts

case an accumulator of variable width
create 0
fail wasmstream: an accumulator that has strings is for WS_AGGREGATE_OF_TEXTS

function named

case types with the names of the macro
create 0
add 0 {"n": 5}
result 0 => {"n": 5}

function least

case a type with the name of the macro
slot 0 {"n": 5}
reduce 0 {"n": 3}
slot 0 {"n": 3}

function many

case effects of one op
on-record {"n": 20000}
fail wasmstream: the effects of one op are larger than WS_EFFECTS_BYTES, which is (256 * 1024)

function wider

case a wide struct, edited
on-record {"n": 0}
fail wasmstream: the struct of a state or accumulator has more columns than the manifest says

case a wide struct, replaced
on-record {"n": 1}
fail wasmstream: the struct of a state or accumulator has more columns than the manifest says

function widest

case a wide accumulator
create 0
fail wasmstream: the struct of a state or accumulator has more columns than the manifest says
`

// mendedCases: the first add leaves bytes beside an INT, the second one mends that.
const mendedCases = `
function named

case mended
create 0
add 0 {"n": 13}
add 0 {"n": 5}
result 0 => {"n": 5}
`

// TestMisuseNatively: what a function asks for that is not there ends the call with a message, and not with other bytes.
func TestMisuseNatively(t *testing.T) {
	root, err := findRoot()
	if err != nil {
		t.Fatal(err)
	}
	vectors := misuseVectors(t, misuseCases)
	for _, compiler := range []string{"cc", "c++"} {
		program := compile(t, root, "udfs/build/testdata/misuse.c", compiler)
		for _, v := range vectors {
			t.Run(compiler+" "+v.Name, func(t *testing.T) { play(t, program, &v, scopes{}) })
		}
	}
}

// TestMendedSlot: hosts judge slots where a frame ends, so a slot that one op breaks and a later one mends is not noticed
// there. Cases notice, since they play each op in a frame of its own, too.
func TestMendedSlot(t *testing.T) {
	root, err := findRoot()
	if err != nil {
		t.Fatal(err)
	}
	program := compile(t, root, "udfs/build/testdata/misuse.c", "cc")
	vectors := misuseVectors(t, mendedCases)
	if len(vectors) != 2 {
		t.Fatal(len(vectors), "vectors")
	}
	if _, err := vectors[0].Play(startNative(t, program, scopes{})); err != nil {
		t.Error("in one frame:", err)
	}
	_, err = vectors[1].Play(startNative(t, program, scopes{}))
	if err == nil || !strings.Contains(err.Error(), "slot 0 was left as no row of (n INT)") {
		t.Errorf("a frame for each op: got %v", err)
	}
}

// misuseVectors are those of cases for testdata/misuse.c.
func misuseVectors(t *testing.T, text string) []conform.Vector {
	t.Helper()
	m, err := cases.ReadManifest([]byte(misuseManifest))
	if err != nil {
		t.Fatal(err)
	}
	vectors, err := cases.Vectors(m, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	written, err := json.Marshal(cases.File{Manifest: json.RawMessage(misuseManifest), Vectors: vectors})
	if err != nil {
		t.Fatal(err)
	}
	file, err := conform.Read(written)
	if err != nil {
		t.Fatal(err)
	}
	return file.Vectors
}
