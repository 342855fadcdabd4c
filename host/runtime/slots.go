package runtime

import (
	"bytes"
	"encoding/binary"

	"github.com/wasmstream/wasmstream/host/state"
	"github.com/wasmstream/wasmstream/host/stream"
)

// slots are the states of a function that are slots of its ops, in one cell of an
// entry. If all are of fixed width they stand one after the other at their places, and
// one without a value as the ABI has it; else each has its length before it. A cell in
// which no state has a value is not held.
type slots struct {
	backend state.Backend
	cell    state.Cell
	places  []int // where each begins and the last ends; nil: some are of variable width
	count   int

	parts [][]byte // scratch of variable width: views
	buf   []byte
}

// slotLengthBytes stand before each state of variable width.
const slotLengthBytes = 4

func newSlots(schemas []*stream.Schema) slots {
	s := slots{count: len(schemas)}
	places := []int{0}
	for _, schema := range schemas {
		if !schema.IsFixedWidth() {
			return s
		}
		places = append(places, places[len(places)-1]+schema.FixedBytes())
	}
	s.places = places
	return s
}

// cellBytes is the width of the cell.
func (s *slots) cellBytes() int {
	if s.places == nil {
		return state.Variable
	}
	return s.places[s.count]
}

// load appends the value of a state; nothing, if it has none.
func (s *slots) load(dst []byte, r state.Ref, i int) []byte {
	if !s.backend.Has(r, s.cell) {
		return dst
	}
	value := s.backend.Value(r, s.cell)
	if s.places == nil {
		return append(dst, s.split(value)[i]...)
	}
	if value = value[s.places[i]:s.places[i+1]]; stream.Row(value).Change() == absentSlot {
		return dst
	}
	return append(dst, value...)
}

// absentSlot is the kind of change of a slot that holds no value.
const absentSlot = stream.ChangeKind(3)

// store sets a state to a value, or takes it away with none.
func (s *slots) store(r state.Ref, i int, row stream.Row) {
	if s.places == nil {
		s.storeVariable(r, i, row)
		return
	}
	if !s.backend.Has(r, s.cell) {
		if len(row) == 0 {
			return
		}
		s.backend.Hold(r, s.cell)
		all := s.backend.Edit(r, s.cell)
		clear(all)
		for _, at := range s.places[:s.count] {
			stream.Row(all[at:]).SetChange(absentSlot)
		}
	}
	value := s.backend.Value(r, s.cell)[s.places[i]:s.places[i+1]]
	switch {
	case len(row) > 0 && bytes.Equal(value, row):
		return
	case len(row) > 0:
		copy(s.backend.Edit(r, s.cell)[s.places[i]:], row)
		return
	case stream.Row(value).Change() == absentSlot:
		return
	}
	all := s.backend.Edit(r, s.cell)
	clear(all[s.places[i]:s.places[i+1]])
	stream.Row(all[s.places[i]:]).SetChange(absentSlot)
	if s.isEmpty(all) {
		s.backend.Clear(r, s.cell)
	}
}

func (s *slots) isEmpty(all []byte) bool {
	for _, at := range s.places[:s.count] {
		if stream.Row(all[at:]).Change() != absentSlot {
			return false
		}
	}
	return true
}

func (s *slots) storeVariable(r state.Ref, i int, row stream.Row) {
	parts := s.split(s.backend.Value(r, s.cell))
	if bytes.Equal(parts[i], row) {
		return
	}
	parts[i] = row
	s.buf = s.buf[:0]
	held := false
	for _, p := range parts {
		held = held || len(p) > 0
		s.buf = binary.LittleEndian.AppendUint32(s.buf, uint32(len(p)))
		s.buf = append(s.buf, p...)
	}
	if !held {
		s.backend.Clear(r, s.cell)
		return
	}
	s.backend.Put(r, s.cell, s.buf)
}

// split takes a cell of variable width apart.
func (s *slots) split(value []byte) [][]byte {
	s.parts = s.parts[:0]
	for len(value) > 0 {
		n := slotLengthBytes + int(binary.LittleEndian.Uint32(value))
		s.parts = append(s.parts, value[slotLengthBytes:n:n])
		value = value[n:]
	}
	for len(s.parts) < s.count {
		s.parts = append(s.parts, nil)
	}
	return s.parts
}

// clear takes all states away.
func (s *slots) clear(r state.Ref) {
	if s.count > 0 && s.backend.Has(r, s.cell) {
		s.backend.Clear(r, s.cell)
	}
}
