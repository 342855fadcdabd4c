package runtime

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"

	"github.com/wasmstream/wasmstream/host/state"
	"github.com/wasmstream/wasmstream/host/stream"
)

// TestSlots holds states in a cell against a plain map, of fixed and of variable width.
func TestSlots(t *testing.T) {
	bigint, text := stream.Type{Kind: stream.BigInt}, stream.Type{Kind: stream.String}
	numbers := stream.MustSchema(stream.Field{Name: "a", Type: bigint}, stream.Field{Name: "b", Type: bigint})
	number := stream.MustSchema(stream.Field{Name: "n", Type: bigint})
	texts := stream.MustSchema(stream.Field{Name: "s", Type: text})
	rapid.Check(t, func(t *rapid.T) {
		schemas := [][]*stream.Schema{{number}, {numbers, number}, {number, texts, number}}[rapid.IntRange(0, 2).Draw(t, "schemas")]
		s := newSlots(schemas)
		s.backend = state.NewMemory(128, state.Variable, s.cellBytes())
		s.cell = 1
		keys := []state.Ref{}
		for i := range 3 {
			key := stream.Row(make([]byte, number.FixedBytes()))
			c := number.Column(0)
			c.PutInt64(key, int64(i))
			keys = append(keys, s.backend.Entry(key.Hash(), key, state.Namespace{Start: 1}))
		}
		model := map[[2]int][]byte{}
		for range rapid.IntRange(0, 40).Draw(t, "steps") {
			k, i := rapid.IntRange(0, 2).Draw(t, "key"), rapid.IntRange(0, len(schemas)-1).Draw(t, "state")
			switch rapid.IntRange(0, 5).Draw(t, "what") {
			case 0:
				s.clear(keys[k])
				for i := range schemas {
					delete(model, [2]int{k, i})
				}
			case 1:
				s.store(keys[k], i, nil)
				delete(model, [2]int{k, i})
			default:
				row := filledRow(schemas[i], rapid.StringN(0, 20, 40).Draw(t, "text"), rapid.Int64().Draw(t, "number"))
				s.store(keys[k], i, row)
				model[[2]int{k, i}] = bytes.Clone(row)
			}
			checkSlots(t, &s, keys, model)
		}
	})
}

// filledRow is a row of which each column has the text or the number.
func filledRow(s *stream.Schema, text string, number int64) stream.Row {
	w := stream.NewRowWriter(s)
	w.BeginIn(nil, stream.Insert)
	for i := range s.Len() {
		if s.Column(i).Type.Kind == stream.String {
			w.SetBytes(i, []byte(text))
		} else {
			w.SetInt64(i, number)
		}
	}
	return w.Row()
}

func checkSlots(t *rapid.T, s *slots, keys []state.Ref, model map[[2]int][]byte) {
	for k, r := range keys {
		held := false
		for i := range s.count {
			want := model[[2]int{k, i}]
			held = held || want != nil
			if got := s.load([]byte("before"), r, i); !bytes.Equal(got, append([]byte("before"), want...)) {
				t.Fatalf("state %d of key %d is %x, want %x", i, k, got, want)
			}
		}
		if s.backend.Has(r, s.cell) != held {
			t.Fatalf("key %d is held: %t", k, !held)
		}
	}
}
