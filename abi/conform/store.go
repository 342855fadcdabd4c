package conform

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/wasmstream/wasmstream/abi"
	"github.com/wasmstream/wasmstream/host/stream"
)

// Store is list, map and broadcast states in memory, as simple as they can be. It is to guests what a host is: what they
// may not ask for is a fault.
type Store struct {
	// Owners are whose states the ops of the frame have.
	Owners []Owner

	function *abi.Function
	schemas  []stateSchemas
	kinds    []abi.OpKind // of the frame's ops
	entries  map[place][]entry
}

// place is a state of an owner.
type place struct{ owner, state int }

// entry is one of a map, by its key, or of a list, without one.
type entry struct{ key, value []byte }

// NewStore makes the states of a function.
func NewStore(f *abi.Function) (*Store, error) {
	r, err := RowsOf(f)
	if err != nil {
		return nil, err
	}
	return &Store{function: f, schemas: r.states, entries: map[place][]entry{}}, nil
}

// Begin says which frame calls are about from here on.
func (s *Store) Begin(frame []byte, owners []Owner) error {
	h, err := abi.ReadHeader(frame)
	if err != nil {
		return err
	}
	s.Owners, s.kinds = owners, s.kinds[:0]
	for i := range int(h.Ops) {
		s.kinds = append(s.kinds, abi.ReadOp(frame, int(h.OpsOffset)+i*abi.OpBytes).Kind)
	}
	return nil
}

// Entries is what a state of an owner holds, in order.
func (s *Store) Entries(owner, state int) (entries [][2][]byte) {
	for _, e := range s.entries[place{owner, state}] {
		entries = append(entries, [2][]byte{e.key, e.value})
	}
	return entries
}

// bad is the fault of a guest that asks for what there is not.
func bad(kind abi.FaultKind, op uint32, format string, args ...any) error {
	return &abi.Fault{Kind: kind, Op: int(op), Detail: fmt.Sprintf("op %d: ", op) + fmt.Sprintf(format, args...)}
}

// find is the place of a state that an op asks for. Above its index a call has which of the merged windows it is about,
// counted from 1.
func (s *Store) find(op, call uint32, change bool) (p place, list bool, err error) {
	state, merged := int(call&0xFFFF), int(call>>16)
	if int(op) >= len(s.kinds) || state >= len(s.function.GetStates()) {
		return p, false, bad(abi.FaultBadState, op, "a call on state %d, of %d ops and %d states", state, len(s.kinds), len(s.function.GetStates()))
	}
	of, kind := s.function.GetStates()[state], s.kinds[op]
	scope := of.ScopeOrDefault()
	switch {
	case of.InSlot():
		return p, false, bad(abi.FaultBadState, op, "a call on state %q, which is a slot", of.GetName())
	case scope == abi.ScopeBroadcast && change && kind != abi.OpOnBroadcast:
		return p, false, bad(abi.FaultBadState, op, "%s changes the broadcast state %q", kind, of.GetName())
	case scope != abi.ScopeBroadcast && kind == abi.OpOnBroadcast:
		return p, false, bad(abi.FaultBadState, op, "%s has no key, and asks for its state %q", kind, of.GetName())
	case scope != abi.ScopeBroadcast && int(op) >= len(s.Owners):
		return p, false, bad(abi.FaultBadState, op, "it has no key, and asks for state %q", of.GetName())
	case merged > 0 && (scope != abi.ScopeWindow || change || merged > len(s.Owners[op].Merged)):
		return p, false, bad(abi.FaultBadState, op, "a call on state %q of merged window %d", of.GetName(), merged-1)
	}
	p = place{state: state}
	switch {
	case merged > 0:
		p.owner = s.Owners[op].Merged[merged-1]
	case scope == abi.ScopeWindow:
		p.owner = s.Owners[op].Window
	case scope != abi.ScopeBroadcast:
		p.owner = s.Owners[op].Key
	}
	return p, of.GetKind() == abi.StateList, nil
}

// Get answers state_get.
func (s *Store) Get(op, state uint32, key []byte) ([]byte, bool, error) {
	p, list, err := s.find(op, state, false)
	if err == nil && list {
		err = bad(abi.FaultBadState, op, "state_get of a list")
	}
	if err == nil {
		err = s.row(op, s.schemas[p.state].key, key)
	}
	if err != nil {
		return nil, false, err
	}
	if i, found := s.search(p, key); found {
		return s.entries[p][i].value, true, nil
	}
	return nil, false, nil
}

// Put answers state_put.
func (s *Store) Put(op, state uint32, key, value []byte) error {
	p, list, err := s.find(op, state, true)
	if err == nil {
		err = s.row(op, s.schemas[p.state].value, value)
	}
	switch {
	case err != nil:
		return err
	case list && len(key) > 0:
		return bad(abi.FaultBadState, op, "state_put with a key into a list")
	case list:
		s.entries[p] = append(s.entries[p], entry{value: bytes.Clone(value)})
		return nil
	}
	if err := s.row(op, s.schemas[p.state].key, key); err != nil {
		return err
	}
	e := entry{bytes.Clone(key), bytes.Clone(value)}
	if i, found := s.search(p, key); found {
		s.entries[p][i] = e
	} else {
		s.entries[p] = slices.Insert(s.entries[p], i, e)
	}
	return nil
}

// Delete answers state_delete.
func (s *Store) Delete(op, state uint32, key []byte) error {
	p, list, err := s.find(op, state, true)
	switch {
	case err != nil:
		return err
	case len(key) == 0:
		delete(s.entries, p)
		return nil
	case list:
		return bad(abi.FaultBadState, op, "state_delete of one element of a list")
	}
	if err := s.row(op, s.schemas[p.state].key, key); err != nil {
		return err
	}
	if i, found := s.search(p, key); found {
		s.entries[p] = slices.Delete(s.entries[p], i, i+1)
	}
	return nil
}

// Scan answers state_scan.
func (s *Store) Scan(op, state uint32, after, into []byte) (n int, err error) {
	p, list, err := s.find(op, state, false)
	if err != nil {
		return 0, err
	}
	from := 0
	switch {
	case len(after) == 0:
	case list && len(after) != 8:
		return 0, bad(abi.FaultBadState, op, "state_scan of a list behind a position of %d bytes", len(after))
	case list:
		from = int(min(binary.LittleEndian.Uint64(after), uint64(len(s.entries[p]))))
	default:
		i, found := s.search(p, after)
		if from = i; found {
			from++
		}
	}
	for i, e := range s.entries[p][from:] {
		key := e.key
		if list {
			key = binary.LittleEndian.AppendUint64(nil, uint64(from+i+1))
		}
		size := 8 + abi.Align(len(key)) + abi.Align(len(e.value))
		if n+size > len(into) {
			if n == 0 {
				return -size, nil
			}
			break
		}
		to := into[n : n+size]
		clear(to)
		binary.LittleEndian.PutUint32(to, uint32(len(key)))
		binary.LittleEndian.PutUint32(to[4:], uint32(len(e.value)))
		copy(to[8:], key)
		copy(to[8+abi.Align(len(key)):], e.value)
		n += size
	}
	return n, nil
}

func (s *Store) row(op uint32, schema *stream.Schema, row []byte) error {
	if err := stream.CheckExact(schema, row); err != nil {
		return bad(abi.FaultBadRow, op, "a row for a state: %v", err)
	}
	return nil
}

func (s *Store) search(p place, key []byte) (int, bool) {
	return slices.BinarySearchFunc(s.entries[p], key, func(e entry, key []byte) int { return bytes.Compare(e.key, key) })
}
