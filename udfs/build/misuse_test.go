package main

import (
	"encoding/json"
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
  "accumulator": {"fields": [{"name": "text", "type": "STRING"}]}, "output": {"fields": [{"name": "n", "type": "BIGINT"}]}}]}`

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
`

// TestMisuseNatively: what a function asks for that is not there ends the call with a message, and not with other bytes.
func TestMisuseNatively(t *testing.T) {
	root, err := findRoot()
	if err != nil {
		t.Fatal(err)
	}
	m, err := cases.ReadManifest([]byte(misuseManifest))
	if err != nil {
		t.Fatal(err)
	}
	vectors, err := cases.Vectors(m, []byte(misuseCases))
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(cases.File{Manifest: json.RawMessage(misuseManifest), Vectors: vectors})
	if err != nil {
		t.Fatal(err)
	}
	file, err := conform.Read(text)
	if err != nil {
		t.Fatal(err)
	}
	for _, compiler := range []string{"cc", "c++"} {
		program := compile(t, root, "udfs/build/testdata/misuse.c", compiler)
		for _, v := range file.Vectors {
			t.Run(compiler+" "+v.Name, func(t *testing.T) { play(t, program, &v, scopes{}) })
		}
	}
}
