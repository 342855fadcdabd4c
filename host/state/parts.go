package state

import (
	"bytes"
	"encoding/binary"
	"math/bits"

	"github.com/wasmstream/wasmstream/host/stream"
)

// A part is an entry of its own, so that a snapshot has it if it changed, and not
// because another one did. It shares key and namespace with its whole; the name
// stands behind the key. A tree brings the parts of a whole into the order of their
// names: a treap, whose shape follows from random priorities, so that no names make
// it deep. A part is in the tree as long as it holds something: one that was emptied and is
// not freed yet is in no search's way.
//
// Parts of the shared entry are in the snapshots of all tasks. Records of theirs say
// whose copy they are of.
type parts struct {
	nodes []node // by ref, of parts; of a whole left is the root
	live  int
	seed  uint64 // of priorities
	copy  Copy
}

// node is a part's place in the tree of its whole.
type node struct {
	left, right uint32 // ref + 1; 0: none
	priority    uint32
}

const nodeBytes = 12

// The bits of entry.used that say that the entry has parts, and that it is one.
const (
	parted = 1 << 6
	named  = 1 << 5
)

// Copy says whose copy of the shared entry a backend has: the task's first key group,
// and how many tasks there are.
type Copy struct {
	Home  stream.KeyGroup
	Tasks int
}

// SetCopy implements Backend.
func (m *Memory) SetCopy(c Copy) { m.parts.copy = c }

// sharedKey is the key of the shared entry: a row without columns, which no step's key
// is.
var sharedKey = make(stream.Row, keyBytesMin)

// Shared implements Backend.
func (m *Memory) Shared() Ref {
	r := m.Entry(sharedKey.Hash(), sharedKey, Namespace{})
	m.entries[r].group = m.parts.copy.Home
	return r
}

// IsShared implements Backend.
func (m *Memory) IsShared(r Ref) bool { return int(m.entries[r].rowLen) == keyBytesMin }

// mixName is the hash of a part in the table; h is that of its whole.
func mixName(h uint32, name []byte) uint32 {
	v := uint64(h) ^ uint64(len(name))*0x9e3779b97f4a7c15
	for len(name) >= 8 {
		v = mix(v ^ binary.LittleEndian.Uint64(name))
		name = name[8:]
	}
	for _, b := range name {
		v = v<<8 | v>>56 ^ uint64(b)
	}
	return uint32(mix(v) >> 32)
}

func mix(v uint64) uint64 {
	high, low := bits.Mul64(v^0x9fb21c651e98df25, 0x9e3779b97f4a7c15)
	return high ^ low
}

// FindPart implements Backend.
func (m *Memory) FindPart(whole Ref, name []byte) (Ref, bool) {
	if m.entries[whole].used&parted == 0 {
		return 0, false
	}
	return m.findPart(mixName(m.entries[whole].hash, name), whole, name)
}

func (m *Memory) findPart(h uint32, whole Ref, name []byte) (Ref, bool) {
	mask := uint32(len(m.table) - 1)
	for i := h & mask; m.table[i] != 0; i = (i + 1) & mask {
		if uint32(m.table[i]>>32) != h {
			continue
		}
		r := Ref(uint32(m.table[i]) - 1)
		if m.IsPart(r) && m.Whole(r) == whole && bytes.Equal(m.Name(r), name) {
			return r, true
		}
	}
	return 0, false
}

// Part implements Backend.
func (m *Memory) Part(whole Ref, name []byte) Ref {
	h := mixName(m.entries[whole].hash, name)
	if r, ok := m.findPart(h, whole, name); ok {
		return r
	}
	if 2*(m.live+1) > len(m.table) {
		m.grow()
	}
	key := m.Key(whole)
	r := m.createNamed(h, m.entries[whole].group, key, name, m.entries[whole].ns)
	m.link(h, r)
	m.entries[r].inline[0] = int64(whole)
	m.suspects = append(m.suspects, r)
	return r
}

// noWhole is in the place of the whole of a part that is being restored.
const noWhole = -1

// createNamed makes a part that is neither in the table nor in a tree yet.
func (m *Memory) createNamed(h uint32, group stream.KeyGroup, key stream.Row, name []byte, ns Namespace) Ref {
	r := m.place()
	p := m.keys.reserve(len(key) + len(name))
	b := m.keys.at(p, len(key)+len(name))
	copy(b, key)
	copy(b[len(key):], name)
	m.entries[r] = entry{
		ns: ns, key: p, hash: h, rowLen: uint32(len(key)), nameLen: uint32(len(name)), used: named, holds: live, group: group,
	}
	m.entries[r].inline[0] = noWhole
	m.live++
	return r
}

// Name implements Backend.
func (m *Memory) Name(r Ref) []byte {
	e := &m.entries[r]
	return m.keys.at(e.key, int(e.rowLen+e.nameLen))[e.rowLen:]
}

