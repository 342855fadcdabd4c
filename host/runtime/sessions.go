package runtime

import (
	"bytes"
	"encoding/binary"
	"math"

	"github.com/wasmstream/wasmstream/host/operator/window"
	"github.com/wasmstream/wasmstream/host/state"
)

// sessions keeps the merging sets of a step. A key with a few sessions has them in one
// cell, in order: those are read and written at once. One with more has each in a part of
// the key's entry, named by its start, so that a record reads and writes those that it
// could meet, however many there are; a backlog whose partitions lie far apart in time
// opens thousands. Such a key has its cell back when all of its sessions are over.
type sessions struct {
	backend state.Backend
	parts   []state.Ref // that the present set was read from; none: it is the cell's
	spread  bool        // the key's sessions are parts
	name    []byte
	value   []byte
}

// sessionsInCell is how many sessions a key has in one cell at most. Those of older
// checkpoints may be more, until the set changes.
const sessionsInCell = 8

// sessionParts is what names of sessions begin with: an entry may have states of functions
// too, see applyParts.
const sessionParts = math.MaxUint16

const (
	// inSetBytes is an entry of a merging set as it is kept: its window, the window of
	// its contents, its trigger's state.
	inSetBytes = 32 + stateBytes
	// sessionNameBytes is sessionParts and the session's start, so that names are in the
	// order of starts.
	sessionNameBytes = 2 + 8
)

// load appends what is kept of a key's merging set, or, of a large one, those sessions
// that a window may meet: in (S) of package window that is the last one that begins before
// it, and those that begin before it ends.
func (s *sessions) load(set []window.InSet, key state.Ref, w window.Window) []window.InSet {
	s.parts, s.spread = s.parts[:0], false
	if b := s.backend.Value(key, setCell); len(b) > 0 {
		for ; len(b) >= inSetBytes; b = b[inSetBytes:] {
			set = addInSet(set, b)
		}
		return set
	}
	part, ok := s.backend.LastPart(key, s.nameOf(w.Start))
	if s.isSession(part, ok) {
		set = s.loadPart(set, part)
		part, ok = s.backend.NextPart(key, s.backend.Name(part))
	} else {
		part, ok = s.backend.NextPart(key, s.prefix())
	}
	for ; s.isSession(part, ok); part, ok = s.backend.NextPart(key, s.backend.Name(part)) {
		s.spread = true
		if startOf(s.backend.Name(part)) > w.End {
			break
		}
		set = s.loadPart(set, part)
	}
	return set
}

func (s *sessions) loadPart(set []window.InSet, part state.Ref) []window.InSet {
	s.spread = true
	s.parts = append(s.parts, part)
	return addInSet(set, s.backend.Value(part, partsCell))
}

// keep stores what has become of the set that was loaded last.
func (s *sessions) keep(key state.Ref, set []window.InSet) {
	switch {
	case s.spread:
		s.keepParts(key, set)
	case len(set) == 0:
		s.backend.Clear(key, setCell)
	case len(set) > sessionsInCell:
		s.backend.Clear(key, setCell)
		for i := range set {
			s.keepPart(key, &set[i])
		}
	default:
		s.value = s.value[:0]
		for i := range set {
			s.value = appendInSet(s.value, &set[i])
		}
		s.backend.Put(key, setCell, s.value)
	}
}

// keepParts passes the parts and the sessions, both in the order of starts.
func (s *sessions) keepParts(key state.Ref, set []window.InSet) {
	next := 0
	for _, part := range s.parts {
		start := startOf(s.backend.Name(part))
		for ; next < len(set) && set[next].Window.Start < start; next++ {
			s.keepPart(key, &set[next])
		}
		if next < len(set) && set[next].Window.Start == start {
			s.putPart(part, &set[next])
			next++
			continue
		}
		s.backend.Clear(part, partsCell)
		s.backend.Discard(part) // a batch may leave many behind, which others would pass
	}
	for ; next < len(set); next++ {
		s.keepPart(key, &set[next])
	}
}

func (s *sessions) keepPart(key state.Ref, in *window.InSet) {
	s.putPart(s.backend.Part(key, s.nameOf(in.Window.Start)), in)
}

func (s *sessions) putPart(part state.Ref, in *window.InSet) {
	s.value = appendInSet(s.value[:0], in)
	if !bytes.Equal(s.value, s.backend.Value(part, partsCell)) {
		s.backend.Put(part, partsCell, s.value)
	}
}

func (s *sessions) isSession(part state.Ref, ok bool) bool {
	if !ok {
		return false
	}
	name := s.backend.Name(part)
	return len(name) == sessionNameBytes && binary.BigEndian.Uint16(name) == sessionParts
}

func (s *sessions) prefix() []byte {
	s.name = binary.BigEndian.AppendUint16(s.name[:0], sessionParts)
	return s.name
}

func (s *sessions) nameOf(start int64) []byte {
	s.name = binary.BigEndian.AppendUint64(s.prefix(), uint64(start)^1<<63)
	return s.name
}

func startOf(name []byte) int64 { return int64(binary.BigEndian.Uint64(name[2:]) ^ 1<<63) }

func appendInSet(b []byte, in *window.InSet) []byte {
	for _, v := range [...]int64{in.Window.Start, in.Window.End, in.Contents.Start, in.Contents.End} {
		b = binary.LittleEndian.AppendUint64(b, uint64(v))
	}
	b = append(b, zeroState[:]...)
	putState(b[len(b)-stateBytes:], in.Trigger)
	return b
}

// addInSet appends the session that b begins with. It is written in place, since a literal
// would be made first and then copied.
func addInSet(set []window.InSet, b []byte) []window.InSet {
	set = append(set, window.InSet{})
	in := &set[len(set)-1]
	_ = b[inSetBytes-1]
	in.Window.Start = int64(binary.LittleEndian.Uint64(b))
	in.Window.End = int64(binary.LittleEndian.Uint64(b[8:]))
	in.Contents.Start = int64(binary.LittleEndian.Uint64(b[16:]))
	in.Contents.End = int64(binary.LittleEndian.Uint64(b[24:]))
	in.Trigger = getState(b[32:])
	return set
}

var zeroState [stateBytes]byte
