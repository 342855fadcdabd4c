package wasmstreamtest

import (
	"bytes"
	"errors"
	"slices"
)

// store is list and map states in memory, as simple as they can be.
type store struct {
	// ScopeOf is what a state is of; of a broadcast one the owner is always 0.
	ScopeOf func(state uint32) string
	// Owners are whose states the ops of the frame have, of a key, Windows of a window, Merged of the windows that became it.
	Owners, Windows []int
	Merged          [][]int
	states          map[place][]entry
}

type place struct {
	owner int
	state uint32
}

type entry struct{ key, value []byte }

var (
	errOp     = errors.New("a call for an op that is not in the frame")
	errMerged = errors.New("a call for a merged window that the op does not have")
)

// place is where an op's state is. Above its index a call has which of the merged windows it is about, counted from 1.
func (s *store) place(op, call uint32) (place, error) {
	state, merged := call&0xFFFF, int(call>>16)
	owners, scope := s.Owners, s.ScopeOf(state)
	if scope == "window" {
		owners = s.Windows
	}
	switch {
	case scope == "broadcast":
		return place{0, state}, nil
	case int(op) >= len(owners):
		return place{}, errOp
	case merged == 0:
		return place{owners[op], state}, nil
	case scope != "window" || int(op) >= len(s.Merged) || merged > len(s.Merged[op]):
		return place{}, errMerged
	}
	return place{s.Merged[op][merged-1], state}, nil
}

func find(entries []entry, key []byte) (int, bool) {
	return slices.BinarySearchFunc(entries, key, func(e entry, key []byte) int { return bytes.Compare(e.key, key) })
}

// get returns the value of a map's entry.
func (s *store) get(op, state uint32, key []byte) (value []byte, ok bool, err error) {
	p, err := s.place(op, state)
	if err != nil {
		return nil, false, err
	}
	i, ok := find(s.states[p], key)
	if !ok {
		return nil, false, nil
	}
	return s.states[p][i].value, true, nil
}

// put sets a map's entry, or appends to a list: without a key.
func (s *store) put(op, state uint32, key, value []byte) error {
	p, err := s.place(op, state)
	if err != nil {
		return err
	}
	if s.states == nil {
		s.states = map[place][]entry{}
	}
	entries := s.states[p]
	if len(key) == 0 {
		s.states[p] = append(entries, entry{nil, bytes.Clone(value)})
		return nil
	}
	i, ok := find(entries, key)
	if !ok {
		entries = slices.Insert(entries, i, entry{key: bytes.Clone(key)})
	}
	entries[i].value = bytes.Clone(value)
	s.states[p] = entries
	return nil
}

// delete removes a map's entry; without a key all.
func (s *store) delete(op, state uint32, key []byte) error {
	p, err := s.place(op, state)
	if err != nil {
		return err
	}
	if len(key) == 0 {
		delete(s.states, p)
	} else if i, ok := find(s.states[p], key); ok {
		s.states[p] = slices.Delete(s.states[p], i, i+1)
	}
	return nil
}

// scan writes entries behind one into a buffer, as many as fit whole; it returns their bytes, or what the next one needs
// below 0.
func (s *store) scan(op, state uint32, after, into []byte) (int, error) {
	p, err := s.place(op, state)
	if err != nil {
		return 0, err
	}
	n := 0
	for i, e := range s.states[p] {
		key := e.key
		if key == nil {
			key = le.AppendUint64(nil, uint64(i+1))
			if len(after) == 8 && uint64(i+1) <= le.Uint64(after) {
				continue
			}
		} else if len(after) > 0 && bytes.Compare(key, after) <= 0 {
			continue
		}
		var b []byte
		b = le.AppendUint32(b, uint32(len(key)))
		b = le.AppendUint32(b, uint32(len(e.value)))
		b = padded(append(padded(append(b, key...)), e.value...))
		if n+len(b) > len(into) {
			if n == 0 {
				return -len(b), nil
			}
			return n, nil
		}
		n += copy(into[n:], b)
	}
	return n, nil
}

// Entries is what a state of an owner holds, in order.
func (s *store) Entries(owner, state int) (entries [][2][]byte) {
	for _, e := range s.states[place{owner, uint32(state)}] {
		entries = append(entries, [2][]byte{e.key, e.value})
	}
	return entries
}