// Whole implements Backend. A part has no timers, so there is room for it.
func (m *Memory) Whole(r Ref) Ref { return Ref(m.entries[r].inline[0]) }

// NextPart implements Backend.
func (m *Memory) NextPart(whole Ref, after []byte) (Ref, bool) {
	return m.neighbour(whole, after, true)
}

// LastPart implements Backend.
func (m *Memory) LastPart(whole Ref, before []byte) (Ref, bool) {
	return m.neighbour(whole, before, false)
}

// neighbour is the part whose name is the next one behind, or before, another.
func (m *Memory) neighbour(whole Ref, name []byte, behind bool) (found Ref, ok bool) {
	if m.entries[whole].used&parted == 0 {
		return 0, false
	}
	at := m.parts.nodes[whole].left
	for at != 0 {
		r := Ref(at - 1)
		order := bytes.Compare(m.Name(r), name)
		n := &m.parts.nodes[r]
		switch {
		case behind && order > 0:
			found, ok, at = r, true, n.left
		case behind:
			at = n.right
		case order < 0:
			found, ok, at = r, true, n.right
		default:
			at = n.left
		}
	}
	return found, ok
}

// show comes before an entry holds something. A part that held nothing joins its tree.
func (m *Memory) show(r Ref) {
	if e := &m.entries[r]; e.holds == live && e.used&named != 0 && e.inline[0] != noWhole {
		m.join(Ref(e.inline[0]), r)
	}
}

// hide comes after a cell was emptied. A part that holds nothing any more leaves its tree.
func (m *Memory) hide(r Ref) {
	if e := &m.entries[r]; e.holds == live && e.used&named != 0 {
		m.leave(r)
	}
}

// join brings a part into the tree of its whole.
func (m *Memory) join(whole, r Ref) {
	m.entries[r].inline[0] = int64(whole)
	m.entries[whole].used |= parted
	for len(m.parts.nodes) < len(m.entries) {
		m.parts.nodes = append(m.parts.nodes, node{})
	}
	m.parts.live++
	m.parts.seed++
	n, name := &m.parts.nodes[r], m.Name(r)
	n.priority = uint32(mix(m.parts.seed) >> 32)
	at := &m.parts.nodes[whole].left
	for *at != 0 && m.parts.nodes[*at-1].priority >= n.priority {
		at = m.branch(*at, name)
	}
	n.left, n.right = m.split(*at, name)
	*at = uint32(r) + 1
}

// branch is where the search for a name goes on from a node.
func (m *Memory) branch(at uint32, name []byte) *uint32 {
	n := &m.parts.nodes[at-1]
	if bytes.Compare(m.Name(Ref(at-1)), name) < 0 {
		return &n.right
	}
	return &n.left
}

// split parts a tree into what is before a name and what is behind it.
func (m *Memory) split(at uint32, name []byte) (before, behind uint32) {
	if at == 0 {
		return 0, 0
	}
	n := &m.parts.nodes[at-1]
	if bytes.Compare(m.Name(Ref(at-1)), name) < 0 {
		n.right, behind = m.split(n.right, name)
		return at, behind
	}
	before, n.left = m.split(n.left, name)
	return before, at
}

// leave takes a part out of the tree of its whole, which may be empty then.
func (m *Memory) leave(r Ref) {
	whole, name := m.Whole(r), m.Name(r)
	at := &m.parts.nodes[whole].left
	for *at != uint32(r)+1 {
		at = m.branch(*at, name)
	}
	n := &m.parts.nodes[r]
	*at = m.merge(n.left, n.right)
	*n = node{}
	m.parts.live--
	if m.parts.nodes[whole].left == 0 {
		m.entries[whole].used &^= parted
		m.suspect(whole)
	}
}

// merge makes one tree of two, of which all names of the second are behind those of
// the first.
func (m *Memory) merge(a, b uint32) uint32 {
	switch {
	case a == 0:
		return b
	case b == 0:
		return a
	}
	x, y := &m.parts.nodes[a-1], &m.parts.nodes[b-1]
	if x.priority >= y.priority {
		x.right = m.merge(x.right, b)
		return a
	}
	y.left = m.merge(a, y.left)
	return b
}

// Walk implements Backend.
func (m *Memory) Walk(from Ref, n int, visit func(Ref)) (next Ref) {
	for ; n > 0 && int(from) < len(m.entries); n-- {
		if e := &m.entries[from]; e.holds&live != 0 && (e.holds != live || e.used&parted != 0) {
			visit(from)
		}
		from++
	}
	if int(from) >= len(m.entries) {
		return 0
	}
	return from
}

// IsPart implements Backend.
func (m *Memory) IsPart(r Ref) bool { return m.entries[r].used&named != 0 }
