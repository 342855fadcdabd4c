package process

import (
	"encoding/binary"

	"github.com/wasmstream/wasmstream/abi"
	"github.com/wasmstream/wasmstream/host/state"
	"github.com/wasmstream/wasmstream/host/stream"
)

// A part's name is the state's index, counted from the base, a big-endian u16, and the row of a map's key, or
// an element's position, a big-endian u64: so the order of names is the order of
// entries. That of a slot is the index alone.
const (
	indexBytes    = 2
	positionBytes = 8
)

// prefix is what the names of a state's parts begin with.
func (s *States) prefix(i int) []byte {
	s.name = binary.BigEndian.AppendUint16(s.name[:0], uint16(s.base+i))
	return s.name
}

func (s *States) nameOf(i int, key []byte) []byte {
	s.name = append(s.prefix(i), key...)
	return s.name
}

// mergedShift is where in a host call's state the window stands whose states are asked
// for: 0 for the op's own, 1 for the first of those that were merged into it.
const mergedShift = 16

// place is a state that a host call names: which one it is, and the entry that has its
// parts.
type place struct {
	*State
	index int
	whole state.Ref
}

// find is the state that a host call names.
func (s *States) find(op, call uint32, writes bool) (p place, err error) {
	index, merged := call&(1<<mergedShift-1), call>>mergedShift
	if uint64(index) >= uint64(len(s.states)) {
		return p, wrongCall(op, abi.FaultBadState, "state %d: the function has %d", index, len(s.states))
	}
	p = place{State: &s.states[index], index: int(index)}
	subject, ok := s.of(op)
	switch {
	case p.InSlot:
		return p, wrongCall(op, abi.FaultBadState, "state %d is a slot, and no list or map", index)
	case !ok:
		return p, wrongCall(op, abi.FaultBadState, "op %d: the frame has no such op", op)
	case merged > 0:
		return s.ofMerged(p, &subject, op, merged, writes)
	case p.Shared && writes && !subject.Writes:
		return p, wrongCall(op, abi.FaultBadState, "op %d: broadcast state %d is changed by on-broadcast only", op, index)
	case p.Shared:
		p.whole = s.backend.Shared()
	case !subject.Keyed:
		return p, wrongCall(op, abi.FaultBadState, "op %d has no key, and state %d is of a key", op, index)
	case p.Window:
		p.whole = subject.Window
	default:
		p.whole = subject.Entry
	}
	return p, nil
}

// ofMerged is the state of a window that was merged into the op's.
func (s *States) ofMerged(p place, subject *Subject, op, merged uint32, writes bool) (place, error) {
	switch {
	case !p.Window || uint64(merged) > uint64(len(subject.Merged)):
		return p, wrongCall(op, abi.FaultBadState, "op %d: state %d of merged window %d: there are %d", op, p.index, merged-1, len(subject.Merged))
	case writes:
		return p, wrongCall(op, abi.FaultBadState, "op %d: state %d of a window that was merged can only be read", op, p.index)
	}
	p.whole = subject.Merged[merged-1]
	return p, nil
}

func checkRow(schema *stream.Schema, row []byte, what string, op uint32, index int) error {
	if err := stream.CheckExact(schema, row); err != nil {
		return wrongCall(op, abi.FaultBadRow, "the %s for state %d is no %s: %v", what, index, schema, err)
	}
	return nil
}

// Get is the value of a map's entry, a view until the next call.
func (s *States) Get(op, index uint32, key []byte) (value []byte, ok bool, err error) {
	d, err := s.find(op, index, false)
	if err != nil {
		return nil, false, err
	}
	if d.Key == nil {
		return nil, false, wrongCall(op, abi.FaultBadState, "state %d is a list; it is read by scanning", d.index)
	}
	if err := checkRow(d.Key, key, "key", op, d.index); err != nil {
		return nil, false, err
	}
	part, ok := s.backend.FindPart(d.whole, s.nameOf(d.index, key))
	if !ok {
		return nil, false, nil
	}
	value, ok = s.read(part, &d.TTL)
	return value, ok, nil
}

// read is the value of a part as a function sees it.
func (s *States) read(part state.Ref, ttl *TTL) (value []byte, ok bool) {
	if !s.backend.Has(part, s.parts) {
		return nil, false
	}
	value = s.backend.Value(part, s.parts)
	if ttl.Millis == 0 {
		return value, true
	}
	began := stampOf(value)
	switch {
	case ttl.isOver(began, s.now):
		s.set(part, nil, false)
		// The bytes stay in the journal, which a frame's End empties.
		return s.old[len(s.old)-len(value)+stampBytes:], ttl.Once
	case ttl.OnRead && began != s.now:
		s.scratch = append(appendStamp(s.scratch[:0], s.now), value[stampBytes:]...)
		s.set(part, s.scratch, true)
		value = s.backend.Value(part, s.parts)
	}
	return value[stampBytes:], true
}

// Put sets a map's entry, or appends to a list.
func (s *States) Put(op, index uint32, key, value []byte) error {
	d, err := s.find(op, index, true)
	if err != nil {
		return err
	}
	if err := checkRow(d.Value, value, "value", op, d.index); err != nil {
		return err
	}
	switch {
	case d.Key == nil && len(key) > 0:
		return wrongCall(op, abi.FaultBadState, "state %d is a list, which is appended to without a key", d.index)
	case d.Key == nil:
		key = s.append(d.whole, d.index, &d.TTL)
	default:
		if err := checkRow(d.Key, key, "key", op, d.index); err != nil {
			return err
		}
	}
	if err := s.mayWrite(op, len(key)+len(value)); err != nil {
		return err
	}
	if d.TTL.Millis > 0 {
		s.scratch = append(appendStamp(s.scratch[:0], s.now), value...)
		value = s.scratch
	}
	name := s.nameOf(d.index, key)
	if err := s.mayKeep(op, d.whole, name, len(value)); err != nil {
		return err
	}
	s.set(s.backend.Part(d.whole, name), value, true)
	return nil
}

