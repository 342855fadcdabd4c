package process

import "github.com/wasmstream/wasmstream/host/state"

// NewParts keeps states on a backend whose entries others use, too: slots are parts as
// well, and all that it needs is a cell of variable width that nobody else has of parts.
// The names of its parts begin at base, so that several have room in one entry: less
// than a thousand from each other, and none below zero.
func NewParts(backend state.Backend, parts state.Cell, base int, states []State, of func(op uint32) (Subject, bool)) *States {
	s := newStates(backend, states, 0, of)
	s.parts, s.base = parts, base
	return s
}

// Clear takes away what the states of an entry hold that are parts of it. It must not be
// called while a frame is performed.
func (s *States) Clear(whole state.Ref) {
	part, ok := s.backend.FindPart(whole, s.prefix(0)) // no other name of the state begins before it
	if !ok {
		part, ok = s.backend.NextPart(whole, s.prefix(0))
	}
	for ok && s.indexOf(part) < len(s.states) {
		s.backend.Clear(part, s.parts)
		part, ok = s.backend.NextPart(whole, s.backend.Name(part))
	}
}
