package state

import "math/bits"

// changes says which entries the next snapshot has, and what is left of the one
// under way.
//
// An entry that changes is dirty. A flip makes what is dirty frozen, and nothing
// dirty: each frozen entry is to be written as it is now. It is written when a
// slice comes to it, or, if that is earlier, just before it changes; it is not
// frozen any more then. An entry that was written is stored: if it goes, the
// snapshots have to be told. What is told without its entry, because that is gone
// or about to change, lies in a tape.
//
// The bits are of live entries only, so a place that is used again begins with
// none. Told as sequences, for a key K:
//
//   - K comes and goes between two flips: it was never stored, nothing is written.
//   - K is stored and goes: Release puts its deletion on the tape of what is
//     dirty. K comes again before the flip, at another place or the same: that
//     entry is dirty and not stored. The snapshot has the deletion, which is on the
//     tape before any copy and is read before any entry, then the addition. If it
//     goes a second time, there is no second deletion.
//   - K is frozen, and goes after the flip: what empties it touches it first, so
//     the tape of the snapshot under way gets it as it was and it is stored; then
//     its deletion is on the other tape, for the next snapshot.
//   - K is empty at a flip and freed later: Release may come after the flip, since
//     refs are kept over it (invariant P). A slice, or Release itself, finds a
//     frozen entry that holds nothing, and writes the deletion if K is stored. It is
//     not stored any more, so Release adds no other.
//   - K is written by a slice, then changed, and the snapshot given up: Everything
//     makes all live entries dirty, whatever they were.
type changes struct {
	dirty, frozen, stored bitset

	underWay bool
	isBase   bool // the next snapshot is one
	word     int  // of frozen: those before it are clear
	fresh    tape // deletions since the flip
	tape     tape // of the snapshot under way: deletions, then copies

	encoder encoder
}

// bitset is a bit for each entry.
type bitset []uint64

func (b bitset) has(r Ref) bool { return b[r/64]>>(r%64)&1 != 0 }
func (b bitset) set(r Ref)      { b[r/64] |= 1 << (r % 64) }
func (b bitset) unset(r Ref)    { b[r/64] &^= 1 << (r % 64) }

// hasRoom makes sure that there are bits for an entry, none of them set.
func (c *changes) hasRoom(r Ref) {
	if int(r/64) == len(c.dirty) {
		c.dirty, c.frozen, c.stored = append(c.dirty, 0), append(c.frozen, 0), append(c.stored, 0)
	}
}

// touch comes before each change of what an entry holds.
func (m *Memory) touch(r Ref) {
	if m.changes.dirty[r/64]&(1<<(r%64)) == 0 {
		m.mark(r)
	}
}

func (m *Memory) mark(r Ref) {
	if m.changes.frozen.has(r) {
		m.copyOut(r)
	}
	m.changes.dirty.set(r)
}

// copyOut writes a frozen entry before its turn.
func (m *Memory) copyOut(r Ref) {
	m.write(r, &m.changes.tape)
	m.changes.frozen.unset(r)
}

// forget comes before an entry is freed.
func (m *Memory) forget(r Ref) {
	c := &m.changes
	c.dirty.unset(r)
	if c.frozen.has(r) {
		m.copyOut(r)
	}
	if c.stored.has(r) {
		c.fresh.Delete(m.entries[r].group, m.encodeKey(r))
		c.stored.unset(r)
	}
}

// write writes an entry as it is now.
func (m *Memory) write(r Ref, to Putter) (bytes int) {
	c, e := &m.changes, &m.entries[r]
	switch key := m.encodeKey(r); {
	case e.holds != live || e.count > 0:
		c.stored.set(r)
		value := m.encodeValue(r)
		to.Add(e.group, key, value)
		return len(key) + len(value)
	case c.stored.has(r):
		c.stored.unset(r)
		to.Delete(e.group, key)
		return len(key)
	}
	return 0
}

// Flip implements Backend. A snapshot under way is a mistake in the caller's code,
// which no run gets over, so it panics.
func (m *Memory) Flip() (isBase bool) {
	c := &m.changes
	if c.underWay {
		panic("state: Flip while a snapshot is under way")
	}
	// All of frozen was written, so it is clear, and tape is empty.
	c.dirty, c.frozen = c.frozen, c.dirty
	c.fresh, c.tape = c.tape, c.fresh
	c.underWay, c.word = true, 0
	isBase, c.isBase = c.isBase, false
	return isBase
}

// sliceRecordBytes is how large a record is that counts as one; a larger one is
// several.
const sliceRecordBytes = 512

// Slice implements Backend.
func (m *Memory) Slice(records int, to Putter) (done bool) {
	c := &m.changes
	if !c.underWay {
		return true
	}
	for records > 0 && !c.tape.isEmpty() {
		records -= 1 + c.tape.pass(to)/sliceRecordBytes
	}
	if !c.tape.isEmpty() {
		return false
	}
	for c.word < len(c.frozen) {
		w := &c.frozen[c.word]
		if *w == 0 {
			c.word++
			continue
		}
		if records <= 0 {
			return false
		}
		r := Ref(c.word*64 + bits.TrailingZeros64(*w))
		*w &= *w - 1
		records -= 1 + m.write(r, to)/sliceRecordBytes
	}
	c.underWay = false
	return true
}

// Everything implements Backend.
func (m *Memory) Everything() {
	c := &m.changes
	clear(c.stored)
	clear(c.frozen)
	c.fresh.reset()
	c.tape.reset()
	c.underWay, c.isBase = false, true
	for i := range c.dirty {
		c.dirty[i] = ^uint64(0)
	}
	if n := len(m.entries) % 64; n != 0 {
		c.dirty[len(c.dirty)-1] = 1<<n - 1
	}
	for _, r := range m.free {
		c.dirty.unset(r)
	}
}