// append is the position of a list's next element. Elements at its beginning that are
// over are dropped first: positions must not tell whether they were still there.
func (s *States) append(whole state.Ref, index int, ttl *TTL) []byte {
	at := uint64(1)
	if ttl.Millis > 0 && !ttl.Once {
		first, ok := s.next(whole, index, s.prefix(index))
		for ; ok && s.isOver(first, ttl); first, ok = s.next(whole, index, s.prefix(index)) {
			s.drop(first)
		}
	}
	last, ok := s.backend.LastPart(whole, s.prefix(index+1))
	if ok && s.indexOf(last) == index {
		at = binary.BigEndian.Uint64(s.backend.Name(last)[indexBytes:]) + 1
	}
	binary.BigEndian.PutUint64(s.position[:], at)
	return s.position[:]
}

// indexOf is the state that a part is of; of another's part it may be any.
func (s *States) indexOf(part state.Ref) int {
	return int(binary.BigEndian.Uint16(s.backend.Name(part))) - s.base
}

// next is a state's first entry behind a name.
func (s *States) next(whole state.Ref, index int, after []byte) (state.Ref, bool) {
	part, ok := s.backend.NextPart(whole, after)
	return part, ok && s.indexOf(part) == index
}

// Delete takes a map's entry away; without a key all of a map or list.
func (s *States) Delete(op, index uint32, key []byte) error {
	d, err := s.find(op, index, true)
	if err != nil {
		return err
	}
	if len(key) == 0 {
		part, ok := s.next(d.whole, d.index, s.prefix(d.index))
		for ; ok; part, ok = s.next(d.whole, d.index, s.backend.Name(part)) {
			if err := s.mayWrite(op, 0); err != nil {
				return err
			}
			s.set(part, nil, false)
		}
		return nil
	}
	if d.Key == nil {
		return wrongCall(op, abi.FaultBadState, "state %d is a list, which is emptied without a key", d.index)
	}
	if err := checkRow(d.Key, key, "key", op, d.index); err != nil {
		return err
	}
	if part, ok := s.backend.FindPart(d.whole, s.nameOf(d.index, key)); ok && s.backend.Has(part, s.parts) {
		s.set(part, nil, false)
	}
	return nil
}

// Scan copies entries behind one, as many whole ones as fit: {u32 length of the key, u32
// length of the value, key, value}, both padded to 8. It answers their bytes, 0 at the
// end, and less the bytes that are needed if not even the next one fits.
func (s *States) Scan(op, index uint32, after, into []byte) (n int, err error) {
	d, err := s.find(op, index, false)
	if err != nil {
		return 0, err
	}
	after, err = s.afterOf(&d, op, after)
	if err != nil {
		return 0, err
	}
	// Of a list the last element that is over stays: it may say what the next one's position is, once
	// those behind it are taken back.
	over := d.whole // none
	for {
		part, ok := s.next(d.whole, d.index, after)
		if !ok {
			return n, nil
		}
		if d.TTL.Millis > 0 && !d.TTL.Once && s.isOver(part, &d.TTL) {
			if d.Key != nil {
				s.drop(part) // what is next is what is behind after
				continue
			}
			if over != d.whole {
				s.drop(over)
			}
			over, after = part, s.backend.Name(part)
			continue
		}
		after = s.backend.Name(part) // good until entries are released, which is after the frame
		key := after[indexBytes:]
		size := entryBytes + abi.Align(len(key)) + abi.Align(len(s.backend.Value(part, s.parts))-d.TTL.stampBytes())
		if n+size > len(into) {
			if n == 0 {
				return -size, nil
			}
			return n, nil
		}
		value, _ := s.read(part, &d.TTL)
		putEntry(into[n:n+size], key, value, d.Key == nil)
		n += size
	}
}

// entryBytes is what stands before a scanned entry's key.
const entryBytes = 8

// afterOf is the name behind which a scan begins.
func (s *States) afterOf(d *place, op uint32, after []byte) ([]byte, error) {
	switch {
	case len(after) == 0:
		return s.prefix(d.index), nil
	case d.Key != nil:
		if err := checkRow(d.Key, after, "key", op, d.index); err != nil {
			return nil, err
		}
		return s.nameOf(d.index, after), nil
	case len(after) != positionBytes:
		return nil, wrongCall(op, abi.FaultBadState, "state %d is a list; what a scan begins behind is a position of 8 bytes, not of %d", d.index, len(after))
	}
	binary.BigEndian.PutUint64(s.position[:], binary.LittleEndian.Uint64(after))
	return s.nameOf(d.index, s.position[:]), nil
}

func putEntry(b, key, value []byte, isList bool) {
	clear(b)
	binary.LittleEndian.PutUint32(b, uint32(len(key)))
	binary.LittleEndian.PutUint32(b[4:], uint32(len(value)))
	copy(b[entryBytes:], key)
	if isList {
		binary.LittleEndian.PutUint64(b[entryBytes:], binary.BigEndian.Uint64(key))
	}
	copy(b[entryBytes+abi.Align(len(key)):], value)
}
